// The Gradient operator of ai.onnx.preview.training: graphs are differentiated, in reverse mode,
// before they become plans. Internal to runtime/.
//
// A Gradient node becomes the call of a function that is written here. Its body has the nodes
// between xs and y, and then, last first, for each of those that y's derivative passes through, a
// node
//
//   dx0, dx1, ... = Op (x0, x1, ..., y0, ..., dy0, ...)      of domain "gradient of <Op's domain>"
//
// which is a call of a function too: what the rule for Op writes (gradient_rules.h), or, for an
// operator that is a function itself, the derivative of its body, made in the same way. These are
// written when the plan builder meets the node and knows its attributes and types.
#ifndef ONNX_RUN_RUNTIME_GRADIENT_H_
#define ONNX_RUN_RUNTIME_GRADIENT_H_

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/gradient_rules.h"
#include "runtime/graph_order.h"
#include "runtime/registry.h"
#include "runtime/session.h"

namespace onnx_run {

// A call of the derivative of an operator of the domain that follows.
inline constexpr absl::string_view kGradientOf = "gradient of ";
// The operator itself, at the opset that this domain is imported with.
inline constexpr absl::string_view kReplayOf = "replay of ";

// Writes the functions of one plan builder, and keeps them.
class Gradients {
 public:
  using FunctionTable = absl::flat_hash_map<std::string, const Function*>;  // by FunctionKey
  // `functions` gets those that Gradient nodes become.
  Gradients(const OpRegistry& registry, const SessionOptions& options, FunctionTable& functions)
      : registry_(registry), options_(options), functions_(functions) {}

  // Whether there is a Gradient node to expand.
  bool Concerns(absl::Span<const Node> nodes, absl::Span<const OpsetImport> imports) const;
  // `nodes`, in the same order, each Gradient node replaced by the call of a function in the table.
  // `has_value`: whether a name is an input or initializer of this graph, or a value around it.
  absl::StatusOr<absl::Span<const Node>> Expand(
      absl::Span<const Node> nodes, absl::Span<const OpsetImport> imports,
      absl::FunctionRef<bool(absl::string_view)> has_value, FreeNames& free_names,
      const std::string& path);

  // Whether `function` was written here: then its nodes may be calls that FunctionOf knows.
  bool Wrote(const Function& function) const { return written_.contains(&function); }
  // The function that a node of such a function calls; nullptr when the node is an ordinary one.
  absl::StatusOr<const Function*> FunctionOf(const NodeInfo& info,
                                             absl::Span<const OpsetImport> imports,
                                             absl::Span<const Type> input_types,
                                             FreeNames& free_names);

 private:
  struct Region;
  struct Expansion;
  class Names;

  const GradientRules* Rules() const;
  const GradientRule* FindRule(absl::string_view domain, absl::string_view op_type) const;
  Function& NewFunction(const Node& node);
  // The function that a node stands for, or an error that names the node.
  absl::StatusOr<const Function*> ForwardFunction(const NodeInfo& info,
                                                  absl::Span<const OpsetImport> imports,
                                                  absl::Span<const Type> input_types,
                                                  FreeNames& free_names);
  absl::StatusOr<const Function*> BackwardFunction(const NodeInfo& info,
                                                   absl::Span<const OpsetImport> imports,
                                                   absl::Span<const Type> input_types,
                                                   FreeNames& free_names);
  // The same, written anew.
  absl::StatusOr<const Function*> WriteBackward(const NodeInfo& info,
                                                absl::Span<const OpsetImport> imports,
                                                absl::Span<const Type> input_types,
                                                FreeNames& free_names);
  absl::StatusOr<const Function*> HelperFunction(const NodeInfo& info);
  const Function* ReplayFunction(const NodeInfo& info, absl::Span<const OpsetImport> imports);
  absl::StatusOr<const Function*> DifferentiateFunction(const Function& function, const Node& node,
                                                        int input_count, int output_count,
                                                        FreeNames& free_names);
  absl::Status ExpandNode(int index, int depth, Expansion& expansion);
  // Appends what computes the gradients of `sources` from those of `seeds` (value, gradient) to
  // `body`. "" for a source that no seed depends on.
  absl::StatusOr<std::vector<std::string>> Differentiate(
      const Region& region, absl::Span<const std::string> sources,
      absl::Span<const std::pair<std::string, std::string>> seeds,
      absl::Span<const OpsetImport> imports, const std::string& path, Names& names,
      std::vector<Node>& body);
  // Unimplemented when the node has neither a rule nor a body that could be differentiated.
  absl::Status CheckDifferentiable(const Node& node, int index,
                                   absl::Span<const OpsetImport> imports, const std::string& path);

  const OpRegistry& registry_;
  const SessionOptions& options_;
  FunctionTable& functions_;
  std::deque<Function> own_;
  std::deque<std::vector<Node>> expanded_;
  absl::flat_hash_set<const Function*> written_;
  absl::flat_hash_map<std::string, const Function*> helpers_;
  absl::flat_hash_map<std::string, const Function*> backward_;
  std::vector<std::shared_ptr<const Function>> bodies_;
  int calls_ = 0;  // Gradient nodes expanded
};

}  // namespace onnx_run

#endif  // ONNX_RUN_RUNTIME_GRADIENT_H_
