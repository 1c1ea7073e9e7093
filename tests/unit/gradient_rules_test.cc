// Gradient's rules against central differences in double: first and second derivatives.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/unit/gradient_test_util.h"

namespace onnx_run {
namespace {

constexpr auto kDouble = ElementType::kDouble;

struct Case {
  std::string name;
  int64_t opset;
  std::string op_type;
  std::vector<Value> inputs;
  std::vector<Attribute> attributes;
  std::vector<int> xs = {0};
  int outputs = 1;        // all of them are summed up
  int other_outputs = 0;  // that no derivative passes through
  bool twice = true;      // has a second derivative to be checked
  double tolerance = 2e-7;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

// y = o sigmoid(o) for each output o, so that the gradients that a rule is given differ from each
// other; with all inputs of the operator as inputs.
ModelBuilder ModelOf(const Case& c) {
  ModelBuilder builder(c.opset);
  builder.Opset(kTraining, 1);
  std::vector<std::string> inputs;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    inputs.push_back(c.inputs[i].absent() ? "" : absl::StrCat("in", i));
    if (!c.inputs[i].absent()) builder.Input(inputs.back(), c.inputs[i].type());
  }
  std::vector<std::string> outputs;
  outputs.reserve(static_cast<size_t>(c.outputs));
  for (int i = 0; i < c.outputs; ++i) outputs.push_back(absl::StrCat("out", i));
  std::vector<std::string> all = outputs;
  for (int i = 0; i < c.other_outputs; ++i) all.push_back(absl::StrCat("other", i));
  builder.Node(c.op_type, inputs, all, c.attributes, "", "tested");
  for (int i = 0; i < c.outputs; ++i) {
    builder.Node("Sigmoid", {outputs[i]}, {absl::StrCat("s", i)});
    builder.Node("Mul", {outputs[i], absl::StrCat("s", i)}, {absl::StrCat("part", i)});
    if (i == 1) builder.Node("ReduceSum", {"part0"}, {"y0"}, {IntAttr("keepdims", 0)});
    if (i == 0) continue;
    builder.Node("ReduceSum", {absl::StrCat("part", i)}, {absl::StrCat("sum", i)},
                 {IntAttr("keepdims", 0)});
    builder.Node("Add", {absl::StrCat("y", i - 1), absl::StrCat("sum", i)}, {absl::StrCat("y", i)});
  }
  return builder;
}
std::string YOf(const Case& c) {
  return c.outputs == 1 ? "part0" : absl::StrCat("y", c.outputs - 1);
}

// Adds Gradient nodes and the outputs: y's gradients, and, `twice`, those of d sigmoid(d), d being
// the first gradient.
Model WithGradients(const Case& c, bool twice) {
  ModelBuilder builder = ModelOf(c);
  std::vector<std::string> xs;
  std::vector<std::string> zs;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    if (c.inputs[i].absent()) continue;
    const bool is_x = std::find(c.xs.begin(), c.xs.end(), static_cast<int>(i)) != c.xs.end();
    (is_x ? xs : zs).push_back(absl::StrCat("in", i));
  }
  std::vector<std::string> all = xs;
  all.insert(all.end(), zs.begin(), zs.end());
  std::vector<Attribute> attributes{StringsAttr("xs", xs), StringAttr("y", YOf(c))};
  if (!zs.empty()) attributes.push_back(StringsAttr("zs", zs));
  std::vector<std::string> gradients;
  gradients.reserve(xs.size());
  for (const std::string& x : xs) gradients.push_back(absl::StrCat("d_", x));
  builder.Node("Gradient", all, gradients, attributes, kTraining, "first");
  if (twice) {
    builder.Node("Sigmoid", {gradients[0]}, {"ds"}).Node("Mul", {gradients[0], "ds"}, {"dd"});
    attributes[1] = StringAttr("y", "dd");
    for (std::string& name : gradients) name.insert(0, 1, 'd');
    builder.Node("Gradient", all, gradients, attributes, kTraining, "second");
    builder.Output("dd");
  } else {
    builder.Output(YOf(c));
  }
  for (const std::string& name : gradients) builder.Output(name);
  return builder.Build();
}

double SumOf(const Value& value) {
  double sum = 0;
  for (double element : DoublesOf(value)) sum += element;
  return sum;
}

// Output 0 of `model` summed up, differentiated by differences, against the other outputs.
void Compare(const Model& model, const Case& c) {
  std::vector<Value> given;
  std::vector<size_t> place;  // of an input of the operator among those given
  for (const Value& input : c.inputs) {
    place.push_back(given.size());
    if (!input.absent()) given.push_back(input);
  }
  auto session = Session::Create(model, AllOperators(), WithBodies());
  ASSERT_TRUE(session.ok()) << session.status();
  const auto run = [&](const std::vector<Value>& inputs) {
    std::vector<Value> outputs(c.xs.size() + 1);
    const absl::Status status =
        (*session)->Run(absl::MakeConstSpan(inputs), absl::MakeSpan(outputs));
    EXPECT_TRUE(status.ok()) << status;
    if (!status.ok()) outputs.clear();
    return outputs;
  };
  const std::vector<Value> outputs = run(given);
  ASSERT_FALSE(outputs.empty());
  constexpr double kStep = 1e-5;
  for (size_t k = 0; k < c.xs.size(); ++k) {
    const size_t number = place[c.xs[k]];
    ASSERT_EQ(outputs[k + 1].tensor().dims(), given[number].tensor().dims()) << "input " << c.xs[k];
    const std::vector<double> gradient = DoublesOf(outputs[k + 1]);
    for (size_t i = 0; i < gradient.size(); ++i) {
      double sums[2];
      for (int side = 0; side < 2; ++side) {
        std::vector<Value> moved = given;
        Tensor tensor = given[number].tensor().Clone().value();
        tensor.mutable_data_as<double>()[i] += side == 0 ? -kStep : kStep;
        moved[number] = tensor;
        const std::vector<Value> there = run(moved);
        ASSERT_FALSE(there.empty());
        sums[side] = SumOf(there[0]);
      }
      const double difference = (sums[1] - sums[0]) / (2 * kStep);
      EXPECT_NEAR(gradient[i], difference, c.tolerance * (1 + std::abs(difference)))
          << "input " << c.xs[k] << ", element " << i;
    }
  }
}

class GradientOf : public ::testing::TestWithParam<Case> {};

TEST_P(GradientOf, AgreesWithDifferences) { Compare(WithGradients(GetParam(), false), GetParam()); }

TEST_P(GradientOf, SecondDerivativesAgree) {
  if (!GetParam().twice) return;
  Compare(WithGradients(GetParam(), true), GetParam());
}

Case Unary(const std::string& op_type, double low = -2, double high = 2,
           std::vector<Attribute> attributes = {}, int64_t opset = 22) {
  return {absl::StrCat(op_type, "_", opset),
          opset,
          op_type,
          {Doubles({2, 3}, low, high)},
          std::move(attributes)};
}

std::vector<Case> ElementwiseCases() {
  std::vector<Case> cases = {
      Unary("Abs"),
      Unary("Acos", -0.9, 0.9),
      Unary("Acosh", 1.2, 3),
      Unary("Asin", -0.9, 0.9),
      Unary("Asinh"),
      Unary("Atan"),
      Unary("Atanh", -0.9, 0.9),
      Unary("Ceil", -0.9, 0.9),
      Unary("Cos"),
      Unary("Cosh"),
      Unary("Elu", -2, 2, {FloatAttr("alpha", 1.5F)}),
      Unary("Erf"),
      Unary("Exp"),
      Unary("Floor", -0.9, 0.9),
      Unary("Gelu"),
      Unary("Gelu", -2, 2, {StringAttr("approximate", "tanh")}, 21),
      Unary("HardSigmoid", -4, 4),
      Unary("HardSwish", -4, 4),
      Unary("Identity"),
      Unary("LeakyRelu", -2, 2, {FloatAttr("alpha", 0.25F)}),
      Unary("Log", 0.3, 3),
      Unary("LogSoftmax"),
      Unary("LogSoftmax", -2, 2, {IntAttr("axis", 0)}, 11),
      Unary("Mish"),
      Unary("Neg"),
      Unary("Reciprocal", 0.3, 3),
      Unary("Relu"),
      Unary("Round", -0.4, 0.4),
      Unary("Selu"),
      Unary("Shrink", -2, 2, {FloatAttr("bias", 0.25F)}),
      Unary("Sigmoid"),
      Unary("Sign"),
      Unary("Sin"),
      Unary("Sinh"),
      Unary("Softmax"),
      Unary("Softmax", -2, 2, {IntAttr("axis", 0)}, 11),
      Unary("Softmax", -2, 2, {IntAttr("axis", -1)}, 12),
      Unary("Softplus"),
      Unary("Softsign"),
      Unary("Sqrt", 0.3, 3),
      Unary("Swish", -2, 2, {FloatAttr("alpha", 1.5F)}, 24),
      Unary("Tan", -1, 1),
      Unary("Tanh"),
      Unary("ThresholdedRelu", -2, 2, {FloatAttr("alpha", 0.5F)}),
      Unary("Cast", -2, 2, {IntAttr("to", 11)}),
      Unary("Cast", -2, 2, {StringAttr("to", "DOUBLE")}, 1),
      {"CastLike", 22, "CastLike", {Doubles({3}), Doubles({1})}, {}, {0, 1}},
      {"PRelu", 22, "PRelu", {Doubles({2, 3}), Doubles({3}, 0, 1)}, {}, {0, 1}},
      {"Where",
       22,
       "Where",
       {TensorOf<bool>(ElementType::kBool, {2, 1}, {true, false}), Doubles({2, 3}), Doubles({3})},
       {},
       {1, 2}},
      {"Clip_inside",
       13,
       "Clip",
       {Doubles({4, 3}), TensorOf<double>(kDouble, {}, {-0.5}),
        TensorOf<double>(kDouble, {}, {0.5})},
       {},
       {0, 1, 2}},
      {"Clip_no_max",
       13,
       "Clip",
       {Doubles({4, 3}), TensorOf<double>(kDouble, {}, {-0.5})},
       {},
       {0, 1}},
      {"Clip_attributes",
       6,
       "Clip",
       {Doubles({4, 3})},
       {FloatAttr("min", -0.5F), FloatAttr("max", 0.5F)}},
      {"Pow_float_exponent",
       15,
       "Pow",
       {Doubles({2, 3}, 0.5, 2), TensorOf<int64_t>(ElementType::kInt64, {}, {3})}},
      {"Pow_to_zero",
       15,
       "Pow",
       {Doubles({3}, -2, 2), TensorOf<double>(kDouble, {3}, {0, 1, 2})},
       {},
       {0},
       1,
       0,
       false},
      {"Mod",
       13,
       "Mod",
       {Doubles({2, 3}, 3, 3.9), TensorOf<double>(kDouble, {}, {1.25})},
       {IntAttr("fmod", 1)},
       {0, 1}},
      {"OldMul",
       6,
       "Mul",
       {Doubles({2, 3, 4}), Doubles({3}, 0.5, 2)},
       {IntAttr("broadcast", 1), IntAttr("axis", 1)},
       {0, 1}},
      {"OldAdd", 6, "Add", {Doubles({2, 3}), Doubles({3})}, {IntAttr("broadcast", 1)}, {0, 1}},
  };
  for (const char* op_type : {"Add", "Sub", "Mul", "Div", "Pow"}) {
    const Tensor a = Doubles({2, 1, 3}, 0.5, 2);
    const Tensor b = Doubles({4, 1}, 0.5, 2, 0.11);
    cases.push_back({absl::StrCat(op_type, "_broadcast"), 14, op_type, {a, b}, {}, {0, 1}});
    cases.push_back({absl::StrCat(op_type, "_scalar"),
                     14,
                     op_type,
                     {a, TensorOf<double>(kDouble, {}, {1.25})},
                     {},
                     {0, 1}});
    cases.push_back({absl::StrCat(op_type, "_one_of_them"), 14, op_type, {b, a}, {}, {1}});
  }
  for (const char* op_type : {"Sum", "Mean", "Max", "Min"}) {
    cases.push_back({absl::StrCat(op_type, "_of_three"),
                     13,
                     op_type,
                     {Doubles({2, 3}), Doubles({3}, -1, 1, 0.11), Doubles({2, 1}, -1, 1, 0.77)},
                     {},
                     {0, 1, 2}});
  }
  return cases;
}

Value Ints(const std::vector<int64_t>& values) {
  return Tensor::Of<int64_t>(ElementType::kInt64, {static_cast<int64_t>(values.size())},
                             absl::MakeConstSpan(values))
      .value();
}

std::vector<Case> ShapeCases() {
  const Tensor x = Doubles({2, 3, 4});
  std::vector<Case> cases = {
      {"Reshape", 22, "Reshape", {x, Ints({4, -1})}},
      {"Reshape_5", 5, "Reshape", {x, Ints({4, -1})}},
      {"Flatten", 22, "Flatten", {x}, {IntAttr("axis", 2)}},
      {"Squeeze", 22, "Squeeze", {Doubles({1, 3, 1}), Ints({0})}},
      {"Squeeze_11", 11, "Squeeze", {Doubles({1, 3, 1})}, {IntsAttr("axes", {0})}},
      {"Unsqueeze", 22, "Unsqueeze", {x, Ints({0, -1})}},
      {"Transpose", 22, "Transpose", {x}, {IntsAttr("perm", {1, 2, 0})}},
      {"Transpose_reverse", 22, "Transpose", {x}},
      {"Concat",
       22,
       "Concat",
       {Doubles({2, 1}), Doubles({2, 3}), Doubles({2, 2})},
       {IntAttr("axis", -1)},
       {0, 2}},
      {"Split", 22, "Split", {x, Ints({1, 3})}, {IntAttr("axis", 2)}, {0}, 2},
      {"Split_11", 11, "Split", {x}, {IntAttr("axis", 2)}, {0}, 2},
      {"Slice", 22, "Slice", {x, Ints({3, 0}), Ints({-100, 2}), Ints({2, 1}), Ints({-2, 1})}},
      {"Slice_9",
       9,
       "Slice",
       {x},
       {IntsAttr("starts", {1}), IntsAttr("ends", {3}), IntsAttr("axes", {2})}},
      {"Gather", 22, "Gather", {x, Ints({2, 0, 2})}, {IntAttr("axis", 1)}},
      {"GatherElements",
       22,
       "GatherElements",
       {Doubles({3, 2}), TensorOf<int64_t>(ElementType::kInt64, {2, 2}, {2, 0, 2, 1})}},
      {"GatherND",
       22,
       "GatherND",
       {x, TensorOf<int64_t>(ElementType::kInt64, {3, 2}, {0, 1, 1, 2, 0, 1})}},
      {"Expand", 22, "Expand", {Doubles({3, 1}), Ints({2, 1, 4})}},
      {"Tile", 22, "Tile", {Doubles({2, 3}), Ints({2, 3})}},
      {"Trilu", 22, "Trilu", {Doubles({3, 3}), TensorOf<int64_t>(ElementType::kInt64, {}, {1})}},
      {"Trilu_lower", 22, "Trilu", {Doubles({3, 3})}, {IntAttr("upper", 0)}},
      {"DepthToSpace", 22, "DepthToSpace", {Doubles({1, 4, 1, 2})}, {IntAttr("blocksize", 2)}},
      {"SpaceToDepth", 22, "SpaceToDepth", {Doubles({1, 1, 2, 4})}, {IntAttr("blocksize", 2)}},
      {"Compress",
       22,
       "Compress",
       {Doubles({3, 2}), TensorOf<bool>(ElementType::kBool, {3}, {true, false, true})},
       {IntAttr("axis", 0)}},
      {"ReverseSequence", 22, "ReverseSequence", {Doubles({3, 2}), Ints({2, 3})}},
      {"Pad",
       22,
       "Pad",
       {Doubles({2, 3}), Ints({1, -1, 0, 2}), TensorOf<double>(kDouble, {}, {7})},
       {},
       {0, 2}},
      {"OneHot",
       22,
       "OneHot",
       {Ints({2, 0, 1}), TensorOf<int64_t>(ElementType::kInt64, {}, {4}), Doubles({2})},
       {},
       {2}},
      {"Pad_axes", 22, "Pad", {Doubles({2, 3}), Ints({1, 2}), Value(), Ints({-1})}},
      {"Pad_reflect",
       22,
       "Pad",
       {Doubles({2, 3}), Ints({1, 1, 0, 2})},
       {StringAttr("mode", "reflect")}},
      {"Pad_2", 2, "Pad", {Doubles({2, 3})}, {IntsAttr("pads", {1, 0, 0, 2})}},
      {"CumSum",
       22,
       "CumSum",
       {x, TensorOf<int64_t>(ElementType::kInt64, {}, {1})},
       {IntAttr("exclusive", 1), IntAttr("reverse", 1)}},
      {"TopK", 22, "TopK", {x, Ints({2})}, {IntAttr("axis", 1)}, {0}, 1, 1},
      {"ScatterElements",
       22,
       "ScatterElements",
       {Doubles({3, 2}), TensorOf<int64_t>(ElementType::kInt64, {2, 2}, {2, 0, 0, 1}),
        Doubles({2, 2}, -1, 1, 0.11)},
       {},
       {0, 2}},
      {"ScatterElements_add",
       22,
       "ScatterElements",
       {Doubles({3, 2}), TensorOf<int64_t>(ElementType::kInt64, {2, 2}, {2, 0, 2, 1}),
        Doubles({2, 2}, -1, 1, 0.11)},
       {StringAttr("reduction", "add"), IntAttr("axis", 0)},
       {0, 2}},
      {"ScatterND",
       22,
       "ScatterND",
       {Doubles({3, 2}), TensorOf<int64_t>(ElementType::kInt64, {2, 1}, {2, 0}),
        Doubles({2, 2}, -1, 1, 0.11)},
       {},
       {0, 2}},
      {"ReduceSum_all", 22, "ReduceSum", {x}},
      {"ReduceSum_noop", 22, "ReduceSum", {x, Ints({})}, {IntAttr("noop_with_empty_axes", 1)}},
      {"ReduceMean_all", 22, "ReduceMean", {x}, {IntAttr("keepdims", 0)}},
  };
  for (const char* op_type : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1",
                              "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"}) {
    const Tensor positive = Doubles({2, 3, 2}, 0.2, 2);
    cases.push_back({absl::StrCat(op_type, "_18"),
                     18,
                     op_type,
                     {positive, Ints({1, -1})},
                     {IntAttr("keepdims", 0)}});
    cases.push_back(
        {absl::StrCat(op_type, "_11"), 11, op_type, {positive}, {IntsAttr("axes", {0})}});
  }
  return cases;
}

std::vector<Case> NeuralCases() {
  const Tensor image = Doubles({2, 3, 2, 2});
  const Tensor scale = Doubles({3}, 0.5, 2);
  const Tensor shift = Doubles({3});
  const Tensor variance = Doubles({3}, 0.5, 2, 0.11);
  return {
      {"MatMul", 13, "MatMul", {Doubles({2, 3}), Doubles({3, 4})}, {}, {0, 1}},
      {"MatMul_batches", 13, "MatMul", {Doubles({2, 1, 2, 3}), Doubles({2, 3, 2})}, {}, {0, 1}},
      {"MatMul_vector_right", 13, "MatMul", {Doubles({2, 2, 3}), Doubles({3})}, {}, {0, 1}},
      {"MatMul_vector_left", 13, "MatMul", {Doubles({3}), Doubles({2, 3, 2})}, {}, {0, 1}},
      {"MatMul_vectors", 13, "MatMul", {Doubles({3}), Doubles({3})}, {}, {0, 1}},
      {"Gemm", 13, "Gemm", {Doubles({2, 3}), Doubles({3, 4}), Doubles({4})}, {}, {0, 1, 2}},
      {"Gemm_A",
       13,
       "Gemm",
       {Doubles({3, 2}), Doubles({3, 4}), Doubles({2, 1})},
       {IntAttr("transA", 1), FloatAttr("alpha", 0.5F), FloatAttr("beta", 2)},
       {0, 1, 2}},
      {"Gemm_B",
       13,
       "Gemm",
       {Doubles({2, 3}), Doubles({4, 3})},
       {IntAttr("transB", 1), FloatAttr("alpha", 0.5F)},
       {0, 1}},
      {"Gemm_AB",
       6,
       "Gemm",
       {Doubles({3, 2}), Doubles({4, 3}), Doubles({4})},
       {IntAttr("transA", 1), IntAttr("transB", 1), IntAttr("broadcast", 1)},
       {0, 1, 2}},
      {"BatchNormalization",
       15,
       "BatchNormalization",
       {image, scale, shift, shift, variance},
       {},
       {0, 1, 2, 3, 4}},
      {"BatchNormalization_training",
       15,
       "BatchNormalization",
       {image, scale, shift, shift, variance},
       {IntAttr("training_mode", 1)},
       {0, 1, 2},
       1},
      {"LayerNormalization",
       17,
       "LayerNormalization",
       {Doubles({2, 3}), Doubles({3}, 0.5, 2), Doubles({3})},
       {},
       {0, 1, 2},
       1,
       0,
       false,
       5e-6},
      {"RMSNormalization",
       23,
       "RMSNormalization",
       {Doubles({2, 3}), Doubles({3}, 0.5, 2)},
       {IntAttr("stash_type", 11)},
       {0, 1}},
      {"GroupNormalization",
       21,
       "GroupNormalization",
       {Doubles({2, 4, 3}), Doubles({4}, 0.5, 2), Doubles({4})},
       {IntAttr("num_groups", 2), IntAttr("stash_type", 11)},
       {0, 1, 2}},
      {"InstanceNormalization", 22, "InstanceNormalization", {image, scale, shift}, {}, {0, 1, 2}},
      {"GlobalAveragePool", 22, "GlobalAveragePool", {image}},
      {"GlobalMaxPool", 22, "GlobalMaxPool", {image}},
      {"Dropout", 22, "Dropout", {image}},
      {"SoftmaxCrossEntropyLoss",
       13,
       "SoftmaxCrossEntropyLoss",
       {Doubles({3, 4}), Ints({2, 0, 3})},
       {},
       {0}},
      {"SoftmaxCrossEntropyLoss_weights",
       13,
       "SoftmaxCrossEntropyLoss",
       {Doubles({3, 4}), Ints({2, 0, 3}), Doubles({4}, 0.5, 2)},
       {StringAttr("reduction", "sum")},
       {0}},
      {"NegativeLogLikelihoodLoss",
       13,
       "NegativeLogLikelihoodLoss",
       {Doubles({3, 4}), Ints({2, 0, 3})},
       {},
       {0}},
  };
}

std::vector<Case> WindowCases() {
  const Tensor image = Doubles({2, 4, 5, 4});
  const Tensor line = Doubles({2, 4, 7});
  const Tensor bias = Doubles({6}, -1, 1, 0.11);
  const Tensor plain = Doubles({6, 4, 3, 2}, -1, 1, 0.77);
  const Tensor grouped = Doubles({6, 2, 3, 2}, -1, 1, 0.77);
  return {
      {"Conv", 22, "Conv", {image, plain, bias}, {}, {0, 1, 2}},
      {"Conv_line",
       11,
       "Conv",
       {line, Doubles({3, 4, 3}, -1, 1, 0.77)},
       {IntsAttr("pads", {2, 1})},
       {0, 1}},
      {"Conv_strides_groups",
       22,
       "Conv",
       {image, grouped, bias},
       {IntsAttr("strides", {2, 3}), IntsAttr("pads", {1, 0, 1, 1}), IntAttr("group", 2)},
       {0, 1, 2}},
      {"Conv_dilations",
       22,
       "Conv",
       {image, grouped},
       {IntsAttr("dilations", {2, 1}), IntsAttr("pads", {1, 2, 0, 0}), IntsAttr("strides", {1, 2}),
        IntAttr("group", 2)},
       {0, 1}},
      {"Conv_same_upper",
       22,
       "Conv",
       {image, plain},
       {StringAttr("auto_pad", "SAME_UPPER"), IntsAttr("strides", {2, 1})},
       {0, 1}},
      {"Conv_same_lower",
       22,
       "Conv",
       {image, plain},
       {StringAttr("auto_pad", "SAME_LOWER")},
       {0, 1}},
      {"Conv_depthwise",
       22,
       "Conv",
       {line, Doubles({4, 1, 2}, -1, 1, 0.77)},
       {IntAttr("group", 4)},
       {0, 1}},
      {"ConvTranspose",
       22,
       "ConvTranspose",
       {Doubles({2, 4, 3}), Doubles({4, 2, 3}, -1, 1, 0.77), Doubles({2})},
       {},
       {0, 1, 2}},
      {"ConvTranspose_groups",
       22,
       "ConvTranspose",
       {Doubles({2, 4, 3}), Doubles({4, 3, 3}, -1, 1, 0.77), bias},
       {IntAttr("group", 2), IntsAttr("strides", {2}), IntsAttr("pads", {1, 2}),
        IntsAttr("output_padding", {1}), IntsAttr("dilations", {2})},
       {0, 1, 2}},
      {"ConvTranspose_shape",
       22,
       "ConvTranspose",
       {Doubles({2, 4, 3}), Doubles({4, 2, 4}, -1, 1, 0.77)},
       {IntsAttr("strides", {2}), IntsAttr("output_shape", {5})},
       {0, 1}},
      {"ConvTranspose_same",
       22,
       "ConvTranspose",
       {Doubles({2, 4, 3}), Doubles({4, 2, 3}, -1, 1, 0.77)},
       {IntsAttr("strides", {2}), StringAttr("auto_pad", "SAME_UPPER")},
       {0, 1}},
      {"MaxPool",
       22,
       "MaxPool",
       {image},
       {IntsAttr("kernel_shape", {3, 2}), IntsAttr("strides", {2, 1}),
        IntsAttr("pads", {1, 0, 1, 1}), IntAttr("ceil_mode", 1)}},
      {"MaxPool_1", 1, "MaxPool", {image}, {IntsAttr("kernel_shape", {2, 2})}},
      {"AveragePool",
       22,
       "AveragePool",
       {image},
       {IntsAttr("kernel_shape", {3, 2}), IntsAttr("strides", {2, 2}),
        IntsAttr("pads", {1, 0, 1, 1}), IntAttr("ceil_mode", 1)}},
      {"AveragePool_padding",
       22,
       "AveragePool",
       {image},
       {IntsAttr("kernel_shape", {3, 2}), IntsAttr("strides", {3, 3}),
        IntsAttr("pads", {1, 0, 1, 1}), IntAttr("ceil_mode", 1), IntAttr("count_include_pad", 1)}},
      {"AveragePool_same",
       22,
       "AveragePool",
       {line},
       {IntsAttr("kernel_shape", {3}), IntsAttr("strides", {2}),
        StringAttr("auto_pad", "SAME_UPPER")}},
  };
}

std::string NameOf(const ::testing::TestParamInfo<Case>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Elementwise, GradientOf, ::testing::ValuesIn(ElementwiseCases()), NameOf);
INSTANTIATE_TEST_SUITE_P(Shape, GradientOf, ::testing::ValuesIn(ShapeCases()), NameOf);
INSTANTIATE_TEST_SUITE_P(Window, GradientOf, ::testing::ValuesIn(WindowCases()), NameOf);
INSTANTIATE_TEST_SUITE_P(Neural, GradientOf, ::testing::ValuesIn(NeuralCases()), NameOf);

}  // namespace
}  // namespace onnx_run
