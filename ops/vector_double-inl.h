// What functions computed in double share: branch-free functions of one number, with loops that the
// compiler vectorises, and a loop for functions of vectors. Included once for each target.
#if defined(ONNX_RUN_OPS_VECTOR_DOUBLE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ONNX_RUN_OPS_VECTOR_DOUBLE_INL_H_
#undef ONNX_RUN_OPS_VECTOR_DOUBLE_INL_H_
#else
#define ONNX_RUN_OPS_VECTOR_DOUBLE_INL_H_
#endif

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>

#include "hwy/highway.h"

#ifndef ONNX_RUN_INLINE
#define ONNX_RUN_INLINE HWY_INLINE HWY_ATTR
#endif

HWY_BEFORE_NAMESPACE();
namespace onnx_run::vector_math::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Adding this to a double of magnitude below 2^51 rounds it to an integer, and leaves that integer
// in the low bits.
inline constexpr double kRounder = 0x1.8p52;
inline constexpr double kLog2e = 0x1.71547652b82fep0;
inline constexpr double kLn2 = 0x1.62e42fefa39efp-1;

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
// With the magnitude of x and the sign of `sign`.
ONNX_RUN_INLINE double WithSign(double x, double sign) {
  constexpr uint64_t kSign = uint64_t{1} << 63;
  return std::bit_cast<double>((std::bit_cast<uint64_t>(x) & ~kSign) |
                               (std::bit_cast<uint64_t>(sign) & kSign));
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

// As many floats as doubles fit into a vector.
using Doubles = hn::ScalableTag<double>;
using Floats = hn::Rebind<float, Doubles>;

// Rounded to nearest, to infinity too.
ONNX_RUN_INLINE hn::Vec<Floats> Narrowed(hn::Vec<Doubles> x) {
#if HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR  // whose DemoteTo clamps
  const Floats df;
  HWY_ALIGN double from[HWY_MAX_BYTES / sizeof(double)];
  HWY_ALIGN float to[HWY_MAX_BYTES / sizeof(double)];
  hn::Store(x, Doubles(), from);
  for (size_t i = 0; i < hn::Lanes(df); ++i) to[i] = static_cast<float>(from[i]);
  return hn::Load(df, to);
#else
  return hn::DemoteTo(Floats(), x);
#endif
}

// out[i] = fn(sources' element i ...), by vectors of floats or doubles. The last few are in vectors
// whose other lanes are 1.
template <class Fn, class... Sources>
ONNX_RUN_INLINE void MapDoubles(const Fn& fn, float* out, int64_t n, const Sources&... sources) {
  const Doubles d;
  const Floats df;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(Narrowed(fn(sources.At(i)...)), df, out + i);
  }
  if (i == n) return;
  HWY_ALIGN float rest[HWY_MAX_BYTES / sizeof(double)];
  hn::Store(Narrowed(fn(sources.Rest(i, n - i)...)), df, rest);
  std::memcpy(out + i, rest, sizeof(float) * static_cast<size_t>(n - i));
}
template <class T>
struct ArraySource {
  using D = hn::Rebind<T, Doubles>;
  const T* x;
  ONNX_RUN_INLINE hn::Vec<D> At(int64_t i) const { return hn::LoadU(D(), x + i); }
  ONNX_RUN_INLINE hn::Vec<D> Rest(int64_t i, int64_t count) const {
    HWY_ALIGN T rest[HWY_MAX_BYTES / sizeof(double)];
    hn::Store(hn::Set(D(), T{1}), D(), rest);
    std::memcpy(rest, x + i, sizeof(T) * static_cast<size_t>(count));
    return hn::Load(D(), rest);
  }
};
template <class T>
struct OneSource {
  using D = hn::Rebind<T, Doubles>;
  T x;
  ONNX_RUN_INLINE hn::Vec<D> At(int64_t /*i*/) const { return hn::Set(D(), x); }
  ONNX_RUN_INLINE hn::Vec<D> Rest(int64_t /*i*/, int64_t /*count*/) const {
    return hn::Set(D(), x);
  }
};
template <class V>
ONNX_RUN_INLINE hn::Vec<Doubles> Widened(V x) {
  if constexpr (sizeof(hn::TFromV<V>) == sizeof(double)) {
    return x;
  } else {
    return hn::PromoteTo(Doubles(), x);
  }
}

}  // namespace
}  // namespace onnx_run::vector_math::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
