#include "ops/all_ops.h"

#include <vector>

#include "ops/families.h"

namespace onnx_run {

absl::Span<const absl::Span<const KernelDef>> AllKernels() {
  static const auto* tables = new std::vector<absl::Span<const KernelDef>>{
      BinaryKernels(),
      CastKernels(),
      ConstantKernels(),
      ConstantOfShapeKernels(),
      ControlFlowKernels(),
      IdentityKernels(),
      OptionalKernels(),
      QuantizeKernels(),
      ReduceKernels(),
      SequenceKernels(),
      TransposeKernels(),
      UnaryKernels(),
  };
  return *tables;
}

}  // namespace onnx_run
