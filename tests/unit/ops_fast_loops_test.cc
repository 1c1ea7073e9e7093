// Loops compiled for several instruction sets, against the plain definition of what they compute:
// directed values, lengths around those of vectors.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/plain_loops.h"
#include "ops/quantize_kernels.h"
#include "tests/unit/ops_test_util.h"
#include "tests/unit/target_test_util.h"

namespace onnx_run {
namespace {

constexpr int64_t kLengths[] = {1,  2,  3,  4,  5,  7,  8,  9,   15,  16,  17,
                                31, 32, 33, 63, 64, 65, 66, 127, 128, 129, 1000};

template <typename T>
std::vector<T> DirectedFloats() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values;
  for (const T value : {T(0),
                        T(0.25),
                        T(0.5),
                        T(1),
                        T(1.5),
                        T(2.5),
                        T(3.5),
                        T(7.75),
                        T(100.5),
                        T(127.5),
                        T(128.5),
                        T(254.5),
                        T(255.5),
                        T(32767.5),
                        T(65534.5),
                        T(65536),
                        T(0x1p22),
                        T(0x1.8p22),
                        T(0x1p23),
                        T(0x1p31),
                        T(0x1p51),
                        T(0x1p52),
                        T(0x1p63),
                        T(1e30),
                        Limits::min(),
                        Limits::denorm_min(),
                        Limits::max(),
                        Limits::infinity(),
                        Limits::quiet_NaN()}) {
    for (const T near :
         {value, std::nextafter(value, T(0)), std::nextafter(value, Limits::infinity())}) {
      values.push_back(near);
      values.push_back(-near);
    }
  }
  return values;
}

template <typename T>
auto BitsOfFloat(T value) {
  if constexpr (sizeof(T) == 4) {
    return std::bit_cast<uint32_t>(value);
  } else {
    return std::bit_cast<uint64_t>(value);
  }
}

// The directed values from all positions of a vector on.
template <typename T, typename Loop, typename Function>
void ExpectMaps(const char* name, const Loop& loop, const Function& function) {
  std::vector<T> values = DirectedFloats<T>();
  const std::vector<T> once = values;
  for (int i = 0; i < 8; ++i) values.insert(values.end(), once.begin() + i, once.end());
  for (const int64_t n : kLengths) {
    for (int64_t begin = 0; begin + n <= static_cast<int64_t>(values.size());
         begin += n + begin % 3) {
      std::vector<T> in_place(values.begin() + begin, values.begin() + begin + n);
      loop(in_place.data(), in_place.data(), n);
      for (int64_t i = 0; i < n; ++i) {
        ASSERT_EQ(BitsOfFloat(in_place[i]), BitsOfFloat(function(values[begin + i])))
            << name << " of " << values[begin + i] << ", " << n << " elements";
      }
    }
  }
}

template <typename T>
void ExpectRounds() {
  ExpectMaps<T>(
      "Floor", [](const T* x, T* out, int64_t n) { plain_loops::Floor(x, out, n); },
      [](T x) { return std::floor(x); });
  ExpectMaps<T>(
      "Ceil", [](const T* x, T* out, int64_t n) { plain_loops::Ceil(x, out, n); },
      [](T x) { return std::ceil(x); });
  ExpectMaps<T>(
      "RoundToEven", [](const T* x, T* out, int64_t n) { plain_loops::RoundToEven(x, out, n); },
      [](T x) { return std::nearbyint(x); });
}

TEST(PlainLoops, RoundingToIntegers) {
  ForEachTarget([] {
    ExpectRounds<float>();
    ExpectRounds<double>();
  });
}

template <typename X>
void ExpectDequantizes() {
  using Limits = std::numeric_limits<X>;
  std::vector<X> codes;
  for (int code = static_cast<int>(Limits::min()); code <= Limits::max();
       code += sizeof(X) == 1 ? 1 : 37) {
    codes.push_back(static_cast<X>(code));
  }
  codes.push_back(Limits::max());
  std::vector<float> out(codes.size());
  for (const int zero : {int{Limits::min()}, 0, 1, 100, int{Limits::max()}}) {
    for (const float scale :
         {0.5F, 0.1F, -3.3F, 1e-44F, 1e36F, std::numeric_limits<float>::infinity()}) {
      for (const int64_t n : kLengths) {
        const int64_t begin = std::max<int64_t>(0, static_cast<int64_t>(codes.size()) - n - n % 5);
        const int64_t count = std::min<int64_t>(n, static_cast<int64_t>(codes.size()) - begin);
        plain_loops::Dequantize(codes.data() + begin, static_cast<X>(zero), scale, out.data(),
                                count);
        for (int64_t i = 0; i < count; ++i) {
          const float expected = static_cast<float>(codes[begin + i] - zero) * scale;
          if (std::isnan(expected)) {
            ASSERT_TRUE(std::isnan(out[i]));
          } else {
            ASSERT_EQ(BitsOfFloat(out[i]), BitsOfFloat(expected))
                << int{codes[begin + i]} << ' ' << zero;
          }
        }
      }
    }
  }
}

TEST(PlainLoops, Dequantize) {
  ForEachTarget([] {
    ExpectDequantizes<int8_t>();
    ExpectDequantizes<uint8_t>();
    ExpectDequantizes<int16_t>();
    ExpectDequantizes<uint16_t>();
  });
}

void ExpectNormalizes() {
  std::mt19937 random(1);
  std::normal_distribution<double> normal(3, 10);
  for (const int64_t n : kLengths) {
    std::vector<float> x(n);
    std::vector<double> wide(n), scale(n), bias(n);
    for (int64_t i = 0; i < n; ++i) {
      wide[i] = x[i] = static_cast<float>(normal(random));
      scale[i] = normal(random);
      bias[i] = normal(random);
    }
    for (const bool biased : {false, true}) {
      const double* b = biased ? bias.data() : nullptr;
      std::vector<float> out(n);
      std::vector<double> wide_out(n);
      plain_loops::Normalize(x.data(), 1.0 / 3, 0.7, scale.data(), b, out.data(), n);
      plain_loops::Normalize(wide.data(), 1.0 / 3, 0.7, scale.data(), b, wide_out.data(), n);
      for (int64_t i = 0; i < n; ++i) {
        double expected = (wide[i] - 1.0 / 3) * 0.7 * scale[i];
        if (b != nullptr) expected += b[i];
        ASSERT_EQ(wide_out[i], expected);
        ASSERT_EQ(out[i], static_cast<float>(expected));
      }
    }
  }
}

TEST(PlainLoops, Normalize) {
  ForEachTarget([] { ExpectNormalizes(); });
}

int32_t CodeOf(float x, float scale, const quantize_kernels::Codes& codes) {
  const float quotient = x / scale;
  if (std::isnan(quotient)) return codes.low;
  const double level = std::nearbyint(static_cast<double>(quotient)) + codes.zero;
  return static_cast<int32_t>(std::clamp(level, double(codes.low), double(codes.high)));
}

template <typename Z>
void ExpectQuantizes(int32_t low, int32_t high) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  std::mt19937 random(7);
  for (const float scale :
       {1.0F,      0.5F,          -0.25F,        0x1p-126F,
        0x1p-127F, 0x1p-149F,     0x1p126F,      0x1p127F,
        0.1F,      -0.3F,         3.0F,          7.0F,
        1e-3F,     0x1.fffffep0F, 0x1.000002p0F, 0x1.555556p-3F,
        3e-38F,    2e-39F,        1e38F,         3e38F,
        0.0F,      -0.0F,         kInf,          std::numeric_limits<float>::quiet_NaN()}) {
    // The directed values themselves, and the floats around all middles between two codes.
    std::vector<float> x = DirectedFloats<float>();
    for (int i = 0; i < 600; ++i) {
      const int span = high - low + 3;
      const float middle =
          (static_cast<float>(i % 2 == 0 ? i / 2 % span : random() % span) + 0.5F) * scale;
      for (const float value :
           {middle, std::nextafter(middle, -kInf), std::nextafter(middle, kInf)}) {
        x.push_back(value);
        x.push_back(-value);
      }
    }
    for (int i = 0; i < 2000; ++i) {
      x.push_back(static_cast<float>(static_cast<double>(random()) * 0x1p-32 * (high - low) * 1.1) *
                  scale);
    }
    std::vector<Z> out(x.size());
    for (const int32_t zero : {low, int32_t{0}, high / 2 + 1, high}) {
      const quantize_kernels::Codes codes{zero, low, high};
      int64_t begin = 0;
      for (int k = 0; begin < static_cast<int64_t>(x.size()); ++k) {
        const int64_t n = std::min<int64_t>(kLengths[k % std::size(kLengths)],
                                            static_cast<int64_t>(x.size()) - begin);
        quantize_kernels::Quantize(x.data() + begin, scale, codes, out.data() + begin, n);
        begin += n;
      }
      for (size_t i = 0; i < x.size(); ++i) {
        ASSERT_EQ(int32_t{out[i]}, CodeOf(x[i], scale, codes))
            << x[i] << " / " << scale << " + " << zero << " in [" << low << ", " << high << "]";
      }
    }
  }
}

TEST(QuantizeKernels, EveryTypeAndRange) {
  ForEachTarget([] {
    ExpectQuantizes<int8_t>(-128, 127);
    ExpectQuantizes<int8_t>(-8, 7);
    ExpectQuantizes<int8_t>(-2, 1);
    ExpectQuantizes<uint8_t>(0, 255);
    ExpectQuantizes<uint8_t>(0, 15);
    ExpectQuantizes<uint8_t>(0, 3);
    ExpectQuantizes<int16_t>(-32768, 32767);
    ExpectQuantizes<uint16_t>(0, 65535);
  });
}

void ExpectWidensRanges() {
  std::vector<float> x(300);
  std::mt19937 random(3);
  for (float& value : x) value = static_cast<float>(static_cast<int32_t>(random()));
  x[17] = x[200] = std::numeric_limits<float>::quiet_NaN();
  for (const int64_t n : kLengths) {
    if (n > 250) continue;
    for (int64_t begin = 0; begin < 50; ++begin) {
      float low = 0;
      float high = 0;
      float expected_low = 0;
      float expected_high = 0;
      quantize_kernels::WidenRange(x.data() + begin, n, low, high);
      for (int64_t i = begin; i < begin + n; ++i) {
        if (x[i] < expected_low) expected_low = x[i];
        if (x[i] > expected_high) expected_high = x[i];
      }
      ASSERT_EQ(low, expected_low);
      ASSERT_EQ(high, expected_high);
    }
  }
}

TEST(QuantizeKernels, WidenRange) {
  ForEachTarget([] { ExpectWidensRanges(); });
}

// By the operators, with one scale for each row: runs of 5 elements.
TEST(QuantizeKernels, ByTheOperators) {
  const Tensor x = FloatTensor({2, 5}, {-1, 0.5, 1.5, 2.5, 400, -1, 0.05F, 0.15F, 0.25F, 40});
  const Tensor scale = FloatTensor({2}, {1, 0.1F});
  const Tensor zero = TensorOf<uint8_t>(ElementType::kUint8, {2}, {3, 4});
  EXPECT_THAT(
      ElementsOf<uint8_t>(RunOp("QuantizeLinear", 21, {x, scale, zero}, {IntAttr("axis", 0)})),
      ::testing::ElementsAre(2, 3, 5, 5, 255, 0, 4, 6, 6, 255));
  // A scale for each column.
  const Tensor columns = FloatTensor({5}, {1, 0.5, 0.1F, 3, 100});
  EXPECT_THAT(ElementsOf<uint8_t>(RunOp("QuantizeLinear", 21, {x, columns}, {IntAttr("axis", 1)})),
              ::testing::ElementsAre(0, 1, 15, 1, 4, 0, 0, 2, 0, 0));
  const Tensor codes =
      TensorOf<uint8_t>(ElementType::kUint8, {2, 5}, {0, 1, 2, 3, 4, 0, 1, 2, 3, 255});
  EXPECT_THAT(
      ElementsOf<float>(RunOp("DequantizeLinear", 21, {codes, scale, zero}, {IntAttr("axis", 0)})),
      ::testing::ElementsAre(-3, -2, -1, 0, 1, -4 * 0.1F, -3 * 0.1F, -2 * 0.1F, -1 * 0.1F,
                             251 * 0.1F));
}

}  // namespace
}  // namespace onnx_run
