// See quantize_kernels.h. Highway compiles this file once for each instruction set.
//
// A division costs more than all the rest, so x / scale is x * (1 / scale) where that gives the
// same code:
//   - always where 1 / scale is exact, for then both are the same number rounded once;
//   - for codes of 8 bits also where the product is not close to the middle between two integers.
//     It is off by less than 2^-22 of itself, so that the quotient rounds to the same integer. The
//     few vectors with an element that is close are divided.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/quantize_kernels.cc"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL)
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "ops/quantize_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace onnx_run::quantize_kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::ScalableTag<float>;
using DI = hn::ScalableTag<int32_t>;
using VF = hn::Vec<DF>;
using VI = hn::Vec<DI>;

// Adding this to a float of magnitude below 2^22 rounds it to an integer, halves to even, which is
// then in the low bits.
constexpr float kRounder = 0x1.8p23F;
constexpr int32_t kRounderBits = 0x4b400000;

enum class Quotient : uint8_t { kDivided, kMultiplied, kChecked };

Quotient HowToDivide(float scale, const Codes& codes) {
  const float magnitude = std::abs(scale);
  // Outside of these 1 / scale is not a normal number. NaN too.
  if (!(magnitude >= 0x1p-126F && magnitude <= 0x1p126F)) return Quotient::kDivided;
  constexpr uint32_t kMantissa = 0x7fffff;
  if ((std::bit_cast<uint32_t>(scale) & kMantissa) == 0) return Quotient::kMultiplied;
  return codes.high - codes.low < 256 ? Quotient::kChecked : Quotient::kDivided;
}

template <typename Z>
struct Loop {
  const DF df;
  const DI di;
  const hn::Rebind<Z, DF> dz;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(df));
  VF scale, inverse, low, high, rounder, far_from_middle;
  VI offset;

  HWY_ATTR Loop(float s, const Codes& codes) {
    scale = hn::Set(df, s);
    inverse = hn::Set(df, 1.0F / s);
    // Quotients are limited before they are rounded: the limits are integers, so that changes
    // nothing.
    const auto least = static_cast<float>(codes.low - codes.zero);
    const auto greatest = static_cast<float>(codes.high - codes.zero);
    low = hn::Set(df, least);
    high = hn::Set(df, greatest);
    rounder = hn::Set(df, kRounder);
    far_from_middle = hn::Set(df, 0.5F - std::max(-least, greatest) * 0x1p-21F);
    offset = hn::Set(di, codes.zero - kRounderBits);
  }

  template <Quotient kQuotient>
  HWY_INLINE HWY_ATTR VF Limited(const float* x) const {
    const VF loaded = hn::LoadU(df, x);
    const VF q =
        kQuotient == Quotient::kDivided ? hn::Div(loaded, scale) : hn::Mul(loaded, inverse);
    return hn::Min(hn::IfThenElse(hn::Gt(q, low), q, low), high);
  }
  HWY_INLINE HWY_ATTR void Store(VF rounded, Z* out) const {
    hn::StoreU(hn::DemoteTo(dz, hn::Add(hn::BitCast(di, rounded), offset)), dz, out);
  }

  // kVectors vectors.
  template <Quotient kQuotient, int kVectors>
  HWY_INLINE HWY_ATTR void Step(const float* x, Z* out) const {
    VF rounded[kVectors];
    VF worst = hn::Zero(df);
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      const VF q = Limited<kQuotient>(x + v * lanes);
      rounded[v] = hn::Add(q, rounder);
      if constexpr (kQuotient == Quotient::kChecked) {
        worst = hn::Max(worst, hn::Abs(hn::Sub(q, hn::Sub(rounded[v], rounder))));
      }
    }
    if constexpr (kQuotient == Quotient::kChecked) {
      if (HWY_UNLIKELY(!hn::AllFalse(df, hn::Gt(worst, far_from_middle)))) {
        return Step<Quotient::kDivided, kVectors>(x, out);
      }
    }
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) Store(rounded[v], out + v * lanes);
  }

  template <Quotient kQuotient>
  HWY_ATTR void Run(const float* x, Z* out, int64_t n) const {
    int64_t i = 0;
    for (; i + 4 * lanes <= n; i += 4 * lanes) Step<kQuotient, 4>(x + i, out + i);
    for (; i + lanes <= n; i += lanes) Step<kQuotient, 1>(x + i, out + i);
    if (i == n) return;
    if (n >= lanes) return Step<kQuotient, 1>(x + n - lanes, out + n - lanes);
    HWY_ALIGN float some[HWY_MAX_BYTES / sizeof(float)] = {};
    Z codes[HWY_MAX_BYTES / sizeof(float)];
    std::copy_n(x, n, some);
    Step<kQuotient, 1>(some, codes);
    std::copy_n(codes, n, out);
  }
};

template <typename Z>
HWY_ATTR void QuantizeLoop(const float* x, float scale, const Codes& codes, Z* out, int64_t n) {
  const Loop<Z> loop(scale, codes);
  switch (HowToDivide(scale, codes)) {
    case Quotient::kDivided: return loop.template Run<Quotient::kDivided>(x, out, n);
    case Quotient::kMultiplied: return loop.template Run<Quotient::kMultiplied>(x, out, n);
    case Quotient::kChecked: return loop.template Run<Quotient::kChecked>(x, out, n);
  }
}

}  // namespace

void QuantizeInt8(const float* x, float scale, const Codes& codes, int8_t* out, int64_t n) {
  QuantizeLoop(x, scale, codes, out, n);
}
void QuantizeUint8(const float* x, float scale, const Codes& codes, uint8_t* out, int64_t n) {
  QuantizeLoop(x, scale, codes, out, n);
}
void QuantizeInt16(const float* x, float scale, const Codes& codes, int16_t* out, int64_t n) {
  QuantizeLoop(x, scale, codes, out, n);
}
void QuantizeUint16(const float* x, float scale, const Codes& codes, uint16_t* out, int64_t n) {
  QuantizeLoop(x, scale, codes, out, n);
}

HWY_ATTR void WidenRangeLoop(const float* x, int64_t n, float& low, float& high) {
  constexpr int kVectors = 4;
  const DF df;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(df));
  VF lows[kVectors];
  VF highs[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    lows[v] = hn::Set(df, low);
    highs[v] = hn::Set(df, high);
  }
  int64_t i = 0;
  for (; i + kVectors * lanes <= n; i += kVectors * lanes) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {  // not Min and Max: NaN is left out
      const VF value = hn::LoadU(df, x + i + v * lanes);
      lows[v] = hn::IfThenElse(hn::Lt(value, lows[v]), value, lows[v]);
      highs[v] = hn::IfThenElse(hn::Gt(value, highs[v]), value, highs[v]);
    }
  }
  for (; i < n; ++i) {
    low = x[i] < low ? x[i] : low;
    high = x[i] > high ? x[i] : high;
  }
  for (int v = 1; v < kVectors; ++v) {  // these are numbers
    lows[0] = hn::Min(lows[0], lows[v]);
    highs[0] = hn::Max(highs[0], highs[v]);
  }
  low = std::min(low, hn::GetLane(hn::MinOfLanes(df, lows[0])));
  high = std::max(high, hn::GetLane(hn::MaxOfLanes(df, highs[0])));
}

}  // namespace onnx_run::quantize_kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace onnx_run::quantize_kernels {

HWY_EXPORT(QuantizeInt8);
HWY_EXPORT(QuantizeUint8);
HWY_EXPORT(QuantizeInt16);
HWY_EXPORT(QuantizeUint16);
HWY_EXPORT(WidenRangeLoop);

void Quantize(const float* x, float scale, const Codes& codes, int8_t* out, int64_t n) {
  HWY_DYNAMIC_DISPATCH(QuantizeInt8)(x, scale, codes, out, n);
}
void Quantize(const float* x, float scale, const Codes& codes, uint8_t* out, int64_t n) {
  HWY_DYNAMIC_DISPATCH(QuantizeUint8)(x, scale, codes, out, n);
}
void Quantize(const float* x, float scale, const Codes& codes, int16_t* out, int64_t n) {
  HWY_DYNAMIC_DISPATCH(QuantizeInt16)(x, scale, codes, out, n);
}
void Quantize(const float* x, float scale, const Codes& codes, uint16_t* out, int64_t n) {
  HWY_DYNAMIC_DISPATCH(QuantizeUint16)(x, scale, codes, out, n);
}
void WidenRange(const float* x, int64_t n, float& low, float& high) {
  HWY_DYNAMIC_DISPATCH(WidenRangeLoop)(x, n, low, high);
}

}  // namespace onnx_run::quantize_kernels
#endif  // HWY_ONCE
