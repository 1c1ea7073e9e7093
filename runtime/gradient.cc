#include "runtime/gradient.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "runtime/node_checks.h"
#include "runtime/status_macros.h"

namespace onnx_run {
namespace {

constexpr absl::string_view kTrainingDomain = "ai.onnx.preview.training";

using NameSet = absl::flat_hash_set<absl::string_view>;

bool IsGradient(const Node& node) {
  return node.op_type == "Gradient" && node.domain == kTrainingDomain;
}

int64_t OpsetOf(absl::Span<const OpsetImport> imports, absl::string_view domain) {
  int64_t version = 0;
  for (const OpsetImport& import : imports) {
    if (import.domain == domain) version = std::max(version, import.version);
  }
  return version;
}

// The standard's own domain has a name in those made from it: "gradient of ai.onnx".
std::string DomainName(absl::string_view domain) {
  return domain.empty() ? "ai.onnx" : std::string(domain);
}
std::string DomainAfter(absl::string_view prefix, absl::string_view domain) {
  const absl::string_view rest = absl::StripPrefix(domain, prefix);
  return rest == "ai.onnx" ? "" : std::string(rest);
}

Node Canonical(Node node) {
  node.domain = std::string(CanonicalDomain(node.domain));
  return node;
}

// Calls fn with each name that a node reads, its subgraphs included.
template <typename Fn>
void ForEachRead(const Node& node, FreeNames& free_names, Fn&& fn) {
  for (const std::string& name : node.inputs) {
    if (!name.empty()) fn(absl::string_view(name));
  }
  for (const Attribute& attribute : node.attributes) {
    for (const auto& graph : attribute.graphs) {
      for (absl::string_view name : free_names.Of(*graph)) fn(name);
    }
  }
}

using Writers = absl::flat_hash_map<absl::string_view, int>;

Writers WritersOf(absl::Span<const Node> nodes) {
  Writers writers;
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const std::string& output : nodes[i].outputs) {
      if (!output.empty()) writers[output] = static_cast<int>(i);
    }
  }
  return writers;
}

// Indices of the nodes that `targets` are computed by from the names in `stops` and from what no
// node writes; each after those it reads from. `meet` is called before a node's inputs are looked
// at.
absl::StatusOr<std::vector<int>> NodesBefore(absl::Span<const Node> nodes, const Writers& writers,
                                             absl::Span<const std::string> targets,
                                             const NameSet& stops, FreeNames& free_names,
                                             absl::FunctionRef<absl::Status(int)> meet) {
  std::vector<int> order;
  std::vector<bool> met(nodes.size(), false);
  std::vector<std::pair<int, bool>> stack;  // node; whether those it reads from have been done
  const auto push = [&](absl::string_view name) {
    if (stops.contains(name)) return;
    const auto writer = writers.find(name);
    if (writer != writers.end() && !met[writer->second]) stack.emplace_back(writer->second, false);
  };
  for (const std::string& target : targets) push(target);
  while (!stack.empty()) {
    const auto [index, done] = stack.back();
    stack.pop_back();
    if (done) {
      order.push_back(index);
      continue;
    }
    if (met[index]) continue;
    met[index] = true;
    RETURN_IF_ERROR(meet(index));
    stack.emplace_back(index, true);
    ForEachRead(nodes[index], free_names, push);
  }
  return order;
}

absl::Status At(const NodeInfo& info, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(info.Describe(), ": ", status.message()));
}

// The node whose derivative `node`, of domain "gradient of ...", calls.
Node ForwardOf(const Node& node) {
  const size_t inputs = node.outputs.size();
  const size_t outputs = (node.inputs.size() - inputs) / 2;
  Node forward;
  forward.name = node.name;
  forward.domain = DomainAfter(kGradientOf, node.domain);
  forward.op_type = node.op_type;
  forward.overload = node.overload;
  forward.attributes = node.attributes;
  forward.inputs.assign(node.inputs.begin(), node.inputs.begin() + inputs);
  forward.outputs.assign(node.inputs.begin() + inputs, node.inputs.begin() + inputs + outputs);
  return forward;
}

Attribute DefaultOf(const SchemaAttribute& row) {
  Attribute attribute;
  attribute.name = std::string(row.name);
  attribute.kind = row.kind;
  attribute.i = row.i;
  attribute.f = row.f;
  attribute.s = std::string(row.s);
  if (row.ints != nullptr) attribute.ints.assign(row.ints, row.ints + row.count);
  if (row.floats != nullptr) attribute.floats.assign(row.floats, row.floats + row.count);
  if (row.strings != nullptr) attribute.strings.assign(row.strings, row.strings + row.count);
  return attribute;
}

Node HelperCall(absl::string_view helper, std::vector<std::string> inputs, std::string output) {
  Node node;
  node.domain = std::string(kGradientHelpers);
  node.op_type = std::string(helper);
  node.inputs = std::move(inputs);
  node.outputs = {std::move(output)};
  return node;
}

}  // namespace

// Nodes of a graph or function that a value is computed by, those that others read from first.
struct Gradients::Region {
  std::vector<Node> nodes;
  std::vector<int> indices;  // in their graph
  FreeNames* free_names;
};

struct Gradients::Expansion {
  absl::Span<const Node> original;  // what names are looked at: it does not move
  std::vector<Node>& nodes;
  std::vector<uint8_t> busy;  // 1: being expanded, 2: expanded
  const Writers& writers;
  absl::Span<const OpsetImport> imports;
  absl::FunctionRef<bool(absl::string_view)> has_value;
  FreeNames& free_names;
  const std::string& path;
};

// New names in a function that has others already.
class Gradients::Names {
 public:
  void Avoid(absl::string_view name) {
    while (absl::StartsWith(name, prefix_)) prefix_ += '#';
  }
  void Avoid(const Node& node) {
    for (const std::string& name : node.inputs) Avoid(name);
    for (const std::string& name : node.outputs) Avoid(name);
  }
  std::string New() { return absl::StrCat(prefix_, next_++); }

 private:
  std::string prefix_ = "gradient#";
  int next_ = 0;
};

const GradientRules* Gradients::Rules() const {
  const KernelDef* kernel = registry_.Find(kTrainingDomain, "Gradient", 1).kernel;
  return kernel == nullptr || kernel->gradient == nullptr ? nullptr : &kernel->gradient();
}

const GradientRule* Gradients::FindRule(absl::string_view domain, absl::string_view op_type) const {
  for (const GradientRule& rule : Rules()->rules) {
    if (rule.op_type == op_type && rule.domain == domain) return &rule;
  }
  return nullptr;
}

Function& Gradients::NewFunction(const Node& node) {
  Function& function = own_.emplace_back();
  written_.insert(&function);
  function.domain = node.domain;
  function.name = node.op_type;
  function.overload = node.overload;
  return function;
}

bool Gradients::Concerns(absl::Span<const Node> nodes,
                         absl::Span<const OpsetImport> imports) const {
  if (OpsetOf(imports, kTrainingDomain) == 0 || Rules() == nullptr) return false;
  return std::any_of(nodes.begin(), nodes.end(), [&](const Node& node) {
    return IsGradient(node) &&
           !functions_.contains(FunctionKey(node.domain, node.op_type, node.overload));
  });
}

absl::StatusOr<absl::Span<const Node>> Gradients::Expand(
    absl::Span<const Node> nodes, absl::Span<const OpsetImport> imports,
    absl::FunctionRef<bool(absl::string_view)> has_value, FreeNames& free_names,
    const std::string& path) {
  std::vector<Node>& result = expanded_.emplace_back(nodes.begin(), nodes.end());
  const Writers writers = WritersOf(nodes);
  Expansion expansion{nodes,      result,  std::vector<uint8_t>(nodes.size()),
                      writers,    imports, has_value,
                      free_names, path};
  for (size_t i = 0; i < nodes.size(); ++i) {
    RETURN_IF_ERROR(ExpandNode(static_cast<int>(i), 0, expansion));
  }
  return absl::MakeConstSpan(result);
}

absl::Status Gradients::ExpandNode(int index, int depth, Expansion& e) {
  Node& node = e.nodes[index];
  if (!IsGradient(node) || e.busy[index] == 2 ||
      functions_.contains(FunctionKey(node.domain, node.op_type, node.overload))) {
    return absl::OkStatus();
  }
  NodeInfo info;
  info.node_ = &node;
  info.index_ = index;
  info.graph_path_ = &e.path;
  info.opset_ = OpsetOf(e.imports, node.domain);
  info.schema_ = registry_.Find(node.domain, node.op_type, info.opset_).schema;
  const auto fail = [&](const std::string& message) {
    return At(info, absl::InvalidArgumentError(message));
  };
  if (e.busy[index] == 1) return fail("its y depends on its own outputs");
  if (depth >= options_.max_nesting) {
    return fail(absl::StrCat("more than ", options_.max_nesting, " gradients of each other"));
  }
  e.busy[index] = 1;
  if (info.schema_ != nullptr) RETURN_IF_ERROR(At(info, CheckArityAndAttributes(info)));
  for (const Attribute& attribute : node.attributes) {
    if (attribute.ref_attr_name.empty()) continue;
    return fail(absl::StrCat("attribute \"", attribute.name,
                             "\" is that of the function; expected names of tensors"));
  }
  const std::vector<std::string> xs = info.Strings("xs");
  const std::vector<std::string> zs = info.Strings("zs");
  const std::string y = info.StringOr("y", "");
  if (node.inputs.size() != xs.size() + zs.size()) {
    return fail(absl::StrCat(node.inputs.size(), " inputs given, expected one for each of the ",
                             xs.size(), " names in \"xs\" and the ", zs.size(), " in \"zs\""));
  }
  if (node.outputs.size() > xs.size()) {
    return fail(absl::StrCat(node.outputs.size(),
                             " outputs given, expected at most one for each of ", "the ", xs.size(),
                             " names in \"xs\""));
  }

  std::vector<std::string> independent = xs;
  independent.insert(independent.end(), zs.begin(), zs.end());
  const auto exists = [&](const std::string& name) {
    return e.writers.contains(name) || e.has_value(name);
  };
  NameSet stops;
  for (size_t i = 0; i < independent.size(); ++i) {
    const absl::string_view attribute = i < xs.size() ? "xs" : "zs";
    if (!exists(independent[i])) {
      return fail(absl::StrCat("attribute \"", attribute, "\" has \"", independent[i],
                               "\", expected the name of a tensor of this graph"));
    }
    if (!stops.insert(independent[i]).second) {
      return fail(absl::StrCat("attribute \"", attribute, "\" has \"", independent[i],
                               "\", which stands in \"xs\" or \"zs\" before"));
    }
  }
  if (!exists(y)) {
    return fail(absl::StrCat("attribute \"y\" is \"", y,
                             "\", expected the name of a tensor of this graph"));
  }

  // The nodes that y depends on xs and zs by. Gradient nodes among them become calls first.
  ASSIGN_OR_RETURN(const std::vector<int> before,
                   NodesBefore(e.nodes, e.writers, {&y, 1}, stops, e.free_names,
                               [&](int i) { return ExpandNode(i, depth + 1, e); }));
  Region region;
  region.free_names = &e.free_names;
  NameSet reached = stops;
  Names names;
  for (int i : before) {
    const Node& part = e.nodes[i];
    bool depends = false;
    ForEachRead(part, e.free_names,
                [&](absl::string_view name) { depends = depends || reached.contains(name); });
    if (!depends) continue;
    region.nodes.push_back(Canonical(part));
    region.indices.push_back(i);
    names.Avoid(part);
    reached.insert(e.original[i].outputs.begin(), e.original[i].outputs.end());
  }
  for (const std::string& name : independent) names.Avoid(name);
  // At the values that the graph has anyway, what it computes is there; elsewhere it is computed in
  // the function, and what one of its nodes writes under the name of an independent value is not
  // it.
  bool computes = node.inputs != independent;
  for (Node& part : region.nodes) {
    for (std::string& output : part.outputs) {
      if (!stops.contains(output)) continue;
      output = names.New();
      computes = true;
    }
  }

  Function& function = NewFunction(node);
  do {
    function.overload = absl::StrCat("#", calls_++);
  } while (
      !functions_.emplace(FunctionKey(function.domain, function.name, function.overload), &function)
           .second);
  function.inputs = independent;
  function.opset_imports.assign(e.imports.begin(), e.imports.end());
  if (computes) function.nodes = region.nodes;
  std::vector<std::pair<std::string, std::string>> seeds;
  if (reached.contains(y)) {
    seeds.emplace_back(y, names.New());
    function.nodes.push_back(HelperCall("OnesLike", {y}, seeds[0].second));
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> gradients,
                   Differentiate(region, xs, seeds, e.imports, e.path, names, function.nodes));
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    std::string gradient = node.outputs[i].empty() ? "" : gradients[i];
    if (!node.outputs[i].empty() && gradient.empty()) {
      gradient = names.New();
      function.nodes.push_back(HelperCall("ZerosLike", {xs[i]}, gradient));
    }
    function.outputs.push_back(std::move(gradient));
  }

  // What the body reads besides is given along.
  Node call;
  call.name = node.name;
  call.domain = node.domain;
  call.op_type = node.op_type;
  call.overload = function.overload;
  call.inputs = node.inputs;
  call.outputs = node.outputs;
  absl::flat_hash_set<std::string> known(independent.begin(), independent.end());
  for (const Node& part : function.nodes) {
    ForEachRead(part, e.free_names, [&](absl::string_view name) {
      if (!known.insert(std::string(name)).second) return;
      call.inputs.emplace_back(name);
      function.inputs.emplace_back(name);
    });
    known.insert(part.outputs.begin(), part.outputs.end());
  }
  node = std::move(call);
  e.busy[index] = 2;
  return absl::OkStatus();
}

absl::Status Gradients::CheckDifferentiable(const Node& node, int index,
                                            absl::Span<const OpsetImport> imports,
                                            const std::string& path) {
  if (node.domain == kGradientHelpers || absl::StartsWith(node.domain, kGradientOf)) {
    return absl::OkStatus();
  }
  if (functions_.contains(FunctionKey(node.domain, node.op_type, node.overload)) ||
      FindRule(node.domain, node.op_type) != nullptr) {
    return absl::OkStatus();
  }
  const int64_t opset = OpsetOf(imports, node.domain);
  const OpSchema* schema = registry_.Find(node.domain, node.op_type, opset).schema;
  if (schema != nullptr && schema->body != SchemaBody::kNone &&
      options_.function_provider != nullptr) {
    return absl::OkStatus();
  }
  return absl::UnimplementedError(absl::StrCat(
      NodeLabel(node, index), " (", DomainName(node.domain), " opset ", opset, "), ", path,
      ": Gradient has no rule for ", node.op_type, ", which the derivative has to pass through"));
}

absl::StatusOr<std::vector<std::string>> Gradients::Differentiate(
    const Region& region, absl::Span<const std::string> sources,
    absl::Span<const std::pair<std::string, std::string>> seeds,
    absl::Span<const OpsetImport> imports, const std::string& path, Names& names,
    std::vector<Node>& body) {
  // What depends on the sources in a way that has a derivative.
  NameSet active(sources.begin(), sources.end());
  std::vector<bool> on_the_way(region.nodes.size(), false);
  const auto passes = [&](const Node& node, size_t input) {
    if (!active.contains(node.inputs[input])) return false;
    if (absl::StartsWith(node.domain, kReplayOf)) return false;  // of indices
    if (functions_.contains(FunctionKey(node.domain, node.op_type, node.overload))) return true;
    const GradientRule* rule = FindRule(node.domain, node.op_type);
    return rule == nullptr || rule->Differentiates(static_cast<int>(input));
  };
  for (size_t i = 0; i < region.nodes.size(); ++i) {
    const Node& node = region.nodes[i];
    for (size_t j = 0; j < node.inputs.size(); ++j) {
      on_the_way[i] = on_the_way[i] || passes(node, j);
    }
    for (const Attribute& attribute : node.attributes) {
      for (const auto& graph : attribute.graphs) {
        for (absl::string_view name : region.free_names->Of(*graph)) {
          on_the_way[i] = on_the_way[i] || active.contains(name);
        }
      }
    }
    if (on_the_way[i]) active.insert(node.outputs.begin(), node.outputs.end());
  }
  active.erase("");

  absl::flat_hash_map<std::string, std::vector<std::string>> parts;  // of a value's gradient
  for (const auto& [value, gradient] : seeds) parts[value].push_back(gradient);
  const auto gradient_of = [&](const std::string& value) -> std::string {
    const auto found = parts.find(value);
    if (value.empty() || found == parts.end()) return "";
    if (found->second.size() > 1) {
      std::string sum = names.New();
      body.push_back(HelperCall("Sum", std::move(found->second), sum));
      found->second = {std::move(sum)};
    }
    return found->second[0];
  };
  std::vector<std::string> lacking;
  for (size_t i = region.nodes.size(); i-- > 0;) {
    if (!on_the_way[i]) continue;
    const Node& node = region.nodes[i];
    Node call;
    bool wanted = false;
    for (const std::string& output : node.outputs) {
      call.inputs.push_back(gradient_of(output));
      wanted = wanted || !call.inputs.back().empty();
    }
    if (!wanted) continue;
    // All that lack a rule are named, so the way goes on.
    const absl::Status status = CheckDifferentiable(node, region.indices[i], imports, path);
    if (!status.ok()) lacking.emplace_back(status.message());
    call.name = node.name;
    call.domain = absl::StrCat(kGradientOf, DomainName(node.domain));
    call.op_type = node.op_type;
    call.overload = node.overload;
    call.attributes = node.attributes;
    call.inputs.insert(call.inputs.begin(), node.outputs.begin(), node.outputs.end());
    call.inputs.insert(call.inputs.begin(), node.inputs.begin(), node.inputs.end());
    for (size_t j = 0; j < node.inputs.size(); ++j) {
      call.outputs.push_back(passes(node, j) ? names.New() : "");
      if (!call.outputs.back().empty()) parts[node.inputs[j]].push_back(call.outputs.back());
    }
    body.push_back(std::move(call));
  }
  if (!lacking.empty()) return absl::UnimplementedError(absl::StrJoin(lacking, "; "));
  std::vector<std::string> result;
  for (const std::string& source : sources) result.push_back(gradient_of(source));
  return result;
}

absl::StatusOr<const Function*> Gradients::FunctionOf(const NodeInfo& info,
                                                      absl::Span<const OpsetImport> imports,
                                                      absl::Span<const Type> input_types,
                                                      FreeNames& free_names) {
  const std::string& domain = info.domain();
  if (domain == kGradientHelpers) return HelperFunction(info);
  if (absl::StartsWith(domain, kReplayOf)) return ReplayFunction(info, imports);
  if (absl::StartsWith(domain, kGradientOf)) {
    return BackwardFunction(info, imports, input_types, free_names);
  }
  return nullptr;
}

absl::StatusOr<const Function*> Gradients::HelperFunction(const NodeInfo& info) {
  const std::string key = absl::StrCat(info.op_type(), " ", info.input_count());
  const auto known = helpers_.find(key);
  if (known != helpers_.end()) return known->second;
  const auto& helpers = Rules()->helpers;
  const auto helper = std::find_if(helpers.begin(), helpers.end(), [&](const GradientHelper& h) {
    return h.name == info.op_type();
  });
  if (helper == helpers.end()) {
    return absl::InternalError(absl::StrCat("the rules have no helper ", info.op_type()));
  }
  Function& function = NewFunction(info.node());
  function.opset_imports = {{"", kGradientRuleOpset}};
  for (int i = 0; i < info.input_count(); ++i) function.inputs.push_back(absl::StrCat("x", i));
  RuleWriter writer(info, {true}, {}, &function);
  RETURN_IF_ERROR(helper->write(writer));
  function.outputs = writer.results();
  return helpers_[key] = &function;
}

const Function* Gradients::ReplayFunction(const NodeInfo& info,
                                          absl::Span<const OpsetImport> imports) {
  Function& function = NewFunction(info.node());
  const std::string domain = DomainAfter(kReplayOf, info.domain());
  function.opset_imports = {{domain, OpsetOf(imports, info.domain())}};
  Node node = info.node();
  node.domain = domain;
  function.inputs = node.inputs;
  function.outputs = node.outputs;
  function.nodes.push_back(std::move(node));
  return &function;
}

absl::StatusOr<const Function*> Gradients::ForwardFunction(const NodeInfo& info,
                                                           absl::Span<const OpsetImport> imports,
                                                           absl::Span<const Type> input_types,
                                                           FreeNames& free_names) {
  ASSIGN_OR_RETURN(const Function* own, FunctionOf(info, imports, input_types, free_names));
  if (own != nullptr) return own;
  const Node& node = info.node();
  const auto known = functions_.find(FunctionKey(node.domain, node.op_type, node.overload));
  if (known != functions_.end()) return known->second;
  std::shared_ptr<const Function> body;
  if (info.schema() != nullptr && info.schema()->body != SchemaBody::kNone &&
      options_.function_provider != nullptr) {
    ASSIGN_OR_RETURN(body, options_.function_provider->Body(node, info.opset(), input_types));
  }
  if (body == nullptr) {
    return absl::UnimplementedError(absl::StrCat("Gradient has no rule for ", node.op_type,
                                                 ", and the standard no body for these types"));
  }
  bodies_.push_back(body);
  // As a model-local function: defaults of attributes and opsets, which the standard leaves out.
  Function& function = own_.emplace_back(*body);
  for (const SchemaAttribute& row : info.schema()->attributes) {
    if (row.has_default) function.attribute_defaults.push_back(DefaultOf(row));
  }
  for (const OpsetImport& import : imports) {
    if (OpsetOf(body->opset_imports, import.domain) == 0) function.opset_imports.push_back(import);
  }
  return &function;
}

absl::StatusOr<const Function*> Gradients::BackwardFunction(const NodeInfo& info,
                                                            absl::Span<const OpsetImport> imports,
                                                            absl::Span<const Type> input_types,
                                                            FreeNames& free_names) {
  // Of one operator called in one way there is one function: derivatives of derivatives ask for the
  // same ones over and over.
  const Node& node = info.node();
  std::string key = FunctionKey(node.domain, node.op_type, node.overload);
  for (const std::string& name : node.inputs) key += name.empty() ? '0' : '1';
  key += ' ';
  for (const std::string& name : node.outputs) key += name.empty() ? '0' : '1';
  for (const OpsetImport& import : imports) {
    absl::StrAppend(&key, " ", import.domain, " ", import.version);
  }
  for (const Type& type : input_types) absl::StrAppend(&key, " ", TypeToString(type));
  for (const Attribute& attribute : node.attributes) AppendAttributeKey(attribute, &key);
  const auto known = backward_.find(key);
  if (known != backward_.end()) return known->second;
  ASSIGN_OR_RETURN(const Function* written, WriteBackward(info, imports, input_types, free_names));
  // Tensors and graphs are told apart by where they are, which others may come to.
  const bool lasts =
      std::all_of(node.attributes.begin(), node.attributes.end(), [](const Attribute& attribute) {
        return attribute.values.empty() && attribute.graphs.empty() && attribute.types.empty();
      });
  if (lasts) backward_[key] = written;
  return written;
}

absl::StatusOr<const Function*> Gradients::WriteBackward(const NodeInfo& info,
                                                         absl::Span<const OpsetImport> imports,
                                                         absl::Span<const Type> input_types,
                                                         FreeNames& free_names) {
  const Node forward = ForwardOf(info.node());
  NodeInfo forward_info;
  forward_info.node_ = &forward;
  forward_info.index_ = info.index();
  forward_info.graph_path_ = &info.graph_path();
  forward_info.opset_ = OpsetOf(imports, forward.domain);
  forward_info.schema_ =
      registry_.Find(forward.domain, forward.op_type, forward_info.opset_).schema;
  const bool is_function =
      functions_.contains(FunctionKey(forward.domain, forward.op_type, forward.overload));
  const GradientRule* rule = is_function ? nullptr : FindRule(forward.domain, forward.op_type);
  if (rule == nullptr || rule->write == nullptr) {
    ASSIGN_OR_RETURN(const Function* function,
                     ForwardFunction(forward_info, imports,
                                     input_types.subspan(0, forward.inputs.size()), free_names));
    return DifferentiateFunction(*function, info.node(), forward_info.input_count(),
                                 forward_info.output_count(), free_names);
  }
  Function& function = NewFunction(info.node());
  function.opset_imports = {
      {"", kGradientRuleOpset},
      {absl::StrCat(kReplayOf, DomainName(forward.domain)), forward_info.opset_}};
  std::vector<bool> wants;
  std::vector<bool> has_gradient;
  for (const std::string& output : info.node().outputs) wants.push_back(!output.empty());
  const int inputs = forward_info.input_count();
  const int outputs = forward_info.output_count();
  for (int i = 0; i < inputs; ++i) function.inputs.push_back(absl::StrCat("x", i));
  for (int i = 0; i < outputs; ++i) function.inputs.push_back(absl::StrCat("y", i));
  for (int i = 0; i < outputs; ++i) {
    function.inputs.push_back(absl::StrCat("dy", i));
    has_gradient.push_back(!info.node().inputs[inputs + outputs + i].empty());
  }
  RuleWriter writer(forward_info, wants, std::move(has_gradient), &function);
  RETURN_IF_ERROR(rule->write(writer));
  for (int i = 0; i < inputs; ++i) {
    std::string gradient = wants[i] ? writer.results()[i] : "";
    if (wants[i] && gradient.empty()) gradient = writer.Helper("ZerosLike", {writer.x(i)});
    function.outputs.push_back(std::move(gradient));
  }
  return &function;
}

absl::StatusOr<const Function*> Gradients::DifferentiateFunction(const Function& from,
                                                                 const Node& node, int input_count,
                                                                 int output_count,
                                                                 FreeNames& free_names) {
  if (input_count > static_cast<int>(from.inputs.size()) ||
      output_count > static_cast<int>(from.outputs.size())) {
    return absl::InvalidArgumentError(absl::StrCat(
        input_count, " inputs and ", output_count, " outputs given, function ", FunctionLabel(from),
        " has ", from.inputs.size(), " and ", from.outputs.size()));
  }
  Function& function = NewFunction(node);
  function.attributes = from.attributes;
  function.attribute_defaults = from.attribute_defaults;
  function.opset_imports = from.opset_imports;
  Names names;
  for (const Node& part : from.nodes) names.Avoid(part);
  for (const std::string& name : from.inputs) names.Avoid(name);

  std::vector<std::string> sources;
  for (int i = 0; i < input_count; ++i) {
    function.inputs.push_back(from.inputs[i]);
    if (!node.outputs[i].empty()) sources.push_back(from.inputs[i]);
  }
  for (int i = 0; i < output_count; ++i) function.inputs.push_back(names.New());
  std::vector<std::pair<std::string, std::string>> seeds;
  std::vector<std::string> targets;
  for (int i = 0; i < output_count; ++i) {
    function.inputs.push_back(names.New());
    if (node.inputs[input_count + output_count + i].empty()) continue;
    seeds.emplace_back(from.outputs[i], function.inputs.back());
    targets.push_back(from.outputs[i]);
  }
  // Those that the call does not give.
  function.inputs.insert(function.inputs.end(), from.inputs.begin() + input_count,
                         from.inputs.end());

  const Writers writers = WritersOf(from.nodes);
  ASSIGN_OR_RETURN(const std::vector<int> before,
                   NodesBefore(from.nodes, writers, targets, {}, free_names,
                               [](int) { return absl::OkStatus(); }));
  Region region;
  region.free_names = &free_names;
  for (int i : before) {
    region.nodes.push_back(Canonical(from.nodes[i]));
    region.indices.push_back(i);
  }
  function.nodes = region.nodes;
  ASSIGN_OR_RETURN(
      const std::vector<std::string> gradients,
      Differentiate(region, sources, seeds, function.opset_imports,
                    absl::StrCat("function ", FunctionLabel(from)), names, function.nodes));
  size_t next = 0;
  for (int i = 0; i < input_count; ++i) {
    std::string gradient;
    if (!node.outputs[i].empty()) {
      gradient = gradients[next++];
      if (gradient.empty()) {
        gradient = names.New();
        function.nodes.push_back(HelperCall("ZerosLike", {from.inputs[i]}, gradient));
      }
    }
    function.outputs.push_back(std::move(gradient));
  }
  return &function;
}

}  // namespace onnx_run
