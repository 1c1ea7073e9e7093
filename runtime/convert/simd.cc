// Conversions from 16, 32 and 64 bit elements by vector arithmetic, compiled once for every
// instruction set that Highway knows on this architecture and chosen when the program runs.
//
// A kernel is a loader, that brings elements into 32 bit lanes, and an encoder, that makes the
// destination's codes of them:
//   - floats and integers to small floats go through FLOAT bits. Where 24 bits do not hold the
//   source
//     value, it is rounded to odd: truncated, and the last bit set if anything was lost. As every
//     destination has at least two bits less, the second rounding gives what one rounding would.
//   - integers, and floats to integers, go through the low 32 bits of the integer.
// Results depend on the floating-point environment only in ways the caller fixes
// (DefaultFloatState).

// Old x86 is served by the portable path.
#define HWY_DISABLED_TARGETS (HWY_SSSE3)
#define HWY_WANT_AVX3_DL 1
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/convert/simd.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "runtime/convert/kernels.h"
#include "runtime/convert/simd_encoders-inl.h"
#include "runtime/convert/simd_lanes-inl.h"
#include "runtime/convert/simd_loaders-inl.h"

HWY_BEFORE_NAMESPACE();
namespace onnx_run::convert_internal {
namespace HWY_NAMESPACE {

#if !ONNX_RUN_CONVERT_VECTORS
KernelFn Find(ElementType, ElementType) { return nullptr; }
#else

template <class Loader, class Encoder>
void Run32(const uint8_t* from, uint8_t* to, size_t steps, const KernelArgs& args) {
  const Encoder encode(args);
  constexpr size_t kGroup = 4 * kLanes32;
  constexpr size_t kStride = kLanes32 * Loader::kSize;
  for (size_t groups = steps * (kStep / kGroup); groups != 0; --groups) {
    PrefetchAhead<4 * kStride, kGroup * Encoder::kBits / 8>(from, to);
    const V32 a = encode(Loader::Load(from));
    const V32 b = encode(Loader::Load(from + kStride));
    const V32 c = encode(Loader::Load(from + 2 * kStride));
    const V32 d = encode(Loader::Load(from + 3 * kStride));
    StoreCodes<Encoder::kBits>(a, b, c, d, to);
    from += 4 * kStride;
    to += kGroup * Encoder::kBits / 8;
  }
}

template <class Loader, class Encoder>
void Run64(const uint8_t* from, uint8_t* to, size_t steps, const KernelArgs&) {
  for (size_t groups = steps * (kStep / (2 * kLanes64)); groups != 0; --groups) {
    PrefetchAhead<2 * kLanes64 * Loader::kSize, 16 * kLanes64>(from, to);
    const V64 a = Encoder::Apply(Loader::Load(from));
    const V64 b = Encoder::Apply(Loader::Load(from + kLanes64 * Loader::kSize));
    StoreBytes(D64(), a, to);
    StoreBytes(D64(), b, to + 8 * kLanes64);
    from += 2 * kLanes64 * Loader::kSize;
    to += 16 * kLanes64;
  }
}

// --- Which kernel
// ------------------------------------------------------------------------------------

// From FLOAT bits, rounded to odd; Tiny will do for destinations of a small range.
template <class Loader, class Tiny>
KernelFn ToSmallFloat(ElementType to) {
  switch (to) {
    case ElementType::kFloat16: return &Run32<Tiny, EncodeFloat16>;
    case ElementType::kBfloat16: return &Run32<Loader, EncodeBfloat16>;
    case ElementType::kFloat8e4m3fn: return &Run32<Tiny, EncodeFloat8<3, false> >;
    case ElementType::kFloat8e4m3fnuz: return &Run32<Tiny, EncodeFloat8<3, true> >;
    case ElementType::kFloat8e5m2: return &Run32<Tiny, EncodeFloat8<2, false> >;
    case ElementType::kFloat8e5m2fnuz: return &Run32<Tiny, EncodeFloat8<2, true> >;
    case ElementType::kFloat8e8m0: return &Run32<Loader, EncodeE8m0>;
    case ElementType::kFloat4e2m1: return &Run32<Tiny, EncodeFloat4>;
    case ElementType::kBool: return &Run32<Loader, EncodeBool>;
    default: return nullptr;
  }
}

// From exact FLOAT bits; wider integers through Loader64.
template <class Loader, class Loader64, bool kShort>
KernelFn FromFloat(ElementType to) {
  if (to == ElementType::kFloat) return &Run32<Loader, EncodeQuietFloat>;
  if (to == ElementType::kDouble) return &Run64<Loader64, Store64>;
  if (IsInteger(to)) {
    switch (BitsOf(to)) {
      case 2: return &Run32<Loader, EncodeInteger<2, kShort> >;
      case 4: return &Run32<Loader, EncodeInteger<4, kShort> >;
      case 8: return &Run32<Loader, EncodeInteger<8, kShort> >;
      case 16: return &Run32<Loader, EncodeInteger<16, kShort> >;
      case 32: return &Run32<Loader, EncodeInteger<32, kShort> >;
      default: return &Run64<Loader64, ToInteger64>;
    }
  }
  return ToSmallFloat<Loader, Loader>(to);
}

KernelFn FromDouble(ElementType to) {
  if (to == ElementType::kFloat) return &Run32<LoadDoubleAsNearestFloat, EncodeFloat>;
  if (IsInteger(to)) {
    switch (BitsOf(to)) {
      case 2: return &Run32<LoadDoubleAsInteger<true, true>, EncodeLow<2> >;
      case 4: return &Run32<LoadDoubleAsInteger<true, true>, EncodeLow<4> >;
      case 8: return &Run32<LoadDoubleAsInteger<false, true>, EncodeLow<8> >;
      case 16: return &Run32<LoadDoubleAsInteger<false, false>, EncodeLow<16> >;
      case 32: return &Run32<LoadDoubleAsInteger<false, false>, EncodeLow<32> >;
      default: return &Run64<Load64, ToInteger64>;
    }
  }
  return ToSmallFloat<LoadDoubleAsFloat, LoadDoubleForTiny>(to);
}

// Integers of the same width are bytes to copy; the caller does that.
template <int kSourceBytes>
KernelFn Truncate(ElementType to) {
  switch (BitsOf(to)) {
    case 2: return &Run32<LoadLow32<kSourceBytes>, EncodeLow<2> >;
    case 4: return &Run32<LoadLow32<kSourceBytes>, EncodeLow<4> >;
    case 8: return &Run32<LoadLow32<kSourceBytes>, EncodeLow<8> >;
    case 16: return &Run32<LoadLow32<kSourceBytes>, EncodeLow<16> >;
    default: return &Run32<LoadLow32<kSourceBytes>, EncodeLow<32> >;
  }
}
template <class Odd, class Tiny, class Nearest, class Extend, bool kSigned, int kSourceBytes>
KernelFn FromInteger(ElementType to) {
  if (to == ElementType::kFloat) return &Run32<Nearest, EncodeFloat>;
  if (to == ElementType::kDouble) return &Run64<Extend, ToDouble<kSigned> >;
  if (IsInteger(to)) {
    if (BitsOf(to) == 64) return &Run64<Extend, Store64>;
    if (BitsOf(to) == 32 && kSourceBytes == 2 && kSigned) return &Run32<LoadInt16, EncodeLow<32> >;
    return Truncate<kSourceBytes>(to);
  }
  return ToSmallFloat<Odd, Tiny>(to);
}

KernelFn Find(ElementType from, ElementType to) {
  switch (from) {
    case ElementType::kFloat16: return FromFloat<LoadFloat16, LoadFloat16AsDouble, true>(to);
    case ElementType::kBfloat16: return FromFloat<LoadBfloat16, LoadBfloat16AsDouble, true>(to);
    case ElementType::kFloat: return FromFloat<LoadFloat, LoadFloatAsDouble, false>(to);
    case ElementType::kDouble: return FromDouble(to);
    case ElementType::kInt16:
      return FromInteger<LoadInt16AsFloat, LoadInt16AsFloat, LoadInt16AsFloat, Extend16<true>, true,
                         2>(to);
    case ElementType::kUint16:
      return FromInteger<LoadUint16AsFloat, LoadUint16AsFloat, LoadUint16AsFloat, Extend16<false>,
                         false, 2>(to);
    case ElementType::kInt32:
      return FromInteger<LoadInt32AsFloat, LoadInt32AsNearestFloat, LoadInt32AsNearestFloat,
                         Extend32<true>, true, 4>(to);
    case ElementType::kUint32:
      return FromInteger<LoadUint32AsFloat, LoadUint32AsNearestFloat, LoadUint32AsNearestFloat,
                         Extend32<false>, false, 4>(to);
    case ElementType::kInt64:
      return FromInteger<Load64AsFloat<true, true>, Load64ForTiny<true>, Load64AsFloat<true, false>,
                         Load64, true, 8>(to);
    case ElementType::kUint64:
      return FromInteger<Load64AsFloat<false, true>, Load64ForTiny<false>,
                         Load64AsFloat<false, false>, Load64, false, 8>(to);
    default: return nullptr;
  }
}

#endif  // ONNX_RUN_CONVERT_VECTORS

}  // namespace HWY_NAMESPACE
}  // namespace onnx_run::convert_internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace onnx_run::convert_internal {

HWY_EXPORT(Find);

Kernel FindArithmeticKernel(ElementType from, ElementType to) {
  if (KindOf(to) == ElementKind::kComplex || KindOf(to) == ElementKind::kString) return {};
  KernelFn run = FindDirectKernel(from, to);
  if (run == nullptr) run = HWY_DYNAMIC_DISPATCH(Find)(from, to);
  return run == nullptr ? Kernel{} : Kernel{run, kArithmeticStep};
}

}  // namespace onnx_run::convert_internal
#endif  // HWY_ONCE
