// Memory between runs: with fixed shapes, a run takes nothing new from the allocator.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/unit/counting_allocator.h"
#include "tests/unit/graph_test_util.h"

namespace onnx_run {
namespace {

// Runs until nothing new is taken, which has to be soon, and then on.
void ExpectSteady(const Model& model, const Feeds& feeds) {
  CountingAllocator allocator;
  {
    SessionOptions options;
    options.allocator = &allocator;
    options.threads = 1;
    const auto session = Session::Create(model, GraphTestRegistry(), options);
    ASSERT_TRUE(session.ok()) << session.status();
    for (int run = 0; run < 2; ++run) {
      const auto outputs = (*session)->Run(feeds);
      ASSERT_TRUE(outputs.ok()) << outputs.status();
    }
    const int64_t before = allocator.allocations;
    EXPECT_GT(before, 0);
    for (int run = 0; run < 10; ++run) ASSERT_TRUE((*session)->Run(feeds).ok());
    EXPECT_EQ(allocator.allocations, before);
  }
  EXPECT_EQ(allocator.live, 0) << "bytes not given back";
}

TEST(SessionMemory, CastsOfUnlikeWidths) {
  ModelBuilder builder(25);
  builder.Input("x0", ElementType::kFloat, {1000});
  for (int i = 0; i < 12; ++i) {
    const int types[] = {10, 1, 11, 17, 7, 22};
    builder.Node("Cast", {"x" + std::to_string(i)}, {"x" + std::to_string(i + 1)},
                 {IntAttr("to", types[i % 6])});
  }
  Tensor x = Tensor::Create(ElementType::kFloat, {1000}).value();
  for (int i = 0; i < 1000; ++i) x.mutable_data_as<float>()[i] = static_cast<float>(i % 8);
  ExpectSteady(builder.Output("x12", ElementType::kInt4, {1000}).Output("x3").Build(), {{"x0", x}});
}

// Buffers of texts go back to the pool with what they hold: outputs that somebody still has must
// not be among them, and no text of an earlier run may show.
TEST(SessionMemory, TextsAreUsedAgainOnlyWhenFree) {
  ModelBuilder builder(25);
  builder.Input("x", ElementType::kInt64, {"n"})
      .Node("Cast", {"x"}, {"text"}, {IntAttr("to", 8)})
      .Node("Cast", {"text"}, {"back"}, {IntAttr("to", 7)});
  const auto session =
      Session::Create(builder.Output("text").Output("back").Build(), GraphTestRegistry(), {});
  ASSERT_TRUE(session.ok()) << session.status();
  const auto values = [](int64_t run, int64_t count) {
    std::vector<int64_t> result(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) {
      result[static_cast<size_t>(i)] = (run % 2 == 0 ? 100'000'000'000'000'000 : 1) * (i % 9 + run);
    }
    return result;
  };
  std::vector<std::vector<Value>> kept;
  for (int64_t run = 0; run < 40; ++run) {
    const int64_t count = run % 3 == 0 ? 90 : 100;  // of one size class
    const std::vector<int64_t> x = values(run % 8, count);
    auto outputs =
        (*session)->Run({{"x", Tensor::Of<int64_t>(ElementType::kInt64, {count}, x).value()}});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    if (run % 4 == 0) kept.clear();
    kept.push_back(*std::move(outputs));
    for (size_t i = 0; i < kept.size(); ++i) {
      const int64_t its_run = run - static_cast<int64_t>(kept.size() - 1 - i);
      const std::vector<int64_t> wanted = values(its_run % 8, its_run % 3 == 0 ? 90 : 100);
      const Tensor& texts = kept[i][0].tensor();
      const Tensor& back = kept[i][1].tensor();
      ASSERT_EQ(texts.size(), static_cast<int64_t>(wanted.size()));
      for (size_t k = 0; k < wanted.size(); ++k) {
        ASSERT_EQ(texts.strings()[k], std::to_string(wanted[k]));
        ASSERT_EQ(back.span<int64_t>()[k], wanted[k]);
      }
    }
  }
}

TEST(SessionMemory, LoopsAndScanOutputs) {
  const Graph body = GraphBuilder()
                         .Input("i", ElementType::kInt64, {})
                         .Input("go", ElementType::kBool, {})
                         .Input("s", ElementType::kInt64, {3})
                         .Node("Add", {"s", "x"}, {"sum"}, {}, "t")
                         .Node("Identity", {"sum"}, {"copy"})
                         .Output("go", ElementType::kBool, {})
                         .Output("sum", ElementType::kInt64, {3})
                         .Output("copy", ElementType::kInt64, {3})
                         .Build();
  ModelBuilder builder(25);
  ExpectSteady(builder.Opset("t", 1)
                   .Input("x", ElementType::kInt64, {3})
                   .Input("m", ElementType::kInt64, {})
                   .Node("Loop", {"m", "", "x"}, {"final", "all"}, {GraphAttr("body", body)})
                   .Node("SplitToSequence", {"all"}, {"rows"})
                   .Node("ConcatFromSequence", {"rows"}, {"again"}, {IntAttr("axis", 0)})
                   .Output("final")
                   .Output("again")
                   .Build(),
               {{"x", Int64Tensor({3}, {1, 2, 3})}, {"m", Int64Scalar(100)}});
}

TEST(SessionMemory, AFailedRunGivesEverythingBack) {
  CountingAllocator allocator;
  {
    ModelBuilder builder(21);
    const Model model = builder.Opset("t", 1)
                            .Input("x", ElementType::kFloat, {"n"})
                            .Node("Cast", {"x"}, {"y"}, {IntAttr("to", 11)})
                            .Node("Boom", {"y"}, {"z"}, {}, "t")
                            .Output("z")
                            .Build();
    SessionOptions options;
    options.allocator = &allocator;
    const auto session = Session::Create(model, GraphTestRegistry(), options);
    ASSERT_TRUE(session.ok()) << session.status();
    for (int i = 0; i < 3; ++i) {
      EXPECT_FALSE((*session)->Run({{"x", FloatTensor({2}, {1, 2})}}).ok());
    }
  }
  EXPECT_EQ(allocator.live, 0);
}

// Outputs of the run before make place for those of this one, but for what somebody else holds.
TEST(SessionMemory, OutputsGoBeforeARun) {
  ModelBuilder builder(25);
  builder.Input("x", ElementType::kFloat, {100}).Node("Neg", {"x"}, {"y"}).Output("y");
  const auto session = Session::Create(builder.Build(), GraphTestRegistry());
  ASSERT_TRUE(session.ok()) << session.status();
  Tensor x = Tensor::Create(ElementType::kFloat, {100}).value();
  std::fill_n(x.mutable_data_as<float>(), 100, 1.0F);
  Value inputs[] = {x};
  Value outputs[1];
  const auto run = [&] {
    return (*session)->Run(absl::MakeConstSpan(inputs), absl::MakeSpan(outputs));
  };
  ASSERT_TRUE(run().ok());
  const void* const first = outputs[0].tensor().data();
  ASSERT_TRUE(run().ok());
  EXPECT_EQ(outputs[0].tensor().data(), first);

  const Value held = outputs[0];
  inputs[0] = outputs[0];  // and it may be an input
  ASSERT_TRUE(run().ok());
  EXPECT_NE(outputs[0].tensor().data(), first);
  EXPECT_EQ(outputs[0].tensor().data_as<float>()[99], 1.0F);
  EXPECT_EQ(held.tensor().data_as<float>()[99], -1.0F);
}

// What was there is of any kind, size and owner; results and what others hold stay right.
TEST(SessionMemory, OutputsGoWhateverTheyAre) {
  ModelBuilder builder(25);
  builder.Input("x", ElementType::kFloat, {"n"})
      .Node("Neg", {"x"}, {"y"})
      .Node("Cast", {"x"}, {"text"}, {IntAttr("to", 8)})
      .Node("SequenceConstruct", {"y"}, {"list"})
      .Node("Neg", {"y"}, {"z"});
  const Model model =
      builder.Output("y").Output("text").Output("list").Output("z").Output("y").Output("x").Build();
  CountingAllocator allocator;
  SessionOptions options;
  options.allocator = &allocator;
  auto session = Session::Create(model, GraphTestRegistry(), options);
  ASSERT_TRUE(session.ok()) << session.status();
  std::vector<Value> outputs(6);
  std::vector<Value> held;
  int64_t round = 0;
  const auto run_and_check = [&](int64_t n) {
    Tensor x = Tensor::Create(ElementType::kFloat, {n}).value();
    std::fill_n(x.mutable_data_as<float>(), n, static_cast<float>(++round));
    const Value inputs[] = {x};
    const absl::Status status = (*session)->Run(inputs, absl::MakeSpan(outputs));
    ASSERT_TRUE(status.ok()) << status;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const Tensor& tensor =
          i == 2 ? outputs[i].sequence().elements[0].tensor() : outputs[i].tensor();
      ASSERT_EQ(tensor.dims(), Dims({n})) << i;
      if (i == 1) {
        for (const std::string& text : tensor.strings()) ASSERT_EQ(text, std::to_string(round));
        continue;
      }
      const float wanted = static_cast<float>(i == 3 || i == 5 ? round : -round);
      for (const float value : tensor.span<float>()) ASSERT_EQ(value, wanted) << i;
    }
  };
  for (const int64_t n : {5, 5, 500, 5, 0, 5, 499, 500, 7}) run_and_check(n);
  // Rotated: each meets another's.
  for (int i = 0; i < 12; ++i) {
    std::rotate(outputs.begin(), outputs.begin() + 1, outputs.end());
    run_and_check(100 + i % 2);
  }
  // Of others: memory of no pool, memory somebody looks at, a view, a value twice.
  const float foreign[100] = {};
  auto view = Tensor::View(ElementType::kFloat, {100}, foreign, sizeof(foreign), nullptr);
  ASSERT_TRUE(view.ok());
  outputs[0] = *view;
  outputs[3] = Tensor::Create(ElementType::kFloat, {100}).value();
  held = outputs;
  const Tensor last = outputs[4].tensor();
  const float before = last.data_as<float>()[0];
  outputs[2] = outputs[3];
  run_and_check(100);
  EXPECT_EQ(last.data_as<float>()[0], before);
  EXPECT_EQ(foreign[0], 0);
  for (const Value& value : {held[0], held[3]}) {
    EXPECT_NE(value.tensor().data(), outputs[0].tensor().data());
    EXPECT_NE(value.tensor().data(), outputs[3].tensor().data());
  }
  // The values of a run are given to the next as inputs and as outputs, the same objects.
  std::vector<Value> both = {outputs[0], Value(), Value(), Value(), Value(), Value()};
  ASSERT_TRUE((*session)->Run(absl::MakeConstSpan(both).subspan(0, 1), absl::MakeSpan(both)).ok());
  EXPECT_EQ(both[0].tensor().data_as<float>()[99], -outputs[0].tensor().data_as<float>()[99]);

  // They outlive the session, and take the pool along.
  session->reset();
  EXPECT_EQ(both[3].tensor().data_as<float>()[99], outputs[0].tensor().data_as<float>()[99]);
  outputs.clear();
  both.clear();
  held.clear();
}

// A kernel that throws, as one does where std::vector finds no memory, costs nothing but its run.
TEST(SessionMemory, AKernelThatThrowsLosesNothing) {
  CountingAllocator allocator;
  {
    ModelBuilder builder(21);
    const Graph body = GraphBuilder()
                           .Node("Neg", {"y"}, {"inner"})
                           .Node("Throw", {"inner"}, {"out"}, {}, "t")
                           .Output("out", ElementType::kFloat, {"n"})
                           .Build();
    const Model model = builder.Opset("t", 1)
                            .Input("x", ElementType::kFloat, {"n"})
                            .Input("go", ElementType::kBool, {})
                            .Node("Neg", {"x"}, {"y"})
                            .Node("If", {"go"}, {"z"},
                                  {GraphAttr("then_branch", body), GraphAttr("else_branch", body)})
                            .Output("z")
                            .Build();
    SessionOptions options;
    options.allocator = &allocator;
    const auto session = Session::Create(model, GraphTestRegistry(), options);
    ASSERT_TRUE(session.ok()) << session.status();
    int64_t first = 0;
    for (int i = 0; i < 4; ++i) {
      const auto outputs =
          (*session)->Run({{"x", FloatTensor({2}, {1, 2})}, {"go", BoolScalar(i % 2 == 0)}});
      EXPECT_EQ(outputs.status().code(), absl::StatusCode::kResourceExhausted);
      if (i == 1) first = allocator.allocations;
    }
    EXPECT_EQ(allocator.allocations, first);
  }
  EXPECT_EQ(allocator.live, 0);
}

}  // namespace
}  // namespace onnx_run
