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

// Where each dimension of the output comes from. Dimensions that stay neighbours are moved as one.
struct Order {
  struct Group {
    int begin;  // of the input's dimensions
    int end;
  };
  std::vector<int> axes;      // of the input, in the order of the output
  std::vector<Group> groups;  // likewise

  void Add(int axis) {
    axes.push_back(axis);
    if (!groups.empty() && groups.back().end == axis) {
      ++groups.back().end;
    } else {
      groups.push_back({axis, axis + 1});
    }
  }
};

struct TransposeAttributes {
  std::vector<int64_t> perm;  // empty: reversed
  Order order;                // without axes: perm is none
};

absl::StatusOr<TransposeAttributes> ParseTranspose(const NodeInfo& node) {
  TransposeAttributes attributes{node.Ints("perm"), {}};
  const auto axes = NormalizeAxes(attributes.perm, static_cast<int>(attributes.perm.size()));
  if (axes.ok()) {  // else the run says what is wrong: it knows the input's rank
    for (const int axis : *axes) attributes.order.Add(axis);
  }
  return attributes;
}

constexpr int64_t kFew = 256;
constexpr size_t kFewGroups = 4;

// A box of at most kFewGroups dimensions, with the input's strides.
struct Box {
  int64_t dims[kFewGroups];
  int64_t from[kFewGroups];
};

// Of few elements, what CopyBox finds out about the dims takes longer than to copy them by it.
template <typename T>
void CopyFew(const T* in, const Box& box, T* out) {
  const auto [rows, columns] = std::pair(box.dims[2], box.dims[3]);
  for (int64_t i = 0; i < box.dims[0]; ++i) {
    const T* const part = in + i * box.from[0];
    if (box.from[2] == 1) {
      TransposeMatrix(part, box.from[3], out, columns, rows, columns, box.dims[1], box.from[1],
                      rows * columns);
      out += box.dims[1] * rows * columns;
      continue;
    }
    for (int64_t j = 0; j < box.dims[1]; ++j) {
      for (int64_t k = 0; k < rows; ++k) {
        const T* const row = part + j * box.from[1] + k * box.from[2];
        for (int64_t l = 0; l < columns; ++l) *out++ = row[l * box.from[3]];
      }
    }
  }
}
// False: not done.
bool CopyFew(const Tensor& data, const Order& order, Tensor& output) {
  if (data.size() > kFew || data.size() == 0 || order.groups.size() > kFewGroups) return false;
  Box box{{1, 1, 1, 1}, {}};
  const int64_t* const dims = data.dims().data();
  const int rank = data.rank();
  size_t g = kFewGroups - order.groups.size();
  for (const Order::Group& group : order.groups) {
    int64_t dim = dims[group.begin];
    for (int d = group.begin + 1; d < group.end; ++d) dim *= dims[d];
    int64_t from = 1;
    for (int d = group.end; d < rank; ++d) from *= dims[d];
    box.dims[g] = dim;
    box.from[g] = from;
    ++g;
  }
  const auto copy = [&]<typename T>(Tag<T>) {
    CopyFew(data.data_as<T>(), box, output.mutable_data_as<T>());
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
  Order reversed;
  const Order* order = &attributes.order;
  if (attributes.perm.empty()) {
    for (int d = rank - 1; d >= 0; --d) reversed.Add(d);
    order = &reversed;
  }
  if (static_cast<int>(order->axes.size()) != rank || (order != &reversed && rank == 0)) {
    RETURN_IF_ERROR(NormalizeAxes(attributes.perm, rank).status());
    return absl::InvalidArgumentError(absl::StrCat(
        "attribute \"perm\" has ", attributes.perm.size(), " axes, the input's rank is ", rank));
  }
  Dims dims(static_cast<size_t>(rank));
  for (int d = 0; d < rank; ++d) dims[d] = data.dim(order->axes[d]);
  ASSIGN_OR_RETURN(Tensor * output, MoveOutput(context, 0, data.type(), dims));
  if (CopyFew(data, *order, *output)) return absl::OkStatus();
  const Dims strides = StridesOf(data.dims());
  Dims from(static_cast<size_t>(rank));
  for (int d = 0; d < rank; ++d) from[d] = strides[order->axes[d]];
  CopyBox(context, data.type(), dims, {data.data(), 0, from},
          {output->mutable_data(), 0, StridesOf(dims)});
  return absl::OkStatus();
}

constexpr auto kKernels =
    KernelTable(Rows<ParseTranspose, Transpose>("Transpose", 1, 13, 21, 23, 24, 25));

}  // namespace

absl::Span<const KernelDef> TransposeKernels() { return kKernels; }

}  // namespace onnx_run
