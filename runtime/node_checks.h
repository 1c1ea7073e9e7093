// What the standard's schema demands of a node, checked at load. Internal to runtime/.
#ifndef ONNX_RUN_RUNTIME_NODE_CHECKS_H_
#define ONNX_RUN_RUNTIME_NODE_CHECKS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/kernel.h"

namespace onnx_run {

// Numbers of inputs and outputs, required ones, names and kinds of attributes. InvalidArgument.
absl::Status CheckArityAndAttributes(const NodeInfo& node);

// Input types (kAbsent: not known) against the schema, and what it tells of the output types.
// `infer` may be nullptr. A type that only later versions of the operator allow is refused when
// `strict`, else it draws a warning. `all_known` tells whether every input's type was known.
absl::Status CheckAndInferTypes(const NodeInfo& node, const SchemaTable& schemas, InferFn infer,
                                absl::Span<const Type> inputs, absl::Span<Type> outputs,
                                bool strict, std::vector<std::string>* warnings, bool* all_known);

}  // namespace onnx_run

#endif  // ONNX_RUN_RUNTIME_NODE_CHECKS_H_
