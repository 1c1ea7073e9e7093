// Encoders: FLOAT bits, or integers, in lanes to the destination's codes. See simd.cc.

#if defined(ONNX_RUN_RUNTIME_CONVERT_SIMD_ENCODERS_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef ONNX_RUN_RUNTIME_CONVERT_SIMD_ENCODERS_INL_H_
#undef ONNX_RUN_RUNTIME_CONVERT_SIMD_ENCODERS_INL_H_
#else
#define ONNX_RUN_RUNTIME_CONVERT_SIMD_ENCODERS_INL_H_
#endif

#include "runtime/convert/simd_lanes-inl.h"
#include "runtime/convert/simd_loaders-inl.h"

HWY_BEFORE_NAMESPACE();
namespace onnx_run::convert_internal {
namespace HWY_NAMESPACE {
#if ONNX_RUN_CONVERT_VECTORS

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

// --- Encoders of 64 bit lanes

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

#endif  // ONNX_RUN_CONVERT_VECTORS
}  // namespace HWY_NAMESPACE
}  // namespace onnx_run::convert_internal
HWY_AFTER_NAMESPACE();

#endif  // once per target
