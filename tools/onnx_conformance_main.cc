// The program onnx-conformance: runs official test directories and reports on them.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "ops/all_ops.h"
#include "runtime/status_macros.h"
#include "tools/args.h"
#include "tools/conformance.h"
#include "tools/engine.h"
#include "tools/exit_code.h"
#include "tools/files.h"
#include "tools/report.h"
#include "tools/summary.h"
#include "tools/worker_pool.h"

namespace onnx_run::tools {
namespace {

constexpr const char* kProgram = "onnx-conformance";

ArgParser MakeParser() {
  ArgParser parser(
      kProgram, "PATH... [flags]",
      "Runs official ONNX tests. PATH is a test directory (model.onnx and test_data_set_*), a\n"
      "model with MODEL_output_0.pb beside it, or any folder above such.");
  parser.Value("filter", "REGEX",
               "only tests with a part of their name like this (suite/test_name)");
  parser.Value("jobs", "N", "worker processes (default: one for each core)", 'j');
  parser.Value("junit", "FILE", "write a JUnit report");
  parser.Value("json", "FILE", "write a JSON report");
  parser.Value("markdown", "FILE", "write a report with a table by operator");
  parser.Value("expected", "FILE",
               "tests listed there count as skipped when they fail, and as failed\n"
               "when they pass");
  parser.Switch("update-expected", "write the file of --expected anew");
  parser.Value("rtol", "X", "relative tolerance (default 1e-3; a test's data.json overrides it)");
  parser.Value("atol", "X", "absolute tolerance (default 1e-7)");
  parser.Switch("exact", "compare bits (all NaNs are equal)");
  parser.Value("no-native", "OP",
               "use the standard's function body instead of the kernel (repeatable);\n"
               "all: of every operator that has one");
  parser.Value("timeout", "S", "seconds for one test (default 60)");
  parser.Switch("verbose", "one line for each test", 'v');
  parser.Switch("quiet", "only failures and the closing line", 'q');
  parser.Switch("version", "print versions of this program and of the standard");
  parser.Epilog(
      "A failure's cause is one of: unimplemented operator, unsupported type, load, run, differs, "
      "crash,\n"
      "timeout, unexpected pass. The exit code is 0 when nothing failed, 1 when a test failed, 2 "
      "for a\n"
      "usage error, 3 when there is nothing to run.");
  return parser;
}

class Conformance {
 public:
  explicit Conformance(const Args& args) : args_(args) {}

  int Run() {
    const absl::Status read = ReadArgs();
    if (!read.ok()) {
      PrintError(kProgram, read.message());
      return kExitUsage;
    }
    absl::Status status = FindTests();
    if (status.ok()) status = RunTests();
    if (status.ok()) status = Report();
    if (!status.ok()) {
      PrintError(kProgram, status.message());
      return ExitCodeOf(status);
    }
    return CountReports(reports_).failed == 0 ? kExitOk : kExitMismatch;
  }

 private:
  absl::Status ReadArgs() {
    if (args_.positional().empty()) return absl::InvalidArgumentError("which tests? give a folder");
    if (args_.Has("filter")) {
      try {
        filter_ = std::regex(args_.Get("filter"), std::regex::ECMAScript | std::regex::optimize);
      } catch (const std::regex_error&) {
        return absl::InvalidArgumentError(
            absl::StrCat("--filter ", args_.Get("filter"), " is not a regular expression"));
      }
    }
    const auto cores = static_cast<int64_t>(std::max(1U, std::thread::hardware_concurrency()));
    ASSIGN_OR_RETURN(const int64_t jobs, args_.Int("jobs", cores, 1, 1024));
    pool_.jobs = static_cast<int>(jobs);
    ASSIGN_OR_RETURN(pool_.timeout_seconds, args_.Double("timeout", 60));
    ASSIGN_OR_RETURN(options_.compare.rtol, args_.Double("rtol", options_.compare.rtol));
    ASSIGN_OR_RETURN(options_.compare.atol, args_.Double("atol", options_.compare.atol));
    options_.compare.exact = args_.Has("exact");
    options_.session = DefaultSessionOptions();
    options_.session.threads = 1;
    for (const std::string& op : args_.All("no-native", true)) {
      if (op != "all") {
        options_.session.no_native.insert(op);
        continue;
      }
      for (const OpSchema& schema : StandardSchemas().schemas) {
        if (schema.body == SchemaBody::kNone) continue;
        options_.session.no_native.insert(std::string(schema.op_type));
      }
    }
    if (args_.Has("update-expected") && !args_.Has("expected")) {
      return absl::InvalidArgumentError("--update-expected goes with --expected FILE");
    }
    if (args_.Has("expected") &&
        !(args_.Has("update-expected") && !FileExists(args_.Get("expected")))) {
      ASSIGN_OR_RETURN(const std::string text, ReadFile(args_.Get("expected")));
      absl::StatusOr<ExpectedFailures> expected = ExpectedFailures::Parse(text);
      RETURN_IF_ERROR(Annotate(expected.status(), args_.Get("expected")));
      expected_ = *std::move(expected);
    }
    return absl::OkStatus();
  }

  absl::Status FindTests() {
    std::set<std::string> seen;
    for (const std::string& path : args_.positional()) {
      ASSIGN_OR_RETURN(std::vector<ConformanceTest> found, FindConformanceTests(path));
      for (ConformanceTest& test : found) {
        if (filter_.has_value() && !std::regex_search(test.name, *filter_)) continue;
        // Paths may overlap.
        if (seen.insert(test.model).second) tests_.push_back(std::move(test));
      }
    }
    if (tests_.empty()) return absl::NotFoundError("no tests found");
    return absl::OkStatus();
  }

  absl::Status RunTests() {
    reports_.resize(tests_.size());
    const bool progress = !args_.Has("quiet") && ::isatty(STDERR_FILENO) == 1;
    StandardRegistry();  // made once, before the workers are forked
    int64_t done = 0;
    int64_t failed = 0;
    const absl::Status status = RunInWorkers(
        static_cast<int64_t>(tests_.size()), pool_,
        [&](int64_t item) {
          return RunConformanceTest(tests_[static_cast<size_t>(item)], options_).Serialize();
        },
        [&](int64_t item, const WorkerResult& result) {
          TestReport& report = reports_[static_cast<size_t>(item)];
          switch (result.end) {
            case WorkerResult::End::kAnswered: report = TestReport::Parse(result.answer); break;
            case WorkerResult::End::kCrashed:
              report.cause = Cause::kCrash;
              report.message = result.detail;
              break;
            case WorkerResult::End::kTimedOut:
              report.cause = Cause::kTimeout;
              report.message = result.detail;
              break;
          }
          report.seconds = result.seconds;
          ++done;
          failed += report.passed() ? 0 : 1;
          if (progress) {
            std::fprintf(stderr, "\r\033[K[%ld/%zu] %ld not passed  %s", static_cast<long>(done),
                         tests_.size(), static_cast<long>(failed),
                         tests_[static_cast<size_t>(item)].name.c_str());
          }
        });
    if (progress) std::fputs("\r\033[K", stderr);
    RETURN_IF_ERROR(status);
    NameExpandedTests();
    ApplyExpected(expected_, tests_, reports_);
    return absl::OkStatus();
  }

  // `test_X_expanded` is about the operator of `test_X`.
  void NameExpandedTests() {
    std::map<std::string, std::string> operators;
    for (size_t i = 0; i < tests_.size(); ++i) operators[tests_[i].name] = reports_[i].op;
    for (size_t i = 0; i < tests_.size(); ++i) {
      const size_t at = tests_[i].name.rfind("_expanded");
      if (at == std::string::npos) continue;
      const auto base = operators.find(tests_[i].name.substr(0, at));
      if (base != operators.end()) reports_[i].op = base->second;
    }
  }

  absl::Status Report() {
    for (size_t i = 0; i < tests_.size(); ++i) {
      const TestReport& report = reports_[i];
      if (args_.Has("verbose") && (report.passed() || report.skipped)) {
        Print(absl::StrFormat("%s %s (%.0f ms)\n", report.passed() ? "pass" : "skip",
                              tests_[i].name, report.seconds * 1e3));
      }
      if (report.passed() || report.skipped) continue;
      Print(absl::StrCat("FAIL ", tests_[i].name, "  ", CauseName(report.cause), ": ",
                         report.message, "\n"));
    }
    if (!args_.Has("quiet")) Print(absl::StrCat("\n", ConformanceSummary(reports_)));
    if (args_.Has("update-expected")) {
      RETURN_IF_ERROR(WriteFileAtomically(args_.Get("expected"),
                                          UpdateExpected(expected_, tests_, reports_).Serialize()));
    }
    if (args_.Has("junit")) {
      RETURN_IF_ERROR(WriteFileAtomically(args_.Get("junit"), ConformanceJUnit(tests_, reports_)));
    }
    if (args_.Has("json")) {
      RETURN_IF_ERROR(WriteFileAtomically(args_.Get("json"), ConformanceJson(tests_, reports_)));
    }
    if (args_.Has("markdown")) {
      RETURN_IF_ERROR(
          WriteFileAtomically(args_.Get("markdown"), ConformanceMarkdown(tests_, reports_)));
    }
    Print(absl::StrCat(CountsText(CountReports(reports_)), "\n"));
    return absl::OkStatus();
  }

  const Args& args_;
  std::optional<std::regex> filter_;
  WorkerPoolOptions pool_;
  ConformanceOptions options_;
  ExpectedFailures expected_;
  std::vector<ConformanceTest> tests_;
  std::vector<TestReport> reports_;
};

int Main(int argc, char** argv) {
  const ArgParser parser = MakeParser();
  int exit_code = kExitOk;
  const std::optional<Args> args = parser.ParseOrExit(argc, argv, &exit_code);
  if (!args.has_value()) return exit_code;
  if (args->Has("version")) {
    Print(VersionText(kProgram, StandardRegistry()));
    return kExitOk;
  }
  return Conformance(*args).Run();
}

}  // namespace
}  // namespace onnx_run::tools

int main(int argc, char** argv) { return onnx_run::tools::Main(argc, argv); }
