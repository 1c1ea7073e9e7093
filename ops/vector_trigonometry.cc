// Sine, cosine and tangent, in double.
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

}  // namespace onnx_run::vector_math
#endif  // HWY_ONCE
