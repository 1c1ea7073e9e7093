// Normalisation over the batch, the image or groups of channels: BatchNormalization,
// InstanceNormalization, GroupNormalization; all versions.
#include "ops/normalization.h"

#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/dispatch.h"
#include "ops/families.h"
#include "ops/kernel_table.h"
#include "ops/shape_util.h"
#include "ops/window.h"

namespace onnx_run {
namespace {

// out = x * factor + addend, computed in double and rounded once.
template <typename T>
void ScaleRow(const T* x, double factor, double addend, int64_t n, T* out) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    out[i] = static_cast<T>(static_cast<double>(x[i]) * factor + addend);
  }
}

// What the rows of a normalisation have in common: y = (x - mean) / sqrt(variance + epsilon) *
// scale + bias.
struct Affine {
  double factor;
  double addend;
};
Affine MakeAffine(const Moments& moments, double epsilon, double scale, double bias) {
  const double factor = scale / std::sqrt(moments.variance + epsilon);
  return {factor, bias - moments.mean * factor};
}

// --- BatchNormalization --------------------------------------------------------------------------

struct BatchNormalizationAttributes {
  double epsilon;
  double momentum;
  bool training;
  bool spatial;
};

// Before version 7 an attribute tells training from inference; in 7 and 9 it is training when there
// are outputs for it; later an attribute tells again.
absl::StatusOr<BatchNormalizationAttributes> ParseBatchNormalization(const NodeInfo& node) {
  BatchNormalizationAttributes attributes{node.FloatOr("epsilon", 1e-5F),
                                          node.FloatOr("momentum", 0.9F), false,
                                          node.IntOr("spatial", 1) != 0};
  bool extra_outputs = false;
  for (int i = 1; i < node.output_count(); ++i) extra_outputs |= node.has_output(i);
  if (node.since_version() >= 14) {
    attributes.training = node.IntOr("training_mode", 0) != 0;
  } else if (node.since_version() >= 7) {
    attributes.training = extra_outputs;
  } else {
    attributes.training = node.IntOr("is_test", 0) == 0;
  }
  if (extra_outputs && !attributes.training) {
    return absl::InvalidArgumentError("only training gives more than one output");
  }
  return attributes;
}

// The input as rows of `inner` elements that share a channel, each `rows` of them; not `spatial`:
// every element of an image is a channel of its own.
struct ChannelView {
  int64_t batch;
  int64_t channels;
  int64_t inner;
};

ChannelView ViewChannels(const Tensor& x, bool spatial) {
  ChannelView view{x.rank() > 0 ? x.dim(0) : 1, 1, 1};
  if (x.rank() > 1) view.channels = x.dim(1);
  for (int d = 2; d < x.rank(); ++d) (spatial ? view.inner : view.channels) *= x.dim(d);
  return view;
}

template <typename T>
Moments ChannelMoments(const T* x, const ChannelView& view, int64_t channel) {
  const auto count = static_cast<double>(view.batch * view.inner);
  const auto row = [&](int64_t b) { return x + (b * view.channels + channel) * view.inner; };
  double sum = 0;
  for (int64_t b = 0; b < view.batch; ++b) sum += SumOf(row(b), view.inner);
  const double mean = sum / count;
  double squares = 0;
  for (int64_t b = 0; b < view.batch; ++b) squares += SumOfSquares(row(b), view.inner, mean);
  return {mean, squares / count};
}

template <typename T>
void NormalizeChannels(const KernelContext& context, const ChannelView& view, const T* x,
                       const std::vector<Affine>& affine, T* y) {
  if (view.inner == 1) {  // rows of one element: along the channels instead
    context.ParallelFor(view.batch, std::max<int64_t>(1, kNormalizationGrain / (view.channels + 1)),
                        [&](int64_t begin, int64_t end) {
                          for (int64_t i = begin * view.channels; i < end * view.channels; ++i) {
                            const Affine& a = affine[i % view.channels];
                            y[i] = static_cast<T>(static_cast<double>(x[i]) * a.factor + a.addend);
                          }
                        });
    return;
  }
  context.ParallelFor(
      view.batch * view.channels, std::max<int64_t>(1, kNormalizationGrain / (view.inner + 1)),
      [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const Affine& a = affine[i % view.channels];
          ScaleRow(x + i * view.inner, a.factor, a.addend, view.inner, y + i * view.inner);
        }
      });
}

// Output `i`, of the type of input `like`, is `values`.
absl::Status SetStatistics(KernelContext& context, int i, int like, absl::Span<const int64_t> dims,
                           const std::vector<double>& values) {
  if (!context.wants_output(i)) return absl::OkStatus();
  ASSIGN_OR_RETURN(Tensor result, context.Allocate(ElementType::kDouble, dims));
  std::copy(values.begin(), values.end(), result.mutable_data_as<double>());
  return SetOutputNarrowed(context, i, std::move(result), context.input(like).type());
}

absl::Status BatchNormalization(const BatchNormalizationAttributes& attributes,
                                KernelContext& context) {
  const Tensor& x_in = context.input(0);
  const ChannelView view = ViewChannels(x_in, attributes.spatial);
  const auto vector = [&](int i, const char* name) -> absl::StatusOr<Tensor> {
    const Tensor& tensor = context.input(i);
    // Without `spatial` they have the dims of an image.
    if (attributes.spatial || tensor.size() != view.channels) {
      return ReadVector(context, tensor, view.channels, name);
    }
    return ConvertTensor(context, tensor, ElementType::kDouble);
  };
  ASSIGN_OR_RETURN(const Tensor scale, vector(1, "scale"));
  ASSIGN_OR_RETURN(const Tensor bias, vector(2, "B"));
  ASSIGN_OR_RETURN(const Tensor mean, vector(3, "mean"));
  ASSIGN_OR_RETURN(const Tensor variance, vector(4, "var"));
  const ElementType type = x_in.type();
  ASSIGN_OR_RETURN(const Tensor x, WidenTensor(context, x_in));
  std::vector<Moments> moments(view.channels);
  for (int64_t c = 0; c < view.channels; ++c) {
    moments[c] = {mean.data_as<double>()[c], variance.data_as<double>()[c]};
  }
  if (attributes.training) {
    RETURN_IF_ERROR(VisitType(Floats(), type, [&]<typename T>(Tag<T>) {
      const int64_t count = std::max<int64_t>(1, view.batch * view.inner);
      context.ParallelFor(view.channels, std::max<int64_t>(1, kNormalizationGrain / count),
                          [&](int64_t begin, int64_t end) {
                            for (int64_t c = begin; c < end; ++c) {
                              moments[c] = ChannelMoments(x.data_as<T>(), view, c);
                            }
                          });
      return absl::OkStatus();
    }));
    std::vector<double> saved_mean, saved_variance, running_mean, running_variance;
    const double m = attributes.momentum;
    for (int64_t c = 0; c < view.channels; ++c) {
      saved_mean.push_back(moments[c].mean);
      saved_variance.push_back(moments[c].variance);
      running_mean.push_back(mean.data_as<double>()[c] * m + moments[c].mean * (1 - m));
      running_variance.push_back(variance.data_as<double>()[c] * m + moments[c].variance * (1 - m));
    }
    const Dims& dims = context.input(3).dims();
    RETURN_IF_ERROR(SetStatistics(context, 1, 3, dims, running_mean));
    RETURN_IF_ERROR(SetStatistics(context, 2, 4, dims, running_variance));
    RETURN_IF_ERROR(SetStatistics(context, 3, 3, dims, saved_mean));
    RETURN_IF_ERROR(SetStatistics(context, 4, 4, dims, saved_variance));
  }
  std::vector<Affine> affine(view.channels);
  for (int64_t c = 0; c < view.channels; ++c) {
    affine[c] = MakeAffine(moments[c], attributes.epsilon, scale.data_as<double>()[c],
                           bias.data_as<double>()[c]);
  }
  return ComputeOutput(context, 0, type, x.dims(), [&](Tensor& output) {
    return VisitType(Floats(), type, [&]<typename T>(Tag<T>) {
      NormalizeChannels(context, view, x.data_as<T>(), affine, output.mutable_data_as<T>());
      return absl::OkStatus();
    });
  });
}

// --- InstanceNormalization and GroupNormalization ----------------------------------------------

struct GroupNormalizationAttributes {
  int64_t groups;  // 0: each channel is one
  double epsilon;
  bool scale_of_groups;  // version 18: a scale for each group; later for each channel
};

absl::StatusOr<GroupNormalizationAttributes> ParseInstanceNormalization(const NodeInfo& node) {
  return GroupNormalizationAttributes{0, node.FloatOr("epsilon", 1e-5F), false};
}
absl::StatusOr<GroupNormalizationAttributes> ParseGroupNormalization(const NodeInfo& node) {
  ASSIGN_OR_RETURN(const int64_t groups, node.Int("num_groups"));
  if (groups < 1) return node.BadAttribute("num_groups", absl::StrCat(groups), "a positive number");
  return GroupNormalizationAttributes{groups, node.FloatOr("epsilon", 1e-5F),
                                      node.since_version() < 21};
}

absl::Status GroupNormalization(const GroupNormalizationAttributes& attributes,
                                KernelContext& context) {
  const Tensor& x_in = context.input(0);
  if (x_in.rank() < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("the input is ", TypeAndDims(x_in), ", expected batch, channels and more"));
  }
  const int64_t channels = x_in.dim(1);
  const int64_t groups = attributes.groups == 0 ? channels : attributes.groups;
  if (groups != 0 && channels % groups != 0) {
    return absl::InvalidArgumentError(absl::StrCat("the input is ", TypeAndDims(x_in),
                                                   ", expected a multiple of num_groups, ", groups,
                                                   ", channels"));
  }
  const int64_t scales = attributes.scale_of_groups ? groups : channels;
  ASSIGN_OR_RETURN(const Tensor scale, ReadVector(context, context.input(1), scales, "scale"));
  ASSIGN_OR_RETURN(const Tensor bias, ReadVector(context, context.input(2), scales, "bias"));
  const ElementType type = x_in.type();
  ASSIGN_OR_RETURN(const Tensor x, WidenTensor(context, x_in));
  return ComputeOutput(context, 0, type, x.dims(), [&](Tensor& output) {
    if (output.size() == 0) return absl::OkStatus();
    return VisitType(Floats(), type, [&]<typename T>(Tag<T>) {
      const int64_t group_channels = channels / groups;
      const int64_t inner = x.size() / (x.dim(0) * channels);
      const int64_t n = group_channels * inner;
      const double* s = scale.data_as<double>();
      const double* b = bias.data_as<double>();
      context.ParallelFor(
          x.dim(0) * groups, std::max<int64_t>(1, kNormalizationGrain / n),
          [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) {
              const T* in = x.data_as<T>() + i * n;
              T* out = output.mutable_data_as<T>() + i * n;
              const Moments moments = MomentsOf(in, n);
              for (int64_t c = 0; c < group_channels; ++c) {
                const int64_t group = i % groups;
                const int64_t which =
                    attributes.scale_of_groups ? group : group * group_channels + c;
                const Affine affine = MakeAffine(moments, attributes.epsilon, s[which], b[which]);
                ScaleRow(in + c * inner, affine.factor, affine.addend, inner, out + c * inner);
              }
            }
          });
      return absl::OkStatus();
    });
  });
}

constexpr auto kKernels = KernelTable(
    Rows<ParseBatchNormalization, BatchNormalization>("BatchNormalization", 1, 6, 7, 9, 14, 15),
    Rows<ParseInstanceNormalization, GroupNormalization>("InstanceNormalization", 1, 6, 22),
    Rows<ParseGroupNormalization, GroupNormalization>("GroupNormalization", 18, 21));

}  // namespace

absl::StatusOr<Tensor> ReadVector(KernelContext& context, const Tensor& tensor, int64_t n,
                                  absl::string_view name) {
  if (tensor.rank() != 1 || tensor.dim(0) != n) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " is ", TypeAndDims(tensor), ", expected [", n, "]"));
  }
  return ConvertTensor(context, tensor, ElementType::kDouble);
}

absl::Span<const KernelDef> NormalizationKernels() { return kKernels; }

}  // namespace onnx_run
