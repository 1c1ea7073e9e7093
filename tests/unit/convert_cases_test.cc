// The verified value cases of docs/cast-semantics.md, section 5, row by row.
#include "tests/unit/convert_test_util.h"

namespace onnx_run {
namespace {

using convert_test::Codes;
using E = ElementType;

struct CastCase {
  int number;  // of the row
  E from;
  uint64_t input;
  E to;
  ConvertOptions options;
  uint64_t expected;
  const char* why;
};

constexpr CastCase kCastCases[] = {
    {1, E::kDouble, 0x3FF0020000001000, E::kFloat16, {true, RoundMode::kUp}, 0x3C01,
     "1+2^-11+2^-40: one rounding; via float gives 0x3C00"},
    {2, E::kDouble, 0x3FF0100000001000, E::kBfloat16, {true, RoundMode::kUp}, 0x3F81,
     "1+2^-8+2^-40: reference/ml_dtypes gives 0x3F80 (via float)"},
    {3, E::kDouble, 0x3FF1000000001000, E::kFloat8e4m3fn, {true, RoundMode::kUp}, 0x39,
     "1+2^-4+2^-40: via float gives 0x38"},
    {4, E::kDouble, 0x40EFFDFFFFFDE721, E::kFloat16, {true, RoundMode::kUp}, 0x7BFF,
     "just under the overflow tie; via float 65520 -> inf"},
    {5, E::kFloat, 0x477FEF00, E::kFloat16, {true, RoundMode::kUp}, 0x7BFF,
     "below the tie -> 65504"},
    {6, E::kFloat, 0x477FF000, E::kFloat16, {true, RoundMode::kUp}, 0x7C00,
     "tie between 65504 and 65536 -> inf"},
    {7, E::kFloat, 0x33000000, E::kFloat16, {true, RoundMode::kUp}, 0x0000,
     "2^-25 tie -> even -> +0"},
    {8, E::kFloat, 0x33000001, E::kFloat16, {true, RoundMode::kUp}, 0x0001,
     "next float above 2^-25 -> min subnormal"},
    {9, E::kFloat, 0xB2800000, E::kFloat16, {true, RoundMode::kUp}, 0x8000,
     "underflow keeps the sign: -0"},
    {10, E::kFloat, 0x387FE000, E::kFloat16, {true, RoundMode::kUp}, 0x0400,
     "1023.5*2^-24 tie, carries from subnormal to min normal"},
    {11, E::kFloat, 0x3F808000, E::kBfloat16, {true, RoundMode::kUp}, 0x3F80,
     "tie, even down"},
    {12, E::kFloat, 0x3F818000, E::kBfloat16, {true, RoundMode::kUp}, 0x3F82,
     "tie, odd goes up"},
    {13, E::kFloat, 0x7F7F7FFF, E::kBfloat16, {true, RoundMode::kUp}, 0x7F7F,
     "largest float that stays finite"},
    {14, E::kFloat, 0x7F7F8000, E::kBfloat16, {true, RoundMode::kUp}, 0x7F80,
     "tie at the top -> +inf"},
    {15, E::kFloat, 0x7F7FFFFF, E::kBfloat16, {true, RoundMode::kUp}, 0x7F80,
     "FLT_MAX -> +inf"},
    {16, E::kFloat, 0x7F800001, E::kBfloat16, {true, RoundMode::kUp}, 0x7FC0,
     "signalling NaN with low payload must stay NaN (a bare >>16 gives inf)"},
    {17, E::kFloat, 0xFFC12345, E::kFloat16, {true, RoundMode::kUp}, 0xFE09,
     "-NaN: sign kept, quiet bit set, top payload bits kept (canonical 0xFE00 also fine)"},
    {18, E::kDouble, 0x3690000000000000, E::kFloat, {true, RoundMode::kUp}, 0x00000000,
     "2^-150 tie -> +0"},
    {19, E::kDouble, 0x3690000000000001, E::kFloat, {true, RoundMode::kUp}, 0x00000001,
     "just above 2^-150 -> min subnormal"},
    {20, E::kDouble, 0x47EFFFFFEFFFFFFF, E::kFloat, {true, RoundMode::kUp}, 0x7F7FFFFF,
     "largest double that stays finite in float"},
    {21, E::kDouble, 0x47EFFFFFF0000000, E::kFloat, {true, RoundMode::kUp}, 0x7F800000,
     "2^128-2^103 tie -> +inf"},
    {22, E::kFloat, 0x43E00000, E::kFloat8e4m3fn, {false, RoundMode::kUp}, 0x7E,
     "448.0 max finite"},
    {23, E::kFloat, 0x43E80000, E::kFloat8e4m3fn, {false, RoundMode::kUp}, 0x7E,
     "464.0 tie: rounds to 448, in range even without saturation"},
    {24, E::kFloat, 0x43E80001, E::kFloat8e4m3fn, {false, RoundMode::kUp}, 0x7F,
     "464.00003 first float above the tie"},
    {25, E::kFloat, 0x43E88000, E::kFloat8e4m3fn, {true, RoundMode::kUp}, 0x7E,
     "465.0 above max"},
    {26, E::kFloat, 0x43780000, E::kFloat8e4m3fnuz, {false, RoundMode::kUp}, 0x80,
     "248 = tie above max 240 -> NaN"},
    {27, E::kFloat, 0x4377FFFF, E::kFloat8e4m3fnuz, {false, RoundMode::kUp}, 0x7F,
     "just below the tie -> 240"},
    {28, E::kFloat, 0x47700000, E::kFloat8e5m2, {false, RoundMode::kUp}, 0x7C,
     "tie above 57344 -> inf"},
    {29, E::kFloat, 0x47700000, E::kFloat8e5m2, {true, RoundMode::kUp}, 0x7B,
     "same, saturating"},
    {30, E::kFloat, 0xFF800000, E::kFloat8e5m2fnuz, {true, RoundMode::kUp}, 0xFF,
     "-inf saturates to -57344 (Cast 24+ text; NaN in the 19-23 text)"},
    {31, E::kFloat, 0xFF800000, E::kFloat8e4m3fnuz, {false, RoundMode::kUp}, 0x80,
     "-inf"},
    {32, E::kFloat, 0x7FC00000, E::kFloat8e5m2, {true, RoundMode::kUp}, 0x7E,
     "NaN (official data byte)"},
    {33, E::kFloat, 0xFFC00000, E::kFloat8e4m3fn, {false, RoundMode::kUp}, 0xFF,
     "-NaN keeps its sign"},
    {34, E::kFloat, 0xBA000000, E::kFloat8e4m3fnuz, {true, RoundMode::kUp}, 0x00,
     "-2^-11 tie -> zero; no -0, so 0x00 not 0x80"},
    {35, E::kFloat, 0x3A800000, E::kFloat8e4m3fn, {true, RoundMode::kUp}, 0x00,
     "2^-10 tie -> 0"},
    {36, E::kFloat, 0x3B400000, E::kFloat8e4m3fn, {true, RoundMode::kUp}, 0x02,
     "1.5*2^-9 tie -> even = 2*2^-9"},
    {37, E::kFloat, 0x3C700000, E::kFloat8e4m3fn, {true, RoundMode::kUp}, 0x08,
     "7.5*2^-9 tie: subnormal rounds up into the min normal"},
    {38, E::kFloat8e4m3fn, 0x80, E::kFloat8e4m3fnuz, {true, RoundMode::kUp}, 0x00,
     "-0 -> the only zero"},
    {39, E::kFloat8e4m3fn, 0x7E, E::kFloat8e4m3fnuz, {true, RoundMode::kUp}, 0x7F,
     "448 -> 240"},
    {40, E::kFloat8e5m2, 0x7C, E::kFloat8e4m3fn, {true, RoundMode::kUp}, 0x7E,
     "inf -> 448"},
    {41, E::kFloat8e4m3fnuz, 0x80, E::kFloat, {true, RoundMode::kUp}, 0xFFC00000,
     "the only FNUZ NaN; ORT and onnx-light write 0xFFC00000"},
    {42, E::kFloat, 0x3E800000, E::kFloat4e2m1, {true, RoundMode::kUp}, 0x0,
     "0.25"},
    {43, E::kFloat, 0x3F400000, E::kFloat4e2m1, {true, RoundMode::kUp}, 0x2,
     "0.75"},
    {44, E::kFloat, 0x40200000, E::kFloat4e2m1, {true, RoundMode::kUp}, 0x4,
     "2.5"},
    {45, E::kFloat, 0x40A00000, E::kFloat4e2m1, {true, RoundMode::kUp}, 0x6,
     "5.0"},
    {46, E::kFloat, 0x40E00000, E::kFloat4e2m1, {true, RoundMode::kUp}, 0x7,
     "7.0"},
    {47, E::kFloat, 0xBDCCCCCD, E::kFloat4e2m1, {true, RoundMode::kUp}, 0x8,
     "-0.1"},
    {48, E::kFloat, 0x7F800000, E::kFloat4e2m1, {true, RoundMode::kUp}, 0x7,
     "inf -> 6"},
    {49, E::kFloat, 0x7FC00000, E::kFloat4e2m1, {true, RoundMode::kUp}, 0x8,
     "NaN: official data (1.19+) 0x8 = -0; float4 note and the 1.18 data 0x7 = 6"},
    {50, E::kFloat, 0x00000000, E::kFloat8e8m0, {true, RoundMode::kUp}, 0x00,
     "0 -> smallest 2^-127"},
    {51, E::kFloat, 0x00000000, E::kFloat8e8m0, {false, RoundMode::kNearest}, 0xFF,
     "0 -> NaN (reference gives 0x00)"},
    {52, E::kFloat, 0x7F800000, E::kFloat8e8m0, {true, RoundMode::kUp}, 0xFE,
     "inf -> 2^127 (reference gives 0xFF)"},
    {53, E::kFloat, 0x3F900000, E::kFloat8e8m0, {true, RoundMode::kUp}, 0x80,
     "1.125 -> 2"},
    {54, E::kFloat, 0x3F900000, E::kFloat8e8m0, {true, RoundMode::kDown}, 0x7F,
     "1.125 -> 1"},
    {55, E::kFloat, 0x3FC00000, E::kFloat8e8m0, {true, RoundMode::kNearest}, 0x80,
     "1.5 tie up -> 2"},
    {56, E::kFloat, 0x00400000, E::kFloat8e8m0, {true, RoundMode::kUp}, 0x00,
     "exactly 2^-127 is representable (reference gives 0x01)"},
    {57, E::kFloat, 0x00500000, E::kFloat8e8m0, {true, RoundMode::kUp}, 0x01,
     "subnormal float, up"},
    {58, E::kFloat, 0x00500000, E::kFloat8e8m0, {true, RoundMode::kNearest}, 0x00,
     "below 1.5*2^-127 (reference gives 0x01)"},
    {59, E::kFloat, 0x00080000, E::kFloat8e8m0, {true, RoundMode::kUp}, 0x00,
     "below the minimum, saturated"},
    {60, E::kFloat, 0x00080000, E::kFloat8e8m0, {false, RoundMode::kNearest}, 0xFF,
     "below the minimum -> NaN"},
    {61, E::kFloat, 0x7F400000, E::kFloat8e8m0, {true, RoundMode::kUp}, 0xFE,
     "above max, saturated"},
    {62, E::kFloat, 0x7F400000, E::kFloat8e8m0, {false, RoundMode::kNearest}, 0xFF,
     "above max -> NaN"},
    {63, E::kFloat, 0xBF800000, E::kFloat8e8m0, {true, RoundMode::kUp}, 0xFF,
     "negative: unspecified, take NaN"},
    {64, E::kInt64, 9223372036854775807, E::kFloat, {true, RoundMode::kUp}, 0x5F000000,
     "-> 2^63"},
    {65, E::kInt64, 9223372036854775807, E::kDouble, {true, RoundMode::kUp}, 0x43E0000000000000,
     "-> 2^63"},
    {66, E::kInt64, 1152921573326323713, E::kFloat, {true, RoundMode::kUp}, 0x5D800001,
     "2^60+2^36+1: via double gives 0x5D800000"},
    {67, E::kUint64, 9223372586610589697U, E::kFloat, {true, RoundMode::kUp}, 0x5F000001,
     "2^63+2^39+1: via double gives 0x5F000000"},
    {68, E::kUint64, 18446744073709551615U, E::kFloat, {true, RoundMode::kUp}, 0x5F800000,
     "-> 2^64"},
    {69, E::kUint64, 18446744073709551615U, E::kFloat16, {true, RoundMode::kUp}, 0x7C00,
     "-> inf"},
    {70, E::kInt32, 1077936129, E::kBfloat16, {true, RoundMode::kUp}, 0x4E81,
     "2^30+2^22+1: reference via float gives 0x4E80"},
    {71, E::kInt32, 2049, E::kFloat16, {true, RoundMode::kUp}, 0x6800,
     "tie -> 2048"},
    {72, E::kInt32, 65519, E::kFloat16, {true, RoundMode::kUp}, 0x7BFF,
     "-> 65504"},
    {73, E::kInt32, 65520, E::kFloat16, {true, RoundMode::kUp}, 0x7C00,
     "-> inf"},
    {74, E::kInt32, 0xFFFFFC18, E::kFloat8e4m3fn, {true, RoundMode::kUp}, 0xFE,
     "saturates"},
    {75, E::kInt8, 5, E::kFloat4e2m1, {true, RoundMode::kUp}, 0x6,
     "5 is a tie of 4 and 6 -> 4"},
    {76, E::kDouble, 0xBFF8000000000000, E::kUint16, {true, RoundMode::kUp}, 65535,
     "trunc, then two's complement (seed data)"},
    {77, E::kFloat, 0xBF7D70A4, E::kUint8, {true, RoundMode::kUp}, 0,
     "trunc to -0 -> 0"},
    {78, E::kFloat, 0x40300000, E::kInt32, {true, RoundMode::kUp}, 2,
     "trunc (seed data)"},
    {79, E::kFloat, 0xC0400000, E::kInt2, {true, RoundMode::kUp}, 1,
     "seed + official data"},
    {80, E::kFloat, 0xC1100000, E::kInt4, {true, RoundMode::kUp}, 7,
     "official data"},
    {81, E::kFloat, 0x4396599A, E::kUint8, {true, RoundMode::kUp}, 44,
     "300 mod 256"},
    {82, E::kDouble, 0x41E65A0BC0000000, E::kInt32, {true, RoundMode::kUp}, 0xB2D05E00,
     "x86 static_cast gives INT32_MIN"},
    {83, E::kDouble, 0x4415AF1D78B58C40, E::kInt64, {true, RoundMode::kUp}, 7766279631452241920,
     "1e20 mod 2^64; numpy/x86 INT64_MIN"},
    {84, E::kDouble, 0x7E37E43C8800759C, E::kInt32, {true, RoundMode::kUp}, 0,
     "low 32 bits are 0"},
    {85, E::kDouble, 0x43E0000000000000, E::kUint64, {true, RoundMode::kUp}, 9223372036854775808U,
     "in range: do not go through int64"},
    {86, E::kDouble, 0x43E0000000000000, E::kInt64, {true, RoundMode::kUp}, 0x8000000000000000,
     "wrap = INT64_MIN"},
    {87, E::kFloat, 0x7FC00000, E::kInt32, {true, RoundMode::kUp}, 0,
     "NaN -> 0 (UB in the spec)"},
    {88, E::kFloat, 0x7F800000, E::kInt64, {true, RoundMode::kUp}, 0,
     "inf -> 0 (UB in the spec)"},
    {89, E::kFloat8e5m2, 0x7B, E::kInt16, {true, RoundMode::kUp}, 0xE000,
     "57344 wraps"},
    {90, E::kInt16, 200, E::kInt8, {true, RoundMode::kUp}, 0xC8,
     "spec example"},
    {91, E::kInt16, 200, E::kInt4, {true, RoundMode::kUp}, 0x8,
     "low nibble 8"},
    {92, E::kInt8, 0xFF, E::kUint64, {true, RoundMode::kUp}, 18446744073709551615U,
     "sign extend"},
    {93, E::kInt64, 4294967303, E::kInt32, {true, RoundMode::kUp}, 7,
     ""},
};
static_assert(std::size(kCastCases) == 93);

TEST(ConvertCasesTest, EveryRowOfTheTableAlone) {
  for (const CastCase& row : kCastCases) {
    EXPECT_EQ(ConvertCode(row.input, row.from, row.to, row.options), row.expected)
        << "row " << row.number << ": " << row.why;
  }
}

// In arrays too, so that both the body and the tail of a vector loop meet it.
TEST(ConvertCasesTest, EveryRowOfTheTableInArraysOfAnyLength) {
  for (const CastCase& row : kCastCases) {
    for (size_t count = 1; count <= 130; ++count) {
      const Codes result =
          convert_test::Converted(Codes(count, row.input), row.from, row.to, row.options);
      ASSERT_EQ(result, Codes(count, row.expected))
          << "row " << row.number << " in an array of " << count << ": " << row.why;
    }
  }
}

struct TextCase {
  const char* text;
  E to;
  ConvertOptions options;
  uint64_t expected;
};

constexpr TextCase kTextCases[] = {
    {"1.00000017881393432617187499", E::kFloat, {}, 0x3F800001},  // S1
    {"+inF", E::kFloat, {}, 0x7F800000},                          // S2
    {"-INF", E::kFloat, {}, 0xFF800000},
    {"nAn", E::kFloat, {}, 0x7FC00000},
    {"1e400", E::kDouble, {}, 0x7FF0000000000000},  // S3
    {"-1e-400", E::kDouble, {}, 0x8000000000000000},
    {"9223372036854775807", E::kInt64, {}, 9223372036854775807},  // S4
    {"-3", E::kUint16, {}, 65533},                                // S5
    {"-3", E::kUint8, {}, 253},
    {"-3", E::kUint2, {}, 1},
    {"100.5", E::kInt32, {}, 100},  // S6
    {" 7 ", E::kInt32, {}, 7},
    {"65520", E::kFloat16, {}, 0x7C00},  // S7
    {"464.00000001", E::kFloat8e4m3fn, {.saturate = false}, 0x7F},
};

TEST(ConvertCasesTest, EveryRowFromText) {
  for (const TextCase& row : kTextCases) {
    const std::string text[] = {row.text};
    uint64_t code = 0;
    ASSERT_TRUE(ConvertFromString(text, &code, row.to, row.options).ok()) << row.text;
    EXPECT_EQ(code, row.expected) << row.text << " -> " << TypeName(row.to);
  }
}

TEST(ConvertCasesTest, EveryRowToText) {
  const struct {
    E from;
    uint64_t code;
    const char* expected;
  } rows[] = {
      {E::kFloat, 0x3E979FB0, "0.2961402"},  // S8
      {E::kDouble, convert_test::Bits(4.0), "4"},
      {E::kDouble, convert_test::Bits(-1.5), "-1.5"},
      {E::kDouble, 0x8000000000000000, "-0"},
      {E::kDouble, 0xFFF8000000000000, "NaN"},
      {E::kDouble, 0xFFF0000000000000, "-INF"},
      {E::kInt4, 0x8, "-8"},  // S10
      {E::kBool, 1, "1"},
      {E::kFloat4e2m1, 0xB, "-1.5"},
  };
  for (const auto& row : rows) {
    std::string text;
    ASSERT_TRUE(ConvertToString(&row.code, row.from, absl::MakeSpan(&text, 1)).ok());
    EXPECT_EQ(text, row.expected);
  }
}

}  // namespace
}  // namespace onnx_run
