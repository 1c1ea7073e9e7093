// Runs plans: gathers inputs, calls kernels, lets values go at their last use.
#include <array>
#include <new>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/plan.h"
#include "runtime/status_macros.h"

namespace onnx_run {
namespace {

absl::Status AtNode(const absl::Status& status, const NodeInfo& info) {
  // A node inside of a subgraph or function has said where it is already; the outer ones add
  // nothing.
  if (absl::StartsWith(status.message(), "node #")) return status;
  return absl::Status(status.code(), absl::StrCat(info.Describe(), ": ", status.message()));
}

void Clear(Frame& frame) {
  for (Value& value : frame.slots) value.Reset();
}

// Pointers to the inputs (or outputs) of one step: on the stack but for huge variadic ones.
template <typename Pointer>
class PointerArray {
 public:
  explicit PointerArray(uint32_t max) {
    if (max > inline_.size()) {
      heap_.resize(max);
      data_ = heap_.data();
    } else {
      data_ = inline_.data();
    }
  }
  Pointer* data() { return data_; }

 private:
  std::array<Pointer, 16> inline_;
  std::vector<Pointer> heap_;
  Pointer* data_;
};

}  // namespace

Plan::~Plan() {
  while (frames_ != nullptr) {
    Frame* next = frames_->next;
    delete frames_;
    frames_ = next;
  }
}

Frame* Plan::AcquireFrame() const {
  while (frames_lock_.test_and_set(std::memory_order_acquire)) {
  }
  Frame* frame = frames_;
  if (frame != nullptr) frames_ = frame->next;
  frames_lock_.clear(std::memory_order_release);
  if (frame == nullptr) {
    frame = new Frame;
    frame->slots.resize(slot_count);
  }
  return frame;
}

void Plan::ReleaseFrame(Frame* frame) const {
  while (frames_lock_.test_and_set(std::memory_order_acquire)) {
  }
  frame->next = frames_;
  frames_ = frame;
  frames_lock_.clear(std::memory_order_release);
}

absl::Status Executor::CheckInputTypes(const NodeInfo& info, const SchemaTable& schemas,
                                       absl::Span<const Value* const> inputs, bool strict) {
  const OpSchema* schema = info.schema();
  if (schema == nullptr) return absl::OkStatus();
  std::array<const Value*, 16> bound{};
  for (int i = 0; i < static_cast<int>(inputs.size()); ++i) {
    const Value* value = inputs[i];
    const SchemaParameter* parameter = schema->Input(i);
    if (parameter == nullptr) continue;
    if (value == nullptr || value->absent()) {
      if (parameter->option != ParameterOption::kSingle) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("input ", i, " \"", parameter->name, "\" is required and absent"));
    }
    const SchemaTypeSet& types = schemas.TypesOf(*parameter);
    if (!types.Has(*value) &&
        (strict || !AllowedLater(schemas, *schema, false, i, value->type()))) {
      return absl::InvalidArgumentError(absl::StrCat("input ", i, " \"", parameter->name,
                                                     "\" has type ", TypeToString(value->type()),
                                                     ", accepted: ", types.ToString()));
    }
    if (parameter->constraint < 0 || parameter->constraint >= static_cast<int>(bound.size()) ||
        (parameter->option == ParameterOption::kVariadic && !parameter->homogeneous)) {
      continue;
    }
    const Value*& first = bound[parameter->constraint];
    if (first == nullptr) {
      first = value;
    } else if (first->kind() != value->kind() ||
               (value->is_tensor() && first->tensor().type() != value->tensor().type())) {
      return absl::InvalidArgumentError(
          absl::StrCat("input ", i, " \"", parameter->name, "\" has type ",
                       TypeToString(value->type()), ", expected ", TypeToString(first->type()),
                       " as another input of type ", parameter->type_string));
    }
  }
  return absl::OkStatus();
}

absl::Status Executor::CallPlan(const Plan& callee, KernelContext& context,
                                RunEnvironment& environment) {
  const FrameLease inner(callee);
  for (size_t i = 0; i < callee.inputs.size(); ++i) {
    if (callee.inputs[i].slot < 0 || !context.has_input(static_cast<int>(i))) continue;
    inner->slots[callee.inputs[i].slot] = context.TakeInput(static_cast<int>(i));
  }
  absl::Status status = Run(callee, *inner, environment);
  if (status.ok()) {
    std::vector<Value> results(callee.outputs.size());
    status = TakeOutputs(callee, *inner, absl::MakeSpan(results));
    for (size_t i = 0; i < results.size(); ++i) {
      context.SetOutput(static_cast<int>(i), std::move(results[i]));
    }
  }
  return status;
}

absl::Status Executor::RunStep(const Step& step, KernelContext& context,
                               RunEnvironment& environment) {
  if (step.check_types && environment.schemas != nullptr) {
    RETURN_IF_ERROR(
        CheckInputTypes(*step.info, *environment.schemas, context.inputs_, environment.strict));
  }
  switch (step.kind) {
    case StepKind::kKernel: return step.run(step.state, context);
    case StepKind::kFunction: return CallPlan(*step.details->function, context, environment);
    case StepKind::kLazyBody: {
      std::vector<Type> types;
      std::string key;
      for (const Value* input : context.inputs_) {
        types.push_back(input == nullptr ? Type() : input->type());
        absl::StrAppend(&key, TypeToString(types.back(), true), ";");
      }
      const Plan* body = nullptr;
      {
        const std::lock_guard<std::mutex> lock(step.details->mutex);
        for (const auto& [known, known_body] : step.details->bodies) {
          if (known == key) body = known_body;
        }
      }
      if (body == nullptr) {
        ASSIGN_OR_RETURN(body, environment.builder->BuildBody(*step.info, types));
        const std::lock_guard<std::mutex> lock(step.details->mutex);
        step.details->bodies.emplace_back(key, body);
      }
      return CallPlan(*body, context, environment);
    }
  }
  return absl::InternalError("unknown kind of step");
}

template <bool kObserved>
absl::Status Executor::RunSteps(const Plan& plan, Frame& frame, RunEnvironment& environment) {
  PointerArray<const Value*> inputs(plan.max_inputs);
  PointerArray<Value*> outputs(plan.max_outputs);
  KernelContext context;
  context.environment_ = &environment;
  context.frame_ = &frame;
  for (const Step& step : plan.steps) {
    for (uint32_t i = 0; i < step.input_count; ++i) {
      inputs.data()[i] = Resolve(plan, frame, plan.refs[step.first_input + i]);
    }
    for (uint32_t i = 0; i < step.output_count; ++i) {
      const int32_t slot = plan.output_slots[step.first_output + i];
      outputs.data()[i] = slot < 0 ? nullptr : &frame.slots[slot];
    }
    context.node_ = step.info;
    context.step_ = &step;
    context.inputs_ = absl::MakeConstSpan(inputs.data(), step.input_count);
    context.outputs_ = absl::MakeConstSpan(outputs.data(), step.output_count);
    // An observer is shown the inputs after the node has run: nothing may be written in place then.
    context.dying_ = kObserved ? 0 : step.dying;
    if constexpr (kObserved) environment.observer->OnNodeStart(*step.info, context.inputs_);
    absl::Status status = step.kind == StepKind::kKernel && !step.check_types
                              ? step.run(step.state, context)
                              : RunStep(step, context, environment);
    if constexpr (kObserved) {
      environment.observer->OnNodeEnd(*step.info, context.inputs_, context.outputs_, status);
    }
    if (!status.ok()) return AtNode(status, *step.info);
    if (!context.scratch_.empty()) context.scratch_.clear();
    for (uint32_t i = 0; i < step.death_count; ++i) {
      frame.slots[plan.deaths[step.first_death + i]].Reset();
    }
  }
  return absl::OkStatus();
}

absl::Status Executor::Run(const Plan& plan, Frame& frame, RunEnvironment& environment) {
  try {
    absl::Status status = environment.observer == nullptr
                              ? RunSteps<false>(plan, frame, environment)
                              : RunSteps<true>(plan, frame, environment);
    if (!status.ok()) Clear(frame);
    return status;
  } catch (...) {
    Clear(frame);
    throw;
  }
}

absl::Status Executor::TakeOutputs(const Plan& plan, Frame& frame, absl::Span<Value> outputs) {
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    const Plan::Output& output = plan.outputs[i];
    const Value* value = Resolve(plan, frame, output.ref);
    if (value == nullptr) {
      outputs[i].Reset();
    } else if (output.ref.is_slot() && output.last) {
      outputs[i] = std::move(frame.slots[output.ref.slot()]);
    } else {
      outputs[i] = *value;
    }
  }
  for (int32_t slot : plan.final_deaths) frame.slots[slot].Reset();
  return absl::OkStatus();
}

absl::Status Executor::RunKernel(RunFn run, const KernelState* state, const NodeInfo& info,
                                 absl::Span<const Value* const> inputs,
                                 absl::Span<Value* const> outputs, RunEnvironment& environment) {
  KernelContext context;
  context.node_ = &info;
  context.inputs_ = inputs;
  context.outputs_ = outputs;
  context.environment_ = &environment;
  return run(state, context);
}

}  // namespace onnx_run
