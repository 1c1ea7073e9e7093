#include "tools/what_if.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/convert/convert.h"
#include "tools/literal.h"
#include "tools/observers.h"

namespace onnx_run::tools {
namespace {

// Values that break: those that are destroyed, and tensors that mostly vanish.
bool Breaks(const AuditCounts& counts) {
  return counts.Destroyed() > 0 || counts.Of(Fate::kUnderflow) * 2 > counts.elements;
}

// Bits that the worst value keeps: -log2 of the largest relative error. Whole values that vanish
// keep 0.
std::string KeptBits(const AuditCounts& counts) {
  if (counts.Of(Fate::kExact) == counts.elements) return "all";
  if (!(counts.max_relative > 0)) return "-";
  if (counts.max_relative >= 1) return "0";
  return absl::StrCat(static_cast<int>(std::floor(-std::log2(counts.max_relative))));
}

std::string PythonList(const std::vector<std::string>& names) {
  return absl::StrCat("[",
                      absl::StrJoin(names, ", ",
                                    [](std::string* out, const std::string& name) {
                                      absl::StrAppend(out, JsonQuote(name));
                                    }),
                      "]");
}

}  // namespace

absl::StatusOr<std::vector<ElementType>> WhatIf::ParseTypes(const std::vector<std::string>& names) {
  std::vector<ElementType> types;
  for (const std::string& name : names) {
    const std::optional<ElementType> type = ParseElementType(name);
    if (!type.has_value() || !IsFloat(*type)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--what-if takes float types such as float16, bfloat16, float8e4m3fn; got \"", name,
          "\""));
    }
    types.push_back(*type);
  }
  if (types.empty()) return absl::InvalidArgumentError("--what-if needs a type, such as float16");
  return types;
}

void WhatIf::Judge(Row& row, const Tensor& tensor) const {
  row.counts.resize(types_.size());
  for (size_t t = 0; t < types_.size(); ++t) {
    absl::StatusOr<Tensor> stored = Tensor::Create(types_[t], tensor.dims());
    if (!stored.ok()) continue;
    const absl::Status converted =
        Convert(tensor.data(), tensor.type(), stored->mutable_data(), types_[t], tensor.size());
    if (converted.ok()) AuditElements(tensor, *stored, row.counts[t]);
  }
}

WhatIf::Row* WhatIf::Add(const std::string& name, const std::string& where, const Value& value) {
  if (!value.is_tensor() || !IsFloat(value.tensor().type()) || value.tensor().size() == 0)
    return nullptr;
  const auto [position, inserted] = by_name_.emplace(name, rows_.size());
  if (inserted) {
    rows_.push_back({.name = name,
                     .where = where,
                     .node = "",
                     .op = "",
                     .type = value.tensor().type(),
                     .counts = {}});
  }
  Row& row = rows_[position->second];
  Judge(row, value.tensor());
  return &row;
}

void WhatIf::AddParameters(const Model& model) {
  for (const Initializer& initializer : model.graph.initializers) {
    Add(initializer.name, "parameter", initializer.value);
  }
}

void WhatIf::AddInput(const std::string& name, const Value& value) { Add(name, "input", value); }

void WhatIf::OnNodeEnd(const NodeInfo& node, absl::Span<const Value* const> /*inputs*/,
                       absl::Span<Value* const> outputs, const absl::Status& status) {
  if (!status.ok()) return;
  for (size_t i = 0; i < outputs.size() && i < node.node().outputs.size(); ++i) {
    if (outputs[i] == nullptr || node.node().outputs[i].empty()) continue;
    Row* row = Add(QualifiedValueName(node, node.node().outputs[i]), NodeTitle(node), *outputs[i]);
    if (row == nullptr) continue;
    row->node = node.name();
    row->op = OperatorName(node);
  }
}

std::vector<const WhatIf::Row*> WhatIf::Sorted(size_t t) const {
  std::vector<const Row*> rows;
  for (const Row& row : rows_) rows.push_back(&row);
  std::stable_sort(rows.begin(), rows.end(), [t](const Row* a, const Row* b) {
    return a->counts[t].WorseThan(b->counts[t]);
  });
  return rows;
}

std::vector<std::string> WhatIf::NodesToKeep(const Model& model, size_t t, bool* unnamed) const {
  *unnamed = false;
  std::set<std::string> names;
  std::set<std::string> broken;
  for (const Row& row : rows_) {
    if (Breaks(row.counts[t])) broken.insert(row.name);
  }
  // Whoever makes or reads a value that breaks; bodies of control flow are charged to their own
  // nodes.
  for (const Node& node : model.graph.nodes) {
    const auto touches = [&](const std::vector<std::string>& values) {
      return std::any_of(values.begin(), values.end(),
                         [&](const std::string& value) { return broken.contains(value); });
    };
    if (!touches(node.inputs) && !touches(node.outputs)) continue;
    if (node.name.empty()) {
      *unnamed = true;
    } else {
      names.insert(node.name);
    }
  }
  for (const Row& row : rows_) {
    if (broken.contains(row.name) && !row.node.empty()) names.insert(row.node);
  }
  return {names.begin(), names.end()};
}

std::string WhatIf::Text(const Model& model, bool all_values) const {
  using Align = Table::Align;
  constexpr size_t kShown = 30;
  std::string text;
  for (size_t t = 0; t < types_.size(); ++t) {
    Table table({"value", "made by", "elements", "overflow", "to zero", "to subnormal", "rounded",
                 "bits kept", "largest", "breaks"},
                {Align::kLeft, Align::kLeft, Align::kRight, Align::kRight, Align::kRight,
                 Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kLeft});
    AuditCounts all;
    size_t shown = 0;
    size_t hidden = 0;
    size_t breaking = 0;
    for (const Row* row : Sorted(t)) {
      const AuditCounts& c = row->counts[t];
      all.Merge(c);
      breaking += Breaks(c) ? 1 : 0;
      if (!all_values && shown >= kShown && !Breaks(c)) {
        ++hidden;
        continue;
      }
      ++shown;
      table.Row({row->name, row->where, WithCommas(c.elements), WithCommas(c.Destroyed()),
                 WithCommas(c.Of(Fate::kUnderflow)), WithCommas(c.Of(Fate::kSubnormal)),
                 WithCommas(c.Of(Fate::kRounded)), KeptBits(c),
                 c.example.index >= 0 && c.Destroyed() > 0 ? c.example.from : "-",
                 Breaks(c) ? "yes" : ""});
    }
    absl::StrAppend(&text, t == 0 ? "" : "\n", "What if all floating-point values were ",
                    TypeName(types_[t]), "?\n\n", table.ToString());
    if (hidden > 0)
      absl::StrAppend(&text, "(", hidden, " more values that do not break; -v shows them)\n");
    absl::StrAppend(&text, "\n", rows_.size(), " values, ", WithCommas(all.elements),
                    " elements: ", WithCommas(all.Of(Fate::kExact)), " exact, ",
                    WithCommas(all.Of(Fate::kRounded) + all.Of(Fate::kSubnormal)), " rounded, ",
                    WithCommas(all.Of(Fate::kUnderflow)), " to zero, ", WithCommas(all.Destroyed()),
                    " out of range. ", breaking, " values break.\n");
    bool unnamed = false;
    const std::vector<std::string> keep = NodesToKeep(model, t, &unnamed);
    absl::StrAppend(&text, "node_block_list = ", PythonList(keep), "\n");
    if (unnamed) {
      text +=
          "Some nodes that break have no name, and cannot be listed; name the nodes of the model "
          "first.\n";
    }
  }
  return text;
}

std::string WhatIf::Json(const Model& model) const {
  JsonWriter json;
  json.BeginObject();
  for (size_t t = 0; t < types_.size(); ++t) {
    json.Key(TypeName(types_[t])).BeginObject();
    bool unnamed = false;
    json.Key("node_block_list").BeginArray();
    for (const std::string& name : NodesToKeep(model, t, &unnamed)) json.String(name);
    json.EndArray().Key("values").BeginArray();
    for (const Row* row : Sorted(t)) {
      json.BeginObject().Key("value").String(row->name).Key("made_by").String(row->where);
      json.Key("node").String(row->node).Key("op").String(row->op);
      json.Key("type").String(TypeName(row->type)).Key("breaks").Bool(Breaks(row->counts[t]));
      row->counts[t].WriteJson(json);
      json.EndObject();
    }
    json.EndArray().EndObject();
  }
  json.EndObject();
  return json.text();
}

}  // namespace onnx_run::tools
