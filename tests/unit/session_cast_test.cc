// Casts through the whole stack, model to output: cases of the public bug reports (B01, B03, ...).
//
// convert_bugs_test.cc has the same values at the conversion library; here they pass the loader,
// opset resolution, constant folding, in-place writing and the kernels.
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/cast_session_util.h"

#if defined(__SSE2__)
#include <pmmintrin.h>
#include <xmmintrin.h>
#endif

namespace onnx_run {
namespace {

using cast_test::Cast;
using cast_test::CastModel;
using cast_test::Codes;
using cast_test::CodesOf;
using cast_test::ElementsOf;
using cast_test::Load;
using cast_test::LoadAndRun;
using cast_test::Refused;
using cast_test::TensorOfCodes;
using testing::ElementsAre;
using testing::HasSubstr;
using E = ElementType;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Tensor Floats(const std::vector<float>& values) {
  return Tensor::Of<float>(E::kFloat, {static_cast<int64_t>(values.size())}, values).value();
}

template <typename T>
Tensor Numbers(E type, const std::vector<T>& values) {
  return Tensor::Of<T>(type, {static_cast<int64_t>(values.size())}, values).value();
}

Tensor Strings(const std::vector<std::string>& values) {
  return Tensor::Strings({static_cast<int64_t>(values.size())}, values);
}

std::vector<std::string> StringsOf(const Tensor& tensor) {
  return {tensor.strings().begin(), tensor.strings().end()};
}

// --- Opset resolution ---------------------------------------------------------

// Tells which version each node was bound to.
class VersionObserver : public Observer {
 public:
  void OnNodeStart(const NodeInfo& node, absl::Span<const Value* const> /*inputs*/) override {
    versions.push_back(absl::StrCat(node.op_type(), "-", node.since_version()));
  }
  std::vector<std::string> versions;
};

std::string BoundVersion(const std::string& op_type, int64_t opset) {
  ModelBuilder builder(opset);
  builder.Input("x", TensorType(E::kFloat));
  if (op_type == "Cast") {
    builder.Node("Cast", {"x"}, {"y"}, {opset < 6 ? StringAttr("to", "INT32") : IntAttr("to", 6)});
  } else {
    builder.Node("CastLike", {"x", "x"}, {"y"});
  }
  const auto session = Load(builder.Output("y").Build());
  if (!session.ok()) return std::string(session.status().message());
  VersionObserver observer;
  RunOptions options;
  options.observer = &observer;
  const std::vector<std::pair<std::string, Value>> inputs = {{"x", Value(Floats({1}))}};
  const auto outputs = (*session)->Run(absl::MakeConstSpan(inputs), options);
  if (!outputs.ok()) return std::string(outputs.status().message());
  return observer.versions.at(0);
}

TEST(SessionCastTest, EveryOpsetTakesTheGreatestVersionNotAboveIt) {
  const std::vector<int> cast = {1, 6, 9, 13, 19, 21, 23, 24, 25};
  const std::vector<int> cast_like = {15, 19, 21, 23, 24, 25};
  for (int opset = 1; opset <= 27; ++opset) {
    int expected = 0;
    for (const int version : cast) expected = version <= opset ? version : expected;
    EXPECT_EQ(BoundVersion("Cast", opset), absl::StrCat("Cast-", expected)) << "opset " << opset;
    expected = 0;
    for (const int version : cast_like) expected = version <= opset ? version : expected;
    if (expected != 0) {
      EXPECT_EQ(BoundVersion("CastLike", opset), absl::StrCat("CastLike-", expected))
          << "opset " << opset;
    } else {
      EXPECT_THAT(BoundVersion("CastLike", opset), HasSubstr("first in opset 15"))
          << "opset " << opset;
    }
  }
  EXPECT_EQ(BoundVersion("Cast", 22), "Cast-21");
  EXPECT_EQ(BoundVersion("Cast", 12), "Cast-9");
}

// --- B01 ----------------------------------------------------------------------

TEST(SessionCastTest, NarrowingThenWideningIsTwoConversions) {  // B01
  EXPECT_EQ(ElementsOf<float>(Cast(13, Floats({1e-12F, 123456.7F}), {E::kFloat16, E::kFloat})),
            (std::vector<float>{0.0F, kInf}));
  EXPECT_EQ(ElementsOf<float>(Cast(13, Floats({0.33333334F}), {E::kBfloat16, E::kFloat})),
            std::vector<float>{0.333984375F});
  EXPECT_EQ(
      ElementsOf<double>(Cast(13, Numbers<double>(E::kDouble, {0.1}), {E::kFloat, E::kDouble})),
      std::vector<double>{0.10000000149011612});
  EXPECT_EQ(
      ElementsOf<int32_t>(Cast(13, Numbers<int32_t>(E::kInt32, {-1}), {E::kUint8, E::kInt32})),
      std::vector<int32_t>{255});
}

TEST(SessionCastTest, FoldedOrNotTheResultIsTheSame) {  // B01
  SessionOptions options;
  options.fold_constants = false;
  const Tensor x = Floats({1e-12F, 123456.7F, 0.33333334F});
  const auto outputs =
      LoadAndRun(CastModel(13, x, {E::kFloat16, E::kFloat}, {}, true), {}, options);
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ(ElementsOf<float>((*outputs)[0].tensor()),
            ElementsOf<float>(Cast(13, x, {E::kFloat16, E::kFloat})));
}

// --- B03 ----------------------------------------------------------------------

TEST(SessionCastTest, OnlyZerosAreFalse) {  // B03
  const Tensor x = Floats({kNan, -kNan, 7.5F, -0.0F, 0.0F, 1e-45F, kInf});
  EXPECT_EQ(ElementsOf<uint8_t>(Cast(18, x, {E::kBool})),
            (std::vector<uint8_t>{1, 1, 1, 0, 0, 1, 1}));
  EXPECT_EQ(CodesOf(Cast(18, TensorOfCodes(E::kFloat16, {0x7E00, 0xFE00, 0x8000, 0, 1, 0x7C00}),
                         {E::kBool})),
            (Codes{1, 1, 0, 0, 1, 1}));
  EXPECT_EQ(
      CodesOf(Cast(18, TensorOfCodes(E::kBfloat16, {0x7FC0, 0xFFC0, 0x8000, 0, 1}), {E::kBool})),
      (Codes{1, 1, 0, 0, 1}));
  EXPECT_EQ(
      CodesOf(Cast(18, Numbers<double>(E::kDouble, {std::nan(""), -0.0, 4.94e-324}), {E::kBool})),
      (Codes{1, 0, 1}));
  EXPECT_EQ(
      CodesOf(Cast(19, TensorOfCodes(E::kFloat8e4m3fn, {0x7F, 0xFF, 0x80, 0, 1}), {E::kBool})),
      (Codes{1, 1, 0, 0, 1}));
  EXPECT_EQ(CodesOf(Cast(19, TensorOfCodes(E::kFloat8e5m2, {0x7D, 0xFC, 0x80, 0, 1}), {E::kBool})),
            (Codes{1, 1, 0, 0, 1}));
  for (const E type : {E::kFloat8e4m3fnuz, E::kFloat8e5m2fnuz}) {
    EXPECT_EQ(CodesOf(Cast(19, TensorOfCodes(type, {0x80, 0, 1}), {E::kBool})), (Codes{1, 0, 1}));
  }
  EXPECT_EQ(CodesOf(Cast(24, TensorOfCodes(E::kFloat8e8m0, {0, 0x7F, 0xFF}), {E::kBool})),
            (Codes{1, 1, 1}));
}

// --- B05, B06 -----------------------------------------------------------------

TEST(SessionCastTest, InfinityToFnuzIsTheLargestValueAtEveryOpset) {  // B05
  const Tensor x = Floats({-kInf, kInf, kNan, 1e6F, -1e6F, -0.0F});
  for (const int opset : {19, 21, 23, 24, 25, 27}) {
    for (const E type : {E::kFloat8e4m3fnuz, E::kFloat8e5m2fnuz}) {
      EXPECT_EQ(CodesOf(Cast(opset, x, {type})), (Codes{0xFF, 0x7F, 0x80, 0x7F, 0xFF, 0x00}))
          << "opset " << opset;
      EXPECT_EQ(CodesOf(Cast(opset, x, {type}, {IntAttr("saturate", 0)})),
                (Codes{0x80, 0x80, 0x80, 0x80, 0x80, 0x00}))
          << "opset " << opset;
    }
  }
}

TEST(SessionCastTest, Float8RoundsHalfWayToEven) {  // B06
  const Tensor x = Floats({1.8131605F, 1.8125F, 4.25F, 4.250001F, 464, 465, -464,
                           std::bit_cast<float>(0x3A800000), std::bit_cast<float>(0x3A800001)});
  // 1.875, 1.75, 4, 4.5, 448, 448, -448, 0, 2^-9
  EXPECT_EQ(CodesOf(Cast(19, x, {E::kFloat8e4m3fn})),
            (Codes{0x3F, 0x3E, 0x48, 0x49, 0x7E, 0x7E, 0xFE, 0x00, 0x01}));
  EXPECT_EQ(CodesOf(Cast(19, x, {E::kFloat8e4m3fn}, {IntAttr("saturate", 0)})),
            (Codes{0x3F, 0x3E, 0x48, 0x49, 0x7E, 0x7F, 0xFE, 0x00, 0x01}));
}

// --- B08, B09 -----------------------------------------------------------------

TEST(SessionCastTest, FloatToFourAndTwoBitsRoundsToEven) {  // B08
  EXPECT_EQ(ElementsOf<float>(Cast(21, Floats({2.5F, 3.5F, -2.5F, -3.5F, 1.6F, 2.4F, -1.6F}),
                                   {E::kInt4, E::kFloat})),
            (std::vector<float>{2, 4, -2, -4, 2, 2, -2}));
  EXPECT_EQ(CodesOf(Cast(21, Floats({0.5F, 1.5F, 2.5F}), {E::kUint4})), (Codes{0, 2, 2}));
  EXPECT_EQ(ElementsOf<int8_t>(Cast(25, Floats({0.5F, -0.5F, -1.5F, 0.6F}), {E::kInt2, E::kInt8})),
            (std::vector<int8_t>{0, 0, -2, 1}));
}

TEST(SessionCastTest, FourBitsWrapAndPackOddCounts) {  // B09
  const Tensor packed = Cast(21, Numbers<int8_t>(E::kInt8, {-9, 8, 15, -8, 7}), {E::kInt4});
  EXPECT_EQ(CodesOf(packed), (Codes{7, 8, 15, 8, 7}));  // 7, -8, -1, -8, 7
  ASSERT_EQ(packed.bytes(), 3);
  EXPECT_THAT(absl::MakeConstSpan(packed.data_as<uint8_t>(), 3), ElementsAre(0x87, 0x8F, 0x07));
  const Tensor int4 = TensorOfCodes(E::kInt4, {15, 8, 7});  // -1, -8, 7
  EXPECT_EQ(CodesOf(Cast(21, int4, {E::kUint4})), (Codes{15, 8, 7}));
  // The unused high nibble of the last byte is not looked at.
  Tensor dirty = Tensor::Create(E::kInt4, {3}).value();
  dirty.mutable_data_as<uint8_t>()[0] = 0x21;
  dirty.mutable_data_as<uint8_t>()[1] = 0xAF;
  EXPECT_EQ(ElementsOf<int8_t>(Cast(21, dirty, {E::kInt8})), (std::vector<int8_t>{1, 2, -1}));
}

// --- B15 ----------------------------------------------------------------------

TEST(SessionCastTest, NumbersToStrings) {  // B15
  for (const int opset : {9, 13, 21, 25}) {
    EXPECT_EQ(StringsOf(Cast(
                  opset, Floats({1.0F, 0.1F, 1e-7F, 1e20F, 16777216.0F, -0.0F, kNan, kInf, -kInf}),
                  {E::kString})),
              (std::vector<std::string>{"1", "0.1", "0.0000001", "100000002004087734272",
                                        "16777216", "-0", "NaN", "INF", "-INF"}));
    EXPECT_EQ(StringsOf(Cast(opset, Numbers<double>(E::kDouble, {0.1}), {E::kString})),
              std::vector<std::string>{"0.1"});
    EXPECT_EQ(StringsOf(Cast(opset, TensorOfCodes(E::kFloat16, {0x2E66}), {E::kString})),
              std::vector<std::string>{"0.1"});
    EXPECT_EQ(StringsOf(Cast(opset, TensorOfCodes(E::kBool, {1, 0}), {E::kString})),
              (std::vector<std::string>{"1", "0"}));
    EXPECT_EQ(StringsOf(Cast(opset, Numbers<int64_t>(E::kInt64, {9007199254740993, INT64_MIN}),
                             {E::kString})),
              (std::vector<std::string>{"9007199254740993", "-9223372036854775808"}));
    EXPECT_EQ(StringsOf(Cast(opset, Numbers<uint64_t>(E::kUint64, {UINT64_MAX}), {E::kString})),
              std::vector<std::string>{"18446744073709551615"});
  }
  EXPECT_EQ(StringsOf(Cast(21, TensorOfCodes(E::kInt4, {8, 7}), {E::kString})),
            (std::vector<std::string>{"-8", "7"}));
}

TEST(SessionCastTest, StringsToNumbers) {  // B15
  for (const int opset : {9, 13, 21, 25}) {
    EXPECT_EQ(ElementsOf<int64_t>(Cast(opset, Strings({"9007199254740993", "2.718"}), {E::kInt64})),
              (std::vector<int64_t>{9007199254740993, 2}));
    EXPECT_EQ(ElementsOf<uint64_t>(Cast(opset, Strings({"18446744073709551615"}), {E::kUint64})),
              std::vector<uint64_t>{UINT64_MAX});
    EXPECT_EQ(CodesOf(Cast(opset, Strings({"3.14", "1e-5", "1E8", "+INF", "inf", "-Inf", " 7 "}),
                           {E::kFloat})),
              (Codes{0x4048F5C3, 0x3727C5AC, 0x4CBEBC20, 0x7F800000, 0x7F800000, 0xFF800000,
                     0x40E00000}));
    const Tensor nans = Cast(opset, Strings({"NaN", "nan"}), {E::kFloat});
    EXPECT_TRUE(std::isnan(nans.span<float>()[0]) && std::isnan(nans.span<float>()[1]));
    EXPECT_EQ(Cast(opset, Strings({}), {E::kFloat}).size(), 0);
    EXPECT_EQ(Cast(opset, Floats({}), {E::kString}).size(), 0);
  }
}

TEST(SessionCastTest, AMalformedStringIsNamedWithItsIndex) {  // B15
  for (const std::string text : {"Hello", "", "1.0abc", "0x10", " ", "1_000", "1,5"}) {
    for (const E to : {E::kFloat, E::kInt64, E::kBool, E::kFloat16}) {
      for (const bool constant : {false, true}) {
        const Tensor x = Strings({"1", "2", text});
        const auto outputs =
            LoadAndRun(CastModel(13, x, {to}, {}, constant),
                       constant ? std::vector<Value>{} : std::vector<Value>{Value(x)});
        ASSERT_FALSE(outputs.ok()) << text;
        EXPECT_EQ(outputs.status().code(), absl::StatusCode::kInvalidArgument);
        EXPECT_THAT(std::string(outputs.status().message()),
                    HasSubstr(absl::StrCat(
                        "node #0 Cast (ai.onnx opset 13), main graph: element 2: \"", text,
                        "\" is not a number (converting to ", InfoOf(to).type_string, ")")));
      }
    }
  }
}

// --- B19, B20, B21, B25 ---------------------------------------------------------

TEST(SessionCastTest, HalfOverflowsFrom65520) {  // B19
  // saturate is for float8 alone.
  for (const std::vector<Attribute>& attributes :
       {std::vector<Attribute>{}, {IntAttr("saturate", 0)}, {IntAttr("saturate", 1)}}) {
    EXPECT_EQ(CodesOf(Cast(19, Floats({65504, 65519, 65520, 65536, 1e10F, -65520}), {E::kFloat16},
                           attributes)),
              (Codes{0x7BFF, 0x7BFF, 0x7C00, 0x7C00, 0x7C00, 0xFC00}));
    EXPECT_EQ(CodesOf(Cast(19, Numbers<int32_t>(E::kInt32, {65519, 65520, 70000}), {E::kFloat16},
                           attributes)),
              (Codes{0x7BFF, 0x7C00, 0x7C00}));
    EXPECT_EQ(
        CodesOf(Cast(19, Numbers<uint64_t>(E::kUint64, {UINT64_MAX}), {E::kFloat16}, attributes)),
        Codes{0x7C00});
    EXPECT_EQ(CodesOf(Cast(19, Numbers<double>(E::kDouble, {1e39}), {E::kFloat}, attributes)),
              Codes{0x7F800000});
    EXPECT_EQ(
        CodesOf(Cast(19, Numbers<int64_t>(E::kInt64, {INT64_MAX}), {E::kBfloat16}, attributes)),
        Codes{0x5F00});
  }
}

TEST(SessionCastTest, FloatToIntegerIsTheSameWherever) {  // B20
  const std::vector<float> values = {kNan, kInf, -kInf, 3e9F, -3e9F, -1.5F, -0.9F, 256.7F, 1e20F};
  // Truncated (of 4 and 2 bits: rounded to even), then the low bits. 1e20F is
  // 100000002004087734272.
  const std::vector<std::pair<E, Codes>> expected = {
      {E::kInt8, {0, 0, 0, 0, 0, 0xFF, 0, 0, 0}},
      {E::kUint8, {0, 0, 0, 0, 0, 0xFF, 0, 0, 0}},
      {E::kInt16, {0, 0, 0, 0x5E00, 0xA200, 0xFFFF, 0, 256, 0}},
      {E::kUint16, {0, 0, 0, 0x5E00, 0xA200, 0xFFFF, 0, 256, 0}},
      {E::kInt32, {0, 0, 0, 0xB2D05E00, 0x4D2FA200, 0xFFFFFFFF, 0, 256, 0}},
      {E::kUint32, {0, 0, 0, 0xB2D05E00, 0x4D2FA200, 0xFFFFFFFF, 0, 256, 0}},
      {E::kInt64,
       {0, 0, 0, 3000000000, 0xFFFFFFFF4D2FA200, 0xFFFFFFFFFFFFFFFF, 0, 256, 0x6BC7600000000000}},
      {E::kUint64,
       {0, 0, 0, 3000000000, 0xFFFFFFFF4D2FA200, 0xFFFFFFFFFFFFFFFF, 0, 256, 0x6BC7600000000000}},
      {E::kInt4, {0, 0, 0, 0, 0, 0xE, 0xF, 1, 0}},
      {E::kUint2, {0, 0, 0, 0, 0, 2, 3, 1, 0}},
  };
  for (const auto& [type, codes] : expected) {
    for (const size_t length : {1, 7, 8, 33, 1000}) {
      for (size_t first = 0; first < values.size(); ++first) {
        std::vector<float> x;
        Codes y;
        for (size_t i = 0; i < length; ++i) {
          x.push_back(values[(first + i) % values.size()]);
          y.push_back(codes[(first + i) % values.size()]);
        }
        ASSERT_EQ(CodesOf(Cast(25, Floats(x), {type})), y) << InfoOf(type).name << " of " << length;
      }
    }
  }
}

TEST(SessionCastTest, IntegersKeepTheirLowBits) {  // B21
  EXPECT_EQ(ElementsOf<int8_t>(Cast(13, Numbers<int16_t>(E::kInt16, {200, -200, 300}), {E::kInt8})),
            (std::vector<int8_t>{-56, 56, 44}));
  EXPECT_EQ(ElementsOf<uint16_t>(Cast(13, Numbers<int32_t>(E::kInt32, {-1, 65536}), {E::kUint16})),
            (std::vector<uint16_t>{65535, 0}));
  EXPECT_EQ(
      ElementsOf<int32_t>(Cast(13, Numbers<int64_t>(E::kInt64, {1099511627781}), {E::kInt32})),
      std::vector<int32_t>{5});
  EXPECT_EQ(ElementsOf<int64_t>(Cast(13, Numbers<uint64_t>(E::kUint64, {UINT64_MAX}), {E::kInt64})),
            std::vector<int64_t>{-1});
  EXPECT_EQ(ElementsOf<uint64_t>(Cast(13, Numbers<int8_t>(E::kInt8, {-1}), {E::kUint64})),
            std::vector<uint64_t>{UINT64_MAX});
  EXPECT_EQ(CodesOf(Cast(21, Numbers<int64_t>(E::kInt64, {17, -1}), {E::kUint4})), (Codes{1, 15}));
  EXPECT_EQ(CodesOf(Cast(25, Numbers<int32_t>(E::kInt32, {5, -3}), {E::kInt2})), (Codes{1, 1}));
}

TEST(SessionCastTest, FloatToInt64Truncates) {  // B25
  EXPECT_EQ(ElementsOf<int64_t>(Cast(13, Floats({1.9F, -1.9F, 2.5F}), {E::kInt64})),
            (std::vector<int64_t>{1, -1, 2}));
  EXPECT_EQ(ElementsOf<int64_t>(
                Cast(13, Numbers<int64_t>(E::kInt64, {16777217}), {E::kInt32, E::kInt64})),
            std::vector<int64_t>{16777217});
}

// --- B22, B23 -----------------------------------------------------------------

TEST(SessionCastTest, E8m0HonoursRoundModeAndSaturate) {  // B22
  const Tensor x =
      Floats({0.124F, 1.1F, 1.125F, 1.25F, 1.5F, 5.0F, std::bit_cast<float>(0x7F400000), kInf, kNan,
              0.0F, std::bit_cast<float>(0x00400000), 1e-45F});
  struct Row {
    const char* mode;
    int saturate;
    Codes codes;
  };
  const Row rows[] = {
      {"up", 1, {0x7C, 0x80, 0x80, 0x80, 0x80, 0x82, 0xFE, 0xFE, 0xFF, 0x00, 0x00, 0x00}},
      {"down", 1, {0x7B, 0x7F, 0x7F, 0x7F, 0x7F, 0x81, 0xFE, 0xFE, 0xFF, 0x00, 0x00, 0x00}},
      {"nearest", 1, {0x7C, 0x7F, 0x7F, 0x7F, 0x80, 0x81, 0xFE, 0xFE, 0xFF, 0x00, 0x00, 0x00}},
      {"up", 0, {0x7C, 0x80, 0x80, 0x80, 0x80, 0x82, 0xFF, 0xFF, 0xFF, 0xFF, 0x00, 0xFF}},
      {"down", 0, {0x7B, 0x7F, 0x7F, 0x7F, 0x7F, 0x81, 0xFE, 0xFF, 0xFF, 0xFF, 0x00, 0xFF}},
      {"nearest", 0, {0x7C, 0x7F, 0x7F, 0x7F, 0x80, 0x81, 0xFF, 0xFF, 0xFF, 0xFF, 0x00, 0xFF}},
  };
  for (const int opset : {24, 25}) {
    for (const Row& row : rows) {
      const std::vector<Attribute> attributes = {StringAttr("round_mode", row.mode),
                                                 IntAttr("saturate", row.saturate)};
      EXPECT_EQ(CodesOf(Cast(opset, x, {E::kFloat8e8m0}, attributes)), row.codes)
          << row.mode << row.saturate;
      // CastLike has the attribute too, and honours it.
      const Model like = ModelBuilder(opset)
                             .Input("x", TensorType(E::kFloat))
                             .Input("like", TensorType(E::kFloat8e8m0))
                             .Node("CastLike", {"x", "like"}, {"y"}, attributes)
                             .Output("y")
                             .Build();
      const auto outputs = LoadAndRun(like, {Value(x), Value(TensorOfCodes(E::kFloat8e8m0, {}))});
      ASSERT_TRUE(outputs.ok()) << outputs.status();
      EXPECT_EQ(CodesOf((*outputs)[0].tensor()), row.codes) << row.mode << row.saturate;
    }
    EXPECT_EQ(CodesOf(Cast(opset, x, {E::kFloat8e8m0})),
              rows[0].codes);  // up, saturating: the default
    EXPECT_THAT(
        std::string(
            Refused(CastModel(opset, x, {E::kFloat8e8m0}, {StringAttr("round_mode", "sideways")}))
                .message()),
        HasSubstr(
            "attribute \"round_mode\" is \"sideways\", expected \"up\", \"down\" or \"nearest\""));
  }
}

TEST(SessionCastTest, Float4RoundsToEvenAndAlwaysSaturates) {  // B23
  const Tensor x = Floats({0.25F, 0.75F, 1.25F, 1.75F, 2.5F, 3.5F, 5, 5.01F, -3.5F, 0.48F, 1.05F, 9,
                           -8, kInf, -kInf, kNan, -0.0F, 0.01F});
  const Codes expected = {0x0, 0x2, 0x2, 0x4, 0x4, 0x6, 0x6, 0x7, 0xE,
                          0x1, 0x2, 0x7, 0xF, 0x7, 0xF, 0x8, 0x8, 0x0};
  for (const int opset : {23, 24, 25}) {
    EXPECT_EQ(CodesOf(Cast(opset, x, {E::kFloat4e2m1})), expected);
    EXPECT_EQ(CodesOf(Cast(opset, x, {E::kFloat4e2m1}, {IntAttr("saturate", 0)})), expected);
  }
}

// --- B26 ----------------------------------------------------------------------

TEST(SessionCastTest, CastLikeTakesTheTypeAndNothingElse) {  // B26
  const Tensor x = Floats({1000, kInf});
  struct Row {
    int opset;
    E type;
    std::vector<Attribute> attributes;
    Codes codes;
  };
  const Row rows[] = {
      {15, E::kInt16, {}, {1000, 0}},
      {19, E::kFloat8e4m3fn, {}, {0x7E, 0x7E}},
      {19, E::kFloat8e4m3fn, {IntAttr("saturate", 0)}, {0x7F, 0x7F}},
      {21, E::kFloat8e4m3fn, {IntAttr("saturate", 0)}, {0x7F, 0x7F}},
      {24, E::kFloat8e4m3fn, {IntAttr("saturate", 0)}, {0x7F, 0x7F}},
      {25, E::kFloat8e4m3fn, {IntAttr("saturate", 0)}, {0x7F, 0x7F}},
      {21, E::kInt4, {}, {0x8, 0x0}},
      {25, E::kUint2, {}, {0x0, 0x0}},
  };
  for (const Row& row : rows) {
    for (const std::vector<int64_t>& dims : {std::vector<int64_t>{0}, {}, {2, 3}, {0, 7}}) {
      for (const bool constant : {false, true}) {
        const int64_t count = ElementCount(dims).value();
        const Tensor target = TensorOfCodes(row.type, Codes(count)).WithDims(dims);
        ModelBuilder builder(row.opset);
        builder.Input("x", TensorType(E::kFloat));
        std::vector<Value> inputs = {Value(x)};
        if (constant) {
          builder.Initializer("like", Value(target));
        } else {
          builder.Input("like", TensorType(row.type));
          inputs.emplace_back(target);
        }
        const auto outputs = LoadAndRun(
            builder.Node("CastLike", {"x", "like"}, {"y"}, row.attributes).Output("y").Build(),
            inputs);
        ASSERT_TRUE(outputs.ok()) << outputs.status();
        EXPECT_EQ((*outputs)[0].tensor().type(), row.type);
        EXPECT_EQ((*outputs)[0].tensor().dims(), x.dims());
        EXPECT_EQ(CodesOf((*outputs)[0].tensor()), row.codes);
      }
    }
  }
  const auto text = LoadAndRun(ModelBuilder(15)
                                   .Input("x", TensorType(E::kFloat))
                                   .Initializer("like", Value(Strings({})))
                                   .Node("CastLike", {"x", "like"}, {"y"})
                                   .Output("y")
                                   .Build(),
                               {Value(x)});
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(StringsOf((*text)[0].tensor()), (std::vector<std::string>{"1000", "INF"}));
}

// --- B28, B29 -----------------------------------------------------------------

TEST(SessionCastTest, ConstantOfMinusInfinity) {  // B28
  const auto outputs =
      LoadAndRun(ModelBuilder(21)
                     .Node("Constant", {}, {"x"}, {FloatAttr("value_float", -kInf)})
                     .Node("Cast", {"x"}, {"y"}, {IntAttr("to", 19), IntAttr("saturate", 0)})
                     .Output("y", E::kFloat8e5m2, {})
                     .Build());
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ(CodesOf((*outputs)[0].tensor()), Codes{0xFC});
  EXPECT_EQ((*outputs)[0].tensor().rank(), 0);
}

TEST(SessionCastTest, CastOneTakesEveryNameOfItsTypes) {  // B29
  const std::vector<std::pair<E, Codes>> expected = {
      {E::kFloat, {0xBFC00000, 0x40300000}},
      {E::kDouble, {0xBFF8000000000000, 0x4006000000000000}},
      {E::kFloat16, {0xBE00, 0x4180}},
      {E::kInt8, {0xFF, 2}},
      {E::kInt16, {0xFFFF, 2}},
      {E::kInt32, {0xFFFFFFFF, 2}},
      {E::kInt64, {0xFFFFFFFFFFFFFFFF, 2}},
      {E::kUint8, {0xFF, 2}},
      {E::kUint16, {0xFFFF, 2}},
      {E::kUint32, {0xFFFFFFFF, 2}},
      {E::kUint64, {0xFFFFFFFFFFFFFFFF, 2}},
      {E::kBool, {1, 1}},
  };
  for (const auto& [type, codes] : expected) {
    for (const int opset : {1, 5}) {
      EXPECT_EQ(CodesOf(Cast(opset, Floats({-1.5F, 2.75F}), {type})), codes) << InfoOf(type).name;
    }
  }
}

// --- B34 ----------------------------------------------------------------------

TEST(SessionCastTest, OutputsAreIndependentBuffers) {  // B34
  const Tensor weights = Floats({5, 6});
  const Model model = ModelBuilder(21)
                          .Input("x", TensorType(E::kFloat))
                          .Initializer("w", Value(weights))
                          .Node("Cast", {"x"}, {"same"}, {IntAttr("to", 1)})
                          .Node("Cast", {"same"}, {"i"}, {IntAttr("to", 6)})
                          .Output("x")
                          .Output("w")
                          .Output("same")
                          .Output("same")
                          .Output("i")
                          .Build();
  const auto session = Load(model);
  ASSERT_TRUE(session.ok()) << session.status();
  const std::vector<Value> inputs = {Value(Floats({1, 2}))};
  for (int run = 0; run < 2; ++run) {
    std::vector<Value> outputs(5);
    ASSERT_TRUE((*session)->Run(inputs, absl::MakeSpan(outputs)).ok());
    EXPECT_EQ(ElementsOf<float>(outputs[0].tensor()), (std::vector<float>{1, 2}));
    EXPECT_EQ(ElementsOf<float>(outputs[1].tensor()), (std::vector<float>{5, 6}));
    EXPECT_EQ(ElementsOf<float>(outputs[2].tensor()), (std::vector<float>{1, 2}));
    EXPECT_EQ(ElementsOf<float>(outputs[3].tensor()), (std::vector<float>{1, 2}));
    EXPECT_EQ(ElementsOf<int32_t>(outputs[4].tensor()), (std::vector<int32_t>{1, 2}));
    for (size_t i = 0; i < 4; ++i) {
      ASSERT_TRUE(outputs[i].tensor().Writable()) << "output " << i;
      for (float& value : outputs[i].mutable_tensor().mutable_span<float>()) value = -1;
      if (i < 3) {
        EXPECT_NE(outputs[i + 1].tensor().span<float>()[0], -1) << "output " << i + 1;
      }
    }
  }
  EXPECT_EQ(ElementsOf<float>(inputs[0].tensor()), (std::vector<float>{1, 2}));
  EXPECT_EQ(ElementsOf<float>(weights), (std::vector<float>{5, 6}));
}

TEST(SessionCastTest, AGraphWithoutNodes) {  // B34
  const auto outputs =
      LoadAndRun(ModelBuilder(21).Input("x", TensorType(E::kFloat)).Output("x").Build(),
                 {Value(Floats({1, 2}))});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ(ElementsOf<float>((*outputs)[0].tensor()), (std::vector<float>{1, 2}));
}

// --- Same type, shapes, state of the floating-point unit -------------------------

TEST(SessionCastTest, ACastToTheSameTypeCopiesTheBits) {
  EXPECT_EQ(CodesOf(Cast(13, TensorOfCodes(E::kFloat, {0x7F800001, 0xFFC12345, 0x80000000}),
                         {E::kFloat})),
            (Codes{0x7F800001, 0xFFC12345, 0x80000000}));
  EXPECT_EQ(CodesOf(Cast(13, TensorOfCodes(E::kFloat16, {0x7C01, 0xFE34}), {E::kFloat16})),
            (Codes{0x7C01, 0xFE34}));
  EXPECT_EQ(CodesOf(Cast(21, TensorOfCodes(E::kFloat8e5m2, {0x7D, 0x7F, 0xFC}), {E::kFloat8e5m2},
                         {IntAttr("saturate", 1)})),
            (Codes{0x7D, 0x7F, 0xFC}));
  EXPECT_EQ(CodesOf(Cast(21, TensorOfCodes(E::kInt4, {15, 8, 7}), {E::kInt4})), (Codes{15, 8, 7}));
  const std::vector<std::string> texts = {"Hello", "", std::string("a\0b", 3), "\xFF"};
  EXPECT_EQ(StringsOf(Cast(13, Strings(texts), {E::kString})), texts);
}

TEST(SessionCastTest, AnyShape) {
  for (const std::vector<int64_t>& dims :
       {std::vector<int64_t>{}, {0}, {0, 3}, {1, 1, 1, 1, 1, 1, 1, 1}, {3, 0, 2}}) {
    const int64_t count = ElementCount(dims).value();
    const Tensor x = TensorOfCodes(E::kFloat, Codes(count, 0x40300000)).WithDims(dims);
    EXPECT_EQ(CodesOf(Cast(21, x, {E::kInt32})), Codes(count, 2));
    EXPECT_EQ(CodesOf(Cast(21, x, {E::kInt4})), Codes(count, 3));
    EXPECT_EQ(StringsOf(Cast(21, x, {E::kString})), std::vector<std::string>(count, "2.75"));
  }
}

TEST(SessionCastTest, AValueReadAgainIsNotWrittenOver) {
  // FLOAT and INT32 are of one width: the second Cast may write in place, the first may not.
  const auto outputs = LoadAndRun(ModelBuilder(21)
                                      .Input("x", TensorType(E::kFloat))
                                      .Node("Cast", {"x"}, {"d"}, {IntAttr("to", 11)})
                                      .Node("Cast", {"d"}, {"f"}, {IntAttr("to", 1)})
                                      .Node("Cast", {"f"}, {"i"}, {IntAttr("to", 6)})
                                      .Node("Cast", {"f"}, {"u"}, {IntAttr("to", 12)})
                                      .Output("i")
                                      .Output("u")
                                      .Output("d")
                                      .Build(),
                                  {Value(Floats({-1.5F, 2.75F}))});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ(ElementsOf<int32_t>((*outputs)[0].tensor()), (std::vector<int32_t>{-1, 2}));
  EXPECT_EQ(ElementsOf<uint32_t>((*outputs)[1].tensor()), (std::vector<uint32_t>{4294967295, 2}));
  EXPECT_EQ(ElementsOf<double>((*outputs)[2].tensor()), (std::vector<double>{-1.5, 2.75}));
}

#if defined(__SSE2__)
// Sets the control register of the floating-point unit for a scope.
class ScopedMxcsr {
 public:
  explicit ScopedMxcsr(unsigned bits) : saved_(_mm_getcsr()) { _mm_setcsr(saved_ | bits); }
  ~ScopedMxcsr() { _mm_setcsr(saved_); }

 private:
  unsigned saved_;
};

TEST(SessionCastTest, AHostsFloatingPointStateChangesNothing) {  // B03, B18
  // Repeated, so that fast paths and their tails are reached.
  const auto times = [](const Codes& codes) {
    Codes result;
    for (int i = 0; i < 11; ++i) result.insert(result.end(), codes.begin(), codes.end());
    return result;
  };
  const unsigned states[] = {0, _MM_FLUSH_ZERO_ON | _MM_DENORMALS_ZERO_ON, _MM_ROUND_DOWN,
                             _MM_ROUND_UP,
                             _MM_ROUND_TOWARD_ZERO | _MM_FLUSH_ZERO_ON | _MM_DENORMALS_ZERO_ON};
  for (const unsigned state : states) {
    SCOPED_TRACE(state);
    const auto check = [&](E from, const Codes& x, E to, const Codes& y) {
      const Tensor input = TensorOfCodes(from, times(x));
      Tensor output;
      {
        const ScopedMxcsr scope(state);
        output = Cast(25, input, {to});
      }
      EXPECT_EQ(CodesOf(output), times(y)) << InfoOf(from).name << " -> " << InfoOf(to).name;
    };
    check(E::kFloat,
          {0x33000000, 0x33000001, 0x34200000, 0x34200001, 0x34600000, 0x387FC000, 0x387FFFFF},
          E::kFloat16, {0x0000, 0x0001, 0x0002, 0x0003, 0x0004, 0x03FF, 0x0400});
    check(E::kFloat16, {0x0001, 0x03FF, 0x8001}, E::kFloat, {0x33800000, 0x387FC000, 0xB3800000});
    check(E::kFloat16, {0x0001, 0x03FF, 0x8001}, E::kDouble,
          {0x3E70000000000000, 0x3F0FF80000000000, 0xBE70000000000000});
    check(E::kFloat16, {0x0001, 0x03FF, 0x8001}, E::kBfloat16, {0x3380, 0x3880, 0xB380});
    check(E::kFloat, {0x00000001, 0x80000001, 0x00000000, 0x80000000}, E::kBool, {1, 1, 0, 0});
    check(E::kFloat, {0x00000001, 0x007FFFFF, 0x80400000}, E::kDouble,
          {0x36A0000000000000, 0x380FFFFFC0000000, 0xB800000000000000});
    check(E::kDouble,
          {0x36A0000000000000, 0x380FFFFFC0000000, 0x3690000000000000, 0x3690000000000001},
          E::kFloat, {0x00000001, 0x007FFFFF, 0x00000000, 0x00000001});
    check(E::kFloat, {0x00400000, 0x00010000, 0x00008000, 0x00018000}, E::kBfloat16,
          {0x0040, 0x0001, 0x0000, 0x0002});
    check(E::kFloat, {0x3F808000, 0x3F818000, 0xBF808001}, E::kBfloat16, {0x3F80, 0x3F82, 0xBF81});
    check(E::kFloat8e8m0, {0x00, 0x01, 0x7F}, E::kFloat, {0x00400000, 0x00800000, 0x3F800000});
    check(E::kFloat, {0x00400000, 0x00500000, 0x00800000}, E::kFloat8e8m0, {0x00, 0x01, 0x01});
    check(E::kInt64, {0x1000001000000001, 0x7FFFFFFFFFFFFFFF}, E::kFloat, {0x5D800001, 0x5F000000});
    check(E::kInt32, {0x01000001, 0x01000003, 0xFEFFFFFF}, E::kFloat,
          {0x4B800000, 0x4B800002, 0xCB800000});
    check(E::kDouble, {0x0000000000000001, 0x3FF8000000000000}, E::kInt32, {0, 1});
    const Tensor text = Strings({"1e-45", "1.00000017881393432617187499", "-1e-400"});
    Tensor parsed;
    Tensor printed;
    {
      const ScopedMxcsr scope(state);
      parsed = Cast(25, text, {E::kFloat});
      printed = Cast(25, TensorOfCodes(E::kFloat, {0x00000001, 0x3DCCCCCD}), {E::kString});
    }
    EXPECT_EQ(CodesOf(parsed), (Codes{0x00000001, 0x3F800001, 0x80000000}));
    EXPECT_EQ(StringsOf(printed),
              (std::vector<std::string>{"0.000000000000000000000000000000000000000000001", "0.1"}));
  }
}
#endif

}  // namespace
}  // namespace onnx_run
