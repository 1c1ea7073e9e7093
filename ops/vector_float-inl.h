// What functions computed in float by Highway share. Included once for each target.
#if defined(ONNX_RUN_OPS_VECTOR_FLOAT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ONNX_RUN_OPS_VECTOR_FLOAT_INL_H_
#undef ONNX_RUN_OPS_VECTOR_FLOAT_INL_H_
#else
#define ONNX_RUN_OPS_VECTOR_FLOAT_INL_H_
#endif

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "hwy/highway.h"
#include "ops/vector_float_tables.h"

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

// x y - z rounded once.
template <class V>
ONNX_RUN_INLINE V FmaSub(V x, V y, V z) {
#if HWY_NATIVE_FMA
  return hn::MulSub(x, y, z);
#else
  return Fma(x, y, hn::Neg(z));
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

// y, but x where it is above 6, and NaN where it is -infinity: the ends of functions that are x
// times one that goes from 0 to 1. The sign is x's.
template <class V>
ONNX_RUN_INLINE V WithEnds(V y, V x) {
  const hn::DFromV<V> d;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  y = hn::IfThenElse(hn::Gt(x, hn::Set(d, 6.0F)), x, y);
  const V nan = hn::Set(d, std::numeric_limits<float>::quiet_NaN());
  return hn::CopySign(hn::IfThenElse(hn::Eq(x, hn::Set(d, -kInfinity)), nan, y), x);
}

template <class V>
struct Pair {
  V high;
  V low;  // small beside high
};
// f(a + low) for 0 <= a <= kTable.bound, and NaN; low is below a's last place. `kTable` is a
// template argument so that the compiler may keep rows in registers.
template <const SegmentTable& kTable, bool kWithLow, class V>
ONNX_RUN_INLINE Pair<V> BySegmentsOfSum(V a, V low) {
  const hn::DFromV<V> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const V u = Fma(a, hn::Set(d, kTable.scale), hn::Set(d, 1.0F));
  const auto segment = hn::ShiftRight<20>(hn::BitCast(du, u));
  const auto row = [&](int i) HWY_ATTR { return LookUp32(d, kTable.rows[i], segment); };
  const V t = hn::Sub(a, row(0));  // exact
  const V value = row(1);
  const V slope = row(2);
  const V s = Fma(t, slope, value);
  V lost = Fma(t, slope, hn::Sub(value, s));
  if constexpr (kWithLow) lost = Fma(low, slope, lost);
  V k = Fma(row(7), t, row(6));
  k = Fma(k, t, row(5));
  k = Fma(k, t, row(4));
  k = Fma(k, t, row(3));
  return {s, Fma(k, t, lost)};
}
template <const SegmentTable& kTable, class V>
ONNX_RUN_INLINE Pair<V> BySegments(V a) {
  return BySegmentsOfSum<kTable, false>(a, a);
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

// Some vectors (or masks) on which each step is done before the next: a processor overlaps more of
// such independent work than if whole functions of one vector follow one another.
template <class V, int K>
struct Many {
  // Defaulted it would not have the target's attribute, which NEON's vectors want.
  // NOLINTNEXTLINE(modernize-use-equals-default)
  ONNX_RUN_INLINE Many() {}
  V v[K];
};
namespace each {

template <class T>
inline constexpr int kCount = 1;
template <class V, int K>
inline constexpr int kCount<Many<V, K>> = K;
template <class V>
ONNX_RUN_INLINE V Item(const V& v, int /*i*/) {
  return v;
}
template <class V, int K>
ONNX_RUN_INLINE V Item(const Many<V, K>& many, int i) {
  return many.v[i];
}
// Calls fn for each of the vectors in arguments that are Many, with the others as they are.
template <class Fn, class... T>
ONNX_RUN_INLINE auto Call(const Fn& fn, const T&... arguments) {
  constexpr int kMany = std::max({kCount<T>...});
  Many<decltype(fn(Item(arguments, 0)...)), kMany> result;
  for (int i = 0; i < kMany; ++i) result.v[i] = fn(Item(arguments, i)...);
  return result;
}
#define ONNX_RUN_EACH(Name, function)                                             \
  template <class... T>                                                           \
  ONNX_RUN_INLINE auto Name(const T&... arguments) {                              \
    return Call([](auto... v) HWY_ATTR { return function(v...); }, arguments...); \
  }
ONNX_RUN_EACH(Abs, hn::Abs)
ONNX_RUN_EACH(Add, hn::Add)
ONNX_RUN_EACH(Sub, hn::Sub)
ONNX_RUN_EACH(Mul, hn::Mul)
ONNX_RUN_EACH(Max, hn::Max)
ONNX_RUN_EACH(Min, hn::Min)
ONNX_RUN_EACH(And, hn::And)
ONNX_RUN_EACH(Le, hn::Le)
ONNX_RUN_EACH(Lt, hn::Lt)
ONNX_RUN_EACH(CopySign, hn::CopySign)
ONNX_RUN_EACH(IfThenElse, hn::IfThenElse)
ONNX_RUN_EACH(MaxOrSecond, vector_math::HWY_NAMESPACE::MaxOrSecond)
ONNX_RUN_EACH(MinOrSecond, vector_math::HWY_NAMESPACE::MinOrSecond)
ONNX_RUN_EACH(Fma, vector_math::HWY_NAMESPACE::Fma)
ONNX_RUN_EACH(FmaSub, vector_math::HWY_NAMESPACE::FmaSub)
ONNX_RUN_EACH(NegFma, vector_math::HWY_NAMESPACE::NegFma)
ONNX_RUN_EACH(WithEnds, vector_math::HWY_NAMESPACE::WithEnds)
#undef ONNX_RUN_EACH

}  // namespace each

// 2^(n / 32) for an integer n in the low bits of `shifted`, that is near 1.5 2^23; and by how much
// of itself that is too little.
template <class M>
ONNX_RUN_INLINE M Power32(const M& shifted) {
  return each::Call(
      [](auto s) HWY_ATTR {
        const hn::DFromV<decltype(s)> d;
        const hn::RebindToUnsigned<decltype(d)> du;
        const auto n = hn::BitCast(du, s);
        return hn::BitCast(d, hn::Add(LookUp32(du, kPower, n), hn::ShiftLeft<18>(n)));
      },
      shifted);
}
template <class M>
ONNX_RUN_INLINE M Power32Rest(const M& shifted) {
  return each::Call(
      [](auto s) HWY_ATTR {
        const hn::DFromV<decltype(s)> d;
        return LookUp32(d, kPowerRest, hn::BitCast(hn::RebindToUnsigned<decltype(d)>(), s));
      },
      shifted);
}

// The fraction of y, that is `unit` and a subnormal (of another scale), or minus that. (Operations
// on subnormals would be slow.)
template <class M>
ONNX_RUN_INLINE M SubnormalOf(const M& y, float unit) {
  return each::Call(
      [=](auto v) HWY_ATTR {
        const hn::DFromV<decltype(v)> d;
        const hn::RebindToUnsigned<decltype(d)> du;
        const auto unit_bits = hn::Set(du, std::bit_cast<uint32_t>(unit));
        return hn::BitCast(d, hn::Sub(hn::BitCast(du, v), unit_bits));
      },
      y);
}
// As MapVectors, for functions of any number of vectors; kTogether at once as far as possible, and
// then 4.
template <int kTogether, class Fn>
ONNX_RUN_INLINE void MapMany(const Fn& fn, const float* x, float* out, int64_t n) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  constexpr int64_t kAhead = 256;
  int64_t i = 0;
  for (; i + kTogether * lanes <= n; i += kTogether * lanes) {
    // Sooner than the processor would by itself, above all where a page begins.
    if (n - i > kAhead) {
      for (int j = 0; j < kTogether; ++j) {
        __builtin_prefetch(x + i + j * lanes + kAhead);
        __builtin_prefetch(out + i + j * lanes + kAhead, 1);
      }
    }
    Many<V, kTogether> many;
    for (int j = 0; j < kTogether; ++j) many.v[j] = hn::LoadU(d, x + i + j * lanes);
    many = fn(many);
    for (int j = 0; j < kTogether; ++j) hn::StoreU(many.v[j], d, out + i + j * lanes);
  }
  if (i == n) return;
  if constexpr (kTogether > 4) return MapMany<4>(fn, x + i, out + i, n - i);
  const auto fn_of_one = [&](V v) HWY_ATTR {
    Many<V, 1> one;
    one.v[0] = v;
    return fn(one).v[0];
  };
  MapVectors(fn_of_one, x + i, out + i, n - i);
}

}  // namespace
}  // namespace onnx_run::vector_math::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
