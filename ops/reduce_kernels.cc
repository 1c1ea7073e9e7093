// See reduce_kernels.h. Highway compiles this file once for each instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/reduce_kernels.cc"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL)
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "ops/reduce_kernels.h"
#include "ops/wide-inl.h"

HWY_BEFORE_NAMESPACE();
namespace onnx_run::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using wide::HWY_NAMESPACE::LoadWide;

constexpr int kLanes = 16;
static_assert(ReduceLoops<float>::kShortRow <= kLanes);

template <Term kTerm, class D, typename T>
HWY_INLINE HWY_ATTR hn::Vec<D> TermsOf(D d, const T* x) {
  const hn::Vec<D> value = LoadWide(d, x);
  if constexpr (kTerm == Term::kSquare) return hn::Mul(value, value);
  if constexpr (kTerm == Term::kMagnitude) {
    return hn::IfThenElse(hn::Lt(value, hn::Zero(d)), hn::Neg(value), value);
  }
  return value;
}

template <Term kTerm>
HWY_INLINE HWY_ATTR double TermOf(double x) {
  if constexpr (kTerm == Term::kSquare) return x * x;
  if constexpr (kTerm == Term::kMagnitude) return x < 0 ? -x : x;
  return x;
}

template <Term kTerm, typename T>
HWY_ATTR double Sum(const T* x, int64_t n) {
  const hn::CappedTag<double, kLanes> d;
  constexpr int kWidth = static_cast<int>(hn::MaxLanes(d));
  constexpr int kVectors = kLanes / kWidth;
  double sum = 0;
  int64_t i = 0;
  if (n >= kLanes) {
    hn::Vec<decltype(d)> sums[kVectors];
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) sums[v] = hn::Zero(d);
    // A page ahead, where processors do not look by themselves: most often more follows, in this
    // block or behind it.
    constexpr int64_t kAhead = 4096 / sizeof(T);
    for (; i + kLanes <= n; i += kLanes) {
      hwy::Prefetch(x + i + kAhead);
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) {
        sums[v] = hn::Add(sums[v], TermsOf<kTerm>(d, x + i + v * kWidth));
      }
    }
    HWY_ALIGN double lanes[kLanes];
    for (int v = 0; v < kVectors; ++v) hn::Store(sums[v], d, lanes + v * kWidth);
    for (int width = kLanes / 2; width > 0; width /= 2) {
      for (int j = 0; j < width; ++j) lanes[j] += lanes[j + width];
    }
    sum = lanes[0];
  }
  for (; i < n; ++i) sum += TermOf<kTerm>(static_cast<double>(x[i]));
  return sum;
}

// kVectors vectors of sums from index i on.
template <Term kTerm, int kVectors, class D, typename T>
HWY_INLINE HWY_ATTR void AddRowsAt(D d, const T* const* rows, int count, double* sums, int64_t i) {
  const int64_t width = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<D> all[kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) all[v] = hn::LoadU(d, sums + i + v * width);
  for (int r = 0; r < count; ++r) {
    const T* row = rows[r] + i;
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      all[v] = hn::Add(all[v], TermsOf<kTerm>(d, row + v * width));
    }
  }
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) hn::StoreU(all[v], d, sums + i + v * width);
}

template <Term kTerm, typename T>
HWY_ATTR void AddRows(const T* const* rows, int count, double* sums, int64_t n) {
  const hn::ScalableTag<double> d;
  const int64_t width = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + 4 * width <= n; i += 4 * width) AddRowsAt<kTerm, 4>(d, rows, count, sums, i);
  for (; i + width <= n; i += width) AddRowsAt<kTerm, 1>(d, rows, count, sums, i);
  for (; i < n; ++i) {
    for (int r = 0; r < count; ++r) sums[i] += TermOf<kTerm>(static_cast<double>(rows[r][i]));
  }
}

template <bool kGreatest, typename T>
HWY_ATTR bool Extreme(const T* x, int64_t n, T& extreme) {
  const hn::CappedTag<T, kLanes> d;
  constexpr int kWidth = static_cast<int>(hn::MaxLanes(d));
  constexpr int kVectors = kLanes / kWidth;
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  T best = kGreatest ? -kInfinity : kInfinity;
  int64_t i = 0;
  if (n >= kLanes) {
    hn::Vec<decltype(d)> bests[kVectors];
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) bests[v] = hn::Set(d, best);
    auto numbers = hn::Eq(bests[0], bests[0]);  // NaN equals nothing
    for (; i + kLanes <= n; i += kLanes) {
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) {
        const auto value = hn::LoadU(d, x + i + v * kWidth);
        const auto keep = kGreatest ? hn::Gt(bests[v], value) : hn::Lt(bests[v], value);
        bests[v] = hn::IfThenElse(keep, bests[v], value);
        numbers = hn::And(numbers, hn::Eq(value, value));
      }
    }
    if (!hn::AllTrue(d, numbers)) return false;
    HWY_ALIGN T lanes[kLanes];
    for (int v = 0; v < kVectors; ++v) hn::Store(bests[v], d, lanes + v * kWidth);
    for (int width = kLanes / 2; width > 0; width /= 2) {
      for (int j = 0; j < width; ++j) {
        const bool keep = kGreatest ? lanes[j] > lanes[j + width] : lanes[j] < lanes[j + width];
        lanes[j] = keep ? lanes[j] : lanes[j + width];
      }
    }
    best = lanes[0];
  }
  for (; i < n; ++i) {
    if (std::isnan(x[i])) return false;
    best = (kGreatest ? best > x[i] : best < x[i]) ? best : x[i];
  }
  extreme = best;
  return true;
}

template <typename T>
HWY_ATTR int64_t FindFirst(const T* x, int64_t n, T value) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto values = hn::Set(d, value);
  int64_t i = 0;
  while (i + lanes <= n && hn::AllFalse(d, hn::Eq(hn::LoadU(d, x + i), values))) i += lanes;
  while (i + 1 < n && x[i] != value) ++i;
  return i;
}

template <typename T>
HWY_ATTR int64_t FindLast(const T* x, int64_t n, T value) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto values = hn::Set(d, value);
  int64_t end = n;
  while (end >= lanes && hn::AllFalse(d, hn::Eq(hn::LoadU(d, x + end - lanes), values)))
    end -= lanes;
  while (end > 1 && x[end - 1] != value) --end;
  return end - 1;
}

// Of n <= kWidth * kVectors elements, kWidth * kVectors of which may be read. NaN: -1.
template <bool kGreatest, int kVectors, class D, typename T>
HWY_INLINE HWY_ATTR int64_t FindExtreme(D d, const T* x, int64_t n, bool last) {
  using V = hn::Vec<D>;
  constexpr int kWidth = static_cast<int>(hn::MaxLanes(d));
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  const V identity = hn::Set(d, kGreatest ? -kInfinity : kInfinity);
  V values[kVectors];
  V best = identity;
  auto numbers = hn::Eq(best, best);
#pragma GCC unroll 16
  for (int v = 0; v < kVectors; ++v) {
    values[v] = hn::LoadU(d, x + v * kWidth);
    if (n < kWidth * (v + 1)) {
      const int64_t left = n - kWidth * v;
      values[v] = hn::IfThenElse(hn::FirstN(d, static_cast<size_t>(left < 0 ? 0 : left)), values[v],
                                 identity);
    }
    numbers = hn::And(numbers, hn::Eq(values[v], values[v]));
    best = kGreatest ? hn::Max(best, values[v]) : hn::Min(best, values[v]);
  }
  if (!hn::AllTrue(d, numbers)) return -1;
  const V extreme = kGreatest ? hn::MaxOfLanes(d, best) : hn::MinOfLanes(d, best);
  uint64_t found = 0;  // bit i: element i is one
#pragma GCC unroll 16
  for (int v = 0; v < kVectors; ++v) {
    uint64_t bits = 0;
    hn::StoreMaskBits(d, hn::Eq(values[v], extreme), reinterpret_cast<uint8_t*>(&bits));
    found |= bits << (v * kWidth);
  }
  found &= (uint64_t{1} << n) - 1;
  return last ? std::bit_width(found) - 1 : std::countr_zero(found);
}

// kRead, at least n, elements are read at once.
template <bool kGreatest, int kRead, typename T>
HWY_ATTR void FindExtremesOf(const T* x, int64_t rows, int64_t n, bool last, int64_t* indices) {
  const hn::CappedTag<T, kRead> d;
  constexpr int kVectors = kRead / static_cast<int>(hn::MaxLanes(d));
  int64_t r = 0;
  for (; r * n + kRead <= rows * n; ++r) {
    indices[r] = FindExtreme<kGreatest, kVectors>(d, x + r * n, n, last);
  }
  HWY_ALIGN T row[kRead] = {};  // the last rows, behind which there is nothing
  for (; r < rows; ++r) {
    std::copy_n(x + r * n, n, row);
    indices[r] = FindExtreme<kGreatest, kVectors>(d, row, n, last);
  }
}

template <bool kGreatest, typename T>
HWY_ATTR void FindExtremes(const T* x, int64_t rows, int64_t n, bool last, int64_t* indices) {
  if (n <= kLanes / 2) return FindExtremesOf<kGreatest, kLanes / 2>(x, rows, n, last, indices);
  FindExtremesOf<kGreatest, kLanes>(x, rows, n, last, indices);
}

template <typename T>
HWY_ATTR double SumOfSquares(const T* x, int64_t n, double shift) {
  constexpr int kSquareLanes = 8;
  const hn::CappedTag<double, kSquareLanes> d;
  constexpr int kWidth = static_cast<int>(hn::MaxLanes(d));
  constexpr int kVectors = kSquareLanes / kWidth;
  const auto shifts = hn::Set(d, shift);
  hn::Vec<decltype(d)> sums[kVectors];
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) sums[v] = hn::Zero(d);
  int64_t i = 0;
  for (; i + kSquareLanes <= n; i += kSquareLanes) {
    // The sums wait for one another, memory does not: most often another row follows.
    hwy::Prefetch(x + n + i);
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      const auto distance = hn::Sub(LoadWide(d, x + i + v * kWidth), shifts);
      sums[v] = hn::Add(sums[v], hn::Mul(distance, distance));
    }
  }
  double sum = 0;
  for (; i < n; ++i) {
    const double distance = static_cast<double>(x[i]) - shift;
    sum += distance * distance;
  }
  HWY_ALIGN double lanes[kSquareLanes];
  for (int v = 0; v < kVectors; ++v) hn::Store(sums[v], d, lanes + v * kWidth);
  for (const double lane : lanes) sum += lane;
  return sum;
}

template <typename T>
constexpr ReduceLoops<T> kLoops = {
    {&Sum<Term::kElement, T>, &Sum<Term::kSquare, T>, &Sum<Term::kMagnitude, T>},
    {&AddRows<Term::kElement, T>, &AddRows<Term::kSquare, T>, &AddRows<Term::kMagnitude, T>},
    &Extreme<true, T>,
    &Extreme<false, T>,
    &FindFirst<T>,
    &FindLast<T>,
    &FindExtremes<true, T>,
    &FindExtremes<false, T>,
    &SumOfSquares<T>};

}  // namespace

const ReduceLoops<float>* FloatLoops() { return &kLoops<float>; }
const ReduceLoops<double>* DoubleLoops() { return &kLoops<double>; }

}  // namespace onnx_run::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace onnx_run {

HWY_EXPORT(FloatLoops);
HWY_EXPORT(DoubleLoops);

template <>
const ReduceLoops<float>& GetReduceLoops<float>() {
  return *HWY_DYNAMIC_DISPATCH(FloatLoops)();
}
template <>
const ReduceLoops<double>& GetReduceLoops<double>() {
  return *HWY_DYNAMIC_DISPATCH(DoubleLoops)();
}

}  // namespace onnx_run
#endif  // HWY_ONCE
