// Reductions of floats by vectors, against the order of accumulation that reduce_engine.h has for
// all types: the same bits, for each instruction set.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/reduce_kernels.h"
#include "tests/unit/ops_test_util.h"
#include "tests/unit/target_test_util.h"

namespace onnx_run {
namespace {

constexpr int64_t kLengths[] = {1,  2,  7,  8,  9,  15, 16,  17,  24,   31,  32,
                                33, 47, 48, 63, 64, 65, 100, 255, 1000, 4096};

template <typename T>
uint64_t BitsOfFloat(T value) {
  if constexpr (sizeof(T) == 4) return std::bit_cast<uint32_t>(value);
  return std::bit_cast<uint64_t>(static_cast<double>(value));
}

// Numbers of many magnitudes, so that the order of additions shows.
template <typename T>
std::vector<T> Numbers(int64_t n, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<T> x(static_cast<size_t>(n));
  for (T& value : x) {
    value = static_cast<T>(std::ldexp(static_cast<double>(static_cast<int32_t>(random())),
                                      static_cast<int>(random() % 90) - 75));
  }
  return x;
}

double TermOf(Term term, double x) {
  return term == Term::kElement ? x : term == Term::kSquare ? x * x : std::abs(x);
}

template <typename T>
double PlainSum(Term term, const T* x, int64_t n) {
  double sum = 0;
  int64_t i = 0;
  if (n >= 16) {
    double lanes[16] = {};
    for (; i + 16 <= n; i += 16) {
      for (int j = 0; j < 16; ++j) lanes[j] += TermOf(term, x[i + j]);
    }
    for (int width = 8; width > 0; width /= 2) {
      for (int j = 0; j < width; ++j) lanes[j] += lanes[j + width];
    }
    sum = lanes[0];
  }
  for (; i < n; ++i) sum += TermOf(term, x[i]);
  return sum;
}

template <typename T>
double PlainSumOfSquares(const T* x, int64_t n, double shift) {
  double lanes[8] = {};
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double distance = x[i] - shift;
    (i < n / 8 * 8 ? lanes[i % 8] : sum) += distance * distance;
  }
  for (const double lane : lanes) sum += lane;
  return sum;
}

template <typename T>
void ExpectSums() {
  const ReduceLoops<T>& loops = GetReduceLoops<T>();
  const std::vector<T> x = Numbers<T>(10 * 4200, 1);
  for (const int64_t n : kLengths) {
    for (const int64_t begin : {0, 1, 5}) {
      for (int term = 0; term < kTerms; ++term) {
        ASSERT_EQ(loops.sum[term](x.data() + begin, n), PlainSum(Term(term), x.data() + begin, n))
            << n;
        for (const int count : {1, 2, 7, 8}) {
          std::vector<double> sums(x.begin() + 7, x.begin() + 7 + n);
          std::vector<double> expected = sums;
          const T* rows[8];
          for (int r = 0; r < count; ++r) {
            rows[r] = x.data() + begin + r * (n + 1);
            for (int64_t i = 0; i < n; ++i) expected[i] += TermOf(Term(term), rows[r][i]);
          }
          loops.add_rows[term](rows, count, sums.data(), n);
          ASSERT_EQ(sums, expected) << n << " columns, " << count << " rows";
        }
      }
      for (const double shift : {0.0, 1.0 / 3}) {
        ASSERT_EQ(loops.sum_of_squares(x.data() + begin, n, shift),
                  PlainSumOfSquares(x.data() + begin, n, shift));
      }
    }
  }
}

TEST(ReduceKernels, SumsInTheSameOrder) {
  ForEachTarget([] {
    ExpectSums<float>();
    ExpectSums<double>();
  });
}

template <typename T>
T PlainExtreme(bool greatest, const T* x, int64_t n) {
  const auto merge = [greatest](T& best, T value) {
    best = (greatest ? best > value : best < value) ? best : value;
  };
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  T best = greatest ? -kInfinity : kInfinity;
  int64_t i = 0;
  if (n >= 16) {
    T lanes[16];
    std::fill_n(lanes, 16, best);
    for (; i + 16 <= n; ++i) merge(lanes[i % 16], x[i]);
    for (; i % 16 != 0; ++i) merge(lanes[i % 16], x[i]);
    for (int width = 8; width > 0; width /= 2) {
      for (int j = 0; j < width; ++j) merge(lanes[j], lanes[j + width]);
    }
    best = lanes[0];
  }
  for (; i < n; ++i) merge(best, x[i]);
  return best;
}

// The rows lie at the end of their memory.
template <typename T>
void ExpectFindsExtremes() {
  const ReduceLoops<T>& loops = GetReduceLoops<T>();
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  std::mt19937 random(6);
  for (int64_t n = 1; n < loops.kShortRow; ++n) {
    for (const int64_t rows : {1, 2, 3, 9, 40}) {
      std::vector<T> x(rows * n);
      for (T& value : x) value = static_cast<T>(static_cast<int>(random() % 7) - 3);
      std::fill_n(x.begin(), n, -T(0));
      x[n / 2] = 0;
      if (rows > 2) std::fill_n(x.begin() + n, n, -kInfinity);
      if (rows > 2) std::fill_n(x.begin() + 2 * n, n, kInfinity);
      if (rows > 3) x[4 * n - 1] = std::numeric_limits<T>::quiet_NaN();
      for (const bool greatest : {true, false}) {
        for (const bool last : {true, false}) {
          std::vector<int64_t> indices(rows, -2), expected;
          for (int64_t r = 0; r < rows; ++r) {
            int64_t best = 0;
            bool nan = false;
            for (int64_t i = 0; i < n; ++i) {
              const T value = x[r * n + i];
              const T so_far = x[r * n + best];
              nan |= std::isnan(value);
              if ((greatest ? value > so_far : value < so_far) || (last && value == so_far))
                best = i;
            }
            expected.push_back(nan ? -1 : best);
          }
          (greatest ? loops.find_greatest : loops.find_least)(x.data(), rows, n, last,
                                                              indices.data());
          ASSERT_EQ(indices, expected) << rows << " rows of " << n;
        }
      }
    }
  }
}

TEST(ReduceKernels, FindsExtremesOfShortRows) {
  ForEachTarget([] {
    ExpectFindsExtremes<float>();
    ExpectFindsExtremes<double>();
  });
}

template <typename T>
void ExpectExtremes() {
  constexpr T kNan = std::numeric_limits<T>::quiet_NaN();
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  const ReduceLoops<T>& loops = GetReduceLoops<T>();
  std::mt19937 random(5);
  for (const int64_t n : kLengths) {
    for (int round = 0; round < 8; ++round) {
      std::vector<T> x = Numbers<T>(n, static_cast<uint32_t>(n * 8 + round));
      if (round % 4 == 1) {  // zeros of both signs
        for (T& value : x) value = random() % 2 == 0 ? T(0) : -T(0);
      } else if (round % 4 == 2) {  // many that are equal
        for (T& value : x) value = static_cast<T>(random() % 3);
      } else if (round % 4 == 3) {
        for (T& value : x) value = random() % 2 == 0 ? kInfinity : -kInfinity;
      }
      for (const bool greatest : {true, false}) {
        T extreme = 0;
        ASSERT_TRUE((greatest ? loops.greatest : loops.least)(x.data(), n, extreme));
        ASSERT_EQ(BitsOfFloat(extreme), BitsOfFloat(PlainExtreme(greatest, x.data(), n))) << n;
        ASSERT_EQ(loops.find_first(x.data(), n, extreme),
                  std::find(x.begin(), x.end(), extreme) - x.begin());
        ASSERT_EQ(loops.find_last(x.data(), n, extreme),
                  n - 1 - (std::find(x.rbegin(), x.rend(), extreme) - x.rbegin()));
      }
    }
    for (const int64_t at : {int64_t{0}, n / 2, n - 1}) {
      std::vector<T> x = Numbers<T>(n, 3);
      x[at] = kNan;
      T extreme = 0;
      ASSERT_FALSE(loops.greatest(x.data(), n, extreme));
      ASSERT_FALSE(loops.least(x.data(), n, extreme));
    }
  }
}

TEST(ReduceKernels, ExtremesOfEqualOnesAndNan) {
  ForEachTarget([] {
    ExpectExtremes<float>();
    ExpectExtremes<double>();
  });
}

// By the operators: NaN wins, the first or the last of equal ones is named.
TEST(ReduceKernels, ByTheOperators) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  Tensor x = Tensor::Create(ElementType::kFloat, {3, 40}).value();
  float* data = x.mutable_data_as<float>();
  for (int i = 0; i < 120; ++i) data[i] = static_cast<float>(i % 40 % 7);
  data[40 + 20] = data[40 + 30] = kNan;
  data[80 + 3] = -1;
  const Tensor axis = Int64Tensor({1}, {1});
  const auto max = ElementsOf<float>(RunOp("ReduceMax", 20, {x, axis}));
  ASSERT_EQ(max.size(), 3);
  EXPECT_EQ(max[0], 6);
  EXPECT_TRUE(std::isnan(max[1]));
  EXPECT_EQ(max[2], 6);
  const auto min = ElementsOf<float>(RunOp("ReduceMin", 20, {x, axis}));
  ASSERT_EQ(min.size(), 3);
  EXPECT_EQ(min[0], 0);
  EXPECT_TRUE(std::isnan(min[1]));
  EXPECT_EQ(min[2], -1);
  const auto arg = [&](const char* op, int64_t last) {
    return ElementsOf<int64_t>(
        RunOp(op, 13, {x}, {IntAttr("axis", 1), IntAttr("select_last_index", last)}));
  };
  EXPECT_THAT(arg("ArgMax", 0), ::testing::ElementsAre(6, 20, 6));
  EXPECT_THAT(arg("ArgMax", 1), ::testing::ElementsAre(34, 30, 34));
  EXPECT_THAT(arg("ArgMin", 0), ::testing::ElementsAre(0, 20, 3));
  EXPECT_THAT(arg("ArgMin", 1), ::testing::ElementsAre(35, 30, 3));
}

}  // namespace
}  // namespace onnx_run
