// tools/worker_pool.h: crashes and hangs cost one item.
#include "tools/worker_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"

namespace onnx_run::tools {
namespace {

TEST(WorkerPool, AnswersEveryItem) {
  std::map<int64_t, std::string> answers;
  const absl::Status status = RunInWorkers(
      500, {.jobs = 3},
      [](int64_t item) { return std::string(static_cast<size_t>(item * 300), 'x'); },
      [&](int64_t item, const WorkerResult& result) { answers[item] = result.answer; });
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_EQ(answers.size(), 500);
  for (const auto& [item, answer] : answers)
    EXPECT_EQ(answer.size(), static_cast<size_t>(item * 300));
}

TEST(WorkerPool, SurvivesCrashesAndHangs) {
  std::map<int64_t, WorkerResult> results;
  const absl::Status status = RunInWorkers(
      12, {.jobs = 2, .timeout_seconds = 0.3},
      [](int64_t item) {
        if (item == 2) ::kill(::getpid(), SIGKILL);
        if (item == 5) std::_Exit(7);
        if (item == 8) ::pause();
        return absl::StrCat(item);
      },
      [&](int64_t item, const WorkerResult& result) { results[item] = result; });
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_EQ(results.size(), 12);
  for (const auto& [item, result] : results) {
    switch (item) {
      case 2:
        EXPECT_EQ(result.end, WorkerResult::End::kCrashed);
        EXPECT_THAT(result.detail, testing::HasSubstr("signal 9"));
        break;
      case 5:
        EXPECT_EQ(result.end, WorkerResult::End::kCrashed);
        EXPECT_EQ(result.detail, "exit code 7");
        break;
      case 8: EXPECT_EQ(result.end, WorkerResult::End::kTimedOut); break;
      default: EXPECT_EQ(result.answer, absl::StrCat(item));
    }
  }
}

TEST(WorkerPool, NothingToDo) {
  EXPECT_TRUE(RunInWorkers(
                  0, {}, [](int64_t) { return ""; }, [](int64_t, const WorkerResult&) {})
                  .ok());
}

}  // namespace
}  // namespace onnx_run::tools
