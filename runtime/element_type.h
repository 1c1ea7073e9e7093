// The element types of the ONNX standard, and one table row for each.
//
// Everything that depends on an element type (sizes, packing, codecs, names in messages, npy
// descriptors) derives from kElementTypeTable; nothing else lists the types.
// Source of the rows: onnx-ml.proto (TensorProto.DataType) and the technical pages of the standard
// on float8, float4, int4 and int2.
#ifndef ONNX_RUN_RUNTIME_ELEMENT_TYPE_H_
#define ONNX_RUN_RUNTIME_ELEMENT_TYPE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace onnx_run {

// The numbers are those of TensorProto.DataType.
enum class ElementType : uint8_t {
  kUndefined = 0,
  kFloat = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kDouble = 11,
  kUint32 = 12,
  kUint64 = 13,
  kComplex64 = 14,
  kComplex128 = 15,
  kBfloat16 = 16,
  kFloat8e4m3fn = 17,
  kFloat8e4m3fnuz = 18,
  kFloat8e5m2 = 19,
  kFloat8e5m2fnuz = 20,
  kUint4 = 21,
  kInt4 = 22,
  kFloat4e2m1 = 23,
  kFloat8e8m0 = 24,
  kUint2 = 25,
  kInt2 = 26,
};
inline constexpr int kElementTypeCount = 27;

enum class ElementKind : uint8_t { kNone, kFloat, kSigned, kUnsigned, kBool, kString, kComplex };

// How a float format spells infinity and NaN.
enum class FloatStyle : uint8_t {
  kNotFloat,
  kIeee,    // all-ones exponent: mantissa 0 is infinity, else NaN
  kFn,      // finite, NaN is all ones only (E4M3FN)
  kFnuz,    // finite, NaN is the code of -0 only, no -0 (E4M3FNUZ, E5M2FNUZ)
  kE8m0,    // no sign, no mantissa, no zero; 0xFF is NaN
  kFinite,  // neither infinity nor NaN (E2M1)
};

// Layout of a float format: 1 sign bit (none for E8M0), exponent, mantissa; value of a normal
// number is
// (-1)^s * 2^(e - bias) * 1.m.
struct FloatLayout {
  uint8_t exponent_bits = 0;
  uint8_t mantissa_bits = 0;
  int16_t bias = 0;
  FloatStyle style = FloatStyle::kNotFloat;
};

struct ElementTypeInfo {
  ElementType type;
  const char* name;         // as TensorProto.DataType spells it: "FLOAT8E4M3FN"
  const char* type_string;  // as type strings spell it: "float8e4m3fn"
  uint8_t bits;             // of one element; 0 for strings
  ElementKind kind;
  FloatLayout layout;
  uint8_t first_ir_version;  // of ModelProto, that has this type
  uint8_t first_opset;       // of ai.onnx, whose operators first take it
  const char* npy;           // numpy descriptor, "" where numpy has none
};

// clang-format off: a table, one row a line.
inline constexpr std::array<ElementTypeInfo, kElementTypeCount> kElementTypeTable = {{
    {ElementType::kUndefined, "UNDEFINED", "undefined", 0, ElementKind::kNone, {}, 0, 0, ""},
    {ElementType::kFloat,
     "FLOAT",
     "float",
     32,
     ElementKind::kFloat,
     {8, 23, 127, FloatStyle::kIeee},
     1,
     1,
     "<f4"},
    {ElementType::kUint8, "UINT8", "uint8", 8, ElementKind::kUnsigned, {}, 1, 1, "|u1"},
    {ElementType::kInt8, "INT8", "int8", 8, ElementKind::kSigned, {}, 1, 1, "|i1"},
    {ElementType::kUint16, "UINT16", "uint16", 16, ElementKind::kUnsigned, {}, 1, 1, "<u2"},
    {ElementType::kInt16, "INT16", "int16", 16, ElementKind::kSigned, {}, 1, 1, "<i2"},
    {ElementType::kInt32, "INT32", "int32", 32, ElementKind::kSigned, {}, 1, 1, "<i4"},
    {ElementType::kInt64, "INT64", "int64", 64, ElementKind::kSigned, {}, 1, 1, "<i8"},
    {ElementType::kString, "STRING", "string", 0, ElementKind::kString, {}, 1, 1, "|O"},
    {ElementType::kBool, "BOOL", "bool", 8, ElementKind::kBool, {}, 1, 1, "|b1"},
    {ElementType::kFloat16,
     "FLOAT16",
     "float16",
     16,
     ElementKind::kFloat,
     {5, 10, 15, FloatStyle::kIeee},
     1,
     1,
     "<f2"},
    {ElementType::kDouble,
     "DOUBLE",
     "double",
     64,
     ElementKind::kFloat,
     {11, 52, 1023, FloatStyle::kIeee},
     1,
     1,
     "<f8"},
    {ElementType::kUint32, "UINT32", "uint32", 32, ElementKind::kUnsigned, {}, 1, 1, "<u4"},
    {ElementType::kUint64, "UINT64", "uint64", 64, ElementKind::kUnsigned, {}, 1, 1, "<u8"},
    {ElementType::kComplex64, "COMPLEX64", "complex64", 64, ElementKind::kComplex, {}, 1, 1, "<c8"},
    {ElementType::kComplex128,
     "COMPLEX128",
     "complex128",
     128,
     ElementKind::kComplex,
     {},
     1,
     1,
     "<c16"},
    {ElementType::kBfloat16,
     "BFLOAT16",
     "bfloat16",
     16,
     ElementKind::kFloat,
     {8, 7, 127, FloatStyle::kIeee},
     4,
     13,
     ""},
    {ElementType::kFloat8e4m3fn,
     "FLOAT8E4M3FN",
     "float8e4m3fn",
     8,
     ElementKind::kFloat,
     {4, 3, 7, FloatStyle::kFn},
     9,
     19,
     ""},
    {ElementType::kFloat8e4m3fnuz,
     "FLOAT8E4M3FNUZ",
     "float8e4m3fnuz",
     8,
     ElementKind::kFloat,
     {4, 3, 8, FloatStyle::kFnuz},
     9,
     19,
     ""},
    {ElementType::kFloat8e5m2,
     "FLOAT8E5M2",
     "float8e5m2",
     8,
     ElementKind::kFloat,
     {5, 2, 15, FloatStyle::kIeee},
     9,
     19,
     ""},
    {ElementType::kFloat8e5m2fnuz,
     "FLOAT8E5M2FNUZ",
     "float8e5m2fnuz",
     8,
     ElementKind::kFloat,
     {5, 2, 16, FloatStyle::kFnuz},
     9,
     19,
     ""},
    {ElementType::kUint4, "UINT4", "uint4", 4, ElementKind::kUnsigned, {}, 10, 21, ""},
    {ElementType::kInt4, "INT4", "int4", 4, ElementKind::kSigned, {}, 10, 21, ""},
    {ElementType::kFloat4e2m1,
     "FLOAT4E2M1",
     "float4e2m1",
     4,
     ElementKind::kFloat,
     {2, 1, 1, FloatStyle::kFinite},
     11,
     23,
     ""},
    {ElementType::kFloat8e8m0,
     "FLOAT8E8M0",
     "float8e8m0",
     8,
     ElementKind::kFloat,
     {8, 0, 127, FloatStyle::kE8m0},
     12,
     24,
     ""},
    {ElementType::kUint2, "UINT2", "uint2", 2, ElementKind::kUnsigned, {}, 13, 25, ""},
    {ElementType::kInt2, "INT2", "int2", 2, ElementKind::kSigned, {}, 13, 25, ""},
}};
// clang-format on

// The row of `type`; of kUndefined when out of range.
constexpr const ElementTypeInfo& InfoOf(ElementType type) {
  const auto index = static_cast<size_t>(type);
  return kElementTypeTable[index < kElementTypeTable.size() ? index : 0];
}
constexpr int BitsOf(ElementType type) { return InfoOf(type).bits; }
constexpr ElementKind KindOf(ElementType type) { return InfoOf(type).kind; }
constexpr bool IsSubByte(ElementType type) { return BitsOf(type) != 0 && BitsOf(type) < 8; }
constexpr bool IsFloat(ElementType type) { return KindOf(type) == ElementKind::kFloat; }
constexpr bool IsInteger(ElementType type) {
  return KindOf(type) == ElementKind::kSigned || KindOf(type) == ElementKind::kUnsigned;
}

// "float8e4m3fn"; "undefined" when out of range.
inline absl::string_view TypeName(ElementType type) { return InfoOf(type).type_string; }
// "FLOAT8E4M3FN"; "UNDEFINED" when out of range.
inline absl::string_view EnumName(ElementType type) { return InfoOf(type).name; }

// The element type of a TensorProto.DataType number, nullopt for 0 and unknown ones.
constexpr std::optional<ElementType> ElementTypeFromNumber(int64_t number) {
  if (number <= 0 || number >= kElementTypeCount) return std::nullopt;
  return static_cast<ElementType>(number);
}
// From "FLOAT8E4M3FN" (the enumerator, exact case) or "float8e4m3fn" (the type string).
constexpr std::optional<ElementType> ElementTypeFromName(absl::string_view name) {
  for (const ElementTypeInfo& info : kElementTypeTable) {
    if (info.type == ElementType::kUndefined) continue;
    if (name == absl::string_view(info.name) || name == absl::string_view(info.type_string)) {
      return info.type;
    }
  }
  return std::nullopt;
}

// Bytes that `count` elements take when packed as in raw_data (ceil for 4 and 2 bit types). `count`
// must be >= 0; nullopt when it overflows int64, and for strings.
constexpr std::optional<int64_t> PackedBytes(ElementType type, int64_t count) {
  const int bits = BitsOf(type);
  if (bits == 0 || count < 0) return std::nullopt;
  if (bits < 8) {
    const int per_byte = 8 / bits;
    return count / per_byte + (count % per_byte != 0 ? 1 : 0);
  }
  int64_t bytes = 0;
  if (__builtin_mul_overflow(count, int64_t{bits} / 8, &bytes)) return std::nullopt;
  return bytes;
}

// A set of element types, one bit for each number.
class ElementTypeSet {
 public:
  constexpr ElementTypeSet() = default;
  constexpr explicit ElementTypeSet(uint32_t bits) : bits_(bits) {}
  template <typename... Types>
  static constexpr ElementTypeSet Of(Types... types) {
    return ElementTypeSet(((uint32_t{1} << static_cast<unsigned>(types)) | ... | 0U));
  }
  constexpr bool Has(ElementType type) const {
    return (bits_ >> static_cast<unsigned>(type) & 1U) != 0;
  }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr uint32_t bits() const { return bits_; }
  constexpr ElementTypeSet operator|(ElementTypeSet other) const {
    return ElementTypeSet(bits_ | other.bits_);
  }
  constexpr bool operator==(const ElementTypeSet& other) const = default;

 private:
  uint32_t bits_ = 0;
};

}  // namespace onnx_run

#endif  // ONNX_RUN_RUNTIME_ELEMENT_TYPE_H_
