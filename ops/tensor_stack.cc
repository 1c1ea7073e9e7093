#include "ops/tensor_stack.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "ops/copy_elements.h"
#include "runtime/status_macros.h"

namespace onnx_run {
namespace {

// A growing stack starts no larger than this; it doubles from there.
constexpr int64_t kMaxGuessBytes = int64_t{1} << 20;

}  // namespace

absl::Status TensorStack::Start(const Tensor& element) {
  const int rank = element.rank() + 1;
  if (axis_ < -rank || axis_ >= rank) {
    return absl::InvalidArgumentError(absl::StrCat("axis ", axis_, " in a result of rank ", rank,
                                                   ", accepted: [", -rank, ",", rank - 1, "]"));
  }
  if (axis_ < 0) axis_ += rank;
  element_dims_ = element.dims();
  outer_ = 1;
  inner_ = 1;
  if (element.size() > 0) {  // else the products might overflow, and nothing is to be copied
    for (int d = 0; d < element.rank(); ++d) (d < axis_ ? outer_ : inner_) *= element.dim(d);
  }
  if (grows_) {
    const int64_t bytes = std::max<int64_t>(element.bytes(), element.is_string() ? 32 : 1);
    capacity_ = std::max<int64_t>(std::min(capacity_, kMaxGuessBytes / bytes), 4);
  }
  ASSIGN_OR_RETURN(result_, context_->Allocate(element.type(), {}));  // tells Resize the type
  RETURN_IF_ERROR(Resize(capacity_, 0));
  if (padded_) ZeroElements(&result_, 0, result_.size());
  return absl::OkStatus();
}

absl::Status TensorStack::Resize(int64_t capacity, int64_t kept) {
  Dims dims = element_dims_;
  dims.insert(dims.begin() + axis_, capacity);
  ASSIGN_OR_RETURN(Tensor resized, context_->Allocate(result_.type(), dims));
  ZeroUnusedBits(&resized);
  if (resized.size() > 0) CopyElements(result_, 0, &resized, 0, kept * inner_);
  result_ = std::move(resized);
  capacity_ = capacity;
  return absl::OkStatus();
}

absl::Status TensorStack::Put(int64_t index, const Tensor& element) {
  if (put_ == 0) {
    RETURN_IF_ERROR(Start(element));
  } else if (element.type() != result_.type() || element.dims() != element_dims_) {
    return absl::InvalidArgumentError(absl::StrCat("is ", TypeAndDims(element), " in iteration ",
                                                   put_, ", was ", TypeName(result_.type()),
                                                   DimsToString(element_dims_), " before"));
  }
  if (index >= capacity_) {
    if (!grows_) return absl::InternalError("a stack of known size got one element too many");
    if (capacity_ > INT64_MAX / 2) return absl::ResourceExhaustedError("too many iterations");
    RETURN_IF_ERROR(Resize(capacity_ * 2, put_));
  }
  ++put_;
  if (element.size() == 0) return absl::OkStatus();
  for (int64_t o = 0; o < outer_; ++o) {
    CopyElements(element, o * inner_, &result_, (o * capacity_ + index) * inner_, inner_);
  }
  return absl::OkStatus();
}

absl::StatusOr<Tensor> TensorStack::Finish() {
  if (put_ == 0) return absl::InternalError("a stack without elements");
  if (grows_ && put_ != capacity_) RETURN_IF_ERROR(Resize(put_, put_));
  return std::move(result_);
}

absl::StatusOr<Tensor> EmptyStack(KernelContext* context, const Type& declared, int64_t axis,
                                  absl::Span<const int64_t> dims) {
  if (declared.kind != ValueKind::kTensor || declared.element == ElementType::kUndefined) {
    return absl::InvalidArgumentError(
        "has no declared type, and no iteration has shown it: declare it in the body");
  }
  Dims all;
  if (declared.shape) {
    for (const DeclaredDim& dim : *declared.shape)
      all.push_back(std::max<int64_t>(dim.value.value_or(0), 0));
  }
  const int64_t last = static_cast<int64_t>(all.size());
  if (axis < 0) axis += last + 1;
  axis = std::clamp<int64_t>(axis, 0, last);
  all.insert(all.begin() + axis, dims.begin(), dims.end());
  ASSIGN_OR_RETURN(Tensor tensor, context->Allocate(declared.element, all));
  ZeroUnusedBits(&tensor);
  ZeroElements(&tensor, 0, tensor.size());
  return tensor;
}

}  // namespace onnx_run
