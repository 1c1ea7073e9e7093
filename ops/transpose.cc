// Transpose, all versions: one strided copy.
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/families.h"
#include "ops/kernel_table.h"
#include "ops/shape_util.h"
#include "ops/strided_copy.h"
#include "runtime/status_macros.h"

namespace onnx_run {
namespace {

struct TransposeAttributes {
  std::vector<int64_t> perm;  // empty: reversed
};

absl::StatusOr<TransposeAttributes> ParseTranspose(const NodeInfo& node) {
  return TransposeAttributes{node.Ints("perm")};
}

absl::Status Transpose(const TransposeAttributes& attributes, KernelContext& context) {
  const Tensor& data = context.input(0);
  const int rank = data.rank();
  absl::Span<const int64_t> perm = attributes.perm;
  Dims reversed;
  if (perm.empty()) {
    for (int d = rank - 1; d >= 0; --d) reversed.push_back(d);
    perm = reversed;
  }
  if (static_cast<int>(perm.size()) != rank) {
    RETURN_IF_ERROR(NormalizeAxes(perm, rank).status());
    return absl::InvalidArgumentError(
        absl::StrCat("attribute \"perm\" has ", perm.size(), " axes, the input's rank is ", rank));
  }
  Dims strides = StridesOf(data.dims());
  Dims dims(static_cast<size_t>(rank));
  Dims from(static_cast<size_t>(rank));
  for (int d = 0; d < rank; ++d) {
    const int64_t axis = perm[d] < 0 ? perm[d] + rank : perm[d];
    // Each stride is taken once.
    if (axis < 0 || axis >= rank || strides[axis] < 0) return NormalizeAxes(perm, rank).status();
    dims[d] = data.dim(static_cast<int>(axis));
    from[d] = std::exchange(strides[axis], -1);
  }
  ASSIGN_OR_RETURN(Tensor * output, MoveOutput(context, 0, data.type(), dims));
  CopyBox(context, data.type(), dims, {data.data(), 0, from},
          {output->mutable_data(), 0, StridesOf(dims)});
  return absl::OkStatus();
}

constexpr auto kKernels =
    KernelTable(Rows<ParseTranspose, Transpose>("Transpose", 1, 13, 21, 23, 24, 25));

}  // namespace

absl::Span<const KernelDef> TransposeKernels() { return kKernels; }

}  // namespace onnx_run
