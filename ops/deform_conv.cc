// DeformConv, all versions: the taps of each window are displaced by offsets, and read between
// elements.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/conv.h"
#include "ops/dispatch.h"
#include "ops/families.h"
#include "ops/gemm.h"
#include "ops/kernel_table.h"

namespace onnx_run {
namespace {

constexpr int kMaxRank = 6;

struct DeformConvAttributes {
  ConvAttributes conv;
  int64_t offset_group;
};

absl::StatusOr<DeformConvAttributes> ParseDeformConv(const NodeInfo& node) {
  DeformConvAttributes attributes;
  ASSIGN_OR_RETURN(attributes.conv, ParseConv(node));
  attributes.offset_group = node.IntOr("offset_group", 1);
  if (attributes.offset_group < 1) {
    return node.BadAttribute("offset_group", absl::StrCat(attributes.offset_group),
                             "a positive number");
  }
  return attributes;
}

// An element of the columns: the weighted sum of the corners around a point.
template <typename T>
struct Corners {
  int count = 0;
  int64_t index[1 << kMaxRank];
  T weight[1 << kMaxRank];
};

template <typename T>
class DeformedColumns final : public PanelSource<T> {
 public:
  DeformedColumns(const ConvShape& shape, int64_t offset_group, const T* x, const T* offset,
                  const T* mask)
      : shape_(shape), offset_group_(offset_group), x_(x), offset_(offset), mask_(mask) {}

  void Pack(int64_t problem, const PanelRequest<T>& request) const override {
    const int64_t group_channels = shape_.channels / shape_.group;
    const int64_t image = problem / shape_.group;
    const int64_t first_channel = problem % shape_.group * group_channels;
    const int64_t plane = shape_.window.InputSize();
    const int64_t taps = shape_.window.KernelSize();
    const int64_t depth = request.k_end - request.k_begin;
    const int width = request.panel_columns;
    const int64_t channels_of_offset = shape_.channels / offset_group_;
    T* to = request.to;
    for (int64_t begin = request.begin; begin < request.end; begin += width, to += depth * width) {
      const int columns = static_cast<int>(std::min<int64_t>(width, request.end - begin));
      if (columns < width) std::fill_n(to, depth * width, T{0});
      for (int j = 0; j < columns; ++j) {
        for (int64_t tap = 0; tap < taps; ++tap) {
          Corners<T> corners;
          int64_t corners_of = -1;  // the offset group that they are of
          for (int64_t c = 0; c < group_channels; ++c) {
            const int64_t k = c * taps + tap;
            if (k < request.k_begin || k >= request.k_end) continue;
            const int64_t channel = first_channel + c;
            if (channel / channels_of_offset != corners_of) {
              corners_of = channel / channels_of_offset;
              FindCorners(image * offset_group_ + corners_of, tap, begin + j, corners);
            }
            const T* in = x_ + (image * shape_.channels + channel) * plane;
            T sum{0};
            for (int i = 0; i < corners.count; ++i) sum += corners.weight[i] * in[corners.index[i]];
            to[(k - request.k_begin) * width + j] = sum;
          }
        }
      }
    }
  }

 private:
  void FindCorners(int64_t offset_number, int64_t tap, int64_t output, Corners<T>& corners) const {
    const int rank = shape_.window.rank();
    const int64_t taps = shape_.window.KernelSize();
    const int64_t pixels = shape_.window.OutputSize();
    // [image][offset group][tap][axis][output]
    const T* offset = offset_ + ((offset_number * taps + tap) * rank) * pixels + output;
    corners.count = 1;
    corners.index[0] = 0;
    corners.weight[0] =
        mask_ == nullptr ? T{1} : mask_[(offset_number * taps + tap) * pixels + output];
    int64_t positions[kMaxRank];
    int64_t rest_output = output;
    int64_t rest_tap = tap;
    for (int d = rank - 1; d >= 0; --d) {
      const WindowAxis& axis = shape_.window.axes[d];
      positions[d] = axis.Start(rest_output % axis.output) + rest_tap % axis.kernel * axis.dilation;
      rest_output /= axis.output;
      rest_tap /= axis.kernel;
    }
    for (int d = 0; d < rank; ++d) {
      const int64_t input = shape_.window.axes[d].input;
      const T position = static_cast<T>(positions[d]) + offset[d * pixels];
      if (!(position > -1 && position < static_cast<T>(input))) {  // NaN is outside too
        corners.count = 0;
        return;
      }
      const T low = std::floor(position);
      const auto index = static_cast<int64_t>(low);
      const T high_weight = position - low;
      const int count = corners.count;
      int next = 0;
      Corners<T> split;
      for (int i = 0; i < count; ++i) {
        if (index >= 0) {
          split.index[next] = corners.index[i] * input + index;
          split.weight[next++] = corners.weight[i] * (T{1} - high_weight);
        }
        if (index + 1 < input && high_weight != 0) {
          split.index[next] = corners.index[i] * input + index + 1;
          split.weight[next++] = corners.weight[i] * high_weight;
        }
      }
      std::copy_n(split.index, next, corners.index);
      std::copy_n(split.weight, next, corners.weight);
      corners.count = next;
    }
  }

  const ConvShape& shape_;
  const int64_t offset_group_;
  const T* x_;
  const T* offset_;
  const T* mask_;
};

// `tensor` is [batch, channels, output sizes].
absl::Status CheckPerOutput(const Tensor& tensor, const ConvShape& shape, int64_t channels,
                            absl::string_view name) {
  const Dims expected = WindowOutputDims({shape.batch, channels}, shape.window);
  if (tensor.dims() == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, " is ", TypeAndDims(tensor), ", expected ", DimsToString(expected)));
}

absl::Status DeformConv(const DeformConvAttributes& attributes, KernelContext& context) {
  const Tensor* bias_in = context.has_input(3) ? &context.input(3) : nullptr;
  const Tensor* mask_in = context.has_input(4) ? &context.input(4) : nullptr;
  ASSIGN_OR_RETURN(const ConvShape shape,
                   MakeConvShape(attributes.conv, context.input(0), context.input(1), bias_in));
  const int64_t groups = attributes.offset_group;
  if (shape.channels % groups != 0 || shape.window.rank() > kMaxRank) {
    return absl::InvalidArgumentError(absl::StrCat(
        "X is ", TypeAndDims(context.input(0)), " with offset_group ", groups,
        ", expected a multiple of offset_group channels and at most ", kMaxRank, " spatial dims"));
  }
  int64_t masks = 0;
  int64_t offsets = 0;
  if (__builtin_mul_overflow(groups, shape.window.KernelSize(), &masks) ||
      __builtin_mul_overflow(masks, int64_t{shape.window.rank()}, &offsets)) {
    return absl::InvalidArgumentError("offset_group is too large");
  }
  RETURN_IF_ERROR(CheckPerOutput(context.input(2), shape, offsets, "offset"));
  if (mask_in != nullptr) RETURN_IF_ERROR(CheckPerOutput(*mask_in, shape, masks, "mask"));
  const ElementType type = context.input(0).type();
  ASSIGN_OR_RETURN(const Tensor x, WidenTensor(context, context.input(0)));
  ASSIGN_OR_RETURN(const Tensor w, WidenTensor(context, context.input(1)));
  ASSIGN_OR_RETURN(const Tensor offset, WidenTensor(context, context.input(2)));
  Tensor bias, mask;
  if (bias_in != nullptr) {
    ASSIGN_OR_RETURN(bias, WidenTensor(context, *bias_in));
  }
  if (mask_in != nullptr) {
    ASSIGN_OR_RETURN(mask, WidenTensor(context, *mask_in));
  }
  return ComputeOutput(context, 0, type, shape.OutputDims(), [&](Tensor& output) {
    if (output.size() == 0) return absl::OkStatus();
    return VisitType(Floats(), type, [&]<typename T>(Tag<T>) {
      const DeformedColumns<T> columns(shape, groups, x.data_as<T>(), offset.data_as<T>(),
                                       mask.data_as<T>());
      const int64_t pixels = shape.window.OutputSize();
      const GemmSize size{shape.outputs / shape.group, pixels,
                          shape.channels / shape.group * shape.window.KernelSize()};
      return RunGemms<T>(context, size, shape.batch * shape.group, [&](int64_t i) {
        const int64_t group = i % shape.group;
        return GemmProblem<T>{
            .a = {w.data_as<T>() + group * size.m * size.k, size.k, 1},
            .panels = &columns,
            .c = output.mutable_data_as<T>() + i * size.m * pixels,
            .c_stride = pixels,
            .row_bias = bias_in == nullptr ? nullptr : bias.data_as<T>() + group * size.m};
      });
    });
  });
}

constexpr auto kKernels = KernelTable(Rows<ParseDeformConv, DeformConv>("DeformConv", 19, 22));

}  // namespace

absl::Span<const KernelDef> DeformConvKernels() { return kKernels; }

}  // namespace onnx_run
