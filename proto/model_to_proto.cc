// The writing half of model_proto.h.
#include <string>
#include <vector>

#include "proto/model_proto.h"
#include "proto/tensor_proto.h"

namespace onnx_run {
namespace {

template <typename Opsets>
void AddOpsets(const std::vector<OpsetImport>& from, Opsets* to) {
  for (const OpsetImport& opset : from) {
    onnx::OperatorSetIdProto* proto = to->Add();
    proto->set_domain(opset.domain);
    proto->set_version(opset.version);
  }
}

template <typename Infos>
void AddValueInfos(const std::vector<ValueInfo>& from, Infos* to) {
  for (const ValueInfo& info : from) {
    onnx::ValueInfoProto* proto = to->Add();
    proto->set_name(info.name);
    if (info.type.kind != ValueKind::kAbsent) *proto->mutable_type() = TypeToProto(info.type);
  }
}

template <typename TensorType>
void FillTensorType(const Type& type, TensorType* proto) {
  proto->set_elem_type(static_cast<int32_t>(type.element));
  if (!type.shape) return;
  onnx::TensorShapeProto* shape = proto->mutable_shape();
  for (const DeclaredDim& dim : *type.shape) {
    onnx::TensorShapeProto::Dimension* to = shape->add_dim();
    if (dim.value) {
      to->set_dim_value(*dim.value);
    } else if (!dim.param.empty()) {
      to->set_dim_param(dim.param);
    }
  }
}

}  // namespace

onnx::TypeProto TypeToProto(const Type& type) {
  onnx::TypeProto proto;
  const auto inner = [&] { return type.inner ? TypeToProto(*type.inner) : onnx::TypeProto(); };
  switch (type.kind) {
    case ValueKind::kAbsent: break;
    case ValueKind::kTensor: FillTensorType(type, proto.mutable_tensor_type()); break;
    case ValueKind::kSparseTensor: FillTensorType(type, proto.mutable_sparse_tensor_type()); break;
    case ValueKind::kSequence: *proto.mutable_sequence_type()->mutable_elem_type() = inner(); break;
    case ValueKind::kOptional: *proto.mutable_optional_type()->mutable_elem_type() = inner(); break;
    case ValueKind::kMap:
      proto.mutable_map_type()->set_key_type(static_cast<int32_t>(type.element));
      *proto.mutable_map_type()->mutable_value_type() = inner();
      break;
  }
  return proto;
}

onnx::AttributeProto AttributeToProto(const Attribute& attribute) {
  onnx::AttributeProto proto;
  proto.set_name(attribute.name);
  proto.set_type(static_cast<onnx::AttributeProto::AttributeType>(attribute.kind));
  if (!attribute.ref_attr_name.empty()) {
    proto.set_ref_attr_name(attribute.ref_attr_name);
    return proto;
  }
  switch (attribute.kind) {
    case AttributeKind::kUndefined: break;
    case AttributeKind::kFloat: proto.set_f(attribute.f); break;
    case AttributeKind::kInt: proto.set_i(attribute.i); break;
    case AttributeKind::kString: proto.set_s(attribute.s); break;
    case AttributeKind::kFloats:
      for (float f : attribute.floats) proto.add_floats(f);
      break;
    case AttributeKind::kInts:
      for (int64_t i : attribute.ints) proto.add_ints(i);
      break;
    case AttributeKind::kStrings:
      for (const std::string& s : attribute.strings) proto.add_strings(s);
      break;
    case AttributeKind::kTensor:
      for (const Value& value : attribute.values)
        *proto.mutable_t() = TensorToProto(value.tensor());
      break;
    case AttributeKind::kTensors:
      for (const Value& value : attribute.values)
        *proto.add_tensors() = TensorToProto(value.tensor());
      break;
    case AttributeKind::kSparseTensor:
      for (const Value& value : attribute.values) {
        *proto.mutable_sparse_tensor() = SparseTensorToProto(value.sparse());
      }
      break;
    case AttributeKind::kSparseTensors:
      for (const Value& value : attribute.values) {
        *proto.add_sparse_tensors() = SparseTensorToProto(value.sparse());
      }
      break;
    case AttributeKind::kGraph:
      for (const auto& graph : attribute.graphs) *proto.mutable_g() = GraphToProto(*graph);
      break;
    case AttributeKind::kGraphs:
      for (const auto& graph : attribute.graphs) *proto.add_graphs() = GraphToProto(*graph);
      break;
    case AttributeKind::kTypeProto:
      for (const Type& type : attribute.types) *proto.mutable_tp() = TypeToProto(type);
      break;
    case AttributeKind::kTypeProtos:
      for (const Type& type : attribute.types) *proto.add_type_protos() = TypeToProto(type);
      break;
  }
  return proto;
}

onnx::NodeProto NodeToProto(const Node& node) {
  onnx::NodeProto proto;
  if (!node.name.empty()) proto.set_name(node.name);
  if (!node.domain.empty()) proto.set_domain(node.domain);
  if (!node.overload.empty()) proto.set_overload(node.overload);
  proto.set_op_type(node.op_type);
  for (const std::string& input : node.inputs) proto.add_input(input);
  for (const std::string& output : node.outputs) proto.add_output(output);
  for (const Attribute& attribute : node.attributes) {
    *proto.add_attribute() = AttributeToProto(attribute);
  }
  return proto;
}

onnx::GraphProto GraphToProto(const Graph& graph) {
  onnx::GraphProto proto;
  proto.set_name(graph.name);
  AddValueInfos(graph.inputs, proto.mutable_input());
  AddValueInfos(graph.outputs, proto.mutable_output());
  AddValueInfos(graph.value_infos, proto.mutable_value_info());
  for (const Initializer& initializer : graph.initializers) {
    if (initializer.value.kind() == ValueKind::kSparseTensor) {
      *proto.add_sparse_initializer() =
          SparseTensorToProto(initializer.value.sparse(), initializer.name);
    } else {
      *proto.add_initializer() = TensorToProto(initializer.value.tensor(), initializer.name);
    }
  }
  for (const Node& node : graph.nodes) *proto.add_node() = NodeToProto(node);
  return proto;
}

onnx::FunctionProto FunctionToProto(const Function& function) {
  onnx::FunctionProto proto;
  proto.set_name(function.name);
  proto.set_domain(function.domain);
  if (!function.overload.empty()) proto.set_overload(function.overload);
  for (const std::string& input : function.inputs) proto.add_input(input);
  for (const std::string& output : function.outputs) proto.add_output(output);
  for (const std::string& attribute : function.attributes) proto.add_attribute(attribute);
  for (const Attribute& attribute : function.attribute_defaults) {
    *proto.add_attribute_proto() = AttributeToProto(attribute);
  }
  AddOpsets(function.opset_imports, proto.mutable_opset_import());
  AddValueInfos(function.value_infos, proto.mutable_value_info());
  for (const Node& node : function.nodes) *proto.add_node() = NodeToProto(node);
  return proto;
}

onnx::ModelProto ModelToProto(const Model& model) {
  onnx::ModelProto proto;
  proto.set_ir_version(model.ir_version);
  AddOpsets(model.opset_imports, proto.mutable_opset_import());
  if (!model.producer_name.empty()) proto.set_producer_name(model.producer_name);
  if (!model.producer_version.empty()) proto.set_producer_version(model.producer_version);
  if (!model.domain.empty()) proto.set_domain(model.domain);
  if (model.model_version != 0) proto.set_model_version(model.model_version);
  if (!model.doc_string.empty()) proto.set_doc_string(model.doc_string);
  for (const auto& [key, value] : model.metadata) {
    onnx::StringStringEntryProto* entry = proto.add_metadata_props();
    entry->set_key(key);
    entry->set_value(value);
  }
  *proto.mutable_graph() = GraphToProto(model.graph);
  for (const Function& function : model.functions) {
    *proto.add_functions() = FunctionToProto(function);
  }
  return proto;
}

}  // namespace onnx_run
