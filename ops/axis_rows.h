// Rows along one axis, for operators that work on each of them alone: Softmax, CumSum, ArgMax, ...
#ifndef ONNX_RUN_OPS_AXIS_ROWS_H_
#define ONNX_RUN_OPS_AXIS_ROWS_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "ops/dispatch.h"
#include "ops/shape_util.h"
#include "ops/transpose_kernels.h"
#include "runtime/kernel.h"
#include "runtime/status_macros.h"

namespace onnx_run {

// A row function may have Rows(x, out, rows, n) for rows that lie one behind the other.
template <typename T, typename R, typename RowFn>
void CallRows(const RowFn& row, const T* in, R* out, int64_t out_n, int64_t rows, int64_t n) {
  if constexpr (requires { row.Rows(in, out, rows, n); }) {
    row.Rows(in, out, rows, n);
  } else {
    for (int64_t r = 0; r < rows; ++r) row(in + r * n, out + r * out_n, n);
  }
}

// Elements for a while; few of them need no memory but the stack's.
template <typename T>
class RowBuffer {
 public:
  explicit RowBuffer(int64_t n) {
    if (n > kFew) many_.reset(new T[static_cast<size_t>(n)]);
  }
  T* data() { return many_ ? many_.get() : few_; }

 private:
  static constexpr int64_t kFew = 512;
  T few_[kFew];
  std::unique_ptr<T[]> many_;
};

// Calls row(x, out, n) for each of the rows of n = view.axis elements; `out` gets `out_n` elements
// of which each row gives: n, or 1. Rows whose elements do not lie in order are copied, some at a
// time.
template <typename T, typename R, typename RowFn>
void MapRows(const KernelContext& context, const AxisView& view, const T* in, R* out, int64_t out_n,
             RowFn row) {
  const int64_t n = view.axis;
  const int64_t inner = view.inner;
  const int64_t rows = view.outer * inner;
  if (rows == 0 || n == 0) return;
  const int64_t grain = std::max<int64_t>(1, 16384 / n);
  if (inner == 1) {
    context.ParallelFor(rows, grain, [&](int64_t begin, int64_t end) {
      CallRows(row, in + begin * n, out + begin * out_n, out_n, end - begin, n);
    });
    return;
  }
  constexpr int64_t kRows = 16;  // neighbours, which share cache lines
  const int64_t groups = (inner + kRows - 1) / kRows;
  context.ParallelFor(view.outer * groups, std::max<int64_t>(1, grain / kRows),
                      [&](int64_t begin, int64_t end) {
                        RowBuffer<T> from_buffer(kRows * n);
                        RowBuffer<R> to_buffer(kRows * out_n);
                        T* const from = from_buffer.data();
                        R* const to = to_buffer.data();
                        for (int64_t group = begin; group < end; ++group) {
                          const int64_t first = group % groups * kRows;
                          const int64_t count = std::min(kRows, inner - first);
                          const T* const source = in + group / groups * n * inner + first;
                          R* const target = out + group / groups * out_n * inner + first;
                          TransposeElements(source, inner, from, n, count, n);
                          CallRows<T>(row, from, to, out_n, count, n);
                          TransposeElements<R>(to, out_n, target, inner, out_n, count);
                        }
                      });
}

// Output 0 has the dims and the type of input 0; row(x, out, n) computes it row by row in the types
// of `List`.
template <typename List, typename RowFn>
absl::Status RunRows(KernelContext& context, const AxisView& view, RowFn row) {
  const ElementType type = context.input(0).type();
  const auto run = [&](const Tensor& data, Tensor& result) {
    return VisitType(List(), type, [&]<typename T>(Tag<T>) {
      MapRows(context, view, data.data_as<T>(), result.mutable_data_as<T>(), view.axis, row);
      return absl::OkStatus();
    });
  };
  if (!NeedsWidening(type)) {
    const Tensor& data = context.input(0);
    ASSIGN_OR_RETURN(Tensor * output, context.Output(0, type, data.dims()));
    return run(data, *output);
  }
  ASSIGN_OR_RETURN(const Tensor data, WidenTensor(context, context.input(0)));
  ASSIGN_OR_RETURN(Tensor result, context.Allocate(data.type(), data.dims()));
  RETURN_IF_ERROR(run(data, result));
  return SetOutputNarrowed(context, 0, std::move(result), type);
}

}  // namespace onnx_run

#endif  // ONNX_RUN_OPS_AXIS_ROWS_H_
