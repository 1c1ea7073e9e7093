// Products, convolutions, pools, resampling and normalisation: against plain loops over many
// shapes, and by the kinds of faults that they refuse.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/convert/convert.h"
#include "tests/unit/ops_test_util.h"

namespace onnx_run {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

int64_t SizeOf(const std::vector<int64_t>& dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

// Small integers: sums of their products are exact in any order.
Tensor Whole(std::mt19937& random, const std::vector<int64_t>& dims,
             ElementType type = ElementType::kFloat) {
  Tensor tensor = Tensor::Create(type, dims).value();
  for (int64_t i = 0; i < tensor.size(); ++i) {
    const double value = static_cast<double>(random() % 9) - 4;
    StoreCode(tensor.mutable_data(), type, i, CodeFromDouble(value, type));
  }
  return tensor;
}
double At(const Tensor& tensor, int64_t i) {
  return CodeToDouble(LoadCode(tensor.data(), tensor.type(), i), tensor.type());
}
std::vector<double> Doubles(const Tensor& tensor) {
  std::vector<double> result;
  for (int64_t i = 0; i < tensor.size(); ++i) result.push_back(At(tensor, i));
  return result;
}
Tensor Bytes(ElementType type, std::vector<int64_t> dims, std::initializer_list<int> values) {
  Tensor tensor = Tensor::Create(type, dims).value();
  std::copy(values.begin(), values.end(), tensor.mutable_data_as<uint8_t>());
  return tensor;
}

// --- MatMul and Gemm
// ---------------------------------------------------------------------------------

TEST(MatMul, EqualsPlainLoopsForAllKindsOfSizes) {
  std::mt19937 random(1);
  const int64_t sizes[][3] = {{1, 1, 1},      {1, 70, 300}, {3, 5, 7},     {8, 33, 64},
                              {9, 31, 257},   {13, 8, 600}, {64, 1, 512},  {70, 4, 40},
                              {250, 65, 300}, {6, 400, 17}, {24, 96, 256}, {500, 3, 9}};
  for (const ElementType type : {ElementType::kFloat, ElementType::kDouble, ElementType::kInt32,
                                 ElementType::kUint64, ElementType::kFloat16}) {
    for (const auto& [m, n, k] : sizes) {
      const Tensor a = Whole(random, {m, k}, type);
      const Tensor b = Whole(random, {k, n}, type);
      const auto y = RunOp("MatMul", 13, {a, b});
      ASSERT_TRUE(y.ok()) << y.status();
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j) {
          double want = 0;
          for (int64_t l = 0; l < k; ++l) want += At(a, i * k + l) * At(b, l * n + j);
          if (type == ElementType::kUint64) {
            uint64_t sum = 0;
            for (int64_t l = 0; l < k; ++l) {
              sum += a.data_as<uint64_t>()[i * k + l] * b.data_as<uint64_t>()[l * n + j];
            }
            ASSERT_EQ((*y)[0].tensor().data_as<uint64_t>()[i * n + j], sum);
          } else {
            // float16 holds integers up to 2048.
            ASSERT_EQ(At((*y)[0].tensor(), i * n + j), want)
                << TypeName(type) << " " << m << "x" << n << "x" << k << " at " << i << "," << j;
          }
        }
      }
    }
  }
}

TEST(MatMul, BroadcastsBatchesAndTakesVectors) {
  std::mt19937 random(2);
  const Tensor a = Whole(random, {2, 1, 3, 4});
  const Tensor b = Whole(random, {5, 4, 2});
  const auto y = RunOp("MatMul", 13, {a, b});
  ASSERT_TRUE(y.ok()) << y.status();
  ASSERT_THAT((*y)[0].tensor().dims(), ElementsAre(2, 5, 3, 2));
  for (int64_t i = 0; i < 60; ++i) {
    const int64_t column = i % 2, row = i / 2 % 3, second = i / 6 % 5, first = i / 30;
    double want = 0;
    for (int64_t l = 0; l < 4; ++l) {
      want += At(a, (first * 3 + row) * 4 + l) * At(b, (second * 4 + l) * 2 + column);
    }
    ASSERT_EQ(At((*y)[0].tensor(), i), want);
  }
  const auto dot = RunOp("MatMul", 13, {FloatTensor({3}, {1, 2, 3}), FloatTensor({3}, {4, 5, 6})});
  ASSERT_TRUE(dot.ok());
  EXPECT_TRUE((*dot)[0].tensor().dims().empty());
  EXPECT_THAT(ElementsOf<float>(dot), ElementsAre(32));
}

TEST(MatMul, NothingToSumIsZero) {
  EXPECT_THAT(
      ElementsOf<float>(RunOp("MatMul", 13, {FloatTensor({2, 0}, {}), FloatTensor({0, 1}, {})})),
      ElementsAre(0, 0));
}

TEST(MatMul, RefusesShapesThatDoNotMeet) {
  const auto y = RunOp("MatMul", 13, {FloatTensor({1, 2}, {1, 2}), FloatTensor({1, 2}, {1, 2})});
  EXPECT_EQ(y.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(y.status().message()), HasSubstr("2 columns meet 1 rows"));
}

TEST(MatMul, SameBitsForAnyNumberOfThreads) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  Tensor a = Tensor::Create(ElementType::kFloat, {301, 517}).value();
  Tensor b = Tensor::Create(ElementType::kFloat, {517, 403}).value();
  for (float& v : a.mutable_span<float>()) v = normal(random);
  for (float& v : b.mutable_span<float>()) v = normal(random);
  const OpRegistry registry(AllKernels(), &StandardSchemas());
  std::vector<std::vector<float>> results;
  for (const int threads : {1, 3}) {
    SessionOptions options;
    options.threads = threads;
    auto session = Session::Create(ModelBuilder(13)
                                       .Input("a", ElementType::kFloat, {301, 517})
                                       .Input("b", ElementType::kFloat, {517, 403})
                                       .Node("MatMul", {"a", "b"}, {"y"})
                                       .Output("y")
                                       .Build(),
                                   registry, options);
    ASSERT_TRUE(session.ok()) << session.status();
    const auto y = (*session)->Run({{"a", a}, {"b", b}});
    ASSERT_TRUE(y.ok());
    results.push_back(ElementsOf<float>(y));
  }
  EXPECT_EQ(std::memcmp(results[0].data(), results[1].data(), results[0].size() * 4), 0);
}

TEST(Gemm, TransposesScalesAndBroadcasts) {
  std::mt19937 random(4);
  for (const int trans_a : {0, 1}) {
    for (const int trans_b : {0, 1}) {
      for (const int64_t m : {1, 5, 40}) {
        const int64_t n = 37, k = 19;
        const Tensor a =
            Whole(random, trans_a != 0 ? std::vector<int64_t>{k, m} : std::vector<int64_t>{m, k});
        const Tensor b =
            Whole(random, trans_b != 0 ? std::vector<int64_t>{n, k} : std::vector<int64_t>{k, n});
        const Tensor c = Whole(random, {n});
        const auto y = RunOp("Gemm", 13, {a, b, c},
                             {IntAttr("transA", trans_a), IntAttr("transB", trans_b),
                              FloatAttr("alpha", 0.5F), FloatAttr("beta", 2)});
        ASSERT_TRUE(y.ok()) << y.status();
        for (int64_t i = 0; i < m * n; ++i) {
          double want = 0;
          for (int64_t l = 0; l < k; ++l) {
            want += At(a, trans_a != 0 ? l * m + i / n : i / n * k + l) *
                    At(b, trans_b != 0 ? i % n * k + l : l * n + i % n);
          }
          ASSERT_EQ(At((*y)[0].tensor(), i), want * 0.5 + At(c, i % n) * 2);
        }
      }
    }
  }
}

TEST(Gemm, BetaOfZeroIgnoresC) {
  const auto y = RunOp("Gemm", 13,
                       {FloatTensor({1, 1}, {2}), FloatTensor({1, 1}, {3}), FloatTensor({}, {NAN})},
                       {FloatAttr("beta", 0)});
  EXPECT_THAT(ElementsOf<float>(y), ElementsAre(6));
}

TEST(Gemm, RefusesAConstantThatDoesNotBroadcast) {
  const auto y = RunOp(
      "Gemm", 13, {FloatTensor({1, 1}, {2}), FloatTensor({1, 1}, {3}), FloatTensor({2}, {1, 1})});
  EXPECT_THAT(std::string(y.status().message()), HasSubstr("C is float[2]"));
}

TEST(Einsum, DiagonalsEllipsesAndManyOperands) {
  const Tensor m = FloatTensor({2, 2}, {1, 2, 3, 4});
  EXPECT_THAT(ElementsOf<float>(RunOp("Einsum", 12, {m}, {StringAttr("equation", "ii->i")})),
              ElementsAre(1, 4));
  EXPECT_THAT(ElementsOf<float>(RunOp("Einsum", 12, {m}, {StringAttr("equation", "ji")})),
              ElementsAre(1, 3, 2, 4));
  EXPECT_THAT(
      ElementsOf<float>(RunOp("Einsum", 12, {m, m, m}, {StringAttr("equation", "ij,jk,kl->il")})),
      ElementsAre(37, 54, 81, 118));
  EXPECT_THAT(ElementsOf<float>(RunOp("Einsum", 12, {FloatTensor({1, 2}, {1, 2}), m},
                                      {StringAttr("equation", "...i, ...i -> ...")})),
              ElementsAre(5, 11));
  const auto bad = RunOp("Einsum", 12, {m}, {StringAttr("equation", "i$->i")});
  EXPECT_EQ(bad.status().code(), absl::StatusCode::kInvalidArgument);
  const auto rank = RunOp("Einsum", 12, {m}, {StringAttr("equation", "ijk->i")});
  EXPECT_THAT(std::string(rank.status().message()), HasSubstr("its term has 3 letters"));
}

// --- Convolution
// ---------------------------------------------------------------------------------------

struct ConvCase {
  std::vector<int64_t> x, w;
  std::vector<int64_t> strides, pads, dilations;
  int64_t group;
};

// Calls fn(channel of y, index in w, index in x or -1, index in y) for each product of a
// convolution.
template <typename Fn>
void ForEachProduct(const ConvCase& c, const std::vector<int64_t>& y, Fn&& fn) {
  const size_t rank = c.x.size() - 2;
  const int64_t taps = SizeOf({c.w.begin() + 2, c.w.end()});
  const int64_t pixels = SizeOf({y.begin() + 2, y.end()});
  const int64_t plane = SizeOf({c.x.begin() + 2, c.x.end()});
  const int64_t group_out = c.w[0] / c.group;
  for (int64_t n = 0; n < c.x[0]; ++n) {
    for (int64_t o = 0; o < c.w[0]; ++o) {
      for (int64_t i = 0; i < c.w[1]; ++i) {
        for (int64_t tap = 0; tap < taps; ++tap) {
          for (int64_t pixel = 0; pixel < pixels; ++pixel) {
            int64_t index = 0, stride = 1, t = tap, p = pixel;
            bool inside = true;
            for (size_t d = rank; d-- > 0;) {
              const int64_t at =
                  p % y[d + 2] * c.strides[d] - c.pads[d] + t % c.w[d + 2] * c.dilations[d];
              inside = inside && at >= 0 && at < c.x[d + 2];
              index += at * stride;
              stride *= c.x[d + 2];
              p /= y[d + 2];
              t /= c.w[d + 2];
            }
            const int64_t channel = o / group_out * c.w[1] + i;
            fn((o * c.w[1] + i) * taps + tap, inside ? (n * c.x[1] + channel) * plane + index : -1,
               (n * c.w[0] + o) * pixels + pixel);
          }
        }
      }
    }
  }
}

std::vector<ConvCase> ConvCases() {
  return {
      {{1, 1, 9}, {1, 1, 3}, {1}, {0, 0}, {1}, 1},
      {{2, 3, 70}, {5, 3, 4}, {2}, {3, 1}, {2}, 1},
      {{1, 1, 576}, {33, 1, 256}, {128}, {0, 0}, {1}, 1},  // few outputs
      {{1, 3, 40, 41}, {8, 3, 3, 3}, {2, 2}, {1, 1, 1, 1}, {1, 1}, 1},
      {{2, 6, 7, 5}, {9, 2, 3, 2}, {1, 2}, {2, 0, 1, 1}, {2, 1}, 3},
      {{1, 40, 10, 10}, {24, 40, 1, 1}, {1, 1}, {0, 0, 0, 0}, {1, 1}, 1},  // a product as it is
      {{1, 40, 10, 10}, {24, 40, 1, 1}, {2, 2}, {0, 0, 0, 0}, {1, 1}, 1},
      {{2, 6, 20, 37}, {6, 1, 3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 6},  // depthwise
      {{2, 6, 20, 37}, {12, 1, 5, 5}, {2, 2}, {2, 2, 2, 2}, {1, 1}, 6},
      {{1, 4, 9, 70}, {4, 1, 3, 3}, {1, 3}, {0, 0, 0, 0}, {2, 2}, 4},
      {{1, 4, 9, 70}, {4, 1, 1, 3}, {1, 1}, {0, 0, 0, 0}, {1, 1}, 4},
      {{1, 2, 5, 6, 7}, {4, 2, 2, 3, 2}, {1, 2, 1}, {1, 0, 1, 0, 1, 0}, {1, 1, 2}, 1},
      {{1, 3, 3, 3, 3}, {3, 1, 2, 2, 2}, {1, 1, 1}, {1, 1, 1, 1, 1, 1}, {1, 1, 1}, 3},
      {{1, 2, 3, 3, 3, 3},
       {2, 2, 2, 2, 2, 2},
       {1, 1, 1, 1},
       {0, 0, 0, 0, 1, 1, 1, 1},
       {1, 1, 1, 1},
       1},
  };
}

TEST(Conv, EqualsPlainLoops) {
  std::mt19937 random(5);
  for (const ConvCase& c : ConvCases()) {
    for (const ElementType type :
         {ElementType::kFloat, ElementType::kDouble, ElementType::kBfloat16}) {
      const Tensor x = Whole(random, c.x, type);
      const Tensor w = Whole(random, c.w, type);
      const Tensor b = Whole(random, {c.w[0]}, type);
      const auto y = RunOp("Conv", 22, {x, w, b},
                           {IntsAttr("strides", c.strides), IntsAttr("pads", c.pads),
                            IntsAttr("dilations", c.dilations), IntAttr("group", c.group)});
      ASSERT_TRUE(y.ok()) << y.status();
      const Tensor& got = (*y)[0].tensor();
      const std::vector<int64_t> dims(got.dims().begin(), got.dims().end());
      std::vector<double> want(got.size());
      const int64_t pixels = SizeOf({dims.begin() + 2, dims.end()});
      for (size_t i = 0; i < want.size(); ++i)
        want[i] = At(b, static_cast<int64_t>(i) / pixels % c.w[0]);
      ForEachProduct(c, dims, [&](int64_t at_w, int64_t at_x, int64_t at_y) {
        if (at_x >= 0) want[at_y] += At(w, at_w) * At(x, at_x);
      });
      if (type == ElementType::kBfloat16) {
        for (double& v : want) v = CodeToDouble(CodeFromDouble(v, type), type);
      }
      ASSERT_EQ(Doubles(got), want) << DimsToString(c.x) << DimsToString(c.w) << TypeName(type);
    }
  }
}

TEST(ConvTranspose, EqualsPlainLoops) {
  std::mt19937 random(6);
  for (const ConvCase& c : ConvCases()) {
    // The convolution's output size, with the case's input as the transposed output.
    std::vector<int64_t> y_dims = {c.x[0], c.w[0]};
    std::vector<int64_t> extra;
    for (size_t d = 0; d + 2 < c.x.size(); ++d) {
      const int64_t room = c.x[d + 2] + c.pads[d] + c.pads[d + c.x.size() - 2] -
                           (c.w[d + 2] - 1) * c.dilations[d] - 1;
      y_dims.push_back(room / c.strides[d] + 1);
      extra.push_back(room % c.strides[d]);
    }
    const Tensor x = Whole(random, y_dims);
    const Tensor w = Whole(random, c.w);
    const auto y = RunOp("ConvTranspose", 22, {x, w},
                         {IntsAttr("strides", c.strides), IntsAttr("pads", c.pads),
                          IntsAttr("dilations", c.dilations), IntAttr("group", c.group),
                          IntsAttr("output_padding", extra)});
    ASSERT_TRUE(y.ok()) << y.status();
    const Tensor& got = (*y)[0].tensor();
    ASSERT_EQ(std::vector<int64_t>(got.dims().begin(), got.dims().end()), c.x);
    std::vector<double> want(got.size());
    ForEachProduct(c, y_dims, [&](int64_t at_w, int64_t at_x, int64_t at_y) {
      if (at_x >= 0) want[at_x] += At(w, at_w) * At(x, at_y);
    });
    ASSERT_EQ(Doubles(got), want) << DimsToString(c.x) << DimsToString(c.w);
  }
}

TEST(Conv, AutoPad) {
  const Tensor x = FloatTensor({1, 1, 4}, {1, 2, 3, 4});
  const Tensor w = FloatTensor({1, 1, 2}, {1, 10});
  const auto run = [&](const char* pad) {
    return ElementsOf<float>(RunOp("Conv", 11, {x, w}, {StringAttr("auto_pad", pad)}));
  };
  EXPECT_THAT(run("SAME_UPPER"), ElementsAre(21, 32, 43, 4));
  EXPECT_THAT(run("SAME_LOWER"), ElementsAre(10, 21, 32, 43));
  EXPECT_THAT(run("VALID"), ElementsAre(21, 32, 43));
}

TEST(Conv, RefusesWhatDoesNotFit) {
  const Tensor x = FloatTensor({1, 2, 2}, {1, 2, 3, 4});
  const auto message = [](const absl::StatusOr<std::vector<Value>>& y) {
    EXPECT_EQ(y.status().code(), absl::StatusCode::kInvalidArgument) << y.status();
    return std::string(y.status().message());
  };
  EXPECT_THAT(message(RunOp("Conv", 11, {x, FloatTensor({1, 1, 1}, {1})})),
              HasSubstr("with group 1"));
  EXPECT_THAT(message(RunOp("Conv", 11, {x, FloatTensor({1, 2, 3}, {1, 1, 1, 1, 1, 1})})),
              HasSubstr("the kernel reaches over 3 elements"));
  EXPECT_THAT(
      message(RunOp("Conv", 11, {x, FloatTensor({1, 2, 1}, {1, 1})}, {IntsAttr("strides", {0})})),
      HasSubstr("strides"));
  EXPECT_THAT(
      message(RunOp("Conv", 11, {x, FloatTensor({1, 2, 1}, {1, 1})}, {IntsAttr("pads", {1})})),
      HasSubstr("\"pads\" has 1 numbers, expected 2"));
  EXPECT_THAT(
      message(RunOp("Conv", 11, {x, FloatTensor({1, 2, 1}, {1, 1}), FloatTensor({2}, {1, 1})})),
      HasSubstr("B is float[2], expected [1]"));
  EXPECT_THAT(message(RunOp("Conv", 11, {x, FloatTensor({1, 2, 1}, {1, 1})},
                            {StringAttr("auto_pad", "SAME")})),
              HasSubstr("auto_pad"));
}

TEST(Conv, HugePaddingIsRefusedNotAllocated) {
  const auto y = RunOp("Conv", 11, {FloatTensor({1, 1, 1, 1}, {1}), FloatTensor({1, 1, 1, 1}, {1})},
                       {IntsAttr("pads", {1 << 29, 1 << 29, 1 << 29, 1 << 29})});
  EXPECT_EQ(y.status().code(), absl::StatusCode::kResourceExhausted) << y.status();
}

// --- Quantized
// ---------------------------------------------------------------------------------------------

TEST(MatMulInteger, ZeroPointsByRowAndColumn) {
  const Tensor a = Bytes(ElementType::kUint8, {2, 2}, {1, 2, 3, 4});
  const Tensor b = Bytes(ElementType::kInt8, {2, 2}, {1, -2, 3, -4});
  const auto y = RunOp(
      "MatMulInteger", 10,
      {a, b, Bytes(ElementType::kUint8, {2}, {1, 2}), Bytes(ElementType::kInt8, {2}, {0, 1})});
  ASSERT_TRUE(y.ok()) << y.status();
  // a - zero = [[0,1],[1,2]], b - zero = [[1,-3],[3,-5]]
  EXPECT_THAT(ElementsOf<int32_t>(y), ElementsAre(3, -5, 7, -13));
}

TEST(QLinearMatMul, RoundsHalvesToEvenThenAddsTheZeroPointAndSaturates) {
  const auto run = [](int a) {
    return ElementsOf<uint8_t>(
        RunOp("QLinearMatMul", 21,
              {Bytes(ElementType::kUint8, {1, 1}, {a}), FloatTensor({}, {0.5F}),
               Bytes(ElementType::kUint8, {}, {0}), Bytes(ElementType::kUint8, {1, 1}, {1}),
               FloatTensor({}, {1}), Bytes(ElementType::kUint8, {}, {0}), FloatTensor({}, {1}),
               Bytes(ElementType::kUint8, {}, {1})}));
  };
  EXPECT_THAT(run(1), ElementsAre(1));  // 0.5 -> 0
  EXPECT_THAT(run(3), ElementsAre(3));  // 1.5 -> 2
  EXPECT_THAT(run(255), ElementsAre(129));
}

TEST(QLinearConv, AScaleForEachOutputChannel) {
  const auto y = RunOp(
      "QLinearConv", 10,
      {Bytes(ElementType::kUint8, {1, 1, 2}, {3, 5}), FloatTensor({}, {1}),
       Bytes(ElementType::kUint8, {}, {1}), Bytes(ElementType::kInt8, {2, 1, 1}, {1, 2}),
       FloatTensor({2}, {1, 10}), Bytes(ElementType::kInt8, {2}, {0, 1}), FloatTensor({}, {1}),
       Bytes(ElementType::kInt8, {}, {-5}), TensorOf<int32_t>(ElementType::kInt32, {2}, {1, 0})});
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_THAT(ElementsOf<int8_t>(y), ElementsAre(-2, 0, 15, 35));
}

// --- Pools
// ---------------------------------------------------------------------------------------------------

TEST(MaxPool, IndicesByRowsAndColumnsAndNan) {
  const Tensor x = FloatTensor({1, 2, 2, 2}, {1, 4, 3, 2, 5, 6, 8, 7});
  const auto y =
      RunOp("MaxPool", 12, {x}, {IntsAttr("kernel_shape", {2, 2}), IntAttr("storage_order", 1)}, 2);
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_THAT(ElementsOf<float>(y), ElementsAre(4, 8));
  EXPECT_THAT(ElementsOf<int64_t>(y, 1), ElementsAre(2, 5));
  const auto nan =
      RunOp("MaxPool", 12, {FloatTensor({1, 1, 3}, {1, NAN, 2})}, {IntsAttr("kernel_shape", {3})});
  EXPECT_TRUE(std::isnan(ElementsOf<float>(nan)[0]));
}

TEST(AveragePool, PaddingCountsOnlyWhenAsked) {
  const Tensor x = FloatTensor({1, 1, 3}, {3, 6, 9});
  const auto run = [&](int include, int ceil) {
    return ElementsOf<float>(
        RunOp("AveragePool", 22, {x},
              {IntsAttr("kernel_shape", {2}), IntsAttr("strides", {2}), IntsAttr("pads", {1, 1}),
               IntAttr("count_include_pad", include), IntAttr("ceil_mode", ceil)}));
  };
  EXPECT_THAT(run(0, 0), ElementsAre(3, 7.5));
  EXPECT_THAT(run(1, 0), ElementsAre(1.5, 7.5));
  EXPECT_THAT(run(1, 1), ElementsAre(1.5, 7.5));  // a window would start in the padding
}

TEST(MaxUnpool, RefusesIndicesOutside) {
  const auto y = RunOp("MaxUnpool", 11, {FloatTensor({1, 1, 1}, {1}), Int64Tensor({1, 1, 1}, {7})},
                       {IntsAttr("kernel_shape", {2})});
  EXPECT_THAT(std::string(y.status().message()), HasSubstr("index 7 at 0, expected from 0 to 1"));
}

TEST(RoiAlign, RefusesAnImageThatIsNotThere) {
  const auto y = RunOp(
      "RoiAlign", 16,
      {FloatTensor({1, 1, 1, 1}, {1}), FloatTensor({1, 4}, {0, 0, 1, 1}), Int64Tensor({1}, {1})});
  EXPECT_THAT(std::string(y.status().message()), HasSubstr("batch_indices at 0 is 1"));
}

// --- Resampling
// ----------------------------------------------------------------------------------------------

TEST(Resize, MovesElementsOfAnyType) {
  const auto y =
      RunOp("Resize", 19, {StringTensor({2}, {"a", "b"}), Value(), FloatTensor({1}, {2})});
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_THAT((*y)[0].tensor().strings(), ElementsAre("a", "a", "b", "b"));
  const auto linear =
      RunOp("Resize", 19, {StringTensor({2}, {"a", "b"}), Value(), FloatTensor({1}, {2})},
            {StringAttr("mode", "linear")});
  EXPECT_EQ(linear.status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Resize, IntegersAreRoundedAndSaturated) {
  const auto y =
      RunOp("Resize", 19,
            {Bytes(ElementType::kUint8, {4}, {0, 0, 255, 255}), Value(), FloatTensor({1}, {2})},
            {StringAttr("mode", "cubic")});
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_THAT(ElementsOf<uint8_t>(y), ElementsAre(0, 0, 0, 58, 197, 255, 255, 255));
}

TEST(Resize, RefusesMissingDoubledAndHugeSizes) {
  const Tensor x = FloatTensor({2}, {1, 2});
  const auto message = [](const absl::StatusOr<std::vector<Value>>& y) {
    return std::string(y.status().message());
  };
  EXPECT_THAT(message(RunOp("Resize", 19, {x})), HasSubstr("neither scales nor sizes"));
  EXPECT_THAT(
      message(RunOp("Resize", 19, {x, Value(), FloatTensor({1}, {2}), Int64Tensor({1}, {4})})),
      HasSubstr("both scales and sizes"));
  EXPECT_THAT(message(RunOp("Resize", 19, {x, Value(), FloatTensor({1}, {-1})})),
              HasSubstr("positive number"));
  EXPECT_THAT(message(RunOp("Resize", 19, {x, Value(), FloatTensor({2}, {1, 1})})),
              HasSubstr("has 2 numbers, expected 1"));
  EXPECT_FALSE(RunOp("Resize", 19, {x, Value(), FloatTensor({1}, {1e18F})}).ok());
}

TEST(Upsample, AllVersions) {
  const Tensor x = FloatTensor({1, 1, 1, 2}, {1, 2});
  EXPECT_THAT(ElementsOf<float>(RunOp("Upsample", 7, {x}, {FloatsAttr("scales", {1, 1, 1, 2})})),
              ElementsAre(1, 1, 2, 2));
  EXPECT_THAT(ElementsOf<float>(RunOp("Upsample", 9, {x, FloatTensor({4}, {1, 1, 1, 2})},
                                      {StringAttr("mode", "linear")})),
              ElementsAre(1, 1.5, 2, 2));
  EXPECT_THAT(ElementsOf<float>(RunOp("Resize", 10, {x, FloatTensor({4}, {1, 1, 1, 2})})),
              ElementsAre(1, 1, 2, 2));
}

TEST(GridSample, NanAndInfinityAreNoFault) {
  const Tensor x = FloatTensor({1, 1, 2, 2}, {1, 2, 3, 4});
  const Tensor grid = FloatTensor({1, 1, 3, 2}, {NAN, 0, INFINITY, 0, -1e30F, 1e30F});
  for (const char* mode : {"nearest", "linear", "cubic"}) {
    for (const char* padding : {"zeros", "border", "reflection"}) {
      EXPECT_TRUE(RunOp("GridSample", 20, {x, grid},
                        {StringAttr("mode", mode), StringAttr("padding_mode", padding)})
                      .ok());
    }
  }
  EXPECT_THAT(ElementsOf<float>(RunOp("GridSample", 20, {x, grid})), ElementsAre(0, 0, 0));
}

TEST(NonMaxSuppression, NanScoresAndEmptyInputs) {
  const Tensor boxes = FloatTensor({1, 2, 4}, {0, 0, 1, 1, 0, 0, 1, 1});
  const auto y = RunOp("NonMaxSuppression", 11,
                       {boxes, FloatTensor({1, 1, 2}, {NAN, 0.5F}), Int64Tensor({}, {3})});
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_THAT(ElementsOf<int64_t>(y), ElementsAre(0, 0, 1));
  const auto none =
      RunOp("NonMaxSuppression", 11,
            {FloatTensor({1, 0, 4}, {}), FloatTensor({1, 1, 0}, {}), Int64Tensor({}, {3})});
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_THAT((*none)[0].tensor().dims(), ElementsAre(0, 3));
}

// --- Normalisation
// -------------------------------------------------------------------------------------------

TEST(BatchNormalization, LargeMeansDoNotCancel) {
  const auto y = RunOp("BatchNormalization", 15,
                       {FloatTensor({1, 1, 2}, {10000001, 10000003}), FloatTensor({1}, {1}),
                        FloatTensor({1}, {0}), FloatTensor({1}, {10000002}), FloatTensor({1}, {1})},
                       {FloatAttr("epsilon", 0)});
  EXPECT_THAT(ElementsOf<float>(y), ElementsAre(-1, 1));
}

TEST(BatchNormalization, MixedTypesAndTraining) {
  const auto y =
      RunOp("BatchNormalization", 15,
            {FloatTensor({2, 1}, {1, 3}), TensorOf<double>(ElementType::kDouble, {1}, {2}),
             TensorOf<double>(ElementType::kDouble, {1}, {1}),
             TensorOf<double>(ElementType::kDouble, {1}, {0}),
             TensorOf<double>(ElementType::kDouble, {1}, {0})},
            {FloatAttr("epsilon", 0), FloatAttr("momentum", 0.5F), IntAttr("training_mode", 1)}, 3);
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_THAT(ElementsOf<float>(y), ElementsAre(-1, 3));
  EXPECT_THAT(ElementsOf<double>(y, 1), ElementsAre(1));
  EXPECT_THAT(ElementsOf<double>(y, 2), ElementsAre(0.5));
}

TEST(LayerNormalization, BroadcastsItsScale) {
  const auto y = RunOp("LayerNormalization", 17,
                       {FloatTensor({1, 2}, {-1, 1}), FloatTensor({1}, {3}), FloatTensor({}, {1})},
                       {FloatAttr("epsilon", 0)});
  EXPECT_THAT(ElementsOf<float>(y), ElementsAre(-2, 4));
  const auto bad =
      RunOp("LayerNormalization", 17, {FloatTensor({1, 2}, {-1, 1}), FloatTensor({3}, {3, 3, 3})});
  EXPECT_THAT(std::string(bad.status().message()), HasSubstr("Scale is float[3]"));
}

TEST(Det, RefusesWhatIsNotSquareAndKnowsSingularOnes) {
  EXPECT_FALSE(RunOp("Det", 22, {FloatTensor({1, 2}, {1, 2})}).ok());
  EXPECT_THAT(
      ElementsOf<float>(RunOp("Det", 22, {FloatTensor({2, 2, 2}, {0, 1, 1, 0, 1, 2, 2, 4})})),
      ElementsAre(-1, 0));
}

TEST(Col2Im, RefusesColumnsThatDoNotFitTheImage) {
  const auto y = RunOp(
      "Col2Im", 18,
      {FloatTensor({1, 1, 3}, {1, 2, 3}), Int64Tensor({2}, {2, 2}), Int64Tensor({2}, {1, 1})});
  EXPECT_THAT(std::string(y.status().message()), HasSubstr("dimension 2 to be 4"));
}

}  // namespace
}  // namespace onnx_run
