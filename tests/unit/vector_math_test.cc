// ops/vector_math.h against the C++ library in double: how far off, monotone, odd, the same bits
// by every instruction set, and rounded to narrow types as the exact values would be.
#include "ops/vector_math.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hwy/targets.h"
#include "runtime/convert/convert.h"
#include "runtime/convert/kernels.h"
#include "tests/unit/target_test_util.h"

namespace onnx_run {
namespace {

using ::testing::ElementsAre;
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Function {
  const char* name;
  void (*ours)(const float*, float*, int64_t);
  double (*right)(double);
  double ulps;  // the greatest error, in units of the result's last place
  bool odd = false;
  int direction = 0;  // 1 where it never falls, -1 where it never rises
};

double SoftplusOf(double x) { return (x > 0 ? x : 0) + std::log1p(std::exp(-std::abs(x))); }
double GeluTanhOf(double x) {
  constexpr double kSqrt2OverPi = 0x1.9884533d43651p-1;
  if (x == -kInf) return x * 0;
  return x / (1 + std::exp(-2 * kSqrt2OverPi * (x + 0.044715 * x * x * x)));
}
const Function kFunctions[] = {
    {"Exp", vector_math::Exp, [](double x) { return std::exp(x); }, 0.5001, false, 1},
    {"Log", vector_math::Log, [](double x) { return std::log(x); }, 0.5001},
    {"Tanh", vector_math::Tanh, [](double x) { return std::tanh(x); }, 0.513, true, 1},
    {"Sin", vector_math::Sin, [](double x) { return std::sin(x); }, 0.5001, true},
    {"Cos", vector_math::Cos, [](double x) { return std::cos(x); }, 0.5001},
    {"Tan", vector_math::Tan, [](double x) { return std::tan(x); }, 0.5002, true},
    {"Asin", vector_math::Asin, [](double x) { return std::asin(x); }, 0.52, true, 1},
    {"Acos", vector_math::Acos, [](double x) { return std::acos(x); }, 0.52, false, -1},
    {"Atan", vector_math::Atan, [](double x) { return std::atan(x); }, 0.513, true, 1},
    {"Sinh", vector_math::Sinh, [](double x) { return std::sinh(x); }, 0.5001, true, 1},
    {"Cosh", vector_math::Cosh, [](double x) { return std::cosh(x); }, 0.5001},
    {"Asinh", vector_math::Asinh, [](double x) { return std::asinh(x); }, 0.5001, true, 1},
    {"Acosh", vector_math::Acosh, [](double x) { return std::acosh(x); }, 0.5001},
    {"Atanh", vector_math::Atanh, [](double x) { return std::atanh(x); }, 0.5001, true},
    {"Sigmoid", vector_math::Sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }, 0.535, false,
     1},
    {"Softplus", vector_math::Softplus, SoftplusOf, 0.5001, false, 1},
    {"Erf", vector_math::Erf, [](double x) { return std::erf(x); }, 0.513, true, 1},
    {"Gelu", vector_math::Gelu,
     [](double x) { return 0.5 * x * std::erfc(-x * 0x1.6a09e667f3bcdp-1); }, 0.58},
    {"GeluTanh", vector_math::GeluTanh, GeluTanhOf, 0.54},
    {"Swish", [](const float* x, float* out, int64_t n) { vector_math::Swish(x, 1, out, n); },
     [](double x) { return x / (1 + std::exp(-x)); }, 0.5001},
    // 0 where x is -0: e^x - 1 as written.
    {"Elu",
     [](const float* x, float* out, int64_t n) { vector_math::ExpLinear(x, 1, 1, 1, out, n); },
     [](double x) { return x > 0 ? x : std::expm1(x) + 0.0; }, 0.5001, false, 1},
    {"Celu",
     [](const float* x, float* out, int64_t n) {
       vector_math::ExpLinear(x, 1.5F, 1.5F, 1, out, n);
     },
     [](double x) { return x > 0 ? x : 1.5 * std::expm1(x / 1.5) + 0.0; }, 0.5001, false, 1},
    {"Selu",
     [](const float* x, float* out, int64_t n) {
       vector_math::ExpLinear(x, 1.67326F, 1, 1.0507F, out, n);
     },
     [](double x) {
       return double{1.0507F} * (x > 0 ? x : double{1.67326F} * std::expm1(x) + 0.0);
     },
     0.5001},
    {"Mish", vector_math::Mish, [](double x) { return x * std::tanh(SoftplusOf(x)); }, 0.5002},
};

double UlpOf(double x) {
  int exponent = -200;
  if (x != 0) std::frexp(x, &exponent);
  return std::ldexp(1.0, std::max(exponent, -125) - 24);
}

// What is wrong with the results for the floats of `count` codes from `code` on, `step` apart;
// empty when nothing is.
std::string Check(const Function& f, uint64_t code, uint64_t count, uint64_t step) {
  std::vector<float> x(count);
  for (uint64_t i = 0; i < count; ++i) {
    x[i] = std::bit_cast<float>(static_cast<uint32_t>(code + i * step));
  }
  std::vector<float> y(count);
  f.ours(x.data(), y.data(), static_cast<int64_t>(count));
  std::vector<float> mirrored(f.odd ? count : 0);
  if (f.odd) {
    std::vector<float> minus(count);
    for (uint64_t i = 0; i < count; ++i) minus[i] = -x[i];
    f.ours(minus.data(), mirrored.data(), static_cast<int64_t>(count));
  }
  for (uint64_t i = 0; i < count; ++i) {
    const double right = f.right(x[i]);
    const float rounded = static_cast<float>(right);
    const auto problem = [&](const char* what) {
      return std::string(f.name) + " of " + std::to_string(std::bit_cast<uint32_t>(x[i])) + " (" +
             std::to_string(x[i]) + "): " + what + ", " + std::to_string(y[i]) + " for " +
             std::to_string(right);
    };
    if (std::isnan(right) != std::isnan(y[i])) return problem("NaN");
    if (std::isnan(right)) continue;
    if (std::signbit(y[i]) != std::signbit(rounded)) return problem("sign");
    if (std::isinf(rounded) || std::isinf(y[i])) {
      if (y[i] != rounded) return problem("infinity");
    } else if (!(std::abs(y[i] - right) <= f.ulps * UlpOf(right))) {
      return problem(
          ("off by " + std::to_string(std::abs(y[i] - right) / UlpOf(right)) + " ulp").c_str());
    }
    if (f.odd && mirrored[i] != -y[i]) return problem("not odd");
    if (f.direction != 0 && i > 0 && !std::isnan(y[i - 1])) {
      const float rise = (y[i] - y[i - 1]) * static_cast<float>(f.direction);
      if (std::signbit(x[i]) == std::signbit(x[i - 1]) &&
          (std::signbit(x[i]) ? rise > 0 : rise < 0))
        return problem("not monotone");
    }
  }
  return "";
}

// About 2^32 / step floats, in parts that overlap by one, on all processors.
std::string CheckAll(const Function& f, uint64_t step) {
  constexpr uint64_t kPart = 4096;
  const uint64_t count = (uint64_t{1} << 32) / step;
  std::atomic<uint64_t> next{0};
  std::mutex mutex;
  std::string problem;
  const auto work = [&] {
    for (uint64_t part = next++; part * kPart < count; part = next++) {
      const uint64_t n = std::min(kPart + 1, count - part * kPart);
      const std::string found = Check(f, part * kPart * step, n, step);
      if (found.empty()) continue;
      const std::lock_guard<std::mutex> lock(mutex);
      problem = found;
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < std::max(1U, std::thread::hardware_concurrency()); ++i) {
    threads.emplace_back(work);
  }
  work();
  for (std::thread& thread : threads) thread.join();
  return problem;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(__SANITIZE_UNDEFINED__)
constexpr uint64_t kStep = 65537;
#else
constexpr uint64_t kStep = 4099;
#endif

TEST(VectorMath, NearlyCorrectlyRounded) {
  for (const Function& f : kFunctions) EXPECT_EQ(CheckAll(f, kStep), "");
}

// Neighbours, where most results are neither 0 nor 1 and where segments of tables begin.
TEST(VectorMath, NearlyCorrectlyRoundedAmongNeighbours) {
  for (const Function& f : kFunctions) {
    for (int i = -512; i <= 512; ++i) {
      const float start = static_cast<float>(i) / 32;
      EXPECT_EQ(Check(f, std::bit_cast<uint32_t>(start) - 16 * (i != 0), 64, 1), "");
    }
    for (const float start : {9.02F, 3.93F, -87.34F, -103.98F, -10.1006365F, -13.146246F, 88.72F,
                              0x1p-126F, 0x1p-101F, 0x1p20F, kInf, 1.0F}) {
      for (const float signed_start : {start, -start}) {
        EXPECT_EQ(Check(f, std::bit_cast<uint32_t>(signed_start) - 2048, 4096, 1), "");
      }
    }
  }
}

// All 2^32 floats; some 15 minutes on two cores. ONNX_RUN_EXHAUSTIVE=1 runs it,
// ONNX_RUN_EXHAUSTIVE=Exp that of Exp alone.
TEST(VectorMath, Exhaustive) {
  const char* which = std::getenv("ONNX_RUN_EXHAUSTIVE");
  if (which == nullptr) GTEST_SKIP() << "wants ONNX_RUN_EXHAUSTIVE=1";
  for (const Function& f : kFunctions) {
    if (which == std::string("1") || which == std::string(f.name)) EXPECT_EQ(CheckAll(f, 1), "");
  }
}

// All NaNs are one.
std::vector<uint32_t> BitsOf(const std::vector<float>& values) {
  std::vector<uint32_t> bits;
  bits.reserve(values.size());
  for (const float value : values) {
    bits.push_back(std::bit_cast<uint32_t>(std::isnan(value) ? kNan : value));
  }
  return bits;
}

// As C's pow, of all kinds of bases and exponents with one another, by every target; exponents of
// their own, one for all, and floats or doubles.
TEST(VectorMath, PowLikeTheLibrary) {
  std::vector<float> values = {0,     1,      2,        3,     0.5F,  1.5F,   2.5F,   4,     7,
                               1e-3F, 0.999F, 16777215, 1e10F, 3e38F, 1e-45F, 1e-30F, 88.7F, kInf};
  for (size_t i = values.size(); i-- > 0;) values.push_back(-values[i]);
  values.push_back(kNan);
  for (int i = 0; i < 200; ++i) values.push_back(std::ldexp(1.0F + i / 200.0F, i % 9 - 4));
  const auto n = static_cast<int64_t>(values.size());
  const auto check = [](float x, double y, float power) {
    SCOPED_TRACE(std::to_string(x) + " to " + std::to_string(y));
    const double right = std::pow(static_cast<double>(x), y);
    const float rounded = static_cast<float>(right);
    ASSERT_EQ(std::isnan(power), std::isnan(right));
    if (std::isnan(right)) return;
    ASSERT_EQ(std::signbit(power), std::signbit(right));
    if (std::isinf(rounded)) {
      ASSERT_EQ(power, rounded);
    } else {
      ASSERT_LE(std::abs(power - right), 0.5002 * UlpOf(right));
    }
  };
  ForEachTarget([&] {
    for (const float value : values) {
      // This exponent for all bases, in whose memory the result may be; this base for all
      // exponents.
      const double exponent = value;
      std::vector<float> powers = values;
      vector_math::Pow(powers.data(), 1, &exponent, 0, powers.data(), n);
      for (int64_t i = 0; i < n; ++i) check(values[i], exponent, powers[i]);
      vector_math::Pow(&value, 0, values.data(), 1, powers.data(), n);
      for (int64_t i = 0; i < n; ++i) check(value, values[i], powers[i]);

      const std::vector<float> bases(values.size(), value);
      const std::vector<double> exponents(values.begin(), values.end());
      std::vector<float> same(values.size());
      vector_math::Pow(bases.data(), 1, values.data(), 1, same.data(), n);
      EXPECT_EQ(BitsOf(same), BitsOf(powers));
      vector_math::Pow(bases.data(), 1, exponents.data(), 1, same.data(), n);
      EXPECT_EQ(BitsOf(same), BitsOf(powers));
    }
  });
}

TEST(VectorMath, PowersAreTheSameByEveryTarget) {
  std::vector<float> x;
  std::vector<float> y;
  for (uint32_t i = 0; i < 20003; ++i) {
    x.push_back(std::bit_cast<float>(i * 214013U));
    y.push_back(static_cast<float>(i % 777) / 64 - 6);
  }
  const auto n = static_cast<int64_t>(x.size());
  std::vector<float> expected(x.size());
  vector_math::Pow(x.data(), 1, y.data(), 1, expected.data(), n);
  ForEachTarget([&] {
    std::vector<float> power(x.size());
    vector_math::Pow(x.data(), 1, y.data(), 1, power.data(), n);
    EXPECT_EQ(BitsOf(power), BitsOf(expected));
  });
}

// Exponents that are computed without a logarithm.
TEST(VectorMath, SimplePowersLikeTheLibrary) {
  std::vector<float> x = {0, -0.0F, kInf, -kInf, kNan};
  for (uint64_t code = 0; code < uint64_t{1} << 32; code += 1000003) {
    x.push_back(std::bit_cast<float>(static_cast<uint32_t>(code)));
  }
  std::vector<float> y(x.size());
  for (const double exponent : {0.0, 1.0, 2.0, 3.0, 4.0, -1.0, -2.0, 0.5, -0.5}) {
    ForEachTarget([&] {
      vector_math::Pow(x.data(), 1, &exponent, 0, y.data(), static_cast<int64_t>(x.size()));
      for (size_t i = 0; i < x.size(); ++i) {
        const float right = static_cast<float>(std::pow(static_cast<double>(x[i]), exponent));
        ASSERT_TRUE(std::bit_cast<uint32_t>(y[i]) == std::bit_cast<uint32_t>(right) ||
                    (std::isnan(y[i]) && std::isnan(right)))
            << x[i] << " to " << exponent << ": " << y[i] << ", not " << right;
      }
    });
  }
}

TEST(VectorMath, SameBitsByEveryTarget) {
  convert_internal::ForceTargetForTest(0);
  const int64_t supported = hwy::SupportedTargets();
  std::vector<float> x;
  for (uint64_t code = 0; code < uint64_t{1} << 32; code += 16 * kStep + 1) {
    x.push_back(std::bit_cast<float>(static_cast<uint32_t>(code)));
  }
  x.resize(x.size() / 64 * 64 + 63, 0.5F);  // a tail
  const auto n = static_cast<int64_t>(x.size());
  for (const Function& f : kFunctions) {
    std::vector<float> expected(x.size());
    f.ours(x.data(), expected.data(), n);
    for (int bit = 0; bit < 63; ++bit) {
      if ((supported >> bit & 1) == 0) continue;
      convert_internal::ForceTargetForTest(int64_t{1} << bit);
      SCOPED_TRACE(hwy::TargetName(int64_t{1} << bit));
      std::vector<float> y(x.size());
      f.ours(x.data(), y.data(), n);
      for (size_t i = 0; i < x.size(); ++i) {
        if (std::isnan(y[i]) && std::isnan(expected[i])) continue;
        ASSERT_EQ(std::bit_cast<uint32_t>(y[i]), std::bit_cast<uint32_t>(expected[i]))
            << f.name << " of " << x[i];
      }
    }
    convert_internal::ForceTargetForTest(0);
    // Nor does it matter where in an array an element is.
    for (size_t start = 1; start < 40; ++start) {
      std::vector<float> y(x.begin() + static_cast<int64_t>(start), x.begin() + 200);
      f.ours(y.data(), y.data(), static_cast<int64_t>(y.size()));
      for (size_t i = 0; i < y.size(); ++i) {
        ASSERT_EQ(std::bit_cast<uint32_t>(y[i]), std::bit_cast<uint32_t>(expected[start + i]));
      }
    }
  }
}

// 16 bit types get float's results, rounded again: the same as those of the exact values rounded to
// float and again, which is the exact values' rounding but for a few ties.
TEST(VectorMath, NarrowResultsAreThoseOfExactFloats) {
  for (const ElementType type : {ElementType::kFloat16, ElementType::kBfloat16}) {
    std::vector<uint16_t> codes(65536);
    for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<uint16_t>(i);
    std::vector<float> x(codes.size());
    const auto n = static_cast<int64_t>(x.size());
    ASSERT_TRUE(Convert(codes.data(), type, x.data(), ElementType::kFloat, n).ok());
    for (const Function& f : kFunctions) {
      std::vector<float> y(x.size());
      f.ours(x.data(), y.data(), n);
      std::vector<float> right(x.size());
      for (size_t i = 0; i < x.size(); ++i) right[i] = static_cast<float>(f.right(x[i]));
      std::vector<uint16_t> ours(x.size());
      std::vector<uint16_t> expected(x.size());
      ASSERT_TRUE(Convert(y.data(), ElementType::kFloat, ours.data(), type, n).ok());
      ASSERT_TRUE(Convert(right.data(), ElementType::kFloat, expected.data(), type, n).ok());
      for (size_t i = 0; i < x.size(); ++i) {
        if (!std::isnan(right[i])) ASSERT_EQ(ours[i], expected[i]) << f.name << " of " << x[i];
      }
    }
  }
}

TEST(VectorMath, Specials) {
  const float x[] = {kNan, kInf, -kInf, 0, -0.0F, 1e30F, -1e30F, 1e-45F};
  float y[8];
  vector_math::Exp(x, y, 8);
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_THAT(std::vector<float>(y + 1, y + 8), ElementsAre(kInf, 0, 1, 1, kInf, 0, 1));
  vector_math::Log(x, y, 8);
  EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[2]) && std::isnan(y[6]));
  EXPECT_THAT(std::vector<float>(y + 3, y + 5), ElementsAre(-kInf, -kInf));
  vector_math::Erf(x, y, 8);
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_THAT(std::vector<float>(y + 1, y + 7), ElementsAre(1, -1, 0, -0.0F, 1, -1));
  vector_math::Gelu(x, y, 8);
  EXPECT_THAT(std::vector<float>(y + 3, y + 7), ElementsAre(0, -0.0F, 1e30F, -0.0F));
}

}  // namespace
}  // namespace onnx_run
