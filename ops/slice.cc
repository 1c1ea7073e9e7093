// Slice, Split, Concat: boxes of elements, copied.
#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/families.h"
#include "ops/kernel_table.h"
#include "ops/shape_util.h"
#include "ops/strided_copy.h"
#include "runtime/status_macros.h"

namespace onnx_run {
namespace {

struct SliceAttributes {  // version 1; inputs later
  std::vector<int64_t> starts, ends, axes;
};

absl::StatusOr<SliceAttributes> ParseSlice(const NodeInfo& node) {
  return SliceAttributes{node.Ints("starts"), node.Ints("ends"), node.Ints("axes")};
}

absl::Status Slice(const SliceAttributes& attributes, KernelContext& context) {
  const Tensor& data = context.input(0);
  Dims starts(attributes.starts.begin(), attributes.starts.end());
  Dims ends(attributes.ends.begin(), attributes.ends.end());
  Dims axes(attributes.axes.begin(), attributes.axes.end());
  Dims steps;
  if (context.since_version() >= 10) {
    ASSIGN_OR_RETURN(starts, ReadInts(context.input(1)));
    ASSIGN_OR_RETURN(ends, ReadInts(context.input(2)));
    if (context.has_input(3)) {
      ASSIGN_OR_RETURN(axes, ReadInts(context.input(3)));
    }
    if (context.has_input(4)) {
      ASSIGN_OR_RETURN(steps, ReadInts(context.input(4)));
    }
  }
  const size_t count = starts.size();
  if (axes.empty()) {
    for (size_t i = 0; i < count; ++i) axes.push_back(static_cast<int64_t>(i));
  }
  if (steps.empty()) steps.assign(count, 1);
  if (ends.size() != count || axes.size() != count || steps.size() != count) {
    return absl::InvalidArgumentError(
        absl::StrCat("starts, ends, axes and steps have ", count, ", ", ends.size(), ", ",
                     axes.size(), " and ", steps.size(), " elements, expected as many each"));
  }
  ASSIGN_OR_RETURN(const auto normalized, NormalizeAxes(axes, data.rank()));
  Dims dims = data.dims();
  Dims strides = StridesOf(data.dims());
  const Dims source = strides;
  int64_t offset = 0;
  for (size_t i = 0; i < count; ++i) {
    const int axis = normalized[i];
    const int64_t size = data.dim(axis);
    const int64_t step = steps[i];
    if (step == 0) return absl::InvalidArgumentError("a step is 0");
    // Negative positions count from the end; then they are clamped to where an element, or the
    // place just past one in the direction of the step, can be.
    const auto place = [&](int64_t p) {
      if (p < 0) p = p < -size ? -1 : p + size;
      return step > 0 ? std::clamp<int64_t>(p, 0, size) : std::clamp<int64_t>(p, -1, size - 1);
    };
    const int64_t start = place(starts[i]);
    const int64_t end = place(ends[i]);
    const int64_t distance = step > 0 ? end - start : start - end;
    // step may be INT64_MIN, which has no negative.
    const uint64_t stride =
        step > 0 ? static_cast<uint64_t>(step) : ~static_cast<uint64_t>(step) + 1;
    dims[axis] = distance <= 0
                     ? 0
                     : static_cast<int64_t>((static_cast<uint64_t>(distance) - 1) / stride) + 1;
    if (dims[axis] > 0) offset += start * source[axis];
    strides[axis] = dims[axis] > 1 ? source[axis] * step : 0;
  }
  ASSIGN_OR_RETURN(Tensor * output, MoveOutput(context, 0, data.type(), dims));
  CopyBox(context, data.type(), dims, {data.data(), offset, strides},
          {output->mutable_data(), 0, StridesOf(dims)});
  return absl::OkStatus();
}

struct SplitAttributes {
  int64_t axis;
  std::vector<int64_t> split;  // an attribute before version 13, an input from there on
  int64_t num_outputs;         // version 18 on; 0: not given
};

absl::StatusOr<SplitAttributes> ParseSplit(const NodeInfo& node) {
  return SplitAttributes{node.IntOr("axis", 0), node.Ints("split"), node.IntOr("num_outputs", 0)};
}

absl::Status Split(const SplitAttributes& attributes, KernelContext& context) {
  const Tensor& data = context.input(0);
  ASSIGN_OR_RETURN(const int axis, NormalizeAxis(attributes.axis, data.rank()));
  Dims sizes(attributes.split.begin(), attributes.split.end());
  if (context.has_input(1)) {  // from version 13 on, and the obsolete one of version 1
    ASSIGN_OR_RETURN(sizes, ReadInts(context.input(1)));
  }
  const int64_t size = data.dim(axis);
  const int64_t parts = context.output_count();
  if (attributes.num_outputs > 0 && attributes.num_outputs != parts) {
    return absl::InvalidArgumentError(absl::StrCat("attribute \"num_outputs\" is ",
                                                   attributes.num_outputs, ", the node has ", parts,
                                                   " outputs"));
  }
  if (sizes.empty()) {
    // Equal parts; from version 18 on the last may be smaller.
    if (context.since_version() < 18 && size % parts != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("dimension ", size, " cannot be split into ", parts, " equal parts"));
    }
    const int64_t part = (size + parts - 1) / parts;
    for (int64_t i = 0; i < parts; ++i)
      sizes.push_back(std::clamp<int64_t>(size - i * part, 0, part));
  }
  int64_t sum = 0;
  for (int64_t part : sizes) {
    if (part < 0 || __builtin_add_overflow(sum, part, &sum)) sum = -1;
    if (sum < 0) break;
  }
  if (static_cast<int64_t>(sizes.size()) != parts || sum != size) {
    return absl::InvalidArgumentError(absl::StrCat(
        "split ", DimsToString(sizes), " does not share ", size, " out to ", parts, " outputs"));
  }
  const Dims strides = StridesOf(data.dims());
  int64_t offset = 0;
  for (int64_t i = 0; i < parts; ++i) {
    Dims dims = data.dims();
    dims[axis] = sizes[i];
    ASSIGN_OR_RETURN(Tensor * output, MoveOutput(context, static_cast<int>(i), data.type(), dims));
    CopyBox(context, data.type(), dims, {data.data(), offset, strides},
            {output->mutable_data(), 0, StridesOf(dims)});
    offset += sizes[i] * strides[axis];
  }
  return absl::OkStatus();
}

struct ConcatAttributes {
  int64_t axis;
};
absl::StatusOr<ConcatAttributes> ParseConcat(const NodeInfo& node) {
  return ConcatAttributes{node.IntOr("axis", 1)};  // the default of version 1; required later
}

absl::Status Concat(const ConcatAttributes& attributes, KernelContext& context) {
  const Tensor& first = context.input(0);
  ASSIGN_OR_RETURN(const int axis, NormalizeAxis(attributes.axis, first.rank()));
  Dims dims = first.dims();
  for (int i = 1; i < context.input_count(); ++i) {
    const Tensor& input = context.input(i);
    bool fits = input.rank() == first.rank();
    for (int d = 0; fits && d < first.rank(); ++d) fits = d == axis || input.dim(d) == first.dim(d);
    if (!fits) {
      return absl::InvalidArgumentError(
          absl::StrCat("input ", i, " is ", TypeAndDims(input), ", which does not fit input 0, ",
                       TypeAndDims(first), ", but along axis ", axis));
    }
    dims[axis] += input.dim(axis);
  }
  ASSIGN_OR_RETURN(Tensor * output, MoveOutput(context, 0, first.type(), dims));
  // Of each input, rows: from the axis on all lies in order.
  const int64_t rows = Product(dims, 0, axis);
  const int64_t inner = Product(dims, axis + 1, static_cast<int>(dims.size()));
  const int64_t to_strides[] = {dims[axis] * inner, 1};
  int64_t offset = 0;
  for (int i = 0; i < context.input_count(); ++i) {
    const Tensor& input = context.input(i);
    const int64_t n = input.dim(axis) * inner;
    const int64_t from_strides[] = {n, 1};
    CopyBox(context, first.type(), {rows, n}, {input.data(), 0, from_strides},
            {output->mutable_data(), offset, to_strides});
    offset += n;
  }
  return absl::OkStatus();
}

constexpr auto kKernels = KernelTable(Rows<ParseConcat, Concat>("Concat", 1, 4, 11, 13),
                                      Rows<ParseSlice, Slice>("Slice", 1, 10, 11, 13),
                                      Rows<ParseSplit, Split>("Split", 1, 2, 11, 13, 18));

}  // namespace

absl::Span<const KernelDef> SliceKernels() { return kKernels; }

}  // namespace onnx_run
