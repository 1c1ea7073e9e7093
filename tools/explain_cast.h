// What a conversion does to one value, in words: for the program onnx-cast.
#ifndef ONNX_RUN_TOOLS_EXPLAIN_CAST_H_
#define ONNX_RUN_TOOLS_EXPLAIN_CAST_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/convert/convert.h"
#include "runtime/element_type.h"

namespace onnx_run::tools {

// The code that VALUE of the command line stands for: a number in decimal, by the rules of Cast
// from STRING, or a bit pattern 0x... of no more than the type's bits.
absl::StatusOr<uint64_t> ParseCode(absl::string_view text, ElementType type);
// What to say where the integer that ParseCode made of `text` is not the number written there (300
// for INT8, 1.5 for INT32): a line; else nothing.
std::string AnotherNumber(absl::string_view text, uint64_t code, ElementType type);

// All digits of the value ("1.10000002384185791015625"), or hexadecimal where they would be too
// many.
std::string ExactText(uint64_t code, ElementType type);

// Several lines: the source, the result, rule, neighbours and loss.
std::string ExplainCast(uint64_t code, ElementType from, ElementType to,
                        const ConvertOptions& options);

// The same for Cast from STRING. Errors: InvalidArgument when `text` is not a number.
absl::StatusOr<std::string> ExplainText(const std::string& text, ElementType to,
                                        const ConvertOptions& options);

// One line for each type that `code` can be cast to.
std::string CastToAll(uint64_t code, ElementType from, const ConvertOptions& options,
                      int64_t opset);

}  // namespace onnx_run::tools

#endif  // ONNX_RUN_TOOLS_EXPLAIN_CAST_H_
