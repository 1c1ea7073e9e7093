// Model -> bytes: the reverse of load.h.
#ifndef ONNX_RUN_PROTO_SAVE_H_
#define ONNX_RUN_PROTO_SAVE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/model.h"

namespace onnx_run {

// A serialized ModelProto, all tensors inside it. Loading it gives an equal model.
// Errors: ResourceExhausted when it would pass protobuf's 2 GiB.
absl::StatusOr<std::string> ModelToBytes(const Model& model);

// The same to a file, which is complete or not there.
absl::Status SaveModel(const Model& model, const std::string& path);

}  // namespace onnx_run

#endif  // ONNX_RUN_PROTO_SAVE_H_
