#include "ops/shape_util.h"

#include "absl/strings/str_cat.h"
#include "runtime/convert/convert.h"
#include "runtime/status_macros.h"

namespace onnx_run {

absl::StatusOr<int> NormalizeAxis(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) {
    return absl::InvalidArgumentError(absl::StrCat("axis ", axis, " is not in [", -rank, ", ",
                                                   rank - 1, "] of a tensor of rank ", rank));
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

absl::StatusOr<absl::InlinedVector<int, 6>> NormalizeAxes(absl::Span<const int64_t> axes,
                                                          int rank) {
  absl::InlinedVector<int, 6> result;
  absl::InlinedVector<bool, 8> seen(static_cast<size_t>(rank), false);
  for (const int64_t given : axes) {
    if (given < -rank || given >= rank) return NormalizeAxis(given, rank).status();
    const int axis = static_cast<int>(given < 0 ? given + rank : given);
    if (seen[axis]) {
      return absl::InvalidArgumentError(absl::StrCat("axis ", given, " comes twice in the axes"));
    }
    seen[axis] = true;
    result.push_back(axis);
  }
  return result;
}

absl::StatusOr<Dims> ReadInts(const Tensor& tensor) {
  if (tensor.type() == ElementType::kInt64) {
    const absl::Span<const int64_t> values = tensor.span<int64_t>();
    return Dims(values.begin(), values.end());
  }
  Dims result(static_cast<size_t>(tensor.size()));
  RETURN_IF_ERROR(
      Convert(tensor.data(), tensor.type(), result.data(), ElementType::kInt64, tensor.size()));
  return result;
}

absl::StatusOr<int64_t> ReadInt(const Tensor& tensor, absl::string_view name) {
  if (tensor.size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("input ", name, " is ", TypeAndDims(tensor), ", expected one element"));
  }
  if (tensor.type() == ElementType::kInt64) return *tensor.data_as<int64_t>();
  int64_t value = 0;
  RETURN_IF_ERROR(Convert(tensor.data(), tensor.type(), &value, ElementType::kInt64, 1));
  return value;
}

absl::StatusOr<double> ReadNumber(const Tensor& tensor, absl::string_view name) {
  if (tensor.size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("input ", name, " is ", TypeAndDims(tensor), ", expected one element"));
  }
  double value = 0;
  RETURN_IF_ERROR(Convert(tensor.data(), tensor.type(), &value, ElementType::kDouble, 1));
  return value;
}

int64_t Product(absl::Span<const int64_t> dims, int begin, int end) {
  int64_t product = 1;
  for (int d = begin; d < end; ++d) product *= dims[d];
  return product;
}

AxisView ViewAround(absl::Span<const int64_t> dims, int axis) {
  return {Product(dims, 0, axis), dims[axis],
          Product(dims, axis + 1, static_cast<int>(dims.size()))};
}

}  // namespace onnx_run
