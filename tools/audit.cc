#include "tools/audit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/convert/formats.h"
#include "runtime/convert/text.h"
#include "tools/format.h"

namespace onnx_run::tools {
namespace {

using convert_internal::DecodeNumber;
using convert_internal::ExactNumber;
using convert_internal::NumberClass;

long double ToLongDouble(const ExactNumber& number) {
  if (number.number_class != NumberClass::kFinite) return 0;
  // 64 bits of significand fit where long double is x86's or quad precision.
  const long double magnitude =
      std::ldexp(static_cast<long double>(number.significand), number.exponent - 63);
  return number.negative ? -magnitude : magnitude;
}

bool SameValue(const ExactNumber& a, const ExactNumber& b) {
  if (a.number_class != b.number_class) return false;
  if (a.number_class == NumberClass::kZero) return true;
  if (a.negative != b.negative) return false;
  return a.number_class == NumberClass::kInfinity ||
         (a.exponent == b.exponent && a.significand == b.significand);
}

bool IsSubnormal(uint64_t code, const ElementTypeInfo& info) {
  if (info.kind != ElementKind::kFloat || info.layout.style == FloatStyle::kE8m0) return false;
  const uint64_t exponent =
      code >> info.layout.mantissa_bits & convert_internal::LowMask(info.layout.exponent_bits);
  return exponent == 0;
}

// `from`, rounded to the precision of `to` without any limit above, is beyond the largest value.
bool BeyondMax(const ExactNumber& from, const ElementTypeInfo& to, uint64_t to_code) {
  if (to.layout.style == FloatStyle::kE8m0) {
    // Powers of two from 2^-127 on; zero and what is smaller become the smallest.
    if (to_code == 0)
      return from.number_class == NumberClass::kZero || from.exponent < -to.layout.bias;
    const ExactNumber max = DecodeNumber(to, convert_internal::MaxFiniteCode(to));
    return to_code == convert_internal::MaxFiniteCode(to) && ToLongDouble(from) > ToLongDouble(max);
  }
  const uint64_t magnitude = to_code & convert_internal::MagnitudeMask(to);
  if (magnitude != convert_internal::MaxFiniteCode(to)) return false;
  const long double max = std::fabs(ToLongDouble(DecodeNumber(to, magnitude)));
  const long double ulp = std::ldexp(1.0L, std::ilogb(max) - to.layout.mantissa_bits);
  const long double x = std::fabs(ToLongDouble(from));
  // The tie goes to the even neighbour, which is the largest value when its mantissa is even.
  return (magnitude & 1) != 0 ? x >= max + ulp / 2 : x > max + ulp / 2;
}

// How bad a fate is for the choice of an example.
double WeightOf(Fate fate) { return static_cast<double>(static_cast<int>(fate)); }

// A code of DOUBLE for a text element, so that strings can be judged like numbers.
bool TextCode(const std::string& text, uint64_t* code) {
  const convert_internal::DefaultFloatEnvironment environment;
  const std::optional<uint64_t> parsed =
      convert_internal::NumberFromText(text, ElementType::kDouble, {});
  if (!parsed.has_value()) return false;
  *code = *parsed;
  return true;
}

}  // namespace

absl::string_view FateName(Fate fate) {
  switch (fate) {
    case Fate::kExact: return "exact";
    case Fate::kRounded: return "rounded";
    case Fate::kSubnormal: return "to subnormal";
    case Fate::kUnderflow: return "to zero";
    case Fate::kSaturated: return "saturated";
    case Fate::kLostInfinity: return "lost infinity";
    case Fate::kLostNan: return "lost NaN";
    case Fate::kOverflow: return "to infinity";
    case Fate::kBecameNan: return "to NaN";
    case Fate::kWrapped: return "wrapped";
  }
  return "?";
}

Fate Classify(uint64_t from, ElementType from_type, uint64_t to, ElementType to_type) {
  const ElementTypeInfo& to_info = InfoOf(to_type);
  const ExactNumber a = DecodeNumber(InfoOf(from_type), from);
  const ExactNumber b = DecodeNumber(to_info, to);
  if (a.number_class == NumberClass::kNan) {
    return b.number_class == NumberClass::kNan ? Fate::kExact : Fate::kLostNan;
  }
  if (b.number_class == NumberClass::kNan) return Fate::kBecameNan;
  if (SameValue(a, b)) return Fate::kExact;
  if (a.number_class == NumberClass::kInfinity) return Fate::kLostInfinity;
  if (b.number_class == NumberClass::kInfinity) return Fate::kOverflow;
  if (to_info.kind == ElementKind::kBool) return Fate::kRounded;
  if (to_info.kind != ElementKind::kFloat) {
    // Truncation and rounding move a value by less than one.
    return std::fabs(ToLongDouble(b) - ToLongDouble(a)) < 1 ? Fate::kRounded : Fate::kWrapped;
  }
  if (b.number_class == NumberClass::kZero) return Fate::kUnderflow;
  if (BeyondMax(a, to_info, to)) return Fate::kSaturated;
  return IsSubnormal(to, to_info) ? Fate::kSubnormal : Fate::kRounded;
}

bool LostZeroSign(uint64_t from, ElementType from_type, uint64_t to, ElementType to_type) {
  const ExactNumber a = DecodeNumber(InfoOf(from_type), from);
  const ExactNumber b = DecodeNumber(InfoOf(to_type), to);
  return a.number_class == NumberClass::kZero && a.negative &&
         b.number_class == NumberClass::kZero && !b.negative;
}

long double AbsoluteError(uint64_t from, ElementType from_type, uint64_t to, ElementType to_type) {
  const ExactNumber a = DecodeNumber(InfoOf(from_type), from);
  const ExactNumber b = DecodeNumber(InfoOf(to_type), to);
  return std::fabs(ToLongDouble(b) - ToLongDouble(a));
}

int64_t AuditCounts::Destroyed() const {
  return Of(Fate::kSaturated) + Of(Fate::kLostInfinity) + Of(Fate::kLostNan) + Of(Fate::kOverflow) +
         Of(Fate::kBecameNan) + Of(Fate::kWrapped);
}

bool AuditCounts::WorseThan(const AuditCounts& other) const {
  const auto key = [](const AuditCounts& c) {
    return std::make_tuple(c.Of(Fate::kOverflow) + c.Of(Fate::kBecameNan) + c.Of(Fate::kWrapped) +
                               c.Of(Fate::kLostNan),
                           c.Destroyed(), c.Of(Fate::kUnderflow), c.Of(Fate::kSubnormal),
                           c.Of(Fate::kRounded) > 0 ? c.max_relative : 0, c.Of(Fate::kRounded));
  };
  return key(*this) > key(other);
}

void AuditCounts::Add(Fate fate, double absolute, double relative, bool lost_sign) {
  ++elements;
  ++fates[static_cast<int>(fate)];
  if (lost_sign) ++lost_zero_signs;
  max_absolute = std::max(max_absolute, absolute);
  max_relative = std::max(max_relative, relative);
}

bool AuditCounts::TakesExample(Fate fate, double relative) {
  if (fate == Fate::kExact) return false;
  const double bounded = std::isfinite(relative) ? relative / (1 + relative) : 0.5;
  const double weight = WeightOf(fate) + bounded;
  if (weight <= example_weight) return false;
  example_weight = weight;
  return true;
}

void AuditCounts::Merge(const AuditCounts& other) {
  elements += other.elements;
  for (int i = 0; i < kFateCount; ++i) fates[i] += other.fates[i];
  lost_zero_signs += other.lost_zero_signs;
  max_absolute = std::max(max_absolute, other.max_absolute);
  max_relative = std::max(max_relative, other.max_relative);
  if (other.example_weight > example_weight) {
    example_weight = other.example_weight;
    example = other.example;
  }
}

void AuditCounts::WriteJson(JsonWriter& json) const {
  json.Key("elements").Int(elements);
  json.Key("exact").Int(Of(Fate::kExact));
  json.Key("rounded").Int(Of(Fate::kRounded) + Of(Fate::kSubnormal));
  json.Key("overflowed_to_infinity").Int(Of(Fate::kOverflow));
  json.Key("saturated").Int(Of(Fate::kSaturated));
  json.Key("wrapped").Int(Of(Fate::kWrapped));
  json.Key("became_nan").Int(Of(Fate::kBecameNan));
  json.Key("lost_nan").Int(Of(Fate::kLostNan));
  json.Key("lost_infinity").Int(Of(Fate::kLostInfinity));
  json.Key("underflowed_to_zero").Int(Of(Fate::kUnderflow));
  json.Key("underflowed_to_subnormal").Int(Of(Fate::kSubnormal));
  json.Key("lost_sign_of_zero").Int(lost_zero_signs);
  json.Key("max_absolute_error").Double(max_absolute);
  json.Key("max_relative_error").Double(max_relative);
  if (example.index >= 0) {
    json.Key("example").BeginObject().Key("index").Int(example.index);
    json.Key("what").String(FateName(example.fate));
    json.Key("source").String(example.from).Key("source_bits").String(example.from_bits);
    json.Key("result").String(example.to).Key("result_bits").String(example.to_bits).EndObject();
  }
}

void AuditElements(const Tensor& from, const Tensor& to, AuditCounts& counts) {
  if (KindOf(from.type()) == ElementKind::kComplex || from.size() != to.size()) return;
  const ElementType from_type = from.is_string() ? ElementType::kDouble : from.type();
  const ElementType to_type = to.is_string() ? ElementType::kDouble : to.type();
  for (int64_t i = 0; i < from.size(); ++i) {
    // A number's text reads back to the same number, so casts to strings lose nothing.
    uint64_t a = 0;
    uint64_t b = 0;
    bool comparable = !to.is_string();
    if (from.is_string() && comparable) {
      comparable = TextCode(from.strings()[static_cast<size_t>(i)], &a);
    } else if (comparable) {
      a = LoadCode(from.data(), from_type, i);
    }
    if (!comparable) {
      counts.Add(Fate::kExact, 0, 0, false);
      continue;
    }
    b = LoadCode(to.data(), to_type, i);
    const Fate fate = Classify(a, from_type, b, to_type);
    if (fate == Fate::kExact) {
      counts.Add(fate, 0, 0, LostZeroSign(a, from_type, b, to_type));
      continue;
    }
    double absolute = 0;
    double relative = 0;
    const bool both_finite = fate != Fate::kLostInfinity && fate != Fate::kLostNan &&
                             fate != Fate::kOverflow && fate != Fate::kBecameNan;
    if (both_finite) {
      const long double error = AbsoluteError(a, from_type, b, to_type);
      const long double source = std::fabs(ToLongDouble(DecodeNumber(InfoOf(from_type), a)));
      absolute = static_cast<double>(error);
      relative = source > 0 ? static_cast<double>(error / source)
                            : std::numeric_limits<double>::infinity();
    }
    counts.Add(fate, absolute, relative, false);
    if (counts.TakesExample(fate, relative)) {
      counts.example = {i,
                        ElementText(from, i),
                        from.is_string() ? "" : ElementBits(from, i),
                        ElementText(to, i),
                        ElementBits(to, i),
                        fate};
    }
  }
}

}  // namespace onnx_run::tools
