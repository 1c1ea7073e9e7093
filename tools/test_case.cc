#include "tools/test_case.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/convert/convert.h"
#include "runtime/status_macros.h"

namespace onnx_run::tools {
namespace {

double Load(const Tensor& tensor, int64_t index) {
  return CodeToDouble(LoadCode(tensor.data(), tensor.type(), index), tensor.type());
}

// A graph input or initializer by name.
const Tensor* FindTensor(const Session& session, absl::Span<const Value> inputs,
                         const std::string& name) {
  for (size_t i = 0; i < session.inputs().size() && i < inputs.size(); ++i) {
    if (session.inputs()[i].name == name && inputs[i].is_tensor()) return &inputs[i].tensor();
  }
  for (const Initializer& initializer : session.model().graph.initializers) {
    if (initializer.name == name && initializer.value.is_tensor())
      return &initializer.value.tensor();
  }
  return nullptr;
}

std::optional<double> ScalarInput(const Session& session, absl::Span<const Value> inputs,
                                  const Node& node, size_t i) {
  if (i >= node.inputs.size() || node.inputs[i].empty()) return std::nullopt;
  const Tensor* tensor = FindTensor(session, inputs, node.inputs[i]);
  if (tensor == nullptr || tensor->size() < 1 || tensor->is_string()) return std::nullopt;
  return Load(*tensor, 0);
}

const Attribute* FindAttribute(const Node& node, absl::string_view name) {
  for (const Attribute& attribute : node.attributes) {
    if (attribute.name == name) return &attribute;
  }
  return nullptr;
}

// Dropout draws a mask in training mode only, and only for a ratio above zero.
bool DropoutIsRandom(const Session& session, absl::Span<const Value> inputs, const Node& node) {
  if (OpsetOf(session.model().opset_imports, "") < 12) {
    const Attribute* is_test = FindAttribute(node, "is_test");
    return OpsetOf(session.model().opset_imports, "") < 7 &&
           (is_test == nullptr || is_test->i == 0);
  }
  if (node.inputs.size() < 3 || node.inputs[2].empty()) return false;
  if (ScalarInput(session, inputs, node, 2).value_or(1) == 0) return false;
  const bool has_ratio = node.inputs.size() > 1 && !node.inputs[1].empty();
  return !has_ratio || ScalarInput(session, inputs, node, 1).value_or(1) != 0;
}

bool IsRandomOperator(const Node& node) {
  static constexpr absl::string_view kRandom[] = {"Bernoulli",     "Multinomial",
                                                  "RandomNormal",  "RandomNormalLike",
                                                  "RandomUniform", "RandomUniformLike"};
  return node.domain.empty() &&
         std::find(std::begin(kRandom), std::end(kRandom), node.op_type) != std::end(kRandom);
}

template <typename Allowed>
absl::Status CheckEach(const Value& value, const Allowed& allowed) {
  if (!value.is_tensor()) return absl::OkStatus();
  const Tensor& tensor = value.tensor();
  for (int64_t i = 0; i < tensor.size(); ++i) {
    const double x = Load(tensor, i);
    if (!allowed(x, i)) {
      return absl::InvalidArgumentError(
          absl::StrCat("element ", i, " is ", x, ", that this operator cannot give"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<Value>> ReadTestInputs(const Session& session, const TestDataSet& set) {
  const absl::Span<const Session::Input> inputs = session.inputs();
  std::vector<size_t> slots;  // of the set's files, in session.inputs()
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].has_default) slots.push_back(i);
  }
  if (set.inputs.size() != slots.size()) {
    // By position in the graph, as it lists them.
    slots.clear();
    for (const ValueInfo& info : session.model().graph.inputs) {
      for (size_t i = 0; i < inputs.size(); ++i) {
        if (inputs[i].name == info.name) slots.push_back(i);
      }
    }
  }
  if (set.inputs.size() > slots.size()) {
    return absl::InvalidArgumentError(absl::StrCat(set.path, " has ", set.inputs.size(),
                                                   " inputs, the model has ", slots.size()));
  }
  std::vector<Value> values(inputs.size());
  for (size_t i = 0; i < set.inputs.size(); ++i) {
    if (set.inputs[i].empty()) continue;
    const Session::Input& input = inputs[slots[i]];
    ASSIGN_OR_RETURN(values[slots[i]], ReadAnyValueFile(set.inputs[i], input.name, input.type));
  }
  return values;
}

absl::StatusOr<std::vector<OutputCheck>> CheckTestOutputs(const Session& session,
                                                          const TestDataSet& set,
                                                          absl::Span<const Value> inputs,
                                                          absl::Span<const Value> outputs,
                                                          CompareOptions options) {
  if (set.outputs.size() > outputs.size()) {
    return absl::InvalidArgumentError(absl::StrCat(set.path, " has ", set.outputs.size(),
                                                   " outputs, the model has ", outputs.size()));
  }
  if (HasRandomOutputs(session, inputs)) options.type_and_shape_only = true;
  std::vector<OutputCheck> checks;
  for (size_t i = 0; i < set.outputs.size(); ++i) {
    if (set.outputs[i].empty()) continue;
    const ValueInfo& info = session.outputs()[i];
    // A model may leave the type open; the value that came out says which message to expect.
    const Type type = info.type.kind == ValueKind::kAbsent ? outputs[i].type() : info.type;
    ASSIGN_OR_RETURN(const Value want, ReadAnyValueFile(set.outputs[i], info.name, type));
    checks.push_back({info.name, Compare(outputs[i], want, options)});
  }
  if (options.type_and_shape_only && !checks.empty()) {
    const absl::Status range = CheckRandomRange(session, inputs, outputs);
    if (!range.ok() && checks[0].result.equal) {
      checks[0].result.equal = false;
      checks[0].result.reason = "values";
      checks[0].result.message = std::string(range.message());
    }
  }
  return checks;
}

bool HasRandomOutputs(const Session& session, absl::Span<const Value> inputs) {
  bool random = false;
  ForEachNode(session.model(), [&](const Node& node, absl::Span<const OpsetImport>) {
    if (IsRandomOperator(node)) random = true;
    if (node.domain.empty() && node.op_type == "Dropout" &&
        DropoutIsRandom(session, inputs, node)) {
      random = true;
    }
  });
  return random;
}

absl::Status CheckRandomRange(const Session& session, absl::Span<const Value> inputs,
                              absl::Span<const Value> outputs) {
  const Graph& graph = session.model().graph;
  if (graph.nodes.size() != 1 || outputs.empty()) return absl::OkStatus();
  const Node& node = graph.nodes[0];
  if (node.op_type == "Bernoulli") {
    return CheckEach(outputs[0], [](double x, int64_t) { return x == 0 || x == 1; });
  }
  if (node.op_type == "RandomUniform" || node.op_type == "RandomUniformLike") {
    const Attribute* low = FindAttribute(node, "low");
    const Attribute* high = FindAttribute(node, "high");
    const double from = low != nullptr ? low->f : 0;
    const double to = high != nullptr ? high->f : 1;
    return CheckEach(outputs[0], [=](double x, int64_t) { return x >= from && x <= to; });
  }
  if (node.op_type == "Multinomial") {
    return CheckEach(outputs[0], [](double x, int64_t) { return x >= 0; });
  }
  if (node.op_type == "Dropout" && !node.inputs.empty()) {
    const Tensor* x = FindTensor(session, inputs, node.inputs[0]);
    const double ratio = ScalarInput(session, inputs, node, 1).value_or(0.5);
    if (x == nullptr || !outputs[0].is_tensor() || x->size() != outputs[0].tensor().size() ||
        ratio >= 1) {
      return absl::OkStatus();
    }
    return CheckEach(outputs[0], [&](double y, int64_t i) {
      const double kept = Load(*x, i) / (1 - ratio);
      return y == 0 || std::fabs(y - kept) <= 1e-7 + 1e-3 * std::fabs(kept);
    });
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Value>> LightInputs(const Session& session) {
  std::vector<Value> values(session.inputs().size());
  for (size_t i = 0; i < values.size(); ++i) {
    const Session::Input& input = session.inputs()[i];
    if (input.has_default) continue;
    if (input.type.kind != ValueKind::kTensor || input.type.element != ElementType::kFloat ||
        !input.type.shape.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("input ", input.name, " is not a float tensor"));
    }
    Dims dims;
    for (const DeclaredDim& dim : *input.type.shape) dims.push_back(dim.value.value_or(1));
    ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(ElementType::kFloat, dims));
    const auto n = static_cast<double>(tensor.size());
    for (int64_t k = 0; k < tensor.size(); ++k) {
      tensor.mutable_data_as<float>()[k] = static_cast<float>(static_cast<double>(k) / n);
    }
    values[i] = Value(std::move(tensor));
  }
  return values;
}

std::string FirstDifference(absl::Span<const OutputCheck> checks) {
  for (const OutputCheck& check : checks) {
    if (!check.result.equal)
      return absl::StrCat("output \"", check.name, "\": ", check.result.message);
  }
  return "";
}

}  // namespace onnx_run::tools
