// Gradient: its rules, and the functions that they share. The node itself never runs: the plan
// builder makes it a call (runtime/gradient.h).
#include <string>
#include <vector>

#include "ops/families.h"
#include "ops/gradient_rules.h"
#include "ops/kernel_table.h"

namespace onnx_run {
namespace {

std::vector<std::string> Inputs(RuleWriter& w) {
  std::vector<std::string> names;
  names.reserve(static_cast<size_t>(w.input_count()));
  for (int i = 0; i < w.input_count(); ++i) names.push_back(w.x(i));
  return names;
}

absl::Status SumHelper(RuleWriter& w) {
  w.Set(0, w.Op("Sum", Inputs(w)));
  return absl::OkStatus();
}
absl::Status ZerosLikeHelper(RuleWriter& w) {
  w.Set(0, ExpandLike(X(w).Number(0), X(w)));
  return absl::OkStatus();
}
absl::Status OnesLikeHelper(RuleWriter& w) {
  w.Set(0, ExpandLike(X(w).Number(1), X(w)));
  return absl::OkStatus();
}

// (a, like): sums over the axes along which `like` was broadcast to the shape of a.
absl::Status SumToHelper(RuleWriter& w) {
  const Expr a = X(w, 0);
  const Expr like = X(w, 1);
  const Expr from = Concat(w, {Ones(Rank(a) - Rank(like)), Shape(like)});
  const Expr differs = Apply("NonZero", Apply("Not", Equal(from, Shape(a))));
  const Expr axes(w, w.Op("Squeeze", {differs, w.Ints({0})}));
  w.Set(0, ReshapeLike(ReduceKeeping("ReduceSum", a, axes), like));
  return absl::OkStatus();
}

// The number of each element, in the shape of x.
absl::Status IndicesHelper(RuleWriter& w) {
  const auto scalar = [&w](int64_t value) {
    return w.Op("Constant", {}, {RuleWriter::IntAttribute("value_int", value)});
  };
  const Expr numbers(w, w.Op("Range", {scalar(0), Apply("Size", X(w)), scalar(1)}));
  w.Set(0, ReshapeLike(numbers, X(w)));
  return absl::OkStatus();
}

// (dy, indices, x): each element of dy added to that of a zero tensor like x that `indices`
// numbers.
absl::Status ScatterBackHelper(RuleWriter& w) {
  const Expr minus_one = Ints(w, {-1});
  const Expr size = Reshape(Apply("Size", X(w, 2)), Ints(w, {1}));
  const Expr zeros = Apply("Expand", X(w, 0).Number(0), size);
  const Expr flat(
      w, w.Op("ScatterElements",
              {zeros, Apply("Reshape", X(w, 1), minus_one), Apply("Reshape", X(w, 0), minus_one)},
              {RuleWriter::StringAttribute("reduction", "add")}));
  w.Set(0, ReshapeLike(flat, X(w, 2)));
  return absl::OkStatus();
}

// The last two axes of a exchanged.
absl::Status SwapLastHelper(RuleWriter& w) {
  const Expr a = X(w);
  const Expr shape = Shape(a);
  const Expr batch = Part(shape, 0, -2);
  const Expr rows = Part(shape, -2, -1);
  const Expr columns = Part(shape, -1, INT64_MAX);
  const Expr count(w, w.Op("ReduceProd", {batch}));
  const Expr three = Reshape(a, Concat(w, {count, rows, columns}));
  const Expr swapped(w, w.Op("Transpose", {three}, {RuleWriter::IntsAttribute("perm", {0, 2, 1})}));
  w.Set(0, Reshape(swapped, Concat(w, {batch, columns, rows})));
  return absl::OkStatus();
}

// A vector as the matrix that MatMul takes it for, on the left and on the right; others as they
// are.
Expr MissingAxes(const Expr& a) {
  const Expr two = Ints(a.writer(), {2});
  return Ones(Apply("Max", two - Rank(a), Ints(a.writer(), {0})));
}
absl::Status AsRowHelper(RuleWriter& w) {
  w.Set(0, Reshape(X(w), Concat(w, {MissingAxes(X(w)), Shape(X(w))})));
  return absl::OkStatus();
}
absl::Status AsColumnHelper(RuleWriter& w) {
  w.Set(0, Reshape(X(w), Concat(w, {Shape(X(w)), MissingAxes(X(w))})));
  return absl::OkStatus();
}

constexpr GradientHelper kHelpers[] = {
    {"AsColumn", AsColumnHelper},
    {"AsRow", AsRowHelper},
    {"Indices", IndicesHelper},
    {"OnesLike", OnesLikeHelper},
    {"ScatterBack", ScatterBackHelper},
    {"Sum", SumHelper},
    {"SumTo", SumToHelper},
    {"SwapLast", SwapLastHelper},
    {"ZerosLike", ZerosLikeHelper},
};

// --- Rules for the helpers, which second derivatives pass through --------------------------------

absl::Status SumToRule(RuleWriter& w) {
  w.Set(0, ExpandLike(Dy(w), X(w, 0)));
  return absl::OkStatus();
}
absl::Status ScatterBackRule(RuleWriter& w) {
  w.Set(0, Apply("Gather", Apply("Reshape", Dy(w), Ints(w, {-1})), X(w, 1)));
  return absl::OkStatus();
}
absl::Status SwapLastRule(RuleWriter& w) {
  w.Set(0, w.Helper("SwapLast", {w.dy(0)}));
  return absl::OkStatus();
}

constexpr GradientRule kHelperRules[] = {
    {kGradientHelpers, "Indices", 0, nullptr},
    {kGradientHelpers, "OnesLike", 0, nullptr},
    {kGradientHelpers, "ScatterBack", 1, ScatterBackRule},
    {kGradientHelpers, "SumTo", 1, SumToRule},
    {kGradientHelpers, "SwapLast", 1, SwapLastRule},
    {kGradientHelpers, "ZerosLike", 0, nullptr},
};

const GradientRules& AllRules() {
  static const auto* const kAll = [] {
    auto* all = new std::vector<GradientRule>;
    for (const absl::Span<const GradientRule> part :
         {ElementwiseGradientRules(), ShapeGradientRules(), NeuralGradientRules(),
          WindowGradientRules(), absl::Span<const GradientRule>(kHelperRules)}) {
      all->insert(all->end(), part.begin(), part.end());
    }
    return all;
  }();
  static const auto* const kRules = new GradientRules{*kAll, kHelpers};
  return *kRules;
}

absl::Status NeverRuns(KernelContext& /*context*/) {
  return absl::InternalError("a Gradient node is not a call of its function");
}

constexpr KernelDef GradientRow() {
  KernelDef row = Kernel<NeverRuns>("ai.onnx.preview.training", "Gradient", 1).NotFoldable();
  row.gradient = &AllRules;
  return row;
}
constexpr KernelDef kKernels[] = {GradientRow()};

}  // namespace

absl::Span<const KernelDef> GradientKernels() { return kKernels; }

}  // namespace onnx_run
