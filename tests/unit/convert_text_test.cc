// Numbers to text and text to numbers: docs/cast-semantics.md, section 3.7.
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>

#include "runtime/convert/text.h"
#include "tests/unit/convert_test_util.h"
#include "tests/unit/target_test_util.h"

namespace onnx_run {
namespace {

using convert_test::Bits;
using convert_test::Codes;
using E = ElementType;

std::string Text(uint64_t code, E type) {
  std::string text;
  EXPECT_TRUE(ConvertToString(&code, type, absl::MakeSpan(&text, 1)).ok());
  return text;
}

std::string FloatText(float value) { return Text(Bits(value), E::kFloat); }
std::string DoubleText(double value) { return Text(Bits(value), E::kDouble); }

uint64_t FromText(const std::string& text, E type, const ConvertOptions& options = {}) {
  uint64_t code = 0;
  const absl::Status status =
      ConvertFromString(absl::MakeConstSpan(&text, 1), &code, type, options);
  EXPECT_TRUE(status.ok()) << status;
  return code;
}

TEST(ConvertTextTest, FloatsAreShortestAndPositional) {
  EXPECT_EQ(FloatText(1.0F), "1");
  EXPECT_EQ(FloatText(0.1F), "0.1");
  EXPECT_EQ(FloatText(1e-7F), "0.0000001");
  EXPECT_EQ(FloatText(1e-5F), "0.00001");
  EXPECT_EQ(FloatText(1e10F), "10000000000");
  EXPECT_EQ(FloatText(1e20F), "100000002004087734272");
  EXPECT_EQ(FloatText(16777216.0F), "16777216");
  EXPECT_EQ(FloatText(123456789.0F), "123456792");
  EXPECT_EQ(FloatText(-0.0F), "-0");
  EXPECT_EQ(FloatText(std::numeric_limits<float>::max()),
            "340282346638528859811704183484516925440");
  EXPECT_EQ(FloatText(-1.5F), "-1.5");
  EXPECT_EQ(FloatText(2.75F), "2.75");
  EXPECT_EQ(FloatText(0.039187793F), "0.039187793");
  EXPECT_EQ(FloatText(1e-45F), "0.000000000000000000000000000000000000000000001");
  EXPECT_EQ(FloatText(std::numeric_limits<float>::quiet_NaN()), "NaN");
  EXPECT_EQ(FloatText(-std::numeric_limits<float>::infinity()), "-INF");
  EXPECT_EQ(DoubleText(1.0 / 3), "0.3333333333333333");
  EXPECT_EQ(DoubleText(0.1), "0.1");
  EXPECT_EQ(DoubleText(16777217), "16777217");
  EXPECT_EQ(DoubleText(-std::numeric_limits<double>::denorm_min()),
            "-0." + std::string(323, '0') + "5");
}

TEST(ConvertTextTest, NarrowFloatsAreShortestForTheirOwnType) {
  EXPECT_EQ(Text(0x2E66, E::kFloat16), "0.1");
  EXPECT_EQ(Text(0x7BFF, E::kFloat16), "65504");
  EXPECT_EQ(Text(0x0001, E::kFloat16), "0.00000006");
  EXPECT_EQ(Text(0x3DCD, E::kBfloat16), "0.1");
  EXPECT_EQ(Text(0x7F7F, E::kBfloat16), "338953138925153547590470800371487866880");
  EXPECT_EQ(Text(0x7F80, E::kBfloat16), "INF");
  EXPECT_EQ(Text(0x7E, E::kFloat8e4m3fn), "448");
  EXPECT_EQ(Text(0xFF, E::kFloat8e4m3fn), "NaN");
  EXPECT_EQ(Text(0x80, E::kFloat8e4m3fnuz), "NaN");
  EXPECT_EQ(Text(0x80, E::kFloat8e4m3fn), "-0");
  EXPECT_EQ(Text(0x82, E::kFloat8e4m3fnuz), "-0.002");
  EXPECT_EQ(Text(0x7F, E::kFloat8e8m0), "1");
  EXPECT_EQ(Text(0x7E, E::kFloat8e8m0), "0.5");
  EXPECT_EQ(Text(0xFF, E::kFloat8e8m0), "NaN");
  EXPECT_EQ(Text(0xFE, E::kFloat8e8m0), "170141183460469231731687303715884105728");
}

TEST(ConvertTextTest, IntegersAndBool) {
  EXPECT_EQ(Text(9007199254740993, E::kInt64), "9007199254740993");
  EXPECT_EQ(Text(uint64_t{1} << 63, E::kInt64), "-9223372036854775808");
  EXPECT_EQ(Text(UINT64_MAX, E::kUint64), "18446744073709551615");
  EXPECT_EQ(Text(65, E::kUint8), "65");
  EXPECT_EQ(Text(0xFE, E::kInt8), "-2");
  EXPECT_EQ(Text(0x3, E::kInt2), "-1");
  EXPECT_EQ(Text(0xF, E::kUint4), "15");
  EXPECT_EQ(Text(0, E::kBool), "0");
  EXPECT_EQ(Text(7, E::kBool), "1");
}

// Every value of every type of 16 bits or fewer reads back as itself.
TEST(ConvertTextTest, RoundTripOfEveryNarrowValue) {
  for (const E type : convert_test::kNumericTypes) {
    if (BitsOf(type) > 16) continue;
    Codes codes(size_t{1} << BitsOf(type));
    if (type == E::kBool) codes.resize(2);
    for (size_t i = 0; i < codes.size(); ++i) codes[i] = i;
    const std::vector<uint8_t> source = convert_test::Pack(codes, type);
    std::vector<std::string> texts(codes.size());
    ASSERT_TRUE(ConvertToString(source.data(), type, absl::MakeSpan(texts)).ok());
    std::vector<uint8_t> back(source.size());
    ASSERT_TRUE(ConvertFromString(texts, back.data(), type,
                                  {.saturate = false, .round_mode = RoundMode::kNearest})
                    .ok());
    for (size_t i = 0; i < codes.size(); ++i) {
      if (texts[i] == "NaN") {
        const uint64_t code = LoadCode(back.data(), type, static_cast<int64_t>(i));
        EXPECT_TRUE(std::isnan(CodeToDouble(code, type))) << TypeName(type) << " " << i;
      } else {
        EXPECT_EQ(LoadCode(back.data(), type, static_cast<int64_t>(i)), codes[i])
            << TypeName(type) << " " << texts[i];
      }
    }
  }
}

TEST(ConvertTextTest, RoundTripOfRandomWideFloats) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 30000; ++i) {
    const uint64_t bits = random();
    const auto value = std::bit_cast<double>(bits);
    if (!std::isnan(value)) {
      EXPECT_EQ(FromText(DoubleText(value), E::kDouble), bits) << DoubleText(value);
    }
    const auto narrow = std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (!std::isnan(narrow)) {
      EXPECT_EQ(FromText(FloatText(narrow), E::kFloat), Bits(narrow)) << FloatText(narrow);
    }
  }
}

template <typename Float>
std::string FixedText(Float value) {
  char buffer[800];
  return std::string(
      buffer, std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::fixed).ptr);
}

// std::to_chars is the oracle: the standard asks it for the shortest text, the nearest of those.
TEST(ConvertTextTest, WideFloatsAreAsTheStandardLibraryWritesThem) {
  std::mt19937_64 random(7);
  std::vector<float> floats;
  std::vector<double> doubles;
  for (int exponent = 0; exponent < 255; ++exponent) {
    for (int step = -8; step <= 8; ++step) {
      floats.push_back(std::bit_cast<float>(static_cast<uint32_t>((exponent << 23) + step)));
    }
  }
  for (int64_t exponent = 0; exponent < 2047; ++exponent) {
    for (int64_t step = -4; step <= 4; ++step) {
      doubles.push_back(std::bit_cast<double>((exponent << 52) + step));
    }
  }
  for (int i = 0; i < 100000; ++i) {
    floats.push_back(std::bit_cast<float>(static_cast<uint32_t>(random())));
    doubles.push_back(std::bit_cast<double>(random()));
    const auto places = static_cast<double>(random() % 12);
    const double decimal = static_cast<double>(random() % 1000000007) / std::pow(10, places);
    doubles.push_back(-decimal);
    floats.push_back(static_cast<float>(decimal));
    floats.push_back(std::ldexp(static_cast<float>(random() % 4096), -static_cast<int>(i % 30)));
    doubles.push_back(std::ldexp(static_cast<double>(random() >> 11), -static_cast<int>(i % 80)));
  }
  const auto check = [](const auto& values, E type) {
    std::vector<std::string> texts(values.size());
    ASSERT_TRUE(ConvertToString(values.data(), type, absl::MakeSpan(texts)).ok());
    for (size_t i = 0; i < values.size(); ++i) {
      if (!std::isfinite(values[i])) continue;
      ASSERT_EQ(texts[i], FixedText(values[i]));
      ASSERT_EQ(Text(Bits(values[i]), type), texts[i]);
    }
  };
  check(floats, E::kFloat);
  check(doubles, E::kDouble);
}

void CheckIntegersOfEveryLength() {
  for (const E type : {E::kInt64, E::kUint64, E::kInt32, E::kUint32, E::kInt16, E::kUint16}) {
    std::vector<uint64_t> values;
    uint64_t power = 1;
    for (int i = 0; i < 20; ++i, power *= 10) {
      for (const uint64_t value : {power - 1, power, power + 1, 0 - power, 1 - power}) {
        values.push_back(value);
      }
    }
    for (int bit = 0; bit < 64; ++bit) values.push_back(uint64_t{1} << bit);
    for (uint64_t code = 0; code < 65536; ++code) values.push_back(code);
    std::mt19937_64 random(11);
    for (int i = 0; i < 100'003; ++i) values.push_back(random() >> random() % 64);
    const std::vector<uint8_t> source = convert_test::Pack(values, type);
    std::vector<std::string> texts(values.size(), std::string(100, 'x'));
    texts.resize(values.size() / 2);
    texts.resize(values.size());
    ASSERT_TRUE(ConvertToString(source.data(), type, absl::MakeSpan(texts)).ok());
    for (size_t i = 0; i < values.size(); ++i) {
      const int unused = 64 - BitsOf(type);
      const std::string wanted =
          KindOf(type) == ElementKind::kSigned
              ? std::to_string(static_cast<int64_t>(values[i] << unused) >> unused)
              : std::to_string(values[i] << unused >> unused);
      ASSERT_EQ(texts[i], wanted) << TypeName(type);
    }
  }
}
TEST(ConvertTextTest, IntegersOfEveryLength) { ForEachTarget(CheckIntegersOfEveryLength); }

// Texts of every length with the point at every place; strtod and longer texts, that go another
// way, are the oracles.
TEST(ConvertTextTest, ShortTextsReadAsLongOnes) {
  std::mt19937_64 random(3);
  for (size_t length = 1; length <= 19; ++length) {
    for (size_t point = 0; point <= length; ++point) {
      for (int repeat = 0; repeat < 40; ++repeat) {
        std::string text;
        for (size_t i = 0; i < length; ++i) text += static_cast<char>('0' + random() % 10);
        if (repeat % 4 == 0) text = std::string(length, repeat % 8 == 0 ? '0' : '9');
        text.insert(point, point == length && repeat % 2 == 0 ? "" : ".");
        if (repeat % 3 == 0) text.insert(0, repeat % 2 == 0 ? "-" : "+");
        std::string longer = text + (point == length && repeat % 2 == 0 ? "." : "");
        longer += std::string(30, '0');
        ASSERT_EQ(FromText(text, E::kDouble), Bits(std::strtod(text.c_str(), nullptr))) << text;
        ASSERT_EQ(FromText(text, E::kFloat), Bits(std::strtof(text.c_str(), nullptr))) << text;
        for (const E type : convert_test::kNumericTypes) {
          ASSERT_EQ(FromText(text, type), FromText(longer, type)) << text << " " << TypeName(type);
        }
        std::string wrong = text;
        constexpr char kWrong[] = "/:;-+ eE,.\x80\xB0\xFF";
        wrong[random() % wrong.size()] = kWrong[random() % (sizeof(kWrong) - 1)];
        char* end = nullptr;
        std::strtod(wrong.c_str(), &end);
        uint64_t code = 0;
        const bool ok = ConvertFromString(absl::MakeConstSpan(&wrong, 1), &code, E::kInt32).ok();
        const bool blank_end =
            wrong.back() == ' ' && end == wrong.data() + wrong.size() - 1 && wrong.size() > 1;
        ASSERT_EQ(ok, (end == wrong.data() + wrong.size() || blank_end) && end != wrong.data())
            << wrong;
      }
    }
  }
}

// Signs and digits of every length, some spoilt, against the way of texts that end in a point.
TEST(ConvertTextTest, IntegersOfEveryLengthReadAsDecimals) {
  std::mt19937_64 random(5);
  for (size_t length = 1; length <= 30; ++length) {
    for (int repeat = 0; repeat < 200; ++repeat) {
      std::string text;
      for (size_t i = 0; i < length; ++i) text += static_cast<char>('0' + random() % 10);
      if (repeat % 8 == 0) text = std::string(length, repeat % 16 == 0 ? '0' : '9');
      if (repeat % 3 == 0) text[0] = repeat % 2 == 0 ? '-' : '+';
      if (repeat % 5 == 0) text.reserve(100);
      const bool digits = text.size() > 1 || (text != "-" && text != "+");
      unsigned __int128 wide = 0;  // of 38 digits or fewer: exact
      for (const char c : text) {
        if (c >= '0') wide = wide * 10 + static_cast<unsigned>(c - '0');
      }
      const uint64_t value =
          text[0] == '-' ? 0 - static_cast<uint64_t>(wide) : static_cast<uint64_t>(wide);
      for (const E type : convert_test::kNumericTypes) {
        if (KindOf(type) != ElementKind::kSigned && KindOf(type) != ElementKind::kUnsigned)
          continue;
        uint64_t code = 0;
        const bool ok = ConvertFromString(absl::MakeConstSpan(&text, 1), &code, type).ok();
        ASSERT_EQ(ok, digits) << text;
        const uint64_t mask = BitsOf(type) == 64 ? ~uint64_t{0} : (uint64_t{1} << BitsOf(type)) - 1;
        if (ok) ASSERT_EQ(code, value & mask) << text << " " << TypeName(type);
      }
      if (digits) {
        const bool is_zero = text.find_first_of("123456789") == std::string::npos;
        ASSERT_EQ(FromText(text, E::kBool), is_zero ? 0U : 1U) << text;
      }
      std::string wrong = text;
      constexpr char kWrong[] = "/:;- eE,\x80\xB0\xFF";
      wrong[1 + random() % std::max<size_t>(1, wrong.size() - 1) - (wrong.size() == 1 ? 1 : 0)] =
          kWrong[random() % (sizeof(kWrong) - 1)];
      char* end = nullptr;
      std::strtod(wrong.c_str(), &end);
      const bool blank_end =
          wrong.back() == ' ' && end == wrong.data() + wrong.size() - 1 && wrong.size() > 1;
      uint64_t code = 0;
      const bool ok = ConvertFromString(absl::MakeConstSpan(&wrong, 1), &code, E::kInt64).ok();
      ASSERT_EQ(ok, (end == wrong.data() + wrong.size() || blank_end) && end != wrong.data())
          << wrong;
    }
  }
}

// Texts are written over whatever a buffer's strings held before: of any length, with memory of
// their own or without.
TEST(ConvertTextTest, TextsAreWrittenOverEarlierOnes) {
  std::mt19937_64 random(7);
  constexpr size_t kCount = 4000;
  std::vector<std::string> texts(kCount);
  for (int round = 0; round < 3; ++round) {
    for (const E type : convert_test::kNumericTypes) {
      std::vector<uint64_t> values(kCount);
      for (uint64_t& value : values) value = random() >> random() % 64;
      const std::vector<uint8_t> source = convert_test::Pack(values, type);
      for (std::string& text : texts) {
        switch (random() % 6) {
          case 0: text = std::string(random() % 40, 'x'); break;
          case 1: text = std::string(); break;
          case 2: text.clear(); break;
          case 3: text.resize(text.size() / 2); break;
          default: break;
        }
      }
      ASSERT_TRUE(ConvertToString(source.data(), type, absl::MakeSpan(texts)).ok());
      for (size_t i = 0; i < kCount; ++i) {
        char buffer[convert_internal::kMaxNumberText];
        const int length = convert_internal::NumberToText(values[i], type, buffer);
        ASSERT_EQ(texts[i], std::string(buffer, static_cast<size_t>(length))) << TypeName(type);
        ASSERT_EQ(texts[i].c_str()[texts[i].size()], '\0');
      }
    }
  }
}

TEST(ConvertTextTest, ExponentsMoveThePoint) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 20000; ++i) {
    const uint64_t digits = random() >> (random() % 60);
    const int exponent = static_cast<int>(random() % 60) - 40;
    const std::string text = std::to_string(digits) + (i % 2 == 0 ? "e" : ".0E") +
                             (exponent >= 0 && i % 3 == 0 ? "+" : "") + std::to_string(exponent);
    const std::string longer =
        std::to_string(digits) + "." + std::string(30, '0') + "e" + std::to_string(exponent);
    ASSERT_EQ(FromText(text, E::kDouble), Bits(std::strtod(text.c_str(), nullptr))) << text;
    ASSERT_EQ(FromText(text, E::kFloat), Bits(std::strtof(text.c_str(), nullptr))) << text;
    for (const E type : {E::kFloat16, E::kBfloat16, E::kFloat8e4m3fn, E::kFloat8e8m0,
                         E::kFloat4e2m1, E::kInt64, E::kBool}) {
      ASSERT_EQ(FromText(text, type), FromText(longer, type)) << text << " " << TypeName(type);
    }
  }
  // Ties, by a negative and a positive exponent.
  EXPECT_EQ(FromText("100048828125e-11", E::kFloat16), 0x3C00U);
  EXPECT_EQ(FromText("1000488281250001e-15", E::kFloat16), 0x3C01U);
  EXPECT_EQ(FromText("2049e0", E::kFloat16), 0x6800U);
  EXPECT_EQ(FromText("6552e1", E::kFloat16), 0x7C00U);
  EXPECT_EQ(FromText("16777217e0", E::kFloat), Bits(16777216.0F));
}

TEST(ConvertTextTest, WordsInAnyCase) {
  for (const char* text : {"INF", "+inf", "Infinity", "+INFINITY", " inf\t"}) {
    EXPECT_EQ(FromText(text, E::kFloat), 0x7F800000U) << text;
  }
  for (const char* text : {"-inf", "-INF", "-Infinity"}) {
    EXPECT_EQ(FromText(text, E::kFloat), 0xFF800000U) << text;
  }
  for (const char* text : {"nan", "NaN", "+NAN"})
    EXPECT_EQ(FromText(text, E::kFloat), 0x7FC00000U) << text;
  EXPECT_EQ(FromText("-nan", E::kFloat), 0xFFC00000U);
  EXPECT_EQ(FromText("inf", E::kFloat8e4m3fn), 0x7EU);
  EXPECT_EQ(FromText("inf", E::kFloat8e4m3fn, {.saturate = false}), 0x7FU);
  EXPECT_EQ(FromText("inf", E::kInt32), 0U);
  EXPECT_EQ(FromText("nan", E::kUint4), 0U);
  EXPECT_EQ(FromText("nan", E::kFloat8e8m0), 0xFFU);
}

TEST(ConvertTextTest, DecimalsAreRoundedOnce) {
  EXPECT_EQ(FromText("3.14", E::kFloat), Bits(3.14F));
  EXPECT_EQ(FromText("1e-5", E::kFloat), Bits(1e-5F));
  EXPECT_EQ(FromText("1E8", E::kFloat), Bits(1e8F));
  EXPECT_EQ(FromText(".5", E::kFloat), Bits(0.5F));
  EXPECT_EQ(FromText("5.", E::kFloat), Bits(5.0F));
  EXPECT_EQ(FromText("+00012.50e+1", E::kFloat), Bits(125.0F));
  EXPECT_EQ(FromText("-0", E::kFloat), 0x80000000U);
  EXPECT_EQ(FromText("1.00048828125", E::kFloat16), 0x3C00U);           // a tie
  EXPECT_EQ(FromText("1.00048828125000000001", E::kFloat16), 0x3C01U);  // above it
  EXPECT_EQ(FromText("1.00048828125" + std::string(5000, '0') + "1", E::kFloat16), 0x3C01U);
  EXPECT_EQ(FromText("1.000488281249999999999999999999999999", E::kFloat16), 0x3C00U);
  EXPECT_EQ(FromText("0.0000000298023223876953125", E::kFloat16), 0x0000U);  // 2^-25, a tie
  EXPECT_EQ(FromText("0.00000002980232238769531250000000000000000001", E::kFloat16), 0x0001U);
  EXPECT_EQ(FromText("2.5", E::kFloat4e2m1), 0x4U);
  EXPECT_EQ(FromText("2.50000000000000000000000000000000001", E::kFloat4e2m1), 0x5U);
  EXPECT_EQ(FromText("1.00000000000000000000000000000000001", E::kFloat8e8m0), 0x80U);
  EXPECT_EQ(FromText("1e-9999", E::kFloat8e8m0), 0x00U);
  EXPECT_EQ(FromText("1e-9999", E::kFloat8e8m0, {.saturate = false}), 0xFFU);
  EXPECT_EQ(FromText("0e99999", E::kFloat8e8m0, {.saturate = false}), 0xFFU);
  // Half of the least positive double, exactly and a little more.
  const std::string half = [] {
    char buffer[1200];
    std::snprintf(buffer, sizeof(buffer), "%.1080f", std::numeric_limits<double>::denorm_min());
    // Halve the decimal by hand.
    std::string result;
    int rest = 0;
    for (const char* c = buffer; *c != 0; ++c) {
      if (*c == '.') {
        result += '.';
        continue;
      }
      const int digit = rest * 10 + (*c - '0');
      result += static_cast<char>('0' + digit / 2);
      rest = digit % 2;
    }
    return result;
  }();
  EXPECT_EQ(FromText(half, E::kDouble), 0U);
  EXPECT_EQ(FromText(half + "1", E::kDouble), 1U);
}

TEST(ConvertTextTest, IntegersOfAnyLengthWrap) {
  EXPECT_EQ(FromText("9007199254740993", E::kInt64), 9007199254740993U);
  EXPECT_EQ(FromText("18446744073709551615", E::kUint64), UINT64_MAX);
  EXPECT_EQ(FromText("18446744073709551616", E::kUint64), 0U);
  EXPECT_EQ(FromText("-9223372036854775808", E::kInt64), uint64_t{1} << 63);
  EXPECT_EQ(FromText("1" + std::string(30, '0'), E::kUint64),
            5076944270305263616U);  // 10^30 mod 2^64
  EXPECT_EQ(FromText("1e30", E::kUint64), 5076944270305263616U);
  EXPECT_EQ(FromText("1e64", E::kUint64), 0U);
  EXPECT_EQ(FromText("1e18446744073709551617", E::kUint64), 0U);
  EXPECT_EQ(FromText("2.718", E::kInt32), 2U);
  EXPECT_EQ(FromText("-2.718", E::kInt32), 0xFFFFFFFEU);
  EXPECT_EQ(FromText("1.25e1", E::kInt32), 12U);
  EXPECT_EQ(FromText("1234e-2", E::kUint8), 12U);
  EXPECT_EQ(FromText("1e-18446744073709551617", E::kUint64), 0U);
  EXPECT_EQ(FromText("2.9", E::kInt4), 2U);  // text is truncated, whatever the width
  EXPECT_EQ(FromText("17", E::kUint4), 1U);
}

TEST(ConvertTextTest, BoolIsNumberNotZero) {
  for (const char* text : {"1", "-3", "0.5", "1e-9999999", "NaN", "-inf", "true", "TRUE", " True ",
                           "18446744073709551616", "018446744073709551616", "36893488147419103232",
                           "184467440737095516160", "-18446744073709551616",
                           "+340282366920938463463374607431768211456"}) {
    EXPECT_EQ(FromText(text, E::kBool), 1U) << text;
  }
  for (const char* text : {"0", "0.0", "-0", "0e5", "false", "FALSE", "00000000000000000000000"})
    EXPECT_EQ(FromText(text, E::kBool), 0U) << text;
}

TEST(ConvertTextTest, MalformedTextNamesIndexAndText) {
  const std::string bad[] = {
      "",      " ",      "Hello", "1.5f",
      "1,5",   "0x10",   "1_000", "1e",
      "1e+",   "--1",    "+",     ".",
      "e5",    "1.5abc", "1 2",   std::string("1\0", 2),
      "infin", "nan(1)", "true",  std::string("\xC2\xA0") + "1"};  // a space, but not ASCII's
  for (const std::string& text : bad) {
    for (const E type : {E::kFloat, E::kDouble, E::kFloat16, E::kInt32, E::kUint64, E::kInt4}) {
      const std::string texts[] = {"1", "2", text};
      uint64_t out[3];
      const absl::Status status = ConvertFromString(texts, out, type);
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument)
          << text << " to " << TypeName(type);
      EXPECT_NE(status.message().find("element 2"), absl::string_view::npos) << status;
    }
  }
  const std::string texts[] = {"Hello"};
  float out;
  EXPECT_NE(ConvertFromString(texts, &out, E::kFloat).message().find("\"Hello\""),
            absl::string_view::npos);
}

TEST(ConvertTextTest, PackedTypesAndEmptySpans) {
  const std::string texts[] = {"1", "-2", "7"};
  uint8_t packed[] = {0xFF, 0xFF};
  ASSERT_TRUE(ConvertFromString(texts, packed, E::kInt4).ok());
  EXPECT_EQ(packed[0], 0xE1);
  EXPECT_EQ(packed[1], 0x07);
  EXPECT_TRUE(ConvertFromString({}, nullptr, E::kInt4).ok());
  EXPECT_TRUE(ConvertToString(nullptr, E::kInt4, {}).ok());
}

TEST(ConvertTextTest, NoStringsOrComplexNumbers) {
  std::string text = "1";
  double out[2];
  EXPECT_FALSE(ConvertFromString(absl::MakeConstSpan(&text, 1), out, E::kComplex64).ok());
  EXPECT_FALSE(ConvertFromString(absl::MakeConstSpan(&text, 1), out, E::kString).ok());
  EXPECT_FALSE(ConvertToString(out, E::kComplex128, absl::MakeSpan(&text, 1)).ok());
}

// A text chosen by an attacker costs time in proportion to its length.
TEST(ConvertTextTest, ExtremeTextsAreRightAndQuick) {
  const auto start = std::chrono::steady_clock::now();
  const std::string nines(1'000'000, '9');
  EXPECT_EQ(FromText(nines, E::kDouble), Bits(std::numeric_limits<double>::infinity()));
  EXPECT_EQ(FromText(nines + "e-1000000", E::kDouble), Bits(1.0));
  EXPECT_EQ(FromText("0." + std::string(1'000'000, '0') + "1e1000001", E::kFloat), Bits(1.0F));
  EXPECT_EQ(FromText("0." + nines, E::kFloat16), 0x3C00U);
  EXPECT_EQ(FromText("0." + nines, E::kFloat8e8m0), 0x7FU);
  EXPECT_EQ(FromText("1." + std::string(1'000'000, '0') + "1", E::kFloat8e8m0), 0x80U);
  EXPECT_EQ(FromText("1e999999999999", E::kFloat), 0x7F800000U);
  EXPECT_EQ(FromText("-1e-999999999999999999999999", E::kFloat), 0x80000000U);
  EXPECT_EQ(FromText("1e" + nines, E::kFloat8e4m3fn, {.saturate = false}), 0x7FU);
  EXPECT_EQ(FromText(nines, E::kUint64) % 4, 3U);  // 10^1000000 - 1
  EXPECT_EQ(FromText(nines, E::kUint64), UINT64_MAX);
  const auto seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  EXPECT_LT(seconds, 5.0);
}

}  // namespace
}  // namespace onnx_run
