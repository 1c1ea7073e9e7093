// Model-local functions and the standard's function bodies: B36 and B37 of the bug cases.
#include <chrono>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/all_ops.h"
#include "proto/standard/function_bodies.h"
#include "tests/unit/graph_test_util.h"

namespace onnx_run {
namespace {

using ::testing::ElementsAre;

constexpr auto kInt64 = ElementType::kInt64;
constexpr auto kFloat = ElementType::kFloat;
constexpr auto kBool = ElementType::kBool;

ModelBuilder TestModel(int64_t opset = 21) {
  ModelBuilder builder(opset);
  builder.Opset("t", 1);
  return builder;
}

// One call of `function` with x, and attributes.
Model CallModel(Function function, std::vector<Attribute> attributes = {}, int64_t opset = 21) {
  Node call;
  call.name = "call";
  call.domain = function.domain;
  call.op_type = function.name;
  call.overload = function.overload;
  call.inputs = {"x"};
  call.outputs = {"y"};
  call.attributes = std::move(attributes);
  return TestModel(opset)
      .Function(std::move(function))
      .Input("x", kFloat, {"n"})
      .Node(std::move(call))
      .Output("y")
      .Build();
}

ElementType OutputType(const Model& model) {
  const auto outputs = RunModel(model, {{"x", FloatTensor({1}, {1.5F})}});
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return outputs.ok() ? outputs->front().tensor().type() : ElementType::kUndefined;
}

// --- B37: attributes ---------------------------------------------------------

FunctionBuilder CastFunction(int64_t opset = 21) {
  FunctionBuilder builder = TestFunction("MyCast", opset);
  builder.Inputs({"a"}).Outputs({"b"}).Node("Cast", {"a"}, {"b"},
                                            {RefAttr("to", "dtype", AttributeKind::kInt)});
  return builder;
}

TEST(GraphFunctions, AttributesAreReferredTo) {
  const Function function = CastFunction().Attributes({"dtype"}).Build();
  EXPECT_EQ(OutputType(CallModel(function, {IntAttr("dtype", 7)})), kInt64);
  EXPECT_EQ(OutputType(CallModel(function, {IntAttr("dtype", 10)})), ElementType::kFloat16);
}

TEST(GraphFunctions, TwoCallsTwoValues) {
  const Model model = TestModel()
                          .Function(CastFunction().Attributes({"dtype"}).Build())
                          .Input("x", kFloat, {})
                          .Node("MyCast", {"x"}, {"y"}, {IntAttr("dtype", 7)}, "t")
                          .Node("MyCast", {"x"}, {"z"}, {IntAttr("dtype", 9)}, "t")
                          .Output("y", kInt64, {})
                          .Output("z", kBool, {})
                          .Build();
  const auto outputs = RunModel(model, {{"x", FloatTensor({}, {2.5F})}});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_THAT(IntsOf((*outputs)[0]), ElementsAre(2));
  EXPECT_THAT(IntsOf((*outputs)[1]), ElementsAre(1));
}

TEST(GraphFunctions, AttributesHaveDefaults) {
  const Function function = CastFunction().Default(IntAttr("dtype", 11)).Build();
  EXPECT_EQ(OutputType(CallModel(function)), ElementType::kDouble);
  EXPECT_EQ(OutputType(CallModel(function, {IntAttr("dtype", 7)})), kInt64);
}

TEST(GraphFunctions, AMissingAttribute) {
  const Function function = CastFunction().Attributes({"dtype"}).Build();
  EXPECT_THAT(LoadStatus(CallModel(function)), FailsWith(Words({"Cast", "\"to\"", "MyCast"})));
}

TEST(GraphFunctions, AnUnknownAttribute) {
  const Function function = CastFunction().Attributes({"dtype"}).Build();
  EXPECT_THAT(LoadStatus(CallModel(function, {IntAttr("dtype", 7), IntAttr("other", 1)})),
              FailsWith(Words({"call", "\"other\"", "MyCast"})));
}

// The reference stands in a branch, and is passed on to another function.
TEST(GraphFunctions, ReferencesReachSubgraphsAndInnerCalls) {
  const Graph branch =
      GraphBuilder()
          .Node("MyCast", {"a"}, {"r"}, {RefAttr("dtype", "outer_type", AttributeKind::kInt)}, "t")
          .Output("r")
          .Build();
  const Function outer =
      TestFunction("Outer", 21)
          .Inputs({"a"})
          .Outputs({"b"})
          .Attributes({"outer_type"})
          .Node("OptionalHasElement", {"a"}, {"yes"})
          .Node("If", {"yes"}, {"b"},
                {GraphAttr("then_branch", branch), GraphAttr("else_branch", branch)})
          .Build();
  Model model = CallModel(outer, {IntAttr("outer_type", 7)});
  model.functions.push_back(CastFunction().Attributes({"dtype"}).Build());
  EXPECT_EQ(OutputType(model), kInt64);
}

// --- B37: names, overloads, opsets -------------------------------------------

TEST(GraphFunctions, OverloadsAreTold) {
  Function f = TestFunction("F", 21)
                   .Overload("double")
                   .Inputs({"a"})
                   .Outputs({"b"})
                   .Node("Cast", {"a"}, {"b"}, {IntAttr("to", 11)})
                   .Build();
  Model model = CallModel(f);
  f.overload = "int";
  f.nodes[0].attributes[0].i = 7;
  model.functions.push_back(f);
  EXPECT_EQ(OutputType(model), ElementType::kDouble);
  model.graph.nodes[0].overload = "int";
  EXPECT_EQ(OutputType(model), kInt64);
  model.functions.push_back(f);
  EXPECT_THAT(LoadStatus(model), FailsWith(Words({"t.F:int", "twice"})));
}

// Nodes in a function bind to the function's opset: there is no float8 in Cast-13, whatever the
// model imports; and Cast-5 takes names.
TEST(GraphFunctions, OpsetsAreTheFunctionsOwn) {
  SessionOptions strict;
  strict.strict = true;
  const Function cast13 = CastFunction(13).Default(IntAttr("dtype", 17)).Build();
  EXPECT_THAT(LoadStatus(CallModel(cast13, {}, 25), strict),
              FailsWith(Words({"Cast-13", "float8e4m3fn"})));
  const Function cast5 = TestFunction("Old", 5)
                             .Inputs({"a"})
                             .Outputs({"b"})
                             .Node("Cast", {"a"}, {"b"}, {StringAttr("to", "INT64")})
                             .Build();
  EXPECT_EQ(OutputType(CallModel(cast5, {}, 25)), kInt64);
}

TEST(GraphFunctions, AMissingImportIsTheFunctions) {
  Function function = CastFunction().Default(IntAttr("dtype", 7)).Build();
  function.opset_imports = {{"t", 1}};
  EXPECT_THAT(LoadStatus(CallModel(function)),
              FailsWith(Words({"MyCast", "ai.onnx", "not imported"})));
}

TEST(GraphFunctions, MayOverrideTheStandard) {
  Function function = FunctionBuilder("", "Cast")
                          .Opset("", 21)
                          .Inputs({"a"})
                          .Outputs({"b"})
                          .Node("Identity", {"a"}, {"b"})
                          .Attributes({"to"})
                          .Build();
  EXPECT_EQ(OutputType(CallModel(function, {IntAttr("to", 7)})), kFloat);
}

TEST(GraphFunctions, AnOmittedInputIsAbsent) {
  // CastLike needs its second input; Optional takes what there is.
  const auto model = [](FunctionBuilder builder) {
    return CallModel(builder.Inputs({"a", "like"}).Outputs({"b"}).Build());
  };
  EXPECT_THAT(RunModel(model(TestFunction("F", 21).Node("CastLike", {"a", "like"}, {"b"})),
                       {{"x", FloatTensor({1}, {1})}})
                  .status(),
              FailsWith(Words({"CastLike", "input 1", "required"})));
  const Model has = model(TestFunction("F", 21).Node("OptionalHasElement", {"like"}, {"b"}));
  EXPECT_THAT(RunInts(has, {{"x", FloatTensor({1}, {1})}}), ElementsAre(0));
}

TEST(GraphFunctions, TooManyInputs) {
  Model model = CallModel(CastFunction().Default(IntAttr("dtype", 7)).Build());
  model.graph.nodes[0].inputs = {"x", "x"};
  EXPECT_THAT(LoadStatus(model), FailsWith(Words({"call", "2 inputs", "MyCast"})));
}

TEST(GraphFunctions, SeeNothingOfTheCaller) {
  const Function function =
      TestFunction("F", 21).Inputs({"a"}).Outputs({"b"}).Node("Identity", {"x"}, {"b"}).Build();
  EXPECT_THAT(LoadStatus(CallModel(function)), FailsWith(Words({"\"x\"", "function t.F"})));
}

// --- B36: recursion, depth, fan-out ------------------------------------------

FunctionBuilder Calling(const std::string& name, const std::string& callee) {
  FunctionBuilder builder = TestFunction(name, 21);
  builder.Inputs({"a"}).Outputs({"b"}).Node(callee, {"a"}, {"b"}, {}, "t");
  return builder;
}

TEST(GraphRecursion, IsRefusedWithTheChain) {
  EXPECT_THAT(LoadStatus(CallModel(Calling("F", "F").Build())),
              FailsWith(Words({"call themselves", "t.F -> t.F"})));
  Model model = CallModel(Calling("F", "G").Build());
  model.functions.push_back(Calling("G", "H").Build());
  model.functions.push_back(Calling("H", "F").Build());
  EXPECT_THAT(LoadStatus(model), FailsWith(Words({"call themselves", "t.F -> t.G -> t.H -> t.F"})));
}

TEST(GraphRecursion, IsFoundThroughBranches) {
  const Graph calls = GraphBuilder().Node("F", {"a"}, {"r"}, {}, "t").Output("r").Build();
  const Graph stops = GraphBuilder().Output("a").Build();
  const Function f = TestFunction("F", 21)
                         .Inputs({"a"})
                         .Outputs({"b"})
                         .Node("OptionalHasElement", {"a"}, {"yes"})
                         .Node("If", {"yes"}, {"b"},
                               {GraphAttr("then_branch", calls), GraphAttr("else_branch", stops)})
                         .Build();
  EXPECT_THAT(LoadStatus(CallModel(f)), FailsWith(Words({"call themselves", "t.F"})));
}

// f_i calls f_{i-1} twice: 2^40 calls when run, 40 bodies to load.
TEST(GraphRecursion, FanOutLoadsInNoTime) {
  Model model = CallModel(Calling("F40", "F39").Build());
  for (int i = 39; i >= 0; --i) {
    FunctionBuilder builder = TestFunction(absl::StrCat("F", i), 21);
    builder.Inputs({"a"}).Outputs({"b"});
    if (i == 0) {
      builder.Node("Identity", {"a"}, {"b"});
    } else {
      builder.Node(absl::StrCat("F", i - 1), {"a"}, {"c"}, {}, "t")
          .Node(absl::StrCat("F", i - 1), {"c"}, {"b"}, {}, "t");
    }
    model.functions.push_back(builder.Build());
  }
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(LoadStatus(model).ok()) << LoadStatus(model);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

// Attributes that differ from call to call cannot make bodies without end.
TEST(GraphRecursion, InstancesAreLimited) {
  Model model = CallModel(CastFunction().Attributes({"dtype"}).Build(), {IntAttr("dtype", 7)});
  model.functions[0].attributes.push_back("salt");
  for (int i = 0; i < 100; ++i) {
    Node call = model.graph.nodes[0];
    call.outputs = {absl::StrCat("y", i)};
    call.attributes.push_back(IntAttr("salt", i));
    model.graph.nodes.push_back(call);
  }
  SessionOptions options;
  options.max_function_instances = 50;
  EXPECT_EQ(LoadStatus(model, options).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(LoadStatus(model).ok()) << LoadStatus(model);
}

Model NestedIfs(int depth) {
  Graph graph = GraphBuilder().Output("x").Build();
  for (int i = 0; i < depth; ++i) {
    const std::string name = absl::StrCat("r", i);
    graph = GraphBuilder()
                .Node("If", {"c"}, {name},
                      {GraphAttr("then_branch", graph),
                       GraphAttr("else_branch", GraphBuilder().Output("x").Build())})
                .Output(name)
                .Build();
  }
  const std::string top = graph.outputs[0].name;
  return TestModel()
      .Input("c", kBool, {})
      .Input("x", kInt64, {})
      .Node(graph.nodes[0])
      .Output(top, kInt64, {})
      .Build();
}

TEST(GraphRecursion, NestingIsLimited) {
  const Feeds feeds = {{"c", BoolScalar(true)}, {"x", Int64Scalar(5)}};
  EXPECT_THAT(RunInts(NestedIfs(40), feeds), ElementsAre(5));
  EXPECT_THAT(RunInts(NestedIfs(100), feeds), ElementsAre(5));
  EXPECT_THAT(LoadStatus(NestedIfs(200)), FailsWith(Words({"deeper than 128"})));
  EXPECT_THAT(LoadStatus(NestedIfs(5000)), FailsWith(Words({"deeper than 128"})));
  SessionOptions options;
  options.max_nesting = 300;
  EXPECT_THAT(RunInts(NestedIfs(200), feeds, options), ElementsAre(5));
}

// A chain of functions, each called first from the main graph, so that depth has to be known of
// bodies that are built already.
TEST(GraphRecursion, DepthOfSharedBodiesCounts) {
  const auto model = [](int count) {
    ModelBuilder builder = TestModel();
    builder.Input("x", kInt64, {});
    for (int i = 0; i < count; ++i) {
      FunctionBuilder function = TestFunction(absl::StrCat("F", i), 21);
      function.Inputs({"a"}).Outputs({"b"});
      if (i == 0) {
        function.Node("Identity", {"a"}, {"b"});
      } else {
        function.Node(absl::StrCat("F", i - 1), {"a"}, {"b"}, {}, "t");
      }
      builder.Function(function.Build());
      builder.Node(absl::StrCat("F", i), {"x"}, {absl::StrCat("y", i)}, {}, "t");
    }
    return builder.Output(absl::StrCat("y", count - 1), kInt64, {}).Build();
  };
  EXPECT_THAT(RunInts(model(100), {{"x", Int64Scalar(5)}}), ElementsAre(5));
  EXPECT_THAT(LoadStatus(model(1000)), FailsWith(Words({"deeper than 128"})));
}

// --- The standard's bodies ---------------------------------------------------

SessionOptions WithBodies(std::initializer_list<std::string> no_native = {}) {
  SessionOptions options;
  options.function_provider = StandardFunctions();
  for (const std::string& name : no_native) options.no_native.insert(name);
  return options;
}

// CastLike's body is context-dependent: a Cast to the type at hand. Here the type is known at load.
TEST(StandardBodies, ContextDependent) {
  const Model model = TestModel(25)
                          .Input("x", kFloat, {"n"})
                          .Input("like", ElementType::kInt64, {"m"})
                          .Node("CastLike", {"x", "like"}, {"y"})
                          .Output("y")
                          .Build();
  const Feeds feeds = {{"x", FloatTensor({2}, {1.5F, -2.5F})}, {"like", Int64Tensor({0}, {})}};
  EXPECT_THAT(RunInts(model, feeds), ElementsAre(1, -2));
  EXPECT_THAT(RunInts(model, feeds, WithBodies({"CastLike"})), ElementsAre(1, -2));
}

// And here only when it runs: one node, two types, one after the other.
TEST(StandardBodies, MadeWhenTypesAreMet) {
  const Model model =
      TestModel(25)
          .Input("c", kBool, {})
          .Input("x", kFloat, {"n"})
          .Node("If", {"c"}, {"like"},
                {GraphAttr("then_branch",
                           GraphBuilder().Initializer("i", Int64Scalar(0)).Output("i").Build()),
                 GraphAttr("else_branch",
                           GraphBuilder().Initializer("b", BoolScalar(false)).Output("b").Build())})
          .Node("CastLike", {"x", "like"}, {"y"})
          .Output("y")
          .Build();
  const auto session = Session::Create(model, GraphTestRegistry(), WithBodies({"CastLike"}));
  ASSERT_TRUE(session.ok()) << session.status();
  const Value x = FloatTensor({2}, {1.5F, 0});
  for (int i = 0; i < 3; ++i) {
    const auto ints = (*session)->Run({{"c", BoolScalar(true)}, {"x", x}});
    ASSERT_TRUE(ints.ok()) << ints.status();
    EXPECT_EQ(ints->front().tensor().type(), kInt64);
    const auto bools = (*session)->Run({{"c", BoolScalar(false)}, {"x", x}});
    ASSERT_TRUE(bools.ok()) << bools.status();
    EXPECT_THAT(IntsOf(bools->front()), ElementsAre(1, 0));
    EXPECT_EQ(bools->front().tensor().type(), kBool);
  }
}

TEST(StandardBodies, AreGivenForEveryOperatorThatHasOne) {
  // Every plain body of the standard can be read. Some came later than their operator (Elu-6 has
  // one from opset 18 on), so ask for the last opset that the operator's version serves.
  const auto provider = StandardFunctions();
  const SchemaTable& table = StandardSchemas();
  int count = 0;
  for (const OpSchema& schema : table.schemas) {
    if (schema.body != SchemaBody::kFunction || schema.deprecated) continue;
    int64_t opset = table.FindDomain(schema.domain)->max_version;
    while (table.Find(schema.domain, schema.op_type, opset) != &schema) --opset;
    Node node;
    node.op_type = std::string(schema.op_type);
    node.domain = std::string(schema.domain);
    for (int i = 0; i < schema.min_inputs; ++i) node.inputs.push_back(absl::StrCat("x", i));
    node.outputs = {"y"};
    const auto body = provider->Body(node, opset, {});
    ASSERT_TRUE(body.ok()) << schema.op_type << " " << opset << " " << body.status();
    ASSERT_NE(*body, nullptr) << schema.op_type << " " << opset;
    EXPECT_FALSE((*body)->nodes.empty()) << schema.op_type;
    EXPECT_FALSE((*body)->opset_imports.empty()) << schema.op_type;
    EXPECT_EQ(*provider->Body(node, opset, {}), *body) << "kept";
    ++count;
  }
  EXPECT_GT(count, 15);
}

TEST(StandardBodies, NoneForOthers) {
  const auto provider = StandardFunctions();
  for (const char* name : {"Add", "NoSuchOperator"}) {
    Node node;
    node.op_type = name;
    const auto body = provider->Body(node, 21, {});
    ASSERT_TRUE(body.ok()) << body.status();
    EXPECT_EQ(*body, nullptr);
  }
}

// --- SequenceMap: the kernel and the standard's body -------------------------

Model MapModel(Graph body, std::vector<std::string> inputs) {
  return TestModel(21)
      .Input("s", Type::OfSequence(TensorType(kInt64)))
      .Input("x", kInt64, {})
      .Node("SequenceMap", std::move(inputs), {"r"}, {GraphAttr("body", std::move(body))})
      .Node("ConcatFromSequence", {"r"}, {"y"}, {IntAttr("axis", 0), IntAttr("new_axis", 1)})
      .Output("y", kInt64, {"n"})
      .Build();
}

TEST(SequenceMapOperator, MapsSequencesAndTensors) {
  const Graph body = GraphBuilder()
                         .Input("a", kInt64, {})
                         .Input("b", kInt64, {})
                         .Node("Add", {"a", "b"}, {"sum"}, {}, "t")
                         .Output("sum", kInt64, {})
                         .Build();
  const Feeds feeds = {{"s", Int64Sequence({1, 2, 3})}, {"x", Int64Scalar(10)}};
  EXPECT_THAT(RunInts(MapModel(body, {"s", "x"}), feeds), ElementsAre(11, 12, 13));
  EXPECT_THAT(RunInts(MapModel(body, {"s", "s"}), feeds), ElementsAre(2, 4, 6));
  // The standard's body imports no domain but its own: none of this test's operators.
  const Graph plain = GraphBuilder()
                          .Input("a", kInt64, {})
                          .Node("Identity", {"a"}, {"same"})
                          .Output("same", kInt64, {})
                          .Build();
  EXPECT_THAT(RunInts(MapModel(plain, {"s"}), feeds, WithBodies({"SequenceMap"})),
              ElementsAre(1, 2, 3));
}

TEST(SequenceMapOperator, ReadsOuterNames) {
  const Graph body = GraphBuilder()
                         .Input("a", kInt64, {})
                         .Node("Add", {"a", "x"}, {"sum"}, {}, "t")
                         .Output("sum", kInt64, {})
                         .Build();
  EXPECT_THAT(
      RunInts(MapModel(body, {"s"}), {{"s", Int64Sequence({1, 2})}, {"x", Int64Scalar(10)}}),
      ElementsAre(11, 12));
}

}  // namespace
}  // namespace onnx_run
