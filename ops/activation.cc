// Activation functions: element-wise, of one input and attributes (PRelu: of two inputs).
#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/kernel_table.h"
#include "ops/vector_math.h"

namespace onnx_run {
namespace {

// Where the standard has a function body, NaN becomes what it becomes there.
struct ReluOp {
  template <typename T>
  T operator()(T x) const {
    return x < 0 ? T{0} : x;
  }
};
struct LeakyReluOp {
  float alpha;
  template <typename T>
  T operator()(T x) const {
    const T scaled = static_cast<T>(alpha * x);  // always, so that no branch is left
    return x < 0 ? scaled : x;
  }
};
absl::StatusOr<LeakyReluOp> ParseLeakyRelu(const NodeInfo& node) {
  return LeakyReluOp{node.FloatOr("alpha", 0.01F)};
}

struct ThresholdedReluOp {
  float alpha;
  template <typename T>
  T operator()(T x) const {
    return x > alpha ? x : T{0};
  }
};
absl::StatusOr<ThresholdedReluOp> ParseThresholdedRelu(const NodeInfo& node) {
  return ThresholdedReluOp{node.FloatOr("alpha", 1.0F)};
}

template <typename T>
T ClampToUnit(T x) {
  x = x < 0 ? T{0} : x;
  return x > 1 ? T{1} : x;
}
struct HardSigmoidOp {
  float alpha;
  float beta;
  void Loop(const float* x, float* out, int64_t n) const {
    vector_math::HardSigmoid(x, alpha, beta, out, n);
  }
  template <typename T>
  T operator()(T x) const {
    return ClampToUnit(T{alpha} * x + T{beta});
  }
};
absl::StatusOr<HardSigmoidOp> ParseHardSigmoid(const NodeInfo& node) {
  return HardSigmoidOp{node.FloatOr("alpha", 0.2F), node.FloatOr("beta", 0.5F)};
}
struct HardSwishOp {
  void Loop(const float* x, float* out, int64_t n) const { vector_math::HardSwish(x, out, n); }
  template <typename T>
  T operator()(T x) const {
    return x * ClampToUnit(x * (T{1} / T{6}) + T{0.5});
  }
};
struct SoftsignOp {
  template <typename T>
  T operator()(T x) const {
    return x / (T{1} + std::abs(x));
  }
};

// Integers are computed with the bias in float and cut, as the standard's reference does.
struct ShrinkOp {
  float lambd;
  float bias;
  template <typename T>
  T operator()(T x) const {
    using F = std::conditional_t<std::is_same_v<T, float>, float, double>;
    const F value = static_cast<F>(x);
    const F shrunk = value < -lambd ? value + bias : (value > lambd ? value - bias : F{0});
    if constexpr (std::is_floating_point_v<T>) return x != x ? F{0} : shrunk;
    return static_cast<T>(static_cast<int64_t>(shrunk));
  }
};
absl::StatusOr<ShrinkOp> ParseShrink(const NodeInfo& node) {
  return ShrinkOp{node.FloatOr("lambd", 0.5F), node.FloatOr("bias", 0.0F)};
}

double SigmoidOf(double x) { return 1.0 / (1.0 + std::exp(-x)); }
double SoftplusOf(double x) { return (x > 0 ? x : 0) + std::log1p(std::exp(-std::abs(x))); }

using SigmoidOp = Vectorised<vector_math::Sigmoid, SigmoidOf>;
using SoftplusOp = Vectorised<vector_math::Softplus, SoftplusOf>;
using MishOp = Vectorised<vector_math::Mish, [](double x) { return x * std::tanh(SoftplusOf(x)); }>;
using GeluOp = Vectorised<vector_math::Gelu, [](double x) {
  return 0.5 * x * std::erfc(-x * 0x1.6a09e667f3bcdp-1);  // sqrt(1/2)
}>;
using GeluTanhOp = Vectorised<vector_math::GeluTanh, [](double x) {
  constexpr double kSqrt2OverPi = 0x1.9884533d43651p-1;
  return x * SigmoidOf(2.0 * kSqrt2OverPi * (x + 0.044715 * x * x * x));
}>;

struct GeluAttributes {
  bool approximate;
};
absl::StatusOr<GeluAttributes> ParseGelu(const NodeInfo& node) {
  const std::string approximate = node.StringOr("approximate", "none");
  if (approximate != "none" && approximate != "tanh") {
    return node.BadAttribute("approximate", absl::StrCat("\"", approximate, "\""),
                             "\"none\" or \"tanh\"");
  }
  return GeluAttributes{approximate == "tanh"};
}
absl::Status Gelu(const GeluAttributes& attributes, KernelContext& context) {
  if (attributes.approximate) return RunUnary<Floats>(GeluTanhOp(), context);
  return RunUnary<Floats>(GeluOp(), context);
}

struct SwishOp {
  static constexpr int64_t kGrain = 8192;
  float alpha;
  double operator()(double x) const { return x * SigmoidOf(alpha * x); }
  void Loop(const float* x, float* out, int64_t n) const { vector_math::Swish(x, alpha, out, n); }
};
absl::StatusOr<SwishOp> ParseSwish(const NodeInfo& node) {
  return SwishOp{node.FloatOr("alpha", 1.0F)};
}

// scale * (x where x > 0, else negative * (e^(x / divisor) - 1))
struct ExpLinearOp {
  static constexpr int64_t kGrain = 8192;
  float negative;
  float divisor;
  float scale;
  double operator()(double x) const {
    if (x > 0) return scale * x;
    return static_cast<double>(scale) * negative * std::expm1(x / divisor);
  }
  void Loop(const float* x, float* out, int64_t n) const {
    vector_math::ExpLinear(x, negative, divisor, scale, out, n);
  }
};
absl::StatusOr<ExpLinearOp> ParseElu(const NodeInfo& node) {
  return ExpLinearOp{node.FloatOr("alpha", 1.0F), 1.0F, 1.0F};
}
absl::StatusOr<ExpLinearOp> ParseCelu(const NodeInfo& node) {
  const float alpha = node.FloatOr("alpha", 1.0F);
  return ExpLinearOp{alpha, alpha, 1.0F};
}
absl::StatusOr<ExpLinearOp> ParseSelu(const NodeInfo& node) {
  return ExpLinearOp{node.FloatOr("alpha", 1.6732632F), 1.0F, node.FloatOr("gamma", 1.050701F)};
}

struct PReluOp {
  template <typename T>
  T operator()(T x, T slope) const {
    if constexpr (std::is_integral_v<T>) {  // wraps
      using Unsigned = std::make_unsigned_t<T>;
      return x < T{0} ? static_cast<T>(static_cast<Unsigned>(x) * static_cast<Unsigned>(slope)) : x;
    } else {
      const T scaled = slope * x;
      return x < 0 ? scaled : x;
    }
  }
};
using PReluTypes = Types<float, double, int32_t, int64_t, uint32_t, uint64_t>;

absl::Status PRelu(const Tensor& slope, KernelContext& context) {
  const Tensor& x = context.input(0);
  ASSIGN_OR_RETURN(const Dims dims, BroadcastDims(x.dims(), slope.dims()));
  if (dims != x.dims()) {
    return absl::InvalidArgumentError(absl::StrCat("the slope, ", TypeAndDims(slope),
                                                   ", cannot be broadcast to x, ", TypeAndDims(x)));
  }
  return RunBinary<PReluTypes>(PReluOp(), x, slope, context);
}
absl::Status PRelu7(KernelContext& context) { return PRelu(context.input(1), context); }
// Before version 7 the slope is one element, or has one for each channel: for each index of axis 1.
absl::Status PRelu1(KernelContext& context) {
  const Tensor& x = context.input(0);
  const Tensor& slope = context.input(1);
  if (slope.rank() != 1 || slope.size() == 1 || x.rank() < 2 || slope.dim(0) != x.dim(1)) {
    return PRelu(slope, context);
  }
  Dims dims(static_cast<size_t>(x.rank()) - 1, 1);
  dims[0] = slope.dim(0);
  return PRelu(slope.WithDims(dims), context);
}

constexpr auto kKernels = KernelTable(
    Rows<Unary<ReluOp, SignedNumbers>>("Relu", 1, 6, 13, 14),
    Rows<ParseLeakyRelu, UnaryWith<LeakyReluOp, Floats>>("LeakyRelu", 1, 6, 16),
    Rows<ParseThresholdedRelu, UnaryWith<ThresholdedReluOp, Floats>>("ThresholdedRelu", 10, 22),
    Rows<PRelu1>("PRelu", 1, 6), Rows<PRelu7>("PRelu", 7, 9, 16),
    Rows<ParseElu, UnaryWith<ExpLinearOp, Floats>>("Elu", 1, 6, 22),
    Rows<ParseCelu, UnaryWith<ExpLinearOp, Floats>>("Celu", 12),
    Rows<ParseSelu, UnaryWith<ExpLinearOp, Floats>>("Selu", 1, 6, 22),
    Rows<Unary<SigmoidOp, Floats>>("Sigmoid", 1, 6, 13),
    Rows<ParseHardSigmoid, UnaryWith<HardSigmoidOp, Floats>>("HardSigmoid", 1, 6, 22),
    Rows<Unary<HardSwishOp, Floats>>("HardSwish", 14, 22),
    Rows<ParseSwish, UnaryWith<SwishOp, Floats>>("Swish", 24),
    Rows<Unary<MishOp, Floats>>("Mish", 18, 22), Rows<ParseGelu, Gelu>("Gelu", 20),
    Rows<Unary<SoftplusOp, Floats>>("Softplus", 1, 22),
    Rows<Unary<SoftsignOp, Floats>>("Softsign", 1, 22),
    Rows<ParseShrink, UnaryWith<ShrinkOp, Numbers>>("Shrink", 9));

}  // namespace

absl::Span<const KernelDef> ActivationKernels() { return kKernels; }

}  // namespace onnx_run
