// Expand, Tile, Pad: elements repeated, or put among others.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/kernel_table.h"
#include "ops/shape_util.h"
#include "ops/strided_copy.h"
#include "runtime/convert/convert.h"
#include "runtime/status_macros.h"

namespace onnx_run {
namespace {

absl::Status Expand(KernelContext& context) {
  const Tensor& data = context.input(0);
  ASSIGN_OR_RETURN(const Dims shape, ReadInts(context.input(1)));
  ASSIGN_OR_RETURN(const Dims dims, BroadcastDims(data.dims(), shape));
  const Dims source = StridesOf(data.dims());
  Dims strides(dims.size(), 0);
  const size_t added = dims.size() - static_cast<size_t>(data.rank());
  for (int d = 0; d < data.rank(); ++d) strides[added + d] = data.dim(d) == 1 ? 0 : source[d];
  ASSIGN_OR_RETURN(Tensor * output, MoveOutput(context, 0, data.type(), dims));
  CopyBox(context, data.type(), dims, {data.data(), 0, strides},
          {output->mutable_data(), 0, StridesOf(dims)});
  return absl::OkStatus();
}

absl::Status Tile(KernelContext& context) {
  const Tensor& data = context.input(0);
  ASSIGN_OR_RETURN(Dims repeats, ReadInts(context.input(1)));
  if (context.since_version() < 6) {
    // Version 1 repeats one axis: inputs `tiles` and `axis`.
    ASSIGN_OR_RETURN(const int64_t tiles, ReadInt(context.input(1), "tiles"));
    ASSIGN_OR_RETURN(const int64_t given, ReadInt(context.input(2), "axis"));
    ASSIGN_OR_RETURN(const int axis, NormalizeAxis(given, data.rank()));
    repeats.assign(static_cast<size_t>(data.rank()), 1);
    repeats[axis] = tiles;
  }
  if (static_cast<int>(repeats.size()) != data.rank()) {
    return absl::InvalidArgumentError(absl::StrCat("repeats has ", repeats.size(),
                                                   " elements, the input's rank is ", data.rank()));
  }
  // A box with two dimensions for each: which repeat, and which element.
  const Dims source = StridesOf(data.dims());
  Dims dims;
  Dims box;
  Dims from;
  for (int d = 0; d < data.rank(); ++d) {
    int64_t dim = 0;
    if (repeats[d] < 0 || __builtin_mul_overflow(data.dim(d), repeats[d], &dim)) {
      return absl::InvalidArgumentError(absl::StrCat("repeats ", DimsToString(repeats), " of ",
                                                     TypeAndDims(data), ": negative or too large"));
    }
    dims.push_back(dim);
    box.push_back(repeats[d]);
    from.push_back(0);
    box.push_back(data.dim(d));
    from.push_back(source[d]);
  }
  ASSIGN_OR_RETURN(Tensor * output, MoveOutput(context, 0, data.type(), dims));
  CopyBox(context, data.type(), box, {data.data(), 0, from},
          {output->mutable_data(), 0, StridesOf(box)});
  return absl::OkStatus();
}

enum class PadMode : uint8_t { kConstant, kReflect, kEdge, kWrap };

struct PadAttributes {
  PadMode mode;
  std::vector<int64_t> pads;  // an attribute before version 11 ("paddings" in version 1)
  float value;
};

absl::StatusOr<PadAttributes> ParsePad(const NodeInfo& node) {
  PadAttributes attributes{PadMode::kConstant,
                           node.Ints(node.since_version() < 2 ? "paddings" : "pads"),
                           node.FloatOr("value", 0)};
  const std::string mode = node.StringOr("mode", "constant");
  if (mode == "reflect") {
    attributes.mode = PadMode::kReflect;
  } else if (mode == "edge") {
    attributes.mode = PadMode::kEdge;
  } else if (mode == "wrap" && node.since_version() >= 19) {
    attributes.mode = PadMode::kWrap;
  } else if (mode != "constant") {
    return node.BadAttribute("mode", absl::StrCat("\"", mode, "\""),
                             "\"constant\", \"reflect\", \"edge\" or, from version 19, \"wrap\"");
  }
  return attributes;
}

// Index of the input along one axis that stands at place `p` of the padded axis, p counted from the
// first input element; -1: none (constant).
int64_t SourceIndex(PadMode mode, int64_t p, int64_t size) {
  if (p >= 0 && p < size) return p;
  switch (mode) {
    case PadMode::kConstant: return -1;
    case PadMode::kEdge: return p < 0 ? 0 : size - 1;
    case PadMode::kWrap: {
      const int64_t m = p % size;
      return m < 0 ? m + size : m;
    }
    case PadMode::kReflect: {
      // Back and forth with period 2(size-1), the edge itself not repeated.
      if (size == 1) return 0;
      const int64_t period = 2 * (size - 1);
      int64_t m = p % period;
      if (m < 0) m += period;
      return m < size ? m : period - m;
    }
  }
  return -1;
}

// One axis at a time, the last first, keeps every element's way to two copies. `from` has the
// padded dims in axes after `axis` and the input's before it.
void PadAxis(PadMode mode, const Tensor& from, int axis, int64_t before, Tensor& to,
             const Tensor* fill) {
  const AxisView source = ViewAround(from.dims(), axis);
  const int64_t size = to.dim(axis);
  const int64_t inner = source.inner;
  const ElementType type = from.type();
  for (int64_t o = 0; o < source.outer; ++o) {
    int64_t p = 0;
    while (p < size) {
      const int64_t index = SourceIndex(mode, p - before, source.axis);
      const int64_t place = (o * size + p) * inner;
      if (index >= 0 && index == p - before) {
        // The input's own run in one piece.
        const int64_t run = std::min(source.axis - index, size - p);
        CopyElements(type, from.data(), (o * source.axis + index) * inner, to.mutable_data(), place,
                     run * inner);
        p += run;
        continue;
      }
      if (index >= 0) {
        CopyElements(type, from.data(), (o * source.axis + index) * inner, to.mutable_data(), place,
                     inner);
      } else {
        FillElements(type, fill == nullptr ? nullptr : fill->data(), 0, to.mutable_data(), place,
                     inner);
      }
      ++p;
    }
  }
}

absl::Status Pad(const PadAttributes& attributes, KernelContext& context) {
  const Tensor& data = context.input(0);
  const int rank = data.rank();
  Dims pads(attributes.pads.begin(), attributes.pads.end());
  Tensor fill;
  if (context.since_version() >= 11) {
    ASSIGN_OR_RETURN(pads, ReadInts(context.input(1)));
    if (context.has_input(2)) {
      fill = context.input(2);
      if (fill.size() != 1) {
        return absl::InvalidArgumentError(
            absl::StrCat("constant_value is ", TypeAndDims(fill), ", expected one element"));
      }
    }
  } else {
    ASSIGN_OR_RETURN(fill, context.Allocate(data.type(), {}));
    RETURN_IF_ERROR(
        Convert(&attributes.value, ElementType::kFloat, fill.mutable_data(), data.type(), 1));
  }
  Dims axes;
  if (context.has_input(3)) {
    ASSIGN_OR_RETURN(axes, ReadInts(context.input(3)));
  } else {
    for (int d = 0; d < rank; ++d) axes.push_back(d);
  }
  ASSIGN_OR_RETURN(const auto normalized, NormalizeAxes(axes, rank));
  if (pads.size() != 2 * normalized.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("pads has ", pads.size(), " elements, expected ", 2 * normalized.size()));
  }
  Tensor current = data;
  bool changed = false;
  // Negative pads take elements away; done first, as a slice of each axis.
  for (int i = static_cast<int>(normalized.size()) - 1; i >= 0; --i) {
    const int axis = normalized[i];
    const int64_t before = pads[i];
    const int64_t after = pads[normalized.size() + i];
    if (before == 0 && after == 0) continue;
    Dims dims = current.dims();
    int64_t size = 0;
    if (__builtin_add_overflow(before, after, &size) ||
        __builtin_add_overflow(size, dims[axis], &size) || size < 0) {
      return absl::InvalidArgumentError(absl::StrCat("pads ", before, " and ", after,
                                                     " of a dimension of ", dims[axis],
                                                     " leave no valid dimension"));
    }
    if (dims[axis] == 0 && size > 0 && attributes.mode != PadMode::kConstant) {
      return absl::InvalidArgumentError(
          absl::StrCat("axis ", axis, " is empty, there is nothing to pad it with"));
    }
    dims[axis] = size;
    ASSIGN_OR_RETURN(Tensor next, context.Allocate(current.type(), dims));
    if (IsSubByte(next.type()) && next.bytes() > 0) {
      next.mutable_data_as<uint8_t>()[next.bytes() - 1] = 0;
    }
    PadAxis(attributes.mode, current, axis, before, next, fill.size() == 1 ? &fill : nullptr);
    current = std::move(next);
    changed = true;
  }
  context.SetOutput(0, changed ? Value(std::move(current)) : context.TakeInput(0));
  return absl::OkStatus();
}

constexpr auto kKernels = KernelTable(
    Rows<Expand>("Expand", 8, 13), Rows<ParsePad, Pad>("Pad", 1, 2, 11, 13, 18, 19, 21, 23, 24, 25),
    Rows<Tile>("Tile", 1, 6, 13));

}  // namespace

absl::Span<const KernelDef> RepeatKernels() { return kKernels; }

}  // namespace onnx_run
