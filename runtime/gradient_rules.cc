#include "runtime/gradient_rules.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/gradient.h"

namespace onnx_run {

std::string RuleWriter::x(int i) const { return node_.has_input(i) ? absl::StrCat("x", i) : ""; }
std::string RuleWriter::y(int i) const { return node_.has_output(i) ? absl::StrCat("y", i) : ""; }
std::string RuleWriter::dy(int i) const {
  const bool has = i < static_cast<int>(has_gradient_.size()) && has_gradient_[i];
  return has ? absl::StrCat("dy", i) : "";
}

std::vector<std::string> RuleWriter::Add(Node node, int outputs) {
  for (int i = 0; i < outputs; ++i) node.outputs.push_back(absl::StrCat("v", names_++));
  function_.nodes.push_back(std::move(node));
  return function_.nodes.back().outputs;
}

std::vector<std::string> RuleWriter::Ops(absl::string_view op_type, std::vector<std::string> inputs,
                                         int outputs, std::vector<Attribute> attributes) {
  Node node;
  node.op_type = std::string(op_type);
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
  return Add(std::move(node), outputs);
}

std::string RuleWriter::Op(absl::string_view op_type, std::vector<std::string> inputs,
                           std::vector<Attribute> attributes) {
  return Ops(op_type, std::move(inputs), 1, std::move(attributes))[0];
}

std::string RuleWriter::Helper(absl::string_view name, std::vector<std::string> inputs) {
  Node node;
  node.domain = std::string(kGradientHelpers);
  node.op_type = std::string(name);
  node.inputs = std::move(inputs);
  return Add(std::move(node), 1)[0];
}

std::string RuleWriter::Replay(std::vector<std::string> inputs) {
  Node node;
  node.domain = absl::StrCat(kReplayOf, node_.domain().empty() ? "ai.onnx" : node_.domain());
  node.op_type = node_.op_type();
  node.attributes = node_.node().attributes;
  node.inputs = std::move(inputs);
  return Add(std::move(node), 1)[0];
}

std::string RuleWriter::Ints(std::vector<int64_t> values) {
  return Op("Constant", {}, {IntsAttribute("value_ints", std::move(values))});
}

std::string RuleWriter::Like(double value, const std::string& like) {
  Attribute attribute;
  attribute.name = "value";
  attribute.kind = AttributeKind::kTensor;
  // Eight bytes: what there may be no memory for is thrown, and caught by Session::Create.
  attribute.values.emplace_back(
      Tensor::Of<double>(ElementType::kDouble, {}, absl::MakeConstSpan(&value, 1)).value());
  return Op("CastLike", {Op("Constant", {}, {std::move(attribute)}), like});
}

Attribute RuleWriter::IntAttribute(absl::string_view name, int64_t value) {
  Attribute attribute;
  attribute.name = std::string(name);
  attribute.kind = AttributeKind::kInt;
  attribute.i = value;
  return attribute;
}

Attribute RuleWriter::IntsAttribute(absl::string_view name, std::vector<int64_t> values) {
  Attribute attribute;
  attribute.name = std::string(name);
  attribute.kind = AttributeKind::kInts;
  attribute.ints = std::move(values);
  return attribute;
}

Attribute RuleWriter::FloatAttribute(absl::string_view name, float value) {
  Attribute attribute;
  attribute.name = std::string(name);
  attribute.kind = AttributeKind::kFloat;
  attribute.f = value;
  return attribute;
}

Attribute RuleWriter::StringAttribute(absl::string_view name, absl::string_view value) {
  Attribute attribute;
  attribute.name = std::string(name);
  attribute.kind = AttributeKind::kString;
  attribute.s = std::string(value);
  return attribute;
}

absl::Status RuleWriter::NoRule(absl::string_view what) const {
  return absl::UnimplementedError(absl::StrCat("Gradient has no rule for ", what));
}

}  // namespace onnx_run
