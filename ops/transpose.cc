// Transpose, all versions: one strided copy.
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/dispatch.h"
#include "ops/families.h"
#include "ops/kernel_table.h"
#include "ops/shape_util.h"
#include "ops/strided_copy.h"
#include "ops/transpose_kernels.h"
#include "runtime/status_macros.h"

namespace onnx_run {
namespace {

struct TransposeAttributes {
  std::vector<int64_t> perm;  // empty: reversed
};

absl::StatusOr<TransposeAttributes> ParseTranspose(const NodeInfo& node) {
  return TransposeAttributes{node.Ints("perm")};
}

constexpr int64_t kFew = 256;
constexpr int kFewDims = 4;

// Of few elements, what CopyBox finds out about the dims takes longer than to copy them by it.
template <typename T>
void CopyFew(const T* in, absl::Span<const int64_t> given_dims,
             absl::Span<const int64_t> given_from, T* out) {
  int64_t dims[kFewDims] = {1, 1, 1, 1};
  int64_t from[kFewDims] = {};
  const size_t missing = kFewDims - given_dims.size();
  for (size_t d = 0; d < given_dims.size(); ++d) {
    dims[missing + d] = given_dims[d];
    from[missing + d] = given_from[d];
  }
  for (int64_t i = 0; i < dims[0]; ++i) {
    for (int64_t j = 0; j < dims[1]; ++j) {
      for (int64_t k = 0; k < dims[2]; ++k) {
        const T* row = in + i * from[0] + j * from[1] + k * from[2];
        for (int64_t l = 0; l < dims[3]; ++l) *out++ = row[l * from[3]];
      }
    }
  }
}
// False: not done.
bool CopyFew(const Tensor& data, absl::Span<const int64_t> dims, absl::Span<const int64_t> from,
             Tensor& output) {
  if (data.size() > kFew || dims.size() > kFewDims) return false;
  const auto copy = [&]<typename T>(Tag<T>) {
    const T* const in = data.data_as<T>();
    T* const out = output.mutable_data_as<T>();
    if (dims.size() == 2 && from[0] == 1 && data.size() != 0) {
      TransposeMatrix(in, from[1], out, dims[1], dims[0], dims[1]);
    } else {
      CopyFew(in, dims, from, out);
    }
    return true;
  };
  switch (BitsOf(data.type())) {
    case 8: return copy(Tag<uint8_t>());
    case 16: return copy(Tag<uint16_t>());
    case 32: return copy(Tag<uint32_t>());
    case 64: return copy(Tag<uint64_t>());
    default: return false;
  }
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
  if (CopyFew(data, dims, from, *output)) return absl::OkStatus();
  CopyBox(context, data.type(), dims, {data.data(), 0, from},
          {output->mutable_data(), 0, StridesOf(dims)});
  return absl::OkStatus();
}

constexpr auto kKernels =
    KernelTable(Rows<ParseTranspose, Transpose>("Transpose", 1, 13, 21, 23, 24, 25));

}  // namespace

absl::Span<const KernelDef> TransposeKernels() { return kKernels; }

}  // namespace onnx_run
