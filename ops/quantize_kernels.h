// The inner loops of QuantizeLinear and DynamicQuantizeLinear, compiled once for each instruction
// set. Every one gives the same bits.
#ifndef ONNX_RUN_OPS_QUANTIZE_KERNELS_H_
#define ONNX_RUN_OPS_QUANTIZE_KERNELS_H_

#include <cstdint>

namespace onnx_run::quantize_kernels {

// How quotients become codes: rounded, halves to even, plus zero, limited to [low, high]; NaN is
// low. `zero` is in [low, high].
struct Codes {
  int32_t zero;
  int32_t low;
  int32_t high;
};

// out[i] is the code of x[i] / scale, of any scale. They do not overlap.
void Quantize(const float* x, float scale, const Codes& codes, int8_t* out, int64_t n);
void Quantize(const float* x, float scale, const Codes& codes, uint8_t* out, int64_t n);
void Quantize(const float* x, float scale, const Codes& codes, int16_t* out, int64_t n);
void Quantize(const float* x, float scale, const Codes& codes, uint16_t* out, int64_t n);

// Widens [low, high] to hold all elements but NaN.
void WidenRange(const float* x, int64_t n, float& low, float& high);

}  // namespace onnx_run::quantize_kernels

#endif  // ONNX_RUN_OPS_QUANTIZE_KERNELS_H_
