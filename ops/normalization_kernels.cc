// See normalization_kernels.h. Highway compiles this file once for each instruction set.
//
// Rows become columns first: then each lane of a vector has a row of its own, and nothing has to be
// added up across lanes.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/normalization_kernels.cc"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include <algorithm>
#include <cstdint>

#include "ops/normalization_kernels.h"
#include "ops/transpose_kernels.h"
#include "ops/wide-inl.h"

HWY_BEFORE_NAMESPACE();
namespace onnx_run::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using wide::HWY_NAMESPACE::LoadWide;
using wide::HWY_NAMESPACE::StoreNarrow;

constexpr int64_t kSide = 8;  // rows side by side

// The rows of as many lanes as D has: element i of them is at columns + i * kSide, and becomes what
// is normalised.
template <class D, typename T>
HWY_INLINE HWY_ATTR void NormalizeColumns(D d, const ShortRows<T>& rows, T* columns, double* mean,
                                          double* factor) {
  using V = hn::Vec<D>;
  const int64_t n = rows.n;
  const V count = hn::Set(d, static_cast<double>(n));
  const V inverse_count = hn::Set(d, 1.0 / static_cast<double>(n));
  const bool exact = (n & (n - 1)) == 0;  // then it multiplies as it would divide
  const auto divided = [&](V sum) HWY_ATTR {
    return exact ? hn::Mul(sum, inverse_count) : hn::Div(sum, count);
  };
  V sum = hn::Zero(d);
  for (int64_t i = 0; i < n; ++i) sum = hn::Add(sum, LoadWide(d, columns + i * kSide));
  const V means = divided(sum);

  V squares = hn::Zero(d);
  const auto add_squares = [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t i = begin; i < end; ++i) {
      const V distance = hn::Sub(LoadWide(d, columns + i * kSide), means);
      squares = hn::Add(squares, hn::Mul(distance, distance));
    }
  };
  constexpr int64_t kSquareLanes = 8;  // of ReduceLoops::sum_of_squares, whose order this is
  const int64_t lanes = n < kSquareLanes ? 0 : kSquareLanes;
  add_squares(lanes, n);
  add_squares(0, lanes);
  const V variances = divided(squares);
  const V factors =
      hn::Div(hn::Set(d, 1.0), hn::Sqrt(hn::Add(variances, hn::Set(d, rows.epsilon))));
  for (int64_t i = 0; i < n; ++i) {
    V value = hn::Mul(hn::Sub(LoadWide(d, columns + i * kSide), means), factors);
    value = hn::Mul(value, hn::Set(d, static_cast<double>(rows.scale[i])));
    if (rows.bias != nullptr) {
      value = hn::Add(value, hn::Set(d, static_cast<double>(rows.bias[i])));
    }
    StoreNarrow(d, value, columns + i * kSide);
  }
  hn::StoreU(means, d, mean);
  hn::StoreU(factors, d, factor);
}

template <typename T>
HWY_ATTR void NormalizeRows(const ShortRows<T>& rows) {
  const hn::CappedTag<double, kSide> d;
  const int64_t n = rows.n;
  HWY_ALIGN T columns[kShortNormalizedRow * kSide];
  HWY_ALIGN double means[kSide];
  HWY_ALIGN double factors[kSide];
  for (int64_t row = 0; row < rows.rows; row += kSide) {
    const int64_t some = std::min(kSide, rows.rows - row);
    if (some < kSide) std::fill_n(columns, n * kSide, T{0});
    TransposeElements(rows.x + row * n, n, columns, kSide, n, some);
    for (int64_t lane = 0; lane < kSide; lane += static_cast<int64_t>(hn::Lanes(d))) {
      NormalizeColumns(d, rows, columns + lane, means + lane, factors + lane);
    }
    TransposeElements<T>(columns, kSide, rows.out + row * n, n, some, n);
    if (rows.means != nullptr) std::copy_n(means, some, rows.means + row);
    if (rows.factors != nullptr) std::copy_n(factors, some, rows.factors + row);
  }
}

}  // namespace

// By name, for HWY_EXPORT knows no overloads.
void NormalizeFloats(const ShortRows<float>& rows) { NormalizeRows(rows); }
void NormalizeDoubles(const ShortRows<double>& rows) { NormalizeRows(rows); }

}  // namespace onnx_run::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace onnx_run {

HWY_EXPORT(NormalizeFloats);
HWY_EXPORT(NormalizeDoubles);

void NormalizeShortRows(const ShortRows<float>& rows) {
  HWY_DYNAMIC_DISPATCH(NormalizeFloats)(rows);
}
void NormalizeShortRows(const ShortRows<double>& rows) {
  HWY_DYNAMIC_DISPATCH(NormalizeDoubles)(rows);
}

}  // namespace onnx_run
#endif  // HWY_ONCE
