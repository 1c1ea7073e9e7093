// Conversions that other engines got wrong, from their public bug reports.
#include <cmath>
#include <limits>

#include "tests/unit/convert_test_util.h"

namespace onnx_run {
namespace {

using convert_test::Bits;
using convert_test::Codes;
using convert_test::Converted;
using convert_test::FloatCodes;
using E = ElementType;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr ConvertOptions kNoSaturate = {.saturate = false};

std::vector<float> ThroughAndBack(const std::vector<float>& values, E through) {
  std::vector<float> result;
  for (const uint64_t code :
       Converted(Converted(FloatCodes(values), E::kFloat, through), through, E::kFloat)) {
    result.push_back(std::bit_cast<float>(static_cast<uint32_t>(code)));
  }
  return result;
}

Codes Signed(const std::vector<int64_t>& values, E type) {
  Codes codes;
  for (const int64_t value : values) {
    const auto code = static_cast<uint64_t>(value);
    codes.push_back(BitsOf(type) == 64 ? code : code & ((uint64_t{1} << BitsOf(type)) - 1));
  }
  return codes;
}

// B01, microsoft/onnxruntime#8787
TEST(ConvertBugsTest, NarrowingAndWideningBackIsNoIdentity) {
  EXPECT_EQ(ThroughAndBack({1e-12F, 123456.7F}, E::kFloat16), (std::vector<float>{0.0F, kInf}));
  EXPECT_EQ(ThroughAndBack({0.33333334F}, E::kBfloat16), std::vector<float>{0.333984375F});
  EXPECT_EQ(Converted(Converted({Bits(0.1)}, E::kDouble, E::kFloat), E::kFloat, E::kDouble),
            Codes{Bits(0.10000000149011612)});
  EXPECT_EQ(Converted(Converted({0xFFFFFFFF}, E::kInt32, E::kUint8), E::kUint8, E::kInt32),
            Codes{255});
}

// B03, apache/tvm#18605
TEST(ConvertBugsTest, NanInfinityAndSubnormalsAreTrue) {
  EXPECT_EQ(
      Converted(FloatCodes({kNan, -kNan, 7.5F, -0.0F, 0.0F, 1e-45F, kInf}), E::kFloat, E::kBool),
      (Codes{1, 1, 1, 0, 0, 1, 1}));
  EXPECT_EQ(Converted({0x7E00, 0xFE00, 0x8000, 0x0000, 0x0001, 0x7C00}, E::kFloat16, E::kBool),
            (Codes{1, 1, 0, 0, 1, 1}));
  EXPECT_EQ(Converted({0x7FC0, 0xFFC0, 0x8000, 0x0000, 0x0001, 0x7F80}, E::kBfloat16, E::kBool),
            (Codes{1, 1, 0, 0, 1, 1}));
  EXPECT_EQ(
      Converted({Bits(double{kNan}), Bits(-0.0), Bits(0.0), 1, Bits(1e-320)}, E::kDouble, E::kBool),
      (Codes{1, 0, 0, 1, 1}));
  for (const E type : {E::kFloat8e4m3fn, E::kFloat8e5m2}) {
    EXPECT_EQ(Converted({0x7F, 0xFF, 0x80, 0x00, 0x01}, type, E::kBool), (Codes{1, 1, 0, 0, 1}));
  }
  for (const E type : {E::kFloat8e4m3fnuz, E::kFloat8e5m2fnuz}) {  // 80 is NaN
    EXPECT_EQ(Converted({0x80, 0x00, 0x01}, type, E::kBool), (Codes{1, 0, 1}));
  }
  EXPECT_EQ(Converted({0x00, 0xFF}, E::kFloat8e8m0, E::kBool), (Codes{1, 1}));
  EXPECT_EQ(Converted({0x0, 0x8, 0x1}, E::kFloat4e2m1, E::kBool), (Codes{0, 0, 1}));
}

// B05, onnx/onnx#6220
TEST(ConvertBugsTest, InfinitySaturatesInFnuz) {
  const Codes input = FloatCodes({-kInf, kInf, kNan, 1e6F, -1e6F, -0.0F});
  const Codes expected = {0xFF, 0x7F, 0x80, 0x7F, 0xFF, 0x00};
  EXPECT_EQ(Converted(input, E::kFloat, E::kFloat8e4m3fnuz), expected);
  EXPECT_EQ(Converted(input, E::kFloat, E::kFloat8e5m2fnuz), expected);
}

// B06, microsoft/onnxruntime#16938
TEST(ConvertBugsTest, E4m3fnRoundsToNearestTiesToEven) {
  Codes input = FloatCodes({1.8131605F, 1.8125F, 4.25F, 4.250001F, 464.0F, 465.0F, -464.0F});
  input.push_back(0x3A800000);
  input.push_back(0x3A800001);
  const Codes rounded = Converted(input, E::kFloat, E::kFloat8e4m3fn);
  std::vector<double> values;
  for (const uint64_t code : rounded) values.push_back(CodeToDouble(code, E::kFloat8e4m3fn));
  EXPECT_EQ(values,
            (std::vector<double>{1.875, 1.75, 4, 4.5, 448, 448, -448, 0, std::ldexp(1, -9)}));
  Codes expected = rounded;
  expected[5] = 0x7F;
  EXPECT_EQ(Converted(input, E::kFloat, E::kFloat8e4m3fn, kNoSaturate), expected);
}

// B07, jax-ml/ml_dtypes#260
TEST(ConvertBugsTest, OverflowIsJudgedAfterRounding) {
  EXPECT_EQ(Converted(FloatCodes({448, 463.9F, 464, 464.0001F, 480}), E::kFloat, E::kFloat8e4m3fn,
                      kNoSaturate),
            (Codes{0x7E, 0x7E, 0x7E, 0x7F, 0x7F}));
  EXPECT_EQ(Converted(FloatCodes({57344, 61439, 61440, 65536, kInf}), E::kFloat, E::kFloat8e5m2,
                      kNoSaturate),
            (Codes{0x7B, 0x7B, 0x7C, 0x7C, 0x7C}));
  EXPECT_EQ(
      Converted(FloatCodes({240, 247.9F, 248, 249}), E::kFloat, E::kFloat8e4m3fnuz, kNoSaturate),
      (Codes{0x7F, 0x7F, 0x80, 0x80}));
  EXPECT_EQ(Converted(FloatCodes({61440, kInf, -kInf}), E::kFloat, E::kFloat8e5m2),
            (Codes{0x7B, 0x7B, 0xFB}));
  EXPECT_EQ(Converted(FloatCodes({480, kInf, -kInf}), E::kFloat, E::kFloat8e4m3fn),
            (Codes{0x7E, 0x7E, 0xFE}));
}

// B08, openvinotoolkit/openvino#38158
TEST(ConvertBugsTest, FloatToFourAndTwoBitIntegersRoundsTiesToEven) {
  EXPECT_EQ(
      Converted(FloatCodes({2.5F, 3.5F, -2.5F, -3.5F, 1.6F, 2.4F, -1.6F}), E::kFloat, E::kInt4),
      Signed({2, 4, -2, -4, 2, 2, -2}, E::kInt4));
  EXPECT_EQ(Converted(FloatCodes({0.5F, 1.5F, 2.5F}), E::kFloat, E::kUint4), (Codes{0, 2, 2}));
  EXPECT_EQ(Converted(FloatCodes({0.5F, -0.5F, -1.5F, 0.6F}), E::kFloat, E::kInt2),
            Signed({0, 0, -2, 1}, E::kInt2));
}

// B09, onnx/onnx#5776
TEST(ConvertBugsTest, FourBitIntegersWrapAndPadWithZero) {
  EXPECT_EQ(Converted(Signed({-9, 8, 15, -8, 7}, E::kInt8), E::kInt8, E::kInt4),
            Signed({7, -8, -1, -8, 7}, E::kInt4));
  EXPECT_EQ(Converted(Signed({-1, -8, 7}, E::kInt4), E::kInt4, E::kUint4), (Codes{15, 8, 7}));
  const uint8_t packed[] = {0x21, 0xCF};  // the top nibble of the last byte is no element
  int8_t wide[3];
  ASSERT_TRUE(Convert(packed, E::kInt4, wide, E::kInt8, 3).ok());
  EXPECT_EQ((std::vector<int>{wide[0], wide[1], wide[2]}), (std::vector<int>{1, 2, -1}));
  const float floats[] = {1, 2, 3};
  uint8_t narrow[] = {0xFF, 0xFF};
  ASSERT_TRUE(Convert(floats, E::kFloat, narrow, E::kUint4, 3).ok());
  EXPECT_EQ(narrow[0], 0x21);
  EXPECT_EQ(narrow[1], 0x03);
}

// B16, halide/Halide PR #8906
TEST(ConvertBugsTest, WideSourcesRoundOnce) {
  EXPECT_EQ(Converted({Bits(1 + std::ldexp(1, -11) + std::ldexp(1, -40))}, E::kDouble, E::kFloat16),
            Codes{0x3C01});
  EXPECT_EQ(Converted({Bits(1 + std::ldexp(1, -8) + std::ldexp(1, -40))}, E::kDouble, E::kBfloat16),
            Codes{0x3F81});
  EXPECT_EQ(Converted({Bits(464 + std::ldexp(1, -40))}, E::kDouble, E::kFloat8e4m3fn, kNoSaturate),
            Codes{0x7F});
  EXPECT_EQ(Converted({4311744513}, E::kInt64, E::kBfloat16), Codes{0x4F81});
  EXPECT_EQ(Converted({16777217}, E::kInt64, E::kFloat), Codes{Bits(16777216.0F)});
}

// B17, onnx/onnx#3876
TEST(ConvertBugsTest, Bfloat16RoundsAndKeepsNan) {
  EXPECT_EQ(Converted({0x3E89CCD5, 0x7F800001, 0x7FFFFFFF, 0xFF800001, 0x7F7FFFFF, 0x3F808000,
                       0x3F818000, 1},
                      E::kFloat, E::kBfloat16),
            (Codes{0x3E8A, 0x7FC0, 0x7FFF, 0xFFC0, 0x7F80, 0x3F80, 0x3F82, 0x0000}));
}

// B18, numpy/numpy#22704
TEST(ConvertBugsTest, HalfSubnormals) {
  EXPECT_EQ(Converted({0x33000000, 0x33000001, 0x34200000, 0x34200001, 0x34600000, 0x387FC000,
                       0x387FFFFF},
                      E::kFloat, E::kFloat16),
            (Codes{0x0000, 0x0001, 0x0002, 0x0003, 0x0004, 0x03FF, 0x0400}));
  const Codes subnormals = {0x0001, 0x03FF, 0x8001};
  EXPECT_EQ(Converted(subnormals, E::kFloat16, E::kFloat),
            (Codes{0x33800000, 0x387FC000, 0xB3800000}));
  EXPECT_EQ(
      Converted(subnormals, E::kFloat16, E::kDouble),
      (Codes{Bits(std::ldexp(1, -24)), Bits(std::ldexp(1023, -24)), Bits(-std::ldexp(1, -24))}));
  EXPECT_EQ(Converted(subnormals, E::kFloat16, E::kBfloat16), (Codes{0x3380, 0x3880, 0xB380}));
}

// B19, tinygrad/tinygrad#17087
TEST(ConvertBugsTest, HalfOverflowsAt65520) {
  EXPECT_EQ(
      Converted(FloatCodes({65504, 65519, 65520, 65536, 1e10F, -65520}), E::kFloat, E::kFloat16),
      (Codes{0x7BFF, 0x7BFF, 0x7C00, 0x7C00, 0x7C00, 0xFC00}));
  EXPECT_EQ(Converted({65519, 65520, 70000}, E::kInt32, E::kFloat16),
            (Codes{0x7BFF, 0x7C00, 0x7C00}));
  EXPECT_EQ(Converted({UINT64_MAX}, E::kUint64, E::kFloat16), Codes{0x7C00});
  EXPECT_EQ(Converted({Bits(1e39)}, E::kDouble, E::kFloat), Codes{Bits(kInf)});
  EXPECT_EQ(Converted({INT64_MAX}, E::kInt64, E::kBfloat16), Codes{0x5F00});
  // saturate is for float8 only
  EXPECT_EQ(Converted(FloatCodes({1e10F}), E::kFloat, E::kFloat16, {.saturate = true}),
            Codes{0x7C00});
  EXPECT_EQ(Converted(FloatCodes({1e10F}), E::kFloat, E::kFloat4e2m1, kNoSaturate), Codes{0x7});
}

// B20, microsoft/onnxruntime#25207: the same at every place of an array.
TEST(ConvertBugsTest, FloatToIntegerOutOfRangeWrapsAndNonFiniteIsZero) {
  const std::vector<float> once = {kNan, kInf, -kInf, 3e9F, -3e9F, -1.5F, -0.9F, 256.7F, 1e20F};
  const std::vector<int64_t> truncated = {
      0,  0, 0,   3000000000,         -3000000000,
      -1, 0, 256, 7766281635539976192};  // 1e20F is 100000002004087734272
  const std::vector<int64_t> nearest = {0, 0, 0, 3000000000, -3000000000, -2, -1, 257, 0};
  for (const E type : {E::kInt8, E::kUint8, E::kInt16, E::kUint16, E::kInt32, E::kUint32, E::kInt64,
                       E::kUint64, E::kInt4, E::kUint2}) {
    const std::vector<int64_t>& values = BitsOf(type) < 8 ? nearest : truncated;
    for (const size_t length : {1, 7, 8, 33, 200}) {
      std::vector<float> input;
      std::vector<int64_t> expected;
      for (size_t i = 0; i < length; ++i) {
        input.push_back(once[(i * 4 + length) % once.size()]);
        expected.push_back(values[(i * 4 + length) % once.size()]);
      }
      EXPECT_EQ(Converted(FloatCodes(input), E::kFloat, type), Signed(expected, type))
          << TypeName(type) << ", length " << length;
    }
  }
}

// B21, onnx/onnx-mlir#2209
TEST(ConvertBugsTest, IntegersWrap) {
  EXPECT_EQ(Converted(Signed({200, -200, 300}, E::kInt16), E::kInt16, E::kInt8),
            Signed({-56, 56, 44}, E::kInt8));
  EXPECT_EQ(Converted(Signed({-1, 65536}, E::kInt32), E::kInt32, E::kUint16), (Codes{65535, 0}));
  EXPECT_EQ(Converted({(uint64_t{1} << 40) + 5}, E::kInt64, E::kInt32), Codes{5});
  EXPECT_EQ(Converted({UINT64_MAX}, E::kUint64, E::kInt64), Codes{UINT64_MAX});
  EXPECT_EQ(Converted({0xFF}, E::kInt8, E::kUint64), Codes{UINT64_MAX});
  EXPECT_EQ(Converted(Signed({17, -1}, E::kInt64), E::kInt64, E::kUint4), (Codes{1, 15}));
  EXPECT_EQ(Converted(Signed({5, -3}, E::kInt32), E::kInt32, E::kInt2), (Codes{1, 1}));
}

// B22, onnx/onnx PR #7784
TEST(ConvertBugsTest, E8m0InEveryRoundMode) {
  const Codes input = FloatCodes({0.124F, 1.1F, 1.125F, 1.25F, 1.5F, 5.0F, std::ldexp(1.5F, 127),
                                  kInf, kNan, 0.0F, std::ldexp(1.0F, -127), 1e-45F});
  EXPECT_EQ(Converted(input, E::kFloat, E::kFloat8e8m0, {true, RoundMode::kUp}),
            (Codes{124, 128, 128, 128, 128, 130, 0xFE, 0xFE, 0xFF, 0, 0, 0}));
  EXPECT_EQ(Converted(input, E::kFloat, E::kFloat8e8m0, {true, RoundMode::kDown}),
            (Codes{123, 127, 127, 127, 127, 129, 0xFE, 0xFE, 0xFF, 0, 0, 0}));
  EXPECT_EQ(Converted(input, E::kFloat, E::kFloat8e8m0, {true, RoundMode::kNearest}),
            (Codes{124, 127, 127, 127, 128, 129, 0xFE, 0xFE, 0xFF, 0, 0, 0}));
}

// B23, ROCm/aiter PR #3992
TEST(ConvertBugsTest, Float4TiesAndSpecialValues) {
  const std::vector<float> input = {0.25F, 0.75F, 1.25F, 1.75F, 2.5F, 3.5F,  5.0F, 5.01F, -3.5F,
                                    0.48F, 1.05F, 9.0F,  -8.0F, kInf, -kInf, kNan, -0.0F, 0.01F};
  const Codes expected = {0x0, 0x2, 0x2, 0x4, 0x4, 0x6, 0x6, 0x7, 0xE,
                          0x1, 0x2, 0x7, 0xF, 0x7, 0xF, 0x8, 0x8, 0x0};
  EXPECT_EQ(Converted(FloatCodes(input), E::kFloat, E::kFloat4e2m1), expected);
  EXPECT_EQ(Converted(FloatCodes(input), E::kFloat, E::kFloat4e2m1, kNoSaturate), expected);
}

// B25, webonnx/wonnx PR #41
TEST(ConvertBugsTest, FloatToIntegerTruncates) {
  EXPECT_EQ(Converted(FloatCodes({1.9F, -1.9F, 2.5F}), E::kFloat, E::kInt64),
            Signed({1, -1, 2}, E::kInt64));
  EXPECT_EQ(Converted(Converted({16777217}, E::kInt64, E::kInt32), E::kInt32, E::kInt64),
            Codes{16777217});
}

}  // namespace
}  // namespace onnx_run
