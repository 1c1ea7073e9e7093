// What watches a run: values by name, a dump of all of them, a profile.
#ifndef ONNX_RUN_TOOLS_OBSERVERS_H_
#define ONNX_RUN_TOOLS_OBSERVERS_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/session.h"
#include "runtime/value.h"
#include "tools/files.h"

namespace onnx_run::tools {

// The graph a node is in, below the main graph: "" in it, `If "b1" then_branch` or the like in
// others.
std::string SubgraphPath(const NodeInfo& node);
// The value's name, led by the path of its graph: unique in a model.
std::string QualifiedValueName(const NodeInfo& node, absl::string_view name);
// "Cast" or "ai.onnx.ml.Scaler", followed by the node's name in quotes when it has one.
std::string NodeTitle(const NodeInfo& node);
std::string OperatorName(const NodeInfo& node);

// Passes every call on.
class ObserverList : public Observer {
 public:
  void Add(Observer* observer) { observers_.push_back(observer); }
  bool empty() const { return observers_.empty(); }
  void OnNodeStart(const NodeInfo& node, absl::Span<const Value* const> inputs) override {
    for (Observer* observer : observers_) observer->OnNodeStart(node, inputs);
  }
  void OnNodeEnd(const NodeInfo& node, absl::Span<const Value* const> inputs,
                 absl::Span<Value* const> outputs, const absl::Status& status) override {
    for (Observer* observer : observers_) observer->OnNodeEnd(node, inputs, outputs, status);
  }

 private:
  std::vector<Observer*> observers_;
};

// Keeps values: all of them, or those of these names.
class ValueCollector : public Observer {
 public:
  explicit ValueCollector(absl::flat_hash_set<std::string> names) : names_(std::move(names)) {}
  ValueCollector() : all_(true) {}
  void OnNodeEnd(const NodeInfo& node, absl::Span<const Value* const> inputs,
                 absl::Span<Value* const> outputs, const absl::Status& status) override;
  // In the order of the run; a value of a loop's body once for each iteration.
  const std::vector<std::pair<std::string, Value>>& values() const { return values_; }

 private:
  bool all_ = false;
  absl::flat_hash_set<std::string> names_;
  std::vector<std::pair<std::string, Value>> values_;
};

// The names of all values that nodes of the model make; for ValueCollector and its errors.
std::vector<std::string> NodeOutputNames(const Model& model);

struct TensorStatistics {
  int64_t elements = 0;
  int64_t nans = 0;
  int64_t infinities = 0;
  int64_t zeros = 0;
  double min = 0, max = 0;  // of the finite elements
  bool has_finite = false;
};
// Of numbers; strings and complex numbers only have a count.
TensorStatistics Statistics(const Tensor& tensor);

// Writes every value a node makes as NNNN_name.pb, and values.tsv, an index with min, max and NaN
// count.
class ValueDump : public Observer {
 public:
  static absl::StatusOr<std::unique_ptr<ValueDump>> Create(const std::string& directory);
  void OnNodeEnd(const NodeInfo& node, absl::Span<const Value* const> inputs,
                 absl::Span<Value* const> outputs, const absl::Status& status) override;
  // The files appear. Errors include those of writing, of any value.
  absl::Status Commit();
  // The index as a table.
  std::string TableText() const;

 private:
  ValueDump() = default;
  struct Row {
    std::string file, name, node, type;
    TensorStatistics statistics;
    bool has_statistics = false;
  };
  std::unique_ptr<StagedDirectory> directory_;
  std::vector<Row> rows_;
  absl::Status status_;
};

// Times of nodes; those inside of a node (of subgraphs and functions) count for themselves.
class Profiler : public Observer {
 public:
  Profiler() : start_(Clock::now()) {}
  void OnNodeStart(const NodeInfo& node, absl::Span<const Value* const> inputs) override;
  void OnNodeEnd(const NodeInfo& node, absl::Span<const Value* const> inputs,
                 absl::Span<Value* const> outputs, const absl::Status& status) override;
  // For chrome://tracing and Perfetto.
  std::string ChromeTrace() const;
  // Operators by time, and the slowest nodes.
  std::string TableText() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Open {
    double start_us = 0;
    double children_us = 0;
  };
  struct Event {
    std::string op, title, path, inputs, outputs;
    double start_us = 0, duration_us = 0, self_us = 0;
    int64_t bytes = 0;
  };
  double Now() const {
    return std::chrono::duration<double, std::micro>(Clock::now() - start_).count();
  }
  Clock::time_point start_;
  std::vector<Open> open_;
  std::vector<Event> events_;
};

}  // namespace onnx_run::tools

#endif  // ONNX_RUN_TOOLS_OBSERVERS_H_
