// Identity: the value itself, of whatever kind.
#include "ops/families.h"
#include "runtime/kernel.h"

namespace onnx_run {
namespace {

absl::Status Identity(KernelContext& context) {
  context.SetOutput(0, context.TakeInput(0));
  return absl::OkStatus();
}

constexpr KernelDef kIdentityKernels[] = {
    Kernel<Identity>("", "Identity", 25), Kernel<Identity>("", "Identity", 24),
    Kernel<Identity>("", "Identity", 23), Kernel<Identity>("", "Identity", 21),
    Kernel<Identity>("", "Identity", 19), Kernel<Identity>("", "Identity", 16),
    Kernel<Identity>("", "Identity", 14), Kernel<Identity>("", "Identity", 13),
    Kernel<Identity>("", "Identity", 1),
};

}  // namespace

absl::Span<const KernelDef> IdentityKernels() { return kIdentityKernels; }

}  // namespace onnx_run
