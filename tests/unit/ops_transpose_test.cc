// TransposeMatrix against indices: every width and instruction set, sizes around those of vectors,
// rows apart and rows that take turns.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "ops/transpose_kernels.h"
#include "tests/unit/target_test_util.h"

namespace onnx_run {
namespace {

template <typename T>
void ExpectTransposes(int64_t rows, int64_t columns, int64_t from_gap, int64_t to_gap) {
  const int64_t from_stride = rows + from_gap;
  const int64_t to_stride = columns + to_gap;
  std::vector<T> from(static_cast<size_t>(from_stride * columns));
  for (size_t i = 0; i < from.size(); ++i) {
    from[i] = static_cast<T>(uint64_t{i} * 0x9E3779B97F4A7C15U >> 8);
  }
  constexpr T kUntouched = 77;
  std::vector<T> to(static_cast<size_t>(to_stride * rows), kUntouched);
  std::vector<T> expected = to;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) expected[r * to_stride + c] = from[c * from_stride + r];
  }
  TransposeMatrix(from.data(), from_stride, to.data(), to_stride, rows, columns);
  ASSERT_EQ(to, expected) << rows << " x " << columns << " of " << sizeof(T) << " bytes, gaps "
                          << from_gap << " and " << to_gap;
}

template <typename T>
void ExpectAllSizes() {
  for (const int64_t rows : {1, 2, 3, 4, 5, 8, 15, 16, 17, 33, 70, 300}) {
    for (const int64_t columns : {1, 2, 3, 4, 7, 8, 9, 16, 31, 32, 67, 130, 270}) {
      ASSERT_NO_FATAL_FAILURE(ExpectTransposes<T>(rows, columns, 0, 0));
      ASSERT_NO_FATAL_FAILURE(ExpectTransposes<T>(rows, columns, 3, 0));
      ASSERT_NO_FATAL_FAILURE(ExpectTransposes<T>(rows, columns, 0, 5));
    }
  }
}

TEST(TransposeMatrix, EveryWidthAndSize) {
  ForEachTarget([] {
    ExpectAllSizes<uint8_t>();
    ExpectAllSizes<uint16_t>();
    ExpectAllSizes<uint32_t>();
    ExpectAllSizes<uint64_t>();
  });
}

}  // namespace
}  // namespace onnx_run
