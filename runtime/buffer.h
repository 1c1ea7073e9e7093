// Memory of tensors: reference-counted buffers, and the pool they return to.
//
// A Buffer is one allocation, 64-byte aligned, shared by the Tensors that look at it. It comes from
// a BufferPool (and goes back to it, so that a second run with the same shapes allocates nothing),
// from the heap, or stands for memory owned by somebody else (a mapped file, the embedder's array).
#ifndef ONNX_RUN_RUNTIME_BUFFER_H_
#define ONNX_RUN_RUNTIME_BUFFER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace onnx_run {

class BufferPool;
struct Shelf;

class Buffer {
 public:
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  // Memory that `owner` keeps alive; never written.
  static Buffer* NewExternal(const void* data, size_t bytes, std::shared_ptr<const void> owner);
  // `count` empty strings.
  static Buffer* NewStrings(size_t count);

  void* data() const { return data_; }
  size_t capacity() const { return capacity_; }
  std::vector<std::string>* strings() const { return strings_; }
  // May be written: not external, and nobody else holds it.
  bool Writable() const {
    return kind_ != Kind::kExternal && references_.load(std::memory_order_acquire) == 1;
  }
  // Whether a new tensor may have this memory: nobody else holds it.
  bool UsableAgain() const {
    return kind_ == Kind::kPooled && references_.load(std::memory_order_acquire) == 1;
  }
  // The same for `bytes` bytes, little of which would be wasted.
  bool Fits(size_t bytes) const {
    return bytes <= capacity_ && capacity_ - bytes <= bytes / 4 + 64 && UsableAgain();
  }
  void Ref() { references_.fetch_add(1, std::memory_order_relaxed); }
  void Unref() {
    if (references_.load(std::memory_order_acquire) == 1 ||
        references_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      Release();
    }
  }

 private:
  friend class BufferPool;
  friend struct Shelf;
  enum class Kind : uint8_t { kPooled, kPooledTexts, kExternal, kStrings };
  Buffer() = default;
  ~Buffer() = default;
  void Release();

  std::atomic<uint32_t> references_{1};
  Kind kind_ = Kind::kPooled;
  uint8_t size_class_ = 0;
  void* data_ = nullptr;
  size_t capacity_ = 0;
  union {
    BufferPool* pool_ = nullptr;          // kPooled, kPooledTexts
    std::shared_ptr<const void>* owner_;  // kExternal
  };
  std::vector<std::string>* strings_ = nullptr;  // kStrings, kPooledTexts
  Buffer* next_free_ = nullptr;
};

// A smart pointer to a Buffer.
class BufferRef {
 public:
  BufferRef() = default;
  explicit BufferRef(Buffer* adopted) : buffer_(adopted) {}
  BufferRef(const BufferRef& other) : buffer_(other.buffer_) {
    if (buffer_ != nullptr) buffer_->Ref();
  }
  BufferRef(BufferRef&& other) noexcept : buffer_(std::exchange(other.buffer_, nullptr)) {}
  BufferRef& operator=(BufferRef other) noexcept {
    std::swap(buffer_, other.buffer_);
    return *this;
  }
  ~BufferRef() {
    if (buffer_ != nullptr) buffer_->Unref();
  }
  Buffer* get() const { return buffer_; }
  Buffer* operator->() const { return buffer_; }
  explicit operator bool() const { return buffer_ != nullptr; }

 private:
  Buffer* buffer_ = nullptr;
};

// Where a BufferPool gets its memory. The default uses aligned operator new.
class Allocator {
 public:
  virtual ~Allocator() = default;
  // `bytes` bytes aligned to 64, or nullptr when there are none left.
  virtual void* Allocate(size_t bytes) = 0;
  virtual void Deallocate(void* data, size_t bytes) = 0;
  static Allocator* Default();
};

// Free lists of buffers keyed by size class (four to an octave), safe from many threads. It lives
// until its last Buffer is gone, which may be after its owner dropped it: outputs outlive a
// session.
class BufferPool {
 public:
  // `max_bytes_kept`: free buffers beyond this are given back to the allocator. (With loans, that
  // many in each.)
  static BufferPool* Create(Allocator* allocator = Allocator::Default(),
                            size_t max_bytes_kept = size_t{1} << 30);
  // The pool of tensors made outside of any session; keeps nothing.
  static BufferPool* Global();

  // While it lives, free buffers of `pool` are lent to the thread that made it, which then takes
  // and gives back without a lock: one for each run of a session. Loans of a thread end in the
  // reverse order of their beginning.
  class Loan {
   public:
    explicit Loan(BufferPool* pool);
    ~Loan();
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;

   private:
    Shelf* outer_;  // what was lent to the thread before
  };

  // nullptr when the allocator has no memory left.
  Buffer* Allocate(size_t bytes);
  // `count` strings or more that hold whatever texts they held when they came back, with the memory
  // of those: for outputs of short texts, every one of them assigned. nullptr as above.
  Buffer* AllocateTexts(size_t count);
  // Gives the free buffers back to the allocator, but for those that are lent.
  void Trim();
  // The owner's last word: the pool deletes itself when the last buffer has come back. No loan is
  // open.
  void Disown();

 private:
  friend class Buffer;
  BufferPool() = default;
  ~BufferPool();
  // One more buffer is out: a free one, or nullptr.
  Buffer* Take(bool texts, int size_class);
  void Return(Buffer* buffer);
  void Free(Buffer* buffer);
  void Free(Shelf* shelf);
  void Lock() {
    while (lock_.test_and_set(std::memory_order_acquire)) {
    }
  }
  void Unlock() { lock_.clear(std::memory_order_release); }

  std::atomic_flag lock_ = ATOMIC_FLAG_INIT;
  bool owned_ = true;
  int64_t live_ = 0;  // buffers that are out, but for what open loans have still to report
  size_t max_bytes_kept_ = 0;
  Allocator* allocator_ = nullptr;
  Shelf* shelves_ = nullptr;  // that are not lent, the one lent last first
};

}  // namespace onnx_run

#endif  // ONNX_RUN_RUNTIME_BUFFER_H_
