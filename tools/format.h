// Values as text for people: every element type, arrays as numpy prints them, long ones cut in the
// middle.
#ifndef ONNX_RUN_TOOLS_FORMAT_H_
#define ONNX_RUN_TOOLS_FORMAT_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "runtime/tensor.h"
#include "runtime/value.h"

namespace onnx_run::tools {

// The shortest digits that read back to the same element; very large and small ones with an
// exponent.
std::string NumberText(uint64_t code, ElementType type);
// Element `index`: a number as above, "true", "(1,-2)" of complex ones, a quoted string.
std::string ElementText(const Tensor& tensor, int64_t index);
// The bit pattern: "0x3F800000"; as many digits as the type has. Of complex numbers both parts.
std::string BitsText(uint64_t code, ElementType type);
std::string ElementBits(const Tensor& tensor, int64_t index);
// "0|01111111|0001100" of float types (sign|exponent|mantissa), "0000 1100" of others.
std::string LayoutBits(uint64_t code, ElementType type);
// "[1,0,2]" of element 17 in these dims; "" for a scalar.
std::string IndexText(int64_t index, absl::Span<const int64_t> dims);

struct FormatOptions {
  int64_t max_elements = 1000;  // more: only `edge_items` at both ends of each axis
  int64_t edge_items = 3;
  int line_width = 100;
};

// "[[1, 2],\n [3, 4]]"
std::string FormatTensor(const Tensor& tensor, const FormatOptions& options = {});
// "y  float[2,2]\n[[1, 2],\n [3, 4]]\n"; sequences, optionals and maps indented below their head
// line.
std::string FormatValue(absl::string_view name, const Value& value,
                        const FormatOptions& options = {});

}  // namespace onnx_run::tools

#endif  // ONNX_RUN_TOOLS_FORMAT_H_
