// Softmax, LogSoftmax and Hardmax. Until version 13 they see their input as a matrix: the
// dimensions from `axis` on are one row.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "ops/axis_rows.h"
#include "ops/families.h"
#include "ops/kernel_table.h"
#include "ops/reduce_kernels.h"
#include "ops/softmax_kernels.h"
#include "ops/vector_math.h"

namespace onnx_run {
namespace {

struct SoftmaxAttributes {
  int64_t axis;
  bool as_matrix;
};
absl::StatusOr<SoftmaxAttributes> ParseSoftmax(const NodeInfo& node) {
  const bool as_matrix = node.since_version() < 13;
  return SoftmaxAttributes{node.IntOr("axis", as_matrix ? 1 : -1), as_matrix};
}

// Into its place, for a copy of what has just been written waits for memory.
absl::Status SetView(const SoftmaxAttributes& attributes, const Tensor& input, AxisView& view) {
  const int rank = input.rank();
  view = {1, 1, 1};
  if (attributes.as_matrix && attributes.axis == rank) {
    view.outer = input.size();
    return absl::OkStatus();
  }
  if (rank == 0) return absl::OkStatus();
  ASSIGN_OR_RETURN(const int axis, NormalizeAxis(attributes.axis, rank));
  view.outer = Product(input.dims(), 0, axis);
  const int end = attributes.as_matrix ? rank : axis + 1;
  view.axis = Product(input.dims(), axis, end);
  view.inner = Product(input.dims(), end, rank);
  return absl::OkStatus();
}

// NaN where there is one.
template <typename T>
T MaxOf(const T* x, int64_t n) {
  constexpr int64_t kWorthwhile = 16;
  T max = x[0];
  if (n >= kWorthwhile && GetReduceLoops<T>().greatest(x, n, max)) return max;
  for (int64_t i = 0; i < n; ++i) max = max > x[i] || max != max ? max : x[i];
  return max;
}

// out = e^(x - shift); returns the sum.
double ExpSum(const float* x, float shift, float* out, int64_t n) {
  return vector_math::ExpSum(x, shift, out, n);
}
double ExpSum(const double* x, double shift, double* out, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += out[i] = std::exp(x[i] - shift);
  return sum;
}

// A row in two steps: `out` becomes e^(x - max), then Row::Finish makes the result of it. Short
// rows take the steps together.
template <typename Row>
struct ExpRow {
  template <typename T>
  void operator()(const T* x, T* out, int64_t n) const {
    const T max = MaxOf(x, n);
    double sum = ExpSum(x, max, out, n);
    Row::Finish(x, &max, &sum, out, 1, n);
  }
  void Rows(const float* x, float* out, int64_t rows, int64_t n) const {
    constexpr int64_t kRows = 32;
    if (n >= vector_math::kShortRow) {
      for (int64_t r = 0; r < rows; ++r) (*this)(x + r * n, out + r * n, n);
      return;
    }
    float max[kRows];
    double sums[kRows];
    for (int64_t row = 0; row < rows; row += kRows) {
      const int64_t some = std::min(kRows, rows - row);
      const float* const from = x + row * n;
      float* const to = out + row * n;
      softmax_kernels::GreatestOfRows(from, max, some, n);
      vector_math::ExpSums(from, max, to, sums, some, n);
      Row::Finish(from, max, sums, to, some, n);
      for (int64_t r = 0; r < some; ++r) {
        if (std::isnan(sums[r])) (*this)(from + r * n, to + r * n, n);  // of NaN, or of infinity
      }
    }
  }
};
struct SoftmaxRow : ExpRow<SoftmaxRow> {
  template <typename T>
  static void Finish(const T* /*x*/, const T* /*max*/, double* sums, T* out, int64_t rows,
                     int64_t n) {
    if constexpr (std::is_same_v<T, float>) {
      softmax_kernels::DivideRows(out, sums, rows, n);
    } else {
      for (int64_t i = 0; i < n; ++i) out[i] /= *sums;
    }
  }
};
struct LogSoftmaxRow : ExpRow<LogSoftmaxRow> {
  // `sums` become their logarithms, but for NaN.
  template <typename T>
  static void Finish(const T* x, const T* max, double* sums, T* out, int64_t rows, int64_t n) {
    for (int64_t r = 0; r < rows; ++r) sums[r] = std::log(sums[r]);
    if constexpr (std::is_same_v<T, float>) {
      softmax_kernels::SubtractFromRows(x, max, sums, out, rows, n);
    } else {
      for (int64_t i = 0; i < n; ++i) out[i] = x[i] - *max - *sums;
    }
  }
};
struct HardmaxRow {  // 1 at the first maximum
  template <typename T>
  void operator()(const T* x, T* out, int64_t n) const {
    const T max = MaxOf(x, n);
    std::fill_n(out, n, T{0});
    for (int64_t i = 0; i < n; ++i) {
      if (x[i] == max || (max != max && x[i] != x[i])) {
        out[i] = 1;
        return;
      }
    }
  }
};

template <typename Row>
absl::Status RunSoftmax(const SoftmaxAttributes& attributes, KernelContext& context) {
  AxisView view;
  RETURN_IF_ERROR(SetView(attributes, context.input(0), view));
  return RunRows<Floats>(context, view, Row());
}

constexpr auto kKernels =
    KernelTable(Rows<ParseSoftmax, RunSoftmax<SoftmaxRow>>("Softmax", 1, 11, 13),
                Rows<ParseSoftmax, RunSoftmax<LogSoftmaxRow>>("LogSoftmax", 1, 11, 13),
                Rows<ParseSoftmax, RunSoftmax<HardmaxRow>>("Hardmax", 1, 11, 13));

}  // namespace

absl::Span<const KernelDef> SoftmaxKernels() { return kKernels; }

}  // namespace onnx_run
