// ModelProto and its parts <-> runtime/model.h.
//
// For those who hold protobuf messages already; files and bytes go through load.h and save.h.
#ifndef ONNX_RUN_PROTO_MODEL_PROTO_H_
#define ONNX_RUN_PROTO_MODEL_PROTO_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "onnx/onnx-ml.pb.h"
#include "proto/external_data.h"
#include "runtime/model.h"

namespace onnx_run {

// What reading the parts of a model needs to know.
struct ReadContext {
  ExternalDataContext* external = nullptr;  // nullptr: external data is refused
  std::vector<std::string>* warnings = nullptr;
  // Of the model: before 2, attributes do not say their type.
  int64_t ir_version = INT64_MAX;
  // Subgraphs (bodies of If, Loop, Scan, ...) inside of each other.
  int max_subgraph_depth = 64;
  // Left for sparse initializers, whose dense size the file does not limit.
  int64_t dense_bytes_left = int64_t{1} << 31;
};

// Names, strings and large tensors are moved out of the messages. Domain "ai.onnx" becomes "".
// Messages of errors lead with the way to the fault: `main graph: node #7 If "i": attribute
// "then_branch": ...`.
absl::StatusOr<Model> ModelFromProto(onnx::ModelProto&& proto, ReadContext* context);
absl::StatusOr<Graph> GraphFromProto(onnx::GraphProto&& proto, ReadContext* context);
absl::StatusOr<Function> FunctionFromProto(onnx::FunctionProto&& proto, ReadContext* context);
absl::StatusOr<Node> NodeFromProto(onnx::NodeProto&& proto, ReadContext* context);
absl::StatusOr<Attribute> AttributeFromProto(onnx::AttributeProto&& proto, ReadContext* context);
// Errors: InvalidArgument (unknown element type), Unimplemented (opaque types).
absl::StatusOr<Type> TypeFromProto(const onnx::TypeProto& proto);

onnx::ModelProto ModelToProto(const Model& model);
onnx::GraphProto GraphToProto(const Graph& graph);
onnx::FunctionProto FunctionToProto(const Function& function);
onnx::NodeProto NodeToProto(const Node& node);
onnx::AttributeProto AttributeToProto(const Attribute& attribute);
onnx::TypeProto TypeToProto(const Type& type);

}  // namespace onnx_run

#endif  // ONNX_RUN_PROTO_MODEL_PROTO_H_
