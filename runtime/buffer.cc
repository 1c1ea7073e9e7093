#include "runtime/buffer.h"

#include <array>
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
  const size_t step = ((bytes - 1 - base) >> (octave - 2)) + 1;  // 1..4 quarters
  return {(octave - 6) * 4 + static_cast<int>(step), base + (step << (octave - 2))};
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

// Free buffers, used by one thread at a time: by the one it is lent to, else under the pool's lock.
struct Shelf {
  static constexpr int kClasses = 240;
  using FreeLists = std::array<Buffer*, kClasses>;  // of each size class

  // A free one, or nullptr.
  Buffer* Take(bool texts, int size_class) {
    Buffer*& list = (texts ? free_texts : free)[size_class];
    Buffer* const buffer = list;
    if (buffer == nullptr) return nullptr;
    list = buffer->next_free_;
    bytes -= buffer->capacity_;
    buffer->references_.store(1, std::memory_order_relaxed);
    return buffer;
  }
  // False when that would be more than may be kept.
  bool Keep(Buffer* buffer, size_t max_bytes) {
    if (bytes + buffer->capacity_ > max_bytes) return false;
    const bool texts = buffer->kind_ == Buffer::Kind::kPooledTexts;
    Buffer*& list = (texts ? free_texts : free)[buffer->size_class_];
    buffer->next_free_ = list;
    list = buffer;
    bytes += buffer->capacity_;
    return true;
  }

  BufferPool* pool = nullptr;
  Shelf* next = nullptr;
  int64_t live = 0;  // buffers that went out less those that came back, since it was lent
  size_t bytes = 0;
  FreeLists free{};
  FreeLists free_texts{};
};

namespace {

// What is lent to this thread. (initial-exec: read without a call, in shared libraries too.)
#if defined(__GNUC__)
__attribute__((tls_model("initial-exec")))
#endif
constinit thread_local Shelf* lent = nullptr;

}  // namespace

BufferPool::Loan::Loan(BufferPool* pool) : outer_(lent) {
  pool->Lock();
  Shelf* shelf = pool->shelves_;
  if (shelf != nullptr) pool->shelves_ = shelf->next;
  pool->Unlock();
  if (shelf == nullptr) {
    shelf = new Shelf;
    shelf->pool = pool;
  }
  lent = shelf;
}

BufferPool::Loan::~Loan() {
  Shelf* const shelf = std::exchange(lent, outer_);
  BufferPool* const pool = shelf->pool;
  pool->Lock();
  pool->live_ += std::exchange(shelf->live, 0);
  shelf->next = pool->shelves_;
  pool->shelves_ = shelf;
  pool->Unlock();
}

Buffer* BufferPool::Take(bool texts, int size_class) {
  Shelf* const own = lent;
  if (own != nullptr && own->pool == this) {
    Buffer* const buffer = own->Take(texts, size_class);
    if (buffer != nullptr) {
      ++own->live;
      return buffer;
    }
  }
  Lock();
  ++live_;
  Buffer* const buffer = shelves_ == nullptr ? nullptr : shelves_->Take(texts, size_class);
  Unlock();
  return buffer;
}

Buffer* BufferPool::Allocate(size_t bytes) {
  if (bytes > (size_t{1} << 62)) return nullptr;
  const SizeClass size_class = ClassOf(bytes);
  Buffer* buffer = Take(false, size_class.index);
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
  Buffer* buffer = Take(true, size_class.index);
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

void BufferPool::Free(Shelf* shelf) {
  for (const Shelf::FreeLists* lists : {&shelf->free, &shelf->free_texts}) {
    for (Buffer* list : *lists) {
      while (list != nullptr) {
        Buffer* next = list->next_free_;
        Free(list);
        list = next;
      }
    }
  }
  delete shelf;
}

void BufferPool::Return(Buffer* buffer) {
  Shelf* const own = lent;
  if (own != nullptr && own->pool == this) {
    if (own->Keep(buffer, max_bytes_kept_)) {
      --own->live;
      return;
    }
  } else {
    Lock();
    if (owned_ && shelves_ == nullptr) {
      shelves_ = new (std::nothrow) Shelf;
      if (shelves_ != nullptr) shelves_->pool = this;
    }
    const bool keep = owned_ && shelves_ != nullptr && shelves_->Keep(buffer, max_bytes_kept_);
    if (keep) --live_;
    Unlock();
    if (keep) return;
  }
  Free(buffer);
  Lock();
  --live_;
  const bool last = !owned_ && live_ == 0;
  Unlock();
  if (last) delete this;
}

void BufferPool::Trim() {
  Lock();
  Shelf* shelf = std::exchange(shelves_, nullptr);
  Unlock();
  while (shelf != nullptr) Free(std::exchange(shelf, shelf->next));
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
