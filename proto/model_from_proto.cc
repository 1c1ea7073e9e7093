// The reading half of model_proto.h.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "proto/model_proto.h"
#include "proto/tensor_proto.h"
#include "proto/text.h"
#include "runtime/status_macros.h"

namespace onnx_run {
namespace {

using Kind = AttributeKind;

void Warn(ReadContext* context, std::string message) {
  if (context->warnings != nullptr) context->warnings->push_back(std::move(message));
}

std::string DomainOf(std::string* domain) {
  if (*domain == "ai.onnx") return "";
  return std::move(*domain);
}

template <typename Strings>
std::vector<std::string> TakeStrings(Strings* from) {
  std::vector<std::string> strings;
  strings.reserve(static_cast<size_t>(from->size()));
  for (std::string& text : *from) strings.push_back(std::move(text));
  return strings;
}

// "name" or its number, for messages.
std::string Label(absl::string_view what, int index, absl::string_view name) {
  return name.empty() ? absl::StrCat(what, " #", index)
                      : absl::StrCat(what, " #", index, " ", Quoted(name));
}

std::vector<OpsetImport> OpsetsFrom(
    google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>* from) {
  std::vector<OpsetImport> opsets;
  opsets.reserve(static_cast<size_t>(from->size()));
  for (onnx::OperatorSetIdProto& opset : *from) {
    opsets.push_back({DomainOf(opset.mutable_domain()), opset.version()});
  }
  return opsets;
}

// The names of the value fields that are set, and the kind that the last of them belongs to.
struct FieldsFound {
  std::vector<absl::string_view> names;
  Kind kind = Kind::kUndefined;
};

FieldsFound FindFields(const onnx::AttributeProto& proto) {
  FieldsFound found;
  const auto check = [&](bool set, absl::string_view name, Kind kind) {
    if (!set) return;
    found.names.push_back(name);
    found.kind = kind;
  };
  check(proto.has_f(), "f", Kind::kFloat);
  check(proto.has_i(), "i", Kind::kInt);
  check(proto.has_s(), "s", Kind::kString);
  check(proto.has_t(), "t", Kind::kTensor);
  check(proto.has_g(), "g", Kind::kGraph);
  check(proto.has_sparse_tensor(), "sparse_tensor", Kind::kSparseTensor);
  check(proto.has_tp(), "tp", Kind::kTypeProto);
  check(proto.floats_size() > 0, "floats", Kind::kFloats);
  check(proto.ints_size() > 0, "ints", Kind::kInts);
  check(proto.strings_size() > 0, "strings", Kind::kStrings);
  check(proto.tensors_size() > 0, "tensors", Kind::kTensors);
  check(proto.graphs_size() > 0, "graphs", Kind::kGraphs);
  check(proto.sparse_tensors_size() > 0, "sparse_tensors", Kind::kSparseTensors);
  check(proto.type_protos_size() > 0, "type_protos", Kind::kTypeProtos);
  return found;
}

std::string JoinNames(const std::vector<absl::string_view>& names) {
  std::string text;
  for (absl::string_view name : names) absl::StrAppend(&text, text.empty() ? "" : " and ", name);
  return text.empty() ? "nothing" : text;
}

// Reads one model; knows how deep in subgraphs it is.
class ModelReader {
 public:
  explicit ModelReader(ReadContext* context) : context_(context) {}

  absl::StatusOr<Attribute> ReadAttribute(onnx::AttributeProto* proto) {
    Attribute attribute;
    attribute.name = std::move(*proto->mutable_name());
    attribute.ref_attr_name = std::move(*proto->mutable_ref_attr_name());
    absl::Status status = ReadAttributeValue(proto, &attribute);
    if (!status.ok()) {
      return At(absl::StrCat("attribute ", Quoted(attribute.name)), status);
    }
    return attribute;
  }

  absl::Status ReadNode(onnx::NodeProto* proto, Node* to) {
    Node& node = *to;
    node.name = std::move(*proto->mutable_name());
    node.op_type = std::move(*proto->mutable_op_type());
    if (proto->has_domain()) node.domain = DomainOf(proto->mutable_domain());
    if (proto->has_overload()) node.overload = std::move(*proto->mutable_overload());
    node.inputs = TakeStrings(proto->mutable_input());
    node.outputs = TakeStrings(proto->mutable_output());
    node.attributes.reserve(static_cast<size_t>(proto->attribute_size()));
    for (onnx::AttributeProto& attribute : *proto->mutable_attribute()) {
      auto read = ReadAttribute(&attribute);
      if (!read.ok()) return std::move(read).status();
      node.attributes.push_back(*std::move(read));
    }
    return absl::OkStatus();
  }

  absl::Status ReadNodes(google::protobuf::RepeatedPtrField<onnx::NodeProto>* from,
                         std::vector<Node>* nodes) {
    nodes->resize(static_cast<size_t>(from->size()));
    for (int i = 0; i < from->size(); ++i) {
      Node* node = &(*nodes)[static_cast<size_t>(i)];
      absl::Status status = ReadNode(from->Mutable(i), node);
      if (!status.ok()) {
        return At(absl::StrCat("node #", i, " ", node->op_type, " ", Quoted(node->name)), status);
      }
    }
    return absl::OkStatus();
  }

  absl::Status ReadGraph(onnx::GraphProto* proto, Graph* graph) {
    if (depth_ > context_->max_subgraph_depth) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "subgraphs are nested deeper than the limit of ", context_->max_subgraph_depth));
    }
    graph->name = std::move(*proto->mutable_name());
    RETURN_IF_ERROR(ReadValueInfos(proto->mutable_input(), "input", true, &graph->inputs));
    RETURN_IF_ERROR(ReadValueInfos(proto->mutable_output(), "output", true, &graph->outputs));
    RETURN_IF_ERROR(
        ReadValueInfos(proto->mutable_value_info(), "value_info", false, &graph->value_infos));
    RETURN_IF_ERROR(ReadInitializers(proto, graph));
    return ReadNodes(proto->mutable_node(), &graph->nodes);
  }

  absl::Status ReadFunction(onnx::FunctionProto* proto, Function* function) {
    function->name = std::move(*proto->mutable_name());
    if (proto->has_domain()) function->domain = DomainOf(proto->mutable_domain());
    function->overload = std::move(*proto->mutable_overload());
    function->inputs = TakeStrings(proto->mutable_input());
    function->outputs = TakeStrings(proto->mutable_output());
    function->attributes = TakeStrings(proto->mutable_attribute());
    function->opset_imports = OpsetsFrom(proto->mutable_opset_import());
    for (onnx::AttributeProto& attribute : *proto->mutable_attribute_proto()) {
      ASSIGN_OR_RETURN(Attribute read, ReadAttribute(&attribute));
      function->attribute_defaults.push_back(std::move(read));
    }
    RETURN_IF_ERROR(
        ReadValueInfos(proto->mutable_value_info(), "value_info", false, &function->value_infos));
    return ReadNodes(proto->mutable_node(), &function->nodes);
  }

 private:
  absl::StatusOr<Value> ReadSparse(onnx::SparseTensorProto* proto) {
    ASSIGN_OR_RETURN(SparseTensor sparse,
                     SparseTensorFromProto(std::move(*proto), context_->external));
    return Value(std::move(sparse));
  }

  absl::Status AddGraph(onnx::GraphProto* proto, Attribute* attribute) {
    auto graph = std::make_shared<Graph>();
    ++depth_;
    absl::Status status = ReadGraph(proto, graph.get());
    --depth_;
    RETURN_IF_ERROR(status);
    attribute->graphs.push_back(std::move(graph));
    return absl::OkStatus();
  }

  absl::Status ReadAttributeValue(onnx::AttributeProto* proto, Attribute* attribute) {
    attribute->kind = static_cast<Kind>(proto->type());
    if (!attribute->ref_attr_name.empty()) {
      const FieldsFound found = FindFields(*proto);
      if (found.names.empty()) return absl::OkStatus();
      return absl::InvalidArgumentError(absl::StrCat("refers to ", Quoted(attribute->ref_attr_name),
                                                     " and has a value in ", JoinNames(found.names),
                                                     "; expected only one of them"));
    }
    RETURN_IF_ERROR(CheckFields(*proto, attribute));
    switch (attribute->kind) {
      case Kind::kUndefined: break;  // refused by CheckFields
      case Kind::kFloat: attribute->f = proto->f(); break;
      case Kind::kInt: attribute->i = proto->i(); break;
      case Kind::kString: attribute->s = std::move(*proto->mutable_s()); break;
      case Kind::kFloats:
        attribute->floats.assign(proto->floats().begin(), proto->floats().end());
        break;
      case Kind::kInts: attribute->ints.assign(proto->ints().begin(), proto->ints().end()); break;
      case Kind::kStrings: attribute->strings = TakeStrings(proto->mutable_strings()); break;
      case Kind::kTensor: {
        ASSIGN_OR_RETURN(Tensor tensor,
                         TensorFromProto(std::move(*proto->mutable_t()), context_->external));
        attribute->values.push_back(Value(std::move(tensor)));
        break;
      }
      case Kind::kTensors:
        for (onnx::TensorProto& each : *proto->mutable_tensors()) {
          ASSIGN_OR_RETURN(Tensor tensor, TensorFromProto(std::move(each), context_->external));
          attribute->values.push_back(Value(std::move(tensor)));
        }
        break;
      case Kind::kSparseTensor: {
        ASSIGN_OR_RETURN(Value value, ReadSparse(proto->mutable_sparse_tensor()));
        attribute->values.push_back(std::move(value));
        break;
      }
      case Kind::kSparseTensors:
        for (onnx::SparseTensorProto& each : *proto->mutable_sparse_tensors()) {
          ASSIGN_OR_RETURN(Value value, ReadSparse(&each));
          attribute->values.push_back(std::move(value));
        }
        break;
      case Kind::kGraph: return AddGraph(proto->mutable_g(), attribute);
      case Kind::kGraphs:
        for (onnx::GraphProto& each : *proto->mutable_graphs()) {
          RETURN_IF_ERROR(AddGraph(&each, attribute));
        }
        break;
      case Kind::kTypeProto: {
        ASSIGN_OR_RETURN(Type type, TypeFromProto(proto->tp()));
        attribute->types.push_back(std::move(type));
        break;
      }
      case Kind::kTypeProtos:
        for (const onnx::TypeProto& each : proto->type_protos()) {
          ASSIGN_OR_RETURN(Type type, TypeFromProto(each));
          attribute->types.push_back(std::move(type));
        }
        break;
    }
    return absl::OkStatus();
  }

  // That the value is in the field that the type names and in no other; finds the type in IR
  // version 1.
  absl::Status CheckFields(const onnx::AttributeProto& proto, Attribute* attribute) {
    const FieldsFound found = FindFields(proto);
    if (attribute->kind == Kind::kUndefined) {
      if (context_->ir_version >= 2) {
        return absl::InvalidArgumentError(absl::StrCat("has no known type (its value is in ",
                                                       JoinNames(found.names),
                                                       "); IR version 2 and later require one"));
      }
      if (found.names.size() != 1) {
        return absl::InvalidArgumentError(
            absl::StrCat("has values in ", JoinNames(found.names), "; expected exactly one field"));
      }
      attribute->kind = found.kind;
      return absl::OkStatus();
    }
    if (found.names.size() == 1 && found.kind == attribute->kind) return absl::OkStatus();
    // Nothing set: an empty list, or a zero that a proto3 writer leaves out. A message has no such
    // zero.
    const bool has_default = attribute->kind != Kind::kTensor && attribute->kind != Kind::kGraph &&
                             attribute->kind != Kind::kSparseTensor &&
                             attribute->kind != Kind::kTypeProto;
    if (found.names.empty() && has_default) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("has type ", AttributeKindName(attribute->kind),
                                                   " and its value in ", JoinNames(found.names)));
  }

  // `required`: an unreadable type is an error; else the entry, a mere hint, is left out.
  absl::Status ReadValueInfos(google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>* from,
                              absl::string_view what, bool required,
                              std::vector<ValueInfo>* infos) {
    infos->reserve(static_cast<size_t>(from->size()));
    for (int i = 0; i < from->size(); ++i) {
      onnx::ValueInfoProto* proto = from->Mutable(i);
      absl::StatusOr<Type> type = Type();
      if (proto->has_type()) type = TypeFromProto(proto->type());
      if (!type.ok()) {
        const absl::Status status = At(Label(what, i, proto->name()), type.status());
        if (required) return status;
        Warn(context_, absl::StrCat(status.message(), "; ignored"));
        continue;
      }
      infos->push_back({std::move(*proto->mutable_name()), *std::move(type)});
    }
    return absl::OkStatus();
  }

  absl::Status ReadInitializers(onnx::GraphProto* proto, Graph* graph) {
    graph->initializers.reserve(
        static_cast<size_t>(proto->initializer_size() + proto->sparse_initializer_size()));
    for (int i = 0; i < proto->initializer_size(); ++i) {
      onnx::TensorProto* each = proto->mutable_initializer(i);
      auto tensor = TensorFromProto(std::move(*each), context_->external);
      if (!tensor.ok()) return At(absl::StrCat("initializer #", i), tensor.status());
      graph->initializers.push_back({std::move(*each->mutable_name()), *std::move(tensor)});
    }
    for (int i = 0; i < proto->sparse_initializer_size(); ++i) {
      onnx::SparseTensorProto* each = proto->mutable_sparse_initializer(i);
      std::string name = each->values().name();
      auto sparse = SparseTensorFromProto(std::move(*each), context_->external);
      if (!sparse.ok()) return At(absl::StrCat("sparse_initializer #", i), sparse.status());
      auto dense = MakeDense(*sparse, context_->dense_bytes_left);
      if (!dense.ok()) return At(Label("sparse_initializer", i, name), dense.status());
      context_->dense_bytes_left -= dense->is_string()
                                        ? dense->size() * static_cast<int64_t>(sizeof(std::string))
                                        : dense->bytes();
      graph->initializers.push_back({std::move(name), *std::move(dense)});
    }
    return absl::OkStatus();
  }

  ReadContext* const context_;
  int depth_ = 0;
};

absl::StatusOr<ElementType> ElementFrom(int32_t number) {
  // 0 is what writers leave who do not know; the graph will tell.
  if (number == 0) return ElementType::kUndefined;
  const auto element = ElementTypeFromNumber(number);
  if (!element) {
    return absl::InvalidArgumentError(absl::StrCat(
        "element type is ", number, "; known are 1 (FLOAT) to ", kElementTypeCount - 1, " (INT2)"));
  }
  return *element;
}

template <typename TensorType>
absl::StatusOr<Type> TensorTypeFrom(const TensorType& proto, ValueKind kind) {
  ASSIGN_OR_RETURN(const ElementType element, ElementFrom(proto.elem_type()));
  Type type;
  type.kind = kind;
  type.element = element;
  if (proto.has_shape()) {
    type.shape.emplace();
    type.shape->reserve(static_cast<size_t>(proto.shape().dim_size()));
    for (const onnx::TensorShapeProto::Dimension& dim : proto.shape().dim()) {
      DeclaredDim declared;
      // Older exporters write -1 for a dimension they do not know.
      if (dim.has_dim_value() && dim.dim_value() >= 0) declared.value = dim.dim_value();
      // "?" is no name either, though exporters write it: one model's "?"s are of different sizes.
      if (dim.has_dim_param() && dim.dim_param() != "?") declared.param = dim.dim_param();
      type.shape->push_back(std::move(declared));
    }
  }
  return type;
}

}  // namespace

absl::StatusOr<Type> TypeFromProto(const onnx::TypeProto& proto) {
  switch (proto.value_case()) {
    case onnx::TypeProto::VALUE_NOT_SET: return Type();
    case onnx::TypeProto::kTensorType:
      return TensorTypeFrom(proto.tensor_type(), ValueKind::kTensor);
    case onnx::TypeProto::kSparseTensorType:
      return TensorTypeFrom(proto.sparse_tensor_type(), ValueKind::kSparseTensor);
    case onnx::TypeProto::kSequenceType: {
      ASSIGN_OR_RETURN(Type inner, TypeFromProto(proto.sequence_type().elem_type()));
      return Type::OfSequence(std::move(inner));
    }
    case onnx::TypeProto::kOptionalType: {
      ASSIGN_OR_RETURN(Type inner, TypeFromProto(proto.optional_type().elem_type()));
      return Type::OfOptional(std::move(inner));
    }
    case onnx::TypeProto::kMapType: {
      ASSIGN_OR_RETURN(const ElementType key, ElementFrom(proto.map_type().key_type()));
      ASSIGN_OR_RETURN(Type inner, TypeFromProto(proto.map_type().value_type()));
      return Type::OfMap(key, std::move(inner));
    }
    case onnx::TypeProto::kOpaqueType:
      return absl::UnimplementedError(
          absl::StrCat("opaque type ", Quoted(proto.opaque_type().domain()), " ",
                       Quoted(proto.opaque_type().name()), " is not supported"));
  }
  return Type();
}

absl::StatusOr<Attribute> AttributeFromProto(onnx::AttributeProto&& proto, ReadContext* context) {
  return ModelReader(context).ReadAttribute(&proto);
}

absl::StatusOr<Node> NodeFromProto(onnx::NodeProto&& proto, ReadContext* context) {
  Node node;
  RETURN_IF_ERROR(ModelReader(context).ReadNode(&proto, &node));
  return node;
}

absl::StatusOr<Graph> GraphFromProto(onnx::GraphProto&& proto, ReadContext* context) {
  Graph graph;
  RETURN_IF_ERROR(ModelReader(context).ReadGraph(&proto, &graph));
  return graph;
}

absl::StatusOr<Function> FunctionFromProto(onnx::FunctionProto&& proto, ReadContext* context) {
  Function function;
  RETURN_IF_ERROR(ModelReader(context).ReadFunction(&proto, &function));
  return function;
}

absl::StatusOr<Model> ModelFromProto(onnx::ModelProto&& proto, ReadContext* context) {
  if (!proto.has_graph()) {
    return absl::InvalidArgumentError("model has no graph; it is no ONNX model, or an empty one");
  }
  context->ir_version = proto.ir_version();
  Model model;
  model.ir_version = proto.ir_version();
  model.opset_imports = OpsetsFrom(proto.mutable_opset_import());
  model.producer_name = std::move(*proto.mutable_producer_name());
  model.producer_version = std::move(*proto.mutable_producer_version());
  model.domain = std::move(*proto.mutable_domain());
  model.model_version = proto.model_version();
  model.doc_string = std::move(*proto.mutable_doc_string());
  for (onnx::StringStringEntryProto& entry : *proto.mutable_metadata_props()) {
    model.metadata.emplace_back(std::move(*entry.mutable_key()), std::move(*entry.mutable_value()));
  }
  if (proto.training_info_size() > 0) {
    Warn(context, "training_info is ignored: only the inference graph runs");
  }
  ModelReader reader(context);
  absl::Status status = reader.ReadGraph(proto.mutable_graph(), &model.graph);
  if (!status.ok()) return At("main graph", status);
  model.functions.resize(static_cast<size_t>(proto.functions_size()));
  for (int i = 0; i < proto.functions_size(); ++i) {
    Function* function = &model.functions[static_cast<size_t>(i)];
    status = reader.ReadFunction(proto.mutable_functions(i), function);
    if (!status.ok()) {
      return At(
          absl::StrCat("function ", Quoted(absl::StrCat(function->domain, ":", function->name))),
          status);
    }
  }
  return model;
}

}  // namespace onnx_run
