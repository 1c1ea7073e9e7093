#include "runtime/tensor.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/status_macros.h"

namespace onnx_run {

absl::StatusOr<int64_t> ElementCount(absl::Span<const int64_t> dims) {
  // A zero dimension makes the count zero whatever the others multiply to, so look for it first.
  bool zero = false;
  for (int64_t dim : dims) {
    if (dim < 0) {
      return absl::InvalidArgumentError(absl::StrCat("negative dimension in ", DimsToString(dims)));
    }
    zero = zero || dim == 0;
  }
  if (zero) return 0;
  int64_t count = 1;
  for (int64_t dim : dims) {
    if (__builtin_mul_overflow(count, dim, &count)) {
      return absl::InvalidArgumentError(
          absl::StrCat("dimensions ", DimsToString(dims), " overflow the element count"));
    }
  }
  return count;
}

std::string DimsToString(absl::Span<const int64_t> dims) {
  return absl::StrCat("[", absl::StrJoin(dims, ","), "]");
}

std::string TypeAndDims(const Tensor& tensor) {
  return absl::StrCat(TypeName(tensor.type()), DimsToString(tensor.dims()));
}

namespace {

absl::Status CheckStringCount(int64_t count) {
  if (count <= int64_t{1} << 40) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("a string tensor of ", count, " elements"));
}

}  // namespace

absl::StatusOr<Tensor> Tensor::Create(ElementType type, absl::Span<const int64_t> dims,
                                      BufferPool* pool) {
  Tensor tensor;
  RETURN_IF_ERROR(tensor.Renew(type, dims, pool));
  return tensor;
}

absl::Status Tensor::MakeAnew(ElementType type, absl::Span<const int64_t> dims, BufferPool* pool) {
  int64_t count = 1;
  bool plain = true;
  for (int64_t dim : dims) plain &= dim > 0 && !__builtin_mul_overflow(count, dim, &count);
  if (!plain) {
    ASSIGN_OR_RETURN(count, ElementCount(dims));
  }
  type_ = type;
  set_dims(dims);
  size_ = count;
  if (type == ElementType::kString) {
    RETURN_IF_ERROR(CheckStringCount(count));
    buffer_ = BufferRef(Buffer::NewStrings(static_cast<size_t>(count)));
    data_ = buffer_->strings()->data();
    return absl::OkStatus();
  }
  const std::optional<int64_t> bytes = PackedBytes(type, count);
  if (!bytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "no tensor of type ", std::string(TypeName(type)), " and shape ", DimsToString(dims)));
  }
  if (!buffer_ || !buffer_->Fits(static_cast<size_t>(*bytes))) {
    buffer_ = BufferRef();  // first: what it gives back may serve others
    if (pool == nullptr) pool = BufferPool::Global();
    buffer_ = BufferRef(pool->Allocate(static_cast<size_t>(*bytes)));
    if (!buffer_) {
      return absl::ResourceExhaustedError(
          absl::StrCat("no memory for ", *bytes, " bytes: ", TypeAndDims(*this)));
    }
  }
  data_ = buffer_->data();
  return absl::OkStatus();
}

absl::StatusOr<Tensor> Tensor::CreateTexts(absl::Span<const int64_t> dims, BufferPool* pool) {
  ASSIGN_OR_RETURN(const int64_t count, ElementCount(dims));
  RETURN_IF_ERROR(CheckStringCount(count));
  if (pool == nullptr) pool = BufferPool::Global();
  Tensor tensor;
  tensor.type_ = ElementType::kString;
  tensor.dims_.assign(dims.begin(), dims.end());
  tensor.size_ = count;
  tensor.buffer_ = BufferRef(pool->AllocateTexts(static_cast<size_t>(count)));
  tensor.data_ = tensor.buffer_->data();
  return tensor;
}

absl::StatusOr<Tensor> Tensor::View(ElementType type, absl::Span<const int64_t> dims,
                                    const void* data, size_t bytes,
                                    std::shared_ptr<const void> owner) {
  ASSIGN_OR_RETURN(const int64_t count, ElementCount(dims));
  const std::optional<int64_t> expected = PackedBytes(type, count);
  if (!expected || static_cast<uint64_t>(*expected) != bytes) {
    return absl::InvalidArgumentError(absl::StrCat(bytes, " bytes given for ",
                                                   std::string(TypeName(type)), DimsToString(dims),
                                                   ", which takes ", expected.value_or(-1)));
  }
  Tensor tensor;
  tensor.type_ = type;
  tensor.dims_.assign(dims.begin(), dims.end());
  tensor.size_ = count;
  tensor.buffer_ = BufferRef(Buffer::NewExternal(data, bytes, std::move(owner)));
  tensor.data_ = data;
  return tensor;
}

Tensor Tensor::Strings(absl::Span<const int64_t> dims, absl::Span<const std::string> elements) {
  Tensor tensor;
  tensor.type_ = ElementType::kString;
  tensor.dims_.assign(dims.begin(), dims.end());
  tensor.size_ = static_cast<int64_t>(elements.size());
  tensor.buffer_ = BufferRef(Buffer::NewStrings(elements.size()));
  tensor.buffer_->strings()->assign(elements.begin(), elements.end());
  tensor.data_ = tensor.buffer_->strings()->data();
  return tensor;
}

Tensor Tensor::SharingBufferOf(const Tensor& other, ElementType type,
                               absl::Span<const int64_t> dims, int64_t count) {
  Tensor tensor;
  tensor.type_ = type;
  tensor.dims_.assign(dims.begin(), dims.end());
  tensor.size_ = count;
  tensor.buffer_ = other.buffer_;
  tensor.data_ = other.data_;
  return tensor;
}

int64_t Tensor::bytes() const { return PackedBytes(type_, size_).value_or(0); }

Tensor Tensor::WithDims(absl::Span<const int64_t> dims) const& {
  Tensor result = *this;
  result.set_dims(dims);
  return result;
}

Tensor Tensor::WithDims(absl::Span<const int64_t> dims) && {
  Tensor result = std::move(*this);
  result.set_dims(dims);
  return result;
}

absl::StatusOr<Tensor> Tensor::Clone(BufferPool* pool) const {
  if (is_string()) return Strings(dims_, strings());
  ASSIGN_OR_RETURN(Tensor copy, Create(type_, dims_, pool));
  if (bytes() > 0) std::memcpy(copy.mutable_data(), data_, static_cast<size_t>(bytes()));
  return copy;
}

}  // namespace onnx_run
