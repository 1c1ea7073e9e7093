// Tensor data that a model keeps outside of its own bytes.
#ifndef ONNX_RUN_PROTO_EXTERNAL_DATA_H_
#define ONNX_RUN_PROTO_EXTERNAL_DATA_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace onnx_run {

// Bytes that `owner` keeps alive. They must not change for as long as tensors look at them.
struct ExternalBytes {
  absl::string_view bytes;
  std::shared_ptr<const void> owner;
};

// Gives the whole of what a model calls `location`, for models whose weights are not in files.
using ExternalDataResolver =
    std::function<absl::StatusOr<ExternalBytes>(absl::string_view location)>;

// Where the external data of one model comes from. Each location is opened once.
//
// A location is a relative POSIX path that stays inside the model's folder: not absolute, no "..",
// no backslash, no NUL. A symbolic link may lead elsewhere inside the folder; one that leaves it is
// refused unless `follow_symlinks` says otherwise (download caches keep weights so). Hard links
// cannot be told from files and are files. Only regular files are opened.
class ExternalDataContext {
 public:
  // No external data: every tensor that has some is refused.
  ExternalDataContext() = default;
  explicit ExternalDataContext(std::string base_dir, bool follow_symlinks = false)
      : base_dir_(std::move(base_dir)), follow_symlinks_(follow_symlinks) {}
  explicit ExternalDataContext(ExternalDataResolver resolver) : resolver_(std::move(resolver)) {}

  // The whole file. Errors: InvalidArgument (a location that is not allowed, not a regular file),
  // NotFound, PermissionDenied, and what a resolver returns.
  absl::StatusOr<ExternalBytes> Open(absl::string_view location);

  // Where remarks on harmless oddities go.
  void set_warnings(std::vector<std::string>* warnings) { warnings_ = warnings; }
  void Warn(std::string message) {
    if (warnings_ != nullptr) warnings_->push_back(std::move(message));
  }

 private:
  absl::StatusOr<ExternalBytes> OpenFile(absl::string_view location) const;

  std::string base_dir_;
  bool follow_symlinks_ = false;
  ExternalDataResolver resolver_;
  std::vector<std::string>* warnings_ = nullptr;
  absl::flat_hash_map<std::string, ExternalBytes> opened_;
};

}  // namespace onnx_run

#endif  // ONNX_RUN_PROTO_EXTERNAL_DATA_H_
