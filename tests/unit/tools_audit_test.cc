// tools/audit.h and tools/cast_audit.h: what becomes of a value, told by exact comparison.
#include "tools/audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "runtime/convert/convert.h"
#include "tools/cast_audit.h"
#include "tools/explain_cast.h"

namespace onnx_run::tools {
namespace {

using ::testing::HasSubstr;

constexpr ElementType F32 = ElementType::kFloat;
constexpr ElementType F16 = ElementType::kFloat16;
constexpr ElementType E4M3 = ElementType::kFloat8e4m3fn;

struct Case {
  ElementType from;
  uint64_t code;
  ElementType to;
  bool saturate;
  Fate fate;
};

TEST(Audit, Fates) {
  constexpr uint64_t kNan = 0x7FC00000;
  constexpr uint64_t kInf = 0x7F800000;
  const Case cases[] = {
      {F32, 0x3FC00000, F16, true, Fate::kExact},      // 1.5
      {F32, 0x3DCCCCCD, F16, true, Fate::kRounded},    // 0.1
      {F32, 0x477FEF00, F16, true, Fate::kRounded},    // to 65504, below the tie
      {F32, 0x477FF000, F16, true, Fate::kOverflow},   // 65520
      {F32, 0x33000000, F16, true, Fate::kUnderflow},  // 2^-25
      {F32, 0x33000001, F16, true, Fate::kSubnormal},
      {F32, 0x33800000, F16, true, Fate::kExact},  // the least subnormal
      {F32, kNan, F16, true, Fate::kExact},
      {F32, kInf, F16, true, Fate::kExact},
      {F32, kInf, E4M3, true, Fate::kLostInfinity},
      {F32, kInf, E4M3, false, Fate::kBecameNan},
      {F32, 0x43E80000, E4M3, true, Fate::kRounded},  // 464, the tie, goes to 448
      {F32, 0x43E80001, E4M3, true, Fate::kSaturated},
      {F32, 0x43E80001, E4M3, false, Fate::kBecameNan},
      {F32, 0x43780000, ElementType::kFloat8e4m3fnuz, true,
       Fate::kSaturated},  // 248, the tie above 240
      {F32, 0x40E00000, ElementType::kFloat4e2m1, true, Fate::kSaturated},  // 7
      {F32, 0x40D00000, ElementType::kFloat4e2m1, true, Fate::kRounded},    // 6.5
      {F32, kNan, ElementType::kFloat4e2m1, true, Fate::kLostNan},
      {F32, 0x00000000, ElementType::kFloat8e8m0, true, Fate::kSaturated},  // has no zero
      {F32, 0x3F900000, ElementType::kFloat8e8m0, true, Fate::kRounded},    // 1.125
      {F32, 0xBF800000, ElementType::kFloat8e8m0, true, Fate::kBecameNan},
      {F32, 0x40300000, ElementType::kInt32, true, Fate::kRounded},  // 2.75
      {F32, 0x3F400000, ElementType::kInt32, true, Fate::kRounded},  // 0.75 to 0
      {F32, 0x40400000, ElementType::kInt32, true, Fate::kExact},
      {F32, 0x4396599A, ElementType::kUint8, true, Fate::kWrapped},  // 300.7
      {F32, 0xBF800000, ElementType::kUint8, true, Fate::kWrapped},
      {F32, kNan, ElementType::kInt32, true, Fate::kLostNan},
      {F32, kInf, ElementType::kInt32, true, Fate::kLostInfinity},
      {F32, 0x3F000000, ElementType::kBool, true, Fate::kRounded},
      {ElementType::kInt64, INT64_MAX, ElementType::kDouble, true, Fate::kRounded},
      {ElementType::kInt64, (uint64_t{1} << 53) + 1, ElementType::kDouble, true, Fate::kRounded},
      {ElementType::kInt64, uint64_t{1} << 53, ElementType::kDouble, true, Fate::kExact},
      {ElementType::kInt64, 4294967303, ElementType::kInt32, true, Fate::kWrapped},
      {ElementType::kInt16, 200, ElementType::kInt4, true, Fate::kWrapped},
      {ElementType::kUint64, ~uint64_t{0}, F32, true, Fate::kRounded},
      {ElementType::kUint64, ~uint64_t{0}, F16, true, Fate::kOverflow},
  };
  for (const Case& c : cases) {
    const uint64_t to = ConvertCode(c.code, c.from, c.to, {.saturate = c.saturate});
    EXPECT_EQ(FateName(Classify(c.code, c.from, to, c.to)), FateName(c.fate))
        << TypeName(c.from) << " 0x" << std::hex << c.code << " to " << TypeName(c.to) << " is 0x"
        << to;
  }
}

TEST(Audit, SignOfZero) {
  EXPECT_TRUE(LostZeroSign(0x80000000, F32, 0, ElementType::kFloat8e4m3fnuz));
  EXPECT_TRUE(LostZeroSign(0x80000000, F32, 0, ElementType::kInt32));
  EXPECT_FALSE(LostZeroSign(0x80000000, F32, 0x8000, F16));
  EXPECT_FALSE(LostZeroSign(0, F32, 0, F16));
}

TEST(Audit, CountsAndExample) {
  const Tensor from = *Tensor::Of<float>(F32, {5}, {1, 0.1F, 70000, 1e-9F, -0.0F});
  Tensor to = *Tensor::Create(F16, {5});
  ASSERT_TRUE(Convert(from.data(), F32, to.mutable_data(), F16, 5).ok());
  AuditCounts counts;
  AuditElements(from, to, counts);
  EXPECT_EQ(counts.elements, 5);
  EXPECT_EQ(counts.Of(Fate::kExact), 2);
  EXPECT_EQ(counts.Of(Fate::kRounded), 1);
  EXPECT_EQ(counts.Of(Fate::kOverflow), 1);
  EXPECT_EQ(counts.Of(Fate::kUnderflow), 1);
  EXPECT_EQ(counts.lost_zero_signs, 0);
  EXPECT_EQ(counts.Destroyed(), 1);
  EXPECT_EQ(counts.example.index, 2);
  EXPECT_EQ(counts.example.to_bits, "0x7C00");
  EXPECT_EQ(counts.max_relative, 1);
  AuditCounts twice = counts;
  twice.Merge(counts);
  EXPECT_EQ(twice.elements, 10);
  EXPECT_TRUE(twice.WorseThan(counts));
  EXPECT_FALSE(counts.WorseThan(twice));
}

TEST(Audit, LargeIntegersAreNotJudgedAsDoubles) {
  const Tensor from = *Tensor::Of<int64_t>(ElementType::kInt64, {1}, {INT64_MAX});
  Tensor to = *Tensor::Create(ElementType::kUint64, {1});
  ASSERT_TRUE(Convert(from.data(), from.type(), to.mutable_data(), to.type(), 1).ok());
  AuditCounts counts;
  AuditElements(from, to, counts);
  EXPECT_EQ(counts.Of(Fate::kExact), 1);
  EXPECT_EQ(AbsoluteError(INT64_MAX, ElementType::kInt64, INT64_MAX - 1, ElementType::kInt64), 1);
}

TEST(Audit, Strings) {
  const Tensor text = Tensor::Strings({3}, {"1.5", "0.1", "70000"});
  const Tensor half = *Tensor::Of<uint16_t>(F16, {3}, {0x3E00, 0x2E66, 0x7C00});
  AuditCounts counts;
  AuditElements(text, half, counts);
  EXPECT_EQ(counts.Of(Fate::kExact), 1);
  EXPECT_EQ(counts.Of(Fate::kRounded), 1);
  EXPECT_EQ(counts.Of(Fate::kOverflow), 1);
}

TEST(CastAudit, Quantization) {
  const Tensor x = *Tensor::Of<float>(F32, {5}, {1, 0.9F, 300, -1, 0.01F});
  const Tensor scale = *Tensor::Of<float>(F32, {}, {0.5F});
  const Tensor y = *Tensor::Of<uint8_t>(ElementType::kUint8, {5}, {2, 2, 255, 0, 0});
  AuditCounts counts;
  AuditQuantize(x, scale, nullptr, y, 1, 0, counts);
  EXPECT_EQ(counts.Of(Fate::kExact), 1);
  EXPECT_EQ(counts.Of(Fate::kRounded), 1);
  EXPECT_EQ(counts.Of(Fate::kSaturated), 2);
  EXPECT_EQ(counts.Of(Fate::kUnderflow), 1);
}

TEST(CastAudit, QuantizationByAxisAndBlock) {
  const Tensor x = *Tensor::Of<float>(F32, {2, 4}, {1, 2, 3, 4, 10, 20, 30, 40});
  const Tensor y = *Tensor::Of<int8_t>(ElementType::kInt8, {2, 4}, {1, 2, 3, 4, 1, 2, 3, 4});
  AuditCounts by_axis;
  AuditQuantize(x, *Tensor::Of<float>(F32, {2}, {1, 10}), nullptr, y, 0, 0, by_axis);
  EXPECT_EQ(by_axis.Of(Fate::kExact), 8);
  AuditCounts by_block;
  AuditQuantize(x, *Tensor::Of<float>(F32, {2, 2}, {1, 1, 10, 10}), nullptr, y, 1, 2, by_block);
  EXPECT_EQ(by_block.Of(Fate::kExact), 8);
  AuditCounts dequantized;
  AuditDequantize(y, *Tensor::Of<float>(F32, {2}, {1, 10}), nullptr, x, 0, 0, dequantized);
  EXPECT_EQ(dequantized.Of(Fate::kExact), 8);
}

TEST(ExplainCast, ShowsBitsRuleAndLoss) {
  const std::string text = ExplainCast(0x3F8CCCCD, F32, E4M3, {});
  EXPECT_THAT(text, HasSubstr("0|01111111|00011001100110011001101"));
  EXPECT_THAT(text, HasSubstr("0x39"));
  EXPECT_THAT(text, HasSubstr("0|0111|001"));
  EXPECT_THAT(text, HasSubstr("1.10000002384185791015625"));
  EXPECT_THAT(text, HasSubstr("between   1 (0x38) and 1.25 (0x3A)"));
  EXPECT_THAT(ExplainCast(0x7F800000, F32, ElementType::kInt32, {}), HasSubstr("infinity"));
  EXPECT_THAT(CastToAll(0x3F8CCCCD, F32, {}, 25), HasSubstr("float4e2m1"));
}

TEST(ExplainCast, NeighboursAtTheEnds) {
  EXPECT_THAT(ExplainCast(0x43E00000, F32, E4M3, {}), HasSubstr("(the greatest)"));  // 448
  EXPECT_THAT(ExplainCast(0, F32, ElementType::kFloat8e4m3fnuz, {}),
              HasSubstr("(0x81) and"));  // around the only zero
  EXPECT_THAT(ExplainCast(0, F32, ElementType::kUint8, {}), HasSubstr("(the least) and 1"));
  EXPECT_THAT(ExplainCast(0, F32, ElementType::kFloat8e8m0, {}), HasSubstr("(the least)"));
}

TEST(ExplainCast, ReadsValuesAndBits) {
  EXPECT_EQ(ParseCode("1.1", F32).value(), 0x3F8CCCCD);
  EXPECT_EQ(ParseCode("0x3F8CCCCD", F32).value(), 0x3F8CCCCD);
  EXPECT_EQ(ParseCode("-1", ElementType::kInt4).value(), 0xF);
  EXPECT_FALSE(ParseCode("0x100", ElementType::kUint8).ok());
  EXPECT_FALSE(ParseCode("0x", ElementType::kUint8).ok());
  EXPECT_FALSE(ParseCode("x", ElementType::kUint8).ok());
}

}  // namespace
}  // namespace onnx_run::tools
