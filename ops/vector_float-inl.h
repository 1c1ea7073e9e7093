// What functions computed in float by Highway share. Included once for each target.
#if defined(ONNX_RUN_OPS_VECTOR_FLOAT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ONNX_RUN_OPS_VECTOR_FLOAT_INL_H_
#undef ONNX_RUN_OPS_VECTOR_FLOAT_INL_H_
#else
#define ONNX_RUN_OPS_VECTOR_FLOAT_INL_H_
#endif

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "hwy/highway.h"

#ifndef ONNX_RUN_INLINE
#define ONNX_RUN_INLINE HWY_INLINE HWY_ATTR
#endif

HWY_BEFORE_NAMESPACE();
namespace onnx_run::vector_math::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// x y + z rounded once, without such an instruction: x y is exact in double, the sum is rounded to
// odd there, and double has more than two bits beyond float's, so that rounding it is right.
ONNX_RUN_INLINE float SoftwareFma(float x, float y, float z) {
  const double product = static_cast<double>(x) * y;
  const double sum = product + z;
  const double back = sum - product;
  const double lost = (product - (sum - back)) + (z - back);
  uint64_t bits = std::bit_cast<uint64_t>(sum);
  const bool inexact = lost != 0 && (bits & 1) == 0;  // false where NaN
  const bool away = (lost > 0) == (sum > 0);
  bits = inexact && lost == lost ? (away ? bits + 1 : bits - 1) : bits;
  return static_cast<float>(std::bit_cast<double>(bits));
}

template <class V>
ONNX_RUN_INLINE V Fma(V x, V y, V z) {
#if HWY_NATIVE_FMA
  return hn::MulAdd(x, y, z);
#else
  const hn::DFromV<V> d;
  HWY_ALIGN float a[HWY_MAX_BYTES / sizeof(float)];
  HWY_ALIGN float b[HWY_MAX_BYTES / sizeof(float)];
  HWY_ALIGN float c[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(x, d, a);
  hn::Store(y, d, b);
  hn::Store(z, d, c);
  for (size_t i = 0; i < hn::Lanes(d); ++i) c[i] = SoftwareFma(a[i], b[i], c[i]);
  return hn::Load(d, c);
#endif
}

// z - x y rounded once.
template <class V>
ONNX_RUN_INLINE V NegFma(V x, V y, V z) {
#if HWY_NATIVE_FMA
  return hn::NegMulAdd(x, y, z);
#else
  return Fma(hn::Neg(x), y, z);
#endif
}

// The lesser of both, b where either is NaN.
template <class V>
ONNX_RUN_INLINE V MinOrSecond(V a, V b) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_EMU128 && HWY_TARGET != HWY_SCALAR
  return hn::Min(a, b);  // the instruction is so
#else
  return hn::IfThenElse(hn::Lt(a, b), a, b);
#endif
}
template <class V>
ONNX_RUN_INLINE V MaxOrSecond(V a, V b) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_EMU128 && HWY_TARGET != HWY_SCALAR
  return hn::Max(a, b);
#else
  return hn::IfThenElse(hn::Gt(a, b), a, b);
#endif
}

// table[index mod 32]. The table is aligned to 64 bytes.
template <class D, class VI>
ONNX_RUN_INLINE hn::Vec<D> LookUp32(D d, const hn::TFromD<D> (&table)[32], VI index) {
  const hn::RebindToUnsigned<D> du;
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
  const hn::RebindToFloat<D> df;
  const auto low = hn::BitCast(df, hn::Load(d, table));
  const auto high = hn::BitCast(df, hn::Load(d, table + 16));
  return hn::BitCast(d, hn::Vec<decltype(df)>{
                            _mm512_permutex2var_ps(low.raw, hn::BitCast(du, index).raw, high.raw)});
#else
  const hn::RebindToSigned<D> di;
  return hn::GatherIndex(d, table,
                         hn::BitCast(di, hn::And(hn::BitCast(du, index), hn::Set(du, 31U))));
#endif
}

// out[i] = fn(x[i]), by vectors; the last few in a vector of their own, whose other lanes are 0.
template <class Fn>
ONNX_RUN_INLINE void MapVectors(const Fn& fn, const float* x, float* out, int64_t n) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(fn(hn::LoadU(d, x + i)), d, out + i);
  if (i == n) return;
  HWY_ALIGN float rest[HWY_MAX_BYTES / sizeof(float)] = {};
  std::memcpy(rest, x + i, sizeof(float) * static_cast<size_t>(n - i));
  hn::Store(fn(hn::Load(d, rest)), d, rest);
  std::memcpy(out + i, rest, sizeof(float) * static_cast<size_t>(n - i));
}

}  // namespace
}  // namespace onnx_run::vector_math::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
