// If, Loop and Scan through sessions: every way their inputs, bodies and outputs may be formed.
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/graph_test_util.h"

namespace onnx_run {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr auto kInt64 = ElementType::kInt64;
constexpr auto kBool = ElementType::kBool;

ModelBuilder TestModel(int64_t opset = 21) {
  ModelBuilder builder(opset);
  builder.Opset("t", 1);
  return builder;
}

// --- If ----------------------------------------------------------------------

Model IfModel(int64_t opset = 21) {
  return TestModel(opset)
      .Input("c", kBool, {})
      .Input("x", kInt64, {"N"})
      .Node("If", {"c"}, {"y"},
            {GraphAttr("then_branch", GraphBuilder()
                                          .Node("Add", {"x", "x"}, {"sum"}, {}, "t")
                                          .Output("sum", kInt64, {"N"})
                                          .Build()),
             GraphAttr("else_branch", GraphBuilder()
                                          .Node("Identity", {"x"}, {"same"})
                                          .Output("same", kInt64, {"N"})
                                          .Build())})
      .Output("y", kInt64, {"N"})
      .Build();
}

TEST(GraphIf, TakesTheBranch) {
  const Tensor x = Int64Tensor({2}, {3, 4});
  EXPECT_THAT(RunInts(IfModel(), {{"c", BoolScalar(true)}, {"x", x}}), ElementsAre(6, 8));
  EXPECT_THAT(RunInts(IfModel(), {{"c", BoolScalar(false)}, {"x", x}}), ElementsAre(3, 4));
}

TEST(GraphIf, EveryVersion) {
  for (int64_t opset : {1, 10, 11, 13, 16, 19, 21, 23, 24, 25}) {
    Model model = IfModel(opset);
    EXPECT_THAT(RunInts(std::move(model), {{"c", BoolScalar(true)}, {"x", Int64Tensor({1}, {5})}}),
                ElementsAre(10))
        << opset;
  }
}

TEST(GraphIf, OnlyTheTakenBranchRuns) {
  const Model model =
      TestModel()
          .Input("c", kBool, {1})  // one element of any rank
          .Node(
              "If", {"c"}, {"y"},
              {GraphAttr(
                   "then_branch",
                   GraphBuilder().Node("Boom", {}, {"b"}, {}, "t").Output("b", kInt64, {}).Build()),
               GraphAttr("else_branch", GraphBuilder()
                                            .Initializer("k", Int64Scalar(7))
                                            .Output("k", kInt64, {})
                                            .Build())})
          .Output("y", kInt64, {})
          .Build();
  const Tensor no = TensorOf<uint8_t>(kBool, {1}, {0});
  const Tensor yes = TensorOf<uint8_t>(kBool, {1}, {1});
  EXPECT_THAT(RunInts(model, {{"c", no}}), ElementsAre(7));
  // The message leads to the node inside the branch.
  EXPECT_THAT(RunModel(model, {{"c", yes}}).status(),
              FailsWith(Words({"Boom", "If", "then_branch", "boom"})));
}

TEST(GraphIf, ConditionMustBeOneElement) {
  Model model = IfModel();
  model.graph.inputs[0].type = TensorType(kBool, {"n"});
  EXPECT_THAT(
      RunModel(model, {{"c", TensorOf<uint8_t>(kBool, {2}, {1, 0})}, {"x", Int64Tensor({1}, {5})}})
          .status(),
      FailsWith(Words({"cond", "[2]"})));
}

TEST(GraphIf, BranchesOfUnlikeCountsAreRefused) {
  Model model = IfModel();
  Graph branch = *model.graph.nodes[0].attributes[1].graphs[0];
  branch.outputs.push_back(branch.outputs[0]);
  model.graph.nodes[0].attributes[1].graphs[0] = std::make_shared<const Graph>(branch);
  EXPECT_THAT(LoadStatus(model), FailsWith(Words({"else_branch", "2 outputs"})));
}

// B35 f: branches of unlike types; the output has the type of the one that is taken.
TEST(GraphIf, BranchesOfUnlikeTypes) {
  const Model model =
      TestModel()
          .Input("c", kBool, {})
          .Node("If", {"c"}, {"y"},
                {GraphAttr("then_branch",
                           GraphBuilder().Initializer("i", Int64Scalar(1)).Output("i").Build()),
                 GraphAttr(
                     "else_branch",
                     GraphBuilder().Initializer("f", FloatTensor({}, {0.5F})).Output("f").Build())})
          .Output("y")
          .Build();
  EXPECT_THAT(RunInts(model, {{"c", BoolScalar(true)}}), ElementsAre(1));
  const auto outputs = RunModel(model, {{"c", BoolScalar(false)}});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_THAT(FloatsOf(outputs->front()), ElementsAre(0.5F));
}

// --- Loop --------------------------------------------------------------------

// sum += x for as long as sum < limit; scan output: the sums before.
Graph SumBody() {
  return GraphBuilder()
      .Input("i", kInt64, {})
      .Input("go_in", kBool, {})
      .Input("sum_in", kInt64, {})
      .Node("Add", {"sum_in", "x"}, {"sum_out"}, {}, "t")
      .Node("Less", {"sum_out", "limit"}, {"go_out"}, {}, "t")
      .Node("Identity", {"sum_in"}, {"before"})
      .Output("go_out", kBool, {})
      .Output("sum_out", kInt64, {})
      .Output("before", kInt64, {})
      .Build();
}

// `m` and `cond` name the inputs, or are "".
Model LoopModel(const std::string& m, const std::string& cond, int64_t opset = 21) {
  ModelBuilder builder = TestModel(opset);
  if (!m.empty()) builder.Input(m, kInt64, {});
  if (!cond.empty()) builder.Input(cond, kBool, {});
  return builder.Input("x", kInt64, {})
      .Input("limit", kInt64, {})
      .Initializer("zero", Int64Scalar(0))
      .Node("Loop", {m, cond, "zero"}, {"sum", "sums"}, {GraphAttr("body", SumBody())})
      .Output("sum", kInt64, {})
      .Output("sums", kInt64, {"n"})
      .Build();
}

struct LoopResult {
  int64_t sum = -1;
  std::vector<int64_t> sums;
};

LoopResult RunLoop(const Model& model, Feeds feeds, int64_t x, int64_t limit) {
  feeds.emplace_back("x", Int64Scalar(x));
  feeds.emplace_back("limit", Int64Scalar(limit));
  const auto outputs = RunModel(model, feeds);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  if (!outputs.ok()) return {};
  EXPECT_EQ(DimsOf((*outputs)[1]).size(), 1U);
  return {IntsOf((*outputs)[0])[0], IntsOf((*outputs)[1])};
}

TEST(GraphLoop, TripCountAndCondition) {
  const Model model = LoopModel("m", "c");
  const Feeds yes = {{"m", Int64Scalar(10)}, {"c", BoolScalar(true)}};
  LoopResult result = RunLoop(model, yes, 2, 5);  // the condition ends it
  EXPECT_EQ(result.sum, 6);
  EXPECT_THAT(result.sums, ElementsAre(0, 2, 4));
  result = RunLoop(model, yes, 2, 1000);  // the trip count ends it
  EXPECT_EQ(result.sum, 20);
  EXPECT_EQ(result.sums.size(), 10U);
}

TEST(GraphLoop, EveryVersion) {
  for (int64_t opset : {1, 11, 13, 16, 19, 21, 23, 24, 25}) {
    const LoopResult result = RunLoop(LoopModel("m", "c", opset),
                                      {{"m", Int64Scalar(2)}, {"c", BoolScalar(true)}}, 3, 99);
    EXPECT_EQ(result.sum, 6) << opset;
  }
}

TEST(GraphLoop, NoIterations) {
  const Model model = LoopModel("m", "c");
  for (const auto& [m, c] : {std::pair<int64_t, bool>{0, true}, {-5, true}, {9, false}}) {
    const LoopResult result = RunLoop(model, {{"m", Int64Scalar(m)}, {"c", BoolScalar(c)}}, 2, 5);
    EXPECT_EQ(result.sum, 0);
    EXPECT_THAT(result.sums, IsEmpty());
  }
}

TEST(GraphLoop, WithoutTripCount) {
  const LoopResult result = RunLoop(LoopModel("", "c"), {{"c", BoolScalar(true)}}, 1, 100);
  EXPECT_EQ(result.sum, 100);
  EXPECT_EQ(result.sums.size(), 100U);
  EXPECT_EQ(result.sums[99], 99);
}

// The standard: without input cond, the condition that the body yields is ignored.
TEST(GraphLoop, WithoutConditionTheBodysIsIgnored) {
  const LoopResult result = RunLoop(LoopModel("m", ""), {{"m", Int64Scalar(7)}}, 2, 5);
  EXPECT_EQ(result.sum, 14);
  EXPECT_EQ(result.sums.size(), 7U);
}

TEST(GraphLoop, NeitherIsRefused) {
  EXPECT_THAT(LoadStatus(LoopModel("", "")), FailsWith(Words({"Loop", "never ends"})));
}

TEST(GraphLoop, ThousandsOfIterations) {
  const LoopResult result = RunLoop(LoopModel("", "c"), {{"c", BoolScalar(true)}}, 1, 100000);
  EXPECT_EQ(result.sum, 100000);
  ASSERT_EQ(result.sums.size(), 100000U);
  for (int64_t i = 0; i < 100000; ++i) ASSERT_EQ(result.sums[i], i);
}

// A loop over `body`, whose inputs are i and go only, with one scan output.
Model ScanOutputModel(Graph body, int64_t opset = 25) {
  return TestModel(opset)
      .Input("m", kInt64, {})
      .Node("Loop", {"m", ""}, {"all"}, {GraphAttr("body", std::move(body))})
      .Output("all")
      .Build();
}

GraphBuilder CountingBody() {
  GraphBuilder body;
  body.Input("i", kInt64, {}).Input("go", kBool, {}).Output("go", kBool, {});
  return body;
}

TEST(GraphLoop, ScanOutputsOfEveryWidth) {
  // Three elements each, so that packed types do not meet the byte's boundary.
  for (int number = 1; number < kElementTypeCount; ++number) {
    const auto type = static_cast<ElementType>(number);
    if (type == ElementType::kString) continue;
    Tensor element = Tensor::Create(type, {3}).value();
    for (int64_t i = 0; i < element.bytes(); ++i) {
      element.mutable_data_as<uint8_t>()[i] =
          static_cast<uint8_t>(type == kBool ? i & 1 : 0x1B + i);
    }
    if (IsSubByte(type)) {
      const int used = 3 * BitsOf(type) % 8;
      element.mutable_data_as<uint8_t>()[element.bytes() - 1] &=
          static_cast<uint8_t>((1 << used) - 1);
    }
    Model model = ScanOutputModel(CountingBody()
                                      .Initializer("k", element)
                                      .Node("Identity", {"k"}, {"out"})
                                      .Output("out", type, {3})
                                      .Build());
    const auto outputs = RunModel(model, {{"m", Int64Scalar(5)}});
    ASSERT_TRUE(outputs.ok()) << TypeName(type) << " " << outputs.status();
    const Tensor& all = outputs->front().tensor();
    ASSERT_EQ(all.type(), type);
    ASSERT_THAT(DimsOf(all), ElementsAre(5, 3));
    const int bits = BitsOf(type);
    const auto bit = [](const Tensor& tensor, int64_t i) {
      return tensor.data_as<uint8_t>()[i / 8] >> (i % 8) & 1;
    };
    for (int64_t i = 0; i < int64_t{5} * 3 * bits; ++i) {
      ASSERT_EQ(bit(all, i), bit(element, i % (3 * bits))) << TypeName(type) << " bit " << i;
    }
    for (int64_t i = int64_t{5} * 3 * bits; i < all.bytes() * 8; ++i) EXPECT_EQ(bit(all, i), 0);
  }
}

TEST(GraphLoop, ScanOutputOfStrings) {
  const auto outputs =
      RunModel(ScanOutputModel(CountingBody()
                                   .Node("Cast", {"i"}, {"text"}, {IntAttr("to", 8)})
                                   .Output("text", ElementType::kString, {})
                                   .Build()),
               {{"m", Int64Scalar(20)}});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  ASSERT_THAT(DimsOf(outputs->front()), ElementsAre(20));
  EXPECT_EQ(outputs->front().tensor().strings()[0], "0");
  EXPECT_EQ(outputs->front().tensor().strings()[19], "19");
}

TEST(GraphLoop, EmptyScanOutputHasTheDeclaredShape) {
  const auto outputs = RunModel(ScanOutputModel(CountingBody()
                                                    .Node("Boom", {}, {"out"}, {}, "t")
                                                    .Output("out", ElementType::kInt4, {3, "n", 2})
                                                    .Build()),
                                {{"m", Int64Scalar(0)}});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ(outputs->front().tensor().type(), ElementType::kInt4);
  EXPECT_THAT(DimsOf(outputs->front()), ElementsAre(0, 3, 0, 2));
}

TEST(GraphLoop, EmptyScanOutputOfUnknownType) {
  EXPECT_THAT(RunModel(ScanOutputModel(
                           CountingBody().Node("Boom", {}, {"out"}, {}, "t").Output("out").Build()),
                       {{"m", Int64Scalar(0)}})
                  .status(),
              FailsWith(Words({"body output 1", "no declared type"})));
}

TEST(GraphLoop, ScanOutputMustKeepItsShape) {
  EXPECT_THAT(
      RunModel(
          ScanOutputModel(
              CountingBody()
                  .Initializer("axis", Int64Tensor({1}, {1}))
                  .Node("If", {"first"}, {"out"},
                        {GraphAttr("then_branch", GraphBuilder().Output("i", kInt64, {}).Build()),
                         GraphAttr("else_branch",
                                   GraphBuilder().Output("axis", kInt64, {1}).Build())})
                  .Initializer("one", Int64Scalar(1))
                  .Node("Less", {"i", "one"}, {"first"}, {}, "t")
                  .Output("out")
                  .Build()),
          {{"m", Int64Scalar(3)}})
          .status(),
      FailsWith(Words({"scan output", "int64[1]", "int64[]"})));
}

// A sequence grows in a loop; the body also reads the outer graph at two levels.
TEST(GraphLoop, CarriesSequences) {
  const Model model =
      TestModel()
          .Input("m", kInt64, {})
          .Input("step", kInt64, {})
          .Node("SequenceEmpty", {}, {"empty"}, {IntAttr("dtype", 7)})
          .Node("Loop", {"m", "", "empty"}, {"grown"},
                {GraphAttr("body", GraphBuilder()
                                       .Input("i", kInt64, {})
                                       .Input("go", kBool, {})
                                       .Input("seq", Type::OfSequence(TensorType(kInt64)))
                                       .Node("Add", {"i", "step"}, {"element"}, {}, "t")
                                       .Node("SequenceInsert", {"seq", "element"}, {"longer"})
                                       .Output("go", kBool, {})
                                       .Output("longer", Type::OfSequence(TensorType(kInt64)))
                                       .Build())})
          .Node("ConcatFromSequence", {"grown"}, {"all"},
                {IntAttr("axis", 0), IntAttr("new_axis", 1)})
          .Output("all", kInt64, {"n"})
          .Build();
  EXPECT_THAT(RunInts(model, {{"m", Int64Scalar(4)}, {"step", Int64Scalar(10)}}),
              ElementsAre(10, 11, 12, 13));
}

// An optional goes in, a sequence comes out, as in official data (test_loop16_seq_none).
TEST(GraphLoop, CarriesOptionals) {
  const Type seq = Type::OfSequence(TensorType(kInt64));
  const Model model =
      TestModel()
          .Input("m", kInt64, {})
          .Input("opt", Type::OfOptional(seq))
          .Node(
              "Loop", {"m", "", "opt"}, {"result"},
              {GraphAttr(
                  "body",
                  GraphBuilder()
                      .Input("i", kInt64, {})
                      .Input("go", kBool, {})
                      .Input("o", Type::OfOptional(seq))
                      .Node("OptionalHasElement", {"o"}, {"has"})
                      .Node(
                          "If", {"has"}, {"s"},
                          {GraphAttr("then_branch", GraphBuilder()
                                                        .Node("OptionalGetElement", {"o"}, {"got"})
                                                        .Output("got", seq)
                                                        .Build()),
                           GraphAttr("else_branch",
                                     GraphBuilder()
                                         .Node("SequenceEmpty", {}, {"none"}, {IntAttr("dtype", 7)})
                                         .Output("none", seq)
                                         .Build())})
                      .Node("SequenceInsert", {"s", "i"}, {"longer"})
                      .Output("go", kBool, {})
                      .Output("longer", seq)
                      .Build())})
          .Node("SequenceLength", {"result"}, {"n"})
          .Output("n", kInt64, {})
          .Build();
  const Value empty(Optional(seq, nullptr));
  const Value full(Optional(seq, std::make_unique<Value>(Int64Sequence({7, 8}))));
  EXPECT_THAT(RunInts(model, {{"m", Int64Scalar(3)}, {"opt", empty}}), ElementsAre(3));
  EXPECT_THAT(RunInts(model, {{"m", Int64Scalar(3)}, {"opt", full}}), ElementsAre(5));
}

TEST(GraphLoop, NestedLoopsReadAllLevels) {
  // total += i + j + x for i < m, j < m
  Graph inner = GraphBuilder()
                    .Input("j", kInt64, {})
                    .Input("go2", kBool, {})
                    .Input("t_in", kInt64, {})
                    .Node("Add", {"t_in", "i"}, {"a"}, {}, "t")
                    .Node("Add", {"a", "j"}, {"b"}, {}, "t")
                    .Node("Add", {"b", "x"}, {"c"}, {}, "t")
                    .Output("go2", kBool, {})
                    .Output("c", kInt64, {})
                    .Build();
  Graph outer = GraphBuilder()
                    .Input("i", kInt64, {})
                    .Input("go", kBool, {})
                    .Input("total_in", kInt64, {})
                    .Node("Loop", {"m", "", "total_in"}, {"total_out"}, {GraphAttr("body", inner)})
                    .Output("go", kBool, {})
                    .Output("total_out", kInt64, {})
                    .Build();
  const Model model = TestModel()
                          .Input("m", kInt64, {})
                          .Input("x", kInt64, {})
                          .Initializer("zero", Int64Scalar(0))
                          .Node("Loop", {"m", "", "zero"}, {"total"}, {GraphAttr("body", outer)})
                          .Output("total", kInt64, {})
                          .Build();
  EXPECT_THAT(RunInts(model, {{"m", Int64Scalar(3)}, {"x", Int64Scalar(100)}}),
              ElementsAre(3 * 3 + 3 * 3 + 900));
}

TEST(GraphLoop, WrongCountsAreRefused) {
  Model model = LoopModel("m", "c");
  model.graph.nodes[0].inputs.pop_back();
  EXPECT_THAT(LoadStatus(model), FailsWith(Words({"body", "3 inputs"})));
  model = LoopModel("m", "c");
  model.graph.nodes[0].outputs.pop_back();
  model.graph.outputs.pop_back();
  EXPECT_THAT(LoadStatus(model), FailsWith(Words({"body", "3 outputs"})));
}

TEST(GraphLoop, ACarriedValueKeepsItsType) {
  Model model = LoopModel("m", "c");
  Graph body = SumBody();
  body.nodes.push_back(body.nodes[2]);
  body.nodes[3] = {"", "", "Cast", "", {"sum_in"}, {"other"}, {IntAttr("to", 1)}};
  body.outputs[1] = {"other", TensorType(ElementType::kFloat)};
  model.graph.nodes[0].attributes[0] = GraphAttr("body", body);
  EXPECT_THAT(LoadStatus(model), FailsWith(Words({"body", "float", "int64"})));
}

// --- Scan --------------------------------------------------------------------

Graph ScanBody(std::vector<Dim> element = {}) {
  return GraphBuilder()
      .Input("s_in", kInt64, element)
      .Input("x_t", kInt64, element)
      .Node("Add", {"s_in", "x_t"}, {"s_out"}, {}, "t")
      .Node("Identity", {"s_out"}, {"y_t"})
      .Output("s_out", kInt64, element)
      .Output("y_t", kInt64, element)
      .Build();
}

Model ScanModel(int64_t opset, std::vector<Attribute> attributes, std::vector<Dim> state,
                std::vector<Dim> x, std::vector<std::string> inputs = {"s", "x"}) {
  attributes.push_back(IntAttr("num_scan_inputs", 1));
  attributes.push_back(GraphAttr("body", ScanBody()));
  return TestModel(opset)
      .Input("s", kInt64, state)
      .Input("x", kInt64, x)
      .Node("Scan", std::move(inputs), {"final", "all"}, std::move(attributes))
      .Output("final", TensorType(kInt64))
      .Output("all", TensorType(kInt64))
      .Build();
}

TEST(GraphScan, EveryVersion) {
  for (int64_t opset : {9, 11, 16, 19, 21, 23, 24, 25}) {
    const auto outputs = RunModel(ScanModel(opset, {}, {}, {4}),
                                  {{"s", Int64Scalar(1)}, {"x", Int64Tensor({4}, {1, 2, 3, 4})}});
    ASSERT_TRUE(outputs.ok()) << opset << " " << outputs.status();
    EXPECT_THAT(IntsOf((*outputs)[0]), ElementsAre(11));
    EXPECT_THAT(IntsOf((*outputs)[1]), ElementsAre(2, 4, 7, 11));
  }
}

TEST(GraphScan, Directions) {
  const Feeds feeds = {{"s", Int64Scalar(0)}, {"x", Int64Tensor({3}, {1, 20, 300})}};
  auto outputs = RunModel(ScanModel(21, {IntsAttr("scan_input_directions", {1})}, {}, {3}), feeds);
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_THAT(IntsOf((*outputs)[1]), ElementsAre(300, 320, 321));
  outputs = RunModel(ScanModel(21, {IntsAttr("scan_output_directions", {1})}, {}, {3}), feeds);
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_THAT(IntsOf((*outputs)[1]), ElementsAre(321, 21, 1));
}

TEST(GraphScan, Axes) {
  // x [2,3] scanned along its columns, the results put together along the last axis.
  for (int64_t axis : {1, -1}) {
    Model model =
        ScanModel(21, {IntsAttr("scan_input_axes", {axis}), IntsAttr("scan_output_axes", {axis})},
                  {2}, {2, 3});
    const auto outputs = RunModel(model, {{"s", Int64Tensor({2}, {0, 0})},
                                          {"x", Int64Tensor({2, 3}, {1, 2, 3, 10, 20, 30})}});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    EXPECT_THAT(IntsOf((*outputs)[0]), ElementsAre(6, 60));
    EXPECT_THAT(DimsOf((*outputs)[1]), ElementsAre(2, 3));
    EXPECT_THAT(IntsOf((*outputs)[1]), ElementsAre(1, 3, 6, 10, 30, 60));
  }
}

TEST(GraphScan, LargeElementsAreLookedAtInPlace) {
  Tensor x = Tensor::Create(kInt64, {3, 4096}).value();
  for (int64_t i = 0; i < x.size(); ++i) x.mutable_data_as<int64_t>()[i] = i;
  Tensor zero = Tensor::Create(kInt64, {4096}).value();
  std::memset(zero.mutable_data(), 0, zero.bytes());
  const auto outputs = RunModel(ScanModel(21, {}, {4096}, {3, 4096}), {{"s", zero}, {"x", x}});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  for (int64_t i = 0; i < 4096; ++i) {
    ASSERT_EQ((*outputs)[0].tensor().data_as<int64_t>()[i], 3 * i + 3 * 4096);
  }
  EXPECT_EQ(x.data_as<int64_t>()[5], 5);  // and not written to
}

// Three elements of four bits: every other slice begins in the middle of a byte.
TEST(GraphScan, PackedElements) {
  const auto type = ElementType::kUint4;
  const Model model =
      TestModel(25)
          .Input("x", type, {3, 3})
          .Node("Scan", {"x"}, {"y", "z"},
                {IntAttr("num_scan_inputs", 1), IntsAttr("scan_output_axes", {0, 1}),
                 GraphAttr("body", GraphBuilder()
                                       .Input("r", type, {3})
                                       .Node("Identity", {"r"}, {"s"})
                                       .Node("Identity", {"r"}, {"t"})
                                       .Output("s", type, {3})
                                       .Output("t", type, {3})
                                       .Build())})
          .Output("y", type, {3, 3})
          .Output("z", type, {3, 3})
          .Build();
  const auto outputs =
      RunModel(model, {{"x", TensorOf<uint8_t>(type, {3, 3}, {0x21, 0x43, 0x65, 0x87, 0x09})}});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_THAT((*outputs)[0].tensor().span<uint8_t>().subspan(0, 5),
              ElementsAre(0x21, 0x43, 0x65, 0x87, 0x09));
  EXPECT_THAT((*outputs)[1].tensor().span<uint8_t>().subspan(0, 5),
              ElementsAre(0x41, 0x27, 0x85, 0x63, 0x09));
}

TEST(GraphScan, NothingToScan) {
  Model model = ScanModel(21, {IntsAttr("scan_output_axes", {1})}, {}, {"n"});
  Graph body = ScanBody();
  body.outputs[1].type = TensorType(kInt64, {2, 3});
  model.graph.nodes[0].attributes.back() = GraphAttr("body", body);
  const auto outputs = RunModel(model, {{"s", Int64Scalar(5)}, {"x", Int64Tensor({0}, {})}});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_THAT(IntsOf((*outputs)[0]), ElementsAre(5));
  EXPECT_THAT(DimsOf((*outputs)[1]), ElementsAre(2, 0, 3));
}

TEST(GraphScan, BadModelsAreRefused) {
  const auto load = [](std::vector<Attribute> attributes) {
    return LoadStatus(ScanModel(21, std::move(attributes), {}, {3}));
  };
  EXPECT_THAT(load({IntsAttr("scan_input_axes", {0, 0})}), FailsWith(Words({"scan_input_axes"})));
  EXPECT_THAT(load({IntsAttr("scan_output_directions", {2})}),
              FailsWith(Words({"scan_output_directions", "2"})));
  Model model = ScanModel(21, {}, {}, {3});
  model.graph.nodes[0].attributes[0].i = 3;
  EXPECT_THAT(LoadStatus(model), FailsWith(Words({"num_scan_inputs", "3"})));
  EXPECT_THAT(RunModel(ScanModel(21, {IntsAttr("scan_input_axes", {1})}, {}, {3}),
                       {{"s", Int64Scalar(0)}, {"x", Int64Tensor({3}, {1, 2, 3})}})
                  .status(),
              FailsWith(Words({"axis"})));
}

TEST(GraphScan, UnlikeLengths) {
  Graph body = GraphBuilder()
                   .Input("a", kInt64, {})
                   .Input("b", kInt64, {})
                   .Node("Add", {"a", "b"}, {"c"}, {}, "t")
                   .Output("c", kInt64, {})
                   .Build();
  const Model model =
      TestModel()
          .Input("x", TensorType(kInt64))
          .Input("y", TensorType(kInt64))
          .Node("Scan", {"x", "y"}, {"z"}, {IntAttr("num_scan_inputs", 2), GraphAttr("body", body)})
          .Output("z", TensorType(kInt64))
          .Build();
  EXPECT_THAT(RunInts(model, {{"x", Int64Tensor({2}, {1, 2})}, {"y", Int64Tensor({2}, {10, 20})}}),
              ElementsAre(11, 22));
  EXPECT_THAT(
      RunModel(model, {{"x", Int64Tensor({2}, {1, 2})}, {"y", Int64Tensor({1}, {1})}}).status(),
      FailsWith(Words({"scan input 1", "1", "2"})));
}

// Scan-8: batches, and sequences of unlike lengths; what lies past their ends is zero.
TEST(GraphScan, Version8) {
  Model model = ScanModel(8, {}, {2}, {2, 3}, {"", "s", "x"});
  const Feeds feeds = {{"s", Int64Tensor({2}, {0, 100})},
                       {"x", Int64Tensor({2, 3}, {1, 2, 3, 4, 5, 6})}};
  auto outputs = RunModel(model, feeds);
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_THAT(IntsOf((*outputs)[0]), ElementsAre(6, 115));
  EXPECT_THAT(DimsOf((*outputs)[1]), ElementsAre(2, 3));
  EXPECT_THAT(IntsOf((*outputs)[1]), ElementsAre(1, 3, 6, 104, 109, 115));

  model.graph.nodes[0].inputs[0] = "lens";
  model.graph.nodes[0].attributes.push_back(IntsAttr("directions", {1}));
  model.graph.initializers.push_back({"lens", Int64Tensor({2}, {2, 0})});
  outputs = RunModel(model, feeds);
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_THAT(IntsOf((*outputs)[0]), ElementsAre(3, 100));
  EXPECT_THAT(IntsOf((*outputs)[1]), ElementsAre(2, 3, 0, 0, 0, 0));

  model.graph.initializers[0].value = Int64Tensor({2}, {2, 4});
  EXPECT_THAT(RunModel(model, feeds).status(), FailsWith(Words({"sequence_lens", "4"})));
}

}  // namespace
}  // namespace onnx_run
