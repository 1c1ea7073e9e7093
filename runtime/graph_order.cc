#include "runtime/graph_order.h"

#include <algorithm>
#include <bit>
#include <queue>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace onnx_run {

std::string FunctionKey(absl::string_view domain, absl::string_view name,
                        absl::string_view overload) {
  return absl::StrCat(domain, absl::string_view("\0", 1), name, absl::string_view("\0", 1),
                      overload);
}

std::string FunctionLabel(const Function& function) {
  return absl::StrCat(function.domain.empty() ? "ai.onnx" : function.domain, ".", function.name,
                      function.overload.empty() ? "" : ":", function.overload);
}

void AppendAttributeKey(const Attribute& attribute, std::string* key) {
  absl::StrAppend(key, attribute.name, "=", static_cast<int>(attribute.kind), ":", attribute.i, ",",
                  absl::Hex(std::bit_cast<uint32_t>(attribute.f)), ",", attribute.s.size(), ":",
                  attribute.s, ",", absl::StrJoin(attribute.ints, " "), ",");
  for (float f : attribute.floats) absl::StrAppend(key, absl::Hex(std::bit_cast<uint32_t>(f)), " ");
  for (const std::string& s : attribute.strings) absl::StrAppend(key, s.size(), ":", s, " ");
  if (!attribute.values.empty() || !attribute.graphs.empty() || !attribute.types.empty()) {
    absl::StrAppend(key, absl::Hex(reinterpret_cast<uintptr_t>(&attribute)));
  }
  absl::StrAppend(key, ";");
}

std::string NodeLabel(const Node& node, int index) {
  std::string text = absl::StrCat("node #", index, " ", node.op_type);
  if (!node.name.empty()) absl::StrAppend(&text, " \"", node.name, "\"");
  return text;
}

std::string SubgraphPath(absl::string_view path, const Node& node, absl::string_view attribute) {
  return absl::StrCat(path, "/", node.op_type,
                      node.name.empty() ? "" : absl::StrCat(" \"", node.name, "\""), " ",
                      attribute);
}

namespace {

// Whoever reads `name`, which nothing gives: this node, or something in its subgraphs.
std::string DanglingReader(const Node& node, int index, absl::string_view name,
                           const std::string& path, FreeNames& free_names) {
  if (std::find(node.inputs.begin(), node.inputs.end(), name) != node.inputs.end()) {
    return absl::StrCat(path, ": ", NodeLabel(node, index), " reads \"", name, "\"");
  }
  for (const Attribute& attribute : node.attributes) {
    for (const auto& graph : attribute.graphs) {
      const auto& names = free_names.Of(*graph);
      if (std::find(names.begin(), names.end(), name) == names.end()) continue;
      const std::string inner_path = SubgraphPath(path, node, attribute.name);
      for (size_t i = 0; i < graph->nodes.size(); ++i) {
        std::string reader =
            DanglingReader(graph->nodes[i], static_cast<int>(i), name, inner_path, free_names);
        if (!reader.empty()) return reader;
      }
      return absl::StrCat(inner_path, ": output \"", name, "\" is asked for");
    }
  }
  return "";
}

}  // namespace

const std::vector<absl::string_view>& FreeNames::Of(const Graph& graph) {
  const auto known = known_.find(&graph);
  if (known != known_.end()) return known->second;
  absl::flat_hash_set<absl::string_view> own;
  for (const ValueInfo& input : graph.inputs) own.insert(input.name);
  for (const Initializer& initializer : graph.initializers) own.insert(initializer.name);
  for (const Node& node : graph.nodes) own.insert(node.outputs.begin(), node.outputs.end());
  std::vector<absl::string_view> names;
  absl::flat_hash_set<absl::string_view> seen;
  const auto add = [&](absl::string_view name) {
    if (!name.empty() && !own.contains(name) && seen.insert(name).second) names.push_back(name);
  };
  for (const Node& node : graph.nodes) {
    for (const std::string& input : node.inputs) add(input);
    for (const Attribute& attribute : node.attributes) {
      for (const auto& inner : attribute.graphs) {
        for (absl::string_view name : Of(*inner)) add(name);
      }
    }
  }
  for (const ValueInfo& output : graph.outputs) add(output.name);
  return known_[&graph] = std::move(names);
}

bool NestedDeeperThan(absl::Span<const Node> nodes, int limit) {
  // Level by level; a graph that stands in many places is looked at once in each level.
  absl::flat_hash_set<const Graph*> level;
  const auto descend = [&level](absl::Span<const Node> from) {
    for (const Node& node : from) {
      for (const Attribute& attribute : node.attributes) {
        for (const auto& graph : attribute.graphs) level.insert(graph.get());
      }
    }
  };
  descend(nodes);
  for (int depth = 1; !level.empty(); ++depth) {
    if (depth > limit) return true;
    for (const Graph* graph : std::exchange(level, {})) descend(graph->nodes);
  }
  return false;
}

absl::StatusOr<NodeOrder> OrderNodes(absl::Span<const Node> nodes,
                                     absl::FunctionRef<bool(absl::string_view)> has_value,
                                     absl::FunctionRef<bool(absl::string_view)> has_outer,
                                     FreeNames& free_names, const std::string& path) {
  const int count = static_cast<int>(nodes.size());
  absl::flat_hash_map<absl::string_view, int> writer;
  writer.reserve(nodes.size());
  for (int i = 0; i < count; ++i) {
    for (const std::string& output : nodes[i].outputs) {
      if (output.empty()) continue;
      const auto [place, fresh] = writer.emplace(output, i);
      if (!fresh) {
        return absl::InvalidArgumentError(absl::StrCat(
            path, ": value \"", output, "\" is written twice, by ",
            NodeLabel(nodes[place->second], place->second), " and by ", NodeLabel(nodes[i], i)));
      }
      if (has_value(output)) {
        return absl::InvalidArgumentError(absl::StrCat(path, ": value \"", output,
                                                       "\" is written by ", NodeLabel(nodes[i], i),
                                                       " and is an input or initializer too"));
      }
    }
  }
  // Edges, and names that exist nowhere.
  std::vector<std::vector<int>> readers(nodes.size());
  std::vector<int> waiting(nodes.size(), 0);
  NodeOrder result;
  absl::Status dangling;
  const auto read = [&](int i, absl::string_view name) {
    if (name.empty()) return;
    const auto found = writer.find(name);
    if (found != writer.end()) {
      readers[found->second].push_back(i);
      ++waiting[i];
      if (found->second >= i) result.was_sorted = false;
    } else if (dangling.ok() && !has_value(name) && !has_outer(name)) {
      dangling = absl::InvalidArgumentError(
          absl::StrCat(DanglingReader(nodes[i], i, name, path, free_names),
                       ", which no input, initializer or node gives"));
    }
  };
  for (int i = 0; i < count; ++i) {
    for (const std::string& input : nodes[i].inputs) read(i, input);
    for (const Attribute& attribute : nodes[i].attributes) {
      for (const auto& graph : attribute.graphs) {
        for (absl::string_view name : free_names.Of(*graph)) read(i, name);
      }
    }
  }
  if (!dangling.ok()) return dangling;
  result.order.reserve(nodes.size());
  if (result.was_sorted) {
    for (int i = 0; i < count; ++i) result.order.push_back(i);
    return result;
  }
  // Kahn's algorithm; among the ready nodes the first listed goes first.
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int i = 0; i < count; ++i) {
    if (waiting[i] == 0) ready.push(i);
  }
  while (!ready.empty()) {
    const int i = ready.top();
    ready.pop();
    result.order.push_back(i);
    for (int reader : readers[i]) {
      if (--waiting[reader] == 0) ready.push(reader);
    }
  }
  if (result.order.size() == nodes.size()) return result;
  // Walk backwards from a node that still waits until one comes again: that is a cycle.
  std::vector<int> next(nodes.size(), -1);  // some writer that node i waits for
  for (int i = 0; i < count; ++i) {
    if (waiting[i] == 0) continue;
    for (int reader : readers[i]) {
      if (waiting[reader] > 0) next[reader] = i;
    }
  }
  int at = static_cast<int>(
      std::find_if(waiting.begin(), waiting.end(), [](int w) { return w > 0; }) - waiting.begin());
  std::vector<bool> seen(nodes.size(), false);
  while (!seen[at]) {
    seen[at] = true;
    at = next[at];
  }
  std::string chain = NodeLabel(nodes[at], at);
  for (int i = next[at]; i != at; i = next[i])
    absl::StrAppend(&chain, " <- ", NodeLabel(nodes[i], i));
  return absl::InvalidArgumentError(absl::StrCat(
      path, ": nodes read from each other in a cycle: ", chain, " <- ", NodeLabel(nodes[at], at)));
}

}  // namespace onnx_run
