// DepthToSpace, SpaceToDepth, ReverseSequence, Trilu, EyeLike, OneHot, Range, NonZero: elements put
// to other places, or made from places.
#include <algorithm>
#include <cmath>
#include <complex>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/dispatch.h"
#include "ops/families.h"
#include "ops/kernel_table.h"
#include "ops/shape_util.h"
#include "ops/strided_copy.h"
#include "runtime/convert/convert.h"
#include "runtime/status_macros.h"

namespace onnx_run {
namespace {

struct BlockAttributes {
  int64_t block;
  bool column_row_depth;  // DepthToSpace mode "CRD"
};

absl::StatusOr<BlockAttributes> ParseBlock(const NodeInfo& node) {
  ASSIGN_OR_RETURN(const int64_t block, node.Int("blocksize"));
  if (block <= 0) return node.BadAttribute("blocksize", absl::StrCat(block), "a positive number");
  const std::string mode = node.StringOr("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") {
    return node.BadAttribute("mode", absl::StrCat("\"", mode, "\""), "\"DCR\" or \"CRD\"");
  }
  return BlockAttributes{block, mode == "CRD"};
}

// Seen as a box of six dimensions, both operators are a transposition: `box` are input dims, `perm`
// says which of them each output dimension is.
absl::Status TransposeBox(KernelContext& context, absl::Span<const int64_t> box,
                          absl::Span<const int> perm, absl::Span<const int64_t> output_dims) {
  const Tensor& data = context.input(0);
  const Dims source = StridesOf(box);
  Dims dims;
  Dims strides;
  for (int axis : perm) {
    dims.push_back(box[axis]);
    strides.push_back(source[axis]);
  }
  ASSIGN_OR_RETURN(Tensor * output, MoveOutput(context, 0, data.type(), output_dims));
  CopyBox(context, data.type(), dims, {data.data(), 0, strides},
          {output->mutable_data(), 0, StridesOf(dims)});
  return absl::OkStatus();
}

absl::Status Need4D(const Tensor& data) {
  if (data.rank() == 4) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("input is ", TypeAndDims(data), ", expected rank 4"));
}

absl::Status DepthToSpace(const BlockAttributes& attributes, KernelContext& context) {
  const Tensor& data = context.input(0);
  RETURN_IF_ERROR(Need4D(data));
  const int64_t b = attributes.block;
  const int64_t n = data.dim(0);
  const int64_t c = data.dim(1);
  const int64_t h = data.dim(2);
  const int64_t w = data.dim(3);
  if (b > (int64_t{1} << 31) || c % (b * b) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("depth ", c, " is not a multiple of blocksize ", b, " squared"));
  }
  const int64_t depth = c / (b * b);
  const Dims dims{n, depth, h * b, w * b};
  if (attributes.column_row_depth) {
    return TransposeBox(context, {n, depth, b, b, h, w}, {0, 1, 4, 2, 5, 3}, dims);
  }
  return TransposeBox(context, {n, b, b, depth, h, w}, {0, 3, 4, 1, 5, 2}, dims);
}

absl::Status SpaceToDepth(const BlockAttributes& attributes, KernelContext& context) {
  const Tensor& data = context.input(0);
  RETURN_IF_ERROR(Need4D(data));
  const int64_t b = attributes.block;
  const int64_t n = data.dim(0);
  const int64_t c = data.dim(1);
  if (data.dim(2) % b != 0 || data.dim(3) % b != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("input ", TypeAndDims(data), " is not a multiple of blocksize ", b));
  }
  const int64_t h = data.dim(2) / b;
  const int64_t w = data.dim(3) / b;
  return TransposeBox(context, {n, c, h, b, w, b}, {0, 3, 5, 1, 2, 4}, {n, b * b * c, h, w});
}

struct ReverseAttributes {
  int64_t batch_axis;
  int64_t time_axis;
};

absl::StatusOr<ReverseAttributes> ParseReverse(const NodeInfo& node) {
  ReverseAttributes attributes{node.IntOr("batch_axis", 1), node.IntOr("time_axis", 0)};
  const auto valid = [](int64_t axis) { return axis == 0 || axis == 1; };
  if (!valid(attributes.batch_axis) || !valid(attributes.time_axis) ||
      attributes.batch_axis == attributes.time_axis) {
    return node.BadAttribute(
        "batch_axis", absl::StrCat(attributes.batch_axis, " with time_axis ", attributes.time_axis),
        "one of them 0 and the other 1");
  }
  return attributes;
}

absl::Status ReverseSequence(const ReverseAttributes& attributes, KernelContext& context) {
  const Tensor& data = context.input(0);
  if (data.rank() < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("input is ", TypeAndDims(data), ", expected rank 2 or more"));
  }
  const int batch_axis = static_cast<int>(attributes.batch_axis);
  const int time_axis = static_cast<int>(attributes.time_axis);
  ASSIGN_OR_RETURN(const Dims lengths, ReadInts(context.input(1)));
  const int64_t batch = data.dim(batch_axis);
  const int64_t time = data.dim(time_axis);
  if (static_cast<int64_t>(lengths.size()) != batch) {
    return absl::InvalidArgumentError(
        absl::StrCat("sequence_lens has ", lengths.size(), " elements, expected ", batch));
  }
  ASSIGN_OR_RETURN(Tensor * output, MoveOutput(context, 0, data.type(), data.dims()));
  const Dims strides = StridesOf(data.dims());
  const int64_t run = Product(data.dims(), 2, data.rank());
  for (int64_t b = 0; b < batch; ++b) {
    const int64_t length = lengths[b];
    if (length < 0 || length > time) {
      return absl::InvalidArgumentError(absl::StrCat("sequence length ", length, " of batch ", b,
                                                     " is outside of [0, ", time, "]"));
    }
    for (int64_t t = 0; t < time; ++t) {
      const int64_t from = t < length ? length - 1 - t : t;
      CopyElements(data.type(), data.data(), b * strides[batch_axis] + from * strides[time_axis],
                   output->mutable_data(), b * strides[batch_axis] + t * strides[time_axis], run);
    }
  }
  return absl::OkStatus();
}

struct TriluAttributes {
  bool upper;
};
absl::StatusOr<TriluAttributes> ParseTrilu(const NodeInfo& node) {
  return TriluAttributes{node.IntOr("upper", 1) != 0};
}

absl::Status Trilu(const TriluAttributes& attributes, KernelContext& context) {
  const Tensor& data = context.input(0);
  if (data.rank() < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("input is ", TypeAndDims(data), ", expected rank 2 or more"));
  }
  int64_t k = 0;
  if (context.has_input(1)) {
    ASSIGN_OR_RETURN(k, ReadInt(context.input(1), "k"));
  }
  const int64_t rows = data.dim(data.rank() - 2);
  const int64_t columns = data.dim(data.rank() - 1);
  // Beyond the matrix all diagonals are alike; clamped, the sums below cannot overflow.
  k = std::clamp<int64_t>(k, -rows, columns);
  ASSIGN_OR_RETURN(Tensor * output, MoveOutput(context, 0, data.type(), data.dims()));
  if (data.size() == 0) return absl::OkStatus();
  const int64_t total_rows = data.size() / columns;
  for (int64_t row = 0; row < total_rows; ++row) {
    const int64_t base = row * columns;
    // Upper keeps columns from r + k on, lower those up to r + k.
    const int64_t r = row % rows;
    const int64_t split = std::clamp<int64_t>(attributes.upper ? r + k : r + k + 1, 0, columns);
    const int64_t zero_begin = attributes.upper ? 0 : split;
    const int64_t zero_end = attributes.upper ? split : columns;
    const int64_t keep_begin = attributes.upper ? split : 0;
    const int64_t keep_end = attributes.upper ? columns : split;
    FillElements(data.type(), nullptr, 0, output->mutable_data(), base + zero_begin,
                 zero_end - zero_begin);
    CopyElements(data.type(), data.data(), base + keep_begin, output->mutable_data(),
                 base + keep_begin, keep_end - keep_begin);
  }
  return absl::OkStatus();
}

struct EyeLikeAttributes {
  std::optional<ElementType> type;
  int64_t k;
};

absl::StatusOr<EyeLikeAttributes> ParseEyeLike(const NodeInfo& node) {
  EyeLikeAttributes attributes{std::nullopt, node.IntOr("k", 0)};
  if (node.Has("dtype")) {
    ASSIGN_OR_RETURN(const int64_t number, node.Int("dtype"));
    attributes.type = ElementTypeFromNumber(number);
    if (!attributes.type)
      return node.BadAttribute("dtype", absl::StrCat(number), "an element type");
  }
  return attributes;
}

absl::Status InferEyeLike(const NodeInfo& node, absl::Span<const Type> inputs,
                          absl::Span<Type> outputs) {
  ASSIGN_OR_RETURN(const EyeLikeAttributes attributes, ParseEyeLike(node));
  if (attributes.type) {
    outputs[0] = Type::OfTensor(*attributes.type);
  } else if (inputs[0].kind == ValueKind::kTensor) {
    outputs[0] = Type::OfTensor(inputs[0].element);
  }
  return absl::OkStatus();
}

absl::Status EyeLike(const EyeLikeAttributes& attributes, KernelContext& context) {
  const Tensor& data = context.input(0);
  if (data.rank() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("input is ", TypeAndDims(data), ", expected rank 2"));
  }
  const ElementType type = attributes.type.value_or(data.type());
  ASSIGN_OR_RETURN(Tensor * output, MoveOutput(context, 0, type, data.dims()));
  FillElements(type, nullptr, 0, output->mutable_data(), 0, output->size());
  const uint64_t one = ConvertCode(1, ElementType::kBool, type);
  const int64_t rows = data.dim(0);
  const int64_t columns = data.dim(1);
  const int64_t k = std::clamp<int64_t>(attributes.k, -rows, columns);
  for (int64_t row = std::max<int64_t>(0, -k); row < rows && row + k < columns; ++row) {
    StoreCode(output->mutable_data(), type, row * columns + row + k, one);
  }
  return absl::OkStatus();
}

struct OneHotAttributes {
  int64_t axis;
};
absl::StatusOr<OneHotAttributes> ParseOneHot(const NodeInfo& node) {
  return OneHotAttributes{node.IntOr("axis", -1)};
}

absl::Status OneHot(const OneHotAttributes& attributes, KernelContext& context) {
  const Tensor& indices = context.input(0);
  const Tensor& values = context.input(2);
  ASSIGN_OR_RETURN(const double given_depth, ReadNumber(context.input(1), "depth"));
  if (!(given_depth >= 0 && given_depth < 9.0e15)) {
    return absl::InvalidArgumentError(
        absl::StrCat("depth is ", given_depth, ", expected 0 or more"));
  }
  const auto depth = static_cast<int64_t>(given_depth);
  if (values.size() != 2 || values.rank() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("values is ", TypeAndDims(values), ", expected [off_value, on_value]"));
  }
  ASSIGN_OR_RETURN(const int axis, NormalizeAxis(attributes.axis, indices.rank() + 1));
  Dims dims = indices.dims();
  dims.insert(dims.begin() + axis, depth);
  ASSIGN_OR_RETURN(const Tensor hot, ConvertTensor(context, indices, ElementType::kInt64));
  ASSIGN_OR_RETURN(Tensor * output, MoveOutput(context, 0, values.type(), dims));
  FillElements(values.type(), values.data(), 0, output->mutable_data(), 0, output->size());
  const AxisView view = ViewAround(dims, axis);
  const int64_t* index = hot.data_as<int64_t>();
  for (int64_t o = 0; o < view.outer; ++o) {
    for (int64_t i = 0; i < view.inner; ++i, ++index) {
      // Indices outside of [-depth, depth) give a row of off_value alone.
      if (*index < -depth || *index >= depth) continue;
      const int64_t place = *index < 0 ? *index + depth : *index;
      CopyElements(values.type(), values.data(), 1, output->mutable_data(),
                   (o * depth + place) * view.inner + i, 1);
    }
  }
  return absl::OkStatus();
}

struct RangeAttributes {
  ElementType stash;  // what float16 and bfloat16 are computed in, version 27 on
};
absl::StatusOr<RangeAttributes> ParseRange(const NodeInfo& node) {
  const int64_t number = node.IntOr("stash_type", 1);
  if (number != 1 && number != 11) {
    return node.BadAttribute("stash_type", absl::StrCat(number), "1 (FLOAT) or 11 (DOUBLE)");
  }
  return RangeAttributes{number == 1 ? ElementType::kFloat : ElementType::kDouble};
}

// ceil((limit - start) / delta) elements, never fewer than none: start + i * delta.
absl::Status Range(const RangeAttributes& attributes, KernelContext& context) {
  const ElementType type = context.input(0).type();
  const ElementType compute = NeedsWidening(type) ? attributes.stash : type;
  for (int i = 0; i < 3; ++i) {
    if (context.input(i).size() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("input ", i, " is ", TypeAndDims(context.input(i)), ", expected a scalar"));
    }
  }
  ASSIGN_OR_RETURN(const Tensor start_tensor, ConvertTensor(context, context.input(0), compute));
  ASSIGN_OR_RETURN(const Tensor limit_tensor, ConvertTensor(context, context.input(1), compute));
  ASSIGN_OR_RETURN(const Tensor delta_tensor, ConvertTensor(context, context.input(2), compute));
  return VisitType(
      Types<float, double, int16_t, int32_t, int64_t>(), compute, [&](auto tag) -> absl::Status {
        using T = typename decltype(tag)::type;
        const T start = *start_tensor.data_as<T>();
        const T limit = *limit_tensor.data_as<T>();
        const T delta = *delta_tensor.data_as<T>();
        if (delta == 0) return absl::InvalidArgumentError("delta is 0");
        int64_t count = 0;
        if constexpr (std::is_integral_v<T>) {
          if ((delta > 0) == (limit > start) && limit != start) {
            const uint64_t distance =
                delta > 0 ? static_cast<uint64_t>(limit) - static_cast<uint64_t>(start)
                          : static_cast<uint64_t>(start) - static_cast<uint64_t>(limit);
            const uint64_t step =
                delta > 0 ? static_cast<uint64_t>(delta) : ~static_cast<uint64_t>(delta) + 1;
            count = static_cast<int64_t>(std::min<uint64_t>((distance - 1) / step + 1, INT64_MAX));
          }
        } else {
          const double n = std::ceil((static_cast<double>(limit) - static_cast<double>(start)) /
                                     static_cast<double>(delta));
          if (!(n < 9.0e15)) return absl::InvalidArgumentError("the range has no end");
          count = std::max<int64_t>(0, static_cast<int64_t>(n));
        }
        ASSIGN_OR_RETURN(Tensor computed, context.Allocate(compute, {count}));
        T* data = computed.mutable_data_as<T>();
        for (int64_t i = 0; i < count; ++i) {
          if constexpr (std::is_integral_v<T>) {
            data[i] = static_cast<T>(static_cast<uint64_t>(start) +
                                     static_cast<uint64_t>(i) * static_cast<uint64_t>(delta));
          } else {
            data[i] = start + static_cast<T>(i) * delta;
          }
        }
        ASSIGN_OR_RETURN(computed, ConvertTensor(context, computed, type));
        context.SetOutput(0, std::move(computed));
        return absl::OkStatus();
      });
}

absl::Status NonZero(KernelContext& context) {
  const Tensor& data = context.input(0);
  std::vector<int64_t> found;
  if (data.is_string()) {
    for (int64_t i = 0; i < data.size(); ++i) {
      if (!data.strings()[i].empty()) found.push_back(i);
    }
  } else if (KindOf(data.type()) == ElementKind::kComplex) {
    RETURN_IF_ERROR(
        VisitType(Types<std::complex<float>, std::complex<double>>(), data.type(), [&](auto tag) {
          using T = typename decltype(tag)::type;
          for (int64_t i = 0; i < data.size(); ++i) {
            if (data.data_as<T>()[i] != T{0}) found.push_back(i);
          }
          return absl::OkStatus();
        }));
  } else {
    ASSIGN_OR_RETURN(const Tensor truth, ConvertTensor(context, data, ElementType::kBool));
    const auto* bits = truth.data_as<uint8_t>();
    for (int64_t i = 0; i < data.size(); ++i) {
      if (bits[i] != 0) found.push_back(i);
    }
  }
  // [rank, count]: one row for each dimension.
  const auto count = static_cast<int64_t>(found.size());
  ASSIGN_OR_RETURN(Tensor * output, context.Output(0, ElementType::kInt64, {data.rank(), count}));
  int64_t* rows = output->mutable_data_as<int64_t>();
  const Dims strides = StridesOf(data.dims());
  for (int d = 0; d < data.rank(); ++d) {
    for (int64_t i = 0; i < count; ++i) rows[d * count + i] = found[i] / strides[d] % data.dim(d);
  }
  return absl::OkStatus();
}

constexpr auto kKernels = KernelTable(
    Rows<ParseBlock, DepthToSpace>("DepthToSpace", 1, 11, 13),
    Rows<ParseEyeLike, EyeLike>("EyeLike", 9, 22).Infer(InferEyeLike),
    Rows<NonZero>("NonZero", 9, 13), Rows<ParseOneHot, OneHot>("OneHot", 9, 11),
    Rows<ParseRange, Range>("Range", 11, 27),
    Rows<ParseReverse, ReverseSequence>("ReverseSequence", 10),
    Rows<ParseBlock, SpaceToDepth>("SpaceToDepth", 1, 13), Rows<ParseTrilu, Trilu>("Trilu", 14));

}  // namespace

absl::Span<const KernelDef> RearrangeKernels() { return kKernels; }

}  // namespace onnx_run
