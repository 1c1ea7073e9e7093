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

// 1 + 2^(y / 32) = sum + rest times 2^kDown, and its inverse to 2^-17. So scaled, neither the sums
// nor the results of what follows are subnormal or infinite.
template <int kDown, class M>
struct OnePlusPower {
  // y is n - r 32 / ln 2, the integer n nearest to it, that is in the low bits of `shifted`.
  ONNX_RUN_INLINE OnePlusPower(const M& shifted, const M& r) {
    const hn::ScalableTag<float> d;
    const hn::RebindToUnsigned<decltype(d)> du;
    const M e = Power32(shifted);
    // The power is e (1 + minus1).
    M minus1 = each::Fma(r, hn::Set(d, -0x1.5555c8p-3F), hn::Set(d, 0x1.000088p-1F));
    minus1 = each::Fma(r, minus1, hn::Set(d, -1.0F));
    minus1 = each::Fma(r, minus1, Power32Rest(shifted));
    const auto one = hn::Set(d, kScaledOne);
    sum = each::Add(one, each::Fma(e, minus1, e));
    // Less than 0.06 off, then two of Newton's steps. (Dividing would take longer.)
    inverse = each::Call(
        [=](auto s) HWY_ATTR {
          return hn::BitCast(d, hn::Sub(hn::Set(du, 0x7ef311c3U), hn::BitCast(du, s)));
        },
        sum);
    inverse = each::Mul(inverse, each::NegFma(inverse, sum, hn::Set(d, 2.00155F)));
    inverse = each::Fma(inverse, each::NegFma(inverse, sum, hn::Set(d, 1.0F)), inverse);
    rest = each::Add(each::Sub(each::Max(one, e), sum), each::Min(one, e));
    rest = each::Fma(e, minus1, rest);
  }

  // x / (sum + rest), rounded once; quotient is x inverse. Where `tiny`, the sum of that and `unit`
  // is rounded.
  template <class V, class X, class Masks>
  ONNX_RUN_INLINE M Divide(const X& x, M quotient, const Masks& tiny, V unit) const {
    const M high = each::IfThenElse(tiny, each::Add(quotient, unit), quotient);
    quotient = each::IfThenElse(tiny, each::Sub(high, unit), quotient);
    const M remainder = each::NegFma(quotient, rest, each::NegFma(quotient, sum, x));
    return each::Fma(remainder, inverse, high);
  }

  static constexpr float kRounder = 0x1.8p23F - 32 * kDown;
  static constexpr float kScaledOne = 1.0F / static_cast<float>(uint64_t{1} << kDown);
  M sum;
  M rest;
  M inverse;
};

struct SigmoidFunction {
  template <class M>
  ONNX_RUN_INLINE M operator()(const M& x) const {
    const hn::ScalableTag<float> d;
    using Power = OnePlusPower<32, M>;
    // Beyond these the result is 0 or 1. NaN stays.
    const M z = each::MinOrSecond(hn::Set(d, 40.0F), each::MaxOrSecond(hn::Set(d, -104.0F), x));
    const auto factor = hn::Set(d, -0x1.715476p5F);
    const auto rounder = hn::Set(d, Power::kRounder);
    const M shifted = each::Fma(z, factor, rounder);
    const M n = each::Sub(shifted, rounder);
    const M r = each::Fma(n, hn::Set(d, 0x1.62e43p-6F), z);  // exact
    const Power power(shifted, each::Fma(n, hn::Set(d, -0x1.05c61p-34F), r));
    const auto tiny = each::Lt(z, hn::Set(d, -87.33654F));
    const M result = power.Divide(hn::Set(d, 1.0F), power.inverse, tiny, hn::Set(d, 0x1p-94F));
    const M scaled = each::Mul(result, hn::Set(d, Power::kScaledOne));
    return each::IfThenElse(tiny, SubnormalOf(result, 0x1p-94F), scaled);
  }
};
// x / (1 + e^-z), z = 2 sqrt(2 / pi) (x + 0.044715 x^3)
struct GeluTanhFunction {
  template <class M>
  ONNX_RUN_INLINE M operator()(const M& x) const {
    const hn::ScalableTag<float> d;
    using Power = OnePlusPower<40, M>;
    // Below -11 the result is -0, above 6 it is x. NaN stays.
    const M c = each::MinOrSecond(hn::Set(d, 6.0F), each::MaxOrSecond(hn::Set(d, -11.0F), x));
    // c w = -z 32 / ln 2, each product as a pair of floats. `linear` less w is exact.
    const auto linear = hn::Set(d, -0x1.26aep+6F);
    const auto cubic = hn::Set(d, -0x1.a5a7dp+1F);
    const M square = each::Mul(c, c);
    const M square_low = each::FmaSub(c, c, square);
    const M w = each::Fma(square, cubic, linear);
    M w_rest = each::Fma(square, hn::Set(d, 0x1.151aaep-24F), hn::Set(d, -0x1.84379cp-11F));
    w_rest = each::Fma(square_low, cubic, w_rest);
    const M w_low = each::Add(each::Fma(square, cubic, each::Sub(linear, w)), w_rest);
    const M y = each::Mul(c, w);
    const M y_low = each::Fma(c, w_low, each::FmaSub(c, w, y));
    const auto rounder = hn::Set(d, Power::kRounder);
    const M shifted = each::Add(y, rounder);
    const M f = each::Add(each::Sub(y, each::Sub(shifted, rounder)), y_low);
    const Power power(shifted, each::Mul(f, hn::Set(d, -0x1.62e43p-6F)));
    // The remainders of small x are to be no subnormals.
    const M scaled = each::Mul(c, hn::Set(d, 0x1p80F));
    const auto tiny = each::Lt(c, hn::Set(d, -10.1006365F));
    const M result =
        power.Divide(scaled, each::Mul(scaled, power.inverse), tiny, hn::Set(d, -0x1p-6F));
    const M y_scaled = each::Mul(result, hn::Set(d, 0x1p-120F));
    return each::WithEnds(each::IfThenElse(tiny, SubnormalOf(result, 0x1p-6F), y_scaled), x);
  }
};
void GeluTanhVectors(const float* x, float* out, int64_t n) {
  MapMany<4>(GeluTanhFunction(), x, out, n);
}
void SigmoidVectors(const float* x, float* out, int64_t n) {
  MapMany<6>(SigmoidFunction(), x, out, n);
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
