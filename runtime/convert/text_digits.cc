// Decimal texts of many integers at once, in lanes of 64 bits. See text.h.

// Old x86 is served by the portable loop.
#define HWY_DISABLED_TARGETS (HWY_SSSE3)
#define HWY_WANT_AVX3_DL 1
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/convert/text_digits.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "runtime/convert/simd_lanes-inl.h"
#include "runtime/convert/simd_loaders-inl.h"
#include "runtime/convert/text.h"

HWY_BEFORE_NAMESPACE();
namespace onnx_run::convert_internal {
namespace HWY_NAMESPACE {

#if !ONNX_RUN_CONVERT_VECTORS
DigitTextsFn FindDigitTexts(int, bool) { return nullptr; }
LongDigitTextsFn FindLongDigitTexts() { return nullptr; }
#else

// Of lanes below 2^32: times a number of 32 bits.
HWY_INLINE V64 Times(V64 v, uint32_t factor) {
  return hn::MulEven(hn::BitCast(D32(), v), U32(factor));
}

// The eight digits of lanes below 10^8, as numbers, the first in the lowest byte.
HWY_INLINE V64 SplitDigits(V64 v) {
  const V64 front = hn::ShiftRight<45>(Times(v, 3518437209));  // v / 10^4 of any 32 bits
  const V64 back = hn::Sub(v, Times(front, 10000));
  const V16 fours = hn::BitCast(D16(), hn::Or(front, hn::ShiftLeft<32>(back)));
  // Below 10^4: 5243 / 2^19 is near enough to 1 / 100.
  const V16 hundreds = hn::ShiftRight<3>(hn::MulHigh(fours, hn::Set(D16(), 5243)));
  const V16 rest = hn::Sub(fours, hn::Mul(hundreds, hn::Set(D16(), 100)));
  const V32 twos =
      hn::Or(hn::BitCast(D32(), hundreds), hn::ShiftLeft<16>(hn::BitCast(D32(), rest)));
  const V16 pairs = hn::BitCast(D16(), twos);
  // Below 100: so is 103 / 2^10 to 1 / 10.
  const V16 tens = hn::ShiftRight<10>(hn::Mul(pairs, hn::Set(D16(), 103)));
  const V16 ones = hn::Sub(pairs, hn::Mul(tens, hn::Set(D16(), 10)));
  return hn::BitCast(D64(), hn::Or(tens, hn::ShiftLeft<8>(ones)));
}

// Bits of the zeros in front of the last of eight digits.
HWY_INLINE V64 LeadingZeroBits(V64 digits) {
  const V64 some = hn::Or(digits, U64(uint64_t{1} << 56));
  const V64 below = hn::Sub(hn::And(some, hn::Sub(hn::Zero(D64()), some)), U64(1));
  return hn::AndNot(U64(7), hn::PopulationCount(below));
}

template <class Loader, bool kSigned>
void DigitTexts(const uint8_t* from, DigitTextBlock& block) {
  for (size_t i = 0; i < kDigitTexts; i += kLanes64, from += kLanes64 * Loader::kSize) {
    const V64 value = Loader::Load(from);
    const V64 negative = kSigned ? hn::ShiftRight<63>(value) : hn::Zero(D64());
    const V64 mask = hn::Sub(hn::Zero(D64()), negative);
    const V64 magnitude = hn::Sub(hn::Xor(value, mask), mask);
    V64 low;
    V64 high = hn::Zero(D64());
    V64 bits;  // of the text
    if constexpr (Loader::kSize == 2) {
      const V64 digits = SplitDigits(magnitude);
      const V64 zeros = LeadingZeroBits(digits);
      low = hn::Or(digits, U64(kZeros)) >> zeros;
      bits = hn::Sub(U64(64), zeros);
    } else {
      // Two digits and eight.
      const V64 front = hn::ShiftRight<57>(Times(magnitude, 1441151881));  // / 10^8
      const V64 digits = SplitDigits(hn::Sub(magnitude, Times(front, 100'000'000)));
      const V64 text = hn::Or(digits, U64(kZeros));
      const V64 tens = hn::ShiftRight<10>(Times(front, 103));
      const V64 ones = hn::Sub(front, Times(tens, 10));
      const V64 one_digit =
          hn::And(Bits64(hn::VecFromMask(D64(), hn::Eq(tens, hn::Zero(D64())))), U64(8));
      const V64 two = hn::Or(hn::Or(tens, hn::ShiftLeft<8>(ones)), U64(0x3030)) >> one_digit;
      const V64 two_bits = hn::Sub(U64(16), one_digit);
      const V64 zeros = LeadingZeroBits(digits);
      const auto short_one = hn::Eq(front, hn::Zero(D64()));
      low = hn::IfThenElse(short_one, text >> zeros, hn::Or(two, text << two_bits));
      high = hn::IfThenZeroElse(short_one, text >> hn::Sub(U64(64), two_bits));
      bits = hn::Sub(hn::IfThenElse(short_one, U64(64), hn::Add(two_bits, U64(64))),
                     hn::IfThenElseZero(short_one, zeros));
    }
    if constexpr (kSigned) {
      const V64 eight = hn::ShiftLeft<3>(negative);
      high = hn::Or(high << eight, hn::And(hn::ShiftRight<56>(low), mask));
      low = hn::Or(low << eight, hn::And(mask, U64('-')));
      bits = hn::Add(bits, eight);
    }
    hn::StoreU(low, D64(), block.low + i);
    hn::StoreU(high, D64(), block.high + i);
    hn::StoreU(hn::ShiftRight<3>(bits), D64(), block.length + i);
  }
}

void LongDigitTexts(LongDigitTextBlock& block) {
  const V64 zeros = U64(kZeros);
  for (size_t i = 0; i < kDigitTexts; i += kLanes64) {
    const V64 low = hn::Or(SplitDigits(hn::LoadU(D64(), block.middle + i)), zeros);
    const V64 high = hn::Or(SplitDigits(hn::LoadU(D64(), block.back + i)), zeros);
    const V64 front = SplitDigits(hn::LoadU(D64(), block.front + i));
    const V64 zero_bits = LeadingZeroBits(front);
    // A sign and four digits or fewer.
    const V64 negative = hn::LoadU(D64(), block.negative + i);
    const V64 eight = hn::ShiftLeft<3>(negative);
    const V64 sign = hn::And(hn::Sub(hn::Zero(D64()), negative), U64('-'));
    const V64 start = hn::Or((hn::Or(front, zeros) >> zero_bits) << eight, sign);
    const V64 bits = hn::Add(hn::Sub(U64(64), zero_bits), eight);
    hn::StoreU(hn::Or(start, low << bits), D64(), block.first_low + i);
    hn::StoreU(hn::Or(low >> hn::Sub(U64(64), bits), high << bits), D64(), block.first_high + i);
    hn::StoreU(low, D64(), block.last_low + i);
    hn::StoreU(high, D64(), block.last_high + i);
    hn::StoreU(hn::Add(hn::ShiftRight<3>(bits), U64(16)), D64(), block.length + i);
  }
}
LongDigitTextsFn FindLongDigitTexts() { return &LongDigitTexts; }

DigitTextsFn FindDigitTexts(int bits, bool is_signed) {
  switch (bits) {
    case 16:
      return is_signed ? &DigitTexts<Extend16<true>, true> : &DigitTexts<Extend16<false>, false>;
    case 32:
      return is_signed ? &DigitTexts<Extend32<true>, true> : &DigitTexts<Extend32<false>, false>;
    default: return is_signed ? &DigitTexts<Load64, true> : &DigitTexts<Load64, false>;
  }
}

#endif  // ONNX_RUN_CONVERT_VECTORS

}  // namespace HWY_NAMESPACE
}  // namespace onnx_run::convert_internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace onnx_run::convert_internal {

HWY_EXPORT(FindDigitTexts);
HWY_EXPORT(FindLongDigitTexts);

DigitTextsFn DigitTextsOf(int bits, bool is_signed) {
  return HWY_DYNAMIC_DISPATCH(FindDigitTexts)(bits, is_signed);
}

LongDigitTextsFn LongDigitTextsOf() { return HWY_DYNAMIC_DISPATCH(FindLongDigitTexts)(); }

}  // namespace onnx_run::convert_internal
#endif  // HWY_ONCE
