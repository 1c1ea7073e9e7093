// Sequences of tensors: making them, reading them, and going between them and tensors.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/copy_elements.h"
#include "ops/families.h"
#include "ops/kernel_table.h"
#include "runtime/kernel.h"
#include "runtime/status_macros.h"

namespace onnx_run {
namespace {

// --- Positions ---------------------------------------------------------------

// The only element of an int32 or int64 tensor.
absl::StatusOr<int64_t> ScalarOf(const Tensor& tensor, int input) {
  if (tensor.size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("input ", input, " is ", TypeAndDims(tensor), ", a scalar is needed"));
  }
  return tensor.type() == ElementType::kInt32 ? *tensor.data_as<int32_t>()
                                              : *tensor.data_as<int64_t>();
}

// Input 1 or 2 of a sequence operator, in [-length, last], counted from the front.
absl::StatusOr<int64_t> PositionOf(const Tensor& tensor, int input, int64_t length, int64_t last) {
  ASSIGN_OR_RETURN(const int64_t position, ScalarOf(tensor, input));
  if (position < -length || position > last) {
    return absl::InvalidArgumentError(absl::StrCat("position ", position, " in a sequence of ",
                                                   length, ", accepted: [", -length, ",", last,
                                                   "]"));
  }
  return position < 0 ? position + length : position;
}

int64_t LengthOf(const Sequence& sequence) {
  return static_cast<int64_t>(sequence.elements.size());
}

// --- Making and changing sequences -------------------------------------------

absl::StatusOr<ElementType> ParseSequenceEmpty(const NodeInfo& node) {
  if (!node.Has("dtype")) return ElementType::kFloat;
  ASSIGN_OR_RETURN(const int64_t number, node.Int("dtype"));
  const std::optional<ElementType> type = ElementTypeFromNumber(number);
  if (!type) return node.BadAttribute("dtype", absl::StrCat(number), "the data type of a tensor");
  return *type;
}

absl::Status InferSequenceEmpty(const NodeInfo& node, absl::Span<const Type> /*inputs*/,
                                absl::Span<Type> outputs) {
  ASSIGN_OR_RETURN(const ElementType type, ParseSequenceEmpty(node));
  outputs[0] = Type::OfSequence(Type::OfTensor(type));
  return absl::OkStatus();
}

absl::Status SequenceEmpty(const ElementType& type, KernelContext& context) {
  context.SetOutput(0, Value(Sequence{Type::OfTensor(type), {}}));
  return absl::OkStatus();
}

absl::Status InferSequenceConstruct(const NodeInfo& /*node*/, absl::Span<const Type> inputs,
                                    absl::Span<Type> outputs) {
  for (const Type& input : inputs) {
    if (input.kind != ValueKind::kTensor) continue;
    outputs[0] = Type::OfSequence(Type::OfTensor(input.element));
    break;
  }
  return absl::OkStatus();
}

absl::Status SequenceConstruct(KernelContext& context) {
  Sequence sequence;
  sequence.element_type = Type::OfTensor(context.input(0).type());
  sequence.elements.reserve(context.input_count());
  for (int i = 0; i < context.input_count(); ++i) {
    if (!context.has_input(i)) {
      return absl::InvalidArgumentError(absl::StrCat("input ", i, " is absent"));
    }
    if (context.input(i).type() != sequence.element_type.element) {
      return absl::InvalidArgumentError(
          absl::StrCat("input ", i, " is ", TypeAndDims(context.input(i)), ", input 0 is ",
                       TypeAndDims(context.input(0)), ": a sequence has one element type"));
    }
    sequence.elements.push_back(context.TakeInput(i));
  }
  context.SetOutput(0, Value(std::move(sequence)));
  return absl::OkStatus();
}

absl::Status InferSequenceInsert(const NodeInfo& /*node*/, absl::Span<const Type> inputs,
                                 absl::Span<Type> outputs) {
  if (inputs[0].kind == ValueKind::kSequence) {
    outputs[0] = inputs[0];
  } else if (inputs[1].kind == ValueKind::kTensor) {
    outputs[0] = Type::OfSequence(Type::OfTensor(inputs[1].element));
  }
  return absl::OkStatus();
}

absl::Status SequenceInsert(KernelContext& context) {
  const Sequence& source = context.input_value(0).sequence();
  const Tensor& tensor = context.input(1);
  const int64_t length = LengthOf(source);
  const Type expected = source.elements.empty() ? source.element_type : source.elements[0].type();
  if (expected.kind != ValueKind::kAbsent && !SameType(expected, Type::OfTensor(tensor.type()))) {
    return absl::InvalidArgumentError(absl::StrCat(
        "input 1 is ", TypeAndDims(tensor), ", the sequence is one of ", TypeToString(expected)));
  }
  int64_t position = length;
  if (context.has_input(2)) {
    ASSIGN_OR_RETURN(position, PositionOf(context.input(2), 2, length, length));
  }
  // The same tensor may be both in the sequence and inserted again: take it before the sequence
  // goes.
  Value element = context.TakeInput(1);
  Value value = context.TakeInput(0);
  Sequence& sequence = value.mutable_sequence();
  if (sequence.element_type.kind == ValueKind::kAbsent) {
    sequence.element_type = Type::OfTensor(element.tensor().type());
  }
  sequence.elements.insert(sequence.elements.begin() + position, std::move(element));
  context.SetOutput(0, std::move(value));
  return absl::OkStatus();
}

absl::Status InferSameAsInput(const NodeInfo& /*node*/, absl::Span<const Type> inputs,
                              absl::Span<Type> outputs) {
  if (inputs[0].kind != ValueKind::kAbsent) outputs[0] = inputs[0];
  return absl::OkStatus();
}

absl::Status SequenceErase(KernelContext& context) {
  const int64_t length = LengthOf(context.input_value(0).sequence());
  if (length == 0) return absl::InvalidArgumentError("input 0 is an empty sequence");
  int64_t position = length - 1;
  if (context.has_input(1)) {
    ASSIGN_OR_RETURN(position, PositionOf(context.input(1), 1, length, length - 1));
  }
  Value value = context.TakeInput(0);
  Sequence& sequence = value.mutable_sequence();
  sequence.elements.erase(sequence.elements.begin() + position);
  context.SetOutput(0, std::move(value));
  return absl::OkStatus();
}

// --- Reading sequences -------------------------------------------------------

absl::Status InferElement(const NodeInfo& /*node*/, absl::Span<const Type> inputs,
                          absl::Span<Type> outputs) {
  const Type& sequence = inputs[0];
  if (sequence.kind == ValueKind::kSequence && sequence.inner != nullptr &&
      sequence.inner->kind == ValueKind::kTensor) {
    outputs[0] = Type::OfTensor(sequence.inner->element);
  }
  return absl::OkStatus();
}

absl::Status SequenceAt(KernelContext& context) {
  const Sequence& sequence = context.input_value(0).sequence();
  const int64_t length = LengthOf(sequence);
  ASSIGN_OR_RETURN(const int64_t position, PositionOf(context.input(1), 1, length, length - 1));
  context.SetOutput(0, sequence.elements[position]);
  return absl::OkStatus();
}

absl::Status SequenceLength(KernelContext& context) {
  ASSIGN_OR_RETURN(Tensor * output, context.Output(0, ElementType::kInt64, {}));
  *output->mutable_data_as<int64_t>() = LengthOf(context.input_value(0).sequence());
  return absl::OkStatus();
}

// --- ConcatFromSequence ------------------------------------------------------

struct ConcatAttributes {
  int64_t axis = 0;
  bool new_axis = false;
};

absl::StatusOr<ConcatAttributes> ParseConcat(const NodeInfo& node) {
  ConcatAttributes attributes;
  ASSIGN_OR_RETURN(attributes.axis, node.Int("axis"));
  const int64_t new_axis = node.IntOr("new_axis", 0);
  if (new_axis != 0 && new_axis != 1) {
    return node.BadAttribute("new_axis", absl::StrCat(new_axis), "0 or 1");
  }
  attributes.new_axis = new_axis == 1;
  return attributes;
}

// `axis` counted from the front, among `rank` axes.
absl::StatusOr<int> AxisAmong(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("attribute \"axis\" is ", axis, ", accepted: [", -rank, ",", rank - 1, "]"));
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

int64_t Product(absl::Span<const int64_t> dims) {
  int64_t product = 1;
  for (int64_t dim : dims) product *= dim;
  return product;
}

absl::Status ConcatFromSequence(const ConcatAttributes& attributes, KernelContext& context) {
  const Sequence& sequence = context.input_value(0).sequence();
  if (sequence.elements.empty()) {
    return absl::InvalidArgumentError("input 0 is an empty sequence: no shape to concatenate to");
  }
  const Tensor& first = sequence.elements[0].tensor();
  ASSIGN_OR_RETURN(const int axis,
                   AxisAmong(attributes.axis, first.rank() + (attributes.new_axis ? 1 : 0)));
  int64_t length = 0;  // along the axis
  for (size_t i = 0; i < sequence.elements.size(); ++i) {
    const Tensor& tensor = sequence.elements[i].tensor();
    bool fits = tensor.type() == first.type() && tensor.rank() == first.rank();
    for (int d = 0; fits && d < tensor.rank(); ++d) {
      fits = tensor.dim(d) == first.dim(d) || (d == axis && !attributes.new_axis);
    }
    if (!fits) {
      return absl::InvalidArgumentError(
          absl::StrCat("element ", i, " of the sequence is ", TypeAndDims(tensor),
                       ", which does not go with ", TypeAndDims(first), " along axis ", axis));
    }
    if (__builtin_add_overflow(length, attributes.new_axis ? 1 : tensor.dim(axis), &length)) {
      return absl::InvalidArgumentError("the concatenated dimension overflows");
    }
  }
  Dims dims = first.dims();
  if (attributes.new_axis) dims.insert(dims.begin() + axis, 0);
  dims[axis] = length;
  ASSIGN_OR_RETURN(Tensor * output, context.Output(0, first.type(), dims));
  if (output->size() == 0) return absl::OkStatus();
  ZeroUnusedBits(output);
  const absl::Span<const int64_t> all(dims);
  const int64_t outer = Product(all.subspan(0, axis));
  const int64_t row = output->size() / outer;
  int64_t at = 0;
  for (const Value& element : sequence.elements) {
    const int64_t run = element.tensor().size() / outer;
    for (int64_t o = 0; o < outer; ++o) {
      CopyElements(element.tensor(), o * run, output, o * row + at, run);
    }
    at += run;
  }
  return absl::OkStatus();
}

// --- SplitToSequence ---------------------------------------------------------

struct SplitAttributes {
  int64_t axis = 0;
  bool keepdims = true;
};

absl::StatusOr<SplitAttributes> ParseSplit(const NodeInfo& node) {
  return SplitAttributes{node.IntOr("axis", 0), node.IntOr("keepdims", 1) != 0};
}

absl::Status InferSplit(const NodeInfo& /*node*/, absl::Span<const Type> inputs,
                        absl::Span<Type> outputs) {
  if (inputs[0].kind == ValueKind::kTensor) {
    outputs[0] = Type::OfSequence(Type::OfTensor(inputs[0].element));
  }
  return absl::OkStatus();
}

// An axis beside one of length 0 may claim any length without any memory behind it.
constexpr int64_t kMaxParts = int64_t{1} << 26;

// The lengths of the parts of an axis of `length`. `split` nullptr: 1 each; a scalar: that, and the
// rest at the end; 1-D: as listed.
absl::StatusOr<std::vector<int64_t>> PartsOf(const Tensor* split, int64_t length) {
  std::vector<int64_t> parts;
  if (split == nullptr || split->rank() == 0) {
    int64_t part = 1;
    if (split != nullptr) {
      ASSIGN_OR_RETURN(part, ScalarOf(*split, 1));
      if (part <= 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("input 1 (split) is ", part, ", accepted: a positive number"));
      }
    }
    if (length / part > kMaxParts) {
      return absl::ResourceExhaustedError(
          absl::StrCat("a sequence of ", length / part, " tensors"));
    }
    for (int64_t at = 0; at < length; at += std::min(part, length - at)) {
      parts.push_back(std::min(part, length - at));
    }
    return parts;
  }
  if (split->rank() != 1) {
    return absl::InvalidArgumentError(absl::StrCat("input 1 (split) is ", TypeAndDims(*split),
                                                   ", a scalar or 1-D tensor is needed"));
  }
  int64_t left = length;
  for (int64_t i = 0; i < split->size(); ++i) {
    const int64_t part = split->type() == ElementType::kInt32 ? split->data_as<int32_t>()[i]
                                                              : split->data_as<int64_t>()[i];
    if (part < 0 || part > left) {
      return absl::InvalidArgumentError(absl::StrCat("part ", i, " of input 1 (split) is ", part,
                                                     ", ", left, " of ", length, " are left"));
    }
    left -= part;
    parts.push_back(part);
  }
  if (left != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("input 1 (split) adds up to ", length - left, ", the axis has ", length));
  }
  return parts;
}

absl::Status SplitToSequence(const SplitAttributes& attributes, KernelContext& context) {
  const Tensor& input = context.input(0);
  ASSIGN_OR_RETURN(const int axis, AxisAmong(attributes.axis, input.rank()));
  const bool has_split = context.has_input(1);
  ASSIGN_OR_RETURN(const std::vector<int64_t> parts,
                   PartsOf(has_split ? &context.input(1) : nullptr, input.dim(axis)));
  Sequence sequence;
  sequence.element_type = Type::OfTensor(input.type());
  sequence.elements.reserve(parts.size());
  // Without elements the products might overflow, and nothing is to be copied.
  const absl::Span<const int64_t> all(input.dims());
  const int64_t outer = input.size() == 0 ? 0 : Product(all.subspan(0, axis));
  const int64_t inner = input.size() == 0 ? 0 : Product(all.subspan(axis + 1));
  const int64_t row = inner * input.dim(axis);
  int64_t at = 0;
  for (int64_t part : parts) {
    Dims dims = input.dims();
    dims[axis] = part;
    if (!has_split && !attributes.keepdims) dims.erase(dims.begin() + axis);
    ASSIGN_OR_RETURN(Tensor tensor, context.Allocate(input.type(), dims));
    ZeroUnusedBits(&tensor);
    const int64_t run = part * inner;
    if (run > 0) {
      for (int64_t o = 0; o < outer; ++o) {
        CopyElements(input, o * row + at, &tensor, o * run, run);
      }
    }
    at += run;
    sequence.elements.emplace_back(std::move(tensor));
  }
  context.SetOutput(0, Value(std::move(sequence)));
  return absl::OkStatus();
}

// --- SequenceMap -------------------------------------------------------------

// The standard has a function body for it. A kernel is needed all the same: the graph may read
// names of the enclosing graphs, which a function's body cannot.
absl::StatusOr<int> ParseSequenceMap(const NodeInfo& node) {
  const Attribute* body = node.Find("body");
  if (body == nullptr || body->graphs.size() != 1) {
    return node.BadAttribute("body", "missing", "a graph");
  }
  const Graph& graph = *body->graphs[0];
  if (static_cast<int>(graph.inputs.size()) != node.input_count() ||
      static_cast<int>(graph.outputs.size()) != node.output_count()) {
    return node.BadAttribute("body",
                             absl::StrCat("a graph of ", graph.inputs.size(), " inputs and ",
                                          graph.outputs.size(), " outputs"),
                             absl::StrCat("as many as the node has: ", node.input_count(), " and ",
                                          node.output_count()));
  }
  return node.Subgraph("body");
}

absl::Status InferSequenceMap(const NodeInfo& node, absl::Span<const Type> /*inputs*/,
                              absl::Span<Type> outputs) {
  ASSIGN_OR_RETURN(const int graph, ParseSequenceMap(node));
  const absl::Span<const Type> body = node.SubgraphOutputTypes(graph);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Type& type = body[i];
    outputs[i] = type.kind == ValueKind::kTensor && type.element != ElementType::kUndefined
                     ? Type::OfSequence(Type::OfTensor(type.element))
                     : Type();
  }
  return absl::OkStatus();
}

absl::Status SequenceMap(const int& graph, KernelContext& context) {
  const int64_t length = LengthOf(context.input_value(0).sequence());
  for (int i = 0; i < context.input_count(); ++i) {
    if (!context.has_input(i)) {
      return absl::InvalidArgumentError(absl::StrCat("input ", i, " is absent"));
    }
    const Value& value = context.input_value(i);
    if (value.kind() == ValueKind::kSequence && LengthOf(value.sequence()) != length) {
      return absl::InvalidArgumentError(absl::StrCat("input ", i, " is a sequence of ",
                                                     LengthOf(value.sequence()),
                                                     ", input 0 one of ", length));
    }
  }
  SubgraphRunner body = context.Subgraph(graph);
  std::vector<Value> inputs(context.input_count());
  std::vector<Value> outputs(body.output_count());
  std::vector<Sequence> results(body.output_count());
  for (size_t k = 0; k < results.size(); ++k) {
    const Type& type = body.output_type(static_cast<int>(k));
    if (type.kind == ValueKind::kTensor && type.element != ElementType::kUndefined) {
      results[k].element_type = Type::OfTensor(type.element);
    }
    results[k].elements.reserve(length);
  }
  for (int64_t i = 0; i < length; ++i) {
    for (int k = 0; k < context.input_count(); ++k) {
      const Value& value = context.input_value(k);
      inputs[k] = value.kind() == ValueKind::kSequence ? value.sequence().elements[i] : value;
    }
    RETURN_IF_ERROR(body.Run(absl::MakeSpan(inputs), absl::MakeSpan(outputs)));
    for (size_t k = 0; k < results.size(); ++k) {
      Type& type = results[k].element_type;
      if (type.kind == ValueKind::kAbsent && outputs[k].is_tensor()) {
        type = Type::OfTensor(outputs[k].tensor().type());
      }
      if (!outputs[k].is_tensor() || outputs[k].tensor().type() != type.element) {
        return absl::InvalidArgumentError(absl::StrCat("body output ", k, " is ",
                                                       Describe(outputs[k]), " for element ", i,
                                                       ", expected ", TypeToString(type)));
      }
      results[k].elements.push_back(std::move(outputs[k]));
    }
  }
  for (size_t k = 0; k < results.size(); ++k) {
    context.SetOutput(static_cast<int>(k), Value(std::move(results[k])));
  }
  return absl::OkStatus();
}

constexpr auto kKernels = KernelTable(
    Rows<ParseConcat, ConcatFromSequence>("ConcatFromSequence", 11).Infer(InferElement),
    Rows<SequenceAt>("SequenceAt", 11).Infer(InferElement),
    Rows<SequenceConstruct>("SequenceConstruct", 11).Infer(InferSequenceConstruct),
    Rows<ParseSequenceEmpty, SequenceEmpty>("SequenceEmpty", 11).Infer(InferSequenceEmpty),
    Rows<SequenceErase>("SequenceErase", 11).Infer(InferSameAsInput),
    Rows<SequenceInsert>("SequenceInsert", 11).Infer(InferSequenceInsert),
    Rows<SequenceLength>("SequenceLength", 11),
    Rows<ParseSequenceMap, SequenceMap>("SequenceMap", 17).Infer(InferSequenceMap).NotFoldable(),
    Rows<ParseSplit, SplitToSequence>("SplitToSequence", 11, 24).Infer(InferSplit));

}  // namespace

absl::Span<const KernelDef> SequenceKernels() { return kKernels; }

}  // namespace onnx_run
