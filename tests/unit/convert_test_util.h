// What the tests of the conversion library share.
#ifndef ONNX_RUN_TESTS_UNIT_CONVERT_TEST_UTIL_H_
#define ONNX_RUN_TESTS_UNIT_CONVERT_TEST_UTIL_H_

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "runtime/convert/convert.h"
#include "runtime/element_type.h"

namespace onnx_run::convert_test {

using Codes = std::vector<uint64_t>;

inline constexpr ElementType kNumericTypes[] = {ElementType::kFloat,
                                                ElementType::kUint8,
                                                ElementType::kInt8,
                                                ElementType::kUint16,
                                                ElementType::kInt16,
                                                ElementType::kInt32,
                                                ElementType::kInt64,
                                                ElementType::kBool,
                                                ElementType::kFloat16,
                                                ElementType::kDouble,
                                                ElementType::kUint32,
                                                ElementType::kUint64,
                                                ElementType::kBfloat16,
                                                ElementType::kFloat8e4m3fn,
                                                ElementType::kFloat8e4m3fnuz,
                                                ElementType::kFloat8e5m2,
                                                ElementType::kFloat8e5m2fnuz,
                                                ElementType::kUint4,
                                                ElementType::kInt4,
                                                ElementType::kFloat4e2m1,
                                                ElementType::kFloat8e8m0,
                                                ElementType::kUint2,
                                                ElementType::kInt2};

inline uint64_t Bits(float value) { return std::bit_cast<uint32_t>(value); }
inline uint64_t Bits(double value) { return std::bit_cast<uint64_t>(value); }

inline Codes FloatCodes(const std::vector<float>& values) {
  Codes codes;
  for (const float value : values) codes.push_back(Bits(value));
  return codes;
}

inline std::vector<uint8_t> Pack(const Codes& codes, ElementType type) {
  std::vector<uint8_t> bytes(
      static_cast<size_t>(*PackedBytes(type, static_cast<int64_t>(codes.size()))));
  for (size_t i = 0; i < codes.size(); ++i) {
    StoreCode(bytes.data(), type, static_cast<int64_t>(i), codes[i]);
  }
  return bytes;
}

inline Codes Unpack(const std::vector<uint8_t>& bytes, ElementType type, size_t count) {
  Codes codes(count);
  for (size_t i = 0; i < count; ++i)
    codes[i] = LoadCode(bytes.data(), type, static_cast<int64_t>(i));
  return codes;
}

// Through Convert, in a buffer whose bytes behind the result must stay.
inline Codes Converted(const Codes& codes, ElementType from, ElementType to,
                       const ConvertOptions& options = {}) {
  const auto count = static_cast<int64_t>(codes.size());
  const std::vector<uint8_t> source = Pack(codes, from);
  const auto size = static_cast<size_t>(*PackedBytes(to, count));
  std::vector<uint8_t> destination(size + 16, 0xA5);
  const absl::Status status = Convert(source.data(), from, destination.data(), to, count, options);
  EXPECT_TRUE(status.ok()) << status;
  for (size_t i = size; i < destination.size(); ++i) {
    EXPECT_EQ(destination[i], 0xA5) << "wrote behind the result: " << TypeName(from) << " -> "
                                    << TypeName(to) << ", " << count << " elements";
  }
  return Unpack(destination, to, codes.size());
}

inline std::string PairName(ElementType from, ElementType to, const ConvertOptions& options) {
  const char* const modes[] = {"up", "down", "nearest"};
  return absl::StrCat(TypeName(from), " -> ", TypeName(to), ", saturate=", options.saturate ? 1 : 0,
                      ", round_mode=", modes[static_cast<int>(options.round_mode)]);
}

}  // namespace onnx_run::convert_test

#endif  // ONNX_RUN_TESTS_UNIT_CONVERT_TEST_UTIL_H_
