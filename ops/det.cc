// Det: by elimination with row exchanges, in double, rounded once.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/dispatch.h"
#include "ops/families.h"
#include "ops/kernel_table.h"
#include "runtime/status_macros.h"

namespace onnx_run {
namespace {

// Destroys the n x n matrix.
double Determinant(double* matrix, int64_t n) {
  double determinant = 1;
  for (int64_t column = 0; column < n; ++column) {
    int64_t pivot = column;
    for (int64_t row = column + 1; row < n; ++row) {
      if (std::abs(matrix[row * n + column]) > std::abs(matrix[pivot * n + column])) pivot = row;
    }
    if (pivot != column) {
      std::swap_ranges(matrix + pivot * n, matrix + (pivot + 1) * n, matrix + column * n);
      determinant = -determinant;
    }
    const double* top = matrix + column * n;
    determinant *= top[column];
    if (top[column] == 0) return determinant;
    for (int64_t row = column + 1; row < n; ++row) {
      double* x = matrix + row * n;
      const double factor = x[column] / top[column];
      for (int64_t i = column + 1; i < n; ++i) x[i] -= factor * top[i];
    }
  }
  return determinant;
}

absl::Status Det(KernelContext& context) {
  const Tensor& in = context.input(0);
  const int rank = in.rank();
  if (rank < 2 || in.dim(rank - 1) != in.dim(rank - 2)) {
    return absl::InvalidArgumentError(
        absl::StrCat("X is ", TypeAndDims(in), ", expected square matrices"));
  }
  const int64_t n = in.dim(rank - 1);
  Tensor x;
  if (in.type() == ElementType::kDouble) {
    ASSIGN_OR_RETURN(x, in.Clone(context.pool()));
  } else {
    ASSIGN_OR_RETURN(x, ConvertTensor(context, in, ElementType::kDouble));
  }
  ASSIGN_OR_RETURN(Tensor result, context.Allocate(ElementType::kDouble,
                                                   absl::MakeSpan(in.dims()).subspan(0, rank - 2)));
  double* out = result.mutable_data_as<double>();
  const int64_t size = std::min<int64_t>(n, 32);
  context.ParallelFor(result.size(), std::max<int64_t>(1, 32768 / (size * size * size + 1)),
                      [&](int64_t begin, int64_t end) {
                        for (int64_t i = begin; i < end; ++i) {
                          out[i] = Determinant(x.mutable_data_as<double>() + i * n * n, n);
                        }
                      });
  return SetOutputNarrowed(context, 0, std::move(result), in.type());
}

constexpr auto kKernels = KernelTable(Rows<Det>("Det", 11, 22));

}  // namespace

absl::Span<const KernelDef> DetKernels() { return kKernels; }

}  // namespace onnx_run
