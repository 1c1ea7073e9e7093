// A model as data: what a ModelProto says, in this library's own terms, with tensors already read.
//
// proto/ makes it from bytes; an embedder can build one by hand. runtime/plan.h makes it
// executable. Field names are those of onnx-ml.proto.
#ifndef ONNX_RUN_RUNTIME_MODEL_H_
#define ONNX_RUN_RUNTIME_MODEL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "runtime/tensor.h"
#include "runtime/value.h"

namespace onnx_run {

struct Graph;

// "" and "ai.onnx" are one domain, and "" is how it is kept.
inline absl::string_view CanonicalDomain(absl::string_view domain) {
  return domain == "ai.onnx" ? absl::string_view() : domain;
}

// The numbers are those of AttributeProto.AttributeType.
enum class AttributeKind : uint8_t {
  kUndefined = 0,
  kFloat = 1,
  kInt = 2,
  kString = 3,
  kTensor = 4,
  kGraph = 5,
  kFloats = 6,
  kInts = 7,
  kStrings = 8,
  kTensors = 9,
  kGraphs = 10,
  kSparseTensor = 11,
  kSparseTensors = 12,
  kTypeProto = 13,
  kTypeProtos = 14,
};
// "INT", "FLOATS", ... ; "UNDEFINED" when out of range.
absl::string_view AttributeKindName(AttributeKind kind);

struct Attribute {
  std::string name;
  std::string
      ref_attr_name;  // of the enclosing function, when not empty; the value then comes from there
  AttributeKind kind = AttributeKind::kUndefined;
  int64_t i = 0;
  float f = 0;
  std::string s;
  std::vector<int64_t> ints;
  std::vector<float> floats;
  std::vector<std::string> strings;
  std::vector<Value> values;  // kTensor (one), kTensors, kSparseTensor (one), kSparseTensors
  std::vector<std::shared_ptr<const Graph>> graphs;  // kGraph (one), kGraphs
  std::vector<Type> types;                           // kTypeProto (one), kTypeProtos
};

struct Node {
  std::string name;
  std::string domain;  // "" for the standard's own; "ai.onnx" means the same
  std::string op_type;
  std::string overload;
  std::vector<std::string> inputs;   // "" for an absent one
  std::vector<std::string> outputs;  // "" for an unwanted one
  std::vector<Attribute> attributes;
};

struct ValueInfo {
  std::string name;
  Type type;
};

struct Initializer {
  std::string name;
  Value value;  // tensor or sparse tensor (sparse ones are made dense when read)
};

struct Graph {
  std::string name;
  std::vector<ValueInfo> inputs;
  std::vector<ValueInfo> outputs;
  std::vector<ValueInfo> value_infos;
  std::vector<Initializer> initializers;
  std::vector<Node> nodes;
};

struct OpsetImport {
  std::string domain;  // as of a node
  int64_t version = 0;
};

struct Function {
  std::string domain;
  std::string name;
  std::string overload;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<std::string> attributes;        // names without a default
  std::vector<Attribute> attribute_defaults;  // attribute_proto (IR 9)
  std::vector<OpsetImport> opset_imports;
  std::vector<Node> nodes;
  std::vector<ValueInfo> value_infos;
};

struct Model {
  int64_t ir_version = 0;
  std::vector<OpsetImport> opset_imports;
  std::string producer_name;
  std::string producer_version;
  std::string domain;
  int64_t model_version = 0;
  std::string doc_string;
  std::vector<std::pair<std::string, std::string>> metadata;
  Graph graph;
  std::vector<Function> functions;
};

}  // namespace onnx_run

#endif  // ONNX_RUN_RUNTIME_MODEL_H_
