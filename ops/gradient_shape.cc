// Gradients of operators that move, gather, join and reduce elements.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/gradient_rules.h"
#include "runtime/status_macros.h"

namespace onnx_run {
namespace {

// --- Elements of the output are elements of the input --------------------------------------------

// Under other dims.
absl::Status ReshapeRule(RuleWriter& w) {
  w.Set(0, ReshapeLike(Dy(w), X(w)));
  return absl::OkStatus();
}

// In any order, some many times, some not at all: the operator itself, run on the numbers of the
// elements, tells where each came from.
absl::Status MoveRule(RuleWriter& w) {
  std::vector<std::string> inputs{w.Helper("Indices", {w.x(0)})};
  for (int i = 1; i < w.input_count(); ++i) inputs.push_back(w.x(i));
  w.Set(0, w.Helper("ScatterBack", {w.dy(0), w.Replay(inputs), w.x(0)}));
  return absl::OkStatus();
}

absl::Status TransposeRule(RuleWriter& w) {
  const std::vector<int64_t> perm = w.node().Ints("perm");
  if (perm.empty()) {  // the axes in reverse, both ways
    w.Set(0, w.Op("Transpose", {w.dy(0)}));
    return absl::OkStatus();
  }
  std::vector<int64_t> inverse(perm.size(), 0);
  for (size_t i = 0; i < perm.size(); ++i) {
    if (perm[i] < 0 || perm[i] >= static_cast<int64_t>(perm.size())) {
      return w.node().BadAttribute("perm", absl::StrCat(perm[i]), "the number of an axis");
    }
    inverse[perm[i]] = static_cast<int64_t>(i);
  }
  w.Set(0, w.Op("Transpose", {w.dy(0)}, {RuleWriter::IntsAttribute("perm", inverse)}));
  return absl::OkStatus();
}

absl::Status ExpandRule(RuleWriter& w) {
  w.Set(0, SumTo(Dy(w), X(w)));
  return absl::OkStatus();
}

absl::Status TriluRule(RuleWriter& w) {
  std::vector<std::string> inputs{w.dy(0)};
  if (!w.x(1).empty()) inputs.push_back(w.x(1));
  w.Set(0, w.Op("Trilu", inputs, {RuleWriter::IntAttribute("upper", w.node().IntOr("upper", 1))}));
  return absl::OkStatus();
}

absl::Status ConcatRule(RuleWriter& w) {
  const int64_t axis = w.node().IntOr("axis", 1);
  std::vector<std::string> sizes;
  sizes.reserve(static_cast<size_t>(w.input_count()));
  for (int i = 0; i < w.input_count(); ++i) {
    sizes.push_back(Apply("Gather", Shape(X(w, i)), Ints(w, {axis})));
  }
  const std::vector<std::string> parts =
      w.Ops("Split", {w.dy(0), Concat(w, sizes)}, w.input_count(),
            {RuleWriter::IntAttribute("axis", axis)});
  for (int i = 0; i < w.input_count(); ++i) {
    if (w.Wants(i)) w.Set(i, parts[i]);
  }
  return absl::OkStatus();
}

absl::Status SplitRule(RuleWriter& w) {
  std::vector<std::string> parts;
  for (int i = 0; i < w.output_count(); ++i) {
    if (w.y(i).empty()) return w.NoRule("a Split some of whose outputs have no name");
    parts.push_back(w.dy(i).empty() ? w.Helper("ZerosLike", {w.y(i)}) : w.dy(i));
  }
  w.Set(0, w.Op("Concat", parts, {RuleWriter::IntAttribute("axis", w.node().IntOr("axis", 0))}));
  return absl::OkStatus();
}

// `updates` take the places of elements of the data, or are added to them. There is no rule for the
// other reductions.
absl::Status ScatterRule(RuleWriter& w, const char* scatter, const char* gather, bool has_axis) {
  const std::string reduction = w.node().StringOr("reduction", "none");
  if (reduction != "none" && reduction != "add") {
    return w.NoRule(absl::StrCat(scatter, " with reduction \"", reduction, "\""));
  }
  std::vector<Attribute> axis;
  if (has_axis) axis.push_back(RuleWriter::IntAttribute("axis", w.node().IntOr("axis", 0)));
  if (w.Wants(0)) {
    const std::string zeros = w.Helper("ZerosLike", {w.x(2)});
    w.Set(0, reduction == "add" ? w.dy(0) : w.Op(scatter, {w.dy(0), w.x(1), zeros}, axis));
  }
  if (w.Wants(2)) w.Set(2, w.Op(gather, {w.dy(0), w.x(1)}, axis));
  return absl::OkStatus();
}
absl::Status ScatterElementsRule(RuleWriter& w) {
  return ScatterRule(w, "ScatterElements", "GatherElements", true);
}
absl::Status ScatterNdRule(RuleWriter& w) { return ScatterRule(w, "ScatterND", "GatherND", false); }

// Padding with a constant, whose gradient would be a sum over all of it, is undone by padding with
// what was taken away, and the other way round.
absl::Status PadRule(RuleWriter& w) {
  const std::string mode = w.node().StringOr("mode", "constant");
  const int since = w.node().since_version();
  if (mode != "constant") {
    return since < 11 ? w.NoRule(absl::StrCat("Pad before opset 11 with mode \"", mode, "\""))
                      : MoveRule(w);
  }
  std::vector<std::string> inputs{w.dy(0)};
  if (since < 11) {
    std::vector<int64_t> pads = w.node().Ints(since == 1 ? "paddings" : "pads");
    for (int64_t& pad : pads) pad = -pad;
    inputs.push_back(w.Ints(pads));
  } else {
    inputs.push_back(w.Op("Neg", {w.x(1)}));
    if (!w.x(3).empty()) inputs.insert(inputs.end(), {"", w.x(3)});
  }
  if (w.Wants(0)) w.Set(0, w.Op("Pad", inputs));
  if (w.Wants(2)) {  // the elements that are no element of x
    const Expr one = ExpandLike(X(w).Number(1), X(w));
    const Expr zero = X(w).Number(0);
    std::vector<std::string> replayed{one, w.x(1), zero};
    if (!w.x(3).empty()) replayed.push_back(w.x(3));
    const Expr padding = 1.0 - Expr(w, w.Replay(replayed));
    w.Set(2, ReshapeLike(SumTo(Dy(w) * padding, zero), X(w, 2)));
  }
  return absl::OkStatus();
}

// Its values are off and on.
absl::Status OneHotRule(RuleWriter& w) {
  const Expr zero = Dy(w).Number(0);
  const Expr values(w, w.Op("CastLike", {w.Ints({0, 1}), w.dy(0)}));
  const Expr on(w, w.Replay({w.x(0), w.x(1), values}));
  const auto sum = [&](const Expr& a) { return Reshape(SumTo(a, zero), Ints(w, {1})); };
  w.Set(2, Concat(w, {sum(Dy(w) * (1.0 - on)), sum(Dy(w) * on)}));
  return absl::OkStatus();
}

absl::Status CumSumRule(RuleWriter& w) {
  w.Set(0, w.Op("CumSum", {w.dy(0), w.x(1)},
                {RuleWriter::IntAttribute("exclusive", w.node().IntOr("exclusive", 0)),
                 RuleWriter::IntAttribute("reverse", w.node().IntOr("reverse", 0) == 0 ? 1 : 0)}));
  return absl::OkStatus();
}

// The values; each goes back to where it was found.
absl::Status TopKRule(RuleWriter& w) {
  if (w.y(1).empty()) return w.NoRule("a TopK whose indices are not an output");
  if (w.dy(0).empty()) return absl::OkStatus();
  w.Set(0, w.Op("ScatterElements", {w.Helper("ZerosLike", {w.x(0)}), w.y(1), w.dy(0)},
                {RuleWriter::IntAttribute("axis", w.node().IntOr("axis", -1))}));
  return absl::OkStatus();
}

// --- Reductions ----------------------------------------------------------------------------------

// The axes of a reduction as an int64 vector. Without any, all, or none when noop_with_empty_axes.
struct Reduced {
  std::vector<std::string> axes;  // as the second input of a reduction; or none
  std::vector<Attribute> noop;
  Expr shape;  // the output's, with the reduced axes kept as 1
};
Reduced ReducedBy(RuleWriter& w) {
  std::vector<std::string> axes;
  if (!w.x(1).empty()) {
    axes.push_back(w.x(1));
  } else if (const std::vector<int64_t> values = w.node().Ints("axes"); !values.empty()) {
    axes.push_back(w.Ints(values));
  }
  std::vector<Attribute> noop{
      RuleWriter::IntAttribute("noop_with_empty_axes", w.node().IntOr("noop_with_empty_axes", 0))};
  std::vector<std::string> inputs{w.x(0)};
  inputs.insert(inputs.end(), axes.begin(), axes.end());
  return {axes, noop, Shape({w, w.Op("ReduceMax", inputs, noop)})};
}
Expr Reduce(RuleWriter& w, const char* op_type, const Expr& a, const Reduced& by) {
  std::vector<std::string> inputs{a};
  inputs.insert(inputs.end(), by.axes.begin(), by.axes.end());
  return {w, w.Op(op_type, inputs, by.noop)};
}

// dx = what the function makes of x, y and dy, the last two with the reduced axes kept.
template <auto kGradient>
absl::Status ReduceRule(RuleWriter& w) {
  const Reduced by = ReducedBy(w);
  const Expr y = Reshape(Y(w), by.shape);
  const Expr dy = Reshape(Dy(w), by.shape);
  w.Set(0, kGradient(w, X(w), y, dy, by));
  return absl::OkStatus();
}

Expr DReduceSum(RuleWriter& /*w*/, const Expr& x, const Expr& /*y*/, const Expr& dy,
                const Reduced& /*by*/) {
  return ExpandLike(dy, x);
}
Expr DReduceMean(RuleWriter& w, const Expr& x, const Expr& y, const Expr& dy,
                 const Reduced& /*by*/) {
  const Expr count = Apply("Div", Apply("Size", x), Apply("Max", Apply("Size", y), Ints(w, {1})));
  return ExpandLike(dy / Expr(w, w.Op("CastLike", {count, dy})), x);
}
// Those that are equal share alike.
Expr DReduceExtreme(RuleWriter& w, const Expr& x, const Expr& y, const Expr& dy,
                    const Reduced& by) {
  const Expr shares(w, w.Op("CastLike", {Equal(x, y), x}));
  return shares * (dy / Reduce(w, "ReduceSum", shares, by));
}
Expr DReduceL1(RuleWriter& /*w*/, const Expr& x, const Expr& /*y*/, const Expr& dy,
               const Reduced& /*by*/) {
  return dy * Apply("Sign", x);
}
// x / y, but 0 where all of x is.
Expr DReduceL2(RuleWriter& /*w*/, const Expr& x, const Expr& y, const Expr& dy,
               const Reduced& /*by*/) {
  return dy * Where(Equal(x, x.Number(0)), x.Number(0), x / y);
}
Expr DReduceLogSum(RuleWriter& w, const Expr& x, const Expr& /*y*/, const Expr& dy,
                   const Reduced& by) {
  return ExpandLike(dy / Reduce(w, "ReduceSum", x, by), x);
}
Expr DReduceLogSumExp(RuleWriter& /*w*/, const Expr& x, const Expr& y, const Expr& dy,
                      const Reduced& /*by*/) {
  return dy * Apply("Exp", x - y);
}
Expr DReduceSumSquare(RuleWriter& /*w*/, const Expr& x, const Expr& /*y*/, const Expr& dy,
                      const Reduced& /*by*/) {
  return dy * x * 2.0;
}

constexpr GradientRule kRules[] = {
    {"", "Compress", 1, MoveRule},
    {"", "Concat", kAllInputs, ConcatRule},
    {"", "CumSum", 1, CumSumRule},
    {"", "DepthToSpace", 1, MoveRule},
    {"", "Expand", 1, ExpandRule},
    {"", "Flatten", 1, ReshapeRule},
    {"", "Gather", 1, MoveRule},
    {"", "GatherElements", 1, MoveRule},
    {"", "GatherND", 1, MoveRule},
    {"", "OneHot", 4, OneHotRule},
    {"", "Pad", 5, PadRule},
    {"", "ReduceL1", 1, ReduceRule<DReduceL1>},
    {"", "ReduceL2", 1, ReduceRule<DReduceL2>},
    {"", "ReduceLogSum", 1, ReduceRule<DReduceLogSum>},
    {"", "ReduceLogSumExp", 1, ReduceRule<DReduceLogSumExp>},
    {"", "ReduceMax", 1, ReduceRule<DReduceExtreme>},
    {"", "ReduceMean", 1, ReduceRule<DReduceMean>},
    {"", "ReduceMin", 1, ReduceRule<DReduceExtreme>},
    {"", "ReduceSum", 1, ReduceRule<DReduceSum>},
    {"", "ReduceSumSquare", 1, ReduceRule<DReduceSumSquare>},
    {"", "Reshape", 1, ReshapeRule},
    {"", "ReverseSequence", 1, MoveRule},
    {"", "ScatterElements", 5, ScatterElementsRule},
    {"", "ScatterND", 5, ScatterNdRule},
    {"", "Slice", 1, MoveRule},
    {"", "SpaceToDepth", 1, MoveRule},
    {"", "Split", 1, SplitRule},
    {"", "Squeeze", 1, ReshapeRule},
    {"", "Tile", 1, MoveRule},
    {"", "TopK", 1, TopKRule},
    {"", "Transpose", 1, TransposeRule},
    {"", "Trilu", 1, TriluRule},
    {"", "Unsqueeze", 1, ReshapeRule},
    // Counts, positions and shapes.
    {"", "ArgMax", 0, nullptr},
    {"", "ArgMin", 0, nullptr},
    {"", "ConstantOfShape", 0, nullptr},
    {"", "EyeLike", 0, nullptr},
    {"", "NonZero", 0, nullptr},
    {"", "RandomNormalLike", 0, nullptr},
    {"", "RandomUniformLike", 0, nullptr},
    {"", "Shape", 0, nullptr},
    {"", "Size", 0, nullptr},
};

}  // namespace

absl::Span<const GradientRule> ShapeGradientRules() { return kRules; }

}  // namespace onnx_run
