// Conv, all versions: a matrix product over the columns of the input, which are only made in blocks
// that fit the cache; or, for depthwise ones, sums of shifted rows.
#include "ops/conv.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/dispatch.h"
#include "ops/families.h"
#include "ops/gemm.h"
#include "ops/gemm_kernels.h"
#include "ops/kernel_table.h"
#include "ops/shape_util.h"

namespace onnx_run {
namespace {

constexpr int64_t kGrain = int64_t{1} << 17;  // products that are worth a thread
// Outputs of an image up to which sums go along the weights' memory (see gemm.cc).
constexpr int64_t kFewOutputs = 8;

template <typename T>
constexpr ElementType ElementTypeOf() {
  if constexpr (std::is_same_v<T, float>) return ElementType::kFloat;
  if constexpr (std::is_same_v<T, double>) return ElementType::kDouble;
  if constexpr (std::is_same_v<T, int32_t>) return ElementType::kInt32;
}

// The taps of a kernel in order: along each axis, how far from the window's start.
class TapTable {
 public:
  explicit TapTable(const Window& window) : rank_(window.rank()), count_(window.KernelSize()) {
    offsets_.resize(count_ * rank_);
    for (int64_t tap = 0; tap < count_; ++tap) {
      int64_t rest = tap;
      for (int d = rank_ - 1; d >= 0; --d) {
        offsets_[tap * rank_ + d] = rest % window.axes[d].kernel * window.axes[d].dilation;
        rest /= window.axes[d].kernel;
      }
    }
  }
  int64_t count() const { return count_; }
  const int64_t* Offsets(int64_t tap) const { return offsets_.data() + tap * rank_; }

 private:
  int rank_;
  int64_t count_;
  std::vector<int64_t> offsets_;
};

// A run of a panel's columns that differ in the last axis alone, for one tap.
struct Piece {
  int64_t from;    // index in the channel's plane of the first element inside
  int32_t column;  // of the panel
  int32_t before;  // columns in the padding before those inside,
  int32_t inside;
  int32_t after;  // and after them
};

// The right operand of the product: row c * taps + t holds, for each output, the input of channel c
// that tap t meets, or 0 in the padding.
template <typename T>
class ConvColumns final : public PanelSource<T> {
 public:
  ConvColumns(const ConvShape& shape, const T* x)
      : window_(shape.window),
        taps_(shape.window),
        plane_(shape.window.InputSize()),
        group_channels_(shape.channels / shape.group),
        stride_(shape.window.axes.back().stride),
        x_(x) {}

  void Pack(int64_t problem, const PanelRequest<T>& request) const override {
    const int64_t depth = request.k_end - request.k_begin;
    const int width = request.panel_columns;
    const int64_t taps = taps_.count();
    T* to = request.to;
    Pieces pieces;
    for (int64_t column = request.begin; column < request.end; column += width) {
      const int64_t columns = std::min<int64_t>(width, request.end - column);
      if (columns < width) std::fill_n(to, depth * width, T{0});
      const size_t per_tap = Cut(column, columns, pieces);
      // A few channels at a time: their rows stay in the cache for all taps.
      const int64_t channel_end = (request.k_end + taps - 1) / taps;
      for (int64_t c = request.k_begin / taps; c < channel_end; c += kChannels) {
        for (int64_t tap = 0; tap < taps; ++tap) {
          // Channels with k_begin <= channel * taps + tap < k_end.
          const int64_t first = std::max(c, (request.k_begin - tap + taps - 1) / taps);
          const int64_t last = std::min(c + kChannels, (request.k_end - tap + taps - 1) / taps);
          if (first >= last) continue;
          const T* x = x_ + (problem * group_channels_ + first) * plane_;
          T* row = to + (first * taps + tap - request.k_begin) * width;
          for (size_t i = 0; i < per_tap; ++i) {
            Copy(pieces[static_cast<size_t>(tap) * per_tap + i], x, last - first, row,
                 taps * width);
          }
        }
      }
      to += depth * width;
    }
  }

  // All rows for one output, side by side.
  void Gather(int64_t problem, int64_t output, T* to) const {
    const T* x = x_ + problem * group_channels_ * plane_;
    Pieces pieces;
    Cut(output, 1, pieces);
    for (int64_t c = 0; c < group_channels_; ++c, x += plane_) {
      for (const Piece& piece : pieces) *to++ = piece.inside != 0 ? x[piece.from] : T{0};
    }
  }

 private:
  using Pieces = absl::InlinedVector<Piece, 64>;
  static constexpr int64_t kChannels = 8;

  // The pieces of each tap, in order, for columns [column, column + columns). Returns how many each
  // has.
  size_t Cut(int64_t column, int64_t columns, Pieces& pieces) const {
    pieces.clear();
    size_t per_tap = 0;
    for (int64_t tap = 0; tap < taps_.count(); ++tap) {
      per_tap = 0;
      for (int64_t done = 0; done < columns; ++per_tap) {
        pieces.push_back(MakePiece(column + done, columns - done, tap));
        pieces.back().column = static_cast<int32_t>(done);
        done += pieces.back().before + pieces.back().inside + pieces.back().after;
      }
    }
    return per_tap;
  }

  // From output `output` to the end of its row, or `columns` outputs.
  Piece MakePiece(int64_t output, int64_t columns, int64_t tap) const {
    const int64_t* offsets = taps_.Offsets(tap);
    const int last = window_.rank() - 1;
    int64_t from = 0;
    int64_t row_stride = window_.axes[last].input;
    int64_t rest = output / window_.axes[last].output;
    bool inside = true;
    for (int d = last - 1; d >= 0; --d) {
      const WindowAxis& axis = window_.axes[d];
      const int64_t position = axis.Start(rest % axis.output) + offsets[d];
      rest /= axis.output;
      inside = inside && position >= 0 && position < axis.input;
      if (inside) from += position * row_stride;
      row_stride *= axis.input;
    }
    const WindowAxis& axis = window_.axes[last];
    const int64_t o = output % axis.output;
    columns = std::min(columns, axis.output - o);
    const int64_t start = axis.Start(o) + offsets[last];
    int64_t begin = start >= 0 ? 0 : (-start + stride_ - 1) / stride_;
    int64_t end = start >= axis.input ? 0 : (axis.input - start + stride_ - 1) / stride_;
    begin = std::min(begin, columns);
    end = std::max(begin, std::min(end, columns));
    if (!inside) end = begin;
    return {begin < end ? from + start + begin * stride_ : 0, 0, static_cast<int32_t>(begin),
            static_cast<int32_t>(end - begin), static_cast<int32_t>(columns - end)};
  }

  // Of `channels` neighbouring ones, each into a row.
  void Copy(const Piece& piece, const T* x, int64_t channels, T* row, int64_t row_stride) const {
    constexpr int kWidth = 64 / sizeof(T);
    x += piece.from;
    row += piece.column;
    if (stride_ == 1 &&
        piece.inside == 2 * kWidth) {  // a whole panel: a size that the compiler knows
      for (; channels > 0; --channels, x += plane_, row += row_stride) {
        std::memcpy(row, x, 2 * kWidth * sizeof(T));
      }
      return;
    }
    for (; channels > 0; --channels, x += plane_, row += row_stride) {
      T* to = row;
      for (int i = 0; i < piece.before; ++i) *to++ = T{0};
      if (stride_ == 1) {
        for (int i = 0; i < piece.inside; ++i) to[i] = x[i];
      } else if (stride_ == 2) {
        for (int i = 0; i < piece.inside; ++i) to[i] = x[2 * i];
      } else {
        for (int i = 0; i < piece.inside; ++i) to[i] = x[stride_ * i];
      }
      to += piece.inside;
      for (int i = 0; i < piece.after; ++i) *to++ = T{0};
    }
  }

  const Window& window_;
  const TapTable taps_;
  const int64_t plane_;
  const int64_t group_channels_;
  const int64_t stride_;
  const T* x_;
};

// The last axis joins the one before where a window moves along it element by element: the longer
// the rows, the longer the pieces that are copied.
void MergeAxes(Window& window) {
  while (window.rank() > 1) {
    const WindowAxis last = window.axes.back();
    WindowAxis& before = window.axes[window.axes.size() - 2];
    const bool whole = last.kernel == 1 && last.pad_begin == 0 && last.pad_end == 0 &&
                       last.output == last.input && (last.stride == 1 || last.input == 1);
    if (!whole || last.input == 0 || (before.stride != 1 && last.input != 1)) return;
    before.input *= last.input;
    before.output *= last.input;
    before.dilation *= last.input;
    before.pad_begin *= last.input;
    before.pad_end *= last.input;
    window.axes.pop_back();
  }
}

template <typename T>
absl::Status RunProducts(KernelContext& context, const ConvShape& given, const T* x, const T* w,
                         const T* packed_w, const T* bias, T* y) {
  ConvShape shape = given;
  MergeAxes(shape.window);
  const int64_t taps = shape.window.KernelSize();
  const int64_t plane = shape.window.InputSize();
  const int64_t pixels = shape.window.OutputSize();
  const int64_t group_channels = shape.channels / shape.group;
  const GemmSize size{shape.outputs / shape.group, pixels, group_channels * taps};
  const int64_t count = shape.batch * shape.group;
  const bool identity = shape.window.IsIdentity();
  const ConvColumns<T> columns(shape, x);

  // Few outputs: the columns as they are, each in a row.
  Tensor gathered;
  const bool gather = !identity && pixels <= kFewOutputs;
  if (gather) {
    ASSIGN_OR_RETURN(gathered, context.Allocate(ElementTypeOf<T>(), {count, pixels, size.k}));
    T* to = gathered.mutable_data_as<T>();
    context.ParallelFor(count * pixels, std::max<int64_t>(1, kGrain / 4 / size.k),
                        [&](int64_t begin, int64_t end) {
                          for (int64_t i = begin; i < end; ++i) {
                            columns.Gather(i / pixels, i % pixels, to + i * size.k);
                          }
                        });
  }
  return RunGemms<T>(context, size, count, [&](int64_t i) {
    const int64_t group = i % shape.group;
    GemmProblem<T> problem;
    problem.a = {w + group * size.m * size.k, size.k, 1};
    if (packed_w != nullptr) problem.packed_a = packed_w + group * size.m * size.k;
    if (identity) {
      problem.b = {x + i * group_channels * plane, plane, 1};
    } else if (gather) {
      problem.b = {gathered.data_as<T>() + i * pixels * size.k, 1, size.k};
    } else {
      problem.panels = &columns;
    }
    problem.c = y + i * size.m * pixels;
    problem.c_stride = pixels;
    problem.row_bias = bias == nullptr ? nullptr : bias + group * size.m;
    return problem;
  });
}

// One input channel for each group. A row of the output is a sum of rows of the input, shifted;
// where the stride is not 1, the input's rows are laid out by their remainders first, with the
// padding.
template <typename T>
class DepthwiseConv {
 public:
  DepthwiseConv(const ConvShape& shape, const T* x, const T* w, const T* bias, T* y)
      : window_(shape.window),
        taps_(shape.window),
        x_(x),
        w_(w),
        bias_(bias),
        y_(y),
        multiplier_(shape.outputs / shape.group),
        channels_(shape.channels) {
    const WindowAxis& axis = window_.axes.back();
    in_place_ = axis.stride == 1 && axis.pad_begin == 0 && axis.pad_end == 0;
    // The longest reach of a tap into the elements of one remainder.
    phase_length_ = axis.output + (axis.Extent() - 1) / axis.stride;
    phases_ = std::min(axis.stride, axis.Extent());
    rows_ = axis.input == 0 ? 0 : window_.InputSize() / axis.input;
    row_length_ = in_place_ ? axis.input : phase_length_ * phases_;
    row_strides_.resize(window_.rank() - 1);
    int64_t stride = row_length_;
    for (int d = window_.rank() - 2; d >= 0; --d) {
      row_strides_[d] = stride;
      stride *= window_.axes[d].input;
    }
  }

  // Elements of scratch memory; nullopt when there would be too many.
  std::optional<int64_t> ScratchElements() const {
    if (in_place_) return 0;
    int64_t row = 0;
    int64_t all = 0;
    if (__builtin_mul_overflow(phase_length_, phases_, &row) ||
        __builtin_mul_overflow(row, rows_, &all)) {
      return std::nullopt;
    }
    return all;
  }

  // Input channel number `number` of all images.
  void Run(int64_t number, T* scratch) const {
    const int64_t channel = number % channels_;
    const T* plane = x_ + number * window_.InputSize();
    if (!in_place_) LayOut(plane, scratch);
    const int64_t pixels = window_.OutputSize();
    for (int64_t j = 0; j < multiplier_; ++j) {
      const int64_t output = channel * multiplier_ + j;
      RunChannel(in_place_ ? plane : scratch, w_ + output * taps_.count(),
                 bias_ == nullptr ? T{0} : bias_[output], y_ + (number * multiplier_ + j) * pixels);
    }
  }

 private:
  void LayOut(const T* plane, T* to) const {
    const WindowAxis& axis = window_.axes.back();
    for (int64_t row = 0; row < rows_; ++row) {
      const T* from = plane + row * axis.input;
      for (int64_t phase = 0; phase < phases_; ++phase) {
        // Element i is the input's i * stride + phase - pad_begin.
        const int64_t start = phase - axis.pad_begin;
        int64_t begin = start >= 0 ? 0 : (-start + axis.stride - 1) / axis.stride;
        int64_t end =
            start >= axis.input ? 0 : (axis.input - start + axis.stride - 1) / axis.stride;
        begin = std::min(begin, phase_length_);
        end = std::max(begin, std::min(end, phase_length_));
        std::fill_n(to, begin, T{0});
        if (axis.stride == 1) {
          std::copy_n(from + start + begin, end - begin, to + begin);
        } else if (axis.stride == 2) {  // a step that the compiler knows how to vectorise
          for (int64_t i = begin; i < end; ++i) to[i] = from[2 * i + start];
        } else {
          for (int64_t i = begin; i < end; ++i) to[i] = from[i * axis.stride + start];
        }
        std::fill_n(to + end, phase_length_ - end, T{0});
        to += phase_length_;
      }
    }
  }

  // How far a tap's elements are from those of a window's start.
  int64_t TapDistance(int64_t tap) const {
    const int64_t* offsets = taps_.Offsets(tap);
    const int last = window_.rank() - 1;
    const int64_t stride = window_.axes[last].stride;
    int64_t distance =
        in_place_ ? offsets[last] : offsets[last] % stride * phase_length_ + offsets[last] / stride;
    for (int d = 0; d < last; ++d) distance += offsets[d] * row_strides_[d];
    return distance;
  }

  void RunChannel(const T* from, const T* weights, T bias, T* to) const {
    const GemmKernels<T>& kernels = GetGemmKernels<T>();
    const int last = window_.rank() - 1;
    const WindowAxis& axis = window_.axes[last];
    absl::InlinedVector<int64_t, 32> distances(taps_.count());
    for (int64_t tap = 0; tap < taps_.count(); ++tap) distances[tap] = TapDistance(tap);
    absl::InlinedVector<int64_t, 32> inside_distances;
    absl::InlinedVector<T, 32> inside_weights;
    absl::InlinedVector<int64_t, 3> starts(last);
    const int64_t output_rows = window_.OutputSize() / axis.output;
    for (int64_t output_row = 0; output_row < output_rows; ++output_row) {
      int64_t rest = output_row;
      int64_t start = 0;
      bool all_inside = true;
      for (int d = last - 1; d >= 0; --d) {
        const WindowAxis& outer = window_.axes[d];
        starts[d] = outer.Start(rest % outer.output);
        rest /= outer.output;
        start += starts[d] * row_strides_[d];
        all_inside = all_inside && starts[d] >= 0 && starts[d] + outer.Extent() <= outer.input;
      }
      TapsRow<T> row{from + start, distances.data(),
                     weights,      static_cast<int>(taps_.count()),
                     bias,         to + output_row * axis.output,
                     axis.output};
      if (!all_inside) {
        inside_distances.clear();
        inside_weights.clear();
        for (int64_t tap = 0; tap < taps_.count(); ++tap) {
          if (!IsInside(starts, tap)) continue;
          inside_distances.push_back(start + distances[tap]);
          inside_weights.push_back(weights[tap]);
        }
        row.base = from;
        row.distances = inside_distances.data();
        row.weights = inside_weights.data();
        row.count = static_cast<int>(inside_weights.size());
      }
      kernels.taps(row);
    }
  }

  bool IsInside(absl::Span<const int64_t> starts, int64_t tap) const {
    const int64_t* offsets = taps_.Offsets(tap);
    for (size_t d = 0; d < starts.size(); ++d) {
      const int64_t position = starts[d] + offsets[d];
      if (position < 0 || position >= window_.axes[d].input) return false;
    }
    return true;
  }

  const Window& window_;
  const TapTable taps_;
  const T* x_;
  const T* w_;
  const T* bias_;
  T* y_;
  const int64_t multiplier_;
  const int64_t channels_;
  bool in_place_;
  int64_t phase_length_;
  int64_t phases_;
  int64_t rows_;
  int64_t row_length_;
  Dims row_strides_;  // of the axes before the last
};

template <typename T>
absl::Status RunDepthwise(KernelContext& context, const ConvShape& shape,
                          const DepthwiseConv<T>& conv, int64_t scratch_elements) {
  const int64_t work = std::max<int64_t>(
      1, shape.outputs / shape.group * shape.window.OutputSize() * shape.window.KernelSize());
  std::atomic<bool> exhausted{false};
  context.ParallelFor(shape.batch * shape.channels, std::max<int64_t>(1, kGrain / work),
                      [&](int64_t begin, int64_t end) {
                        absl::StatusOr<Tensor> scratch =
                            context.Allocate(ElementTypeOf<T>(), {scratch_elements});
                        if (!scratch.ok()) {
                          exhausted.store(true, std::memory_order_relaxed);
                          return;
                        }
                        for (int64_t i = begin; i < end; ++i)
                          conv.Run(i, scratch->mutable_data_as<T>());
                      });
  if (exhausted) return absl::ResourceExhaustedError("no memory left for a convolution's input");
  return absl::OkStatus();
}

struct ConvState {
  ConvAttributes attributes;
  PackedOperand packed_weights;
};
absl::StatusOr<ConvState> ParseConvState(const NodeInfo& node) {
  ConvState state;
  ASSIGN_OR_RETURN(state.attributes, ParseConv(node));
  return state;
}

bool IsDepthwise(int64_t channels, int64_t outputs, int64_t group) {
  return channels == group && outputs / group <= 4;
}

absl::Status PrepareConv(ConvState& state, const NodeInfo& /*node*/,
                         absl::Span<const Value* const> constants, int64_t* memory) {
  const Value* weights = constants[1];
  if (weights == nullptr || !weights->is_tensor()) return absl::OkStatus();
  const Dims& dims = weights->tensor().dims();
  const int64_t group = state.attributes.group;
  if (dims.size() < 2 || dims[0] % group != 0 || IsDepthwise(dims[1] * group, dims[0], group)) {
    return absl::OkStatus();
  }
  const GemmSize size{dims[0] / group, 0, dims[0] == 0 ? 0 : weights->tensor().size() / dims[0]};
  state.packed_weights =
      PackConstant(weights, Operand::kLeft, size, size.k, 1, group, size.m * size.k, memory);
  return absl::OkStatus();
}

absl::Status Conv(const ConvState& state, KernelContext& context) {
  const ConvAttributes& attributes = state.attributes;
  const Tensor& x_in = context.input(0);
  const Tensor* bias_in = context.has_input(2) ? &context.input(2) : nullptr;
  ASSIGN_OR_RETURN(const ConvShape shape,
                   MakeConvShape(attributes, x_in, context.input(1), bias_in));
  const ElementType type = x_in.type();
  ASSIGN_OR_RETURN(const Tensor x, WidenTensor(context, x_in));
  ASSIGN_OR_RETURN(const Tensor w, WidenTensor(context, context.input(1)));
  Tensor bias;
  if (bias_in != nullptr) {
    ASSIGN_OR_RETURN(bias, WidenTensor(context, *bias_in));
  }
  return ComputeOutput(context, 0, type, shape.OutputDims(), [&](Tensor& output) {
    return VisitType(Floats(), type, [&]<typename T>(Tag<T>) {
      return RunConv<T>(context, shape, x.data_as<T>(), w.data_as<T>(), bias.data_as<T>(),
                        output.mutable_data_as<T>(), state.packed_weights.data<T>());
    });
  });
}

constexpr auto kKernels = KernelTable(Rows<ParseConvState, Conv>("Conv", 1, 11, 22)
                                          .Prepare(&internal::PrepareWith<PrepareConv, ConvState>));

}  // namespace

absl::StatusOr<ConvAttributes> ParseConv(const NodeInfo& node) {
  ConvAttributes attributes;
  ASSIGN_OR_RETURN(attributes.window, ParseWindow(node));
  attributes.group = node.IntOr("group", 1);
  if (attributes.group < 1) {
    return node.BadAttribute("group", absl::StrCat(attributes.group), "a positive number");
  }
  return attributes;
}

absl::StatusOr<ConvShape> MakeConvShape(const ConvAttributes& attributes, const Tensor& x,
                                        const Tensor& w, const Tensor* bias) {
  RETURN_IF_ERROR(CheckSpatial(x, "X"));
  if (w.rank() != x.rank()) {
    return absl::InvalidArgumentError(
        absl::StrCat("X is ", TypeAndDims(x), " and W ", TypeAndDims(w), ", expected equal ranks"));
  }
  ConvShape shape;
  shape.batch = x.dim(0);
  shape.channels = x.dim(1);
  shape.outputs = w.dim(0);
  shape.group = attributes.group;
  int64_t channels = 0;
  if (shape.outputs % shape.group != 0 ||
      __builtin_mul_overflow(w.dim(1), shape.group, &channels) || channels != shape.channels) {
    return absl::InvalidArgumentError(absl::StrCat(
        "X is ", TypeAndDims(x), " and W ", TypeAndDims(w), " with group ", shape.group,
        ", expected a multiple of group output channels, each of ", shape.channels, " / group"));
  }
  if (bias != nullptr && (bias->rank() != 1 || bias->dim(0) != shape.outputs)) {
    return absl::InvalidArgumentError(
        absl::StrCat("B is ", TypeAndDims(*bias), ", expected [", shape.outputs, "]"));
  }
  ASSIGN_OR_RETURN(shape.window, MakeWindow(attributes.window, absl::MakeSpan(x.dims()).subspan(2),
                                            absl::MakeSpan(w.dims()).subspan(2)));
  return shape;
}

template <typename T>
absl::Status RunConv(KernelContext& context, const ConvShape& shape, const T* x, const T* w,
                     const T* bias, T* y, const T* packed_w) {
  if (shape.batch == 0 || shape.outputs == 0 || shape.window.OutputSize() == 0) {
    return absl::OkStatus();
  }
  if (IsDepthwise(shape.channels, shape.outputs, shape.group)) {
    const DepthwiseConv<T> conv(shape, x, w, bias, y);
    // Far more padding than input is not laid out.
    const std::optional<int64_t> scratch = conv.ScratchElements();
    if (scratch && *scratch <= 8 * (shape.window.InputSize() + shape.window.OutputSize()) + 4096) {
      return RunDepthwise(context, shape, conv, *scratch);
    }
  }
  return RunProducts(context, shape, x, w, packed_w, bias, y);
}
template absl::Status RunConv<float>(KernelContext&, const ConvShape&, const float*, const float*,
                                     const float*, float*, const float*);
template absl::Status RunConv<double>(KernelContext&, const ConvShape&, const double*,
                                      const double*, const double*, double*, const double*);
template absl::Status RunConv<int32_t>(KernelContext&, const ConvShape&, const int32_t*,
                                       const int32_t*, const int32_t*, int32_t*, const int32_t*);

absl::Span<const KernelDef> ConvKernels() { return kKernels; }

}  // namespace onnx_run
