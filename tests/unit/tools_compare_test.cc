// tools/compare.h: the official rule, and bits.
#include "tools/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "runtime/convert/convert.h"

namespace onnx_run::tools {
namespace {

using ::testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr CompareOptions kExact = {.exact = true};

Value Floats(std::vector<float> values) {
  return Value(
      *Tensor::Of<float>(ElementType::kFloat, {static_cast<int64_t>(values.size())}, values));
}

// From codes.
Value Codes(ElementType type, std::vector<uint64_t> codes) {
  Tensor tensor = *Tensor::Create(type, {static_cast<int64_t>(codes.size())});
  for (int64_t i = 0; i < tensor.bytes(); ++i) tensor.mutable_data_as<uint8_t>()[i] = 0;
  for (size_t i = 0; i < codes.size(); ++i)
    StoreCode(tensor.mutable_data(), type, static_cast<int64_t>(i), codes[i]);
  return Value(std::move(tensor));
}

TEST(Compare, Tolerances) {
  EXPECT_TRUE(Compare(Floats({1.0005F}), Floats({1})).equal);
  EXPECT_FALSE(Compare(Floats({1.01F}), Floats({1})).equal);
  EXPECT_TRUE(Compare(Floats({5e-8F}), Floats({0})).equal);
  EXPECT_FALSE(Compare(Floats({1.0005F}), Floats({1}), kExact).equal);
  EXPECT_TRUE(Compare(Floats({1.5F}), Floats({1}), {.rtol = 0.5, .atol = 0}).equal);
  // Measured by what is expected, not by what came.
  EXPECT_FALSE(Compare(Floats({1}), Floats({0.6F}), {.rtol = 0.5, .atol = 0}).equal);
  EXPECT_TRUE(Compare(Floats({0.6F}), Floats({1}), {.rtol = 0.5, .atol = 0}).equal);
}

TEST(Compare, SpecialValues) {
  for (const bool exact : {false, true}) {
    const CompareOptions options = {.exact = exact};
    EXPECT_TRUE(Compare(Floats({kNan, kInf, -kInf}), Floats({kNan, kInf, -kInf}), options).equal);
    EXPECT_FALSE(Compare(Floats({kNan}), Floats({1}), options).equal);
    EXPECT_FALSE(Compare(Floats({1}), Floats({kNan}), options).equal);
    EXPECT_FALSE(Compare(Floats({kInf}), Floats({-kInf}), options).equal);
    EXPECT_FALSE(Compare(Floats({3e38F}), Floats({kInf}), options).equal);
    // NaNs of any payload and sign.
    EXPECT_TRUE(Compare(Codes(ElementType::kFloat, {0xFFC12345}),
                        Codes(ElementType::kFloat, {0x7FC00000}), options)
                    .equal);
  }
  EXPECT_TRUE(Compare(Floats({-0.0F}), Floats({0})).equal);
  EXPECT_FALSE(Compare(Floats({-0.0F}), Floats({0}), kExact).equal);
}

TEST(Compare, SmallTypesByValue) {
  EXPECT_FALSE(Compare(Codes(ElementType::kFloat8e4m3fn, {0x38}),
                       Codes(ElementType::kFloat8e4m3fn, {0x39}), {.rtol = 1})
                   .equal);
  EXPECT_TRUE(Compare(Codes(ElementType::kFloat8e4m3fn, {0x7F}),
                      Codes(ElementType::kFloat8e4m3fn, {0xFF}), kExact)
                  .equal);
  EXPECT_TRUE(
      Compare(Codes(ElementType::kFloat4e2m1, {0x8}), Codes(ElementType::kFloat4e2m1, {0x0}))
          .equal);
  EXPECT_FALSE(Compare(Codes(ElementType::kFloat4e2m1, {0x8}),
                       Codes(ElementType::kFloat4e2m1, {0x0}), kExact)
                   .equal);
  EXPECT_FALSE(Compare(Codes(ElementType::kInt4, {1, 2, 3}), Codes(ElementType::kInt4, {1, 2, 4}),
                       {.rtol = 1})
                   .equal);
  EXPECT_TRUE(
      Compare(Codes(ElementType::kUint2, {1, 2, 3}), Codes(ElementType::kUint2, {1, 2, 3})).equal);
}

TEST(Compare, Int64IsExact) {
  // Doubles cannot tell these apart.
  EXPECT_FALSE(
      Compare(Codes(ElementType::kInt64, {INT64_MAX}), Codes(ElementType::kInt64, {INT64_MAX - 1}))
          .equal);
}

TEST(Compare, TypeAndShapeFirst) {
  EXPECT_EQ(Compare(Floats({1}), Codes(ElementType::kInt32, {1})).reason, "type");
  EXPECT_EQ(Compare(Floats({1}), Floats({1, 2})).reason, "shape");
  const Tensor row = *Tensor::Of<float>(ElementType::kFloat, {1, 2}, {1, 2});
  const CompareResult result = Compare(Value(row), Floats({1, 2}));
  EXPECT_EQ(result.message, "shape is [1,2], expected [2]");
  EXPECT_TRUE(Compare(Floats({1}), Floats({2}), {.type_and_shape_only = true}).equal);
}

TEST(Compare, NamesTheWorstElement) {
  const CompareResult result = Compare(Floats({1, 2, 30, 4.1F}), Floats({1, 2, 3, 4}));
  EXPECT_EQ(result.mismatches, 2);
  EXPECT_EQ(result.worst_index, 2);
  EXPECT_EQ(
      result.message,
      "2 of 4 float elements differ; worst at [2] is 30 (0x41F00000), expected 3 (0x40400000)");
  // NaN against a number is worse than any difference.
  EXPECT_EQ(Compare(Floats({1e30F, kNan}), Floats({1, 1})).worst_index, 1);
}

TEST(Compare, StringsAndComplex) {
  EXPECT_TRUE(
      Compare(Value(Tensor::Strings({1}, {"a"})), Value(Tensor::Strings({1}, {"a"}))).equal);
  EXPECT_FALSE(
      Compare(Value(Tensor::Strings({1}, {"1"})), Value(Tensor::Strings({1}, {"1.0"}))).equal);
  const auto complex = [](float re, float im) {
    Tensor tensor = *Tensor::Create(ElementType::kComplex64, {1});
    tensor.mutable_data_as<float>()[0] = re;
    tensor.mutable_data_as<float>()[1] = im;
    return Value(std::move(tensor));
  };
  // A small part next to a large one: measured by the whole number.
  EXPECT_TRUE(Compare(complex(1000, 0.5F), complex(1000, 0)).equal);
  EXPECT_FALSE(Compare(complex(1, 0.5F), complex(1, 0)).equal);
  EXPECT_FALSE(Compare(complex(1000, 0.5F), complex(1000, 0), kExact).equal);
}

TEST(Compare, SequencesAndOptionals) {
  const auto sequence = [](std::vector<float> values) {
    Sequence result;
    result.element_type = Type::OfTensor(ElementType::kFloat);
    for (const float value : values) result.elements.push_back(Floats({value}));
    return Value(std::move(result));
  };
  EXPECT_TRUE(Compare(sequence({1, 2}), sequence({1, 2})).equal);
  EXPECT_EQ(Compare(sequence({1}), sequence({1, 2})).reason, "length");
  const CompareResult result = Compare(sequence({1, 5}), sequence({1, 2}));
  EXPECT_EQ(result.path, "[1]");
  EXPECT_THAT(result.message, HasSubstr("[1]: 1 of 1 float elements differ"));
  EXPECT_EQ(Compare(sequence({1}), Floats({1})).reason, "kind");

  const Type type = Type::OfTensor(ElementType::kFloat);
  EXPECT_TRUE(
      Compare(Value(Optional(type, std::make_unique<Value>(Floats({1})))), Floats({1})).equal);
  EXPECT_FALSE(Compare(Value(Optional(type, nullptr)), Floats({1})).equal);
  EXPECT_TRUE(Compare(Value(Optional(type, nullptr)), Value(Optional(type, nullptr))).equal);
}

TEST(Compare, MapsHaveNoOrder) {
  const auto map = [](std::vector<int64_t> keys, std::vector<float> values) {
    Map result;
    result.keys =
        *Tensor::Of<int64_t>(ElementType::kInt64, {static_cast<int64_t>(keys.size())}, keys);
    result.value_type = Type::OfTensor(ElementType::kFloat);
    for (const float value : values) result.values.push_back(Floats({value}));
    return Value(std::move(result));
  };
  EXPECT_TRUE(Compare(map({1, 2}, {10, 20}), map({2, 1}, {20, 10})).equal);
  EXPECT_EQ(Compare(map({1, 2}, {10, 20}), map({1, 3}, {10, 20})).reason, "key");
  EXPECT_EQ(Compare(map({1, 2}, {10, 21}), map({1, 2}, {10, 20})).path, "[2]");
}

}  // namespace
}  // namespace onnx_run::tools
