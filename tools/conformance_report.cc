// The reports of conformance.h: text, JUnit, JSON, Markdown.
#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tools/conformance.h"
#include "tools/report.h"

namespace onnx_run::tools {
namespace {

using Align = Table::Align;

struct Tally {
  int64_t passed = 0, total = 0;
};

std::map<std::string, Tally> ByOperator(const std::vector<TestReport>& reports) {
  std::map<std::string, Tally> by_operator;
  for (const TestReport& report : reports) {
    Tally& tally = by_operator[report.op.empty() ? "(model not read)" : report.op];
    ++tally.total;
    if (report.passed()) ++tally.passed;
  }
  return by_operator;
}

std::pair<std::string, std::string> SplitName(const std::string& name) {
  const size_t slash = name.find('/');
  return {name.substr(0, slash), name.substr(slash + 1)};
}

Table CauseTable(const std::vector<TestReport>& reports) {
  int64_t counts[kCauseCount] = {};
  int64_t skipped[kCauseCount] = {};
  for (const TestReport& report : reports) {
    ++counts[static_cast<int>(report.cause)];
    if (report.skipped) ++skipped[static_cast<int>(report.cause)];
  }
  Table table({"result", "tests", "of them expected"},
              {Align::kLeft, Align::kRight, Align::kRight});
  for (int i = 0; i < kCauseCount; ++i) {
    if (counts[i] == 0) continue;
    table.Row({std::string(CauseName(static_cast<Cause>(i))), absl::StrCat(counts[i]),
               i == 0 ? "" : absl::StrCat(skipped[i])});
  }
  return table;
}

}  // namespace

std::string ConformanceSummary(const std::vector<TestReport>& reports) {
  std::string text = absl::StrCat(CauseTable(reports).ToString(), "\n");
  std::map<std::string, int64_t> missing;
  for (const TestReport& report : reports) {
    if (report.cause != Cause::kUnimplementedOperator) continue;
    for (const std::string& op : report.missing) ++missing[op];
  }
  if (!missing.empty()) {
    std::vector<std::pair<std::string, int64_t>> sorted(missing.begin(), missing.end());
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    text += "unimplemented operators, with the tests that need them:\n ";
    size_t column = 1;
    for (const auto& [op, tests] : sorted) {
      const std::string item = absl::StrCat(" ", op, " (", tests, ")");
      if (column + item.size() > 100) {
        text += "\n ";
        column = 1;
      }
      text += item;
      column += item.size();
    }
    text += "\n\n";
  }
  Table table({"operator", "passed", "of"}, {Align::kLeft, Align::kRight, Align::kRight});
  for (const auto& [op, tally] : ByOperator(reports)) {
    if (tally.passed != tally.total)
      table.Row({op, absl::StrCat(tally.passed), absl::StrCat(tally.total)});
  }
  if (!table.empty())
    absl::StrAppend(&text, "operators with failures:\n", table.ToString("  "), "\n");
  return text;
}

std::string ConformanceJUnit(const std::vector<ConformanceTest>& tests,
                             const std::vector<TestReport>& reports) {
  std::map<std::string, std::vector<size_t>> suites;
  for (size_t i = 0; i < tests.size(); ++i) suites[SplitName(tests[i].name).first].push_back(i);
  std::string xml =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"onnx-conformance\">\n";
  for (const auto& [suite, members] : suites) {
    int64_t failures = 0;
    int64_t skipped = 0;
    double seconds = 0;
    for (const size_t i : members) {
      skipped += reports[i].skipped ? 1 : 0;
      failures += !reports[i].passed() && !reports[i].skipped ? 1 : 0;
      seconds += reports[i].seconds;
    }
    absl::StrAppend(
        &xml, absl::StrFormat("  <testsuite name=\"%s\" tests=\"%d\" failures=\"%d\" errors=\"0\" "
                              "skipped=\"%d\" time=\"%.3f\">\n",
                              XmlEscape(suite), members.size(), failures, skipped, seconds));
    for (const size_t i : members) {
      const TestReport& report = reports[i];
      absl::StrAppend(&xml,
                      absl::StrFormat("    <testcase classname=\"%s\" name=\"%s\" time=\"%.4f\"",
                                      XmlEscape(suite), XmlEscape(SplitName(tests[i].name).second),
                                      report.seconds));
      if (report.passed()) {
        xml += "/>\n";
      } else if (report.skipped) {
        absl::StrAppend(&xml, "><skipped message=\"", XmlEscape(CauseName(report.cause)), ": ",
                        XmlEscape(report.message), "\"/></testcase>\n");
      } else {
        absl::StrAppend(&xml, "><failure type=\"", XmlEscape(CauseName(report.cause)),
                        "\" message=\"", XmlEscape(report.message), "\"/></testcase>\n");
      }
    }
    xml += "  </testsuite>\n";
  }
  return xml + "</testsuites>\n";
}

std::string ConformanceJson(const std::vector<ConformanceTest>& tests,
                            const std::vector<TestReport>& reports) {
  const ConformanceCounts counts = CountReports(reports);
  JsonWriter json;
  json.BeginObject();
  json.Key("passed")
      .Int(counts.passed)
      .Key("failed")
      .Int(counts.failed)
      .Key("skipped")
      .Int(counts.skipped);
  json.Key("tests").BeginArray();
  for (size_t i = 0; i < tests.size(); ++i) {
    const TestReport& report = reports[i];
    json.BeginObject().Key("name").String(tests[i].name);
    json.Key("result").String(report.passed() ? "passed" : report.skipped ? "skipped" : "failed");
    if (!report.passed())
      json.Key("cause").String(CauseName(report.cause)).Key("message").String(report.message);
    json.Key("operator").String(report.op).Key("seconds").Double(report.seconds);
    json.EndObject();
  }
  json.EndArray().EndObject();
  return json.text();
}

std::string ConformanceMarkdown(const std::vector<ConformanceTest>& tests,
                                const std::vector<TestReport>& reports) {
  std::string text = absl::StrCat("# Conformance\n\n", CountsText(CountReports(reports)), ".\n\n");
  std::map<std::string, Tally> by_suite;
  for (size_t i = 0; i < tests.size(); ++i) {
    Tally& tally = by_suite[SplitName(tests[i].name).first];
    ++tally.total;
    if (reports[i].passed()) ++tally.passed;
  }
  Table suites({"suite", "passed", "of"}, {Align::kLeft, Align::kRight, Align::kRight});
  for (const auto& [suite, tally] : by_suite) {
    suites.Row({suite, absl::StrCat(tally.passed), absl::StrCat(tally.total)});
  }
  absl::StrAppend(&text, suites.ToMarkdown(), "\n", CauseTable(reports).ToMarkdown(),
                  "\n## By operator\n\n");
  Table operators({"operator", "passed", "of"}, {Align::kLeft, Align::kRight, Align::kRight});
  for (const auto& [op, tally] : ByOperator(reports)) {
    operators.Row({op, absl::StrCat(tally.passed), absl::StrCat(tally.total)});
  }
  absl::StrAppend(&text, operators.ToMarkdown());
  Table failures({"test", "cause", "what"});
  for (size_t i = 0; i < tests.size(); ++i) {
    if (reports[i].passed()) continue;
    failures.Row({tests[i].name, std::string(CauseName(reports[i].cause)), reports[i].message});
  }
  if (!failures.empty()) absl::StrAppend(&text, "\n## Failures\n\n", failures.ToMarkdown());
  return text;
}

}  // namespace onnx_run::tools
