// The conversion of elements from any type to any other: the meaning of Cast, rounded exactly once.
//
// Spans in, spans out: this library knows neither tensors nor graphs. The rules are those of the
// ONNX Cast operator; where the standard is silent, those listed in docs/cast-semantics.md.
#ifndef ONNX_RUN_RUNTIME_CONVERT_CONVERT_H_
#define ONNX_RUN_RUNTIME_CONVERT_CONVERT_H_

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/element_type.h"

namespace onnx_run {

// Direction of rounding to FLOAT8E8M0 (Cast 24 and later); no other destination reads it.
enum class RoundMode : uint8_t { kUp, kDown, kNearest };

struct ConvertOptions {
  // Overflow to a float8 gives the largest value (true) or NaN/infinity (false). No other
  // destination reads it.
  bool saturate = true;
  RoundMode round_mode = RoundMode::kUp;
};

// Runs fn(begin, end) over a partition of [0, n), each part a multiple of `grain` elements but the
// last. Returns when all parts are done. Parts may run at the same time on other threads.
using ParallelFor = absl::FunctionRef<void(int64_t n, int64_t grain,
                                           absl::FunctionRef<void(int64_t begin, int64_t end)> fn)>;

// Converts `count` elements, none of them strings or complex. `from` and `to` point to packed
// elements as in raw_data (little-endian in memory on every host we support; 4 and 2 bit types from
// the low bits of each byte up; unused bits of the last byte are ignored on input and written as
// zero). Any alignment. The buffers are disjoint, or the same when both types have the same width.
// Errors: InvalidArgument when a type is string, complex or undefined.
absl::Status Convert(const void* from, ElementType from_type, void* to, ElementType to_type,
                     int64_t count, const ConvertOptions& options = {});

// As above, by the integer-only generic path, that every fast path is tested against.
absl::Status ConvertGeneric(const void* from, ElementType from_type, void* to, ElementType to_type,
                            int64_t count, const ConvertOptions& options = {});

// As Convert, shared out by `parallel_for` when that pays.
absl::Status ConvertParallel(const void* from, ElementType from_type, void* to, ElementType to_type,
                             int64_t count, const ConvertOptions& options,
                             ParallelFor parallel_for);

// Numbers to text: the shortest digits that read back to the same value of `from_type`, positional,
// "NaN", "INF", "-INF"; bool is "1" or "0". `to` has `count` elements.
absl::Status ConvertToString(const void* from, ElementType from_type, absl::Span<std::string> to);

// Text to numbers, rounded once from the exact decimal value.
// Errors: InvalidArgument that names the index and the text of the first malformed element; `to` is
// then unspecified.
absl::Status ConvertFromString(absl::Span<const std::string> from, void* to, ElementType to_type,
                               const ConvertOptions& options = {});

// One element by the generic path: the code (bit pattern in the low bits, integers as two's
// complement of their width) of the source to the code of the destination.
uint64_t ConvertCode(uint64_t code, ElementType from_type, ElementType to_type,
                     const ConvertOptions& options = {});

// Element `index` of packed elements, as its code; and the reverse.
uint64_t LoadCode(const void* data, ElementType type, int64_t index);
void StoreCode(void* data, ElementType type, int64_t index, uint64_t code);

// The value of an element as the nearest double (exact for every type but int64 and uint64 beyond
// 2^53), and the element nearest to a double under the rules of Cast from DOUBLE.
double CodeToDouble(uint64_t code, ElementType type);
uint64_t CodeFromDouble(double value, ElementType type, const ConvertOptions& options = {});

}  // namespace onnx_run

#endif  // ONNX_RUN_RUNTIME_CONVERT_CONVERT_H_
