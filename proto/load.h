// Model files and bytes -> Model.
//
// No protobuf type is needed to use this header.
#ifndef ONNX_RUN_PROTO_LOAD_H_
#define ONNX_RUN_PROTO_LOAD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/external_data.h"
#include "runtime/model.h"

namespace onnx_run {

struct LoadOptions {
  // The folder that external data is in. LoadModel takes the model file's own when this is empty;
  // LoadModelFromBytes then has none, and refuses models with external data.
  std::string base_dir;
  // Lets external data be a symbolic link that leaves the folder. Links that stay inside are always
  // fine.
  bool follow_symlinks = false;
  // When set, asked for all external data instead of the file system.
  ExternalDataResolver resolver;

  // Limits; what is beyond them is refused with ResourceExhausted.
  int64_t max_model_bytes = INT32_MAX;         // protobuf's own, external data aside
  int max_subgraph_depth = 64;                 // bodies of If, Loop, ... inside of each other
  int64_t max_dense_bytes = int64_t{1} << 31;  // all sparse initializers, made dense

  // Gets remarks on oddities that change no result.
  std::vector<std::string>* warnings = nullptr;
};

// Reads a model. Nothing of it is checked against the standard's operators here: that is the
// session's. Errors, each led by the path: NotFound, PermissionDenied, DataLoss (truncated),
// InvalidArgument, OutOfRange (external data past the end of a file), Unimplemented,
// ResourceExhausted.
absl::StatusOr<Model> LoadModel(const std::string& path, const LoadOptions& options = {});

// `bytes` may be freed after the call. So may options; the model shares the owners that
// options.resolver hands out.
absl::StatusOr<Model> LoadModelFromBytes(absl::string_view bytes, const LoadOptions& options = {});

}  // namespace onnx_run

#endif  // ONNX_RUN_PROTO_LOAD_H_
