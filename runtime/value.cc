#include "runtime/value.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace onnx_run {

Optional::Optional(Type type, std::unique_ptr<Value> value)
    : element_type(std::move(type)), element(std::move(value)) {}

Value::Value(Sequence sequence)
    : kind_(ValueKind::kSequence), other_(std::make_shared<Sequence>(std::move(sequence))) {}
Value::Value(Optional optional)
    : kind_(ValueKind::kOptional), other_(std::make_shared<Optional>(std::move(optional))) {}
Value::Value(Map map) : kind_(ValueKind::kMap), other_(std::make_shared<Map>(std::move(map))) {}
Value::Value(SparseTensor sparse)
    : kind_(ValueKind::kSparseTensor), other_(std::make_shared<SparseTensor>(std::move(sparse))) {}

Sequence& Value::mutable_sequence() {
  if (other_.use_count() != 1) other_ = std::make_shared<Sequence>(sequence());
  return *const_cast<Sequence*>(static_cast<const Sequence*>(other_.get()));
}

Type Value::type() const {
  switch (kind_) {
    case ValueKind::kAbsent: return {};
    case ValueKind::kTensor: {
      Type type = Type::OfTensor(tensor_.type());
      type.shape.emplace();
      for (int64_t dim : tensor_.dims()) type.shape->push_back({dim, ""});
      return type;
    }
    case ValueKind::kSequence: {
      const Sequence& seq = sequence();
      if (seq.element_type.kind == ValueKind::kAbsent && !seq.elements.empty()) {
        return Type::OfSequence(seq.elements.front().type());
      }
      return Type::OfSequence(seq.element_type);
    }
    case ValueKind::kOptional: {
      const Optional& opt = optional();
      return Type::OfOptional(opt.element ? opt.element->type() : opt.element_type);
    }
    case ValueKind::kMap: return Type::OfMap(map().keys.type(), map().value_type);
    case ValueKind::kSparseTensor: {
      Type type = Type::OfTensor(sparse().values.type());
      type.kind = ValueKind::kSparseTensor;
      type.shape.emplace();
      for (int64_t dim : sparse().dims) type.shape->push_back({dim, ""});
      return type;
    }
  }
  return {};
}

std::string TypeToString(const Type& type, bool with_shape) {
  const auto tensor = [&](absl::string_view word) {
    std::string text = absl::StrCat(word, "(", TypeName(type.element), ")");
    if (with_shape && type.shape) {
      absl::StrAppend(&text, "[",
                      absl::StrJoin(*type.shape, ",",
                                    [](std::string* out, const DeclaredDim& dim) {
                                      absl::StrAppend(out, dim.value ? absl::StrCat(*dim.value)
                                                           : dim.param.empty() ? "?"
                                                                               : dim.param);
                                    }),
                      "]");
    }
    return text;
  };
  const auto inner = [&] { return type.inner ? TypeToString(*type.inner, with_shape) : "?"; };
  switch (type.kind) {
    case ValueKind::kAbsent: return "?";
    case ValueKind::kTensor: return tensor("tensor");
    case ValueKind::kSparseTensor: return tensor("sparse_tensor");
    case ValueKind::kSequence: return absl::StrCat("seq(", inner(), ")");
    case ValueKind::kOptional: return absl::StrCat("optional(", inner(), ")");
    case ValueKind::kMap: return absl::StrCat("map(", TypeName(type.element), ",", inner(), ")");
  }
  return "?";
}

bool SameType(const Type& a, const Type& b) {
  if (a.kind != b.kind || a.element != b.element) return false;
  if (a.inner == nullptr || b.inner == nullptr) return a.inner == b.inner;
  return SameType(*a.inner, *b.inner);
}

std::string Describe(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kAbsent: return "nothing";
    case ValueKind::kSequence:
      return absl::StrCat(TypeToString(value.type()), " of ", value.sequence().elements.size());
    case ValueKind::kOptional:
      return absl::StrCat(TypeToString(value.type()), value.optional().element ? "" : ", empty");
    case ValueKind::kMap:
      return absl::StrCat(TypeToString(value.type()), " of ", value.map().values.size());
    default: return TypeToString(value.type(), true);
  }
}

}  // namespace onnx_run
