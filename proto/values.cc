#include "proto/values.h"

#include <memory>
#include <new>
#include <stdexcept>
#include <utility>

#include "absl/strings/str_cat.h"
#include "onnx/onnx-data.pb.h"
#include "onnx/onnx-ml.pb.h"
#include "proto/file.h"
#include "proto/tensor_proto.h"
#include "proto/text.h"
#include "proto/wire.h"
#include "runtime/convert/convert.h"
#include "runtime/status_macros.h"

namespace onnx_run {
namespace {

using onnx::MapProto;
using onnx::OptionalProto;
using onnx::SequenceProto;

// The numbers of SequenceProto.DataType, which OptionalProto.DataType repeats.
constexpr ValueKind kKinds[] = {ValueKind::kAbsent,   ValueKind::kTensor, ValueKind::kSparseTensor,
                                ValueKind::kSequence, ValueKind::kMap,    ValueKind::kOptional};
constexpr const char* kKindNames[] = {"UNDEFINED", "TENSOR", "SPARSE_TENSOR",
                                      "SEQUENCE",  "MAP",    "OPTIONAL"};

int NumberOf(ValueKind kind) {
  for (int i = 0; i < 6; ++i) {
    if (kKinds[i] == kind) return i;
  }
  return 0;
}

std::string KindName(int number) {
  return number >= 0 && number < 6 ? kKindNames[number] : absl::StrCat(number);
}

Type InnerOf(const Type& type) { return type.inner ? *type.inner : Type(); }

// The declared element type with what `value` knows better.
Type ElementTypeFrom(const Type& declared, const Value* value) {
  if (declared.kind != ValueKind::kAbsent && declared.element != ElementType::kUndefined) {
    return declared;
  }
  if (value == nullptr) return declared;
  Type type = value->type();
  type.shape.reset();
  return type;
}

absl::StatusOr<Value> FromSequence(SequenceProto* proto, const Type& declared);
absl::StatusOr<Value> FromOptional(OptionalProto* proto, const Type& declared);
absl::StatusOr<Value> FromMap(MapProto* proto, const Type& declared);

absl::StatusOr<Value> FromTensor(onnx::TensorProto* proto) {
  ASSIGN_OR_RETURN(Tensor tensor, TensorFromProto(std::move(*proto)));
  return Value(std::move(tensor));
}

absl::StatusOr<Value> FromSparse(onnx::SparseTensorProto* proto) {
  ASSIGN_OR_RETURN(SparseTensor sparse, SparseTensorFromProto(std::move(*proto)));
  return Value(std::move(sparse));
}

// Checks elem_type against the declared kind and returns it.
absl::StatusOr<ValueKind> ElementKindOf(int number, const Type& declared, bool empty,
                                        absl::string_view what) {
  if (number < 0 || number > 5 || (number == 0 && !empty)) {
    return absl::InvalidArgumentError(absl::StrCat(what, ": elem_type is ", KindName(number),
                                                   "; expected 1 (TENSOR) to 5 (OPTIONAL)"));
  }
  const ValueKind kind = kKinds[number];
  if (kind != ValueKind::kAbsent && declared.kind != ValueKind::kAbsent && kind != declared.kind) {
    return absl::InvalidArgumentError(absl::StrCat(what, " holds elements of kind ",
                                                   KindName(number), "; declared are ",
                                                   KindName(NumberOf(declared.kind))));
  }
  return kind == ValueKind::kAbsent ? declared.kind : kind;
}

absl::Status WrongField(absl::string_view what, ValueKind kind) {
  return absl::InvalidArgumentError(absl::StrCat(
      what, " says that it holds ", KindName(NumberOf(kind)), " elements and holds others too"));
}

template <typename Protos, typename Function>
absl::Status AddAll(Protos* protos, Sequence* sequence, Function read) {
  for (int i = 0; i < protos->size(); ++i) {
    auto value = read(protos->Mutable(i));
    if (!value.ok()) return At(absl::StrCat("element ", i), value.status());
    sequence->elements.push_back(*std::move(value));
  }
  return absl::OkStatus();
}

absl::StatusOr<Value> FromSequence(SequenceProto* proto, const Type& declared) {
  const std::string what = absl::StrCat("sequence ", Quoted(proto->name()));
  const Type inner = InnerOf(declared);
  const int total = proto->tensor_values_size() + proto->sparse_tensor_values_size() +
                    proto->sequence_values_size() + proto->map_values_size() +
                    proto->optional_values_size();
  ASSIGN_OR_RETURN(const ValueKind kind,
                   ElementKindOf(proto->elem_type(), inner, total == 0, what));
  Sequence sequence;
  sequence.elements.reserve(static_cast<size_t>(total));
  absl::Status status;
  switch (kind) {
    case ValueKind::kAbsent: break;
    case ValueKind::kTensor:
      status = AddAll(proto->mutable_tensor_values(), &sequence, FromTensor);
      break;
    case ValueKind::kSparseTensor:
      status = AddAll(proto->mutable_sparse_tensor_values(), &sequence, FromSparse);
      break;
    case ValueKind::kSequence:
      status = AddAll(proto->mutable_sequence_values(), &sequence,
                      [&](SequenceProto* each) { return FromSequence(each, inner); });
      break;
    case ValueKind::kMap:
      status = AddAll(proto->mutable_map_values(), &sequence,
                      [&](MapProto* each) { return FromMap(each, inner); });
      break;
    case ValueKind::kOptional:
      status = AddAll(proto->mutable_optional_values(), &sequence,
                      [&](OptionalProto* each) { return FromOptional(each, inner); });
      break;
  }
  if (!status.ok()) return At(what, status);
  if (sequence.elements.size() != static_cast<size_t>(total)) return WrongField(what, kind);
  sequence.element_type =
      ElementTypeFrom(inner, sequence.elements.empty() ? nullptr : &sequence.elements.front());
  return Value(std::move(sequence));
}

absl::StatusOr<Value> FromOptional(OptionalProto* proto, const Type& declared) {
  const std::string what = absl::StrCat("optional ", Quoted(proto->name()));
  const Type inner = InnerOf(declared);
  const int total = int{proto->has_tensor_value()} + int{proto->has_sparse_tensor_value()} +
                    int{proto->has_sequence_value()} + int{proto->has_map_value()} +
                    int{proto->has_optional_value()};
  ASSIGN_OR_RETURN(const ValueKind kind,
                   ElementKindOf(proto->elem_type(), inner, total == 0, what));
  if (total == 0) return Value(Optional(inner, nullptr));
  absl::StatusOr<Value> value = WrongField(what, kind);
  if (total == 1) {
    if (kind == ValueKind::kTensor && proto->has_tensor_value()) {
      value = FromTensor(proto->mutable_tensor_value());
    } else if (kind == ValueKind::kSparseTensor && proto->has_sparse_tensor_value()) {
      value = FromSparse(proto->mutable_sparse_tensor_value());
    } else if (kind == ValueKind::kSequence && proto->has_sequence_value()) {
      value = FromSequence(proto->mutable_sequence_value(), inner);
    } else if (kind == ValueKind::kMap && proto->has_map_value()) {
      value = FromMap(proto->mutable_map_value(), inner);
    } else if (kind == ValueKind::kOptional && proto->has_optional_value()) {
      value = FromOptional(proto->mutable_optional_value(), inner);
    }
  }
  if (!value.ok()) return At(what, value.status());
  Type type = ElementTypeFrom(inner, &*value);
  return Value(Optional(std::move(type), std::make_unique<Value>(*std::move(value))));
}

absl::StatusOr<Value> FromMap(MapProto* proto, const Type& declared) {
  const std::string what = absl::StrCat("map ", Quoted(proto->name()));
  const auto error = [&](absl::string_view message) {
    return absl::InvalidArgumentError(absl::StrCat(what, ": ", message));
  };
  const auto key_type = ElementTypeFromNumber(proto->key_type());
  if (!key_type || !(IsInteger(*key_type) || *key_type == ElementType::kString)) {
    return error(absl::StrCat("key_type is ", proto->key_type(),
                              "; expected an integer type or 8 (STRING)"));
  }
  const bool strings = *key_type == ElementType::kString;
  if (strings ? proto->keys_size() > 0 : proto->string_keys_size() > 0) {
    return error(absl::StrCat("has keys of another type than ", EnumName(*key_type)));
  }
  Map map;
  if (strings) {
    std::vector<std::string> keys(proto->string_keys().begin(), proto->string_keys().end());
    map.keys = Tensor::Strings({static_cast<int64_t>(keys.size())}, keys);
  } else {
    const int64_t count = proto->keys_size();
    ASSIGN_OR_RETURN(map.keys, Tensor::Create(*key_type, {count}));
    for (int64_t i = 0; i < count; ++i) {
      const int64_t key = proto->keys(static_cast<int>(i));
      const auto code = static_cast<uint64_t>(key);
      // The key's bits as the map's type, and back: the same number when it fits.
      const uint64_t cut = ConvertCode(code, ElementType::kInt64, *key_type);
      if (ConvertCode(cut, *key_type, ElementType::kInt64) != code) {
        return error(absl::StrCat("key ", key, " does not fit in ", EnumName(*key_type)));
      }
      StoreCode(map.keys.mutable_data(), *key_type, i, cut);
    }
  }
  const Type value_type = InnerOf(declared);
  ASSIGN_OR_RETURN(Value values,
                   FromSequence(proto->mutable_values(), Type::OfSequence(value_type)));
  if (values.sequence().elements.size() != static_cast<uint64_t>(map.keys.size())) {
    return error(absl::StrCat("has ", map.keys.size(), " keys and ",
                              values.sequence().elements.size(), " values"));
  }
  Sequence& sequence = values.mutable_sequence();
  map.value_type = std::move(sequence.element_type);
  map.values = std::move(sequence.elements);
  return Value(std::move(map));
}

template <typename Proto>
absl::Status Parse(absl::string_view bytes, absl::string_view what, Proto* proto,
                   std::string* name) {
  if (bytes.size() > INT32_MAX) {
    return absl::ResourceExhaustedError(
        absl::StrCat("has ", bytes.size(), " bytes, the limit is ", INT32_MAX));
  }
  if (!proto->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    absl::Status reason = ExplainMessageBytes(bytes);
    if (!reason.ok()) return reason;
    return absl::InvalidArgumentError(
        absl::StrCat("is not a ", what, ": malformed or nested too deeply"));
  }
  // The messages share field numbers, so that one reads as another with everything unknown: a
  // TensorProto as an empty SequenceProto, say. Only TensorProto may have grown fields since.
  if (!std::is_same_v<Proto, onnx::TensorProto> && !proto->unknown_fields().empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("is not a ", what, ", which the declared type calls for: has other fields"));
  }
  if constexpr (!std::is_same_v<Proto, onnx::SparseTensorProto>) {
    if (name != nullptr) *name = proto->name();
  } else if (name != nullptr) {
    *name = proto->values().name();
  }
  return absl::OkStatus();
}

absl::StatusOr<Value> Read(absl::string_view bytes, const Type& declared, std::string* name) {
  switch (declared.kind) {
    case ValueKind::kAbsent:
    case ValueKind::kTensor: {
      if (bytes.empty()) return absl::InvalidArgumentError("is empty, expected a TensorProto");
      onnx::TensorProto proto;
      RETURN_IF_ERROR(Parse(bytes, "TensorProto", &proto, name));
      return FromTensor(&proto);
    }
    case ValueKind::kSparseTensor: {
      onnx::SparseTensorProto proto;
      RETURN_IF_ERROR(Parse(bytes, "SparseTensorProto", &proto, name));
      return FromSparse(&proto);
    }
    case ValueKind::kSequence: {
      SequenceProto proto;
      RETURN_IF_ERROR(Parse(bytes, "SequenceProto", &proto, name));
      return FromSequence(&proto, declared);
    }
    case ValueKind::kOptional: {
      OptionalProto proto;
      RETURN_IF_ERROR(Parse(bytes, "OptionalProto", &proto, name));
      return FromOptional(&proto, declared);
    }
    case ValueKind::kMap: {
      MapProto proto;
      RETURN_IF_ERROR(Parse(bytes, "MapProto", &proto, name));
      return FromMap(&proto, declared);
    }
  }
  return absl::InternalError("unknown kind of value");
}

SequenceProto ToSequence(const std::vector<Value>& elements, const Type& element_type);
OptionalProto ToOptional(const Optional& optional);
MapProto ToMap(const Map& map);

SequenceProto ToSequence(const std::vector<Value>& elements, const Type& element_type) {
  SequenceProto proto;
  proto.set_elem_type(NumberOf(elements.empty() ? element_type.kind : elements.front().kind()));
  for (const Value& value : elements) {
    switch (value.kind()) {
      case ValueKind::kAbsent: break;
      case ValueKind::kTensor: *proto.add_tensor_values() = TensorToProto(value.tensor()); break;
      case ValueKind::kSparseTensor:
        *proto.add_sparse_tensor_values() = SparseTensorToProto(value.sparse());
        break;
      case ValueKind::kSequence:
        *proto.add_sequence_values() =
            ToSequence(value.sequence().elements, value.sequence().element_type);
        break;
      case ValueKind::kMap: *proto.add_map_values() = ToMap(value.map()); break;
      case ValueKind::kOptional: *proto.add_optional_values() = ToOptional(value.optional()); break;
    }
  }
  return proto;
}

OptionalProto ToOptional(const Optional& optional) {
  OptionalProto proto;
  if (optional.element == nullptr) {
    proto.set_elem_type(NumberOf(optional.element_type.kind));
    return proto;
  }
  const Value& value = *optional.element;
  proto.set_elem_type(NumberOf(value.kind()));
  switch (value.kind()) {
    case ValueKind::kAbsent: break;
    case ValueKind::kTensor: *proto.mutable_tensor_value() = TensorToProto(value.tensor()); break;
    case ValueKind::kSparseTensor:
      *proto.mutable_sparse_tensor_value() = SparseTensorToProto(value.sparse());
      break;
    case ValueKind::kSequence:
      *proto.mutable_sequence_value() =
          ToSequence(value.sequence().elements, value.sequence().element_type);
      break;
    case ValueKind::kMap: *proto.mutable_map_value() = ToMap(value.map()); break;
    case ValueKind::kOptional:
      *proto.mutable_optional_value() = ToOptional(value.optional());
      break;
  }
  return proto;
}

MapProto ToMap(const Map& map) {
  MapProto proto;
  proto.set_key_type(static_cast<int32_t>(map.keys.type()));
  if (map.keys.is_string()) {
    for (const std::string& key : map.keys.strings()) proto.add_string_keys(key);
  } else {
    for (int64_t i = 0; i < map.keys.size(); ++i) {
      const uint64_t code = LoadCode(map.keys.data(), map.keys.type(), i);
      proto.add_keys(static_cast<int64_t>(ConvertCode(code, map.keys.type(), ElementType::kInt64)));
    }
  }
  *proto.mutable_values() = ToSequence(map.values, map.value_type);
  return proto;
}

template <typename Proto>
absl::StatusOr<std::string> Serialize(Proto proto, absl::string_view name) {
  if constexpr (!std::is_same_v<Proto, onnx::SparseTensorProto>) {
    if (!name.empty()) proto.set_name(std::string(name));
  }
  const size_t size = proto.ByteSizeLong();
  std::string bytes;
  if (size > INT32_MAX || !proto.SerializeToString(&bytes)) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the value takes ", size, " bytes, the limit is ", INT32_MAX));
  }
  return bytes;
}

}  // namespace

absl::StatusOr<Value> ValueFromBytes(absl::string_view bytes, const Type& declared,
                                     std::string* name) {
  try {
    return Read(bytes, declared, name);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("not enough memory to read the value");
  } catch (const std::length_error&) {
    return absl::ResourceExhaustedError("not enough memory to read the value");
  }
}

absl::StatusOr<Value> ReadValueFile(const std::string& path, const Type& declared,
                                    std::string* name) {
  ASSIGN_OR_RETURN(const std::shared_ptr<const MappedFile> file, MappedFile::Open(path));
  auto value = ValueFromBytes(file->bytes(), declared, name);
  if (!value.ok()) return At(path, value.status());
  return value;
}

absl::StatusOr<std::string> ValueToBytes(const Value& value, absl::string_view name) {
  try {
    switch (value.kind()) {
      case ValueKind::kAbsent:
        return absl::InvalidArgumentError("an absent value cannot be written");
      case ValueKind::kTensor: return Serialize(TensorToProto(value.tensor()), name);
      case ValueKind::kSparseTensor:
        return Serialize(SparseTensorToProto(value.sparse(), name), "");
      case ValueKind::kSequence:
        return Serialize(ToSequence(value.sequence().elements, value.sequence().element_type),
                         name);
      case ValueKind::kOptional: return Serialize(ToOptional(value.optional()), name);
      case ValueKind::kMap: return Serialize(ToMap(value.map()), name);
    }
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("not enough memory to write the value");
  }
  return absl::InternalError("unknown kind of value");
}

absl::Status WriteValueFile(const std::string& path, absl::string_view name, const Value& value) {
  auto bytes = ValueToBytes(value, name);
  if (!bytes.ok()) return At(path, bytes.status());
  return WriteFile(path, *bytes);
}

}  // namespace onnx_run
