#include "proto/save.h"

#include <new>

#include "absl/strings/str_cat.h"
#include "proto/file.h"
#include "proto/model_proto.h"
#include "runtime/status_macros.h"

namespace onnx_run {

absl::StatusOr<std::string> ModelToBytes(const Model& model) {
  try {
    const onnx::ModelProto proto = ModelToProto(model);
    const size_t size = proto.ByteSizeLong();
    std::string bytes;
    if (size > INT32_MAX || !proto.SerializeToString(&bytes)) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the model takes ", size, " bytes, the limit is ", INT32_MAX));
    }
    return bytes;
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("not enough memory to serialize the model");
  }
}

absl::Status SaveModel(const Model& model, const std::string& path) {
  ASSIGN_OR_RETURN(const std::string bytes, ModelToBytes(model));
  return WriteFile(path, bytes);
}

}  // namespace onnx_run
