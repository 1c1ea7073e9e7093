#include "runtime/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <chrono>

namespace onnx_run {
namespace {

// Waking a thread takes as long as converting some hundreds of kilobytes. Those who have just
// worked, and those who wait for the last part, look for this long before they sleep.
constexpr std::chrono::microseconds kLookFor{30};

template <class Ready>
void LookFor(Ready ready) {
  const auto end = std::chrono::steady_clock::now() + kLookFor;
  do {
    for (int i = 0; i < 16; ++i) {
      if (ready()) return;
#if defined(__x86_64__)
      __builtin_ia32_pause();
#elif defined(__aarch64__)
      __asm__ volatile("yield");
#endif
    }
  } while (std::chrono::steady_clock::now() < end);
}

}  // namespace

// One ParallelFor call. It lives on the caller's stack: the caller leaves only when no worker looks
// at it.
struct ThreadPool::Job {
  absl::FunctionRef<void(int64_t, int64_t)> fn;
  int64_t n;
  int64_t chunk;
  std::atomic<int64_t> next{0};
  std::atomic<int> helpers{0};  // workers inside; changed under the pool's mutex
  std::condition_variable done;

  void Run() {
    for (;;) {
      const int64_t begin = next.fetch_add(chunk, std::memory_order_relaxed);
      if (begin >= n) return;
      fn(begin, std::min(n, begin + chunk));
    }
  }
};

ThreadPool::ThreadPool(int threads)
    : threads_(threads > 0 ? threads
                           : std::max(1, static_cast<int>(std::thread::hardware_concurrency()))) {}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::Start() {
  for (int i = 1; i < threads_; ++i) {
    try {
      workers_.emplace_back([this] { Work(); });
    } catch (const std::exception&) {
      return;  // fewer threads: the caller still does all the work
    }
  }
}

void ThreadPool::Work() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    if (jobs_.empty() && !stop_) {
      lock.unlock();
      LookFor([this] { return queued_.load(std::memory_order_relaxed) != 0; });
      lock.lock();
    }
    wake_.wait(lock, [this] { return stop_ || !jobs_.empty(); });
    if (stop_) return;
    Job* job = jobs_.front();
    if (job->next.load(std::memory_order_relaxed) >= job->n) {
      jobs_.pop_front();
      queued_.store(jobs_.size(), std::memory_order_relaxed);
      continue;
    }
    ++job->helpers;
    lock.unlock();
    job->Run();
    lock.lock();
    if (--job->helpers == 0) job->done.notify_one();
  }
}

void ThreadPool::ParallelFor(int64_t n, int64_t grain,
                             absl::FunctionRef<void(int64_t, int64_t)> fn) {
  if (n <= 0) return;
  grain = std::max<int64_t>(1, grain);
  const int64_t parts = (n - 1) / grain + 1;
  if (threads_ == 1 || parts == 1) {
    fn(0, n);
    return;
  }
  std::call_once(started_, [this] { Start(); });
  // A few chunks for each thread, so that a late one does not keep the others waiting.
  const int64_t wanted = std::min<int64_t>(parts, static_cast<int64_t>(threads_) * 4);
  Job job{fn, n, (parts - 1) / wanted * grain + grain, {}, {}, {}};
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    jobs_.push_back(&job);
    queued_.store(jobs_.size(), std::memory_order_relaxed);
  }
  wake_.notify_all();
  job.Run();
  std::unique_lock<std::mutex> lock(mutex_);
  const auto place = std::find(jobs_.begin(), jobs_.end(), &job);
  if (place != jobs_.end()) jobs_.erase(place);
  queued_.store(jobs_.size(), std::memory_order_relaxed);
  if (job.helpers == 0) return;
  lock.unlock();
  LookFor([&] { return job.helpers == 0; });
  lock.lock();
  job.done.wait(lock, [&] { return job.helpers == 0; });
}

}  // namespace onnx_run
