// tools/literal.h: values written on the command line; and tools/format.h, which prints them.
#include "tools/literal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tools/format.h"

namespace onnx_run::tools {
namespace {

using ::testing::HasSubstr;

Type Declared(ElementType type, std::optional<std::vector<int64_t>> dims = std::nullopt) {
  Type declared = Type::OfTensor(type);
  if (dims.has_value()) {
    declared.shape.emplace();
    // -1 stands for a named dimension.
    for (const int64_t dim : *dims) {
      declared.shape->push_back(dim < 0 ? DeclaredDim{.value = std::nullopt, .param = "N"}
                                        : DeclaredDim{.value = dim, .param = ""});
    }
  }
  return declared;
}

// "float[2] [1, 2]", or the error.
std::string Read(const std::string& text, const Type& declared) {
  const auto value = ParseLiteral(text, declared);
  if (!value.ok()) return absl::StrCat("error: ", value.status().message());
  if (!value->is_tensor()) return Describe(*value);
  return absl::StrCat(TypeAndDims(value->tensor()), " ", FormatTensor(value->tensor()));
}

TEST(Literal, ByDeclaredType) {
  EXPECT_EQ(Read("1.5", Declared(ElementType::kFloat)), "float[] 1.5");
  EXPECT_EQ(Read("-3", Declared(ElementType::kUint8)), "uint8[] 253");
  EXPECT_EQ(Read("1,2,3", Declared(ElementType::kInt64)), "int64[3] [1, 2, 3]");
  EXPECT_EQ(Read("[1,2]", Declared(ElementType::kBool)), "bool[2] [true, true]");
  EXPECT_EQ(Read("nan,-inf", Declared(ElementType::kFloat16)), "float16[2] [ NaN, -INF]");
  EXPECT_EQ(Read("-8,7,3", Declared(ElementType::kInt4)), "int4[3] [-8,  7,  3]");
}

TEST(Literal, ByDeclaredShape) {
  EXPECT_EQ(Read("1,2,3,4", Declared(ElementType::kInt32, {{2, 2}})),
            "int32[2,2] [[1, 2],\n [3, 4]]");
  EXPECT_EQ(Read("7", Declared(ElementType::kInt32, {{1, 1}})), "int32[1,1] [[7]]");
  EXPECT_EQ(Read("7", Declared(ElementType::kInt32, {{-1}})), "int32[1] [7]");
  EXPECT_EQ(Read("7", Declared(ElementType::kInt32, {{}})), "int32[] 7");
  // What does not fit is left to the session's check of inputs.
  EXPECT_EQ(Read("1,2,3", Declared(ElementType::kInt32, {{2, 2}})), "int32[3] [1, 2, 3]");
}

TEST(Literal, NestedLists) {
  EXPECT_EQ(Read("[[1,2,3],[4,5,6]]", Declared(ElementType::kInt64)),
            "int64[2,3] [[1, 2, 3],\n [4, 5, 6]]");
  EXPECT_EQ(Read("[]", Declared(ElementType::kInt64)), "int64[0] []");
  EXPECT_EQ(Read("[[],[]]", Declared(ElementType::kInt64)), "int64[2,0] []");
  EXPECT_EQ(Read("[ [ 1 ] , [ 2 ] ]", Declared(ElementType::kInt64)), "int64[2,1] [[1],\n [2]]");
}

TEST(Literal, TypeAndShapeOfItsOwn) {
  EXPECT_EQ(Read("float32[2,2]:1,2,3,4", Type()), "float[2,2] [[1, 2],\n [3, 4]]");
  EXPECT_EQ(Read("float16:[1,2]", Type()), "float16[2] [1, 2]");
  EXPECT_EQ(Read("int4[5]:-1", Type()), "int4[5] [-1, -1, -1, -1, -1]");
  EXPECT_EQ(Read("float[0]", Type()), "float[0] []");
  EXPECT_EQ(Read("float8e4m3fn:448", Type()), "float8e4m3fn[] 448");
}

TEST(Literal, Strings) {
  EXPECT_EQ(Read("a,b c", Declared(ElementType::kString)), "string[2] [\"a\", \"b c\"]");
  EXPECT_EQ(Read("\"a,b\",'[x]'", Declared(ElementType::kString)), "string[2] [\"a,b\", \"[x]\"]");
  EXPECT_EQ(Read("[\"\"]", Declared(ElementType::kString)), "string[1] [\"\"]");
}

TEST(Literal, Optionals) {
  const Type type = Type::OfOptional(Type::OfTensor(ElementType::kFloat));
  const auto none = ParseLiteral("none", type);
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_EQ(none->optional().element, nullptr);
  const auto some = ParseLiteral("1.5", type);
  ASSERT_TRUE(some.ok()) << some.status();
  EXPECT_NE(some->optional().element, nullptr);
}

TEST(Literal, Errors) {
  const Type floats = Declared(ElementType::kFloat);
  for (const char* text :
       {"", "abc", "1,,2", "[1,2", "[1,[2]]", "[[1],2]", "[[1,2],[3]]", "1 2", "[1]]", "1.5,x",
        "[1", "float[2:1", "float[-1]:1", "float[2]:1,2,3", "\"1", "[[[[", "float:"}) {
    EXPECT_THAT(Read(text, floats), HasSubstr("error: ")) << text;
  }
  EXPECT_THAT(Read("1.5", Type()), HasSubstr("does not declare"));
  EXPECT_THAT(Read("1", Type::OfSequence(Type::OfTensor(ElementType::kFloat))), HasSubstr(".pb"));
  EXPECT_THAT(Read("1", Declared(ElementType::kComplex64)), HasSubstr(".pb"));
  EXPECT_THAT(Read(std::string(1000, '['), floats), HasSubstr("nested"));
  EXPECT_THAT(Read("float[1000000000000000]:0", floats), HasSubstr("error: "));
}

TEST(Format, Numbers) {
  EXPECT_EQ(NumberText(0x3FC00000, ElementType::kFloat), "1.5");
  EXPECT_EQ(NumberText(0x7149F2CA, ElementType::kFloat), "1e+30");
  EXPECT_EQ(NumberText(0x0DA24260, ElementType::kFloat), "1e-30");
  EXPECT_EQ(NumberText(0x80000000, ElementType::kFloat), "-0");
  EXPECT_EQ(NumberText(1, ElementType::kBool), "true");
  EXPECT_EQ(NumberText(0x00, ElementType::kFloat8e8m0), "6e-39");
  EXPECT_EQ(BitsText(0x3C, ElementType::kFloat8e4m3fn), "0x3C");
  EXPECT_EQ(BitsText(0xF, ElementType::kInt4), "0xF");
  EXPECT_EQ(BitsText(0x3, ElementType::kInt2), "0x3");
  EXPECT_EQ(LayoutBits(0xC2, ElementType::kFloat8e4m3fn), "1|1000|010");
  EXPECT_EQ(LayoutBits(0x81, ElementType::kFloat8e8m0), "10000001");
  EXPECT_EQ(LayoutBits(0x0102, ElementType::kInt16), "00000001_00000010");
}

TEST(Format, LongTensorsAreCut) {
  const Tensor tensor = *Tensor::Create(ElementType::kUint8, {2000});
  const std::string text = FormatTensor(tensor);
  EXPECT_THAT(text, HasSubstr("..."));
  EXPECT_LT(text.size(), 60);
}

TEST(Format, Values) {
  Sequence sequence;
  sequence.element_type = Type::OfTensor(ElementType::kInt64);
  sequence.elements.emplace_back(*Tensor::Of<int64_t>(ElementType::kInt64, {1}, {3}));
  const std::string text = FormatValue("s", Value(std::move(sequence)));
  EXPECT_THAT(text, HasSubstr("s  seq(tensor(int64))"));
  EXPECT_THAT(text, HasSubstr("[0]  int64[1]  [3]"));
}

}  // namespace
}  // namespace onnx_run::tools
