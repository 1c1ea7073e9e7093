// What is made of exponentials and logarithms, in double.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/vector_math.cc"
// Two are enough beside the one that every machine has.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "ops/vector_double-inl.h"
#include "ops/vector_math.h"

HWY_BEFORE_NAMESPACE();
namespace onnx_run::vector_math::HWY_NAMESPACE {
namespace {

// Made of the magnitude's, with x's sign.
struct SinhFunction {
  template <class V>
  ONNX_RUN_INLINE V operator()(V x) const {
    const hn::DFromV<V> d;
    const V m = ExpMinus1Of(hn::Abs(x));  // m / (m + 1) = 1 - e^-|x|
    const V twice = hn::Add(m, hn::Div(m, hn::Add(m, hn::Set(d, 1.0))));
    return hn::CopySign(hn::Mul(twice, hn::Set(d, 0.5)), x);
  }
};
struct CoshFunction {
  template <class V>
  ONNX_RUN_INLINE V operator()(V x) const {
    const hn::DFromV<V> d;
    const V e = Exp2Of(hn::Mul(hn::Abs(x), hn::Set(d, kLog2e)));
    return hn::Mul(hn::Add(e, hn::Div(hn::Set(d, 1.0), e)), hn::Set(d, 0.5));
  }
};
struct AsinhFunction {
  template <class V>
  ONNX_RUN_INLINE V operator()(V x) const {
    const hn::DFromV<V> d;
    const V a = hn::Abs(x);
    const V z = hn::Mul(x, x);
    const V small =
        hn::Sub(hn::Set(d, 0x1.5555555555555p-3), hn::Mul(z, hn::Set(d, 0x1.3333333333333p-4)));
    const V near0 = hn::Sub(a, hn::Mul(hn::Mul(a, z), small));
    V y = LogOfPositive(hn::Add(a, hn::Sqrt(hn::Add(z, hn::Set(d, 1.0)))));
    y = hn::IfThenElse(hn::Lt(a, hn::Set(d, kInfinity)), y, a);  // NaN too
    return hn::CopySign(hn::IfThenElse(hn::Lt(a, hn::Set(d, 0x1p-8)), near0, y), x);
  }
};
struct AcoshFunction {
  template <class V>
  ONNX_RUN_INLINE V operator()(V x) const {
    const hn::DFromV<V> d;
    const V one = hn::Set(d, 1.0);
    V y = LogOfPositive(hn::Add(x, hn::Sqrt(hn::Mul(hn::Sub(x, one), hn::Add(x, one)))));
    y = hn::IfThenElse(hn::Lt(x, hn::Set(d, kInfinity)), y, x);
    return hn::IfThenElse(hn::Lt(x, one), hn::Set(d, kNan), y);
  }
};
struct AtanhFunction {
  template <class V>
  ONNX_RUN_INLINE V operator()(V x) const {
    const hn::DFromV<V> d;
    const V one = hn::Set(d, 1.0);
    const V a = hn::Abs(x);
    const V z = hn::Mul(x, x);
    V near0 =
        hn::Add(hn::Mul(z, hn::Set(d, 0x1.2492492492492p-3)), hn::Set(d, 0x1.999999999999ap-3));
    near0 = hn::Add(hn::Mul(z, near0), hn::Set(d, 0x1.5555555555555p-2));
    near0 = hn::Add(hn::Mul(hn::Mul(a, z), near0), a);
    const V quotient = hn::Div(hn::Add(one, a), hn::Sub(one, a));
    V y = hn::Mul(LogOfPositive(quotient), hn::Set(d, 0.5));
    y = hn::IfThenElse(hn::Lt(a, one), y, hn::Set(d, kNan));
    y = hn::IfThenElse(hn::Eq(a, one), hn::Set(d, kInfinity), y);
    return hn::CopySign(hn::IfThenElse(hn::Lt(a, hn::Set(d, 0x1p-6)), near0, y), x);
  }
};
struct SoftplusFunction {
  template <class V>
  ONNX_RUN_INLINE V operator()(V x) const {
    const hn::DFromV<V> d;
    const V zero = hn::Zero(d);
    const V t = Exp2Of(hn::Mul(hn::Abs(x), hn::Set(d, -kLog2e)));
    const V small = hn::Sub(hn::Set(d, 0.5), hn::Mul(t, hn::Set(d, 0x1.5555555555555p-2)));
    const V near0 = hn::Sub(t, hn::Mul(hn::Mul(t, t), small));
    const V log1p = hn::IfThenElse(hn::Lt(t, hn::Set(d, 0x1p-13)), near0,
                                   LogOfPositive(hn::Add(t, hn::Set(d, 1.0))));
    return hn::Add(MaxOrSecond(zero, x), log1p);
  }
};
struct MishFunction {
  template <class V>
  ONNX_RUN_INLINE V operator()(V x) const {
    const hn::DFromV<V> d;
    const V two = hn::Set(d, 2.0);
    const V e = ExpOf(MinOrSecond(hn::Set(d, 40.0), x));
    const V q = hn::Mul(e, hn::Add(e, two));
    return hn::Mul(x, hn::Div(q, hn::Add(q, two)));  // tanh(log(1 + e))
  }
};
struct SwishFunction {
  double alpha;
  template <class V>
  ONNX_RUN_INLINE V operator()(V x) const {
    const hn::DFromV<V> d;
    const V z = hn::Mul(x, hn::Set(d, -alpha));
    const V infinity = hn::Set(d, kInfinity);
    const V e = hn::IfThenElse(hn::Eq(z, infinity), infinity, ExpOf(z));
    return hn::Div(x, hn::Add(e, hn::Set(d, 1.0)));
  }
};
template <class Fn>
ONNX_RUN_INLINE void MapWidened(const Fn& fn, const float* x, float* out, int64_t n) {
  MapDoubles([&](auto floats) HWY_ATTR { return fn(Widened(floats)); }, out, n,
             ArraySource<float>{x});
}
void SinhVectors(const float* x, float* out, int64_t n) { MapWidened(SinhFunction(), x, out, n); }
void CoshVectors(const float* x, float* out, int64_t n) { MapWidened(CoshFunction(), x, out, n); }
void AsinhVectors(const float* x, float* out, int64_t n) { MapWidened(AsinhFunction(), x, out, n); }
void AcoshVectors(const float* x, float* out, int64_t n) { MapWidened(AcoshFunction(), x, out, n); }
void AtanhVectors(const float* x, float* out, int64_t n) { MapWidened(AtanhFunction(), x, out, n); }
void SoftplusVectors(const float* x, float* out, int64_t n) {
  MapWidened(SoftplusFunction(), x, out, n);
}
void MishVectors(const float* x, float* out, int64_t n) { MapWidened(MishFunction(), x, out, n); }
void SwishVectors(const float* x, float alpha, float* out, int64_t n) {
  MapWidened(SwishFunction{alpha}, x, out, n);
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

ONNX_RUN_INLINE float ClampToUnit(float x) {  // NaN stays
  x = x < 0 ? 0.0F : x;
  return x > 1 ? 1.0F : x;
}
void HardSigmoidLoop(const float* x, float alpha, float beta, float* out, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) out[i] = ClampToUnit(alpha * x[i] + beta);
}
void HardSwishLoop(const float* x, float* out, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) out[i] = x[i] * ClampToUnit(x[i] * (1.0F / 6.0F) + 0.5F);
}

double ExpSumVectors(const float* x, float shift, float* out, int64_t n) {
  constexpr int kLanes = 64;  // that are summed up, on every machine
  HWY_ALIGN double lanes[kLanes] = {};
  int64_t at = 0;
  MapDoubles(
      [&](auto floats) HWY_ATTR {
        const Doubles d;
        const auto e = ExpOf(hn::Sub(Widened(floats), hn::Set(d, static_cast<double>(shift))));
        hn::Store(hn::Add(hn::Load(d, lanes + at), e), d, lanes + at);
        at = (at + static_cast<int64_t>(hn::Lanes(d))) % kLanes;
        return e;
      },
      out, n, ArraySource<float>{x, -std::numeric_limits<float>::infinity()});
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int j = 0; j < width; ++j) lanes[j] += lanes[j + width];
  }
  return lanes[0];
}

// (l0 + l4) + (l2 + l6) + ...: halves are added to one another.
template <class V>
ONNX_RUN_INLINE double SumOfHalves(V v) {
#if HWY_TARGET == HWY_SCALAR
  return hn::GetLane(v);
#else
  const hn::DFromV<V> d;
  if constexpr (hn::MaxLanes(d) > 2) {
    const hn::Half<decltype(d)> half;
    return SumOfHalves(hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  } else {
    return hn::GetLane(hn::Add(v, hn::Shuffle01(v)));
  }
#endif
}
template <int kN>
void ExpSumsOfWhole(const float* x, const float* shifts, float* out, double* sums, int64_t rows) {
  const Doubles d;
  const Floats df;
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(Doubles()));
  constexpr int kVectors = kN / kLanes;
  for (int64_t r = 0; r < rows; ++r) {
    const auto shift = hn::Set(d, static_cast<double>(shifts[r]));
    hn::Vec<Doubles> e[kVectors];
#pragma GCC unroll 4
    for (int i = 0; i < kVectors; ++i) {
      const int64_t at = r * kN + i * kLanes;
      e[i] = ExpOf(hn::Sub(Widened(hn::LoadU(df, x + at)), shift));
      hn::StoreU(Narrowed(e[i]), df, out + at);
    }
#pragma GCC unroll 8
    for (int width = kVectors / 2; width > 0; width /= 2) {
#pragma GCC unroll 32
      for (int i = 0; i < width; ++i) e[i] = hn::Add(e[i], e[i + width]);
    }
    sums[r] = SumOfHalves(e[0]);
  }
}

// Rows are padded with what becomes 0, and leaves the sums as they are.
template <int kPitch>
ONNX_RUN_INLINE void ExpSumsPadded(const float* x, const float* shifts, float* out, double* sums,
                                   int64_t rows, int64_t n) {
  constexpr int64_t kElements = 256;
  constexpr int64_t kRows = kElements / kPitch;
  HWY_ALIGN double e[kElements];
  for (double& padding : e) padding = -kInfinity;
  for (int64_t row = 0; row < rows; row += kRows) {
    const int64_t some = rows - row < kRows ? rows - row : kRows;
    for (int64_t r = 0; r < some; ++r) {
      const double shift = shifts[row + r];
      const float* from = x + (row + r) * n;
      for (int64_t j = 0; j < n; ++j) e[r * kPitch + j] = static_cast<double>(from[j]) - shift;
    }
    const Doubles d;
    for (int64_t i = 0; i < some * kPitch; i += static_cast<int64_t>(hn::Lanes(d))) {
      hn::Store(ExpOf(hn::Load(d, e + i)), d, e + i);
    }
    for (int64_t r = 0; r < some; ++r) {
      float* to = out + (row + r) * n;
      for (int64_t j = 0; j < n; ++j) to[j] = static_cast<float>(e[r * kPitch + j]);
    }
    for (int64_t r = 0; r < some; ++r) {
      double* lanes = e + r * kPitch;
#pragma GCC unroll 8
      for (int width = kPitch / 2; width > 0; width /= 2) {
#pragma GCC unroll 32
        for (int j = 0; j < width; ++j) lanes[j] += lanes[j + width];
      }
      sums[row + r] = lanes[0];
      for (int64_t j = n; j < kPitch; ++j) lanes[j] = -kInfinity;
    }
  }
}
template <int kPitch>
void ExpSumsOfPitch(const float* x, const float* shifts, float* out, double* sums, int64_t rows,
                    int64_t n) {
  if (n == kPitch) return ExpSumsOfWhole<kPitch>(x, shifts, out, sums, rows);
  ExpSumsPadded<kPitch>(x, shifts, out, sums, rows, n);
}
void ExpSumsLoop(const float* x, const float* shifts, float* out, double* sums, int64_t rows,
                 int64_t n) {
  if (n <= 8) return ExpSumsOfPitch<8>(x, shifts, out, sums, rows, n);
  if (n <= 16) return ExpSumsOfPitch<16>(x, shifts, out, sums, rows, n);
  if (n <= 32) return ExpSumsOfPitch<32>(x, shifts, out, sums, rows, n);
  ExpSumsOfPitch<64>(x, shifts, out, sums, rows, n);
}

}  // namespace
}  // namespace onnx_run::vector_math::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace onnx_run::vector_math {

HWY_EXPORT(SinhVectors);
void Sinh(const float* x, float* out, int64_t n) { HWY_DYNAMIC_DISPATCH(SinhVectors)(x, out, n); }
HWY_EXPORT(CoshVectors);
void Cosh(const float* x, float* out, int64_t n) { HWY_DYNAMIC_DISPATCH(CoshVectors)(x, out, n); }
HWY_EXPORT(AsinhVectors);
void Asinh(const float* x, float* out, int64_t n) { HWY_DYNAMIC_DISPATCH(AsinhVectors)(x, out, n); }
HWY_EXPORT(AcoshVectors);
void Acosh(const float* x, float* out, int64_t n) { HWY_DYNAMIC_DISPATCH(AcoshVectors)(x, out, n); }
HWY_EXPORT(AtanhVectors);
void Atanh(const float* x, float* out, int64_t n) { HWY_DYNAMIC_DISPATCH(AtanhVectors)(x, out, n); }
HWY_EXPORT(SoftplusVectors);
void Softplus(const float* x, float* out, int64_t n) {
  HWY_DYNAMIC_DISPATCH(SoftplusVectors)(x, out, n);
}
HWY_EXPORT(MishVectors);
void Mish(const float* x, float* out, int64_t n) { HWY_DYNAMIC_DISPATCH(MishVectors)(x, out, n); }
HWY_EXPORT(SwishVectors);
void Swish(const float* x, float alpha, float* out, int64_t n) {
  HWY_DYNAMIC_DISPATCH(SwishVectors)(x, alpha, out, n);
}
HWY_EXPORT(ExpLinearVectors);
void ExpLinear(const float* x, float negative, float divisor, float scale, float* out, int64_t n) {
  HWY_DYNAMIC_DISPATCH(ExpLinearVectors)(x, negative, divisor, scale, out, n);
}
HWY_EXPORT(HardSigmoidLoop);
void HardSigmoid(const float* x, float alpha, float beta, float* out, int64_t n) {
  HWY_DYNAMIC_DISPATCH(HardSigmoidLoop)(x, alpha, beta, out, n);
}
HWY_EXPORT(HardSwishLoop);
void HardSwish(const float* x, float* out, int64_t n) {
  HWY_DYNAMIC_DISPATCH(HardSwishLoop)(x, out, n);
}
HWY_EXPORT(ExpSumVectors);
double ExpSum(const float* x, float shift, float* out, int64_t n) {
  return HWY_DYNAMIC_DISPATCH(ExpSumVectors)(x, shift, out, n);
}
HWY_EXPORT(ExpSumsLoop);
void ExpSums(const float* x, const float* shifts, float* out, double* sums, int64_t rows,
             int64_t n) {
  HWY_DYNAMIC_DISPATCH(ExpSumsLoop)(x, shifts, out, sums, rows, n);
}

}  // namespace onnx_run::vector_math
#endif  // HWY_ONCE
