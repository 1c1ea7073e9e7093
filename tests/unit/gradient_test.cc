// What a Gradient node means, and its errors. Its rules: gradient_rules_test.cc.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/gradient_rules.h"
#include "tests/unit/gradient_test_util.h"

namespace onnx_run {
namespace {

using ::testing::ElementsAre;

constexpr auto kDouble = ElementType::kDouble;

absl::StatusOr<std::vector<Value>> RunAt(const Model& model, const std::vector<Value>& inputs) {
  auto session = Session::Create(model, AllOperators(), WithBodies());
  if (!session.ok()) return session.status();
  std::vector<Value> outputs((*session)->outputs().size());
  const absl::Status status = (*session)->Run(absl::MakeConstSpan(inputs), absl::MakeSpan(outputs));
  if (!status.ok()) return status;
  return outputs;
}

// --- What a Gradient node means ------------------------------------------------------------------

ModelBuilder Training(int64_t opset = 13) {
  ModelBuilder builder(opset);
  builder.Opset(kTraining, 1);
  return builder;
}

std::vector<Attribute> With(std::vector<std::string> xs, std::string y,
                            std::vector<std::string> zs = {}) {
  std::vector<Attribute> attributes{StringsAttr("xs", std::move(xs)),
                                    StringAttr("y", std::move(y))};
  if (!zs.empty()) attributes.push_back(StringsAttr("zs", std::move(zs)));
  return attributes;
}

Tensor Scalar(double value) { return TensorOf<double>(kDouble, {}, {value}); }

// y = a * a * b, at the values that the inputs of Gradient have.
TEST(Gradient, IsTakenAtItsInputs) {
  const Model model = Training()
                          .Input("a", kDouble, {})
                          .Input("b", kDouble, {})
                          .Input("at", kDouble, {})
                          .Node("Mul", {"a", "a"}, {"aa"})
                          .Node("Mul", {"aa", "b"}, {"y"})
                          .Node("Gradient", {"at", "b"}, {"da"}, With({"a"}, "y", {"b"}), kTraining)
                          .Output("y")
                          .Output("da")
                          .Build();
  const auto outputs = RunAt(model, {Scalar(3), Scalar(5), Scalar(7)});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_THAT(DoublesOf((*outputs)[0]), ElementsAre(45));
  EXPECT_THAT(DoublesOf((*outputs)[1]), ElementsAre(2 * 7 * 5));
}

// With respect to a value in the middle, which another of its node's outputs goes around.
TEST(Gradient, OfIntermediateValues) {
  const Model model =
      Training()
          .Input("a", kDouble, {2})
          .Node("Split", {"a"}, {"left", "right"})
          .Node("Mul", {"left", "right"}, {"y"})
          .Node("Gradient", {"left", "right"}, {"dl"}, With({"left"}, "y", {"right"}), kTraining)
          .Node("Gradient", {"left", "a"}, {"dl2", "da"}, With({"left", "a"}, "y"), kTraining)
          .Output("dl")
          .Output("dl2")
          .Output("da")
          .Build();
  const auto outputs = RunAt(model, {TensorOf<double>(kDouble, {2}, {3, 5})});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_THAT(DoublesOf((*outputs)[0]), ElementsAre(5));
  EXPECT_THAT(DoublesOf((*outputs)[1]), ElementsAre(5));
  EXPECT_THAT(DoublesOf((*outputs)[2]), ElementsAre(0, 3));  // left is held
}

TEST(Gradient, OfATensorIsThatOfItsSum) {
  const Model model = Training()
                          .Input("a", kDouble, {3})
                          .Node("Mul", {"a", "a"}, {"y"})
                          .Node("Gradient", {"a"}, {"da"}, With({"a"}, "y"), kTraining)
                          .Output("da")
                          .Build();
  const auto outputs = RunAt(model, {TensorOf<double>(kDouble, {3}, {1, 2, 3})});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_THAT(DoublesOf((*outputs)[0]), ElementsAre(2, 4, 6));
}

// Unwanted outputs, y itself, and what y does not depend on.
TEST(Gradient, OfWhatIsNotThere) {
  const Model model =
      Training()
          .Input("a", kDouble, {2})
          .Input("b", kDouble, {})
          .Node("Neg", {"a"}, {"y"})
          .Node("Gradient", {"a", "b"}, {"", "db"}, With({"a", "b"}, "y"), kTraining)
          .Node("Gradient", {"y"}, {"dy"}, With({"y"}, "y"), kTraining)
          .Node("Gradient", {"b"}, {"none"}, With({"b"}, "y"), kTraining)
          .Output("db")
          .Output("dy")
          .Output("none")
          .Build();
  const auto outputs = RunAt(model, {TensorOf<double>(kDouble, {2}, {1, 2}), Scalar(1)});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_THAT(DoublesOf((*outputs)[0]), ElementsAre(0));
  EXPECT_THAT(DoublesOf((*outputs)[1]), ElementsAre(1, 1));
  EXPECT_THAT(DoublesOf((*outputs)[2]), ElementsAre(0));
}

// The standard's example of a second derivative; d^3/dx^3 of x^4, too.
TEST(Gradient, OfGradients) {
  const Model model = Training()
                          .Input("x", kDouble, {})
                          .Node("Mul", {"x", "x"}, {"xx"})
                          .Node("Gradient", {"x"}, {"d3"}, With({"x"}, "d2"), kTraining)
                          .Node("Gradient", {"x"}, {"d2"}, With({"x"}, "d1"), kTraining)
                          .Node("Gradient", {"x"}, {"d1"}, With({"x"}, "y"), kTraining)
                          .Node("Mul", {"xx", "xx"}, {"y"})
                          .Output("d1")
                          .Output("d2")
                          .Output("d3")
                          .Build();
  const auto outputs = RunAt(model, {Scalar(3)});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_THAT(DoublesOf((*outputs)[0]), ElementsAre(4 * 27));
  EXPECT_THAT(DoublesOf((*outputs)[1]), ElementsAre(12 * 9));
  EXPECT_THAT(DoublesOf((*outputs)[2]), ElementsAre(24 * 3));
}

// A step of gradient descent on a small network, in float: the loss goes down.
TEST(Gradient, TrainsANetwork) {
  const auto network = [](ModelBuilder builder) {
    return builder.Input("x", ElementType::kFloat, {4, 2})
        .Input("w1", ElementType::kFloat, {2, 3})
        .Input("w2", ElementType::kFloat, {3, 2})
        .Initializer("labels", Int64Tensor({4}, {0, 1, 1, 0}))
        .Initializer("rate", FloatTensor({}, {0.5F}))
        .Node("MatMul", {"x", "w1"}, {"h"})
        .Node("Relu", {"h"}, {"r"})
        .Node("MatMul", {"r", "w2"}, {"logits"})
        .Node("SoftmaxCrossEntropyLoss", {"logits", "labels"}, {"loss"})
        .Node("Gradient", {"w1", "w2", "x"}, {"d1", "d2"}, With({"w1", "w2"}, "loss", {"x"}),
              kTraining)
        .Node("Mul", {"d1", "rate"}, {"s1"})
        .Node("Mul", {"d2", "rate"}, {"s2"})
        .Node("Sub", {"w1", "s1"}, {"new1"})
        .Node("Sub", {"w2", "s2"}, {"new2"})
        .Output("loss")
        .Output("new1")
        .Output("new2");
  };
  const Model model = network(Training()).Build();
  const Value x = FloatTensor({4, 2}, {0, 0, 0, 1, 1, 0, 1, 1});
  Value w1 = FloatTensor({2, 3}, {0.9F, -0.8F, 0.7F, 0.8F, -0.9F, -0.6F});
  Value w2 = FloatTensor({3, 2}, {0.3F, -0.2F, 0.5F, 0.1F, -0.4F, 0.6F});
  std::vector<float> losses;
  for (int step = 0; step < 20; ++step) {
    auto outputs = RunAt(model, {x, w1, w2});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    losses.push_back(FloatsOf((*outputs)[0])[0]);
    w1 = (*outputs)[1];
    w2 = (*outputs)[2];
  }
  EXPECT_LT(losses.back(), losses.front());
}

TEST(Gradient, PassesThroughFunctionsAndTheirAttributes) {
  const Function function =
      FunctionBuilder("f", "Scaled")
          .Inputs({"a", "b"})
          .Outputs({"c"})
          .Attributes({"slope"})
          .Opset("", 11)
          .Node("Mul", {"a", "b"}, {"p"})
          .Node("LeakyRelu", {"p"}, {"c"}, {RefAttr("alpha", "slope", AttributeKind::kFloat)})
          .Build();
  ModelBuilder builder = Training(18);
  builder.Opset("f", 1);
  const Model model =
      builder.Function(function)
          .Input("a", kDouble, {})
          .Input("b", kDouble, {})
          .Node("Scaled", {"a", "b"}, {"y"}, {FloatAttr("slope", 0.25F)}, "f")
          .Node("Gradient", {"a", "b"}, {"da", "db"}, With({"a", "b"}, "y"), kTraining)
          .Output("da")
          .Output("db")
          .Build();
  const auto outputs = RunAt(model, {Scalar(3), Scalar(-5)});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_THAT(DoublesOf((*outputs)[0]), ElementsAre(-1.25));
  EXPECT_THAT(DoublesOf((*outputs)[1]), ElementsAre(0.75));
}

TEST(Gradient, InABranch) {
  const Graph branch = GraphBuilder()
                           .Node("Mul", {"a", "a"}, {"y"})
                           .Node("Gradient", {"a"}, {"da"}, With({"a"}, "y"), kTraining)
                           .Output("da")
                           .Build();
  const Model model =
      Training()
          .Input("a", kDouble, {})
          .Input("c", ElementType::kBool, {})
          .Node("If", {"c"}, {"r"},
                {GraphAttr("then_branch", branch), GraphAttr("else_branch", branch)})
          .Output("r")
          .Build();
  const auto outputs = RunAt(model, {Scalar(3), BoolScalar(true)});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_THAT(DoublesOf((*outputs)[0]), ElementsAre(6));
}

// alpha (exp(x / alpha) - 1) below 0; Celu is of float alone.
TEST(Gradient, OfCelu) {
  const Model model = Training()
                          .Input("a", ElementType::kFloat, {2})
                          .Node("Celu", {"a"}, {"y"}, {FloatAttr("alpha", 2)})
                          .Node("Gradient", {"a"}, {"da"}, With({"a"}, "y"), kTraining)
                          .Output("da")
                          .Build();
  const auto outputs = RunAt(model, {FloatTensor({2}, {-2, 3})});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_THAT(FloatsOf((*outputs)[0]), ElementsAre(std::exp(-1.0F), 1));
}

TEST(Gradient, OfTiesIsShared) {
  const Model model = Training()
                          .Input("a", kDouble, {3})
                          .Node("ReduceMax", {"a"}, {"y"})
                          .Node("Gradient", {"a"}, {"da"}, With({"a"}, "y"), kTraining)
                          .Output("da")
                          .Build();
  const auto outputs = RunAt(model, {TensorOf<double>(kDouble, {3}, {2, 1, 2})});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_THAT(DoublesOf((*outputs)[0]), ElementsAre(0.5, 0, 0.5));
}

// Kept elements only, of the very mask that the graph has drawn.
TEST(Gradient, OfDropoutInTraining) {
  const Model model = Training()
                          .Input("a", kDouble, {64})
                          .Initializer("ratio", FloatTensor({}, {0.5F}))
                          .Initializer("training", BoolScalar(true))
                          .Node("Dropout", {"a", "ratio", "training"}, {"y", "mask"})
                          .Node("Gradient", {"a"}, {"da"}, With({"a"}, "y"), kTraining)
                          .Output("y")
                          .Output("da")
                          .Build();
  const auto outputs = RunAt(model, {Doubles({64}, 1, 2)});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  const std::vector<double> y = DoublesOf((*outputs)[0]);
  const std::vector<double> gradient = DoublesOf((*outputs)[1]);
  for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(gradient[i], y[i] == 0 ? 0 : 2) << i;
}

// The page lists the operators that have a rule.
TEST(Gradient, RulesAreThoseOfThePage) {
  std::ifstream file(std::string(ONNX_RUN_SOURCE_DIR) + "/docs/gradient.md");
  std::stringstream text;
  text << file.rdbuf();
  const std::string page = std::regex_replace(text.str(), std::regex("\\s+"), " ");
  std::vector<std::string> with;
  std::vector<std::string> without;
  for (const GradientRule& rule :
       AllOperators().Find(kTraining, "Gradient", 1).kernel->gradient().rules) {
    if (rule.domain.empty()) (rule.inputs != 0 ? with : without).emplace_back(rule.op_type);
  }
  std::sort(with.begin(), with.end());
  std::sort(without.begin(), without.end());
  EXPECT_THAT(page, ::testing::HasSubstr(absl::StrJoin(with, ", ") + "."));
  EXPECT_THAT(page, ::testing::HasSubstr(absl::StrJoin(without, ", ") + "."));
}

// --- Errors --------------------------------------------------------------------------------------

absl::Status GradientStatus(std::vector<std::string> inputs, std::vector<std::string> outputs,
                            std::vector<Attribute> attributes) {
  const Model model = Training()
                          .Input("a", ElementType::kFloat, {2})
                          .Input("b", ElementType::kFloat, {2})
                          .Node("Mul", {"a", "b"}, {"p"})
                          .Node("Multinomial", {"p"}, {"m"})
                          .Node("LpNormalization", {"p"}, {"y"}, {}, "", "norm")
                          .Node("Gradient", std::move(inputs), std::move(outputs),
                                std::move(attributes), kTraining, "g")
                          .Node("LpNormalization", {"y"}, {"z"}, {}, "", "again")
                          .Output("y")
                          .Build();
  return RunAt(model, {}).status();
}

TEST(Gradient, SaysWhatItHasNoRuleFor) {
  const absl::Status status = GradientStatus({"a"}, {"d"}, With({"a"}, "y"));
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(status, FailsWith(Words({"node #2 LpNormalization \"norm\" (ai.onnx opset 13)",
                                       "main graph", "no rule for LpNormalization"})));
  // All of them, though a derivative has to pass one to come to the other.
  EXPECT_THAT(GradientStatus({"a"}, {"d"}, With({"a"}, "z")),
              FailsWith(Words({"node #4 LpNormalization \"again\"", "no rule for LpNormalization",
                               "node #2 LpNormalization \"norm\""})));
}

TEST(Gradient, RefusesWrongNames) {
  EXPECT_THAT(GradientStatus({"a"}, {"d"}, With({"nothing"}, "p")),
              FailsWith(Words({"node #3 Gradient \"g\" (ai.onnx.preview.training opset 1)",
                               "\"xs\"", "\"nothing\""})));
  EXPECT_THAT(GradientStatus({"a", "b"}, {"d"}, With({"a"}, "p", {"other"})),
              FailsWith(Words({"\"zs\"", "\"other\""})));
  EXPECT_THAT(GradientStatus({"a"}, {"d"}, With({"a"}, "q")), FailsWith(Words({"\"y\"", "\"q\""})));
  EXPECT_THAT(GradientStatus({"a", "a"}, {"d"}, With({"a"}, "p", {"a"})),
              FailsWith(Words({"\"a\"", "before"})));
  EXPECT_THAT(GradientStatus({"a"}, {"d"}, With({"a"}, "d")),
              FailsWith(Words({"depends on its own outputs"})));
}

TEST(Gradient, RefusesWrongNumbers) {
  EXPECT_THAT(GradientStatus({"a"}, {"d"}, With({"a", "b"}, "p")),
              FailsWith(Words({"node #3 Gradient", "1 inputs given", "2 names"})));
  EXPECT_THAT(GradientStatus({"a"}, {"d", "e"}, With({"a"}, "p")),
              FailsWith(Words({"2 outputs given"})));
  EXPECT_THAT(GradientStatus({"a"}, {"d"}, {StringAttr("y", "p")}),
              FailsWith(Words({"\"xs\"", "required"})));
}

TEST(Gradient, NeedsNoOtherTableThanItsOwn) {
  const OpRegistry empty({}, &StandardSchemas());
  const Model model = Training()
                          .Input("a", ElementType::kFloat, {2})
                          .Node("Gradient", {"a"}, {"d"}, With({"a"}, "a"), kTraining)
                          .Output("d")
                          .Build();
  EXPECT_THAT(Session::Create(model, empty).status(),
              FailsWith(Words({"not supported", "Gradient"})));
}

}  // namespace
}  // namespace onnx_run
