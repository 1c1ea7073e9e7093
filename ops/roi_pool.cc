// RoiAlign and MaxRoiPool, all versions: regions of an image, pooled to one size.
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
#include "ops/shape_util.h"
#include "ops/window.h"

namespace onnx_run {
namespace {

// Points that one output is sampled at, at most; beyond any real region.
constexpr double kMaxSamples = 1 << 20;

struct RoiAlignAttributes {
  bool max;
  bool half_pixel;
  int64_t height;
  int64_t width;
  int64_t sampling_ratio;
  double spatial_scale;
};

absl::StatusOr<RoiAlignAttributes> ParseRoiAlign(const NodeInfo& node) {
  RoiAlignAttributes attributes{};
  const std::string mode = node.StringOr("mode", "avg");
  if (mode != "avg" && mode != "max") {
    return node.BadAttribute("mode", absl::StrCat("\"", mode, "\""), "\"avg\" or \"max\"");
  }
  attributes.max = mode == "max";
  // Version 10 has no such attribute.
  const std::string transform =
      node.StringOr("coordinate_transformation_mode", "output_half_pixel");
  if (transform != "half_pixel" && transform != "output_half_pixel") {
    return node.BadAttribute("coordinate_transformation_mode", absl::StrCat("\"", transform, "\""),
                             "\"half_pixel\" or \"output_half_pixel\"");
  }
  attributes.half_pixel = transform == "half_pixel";
  attributes.height = node.IntOr("output_height", 1);
  attributes.width = node.IntOr("output_width", 1);
  attributes.sampling_ratio = node.IntOr("sampling_ratio", 0);
  attributes.spatial_scale = node.FloatOr("spatial_scale", 1);
  if (attributes.height < 1 || attributes.width < 1) {
    return node.BadAttribute(
        "output_height", absl::StrCat(attributes.height, "x", attributes.width), "a positive size");
  }
  if (attributes.sampling_ratio < 0 || attributes.sampling_ratio > 1024) {
    return node.BadAttribute("sampling_ratio", absl::StrCat(attributes.sampling_ratio),
                             "a number from 0 to 1024");
  }
  return attributes;
}

// Four elements around a point, and their weights; no weight outside of the image.
struct Bilinear {
  int64_t index[4];
  double weight[4];
};

// The two elements around `x` of an axis, and the weight of the second; false when `x` is outside.
bool Around(double x, int64_t size, int64_t& low, int64_t& high, double& high_weight) {
  if (!(x >= -1.0 && x <= static_cast<double>(size))) return false;
  x = std::max(x, 0.0);
  low = static_cast<int64_t>(x);
  if (low >= size - 1) {
    low = high = size - 1;
    high_weight = 0;
  } else {
    high = low + 1;
    high_weight = x - static_cast<double>(low);
  }
  return true;
}

Bilinear At(double y, double x, int64_t height, int64_t width) {
  Bilinear result{};
  int64_t y_low = 0, y_high = 0, x_low = 0, x_high = 0;
  double dy = 0, dx = 0;
  if (!Around(y, height, y_low, y_high, dy) || !Around(x, width, x_low, x_high, dx)) return result;
  result.index[0] = y_low * width + x_low;
  result.index[1] = y_low * width + x_high;
  result.index[2] = y_high * width + x_low;
  result.index[3] = y_high * width + x_high;
  result.weight[0] = (1 - dy) * (1 - dx);
  result.weight[1] = (1 - dy) * dx;
  result.weight[2] = dy * (1 - dx);
  result.weight[3] = dy * dx;
  return result;
}

// One axis of a region: where the bins start, how long they are, and how many samples each has.
struct RoiAxis {
  double start;
  double bin;
  int64_t samples;

  double Sample(int64_t output, int64_t i) const {
    return start + static_cast<double>(output) * bin +
           (static_cast<double>(i) + 0.5) * bin / static_cast<double>(samples);
  }
};

absl::StatusOr<RoiAxis> MakeRoiAxis(const RoiAlignAttributes& attributes, double begin, double end,
                                    int64_t outputs) {
  const double offset = attributes.half_pixel ? 0.5 : 0.0;
  RoiAxis axis;
  axis.start = begin * attributes.spatial_scale - offset;
  double length = end * attributes.spatial_scale - offset - axis.start;
  if (!attributes.half_pixel) length = std::max(length, 1.0);
  axis.bin = length / static_cast<double>(outputs);
  const double samples = attributes.sampling_ratio > 0
                             ? static_cast<double>(attributes.sampling_ratio)
                             : std::ceil(axis.bin);
  if (!(samples <= kMaxSamples)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a region goes from ", begin, " to ", end, ", which needs too many samples"));
  }
  axis.samples = std::max<int64_t>(0, static_cast<int64_t>(samples));
  return axis;
}

template <typename T>
absl::Status RunRoiAlign(const RoiAlignAttributes& attributes, const Tensor& x, const Tensor& rois,
                         const Tensor& batch, Tensor& output) {
  const int64_t channels = x.dim(1);
  const int64_t height = x.dim(2);
  const int64_t width = x.dim(3);
  std::vector<Bilinear> points;
  T* out = output.mutable_data_as<T>();
  for (int64_t r = 0; r < rois.dim(0); ++r) {
    const int64_t image = batch.data_as<int64_t>()[r];
    if (image < 0 || image >= x.dim(0)) {
      return absl::InvalidArgumentError(absl::StrCat("batch_indices at ", r, " is ", image,
                                                     ", expected from 0 to ", x.dim(0) - 1));
    }
    const T* roi = rois.data_as<T>() + r * 4;
    ASSIGN_OR_RETURN(const RoiAxis columns,
                     MakeRoiAxis(attributes, roi[0], roi[2], attributes.width));
    ASSIGN_OR_RETURN(const RoiAxis rows,
                     MakeRoiAxis(attributes, roi[1], roi[3], attributes.height));
    if (static_cast<double>(rows.samples) * static_cast<double>(columns.samples) > kMaxSamples) {
      return absl::InvalidArgumentError(absl::StrCat("region ", r, " needs too many samples"));
    }
    const int64_t count = rows.samples * columns.samples;
    const T* in = x.data_as<T>() + image * channels * height * width;
    for (int64_t ph = 0; ph < attributes.height; ++ph) {
      for (int64_t pw = 0; pw < attributes.width; ++pw) {
        points.clear();
        for (int64_t i = 0; i < rows.samples; ++i) {
          for (int64_t j = 0; j < columns.samples; ++j) {
            points.push_back(At(rows.Sample(ph, i), columns.Sample(pw, j), height, width));
          }
        }
        for (int64_t c = 0; c < channels; ++c) {
          const T* plane = in + c * height * width;
          double result = 0;
          bool first = true;
          for (const Bilinear& p : points) {
            double part[4];
            for (int i = 0; i < 4; ++i)
              part[i] = p.weight[i] * static_cast<double>(plane[p.index[i]]);
            if (attributes.max) {
              // The greatest of the weighted elements, not of their sums: so the official data.
              const double greatest =
                  std::max(std::max(part[0], part[1]), std::max(part[2], part[3]));
              result = first ? greatest : std::max(result, greatest);
              first = false;
            } else {
              result += part[0] + part[1] + part[2] + part[3];
            }
          }
          if (!attributes.max) result /= static_cast<double>(std::max<int64_t>(count, 1));
          out[((r * channels + c) * attributes.height + ph) * attributes.width + pw] =
              static_cast<T>(result);
        }
      }
    }
  }
  return absl::OkStatus();
}

absl::Status RoiAlign(const RoiAlignAttributes& attributes, KernelContext& context) {
  const Tensor& x_in = context.input(0);
  const Tensor& rois_in = context.input(1);
  const Tensor& batch = context.input(2);
  if (x_in.rank() != 4 || rois_in.rank() != 2 || rois_in.dim(1) != 4 || batch.rank() != 1 ||
      batch.dim(0) != rois_in.dim(0)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "X is ", TypeAndDims(x_in), ", rois ", TypeAndDims(rois_in), " and batch_indices ",
        TypeAndDims(batch), ", expected [N,C,H,W], [regions,4] and [regions]"));
  }
  if (x_in.dim(2) == 0 || x_in.dim(3) == 0) {
    return absl::InvalidArgumentError(absl::StrCat("X is ", TypeAndDims(x_in), ", an empty image"));
  }
  const ElementType type = x_in.type();
  ASSIGN_OR_RETURN(const Tensor x, WidenTensor(context, x_in));
  ASSIGN_OR_RETURN(const Tensor rois, WidenTensor(context, rois_in));
  const Dims dims{rois.dim(0), x.dim(1), attributes.height, attributes.width};
  return ComputeOutput(context, 0, type, dims, [&](Tensor& output) {
    return VisitType(Floats(), type, [&]<typename T>(Tag<T>) {
      return RunRoiAlign<T>(attributes, x, rois, batch, output);
    });
  });
}

struct MaxRoiPoolAttributes {
  int64_t height;
  int64_t width;
  double spatial_scale;
};

absl::StatusOr<MaxRoiPoolAttributes> ParseMaxRoiPool(const NodeInfo& node) {
  const std::vector<int64_t> shape = node.Ints("pooled_shape");
  if (shape.size() != 2 || shape[0] < 1 || shape[1] < 1) {
    return node.BadAttribute("pooled_shape", DimsToString(shape), "two positive numbers");
  }
  return MaxRoiPoolAttributes{shape[0], shape[1], node.FloatOr("spatial_scale", 1)};
}

// The elements [first, second) of bin `output`.
std::pair<int64_t, int64_t> Bin(double start, double length, int64_t outputs, int64_t output,
                                int64_t size) {
  const double bin = length / static_cast<double>(outputs);
  const auto limit = static_cast<double>(size);
  const double begin = std::floor(static_cast<double>(output) * bin) + start;
  const double end = std::ceil(static_cast<double>(output + 1) * bin) + start;
  const auto clip = [limit](double v) {
    return static_cast<int64_t>(v > 0 ? std::min(v, limit) : 0.0);  // NaN is 0
  };
  return {clip(begin), clip(end)};
}

// The regions' corners are rounded to elements; an empty bin gives 0.
absl::Status MaxRoiPool(const MaxRoiPoolAttributes& attributes, KernelContext& context) {
  const Tensor& x_in = context.input(0);
  const Tensor& rois_in = context.input(1);
  if (x_in.rank() != 4 || rois_in.rank() != 2 || rois_in.dim(1) != 5) {
    return absl::InvalidArgumentError(absl::StrCat("X is ", TypeAndDims(x_in), " and rois ",
                                                   TypeAndDims(rois_in),
                                                   ", expected [N,C,H,W] and [regions,5]"));
  }
  const ElementType type = x_in.type();
  ASSIGN_OR_RETURN(const Tensor x, WidenTensor(context, x_in));
  ASSIGN_OR_RETURN(const Tensor rois, WidenTensor(context, rois_in));
  const int64_t channels = x.dim(1);
  const int64_t height = x.dim(2);
  const int64_t width = x.dim(3);
  const Dims dims{rois.dim(0), channels, attributes.height, attributes.width};
  return ComputeOutput(context, 0, type, dims, [&](Tensor& output) {
    return VisitType(Floats(), type, [&]<typename T>(Tag<T>) {
      T* out = output.mutable_data_as<T>();
      for (int64_t r = 0; r < rois.dim(0); ++r) {
        const T* roi = rois.data_as<T>() + r * 5;
        if (!(roi[0] >= 0 && roi[0] < static_cast<T>(x.dim(0)))) {
          return absl::InvalidArgumentError(absl::StrCat("region ", r, " is of image ", roi[0],
                                                         ", expected from 0 to ", x.dim(0) - 1));
        }
        double corner[4];
        for (int i = 0; i < 4; ++i) corner[i] = std::round(roi[i + 1] * attributes.spatial_scale);
        const double roi_width = std::max(corner[2] - corner[0] + 1, 1.0);
        const double roi_height = std::max(corner[3] - corner[1] + 1, 1.0);
        for (int64_t c = 0; c < channels; ++c) {
          const T* plane =
              x.data_as<T>() + (static_cast<int64_t>(roi[0]) * channels + c) * height * width;
          for (int64_t ph = 0; ph < attributes.height; ++ph) {
            const auto [top, bottom] = Bin(corner[1], roi_height, attributes.height, ph, height);
            for (int64_t pw = 0; pw < attributes.width; ++pw) {
              const auto [left, right] = Bin(corner[0], roi_width, attributes.width, pw, width);
              const bool empty = top >= bottom || left >= right;
              T best = empty ? T{0} : plane[top * width + left];
              for (int64_t h = top; h < bottom; ++h) {
                for (int64_t w = left; w < right; ++w) {
                  const T value = plane[h * width + w];
                  if (value > best || value != value) best = value;
                }
              }
              *out++ = best;
            }
          }
        }
      }
      return absl::OkStatus();
    });
  });
}

constexpr auto kKernels = KernelTable(Rows<ParseRoiAlign, RoiAlign>("RoiAlign", 10, 16, 22),
                                      Rows<ParseMaxRoiPool, MaxRoiPool>("MaxRoiPool", 1, 22));

}  // namespace

absl::Span<const KernelDef> RoiPoolKernels() { return kKernels; }

}  // namespace onnx_run
