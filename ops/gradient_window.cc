// Gradients of operators over windows: convolutions and pooling.
//
// All lengths are int64 vectors with an element for each spatial axis. `reach` is the length that
// the windows cover, (outputs - 1) stride + extent: padding first makes, or cuts, the input to it,
// and what is left to do is a convolution without padding.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/gradient_rules.h"
#include "runtime/status_macros.h"

namespace onnx_run {
namespace {

Expr Spatial(const Expr& a) { return Part(Shape(a), 2, INT64_MAX); }
Expr AtLeastZero(const Expr& a) { return Apply("Max", a, Ints(a.writer(), {0})); }
// `a` with elements put before and after each spatial axis, or, where negative, taken away.
Expr PadSpatial(const Expr& a, const Expr& before, const Expr& after) {
  RuleWriter& w = a.writer();
  const std::string none = w.Ints({0, 0});
  return Apply("Pad", a, Concat(w, {none, before, none, after}));
}

struct Geometry {
  Expr kernel, stride, dilation, extent;
  std::vector<Attribute> attributes;  // strides and dilations, of a convolution with these windows
  std::vector<Attribute> exchanged;   // each in the other's place

  Expr Reach(const Expr& outputs) const {
    const Expr one = Ints(outputs.writer(), {1});
    return (outputs - one) * stride + extent;
  }
};

Geometry GeometryOf(RuleWriter& w, const Expr& kernel) {
  const auto values = [&](const char* name) {
    const std::vector<int64_t> given = w.node().Ints(name);
    return given.empty() ? Ones(Shape(kernel)) : Ints(w, given);
  };
  const Expr one = Ints(w, {1});
  const Expr stride = values("strides");
  const Expr dilation = values("dilations");
  Geometry geometry{kernel, stride, dilation, (kernel - one) * dilation + one, {}, {}};
  const char* const names[2] = {"strides", "dilations"};
  for (int i = 0; i < 2; ++i) {
    const std::vector<int64_t> given = w.node().Ints(names[i]);
    if (given.empty()) continue;
    geometry.attributes.push_back(RuleWriter::IntsAttribute(names[i], given));
    geometry.exchanged.push_back(RuleWriter::IntsAttribute(names[1 - i], given));
  }
  return geometry;
}

struct Padding {
  Expr begin, end;
};

// `total`: what auto_pad has to make up for.
Padding PaddingOf(RuleWriter& w, const Geometry& geometry, const Expr& total) {
  const std::string auto_pad = w.node().StringOr("auto_pad", "NOTSET");
  const std::vector<int64_t> pads = w.node().Ints("pads");
  const Expr zero = geometry.kernel * Ints(w, {0});
  if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
    const Expr less = AtLeastZero(total) / Ints(w, {2});
    const Expr more = AtLeastZero(total) - less;
    return auto_pad == "SAME_UPPER" ? Padding{less, more} : Padding{more, less};
  }
  if (auto_pad == "VALID" || pads.empty()) return {zero, zero};
  const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(pads.size() / 2);
  return {Ints(w, {pads.begin(), middle}), Ints(w, {middle, pads.end()})};
}

// Of a convolution with `groups` groups: the weights' gradient from the input, as long as the
// windows reach, and the outputs' gradient. A convolution itself, in which batch and channels are
// exchanged, and strides and dilations.
Expr WeightGradient(RuleWriter& w, const Expr& input, const Expr& output, const Expr& weights,
                    const Geometry& geometry) {
  const int64_t groups = w.node().IntOr("group", 1);
  const Expr batch = Part(Shape(input), 0, 1);
  const Expr outputs = Part(Shape(weights), 0, 1);
  const Expr channels = Part(Shape(weights), 1, 2);  // of a group
  const auto flat = [&](const Expr& a) { return Expr(w, w.Op("ReduceProd", {Spatial(a)})); };
  const auto exchange = [&](const Expr& a, const Expr& first, std::vector<int64_t> perm) {
    return Expr(w, w.Op("Transpose", {Reshape(a, first)},
                        {RuleWriter::IntsAttribute("perm", std::move(perm))}));
  };
  // [batch, group, channel, ...] -> [channel, group and batch, ...]
  const Expr x = Reshape(
      exchange(input, Concat(w, {batch, Ints(w, {groups}), channels, flat(input)}), {2, 1, 0, 3}),
      Concat(w, {channels, batch * Ints(w, {groups}), Spatial(input)}));
  const Expr dy = Reshape(exchange(output, Concat(w, {batch, outputs, flat(output)}), {1, 0, 2}),
                          Concat(w, {outputs, batch, Spatial(output)}));
  std::vector<Attribute> attributes = geometry.exchanged;
  attributes.push_back(RuleWriter::IntAttribute("group", groups));
  const Expr dw(w, w.Op("Conv", {x, dy}, attributes));
  return ReshapeLike(exchange(dw, Concat(w, {channels, outputs, flat(dw)}), {1, 0, 2}), weights);
}

Expr BiasGradient(RuleWriter& w) {
  const Expr axes = Concat(w, {Ints(w, {0}), AxesFrom(Dy(w), 2)});
  return ReshapeLike(ReduceKeeping("ReduceSum", Dy(w), axes), X(w, 2));
}

std::vector<Attribute> WithGroup(RuleWriter& w, const Geometry& geometry) {
  std::vector<Attribute> attributes = geometry.attributes;
  attributes.push_back(RuleWriter::IntAttribute("group", w.node().IntOr("group", 1)));
  return attributes;
}

absl::Status ConvRule(RuleWriter& w) {
  const Geometry geometry = GeometryOf(w, Spatial(X(w, 1)));
  const Expr reach = geometry.Reach(Spatial(Dy(w)));
  const Expr length = Spatial(X(w));
  const Padding padding = PaddingOf(w, geometry, reach - length);
  const Expr after = reach - padding.begin - length;
  if (w.Wants(0)) {
    const Expr full(w, w.Op("ConvTranspose", {w.dy(0), w.x(1)}, WithGroup(w, geometry)));
    w.Set(0, PadSpatial(full, -padding.begin, -after));
  }
  if (w.Wants(1)) {
    const Expr input = PadSpatial(X(w), padding.begin, after);
    w.Set(1, WeightGradient(w, input, Dy(w), X(w, 1), geometry));
  }
  if (w.Wants(2)) w.Set(2, BiasGradient(w));
  return absl::OkStatus();
}

absl::Status ConvTransposeRule(RuleWriter& w) {
  const Geometry geometry = GeometryOf(w, Spatial(X(w, 1)));
  const Expr reach = geometry.Reach(Spatial(X(w)));
  const Expr length = Spatial(Dy(w));
  const std::vector<int64_t> output_padding = w.node().Ints("output_padding");
  const Expr full = output_padding.empty() ? reach : reach + Ints(w, output_padding);
  Padding padding = PaddingOf(w, geometry, full - length);
  if (!w.node().Ints("output_shape").empty() &&
      w.node().StringOr("auto_pad", "NOTSET") != "SAME_UPPER") {
    const Expr total = AtLeastZero(full - length);
    padding.begin = total - total / Ints(w, {2});
  }
  const Expr dy = PadSpatial(Dy(w), padding.begin, reach - padding.begin - length);
  if (w.Wants(0)) w.Set(0, w.Op("Conv", {dy, w.x(1)}, WithGroup(w, geometry)));
  if (w.Wants(1)) w.Set(1, WeightGradient(w, dy, X(w), X(w, 1), geometry));
  if (w.Wants(2)) w.Set(2, BiasGradient(w));
  return absl::OkStatus();
}

// To the greatest of each window, which the operator numbers when it is asked to.
absl::Status MaxPoolRule(RuleWriter& w) {
  if (w.dy(0).empty()) return absl::OkStatus();
  std::vector<Attribute> attributes;
  for (const Attribute& attribute : w.node().node().attributes) {
    if (attribute.name != "storage_order") attributes.push_back(attribute);
  }
  const std::vector<std::string> outputs = w.Ops("MaxPool", {w.x(0)}, 2, attributes);
  w.Set(0, w.Helper("ScatterBack", {w.dy(0), outputs[1], w.x(0)}));
  return absl::OkStatus();
}

// A convolution with ones, each channel for itself, divided by how many elements a window holds.
absl::Status AveragePoolRule(RuleWriter& w) {
  const Geometry geometry = GeometryOf(w, Ints(w, w.node().Ints("kernel_shape")));
  const Expr outputs = Spatial(Dy(w));
  const Expr reach = geometry.Reach(outputs);
  const Expr length = Spatial(X(w));
  const Padding padding = PaddingOf(w, geometry, reach - length);
  const Expr one = Ints(w, {1});
  const Expr after = reach - padding.begin - length;
  const Expr unit = Dy(w).Number(1);
  const Expr ones = Apply("Expand", unit, Concat(w, {one, one, geometry.kernel}));
  Expr held = Apply("Expand", unit, Concat(w, {one, one, length}));
  if (w.node().IntOr("count_include_pad", 0) != 0) {
    const Expr padded = length + padding.begin + padding.end;
    held = PadSpatial(Apply("Expand", unit, Concat(w, {one, one, padded})),
                      geometry.kernel * Ints(w, {0}), reach - padded);
  } else {
    held = PadSpatial(held, padding.begin, after);
  }
  const Expr count(w, w.Op("Conv", {held, ones}, geometry.attributes));
  const Expr planes(w, w.Op("ReduceProd", {Part(Shape(X(w)), 0, 2)}));
  const Expr part = Reshape(Dy(w) / count, Concat(w, {planes, one, outputs}));
  const Expr full(w, w.Op("ConvTranspose", {part, ones}, geometry.attributes));
  w.Set(0, ReshapeLike(PadSpatial(full, -padding.begin, -after), X(w)));
  return absl::OkStatus();
}

constexpr GradientRule kRules[] = {
    {"", "AveragePool", 1, AveragePoolRule},
    {"", "Conv", 7, ConvRule},
    {"", "ConvTranspose", 7, ConvTransposeRule},
    {"", "MaxPool", 1, MaxPoolRule},
};

}  // namespace

absl::Span<const GradientRule> WindowGradientRules() { return kRules; }

}  // namespace onnx_run
