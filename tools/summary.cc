#include "tools/summary.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "tools/engine.h"
#include "tools/report.h"

#ifndef ONNX_RUN_VERSION
#define ONNX_RUN_VERSION "0.1.0"
#endif

namespace onnx_run::tools {
namespace {

using Align = Table::Align;

std::string DomainName(absl::string_view domain) {
  return domain.empty() ? "ai.onnx" : std::string(domain);
}

// How a node of the model is run.
enum class Implementation : uint8_t { kKernel, kBody, kLocalFunction, kNone };

struct OperatorUse {
  int64_t nodes = 0;
  int64_t opset = 0;
  Implementation implementation = Implementation::kNone;
};

using OperatorKey = std::pair<std::string, std::string>;  // domain, op type

std::map<OperatorKey, OperatorUse> OperatorUses(const Model& model, const OpRegistry& registry) {
  std::set<OperatorKey> local;
  for (const Function& function : model.functions) local.emplace(function.domain, function.name);
  std::map<OperatorKey, OperatorUse> uses;
  ForEachNode(model, [&](const Node& node, absl::Span<const OpsetImport> imports) {
    OperatorUse& use = uses[{node.domain, node.op_type}];
    if (use.nodes++ > 0) return;
    use.opset = OpsetOf(imports, node.domain);
    const OpRegistry::Found found = registry.Find(node.domain, node.op_type, use.opset);
    if (local.contains({node.domain, node.op_type})) {
      use.implementation = Implementation::kLocalFunction;
    } else if (found.kernel != nullptr) {
      use.implementation = Implementation::kKernel;
    } else if (found.schema != nullptr && found.schema->body != SchemaBody::kNone) {
      use.implementation = Implementation::kBody;
    }
  });
  return uses;
}

absl::string_view ImplementationName(Implementation implementation) {
  switch (implementation) {
    case Implementation::kKernel: return "kernel";
    case Implementation::kBody: return "the standard's function body";
    case Implementation::kLocalFunction: return "function of the model";
    case Implementation::kNone: return "NOT IMPLEMENTED";
  }
  return "?";
}

std::string OpsetsText(absl::Span<const OpsetImport> imports) {
  return absl::StrJoin(imports, ", ", [](std::string* out, const OpsetImport& import) {
    absl::StrAppend(out, DomainName(import.domain), " ", import.version);
  });
}

std::string ParametersText(const Model& model) {
  struct Total {
    int64_t tensors = 0, elements = 0, bytes = 0;
  };
  std::map<std::string, Total> by_type;
  Total all;
  for (const Initializer& initializer : model.graph.initializers) {
    if (!initializer.value.is_tensor()) continue;
    const Tensor& tensor = initializer.value.tensor();
    for (Total* total : {&by_type[std::string(TypeName(tensor.type()))], &all}) {
      ++total->tensors;
      total->elements += tensor.size();
      total->bytes += tensor.bytes();
    }
  }
  if (all.tensors == 0) return "parameters    none\n";
  std::string text = absl::StrCat("parameters    ", WithCommas(all.elements), " elements in ",
                                  all.tensors, " tensors, ", BytesText(all.bytes), "\n");
  Table table({"", "", "", ""}, {Align::kLeft, Align::kRight, Align::kRight, Align::kRight});
  for (const auto& [type, total] : by_type) {
    table.Row({type, absl::StrCat(total.tensors, " tensors"),
               absl::StrCat(WithCommas(total.elements), " elements"), BytesText(total.bytes)});
  }
  return text + table.ToString("  ");
}

std::string ValuesText(const char* title, const std::vector<ValueInfo>& values,
                       const std::set<std::string>& with_default) {
  Table table({"", "", ""});
  for (const ValueInfo& value : values) {
    table.Row(
        {value.name,
         value.type.kind == ValueKind::kAbsent ? "undeclared" : TypeToString(value.type, true),
         with_default.contains(value.name) ? "has a default" : ""});
  }
  return absl::StrCat(title, "\n", table.ToString("  "));
}

}  // namespace

std::string SummaryText(const Model& model, const OpRegistry& registry) {
  std::string text;
  absl::StrAppend(&text, "graph         ", model.graph.name, "\n");
  absl::StrAppend(&text, "IR version    ", model.ir_version, "\n");
  absl::StrAppend(&text, "opsets        ", OpsetsText(model.opset_imports), "\n");
  if (!model.producer_name.empty()) {
    absl::StrAppend(&text, "producer      ", model.producer_name, " ", model.producer_version,
                    "\n");
  }
  for (const auto& [key, value] : model.metadata)
    absl::StrAppend(&text, "metadata      ", key, " = ", value, "\n");
  std::set<std::string> initialized;
  for (const Initializer& initializer : model.graph.initializers)
    initialized.insert(initializer.name);
  absl::StrAppend(&text, ValuesText("inputs", model.graph.inputs, initialized));
  absl::StrAppend(&text, ValuesText("outputs", model.graph.outputs, {}));
  absl::StrAppend(&text, ParametersText(model));

  const std::map<OperatorKey, OperatorUse> uses = OperatorUses(model, registry);
  int64_t nodes = 0;
  std::vector<std::pair<OperatorKey, OperatorUse>> sorted(uses.begin(), uses.end());
  for (const auto& [key, use] : sorted) nodes += use.nodes;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.nodes > b.second.nodes; });
  absl::StrAppend(
      &text, "nodes         ", WithCommas(nodes), " of ", uses.size(), " operators",
      model.functions.empty() ? "" : absl::StrCat(", ", model.functions.size(), " functions"),
      "\n");
  Table table({"operator", "nodes", "opset", "run by"},
              {Align::kLeft, Align::kRight, Align::kRight, Align::kLeft});
  std::vector<std::string> missing;
  for (const auto& [key, use] : sorted) {
    const std::string name =
        key.first.empty() ? key.second : absl::StrCat(key.first, ".", key.second);
    table.Row({name, absl::StrCat(use.nodes), use.opset == 0 ? "-" : absl::StrCat(use.opset),
               std::string(ImplementationName(use.implementation))});
    if (use.implementation == Implementation::kNone) missing.push_back(name);
  }
  if (!sorted.empty()) text += table.ToString("  ");
  if (missing.empty()) {
    text += "every operator is implemented\n";
  } else {
    absl::StrAppend(&text, "not implemented: ", absl::StrJoin(missing, ", "), "\n");
  }
  return text;
}

std::string ListOpsText(const OpRegistry& registry) {
  std::map<OperatorKey, std::vector<int>> versions;
  for (const KernelDef* kernel : registry.kernels()) {
    versions[OperatorKey(std::string(kernel->domain), std::string(kernel->op_type))].push_back(
        kernel->since_version);
  }
  Table table(
      {"domain", "operator", "since versions with a kernel", "of the standard's", "function body"});
  std::string shares;
  if (registry.schemas() == nullptr) {
    for (const auto& [key, list] : versions) {
      table.Row({DomainName(key.first), key.second, absl::StrJoin(list, " "), "", ""});
    }
    return table.ToString();
  }
  struct Share {
    int64_t operators = 0, kernels = 0, bodies = 0;
    int64_t rows = 0, kernel_rows = 0;
  };
  std::map<std::string, Share> by_domain;
  std::map<OperatorKey, std::vector<const OpSchema*>> standard;
  for (const OpSchema& schema : registry.schemas()->schemas) {
    standard[OperatorKey(std::string(schema.domain), std::string(schema.op_type))].push_back(
        &schema);
  }
  for (const auto& [key, schemas] : standard) {
    const OpSchema& latest = *schemas.back();
    const auto found = versions.find(key);
    const std::vector<int> kernels = found == versions.end() ? std::vector<int>() : found->second;
    Share& share = by_domain[key.first];
    const bool latest_has_kernel =
        std::find(kernels.begin(), kernels.end(), latest.since_version) != kernels.end();
    // Operators that the standard took back do not count.
    if (!latest.deprecated) {
      ++share.operators;
      share.kernels += latest_has_kernel ? 1 : 0;
      share.bodies += !latest_has_kernel && latest.body != SchemaBody::kNone ? 1 : 0;
    }
    share.rows += static_cast<int64_t>(schemas.size());
    share.kernel_rows += static_cast<int64_t>(kernels.size());
    if (kernels.empty() && latest.body == SchemaBody::kNone) continue;
    table.Row({DomainName(key.first), key.second,
               kernels.empty() ? "-" : absl::StrJoin(kernels, " "),
               absl::StrCat(kernels.size(), " of ", schemas.size()),
               latest.body == SchemaBody::kNone ? "" : "yes"});
  }
  for (const auto& [key, list] : versions) {
    if (!standard.contains(key))
      table.Row({DomainName(key.first), key.second, absl::StrJoin(list, " "), "", ""});
  }
  for (const auto& [domain, share] : by_domain) {
    const int64_t run = share.kernels + share.bodies;
    absl::StrAppend(
        &shares, DomainName(domain), ": ", run, " of ", share.operators, " operators (",
        absl::StrFormat("%.0f", 100.0 * static_cast<double>(run) /
                                    static_cast<double>(std::max<int64_t>(1, share.operators))),
        " %) run at their newest version, ", share.kernels, " by a kernel and ", share.bodies,
        " by their function body; ", share.kernel_rows, " of ", share.rows,
        " versions of operators have a kernel\n");
  }
  return absl::StrCat(table.ToString(), "\n", shares);
}

std::string VersionText(const std::string& program, const OpRegistry& registry) {
  std::string text = absl::StrCat(program, " ", ONNX_RUN_VERSION, "\n");
  const SchemaTable* schemas = registry.schemas();
  if (schemas == nullptr) return text;
  absl::StrAppend(&text, "onnx ", schemas->onnx_version, "\nIR version up to ",
                  schemas->max_ir_version, "\n");
  for (const SchemaDomain& domain : schemas->domains) {
    absl::StrAppend(&text, "opset of ", DomainName(domain.domain), " ", domain.min_version, " to ",
                    domain.max_version, "\n");
  }
  return text;
}

}  // namespace onnx_run::tools
