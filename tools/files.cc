#include "tools/files.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/status_macros.h"

namespace onnx_run::tools {
namespace {

absl::Status ErrnoStatus(int error, absl::string_view what, absl::string_view path) {
  const std::string message =
      absl::StrCat(what, " ", path, ": ", std::generic_category().message(error));
  switch (error) {
    case ENOENT:
    case ENOTDIR: return absl::NotFoundError(message);
    case EACCES:
    case EPERM:
    case EROFS: return absl::PermissionDeniedError(message);
    case ENOSPC: return absl::ResourceExhaustedError(message);
    default: return absl::FailedPreconditionError(message);
  }
}

void RemoveTree(const std::string& path) {
  absl::StatusOr<std::vector<std::string>> names = ListDirectory(path);
  if (names.ok()) {
    for (const std::string& name : *names) std::remove(JoinPath(path, name).c_str());
  }
  ::rmdir(path.c_str());
}

}  // namespace

bool FileExists(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0;
}

bool IsDirectory(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  if (IsDirectory(path)) return absl::InvalidArgumentError(absl::StrCat(path, " is a folder"));
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                       &std::fclose);
  if (file == nullptr) return ErrnoStatus(errno, "cannot open", path);
  std::string content;
  char buffer[1 << 16];
  size_t got = 0;
  while ((got = std::fread(buffer, 1, sizeof(buffer), file.get())) > 0) content.append(buffer, got);
  if (std::ferror(file.get()) != 0) return ErrnoStatus(errno, "cannot read", path);
  return content;
}

absl::Status WriteFileAtomically(const std::string& path, absl::string_view content) {
  // Not a rename over /dev/stdout and the like.
  struct stat info;
  const bool special = ::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode);
  const std::string temporary = special ? path : absl::StrCat(path, ".tmp", ::getpid());
  std::FILE* file = std::fopen(temporary.c_str(), "wb");
  if (file == nullptr) return ErrnoStatus(errno, "cannot write", path);
  bool written = std::fwrite(content.data(), 1, content.size(), file) == content.size();
  written = std::fclose(file) == 0 && written;
  int error = errno;
  if (written && (special || std::rename(temporary.c_str(), path.c_str()) == 0)) {
    return absl::OkStatus();
  }
  if (written) error = errno;
  if (!special) std::remove(temporary.c_str());
  return ErrnoStatus(error, "cannot write", path);
}

absl::Status CheckFolderOf(const std::string& path) {
  if (IsDirectory(DirName(path))) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat("cannot write ", path, ": no such folder"));
}

absl::StatusOr<std::vector<std::string>> ListDirectory(const std::string& path) {
  std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(path.c_str()), &::closedir);
  if (directory == nullptr) return ErrnoStatus(errno, "cannot read folder", path);
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(directory.get())) {
    const absl::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string JoinPath(absl::string_view a, absl::string_view b) {
  if (a.empty()) return std::string(b);
  return a.back() == '/' ? absl::StrCat(a, b) : absl::StrCat(a, "/", b);
}

std::string BaseName(absl::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  const size_t slash = path.rfind('/');
  return std::string(slash == absl::string_view::npos ? path : path.substr(slash + 1));
}

std::string DirName(absl::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  const size_t slash = path.rfind('/');
  if (slash == absl::string_view::npos) return ".";
  return std::string(slash == 0 ? "/" : path.substr(0, slash));
}

std::string SafeFileName(absl::string_view name) {
  std::string safe;
  for (const char c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '.' || c == '_' || c == '-';
    safe += plain ? c : '_';
  }
  if (safe.empty() || safe[0] == '.') safe.insert(0, "_");
  if (safe.size() > 200) safe.resize(200);
  return safe;
}

absl::StatusOr<std::unique_ptr<StagedDirectory>> StagedDirectory::Create(const std::string& path) {
  if (FileExists(path) && !IsDirectory(path)) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is there and is not a folder"));
  }
  std::unique_ptr<StagedDirectory> staged(new StagedDirectory);
  staged->path_ = path;
  while (staged->path_.size() > 1 && staged->path_.back() == '/') staged->path_.pop_back();
  std::string staging = absl::StrCat(staged->path_, ".tmpXXXXXX");
  if (::mkdtemp(staging.data()) == nullptr) return ErrnoStatus(errno, "cannot create folder", path);
  ::chmod(staging.c_str(), 0755);
  staged->staging_ = staging;
  return staged;
}

StagedDirectory::~StagedDirectory() {
  if (!staging_.empty()) RemoveTree(staging_);
}

std::string StagedDirectory::PathOf(absl::string_view name) const {
  return JoinPath(staging_, name);
}

absl::Status StagedDirectory::Commit() {
  if (!FileExists(path_)) {
    if (std::rename(staging_.c_str(), path_.c_str()) != 0) {
      return ErrnoStatus(errno, "cannot create folder", path_);
    }
    staging_.clear();
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(staging_));
  for (const std::string& name : names) {
    const std::string to = JoinPath(path_, name);
    if (std::rename(JoinPath(staging_, name).c_str(), to.c_str()) != 0) {
      return ErrnoStatus(errno, "cannot write", to);
    }
  }
  return absl::OkStatus();
}

}  // namespace onnx_run::tools
