// Elements of any type as real numbers, for operators that read between them, and back.
#ifndef ONNX_RUN_OPS_RESAMPLE_H_
#define ONNX_RUN_OPS_RESAMPLE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/kernel.h"
#include "runtime/tensor.h"

namespace onnx_run {

struct RealElements {
  Tensor values;  // FLOAT or DOUBLE; of complex numbers one more dimension, of 2
  int parts;      // 2 for complex numbers, else 1
};
// Floats of 32 bits and fewer as FLOAT, all other numbers as DOUBLE. InvalidArgument for strings.
absl::StatusOr<RealElements> ToReal(KernelContext& context, const Tensor& tensor);

enum class IntegerRounding : uint8_t { kNearestEven, kTowardsZero };
// Output `i` of `type` is `values`, laid out as ToReal does. Integers are rounded, then saturated;
// of booleans all but 0 is true.
absl::Status SetOutputFromReal(KernelContext& context, int i, Tensor values, ElementType type,
                               IntegerRounding rounding);

// Weights of the four neighbours at -1, 0, 1, 2 of a point at `t` in [0, 1], by cubic convolution.
template <typename T>
void CubicWeights(T t, T a, T weights[4]) {
  const T u = 1 - t;
  weights[0] = ((a * (t + 1) - 5 * a) * (t + 1) + 8 * a) * (t + 1) - 4 * a;
  weights[1] = ((a + 2) * t - (a + 3)) * t * t + 1;
  weights[2] = ((a + 2) * u - (a + 3)) * u * u + 1;
  weights[3] = ((a * (u + 1) - 5 * a) * (u + 1) + 8 * a) * (u + 1) - 4 * a;
}

}  // namespace onnx_run

#endif  // ONNX_RUN_OPS_RESAMPLE_H_
