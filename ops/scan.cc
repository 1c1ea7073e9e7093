// CumSum, CumProd, ArgMax and ArgMin: along one axis.
#include <cstdint>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "ops/axis_rows.h"
#include "ops/families.h"
#include "ops/kernel_table.h"
#include "ops/reduce_kernels.h"

namespace onnx_run {
namespace {

struct CumulativeAttributes {
  bool exclusive;
  bool reverse;
};
absl::StatusOr<CumulativeAttributes> ParseCumulative(const NodeInfo& node) {
  return CumulativeAttributes{node.IntOr("exclusive", 0) != 0, node.IntOr("reverse", 0) != 0};
}

// Floats are accumulated in double, each result rounded once; integers, as unsigned, wrap.
template <typename T>
using Running = std::conditional_t<std::is_floating_point_v<T>, double, T>;

struct PlusOp {
  static constexpr int kIdentity = 0;
  template <typename S>
  S operator()(S a, S b) const {
    return static_cast<S>(a + b);
  }
};
struct TimesOp {
  static constexpr int kIdentity = 1;
  template <typename S>
  S operator()(S a, S b) const {
    return static_cast<S>(a * b);
  }
};

template <typename Op>
absl::Status Cumulate(const CumulativeAttributes& attributes, KernelContext& context) {
  const Tensor& x = context.input(0);
  ASSIGN_OR_RETURN(const int64_t given, ReadInt(context.input(1), "axis"));
  ASSIGN_OR_RETURN(const int axis, NormalizeAxis(given, x.rank()));
  const auto row = [&attributes]<typename T>(const T* in, T* out, int64_t n) {
    Running<T> sum = Op::kIdentity;
    int64_t k = 0;
    constexpr int64_t kShortRow = 64;  // of longer ones, each sum waits for the last one anyway
    if (n <= kShortRow && !attributes.reverse && !attributes.exclusive) {
      constexpr int kSome = 4;  // converted together
      for (; k + kSome <= n; k += kSome) {
        Running<T> sums[kSome];
        for (int j = 0; j < kSome; ++j) sums[j] = static_cast<Running<T>>(in[k + j]);
        for (int j = 0; j < kSome; ++j) sum = sums[j] = Op()(sum, sums[j]);
        for (int j = 0; j < kSome; ++j) out[k + j] = static_cast<T>(sums[j]);
      }
    }
    for (; k < n; ++k) {
      const int64_t i = attributes.reverse ? n - 1 - k : k;
      const auto next = Op()(sum, static_cast<Running<T>>(in[i]));
      out[i] = static_cast<T>(attributes.exclusive ? sum : next);
      sum = next;
    }
  };
  return RunRows<Types<float, double, uint32_t, uint64_t>>(context, ViewAround(x.dims(), axis),
                                                           row);
}

struct ArgAttributes {
  int64_t axis;
  bool keepdims;
  bool select_last_index;
};
absl::StatusOr<ArgAttributes> ParseArg(const NodeInfo& node) {
  return ArgAttributes{node.IntOr("axis", 0), node.IntOr("keepdims", 1) != 0,
                       node.IntOr("select_last_index", 0) != 0};
}

// Gives the index of a row's extreme element; NaN is more extreme than every number.
template <bool kMax>
struct ArgRow {
  bool last;

  template <typename T>
  void operator()(const T* x, int64_t* out, int64_t n) const {
    if constexpr (std::is_floating_point_v<T>) {
      const ReduceLoops<T>& loops = GetReduceLoops<T>();
      T extreme;
      if (n >= loops.kShortRow && (kMax ? loops.greatest : loops.least)(x, n, extreme)) {
        *out = last ? loops.find_last(x, n, extreme) : loops.find_first(x, n, extreme);
        return;
      }
    }
    int64_t best = 0;
    for (int64_t i = 1; i < n; ++i) {
      const bool better = kMax ? x[i] > x[best] : x[i] < x[best];
      const bool nan = x[i] != x[i];
      const bool best_nan = x[best] != x[best];
      if (better || (nan && (last || !best_nan)) || (last && x[i] == x[best])) best = i;
    }
    *out = best;
  }

  template <typename T>
  void Rows(const T* x, int64_t* out, int64_t rows,
            int64_t n) const requires std::is_floating_point_v<T> {
    const ReduceLoops<T>& loops = GetReduceLoops<T>();
    const bool is_short = n < loops.kShortRow;
    if (is_short) (kMax ? loops.find_greatest : loops.find_least)(x, rows, n, last, out);
    for (int64_t r = 0; r < rows; ++r) {
      if (!is_short || out[r] < 0) (*this)(x + r * n, out + r, n);
    }
  }
};

template <bool kMax>
absl::Status ArgExtreme(const ArgAttributes& attributes, KernelContext& context) {
  const Tensor& input = context.input(0);
  ASSIGN_OR_RETURN(const int axis, NormalizeAxis(attributes.axis, input.rank()));
  Dims dims = input.dims();
  if (attributes.keepdims) {
    dims[axis] = 1;
  } else {
    dims.erase(dims.begin() + axis);
  }
  ASSIGN_OR_RETURN(Tensor * output, context.Output(0, ElementType::kInt64, dims));
  if (input.dim(axis) == 0 && output->size() != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("axis ", axis, " of the input, ", TypeAndDims(input), ", is empty"));
  }
  Tensor widened;
  ASSIGN_OR_RETURN(const Tensor* data, WidenInput(context, 0, widened));
  return VisitType(Numbers(), data->type(), [&]<typename T>(Tag<T>) {
    MapRows(context, ViewAround(data->dims(), axis), data->data_as<T>(),
            output->mutable_data_as<int64_t>(), 1, ArgRow<kMax>{attributes.select_last_index});
    return absl::OkStatus();
  });
}

constexpr auto kKernels = KernelTable(Rows<ParseCumulative, Cumulate<PlusOp>>("CumSum", 11, 14),
                                      Rows<ParseCumulative, Cumulate<TimesOp>>("CumProd", 26),
                                      Rows<ParseArg, ArgExtreme<true>>("ArgMax", 1, 11, 12, 13),
                                      Rows<ParseArg, ArgExtreme<false>>("ArgMin", 1, 11, 12, 13));

}  // namespace

absl::Span<const KernelDef> ScanKernels() { return kKernels; }

}  // namespace onnx_run
