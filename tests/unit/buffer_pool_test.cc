// Buffers and the pool they return to: what is lent to threads, and who may be the last.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/buffer.h"
#include "runtime/tensor.h"
#include "tests/unit/counting_allocator.h"

namespace onnx_run {
namespace {

// A pool that its test owns.
class OwnedPool {
 public:
  explicit OwnedPool(size_t max_bytes_kept = size_t{1} << 30)
      : pool_(BufferPool::Create(&allocator, max_bytes_kept)) {}
  ~OwnedPool() { Disown(); }
  OwnedPool(const OwnedPool&) = delete;
  OwnedPool& operator=(const OwnedPool&) = delete;
  void Disown() {
    if (pool_ != nullptr) std::exchange(pool_, nullptr)->Disown();
  }
  BufferPool* get() { return pool_; }
  BufferRef Allocate(size_t bytes) {
    BufferRef buffer(pool_->Allocate(bytes));
    std::memset(buffer->data(), 0x5A, bytes);
    return buffer;
  }

  CountingAllocator allocator;

 private:
  BufferPool* pool_;
};

TEST(BufferPool, EverySizeFitsAndWastesAtMostAQuarter) {
  OwnedPool pool(0);
  for (size_t bytes = 0; bytes < 5000; ++bytes) {
    const BufferRef buffer(pool.get()->Allocate(bytes));
    ASSERT_GE(buffer->capacity(), bytes);
    ASSERT_LE(buffer->capacity(), std::max<size_t>(64, bytes + bytes / 4)) << bytes;
  }
  for (int octave = 12; octave < 34; ++octave) {
    for (size_t quarter = 0; quarter < 4; ++quarter) {
      const size_t base = size_t{1} << octave;
      const size_t bytes = base + quarter * (base / 4);
      EXPECT_EQ(BufferRef(pool.get()->Allocate(bytes))->capacity(), bytes);
      EXPECT_EQ(BufferRef(pool.get()->Allocate(bytes + 1))->capacity(), bytes + base / 4);
    }
  }
  EXPECT_EQ(pool.allocator.live, 0);
}

TEST(BufferPool, NothingIsAllocatedAgainWhoeverGaveItBack) {
  OwnedPool pool;
  const auto run = [&](std::vector<BufferRef>& outputs) {
    const BufferPool::Loan loan(pool.get());
    outputs.clear();  // inside
    for (size_t bytes : {100, 100, 3000, 70000}) outputs.push_back(pool.Allocate(bytes));
    const BufferRef scratch = pool.Allocate(100);
  };
  std::vector<BufferRef> kept;
  run(kept);
  const int64_t first = pool.allocator.allocations;
  EXPECT_EQ(first, 5);
  for (int i = 0; i < 3; ++i) run(kept);
  kept.clear();  // outside of a loan
  run(kept);
  std::thread([&] { kept.clear(); }).join();  // by a thread that has none
  run(kept);
  EXPECT_EQ(pool.allocator.allocations, first);
}

TEST(BufferPool, LoansOfOneThreadMayNest) {
  OwnedPool outer;
  OwnedPool inner;
  BufferRef a;
  BufferRef b;
  {
    const BufferPool::Loan first(outer.get());
    a = outer.Allocate(100);
    {
      const BufferPool::Loan second(inner.get());
      b = inner.Allocate(100);
      a = BufferRef();  // back to the pool it is of, whose loan is not the thread's now
      a = outer.Allocate(100);
      {
        const BufferPool::Loan third(outer.get());  // the same pool once more
        a = outer.Allocate(100);
      }
    }
    b = BufferRef();
    a = outer.Allocate(100);
  }
  EXPECT_EQ(inner.allocator.allocations, 1);
  EXPECT_LE(outer.allocator.allocations, 4);
  a = BufferRef();
  outer.get()->Trim();
  inner.get()->Trim();
  EXPECT_EQ(outer.allocator.live, 0);
  EXPECT_EQ(inner.allocator.live, 0);
}

TEST(BufferPool, KeepsNoMoreThanItMay) {
  OwnedPool pool(1000);
  {
    const BufferPool::Loan loan(pool.get());
    std::vector<BufferRef> buffers(20);
    for (BufferRef& buffer : buffers) buffer = pool.Allocate(128);
    EXPECT_EQ(pool.allocator.live, 20 * 128);
    buffers.clear();
    EXPECT_EQ(pool.allocator.live, 7 * 128);
  }
  std::vector<BufferRef> buffers(20);
  for (BufferRef& buffer : buffers) buffer = pool.Allocate(128);
  buffers.clear();
  EXPECT_EQ(pool.allocator.live, 7 * 128);
}

// Outputs outlive their session, which may be gone on another thread.
TEST(BufferPool, TheLastBufferTakesThePoolAlong) {
  CountingAllocator allocator;
  BufferRef kept;
  {
    BufferPool* const pool = BufferPool::Create(&allocator);
    {
      const BufferPool::Loan loan(pool);
      const BufferRef other(pool->Allocate(500));
      kept = BufferRef(pool->Allocate(100));
    }
    BufferRef given_back_outside(pool->Allocate(100));
    given_back_outside = BufferRef();
    pool->Disown();
  }
  EXPECT_EQ(allocator.live, 112);
  std::thread([&] { kept = BufferRef(); }).join();
  EXPECT_EQ(allocator.live, 0);  // and LeakSanitizer sees that the pool is gone
}

TEST(BufferPool, ManyThreadsWithAndWithoutLoans) {
  OwnedPool pool;
  constexpr int kThreads = 4;
  std::vector<BufferRef> shared(kThreads);  // each is another thread's to give back
  std::atomic<bool> wrong = false;
  for (int round = 0; round < 3; ++round) {
    std::vector<std::thread> threads;
    threads.reserve(kThreads);
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        shared[static_cast<size_t>((t + round) % kThreads)] = BufferRef();
        for (int i = 0; i < 500; ++i) {
          std::unique_ptr<BufferPool::Loan> loan;
          if ((t + i) % 3 != 0) loan = std::make_unique<BufferPool::Loan>(pool.get());
          const size_t bytes = 64U << (i % 5);
          const BufferRef mine(pool.get()->Allocate(bytes));
          std::memset(mine->data(), t, bytes);
          const BufferRef more(pool.get()->Allocate(bytes));
          std::memset(more->data(), t + 1, bytes);
          const auto* data = static_cast<const char*>(mine->data());
          if (std::count(data, data + bytes, static_cast<char>(t)) !=
              static_cast<std::ptrdiff_t>(bytes)) {
            wrong = true;
          }
          if (i == 499) shared[static_cast<size_t>((t + round) % kThreads)] = more;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_FALSE(wrong);
  shared.clear();
  pool.get()->Trim();
  EXPECT_EQ(pool.allocator.live, 0);
}

TEST(Tensor, IsMadeAnewInPlace) {
  OwnedPool pool;
  Tensor tensor;
  const std::vector<std::vector<int64_t>> all = {
      {2, 3}, {3, 2}, {}, {0, 5}, {1, 2, 3, 4, 5, 6, 7}, {7, 6, 5, 4, 3, 2, 1}, {4, 1, 1, 1, 2}};
  for (const std::vector<int64_t>& dims : all) {
    ASSERT_TRUE(tensor.Renew(ElementType::kInt16, dims, pool.get()).ok());
    const Tensor fresh = *Tensor::Create(ElementType::kInt16, dims);
    EXPECT_EQ(tensor.dims(), fresh.dims());
    EXPECT_EQ(tensor.size(), fresh.size());
    EXPECT_EQ(tensor.bytes(), fresh.bytes());
    EXPECT_TRUE(tensor.Writable());
    Tensor moved;
    moved = std::move(tensor);
    EXPECT_EQ(moved.dims(), fresh.dims());
    tensor = std::move(moved);
    EXPECT_EQ(tensor.dims(), fresh.dims());
  }
  // Errors leave something to assign to.
  EXPECT_EQ(tensor.Renew(ElementType::kFloat, {-1}, pool.get()).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(
      tensor.Renew(ElementType::kFloat, {int64_t{1} << 40, int64_t{1} << 40}, pool.get()).code(),
      absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(
      tensor.Renew(ElementType::kFloat, {int64_t{1} << 40, int64_t{1} << 40, 0}, pool.get()).ok());
  EXPECT_EQ(tensor.size(), 0);
  EXPECT_FALSE(tensor.Renew(ElementType::kUndefined, {1}, pool.get()).ok());
  ASSERT_TRUE(tensor.Renew(ElementType::kString, {2}, pool.get()).ok());
  EXPECT_EQ(tensor.strings()[1], "");
}

}  // namespace
}  // namespace onnx_run
