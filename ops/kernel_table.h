// How a family of operators writes its table: one line for each operator and kernel.
//
//   constexpr auto kKernels = KernelTable(
//       Rows<Unary<AbsOp, Numbers>>("Abs", 1, 6, 13),
//       Rows<ParseElu, Elu>("Elu", 1, 6, 22));
//
// The numbers are the since versions of the schemas that the kernel serves.
#ifndef ONNX_RUN_OPS_KERNEL_TABLE_H_
#define ONNX_RUN_OPS_KERNEL_TABLE_H_

#include <array>
#include <cstddef>

#include "runtime/kernel.h"

namespace onnx_run {

template <size_t kCount>
struct KernelRows {
  std::array<KernelDef, kCount> rows;

  constexpr KernelRows Infer(InferFn fn) const {
    KernelRows result = *this;
    for (KernelDef& row : result.rows) row = row.Infer(fn);
    return result;
  }
  constexpr KernelRows Prepare(PrepareFn fn) const {
    KernelRows result = *this;
    for (KernelDef& row : result.rows) row = row.Prepare(fn);
    return result;
  }
  constexpr KernelRows NotFoldable() const {
    KernelRows result = *this;
    for (KernelDef& row : result.rows) row = row.NotFoldable();
    return result;
  }
};

// `kFunctions`: the run function, or the parse function and the run function (see Kernel).
template <auto... kFunctions, typename... Versions>
constexpr KernelRows<sizeof...(Versions)> Rows(const char* op_type, Versions... since_versions) {
  return {{Kernel<kFunctions...>("", op_type, since_versions)...}};
}

template <size_t... kCounts>
constexpr std::array<KernelDef, (kCounts + ...)> KernelTable(const KernelRows<kCounts>&... groups) {
  std::array<KernelDef, (kCounts + ...)> table{};
  size_t next = 0;
  const auto append = [&](const auto& group) {
    for (const KernelDef& row : group.rows) table[next++] = row;
  };
  (append(groups), ...);
  return table;
}

// The same rows for the operators of `domain`.
template <size_t kCount>
constexpr std::array<KernelDef, kCount> InDomain(const char* domain,
                                                 std::array<KernelDef, kCount> table) {
  for (KernelDef& row : table) row.domain = domain;
  return table;
}

}  // namespace onnx_run

#endif  // ONNX_RUN_OPS_KERNEL_TABLE_H_
