// Dropout, all versions, and BitCast.
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/kernel_table.h"
#include "ops/numpy_random.h"
#include "ops/shape_util.h"

namespace onnx_run {
namespace {

struct DropoutAttributes {
  std::optional<int64_t> seed;
  double ratio;   // before version 12
  bool training;  // before version 12: versions 1 and 6 have `is_test`, 7 and 10 only test
};
absl::StatusOr<DropoutAttributes> ParseDropout(const NodeInfo& node) {
  DropoutAttributes attributes{std::nullopt, node.FloatOr("ratio", 0.5F),
                               node.since_version() < 7 && node.IntOr("is_test", 0) == 0};
  if (node.Has("seed")) attributes.seed = node.IntOr("seed", 0);
  return attributes;
}

// What is kept, one byte for each element.
absl::StatusOr<Tensor> DrawMask(const DropoutAttributes& attributes, double ratio,
                                KernelContext& context) {
  const Dims& dims = context.input(0).dims();
  ASSIGN_OR_RETURN(Tensor mask, context.Allocate(ElementType::kBool, dims));
  NumpyRandom random(attributes.seed ? static_cast<uint64_t>(*attributes.seed)
                                     : context.NextRandomSeed());
  for (uint8_t& keep : mask.mutable_span<uint8_t>()) keep = random.Uniform() >= ratio ? 1 : 0;
  return mask;
}

absl::Status Dropout(const DropoutAttributes& attributes, KernelContext& context) {
  const Tensor data = context.input(0);
  double ratio = attributes.ratio;
  bool training = attributes.training;
  if (context.has_input(1)) {
    ASSIGN_OR_RETURN(ratio, ReadNumber(context.input(1), "ratio"));
  }
  if (context.has_input(2)) {
    ASSIGN_OR_RETURN(const int64_t mode, ReadInt(context.input(2), "training_mode"));
    training = mode != 0;
  }
  if (training && !(ratio >= 0 && ratio < 1)) {
    return absl::InvalidArgumentError(absl::StrCat("the ratio is ", ratio, ", expected [0, 1)"));
  }

  Tensor mask;
  if (training && ratio != 0) {
    ASSIGN_OR_RETURN(mask, DrawMask(attributes, ratio, context));
    const double scale = 1.0 / (1.0 - ratio);
    const Tensor* inputs[] = {&data, &mask};
    RETURN_IF_ERROR(VisitType(Floats(), data.type(), [&]<typename T>(Tag<T>) {
      const T factor = static_cast<T>(scale);
      const auto drop = [factor](T x, uint8_t keep) { return x * static_cast<T>(keep) * factor; };
      return Elementwise(context, inputs, data.type(),
                         [&drop](const ElementRun& run) { BinaryLoop<T, uint8_t, T>(drop, run); });
    }));
  } else {
    context.SetOutput(0, data);
    if (!context.wants_output(1)) return absl::OkStatus();
    ASSIGN_OR_RETURN(mask, context.Allocate(ElementType::kBool, data.dims()));
    for (uint8_t& keep : mask.mutable_span<uint8_t>()) keep = 1;
  }
  if (!context.wants_output(1)) return absl::OkStatus();
  const bool mask_is_bool = context.since_version() >= 10;
  ASSIGN_OR_RETURN(mask,
                   ConvertTensor(context, mask, mask_is_bool ? ElementType::kBool : data.type()));
  context.SetOutput(1, std::move(mask));
  return absl::OkStatus();
}

absl::StatusOr<ElementType> ParseBitCast(const NodeInfo& node) {
  ASSIGN_OR_RETURN(const int64_t to, node.Int("to"));
  const std::optional<ElementType> type = ElementTypeFromNumber(to);
  if (!type || *type == ElementType::kString) {
    return node.BadAttribute("to", absl::StrCat(to), "the number of a data type other than STRING");
  }
  return *type;
}
absl::Status InferBitCast(const NodeInfo& node, absl::Span<const Type> /*inputs*/,
                          absl::Span<Type> outputs) {
  ASSIGN_OR_RETURN(const ElementType to, ParseBitCast(node));
  outputs[0] = Type::OfTensor(to);
  return absl::OkStatus();
}
absl::Status BitCast(const ElementType& to, KernelContext& context) {
  Value value = context.TakeInput(0);
  Tensor& tensor = value.mutable_tensor();
  if (BitsOf(tensor.type()) != BitsOf(to)) {
    return absl::InvalidArgumentError(absl::StrCat("the input has elements of ",
                                                   BitsOf(tensor.type()), " bits, ", TypeName(to),
                                                   " has ", BitsOf(to)));
  }
  tensor.set_type_same_width(to);
  context.SetOutput(0, std::move(value));
  return absl::OkStatus();
}

constexpr auto kKernels =
    KernelTable(Rows<ParseDropout, Dropout>("Dropout", 1, 6, 7, 10, 12, 13, 22).NotFoldable(),
                Rows<ParseBitCast, BitCast>("BitCast", 26).Infer(InferBitCast));

}  // namespace

absl::Span<const KernelDef> DropoutKernels() { return kKernels; }

}  // namespace onnx_run
