// Constant: the one value attribute that is set, read at load.
#include <string>

#include "absl/strings/str_cat.h"
#include "ops/families.h"
#include "runtime/kernel.h"
#include "runtime/status_macros.h"

namespace onnx_run {
namespace {

struct ConstantAttributes {
  Value value;
};

// The value of attribute `a` of Constant. A sparse_value stays sparse: the standard says the output is.
absl::StatusOr<Value> ValueOf(const NodeInfo& node, const Attribute& a) {
  const auto count = [](const auto& list) { return static_cast<int64_t>(list.size()); };
  if (a.name == "value" || a.name == "sparse_value") {
    if (a.values.size() != 1) return node.BadAttribute(a.name, "nothing", "one tensor");
    return a.values[0];
  }
  if (a.name == "value_float") {
    return Tensor::Of<float>(ElementType::kFloat, {}, absl::MakeConstSpan(&a.f, 1));
  }
  if (a.name == "value_floats") {
    return Tensor::Of<float>(ElementType::kFloat, {count(a.floats)}, a.floats);
  }
  if (a.name == "value_int") {
    return Tensor::Of<int64_t>(ElementType::kInt64, {}, absl::MakeConstSpan(&a.i, 1));
  }
  if (a.name == "value_ints") {
    return Tensor::Of<int64_t>(ElementType::kInt64, {count(a.ints)}, a.ints);
  }
  if (a.name == "value_string") return Tensor::Strings({}, {a.s});
  return Tensor::Strings({count(a.strings)}, a.strings);  // value_strings
}

absl::StatusOr<ConstantAttributes> ParseConstant(const NodeInfo& node) {
  if (node.node().attributes.size() != 1) {
    return absl::InvalidArgumentError(absl::StrCat("exactly one value attribute is needed, found ",
                                                   node.node().attributes.size()));
  }
  ConstantAttributes attributes;
  ASSIGN_OR_RETURN(attributes.value, ValueOf(node, node.node().attributes[0]));
  return attributes;
}

absl::Status InferConstant(const NodeInfo& node, absl::Span<const Type> /*inputs*/,
                           absl::Span<Type> outputs) {
  ASSIGN_OR_RETURN(const ConstantAttributes attributes, ParseConstant(node));
  outputs[0] = attributes.value.type();
  return absl::OkStatus();
}

absl::Status Constant(const ConstantAttributes& attributes, KernelContext& context) {
  context.SetOutput(0, attributes.value);
  return absl::OkStatus();
}

constexpr KernelDef kConstantKernels[] = {
    Kernel<ParseConstant, Constant>("", "Constant", 25).Infer(InferConstant),
    Kernel<ParseConstant, Constant>("", "Constant", 24).Infer(InferConstant),
    Kernel<ParseConstant, Constant>("", "Constant", 23).Infer(InferConstant),
    Kernel<ParseConstant, Constant>("", "Constant", 21).Infer(InferConstant),
    Kernel<ParseConstant, Constant>("", "Constant", 19).Infer(InferConstant),
    Kernel<ParseConstant, Constant>("", "Constant", 13).Infer(InferConstant),
    Kernel<ParseConstant, Constant>("", "Constant", 12).Infer(InferConstant),
    Kernel<ParseConstant, Constant>("", "Constant", 11).Infer(InferConstant),
    Kernel<ParseConstant, Constant>("", "Constant", 9).Infer(InferConstant),
    Kernel<ParseConstant, Constant>("", "Constant", 1).Infer(InferConstant),
};

}  // namespace

absl::Span<const KernelDef> ConstantKernels() { return kConstantKernels; }

}  // namespace onnx_run
