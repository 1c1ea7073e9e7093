// Plain loops over branch-free functions of one double. Highway compiles this file once for each
// instruction set, the compiler vectorises the loops, and the machine picks one when it runs.
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

ONNX_RUN_INLINE double SigmoidOf(double x) { return 1.0 / (1.0 + ExpOf(-x)); }
ONNX_RUN_INLINE double SinhOf(double x) {
  const double m = ExpMinus1Of(x < 0 ? -x : x);  // m / (m + 1) = 1 - e^-|x|
  return WithSign(0.5 * (m + m / (m + 1.0)), x);
}
ONNX_RUN_INLINE double CoshOf(double x) {
  const double e = ExpOf(x < 0 ? -x : x);
  return 0.5 * (e + 1.0 / e);
}
ONNX_RUN_INLINE double AsinhOf(double x) {
  const double a = x < 0 ? -x : x;
  const double z = x * x;
  // log(1 + u) loses what is small in 1 + u
  const double u = a + z / (1.0 + std::sqrt(z + 1.0));
  const double near0 = a - a * z * (0x1.5555555555555p-3 - z * 0x1.3333333333333p-4);
  double y = LogOf(1.0 + u);
  y = a < std::numeric_limits<double>::infinity() ? y : a;
  return WithSign(a < 0x1p-8 ? near0 : y, x);
}
ONNX_RUN_INLINE double AcoshOf(double x) {
  const double y = LogOf(x + std::sqrt((x - 1.0) * (x + 1.0)));
  return x < 1.0 ? std::numeric_limits<double>::quiet_NaN() : y;
}
ONNX_RUN_INLINE double AtanhOf(double x) {
  const double a = x < 0 ? -x : x;
  const double z = x * x;
  const double near0 =
      a + a * z * (0x1.5555555555555p-2 + z * (0x1.999999999999ap-3 + z * 0x1.2492492492492p-3));
  const double y = 0.5 * LogOf((1.0 + a) / (1.0 - a));
  return WithSign(a < 0x1p-6 ? near0 : y, x);
}

ONNX_RUN_INLINE double SoftplusOf(double x) {
  const double t = ExpOf(x < 0 ? x : -x);
  const double near0 = t - t * t * (0.5 - t * 0x1.5555555555555p-2);
  const double log1p = t < 0x1p-13 ? near0 : LogOfPositive(1.0 + t);
  return (x < 0 ? 0 : x) + log1p;
}

ONNX_RUN_INLINE double MishOf(double x) {
  const double e = ExpOf(x > 40.0 ? 40.0 : x);
  const double q = e * (e + 2.0);
  return x * (q / (q + 2.0));  // tanh(log(1 + e))
}

// HWY_EXPORT takes functions that are not templates.
void SinhLoop(const float* x, float* out, int64_t n) { Loop<SinhOf>(x, out, n); }
void CoshLoop(const float* x, float* out, int64_t n) { Loop<CoshOf>(x, out, n); }
void AsinhLoop(const float* x, float* out, int64_t n) { Loop<AsinhOf>(x, out, n); }
void AcoshLoop(const float* x, float* out, int64_t n) { Loop<AcoshOf>(x, out, n); }
void AtanhLoop(const float* x, float* out, int64_t n) { Loop<AtanhOf>(x, out, n); }
void SoftplusLoop(const float* x, float* out, int64_t n) { Loop<SoftplusOf>(x, out, n); }
void MishLoop(const float* x, float* out, int64_t n) { Loop<MishOf>(x, out, n); }

struct SwishFunction {
  double alpha;
  ONNX_RUN_INLINE double operator()(double x) const { return x * SigmoidOf(alpha * x); }
};
void SwishLoop(const float* x, float alpha, float* out, int64_t n) {
  Map(SwishFunction{alpha}, x, out, n);
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

double ExpSumLoop(const float* x, float shift, float* out, int64_t n) {
  constexpr int kBlock = 64;
  double e[kBlock];
  double lanes[kBlock] = {};
  int64_t i = 0;
  for (; i + kBlock <= n; i += kBlock) {
    for (int j = 0; j < kBlock; ++j) e[j] = ExpOf(static_cast<double>(x[i + j]) - shift);
    for (int j = 0; j < kBlock; ++j) out[i + j] = static_cast<float>(e[j]);
    for (int j = 0; j < kBlock; ++j) lanes[j] += e[j];
  }
  for (int j = 0; i + j < n; ++j) {
    e[j] = ExpOf(static_cast<double>(x[i + j]) - shift);
    out[i + j] = static_cast<float>(e[j]);
    lanes[j] += e[j];
  }
  for (int width = kBlock / 2; width > 0; width /= 2) {
    for (int j = 0; j < width; ++j) lanes[j] += lanes[j + width];
  }
  return lanes[0];
}

// Rows are padded with what becomes 0, and leaves the sums as they are.
template <int kPitch, bool kFull>
ONNX_RUN_INLINE void ExpSumsPadded(const float* x, const float* shifts, float* out, double* sums,
                                   int64_t rows, int64_t given_n) {
  constexpr int64_t kElements = 256;
  constexpr int64_t kRows = kElements / kPitch;
  const int64_t n = kFull ? kPitch : given_n;
  double e[kElements];
  if (!kFull) {
    for (double& padding : e) padding = -std::numeric_limits<double>::infinity();
  }
  for (int64_t row = 0; row < rows; row += kRows) {
    const int64_t some = rows - row < kRows ? rows - row : kRows;
    for (int64_t r = 0; r < some; ++r) {
      const double shift = shifts[row + r];
      const float* from = x + (row + r) * n;
      for (int64_t j = 0; j < n; ++j) e[r * kPitch + j] = static_cast<double>(from[j]) - shift;
    }
    for (int64_t i = 0; i < some * kPitch; ++i) e[i] = ExpOf(e[i]);
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
      if (!kFull) {
        for (int64_t j = n; j < kPitch; ++j) lanes[j] = -std::numeric_limits<double>::infinity();
      }
    }
  }
}
template <int kPitch>
void ExpSumsOfPitch(const float* x, const float* shifts, float* out, double* sums, int64_t rows,
                    int64_t n) {
  if (n == kPitch) return ExpSumsPadded<kPitch, true>(x, shifts, out, sums, rows, n);
  ExpSumsPadded<kPitch, false>(x, shifts, out, sums, rows, n);
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

HWY_EXPORT(SinhLoop);
void Sinh(const float* x, float* out, int64_t n) { HWY_DYNAMIC_DISPATCH(SinhLoop)(x, out, n); }
HWY_EXPORT(CoshLoop);
void Cosh(const float* x, float* out, int64_t n) { HWY_DYNAMIC_DISPATCH(CoshLoop)(x, out, n); }
HWY_EXPORT(AsinhLoop);
void Asinh(const float* x, float* out, int64_t n) { HWY_DYNAMIC_DISPATCH(AsinhLoop)(x, out, n); }
HWY_EXPORT(AcoshLoop);
void Acosh(const float* x, float* out, int64_t n) { HWY_DYNAMIC_DISPATCH(AcoshLoop)(x, out, n); }
HWY_EXPORT(AtanhLoop);
void Atanh(const float* x, float* out, int64_t n) { HWY_DYNAMIC_DISPATCH(AtanhLoop)(x, out, n); }
HWY_EXPORT(SoftplusLoop);
void Softplus(const float* x, float* out, int64_t n) {
  HWY_DYNAMIC_DISPATCH(SoftplusLoop)(x, out, n);
}
HWY_EXPORT(MishLoop);
void Mish(const float* x, float* out, int64_t n) { HWY_DYNAMIC_DISPATCH(MishLoop)(x, out, n); }
HWY_EXPORT(SwishLoop);
void Swish(const float* x, float alpha, float* out, int64_t n) {
  HWY_DYNAMIC_DISPATCH(SwishLoop)(x, alpha, out, n);
}
HWY_EXPORT(HardSigmoidLoop);
void HardSigmoid(const float* x, float alpha, float beta, float* out, int64_t n) {
  HWY_DYNAMIC_DISPATCH(HardSigmoidLoop)(x, alpha, beta, out, n);
}
HWY_EXPORT(HardSwishLoop);
void HardSwish(const float* x, float* out, int64_t n) {
  HWY_DYNAMIC_DISPATCH(HardSwishLoop)(x, out, n);
}
HWY_EXPORT(ExpSumLoop);
double ExpSum(const float* x, float shift, float* out, int64_t n) {
  return HWY_DYNAMIC_DISPATCH(ExpSumLoop)(x, shift, out, n);
}
HWY_EXPORT(ExpSumsLoop);
void ExpSums(const float* x, const float* shifts, float* out, double* sums, int64_t rows,
             int64_t n) {
  HWY_DYNAMIC_DISPATCH(ExpSumsLoop)(x, shifts, out, sums, rows, n);
}

}  // namespace onnx_run::vector_math
#endif  // HWY_ONCE
