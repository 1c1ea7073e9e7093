#include "tools/engine.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "ops/all_ops.h"
#include "proto/standard/function_bodies.h"
#include "proto/values.h"
#include "runtime/status_macros.h"
#include "tools/files.h"
#include "tools/npy.h"

namespace onnx_run::tools {
namespace {

using NodeFn = absl::FunctionRef<void(const Node&, absl::Span<const OpsetImport>)>;

void VisitNodes(absl::Span<const Node> nodes, absl::Span<const OpsetImport> imports, NodeFn fn) {
  for (const Node& node : nodes) {
    fn(node, imports);
    for (const Attribute& attribute : node.attributes) {
      for (const std::shared_ptr<const Graph>& graph : attribute.graphs) {
        if (graph != nullptr) VisitNodes(graph->nodes, imports, fn);
      }
    }
  }
}

std::string QualifiedName(absl::string_view domain, absl::string_view op_type) {
  return domain.empty() ? std::string(op_type) : absl::StrCat(domain, ".", op_type);
}

// "input_12.pb" -> {"input", 12}.
std::optional<std::pair<std::string, size_t>> NumberedName(absl::string_view name) {
  const size_t dot = name.rfind('.');
  if (dot == absl::string_view::npos) return std::nullopt;
  const absl::string_view extension = name.substr(dot);
  if (extension != ".pb" && extension != ".npy") return std::nullopt;
  const size_t underscore = name.substr(0, dot).rfind('_');
  if (underscore == absl::string_view::npos) return std::nullopt;
  uint32_t number = 0;
  if (!absl::SimpleAtoi(name.substr(underscore + 1, dot - underscore - 1), &number) ||
      number > 100000) {
    return std::nullopt;
  }
  return std::make_pair(std::string(name.substr(0, underscore)), size_t{number});
}

}  // namespace

const OpRegistry& StandardRegistry() {
  static const OpRegistry* const kRegistry = new OpRegistry(AllKernels(), &StandardSchemas());
  return *kRegistry;
}

SessionOptions DefaultSessionOptions() {
  SessionOptions options;
  options.function_provider = StandardFunctions();
  return options;
}

absl::Status Annotate(const absl::Status& status, absl::string_view what) {
  if (status.ok()) return status;
  return {status.code(), absl::StrCat(what, ": ", status.message())};
}

void ForEachNode(const Model& model, NodeFn fn) {
  VisitNodes(model.graph.nodes, model.opset_imports, fn);
  for (const Function& function : model.functions) {
    VisitNodes(function.nodes,
               function.opset_imports.empty() ? model.opset_imports : function.opset_imports, fn);
  }
}

int64_t OpsetOf(absl::Span<const OpsetImport> imports, absl::string_view domain) {
  int64_t version = 0;
  for (const OpsetImport& import : imports) {
    if (import.domain == domain) version = std::max(version, import.version);
  }
  return version;
}

std::set<std::string> MissingOperators(const Model& model, const OpRegistry& registry) {
  absl::flat_hash_set<std::pair<std::string, std::string>> local;
  for (const Function& function : model.functions) local.emplace(function.domain, function.name);
  std::set<std::string> missing;
  ForEachNode(model, [&](const Node& node, absl::Span<const OpsetImport> imports) {
    if (local.contains(std::make_pair(node.domain, node.op_type))) return;
    const int64_t opset = OpsetOf(imports, node.domain);
    const OpRegistry::Found found = registry.Find(node.domain, node.op_type, opset);
    if (found.kernel != nullptr) return;
    if (found.schema != nullptr && found.schema->body != SchemaBody::kNone) return;
    missing.insert(absl::StrCat(QualifiedName(node.domain, node.op_type), "-",
                                found.schema != nullptr ? found.schema->since_version : opset));
  });
  return missing;
}

std::vector<std::pair<std::string, int64_t>> OperatorCounts(const Model& model) {
  std::map<std::string, int64_t> counts;
  ForEachNode(model, [&](const Node& node, absl::Span<const OpsetImport>) {
    ++counts[QualifiedName(node.domain, node.op_type)];
  });
  std::vector<std::pair<std::string, int64_t>> sorted(counts.begin(), counts.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return sorted;
}

absl::StatusOr<Value> ReadAnyValueFile(const std::string& path, const std::string& name,
                                       const Type& declared) {
  if (absl::EndsWith(path, ".npy") || absl::EndsWith(path, ".npz")) {
    absl::StatusOr<std::string> bytes = ReadFile(path);
    RETURN_IF_ERROR(bytes.status());
    std::string content = *std::move(bytes);
    if (absl::EndsWith(path, ".npz")) {
      auto members = ParseNpz(content);
      RETURN_IF_ERROR(Annotate(members.status(), path));
      const auto member = std::find_if(members->begin(), members->end(),
                                       [&](const auto& m) { return m.first == name; });
      if (member != members->end()) {
        content = std::move(member->second);
      } else if (members->size() == 1) {
        content = std::move(members->front().second);
      } else {
        std::string names;
        for (const auto& m : *members) absl::StrAppend(&names, names.empty() ? "" : ", ", m.first);
        return absl::NotFoundError(
            absl::StrCat(path, " has no array \"", name, "\"; it holds: ", names));
      }
    }
    const bool optional = declared.kind == ValueKind::kOptional && declared.inner != nullptr;
    absl::StatusOr<Tensor> tensor =
        ParseNpy(content, optional ? declared.inner->element : declared.element);
    RETURN_IF_ERROR(Annotate(tensor.status(), path));
    return Value(*std::move(tensor));
  }
  return ReadValueFile(path, declared);
}

absl::StatusOr<TestDataSet> ReadTestDataSet(const std::string& path) {
  TestDataSet set;
  set.path = path;
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(path));
  for (const std::string& name : names) {
    const auto numbered = NumberedName(name);
    if (!numbered.has_value()) continue;
    std::vector<std::string>* list = numbered->first == "input"    ? &set.inputs
                                     : numbered->first == "output" ? &set.outputs
                                                                   : nullptr;
    if (list == nullptr) continue;
    if (list->size() <= numbered->second) list->resize(numbered->second + 1);
    (*list)[numbered->second] = JoinPath(path, name);
  }
  return set;
}

absl::StatusOr<std::vector<TestDataSet>> FindTestDataSets(const std::string& directory) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(directory));
  std::vector<std::pair<int64_t, std::string>> found;
  for (const std::string& name : names) {
    constexpr absl::string_view kPrefix = "test_data_set_";
    int64_t number = 0;
    if (!absl::StartsWith(name, kPrefix) ||
        !absl::SimpleAtoi(absl::string_view(name).substr(kPrefix.size()), &number)) {
      continue;
    }
    if (IsDirectory(JoinPath(directory, name)))
      found.emplace_back(number, JoinPath(directory, name));
  }
  std::sort(found.begin(), found.end());
  std::vector<TestDataSet> sets;
  for (const auto& [number, path] : found) {
    ASSIGN_OR_RETURN(TestDataSet set, ReadTestDataSet(path));
    sets.push_back(std::move(set));
  }
  return sets;
}

absl::Status ReadDataJson(const std::string& path, double* rtol, double* atol) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  // The file is one flat object; only its two numbers matter here.
  for (const auto& [key, value] :
       {std::make_pair("\"rtol\"", rtol), std::make_pair("\"atol\"", atol)}) {
    size_t at = text.find(key);
    if (at == std::string::npos) continue;
    at = text.find_first_not_of(" \t\r\n:", at + absl::string_view(key).size());
    const size_t end = text.find_first_of(",} \t\r\n", at);
    double number = 0;
    if (at == std::string::npos || end == std::string::npos ||
        !absl::SimpleAtod(absl::string_view(text).substr(at, end - at), &number) ||
        !std::isfinite(number) || number < 0) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": ", key, " is not a number"));
    }
    *value = number;
  }
  return absl::OkStatus();
}

}  // namespace onnx_run::tools
