// The only two macros of this library: return, or assign, from a Status (this abseil has none yet).
#ifndef ONNX_RUN_RUNTIME_STATUS_MACROS_H_
#define ONNX_RUN_RUNTIME_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define ONNX_RUN_CONCAT_INNER(a, b) a##b
#define ONNX_RUN_CONCAT(a, b) ONNX_RUN_CONCAT_INNER(a, b)

// Returns from the enclosing function when `expr` is not OK.
#define RETURN_IF_ERROR(expr)                                \
  do {                                                       \
    absl::Status status_macro_value = (expr);                \
    if (!status_macro_value.ok()) return status_macro_value; \
  } while (false)

// `lhs` gets the value of the StatusOr `expr`, or its status is returned.
#define ASSIGN_OR_RETURN(lhs, expr) \
  ASSIGN_OR_RETURN_IMPL(ONNX_RUN_CONCAT(status_or_, __LINE__), lhs, expr)
#define ASSIGN_OR_RETURN_IMPL(name, lhs, expr)     \
  auto name = (expr);                              \
  if (!name.ok()) return std::move(name).status(); \
  lhs = *std::move(name)

#endif  // ONNX_RUN_RUNTIME_STATUS_MACROS_H_
