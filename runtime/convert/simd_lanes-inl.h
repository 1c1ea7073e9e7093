// Vectors of lanes, and how codes of few bits come out of them: what the conversions by vector
// arithmetic share. Included once for every instruction set, after hwy/foreach_target.h.

#if defined(ONNX_RUN_RUNTIME_CONVERT_SIMD_LANES_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef ONNX_RUN_RUNTIME_CONVERT_SIMD_LANES_INL_H_
#undef ONNX_RUN_RUNTIME_CONVERT_SIMD_LANES_INL_H_
#else
#define ONNX_RUN_RUNTIME_CONVERT_SIMD_LANES_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "runtime/convert/kernels.h"

// Is there vector code for this target?
#undef ONNX_RUN_CONVERT_VECTORS
#define ONNX_RUN_CONVERT_VECTORS \
  (!HWY_HAVE_SCALABLE && HWY_TARGET != HWY_EMU128 && HWY_TARGET != HWY_SCALAR)

HWY_BEFORE_NAMESPACE();
namespace onnx_run::convert_internal {
namespace HWY_NAMESPACE {
#if ONNX_RUN_CONVERT_VECTORS

namespace hn = hwy::HWY_NAMESPACE;

#define ONNX_RUN_X86 (HWY_ARCH_X86)
#define ONNX_RUN_AVX3 (HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3)
#define ONNX_RUN_AVX2 (HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2)

using D8 = hn::ScalableTag<uint8_t>;
using D16 = hn::ScalableTag<uint16_t>;
using D32 = hn::ScalableTag<uint32_t>;
using D64 = hn::ScalableTag<uint64_t>;
using DI32 = hn::ScalableTag<int32_t>;
using DI64 = hn::ScalableTag<int64_t>;
using DF32 = hn::ScalableTag<float>;
using DF64 = hn::ScalableTag<double>;
using H16 = hn::Rebind<uint16_t, D32>;  // half a vector
using H32 = hn::Rebind<uint32_t, D64>;
using Q16 = hn::Rebind<uint16_t, D64>;
using V8 = hn::Vec<D8>;
using V16 = hn::Vec<D16>;
using V32 = hn::Vec<D32>;
using V64 = hn::Vec<D64>;

constexpr size_t kLanes32 = hn::MaxLanes(D32());
constexpr size_t kLanes64 = hn::MaxLanes(D64());
constexpr size_t kStep = kArithmeticStep;
static_assert(kStep % (4 * kLanes32) == 0);

template <class D>
HWY_INLINE hn::Vec<D> LoadBytes(D d, const uint8_t* p) {
  const hn::Repartition<uint8_t, D> d8;
  return hn::BitCast(d, hn::LoadU(d8, p));
}
template <class D>
HWY_INLINE void StoreBytes(D d, hn::Vec<D> v, uint8_t* p) {
  const hn::Repartition<uint8_t, D> d8;
  hn::StoreU(hn::BitCast(d8, v), d8, p);
}
HWY_INLINE V32 U32(uint32_t value) { return hn::Set(D32(), value); }
HWY_INLINE V64 U64(uint64_t value) { return hn::Set(D64(), value); }
HWY_INLINE hn::Vec<DF32> AsF32(V32 v) { return hn::BitCast(DF32(), v); }
HWY_INLINE hn::Vec<DF64> AsF64(V64 v) { return hn::BitCast(DF64(), v); }
template <class V>
HWY_INLINE V32 Bits32(V v) {
  return hn::BitCast(D32(), v);
}
template <class V>
HWY_INLINE V64 Bits64(V v) {
  return hn::BitCast(D64(), v);
}
template <class M>
HWY_INLINE hn::Mask<D32> Mask32(M mask) {
  return hn::RebindMask(D32(), mask);
}
template <class M>
HWY_INLINE hn::Mask<D64> Mask64(M mask) {
  return hn::RebindMask(D64(), mask);
}

// Shifts by any count; 0 when the count is not less than the width of a lane.
template <class V>
HWY_INLINE V ShiftLeftAny(V v, V count) {
#if ONNX_RUN_AVX2
  return v << count;
#else
  const hn::DFromV<V> d;
  constexpr auto kBits = sizeof(hn::TFromD<hn::DFromV<V> >) * 8;
  const hn::RebindToSigned<hn::DFromV<V> > di;
  // Counts seen as signed: negative ones are out of range too.
  const auto in_range =
      hn::RebindMask(d, hn::AndNot(hn::Lt(hn::BitCast(di, count), hn::Zero(di)),
                                   hn::Lt(hn::BitCast(di, count), hn::Set(di, kBits))));
  return hn::IfThenElseZero(in_range, v << hn::And(count, hn::Set(d, kBits - 1)));
#endif
}
template <class V>
HWY_INLINE V ShiftRightAny(V v, V count) {
#if ONNX_RUN_AVX2
  return v >> count;
#else
  const hn::DFromV<V> d;
  constexpr auto kBits = sizeof(hn::TFromD<hn::DFromV<V> >) * 8;
  const hn::RebindToSigned<hn::DFromV<V> > di;
  const auto in_range =
      hn::RebindMask(d, hn::AndNot(hn::Lt(hn::BitCast(di, count), hn::Zero(di)),
                                   hn::Lt(hn::BitCast(di, count), hn::Set(di, kBits))));
  return hn::IfThenElseZero(in_range, v >> hn::And(count, hn::Set(d, kBits - 1)));
#endif
}

// Bits of `yes` where `mask` has ones, else of `no`.
HWY_INLINE V32 SelectBits(V32 mask, V32 yes, V32 no) {
#if ONNX_RUN_AVX3
  return V32{_mm512_ternarylogic_epi32(mask.raw, yes.raw, no.raw, 0xCA)};
#else
  return hn::Or(hn::And(mask, yes), hn::AndNot(mask, no));
#endif
}

// Unsigned a > b.
HWY_INLINE hn::Mask<D32> Above(V32 a, V32 b) { return hn::Gt(a, b); }

// --- Narrowing
// --------------------------------------------------------------------------------------

// The low halves of the lanes of `low`, then of `high`.
HWY_INLINE V32 Narrow64(V64 low, V64 high) {
  return hn::ConcatEven(D32(), Bits32(high), Bits32(low));
}

// Lanes of 16 bits or fewer.
HWY_INLINE V16 Narrow32(V32 a, V32 b) {
#if ONNX_RUN_AVX3
  const V16 packed{_mm512_packus_epi32(a.raw, b.raw)};
  return V16{_mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), packed.raw)};
#elif ONNX_RUN_AVX2
  return V16{_mm256_permute4x64_epi64(_mm256_packus_epi32(a.raw, b.raw), 0xD8)};
#elif ONNX_RUN_X86
  return V16{_mm_packus_epi32(a.raw, b.raw)};
#else
  return hn::ConcatEven(D16(), hn::BitCast(D16(), b), hn::BitCast(D16(), a));
#endif
}

// Lanes of 8 bits or fewer, in order.
HWY_INLINE V8 Narrow32(V32 a, V32 b, V32 c, V32 d) {
#if ONNX_RUN_AVX3
  const __m512i packed =
      _mm512_packus_epi16(_mm512_packus_epi32(a.raw, b.raw), _mm512_packus_epi32(c.raw, d.raw));
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  return V8{_mm512_permutexvar_epi32(order, packed)};
#elif ONNX_RUN_AVX2
  const __m256i packed =
      _mm256_packus_epi16(_mm256_packus_epi32(a.raw, b.raw), _mm256_packus_epi32(c.raw, d.raw));
  return V8{_mm256_permutevar8x32_epi32(packed, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7))};
#elif ONNX_RUN_X86
  return V8{_mm_packus_epi16(_mm_packus_epi32(a.raw, b.raw), _mm_packus_epi32(c.raw, d.raw))};
#else
  const auto low = hn::BitCast(D8(), Narrow32(a, b));
  const auto high = hn::BitCast(D8(), Narrow32(c, d));
  return hn::ConcatEven(D8(), high, low);
#endif
}

// A vector of codes of kBits (8 or fewer) in each byte, next to each other in memory.
template <int kBits>
HWY_INLINE void StoreByteCodes(V8 bytes, uint8_t* to) {
  if constexpr (kBits == 8) {
    hn::StoreU(bytes, D8(), to);
  } else {
    // byte 0 | byte 1 << kBits, in the low byte of 16 bits
    const V16 pairs = hn::BitCast(D16(), bytes);
    const V16 joined = hn::Or(pairs, hn::ShiftRight<8 - kBits>(pairs));
    if constexpr (kBits == 4) {
      const hn::Rebind<uint8_t, D16> half;
      hn::StoreU(hn::TruncateTo(half, joined), half, to);
    } else {
      const V32 quads = hn::BitCast(D32(), joined);
      const V32 last = hn::Or(quads, hn::ShiftRight<12>(quads));
#if ONNX_RUN_AVX3
      // Not TruncateTo: in Highway 1.0.3 it is wrong for this target.
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_cvtepi32_epi8(last.raw));
#else
      const hn::Rebind<uint8_t, D32> quarter;
      hn::StoreU(hn::TruncateTo(quarter, last), quarter, to);
#endif
    }
  }
}

// Four vectors of codes of kBits each, next to each other in memory.
template <int kBits>
HWY_INLINE void StoreCodes(V32 a, V32 b, V32 c, V32 d, uint8_t* to) {
  if constexpr (kBits == 32) {
    StoreBytes(D32(), a, to);
    StoreBytes(D32(), b, to + 4 * kLanes32);
    StoreBytes(D32(), c, to + 8 * kLanes32);
    StoreBytes(D32(), d, to + 12 * kLanes32);
  } else if constexpr (kBits == 16) {
    StoreBytes(D16(), Narrow32(a, b), to);
    StoreBytes(D16(), Narrow32(c, d), to + 4 * kLanes32);
  } else {
    StoreByteCodes<kBits>(Narrow32(a, b, c, d), to);
  }
}

#endif  // ONNX_RUN_CONVERT_VECTORS
}  // namespace HWY_NAMESPACE
}  // namespace onnx_run::convert_internal
HWY_AFTER_NAMESPACE();

#endif  // once per target
