// The sliding windows of convolutions and pools: attributes, padding and output sizes.
#ifndef ONNX_RUN_OPS_WINDOW_H_
#define ONNX_RUN_OPS_WINDOW_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ops/dispatch.h"
#include "runtime/kernel.h"
#include "runtime/status_macros.h"
#include "runtime/tensor.h"

namespace onnx_run {

enum class AutoPad : uint8_t { kNotSet, kSameUpper, kSameLower, kValid };

// As the node has them: what is empty has its default, which depends on the rank.
struct WindowAttributes {
  std::vector<int64_t> kernel_shape;
  std::vector<int64_t> strides;
  std::vector<int64_t> dilations;
  std::vector<int64_t> pads;  // all beginnings, then all ends
  AutoPad auto_pad = AutoPad::kNotSet;
  bool ceil_mode = false;
};
absl::StatusOr<WindowAttributes> ParseWindow(const NodeInfo& node);

// One spatial dimension.
struct WindowAxis {
  int64_t input;
  int64_t kernel;
  int64_t stride;
  int64_t dilation;
  int64_t pad_begin;
  int64_t pad_end;
  int64_t output;

  // Extent of the dilated kernel.
  int64_t Extent() const { return (kernel - 1) * dilation + 1; }
  // Where the window of output `o` starts in the input; before it when negative.
  int64_t Start(int64_t o) const { return o * stride - pad_begin; }
  // The taps of output `o` that are inside of the input: [first, second).
  std::pair<int64_t, int64_t> Taps(int64_t o) const;
};

struct Window {
  absl::InlinedVector<WindowAxis, 3> axes;

  int rank() const { return static_cast<int>(axes.size()); }
  int64_t InputSize() const;
  int64_t KernelSize() const;
  int64_t OutputSize() const;
  // The one kernel element at stride 1 without padding: input and output are the same elements.
  bool IsIdentity() const;
};

// Everything but the padding and the output's sizes. `input`: the spatial dims. InvalidArgument.
absl::StatusOr<Window> WindowWithoutOutput(const WindowAttributes& attributes,
                                           absl::Span<const int64_t> input,
                                           absl::Span<const int64_t> kernel);
// Convolution and pooling. `kernel`: kernel_shape, or the weights' spatial dims. InvalidArgument.
absl::StatusOr<Window> MakeWindow(const WindowAttributes& attributes,
                                  absl::Span<const int64_t> input,
                                  absl::Span<const int64_t> kernel);

// `leading` dims, then the window's output sizes.
Dims WindowOutputDims(absl::Span<const int64_t> leading, const Window& window);

// InvalidArgument unless `tensor` has at least 3 dims: batch, channels and something spatial.
absl::Status CheckSpatial(const Tensor& tensor, absl::string_view name);

// Output `i` of `type` is made by fn(Tensor&), in ComputeType(type).
template <typename Fn>
absl::Status ComputeOutput(KernelContext& context, int i, ElementType type,
                           absl::Span<const int64_t> dims, Fn&& fn) {
  if (!NeedsWidening(type)) {
    ASSIGN_OR_RETURN(Tensor * output, context.Output(i, type, dims));
    return fn(*output);
  }
  ASSIGN_OR_RETURN(Tensor result, context.Allocate(ComputeType(type), dims));
  RETURN_IF_ERROR(fn(result));
  return SetOutputNarrowed(context, i, std::move(result), type);
}

}  // namespace onnx_run

#endif  // ONNX_RUN_OPS_WINDOW_H_
