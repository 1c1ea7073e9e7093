// The kernel API: what an operator implementation is given, and the table row that names it.
//
// A kernel is a free function. Attributes are parsed once, at load, into a small struct:
//
//   struct CastAttributes { ElementType to; ConvertOptions options; };
//   absl::StatusOr<CastAttributes> ParseCast(const NodeInfo& node);
//   absl::Status Cast(const CastAttributes& attributes, KernelContext& context);
//
//   constexpr KernelDef kCastKernels[] = {
//       Kernel<ParseCast, Cast>("", "Cast", 25),
//       Kernel<ParseCast, Cast>("", "Cast", 24),
//       Kernel<Identity>("", "Identity", 25),       // no attributes
//   };
//
// Before a kernel runs, the executor has checked arity, attributes and types against the standard's
// schema (runtime/op_schema.h): required inputs are present and every input has an allowed type.
#ifndef ONNX_RUN_RUNTIME_KERNEL_H_
#define ONNX_RUN_RUNTIME_KERNEL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/model.h"
#include "runtime/op_schema.h"
#include "runtime/tensor.h"
#include "runtime/value.h"

namespace onnx_run {

class KernelContext;
class Executor;
class Gradients;
class PlanBuilder;
struct Frame;
struct GradientRules;
struct Plan;
struct RunEnvironment;
struct Step;

// What is known of a node at load. Attribute getters return the node's own value, else the default
// of the schema; a value of the wrong kind has been refused before.
class NodeInfo {
 public:
  const std::string& name() const { return node_->name; }
  const std::string& domain() const { return node_->domain; }
  const std::string& op_type() const { return node_->op_type; }
  const Node& node() const { return *node_; }
  int64_t opset() const {
    return opset_;
  }  // the domain's version here; 0 for model-local functions
  int since_version() const { return schema_ != nullptr ? schema_->since_version : 0; }
  const OpSchema* schema() const { return schema_; }
  int index() const { return index_; }                            // in its graph's node list
  const std::string& graph_path() const { return *graph_path_; }  // "main graph/If \"then_branch\""

  int input_count() const { return static_cast<int>(node_->inputs.size()); }
  bool has_input(int i) const { return i < input_count() && !node_->inputs[i].empty(); }
  int output_count() const { return static_cast<int>(node_->outputs.size()); }
  bool has_output(int i) const { return i < output_count() && !node_->outputs[i].empty(); }

  // nullptr when the node does not set it (the schema's default is not looked at).
  const Attribute* Find(absl::string_view name) const;
  bool Has(absl::string_view name) const { return Find(name) != nullptr; }
  // InvalidArgument when neither node nor schema gives one.
  absl::StatusOr<int64_t> Int(absl::string_view name) const;
  absl::StatusOr<float> Float(absl::string_view name) const;
  absl::StatusOr<std::string> String(absl::string_view name) const;
  absl::StatusOr<Tensor> TensorValue(absl::string_view name) const;
  // `fallback` when neither node nor schema gives one.
  int64_t IntOr(absl::string_view name, int64_t fallback) const;
  float FloatOr(absl::string_view name, float fallback) const;
  std::string StringOr(absl::string_view name, absl::string_view fallback) const;
  // Empty when neither gives one.
  std::vector<int64_t> Ints(absl::string_view name) const;
  std::vector<float> Floats(absl::string_view name) const;
  std::vector<std::string> Strings(absl::string_view name) const;
  // The number by which KernelContext::RunSubgraph knows a graph attribute.
  absl::StatusOr<int> Subgraph(absl::string_view name) const;

  // The types of a compiled subgraph's outputs, as far as they are known at load.
  absl::Span<const Type> SubgraphOutputTypes(int number) const {
    if (subgraph_output_types_ == nullptr) return {};
    return (*subgraph_output_types_)[number];
  }

  // `node #7 CastLike "cl_3" (ai.onnx opset 21), main graph`
  std::string Describe() const;
  // InvalidArgument `attribute "axis" is 7, expected ...`: Describe() is added by the loader.
  absl::Status BadAttribute(absl::string_view name, absl::string_view found,
                            absl::string_view expected) const;

 private:
  friend class Gradients;
  friend class PlanBuilder;
  const Node* node_ = nullptr;
  const OpSchema* schema_ = nullptr;
  int64_t opset_ = 0;
  int index_ = 0;
  const std::string* graph_path_ = nullptr;
  std::unique_ptr<std::vector<std::vector<Type>>> subgraph_output_types_;
  std::unique_ptr<Node> own_node_;  // when attribute references had to be resolved
};

// State made by a parse function, kept by the plan.
class KernelState {
 public:
  virtual ~KernelState() = default;
};

template <typename T>
class TypedKernelState final : public KernelState {
 public:
  explicit TypedKernelState(T value) : value(std::move(value)) {}
  T value;
};

using RunFn = absl::Status (*)(const KernelState*, KernelContext&);
using ParseFn = absl::StatusOr<std::unique_ptr<KernelState>> (*)(const NodeInfo&);
// Called once, after the parse function, with the inputs that are constants (nullptr: is none): the
// state may keep what the kernel would make of them at each run, weights in the order they are
// read. `memory` is how many bytes may be kept yet, and goes down by those that are.
using PrepareFn = absl::Status (*)(KernelState* state, const NodeInfo&,
                                   absl::Span<const Value* const> constants, int64_t* memory);
// The types of the outputs where the schema's constraint variables do not tell them (Cast: from
// `to`). `outputs` come in undeclared, or as the schema tells them; what is unknown stays
// undeclared.
using InferFn = absl::Status (*)(const NodeInfo&, absl::Span<const Type> inputs,
                                 absl::Span<Type> outputs);

struct KernelDef {
  const char* domain;  // "" for the standard's own
  const char* op_type;
  int since_version;  // exactly one of the schema's
  RunFn run;
  ParseFn parse;  // nullptr: no attributes to keep
  InferFn infer;  // nullptr: the schema tells all there is to know
  bool foldable;  // the result depends on the inputs alone; may be run at load on constants
  PrepareFn prepare = nullptr;  // nullptr: nothing to prepare
  // Of Gradient alone: how to differentiate the other operators (runtime/gradient_rules.h).
  const GradientRules& (*gradient)() = nullptr;

  constexpr KernelDef Infer(InferFn fn) const {
    KernelDef row = *this;
    row.infer = fn;
    return row;
  }
  constexpr KernelDef NotFoldable() const {
    KernelDef row = *this;
    row.foldable = false;
    return row;
  }
  constexpr KernelDef Prepare(PrepareFn fn) const {
    KernelDef row = *this;
    row.prepare = fn;
    return row;
  }
};

namespace internal {
template <typename T>
struct StatusOrValue;
template <typename T>
struct StatusOrValue<absl::StatusOr<T>> {
  using type = T;
};
template <auto kParse, typename Attributes>
absl::StatusOr<std::unique_ptr<KernelState>> ParseInto(const NodeInfo& node) {
  absl::StatusOr<Attributes> attributes = kParse(node);
  if (!attributes.ok()) return std::move(attributes).status();
  return std::make_unique<TypedKernelState<Attributes>>(*std::move(attributes));
}
template <auto kRun, typename Attributes>
absl::Status RunWith(const KernelState* state, KernelContext& context) {
  return kRun(static_cast<const TypedKernelState<Attributes>*>(state)->value, context);
}
template <auto kPrepare, typename Attributes>
absl::Status PrepareWith(KernelState* state, const NodeInfo& node,
                         absl::Span<const Value* const> constants, int64_t* memory) {
  return kPrepare(static_cast<TypedKernelState<Attributes>*>(state)->value, node, constants,
                  memory);
}
template <auto kRun>
absl::Status RunPlain(const KernelState* /*state*/, KernelContext& context) {
  return kRun(context);
}
}  // namespace internal

// A row for `StatusOr<A> Parse(const NodeInfo&)` and `Status Run(const A&, KernelContext&)`.
template <auto kParse, auto kRun>
constexpr KernelDef Kernel(const char* domain, const char* op_type, int since_version) {
  using Attributes =
      typename internal::StatusOrValue<decltype(kParse(std::declval<const NodeInfo&>()))>::type;
  return {domain,
          op_type,
          since_version,
          &internal::RunWith<kRun, Attributes>,
          &internal::ParseInto<kParse, Attributes>,
          nullptr,
          true};
}
// A row for `Status Run(KernelContext&)`.
template <auto kRun>
constexpr KernelDef Kernel(const char* domain, const char* op_type, int since_version) {
  return {domain, op_type, since_version, &internal::RunPlain<kRun>, nullptr, nullptr, true};
}

// A compiled subgraph as a control-flow kernel sees it: Run as often as needed; what does not
// change between iterations (outer values, constants) is resolved once.
class SubgraphRunner {
 public:
  SubgraphRunner(SubgraphRunner&&) noexcept;
  ~SubgraphRunner();
  int input_count() const;
  int output_count() const;
  // `inputs` are moved from. `outputs` gets output_count() values.
  absl::Status Run(absl::Span<Value> inputs, absl::Span<Value> outputs);
  // Declared type of an input or output; kAbsent when undeclared.
  const Type& input_type(int i) const;
  const Type& output_type(int i) const;

 private:
  friend class KernelContext;
  struct Impl;
  explicit SubgraphRunner(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// The inputs and outputs of one call.
class KernelContext {
 public:
  const NodeInfo& node() const { return *node_; }
  int64_t opset() const { return node_->opset(); }
  int since_version() const { return node_->since_version(); }

  int input_count() const { return static_cast<int>(inputs_.size()); }
  bool has_input(int i) const {
    return i < input_count() && inputs_[i] != nullptr && !inputs_[i]->absent();
  }
  const Value& input_value(int i) const { return *inputs_[i]; }
  const Tensor& input(int i) const { return inputs_[i]->tensor(); }
  // The input by move when this is its last use, else a copy (which shares the elements).
  Value TakeInput(int i);

  int output_count() const { return static_cast<int>(outputs_.size()); }
  bool wants_output(int i) const { return i < output_count() && outputs_[i] != nullptr; }
  // A new tensor for output i, elements uninitialised. When nobody wants the output, a scratch
  // tensor.
  absl::StatusOr<Tensor*> Output(int i, ElementType type, absl::Span<const int64_t> dims);
  // A tensor of strings for output i that hold texts of earlier runs, with their memory: for short
  // texts, every one of which is assigned.
  absl::StatusOr<Tensor*> OutputTexts(int i, absl::Span<const int64_t> dims);
  // The same as Output, in the memory of input `input` when that dies here, is not shared, and has
  // the same dims and width of elements. For kernels that read element k of that input before they
  // write element k.
  absl::StatusOr<Tensor*> OutputInPlace(int i, int input, ElementType type,
                                        absl::Span<const int64_t> dims);
  // Whether any input does so here; else InputDies() is false for all.
  bool AnyInputDies() const { return dying_ != 0; }
  // Whether OutputInPlace may find the memory of input `i` free, if the bytes agree.
  bool InputDies(int i) const { return i < 64 && (dying_ >> i & 1U) != 0 && input(i).Writable(); }
  void SetOutput(int i, Value value);
  // Scratch memory from the session's pool.
  absl::StatusOr<Tensor> Allocate(ElementType type, absl::Span<const int64_t> dims);

  // Shares [0, n) out to the session's threads; see runtime/convert/convert.h.
  void ParallelFor(int64_t n, int64_t grain,
                   absl::FunctionRef<void(int64_t begin, int64_t end)> fn) const;

  // The subgraph that NodeInfo::Subgraph numbered.
  SubgraphRunner Subgraph(int number);
  BufferPool* pool() const;
  // Seed of this run for random operators without a seed attribute.
  uint64_t NextRandomSeed();

 private:
  friend class Executor;
  KernelContext() = default;
  // ResourceExhausted where the environment allows no output of that size.
  absl::Status CheckOutputBytes(ElementType type, absl::Span<const int64_t> dims) const;
  // Where output i is to be made; a scratch tensor when nobody wants it.
  Tensor& PlaceOutput(int i);

  const NodeInfo* node_ = nullptr;
  absl::Span<const Value* const> inputs_;
  absl::Span<Value* const> outputs_;
  uint64_t dying_ = 0;  // bit i: input i is in a slot of this frame and dies here
  RunEnvironment* environment_ = nullptr;
  const Step* step_ = nullptr;
  Frame* frame_ = nullptr;
  std::vector<std::unique_ptr<Tensor>> scratch_;  // for outputs that nobody wants
};

}  // namespace onnx_run

#endif  // ONNX_RUN_RUNTIME_KERNEL_H_
