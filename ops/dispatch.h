// From an element type to the C++ type that kernels compute in.
//
// Kernels are written for few types. Narrow floats (float16, bfloat16 and the 8 and 4 bit ones) are
// computed in float: converted exactly, rounded once at the end. 4 and 2 bit integers are computed
// as 8 bit ones; bool is a byte, true when not 0. The engines (elementwise.h) convert in blocks;
// other kernels call WidenTensor and NarrowInto.
#ifndef ONNX_RUN_OPS_DISPATCH_H_
#define ONNX_RUN_OPS_DISPATCH_H_

#include <array>
#include <complex>
#include <cstdint>
#include <string>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "runtime/convert/convert.h"
#include "runtime/element_type.h"
#include "runtime/kernel.h"
#include "runtime/status_macros.h"
#include "runtime/tensor.h"

namespace onnx_run {

// The element type whose C++ type stands for `type` in computations; most stand for themselves.
inline constexpr auto kComputeTypes = [] {
  std::array<ElementType, kElementTypeCount> types{};
  for (int i = 0; i < kElementTypeCount; ++i) {
    const auto type = static_cast<ElementType>(i);
    switch (KindOf(type)) {
      case ElementKind::kFloat: types[i] = BitsOf(type) < 32 ? ElementType::kFloat : type; break;
      case ElementKind::kSigned: types[i] = BitsOf(type) < 8 ? ElementType::kInt8 : type; break;
      case ElementKind::kUnsigned: types[i] = BitsOf(type) < 8 ? ElementType::kUint8 : type; break;
      default: types[i] = type;
    }
  }
  return types;
}();
constexpr ElementType ComputeType(ElementType type) {
  const auto index = static_cast<size_t>(type);
  return index < kComputeTypes.size() ? kComputeTypes[index] : type;
}
constexpr bool NeedsWidening(ElementType type) { return ComputeType(type) != type; }

// Bytes of one element in memory; 0 for the types that are packed into fewer bits.
constexpr int64_t ElementBytes(ElementType type) {
  return type == ElementType::kString ? sizeof(std::string) : BitsOf(type) / 8;
}

// A list of C++ types. A list with unsigned integers but without signed ones computes signed ones
// as unsigned: for operators that are the same in two's complement (Add), so that overflow wraps.
template <typename... Ts>
struct Types {};

using Floats = Types<float, double>;
using SignedIntegers = Types<int8_t, int16_t, int32_t, int64_t>;
using UnsignedIntegers = Types<uint8_t, uint16_t, uint32_t, uint64_t>;
using SignedNumbers = Types<float, double, int8_t, int16_t, int32_t, int64_t>;
using Numbers =
    Types<float, double, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>;
using WrappingNumbers = Types<float, double, uint8_t, uint16_t, uint32_t, uint64_t>;
// Elements as bits, for operators that only move them.
using Widths = Types<uint8_t, uint16_t, uint32_t, uint64_t, std::complex<double>, std::string>;

template <typename T>
struct Tag {
  using type = T;
};

namespace internal {

template <typename T, typename... Ts>
inline constexpr bool kIsOneOf = (std::is_same_v<T, Ts> || ...);

template <typename T, typename... Ts, typename Fn>
absl::Status VisitOne(Types<Ts...> /*list*/, ElementType type, Fn&& fn) {
  if constexpr (kIsOneOf<T, Ts...>) {
    return fn(Tag<T>());
  } else if constexpr (std::is_integral_v<T>) {
    using Unsigned = std::make_unsigned_t<T>;
    if constexpr (kIsOneOf<Unsigned, Ts...>) return fn(Tag<Unsigned>());
  }
  return absl::InternalError(absl::StrCat("the kernel has no code for type ", TypeName(type)));
}

}  // namespace internal

// Calls fn(Tag<T>()) with the type T of `list` that `type` is computed in; bool is uint8_t. `fn`
// returns a Status. Internal error when the list has no such type: the schema's check came before.
template <typename List, typename Fn>
absl::Status VisitType(List list, ElementType type, Fn&& fn) {
  switch (ComputeType(type)) {
    case ElementType::kFloat: return internal::VisitOne<float>(list, type, fn);
    case ElementType::kDouble: return internal::VisitOne<double>(list, type, fn);
    case ElementType::kInt8: return internal::VisitOne<int8_t>(list, type, fn);
    case ElementType::kInt16: return internal::VisitOne<int16_t>(list, type, fn);
    case ElementType::kInt32: return internal::VisitOne<int32_t>(list, type, fn);
    case ElementType::kInt64: return internal::VisitOne<int64_t>(list, type, fn);
    case ElementType::kBool:
    case ElementType::kUint8: return internal::VisitOne<uint8_t>(list, type, fn);
    case ElementType::kUint16: return internal::VisitOne<uint16_t>(list, type, fn);
    case ElementType::kUint32: return internal::VisitOne<uint32_t>(list, type, fn);
    case ElementType::kUint64: return internal::VisitOne<uint64_t>(list, type, fn);
    case ElementType::kString: return internal::VisitOne<std::string>(list, type, fn);
    case ElementType::kComplex64: return internal::VisitOne<std::complex<float>>(list, type, fn);
    case ElementType::kComplex128: return internal::VisitOne<std::complex<double>>(list, type, fn);
    default: return internal::VisitOne<void>(list, type, fn);
  }
}

// As VisitType, by the width of the elements alone. Not for packed types (see strided_copy.h).
template <typename Fn>
absl::Status VisitWidth(ElementType type, Fn&& fn) {
  switch (ElementBytes(type)) {
    case 1: return fn(Tag<uint8_t>());
    case 2: return fn(Tag<uint16_t>());
    case 4: return fn(Tag<uint32_t>());
    case 8: return fn(Tag<uint64_t>());
    case 16: return fn(Tag<std::complex<double>>());
    case sizeof(std::string): return fn(Tag<std::string>());
    default: return absl::InternalError(absl::StrCat("no width for type ", TypeName(type)));
  }
}

// `tensor` itself, or its elements in ComputeType in scratch memory.
absl::StatusOr<Tensor> WidenTensor(KernelContext& context, const Tensor& tensor);
// The same of input `i`, which is not copied: `widened` keeps the elements in ComputeType where
// that is another type.
inline absl::StatusOr<const Tensor*> WidenInput(KernelContext& context, int i, Tensor& widened) {
  const Tensor& input = context.input(i);
  if (!NeedsWidening(input.type())) return &input;
  ASSIGN_OR_RETURN(widened, WidenTensor(context, input));
  return &widened;
}
// As WidenTensor, to any type without loss of its own: kDouble for scales, kInt64 for indices.
absl::StatusOr<Tensor> ConvertTensor(KernelContext& context, const Tensor& tensor, ElementType to);
// Output `i` of `type` is `computed`, whose elements are of ComputeType(type).
absl::Status SetOutputNarrowed(KernelContext& context, int i, Tensor computed, ElementType type);

}  // namespace onnx_run

#endif  // ONNX_RUN_OPS_DISPATCH_H_
