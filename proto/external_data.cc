#include "proto/external_data.h"

#include <stdlib.h>
#include <sys/stat.h>

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "proto/file.h"
#include "proto/text.h"
#include "runtime/status_macros.h"

namespace onnx_run {
namespace {

// Why `location` is not a path inside the model's folder, or nullptr.
const char* FaultOf(absl::string_view location) {
  if (location.empty()) return "is empty";
  if (absl::StrContains(location, absl::string_view("\0", 1))) return "holds a NUL byte";
  if (location[0] == '/') return "is absolute";
  if (absl::StrContains(location, '\\')) return "holds a backslash";
  if (location.size() >= 2 && location[1] == ':') return "names a drive";
  for (absl::string_view part : absl::StrSplit(location, '/')) {
    if (part == "..") return "holds \"..\"";
  }
  return nullptr;
}

// The path with every symbolic link resolved, "" when there is none.
std::string RealPath(const std::string& path) {
  char* resolved = realpath(path.c_str(), nullptr);
  if (resolved == nullptr) return "";
  std::string result = resolved;
  free(resolved);
  return result;
}

}  // namespace

absl::StatusOr<ExternalBytes> ExternalDataContext::Open(absl::string_view location) {
  if (auto found = opened_.find(location); found != opened_.end()) return found->second;
  auto bytes = resolver_ ? resolver_(location) : OpenFile(location);
  if (bytes.ok()) opened_.emplace(std::string(location), *bytes);
  return bytes;
}

absl::StatusOr<ExternalBytes> ExternalDataContext::OpenFile(absl::string_view location) const {
  if (const char* fault = FaultOf(location)) {
    return absl::InvalidArgumentError(
        absl::StrCat("external data location ", Quoted(location), " ", fault,
                     "; expected a relative path inside the model's folder"));
  }
  if (base_dir_.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "external data location ", Quoted(location),
        " in a model that has no folder: give LoadOptions::base_dir or LoadOptions::resolver"));
  }
  const std::string path = absl::StrCat(base_dir_, "/", location);
  ASSIGN_OR_RETURN(const std::shared_ptr<const MappedFile> file, MappedFile::Open(path));
  if (!follow_symlinks_) {
    // Checked after the file is open and on the file itself, so that swapping links gains nothing.
    const std::string folder = RealPath(base_dir_);
    const std::string target = RealPath(path);
    const std::string prefix = folder == "/" ? folder : absl::StrCat(folder, "/");
    struct stat info;
    if (folder.empty() || !absl::StartsWith(target, prefix) || stat(target.c_str(), &info) != 0 ||
        !file->IsFile(info.st_dev, info.st_ino)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "external data location ", Quoted(location), " is a symbolic link to ", Quoted(target),
          ", outside of the model's folder ", Quoted(folder), "; follow_symlinks allows that"));
    }
  }
  return ExternalBytes{file->bytes(), file};
}

}  // namespace onnx_run
