// The inner loops of Softmax and LogSoftmax of floats but for the exponentials, compiled once for
// each instruction set. Every one gives the same bits. Rows lie one behind the other.
#ifndef ONNX_RUN_OPS_SOFTMAX_KERNELS_H_
#define ONNX_RUN_OPS_SOFTMAX_KERNELS_H_

#include <cstdint>

namespace onnx_run::softmax_kernels {

// The greatest element of each row of n > 0; any number where the row has NaN, zero of either sign.
void GreatestOfRows(const float* x, float* greatest, int64_t rows, int64_t n);

// Elements of row r become element / sums[r], divided in double and rounded once more. Elements are
// in [0, 1], sums not less than 1.
void DivideRows(float* x, const double* sums, int64_t rows, int64_t n);

// out = x - first[r] - second[r], in double.
void SubtractFromRows(const float* x, const float* first, const double* second, float* out,
                      int64_t rows, int64_t n);

}  // namespace onnx_run::softmax_kernels

#endif  // ONNX_RUN_OPS_SOFTMAX_KERNELS_H_
