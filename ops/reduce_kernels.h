// The inner loops of reductions of floats, compiled once for each instruction set. Every one
// accumulates in the order that reduce_engine.h has for all types: the bits are the same.
#ifndef ONNX_RUN_OPS_REDUCE_KERNELS_H_
#define ONNX_RUN_OPS_REDUCE_KERNELS_H_

#include <cstdint>

namespace onnx_run {

// What is summed of an element.
enum class Term : uint8_t { kElement, kSquare, kMagnitude };
inline constexpr int kTerms = 3;

template <typename T>
struct ReduceLoops {
  static constexpr int kRows = 8;
  static constexpr int64_t kShortRow = 16;

  // The sum, in double, of the terms of x: in 16 lanes, merged by halves.
  double (*sum[kTerms])(const T* x, int64_t n);
  // sums[i] += the terms of rows[0][i], then of rows[1][i], ...: `count` rows, at most kRows.
  void (*add_rows[kTerms])(const T* const* rows, int count, double* sums, int64_t n);
  // The greatest element, or the least; of equal ones (zeros of both signs) the last in the order
  // of accumulation. False when one is NaN: `extreme` is none of them then.
  bool (*greatest)(const T* x, int64_t n, T& extreme);
  bool (*least)(const T* x, int64_t n, T& extreme);
  // The index of the first element, or the last, that is `value`; there is one.
  int64_t (*find_first)(const T* x, int64_t n, T value);
  int64_t (*find_last)(const T* x, int64_t n, T value);
  // The indices of the greatest elements of rows of n < kShortRow, one behind the other, or of the
  // least: the first ones, or the last. -1 for a row that has NaN.
  void (*find_greatest)(const T* x, int64_t rows, int64_t n, bool last, int64_t* indices);
  void (*find_least)(const T* x, int64_t rows, int64_t n, bool last, int64_t* indices);
  // The sum of (x - shift)^2 in 8 lanes, added up in order after what is left over.
  double (*sum_of_squares)(const T* x, int64_t n, double shift);
};

// For T float and double.
template <typename T>
const ReduceLoops<T>& GetReduceLoops();

}  // namespace onnx_run

#endif  // ONNX_RUN_OPS_REDUCE_KERNELS_H_
