// Numbers as text, one element at a time. Exact, locale-free, indifferent to the floating-point
// unit's state.
//
// Source of the rules: docs/cast-semantics.md, section 3.7.
#ifndef ONNX_RUN_RUNTIME_CONVERT_TEXT_H_
#define ONNX_RUN_RUNTIME_CONVERT_TEXT_H_

#include <cfenv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/convert/convert.h"
#include "runtime/element_type.h"

namespace onnx_run::convert_internal {

// While in scope the thread has the default floating-point environment: nothing flushed to zero, no
// traps, rounding to nearest. Wanted around std::to_chars and std::from_chars.
class DefaultFloatEnvironment {
 public:
  DefaultFloatEnvironment() {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFloatEnvironment() { std::fesetenv(&saved_); }
  DefaultFloatEnvironment(const DefaultFloatEnvironment&) = delete;
  DefaultFloatEnvironment& operator=(const DefaultFloatEnvironment&) = delete;

 private:
  std::fenv_t saved_;
};

// Longest text of a number: "-0.", 323 zeros and 17 digits of a DOUBLE.
inline constexpr int kMaxNumberText = 400;

// Writes the text of an element to `buffer`, of kMaxNumberText bytes, and returns its length.
// Callers hold a DefaultFloatEnvironment.
int NumberToText(uint64_t code, ElementType type, char* buffer);

// The code of the element that `text` names, rounded once; nullopt when malformed. Callers hold a
// DefaultFloatEnvironment.
std::optional<uint64_t> NumberFromText(absl::string_view text, ElementType type,
                                       const ConvertOptions& options);

// Arrays of numeric elements to as many texts, which may hold other texts before; their memory is
// used again. Under the caller's DefaultFloatEnvironment, as below.
void WriteTexts(const void* from, ElementType type, absl::Span<std::string> to);
// Texts to packed elements: the index of the first malformed text, or the number of all.
size_t ReadTexts(absl::Span<const std::string> from, ElementType type, uint8_t* to,
                 const ConvertOptions& options);

// Eight characters in a word, the first in its lowest byte.
inline constexpr uint64_t kAllBytes = 0x0101010101010101;
inline constexpr uint64_t kZeros = '0' * kAllBytes;

// The texts of that many integers: 16 characters or fewer each, the first in the lowest byte of
// `low`, nothing but zeros behind the last.
inline constexpr size_t kDigitTexts = 64;
struct DigitTextBlock {
  uint64_t low[kDigitTexts];
  uint64_t high[kDigitTexts];
  uint64_t length[kDigitTexts];
};
using DigitTextsFn = void (*)(const uint8_t* from, DigitTextBlock& block);
// For integers of 16 or 32 bits, or of 64 bits with magnitudes below 2^32, by the vectors of the
// CPU at hand; nullptr when it has none.
DigitTextsFn DigitTextsOf(int bits, bool is_signed);

// The texts of that many integers of 10^16 or more: front * 10^16 + middle * 10^8 + back, the last
// two below 10^8. Of each the first 16 characters and, where it ends, the last 16.
struct LongDigitTextBlock {
  uint64_t front[kDigitTexts];
  uint64_t middle[kDigitTexts];
  uint64_t back[kDigitTexts];
  uint64_t negative[kDigitTexts];  // 0 or 1
  uint64_t first_low[kDigitTexts];
  uint64_t first_high[kDigitTexts];
  uint64_t last_low[kDigitTexts];
  uint64_t last_high[kDigitTexts];
  uint64_t length[kDigitTexts];
};
using LongDigitTextsFn = void (*)(LongDigitTextBlock& block);
LongDigitTextsFn LongDigitTextsOf();  // nullptr as above

}  // namespace onnx_run::convert_internal

#endif  // ONNX_RUN_RUNTIME_CONVERT_TEXT_H_
