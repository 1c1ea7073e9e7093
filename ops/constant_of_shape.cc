// ConstantOfShape: one element, repeated.
#include <cstring>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "ops/families.h"
#include "ops/kernel_table.h"
#include "runtime/kernel.h"
#include "runtime/status_macros.h"

namespace onnx_run {
namespace {

constexpr int64_t kGrain = int64_t{1}
                           << 20;  // bytes for one thread: less is quicker done than shared

struct FillAttributes {
  ElementType type = ElementType::kFloat;
  std::optional<Tensor> value;  // nullopt: zero
};

// float 0 without the attribute. The types that a version allows are its schema's business.
absl::StatusOr<FillAttributes> ParseConstantOfShape(const NodeInfo& node) {
  FillAttributes attributes;
  if (!node.Has("value")) return attributes;
  ASSIGN_OR_RETURN(attributes.value, node.TensorValue("value"));
  attributes.type = attributes.value->type();
  if (attributes.value->size() != 1) {
    return node.BadAttribute("value", TypeAndDims(*attributes.value), "a tensor of one element");
  }
  return attributes;
}

absl::Status InferConstantOfShape(const NodeInfo& node, absl::Span<const Type> /*inputs*/,
                                  absl::Span<Type> outputs) {
  ASSIGN_OR_RETURN(const FillAttributes attributes, ParseConstantOfShape(node));
  outputs[0] = Type::OfTensor(attributes.type);
  return absl::OkStatus();
}

template <typename T>
void FillWith(const KernelContext& context, const Tensor& value, Tensor* output) {
  T element;
  std::memcpy(&element, value.data(), sizeof(T));
  T* data = output->mutable_data_as<T>();
  context.ParallelFor(output->size(), kGrain / static_cast<int64_t>(sizeof(T)),
                      [&](int64_t begin, int64_t end) {
                        for (int64_t i = begin; i < end; ++i) data[i] = element;
                      });
}

// 4 and 2 bit types: the code in every place of a byte, the unused places of the last one zero.
void FillPacked(const KernelContext& context, int bits, uint8_t code, Tensor* output) {
  const auto mask = static_cast<uint8_t>((1U << bits) - 1);
  const auto pattern = static_cast<uint8_t>((code & mask) * (bits == 4 ? 0x11 : 0x55));
  auto* data = output->mutable_data_as<uint8_t>();
  context.ParallelFor(output->bytes(), kGrain, [&](int64_t begin, int64_t end) {
    std::memset(data + begin, pattern, static_cast<size_t>(end - begin));
  });
  const int used = static_cast<int>(output->size() % (8 / bits)) * bits;
  if (used != 0) data[output->bytes() - 1] &= static_cast<uint8_t>((1U << used) - 1);
}

struct TwoWords {
  uint64_t words[2];
};

void Fill(const KernelContext& context, const Tensor& value, Tensor* output) {
  if (value.is_string()) {
    for (std::string& element : output->mutable_strings()) element = value.strings()[0];
    return;
  }
  switch (const int bits = BitsOf(value.type()); bits) {
    case 2:
    case 4: return FillPacked(context, bits, *value.data_as<uint8_t>(), output);
    case 8: return FillWith<uint8_t>(context, value, output);
    case 16: return FillWith<uint16_t>(context, value, output);
    case 32: return FillWith<uint32_t>(context, value, output);
    case 64: return FillWith<uint64_t>(context, value, output);
    default: return FillWith<TwoWords>(context, value, output);
  }
}

absl::Status ConstantOfShape(const FillAttributes& attributes, KernelContext& context) {
  const Tensor& shape = context.input(0);
  if (shape.rank() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("input 0 (the shape) is ", TypeAndDims(shape), ", a 1-D tensor is needed"));
  }
  ASSIGN_OR_RETURN(Tensor * output, context.Output(0, attributes.type, shape.span<int64_t>()));
  if (output->size() == 0) return absl::OkStatus();
  if (attributes.value) {
    Fill(context, *attributes.value, output);
    return absl::OkStatus();
  }
  auto* data = output->mutable_data_as<uint8_t>();
  context.ParallelFor(output->bytes(), kGrain, [&](int64_t begin, int64_t end) {
    std::memset(data + begin, 0, static_cast<size_t>(end - begin));
  });
  return absl::OkStatus();
}

constexpr auto kKernels = KernelTable(
    Rows<ParseConstantOfShape, ConstantOfShape>("ConstantOfShape", 9, 20, 21, 23, 24, 25)
        .Infer(InferConstantOfShape));

}  // namespace

absl::Span<const KernelDef> ConstantOfShapeKernels() { return kKernels; }

}  // namespace onnx_run
