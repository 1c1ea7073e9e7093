// Gradients of element-wise operators, broadcast ones among them.
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/gradient_rules.h"
#include "runtime/element_type.h"
#include "runtime/status_macros.h"

namespace onnx_run {
namespace {

// --- One input -----------------------------------------------------------------------------------

Expr Zero(const Expr& like) { return like.Number(0); }
Expr One(const Expr& like) { return like.Number(1); }
Expr Square(const Expr& a) { return a * a; }

Expr DAbs(RuleWriter& w) { return Apply("Sign", X(w)); }
Expr DAcos(RuleWriter& w) { return -(1.0 / Apply("Sqrt", 1.0 - Square(X(w)))); }
Expr DAcosh(RuleWriter& w) { return 1.0 / Apply("Sqrt", Square(X(w)) - 1.0); }
Expr DAsin(RuleWriter& w) { return 1.0 / Apply("Sqrt", 1.0 - Square(X(w))); }
Expr DAsinh(RuleWriter& w) { return 1.0 / Apply("Sqrt", Square(X(w)) + 1.0); }
Expr DAtan(RuleWriter& w) { return 1.0 / (Square(X(w)) + 1.0); }
Expr DAtanh(RuleWriter& w) { return 1.0 / (1.0 - Square(X(w))); }
Expr DCos(RuleWriter& w) { return -Apply("Sin", X(w)); }
Expr DCosh(RuleWriter& w) { return Apply("Sinh", X(w)); }
Expr DErf(RuleWriter& w) { return 2 * std::numbers::inv_sqrtpi * Apply("Exp", -Square(X(w))); }
Expr DExp(RuleWriter& w) { return Y(w); }
Expr DLog(RuleWriter& w) { return 1.0 / X(w); }
Expr DNeg(RuleWriter& w) { return Dy(w).Number(-1); }
Expr DReciprocal(RuleWriter& w) { return -Square(Y(w)); }
Expr DSigmoid(RuleWriter& w) { return Y(w) * (1.0 - Y(w)); }
Expr DSin(RuleWriter& w) { return Apply("Cos", X(w)); }
Expr DSinh(RuleWriter& w) { return Apply("Cosh", X(w)); }
Expr DSoftplus(RuleWriter& w) { return Apply("Sigmoid", X(w)); }
Expr DSoftsign(RuleWriter& w) { return 1.0 / Square(Apply("Abs", X(w)) + 1.0); }
Expr DSqrt(RuleWriter& w) { return 0.5 / Y(w); }
Expr DTan(RuleWriter& w) { return Square(Y(w)) + 1.0; }
Expr DTanh(RuleWriter& w) { return 1.0 - Square(Y(w)); }

// alpha (exp(x) - 1) where x is not positive.
Expr DElu(RuleWriter& w) {
  const Expr x = X(w);
  return Where(x > 0, One(x), w.node().FloatOr("alpha", 1) * Apply("Exp", x));
}
// max(0, x) + min(0, alpha (exp(x / alpha) - 1))
Expr DCelu(RuleWriter& w) {
  const Expr x = X(w);
  return Where(x > 0, One(x), Apply("Exp", x / w.node().FloatOr("alpha", 1)));
}
Expr DSelu(RuleWriter& w) {
  const Expr x = X(w);
  const double alpha = w.node().FloatOr("alpha", 1.67326319217681884765625F);
  const double gamma = w.node().FloatOr("gamma", 1.05070102214813232421875F);
  return Where(x > 0, x.Number(gamma), gamma * alpha * Apply("Exp", x));
}
Expr DHardSigmoid(RuleWriter& w) {
  const Expr y = Y(w);
  const Expr inside = Apply("And", y > 0, y < 1);
  return Where(inside, y.Number(w.node().FloatOr("alpha", 0.2F)), Zero(y));
}
Expr DLeakyRelu(RuleWriter& w) {
  const Expr x = X(w);
  return Where(x < 0, x.Number(w.node().FloatOr("alpha", 0.01F)), One(x));
}

// Where the input is let through, dy; else 0. Not a product: dy may be infinite.
template <auto kPasses>
absl::Status Gate(RuleWriter& w) {
  w.Set(0, Where(kPasses(w), Dy(w), Zero(Dy(w))));
  return absl::OkStatus();
}
Expr ReluPasses(RuleWriter& w) { return X(w) > 0; }
Expr ThresholdedReluPasses(RuleWriter& w) { return X(w) > w.node().FloatOr("alpha", 1); }
Expr ShrinkPasses(RuleWriter& w) { return Apply("Abs", X(w)) > w.node().FloatOr("lambd", 0.5F); }

absl::Status Pass(RuleWriter& w) {
  w.Set(0, w.dy(0));
  return absl::OkStatus();
}

bool IsFloatingPoint(ElementType type) {
  return type == ElementType::kFloat || type == ElementType::kDouble ||
         type == ElementType::kFloat16 || type == ElementType::kBfloat16;
}

// Between floating-point types the derivative is 1; a cast to others is constant but for its steps.
absl::Status CastRule(RuleWriter& w) {
  bool passes = false;
  if (w.node().since_version() == 1) {
    const std::string to = w.node().StringOr("to", "");
    passes = to == "FLOAT" || to == "FLOAT16" || to == "DOUBLE" || to == "BFLOAT16";
  } else {
    passes = IsFloatingPoint(static_cast<ElementType>(w.node().IntOr("to", 0)));
  }
  if (passes) w.Set(0, w.Op("CastLike", {w.dy(0), w.x(0)}));
  return absl::OkStatus();
}
absl::Status CastLikeRule(RuleWriter& w) {
  w.Set(0, w.Op("CastLike", {w.dy(0), w.x(0)}));
  return absl::OkStatus();
}

// --- Broadcast operators -------------------------------------------------------------------------

// Before version 7 the second operand was broadcast by attributes: `axis` is where its first dim
// stands among those of the first operand.
bool HasAxis(RuleWriter& w) { return w.node().since_version() < 7 && w.node().Has("axis"); }

// Operand `i` as today's broadcasting takes it.
Expr Operand(RuleWriter& w, int i) {
  Expr x = X(w, i);
  if (i == 0 || !HasAxis(w)) return x;
  const Expr after = Rank(X(w, 0)) - Rank(x) - Ints(w, {w.node().IntOr("axis", 0)});
  return Reshape(x, Concat(w, {Shape(x), Ones(after)}));
}

// The gradient of operand `i` from that of what it was broadcast to.
void SetBroadcast(RuleWriter& w, int i, const Expr& gradient) {
  if (i == 0 || !HasAxis(w)) return w.Set(i, SumTo(gradient, X(w, i)));
  w.Set(i, ReshapeLike(SumTo(gradient, Operand(w, i)), X(w, i)));
}

absl::Status AddRule(RuleWriter& w) {
  for (int i = 0; i < 2; ++i) {
    if (w.Wants(i)) SetBroadcast(w, i, Dy(w));
  }
  return absl::OkStatus();
}
absl::Status SubRule(RuleWriter& w) {
  if (w.Wants(0)) SetBroadcast(w, 0, Dy(w));
  if (w.Wants(1)) SetBroadcast(w, 1, -Dy(w));
  return absl::OkStatus();
}
absl::Status MulRule(RuleWriter& w) {
  if (w.Wants(0)) SetBroadcast(w, 0, Dy(w) * Operand(w, 1));
  if (w.Wants(1)) SetBroadcast(w, 1, Dy(w) * Operand(w, 0));
  return absl::OkStatus();
}
absl::Status DivRule(RuleWriter& w) {
  const Expr b = Operand(w, 1);
  if (w.Wants(0)) SetBroadcast(w, 0, Dy(w) / b);
  if (w.Wants(1)) SetBroadcast(w, 1, -(Dy(w) * Y(w) / b));
  return absl::OkStatus();
}
// The exponent may be of another type than base and power.
absl::Status PowRule(RuleWriter& w) {
  const Expr a = Operand(w, 0);
  const Expr b(w, w.Op("CastLike", {Operand(w, 1), w.x(0)}));
  if (w.Wants(0)) {
    // b a^(b - 1), but 0 where b is 0, whatever a is.
    const Expr factor = b * Apply("Pow", a, b - 1.0);
    SetBroadcast(w, 0, Dy(w) * Where(Equal(b, Zero(b)), Zero(b), factor));
  }
  if (w.Wants(1)) {
    // a^b log a, which goes to 0 with a.
    const Expr power = Where(Equal(a, Zero(a)), Zero(a), Y(w) * Apply("Log", a));
    const Expr gradient(w, w.Op("CastLike", {Dy(w) * power, w.x(1)}));
    SetBroadcast(w, 1, gradient);
  }
  return absl::OkStatus();
}
// a - b q, where the whole number q is constant but for its steps.
absl::Status ModRule(RuleWriter& w) {
  if (w.Wants(0)) SetBroadcast(w, 0, Dy(w));
  if (w.Wants(1)) SetBroadcast(w, 1, Dy(w) * ((Y(w) - X(w, 0)) / X(w, 1)));
  return absl::OkStatus();
}
absl::Status WhereRule(RuleWriter& w) {
  const Expr zero = Zero(Dy(w));
  if (w.Wants(1)) w.Set(1, SumTo(Where(X(w, 0), Dy(w), zero), X(w, 1)));
  if (w.Wants(2)) w.Set(2, SumTo(Where(X(w, 0), zero, Dy(w)), X(w, 2)));
  return absl::OkStatus();
}
// max(x, 0) + slope min(x, 0)
absl::Status PReluRule(RuleWriter& w) {
  if (w.node().since_version() < 7) return w.NoRule("PRelu before opset 7");
  const Expr x = X(w);
  const Expr negative = x < 0;
  if (w.Wants(0)) w.Set(0, Where(negative, Dy(w) * X(w, 1), Dy(w)));
  if (w.Wants(1)) w.Set(1, SumTo(Where(negative, Dy(w) * x, Zero(x)), X(w, 1)));
  return absl::OkStatus();
}

// --- Any number of inputs ------------------------------------------------------------------------

absl::Status SumRule(RuleWriter& w) {
  for (int i = 0; i < w.input_count(); ++i) {
    if (w.Wants(i)) w.Set(i, SumTo(Dy(w), X(w, i)));
  }
  return absl::OkStatus();
}
absl::Status MeanRule(RuleWriter& w) {
  const Expr part = Dy(w) / w.input_count();
  for (int i = 0; i < w.input_count(); ++i) {
    if (w.Wants(i)) w.Set(i, SumTo(part, X(w, i)));
  }
  return absl::OkStatus();
}
// Max and Min: those that are equal share alike.
absl::Status ExtremeRule(RuleWriter& w) {
  std::vector<std::string> shares;
  shares.reserve(static_cast<size_t>(w.input_count()));
  for (int i = 0; i < w.input_count(); ++i) {
    shares.push_back(w.Op("CastLike", {Equal(X(w, i), Y(w)), w.y(0)}));
  }
  const Expr part = Dy(w) / Expr(w, w.Op("Sum", shares));
  for (int i = 0; i < w.input_count(); ++i) {
    if (w.Wants(i)) w.Set(i, SumTo(part * Expr(w, shares[i]), X(w, i)));
  }
  return absl::OkStatus();
}
// What is on a limit still moves with x.
absl::Status ClipRule(RuleWriter& w) {
  const Expr x = X(w);
  const Expr zero = Zero(x);
  if (w.Wants(0)) w.Set(0, Where(Equal(x, Y(w)), Dy(w), zero));
  if (w.Wants(1)) w.Set(1, SumTo(Where(x < Y(w), Dy(w), zero), X(w, 1)));
  if (w.Wants(2)) w.Set(2, SumTo(Where(x > Y(w), Dy(w), zero), X(w, 2)));
  return absl::OkStatus();
}

constexpr GradientRule kRules[] = {
    {"", "Abs", 1, Chain<DAbs>},
    {"", "Acos", 1, Chain<DAcos>},
    {"", "Acosh", 1, Chain<DAcosh>},
    {"", "Add", 3, AddRule},
    {"", "Asin", 1, Chain<DAsin>},
    {"", "Asinh", 1, Chain<DAsinh>},
    {"", "Atan", 1, Chain<DAtan>},
    {"", "Atanh", 1, Chain<DAtanh>},
    {"", "Cast", 1, CastRule},
    {"", "CastLike", 1, CastLikeRule},
    {"", "Celu", 1, Chain<DCelu>},
    {"", "Clip", 7, ClipRule},
    {"", "Cos", 1, Chain<DCos>},
    {"", "Cosh", 1, Chain<DCosh>},
    {"", "Div", 3, DivRule},
    {"", "Elu", 1, Chain<DElu>},
    {"", "Erf", 1, Chain<DErf>},
    {"", "Exp", 1, Chain<DExp>},
    {"", "HardSigmoid", 1, Chain<DHardSigmoid>},
    {"", "Identity", 1, Pass},
    {"", "LeakyRelu", 1, Chain<DLeakyRelu>},
    {"", "Log", 1, Chain<DLog>},
    {"", "Max", kAllInputs, ExtremeRule},
    {"", "Mean", kAllInputs, MeanRule},
    {"", "Min", kAllInputs, ExtremeRule},
    {"", "Mod", 3, ModRule},
    {"", "Mul", 3, MulRule},
    {"", "Neg", 1, Chain<DNeg>},
    {"", "PRelu", 3, PReluRule},
    {"", "Pow", 3, PowRule},
    {"", "Reciprocal", 1, Chain<DReciprocal>},
    {"", "Relu", 1, Gate<ReluPasses>},
    {"", "Selu", 1, Chain<DSelu>},
    {"", "Shrink", 1, Gate<ShrinkPasses>},
    {"", "Sigmoid", 1, Chain<DSigmoid>},
    {"", "Sin", 1, Chain<DSin>},
    {"", "Sinh", 1, Chain<DSinh>},
    {"", "Softplus", 1, Chain<DSoftplus>},
    {"", "Softsign", 1, Chain<DSoftsign>},
    {"", "Sqrt", 1, Chain<DSqrt>},
    {"", "Sub", 3, SubRule},
    {"", "Sum", kAllInputs, SumRule},
    {"", "Tan", 1, Chain<DTan>},
    {"", "Tanh", 1, Chain<DTanh>},
    {"", "ThresholdedRelu", 1, Gate<ThresholdedReluPasses>},
    {"", "Where", 6, WhereRule},
    // Constant but for their steps, or not of numbers that vary continuously.
    {"", "And", 0, nullptr},
    {"", "Ceil", 0, nullptr},
    {"", "Equal", 0, nullptr},
    {"", "Floor", 0, nullptr},
    {"", "Greater", 0, nullptr},
    {"", "GreaterOrEqual", 0, nullptr},
    {"", "IsInf", 0, nullptr},
    {"", "IsNaN", 0, nullptr},
    {"", "Less", 0, nullptr},
    {"", "LessOrEqual", 0, nullptr},
    {"", "Not", 0, nullptr},
    {"", "Or", 0, nullptr},
    {"", "Round", 0, nullptr},
    {"", "Sign", 0, nullptr},
    {"", "Xor", 0, nullptr},
};

}  // namespace

absl::Span<const GradientRule> ElementwiseGradientRules() { return kRules; }

}  // namespace onnx_run
