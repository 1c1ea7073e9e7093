// Sine, cosine and tangent, in double.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/vector_trigonometry.cc"
// Two are enough beside the one that every machine has.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include <cmath>
#include <cstdint>

#include "ops/vector_double-inl.h"
#include "ops/vector_math.h"

HWY_BEFORE_NAMESPACE();
namespace onnx_run::vector_math::HWY_NAMESPACE {
namespace {

// Arguments from here on are left to the C++ library.
constexpr float kManyTurns = 0x1p20F;

constexpr double kInversePi = 0x1.45f306dc9c883p-2;

// The first 31 bits of pi, so that its multiples here are exact, and so are differences from them
// when they are small; and the rest.
constexpr double kPi = 0x1.921fb544p+1;
constexpr double kPiLow = 0x1.0b4611a626331p-33;

// c[0] + c[1] x + c[2] x^2 + ..., in two parts that do not wait for one another.
template <int kCount, class V>
ONNX_RUN_INLINE V PolynomialInHalves(const double (&c)[kCount], V x) {
  const hn::DFromV<V> d;
  const V x2 = hn::Mul(x, x);
  const auto every_second = [&](int last) HWY_ATTR {
    V sum = hn::Set(d, c[last]);
#pragma GCC unroll 8
    for (int i = last - 2; i >= 0; i -= 2) sum = hn::Add(hn::Mul(x2, sum), hn::Set(d, c[i]));
    return sum;
  };
  constexpr int kLastEven = (kCount - 1) / 2 * 2;
  constexpr int kLastOdd = (kCount - 2) / 2 * 2 + 1;
  return hn::Add(every_second(kLastEven), hn::Mul(x, every_second(kLastOdd)));
}
// Of r on [-pi / 2, pi / 2], z is r^2; to 2^-43. -0 stays.
template <class V>
ONNX_RUN_INLINE V ReducedSin(V r, V z) {
  const hn::DFromV<V> d;
  // (sin(r) / r - 1) / r^2 in r^2
  constexpr double kSin[] = {-0x1.555555554713fp-3, 0x1.1111110a5588bp-7,   -0x1.a019fd594bc26p-13,
                             0x1.71dcf84ae4c9cp-19, -0x1.ae03f81827163p-26, 0x1.52dbe9cac84b6p-33};
  return hn::Mul(r, hn::Add(hn::Mul(z, PolynomialInHalves(kSin, z)), hn::Set(d, 1.0)));
}

template <class V>
ONNX_RUN_INLINE V LessMultiple(V x, V multiple, double of, double of_low) {
  const hn::DFromV<V> d;
  return hn::Sub(NegFmaOfExact(multiple, hn::Set(d, of), x), hn::Mul(multiple, hn::Set(d, of_low)));
}

// The following are right for |x| < kManyTurns. An odd number of half turns changes the sign. It
// may be one more or less on some machine where x is half way between two, but the result is +-1
// there.
struct SinFunction {
  static double Library(double x) { return std::sin(x); }
  template <class V>
  ONNX_RUN_INLINE V operator()(V x) const {
    const hn::DFromV<V> d;
    const hn::RebindToUnsigned<decltype(d)> du;
    const V rounder = hn::Set(d, kRounder);
    const V shifted = FmaOfExact(x, hn::Set(d, kInversePi), rounder);
    const V r = LessMultiple(x, hn::Sub(shifted, rounder), kPi, kPiLow);
    const V sign = hn::BitCast(d, hn::ShiftLeft<63>(hn::BitCast(du, shifted)));
    return hn::Xor(ReducedSin(r, hn::Mul(r, r)), sign);
  }
};
// By the distance to the nearest zero, an odd multiple of pi / 2.
struct CosFunction {
  static double Library(double x) { return std::cos(x); }
  template <class V>
  ONNX_RUN_INLINE V operator()(V x) const {
    const hn::DFromV<V> d;
    const hn::RebindToUnsigned<decltype(d)> du;
    const V rounder = hn::Set(d, kRounder);
    const V half = hn::Set(d, 0.5);
    const V shifted = hn::Add(FmaOfExact(x, hn::Set(d, kInversePi), half), rounder);
    const V r = LessMultiple(x, hn::Sub(hn::Sub(shifted, rounder), half), kPi, kPiLow);
    const V sign = hn::BitCast(d, hn::ShiftLeft<63>(hn::BitCast(du, shifted)));
    return hn::Xor(ReducedSin(r, hn::Mul(r, r)), sign);
  }
};
struct TanFunction {
  static double Library(double x) { return std::tan(x); }
  template <class V>
  ONNX_RUN_INLINE V operator()(V x) const {
    const hn::DFromV<V> d;
    const hn::RebindToUnsigned<decltype(d)> du;
    const V rounder = hn::Set(d, kRounder);
    const V shifted = hn::Add(hn::Mul(x, hn::Set(d, 2 * kInversePi)), rounder);
    const V r = LessMultiple(x, hn::Sub(shifted, rounder), kPi / 2, kPiLow / 2);
    // In odd quadrants -1 / tan(r).
    const auto quadrant = hn::BitCast(du, shifted);
    const auto odd = hn::MaskFromVec(
        hn::BitCast(d, hn::Sub(hn::Zero(du), hn::And(quadrant, hn::Set(du, uint64_t{1})))));
    const V sign = hn::BitCast(d, hn::ShiftLeft<63>(quadrant));
    const V z = hn::Mul(r, r);
    // sin(r) and cos(r), on [-pi / 4, pi / 4]: (cos(r) - 1) / r^2 in r^2 to 2^-43
    constexpr double kCos[] = {-0x1.ffffffffe8e1fp-2, 0x1.5555554582051p-5, -0x1.6c16b32518918p-10,
                               0x1.a00eaa2332456p-16, -0x1.23c718c270510p-22};
    const V sin = ReducedSin(r, z);
    const V cos = hn::Add(hn::Mul(z, PolynomialInHalves(kCos, z)), hn::Set(d, 1.0));
    return hn::Div(hn::Xor(hn::IfThenElse(odd, cos, sin), sign), hn::IfThenElse(odd, sin, cos));
  }
};

// Many turns are rare, and dear: those elements are computed again, by the library.
template <class Fn>
ONNX_RUN_INLINE void MapPeriodic(const Fn& fn, const float* x, float* out, int64_t n) {
  MapDoubles(
      [&](auto floats) HWY_ATTR {
        const Doubles d;
        const Floats df;
        const auto y = fn(Widened(floats));
        if (HWY_LIKELY(hn::AllTrue(df, hn::Lt(hn::Abs(floats), hn::Set(df, kManyTurns))))) {
          return y;
        }
        HWY_ALIGN float arguments[HWY_MAX_BYTES / sizeof(double)];
        HWY_ALIGN double results[HWY_MAX_BYTES / sizeof(double)];
        hn::Store(floats, df, arguments);
        hn::Store(y, d, results);
        for (size_t i = 0; i < hn::Lanes(d); ++i) {
          if (std::abs(arguments[i]) < kManyTurns) continue;
          results[i] = Fn::Library(static_cast<double>(arguments[i]));
        }
        return hn::Load(d, results);
      },
      out, n, ArraySource<float>{x});
}
void SinVectors(const float* x, float* out, int64_t n) { MapPeriodic(SinFunction(), x, out, n); }
void CosVectors(const float* x, float* out, int64_t n) { MapPeriodic(CosFunction(), x, out, n); }
void TanVectors(const float* x, float* out, int64_t n) { MapPeriodic(TanFunction(), x, out, n); }

}  // namespace
}  // namespace onnx_run::vector_math::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace onnx_run::vector_math {

HWY_EXPORT(SinVectors);
void Sin(const float* x, float* out, int64_t n) { HWY_DYNAMIC_DISPATCH(SinVectors)(x, out, n); }
HWY_EXPORT(CosVectors);
void Cos(const float* x, float* out, int64_t n) { HWY_DYNAMIC_DISPATCH(CosVectors)(x, out, n); }
HWY_EXPORT(TanVectors);
void Tan(const float* x, float* out, int64_t n) { HWY_DYNAMIC_DISPATCH(TanVectors)(x, out, n); }

}  // namespace onnx_run::vector_math
#endif  // HWY_ONCE
