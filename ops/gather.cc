// Gather, GatherElements, GatherND, Scatter, ScatterElements, ScatterND, TensorScatter, Compress:
// elements taken from, or put to, places that an input names.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/dispatch.h"
#include "ops/families.h"
#include "ops/kernel_table.h"
#include "ops/shape_util.h"
#include "ops/strided_copy.h"
#include "runtime/status_macros.h"

namespace onnx_run {
namespace {

struct AxisAttribute {
  int64_t axis;
};
absl::StatusOr<AxisAttribute> ParseAxis(const NodeInfo& node) {
  return AxisAttribute{node.IntOr("axis", 0)};
}

// All indices as int64, each in [0, size) after negative ones have been counted from the end.
absl::StatusOr<std::vector<int64_t>> ReadIndices(const Tensor& indices, int64_t size) {
  ASSIGN_OR_RETURN(const Dims given, ReadInts(indices));
  std::vector<int64_t> result(given.begin(), given.end());
  for (size_t i = 0; i < result.size(); ++i) {
    const int64_t index = result[i];
    if (index < -size || index >= size) {
      return absl::InvalidArgumentError(absl::StrCat(
          "index ", index, " at position ", i, " is outside of [", -size, ", ", size - 1, "]"));
    }
    if (index < 0) result[i] += size;
  }
  return result;
}

absl::Status Gather(const AxisAttribute& attributes, KernelContext& context) {
  const Tensor& data = context.input(0);
  const Tensor& indices = context.input(1);
  ASSIGN_OR_RETURN(const int axis, NormalizeAxis(attributes.axis, data.rank()));
  ASSIGN_OR_RETURN(const std::vector<int64_t> places, ReadIndices(indices, data.dim(axis)));
  Dims dims(data.dims().begin(), data.dims().begin() + axis);
  dims.insert(dims.end(), indices.dims().begin(), indices.dims().end());
  dims.insert(dims.end(), data.dims().begin() + axis + 1, data.dims().end());
  ASSIGN_OR_RETURN(Tensor * output, MoveOutput(context, 0, data.type(), dims));
  if (output->size() == 0) return absl::OkStatus();
  const AxisView view = ViewAround(data.dims(), axis);
  int64_t to = 0;
  for (int64_t o = 0; o < view.outer; ++o) {
    for (int64_t place : places) {
      CopyElements(data.type(), data.data(), (o * view.axis + place) * view.inner,
                   output->mutable_data(), to, view.inner);
      to += view.inner;
    }
  }
  return absl::OkStatus();
}

// Calls fn(i, place): i counts the elements of `indices` in order, `place` is the index in a tensor
// of `dims` of the same position but along `axis`, where it is the index itself.
template <typename Fn>
absl::Status ForEachElementIndex(const Tensor& indices, absl::Span<const int64_t> dims, int axis,
                                 Fn&& fn) {
  const int rank = static_cast<int>(dims.size());
  if (indices.rank() != rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("indices is ", TypeAndDims(indices), ", expected the data's rank, ", rank));
  }
  for (int d = 0; d < rank; ++d) {
    if (d != axis && indices.dim(d) > dims[d]) {
      return absl::InvalidArgumentError(absl::StrCat(
          "indices is ", TypeAndDims(indices), ", larger than the data, ", DimsToString(dims)));
    }
  }
  ASSIGN_OR_RETURN(const std::vector<int64_t> values, ReadIndices(indices, dims[axis]));
  const Dims strides = StridesOf(dims);
  Dims position(static_cast<size_t>(rank), 0);
  for (int64_t i = 0; i < indices.size(); ++i) {
    int64_t place = values[i] * strides[axis];
    for (int d = 0; d < rank; ++d) {
      if (d != axis) place += position[d] * strides[d];
    }
    fn(i, place);
    for (int d = rank - 1; d >= 0; --d) {
      if (++position[d] < indices.dim(d)) break;
      position[d] = 0;
    }
  }
  return absl::OkStatus();
}

absl::Status GatherElements(const AxisAttribute& attributes, KernelContext& context) {
  const Tensor& data = context.input(0);
  const Tensor& indices = context.input(1);
  ASSIGN_OR_RETURN(const int axis, NormalizeAxis(attributes.axis, data.rank()));
  ASSIGN_OR_RETURN(Tensor * output, MoveOutput(context, 0, data.type(), indices.dims()));
  return ForEachElementIndex(indices, data.dims(), axis, [&](int64_t i, int64_t place) {
    CopyElements(data.type(), data.data(), place, output->mutable_data(), i, 1);
  });
}

// Index tuples of the last dimension of `indices`, as the index of the first element of the run
// that each names in data's dims after the first `batch_dims`; plus the run's length.
struct TupleIndices {
  std::vector<int64_t> places;
  int64_t run = 1;
};

absl::StatusOr<TupleIndices> ReadTuples(const Tensor& indices, absl::Span<const int64_t> dims,
                                        int batch_dims) {
  const int rank = static_cast<int>(dims.size());
  if (indices.rank() < 1)
    return absl::InvalidArgumentError("indices is a scalar, expected rank 1 or more");
  const int64_t depth = indices.dim(indices.rank() - 1);
  if (batch_dims < 0 || batch_dims >= indices.rank() || depth > rank - batch_dims || depth < 0) {
    return absl::InvalidArgumentError(absl::StrCat("indices ", TypeAndDims(indices), " with ",
                                                   batch_dims, " batch dimensions do not fit data ",
                                                   DimsToString(dims)));
  }
  for (int d = 0; d < batch_dims; ++d) {
    if (indices.dim(d) != dims[d]) {
      return absl::InvalidArgumentError(absl::StrCat("batch dimension ", d, " is ", indices.dim(d),
                                                     " in indices and ", dims[d], " in data"));
    }
  }
  ASSIGN_OR_RETURN(const Dims values, ReadInts(indices));
  TupleIndices result;
  const Dims strides = StridesOf(dims);
  result.run = Product(dims, batch_dims + static_cast<int>(depth), rank);
  const int64_t tuples =
      depth == 0 ? Product(indices.dims(), 0, indices.rank() - 1) : indices.size() / depth;
  const int64_t batches = Product(dims, 0, batch_dims);
  const int64_t batch_size = Product(dims, batch_dims, rank);
  const int64_t per_batch = batches == 0 ? 0 : tuples / batches;
  result.places.reserve(static_cast<size_t>(tuples));
  for (int64_t t = 0; t < tuples; ++t) {
    int64_t place = per_batch == 0 ? 0 : t / per_batch * batch_size;
    for (int64_t k = 0; k < depth; ++k) {
      const int64_t size = dims[batch_dims + k];
      int64_t index = values[t * depth + k];
      if (index < -size || index >= size) {
        return absl::InvalidArgumentError(absl::StrCat(
            "index ", index, " of tuple ", t, " is outside of [", -size, ", ", size - 1, "]"));
      }
      if (index < 0) index += size;
      place += index * strides[batch_dims + k];
    }
    result.places.push_back(place);
  }
  return result;
}

struct GatherNdAttributes {
  int64_t batch_dims;
};
absl::StatusOr<GatherNdAttributes> ParseGatherNd(const NodeInfo& node) {
  return GatherNdAttributes{node.IntOr("batch_dims", 0)};
}

absl::Status GatherNd(const GatherNdAttributes& attributes, KernelContext& context) {
  const Tensor& data = context.input(0);
  const Tensor& indices = context.input(1);
  if (attributes.batch_dims < 0 || attributes.batch_dims > data.rank()) {
    return absl::InvalidArgumentError(absl::StrCat("attribute \"batch_dims\" is ",
                                                   attributes.batch_dims, ", the data's rank is ",
                                                   data.rank()));
  }
  const int batch_dims = static_cast<int>(attributes.batch_dims);
  ASSIGN_OR_RETURN(const TupleIndices tuples, ReadTuples(indices, data.dims(), batch_dims));
  const int64_t depth = indices.dim(indices.rank() - 1);
  Dims dims(indices.dims().begin(), indices.dims().end() - 1);
  dims.insert(dims.end(), data.dims().begin() + batch_dims + depth, data.dims().end());
  ASSIGN_OR_RETURN(Tensor * output, MoveOutput(context, 0, data.type(), dims));
  if (tuples.run == 0) return absl::OkStatus();
  int64_t to = 0;
  for (int64_t place : tuples.places) {
    CopyElements(data.type(), data.data(), place, output->mutable_data(), to, tuples.run);
    to += tuples.run;
  }
  return absl::OkStatus();
}

enum class Reduction : uint8_t { kNone, kAdd, kMul, kMax, kMin };

struct ScatterAttributes {
  int64_t axis;
  Reduction reduction;
};

absl::StatusOr<ScatterAttributes> ParseScatter(const NodeInfo& node) {
  ScatterAttributes attributes{node.IntOr("axis", 0), Reduction::kNone};
  const std::string text = node.StringOr("reduction", "none");
  if (text == "add") {
    attributes.reduction = Reduction::kAdd;
  } else if (text == "mul") {
    attributes.reduction = Reduction::kMul;
  } else if (text == "max" && node.since_version() >= 18) {
    attributes.reduction = Reduction::kMax;
  } else if (text == "min" && node.since_version() >= 18) {
    attributes.reduction = Reduction::kMin;
  } else if (text != "none") {
    return node.BadAttribute("reduction", absl::StrCat("\"", text, "\""),
                             "\"none\", \"add\", \"mul\" or, from version 18, \"max\", \"min\"");
  }
  return attributes;
}

template <typename T>
T Combine(Reduction reduction, T a, T b) {
  switch (reduction) {
    case Reduction::kAdd:
      // Integers wrap: as unsigned ones, wide enough that no promotion to int gets in between.
      if constexpr (std::is_integral_v<T>) {
        return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
      } else {
        return a + b;
      }
    case Reduction::kMul:
      if constexpr (std::is_integral_v<T>) {
        return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
      } else {
        return a * b;
      }
    case Reduction::kMax:
    case Reduction::kMin:
      if constexpr (std::is_floating_point_v<T>) {
        if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
      }
      return reduction == Reduction::kMax ? std::max(a, b) : std::min(a, b);
    case Reduction::kNone: break;
  }
  return b;
}

// Puts run k of `updates` (each `run` elements) at places[k] of a copy of input 0.
absl::Status ScatterRuns(KernelContext& context, Reduction reduction, const Tensor& updates,
                         absl::Span<const int64_t> places, int64_t run) {
  const ElementType type = context.input(0).type();
  if (reduction == Reduction::kNone) {
    Value value = context.TakeInput(0);
    if (!value.tensor().Writable()) {
      ASSIGN_OR_RETURN(Tensor copy, value.tensor().Clone(context.pool()));
      value = Value(std::move(copy));
    }
    Tensor& output = value.mutable_tensor();
    for (size_t k = 0; k < places.size(); ++k) {
      CopyElements(type, updates.data(), static_cast<int64_t>(k) * run, output.mutable_data(),
                   places[k], run);
    }
    context.SetOutput(0, std::move(value));
    return absl::OkStatus();
  }
  if (type == ElementType::kString) {
    return absl::InvalidArgumentError("strings cannot be reduced");
  }
  if (type == ElementType::kBool && reduction != Reduction::kNone) {
    // On bools: add and max are or, mul and min are and.
    reduction = reduction == Reduction::kAdd || reduction == Reduction::kMax ? Reduction::kMax
                                                                             : Reduction::kMin;
  }
  ASSIGN_OR_RETURN(const Tensor wide, WidenTensor(context, context.input(0)));
  ASSIGN_OR_RETURN(Tensor result, wide.Clone(context.pool()));
  ASSIGN_OR_RETURN(const Tensor added, WidenTensor(context, updates));
  RETURN_IF_ERROR(VisitType(Numbers(), type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* data = result.mutable_data_as<T>();
    const T* update = added.data_as<T>();
    for (size_t k = 0; k < places.size(); ++k) {
      for (int64_t i = 0; i < run; ++i) {
        T& place = data[places[k] + i];
        place = Combine(reduction, place, update[static_cast<int64_t>(k) * run + i]);
      }
    }
    return absl::OkStatus();
  }));
  return SetOutputNarrowed(context, 0, std::move(result), type);
}

absl::Status ScatterElements(const ScatterAttributes& attributes, KernelContext& context) {
  const Tensor& data = context.input(0);
  const Tensor& indices = context.input(1);
  const Tensor& updates = context.input(2);
  ASSIGN_OR_RETURN(const int axis, NormalizeAxis(attributes.axis, data.rank()));
  if (updates.dims() != indices.dims()) {
    return absl::InvalidArgumentError(absl::StrCat("updates is ", TypeAndDims(updates),
                                                   ", indices is ", TypeAndDims(indices),
                                                   ", expected the same shape"));
  }
  std::vector<int64_t> places(static_cast<size_t>(indices.size()));
  RETURN_IF_ERROR(ForEachElementIndex(indices, data.dims(), axis,
                                      [&](int64_t i, int64_t place) { places[i] = place; }));
  return ScatterRuns(context, attributes.reduction, updates, places, 1);
}

absl::Status ScatterNd(const ScatterAttributes& attributes, KernelContext& context) {
  const Tensor& data = context.input(0);
  const Tensor& updates = context.input(2);
  ASSIGN_OR_RETURN(const TupleIndices tuples, ReadTuples(context.input(1), data.dims(), 0));
  const Tensor& indices = context.input(1);
  Dims expected(indices.dims().begin(), indices.dims().end() - 1);
  expected.insert(expected.end(), data.dims().begin() + indices.dim(indices.rank() - 1),
                  data.dims().end());
  if (updates.dims() != expected) {
    return absl::InvalidArgumentError(
        absl::StrCat("updates is ", TypeAndDims(updates), ", expected ", DimsToString(expected)));
  }
  return ScatterRuns(context, attributes.reduction, updates, tuples.places, tuples.run);
}

struct TensorScatterAttributes {
  int64_t axis;
  bool circular;
};

absl::StatusOr<TensorScatterAttributes> ParseTensorScatter(const NodeInfo& node) {
  const std::string mode = node.StringOr("mode", "linear");
  if (mode != "linear" && mode != "circular") {
    return node.BadAttribute("mode", absl::StrCat("\"", mode, "\""), "\"linear\" or \"circular\"");
  }
  return TensorScatterAttributes{node.IntOr("axis", -2), mode == "circular"};
}

// A cache [batch, ..., max_length, ...] gets `update` written along `axis`, from
// write_indices[batch] on.
absl::Status TensorScatter(const TensorScatterAttributes& attributes, KernelContext& context) {
  const Tensor& past = context.input(0);
  const Tensor& update = context.input(1);
  ASSIGN_OR_RETURN(const int axis, NormalizeAxis(attributes.axis, past.rank()));
  bool fits = update.rank() == past.rank() && axis > 0;
  for (int d = 0; fits && d < past.rank(); ++d) {
    fits = d == axis ? update.dim(d) <= past.dim(d) : update.dim(d) == past.dim(d);
  }
  if (!fits) {
    return absl::InvalidArgumentError(
        absl::StrCat("update ", TypeAndDims(update), " does not fit cache ", TypeAndDims(past),
                     " along axis ", axis, " (which cannot be the batch axis)"));
  }
  const int64_t batch = past.dim(0);
  Dims starts(static_cast<size_t>(batch), 0);
  if (context.has_input(2)) {
    ASSIGN_OR_RETURN(starts, ReadInts(context.input(2)));
    if (static_cast<int64_t>(starts.size()) != batch) {
      return absl::InvalidArgumentError(
          absl::StrCat("write_indices has ", starts.size(), " elements, expected ", batch));
    }
  }
  const AxisView cache = ViewAround(past.dims(), axis);
  const int64_t length = update.dim(axis);
  const int64_t per_batch = batch == 0 ? 0 : cache.outer / batch;
  std::vector<int64_t> places;
  for (int64_t o = 0; o < cache.outer; ++o) {
    const int64_t start = starts[o / per_batch];
    if (start < 0 || (!attributes.circular && start > cache.axis - length) ||
        (attributes.circular && start > std::numeric_limits<int64_t>::max() - length)) {
      return absl::InvalidArgumentError(absl::StrCat("write index ", start, " with an update of ",
                                                     length, " leaves the cache of ", cache.axis));
    }
    for (int64_t i = 0; i < length; ++i) {
      places.push_back((o * cache.axis + (start + i) % cache.axis) * cache.inner);
    }
  }
  return ScatterRuns(context, Reduction::kNone, update, places, cache.inner);
}

struct CompressAttributes {
  bool has_axis;
  int64_t axis;
};
absl::StatusOr<CompressAttributes> ParseCompress(const NodeInfo& node) {
  return CompressAttributes{node.Has("axis"), node.IntOr("axis", 0)};
}

absl::Status Compress(const CompressAttributes& attributes, KernelContext& context) {
  const Tensor& data = context.input(0);
  const Tensor& condition = context.input(1);
  AxisView view{1, data.size(), 1};
  Dims dims{data.size()};
  int axis = 0;
  if (attributes.has_axis) {
    ASSIGN_OR_RETURN(axis, NormalizeAxis(attributes.axis, data.rank()));
    view = ViewAround(data.dims(), axis);
    dims = data.dims();
  }
  if (condition.rank() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("condition is ", TypeAndDims(condition), ", expected rank 1"));
  }
  // A condition shorter than the axis drops the rest; what is longer has nothing to keep.
  std::vector<int64_t> kept;
  const int64_t length = std::min(condition.size(), view.axis);
  for (int64_t i = 0; i < length; ++i) {
    if (condition.data_as<uint8_t>()[i] != 0) kept.push_back(i);
  }
  dims[axis] = static_cast<int64_t>(kept.size());
  ASSIGN_OR_RETURN(Tensor * output, MoveOutput(context, 0, data.type(), dims));
  if (output->size() == 0) return absl::OkStatus();
  int64_t to = 0;
  for (int64_t o = 0; o < view.outer; ++o) {
    for (int64_t i : kept) {
      CopyElements(data.type(), data.data(), (o * view.axis + i) * view.inner,
                   output->mutable_data(), to, view.inner);
      to += view.inner;
    }
  }
  return absl::OkStatus();
}

constexpr auto kKernels = KernelTable(
    Rows<ParseCompress, Compress>("Compress", 9, 11), Rows<ParseAxis, Gather>("Gather", 1, 11, 13),
    Rows<ParseAxis, GatherElements>("GatherElements", 11, 13),
    Rows<ParseGatherNd, GatherNd>("GatherND", 11, 12, 13),
    Rows<ParseScatter, ScatterElements>("Scatter", 9),
    Rows<ParseScatter, ScatterElements>("ScatterElements", 11, 13, 16, 18),
    Rows<ParseScatter, ScatterNd>("ScatterND", 11, 13, 16, 18),
    Rows<ParseTensorScatter, TensorScatter>("TensorScatter", 24));

}  // namespace

absl::Span<const KernelDef> GatherKernels() { return kKernels; }

}  // namespace onnx_run
