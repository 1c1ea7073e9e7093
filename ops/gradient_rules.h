// What the tables of gradient rules share: expressions that read like the formulas they write.
#ifndef ONNX_RUN_OPS_GRADIENT_RULES_H_
#define ONNX_RUN_OPS_GRADIENT_RULES_H_

#include <string>
#include <utility>

#include "absl/types/span.h"
#include "runtime/gradient_rules.h"

namespace onnx_run {

absl::Span<const GradientRule> ElementwiseGradientRules();  // ops/gradient_elementwise.cc
absl::Span<const GradientRule> ShapeGradientRules();        // ops/gradient_shape.cc
absl::Span<const GradientRule> NeuralGradientRules();       // ops/gradient_neural.cc
absl::Span<const GradientRule> WindowGradientRules();       // ops/gradient_window.cc

inline constexpr uint32_t kAllInputs = ~0U;

// A value of the function that a rule writes. Operators add nodes; a number becomes a constant of
// the other operand's type.
class Expr {
 public:
  Expr(RuleWriter& w, std::string name) : writer_(&w), name_(std::move(name)) {}
  const std::string& name() const { return name_; }
  operator std::string() const { return name_; }  // NOLINT: meant to convert
  RuleWriter& writer() const { return *writer_; }
  Expr Number(double value) const { return {*writer_, writer_->Like(value, name_)}; }

 private:
  RuleWriter* writer_;
  std::string name_;
};

inline Expr Apply(const char* op_type, const Expr& a) {
  return {a.writer(), a.writer().Op(op_type, {a})};
}
inline Expr Apply(const char* op_type, const Expr& a, const Expr& b) {
  return {a.writer(), a.writer().Op(op_type, {a, b})};
}
inline Expr Where(const Expr& condition, const Expr& a, const Expr& b) {
  return {a.writer(), a.writer().Op("Where", {condition, a, b})};
}

inline Expr operator+(const Expr& a, const Expr& b) { return Apply("Add", a, b); }
inline Expr operator-(const Expr& a, const Expr& b) { return Apply("Sub", a, b); }
inline Expr operator*(const Expr& a, const Expr& b) { return Apply("Mul", a, b); }
inline Expr operator/(const Expr& a, const Expr& b) { return Apply("Div", a, b); }
inline Expr operator+(const Expr& a, double b) { return a + a.Number(b); }
inline Expr operator-(const Expr& a, double b) { return a - a.Number(b); }
inline Expr operator*(const Expr& a, double b) { return a * a.Number(b); }
inline Expr operator/(const Expr& a, double b) { return a / a.Number(b); }
inline Expr operator+(double a, const Expr& b) { return b.Number(a) + b; }
inline Expr operator-(double a, const Expr& b) { return b.Number(a) - b; }
inline Expr operator*(double a, const Expr& b) { return b.Number(a) * b; }
inline Expr operator/(double a, const Expr& b) { return b.Number(a) / b; }
inline Expr operator-(const Expr& a) { return Apply("Neg", a); }
// Bools, for Where.
inline Expr operator>(const Expr& a, double b) { return Apply("Greater", a, a.Number(b)); }
inline Expr operator<(const Expr& a, double b) { return Apply("Less", a, a.Number(b)); }
inline Expr operator>(const Expr& a, const Expr& b) { return Apply("Greater", a, b); }
inline Expr operator<(const Expr& a, const Expr& b) { return Apply("Less", a, b); }
inline Expr Equal(const Expr& a, const Expr& b) { return Apply("Equal", a, b); }

inline Expr X(RuleWriter& w, int i = 0) { return {w, w.x(i)}; }
inline Expr Y(RuleWriter& w, int i = 0) { return {w, w.y(i)}; }
inline Expr Dy(RuleWriter& w, int i = 0) { return {w, w.dy(i)}; }
inline Expr Shape(const Expr& a) { return Apply("Shape", a); }
// `a` in the dims that the int64 vector `shape` has; a 0 is a dim of 0.
inline Expr Reshape(const Expr& a, const Expr& shape) {
  return {a.writer(),
          a.writer().Op("Reshape", {a, shape}, {RuleWriter::IntAttribute("allowzero", 1)})};
}
inline Expr ReshapeLike(const Expr& a, const Expr& like) { return Reshape(a, Shape(like)); }
inline Expr ExpandLike(const Expr& a, const Expr& like) { return Apply("Expand", a, Shape(like)); }
// Sums of `a` over the axes along which `like` was broadcast, in the shape of `like`.
inline Expr SumTo(const Expr& a, const Expr& like) {
  return {a.writer(), a.writer().Helper("SumTo", {a, like})};
}
inline Expr Ints(RuleWriter& w, std::vector<int64_t> values) {
  return {w, w.Ints(std::move(values))};
}
// Elements [begin, end) of an int64 vector.
inline Expr Part(const Expr& vector, int64_t begin, int64_t end) {
  RuleWriter& w = vector.writer();
  return {w, w.Op("Slice", {vector, w.Ints({begin}), w.Ints({end})})};
}
inline Expr Concat(RuleWriter& w, std::vector<std::string> vectors) {
  return {w, w.Op("Concat", std::move(vectors), {RuleWriter::IntAttribute("axis", 0)})};
}
// As many ones as the int64 vector of one element `count` says.
inline Expr Ones(const Expr& count) {
  RuleWriter& w = count.writer();
  return {w, w.Op("Expand", {w.Ints({1}), count})};
}
// The rank of `a`, as a vector of one element.
inline Expr Rank(const Expr& a) { return Shape(Shape(a)); }
// Numbers first, first + 1, ... up to the rank of `a`.
inline Expr AxesFrom(const Expr& a, int64_t first) {
  RuleWriter& w = a.writer();
  const auto scalar = [&w](int64_t value) {
    return w.Op("Constant", {}, {RuleWriter::IntAttribute("value_int", value)});
  };
  return {w, w.Op("Range", {scalar(first), w.Op("Squeeze", {Rank(a)}), scalar(1)})};
}
// A reduction over the axes in an int64 vector, which stay as 1; over none when it is empty.
inline Expr ReduceKeeping(const char* op_type, const Expr& a, const Expr& axes) {
  return {a.writer(),
          a.writer().Op(op_type, {a, axes}, {RuleWriter::IntAttribute("noop_with_empty_axes", 1)})};
}

// dx = dy times what the function says.
template <auto kDerivative>
absl::Status Chain(RuleWriter& w) {
  w.Set(0, Dy(w) * kDerivative(w));
  return absl::OkStatus();
}

}  // namespace onnx_run

#endif  // ONNX_RUN_OPS_GRADIENT_RULES_H_
