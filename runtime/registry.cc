#include "runtime/registry.h"

#include <algorithm>

namespace onnx_run {
namespace {

int CompareKey(const KernelDef& kernel, absl::string_view domain, absl::string_view op_type) {
  const int by_domain = absl::string_view(kernel.domain).compare(domain);
  return by_domain != 0 ? by_domain : absl::string_view(kernel.op_type).compare(op_type);
}

}  // namespace

OpRegistry::OpRegistry(absl::Span<const absl::Span<const KernelDef>> tables,
                       const SchemaTable* schemas)
    : schemas_(schemas) {
  size_t count = 0;
  for (const auto& table : tables) count += table.size();
  kernels_.reserve(count);
  for (const auto& table : tables) {
    for (const KernelDef& kernel : table) kernels_.push_back(&kernel);
  }
  // Stable: of two rows with one key the later table's comes first, so that an embedder can
  // override.
  std::reverse(kernels_.begin(), kernels_.end());
  std::stable_sort(kernels_.begin(), kernels_.end(), [](const KernelDef* a, const KernelDef* b) {
    const int order = CompareKey(*a, b->domain, b->op_type);
    return order != 0 ? order < 0 : a->since_version < b->since_version;
  });
}

OpRegistry::Found OpRegistry::Find(absl::string_view domain, absl::string_view op_type,
                                   int64_t opset) const {
  Found found;
  if (schemas_ != nullptr) found.schema = schemas_->Find(domain, op_type, opset);
  auto it = std::partition_point(kernels_.begin(), kernels_.end(), [&](const KernelDef* kernel) {
    return CompareKey(*kernel, domain, op_type) < 0;
  });
  for (; it != kernels_.end() && CompareKey(**it, domain, op_type) == 0; ++it) {
    const int since = (*it)->since_version;
    // A standard operator's kernel serves the one version its row names; an embedder's own operator
    // has no schema, and its versions follow the same rule among themselves.
    const bool serves =
        found.schema != nullptr ? since == found.schema->since_version : since <= opset;
    if (serves && (found.kernel == nullptr || since > found.kernel->since_version)) {
      found.kernel = *it;
    }
  }
  return found;
}

}  // namespace onnx_run
