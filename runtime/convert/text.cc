#include "runtime/convert/text.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace onnx_run {
namespace {

absl::Status CheckNumeric(ElementType type, absl::string_view direction) {
  const ElementKind kind = KindOf(type);
  if (kind == ElementKind::kNone || kind == ElementKind::kString || kind == ElementKind::kComplex) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot convert ", direction, " ", TypeName(type), " elements"));
  }
  return absl::OkStatus();
}

absl::Status MalformedText(size_t index, const std::string& text, ElementType type) {
  constexpr size_t kShown = 40;
  return absl::InvalidArgumentError(absl::StrCat(
      "element ", index, ": \"", absl::CEscape(absl::string_view(text).substr(0, kShown)),
      text.size() > kShown ? "..." : "", "\" is not a number (converting to ", TypeName(type),
      ")"));
}

}  // namespace

absl::Status ConvertToString(const void* from, ElementType from_type, absl::Span<std::string> to) {
  if (absl::Status status = CheckNumeric(from_type, "to string from"); !status.ok()) return status;
  const convert_internal::DefaultFloatEnvironment environment;
  convert_internal::WriteTexts(from, from_type, to);
  return absl::OkStatus();
}

absl::Status ConvertFromString(absl::Span<const std::string> from, void* to, ElementType to_type,
                               const ConvertOptions& options) {
  if (absl::Status status = CheckNumeric(to_type, "from string to"); !status.ok()) return status;
  const convert_internal::DefaultFloatEnvironment environment;
  const size_t done =
      convert_internal::ReadTexts(from, to_type, static_cast<uint8_t*>(to), options);
  if (done != from.size()) return MalformedText(done, from[done], to_type);
  return absl::OkStatus();
}

}  // namespace onnx_run
