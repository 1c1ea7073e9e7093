// ConvTranspose, all versions: a matrix product gives every input's share of every window, which
// are then added where they overlap.
#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/columns_to_image.h"
#include "ops/conv.h"
#include "ops/dispatch.h"
#include "ops/families.h"
#include "ops/gemm.h"
#include "ops/kernel_table.h"
#include "ops/shape_util.h"

namespace onnx_run {
namespace {

constexpr int64_t kColumnElements = int64_t{1} << 19;  // of the product that are made at a time

struct ConvTransposeAttributes {
  ConvAttributes conv;
  std::vector<int64_t> output_padding;
  std::vector<int64_t> output_shape;
};

absl::StatusOr<ConvTransposeAttributes> ParseConvTranspose(const NodeInfo& node) {
  ConvTransposeAttributes attributes;
  ASSIGN_OR_RETURN(attributes.conv, ParseConv(node));
  attributes.output_padding = node.Ints("output_padding");
  attributes.output_shape = node.Ints("output_shape");
  for (const char* name : {"output_padding", "output_shape"}) {
    for (const int64_t value : node.Ints(name)) {
      if (value < 0 || value > INT32_MAX) {
        return node.BadAttribute(name, absl::StrCat(value), "numbers that are not negative");
      }
    }
  }
  return attributes;
}

// The window of the convolution that this is the transpose of: its input is our output.
absl::StatusOr<Window> TransposedWindow(const ConvTransposeAttributes& attributes, const Tensor& x,
                                        const Tensor& w) {
  ASSIGN_OR_RETURN(Window window,
                   WindowWithoutOutput(attributes.conv.window, absl::MakeSpan(x.dims()).subspan(2),
                                       absl::MakeSpan(w.dims()).subspan(2)));
  const size_t rank = window.rank();
  absl::Span<const int64_t> shape = attributes.output_shape;
  // Some exporters give batch and channels too.
  if (shape.size() == rank + 2) shape.remove_prefix(2);
  if (!shape.empty() && shape.size() != rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("attribute \"output_shape\" has ", shape.size(), " numbers, expected ", rank));
  }
  if (!attributes.output_padding.empty() && attributes.output_padding.size() != rank) {
    return absl::InvalidArgumentError(absl::StrCat("attribute \"output_padding\" has ",
                                                   attributes.output_padding.size(),
                                                   " numbers, expected ", rank));
  }
  const AutoPad auto_pad = attributes.conv.window.auto_pad;
  for (size_t i = 0; i < rank; ++i) {
    WindowAxis& axis = window.axes[i];
    const int64_t extra = attributes.output_padding.empty() ? 0 : attributes.output_padding[i];
    axis.output = axis.input;
    int64_t full = 0;  // without padding
    if (__builtin_mul_overflow(axis.input - 1, axis.stride, &full) ||
        __builtin_add_overflow(full, extra + axis.Extent(), &full)) {
      return absl::InvalidArgumentError(
          absl::StrCat("spatial dimension ", i, " of the output is too large"));
    }
    if (auto_pad == AutoPad::kValid) axis.pad_begin = axis.pad_end = 0;
    const bool same = auto_pad == AutoPad::kSameUpper || auto_pad == AutoPad::kSameLower;
    if (!shape.empty() || same) {
      // The padding follows from the size.
      const int64_t size = shape.empty() ? axis.output * axis.stride : shape[i];
      const int64_t total = std::max<int64_t>(0, full - size);
      const int64_t less = total / 2;
      axis.pad_begin = auto_pad == AutoPad::kSameUpper ? less : total - less;
      axis.pad_end = total - axis.pad_begin;
      axis.input = size;
    } else {
      axis.input = full - axis.pad_begin - axis.pad_end;
    }
    if (axis.input < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("spatial dimension ", i, " of the output has ", axis.input, " elements"));
    }
  }
  return window;
}

template <typename T>
absl::Status RunConvTranspose(KernelContext& context, const ConvShape& shape, const T* x,
                              const T* w, const T* bias, ElementType type, T* y) {
  // In the terms of the transposed convolution: `channels` of our output, `outputs` of our input.
  const int64_t taps = shape.window.KernelSize();
  const int64_t pixels = shape.window.OutputSize();
  const int64_t plane = shape.window.InputSize();
  const int64_t depth = shape.outputs / shape.group;
  const int64_t group_channels = shape.channels / shape.group;
  if (shape.batch == 0 || shape.channels == 0 || plane == 0) return absl::OkStatus();
  for (int64_t i = 0; i < shape.batch * shape.channels; ++i) {
    std::fill_n(y + i * plane, plane, bias == nullptr ? T{0} : bias[i % shape.channels]);
  }
  if (pixels == 0 || depth == 0) return absl::OkStatus();
  const int64_t channel_elements = taps * pixels;
  const int64_t at_once =
      std::min(group_channels, std::max<int64_t>(1, kColumnElements / channel_elements));
  ASSIGN_OR_RETURN(Tensor columns, context.Allocate(type, {at_once, taps, pixels}));
  const ColumnsToImage to_image(shape.window);
  for (int64_t problem = 0; problem < shape.batch * shape.group; ++problem) {
    const int64_t group = problem % shape.group;
    for (int64_t channel = 0; channel < group_channels; channel += at_once) {
      const int64_t count = std::min(at_once, group_channels - channel);
      const int64_t m = group_channels * taps;
      RETURN_IF_ERROR(RunGemms<T>(context, {count * taps, pixels, depth}, 1, [&](int64_t) {
        return GemmProblem<T>{.a = {w + group * depth * m + channel * taps, 1, m},
                              .b = {x + problem * depth * pixels, pixels, 1},
                              .c = columns.mutable_data_as<T>(),
                              .c_stride = pixels};
      }));
      T* to = y + (problem * group_channels + channel) * plane;
      context.ParallelFor(
          count, std::max<int64_t>(1, 65536 / channel_elements), [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) {
              to_image.Add(columns.data_as<T>() + i * channel_elements, to + i * plane);
            }
          });
    }
  }
  return absl::OkStatus();
}

absl::Status ConvTranspose(const ConvTransposeAttributes& attributes, KernelContext& context) {
  const Tensor& x_in = context.input(0);
  const Tensor& w_in = context.input(1);
  RETURN_IF_ERROR(CheckSpatial(x_in, "X"));
  const int64_t group = attributes.conv.group;
  if (w_in.rank() != x_in.rank() || w_in.dim(0) != x_in.dim(1) || w_in.dim(0) % group != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "X is ", TypeAndDims(x_in), " and W ", TypeAndDims(w_in), " with group ", group,
        ", expected equal ranks and as many rows of W as X has channels, a multiple of group"));
  }
  ConvShape shape;
  shape.batch = x_in.dim(0);
  shape.outputs = x_in.dim(1);
  shape.group = group;
  if (__builtin_mul_overflow(w_in.dim(1), group, &shape.channels)) {
    return absl::InvalidArgumentError("the output has too many channels");
  }
  ASSIGN_OR_RETURN(shape.window, TransposedWindow(attributes, x_in, w_in));
  const ElementType type = x_in.type();
  ASSIGN_OR_RETURN(const Tensor x, WidenTensor(context, x_in));
  ASSIGN_OR_RETURN(const Tensor w, WidenTensor(context, w_in));
  Tensor bias;
  if (context.has_input(2)) {
    const Tensor& in = context.input(2);
    if (in.rank() != 1 || in.dim(0) != shape.channels) {
      return absl::InvalidArgumentError(
          absl::StrCat("B is ", TypeAndDims(in), ", expected [", shape.channels, "]"));
    }
    ASSIGN_OR_RETURN(bias, WidenTensor(context, in));
  }
  Dims dims{shape.batch, shape.channels};
  for (const WindowAxis& axis : shape.window.axes) dims.push_back(axis.input);
  return ComputeOutput(context, 0, type, dims, [&](Tensor& output) {
    return VisitType(Floats(), type, [&]<typename T>(Tag<T>) {
      return RunConvTranspose<T>(context, shape, x.data_as<T>(), w.data_as<T>(), bias.data_as<T>(),
                                 x.type(), output.mutable_data_as<T>());
    });
  });
}

constexpr auto kKernels =
    KernelTable(Rows<ParseConvTranspose, ConvTranspose>("ConvTranspose", 1, 11, 22));

}  // namespace

absl::Span<const KernelDef> ConvTransposeKernels() { return kKernels; }

}  // namespace onnx_run
