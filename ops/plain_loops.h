// Loops that are plain C++ and gain by newer instruction sets than every machine has: compiled once
// for each of them, chosen when the program runs. Every one gives the same bits.
#ifndef ONNX_RUN_OPS_PLAIN_LOOPS_H_
#define ONNX_RUN_OPS_PLAIN_LOOPS_H_

#include <cstdint>

namespace onnx_run::plain_loops {

// In and out may be the same array.
void Floor(const float* x, float* out, int64_t n);
void Floor(const double* x, double* out, int64_t n);
void Ceil(const float* x, float* out, int64_t n);
void Ceil(const double* x, double* out, int64_t n);
void RoundToEven(const float* x, float* out, int64_t n);
void RoundToEven(const double* x, double* out, int64_t n);

// out[i] = (x[i] - zero) * scale.
void Dequantize(const int8_t* x, int8_t zero, float scale, float* out, int64_t n);
void Dequantize(const uint8_t* x, uint8_t zero, float scale, float* out, int64_t n);
void Dequantize(const int16_t* x, int16_t zero, float scale, float* out, int64_t n);
void Dequantize(const uint16_t* x, uint16_t zero, float scale, float* out, int64_t n);

// out[i] = (x[i] - mean) * factor * scale[i] + bias[i], in double, rounded once at the end. `bias`
// may be nullptr.
void Normalize(const float* x, double mean, double factor, const double* scale, const double* bias,
               float* out, int64_t n);
void Normalize(const double* x, double mean, double factor, const double* scale, const double* bias,
               double* out, int64_t n);

}  // namespace onnx_run::plain_loops

#endif  // ONNX_RUN_OPS_PLAIN_LOOPS_H_
