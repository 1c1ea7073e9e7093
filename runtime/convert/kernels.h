// What the fast paths of the conversion library share: a kernel converts whole steps of elements,
// and finds its constants in KernelArgs. Internal.
#ifndef ONNX_RUN_RUNTIME_CONVERT_KERNELS_H_
#define ONNX_RUN_RUNTIME_CONVERT_KERNELS_H_

#include <cstddef>
#include <cstdint>

#include "runtime/convert/convert.h"
#include "runtime/element_type.h"

namespace onnx_run::convert_internal {

// Constants of an encoder from FLOAT bits; which are used depends on the destination.
struct KernelArgs {
  // Float8 and FLOAT4E2M1. With e the exponent of |x|, not less than that of the least normal
  // value, the sum |x| + 2^(e + 23 - mantissa bits) is rounded where the destination's last place
  // is.
  uint32_t max_bits = 0;           // |x| is reduced to this value first
  uint32_t special_above = 0;      // greater |x| (and NaN) get special_code
  uint32_t special_code = 0;       // without sign
  uint32_t min_exponent_bits = 0;  // FLOAT bits of the least normal value
  uint32_t code_bias = 0;
  // FLOAT8E8M0.
  uint32_t round_up = 0;   // added before the mantissa is dropped
  uint32_t bad_below = 0;  // bits - bad_below > bad_range is NaN
  uint32_t bad_range = 0;
  uint32_t max_code = 0;
  // Sources of 8 bits or fewer: the result of every source byte, or of every unit of 4 or 2 bits.
  // Integers of 16 bits or more to float8 of three mantissa bits: the codes of 0, 1, ... 127 and of
  // 0, 4, ... 508.
  const uint8_t* table = nullptr;
};

// Converts `steps` times `Kernel::step` elements. Any alignment; `to` may be `from` when widths
// match.
using KernelFn = void (*)(const uint8_t* from, uint8_t* to, size_t steps, const KernelArgs& args);

struct Kernel {
  KernelFn run = nullptr;
  int step = 0;
};

// Asks for the line at `address`, to be written. GCC's builtin does so only where it is told of
// PREFETCHW; every x86-64 CPU takes that instruction, if only for a NOP.
inline void PrefetchForWrite(const void* address) {
#if defined(__x86_64__)
  __asm__ volatile("prefetchw (%0)" : : "r"(address));
#else
  __builtin_prefetch(address, 1);
#endif
}

// Asks for the lines that will be read and written some hundred cycles from now; those beyond the
// arrays' ends do no harm. Where results are wider than the source the machine waits for the lines
// it writes, and long computations do not let it look far enough ahead by itself. Narrow streams
// of sources it follows well enough.
template <size_t kFromBytes, size_t kToBytes>
inline void PrefetchAhead(const uint8_t* from, const uint8_t* to) {
  constexpr size_t kAhead = 2048;  // bytes
  if constexpr (kFromBytes >= 64) {
    for (size_t i = 0; i < kFromBytes; i += 64) __builtin_prefetch(from + kAhead + i, 0);
  }
  for (size_t i = 0; i < kToBytes; i += 64) PrefetchForWrite(to + kAhead + i);
}

// The greatest step, in elements.
inline constexpr int kMaxStep = 256;

// Sources of 16 to 64 bits, by vector arithmetic for the CPU at hand. {} when there is none. The
// caller sees to the default floating-point environment.
inline constexpr int kArithmeticStep = 64;
Kernel FindArithmeticKernel(ElementType from, ElementType to);
// Those pairs among them that have a kernel of their own; else nullptr.
KernelFn FindDirectKernel(ElementType from, ElementType to);

// Sources of 8 bits or fewer, by tables.
enum class TableUnit : uint8_t { kByte, kNibble, kPair };  // 8, 4 or 2 bits of the source

// Tables of 64 bit results for every byte: 8 planes, the results, and then, in two planes of 256
// bytes, the upper 16 bits of each result as a DOUBLE.
inline constexpr int kTopWordsOffset = 2 * 256 * 8;

struct TablePlan {
  TableUnit unit = TableUnit::kByte;
  int unit_bits = 8;
  int result_bits = 0;  // that one unit gives
  Kernel kernel;
};
TablePlan FindTableKernel(ElementType from, ElementType to);

// For the whole process. Convert takes the generic path only.
void ForceGenericForTest(bool force);
// Convert takes the fast paths of one of Highway's targets; 0 goes back to the best one.
void ForceTargetForTest(int64_t target);

}  // namespace onnx_run::convert_internal

#endif  // ONNX_RUN_RUNTIME_CONVERT_KERNELS_H_
