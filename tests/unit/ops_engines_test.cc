// Reductions, rows along an axis, strided copies and quantization: what their engines can get
// wrong.
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

Tensor Counting(std::vector<int64_t> dims) {
  Tensor tensor = Tensor::Create(ElementType::kFloat, dims).value();
  std::iota(tensor.mutable_data_as<float>(), tensor.mutable_data_as<float>() + tensor.size(), 0.0F);
  return tensor;
}

// Every set of axes of a rank 4 tensor, against a loop over indices.
TEST(Reduce, EverySetOfAxes) {
  for (const std::vector<int64_t>& dims :
       {std::vector<int64_t>{2, 3, 4, 5}, {1, 3, 1, 40}, {5, 1, 700, 1}, {2, 0, 3, 2}}) {
    const Tensor x = Counting(dims);
    for (int mask = 1; mask < 16; ++mask) {
      std::vector<int64_t> axes;
      std::vector<int64_t> kept(dims);
      for (int d = 0; d < 4; ++d) {
        if ((mask >> d & 1) == 0) continue;
        axes.push_back(d % 2 == 0 ? d : d - 4);
        kept[d] = 1;
      }
      const Tensor axes_tensor =
          Tensor::Of<int64_t>(ElementType::kInt64, {static_cast<int64_t>(axes.size())},
                              absl::MakeConstSpan(axes))
              .value();
      const auto result = RunOp("ReduceSum", 13, {x, axes_tensor});
      ASSERT_TRUE(result.ok()) << result.status();
      const Tensor& out = (*result)[0].tensor();
      ASSERT_THAT(out.dims(), ::testing::ElementsAreArray(kept));
      std::vector<double> sums(static_cast<size_t>(out.size()));
      for (int64_t i = 0; i < x.size(); ++i) {
        int64_t rest = i;
        int64_t index = 0;
        int64_t stride = 1;
        for (int d = 3; d >= 0; --d) {
          if (kept[d] != 1) index += rest % dims[d] * stride;
          rest /= dims[d];
          stride *= kept[d];
        }
        sums[index] += x.data_as<float>()[i];
      }
      for (int64_t i = 0; i < out.size(); ++i) {
        ASSERT_EQ(out.data_as<float>()[i], static_cast<float>(sums[i])) << mask << " at " << i;
      }
    }
  }
}

TEST(Reduce, AxesAsAttributeAsInputAndNone) {
  const Tensor x = Counting({2, 3});
  EXPECT_THAT(ElementsOf<float>(RunOp("ReduceMax", 11, {x}, {IntsAttr("axes", {-1})})),
              ElementsAre(2, 5));
  EXPECT_THAT(ElementsOf<float>(RunOp("ReduceMax", 18, {x, Int64Tensor({1}, {0})})),
              ElementsAre(3, 4, 5));
  EXPECT_THAT(ElementsOf<float>(RunOp("ReduceMax", 18, {x, Int64Tensor({0}, {})})), ElementsAre(5));
  // Over no axes at all, the rest of the function still happens.
  EXPECT_THAT(
      ElementsOf<float>(RunOp("ReduceSumSquare", 18, {x}, {IntAttr("noop_with_empty_axes", 1)})),
      ElementsAre(0, 1, 4, 9, 16, 25));
  EXPECT_THAT(RunOp("ReduceMax", 18, {x, Int64Tensor({1}, {2})}).status().message(),
              HasSubstr("axis 2 is not in [-2, 1]"));
  EXPECT_THAT(RunOp("ReduceMax", 18, {x, Int64Tensor({2}, {1, -1})}).status().message(),
              HasSubstr("comes twice"));
}

TEST(Reduce, EmptySets) {
  const Tensor x = Counting({2, 0});
  const Tensor axis = Int64Tensor({1}, {1});
  constexpr float kInf = std::numeric_limits<float>::infinity();
  EXPECT_THAT(ElementsOf<float>(RunOp("ReduceSum", 13, {x, axis})), ElementsAre(0, 0));
  EXPECT_THAT(ElementsOf<float>(RunOp("ReduceProd", 18, {x, axis})), ElementsAre(1, 1));
  EXPECT_THAT(ElementsOf<float>(RunOp("ReduceMax", 20, {x, axis})), ElementsAre(-kInf, -kInf));
  EXPECT_THAT(ElementsOf<float>(RunOp("ReduceLogSumExp", 18, {x, axis})),
              ElementsAre(-kInf, -kInf));
  EXPECT_TRUE(std::isnan(ElementsOf<float>(RunOp("ReduceMean", 18, {x, axis}))[0]));
  const Tensor bytes = Tensor::Create(ElementType::kInt8, {1, 0}).value();
  EXPECT_THAT(ElementsOf<int8_t>(RunOp("ReduceMin", 20, {bytes, axis})), ElementsAre(127));
}

// 2^24 + 1 + 1 + ... : lost one by one in float.
TEST(Reduce, LongSumsKeepSmallTerms) {
  Tensor x = Tensor::Create(ElementType::kFloat, {100001, 2}).value();
  std::fill_n(x.mutable_data_as<float>(), x.size(), 1.0F);
  x.mutable_data_as<float>()[0] = x.mutable_data_as<float>()[1] = 16777216.0F;
  EXPECT_THAT(ElementsOf<float>(RunOp("ReduceSum", 13, {x, Int64Tensor({1}, {0})})),
              ElementsAre(16877216.0F, 16877216.0F));
  EXPECT_THAT(ElementsOf<float>(RunOp("ReduceSum", 13, {x})), ElementsAre(33754432.0F));
}

TEST(Reduce, LogSumExpDoesNotOverflow) {
  EXPECT_FLOAT_EQ(
      ElementsOf<float>(RunOp("ReduceLogSumExp", 18, {FloatTensor({2}, {1000, 1000})}))[0],
      1000.6931F);
  constexpr float kInf = std::numeric_limits<float>::infinity();
  EXPECT_THAT(ElementsOf<float>(RunOp("ReduceLogSumExp", 18, {FloatTensor({2}, {-kInf, -kInf})})),
              ElementsAre(-kInf));
}

TEST(Rows, SoftmaxAroundAnyAxisAndAsMatrix) {
  const Tensor x = FloatTensor({2, 2, 2}, {0, 0, 0, 0, 0, 0, 0, 0});
  EXPECT_THAT(ElementsOf<float>(RunOp("Softmax", 13, {x}, {IntAttr("axis", 1)})),
              ::testing::Each(0.5F));
  EXPECT_THAT(ElementsOf<float>(RunOp("Softmax", 11, {x})), ::testing::Each(0.25F));
  EXPECT_THAT(ElementsOf<float>(
                  RunOp("Hardmax", 13, {FloatTensor({2, 2}, {1, 1, 0, 2})}, {IntAttr("axis", 0)})),
              ElementsAre(1, 0, 0, 1));
}

TEST(Rows, CumulativeDirections) {
  const Tensor x = FloatTensor({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor axis = TensorOf<int32_t>(ElementType::kInt32, {}, {1});
  EXPECT_THAT(ElementsOf<float>(RunOp("CumSum", 14, {x, axis})), ElementsAre(1, 3, 6, 4, 9, 15));
  EXPECT_THAT(ElementsOf<float>(
                  RunOp("CumSum", 14, {x, axis}, {IntAttr("exclusive", 1), IntAttr("reverse", 1)})),
              ElementsAre(5, 3, 0, 11, 6, 0));
  EXPECT_THAT(ElementsOf<float>(RunOp("CumSum", 14, {x, Int64Tensor({}, {-2})})),
              ElementsAre(1, 2, 3, 5, 7, 9));
}

TEST(Rows, ArgMaxTiesAndNan) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const Tensor x = FloatTensor({2, 4}, {1, 3, 3, 0, 1, kNan, 5, kNan});
  EXPECT_THAT(ElementsOf<int64_t>(RunOp("ArgMax", 13, {x}, {IntAttr("axis", 1)})),
              ElementsAre(1, 1));
  EXPECT_THAT(ElementsOf<int64_t>(
                  RunOp("ArgMax", 13, {x}, {IntAttr("axis", -1), IntAttr("select_last_index", 1)})),
              ElementsAre(2, 3));
  EXPECT_THAT(RunOp("ArgMax", 13, {Counting({2, 0})}, {IntAttr("axis", 1)}).status().message(),
              HasSubstr("is empty"));
}

// Every permutation of rank 4, sizes around the squares that are copied at once.
TEST(StridedCopy, TransposesLikeIndices) {
  const std::vector<int64_t> dims = {3, 17, 2, 33};
  const Tensor x = Counting(dims);
  std::vector<int64_t> perm = {0, 1, 2, 3};
  do {
    const auto result = RunOp("Transpose", 13, {x}, {IntsAttr("perm", perm)});
    ASSERT_TRUE(result.ok()) << result.status();
    const Tensor& out = (*result)[0].tensor();
    for (int64_t i = 0; i < out.size(); ++i) {
      int64_t rest = i;
      int64_t at[4] = {};
      for (int d = 3; d >= 0; --d) {
        at[perm[d]] = rest % dims[perm[d]];
        rest /= dims[perm[d]];
      }
      const int64_t index = ((at[0] * dims[1] + at[1]) * dims[2] + at[2]) * dims[3] + at[3];
      ASSERT_EQ(out.data_as<float>()[i], static_cast<float>(index));
    }
  } while (std::next_permutation(perm.begin(), perm.end()));
}

TEST(StridedCopy, PackedElementsAndStrings) {
  // int4 [[1,2,3],[4,5,6]], from the low bits up
  const auto packed =
      RunOp("Transpose", 21, {TensorOf<uint8_t>(ElementType::kInt4, {2, 3}, {0x21, 0x43, 0x65})});
  EXPECT_THAT(ElementsOf<uint8_t>(packed), ElementsAre(0x41, 0x52, 0x63));
  const auto odd =
      RunOp("Transpose", 21, {TensorOf<uint8_t>(ElementType::kUint4, {1, 3}, {0x21, 0xf3})});
  EXPECT_THAT(ElementsOf<uint8_t>(odd), ElementsAre(0x21, 0x03));
  const auto strings = RunOp("Transpose", 21, {StringTensor({2, 2}, {"a", "b", "c", "d"})});
  ASSERT_TRUE(strings.ok()) << strings.status();
  EXPECT_THAT((*strings)[0].tensor().strings(), ElementsAre("a", "c", "b", "d"));
}

TEST(Quantize, RoundsHalvesToEvenAndSaturates) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const Tensor x = FloatTensor({8}, {0.5, 1.5, -0.5, 2.5, 300, -300, 1e38F, kNan});
  const Tensor one = FloatTensor({}, {1});
  EXPECT_THAT(
      ElementsOf<uint8_t>(
          RunOp("QuantizeLinear", 13, {x, one, TensorOf<uint8_t>(ElementType::kUint8, {}, {10})})),
      ElementsAre(10, 12, 10, 12, 255, 0, 255, 0));
  EXPECT_THAT(ElementsOf<int8_t>(RunOp("QuantizeLinear", 13,
                                       {x, one, TensorOf<int8_t>(ElementType::kInt8, {}, {0})})),
              ElementsAre(0, 2, 0, 2, 127, -128, 127, -128));
}

TEST(Quantize, EveryGranularityGivesTheSame) {
  const Tensor x = Counting({2, 3, 4});
  const auto uint4 = [](Tensor scale, std::vector<Attribute> attributes, const Tensor& input) {
    attributes.push_back(IntAttr("output_dtype", 21));
    return ElementsOf<uint8_t>(RunOp("QuantizeLinear", 21, {input, std::move(scale)}, attributes));
  };
  const auto expected = uint4(FloatTensor({}, {2}), {}, x);
  EXPECT_EQ(expected[1], 0x21);  // 2/2 and 3/2 to even
  EXPECT_EQ(uint4(FloatTensor({3}, {2, 2, 2}), {IntAttr("axis", 1)}, x), expected);
  EXPECT_EQ(uint4(FloatTensor({2, 3, 2}, {2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2}),
                  {IntAttr("axis", -1), IntAttr("block_size", 2)}, x),
            expected);
  // The last block of axis 1 is not whole.
  Tensor scale = Tensor::Create(ElementType::kFloat, {2, 2, 4}).value();
  std::fill_n(scale.mutable_data_as<float>(), 16, 2.0F);
  EXPECT_EQ(uint4(scale, {IntAttr("axis", 1), IntAttr("block_size", 2)}, x), expected);
  EXPECT_THAT(RunOp("QuantizeLinear", 21, {x, FloatTensor({2}, {1, 1})}).status().message(),
              HasSubstr("expected dimensions [3]"));
}

TEST(Quantize, ToFloat8SaturatesOrNot) {
  const Tensor x = FloatTensor({2}, {1000, 1});
  const Tensor zero = TensorOf<uint8_t>(ElementType::kFloat8e4m3fn, {}, {0});
  EXPECT_THAT(ElementsOf<uint8_t>(RunOp("QuantizeLinear", 21, {x, FloatTensor({}, {1}), zero})),
              ElementsAre(0x7e, 0x38));
  EXPECT_THAT(ElementsOf<uint8_t>(RunOp("QuantizeLinear", 21, {x, FloatTensor({}, {1}), zero},
                                        {IntAttr("saturate", 0)})),
              ElementsAre(0x7f, 0x38));
}

}  // namespace
}  // namespace onnx_run
