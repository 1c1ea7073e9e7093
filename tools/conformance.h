// Official test directories: found, run, judged against a list of expected failures, and reported.
#ifndef ONNX_RUN_TOOLS_CONFORMANCE_H_
#define ONNX_RUN_TOOLS_CONFORMANCE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/session.h"
#include "tools/compare.h"

namespace onnx_run::tools {

struct ConformanceTest {
  std::string name;       // "node/test_cast_FLOAT_to_INT4": its folder's and its own
  std::string directory;  // with model.onnx and test_data_set_*; "" of a light test
  std::string model;
  std::string light_prefix;  // of a light test: outputs are PREFIX_output_0.pb, ...
};

// All tests in or below `path`, sorted by name: folders with model.onnx and test_data_set_*, and
// models with MODEL_output_0.pb beside them (the layout of `light`).
absl::StatusOr<std::vector<ConformanceTest>> FindConformanceTests(const std::string& path);

// Why a test failed. Wrong results and what is not there are told apart.
enum class Cause : uint8_t {
  kNone,
  kUnimplementedOperator,
  kUnsupportedType,
  kLoad,
  kRun,
  kDiffers,
  kCrash,
  kTimeout,
  kUnexpectedPass,  // listed as failing
};
inline constexpr int kCauseCount = 9;
absl::string_view CauseName(Cause cause);

struct TestReport {
  Cause cause = Cause::kNone;        // kNone: passed
  std::string message;               // one line
  std::string op;                    // the operator that the test is about
  std::vector<std::string> missing;  // operators without a kernel or body
  double seconds = 0;
  bool skipped = false;  // failed as expected

  bool passed() const { return cause == Cause::kNone; }
  // To and from the pipe of a worker.
  std::string Serialize() const;
  static TestReport Parse(absl::string_view text);
};

struct ConformanceOptions {
  CompareOptions compare;
  SessionOptions session;
};
TestReport RunConformanceTest(const ConformanceTest& test, const ConformanceOptions& options);

// The list of tests that are known to fail: lines of "NAME REASON", sorted; # begins a comment.
struct ExpectedFailures {
  std::map<std::string, std::string> reasons;
  static absl::StatusOr<ExpectedFailures> Parse(absl::string_view text);
  std::string Serialize() const;
};
// Marks failures that are listed as skipped, and passes that are listed as failures.
void ApplyExpected(const ExpectedFailures& expected, const std::vector<ConformanceTest>& tests,
                   std::vector<TestReport>& reports);
// The list that makes these reports right: passes leave, failures come in; other entries stay.
ExpectedFailures UpdateExpected(ExpectedFailures expected,
                                const std::vector<ConformanceTest>& tests,
                                const std::vector<TestReport>& reports);

struct ConformanceCounts {
  int64_t passed = 0, failed = 0, skipped = 0;
};
ConformanceCounts CountReports(const std::vector<TestReport>& reports);
// "12 passed, 3 failed, 4 skipped"
std::string CountsText(const ConformanceCounts& counts);

// By cause, by missing operator, by operator with failures.
std::string ConformanceSummary(const std::vector<TestReport>& reports);
std::string ConformanceJUnit(const std::vector<ConformanceTest>& tests,
                             const std::vector<TestReport>& reports);
std::string ConformanceJson(const std::vector<ConformanceTest>& tests,
                            const std::vector<TestReport>& reports);
std::string ConformanceMarkdown(const std::vector<ConformanceTest>& tests,
                                const std::vector<TestReport>& reports);

}  // namespace onnx_run::tools

#endif  // ONNX_RUN_TOOLS_CONFORMANCE_H_
