// An allocator that counts.
#ifndef ONNX_RUN_TESTS_UNIT_COUNTING_ALLOCATOR_H_
#define ONNX_RUN_TESTS_UNIT_COUNTING_ALLOCATOR_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "runtime/buffer.h"

namespace onnx_run {

class CountingAllocator final : public Allocator {
 public:
  void* Allocate(size_t bytes) override {
    ++allocations;
    live += static_cast<int64_t>(bytes);
    return Default()->Allocate(bytes);
  }
  void Deallocate(void* data, size_t bytes) override {
    live -= static_cast<int64_t>(bytes);
    Default()->Deallocate(data, bytes);
  }
  std::atomic<int64_t> allocations{0};
  std::atomic<int64_t> live{0};
};

}  // namespace onnx_run

#endif  // ONNX_RUN_TESTS_UNIT_COUNTING_ALLOCATOR_H_
