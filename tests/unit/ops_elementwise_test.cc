// The element-wise engine and what kinds of operators made of it can get wrong.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/ops_test_util.h"

namespace onnx_run {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Tensor Counting(const std::vector<int64_t>& dims) {
  Tensor tensor = Tensor::Create(ElementType::kFloat, dims).value();
  std::iota(tensor.mutable_data_as<float>(), tensor.mutable_data_as<float>() + tensor.size(), 0.0F);
  return tensor;
}

// Every way two inputs can be broadcast to one another, against a loop over indices.
TEST(Elementwise, BroadcastsLikeIndices) {
  struct Case {
    std::vector<int64_t> a, b;
  };
  const Case cases[] = {
      {{2, 3}, {2, 3}},       {{}, {}},
      {{2, 3}, {}},           {{}, {2, 3}},
      {{2, 3}, {3}},          {{3}, {2, 3}},
      {{2, 1}, {1, 3}},       {{2, 1, 4}, {3, 1}},
      {{1, 1, 1}, {2, 3, 4}}, {{7, 1, 5, 1}, {7, 6, 1, 4}},
      {{0, 3}, {3}},          {{2, 0}, {1}},
      {{5, 100}, {5, 1}},     {{100, 5}, {5}},
      {{3000, 3}, {3}},       {{2, 70, 3}, {2, 1, 3}},
      {{1, 64}, {64, 1}},     {{4, 1, 64}, {1, 5, 1}},
  };
  for (const Case& test : cases) {
    const Tensor a = Counting(test.a);
    const Tensor b = Counting(test.b);
    const auto result = RunOp("Sub", 14, {a, b});
    ASSERT_TRUE(result.ok()) << result.status();
    const Tensor& out = (*result)[0].tensor();
    const int rank = out.rank();
    ASSERT_EQ(rank, std::max(a.rank(), b.rank()));
    const auto index_in = [&](const Tensor& input, int64_t index) {
      int64_t result_index = 0;
      int64_t stride = 1;
      for (int d = rank - 1, e = input.rank() - 1; e >= 0; --d, --e) {
        const int64_t at = index % out.dim(d);
        index /= out.dim(d);
        if (input.dim(e) != 1) result_index += at * stride;
        stride *= input.dim(e);
      }
      return result_index;
    };
    for (int64_t i = 0; i < out.size(); ++i) {
      ASSERT_EQ(out.data_as<float>()[i],
                a.data_as<float>()[index_in(a, i)] - b.data_as<float>()[index_in(b, i)])
          << DimsToString(a.dims()) << DimsToString(b.dims()) << " at " << i;
    }
  }
}

TEST(Elementwise, RefusesWhatDoesNotBroadcast) {
  const auto result = RunOp("Add", 14, {Counting({2, 3}), Counting({2})});
  EXPECT_THAT(result.status().message(), HasSubstr("[2,3] and [2] cannot be broadcast"));
}

TEST(Elementwise, BroadcastsBeforeOpset7OnlyAsTold) {
  const Tensor a = Counting({2, 3, 2});
  const Tensor b = Counting({3});
  EXPECT_FALSE(RunOp("Sub", 6, {a, b}).ok());
  EXPECT_FALSE(RunOp("Sub", 6, {a, b}, {IntAttr("broadcast", 1)}).ok());  // matched at the end
  const auto result = RunOp("Sub", 6, {a, b}, {IntAttr("broadcast", 1), IntAttr("axis", 1)});
  EXPECT_THAT(ElementsOf<float>(result), ElementsAre(0, 1, 1, 2, 2, 3, 6, 7, 7, 8, 8, 9));
}

TEST(Elementwise, IntegersWrap) {
  constexpr int32_t kMin = std::numeric_limits<int32_t>::min();
  const auto ints = [](int32_t x, int32_t y) {
    return TensorOf<int32_t>(ElementType::kInt32, {2}, {x, y});
  };
  EXPECT_THAT(ElementsOf<int32_t>(RunOp("Add", 14, {ints(kMin, 1), ints(-1, 2)})),
              ElementsAre(std::numeric_limits<int32_t>::max(), 3));
  EXPECT_THAT(ElementsOf<int32_t>(RunOp("Div", 14, {ints(kMin, 7), ints(-1, 0)})),
              ElementsAre(kMin, 0));
  EXPECT_THAT(ElementsOf<int32_t>(RunOp("Mod", 13, {ints(kMin, -7), ints(-1, 3)})),
              ElementsAre(0, 2));
  EXPECT_THAT(ElementsOf<int32_t>(RunOp("Abs", 13, {ints(kMin, -3)})), ElementsAre(kMin, 3));
  EXPECT_THAT(ElementsOf<int32_t>(RunOp("Neg", 13, {ints(kMin, -3)})), ElementsAre(kMin, 3));
  EXPECT_THAT(ElementsOf<uint16_t>(RunOp("Mul", 14,
                                         {TensorOf<uint16_t>(ElementType::kUint16, {1}, {65535}),
                                          TensorOf<uint16_t>(ElementType::kUint16, {1}, {65535})})),
              ElementsAre(1));
}

// 1 + 2^-11 is a tie in float16 and rounds to 1; 1 + 3 * 2^-11 to 1 + 2^-9.
TEST(Elementwise, NarrowFloatsRoundOnce) {
  const auto halves = [](std::initializer_list<uint16_t> codes) {
    return TensorOf<uint16_t>(ElementType::kFloat16, {static_cast<int64_t>(codes.size())}, codes);
  };
  EXPECT_THAT(ElementsOf<uint16_t>(RunOp(
                  "Add", 14, {halves({0x3c00, 0x3c01, 0x7bff}), halves({0x1000, 0x1000, 0x7bff})})),
              ElementsAre(0x3c00, 0x3c02, 0x7c00));
  // Sum of three keeps what each addition would lose: 2048 + 1 + 1 in float16.
  EXPECT_THAT(ElementsOf<uint16_t>(
                  RunOp("Sum", 13, {halves({0x6800}), halves({0x3c00}), halves({0x3c00})})),
              ElementsAre(0x6801));
}

// Few elements are converted at once, more in blocks: that makes no difference.
TEST(Elementwise, NarrowTypesOfAnySize) {
  std::vector<uint16_t> codes(5000);
  for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<uint16_t>(i * 40503);
  for (const ElementType type : {ElementType::kFloat16, ElementType::kBfloat16}) {
    const auto first = [&](int64_t n, int64_t from) {
      return Tensor::Of<uint16_t>(type, {n}, absl::MakeConstSpan(codes).subspan(from, n)).value();
    };
    const Tensor one = TensorOf<uint16_t>(type, {}, {0x3e01});
    for (const int64_t n : {1, 31, 1024, 1025}) {
      const auto expect_same = [&](const char* op, int opset, const std::vector<Value>& few,
                                   const std::vector<Value>& many) {
        const std::vector<uint8_t> of_few = ElementsOf<uint8_t>(RunOp(op, opset, few));
        std::vector<uint8_t> of_many = ElementsOf<uint8_t>(RunOp(op, opset, many));
        ASSERT_FALSE(of_few.empty());
        ASSERT_GT(of_many.size(), of_few.size());
        of_many.resize(of_few.size());
        EXPECT_EQ(of_few, of_many) << op << " of " << n;
      };
      const Tensor a = first(n, 7);
      const Tensor b = first(n, 0);
      const Tensor long_a = first(4000, 7);
      const Tensor long_b = first(4000, 0);
      expect_same("Sqrt", 13, {a}, {long_a});
      expect_same("Add", 14, {a, b}, {long_a, long_b});
      expect_same("Sub", 14, {one, b}, {one, long_b});
      expect_same("Less", 13, {a, one}, {long_a, one});
      expect_same("Pow", 15, {a, one}, {long_a, one});
      expect_same("Pow", 15, {a, b}, {long_a, long_b});
    }
  }
}

TEST(Elementwise, InPlaceReadsBeforeItWrites) {
  static const OpRegistry kRegistry(AllKernels(), &StandardSchemas());
  auto session = Session::Create(ModelBuilder(14)
                                     .Input("x", ElementType::kFloat, {1000})
                                     .Node("Neg", {"x"}, {"a"})
                                     .Node("Add", {"a", "x"}, {"b"})  // 0
                                     .Node("Sub", {"x", "b"}, {"c"})  // x, b dies here
                                     .Node("Mul", {"c", "c"}, {"y"})
                                     .Output("y")
                                     .Build(),
                                 kRegistry);
  ASSERT_TRUE(session.ok()) << session.status();
  const auto result = (*session)->Run({{"x", Counting({1000})}});
  ASSERT_TRUE(result.ok()) << result.status();
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ((*result)[0].tensor().data_as<float>()[i], static_cast<float>(i) * i);
  }
}

TEST(Elementwise, NanAndSignedZero) {
  const Tensor x = FloatTensor({4}, {kNan, -0.0F, kInf, 1});
  const auto zeros = FloatTensor({4}, {0, 0, 0, kNan});
  const auto max = ElementsOf<float>(RunOp("Max", 13, {x, zeros}));
  EXPECT_TRUE(std::isnan(max[0]));
  EXPECT_TRUE(std::isnan(max[3]));
  EXPECT_FALSE(std::signbit(ElementsOf<float>(RunOp("Abs", 13, {x}))[1]));
  EXPECT_TRUE(std::signbit(ElementsOf<float>(RunOp("Tanh", 13, {x}))[1]));
  EXPECT_TRUE(std::isnan(ElementsOf<float>(RunOp("Relu", 14, {x}))[0]));
  EXPECT_THAT(ElementsOf<uint8_t>(RunOp("IsNaN", 20, {x})), ElementsAre(1, 0, 0, 0));
  EXPECT_THAT(ElementsOf<uint8_t>(RunOp("Equal", 19, {x, x})), ElementsAre(0, 1, 1, 1));
}

TEST(Elementwise, WhereMovesBitsOfEveryKind) {
  const Tensor condition = TensorOf<uint8_t>(ElementType::kBool, {2, 1}, {1, 0});
  const auto strings =
      RunOp("Where", 16, {condition, StringTensor({2}, {"a", "b"}), StringTensor({}, {"c"})});
  ASSERT_TRUE(strings.ok()) << strings.status();
  EXPECT_THAT((*strings)[0].tensor().strings(), ElementsAre("a", "b", "c", "c"));
  const auto halves = RunOp("Where", 16,
                            {condition, TensorOf<uint16_t>(ElementType::kFloat16, {2}, {0x7e01, 1}),
                             TensorOf<uint16_t>(ElementType::kFloat16, {1}, {2})});
  EXPECT_THAT(ElementsOf<uint16_t>(halves), ElementsAre(0x7e01, 1, 2, 2));
}

TEST(Elementwise, ClipLimits) {
  const Tensor x = FloatTensor({3}, {-5, 0.5, 5});
  const auto scalar = [](float value) { return FloatTensor({}, {value}); };
  EXPECT_THAT(ElementsOf<float>(RunOp("Clip", 13, {x, scalar(-1)})), ElementsAre(-1, 0.5, 5));
  EXPECT_THAT(ElementsOf<float>(RunOp("Clip", 13, {x, Value(), scalar(1)})),
              ElementsAre(-5, 0.5, 1));
  EXPECT_THAT(ElementsOf<float>(RunOp("Clip", 13, {x, scalar(2), scalar(1)})),
              ElementsAre(1, 1, 1));
  EXPECT_FALSE(RunOp("Clip", 13, {x, FloatTensor({2}, {1, 2})}).ok());
}

TEST(Elementwise, PowOfMixedTypes) {
  const Tensor base = TensorOf<int32_t>(ElementType::kInt32, {4}, {2, -1, 0, 3});
  EXPECT_THAT(ElementsOf<int32_t>(RunOp("Pow", 15, {base, Int64Tensor({4}, {31, -3, -1, 40})})),
              ElementsAre(std::numeric_limits<int32_t>::min(), -1, 0,
                          static_cast<int32_t>(12157665459056928801ULL)));
  EXPECT_THAT(ElementsOf<int32_t>(RunOp("Pow", 15, {base, FloatTensor({}, {0.5})}))[3], 1);
}

}  // namespace
}  // namespace onnx_run
