// Values written on the command line.
//
//   1.5                       by the input's declared type; its shape when that has one element,
//   else a scalar 1,2,3   [1,2,3]           one axis; without brackets in the declared shape when
//   that has as many elements
//   [[1,2],[3,4]]             nested lists give the shape
//   float16[2,2]:1,2,3,4      type and shape of its own
//   float16[2,2]:0            one value fills the shape
//   "a,b",c                   strings, quoted where they hold commas, brackets or blanks
//   none                      an empty optional
//
// Numbers are read by the rules of Cast from STRING: exact, rounded once.
#ifndef ONNX_RUN_TOOLS_LITERAL_H_
#define ONNX_RUN_TOOLS_LITERAL_H_

#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/value.h"

namespace onnx_run::tools {

// "float32" and "float64" beside the standard's own names.
std::optional<ElementType> ParseElementType(absl::string_view name);

// `declared` may be undeclared: then only the form with a type of its own can be read.
// Errors: InvalidArgument.
absl::StatusOr<Value> ParseLiteral(absl::string_view text, const Type& declared);

}  // namespace onnx_run::tools

#endif  // ONNX_RUN_TOOLS_LITERAL_H_
