// Pow, all versions: the base's type is the result's, the exponent has a type of its own.
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/kernel_table.h"
#include "ops/vector_math.h"

namespace onnx_run {
namespace {

// Wraps. A negative exponent truncates the fraction away; 0 to a negative one gives 0.
template <typename T>
T PowerOfInteger(T base, int64_t exponent) {
  using Unsigned = std::make_unsigned_t<T>;
  if (exponent < 0) {
    if (base == 1) return 1;
    if (base == -1) return exponent % 2 == 0 ? 1 : -1;
    return 0;
  }
  Unsigned power = 1;
  Unsigned square = static_cast<Unsigned>(base);
  for (; exponent != 0; exponent >>= 1) {
    if (exponent & 1) power *= square;
    square *= square;
  }
  return static_cast<T>(power);
}

// From double as Cast truncates it; what does not fit gives the least value.
template <typename T>
T Truncate(double x) {
  if constexpr (std::is_floating_point_v<T>) return static_cast<T>(x);
  constexpr double kLimit = static_cast<double>(uint64_t{1} << (8 * sizeof(T) - 1));
  if (x > -kLimit - 1 && x < kLimit) return static_cast<T>(x);
  return std::numeric_limits<T>::lowest();
}

// A power that all elements are raised to. Y is int64_t or double.
template <typename T, typename Y>
struct PowerOp {
  static constexpr int64_t kGrain = std::is_same_v<T, float> ? 8192 : kExpensiveGrain;
  Y y;
  T operator()(T x) const {
    if constexpr (std::is_integral_v<Y>) {
      return PowerOfInteger(x, y);
    } else {
      const double base = static_cast<double>(x);
      return Truncate<T>(y == 2 ? base * base : std::pow(base, y));
    }
  }
  void Loop(const T* x, T* out, int64_t n) const requires std::is_same_v<T, float> {
    vector_math::Pow(x, 1, &y, 0, out, n);
  }
};
template <typename T, typename Y>
void PowLoop(const ElementRun& run) {
  if constexpr (std::is_same_v<T, float>) {
    vector_math::Pow(run.Input<T>(0), run.steps[0], run.Input<Y>(1), run.steps[1], run.Output<T>(),
                     run.n);
  } else if constexpr (std::is_integral_v<Y>) {
    BinaryLoop<T, Y, T>([](T x, Y y) { return PowerOfInteger(x, y); }, run);
  } else {
    BinaryLoop<T, Y, T>([](T x, Y y) { return Truncate<T>(std::pow(static_cast<double>(x), y)); },
                        run);
  }
}

// Exponents are computed as Y.
template <typename T, typename Y>
absl::Status PowTo(const Tensor& exponent, KernelContext& context) {
  constexpr ElementType kType = std::is_integral_v<Y> ? ElementType::kInt64 : ElementType::kDouble;
  const Tensor& base = context.input(0);
  if (exponent.size() == 1 && exponent.rank() <= base.rank()) {
    PowerOp<T, Y> op;
    if (exponent.type() == ElementType::kFloat) {  // by far the commonest
      op.y = static_cast<Y>(*static_cast<const float*>(exponent.data()));
    } else {
      RETURN_IF_ERROR(Convert(exponent.data(), exponent.type(), &op.y, kType, 1));
    }
    return RunUnaryIn<T>(op, context);
  }
  const ElementwiseOptions options{.grain = PowerOp<T, Y>::kGrain};
  if constexpr (std::is_same_v<T, float>) {
    if (ComputeType(exponent.type()) == ElementType::kFloat) {
      const Tensor* inputs[] = {&base, &exponent};
      return Elementwise(context, inputs, base.type(), PowLoop<T, float>, options);
    }
  }
  ASSIGN_OR_RETURN(const Tensor y, ConvertTensor(context, exponent, kType));
  const Tensor* inputs[] = {&base, &y};
  return Elementwise(context, inputs, base.type(), PowLoop<T, Y>, options);
}

absl::Status PowOf(const Tensor& exponent, KernelContext& context) {
  return VisitType(Types<float, double, int32_t, int64_t>(), context.input(0).type(),
                   [&]<typename T>(Tag<T>) {
                     if constexpr (std::is_integral_v<T>) {
                       if (IsInteger(exponent.type())) return PowTo<T, int64_t>(exponent, context);
                     }
                     return PowTo<T, double>(exponent, context);
                   });
}
absl::Status Pow(KernelContext& context) { return PowOf(context.input(1), context); }
absl::Status OldPow(const OldBroadcast& attributes, KernelContext& context) {
  ASSIGN_OR_RETURN(const Tensor exponent,
                   AlignOldBroadcast(attributes, context.input(0), context.input(1)));
  return PowOf(exponent, context);
}

constexpr auto kKernels =
    KernelTable(Rows<ParseOldBroadcast, OldPow>("Pow", 1), Rows<Pow>("Pow", 7, 12, 13, 15));

}  // namespace

absl::Span<const KernelDef> PowKernels() { return kKernels; }

}  // namespace onnx_run
