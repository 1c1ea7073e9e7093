// One operator, run on tensors.
#ifndef ONNX_RUN_TESTS_UNIT_OPS_TEST_UTIL_H_
#define ONNX_RUN_TESTS_UNIT_OPS_TEST_UTIL_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "ops/all_ops.h"
#include "runtime/session.h"
#include "tests/unit/model_builder.h"

namespace onnx_run {

// The outputs of one node, whose inputs are the graph's (an absent one is an empty Value).
inline absl::StatusOr<std::vector<Value>> RunOp(const std::string& op_type, int64_t opset,
                                                std::vector<Value> inputs,
                                                std::vector<Attribute> attributes = {},
                                                int outputs = 1) {
  static const OpRegistry kRegistry(AllKernels(), &StandardSchemas());
  ModelBuilder builder(opset);
  std::vector<std::string> input_names;
  std::vector<std::string> output_names;
  std::vector<Value> given;
  for (size_t i = 0; i < inputs.size(); ++i) {
    input_names.push_back(inputs[i].absent() ? "" : "in" + std::to_string(i));
    if (inputs[i].absent()) continue;
    builder.Input(input_names.back(), inputs[i].type());
    given.push_back(std::move(inputs[i]));
  }
  for (int i = 0; i < outputs; ++i) {
    output_names.push_back("out" + std::to_string(i));
    builder.Output(output_names.back());
  }
  builder.Node(op_type, input_names, output_names, std::move(attributes));
  auto session = Session::Create(builder.Build(), kRegistry);
  if (!session.ok()) return session.status();
  std::vector<Value> results(static_cast<size_t>(outputs));
  const absl::Status status = (*session)->Run(absl::MakeConstSpan(given), absl::MakeSpan(results));
  if (!status.ok()) return status;
  return results;
}

// Elements of a tensor output, as T in memory.
template <typename T>
std::vector<T> ElementsOf(const absl::StatusOr<std::vector<Value>>& outputs, int i = 0) {
  if (!outputs.ok()) return {};
  const Tensor& tensor = (*outputs)[i].tensor();
  return {tensor.data_as<T>(), tensor.data_as<T>() + tensor.bytes() / sizeof(T)};
}

}  // namespace onnx_run

#endif  // ONNX_RUN_TESTS_UNIT_OPS_TEST_UTIL_H_
