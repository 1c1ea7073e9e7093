#include "tools/run_program.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "proto/load.h"
#include "proto/standard/check.h"
#include "runtime/session.h"
#include "runtime/status_macros.h"
#include "tools/args.h"
#include "tools/cast_audit.h"
#include "tools/compare.h"
#include "tools/engine.h"
#include "tools/exit_code.h"
#include "tools/files.h"
#include "tools/format.h"
#include "tools/observers.h"
#include "tools/random_inputs.h"
#include "tools/report.h"
#include "tools/run_io.h"
#include "tools/summary.h"
#include "tools/test_case.h"
#include "tools/what_if.h"

namespace onnx_run::tools {
namespace {

constexpr const char* kProgram = "onnx-run";

ArgParser MakeParser() {
  ArgParser parser(
      kProgram, "MODEL.onnx|DIR [flags]",
      "Runs an ONNX model exactly as the standard says.\n\n"
      "A folder that holds test_data_set_* is run on each of them and compared. A bare model gets\n"
      "the inputs that --input gives and seeded random ones for the others, and its outputs are\n"
      "printed.");
  parser.Value("input", "NAME=VALUE",
               "a FILE.pb, FILE.npy, FILE.npz, or the value itself:\n"
               "1.5  1,2,3  [[1,2],[3,4]]  float16[2,2]:1,2,3,4  float[8]:0\n"
               "(repeatable; FILE.npz alone gives all inputs it has arrays for)");
  parser.Value("dim", "NAME=N", "size of a named dimension of random inputs, else 1 (repeatable)");
  parser.Value("seed", "N", "of random inputs and random operators (default 0)");
  parser.Value("output", "DIR", "write the outputs there");
  parser.Value("output-format", "pb|npy|npz", "(default pb)");
  parser.Value("outputs", "all|A,B", "print and write these values, intermediate ones too");
  parser.Value("expect", "DIR",
               "compare the outputs with the files there; its input_*.pb are used\n"
               "for inputs that --input does not give");
  parser.Value("rtol", "X", "relative tolerance (default 1e-3)");
  parser.Value("atol", "X", "absolute tolerance (default 1e-7)");
  parser.Switch("exact", "compare bits (all NaNs are equal)");
  parser.Switch("strict", "refuse what only draws a warning else");
  parser.Switch("allow-newer-ir", "run models of IR versions newer than the newest known one");
  parser.Switch("check", "also run the onnx library's checker and shape inference first");
  parser.Value("no-native", "OP",
               "use the standard's function body instead of the kernel (repeatable)");
  parser.Switch("summary", "print what the model is and needs, do not run it");
  parser.Switch("list-ops", "print the operators that are implemented");
  parser.Value("repeat", "N", "run N times and print times");
  parser.Value("threads", "N", "(default: one for each core)");
  parser.Value("dump", "DIR", "write every intermediate value, print min, max and NaN count");
  parser.Value("profile", "FILE.json", "write a Chrome trace, print times by operator and node");
  parser.Switch("cast-audit", "print what each cast and quantization did to its values");
  parser.Value("what-if", "TYPE,...",
               "print what storing all values as float16 (...) would do to them");
  parser.Value("json", "FILE", "write the report of --cast-audit or --what-if as JSON");
  parser.Switch("verbose", "print whole values, and more", 'v');
  parser.Switch("quiet", "print errors only", 'q');
  parser.Switch("version", "print versions of this program and of the standard");
  parser.Epilog(
      "Exit codes: 0 right, 1 outputs differ, 2 usage, 3 bad model or input, 4 not implemented,\n"
      "5 internal error. Nothing is written on failure.");
  return parser;
}

struct Options {
  std::string path;
  std::map<std::string, int64_t> dims;
  uint64_t seed = 0;
  OutputFormat output_format = OutputFormat::kPb;
  CompareOptions compare;
  int64_t repeat = 1;
  SessionOptions session;
  std::vector<ElementType> what_if;
  bool verbose = false;
  bool quiet = false;
};

// What is to be run, found from the path given.
struct Target {
  std::string model;
  std::vector<TestDataSet> sets;
};

absl::StatusOr<Options> ReadOptions(const Args& args) {
  Options options;
  if (args.positional().size() != 1) {
    return absl::InvalidArgumentError(
        args.positional().empty()
            ? "which model? give MODEL.onnx or a folder"
            : absl::StrCat("one model at a time, got ", absl::StrJoin(args.positional(), " ")));
  }
  options.path = args.positional()[0];
  ASSIGN_OR_RETURN(options.dims, ParseDims(args.All("dim")));
  RETURN_IF_ERROR(ParseAssignments("input",
                                   [&] {
                                     std::vector<std::string> texts = args.All("input");
                                     std::erase_if(texts, [](const std::string& t) {
                                       return absl::EndsWith(t, ".npz");
                                     });
                                     return texts;
                                   }())
                      .status());
  ASSIGN_OR_RETURN(const int64_t seed, args.Int("seed", 0, 0));
  options.seed = static_cast<uint64_t>(seed);
  ASSIGN_OR_RETURN(options.output_format, ParseOutputFormat(args.Get("output-format", "pb")));
  ASSIGN_OR_RETURN(options.compare.rtol, args.Double("rtol", options.compare.rtol));
  ASSIGN_OR_RETURN(options.compare.atol, args.Double("atol", options.compare.atol));
  options.compare.exact = args.Has("exact");
  if (options.compare.exact && (args.Has("rtol") || args.Has("atol"))) {
    return absl::InvalidArgumentError("--exact compares bits: it takes no --rtol or --atol");
  }
  ASSIGN_OR_RETURN(options.repeat, args.Int("repeat", 1, 1));
  options.session = DefaultSessionOptions();
  ASSIGN_OR_RETURN(const int64_t threads, args.Int("threads", 0, 0, 1024));
  options.session.threads = static_cast<int>(threads);
  options.session.strict = args.Has("strict");
  options.session.allow_newer_ir_version = args.Has("allow-newer-ir");
  for (const std::string& op : args.All("no-native", true)) options.session.no_native.insert(op);
  if (args.Has("what-if")) {
    ASSIGN_OR_RETURN(options.what_if, WhatIf::ParseTypes(args.All("what-if", true)));
  }
  if (args.Has("json") && args.Has("cast-audit") == args.Has("what-if")) {
    return absl::InvalidArgumentError("--json goes with one of --cast-audit and --what-if");
  }
  if (args.Has("output-format") && !args.Has("output")) {
    return absl::InvalidArgumentError("--output-format goes with --output DIR");
  }
  options.verbose = args.Has("verbose");
  options.quiet = args.Has("quiet");
  return options;
}

absl::StatusOr<Target> FindTarget(const std::string& path) {
  if (!FileExists(path)) return absl::NotFoundError(absl::StrCat(path, ": no such file or folder"));
  Target target;
  if (!IsDirectory(path)) {
    target.model = path;
    return target;
  }
  // DIR/test_data_set_3 is that set alone, of the model in DIR.
  if (absl::StartsWith(BaseName(path), "test_data_set_") &&
      !FileExists(JoinPath(path, "model.onnx"))) {
    target.model = JoinPath(JoinPath(path, ".."), "model.onnx");
    ASSIGN_OR_RETURN(TestDataSet set, ReadTestDataSet(path));
    target.sets.push_back(std::move(set));
  } else {
    ASSIGN_OR_RETURN(target.sets, FindTestDataSets(path));
    target.model = JoinPath(path, "model.onnx");
    if (!FileExists(target.model)) {
      ASSIGN_OR_RETURN(std::vector<std::string> names, ListDirectory(path));
      std::erase_if(names, [](const std::string& name) { return !absl::EndsWith(name, ".onnx"); });
      if (names.size() > 1) {
        return absl::InvalidArgumentError(
            absl::StrCat(path, " holds more than one model: ", absl::StrJoin(names, ", ")));
      }
      if (names.size() == 1) target.model = JoinPath(path, names[0]);
    }
  }
  if (!FileExists(target.model))
    return absl::NotFoundError(absl::StrCat(path, " holds no model.onnx"));
  return target;
}

// One invocation of the program, once its command line is understood.
class Runner {
 public:
  Runner(const Args& args, Options options, Target target)
      : args_(args), options_(std::move(options)), target_(std::move(target)) {}

  int Run() {
    const absl::Status status = RunAll();
    if (!status.ok()) {
      PrintError(kProgram, status.message());
      return usage_error_ ? kExitUsage : ExitCodeOf(status);
    }
    return mismatch_ ? kExitMismatch : kExitOk;
  }

 private:
  absl::Status RunAll() {
    if (args_.Has("check")) RETURN_IF_ERROR(CheckModel(target_.model));
    std::vector<std::string> warnings;
    LoadOptions load;
    load.warnings = &warnings;
    ASSIGN_OR_RETURN(Model model, LoadModel(target_.model, load));
    if (args_.Has("summary")) {
      Print(SummaryText(model, StandardRegistry()));
      return absl::OkStatus();
    }
    const bool observed = args_.Has("outputs") || args_.Has("dump") || args_.Has("profile") ||
                          args_.Has("cast-audit") || args_.Has("what-if");
    // Folded nodes would not be seen.
    if (observed) options_.session.fold_constants = false;
    absl::StatusOr<std::unique_ptr<const Session>> session =
        Session::Create(std::move(model), StandardRegistry(), options_.session);
    RETURN_IF_ERROR(Annotate(session.status(), target_.model));
    session_ = *std::move(session);
    warnings.insert(warnings.end(), session_->warnings().begin(), session_->warnings().end());
    if (!options_.quiet) {
      for (const std::string& warning : warnings)
        PrintError(kProgram, absl::StrCat("warning: ", warning));
    }
    RETURN_IF_ERROR(CheckNames());
    if (target_.sets.size() > 1 && (args_.Has("output") || observed)) {
      usage_error_ = true;
      return absl::InvalidArgumentError(
          absl::StrCat(options_.path, " has ", target_.sets.size(),
                       " data sets; name one of them for this: ", target_.sets[0].path));
    }
    if (target_.sets.empty()) return RunOnce(nullptr);
    for (const TestDataSet& set : target_.sets) RETURN_IF_ERROR(RunOnce(&set));
    return absl::OkStatus();
  }

  // Names on the command line that the model does not have are usage errors.
  absl::Status CheckNames() {
    usage_error_ = true;
    std::set<std::string> dims;
    for (const Session::Input& input : session_->inputs()) CollectDimNames(input.type, dims);
    for (const auto& [name, size] : options_.dims) {
      if (!dims.contains(name)) {
        return UnknownName("is not a dimension of an input", name, {dims.begin(), dims.end()});
      }
    }
    std::set<std::string> inputs;
    for (const Session::Input& input : session_->inputs()) inputs.insert(input.name);
    std::set<std::string> given;
    for (const std::string& text : args_.All("input")) {
      const size_t equals = text.find('=');
      if (equals == std::string::npos) continue;
      const std::string name = text.substr(0, equals);
      if (!inputs.contains(name)) {
        return UnknownName("is not an input", name, {inputs.begin(), inputs.end()});
      }
      if (!given.insert(name).second) {
        return absl::InvalidArgumentError(absl::StrCat("input \"", name, "\" is given twice"));
      }
    }
    for (const std::string& name : args_.All("outputs", true)) {
      if (name == "all") continue;
      const std::vector<std::string> known = OutputNames();
      if (std::find(known.begin(), known.end(), name) == known.end()) {
        return UnknownName("is not a value that a node or output", name, known);
      }
      wanted_.push_back(name);
    }
    for (const std::string& op : options_.session.no_native) {
      const bool exists =
          std::any_of(StandardRegistry().kernels().begin(), StandardRegistry().kernels().end(),
                      [&](const KernelDef* kernel) { return op == kernel->op_type; });
      if (!exists) {
        return absl::InvalidArgumentError(
            absl::StrCat("--no-native ", op, ": there is no such operator"));
      }
    }
    usage_error_ = false;
    return absl::OkStatus();
  }

  // Graph outputs first, then what nodes make.
  std::vector<std::string> OutputNames() const {
    std::vector<std::string> names;
    for (const ValueInfo& output : session_->outputs()) names.push_back(output.name);
    for (std::string& name : NodeOutputNames(session_->model())) {
      if (std::find(names.begin(), names.end(), name) == names.end())
        names.push_back(std::move(name));
    }
    return names;
  }

  absl::StatusOr<std::vector<Value>> GatherInputs(const TestDataSet* set) {
    std::vector<Value> values(session_->inputs().size());
    std::optional<TestDataSet> expected;
    if (set == nullptr && args_.Has("expect")) {
      ASSIGN_OR_RETURN(expected, ReadTestDataSet(args_.Get("expect")));
      if (!expected->inputs.empty()) set = &*expected;
    }
    if (set != nullptr) {
      ASSIGN_OR_RETURN(values, ReadTestInputs(*session_, *set));
    }
    RETURN_IF_ERROR(ReadInputs(*session_, args_.All("input"), values));
    RandomInputs random(options_.seed, options_.dims);
    std::vector<std::string> made;
    for (size_t i = 0; i < values.size(); ++i) {
      const Session::Input& input = session_->inputs()[i];
      if (!values[i].absent() || input.has_default || set != nullptr) continue;
      absl::StatusOr<Value> value = random.Make(input.type);
      RETURN_IF_ERROR(
          Annotate(value.status(), absl::StrCat("input \"", input.name, "\" has no value")));
      values[i] = *std::move(value);
      made.push_back(absl::StrCat(input.name, " ", Describe(values[i])));
    }
    if (!options_.quiet && !made.empty()) {
      PrintError(kProgram, absl::StrCat("random inputs, seed ", options_.seed, ": ",
                                        absl::StrJoin(made, ", ")));
      if (!random.guessed().empty()) {
        PrintError(kProgram,
                   absl::StrCat("taken as 1: dimension ", absl::StrJoin(random.guessed(), ", "),
                                "; --dim NAME=N sets it"));
      }
    }
    return values;
  }

  absl::Status RunOnce(const TestDataSet* set) {
    ASSIGN_OR_RETURN(const std::vector<Value> inputs, GatherInputs(set));
    ObserverList observers;
    ValueCollector collector =
        wanted_.empty() ? ValueCollector() : ValueCollector({wanted_.begin(), wanted_.end()});
    CastAudit audit;
    WhatIf what_if(options_.what_if);
    Profiler profiler;
    // Before the run: what it computes would be lost where it cannot be written.
    for (const char* flag : {"profile", "json"}) {
      if (args_.Has(flag)) RETURN_IF_ERROR(CheckFolderOf(args_.Get(flag)));
    }
    std::unique_ptr<StagedDirectory> folder;
    if (args_.Has("output")) {
      ASSIGN_OR_RETURN(folder, StagedDirectory::Create(args_.Get("output")));
    }
    std::unique_ptr<ValueDump> dump;
    if (args_.Has("outputs")) observers.Add(&collector);
    if (args_.Has("cast-audit")) observers.Add(&audit);
    if (args_.Has("profile")) observers.Add(&profiler);
    if (args_.Has("what-if")) {
      what_if.AddParameters(session_->model());
      for (size_t i = 0; i < inputs.size(); ++i)
        what_if.AddInput(session_->inputs()[i].name, inputs[i]);
      observers.Add(&what_if);
    }
    if (args_.Has("dump")) {
      ASSIGN_OR_RETURN(dump, ValueDump::Create(args_.Get("dump")));
      observers.Add(dump.get());
    }
    RunOptions run_options;
    run_options.seed = options_.seed + 1;  // 0 would ask for a new one each time
    std::vector<Value> outputs(session_->outputs().size());
    // Page faults and first-time costs are not the model's.
    if (args_.Has("profile"))
      RETURN_IF_ERROR(session_->Run(inputs, absl::MakeSpan(outputs), run_options));
    run_options.observer = observers.empty() ? nullptr : &observers;
    RETURN_IF_ERROR(session_->Run(inputs, absl::MakeSpan(outputs), run_options));
    if (options_.repeat > 1) RETURN_IF_ERROR(Repeat(inputs, outputs));

    std::vector<NamedValue> named = SelectOutputs(outputs, collector);
    const bool compared = set != nullptr || args_.Has("expect");
    const bool report_only = args_.Has("cast-audit") || args_.Has("what-if") || args_.Has("dump") ||
                             args_.Has("profile");
    if (!options_.quiet && !compared && (!report_only || args_.Has("outputs"))) PrintValues(named);
    if (compared) RETURN_IF_ERROR(CompareOutputs(set, inputs, outputs));
    RETURN_IF_ERROR(PrintReports(audit, what_if, profiler, dump.get()));
    // Files last: all that could fail has been done.
    if (folder != nullptr) {
      RETURN_IF_ERROR(WriteOutputs(*folder, options_.output_format, named));
    }
    if (dump != nullptr) RETURN_IF_ERROR(dump->Commit());
    if (args_.Has("profile"))
      RETURN_IF_ERROR(WriteFileAtomically(args_.Get("profile"), profiler.ChromeTrace()));
    if (args_.Has("json")) {
      RETURN_IF_ERROR(WriteFileAtomically(
          args_.Get("json"),
          args_.Has("cast-audit") ? audit.Json() : what_if.Json(session_->model())));
    }
    return absl::OkStatus();
  }

  absl::Status Repeat(const std::vector<Value>& inputs, std::vector<Value>& outputs) const {
    std::vector<double> times;
    RunOptions run_options;
    run_options.seed = options_.seed + 1;
    for (int64_t i = 0; i < options_.repeat; ++i) {
      const auto start = std::chrono::steady_clock::now();
      RETURN_IF_ERROR(session_->Run(inputs, absl::MakeSpan(outputs), run_options));
      times.push_back(
          std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
              .count());
    }
    std::sort(times.begin(), times.end());
    double sum = 0;
    for (const double time : times) sum += time;
    if (!options_.quiet) {
      Print(absl::StrFormat("%d runs: min %.1f us, median %.1f us, mean %.1f us, max %.1f us\n",
                            times.size(), times.front(), times[times.size() / 2],
                            sum / static_cast<double>(times.size()), times.back()));
    }
    return absl::OkStatus();
  }

  // What --outputs asks for: "all" has the nodes' values in their order, then outputs that no node
  // made.
  std::vector<NamedValue> SelectOutputs(const std::vector<Value>& outputs,
                                        const ValueCollector& collector) const {
    std::vector<NamedValue> named;
    std::set<std::string> seen;
    if (args_.Has("outputs") && wanted_.empty()) {
      for (const NamedValue& value : collector.values()) {
        seen.insert(value.first);
        named.push_back(value);
      }
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      const std::string& name = session_->outputs()[i].name;
      const bool selected = !args_.Has("outputs") || wanted_.empty() ||
                            std::find(wanted_.begin(), wanted_.end(), name) != wanted_.end();
      if (selected && (!args_.Has("outputs") || seen.insert(name).second))
        named.emplace_back(name, outputs[i]);
    }
    for (const NamedValue& value : collector.values()) {
      if (!wanted_.empty() && seen.insert(value.first).second) named.push_back(value);
    }
    return named;
  }

  void PrintValues(const std::vector<NamedValue>& values) const {
    FormatOptions format;
    if (options_.verbose) format.max_elements = INT64_MAX;
    for (const NamedValue& value : values) Print(FormatValue(value.first, value.second, format));
  }

  absl::Status CompareOutputs(const TestDataSet* set, const std::vector<Value>& inputs,
                              const std::vector<Value>& outputs) {
    std::vector<OutputCheck> checks;
    std::string title;
    if (args_.Has("expect")) {
      title = args_.Get("expect");
      for (size_t i = 0; i < outputs.size(); ++i) {
        const ValueInfo& info = session_->outputs()[i];
        const Type type = info.type.kind == ValueKind::kAbsent ? outputs[i].type() : info.type;
        ASSIGN_OR_RETURN(const Value want,
                         ReadExpected(title, info.name, static_cast<int>(i), type));
        checks.push_back({info.name, Compare(outputs[i], want, options_.compare)});
      }
    } else {
      title = set->path;
      CompareOptions compare = options_.compare;
      const std::string data_json = JoinPath(JoinPath(set->path, ".."), "data.json");
      if (FileExists(data_json) && !args_.Has("rtol") && !args_.Has("atol")) {
        RETURN_IF_ERROR(ReadDataJson(data_json, &compare.rtol, &compare.atol));
      }
      ASSIGN_OR_RETURN(checks, CheckTestOutputs(*session_, *set, inputs, outputs, compare));
      if (checks.empty())
        return absl::InvalidArgumentError(absl::StrCat(title, " holds no outputs to compare with"));
    }
    if (!options_.quiet) Print(absl::StrCat(title, "\n"));
    for (size_t i = 0; i < checks.size(); ++i) {
      const CompareResult& result = checks[i].result;
      if (!result.equal) mismatch_ = true;
      if (options_.quiet) {
        if (!result.equal)
          PrintError(kProgram, absl::StrCat("output \"", checks[i].name, "\": ", result.message));
        continue;
      }
      std::string line =
          absl::StrCat("  ", checks[i].name, "  ", result.equal ? "right" : "DIFFERS", ": ");
      if (!result.equal) {
        line += result.message;
      } else {
        absl::StrAppend(&line, Describe(outputs[i]), ", ", result.elements, " elements");
        if (result.max_absolute > 0) {
          absl::StrAppend(&line, ", largest difference ", ShortDouble(result.max_absolute),
                          " (relative ", ShortDouble(result.max_relative), ")");
        }
      }
      Print(line + "\n");
      if (options_.verbose) Print(FormatValue("    got", outputs[i]));
    }
    return absl::OkStatus();
  }

  absl::Status PrintReports(const CastAudit& audit, const WhatIf& what_if, const Profiler& profiler,
                            const ValueDump* dump) const {
    if (options_.quiet) return absl::OkStatus();
    if (dump != nullptr) Print(dump->TableText());
    if (args_.Has("profile")) Print(profiler.TableText());
    if (args_.Has("cast-audit")) Print(audit.TableText());
    if (args_.Has("what-if")) Print(what_if.Text(session_->model(), options_.verbose));
    return absl::OkStatus();
  }

  const Args& args_;
  Options options_;
  Target target_;
  std::unique_ptr<const Session> session_;
  std::vector<std::string> wanted_;  // of --outputs; empty with "all" or without it
  bool mismatch_ = false;
  bool usage_error_ = false;
};

}  // namespace

int OnnxRunMain(int argc, char** argv) {
  const ArgParser parser = MakeParser();
  int exit_code = kExitOk;
  const std::optional<Args> args = parser.ParseOrExit(argc, argv, &exit_code);
  if (!args.has_value()) return exit_code;
  if (args->Has("version")) {
    Print(VersionText(kProgram, StandardRegistry()));
    return kExitOk;
  }
  if (args->Has("list-ops")) {
    Print(ListOpsText(StandardRegistry()));
    return kExitOk;
  }
  absl::StatusOr<Options> options = ReadOptions(*args);
  if (!options.ok()) {
    PrintError(kProgram, options.status().message());
    PrintError(kProgram, "try --help");
    return kExitUsage;
  }
  absl::StatusOr<Target> target = FindTarget(options->path);
  if (!target.ok()) {
    PrintError(kProgram, target.status().message());
    return ExitCodeOf(target.status());
  }
  return Runner(*args, *std::move(options), *std::move(target)).Run();
}

}  // namespace onnx_run::tools
