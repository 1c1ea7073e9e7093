// Order of a graph's nodes, and the faults of its names. Internal to runtime/.
#ifndef ONNX_RUN_RUNTIME_GRAPH_ORDER_H_
#define ONNX_RUN_RUNTIME_GRAPH_ORDER_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/model.h"

namespace onnx_run {

// The names that a graph reads from around itself, remembered by graph so that nesting costs
// nothing twice.
class FreeNames {
 public:
  const std::vector<absl::string_view>& Of(const Graph& graph);

 private:
  absl::flat_hash_map<const Graph*, std::vector<absl::string_view>> known_;
};

// Whether subgraphs of `nodes` are nested in each other more than `limit` deep. Itself without
// recursion: asked first, so that what is recursive after it cannot overflow the stack.
bool NestedDeeperThan(absl::Span<const Node> nodes, int limit);

struct NodeOrder {
  std::vector<int> order;  // indices of nodes, each after those it reads from
  bool was_sorted = true;
};

// `has_value`: whether a name is an input or initializer of this graph, `has_outer`: a value around
// it. Errors (InvalidArgument, each told apart): a value written twice, a name that exists nowhere,
// a cycle.
absl::StatusOr<NodeOrder> OrderNodes(absl::Span<const Node> nodes,
                                     absl::FunctionRef<bool(absl::string_view)> has_value,
                                     absl::FunctionRef<bool(absl::string_view)> has_outer,
                                     FreeNames& free_names, const std::string& path);

// The key of a function in a table of them.
std::string FunctionKey(absl::string_view domain, absl::string_view name,
                        absl::string_view overload);
// Tells attribute values apart. Tensors and graphs by address: equal ones elsewhere only cost a
// body more.
void AppendAttributeKey(const Attribute& attribute, std::string* key);
// `ai.onnx.Gelu`, `my.domain.F:overload`.
std::string FunctionLabel(const Function& function);
// `node #7 Cast "c"`.
std::string NodeLabel(const Node& node, int index);
// `main graph/If "choose" then_branch`.
std::string SubgraphPath(absl::string_view path, const Node& node, absl::string_view attribute);

}  // namespace onnx_run

#endif  // ONNX_RUN_RUNTIME_GRAPH_ORDER_H_
