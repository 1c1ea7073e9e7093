// Exp, Log, Pow and what is made of e^x - 1, in double, by tables of 16 entries.
//
// log2(x) = k + log2(1 / c) + log2(c m), where x = 2^k m and c, of few bits, is about 1 / m, so
// that c m - 1 is exact. 2^x = 2^(n / 16) 2^f, |f| <= 1/32. What is left for polynomials is short.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/vector_power.cc"
// Two are enough beside the one that every machine has.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include "ops/vector_double-inl.h"
#include "ops/vector_float-inl.h"
#include "ops/vector_math.h"

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

constexpr double kInfinity = std::numeric_limits<double>::infinity();

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

// log2(x) to a relative error of 2^-44, for normal positive x.
template <class V>
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
  const V r = hn::Sub(hn::Mul(m, LookUp16(d, kInverse, index)), hn::Set(d, 1.0));
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
struct PowerParts {
  V scale;  // 2^(n / 16)
  V f;      // x - n / 16
};
// For |x| < 1000 and NaN.
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
// 2^x to a relative error of 2^-38.5; beyond float's range anything that rounds to 0 or infinity.
template <class V>
ONNX_RUN_INLINE V Exp2Of(V x) {
  const hn::DFromV<V> d;
  // In this order NaN stays.
  const V clamped = MinOrSecond(hn::Set(d, 130.0), MaxOrSecond(hn::Set(d, -160.0), x));
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

// Whether all are above 0 and below infinity.
template <class V>
ONNX_RUN_INLINE bool AllPositive(V x) {
  const hn::DFromV<V> d;
  const hn::RebindToSigned<decltype(d)> di;
  const hn::RebindToUnsigned<decltype(d)> du;
  // 1 to 0x7f7fffff, moved to the least of signed integers
  const auto moved = hn::Sub(hn::BitCast(du, x), hn::Set(du, 0x80000001U));
  return hn::AllTrue(di, hn::Lt(hn::BitCast(di, moved), hn::Set(di, -0x800001)));
}

void ExpVectors(const float* x, float* out, int64_t n) {
  MapDoubles([](auto floats)
                 HWY_ATTR { return Exp2Of(hn::Mul(Widened(floats), hn::Set(Doubles(), kLog2e))); },
             out, n, ArraySource<float>{x});
}

void LogVectors(const float* x, float* out, int64_t n) {
  MapDoubles(
      [](auto floats) HWY_ATTR {
        const Doubles d;
        const auto a = Widened(floats);
        auto y = hn::Mul(Log2Of(a), hn::Set(d, kLn2));
        if (HWY_UNLIKELY(!AllPositive(floats))) {
          y = hn::IfThenElse(hn::Lt(a, hn::Set(d, kInfinity)), y, a);  // NaN too
          y = hn::IfThenElse(hn::Eq(a, hn::Zero(d)), hn::Set(d, -kInfinity), y);
          y = hn::IfThenElse(hn::Lt(a, hn::Zero(d)),
                             hn::Set(d, std::numeric_limits<double>::quiet_NaN()), y);
        }
        return y;
      },
      out, n, ArraySource<float>{x});
}

// below (e^(x / divisor) - 1) where x <= 0, above x elsewhere
void ExpLinearVectors(const float* x, float negative, float divisor, float scale, float* out,
                      int64_t n) {
  const Doubles d;
  const auto above = hn::Set(d, static_cast<double>(scale));
  const auto below = hn::Set(d, static_cast<double>(negative) * scale);
  const auto map = [&](auto divide) HWY_ATTR {
    MapDoubles(
        [&](auto floats) HWY_ATTR {
          const auto a = Widened(floats);
          const auto y = hn::Mul(below, ExpMinus1Of(divide(a)));
          return hn::IfThenElse(hn::Gt(a, hn::Zero(Doubles())), hn::Mul(above, a), y);
        },
        out, n, ArraySource<float>{x});
  };
  if (divisor == 1) return map([](auto a) HWY_ATTR { return a; });
  const auto by = hn::Set(d, static_cast<double>(divisor));
  map([&](auto a) HWY_ATTR { return hn::Div(a, by); });
}

// x^y of any x and y, as C's pow has it.
template <class V>
ONNX_RUN_INLINE V AnyPower(V x, V y) {
  const hn::DFromV<V> d;
  const V zero = hn::Zero(d);
  const V one = hn::Set(d, 1.0);
  const V infinity = hn::Set(d, kInfinity);
  const V a = hn::Abs(x);
  V log = hn::IfThenElse(hn::Lt(a, infinity), Log2Of(a), a);  // NaN too
  log = hn::IfThenElse(hn::Eq(a, zero), hn::Neg(infinity), log);
  V power = Exp2Of(hn::Mul(y, log));
  power = hn::IfThenElse(hn::Eq(a, one), one, power);
  const auto whole = hn::Eq(hn::Trunc(y), y);
  const V half = hn::Trunc(hn::Mul(y, hn::Set(d, 0.5)));
  const auto odd = hn::And(whole, hn::Not(hn::Eq(hn::Add(half, half), y)));
  const auto no_power = hn::And(hn::And(hn::Lt(x, zero), hn::Lt(a, infinity)), hn::Not(whole));
  power = hn::IfThenElse(no_power, hn::Set(d, std::numeric_limits<double>::quiet_NaN()), power);
  power = hn::Or(power, hn::IfThenElseZero(odd, hn::And(x, hn::SignBit(d))));
  return hn::IfThenElse(hn::Eq(y, zero), one, power);
}
struct PowFunction {
  template <class VX, class VY>
  ONNX_RUN_INLINE hn::Vec<Doubles> operator()(VX floats, VY given_y) const {
    const auto x = Widened(floats);
    const auto y = Widened(given_y);
    const hn::DFromV<VY> dy;
    const bool finite = hn::AllTrue(
        dy, hn::Lt(hn::Abs(given_y), hn::Set(dy, std::numeric_limits<hn::TFromV<VY>>::infinity())));
    if (HWY_UNLIKELY(!AllPositive(floats) || !finite)) return AnyPower(x, y);
    return Exp2Of(hn::Mul(y, Log2Of(x)));
  }
};

template <class Fn>
ONNX_RUN_INLINE void MapFloats(const Fn& fn, const float* x, float* out, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) out[i] = fn(x[i]);
}
// The commonest exponents, that need no logarithm. False: it is none of them.
bool SimplePower(const float* x, double y, float* out, int64_t n) {
  if (y == 2) {
    MapFloats([](float a) HWY_ATTR { return a * a; }, x, out, n);
  } else if (y == 3) {  // the square is exact in double
    Map([](double a) HWY_ATTR { return a * a * a; }, x, out, n);
  } else if (y == 4) {
    Map([](double a) HWY_ATTR { return (a * a) * (a * a); }, x, out, n);
  } else if (y == 1) {
    MapFloats([](float a) HWY_ATTR { return a; }, x, out, n);
  } else if (y == -1) {
    MapFloats([](float a) HWY_ATTR { return 1.0F / a; }, x, out, n);
  } else if (y == -2) {
    Map([](double a) HWY_ATTR { return 1.0 / (a * a); }, x, out, n);
  } else if (y == 0.5) {  // unlike sqrt, +0 of -0 and infinity of -infinity
    MapFloats(
        [](float a) HWY_ATTR {
          const float root = std::sqrt(a) + 0.0F;
          return a == -std::numeric_limits<float>::infinity() ? -a : root;
        },
        x, out, n);
  } else if (y == -0.5) {
    Map(
        [](double a) HWY_ATTR {
          const double root = std::sqrt(a) + 0.0;
          return 1.0 / (a == -kInfinity ? -a : root);
        },
        x, out, n);
  } else {
    return false;
  }
  return true;
}

template <class Y>
ONNX_RUN_INLINE void PowVectors(const float* x, int64_t x_step, const Y* y, int64_t y_step,
                                float* out, int64_t n) {
  if (y_step == 0) {
    if (x_step != 0 && SimplePower(x, static_cast<double>(*y), out, n)) return;
    const OneSource<double> exponent{static_cast<double>(*y)};
    if (x_step != 0) return MapDoubles(PowFunction(), out, n, ArraySource<float>{x}, exponent);
    return MapDoubles(PowFunction(), out, n, OneSource<float>{*x}, exponent);
  }
  const ArraySource<Y> exponents{y};
  if (x_step != 0) return MapDoubles(PowFunction(), out, n, ArraySource<float>{x}, exponents);
  MapDoubles(PowFunction(), out, n, OneSource<float>{*x}, exponents);
}
// By name, for HWY_EXPORT knows no overloads.
void PowToFloats(const float* x, int64_t x_step, const float* y, int64_t y_step, float* out,
                 int64_t n) {
  PowVectors(x, x_step, y, y_step, out, n);
}
void PowToDoubles(const float* x, int64_t x_step, const double* y, int64_t y_step, float* out,
                  int64_t n) {
  PowVectors(x, x_step, y, y_step, out, n);
}

}  // namespace
}  // namespace onnx_run::vector_math::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace onnx_run::vector_math {

HWY_EXPORT(ExpVectors);
void Exp(const float* x, float* out, int64_t n) { HWY_DYNAMIC_DISPATCH(ExpVectors)(x, out, n); }
HWY_EXPORT(LogVectors);
void Log(const float* x, float* out, int64_t n) { HWY_DYNAMIC_DISPATCH(LogVectors)(x, out, n); }
HWY_EXPORT(ExpLinearVectors);
void ExpLinear(const float* x, float negative, float divisor, float scale, float* out, int64_t n) {
  HWY_DYNAMIC_DISPATCH(ExpLinearVectors)(x, negative, divisor, scale, out, n);
}
HWY_EXPORT(PowToFloats);
void Pow(const float* x, int64_t x_step, const float* y, int64_t y_step, float* out, int64_t n) {
  HWY_DYNAMIC_DISPATCH(PowToFloats)(x, x_step, y, y_step, out, n);
}
HWY_EXPORT(PowToDoubles);
void Pow(const float* x, int64_t x_step, const double* y, int64_t y_step, float* out, int64_t n) {
  HWY_DYNAMIC_DISPATCH(PowToDoubles)(x, x_step, y, y_step, out, n);
}

}  // namespace onnx_run::vector_math
#endif  // HWY_ONCE
