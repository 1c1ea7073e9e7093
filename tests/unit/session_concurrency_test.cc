// B54: one session, many threads, each with shapes of its own. Run under ThreadSanitizer by ./dev
// sanitize.
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "proto/standard/function_bodies.h"
#include "tests/unit/graph_test_util.h"

namespace onnx_run {
namespace {

constexpr int kThreads = 16;
constexpr int kRuns = 50;

// A loop that adds x to itself `m` times and collects the sums, a branch, a sequence, a cast to and
// fro, and a function body made only when its types are met.
Model BusyModel() {
  const Graph body = GraphBuilder()
                         .Input("i", ElementType::kInt64, {})
                         .Input("go", ElementType::kBool, {})
                         .Input("s", ElementType::kInt64, {"n"})
                         .Node("Add", {"s", "x"}, {"sum"}, {}, "t")
                         .Node("Identity", {"sum"}, {"copy"})
                         .Output("go", ElementType::kBool, {})
                         .Output("sum", ElementType::kInt64, {"n"})
                         .Output("copy", ElementType::kInt64, {"n"})
                         .Build();
  const auto branch = [](const char* name) { return GraphBuilder().Output(name).Build(); };
  ModelBuilder builder(25);
  return builder.Opset("t", 1)
      .Input("x", ElementType::kInt64, {"n"})
      .Input("m", ElementType::kInt64, {})
      .Input("c", ElementType::kBool, {})
      .Node("Loop", {"m", "", "x"}, {"final", "all"}, {GraphAttr("body", body)})
      .Node("Cast", {"final"}, {"f"}, {IntAttr("to", 11)})
      .Node("If", {"c"}, {"like"},
            {GraphAttr("then_branch", branch("x")), GraphAttr("else_branch", branch("f"))})
      .Node("CastLike", {"f", "like"}, {"back"})
      .Node("Cast", {"back"}, {"y"}, {IntAttr("to", 7)})
      .Node("SequenceConstruct", {"y", "final"}, {"seq"})
      .Node("ConcatFromSequence", {"seq"}, {"both"}, {IntAttr("axis", 0)})
      .Output("both", ElementType::kInt64, {"k"})
      .Output("all", ElementType::kInt64, {"m", "n"})
      .Build();
}

// What thread `t` asks for, and whether it got it.
bool RunOnce(const Session& session, int t, int run) {
  const int64_t n = 1 + (t * 7 + run) % 23;
  const int64_t m = run % 5;
  Tensor x = Tensor::Create(ElementType::kInt64, {n}).value();
  for (int64_t i = 0; i < n; ++i) x.mutable_data_as<int64_t>()[i] = t * 1000 + i;
  const auto outputs =
      session.Run({{"x", x}, {"m", Int64Scalar(m)}, {"c", BoolScalar((t + run) % 2 == 0)}});
  if (!outputs.ok()) return false;
  const Tensor& both = (*outputs)[0].tensor();
  const Tensor& all = (*outputs)[1].tensor();
  if (both.size() != 2 * n || all.size() != m * n) return false;
  for (int64_t i = 0; i < 2 * n; ++i) {
    if (both.data_as<int64_t>()[i] != (m + 1) * (t * 1000 + i % n)) return false;
  }
  for (int64_t i = 0; i < m * n; ++i) {
    if (all.data_as<int64_t>()[i] != (i / n + 2) * (t * 1000 + i % n)) return false;
  }
  return true;
}

TEST(SessionConcurrency, ResultsNeverMix) {
  SessionOptions options;
  options.function_provider = StandardFunctions();
  options.no_native.insert("CastLike");
  const auto session = Session::Create(BusyModel(), GraphTestRegistry(), options);
  ASSERT_TRUE(session.ok()) << session.status();
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int run = 0; run < kRuns; ++run) wrong += RunOnce(**session, t, run) ? 0 : 1;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(SessionConcurrency, LoadedHereRunThereDestroyedElsewhere) {
  std::unique_ptr<const Session> session;
  std::thread([&] {
    auto made = Session::Create(BusyModel(), GraphTestRegistry());
    if (made.ok()) session = *std::move(made);
  }).join();
  ASSERT_NE(session, nullptr);
  bool right = false;
  std::thread([&] { right = RunOnce(*session, 3, 4); }).join();
  EXPECT_TRUE(right);
  std::thread([&] { session.reset(); }).join();
}

// Outputs outlive the session that made them.
TEST(SessionConcurrency, OutputsOutliveTheSession) {
  std::vector<Value> outputs;
  {
    const auto session = Session::Create(BusyModel(), GraphTestRegistry());
    ASSERT_TRUE(session.ok()) << session.status();
    auto result = (*session)->Run(
        {{"x", Int64Tensor({1}, {5})}, {"m", Int64Scalar(1)}, {"c", BoolScalar(true)}});
    ASSERT_TRUE(result.ok()) << result.status();
    outputs = *std::move(result);
  }
  EXPECT_EQ(IntsOf(outputs[0]), (std::vector<int64_t>{10, 10}));
}

TEST(SessionConcurrency, TwoSessionsOfOneModelShareNothing) {
  const Model model = BusyModel();
  const auto a = Session::Create(model, GraphTestRegistry());
  const auto b = Session::Create(model, GraphTestRegistry());
  ASSERT_TRUE(a.ok() && b.ok());
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const Session& session = t % 2 == 0 ? **a : **b;
      for (int run = 0; run < kRuns; ++run) wrong += RunOnce(session, t, run) ? 0 : 1;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace onnx_run
