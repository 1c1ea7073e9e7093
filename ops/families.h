// One table of kernels for each family, declared for ops/all_ops.cc.
#ifndef ONNX_RUN_OPS_FAMILIES_H_
#define ONNX_RUN_OPS_FAMILIES_H_

#include "absl/types/span.h"
#include "runtime/kernel.h"

namespace onnx_run {

absl::Span<const KernelDef> ActivationKernels();
absl::Span<const KernelDef> BinaryKernels();
absl::Span<const KernelDef> CastKernels();
absl::Span<const KernelDef> ConstantKernels();
absl::Span<const KernelDef> ConstantOfShapeKernels();
absl::Span<const KernelDef> ControlFlowKernels();
absl::Span<const KernelDef> DropoutKernels();
absl::Span<const KernelDef> IdentityKernels();
absl::Span<const KernelDef> LogicKernels();
absl::Span<const KernelDef> OptionalKernels();
absl::Span<const KernelDef> PowKernels();
absl::Span<const KernelDef> QuantizeKernels();
absl::Span<const KernelDef> ReduceKernels();
absl::Span<const KernelDef> ScanKernels();
absl::Span<const KernelDef> SequenceKernels();
absl::Span<const KernelDef> SoftmaxKernels();
absl::Span<const KernelDef> TransposeKernels();
absl::Span<const KernelDef> UnaryKernels();
absl::Span<const KernelDef> VariadicKernels();

}  // namespace onnx_run

#endif  // ONNX_RUN_OPS_FAMILIES_H_
