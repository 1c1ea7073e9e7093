// Matrix products, blocked for the caches and shared out to threads.
//
//   GemmSize size{m, n, k};
//   RunGemms<float>(context, size, 1, [&](int64_t) {
//     return GemmProblem<float>{.a = {x, k, 1}, .b = {w, n, 1}, .c = out, .c_stride = n};
//   });
//
// The result does not depend on how the work is shared out (see gemm_kernels.h).
#ifndef ONNX_RUN_OPS_GEMM_H_
#define ONNX_RUN_OPS_GEMM_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "runtime/kernel.h"
#include "runtime/tensor.h"
#include "runtime/value.h"

namespace onnx_run {

// Element (row, column) is at data[row * row_stride + column * column_stride].
template <typename T>
struct Matrix {
  const T* data = nullptr;
  int64_t row_stride = 0;
  int64_t column_stride = 0;
};

// A part of the right operand to be laid out in panels of `panel_columns` columns: column `begin +
// p * panel_columns + j` of row `k_begin + k` goes to to[(p * (k_end - k_begin) + k) *
// panel_columns + j]. The rest of the last panel is filled with zeros.
template <typename T>
struct PanelRequest {
  int64_t k_begin;
  int64_t k_end;
  int64_t begin;
  int64_t end;
  int panel_columns;
  T* to;
};

// A right operand that exists only as the panels it is laid out in: the columns of a convolution.
template <typename T>
class PanelSource {
 public:
  virtual ~PanelSource() = default;
  // Of problem number `problem`. Called from any thread.
  virtual void Pack(int64_t problem, const PanelRequest<T>& request) const = 0;
};

struct GemmSize {
  int64_t m;
  int64_t n;
  int64_t k;
};

template <typename T>
struct GemmProblem {
  Matrix<T> a;  // m x k
  Matrix<T> b;  // k x n, without `panels`
  const PanelSource<T>* panels = nullptr;
  // What PackOperand has made of a or b; read instead of them where blocks are.
  const T* packed_a = nullptr;
  const T* packed_b = nullptr;
  T* c = nullptr;  // m x n, neighbours in a row side by side
  int64_t c_stride = 0;
  const T* row_bias = nullptr;  // m, or none
};

// c = a b + row_bias, for `count` problems of one size. T: float, double and all integers, which
// wrap. Errors: ResourceExhausted.
template <typename T>
absl::Status RunGemms(KernelContext& context, const GemmSize& size, int64_t count,
                      absl::FunctionRef<GemmProblem<T>(int64_t problem)> problem);

// An operand that is a constant, in the order in which blocks are read: the same products, without
// laying the operand out at each run. T: float and double.
enum class Operand : uint8_t { kLeft, kRight };
// `size` of the operand is all that counts: m and k, or k and n. Elements of the result.
template <typename T>
int64_t PackedElements(Operand operand, const GemmSize& size);
template <typename T>
void PackOperand(Operand operand, const GemmSize& size, const Matrix<T>& matrix, T* to);

// What a kernel's state keeps of a constant operand.
class PackedOperand {
 public:
  PackedOperand() = default;
  explicit PackedOperand(Tensor elements)
      : elements_(std::make_shared<const Tensor>(std::move(elements))) {}
  // nullptr: nothing is kept.
  template <typename T>
  const T* data() const {
    return elements_ == nullptr ? nullptr : elements_->data_as<T>();
  }

 private:
  std::shared_ptr<const Tensor> elements_;
};
// The two above for a kernel's PrepareFn: `count` operands, `distance` elements after each other in
// `constant`, packed after each other. Nothing when the constant is nullptr or of another type than
// float and double, or there is not enough of `memory`.
PackedOperand PackConstant(const Value* constant, Operand operand, const GemmSize& size,
                           int64_t row_stride, int64_t column_stride, int64_t count,
                           int64_t distance, int64_t* memory);

}  // namespace onnx_run

#endif  // ONNX_RUN_OPS_GEMM_H_
