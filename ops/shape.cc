// Operators that change or tell the shape and never touch an element: Shape, Size, Reshape,
// Flatten, Squeeze, Unsqueeze. The elements are passed on as they are.
#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/families.h"
#include "ops/kernel_table.h"
#include "ops/shape_util.h"
#include "runtime/status_macros.h"

namespace onnx_run {
namespace {

// Output 0: input 0 with other dims of the same count.
absl::Status PassOn(KernelContext& context, absl::Span<const int64_t> dims) {
  Value value = context.TakeInput(0);
  value.mutable_tensor().set_dims(dims);
  context.SetOutput(0, std::move(value));
  return absl::OkStatus();
}

absl::Status OutputInts(KernelContext& context, absl::Span<const int64_t> dims,
                        absl::Span<const int64_t> values) {
  ASSIGN_OR_RETURN(Tensor * output, context.Output(0, ElementType::kInt64, dims));
  std::copy(values.begin(), values.end(), output->mutable_data_as<int64_t>());
  return absl::OkStatus();
}

struct ShapeAttributes {
  int64_t start;
  int64_t end;
};

// start and end came with version 15; they are clamped to [0, rank], negative ones count from the
// back.
absl::StatusOr<ShapeAttributes> ParseShape(const NodeInfo& node) {
  return ShapeAttributes{node.IntOr("start", 0), node.IntOr("end", INT64_MAX)};
}

absl::Status Shape(const ShapeAttributes& attributes, KernelContext& context) {
  const Dims& dims = context.input(0).dims();
  const auto rank = static_cast<int64_t>(dims.size());
  const auto clamp = [&](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + rank : i, 0, rank); };
  const int64_t start = clamp(attributes.start);
  const int64_t end = std::max(start, clamp(attributes.end));
  return OutputInts(context, {end - start},
                    absl::MakeConstSpan(dims.data() + start, static_cast<size_t>(end - start)));
}

absl::Status Size(KernelContext& context) {
  return OutputInts(context, {}, {context.input(0).size()});
}

// 0 copies the input's dimension unless `allow_zero`; one -1 takes what is left.
absl::StatusOr<Dims> ReshapedDims(const Tensor& data, absl::Span<const int64_t> shape,
                                  bool allow_zero) {
  const auto mismatch = [&](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat("shape ", DimsToString(shape),
                                                   " does not fit input ", TypeAndDims(data), why));
  };
  Dims dims(shape.begin(), shape.end());
  int unknown = -1;
  bool zero = false;
  for (int i = 0; i < static_cast<int>(dims.size()); ++i) {
    if (dims[i] == -1) {
      if (unknown >= 0) return mismatch(": more than one -1");
      unknown = i;
    } else if (dims[i] == 0 && !allow_zero) {
      if (i >= data.rank())
        return mismatch(": a 0 copies a dimension that the input does not have");
      dims[i] = data.dim(i);
    } else if (dims[i] < 0) {
      return mismatch(": negative");
    }
    zero = zero || shape[i] == 0;
  }
  if (unknown >= 0) {
    if (allow_zero && zero) return mismatch(": 0 and -1 cannot be together with allowzero");
    dims[unknown] = 1;
    ASSIGN_OR_RETURN(const int64_t known, ElementCount(dims));
    if (known == 0) {
      // Any value fits; numpy and the standard's inference take 0 when the input is empty.
      if (data.size() != 0) return mismatch("");
      dims[unknown] = 0;
    } else {
      if (data.size() % known != 0) return mismatch("");
      dims[unknown] = data.size() / known;
    }
  }
  ASSIGN_OR_RETURN(const int64_t count, ElementCount(dims));
  if (count != data.size()) return mismatch("");
  return dims;
}

struct ReshapeAttributes {
  std::vector<int64_t> shape;  // version 1; an input later
  bool allow_zero;             // version 14 on
};

absl::StatusOr<ReshapeAttributes> ParseReshape(const NodeInfo& node) {
  return ReshapeAttributes{node.Ints("shape"), node.IntOr("allowzero", 0) != 0};
}

absl::Status Reshape(const ReshapeAttributes& attributes, KernelContext& context) {
  Dims shape(attributes.shape.begin(), attributes.shape.end());
  if (context.since_version() >= 5) {
    ASSIGN_OR_RETURN(shape, ReadInts(context.input(1)));
  }
  ASSIGN_OR_RETURN(const Dims dims, ReshapedDims(context.input(0), shape, attributes.allow_zero));
  return PassOn(context, dims);
}

struct AxisAttribute {
  int64_t axis;
};
absl::StatusOr<AxisAttribute> ParseFlatten(const NodeInfo& node) {
  return AxisAttribute{node.IntOr("axis", 1)};
}

absl::Status Flatten(const AxisAttribute& attributes, KernelContext& context) {
  const Tensor& data = context.input(0);
  // axis may be the rank itself: all dimensions go into the first.
  int axis = data.rank();
  if (attributes.axis != data.rank()) {
    ASSIGN_OR_RETURN(axis, NormalizeAxis(attributes.axis, data.rank()));
  }
  return PassOn(context, {Product(data.dims(), 0, axis), Product(data.dims(), axis, data.rank())});
}

struct AxesAttribute {
  bool given;
  std::vector<int64_t> axes;
};
absl::StatusOr<AxesAttribute> ParseAxes(const NodeInfo& node) {
  return AxesAttribute{node.Has("axes"), node.Ints("axes")};
}
// The axes: an attribute before version 13, an input from there on.
absl::StatusOr<AxesAttribute> AxesOf(const AxesAttribute& attributes,
                                     const KernelContext& context) {
  if (context.since_version() < 13) return attributes;
  if (!context.has_input(1)) return AxesAttribute{false, {}};
  ASSIGN_OR_RETURN(const Dims axes, ReadInts(context.input(1)));
  return AxesAttribute{true, {axes.begin(), axes.end()}};
}

absl::Status Squeeze(const AxesAttribute& attributes, KernelContext& context) {
  const Tensor& data = context.input(0);
  ASSIGN_OR_RETURN(const AxesAttribute given, AxesOf(attributes, context));
  absl::InlinedVector<bool, 8> drop(static_cast<size_t>(data.rank()), false);
  if (given.given) {
    ASSIGN_OR_RETURN(const auto axes, NormalizeAxes(given.axes, data.rank()));
    for (int axis : axes) {
      if (data.dim(axis) != 1) {
        return absl::InvalidArgumentError(absl::StrCat("axis ", axis, " of ", TypeAndDims(data),
                                                       " is not 1 and cannot be squeezed"));
      }
      drop[axis] = true;
    }
  } else {
    for (int d = 0; d < data.rank(); ++d) drop[d] = data.dim(d) == 1;
  }
  Dims dims;
  for (int d = 0; d < data.rank(); ++d) {
    if (!drop[d]) dims.push_back(data.dim(d));
  }
  return PassOn(context, dims);
}

absl::Status Unsqueeze(const AxesAttribute& attributes, KernelContext& context) {
  const Tensor& data = context.input(0);
  ASSIGN_OR_RETURN(const AxesAttribute given, AxesOf(attributes, context));
  const int rank = data.rank() + static_cast<int>(given.axes.size());
  ASSIGN_OR_RETURN(const auto axes, NormalizeAxes(given.axes, rank));
  absl::InlinedVector<bool, 8> added(static_cast<size_t>(rank), false);
  for (int axis : axes) added[axis] = true;
  Dims dims;
  int next = 0;
  for (int d = 0; d < rank; ++d) dims.push_back(added[d] ? 1 : data.dim(next++));
  return PassOn(context, dims);
}

constexpr auto kKernels =
    KernelTable(Rows<ParseFlatten, Flatten>("Flatten", 1, 9, 11, 13, 21, 23, 24, 25),
                Rows<ParseReshape, Reshape>("Reshape", 1, 5, 13, 14, 19, 21, 23, 24, 25),
                Rows<ParseShape, Shape>("Shape", 1, 13, 15, 19, 21, 23, 24, 25),
                Rows<Size>("Size", 1, 13, 19, 21, 23, 24, 25),
                Rows<ParseAxes, Squeeze>("Squeeze", 1, 11, 13, 21, 23, 24, 25),
                Rows<ParseAxes, Unsqueeze>("Unsqueeze", 1, 11, 13, 21, 23, 24, 25));

}  // namespace

absl::Span<const KernelDef> ShapeKernels() { return kKernels; }

}  // namespace onnx_run
