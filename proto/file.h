// Files in and out: mapped for reading, complete or not at all when written.
#ifndef ONNX_RUN_PROTO_FILE_H_
#define ONNX_RUN_PROTO_FILE_H_

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace onnx_run {

// The bytes of a regular file, mapped read-only. Whoever shortens the file while it is mapped makes
// reads of the lost part fault, as with every mapping.
class MappedFile {
 public:
  // Errors: NotFound, PermissionDenied, InvalidArgument (a directory, a FIFO, a device: never
  // opened in a way that could wait). Messages name the path.
  static absl::StatusOr<std::shared_ptr<const MappedFile>> Open(const std::string& path);

  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  absl::string_view bytes() const { return {static_cast<const char*>(data_), size_}; }
  // What tells one file from another, whatever its name.
  bool IsFile(unsigned long long device, unsigned long long inode) const {
    return device == device_ && inode == inode_;
  }

 private:
  MappedFile() = default;

  void* data_ = nullptr;
  size_t size_ = 0;
  unsigned long long device_ = 0;
  unsigned long long inode_ = 0;
};

// Writes a new file beside `path` and renames it over `path`, so that nobody ever sees half of it.
// What is there and is not a regular file (/dev/stdout, a pipe) is written to as it is.
absl::Status WriteFile(const std::string& path, absl::string_view bytes);

// The folder part of a path: "a/b" of "a/b/c.onnx", "." of "c.onnx", "/" of "/c.onnx".
std::string FolderOf(absl::string_view path);

}  // namespace onnx_run

#endif  // ONNX_RUN_PROTO_FILE_H_
