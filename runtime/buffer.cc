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
  // Never destroyed: a program's static tensors may go after whatever is destroyed at exit.
  static NewAllocator* const kAllocator = new NewAllocator;
  return kAllocator;
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
    case Kind::kPooled:
    case Kind::kPooledTexts: pool_->Return(this); return;
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

Buffer* BufferPool::Take(FreeLists& lists, int size_class) {
  Lock();
  ++live_;
  Buffer* buffer = lists[size_class];
  if (buffer != nullptr) {
    lists[size_class] = buffer->next_free_;
    bytes_kept_ -= buffer->capacity_;
  }
  Unlock();
  if (buffer != nullptr) buffer->references_.store(1, std::memory_order_relaxed);
  return buffer;
}

Buffer* BufferPool::Allocate(size_t bytes) {
  if (bytes > (size_t{1} << 62)) return nullptr;
  const SizeClass size_class = ClassOf(bytes);
  Buffer* buffer = Take(free_, size_class.index);
  if (buffer != nullptr) return buffer;
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

Buffer* BufferPool::AllocateTexts(size_t count) {
  if (count > (size_t{1} << 56)) return nullptr;
  const SizeClass size_class = ClassOf(count * sizeof(std::string));
  Buffer* buffer = Take(free_texts_, size_class.index);
  if (buffer != nullptr) return buffer;
  buffer = new Buffer;
  buffer->kind_ = Buffer::Kind::kPooledTexts;
  buffer->size_class_ = static_cast<uint8_t>(size_class.index);
  buffer->strings_ = new std::vector<std::string>(size_class.bytes / sizeof(std::string));
  buffer->data_ = buffer->strings_->data();
  buffer->capacity_ = size_class.bytes;
  buffer->pool_ = this;
  return buffer;
}

void BufferPool::Free(Buffer* buffer) {
  if (buffer->kind_ == Buffer::Kind::kPooledTexts) {
    delete buffer->strings_;
  } else {
    allocator_->Deallocate(buffer->data_, buffer->capacity_);
  }
  delete buffer;
}

void BufferPool::Return(Buffer* buffer) {
  FreeLists& lists = buffer->kind_ == Buffer::Kind::kPooledTexts ? free_texts_ : free_;
  Lock();
  const bool keep = owned_ && bytes_kept_ + buffer->capacity_ <= max_bytes_kept_;
  if (keep) {
    --live_;
    bytes_kept_ += buffer->capacity_;
    buffer->next_free_ = lists[buffer->size_class_];
    lists[buffer->size_class_] = buffer;
  }
  Unlock();
  if (keep) return;
  Free(buffer);
  Lock();
  --live_;
  const bool last = !owned_ && live_ == 0;
  Unlock();
  if (last) delete this;
}

void BufferPool::Trim() {
  Lock();
  const FreeLists freed[] = {std::exchange(free_, {}), std::exchange(free_texts_, {})};
  bytes_kept_ = 0;
  Unlock();
  for (const FreeLists& lists : freed) {
    for (Buffer* list : lists) {
      while (list != nullptr) {
        Buffer* next = list->next_free_;
        Free(list);
        list = next;
      }
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
