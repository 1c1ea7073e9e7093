// AveragePool, MaxPool, LpPool, their global forms, and MaxUnpool; all versions.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ops/dispatch.h"
#include "ops/families.h"
#include "ops/kernel_table.h"
#include "ops/reduce_engine.h"
#include "ops/shape_util.h"
#include "ops/window.h"

namespace onnx_run {
namespace {

constexpr int64_t kGrain = 32768;  // window elements that are worth a thread

struct PoolAttributes {
  WindowAttributes window;
  bool count_include_pad = false;
  bool column_major = false;  // storage_order 1, of MaxPool's indices
  double p = 2;               // of LpPool
};

// `p` is a float in the first versions, an int since.
double ParseP(const NodeInfo& node) {
  if (node.since_version() < 2) return node.FloatOr("p", 2);
  return static_cast<double>(node.IntOr("p", 2));
}

absl::StatusOr<PoolAttributes> ParsePool(const NodeInfo& node) {
  PoolAttributes attributes;
  ASSIGN_OR_RETURN(attributes.window, ParseWindow(node));
  if (attributes.window.kernel_shape.empty()) {
    return node.BadAttribute("kernel_shape", "[]", "a number for each spatial dimension");
  }
  attributes.count_include_pad = node.IntOr("count_include_pad", 0) != 0;
  attributes.column_major = node.IntOr("storage_order", 0) != 0;
  if (node.op_type() == "LpPool") attributes.p = ParseP(node);
  return attributes;
}

absl::StatusOr<Window> MakePoolWindow(const PoolAttributes& attributes, const Tensor& x) {
  RETURN_IF_ERROR(CheckSpatial(x, "X"));
  return MakeWindow(attributes.window, absl::MakeSpan(x.dims()).subspan(2),
                    attributes.window.kernel_shape);
}

// One window: rows of the input that it meets, and its taps along the last axis, [first, last) of
// them inside of the input.
struct PoolView {
  absl::Span<const int64_t> rows;  // index in the plane of each row's first element
  int64_t start;                   // of the first tap inside, along the last axis
  int64_t step;
  int64_t taps;
  int64_t counted;  // elements of the window that are not past the padding
};

// Taps of output `o` along an axis that are not past the padding.
int64_t Counted(const WindowAxis& axis, int64_t o) {
  const int64_t padded = axis.input + axis.pad_begin + axis.pad_end - o * axis.stride;
  return padded <= 0 ? 0 : std::min(axis.kernel, (padded + axis.dilation - 1) / axis.dilation);
}

// Calls fn(row, rows, counted) for each row of a plane's outputs: the rows of the input that its
// windows meet, as indices of their first elements, and how many rows are not past the padding.
template <typename Fn>
void ForEachRow(const Window& window, Fn&& fn) {
  const int last = window.rank() - 1;
  const WindowAxis& axis = window.axes[last];
  absl::InlinedVector<int64_t, 32> rows;
  absl::InlinedVector<int64_t, 32> next;
  absl::InlinedVector<int64_t, 3> index(last, 0);
  const int64_t output_rows = axis.output == 0 ? 0 : window.OutputSize() / axis.output;
  for (int64_t output_row = 0; output_row < output_rows; ++output_row) {
    int64_t rest = output_row;
    for (int d = last - 1; d >= 0; --d) {
      index[d] = rest % window.axes[d].output;
      rest /= window.axes[d].output;
    }
    rows.assign(1, 0);
    int64_t row_counted = 1;
    for (int d = 0; d < last; ++d) {
      const WindowAxis& outer = window.axes[d];
      const auto [first, end] = outer.Taps(index[d]);
      const int64_t start = outer.Start(index[d]);
      next.clear();
      for (const int64_t row : rows) {
        for (int64_t tap = first; tap < end; ++tap) {
          next.push_back(row * outer.input + start + tap * outer.dilation);
        }
      }
      rows.swap(next);
      row_counted *= Counted(outer, index[d]);
    }
    for (int64_t& row : rows) row *= axis.input;
    fn(output_row, absl::MakeConstSpan(rows), row_counted);
  }
}

// Calls fn(o, PoolView) for each output `o` of a plane.
template <typename Fn>
void ForEachWindow(const Window& window, Fn&& fn) {
  const WindowAxis& axis = window.axes.back();
  ForEachRow(window, [&](int64_t output_row, absl::Span<const int64_t> rows, int64_t row_counted) {
    for (int64_t o = 0; o < axis.output; ++o) {
      const auto [first, end] = axis.Taps(o);
      fn(output_row * axis.output + o,
         PoolView{rows, axis.Start(o) + first * axis.dilation, axis.dilation, end - first,
                  row_counted * Counted(axis, o)});
    }
  });
}

// Calls fn(plane) for each image and channel, shared out.
template <typename Fn>
void ForEachPlane(const KernelContext& context, const Tensor& x, const Window& window, Fn&& fn) {
  const double work = static_cast<double>(window.OutputSize()) * window.KernelSize();
  const auto grain = static_cast<int64_t>(std::max(1.0, kGrain / std::max(1.0, work)));
  context.ParallelFor(x.dim(0) * x.dim(1), grain, [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) fn(plane);
  });
}

// Calls fn(x) for each element of the window.
template <typename T, typename Fn>
void ForEachElement(const PoolView& view, const T* plane, Fn&& fn) {
  for (const int64_t row : view.rows) {
    const T* x = plane + row + view.start;
    for (int64_t tap = 0; tap < view.taps; ++tap) fn(x[tap * view.step]);
  }
}

// The kernel of a pool whose output is fn<T>(view, plane).
template <typename Fn>
absl::Status Pool(const PoolAttributes& attributes, KernelContext& context, Fn&& fn) {
  ASSIGN_OR_RETURN(const Window window, MakePoolWindow(attributes, context.input(0)));
  const ElementType type = context.input(0).type();
  ASSIGN_OR_RETURN(const Tensor x, WidenTensor(context, context.input(0)));
  const Dims dims = WindowOutputDims({x.dim(0), x.dim(1)}, window);
  return ComputeOutput(context, 0, type, dims, [&](Tensor& output) {
    if (output.size() == 0) return absl::OkStatus();
    return VisitType(Floats(), type, [&]<typename T>(Tag<T>) {
      const T* in = x.data_as<T>();
      T* out = output.mutable_data_as<T>();
      const int64_t in_size = window.InputSize();
      const int64_t out_size = window.OutputSize();
      ForEachPlane(context, x, window, [&](int64_t plane) {
        ForEachWindow(window, [&](int64_t o, const PoolView& view) {
          out[plane * out_size + o] = fn(view, in + plane * in_size);
        });
      });
      return absl::OkStatus();
    });
  });
}

absl::Status AveragePool(const PoolAttributes& attributes, KernelContext& context) {
  const bool with_padding = attributes.count_include_pad;
  return Pool(attributes, context,
              [with_padding]<typename T>(const PoolView& view, const T* plane) {
                double sum = 0;
                ForEachElement(view, plane, [&](T x) { sum += x; });
                const int64_t inside = static_cast<int64_t>(view.rows.size()) * view.taps;
                const int64_t count = with_padding ? view.counted : inside;
                return count == 0 ? T{0} : static_cast<T>(sum / static_cast<double>(count));
              });
}

// (sum |x|^p)^(1/p); padding is 0 and adds nothing.
double AddPower(double sum, double x, double p) {
  if (p == 2) return sum + x * x;
  if (p == 1) return sum + std::abs(x);
  return sum + std::pow(std::abs(x), p);
}
double RootOf(double sum, double p) {
  if (p == 2) return std::sqrt(sum);
  return p == 1 ? sum : std::pow(sum, 1 / p);
}

absl::Status LpPool(const PoolAttributes& attributes, KernelContext& context) {
  const double p = attributes.p;
  return Pool(attributes, context, [p]<typename T>(const PoolView& view, const T* plane) {
    double sum = 0;
    ForEachElement(view, plane, [&](T x) { sum = AddPower(sum, x, p); });
    return static_cast<T>(RootOf(sum, p));
  });
}

template <typename T>
constexpr T Lowest() {
  if constexpr (std::is_floating_point_v<T>) return -std::numeric_limits<T>::infinity();
  return std::numeric_limits<T>::lowest();
}

// NaN wins, as everywhere in the standard's maxima.
template <typename T>
bool Above(T x, T best) {
  if constexpr (std::is_floating_point_v<T>) return x > best || std::isnan(x);
  return x > best;
}

// Indices count the elements of the whole input; in a plane they go by columns when `column_major`.
int64_t ColumnMajorIndex(const Window& window, int64_t index) {
  int64_t result = 0;
  // index = (i0 * d1 + i1) * d2 + i2  ->  i0 + d0 * (i1 + d1 * i2)
  for (int d = window.rank() - 1; d >= 0; --d) {
    int64_t stride = 1;
    for (int e = 0; e < d; ++e) stride *= window.axes[e].input;
    result += index % window.axes[d].input * stride;
    index /= window.axes[d].input;
  }
  return result;
}

// A row of outputs at a time, tap by tap: each output meets its elements in the order of the
// window.
template <typename T>
void MaxOfRow(const WindowAxis& axis, absl::Span<const int64_t> rows, const T* plane, T* out) {
  std::fill_n(out, axis.output, Lowest<T>());
  const int64_t stride = axis.stride;
  for (const int64_t row : rows) {
    for (int64_t tap = 0; tap < axis.kernel; ++tap) {
      const int64_t from = tap * axis.dilation - axis.pad_begin;  // of output 0
      const int64_t begin = from >= 0 ? 0 : (-from + stride - 1) / stride;
      const int64_t end =
          from >= axis.input ? 0 : std::min(axis.output, (axis.input - from + stride - 1) / stride);
      const T* x = plane + row + from;
      if (stride == 1) {
        for (int64_t o = begin; o < end; ++o) out[o] = Above(x[o], out[o]) ? x[o] : out[o];
      } else {
        for (int64_t o = begin; o < end; ++o) {
          const T value = x[o * stride];
          out[o] = Above(value, out[o]) ? value : out[o];
        }
      }
    }
  }
}

template <typename T>
void RunMaxPool(const PoolAttributes& attributes, const KernelContext& context,
                const Window& window, const Tensor& x, T* out, int64_t* indices) {
  const T* in = x.data_as<T>();
  const int64_t in_size = window.InputSize();
  const int64_t out_size = window.OutputSize();
  ForEachPlane(context, x, window, [&](int64_t number) {
    const T* plane = in + number * in_size;
    if (indices == nullptr) {
      const WindowAxis& axis = window.axes.back();
      ForEachRow(window, [&](int64_t output_row, absl::Span<const int64_t> rows, int64_t) {
        MaxOfRow(axis, rows, plane, out + number * out_size + output_row * axis.output);
      });
      return;
    }
    ForEachWindow(window, [&](int64_t o, const PoolView& view) {
      T best = Lowest<T>();
      int64_t best_index = -1;  // of a window that lies in the padding
      for (const int64_t row : view.rows) {
        for (int64_t tap = 0; tap < view.taps; ++tap) {
          const int64_t index = row + view.start + tap * view.step;
          if (best_index < 0 || Above(plane[index], best)) {
            best = plane[index];
            best_index = index;
          }
        }
      }
      if (best_index >= 0) {
        if (attributes.column_major) best_index = ColumnMajorIndex(window, best_index);
        best_index += number * in_size;
      }
      indices[number * out_size + o] = best_index;
      out[number * out_size + o] = best;
    });
  });
}

absl::Status MaxPool(const PoolAttributes& attributes, KernelContext& context) {
  ASSIGN_OR_RETURN(const Window window, MakePoolWindow(attributes, context.input(0)));
  const ElementType type = context.input(0).type();
  ASSIGN_OR_RETURN(const Tensor x, WidenTensor(context, context.input(0)));
  const Dims dims = WindowOutputDims({x.dim(0), x.dim(1)}, window);
  int64_t* indices = nullptr;
  if (context.wants_output(1)) {
    ASSIGN_OR_RETURN(Tensor * output, context.Output(1, ElementType::kInt64, dims));
    indices = output->mutable_data_as<int64_t>();
  }
  return ComputeOutput(context, 0, type, dims, [&](Tensor& output) {
    if (output.size() == 0) return absl::OkStatus();
    return VisitType(Types<float, double, int8_t, uint8_t>(), type, [&]<typename T>(Tag<T>) {
      RunMaxPool<T>(attributes, context, window, x, output.mutable_data_as<T>(), indices);
      return absl::OkStatus();
    });
  });
}

// --- Global pools: each plane is one window ------------------------------------------------------

template <typename T>
struct PlaneSum {
  using Sum = double;
  static Sum Identity() { return 0; }
  static void Add(Sum& sum, T x) { sum += x; }
  static void Merge(Sum& sum, Sum other) { sum += other; }
};
template <typename T>
struct PlaneMax {
  using Sum = T;
  static Sum Identity() { return Lowest<T>(); }
  static void Add(Sum& sum, T x) { sum = Above(x, sum) ? x : sum; }
  static void Merge(Sum& sum, Sum other) { sum = Above(other, sum) ? other : sum; }
};

// Output is fn<T>(plane, elements).
template <typename Fn>
absl::Status GlobalPool(KernelContext& context, Fn&& fn) {
  const Tensor& in = context.input(0);
  if (in.rank() < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("X is ", TypeAndDims(in), ", expected at least batch and channels"));
  }
  Dims dims(in.rank(), 1);
  dims[0] = in.dim(0);
  dims[1] = in.dim(1);
  const ElementType type = in.type();
  ASSIGN_OR_RETURN(const Tensor x, WidenTensor(context, in));
  return ComputeOutput(context, 0, type, dims, [&](Tensor& output) {
    return VisitType(Floats(), type, [&]<typename T>(Tag<T>) {
      const int64_t planes = output.size();
      if (planes == 0) return absl::OkStatus();
      const int64_t n = x.size() / planes;
      T* out = output.mutable_data_as<T>();
      context.ParallelFor(planes, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, n)),
                          [&](int64_t begin, int64_t end) {
                            for (int64_t i = begin; i < end; ++i) {
                              out[i] = fn(x.data_as<T>() + i * n, n);
                            }
                          });
      return absl::OkStatus();
    });
  });
}

absl::Status GlobalAveragePool(KernelContext& context) {
  return GlobalPool(context, []<typename T>(const T* plane, int64_t n) {
    const double sum = reduce_internal::ReduceRow<PlaneSum<T>>(plane, n);
    return static_cast<T>(sum / static_cast<double>(n));
  });
}
absl::Status GlobalMaxPool(KernelContext& context) {
  return GlobalPool(context, []<typename T>(const T* plane, int64_t n) {
    return reduce_internal::ReduceRow<PlaneMax<T>>(plane, n);
  });
}
absl::StatusOr<double> ParseGlobalLpPool(const NodeInfo& node) { return ParseP(node); }
absl::Status GlobalLpPool(const double& p, KernelContext& context) {
  return GlobalPool(context, [p]<typename T>(const T* plane, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) sum = AddPower(sum, plane[i], p);
    return static_cast<T>(RootOf(sum, p));
  });
}

// --- MaxUnpool
// --------------------------------------------------------------------------------------

// The size that MaxPool's input most likely had.
absl::StatusOr<Dims> UnpooledDims(const PoolAttributes& attributes, const Tensor& x) {
  ASSIGN_OR_RETURN(const Window window,
                   WindowWithoutOutput(attributes.window, absl::MakeSpan(x.dims()).subspan(2),
                                       attributes.window.kernel_shape));
  Dims dims(x.dims().begin(), x.dims().begin() + 2);
  for (const WindowAxis& axis : window.axes) {
    int64_t dim = 0;
    if (__builtin_mul_overflow(axis.input - 1, axis.stride, &dim) ||
        __builtin_add_overflow(dim, axis.kernel - axis.pad_begin - axis.pad_end, &dim) || dim < 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "X is ", TypeAndDims(x), ", which the attributes do not unpool to any size"));
    }
    dims.push_back(dim);
  }
  return dims;
}

// Indices count the elements of the inferred size; a larger output_shape adds zeros after them.
absl::Status MaxUnpool(const PoolAttributes& attributes, KernelContext& context) {
  const Tensor& x = context.input(0);
  const Tensor& indices = context.input(1);
  RETURN_IF_ERROR(CheckSpatial(x, "X"));
  if (indices.dims() != x.dims()) {
    return absl::InvalidArgumentError(absl::StrCat("X is ", TypeAndDims(x), " and I ",
                                                   TypeAndDims(indices), ", expected equal dims"));
  }
  ASSIGN_OR_RETURN(const Dims inferred, UnpooledDims(attributes, x));
  Dims dims = inferred;
  if (context.has_input(2)) {
    ASSIGN_OR_RETURN(dims, ReadInts(context.input(2)));
    bool fits = dims.size() == inferred.size();
    for (size_t i = 0; fits && i < dims.size(); ++i) fits = dims[i] >= inferred[i];
    if (!fits) {
      return absl::InvalidArgumentError(absl::StrCat(
          "output_shape is ", DimsToString(dims), ", expected at least ", DimsToString(inferred)));
    }
  }
  ASSIGN_OR_RETURN(const int64_t size, ElementCount(inferred));
  ASSIGN_OR_RETURN(Tensor * output, context.Output(0, x.type(), dims));
  return VisitWidth(x.type(), [&]<typename T>(Tag<T>) {
    if constexpr (std::is_integral_v<T>) {
      T* out = output->mutable_data_as<T>();
      std::fill_n(out, output->size(), T{0});
      const T* in = x.data_as<T>();
      const int64_t* index = indices.data_as<int64_t>();
      const bool same = dims == inferred;
      for (int64_t i = 0; i < x.size(); ++i) {
        if (index[i] < 0 || index[i] >= size) {
          return absl::InvalidArgumentError(
              absl::StrCat("index ", index[i], " at ", i, ", expected from 0 to ", size - 1));
        }
        int64_t to = index[i];
        if (!same) {
          int64_t rest = index[i];
          int64_t stride = 1;
          to = 0;
          for (size_t d = dims.size(); d-- > 0;) {
            to += rest % inferred[d] * stride;
            rest /= inferred[d];
            stride *= dims[d];
          }
        }
        out[to] = in[i];
      }
    }
    return absl::OkStatus();
  });
}

constexpr auto kKernels =
    KernelTable(Rows<ParsePool, AveragePool>("AveragePool", 1, 7, 10, 11, 19, 22),
                Rows<ParsePool, MaxPool>("MaxPool", 1, 8, 10, 11, 12, 22),
                Rows<ParsePool, LpPool>("LpPool", 1, 2, 11, 18, 22),
                Rows<GlobalAveragePool>("GlobalAveragePool", 1, 22),
                Rows<GlobalMaxPool>("GlobalMaxPool", 1, 22),
                Rows<ParseGlobalLpPool, GlobalLpPool>("GlobalLpPool", 1, 2, 22),
                Rows<ParsePool, MaxUnpool>("MaxUnpool", 9, 11, 22));

}  // namespace

absl::Span<const KernelDef> PoolKernels() { return kKernels; }

}  // namespace onnx_run
