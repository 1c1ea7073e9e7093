// Sigmoid in float: 1 / (1 + e^-x), with what each rounding loses kept, so that only the last
// addition counts. The result's subnormals are rounded once too.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/vector_sigmoid.cc"
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

// Of 1 + e (1 + q), that is `sum` and a small rest.
template <class V>
struct Reciprocal {
  ONNX_RUN_INLINE Reciprocal(V e, V q) {
    const V one = hn::Set(hn::DFromV<V>(), 1.0F);
    sum = hn::Add(one, Fma(e, q, e));
    rest = Fma(e, q, hn::Add(hn::Sub(hn::Max(one, e), sum), hn::Min(one, e)));
    quotient = hn::Div(one, sum);
  }
  // x - y (sum + rest)
  ONNX_RUN_INLINE V Remainder(V y, V x) const { return NegFma(y, rest, NegFma(y, sum, x)); }

  V sum;
  V rest;
  V quotient;  // 1 / sum, rounded
};

struct SigmoidFunction {
  template <class V>
  ONNX_RUN_INLINE V operator()(V x) const {
    const hn::DFromV<V> d;
    const hn::RebindToUnsigned<decltype(d)> du;
    const V one = hn::Set(d, 1.0F);
    // Beyond these the result is 0 or 1. NaN stays.
    const V z = MinOrSecond(hn::Set(d, 40.0F), MaxOrSecond(hn::Set(d, -104.0F), x));
    const auto power = ExpOfMinus(z, hn::Zero(d));
    // Where the result is subnormal, it is computed times 2^64 (the 1 in 1 + e^-z does not count
    // there) and rounded where its last bit, then 2^-85, is: that is the last bit of 2^-62 plus it.
    const auto tiny = hn::Lt(z, hn::Set(d, -87.33654F));
    const auto tiny_bits = hn::RebindMask(du, tiny);
    const V unit = hn::Set(d, 0x1p-62F);
    const auto e_bits =
        hn::IfThenElse(tiny_bits, hn::Sub(power.bits, hn::Set(du, 64U << 23)), power.bits);
    const Reciprocal<V> r(hn::BitCast(d, e_bits), power.minus1);
    const V quotient = r.quotient;
    V remainder = r.Remainder(quotient, one);
    const V high = hn::IfThenElse(tiny, hn::Add(quotient, unit), quotient);
    const V low = hn::IfThenElseZero(tiny, hn::Sub(quotient, hn::Sub(high, unit)));
    remainder = Fma(low, r.sum, remainder);
    // The fraction is the subnormal. (Operations on subnormals would be slow.)
    const auto y = hn::BitCast(du, Fma(quotient, remainder, high));
    return hn::BitCast(d, hn::IfThenElse(tiny_bits, hn::Sub(y, hn::BitCast(du, unit)), y));
  }
};
// x / (1 + e^-z), z = 2 sqrt(2 / pi) (x + 0.044715 x^3)
struct GeluTanhFunction {
  template <class V>
  ONNX_RUN_INLINE V operator()(V x) const {
    const hn::DFromV<V> d;
    const hn::RebindToUnsigned<decltype(d)> du;
    const V one = hn::Set(d, 1.0F);
    // Below -11 the result is -0, above 6 it is x. NaN stays.
    const V c = MinOrSecond(hn::Set(d, 6.0F), MaxOrSecond(hn::Set(d, -11.0F), x));
    // Each product as a pair of floats: 1 + 0.044715 x^2, 2 sqrt(2 / pi) x and z.
    const V cubic = hn::Set(d, 0x1.6e4e26p-5F);
    const V square = hn::Mul(c, c);
    const V square_low = Fma(c, c, hn::Neg(square));
    const V t = Fma(square, cubic, one);
    const V t_low = Fma(square, hn::Set(d, 0x1.a9003ep-30F),
                        Fma(square_low, cubic, Fma(square, cubic, hn::Sub(one, t))));
    const V linear = hn::Set(d, 0x1.988454p+0F);
    const V s = hn::Mul(c, linear);
    const V s_low = Fma(c, hn::Set(d, -0x1.857936p-25F), Fma(c, linear, hn::Neg(s)));
    const V z = hn::Mul(s, t);
    const V z_low = Fma(s_low, t, Fma(s, t_low, Fma(s, t, hn::Neg(z))));
    const auto power = ExpOfMinus(z, z_low);
    // Small results are computed times 2^64, and rounded as Sigmoid's are; these are negative.
    const auto scale = hn::IfThenElseZero(hn::RebindMask(du, hn::Lt(c, hn::Set(d, -9.6F))),
                                          hn::Set(du, 64U << 23));
    const Reciprocal<V> r(hn::BitCast(d, hn::Sub(power.bits, scale)), power.minus1);
    const auto tiny = hn::Lt(c, hn::Set(d, -10.1006365F));
    const V unit = hn::Set(d, 0x1p-62F);
    const V quotient = hn::Mul(c, r.quotient);
    const V high = hn::IfThenElse(tiny, hn::Sub(quotient, unit), quotient);
    const V low = hn::IfThenElseZero(tiny, hn::Sub(quotient, hn::Add(high, unit)));
    const V remainder = Fma(low, r.sum, r.Remainder(quotient, c));
    const V y = Fma(remainder, r.quotient, high);
    const auto offset = hn::IfThenElse(hn::RebindMask(du, tiny), hn::BitCast(du, unit), scale);
    const V unscaled = hn::BitCast(d, hn::Sub(hn::BitCast(du, y), offset));
    return WithEnds(unscaled, x);
  }
};
void GeluTanhVectors(const float* x, float* out, int64_t n) {
  MapVectors(GeluTanhFunction(), x, out, n);
}
void SigmoidVectors(const float* x, float* out, int64_t n) {
  MapVectors(SigmoidFunction(), x, out, n);
}

}  // namespace
}  // namespace onnx_run::vector_math::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace onnx_run::vector_math {

HWY_EXPORT(GeluTanhVectors);
void GeluTanh(const float* x, float* out, int64_t n) {
  HWY_DYNAMIC_DISPATCH(GeluTanhVectors)(x, out, n);
}
HWY_EXPORT(SigmoidVectors);
void Sigmoid(const float* x, float* out, int64_t n) {
  HWY_DYNAMIC_DISPATCH(SigmoidVectors)(x, out, n);
}

}  // namespace onnx_run::vector_math
#endif  // HWY_ONCE
