#include "tests/unit/model_builder.h"

namespace onnx_run {
namespace {

Attribute Make(std::string name, AttributeKind kind) {
  Attribute attribute;
  attribute.name = std::move(name);
  attribute.kind = kind;
  return attribute;
}

// The IR version that came with the opset's release (docs/Versioning.md of the standard).
int64_t IrVersionOf(int64_t opset) {
  if (opset >= 25) return 13;
  if (opset >= 24) return 12;
  if (opset >= 23) return 11;
  if (opset >= 21) return 10;
  if (opset >= 19) return 9;
  if (opset >= 15) return 8;
  if (opset >= 12) return 7;
  if (opset >= 11) return 6;
  if (opset >= 10) return 5;
  if (opset >= 9) return 4;
  return 3;
}

}  // namespace

Attribute IntAttr(std::string name, int64_t value) {
  Attribute attribute = Make(std::move(name), AttributeKind::kInt);
  attribute.i = value;
  return attribute;
}

Attribute FloatAttr(std::string name, float value) {
  Attribute attribute = Make(std::move(name), AttributeKind::kFloat);
  attribute.f = value;
  return attribute;
}

Attribute StringAttr(std::string name, std::string value) {
  Attribute attribute = Make(std::move(name), AttributeKind::kString);
  attribute.s = std::move(value);
  return attribute;
}

Attribute IntsAttr(std::string name, std::vector<int64_t> values) {
  Attribute attribute = Make(std::move(name), AttributeKind::kInts);
  attribute.ints = std::move(values);
  return attribute;
}

Attribute FloatsAttr(std::string name, std::vector<float> values) {
  Attribute attribute = Make(std::move(name), AttributeKind::kFloats);
  attribute.floats = std::move(values);
  return attribute;
}

Attribute StringsAttr(std::string name, std::vector<std::string> values) {
  Attribute attribute = Make(std::move(name), AttributeKind::kStrings);
  attribute.strings = std::move(values);
  return attribute;
}

Attribute TensorAttr(std::string name, Tensor value) {
  Attribute attribute = Make(std::move(name), AttributeKind::kTensor);
  attribute.values.push_back(Value(std::move(value)));
  return attribute;
}

Attribute SparseTensorAttr(std::string name, SparseTensor value) {
  Attribute attribute = Make(std::move(name), AttributeKind::kSparseTensor);
  attribute.values.push_back(Value(std::move(value)));
  return attribute;
}

Attribute TypeAttr(std::string name, Type value) {
  Attribute attribute = Make(std::move(name), AttributeKind::kTypeProto);
  attribute.types.push_back(std::move(value));
  return attribute;
}

Attribute GraphAttr(std::string name, Graph value) {
  Attribute attribute = Make(std::move(name), AttributeKind::kGraph);
  attribute.graphs.push_back(std::make_shared<const Graph>(std::move(value)));
  return attribute;
}

Attribute RefAttr(std::string name, std::string ref, AttributeKind kind) {
  Attribute attribute = Make(std::move(name), kind);
  attribute.ref_attr_name = std::move(ref);
  return attribute;
}

Tensor FloatTensor(std::vector<int64_t> dims, std::initializer_list<float> elements) {
  return TensorOf<float>(ElementType::kFloat, std::move(dims), elements);
}

Tensor Int64Tensor(std::vector<int64_t> dims, std::initializer_list<int64_t> elements) {
  return TensorOf<int64_t>(ElementType::kInt64, std::move(dims), elements);
}

Tensor StringTensor(std::vector<int64_t> dims, std::vector<std::string> elements) {
  return Tensor::Strings(dims, elements);
}

Type TensorType(ElementType element) { return Type::OfTensor(element); }

Type TensorType(ElementType element, const std::vector<Dim>& shape) {
  Type type = Type::OfTensor(element);
  type.shape.emplace(shape.begin(), shape.end());
  return type;
}

FunctionBuilder::FunctionBuilder(std::string domain, std::string name) {
  function_.domain = std::move(domain);
  function_.name = std::move(name);
}

FunctionBuilder& FunctionBuilder::Inputs(std::vector<std::string> names) {
  function_.inputs = std::move(names);
  return *this;
}

FunctionBuilder& FunctionBuilder::Outputs(std::vector<std::string> names) {
  function_.outputs = std::move(names);
  return *this;
}

FunctionBuilder& FunctionBuilder::Attributes(std::vector<std::string> names) {
  function_.attributes = std::move(names);
  return *this;
}

FunctionBuilder& FunctionBuilder::Default(Attribute attribute) {
  function_.attribute_defaults.push_back(std::move(attribute));
  return *this;
}

FunctionBuilder& FunctionBuilder::Opset(std::string domain, int64_t version) {
  function_.opset_imports.push_back({std::move(domain), version});
  return *this;
}

FunctionBuilder& FunctionBuilder::Overload(std::string overload) {
  function_.overload = std::move(overload);
  return *this;
}

FunctionBuilder& FunctionBuilder::Node(std::string op_type, std::vector<std::string> inputs,
                                       std::vector<std::string> outputs,
                                       std::vector<Attribute> attributes, std::string domain,
                                       std::string name) {
  onnx_run::Node node;
  node.name = std::move(name);
  node.domain = std::move(domain);
  node.op_type = std::move(op_type);
  node.inputs = std::move(inputs);
  node.outputs = std::move(outputs);
  node.attributes = std::move(attributes);
  function_.nodes.push_back(std::move(node));
  return *this;
}

ModelBuilder::ModelBuilder(int64_t opset, int64_t ir_version) {
  model_.ir_version = ir_version != 0 ? ir_version : IrVersionOf(opset);
  model_.opset_imports.push_back({"", opset});
  model_.producer_name = "model_builder";
  graph_.name = "main";
}

ModelBuilder& ModelBuilder::IrVersion(int64_t version) {
  model_.ir_version = version;
  return *this;
}

ModelBuilder& ModelBuilder::Opset(std::string domain, int64_t version) {
  model_.opset_imports.push_back({std::move(domain), version});
  return *this;
}

ModelBuilder& ModelBuilder::ClearOpsets() {
  model_.opset_imports.clear();
  return *this;
}

ModelBuilder& ModelBuilder::Function(onnx_run::Function function) {
  model_.functions.push_back(std::move(function));
  return *this;
}

ModelBuilder& ModelBuilder::Metadata(std::string key, std::string value) {
  model_.metadata.emplace_back(std::move(key), std::move(value));
  return *this;
}

Model ModelBuilder::Build() {
  Model model = model_;
  model.graph = graph_;
  return model;
}

}  // namespace onnx_run
