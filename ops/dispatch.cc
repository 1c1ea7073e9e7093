#include "ops/dispatch.h"

#include <utility>

#include "runtime/status_macros.h"

namespace onnx_run {
namespace {

absl::Status ConvertElements(KernelContext& context, const Tensor& from, Tensor& to) {
  return ConvertParallel(
      from.data(), from.type(), to.mutable_data(), to.type(), from.size(), {},
      [&](int64_t n, int64_t grain, absl::FunctionRef<void(int64_t begin, int64_t end)> fn) {
        context.ParallelFor(n, grain, fn);
      });
}

}  // namespace

absl::StatusOr<Tensor> ConvertTensor(KernelContext& context, const Tensor& tensor, ElementType to) {
  if (tensor.type() == to) return tensor;
  ASSIGN_OR_RETURN(Tensor result, context.Allocate(to, tensor.dims()));
  RETURN_IF_ERROR(ConvertElements(context, tensor, result));
  return result;
}

absl::StatusOr<Tensor> WidenTensor(KernelContext& context, const Tensor& tensor) {
  return ConvertTensor(context, tensor, ComputeType(tensor.type()));
}

absl::Status SetOutputNarrowed(KernelContext& context, int i, Tensor computed, ElementType type) {
  if (computed.type() == type) {
    context.SetOutput(i, std::move(computed));
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(Tensor * output, context.Output(i, type, computed.dims()));
  return ConvertElements(context, computed, *output);
}

}  // namespace onnx_run
