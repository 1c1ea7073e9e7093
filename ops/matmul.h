// The shapes of numpy's matmul, shared by MatMul and its integer forms.
#ifndef ONNX_RUN_OPS_MATMUL_H_
#define ONNX_RUN_OPS_MATMUL_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ops/gemm.h"
#include "runtime/kernel.h"
#include "runtime/tensor.h"

namespace onnx_run {

struct MatMulShape {
  GemmSize size;
  int64_t count;  // of products
  Dims a, b;      // what stands before the matrices
  Dims batch;     // a and b broadcast
  Dims output;
};
// InvalidArgument when the shapes do not fit.
absl::StatusOr<MatMulShape> MakeMatMulShape(absl::Span<const int64_t> a,
                                            absl::Span<const int64_t> b);

// T: float, double or int32_t. `packed_b`: what PackConstant has made of b, a single matrix; or
// nullptr.
template <typename T>
absl::Status RunMatMul(KernelContext& context, const MatMulShape& shape, const T* a, const T* b,
                       T* c, const T* packed_b = nullptr);

}  // namespace onnx_run

#endif  // ONNX_RUN_OPS_MATMUL_H_
