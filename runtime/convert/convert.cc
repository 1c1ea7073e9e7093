#include "runtime/convert/convert.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/convert/formats.h"

namespace onnx_run {
namespace {

using convert_internal::DecodeNumber;
using convert_internal::EncodeNumber;
using convert_internal::ExactNumber;
using convert_internal::LowMask;

// Elements decoded at a time; a multiple of the 4 elements of a byte.
constexpr int64_t kBlock = 256;

bool IsNumeric(ElementType type) {
  switch (KindOf(type)) {
    case ElementKind::kFloat:
    case ElementKind::kSigned:
    case ElementKind::kUnsigned:
    case ElementKind::kBool: return true;
    case ElementKind::kNone:
    case ElementKind::kString:
    case ElementKind::kComplex: break;
  }
  return false;
}

template <int kBits>
uint64_t LoadBits(const uint8_t* data, int64_t index) {
  if constexpr (kBits < 8) {
    constexpr int kPerByte = 8 / kBits;
    return static_cast<uint64_t>(data[index / kPerByte]) >> (index % kPerByte * kBits) &
           LowMask(kBits);
  } else {
    uint64_t code = 0;
    std::memcpy(&code, data + index * (kBits / 8), kBits / 8);
    return code;
  }
}

template <int kBits>
void StoreBits(uint8_t* data, int64_t index, uint64_t code) {
  if constexpr (kBits < 8) {
    constexpr int kPerByte = 8 / kBits;
    const int shift = static_cast<int>(index % kPerByte) * kBits;
    uint8_t& byte = data[index / kPerByte];
    byte = static_cast<uint8_t>((byte & ~(LowMask(kBits) << shift)) |
                                ((code & LowMask(kBits)) << shift));
  } else {
    std::memcpy(data + index * (kBits / 8), &code, kBits / 8);
  }
}

// Calls fn with the element width as a compile-time constant.
template <typename Fn>
auto VisitBits(int bits, Fn fn) {
  switch (bits) {
    case 2: return fn(std::integral_constant<int, 2>());
    case 4: return fn(std::integral_constant<int, 4>());
    case 8: return fn(std::integral_constant<int, 8>());
    case 16: return fn(std::integral_constant<int, 16>());
    case 32: return fn(std::integral_constant<int, 32>());
    default: return fn(std::integral_constant<int, 64>());
  }
}

using DecodeFn = void (*)(const uint8_t* from, int64_t begin, int64_t n, ExactNumber* out);
using EncodeFn = void (*)(const ExactNumber* in, uint8_t* to, int64_t begin, int64_t n,
                          const ConvertOptions& options);

template <int kType>
void DecodeBlock(const uint8_t* from, int64_t begin, int64_t n, ExactNumber* out) {
  constexpr const ElementTypeInfo& info = kElementTypeTable[kType];
  for (int64_t i = 0; i < n; ++i) out[i] = DecodeNumber(info, LoadBits<info.bits>(from, begin + i));
}

template <int kType>
void EncodeBlock(const ExactNumber* in, uint8_t* to, int64_t begin, int64_t n,
                 const ConvertOptions& options) {
  constexpr const ElementTypeInfo& info = kElementTypeTable[kType];
  if constexpr (info.bits < 8) {  // `begin` starts a byte
    constexpr int kPerByte = 8 / info.bits;
    std::memset(to + begin / kPerByte, 0, static_cast<size_t>((n + kPerByte - 1) / kPerByte));
  }
  for (int64_t i = 0; i < n; ++i) {
    StoreBits<info.bits>(to, begin + i, EncodeNumber(info, in[i], options));
  }
}

constexpr bool IsNumericRow(const ElementTypeInfo& info) {
  return info.kind == ElementKind::kFloat || info.kind == ElementKind::kSigned ||
         info.kind == ElementKind::kUnsigned || info.kind == ElementKind::kBool;
}

template <int kType>
constexpr DecodeFn DecodeBlockOf() {
  if constexpr (IsNumericRow(kElementTypeTable[kType])) return &DecodeBlock<kType>;
  return nullptr;
}
template <int kType>
constexpr EncodeFn EncodeBlockOf() {
  if constexpr (IsNumericRow(kElementTypeTable[kType])) return &EncodeBlock<kType>;
  return nullptr;
}
template <int... kTypes>
constexpr std::array<DecodeFn, sizeof...(kTypes)> MakeDecoders(
    std::integer_sequence<int, kTypes...>) {
  return {DecodeBlockOf<kTypes>()...};
}
template <int... kTypes>
constexpr std::array<EncodeFn, sizeof...(kTypes)> MakeEncoders(
    std::integer_sequence<int, kTypes...>) {
  return {EncodeBlockOf<kTypes>()...};
}
constexpr auto kDecoders = MakeDecoders(std::make_integer_sequence<int, kElementTypeCount>());
constexpr auto kEncoders = MakeEncoders(std::make_integer_sequence<int, kElementTypeCount>());

absl::Status CheckTypes(ElementType from_type, ElementType to_type, int64_t count) {
  for (const ElementType type : {from_type, to_type}) {
    if (!IsNumeric(type)) {
      return absl::InvalidArgumentError(
          absl::StrCat("cannot convert from ", TypeName(from_type), " to ", TypeName(to_type),
                       ": ", TypeName(type), " elements are not packed numbers"));
    }
  }
  if (count < 0) {
    return absl::InvalidArgumentError(absl::StrCat("cannot convert ", count, " elements"));
  }
  return absl::OkStatus();
}

// Elements of one type to the same type: their bytes, NaN payloads included.
void CopyElements(const void* from, void* to, ElementType type, int64_t count) {
  const int64_t bytes = *PackedBytes(type, count);
  if (bytes == 0) return;
  if (to != from) std::memcpy(to, from, static_cast<size_t>(bytes));
  const int64_t last_bits = count * BitsOf(type) % 8;  // count < 2^62 here, or bits >= 8
  if (IsSubByte(type) && last_bits != 0) {
    static_cast<uint8_t*>(to)[bytes - 1] &= static_cast<uint8_t>(LowMask(static_cast<int>(last_bits)));
  }
}

}  // namespace

absl::Status ConvertGeneric(const void* from, ElementType from_type, void* to, ElementType to_type,
                            int64_t count, const ConvertOptions& options) {
  if (absl::Status status = CheckTypes(from_type, to_type, count); !status.ok()) return status;
  if (from_type == to_type) {
    CopyElements(from, to, from_type, count);
    return absl::OkStatus();
  }
  const DecodeFn decode = kDecoders[static_cast<size_t>(from_type)];
  const EncodeFn encode = kEncoders[static_cast<size_t>(to_type)];
  ExactNumber block[kBlock];
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t n = std::min(kBlock, count - begin);
    decode(static_cast<const uint8_t*>(from), begin, n, block);
    encode(block, static_cast<uint8_t*>(to), begin, n, options);
  }
  return absl::OkStatus();
}

absl::Status Convert(const void* from, ElementType from_type, void* to, ElementType to_type,
                     int64_t count, const ConvertOptions& options) {
  return ConvertGeneric(from, from_type, to, to_type, count, options);
}

absl::Status ConvertParallel(const void* from, ElementType from_type, void* to, ElementType to_type,
                             int64_t count, const ConvertOptions& options,
                             ParallelFor parallel_for) {
  if (absl::Status status = CheckTypes(from_type, to_type, count); !status.ok()) return status;
  // Starting other threads costs as much as moving some hundreds of kilobytes.
  constexpr int64_t kMinBits = int64_t{8} << 20;
  const int64_t bits = BitsOf(from_type) + BitsOf(to_type);
  if (count < kMinBits / bits) return Convert(from, from_type, to, to_type, count, options);
  // Whole cache lines of the narrowest type, so that parts share neither bytes nor lines.
  const int64_t grain = std::max<int64_t>(1 << 15, kMinBits / 8 / bits / 256 * 256);
  parallel_for(count, grain, [&](int64_t begin, int64_t end) {
    const auto* source = static_cast<const uint8_t*>(from) + begin * BitsOf(from_type) / 8;
    auto* destination = static_cast<uint8_t*>(to) + begin * BitsOf(to_type) / 8;
    Convert(source, from_type, destination, to_type, end - begin, options).IgnoreError();
  });
  return absl::OkStatus();
}

uint64_t ConvertCode(uint64_t code, ElementType from_type, ElementType to_type,
                     const ConvertOptions& options) {
  if (!IsNumeric(from_type) || !IsNumeric(to_type)) return 0;
  if (from_type == to_type) return code & LowMask(BitsOf(to_type));
  return EncodeNumber(InfoOf(to_type), DecodeNumber(InfoOf(from_type), code), options);
}

uint64_t LoadCode(const void* data, ElementType type, int64_t index) {
  return VisitBits(BitsOf(type), [&](auto bits) {
    return LoadBits<bits()>(static_cast<const uint8_t*>(data), index);
  });
}

void StoreCode(void* data, ElementType type, int64_t index, uint64_t code) {
  VisitBits(BitsOf(type),
            [&](auto bits) { StoreBits<bits()>(static_cast<uint8_t*>(data), index, code); });
}

double CodeToDouble(uint64_t code, ElementType type) {
  return std::bit_cast<double>(ConvertCode(code, type, ElementType::kDouble));
}

uint64_t CodeFromDouble(double value, ElementType type, const ConvertOptions& options) {
  return ConvertCode(std::bit_cast<uint64_t>(value), ElementType::kDouble, type, options);
}

}  // namespace onnx_run
