// Tanh, Atan, Erf and Gelu by tables, in float.
//
// 32 segments of |x|, each with a polynomial in t = |x| - center (exact) whose first two terms are
// kept to more than float's precision: s = value + slope t rounded, r what the rounding lost. All
// that is left is small beside s, and so are its errors: only the last addition counts. The fused
// multiply-add is IEEE's; where the machine has none it is made of exact double arithmetic, so
// that all machines give the same bits.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/vector_segments.cc"
// Two are enough beside the one that every machine has.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include <cmath>
#include <cstdint>

#include "ops/vector_float-inl.h"
#include "ops/vector_math.h"

#ifndef ONNX_RUN_OPS_SEGMENT_TABLES
#define ONNX_RUN_OPS_SEGMENT_TABLES
namespace onnx_run::vector_math {
namespace {

#include "ops/segment_tables.inc"

}  // namespace
}  // namespace onnx_run::vector_math
#endif  // ONNX_RUN_OPS_SEGMENT_TABLES

HWY_BEFORE_NAMESPACE();
namespace onnx_run::vector_math::HWY_NAMESPACE {
namespace {

// f(x) for an odd function f that is 1 from the table's bound on.
template <const SegmentTable& kTable, class V>
ONNX_RUN_INLINE V OddBySegments(V x) {
  const hn::DFromV<V> d;
  // In this order NaN stays.
  const V a = MinOrSecond(hn::Set(d, kTable.bound), hn::Abs(x));
  const Pair<V> y = BySegments<kTable>(a);
  return hn::CopySign(hn::Add(y.high, y.low), x);
}

struct TanhFunction {
  template <class V>
  ONNX_RUN_INLINE V operator()(V x) const {
    return OddBySegments<kTanhTable>(x);
  }
};
void TanhSegments(const float* x, float* out, int64_t n) { MapVectors(TanhFunction(), x, out, n); }

// Where |x| > 1, pi / 2 - atan(1 / |x|).
struct AtanFunction {
  template <class V>
  ONNX_RUN_INLINE V operator()(V x) const {
    const hn::DFromV<V> d;
    const V one = hn::Set(d, 1.0F);
    // From there on the result is pi / 2. NaN stays.
    const V a = MinOrSecond(hn::Set(d, 0x1p60F), hn::Abs(x));
    const auto is_far = hn::Gt(a, one);
    const V inverse = hn::Div(one, a);
    const V inverse_low = hn::Mul(inverse, NegFma(inverse, a, one));
    const Pair<V> y = BySegmentsOfSum<kAtanTable, true>(hn::IfThenElse(is_far, inverse, a),
                                                        hn::IfThenElseZero(is_far, inverse_low));
    const V half_pi = hn::Set(d, 0x1.921fb6p+0F);
    const V high = hn::Sub(half_pi, y.high);
    const V low = hn::Add(hn::Sub(hn::Sub(half_pi, high), y.high),
                          hn::Sub(hn::Set(d, -0x1.777a5cp-25F), y.low));
    return hn::CopySign(
        hn::Add(hn::IfThenElse(is_far, high, y.high), hn::IfThenElse(is_far, low, y.low)), x);
  }
};
void AtanSegments(const float* x, float* out, int64_t n) { MapVectors(AtanFunction(), x, out, n); }

struct ErfFunction {
  template <class V>
  ONNX_RUN_INLINE V operator()(V x) const {
    V y = OddBySegments<kErfTable>(x);
    // The remainders underflow where x is tiny, but not 0.
    const hn::DFromV<V> d;
    const hn::RebindToUnsigned<decltype(d)> du;
    const auto one = hn::Set(du, 1);
    const auto bits = hn::Sub(hn::BitCast(du, hn::Abs(x)), one);
    const auto tiny = hn::Lt(bits, hn::Set(du, 0x0d000000U));  // 2^-101
    if (HWY_UNLIKELY(!hn::AllFalse(du, tiny))) {
      HWY_ALIGN float lanes[HWY_MAX_BYTES / sizeof(float)];
      HWY_ALIGN float results[HWY_MAX_BYTES / sizeof(float)];
      hn::Store(x, d, lanes);
      hn::Store(y, d, results);
      for (size_t i = 0; i < hn::Lanes(d); ++i) {
        if (std::abs(lanes[i]) < 0x1p-100F) {
          results[i] = static_cast<float>(lanes[i] * 0x1.20dd750429b6dp+0);  // 2 / sqrt(pi)
        }
      }
      y = hn::Load(d, results);
    }
    return y;
  }
};
void ErfSegments(const float* x, float* out, int64_t n) { MapVectors(ErfFunction(), x, out, n); }

// x Phi(x), where a Phi(-a) = a e^-w, 2 w = a^2 - 2 ln tail(a), the logarithm by a table.
struct GeluFunction {
  template <class M>
  ONNX_RUN_INLINE M operator()(const M& x) const {
    const hn::ScalableTag<float> d;
    const hn::RebindToUnsigned<decltype(d)> du;
    // Below -14.4 the result is -0. NaN stays.
    const auto bound = hn::Set(d, kLogTailTable.bound);
    const M a = each::MinOrSecond(bound, each::Abs(x));
    const auto segment =
        each::Call([=](auto u) HWY_ATTR { return hn::ShiftRight<20>(hn::BitCast(du, u)); },
                   each::Fma(a, hn::Set(d, kLogTailTable.scale), hn::Set(d, kLogTailTable.offset)));
    const auto row = [&](int i) HWY_ATTR {
      return each::Call([=](auto s) HWY_ATTR { return LookUp32(d, kLogTailTable.rows[i], s); },
                        segment);
    };
    const M t = each::Sub(a, row(0));
    const M value = row(1);
    const M slope = row(2);
    M k = each::Fma(row(6), t, row(5));
    k = each::Fma(k, t, row(4));
    k = each::Mul(each::Fma(k, t, row(3)), t);
    // -2 w = n ln2 / 16 - r, |r| < 0.026. The power is computed times 2^64, so that nothing is
    // subnormal on the way.
    const auto rounder = hn::Set(d, 0x1.8p23F + 64 * 32);
    const M square = each::Mul(a, a);
    const M square_low = each::FmaSub(a, a, square);
    const M shifted = each::Fma(each::Fma(slope, t, each::Add(square, value)),
                                hn::Set(d, -0x1.715476p4F), rounder);
    const M n = each::Sub(shifted, rounder);
    M r = each::Add(square, each::Fma(n, hn::Set(d, 0x1.62ep-5F), value));  // exact
    r = each::Fma(n, hn::Set(d, 0x1.0bfbe8p-19F), each::Fma(slope, t, r));
    r = each::Add(r, each::Fma(k, t, square_low));
    const M e = Power32(shifted);
    // e^-w = e (1 + minus1)
    M minus1 = each::Fma(r, hn::Set(d, -0x1.5555c8p-6F), hn::Set(d, 0x1.000088p-3F));
    minus1 = each::Fma(r, minus1, hn::Set(d, -0.5F));
    minus1 = each::Fma(r, minus1, Power32Rest(shifted));
    // max(x, 0) - a e^-w = high + low. Subnormal results are rounded where their last place is,
    // that of `unit`, by adding that.
    const M limit = each::Sub(x, each::Min(x, hn::Zero(d)));  // max(x, 0), NaN for -infinity
    const auto inside = each::Le(each::Abs(x), bound);
    const auto unit = hn::Set(d, 0x1p-62F);
    const auto tiny = each::And(inside, each::Lt(x, hn::Set(d, -13.146246F)));
    const M positive = each::Mul(limit, hn::Set(d, 0x1p64F));
    M high = each::NegFma(e, a, positive);
    const M rounded = each::IfThenElse(tiny, each::Sub(high, unit), high);
    high = each::IfThenElse(tiny, each::Add(rounded, unit), high);
    M low = each::NegFma(e, a, each::Sub(positive, high));
    low = each::NegFma(each::Mul(e, a), minus1, low);
    const M y = each::Add(rounded, low);
    const M scaled = each::IfThenElse(inside, each::Mul(y, hn::Set(d, 0x1p-64F)), limit);
    return each::CopySign(each::IfThenElse(tiny, SubnormalOf(y, 0x1p-62F), scaled), x);
  }
};
void GeluSegments(const float* x, float* out, int64_t n) { MapMany<4>(GeluFunction(), x, out, n); }

}  // namespace
}  // namespace onnx_run::vector_math::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace onnx_run::vector_math {

HWY_EXPORT(TanhSegments);
void Tanh(const float* x, float* out, int64_t n) { HWY_DYNAMIC_DISPATCH(TanhSegments)(x, out, n); }
HWY_EXPORT(AtanSegments);
void Atan(const float* x, float* out, int64_t n) { HWY_DYNAMIC_DISPATCH(AtanSegments)(x, out, n); }
HWY_EXPORT(ErfSegments);
void Erf(const float* x, float* out, int64_t n) { HWY_DYNAMIC_DISPATCH(ErfSegments)(x, out, n); }

HWY_EXPORT(GeluSegments);
void Gelu(const float* x, float* out, int64_t n) { HWY_DYNAMIC_DISPATCH(GeluSegments)(x, out, n); }

}  // namespace onnx_run::vector_math
#endif  // HWY_ONCE
