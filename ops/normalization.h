// Sums over rows, and scales and biases beside them, shared by the normalisations.
#ifndef ONNX_RUN_OPS_NORMALIZATION_H_
#define ONNX_RUN_OPS_NORMALIZATION_H_

#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"
#include "ops/reduce_engine.h"
#include "ops/reduce_kernels.h"
#include "runtime/kernel.h"
#include "runtime/tensor.h"

namespace onnx_run {

inline constexpr int64_t kNormalizationGrain = 16384;

// Mean and variance in double, each pass a pairwise sum.
struct Moments {
  double mean;
  double variance;  // of the population
};

namespace normalization_internal {

template <typename T>
struct Summing {
  using Sum = double;
  static Sum Identity() { return 0; }
  static void Add(Sum& sum, T x) { sum += x; }
  static void Merge(Sum& sum, Sum other) { sum += other; }
  static bool Block(const T* x, int64_t n, Sum& sum) {
    sum = GetReduceLoops<T>().sum[static_cast<int>(Term::kElement)](x, n);
    return true;
  }
};

}  // namespace normalization_internal

template <typename T>
double SumOf(const T* x, int64_t n) {
  return reduce_internal::ReduceRow<normalization_internal::Summing<T>>(x, n);
}

// Sum of (x - shift)^2.
template <typename T>
double SumOfSquares(const T* x, int64_t n, double shift) {
  return GetReduceLoops<T>().sum_of_squares(x, n, shift);
}

template <typename T>
Moments MomentsOf(const T* x, int64_t n) {
  const double mean = SumOf(x, n) / static_cast<double>(n);
  return {mean, SumOfSquares(x, n, mean) / static_cast<double>(n)};
}

// A numeric tensor as doubles, which must be a vector of `n`. InvalidArgument.
absl::StatusOr<Tensor> ReadVector(KernelContext& context, const Tensor& tensor, int64_t n,
                                  absl::string_view name);

}  // namespace onnx_run

#endif  // ONNX_RUN_OPS_NORMALIZATION_H_
