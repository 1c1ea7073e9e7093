// Sine, cosine, tangent and their inverses, in double.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/vector_trigonometry.cc"
// Two are enough beside the one that every machine has.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "ops/vector_double-inl.h"
#include "ops/vector_math.h"

HWY_BEFORE_NAMESPACE();
namespace onnx_run::vector_math::HWY_NAMESPACE {
namespace {

constexpr double kHalfPi = 0x1.921fb54442d18p+0;
constexpr double kQuarterPi = 0x1.921fb54442d18p-1;
// Arguments from here on are left to the C++ library.
constexpr float kManyTurns = 0x1p20F;

struct SinCos {
  double sin;
  double cos;
  uint64_t quadrant;  // modulo 4
};
// Of x less a multiple of pi / 2. For |x| < 2^20: the first two parts of pi / 2 have 33 bits, so
// that their multiples are exact, and so are the differences when they are small.
ONNX_RUN_INLINE SinCos ReducedSinCos(double x) {
  const double shifted = x * 0x1.45f306dc9c883p-1 + kRounder;
  const double n = shifted - kRounder;
  const double r = ((x - n * 0x1.921fb544p+0) - n * 0x1.0b4611a6p-34) - n * 0x1.3198a2e037073p-69;
  const double z = r * r;
  // (sin(r) / r - 1) / r^2 and (cos(r) - 1) / r^2 in r^2 on [-pi / 4, pi / 4], relative errors of
  // sin and cos 2^-37.5 and 2^-43
  constexpr double kSin[] = {-0x1.5555554c7fdf5p-3, 0x1.11110877f6eabp-7, -0x1.a00f8a8879905p-13,
                             0x1.6cd4989c90420p-19};
  constexpr double kCos[] = {-0x1.ffffffffe8e1fp-2, 0x1.5555554582051p-5, -0x1.6c16b32518918p-10,
                             0x1.a00eaa2332456p-16, -0x1.23c718c270510p-22};
  return {r + r * z * Polynomial(kSin, z), 1.0 + z * Polynomial(kCos, z),
          std::bit_cast<uint64_t>(shifted)};
}
// Negated in the third and fourth quadrant.
ONNX_RUN_INLINE double Turned(const SinCos& s, uint64_t quadrant) {
  const double y = (quadrant & 1) != 0 ? s.cos : s.sin;
  return std::bit_cast<double>(std::bit_cast<uint64_t>(y) ^ ((quadrant & 2) << 62));
}
ONNX_RUN_INLINE double SinOf(double x) {
  const SinCos s = ReducedSinCos(x);
  const double y = Turned(s, s.quadrant);
  return x == 0 ? x : y;  // -0 stays
}
ONNX_RUN_INLINE double CosOf(double x) {
  const SinCos s = ReducedSinCos(x);
  return Turned(s, s.quadrant + 1);
}
ONNX_RUN_INLINE double TanOf(double x) {
  const SinCos s = ReducedSinCos(x);
  const bool odd = (s.quadrant & 1) != 0;
  const double y = (odd ? -s.cos : s.sin) / (odd ? s.sin : s.cos);
  return x == 0 ? x : y;
}

ONNX_RUN_INLINE double AtanOf(double x) {
  // atan(a) = base + atan(t), |t| <= tan(pi / 8)
  const double a = x < 0 ? -x : x;
  const bool far = a > 0x1.3504f333f9de6p+1;
  const bool middle = a > 0x1.a827999fcef32p-2;
  const double base = far ? kHalfPi : (middle ? kQuarterPi : 0.0);
  const double t = (far ? -1.0 : (middle ? a - 1.0 : a)) / (far ? a : (middle ? a + 1.0 : 1.0));
  const double z = t * t;
  // (atan(t) / t - 1) / t^2 in t^2, relative error of atan 2^-40
  constexpr double kAtan[] = {-0x1.5555554e9eaaap-2, 0x1.999991cc95591p-3,  -0x1.2490bcccc2338p-3,
                              0x1.c6d12508d30a0p-4,  -0x1.707c5313a6f9fp-4, 0x1.1e4203bc990f4p-4,
                              -0x1.36580a6d05a8fp-5};
  return WithSign(base + (t + t * z * Polynomial(kAtan, z)), x);
}

// The arcsine of |x|, or where |x| > 1/2 of s = sqrt((1 - |x|) / 2), for asin(|x|) is then
// pi / 2 - 2 asin(s).
ONNX_RUN_INLINE double ReducedAsin(double a) {
  const double z = a > 0.5 ? (1.0 - a) * 0.5 : a * a;
  const double s = std::sqrt(z);  // NaN where |x| > 1
  // (asin(s) / s - 1) / s^2 in s^2 on [0, 1/2], relative error of asin 2^-39.8
  constexpr double kAsin[] = {0x1.55555547d2c9ep-3, 0x1.3333407c4d476p-4, 0x1.6db262e737896p-5,
                              0x1.f2809b389d42bp-6, 0x1.664e3b46a3b7ep-6, 0x1.51f7767da59eap-6,
                              0x1.09e2c91a70d06p-9, 0x1.0d2e5d5252b17p-5};
  return s + s * z * Polynomial(kAsin, z);
}
// Selects come first, and are of constants: else the compiler makes branches of them.
ONNX_RUN_INLINE double AsinOf(double x) {
  const double a = x < 0 ? -x : x;
  const double base = a > 0.5 ? kHalfPi : 0.0;
  const double factor = a > 0.5 ? -2.0 : 1.0;
  return WithSign(base + factor * ReducedAsin(a), x);
}
ONNX_RUN_INLINE double AcosOf(double x) {
  const double a = x < 0 ? -x : x;
  const double far_base = x < 0 ? 2.0 * kHalfPi : 0.0;
  const double base = a > 0.5 ? far_base : kHalfPi;
  const double factor = a > 0.5 ? 2.0 : -1.0;
  return base + factor * WithSign(ReducedAsin(a), x);
}

// Many turns are rare, and dear: those elements are computed again, by `library`.
template <double (*kFunction)(double), double (*kLibrary)(double)>
ONNX_RUN_INLINE void PeriodicLoop(const float* x, float* out, int64_t n) {
  constexpr int64_t kBlock = 512;
  float block[kBlock];
  for (int64_t from = 0; from < n; from += kBlock) {
    const int64_t count = std::min(kBlock, n - from);
    std::memcpy(block, x + from, sizeof(float) * static_cast<size_t>(count));
    Loop<kFunction>(block, out + from, count);
    int32_t many = 0;
    for (int64_t i = 0; i < count; ++i) many |= std::abs(block[i]) < kManyTurns ? 0 : 1;
    if (many == 0) continue;
    for (int64_t i = 0; i < count; ++i) {
      if (std::abs(block[i]) < kManyTurns) continue;
      out[from + i] = static_cast<float>(kLibrary(static_cast<double>(block[i])));
    }
  }
}
double LibrarySin(double x) { return std::sin(x); }
double LibraryCos(double x) { return std::cos(x); }
double LibraryTan(double x) { return std::tan(x); }

void SinLoop(const float* x, float* out, int64_t n) { PeriodicLoop<SinOf, LibrarySin>(x, out, n); }
void CosLoop(const float* x, float* out, int64_t n) { PeriodicLoop<CosOf, LibraryCos>(x, out, n); }
void TanLoop(const float* x, float* out, int64_t n) { PeriodicLoop<TanOf, LibraryTan>(x, out, n); }
void AsinLoop(const float* x, float* out, int64_t n) { Loop<AsinOf>(x, out, n); }
void AcosLoop(const float* x, float* out, int64_t n) { Loop<AcosOf>(x, out, n); }
void AtanLoop(const float* x, float* out, int64_t n) { Loop<AtanOf>(x, out, n); }

}  // namespace
}  // namespace onnx_run::vector_math::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace onnx_run::vector_math {

HWY_EXPORT(SinLoop);
void Sin(const float* x, float* out, int64_t n) { HWY_DYNAMIC_DISPATCH(SinLoop)(x, out, n); }
HWY_EXPORT(CosLoop);
void Cos(const float* x, float* out, int64_t n) { HWY_DYNAMIC_DISPATCH(CosLoop)(x, out, n); }
HWY_EXPORT(TanLoop);
void Tan(const float* x, float* out, int64_t n) { HWY_DYNAMIC_DISPATCH(TanLoop)(x, out, n); }
HWY_EXPORT(AsinLoop);
void Asin(const float* x, float* out, int64_t n) { HWY_DYNAMIC_DISPATCH(AsinLoop)(x, out, n); }
HWY_EXPORT(AcosLoop);
void Acos(const float* x, float* out, int64_t n) { HWY_DYNAMIC_DISPATCH(AcosLoop)(x, out, n); }
HWY_EXPORT(AtanLoop);
void Atan(const float* x, float* out, int64_t n) { HWY_DYNAMIC_DISPATCH(AtanLoop)(x, out, n); }

}  // namespace onnx_run::vector_math
#endif  // HWY_ONCE
