// Operators on few elements, or short rows, have ways of their own: the same bits as by the general
// ones, for each instruction set.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/normalization.h"
#include "ops/normalization_kernels.h"
#include "ops/plain_loops.h"
#include "ops/softmax_kernels.h"
#include "ops/vector_math.h"
#include "tests/unit/ops_test_util.h"
#include "tests/unit/target_test_util.h"

namespace onnx_run {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<float> Numbers(int64_t n, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> x(static_cast<size_t>(n));
  for (float& value : x) {
    value = std::ldexp(static_cast<float>(static_cast<int32_t>(random())),
                       static_cast<int>(random() % 12) - 36);
  }
  return x;
}

Tensor MakeTensor(absl::Span<const int64_t> dims, const std::vector<float>& x) {
  return Tensor::Of<float>(ElementType::kFloat, dims, x).value();
}

// NaN of any kind are the same.
std::vector<uint32_t> BitsOfAll(const std::vector<float>& x) {
  std::vector<uint32_t> bits;
  bits.reserve(x.size());
  for (const float value : x) {
    bits.push_back(std::isnan(value) ? ~uint32_t{0} : std::bit_cast<uint32_t>(value));
  }
  return bits;
}

TEST(ShortRows, ExpSumsAreThoseOfExpSum) {
  ForEachTarget([] {
    for (int64_t n = 1; n <= vector_math::kShortRow; ++n) {
      for (const int64_t rows : {1, 2, 3, 7, 33, 70}) {
        const std::vector<float> x = Numbers(rows * n, static_cast<uint32_t>(n));
        const std::vector<float> shifts = Numbers(rows, 2);
        std::vector<float> out(x.size()), expected(x.size());
        std::vector<double> sums(shifts.size()), expected_sums;
        vector_math::ExpSums(x.data(), shifts.data(), out.data(), sums.data(), rows, n);
        for (int64_t r = 0; r < rows; ++r) {
          expected_sums.push_back(
              vector_math::ExpSum(x.data() + r * n, shifts[r], expected.data() + r * n, n));
        }
        ASSERT_EQ(sums, expected_sums) << rows << " rows of " << n;
        ASSERT_EQ(out, expected) << rows << " rows of " << n;
      }
    }
  });
}

TEST(ShortRows, SoftmaxByDefinition) {
  for (const int64_t n : {1, 2, 5, 8, 9, 16, 31, 63, 64, 65}) {
    constexpr int64_t kRows = 37;
    std::vector<float> x = Numbers(kRows * n, 3);
    x[1 * n] = kNan;
    x[2 * n + n / 2] = kInfinity;
    x[3 * n + n - 1] = -kInfinity;
    std::fill_n(x.begin() + 4 * n, n, -kInfinity);
    std::vector<float> softmax(x.size()), log_softmax(x.size());
    for (int64_t r = 0; r < kRows; ++r) {
      const float* row = x.data() + r * n;
      float max = row[0];
      for (int64_t i = 0; i < n; ++i) max = max > row[i] || max != max ? max : row[i];
      float* out = softmax.data() + r * n;
      const double sum = vector_math::ExpSum(row, max, out, n);
      for (int64_t i = 0; i < n; ++i) {
        out[i] = static_cast<float>(out[i] / sum);
        log_softmax[r * n + i] =
            static_cast<float>(static_cast<double>(row[i]) - max - std::log(sum));
      }
    }
    const Tensor in = MakeTensor({kRows, n}, x);
    EXPECT_EQ(BitsOfAll(ElementsOf<float>(RunOp("Softmax", 13, {in}))), BitsOfAll(softmax)) << n;
    EXPECT_EQ(BitsOfAll(ElementsOf<float>(RunOp("LogSoftmax", 13, {in}))), BitsOfAll(log_softmax))
        << n;
  }
}

TEST(ShortRows, SoftmaxKernelsByDefinition) {
  std::mt19937 random(11);
  std::uniform_real_distribution<float> uniform(0, 1);
  constexpr int64_t kRows = 5;
  for (const int64_t n : {1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 23, 24, 40, 64, 100}) {
    const std::vector<float> x = Numbers(kRows * n, static_cast<uint32_t>(n));
    std::vector<float> e(x.size());
    for (float& value : e) value = uniform(random);
    e[0] = 0;
    e[n - 1] = 0x1p-149F;
    std::vector<double> sums(kRows);
    for (double& sum : sums) sum = 1 + 3 * static_cast<double>(uniform(random));
    // Two rows whose quotients lie where two floats are equally near, or beside it.
    const float quotient = uniform(random) / 4;
    const double middle = (static_cast<double>(quotient) + std::nextafter(quotient, 1.0F)) / 2;
    for (int64_t i = 0; i < n; ++i) e[n + i] = e[n] = 0.5F;
    sums[1] = e[n] / middle;
    for (int64_t i = 0; i < n; ++i) e[2 * n + i] = e[2 * n];
    sums[2] = std::max(1.0, std::nextafter(e[2 * n] / middle, 0.0));
    std::vector<float> greatest(kRows), divided(e.size()), subtracted(x.size());
    for (int64_t r = 0; r < kRows; ++r) {
      greatest[r] = *std::max_element(x.begin() + r * n, x.begin() + (r + 1) * n);
      for (int64_t i = r * n; i < (r + 1) * n; ++i) {
        divided[i] = static_cast<float>(e[i] / sums[r]);
        subtracted[i] = static_cast<float>(static_cast<double>(x[i]) - greatest[r] - sums[r]);
      }
    }
    ForEachTarget([&] {
      std::vector<float> found(kRows), quotients = e, differences(x.size());
      softmax_kernels::GreatestOfRows(x.data(), found.data(), kRows, n);
      ASSERT_EQ(found, greatest) << n;
      softmax_kernels::DivideRows(quotients.data(), sums.data(), kRows, n);
      ASSERT_EQ(quotients, divided) << n;
      softmax_kernels::SubtractFromRows(x.data(), greatest.data(), sums.data(), differences.data(),
                                        kRows, n);
      ASSERT_EQ(differences, subtracted) << n;
    });
  }
}

// As row by row, with and without bias and statistics.
template <typename T>
void ExpectNormalizes() {
  constexpr double kEpsilon = 1e-5;
  constexpr int64_t kRows = 19;
  for (int64_t n = 1; n < kShortNormalizedRow; ++n) {
    const std::vector<float> numbers = Numbers(kRows * n, static_cast<uint32_t>(n));
    const std::vector<float> factors = Numbers(n, 1);
    const std::vector<T> x(numbers.begin(), numbers.end());
    const std::vector<T> scale(factors.begin(), factors.end());
    const std::vector<double> wide(factors.begin(), factors.end());
    for (const bool biased : {false, true}) {
      for (const int64_t rows : {int64_t{1}, int64_t{8}, kRows}) {
        std::vector<T> out(rows * n), plain_out(rows * n), expected(rows * n);
        std::vector<double> means(rows), inverses(rows);
        ShortRows<T> all{x.data(),
                         out.data(),
                         rows,
                         n,
                         kEpsilon,
                         scale.data(),
                         biased ? scale.data() : nullptr,
                         means.data(),
                         inverses.data()};
        NormalizeShortRows(all);
        all.out = plain_out.data();
        all.means = all.factors = nullptr;
        NormalizeShortRows(all);
        for (int64_t r = 0; r < rows; ++r) {
          const Moments moments = MomentsOf(x.data() + r * n, n);
          const double factor = 1 / std::sqrt(moments.variance + kEpsilon);
          ASSERT_EQ(means[r], moments.mean) << n;
          ASSERT_EQ(inverses[r], factor) << n;
          plain_loops::Normalize(x.data() + r * n, moments.mean, factor, wide.data(),
                                 biased ? wide.data() : nullptr, expected.data() + r * n, n);
        }
        ASSERT_EQ(out, expected) << n;
        ASSERT_EQ(plain_out, expected) << n;
      }
    }
  }
}

TEST(ShortRows, NormalizedAsRowByRow) {
  ForEachTarget([] {
    ExpectNormalizes<float>();
    ExpectNormalizes<double>();
  });
}

// Seven rows at once, and each alone. A scale of all the input is none of a row.
// What is beyond the greatest float is infinity, in vectors and in what is left over, by every
// target.
TEST(ShortRows, RoundToInfinity) {
  static constexpr float kInf = std::numeric_limits<float>::infinity();
  static constexpr float kMax = std::numeric_limits<float>::max();
  ForEachTarget([] {
    for (int64_t n = 1; n <= 40; ++n) {
      std::vector<float> x(static_cast<size_t>(n), -kInf);  // as masked
      std::vector<float> out(x.size());
      const float greatest = 0;
      const double log_sum = 0;
      softmax_kernels::SubtractFromRows(x.data(), &greatest, &log_sum, out.data(), 1, n);
      EXPECT_EQ(out, x) << n;
      std::fill(x.begin(), x.end(), -kMax);
      softmax_kernels::SubtractFromRows(x.data(), &kMax, &log_sum, out.data(), 1, n);
      EXPECT_EQ(out, std::vector<float>(x.size(), -kInf)) << n;
    }
    for (int64_t n = 2; n < kShortNormalizedRow; n += 2) {
      const auto size = static_cast<size_t>(n);
      std::vector<float> x(size);
      std::vector<float> wanted(size);
      for (size_t i = 0; i < size; ++i) {
        x[i] = i % 2 == 0 ? 1.0F : -1.0F;  // normalised, these again
        wanted[i] = x[i] * kInf;
      }
      const std::vector<float> scale(size, kMax);
      std::vector<float> bias(size);
      for (size_t i = 0; i < size; ++i) bias[i] = x[i] * kMax;
      std::vector<float> out(size);
      NormalizeShortRows(ShortRows<float>{x.data(), out.data(), 1, n, 0, scale.data(), bias.data(),
                                          nullptr, nullptr});
      EXPECT_EQ(out, wanted) << n;
    }
  });
}

TEST(ShortRows, LayerNormalizationOfEachRowAlone) {
  constexpr int64_t kRows = 7;
  for (const int64_t n : {1, 3, 7, 8, 11, 15, 16, 17}) {
    const std::vector<float> x = Numbers(kRows * n, 5);
    const std::vector<float> scale = Numbers(n, 6);
    const std::vector<float> bias = Numbers(n, 7);
    const Tensor b = MakeTensor({n}, bias);
    const auto all = ElementsOf<float>(
        RunOp("LayerNormalization", 17, {MakeTensor({kRows, n}, x), MakeTensor({n}, scale), b}));
    std::vector<float> each;
    for (int64_t r = 0; r < kRows; ++r) {
      const std::vector<float> row(x.begin() + r * n, x.begin() + (r + 1) * n);
      const auto one = ElementsOf<float>(
          RunOp("LayerNormalization", 17, {MakeTensor({1, n}, row), MakeTensor({1, n}, scale), b}));
      each.insert(each.end(), one.begin(), one.end());
    }
    EXPECT_EQ(BitsOfAll(all), BitsOfAll(each)) << n;
  }
}

TEST(ShortRows, ReductionsOfEachRowAlone) {
  const Tensor axis = Tensor::Of<int64_t>(ElementType::kInt64, {1}, {1}).value();
  for (const char* op : {"ReduceSum", "ReduceMean", "ReduceProd", "ReduceL1", "ReduceL2",
                         "ReduceLogSumExp", "ReduceMax", "ReduceMin"}) {
    for (const int64_t n : {1, 2, 7, 8, 15, 16}) {
      for (const int64_t rows : {1, 3, 4, 9}) {
        std::vector<float> x = Numbers(rows * n, 8);
        x[0] = kNan;
        if (rows > 3) std::fill_n(x.begin() + 2 * n, n, -0.0F);
        if (rows > 3 && n > 1) x[2 * n + 1] = 0;
        const int64_t opset = std::string(op) == "ReduceSum" ? 13 : 18;
        const auto all = ElementsOf<float>(RunOp(op, opset, {MakeTensor({rows, n}, x), axis}));
        std::vector<float> each;
        for (int64_t r = 0; r < rows; ++r) {
          const std::vector<float> row(x.begin() + r * n, x.begin() + (r + 1) * n);
          each.push_back(ElementsOf<float>(RunOp(op, opset, {MakeTensor({1, n}, row), axis}))[0]);
        }
        EXPECT_EQ(BitsOfAll(all), BitsOfAll(each)) << op << ", " << rows << " rows of " << n;
      }
    }
  }
}

// Where the first and the last extreme element is, as by a row that is too long to be short.
TEST(ShortRows, ArgExtremesAsOfLongRows) {
  constexpr int64_t kRows = 9;
  std::mt19937 random(9);
  for (const int64_t n : {1, 2, 7, 8, 15}) {
    std::vector<float> x(static_cast<size_t>(kRows * n));
    for (float& value : x) value = static_cast<float>(random() % 4) * (random() % 2 == 0 ? 1 : -1);
    x[n - 1] = kNan;
    x[2 * n] = x[2 * n + n / 2] = kNan;
    x[3 * n] = -kInfinity;
    for (const bool max : {true, false}) {
      std::vector<float> padded;
      for (int64_t r = 0; r < kRows; ++r) {
        padded.insert(padded.end(), x.begin() + r * n, x.begin() + (r + 1) * n);
        padded.insert(padded.end(), 20, max ? -kInfinity : kInfinity);
      }
      for (const int64_t last : {0, 1}) {
        const auto arg = [&](int64_t width, const std::vector<float>& values) {
          return ElementsOf<int64_t>(
              RunOp(max ? "ArgMax" : "ArgMin", 13, {MakeTensor({kRows, width}, values)},
                    {IntAttr("axis", 1), IntAttr("select_last_index", last)}));
        };
        if (max && n == 1) continue;  // -infinity is there, and in the padding
        EXPECT_EQ(arg(n, x), arg(n + 20, padded)) << n;
      }
    }
  }
}

template <typename T>
void ExpectTransposesFew(ElementType type, const std::vector<int64_t>& dims) {
  std::vector<T> x(60);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(i + 1);
  std::vector<int64_t> perm(dims.size());
  std::iota(perm.begin(), perm.end(), 0);
  do {
    // With these dimensions before them they are too many for the short way.
    std::vector<int64_t> more_dims = {1, 1, 1};
    std::vector<int64_t> more_perm = {0, 1, 2};
    for (size_t d = 0; d < dims.size(); ++d) {
      more_dims.push_back(dims[d]);
      more_perm.push_back(perm[d] + 3);
    }
    const auto few =
        RunOp("Transpose", 13, {Tensor::Of<T>(type, dims, x).value()}, {IntsAttr("perm", perm)});
    const auto more = RunOp("Transpose", 13, {Tensor::Of<T>(type, more_dims, x).value()},
                            {IntsAttr("perm", more_perm)});
    ASSERT_EQ(ElementsOf<T>(few), ElementsOf<T>(more));
    ASSERT_EQ(ElementsOf<T>(few).size(), x.size());
  } while (std::next_permutation(perm.begin(), perm.end()));
}

TEST(ShortRows, TransposesOfFewElements) {
  for (const std::vector<int64_t>& dims :
       {std::vector<int64_t>{3, 1, 5, 4}, {4, 5, 3}, {5, 12}, {60, 1}}) {
    ExpectTransposesFew<uint8_t>(ElementType::kUint8, dims);
    ExpectTransposesFew<int16_t>(ElementType::kInt16, dims);
    ExpectTransposesFew<float>(ElementType::kFloat, dims);
    ExpectTransposesFew<int64_t>(ElementType::kInt64, dims);
  }
}

}  // namespace
}  // namespace onnx_run
