// What QuantizeLinear and DequantizeLinear share: which scale belongs to which element.
#ifndef ONNX_RUN_OPS_QUANTIZE_UTIL_H_
#define ONNX_RUN_OPS_QUANTIZE_UTIL_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/kernel.h"
#include "runtime/tensor.h"

namespace onnx_run {

struct QuantizeGranularity {
  int64_t axis = 1;
  int64_t block_size = 0;  // 0: one scale for all, or one for each index of the axis
};
absl::StatusOr<QuantizeGranularity> ParseGranularity(const NodeInfo& node);

// An attribute that is a TensorProto.DataType; kUndefined where it is 0 or absent.
absl::StatusOr<ElementType> ParseOptionalType(const NodeInfo& node, absl::string_view name);

// x, scale and zero point under dims by which the latter two are broadcast to x. The dims of x have
// one more dimension when it is quantized in blocks.
struct QuantizeOperands {
  Tensor x;
  Tensor scale;
  Tensor zero;  // one element 0 where the node has none
};
// Inputs 0 to 2. `zero_type`: of a zero point that the node does not have.
absl::StatusOr<QuantizeOperands> AlignQuantizeOperands(const QuantizeGranularity& granularity,
                                                       ElementType zero_type,
                                                       KernelContext& context);

}  // namespace onnx_run

#endif  // ONNX_RUN_OPS_QUANTIZE_UTIL_H_
