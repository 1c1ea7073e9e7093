// The innermost loops of matrix products and convolutions, compiled once for each instruction set.
//
// Each element of a result is a sum in an order that depends on the length of the sum alone, not on
// where the element lies in a tile: any split of the work gives the same bits. What differs between
// instruction sets is the width of the lanes and whether a product is rounded before it is added.
#ifndef ONNX_RUN_OPS_GEMM_KERNELS_H_
#define ONNX_RUN_OPS_GEMM_KERNELS_H_

#include <cstdint>

namespace onnx_run {

inline constexpr int kMaxTileRows = 12;
inline constexpr int kMaxTileColumns = 32;

// What is done with a tile's sums.
enum class TileStore : uint8_t {
  kSet,  // c = sum, plus the row's bias when there is one
  kAdd,  // c += sum
};

// One tile of `rows` x tile_columns: sums over k of a[k][row] * b[k][column]. `a` is packed: `rows`
// elements for each k. Row k of b is at b + k * b_stride, tile_columns elements of it are read.
// Of c, `columns` columns are written.
template <typename T>
struct GemmTile {
  const T* a;
  const T* b;
  int64_t b_stride;
  int64_t k;
  T* c;
  int64_t c_stride;
  int columns;
  TileStore store;
  const T* row_bias;  // of kSet; may be nullptr
};

// Up to 4 x 4 sums over k of a[row][k] * b[column][k].
template <typename T>
struct DotTile {
  const T* a;
  int64_t a_stride;
  const T* b;
  int64_t b_stride;
  int64_t k;
  T* c;
  int64_t c_stride;
  const T* row_bias;  // may be nullptr
};

// A row of a depthwise convolution whose input has been laid out so that neighbours in the output
// read neighbours in the input: out[i] = bias + sum over taps of weight[t] * base[distance[t] + i].
template <typename T>
struct TapsRow {
  const T* base;
  const int64_t* distances;
  const T* weights;
  int count;
  T bias;
  T* out;
  int64_t n;
};

template <typename T>
struct GemmKernels {
  int tile_rows;     // most rows of a tile
  int tile_columns;  // columns of every tile
  // The most rows <= `left` that there is a tile for.
  int (*rows_of)(int64_t left);
  void (*tile)(const GemmTile<T>& tile, int rows);
  // `rows` and `columns` are in 1..4.
  void (*dot)(const DotTile<T>& tile, int rows, int columns);
  void (*taps)(const TapsRow<T>& row);
};

// For T float, double and int32_t (whose products and sums wrap).
template <typename T>
const GemmKernels<T>& GetGemmKernels();

}  // namespace onnx_run

#endif  // ONNX_RUN_OPS_GEMM_KERNELS_H_
