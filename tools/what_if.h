// onnx-run --what-if TYPE[,TYPE...]: what would happen to the floating-point values of a model if
// they were stored in another type. The model runs once, as it is; each input, parameter and
// intermediate is judged on its own.
#ifndef ONNX_RUN_TOOLS_WHAT_IF_H_
#define ONNX_RUN_TOOLS_WHAT_IF_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/session.h"
#include "tools/audit.h"

namespace onnx_run::tools {

class WhatIf : public Observer {
 public:
  // Errors: InvalidArgument (a type that is not a float type).
  static absl::StatusOr<std::vector<ElementType>> ParseTypes(const std::vector<std::string>& names);
  explicit WhatIf(std::vector<ElementType> types) : types_(std::move(types)) {}

  // Parameters and inputs; each is charged to the nodes that read it.
  void AddParameters(const Model& model);
  void AddInput(const std::string& name, const Value& value);
  void OnNodeEnd(const NodeInfo& node, absl::Span<const Value* const> inputs,
                 absl::Span<Value* const> outputs, const absl::Status& status) override;

  // For each type: the values that suffer, by damage, and the nodes to keep in full precision in
  // the form that float16 converters take (node_block_list, op_block_list).
  std::string Text(const Model& model, bool all_values) const;
  std::string Json(const Model& model) const;

 private:
  struct Row {
    std::string name;   // of the value
    std::string where;  // node title, "parameter", "input"
    std::string node;   // name of the node that makes it; "" of parameters and inputs
    std::string op;
    ElementType type = ElementType::kUndefined;
    std::vector<AuditCounts> counts;  // one for each of types_
  };
  // Nodes that make or read a value that would break in types_[t].
  std::vector<std::string> NodesToKeep(const Model& model, size_t t, bool* unnamed) const;
  void Judge(Row& row, const Tensor& tensor) const;
  Row* Add(const std::string& name, const std::string& where, const Value& value);
  std::vector<const Row*> Sorted(size_t t) const;

  std::vector<ElementType> types_;
  std::vector<Row> rows_;
  std::map<std::string, size_t> by_name_;
};

}  // namespace onnx_run::tools

#endif  // ONNX_RUN_TOOLS_WHAT_IF_H_
