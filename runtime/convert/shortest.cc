// The method is Schubfach: Raffaello Giulietti, "The Schubfach way to render doubles", 2020.
#include "runtime/convert/shortest.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace onnx_run::convert_internal {
namespace {

// 10^k * 2^-r rounded up, r such that bit 127 is the leading one.
struct Power {
  uint64_t high;
  uint64_t low;
};
constexpr int kMinPower = -292;
constexpr int kMaxPower = 324;
using PowerTable = std::array<Power, kMaxPower - kMinPower + 1>;

// A number of 16 limbs, the least significant first.
struct Limbs {
  static constexpr int kCount = 16;
  uint64_t limb[kCount] = {};
  constexpr void MultiplyBy5() {
    uint64_t carry = 0;
    for (uint64_t& l : limb) {
      const auto product = static_cast<unsigned __int128>(l) * 5 + carry;
      l = static_cast<uint64_t>(product);
      carry = static_cast<uint64_t>(product >> 64);
    }
  }
  constexpr void DivideBy5() {
    uint64_t rest = 0;
    for (int i = kCount - 1; i >= 0; --i) {
      const auto dividend = static_cast<unsigned __int128>(rest) << 64 | limb[i];
      limb[i] = static_cast<uint64_t>(dividend / 5);
      rest = static_cast<uint64_t>(dividend % 5);
    }
  }
  // The leading 128 bits, and one more unit where something is behind them.
  constexpr Power Leading(bool more) const {
    int top = kCount - 1;
    while (limb[top] == 0) --top;
    const auto at = [&](int i) { return i < 0 ? 0 : limb[i]; };
    const int shift = std::countl_zero(limb[top]);
    const auto join = [&](int i) {
      return shift == 0 ? at(i) : at(i) << shift | at(i - 1) >> (64 - shift);
    };
    Power power = {join(top), join(top - 1)};
    more = more || (at(top - 2) << shift) != 0;
    for (int i = top - 3; i >= 0; --i) more = more || limb[i] != 0;
    if (more && ++power.low == 0) ++power.high;
    return power;
  }
};

// 5^k has the leading bits of 10^k.
constexpr PowerTable MakePowers() {
  PowerTable table = {};
  Limbs number;
  number.limb[0] = 1;
  for (int k = 0; k <= kMaxPower; ++k, number.MultiplyBy5()) {
    table[static_cast<size_t>(k - kMinPower)] = number.Leading(false);
  }
  // Divided again and again, rounded down each time, is rounded down once; and never exact.
  number = {};
  number.limb[Limbs::kCount - 1] = uint64_t{1} << 63;
  for (int k = -1; k >= kMinPower; --k) {
    number.DivideBy5();
    table[static_cast<size_t>(k - kMinPower)] = number.Leading(true);
  }
  return table;
}
constexpr PowerTable kPowers = MakePowers();
static_assert(kPowers[-1 - kMinPower].high == 0xCCCCCCCCCCCCCCCC &&
              kPowers[-1 - kMinPower].low == 0xCCCCCCCCCCCCCCCD);

struct FloatFormat {
  using Bits = uint32_t;
  static constexpr int kMantissa = 23;
  static constexpr int kBias = 150;  // of the significand as an integer
  // power * value >> 32 (of what fits 96 bits), all that is lost joined into the last bit.
  static Bits Scale(int k, Bits value) {
    const Power& power = kPowers[static_cast<size_t>(k - kMinPower)];
    const uint64_t factor = power.high + (power.low != 0 ? 1 : 0);
    const auto product = static_cast<unsigned __int128>(factor) * value;
    const auto high = static_cast<uint32_t>(product >> 64);
    const auto middle = static_cast<uint32_t>(product >> 32);
    return high | (middle > 1 ? 1 : 0);
  }
};
struct DoubleFormat {
  using Bits = uint64_t;
  static constexpr int kMantissa = 52;
  static constexpr int kBias = 1075;
  static Bits Scale(int k, Bits value) {
    const Power& power = kPowers[static_cast<size_t>(k - kMinPower)];
    const auto low = static_cast<unsigned __int128>(power.low) * value;
    const auto sum =
        static_cast<unsigned __int128>(power.high) * value + static_cast<uint64_t>(low >> 64);
    return static_cast<uint64_t>(sum >> 64) | (static_cast<uint64_t>(sum) > 1 ? 1 : 0);
  }
};

constexpr int FloorLog2OfPowerOf10(int e) { return (e * 1741647) >> 19; }
constexpr int FloorLog10OfPowerOf2(int e) { return (e * 1262611) >> 22; }
constexpr int FloorLog10OfThreeQuartersOfPowerOf2(int e) { return (e * 1262611 - 524031) >> 22; }

template <class Format>
ShortestDigits Shortest(typename Format::Bits bits) {
  using Bits = typename Format::Bits;
  constexpr Bits kHidden = Bits{1} << Format::kMantissa;
  const Bits fraction = bits & (kHidden - 1);
  const int biased = static_cast<int>(bits >> Format::kMantissa);
  const Bits c = biased != 0 ? fraction | kHidden : fraction;
  const int q = std::max(biased, 1) - Format::kBias;

  // In quarters of the last place: the value, and the ends of the interval that rounds to it.
  const bool even = (c & 1) == 0;
  const bool near_below = fraction == 0 && biased > 1;
  const int k = near_below ? FloorLog10OfThreeQuartersOfPowerOf2(q) : FloorLog10OfPowerOf2(q);
  const int h = q + FloorLog2OfPowerOf10(-k) + 1;
  const Bits left = Format::Scale(-k, (4 * c - 2 + (near_below ? 1 : 0)) << h);
  const Bits middle = Format::Scale(-k, (4 * c) << h);
  const Bits right = Format::Scale(-k, (4 * c + 2) << h);
  const Bits lower = left + (even ? 0 : 1);
  const Bits upper = right - (even ? 0 : 1);

  const Bits s = middle / 4;
  ShortestDigits result = {};
  if (s >= 10) {
    const Bits tens = s / 10;
    const bool below = lower <= 40 * tens;
    const bool above = 40 * tens + 40 <= upper;
    if (below != above) {
      result = {tens + (above ? 1 : 0), k + 1};
      while (result.digits % 10 == 0) {
        result.digits /= 10;
        ++result.exponent;
      }
      return result;
    }
  }
  const bool below = lower <= 4 * s;
  const bool above = 4 * s + 4 <= upper;
  const Bits half = 4 * s + 2;
  const bool up = below != above ? above : middle > half || (middle == half && (s & 1) != 0);
  result = {s + (up ? 1 : 0), k};
  while (result.digits % 10 == 0) {
    result.digits /= 10;
    ++result.exponent;
  }
  return result;
}

constexpr std::array<char, 200> MakePairs() {
  std::array<char, 200> pairs = {};
  for (int i = 0; i < 100; ++i) {
    pairs[static_cast<size_t>(2 * i)] = static_cast<char>('0' + i / 10);
    pairs[static_cast<size_t>(2 * i + 1)] = static_cast<char>('0' + i % 10);
  }
  return pairs;
}
constexpr std::array<char, 200> kPairs = MakePairs();

constexpr std::array<uint64_t, 20> MakePowersOf10() {
  std::array<uint64_t, 20> powers = {1};
  for (size_t i = 1; i < powers.size(); ++i) powers[i] = powers[i - 1] * 10;
  powers[0] = 0;  // 0 has a digit too
  return powers;
}
constexpr std::array<uint64_t, 20> kPowersOf10 = MakePowersOf10();

inline int CountDigits(uint64_t value) {
  const int guess = std::bit_width(value) * 1233 >> 12;  // bits * log10(2)
  return guess + (value >= kPowersOf10[static_cast<size_t>(guess)] ? 1 : 0);
}

inline void WritePair(uint32_t value, char* out) { std::memcpy(out, &kPairs[2 * value], 2); }

// Exactly `count` digits that end at `end`.
inline void WriteBackwards(uint64_t value, int count, char* end) {
  while (count > 8) {
    auto low = static_cast<uint32_t>(value % 100'000'000);
    value /= 100'000'000;
    const uint32_t upper = low / 10000;
    low %= 10000;
    end -= 8;
    WritePair(upper / 100, end);
    WritePair(upper % 100, end + 2);
    WritePair(low / 100, end + 4);
    WritePair(low % 100, end + 6);
    count -= 8;
  }
  auto rest = static_cast<uint32_t>(value);
  while (count > 1) {
    end -= 2;
    WritePair(rest % 100, end);
    rest /= 100;
    count -= 2;
  }
  if (count != 0) end[-1] = static_cast<char>('0' + rest);
}

}  // namespace

ShortestDigits ShortestOfFloat(uint32_t bits) { return Shortest<FloatFormat>(bits); }
ShortestDigits ShortestOfDouble(uint64_t bits) { return Shortest<DoubleFormat>(bits); }

char* WriteDigits(uint64_t value, char* out) {
  const int count = CountDigits(value);
  WriteBackwards(value, count, out + count);
  return out + count;
}

char* WritePositional(const ShortestDigits& number, char* out) {
  const int count = CountDigits(number.digits);
  const int point = count + number.exponent;  // digits before the point
  if (point <= 0) {
    *out++ = '0';
    *out++ = '.';
    out = std::fill_n(out, -point, '0') + count;
    WriteBackwards(number.digits, count, out);
    return out;
  }
  if (point < count) {
    char* const end = out + count + 1;
    WriteBackwards(number.digits, count, end);
    for (int i = 0; i < point; ++i) out[i] = out[i + 1];
    out[point] = '.';
    return end;
  }
  WriteBackwards(number.digits, count, out + count);
  return std::fill_n(out + count, number.exponent, '0');
}

}  // namespace onnx_run::convert_internal
