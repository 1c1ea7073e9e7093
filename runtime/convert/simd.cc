// Conversions from 16, 32 and 64 bit elements by vector arithmetic, compiled once for every
// instruction set that Highway knows on this architecture and chosen when the program runs.
//
// A kernel is a loader, that brings elements into 32 bit lanes, and an encoder, that makes the
// destination's codes of them:
//   - floats and integers to small floats go through FLOAT bits. Where 24 bits do not hold the
//   source
//     value, it is rounded to odd: truncated, and the last bit set if anything was lost. As every
//     destination has at least two bits less, the second rounding gives what one rounding would.
//   - integers, and floats to integers, go through the low 32 bits of the integer.
// Results depend on the floating-point environment only in ways the caller fixes
// (DefaultFloatState).

// Old x86 is served by the portable path.
#define HWY_DISABLED_TARGETS (HWY_SSSE3)
#define HWY_WANT_AVX3_DL 1
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/convert/simd.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "runtime/convert/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace onnx_run::convert_internal {
namespace HWY_NAMESPACE {

#if HWY_HAVE_SCALABLE || HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR
Kernel FindArithmetic(ElementType, ElementType) { return {}; }
#else

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
constexpr size_t kStep = 64;
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

// --- Loaders of FLOAT bits
// ---------------------------------------------------------------------------

template <ElementType kType>
constexpr int kBytes = kElementTypeTable[static_cast<size_t>(kType)].bits / 8;

HWY_INLINE V32 LoadU16(const uint8_t* p) { return hn::PromoteTo(D32(), LoadBytes(H16(), p)); }
HWY_INLINE V32 LoadI16(const uint8_t* p) {
  const hn::Rebind<int16_t, DI32> half;
  return Bits32(hn::PromoteTo(DI32(), hn::BitCast(half, LoadBytes(H16(), p))));
}

struct LoadFloat16 {
  static constexpr int kSize = 2;
  static HWY_INLINE V32 Load(const uint8_t* p) {
#if ONNX_RUN_AVX3
    return Bits32(hn::Vec<DF32>{_mm512_cvtph_ps(LoadBytes(H16(), p).raw)});
#elif ONNX_RUN_AVX2
    return Bits32(hn::Vec<DF32>{_mm256_cvtph_ps(LoadBytes(H16(), p).raw)});
#else
    const V32 half = LoadU16(p);
    const V32 magnitude = hn::ShiftLeft<13>(hn::And(half, U32(0x7FFF)));
    const V32 sign = hn::ShiftLeft<16>(hn::And(half, U32(0x8000)));
    const V32 infinity = U32(0x7C00U << 13);
    V32 bits = Bits32(hn::Mul(AsF32(magnitude), hn::Set(DF32(), 0x1p112F)));
    bits = hn::IfThenElse(hn::Not(Above(infinity, magnitude)), hn::Or(magnitude, U32(0x7F800000)),
                          bits);
    bits = hn::IfThenElse(Above(magnitude, infinity), hn::Or(bits, U32(0x00400000)), bits);
    return hn::Or(bits, sign);
#endif
  }
};
struct LoadBfloat16 {
  static constexpr int kSize = 2;
  static HWY_INLINE V32 Load(const uint8_t* p) { return hn::ShiftLeft<16>(LoadU16(p)); }
};
struct LoadFloat {
  static constexpr int kSize = 4;
  static HWY_INLINE V32 Load(const uint8_t* p) { return LoadBytes(D32(), p); }
};
struct LoadInt16AsFloat {
  static constexpr int kSize = 2;
  static HWY_INLINE V32 Load(const uint8_t* p) {
    return Bits32(hn::ConvertTo(DF32(), hn::BitCast(DI32(), LoadI16(p))));
  }
};
struct LoadUint16AsFloat {
  static constexpr int kSize = 2;
  static HWY_INLINE V32 Load(const uint8_t* p) {
    return Bits32(hn::ConvertTo(DF32(), hn::BitCast(DI32(), LoadU16(p))));
  }
};

// Rounded to nearest, once.
HWY_INLINE V32 FloatFromU32(V32 v) {
#if ONNX_RUN_AVX3
  return Bits32(hn::Vec<DF32>{_mm512_cvtepu32_ps(v.raw)});
#else
  // Both terms are exact.
  const auto high = hn::ConvertTo(DF32(), hn::BitCast(DI32(), hn::ShiftRight<16>(v)));
  const auto low = hn::ConvertTo(DF32(), hn::BitCast(DI32(), hn::And(v, U32(0xFFFF))));
  return Bits32(hn::Add(hn::Mul(high, hn::Set(DF32(), 65536.0F)), low));
#endif
}
struct LoadInt32AsNearestFloat {
  static constexpr int kSize = 4;
  static HWY_INLINE V32 Load(const uint8_t* p) {
    return Bits32(hn::ConvertTo(DF32(), LoadBytes(DI32(), p)));
  }
};
struct LoadUint32AsNearestFloat {
  static constexpr int kSize = 4;
  static HWY_INLINE V32 Load(const uint8_t* p) { return FloatFromU32(LoadBytes(D32(), p)); }
};

// Of 2^24 or more, the low 8 bits joined into one: 24 bits are left.
HWY_INLINE V32 FoldTo24Bits(V32 v) {
  const V32 low = U32(0xFF);
  const V32 folded = hn::AndNot(low, hn::Or(v, hn::Add(hn::And(v, low), low)));
  return hn::IfThenElse(Above(v, U32(0xFFFFFF)), folded, v);
}
struct LoadUint32AsFloat {
  static constexpr int kSize = 4;
  static HWY_INLINE V32 Load(const uint8_t* p) {
    const V32 v = LoadBytes(D32(), p);
#if ONNX_RUN_AVX3
    const __m512 t = _mm512_cvt_roundepu32_ps(v.raw, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
    const __mmask16 inexact = _mm512_cmpneq_epi32_mask(_mm512_cvttps_epu32(t), v.raw);
    const __m512i bits = _mm512_castps_si512(t);
    return V32{_mm512_mask_or_epi32(bits, inexact, bits, _mm512_set1_epi32(1))};
#else
    return FloatFromU32(FoldTo24Bits(v));
#endif
  }
};
struct LoadInt32AsFloat {
  static constexpr int kSize = 4;
  static HWY_INLINE V32 Load(const uint8_t* p) {
    const V32 v = LoadBytes(D32(), p);
#if ONNX_RUN_AVX3
    const __m512 t = _mm512_cvt_roundepi32_ps(v.raw, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
    const __mmask16 inexact = _mm512_cmpneq_epi32_mask(_mm512_cvttps_epi32(t), v.raw);
    const __m512i bits = _mm512_castps_si512(t);
    return V32{_mm512_mask_or_epi32(bits, inexact, bits, _mm512_set1_epi32(1))};
#else
    const auto negative = hn::BroadcastSignBit(hn::BitCast(DI32(), v));
    const V32 sign = Bits32(negative);
    const V32 magnitude = hn::Sub(hn::Xor(v, sign), sign);
    return hn::Or(FloatFromU32(FoldTo24Bits(magnitude)), hn::And(sign, U32(0x80000000)));
#endif
  }
};

HWY_INLINE V32 JoinHalves(hn::Vec<H32> low, hn::Vec<H32> high) {
  return hn::Combine(D32(), high, low);
}

// FLOAT bits of DOUBLEs, rounded to odd; infinite from 2^128 on.
HWY_INLINE hn::Vec<H32> OddFloatFromDouble(hn::Vec<DF64> v) {
  const H32 half;
  const hn::RebindToFloat<H32> half_float;
  const auto magnitude = hn::Abs(v);
  const auto in_range = hn::Lt(magnitude, hn::Set(DF64(), 0x1p128));
#if ONNX_RUN_AVX3
  (void)half_float;
  const __m256 t = _mm512_cvt_roundpd_ps(v.raw, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
  const __mmask8 inexact = _mm512_cmp_pd_mask(_mm512_cvtps_pd(t), v.raw, _CMP_NEQ_OQ);
  const __m256i bits = _mm256_castps_si256(t);
  const __m256i odd = _mm256_mask_or_epi32(bits, inexact, bits, _mm256_set1_epi32(1));
  // Truncation stops at the greatest FLOAT; the next bits are infinity's.
  const auto beyond = static_cast<__mmask8>(inexact & ~in_range.raw);
  (void)half;
  return hn::Vec<H32>{_mm256_mask_add_epi32(odd, beyond, odd, _mm256_set1_epi32(1))};
#else
  const auto nearest = hn::DemoteTo(half_float, v);
  const auto back = hn::PromoteTo(DF64(), nearest);
  const auto inexact = hn::And(hn::Ne(back, v), in_range);
  const auto away = hn::And(inexact, hn::Gt(hn::Abs(back), magnitude));
  // As 64 bit lanes: bits - away | inexact.
  const auto minus_one = Bits64(hn::VecFromMask(DF64(), away));
  const auto one = hn::And(Bits64(hn::VecFromMask(DF64(), inexact)), U64(1));
  const auto wide = hn::PromoteTo(D64(), hn::BitCast(half, nearest));
  const auto odd = hn::Or(hn::Add(wide, minus_one), one);
  return hn::TruncateTo(half, odd);
#endif
}
struct LoadDoubleAsFloat {
  static constexpr int kSize = 8;
  static HWY_INLINE V32 Load(const uint8_t* p) {
    return JoinHalves(OddFloatFromDouble(LoadBytes(DF64(), p)),
                      OddFloatFromDouble(LoadBytes(DF64(), p + 8 * kLanes64)));
  }
};
// As LoadDoubleAsFloat for destinations to which values below 2^-100 are all the same, and those
// above 2^100: bits lost to the subnormals of FLOAT do not matter, nor what is beyond its range.
#if ONNX_RUN_AVX3
struct LoadDoubleForTiny {
  static constexpr int kSize = 8;
  static HWY_INLINE hn::Vec<H32> Half(const uint8_t* p) {
    const V64 v = LoadBytes(D64(), p);
    const __m512d value = AsF64(v).raw;
    const __m256i bits =
        _mm256_castps_si256(_mm512_cvt_roundpd_ps(value, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC));
    const __mmask8 inexact = _mm512_test_epi64_mask(v.raw, _mm512_set1_epi64(0x1FFFFFFF));
    return hn::Vec<H32>{_mm256_mask_or_epi32(bits, inexact, bits, _mm256_set1_epi32(1))};
  }
  static HWY_INLINE V32 Load(const uint8_t* p) {
    return JoinHalves(Half(p), Half(p + 8 * kLanes64));
  }
};
#else
using LoadDoubleForTiny = LoadDoubleAsFloat;
#endif
struct LoadDoubleAsNearestFloat {
  static constexpr int kSize = 8;
  static HWY_INLINE V32 Load(const uint8_t* p) {
    const hn::RebindToFloat<H32> half;
    return JoinHalves(hn::BitCast(H32(), hn::DemoteTo(half, LoadBytes(DF64(), p))),
                      hn::BitCast(H32(), hn::DemoteTo(half, LoadBytes(DF64(), p + 8 * kLanes64))));
  }
};

// Exact DOUBLE of numbers below 2^53, or with their low 11 bits zero; else rounded to nearest,
// once.
HWY_INLINE hn::Vec<DF64> DoubleFromU64(V64 v) {
#if ONNX_RUN_AVX3
  return hn::Vec<DF64>{_mm512_cvtepu64_pd(v.raw)};
#else
  // 2^84 + high * 2^32 and 2^52 + low are exact as bits; the sum is rounded once.
  const V64 high = hn::Or(hn::ShiftRight<32>(v), U64(0x4530000000000000));
  const V64 low = hn::Or(hn::And(v, U64(0xFFFFFFFF)), U64(0x4330000000000000));
  const auto high_part = hn::Sub(AsF64(high), hn::Set(DF64(), 0x1.00000001p84));  // 2^84 + 2^52
  return hn::Add(high_part, AsF64(low));
#endif
}
HWY_INLINE hn::Vec<DF64> DoubleFromI64(V64 v) {
#if ONNX_RUN_AVX3
  return hn::Vec<DF64>{_mm512_cvtepi64_pd(v.raw)};
#else
  // As above, the high half biased to be positive.
  const V64 high = hn::Xor(hn::ShiftRight<32>(v), U64(0x4530000080000000));
  const V64 low = hn::Or(hn::And(v, U64(0xFFFFFFFF)), U64(0x4330000000000000));
  const auto high_part =
      hn::Sub(AsF64(high), hn::Set(DF64(), 0x1.00000801p84));  // 2^84 + 2^63 + 2^52
  return hn::Add(high_part, AsF64(low));
#endif
}

// Of 2^53 or more, the low 11 bits joined into one.
HWY_INLINE V64 FoldTo53Bits(V64 v) {
  const V64 low = U64(0x7FF);
  const V64 folded = hn::AndNot(low, hn::Or(v, hn::Add(hn::And(v, low), low)));
  const auto small = hn::Eq(hn::ShiftRight<53>(v), hn::Zero(D64()));
  return hn::IfThenElse(small, v, folded);
}
template <bool kSigned>
HWY_INLINE hn::Vec<DF64> OddDoubleFrom64(V64 v) {
  if constexpr (!kSigned) return DoubleFromU64(FoldTo53Bits(v));
  const V64 sign = Bits64(hn::BroadcastSignBit(hn::BitCast(DI64(), v)));
  const V64 magnitude = hn::Sub(hn::Xor(v, sign), sign);
  const V64 bits = Bits64(DoubleFromU64(FoldTo53Bits(magnitude)));
  return AsF64(hn::Or(bits, hn::And(sign, U64(uint64_t{1} << 63))));
}
template <bool kSigned, bool kOdd>
HWY_INLINE hn::Vec<H32> FloatFrom64(V64 v) {
#if ONNX_RUN_AVX3
  if constexpr (!kOdd) {
    const __m256 t = kSigned ? _mm512_cvtepi64_ps(v.raw) : _mm512_cvtepu64_ps(v.raw);
    return hn::Vec<H32>{_mm256_castps_si256(t)};
  } else {
    constexpr int kToZero = _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC;
    const __m256 t = kSigned ? _mm512_cvt_roundepi64_ps(v.raw, kToZero)
                             : _mm512_cvt_roundepu64_ps(v.raw, kToZero);
    const __m512i back = kSigned ? _mm512_cvttps_epi64(t) : _mm512_cvttps_epu64(t);
    const __mmask8 inexact = _mm512_cmpneq_epi64_mask(back, v.raw);
    const __m256i bits = _mm256_castps_si256(t);
    return hn::Vec<H32>{_mm256_mask_or_epi32(bits, inexact, bits, _mm256_set1_epi32(1))};
  }
#else
  const auto odd = OddDoubleFrom64<kSigned>(v);
  if constexpr (kOdd) return OddFloatFromDouble(odd);
  const hn::RebindToFloat<H32> half;
  return hn::BitCast(H32(), hn::DemoteTo(half, odd));
#endif
}
template <bool kSigned, bool kOdd>
struct Load64AsFloat {
  static constexpr int kSize = 8;
  static HWY_INLINE V32 Load(const uint8_t* p) {
    return JoinHalves(FloatFrom64<kSigned, kOdd>(LoadBytes(D64(), p)),
                      FloatFrom64<kSigned, kOdd>(LoadBytes(D64(), p + 8 * kLanes64)));
  }
};

// For destinations that end below 2^24 (all of 16 bits or fewer but BFLOAT16 and FLOAT8E8M0): what
// FLOAT does not hold is too large for them, and stays so.
#if ONNX_RUN_AVX3
template <bool kSigned>
struct Load64ForTiny {
  static constexpr int kSize = 8;
  static HWY_INLINE __m256i Saturated(const uint8_t* p) {
    const __m512i v = LoadBytes(D64(), p).raw;
    if constexpr (kSigned) return _mm512_cvtsepi64_epi32(v);
    return _mm512_cvtepi64_epi32(_mm512_min_epu64(v, _mm512_set1_epi64(0x7FFFFFFF)));
  }
  static HWY_INLINE V32 Load(const uint8_t* p) {
    const __m512i low = _mm512_castsi256_si512(Saturated(p));
    const __m512i all = _mm512_inserti64x4(low, Saturated(p + 8 * kLanes64), 1);
    return Bits32(hn::Vec<DF32>{_mm512_cvtepi32_ps(all)});
  }
};
#else
template <bool kSigned>
using Load64ForTiny = Load64AsFloat<kSigned, true>;
#endif

// --- Loaders of integers
// -----------------------------------------------------------------------------

template <int kSourceBytes>
struct LoadLow32 {  // zero-extended, or truncated
  static constexpr int kSize = kSourceBytes;
  static HWY_INLINE V32 Load(const uint8_t* p) {
    if constexpr (kSourceBytes == 2) {
      return LoadU16(p);
    } else if constexpr (kSourceBytes == 4) {
      return LoadBytes(D32(), p);
    } else {
      return Narrow64(LoadBytes(D64(), p), LoadBytes(D64(), p + 8 * kLanes64));
    }
  }
};
struct LoadInt16 {
  static constexpr int kSize = 2;
  static HWY_INLINE V32 Load(const uint8_t* p) { return LoadI16(p); }
};

// DOUBLE truncated to an integer modulo 2^64. The shifts leave nothing of fractions, and nothing of
// infinities and NaNs, whose exponent is the greatest.
HWY_INLINE V64 IntegerFromDouble(V64 bits) {
  const V64 significand = hn::Or(hn::And(bits, U64(0x000FFFFFFFFFFFFF)), U64(0x0010000000000000));
  const V64 exponent = hn::And(hn::ShiftRight<52>(bits), U64(0x7FF));
  const V64 left = ShiftLeftAny(significand, hn::Sub(exponent, U64(1075)));
  const V64 right = ShiftRightAny(significand, hn::Sub(U64(1075), exponent));
  // Both are the significand when the exponent is 1075, else at least one is 0.
  const V64 magnitude = hn::Or(left, right);
  const V64 sign = Bits64(hn::BroadcastSignBit(hn::BitCast(DI64(), bits)));
  return hn::Sub(hn::Xor(magnitude, sign), sign);
}
template <bool kNearest, bool kLow8Only>
struct LoadDoubleAsInteger {
  static constexpr int kSize = 8;
  static HWY_INLINE V64 Load64(const uint8_t* p) {
    const V64 bits = LoadBytes(D64(), p);
#if ONNX_RUN_AVX3
    // From 2^63 on the low 8 bits are 0, and so they are in what the unit gives then.
    if constexpr (kLow8Only) {
      if constexpr (kNearest) return V64{_mm512_cvtpd_epi64(AsF64(bits).raw)};
      return V64{_mm512_cvttpd_epi64(AsF64(bits).raw)};
    }
#endif
    if constexpr (kNearest) return IntegerFromDouble(Bits64(hn::Round(AsF64(bits))));
    return IntegerFromDouble(bits);
  }
  static HWY_INLINE V32 Load(const uint8_t* p) {
    return Narrow64(Load64(p), Load64(p + 8 * kLanes64));
  }
};

// --- Encoders
// ----------------------------------------------------------------------------------------

HWY_INLINE hn::Mask<D32> IsNan(V32 v) {
  return Above(hn::And(v, U32(0x7FFFFFFF)), U32(0x7F800000));
}

// The rounded code of the magnitude of a format with kMantissa bits, in the low bits of each lane;
// what is above them is of no meaning.
template <int kMantissa>
HWY_INLINE V32 SmallFloatMagnitude(V32 magnitude, V32 max_bits, V32 min_exponent_bits,
                                   V32 code_bias) {
  const V32 x = Bits32(hn::Min(AsF32(magnitude), AsF32(max_bits)));
  const V32 exponent =
      Bits32(hn::Max(AsF32(hn::And(x, U32(0x7F800000))), AsF32(min_exponent_bits)));
  const V32 rounder = hn::Add(exponent, U32((23U - kMantissa) << 23));
  // The low bits are those of the significand in the destination's last places.
  const V32 sum = Bits32(hn::Add(AsF32(x), AsF32(rounder)));
  return hn::Add(hn::Sub(sum, code_bias), hn::ShiftRight<23 - kMantissa>(exponent));
}

template <int kMantissa, bool kFnuz>
struct EncodeFloat8 {
  static constexpr int kBits = 8;
  const V32 max_bits, special_above, special_code, min_exponent_bits, code_bias;
  explicit HWY_INLINE EncodeFloat8(const KernelArgs& args)
      : max_bits(U32(args.max_bits)),
        special_above(U32(args.special_above)),
        special_code(U32(args.special_code)),
        min_exponent_bits(U32(args.min_exponent_bits)),
        code_bias(U32(args.code_bias)) {}
  HWY_INLINE V32 operator()(V32 v) const {
    const V32 magnitude = hn::And(v, U32(0x7FFFFFFF));
    const auto special = hn::Not(hn::Le(AsF32(magnitude), AsF32(special_above)));
    V32 code = SmallFloatMagnitude<kMantissa>(magnitude, max_bits, min_exponent_bits, code_bias);
    const V32 sign = hn::ShiftRight<24>(v);  // in bit 7
    if constexpr (kFnuz) {
#if ONNX_RUN_AVX3
      const hn::Mask<D32> not_zero{_mm512_test_epi32_mask(code.raw, _mm512_set1_epi32(0x7F))};
#else
      const auto not_zero = hn::Ne(hn::And(code, U32(0x7F)), hn::Zero(D32()));
#endif
      code = hn::IfThenElseZero(not_zero, SelectBits(U32(0x7F), code, sign));
      return hn::IfThenElse(Mask32(special), special_code, code);
    } else {
      code = hn::IfThenElse(Mask32(special), special_code, code);
      return SelectBits(U32(0x7F), code, sign);
    }
  }
};

struct EncodeFloat4 {
  static constexpr int kBits = 4;
  const V32 max_bits, min_exponent_bits, code_bias;
  explicit HWY_INLINE EncodeFloat4(const KernelArgs& args)
      : max_bits(U32(args.max_bits)),
        min_exponent_bits(U32(args.min_exponent_bits)),
        code_bias(U32(args.code_bias)) {}
  HWY_INLINE V32 operator()(V32 v) const {
    const V32 magnitude = hn::And(v, U32(0x7FFFFFFF));
    const auto nan = Above(magnitude, U32(0x7F800000));
    const V32 code = hn::And(
        SmallFloatMagnitude<1>(magnitude, max_bits, min_exponent_bits, code_bias), U32(0x7));
    const V32 sign = hn::And(hn::ShiftRight<28>(v), U32(0x8));
    // kFloat4PositiveNanCode, kFloat4NegativeNanCode
    return hn::IfThenElse(nan, hn::Xor(sign, U32(0x8)), hn::Or(code, sign));
  }
};

struct EncodeFloat16 {
  static constexpr int kBits = 16;
  explicit HWY_INLINE EncodeFloat16(const KernelArgs&) {}
  HWY_INLINE V32 operator()(V32 v) const {
#if ONNX_RUN_AVX3
    return V32{_mm512_cvtepu16_epi32(
        _mm512_cvtps_ph(AsF32(v).raw, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC))};
#elif ONNX_RUN_AVX2
    return V32{_mm256_cvtepu16_epi32(_mm256_cvtps_ph(AsF32(v).raw, _MM_FROUND_TO_NEAREST_INT))};
#else
    const V32 magnitude = hn::And(v, U32(0x7FFFFFFF));
    const V32 code =
        SmallFloatMagnitude<10>(magnitude, U32(0x47800000), U32(0x38800000), U32(113U << 10));
    const V32 nan = hn::Or(hn::ShiftRight<13>(magnitude), U32(0x7E00));
    const V32 result =
        hn::And(hn::IfThenElse(Above(magnitude, U32(0x7F800000)), nan, code), U32(0x7FFF));
    return hn::Or(result, hn::And(hn::ShiftRight<16>(v), U32(0x8000)));
#endif
  }
};
struct EncodeBfloat16 {
  static constexpr int kBits = 16;
  explicit HWY_INLINE EncodeBfloat16(const KernelArgs&) {}
  HWY_INLINE V32 operator()(V32 v) const {
    const V32 odd = hn::And(hn::ShiftRight<16>(v), U32(1));
    const V32 rounded = hn::Add(hn::Add(v, U32(0x7FFF)), odd);
    return hn::ShiftRight<16>(hn::IfThenElse(IsNan(v), hn::Or(v, U32(0x00400000)), rounded));
  }
};
struct EncodeE8m0 {
  static constexpr int kBits = 8;
  const V32 round_up, bad_below, bad_range, max_code;
  explicit HWY_INLINE EncodeE8m0(const KernelArgs& args)
      : round_up(U32(args.round_up)),
        bad_below(U32(args.bad_below)),
        bad_range(U32(args.bad_range)),
        max_code(U32(args.max_code)) {}
  HWY_INLINE V32 operator()(V32 v) const {
    const V32 least = U32(0x00400000);  // 2^-127
    const V32 x = hn::IfThenElseZero(hn::Ne(v, U32(0x80000000)), v);
    const V32 raised = hn::Max(x, least);
    // A subnormal FLOAT has exponent 0 but a value of 2^-127 * 1.m.
    const V32 aligned = hn::Min(raised, hn::Sub(hn::Add(raised, raised), U32(0x00800000)));
    const V32 code = hn::Min(hn::ShiftRight<23>(hn::Add(aligned, round_up)), max_code);
    return hn::IfThenElse(Above(hn::Sub(x, bad_below), bad_range), U32(0xFF), code);
  }
};
struct EncodeBool {
  static constexpr int kBits = 8;
  explicit HWY_INLINE EncodeBool(const KernelArgs&) {}
  HWY_INLINE V32 operator()(V32 v) const { return hn::Min(hn::And(v, U32(0x7FFFFFFF)), U32(1)); }
};
struct EncodeFloat {
  static constexpr int kBits = 32;
  explicit HWY_INLINE EncodeFloat(const KernelArgs&) {}
  HWY_INLINE V32 operator()(V32 v) const { return v; }
};
struct EncodeQuietFloat {  // where the loader's NaNs may signal
  static constexpr int kBits = 32;
  explicit HWY_INLINE EncodeQuietFloat(const KernelArgs&) {}
  HWY_INLINE V32 operator()(V32 v) const {
    return hn::IfThenElse(IsNan(v), hn::Or(v, U32(0x00400000)), v);
  }
};

// FLOAT truncated to an integer modulo 2^32; see IntegerFromDouble.
HWY_INLINE V32 IntegerFromFloat(V32 bits) {
  const V32 significand = hn::Or(hn::And(bits, U32(0x007FFFFF)), U32(0x00800000));
  const V32 exponent = hn::And(hn::ShiftRight<23>(bits), U32(0xFF));
  const V32 left = ShiftLeftAny(significand, hn::Sub(exponent, U32(150)));
  const V32 right = ShiftRightAny(significand, hn::Sub(U32(150), exponent));
  const V32 magnitude = hn::Or(left, right);
  const V32 sign = Bits32(hn::BroadcastSignBit(hn::BitCast(DI32(), bits)));
  return hn::Sub(hn::Xor(magnitude, sign), sign);
}
// The low 8 bits (of BFLOAT16 and FLOAT16 values: 16). From 2^31 on they are 0, as they are in what
// the unit of x86 gives then, and for NaN.
template <bool kNearest>
HWY_INLINE V32 LowIntegerFromFloat(V32 v) {
#if ONNX_RUN_AVX3
  return V32{kNearest ? _mm512_cvtps_epi32(AsF32(v).raw) : _mm512_cvttps_epi32(AsF32(v).raw)};
#elif ONNX_RUN_AVX2
  return V32{kNearest ? _mm256_cvtps_epi32(AsF32(v).raw) : _mm256_cvttps_epi32(AsF32(v).raw)};
#elif ONNX_RUN_X86
  return V32{kNearest ? _mm_cvtps_epi32(AsF32(v).raw) : _mm_cvttps_epi32(AsF32(v).raw)};
#else
  return IntegerFromFloat(kNearest ? Bits32(hn::Round(AsF32(v))) : v);
#endif
}
template <int kResultBits, bool kShortSource>
struct EncodeInteger {
  static constexpr int kBits = kResultBits;
  explicit HWY_INLINE EncodeInteger(const KernelArgs&) {}
  HWY_INLINE V32 operator()(V32 v) const {
    if constexpr (kBits == 32) return IntegerFromFloat(v);
    constexpr uint32_t kMask = (1U << (kBits % 32)) - 1;
    if constexpr (kBits < 8) return hn::And(LowIntegerFromFloat<true>(v), U32(kMask));
    if constexpr (kBits == 8 || kShortSource)
      return hn::And(LowIntegerFromFloat<false>(v), U32(kMask));
    return hn::And(IntegerFromFloat(v), U32(kMask));
  }
};
template <int kResultBits>
struct EncodeLow {
  static constexpr int kBits = kResultBits;
  explicit HWY_INLINE EncodeLow(const KernelArgs&) {}
  HWY_INLINE V32 operator()(V32 v) const {
    if constexpr (kBits == 32) return v;
    return hn::And(v, U32((1U << (kBits % 32)) - 1));
  }
};

template <class Loader, class Encoder>
void Run32(const uint8_t* from, uint8_t* to, size_t steps, const KernelArgs& args) {
  const Encoder encode(args);
  constexpr size_t kGroup = 4 * kLanes32;
  constexpr size_t kStride = kLanes32 * Loader::kSize;
  for (size_t groups = steps * (kStep / kGroup); groups != 0; --groups) {
    const V32 a = encode(Loader::Load(from));
    const V32 b = encode(Loader::Load(from + kStride));
    const V32 c = encode(Loader::Load(from + 2 * kStride));
    const V32 d = encode(Loader::Load(from + 3 * kStride));
    StoreCodes<Encoder::kBits>(a, b, c, d, to);
    from += 4 * kStride;
    to += kGroup * Encoder::kBits / 8;
  }
}

// --- Direct kernels: 16 bit sources in lanes of 16 bits, and some others
// --------------------------------------------------------------

#if ONNX_RUN_AVX3

// FLOAT16 or BFLOAT16 bits.
struct LoadBits16 {
  static HWY_INLINE __m512i Load(const uint8_t* p) { return _mm512_loadu_si512(p); }
};
HWY_INLINE __m512i U16(uint32_t value) { return _mm512_set1_epi16(static_cast<int16_t>(value)); }

constexpr uint32_t kFloat16Rebias = 112;  // between the exponents of FLOAT and FLOAT16

// FLOAT bits to bits of a format with kSource mantissa bits, truncated; no more than its infinity.
template <int kSource>
uint32_t Bits16(uint32_t float_bits) {
  if (kSource == 7) return float_bits >> 16;
  const uint32_t bits = (float_bits >> 13) - (kFloat16Rebias << 10);
  return bits < 0x7C00 ? bits : 0x7C00;
}

// The rounded code of a magnitude in FLOAT16 (kSource = 10) or BFLOAT16 (7) bits. Codes beyond the
// greatest one go on.
template <int kSource, int kMantissa>
struct Magnitude16 {
  __m512i least_exponent;  // the source's exponent field of the destination's least normal value
  explicit HWY_INLINE Magnitude16(const KernelArgs& args)
      : least_exponent(U16((args.min_exponent_bits >> 23) - (kSource == 10 ? kFloat16Rebias : 0))) {
  }
  HWY_INLINE __m512i operator()(__m512i magnitude) const {
    const __m512i exponent = _mm512_srli_epi16(magnitude, kSource);
    // 1.m with its leading bit at bit 14. Subnormals of the source are less than half of any least
    // value.
    const __m512i significand = _mm512_ternarylogic_epi32(
        _mm512_slli_epi16(magnitude, 14 - kSource), U16(0x3FFF), U16(0x4000), 0xEA);  // (a & b) | c
    const __m512i steps_below = _mm512_subs_epu16(least_exponent, exponent);
    const __m512i steps_above = _mm512_subs_epu16(exponent, least_exponent);
    constexpr int kFraction = 14 - kMantissa;
    const __m512i aligned = _mm512_srlv_epi16(significand, steps_below);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi16(aligned, kFraction), U16(1));
    const __m512i rounded = _mm512_srli_epi16(
        _mm512_add_epi16(_mm512_add_epi16(aligned, U16((1U << (kFraction - 1)) - 1)), odd),
        kFraction);
    return _mm512_add_epi16(rounded, _mm512_slli_epi16(steps_above, kMantissa));
  }
};
// FLOAT16 and the float8 of 5 exponent bits have their subnormals at the same place; FNUZ is one
// step off.
template <bool kFnuz>
HWY_INLINE __m512i Float8e5m2Magnitude(__m512i magnitude) {
  // Twice the value: of a subnormal twice the bits, else one more in the exponent.
  if (kFnuz) magnitude = _mm512_add_epi16(magnitude, _mm512_min_epu16(magnitude, U16(0x0400)));
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi16(magnitude, 8), U16(1));
  return _mm512_srli_epi16(_mm512_add_epi16(_mm512_add_epi16(magnitude, U16(0x7F)), odd), 8);
}

template <int kSource, int kMantissa, bool kFnuz>
struct Encode16Float8 {
  static constexpr int kBits = 8;
  const Magnitude16<kSource, kMantissa> round;
  const __m512i greatest, special_above, special_code;
  explicit HWY_INLINE Encode16Float8(const KernelArgs& args)
      : round(args),
        greatest(U16((args.max_bits >> (23 - kMantissa)) - args.code_bias + (1U << kMantissa))),
        special_above(U16(Bits16<kSource>(args.special_above))),
        special_code(U16(args.special_code)) {}
  HWY_INLINE __m512i operator()(__m512i v) const {
    const __m512i magnitude = _mm512_and_si512(v, U16(0x7FFF));
    const __mmask32 special = _mm512_cmpgt_epi16_mask(magnitude, special_above);
    __m512i code;
    if constexpr (kSource == 10 && kMantissa == 2) {
      code = Float8e5m2Magnitude<kFnuz>(magnitude);
    } else {
      code = round(magnitude);
    }
    code = _mm512_min_epu16(code, greatest);
    if constexpr (kFnuz) {
      const __mmask32 not_zero = _mm512_test_epi16_mask(code, code);
      code = _mm512_ternarylogic_epi32(code, _mm512_maskz_srli_epi16(not_zero, v, 8), U16(0x80),
                                       0xF8);  // code | (sign & 0x80)
      return _mm512_mask_mov_epi16(code, special, special_code);
    } else {
      code = _mm512_mask_mov_epi16(code, special, special_code);
      return _mm512_ternarylogic_epi32(U16(0x7F), code, _mm512_srli_epi16(v, 8),
                                       0xCA);  // bits of code where 7F has ones
    }
  }
};
// FLOAT4E2M1 by a table: the exponents -2 to 5 and three mantissa bits, the last one set if
// anything is lost, tell all its values and ties apart.
template <int kSource>
struct Encode16Float4 {
  static constexpr int kBits = 4;
  static constexpr int kDrop = kSource - 3;
  __m512i table0, table1;
  explicit HWY_INLINE Encode16Float4(const KernelArgs&) {
    alignas(64) uint16_t codes[64];
    for (int i = 0; i < 64; ++i) {
      // 1.m * 2^e in eighths of 2^-2; half of the least value is 8 of them
      const int value = (8 + i % 8) << (i / 8);
      codes[i] = static_cast<uint16_t>(value <= 8     ? 0
                                       : value < 24   ? 1
                                       : value <= 40  ? 2
                                       : value < 56   ? 3
                                       : value <= 80  ? 4
                                       : value < 112  ? 5
                                       : value <= 160 ? 6
                                                      : 7);
    }
    table0 = _mm512_load_si512(codes);
    table1 = _mm512_load_si512(codes + 32);
  }
  HWY_INLINE __m512i operator()(__m512i v) const {
    const __m512i magnitude = _mm512_and_si512(v, U16(0x7FFF));
    const __mmask32 nan = _mm512_cmpgt_epi16_mask(magnitude, U16(kSource == 7 ? 0x7F80 : 0x7C00));
    const __m512i low = U16((1U << kDrop) - 1);
    const __m512i odd =
        _mm512_or_si512(magnitude, _mm512_add_epi16(_mm512_and_si512(magnitude, low), low));
    constexpr uint32_t kFirst = ((kSource == 7 ? 127U : 15U) - 2) << 3;
    const __m512i index =
        _mm512_min_epu16(_mm512_subs_epu16(_mm512_srli_epi16(odd, kDrop), U16(kFirst)), U16(63));
    const __m512i code = _mm512_permutex2var_epi16(table0, index, table1);
    const __m512i sign = _mm512_srli_epi16(v, 12);
    const __m512i result = _mm512_ternarylogic_epi32(U16(0x7), code, sign, 0xCA);
    // kFloat4PositiveNanCode, kFloat4NegativeNanCode
    return _mm512_mask_mov_epi16(result, nan, _mm512_andnot_si512(sign, U16(0x8)));
  }
};
struct Encode16Bfloat16E8m0 {
  static constexpr int kBits = 8;
  const __m512i round_up, bad_below, bad_range, max_code;
  explicit HWY_INLINE Encode16Bfloat16E8m0(const KernelArgs& args)
      : round_up(U16(args.round_up >> 16)),
        bad_below(U16(args.bad_below >> 16)),
        bad_range(U16(args.bad_range >> 16)),
        max_code(U16(args.max_code)) {}
  HWY_INLINE __m512i operator()(__m512i v) const {  // as EncodeE8m0
    const __m512i x = _mm512_maskz_mov_epi16(_mm512_cmpneq_epi16_mask(v, U16(0x8000)), v);
    const __m512i raised = _mm512_max_epu16(x, U16(0x0040));
    const __m512i aligned =
        _mm512_min_epu16(raised, _mm512_sub_epi16(_mm512_add_epi16(raised, raised), U16(0x0080)));
    const __m512i code =
        _mm512_min_epu16(_mm512_srli_epi16(_mm512_add_epi16(aligned, round_up), 7), max_code);
    return _mm512_mask_mov_epi16(
        code, _mm512_cmpgt_epu16_mask(_mm512_sub_epi16(x, bad_below), bad_range), U16(0xFF));
  }
};

// FLOAT16 to FLOAT8E8M0 by its exponent; vectors with subnormals, that have none, in 32 bit lanes.
struct Encode16Float16E8m0 {
  static constexpr int kBits = 8;
  const EncodeE8m0 encode32;
  const __m512i round_up, zero_code, infinity_code;
  explicit HWY_INLINE Encode16Float16E8m0(const KernelArgs& args)
      : encode32(args),
        round_up(U16(args.round_up >> 13)),
        zero_code(U16(args.bad_below != 0 ? 0xFF : 0)),
        infinity_code(U16(args.max_code)) {}
  HWY_INLINE __m512i operator()(__m512i v) const {
    const __mmask32 subnormal = _mm512_cmplt_epu16_mask(_mm512_sub_epi16(v, U16(1)), U16(0x3FF));
    if (HWY_UNLIKELY(subnormal != 0)) return Slow(v);
    const __mmask32 zero = _mm512_testn_epi16_mask(v, U16(0x7FFF));
    __m512i code =
        _mm512_add_epi16(_mm512_srli_epi16(_mm512_add_epi16(v, round_up), 10), U16(kFloat16Rebias));
    code = _mm512_mask_mov_epi16(code, _mm512_cmpeq_epi16_mask(v, U16(0x7C00)), infinity_code);
    code = _mm512_mask_mov_epi16(code, _mm512_cmpgt_epu16_mask(v, U16(0x7C00)), U16(0xFF));
    return _mm512_mask_mov_epi16(code, zero, zero_code);
  }
  HWY_NOINLINE __m512i Slow(__m512i v) const {
    const V32 low = encode32(Bits32(hn::Vec<DF32>{_mm512_cvtph_ps(_mm512_castsi512_si256(v))}));
    const V32 high =
        encode32(Bits32(hn::Vec<DF32>{_mm512_cvtph_ps(_mm512_extracti64x4_epi64(v, 1))}));
    return Narrow32(low, high).raw;
  }
};

template <class Loader, class Encoder>
void Run16(const uint8_t* from, uint8_t* to, size_t steps, const KernelArgs& args) {
  const Encoder encode(args);
  const __m512i order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
  for (; steps != 0; --steps, from += 128, to += 8 * Encoder::kBits) {
    const __m512i packed =
        _mm512_packus_epi16(encode(Loader::Load(from)), encode(Loader::Load(from + 64)));
    StoreByteCodes<Encoder::kBits>(V8{_mm512_permutexvar_epi64(order, packed)}, to);
  }
}

template <class Loader, int kSource>
KernelFn ToTiny16(ElementType to) {
  switch (to) {
    case ElementType::kFloat8e4m3fn: return &Run16<Loader, Encode16Float8<kSource, 3, false> >;
    case ElementType::kFloat8e4m3fnuz: return &Run16<Loader, Encode16Float8<kSource, 3, true> >;
    case ElementType::kFloat8e5m2: return &Run16<Loader, Encode16Float8<kSource, 2, false> >;
    case ElementType::kFloat8e5m2fnuz: return &Run16<Loader, Encode16Float8<kSource, 2, true> >;
    case ElementType::kFloat4e2m1: return &Run16<Loader, Encode16Float4<kSource> >;
    default: return nullptr;
  }
}
// 16 bit integers have no subnormals in any float8: the magnitude becomes FLOAT, exactly, whose
// bits are rounded where the destination's mantissa ends.
template <int kMantissa, bool kFnuz>
struct EncodeIntegerFloat8 {
  static constexpr int kBits = kMantissa == 1 ? 4 : 8;
  static constexpr int kDrop = 23 - kMantissa;
  const __m512i rebias, greatest;
  explicit HWY_INLINE EncodeIntegerFloat8(const KernelArgs& args)
      : rebias(U16(args.code_bias - (1U << kMantissa))),
        greatest(U16((args.max_bits >> kDrop) - args.code_bias + (1U << kMantissa) +
                     (kFnuz && args.special_above != 0x7F800000 ? 1 : 0))) {}
  HWY_INLINE __m512i Round(__m512i bits) const {
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, kDrop), _mm512_set1_epi32(1));
    const __m512i half = _mm512_set1_epi32((1 << (kDrop - 1)) - 1);
    return _mm512_srli_epi32(_mm512_add_epi32(_mm512_add_epi32(bits, half), odd), kDrop);
  }
  HWY_INLINE __m512i Finish(__m512i rounded, __m512i v, __m512i) const {
    const __m512i code = _mm512_min_epu16(_mm512_subs_epu16(rounded, rebias), greatest);
    constexpr uint32_t kMagnitude = (1U << (kBits - 1)) - 1;
    const __m512i sign = _mm512_srli_epi16(v, 16 - kBits);
    const __m512i result = _mm512_ternarylogic_epi32(U16(kMagnitude), code, sign, 0xCA);
    if constexpr (!kFnuz) return result;
    // One above the greatest is NaN, without sign.
    return _mm512_mask_mov_epi16(result, _mm512_cmpgt_epi16_mask(code, U16(kMagnitude)), U16(0x80));
  }
};
struct EncodeIntegerE8m0 {
  static constexpr int kBits = 8;
  const __m512i round_up;
  const __m512i least;  // below it is NaN: 1 where zero is
  explicit HWY_INLINE EncodeIntegerE8m0(const KernelArgs& args)
      : round_up(_mm512_set1_epi32(static_cast<int>(args.round_up))),
        least(U16(args.bad_below != 0 ? 1 : 0)) {}
  HWY_INLINE __m512i Round(__m512i bits) const {
    return _mm512_srli_epi32(_mm512_add_epi32(bits, round_up), 23);
  }
  HWY_INLINE __m512i Finish(__m512i rounded, __m512i sign, __m512i magnitude) const {
    const __mmask32 bad = _mm512_movepi16_mask(sign) | _mm512_cmplt_epu16_mask(magnitude, least);
    return _mm512_mask_mov_epi16(rounded, bad, U16(0xFF));
  }
};

template <bool kSigned, class Encoder>
void RunInteger16(const uint8_t* from, uint8_t* to, size_t steps, const KernelArgs& args) {
  const Encoder encode(args);
  const __m512i zero = _mm512_setzero_si512();
  const __m512i order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
  for (; steps != 0; --steps, from += 128, to += 8 * Encoder::kBits) {
    __m512i codes[2];
    for (int i = 0; i < 2; ++i) {
      const __m512i v = _mm512_loadu_si512(from + 64 * i);
      const __m512i magnitude = kSigned ? _mm512_abs_epi16(v) : v;
      // Apart and together again within blocks of 128 bits: the order stays.
      const __m512 low = _mm512_cvtepi32_ps(_mm512_unpacklo_epi16(magnitude, zero));
      const __m512 high = _mm512_cvtepi32_ps(_mm512_unpackhi_epi16(magnitude, zero));
      const __m512i rounded = _mm512_packus_epi32(encode.Round(_mm512_castps_si512(low)),
                                                  encode.Round(_mm512_castps_si512(high)));
      codes[i] = encode.Finish(rounded, kSigned ? v : zero, magnitude);
    }
    StoreByteCodes<Encoder::kBits>(
        V8{_mm512_permutexvar_epi64(order, _mm512_packus_epi16(codes[0], codes[1]))}, to);
  }
}

template <bool kSigned>
KernelFn Integer16ToTiny(ElementType to) {
  switch (to) {
    case ElementType::kFloat8e4m3fn: return &RunInteger16<kSigned, EncodeIntegerFloat8<3, false> >;
    case ElementType::kFloat8e4m3fnuz: return &RunInteger16<kSigned, EncodeIntegerFloat8<3, true> >;
    case ElementType::kFloat8e5m2: return &RunInteger16<kSigned, EncodeIntegerFloat8<2, false> >;
    case ElementType::kFloat8e5m2fnuz: return &RunInteger16<kSigned, EncodeIntegerFloat8<2, true> >;
    case ElementType::kFloat8e8m0: return &RunInteger16<kSigned, EncodeIntegerE8m0>;
    case ElementType::kFloat4e2m1: return &RunInteger16<kSigned, EncodeIntegerFloat8<1, false> >;
    default: return nullptr;
  }
}
// Integers of 16 to 64 bits to formats that end far below 2^15, saturated to 16 bits: source
// vectors to one of 16 bit lanes. Those of 32 and 64 bit integers are not in order.
template <bool kSigned, int kSourceBytes>
struct LoadSaturated {
  static constexpr int kStride = 32 * kSourceBytes;
  static HWY_INLINE __m512i Load32(const uint8_t* p) {
    const __m512i a = _mm512_loadu_si512(p);
    if constexpr (kSourceBytes == 4) return a;
    const __m512i b = _mm512_loadu_si512(p + 64);
    const __m256i low = kSigned ? _mm512_cvtsepi64_epi32(a) : _mm512_cvtusepi64_epi32(a);
    const __m256i high = kSigned ? _mm512_cvtsepi64_epi32(b) : _mm512_cvtusepi64_epi32(b);
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
  }
  static HWY_INLINE __m512i Load(const uint8_t* p) {
    if constexpr (kSourceBytes == 2) return _mm512_loadu_si512(p);
    const __m512i a = Load32(p);
    const __m512i b = Load32(p + 16 * kSourceBytes);
    if constexpr (kSigned) return _mm512_packs_epi32(a, b);
    const __m512i most = _mm512_set1_epi32(0x7FFF);
    return _mm512_packs_epi32(_mm512_min_epu32(a, most), _mm512_min_epu32(b, most));
  }
};
struct EncodeSaturatedFloat4 {
  static constexpr int kBits = 4;
  const __m512i codes;
  explicit HWY_INLINE EncodeSaturatedFloat4(const KernelArgs&)
      : codes(
            _mm512_broadcast_i32x4(_mm_setr_epi8(0, 2, 4, 5, 6, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7))) {
  }
  HWY_INLINE __m512i operator()(__m512i magnitude) const {
    return _mm512_shuffle_epi8(codes, _mm512_min_epu16(magnitude, U16(15)));
  }
};
#if HWY_TARGET <= HWY_AVX3_DL
// Float8 of three mantissa bits. args.table has the codes of 0 to 127, and those of every fourth
// number from 0 to 508; from 128 on only whether the two bits below are 0 counts, for ties are
// multiples of 8.
struct EncodeSaturatedFloat8 {
  static constexpr int kBits = 8;
  __m512i small0, small1, large0, large1;
  explicit HWY_INLINE EncodeSaturatedFloat8(const KernelArgs& args)
      : small0(_mm512_loadu_si512(args.table)),
        small1(_mm512_loadu_si512(args.table + 64)),
        large0(_mm512_loadu_si512(args.table + 128)),
        large1(_mm512_loadu_si512(args.table + 192)) {}
  HWY_INLINE __m512i operator()(__m512i magnitude) const {
    const __m512i m = _mm512_min_epu16(magnitude, U16(511));
    const __m512i lost = _mm512_min_epu16(_mm512_and_si512(m, U16(3)), U16(1));
    const __m512i index = _mm512_or_si512(_mm512_srli_epi16(m, 2), lost);
    // The upper byte of a lane looks up the code of 0, which is 0.
    const __m512i small = _mm512_permutex2var_epi8(small0, m, small1);
    const __m512i large = _mm512_permutex2var_epi8(large0, index, large1);
    return _mm512_mask_mov_epi16(small, _mm512_cmpgt_epi16_mask(m, U16(127)), large);
  }
};
#endif

template <bool kSigned, int kSourceBytes, class Encoder>
void RunSaturated(const uint8_t* from, uint8_t* to, size_t steps, const KernelArgs& args) {
  using Loader = LoadSaturated<kSigned, kSourceBytes>;
  const Encoder encode(args);
  constexpr int kBits = Encoder::kBits;
  const __m512i sign_bit = U16(1U << (kBits - 1));
  const __m512i order =
      kSourceBytes == 2 ? _mm512_setr_epi32(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15)
                        : _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  for (; steps != 0; --steps, from += 2 * Loader::kStride, to += 8 * kBits) {
    __m512i codes[2];
    for (int i = 0; i < 2; ++i) {
      const __m512i v = Loader::Load(from + Loader::kStride * i);
      if constexpr (kSigned) {
        const __m512i code = encode(_mm512_abs_epi16(v));
        // code | (sign & sign_bit)
        codes[i] =
            _mm512_ternarylogic_epi32(code, _mm512_srli_epi16(v, 16 - kBits), sign_bit, 0xF8);
      } else {
        codes[i] = encode(v);
      }
    }
    StoreByteCodes<kBits>(
        V8{_mm512_permutexvar_epi32(order, _mm512_packus_epi16(codes[0], codes[1]))}, to);
  }
}
template <bool kSigned, int kSourceBytes>
KernelFn SaturatedToTiny(ElementType to) {
  switch (to) {
    case ElementType::kFloat4e2m1:
      return &RunSaturated<kSigned, kSourceBytes, EncodeSaturatedFloat4>;
#if HWY_TARGET <= HWY_AVX3_DL
    case ElementType::kFloat8e4m3fn:
    case ElementType::kFloat8e4m3fnuz:
      return &RunSaturated<kSigned, kSourceBytes, EncodeSaturatedFloat8>;
#endif
    default: return nullptr;
  }
}

// Integers of 32 or 64 bits to FLOAT8E8M0: as FLOAT, rounded up where the destination is, else
// truncated.
template <bool kSigned, int kSourceBytes, int kRounding>
HWY_INLINE V32 DirectedFloat(const uint8_t* p) {
  constexpr int kMode = kRounding | _MM_FROUND_NO_EXC;
  const __m512i a = _mm512_loadu_si512(p);
  if constexpr (kSourceBytes == 4) {
    return Bits32(hn::Vec<DF32>{kSigned ? _mm512_cvt_roundepi32_ps(a, kMode)
                                        : _mm512_cvt_roundepu32_ps(a, kMode)});
  } else {
    const __m512i b = _mm512_loadu_si512(p + 64);
    const __m256 low =
        kSigned ? _mm512_cvt_roundepi64_ps(a, kMode) : _mm512_cvt_roundepu64_ps(a, kMode);
    const __m256 high =
        kSigned ? _mm512_cvt_roundepi64_ps(b, kMode) : _mm512_cvt_roundepu64_ps(b, kMode);
    return V32{_mm512_inserti64x4(_mm512_castsi256_si512(_mm256_castps_si256(low)),
                                  _mm256_castps_si256(high), 1)};
  }
}
template <bool kSigned, int kSourceBytes, int kRounding>
HWY_INLINE void RunDirectedE8m0(const uint8_t* from, uint8_t* to, size_t steps,
                                const KernelArgs& args) {
  const V32 round_up = U32(args.round_up);
  const V32 least = U32(args.bad_below != 0 ? 1 : 0);
  const V32 range = U32(0x7FFFFFFF - (args.bad_below != 0 ? 1 : 0));
  const auto encode = [&](const uint8_t* p) HWY_ATTR {
    const V32 v = DirectedFloat<kSigned, kSourceBytes, kRounding>(p);
    const V32 code = hn::ShiftRight<23>(hn::Add(v, round_up));
    return hn::IfThenElse(Above(hn::Sub(v, least), range), U32(0xFF), code);
  };
  for (; steps != 0; --steps, from += 64 * kSourceBytes, to += 64) {
    const V32 a = encode(from);
    const V32 b = encode(from + 16 * kSourceBytes);
    const V32 c = encode(from + 32 * kSourceBytes);
    const V32 d = encode(from + 48 * kSourceBytes);
    StoreByteCodes<8>(Narrow32(a, b, c, d), to);
  }
}
template <bool kSigned, int kSourceBytes>
void RunIntegerE8m0(const uint8_t* from, uint8_t* to, size_t steps, const KernelArgs& args) {
  if (args.round_up == 0x007FFFFF) {
    RunDirectedE8m0<kSigned, kSourceBytes, _MM_FROUND_TO_POS_INF>(from, to, steps, args);
  } else {
    RunDirectedE8m0<kSigned, kSourceBytes, _MM_FROUND_TO_ZERO>(from, to, steps, args);
  }
}

// DOUBLE to FLOAT8E8M0 by its upper half, whose last bit is set if anything is below.
void RunDoubleE8m0(const uint8_t* from, uint8_t* to, size_t steps, const KernelArgs& args) {
  constexpr uint32_t kLeast = (1023 - 127) << 20;  // 2^-127
  const uint32_t bad_below = args.bad_below != 0 ? kLeast : 0;
  const V32 below = U32(bad_below);
  const V32 range = U32(0x7FF00000 - bad_below);
  const V32 round_up = U32(args.round_up >> 3);
  const V32 max_code = U32(args.max_code);
  const __m512i odd = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
  const __m512i even = _mm512_sub_epi32(odd, _mm512_set1_epi32(1));
  const auto encode = [&](const uint8_t* p) HWY_ATTR {
    const __m512i a = _mm512_loadu_si512(p);
    const __m512i b = _mm512_loadu_si512(p + 64);
    const __m512i low = _mm512_permutex2var_epi32(a, even, b);
    __m512i high = _mm512_permutex2var_epi32(a, odd, b);
    high = _mm512_mask_or_epi32(high, _mm512_test_epi32_mask(low, low), high, _mm512_set1_epi32(1));
    const V32 x = hn::IfThenElseZero(hn::Ne(V32{high}, U32(0x80000000)), V32{high});
    const V32 raised = hn::Sub(hn::Max(x, U32(kLeast)), U32(kLeast));
    const V32 code = hn::Min(hn::ShiftRight<20>(hn::Add(raised, round_up)), max_code);
    return hn::IfThenElse(Above(hn::Sub(x, below), range), U32(0xFF), code);
  };
  for (; steps != 0; --steps, from += 512, to += 64) {
    const V32 a = encode(from);
    const V32 b = encode(from + 128);
    const V32 c = encode(from + 256);
    const V32 d = encode(from + 384);
    StoreByteCodes<8>(Narrow32(a, b, c, d), to);
  }
}

KernelFn FindDirect(ElementType from, ElementType to) {
  KernelFn run = nullptr;
  switch (from) {
    case ElementType::kFloat16:
      if (to == ElementType::kFloat8e8m0) return &Run16<LoadBits16, Encode16Float16E8m0>;
      return ToTiny16<LoadBits16, 10>(to);
    case ElementType::kBfloat16:
      if (to == ElementType::kFloat8e8m0) return &Run16<LoadBits16, Encode16Bfloat16E8m0>;
      return ToTiny16<LoadBits16, 7>(to);
    case ElementType::kInt16:
      run = SaturatedToTiny<true, 2>(to);
      return run != nullptr ? run : Integer16ToTiny<true>(to);
    case ElementType::kUint16:
      run = SaturatedToTiny<false, 2>(to);
      return run != nullptr ? run : Integer16ToTiny<false>(to);
    case ElementType::kInt32:
      return to == ElementType::kFloat8e8m0 ? &RunIntegerE8m0<true, 4>
                                            : SaturatedToTiny<true, 4>(to);
    case ElementType::kUint32:
      return to == ElementType::kFloat8e8m0 ? &RunIntegerE8m0<false, 4>
                                            : SaturatedToTiny<false, 4>(to);
    case ElementType::kInt64:
      return to == ElementType::kFloat8e8m0 ? &RunIntegerE8m0<true, 8>
                                            : SaturatedToTiny<true, 8>(to);
    case ElementType::kUint64:
      return to == ElementType::kFloat8e8m0 ? &RunIntegerE8m0<false, 8>
                                            : SaturatedToTiny<false, 8>(to);
    case ElementType::kDouble: return to == ElementType::kFloat8e8m0 ? &RunDoubleE8m0 : nullptr;
    default: return nullptr;
  }
}

#else
KernelFn FindDirect(ElementType, ElementType) { return nullptr; }
#endif

// --- 64 bit destinations
// -----------------------------------------------------------------------------

template <bool kSigned>
struct Extend16 {
  static constexpr int kSize = 2;
  static HWY_INLINE V64 Load(const uint8_t* p) {
    const auto narrow = LoadBytes(Q16(), p);
    if constexpr (kSigned) {
      const hn::Rebind<int16_t, DI64> quarter;
      const hn::Rebind<int32_t, DI64> half;
      return Bits64(hn::PromoteTo(DI64(), hn::PromoteTo(half, hn::BitCast(quarter, narrow))));
    } else {
      return hn::PromoteTo(D64(), hn::PromoteTo(H32(), narrow));
    }
  }
};
template <bool kSigned>
struct Extend32 {
  static constexpr int kSize = 4;
  static HWY_INLINE V64 Load(const uint8_t* p) {
    const auto narrow = LoadBytes(H32(), p);
    if constexpr (kSigned) {
      const hn::Rebind<int32_t, DI64> half;
      return Bits64(hn::PromoteTo(DI64(), hn::BitCast(half, narrow)));
    } else {
      return hn::PromoteTo(D64(), narrow);
    }
  }
};
struct Load64 {
  static constexpr int kSize = 8;
  static HWY_INLINE V64 Load(const uint8_t* p) { return LoadBytes(D64(), p); }
};
HWY_INLINE V64 DoubleFromFloat(hn::Vec<H32> bits) {
  const hn::RebindToFloat<H32> half;
  return Bits64(hn::PromoteTo(DF64(), hn::BitCast(half, bits)));
}
struct LoadFloatAsDouble {
  static constexpr int kSize = 4;
  static HWY_INLINE V64 Load(const uint8_t* p) { return DoubleFromFloat(LoadBytes(H32(), p)); }
};
struct LoadBfloat16AsDouble {
  static constexpr int kSize = 2;
  static HWY_INLINE V64 Load(const uint8_t* p) {
    return DoubleFromFloat(hn::ShiftLeft<16>(hn::PromoteTo(H32(), LoadBytes(Q16(), p))));
  }
};
struct LoadFloat16AsDouble {
  static constexpr int kSize = 2;
  static HWY_INLINE V64 Load(const uint8_t* p) {
#if ONNX_RUN_AVX3
    return DoubleFromFloat(
        hn::Vec<H32>{_mm256_castps_si256(_mm256_cvtph_ps(LoadBytes(Q16(), p).raw))});
#elif ONNX_RUN_AVX2
    return DoubleFromFloat(hn::Vec<H32>{_mm_castps_si128(_mm_cvtph_ps(LoadBytes(Q16(), p).raw))});
#else
    // To DOUBLE as LoadFloat16 does to FLOAT.
    const V64 half = hn::PromoteTo(D64(), hn::PromoteTo(H32(), LoadBytes(Q16(), p)));
    const V64 magnitude = hn::ShiftLeft<42>(hn::And(half, U64(0x7FFF)));
    const V64 sign = hn::ShiftLeft<48>(hn::And(half, U64(0x8000)));
    const V64 infinity = U64(uint64_t{0x7C00} << 42);
    V64 bits = Bits64(hn::Mul(AsF64(magnitude), hn::Set(DF64(), 0x1p1008)));
    bits = hn::IfThenElse(hn::Not(hn::Gt(infinity, magnitude)),
                          hn::Or(magnitude, U64(0x7FF0000000000000)), bits);
    bits = hn::IfThenElse(hn::Gt(magnitude, infinity), hn::Or(bits, U64(0x0008000000000000)), bits);
    return hn::Or(bits, sign);
#endif
  }
};

struct Store64 {
  static HWY_INLINE V64 Apply(V64 v) { return v; }
};
struct ToInteger64 {
  static HWY_INLINE V64 Apply(V64 v) { return IntegerFromDouble(v); }
};
template <bool kSigned>
struct ToDouble {
  static HWY_INLINE V64 Apply(V64 v) {
    if constexpr (kSigned) return Bits64(DoubleFromI64(v));
    return Bits64(DoubleFromU64(v));
  }
};

template <class Loader, class Encoder>
void Run64(const uint8_t* from, uint8_t* to, size_t steps, const KernelArgs&) {
  for (size_t groups = steps * (kStep / (2 * kLanes64)); groups != 0; --groups) {
    const V64 a = Encoder::Apply(Loader::Load(from));
    const V64 b = Encoder::Apply(Loader::Load(from + kLanes64 * Loader::kSize));
    StoreBytes(D64(), a, to);
    StoreBytes(D64(), b, to + 8 * kLanes64);
    from += 2 * kLanes64 * Loader::kSize;
    to += 16 * kLanes64;
  }
}

// --- Which kernel
// ------------------------------------------------------------------------------------

// From FLOAT bits, rounded to odd; Tiny will do for destinations of a small range.
template <class Loader, class Tiny>
KernelFn ToSmallFloat(ElementType to) {
  switch (to) {
    case ElementType::kFloat16: return &Run32<Tiny, EncodeFloat16>;
    case ElementType::kBfloat16: return &Run32<Loader, EncodeBfloat16>;
    case ElementType::kFloat8e4m3fn: return &Run32<Tiny, EncodeFloat8<3, false> >;
    case ElementType::kFloat8e4m3fnuz: return &Run32<Tiny, EncodeFloat8<3, true> >;
    case ElementType::kFloat8e5m2: return &Run32<Tiny, EncodeFloat8<2, false> >;
    case ElementType::kFloat8e5m2fnuz: return &Run32<Tiny, EncodeFloat8<2, true> >;
    case ElementType::kFloat8e8m0: return &Run32<Loader, EncodeE8m0>;
    case ElementType::kFloat4e2m1: return &Run32<Tiny, EncodeFloat4>;
    case ElementType::kBool: return &Run32<Loader, EncodeBool>;
    default: return nullptr;
  }
}

// From exact FLOAT bits; wider integers through Loader64.
template <class Loader, class Loader64, bool kShort>
KernelFn FromFloat(ElementType to) {
  if (to == ElementType::kFloat) return &Run32<Loader, EncodeQuietFloat>;
  if (to == ElementType::kDouble) return &Run64<Loader64, Store64>;
  if (IsInteger(to)) {
    switch (BitsOf(to)) {
      case 2: return &Run32<Loader, EncodeInteger<2, kShort> >;
      case 4: return &Run32<Loader, EncodeInteger<4, kShort> >;
      case 8: return &Run32<Loader, EncodeInteger<8, kShort> >;
      case 16: return &Run32<Loader, EncodeInteger<16, kShort> >;
      case 32: return &Run32<Loader, EncodeInteger<32, kShort> >;
      default: return &Run64<Loader64, ToInteger64>;
    }
  }
  return ToSmallFloat<Loader, Loader>(to);
}

KernelFn FromDouble(ElementType to) {
  if (to == ElementType::kFloat) return &Run32<LoadDoubleAsNearestFloat, EncodeFloat>;
  if (IsInteger(to)) {
    switch (BitsOf(to)) {
      case 2: return &Run32<LoadDoubleAsInteger<true, true>, EncodeLow<2> >;
      case 4: return &Run32<LoadDoubleAsInteger<true, true>, EncodeLow<4> >;
      case 8: return &Run32<LoadDoubleAsInteger<false, true>, EncodeLow<8> >;
      case 16: return &Run32<LoadDoubleAsInteger<false, false>, EncodeLow<16> >;
      case 32: return &Run32<LoadDoubleAsInteger<false, false>, EncodeLow<32> >;
      default: return &Run64<Load64, ToInteger64>;
    }
  }
  return ToSmallFloat<LoadDoubleAsFloat, LoadDoubleForTiny>(to);
}

// Integers of the same width are bytes to copy; the caller does that.
template <int kSourceBytes>
KernelFn Truncate(ElementType to) {
  switch (BitsOf(to)) {
    case 2: return &Run32<LoadLow32<kSourceBytes>, EncodeLow<2> >;
    case 4: return &Run32<LoadLow32<kSourceBytes>, EncodeLow<4> >;
    case 8: return &Run32<LoadLow32<kSourceBytes>, EncodeLow<8> >;
    case 16: return &Run32<LoadLow32<kSourceBytes>, EncodeLow<16> >;
    default: return &Run32<LoadLow32<kSourceBytes>, EncodeLow<32> >;
  }
}
template <class Odd, class Tiny, class Nearest, class Extend, bool kSigned, int kSourceBytes>
KernelFn FromInteger(ElementType to) {
  if (to == ElementType::kFloat) return &Run32<Nearest, EncodeFloat>;
  if (to == ElementType::kDouble) return &Run64<Extend, ToDouble<kSigned> >;
  if (IsInteger(to)) {
    if (BitsOf(to) == 64) return &Run64<Extend, Store64>;
    if (BitsOf(to) == 32 && kSourceBytes == 2 && kSigned) return &Run32<LoadInt16, EncodeLow<32> >;
    return Truncate<kSourceBytes>(to);
  }
  return ToSmallFloat<Odd, Tiny>(to);
}

KernelFn Find(ElementType from, ElementType to) {
  switch (from) {
    case ElementType::kFloat16: return FromFloat<LoadFloat16, LoadFloat16AsDouble, true>(to);
    case ElementType::kBfloat16: return FromFloat<LoadBfloat16, LoadBfloat16AsDouble, true>(to);
    case ElementType::kFloat: return FromFloat<LoadFloat, LoadFloatAsDouble, false>(to);
    case ElementType::kDouble: return FromDouble(to);
    case ElementType::kInt16:
      return FromInteger<LoadInt16AsFloat, LoadInt16AsFloat, LoadInt16AsFloat, Extend16<true>, true,
                         2>(to);
    case ElementType::kUint16:
      return FromInteger<LoadUint16AsFloat, LoadUint16AsFloat, LoadUint16AsFloat, Extend16<false>,
                         false, 2>(to);
    case ElementType::kInt32:
      return FromInteger<LoadInt32AsFloat, LoadInt32AsNearestFloat, LoadInt32AsNearestFloat,
                         Extend32<true>, true, 4>(to);
    case ElementType::kUint32:
      return FromInteger<LoadUint32AsFloat, LoadUint32AsNearestFloat, LoadUint32AsNearestFloat,
                         Extend32<false>, false, 4>(to);
    case ElementType::kInt64:
      return FromInteger<Load64AsFloat<true, true>, Load64ForTiny<true>, Load64AsFloat<true, false>,
                         Load64, true, 8>(to);
    case ElementType::kUint64:
      return FromInteger<Load64AsFloat<false, true>, Load64ForTiny<false>,
                         Load64AsFloat<false, false>, Load64, false, 8>(to);
    default: return nullptr;
  }
}

Kernel FindArithmetic(ElementType from, ElementType to) {
  if (KindOf(to) == ElementKind::kComplex || KindOf(to) == ElementKind::kString) return {};
  KernelFn run = FindDirect(from, to);
  if (run == nullptr) run = Find(from, to);
  return run == nullptr ? Kernel{} : Kernel{run, static_cast<int>(kStep)};
}

#endif  // has kernels

}  // namespace HWY_NAMESPACE
}  // namespace onnx_run::convert_internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace onnx_run::convert_internal {

HWY_EXPORT(FindArithmetic);

Kernel FindArithmeticKernel(ElementType from, ElementType to) {
  return HWY_DYNAMIC_DISPATCH(FindArithmetic)(from, to);
}

}  // namespace onnx_run::convert_internal
#endif  // HWY_ONCE
