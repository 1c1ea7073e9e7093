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
#include <limits>

#include "ops/vector_float-inl.h"
#include "ops/vector_math.h"

HWY_BEFORE_NAMESPACE();
namespace onnx_run::vector_math::HWY_NAMESPACE {
namespace {

constexpr float kHalfPi = 0x1.921fb6p+0F;
constexpr float kHalfPiLow = -0x1.777a5cp-25F;

// acos(a) where `is_far`, that is a > 1/2, else asin(a); anything where a > 1.
template <class V, class M>
ONNX_RUN_INLINE Pair<V> ArcOf(V a, M is_far) {
  const hn::DFromV<V> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const V half = hn::Set(d, 0.5F);
  // The chord: its square is 2 - 2 |x|, exactly. Newton's iteration for the square root's inverse
  // leaves a relative error of 2^-17, the root's remainder another of 2^-34.
  const V square = Fma(a, hn::Set(d, -2.0F), hn::Set(d, 2.0F));
  V inverse =
      hn::BitCast(d, hn::Sub(hn::Set(du, 0x5f375a86U), hn::ShiftRight<1>(hn::BitCast(du, square))));
  const V half_square = hn::Sub(hn::Set(d, 1.0F), a);
  const V three_halves = hn::Set(d, 1.5F);
  inverse = hn::Mul(inverse, NegFma(hn::Mul(half_square, inverse), inverse, three_halves));
  inverse = hn::Mul(inverse, NegFma(hn::Mul(half_square, inverse), inverse, three_halves));
  const V chord = hn::Mul(square, inverse);
  const V chord_low = hn::Mul(NegFma(chord, chord, square), hn::Mul(inverse, half));

  const V s = hn::IfThenElse(is_far, chord, a);
  const V s_low = hn::IfThenElseZero(is_far, chord_low);
  const V a2 = hn::Mul(a, a);
  const V z = hn::IfThenElse(is_far, hn::Mul(half_square, half), a2);
  const V z_low = hn::IfThenZeroElse(is_far, Fma(a, a, hn::Neg(a2)));
  // f(z) = 1 + sixth z + k z = f + f_low, to 2^-31
  const V one = hn::Set(d, 1.0F);
  const V sixth = hn::Set(d, 0x1.555556p-3F);
  V k = Fma(hn::Set(d, 0x1.332832p-5F), z, hn::Set(d, 0x1.d993cep-7F));
  k = Fma(k, z, hn::Set(d, 0x1.048b40p-5F));
  k = Fma(k, z, hn::Set(d, 0x1.6caf56p-5F));
  k = Fma(k, z, hn::Set(d, 0x1.33387cp-4F));
  k = Fma(k, z, hn::Set(d, -0x1.3553d6p-24F));
  const V f = Fma(z, sixth, one);
  const V f_low = Fma(k, z, Fma(z_low, sixth, Fma(z, sixth, hn::Sub(one, f))));
  const V p = hn::Mul(s, f);
  return {p, Fma(hn::Add(s, s_low), f_low, Fma(s_low, f, Fma(s, f, hn::Neg(p))))};
}

template <class V>
ONNX_RUN_INLINE V NanBeyondOne(V y, V a) {
  const hn::DFromV<V> d;
  const V nan = hn::Set(d, std::numeric_limits<float>::quiet_NaN());
  return hn::IfThenElse(hn::Gt(a, hn::Set(d, 1.0F)), nan, y);
}

struct AsinFunction {
  template <class V>
  ONNX_RUN_INLINE V operator()(V x) const {
    const hn::DFromV<V> d;
    const V a = hn::Abs(x);
    const auto is_far = hn::Gt(a, hn::Set(d, 0.5F));
    const Pair<V> angle = ArcOf(a, is_far);
    const V half_pi = hn::Set(d, kHalfPi);
    const V high = hn::Sub(half_pi, angle.high);
    const V low = hn::Add(hn::Sub(hn::Sub(half_pi, high), angle.high),
                          hn::Sub(hn::Set(d, kHalfPiLow), angle.low));
    const V y =
        hn::Add(hn::IfThenElse(is_far, high, angle.high), hn::IfThenElse(is_far, low, angle.low));
    return hn::CopySign(NanBeyondOne(y, a), x);
  }
};
// n pi / 2 + acos|x| or - asin|x|, negated where x is negative; n is 0, 1 or 2.
struct AcosFunction {
  template <class V>
  ONNX_RUN_INLINE V operator()(V x) const {
    const hn::DFromV<V> d;
    const V a = hn::Abs(x);
    const auto is_far = hn::Gt(a, hn::Set(d, 0.5F));
    const Pair<V> angle = ArcOf(a, is_far);
    const V one = hn::Set(d, 1.0F);
    const V sign = hn::And(x, hn::SignBit(d));
    const V n = hn::Sub(one, hn::IfThenElseZero(is_far, hn::Or(one, sign)));
    const V flip = hn::Xor(sign, hn::IfThenZeroElse(is_far, hn::SignBit(d)));
    const V p = hn::Xor(angle.high, flip);
    const V p_low = hn::Xor(angle.low, flip);
    const V half_pi = hn::Set(d, kHalfPi);
    const V high = Fma(n, half_pi, p);
    const V low =
        hn::Add(hn::Add(Fma(n, half_pi, hn::Neg(high)), p), Fma(n, hn::Set(d, kHalfPiLow), p_low));
    return NanBeyondOne(hn::Add(high, low), a);
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
