// One table of kernels for each family, declared for ops/all_ops.cc.
#ifndef ONNX_RUN_OPS_FAMILIES_H_
#define ONNX_RUN_OPS_FAMILIES_H_

#include "absl/types/span.h"
#include "runtime/kernel.h"

namespace onnx_run {

absl::Span<const KernelDef> ActivationKernels();
absl::Span<const KernelDef> BinaryKernels();
absl::Span<const KernelDef> CastKernels();
absl::Span<const KernelDef> CausalConvKernels();
absl::Span<const KernelDef> Col2ImKernels();
absl::Span<const KernelDef> ConstantKernels();
absl::Span<const KernelDef> ConstantOfShapeKernels();
absl::Span<const KernelDef> ControlFlowKernels();
absl::Span<const KernelDef> ConvKernels();
absl::Span<const KernelDef> ConvTransposeKernels();
absl::Span<const KernelDef> DeformConvKernels();
absl::Span<const KernelDef> DetKernels();
absl::Span<const KernelDef> DropoutKernels();
absl::Span<const KernelDef> EinsumKernels();
absl::Span<const KernelDef> GatherKernels();
absl::Span<const KernelDef> GradientKernels();
absl::Span<const KernelDef> GridSampleKernels();
absl::Span<const KernelDef> IdentityKernels();
absl::Span<const KernelDef> ImageDecoderKernels();
absl::Span<const KernelDef> IntegerMatMulKernels();
absl::Span<const KernelDef> LayerNormalizationKernels();
absl::Span<const KernelDef> LogicKernels();
absl::Span<const KernelDef> MatMulKernels();
absl::Span<const KernelDef> MlFeatureKernels();
absl::Span<const KernelDef> MlLinearKernels();
absl::Span<const KernelDef> MlTextKernels();
absl::Span<const KernelDef> MlTreeKernels();
absl::Span<const KernelDef> NonMaxSuppressionKernels();
absl::Span<const KernelDef> NormalizationKernels();
absl::Span<const KernelDef> OptionalKernels();
absl::Span<const KernelDef> PoolKernels();
absl::Span<const KernelDef> PowKernels();
absl::Span<const KernelDef> QuantizeKernels();
absl::Span<const KernelDef> RandomKernels();
absl::Span<const KernelDef> RearrangeKernels();
absl::Span<const KernelDef> ReduceKernels();
absl::Span<const KernelDef> RepeatKernels();
absl::Span<const KernelDef> ResizeKernels();
absl::Span<const KernelDef> RnnKernels();
absl::Span<const KernelDef> RoiPoolKernels();
absl::Span<const KernelDef> ScanKernels();
absl::Span<const KernelDef> SequenceKernels();
absl::Span<const KernelDef> ShapeKernels();
absl::Span<const KernelDef> SignalKernels();
absl::Span<const KernelDef> SliceKernels();
absl::Span<const KernelDef> SoftmaxKernels();
absl::Span<const KernelDef> SortKernels();
absl::Span<const KernelDef> TextKernels();
absl::Span<const KernelDef> TrainingKernels();
absl::Span<const KernelDef> TransposeKernels();
absl::Span<const KernelDef> UnaryKernels();
absl::Span<const KernelDef> VariadicKernels();

}  // namespace onnx_run

#endif  // ONNX_RUN_OPS_FAMILIES_H_
