// Functions over arrays of floats, vectorised, with the same result bit for bit on every machine.
//
// Tanh, Erf, Asin, Acos, Atan, Sigmoid, Gelu and GeluTanh are computed in float by operations of
// IEEE 754, the fused multiply-add among them, to 0.513 (Tanh, Erf, Atan), 0.52 (Asin, Acos), 0.535
// (Sigmoid), 0.54 (GeluTanh), 0.58 (Gelu) of the last place at most (over all floats, by test). The
// others are computed in double by +, -, *, / and sqrt alone to a relative error below 2^-35 and
// rounded once to float: the result is the correctly rounded one but for about one in a thousand
// arguments, where it is the other neighbour. (Sin, Cos and Tan of 2^20 and more are the C++
// library's.) In and out may be the same array.
#ifndef ONNX_RUN_OPS_VECTOR_MATH_H_
#define ONNX_RUN_OPS_VECTOR_MATH_H_

#include <cstdint>

namespace onnx_run::vector_math {

void Exp(const float* x, float* out, int64_t n);
void Log(const float* x, float* out, int64_t n);
void Sin(const float* x, float* out, int64_t n);
void Cos(const float* x, float* out, int64_t n);
void Tan(const float* x, float* out, int64_t n);
void Asin(const float* x, float* out, int64_t n);
void Acos(const float* x, float* out, int64_t n);
void Atan(const float* x, float* out, int64_t n);
void Sinh(const float* x, float* out, int64_t n);
void Cosh(const float* x, float* out, int64_t n);
void Tanh(const float* x, float* out, int64_t n);
void Asinh(const float* x, float* out, int64_t n);
void Acosh(const float* x, float* out, int64_t n);
void Atanh(const float* x, float* out, int64_t n);
void Sigmoid(const float* x, float* out, int64_t n);
void Softplus(const float* x, float* out, int64_t n);  // log(1 + e^x)
void Erf(const float* x, float* out, int64_t n);
void Gelu(const float* x, float* out, int64_t n);                // x/2 (1 + erf(x / sqrt 2))
void GeluTanh(const float* x, float* out, int64_t n);            // its approximation by tanh
void Swish(const float* x, float alpha, float* out, int64_t n);  // x sigmoid(alpha x)
void Mish(const float* x, float* out, int64_t n);                // x tanh(softplus(x))
// x where x > 0, else negative (e^(x / divisor) - 1); then times `scale`: Elu, Celu and Selu.
void ExpLinear(const float* x, float negative, float divisor, float scale, float* out, int64_t n);
// alpha x + beta between 0 and 1, in float as written; and x times that of alpha = 1/6, beta = 1/2.
void HardSigmoid(const float* x, float alpha, float beta, float* out, int64_t n);
void HardSwish(const float* x, float* out, int64_t n);
// out[i] = x[i x_step]^y[i y_step]; a step is 0 or 1.
void Pow(const float* x, int64_t x_step, const float* y, int64_t y_step, float* out, int64_t n);
void Pow(const float* x, int64_t x_step, const double* y, int64_t y_step, float* out, int64_t n);
// out[i] = e^(x[i] - shift); returns their sum.
double ExpSum(const float* x, float shift, float* out, int64_t n);
// The same for rows of n elements each, 1 <= n <= kShortRow, one behind the other: sums[r], bit for
// bit, is what ExpSum returns for row r. Out is an array of its own.
inline constexpr int64_t kShortRow = 64;
void ExpSums(const float* x, const float* shifts, float* out, double* sums, int64_t rows,
             int64_t n);

}  // namespace onnx_run::vector_math

#endif  // ONNX_RUN_OPS_VECTOR_MATH_H_
