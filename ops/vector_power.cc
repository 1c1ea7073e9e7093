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
#include "ops/vector_math.h"

HWY_BEFORE_NAMESPACE();
namespace onnx_run::vector_math::HWY_NAMESPACE {
namespace {

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
        auto y = hn::Mul(Log2Of<true>(a), hn::Set(d, kLn2));
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

// x^y of any x and y, as C's pow has it.
template <class V>
ONNX_RUN_INLINE V AnyPower(V x, V y) {
  const hn::DFromV<V> d;
  const V zero = hn::Zero(d);
  const V one = hn::Set(d, 1.0);
  const V infinity = hn::Set(d, kInfinity);
  const V a = hn::Abs(x);
  V log = hn::IfThenElse(hn::Lt(a, infinity), Log2Of<true>(a), a);  // NaN too
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
    return Exp2Of(hn::Mul(y, Log2Of<true>(x)));
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
