#include "runtime/session.h"

#include <algorithm>
#include <atomic>
#include <new>
#include <random>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/plan.h"
#include "runtime/status_macros.h"
#include "runtime/thread_pool.h"

namespace onnx_run {
namespace {

// A declared dimension with its parameter numbered, so that a run compares numbers and not names.
struct DimCheck {
  int64_t value = -1;  // the number declared, or -1
  int param = -1;      // index of the parameter, or -1
};

struct InputCheck {
  bool has_shape = false;
  std::vector<DimCheck> dims;
};

std::string DomainName(absl::string_view domain) {
  return domain.empty() ? "ai.onnx" : std::string(domain);
}

// IR version and opsets of the model against what the schemas know.
absl::Status CheckVersions(Model& model, const SchemaTable* schemas, const SessionOptions& options,
                           std::vector<std::string>* warnings) {
  const int max_ir = schemas == nullptr ? INT32_MAX : schemas->max_ir_version;
  if (model.ir_version <= 0) {
    return absl::InvalidArgumentError(absl::StrCat("the model's ir_version is ", model.ir_version,
                                                   " or missing, expected 1 to ", max_ir));
  }
  if (model.ir_version > max_ir) {
    const std::string text = absl::StrCat("the model's ir_version is ", model.ir_version,
                                          ", the newest supported is ", max_ir);
    if (!options.allow_newer_ir_version) return absl::InvalidArgumentError(text);
    warnings->push_back(text);
  }
  if (model.ir_version < 3) {
    if (!model.opset_imports.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the model's ir_version is ", model.ir_version,
                       ", which has no opset_import, but it has one"));
    }
    model.opset_imports.push_back({"", 1});
  } else if (model.opset_imports.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("a model of ir_version ", model.ir_version,
                                                   " needs an opset_import, and has none"));
  }
  absl::flat_hash_map<std::string, int64_t> seen;
  for (const OpsetImport& import : model.opset_imports) {
    const auto [place, fresh] = seen.emplace(import.domain, import.version);
    if (!fresh && place->second != import.version) {
      warnings->push_back(absl::StrCat("domain ", DomainName(import.domain),
                                       " is imported twice, the highest version binds"));
    }
    if (import.version < 1) {
      return absl::InvalidArgumentError(absl::StrCat("opset version ", import.version,
                                                     " of domain ", DomainName(import.domain),
                                                     " is not positive"));
    }
    const SchemaDomain* known = schemas == nullptr ? nullptr : schemas->FindDomain(import.domain);
    if (known != nullptr && import.version > known->max_version) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the model imports opset ", import.version, " of ", DomainName(import.domain),
          ", the newest supported is ", known->max_version));
    }
  }
  return absl::OkStatus();
}

// What was built by hand may say "ai.onnx"; nodes are seen to one by one (PlanBuilder).
void MakeDomainsCanonical(Model& model) {
  const auto canonical = [](std::string& domain) {
    if (CanonicalDomain(domain).empty()) domain.clear();
  };
  for (OpsetImport& import : model.opset_imports) canonical(import.domain);
  for (Function& function : model.functions) {
    canonical(function.domain);
    for (OpsetImport& import : function.opset_imports) canonical(import.domain);
  }
}

bool Accepts(const Type& declared, const Value& value) {
  if (declared.kind == ValueKind::kAbsent) return true;
  if (declared.kind == ValueKind::kTensor) {
    return value.is_tensor() && value.tensor().type() == declared.element;
  }
  if (declared.kind != value.kind()) {
    // What an optional holds may stand for the optional.
    return declared.kind == ValueKind::kOptional && declared.inner != nullptr &&
           Accepts(*declared.inner, value);
  }
  switch (declared.kind) {
    case ValueKind::kSparseTensor: return value.sparse().values.type() == declared.element;
    case ValueKind::kSequence:
      return declared.inner == nullptr ||
             std::all_of(value.sequence().elements.begin(), value.sequence().elements.end(),
                         [&](const Value& element) { return Accepts(*declared.inner, element); });
    case ValueKind::kOptional:
      return declared.inner == nullptr || value.optional().element == nullptr ||
             Accepts(*declared.inner, *value.optional().element);
    case ValueKind::kMap: return value.map().keys.type() == declared.element;
    default: return true;
  }
}

// `value` with elements that nothing else looks at, those of a sequence or optional too: the caller
// may write to what a run gave, and may drop or change what it was given.
absl::StatusOr<Value> Own(Value value, BufferPool* pool) {
  switch (value.kind()) {
    case ValueKind::kTensor: {
      if (value.tensor().Writable()) return value;
      ASSIGN_OR_RETURN(Tensor own, value.tensor().Clone(pool));
      return Value(std::move(own));
    }
    case ValueKind::kSequence: {
      for (Value& element : value.mutable_sequence().elements) {
        ASSIGN_OR_RETURN(element, Own(std::move(element), pool));
      }
      return value;
    }
    case ValueKind::kOptional: {
      const Optional& optional = value.optional();
      if (optional.element == nullptr) return value;
      ASSIGN_OR_RETURN(Value element, Own(*optional.element, pool));
      return Value(Optional(optional.element_type, std::make_unique<Value>(std::move(element))));
    }
    default: return value;  // maps and sparse tensors have no mutable access
  }
}

}  // namespace

struct Session::Impl {
  Model model;
  OpRegistry registry;
  SessionOptions options;
  std::vector<std::string> warnings;
  std::unique_ptr<ThreadPool> threads;
  ParallelForFunction parallel_for;
  BufferPool* pool = nullptr;
  std::unique_ptr<PlanBuilder> builder;
  std::unique_ptr<Plan> plan;
  std::vector<Input> inputs;
  std::vector<InputCheck> checks;
  std::vector<std::string> params;  // names of dimension parameters
  std::atomic<uint64_t> runs{0};
  uint64_t entropy = 0;

  explicit Impl(const OpRegistry& r) : registry(r) {}
  ~Impl() {
    plan.reset();
    builder.reset();
    if (pool != nullptr) pool->Disown();
  }

  RunEnvironment Environment() {
    RunEnvironment environment;
    environment.pool = pool;
    environment.parallel_for = &parallel_for;
    environment.schemas = registry.schemas();
    environment.builder = builder.get();
    environment.strict = options.strict;
    return environment;
  }

  void NumberParams();
  absl::Status CheckInput(size_t i, const Value& value, absl::Span<int64_t> bound) const;
  absl::Status Run(absl::Span<const Value> inputs, absl::Span<Value> outputs,
                   const RunOptions& run_options);
};

void Session::Impl::NumberParams() {
  absl::flat_hash_map<std::string, int> numbers;
  for (const Plan::Input& input : plan->inputs) {
    InputCheck check;
    if (input.type.shape) {
      check.has_shape = true;
      for (const DeclaredDim& dim : *input.type.shape) {
        DimCheck row;
        if (dim.value) {
          row.value = *dim.value;
        } else if (!dim.param.empty()) {
          const auto [place, fresh] = numbers.emplace(dim.param, static_cast<int>(numbers.size()));
          if (fresh) params.push_back(dim.param);
          row.param = place->second;
        }
        check.dims.push_back(row);
      }
    }
    checks.push_back(std::move(check));
  }
}

absl::Status Session::Impl::CheckInput(size_t i, const Value& value,
                                       absl::Span<int64_t> bound) const {
  const Plan::Input& input = plan->inputs[i];
  if (!Accepts(input.type, value)) {
    return absl::InvalidArgumentError(absl::StrCat("input \"", input.name, "\" is declared ",
                                                   TypeToString(input.type, true), ", given ",
                                                   Describe(value)));
  }
  const InputCheck& check = checks[i];
  if (!check.has_shape || !value.is_tensor() || input.type.kind != ValueKind::kTensor) {
    return absl::OkStatus();
  }
  const Dims& dims = value.tensor().dims();
  const auto mismatch = [&](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat("input \"", input.name, "\" is declared ",
                                                   TypeToString(input.type, true), ", given ",
                                                   Describe(value), why));
  };
  if (dims.size() != check.dims.size()) return mismatch("");
  for (size_t d = 0; d < dims.size(); ++d) {
    const DimCheck& row = check.dims[d];
    if (row.value >= 0 && row.value != dims[d]) return mismatch("");
    if (row.param < 0) continue;
    int64_t& known = bound[row.param];
    if (known >= 0 && known != dims[d]) {
      return mismatch(absl::StrCat(": dimension \"", params[row.param], "\" is ", known,
                                   " in an earlier input"));
    }
    known = dims[d];
  }
  return absl::OkStatus();
}

absl::Status Session::Impl::Run(absl::Span<const Value> given, absl::Span<Value> outputs,
                                const RunOptions& run_options) {
  if (given.size() != plan->inputs.size() || outputs.size() != plan->outputs.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the model has ", plan->inputs.size(), " inputs and ", plan->outputs.size(),
                     " outputs, given ", given.size(), " and ", outputs.size()));
  }
  absl::InlinedVector<int64_t, 16> bound(params.size(), -1);
  for (size_t i = 0; i < given.size(); ++i) {
    if (!given[i].absent()) {
      RETURN_IF_ERROR(CheckInput(i, given[i], absl::MakeSpan(bound)));
    } else if (plan->inputs[i].default_value.is_absent() &&
               plan->inputs[i].type.kind != ValueKind::kOptional) {
      return absl::InvalidArgumentError(absl::StrCat("input \"", plan->inputs[i].name, "\" (",
                                                     TypeToString(plan->inputs[i].type, true),
                                                     ") is not given"));
    }
  }
  const BufferPool::Loan loan(pool);
  RunEnvironment environment = Environment();
  environment.observer = run_options.observer;
  environment.seed =
      run_options.seed != 0
          ? run_options.seed
          : entropy + 0x632BE59BD9B4E019ULL * runs.fetch_add(1, std::memory_order_relaxed);
  const FrameLease frame(*plan);
  for (size_t i = 0; i < given.size(); ++i) {
    const Plan::Input& input = plan->inputs[i];
    if (input.slot < 0) continue;
    if (!given[i].absent()) {
      frame->slots[input.slot] = given[i];
    } else if (!input.default_value.is_absent()) {
      frame->slots[input.slot] = plan->constants[input.default_value.constant()];
    } else {
      frame->slots[input.slot] =
          Value(Optional(input.type.inner != nullptr ? *input.type.inner : Type(), nullptr));
    }
  }
  // What the last run left there is given up first, each to the slot that is the output's again:
  // this run then uses its memory, which caches still hold.
  for (size_t i = 0; i < outputs.size(); ++i) {
    const ValueRef ref = plan->outputs[i].ref;
    if (ref.is_slot() && plan->outputs[i].last && frame->slots[ref.slot()].absent()) {
      outputs[i].ResetKeepingMemory();
      frame->slots[ref.slot()] = std::move(outputs[i]);
    } else {
      outputs[i].Reset();
    }
  }
  absl::Status status = Executor::Run(*plan, *frame, environment);
  if (status.ok()) status = Executor::TakeOutputs(*plan, *frame, outputs);
  RETURN_IF_ERROR(status);
  for (Value& output : outputs) {
    if (output.is_tensor() && output.tensor().Writable()) continue;
    ASSIGN_OR_RETURN(output, Own(std::move(output), pool));
  }
  return absl::OkStatus();
}

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::~Session() = default;

absl::StatusOr<std::unique_ptr<const Session>> Session::Create(Model model,
                                                               const OpRegistry& registry,
                                                               SessionOptions options) {
  try {
    auto impl = std::make_unique<Impl>(registry);
    impl->model = std::move(model);
    impl->options = std::move(options);
    MakeDomainsCanonical(impl->model);
    RETURN_IF_ERROR(CheckVersions(impl->model, registry.schemas(), impl->options, &impl->warnings));
    impl->pool = BufferPool::Create(impl->options.allocator != nullptr ? impl->options.allocator
                                                                       : Allocator::Default());
    if (impl->options.parallel_for) {
      impl->parallel_for = impl->options.parallel_for;
    } else {
      impl->threads = std::make_unique<ThreadPool>(impl->options.threads);
      impl->parallel_for = [pool = impl->threads.get()](
                               int64_t n, int64_t grain,
                               absl::FunctionRef<void(int64_t, int64_t)> fn) {
        pool->ParallelFor(n, grain, fn);
      };
    }
    impl->entropy = std::random_device{}();
    RunEnvironment environment = impl->Environment();
    impl->builder = std::make_unique<PlanBuilder>(impl->model, impl->registry, impl->options,
                                                  &environment, &impl->warnings);
    ASSIGN_OR_RETURN(impl->plan, impl->builder->BuildMain());
    for (const Plan::Input& input : impl->plan->inputs) {
      impl->inputs.push_back({input.name, input.type, !input.default_value.is_absent()});
    }
    impl->NumberParams();
    return std::unique_ptr<const Session>(new Session(std::move(impl)));
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("no memory left while the model was made ready");
  } catch (const std::exception& error) {
    return absl::InternalError(error.what());
  }
}

absl::Span<const Session::Input> Session::inputs() const { return impl_->inputs; }
absl::Span<const ValueInfo> Session::outputs() const { return impl_->model.graph.outputs; }
absl::Span<const std::string> Session::warnings() const { return impl_->warnings; }
const Model& Session::model() const { return impl_->model; }

absl::Status Session::Run(absl::Span<const Value> inputs, absl::Span<Value> outputs,
                          const RunOptions& options) const {
  try {
    return impl_->Run(inputs, outputs, options);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("no memory left while the model ran");
  } catch (const std::exception& error) {
    return absl::InternalError(error.what());
  }
}

absl::StatusOr<std::vector<Value>> Session::Run(
    absl::Span<const std::pair<std::string, Value>> inputs, const RunOptions& options) const {
  std::vector<Value> positional(impl_->inputs.size());
  for (const auto& [name, value] : inputs) {
    const auto place =
        std::find_if(impl_->inputs.begin(), impl_->inputs.end(),
                     [&name = name](const Input& input) { return input.name == name; });
    if (place == impl_->inputs.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the model has no input \"", name, "\"; it has: ",
                       absl::StrJoin(impl_->inputs, ", ", [](std::string* out, const Input& input) {
                         absl::StrAppend(out, input.name);
                       })));
    }
    positional[place - impl_->inputs.begin()] = value;
  }
  std::vector<Value> outputs(impl_->model.graph.outputs.size());
  RETURN_IF_ERROR(Run(positional, absl::MakeSpan(outputs), options));
  return outputs;
}

}  // namespace onnx_run
