#include "runtime/buffer.h"

#include <bit>
#include <new>

namespace onnx_run {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kSmallest = 64;

class NewAllocator final : public Allocator {
 public:
  void* Allocate(size_t bytes) override {
    return ::operator new (bytes, std::align_val_t{kAlignment}, std::nothrow);
  }
  void Deallocate(void* data, size_t /*bytes*/) override {
    ::operator delete (data, std::align_val_t{kAlignment});
  }
};

// Size classes: 64, 80, 96, 112, 128, 160, ... : four to an octave, so that at most a fifth is
// wasted.
struct SizeClass {
  int index;
  size_t bytes;
};

SizeClass ClassOf(size_t bytes) {
  if (bytes <= kSmallest) return {0, kSmallest};
  const int octave = std::bit_width(bytes - 1) - 1;  // 2^octave < bytes <= 2^(octave+1)
  const size_t base = size_t{1} << octave;
  const size_t quarter = base / 4;
  const size_t step = (bytes - base + quarter - 1) / quarter;  // 1..4
  return {(octave - 6) * 4 + static_cast<int>(step), base + step * quarter};
}

}  // namespace

Allocator* Allocator::Default() {
  static NewAllocator allocator;
  return &allocator;
}

Buffer* Buffer::NewExternal(const void* data, size_t bytes, std::shared_ptr<const void> owner) {
  auto* buffer = new Buffer;
  buffer->kind_ = Kind::kExternal;
  buffer->data_ = const_cast<void*>(data);  // never written: Writable() is false
  buffer->capacity_ = bytes;
  buffer->owner_ = new std::shared_ptr<const void>(std::move(owner));
  return buffer;
}

Buffer* Buffer::NewStrings(size_t count) {
  auto* buffer = new Buffer;
  buffer->kind_ = Kind::kStrings;
  buffer->strings_ = new std::vector<std::string>(count);
  buffer->data_ = buffer->strings_->data();
  return buffer;
}

void Buffer::Release() {
  switch (kind_) {
    case Kind::kPooled: pool_->Return(this); return;
    case Kind::kExternal: delete owner_; break;
    case Kind::kStrings: delete strings_; break;
  }
  delete this;
}

BufferPool* BufferPool::Create(Allocator* allocator, size_t max_bytes_kept) {
  auto* pool = new BufferPool;
  pool->allocator_ = allocator;
  pool->max_bytes_kept_ = max_bytes_kept;
  return pool;
}

BufferPool* BufferPool::Global() {
  static BufferPool* pool = Create(Allocator::Default(), 0);
  return pool;
}

Buffer* BufferPool::Allocate(size_t bytes) {
  if (bytes > (size_t{1} << 62)) return nullptr;
  const SizeClass size_class = ClassOf(bytes);
  Lock();
  ++live_;
  Buffer* buffer = free_[size_class.index];
  if (buffer != nullptr) {
    free_[size_class.index] = buffer->next_free_;
    bytes_kept_ -= buffer->capacity_;
  }
  Unlock();
  if (buffer != nullptr) {
    buffer->references_.store(1, std::memory_order_relaxed);
    return buffer;
  }
  void* data = allocator_->Allocate(size_class.bytes);
  if (data == nullptr) {
    Lock();
    --live_;
    Unlock();
    return nullptr;
  }
  buffer = new Buffer;
  buffer->size_class_ = static_cast<uint8_t>(size_class.index);
  buffer->data_ = data;
  buffer->capacity_ = size_class.bytes;
  buffer->pool_ = this;
  return buffer;
}

void BufferPool::Return(Buffer* buffer) {
  Lock();
  --live_;
  const bool keep = owned_ && bytes_kept_ + buffer->capacity_ <= max_bytes_kept_;
  if (keep) {
    bytes_kept_ += buffer->capacity_;
    buffer->next_free_ = free_[buffer->size_class_];
    free_[buffer->size_class_] = buffer;
  }
  const bool last = !owned_ && live_ == 0;
  Allocator* allocator = allocator_;
  Unlock();
  if (!keep) {
    allocator->Deallocate(buffer->data_, buffer->capacity_);
    delete buffer;
  }
  if (last) delete this;
}

void BufferPool::Trim() {
  Lock();
  std::array<Buffer*, kClasses> lists = std::exchange(free_, {});
  bytes_kept_ = 0;
  Unlock();
  for (Buffer* list : lists) {
    while (list != nullptr) {
      Buffer* next = list->next_free_;
      allocator_->Deallocate(list->data_, list->capacity_);
      delete list;
      list = next;
    }
  }
}

void BufferPool::Disown() {
  Trim();
  Lock();
  owned_ = false;
  const bool last = live_ == 0;
  Unlock();
  if (last) delete this;
}

BufferPool::~BufferPool() { Trim(); }

}  // namespace onnx_run
