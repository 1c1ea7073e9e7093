// Plain loops over branch-free functions of one double. Highway compiles this file once for each
// instruction set, the compiler vectorises the loops, and the machine picks one when it runs.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/vector_math.cc"
// Two are enough beside the one that every machine has.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include <bit>
#include <cstdint>
#include <limits>

#include "ops/vector_math.h"

HWY_BEFORE_NAMESPACE();
namespace onnx_run::vector_math::HWY_NAMESPACE {
namespace {

#define ONNX_RUN_INLINE HWY_INLINE HWY_ATTR

// Adding this to a double of magnitude below 2^51 rounds it to an integer, and leaves that integer
// in the low bits.
constexpr double kRounder = 0x1.8p52;
constexpr double kLog2e = 0x1.71547652b82fep0;
constexpr double kLn2 = 0x1.62e42fefa39efp-1;

ONNX_RUN_INLINE double Clamp(double x, double low, double high) {  // NaN stays
  x = x < low ? low : x;
  return x > high ? high : x;
}

// c[0] + c[1] x + c[2] x^2 + ...
template <int kCount>
ONNX_RUN_INLINE double Polynomial(const double (&c)[kCount], double x) {
  double sum = c[kCount - 1];
#pragma GCC unroll 16
  for (int i = kCount - 2; i >= 0; --i) sum = sum * x + c[i];
  return sum;
}

struct ExpParts {
  double scale;   // 2^n
  double minus1;  // e^r - 1
};
// e^x = scale * (1 + minus1), for |x| < 700 and NaN.
ONNX_RUN_INLINE ExpParts SplitExp(double x) {
  const double shifted = x * kLog2e + kRounder;
  const double n = shifted - kRounder;
  const double r = x - n * kLn2;
  // (e^r - 1) / r on [-ln2/2, ln2/2], relative error 2^-37.7
  constexpr double kExpMinus1[] = {
      0x1.fffffffff64b6p-1, 0x1.000000001de82p-1,  0x1.5555557e0caffp-3,  0x1.555554e4c867ap-5,
      0x1.1110a6ad68242p-7, 0x1.6c1778d8991f7p-10, 0x1.a17d3221665c1p-13, 0x1.9ff673b933eb9p-16};
  const uint64_t bits = std::bit_cast<uint64_t>(shifted);
  return {std::bit_cast<double>((bits << 52) + (uint64_t{1023} << 52)),
          Polynomial(kExpMinus1, r) * r};
}
ONNX_RUN_INLINE double ExpOf(double x) {
  const ExpParts e = SplitExp(Clamp(x, -700.0, 700.0));
  double y = e.scale + e.scale * e.minus1;
  y = x < -700.0 ? 0.0 : y;  // so that infinity times it is NaN
  return x > 700.0 ? std::numeric_limits<double>::infinity() : y;
}
// e^x - 1 without cancellation near 0.
ONNX_RUN_INLINE double ExpMinus1Of(double x) {
  // Beyond these the float is -1 or infinity.
  const ExpParts e = SplitExp(Clamp(x, -150.0, 130.0));
  return e.scale * e.minus1 + (e.scale - 1.0);
}

// For normal positive x.
ONNX_RUN_INLINE double LogOfPositive(double x) {
  constexpr uint64_t kSqrtHalf = 0x3fe6a09e667f3bcdULL;
  const uint64_t bits = std::bit_cast<uint64_t>(x);
  const uint64_t biased = (bits - kSqrtHalf + (uint64_t{1023} << 52)) >> 52;  // k + 1023
  // x = 2^k m, m in [sqrt 1/2, sqrt 2)
  const double k = std::bit_cast<double>(biased | 0x4330000000000000ULL) - (0x1p52 + 1023.0);
  const double m = std::bit_cast<double>(bits - (biased << 52) + (uint64_t{1023} << 52));
  const double s = (m - 1.0) / (m + 1.0);
  // atanh(s) / s in s^2 on [0, 0.0295], relative error 2^-45
  constexpr double kAtanh[] = {0x1.fffffffffff0fp-1, 0x1.5555555674b6cp-2, 0x1.99999623afa9dp-3,
                               0x1.24943b9c8da45p-3, 0x1.c61fc0c867d0dp-4, 0x1.91a48787cc29ap-4};
  return k * kLn2 + (s + s) * Polynomial(kAtanh, s * s);
}
ONNX_RUN_INLINE double LogOf(double x) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  double y = LogOfPositive(x);
  y = x < kInfinity ? y : x;  // NaN too
  y = x == 0 ? -kInfinity : y;
  return x < 0 ? std::numeric_limits<double>::quiet_NaN() : y;
}

ONNX_RUN_INLINE double SigmoidOf(double x) { return 1.0 / (1.0 + ExpOf(-x)); }
ONNX_RUN_INLINE double SoftplusOf(double x) {
  const double t = ExpOf(x < 0 ? x : -x);
  const double near0 = t - t * t * (0.5 - t * 0x1.5555555555555p-2);
  const double log1p = t < 0x1p-13 ? near0 : LogOfPositive(1.0 + t);
  return (x < 0 ? 0 : x) + log1p;
}

// erfc(a) for a >= 0 and NaN: e^(-a^2) / (1 + 2 a) times a function that is nearly constant.
ONNX_RUN_INLINE double ErfcOfPositive(double a) {
  const double t = (a - 3.0) / (a + 3.0);
  // (1 + 2 a) e^(a^2) erfc(a) in t, relative error 2^-41
  constexpr double kScaledErfc[] = {
      0x1.40c522d7e4615p+0,  -0x1.15c084bbeed53p-3,  -0x1.85a15c532da98p-5,  0x1.098366be93554p-3,
      -0x1.e88b807f4a099p-4, 0x1.17ca23ec5a5bep-4,   -0x1.8574c1ff057a9p-6,  0x1.4b8e0f998264cp-9,
      0x1.ef23d34b73806p-10, -0x1.9948edcc9a603p-11, -0x1.bdb8fc6cc98fcp-14, 0x1.099dcdbc0a137p-13,
      0x1.221f2d3b64880p-17, -0x1.4bc4a1ccbfcdap-16, -0x1.49cb62d6c34c3p-18};
  const double y = ExpOf(-(a * a)) * Polynomial(kScaledErfc, t) / (1.0 + 2.0 * a);
  return a > 10.5 ? 0.0 : y;  // 0 as a float
}
ONNX_RUN_INLINE double GeluOf(double x) {
  constexpr double kSqrtHalf = 0x1.6a09e667f3bcdp-1;
  const double far = ErfcOfPositive((x < 0 ? -x : x) * kSqrtHalf);
  return 0.5 * x * (x < 0 ? far : 2.0 - far);
}
ONNX_RUN_INLINE double GeluTanhOf(double x) {
  constexpr double kSqrt2OverPi = 0x1.9884533d43651p-1;
  // (1 + tanh u) / 2 is sigmoid(2 u).
  return x * SigmoidOf(2.0 * kSqrt2OverPi * (x + 0.044715 * (x * x * x)));
}
ONNX_RUN_INLINE double MishOf(double x) {
  const double e = ExpOf(x > 40.0 ? 40.0 : x);
  const double q = e * (e + 2.0);
  return x * (q / (q + 2.0));  // tanh(log(1 + e))
}

// A function object, always inlined: the loop is vectorised only then.
template <typename Fn>
ONNX_RUN_INLINE void Map(const Fn& fn, const float* x, float* out, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<float>(fn(static_cast<double>(x[i])));
}
template <double (*kFunction)(double)>
struct Function {
  ONNX_RUN_INLINE double operator()(double x) const { return kFunction(x); }
};
template <double (*kFunction)(double)>
void Loop(const float* x, float* out, int64_t n) {
  Map(Function<kFunction>(), x, out, n);
}

// HWY_EXPORT takes functions that are not templates.
void ExpLoop(const float* x, float* out, int64_t n) { Loop<ExpOf>(x, out, n); }
void LogLoop(const float* x, float* out, int64_t n) { Loop<LogOf>(x, out, n); }
void SoftplusLoop(const float* x, float* out, int64_t n) { Loop<SoftplusOf>(x, out, n); }
void GeluLoop(const float* x, float* out, int64_t n) { Loop<GeluOf>(x, out, n); }
void GeluTanhLoop(const float* x, float* out, int64_t n) { Loop<GeluTanhOf>(x, out, n); }
void MishLoop(const float* x, float* out, int64_t n) { Loop<MishOf>(x, out, n); }

struct SwishFunction {
  double alpha;
  ONNX_RUN_INLINE double operator()(double x) const { return x * SigmoidOf(alpha * x); }
};
void SwishLoop(const float* x, float alpha, float* out, int64_t n) {
  Map(SwishFunction{alpha}, x, out, n);
}

struct ExpLinearFunction {
  double above;
  double below;
  double divisor;
  ONNX_RUN_INLINE double operator()(double x) const {
    const double y = below * ExpMinus1Of(x / divisor);
    return x > 0 ? above * x : y;
  }
};
void ExpLinearLoop(const float* x, float negative, float divisor, float scale, float* out,
                   int64_t n) {
  Map(ExpLinearFunction{scale, static_cast<double>(negative) * scale, divisor}, x, out, n);
}

double ExpSumLoop(const float* x, float shift, float* out, int64_t n) {
  constexpr int kBlock = 64;
  double e[kBlock];
  double lanes[kBlock] = {};
  int64_t i = 0;
  for (; i + kBlock <= n; i += kBlock) {
    for (int j = 0; j < kBlock; ++j) e[j] = ExpOf(static_cast<double>(x[i + j]) - shift);
    for (int j = 0; j < kBlock; ++j) out[i + j] = static_cast<float>(e[j]);
    for (int j = 0; j < kBlock; ++j) lanes[j] += e[j];
  }
  for (int j = 0; i + j < n; ++j) {
    e[j] = ExpOf(static_cast<double>(x[i + j]) - shift);
    out[i + j] = static_cast<float>(e[j]);
    lanes[j] += e[j];
  }
  for (int width = kBlock / 2; width > 0; width /= 2) {
    for (int j = 0; j < width; ++j) lanes[j] += lanes[j + width];
  }
  return lanes[0];
}

}  // namespace
}  // namespace onnx_run::vector_math::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace onnx_run::vector_math {

HWY_EXPORT(ExpLoop);
void Exp(const float* x, float* out, int64_t n) { HWY_DYNAMIC_DISPATCH(ExpLoop)(x, out, n); }
HWY_EXPORT(LogLoop);
void Log(const float* x, float* out, int64_t n) { HWY_DYNAMIC_DISPATCH(LogLoop)(x, out, n); }
HWY_EXPORT(SoftplusLoop);
void Softplus(const float* x, float* out, int64_t n) {
  HWY_DYNAMIC_DISPATCH(SoftplusLoop)(x, out, n);
}
HWY_EXPORT(GeluLoop);
void Gelu(const float* x, float* out, int64_t n) { HWY_DYNAMIC_DISPATCH(GeluLoop)(x, out, n); }
HWY_EXPORT(GeluTanhLoop);
void GeluTanh(const float* x, float* out, int64_t n) {
  HWY_DYNAMIC_DISPATCH(GeluTanhLoop)(x, out, n);
}
HWY_EXPORT(MishLoop);
void Mish(const float* x, float* out, int64_t n) { HWY_DYNAMIC_DISPATCH(MishLoop)(x, out, n); }
HWY_EXPORT(SwishLoop);
void Swish(const float* x, float alpha, float* out, int64_t n) {
  HWY_DYNAMIC_DISPATCH(SwishLoop)(x, alpha, out, n);
}
HWY_EXPORT(ExpLinearLoop);
void ExpLinear(const float* x, float negative, float divisor, float scale, float* out, int64_t n) {
  HWY_DYNAMIC_DISPATCH(ExpLinearLoop)(x, negative, divisor, scale, out, n);
}
HWY_EXPORT(ExpSumLoop);
double ExpSum(const float* x, float shift, float* out, int64_t n) {
  return HWY_DYNAMIC_DISPATCH(ExpSumLoop)(x, shift, out, n);
}

}  // namespace onnx_run::vector_math
#endif  // HWY_ONCE
