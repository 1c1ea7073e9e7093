#include "tools/random_inputs.h"

#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/convert/convert.h"
#include "runtime/status_macros.h"

namespace onnx_run::tools {

// SplitMix64 (Steele, Lea, Flood 2014).
uint64_t RandomInputs::Next() {
  state_ += 0x9E3779B97F4A7C15U;
  uint64_t z = state_;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9U;
  z = (z ^ z >> 27) * 0x94D049BB133111EBU;
  return z ^ z >> 31;
}

absl::StatusOr<Tensor> RandomInputs::MakeTensor(const Type& type) {
  if (type.element == ElementType::kUndefined) {
    return absl::InvalidArgumentError("its element type is not declared");
  }
  Dims dims;
  if (type.shape.has_value()) {
    for (const DeclaredDim& dim : *type.shape) {
      if (dim.value.has_value()) {
        dims.push_back(*dim.value);
        continue;
      }
      const auto given = dims_.find(dim.param);
      if (!dim.param.empty() && given != dims_.end()) {
        dims.push_back(given->second);
      } else {
        guessed_.insert(dim.param.empty() ? "?" : dim.param);
        dims.push_back(1);
      }
    }
  }
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(type.element, dims));
  if (tensor.is_string()) {
    for (std::string& text : tensor.mutable_strings()) text = absl::StrCat("text", Next() % 100);
    return tensor;
  }
  const ElementTypeInfo& info = InfoOf(type.element);
  const bool complex = info.kind == ElementKind::kComplex;
  const ElementType part = !complex          ? type.element
                           : info.bits == 64 ? ElementType::kFloat
                                             : ElementType::kDouble;
  const int64_t count = tensor.size() * (complex ? 2 : 1);
  if (tensor.bytes() > 0)
    std::memset(tensor.mutable_data(), 0, static_cast<size_t>(tensor.bytes()));
  for (int64_t i = 0; i < count; ++i) {
    uint64_t code = 0;
    switch (info.kind) {
      case ElementKind::kBool: code = Next() & 1; break;
      case ElementKind::kSigned:
      case ElementKind::kUnsigned: {
        const uint64_t limit =
            info.bits >= 8
                ? 10
                : uint64_t{1} << (info.bits - (info.kind == ElementKind::kSigned ? 1 : 0));
        code = Next() % (limit < 10 ? limit : 10);
        break;
      }
      default: {
        const double unit = static_cast<double>(Next() >> 11) * 0x1p-53;  // [0, 1)
        const bool has_sign = info.layout.style != FloatStyle::kE8m0;
        code = CodeFromDouble(has_sign ? 2 * unit - 1 : 0.25 + 4 * unit, part);
        break;
      }
    }
    StoreCode(tensor.mutable_data(), part, i, code);
  }
  return tensor;
}

absl::StatusOr<Value> RandomInputs::Make(const Type& type) {
  switch (type.kind) {
    case ValueKind::kTensor: {
      ASSIGN_OR_RETURN(Tensor tensor, MakeTensor(type));
      return Value(std::move(tensor));
    }
    case ValueKind::kSequence: {
      Sequence sequence;
      if (type.inner == nullptr) break;
      sequence.element_type = *type.inner;
      for (int i = 0; i < 2; ++i) {
        ASSIGN_OR_RETURN(Value element, Make(*type.inner));
        sequence.elements.push_back(std::move(element));
      }
      return Value(std::move(sequence));
    }
    case ValueKind::kOptional: {
      if (type.inner == nullptr) break;
      ASSIGN_OR_RETURN(Value element, Make(*type.inner));
      return Value(Optional(*type.inner, std::make_unique<Value>(std::move(element))));
    }
    case ValueKind::kAbsent: return absl::InvalidArgumentError("its type is not declared");
    default: break;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("no random values are made of type ", TypeToString(type), "; give a .pb file"));
}

void CollectDimNames(const Type& type, std::set<std::string>& names) {
  if (type.shape.has_value()) {
    for (const DeclaredDim& dim : *type.shape) {
      if (!dim.param.empty()) names.insert(dim.param);
    }
  }
  if (type.inner != nullptr) CollectDimNames(*type.inner, names);
}

}  // namespace onnx_run::tools
