// Asin and Acos in float.
//
// Both are made of s f(s^2), f(z) = asin(sqrt z) / sqrt z, where s is |x| up to 1/2 and beyond it
// sqrt((1 - |x|) / 2), for asin|x| = pi / 2 - 2 asin(s) there. 1 + z / 6 and all greater than it
// is kept to more than float's precision, so that only the last addition's rounding counts.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/vector_arcsine.cc"
// Two are enough beside the one that every machine has.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include <cstdint>

#include "ops/vector_float-inl.h"
#include "ops/vector_math.h"

HWY_BEFORE_NAMESPACE();
namespace onnx_run::vector_math::HWY_NAMESPACE {
namespace {

constexpr float kHalfPi = 0x1.921fb6p+0F;
constexpr float kHalfPiLow = -0x1.777a5cp-25F;

// sqrt(2 - 2 a), and half of 1 - a, which is exact from 1/2 on. NaN where a > 1.
template <class V>
struct Chord {
  ONNX_RUN_INLINE explicit Chord(V a) {
    const hn::DFromV<V> d;
    const hn::RebindToUnsigned<decltype(d)> du;
    const V half = hn::Set(d, 0.5F);
    const V square = Fma(a, hn::Set(d, -2.0F), hn::Set(d, 2.0F));  // exact from 1/2 on
    quarter_square = Fma(a, hn::Neg(half), half);
    high = hn::Sqrt(square);
    // The root's remainder by half its inverse, that is g (sqrt 2 - g high) where g is about
    // 1 / sqrt(2 square): a guess to 3.5 % gives that to 0.2 %.
    const V g = hn::BitCast(
        d, hn::Sub(hn::Set(du, 0x5ef75a86U), hn::ShiftRight<1>(hn::BitCast(du, square))));
    low =
        hn::Mul(hn::Mul(NegFma(high, high, square), g), NegFma(high, g, hn::Set(d, 0x1.6a09e6p0F)));
  }
  V high;
  V low;
  V quarter_square;
};

// asin(s + s_low) where z + z_low is its square.
template <bool kWithSquareLow, class V>
ONNX_RUN_INLINE Pair<V> ArcOf(V s, V s_low, V z, V z_low) {
  const hn::DFromV<V> d;
  // f(z) = 1 + sixth z + k z = f + f_low, to 2^-31
  const V one = hn::Set(d, 1.0F);
  const V sixth = hn::Set(d, 0x1.555556p-3F);
  V k = Fma(hn::Set(d, 0x1.332832p-5F), z, hn::Set(d, 0x1.d993cep-7F));
  k = Fma(k, z, hn::Set(d, 0x1.048b40p-5F));
  k = Fma(k, z, hn::Set(d, 0x1.6caf56p-5F));
  k = Fma(k, z, hn::Set(d, 0x1.33387cp-4F));
  k = Fma(k, z, hn::Set(d, -0x1.3553d6p-24F));
  const V f = Fma(z, sixth, one);
  V f_low = Fma(z, sixth, hn::Sub(one, f));
  if constexpr (kWithSquareLow) f_low = Fma(z_low, sixth, f_low);
  f_low = Fma(k, z, f_low);
  const V p = hn::Mul(s, f);
  return {p, Fma(hn::Add(s, s_low), f_low, Fma(s_low, f, FmaSub(s, f, p)))};
}

struct AsinFunction {
  template <class V>
  ONNX_RUN_INLINE V operator()(V x) const {
    const hn::DFromV<V> d;
    const V a = hn::Abs(x);
    const auto is_far = hn::Gt(a, hn::Set(d, 0.5F));
    const Chord<V> chord(a);
    const V a2 = hn::Mul(a, a);
    const Pair<V> angle =
        ArcOf<true>(hn::IfThenElse(is_far, chord.high, a), hn::IfThenElseZero(is_far, chord.low),
                    hn::IfThenElse(is_far, chord.quarter_square, a2),
                    hn::IfThenZeroElse(is_far, FmaSub(a, a, a2)));
    const V half_pi = hn::Set(d, kHalfPi);
    const V high = hn::Sub(half_pi, angle.high);
    const V low = hn::Add(hn::Sub(hn::Sub(half_pi, high), angle.high),
                          hn::Sub(hn::Set(d, kHalfPiLow), angle.low));
    const V y =
        hn::Add(hn::IfThenElse(is_far, high, angle.high), hn::IfThenElse(is_far, low, angle.low));
    return hn::CopySign(y, x);
  }
};
// n pi / 2 less asin(x), or where |x| > 1/2 less acos|x| with the sign that x has not; n is 0, 1
// or 2. What a^2 loses in rounding does not count beside pi / 2.
struct AcosFunction {
  template <class V>
  ONNX_RUN_INLINE V operator()(V x) const {
    const hn::DFromV<V> d;
    const V a = hn::Abs(x);
    const auto is_far = hn::Gt(a, hn::Set(d, 0.5F));
    const Chord<V> chord(a);
    const V one = hn::Set(d, 1.0F);
    const V flip = hn::AndNot(x, hn::SignBit(d));
    const Pair<V> angle =
        ArcOf<false>(hn::IfThenElse(is_far, hn::Xor(chord.high, flip), x),
                     hn::IfThenElseZero(is_far, hn::Xor(chord.low, flip)),
                     hn::IfThenElse(is_far, chord.quarter_square, hn::Mul(x, x)), hn::Zero(d));
    const V n = hn::Sub(one, hn::IfThenElseZero(is_far, hn::CopySign(one, x)));
    const V half_pi = hn::Set(d, kHalfPi);
    const V high = FmaSub(n, half_pi, angle.high);
    const V low = hn::Add(hn::Sub(FmaSub(n, half_pi, high), angle.high),
                          FmaSub(n, hn::Set(d, kHalfPiLow), angle.low));
    return hn::Add(high, low);
  }
};
void AsinVectors(const float* x, float* out, int64_t n) { MapVectors(AsinFunction(), x, out, n); }
void AcosVectors(const float* x, float* out, int64_t n) { MapVectors(AcosFunction(), x, out, n); }

}  // namespace
}  // namespace onnx_run::vector_math::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace onnx_run::vector_math {

HWY_EXPORT(AsinVectors);
void Asin(const float* x, float* out, int64_t n) { HWY_DYNAMIC_DISPATCH(AsinVectors)(x, out, n); }
HWY_EXPORT(AcosVectors);
void Acos(const float* x, float* out, int64_t n) { HWY_DYNAMIC_DISPATCH(AcosVectors)(x, out, n); }

}  // namespace onnx_run::vector_math
#endif  // HWY_ONCE
