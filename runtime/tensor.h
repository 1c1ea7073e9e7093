// Tensor: element type, dimensions and shared elements; packed exactly as raw_data packs them.
#ifndef ONNX_RUN_RUNTIME_TENSOR_H_
#define ONNX_RUN_RUNTIME_TENSOR_H_

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/buffer.h"
#include "runtime/element_type.h"

namespace onnx_run {

using Dims = absl::InlinedVector<int64_t, 6>;

// Number of elements; InvalidArgument for a negative dimension or a product beyond int64.
// {} (a scalar) has one element; any zero makes it zero.
absl::StatusOr<int64_t> ElementCount(absl::Span<const int64_t> dims);
// "[2,3]"; "[]" for a scalar.
std::string DimsToString(absl::Span<const int64_t> dims);

// Copies share the elements; they are not meant to be written while shared (see Writable).
class Tensor {
 public:
  Tensor() = default;  // undefined type, not a value
  Tensor(const Tensor&) = default;
  Tensor(Tensor&&) noexcept = default;
  Tensor& operator=(const Tensor&) = default;
  // What is left may only be assigned to.
  Tensor& operator=(Tensor&& other) noexcept {
    type_ = other.type_;
    if (!CopyDims(other.dims_)) dims_ = std::move(other.dims_);
    size_ = other.size_;
    data_ = other.data_;
    buffer_ = std::move(other.buffer_);
    return *this;
  }
  ~Tensor() = default;

  // Elements uninitialised (strings empty). Errors: InvalidArgument (dims), ResourceExhausted.
  // `pool` nullptr: BufferPool::Global().
  static absl::StatusOr<Tensor> Create(ElementType type, absl::Span<const int64_t> dims,
                                       BufferPool* pool = nullptr);
  // Becomes what Create makes, in the memory that it has where that fits and nobody shares it;
  // where there is an error, a tensor that may only be assigned to. `dims` are not its own.
  absl::Status Renew(ElementType type, absl::Span<const int64_t> dims, BufferPool* pool) {
    // Most often it is what it was in the run before: then nothing has to be found out.
    if (type == type_ && buffer_ && buffer_->UsableAgain() && HasDims(dims)) {
      data_ = buffer_->data();
      return absl::OkStatus();
    }
    return MakeAnew(type, dims, pool);
  }
  // Of strings that hold whatever texts an earlier user of the pool left, with their memory: for
  // short texts, all to be assigned. Errors and `pool` as above.
  static absl::StatusOr<Tensor> CreateTexts(absl::Span<const int64_t> dims,
                                            BufferPool* pool = nullptr);
  // Looks at `bytes` bytes that `owner` keeps alive, any alignment. Errors: InvalidArgument when
  // the size is not the packed size of `dims`. Not for strings.
  static absl::StatusOr<Tensor> View(ElementType type, absl::Span<const int64_t> dims,
                                     const void* data, size_t bytes,
                                     std::shared_ptr<const void> owner);
  // Copies of the caller's elements, `T` as in ElementOf; the count must agree with dims.
  template <typename T>
  static absl::StatusOr<Tensor> Of(ElementType type, absl::Span<const int64_t> dims,
                                   absl::Span<const T> elements);
  static Tensor Strings(absl::Span<const int64_t> dims, absl::Span<const std::string> elements);

  // Looks at the memory of `other`, whose packed size must be that of this type and dims. Not for
  // strings.
  static Tensor SharingBufferOf(const Tensor& other, ElementType type,
                                absl::Span<const int64_t> dims, int64_t count);
  // Becomes a tensor of this type and dims (`count` elements) in the memory of `other`, which has
  // as many bytes and is not of strings. `other` may still be read, but no longer owns its
  // elements.
  void TakeMemoryOf(Tensor& other, ElementType type, absl::Span<const int64_t> dims,
                    int64_t count) {
    type_ = type;
    set_dims(dims);
    size_ = count;
    data_ = other.data_;
    buffer_ = std::move(other.buffer_);
  }

  ElementType type() const { return type_; }
  const Dims& dims() const { return dims_; }
  int rank() const { return static_cast<int>(dims_.size()); }
  int64_t dim(int i) const { return dims_[i]; }
  int64_t size() const { return size_; }  // elements
  int64_t bytes() const;                  // packed; 0 for strings
  bool is_string() const { return type_ == ElementType::kString; }

  // The packed elements; nullptr only for an undefined tensor. Not for strings.
  const void* data() const { return data_; }
  template <typename T>
  const T* data_as() const {
    return static_cast<const T*>(data_);
  }
  template <typename T>
  absl::Span<const T> span() const {
    return {static_cast<const T*>(data_), static_cast<size_t>(size_)};
  }
  absl::Span<const std::string> strings() const { return span<std::string>(); }

  // For the one who has just created the tensor, or found it Writable().
  void* mutable_data() { return const_cast<void*>(data_); }
  template <typename T>
  T* mutable_data_as() {
    return static_cast<T*>(mutable_data());
  }
  template <typename T>
  absl::Span<T> mutable_span() {
    return {mutable_data_as<T>(), static_cast<size_t>(size_)};
  }
  absl::Span<std::string> mutable_strings() { return mutable_span<std::string>(); }
  // Not shared with any other tensor and not foreign memory.
  bool Writable() const { return buffer_ && buffer_->Writable(); }

  // The same elements under other dims (equal count) or another type of the same width.
  Tensor WithDims(absl::Span<const int64_t> dims) const&;
  Tensor WithDims(absl::Span<const int64_t> dims) &&;
  void set_dims(absl::Span<const int64_t> dims) {
    if (!CopyDims(dims)) dims_.assign(dims.begin(), dims.end());
  }
  void set_type_same_width(ElementType type) { type_ = type; }
  // A copy with elements of its own. Errors: ResourceExhausted.
  absl::StatusOr<Tensor> Clone(BufferPool* pool = nullptr) const;
  // Gives the elements up; what is left may only be assigned to.
  void ReleaseBuffer() {
    buffer_ = BufferRef();
    data_ = nullptr;
  }
  const BufferRef& buffer() const { return buffer_; }

 private:
  absl::Status MakeAnew(ElementType type, absl::Span<const int64_t> dims, BufferPool* pool);
  bool HasDims(absl::Span<const int64_t> dims) const {
    if (dims.size() != dims_.size()) return false;
    const int64_t* const own = dims_.data();
    for (size_t d = 0; d < dims.size(); ++d) {
      if (own[d] != dims[d]) return false;
    }
    return true;
  }
  // The dims, where there are as many as now and few: so it is for all but a session's first runs,
  // and a call for each would cost more than the copy. False: nothing is done.
  bool CopyDims(absl::Span<const int64_t> dims) noexcept {
    if (dims.size() != dims_.size()) return false;
    switch (dims.size()) {
      case 4: dims_[3] = dims[3]; [[fallthrough]];
      case 3: dims_[2] = dims[2]; [[fallthrough]];
      case 2: dims_[1] = dims[1]; [[fallthrough]];
      case 1: dims_[0] = dims[0]; [[fallthrough]];
      case 0: return true;
      default: return false;
    }
  }

  ElementType type_ = ElementType::kUndefined;
  Dims dims_;
  int64_t size_ = 0;
  const void* data_ = nullptr;
  BufferRef buffer_;
};

// "float[2,3]"
std::string TypeAndDims(const Tensor& tensor);

template <typename T>
absl::StatusOr<Tensor> Tensor::Of(ElementType type, absl::Span<const int64_t> dims,
                                  absl::Span<const T> elements) {
  static_assert(!std::is_same_v<T, std::string>, "use Strings");
  auto tensor = Create(type, dims);
  if (!tensor.ok()) return tensor;
  if (tensor->bytes() != static_cast<int64_t>(elements.size() * sizeof(T))) {
    return absl::InvalidArgumentError("element count does not agree with the dimensions");
  }
  if (!elements.empty())
    std::memcpy(tensor->mutable_data(), elements.data(), elements.size() * sizeof(T));
  return tensor;
}

}  // namespace onnx_run

#endif  // ONNX_RUN_RUNTIME_TENSOR_H_
