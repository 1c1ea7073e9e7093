// Constant operands of products and convolutions, laid out once for all runs: the same bits as
// without.
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/all_ops.h"
#include "runtime/session.h"
#include "tests/unit/model_builder.h"

namespace onnx_run {
namespace {

struct Case {
  std::string name;
  std::string op_type;
  std::vector<int64_t> x;
  std::vector<int64_t> weights;
  std::vector<int64_t> bias;  // empty: none
  std::vector<Attribute> attributes;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

Tensor Noise(ElementType type, const std::vector<int64_t>& dims, uint32_t seed) {
  Tensor tensor = Tensor::Create(type, dims).value();
  for (int64_t i = 0; i < tensor.size(); ++i) {
    seed = seed * 1664525U + 1013904223U;
    const double value = static_cast<double>(seed >> 8U) / (1U << 23U) - 1;
    if (type == ElementType::kFloat) {
      tensor.mutable_data_as<float>()[i] = static_cast<float>(value);
    } else {
      tensor.mutable_data_as<double>()[i] = value;
    }
  }
  return tensor;
}

Model ModelOf(const Case& c, ElementType type) {
  ModelBuilder builder(13);
  std::vector<std::string> inputs{"x", "w"};
  builder.Input("x", TensorType(type)).Initializer("w", Noise(type, c.weights, 2));
  if (!c.bias.empty()) {
    inputs.emplace_back("b");
    builder.Initializer("b", Noise(type, c.bias, 3));
  }
  return builder.Node(c.op_type, inputs, {"y"}, c.attributes).Output("y").Build();
}

Tensor RunIt(const Case& c, ElementType type, int64_t memory, int threads) {
  const OpRegistry registry(AllKernels(), &StandardSchemas());
  SessionOptions options;
  options.max_prepared_bytes = memory;
  options.threads = threads;
  auto session = Session::Create(ModelOf(c, type), registry, options);
  EXPECT_TRUE(session.ok()) << session.status();
  if (!session.ok()) return {};
  auto outputs = (*session)->Run({{"x", Noise(type, c.x, 1)}});
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return outputs.ok() ? outputs->front().tensor() : Tensor();
}

class PreparedOperand : public ::testing::TestWithParam<Case> {};

TEST_P(PreparedOperand, GivesTheSameBits) {
  for (const ElementType type : {ElementType::kFloat, ElementType::kDouble}) {
    const Tensor plain = RunIt(GetParam(), type, 0, 1);
    for (const int64_t memory : {int64_t{64}, int64_t{1} << 28}) {
      for (const int threads : {1, 3}) {
        const Tensor prepared = RunIt(GetParam(), type, memory, threads);
        ASSERT_EQ(prepared.dims(), plain.dims());
        EXPECT_EQ(std::memcmp(prepared.data(), plain.data(), static_cast<size_t>(plain.bytes())), 0)
            << memory << " bytes, " << threads << " threads";
      }
    }
  }
}

std::vector<Case> Cases() {
  return {
      {"MatMul", "MatMul", {37, 300}, {300, 77}, {}, {}},
      {"MatMul_one_row", "MatMul", {1, 300}, {300, 77}, {}, {}},
      {"MatMul_tall", "MatMul", {3, 400, 64}, {64, 40}, {}, {}},
      {"MatMul_wide", "MatMul", {30, 520}, {520, 900}, {}, {}},
      {"MatMul_vector", "MatMul", {520}, {520, 70}, {}, {}},
      {"MatMul_few_columns", "MatMul", {50, 300}, {300, 3}, {}, {}},
      {"MatMul_nothing", "MatMul", {5, 0}, {0, 3}, {}, {}},
      {"Gemm", "Gemm", {37, 300}, {300, 77}, {77}, {FloatAttr("alpha", 0.5F)}},
      {"Gemm_transposed",
       "Gemm",
       {300, 37},
       {77, 300},
       {77},
       {IntAttr("transA", 1), IntAttr("transB", 1)}},
      {"Gemm_one_row", "Gemm", {1, 300}, {77, 300}, {}, {IntAttr("transB", 1)}},
      {"Conv", "Conv", {2, 20, 19, 23}, {50, 20, 3, 3}, {50}, {IntsAttr("pads", {1, 1, 1, 1})}},
      {"Conv_many_rows",
       "Conv",
       {1, 300, 7, 7},
       {500, 300, 3, 3},
       {},
       {IntsAttr("pads", {1, 1, 1, 1})}},
      {"Conv_large", "Conv", {1, 64, 60, 60}, {300, 64, 3, 3}, {300}, {}},
      {"Conv_groups",
       "Conv",
       {1, 24, 14, 14},
       {60, 8, 3, 3},
       {60},
       {IntAttr("group", 3), IntsAttr("strides", {2, 2})}},
      {"Conv_identity", "Conv", {2, 40, 9, 9}, {70, 40, 1, 1}, {}, {}},
      {"Conv_few_outputs", "Conv", {1, 40, 4, 4}, {70, 40, 3, 3}, {}, {}},
      {"Conv_depthwise", "Conv", {1, 24, 14, 14}, {24, 1, 3, 3}, {}, {IntAttr("group", 24)}},
      {"Conv_width_one",
       "Conv",
       {2, 30, 50, 1},
       {40, 30, 5, 1},
       {40},
       {IntsAttr("pads", {2, 0, 1, 0}), IntsAttr("strides", {2, 3})}},
  };
}

INSTANTIATE_TEST_SUITE_P(Ops, PreparedOperand, ::testing::ValuesIn(Cases()),
                         [](const auto& info) { return info.param.name; });

// A kernel along one axis is the same whatever stands in the other: rows of one element, and of
// many.
TEST(Conv, AxesThatAreWalkedElementByElementJoin) {
  for (const int64_t width : {1, 4}) {
    const Case two{
        "",           "Conv", {2, 3, 11, width},
        {5, 3, 3, 1}, {},     {IntsAttr("pads", {1, 0, 2, 0}), IntsAttr("dilations", {2, 1})}};
    const Tensor y = RunIt(two, ElementType::kDouble, 0, 1);
    const Tensor x = Noise(ElementType::kDouble, two.x, 1);
    const Tensor w = Noise(ElementType::kDouble, two.weights, 2);
    ASSERT_EQ(y.dims(), (Dims{2, 5, 10, width}));
    for (int64_t i = 0; i < y.size(); ++i) {
      const int64_t column = i % width;
      const int64_t row = i / width % 10;
      const int64_t output = i / width / 10 % 5;
      const int64_t batch = i / width / 50;
      double sum = 0;
      for (int64_t c = 0; c < 3; ++c) {
        for (int64_t t = 0; t < 3; ++t) {
          const int64_t from = row + 2 * t - 1;
          if (from < 0 || from >= 11) continue;
          sum += w.data_as<double>()[(output * 3 + c) * 3 + t] *
                 x.data_as<double>()[((batch * 3 + c) * 11 + from) * width + column];
        }
      }
      ASSERT_NEAR(y.data_as<double>()[i], sum, 1e-12) << i;
    }
  }
}

}  // namespace
}  // namespace onnx_run
