// onnx-bench model: how long the runs of given models take.
#ifndef ONNX_RUN_TOOLS_BENCH_MODEL_H_
#define ONNX_RUN_TOOLS_BENCH_MODEL_H_

#include <string>

#include "absl/types/span.h"

namespace onnx_run::tools {

// MODEL [INPUT]...: prints a line of JSON, the best time of a run in nanoseconds. With "-" the same
// for every line of standard input ("MODEL<tab>INPUT..."), as long as there are any; a model asked
// for before is still loaded. Returns the exit code.
int RunModelBenchmark(absl::Span<const std::string> args);

}  // namespace onnx_run::tools

#endif  // ONNX_RUN_TOOLS_BENCH_MODEL_H_
