// Gradients of matrix products, convolutions, pooling and normalization.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/gradient_rules.h"
#include "runtime/status_macros.h"

namespace onnx_run {
namespace {

// --- Products ------------------------------------------------------------------------------------

// Y = A B: dA = dY B^T, dB = A^T dY, after vectors have become matrices.
absl::Status MatMulRule(RuleWriter& w) {
  const Expr a(w, w.Helper("AsRow", {w.x(0)}));
  const Expr b(w, w.Helper("AsColumn", {w.x(1)}));
  // The dims of dY that a vector has left out come back as 1.
  const Expr cut = Apply("Min", Rank(X(w, 0)), Ints(w, {2})) +
                   Apply("Min", Rank(X(w, 1)), Ints(w, {2})) - Ints(w, {2});
  const Expr batch(w, w.Op("Slice", {Shape(Dy(w)), w.Ints({0}), Rank(Dy(w)) - cut}));
  const Expr rows = Part(Shape(a), -2, -1);
  const Expr columns = Part(Shape(b), -1, INT64_MAX);
  const Expr dy = Reshape(Dy(w), Concat(w, {batch, rows, columns}));
  if (w.Wants(0)) {
    const Expr da = Apply("MatMul", dy, {w, w.Helper("SwapLast", {b})});
    w.Set(0, ReshapeLike(SumTo(da, a), X(w, 0)));
  }
  if (w.Wants(1)) {
    const Expr db = Apply("MatMul", {w, w.Helper("SwapLast", {a})}, dy);
    w.Set(1, ReshapeLike(SumTo(db, b), X(w, 1)));
  }
  return absl::OkStatus();
}

// Y = alpha A' B' + beta C, A' and B' perhaps transposed.
absl::Status GemmRule(RuleWriter& w) {
  const float alpha = w.node().FloatOr("alpha", 1);
  const bool a_transposed = w.node().IntOr("transA", 0) != 0;
  const bool b_transposed = w.node().IntOr("transB", 0) != 0;
  const auto product = [&](const std::string& a, bool transpose_a, const std::string& b,
                           bool transpose_b) {
    return w.Op("Gemm", {a, b},
                {RuleWriter::FloatAttribute("alpha", alpha),
                 RuleWriter::IntAttribute("transA", transpose_a ? 1 : 0),
                 RuleWriter::IntAttribute("transB", transpose_b ? 1 : 0)});
  };
  if (w.Wants(0)) {
    w.Set(0, a_transposed ? product(w.x(1), b_transposed, w.dy(0), true)
                          : product(w.dy(0), false, w.x(1), !b_transposed));
  }
  if (w.Wants(1)) {
    w.Set(1, b_transposed ? product(w.dy(0), true, w.x(0), a_transposed)
                          : product(w.x(0), !a_transposed, w.dy(0), false));
  }
  if (w.Wants(2)) w.Set(2, SumTo(Dy(w) * w.node().FloatOr("beta", 1), X(w, 2)));
  return absl::OkStatus();
}

// --- Softmax -------------------------------------------------------------------------------------

// The axes that are summed over: one, or, before version 13, all from `axis` on.
Expr SoftmaxAxes(RuleWriter& w) {
  if (w.node().since_version() >= 13) return Ints(w, {w.node().IntOr("axis", -1)});
  const int64_t axis = w.node().IntOr("axis", 1);
  if (axis >= 0) return AxesFrom(X(w), axis);
  std::vector<int64_t> axes;
  for (int64_t i = axis; i < 0; ++i) axes.push_back(i);
  return Ints(w, axes);
}
absl::Status SoftmaxRule(RuleWriter& w) {
  const Expr part = Dy(w) * Y(w);
  w.Set(0, part - Y(w) * ReduceKeeping("ReduceSum", part, SoftmaxAxes(w)));
  return absl::OkStatus();
}
absl::Status LogSoftmaxRule(RuleWriter& w) {
  const Expr sum = ReduceKeeping("ReduceSum", Dy(w), SoftmaxAxes(w));
  w.Set(0, Dy(w) - Apply("Exp", Y(w)) * sum);
  return absl::OkStatus();
}

// --- Normalization, dropout ----------------------------------------------------------------------

// Per channel, with the statistics that are given (inputs 3 and 4), or those of the batch in
// training.
absl::Status BatchNormalizationRule(RuleWriter& w) {
  const int since = w.node().since_version();
  const bool training = since >= 14 ? w.node().IntOr("training_mode", 0) != 0
                                    : since < 7 && w.node().IntOr("is_test", 0) == 0;
  for (int i = 1; i < w.output_count(); ++i) {
    if (!w.dy(i).empty()) return w.NoRule("the statistics that BatchNormalization puts out");
  }
  if (w.node().IntOr("spatial", 1) == 0) return w.NoRule("BatchNormalization with spatial = 0");
  if (training && since < 14) return w.NoRule("BatchNormalization in training before opset 14");
  const Expr x = X(w);
  const Expr channels = Concat(w, {Ints(w, {1}), Shape(X(w, 1)), Ones(Rank(x) - Ints(w, {2}))});
  const auto by_channel = [&](int i) { return Reshape(X(w, i), channels); };
  const auto sum = [&](const Expr& a) { return SumTo(a, by_channel(1)); };
  const Expr scale = by_channel(1);
  const Expr count(
      w,
      w.Op("CastLike",
           {Apply("Div", Apply("Size", x), Apply("Max", Apply("Size", scale), Ints(w, {1}))), x}));
  const Expr mean = training ? sum(x) / count : by_channel(3);
  const Expr centred = x - mean;
  const Expr variance = training ? sum(centred * centred) / count : by_channel(4);
  const Expr inverse =
      1.0 / Apply("Sqrt", variance + static_cast<double>(w.node().FloatOr("epsilon", 1e-5F)));
  const Expr normal = centred * inverse;
  const Expr dy = Dy(w);
  const auto set = [&](int i, const Expr& gradient) {
    if (w.Wants(i)) w.Set(i, ReshapeLike(gradient, X(w, i)));
  };
  set(1, sum(dy * normal));
  set(2, sum(dy));
  if (training) {
    w.Set(0, scale * inverse * (dy - sum(dy) / count - normal * (sum(dy * normal) / count)));
    return absl::OkStatus();  // the running statistics do not show in y
  }
  w.Set(0, dy * (scale * inverse));
  set(3, -(sum(dy) * scale * inverse));
  set(4, -0.5 * (sum(dy * normal) * scale * inverse * inverse));
  return absl::OkStatus();
}

// Per channel of each image, with its own statistics.
absl::Status InstanceNormalizationRule(RuleWriter& w) {
  const Expr x = X(w);
  const Expr axes = AxesFrom(x, 2);
  const Expr channels = Concat(w, {Shape(X(w, 1)), Ones(Rank(x) - Ints(w, {2}))});
  const auto mean = [&](const Expr& a) { return ReduceKeeping("ReduceMean", a, axes); };
  const Expr scale = Reshape(X(w, 1), channels);
  const Expr centred = x - mean(x);
  const Expr inverse =
      1.0 / Apply("Sqrt", mean(centred * centred) +
                              static_cast<double>(w.node().FloatOr("epsilon", 1e-5F)));
  const Expr normal = centred * inverse;
  const Expr dy = Dy(w);
  if (w.Wants(0)) {
    w.Set(0, scale * inverse * (dy - mean(dy) - normal * mean(dy * normal)));
  }
  if (w.Wants(1)) w.Set(1, ReshapeLike(SumTo(dy * normal, scale), X(w, 1)));
  if (w.Wants(2)) w.Set(2, ReshapeLike(SumTo(dy, scale), X(w, 2)));
  return absl::OkStatus();
}

// The elements that were kept, scaled; out of training, all.
absl::Status DropoutRule(RuleWriter& w) {
  if (w.dy(0).empty()) return absl::OkStatus();  // of the mask alone
  if (w.Wants(1)) return w.NoRule("the ratio of Dropout");
  const int since = w.node().since_version();
  if (since < 7 && w.node().IntOr("is_test", 0) == 0) {
    return w.NoRule("Dropout in training before opset 7");
  }
  if (since < 12 || w.x(2).empty()) {
    w.Set(0, w.dy(0));
    return absl::OkStatus();
  }
  if (w.y(1).empty()) return w.NoRule("a Dropout in training whose mask is not an output");
  const Expr dy = Dy(w);
  const Expr kept =
      w.x(1).empty() ? dy.Number(0.5) : 1.0 - Expr(w, w.Op("CastLike", {w.x(1), w.dy(0)}));
  const Expr scaled = Where(X(w, 2), dy / kept, dy);
  w.Set(0, Where(Y(w, 1), scaled, dy.Number(0)));
  return absl::OkStatus();
}

// --- Pooling -------------------------------------------------------------------------------------

absl::Status GlobalAveragePoolRule(RuleWriter& w) {
  const Expr count(
      w, w.Op("CastLike", {w.Op("ReduceProd", {Part(Shape(X(w)), 2, INT64_MAX)}), w.dy(0)}));
  w.Set(0, ExpandLike(Dy(w) / count, X(w)));
  return absl::OkStatus();
}
// Those that are equal share alike.
absl::Status GlobalMaxPoolRule(RuleWriter& w) {
  const Expr shares(w, w.Op("CastLike", {Equal(X(w), Y(w)), w.x(0)}));
  w.Set(0, shares * (Dy(w) / ReduceKeeping("ReduceSum", shares, AxesFrom(X(w), 2))));
  return absl::OkStatus();
}

constexpr GradientRule kRules[] = {
    {"", "BatchNormalization", 31, BatchNormalizationRule},
    {"", "Dropout", 3, DropoutRule},
    {"", "Gemm", 7, GemmRule},
    {"", "GlobalAveragePool", 1, GlobalAveragePoolRule},
    {"", "GlobalMaxPool", 1, GlobalMaxPoolRule},
    {"", "InstanceNormalization", 7, InstanceNormalizationRule},
    {"", "LogSoftmax", 1, LogSoftmaxRule},
    {"", "MatMul", 3, MatMulRule},
    {"", "Softmax", 1, SoftmaxRule},
    {"", "Hardmax", 0, nullptr},
};

}  // namespace

absl::Span<const GradientRule> NeuralGradientRules() { return kRules; }

}  // namespace onnx_run
