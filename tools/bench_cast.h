// Measures the conversion library: `onnx-bench cast`.
#ifndef ONNX_RUN_TOOLS_BENCH_CAST_H_
#define ONNX_RUN_TOOLS_BENCH_CAST_H_

#include <string>

#include "absl/types/span.h"

namespace onnx_run {

// Measures pairs of types and prints a row for each; returns the exit code of a program. Arguments:
//   --from T, --to T   only these types (default: all)
//   --elements N       default 1048576
//   --threads N        default 1
//   --strings          the pairs with strings too
//   --csv, --json      instead of a table
int RunCastBenchmark(absl::Span<const std::string> args);

}  // namespace onnx_run

#endif  // ONNX_RUN_TOOLS_BENCH_CAST_H_
