#include "runtime/convert/text.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <charconv>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/convert/formats.h"

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
  uint64_t digits = 0;   // all of them as one integer
  uint64_t integer = 0;  // those before the point
  int places = 0;        // behind the point
};

bool ParsePlain(absl::string_view text, PlainDecimal& result) {
  const char* p = text.data();
  const char* const end = p + text.size();
  if (p != end && (*p == '-' || *p == '+')) result.negative = *p++ == '-';
  if (end - p > 20 || p == end) return false;
  const char* const first = p;
  uint64_t digits = 0;
  while (p != end && IsDigit(*p)) digits = digits * 10 + static_cast<uint64_t>(*p++ - '0');
  result.integer = digits;
  auto count = p - first;
  if (p != end) {
    if (*p != '.') return false;
    const char* const point = ++p;
    while (p != end && IsDigit(*p)) digits = digits * 10 + static_cast<uint64_t>(*p++ - '0');
    result.places = static_cast<int>(p - point);
    count += p - point;
  }
  result.digits = digits;
  return p == end && count > 0 && count <= 19;
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

// The code of a plain decimal in a float format by one division of exact DOUBLEs; nullopt where
// that might round twice.
std::optional<uint64_t> FloatFromPlain(const ElementTypeInfo& info, const PlainDecimal& plain,
                                       const ConvertOptions& options) {
  if (plain.digits > uint64_t{1} << 53) return std::nullopt;
  const auto digits = static_cast<double>(plain.digits);
  const double power = kPowersOf10[static_cast<size_t>(plain.places)];
  const double quotient = digits / power;
  const uint64_t sign = plain.negative ? uint64_t{1} << 63 : 0;
  const uint64_t bits = std::bit_cast<uint64_t>(quotient) | sign;
  if (info.type == ElementType::kDouble) return bits;
  // Values and ties of formats of 24 bits or fewer have 25 significant bits. Where the quotient has
  // more, the decimal is on the same side of all of them; where not, it has to be the quotient
  // exactly: the product below is exact.
  constexpr uint64_t kBelowTies = (uint64_t{1} << 28) - 1;
  if ((bits & kBelowTies) == 0 && (plain.places > 8 || quotient * power != digits))
    return std::nullopt;
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
    } else {
      return (plain.negative ? 0 - plain.integer : plain.integer) & LowMask(info.bits);
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
  char digits[16];
  const int count =
      static_cast<int>(std::to_chars(digits, digits + 16, decimal.digits).ptr - digits);
  const int point = count + decimal.exponent;  // digits before the point
  char* out = buffer;
  if (point <= 0) {
    *out++ = '0';
    *out++ = '.';
    out = std::fill_n(out, -point, '0');
    out = std::copy_n(digits, count, out);
  } else if (point < count) {
    out = std::copy_n(digits, point, out);
    *out++ = '.';
    out = std::copy_n(digits + point, count - point, out);
  } else {
    out = std::copy_n(digits, count, out);
    out = std::fill_n(out, point - count, '0');
  }
  return static_cast<int>(out - buffer);
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

int FloatToText(uint64_t code, ElementType type, char* buffer) {
  const ElementTypeInfo& info = InfoOf(type);
  const ExactNumber number = DecodeFloat(info, code);
  if (number.number_class == NumberClass::kNan) return CopyText("NaN", buffer);
  char* out = buffer;
  if (number.negative) *out++ = '-';
  if (number.number_class == NumberClass::kInfinity) {
    return static_cast<int>(out - buffer) + CopyText("INF", out);
  }
  char* const end = buffer + kMaxNumberText;
  const uint64_t magnitude = code & MagnitudeMask(info);
  if (type == ElementType::kFloat) {
    const auto value = std::bit_cast<float>(static_cast<uint32_t>(magnitude));
    return static_cast<int>(std::to_chars(out, end, value, std::chars_format::fixed).ptr - buffer);
  }
  const double value = CodeToDouble(magnitude, type);
  const bool integral =
      number.number_class == NumberClass::kZero ||
      (number.exponent >= 0 &&
       (number.exponent >= 63 || number.significand << (number.exponent + 1) == 0));
  if (type == ElementType::kDouble || integral) {
    return static_cast<int>(std::to_chars(out, end, value, std::chars_format::fixed).ptr - buffer);
  }
  out += FormatPositional(ShortestDecimalOf(value, magnitude, type), out);
  return static_cast<int>(out - buffer);
}

}  // namespace

int NumberToText(uint64_t code, ElementType type, char* buffer) {
  const ElementTypeInfo& info = InfoOf(type);
  code &= LowMask(info.bits);
  switch (info.kind) {
    case ElementKind::kFloat: return FloatToText(code, type, buffer);
    case ElementKind::kBool: buffer[0] = code != 0 ? '1' : '0'; return 1;
    case ElementKind::kSigned: {
      const auto value = static_cast<int64_t>(code << (64 - info.bits)) >> (64 - info.bits);
      return static_cast<int>(std::to_chars(buffer, buffer + kMaxNumberText, value).ptr - buffer);
    }
    default:
      return static_cast<int>(std::to_chars(buffer, buffer + kMaxNumberText, code).ptr - buffer);
  }
}

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
  char buffer[convert_internal::kMaxNumberText];
  for (size_t i = 0; i < to.size(); ++i) {
    const uint64_t code = LoadCode(from, from_type, static_cast<int64_t>(i));
    to[i].assign(buffer,
                 static_cast<size_t>(convert_internal::NumberToText(code, from_type, buffer)));
  }
  return absl::OkStatus();
}

absl::Status ConvertFromString(absl::Span<const std::string> from, void* to, ElementType to_type,
                               const ConvertOptions& options) {
  if (absl::Status status = CheckNumeric(to_type, "from string to"); !status.ok()) return status;
  const convert_internal::DefaultFloatEnvironment environment;
  const auto count = static_cast<int64_t>(from.size());
  if (IsSubByte(to_type) && count > 0) {
    std::memset(to, 0, static_cast<size_t>(*PackedBytes(to_type, count)));
  }
  for (int64_t i = 0; i < count; ++i) {
    const std::string& text = from[static_cast<size_t>(i)];
    const std::optional<uint64_t> code = convert_internal::NumberFromText(text, to_type, options);
    if (!code.has_value()) return MalformedText(static_cast<size_t>(i), text, to_type);
    StoreCode(to, to_type, i, *code);
  }
  return absl::OkStatus();
}

}  // namespace onnx_run
