#include "runtime/kernel.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/plan.h"
#include "runtime/status_macros.h"

namespace onnx_run {
namespace {

absl::Status Missing(absl::string_view name) {
  return absl::InvalidArgumentError(absl::StrCat("attribute \"", name, "\" is missing"));
}

}  // namespace

absl::string_view AttributeKindName(AttributeKind kind) {
  static constexpr absl::string_view kNames[] = {
      "UNDEFINED",      "FLOAT",      "INT",        "STRING",  "TENSOR", "GRAPH",
      "FLOATS",         "INTS",       "STRINGS",    "TENSORS", "GRAPHS", "SPARSE_TENSOR",
      "SPARSE_TENSORS", "TYPE_PROTO", "TYPE_PROTOS"};
  const auto index = static_cast<size_t>(kind);
  return index < std::size(kNames) ? kNames[index] : kNames[0];
}

const Attribute* NodeInfo::Find(absl::string_view name) const {
  for (const Attribute& attribute : node_->attributes) {
    if (attribute.name == name) return &attribute;
  }
  return nullptr;
}

// Each getter: the node's own value, else the schema's default, else nothing.
#define ONNX_RUN_ATTRIBUTE_DEFAULT(name)                             \
  schema_ == nullptr ? nullptr : [&]() -> const SchemaAttribute* {   \
    const SchemaAttribute* found = schema_->FindAttribute(name);     \
    return found != nullptr && found->has_default ? found : nullptr; \
  }()

absl::StatusOr<int64_t> NodeInfo::Int(absl::string_view name) const {
  if (const Attribute* own = Find(name)) return own->i;
  if (const SchemaAttribute* row = ONNX_RUN_ATTRIBUTE_DEFAULT(name)) return row->i;
  return Missing(name);
}

absl::StatusOr<float> NodeInfo::Float(absl::string_view name) const {
  if (const Attribute* own = Find(name)) return own->f;
  if (const SchemaAttribute* row = ONNX_RUN_ATTRIBUTE_DEFAULT(name)) return row->f;
  return Missing(name);
}

absl::StatusOr<std::string> NodeInfo::String(absl::string_view name) const {
  if (const Attribute* own = Find(name)) return own->s;
  if (const SchemaAttribute* row = ONNX_RUN_ATTRIBUTE_DEFAULT(name)) return std::string(row->s);
  return Missing(name);
}

absl::StatusOr<Tensor> NodeInfo::TensorValue(absl::string_view name) const {
  const Attribute* own = Find(name);
  if (own == nullptr || own->values.size() != 1 || !own->values[0].is_tensor())
    return Missing(name);
  return own->values[0].tensor();
}

int64_t NodeInfo::IntOr(absl::string_view name, int64_t fallback) const {
  return Int(name).value_or(fallback);
}
float NodeInfo::FloatOr(absl::string_view name, float fallback) const {
  return Float(name).value_or(fallback);
}
std::string NodeInfo::StringOr(absl::string_view name, absl::string_view fallback) const {
  return String(name).value_or(std::string(fallback));
}

std::vector<int64_t> NodeInfo::Ints(absl::string_view name) const {
  if (const Attribute* own = Find(name)) return own->ints;
  if (const SchemaAttribute* row = ONNX_RUN_ATTRIBUTE_DEFAULT(name)) {
    return {row->ints, row->ints + row->count};
  }
  return {};
}

std::vector<float> NodeInfo::Floats(absl::string_view name) const {
  if (const Attribute* own = Find(name)) return own->floats;
  if (const SchemaAttribute* row = ONNX_RUN_ATTRIBUTE_DEFAULT(name)) {
    return {row->floats, row->floats + row->count};
  }
  return {};
}

std::vector<std::string> NodeInfo::Strings(absl::string_view name) const {
  if (const Attribute* own = Find(name)) return own->strings;
  if (const SchemaAttribute* row = ONNX_RUN_ATTRIBUTE_DEFAULT(name)) {
    return {row->strings, row->strings + row->count};
  }
  return {};
}
#undef ONNX_RUN_ATTRIBUTE_DEFAULT

absl::StatusOr<int> NodeInfo::Subgraph(absl::string_view name) const {
  // Subgraphs are numbered in the order of the attributes that hold them.
  int number = 0;
  for (const Attribute& attribute : node_->attributes) {
    if (attribute.name == name && !attribute.graphs.empty()) return number;
    number += static_cast<int>(attribute.graphs.size());
  }
  return Missing(name);
}

std::string NodeInfo::Describe() const {
  std::string text = absl::StrCat("node #", index_, " ", op_type());
  if (!name().empty()) absl::StrAppend(&text, " \"", name(), "\"");
  absl::StrAppend(&text, " (", domain().empty() ? "ai.onnx" : domain());
  if (opset_ > 0) absl::StrAppend(&text, " opset ", opset_);
  absl::StrAppend(&text, "), ", *graph_path_);
  return text;
}

absl::Status NodeInfo::BadAttribute(absl::string_view name, absl::string_view found,
                                    absl::string_view expected) const {
  return absl::InvalidArgumentError(
      absl::StrCat("attribute \"", name, "\" is ", found, ", expected ", expected));
}

Value KernelContext::TakeInput(int i) {
  if (i < 64 && (dying_ >> i & 1U) != 0) {
    // The slot is this frame's; its value dies here, and nothing else reads it.
    return std::move(*const_cast<Value*>(inputs_[i]));
  }
  return *inputs_[i];
}

absl::Status KernelContext::CheckOutputBytes(ElementType type,
                                             absl::Span<const int64_t> dims) const {
  ASSIGN_OR_RETURN(const int64_t count, ElementCount(dims));
  const int64_t bytes =
      type == ElementType::kString ? count * 32 : PackedBytes(type, count).value_or(0);
  if (bytes <= environment_->max_output_bytes) return absl::OkStatus();
  return absl::ResourceExhaustedError("too large to be computed at load");
}

absl::StatusOr<Tensor> KernelContext::Allocate(ElementType type, absl::Span<const int64_t> dims) {
  if (environment_->bounds_outputs()) RETURN_IF_ERROR(CheckOutputBytes(type, dims));
  return Tensor::Create(type, dims, environment_->pool);
}

inline Tensor& KernelContext::PlaceOutput(int i) {
  if (wants_output(i)) return outputs_[i]->EmplaceTensor();
  scratch_.push_back(std::make_unique<Tensor>());
  return *scratch_.back();
}

absl::StatusOr<Tensor*> KernelContext::Output(int i, ElementType type,
                                              absl::Span<const int64_t> dims) {
  if (environment_->bounds_outputs()) RETURN_IF_ERROR(CheckOutputBytes(type, dims));
  Tensor& output = PlaceOutput(i);
  RETURN_IF_ERROR(output.Renew(type, dims, environment_->pool));
  return &output;
}

absl::StatusOr<Tensor*> KernelContext::OutputTexts(int i, absl::Span<const int64_t> dims) {
  if (environment_->bounds_outputs()) RETURN_IF_ERROR(CheckOutputBytes(ElementType::kString, dims));
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::CreateTexts(dims, environment_->pool));
  Tensor& output = PlaceOutput(i);
  output = std::move(tensor);
  return &output;
}

absl::StatusOr<Tensor*> KernelContext::OutputInPlace(int i, int input, ElementType type,
                                                     absl::Span<const int64_t> dims) {
  if (input < 64 && (dying_ >> input & 1U) != 0 && wants_output(i)) {
    // The slot is this frame's own, and dies here.
    Tensor& from = const_cast<Value*>(inputs_[input])->mutable_tensor();
    if (BitsOf(type) != 0 && BitsOf(type) == BitsOf(from.type()) && from.Writable() &&
        absl::MakeConstSpan(from.dims()) == dims) {
      Tensor& output = outputs_[i]->EmplaceTensor();
      output.TakeMemoryOf(from, type, dims, from.size());
      return &output;
    }
  }
  return Output(i, type, dims);
}

void KernelContext::SetOutput(int i, Value value) {
  if (wants_output(i)) *outputs_[i] = std::move(value);
}

void KernelContext::ParallelFor(int64_t n, int64_t grain,
                                absl::FunctionRef<void(int64_t begin, int64_t end)> fn) const {
  if (environment_->parallel_for == nullptr || n <= grain) {
    if (n > 0) fn(0, n);
    return;
  }
  (*environment_->parallel_for)(n, grain, fn);
}

BufferPool* KernelContext::pool() const { return environment_->pool; }

uint64_t KernelContext::NextRandomSeed() {
  // SplitMix64: every call of every run gets a stream of its own.
  uint64_t z = (environment_->seed += 0x9E3779B97F4A7C15ULL);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

struct SubgraphRunner::Impl {
  const Plan* plan = nullptr;
  Frame* frame = nullptr;
  RunEnvironment* environment = nullptr;
  std::vector<const Value*> captures;
  ~Impl() {
    if (frame != nullptr) plan->ReleaseFrame(frame);
  }
};

SubgraphRunner::SubgraphRunner(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SubgraphRunner::SubgraphRunner(SubgraphRunner&&) noexcept = default;
SubgraphRunner::~SubgraphRunner() = default;

int SubgraphRunner::input_count() const { return static_cast<int>(impl_->plan->inputs.size()); }
int SubgraphRunner::output_count() const { return static_cast<int>(impl_->plan->outputs.size()); }
const Type& SubgraphRunner::input_type(int i) const { return impl_->plan->inputs[i].type; }
const Type& SubgraphRunner::output_type(int i) const { return impl_->plan->outputs[i].type; }

absl::Status SubgraphRunner::Run(absl::Span<Value> inputs, absl::Span<Value> outputs) {
  const Plan& plan = *impl_->plan;
  if (inputs.size() != plan.inputs.size() || outputs.size() != plan.outputs.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(plan.path, " has ", plan.inputs.size(), " inputs and ", plan.outputs.size(),
                     " outputs, given ", inputs.size(), " and ", outputs.size()));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Plan::Input& input = plan.inputs[i];
    if (input.slot >= 0) impl_->frame->slots[input.slot] = std::move(inputs[i]);
  }
  RETURN_IF_ERROR(Executor::Run(plan, *impl_->frame, *impl_->environment));
  return Executor::TakeOutputs(plan, *impl_->frame, outputs);
}

SubgraphRunner KernelContext::Subgraph(int number) {
  auto impl = std::make_unique<SubgraphRunner::Impl>();
  impl->plan = step_->details->subgraphs[number].get();
  impl->frame = impl->plan->AcquireFrame();
  impl->environment = environment_;
  // frame_->slots does not move while this step runs, so the pointers stay good.
  impl->captures.reserve(impl->plan->captures.size());
  for (ValueRef ref : impl->plan->captures) {
    impl->captures.push_back(ref.is_slot() ? &frame_->slots[ref.slot()]
                                           : frame_->captures[ref.capture()]);
  }
  impl->frame->captures = impl->captures.data();
  return SubgraphRunner(std::move(impl));
}

}  // namespace onnx_run
