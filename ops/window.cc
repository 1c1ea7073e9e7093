#include "ops/window.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace onnx_run {
namespace {

// Far above any real window, low enough that no sum or product of two of them overflows.
constexpr int64_t kLimit = int64_t{1} << 30;

absl::StatusOr<std::vector<int64_t>> ParseInts(const NodeInfo& node, absl::string_view name,
                                               int64_t least) {
  std::vector<int64_t> values = node.Ints(name);
  for (const int64_t value : values) {
    if (value < least || value > kLimit) {
      return node.BadAttribute(name, absl::StrCat("[", absl::StrJoin(values, ","), "]"),
                               absl::StrCat("numbers from ", least, " to ", kLimit));
    }
  }
  return values;
}

absl::Status CheckCount(const std::vector<int64_t>& values, absl::string_view name,
                        size_t expected) {
  if (values.empty() || values.size() == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("attribute \"", name, "\" has ", values.size(),
                                                 " numbers, expected ", expected));
}

}  // namespace

absl::StatusOr<WindowAttributes> ParseWindow(const NodeInfo& node) {
  WindowAttributes attributes;
  ASSIGN_OR_RETURN(attributes.kernel_shape, ParseInts(node, "kernel_shape", 1));
  ASSIGN_OR_RETURN(attributes.strides, ParseInts(node, "strides", 1));
  ASSIGN_OR_RETURN(attributes.dilations, ParseInts(node, "dilations", 1));
  ASSIGN_OR_RETURN(attributes.pads, ParseInts(node, "pads", 0));
  attributes.ceil_mode = node.IntOr("ceil_mode", 0) != 0;
  const std::string auto_pad = node.StringOr("auto_pad", "NOTSET");
  if (auto_pad == "NOTSET") {
    attributes.auto_pad = AutoPad::kNotSet;
  } else if (auto_pad == "SAME_UPPER") {
    attributes.auto_pad = AutoPad::kSameUpper;
  } else if (auto_pad == "SAME_LOWER") {
    attributes.auto_pad = AutoPad::kSameLower;
  } else if (auto_pad == "VALID") {
    attributes.auto_pad = AutoPad::kValid;
  } else {
    return node.BadAttribute("auto_pad", absl::StrCat("\"", auto_pad, "\""),
                             "\"NOTSET\", \"SAME_UPPER\", \"SAME_LOWER\" or \"VALID\"");
  }
  return attributes;
}

std::pair<int64_t, int64_t> WindowAxis::Taps(int64_t o) const {
  const int64_t start = Start(o);
  const int64_t first = start >= 0 ? 0 : (-start + dilation - 1) / dilation;
  const int64_t last = start >= input ? 0 : (input - start + dilation - 1) / dilation;
  return {std::min(first, kernel), std::max(std::min(first, kernel), std::min(last, kernel))};
}

int64_t Window::InputSize() const {
  int64_t size = 1;
  for (const WindowAxis& axis : axes) size *= axis.input;
  return size;
}
int64_t Window::KernelSize() const {
  int64_t size = 1;
  for (const WindowAxis& axis : axes) size *= axis.kernel;
  return size;
}
int64_t Window::OutputSize() const {
  int64_t size = 1;
  for (const WindowAxis& axis : axes) size *= axis.output;
  return size;
}
bool Window::IsIdentity() const {
  return std::all_of(axes.begin(), axes.end(), [](const WindowAxis& axis) {
    return axis.kernel == 1 && axis.stride == 1 && axis.pad_begin == 0 && axis.pad_end == 0;
  });
}

absl::StatusOr<Window> WindowWithoutOutput(const WindowAttributes& attributes,
                                           absl::Span<const int64_t> input,
                                           absl::Span<const int64_t> kernel) {
  const size_t rank = input.size();
  if (kernel.size() != rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("the kernel has ", kernel.size(), " spatial dimensions, the input ", rank));
  }
  RETURN_IF_ERROR(CheckCount(attributes.kernel_shape, "kernel_shape", rank));
  RETURN_IF_ERROR(CheckCount(attributes.strides, "strides", rank));
  RETURN_IF_ERROR(CheckCount(attributes.dilations, "dilations", rank));
  RETURN_IF_ERROR(CheckCount(attributes.pads, "pads", 2 * rank));
  if (!attributes.kernel_shape.empty() &&
      !std::equal(kernel.begin(), kernel.end(), attributes.kernel_shape.begin())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the weights' spatial dimensions are [", absl::StrJoin(kernel, ","),
        "], attribute \"kernel_shape\" is [", absl::StrJoin(attributes.kernel_shape, ","), "]"));
  }
  Window window;
  int64_t taps = 1;
  for (size_t i = 0; i < rank; ++i) {
    WindowAxis axis;
    axis.input = input[i];
    axis.kernel = kernel[i];
    axis.stride = attributes.strides.empty() ? 1 : attributes.strides[i];
    axis.dilation = attributes.dilations.empty() ? 1 : attributes.dilations[i];
    axis.pad_begin = attributes.pads.empty() ? 0 : attributes.pads[i];
    axis.pad_end = attributes.pads.empty() ? 0 : attributes.pads[rank + i];
    axis.output = 0;
    if (axis.kernel < 1 || axis.kernel > kLimit || axis.input > (int64_t{1} << 60) ||
        axis.Extent() > (int64_t{1} << 60) || (taps *= axis.kernel) > kLimit) {
      return absl::InvalidArgumentError(
          absl::StrCat("a kernel of [", absl::StrJoin(kernel, ","), "] is empty or too large"));
    }
    window.axes.push_back(axis);
  }
  return window;
}

absl::StatusOr<Window> MakeWindow(const WindowAttributes& attributes,
                                  absl::Span<const int64_t> input,
                                  absl::Span<const int64_t> kernel) {
  ASSIGN_OR_RETURN(Window window, WindowWithoutOutput(attributes, input, kernel));
  for (int i = 0; i < window.rank(); ++i) {
    WindowAxis& axis = window.axes[i];
    switch (attributes.auto_pad) {
      case AutoPad::kNotSet: break;
      case AutoPad::kValid: axis.pad_begin = axis.pad_end = 0; break;
      case AutoPad::kSameUpper:
      case AutoPad::kSameLower: {
        axis.output = (axis.input + axis.stride - 1) / axis.stride;
        const int64_t total =
            std::max<int64_t>(0, (axis.output - 1) * axis.stride + axis.Extent() - axis.input);
        const int64_t less = total / 2;
        const bool upper = attributes.auto_pad == AutoPad::kSameUpper;
        axis.pad_begin = upper ? less : total - less;
        axis.pad_end = total - axis.pad_begin;
        continue;
      }
    }
    const int64_t room = axis.input + axis.pad_begin + axis.pad_end - axis.Extent();
    if (room < 0) {
      if (axis.input == 0) continue;  // an empty input has an empty output
      return absl::InvalidArgumentError(
          absl::StrCat("the kernel reaches over ", axis.Extent(), " elements of spatial dimension ",
                       i, ", which has ", axis.input, " with ", axis.pad_begin, " and ",
                       axis.pad_end, " of padding"));
    }
    axis.output = room / axis.stride + 1;
    if (attributes.ceil_mode && room % axis.stride != 0) {
      // Not when the last window would start in the padding at the end.
      if (axis.output * axis.stride < axis.input + axis.pad_begin) ++axis.output;
    }
  }
  return window;
}

Dims WindowOutputDims(absl::Span<const int64_t> leading, const Window& window) {
  Dims dims(leading.begin(), leading.end());
  for (const WindowAxis& axis : window.axes) dims.push_back(axis.output);
  return dims;
}

absl::Status CheckSpatial(const Tensor& tensor, absl::string_view name) {
  if (tensor.rank() >= 3) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, " is ", TypeAndDims(tensor),
                   ", expected at least 3 dimensions: batch, channels, spatial ones"));
}

}  // namespace onnx_run
