// The default ParallelFor: a small pool of threads, started when first needed.
#ifndef ONNX_RUN_RUNTIME_THREAD_POOL_H_
#define ONNX_RUN_RUNTIME_THREAD_POOL_H_

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"

namespace onnx_run {

class ThreadPool {
 public:
  // `threads` in all, the caller's among them; 0: one for each core.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // Runs fn over a partition of [0, n) whose parts are multiples of `grain` (but the last). The
  // caller takes part, so that calls from inside of `fn`, or from many threads, cannot wait for
  // each other.
  void ParallelFor(int64_t n, int64_t grain, absl::FunctionRef<void(int64_t, int64_t)> fn);
  int threads() const { return threads_; }

 private:
  struct Job;
  void Start();
  void Work();

  const int threads_;
  std::once_flag started_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Job*> jobs_;
  std::atomic<size_t> queued_{0};  // the size of jobs_, for those who look before they lock
  bool stop_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace onnx_run

#endif  // ONNX_RUN_RUNTIME_THREAD_POOL_H_
