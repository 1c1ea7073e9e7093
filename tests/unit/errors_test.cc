// What errors say: where, what was found, what was expected; B32 (""), B38 (order of nodes), B51
// (texts).
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/cast_session_util.h"

namespace onnx_run {
namespace {

using cast_test::Codes;
using cast_test::CodesOf;
using cast_test::Load;
using cast_test::LoadAndRun;
using cast_test::Refused;
using cast_test::Strict;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
using E = ElementType;

std::string Message(const absl::Status& status) { return std::string(status.message()); }

ModelBuilder WithInput(int64_t opset = 21) {
  ModelBuilder builder(opset);
  builder.Input("x", TensorType(E::kFloat));
  return builder;
}

const std::vector<Value>& OneAndAHalf() {
  static const auto* const inputs = new std::vector<Value>{Value(FloatTensor({1}, {1.5F}))};
  return *inputs;
}

// --- "" for absent inputs and outputs (B32) -----------------------------------------

TEST(ErrorsTest, ARequiredInputGivenAsEmptyIsRefused) {
  EXPECT_EQ(
      Message(Refused(
          WithInput().Node("Cast", {""}, {"y"}, {IntAttr("to", 6)}, "", "c").Output("y").Build())),
      "node #0 Cast \"c\" (ai.onnx opset 21), main graph: input 0 \"input\" is required and given "
      "as \"\"");
  EXPECT_EQ(Message(Refused(WithInput().Node("CastLike", {"", "x"}, {"y"}).Output("y").Build())),
            "node #0 CastLike (ai.onnx opset 21), main graph: "
            "input 0 \"input\" is required and given as \"\"");
  EXPECT_EQ(Message(Refused(WithInput().Node("CastLike", {"x", ""}, {"y"}).Output("y").Build())),
            "node #0 CastLike (ai.onnx opset 21), main graph: "
            "input 1 \"target_type\" is required and given as \"\"");
  EXPECT_EQ(Message(Refused(WithInput().Node("CastLike", {"x"}, {"y"}).Output("y").Build())),
            "node #0 CastLike (ai.onnx opset 21), main graph: 1 inputs given, CastLike-21 takes 2");
}

TEST(ErrorsTest, EmptyNamesAtTheEndCountForNothing) {
  const auto outputs =
      LoadAndRun(WithInput()
                     .Node("Cast", {"x", "", ""}, {"y", "", ""}, {IntAttr("to", 6)})
                     .Output("y")
                     .Build(),
                 OneAndAHalf());
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ(CodesOf((*outputs)[0].tensor()), Codes{1});
}

TEST(ErrorsTest, SeveralUnwantedOutputsDoNotClash) {
  const auto outputs = LoadAndRun(WithInput()
                                      .Node("Cast", {"x"}, {""}, {IntAttr("to", 7)})
                                      .Node("Cast", {"x"}, {""}, {IntAttr("to", 8)})
                                      .Node("Cast", {"x"}, {"y"}, {IntAttr("to", 6)})
                                      .Output("y")
                                      .Build(),
                                  OneAndAHalf());
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ(CodesOf((*outputs)[0].tensor()), Codes{1});
}

TEST(ErrorsTest, IfWithoutConditionIsRefused) {
  const Graph branch =
      GraphBuilder().Node("Cast", {"x"}, {"b"}, {IntAttr("to", 6)}).Output("b").Build();
  EXPECT_EQ(
      Message(
          Refused(WithInput()
                      .Node("If", {""}, {"y"},
                            {GraphAttr("then_branch", branch), GraphAttr("else_branch", branch)})
                      .Output("y")
                      .Build())),
      "node #0 If (ai.onnx opset 21), main graph: input 0 \"cond\" is required and given as \"\"");
}

// --- Order of nodes (B38) ---------------------------------------------------------------

TEST(ErrorsTest, UnsortedNodesRunWithAWarningAndAreRefusedWhenStrict) {
  const Model model = WithInput()
                          .Node("Cast", {"d"}, {"y"}, {IntAttr("to", 6)})
                          .Node("Cast", {"x"}, {"d"}, {IntAttr("to", 11)})
                          .Output("y")
                          .Build();
  const auto outputs = LoadAndRun(model, OneAndAHalf());
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ(CodesOf((*outputs)[0].tensor()), Codes{1});
  const auto session = Load(model);
  EXPECT_THAT((*session)->warnings(),
              ElementsAre("main graph: nodes are not in topological order"));
  EXPECT_EQ(Message(Refused(model, Strict())), "main graph: nodes are not in topological order");
}

TEST(ErrorsTest, ACycleIsShown) {
  const std::string message =
      Message(Refused(WithInput()
                          .Node("Cast", {"x"}, {"z"}, {IntAttr("to", 6)})
                          .Node("Cast", {"b"}, {"a"}, {IntAttr("to", 6)}, "", "first")
                          .Node("Cast", {"a"}, {"b"}, {IntAttr("to", 1)}, "", "second")
                          .Output("b")
                          .Build()));
  EXPECT_THAT(message,
              AllOf(StartsWith("main graph: nodes read from each other in a cycle: "),
                    HasSubstr("node #1 Cast \"first\""), HasSubstr("node #2 Cast \"second\"")));
  EXPECT_THAT(Message(Refused(
                  WithInput().Node("Cast", {"y"}, {"y"}, {IntAttr("to", 6)}).Output("y").Build())),
              HasSubstr("in a cycle: node #0 Cast <- node #0 Cast"));
}

TEST(ErrorsTest, ANameThatExistsNowhere) {
  EXPECT_EQ(Message(Refused(WithInput()
                                .Node("Cast", {"nowhere"}, {"y"}, {IntAttr("to", 6)}, "", "c")
                                .Output("y")
                                .Build())),
            "main graph: node #0 Cast \"c\" reads \"nowhere\", which no input, initializer or node "
            "gives");
  EXPECT_EQ(Message(Refused(WithInput().Output("nowhere").Build())),
            "main graph: output \"nowhere\" is given by no input, initializer or node");
}

TEST(ErrorsTest, ANameWrittenTwice) {
  EXPECT_EQ(
      Message(Refused(WithInput()
                          .Node("Cast", {"x"}, {"y"}, {IntAttr("to", 6)}, "", "one")
                          .Node("Cast", {"x"}, {"y"}, {IntAttr("to", 7)})
                          .Output("y")
                          .Build())),
      "main graph: value \"y\" is written twice, by node #0 Cast \"one\" and by node #1 Cast");
  EXPECT_EQ(
      Message(
          Refused(WithInput().Node("Cast", {"x"}, {"x"}, {IntAttr("to", 6)}).Output("x").Build())),
      "main graph: value \"x\" is written by node #0 Cast and is an input or initializer too");
}

TEST(ErrorsTest, TheSubgraphIsNamed) {
  const auto with_branch = [](const Graph& branch) {
    return WithInput()
        .Initializer("condition", Value(TensorOf<uint8_t>(E::kBool, {}, {1})))
        .Node("Identity", {"x"}, {"z"})
        .Node("If", {"condition"}, {"y"},
              {GraphAttr("then_branch", branch), GraphAttr("else_branch", branch)}, "", "choose")
        .Output("y")
        .Build();
  };
  EXPECT_EQ(
      Message(Refused(with_branch(GraphBuilder()
                                      .Node("Cast", {"x"}, {"b"}, {IntAttr("to", 99)}, "", "inner")
                                      .Output("b")
                                      .Build()))),
      "node #0 Cast \"inner\" (ai.onnx opset 21), main graph/If \"choose\" then_branch: attribute "
      "\"to\" "
      "is 99, expected the data type of a tensor that is not complex");
  const std::string cycle =
      Message(Refused(with_branch(GraphBuilder()
                                      .Node("Cast", {"c"}, {"b"}, {IntAttr("to", 1)})
                                      .Node("Cast", {"b"}, {"c"}, {IntAttr("to", 1)})
                                      .Output("b")
                                      .Build())));
  EXPECT_THAT(cycle,
              AllOf(StartsWith("main graph/If \"choose\" then_branch: "), HasSubstr("cycle")));
  EXPECT_EQ(Message(Refused(
                with_branch(GraphBuilder()
                                .Node("Cast", {"nowhere"}, {"b"}, {IntAttr("to", 1)}, "", "inner")
                                .Output("b")
                                .Build()))),
            "main graph/If \"choose\" then_branch: node #0 Cast \"inner\" reads \"nowhere\", which "
            "no input, "
            "initializer or node gives");
  EXPECT_EQ(Message(Refused(with_branch(GraphBuilder().Output("nowhere").Build()))),
            "main graph/If \"choose\" then_branch: output \"nowhere\" is asked for, which no "
            "input, initializer "
            "or node gives");
}

// --- Operators that are not supported, and types (B51) ------------------------------------

TEST(ErrorsTest, AllUnsupportedOperatorsAreListedAtOnce) {
  const Graph branch = GraphBuilder().Node("Baz", {"x"}, {"b"}).Output("b").Build();
  const absl::Status status = Refused(
      WithInput()
          .Opset("com.example", 2)
          .Initializer("condition", Value(TensorOf<uint8_t>(E::kBool, {}, {1})))
          .Node("Foo", {"x"}, {"a"}, {}, "", "my_foo")
          .Node("Bar", {"a"}, {"c"}, {}, "com.example")
          .Node("Foo", {"c"}, {"d"})
          .Node("If", {"condition"}, {"y"},
                {GraphAttr("then_branch", branch), GraphAttr("else_branch", branch)}, "", "choose")
          .Node("Cast", {"d"}, {"e"}, {IntAttr("to", 6)})
          .Output("y")
          .Output("e")
          .Build());
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(Message(status),
            "3 operators are not supported: "
            "Foo (ai.onnx opset 21, not known) at node #0 \"my_foo\", main graph; "
            "Bar (com.example opset 2, not known) at node #1, main graph; "
            "Baz (ai.onnx opset 21, not known) at node #0, main graph/If \"choose\" then_branch");
}

TEST(ErrorsTest, AnOperatorOfALaterOpsetIsToldSo) {
  EXPECT_EQ(Message(Refused(WithInput(14).Node("CastLike", {"x", "x"}, {"y"}).Output("y").Build())),
            "1 operator is not supported: CastLike (ai.onnx opset 14, not known, first in opset "
            "15) at node #0, "
            "main graph");
}

TEST(ErrorsTest, InAFunctionToo) {
  const Model model =
      WithInput()
          .Opset("local", 1)
          .Function(FunctionBuilder("local", "Twice")
                        .Inputs({"a"})
                        .Outputs({"b"})
                        .Opset("", 13)
                        .Node("Cast", {"a"}, {"b"}, {IntAttr("to", 14)}, "", "inner")
                        .Build())
          .Node("Twice", {"x"}, {"y"}, {}, "local", "call")
          .Output("y")
          .Build();
  // The function's own opset counts inside of it.
  EXPECT_EQ(
      Message(Refused(model)),
      "node #0 Cast \"inner\" (ai.onnx opset 13), function local.Twice: attribute \"to\" is 14 "
      "(COMPLEX64), expected the data type of a tensor that is not complex");
}

TEST(ErrorsTest, ATypeFailureNamesWhatWasFoundAndWhatIsAccepted) {
  const Model model = ModelBuilder(15)
                          .Input("x", TensorType(E::kComplex64))
                          .Input("like", TensorType(E::kFloat))
                          .Node("Identity", {"like"}, {"z"})
                          .Node("CastLike", {"x", "like"}, {"y"}, {}, "", "cl_3")
                          .Output("y")
                          .Build();
  const absl::Status status = Refused(model);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(
      Message(status),
      AllOf(StartsWith("node #1 CastLike \"cl_3\" (ai.onnx opset 15), main graph: "),
            HasSubstr("input 0 \"input\" has type tensor(complex64), accepted by CastLike-15: "),
            HasSubstr("tensor(float)"), HasSubstr("tensor(bfloat16)"),
            HasSubstr("tensor(string)")));
}

TEST(ErrorsTest, ADeclaredOutputTypeMustBeTheNodes) {
  EXPECT_EQ(Message(Refused(WithInput()
                                .Node("Cast", {"x"}, {"y"}, {IntAttr("to", 6)})
                                .Output("y", TensorType(E::kInt64))
                                .Build())),
            "main graph: output \"y\" is declared tensor(int64), its node gives tensor(int32)");
}

TEST(ErrorsTest, TooManyInputs) {
  EXPECT_EQ(
      Message(Refused(
          WithInput().Node("Cast", {"x", "x"}, {"y"}, {IntAttr("to", 6)}).Output("y").Build())),
      "node #0 Cast (ai.onnx opset 21), main graph: 2 inputs given, Cast-21 takes 1");
  EXPECT_EQ(
      Message(Refused(
          WithInput().Node("Cast", {"x"}, {"y", "z"}, {IntAttr("to", 6)}).Output("y").Build())),
      "node #0 Cast (ai.onnx opset 21), main graph: 2 outputs given, Cast-21 has 1");
}

TEST(ErrorsTest, ARunTimeFaultNamesItsNode) {
  const auto outputs = LoadAndRun(ModelBuilder(21)
                                      .Input("x", TensorType(E::kString))
                                      .Node("Identity", {"x"}, {"z"})
                                      .Node("Cast", {"z"}, {"y"}, {IntAttr("to", 7)}, "", "parse")
                                      .Output("y")
                                      .Build(),
                                  {Value(StringTensor({2}, {"1", "one"}))});
  ASSERT_FALSE(outputs.ok());
  EXPECT_EQ(
      Message(outputs.status()),
      "node #1 Cast \"parse\" (ai.onnx opset 21), main graph: element 1: \"one\" is not a number "
      "(converting to int64)");
}

// --- What a run is given --------------------------------------------------------------------

TEST(ErrorsTest, InputsOfARunAreChecked) {
  const auto session = Load(ModelBuilder(21)
                                .Input("x", E::kFloat, {Dim("N"), Dim(3)})
                                .Input("w", E::kFloat, {Dim("N")})
                                .Node("Cast", {"x"}, {"y"}, {IntAttr("to", 6)})
                                .Output("y")
                                .Build());
  ASSERT_TRUE(session.ok()) << session.status();
  const Value x(FloatTensor({2, 3}, {1, 2, 3, 4, 5, 6}));
  const Value w(FloatTensor({2}, {1, 2}));
  EXPECT_TRUE((*session)->Run({{"x", x}, {"w", w}}).ok());
  const auto message = [&](std::initializer_list<std::pair<std::string, Value>> inputs) {
    const auto outputs = (*session)->Run(inputs);
    EXPECT_FALSE(outputs.ok());
    return Message(outputs.status());
  };
  EXPECT_EQ(message({{"x", x}, {"w", w}, {"v", w}}), "the model has no input \"v\"; it has: x, w");
  EXPECT_EQ(message({{"x", x}}), "input \"w\" (tensor(float)[N]) is not given");
  EXPECT_EQ(message({{"x", Value(TensorOf<double>(E::kDouble, {1, 3}, {1, 2, 3}))}, {"w", w}}),
            "input \"x\" is declared tensor(float)[N,3], given tensor(double)[1,3]");
  EXPECT_EQ(message({{"x", Value(FloatTensor({3}, {1, 2, 3}))}, {"w", w}}),
            "input \"x\" is declared tensor(float)[N,3], given tensor(float)[3]");
  EXPECT_EQ(message({{"x", Value(FloatTensor({1, 2}, {1, 2}))}, {"w", w}}),
            "input \"x\" is declared tensor(float)[N,3], given tensor(float)[1,2]");
  EXPECT_EQ(message({{"x", Value(FloatTensor({1, 3}, {1, 2, 3}))}, {"w", w}}),
            "input \"w\" is declared tensor(float)[N], given tensor(float)[2]: dimension \"N\" is "
            "1 in an "
            "earlier input");
}

}  // namespace
}  // namespace onnx_run
