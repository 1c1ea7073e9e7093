#include "proto/tensor_proto.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "proto/text.h"
#include "runtime/status_macros.h"

namespace onnx_run {
namespace {

// Beyond any use, and messages stay readable.
constexpr int kMaxRank = 1024;
// Smaller data is copied: a pooled buffer costs less than keeping its owner.
constexpr size_t kCopyBelow = 4096;

enum class Storage { kFloat, kDouble, kInt32, kInt64, kUint64, kString };

constexpr Storage StorageOf(ElementType type) {
  switch (type) {
    case ElementType::kFloat:
    case ElementType::kComplex64: return Storage::kFloat;
    case ElementType::kDouble:
    case ElementType::kComplex128: return Storage::kDouble;
    case ElementType::kInt64: return Storage::kInt64;
    case ElementType::kUint32:
    case ElementType::kUint64: return Storage::kUint64;
    case ElementType::kString: return Storage::kString;
    default: return Storage::kInt32;
  }
}

constexpr const char* FieldName(Storage storage) {
  switch (storage) {
    case Storage::kFloat: return "float_data";
    case Storage::kDouble: return "double_data";
    case Storage::kInt32: return "int32_data";
    case Storage::kInt64: return "int64_data";
    case Storage::kUint64: return "uint64_data";
    case Storage::kString: return "string_data";
  }
  return "?";
}

int EntriesIn(const onnx::TensorProto& proto, Storage storage) {
  switch (storage) {
    case Storage::kFloat: return proto.float_data_size();
    case Storage::kDouble: return proto.double_data_size();
    case Storage::kInt32: return proto.int32_data_size();
    case Storage::kInt64: return proto.int64_data_size();
    case Storage::kUint64: return proto.uint64_data_size();
    case Storage::kString: return proto.string_data_size();
  }
  return 0;
}

constexpr Storage kStorages[] = {Storage::kFloat, Storage::kDouble, Storage::kInt32,
                                 Storage::kInt64, Storage::kUint64, Storage::kString};

// Bytes of the unit that byte order concerns: one part of a complex number.
size_t UnitBytes(ElementType type) {
  const size_t bytes = static_cast<size_t>(BitsOf(type)) / 8;
  return KindOf(type) == ElementKind::kComplex ? bytes / 2 : std::max<size_t>(bytes, 1);
}

// raw_data and files are little-endian on every host, memory is the host's.
void SwapOnBigEndian(ElementType type, void* data, size_t bytes) {
  if constexpr (std::endian::native == std::endian::big) {
    const size_t unit = UnitBytes(type);
    auto* begin = static_cast<char*>(data);
    if (unit > 1) {
      for (size_t i = 0; i < bytes; i += unit) std::reverse(begin + i, begin + i + unit);
    }
  }
}

// Mask of the used bits of a packed last byte; 0xFF when all are used.
uint8_t LastByteMask(ElementType type, int64_t count) {
  if (!IsSubByte(type)) return 0xFF;
  const int used = static_cast<int>(count % (8 / BitsOf(type))) * BitsOf(type);
  return used == 0 ? 0xFF : static_cast<uint8_t>((1U << used) - 1);
}

// Whether packed bytes may serve as a tensor's memory as they are.
bool IsNormal(ElementType type, int64_t count, absl::string_view bytes) {
  if (std::endian::native == std::endian::big && UnitBytes(type) > 1) return false;
  if (type == ElementType::kBool) {
    unsigned char all = 0;
    for (char byte : bytes) all |= static_cast<unsigned char>(byte);
    return all <= 1;
  }
  return bytes.empty() || (static_cast<uint8_t>(bytes.back()) & ~LastByteMask(type, count)) == 0;
}

// One TensorProto on its way to a Tensor.
class Reader {
 public:
  // `owned`: the same message, when its contents may be moved out.
  Reader(const onnx::TensorProto& proto, onnx::TensorProto* owned, ExternalDataContext* external)
      : proto_(proto), owned_(owned), external_(external) {}

  absl::StatusOr<Tensor> Read() {
    const auto type = ElementTypeFromNumber(proto_.data_type());
    if (!type) {
      return Error(absl::StrCat("data_type is ", proto_.data_type(), "; known are 1 (FLOAT) to ",
                                kElementTypeCount - 1, " (INT2)"));
    }
    type_ = *type;
    if (proto_.dims_size() > kMaxRank) {
      return Error(absl::StrCat("has ", proto_.dims_size(), " dimensions; at most ", kMaxRank,
                                " are supported"));
    }
    dims_ = absl::MakeConstSpan(proto_.dims().data(), static_cast<size_t>(proto_.dims_size()));
    const auto count = ElementCount(dims_);
    if (!count.ok()) return Error(count.status().message());
    count_ = *count;
    if (proto_.has_segment()) {
      return absl::UnimplementedError(absl::StrCat(
          Describe(), ": is a segment of a larger tensor; only whole tensors are supported"));
    }
    if (type_ != ElementType::kString) {
      const auto packed = PackedBytes(type_, count_);
      if (!packed) return Error("its size in bytes overflows");
      packed_ = *packed;
    }
    if (proto_.data_location() == onnx::TensorProto::EXTERNAL) return ReadExternal();
    return ReadInternal();
  }

 private:
  std::string Describe() const {
    std::string text =
        proto_.name().empty() ? "tensor" : absl::StrCat("tensor ", Quoted(proto_.name()));
    if (type_ != ElementType::kUndefined) {
      absl::StrAppend(&text, " of ", EnumName(type_), DimsToString(dims_));
    }
    return text;
  }

  absl::Status Error(absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat(Describe(), ": ", what));
  }

  // "raw_data and float_data", for messages; "" when nothing is set.
  std::string FieldsSet() const {
    std::string text;
    const auto add = [&](absl::string_view name) {
      absl::StrAppend(&text, text.empty() ? "" : " and ", name);
    };
    if (!proto_.raw_data().empty()) add("raw_data");
    for (Storage storage : kStorages) {
      if (EntriesIn(proto_, storage) > 0) add(FieldName(storage));
    }
    return text;
  }

  absl::StatusOr<Tensor> ReadInternal() {
    const Storage storage = StorageOf(type_);
    for (Storage other : kStorages) {
      if (other == storage || EntriesIn(proto_, other) == 0) continue;
      return Error(absl::StrCat("has data in ", FieldsSet(), "; ", EnumName(type_),
                                " is kept in raw_data or ", FieldName(storage)));
    }
    const int entries = EntriesIn(proto_, storage);
    // An empty raw_data says nothing: some writers always write the field.
    const bool raw = !proto_.raw_data().empty() || (proto_.has_raw_data() && entries == 0);
    if (type_ == ElementType::kString) {
      if (!proto_.raw_data().empty()) return Error("has raw_data; strings are kept in string_data");
      return ReadStrings();
    }
    if (raw && entries > 0) {
      return Error(absl::StrCat("has data in ", FieldsSet(), "; expected only one of them"));
    }
    if (raw) {
      const absl::string_view bytes(proto_.raw_data());
      if (bytes.size() != static_cast<uint64_t>(packed_)) {
        return Error(absl::StrCat("raw_data has ", bytes.size(), " bytes, expected ", packed_));
      }
      if (owned_ == nullptr || bytes.size() < kCopyBelow) return Copy(bytes);
      auto data = std::make_shared<std::string>(std::move(*owned_->mutable_raw_data()));
      const absl::string_view moved(*data);
      if (!IsNormal(type_, count_, moved)) return Copy(moved);
      return View(moved, std::move(data));
    }
    return ReadTyped(storage, entries);
  }

  absl::StatusOr<Tensor> Copy(absl::string_view bytes) {
    ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(type_, dims_));
    if (!bytes.empty()) std::memcpy(tensor.mutable_data(), bytes.data(), bytes.size());
    SwapOnBigEndian(type_, tensor.mutable_data(), bytes.size());
    NormalisePacked(&tensor);
    return tensor;
  }

  absl::StatusOr<Tensor> View(absl::string_view bytes, std::shared_ptr<const void> owner) {
    return Tensor::View(type_, dims_, bytes.data(), bytes.size(), std::move(owner));
  }

  absl::StatusOr<Tensor> ReadStrings() {
    if (proto_.string_data_size() != count_) return WrongEntries(Storage::kString, count_);
    ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(type_, dims_));
    absl::Span<std::string> strings = tensor.mutable_strings();
    for (int i = 0; i < proto_.string_data_size(); ++i) {
      if (owned_ != nullptr) {
        strings[i] = std::move(*owned_->mutable_string_data(i));
      } else {
        strings[i] = proto_.string_data(i);
      }
    }
    return tensor;
  }

  absl::Status WrongEntries(Storage storage, int64_t expected) const {
    const int entries = EntriesIn(proto_, storage);
    if (entries == 0) return Error(absl::StrCat("has no data, expected ", count_, " elements"));
    return Error(
        absl::StrCat(FieldName(storage), " has ", entries, " entries, expected ", expected));
  }

  absl::StatusOr<Tensor> ReadTyped(Storage storage, int entries) {
    int64_t expected = IsSubByte(type_) ? packed_ : count_;
    // Cannot overflow: the packed size, 8 or 16 times the count, did not.
    if (KindOf(type_) == ElementKind::kComplex) expected *= 2;
    if (entries != expected) return WrongEntries(storage, expected);
    ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(type_, dims_));
    if (entries == 0) return tensor;
    void* to = tensor.mutable_data();
    const auto bytes = static_cast<size_t>(packed_);
    switch (storage) {
      case Storage::kFloat: std::memcpy(to, proto_.float_data().data(), bytes); return tensor;
      case Storage::kDouble: std::memcpy(to, proto_.double_data().data(), bytes); return tensor;
      case Storage::kInt64: std::memcpy(to, proto_.int64_data().data(), bytes); return tensor;
      case Storage::kUint64:
        if (type_ == ElementType::kUint64) {
          std::memcpy(to, proto_.uint64_data().data(), bytes);
          return tensor;
        }
        RETURN_IF_ERROR((Narrow<uint64_t, uint32_t>(proto_.uint64_data().data(), to)));
        return tensor;
      default: break;
    }
    const int32_t* from = proto_.int32_data().data();
    if (type_ == ElementType::kInt32) {
      std::memcpy(to, from, bytes);
    } else if (type_ == ElementType::kBool) {
      for (int64_t i = 0; i < count_; ++i) static_cast<uint8_t*>(to)[i] = from[i] != 0;
    } else if (BitsOf(type_) == 16) {
      RETURN_IF_ERROR((Narrow<int32_t, uint16_t>(from, to)));
    } else {
      RETURN_IF_ERROR((Narrow<int32_t, uint8_t>(from, to)));
      NormalisePacked(&tensor);
    }
    return tensor;
  }

  // Keeps the low bits of each entry. An entry may be the bit pattern or, negative, the number it
  // stands for (writers differ); one that is neither is refused, not cut.
  template <typename From, typename To>
  absl::Status Narrow(const From* from, void* to) const {
    const int64_t entries = packed_ / static_cast<int64_t>(sizeof(To));
    constexpr From kHighest = std::numeric_limits<To>::max();
    constexpr From kLowest = std::is_signed_v<From> ? -static_cast<From>(kHighest / 2) - 1 : 0;
    // A signed integer has no bit patterns above its range of its own, but -1 written as 255 is
    // common.
    bool fits = true;
    auto* out = static_cast<To*>(to);
    for (int64_t i = 0; i < entries; ++i) {
      fits &= from[i] >= kLowest && from[i] <= kHighest;
      out[i] = static_cast<To>(from[i]);
    }
    if (fits) return absl::OkStatus();
    const From* bad = std::find_if(from, from + entries,
                                   [&](From entry) { return entry < kLowest || entry > kHighest; });
    return Error(absl::StrCat(FieldName(StorageOf(type_)), "[", bad - from, "] is ", *bad,
                              ", which does not fit in ", 8 * sizeof(To), " bits"));
  }

  absl::StatusOr<Tensor> ReadExternal() {
    if (std::string fields = FieldsSet(); !fields.empty()) {
      return Error(absl::StrCat("has data_location EXTERNAL and data in ", fields,
                                "; expected only one of them"));
    }
    if (type_ == ElementType::kString) return Error("strings cannot be external data");
    const std::string* location = nullptr;
    const std::string* offset_text = nullptr;
    const std::string* length_text = nullptr;
    for (const onnx::StringStringEntryProto& entry : proto_.external_data()) {
      const std::string** slot = entry.key() == "location" ? &location
                                 : entry.key() == "offset" ? &offset_text
                                 : entry.key() == "length" ? &length_text
                                                           : nullptr;
      if (slot == nullptr) {
        if (entry.key() != "checksum" && external_ != nullptr) {
          external_->Warn(absl::StrCat(Describe(), ": unknown external_data key ",
                                       Quoted(entry.key()), " ignored"));
        }
        continue;
      }
      if (*slot != nullptr) {
        return Error(absl::StrCat("external_data has the key ", Quoted(entry.key()), " twice"));
      }
      *slot = &entry.value();
    }
    if (location == nullptr) return Error("external_data has no location");
    ASSIGN_OR_RETURN(const uint64_t offset, Number("offset", offset_text, 0));
    ASSIGN_OR_RETURN(const uint64_t length,
                     Number("length", length_text, static_cast<uint64_t>(packed_)));
    if (length != static_cast<uint64_t>(packed_)) {
      return Error(absl::StrCat("external data in ", Quoted(*location), " has length ", length,
                                ", expected ", packed_));
    }
    if (external_ == nullptr) {
      return Error(absl::StrCat("is external data in ", Quoted(*location),
                                "; expected data in the message itself"));
    }
    auto file = external_->Open(*location);
    if (!file.ok()) return At(Describe(), file.status());
    const absl::string_view all = file->bytes;
    if (offset > all.size() || length > all.size() - offset) {
      return absl::OutOfRangeError(absl::StrCat(Describe(), ": external data in ",
                                                Quoted(*location), " has ", all.size(),
                                                " bytes; needs ", length, " at offset ", offset));
    }
    const absl::string_view bytes = all.substr(offset, length);
    // Kernels read elements as such, so they must be aligned for it; files need not be.
    const bool aligned = reinterpret_cast<uintptr_t>(bytes.data()) % UnitBytes(type_) == 0;
    if (bytes.size() < kCopyBelow || !aligned || !IsNormal(type_, count_, bytes)) {
      return Copy(bytes);
    }
    return View(bytes, file->owner);
  }

  absl::StatusOr<uint64_t> Number(absl::string_view key, const std::string* text,
                                  uint64_t otherwise) const {
    if (text == nullptr) return otherwise;
    const bool digits = !text->empty() && text->find_first_not_of("0123456789") == text->npos;
    uint64_t value = 0;
    if (!digits || !absl::SimpleAtoi(*text, &value)) {
      return Error(absl::StrCat("external_data ", key, " is ", Quoted(*text),
                                "; expected a decimal number below 2^64"));
    }
    return value;
  }

  const onnx::TensorProto& proto_;
  onnx::TensorProto* const owned_;
  ExternalDataContext* const external_;
  ElementType type_ = ElementType::kUndefined;
  absl::Span<const int64_t> dims_;
  int64_t count_ = 0;
  int64_t packed_ = 0;  // bytes; 0 for strings
};

}  // namespace

void NormalisePacked(Tensor* tensor) {
  const int64_t bytes = tensor->bytes();
  if (bytes == 0) return;
  auto* data = tensor->mutable_data_as<uint8_t>();
  if (tensor->type() == ElementType::kBool) {
    for (int64_t i = 0; i < bytes; ++i) data[i] = data[i] != 0;
  } else if (IsSubByte(tensor->type())) {
    data[bytes - 1] &= LastByteMask(tensor->type(), tensor->size());
  }
}

absl::StatusOr<Tensor> TensorFromProto(const onnx::TensorProto& proto,
                                       ExternalDataContext* external) {
  return Reader(proto, nullptr, external).Read();
}

absl::StatusOr<Tensor> TensorFromProto(onnx::TensorProto&& proto, ExternalDataContext* external) {
  return Reader(proto, &proto, external).Read();
}

onnx::TensorProto TensorToProto(const Tensor& tensor, absl::string_view name) {
  onnx::TensorProto proto;
  if (!name.empty()) proto.set_name(std::string(name));
  proto.set_data_type(static_cast<int32_t>(tensor.type()));
  for (int64_t dim : tensor.dims()) proto.add_dims(dim);
  if (tensor.is_string()) {
    for (const std::string& text : tensor.strings()) proto.add_string_data(text);
    return proto;
  }
  std::string* raw = proto.mutable_raw_data();
  const auto bytes = static_cast<size_t>(tensor.bytes());
  if (bytes == 0) return proto;
  raw->assign(tensor.data_as<char>(), bytes);
  SwapOnBigEndian(tensor.type(), raw->data(), bytes);
  return proto;
}

}  // namespace onnx_run
