#include "tools/cast_audit.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "runtime/convert/formats.h"
#include "tools/format.h"
#include "tools/observers.h"

namespace onnx_run::tools {
namespace {

// Which element of scale and zero point belongs to element `index` of x: one for all, one for each
// position along `axis`, or one for each block of `block_size` along it.
class ScaleIndex {
 public:
  ScaleIndex(const Tensor& x, const Tensor& scale, int64_t axis, int64_t block_size)
      : x_(x), scale_(scale) {
    if (scale.size() <= 1 || x.rank() == 0) return;
    if (axis < 0) axis += x.rank();
    if (axis < 0 || axis >= x.rank()) return;
    axis_ = static_cast<int>(axis);
    inner_ = 1;
    for (int i = axis_ + 1; i < x.rank(); ++i) inner_ *= x.dim(i);
    blocked_ = scale.rank() == x.rank() && scale.rank() > 1;
    if (blocked_) {
      const int64_t blocks = std::max<int64_t>(1, scale.dim(axis_));
      block_ = block_size > 0 ? block_size : (x.dim(axis_) + blocks - 1) / blocks;
    }
  }
  int64_t operator()(int64_t index) const {
    if (axis_ < 0) return 0;
    const int64_t position = index / inner_ % x_.dim(axis_);
    int64_t at = position;
    if (blocked_) {
      const int64_t outer = index / inner_ / x_.dim(axis_);
      at = (outer * scale_.dim(axis_) + position / block_) * inner_ + index % inner_;
    }
    return std::min(at, scale_.size() - 1);
  }

 private:
  const Tensor& x_;
  const Tensor& scale_;
  int axis_ = -1;
  int64_t inner_ = 1;
  int64_t block_ = 1;
  bool blocked_ = false;
};

double Load(const Tensor& tensor, int64_t index) {
  return CodeToDouble(LoadCode(tensor.data(), tensor.type(), index), tensor.type());
}

// The smallest and largest values of a type that quantization ends in.
std::pair<double, double> Limits(ElementType type) {
  const ElementTypeInfo& info = InfoOf(type);
  if (info.kind == ElementKind::kFloat) {
    const double max = CodeToDouble(convert_internal::MaxFiniteCode(info), type);
    return {-max, max};
  }
  if (info.kind == ElementKind::kSigned) {
    return {-std::ldexp(1.0, info.bits - 1), std::ldexp(1.0, info.bits - 1) - 1};
  }
  return {0, std::ldexp(1.0, info.bits) - 1};
}

void AddExample(AuditCounts& counts, Fate fate, double relative, const Tensor& from,
                const Tensor& to, int64_t index, double stands_for) {
  if (!counts.TakesExample(fate, relative)) return;
  counts.example = {index,
                    ElementText(from, index),
                    ElementBits(from, index),
                    absl::StrCat(ElementText(to, index), " = ", ShortDouble(stands_for, 7)),
                    ElementBits(to, index),
                    fate};
}

// The fate of `want` that became `got`; both as doubles.
Fate FateOfDouble(double want, double got, bool at_limit, bool subnormal) {
  if (std::isnan(want)) return std::isnan(got) ? Fate::kExact : Fate::kLostNan;
  if (std::isnan(got)) return Fate::kBecameNan;
  if (want == got) return Fate::kExact;
  if (std::isinf(want)) return Fate::kLostInfinity;
  if (std::isinf(got)) return Fate::kOverflow;
  if (at_limit) return Fate::kSaturated;
  if (got == 0) return Fate::kUnderflow;
  return subnormal ? Fate::kSubnormal : Fate::kRounded;
}

void AddDouble(AuditCounts& counts, Fate fate, double want, double got, double* relative) {
  double absolute = 0;
  *relative = 0;
  if (fate != Fate::kExact && std::isfinite(want) && std::isfinite(got)) {
    absolute = std::fabs(got - want);
    *relative = want != 0 ? absolute / std::fabs(want) : std::numeric_limits<double>::infinity();
  }
  counts.Add(fate, absolute, *relative, false);
}

int64_t AttributeOr(const NodeInfo& node, absl::string_view name, int64_t fallback) {
  return node.IntOr(name, fallback);
}

}  // namespace

void AuditQuantize(const Tensor& x, const Tensor& scale, const Tensor* zero_point, const Tensor& y,
                   int64_t axis, int64_t block_size, AuditCounts& counts) {
  if (x.size() != y.size() || scale.size() == 0) return;
  const ScaleIndex scale_of(x, scale, axis, block_size);
  const auto [low, high] = Limits(y.type());
  for (int64_t i = 0; i < x.size(); ++i) {
    const int64_t k = scale_of(i);
    const double s = Load(scale, k);
    const double zero = zero_point != nullptr && k < zero_point->size() ? Load(*zero_point, k) : 0;
    const double want = Load(x, i);
    const double code = Load(y, i);
    const double got = (code - zero) * s;
    // Beyond the limits by more than rounding: half a step.
    const double steps = want / s + zero;
    const bool is_float = IsFloat(y.type());
    const double slack =
        is_float ? std::ldexp(high, -InfoOf(y.type()).layout.mantissa_bits - 2) : 0.5;
    const bool at_limit =
        (code == high && steps > high + slack) || (code == low && steps < low - slack);
    const Fate fate = FateOfDouble(want, got, at_limit, false);
    double relative = 0;
    AddDouble(counts, fate, want, got, &relative);
    AddExample(counts, fate, relative, x, y, i, got);
  }
}

void AuditDequantize(const Tensor& x, const Tensor& scale, const Tensor* zero_point,
                     const Tensor& y, int64_t axis, int64_t block_size, AuditCounts& counts) {
  if (x.size() != y.size() || scale.size() == 0) return;
  const ScaleIndex scale_of(x, scale, axis, block_size);
  for (int64_t i = 0; i < x.size(); ++i) {
    const int64_t k = scale_of(i);
    const double zero = zero_point != nullptr && k < zero_point->size() ? Load(*zero_point, k) : 0;
    // Exact: a difference of integers of 32 bits or fewer times a float of 24 bits.
    const double want = (Load(x, i) - zero) * Load(scale, k);
    const double got = Load(y, i);
    const Fate fate = FateOfDouble(want, got, false, false);
    double relative = 0;
    AddDouble(counts, fate, want, got, &relative);
    AddExample(counts, fate, relative, x, y, i, got);
  }
}

void CastAudit::OnNodeEnd(const NodeInfo& node, absl::Span<const Value* const> inputs,
                          absl::Span<Value* const> outputs, const absl::Status& status) {
  if (!status.ok() || !node.domain().empty()) return;
  const std::string& op = node.op_type();
  const bool cast = op == "Cast" || op == "CastLike";
  const bool quantize = op == "QuantizeLinear";
  const bool dequantize = op == "DequantizeLinear";
  const bool dynamic = op == "DynamicQuantizeLinear";
  if (!cast && !quantize && !dequantize && !dynamic) return;
  const auto input = [&](size_t i) -> const Tensor* {
    return i < inputs.size() && inputs[i] != nullptr && inputs[i]->is_tensor()
               ? &inputs[i]->tensor()
               : nullptr;
  };
  const auto output = [&](size_t i) -> const Tensor* {
    return i < outputs.size() && outputs[i] != nullptr && outputs[i]->is_tensor()
               ? &outputs[i]->tensor()
               : nullptr;
  };
  const Tensor* x = input(0);
  const Tensor* y = output(0);
  if (x == nullptr || y == nullptr) return;
  Row& row = rows_[&node];
  if (row.runs++ == 0) {
    row.title = NodeTitle(node);
    row.path = SubgraphPath(node);
    row.value = node.node().outputs.empty() ? "" : node.node().outputs[0];
    row.from = x->type();
    row.to = y->type();
  }
  const int64_t axis = AttributeOr(node, "axis", 1);
  const int64_t block = AttributeOr(node, "block_size", 0);
  if (cast) {
    AuditElements(*x, *y, row.counts);
  } else if (dynamic) {
    if (output(1) != nullptr) AuditQuantize(*x, *output(1), output(2), *y, axis, 0, row.counts);
  } else if (input(1) != nullptr) {
    (quantize ? AuditQuantize : AuditDequantize)(*x, *input(1), input(2), *y, axis, block,
                                                 row.counts);
  }
}

std::vector<const CastAudit::Row*> CastAudit::Sorted() const {
  std::vector<const Row*> rows;
  for (const auto& [node, row] : rows_) rows.push_back(&row);
  std::sort(rows.begin(), rows.end(), [](const Row* a, const Row* b) {
    if (a->counts.WorseThan(b->counts)) return true;
    if (b->counts.WorseThan(a->counts)) return false;
    return std::tie(a->path, a->value) < std::tie(b->path, b->value);
  });
  return rows;
}

std::string CastAudit::TableText() const {
  if (rows_.empty()) return "no Cast, CastLike or quantizing node ran\n";
  using Align = Table::Align;
  struct Column {
    const char* name;
    std::function<int64_t(const AuditCounts&)> count;
  };
  const auto of = [](Fate fate) { return [fate](const AuditCounts& c) { return c.Of(fate); }; };
  const std::vector<Column> columns = {
      {"exact", of(Fate::kExact)},
      {"rounded", of(Fate::kRounded)},
      {"to inf", of(Fate::kOverflow)},
      {"saturated", of(Fate::kSaturated)},
      {"wrapped", of(Fate::kWrapped)},
      {"to NaN", of(Fate::kBecameNan)},
      {"lost NaN", of(Fate::kLostNan)},
      {"lost inf", of(Fate::kLostInfinity)},
      {"to zero", of(Fate::kUnderflow)},
      {"to subnormal", of(Fate::kSubnormal)},
      {"lost -0", [](const AuditCounts& c) { return c.lost_zero_signs; }},
  };
  const std::vector<const Row*> rows = Sorted();
  std::vector<std::string> header = {"node", "from", "to", "elements"};
  std::vector<Align> alignment = {Align::kLeft, Align::kLeft, Align::kLeft, Align::kRight};
  std::vector<const Column*> shown;
  // Columns without any count are left out, to fit a terminal.
  for (const Column& column : columns) {
    const bool used = std::any_of(rows.begin(), rows.end(),
                                  [&](const Row* row) { return column.count(row->counts) != 0; });
    if (!used) continue;
    shown.push_back(&column);
    header.emplace_back(column.name);
    alignment.push_back(Align::kRight);
  }
  for (const char* name : {"max abs", "max rel"}) {
    header.emplace_back(name);
    alignment.push_back(Align::kRight);
  }
  Table table(header, alignment);
  std::string examples;
  for (const Row* row : rows) {
    const std::string title =
        row->path.empty() ? row->title : absl::StrCat(row->path, "/", row->title);
    // A node without a name goes by what it makes.
    const bool named = row->title.find('"') != std::string::npos;
    const std::string name = named ? title : absl::StrCat(title, " -> ", row->value);
    std::vector<std::string> cells = {name, std::string(TypeName(row->from)),
                                      std::string(TypeName(row->to)),
                                      WithCommas(row->counts.elements)};
    for (const Column* column : shown) {
      const int64_t count = column->count(row->counts);
      cells.push_back(count == 0 ? "." : WithCommas(count));
    }
    cells.push_back(ShortDouble(row->counts.max_absolute));
    cells.push_back(ShortDouble(row->counts.max_relative));
    table.Row(std::move(cells));
    const AuditExample& example = row->counts.example;
    if (example.index >= 0) {
      absl::StrAppend(&examples, "  ", name, ": element ", example.index, " ",
                      FateName(example.fate), ": ", example.from,
                      example.from_bits.empty() ? "" : absl::StrCat(" (", example.from_bits, ")"),
                      " -> ", example.to, " (", example.to_bits, ")\n");
    }
  }
  std::string text = table.ToString();
  if (!examples.empty()) absl::StrAppend(&text, "\nworst elements\n", examples);
  return text;
}

std::string CastAudit::Json() const {
  JsonWriter json;
  json.BeginObject().Key("nodes").BeginArray();
  for (const Row* row : Sorted()) {
    json.BeginObject().Key("node").String(row->title).Key("graph").String(row->path);
    json.Key("output").String(row->value).Key("from").String(TypeName(row->from));
    json.Key("to").String(TypeName(row->to)).Key("runs").Int(row->runs);
    row->counts.WriteJson(json);
    json.EndObject();
  }
  json.EndArray().EndObject();
  return json.text();
}

}  // namespace onnx_run::tools
