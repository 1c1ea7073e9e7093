// Loaders: source elements to FLOAT bits, or to low bits of integers, in lanes of 32 bits; and to
// lanes of 64 bits for destinations of that width. See simd.cc.

#if defined(ONNX_RUN_RUNTIME_CONVERT_SIMD_LOADERS_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef ONNX_RUN_RUNTIME_CONVERT_SIMD_LOADERS_INL_H_
#undef ONNX_RUN_RUNTIME_CONVERT_SIMD_LOADERS_INL_H_
#else
#define ONNX_RUN_RUNTIME_CONVERT_SIMD_LOADERS_INL_H_
#endif

#include "runtime/convert/simd_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace onnx_run::convert_internal {
namespace HWY_NAMESPACE {
#if ONNX_RUN_CONVERT_VECTORS

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
HWY_INLINE V64 IntegerFromAnyDouble(V64 bits) {
  const V64 significand = hn::Or(hn::And(bits, U64(0x000FFFFFFFFFFFFF)), U64(0x0010000000000000));
  const V64 exponent = hn::And(hn::ShiftRight<52>(bits), U64(0x7FF));
  const V64 left = ShiftLeftAny(significand, hn::Sub(exponent, U64(1075)));
  const V64 right = ShiftRightAny(significand, hn::Sub(U64(1075), exponent));
  // Both are the significand when the exponent is 1075, else at least one is 0.
  const V64 magnitude = hn::Or(left, right);
  const V64 sign = Bits64(hn::BroadcastSignBit(hn::BitCast(DI64(), bits)));
  return hn::Sub(hn::Xor(magnitude, sign), sign);
}
HWY_INLINE V64 IntegerFromDouble(V64 bits) {
#if ONNX_RUN_AVX3
  // The unit converts what is below 2^63; greater numbers are rare.
  const __m512d v = AsF64(bits).raw;
  const __mmask8 fits = _mm512_cmp_pd_mask(_mm512_abs_pd(v), _mm512_set1_pd(0x1p63), _CMP_LT_OQ);
  if (HWY_UNLIKELY(fits != 0xFF)) return IntegerFromAnyDouble(bits);
  return V64{_mm512_cvttpd_epi64(v)};
#else
  return IntegerFromAnyDouble(bits);
#endif
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

// --- Loaders of 64 bit lanes, for destinations of 64 bits

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

#endif  // ONNX_RUN_CONVERT_VECTORS
}  // namespace HWY_NAMESPACE
}  // namespace onnx_run::convert_internal
HWY_AFTER_NAMESPACE();

#endif  // once per target
