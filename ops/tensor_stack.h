// TensorStack: equal tensors, one for each iteration, put together along a new axis.
#ifndef ONNX_RUN_OPS_TENSOR_STACK_H_
#define ONNX_RUN_OPS_TENSOR_STACK_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/kernel.h"
#include "runtime/tensor.h"

namespace onnx_run {

// Scan outputs of Loop and Scan. Elements are copied to their place at once, so that no iteration's
// tensors are kept: of a known number, in the result itself; of an unknown one, in a growing
// buffer.
class TensorStack {
 public:
  // Exactly `count` elements along `axis` of the result (negative: from the back), in any order.
  // `padded`: those that do not come are zero; else all of them have to come.
  static TensorStack OfCount(KernelContext* context, int64_t count, int64_t axis,
                             bool padded = false) {
    return TensorStack(context, count, axis, /*grows=*/false, padded);
  }
  // Elements 0, 1, ... along axis 0; about `guess` of them.
  static TensorStack Growing(KernelContext* context, int64_t guess) {
    return TensorStack(context, guess, 0, /*grows=*/true, /*padded=*/false);
  }

  // Errors: InvalidArgument (not the type or shape of the first element; axis), ResourceExhausted.
  absl::Status Put(int64_t index, const Tensor& element);
  // Nothing has been put: Finish cannot know type and shape.
  bool empty() const { return put_ == 0; }
  absl::StatusOr<Tensor> Finish();

 private:
  TensorStack(KernelContext* context, int64_t capacity, int64_t axis, bool grows, bool padded)
      : context_(context), capacity_(capacity), axis_(axis), grows_(grows), padded_(padded) {}
  absl::Status Start(const Tensor& element);
  // A tensor of `capacity` elements that holds the first `kept` of the old one.
  absl::Status Resize(int64_t capacity, int64_t kept);

  KernelContext* context_;
  int64_t capacity_;
  int64_t axis_;
  bool grows_;
  bool padded_;
  int64_t put_ = 0;
  Dims element_dims_;
  int64_t outer_ = 0;  // product of the element's dimensions before the axis, and from it on
  int64_t inner_ = 0;
  Tensor result_;
};

// What a stack of no elements is: `declared` (unknown dimensions are 0) with `dims` put in at
// `axis`, all zero. Errors: InvalidArgument when `declared` does not tell the element type.
absl::StatusOr<Tensor> EmptyStack(KernelContext* context, const Type& declared, int64_t axis,
                                  absl::Span<const int64_t> dims);

}  // namespace onnx_run

#endif  // ONNX_RUN_OPS_TENSOR_STACK_H_
