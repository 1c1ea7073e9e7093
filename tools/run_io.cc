#include "tools/run_io.h"

#include <algorithm>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "proto/values.h"
#include "runtime/status_macros.h"
#include "tools/files.h"
#include "tools/literal.h"
#include "tools/npy.h"

namespace onnx_run::tools {
namespace {

bool IsValueFileName(const std::string& text) {
  return absl::EndsWith(text, ".pb") || absl::EndsWith(text, ".npy") ||
         absl::EndsWith(text, ".npz");
}

std::vector<std::string> InputNames(const Session& session) {
  std::vector<std::string> names;
  for (const Session::Input& input : session.inputs()) names.push_back(input.name);
  return names;
}

// The tensor that a .npy can hold, also out of an optional.
const Tensor* TensorOf(const Value& value) {
  if (value.is_tensor()) return &value.tensor();
  if (value.kind() == ValueKind::kOptional && value.optional().element != nullptr) {
    return TensorOf(*value.optional().element);
  }
  return nullptr;
}

absl::Status ReadNpzInputs(const Session& session, const std::string& path,
                           std::vector<Value>& values) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
  auto members = ParseNpz(bytes);
  RETURN_IF_ERROR(Annotate(members.status(), path));
  for (const auto& [name, content] : *members) {
    bool known = false;
    for (size_t i = 0; i < values.size(); ++i) {
      const Session::Input& input = session.inputs()[i];
      if (input.name != name) continue;
      known = true;
      absl::StatusOr<Tensor> tensor = ParseNpy(content, input.type.element);
      RETURN_IF_ERROR(Annotate(tensor.status(), absl::StrCat(path, ", array \"", name, "\"")));
      values[i] = Value(*std::move(tensor));
    }
    if (!known)
      return UnknownName(absl::StrCat("array of ", path, " is not an input"), name,
                         InputNames(session));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<std::pair<std::string, std::string>>> ParseAssignments(
    absl::string_view flag, const std::vector<std::string>& texts) {
  std::vector<std::pair<std::string, std::string>> assignments;
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("--", flag, " takes NAME=VALUE, got \"", text, "\""));
    }
    assignments.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return assignments;
}

absl::StatusOr<std::map<std::string, int64_t>> ParseDims(const std::vector<std::string>& texts) {
  ASSIGN_OR_RETURN(const auto assignments, ParseAssignments("dim", texts));
  std::map<std::string, int64_t> dims;
  for (const auto& [name, text] : assignments) {
    int64_t size = 0;
    if (!absl::SimpleAtoi(text, &size) || size < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("--dim ", name, " takes a size, got \"", text, "\""));
    }
    dims[name] = size;
  }
  return dims;
}

absl::Status UnknownName(absl::string_view what, absl::string_view name,
                         const std::vector<std::string>& known) {
  constexpr size_t kShown = 40;
  std::vector<std::string> shown(
      known.begin(), known.begin() + static_cast<std::ptrdiff_t>(std::min(kShown, known.size())));
  std::string list = absl::StrJoin(shown, ", ");
  if (known.size() > kShown) absl::StrAppend(&list, ", ... (", known.size(), " in all)");
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", name, "\" ", what, " of the model; it has: ", known.empty() ? "none" : list));
}

absl::Status ReadInputs(const Session& session, const std::vector<std::string>& texts,
                        std::vector<Value>& values) {
  std::vector<std::string> assignments;
  for (const std::string& text : texts) {
    if (absl::EndsWith(text, ".npz") && text.find('=') == std::string::npos) {
      RETURN_IF_ERROR(ReadNpzInputs(session, text, values));
    } else {
      assignments.push_back(text);
    }
  }
  ASSIGN_OR_RETURN(const auto parsed, ParseAssignments("input", assignments));
  for (const auto& [name, text] : parsed) {
    const auto found =
        std::find_if(session.inputs().begin(), session.inputs().end(),
                     [name = name](const Session::Input& input) { return input.name == name; });
    if (found == session.inputs().end())
      return UnknownName("is not an input", name, InputNames(session));
    absl::StatusOr<Value> value = IsValueFileName(text) ? ReadAnyValueFile(text, name, found->type)
                                                        : ParseLiteral(text, found->type);
    RETURN_IF_ERROR(Annotate(value.status(), absl::StrCat("input \"", name, "\"")));
    values[static_cast<size_t>(found - session.inputs().begin())] = *std::move(value);
  }
  return absl::OkStatus();
}

absl::StatusOr<OutputFormat> ParseOutputFormat(absl::string_view text) {
  if (text == "pb") return OutputFormat::kPb;
  if (text == "npy") return OutputFormat::kNpy;
  if (text == "npz") return OutputFormat::kNpz;
  return absl::InvalidArgumentError(
      absl::StrCat("--output-format is \"", text, "\", expected pb, npy or npz"));
}

absl::Status WriteOutputs(StagedDirectory& staged, OutputFormat format,
                          absl::Span<const NamedValue> outputs) {
  std::vector<std::pair<std::string, Tensor>> arrays;
  std::set<std::string> used;
  int position = 0;
  for (const auto& [name, value] : outputs) {
    if (format == OutputFormat::kPb) {
      const std::string file = staged.PathOf(absl::StrCat("output_", position++, ".pb"));
      RETURN_IF_ERROR(
          Annotate(WriteValueFile(file, name, value), absl::StrCat("output \"", name, "\"")));
      continue;
    }
    const Tensor* tensor = TensorOf(value);
    if (tensor == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("output \"", name, "\" is ", Describe(value),
                       ", that numpy's files cannot hold; use --output-format pb"));
    }
    if (format == OutputFormat::kNpz) {
      arrays.emplace_back(name, *tensor);
      continue;
    }
    absl::StatusOr<std::string> bytes = SerializeNpy(*tensor);
    RETURN_IF_ERROR(Annotate(bytes.status(), absl::StrCat("output \"", name, "\"")));
    std::string file = SafeFileName(name);
    while (!used.insert(file).second) file += "_";
    RETURN_IF_ERROR(WriteFileAtomically(staged.PathOf(file + ".npy"), *bytes));
  }
  if (format == OutputFormat::kNpz) {
    ASSIGN_OR_RETURN(const std::string bytes, SerializeNpz(arrays));
    RETURN_IF_ERROR(WriteFileAtomically(staged.PathOf("outputs.npz"), bytes));
  }
  return staged.Commit();
}

absl::StatusOr<Value> ReadExpected(const std::string& directory, const std::string& name,
                                   int position, const Type& type) {
  const std::string safe = SafeFileName(name);
  for (const std::string& file :
       {absl::StrCat(safe, ".pb"), absl::StrCat(safe, ".npy"),
        absl::StrCat("output_", position, ".pb"), absl::StrCat("output_", position, ".npy"),
        std::string("outputs.npz")}) {
    const std::string path = JoinPath(directory, file);
    if (FileExists(path)) return ReadAnyValueFile(path, name, type);
  }
  return absl::NotFoundError(absl::StrCat(directory, " holds no ", safe, ".pb, ", safe,
                                          ".npy, output_", position,
                                          ".pb or outputs.npz for output \"", name, "\""));
}

}  // namespace onnx_run::tools
