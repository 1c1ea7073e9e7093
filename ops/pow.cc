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

template <typename T>
void FloatPowLoop(const ElementRun& run) {
  const double* exponent = run.Input<double>(1);
  // The commonest. A float's square is exact in double, and its cube rounded far below float's
  // last place.
  if (run.steps[1] == 0 && *exponent == 2.0) {
    return UnaryLoop<T, T>([](T x) { return Truncate<T>(static_cast<double>(x) * x); }, run);
  }
  if constexpr (std::is_same_v<T, float>) {
    if (run.steps[1] == 0 && *exponent == 3.0) {
      return UnaryLoop<float, float>(
          [](float x) { return static_cast<float>(static_cast<double>(x) * x * x); }, run);
    }
    if (run.steps[1] == 0 && *exponent == 0.5) {  // unlike sqrt, +0 of -0 and infinity of -infinity
      return UnaryLoop<float, float>(
          [](float x) {
            const float root = std::sqrt(x) + 0.0F;
            return x == -std::numeric_limits<float>::infinity() ? -x : root;
          },
          run);
    }
    if (run.steps[0] != 0) {
      return vector_math::Pow(run.Input<float>(0), exponent, run.steps[1], run.Output<float>(),
                              run.n);
    }
  }
  BinaryLoop<T, double, T>(
      [](T x, double y) { return Truncate<T>(std::pow(static_cast<double>(x), y)); }, run);
}
template <typename T>
void IntegerPowLoop(const ElementRun& run) {
  BinaryLoop<T, int64_t, T>([](T x, int64_t y) { return PowerOfInteger(x, y); }, run);
}

absl::Status PowOf(const Tensor& exponent, KernelContext& context) {
  const Tensor& base = context.input(0);
  const bool integers = IsInteger(base.type()) && IsInteger(exponent.type());
  ASSIGN_OR_RETURN(
      const Tensor y,
      ConvertTensor(context, exponent, integers ? ElementType::kInt64 : ElementType::kDouble));
  const Tensor* inputs[] = {&base, &y};
  return VisitType(Types<float, double, int32_t, int64_t>(), base.type(), [&]<typename T>(Tag<T>) {
    const ElementwiseOptions options{.grain = kExpensiveGrain};
    if constexpr (std::is_integral_v<T>) {
      if (integers) return Elementwise(context, inputs, base.type(), IntegerPowLoop<T>, options);
    }
    return Elementwise(context, inputs, base.type(), FloatPowLoop<T>, options);
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
