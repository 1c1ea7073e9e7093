// Builds plans from graphs: resolves names, opsets, functions, attributes and types, once, at load.
#include <algorithm>
#include <bit>
#include <cstring>
#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/gradient.h"
#include "runtime/graph_order.h"
#include "runtime/node_checks.h"
#include "runtime/plan.h"
#include "runtime/plan_slots.h"
#include "runtime/status_macros.h"

namespace onnx_run {
namespace {

constexpr int64_t kMaxFoldBytes = 1 << 20;

// A value as a scope knows it.
struct Binding {
  ValueRef ref;
  Type type;
};

// Names of one graph, and the graph around it.
struct Scope {
  Scope* outer = nullptr;
  Plan* plan = nullptr;
  absl::flat_hash_map<absl::string_view, Binding> names;
  int32_t value_count = 0;

  bool Knows(absl::string_view name) const {
    return names.contains(name) || (outer != nullptr && outer->Knows(name));
  }
  // The binding of `name`; of a name around this graph, made a constant or a capture of this plan.
  const Binding* Find(absl::string_view name) {
    const auto own = names.find(name);
    if (own != names.end()) return &own->second;
    const Binding* around = outer == nullptr ? nullptr : outer->Find(name);
    if (around == nullptr) return nullptr;
    Binding binding{ValueRef::Absent(), around->type};
    if (around->ref.is_constant()) {
      binding.ref = ValueRef::Constant(static_cast<int32_t>(plan->constants.size()));
      plan->constants.push_back(outer->plan->constants[around->ref.constant()]);
    } else {
      binding.ref = ValueRef::Capture(static_cast<int32_t>(plan->captures.size()));
      plan->captures.push_back(around->ref);
    }
    return &names.emplace(name, std::move(binding)).first->second;
  }
};

// What names mean outside of any graph: opsets, and the attributes of the function being called.
struct Surroundings {
  absl::Span<const OpsetImport> imports;
  const Function* function = nullptr;
  bool standard = false;  // the function is a body that the standard gives
  absl::Span<const OpsetImport>
      caller_imports;  // of a standard body: what it does not import itself
  absl::flat_hash_map<std::string, const Attribute*> bound;

  // 0 when the domain is not imported. Of duplicate imports the highest binds.
  int64_t Opset(absl::string_view domain) const {
    int64_t version = 0;
    for (const OpsetImport& import : imports) {
      if (import.domain == domain) version = std::max(version, import.version);
    }
    for (const OpsetImport& import : caller_imports) {
      if (version == 0 && import.domain == domain) version = import.version;
    }
    return version;
  }
};

struct GraphView {
  absl::Span<const ValueInfo> inputs;
  absl::Span<const Initializer> initializers;
  absl::Span<const Node> nodes;
  absl::Span<const ValueInfo> outputs;
};

GraphView ViewOf(const Graph& graph) {
  return {graph.inputs, graph.initializers, graph.nodes, graph.outputs};
}

}  // namespace

class PlanBuilder::Impl {
 public:
  Impl(const Model& model, const OpRegistry& registry, const SessionOptions& options,
       RunEnvironment* fold_environment, std::vector<std::string>* warnings)
      : model_(model),
        registry_(registry),
        options_(options),
        fold_environment_(*fold_environment),
        warnings_(warnings),
        gradients_(registry, options, functions_),
        prepared_left_(options.max_prepared_bytes) {
    fold_environment_.max_output_bytes = kMaxFoldBytes;
    fold_environment_.parallel_for = nullptr;
  }

  absl::StatusOr<std::unique_ptr<Plan>> BuildMain();
  absl::StatusOr<const Plan*> BuildBody(const NodeInfo& node, absl::Span<const Type> input_types);

 private:
  struct GraphState {
    Plan& plan;
    Scope& scope;
    const Surroundings& around;
  };

  absl::StatusOr<std::unique_ptr<Plan>> Build(const GraphView& graph, Scope* outer,
                                              const Surroundings& around, std::string path,
                                              absl::Span<const Type> input_types = {});
  absl::Status BindInputs(const GraphView& graph, GraphState& state,
                          absl::Span<const Type> input_types);
  absl::Status BindOutputs(const GraphView& graph, GraphState& state);
  absl::Status BuildNode(const Node& node, int index, GraphState& state);
  absl::Status BuildNodeAt(NodeInfo& info, GraphState& state);
  absl::Status BuildSubgraphs(NodeInfo& info, GraphState& state, StepDetails& details);
  absl::StatusOr<const Plan*> BuildCall(const NodeInfo& info, const Function& function,
                                        absl::Span<const Type> input_types);
  absl::StatusOr<const Plan*> BuildInstance(const NodeInfo& info, const Function& function,
                                            bool standard, absl::Span<const Type> input_types);
  absl::StatusOr<bool> Fold(const NodeInfo& info, const KernelDef& kernel,
                            const KernelState* kernel_state, absl::Span<const ValueRef> inputs,
                            GraphState& state);
  // As OpRegistry::Find, remembered: models use few operators many times.
  OpRegistry::Found FindOperator(const Node& node, int64_t opset) {
    const absl::string_view domain = CanonicalDomain(node.domain);
    const auto key = std::make_tuple(absl::string_view(node.op_type), domain, opset);
    const auto known = found_.find(key);
    if (known != found_.end()) return known->second;
    return found_[key] = registry_.Find(domain, node.op_type, opset);
  }
  // The default of a schema as an attribute, for bodies that refer to it.
  const Attribute* DefaultAttribute(const SchemaAttribute& row);
  // The node as it is meant: attributes of the enclosing function in place, the domain canonical.
  void ResolveReferences(NodeInfo& info, const Surroundings& around);
  // Makes `step` run the standard's body; false when there is none for these types.
  absl::StatusOr<bool> PrepareBody(const NodeInfo& info, absl::Span<const Type> input_types,
                                   bool all_known, StepDetails& details, Step& step);
  absl::Status PrepareKernel(const NodeInfo& info, const KernelDef& kernel, GraphState& state,
                             Step& step);
  absl::Status Prepare(const NodeInfo& info, const KernelDef& kernel,
                       absl::Span<const ValueRef> inputs, GraphState& state);
  void AddStep(Step step, const NodeInfo& info, absl::Span<const ValueRef> inputs,
               absl::Span<const Type> output_types, GraphState& state);
  void Define(absl::string_view name, Binding binding, GraphState& state);
  void MissingOperator(const NodeInfo& info, bool known);
  void Warn(std::string text) {
    if (warnings_ != nullptr) warnings_->push_back(std::move(text));
  }
  absl::Status Strictly(std::string text) {
    if (options_.strict) return absl::InvalidArgumentError(text);
    Warn(std::move(text));
    return absl::OkStatus();
  }
  absl::Status CheckMissing();
  absl::Status TooDeep() const {
    return absl::InvalidArgumentError(absl::StrCat(
        "subgraphs and functions are nested deeper than ", options_.max_nesting, " levels"));
  }

  const Model& model_;
  const OpRegistry& registry_;
  const SessionOptions& options_;
  RunEnvironment fold_environment_;
  std::vector<std::string>* warnings_;

  std::mutex mutex_;
  absl::flat_hash_map<std::string, const Function*> functions_;
  absl::flat_hash_map<std::string, std::unique_ptr<Plan>> instances_;
  std::vector<std::shared_ptr<const Function>> bodies_;
  absl::flat_hash_map<const SchemaAttribute*, std::unique_ptr<Attribute>> defaults_;
  std::vector<std::string> call_chain_;  // of functions being built
  // The keys look at nodes of the model and of bodies_, which outlive this.
  absl::flat_hash_map<std::tuple<absl::string_view, absl::string_view, int64_t>, OpRegistry::Found>
      found_;
  FreeNames free_names_;
  Gradients gradients_;
  int depth_ = 0;
  int64_t prepared_left_;             // bytes that kernels may keep yet
  std::vector<std::string> missing_;  // operators without kernel or body, with where they stand
  absl::flat_hash_set<std::string> missing_keys_;
};

absl::StatusOr<std::unique_ptr<Plan>> PlanBuilder::Impl::BuildMain() {
  for (const Function& function : model_.functions) {
    if (!functions_
             .emplace(FunctionKey(function.domain, function.name, function.overload), &function)
             .second) {
      return absl::InvalidArgumentError(
          absl::StrCat("function ", FunctionLabel(function), " is defined twice"));
    }
  }
  bool too_deep = NestedDeeperThan(model_.graph.nodes, options_.max_nesting);
  for (const Function& function : model_.functions) {
    too_deep = too_deep || NestedDeeperThan(function.nodes, options_.max_nesting);
  }
  if (too_deep) {
    return TooDeep();
  }
  Surroundings around;
  around.imports = model_.opset_imports;
  ASSIGN_OR_RETURN(std::unique_ptr<Plan> plan,
                   Build(ViewOf(model_.graph), nullptr, around, "main graph"));
  RETURN_IF_ERROR(CheckMissing());
  return plan;
}

absl::Status PlanBuilder::Impl::CheckMissing() {
  if (missing_.empty()) return absl::OkStatus();
  return absl::UnimplementedError(absl::StrCat(
      missing_.size(),
      missing_.size() == 1 ? " operator is not supported: " : " operators are not supported: ",
      absl::StrJoin(missing_, "; ")));
}

absl::StatusOr<const Plan*> PlanBuilder::Impl::BuildBody(const NodeInfo& node,
                                                         absl::Span<const Type> input_types) {
  const std::lock_guard<std::mutex> lock(mutex_);
  warnings_ = nullptr;  // they belong to Session::Create
  call_chain_.clear();
  depth_ = 0;
  ASSIGN_OR_RETURN(std::shared_ptr<const Function> body,
                   options_.function_provider->Body(node.node(), node.opset(), input_types));
  if (body == nullptr) {
    return absl::UnimplementedError("the standard has no function body for these input types");
  }
  bodies_.push_back(body);
  absl::StatusOr<const Plan*> plan = BuildInstance(node, *body, true, input_types);
  RETURN_IF_ERROR(CheckMissing());
  return plan;
}

absl::StatusOr<std::unique_ptr<Plan>> PlanBuilder::Impl::Build(const GraphView& graph, Scope* outer,
                                                               const Surroundings& around,
                                                               std::string path,
                                                               absl::Span<const Type> input_types) {
  if (depth_ >= options_.max_nesting) {
    return TooDeep();
  }
  ++depth_;
  auto plan = std::make_unique<Plan>();
  plan->path = std::move(path);
  Scope scope;
  scope.outer = outer;
  scope.plan = plan.get();
  scope.names.reserve(graph.nodes.size() + graph.inputs.size() + graph.initializers.size());
  GraphState state{*plan, scope, around};
  RETURN_IF_ERROR(BindInputs(graph, state, input_types));
  absl::Span<const Node> nodes = graph.nodes;
  if (gradients_.Concerns(nodes, around.imports)) {
    ASSIGN_OR_RETURN(
        nodes, gradients_.Expand(
                   nodes, around.imports, [&](absl::string_view name) { return scope.Knows(name); },
                   free_names_, plan->path));
  }
  ASSIGN_OR_RETURN(
      const NodeOrder order,
      OrderNodes(
          nodes, [&](absl::string_view name) { return scope.names.contains(name); },
          [&](absl::string_view name) { return outer != nullptr && outer->Knows(name); },
          free_names_, plan->path));
  if (!order.was_sorted) {
    RETURN_IF_ERROR(Strictly(absl::StrCat(plan->path, ": nodes are not in topological order")));
  }
  plan->steps.reserve(nodes.size());
  for (int index : order.order) RETURN_IF_ERROR(BuildNode(nodes[index], index, state));
  RETURN_IF_ERROR(BindOutputs(graph, state));
  AssignSlots(*plan, scope.value_count);
  for (const Step& step : plan->steps) {
    plan->max_inputs = std::max(plan->max_inputs, step.input_count);
    plan->max_outputs = std::max(plan->max_outputs, step.output_count);
    if (step.details == nullptr) continue;
    for (const auto& subgraph : step.details->subgraphs) {
      plan->height = std::max(plan->height, subgraph->height + 1);
    }
    if (step.details->function != nullptr) {
      plan->height = std::max(plan->height, step.details->function->height + 1);
    }
  }
  --depth_;
  // Bodies are shared, so that depth shows only in the height of what has been built.
  if (depth_ + plan->height >= options_.max_nesting) {
    return TooDeep();
  }
  return plan;
}

absl::Status PlanBuilder::Impl::BindInputs(const GraphView& graph, GraphState& state,
                                           absl::Span<const Type> input_types) {
  Plan& plan = state.plan;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const ValueInfo& info = graph.inputs[i];
    Plan::Input input;
    input.name = info.name;
    input.type = info.type;
    if (input.type.kind == ValueKind::kAbsent && i < input_types.size())
      input.type = input_types[i];
    input.slot = state.scope.value_count++;
    if (state.scope.names.contains(info.name)) {
      return absl::InvalidArgumentError(
          absl::StrCat(plan.path, ": two inputs are named \"", info.name, "\""));
    }
    Define(info.name, {ValueRef::Slot(input.slot), input.type}, state);
    plan.inputs.push_back(std::move(input));
  }
  absl::flat_hash_set<absl::string_view> seen;
  for (const Initializer& initializer : graph.initializers) {
    if (!seen.insert(initializer.name).second) {
      return absl::InvalidArgumentError(
          absl::StrCat(plan.path, ": two initializers are named \"", initializer.name, "\""));
    }
    const ValueRef constant = ValueRef::Constant(static_cast<int32_t>(plan.constants.size()));
    plan.constants.push_back(initializer.value);
    const auto place = state.scope.names.find(initializer.name);
    const Type type = initializer.value.type();
    if (place == state.scope.names.end()) {
      Define(initializer.name, {constant, type}, state);
      continue;
    }
    // An input too: the initializer is its default. Inputs have the first slots, in order.
    Plan::Input& input = plan.inputs[place->second.ref.slot()];
    if (input.type.kind != ValueKind::kAbsent && !SameType(input.type, type)) {
      return absl::InvalidArgumentError(absl::StrCat(plan.path, ": input \"", input.name,
                                                     "\" is declared ", TypeToString(input.type),
                                                     ", its initializer is ", TypeToString(type)));
    }
    input.default_value = constant;
  }
  return absl::OkStatus();
}

void PlanBuilder::Impl::Define(absl::string_view name, Binding binding, GraphState& state) {
  if (state.scope.outer != nullptr && state.scope.outer->Knows(name)) {
    Warn(absl::StrCat(state.plan.path, ": \"", name, "\" hides a value of the graph around it"));
  }
  state.scope.names[name] = std::move(binding);
}

absl::Status PlanBuilder::Impl::BindOutputs(const GraphView& graph, GraphState& state) {
  for (const ValueInfo& info : graph.outputs) {
    Plan::Output output;
    output.name = info.name;
    output.type = info.type;
    // A function's output may be one that no call of it makes: "".
    if (!info.name.empty()) {
      const Binding* binding = state.scope.Find(info.name);
      if (binding == nullptr && state.around.standard) {
        // The standard's bodies leave out outputs that the call does not want.
        state.plan.outputs.push_back(std::move(output));
        continue;
      }
      if (binding == nullptr) {
        return absl::InvalidArgumentError(
            absl::StrCat(state.plan.path, ": output \"", info.name,
                         "\" is given by no input, initializer or node"));
      }
      const Type& type = binding->type;
      if (type.kind != ValueKind::kAbsent && info.type.kind != ValueKind::kAbsent &&
          info.type.kind != ValueKind::kOptional && type.kind != ValueKind::kSequence &&
          !SameType(type, info.type)) {
        return absl::InvalidArgumentError(absl::StrCat(state.plan.path, ": output \"", info.name,
                                                       "\" is declared ", TypeToString(info.type),
                                                       ", its node gives ", TypeToString(type)));
      }
      if (output.type.kind == ValueKind::kAbsent) output.type = type;
      output.ref = binding->ref;
    }
    state.plan.outputs.push_back(std::move(output));
  }
  return absl::OkStatus();
}

const Attribute* PlanBuilder::Impl::DefaultAttribute(const SchemaAttribute& row) {
  std::unique_ptr<Attribute>& known = defaults_[&row];
  if (known == nullptr) {
    known = std::make_unique<Attribute>();
    known->name = std::string(row.name);
    known->kind = row.kind;
    known->i = row.i;
    known->f = row.f;
    known->s = std::string(row.s);
    if (row.ints != nullptr) known->ints.assign(row.ints, row.ints + row.count);
    if (row.floats != nullptr) known->floats.assign(row.floats, row.floats + row.count);
    if (row.strings != nullptr) known->strings.assign(row.strings, row.strings + row.count);
  }
  return known.get();
}

void PlanBuilder::Impl::ResolveReferences(NodeInfo& info, const Surroundings& around) {
  const std::vector<Attribute>& attributes = info.node_->attributes;
  const absl::string_view domain = CanonicalDomain(info.node_->domain);
  if (domain == info.node_->domain &&
      std::none_of(attributes.begin(), attributes.end(),
                   [](const Attribute& a) { return !a.ref_attr_name.empty(); })) {
    return;
  }
  // A reference to an attribute that the call does not give, and that has no default, is as if the
  // node did not have the attribute.
  auto own = std::make_unique<Node>(*info.node_);
  own->domain = std::string(domain);
  own->attributes.clear();
  for (const Attribute& attribute : attributes) {
    if (attribute.ref_attr_name.empty()) {
      own->attributes.push_back(attribute);
      continue;
    }
    const auto found = around.bound.find(attribute.ref_attr_name);
    if (found == around.bound.end()) continue;
    own->attributes.push_back(*found->second);
    own->attributes.back().name = attribute.name;
  }
  info.own_node_ = std::move(own);
  info.node_ = info.own_node_.get();
}

void PlanBuilder::Impl::MissingOperator(const NodeInfo& info, bool known) {
  std::string text =
      absl::StrCat(info.op_type(), " (", info.domain().empty() ? "ai.onnx" : info.domain(),
                   " opset ", info.opset(), known ? "" : ", not known");
  if (!known && registry_.schemas() != nullptr) {
    const auto versions = registry_.schemas()->Versions(info.domain(), info.op_type());
    if (!versions.empty() && versions.front().since_version > info.opset()) {
      absl::StrAppend(&text, ", first in opset ", versions.front().since_version);
    }
  }
  absl::StrAppend(&text, ")");
  // Each operator once, with the first node that uses it.
  if (!missing_keys_.insert(text).second) return;
  std::string where = absl::StrCat("node #", info.index());
  if (!info.name().empty()) absl::StrAppend(&where, " \"", info.name(), "\"");
  missing_.push_back(absl::StrCat(text, " at ", where, ", ", info.graph_path()));
}

absl::Status PlanBuilder::Impl::BuildNode(const Node& node, int index, GraphState& state) {
  state.plan.infos.emplace_back();
  NodeInfo& info = state.plan.infos.back();
  info.node_ = &node;
  info.index_ = index;
  info.graph_path_ = &state.plan.path;
  absl::Status status = BuildNodeAt(info, state);
  if (status.ok()) return status;
  const absl::string_view message = status.message();
  // An inner node has said where it is; so have faults of whole graphs, which begin with their
  // path.
  if (message.rfind("node #", 0) == 0 || message.rfind(state.plan.path, 0) == 0) return status;
  return absl::Status(status.code(), absl::StrCat(info.Describe(), ": ", message));
}

absl::Status PlanBuilder::Impl::BuildNodeAt(NodeInfo& info, GraphState& state) {
  const Node& listed = info.node();
  ResolveReferences(info, state.around);
  const Node& node = info.node();
  std::vector<ValueRef> inputs;
  std::vector<Type> input_types;
  inputs.reserve(node.inputs.size());
  input_types.reserve(node.inputs.size());
  for (const std::string& name : node.inputs) {
    const Binding* binding = name.empty() ? nullptr : state.scope.Find(name);
    inputs.push_back(binding == nullptr ? ValueRef::Absent() : binding->ref);
    input_types.push_back(binding == nullptr ? Type() : binding->type);
  }
  std::vector<Type> output_types(node.outputs.size());
  Step step;

  // A model-local function goes before a standard operator of the same name.
  const Function* function = nullptr;
  if (!functions_.empty()) {
    const auto found = functions_.find(FunctionKey(node.domain, node.op_type, node.overload));
    if (found != functions_.end()) function = found->second;
  }
  if (state.around.function != nullptr && gradients_.Wrote(*state.around.function)) {
    ASSIGN_OR_RETURN(const Function* called,
                     gradients_.FunctionOf(info, state.around.imports, input_types, free_names_));
    if (called != nullptr) function = called;
  }
  if (function != nullptr) {
    info.opset_ = state.around.Opset(node.domain);
    state.plan.details.push_back(std::make_unique<StepDetails>());
    step.kind = StepKind::kFunction;
    step.details = state.plan.details.back().get();
    step.check_types = false;
    ASSIGN_OR_RETURN(step.details->function, BuildCall(info, *function, input_types));
    for (size_t i = 0; i < output_types.size(); ++i) {
      output_types[i] = step.details->function->outputs[i].type;
    }
    AddStep(step, info, inputs, output_types, state);
    return absl::OkStatus();
  }

  info.opset_ = state.around.Opset(node.domain);
  if (info.opset_ == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "domain \"", node.domain.empty() ? "ai.onnx" : node.domain, "\" is not imported by ",
        state.around.function == nullptr ? "the model" : "the function"));
  }
  const OpRegistry::Found found = FindOperator(listed, info.opset_);
  info.schema_ = found.schema;
  const bool native = found.kernel != nullptr && !options_.no_native.contains(node.op_type);
  if (found.schema != nullptr && found.schema->deprecated) {
    const std::string text =
        absl::StrCat("the operator is deprecated since opset ", found.schema->since_version);
    if (found.kernel == nullptr) return absl::InvalidArgumentError(text);
    RETURN_IF_ERROR(Strictly(absl::StrCat(info.Describe(), ": ", text)));
  }
  if (found.schema != nullptr) RETURN_IF_ERROR(CheckArityAndAttributes(info));
  const bool has_body = found.schema != nullptr && found.schema->body != SchemaBody::kNone &&
                        options_.function_provider != nullptr;
  const bool use_body = !native && has_body;
  if (!use_body && found.kernel == nullptr) {
    MissingOperator(info, found.schema != nullptr);
    AddStep(step, info, inputs, output_types,
            state);  // only so that the next nodes find its outputs
    return absl::OkStatus();
  }

  auto details = std::make_unique<StepDetails>();
  RETURN_IF_ERROR(BuildSubgraphs(info, state, *details));
  bool all_known = false;
  if (registry_.schemas() != nullptr) {
    RETURN_IF_ERROR(CheckAndInferTypes(
        info, *registry_.schemas(), found.kernel != nullptr ? found.kernel->infer : nullptr,
        input_types, absl::MakeSpan(output_types), options_.strict, warnings_, &all_known));
  }
  step.check_types = !all_known;
  bool body_found = false;
  if (use_body) {
    ASSIGN_OR_RETURN(body_found, PrepareBody(info, input_types, all_known, *details, step));
    if (!body_found && found.kernel == nullptr) {
      return absl::UnimplementedError("the standard has no function body for these input types");
    }
  }
  if (!body_found) {
    RETURN_IF_ERROR(PrepareKernel(info, *found.kernel, state, step));
    if (options_.fold_constants && found.kernel->foldable && details->subgraphs.empty() &&
        all_known && (found.schema == nullptr || found.schema->deterministic)) {
      ASSIGN_OR_RETURN(const bool folded, Fold(info, *found.kernel, step.state, inputs, state));
      if (folded) return absl::OkStatus();
    }
    RETURN_IF_ERROR(Prepare(info, *found.kernel, inputs, state));
  }
  if (body_found || !details->subgraphs.empty()) {
    step.details = details.get();
    state.plan.details.push_back(std::move(details));
  }
  AddStep(step, info, inputs, output_types, state);
  return absl::OkStatus();
}

absl::StatusOr<bool> PlanBuilder::Impl::PrepareBody(const NodeInfo& info,
                                                    absl::Span<const Type> input_types,
                                                    bool all_known, StepDetails& details,
                                                    Step& step) {
  if (info.schema()->body == SchemaBody::kContextDependent && !all_known) {
    step.kind = StepKind::kLazyBody;
    return true;
  }
  ASSIGN_OR_RETURN(std::shared_ptr<const Function> body,
                   options_.function_provider->Body(info.node(), info.opset(), input_types));
  if (body == nullptr) return false;  // none for this opset or these types
  bodies_.push_back(body);
  step.kind = StepKind::kFunction;
  ASSIGN_OR_RETURN(details.function, BuildInstance(info, *body, true, input_types));
  return true;
}

absl::Status PlanBuilder::Impl::PrepareKernel(const NodeInfo& info, const KernelDef& kernel,
                                              GraphState& state, Step& step) {
  step.run = kernel.run;
  if (kernel.parse == nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(std::unique_ptr<KernelState> kernel_state, kernel.parse(info));
  step.state = kernel_state.get();
  state.plan.states.push_back(std::move(kernel_state));
  return absl::OkStatus();
}

// After PrepareKernel: the kernel's state is the plan's last.
absl::Status PlanBuilder::Impl::Prepare(const NodeInfo& info, const KernelDef& kernel,
                                        absl::Span<const ValueRef> inputs, GraphState& state) {
  if (kernel.prepare == nullptr) return absl::OkStatus();
  std::vector<const Value*> constants;
  for (ValueRef ref : inputs) {
    constants.push_back(ref.is_constant() ? &state.plan.constants[ref.constant()] : nullptr);
  }
  return kernel.prepare(state.plan.states.back().get(), info, constants, &prepared_left_);
}

void PlanBuilder::Impl::AddStep(Step step, const NodeInfo& info, absl::Span<const ValueRef> inputs,
                                absl::Span<const Type> output_types, GraphState& state) {
  Plan& plan = state.plan;
  step.info = &info;
  step.first_input = static_cast<uint32_t>(plan.refs.size());
  step.input_count = static_cast<uint32_t>(inputs.size());
  plan.refs.insert(plan.refs.end(), inputs.begin(), inputs.end());
  step.first_output = static_cast<uint32_t>(plan.output_slots.size());
  step.output_count = static_cast<uint32_t>(output_types.size());
  for (size_t i = 0; i < output_types.size(); ++i) {
    const std::string& name = info.node().outputs[i];
    if (name.empty()) {
      plan.output_slots.push_back(-1);
      continue;
    }
    const int32_t value = state.scope.value_count++;
    plan.output_slots.push_back(value);
    Define(name, {ValueRef::Slot(value), output_types[i]}, state);
  }
  plan.steps.push_back(step);
}

absl::StatusOr<bool> PlanBuilder::Impl::Fold(const NodeInfo& info, const KernelDef& kernel,
                                             const KernelState* kernel_state,
                                             absl::Span<const ValueRef> inputs, GraphState& state) {
  int64_t bytes = 0;
  std::vector<const Value*> values;
  for (ValueRef ref : inputs) {
    if (!ref.is_constant() && !ref.is_absent()) return false;
    const Value* value = ref.is_absent() ? nullptr : &state.plan.constants[ref.constant()];
    if (value != nullptr && value->is_tensor()) bytes += value->tensor().bytes();
    values.push_back(value);
  }
  if (bytes > kMaxFoldBytes) return false;
  const std::vector<std::string>& names = info.node().outputs;
  std::vector<Value> results(names.size());
  std::vector<Value*> outputs;
  for (size_t i = 0; i < names.size(); ++i)
    outputs.push_back(names[i].empty() ? nullptr : &results[i]);
  // What fails now fails again when the model runs, and is reported then.
  if (!Executor::RunKernel(kernel.run, kernel_state, info, values, outputs, fold_environment_)
           .ok()) {
    return false;
  }
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) continue;
    if (results[i].absent()) return false;
  }
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) continue;
    const Type type = results[i].type();
    const ValueRef ref = ValueRef::Constant(static_cast<int32_t>(state.plan.constants.size()));
    state.plan.constants.push_back(std::move(results[i]));
    Define(names[i], {ref, type}, state);
  }
  return true;
}

absl::Status PlanBuilder::Impl::BuildSubgraphs(NodeInfo& info, GraphState& state,
                                               StepDetails& details) {
  for (const Attribute& attribute : info.node().attributes) {
    for (const auto& graph : attribute.graphs) {
      std::string path = SubgraphPath(state.plan.path, info.node(), attribute.name);
      ASSIGN_OR_RETURN(std::unique_ptr<Plan> plan,
                       Build(ViewOf(*graph), &state.scope, state.around, std::move(path)));
      if (info.subgraph_output_types_ == nullptr) {
        info.subgraph_output_types_ = std::make_unique<std::vector<std::vector<Type>>>();
      }
      std::vector<Type>& types = info.subgraph_output_types_->emplace_back();
      for (const Plan::Output& output : plan->outputs) types.push_back(output.type);
      details.subgraphs.push_back(std::move(plan));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<const Plan*> PlanBuilder::Impl::BuildCall(const NodeInfo& info,
                                                         const Function& function,
                                                         absl::Span<const Type> input_types) {
  const Node& node = info.node();
  if (gradients_.Wrote(function)) {
    // The bodies of some operators depend on the types, which a written function is told.
    std::vector<Type> types(input_types.begin(), input_types.end());
    for (Type& type : types) type.shape.reset();
    return BuildInstance(info, function, false, types);
  }
  if (node.inputs.size() > function.inputs.size() ||
      node.outputs.size() > function.outputs.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(node.inputs.size(), " inputs and ", node.outputs.size(),
                     " outputs given, function ", FunctionLabel(function), " has ",
                     function.inputs.size(), " and ", function.outputs.size()));
  }
  for (const Attribute& attribute : node.attributes) {
    const bool known =
        std::find(function.attributes.begin(), function.attributes.end(), attribute.name) !=
            function.attributes.end() ||
        std::any_of(function.attribute_defaults.begin(), function.attribute_defaults.end(),
                    [&](const Attribute& a) { return a.name == attribute.name; });
    if (!known) {
      return absl::InvalidArgumentError(absl::StrCat("unknown attribute \"", attribute.name,
                                                     "\" of function ", FunctionLabel(function)));
    }
  }
  return BuildInstance(info, function, false, {});
}

absl::StatusOr<const Plan*> PlanBuilder::Impl::BuildInstance(const NodeInfo& info,
                                                             const Function& function,
                                                             bool standard,
                                                             absl::Span<const Type> input_types) {
  Surroundings around;
  around.imports = function.opset_imports;
  around.function = &function;
  around.standard = standard;
  if (standard) {
    around.caller_imports = model_.opset_imports;
    for (const SchemaAttribute& row : info.schema()->attributes) {
      if (row.has_default) around.bound[std::string(row.name)] = DefaultAttribute(row);
    }
  }
  for (const Attribute& attribute : function.attribute_defaults)
    around.bound[attribute.name] = &attribute;
  for (const Attribute& attribute : info.node().attributes)
    around.bound[attribute.name] = &attribute;

  const std::string label = FunctionLabel(function);
  const std::string id = absl::StrCat(absl::Hex(reinterpret_cast<uintptr_t>(&function)));
  if (std::find(call_chain_.begin(), call_chain_.end(), standard ? label : id) !=
      call_chain_.end()) {
    std::vector<std::string> chain;
    for (const std::string& link : call_chain_) {
      const auto named =
          std::find_if(model_.functions.begin(), model_.functions.end(), [&](const Function& f) {
            return absl::StrCat(absl::Hex(reinterpret_cast<uintptr_t>(&f))) == link;
          });
      chain.push_back(named == model_.functions.end() ? link : FunctionLabel(*named));
    }
    return absl::InvalidArgumentError(
        absl::StrCat("functions call themselves: ", absl::StrJoin(chain, " -> "), " -> ", label));
  }
  std::string key = absl::StrCat(id, ";");
  std::vector<const Attribute*> sorted;
  for (const auto& [name, attribute] : around.bound) sorted.push_back(attribute);
  std::sort(sorted.begin(), sorted.end(),
            [](const Attribute* a, const Attribute* b) { return a->name < b->name; });
  for (const Attribute* attribute : sorted) AppendAttributeKey(*attribute, &key);
  for (const Type& type : input_types) absl::StrAppend(&key, TypeToString(type), ",");
  const auto known = instances_.find(key);
  if (known != instances_.end()) {
    if (depth_ + known->second->height + 1 >= options_.max_nesting) {
      return TooDeep();
    }
    return known->second.get();
  }
  if (static_cast<int>(instances_.size()) >= options_.max_function_instances) {
    return absl::ResourceExhaustedError(absl::StrCat("more than ", options_.max_function_instances,
                                                     " different calls of functions"));
  }
  std::vector<ValueInfo> inputs;
  for (const std::string& name : function.inputs) inputs.push_back({name, {}});
  std::vector<ValueInfo> outputs;
  for (const std::string& name : function.outputs) outputs.push_back({name, {}});
  call_chain_.push_back(standard ? label : id);
  ASSIGN_OR_RETURN(std::unique_ptr<Plan> plan,
                   Build({inputs, {}, function.nodes, outputs}, nullptr, around,
                         absl::StrCat("function ", label), input_types));
  call_chain_.pop_back();
  return (instances_[key] = std::move(plan)).get();
}

PlanBuilder::PlanBuilder(const Model& model, const OpRegistry& registry,
                         const SessionOptions& options, RunEnvironment* fold_environment,
                         std::vector<std::string>* warnings)
    : impl_(std::make_unique<Impl>(model, registry, options, fold_environment, warnings)) {}
PlanBuilder::~PlanBuilder() = default;

absl::StatusOr<std::unique_ptr<Plan>> PlanBuilder::BuildMain() { return impl_->BuildMain(); }

absl::StatusOr<const Plan*> PlanBuilder::BuildBody(const NodeInfo& node,
                                                   absl::Span<const Type> input_types) {
  return impl_->BuildBody(node, input_types);
}

}  // namespace onnx_run
