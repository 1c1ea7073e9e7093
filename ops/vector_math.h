// Functions over arrays of floats, vectorised, with the same result bit for bit on every machine.
//
// Tanh, Erf and Sigmoid are computed in float by operations of IEEE 754, the fused multiply-add
// among them, to 0.513, 0.513 and 0.535 of the last place at most (over all floats, by test). The
// others are computed in double by +, -, *, / alone to a relative error below 2^-35 and rounded
// once to float: the result is the correctly rounded one but for about one in a thousand arguments,
// where it is the other neighbour. In and out may be the same array.
#ifndef ONNX_RUN_OPS_VECTOR_MATH_H_
#define ONNX_RUN_OPS_VECTOR_MATH_H_

#include <cstdint>

namespace onnx_run::vector_math {

void Exp(const float* x, float* out, int64_t n);
void Log(const float* x, float* out, int64_t n);
void Tanh(const float* x, float* out, int64_t n);
void Sigmoid(const float* x, float* out, int64_t n);
void Softplus(const float* x, float* out, int64_t n);  // log(1 + e^x)
void Erf(const float* x, float* out, int64_t n);
void Gelu(const float* x, float* out, int64_t n);                // x/2 (1 + erf(x / sqrt 2))
void GeluTanh(const float* x, float* out, int64_t n);            // its approximation by tanh
void Swish(const float* x, float alpha, float* out, int64_t n);  // x sigmoid(alpha x)
void Mish(const float* x, float* out, int64_t n);                // x tanh(softplus(x))
// x where x > 0, else negative (e^(x / divisor) - 1); then times `scale`: Elu, Celu and Selu.
void ExpLinear(const float* x, float negative, float divisor, float scale, float* out, int64_t n);
// out[i] = e^(x[i] - shift); returns their sum.
double ExpSum(const float* x, float shift, float* out, int64_t n);

}  // namespace onnx_run::vector_math

#endif  // ONNX_RUN_OPS_VECTOR_MATH_H_
