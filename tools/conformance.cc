#include "tools/conformance.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "proto/load.h"
#include "runtime/status_macros.h"
#include "tools/engine.h"
#include "tools/files.h"
#include "tools/test_case.h"

namespace onnx_run::tools {
namespace {

constexpr char kFieldSeparator = '\x1f';
constexpr int kMaxFolderDepth = 16;

// Folders hold either one test or more folders.
absl::Status Find(const std::string& path, int depth, std::vector<ConformanceTest>& tests) {
  if (depth > kMaxFolderDepth) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(path));
  const std::set<std::string> present(names.begin(), names.end());
  const bool has_data = std::any_of(names.begin(), names.end(), [](const std::string& name) {
    return absl::StartsWith(name, "test_data_set_");
  });
  if (present.contains("model.onnx") && has_data) {
    char* resolved = ::realpath(path.c_str(), nullptr);
    const std::string real = resolved != nullptr ? resolved : path;
    std::free(resolved);
    tests.push_back({.name = absl::StrCat(BaseName(DirName(real)), "/", BaseName(real)),
                     .directory = path,
                     .model = JoinPath(path, "model.onnx"),
                     .light_prefix = ""});
    return absl::OkStatus();
  }
  for (const std::string& name : names) {
    const std::string child = JoinPath(path, name);
    if (absl::EndsWith(name, ".onnx")) {
      const std::string stem = name.substr(0, name.size() - 5);
      if (!present.contains(stem + "_output_0.pb")) continue;
      tests.push_back({.name = absl::StrCat(BaseName(path), "/", stem),
                       .directory = "",
                       .model = child,
                       .light_prefix = JoinPath(path, stem)});
    } else if (IsDirectory(child)) {
      RETURN_IF_ERROR(Find(child, depth + 1, tests));
    }
  }
  return absl::OkStatus();
}

// The only operator; of more, the first that is not a constant.
std::string OperatorUnderTest(const Model& model) {
  const auto name = [](const Node& node) {
    return node.domain.empty() ? node.op_type : absl::StrCat(node.domain, ".", node.op_type);
  };
  for (const Node& node : model.graph.nodes) {
    if (model.graph.nodes.size() == 1 || (node.op_type != "Constant" && node.op_type != "Identity"))
      return name(node);
  }
  return model.graph.nodes.empty() ? "(none)" : name(model.graph.nodes[0]);
}

TestReport Failed(TestReport report, Cause cause, absl::string_view message) {
  report.cause = cause;
  report.message = absl::StrJoin(absl::StrSplit(message, '\n', absl::SkipWhitespace()), " ");
  return report;
}

// Operators that a session's message lists as not supported: those of function bodies are known no
// other way. "2 operators are not supported: Less (ai.onnx opset 13) at node #0, function
// ai.onnx.Clip; Where (...) ..."
std::vector<std::string> UnsupportedOperators(absl::string_view message) {
  constexpr absl::string_view kLead = " not supported: ";
  const size_t lead = message.find(kLead);
  if (lead == absl::string_view::npos) return {};
  std::set<std::string> operators;
  for (absl::string_view item : absl::StrSplit(message.substr(lead + kLead.size()), "; ")) {
    item = absl::StripLeadingAsciiWhitespace(item);
    operators.emplace(item.substr(0, item.find(' ')));
  }
  return {operators.begin(), operators.end()};
}

// A status of Unimplemented, of creating or running a session: operators that are missing, or
// types.
TestReport FailedUnimplemented(TestReport report, absl::string_view message) {
  std::vector<std::string> unsupported = UnsupportedOperators(message);
  if (!unsupported.empty()) report.missing = std::move(unsupported);
  const Cause cause =
      report.missing.empty() ? Cause::kUnsupportedType : Cause::kUnimplementedOperator;
  return Failed(std::move(report), cause, message);
}

// Data sets of a test with the values of their inputs.
struct PreparedSet {
  TestDataSet set;
  std::vector<Value> inputs;
};

absl::StatusOr<std::vector<PreparedSet>> PrepareSets(const ConformanceTest& test,
                                                     const Session& session) {
  std::vector<PreparedSet> prepared;
  if (!test.light_prefix.empty()) {
    PreparedSet light;
    light.set.path = test.light_prefix;
    for (size_t i = 0; i < session.outputs().size(); ++i) {
      std::string path = absl::StrCat(test.light_prefix, "_output_", i, ".pb");
      light.set.outputs.push_back(FileExists(path) ? path : "");
    }
    ASSIGN_OR_RETURN(light.inputs, LightInputs(session));
    prepared.push_back(std::move(light));
    return prepared;
  }
  ASSIGN_OR_RETURN(std::vector<TestDataSet> sets, FindTestDataSets(test.directory));
  for (TestDataSet& set : sets) {
    ASSIGN_OR_RETURN(std::vector<Value> inputs, ReadTestInputs(session, set));
    prepared.push_back({std::move(set), std::move(inputs)});
  }
  return prepared;
}

}  // namespace

absl::StatusOr<std::vector<ConformanceTest>> FindConformanceTests(const std::string& path) {
  std::vector<ConformanceTest> tests;
  if (!IsDirectory(path)) {
    // One light model by its file's name.
    const std::string stem = absl::EndsWith(path, ".onnx") ? path.substr(0, path.size() - 5) : path;
    if (!FileExists(path))
      return absl::NotFoundError(absl::StrCat(path, ": no such file or folder"));
    if (stem == path || !FileExists(stem + "_output_0.pb")) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, " is not a test: there is no ", BaseName(stem), "_output_0.pb"));
    }
    tests.push_back({.name = absl::StrCat(BaseName(DirName(path)), "/", BaseName(stem)),
                     .directory = "",
                     .model = path,
                     .light_prefix = stem});
    return tests;
  }
  RETURN_IF_ERROR(Find(path, 0, tests));
  std::sort(tests.begin(), tests.end(),
            [](const ConformanceTest& a, const ConformanceTest& b) { return a.name < b.name; });
  return tests;
}

absl::string_view CauseName(Cause cause) {
  switch (cause) {
    case Cause::kNone: return "passed";
    case Cause::kUnimplementedOperator: return "unimplemented operator";
    case Cause::kUnsupportedType: return "unsupported type";
    case Cause::kLoad: return "load";
    case Cause::kRun: return "run";
    case Cause::kDiffers: return "differs";
    case Cause::kCrash: return "crash";
    case Cause::kTimeout: return "timeout";
    case Cause::kUnexpectedPass: return "unexpected pass";
  }
  return "?";
}

std::string TestReport::Serialize() const {
  const std::string separator(1, kFieldSeparator);
  return absl::StrJoin(
      {absl::StrCat(static_cast<int>(cause)), op, absl::StrJoin(missing, ","), message}, separator);
}

TestReport TestReport::Parse(absl::string_view text) {
  const std::vector<std::string> fields = absl::StrSplit(text, absl::MaxSplits(kFieldSeparator, 3));
  TestReport report;
  int cause = 0;
  if (fields.size() != 4 || !absl::SimpleAtoi(fields[0], &cause) || cause < 0 ||
      cause >= kCauseCount) {
    report.cause = Cause::kCrash;
    report.message = "the worker's answer is garbled";
    return report;
  }
  report.cause = static_cast<Cause>(cause);
  report.op = fields[1];
  report.missing = absl::StrSplit(fields[2], ',', absl::SkipEmpty());
  report.message = fields[3];
  return report;
}

TestReport RunConformanceTest(const ConformanceTest& test, const ConformanceOptions& options) {
  TestReport report;
  absl::StatusOr<Model> model = LoadModel(test.model);
  if (!model.ok()) return Failed(std::move(report), Cause::kLoad, model.status().message());
  report.op = OperatorUnderTest(*model);
  const std::set<std::string> missing = MissingOperators(*model, StandardRegistry());
  report.missing.assign(missing.begin(), missing.end());
  absl::StatusOr<std::unique_ptr<const Session>> session =
      Session::Create(*std::move(model), StandardRegistry(), options.session);
  if (!session.ok()) {
    if (absl::IsUnimplemented(session.status())) {
      return FailedUnimplemented(std::move(report), session.status().message());
    }
    return Failed(std::move(report), Cause::kLoad, session.status().message());
  }
  absl::StatusOr<std::vector<PreparedSet>> sets = PrepareSets(test, **session);
  if (!sets.ok()) return Failed(std::move(report), Cause::kLoad, sets.status().message());
  CompareOptions compare = options.compare;
  const std::string data_json = JoinPath(test.directory, "data.json");
  if (!test.directory.empty() && FileExists(data_json)) {
    const absl::Status read = ReadDataJson(data_json, &compare.rtol, &compare.atol);
    if (!read.ok()) return Failed(std::move(report), Cause::kLoad, read.message());
  }
  bool compared = false;
  for (const PreparedSet& prepared : *sets) {
    RunOptions run_options;
    run_options.seed = 1;
    std::vector<Value> outputs((*session)->outputs().size());
    const absl::Status ran = (*session)->Run(prepared.inputs, absl::MakeSpan(outputs), run_options);
    if (absl::IsUnimplemented(ran)) return FailedUnimplemented(std::move(report), ran.message());
    if (!ran.ok()) return Failed(std::move(report), Cause::kRun, ran.message());
    const absl::StatusOr<std::vector<OutputCheck>> checks =
        CheckTestOutputs(**session, prepared.set, prepared.inputs, outputs, compare);
    if (!checks.ok()) return Failed(std::move(report), Cause::kLoad, checks.status().message());
    compared = compared || !checks->empty();
    const std::string difference = FirstDifference(*checks);
    if (!difference.empty()) return Failed(std::move(report), Cause::kDiffers, difference);
  }
  if (!compared)
    return Failed(std::move(report), Cause::kLoad, "the test has no outputs to compare with");
  return report;
}

absl::StatusOr<ExpectedFailures> ExpectedFailures::Parse(absl::string_view text) {
  ExpectedFailures expected;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line[0] == '#') continue;
    const size_t blank = line.find_first_of(" \t");
    const absl::string_view name = line.substr(0, blank);
    const absl::string_view reason =
        blank == absl::string_view::npos ? "" : absl::StripAsciiWhitespace(line.substr(blank));
    if (reason.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", number, ": ", name, " has no reason"));
    }
    if (!expected.reasons.emplace(name, reason).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", number, ": ", name, " is listed twice"));
    }
  }
  return expected;
}

std::string ExpectedFailures::Serialize() const {
  std::string text =
      "# Official tests that fail, with the reason. A test here that passes is an error: take it "
      "out,\n"
      "# or run onnx-conformance with --update-expected.\n";
  for (const auto& [name, reason] : reasons) absl::StrAppend(&text, name, " ", reason, "\n");
  return text;
}

void ApplyExpected(const ExpectedFailures& expected, const std::vector<ConformanceTest>& tests,
                   std::vector<TestReport>& reports) {
  for (size_t i = 0; i < tests.size(); ++i) {
    const auto listed = expected.reasons.find(tests[i].name);
    if (listed == expected.reasons.end()) continue;
    if (reports[i].passed()) {
      reports[i].cause = Cause::kUnexpectedPass;
      reports[i].message = absl::StrCat("passes, but is listed as failing: ", listed->second);
    } else {
      reports[i].skipped = true;
    }
  }
}

ExpectedFailures UpdateExpected(ExpectedFailures expected,
                                const std::vector<ConformanceTest>& tests,
                                const std::vector<TestReport>& reports) {
  for (size_t i = 0; i < tests.size(); ++i) {
    const TestReport& report = reports[i];
    if (report.passed() || report.cause == Cause::kUnexpectedPass) {
      expected.reasons.erase(tests[i].name);
      continue;
    }
    // A reason that somebody wrote is worth more than the program's.
    if (report.skipped) continue;
    const std::string reason =
        report.cause == Cause::kUnimplementedOperator
            ? absl::StrCat(CauseName(report.cause), ": ", absl::StrJoin(report.missing, " "))
            : absl::StrCat(CauseName(report.cause), ": ", report.message);
    expected.reasons[tests[i].name] = reason.substr(0, 240);
  }
  return expected;
}

ConformanceCounts CountReports(const std::vector<TestReport>& reports) {
  ConformanceCounts counts;
  for (const TestReport& report : reports) {
    ++(report.passed() ? counts.passed : report.skipped ? counts.skipped : counts.failed);
  }
  return counts;
}

std::string CountsText(const ConformanceCounts& counts) {
  return absl::StrCat(counts.passed, " passed, ", counts.failed, " failed, ", counts.skipped,
                      " skipped");
}

}  // namespace onnx_run::tools
