// Resize and Upsample, all versions. Interpolation is separable: one axis is resized after another,
// each output along it a weighted sum of a few inputs. Nearest neighbours are only moved.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/dispatch.h"
#include "ops/families.h"
#include "ops/kernel_table.h"
#include "ops/resample.h"
#include "ops/shape_util.h"
#include "ops/strided_copy.h"
#include "runtime/status_macros.h"

namespace onnx_run {
namespace {

enum class Mode : uint8_t { kNearest, kLinear, kCubic };
enum class Transform : uint8_t {
  kHalfPixel,
  kHalfPixelSymmetric,
  kPytorchHalfPixel,
  kAlignCorners,
  kAsymmetric,
  kCropAndResize,
};
enum class Nearest : uint8_t { kPreferFloor, kPreferCeil, kFloor, kCeil };
enum class AspectRatio : uint8_t { kStretch, kNotLarger, kNotSmaller };

struct ResizeAttributes {
  Mode mode = Mode::kNearest;
  Transform transform = Transform::kAsymmetric;
  Nearest nearest = Nearest::kFloor;
  AspectRatio aspect_ratio = AspectRatio::kStretch;
  double cubic_a = -0.75;
  bool exclude_outside = false;
  bool antialias = false;
  double extrapolation_value = 0;
  bool has_axes = false;
  std::vector<int64_t> axes;
  std::vector<float> scales;  // where they are attributes
};

template <typename E>
struct Choice {
  const char* name;
  E value;
};
template <typename E, size_t kCount>
absl::StatusOr<E> ParseChoice(const NodeInfo& node, const char* attribute, const char* fallback,
                              const Choice<E> (&choices)[kCount]) {
  const std::string found = node.StringOr(attribute, fallback);
  std::string expected;
  for (const Choice<E>& choice : choices) {
    if (found == choice.name) return choice.value;
    absl::StrAppend(&expected, expected.empty() ? "" : ", ", "\"", choice.name, "\"");
  }
  return node.BadAttribute(attribute, absl::StrCat("\"", found, "\""),
                           absl::StrCat("one of ", expected));
}

constexpr Choice<Mode> kModes[] = {
    {"nearest", Mode::kNearest}, {"linear", Mode::kLinear}, {"cubic", Mode::kCubic}};
constexpr Choice<Mode> kModesBefore11[] = {
    {"nearest", Mode::kNearest}, {"linear", Mode::kLinear}, {"bilinear", Mode::kLinear}};
constexpr Choice<Transform> kTransforms[] = {
    {"half_pixel", Transform::kHalfPixel},
    {"half_pixel_symmetric", Transform::kHalfPixelSymmetric},
    {"pytorch_half_pixel", Transform::kPytorchHalfPixel},
    {"align_corners", Transform::kAlignCorners},
    {"asymmetric", Transform::kAsymmetric},
    {"tf_half_pixel_for_nn", Transform::kHalfPixel},  // of version 11
    {"tf_crop_and_resize", Transform::kCropAndResize}};
constexpr Choice<Nearest> kNearestModes[] = {{"round_prefer_floor", Nearest::kPreferFloor},
                                             {"round_prefer_ceil", Nearest::kPreferCeil},
                                             {"floor", Nearest::kFloor},
                                             {"ceil", Nearest::kCeil}};
constexpr Choice<AspectRatio> kAspectRatios[] = {{"stretch", AspectRatio::kStretch},
                                                 {"not_larger", AspectRatio::kNotLarger},
                                                 {"not_smaller", AspectRatio::kNotSmaller}};

absl::StatusOr<ResizeAttributes> ParseResize(const NodeInfo& node) {
  ResizeAttributes attributes;
  ASSIGN_OR_RETURN(attributes.mode, ParseChoice(node, "mode", "nearest", kModes));
  ASSIGN_OR_RETURN(attributes.transform,
                   ParseChoice(node, "coordinate_transformation_mode", "half_pixel", kTransforms));
  ASSIGN_OR_RETURN(attributes.nearest,
                   ParseChoice(node, "nearest_mode", "round_prefer_floor", kNearestModes));
  ASSIGN_OR_RETURN(attributes.aspect_ratio,
                   ParseChoice(node, "keep_aspect_ratio_policy", "stretch", kAspectRatios));
  attributes.cubic_a = node.FloatOr("cubic_coeff_a", -0.75F);
  attributes.exclude_outside = node.IntOr("exclude_outside", 0) != 0;
  attributes.antialias = node.IntOr("antialias", 0) != 0;
  attributes.extrapolation_value = node.FloatOr("extrapolation_value", 0);
  attributes.has_axes = node.Has("axes");
  attributes.axes = node.Ints("axes");
  if (attributes.antialias && attributes.mode == Mode::kNearest) {
    return node.BadAttribute("antialias", "1", "0 with mode \"nearest\"");
  }
  return attributes;
}

// Before version 11 coordinates are asymmetric and the nearest neighbour is the one below.
absl::StatusOr<ResizeAttributes> ParseUpsample(const NodeInfo& node) {
  ResizeAttributes attributes;
  ASSIGN_OR_RETURN(attributes.mode, ParseChoice(node, "mode", "nearest", kModesBefore11));
  attributes.scales = node.Floats("scales");
  if (node.op_type() == "Upsample" && node.since_version() < 7) {
    ASSIGN_OR_RETURN(const float height, node.Float("height_scale"));
    ASSIGN_OR_RETURN(const float width, node.Float("width_scale"));
    attributes.scales = {1, 1, height, width};
  }
  return attributes;
}

// What becomes of one axis.
struct AxisPlan {
  int64_t input;
  int64_t output;
  double scale = 1;
  double roi_start = 0;
  double roi_end = 1;
  bool changes = false;
};

absl::StatusOr<std::vector<double>> ReadDoubles(KernelContext& context, const Tensor& tensor) {
  ASSIGN_OR_RETURN(const Tensor values, ConvertTensor(context, tensor, ElementType::kDouble));
  return std::vector<double>(values.span<double>().begin(), values.span<double>().end());
}

absl::Status WrongCount(absl::string_view what, int64_t found, size_t expected) {
  return absl::InvalidArgumentError(
      absl::StrCat(what, " has ", found, " numbers, expected ", expected));
}

class ResizePlan {
 public:
  ResizePlan(const ResizeAttributes& attributes, KernelContext& context)
      : attributes_(attributes), context_(context) {}

  // Sizes and scales of all axes.
  absl::Status Make() {
    const Tensor& x = context_.input(0);
    for (const int64_t dim : x.dims()) axes_.push_back({.input = dim, .output = dim});
    absl::InlinedVector<int, 6> which(x.rank());
    for (int i = 0; i < x.rank(); ++i) which[i] = i;
    if (attributes_.has_axes) {
      ASSIGN_OR_RETURN(which, NormalizeAxes(attributes_.axes, x.rank()));
    }
    RETURN_IF_ERROR(ReadRoi(which));
    RETURN_IF_ERROR(ReadSizes(which));
    for (AxisPlan& axis : axes_) {
      axis.changes = axis.input != axis.output || std::abs(axis.scale - 1) > 1e-9 ||
                     (crop() && (axis.roi_start != 0 || axis.roi_end != 1));
      if (axis.input == 0 && axis.output != 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("X is ", TypeAndDims(x), ", of which no element can be made"));
      }
    }
    return absl::OkStatus();
  }

  const std::vector<AxisPlan>& axes() const { return axes_; }
  bool crop() const { return attributes_.transform == Transform::kCropAndResize; }
  Dims OutputDims() const {
    Dims dims;
    for (const AxisPlan& axis : axes_) dims.push_back(axis.output);
    return dims;
  }

  // Where output `o` of the axis is in the input.
  double Position(const AxisPlan& axis, int64_t o) const {
    const auto x = static_cast<double>(o);
    const auto input = static_cast<double>(axis.input);
    const double output = axis.scale * input;  // may be between integers
    switch (attributes_.transform) {
      case Transform::kAsymmetric: return x / axis.scale;
      case Transform::kHalfPixel: return (x + 0.5) / axis.scale - 0.5;
      case Transform::kPytorchHalfPixel:
        return axis.output > 1 ? (x + 0.5) / axis.scale - 0.5 : 0.0;
      case Transform::kHalfPixelSymmetric: {
        const double adjustment = static_cast<double>(axis.output) / output;
        return input / 2 * (1 - adjustment) + (x + 0.5) / axis.scale - 0.5;
      }
      case Transform::kAlignCorners: return output == 1 ? 0.0 : x * (input - 1) / (output - 1);
      case Transform::kCropAndResize: {
        const double length = axis.roi_end - axis.roi_start;
        if (output == 1) return (axis.roi_start + length / 2) * (input - 1);
        return axis.roi_start * (input - 1) + x * length * (input - 1) / (output - 1);
      }
    }
    return 0;
  }
  bool Outside(const AxisPlan& axis, double position) const {
    return crop() && !(position >= 0 && position <= static_cast<double>(axis.input - 1));
  }

 private:
  absl::Status ReadRoi(absl::Span<const int> which) {
    const bool has_roi = context_.since_version() >= 11 && context_.has_input(1) &&
                         context_.input(1).size() != 0 && context_.node().op_type() == "Resize";
    if (!crop()) return absl::OkStatus();
    if (!has_roi) {
      return absl::InvalidArgumentError("\"tf_crop_and_resize\" needs the input roi");
    }
    ASSIGN_OR_RETURN(const std::vector<double> roi, ReadDoubles(context_, context_.input(1)));
    if (roi.size() != 2 * which.size()) {
      return WrongCount("roi", static_cast<int64_t>(roi.size()), 2 * which.size());
    }
    for (size_t i = 0; i < which.size(); ++i) {
      axes_[which[i]].roi_start = roi[i];
      axes_[which[i]].roi_end = roi[which.size() + i];
    }
    return absl::OkStatus();
  }

  absl::Status ReadSizes(absl::Span<const int> which) {
    std::vector<double> scales(attributes_.scales.begin(), attributes_.scales.end());
    const bool since_11 = context_.since_version() >= 11 && context_.node().op_type() == "Resize";
    const int scales_input = since_11 ? 2 : 1;
    if (context_.has_input(scales_input)) {
      ASSIGN_OR_RETURN(scales, ReadDoubles(context_, context_.input(scales_input)));
    }
    const bool has_sizes = since_11 && context_.has_input(3) && context_.input(3).size() != 0;
    if (has_sizes != scales.empty() && !which.empty()) {
      return absl::InvalidArgumentError(
          has_sizes ? "both scales and sizes are given, expected one of them"
                    : "neither scales nor sizes is given, expected one of them");
    }
    if (!has_sizes) return UseScales(which, scales);
    ASSIGN_OR_RETURN(const Dims sizes, ReadInts(context_.input(3)));
    return UseSizes(which, sizes);
  }

  absl::Status UseScales(absl::Span<const int> which, const std::vector<double>& scales) {
    if (scales.size() != which.size()) {
      return WrongCount("scales", static_cast<int64_t>(scales.size()), which.size());
    }
    for (size_t i = 0; i < which.size(); ++i) {
      AxisPlan& axis = axes_[which[i]];
      const double output = std::floor(static_cast<double>(axis.input) * scales[i]);
      if (!(scales[i] > 0) || !(output < 0x1p62)) {
        return absl::InvalidArgumentError(
            absl::StrCat("scale ", i, " is ", scales[i], ", expected a positive number"));
      }
      axis.scale = scales[i];
      axis.output = static_cast<int64_t>(output);
    }
    return absl::OkStatus();
  }

  absl::Status UseSizes(absl::Span<const int> which, const Dims& sizes) {
    if (sizes.size() != which.size()) {
      return WrongCount("sizes", static_cast<int64_t>(sizes.size()), which.size());
    }
    double least = HUGE_VAL;
    double greatest = 0;
    for (size_t i = 0; i < which.size(); ++i) {
      AxisPlan& axis = axes_[which[i]];
      if (sizes[i] < 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("size ", i, " is ", sizes[i], ", expected none below 0"));
      }
      axis.output = sizes[i];
      axis.scale =
          axis.input == 0 ? 1 : static_cast<double>(axis.output) / static_cast<double>(axis.input);
      least = std::min(least, axis.scale);
      greatest = std::max(greatest, axis.scale);
    }
    if (attributes_.aspect_ratio == AspectRatio::kStretch) return absl::OkStatus();
    const double scale = attributes_.aspect_ratio == AspectRatio::kNotLarger ? least : greatest;
    for (const int i : which) {
      AxisPlan& axis = axes_[i];
      axis.scale = scale;
      const double output = std::floor(scale * static_cast<double>(axis.input) + 0.5);
      if (!(output < 0x1p62)) {
        return absl::InvalidArgumentError(absl::StrCat("size ", i, " becomes ", output));
      }
      axis.output = static_cast<int64_t>(output);
    }
    return absl::OkStatus();
  }

  const ResizeAttributes& attributes_;
  KernelContext& context_;
  std::vector<AxisPlan> axes_;
};

// --- Nearest
// -------------------------------------------------------------------------------------------

int64_t NearestIndex(Nearest mode, double position, int64_t input) {
  const double low = std::floor(position);
  const double rest = position - low;
  bool up = false;
  switch (mode) {
    case Nearest::kPreferFloor: up = rest > 0.5; break;
    case Nearest::kPreferCeil: up = rest >= 0.5; break;
    case Nearest::kFloor: break;
    case Nearest::kCeil: up = rest > 0; break;
  }
  const double index = up ? low + 1 : low;
  if (!(index > 0)) return 0;
  return index >= static_cast<double>(input) ? input - 1 : static_cast<int64_t>(index);
}

// Output is moved from the input by one map of indices for each axis; -1 is the extrapolation
// value.
template <typename T>
void MoveNearest(const KernelContext& context, const ResizePlan& plan,
                 const std::vector<std::vector<int64_t>>& maps, int64_t block, const T* in, T* out,
                 const T& extrapolation) {
  // The last mapped axis is the inner loop; `block` elements after it stay together.
  const auto last = static_cast<int>(maps.size()) - 1;
  const int64_t columns = plan.axes()[last].output;
  const int64_t in_row = plan.axes()[last].input * block;
  int64_t rows = 1;
  for (int d = 0; d < last; ++d) rows *= plan.axes()[d].output;
  const std::vector<int64_t>& map = maps[last];
  const int64_t grain = std::max<int64_t>(1, 32768 / std::max<int64_t>(1, columns * block));
  context.ParallelFor(rows, grain, [&](int64_t begin, int64_t end) {
    int64_t previous = -2;
    for (int64_t row = begin; row < end; ++row) {
      int64_t rest = row;
      int64_t from = 0;
      int64_t stride = 1;
      for (int d = last - 1; d >= 0; --d) {
        const AxisPlan& axis = plan.axes()[d];
        const int64_t index = maps[d][rest % axis.output];
        rest /= axis.output;
        from = index < 0 || from < 0 ? -1 : from + index * stride;
        stride *= axis.input;
      }
      T* to = out + row * columns * block;
      if (from < 0) {
        std::fill_n(to, columns * block, extrapolation);
      } else if (from == previous && row > begin) {
        std::copy_n(to - columns * block, columns * block, to);
      } else if (block == 1) {
        const T* x = in + from * in_row;
        for (int64_t i = 0; i < columns; ++i) to[i] = map[i] < 0 ? extrapolation : x[map[i]];
      } else {
        for (int64_t i = 0; i < columns; ++i) {
          if (map[i] < 0) {
            std::fill_n(to + i * block, block, extrapolation);
          } else {
            std::copy_n(in + from * in_row + map[i] * block, block, to + i * block);
          }
        }
      }
      previous = from;
    }
  });
}

absl::Status ResizeNearest(const ResizeAttributes& attributes, const ResizePlan& plan,
                           KernelContext& context) {
  const Tensor& x = context.input(0);
  const ElementType type = x.type();
  ASSIGN_OR_RETURN(Tensor * output, context.Output(0, type, plan.OutputDims()));
  if (output->size() == 0) return absl::OkStatus();
  int mapped = static_cast<int>(plan.axes().size());
  int64_t block = 1;
  while (mapped > 1 && !plan.axes()[mapped - 1].changes) block *= plan.axes()[--mapped].input;
  std::vector<std::vector<int64_t>> maps(mapped);
  for (int d = 0; d < mapped; ++d) {
    const AxisPlan& axis = plan.axes()[d];
    maps[d].resize(axis.output);
    for (int64_t o = 0; o < axis.output; ++o) {
      if (!axis.changes) {
        maps[d][o] = o;
        continue;
      }
      const double position = plan.Position(axis, o);
      maps[d][o] = plan.Outside(axis, position)
                       ? -1
                       : NearestIndex(attributes.nearest, position, axis.input);
    }
  }
  return VisitWidth(type, [&]<typename T>(Tag<T>) {
    T extrapolation{};
    if constexpr (std::is_integral_v<T>) {
      if (KindOf(type) != ElementKind::kComplex) {
        extrapolation = static_cast<T>(CodeFromDouble(attributes.extrapolation_value, type));
      }
    }
    MoveNearest(context, plan, maps, block, x.data_as<T>(), output->mutable_data_as<T>(),
                extrapolation);
    return absl::OkStatus();
  });
}

// --- Linear and cubic
// --------------------------------------------------------------------------------

// For each output of an axis the same number of inputs and weights.
struct WeightTable {
  int64_t count;
  std::vector<int64_t> indices;
  std::vector<double> weights;
  std::vector<bool> outside;  // the extrapolation value instead
};

// Weights of the inputs at floor + first + i, of a point at `ratio` in (0, 1] past floor.
void FillWeights(const ResizeAttributes& attributes, double ratio, double scale, int64_t first,
                 absl::Span<double> weights) {
  const double a = attributes.cubic_a;
  if (!attributes.antialias) {
    if (attributes.mode == Mode::kLinear) {
      weights[0] = 1 - ratio;
      weights[1] = ratio;
    } else {
      CubicWeights(ratio, a, weights.data());
    }
    return;
  }
  double sum = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    const double x =
        std::abs(scale * (static_cast<double>(first + static_cast<int64_t>(i)) - ratio));
    double weight = 0;
    if (attributes.mode == Mode::kLinear) {
      weight = std::max(0.0, 1 - x);
    } else if (x <= 1) {
      weight = ((a + 2) * x - (a + 3)) * x * x + 1;
    } else if (x < 2) {
      weight = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
    }
    weights[i] = weight;
    sum += weight;
  }
  for (double& weight : weights) weight /= sum;
}

WeightTable MakeWeights(const ResizeAttributes& attributes, const ResizePlan& plan,
                        const AxisPlan& axis) {
  const double reach = attributes.mode == Mode::kLinear ? 1 : 2;
  // Antialiasing widens the kernel where the axis shrinks.
  const double scale = attributes.antialias ? std::min(axis.scale, 1.0) : 1.0;
  const auto first = static_cast<int64_t>(std::floor(-reach / scale)) + 1;
  WeightTable table;
  table.count = 2 - 2 * first;
  table.indices.resize(axis.output * table.count);
  table.weights.resize(axis.output * table.count);
  table.outside.resize(axis.output);
  for (int64_t o = 0; o < axis.output; ++o) {
    double position = plan.Position(axis, o);
    table.outside[o] = plan.Outside(axis, position);
    // Far outside is at the edge too, and NaN somewhere.
    const double far = static_cast<double>(axis.input) + 2.0 * static_cast<double>(table.count);
    position = std::isnan(position) ? 0 : std::clamp(position, -far, far);
    // The neighbour to the left is preferred: an integer is at ratio 1 past the one before.
    const double low = std::ceil(position) - 1;
    const absl::Span<double> weights(table.weights.data() + o * table.count, table.count);
    FillWeights(attributes, position - low, scale, first, weights);
    double sum = 0;
    for (int64_t i = 0; i < table.count; ++i) {
      const int64_t index = static_cast<int64_t>(low) + first + i;
      if (attributes.exclude_outside && (index < 0 || index >= axis.input)) weights[i] = 0;
      sum += weights[i];
      table.indices[o * table.count + i] = std::clamp<int64_t>(index, 0, axis.input - 1);
    }
    if (attributes.exclude_outside && sum != 0) {
      for (double& weight : weights) weight /= sum;
    }
  }
  return table;
}

// One axis of [outer, input, inner].
template <typename T>
void ResizeAxis(const KernelContext& context, const WeightTable& table, const AxisPlan& axis,
                int64_t outer, int64_t inner, T extrapolation, const T* in, T* out) {
  constexpr int64_t kChunk = 256;
  const int64_t count = table.count;
  const int64_t work = std::max<int64_t>(1, inner * count);
  context.ParallelFor(outer * axis.output, std::max<int64_t>(1, 32768 / work),
                      [&](int64_t begin, int64_t end) {
                        double sums[kChunk];
                        for (int64_t row = begin; row < end; ++row) {
                          const int64_t o = row % axis.output;
                          const T* from = in + row / axis.output * axis.input * inner;
                          T* to = out + row * inner;
                          const int64_t* indices = table.indices.data() + o * count;
                          const double* weights = table.weights.data() + o * count;
                          if (table.outside[o]) {
                            std::fill_n(to, inner, extrapolation);
                          } else if (inner == 1) {
                            double sum = 0;
                            for (int64_t i = 0; i < count; ++i)
                              sum += weights[i] * static_cast<double>(from[indices[i]]);
                            to[0] = static_cast<T>(sum);
                          } else {
                            for (int64_t first = 0; first < inner; first += kChunk) {
                              const int64_t n = std::min(kChunk, inner - first);
                              std::fill_n(sums, n, 0.0);
                              for (int64_t i = 0; i < count; ++i) {
                                const T* x = from + indices[i] * inner + first;
                                const double weight = weights[i];
                                if (weight == 0) continue;
                                for (int64_t j = 0; j < n; ++j)
                                  sums[j] += weight * static_cast<double>(x[j]);
                              }
                              for (int64_t j = 0; j < n; ++j)
                                to[first + j] = static_cast<T>(sums[j]);
                            }
                          }
                        }
                      });
}

absl::Status ResizeBetween(const ResizeAttributes& attributes, const ResizePlan& plan,
                           KernelContext& context) {
  const Tensor& x = context.input(0);
  ASSIGN_OR_RETURN(RealElements real, ToReal(context, x));
  // Checked before anything is made of it.
  RETURN_IF_ERROR(ElementCount(plan.OutputDims()).status());
  Tensor current = std::move(real.values);
  for (size_t d = 0; d < plan.axes().size(); ++d) {
    const AxisPlan& axis = plan.axes()[d];
    if (!axis.changes) continue;
    Dims dims = current.dims();
    const AxisView view = ViewAround(dims, static_cast<int>(d));
    dims[d] = axis.output;
    ASSIGN_OR_RETURN(Tensor next, context.Allocate(current.type(), dims));
    if (next.size() != 0) {
      const WeightTable table = MakeWeights(attributes, plan, axis);
      RETURN_IF_ERROR(VisitType(Floats(), current.type(), [&]<typename T>(Tag<T>) {
        ResizeAxis<T>(context, table, axis, view.outer, view.inner,
                      static_cast<T>(attributes.extrapolation_value), current.data_as<T>(),
                      next.mutable_data_as<T>());
        return absl::OkStatus();
      }));
    }
    current = std::move(next);
  }
  if (IsInteger(x.type()) && !current.Writable()) {
    ASSIGN_OR_RETURN(current, current.Clone(context.pool()));
  }
  return SetOutputFromReal(context, 0, std::move(current), x.type(), IntegerRounding::kNearestEven);
}

absl::Status Resize(const ResizeAttributes& attributes, KernelContext& context) {
  ResizePlan plan(attributes, context);
  RETURN_IF_ERROR(plan.Make());
  const bool changes = std::any_of(plan.axes().begin(), plan.axes().end(),
                                   [](const AxisPlan& axis) { return axis.changes; });
  if (!changes) {
    context.SetOutput(0, context.TakeInput(0));
    return absl::OkStatus();
  }
  if (attributes.mode == Mode::kNearest) return ResizeNearest(attributes, plan, context);
  return ResizeBetween(attributes, plan, context);
}

constexpr auto kKernels = KernelTable(Rows<ParseUpsample, Resize>("Resize", 10),
                                      Rows<ParseResize, Resize>("Resize", 11, 13, 18, 19),
                                      Rows<ParseUpsample, Resize>("Upsample", 1, 7, 9, 10));

}  // namespace

absl::Span<const KernelDef> ResizeKernels() { return kKernels; }

}  // namespace onnx_run
