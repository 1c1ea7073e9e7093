#include "proto/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace onnx_run {
namespace {

absl::Status FileError(int error, absl::string_view path, absl::string_view what) {
  const std::string message = absl::StrCat(path, ": ", what, ": ", std::strerror(error));
  switch (error) {
    case ENOENT:
    case ENOTDIR: return absl::NotFoundError(message);
    case EACCES:
    case EPERM:
    case EROFS: return absl::PermissionDeniedError(message);
    case ENOSPC:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
    case EDQUOT: return absl::ResourceExhaustedError(message);
    default: return absl::InvalidArgumentError(message);
  }
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }
  int Close() {
    const int result = close(fd_);
    fd_ = -1;
    return result;
  }

 private:
  int fd_;
};

int OpenRetrying(const char* path, int flags, mode_t mode = 0) {
  int fd;
  do {
    fd = open(path, flags | O_CLOEXEC, mode);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

absl::Status WriteAll(int fd, const std::string& path, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return FileError(errno, path, "cannot write");
    }
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::shared_ptr<const MappedFile>> MappedFile::Open(const std::string& path) {
  if (path.find('\0') != std::string::npos) {
    return absl::InvalidArgumentError("a path holds a NUL byte");
  }
  // Without O_NONBLOCK the open of a FIFO waits for a writer.
  const Descriptor fd(OpenRetrying(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY));
  if (fd.get() < 0) return FileError(errno, path, "cannot open");
  struct stat info;
  if (fstat(fd.get(), &info) != 0) return FileError(errno, path, "cannot stat");
  if (S_ISDIR(info.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": is a directory, expected a file"));
  }
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": is not a regular file"));
  }
  std::shared_ptr<MappedFile> file(new MappedFile);
  file->device_ = info.st_dev;
  file->inode_ = info.st_ino;
  if (info.st_size > 0) {
    const auto size = static_cast<size_t>(info.st_size);
    void* data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
    if (data == MAP_FAILED) return FileError(errno, path, "cannot map");
    file->data_ = data;
    file->size_ = size;
  }
  return file;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(data_, size_);
}

absl::Status WriteFile(const std::string& path, absl::string_view bytes) {
  struct stat info;
  if (stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    if (S_ISDIR(info.st_mode)) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": is a directory, cannot write it"));
    }
    Descriptor fd(OpenRetrying(path.c_str(), O_WRONLY | O_NOCTTY));
    if (fd.get() < 0) return FileError(errno, path, "cannot open for writing");
    return WriteAll(fd.get(), path, bytes);
  }

  static std::atomic<unsigned> counter{0};
  const std::string temporary =
      absl::StrCat(path, ".", static_cast<int>(getpid()), ".", counter.fetch_add(1), ".tmp");
  Descriptor fd(OpenRetrying(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0666));
  if (fd.get() < 0) return FileError(errno, path, "cannot create");
  absl::Status status = WriteAll(fd.get(), path, bytes);
  if (fd.Close() != 0 && status.ok()) status = FileError(errno, path, "cannot write");
  if (status.ok() && std::rename(temporary.c_str(), path.c_str()) != 0) {
    status = FileError(errno, path, "cannot rename to it");
  }
  if (!status.ok()) unlink(temporary.c_str());
  return status;
}

std::string FolderOf(absl::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == absl::string_view::npos) return ".";
  if (slash == 0) return "/";
  return std::string(path.substr(0, slash));
}

}  // namespace onnx_run
