// The kernels of this library: the table of contents.
#ifndef ONNX_RUN_OPS_ALL_OPS_H_
#define ONNX_RUN_OPS_ALL_OPS_H_

#include "absl/types/span.h"
#include "runtime/kernel.h"
#include "runtime/op_schema.h"

namespace onnx_run {

// One table for each family; an embedder may pass a smaller list, and the linker drops the rest.
absl::Span<const absl::Span<const KernelDef>> AllKernels();

// The standard's schemas, generated at build time from the pinned onnx release.
const SchemaTable& StandardSchemas();

}  // namespace onnx_run

#endif  // ONNX_RUN_OPS_ALL_OPS_H_
