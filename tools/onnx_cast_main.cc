// The program onnx-cast: shows what Cast does to a value, bit by bit.
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ops/all_ops.h"
#include "runtime/convert/convert.h"
#include "runtime/status_macros.h"
#include "tools/args.h"
#include "tools/engine.h"
#include "tools/exit_code.h"
#include "tools/explain_cast.h"
#include "tools/literal.h"
#include "tools/report.h"
#include "tools/summary.h"

namespace onnx_run::tools {
namespace {

constexpr const char* kProgram = "onnx-cast";

ArgParser MakeParser() {
  ArgParser parser(kProgram, "VALUE... --to TYPE [flags]",
                   "Shows what ONNX's Cast does to values. A VALUE is a number in decimal, inf, "
                   "nan, or 0x and the\n"
                   "bit pattern of the source type.");
  parser.Value("from", "TYPE", "source type (default float; string reads VALUE as text)");
  parser.Value("to", "TYPE", "destination type");
  parser.Switch("all", "every destination type, one line each");
  parser.Value("saturate", "0|1", "of float8 destinations (default 1)");
  parser.Value("round-mode", "up|down|nearest", "of float8e8m0 destinations (default up)");
  parser.Value("opset", "N", "version of the standard (default: the newest)");
  parser.Switch("version", "print versions of this program and of the standard");
  parser.Epilog(
      "Bits are shown as sign|exponent|mantissa. Example: onnx-cast 1.1 500 --to float8e4m3fn "
      "--saturate 0");
  return parser;
}

struct Options {
  ElementType from = ElementType::kFloat;
  ElementType to = ElementType::kUndefined;
  ConvertOptions convert;
  int64_t opset = 0;
};

absl::StatusOr<ElementType> ReadType(const Args& args, const char* flag,
                                     absl::string_view fallback) {
  const std::string name = args.Get(flag, fallback);
  const std::optional<ElementType> type = ParseElementType(name);
  if (!type.has_value() || KindOf(*type) == ElementKind::kComplex) {
    return absl::InvalidArgumentError(
        absl::StrCat("--", flag, " \"", name, "\" is not a type that Cast takes"));
  }
  return *type;
}

// The opset that first takes `type`, for the message.
absl::Status CheckType(const OpSchema& schema, const SchemaParameter* parameter, ElementType type,
                       int64_t opset) {
  if (parameter == nullptr || StandardSchemas().TypesOf(*parameter).tensor.Has(type))
    return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "Cast of opset ", opset, " (version ", schema.since_version, ") does not take ",
      TypeName(type), ": it does from opset ", static_cast<int>(InfoOf(type).first_opset), " on"));
}

absl::StatusOr<Options> ReadOptions(const Args& args) {
  Options options;
  if (args.positional().empty()) return absl::InvalidArgumentError("which value?");
  if (args.Has("all") == args.Has("to"))
    return absl::InvalidArgumentError("give either --to TYPE or --all");
  ASSIGN_OR_RETURN(options.from, ReadType(args, "from", "float"));
  if (args.Has("to")) {
    ASSIGN_OR_RETURN(options.to, ReadType(args, "to", ""));
  }
  ASSIGN_OR_RETURN(const int64_t saturate, args.Int("saturate", 1, 0, 1));
  options.convert.saturate = saturate == 1;
  const std::string mode = args.Get("round-mode", "up");
  if (mode != "up" && mode != "down" && mode != "nearest") {
    return absl::InvalidArgumentError(
        absl::StrCat("--round-mode is \"", mode, "\", expected up, down or nearest"));
  }
  options.convert.round_mode = mode == "up"     ? RoundMode::kUp
                               : mode == "down" ? RoundMode::kDown
                                                : RoundMode::kNearest;
  const SchemaDomain* domain = StandardSchemas().FindDomain("");
  const int64_t newest = domain != nullptr ? domain->max_version : 25;
  ASSIGN_OR_RETURN(options.opset, args.Int("opset", newest, 1, newest));
  const OpSchema* schema = StandardSchemas().Find("", "Cast", options.opset);
  if (schema == nullptr) return options;
  RETURN_IF_ERROR(CheckType(*schema, schema->Input(0), options.from, options.opset));
  if (options.to != ElementType::kUndefined) {
    RETURN_IF_ERROR(CheckType(*schema, schema->Output(0), options.to, options.opset));
  }
  for (const char* attribute : {"saturate", "round_mode"}) {
    const std::string flag =
        attribute == absl::string_view("round_mode") ? "round-mode" : attribute;
    if (args.Has(flag) && schema->FindAttribute(attribute) == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("Cast of opset ", options.opset, " has no attribute ", attribute));
    }
  }
  return options;
}

absl::Status Explain(const std::string& value, const Options& options) {
  const ElementType from = options.from;
  if (from == ElementType::kString) {
    if (options.to == ElementType::kUndefined || options.to == ElementType::kString) {
      return absl::InvalidArgumentError("from string, give the --to of a number");
    }
    ASSIGN_OR_RETURN(const std::string explanation,
                     ExplainText(value, options.to, options.convert));
    Print(explanation);
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const uint64_t code, ParseCode(value, from));
  Print(AnotherNumber(value, code, from));
  Print(options.to == ElementType::kUndefined
            ? CastToAll(code, from, options.convert, options.opset)
            : ExplainCast(code, from, options.to, options.convert));
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  const ArgParser parser = MakeParser();
  int exit_code = kExitOk;
  const std::optional<Args> args = parser.ParseOrExit(argc, argv, &exit_code);
  if (!args.has_value()) return exit_code;
  if (args->Has("version")) {
    Print(VersionText(kProgram, StandardRegistry()));
    return kExitOk;
  }
  const absl::StatusOr<Options> options = ReadOptions(*args);
  if (!options.ok()) {
    PrintError(kProgram, options.status().message());
    return kExitUsage;
  }
  bool first = true;
  for (const std::string& value : args->positional()) {
    if (!first) Print("\n");
    first = false;
    const absl::Status status = Explain(value, *options);
    if (!status.ok()) {
      PrintError(kProgram, status.message());
      return ExitCodeOf(status);
    }
  }
  return kExitOk;
}

}  // namespace
}  // namespace onnx_run::tools

int main(int argc, char** argv) { return onnx_run::tools::Main(argc, argv); }
