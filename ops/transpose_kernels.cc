// See transpose_kernels.h. Highway compiles this file once for each instruction set.
//
// Squares of as many elements as a vector has are transposed in registers: first the blocks of 128
// bits by themselves, then the blocks as elements of a smaller square.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/transpose_kernels.cc"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL)
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include <algorithm>
#include <cstdint>

#include "ops/transpose_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace onnx_run::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
struct Matrix {
  const T* from;
  int64_t from_stride;
  T* to;
  int64_t to_stride;
  int64_t rows;
  int64_t columns;

  HWY_INLINE Matrix Part(int64_t row, int64_t column, int64_t row_count,
                         int64_t column_count) const {
    return {from + column * from_stride + row,
            from_stride,
            to + row * to_stride + column,
            to_stride,
            row_count,
            column_count};
  }
};

#if HWY_TARGET != HWY_SCALAR && !HWY_HAVE_SCALABLE

template <class V>
HWY_INLINE HWY_ATTR void TransposeBlocks(V (&)[1]) {}

template <class V>
HWY_INLINE HWY_ATTR void TransposeBlocks(V (&v)[2]) {
  const hn::DFromV<V> d;
  const V first = hn::ConcatLowerLower(d, v[1], v[0]);
  v[1] = hn::ConcatUpperUpper(d, v[1], v[0]);
  v[0] = first;
}

template <class V>
HWY_INLINE HWY_ATTR void TransposeBlocks(V (&v)[4]) {
  const hn::DFromV<V> d;
  const V even01 = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(v[1]), v[0]);
  const V odd01 = hn::OddEvenBlocks(v[1], hn::SwapAdjacentBlocks(v[0]));
  const V even23 = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(v[3]), v[2]);
  const V odd23 = hn::OddEvenBlocks(v[3], hn::SwapAdjacentBlocks(v[2]));
  v[0] = hn::ConcatLowerLower(d, even23, even01);
  v[1] = hn::ConcatLowerLower(d, odd23, odd01);
  v[2] = hn::ConcatUpperUpper(d, even23, even01);
  v[3] = hn::ConcatUpperUpper(d, odd23, odd01);
}

// One square of as many rows and columns as D has lanes.
template <class D, typename T>
HWY_INLINE HWY_ATTR void Square(D d, const T* from, int64_t from_stride, T* to, int64_t to_stride) {
  using V = hn::Vec<D>;
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(D()));
  constexpr int kGroup = std::min<int>(kLanes, 16 / sizeof(T));  // elements of a block
  constexpr int kBlocks = kLanes / kGroup;
  V v[kLanes];
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i) v[i] = hn::LoadU(d, from + i * from_stride);
    // Each round takes the place of an element, as a number, left by one bit around.
#pragma GCC unroll 4
  for (int group = 0; group < kLanes; group += kGroup) {
#pragma GCC unroll 4
    for (int round = 1; round < kGroup; round *= 2) {
      V next[kGroup];
#pragma GCC unroll 8
      for (int i = 0; i < kGroup / 2; ++i) {
        next[2 * i] = hn::InterleaveLower(d, v[group + i], v[group + i + kGroup / 2]);
        next[2 * i + 1] = hn::InterleaveUpper(d, v[group + i], v[group + i + kGroup / 2]);
      }
#pragma GCC unroll 16
      for (int i = 0; i < kGroup; ++i) v[group + i] = next[i];
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < kGroup; ++i) {
    V blocks[kBlocks];
#pragma GCC unroll 4
    for (int b = 0; b < kBlocks; ++b) blocks[b] = v[b * kGroup + i];
    TransposeBlocks(blocks);
#pragma GCC unroll 4
    for (int b = 0; b < kBlocks; ++b) {
      hn::StoreU(blocks[b], d, to + (b * kGroup + i) * to_stride);
    }
  }
}

// All by squares of kLanes, what is left by smaller ones.
template <int kLanes, typename T>
HWY_ATTR void BySquares(const Matrix<T>& m) {
  if constexpr (kLanes * sizeof(T) < 16) {
    for (int64_t r = 0; r < m.rows; ++r) {
      for (int64_t c = 0; c < m.columns; ++c) {
        m.to[r * m.to_stride + c] = m.from[c * m.from_stride + r];
      }
    }
  } else {
    const hn::CappedTag<T, kLanes> d;
    constexpr int64_t kSide = hn::MaxLanes(d);
    constexpr int kSmaller = kSide * sizeof(T) > 16 ? static_cast<int>(kSide / 2) : 1;
    // Along the source, which is then read ahead; not for too long, or each row of the destination
    // is a page that has to be found anew.
    constexpr int64_t kAlong = 256;
    const int64_t rows = m.rows / kSide * kSide;
    const int64_t columns = m.columns / kSide * kSide;
    for (int64_t begin = 0; begin < rows; begin += kAlong) {
      const int64_t end = std::min(rows, begin + kAlong);
      for (int64_t c = 0; c < columns; c += kSide) {
        for (int64_t r = begin; r < end; r += kSide) {
          Square(d, m.from + c * m.from_stride + r, m.from_stride, m.to + r * m.to_stride + c,
                 m.to_stride);
        }
      }
    }
    if (rows > 0 && columns < m.columns) {
      BySquares<kSmaller>(m.Part(0, columns, rows, m.columns - columns));
    }
    if (rows < m.rows) BySquares<kSmaller>(m.Part(rows, 0, m.rows - rows, m.columns));
  }
}

// 2, 3 or 4 rows whose elements take turns in the source. Returns how many columns are done.
template <typename T>
HWY_ATTR int64_t Deinterleave(const Matrix<T>& m) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<decltype(d)> v0, v1, v2, v3;
  int64_t c = 0;
  for (; c + lanes <= m.columns; c += lanes) {
    const T* from = m.from + c * m.rows;
    if (m.rows == 2) {
      hn::LoadInterleaved2(d, from, v0, v1);
    } else if (m.rows == 3) {
      hn::LoadInterleaved3(d, from, v0, v1, v2);
    } else {
      hn::LoadInterleaved4(d, from, v0, v1, v2, v3);
    }
    T* to = m.to + c;
    hn::StoreU(v0, d, to);
    hn::StoreU(v1, d, to + m.to_stride);
    if (m.rows > 2) hn::StoreU(v2, d, to + 2 * m.to_stride);
    if (m.rows > 3) hn::StoreU(v3, d, to + 3 * m.to_stride);
  }
  return c;
}

// 2, 3 or 4 columns whose elements take turns in the destination. Returns how many rows are done.
template <typename T>
HWY_ATTR int64_t Interleave(const Matrix<T>& m) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t r = 0;
  for (; r + lanes <= m.rows; r += lanes) {
    const T* from = m.from + r;
    T* to = m.to + r * m.columns;
    const auto v0 = hn::LoadU(d, from);
    const auto v1 = hn::LoadU(d, from + m.from_stride);
    if (m.columns == 2) {
      hn::StoreInterleaved2(v0, v1, d, to);
      continue;
    }
    const auto v2 = hn::LoadU(d, from + 2 * m.from_stride);
    if (m.columns == 3) {
      hn::StoreInterleaved3(v0, v1, v2, d, to);
    } else {
      hn::StoreInterleaved4(v0, v1, v2, hn::LoadU(d, from + 3 * m.from_stride), d, to);
    }
  }
  return r;
}

template <typename T>
HWY_ATTR void Transpose(const T* from, int64_t from_stride, T* to, int64_t to_stride, int64_t rows,
                        int64_t columns) {
  Matrix<T> m{from, from_stride, to, to_stride, rows, columns};
  const auto lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  if (rows >= 2 && rows <= 4 && from_stride == rows && columns >= lanes) {
    const int64_t done = Deinterleave(m);
    m = m.Part(0, done, rows, columns - done);
  } else if (columns >= 2 && columns <= 4 && to_stride == columns && rows >= lanes) {
    const int64_t done = Interleave(m);
    m = m.Part(done, 0, rows - done, columns);
  }
  // Squares that do not fit need not be tried.
  const int64_t side = std::min(m.rows, m.columns);
  if (side < 8) return BySquares<4>(m);
  if (side < 16) return BySquares<8>(m);
  BySquares<16>(m);
}

#else

template <typename T>
void Transpose(const T* from, int64_t from_stride, T* to, int64_t to_stride, int64_t rows,
               int64_t columns) {
  // In squares that stay in the cache.
  constexpr int64_t kSide = 16;
  for (int64_t row = 0; row < rows; row += kSide) {
    const int64_t row_end = std::min(rows, row + kSide);
    for (int64_t column = 0; column < columns; column += kSide) {
      const int64_t column_end = std::min(columns, column + kSide);
      for (int64_t r = row; r < row_end; ++r) {
        for (int64_t c = column; c < column_end; ++c)
          to[r * to_stride + c] = from[c * from_stride + r];
      }
    }
  }
}

#endif  // HWY_TARGET

template <typename T>
HWY_ATTR void TransposeAll(const T* from, int64_t from_stride, T* to, int64_t to_stride,
                           int64_t rows, int64_t columns, int64_t count, int64_t from_step,
                           int64_t to_step) {
  for (int64_t i = 0; i < count; ++i) {
    Transpose(from + i * from_step, from_stride, to + i * to_step, to_stride, rows, columns);
  }
}

}  // namespace

HWY_ATTR void Transpose8(const uint8_t* from, int64_t from_stride, uint8_t* to, int64_t to_stride,
                         int64_t rows, int64_t columns, int64_t count, int64_t from_step,
                         int64_t to_step) {
  TransposeAll(from, from_stride, to, to_stride, rows, columns, count, from_step, to_step);
}
HWY_ATTR void Transpose16(const uint16_t* from, int64_t from_stride, uint16_t* to,
                          int64_t to_stride, int64_t rows, int64_t columns, int64_t count,
                          int64_t from_step, int64_t to_step) {
  TransposeAll(from, from_stride, to, to_stride, rows, columns, count, from_step, to_step);
}
HWY_ATTR void Transpose32(const uint32_t* from, int64_t from_stride, uint32_t* to,
                          int64_t to_stride, int64_t rows, int64_t columns, int64_t count,
                          int64_t from_step, int64_t to_step) {
  TransposeAll(from, from_stride, to, to_stride, rows, columns, count, from_step, to_step);
}
HWY_ATTR void Transpose64(const uint64_t* from, int64_t from_stride, uint64_t* to,
                          int64_t to_stride, int64_t rows, int64_t columns, int64_t count,
                          int64_t from_step, int64_t to_step) {
  TransposeAll(from, from_stride, to, to_stride, rows, columns, count, from_step, to_step);
}

}  // namespace onnx_run::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace onnx_run {

HWY_EXPORT(Transpose8);
HWY_EXPORT(Transpose16);
HWY_EXPORT(Transpose32);
HWY_EXPORT(Transpose64);

void TransposeMatrix(const uint8_t* from, int64_t from_stride, uint8_t* to, int64_t to_stride,
                     int64_t rows, int64_t columns, int64_t count, int64_t from_step,
                     int64_t to_step) {
  HWY_DYNAMIC_DISPATCH(Transpose8)
  (from, from_stride, to, to_stride, rows, columns, count, from_step, to_step);
}
void TransposeMatrix(const uint16_t* from, int64_t from_stride, uint16_t* to, int64_t to_stride,
                     int64_t rows, int64_t columns, int64_t count, int64_t from_step,
                     int64_t to_step) {
  HWY_DYNAMIC_DISPATCH(Transpose16)
  (from, from_stride, to, to_stride, rows, columns, count, from_step, to_step);
}
void TransposeMatrix(const uint32_t* from, int64_t from_stride, uint32_t* to, int64_t to_stride,
                     int64_t rows, int64_t columns, int64_t count, int64_t from_step,
                     int64_t to_step) {
  HWY_DYNAMIC_DISPATCH(Transpose32)
  (from, from_stride, to, to_stride, rows, columns, count, from_step, to_step);
}
void TransposeMatrix(const uint64_t* from, int64_t from_stride, uint64_t* to, int64_t to_stride,
                     int64_t rows, int64_t columns, int64_t count, int64_t from_step,
                     int64_t to_step) {
  HWY_DYNAMIC_DISPATCH(Transpose64)
  (from, from_stride, to, to_stride, rows, columns, count, from_step, to_step);
}

}  // namespace onnx_run
#endif  // HWY_ONCE
