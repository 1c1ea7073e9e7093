// The library's own promises: packing, copying, errors, single elements, parts on several threads.
#include "runtime/convert/convert.h"

#include <thread>

#include "tests/unit/convert_test_util.h"

namespace onnx_run {
namespace {

using convert_test::Codes;
using E = ElementType;

TEST(ConvertTest, PackedElementsLieFromTheLowBitsUp) {
  const uint8_t bytes[] = {0xE4, 0x1B};
  EXPECT_EQ(LoadCode(bytes, E::kUint2, 0), 0U);
  EXPECT_EQ(LoadCode(bytes, E::kUint2, 1), 1U);
  EXPECT_EQ(LoadCode(bytes, E::kUint2, 3), 3U);
  EXPECT_EQ(LoadCode(bytes, E::kUint2, 4), 3U);
  EXPECT_EQ(LoadCode(bytes, E::kInt4, 1), 0xEU);
  EXPECT_EQ(LoadCode(bytes, E::kUint16, 0), 0x1BE4U);
  uint8_t out[] = {0xFF, 0xFF};
  StoreCode(out, E::kInt4, 1, 0x3);
  StoreCode(out, E::kUint2, 5, 0x0);
  EXPECT_EQ(out[0], 0x3F);
  EXPECT_EQ(out[1], 0xF3);
}

TEST(ConvertTest, SameTypeCopiesTheBytes) {
  const Codes nans = {0x7F800001, 0xFF812345, 0x7FC00000};
  EXPECT_EQ(convert_test::Converted(nans, E::kFloat, E::kFloat), nans);
  EXPECT_EQ(ConvertCode(0x7F800001, E::kFloat, E::kFloat), 0x7F800001U);
  for (const E type : convert_test::kNumericTypes) {
    Codes codes(133);
    for (size_t i = 0; i < codes.size(); ++i)
      codes[i] = i * 37 & ((uint64_t{1} << std::min(BitsOf(type), 8)) - 1);
    EXPECT_EQ(convert_test::Converted(codes, type, type), codes) << TypeName(type);
  }
}

TEST(ConvertTest, UnusedBitsOfTheLastByteAreIgnoredAndCleared) {
  for (const E from : {E::kInt4, E::kUint4, E::kFloat4e2m1, E::kInt2, E::kUint2}) {
    for (const E to : {E::kInt4, E::kUint4, E::kFloat4e2m1, E::kInt2, E::kUint2}) {
      for (int64_t count = 1; count < 300; ++count) {
        const auto from_bytes = static_cast<size_t>(*PackedBytes(from, count));
        const auto to_bytes = static_cast<size_t>(*PackedBytes(to, count));
        const std::vector<uint8_t> source(from_bytes, 0xFF);
        std::vector<uint8_t> destination(to_bytes + 1, 0xA5);
        ASSERT_TRUE(Convert(source.data(), from, destination.data(), to, count).ok());
        const int used = static_cast<int>(count * BitsOf(to) % 8);
        if (used != 0) {
          ASSERT_EQ(destination[to_bytes - 1] >> used, 0)
              << TypeName(from) << " " << TypeName(to) << " " << count;
        }
        ASSERT_EQ(destination[to_bytes], 0xA5);
      }
    }
  }
}

TEST(ConvertTest, AnyNonzeroByteOfABoolIsTrue) {
  for (const E to : convert_test::kNumericTypes) {
    if (to == E::kBool) continue;
    const Codes result = convert_test::Converted({0, 1, 2, 0x80, 0xFF}, E::kBool, to);
    EXPECT_EQ(result[2], result[1]) << TypeName(to);
    EXPECT_EQ(result[3], result[1]) << TypeName(to);
    EXPECT_EQ(result[4], result[1]) << TypeName(to);
    EXPECT_EQ(CodeToDouble(result[1], to), 1.0) << TypeName(to);
  }
}

TEST(ConvertTest, InPlaceWhenTheWidthsMatch) {
  for (const E from : convert_test::kNumericTypes) {
    for (const E to : convert_test::kNumericTypes) {
      if (BitsOf(from) != BitsOf(to)) continue;
      Codes codes(1000);
      for (size_t i = 0; i < codes.size(); ++i) {
        codes[i] = (i * 0x9E3779B97F4A7C15) >> (64 - BitsOf(from));
      }
      const Codes expected = convert_test::Converted(codes, from, to);
      std::vector<uint8_t> buffer = convert_test::Pack(codes, from);
      ASSERT_TRUE(Convert(buffer.data(), from, buffer.data(), to, 1000).ok());
      EXPECT_EQ(convert_test::Unpack(buffer, to, 1000), expected)
          << convert_test::PairName(from, to, {});
    }
  }
}

TEST(ConvertTest, StringsAndComplexNumbersAreRefused) {
  uint8_t buffer[64] = {};
  for (const E bad : {E::kString, E::kComplex64, E::kComplex128, E::kUndefined}) {
    for (const absl::Status& status : {Convert(buffer, bad, buffer + 32, E::kFloat, 1),
                                       Convert(buffer, E::kFloat, buffer + 32, bad, 1)}) {
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
      EXPECT_NE(status.message().find(std::string(TypeName(bad))), absl::string_view::npos)
          << status;
    }
  }
  EXPECT_FALSE(Convert(buffer, E::kFloat, buffer + 32, E::kFloat16, -1).ok());
}

TEST(ConvertTest, NoElementsNeedNoMemory) {
  for (const E from : convert_test::kNumericTypes) {
    for (const E to : convert_test::kNumericTypes)
      EXPECT_TRUE(Convert(nullptr, from, nullptr, to, 0).ok());
  }
}

TEST(ConvertTest, DoublesToAndFromCodes) {
  EXPECT_EQ(CodeToDouble(0x7E, E::kFloat8e4m3fn), 448.0);
  EXPECT_EQ(CodeToDouble(0xF, E::kInt4), -1.0);
  EXPECT_EQ(CodeToDouble(UINT64_MAX, E::kUint64), 18446744073709551616.0);
  EXPECT_EQ(CodeToDouble(0x00, E::kFloat8e8m0), 0x1p-127);
  EXPECT_EQ(CodeFromDouble(1e6, E::kFloat8e4m3fn), 0x7EU);
  EXPECT_EQ(CodeFromDouble(1e6, E::kFloat8e4m3fn, {.saturate = false}), 0x7FU);
  EXPECT_EQ(CodeFromDouble(-1.0, E::kInt4), 0xFU);
}

TEST(ConvertTest, PartsOnThreadsGiveTheSameBytes) {
  constexpr int64_t kCount = 3'000'001;
  std::vector<float> source(kCount);
  for (int64_t i = 0; i < kCount; ++i)
    source[static_cast<size_t>(i)] = static_cast<float>(i % 4099) * 0.03F - 60;
  const auto parallel_for = [](int64_t n, int64_t grain,
                               absl::FunctionRef<void(int64_t, int64_t)> fn) {
    const int64_t part = (n / 3 / grain + 1) * grain;
    std::vector<std::thread> threads;
    for (int64_t begin = 0; begin < n; begin += part) {
      threads.emplace_back([=] { fn(begin, std::min(n, begin + part)); });
    }
    for (std::thread& thread : threads) thread.join();
  };
  for (const E to : convert_test::kNumericTypes) {
    const auto size = static_cast<size_t>(*PackedBytes(to, kCount));
    std::vector<uint8_t> one(size);
    std::vector<uint8_t> many(size, 0xFF);
    ASSERT_TRUE(Convert(source.data(), E::kFloat, one.data(), to, kCount).ok());
    ASSERT_TRUE(
        ConvertParallel(source.data(), E::kFloat, many.data(), to, kCount, {}, parallel_for).ok());
    EXPECT_TRUE(one == many) << TypeName(to);
  }
}

}  // namespace
}  // namespace onnx_run
