// See plain_loops.h. Highway compiles this file once for each instruction set, the compiler
// vectorises the loops.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/plain_loops.cc"
// Two are enough beside the one that every machine has.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include <cmath>
#include <cstdint>

#include "ops/plain_loops.h"

HWY_BEFORE_NAMESPACE();
namespace onnx_run::plain_loops::HWY_NAMESPACE {
namespace {

template <typename T>
HWY_ATTR void FloorLoop(const T* x, T* out, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) out[i] = std::floor(x[i]);
}
template <typename T>
HWY_ATTR void CeilLoop(const T* x, T* out, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) out[i] = std::ceil(x[i]);
}
template <typename T>
HWY_ATTR void RoundLoop(const T* x, T* out, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) out[i] = std::nearbyint(x[i]);
}

template <typename X>
HWY_ATTR void DequantizeLoop(const X* HWY_RESTRICT x, X zero, float scale, float* HWY_RESTRICT out,
                             int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    out[i] = static_cast<float>(static_cast<int32_t>(x[i]) - static_cast<int32_t>(zero)) * scale;
  }
}

template <typename T>
HWY_ATTR void NormalizeLoop(const T* HWY_RESTRICT x, double mean, double factor,
                            const double* HWY_RESTRICT scale, const double* HWY_RESTRICT bias,
                            T* HWY_RESTRICT out, int64_t n) {
  if (bias != nullptr) {
    for (int64_t i = 0; i < n; ++i) {
      out[i] = static_cast<T>((static_cast<double>(x[i]) - mean) * factor * scale[i] + bias[i]);
    }
  } else {
    for (int64_t i = 0; i < n; ++i) {
      out[i] = static_cast<T>((static_cast<double>(x[i]) - mean) * factor * scale[i]);
    }
  }
}

}  // namespace

// By name, for HWY_EXPORT knows no overloads.
void FloorFloats(const float* x, float* out, int64_t n) { FloorLoop(x, out, n); }
void FloorDoubles(const double* x, double* out, int64_t n) { FloorLoop(x, out, n); }
void CeilFloats(const float* x, float* out, int64_t n) { CeilLoop(x, out, n); }
void CeilDoubles(const double* x, double* out, int64_t n) { CeilLoop(x, out, n); }
void RoundFloats(const float* x, float* out, int64_t n) { RoundLoop(x, out, n); }
void RoundDoubles(const double* x, double* out, int64_t n) { RoundLoop(x, out, n); }
void DequantizeInt8(const int8_t* x, int8_t zero, float scale, float* out, int64_t n) {
  DequantizeLoop(x, zero, scale, out, n);
}
void DequantizeUint8(const uint8_t* x, uint8_t zero, float scale, float* out, int64_t n) {
  DequantizeLoop(x, zero, scale, out, n);
}
void DequantizeInt16(const int16_t* x, int16_t zero, float scale, float* out, int64_t n) {
  DequantizeLoop(x, zero, scale, out, n);
}
void DequantizeUint16(const uint16_t* x, uint16_t zero, float scale, float* out, int64_t n) {
  DequantizeLoop(x, zero, scale, out, n);
}
void NormalizeFloats(const float* x, double mean, double factor, const double* scale,
                     const double* bias, float* out, int64_t n) {
  NormalizeLoop(x, mean, factor, scale, bias, out, n);
}
void NormalizeDoubles(const double* x, double mean, double factor, const double* scale,
                      const double* bias, double* out, int64_t n) {
  NormalizeLoop(x, mean, factor, scale, bias, out, n);
}

}  // namespace onnx_run::plain_loops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace onnx_run::plain_loops {

HWY_EXPORT(FloorFloats);
HWY_EXPORT(FloorDoubles);
HWY_EXPORT(CeilFloats);
HWY_EXPORT(CeilDoubles);
HWY_EXPORT(RoundFloats);
HWY_EXPORT(RoundDoubles);
HWY_EXPORT(DequantizeInt8);
HWY_EXPORT(DequantizeUint8);
HWY_EXPORT(DequantizeInt16);
HWY_EXPORT(DequantizeUint16);
HWY_EXPORT(NormalizeFloats);
HWY_EXPORT(NormalizeDoubles);

void Floor(const float* x, float* out, int64_t n) { HWY_DYNAMIC_DISPATCH(FloorFloats)(x, out, n); }
void Floor(const double* x, double* out, int64_t n) {
  HWY_DYNAMIC_DISPATCH(FloorDoubles)(x, out, n);
}
void Ceil(const float* x, float* out, int64_t n) { HWY_DYNAMIC_DISPATCH(CeilFloats)(x, out, n); }
void Ceil(const double* x, double* out, int64_t n) { HWY_DYNAMIC_DISPATCH(CeilDoubles)(x, out, n); }
void RoundToEven(const float* x, float* out, int64_t n) {
  HWY_DYNAMIC_DISPATCH(RoundFloats)(x, out, n);
}
void RoundToEven(const double* x, double* out, int64_t n) {
  HWY_DYNAMIC_DISPATCH(RoundDoubles)(x, out, n);
}
void Dequantize(const int8_t* x, int8_t zero, float scale, float* out, int64_t n) {
  HWY_DYNAMIC_DISPATCH(DequantizeInt8)(x, zero, scale, out, n);
}
void Dequantize(const uint8_t* x, uint8_t zero, float scale, float* out, int64_t n) {
  HWY_DYNAMIC_DISPATCH(DequantizeUint8)(x, zero, scale, out, n);
}
void Dequantize(const int16_t* x, int16_t zero, float scale, float* out, int64_t n) {
  HWY_DYNAMIC_DISPATCH(DequantizeInt16)(x, zero, scale, out, n);
}
void Dequantize(const uint16_t* x, uint16_t zero, float scale, float* out, int64_t n) {
  HWY_DYNAMIC_DISPATCH(DequantizeUint16)(x, zero, scale, out, n);
}
void Normalize(const float* x, double mean, double factor, const double* scale, const double* bias,
               float* out, int64_t n) {
  HWY_DYNAMIC_DISPATCH(NormalizeFloats)(x, mean, factor, scale, bias, out, n);
}
void Normalize(const double* x, double mean, double factor, const double* scale, const double* bias,
               double* out, int64_t n) {
  HWY_DYNAMIC_DISPATCH(NormalizeDoubles)(x, mean, factor, scale, bias, out, n);
}

}  // namespace onnx_run::plain_loops
#endif  // HWY_ONCE
