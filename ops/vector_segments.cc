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

// x Phi(x), where Phi(-a) = e^(-a^2 / 2) tail(a).
struct GeluFunction {
  template <class V>
  ONNX_RUN_INLINE V operator()(V x) const {
    const hn::DFromV<V> d;
    const hn::RebindToUnsigned<decltype(d)> du;
    const V zero = hn::Zero(d);
    // Below -14.4 the result is -0, above 6 it is x. NaN stays.
    const V c = MinOrSecond(hn::Set(d, 6.0F), MaxOrSecond(hn::Set(d, -14.4F), x));
    const V a = hn::Abs(c);
    const V half = hn::Mul(a, hn::Set(d, 0.5F));
    const V z = hn::Mul(a, half);
    const auto power = ExpOfMinus(z, Fma(a, half, hn::Neg(z)));
    // Small results are computed times 2^64, so that nothing is subnormal on the way.
    const V scale_unit = hn::Set(d, 0x1p-62F);
    const auto scale_bits = hn::Set(du, 64U << 23);
    const auto scaled = hn::RebindMask(du, hn::Lt(c, hn::Set(d, -8.0F)));
    const V e = hn::BitCast(d, hn::IfThenElse(scaled, hn::Add(power.bits, scale_bits), power.bits));
    // a Phi(-a) = g + g_low
    const Pair<V> tail = BySegments<kTailTable>(a);
    const V p = hn::Mul(a, tail.high);
    const V p_low = Fma(a, tail.low, Fma(a, tail.high, hn::Neg(p)));
    const V g = hn::Mul(e, p);
    const V p_rest = Fma(e, p_low, Fma(e, p, hn::Neg(g)));
    const V g_low = Fma(hn::Add(g, p_rest), power.minus1, p_rest);
    // max(x, 0) - a Phi(-a) = high + low
    const V positive = hn::Max(c, zero);
    const V high = hn::Sub(positive, g);
    const V low = hn::Sub(hn::Sub(hn::Sub(positive, high), g), g_low);
    // Subnormal results are rounded where their last bit, then 2^-85, is: the last bit of 2^-62
    // plus them. The fraction of that is the subnormal.
    const auto tiny = hn::Lt(c, hn::Set(d, -13.146246F));
    const V shifted = hn::IfThenElse(tiny, hn::Sub(high, scale_unit), high);
    const V rest = hn::IfThenElseZero(tiny, hn::Sub(high, hn::Add(shifted, scale_unit)));
    const V y = hn::Add(shifted, hn::Add(rest, low));
    const auto offset = hn::IfThenElse(hn::RebindMask(du, tiny), hn::BitCast(du, scale_unit),
                                       hn::IfThenElseZero(scaled, scale_bits));
    const V unscaled = hn::BitCast(d, hn::Sub(hn::BitCast(du, y), offset));
    return WithEnds(unscaled, x);
  }
};
void GeluSegments(const float* x, float* out, int64_t n) { MapVectors(GeluFunction(), x, out, n); }

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
