// If, Loop and Scan: operators whose attributes are graphs.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/copy_elements.h"
#include "ops/families.h"
#include "ops/kernel_table.h"
#include "ops/tensor_stack.h"
#include "runtime/kernel.h"
#include "runtime/status_macros.h"

namespace onnx_run {
namespace {

// --- What the three share ----------------------------------------------------

// The graph of attribute `name`, which the loader knows to be there.
absl::StatusOr<const Graph*> GraphOf(const NodeInfo& node, absl::string_view name) {
  const Attribute* attribute = node.Find(name);
  if (attribute == nullptr || attribute->graphs.size() != 1 || attribute->graphs[0] == nullptr) {
    return node.BadAttribute(name, attribute == nullptr ? "missing" : "empty", "a graph");
  }
  return attribute->graphs[0].get();
}

absl::Status CheckCount(const NodeInfo& node, absl::string_view name, absl::string_view what,
                        size_t found, int expected) {
  if (static_cast<int>(found) == expected) return absl::OkStatus();
  return node.BadAttribute(
      name, absl::StrCat("a graph of ", found, " ", what),
      absl::StrCat(expected, " ", what, " for this node's ", node.input_count(), " inputs and ",
                   node.output_count(), " outputs"));
}

// A type as it is passed on: shapes may change from iteration to iteration and branch to branch.
Type WithoutShape(const Type& type) {
  Type result = type;
  result.shape.reset();
  if (type.inner != nullptr) {
    result.inner = std::make_shared<const Type>(WithoutShape(*type.inner));
  }
  return result;
}

bool Known(const Type& type) {
  switch (type.kind) {
    case ValueKind::kAbsent: return false;
    case ValueKind::kTensor:
    case ValueKind::kSparseTensor: return type.element != ElementType::kUndefined;
    default: return type.inner != nullptr && Known(*type.inner);
  }
}

// The only element of a bool tensor.
absl::StatusOr<bool> ConditionOf(const Value& value, absl::string_view what) {
  if (!value.is_tensor() || value.tensor().type() != ElementType::kBool ||
      value.tensor().size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " is ", Describe(value), ", a bool tensor of one element is needed"));
  }
  return *value.tensor().data_as<uint8_t>() != 0;
}

// The values that go from one iteration to the next keep their types. The types alone are kept to
// compare with: a second holder of a value would keep the body from writing in place.
class CarriedTypes {
 public:
  explicit CarriedTypes(size_t count) : types_(count, ElementType::kUndefined) {}
  void Keep(size_t i, const Value& value) {
    types_[i] = value.is_tensor() ? value.tensor().type() : ElementType::kUndefined;
  }
  absl::Status Check(size_t i, const Value& value, size_t output) const {
    const bool same =
        !value.absent() && (!value.is_tensor() || types_[i] == ElementType::kUndefined ||
                            types_[i] == value.tensor().type());
    if (same) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("body output ", output, " is ", Describe(value), ", the value it replaces is ",
                     types_[i] == ElementType::kUndefined ? "not a tensor" : TypeName(types_[i])));
  }

 private:
  std::vector<ElementType> types_;
};

absl::Status PutScanOutput(TensorStack* stack, int64_t index, const Value& value, size_t output) {
  if (!value.is_tensor()) {
    return absl::InvalidArgumentError(absl::StrCat("body output ", output, " is ", Describe(value),
                                                   ", a scan output has to be a tensor"));
  }
  const absl::Status status = stack->Put(index, value.tensor());
  if (status.ok()) return status;
  return absl::Status(status.code(),
                      absl::StrCat("body output ", output, " (a scan output) ", status.message()));
}

absl::StatusOr<Tensor> EmptyScanOutput(KernelContext* context, const SubgraphRunner& body,
                                       int output, int64_t axis, absl::Span<const int64_t> dims) {
  absl::StatusOr<Tensor> tensor = EmptyStack(context, body.output_type(output), axis, dims);
  if (tensor.ok()) return tensor;
  return absl::Status(tensor.status().code(),
                      absl::StrCat("body output ", output, " ", tensor.status().message()));
}

// The type of a carried value: of its initial value, which the body has to keep.
absl::StatusOr<Type> CarriedType(const NodeInfo& node, const Type& initial, const Type& body,
                                 size_t output) {
  if (!Known(initial)) return Known(body) ? WithoutShape(body) : Type();
  if (!Known(body) || SameType(initial, body)) return WithoutShape(initial);
  // An optional may come out as what it holds: official data has an optional sequence go in and a
  // sequence come out. Which it is shows when it runs.
  if (initial.kind == ValueKind::kOptional || body.kind == ValueKind::kOptional) return Type();
  return node.BadAttribute(
      "body", absl::StrCat("a graph whose output ", output, " is ", TypeToString(body)),
      absl::StrCat(TypeToString(initial), ", the type of the initial value"));
}

// --- If ----------------------------------------------------------------------

struct IfAttributes {
  int then_branch = 0;
  int else_branch = 0;
};

absl::Status CheckBranch(const NodeInfo& node, absl::string_view name) {
  ASSIGN_OR_RETURN(const Graph* graph, GraphOf(node, name));
  RETURN_IF_ERROR(CheckCount(node, name, "inputs", graph->inputs.size(), 0));
  return CheckCount(node, name, "outputs", graph->outputs.size(), node.output_count());
}

absl::StatusOr<IfAttributes> ParseIf(const NodeInfo& node) {
  RETURN_IF_ERROR(CheckBranch(node, "then_branch"));
  RETURN_IF_ERROR(CheckBranch(node, "else_branch"));
  IfAttributes attributes;
  ASSIGN_OR_RETURN(attributes.then_branch, node.Subgraph("then_branch"));
  ASSIGN_OR_RETURN(attributes.else_branch, node.Subgraph("else_branch"));
  return attributes;
}

// Where the branches do not agree, the type is that of the branch that is taken.
absl::Status InferIf(const NodeInfo& node, absl::Span<const Type> /*inputs*/,
                     absl::Span<Type> outputs) {
  ASSIGN_OR_RETURN(const IfAttributes attributes, ParseIf(node));
  const absl::Span<const Type> then_types = node.SubgraphOutputTypes(attributes.then_branch);
  const absl::Span<const Type> else_types = node.SubgraphOutputTypes(attributes.else_branch);
  for (size_t i = 0; i < outputs.size(); ++i) {
    outputs[i] = Known(then_types[i]) && SameType(then_types[i], else_types[i])
                     ? WithoutShape(then_types[i])
                     : Type();
  }
  return absl::OkStatus();
}

absl::Status If(const IfAttributes& attributes, KernelContext& context) {
  ASSIGN_OR_RETURN(const bool condition, ConditionOf(context.input_value(0), "input 0 (cond)"));
  SubgraphRunner branch =
      context.Subgraph(condition ? attributes.then_branch : attributes.else_branch);
  absl::InlinedVector<Value, 4> outputs(branch.output_count());
  RETURN_IF_ERROR(branch.Run({}, absl::MakeSpan(outputs)));
  for (size_t i = 0; i < outputs.size(); ++i) {
    context.SetOutput(static_cast<int>(i), std::move(outputs[i]));
  }
  return absl::OkStatus();
}

// --- Loop --------------------------------------------------------------------

struct LoopAttributes {
  int body = 0;
  int carried = 0;
  int scan_outputs = 0;
};

absl::StatusOr<LoopAttributes> ParseLoop(const NodeInfo& node) {
  ASSIGN_OR_RETURN(const Graph* body, GraphOf(node, "body"));
  LoopAttributes attributes;
  attributes.carried = std::max(node.input_count() - 2, 0);
  attributes.scan_outputs = node.output_count() - attributes.carried;
  if (attributes.scan_outputs < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(attributes.carried, " loop-carried values go in and ", node.output_count(),
                     " outputs come out: each value needs its output"));
  }
  RETURN_IF_ERROR(CheckCount(node, "body", "inputs", body->inputs.size(), attributes.carried + 2));
  RETURN_IF_ERROR(CheckCount(node, "body", "outputs", body->outputs.size(),
                             attributes.carried + attributes.scan_outputs + 1));
  if (!node.has_input(0) && !node.has_input(1)) {
    return absl::InvalidArgumentError(
        "neither M nor cond is given: by the standard this loop never ends");
  }
  ASSIGN_OR_RETURN(attributes.body, node.Subgraph("body"));
  return attributes;
}

absl::Status InferLoop(const NodeInfo& node, absl::Span<const Type> inputs,
                       absl::Span<Type> outputs) {
  ASSIGN_OR_RETURN(const LoopAttributes attributes, ParseLoop(node));
  const absl::Span<const Type> body = node.SubgraphOutputTypes(attributes.body);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Type& type = body[i + 1];
    if (static_cast<int>(i) < attributes.carried) {
      ASSIGN_OR_RETURN(outputs[i], CarriedType(node, inputs[i + 2], type, i + 1));
    } else {
      outputs[i] = Known(type) && type.kind == ValueKind::kTensor ? WithoutShape(type) : Type();
    }
  }
  return absl::OkStatus();
}

// The greatest number of iterations: M, or no limit.
absl::StatusOr<int64_t> TripCount(const KernelContext& context) {
  if (!context.has_input(0)) return INT64_MAX;
  const Tensor& count = context.input(0);
  if (count.size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("input 0 (M) is ", TypeAndDims(count), ", a scalar is needed"));
  }
  return *count.data_as<int64_t>();
}

absl::Status Loop(const LoopAttributes& attributes, KernelContext& context) {
  ASSIGN_OR_RETURN(const int64_t trip_count, TripCount(context));
  // Without the input the condition that the body yields is not looked at, the standard says.
  const bool conditional = context.has_input(1);
  bool go_on = true;
  Value condition;
  if (conditional) {
    ASSIGN_OR_RETURN(go_on, ConditionOf(context.input_value(1), "input 1 (cond)"));
    condition = context.TakeInput(1);
  } else {
    // A formal parameter that the function's caller left out: not known at load.
    if (!context.has_input(0)) {
      return absl::InvalidArgumentError(
          "neither M nor cond is given: by the standard this loop never ends");
    }
    ASSIGN_OR_RETURN(Tensor yes, context.Allocate(ElementType::kBool, {}));
    *yes.mutable_data_as<uint8_t>() = 1;
    condition = std::move(yes);
  }

  const size_t carried_count = attributes.carried;
  std::vector<Value> carried;
  carried.reserve(carried_count);
  for (size_t i = 0; i < carried_count; ++i) {
    const int input = static_cast<int>(i) + 2;
    carried.push_back(context.has_input(input) ? context.TakeInput(input) : Value());
  }
  std::vector<TensorStack> stacks;
  stacks.reserve(attributes.scan_outputs);
  for (int i = 0; i < attributes.scan_outputs; ++i) {
    stacks.push_back(TensorStack::Growing(&context, trip_count == INT64_MAX ? 16 : trip_count));
  }

  SubgraphRunner body = context.Subgraph(attributes.body);
  CarriedTypes types(carried_count);
  std::vector<Value> inputs(carried_count + 2);
  std::vector<Value> outputs(carried_count + 1 + stacks.size());
  for (int64_t iteration = 0; iteration < trip_count && go_on; ++iteration) {
    ASSIGN_OR_RETURN(Tensor number, context.Allocate(ElementType::kInt64, {}));
    *number.mutable_data_as<int64_t>() = iteration;
    inputs[0] = std::move(number);
    inputs[1] = std::move(condition);
    for (size_t i = 0; i < carried_count; ++i) {
      types.Keep(i, carried[i]);
      inputs[i + 2] = std::move(carried[i]);
    }
    RETURN_IF_ERROR(body.Run(absl::MakeSpan(inputs), absl::MakeSpan(outputs)));
    ASSIGN_OR_RETURN(const bool next, ConditionOf(outputs[0], "body output 0 (cond)"));
    go_on = next || !conditional;
    condition = std::move(outputs[0]);
    for (size_t i = 0; i < carried_count; ++i) {
      RETURN_IF_ERROR(types.Check(i, outputs[i + 1], i + 1));
      carried[i] = std::move(outputs[i + 1]);
    }
    for (size_t i = 0; i < stacks.size(); ++i) {
      const size_t output = carried_count + 1 + i;
      if (!context.wants_output(static_cast<int>(carried_count + i))) continue;
      RETURN_IF_ERROR(PutScanOutput(&stacks[i], iteration, outputs[output], output));
      outputs[output].Reset();
    }
  }

  for (size_t i = 0; i < carried_count; ++i) {
    context.SetOutput(static_cast<int>(i), std::move(carried[i]));
  }
  for (size_t i = 0; i < stacks.size(); ++i) {
    const int output = static_cast<int>(carried_count + i);
    if (!context.wants_output(output)) continue;
    if (stacks[i].empty()) {
      ASSIGN_OR_RETURN(Tensor none, EmptyScanOutput(&context, body, output + 1, 0, {0}));
      context.SetOutput(output, std::move(none));
    } else {
      ASSIGN_OR_RETURN(Tensor all, stacks[i].Finish());
      context.SetOutput(output, std::move(all));
    }
  }
  return absl::OkStatus();
}

// --- Scan --------------------------------------------------------------------

// Scan-8 has a batch axis first, the sequence axis second, and lengths as input 0; later versions
// have neither batch nor lengths, but axes and directions to choose.
struct ScanAttributes {
  int body = 0;
  bool batched = false;
  int first_input = 0;  // 1 where sequence_lens comes before the states
  int states = 0;
  int scan_inputs = 0;
  int scan_outputs = 0;
  std::vector<int64_t> input_axes, output_axes;
  std::vector<int64_t> input_reversed, output_reversed;
};

// A list of `count` numbers, zeros by default.
absl::StatusOr<std::vector<int64_t>> ListOf(const NodeInfo& node, absl::string_view name, int count,
                                            bool flags) {
  if (!node.Has(name)) return std::vector<int64_t>(count, 0);
  std::vector<int64_t> list = node.Ints(name);
  if (static_cast<int>(list.size()) != count) {
    return node.BadAttribute(name, absl::StrCat("a list of ", list.size()),
                             absl::StrCat("a list of ", count));
  }
  for (int64_t item : list) {
    if (flags && item != 0 && item != 1) {
      return node.BadAttribute(name, absl::StrCat("a list with ", item),
                               "0 (forward) and 1 (reverse)");
    }
  }
  return list;
}

absl::StatusOr<ScanAttributes> ParseScan(const NodeInfo& node) {
  ASSIGN_OR_RETURN(const Graph* body, GraphOf(node, "body"));
  ScanAttributes attributes;
  attributes.batched = node.since_version() < 9;
  attributes.first_input = attributes.batched ? 1 : 0;
  ASSIGN_OR_RETURN(const int64_t scan_inputs, node.Int("num_scan_inputs"));
  const int values = node.input_count() - attributes.first_input;
  if (scan_inputs < 1 || scan_inputs > values) {
    return node.BadAttribute("num_scan_inputs", absl::StrCat(scan_inputs),
                             absl::StrCat("1 to ", values, ", this node's states and scan inputs"));
  }
  attributes.scan_inputs = static_cast<int>(scan_inputs);
  attributes.states = values - attributes.scan_inputs;
  attributes.scan_outputs = node.output_count() - attributes.states;
  if (attributes.scan_outputs < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(attributes.states, " states go in and ", node.output_count(),
                     " outputs come out: each state needs its output"));
  }
  RETURN_IF_ERROR(CheckCount(node, "body", "inputs", body->inputs.size(), values));
  RETURN_IF_ERROR(CheckCount(node, "body", "outputs", body->outputs.size(), node.output_count()));
  const int outputs = attributes.scan_outputs;
  ASSIGN_OR_RETURN(attributes.input_reversed,
                   ListOf(node, attributes.batched ? "directions" : "scan_input_directions",
                          attributes.scan_inputs, true));
  ASSIGN_OR_RETURN(attributes.output_reversed,
                   ListOf(node, "scan_output_directions", outputs, true));
  ASSIGN_OR_RETURN(attributes.input_axes,
                   ListOf(node, "scan_input_axes", attributes.scan_inputs, false));
  ASSIGN_OR_RETURN(attributes.output_axes, ListOf(node, "scan_output_axes", outputs, false));
  ASSIGN_OR_RETURN(attributes.body, node.Subgraph("body"));
  return attributes;
}

absl::Status InferScan(const NodeInfo& node, absl::Span<const Type> inputs,
                       absl::Span<Type> outputs) {
  ASSIGN_OR_RETURN(const ScanAttributes attributes, ParseScan(node));
  const absl::Span<const Type> body = node.SubgraphOutputTypes(attributes.body);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Type& type = body[i];
    if (static_cast<int>(i) < attributes.states) {
      ASSIGN_OR_RETURN(outputs[i], CarriedType(node, inputs[i + attributes.first_input], type, i));
    } else {
      outputs[i] = Known(type) && type.kind == ValueKind::kTensor ? WithoutShape(type) : Type();
    }
  }
  return absl::OkStatus();
}

// A tensor taken apart along one axis.
class Slicer {
 public:
  Slicer(Tensor tensor, int axis) : tensor_(std::move(tensor)), dims_(tensor_.dims()) {
    length_ = dims_[axis];
    if (tensor_.size() > 0) {
      for (int d = 0; d < tensor_.rank(); ++d) {
        if (d != axis) (d < axis ? outer_ : inner_) *= dims_[d];
      }
    } else {
      outer_ = 0;
    }
    dims_.erase(dims_.begin() + axis);
  }
  int64_t length() const { return length_; }

  absl::StatusOr<Value> At(KernelContext* context, int64_t index) {
    const int64_t bytes = BitsOf(tensor_.type()) / 8 * inner_;
    if (outer_ == 1 && bytes >= kViewBytes) {
      // Large and contiguous: looked at where it is.
      if (owner_ == nullptr) owner_ = std::make_shared<const Tensor>(tensor_);
      return Tensor::View(tensor_.type(), dims_, tensor_.data_as<uint8_t>() + index * bytes,
                          static_cast<size_t>(bytes), owner_);
    }
    ASSIGN_OR_RETURN(Tensor slice, context->Allocate(tensor_.type(), dims_));
    ZeroUnusedBits(&slice);
    for (int64_t o = 0; o < outer_; ++o) {
      CopyElements(tensor_, (o * length_ + index) * inner_, &slice, o * inner_, inner_);
    }
    return Value(std::move(slice));
  }

 private:
  static constexpr int64_t kViewBytes = 16384;  // below, a copy costs less than a view
  Tensor tensor_;
  Dims dims_;  // of a slice
  int64_t length_ = 0;
  int64_t outer_ = 1;  // product of the dimensions before the axis, and after it
  int64_t inner_ = 1;
  std::shared_ptr<const void> owner_;
};

// One call of Scan: the slices, the stacks of the scan outputs, and the body.
class ScanRun {
 public:
  ScanRun(const ScanAttributes& attributes, KernelContext* context)
      : attributes_(attributes),
        context_(context),
        body_(context->Subgraph(attributes.body)),
        types_(attributes.states),
        inputs_(attributes.states + attributes.scan_inputs),
        outputs_(attributes.states + attributes.scan_outputs) {}

  SubgraphRunner& body() { return body_; }
  std::vector<Slicer>& slicers() { return slicers_; }
  std::vector<TensorStack>& stacks() { return stacks_; }

  // `length` iterations over the elements from `offset` on; `states` go in and come out.
  absl::Status Iterate(std::vector<Value>* states, int64_t offset, int64_t length) {
    const size_t count = states->size();
    for (int64_t t = 0; t < length; ++t) {
      for (size_t i = 0; i < count; ++i) {
        types_.Keep(i, (*states)[i]);
        inputs_[i] = std::move((*states)[i]);
      }
      for (size_t i = 0; i < slicers_.size(); ++i) {
        const int64_t at = attributes_.input_reversed[i] != 0 ? length - 1 - t : t;
        ASSIGN_OR_RETURN(inputs_[count + i], slicers_[i].At(context_, offset + at));
      }
      RETURN_IF_ERROR(body_.Run(absl::MakeSpan(inputs_), absl::MakeSpan(outputs_)));
      for (size_t i = 0; i < count; ++i) {
        RETURN_IF_ERROR(types_.Check(i, outputs_[i], i));
        (*states)[i] = std::move(outputs_[i]);
      }
      for (size_t i = 0; i < stacks_.size(); ++i) {
        if (!context_->wants_output(static_cast<int>(count + i))) continue;
        const int64_t at = attributes_.output_reversed[i] != 0 ? length - 1 - t : t;
        RETURN_IF_ERROR(PutScanOutput(&stacks_[i], offset + at, outputs_[count + i], count + i));
        outputs_[count + i].Reset();
      }
    }
    return absl::OkStatus();
  }

 private:
  const ScanAttributes& attributes_;
  KernelContext* context_;
  SubgraphRunner body_;
  CarriedTypes types_;
  std::vector<Value> inputs_;
  std::vector<Value> outputs_;
  std::vector<Slicer> slicers_;
  std::vector<TensorStack> stacks_;
};

// The scan inputs must have as many elements each.
absl::Status CheckLengths(const std::vector<Slicer>& slicers) {
  for (size_t i = 1; i < slicers.size(); ++i) {
    if (slicers[i].length() != slicers[0].length()) {
      return absl::InvalidArgumentError(
          absl::StrCat("scan input ", i, " has ", slicers[i].length(),
                       " elements along its scan axis, scan input 0 has ", slicers[0].length()));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckPresent(const ScanAttributes& attributes, const KernelContext& context) {
  for (int i = 0; i < attributes.states + attributes.scan_inputs; ++i) {
    if (!context.has_input(attributes.first_input + i)) {
      return absl::InvalidArgumentError(
          absl::StrCat("input ", attributes.first_input + i, " is absent"));
    }
  }
  return absl::OkStatus();
}

absl::Status Scan(const ScanAttributes& attributes, KernelContext& context) {
  RETURN_IF_ERROR(CheckPresent(attributes, context));
  ScanRun run(attributes, &context);
  for (int i = 0; i < attributes.scan_inputs; ++i) {
    const int input = attributes.states + i;
    const int rank = context.input(input).rank();
    int64_t axis = attributes.input_axes[i];
    if (axis < -rank || axis >= rank) {
      return absl::InvalidArgumentError(absl::StrCat(
          "input ", input, " is ", TypeAndDims(context.input(input)), ", its scan axis is ", axis));
    }
    if (axis < 0) axis += rank;
    run.slicers().emplace_back(context.input(input), static_cast<int>(axis));
  }
  RETURN_IF_ERROR(CheckLengths(run.slicers()));
  const int64_t length = run.slicers()[0].length();
  for (int i = 0; i < attributes.scan_outputs; ++i) {
    run.stacks().push_back(TensorStack::OfCount(&context, length, attributes.output_axes[i]));
  }
  std::vector<Value> states;
  for (int i = 0; i < attributes.states; ++i) states.push_back(context.TakeInput(i));
  RETURN_IF_ERROR(run.Iterate(&states, 0, length));

  for (int i = 0; i < attributes.states; ++i) context.SetOutput(i, std::move(states[i]));
  for (int i = 0; i < attributes.scan_outputs; ++i) {
    const int output = attributes.states + i;
    if (!context.wants_output(output)) continue;
    Tensor result;
    if (length > 0) {
      ASSIGN_OR_RETURN(result, run.stacks()[i].Finish());
    } else {
      ASSIGN_OR_RETURN(
          result, EmptyScanOutput(&context, run.body(), output, attributes.output_axes[i], {0}));
    }
    context.SetOutput(output, std::move(result));
  }
  return absl::OkStatus();
}

// The batch size, the greatest sequence length, and each sequence's own.
struct Batch {
  int64_t size = 0;
  int64_t max_length = 0;
  int64_t elements = 0;  // size * max_length
  std::vector<int64_t> lengths;
};

absl::StatusOr<Batch> BatchOf(const ScanAttributes& attributes, const KernelContext& context) {
  Batch batch;
  const int scan_begin = 1 + attributes.states;
  for (int i = 1; i < scan_begin + attributes.scan_inputs; ++i) {
    const Tensor& tensor = context.input(i);
    const bool scan = i >= scan_begin;
    if (i == scan_begin && tensor.rank() >= 2) {
      batch.size = tensor.dim(0);
      batch.max_length = tensor.dim(1);
    }
    if (tensor.rank() < (scan ? 2 : 1) ||
        (scan && (tensor.dim(0) != batch.size || tensor.dim(1) != batch.max_length))) {
      return absl::InvalidArgumentError(absl::StrCat("input ", i, " is ", TypeAndDims(tensor),
                                                     ", expected [batch", scan ? ",sequence" : "",
                                                     ",...] as the other scan inputs"));
    }
  }
  for (int i = 1; i < scan_begin; ++i) {
    if (context.input(i).dim(0) != batch.size) {
      return absl::InvalidArgumentError(absl::StrCat(
          "input ", i, " is ", TypeAndDims(context.input(i)), ", the batch size is ", batch.size));
    }
  }
  ASSIGN_OR_RETURN(batch.elements, ElementCount({batch.size, batch.max_length}));
  if (!context.has_input(0)) return batch;
  const Tensor& lengths = context.input(0);
  if (lengths.rank() != 1 || lengths.size() != batch.size) {
    return absl::InvalidArgumentError(absl::StrCat(
        "input 0 (sequence_lens) is ", TypeAndDims(lengths), ", expected int64[", batch.size, "]"));
  }
  for (int64_t length : lengths.span<int64_t>()) {
    if (length < 0 || length > batch.max_length) {
      return absl::InvalidArgumentError(absl::StrCat("input 0 (sequence_lens) has ", length,
                                                     ", accepted: [0,", batch.max_length, "]"));
    }
    batch.lengths.push_back(length);
  }
  return batch;
}

// `tensor` with its first two dimensions made one.
Tensor WithoutBatch(const Tensor& tensor, const Batch& batch) {
  Dims dims = tensor.dims();
  dims.erase(dims.begin());
  dims[0] = batch.elements;
  return tensor.WithDims(dims);
}

absl::Status Scan8(const ScanAttributes& attributes, KernelContext& context) {
  RETURN_IF_ERROR(CheckPresent(attributes, context));
  ASSIGN_OR_RETURN(const Batch batch, BatchOf(attributes, context));
  ScanRun run(attributes, &context);
  std::vector<Slicer> initial_states;
  std::vector<TensorStack> final_states;
  for (int i = 0; i < attributes.states; ++i) {
    initial_states.emplace_back(context.input(1 + i), 0);
    final_states.push_back(TensorStack::OfCount(&context, batch.size, 0));
  }
  for (int i = 0; i < attributes.scan_inputs; ++i) {
    run.slicers().emplace_back(WithoutBatch(context.input(1 + attributes.states + i), batch), 0);
  }
  for (int i = 0; i < attributes.scan_outputs; ++i) {
    // What lies past the end of a shorter sequence is undefined by the standard: zero here.
    run.stacks().push_back(
        TensorStack::OfCount(&context, batch.elements, 0, /*padded=*/!batch.lengths.empty()));
  }

  std::vector<Value> states(attributes.states);
  for (int64_t b = 0; b < batch.size; ++b) {
    for (size_t i = 0; i < states.size(); ++i) {
      ASSIGN_OR_RETURN(states[i], initial_states[i].At(&context, b));
    }
    RETURN_IF_ERROR(run.Iterate(&states, b * batch.max_length,
                                batch.lengths.empty() ? batch.max_length : batch.lengths[b]));
    for (size_t i = 0; i < states.size(); ++i) {
      RETURN_IF_ERROR(PutScanOutput(&final_states[i], b, states[i], i));
    }
  }

  for (int i = 0; i < attributes.states; ++i) {
    if (!context.wants_output(i)) continue;
    if (batch.size == 0) {
      context.SetOutput(i, context.TakeInput(1 + i));
      continue;
    }
    ASSIGN_OR_RETURN(Tensor all, final_states[i].Finish());
    context.SetOutput(i, std::move(all));
  }
  for (int i = 0; i < attributes.scan_outputs; ++i) {
    const int output = attributes.states + i;
    if (!context.wants_output(output)) continue;
    Tensor result;
    if (run.stacks()[i].empty()) {
      ASSIGN_OR_RETURN(
          result, EmptyScanOutput(&context, run.body(), output, 0, {batch.size, batch.max_length}));
    } else {
      ASSIGN_OR_RETURN(result, run.stacks()[i].Finish());
      Dims dims = result.dims();
      dims[0] = batch.max_length;
      dims.insert(dims.begin(), batch.size);
      result.set_dims(dims);
    }
    context.SetOutput(output, std::move(result));
  }
  return absl::OkStatus();
}

constexpr auto kKernels = KernelTable(
    Rows<ParseIf, If>("If", 1, 11, 13, 16, 19, 21, 23, 24, 25).Infer(InferIf).NotFoldable(),
    Rows<ParseLoop, Loop>("Loop", 1, 11, 13, 16, 19, 21, 23, 24, 25).Infer(InferLoop).NotFoldable(),
    Rows<ParseScan, Scan8>("Scan", 8).Infer(InferScan).NotFoldable(),
    Rows<ParseScan, Scan>("Scan", 9, 11, 16, 19, 21, 23, 24, 25).Infer(InferScan).NotFoldable());

}  // namespace

absl::Span<const KernelDef> ControlFlowKernels() { return kKernels; }

}  // namespace onnx_run
