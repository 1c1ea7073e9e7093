#include "ops/all_ops.h"

#include <vector>

#include "ops/families.h"

namespace onnx_run {

absl::Span<const absl::Span<const KernelDef>> AllKernels() {
  static const auto* tables = new std::vector<absl::Span<const KernelDef>>{
      ActivationKernels(),
      BinaryKernels(),
      CastKernels(),
      ConstantKernels(),
      ConstantOfShapeKernels(),
      ControlFlowKernels(),
      DropoutKernels(),
      IdentityKernels(),
      LogicKernels(),
      OptionalKernels(),
      PowKernels(),
      QuantizeKernels(),
      ReduceKernels(),
      ScanKernels(),
      SequenceKernels(),
      SoftmaxKernels(),
      TransposeKernels(),
      UnaryKernels(),
      VariadicKernels(),
  };
  return *tables;
}

}  // namespace onnx_run
