#include "ops/all_ops.h"

#include <vector>

#include "ops/families.h"

namespace onnx_run {

absl::Span<const absl::Span<const KernelDef>> AllKernels() {
  static const auto* tables = new std::vector<absl::Span<const KernelDef>>{
      CastKernels(),
      ConstantKernels(),
      ConstantOfShapeKernels(),
      ControlFlowKernels(),
      IdentityKernels(),
      OptionalKernels(),
      SequenceKernels(),
  };
  return *tables;
}

}  // namespace onnx_run
