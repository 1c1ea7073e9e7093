#include "ops/resample.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ops/dispatch.h"
#include "runtime/status_macros.h"

namespace onnx_run {
namespace {

// The greatest double that an integer type holds.
double Greatest(ElementType type) {
  const int bits = BitsOf(type) - (KindOf(type) == ElementKind::kSigned ? 1 : 0);
  const double past = std::ldexp(1.0, bits);
  return bits <= 53 ? past - 1 : std::nextafter(past, 0.0);
}
double Least(ElementType type) {
  return KindOf(type) == ElementKind::kSigned ? -std::ldexp(1.0, BitsOf(type) - 1) : 0.0;
}

}  // namespace

absl::StatusOr<RealElements> ToReal(KernelContext& context, const Tensor& tensor) {
  const ElementType type = tensor.type();
  if (type == ElementType::kString) {
    return absl::InvalidArgumentError(
        "there is nothing between strings; expected mode \"nearest\"");
  }
  RealElements real{Tensor(), 1};
  if (KindOf(type) == ElementKind::kComplex) {
    Dims dims = tensor.dims();
    dims.push_back(2);
    real.parts = 2;
    real.values = Tensor::SharingBufferOf(
        tensor, type == ElementType::kComplex64 ? ElementType::kFloat : ElementType::kDouble, dims,
        tensor.size() * 2);
    return real;
  }
  const bool narrow = IsFloat(type) && BitsOf(type) <= 32;
  ASSIGN_OR_RETURN(real.values, ConvertTensor(context, tensor,
                                              narrow ? ElementType::kFloat : ElementType::kDouble));
  return real;
}

absl::Status SetOutputFromReal(KernelContext& context, int i, Tensor values, ElementType type,
                               IntegerRounding rounding) {
  if (KindOf(type) == ElementKind::kComplex) {
    Dims dims = values.dims();
    dims.pop_back();
    context.SetOutput(i, Tensor::SharingBufferOf(values, type, dims, values.size() / 2));
    return absl::OkStatus();
  }
  if (IsInteger(type)) {
    const double least = Least(type);
    const double greatest = Greatest(type);
    for (double& x : values.mutable_span<double>()) {
      const double whole =
          rounding == IntegerRounding::kNearestEven ? std::nearbyint(x) : std::trunc(x);
      x = std::isnan(whole) ? 0 : std::clamp(whole, least, greatest);
    }
  }
  return SetOutputNarrowed(context, i, std::move(values), type);
}

}  // namespace onnx_run
