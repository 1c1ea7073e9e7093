#include "tools/explain_cast.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "ops/all_ops.h"
#include "runtime/convert/formats.h"
#include "runtime/status_macros.h"
#include "tools/audit.h"
#include "tools/format.h"
#include "tools/report.h"

namespace onnx_run::tools {
namespace {

using convert_internal::DecodeNumber;
using convert_internal::ExactNumber;
using convert_internal::NumberClass;

constexpr size_t kLongestExact = 60;
constexpr size_t kLongestInTable = 26;

ExactNumber Decode(uint64_t code, ElementType type) { return DecodeNumber(InfoOf(type), code); }

std::string ToText(uint64_t code, ElementType type) {
  std::string text;
  const uint64_t storage = code;
  if (!ConvertToString(&storage, type, absl::MakeSpan(&text, 1)).ok()) return "?";
  return text;
}

// The words for what Cast does between these types.
std::string Rule(uint64_t code, ElementType from, ElementType to, const ConvertOptions& options) {
  const ExactNumber number = Decode(code, from);
  const ElementTypeInfo& info = InfoOf(to);
  if (from == to) return "same type: the bits are copied";
  if (to == ElementType::kString) return "shortest digits that read back to the same value";
  if (to == ElementType::kBool) return "anything but zero is true (NaN too)";
  if (info.kind != ElementKind::kFloat) {
    if (!IsFloat(from)) return absl::StrCat("the low ", info.bits, " bits are kept");
    if (number.number_class == NumberClass::kNan)
      return "NaN to an integer is 0 (undefined in the standard)";
    if (number.number_class == NumberClass::kInfinity)
      return "infinity to an integer is 0 (undefined in the standard)";
    return absl::StrCat(convert_internal::RoundsToNearestInteger(info)
                            ? "rounded to nearest, ties to even"
                            : "fraction dropped (toward zero)",
                        ", then the low ", info.bits, " bits");
  }
  std::string rule;
  if (info.layout.style == FloatStyle::kE8m0) {
    rule = absl::StrCat("to a power of two, round_mode ",
                        options.round_mode == RoundMode::kUp     ? "up"
                        : options.round_mode == RoundMode::kDown ? "down"
                                                                 : "nearest",
                        "; negative values are NaN");
  } else {
    rule = "rounded once, to nearest, ties to even";
  }
  if (info.layout.style == FloatStyle::kFinite) {
    rule += "; beyond the largest value: the largest";
    if (number.number_class == NumberClass::kNan) rule += "; NaN, that the type has not, is a zero";
  } else if (info.bits == 8) {
    absl::StrAppend(&rule, "; saturate=", options.saturate ? 1 : 0, ": beyond the largest value: ",
                    options.saturate                         ? "the largest"
                    : info.layout.style == FloatStyle::kIeee ? "infinity"
                                                             : "NaN");
  } else {
    rule += "; beyond the largest value: infinity";
  }
  return rule;
}

// The same for Cast from STRING; `nearest` is the DOUBLE nearest to the text.
std::string TextRule(uint64_t nearest, ElementType to, const ConvertOptions& options) {
  const ElementTypeInfo& info = InfoOf(to);
  if (to == ElementType::kBool) return "a number but zero, or the word true, is true";
  if (info.kind == ElementKind::kFloat) {
    // No type is read as its own text: any other source has the rule of this destination.
    const bool is_double = to == ElementType::kDouble;
    const ElementType other = is_double ? ElementType::kFloat : ElementType::kDouble;
    const uint64_t code =
        is_double ? ConvertCode(nearest, ElementType::kDouble, other, options) : nearest;
    return absl::StrCat("straight from the text: ", Rule(code, other, to, options));
  }
  const NumberClass number_class = Decode(nearest, ElementType::kDouble).number_class;
  if (number_class == NumberClass::kNan || number_class == NumberClass::kInfinity) {
    return "NaN and infinity to an integer are 0";
  }
  return absl::StrCat("fraction dropped (toward zero), then the low ", info.bits, " bits");
}

// The next codes of `type` below and above that hold finite values; -1 past the ends.
void Neighbours(uint64_t code, ElementType type, std::optional<uint64_t>* below,
                std::optional<uint64_t>* above) {
  const ElementTypeInfo& info = InfoOf(type);
  const ExactNumber number = Decode(code, type);
  if (number.number_class == NumberClass::kNan || number.number_class == NumberClass::kInfinity)
    return;
  const uint64_t mask = convert_internal::LowMask(info.bits);
  const auto keep_finite = [&](uint64_t candidate, std::optional<uint64_t>* to) {
    const NumberClass c = Decode(candidate, type).number_class;
    if (c != NumberClass::kNan) *to = candidate;
  };
  if (info.kind == ElementKind::kUnsigned || info.kind == ElementKind::kSigned) {
    const bool is_signed = info.kind == ElementKind::kSigned;
    const uint64_t max = is_signed ? mask >> 1 : mask;
    const uint64_t min = is_signed ? max + 1 : 0;
    if (code != min) *below = (code - 1) & mask;
    if (code != max) *above = (code + 1) & mask;
    return;
  }
  if (info.kind != ElementKind::kFloat) return;
  if (info.layout.style == FloatStyle::kE8m0) {
    if (code > 0) *below = code - 1;
    keep_finite(code + 1, above);
    return;
  }
  const uint64_t sign = uint64_t{1} << (info.bits - 1);
  const bool negative = (code & sign) != 0;
  const uint64_t magnitude = code & ~sign & mask;
  if (magnitude == 0) {
    keep_finite(sign | 1, below);
    keep_finite(1, above);
    return;
  }
  const uint64_t toward_zero = magnitude == 1 && info.layout.style == FloatStyle::kFnuz
                                   ? 0
                                   : (code & sign) | (magnitude - 1);
  std::optional<uint64_t> away;
  if (magnitude < convert_internal::MagnitudeMask(info))
    keep_finite((code & sign) | (magnitude + 1), &away);
  *(negative ? above : below) = toward_zero;
  *(negative ? below : above) = away;
}

std::string ValueAndBits(uint64_t code, ElementType type) {
  return absl::StrCat(ExactText(code, type), " (", BitsText(code, type), ")");
}

std::string TypeLine(uint64_t code, ElementType type) {
  return absl::StrCat("  type      ", TypeName(type), ", in which it prints as ",
                      ToText(code, type), "\n");
}

std::string NeighboursLine(uint64_t code, ElementType type) {
  std::optional<uint64_t> below;
  std::optional<uint64_t> above;
  Neighbours(code, type, &below, &above);
  if (!below.has_value() && !above.has_value()) return "";
  return absl::StrCat("  between   ",
                      below.has_value() ? ValueAndBits(*below, type) : "(the least)", " and ",
                      above.has_value() ? ValueAndBits(*above, type) : "(the greatest)", "\n");
}

std::string Loss(uint64_t from_code, ElementType from, uint64_t to_code, ElementType to) {
  const Fate fate = Classify(from_code, from, to_code, to);
  std::string text;
  switch (fate) {
    case Fate::kExact:
      return LostZeroSign(from_code, from, to_code, to) ? "the sign of zero"
                                                        : "nothing: the value is the same";
    case Fate::kRounded: text = "rounded"; break;
    case Fate::kSubnormal: text = "rounded to a subnormal, which has fewer bits"; break;
    case Fate::kUnderflow: text = "all: too small, became zero"; break;
    case Fate::kSaturated: text = "saturated at the end of the range"; break;
    case Fate::kLostInfinity: return "infinity, that became a number";
    case Fate::kLostNan: return "NaN, that became a number";
    case Fate::kOverflow: return "the value, that became infinity";
    case Fate::kBecameNan: return "the value, that became NaN";
    case Fate::kWrapped: text = "the high bits: wrapped to another number"; break;
  }
  const long double error = AbsoluteError(from_code, from, to_code, to);
  const long double source = std::fabs(static_cast<long double>(CodeToDouble(from_code, from)));
  absl::StrAppend(&text, "; off by ", ShortDouble(static_cast<double>(error), 6));
  if (source > 0)
    absl::StrAppend(&text, " (", ShortDouble(static_cast<double>(100 * error / source), 3), " %)");
  return text;
}

}  // namespace

absl::StatusOr<uint64_t> ParseCode(absl::string_view text, ElementType type) {
  if (absl::StartsWithIgnoreCase(text, "0x")) {
    uint64_t code = 0;
    if (!absl::SimpleHexAtoi(text, &code) || (BitsOf(type) < 64 && code >> BitsOf(type) != 0)) {
      return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" is not a bit pattern of ",
                                                     TypeName(type), ", that has ", BitsOf(type),
                                                     " bits"));
    }
    return code;
  }
  const std::string element(text);
  uint64_t storage = 0;
  RETURN_IF_ERROR(ConvertFromString(absl::MakeConstSpan(&element, 1), &storage, type));
  return LoadCode(&storage, type, 0);
}

std::string AnotherNumber(absl::string_view text, uint64_t code, ElementType type) {
  if (IsFloat(type) || type == ElementType::kBool || absl::StartsWithIgnoreCase(text, "0x")) {
    return "";
  }
  const std::string element(text);
  double meant = 0;
  if (!ConvertFromString(absl::MakeConstSpan(&element, 1), &meant, ElementType::kDouble).ok() ||
      meant == CodeToDouble(code, type)) {
    return "";
  }
  return absl::StrCat(text, " is no ", TypeName(type), ": read as Cast from STRING reads it\n");
}

std::string ExactText(uint64_t code, ElementType type) {
  if (!IsFloat(type)) return NumberText(code, type);
  const double value = CodeToDouble(code, type);
  if (!std::isfinite(value)) return NumberText(code, type);
  // glibc prints all digits that a double has when asked for enough.
  std::string digits(1500, '\0');
  const int length = std::snprintf(digits.data(), digits.size(), "%.1100f", value);
  digits.resize(static_cast<size_t>(length));
  while (digits.back() == '0') digits.pop_back();
  if (digits.back() == '.') digits.pop_back();
  if (digits.size() <= kLongestExact) return digits;
  return absl::StrFormat("%a", value);
}

std::string ExplainCast(uint64_t code, ElementType from, ElementType to,
                        const ConvertOptions& options) {
  std::string text = absl::StrCat(TypeName(from), " ", NumberText(code, from), "\n");
  Table table({"", "", "", ""});
  const auto row = [&](const char* label, uint64_t c, ElementType type) {
    table.Row(
        {label, BitsText(c, type), LayoutBits(c, type), absl::StrCat("= ", ExactText(c, type))});
  };
  row("source", code, from);
  if (to == ElementType::kString) {
    absl::StrAppend(&text, table.ToString("  "), "  result    \"", ToText(code, from), "\"\n");
    absl::StrAppend(&text, "  rule      ", Rule(code, from, to, options), "\n");
    return text;
  }
  const uint64_t result = ConvertCode(code, from, to, options);
  row("result", result, to);
  absl::StrAppend(&text, table.ToString("  "), TypeLine(result, to));
  absl::StrAppend(&text, "  rule      ", Rule(code, from, to, options), "\n");
  absl::StrAppend(&text, NeighboursLine(result, to));
  absl::StrAppend(&text, "  lost      ", Loss(code, from, result, to), "\n");
  return text;
}

absl::StatusOr<std::string> ExplainText(const std::string& text, ElementType to,
                                        const ConvertOptions& options) {
  const auto convert = [&](ElementType type) -> absl::StatusOr<uint64_t> {
    uint64_t storage = 0;
    RETURN_IF_ERROR(ConvertFromString(absl::MakeConstSpan(&text, 1), &storage, type, options));
    return LoadCode(&storage, type, 0);
  };
  ASSIGN_OR_RETURN(const uint64_t result, convert(to));
  Table table({"", "", "", ""});
  table.Row({"result", BitsText(result, to), LayoutBits(result, to),
             absl::StrCat("= ", ExactText(result, to))});
  std::string lines = absl::StrCat("string \"", absl::Utf8SafeCEscape(text), "\"\n",
                                   table.ToString("  "), TypeLine(result, to));
  // Words for true and false are bool's only, and have no nearest DOUBLE.
  const absl::StatusOr<uint64_t> nearest = convert(ElementType::kDouble);
  absl::StrAppend(&lines, "  rule      ", TextRule(nearest.value_or(0), to, options), "\n");
  absl::StrAppend(&lines, NeighboursLine(result, to));
  if (nearest.ok() && to != ElementType::kDouble) {
    absl::StrAppend(&lines, "  lost      ", Loss(*nearest, ElementType::kDouble, result, to),
                    " (counted from the nearest double)\n");
  }
  return lines;
}

std::string CastToAll(uint64_t code, ElementType from, const ConvertOptions& options,
                      int64_t opset) {
  std::string text = absl::StrCat(TypeName(from), " ", NumberText(code, from), " (",
                                  BitsText(code, from), ") = ", ExactText(code, from), "\n");
  Table table({"to", "value", "bits", "", "what"});
  const OpSchema* schema = StandardSchemas().Find("", "Cast", opset);
  for (const ElementTypeInfo& info : kElementTypeTable) {
    if (info.kind == ElementKind::kNone || info.kind == ElementKind::kComplex) continue;
    if (schema != nullptr && schema->Output(0) != nullptr &&
        !StandardSchemas().TypesOf(*schema->Output(0)).tensor.Has(info.type)) {
      continue;
    }
    if (info.type == ElementType::kString) {
      table.Row({info.type_string, absl::StrCat("\"", ToText(code, from), "\""), "", "", "exact"});
      continue;
    }
    const uint64_t result = ConvertCode(code, from, info.type, options);
    // All digits where there is room: shortest ones would look like the source's.
    std::string value = ExactText(result, info.type);
    if (value.size() > kLongestInTable) value = NumberText(result, info.type);
    table.Row({info.type_string, value, BitsText(result, info.type),
               IsFloat(info.type) || info.bits <= 8 ? LayoutBits(result, info.type) : "",
               std::string(FateName(Classify(code, from, result, info.type)))});
  }
  return text + table.ToString("  ");
}

}  // namespace onnx_run::tools
