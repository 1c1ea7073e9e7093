#include "tools/observers.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "proto/values.h"
#include "runtime/convert/convert.h"
#include "runtime/status_macros.h"
#include "tools/engine.h"
#include "tools/report.h"

namespace onnx_run::tools {
namespace {

constexpr absl::string_view kMainGraph = "main graph";

// "float[2,3], int64[]"
template <typename Values>
std::string TypesText(const Values& values) {
  std::string text;
  for (const Value* value : values) {
    absl::StrAppend(&text, text.empty() ? "" : ", ",
                    value == nullptr || value->absent() ? "-"
                    : value->is_tensor()                ? TypeAndDims(value->tensor())
                                                        : Describe(*value));
  }
  return text;
}

template <typename Values>
int64_t TensorBytes(const Values& values) {
  int64_t bytes = 0;
  for (const Value* value : values) {
    if (value != nullptr && value->is_tensor()) bytes += value->tensor().bytes();
  }
  return bytes;
}

// Calls fn(name, value) for every output that exists.
template <typename Fn>
void ForEachOutput(const NodeInfo& node, absl::Span<Value* const> outputs, const Fn& fn) {
  const std::vector<std::string>& names = node.node().outputs;
  for (size_t i = 0; i < outputs.size() && i < names.size(); ++i) {
    if (outputs[i] == nullptr || outputs[i]->absent() || names[i].empty()) continue;
    fn(names[i], *outputs[i]);
  }
}

}  // namespace

std::string SubgraphPath(const NodeInfo& node) {
  absl::string_view path = node.graph_path();
  if (absl::ConsumePrefix(&path, kMainGraph)) absl::ConsumePrefix(&path, "/");
  return std::string(path);
}

std::string QualifiedValueName(const NodeInfo& node, absl::string_view name) {
  const std::string path = SubgraphPath(node);
  return path.empty() ? std::string(name) : absl::StrCat(path, "/", name);
}

std::string OperatorName(const NodeInfo& node) {
  return node.domain().empty() ? node.op_type() : absl::StrCat(node.domain(), ".", node.op_type());
}

std::string NodeTitle(const NodeInfo& node) {
  return node.name().empty() ? OperatorName(node)
                             : absl::StrCat(OperatorName(node), " \"", node.name(), "\"");
}

void ValueCollector::OnNodeEnd(const NodeInfo& node, absl::Span<const Value* const> /*inputs*/,
                               absl::Span<Value* const> outputs, const absl::Status& status) {
  if (!status.ok()) return;
  ForEachOutput(node, outputs, [&](const std::string& name, const Value& value) {
    std::string qualified = QualifiedValueName(node, name);
    if (all_ || names_.contains(qualified)) values_.emplace_back(std::move(qualified), value);
  });
}

std::vector<std::string> NodeOutputNames(const Model& model) {
  std::vector<std::string> names;
  for (const Node& node : model.graph.nodes) {
    for (const std::string& output : node.outputs) {
      if (!output.empty()) names.push_back(output);
    }
  }
  return names;
}

TensorStatistics Statistics(const Tensor& tensor) {
  TensorStatistics result;
  result.elements = tensor.size();
  const ElementKind kind = KindOf(tensor.type());
  if (kind == ElementKind::kString || kind == ElementKind::kComplex) return result;
  for (int64_t i = 0; i < tensor.size(); ++i) {
    const double value = CodeToDouble(LoadCode(tensor.data(), tensor.type(), i), tensor.type());
    if (std::isnan(value)) {
      ++result.nans;
      continue;
    }
    if (std::isinf(value)) {
      ++result.infinities;
      continue;
    }
    if (value == 0) ++result.zeros;
    result.min = result.has_finite ? std::min(result.min, value) : value;
    result.max = result.has_finite ? std::max(result.max, value) : value;
    result.has_finite = true;
  }
  return result;
}

absl::StatusOr<std::unique_ptr<ValueDump>> ValueDump::Create(const std::string& directory) {
  std::unique_ptr<ValueDump> dump(new ValueDump);
  ASSIGN_OR_RETURN(dump->directory_, StagedDirectory::Create(directory));
  return dump;
}

void ValueDump::OnNodeEnd(const NodeInfo& node, absl::Span<const Value* const> /*inputs*/,
                          absl::Span<Value* const> outputs, const absl::Status& status) {
  if (!status.ok() || !status_.ok()) return;
  ForEachOutput(node, outputs, [&](const std::string& name, const Value& value) {
    Row row;
    row.name = QualifiedValueName(node, name);
    row.node = NodeTitle(node);
    row.file = absl::StrFormat("%04d_%s.pb", rows_.size(), SafeFileName(row.name));
    row.type = value.is_tensor() ? TypeAndDims(value.tensor()) : Describe(value);
    if (value.is_tensor()) {
      row.statistics = Statistics(value.tensor());
      row.has_statistics = true;
    }
    const absl::Status written = WriteValueFile(directory_->PathOf(row.file), row.name, value);
    if (!written.ok()) status_.Update(Annotate(written, row.name));
    rows_.push_back(std::move(row));
  });
}

std::string ValueDump::TableText() const {
  using Align = Table::Align;
  Table table({"value", "node", "type", "min", "max", "NaN", "inf"},
              {Align::kLeft, Align::kLeft, Align::kLeft, Align::kRight, Align::kRight,
               Align::kRight, Align::kRight});
  for (const Row& row : rows_) {
    const TensorStatistics& s = row.statistics;
    table.Row({row.name, row.node, row.type, s.has_finite ? ShortDouble(s.min, 6) : "-",
               s.has_finite ? ShortDouble(s.max, 6) : "-",
               row.has_statistics ? absl::StrCat(s.nans) : "-",
               row.has_statistics ? absl::StrCat(s.infinities) : "-"});
  }
  return table.ToString();
}

absl::Status ValueDump::Commit() {
  RETURN_IF_ERROR(status_);
  std::string index = "file\tvalue\tnode\ttype\telements\tmin\tmax\tnan\tinf\tzero\n";
  for (const Row& row : rows_) {
    const TensorStatistics& s = row.statistics;
    absl::StrAppend(&index, row.file, "\t", row.name, "\t", row.node, "\t", row.type, "\t");
    if (!row.has_statistics) {
      index += "\t\t\t\t\t\n";
      continue;
    }
    absl::StrAppend(&index, s.elements, "\t", s.has_finite ? ShortDouble(s.min, 17) : "", "\t",
                    s.has_finite ? ShortDouble(s.max, 17) : "", "\t", s.nans, "\t", s.infinities,
                    "\t", s.zeros, "\n");
  }
  RETURN_IF_ERROR(WriteFileAtomically(directory_->PathOf("values.tsv"), index));
  return directory_->Commit();
}

void Profiler::OnNodeStart(const NodeInfo& /*node*/, absl::Span<const Value* const> /*inputs*/) {
  open_.push_back({.start_us = Now()});
}

void Profiler::OnNodeEnd(const NodeInfo& node, absl::Span<const Value* const> inputs,
                         absl::Span<Value* const> outputs, const absl::Status& /*status*/) {
  const double end = Now();
  if (open_.empty()) return;
  const Open open = open_.back();
  open_.pop_back();
  Event event;
  event.op = OperatorName(node);
  event.title = NodeTitle(node);
  event.path = SubgraphPath(node);
  event.inputs = TypesText(inputs);
  event.outputs = TypesText(outputs);
  event.bytes = TensorBytes(inputs) + TensorBytes(outputs);
  event.start_us = open.start_us;
  event.duration_us = end - open.start_us;
  event.self_us = event.duration_us - open.children_us;
  if (!open_.empty()) open_.back().children_us += event.duration_us;
  events_.push_back(std::move(event));
}

std::string Profiler::ChromeTrace() const {
  JsonWriter json;
  json.BeginObject().Key("displayTimeUnit").String("ns").Key("traceEvents").BeginArray();
  for (const Event& event : events_) {
    json.BeginObject();
    json.Key("name").String(event.title).Key("cat").String("node").Key("ph").String("X");
    json.Key("ts").Double(event.start_us).Key("dur").Double(event.duration_us);
    json.Key("pid").Int(1).Key("tid").Int(1).Key("args").BeginObject();
    json.Key("op").String(event.op).Key("graph").String(event.path.empty() ? kMainGraph
                                                                           : event.path);
    json.Key("inputs").String(event.inputs).Key("outputs").String(event.outputs);
    json.Key("bytes").Int(event.bytes);
    json.EndObject().EndObject();
  }
  json.EndArray().EndObject();
  return json.text();
}

std::string Profiler::TableText() const {
  struct Total {
    int64_t calls = 0;
    double self_us = 0;
    int64_t bytes = 0;
  };
  std::map<std::string, Total> by_op;
  double all = 0;
  for (const Event& event : events_) {
    Total& total = by_op[event.op];
    ++total.calls;
    total.self_us += event.self_us;
    total.bytes += event.bytes;
    all += event.self_us;
  }
  std::vector<std::pair<std::string, Total>> sorted(by_op.begin(), by_op.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.second.self_us > b.second.self_us;
  });
  using Align = Table::Align;
  const auto percent = [&](double us) {
    return absl::StrFormat("%.1f", all > 0 ? 100 * us / all : 0);
  };
  Table ops({"operator", "calls", "us", "%", "bytes"},
            {Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight});
  for (const auto& [op, total] : sorted) {
    ops.Row({op, absl::StrCat(total.calls), absl::StrFormat("%.1f", total.self_us),
             percent(total.self_us), BytesText(total.bytes)});
  }
  std::vector<const Event*> slowest;
  for (const Event& event : events_) slowest.push_back(&event);
  const size_t shown = std::min<size_t>(slowest.size(), 10);
  std::partial_sort(slowest.begin(), slowest.begin() + static_cast<std::ptrdiff_t>(shown),
                    slowest.end(),
                    [](const Event* a, const Event* b) { return a->self_us > b->self_us; });
  Table nodes({"slowest nodes", "us", "%", "inputs", "outputs"},
              {Align::kLeft, Align::kRight, Align::kRight, Align::kLeft, Align::kLeft});
  for (size_t i = 0; i < shown; ++i) {
    const Event& event = *slowest[i];
    nodes.Row({event.title, absl::StrFormat("%.1f", event.self_us), percent(event.self_us),
               event.inputs, event.outputs});
  }
  return absl::StrCat(ops.ToString(), "\n", nodes.ToString());
}

}  // namespace onnx_run::tools
