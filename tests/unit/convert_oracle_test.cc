// An oracle for the conversions that shares no code with the library: exact rational numbers of any
// length, formats written out by hand. It does not compute a result; it judges one, by comparing
// the source value with the midpoints between the result's value and its neighbours.
#include <cmath>
#include <future>
#include <random>

#include "absl/container/inlined_vector.h"
#include "tests/unit/convert_test_util.h"

// g++ 12 sees uninitialised members in abseil's InlinedVector.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

namespace onnx_run {
namespace {

using E = ElementType;

// --- Natural numbers and rationals
// ------------------------------------------------------------------

class Big {
 public:
  Big(uint64_t value = 0) {  // NOLINT: numbers are numbers
    for (; value != 0; value >>= 32) limbs_.push_back(static_cast<uint32_t>(value));
  }
  friend Big operator*(const Big& a, const Big& b) {
    Big result;
    result.limbs_.resize(a.limbs_.size() + b.limbs_.size());
    for (size_t i = 0; i < a.limbs_.size(); ++i) {
      uint64_t carry = 0;
      for (size_t j = 0; j < b.limbs_.size(); ++j) {
        carry += uint64_t{a.limbs_[i]} * b.limbs_[j] + result.limbs_[i + j];
        result.limbs_[i + j] = static_cast<uint32_t>(carry);
        carry >>= 32;
      }
      result.limbs_[i + b.limbs_.size()] = static_cast<uint32_t>(carry);
    }
    result.Trim();
    return result;
  }
  friend Big operator+(const Big& a, const Big& b) {
    Big result;
    uint64_t carry = 0;
    for (size_t i = 0; i < std::max(a.limbs_.size(), b.limbs_.size()) || carry != 0; ++i) {
      carry += uint64_t{a.Limb(i)} + b.Limb(i);
      result.limbs_.push_back(static_cast<uint32_t>(carry));
      carry >>= 32;
    }
    return result;
  }
  static int Compare(const Big& a, const Big& b) {
    if (a.limbs_.size() != b.limbs_.size()) return a.limbs_.size() < b.limbs_.size() ? -1 : 1;
    for (size_t i = a.limbs_.size(); i-- > 0;) {
      if (a.limbs_[i] != b.limbs_[i]) return a.limbs_[i] < b.limbs_[i] ? -1 : 1;
    }
    return 0;
  }
  static Big PowerOf2(int64_t exponent) {
    Big result;
    result.limbs_.assign(static_cast<size_t>(exponent / 32), 0);
    result.limbs_.push_back(uint32_t{1} << (exponent % 32));
    return result;
  }
  bool Bit(int64_t i) const { return (Limb(static_cast<size_t>(i / 32)) >> (i % 32) & 1) != 0; }
  bool IsZero() const { return limbs_.empty(); }

 private:
  uint32_t Limb(size_t i) const { return i < limbs_.size() ? limbs_[i] : 0; }
  void Trim() {
    while (!limbs_.empty() && limbs_.back() == 0) limbs_.pop_back();
  }
  absl::InlinedVector<uint32_t, 10> limbs_;
};

struct Rational {  // >= 0
  Big numerator;
  Big denominator = 1;
};

int Compare(const Rational& a, const Rational& b) {
  return Big::Compare(a.numerator * b.denominator, b.numerator * a.denominator);
}

Rational Scaled(uint64_t significand, int64_t exponent) {
  if (exponent >= 0) return {Big(significand) * Big::PowerOf2(exponent), 1};
  return {significand, Big::PowerOf2(-exponent)};
}

Rational Middle(const Rational& a, const Rational& b) {
  return {a.numerator * b.denominator + b.numerator * a.denominator,
          a.denominator * b.denominator * Big(2)};
}

// --- The formats, from the tables of the standard
// -----------------------------------------------------

struct Format {
  E type;
  int bits;
  char kind;  // f loat, s igned, u nsigned, b ool
  int mantissa;
  int bias;
  uint64_t max;       // greatest finite code, without sign
  uint64_t overflow;  // code of overflow when it does not saturate, without sign
  uint64_t nan;       // a NaN's code, without sign
};

constexpr uint64_t kF64Infinity = 0x7FF0000000000000;
constexpr Format kFormats[] = {
    {E::kFloat, 32, 'f', 23, 127, 0x7F7FFFFF, 0x7F800000, 0x7FC00000},
    {E::kDouble, 64, 'f', 52, 1023, kF64Infinity - 1, kF64Infinity, 0x7FF8000000000000},
    {E::kFloat16, 16, 'f', 10, 15, 0x7BFF, 0x7C00, 0x7E00},
    {E::kBfloat16, 16, 'f', 7, 127, 0x7F7F, 0x7F80, 0x7FC0},
    {E::kFloat8e4m3fn, 8, 'f', 3, 7, 0x7E, 0x7F, 0x7F},
    {E::kFloat8e4m3fnuz, 8, 'f', 3, 8, 0x7F, 0x80, 0x80},
    {E::kFloat8e5m2, 8, 'f', 2, 15, 0x7B, 0x7C, 0x7E},
    {E::kFloat8e5m2fnuz, 8, 'f', 2, 16, 0x7F, 0x80, 0x80},
    {E::kFloat8e8m0, 8, 'f', 0, 127, 0xFE, 0xFF, 0xFF},
    {E::kFloat4e2m1, 4, 'f', 1, 1, 0x7, 0x7, 0x8},
    {E::kUint8, 8, 'u', 0, 0, 0, 0, 0},
    {E::kUint16, 16, 'u', 0, 0, 0, 0, 0},
    {E::kUint32, 32, 'u', 0, 0, 0, 0, 0},
    {E::kUint64, 64, 'u', 0, 0, 0, 0, 0},
    {E::kUint4, 4, 'u', 0, 0, 0, 0, 0},
    {E::kUint2, 2, 'u', 0, 0, 0, 0, 0},
    {E::kInt8, 8, 's', 0, 0, 0, 0, 0},
    {E::kInt16, 16, 's', 0, 0, 0, 0, 0},
    {E::kInt32, 32, 's', 0, 0, 0, 0, 0},
    {E::kInt64, 64, 's', 0, 0, 0, 0, 0},
    {E::kInt4, 4, 's', 0, 0, 0, 0, 0},
    {E::kInt2, 2, 's', 0, 0, 0, 0, 0},
    {E::kBool, 8, 'b', 0, 0, 0, 0, 0},
};

bool IsE8m0(const Format& format) { return format.type == E::kFloat8e8m0; }
bool IsFnuz(const Format& format) { return format.overflow == 0x80; }

// Value of a float code without sign, as if exponents went on for ever.
Rational Magnitude(const Format& format, uint64_t code) {
  if (IsE8m0(format)) return Scaled(1, static_cast<int64_t>(code) - 127);
  const uint64_t field = code >> format.mantissa;
  const uint64_t fraction = code - (field << format.mantissa);
  if (field == 0) return Scaled(fraction, 1 - format.bias - format.mantissa);
  return Scaled(fraction + (uint64_t{1} << format.mantissa),
                static_cast<int64_t>(field) - format.bias - format.mantissa);
}

struct Value {
  enum Class { kFinite, kInfinity, kNan } value_class = kFinite;
  bool negative = false;
  Rational magnitude;
};

Value Decode(const Format& format, uint64_t code) {
  Value value;
  if (format.kind == 'b') {
    value.magnitude = {code != 0 ? 1U : 0U, 1};
    return value;
  }
  const uint64_t top = uint64_t{1} << (format.bits - 1);
  if (format.kind == 'u') {
    value.magnitude = {code, 1};
    return value;
  }
  value.negative = !IsE8m0(format) && (code & top) != 0;
  if (format.kind == 's') {
    const uint64_t magnitude = value.negative ? top - (code - top) : code;
    value.magnitude = {magnitude, 1};
    return value;
  }
  const uint64_t magnitude = value.negative ? code - top : code;
  if (IsFnuz(format) && code == 0x80) {
    value.value_class = Value::kNan;
  } else if (magnitude > format.max) {
    const bool has_infinity = format.overflow != format.nan;
    value.value_class =
        has_infinity && magnitude == format.overflow ? Value::kInfinity : Value::kNan;
  } else {
    value.magnitude = Magnitude(format, magnitude);
  }
  return value;
}

// --- The judgement
// -----------------------------------------------------------------------------------

uint64_t WithSign(const Format& format, uint64_t magnitude, bool negative) {
  if (IsE8m0(format) || (IsFnuz(format) && (magnitude == 0 || magnitude == 0x80))) return magnitude;
  return magnitude + (negative ? uint64_t{1} << (format.bits - 1) : 0);
}

// Whether |value| rounds to `code` or above in a format whose codes go on for ever.
bool RoundsToAtLeast(const Format& format, const Rational& value, uint64_t code) {
  if (code == 0) return true;
  const int order = Compare(value, Middle(Magnitude(format, code - 1), Magnitude(format, code)));
  return order > 0 || (order == 0 && code % 2 == 0);
}

uint64_t WrappedInteger(const Format& to, const Value& value) {
  if (value.value_class != Value::kFinite) return 0;
  // All denominators here are powers of two.
  int64_t point = 0;
  while (!value.magnitude.denominator.Bit(point)) ++point;
  uint64_t integer = 0;
  for (int64_t i = 0; i < 64; ++i) {
    integer |= uint64_t{value.magnitude.numerator.Bit(point + i) ? 1U : 0U} << i;
  }
  if (to.bits < 8 && point > 0 && value.magnitude.numerator.Bit(point - 1)) {
    bool below_half = false;
    for (int64_t i = 0; i + 1 < point; ++i)
      below_half = below_half || value.magnitude.numerator.Bit(i);
    if (below_half || integer % 2 != 0) ++integer;
  }
  if (value.negative) integer = ~integer + 1;
  return to.bits == 64 ? integer : integer % (uint64_t{1} << to.bits);
}

bool JudgeE8m0(const Value& value, const ConvertOptions& options, uint64_t code) {
  const Format& to = kFormats[8];
  const uint64_t too_small = options.saturate ? 0x00 : 0xFF;
  const uint64_t too_large = options.saturate ? 0xFE : 0xFF;
  if (value.value_class == Value::kNan) return code == 0xFF;
  if (value.value_class == Value::kFinite && value.magnitude.numerator.IsZero())
    return code == too_small;
  if (value.negative) return code == 0xFF;
  if (value.value_class == Value::kInfinity) return code == too_large;
  if (Compare(value.magnitude, Magnitude(to, 0)) < 0) return code == too_small;
  // The greatest value that is no greater, by bisection; 300 stands for all beyond.
  uint64_t below = 0;
  uint64_t above = 300;
  while (above - below > 1) {
    const uint64_t middle = (below + above) / 2;
    (Compare(Magnitude(to, middle), value.magnitude) <= 0 ? below : above) = middle;
  }
  uint64_t rounded = below;
  if (Compare(Magnitude(to, below), value.magnitude) != 0) {
    const bool upper_half =
        Compare(value.magnitude, Middle(Magnitude(to, below), Magnitude(to, below + 1))) >= 0;
    if (options.round_mode == RoundMode::kUp) ++rounded;
    if (options.round_mode == RoundMode::kNearest && upper_half) ++rounded;
  }
  return code == (rounded > 0xFE ? too_large : rounded);
}

bool Judge(const Format& to, const Value& value, const ConvertOptions& options, uint64_t code) {
  if (to.kind == 'b') {
    const bool zero = value.value_class == Value::kFinite && value.magnitude.numerator.IsZero();
    return code == (zero ? 0 : 1);
  }
  if (to.kind != 'f') return code == WrappedInteger(to, value);
  if (IsE8m0(to)) return JudgeE8m0(value, options, code);
  if (value.value_class == Value::kNan) {
    if (to.type == E::kFloat4e2m1) return code == (value.negative ? 0x0 : 0x8);
    if (to.bits == 8) return code == WithSign(to, to.nan, value.negative);
    const uint64_t sign = value.negative ? uint64_t{1} << (to.bits - 1) : 0;
    return (code & ~(to.nan - to.overflow - 1)) == (to.nan | sign);  // any payload, but quiet
  }
  const bool saturates = to.bits == 4 || (to.bits == 8 && options.saturate);
  const uint64_t overflow = WithSign(to, saturates ? to.max : to.overflow, value.negative);
  if (value.value_class == Value::kInfinity || RoundsToAtLeast(to, value.magnitude, to.max + 1)) {
    return code == overflow;
  }
  const uint64_t top = uint64_t{1} << (to.bits - 1);
  const uint64_t magnitude = code & ~top;
  return magnitude <= to.max && code == WithSign(to, magnitude, value.negative) &&
         RoundsToAtLeast(to, value.magnitude, magnitude) &&
         !RoundsToAtLeast(to, value.magnitude, magnitude + 1);
}

std::vector<ConvertOptions> OptionsOf(const Format& to) {
  std::vector<ConvertOptions> all = {{}};
  if (to.kind == 'f' && to.bits == 8) all.push_back({.saturate = false});
  if (IsE8m0(to)) {
    for (const RoundMode mode : {RoundMode::kDown, RoundMode::kNearest}) {
      all.push_back({true, mode});
      all.push_back({false, mode});
    }
  }
  return all;
}

// Conversions judged wrong, with the first of them; "" when none. Same types are copies, judged
// elsewhere.
std::string JudgeAll(const Format& from, const std::vector<uint64_t>& codes) {
  std::vector<std::vector<uint64_t>> results;
  for (const Format& to : kFormats) {
    if (to.type == from.type) continue;
    for (const ConvertOptions& options : OptionsOf(to)) {
      const std::vector<uint8_t> source = convert_test::Pack(codes, from.type);
      std::vector<uint8_t> destination(codes.size() * 8);
      if (!ConvertGeneric(source.data(), from.type, destination.data(), to.type,
                          static_cast<int64_t>(codes.size()), options)
               .ok()) {
        return "no conversion";
      }
      for (size_t i = 0; i < codes.size(); ++i) {
        const uint64_t code = LoadCode(destination.data(), to.type, static_cast<int64_t>(i));
        if (!Judge(to, Decode(from, codes[i]), options, code)) {
          return absl::StrCat(convert_test::PairName(from.type, to.type, options), ": ",
                              absl::Hex(codes[i]), " became ", absl::Hex(code));
        }
      }
    }
  }
  return "";
}

// On two threads.
std::string JudgeAllInParts(const Format& from, const std::vector<uint64_t>& codes) {
  const auto middle = codes.begin() + static_cast<std::ptrdiff_t>(codes.size() / 2);
  auto first =
      std::async(std::launch::async, JudgeAll, from, std::vector<uint64_t>(codes.begin(), middle));
  const std::string second = JudgeAll(from, std::vector<uint64_t>(middle, codes.end()));
  const std::string result = first.get();
  return result.empty() ? second : result;
}

TEST(ConvertOracleTest, TheOracleRefusesWrongResults) {
  const Format& f16 = kFormats[2];
  const Value one_third = Decode(kFormats[0], 0x3EAAAAAB);
  EXPECT_TRUE(Judge(f16, one_third, {}, 0x3555));
  EXPECT_FALSE(Judge(f16, one_third, {}, 0x3556));
  EXPECT_FALSE(Judge(f16, one_third, {}, 0x3554));
  EXPECT_FALSE(Judge(f16, one_third, {}, 0xB555));
  EXPECT_FALSE(Judge(f16, Decode(kFormats[0], 0x477FF000), {}, 0x7BFF));
  EXPECT_FALSE(Judge(kFormats[4], Decode(kFormats[0], 0x43E80000), {.saturate = false}, 0x7F));
}

TEST(ConvertOracleTest, EveryValueOf16BitsOrFewer) {
  for (const Format& from : kFormats) {
    if (from.bits > 16) continue;
    std::vector<uint64_t> codes(size_t{1} << from.bits);
    for (size_t i = 0; i < codes.size(); ++i) codes[i] = i;
    EXPECT_EQ(JudgeAllInParts(from, codes), "") << TypeName(from.type);
  }
}

// Codes of `from` at and beside the value +-significand * 2^exponent.
void AddNeighbours(const Format& from, double value, std::vector<uint64_t>& codes) {
  const auto add = [&](uint64_t code) {
    for (const uint64_t neighbour : {code - 1, code, code + 1}) {
      codes.push_back(from.bits == 64 ? neighbour : neighbour & 0xFFFFFFFF);
    }
  };
  for (const double signed_value : {value, -value}) {
    if (from.type == E::kFloat) {
      add(convert_test::Bits(static_cast<float>(signed_value)));
    } else if (from.type == E::kDouble) {
      add(convert_test::Bits(signed_value));
    } else if (std::abs(value) < std::ldexp(1.0, 63)) {
      add(static_cast<uint64_t>(static_cast<int64_t>(signed_value)));
    } else if (value < std::ldexp(1.0, 64)) {
      add(static_cast<uint64_t>(value));
    }
  }
}

// Ties, representable values and limits of every format of 16 bits or fewer, with the neighbours of
// each.
std::vector<uint64_t> DirectedCodes(const Format& from) {
  std::vector<uint64_t> codes;
  for (const Format& to : kFormats) {
    if (to.kind != 'f' || to.bits > 16) continue;
    const uint64_t step = to.bits == 16 ? 13 : 1;
    for (uint64_t code = 0; code <= to.max; code += step) {
      const auto value_of = [&](uint64_t c) {
        if (IsE8m0(to)) return std::ldexp(1.0, static_cast<int>(c) - 127);
        const auto field = static_cast<int>(c >> to.mantissa);
        const auto fraction = static_cast<double>(c & ((uint64_t{1} << to.mantissa) - 1));
        const double one = field == 0 ? 0.0 : std::ldexp(1.0, to.mantissa);
        return std::ldexp(one + fraction, std::max(field, 1) - to.bias - to.mantissa);
      };
      AddNeighbours(from, value_of(code), codes);
      AddNeighbours(from, (value_of(code) + value_of(code + 1)) / 2, codes);
    }
  }
  for (int exponent = 0; exponent < 64; ++exponent) {
    AddNeighbours(from, std::ldexp(1.0, exponent), codes);
    AddNeighbours(from, std::ldexp(1.0, exponent) + 0.5, codes);
  }
  return codes;
}

std::vector<uint64_t> RandomCodes(const Format& from, size_t count) {
  std::mt19937_64 random(static_cast<uint64_t>(from.type));
  std::vector<uint64_t> codes;
  for (size_t i = 0; i < count; ++i) {
    uint64_t code = random();
    if (from.kind == 'f' && i % 2 == 0) {  // exponents that most formats have
      const auto value = std::ldexp(1.0 + std::ldexp(static_cast<double>(code >> 12), -52),
                                    static_cast<int>(code % 60) - 30);
      code = from.bits == 64 ? convert_test::Bits(value)
                             : convert_test::Bits(static_cast<float>(value));
      if ((i & 2) != 0)
        code &= ~((uint64_t{1} << (from.mantissa - i % 20)) - 1);  // few digits: ties
    } else if (from.kind != 'f') {
      code >>= i % static_cast<size_t>(from.bits);
      if ((i & 1) != 0) code &= ~((uint64_t{1} << (i % 40)) - 1);
    }
    codes.push_back(from.bits == 64 ? code : code & 0xFFFFFFFF);
  }
  return codes;
}

TEST(ConvertOracleTest, DirectedAndRandomValuesOf32And64Bits) {
  for (const Format& from : kFormats) {
    if (from.bits < 32) continue;
    EXPECT_EQ(JudgeAllInParts(from, DirectedCodes(from)), "") << TypeName(from.type);
    EXPECT_EQ(JudgeAllInParts(from, RandomCodes(from, 40000)), "") << TypeName(from.type);
  }
}

// Ties of the wide formats: DOUBLE and 64 bit integers to FLOAT, 64 bit integers to DOUBLE.
TEST(ConvertOracleTest, TiesOfFloatAndDouble) {
  std::mt19937_64 random(7);
  const Format& f32 = kFormats[0];
  const Format& f64 = kFormats[1];
  for (int i = 0; i < 100000; ++i) {
    const auto below = static_cast<uint32_t>(random() % 0x7F800000);
    // The midpoint of two floats next to each other, from their bits.
    const auto bits =
        convert_test::Bits((double{std::bit_cast<float>(below)} +
                            (below + 1 == 0x7F800000 ? std::ldexp(1.0, 128)
                                                     : double{std::bit_cast<float>(below + 1)})) /
                           2);
    for (const uint64_t code : {bits - 1, bits, bits + 1}) {
      ASSERT_TRUE(Judge(f32, Decode(f64, code), {}, ConvertCode(code, E::kDouble, E::kFloat)))
          << std::hex << code;
    }
    for (const Format* to : {&f32, &f64}) {
      const int drop = static_cast<int>(random() % static_cast<uint64_t>(63 - to->mantissa)) + 1;
      const uint64_t tie = ((random() >> 1 >> drop) << drop) | uint64_t{1} << (drop - 1);
      for (const E type : {E::kInt64, E::kUint64}) {
        const Format& from = type == E::kInt64 ? kFormats[19] : kFormats[13];
        for (const uint64_t code : {tie - 1, tie, tie + 1, ~tie + 1}) {
          ASSERT_TRUE(Judge(*to, Decode(from, code), {}, ConvertCode(code, type, to->type)))
              << std::hex << code;
        }
      }
    }
  }
}

// Decimal texts against the rational they name.
TEST(ConvertOracleTest, RandomTexts) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 20000; ++i) {
    const auto digits = static_cast<int>(random() % (i % 8 == 0 ? 60 : 18)) + 1;
    const int range = i % 4 == 0 ? 330 : i % 4 == 1 ? 45 : 8;
    const int exponent =
        static_cast<int>(random() % static_cast<uint64_t>(2 * range)) - range - digits / 2;
    std::string text(1, random() % 2 == 0 ? '-' : '+');
    Big numerator;
    for (int d = 0; d < digits; ++d) {
      const uint64_t digit = random() % 10;
      text += static_cast<char>('0' + digit);
      numerator = numerator * Big(10) + Big(digit);
    }
    Big power = 1;
    for (int d = 0; d < std::abs(exponent); ++d) power = power * Big(10);
    Value value;
    value.negative = text[0] == '-';
    value.magnitude = exponent >= 0 ? Rational{numerator * power, 1} : Rational{numerator, power};
    absl::StrAppend(&text, "e", exponent);
    for (const Format& to : kFormats) {
      if (to.kind != 'f') continue;
      for (const ConvertOptions& options : OptionsOf(to)) {
        uint64_t code = 0;
        ASSERT_TRUE(ConvertFromString(absl::MakeConstSpan(&text, 1), &code, to.type, options).ok())
            << text;
        ASSERT_TRUE(Judge(to, value, options, code))
            << text << " to " << TypeName(to.type) << " gave " << std::hex << code;
      }
    }
  }
}

}  // namespace
}  // namespace onnx_run
