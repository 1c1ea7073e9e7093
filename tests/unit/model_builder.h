// Small models for tests, in one expression:
//
//   const Model model = ModelBuilder(21)
//                           .Input("x", ElementType::kFloat, {4})
//                           .Node("Cast", {"x"}, {"y"}, {IntAttr("to", 7)})
//                           .Output("y", ElementType::kInt64, {4})
//                           .Build();
//
// Nothing is checked: tests of bad models are built with it too.
#ifndef ONNX_RUN_TESTS_UNIT_MODEL_BUILDER_H_
#define ONNX_RUN_TESTS_UNIT_MODEL_BUILDER_H_

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/model.h"
#include "runtime/tensor.h"
#include "runtime/value.h"

namespace onnx_run {

// --- Attributes --------------------------------------------------------------
Attribute IntAttr(std::string name, int64_t value);
Attribute FloatAttr(std::string name, float value);
Attribute StringAttr(std::string name, std::string value);
Attribute IntsAttr(std::string name, std::vector<int64_t> values);
Attribute FloatsAttr(std::string name, std::vector<float> values);
Attribute StringsAttr(std::string name, std::vector<std::string> values);
Attribute TensorAttr(std::string name, Tensor value);
Attribute SparseTensorAttr(std::string name, SparseTensor value);
Attribute TypeAttr(std::string name, Type value);
Attribute GraphAttr(std::string name, Graph value);
// Stands for the attribute `ref` of the enclosing function.
Attribute RefAttr(std::string name, std::string ref, AttributeKind kind);

// --- Tensors and types -------------------------------------------------------
// `T` is the type of the elements in memory (ONNX types of 16 bits or fewer: their bit patterns; of
// 4 or 2 bits: packed bytes). Aborts when the count does not agree with dims: a fault of the test.
template <typename T>
Tensor TensorOf(ElementType type, std::vector<int64_t> dims, std::initializer_list<T> elements) {
  return Tensor::Of<T>(type, dims, absl::Span<const T>(elements.begin(), elements.size())).value();
}
Tensor FloatTensor(std::vector<int64_t> dims, std::initializer_list<float> elements);
Tensor Int64Tensor(std::vector<int64_t> dims, std::initializer_list<int64_t> elements);
Tensor StringTensor(std::vector<int64_t> dims, std::vector<std::string> elements);

// A dimension of a declared shape: a number, a name, or unknown.
struct Dim : DeclaredDim {
  Dim(int64_t number) { value = number; }  // NOLINT: meant to convert
  Dim(int number) { value = number; }      // NOLINT
  Dim(const char* name) { param = name; }  // NOLINT
  Dim(std::nullopt_t) {}                   // NOLINT
};
Type TensorType(ElementType element);  // of unknown rank
Type TensorType(ElementType element, const std::vector<Dim>& shape);

// --- Graphs and models -------------------------------------------------------
template <typename Self>
class GraphBuilderBase {
 public:
  Self& Input(std::string name, Type type) {
    graph_.inputs.push_back({std::move(name), std::move(type)});
    return self();
  }
  Self& Input(std::string name, ElementType element, const std::vector<Dim>& shape) {
    return Input(std::move(name), TensorType(element, shape));
  }
  Self& Output(std::string name, Type type = {}) {
    graph_.outputs.push_back({std::move(name), std::move(type)});
    return self();
  }
  Self& Output(std::string name, ElementType element, const std::vector<Dim>& shape) {
    return Output(std::move(name), TensorType(element, shape));
  }
  Self& ValueInfo(std::string name, Type type) {
    graph_.value_infos.push_back({std::move(name), std::move(type)});
    return self();
  }
  Self& Initializer(std::string name, Value value) {
    graph_.initializers.push_back({std::move(name), std::move(value)});
    return self();
  }
  Self& Node(onnx_run::Node node) {
    graph_.nodes.push_back(std::move(node));
    return self();
  }
  Self& Node(std::string op_type, std::vector<std::string> inputs, std::vector<std::string> outputs,
             std::vector<Attribute> attributes = {}, std::string domain = "",
             std::string name = "") {
    onnx_run::Node node;
    node.name = std::move(name);
    node.domain = std::move(domain);
    node.op_type = std::move(op_type);
    node.inputs = std::move(inputs);
    node.outputs = std::move(outputs);
    node.attributes = std::move(attributes);
    return Node(std::move(node));
  }
  Self& Name(std::string name) {
    graph_.name = std::move(name);
    return self();
  }

 protected:
  Self& self() { return static_cast<Self&>(*this); }
  Graph graph_;
};

// A subgraph, for GraphAttr.
class GraphBuilder : public GraphBuilderBase<GraphBuilder> {
 public:
  GraphBuilder() { graph_.name = "body"; }
  Graph Build() { return graph_; }
};

// A model-local function.
class FunctionBuilder {
 public:
  FunctionBuilder(std::string domain, std::string name);
  FunctionBuilder& Inputs(std::vector<std::string> names);
  FunctionBuilder& Outputs(std::vector<std::string> names);
  FunctionBuilder& Attributes(std::vector<std::string> names);  // without a default
  FunctionBuilder& Default(Attribute attribute);                // with one
  FunctionBuilder& Opset(std::string domain, int64_t version);
  FunctionBuilder& Overload(std::string overload);
  FunctionBuilder& Node(std::string op_type, std::vector<std::string> inputs,
                        std::vector<std::string> outputs, std::vector<Attribute> attributes = {},
                        std::string domain = "", std::string name = "");
  Function Build() { return function_; }

 private:
  Function function_;
};

class ModelBuilder : public GraphBuilderBase<ModelBuilder> {
 public:
  // Imports `opset` of the standard's own operators; `ir_version` 0 picks one that fits the opset.
  explicit ModelBuilder(int64_t opset, int64_t ir_version = 0);
  ModelBuilder& IrVersion(int64_t version);
  // One more import; ClearOpsets first to replace the constructor's.
  ModelBuilder& Opset(std::string domain, int64_t version);
  ModelBuilder& ClearOpsets();
  ModelBuilder& Function(onnx_run::Function function);
  ModelBuilder& Metadata(std::string key, std::string value);
  Model Build();

 private:
  Model model_;
};

}  // namespace onnx_run

#endif  // ONNX_RUN_TESTS_UNIT_MODEL_BUILDER_H_
