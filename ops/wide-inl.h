// Vectors of doubles from floats or doubles in memory, and back. Included once for each target.
#if defined(ONNX_RUN_OPS_WIDE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ONNX_RUN_OPS_WIDE_INL_H_
#undef ONNX_RUN_OPS_WIDE_INL_H_
#else
#define ONNX_RUN_OPS_WIDE_INL_H_
#endif

#include <type_traits>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace onnx_run::wide::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Lanes(d) elements as doubles.
template <class D, typename T>
HWY_INLINE HWY_ATTR hn::Vec<D> LoadWide(D d, const T* x) {
  if constexpr (std::is_same_v<T, float>) {
    return hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, D>(), x));
  } else {
    return hn::LoadU(d, x);
  }
}

// Rounded to nearest, to infinity too.
template <class D>
HWY_INLINE HWY_ATTR hn::Vec<hn::Rebind<float, D>> Narrowed(D d, hn::Vec<D> x) {
  const hn::Rebind<float, D> df;
#if HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR  // whose DemoteTo clamps
  HWY_ALIGN double from[HWY_MAX_BYTES / sizeof(double)];
  HWY_ALIGN float to[HWY_MAX_BYTES / sizeof(double)];
  hn::Store(x, d, from);
  for (size_t i = 0; i < hn::Lanes(df); ++i) to[i] = static_cast<float>(from[i]);
  return hn::Load(df, to);
#else
  (void)d;
  return hn::DemoteTo(df, x);
#endif
}

// Lanes(d) elements of T, rounded so.
template <class D, typename T>
HWY_INLINE HWY_ATTR void StoreNarrow(D d, hn::Vec<D> value, T* out) {
  if constexpr (std::is_same_v<T, float>) {
    hn::StoreU(Narrowed(d, value), hn::Rebind<float, D>(), out);
  } else {
    hn::StoreU(value, d, out);
  }
}

}  // namespace
}  // namespace onnx_run::wide::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
