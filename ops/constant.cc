// Constant: the one value attribute that is set, read at load.
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/copy_elements.h"
#include "ops/families.h"
#include "runtime/kernel.h"
#include "runtime/status_macros.h"

namespace onnx_run {
namespace {

struct ConstantAttributes {
  Value value;
};

// A model's few bytes of dims may ask for any amount of memory.
constexpr int64_t kMaxDenseBytes = int64_t{1} << 31;

// The place of entry `i` of a sparse tensor of `count` elements; -1 when it has none.
int64_t PlaceOf(const SparseTensor& sparse, int64_t i, int64_t count) {
  const int64_t* indices = sparse.indices.data_as<int64_t>();
  if (sparse.indices.rank() == 1) return indices[i] >= 0 && indices[i] < count ? indices[i] : -1;
  int64_t place = 0;
  for (size_t d = 0; d < sparse.dims.size(); ++d) {
    const int64_t index = indices[i * static_cast<int64_t>(sparse.dims.size()) + d];
    if (index < 0 || index >= sparse.dims[d]) return -1;
    place = place * sparse.dims[d] + index;
  }
  return place;
}

// The schema, and the standard's inference, have the output of a sparse_value be a dense tensor.
absl::StatusOr<Value> DenseValue(const NodeInfo& node, const SparseTensor& sparse) {
  ASSIGN_OR_RETURN(const int64_t count, ElementCount(sparse.dims));
  const ElementType type = sparse.values.type();
  const int64_t entries = sparse.values.size();
  const Dims& shape = sparse.indices.dims();
  const bool fits = sparse.values.rank() == 1 && sparse.indices.type() == ElementType::kInt64 &&
                    ((shape.size() == 1 && shape[0] == entries) ||
                     (shape.size() == 2 && shape[0] == entries &&
                      shape[1] == static_cast<int64_t>(sparse.dims.size())));
  if (!fits) {
    return node.BadAttribute(
        "sparse_value",
        absl::StrCat("values ", TypeAndDims(sparse.values), " at indices ",
                     TypeAndDims(sparse.indices)),
        absl::StrCat("indices int64[NNZ] or int64[NNZ,", sparse.dims.size(), "]"));
  }
  if (type != ElementType::kString &&
      PackedBytes(type, count).value_or(INT64_MAX) > kMaxDenseBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("attribute \"sparse_value\" has ", count, " elements when made dense"));
  }
  ASSIGN_OR_RETURN(Tensor dense, Tensor::Create(type, sparse.dims));
  ZeroUnusedBits(&dense);
  ZeroElements(&dense, 0, count);
  for (int64_t i = 0; i < entries; ++i) {
    const int64_t place = PlaceOf(sparse, i, count);
    if (place < 0) {
      const int64_t width = shape.size() == 1 ? 1 : shape[1];
      return node.BadAttribute(
          "sparse_value",
          absl::StrCat("a tensor with an entry at ",
                       DimsToString({sparse.indices.data_as<int64_t>() + i * width,
                                     static_cast<size_t>(width)})),
          absl::StrCat("indices inside of ", DimsToString(sparse.dims)));
    }
    CopyElements(sparse.values, i, &dense, place, 1);
  }
  return Value(std::move(dense));
}

// The value of attribute `a` of Constant.
absl::StatusOr<Value> ValueOf(const NodeInfo& node, const Attribute& a) {
  const auto count = [](const auto& list) { return static_cast<int64_t>(list.size()); };
  if (a.name == "value" || a.name == "sparse_value") {
    if (a.values.size() != 1) return node.BadAttribute(a.name, "nothing", "one tensor");
    if (a.values[0].kind() == ValueKind::kSparseTensor) {
      return DenseValue(node, a.values[0].sparse());
    }
    return a.values[0];
  }
  if (a.name == "value_float") {
    return Tensor::Of<float>(ElementType::kFloat, {}, absl::MakeConstSpan(&a.f, 1));
  }
  if (a.name == "value_floats") {
    return Tensor::Of<float>(ElementType::kFloat, {count(a.floats)}, a.floats);
  }
  if (a.name == "value_int") {
    return Tensor::Of<int64_t>(ElementType::kInt64, {}, absl::MakeConstSpan(&a.i, 1));
  }
  if (a.name == "value_ints") {
    return Tensor::Of<int64_t>(ElementType::kInt64, {count(a.ints)}, a.ints);
  }
  if (a.name == "value_string") return Tensor::Strings({}, {a.s});
  return Tensor::Strings({count(a.strings)}, a.strings);  // value_strings
}

absl::StatusOr<ConstantAttributes> ParseConstant(const NodeInfo& node) {
  if (node.node().attributes.size() != 1) {
    return absl::InvalidArgumentError(absl::StrCat("exactly one value attribute is needed, found ",
                                                   node.node().attributes.size()));
  }
  ConstantAttributes attributes;
  ASSIGN_OR_RETURN(attributes.value, ValueOf(node, node.node().attributes[0]));
  return attributes;
}

absl::Status InferConstant(const NodeInfo& node, absl::Span<const Type> /*inputs*/,
                           absl::Span<Type> outputs) {
  ASSIGN_OR_RETURN(const ConstantAttributes attributes, ParseConstant(node));
  outputs[0] = attributes.value.type();
  return absl::OkStatus();
}

absl::Status Constant(const ConstantAttributes& attributes, KernelContext& context) {
  context.SetOutput(0, attributes.value);
  return absl::OkStatus();
}

constexpr KernelDef kConstantKernels[] = {
    Kernel<ParseConstant, Constant>("", "Constant", 25).Infer(InferConstant),
    Kernel<ParseConstant, Constant>("", "Constant", 24).Infer(InferConstant),
    Kernel<ParseConstant, Constant>("", "Constant", 23).Infer(InferConstant),
    Kernel<ParseConstant, Constant>("", "Constant", 21).Infer(InferConstant),
    Kernel<ParseConstant, Constant>("", "Constant", 19).Infer(InferConstant),
    Kernel<ParseConstant, Constant>("", "Constant", 13).Infer(InferConstant),
    Kernel<ParseConstant, Constant>("", "Constant", 12).Infer(InferConstant),
    Kernel<ParseConstant, Constant>("", "Constant", 11).Infer(InferConstant),
    Kernel<ParseConstant, Constant>("", "Constant", 9).Infer(InferConstant),
    Kernel<ParseConstant, Constant>("", "Constant", 1).Infer(InferConstant),
};

}  // namespace

absl::Span<const KernelDef> ConstantKernels() { return kConstantKernels; }

}  // namespace onnx_run
