#include "runtime/convert/text.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <charconv>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/convert/formats.h"
#include "runtime/convert/shortest.h"

namespace onnx_run {
namespace convert_internal {
namespace {

// ---------------------------------------------------------------------------------------------------
// Text to numbers

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

// Eight characters in a word, the first in its lowest byte.
constexpr uint64_t kAllBytes = 0x0101010101010101;
constexpr uint64_t kZeros = '0' * kAllBytes;

template <typename T>
T LoadWord(const char* p) {
  T word;
  std::memcpy(&word, p, sizeof(T));
  return word;
}

// `n` characters, 1 to 8, with zeros in front of them.
uint64_t LoadPadded(const char* p, size_t n) {
  if (n == 8) return LoadWord<uint64_t>(p);
  const size_t shift = 8 * (8 - n);
  const uint64_t padding = kZeros & LowMask(static_cast<int>(shift));
  if (n >= 4) {
    return padding | uint64_t{LoadWord<uint32_t>(p)} << shift |
           uint64_t{LoadWord<uint32_t>(p + n - 4)} << 32;
  }
  const auto byte = [&](size_t i) { return uint64_t{static_cast<uint8_t>(p[i])}; };
  return padding | byte(0) << shift | byte(n / 2) << (shift + 8 * (n / 2)) | byte(n - 1) << 56;
}

bool AllDigits(uint64_t word) {
  constexpr uint64_t kHigh = 0xF0 * kAllBytes;
  return ((word & kHigh) | (((word + 6 * kAllBytes) & kHigh) >> 4)) == (kZeros | kZeros >> 4);
}
uint64_t DigitsOf(uint64_t word) {
  word -= kZeros;
  word = word * 10 + (word >> 8);  // pairs, in every second byte
  constexpr uint64_t kMask = 0x000000FF000000FF;
  return ((word & kMask) * (100 + (uint64_t{1000000} << 32)) +
          (word >> 16 & kMask) * (1 + (uint64_t{10000} << 32))) >>
         32;
}

// A sign, and 16 characters or fewer: digits and a point. False where it is not that.
inline bool ParseShort(absl::string_view text, PlainDecimal& result) {
  const char* p = text.data();
  size_t n = text.size();
  if (n != 0 && (*p == '-' || *p == '+')) {
    result.negative = *p == '-';
    ++p;
    --n;
  }
  if (n - 1 > 15) return false;
  uint64_t low = kZeros;
  uint64_t high;
  if (n <= 8) {
    high = LoadPadded(p, n);
  } else {
    high = LoadWord<uint64_t>(p + n - 8);
    low = LoadPadded(p, n - 8);
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
    if (n == 1) return false;
  } else if (const uint64_t early = points_in(low); early != 0) {
    const int place = std::countr_zero(early) / 8;
    result.scale = place - 15;
    low = close(low, place, '0');
  }
  if (!AllDigits(high) || !AllDigits(low)) return false;
  result.digits = DigitsOf(low) * 100'000'000 + DigitsOf(high);
  return true;
}

// A decimal without exponent, truncated.
inline uint64_t IntegerOf(const PlainDecimal& plain) {
  const uint64_t magnitude =
      plain.scale == 0 ? plain.digits
                       : plain.digits / kIntegerPowersOf10[static_cast<size_t>(-plain.scale)];
  return plain.negative ? 0 - magnitude : magnitude;
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

// ---------------------------------------------------------------------------------------------------
// Numbers to text

namespace {

// digits * 10^exponent without trailing zeros in `digits`. Packed into 32 bits, never 0.
struct ShortDecimal {
  uint32_t digits;
  int exponent;
  uint32_t Pack() const { return digits << 9 | static_cast<uint32_t>(exponent + 256); }
  static ShortDecimal Unpack(uint32_t packed) {
    return {packed >> 9, static_cast<int>(packed & 0x1FF) - 256};
  }
};

int FormatPositional(const ShortDecimal& decimal, char* buffer) {
  return static_cast<int>(WritePositional({decimal.digits, decimal.exponent}, buffer) - buffer);
}

// The decimal of fewest digits that reads back as `code`, nearest to `value` among them. `value` is
// that of `code`: positive, no integer, of a type of 16 bits or fewer.
ShortDecimal ShortestDecimal(double value, uint64_t code, ElementType type) {
  // All the digits: "d.ddd...e-XX"; 2^-133 has 93.
  char text[160];
  char* const end =
      std::to_chars(text, text + sizeof(text), value, std::chars_format::scientific, 120).ptr;
  int exponent_of_first = 0;
  char* const mark = std::find(text, end, 'e');
  std::from_chars(mark[1] == '+' ? mark + 2 : mark + 1, end, exponent_of_first);  // takes no '+'
  std::string all(1, text[0]);
  all.append(text + 2, mark);

  const auto reads_back = [&](const ShortDecimal& candidate) {
    char buffer[kMaxNumberText];
    const auto length = static_cast<size_t>(FormatPositional(candidate, buffer));
    return NumberFromText({buffer, length}, type, {.round_mode = RoundMode::kNearest}) == code;
  };
  for (size_t precision = 1;; ++precision) {
    ShortDecimal below = {0, exponent_of_first - static_cast<int>(precision) + 1};
    for (size_t i = 0; i < precision; ++i) {
      below.digits = below.digits * 10 + static_cast<uint32_t>(all[i] - '0');
    }
    ShortDecimal above = {below.digits + 1, below.exponent};
    const bool below_reads = reads_back(below);
    const bool above_reads = reads_back(above);
    if (!below_reads && !above_reads) continue;
    const int to_half = all.compare(precision, std::string::npos,
                                    "5" + std::string(all.size() - precision - 1, '0'));
    const bool nearer_above = to_half > 0 || (to_half == 0 && below.digits % 2 != 0);
    ShortDecimal best = above_reads && (nearer_above || !below_reads) ? above : below;
    while (best.digits % 10 == 0) {
      best.digits /= 10;
      ++best.exponent;
    }
    return best;
  }
}

// Shortest decimals by code without sign, each worked out when first wanted.
template <int kType>
ShortDecimal CachedShortestDecimal(double value, uint64_t code) {
  static std::array<std::atomic<uint32_t>,
                    size_t{1} << (kElementTypeTable[kType].bits - 1 +
                                  (kElementTypeTable[kType].bits <= 8 ? 1 : 0))>
      cache = {};
  std::atomic<uint32_t>& slot = cache[code];
  uint32_t packed = slot.load(std::memory_order_relaxed);
  if (packed == 0) {
    packed = ShortestDecimal(value, code, static_cast<ElementType>(kType)).Pack();
    slot.store(packed, std::memory_order_relaxed);
  }
  return ShortDecimal::Unpack(packed);
}

ShortDecimal ShortestDecimalOf(double value, uint64_t code, ElementType type) {
  switch (type) {
    case ElementType::kFloat16:
      return CachedShortestDecimal<static_cast<int>(ElementType::kFloat16)>(value, code);
    case ElementType::kBfloat16:
      return CachedShortestDecimal<static_cast<int>(ElementType::kBfloat16)>(value, code);
    case ElementType::kFloat8e4m3fn:
      return CachedShortestDecimal<static_cast<int>(ElementType::kFloat8e4m3fn)>(value, code);
    case ElementType::kFloat8e4m3fnuz:
      return CachedShortestDecimal<static_cast<int>(ElementType::kFloat8e4m3fnuz)>(value, code);
    case ElementType::kFloat8e5m2:
      return CachedShortestDecimal<static_cast<int>(ElementType::kFloat8e5m2)>(value, code);
    case ElementType::kFloat8e5m2fnuz:
      return CachedShortestDecimal<static_cast<int>(ElementType::kFloat8e5m2fnuz)>(value, code);
    case ElementType::kFloat8e8m0:
      return CachedShortestDecimal<static_cast<int>(ElementType::kFloat8e8m0)>(value, code);
    default: return ShortestDecimal(value, code, type);
  }
}

int CopyText(absl::string_view text, char* buffer) {
  std::memcpy(buffer, text.data(), text.size());
  return static_cast<int>(text.size());
}

// A positive finite FLOAT or DOUBLE (or 0); returns the end.
template <typename Float>
char* WriteFloat(Float value, char* out) {
  if (value < Float{0x1p63}) {
    const auto integer = static_cast<int64_t>(value);
    if (static_cast<Float>(integer) == value) {
      return WriteDigits(static_cast<uint64_t>(integer), out);
    }
    if constexpr (sizeof(Float) == 4) {
      return WritePositional(ShortestOfFloat(std::bit_cast<uint32_t>(value)), out);
    } else {
      return WritePositional(ShortestOfDouble(std::bit_cast<uint64_t>(value)), out);
    }
  }
  return std::to_chars(out, out + kMaxNumberText, value, std::chars_format::fixed)
      .ptr;  // all digits
}

// FLOAT or DOUBLE.
template <typename Float, typename Bits>
int WideFloatToText(Bits code, char* buffer) {
  constexpr Bits kInfinity = std::bit_cast<Bits>(std::numeric_limits<Float>::infinity());
  constexpr Bits kSign = Bits{1} << (sizeof(Bits) * 8 - 1);
  const Bits magnitude = code & ~kSign;
  if (magnitude > kInfinity) return CopyText("NaN", buffer);
  char* out = buffer;
  *out = '-';
  out += code >> (sizeof(Bits) * 8 - 1);
  if (magnitude == kInfinity) return static_cast<int>(out - buffer) + CopyText("INF", out);
  return static_cast<int>(WriteFloat(std::bit_cast<Float>(magnitude), out) - buffer);
}

int FloatToText(uint64_t code, ElementType type, char* buffer) {
  if (type == ElementType::kFloat) {
    return WideFloatToText<float>(static_cast<uint32_t>(code), buffer);
  }
  if (type == ElementType::kDouble) return WideFloatToText<double>(code, buffer);
  const ElementTypeInfo& info = InfoOf(type);
  const ExactNumber number = DecodeFloat(info, code);
  if (number.number_class == NumberClass::kNan) return CopyText("NaN", buffer);
  char* out = buffer;
  if (number.negative) *out++ = '-';
  if (number.number_class == NumberClass::kInfinity) {
    return static_cast<int>(out - buffer) + CopyText("INF", out);
  }
  const uint64_t magnitude = code & MagnitudeMask(info);
  const double value = CodeToDouble(magnitude, type);
  const bool integral =
      number.number_class == NumberClass::kZero ||
      (number.exponent >= 0 &&
       (number.exponent >= 63 || number.significand << (number.exponent + 1) == 0));
  if (integral) return static_cast<int>(WriteFloat(value, out) - buffer);
  out += FormatPositional(ShortestDecimalOf(value, magnitude, type), out);
  return static_cast<int>(out - buffer);
}

int SignedToText(int64_t value, char* buffer) {
  char* out = buffer;
  *out = '-';
  out += value < 0 ? 1 : 0;
  const auto bits = static_cast<uint64_t>(value);
  return static_cast<int>(WriteDigits(value < 0 ? 0 - bits : bits, out) - buffer);
}

}  // namespace

int NumberToText(uint64_t code, ElementType type, char* buffer) {
  const ElementTypeInfo& info = InfoOf(type);
  code &= LowMask(info.bits);
  switch (info.kind) {
    case ElementKind::kFloat: return FloatToText(code, type, buffer);
    case ElementKind::kBool: buffer[0] = code != 0 ? '1' : '0'; return 1;
    case ElementKind::kSigned: {
      return SignedToText(static_cast<int64_t>(code << (64 - info.bits)) >> (64 - info.bits),
                          buffer);
    }
    default: return static_cast<int>(WriteDigits(code, buffer) - buffer);
  }
}

// ---------------------------------------------------------------------------------------------------
// Many of them

namespace {

// As long as a std::string goes without memory of its own.
constexpr int kShortText = 15;

// That many characters or fewer, the first in the lowest byte: made and stored in registers, for
// reading back from memory what was just written there in parts takes long.
struct ShortText {
  unsigned __int128 chars;
  int length;
};

inline void SetText(std::string& text, const ShortText& value) {
  uint64_t words[2] = {static_cast<uint64_t>(value.chars),
                       static_cast<uint64_t>(value.chars >> 64)};
  if (text.capacity() > kShortText) {
    char buffer[16];
    std::memcpy(buffer, words, 16);
    text.assign(buffer, static_cast<size_t>(value.length));
    return;
  }
  // Of a length known to the compiler, cut afterwards: a few stores, no call.
  std::destroy_at(&text);
  std::construct_at(&text, "               ", static_cast<size_t>(kShortText));
  words[1] = static_cast<uint64_t>(value.chars >> 56);  // characters 7 to 14
  std::memcpy(text.data(), words, 8);
  std::memcpy(text.data() + 7, words + 1, 8);
  text.resize(static_cast<size_t>(value.length));
}

// The eight digits of a number below 10^8, as numbers, the first in the lowest byte.
inline uint64_t SplitDigits(uint32_t value) {
  uint64_t x = value / 10000 | uint64_t{value % 10000} << 32;
  const uint64_t hundreds = (x * 10486) >> 20 & 0x0000007F0000007F;
  x = hundreds | (x - 100 * hundreds) << 16;
  const uint64_t tens = (x * 103) >> 10 & 0x000F000F000F000F;
  return tens | (x - 10 * tens) << 8;
}

// Below 10^16 only; the length may be too much for a short text.
inline ShortText DigitsText(uint64_t value) {
  unsigned __int128 digits;
  int zeros;  // in front
  if (value < 100'000'000) {
    const uint64_t split = SplitDigits(static_cast<uint32_t>(value));
    zeros = std::countr_zero(split | uint64_t{1} << 56) / 8;
    return {(split | kZeros) >> (8 * zeros), 8 - zeros};
  }
  const uint64_t first = SplitDigits(static_cast<uint32_t>(value / 100'000'000));
  const uint64_t second = SplitDigits(static_cast<uint32_t>(value % 100'000'000));
  zeros = std::countr_zero(first) / 8;
  digits = static_cast<unsigned __int128>(second | kZeros) << 64 | first | kZeros;
  return {digits >> (8 * zeros), 16 - zeros};
}

inline ShortText WithSign(const ShortText& text, bool negative) {
  return {text.chars << (negative ? 8 : 0) | (negative ? '-' : 0),
          text.length + (negative ? 1 : 0)};
}

inline bool PackInteger(uint64_t magnitude, bool negative, ShortText& text) {
  if (magnitude >= 100'000'000'000'000) return false;
  text = WithSign(DigitsText(magnitude), negative);
  return true;
}

// Of a number that is no integer, with fewer than 16 digits.
inline bool PackFraction(const ShortestDigits& number, bool negative, ShortText& text) {
  using Wide = unsigned __int128;
  const ShortText digits = DigitsText(number.digits);
  const int point = digits.length + number.exponent;
  if (point > 0) {
    if (digits.length + 2 > kShortText) return false;
    const int at = 8 * point;
    const Wide before = digits.chars & ((Wide{1} << at) - 1);
    text = {before | Wide{'.'} << at | (digits.chars >> at) << (at + 8), digits.length + 1};
  } else {
    const int zeros = 2 - point;  // the point among them
    if (digits.length + zeros + 1 > kShortText) return false;
    constexpr Wide kAllZeros = Wide{kZeros} << 64 | kZeros;
    const Wide front = (kAllZeros & ((Wide{1} << (8 * zeros)) - 1)) ^ Wide { '0' ^ '.' } << 8;
    text = {digits.chars << (8 * zeros) | front, digits.length + zeros};
  }
  text = WithSign(text, negative);
  return true;
}

// By `pack`(index, text), or else by `write`(index, buffer).
template <class Pack, class Write>
void WriteAll(absl::Span<std::string> to, Pack pack, Write write) {
  char buffer[kMaxNumberText];
  for (size_t i = 0; i < to.size(); ++i) {
    ShortText text;
    if (pack(i, text)) {
      SetText(to[i], text);
    } else {
      const int length = write(i, buffer);
      to[i].assign(buffer, static_cast<size_t>(length));
    }
  }
}

template <typename T>
T LoadAs(const void* data, size_t index) {
  T value;
  std::memcpy(&value, static_cast<const char*>(data) + index * sizeof(T), sizeof(T));
  return value;
}

// The texts of a type of few values, each worked out when first wanted: 15 characters and, in the
// last byte, their number. Longer ones are not kept.
struct TextSlot {
  std::atomic<uint64_t> low;
  std::atomic<uint64_t> high;
};

template <int kType>
void WriteAllByTable(const void* from, absl::Span<std::string> to) {
  constexpr int kBits = kElementTypeTable[kType].bits;
  static std::array<TextSlot, size_t{1} << kBits> slots = {};
  const auto code_at = [&](size_t i) -> size_t {
    if constexpr (kBits == 16) return LoadAs<uint16_t>(from, i);
    constexpr size_t kPerByte = 8 / std::min(kBits, 8);
    const uint8_t byte = static_cast<const uint8_t*>(from)[i / kPerByte];
    return byte >> (i % kPerByte * kBits) & LowMask(kBits);
  };
  WriteAll(
      to,
      [&](size_t i, ShortText& text) {
        const TextSlot& slot = slots[code_at(i)];
        const uint64_t high = slot.high.load(std::memory_order_acquire);
        const uint64_t low = slot.low.load(std::memory_order_relaxed);
        text = {static_cast<unsigned __int128>(high) << 64 | low, static_cast<int>(high >> 56)};
        return text.length != 0;
      },
      [&](size_t i, char* buffer) {
        const size_t code = code_at(i);
        const int length = NumberToText(code, static_cast<ElementType>(kType), buffer);
        if (length <= kShortText) {
          uint64_t words[2] = {};
          std::memcpy(words, buffer, static_cast<size_t>(length));
          slots[code].low.store(words[0], std::memory_order_relaxed);
          slots[code].high.store(words[1] | static_cast<uint64_t>(length) << 56,
                                 std::memory_order_release);
        }
        return length;
      });
}

using WriteTextsFn = void (*)(const void* from, absl::Span<std::string> to);
template <int kType>
constexpr WriteTextsFn ByTable() {
  constexpr const ElementTypeInfo& info = kElementTypeTable[kType];
  constexpr bool kNumber = info.kind == ElementKind::kFloat || info.kind == ElementKind::kSigned ||
                           info.kind == ElementKind::kUnsigned || info.kind == ElementKind::kBool;
  if constexpr (kNumber &&
                (info.bits <= 8 || (info.bits == 16 && info.kind == ElementKind::kFloat))) {
    return &WriteAllByTable<kType>;
  }
  return nullptr;
}
template <int... kTypes>
constexpr std::array<WriteTextsFn, sizeof...(kTypes)> MakeByTable(
    std::integer_sequence<int, kTypes...>) {
  return {ByTable<kTypes>()...};
}
constexpr auto kByTable = MakeByTable(std::make_integer_sequence<int, kElementTypeCount>());

template <typename T>
void WriteIntegers(const void* from, absl::Span<std::string> to) {
  WriteAll(
      to,
      [&](size_t i, ShortText& text) {
        const T value = LoadAs<T>(from, i);
        const auto bits = static_cast<uint64_t>(value);
        return PackInteger(value < 0 ? 0 - bits : bits, value < 0, text);
      },
      [&](size_t i, char* buffer) {
        const T value = LoadAs<T>(from, i);
        if constexpr (std::is_signed_v<T>) return SignedToText(value, buffer);
        return static_cast<int>(WriteDigits(value, buffer) - buffer);
      });
}

template <typename Float, typename Bits>
void WriteFloats(const void* from, absl::Span<std::string> to) {
  constexpr Bits kSign = Bits{1} << (sizeof(Bits) * 8 - 1);
  char buffer[kMaxNumberText];
  for (size_t i = 0; i < to.size(); ++i) {
    const Bits code = LoadAs<Bits>(from, i);
    const Bits magnitude = code & ~kSign;
    const bool negative = code != magnitude;
    const auto value = std::bit_cast<Float>(magnitude);
    ShortText text;
    if (value < Float{1e14}) {
      const auto integer = static_cast<int64_t>(value);
      if (static_cast<Float>(integer) == value) {
        PackInteger(static_cast<uint64_t>(integer), negative, text);
        SetText(to[i], text);
        continue;
      }
      ShortestDigits digits;
      if constexpr (sizeof(Float) == 4) {
        digits = ShortestOfFloat(magnitude);
      } else {
        digits = ShortestOfDouble(magnitude);
      }
      if (digits.digits < 10'000'000'000'000'000 && PackFraction(digits, negative, text)) {
        SetText(to[i], text);
        continue;
      }
      buffer[0] = '-';
      const char* const end = WritePositional(digits, buffer + (negative ? 1 : 0));
      to[i].assign(buffer, static_cast<size_t>(end - buffer));
      continue;
    }
    const int length = WideFloatToText<Float>(code, buffer);
    to[i].assign(buffer, static_cast<size_t>(length));
  }
}

// `type` is numeric.
void WriteTexts(const void* from, ElementType type, absl::Span<std::string> to) {
  switch (type) {
    case ElementType::kFloat: WriteFloats<float, uint32_t>(from, to); break;
    case ElementType::kDouble: WriteFloats<double, uint64_t>(from, to); break;
    case ElementType::kInt16: WriteIntegers<int16_t>(from, to); break;
    case ElementType::kInt32: WriteIntegers<int32_t>(from, to); break;
    case ElementType::kInt64: WriteIntegers<int64_t>(from, to); break;
    case ElementType::kUint16: WriteIntegers<uint16_t>(from, to); break;
    case ElementType::kUint32: WriteIntegers<uint32_t>(from, to); break;
    case ElementType::kUint64: WriteIntegers<uint64_t>(from, to); break;
    default: kByTable[static_cast<size_t>(type)](from, to); break;
  }
}

// Text to numbers: the first malformed element, or the number of all.
template <typename T>
size_t ReadIntegers(absl::Span<const std::string> from, ElementType type, uint8_t* to) {
  for (size_t i = 0; i < from.size(); ++i) {
    PlainDecimal plain;
    auto value = static_cast<T>(0);
    if (ParseShort(from[i], plain)) {
      value = static_cast<T>(IntegerOf(plain));
    } else {
      const std::optional<uint64_t> code = NumberFromText(from[i], type, {});
      if (!code.has_value()) return i;
      value = static_cast<T>(*code);
    }
    std::memcpy(to + i * sizeof(T), &value, sizeof(T));
  }
  return from.size();
}

// 4 and 2 bit integers, and bool.
size_t ReadSmall(absl::Span<const std::string> from, ElementType type, uint8_t* to) {
  const size_t bits = static_cast<size_t>(BitsOf(type));
  const size_t per_byte = 8 / bits;
  const uint64_t mask = LowMask(static_cast<int>(bits));
  const bool is_bool = type == ElementType::kBool;
  for (size_t i = 0; i < from.size(); ++i) {
    PlainDecimal plain;
    uint64_t value = 0;
    if (ParseShort(from[i], plain)) {
      value = is_bool ? (plain.digits != 0 ? 1 : 0) : IntegerOf(plain) & mask;
    } else {
      const std::optional<uint64_t> code = NumberFromText(from[i], type, {});
      if (!code.has_value()) return i;
      value = *code;
    }
    const size_t place = i % per_byte;
    uint8_t& byte = to[i / per_byte];
    byte = static_cast<uint8_t>((place == 0 ? 0 : byte) | value << (place * bits));
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

size_t ReadTexts(absl::Span<const std::string> from, ElementType type, uint8_t* to,
                 const ConvertOptions& options) {
  if (type == ElementType::kFloat) return ReadWideFloats<float>(from, type, to);
  if (type == ElementType::kDouble) return ReadWideFloats<double>(from, type, to);
  if (IsFloat(type)) return ReadNarrowFloats(from, type, to, options);
  if (type == ElementType::kBool) return ReadSmall(from, type, to);
  switch (BitsOf(type)) {
    case 8: return ReadIntegers<uint8_t>(from, type, to);
    case 16: return ReadIntegers<uint16_t>(from, type, to);
    case 32: return ReadIntegers<uint32_t>(from, type, to);
    case 64: return ReadIntegers<uint64_t>(from, type, to);
    default: return ReadSmall(from, type, to);
  }
}

}  // namespace

}  // namespace convert_internal

namespace {

absl::Status CheckNumeric(ElementType type, absl::string_view direction) {
  const ElementKind kind = KindOf(type);
  if (kind == ElementKind::kNone || kind == ElementKind::kString || kind == ElementKind::kComplex) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot convert ", direction, " ", TypeName(type), " elements"));
  }
  return absl::OkStatus();
}

absl::Status MalformedText(size_t index, const std::string& text, ElementType type) {
  constexpr size_t kShown = 40;
  return absl::InvalidArgumentError(absl::StrCat(
      "element ", index, ": \"", absl::CEscape(absl::string_view(text).substr(0, kShown)),
      text.size() > kShown ? "..." : "", "\" is not a number (converting to ", TypeName(type),
      ")"));
}

}  // namespace

absl::Status ConvertToString(const void* from, ElementType from_type, absl::Span<std::string> to) {
  if (absl::Status status = CheckNumeric(from_type, "to string from"); !status.ok()) return status;
  const convert_internal::DefaultFloatEnvironment environment;
  convert_internal::WriteTexts(from, from_type, to);
  return absl::OkStatus();
}

absl::Status ConvertFromString(absl::Span<const std::string> from, void* to, ElementType to_type,
                               const ConvertOptions& options) {
  if (absl::Status status = CheckNumeric(to_type, "from string to"); !status.ok()) return status;
  const convert_internal::DefaultFloatEnvironment environment;
  const size_t done =
      convert_internal::ReadTexts(from, to_type, static_cast<uint8_t*>(to), options);
  if (done != from.size()) return MalformedText(done, from[done], to_type);
  return absl::OkStatus();
}

}  // namespace onnx_run
