// Files of the programs: whole reads, and writes that leave nothing behind when they fail.
#ifndef ONNX_RUN_TOOLS_FILES_H_
#define ONNX_RUN_TOOLS_FILES_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace onnx_run::tools {

bool FileExists(const std::string& path);
bool IsDirectory(const std::string& path);
// Errors: NotFound, PermissionDenied, InvalidArgument (a folder), with the path in the message.
absl::StatusOr<std::string> ReadFile(const std::string& path);
// Writes beside `path` and renames: readers see the old file or the new one.
absl::Status WriteFileAtomically(const std::string& path, absl::string_view content);
// NotFound where there is no folder for `path` to be written in.
absl::Status CheckFolderOf(const std::string& path);
// Names in a folder, sorted, without "." and "..".
absl::StatusOr<std::vector<std::string>> ListDirectory(const std::string& path);
std::string JoinPath(absl::string_view a, absl::string_view b);
// "c.onnx" of "a/b/c.onnx", "c" of "a/b/c/"; and the folder before it ("." when there is none).
std::string BaseName(absl::string_view path);
std::string DirName(absl::string_view path);
// A file name for any value name: what is not a letter, digit, '.', '_' or '-' becomes '_'.
std::string SafeFileName(absl::string_view name);

// A folder whose files appear all at once, by Commit(), or not at all.
class StagedDirectory {
 public:
  // Nothing is created at `path` before Commit(). Errors: when its parent cannot be written.
  static absl::StatusOr<std::unique_ptr<StagedDirectory>> Create(const std::string& path);
  ~StagedDirectory();
  StagedDirectory(const StagedDirectory&) = delete;
  StagedDirectory& operator=(const StagedDirectory&) = delete;

  // Where to write the file that will be `path`/`name`.
  std::string PathOf(absl::string_view name) const;
  // Files of the same name that were at `path` are replaced; others stay.
  absl::Status Commit();

 private:
  StagedDirectory() = default;
  std::string path_;
  std::string staging_;
};

}  // namespace onnx_run::tools

#endif  // ONNX_RUN_TOOLS_FILES_H_
