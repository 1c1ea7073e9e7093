// How operators are differentiated: rules that write small functions over the standard's operators.
//
//   // y = tanh(x): dx = dy (1 - y^2)
//   absl::Status TanhRule(RuleWriter& w) {
//     w.Set(0, w.Op("Mul", {w.dy(0), w.Op("Sub", {w.Like(1, w.y(0)), w.Op("Mul", {w.y(0),
//     w.y(0)})})})); return absl::OkStatus();
//   }
//
// What a rule writes is compiled and run as any function is, by the same kernels, in the types of
// the model. Ranks and dims are not known when it is written: it asks for them with Shape.
#ifndef ONNX_RUN_RUNTIME_GRADIENT_RULES_H_
#define ONNX_RUN_RUNTIME_GRADIENT_RULES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/kernel.h"
#include "runtime/model.h"

namespace onnx_run {

// Domain of the functions that rules share (GradientRules::helpers).
inline constexpr absl::string_view kGradientHelpers = "onnx_run.gradient";
// The opset of ai.onnx that rules are written in.
inline constexpr int64_t kGradientRuleOpset = 21;

// Writes the function that computes the gradients of one node's inputs from its inputs x, its
// outputs y and their gradients dy; or a helper, which computes its outputs from its inputs.
class RuleWriter {
 public:
  // `function` gets the nodes. `wants`: by input, or by output of a helper, whether somebody asks.
  RuleWriter(const NodeInfo& node, std::vector<bool> wants, std::vector<bool> has_gradient,
             Function* function)
      : node_(node),
        wants_(std::move(wants)),
        has_gradient_(std::move(has_gradient)),
        function_(*function),
        results_(wants_.size()) {}

  // The node that is differentiated, its attributes resolved.
  const NodeInfo& node() const { return node_; }
  int input_count() const { return node_.input_count(); }
  int output_count() const { return node_.output_count(); }
  // Names of values; "" for those that the node does not have, and for gradients that are zero.
  std::string x(int i) const;
  std::string y(int i) const;
  std::string dy(int i) const;
  bool Wants(int i) const { return i < static_cast<int>(wants_.size()) && wants_[i]; }
  // The gradient of input i, which has its shape; that of an input never set is zero.
  void Set(int i, std::string value) { results_[i] = std::move(value); }
  const std::vector<std::string>& results() const { return results_; }

  // A node of ai.onnx, opset kGradientRuleOpset; its first output.
  std::string Op(absl::string_view op_type, std::vector<std::string> inputs,
                 std::vector<Attribute> attributes = {});
  // The same with many outputs.
  std::vector<std::string> Ops(absl::string_view op_type, std::vector<std::string> inputs,
                               int outputs, std::vector<Attribute> attributes = {});
  std::string Helper(absl::string_view name, std::vector<std::string> inputs);
  // The differentiated node itself, its version and attributes, with other inputs: output 0.
  std::string Replay(std::vector<std::string> inputs);
  // Constants: int64 in one dimension, and a scalar of the type of `like`.
  std::string Ints(std::vector<int64_t> values);
  std::string Like(double value, const std::string& like);

  static Attribute IntAttribute(absl::string_view name, int64_t value);
  static Attribute IntsAttribute(absl::string_view name, std::vector<int64_t> values);
  static Attribute FloatAttribute(absl::string_view name, float value);
  static Attribute StringAttribute(absl::string_view name, absl::string_view value);

  // Unimplemented: there is no rule for `what`.
  absl::Status NoRule(absl::string_view what) const;

 private:
  std::vector<std::string> Add(Node node, int outputs);

  const NodeInfo& node_;
  const std::vector<bool> wants_;
  const std::vector<bool> has_gradient_;  // by output
  Function& function_;
  std::vector<std::string> results_;
  int names_ = 0;
};

using RuleFn = absl::Status (*)(RuleWriter&);

struct GradientRule {
  absl::string_view domain;
  absl::string_view op_type;
  // Bit i: the outputs depend on input i in a way that has a derivative; bit 31 stands for all
  // inputs from 31 on. 0: the derivative is zero wherever there is one.
  uint32_t inputs;
  RuleFn write;  // nullptr when inputs is 0

  bool Differentiates(int input) const { return (inputs >> (input < 31 ? input : 31) & 1U) != 0; }
};

struct GradientHelper {
  absl::string_view name;
  RuleFn write;
};

// What the differentiation itself needs of the helpers: "Sum" of any number of gradients,
// "ZerosLike" and "OnesLike".
struct GradientRules {
  absl::Span<const GradientRule> rules;  // serve all versions of their operator
  absl::Span<const GradientHelper> helpers;
};

}  // namespace onnx_run

#endif  // ONNX_RUN_RUNTIME_GRADIENT_RULES_H_
