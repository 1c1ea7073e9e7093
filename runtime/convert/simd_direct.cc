// Conversions of some pairs in fewer instructions than a loader and an encoder take (simd.cc): with
// AVX-512, 16 bit floats in lanes of 16 bits, integers to small floats, and others.

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX2)
#define HWY_WANT_AVX3_DL 1
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/convert/simd_direct.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "runtime/convert/kernels.h"
#include "runtime/convert/simd_encoders-inl.h"
#include "runtime/convert/simd_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace onnx_run::convert_internal {
namespace HWY_NAMESPACE {

#if !HWY_ARCH_X86 || HWY_TARGET > HWY_AVX3
KernelFn FindDirect(ElementType, ElementType) { return nullptr; }
#else

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

// v / 2^kBits, ties to even.
template <int kBits>
HWY_INLINE __m512i RoundShift16(__m512i v) {
  const __mmask32 odd = _mm512_test_epi16_mask(v, U16(1U << kBits));
  const __m512i sum = _mm512_add_epi16(v, U16((1U << (kBits - 1)) - 1));
  return _mm512_srli_epi16(_mm512_mask_add_epi16(sum, odd, sum, U16(1)), kBits);
}
template <int kBits>
HWY_INLINE __m512i RoundShift32(__m512i v) {
  const __mmask16 odd = _mm512_test_epi32_mask(v, _mm512_set1_epi32(1 << kBits));
  const __m512i sum = _mm512_add_epi32(v, _mm512_set1_epi32((1 << (kBits - 1)) - 1));
  return _mm512_srli_epi32(_mm512_mask_add_epi32(sum, odd, sum, _mm512_set1_epi32(1)), kBits);
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
    return _mm512_add_epi16(RoundShift16<kFraction>(aligned),
                            _mm512_slli_epi16(steps_above, kMantissa));
  }
};
// FLOAT16 and the float8 of 5 exponent bits have their subnormals at the same place; FNUZ is one
// step off.
template <bool kFnuz>
HWY_INLINE __m512i Float8e5m2Magnitude(__m512i magnitude) {
  // Twice the value: of a subnormal twice the bits, else one more in the exponent.
  if (kFnuz) magnitude = _mm512_add_epi16(magnitude, _mm512_min_epu16(magnitude, U16(0x0400)));
  return RoundShift16<8>(magnitude);
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
// anything is lost, tell all its values and ties apart. The last place is NaN's.
constexpr int kFloat4Places = 64;
template <class Code>
void FillFloat4Codes(Code (&codes)[kFloat4Places]) {
  for (int i = 0; i < kFloat4Places - 1; ++i) {
    // 1.m * 2^e in eighths of 2^-2; half of the least value is 8 of them
    const int value = (8 + i % 8) << (i / 8);
    codes[i] = static_cast<Code>(value <= 8     ? 0
                                 : value < 24   ? 1
                                 : value <= 40  ? 2
                                 : value < 56   ? 3
                                 : value <= 80  ? 4
                                 : value < 112  ? 5
                                 : value <= 160 ? 6
                                                : 7);
  }
  // With the sign taken by exclusive or: kFloat4PositiveNanCode, kFloat4NegativeNanCode.
  codes[kFloat4Places - 1] = 8;
}
template <int kSource>
HWY_INLINE __m512i Float4Place(__m512i v) {
  constexpr int kDrop = kSource - 3;
  constexpr uint32_t kFirst = ((kSource == 7 ? 127U : 15U) - 2) << 3;
  const __m512i magnitude = _mm512_and_si512(v, U16(0x7FFF));
  const __mmask32 nan = _mm512_cmpgt_epi16_mask(magnitude, U16(kSource == 7 ? 0x7F80 : 0x7C00));
  const __m512i low = U16((1U << kDrop) - 1);
  const __m512i odd =
      _mm512_or_si512(magnitude, _mm512_add_epi16(_mm512_and_si512(magnitude, low), low));
  const __m512i place = _mm512_min_epu16(
      _mm512_subs_epu16(_mm512_srli_epi16(odd, kDrop), U16(kFirst)), U16(kFloat4Places - 2));
  return _mm512_mask_mov_epi16(place, nan, U16(kFloat4Places - 1));
}
#if HWY_TARGET <= HWY_AVX3_DL
template <int kSource>
void RunFloat4(const uint8_t* from, uint8_t* to, size_t steps, const KernelArgs&) {
  alignas(64) uint8_t codes[kFloat4Places];
  FillFloat4Codes(codes);
  const __m512i table = _mm512_load_si512(codes);
  const __m512i order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
  for (; steps != 0; --steps, from += 128, to += 32) {
    PrefetchAhead<128, 32>(from, to);
    const __m512i a = _mm512_loadu_si512(from);
    const __m512i b = _mm512_loadu_si512(from + 64);
    const __m512i places = _mm512_packus_epi16(Float4Place<kSource>(a), Float4Place<kSource>(b));
    const __m512i code = _mm512_permutexvar_epi8(places, table);
    const __m512i sign = _mm512_srli_epi16(_mm512_packs_epi16(a, b), 4);  // saturation leaves it
    const __m512i result =
        _mm512_ternarylogic_epi32(code, sign, _mm512_set1_epi8(0x8), 0x78);  // a ^ (b & c)
    StoreByteCodes<4>(V8{_mm512_permutexvar_epi64(order, result)}, to);
  }
}
#else
template <int kSource>
struct Encode16Float4 {
  static constexpr int kBits = 4;
  __m512i table0, table1;
  explicit HWY_INLINE Encode16Float4(const KernelArgs&) {
    alignas(64) uint16_t codes[kFloat4Places];
    FillFloat4Codes(codes);
    table0 = _mm512_load_si512(codes);
    table1 = _mm512_load_si512(codes + 32);
  }
  HWY_INLINE __m512i operator()(__m512i v) const {
    const __m512i code = _mm512_permutex2var_epi16(table0, Float4Place<kSource>(v), table1);
    return _mm512_ternarylogic_epi32(code, _mm512_srli_epi16(v, 12), U16(0x8), 0x78);
  }
};
#endif
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
    PrefetchAhead<128, 8 * Encoder::kBits>(from, to);
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
#if HWY_TARGET <= HWY_AVX3_DL
    case ElementType::kFloat4e2m1: return &RunFloat4<kSource>;
#else
    case ElementType::kFloat4e2m1: return &Run16<Loader, Encode16Float4<kSource> >;
#endif
    default: return nullptr;
  }
}
// 16 bit integers have no subnormals in any float8: the magnitude becomes FLOAT, exactly, whose
// bits are rounded where the destination's mantissa ends.
template <int kMantissa, bool kFnuz, bool kSigned>
struct EncodeIntegerFloat8 {
  static constexpr int kBits = kMantissa == 1 ? 4 : 8;
  static constexpr int kDrop = 23 - kMantissa;
  static constexpr uint32_t kMagnitude = (1U << (kBits - 1)) - 1;
  const __m512i rebias, greatest;
  explicit HWY_INLINE EncodeIntegerFloat8(const KernelArgs& args)
      : rebias(U16(args.code_bias - (1U << kMantissa))),
        greatest(U16((args.max_bits >> kDrop) - args.code_bias + (1U << kMantissa) +
                     (kFnuz && args.special_above != 0x7F800000 ? 1 : 0))) {}
  HWY_INLINE __m512i Round(__m512i bits) const { return RoundShift32<kDrop>(bits); }
  HWY_INLINE __m512i Finish(__m512i rounded, __m512i v, __m512i) const {
    __m512i code = _mm512_subs_epu16(rounded, rebias);
    // No INT16 is beyond the greatest value of two mantissa bits.
    if constexpr (kSigned && kMantissa == 2) return WithSign(code, v);
    code = _mm512_min_epu16(code, greatest);
    // One above the greatest is NaN, without sign: its code, where there is no other sign.
    if constexpr (!kSigned) return code;
    const __m512i result = WithSign(code, v);
    if constexpr (!kFnuz) return result;
    return _mm512_mask_mov_epi16(result, _mm512_cmpgt_epi16_mask(code, U16(kMagnitude)), U16(0x80));
  }
  static HWY_INLINE __m512i WithSign(__m512i code, __m512i v) {
    return _mm512_ternarylogic_epi32(U16(kMagnitude), code, _mm512_srli_epi16(v, 16 - kBits), 0xCA);
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
    PrefetchAhead<128, 8 * Encoder::kBits>(from, to);
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
    case ElementType::kFloat8e4m3fn:
      return &RunInteger16<kSigned, EncodeIntegerFloat8<3, false, kSigned> >;
    case ElementType::kFloat8e4m3fnuz:
      return &RunInteger16<kSigned, EncodeIntegerFloat8<3, true, kSigned> >;
    case ElementType::kFloat8e5m2:
      return &RunInteger16<kSigned, EncodeIntegerFloat8<2, false, kSigned> >;
    case ElementType::kFloat8e5m2fnuz:
      return &RunInteger16<kSigned, EncodeIntegerFloat8<2, true, kSigned> >;
    case ElementType::kFloat8e8m0: return &RunInteger16<kSigned, EncodeIntegerE8m0>;
    case ElementType::kFloat4e2m1:
      return &RunInteger16<kSigned, EncodeIntegerFloat8<1, false, kSigned> >;
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
    PrefetchAhead<2 * Loader::kStride, 8 * kBits>(from, to);
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
    PrefetchAhead<64 * kSourceBytes, 64>(from, to);
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
    PrefetchAhead<512, 64>(from, to);
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

#endif  // AVX-512

}  // namespace HWY_NAMESPACE
}  // namespace onnx_run::convert_internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace onnx_run::convert_internal {

HWY_EXPORT(FindDirect);

KernelFn FindDirectKernel(ElementType from, ElementType to) {
  return HWY_DYNAMIC_DISPATCH(FindDirect)(from, to);
}

}  // namespace onnx_run::convert_internal
#endif  // HWY_ONCE
