// Convolution, shared by Conv and its integer and causal forms.
#ifndef ONNX_RUN_OPS_CONV_H_
#define ONNX_RUN_OPS_CONV_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ops/window.h"
#include "runtime/kernel.h"
#include "runtime/tensor.h"

namespace onnx_run {

struct ConvAttributes {
  WindowAttributes window;
  int64_t group;
};
absl::StatusOr<ConvAttributes> ParseConv(const NodeInfo& node);

struct ConvShape {
  int64_t batch;
  int64_t channels;  // of the input
  int64_t outputs;   // channels of the output
  int64_t group;
  Window window;

  Dims OutputDims() const { return WindowOutputDims({batch, outputs}, window); }
};
// `x` and `w` are the input and the weights; `bias`, when there is one, has an element for each
// output channel. InvalidArgument when they do not fit.
absl::StatusOr<ConvShape> MakeConvShape(const ConvAttributes& attributes, const Tensor& x,
                                        const Tensor& w, const Tensor* bias);

// T: float, double or int32_t, which wraps. `bias` may be nullptr. `packed_w`: what PackConstant
// has made of the weights, the groups' after each other, as left operands; or nullptr.
template <typename T>
absl::Status RunConv(KernelContext& context, const ConvShape& shape, const T* x, const T* w,
                     const T* bias, T* y, const T* packed_w = nullptr);

}  // namespace onnx_run

#endif  // ONNX_RUN_OPS_CONV_H_
