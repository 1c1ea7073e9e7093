#include "tools/bench_model.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "proto/load.h"
#include "runtime/session.h"
#include "runtime/status_macros.h"
#include "tools/args.h"
#include "tools/engine.h"
#include "tools/exit_code.h"
#include "tools/report.h"
#include "tools/summary.h"

namespace onnx_run::tools {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct LoadedModel {
  std::vector<std::string> words;  // that asked for it
  std::unique_ptr<const Session> session;
  std::vector<Value> inputs;
  std::vector<Value> outputs;
};

absl::StatusOr<LoadedModel> LoadForBenchmark(const std::vector<std::string>& words, int threads) {
  LoadedModel loaded;
  loaded.words = words;
  ASSIGN_OR_RETURN(Model model, LoadModel(words[0]));
  SessionOptions options = DefaultSessionOptions();
  options.threads = threads;
  options.fold_constants = false;  // or there might be nothing left to measure
  ASSIGN_OR_RETURN(loaded.session, Session::Create(std::move(model), StandardRegistry(), options));
  const auto declared = loaded.session->inputs();
  if (words.size() - 1 > declared.size()) {
    return absl::InvalidArgumentError(absl::StrCat("the model has ", declared.size(), " inputs"));
  }
  for (size_t i = 1; i < words.size(); ++i) {
    ASSIGN_OR_RETURN(Value value,
                     ReadAnyValueFile(words[i], declared[i - 1].name, declared[i - 1].type));
    loaded.inputs.push_back(std::move(value));
  }
  loaded.inputs.resize(declared.size());
  loaded.outputs.resize(loaded.session->outputs().size());
  return loaded;
}

// The best time of a run, of samples over `budget` seconds.
absl::StatusOr<double> BestTime(LoadedModel& loaded, double budget, int64_t* runs) {
  const auto sample = [&](int64_t count) -> absl::StatusOr<double> {
    const Clock::time_point start = Clock::now();
    for (int64_t i = 0; i < count; ++i) {
      RETURN_IF_ERROR(loaded.session->Run(loaded.inputs, absl::MakeSpan(loaded.outputs)));
    }
    *runs += count;
    return SecondsSince(start) / static_cast<double>(count);
  };
  *runs = 0;
  RETURN_IF_ERROR(sample(1).status());
  ASSIGN_OR_RETURN(double best, sample(1));
  // Long enough for the clock, short enough to fall between other programs' turns.
  const auto count = static_cast<int64_t>(std::clamp(2e-4 / std::max(best, 1e-9), 1.0, 1e6));
  const Clock::time_point start = Clock::now();
  do {
    ASSIGN_OR_RETURN(const double seconds, sample(count));
    best = std::min(best, seconds);
  } while (SecondsSince(start) < budget);
  return best;
}

}  // namespace

int RunModelBenchmark(absl::Span<const std::string> args) {
  ArgParser parser("onnx-bench model", "MODEL [INPUT.pb]... | -", "Measures the runs of a model.");
  parser.Value("seconds", "S", "how long to measure (0.1)");
  parser.Value("threads", "N", "threads (1); 0: all cores");
  parser.Epilog("With - it reads lines of tab-separated words from standard input.");
  const absl::StatusOr<Args> parsed = parser.Parse(args);
  const auto seconds = parsed.ok() ? parsed->Double("seconds", 0.1) : parsed.status();
  const auto threads = parsed.ok() ? parsed->Int("threads", 1, 0, 1024) : parsed.status();
  if (!parsed.ok() || !seconds.ok() || !threads.ok() || parsed->positional().empty()) {
    if (parsed.ok() && parsed->Has("help")) {
      Print(parser.Help());
      return kExitOk;
    }
    PrintError("onnx-bench", !parsed.ok()    ? parsed.status().message()
                             : !seconds.ok() ? seconds.status().message()
                             : !threads.ok() ? threads.status().message()
                                             : "model wants the path of a model");
    return kExitUsage;
  }

  LoadedModel loaded;
  const auto measure = [&](const std::vector<std::string>& words) {
    int64_t runs = 0;
    const absl::StatusOr<double> best = [&]() -> absl::StatusOr<double> {
      if (loaded.words != words) {
        loaded = LoadedModel();
        ASSIGN_OR_RETURN(loaded, LoadForBenchmark(words, static_cast<int>(*threads)));
      }
      return BestTime(loaded, *seconds, &runs);
    }();
    JsonWriter json;
    json.BeginObject().Key("model").String(words[0]);
    if (best.ok()) {
      json.Key("nanoseconds").Double(*best * 1e9).Key("runs").Int(runs);
    } else {
      json.Key("error").String(best.status().message());
    }
    json.EndObject();
    std::string text = json.text();
    std::replace(text.begin(), text.end(), '\n', ' ');  // between values; in strings it is "\n"
    Print(absl::StrCat(text, "\n"));
    std::fflush(stdout);
    return best.ok() ? kExitOk : ExitCodeOf(best.status());
  };

  if (parsed->positional() != std::vector<std::string>{"-"}) return measure(parsed->positional());
  for (std::string line; std::getline(std::cin, line);) {
    if (!line.empty()) measure(absl::StrSplit(line, '\t'));
  }
  return kExitOk;
}

}  // namespace onnx_run::tools
