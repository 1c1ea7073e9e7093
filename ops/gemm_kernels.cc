// See gemm_kernels.h. Highway compiles this file once for each instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/gemm_kernels.cc"
// Two are enough beside the one that every machine has.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include <cstdint>
#include <type_traits>

#include "ops/gemm_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace onnx_run::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// 32 vector registers hold 24 sums, 16 hold 12; the rest is for a row of b and an element of a.
constexpr int kTileRows = HWY_TARGET <= HWY_AVX3 ? 12 : 6;

template <class V>
HWY_INLINE HWY_ATTR V MultiplyAdd(V a, V b, V sum) {
  if constexpr (std::is_floating_point_v<hn::TFromV<V>>) {
    return hn::MulAdd(a, b, sum);
  } else {
    return hn::Add(hn::Mul(a, b), sum);
  }
}

template <typename T>
HWY_INLINE HWY_ATTR T ScalarMultiplyAdd(T a, T b, T sum) {
  if constexpr (std::is_floating_point_v<T>) {
    return a * b + sum;
  } else {
    return static_cast<T>(static_cast<uint32_t>(a) * static_cast<uint32_t>(b) +
                          static_cast<uint32_t>(sum));
  }
}
template <typename T>
HWY_INLINE HWY_ATTR T ScalarAdd(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return a + b;
  } else {
    return static_cast<T>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
  }
}

template <int kRows, typename T>
HWY_ATTR void RunTile(const GemmTile<T>& tile) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  V left[kRows];
  V right[kRows];
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
    left[r] = hn::Zero(d);
    right[r] = hn::Zero(d);
  }
  const T* a = tile.a;
  const T* b = tile.b;
  for (int64_t k = tile.k; k > 0; --k) {
    const V b0 = hn::LoadU(d, b);
    const V b1 = hn::LoadU(d, b + lanes);
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
      const V x = hn::Set(d, a[r]);
      left[r] = MultiplyAdd(x, b0, left[r]);
      right[r] = MultiplyAdd(x, b1, right[r]);
    }
    a += kRows;
    b += tile.b_stride;
  }
  if (tile.store == TileStore::kSet && tile.row_bias != nullptr) {
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
      const V bias = hn::Set(d, tile.row_bias[r]);
      left[r] = hn::Add(left[r], bias);
      right[r] = hn::Add(right[r], bias);
    }
  }
  const bool add = tile.store == TileStore::kAdd;
  if (tile.columns == 2 * lanes) {
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
      T* c = tile.c + r * tile.c_stride;
      if (add) {
        left[r] = hn::Add(hn::LoadU(d, c), left[r]);
        right[r] = hn::Add(hn::LoadU(d, c + lanes), right[r]);
      }
      hn::StoreU(left[r], d, c);
      hn::StoreU(right[r], d, c + lanes);
    }
    return;
  }
  HWY_ALIGN T edge[2 * kRows * HWY_MAX_BYTES / sizeof(T)];
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
    hn::Store(left[r], d, edge + 2 * r * lanes);
    hn::Store(right[r], d, edge + (2 * r + 1) * lanes);
  }
  for (int r = 0; r < kRows; ++r) {
    T* c = tile.c + r * tile.c_stride;
    const T* row = edge + 2 * r * lanes;
    for (int i = 0; i < tile.columns; ++i) c[i] = add ? ScalarAdd(c[i], row[i]) : row[i];
  }
}

int RowsOf(int64_t left) {
  if (left >= kTileRows) return kTileRows;
  if constexpr (kTileRows > 6) {
    if (left >= 8) return 8;
  }
  return left >= 6 ? 6 : left >= 4 ? 4 : left >= 2 ? 2 : 1;
}

template <typename T>
void Tile(const GemmTile<T>& tile, int rows) {
  switch (rows) {
    case 1: return RunTile<1>(tile);
    case 2: return RunTile<2>(tile);
    case 4: return RunTile<4>(tile);
    case 6: return RunTile<6>(tile);
    default:
      if constexpr (kTileRows > 6) return rows == 8 ? RunTile<8>(tile) : RunTile<kTileRows>(tile);
  }
}

template <int kRows, int kColumns, typename T>
HWY_ATTR void RunDot(const DotTile<T>& tile) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  V sums[kRows * kColumns];
#pragma GCC unroll 16
  for (int i = 0; i < kRows * kColumns; ++i) sums[i] = hn::Zero(d);
  int64_t k = 0;
  for (; k + lanes <= tile.k; k += lanes) {
    V b[kColumns];
#pragma GCC unroll 4
    for (int j = 0; j < kColumns; ++j) b[j] = hn::LoadU(d, tile.b + j * tile.b_stride + k);
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const V a = hn::LoadU(d, tile.a + r * tile.a_stride + k);
#pragma GCC unroll 4
      for (int j = 0; j < kColumns; ++j) {
        sums[r * kColumns + j] = MultiplyAdd(a, b[j], sums[r * kColumns + j]);
      }
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int j = 0; j < kColumns; ++j) {
      T sum = hn::GetLane(hn::SumOfLanes(d, sums[r * kColumns + j]));
      for (int64_t i = k; i < tile.k; ++i) {
        sum = ScalarMultiplyAdd(tile.a[r * tile.a_stride + i], tile.b[j * tile.b_stride + i], sum);
      }
      if (tile.row_bias != nullptr) sum = ScalarAdd(sum, tile.row_bias[r]);
      tile.c[r * tile.c_stride + j] = sum;
    }
  }
}

template <int kRows, typename T>
void DotColumns(const DotTile<T>& tile, int columns) {
  switch (columns) {
    case 1: return RunDot<kRows, 1>(tile);
    case 2: return RunDot<kRows, 2>(tile);
    case 3: return RunDot<kRows, 3>(tile);
    default: return RunDot<kRows, 4>(tile);
  }
}

template <typename T>
void Dot(const DotTile<T>& tile, int rows, int columns) {
  switch (rows) {
    case 1: return DotColumns<1>(tile, columns);
    case 2: return DotColumns<2>(tile, columns);
    case 3: return DotColumns<3>(tile, columns);
    default: return DotColumns<4>(tile, columns);
  }
}

// kVectors neighbouring vectors from element i on. Even and odd taps are summed apart: twice as
// many sums under way at a time.
template <int kVectors, class D, typename T = hn::TFromD<D>>
HWY_ATTR void RunTaps(D d, const TapsRow<T>& row, int64_t i) {
  using V = hn::Vec<D>;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const T* base = row.base + i;
  V even[kVectors];
  V odd[kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    even[v] = hn::Zero(d);
    odd[v] = hn::Zero(d);
  }
  int t = 0;
  for (; t + 2 <= row.count; t += 2) {
    const T* x0 = base + row.distances[t];
    const T* x1 = base + row.distances[t + 1];
    const V w0 = hn::Set(d, row.weights[t]);
    const V w1 = hn::Set(d, row.weights[t + 1]);
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      even[v] = MultiplyAdd(w0, hn::LoadU(d, x0 + v * lanes), even[v]);
      odd[v] = MultiplyAdd(w1, hn::LoadU(d, x1 + v * lanes), odd[v]);
    }
  }
  if (t < row.count) {
    const T* x = base + row.distances[t];
    const V w = hn::Set(d, row.weights[t]);
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      even[v] = MultiplyAdd(w, hn::LoadU(d, x + v * lanes), even[v]);
    }
  }
  const V bias = hn::Set(d, row.bias);
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    hn::StoreU(hn::Add(hn::Add(even[v], odd[v]), bias), d, row.out + i + v * lanes);
  }
}

template <typename T>
HWY_ATTR void Taps(const TapsRow<T>& row) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + 4 * lanes <= row.n; i += 4 * lanes) RunTaps<4>(d, row, i);
  if (i == row.n) return;
  // The rest by whole vectors, some elements of it again where there is room to go back.
  const int64_t rest = (row.n - i + lanes - 1) / lanes;
  if (row.n >= rest * lanes) {
    i = row.n - rest * lanes;
    if (rest == 1) return RunTaps<1>(d, row, i);
    if (rest == 2) return RunTaps<2>(d, row, i);
    if (rest == 3) return RunTaps<3>(d, row, i);
    return RunTaps<4>(d, row, i);
  }
  for (; i + lanes <= row.n; i += lanes) RunTaps<1>(d, row, i);
  for (; i < row.n; ++i) RunTaps<1>(hn::CappedTag<T, 1>(), row, i);
}

template <typename T>
GemmKernels<T> MakeKernels() {
  return {kTileRows, static_cast<int>(2 * hn::Lanes(hn::ScalableTag<T>())),
          &RowsOf,   &Tile<T>,
          &Dot<T>,   &Taps<T>};
}

}  // namespace

void MakeFloatKernels(GemmKernels<float>& kernels) { kernels = MakeKernels<float>(); }
void MakeDoubleKernels(GemmKernels<double>& kernels) { kernels = MakeKernels<double>(); }
void MakeIntKernels(GemmKernels<int32_t>& kernels) { kernels = MakeKernels<int32_t>(); }

}  // namespace onnx_run::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace onnx_run {

HWY_EXPORT(MakeFloatKernels);
HWY_EXPORT(MakeDoubleKernels);
HWY_EXPORT(MakeIntKernels);

template <>
const GemmKernels<float>& GetGemmKernels<float>() {
  static const GemmKernels<float> kernels = [] {
    GemmKernels<float> result;
    HWY_DYNAMIC_DISPATCH(MakeFloatKernels)(result);
    return result;
  }();
  return kernels;
}
template <>
const GemmKernels<double>& GetGemmKernels<double>() {
  static const GemmKernels<double> kernels = [] {
    GemmKernels<double> result;
    HWY_DYNAMIC_DISPATCH(MakeDoubleKernels)(result);
    return result;
  }();
  return kernels;
}
template <>
const GemmKernels<int32_t>& GetGemmKernels<int32_t>() {
  static const GemmKernels<int32_t> kernels = [] {
    GemmKernels<int32_t> result;
    HWY_DYNAMIC_DISPATCH(MakeIntKernels)(result);
    return result;
  }();
  return kernels;
}

}  // namespace onnx_run
#endif  // HWY_ONCE
