// The onnx library's own judgement of a model: its checker and its strict type and shape inference.
//
// For onnx-run --check. A session makes its own checks and needs none of this.
#ifndef ONNX_RUN_PROTO_STANDARD_CHECK_H_
#define ONNX_RUN_PROTO_STANDARD_CHECK_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace onnx_run {

// Errors, led by the path: NotFound, InvalidArgument (with the checker's words), ResourceExhausted.
absl::Status CheckModel(const std::string& path);

// The same for a model in memory, which cannot have external data.
absl::Status CheckModelBytes(absl::string_view bytes);

}  // namespace onnx_run

#endif  // ONNX_RUN_PROTO_STANDARD_CHECK_H_
