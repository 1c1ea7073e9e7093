// OpRegistry: kernels by (domain, op type, since version), beside the standard's schemas.
#ifndef ONNX_RUN_RUNTIME_REGISTRY_H_
#define ONNX_RUN_RUNTIME_REGISTRY_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/kernel.h"
#include "runtime/op_schema.h"

namespace onnx_run {

// Immutable once made; many sessions may share one. The tables must outlive it (they are static).
class OpRegistry {
 public:
  // `schemas` may be nullptr: then nothing is known of the standard's operators but their kernels.
  OpRegistry(absl::Span<const absl::Span<const KernelDef>> tables, const SchemaTable* schemas);

  struct Found {
    const OpSchema* schema = nullptr;   // nullptr: the standard has no such operator at that opset
    const KernelDef* kernel = nullptr;  // nullptr: not implemented
  };
  // The greatest since version not above `opset`.
  Found Find(absl::string_view domain, absl::string_view op_type, int64_t opset) const;

  const SchemaTable* schemas() const { return schemas_; }
  // All kernels, sorted by (domain, op type, since version).
  absl::Span<const KernelDef* const> kernels() const { return kernels_; }

 private:
  const SchemaTable* schemas_;
  std::vector<const KernelDef*> kernels_;
};

}  // namespace onnx_run

#endif  // ONNX_RUN_RUNTIME_REGISTRY_H_
