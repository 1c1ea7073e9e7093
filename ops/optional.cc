// Optional, OptionalGetElement, OptionalHasElement: values that may hold a tensor or sequence, or
// not.
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/families.h"
#include "runtime/kernel.h"
#include "runtime/status_macros.h"

namespace onnx_run {
namespace {

struct OptionalAttributes {
  std::optional<Type> type;  // of the element
};

absl::StatusOr<OptionalAttributes> ParseOptional(const NodeInfo& node) {
  OptionalAttributes attributes;
  const Attribute* type = node.Find("type");
  if (type != nullptr) {
    const bool usable = type->types.size() == 1 && (type->types[0].kind == ValueKind::kTensor ||
                                                    type->types[0].kind == ValueKind::kSequence);
    if (!usable) {
      return node.BadAttribute("type",
                               type->types.size() == 1 ? TypeToString(type->types[0]) : "nothing",
                               "the type of a tensor or a sequence");
    }
    attributes.type = type->types[0];
  } else if (!node.has_input(0)) {
    return absl::InvalidArgumentError(
        "neither an input nor attribute \"type\": one of them has to tell the element's type");
  }
  return attributes;
}

absl::Status InferOptional(const NodeInfo& node, absl::Span<const Type> inputs,
                           absl::Span<Type> outputs) {
  ASSIGN_OR_RETURN(OptionalAttributes attributes, ParseOptional(node));
  if (!attributes.type && !inputs.empty() && inputs[0].kind != ValueKind::kAbsent) {
    attributes.type = inputs[0];
  }
  outputs[0] = attributes.type ? Type::OfOptional(*std::move(attributes.type)) : Type{};
  return absl::OkStatus();
}

absl::Status MakeOptional(const OptionalAttributes& attributes, KernelContext& context) {
  if (!context.has_input(0)) {
    // Reached without the attribute when the input is a formal parameter that the caller left out.
    if (!attributes.type) {
      return absl::InvalidArgumentError("no input, and no attribute \"type\" to tell its type");
    }
    context.SetOutput(0, Value(Optional(*attributes.type, nullptr)));
    return absl::OkStatus();
  }
  Value element = context.TakeInput(0);
  Type type = element.type();
  if (attributes.type) {
    if (!SameType(type, *attributes.type)) {
      return absl::InvalidArgumentError(absl::StrCat("input 0 is ", TypeToString(type),
                                                     ", attribute \"type\" says ",
                                                     TypeToString(*attributes.type)));
    }
    type = *attributes.type;
  }
  context.SetOutput(0,
                    Value(Optional(std::move(type), std::make_unique<Value>(std::move(element)))));
  return absl::OkStatus();
}

absl::Status InferGetElement(const NodeInfo& /*node*/, absl::Span<const Type> inputs,
                             absl::Span<Type> outputs) {
  if (inputs.empty() || inputs[0].kind == ValueKind::kAbsent) return absl::OkStatus();
  if (inputs[0].kind != ValueKind::kOptional) {
    outputs[0] = inputs[0];  // a tensor or a sequence stands for itself
  } else if (inputs[0].inner != nullptr) {
    outputs[0] = *inputs[0].inner;
  }
  return absl::OkStatus();
}

absl::Status OptionalGetElement(KernelContext& context) {
  if (context.input_value(0).kind() != ValueKind::kOptional) {
    context.SetOutput(0, context.TakeInput(0));
    return absl::OkStatus();
  }
  const Optional& optional = context.input_value(0).optional();
  if (optional.element == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("input 0 is an empty ",
                                                   TypeToString(context.input_value(0).type()),
                                                   ": there is no element to get"));
  }
  // By copy, which shares the elements: the caller may hold the optional still.
  context.SetOutput(0, *optional.element);
  return absl::OkStatus();
}

absl::Status OptionalHasElement(KernelContext& context) {
  bool has = context.has_input(0);
  if (has && context.input_value(0).kind() == ValueKind::kOptional) {
    has = context.input_value(0).optional().element != nullptr;
  }
  ASSIGN_OR_RETURN(Tensor * output, context.Output(0, ElementType::kBool, {}));
  *output->mutable_data_as<bool>() = has;
  return absl::OkStatus();
}

constexpr KernelDef kOptionalKernels[] = {
    Kernel<ParseOptional, MakeOptional>("", "Optional", 15).Infer(InferOptional),
    Kernel<OptionalGetElement>("", "OptionalGetElement", 18).Infer(InferGetElement),
    Kernel<OptionalGetElement>("", "OptionalGetElement", 15).Infer(InferGetElement),
    Kernel<OptionalHasElement>("", "OptionalHasElement", 18),
    Kernel<OptionalHasElement>("", "OptionalHasElement", 15),
};

}  // namespace

absl::Span<const KernelDef> OptionalKernels() { return kOptionalKernels; }

}  // namespace onnx_run
