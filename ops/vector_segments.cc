// Tanh and Erf by tables, in float.
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

struct SegmentTable {
  float scale;  // the segment is told by |x| * scale + 1 in [1, 16)
  float bound;  // from here on f is 1
  alignas(64) float rows[8][32];
};
#include "ops/segment_tables.inc"

}  // namespace
}  // namespace onnx_run::vector_math
#endif  // ONNX_RUN_OPS_SEGMENT_TABLES

HWY_BEFORE_NAMESPACE();
namespace onnx_run::vector_math::HWY_NAMESPACE {
namespace {

// f(x) for an odd function f with f(x) = slope x near 0. `kTable` is a template argument so that
// the compiler may keep rows in registers.
template <const SegmentTable& kTable, class V>
ONNX_RUN_INLINE V OddBySegments(V x) {
  const hn::DFromV<V> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  // In this order NaN stays. Infinity becomes the bound.
  const V a = MinOrSecond(hn::Set(d, kTable.bound), hn::Abs(x));
  const V u = Fma(a, hn::Set(d, kTable.scale), hn::Set(d, 1.0F));
  const auto segment = hn::ShiftRight<20>(hn::BitCast(du, u));
  const auto row = [&](int i) HWY_ATTR { return LookUp32(d, kTable.rows[i], segment); };
  const V t = hn::Sub(a, row(0));
  const V value = row(1);
  const V slope = row(2);
  const V s = Fma(t, slope, value);
  const V r = Fma(t, slope, hn::Sub(value, s));
  V k = Fma(row(7), t, row(6));
  k = Fma(k, t, row(5));
  k = Fma(k, t, row(4));
  k = Fma(k, t, row(3));
  return hn::CopySign(hn::Add(s, Fma(k, t, r)), x);
}

struct TanhFunction {
  template <class V>
  ONNX_RUN_INLINE V operator()(V x) const {
    return OddBySegments<kTanhTable>(x);
  }
};
void TanhSegments(const float* x, float* out, int64_t n) { MapVectors(TanhFunction(), x, out, n); }

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

}  // namespace
}  // namespace onnx_run::vector_math::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace onnx_run::vector_math {

HWY_EXPORT(TanhSegments);
void Tanh(const float* x, float* out, int64_t n) { HWY_DYNAMIC_DISPATCH(TanhSegments)(x, out, n); }
HWY_EXPORT(ErfSegments);
void Erf(const float* x, float* out, int64_t n) { HWY_DYNAMIC_DISPATCH(ErfSegments)(x, out, n); }

}  // namespace onnx_run::vector_math
#endif  // HWY_ONCE
