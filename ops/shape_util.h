// Axes and small integer inputs, read and checked the same way by all operators.
#ifndef ONNX_RUN_OPS_SHAPE_UTIL_H_
#define ONNX_RUN_OPS_SHAPE_UTIL_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/kernel.h"
#include "runtime/tensor.h"

namespace onnx_run {

// `axis` counted from the front: in [0, rank). InvalidArgument outside of [-rank, rank).
absl::StatusOr<int> NormalizeAxis(int64_t axis, int rank);
// All of `axes` normalised, in the order given. InvalidArgument also when one comes twice.
absl::StatusOr<absl::InlinedVector<int, 6>> NormalizeAxes(absl::Span<const int64_t> axes, int rank);

// The elements of a tensor of any integer type, as int64.
absl::StatusOr<Dims> ReadInts(const Tensor& tensor);
// The one element of a tensor of any integer type. InvalidArgument when it has another number of
// them.
absl::StatusOr<int64_t> ReadInt(const Tensor& tensor, absl::string_view name);
// The one element of a tensor of any numeric type.
absl::StatusOr<double> ReadNumber(const Tensor& tensor, absl::string_view name);

// Product of dims [begin, end).
int64_t Product(absl::Span<const int64_t> dims, int begin, int end);

// A tensor seen around one axis: element (o, a, i) is at index (o * axis + a) * inner + i.
struct AxisView {
  int64_t outer;
  int64_t axis;
  int64_t inner;
};
AxisView ViewAround(absl::Span<const int64_t> dims, int axis);

}  // namespace onnx_run

#endif  // ONNX_RUN_OPS_SHAPE_UTIL_H_
