// The Reduce operators. Floats are accumulated in double and rounded once; integers wrap.
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "ops/families.h"
#include "ops/kernel_table.h"
#include "ops/reduce_engine.h"
#include "ops/reduce_kernels.h"

namespace onnx_run {
namespace {

// What elements of T are accumulated in: integers as unsigned, so that overflow wraps.
template <typename T, bool kFloat = std::is_floating_point_v<T>>
struct AccumulatorOf {
  using type = double;
};
template <typename T>
struct AccumulatorOf<T, false> {
  using type = std::make_unsigned_t<T>;
};
template <typename T>
using Accumulator = typename AccumulatorOf<T>::type;

// The value of a sum: of integers, of its T.
template <typename T>
double ValueOf(Accumulator<T> sum) {
  if constexpr (std::is_floating_point_v<T>) return sum;
  return static_cast<double>(static_cast<T>(sum));
}

// Sums of terms.
template <typename T, Term kTerm>
struct TermReducer {
  using Sum = Accumulator<T>;
  static Sum Identity() { return 0; }
  static void Add(Sum& sum, T x) {
    const Sum value = static_cast<Sum>(x);
    if constexpr (kTerm == Term::kSquare) {
      sum = static_cast<Sum>(sum + value * value);
    } else if constexpr (kTerm == Term::kMagnitude) {
      sum = static_cast<Sum>(x < 0 ? sum - value : sum + value);
    } else {
      sum = static_cast<Sum>(sum + value);
    }
  }
  static void Merge(Sum& sum, Sum other) { sum = static_cast<Sum>(sum + other); }
  static T Finish(Sum sum, int64_t /*count*/) { return static_cast<T>(sum); }

  static bool Block(const T* x, int64_t n, Sum& sum) requires std::is_floating_point_v<T> {
    sum = GetReduceLoops<T>().sum[static_cast<int>(kTerm)](x, n);
    return true;
  }
  static void AddRows(const T* const* rows, int count, Sum* sums,
                      int64_t n) requires std::is_floating_point_v<T> {
    GetReduceLoops<T>().add_rows[static_cast<int>(kTerm)](rows, count, sums, n);
  }
};
template <typename T>
using SumReducer = TermReducer<T, Term::kElement>;
template <typename T>
using SumSquareReducer = TermReducer<T, Term::kSquare>;
template <typename T>
using L1Reducer = TermReducer<T, Term::kMagnitude>;

template <typename T>
struct MeanReducer : SumReducer<T> {
  static T Finish(Accumulator<T> sum, int64_t count) {
    if constexpr (std::is_floating_point_v<T>) {
      return static_cast<T>(sum / static_cast<double>(count));
    } else {
      return count == 0 ? T{0} : static_cast<T>(static_cast<T>(sum) / static_cast<T>(count));
    }
  }
};
template <typename T>
struct LogSumReducer : SumReducer<T> {
  static T Finish(Accumulator<T> sum, int64_t /*count*/) {
    return static_cast<T>(std::log(ValueOf<T>(sum)));
  }
};
template <typename T>
struct L2Reducer : SumSquareReducer<T> {
  static T Finish(Accumulator<T> sum, int64_t /*count*/) {
    return static_cast<T>(std::sqrt(ValueOf<T>(sum)));
  }
};

template <typename T>
struct ProdReducer {
  using Sum = Accumulator<T>;
  static Sum Identity() { return 1; }
  static void Add(Sum& sum, T x) { sum = static_cast<Sum>(sum * static_cast<Sum>(x)); }
  static void Merge(Sum& sum, Sum other) { sum = static_cast<Sum>(sum * other); }
  static T Finish(Sum sum, int64_t /*count*/) { return static_cast<T>(sum); }
};

// NaN wins over every number. Without branches, which nobody could predict.
template <typename T>
struct MaxReducer {
  using Sum = T;
  static Sum Identity() {
    using Limits = std::numeric_limits<T>;
    return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  }
  static void Add(Sum& sum, T x) { sum = (sum > x) | (sum != sum) ? sum : x; }
  static void Merge(Sum& sum, Sum other) { Add(sum, other); }
  static T Finish(Sum sum, int64_t /*count*/) { return sum; }
  static bool Block(const T* x, int64_t n, Sum& sum) requires std::is_floating_point_v<T> {
    return GetReduceLoops<T>().greatest(x, n, sum);
  }
};
template <typename T>
struct MinReducer {
  using Sum = T;
  static Sum Identity() {
    using Limits = std::numeric_limits<T>;
    return Limits::has_infinity ? Limits::infinity() : Limits::max();
  }
  static void Add(Sum& sum, T x) { sum = (sum < x) | (sum != sum) ? sum : x; }
  static void Merge(Sum& sum, Sum other) { Add(sum, other); }
  static T Finish(Sum sum, int64_t /*count*/) { return sum; }
  static bool Block(const T* x, int64_t n, Sum& sum) requires std::is_floating_point_v<T> {
    return GetReduceLoops<T>().least(x, n, sum);
  }
};

// log(sum(e^x)) as max + log(sum(e^(x - max))), so that nothing overflows.
template <typename T>
struct LogSumExpReducer {
  struct Sum {
    double max = -std::numeric_limits<double>::infinity();
    double sum = 0;
  };
  static Sum Identity() { return {}; }
  static void Add(Sum& sum, T x) { Merge(sum, {static_cast<double>(x), 1}); }
  static void Merge(Sum& sum, const Sum& other) {
    if (other.sum == 0) return;
    if (other.max == sum.max) {  // infinities too
      sum.sum += other.sum;
    } else if (other.max < sum.max) {
      sum.sum += other.sum * std::exp(other.max - sum.max);
    } else {
      sum = {other.max, sum.sum * std::exp(sum.max - other.max) + other.sum};
    }
  }
  static T Finish(const Sum& sum, int64_t /*count*/) {
    return static_cast<T>(sum.max + std::log(sum.sum));
  }
};

// The types of most reductions. Those whose result is the same in two's complement go without
// signed integers.
using Reduced = Types<float, double, int32_t, int64_t, uint32_t, uint64_t>;
using Wrapped = Types<float, double, uint32_t, uint64_t>;

constexpr auto kKernels = KernelTable(
    Rows<ParseReduce, Reduce<SumReducer, Wrapped>>("ReduceSum", 1, 11, 13),
    Rows<ParseReduce, Reduce<MeanReducer, Reduced>>("ReduceMean", 1, 11, 13, 18),
    Rows<ParseReduce, Reduce<ProdReducer, Wrapped>>("ReduceProd", 1, 11, 13, 18),
    Rows<ParseReduce, Reduce<SumSquareReducer, Wrapped>>("ReduceSumSquare", 1, 11, 13, 18),
    Rows<ParseReduce, Reduce<L1Reducer, Reduced>>("ReduceL1", 1, 11, 13, 18),
    Rows<ParseReduce, Reduce<L2Reducer, Reduced>>("ReduceL2", 1, 11, 13, 18),
    Rows<ParseReduce, Reduce<LogSumReducer, Reduced>>("ReduceLogSum", 1, 11, 13, 18),
    Rows<ParseReduce, Reduce<LogSumExpReducer, Reduced>>("ReduceLogSumExp", 1, 11, 13, 18),
    Rows<ParseReduce, Reduce<MaxReducer, Numbers>>("ReduceMax", 1, 11, 12, 13, 18, 20),
    Rows<ParseReduce, Reduce<MinReducer, Numbers>>("ReduceMin", 1, 11, 12, 13, 18, 20));

}  // namespace

absl::Span<const KernelDef> ReduceKernels() { return kKernels; }

}  // namespace onnx_run
