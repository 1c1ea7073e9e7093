#include "ops/all_ops.h"

#include <vector>

#include "ops/families.h"

namespace onnx_run {

absl::Span<const absl::Span<const KernelDef>> AllKernels() {
  static const auto* tables = new std::vector<absl::Span<const KernelDef>>{
      ActivationKernels(),
      BinaryKernels(),
      CastKernels(),
      CausalConvKernels(),
      Col2ImKernels(),
      ConstantKernels(),
      ConstantOfShapeKernels(),
      ControlFlowKernels(),
      ConvKernels(),
      ConvTransposeKernels(),
      DeformConvKernels(),
      DetKernels(),
      DropoutKernels(),
      EinsumKernels(),
      GatherKernels(),
      GradientKernels(),
      GridSampleKernels(),
      IdentityKernels(),
      ImageDecoderKernels(),
      IntegerMatMulKernels(),
      LayerNormalizationKernels(),
      LogicKernels(),
      MatMulKernels(),
      MlFeatureKernels(),
      MlLinearKernels(),
      MlTextKernels(),
      MlTreeKernels(),
      NonMaxSuppressionKernels(),
      NormalizationKernels(),
      OptionalKernels(),
      PoolKernels(),
      PowKernels(),
      QuantizeKernels(),
      RandomKernels(),
      RearrangeKernels(),
      ReduceKernels(),
      RepeatKernels(),
      ResizeKernels(),
      RnnKernels(),
      RoiPoolKernels(),
      ScanKernels(),
      SequenceKernels(),
      ShapeKernels(),
      SignalKernels(),
      SliceKernels(),
      SoftmaxKernels(),
      SortKernels(),
      TextKernels(),
      TrainingKernels(),
      TransposeKernels(),
      UnaryKernels(),
      VariadicKernels(),
  };
  return *tables;
}

}  // namespace onnx_run
