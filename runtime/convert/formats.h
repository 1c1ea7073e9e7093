// One codec for every number format of the ONNX standard.
//
//   code --DecodeNumber--> ExactNumber --EncodeNumber--> code
//
// Decoding is exact and encoding rounds once, so that a conversion between any two types has one
// rounding. Everything is integer arithmetic, constexpr, driven by the rows of kElementTypeTable:
// no result depends on the state of a floating-point unit, and no format has code of its own beyond
// what its FloatStyle (infinities, NaNs, zero) demands. Source of the rules:
// docs/cast-semantics.md, section 3.
#ifndef ONNX_RUN_RUNTIME_CONVERT_FORMATS_H_
#define ONNX_RUN_RUNTIME_CONVERT_FORMATS_H_

#include <bit>
#include <cstdint>

#include "runtime/convert/convert.h"
#include "runtime/element_type.h"

namespace onnx_run::convert_internal {

enum class NumberClass : uint8_t { kZero, kFinite, kInfinity, kNan };

// (-1)^negative * significand * 2^(exponent - 63) when finite: bit 63 of the significand is set and
// `exponent` is that of the leading bit.
struct ExactNumber {
  NumberClass number_class = NumberClass::kZero;
  bool negative = false;
  // The magnitude is greater than the above, by less than one unit of the significand's last place.
  // Only text has more digits than a significand holds.
  bool inexact = false;
  int32_t exponent = 0;
  // Of a NaN: the mantissa field from bit 63 down, so that bit 63 is the quiet bit.
  uint64_t significand = 0;
};

// NaN to FLOAT4E2M1, that has none (decision C2): the code of the standard's test data, whose sign
// is the reverse of the NaN's.
inline constexpr uint64_t kFloat4PositiveNanCode = 0x8;
inline constexpr uint64_t kFloat4NegativeNanCode = 0x0;

// FLOAT to a 4 or 2 bit integer (decision C3): to nearest, ties to even, as the standard's pages on
// int4 and int2 say; to wider integers toward zero.
constexpr bool RoundsToNearestInteger(const ElementTypeInfo& info) { return info.bits < 8; }

constexpr uint64_t LowMask(int bits) {
  return bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
}

constexpr bool HasSignBit(const ElementTypeInfo& info) {
  return info.layout.style != FloatStyle::kE8m0;
}

// The bits of a float code below the sign.
constexpr uint64_t MagnitudeMask(const ElementTypeInfo& info) {
  return LowMask(info.bits - (HasSignBit(info) ? 1 : 0));
}

constexpr uint64_t SignCode(const ElementTypeInfo& info, bool negative) {
  return negative && HasSignBit(info) ? uint64_t{1} << (info.bits - 1) : 0;
}

// Code of positive infinity in kIeee: an all-ones exponent.
constexpr uint64_t InfinityCode(const ElementTypeInfo& info) {
  return LowMask(info.layout.exponent_bits) << info.layout.mantissa_bits;
}

// Code of the greatest finite value.
constexpr uint64_t MaxFiniteCode(const ElementTypeInfo& info) {
  switch (info.layout.style) {
    case FloatStyle::kIeee: return InfinityCode(info) - 1;
    case FloatStyle::kFn:
    case FloatStyle::kE8m0: return MagnitudeMask(info) - 1;
    case FloatStyle::kFnuz:
    case FloatStyle::kFinite:
    case FloatStyle::kNotFloat: break;
  }
  return MagnitudeMask(info);
}

constexpr ExactNumber MakeFinite(bool negative, uint64_t significand, int exponent_of_bit_63) {
  if (significand == 0) return {.number_class = NumberClass::kZero, .negative = negative};
  const int shift = std::countl_zero(significand);
  return {.number_class = NumberClass::kFinite,
          .negative = negative,
          .exponent = exponent_of_bit_63 - shift,
          .significand = significand << shift};
}

constexpr ExactNumber DecodeInteger(const ElementTypeInfo& info, uint64_t code) {
  code &= LowMask(info.bits);
  if (info.kind == ElementKind::kBool) return MakeFinite(false, code != 0 ? 1 : 0, 63);
  const bool negative = info.kind == ElementKind::kSigned && (code >> (info.bits - 1)) != 0;
  return MakeFinite(negative, negative ? (~code & LowMask(info.bits)) + 1 : code, 63);
}

constexpr ExactNumber DecodeFloat(const ElementTypeInfo& info, uint64_t code) {
  const FloatLayout& layout = info.layout;
  const bool negative = HasSignBit(info) && (code >> (info.bits - 1) & 1) != 0;
  const uint64_t magnitude = code & MagnitudeMask(info);
  const ExactNumber nan = {.number_class = NumberClass::kNan, .negative = negative};
  switch (layout.style) {
    case FloatStyle::kIeee:
      if (magnitude == InfinityCode(info)) {
        return {.number_class = NumberClass::kInfinity, .negative = negative};
      }
      if (magnitude > InfinityCode(info)) {
        ExactNumber with_payload = nan;
        with_payload.significand = magnitude << (64 - layout.mantissa_bits);
        return with_payload;
      }
      break;
    case FloatStyle::kFn:
      if (magnitude == MagnitudeMask(info)) return nan;
      break;
    case FloatStyle::kFnuz:
      if (negative && magnitude == 0) return nan;
      break;
    case FloatStyle::kE8m0:
      if (magnitude == MagnitudeMask(info)) return nan;
      return MakeFinite(false, 1, 63 + static_cast<int>(magnitude) - layout.bias);
    case FloatStyle::kFinite:
    case FloatStyle::kNotFloat: break;
  }
  const uint64_t fraction = magnitude & LowMask(layout.mantissa_bits);
  const int biased = static_cast<int>(magnitude >> layout.mantissa_bits);
  const int exponent = (biased == 0 ? 1 : biased) - layout.bias;
  const uint64_t significand =
      biased == 0 ? fraction : fraction | uint64_t{1} << layout.mantissa_bits;
  return MakeFinite(negative, significand, exponent + 63 - layout.mantissa_bits);
}

constexpr ExactNumber DecodeNumber(const ElementTypeInfo& info, uint64_t code) {
  return info.kind == ElementKind::kFloat ? DecodeFloat(info, code) : DecodeInteger(info, code);
}

// |number| * 2^-lsb_exponent as an integer modulo 2^64, rounded to nearest, ties to even, or toward
// zero. `number` is finite.
constexpr uint64_t RoundMagnitude(const ExactNumber& number, int lsb_exponent, bool to_nearest) {
  const int drop =
      lsb_exponent + 63 - number.exponent;  // low bits of the significand to round away
  if (drop <= 0) return drop <= -64 ? 0 : number.significand << -drop;
  if (drop > 64) return 0;
  const uint64_t kept = drop == 64 ? 0 : number.significand >> drop;
  if (!to_nearest) return kept;
  const uint64_t half = uint64_t{1} << (drop - 1);
  const uint64_t rest = drop == 64 ? number.significand : number.significand & LowMask(drop);
  const bool up = rest > half || (rest == half && (number.inexact || (kept & 1) != 0));
  return kept + (up ? 1 : 0);
}

constexpr uint64_t EncodeInteger(const ElementTypeInfo& info, const ExactNumber& number) {
  if (info.kind == ElementKind::kBool) return number.number_class != NumberClass::kZero ? 1 : 0;
  if (number.number_class != NumberClass::kFinite) return 0;
  const uint64_t magnitude = RoundMagnitude(number, 0, RoundsToNearestInteger(info));
  return (number.negative ? 0 - magnitude : magnitude) & LowMask(info.bits);
}

// FLOAT8E8M0, section 3.6: no zero, no sign; rounds by round_mode.
constexpr uint64_t EncodeE8m0(const ElementTypeInfo& info, const ExactNumber& number,
                              const ConvertOptions& options) {
  const uint64_t nan = MagnitudeMask(info);
  const uint64_t too_small = options.saturate ? 0 : nan;
  const uint64_t too_large = options.saturate ? MaxFiniteCode(info) : nan;
  switch (number.number_class) {
    case NumberClass::kNan: return nan;
    case NumberClass::kZero: return too_small;
    case NumberClass::kInfinity: return number.negative ? nan : too_large;
    case NumberClass::kFinite: break;
  }
  if (number.negative) return nan;
  int exponent = number.exponent;
  if (exponent < -info.layout.bias) return too_small;
  switch (options.round_mode) {
    case RoundMode::kUp: {
      const bool fraction = (number.significand << 1) != 0 || number.inexact;
      exponent += fraction ? 1 : 0;
      break;
    }
    case RoundMode::kNearest: exponent += static_cast<int>(number.significand >> 62 & 1); break;
    case RoundMode::kDown: break;
  }
  const int64_t code = int64_t{exponent} + info.layout.bias;
  return code > static_cast<int64_t>(MaxFiniteCode(info)) ? too_large : static_cast<uint64_t>(code);
}

constexpr uint64_t NanCode(const ElementTypeInfo& info, const ExactNumber& nan) {
  const FloatLayout& layout = info.layout;
  const uint64_t sign = SignCode(info, nan.negative);
  switch (layout.style) {
    case FloatStyle::kIeee: {
      // Section 3.1: the sign, the quiet bit and the top bits of the payload; a float8 has one NaN.
      const uint64_t payload = info.bits > 8 ? nan.significand >> (64 - layout.mantissa_bits) : 0;
      return sign | InfinityCode(info) | uint64_t{1} << (layout.mantissa_bits - 1) | payload;
    }
    case FloatStyle::kFnuz: return SignCode(info, true);
    case FloatStyle::kFinite: return nan.negative ? kFloat4NegativeNanCode : kFloat4PositiveNanCode;
    case FloatStyle::kFn:
    case FloatStyle::kE8m0:
    case FloatStyle::kNotFloat: break;
  }
  return sign | MagnitudeMask(info);
}

constexpr uint64_t OverflowCode(const ElementTypeInfo& info, bool negative,
                                const ConvertOptions& options) {
  const uint64_t sign = SignCode(info, negative);
  const bool saturate =
      info.layout.style == FloatStyle::kFinite || (info.bits == 8 && options.saturate);
  if (saturate) return sign | MaxFiniteCode(info);
  if (info.layout.style == FloatStyle::kIeee) return sign | InfinityCode(info);
  return NanCode(info, {.number_class = NumberClass::kNan, .negative = negative});
}

constexpr uint64_t EncodeFloat(const ElementTypeInfo& info, const ExactNumber& number,
                               const ConvertOptions& options) {
  const FloatLayout& layout = info.layout;
  if (layout.style == FloatStyle::kE8m0) return EncodeE8m0(info, number, options);
  uint64_t magnitude = 0;
  switch (number.number_class) {
    case NumberClass::kNan: return NanCode(info, number);
    case NumberClass::kInfinity: return OverflowCode(info, number.negative, options);
    case NumberClass::kZero: break;
    case NumberClass::kFinite: {
      const int min_exponent = 1 - layout.bias;
      // Room for one rounding up above any finite exponent of the format.
      if (number.exponent - min_exponent > (1 << layout.exponent_bits)) {
        return OverflowCode(info, number.negative, options);
      }
      const int steps = number.exponent > min_exponent ? number.exponent - min_exponent : 0;
      // The leading bit of a normal number adds one to the exponent field; so does a carry.
      magnitude = RoundMagnitude(number, min_exponent + steps - layout.mantissa_bits, true) +
                  (static_cast<uint64_t>(steps) << layout.mantissa_bits);
      if (magnitude > MaxFiniteCode(info)) return OverflowCode(info, number.negative, options);
      break;
    }
  }
  if (magnitude == 0 && layout.style == FloatStyle::kFnuz) return 0;  // no -0
  return SignCode(info, number.negative) | magnitude;
}

constexpr uint64_t EncodeNumber(const ElementTypeInfo& info, const ExactNumber& number,
                                const ConvertOptions& options) {
  return info.kind == ElementKind::kFloat ? EncodeFloat(info, number, options)
                                          : EncodeInteger(info, number);
}

}  // namespace onnx_run::convert_internal

#endif  // ONNX_RUN_RUNTIME_CONVERT_FORMATS_H_
