#include "ops/quantize_util.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "absl/strings/str_cat.h"
#include "ops/dispatch.h"
#include "ops/shape_util.h"
#include "ops/strided_copy.h"
#include "runtime/status_macros.h"

namespace onnx_run {
namespace {

// The dims of `x` with dimension `axis` as blocks and their elements, and those by which a scale
// with one element for each block is broadcast to them.
struct BlockDims {
  Dims x;
  Dims scale;
};
BlockDims SplitBlocks(const Tensor& x, int axis, int64_t block_size) {
  BlockDims dims{x.dims(), x.dims()};
  const int64_t blocks = x.dim(axis) / block_size;
  dims.x[axis] = dims.scale[axis] = blocks;
  dims.x.insert(dims.x.begin() + axis + 1, block_size);
  dims.scale.insert(dims.scale.begin() + axis + 1, 1);
  return dims;
}

// Each scale `block_size` times along `axis`: for a last block that is not whole.
absl::StatusOr<Tensor> RepeatBlocks(KernelContext& context, const Tensor& scale, const Dims& x_dims,
                                    int axis, int64_t block_size) {
  ASSIGN_OR_RETURN(const Tensor from, WidenTensor(context, scale));
  ASSIGN_OR_RETURN(Tensor result, context.Allocate(from.type(), x_dims));
  Dims from_strides = StridesOf(scale.dims());
  const Dims to_strides = StridesOf(x_dims);
  const int64_t axis_stride = from_strides[axis];
  from_strides[axis] = 0;
  Dims box = x_dims;
  for (int64_t block = 0; block * block_size < x_dims[axis]; ++block) {
    box[axis] = std::min(block_size, x_dims[axis] - block * block_size);
    CopyBox(context, from.type(), box, {from.data(), block * axis_stride, from_strides},
            {result.mutable_data(), block * block_size * to_strides[axis], to_strides});
  }
  return result;
}

}  // namespace

absl::StatusOr<QuantizeGranularity> ParseGranularity(const NodeInfo& node) {
  QuantizeGranularity granularity{node.IntOr("axis", 1), node.IntOr("block_size", 0)};
  if (granularity.block_size < 0) {
    return node.BadAttribute("block_size", absl::StrCat(granularity.block_size), "0 or more");
  }
  return granularity;
}

absl::StatusOr<ElementType> ParseOptionalType(const NodeInfo& node, absl::string_view name) {
  const int64_t number = node.IntOr(name, 0);
  if (number == 0) return ElementType::kUndefined;
  const std::optional<ElementType> type = ElementTypeFromNumber(number);
  if (!type || KindOf(*type) == ElementKind::kString || KindOf(*type) == ElementKind::kComplex) {
    return node.BadAttribute(name, absl::StrCat(number), "the number of a numeric data type, or 0");
  }
  return *type;
}

absl::StatusOr<QuantizeOperands> AlignQuantizeOperands(const QuantizeGranularity& granularity,
                                                       ElementType zero_type,
                                                       KernelContext& context) {
  QuantizeOperands operands{context.input(0), context.input(1), {}};
  const Tensor x = operands.x;
  if (context.has_input(2)) {
    operands.zero = context.input(2);
    if (operands.zero.size() != operands.scale.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the zero point is ", TypeAndDims(operands.zero), " and the scale is ",
                       TypeAndDims(operands.scale), ": their dimensions must be the same"));
    }
  } else {
    ASSIGN_OR_RETURN(operands.zero, context.Allocate(zero_type, {}));
    std::memset(operands.zero.mutable_data(), 0, static_cast<size_t>(operands.zero.bytes()));
  }
  if (operands.scale.size() == 1) {
    operands.scale.set_dims({});
    operands.zero.set_dims({});
    return operands;
  }

  ASSIGN_OR_RETURN(const int axis, NormalizeAxis(granularity.axis, x.rank()));
  const bool blocked = granularity.block_size > 0;
  const int64_t block_size = blocked ? granularity.block_size : 1;
  const int64_t blocks = (x.dim(axis) + block_size - 1) / block_size;
  Dims expected{blocks};
  if (blocked) {
    expected = x.dims();
    expected[axis] = blocks;
  }
  if (operands.scale.dims() != expected) {
    return absl::InvalidArgumentError(
        absl::StrCat("the scale is ", TypeAndDims(operands.scale), ", expected dimensions ",
                     DimsToString(expected), " for x ", TypeAndDims(x), ", axis ", axis,
                     blocked ? absl::StrCat(" and block size ", block_size) : ""));
  }
  if (!blocked) {
    Dims dims(static_cast<size_t>(x.rank() - axis), 1);
    dims[0] = blocks;
    operands.scale.set_dims(dims);
    if (operands.zero.size() != 1) operands.zero.set_dims(dims);
  } else if (x.dim(axis) % block_size == 0) {
    const BlockDims dims = SplitBlocks(x, axis, block_size);
    operands.x.set_dims(dims.x);
    operands.scale.set_dims(dims.scale);
    if (operands.zero.size() != 1) operands.zero.set_dims(dims.scale);
  } else {
    if (operands.zero.size() != 1) {
      operands.zero.set_dims(operands.scale.dims());
      ASSIGN_OR_RETURN(operands.zero,
                       RepeatBlocks(context, operands.zero, x.dims(), axis, block_size));
    }
    ASSIGN_OR_RETURN(operands.scale,
                     RepeatBlocks(context, operands.scale, x.dims(), axis, block_size));
  }
  return operands;
}

}  // namespace onnx_run
