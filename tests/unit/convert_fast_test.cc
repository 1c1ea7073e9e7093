// Every fast path against the generic path: each instruction set that this machine has, every pair
// of types and every option; all values of 16 bits or fewer, directed and random ones of wider
// types.
#include <atomic>
#include <cfenv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <random>
#include <thread>

#include "runtime/convert/kernels.h"
#include "tests/unit/convert_test_util.h"
#include "tests/unit/target_test_util.h"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif
#if defined(__unix__)
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace onnx_run {
namespace {

using convert_test::kNumericTypes;
using convert_test::PairName;
using E = ElementType;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(__SANITIZE_UNDEFINED__)
constexpr int64_t kRandomValues = 200'000;
#else
constexpr int64_t kRandomValues = 10'000'000;
#endif

std::vector<ConvertOptions> OptionsOf(E to) {
  if (!IsFloat(to) || BitsOf(to) != 8) return {{}};
  std::vector<ConvertOptions> all;
  for (const RoundMode mode : {RoundMode::kUp, RoundMode::kDown, RoundMode::kNearest}) {
    for (const bool saturate : {true, false}) {
      if (to == E::kFloat8e8m0 || mode == RoundMode::kUp) all.push_back({saturate, mode});
    }
  }
  return all;
}

// The first element whose code differs, as text; "" when none does.
std::string FirstDifference(const std::vector<uint8_t>& source, E from,
                            const std::vector<uint8_t>& expected,
                            const std::vector<uint8_t>& actual, E to, int64_t count,
                            const ConvertOptions& options) {
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t right = LoadCode(expected.data(), to, i);
    const uint64_t wrong = LoadCode(actual.data(), to, i);
    if (right != wrong) {
      return absl::StrCat(PairName(from, to, options), ": ",
                          absl::Hex(LoadCode(source.data(), from, i)), " became ", absl::Hex(wrong),
                          ", should be ", absl::Hex(right));
    }
  }
  return "unused bits differ";
}

// Compares all targets with the generic path over packed source elements.
std::string Compare(const std::vector<uint8_t>& source, E from, int64_t count,
                    const std::vector<int64_t>& targets) {
  std::string problem;
  for (const E to : kNumericTypes) {
    if (to == from) continue;
    for (const ConvertOptions& options : OptionsOf(to)) {
      const auto bytes = static_cast<size_t>(*PackedBytes(to, count));
      std::vector<uint8_t> expected(bytes);
      if (!ConvertGeneric(source.data(), from, expected.data(), to, count, options).ok())
        return "no conversion";
      for (const int64_t target : targets) {
        if (targets.size() > 1) convert_internal::ForceTargetForTest(target);
        std::vector<uint8_t> actual(bytes, 0xA5);
        if (!Convert(source.data(), from, actual.data(), to, count, options).ok())
          return "no conversion";
        if (expected != actual && problem.empty()) {
          problem =
              absl::StrCat(hwy::TargetName(target), " ",
                           FirstDifference(source, from, expected, actual, to, count, options));
        }
      }
    }
  }
  return problem;
}

TEST(ConvertFastTest, EveryValueOf16BitsOrFewer) {
  const std::vector<int64_t> targets = Targets();
  for (const E from : kNumericTypes) {
    if (BitsOf(from) > 16) continue;
    const int64_t count = int64_t{1} << BitsOf(from);
    std::vector<uint8_t> source(static_cast<size_t>(*PackedBytes(from, count)));
    for (int64_t i = 0; i < count; ++i) StoreCode(source.data(), from, i, static_cast<uint64_t>(i));
    EXPECT_EQ(Compare(source, from, count, targets), "");
  }
  convert_internal::ForceTargetForTest(0);
}

// Packed sources: every byte, so every neighbour of every element.
TEST(ConvertFastTest, EveryByteOfPackedSources) {
  const std::vector<int64_t> targets = Targets();
  std::vector<uint8_t> source(256);
  for (size_t i = 0; i < 256; ++i) source[i] = static_cast<uint8_t>(i);
  for (const E from : kNumericTypes) {
    if (BitsOf(from) < 8) {
      EXPECT_EQ(Compare(source, from, 256 * 8 / BitsOf(from), targets), "");
    }
  }
  convert_internal::ForceTargetForTest(0);
}

void Append(std::vector<uint8_t>& bytes, E type, uint64_t code) {
  const auto* const raw = reinterpret_cast<const uint8_t*>(&code);
  bytes.insert(bytes.end(), raw, raw + BitsOf(type) / 8);
}

// Values and ties of every destination of 16 bits or fewer, ties of FLOAT and DOUBLE, powers of
// two, limits and special values; each with its neighbours, both signs.
std::vector<uint8_t> DirectedSource(E from) {
  std::vector<uint8_t> bytes;
  const auto add_code = [&](uint64_t code) {
    for (uint64_t delta : {uint64_t{0}, uint64_t{1}, ~uint64_t{0}}) {
      Append(bytes, from, code + delta);
      if (IsFloat(from)) Append(bytes, from, (code + delta) ^ uint64_t{1} << (BitsOf(from) - 1));
      if (!IsFloat(from)) Append(bytes, from, ~(code + delta) + 1);
    }
  };
  const auto add_value = [&](double value) { add_code(CodeFromDouble(value, from)); };
  for (const E to : kNumericTypes) {
    if (!IsFloat(to) || BitsOf(to) > 16) continue;
    for (uint64_t code = 0; code < uint64_t{1} << (BitsOf(to) - (to == E::kFloat8e8m0 ? 0 : 1));
         ++code) {
      const double value = CodeToDouble(code, to);
      const double next = CodeToDouble(code + 1, to);
      if (!std::isfinite(value)) continue;
      add_value(value);
      add_value(std::isfinite(next) ? (value + next) / 2 : value * 1.0625);
    }
  }
  for (int exponent = -1074; exponent < 1024; ++exponent) {
    add_value(std::ldexp(1.0, exponent));
    add_value(std::ldexp(1.5, exponent));
    add_value(std::ldexp(1.0 + 0x1p-24, exponent));
    add_value(std::ldexp(2.0 - 0x1p-25, exponent));
  }
  for (int bit = 0; bit < 64; ++bit) {
    for (int low = 0; low < bit; ++low) add_code((uint64_t{1} << bit) + (uint64_t{1} << low));
    add_code((uint64_t{2} << bit) - 1);
  }
  for (const double value :
       {0.0, 0.5, 1.5, 2.5, 464.0, 480.0, 65520.0, 1e20, 3e9, HUGE_VAL, std::nan("")})
    add_value(value);
  if (IsFloat(from)) {  // NaNs with every single payload bit
    for (int bit = 0; bit < BitsOf(from) - 1; ++bit)
      add_code(CodeFromDouble(HUGE_VAL, from) | uint64_t{1} << bit);
  }
  return bytes;
}

TEST(ConvertFastTest, DirectedValuesOf32And64Bits) {
  const std::vector<int64_t> targets = Targets();
  for (const E from : kNumericTypes) {
    if (BitsOf(from) < 32) continue;
    const std::vector<uint8_t> source = DirectedSource(from);
    EXPECT_EQ(
        Compare(source, from, static_cast<int64_t>(source.size()) * 8 / BitsOf(from), targets), "");
  }
  convert_internal::ForceTargetForTest(0);
}

// A random code: all bits, or a value that most destinations can tell from others, or few bits set.
uint64_t RandomCode(std::mt19937_64& random, E from) {
  const uint64_t bits = random();
  if (!IsFloat(from))
    return (bits & 1) != 0 ? bits >> (bits >> 1 & 63) : bits & random() & random();
  const int mantissa = InfoOf(from).layout.mantissa_bits;
  if ((bits & 3) == 0) return random();
  const uint64_t range = (bits & 4) != 0 ? 40 : 300;
  const uint64_t exponent =
      static_cast<uint64_t>(InfoOf(from).layout.bias) + (bits >> 8 & 0xFFFF) % range - range / 2;
  uint64_t fraction = random() & ((uint64_t{1} << mantissa) - 1);
  if ((bits & 8) != 0) fraction &= ~uint64_t{0} << (mantissa - static_cast<int>(bits >> 32 & 15));
  const uint64_t field = exponent & ((uint64_t{1} << InfoOf(from).layout.exponent_bits) - 1);
  return field << mantissa | fraction | (bits >> 63) << (BitsOf(from) - 1);
}

TEST(ConvertFastTest, RandomValuesOf32And64Bits) {
  constexpr int64_t kPart = 50'000;
  std::vector<E> wide;
  for (const E type : kNumericTypes) {
    if (BitsOf(type) >= 32) wide.push_back(type);
  }
  // Targets are for the whole process: threads share out the values of one target.
  const std::vector<int64_t> targets = Targets();
  for (size_t t = 0; t < targets.size(); ++t) {
    convert_internal::ForceTargetForTest(targets[t]);
    // The best target gets half of the values.
    const int64_t values =
        t == 0 ? kRandomValues / 2
               : kRandomValues / 2 / std::max<int64_t>(1, static_cast<int64_t>(targets.size()) - 1);
    std::atomic<int64_t> next{0};
    std::string problems[2];
    const auto work = [&](size_t worker) {
      for (;;) {
        const int64_t part = next++;
        const int64_t per_type = values / kPart + 1;
        if (part >= per_type * static_cast<int64_t>(wide.size())) return;
        const E from = wide[static_cast<size_t>(part / per_type)];
        std::mt19937_64 random(static_cast<uint64_t>(part) * 64 + t);
        std::vector<uint8_t> source;
        for (int64_t i = 0; i < kPart; ++i) Append(source, from, RandomCode(random, from));
        const std::string problem = Compare(source, from, kPart, {targets[t]});
        if (!problem.empty()) problems[worker] = problem;
      }
    };
    std::thread other(work, 1);
    work(0);
    other.join();
    EXPECT_EQ(problems[0], "");
    EXPECT_EQ(problems[1], "");
  }
  convert_internal::ForceTargetForTest(0);
}

// Numbers of elements that leave every kind of rest, at addresses of every alignment.
TEST(ConvertFastTest, EveryLengthAndAlignment) {
  constexpr int64_t kMost = 300;
  ForEachTarget([] {
    for (const E from : kNumericTypes) {
      std::vector<uint8_t> source(kMost * 8 + 64);
      std::mt19937_64 random(3);
      for (uint8_t& byte : source) byte = static_cast<uint8_t>(random());
      for (const E to : kNumericTypes) {
        for (int64_t count = 0; count <= kMost; count += count < 130 ? 1 : 17) {
          const auto offset = static_cast<size_t>(count % 7);
          const auto bytes = static_cast<size_t>(*PackedBytes(to, count));
          std::vector<uint8_t> expected(bytes);
          std::vector<uint8_t> actual(bytes + 32, 0xA5);
          const auto to_offset = static_cast<size_t>(count % 5);
          ASSERT_TRUE(
              ConvertGeneric(source.data() + offset, from, expected.data(), to, count).ok());
          ASSERT_TRUE(
              Convert(source.data() + offset, from, actual.data() + to_offset, to, count).ok());
          ASSERT_TRUE(std::equal(expected.begin(), expected.end(),
                                 actual.begin() + static_cast<std::ptrdiff_t>(to_offset)))
              << PairName(from, to, {}) << ", " << count << " elements";
          for (size_t i = 0; i < actual.size(); ++i) {
            if (i < to_offset || i >= to_offset + bytes) {
              ASSERT_EQ(actual[i], 0xA5)
                  << PairName(from, to, {}) << ", " << count << " elements: wrote outside";
            }
          }
        }
      }
    }
  });
}

#if defined(__SSE2__)
// Rounding mode, flush-to-zero, denormals-are-zero, traps: neither heeded nor changed.
TEST(ConvertFastTest, TheFloatingPointEnvironmentDoesNotMatter) {
  const unsigned normal = _mm_getcsr();
  const std::vector<int64_t> targets = Targets();
  for (const E from : kNumericTypes) {
    std::vector<uint8_t> source =
        BitsOf(from) >= 32 ? DirectedSource(from) : std::vector<uint8_t>();
    if (source.empty()) {
      for (uint64_t code = 0; code < 65536; ++code) Append(source, E::kUint16, code);
    }
    const int64_t count =
        std::min<int64_t>(static_cast<int64_t>(source.size()) * 8 / BitsOf(from), 40000);
    for (const E to : kNumericTypes) {
      const auto bytes = static_cast<size_t>(*PackedBytes(to, count));
      std::vector<uint8_t> expected(bytes);
      ASSERT_TRUE(ConvertGeneric(source.data(), from, expected.data(), to, count).ok());
      for (const int64_t target : targets) {
        convert_internal::ForceTargetForTest(target);
        // Bits: 15 flush to zero, 13-14 rounding, 7-12 masks of exceptions, 6 denormals are zero.
        for (const unsigned state : {0x1F80U | 1U << 13, 0x1F80U | 2U << 13, 0x1F80U | 3U << 13,
                                     0x1F80U | 0x8040U, 0x8040U, 0x0U}) {
          std::vector<uint8_t> actual(bytes);
          _mm_setcsr(state);
          const absl::Status status = Convert(source.data(), from, actual.data(), to, count);
          const unsigned after = _mm_getcsr();
          _mm_setcsr(normal);
          ASSERT_TRUE(status.ok());
          ASSERT_EQ(after, state) << PairName(from, to, {});
          ASSERT_TRUE(actual == expected) << PairName(from, to, {}) << ", MXCSR " << std::hex
                                          << state << ", " << hwy::TargetName(target);
        }
      }
    }
  }
  convert_internal::ForceTargetForTest(0);
}

TEST(ConvertFastTest, TextIgnoresTheFloatingPointEnvironment) {
  const unsigned normal = _mm_getcsr();
  for (const unsigned state : {0x1F80U | 2U << 13, 0x1F80U | 0x8040U, 0x8040U}) {
    const std::string texts[] = {"0.1", "1e-310", "3.4e38", "1e23"};
    double values[4];
    _mm_setcsr(state);
    const absl::Status status = ConvertFromString(texts, values, E::kDouble);
    std::string back[4];
    const absl::Status back_status = ConvertToString(values, E::kDouble, absl::MakeSpan(back));
    _mm_setcsr(normal);
    ASSERT_TRUE(status.ok() && back_status.ok());
    EXPECT_EQ(values[0], 0.1);
    EXPECT_EQ(values[1], 1e-310);
    EXPECT_EQ(values[3], 1e23);
    EXPECT_EQ(back[0], "0.1");
    EXPECT_EQ(back[1], "0." + std::string(309, '0') + "1");
  }
}
#endif

#if defined(__unix__)
// All 2^32 FLOATs, every target beside one run of the generic path; some 20 minutes on two cores.
// ONNX_RUN_EXHAUSTIVE=1 runs it. The target in force is the process's: shares are processes.
TEST(ConvertFastTest, ExhaustiveFloat) {
  if (std::getenv("ONNX_RUN_EXHAUSTIVE") == nullptr) GTEST_SKIP() << "wants ONNX_RUN_EXHAUSTIVE=1";
  constexpr uint64_t kPart = 1 << 16;
  const std::vector<int64_t> targets = Targets();
  const uint64_t shares = std::max(1U, std::thread::hardware_concurrency());
  const auto work = [&](uint64_t share) -> std::string {
    std::vector<uint8_t> source(kPart * 4);
    for (uint64_t part = share; part < 65536; part += shares) {
      for (uint64_t i = 0; i < kPart; ++i) {
        const auto code = static_cast<uint32_t>(part * kPart + i);
        std::memcpy(source.data() + 4 * i, &code, 4);
      }
      std::string problem = Compare(source, E::kFloat, kPart, targets);
      if (!problem.empty()) return problem;
    }
    return "";
  };
  std::vector<pid_t> children;
  for (uint64_t share = 0; share < shares; ++share) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const std::string problem = work(share);
      std::fprintf(stderr, "%s", problem.c_str());
      _exit(problem.empty() ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << "see above";
  }
}
#endif

}  // namespace
}  // namespace onnx_run
