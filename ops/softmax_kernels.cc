// See softmax_kernels.h. Highway compiles this file once for each instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/softmax_kernels.cc"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include <algorithm>
#include <cstdint>

#include "ops/softmax_kernels.h"
#include "ops/wide-inl.h"

HWY_BEFORE_NAMESPACE();
namespace onnx_run::softmax_kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using wide::HWY_NAMESPACE::LoadWide;
using wide::HWY_NAMESPACE::Narrowed;
using wide::HWY_NAMESPACE::StoreNarrow;

HWY_ATTR void GreatestOfRowsLoop(const float* x, float* greatest, int64_t rows, int64_t n) {
  const hn::CappedTag<float, 8> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  if (n < lanes) {
    for (int64_t r = 0; r < rows; ++r) {
      const float* const row = x + r * n;
      float max = row[0];
      for (int64_t i = 1; i < n; ++i) max = max > row[i] ? max : row[i];
      greatest[r] = max;
    }
    return;
  }
  for (int64_t r = 0; r < rows; ++r) {
    const float* const row = x + r * n;
    auto max = hn::LoadU(d, row + n - lanes);  // what is left over: some of it is seen again
    auto other = max;
    int64_t i = 0;
    for (; i + 2 * lanes < n; i += 2 * lanes) {
      max = hn::Max(max, hn::LoadU(d, row + i));
      other = hn::Max(other, hn::LoadU(d, row + i + lanes));
    }
    if (i + lanes < n) max = hn::Max(max, hn::LoadU(d, row + i));
    greatest[r] = hn::GetLane(hn::MaxOfLanes(d, hn::Max(max, other)));
  }
}

// A division costs more than all the rest. Products with a little less than 1 / sum, and with a
// little more, enclose the quotient: where both round to the same float it does too.
HWY_ATTR void DivideRowsLoop(float* x, const double* sums, int64_t rows, int64_t n) {
  constexpr double kMargin = 0x1p-50;  // of three roundings to 2^-53 and one more
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> narrow;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t r = 0; r < rows; ++r) {
    float* const row = x + r * n;
    const auto sum = hn::Set(d, sums[r]);
    const auto less = hn::Set(d, (1 - kMargin) / sums[r]);
    const auto more = hn::Set(d, (1 + kMargin) / sums[r]);
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes) {
      const auto value = LoadWide(d, row + i);
      auto quotient = Narrowed(d, hn::Mul(value, less));
      const auto upper = Narrowed(d, hn::Mul(value, more));
      if (HWY_UNLIKELY(!hn::AllTrue(narrow, hn::Eq(quotient, upper)))) {
        quotient = Narrowed(d, hn::Div(value, sum));
      }
      hn::StoreU(quotient, narrow, row + i);
    }
    for (; i < n; ++i) row[i] = static_cast<float>(row[i] / sums[r]);
  }
}

HWY_ATTR void SubtractFromRowsLoop(const float* x, const float* first, const double* second,
                                   float* out, int64_t rows, int64_t n) {
  const hn::ScalableTag<double> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t r = 0; r < rows; ++r) {
    const float* const row = x + r * n;
    float* const to = out + r * n;
    const double a = first[r];
    const double b = second[r];
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes) {
      const auto value = LoadWide(d, row + i);
      StoreNarrow(d, hn::Sub(hn::Sub(value, hn::Set(d, a)), hn::Set(d, b)), to + i);
    }
    for (; i < n; ++i) to[i] = static_cast<float>(static_cast<double>(row[i]) - a - b);
  }
}

}  // namespace onnx_run::softmax_kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace onnx_run::softmax_kernels {

HWY_EXPORT(GreatestOfRowsLoop);
HWY_EXPORT(DivideRowsLoop);
HWY_EXPORT(SubtractFromRowsLoop);

void GreatestOfRows(const float* x, float* greatest, int64_t rows, int64_t n) {
  HWY_DYNAMIC_DISPATCH(GreatestOfRowsLoop)(x, greatest, rows, n);
}
void DivideRows(float* x, const double* sums, int64_t rows, int64_t n) {
  HWY_DYNAMIC_DISPATCH(DivideRowsLoop)(x, sums, rows, n);
}
void SubtractFromRows(const float* x, const float* first, const double* second, float* out,
                      int64_t rows, int64_t n) {
  HWY_DYNAMIC_DISPATCH(SubtractFromRowsLoop)(x, first, second, out, rows, n);
}

}  // namespace onnx_run::softmax_kernels
#endif  // HWY_ONCE
