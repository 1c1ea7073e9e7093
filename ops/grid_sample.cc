// GridSample, all versions, for any number of spatial dimensions.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/dispatch.h"
#include "ops/families.h"
#include "ops/kernel_table.h"
#include "ops/resample.h"
#include "ops/shape_util.h"
#include "runtime/status_macros.h"

namespace onnx_run {
namespace {

enum class Mode : uint8_t { kNearest, kLinear, kCubic };
enum class Padding : uint8_t { kZeros, kBorder, kReflection };

struct GridSampleAttributes {
  Mode mode;
  Padding padding;
  bool align_corners;
};

absl::StatusOr<GridSampleAttributes> ParseGridSample(const NodeInfo& node) {
  GridSampleAttributes attributes{};
  const std::string mode = node.StringOr("mode", "linear");
  if (mode == "nearest") {
    attributes.mode = Mode::kNearest;
  } else if (mode == "linear" || mode == "bilinear") {  // the second is version 16's word
    attributes.mode = Mode::kLinear;
  } else if (mode == "cubic" || mode == "bicubic") {
    attributes.mode = Mode::kCubic;
  } else {
    return node.BadAttribute("mode", absl::StrCat("\"", mode, "\""),
                             "\"nearest\", \"linear\" or \"cubic\"");
  }
  const std::string padding = node.StringOr("padding_mode", "zeros");
  if (padding == "zeros") {
    attributes.padding = Padding::kZeros;
  } else if (padding == "border") {
    attributes.padding = Padding::kBorder;
  } else if (padding == "reflection") {
    attributes.padding = Padding::kReflection;
  } else {
    return node.BadAttribute("padding_mode", absl::StrCat("\"", padding, "\""),
                             "\"zeros\", \"border\" or \"reflection\"");
  }
  attributes.align_corners = node.IntOr("align_corners", 0) != 0;
  return attributes;
}

// One axis of the input. Coordinates are computed in the grid's own precision, G.
template <typename G>
class SampledAxis {
 public:
  SampledAxis(const GridSampleAttributes& attributes, int64_t size)
      : attributes_(attributes),
        size_(size),
        low_(attributes.align_corners ? G{0} : G{-0.5}),
        high_(static_cast<G>(size) + (attributes.align_corners ? G{-1} : G{-0.5})) {}

  // From [-1, 1] to elements, moved inside as the padding mode says.
  G Position(G x) const {
    const auto size = static_cast<G>(size_);
    x = attributes_.align_corners ? (x + 1) / 2 * (size - 1) : ((x + 1) * size - 1) / 2;
    if (attributes_.mode == Mode::kNearest) x = std::nearbyint(x);
    if (x >= low_ && x <= high_) return x;
    switch (attributes_.padding) {
      case Padding::kZeros: return x;
      case Padding::kBorder: return x > 0 ? std::min(x, size - 1) : G{0};  // NaN too
      case Padding::kReflection: return Reflect(x);
    }
    return x;
  }

  // The element at `index`, or -1 for the zero outside.
  int64_t Index(int64_t index) const {
    if (index >= 0 && index < size_) return index;
    switch (attributes_.padding) {
      case Padding::kZeros: return -1;
      case Padding::kBorder: return std::clamp<int64_t>(index, 0, size_ - 1);
      case Padding::kReflection: {
        const auto reflected = static_cast<int64_t>(Reflect(static_cast<G>(index)));
        return std::clamp<int64_t>(reflected, 0, size_ - 1);
      }
    }
    return -1;
  }

  // Whether no tap around `x` can be inside; such a number may be too large for an index.
  bool FarOutside(G x) const { return !(x > -4 && x < static_cast<G>(size_) + 4); }

 private:
  G Reflect(G x) const {
    const G range = high_ - low_;
    if (!(range > 0) || !std::isfinite(x)) return std::max(low_, G{0});
    const bool below = x < low_;
    const G distance = below ? low_ - x : x - high_;
    const G turns = std::trunc(distance / range);
    const G rest = std::clamp(distance - turns * range, G{0}, range);
    const bool even = std::fmod(turns, G{2}) == 0;
    return even == below ? low_ + rest : high_ - rest;
  }

  GridSampleAttributes attributes_;
  int64_t size_;
  G low_;
  G high_;
};

// The elements of a plane that make one output, with their weights.
struct Sample {
  std::vector<int64_t> indices;
  std::vector<double> weights;
};

template <typename G>
class Sampler {
 public:
  Sampler(const GridSampleAttributes& attributes, absl::Span<const int64_t> sizes)
      : mode_(attributes.mode), sizes_(sizes.begin(), sizes.end()) {
    for (const int64_t size : sizes) axes_.emplace_back(attributes, size);
  }

  // `point`: a coordinate for each axis, the last axis first.
  void Find(const G* point, Sample& sample, Sample& scratch) const {
    sample.indices.assign(1, 0);
    sample.weights.assign(1, 1.0);
    const size_t rank = axes_.size();
    for (size_t d = 0; d < rank; ++d) {
      const G x = axes_[d].Position(point[rank - 1 - d]);
      int64_t first = 0;
      int count = 1;
      double weights[4] = {1, 0, 0, 0};
      if (axes_[d].FarOutside(x)) {
        count = 0;
      } else if (mode_ == Mode::kNearest) {
        first = static_cast<int64_t>(x);
      } else {
        const G low = std::floor(x);
        first = static_cast<int64_t>(low);
        if (mode_ == Mode::kLinear) {
          count = 2;
          weights[1] = x - low;
          weights[0] = 1 - weights[1];
        } else {
          count = 4;
          --first;
          CubicWeights<double>(x - low, -0.75, weights);
        }
      }
      scratch.indices.clear();
      scratch.weights.clear();
      for (int tap = 0; tap < count; ++tap) {
        const int64_t index = axes_[d].Index(first + tap);
        if (index < 0 || weights[tap] == 0) continue;
        for (size_t i = 0; i < sample.indices.size(); ++i) {
          scratch.indices.push_back(sample.indices[i] * sizes_[d] + index);
          scratch.weights.push_back(sample.weights[i] * weights[tap]);
        }
      }
      std::swap(sample, scratch);
    }
  }

 private:
  Mode mode_;
  Dims sizes_;
  std::vector<SampledAxis<G>> axes_;
};

// Calls fn(image, output, sample) for each point of the grid, shared out.
template <typename G, typename Fn>
void ForEachSample(const KernelContext& context, const GridSampleAttributes& attributes,
                   const Tensor& x, const Tensor& grid, int64_t outputs, int64_t channels,
                   const Fn& fn) {
  const Sampler<G> sampler(attributes, absl::MakeSpan(x.dims()).subspan(2, grid.dims().back()));
  const int64_t rank = grid.dims().back();
  const int64_t grain = std::max<int64_t>(1, 4096 / (channels + 1));
  context.ParallelFor(x.dim(0) * outputs, grain, [&](int64_t begin, int64_t end) {
    Sample sample, scratch;
    for (int64_t i = begin; i < end; ++i) {
      sampler.Find(grid.data_as<G>() + i * rank, sample, scratch);
      fn(i / outputs, i % outputs, sample);
    }
  });
}

struct GridShape {
  Dims output;
  int64_t channels;
  int64_t plane;    // elements of one channel of the input
  int64_t outputs;  // and of the output
};

absl::StatusOr<GridShape> CheckShapes(const Tensor& x, const Tensor& grid) {
  const bool fits = x.rank() >= 3 && grid.rank() == x.rank() && grid.dim(0) == x.dim(0) &&
                    grid.dims().back() == x.rank() - 2;
  if (!fits) {
    return absl::InvalidArgumentError(
        absl::StrCat("X is ", TypeAndDims(x), " and grid ", TypeAndDims(grid),
                     ", expected [N,C,sizes] and [N,output sizes,number of sizes]"));
  }
  GridShape shape;
  shape.output = {x.dim(0), x.dim(1)};
  shape.output.insert(shape.output.end(), grid.dims().begin() + 1, grid.dims().end() - 1);
  ASSIGN_OR_RETURN(const int64_t size, ElementCount(shape.output));
  if (size != 0 && x.size() == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("X is ", TypeAndDims(x), ", which has no elements to sample"));
  }
  shape.channels = x.dim(1);
  const int64_t planes = x.dim(0) * x.dim(1);
  shape.plane = planes == 0 ? 0 : x.size() / planes;
  shape.outputs = planes == 0 ? 0 : size / planes;
  return shape;
}

template <typename G>
absl::Status SampleNearest(const GridSampleAttributes& attributes, const GridShape& shape,
                           const Tensor& grid, KernelContext& context) {
  const Tensor& x = context.input(0);
  ASSIGN_OR_RETURN(Tensor * output, context.Output(0, x.type(), shape.output));
  if (output->size() == 0) return absl::OkStatus();
  return VisitWidth(x.type(), [&]<typename T>(Tag<T>) {
    const T* in = x.data_as<T>();
    T* out = output->mutable_data_as<T>();
    ForEachSample<G>(context, attributes, x, grid, shape.outputs, shape.channels,
                     [&](int64_t image, int64_t o, const Sample& sample) {
                       for (int64_t c = 0; c < shape.channels; ++c) {
                         const int64_t plane = image * shape.channels + c;
                         out[plane * shape.outputs + o] =
                             sample.indices.empty() ? T{}
                                                    : in[plane * shape.plane + sample.indices[0]];
                       }
                     });
    return absl::OkStatus();
  });
}

template <typename G>
absl::Status SampleBetween(const GridSampleAttributes& attributes, const GridShape& shape,
                           const Tensor& grid, KernelContext& context) {
  const Tensor& x = context.input(0);
  ASSIGN_OR_RETURN(const RealElements real, ToReal(context, x));
  const int parts = real.parts;
  Dims dims = shape.output;
  if (parts > 1) dims.push_back(parts);
  ASSIGN_OR_RETURN(Tensor result, context.Allocate(real.values.type(), dims));
  if (result.size() != 0) {
    RETURN_IF_ERROR(VisitType(Floats(), result.type(), [&]<typename T>(Tag<T>) {
      const T* in = real.values.data_as<T>();
      T* out = result.mutable_data_as<T>();
      ForEachSample<G>(context, attributes, x, grid, shape.outputs, shape.channels,
                       [&](int64_t image, int64_t o, const Sample& sample) {
                         const size_t taps = sample.indices.size();
                         for (int64_t c = 0; c < shape.channels; ++c) {
                           const int64_t plane = image * shape.channels + c;
                           for (int part = 0; part < parts; ++part) {
                             const T* from = in + plane * shape.plane * parts + part;
                             double sum = 0;
                             for (size_t i = 0; i < taps; ++i) {
                               sum += sample.weights[i] *
                                      static_cast<double>(from[sample.indices[i] * parts]);
                             }
                             out[(plane * shape.outputs + o) * parts + part] = static_cast<T>(sum);
                           }
                         }
                       });
      return absl::OkStatus();
    }));
  }
  return SetOutputFromReal(context, 0, std::move(result), x.type(), IntegerRounding::kTowardsZero);
}

absl::Status GridSample(const GridSampleAttributes& attributes, KernelContext& context) {
  const Tensor& x = context.input(0);
  ASSIGN_OR_RETURN(const GridShape shape, CheckShapes(x, context.input(1)));
  ASSIGN_OR_RETURN(const Tensor grid, WidenTensor(context, context.input(1)));
  return VisitType(Floats(), grid.type(), [&]<typename G>(Tag<G>) {
    if (attributes.mode == Mode::kNearest) {
      return SampleNearest<G>(attributes, shape, grid, context);
    }
    return SampleBetween<G>(attributes, shape, grid, context);
  });
}

constexpr auto kKernels = KernelTable(Rows<ParseGridSample, GridSample>("GridSample", 16, 20, 22));

}  // namespace

absl::Span<const KernelDef> GridSampleKernels() { return kKernels; }

}  // namespace onnx_run
