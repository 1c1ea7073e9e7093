// What functions computed in double share: 2^x, e^x - 1 and the logarithm of vectors, and loops
// over arrays of floats. Included once for each target.
//
// log2(x) = k + log2(1 / c) + log2(c m), where x = 2^k m and c, of few bits, is about 1 / m. 2^x =
// 2^(n / 16) 2^f, |f| <= 1/32. By tables of 16 entries; what is left for polynomials is short.
#if defined(ONNX_RUN_OPS_VECTOR_DOUBLE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ONNX_RUN_OPS_VECTOR_DOUBLE_INL_H_
#undef ONNX_RUN_OPS_VECTOR_DOUBLE_INL_H_
#else
#define ONNX_RUN_OPS_VECTOR_DOUBLE_INL_H_
#endif

#include <cstdint>
#include <cstring>
#include <limits>

#include "hwy/highway.h"
#include "ops/vector_float-inl.h"
#include "ops/wide-inl.h"

#ifndef ONNX_RUN_INLINE
#define ONNX_RUN_INLINE HWY_INLINE HWY_ATTR
#endif

#ifndef ONNX_RUN_OPS_POWER_TABLES
#define ONNX_RUN_OPS_POWER_TABLES
namespace onnx_run::vector_math {
namespace {

// Entry j is for m of [0.703125, 1.40625) whose first bits less 0.703125's are j.
alignas(64) constexpr double kInverse[16] = {0x1.642dp+0, 0x1.5555p+0, 0x1.47aep+0, 0x1.3b14p+0,
                                             0x1.2f68p+0, 0x1.2492p+0, 0x1.1a7cp+0, 0x1.1111p+0,
                                             0x1.0842p+0, 1,           0x1.e1e2p-1, 0x1.c71cp-1,
                                             0x1.af28p-1, 0x1.999ap-1, 0x1.8618p-1, 0x1.745ep-1};
// log2(1 / kInverse[j])
alignas(64) constexpr double kLogOfEntry[16] = {-0x1.e7e15bb904149p-2, -0x1.a8fe25c36c289p-2,
                                                -0x1.6cb09a313c175p-2, -0x1.32c15f8b570ebp-2,
                                                -0x1.f5faa7e71ae8bp-3, -0x1.8a869e02b2d89p-3,
                                                -0x1.22df302746824p-3, -0x1.7d5ed81879d77p-4,
                                                -0x1.773669f491d2ap-5, 0,
                                                0x1.663dfe5826695p-4,  0x1.5c04864906631p-3,
                                                0x1.fbc44e396f7b4p-3,  0x1.49a6136889908p-2,
                                                0x1.91bd19e695edep-2,  0x1.d671a2b1275bap-2};
// The bits of 2^(j / 16) less j << 48.
alignas(64) constexpr uint64_t kPowerOfTwo[16] = {
    0x3ff0000000000000, 0x3fefb5586cf9890f, 0x3fef72b83c7d517b, 0x3fef387a6e756238,
    0x3fef06fe0a31b715, 0x3feedea64c123422, 0x3feebfdad5362a27, 0x3feeab07dd485429,
    0x3feea09e667f3bcd, 0x3feea11473eb0187, 0x3feeace5422aa0db, 0x3feec49182a3f090,
    0x3feee89f995ad3ad, 0x3fef199bdd85529c, 0x3fef5818dcfba487, 0x3fefa4afa2a490da};

}  // namespace
}  // namespace onnx_run::vector_math
#endif  // ONNX_RUN_OPS_POWER_TABLES

HWY_BEFORE_NAMESPACE();
namespace onnx_run::vector_math::HWY_NAMESPACE {
namespace {

// Adding this to a double of magnitude below 2^51 rounds it to an integer, and leaves that integer
// in the low bits.
inline constexpr double kRounder = 0x1.8p52;
inline constexpr double kLog2e = 0x1.71547652b82fep0;
inline constexpr double kLn2 = 0x1.62e42fefa39efp-1;
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// x y + z, and z - x y, where x y is exact, so that all machines give the same; or where it is the
// same to the result, as at the use.
template <class V>
ONNX_RUN_INLINE V FmaOfExact(V x, V y, V z) {
#if HWY_NATIVE_FMA
  return hn::MulAdd(x, y, z);
#else
  return hn::Add(hn::Mul(x, y), z);
#endif
}
template <class V>
ONNX_RUN_INLINE V NegFmaOfExact(V x, V y, V z) {
#if HWY_NATIVE_FMA
  return hn::NegMulAdd(x, y, z);
#else
  return hn::Sub(z, hn::Mul(x, y));
#endif
}

// table[index mod 16]. The table is aligned to 64 bytes.
template <class D, class VI>
ONNX_RUN_INLINE hn::Vec<D> LookUp16(D d, const hn::TFromD<D> (&table)[16], VI index) {
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
  const hn::RebindToFloat<D> df;
  const auto low = hn::BitCast(df, hn::Load(d, table));
  const auto high = hn::BitCast(df, hn::Load(d, table + 8));
  return hn::BitCast(d,
                     hn::Vec<decltype(df)>{_mm512_permutex2var_pd(low.raw, index.raw, high.raw)});
#else
  const hn::RebindToUnsigned<D> du;
  const hn::RebindToSigned<D> di;
  return hn::GatherIndex(d, table, hn::BitCast(di, hn::And(index, hn::Set(du, 15))));
#endif
}

// log2(x) to a relative error of 2^-44, for normal positive x; `kFloat` says that x is a float.
template <bool kFloat = false, class V>
ONNX_RUN_INLINE V Log2Of(V x) {
  const hn::DFromV<V> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  constexpr uint64_t kLeast = 0x3fe6800000000000;  // 0.703125
  constexpr uint64_t kExponents = uint64_t{1023} << 52;
  const auto offset = hn::Sub(hn::BitCast(du, x), hn::Set(du, kLeast - kExponents));
  const auto index = hn::ShiftRight<48>(offset);
  const V k = hn::Sub(
      hn::BitCast(d, hn::Or(hn::ShiftRight<52>(offset), hn::Set(du, uint64_t{0x4330000000000000}))),
      hn::Set(d, 0x1p52 + 1023));
  const V m = hn::BitCast(
      d, hn::Add(hn::And(offset, hn::Set(du, (uint64_t{1} << 52) - 1)), hn::Set(du, kLeast)));
  const V c = LookUp16(d, kInverse, index);
  const V minus1 = hn::Set(d, -1.0);
  const V r = kFloat ? FmaOfExact(m, c, minus1) : hn::Add(hn::Mul(m, c), minus1);
  // log2(1 + r) / r
  const auto pair = [&](double c0, double c1)
                        HWY_ATTR { return hn::Add(hn::Mul(hn::Set(d, c1), r), hn::Set(d, c0)); };
  const V r2 = hn::Mul(r, r);
  const V low = hn::Add(pair(0x1.71547652b8347p+0, -0x1.71547652d836bp-1),
                        hn::Mul(r2, pair(0x1.ec709dbc60c0bp-2, -0x1.71546d89efc68p-2)));
  const V high = hn::Add(pair(0x1.27771fed1c20fp-2, -0x1.ed07a04af820cp-3),
                         hn::Mul(r2, hn::Set(d, 0x1.a41f3882b01a7p-3)));
  const V p = hn::Add(low, hn::Mul(hn::Mul(r2, r2), high));
  return hn::Add(hn::Add(k, LookUp16(d, kLogOfEntry, index)), hn::Mul(r, p));
}

template <class V>
ONNX_RUN_INLINE V LogOfPositive(V x) {
  return hn::Mul(Log2Of(x), hn::Set(hn::DFromV<V>(), kLn2));
}

template <class V>
struct PowerParts {
  V scale;  // 2^(n / 16)
  V f;      // x - n / 16
};
// For |x| <= 1000 and NaN.
template <class V>
ONNX_RUN_INLINE PowerParts<V> SplitPower(V x) {
  const hn::DFromV<V> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const V rounder = hn::Set(d, 0x1.8p48);  // n is in the low bits of the sum
  const V shifted = hn::Add(x, rounder);
  const auto n = hn::BitCast(du, shifted);
  return {hn::BitCast(d, hn::Add(LookUp16(du, kPowerOfTwo, n), hn::ShiftLeft<48>(n))),
          hn::Sub(x, hn::Sub(shifted, rounder))};
}
// 2^x to a relative error of 2^-38.5; beyond +-1000 what it is there.
template <class V>
ONNX_RUN_INLINE V Exp2Of(V x) {
  const hn::DFromV<V> d;
  // In this order NaN stays.
  const V clamped = MinOrSecond(hn::Set(d, 1000.0), MaxOrSecond(hn::Set(d, -1000.0), x));
  const PowerParts<V> parts = SplitPower(clamped);
  const V f = parts.f;
  const V f2 = hn::Mul(f, f);
  const V low =
      hn::Add(hn::Mul(f, hn::Set(d, 0x1.62e42fec39e19p-1)), hn::Set(d, 0x1.ffffffffffe6cp-1));
  const V middle =
      hn::Add(hn::Mul(f, hn::Set(d, 0x1.c6b3f73e3cb77p-5)), hn::Set(d, 0x1.ebfbe0033783dp-3));
  const V p =
      hn::Add(low, hn::Mul(f2, hn::Add(middle, hn::Mul(f2, hn::Set(d, 0x1.3b29230c10fbdp-7)))));
  return hn::Mul(parts.scale, p);
}
// e^x, 0 below -690, so that infinity times it is NaN there; above 690 what it is there.
template <class V>
ONNX_RUN_INLINE V ExpOf(V x) {
  const hn::DFromV<V> d;
  const V power = Exp2Of(hn::Mul(x, hn::Set(d, kLog2e)));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -690.0)), power);
}
// e^x - 1 without cancellation near 0.
template <class V>
ONNX_RUN_INLINE V ExpMinus1Of(V x) {
  const hn::DFromV<V> d;
  // Beyond these the float is -1 or infinity.
  const V clamped = MinOrSecond(hn::Set(d, 130.0), MaxOrSecond(hn::Set(d, -150.0), x));
  const PowerParts<V> parts = SplitPower(hn::Mul(clamped, hn::Set(d, kLog2e)));
  const V f = parts.f;
  const V f2 = hn::Mul(f, f);
  const V low =
      hn::Add(hn::Mul(f, hn::Set(d, 0x1.ebfbdff6988f6p-3)), hn::Set(d, 0x1.62e42fefa39dbp-1));
  const V middle =
      hn::Add(hn::Mul(f, hn::Set(d, 0x1.3b2c4ac6e67e2p-7)), hn::Set(d, 0x1.c6b08d7229d50p-5));
  const V p =
      hn::Add(low, hn::Mul(f2, hn::Add(middle, hn::Mul(f2, hn::Set(d, 0x1.5d87fe8217efdp-10)))));
  return hn::Add(hn::Mul(parts.scale, hn::Mul(f, p)), hn::Sub(parts.scale, hn::Set(d, 1.0)));
}

// As many floats as doubles fit into a vector.
using Doubles = hn::ScalableTag<double>;
using Floats = hn::Rebind<float, Doubles>;

ONNX_RUN_INLINE hn::Vec<Floats> Narrowed(hn::Vec<Doubles> x) {
  return wide::HWY_NAMESPACE::Narrowed(Doubles(), x);
}

// out[i] = fn(sources' element i ...), by vectors of floats or doubles. The last few are in vectors
// whose other lanes are padding.
template <class Fn, class... Sources>
ONNX_RUN_INLINE void MapDoubles(const Fn& fn, float* out, int64_t n, const Sources&... sources) {
  const Doubles d;
  const Floats df;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(Narrowed(fn(sources.At(i)...)), df, out + i);
  }
  if (i == n) return;
  HWY_ALIGN float rest[HWY_MAX_BYTES / sizeof(double)];
  hn::Store(Narrowed(fn(sources.Rest(i, n - i)...)), df, rest);
  std::memcpy(out + i, rest, sizeof(float) * static_cast<size_t>(n - i));
}
template <class T>
struct ArraySource {
  using D = hn::Rebind<T, Doubles>;
  const T* x;
  T padding = 1;
  ONNX_RUN_INLINE hn::Vec<D> At(int64_t i) const { return hn::LoadU(D(), x + i); }
  ONNX_RUN_INLINE hn::Vec<D> Rest(int64_t i, int64_t count) const {
    HWY_ALIGN T rest[HWY_MAX_BYTES / sizeof(double)];
    hn::Store(hn::Set(D(), padding), D(), rest);
    std::memcpy(rest, x + i, sizeof(T) * static_cast<size_t>(count));
    return hn::Load(D(), rest);
  }
};
template <class T>
struct OneSource {
  using D = hn::Rebind<T, Doubles>;
  T x;
  ONNX_RUN_INLINE hn::Vec<D> At(int64_t /*i*/) const { return hn::Set(D(), x); }
  ONNX_RUN_INLINE hn::Vec<D> Rest(int64_t /*i*/, int64_t /*count*/) const {
    return hn::Set(D(), x);
  }
};
template <class V>
ONNX_RUN_INLINE hn::Vec<Doubles> Widened(V x) {
  if constexpr (sizeof(hn::TFromV<V>) == sizeof(double)) {
    return x;
  } else {
    return hn::PromoteTo(Doubles(), x);
  }
}

// A function object, always inlined: the loop is vectorised only then.
template <typename Fn>
ONNX_RUN_INLINE void Map(const Fn& fn, const float* x, float* out, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<float>(fn(static_cast<double>(x[i])));
}
}  // namespace
}  // namespace onnx_run::vector_math::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
