// Numbers to text: one at a time, and arrays of them.

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

#include "absl/base/attributes.h"

#include "runtime/convert/formats.h"
#include "runtime/convert/shortest.h"
#include "runtime/convert/text.h"

namespace onnx_run::convert_internal {

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

// --- Many of them

namespace {

// As long as a std::string goes without memory of its own.
constexpr int kShortText = 15;

// That many characters or fewer, the first in the lowest byte: made and stored in registers, for
// reading back from memory what was just written there in parts takes long.
struct ShortText {
  unsigned __int128 chars;
  int length;
};

// `text` has memory of its own, from an earlier run. The last byte of `high` does not count.
ABSL_ATTRIBUTE_NOINLINE void SetTextInHeap(std::string& text, uint64_t low, uint64_t high,
                                           size_t length) {
  high &= LowMask(56);  // what is behind the text has to be zero
  if (text.size() < length) text.resize(kShortText);
  std::memcpy(text.data(), &low, 8);
  std::memcpy(text.data() + 8, &high, 8);
  text.resize(length);
}

ABSL_ATTRIBUTE_ALWAYS_INLINE inline void SetText(std::string& text, const ShortText& value) {
  const auto low = static_cast<uint64_t>(value.chars);
  const auto length = static_cast<size_t>(value.length);
  if (text.capacity() > kShortText) {
    SetTextInHeap(text, low, static_cast<uint64_t>(value.chars >> 64), length);
    return;
  }
  // Of a length known to the compiler, cut afterwards: a few stores, no call.
  std::destroy_at(&text);
  std::construct_at(&text, "               ", static_cast<size_t>(kShortText));
  const auto from7 = static_cast<uint64_t>(value.chars >> 56);  // characters 7 to 14
  std::memcpy(text.data(), &low, 8);
  std::memcpy(text.data() + 7, &from7, 8);
  text.resize(length);
}

// The eight digits of a number below 10^8, as numbers, the first in the lowest byte.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline uint64_t SplitDigits(uint32_t value) {
  uint64_t x = value / 10000 | uint64_t{value % 10000} << 32;
  const uint64_t hundreds = (x * 10486) >> 20 & 0x0000007F0000007F;
  x = hundreds | (x - 100 * hundreds) << 16;
  const uint64_t tens = (x * 103) >> 10 & 0x000F000F000F000F;
  return tens | (x - 10 * tens) << 8;
}

// Of a number below 10^16, with zeros in front.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline unsigned __int128 SixteenDigits(uint64_t value) {
  const uint64_t first = SplitDigits(static_cast<uint32_t>(value / 100'000'000)) | kZeros;
  const uint64_t second = SplitDigits(static_cast<uint32_t>(value % 100'000'000)) | kZeros;
  return static_cast<unsigned __int128>(second) << 64 | first;
}

// Of a number below 10^8.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline ShortText EightDigitsText(uint32_t value) {
  const uint64_t split = SplitDigits(value);
  const int zeros = std::countr_zero(split | uint64_t{1} << 56) / 8;
  return {(split | kZeros) >> (8 * zeros), 8 - zeros};
}

// Below 10^16 only; the length may be too much for a short text.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline ShortText DigitsText(uint64_t value) {
  if (value < 100'000'000) return EightDigitsText(static_cast<uint32_t>(value));
  const unsigned __int128 digits = SixteenDigits(value);
  const int zeros = std::countr_zero(static_cast<uint64_t>(digits) ^ kZeros) / 8;
  return {digits >> (8 * zeros), 16 - zeros};
}

// Signs are as good as random: no branches.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline ShortText WithSign(const ShortText& text, bool negative) {
  // Of the two halves by hand: shifts of 128 bits see to counts of 64 and more.
  const int one = static_cast<int>(negative);
  const auto low = static_cast<uint64_t>(text.chars);
  const auto high = static_cast<uint64_t>(text.chars >> 64);
  const uint64_t shifted_low = low << (8 * one) | static_cast<uint64_t>('-' * one);
  const uint64_t shifted_high = high << (8 * one) | (low >> 1) >> (63 - 8 * one);
  return {static_cast<unsigned __int128>(shifted_high) << 64 | shifted_low, text.length + one};
}

// 16 to 31 characters: the first 16 and the last 16.
struct LongText {
  unsigned __int128 first;
  unsigned __int128 last;
  int length;
};

ABSL_ATTRIBUTE_ALWAYS_INLINE inline void SetText(std::string& text, const LongText& value) {
  const auto store = [&](char* to) {
    std::memcpy(to, &value.first, 16);
    std::memcpy(to + value.length - 16, &value.last, 16);
  };
  const auto length = static_cast<size_t>(value.length);
  if (text.size() >= length) {  // of an earlier run
    text.resize(length);
    store(text.data());
    return;
  }
  char buffer[32];
  store(buffer);
  text.assign(buffer, length);
}
inline void SetText(std::string& text, const char* buffer, int length) {
  if (length < 16 || length > 31) {
    text.assign(buffer, static_cast<size_t>(length));
    return;
  }
  LongText value = {0, 0, length};
  std::memcpy(&value.first, buffer, 16);
  std::memcpy(&value.last, buffer + length - 16, 16);
  SetText(text, value);
}

// Integers below it are short texts, with their sign.
constexpr uint64_t kShortIntegers = 100'000'000'000'000;

ABSL_ATTRIBUTE_ALWAYS_INLINE inline void SetInteger(std::string& text, uint64_t magnitude,
                                                    bool negative) {
  if (magnitude < kShortIntegers) {
    SetText(text, WithSign(DigitsText(magnitude), negative));
    return;
  }
  constexpr uint64_t k10ToThe16 = 10'000'000'000'000'000;
  if (magnitude >= k10ToThe16) {
    const unsigned __int128 last = SixteenDigits(magnitude % k10ToThe16);
    const ShortText front = WithSign(DigitsText(magnitude / k10ToThe16), negative);
    SetText(text, LongText{last << (8 * front.length) | front.chars, last, 16 + front.length});
    return;
  }
  const ShortText digits = DigitsText(magnitude);
  const ShortText all = WithSign(digits, negative);
  if (all.length <= kShortText) {
    SetText(text, all);
  } else {
    SetText(text, LongText{all.chars, all.length == 17 ? digits.chars : all.chars, all.length});
  }
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

ABSL_ATTRIBUTE_NOINLINE void FillSlot(uint64_t code, ElementType type, TextSlot& slot,
                                      std::string& text) {
  char buffer[kMaxNumberText];
  const auto length = static_cast<size_t>(NumberToText(code, type, buffer));
  text.assign(buffer, length);
  if (length > kShortText) return;
  uint64_t words[2] = {};
  std::memcpy(words, buffer, length);
  slot.low.store(words[0], std::memory_order_relaxed);
  slot.high.store(words[1] | length << 56, std::memory_order_release);
}

template <int kType>
void WriteAllByTable(const void* from, absl::Span<std::string> to) {
  constexpr int kBits = kElementTypeTable[kType].bits;
  static std::array<TextSlot, size_t{1} << kBits> slots = {};
  constexpr bool kOneCharacter = kType == static_cast<int>(ElementType::kBool) ||
                                 kType == static_cast<int>(ElementType::kUint2);
  for (size_t i = 0; i < to.size(); ++i) {
    size_t code;
    if constexpr (kBits == 16) {
      code = LoadAs<uint16_t>(from, i);
    } else {
      constexpr size_t kPerByte = 8 / kBits;
      code = static_cast<const uint8_t*>(from)[i / kPerByte] >> (i % kPerByte * kBits) &
             LowMask(kBits);
    }
    TextSlot& slot = slots[code];
    const uint64_t high = slot.high.load(std::memory_order_acquire);
    const uint64_t low = slot.low.load(std::memory_order_relaxed);
    if constexpr (kOneCharacter) {
      if (to[i].size() == 1 && high != 0) {  // of an earlier run: there is the NUL already
        to[i][0] = static_cast<char>(low);
        continue;
      }
    }
    if (high == 0) {
      FillSlot(code, static_cast<ElementType>(kType), slot, to[i]);
    } else {
      SetText(to[i], ShortText{static_cast<unsigned __int128>(high) << 64 | low,
                               static_cast<int>(high >> 56)});
    }
  }
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
uint64_t Magnitude(T value) {
  const uint64_t mask = 0 - static_cast<uint64_t>(value < 0);
  return (static_cast<uint64_t>(value) ^ mask) - mask;
}

template <typename T>
void WriteEachInteger(const void* from, absl::Span<std::string> to) {
  for (size_t i = 0; i < to.size(); ++i) {
    const T value = LoadAs<T>(from, i);
    SetInteger(to[i], Magnitude(value), value < 0);
  }
}

inline void SetTexts(absl::Span<std::string> to, const DigitTextBlock& block) {
  for (size_t i = 0; i < to.size(); ++i) {
    SetText(to[i], ShortText{static_cast<unsigned __int128>(block.high[i]) << 64 | block.low[i],
                             static_cast<int>(block.length[i])});
  }
}

// Integers of 64 bits, one at a time but for their digits.
template <typename T>
void SetWideTexts(const uint8_t* from, absl::Span<std::string> to, LongDigitTextsFn digits) {
  constexpr uint64_t k10ToThe8 = 100'000'000;
  constexpr uint64_t k10ToThe16 = k10ToThe8 * k10ToThe8;
  LongDigitTextBlock block;
  uint64_t magnitudes[kDigitTexts];
  for (size_t i = 0; i < kDigitTexts; ++i) {
    const T value = LoadAs<T>(from, i);
    magnitudes[i] = Magnitude(value);
    const uint64_t last = magnitudes[i] % k10ToThe16;
    block.front[i] = magnitudes[i] / k10ToThe16;
    block.middle[i] = last / k10ToThe8;
    block.back[i] = last % k10ToThe8;
    block.negative[i] = static_cast<uint64_t>(value < 0);
  }
  digits(block);
  using Wide = unsigned __int128;
  for (size_t i = 0; i < to.size(); ++i) {
    if (magnitudes[i] >= k10ToThe16) {
      SetText(to[i], LongText{Wide{block.first_high[i]} << 64 | block.first_low[i],
                              Wide{block.last_high[i]} << 64 | block.last_low[i],
                              static_cast<int>(block.length[i])});
    } else {
      SetInteger(to[i], magnitudes[i], block.negative[i] != 0);
    }
  }
}

template <typename T>
bool BelowTwoToThe32(const uint8_t* from) {
  uint64_t all = 0;
  for (size_t i = 0; i < kDigitTexts; ++i) {
    const auto value = static_cast<uint64_t>(LoadAs<T>(from, i));
    all |= std::is_signed_v<T> ? value ^ (0 - (value >> 63)) : value;
  }
  return all < 0xFFFFFFFF;  // of negative ones the magnitude is one more
}

// Integers of 16 bits or more, a block at a time.
template <typename T>
void WriteIntegers(const void* from, absl::Span<std::string> to) {
  const DigitTextsFn digits = DigitTextsOf(8 * sizeof(T), std::is_signed_v<T>);
  const LongDigitTextsFn long_digits = LongDigitTextsOf();
  if (digits == nullptr || long_digits == nullptr) return WriteEachInteger<T>(from, to);
  DigitTextBlock block;
  T rest[kDigitTexts] = {};  // the last part, when it is no whole block
  for (size_t begin = 0; begin < to.size(); begin += kDigitTexts) {
    const uint8_t* source = static_cast<const uint8_t*>(from) + begin * sizeof(T);
    const auto part = to.subspan(begin, kDigitTexts);
    if (part.size() < kDigitTexts) {
      std::memcpy(rest, source, part.size() * sizeof(T));
      source = reinterpret_cast<const uint8_t*>(rest);
    }
    if constexpr (sizeof(T) == 8) {
      if (!BelowTwoToThe32<T>(source)) {
        SetWideTexts<T>(source, part, long_digits);
        continue;
      }
    }
    digits(source, block);
    SetTexts(part, block);
  }
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
    ShortText text = {};
    if (value < static_cast<Float>(kShortIntegers)) {
      const auto integer = static_cast<int64_t>(value);
      if (static_cast<Float>(integer) == value) {
        SetText(to[i], WithSign(DigitsText(static_cast<uint64_t>(integer)), negative));
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
      SetText(to[i], buffer, static_cast<int>(end - buffer));
      continue;
    }
    const int length = WideFloatToText<Float>(code, buffer);
    to[i].assign(buffer, static_cast<size_t>(length));
  }
}

}  // namespace

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

}  // namespace onnx_run::convert_internal
