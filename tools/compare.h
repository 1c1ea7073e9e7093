// Is a value the expected one? By the rule of the official backend tests, or to the bit.
//
// Type and shape come first. Then, element by element:
//   float, double, float16, bfloat16, complex   |got - want| <= atol + rtol * |want|; NaN equals
//   NaN, equal
//                                               infinities are equal
//   float8, float4                              equal values (NaN equals NaN, -0 equals 0)
//   integers, bool, strings                     equal
// With `exact` all bits are the same, or both are NaN. Sequences, optionals and maps go by their
// elements; an optional that holds a value equals that value.
#ifndef ONNX_RUN_TOOLS_COMPARE_H_
#define ONNX_RUN_TOOLS_COMPARE_H_

#include <cstdint>
#include <string>

#include "runtime/value.h"

namespace onnx_run::tools {

struct CompareOptions {
  double rtol = 1e-3;
  double atol = 1e-7;
  bool exact = false;
  bool type_and_shape_only = false;  // of values that are random by definition
};

struct CompareResult {
  bool equal = true;
  std::string path;      // of the part that differs: "[1]" in a sequence; "" for the value itself
  std::string reason;    // "type", "shape", "values", "length", "kind"
  std::string message;   // one line: what was got and what was expected
  int64_t elements = 0;  // compared, over all tensors
  int64_t mismatches = 0;
  // Of the first tensor with mismatches, its worst element.
  int64_t worst_index = -1;
  std::string worst_position;       // "[0,2]"
  std::string got, want;            // as text
  std::string got_bits, want_bits;  // as bit patterns
  double max_absolute = 0;          // largest differences of finite elements, equal or not
  double max_relative = 0;
};

CompareResult Compare(const Value& got, const Value& want, const CompareOptions& options = {});

}  // namespace onnx_run::tools

#endif  // ONNX_RUN_TOOLS_COMPARE_H_
