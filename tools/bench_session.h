// The benchmarks of onnx-bench that are not about conversions: start of a process, cost of a node,
// loading.
#ifndef ONNX_RUN_TOOLS_BENCH_SESSION_H_
#define ONNX_RUN_TOOLS_BENCH_SESSION_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace onnx_run::tools {

struct BenchmarkRow {
  std::string benchmark;  // "dispatch"
  std::string name;       // "1000 Casts of 4 elements, per node"
  double value = 0;       // the best of the repeats
  double median = 0;
  std::string unit;  // "ns"
};

// Spawns onnx-run (beside this program) on a model of one Cast.
absl::StatusOr<std::vector<BenchmarkRow>> BenchmarkStartup();
// A chain of 1000 Casts float -> int32 -> float over 4 elements, and runs of one node.
absl::StatusOr<std::vector<BenchmarkRow>> BenchmarkDispatch();
// Sessions of 1k, 10k and 100k nodes; a model with 1 GB of external data.
absl::StatusOr<std::vector<BenchmarkRow>> BenchmarkLoad();
// Allocations of a session in the steady state.
absl::StatusOr<std::vector<BenchmarkRow>> BenchmarkMemory();

}  // namespace onnx_run::tools

#endif  // ONNX_RUN_TOOLS_BENCH_SESSION_H_
