// What a conversion does to each value: the classes and counters that --cast-audit, --what-if and
// onnx-cast share. All comparisons are of exact values, not of rounded differences.
#ifndef ONNX_RUN_TOOLS_AUDIT_H_
#define ONNX_RUN_TOOLS_AUDIT_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/convert/convert.h"
#include "runtime/element_type.h"
#include "runtime/tensor.h"
#include "tools/report.h"

namespace onnx_run::tools {

// What became of one element; the first that fits, in the order of damage.
enum class Fate : uint8_t {
  kExact,
  kRounded,
  kSubnormal,     // rounded, and with fewer bits: the result is subnormal
  kUnderflow,     // to zero, of a value that was not
  kSaturated,     // a finite value beyond the largest finite one, that is the result
  kLostInfinity,  // infinity became finite
  kLostNan,       // NaN became a number
  kOverflow,      // a finite value became infinity
  kBecameNan,     // a number or infinity became NaN
  kWrapped,       // an integer's low bits are another number
};
inline constexpr int kFateCount = 10;
// "exact", "rounded", ...
absl::string_view FateName(Fate fate);

// From the codes of source and result. The result is taken as it is; `saturate` tells apart
// rounding to the largest value and saturation to it.
Fate Classify(uint64_t from, ElementType from_type, uint64_t to, ElementType to_type);
// -0 became +0 (or an integer 0).
bool LostZeroSign(uint64_t from, ElementType from_type, uint64_t to, ElementType to_type);
// |to - from| of finite values; exact but for the last rounding.
long double AbsoluteError(uint64_t from, ElementType from_type, uint64_t to, ElementType to_type);

struct AuditExample {
  int64_t index = -1;
  std::string from, from_bits, to, to_bits;
  Fate fate = Fate::kExact;
};

struct AuditCounts {
  int64_t elements = 0;
  int64_t fates[kFateCount] = {};
  int64_t lost_zero_signs = 0;
  double max_absolute = 0;
  double max_relative = 0;
  AuditExample example;  // the worst element
  double example_weight = -1;

  int64_t Of(Fate fate) const { return fates[static_cast<int>(fate)]; }
  // Values that are gone: not rounded, but another number or none.
  int64_t Destroyed() const;
  // More is worse; of nodes to be sorted.
  bool WorseThan(const AuditCounts& other) const;
  void Add(Fate fate, double absolute, double relative, bool lost_sign);
  // Whether `fate` with this error would replace the example.
  bool TakesExample(Fate fate, double relative);
  void Merge(const AuditCounts& other);
  void WriteJson(JsonWriter& json) const;
};

// Elements converted one by one: `from` as it was, `to` as it became.
void AuditElements(const Tensor& from, const Tensor& to, AuditCounts& counts);

}  // namespace onnx_run::tools

#endif  // ONNX_RUN_TOOLS_AUDIT_H_
