// The exit codes that all programs share.
#ifndef ONNX_RUN_TOOLS_EXIT_CODE_H_
#define ONNX_RUN_TOOLS_EXIT_CODE_H_

#include "absl/status/status.h"

namespace onnx_run::tools {

inline constexpr int kExitOk = 0;
inline constexpr int kExitMismatch = 1;       // ran, with another result than expected
inline constexpr int kExitUsage = 2;          // the command line is wrong
inline constexpr int kExitBadInput = 3;       // a model or a value is wrong
inline constexpr int kExitUnimplemented = 4;  // valid, but not implemented here
inline constexpr int kExitInternal = 5;       // our fault

inline int ExitCodeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk: return kExitOk;
    case absl::StatusCode::kUnimplemented: return kExitUnimplemented;
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnknown: return kExitInternal;
    default: return kExitBadInput;
  }
}

}  // namespace onnx_run::tools

#endif  // ONNX_RUN_TOOLS_EXIT_CODE_H_
