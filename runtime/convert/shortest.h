// The shortest decimal of a FLOAT or DOUBLE, and integers as digits. Integer arithmetic only.
#ifndef ONNX_RUN_RUNTIME_CONVERT_SHORTEST_H_
#define ONNX_RUN_RUNTIME_CONVERT_SHORTEST_H_

#include <cstdint>

namespace onnx_run::convert_internal {

// digits * 10^exponent; no trailing zeros.
struct ShortestDigits {
  uint64_t digits;
  int exponent;
};

// The decimal of fewest digits that reads back as the float of these bits, and the nearest to it
// among those. Positive and finite.
ShortestDigits ShortestOfFloat(uint32_t bits);
ShortestDigits ShortestOfDouble(uint64_t bits);

// Writes the decimal digits of `value` ("0" of 0) and returns their end; at most 20.
char* WriteDigits(uint64_t value, char* out);
// The number without exponent: "0.001", "12.5", "300"; returns its end.
char* WritePositional(const ShortestDigits& number, char* out);

}  // namespace onnx_run::convert_internal

#endif  // ONNX_RUN_RUNTIME_CONVERT_SHORTEST_H_
