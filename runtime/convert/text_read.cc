// Text to numbers: one at a time, exactly; and arrays of them.

#include "runtime/convert/text.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/attributes.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "runtime/convert/convert.h"
#include "runtime/convert/formats.h"

namespace onnx_run::convert_internal {
namespace {

enum class TextKind : uint8_t { kMalformed, kNumber, kInfinity, kNan, kTrue, kFalse };

// [+-] digits [. fraction] [e exponent]
struct Decimal {
  TextKind kind = TextKind::kMalformed;
  bool negative = false;
  absl::string_view digits;    // before the point
  absl::string_view fraction;  // behind it
  int64_t exponent = 0;        // clamped to +-kMaxExponent
};

// Beyond any number of digits that fits in memory.
constexpr int64_t kMaxExponent = int64_t{1} << 50;

constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }

absl::string_view TakeDigits(absl::string_view& text) {
  size_t n = 0;
  while (n < text.size() && IsDigit(text[n])) ++n;
  const absl::string_view digits = text.substr(0, n);
  text.remove_prefix(n);
  return digits;
}

// Whether a sign was there; `negative` says which.
bool TakeSign(absl::string_view& text, bool& negative) {
  if (text.empty() || (text[0] != '-' && text[0] != '+')) return false;
  negative = text[0] == '-';
  text.remove_prefix(1);
  return true;
}

Decimal ParseWord(absl::string_view word, bool negative, bool has_sign) {
  Decimal result;
  result.negative = negative;
  if (absl::EqualsIgnoreCase(word, "inf") || absl::EqualsIgnoreCase(word, "infinity")) {
    result.kind = TextKind::kInfinity;
  } else if (absl::EqualsIgnoreCase(word, "nan")) {
    result.kind = TextKind::kNan;
  } else if (!has_sign && absl::EqualsIgnoreCase(word, "true")) {
    result.kind = TextKind::kTrue;
  } else if (!has_sign && absl::EqualsIgnoreCase(word, "false")) {
    result.kind = TextKind::kFalse;
  }
  return result;
}

Decimal ParseDecimal(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  Decimal result;
  const bool has_sign = TakeSign(text, result.negative);
  if (text.empty()) return result;
  if (!IsDigit(text[0]) && text[0] != '.') return ParseWord(text, result.negative, has_sign);
  result.digits = TakeDigits(text);
  if (!text.empty() && text[0] == '.') {
    text.remove_prefix(1);
    result.fraction = TakeDigits(text);
  }
  if (result.digits.empty() && result.fraction.empty()) return result;
  if (!text.empty() && (text[0] == 'e' || text[0] == 'E')) {
    text.remove_prefix(1);
    bool negative_exponent = false;
    TakeSign(text, negative_exponent);
    const absl::string_view exponent = TakeDigits(text);
    if (exponent.empty()) return result;
    for (const char c : exponent) {
      result.exponent = std::min(result.exponent * 10 + (c - '0'), kMaxExponent);
    }
    if (negative_exponent) result.exponent = -result.exponent;
  }
  if (text.empty()) result.kind = TextKind::kNumber;
  return result;
}

bool HasNonzeroDigit(absl::string_view digits) {
  return digits.find_first_not_of('0') != absl::string_view::npos;
}

// A natural number, just large enough in its operations for what follows.
class Natural {
 public:
  void MultiplyAdd(uint64_t factor, uint64_t summand) {
    uint64_t carry = summand;
    for (uint64_t& limb : limbs_) {
      const auto product = static_cast<unsigned __int128>(limb) * factor + carry;
      limb = static_cast<uint64_t>(product);
      carry = static_cast<uint64_t>(product >> 64);
    }
    if (carry != 0) limbs_.push_back(carry);
  }
  void MultiplyByPowerOf5(int64_t power) {
    constexpr uint64_t k5ToThe27 = 7450580596923828125;
    for (; power >= 27; power -= 27) MultiplyAdd(k5ToThe27, 0);
    uint64_t rest = 1;
    for (; power > 0; --power) rest *= 5;
    MultiplyAdd(rest, 0);
  }
  void ShiftLeft(int64_t bits) {
    const int low = static_cast<int>(bits % 64);
    if (low != 0) MultiplyAdd(uint64_t{1} << low, 0);
    limbs_.insert(limbs_.begin(), static_cast<size_t>(bits / 64), 0);
  }
  int64_t BitLength() const {
    return limbs_.empty()
               ? 0
               : static_cast<int64_t>(limbs_.size()) * 64 - std::countl_zero(limbs_.back());
  }
  bool Bit(int64_t index) const {
    return index >= 0 && (limbs_[static_cast<size_t>(index / 64)] >> (index % 64) & 1) != 0;
  }
  // Whether any of the bits below `index` is set.
  bool AnyBelow(int64_t index) const {
    for (int64_t i = 0; i < index / 64; ++i) {
      if (limbs_[static_cast<size_t>(i)] != 0) return true;
    }
    return index % 64 > 0 &&
           (limbs_[static_cast<size_t>(index / 64)] & LowMask(static_cast<int>(index % 64))) != 0;
  }
  bool IsZero() const { return limbs_.empty(); }
  bool operator>=(const Natural& other) const {
    if (limbs_.size() != other.limbs_.size()) return limbs_.size() > other.limbs_.size();
    for (size_t i = limbs_.size(); i-- > 0;) {
      if (limbs_[i] != other.limbs_[i]) return limbs_[i] > other.limbs_[i];
    }
    return true;
  }
  void Subtract(const Natural& other) {  // other <= *this
    uint64_t borrow = 0;
    for (size_t i = 0; i < limbs_.size(); ++i) {
      const uint64_t b = i < other.limbs_.size() ? other.limbs_[i] : 0;
      const auto difference = static_cast<unsigned __int128>(limbs_[i]) - b - borrow;
      limbs_[i] = static_cast<uint64_t>(difference);
      borrow = static_cast<uint64_t>(difference >> 64) & 1;
    }
    while (!limbs_.empty() && limbs_.back() == 0) limbs_.pop_back();
  }

 private:
  std::vector<uint64_t> limbs_;  // least significant first, the last one not zero
};

// Numbers at or above 10^kDecimalRange overflow every type, those below 10^-kDecimalRange are less
// than half of every least positive value.
constexpr int64_t kDecimalRange = 400;
// No value of 65 bits or fewer (what rounding has to tell apart) in that range has more digits.
constexpr int64_t kMaxDigits = 1100;

// digits * 10^exponent, and a little more when `inexact`. By arithmetic on numbers of any length.
ExactNumber ExactFromLongDecimal(absl::string_view digits, absl::string_view fraction,
                                 int64_t exponent, bool negative) {
  Natural numerator;
  int64_t used = 0;
  uint64_t chunk = 0;
  uint64_t chunk_scale = 1;
  bool inexact = false;
  for (const absl::string_view part : {digits, fraction}) {
    for (const char c : part) {
      if (used == kMaxDigits) {
        inexact = inexact || c != '0';
        exponent += 1;
        continue;
      }
      ++used;
      chunk = chunk * 10 + static_cast<uint64_t>(c - '0');
      chunk_scale *= 10;
      if (chunk_scale == 10'000'000'000'000'000'000U) {
        numerator.MultiplyAdd(chunk_scale, chunk);
        chunk = 0;
        chunk_scale = 1;
      }
    }
  }
  numerator.MultiplyAdd(chunk_scale, chunk);

  ExactNumber result = {
      .number_class = NumberClass::kFinite, .negative = negative, .inexact = inexact};
  if (exponent >= 0) {
    numerator.MultiplyByPowerOf5(exponent);
    const int64_t length = numerator.BitLength();
    for (int64_t i = 1; i <= 64; ++i) {
      result.significand = result.significand << 1 | (numerator.Bit(length - i) ? 1 : 0);
    }
    result.exponent = static_cast<int32_t>(length - 1 + exponent);
    if (length > 64) result.inexact = result.inexact || numerator.AnyBelow(length - 64);
    return result;
  }
  Natural denominator;
  denominator.MultiplyAdd(1, 1);
  denominator.MultiplyByPowerOf5(-exponent);
  // Scale so that 1 <= numerator / denominator < 2, then divide bit by bit.
  int64_t scale = numerator.BitLength() - denominator.BitLength();
  if (scale >= 0) {
    denominator.ShiftLeft(scale);
  } else {
    numerator.ShiftLeft(-scale);
  }
  if (!(numerator >= denominator)) {
    numerator.MultiplyAdd(2, 0);
    --scale;
  }
  for (int i = 0; i < 64; ++i) {
    const bool bit = numerator >= denominator;
    if (bit) numerator.Subtract(denominator);
    result.significand = result.significand << 1 | (bit ? 1 : 0);
    numerator.MultiplyAdd(2, 0);
  }
  result.exponent = static_cast<int32_t>(scale + exponent);
  result.inexact = result.inexact || !numerator.IsZero();
  return result;
}

constexpr std::array<uint64_t, 28> MakePowersOf5() {
  std::array<uint64_t, 28> powers = {1};
  for (size_t i = 1; i < powers.size(); ++i) powers[i] = powers[i - 1] * 5;
  return powers;
}
constexpr std::array<uint64_t, 28> kPowersOf5 = MakePowersOf5();

// value * 10^exponent with |exponent| <= 27, exactly.
ExactNumber ExactFromShortDecimal(uint64_t value, int64_t exponent, bool negative) {
  using Wide = unsigned __int128;
  const int leading = std::countl_zero(value);
  Wide wide;
  int exponent_of_top;  // of bit 127 of `wide`
  bool inexact = false;
  if (exponent >= 0) {
    wide = static_cast<Wide>(value << leading) * kPowersOf5[static_cast<size_t>(exponent)];
    exponent_of_top = 127 - leading + static_cast<int>(exponent);
  } else {
    // The quotient of a 127 bit number and a normalised divisor of 64 bits has 63 or 64 bits.
    const uint64_t power = kPowersOf5[static_cast<size_t>(-exponent)];
    const int power_leading = std::countl_zero(power);
    const uint64_t divisor = power << power_leading;
    const Wide dividend = static_cast<Wide>(value << leading) << 63;
    const auto quotient = static_cast<uint64_t>(dividend / divisor);
    const auto rest = static_cast<uint64_t>(dividend % divisor);
    // One more bit, so that 64 significant ones are there.
    const bool bit = rest >= divisor - rest;
    wide = static_cast<Wide>(quotient) << 64 | static_cast<Wide>(bit ? 1 : 0) << 63;
    inexact = bit ? rest - (divisor - rest) != 0 : rest != 0;
    // quotient * 2^-63 = (value << leading) / (power << power_leading)
    exponent_of_top = power_leading - leading + static_cast<int>(exponent);
  }
  const auto high = static_cast<uint64_t>(wide >> 64);
  const int shift = high == 0 ? 64 : std::countl_zero(high);
  wide <<= shift;
  return {.number_class = NumberClass::kFinite,
          .negative = negative,
          .inexact = inexact || static_cast<uint64_t>(wide) != 0,
          .exponent = exponent_of_top - shift,
          .significand = static_cast<uint64_t>(wide >> 64)};
}

ExactNumber ExactFromDecimal(const Decimal& decimal) {
  ExactNumber result = {.negative = decimal.negative};
  absl::string_view digits = decimal.digits;
  absl::string_view fraction = decimal.fraction;
  const auto strip_zeros = [](absl::string_view& text) {
    text.remove_prefix(std::min(text.find_first_not_of('0'), text.size()));
  };
  // The place of the last digit is that of 10^exponent, whatever zeros in front are dropped.
  const int64_t exponent = decimal.exponent - static_cast<int64_t>(fraction.size());
  strip_zeros(digits);
  if (digits.empty()) strip_zeros(fraction);
  const auto count = static_cast<int64_t>(digits.size() + fraction.size());
  if (count == 0) return result;
  const int64_t leading_exponent = exponent + count - 1;
  if (leading_exponent >= kDecimalRange || leading_exponent < -kDecimalRange) {
    result.number_class = NumberClass::kFinite;
    result.inexact = true;
    result.significand = uint64_t{1} << 63;
    result.exponent = leading_exponent < 0 ? -(1 << 20) : 1 << 20;
    return result;
  }
  if (count <= 19 && exponent >= -27 && exponent <= 27) {
    uint64_t value = 0;
    for (const char c : digits) value = value * 10 + static_cast<uint64_t>(c - '0');
    for (const char c : fraction) value = value * 10 + static_cast<uint64_t>(c - '0');
    return ExactFromShortDecimal(value, exponent, decimal.negative);
  }
  return ExactFromLongDecimal(digits, fraction, exponent, decimal.negative);
}

// The decimal truncated toward zero, modulo 2^64: any number of digits, exactly.
uint64_t IntegerFromDecimal(const Decimal& decimal) {
  uint64_t value = 0;
  const auto integer_digits =
      static_cast<int64_t>(decimal.digits.size()) + decimal.exponent;  // of the digits in a row
  int64_t used = 0;
  for (const absl::string_view part : {decimal.digits, decimal.fraction}) {
    for (const char c : part) {
      if (used >= integer_digits) break;
      ++used;
      value = value * 10 + static_cast<uint64_t>(c - '0');
    }
  }
  // 10^64 is 0 modulo 2^64.
  for (int64_t zeros = std::min<int64_t>(integer_digits - used, 64); zeros > 0; --zeros)
    value *= 10;
  return decimal.negative ? 0 - value : value;
}

// --- The usual texts: a sign, 19 digits or fewer, a point among them
// --------------------------------

struct PlainDecimal {
  bool negative = false;
  bool has_exponent = false;
  uint64_t digits = 0;  // all of them as one integer
  int scale = 0;        // times 10^scale; with no exponent, less the places behind the point
};

constexpr std::array<uint64_t, 20> MakeIntegerPowersOf10() {
  std::array<uint64_t, 20> powers = {1};
  for (size_t i = 1; i < powers.size(); ++i) powers[i] = powers[i - 1] * 10;
  return powers;
}
constexpr std::array<uint64_t, 20> kIntegerPowersOf10 = MakeIntegerPowersOf10();

bool ParsePlain(absl::string_view text, PlainDecimal& result) {
  const char* p = text.data();
  const char* const end = p + text.size();
  if (p != end && (*p == '-' || *p == '+')) result.negative = *p++ == '-';
  if (end - p > 25 || p == end) return false;
  const char* const first = p;
  uint64_t digits = 0;
  while (p != end && IsDigit(*p)) digits = digits * 10 + static_cast<uint64_t>(*p++ - '0');
  auto count = p - first;
  if (p != end && *p == '.') {
    const char* const point = ++p;
    while (p != end && IsDigit(*p)) digits = digits * 10 + static_cast<uint64_t>(*p++ - '0');
    result.scale = -static_cast<int>(p - point);
    count += p - point;
  }
  result.digits = digits;
  if (count == 0 || count > 19) return false;
  if (p == end) return true;
  if (*p != 'e' && *p != 'E') return false;
  result.has_exponent = true;
  ++p;
  const bool negative = p != end && *p == '-';
  if (p != end && (*p == '-' || *p == '+')) ++p;
  if (p == end || end - p > 3) return false;
  int exponent = 0;
  for (; p != end && IsDigit(*p); ++p) exponent = exponent * 10 + (*p - '0');
  result.scale += negative ? -exponent : exponent;
  return p == end;
}

using Wide = unsigned __int128;

// The 16 characters at `p`, the first in the lowest byte.
inline Wide LoadWide(const char* p) {
  uint64_t words[2];
  std::memcpy(words, p, 16);
  return Wide{words[1]} << 64 | words[0];
}

// Of eight characters from which '0' was taken by exclusive or: whether all were digits, and the
// number that they are.
bool AllDigits(uint64_t word) {
  return (((word + 0x76 * kAllBytes) | word) & 0x80 * kAllBytes) == 0;
}
uint64_t DigitsOf(uint64_t word) {
  word = word * 10 + (word >> 8);  // pairs, in every second byte
  constexpr uint64_t kMask = 0x000000FF000000FF;
  return ((word & kMask) * (100 + (uint64_t{1000000} << 32)) +
          (word >> 16 & kMask) * (1 + (uint64_t{10000} << 32))) >>
         32;
}

// Whether every text has memory for 15 characters and a NUL.
constexpr bool kRoomForWords = std::string().capacity() >= 15;

// All ones if it is a sign; no branches.
inline uint64_t SignMask(uint64_t character) {
  static_assert(('-' ^ '+') == 6 && ('-' & 4) != 0);
  return 0 - static_cast<uint64_t>(((character - '+') & ~uint64_t{2}) == 0);
}

// 16 characters or fewer: a sign, digits and a point. False where it is not that. Signs and lengths
// are as good as random, so that nothing branches on them: what is behind the text in its memory is
// read too, and shifted out.
inline bool ParseShort(const std::string& text, PlainDecimal& result) {
  const size_t n = text.size();
  if (n - 1 > 15 || !kRoomForWords) return false;
  const char* const p = text.data();
  const auto first = static_cast<uint64_t>(static_cast<uint8_t>(*p));
  const uint64_t sign = SignMask(first);
  const uint64_t sign_to_zero = (first ^ '0') & sign;
  const size_t least = 1 + (sign & 1);
  if (n < least) return false;
  result.negative = (sign & first & 4) != 0;  // the bit that tells - from +
  // A zero in the place of the sign, and zeros in front.
  uint64_t low = kZeros;
  uint64_t high;
  if (n < 8) {
    uint64_t chars;
    std::memcpy(&chars, p, 8);
    high = (chars ^ sign_to_zero) << (8 * (8 - n)) | kZeros >> (8 * n);
  } else {
    Wide chars = LoadWide(p) ^ sign_to_zero;
    constexpr Wide kWideZeros = Wide{kZeros} << 64 | kZeros;
    chars = n == 16 ? chars : chars << (8 * (16 - n)) | kWideZeros >> (8 * n);
    low = static_cast<uint64_t>(chars);
    high = static_cast<uint64_t>(chars >> 64);
  }
  // The highest bit of every byte that is a point.
  const auto points_in = [](uint64_t word) {
    constexpr uint64_t kLow7 = 0x7F * kAllBytes;
    const uint64_t x = word ^ ('.' * kAllBytes);
    return ~(((x & kLow7) + kLow7) | x | kLow7);
  };
  // What is in front of the point moves into its place.
  const auto close = [](uint64_t word, int place, uint64_t carry) {
    const uint64_t before = LowMask(8 * place);
    return (word & (~before << 8)) | (word & before) << 8 | carry;
  };
  if (const uint64_t points = points_in(high); points != 0) {
    const int place = std::countr_zero(points) / 8;
    result.scale = place - 7;
    high = close(high, place, low >> 56);
    low = low << 8 | '0';
    if (n == least) return false;  // nothing but a point
  } else if (const uint64_t early = points_in(low); early != 0) {
    const int place = std::countr_zero(early) / 8;
    result.scale = place - 15;
    low = close(low, place, '0');
  }
  high ^= kZeros;
  low ^= kZeros;
  if (!AllDigits(high) || (low != 0 && !AllDigits(low))) return false;
  result.digits = DigitsOf(high);
  if (low != 0) result.digits += DigitsOf(low) * 100'000'000;
  return true;
}

// Digits, and before them a sign where kSigned: 24 characters or fewer. The integer modulo 2^64;
// false where it is not that. As ParseShort, of which it is the part without points.
template <bool kSigned>
ABSL_ATTRIBUTE_ALWAYS_INLINE inline bool ParseInteger(const std::string& text, uint64_t& result) {
  const size_t n = text.size();
  if (n - 1 > 23 || !kRoomForWords) return false;
  const char* const p = text.data();
  const auto load = [](const char* from) {
    uint64_t chars;
    std::memcpy(&chars, from, 8);
    return chars ^ kZeros;
  };
  uint64_t start = load(p);
  uint64_t negative = 0;
  if constexpr (kSigned) {
    const auto first = static_cast<uint64_t>(static_cast<uint8_t>(*p));
    const uint64_t sign = SignMask(first);
    if (n == (sign & 1)) return false;
    start &= ~(sign & 0xFF);
    negative = 0 - (sign & first >> 2 & 1);  // as in ParseShort
  }
  uint64_t magnitude;
  if (n <= 8) {
    start <<= 64 - 8 * n;
    if (!AllDigits(start)) return false;
    magnitude = DigitsOf(start);
  } else if (n <= 16) {
    start <<= 128 - 8 * n;
    const uint64_t last = load(p + n - 8);
    if (!AllDigits(start) || !AllDigits(last)) return false;
    magnitude = DigitsOf(start) * 100'000'000 + DigitsOf(last);
  } else {
    start <<= 192 - 8 * n;
    const uint64_t middle = load(p + n - 16);
    const uint64_t last = load(p + n - 8);
    if (!AllDigits(start) || !AllDigits(middle) || !AllDigits(last)) return false;
    magnitude =
        DigitsOf(start) * 10'000'000'000'000'000 + DigitsOf(middle) * 100'000'000 + DigitsOf(last);
  }
  result = (magnitude ^ negative) - negative;
  return true;
}

// A decimal without exponent, truncated.
inline uint64_t IntegerOf(const PlainDecimal& plain) {
  const uint64_t magnitude =
      plain.scale == 0 ? plain.digits
                       : plain.digits / kIntegerPowersOf10[static_cast<size_t>(-plain.scale)];
  const uint64_t sign = plain.negative ? ~uint64_t{0} : 0;
  return (magnitude ^ sign) - sign;
}

constexpr std::array<double, 23> kPowersOf10 = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                                1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

// ConvertCode from DOUBLE with the destination known to the compiler.
using FromDoubleFn = uint64_t (*)(uint64_t bits, const ConvertOptions& options);
template <int kType>
uint64_t FromDouble(uint64_t bits, const ConvertOptions& options) {
  constexpr const ElementTypeInfo& from =
      kElementTypeTable[static_cast<size_t>(ElementType::kDouble)];
  return EncodeNumber(kElementTypeTable[kType], DecodeFloat(from, bits), options);
}
template <int... kTypes>
constexpr std::array<FromDoubleFn, sizeof...(kTypes)> MakeFromDouble(
    std::integer_sequence<int, kTypes...>) {
  return {
      (kElementTypeTable[kTypes].kind == ElementKind::kFloat ? &FromDouble<kTypes> : nullptr)...};
}
constexpr auto kFromDouble = MakeFromDouble(std::make_integer_sequence<int, kElementTypeCount>());

// Of a plain decimal: the bits of the nearest DOUBLE, and whether rounding it to a format of 24
// significant bits or fewer gives what rounding the decimal would. False where that takes more than
// one operation on exact DOUBLEs.
inline bool DoubleFromPlain(const PlainDecimal& plain, uint64_t& bits, bool& rounds_once) {
  if (plain.digits > uint64_t{1} << 53 || plain.scale < -22 || plain.scale > 22) return false;
  const auto digits = static_cast<double>(plain.digits);
  const double power = kPowersOf10[static_cast<size_t>(std::abs(plain.scale))];
  const double result = plain.scale < 0 ? digits / power : digits * power;
  bits = std::bit_cast<uint64_t>(result) | (plain.negative ? uint64_t{1} << 63 : 0);
  // Values and ties of such formats have 25 significant bits. Where the result has more, the
  // decimal is on the same side of all of them; where not, it has to be the result exactly.
  constexpr uint64_t kBelowTies = (uint64_t{1} << 28) - 1;
  if ((bits & kBelowTies) != 0) {
    rounds_once = true;
  } else if (plain.scale <= 0) {
    rounds_once = plain.scale >= -8 && result * power == digits;  // 25 bits times 28: exact
  } else {
    rounds_once = result <= 0x1p53;
  }
  return true;
}

// The code of a plain decimal in a float format; nullopt where the quick way might round twice.
std::optional<uint64_t> FloatFromPlain(const ElementTypeInfo& info, const PlainDecimal& plain,
                                       const ConvertOptions& options) {
  uint64_t bits = 0;
  bool rounds_once = false;
  if (!DoubleFromPlain(plain, bits, rounds_once)) return std::nullopt;
  if (info.type == ElementType::kDouble) return bits;
  if (!rounds_once) return std::nullopt;
  if (info.type == ElementType::kFloat) {
    return std::bit_cast<uint32_t>(static_cast<float>(std::bit_cast<double>(bits)));
  }
  return kFromDouble[static_cast<size_t>(info.type)](bits, options);
}

// Wide types, by the standard library. `text` is well-formed.
std::optional<uint64_t> WideFloatFromText(absl::string_view text, ElementType type) {
  text = absl::StripAsciiWhitespace(text);
  if (text[0] == '+') text.remove_prefix(1);
  const char* const end = text.data() + text.size();
  if (type == ElementType::kFloat) {
    float value = 0;
    const auto [last, error] = std::from_chars(text.data(), end, value);
    if (error == std::errc() && last == end) return std::bit_cast<uint32_t>(value);
  } else if (type == ElementType::kDouble) {
    double value = 0;
    const auto [last, error] = std::from_chars(text.data(), end, value);
    if (error == std::errc() && last == end) return std::bit_cast<uint64_t>(value);
  }
  return std::nullopt;
}

}  // namespace

std::optional<uint64_t> NumberFromText(absl::string_view text, ElementType type,
                                       const ConvertOptions& options) {
  const ElementTypeInfo& info = InfoOf(type);
  if (PlainDecimal plain; ParsePlain(text, plain)) {
    if (info.kind == ElementKind::kFloat) {
      const std::optional<uint64_t> code = FloatFromPlain(info, plain, options);
      if (code.has_value()) return code;
    } else if (info.kind == ElementKind::kBool) {
      return plain.digits != 0 ? 1 : 0;
    } else if (!plain.has_exponent) {
      return IntegerOf(plain) & LowMask(info.bits);
    }
  }
  const Decimal decimal = ParseDecimal(text);
  ExactNumber special = {.negative = decimal.negative};
  switch (decimal.kind) {
    case TextKind::kMalformed: return std::nullopt;
    case TextKind::kTrue:
    case TextKind::kFalse:
      if (info.kind != ElementKind::kBool) return std::nullopt;
      return decimal.kind == TextKind::kTrue ? 1 : 0;
    case TextKind::kInfinity:
      special.number_class = NumberClass::kInfinity;
      return EncodeNumber(info, special, options);
    case TextKind::kNan:
      special.number_class = NumberClass::kNan;
      return EncodeNumber(info, special, options);
    case TextKind::kNumber: break;
  }
  switch (info.kind) {
    case ElementKind::kBool:
      return HasNonzeroDigit(decimal.digits) || HasNonzeroDigit(decimal.fraction) ? 1 : 0;
    case ElementKind::kFloat: {
      const std::optional<uint64_t> wide = WideFloatFromText(text, type);
      return wide.has_value() ? *wide : EncodeFloat(info, ExactFromDecimal(decimal), options);
    }
    default: return IntegerFromDecimal(decimal) & LowMask(info.bits);
  }
}

// --- Many of them

namespace {

template <typename T>
size_t ReadIntegers(absl::Span<const std::string> from, ElementType type, uint8_t* to) {
  constexpr bool kSigned = std::is_signed_v<T>;
  for (size_t i = 0; i < from.size(); ++i) {
    uint64_t integer = 0;
    if (!ParseInteger<kSigned>(from[i], integer)) {
      if (PlainDecimal plain; ParseShort(from[i], plain)) {
        integer = IntegerOf(plain);
      } else {
        const std::optional<uint64_t> code = NumberFromText(from[i], type, {});
        if (!code.has_value()) return i;
        integer = *code;
      }
    }
    const auto value = static_cast<T>(integer);
    std::memcpy(to + i * sizeof(T), &value, sizeof(T));
  }
  return from.size();
}

// 4 and 2 bit integers, and bool.
template <int kBits, bool kSigned>
size_t ReadSmall(absl::Span<const std::string> from, ElementType type, uint8_t* to) {
  constexpr size_t kPerByte = 8 / kBits;
  constexpr bool kBool = kBits == 8;
  uint64_t byte = 0;
  for (size_t i = 0; i < from.size(); ++i) {
    PlainDecimal plain;
    uint64_t value = 0;
    // A number of more characters may be a multiple of 2^64, and yet true.
    if ((!kBool || from[i].size() <= 16) && ParseInteger<kSigned>(from[i], value)) {
      if (kBool) value = value != 0 ? 1 : 0;
    } else if (ParseShort(from[i], plain)) {
      value = kBool ? (plain.digits != 0 ? 1 : 0) : IntegerOf(plain);
    } else {
      const std::optional<uint64_t> code = NumberFromText(from[i], type, {});
      if (!code.has_value()) return i;
      value = *code;
    }
    const size_t place = i % kPerByte;
    byte = (place == 0 ? 0 : byte) | (value & LowMask(kBits)) << (place * kBits);
    if (place == kPerByte - 1 || i == from.size() - 1)
      to[i / kPerByte] = static_cast<uint8_t>(byte);
  }
  return from.size();
}

template <typename Float>
size_t ReadWideFloats(absl::Span<const std::string> from, ElementType type, uint8_t* to) {
  for (size_t i = 0; i < from.size(); ++i) {
    PlainDecimal plain;
    uint64_t bits = 0;
    bool rounds_once = false;
    if (ParseShort(from[i], plain) && DoubleFromPlain(plain, bits, rounds_once) &&
        (sizeof(Float) == 8 || rounds_once)) {
      const auto value = static_cast<Float>(std::bit_cast<double>(bits));
      std::memcpy(to + i * sizeof(Float), &value, sizeof(Float));
      continue;
    }
    const std::optional<uint64_t> code = NumberFromText(from[i], type, {});
    if (!code.has_value()) return i;
    StoreCode(to, type, static_cast<int64_t>(i), *code);
  }
  return from.size();
}

// Floats of 16 bits or fewer: as DOUBLEs, which the vector kernels then round.
size_t ReadNarrowFloats(absl::Span<const std::string> from, ElementType type, uint8_t* to,
                        const ConvertOptions& options) {
  constexpr size_t kBlock = 256;
  uint64_t block[kBlock];
  std::pair<uint16_t, uint16_t> exact[kBlock];  // places and codes of those that go another way
  for (size_t begin = 0; begin < from.size(); begin += kBlock) {
    const size_t n = std::min(kBlock, from.size() - begin);
    size_t exact_count = 0;
    for (size_t i = 0; i < n; ++i) {
      PlainDecimal plain;
      bool rounds_once = false;
      block[i] = 0;
      if (ParseShort(from[begin + i], plain) && DoubleFromPlain(plain, block[i], rounds_once) &&
          rounds_once) {
        continue;
      }
      const std::optional<uint64_t> code = NumberFromText(from[begin + i], type, options);
      if (!code.has_value()) return begin + i;
      exact[exact_count++] = {static_cast<uint16_t>(i), static_cast<uint16_t>(*code)};
    }
    uint8_t* const out = to + begin * static_cast<size_t>(BitsOf(type)) / 8;
    Convert(block, ElementType::kDouble, out, type, static_cast<int64_t>(n), options).IgnoreError();
    for (size_t i = 0; i < exact_count; ++i) {
      StoreCode(out, type, exact[i].first, exact[i].second);
    }
  }
  return from.size();
}

}  // namespace

size_t ReadTexts(absl::Span<const std::string> from, ElementType type, uint8_t* to,
                 const ConvertOptions& options) {
  if (type == ElementType::kFloat) return ReadWideFloats<float>(from, type, to);
  if (type == ElementType::kDouble) return ReadWideFloats<double>(from, type, to);
  if (IsFloat(type)) return ReadNarrowFloats(from, type, to, options);
  switch (type) {
    case ElementType::kBool: return ReadSmall<8, false>(from, type, to);
    case ElementType::kInt2: return ReadSmall<2, true>(from, type, to);
    case ElementType::kInt4: return ReadSmall<4, true>(from, type, to);
    case ElementType::kInt8: return ReadIntegers<int8_t>(from, type, to);
    case ElementType::kInt16: return ReadIntegers<int16_t>(from, type, to);
    case ElementType::kInt32: return ReadIntegers<int32_t>(from, type, to);
    case ElementType::kInt64: return ReadIntegers<int64_t>(from, type, to);
    case ElementType::kUint2: return ReadSmall<2, false>(from, type, to);
    case ElementType::kUint4: return ReadSmall<4, false>(from, type, to);
    case ElementType::kUint8: return ReadIntegers<uint8_t>(from, type, to);
    case ElementType::kUint16: return ReadIntegers<uint16_t>(from, type, to);
    case ElementType::kUint32: return ReadIntegers<uint32_t>(from, type, to);
    default: return ReadIntegers<uint64_t>(from, type, to);
  }
}

}  // namespace onnx_run::convert_internal
