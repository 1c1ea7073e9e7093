// Short rows normalised side by side, compiled once for each instruction set. Every one gives the
// same bits.
#ifndef ONNX_RUN_OPS_NORMALIZATION_KERNELS_H_
#define ONNX_RUN_OPS_NORMALIZATION_KERNELS_H_

#include <cstdint>

namespace onnx_run {

// Rows with fewer elements are short.
inline constexpr int64_t kShortNormalizedRow = 16;

// Rows of n elements, one behind the other, to be normalised by their own mean and variance, in
// double: out = (x - mean) * factor * scale + bias, where factor = 1 / sqrt(variance + epsilon).
template <typename T>
struct ShortRows {
  const T* x;
  T* out;
  int64_t rows;
  int64_t n;  // in [1, kShortNormalizedRow)
  double epsilon;
  const T* scale;   // n of them, for each row
  const T* bias;    // likewise; nullptr: none
  double* means;    // of each row; nullptr: not wanted
  double* factors;  // likewise
};

// The same bits as by MomentsOf and plain_loops::Normalize, row by row.
void NormalizeShortRows(const ShortRows<float>& rows);
void NormalizeShortRows(const ShortRows<double>& rows);

}  // namespace onnx_run

#endif  // ONNX_RUN_OPS_NORMALIZATION_KERNELS_H_
