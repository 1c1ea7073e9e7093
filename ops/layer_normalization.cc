// Normalisation over axes of each sample: LayerNormalization, RMSNormalization,
// MeanVarianceNormalization, LpNormalization and LRN; all versions.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/dispatch.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/kernel_table.h"
#include "ops/normalization.h"
#include "ops/normalization_kernels.h"
#include "ops/plain_loops.h"
#include "ops/shape_util.h"
#include "ops/strided_copy.h"
#include "ops/window.h"

namespace onnx_run {
namespace {

struct LayerNormalizationAttributes {
  int64_t axis;
  double epsilon;
  ElementType stash_type;
};

absl::StatusOr<ElementType> ParseStashType(const NodeInfo& node) {
  const int64_t number = node.IntOr("stash_type", 1);
  const std::optional<ElementType> type = ElementTypeFromNumber(number);
  if (!type || !IsFloat(*type)) {
    return node.BadAttribute("stash_type", absl::StrCat(number), "the number of a float type");
  }
  return *type;
}

absl::StatusOr<LayerNormalizationAttributes> ParseLayerNormalization(const NodeInfo& node) {
  LayerNormalizationAttributes attributes{node.IntOr("axis", -1), node.FloatOr("epsilon", 1e-5F),
                                          ElementType::kFloat};
  ASSIGN_OR_RETURN(attributes.stash_type, ParseStashType(node));
  return attributes;
}

absl::Status InferLayerNormalization(const NodeInfo& node, absl::Span<const Type> /*inputs*/,
                                     absl::Span<Type> outputs) {
  ASSIGN_OR_RETURN(const ElementType type, ParseStashType(node));
  for (size_t i = 1; i < outputs.size(); ++i) outputs[i] = Type::OfTensor(type);
  return absl::OkStatus();
}

// A scale or bias, broadcast to the rows it is used in: as doubles, row `i` at data + i % rows * n.
struct RowFactors {
  Tensor values;  // undefined: none
  int64_t rows = 1;

  const double* Row(int64_t i, int64_t n) const {
    return values.type() == ElementType::kUndefined ? nullptr
                                                    : values.data_as<double>() + i % rows * n;
  }
};

absl::StatusOr<RowFactors> ReadFactors(KernelContext& context, int input,
                                       absl::Span<const int64_t> dims, int axis,
                                       absl::string_view name) {
  RowFactors factors;
  if (!context.has_input(input)) return factors;
  const Tensor& in = context.input(input);
  ASSIGN_OR_RETURN(factors.values, ConvertTensor(context, in, ElementType::kDouble));
  // Most often exactly one row; else what broadcasts to the rows, or to all of the input.
  absl::Span<const int64_t> target = dims.subspan(axis);
  if (in.rank() > static_cast<int>(target.size())) target = dims;
  if (absl::MakeSpan(in.dims()) != target) {
    const absl::StatusOr<Dims> both = BroadcastDims(in.dims(), target);
    if (!both.ok() || absl::MakeSpan(*both) != target) {
      return absl::InvalidArgumentError(absl::StrCat(
          name, " is ", TypeAndDims(in), ", expected what broadcasts to ", DimsToString(target)));
    }
    ASSIGN_OR_RETURN(Tensor expanded, context.Allocate(ElementType::kDouble, target));
    const Dims own = StridesOf(in.dims());
    Dims strides(target.size(), 0);
    for (int d = 0; d < in.rank(); ++d) {
      if (in.dim(d) != 1) strides[target.size() - in.rank() + d] = own[d];
    }
    CopyBox(context, ElementType::kDouble, target, {factors.values.data(), 0, strides},
            {expanded.mutable_data(), 0, StridesOf(target)});
    factors.values = std::move(expanded);
  }
  if (target.size() == dims.size()) factors.rows = Product(dims, 0, axis);
  return factors;
}

// The rows of an input: everything from `axis` on is one.
struct RowView {
  int axis;
  int64_t rows;
  int64_t n;
};
// Into its place, for a copy of what has just been written waits for memory.
absl::Status ViewRows(const Tensor& x, int64_t axis_attribute, RowView& view) {
  ASSIGN_OR_RETURN(view.axis, NormalizeAxis(axis_attribute, x.rank()));
  view.rows = Product(x.dims(), 0, view.axis);
  view.n = Product(x.dims(), view.axis, x.rank());
  return absl::OkStatus();
}

// What is normalised, and the statistics of its rows that somebody wants.
struct LayerRows {
  RowView view;
  Tensor widened;
  const Tensor* x;  // in ComputeType
  double epsilon;
  Tensor means;  // of doubles; undefined: not wanted
  Tensor factors;
};

// Whether input `i` is absent or has one value for each element of a row.
bool IsOneRow(const KernelContext& context, int i, const RowView& view) {
  if (!context.has_input(i)) return true;
  const absl::Span<const int64_t> dims = context.input(0).dims();
  return absl::MakeSpan(context.input(i).dims()) == dims.subspan(view.axis);
}

absl::Status NormalizeShort(LayerRows& layer, KernelContext& context, Tensor& output) {
  Tensor widened[2];
  const Tensor* scale = nullptr;
  const Tensor* bias = nullptr;
  ASSIGN_OR_RETURN(scale, WidenInput(context, 1, widened[0]));
  if (context.has_input(2)) {
    ASSIGN_OR_RETURN(bias, WidenInput(context, 2, widened[1]));
  }
  return VisitType(Floats(), output.type(), [&]<typename T>(Tag<T>) {
    const int64_t n = layer.view.n;
    auto* const means = layer.means.mutable_data_as<double>();
    auto* const factors = layer.factors.mutable_data_as<double>();
    context.ParallelFor(layer.view.rows, kNormalizationGrain / (n + 1),
                        [&](int64_t begin, int64_t end) {
                          NormalizeShortRows({layer.x->data_as<T>() + begin * n,
                                              output.mutable_data_as<T>() + begin * n, end - begin,
                                              n, layer.epsilon, scale->data_as<T>(),
                                              bias == nullptr ? nullptr : bias->data_as<T>(),
                                              means == nullptr ? nullptr : means + begin,
                                              factors == nullptr ? nullptr : factors + begin});
                        });
    return absl::OkStatus();
  });
}

absl::Status NormalizeAny(LayerRows& layer, KernelContext& context, Tensor& output) {
  const absl::Span<const int64_t> dims = context.input(0).dims();
  const RowView& view = layer.view;
  ASSIGN_OR_RETURN(const RowFactors scale, ReadFactors(context, 1, dims, view.axis, "Scale"));
  ASSIGN_OR_RETURN(const RowFactors bias, ReadFactors(context, 2, dims, view.axis, "B"));
  return VisitType(Floats(), output.type(), [&]<typename T>(Tag<T>) {
    const int64_t n = view.n;
    auto* const means = layer.means.mutable_data_as<double>();
    auto* const factors = layer.factors.mutable_data_as<double>();
    context.ParallelFor(view.rows, std::max<int64_t>(1, kNormalizationGrain / (n + 1)),
                        [&](int64_t begin, int64_t end) {
                          for (int64_t i = begin; i < end; ++i) {
                            const T* const x = layer.x->data_as<T>() + i * n;
                            const Moments moments = MomentsOf(x, n);
                            const double factor = 1 / std::sqrt(moments.variance + layer.epsilon);
                            if (means != nullptr) means[i] = moments.mean;
                            if (factors != nullptr) factors[i] = factor;
                            plain_loops::Normalize(x, moments.mean, factor, scale.Row(i, n),
                                                   bias.Row(i, n),
                                                   output.mutable_data_as<T>() + i * n, n);
                          }
                        });
    return absl::OkStatus();
  });
}

absl::Status LayerNormalization(const LayerNormalizationAttributes& attributes,
                                KernelContext& context) {
  const Tensor& x = context.input(0);
  LayerRows layer;
  layer.epsilon = attributes.epsilon;
  RETURN_IF_ERROR(ViewRows(x, attributes.axis, layer.view));
  ASSIGN_OR_RETURN(layer.x, WidenInput(context, 0, layer.widened));
  const RowView& view = layer.view;
  for (int i = 1; i < 3; ++i) {
    if (!context.wants_output(i)) continue;
    Dims dims = x.dims();
    std::fill(dims.begin() + view.axis, dims.end(), 1);
    Tensor& statistics = i == 1 ? layer.means : layer.factors;
    ASSIGN_OR_RETURN(statistics, context.Allocate(ElementType::kDouble, dims));
  }
  const bool is_short = view.n > 0 && view.n < kShortNormalizedRow && IsOneRow(context, 1, view) &&
                        IsOneRow(context, 2, view);
  RETURN_IF_ERROR(ComputeOutput(context, 0, x.type(), x.dims(), [&](Tensor& output) {
    return is_short ? NormalizeShort(layer, context, output) : NormalizeAny(layer, context, output);
  }));
  for (int i = 1; i < 3; ++i) {
    if (!context.wants_output(i)) continue;
    RETURN_IF_ERROR(SetOutputNarrowed(context, i, std::move(i == 1 ? layer.means : layer.factors),
                                      attributes.stash_type));
  }
  return absl::OkStatus();
}

// The result has the type of the scale.
absl::Status RmsNormalization(const LayerNormalizationAttributes& attributes,
                              KernelContext& context) {
  const Tensor& x_in = context.input(0);
  const ElementType type = context.input(1).type();
  RowView view;
  RETURN_IF_ERROR(ViewRows(x_in, attributes.axis, view));
  ASSIGN_OR_RETURN(const RowFactors scale,
                   ReadFactors(context, 1, x_in.dims(), view.axis, "scale"));
  const bool wide = x_in.type() == ElementType::kDouble || type == ElementType::kDouble;
  ASSIGN_OR_RETURN(const Tensor x,
                   ConvertTensor(context, x_in, wide ? ElementType::kDouble : ElementType::kFloat));
  const auto run = [&]<typename T>(Tensor& output) {
    const int64_t n = view.n;
    context.ParallelFor(view.rows, std::max<int64_t>(1, kNormalizationGrain / (n + 1)),
                        [&](int64_t begin, int64_t end) {
                          for (int64_t i = begin; i < end; ++i) {
                            const T* in = x.data_as<T>() + i * n;
                            const double mean = SumOfSquares(in, n, 0) / static_cast<double>(n);
                            plain_loops::Normalize(
                                in, 0.0, 1 / std::sqrt(mean + attributes.epsilon), scale.Row(i, n),
                                nullptr, output.mutable_data_as<T>() + i * n, n);
                          }
                        });
  };
  ASSIGN_OR_RETURN(Tensor result, context.Allocate(x.type(), x.dims()));
  if (result.size() != 0) {
    if (x.type() == ElementType::kDouble) {
      run.template operator()<double>(result);
    } else {
      run.template operator()<float>(result);
    }
  }
  return SetOutputNarrowed(context, 0, std::move(result), type);
}

// --- MeanVarianceNormalization
// ---------------------------------------------------------------------

absl::StatusOr<std::vector<int64_t>> ParseAxes(const NodeInfo& node) { return node.Ints("axes"); }

// (x - mean) / (standard deviation + 1e-9): so the official function body.
absl::Status MeanVarianceNormalization(const std::vector<int64_t>& axes_attribute,
                                       KernelContext& context) {
  constexpr double kEpsilon = 1e-9;
  const Tensor& x_in = context.input(0);
  const int rank = x_in.rank();
  ASSIGN_OR_RETURN(const auto axes, NormalizeAxes(axes_attribute, rank));
  const ElementType type = x_in.type();
  ASSIGN_OR_RETURN(const Tensor x, WidenTensor(context, x_in));
  // The reduced axes last: rows are gathered, normalised and put back.
  Dims dims;
  Dims strides;
  const Dims own = StridesOf(x.dims());
  int64_t rows = 1;
  for (const bool reduced : {false, true}) {
    for (int d = 0; d < rank; ++d) {
      if ((std::find(axes.begin(), axes.end(), d) != axes.end()) != reduced) continue;
      dims.push_back(x.dim(d));
      strides.push_back(own[d]);
      if (!reduced) rows *= x.dim(d);
    }
  }
  ASSIGN_OR_RETURN(Tensor gathered, context.Allocate(x.type(), dims));
  const Dims in_order = StridesOf(dims);
  CopyBox(context, x.type(), dims, {x.data(), 0, strides}, {gathered.mutable_data(), 0, in_order});
  return ComputeOutput(context, 0, type, x.dims(), [&](Tensor& output) {
    if (output.size() == 0) return absl::OkStatus();
    return VisitType(Floats(), type, [&]<typename T>(Tag<T>) {
      const int64_t n = gathered.size() / rows;
      context.ParallelFor(rows, std::max<int64_t>(1, kNormalizationGrain / n),
                          [&](int64_t begin, int64_t end) {
                            for (int64_t i = begin; i < end; ++i) {
                              T* row = gathered.mutable_data_as<T>() + i * n;
                              const Moments moments = MomentsOf(row, n);
                              const double factor = 1 / (std::sqrt(moments.variance) + kEpsilon);
                              for (int64_t j = 0; j < n; ++j) {
                                row[j] = static_cast<T>((row[j] - moments.mean) * factor);
                              }
                            }
                          });
      CopyBox(context, x.type(), dims, {gathered.data(), 0, in_order},
              {output.mutable_data(), 0, strides});
      return absl::OkStatus();
    });
  });
}

// --- LpNormalization
// ---------------------------------------------------------------------------------

struct LpNormalizationAttributes {
  int64_t axis;
  int64_t p;
};
absl::StatusOr<LpNormalizationAttributes> ParseLpNormalization(const NodeInfo& node) {
  const LpNormalizationAttributes attributes{node.IntOr("axis", -1), node.IntOr("p", 2)};
  if (attributes.p != 1 && attributes.p != 2) {
    return node.BadAttribute("p", absl::StrCat(attributes.p), "1 or 2");
  }
  return attributes;
}

// Vectors of norm 0 stay 0.
absl::Status LpNormalization(const LpNormalizationAttributes& attributes, KernelContext& context) {
  const Tensor& x_in = context.input(0);
  const ElementType type = x_in.type();
  ASSIGN_OR_RETURN(const int axis, NormalizeAxis(attributes.axis, x_in.rank()));
  ASSIGN_OR_RETURN(const Tensor x, WidenTensor(context, x_in));
  const AxisView view = ViewAround(x.dims(), axis);
  return ComputeOutput(context, 0, type, x.dims(), [&](Tensor& output) {
    if (output.size() == 0) return absl::OkStatus();
    return VisitType(Floats(), type, [&]<typename T>(Tag<T>) {
      context.ParallelFor(
          view.outer, std::max<int64_t>(1, kNormalizationGrain / (view.axis * view.inner)),
          [&](int64_t begin, int64_t end) {
            std::vector<double> norms(view.inner);
            for (int64_t o = begin; o < end; ++o) {
              const T* in = x.data_as<T>() + o * view.axis * view.inner;
              T* out = output.mutable_data_as<T>() + o * view.axis * view.inner;
              std::fill(norms.begin(), norms.end(), 0.0);
              for (int64_t a = 0; a < view.axis; ++a) {
                for (int64_t i = 0; i < view.inner; ++i) {
                  const double v = in[a * view.inner + i];
                  norms[i] += attributes.p == 1 ? std::abs(v) : v * v;
                }
              }
              if (attributes.p == 2) {
                for (double& norm : norms) norm = std::sqrt(norm);
              }
              for (int64_t a = 0; a < view.axis; ++a) {
                for (int64_t i = 0; i < view.inner; ++i) {
                  const int64_t at = a * view.inner + i;
                  out[at] = norms[i] == 0 ? T{0} : static_cast<T>(in[at] / norms[i]);
                }
              }
            }
          });
      return absl::OkStatus();
    });
  });
}

// --- LRN
// -----------------------------------------------------------------------------------------------

struct LrnAttributes {
  double alpha;
  double beta;
  double bias;
  int64_t size;
};
absl::StatusOr<LrnAttributes> ParseLrn(const NodeInfo& node) {
  ASSIGN_OR_RETURN(const int64_t size, node.Int("size"));
  if (size < 1) return node.BadAttribute("size", absl::StrCat(size), "a positive number");
  return LrnAttributes{node.FloatOr("alpha", 1e-4F), node.FloatOr("beta", 0.75F),
                       node.FloatOr("bias", 1.0F), size};
}

absl::Status Lrn(const LrnAttributes& attributes, KernelContext& context) {
  const Tensor& x_in = context.input(0);
  if (x_in.rank() < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("X is ", TypeAndDims(x_in), ", expected batch, channels and more"));
  }
  const ElementType type = x_in.type();
  ASSIGN_OR_RETURN(const Tensor x, WidenTensor(context, x_in));
  const AxisView view = ViewAround(x.dims(), 1);
  // Channels c - before .. c + after.
  const int64_t before = std::min((attributes.size - 1) / 2, view.axis);
  const int64_t after = std::min(attributes.size / 2, view.axis);
  const double factor = attributes.alpha / static_cast<double>(attributes.size);
  return ComputeOutput(context, 0, type, x.dims(), [&](Tensor& output) {
    if (output.size() == 0) return absl::OkStatus();
    return VisitType(Floats(), type, [&]<typename T>(Tag<T>) {
      context.ParallelFor(
          view.outer * view.axis, std::max<int64_t>(1, kNormalizationGrain / 8 / view.inner),
          [&](int64_t begin, int64_t end) {
            std::vector<double> sums(view.inner);
            for (int64_t row = begin; row < end; ++row) {
              const int64_t channel = row % view.axis;
              const T* image = x.data_as<T>() + (row - channel) * view.inner;
              std::fill(sums.begin(), sums.end(), 0.0);
              const int64_t first = std::max<int64_t>(0, channel - before);
              const int64_t last = std::min(view.axis - 1, channel + after);
              for (int64_t c = first; c <= last; ++c) {
                for (int64_t i = 0; i < view.inner; ++i) {
                  const double v = image[c * view.inner + i];
                  sums[i] += v * v;
                }
              }
              T* out = output.mutable_data_as<T>() + row * view.inner;
              const T* in = image + channel * view.inner;
              for (int64_t i = 0; i < view.inner; ++i) {
                out[i] = static_cast<T>(
                    in[i] / std::pow(attributes.bias + factor * sums[i], attributes.beta));
              }
            }
          });
      return absl::OkStatus();
    });
  });
}

constexpr auto kKernels =
    KernelTable(Rows<ParseLayerNormalization, LayerNormalization>("LayerNormalization", 17)
                    .Infer(InferLayerNormalization),
                Rows<ParseLayerNormalization, RmsNormalization>("RMSNormalization", 23),
                Rows<ParseAxes, MeanVarianceNormalization>("MeanVarianceNormalization", 9, 13),
                Rows<ParseLpNormalization, LpNormalization>("LpNormalization", 1, 22),
                Rows<ParseLrn, Lrn>("LRN", 1, 13));

}  // namespace

absl::Span<const KernelDef> LayerNormalizationKernels() { return kKernels; }

}  // namespace onnx_run
