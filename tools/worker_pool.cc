#include "tools/worker_pool.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/status_macros.h"

namespace onnx_run::tools {
namespace {

using Clock = std::chrono::steady_clock;

absl::Status ErrnoError(const char* what) {
  return absl::InternalError(absl::StrCat(what, ": ", std::generic_category().message(errno)));
}

bool WriteAll(int fd, const void* data, size_t size) {
  const char* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t wrote = ::write(fd, at, size);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    at += wrote;
    size -= static_cast<size_t>(wrote);
  }
  return true;
}

bool ReadAll(int fd, void* data, size_t size) {
  char* at = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t got = ::read(fd, at, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    size -= static_cast<size_t>(got);
  }
  return true;
}

struct Worker {
  pid_t pid = -1;
  int to = -1;        // item numbers
  int from = -1;      // answers: an 8-byte length, then the text
  int64_t item = -1;  // -1: idle
  Clock::time_point start;
  std::string received;
};

[[noreturn]] void Child(int in, int out, absl::FunctionRef<std::string(int64_t)> work) {
  int64_t item = 0;
  while (ReadAll(in, &item, sizeof(item))) {
    const std::string answer = work(item);
    const uint64_t size = answer.size();
    if (!WriteAll(out, &size, sizeof(size)) || !WriteAll(out, answer.data(), answer.size())) break;
  }
  // Not exit(): destructors and buffers are the parent's.
  std::_Exit(0);
}

class Pool {
 public:
  Pool(int64_t count, const WorkerPoolOptions& options,
       absl::FunctionRef<std::string(int64_t)> work,
       absl::FunctionRef<void(int64_t, const WorkerResult&)> done)
      : count_(count), options_(options), work_(work), done_(done) {}
  ~Pool() {
    for (Worker& worker : workers_) Stop(worker, false);
  }

  absl::Status Run() {
    const auto jobs =
        static_cast<size_t>(std::clamp<int64_t>(options_.jobs, 1, std::max<int64_t>(1, count_)));
    workers_.resize(jobs);
    while (finished_ < count_) {
      for (Worker& worker : workers_) {
        if (worker.item >= 0 || next_ >= count_) continue;
        if (worker.pid < 0) RETURN_IF_ERROR(Start(worker));
        worker.item = next_++;
        worker.start = Clock::now();
        // A failed write means that the child died; its end of the other pipe tells.
        WriteAll(worker.to, &worker.item, sizeof(worker.item));
      }
      RETURN_IF_ERROR(WaitForOne());
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Start(Worker& worker) {
    int items[2];
    int answers[2];
    if (::pipe(items) != 0) return ErrnoError("pipe");
    if (::pipe(answers) != 0) {
      ::close(items[0]);
      ::close(items[1]);
      return ErrnoError("pipe");
    }
    std::fflush(stdout);
    std::fflush(stderr);
    const pid_t pid = ::fork();
    if (pid < 0) return ErrnoError("fork");
    if (pid == 0) {
      ::close(items[1]);
      ::close(answers[0]);
      // The other children's pipes would keep them alive after this process's end.
      for (const Worker& other : workers_) {
        if (other.pid < 0) continue;
        ::close(other.to);
        ::close(other.from);
      }
      Child(items[0], answers[1], work_);
    }
    ::close(items[0]);
    ::close(answers[1]);
    worker.pid = pid;
    worker.to = items[1];
    worker.from = answers[0];
    worker.received.clear();
    return absl::OkStatus();
  }

  // Returns how the child ended.
  static std::string Stop(Worker& worker, bool kill_it) {
    if (worker.pid < 0) return "";
    ::close(worker.to);
    if (kill_it) ::kill(worker.pid, SIGKILL);
    int status = 0;
    while (::waitpid(worker.pid, &status, 0) < 0 && errno == EINTR) {
    }
    ::close(worker.from);
    worker.pid = -1;
    if (WIFSIGNALED(status)) {
      return absl::StrCat("signal ", WTERMSIG(status), " (", ::strsignal(WTERMSIG(status)), ")");
    }
    return absl::StrCat("exit code ", WEXITSTATUS(status));
  }

  void Finish(Worker& worker, WorkerResult result) {
    result.seconds = std::chrono::duration<double>(Clock::now() - worker.start).count();
    const int64_t item = worker.item;
    worker.item = -1;
    ++finished_;
    done_(item, result);
  }

  absl::Status WaitForOne() {
    std::vector<pollfd> fds;
    std::vector<Worker*> busy;
    double soonest = 3600;
    const Clock::time_point now = Clock::now();
    for (Worker& worker : workers_) {
      if (worker.item < 0) continue;
      fds.push_back({worker.from, POLLIN, 0});
      busy.push_back(&worker);
      const double spent = std::chrono::duration<double>(now - worker.start).count();
      soonest = std::min(soonest, options_.timeout_seconds - spent);
    }
    const int wait_ms = static_cast<int>(std::max(0.0, soonest) * 1000) + 1;
    const int ready = ::poll(fds.data(), fds.size(), wait_ms);
    if (ready < 0 && errno != EINTR) return ErrnoError("poll");
    for (size_t i = 0; i < busy.size(); ++i) {
      if (ready > 0 && fds[i].revents != 0) {
        Receive(*busy[i]);
      } else if (std::chrono::duration<double>(Clock::now() - busy[i]->start).count() >
                 options_.timeout_seconds) {
        Stop(*busy[i], true);
        Finish(*busy[i], {.end = WorkerResult::End::kTimedOut,
                          .answer = "",
                          .detail = absl::StrCat("more than ", options_.timeout_seconds, " s")});
      }
    }
    return absl::OkStatus();
  }

  void Receive(Worker& worker) {
    char buffer[1 << 16];
    const ssize_t got = ::read(worker.from, buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) return;
    if (got <= 0) {
      Finish(worker,
             {.end = WorkerResult::End::kCrashed, .answer = "", .detail = Stop(worker, false)});
      return;
    }
    worker.received.append(buffer, static_cast<size_t>(got));
    uint64_t size = 0;
    if (worker.received.size() < sizeof(size)) return;
    std::memcpy(&size, worker.received.data(), sizeof(size));
    if (worker.received.size() - sizeof(size) < size) return;
    WorkerResult result;
    result.answer = worker.received.substr(sizeof(size), size);
    worker.received.clear();
    Finish(worker, std::move(result));
  }

  const int64_t count_;
  const WorkerPoolOptions& options_;
  absl::FunctionRef<std::string(int64_t)> work_;
  absl::FunctionRef<void(int64_t, const WorkerResult&)> done_;
  std::vector<Worker> workers_;
  int64_t next_ = 0;
  int64_t finished_ = 0;
};

}  // namespace

absl::Status RunInWorkers(int64_t count, const WorkerPoolOptions& options,
                          absl::FunctionRef<std::string(int64_t item)> work,
                          absl::FunctionRef<void(int64_t item, const WorkerResult& result)> done) {
  // A child that died must not take this process along when it is written to.
  void (*const previous)(int) = std::signal(SIGPIPE, SIG_IGN);
  const absl::Status status = Pool(count, options, work, done).Run();
  std::signal(SIGPIPE, previous);
  return status;
}

}  // namespace onnx_run::tools
