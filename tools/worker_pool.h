// Work done in child processes, so that a crash or a hang costs one item and not the run.
//
// The children are forked from this process before it starts any thread; each takes item after item
// over a pipe. One that dies, or that takes too long and is killed, is replaced.
#ifndef ONNX_RUN_TOOLS_WORKER_POOL_H_
#define ONNX_RUN_TOOLS_WORKER_POOL_H_

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace onnx_run::tools {

struct WorkerPoolOptions {
  int jobs = 1;
  double timeout_seconds = 60;  // for one item
};

struct WorkerResult {
  enum class End : uint8_t { kAnswered, kCrashed, kTimedOut };
  End end = End::kAnswered;
  std::string answer;  // of kAnswered
  std::string detail;  // "signal 11 (Segmentation fault)", "exit code 3"
  double seconds = 0;
};

// Runs work(item) for items 0..count-1 in children and calls done(item, result) here, in the order
// in which they end. The caller must have a single thread. Errors: Internal when processes cannot
// be made.
absl::Status RunInWorkers(int64_t count, const WorkerPoolOptions& options,
                          absl::FunctionRef<std::string(int64_t item)> work,
                          absl::FunctionRef<void(int64_t item, const WorkerResult& result)> done);

}  // namespace onnx_run::tools

#endif  // ONNX_RUN_TOOLS_WORKER_POOL_H_
