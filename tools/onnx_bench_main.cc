// The program onnx-bench: how long things take.
#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/status_macros.h"
#include "tools/args.h"
#include "tools/bench_cast.h"
#include "tools/bench_model.h"
#include "tools/bench_session.h"
#include "tools/engine.h"
#include "tools/exit_code.h"
#include "tools/files.h"
#include "tools/report.h"
#include "tools/summary.h"

namespace onnx_run::tools {
namespace {

constexpr const char* kProgram = "onnx-bench";

struct Benchmark {
  const char* name;
  absl::StatusOr<std::vector<BenchmarkRow>> (*run)();
};
// `startup` comes first: Linux counts this process's own peak memory to the ones it starts.
constexpr Benchmark kBenchmarks[] = {
    {"startup", &BenchmarkStartup},
    {"dispatch", &BenchmarkDispatch},
    {"memory", &BenchmarkMemory},
    {"load", &BenchmarkLoad},
};

ArgParser MakeParser() {
  ArgParser parser(
      kProgram,
      "[cast [flags] | model MODEL | startup | dispatch | memory | load]... [--json FILE]",
      "Measures this program's parts; without arguments all of them but cast.\n\n"
      "  cast      ns per element and GB/s of conversions; onnx-bench cast --help tells its flags\n"
      "  model     runs of a model of yours; onnx-bench model --help tells more\n"
      "  startup   onnx-run on a model of one Cast: time from start to end, peak memory\n"
      "  dispatch  a chain of 1000 Casts of 4 elements: time per node; a run of one node\n"
      "  memory    allocations of a session in its steady state\n"
      "  load      sessions of 1k, 10k and 100k nodes; 1 GB of external data");
  parser.Value("json", "FILE", "write the figures as JSON");
  parser.Switch("version", "print versions of this program and of the standard");
  parser.Epilog("Of repeated measurements the best and the median are shown.");
  return parser;
}

absl::Status WriteJson(const std::string& path, const std::vector<BenchmarkRow>& rows) {
  JsonWriter json;
  json.BeginObject().Key("benchmarks").BeginArray();
  for (const BenchmarkRow& row : rows) {
    json.BeginObject().Key("benchmark").String(row.benchmark).Key("name").String(row.name);
    json.Key("best")
        .Double(row.value)
        .Key("median")
        .Double(row.median)
        .Key("unit")
        .String(row.unit)
        .EndObject();
  }
  json.EndArray().EndObject();
  return WriteFileAtomically(path, json.text());
}

int Main(int argc, char** argv) {
  std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  if (!words.empty() && words[0] == "cast") {
    words.erase(words.begin());
    return RunCastBenchmark(words);
  }
  if (!words.empty() && words[0] == "model") {
    words.erase(words.begin());
    return RunModelBenchmark(words);
  }
  const ArgParser parser = MakeParser();
  int exit_code = kExitOk;
  const std::optional<Args> args = parser.ParseOrExit(argc, argv, &exit_code);
  if (!args.has_value()) return exit_code;
  if (args->Has("version")) {
    Print(VersionText(kProgram, StandardRegistry()));
    return kExitOk;
  }
  for (const std::string& name : args->positional()) {
    bool known = false;
    for (const Benchmark& benchmark : kBenchmarks) known = known || name == benchmark.name;
    if (!known) {
      PrintError(kProgram, absl::StrCat("there is no benchmark \"", name, "\"; try --help"));
      return kExitUsage;
    }
  }
  std::vector<BenchmarkRow> all;
  for (const Benchmark& benchmark : kBenchmarks) {
    const auto& names = args->positional();
    if (!names.empty() && std::find(names.begin(), names.end(), benchmark.name) == names.end())
      continue;
    absl::StatusOr<std::vector<BenchmarkRow>> rows = benchmark.run();
    if (!rows.ok()) {
      PrintError(kProgram, absl::StrCat(benchmark.name, ": ", rows.status().message()));
      return ExitCodeOf(rows.status());
    }
    for (BenchmarkRow& row : *rows) {
      Print(absl::StrFormat("%-9s %-52s %10.4g %s (median %.4g)\n", row.benchmark, row.name,
                            row.value, row.unit, row.median));
      all.push_back(std::move(row));
    }
    std::fflush(stdout);
  }
  if (args->Has("json")) {
    const absl::Status written = WriteJson(args->Get("json"), all);
    if (!written.ok()) {
      PrintError(kProgram, written.message());
      return ExitCodeOf(written);
    }
  }
  return kExitOk;
}

}  // namespace
}  // namespace onnx_run::tools

int main(int argc, char** argv) { return onnx_run::tools::Main(argc, argv); }
