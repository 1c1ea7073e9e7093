#include "tools/compare.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "runtime/convert/convert.h"
#include "tools/format.h"
#include "tools/report.h"

namespace onnx_run::tools {
namespace {

// The difference that counts as worse than any finite one.
constexpr double kInfinite = std::numeric_limits<double>::infinity();

struct ElementDifference {
  bool equal = true;
  double excess = 0;  // how far beyond what is allowed
  double absolute = 0;
  double relative = 0;
};

ElementDifference WithinTolerance(double got, double want, double rtol, double atol) {
  if (std::isnan(got) || std::isnan(want)) {
    const bool equal = std::isnan(got) && std::isnan(want);
    return {equal, equal ? 0 : kInfinite, 0, 0};
  }
  if (std::isinf(got) || std::isinf(want)) {
    const bool equal = got == want;
    return {equal, equal ? 0 : kInfinite, 0, 0};
  }
  const double absolute = std::fabs(got - want);
  const double allowed = atol + rtol * std::fabs(want);
  return {absolute <= allowed, absolute - allowed, absolute,
          want != 0       ? absolute / std::fabs(want)
          : absolute == 0 ? 0
                          : kInfinite};
}

bool IsNan(uint64_t code, ElementType type) { return std::isnan(CodeToDouble(code, type)); }

ElementDifference CompareComplex(const Tensor& got, const Tensor& want, int64_t index,
                                 const CompareOptions& options) {
  const ElementType part =
      got.type() == ElementType::kComplex64 ? ElementType::kFloat : ElementType::kDouble;
  const auto load = [&](const Tensor& tensor, int64_t k) {
    return LoadCode(tensor.data(), part, k);
  };
  ElementDifference worst;
  double want_magnitude = 0;
  if (!options.exact) {
    want_magnitude = std::hypot(CodeToDouble(load(want, 2 * index), part),
                                CodeToDouble(load(want, 2 * index + 1), part));
    if (!std::isfinite(want_magnitude)) want_magnitude = 0;
  }
  for (const int64_t k : {2 * index, 2 * index + 1}) {
    const uint64_t a = load(got, k);
    const uint64_t b = load(want, k);
    if (options.exact) {
      if (a != b && !(IsNan(a, part) && IsNan(b, part))) return {false, kInfinite, 0, 0};
      continue;
    }
    // numpy measures by the magnitude of the whole number.
    const ElementDifference difference =
        WithinTolerance(CodeToDouble(a, part), CodeToDouble(b, part), 0,
                        options.atol + options.rtol * want_magnitude);
    if (difference.excess > worst.excess || !difference.equal) worst = difference;
    if (!difference.equal) break;
  }
  return worst;
}

ElementDifference CompareElement(const Tensor& got, const Tensor& want, int64_t index,
                                 const CompareOptions& options) {
  const ElementType type = got.type();
  if (type == ElementType::kString) {
    const auto i = static_cast<size_t>(index);
    const bool equal = got.strings()[i] == want.strings()[i];
    return {equal, equal ? 0 : kInfinite, 0, 0};
  }
  if (KindOf(type) == ElementKind::kComplex) return CompareComplex(got, want, index, options);
  const uint64_t a = LoadCode(got.data(), type, index);
  const uint64_t b = LoadCode(want.data(), type, index);
  if (a == b) return {};
  const double x = CodeToDouble(a, type);
  const double y = CodeToDouble(b, type);
  if (!IsFloat(type)) {
    const double difference = std::fabs(x - y);
    return {false, difference, difference, y != 0 ? difference / std::fabs(y) : kInfinite};
  }
  const bool wide = BitsOf(type) > 8;
  ElementDifference difference = WithinTolerance(x, y, wide && !options.exact ? options.rtol : 0,
                                                 wide && !options.exact ? options.atol : 0);
  if (options.exact && !(std::isnan(x) && std::isnan(y))) {
    // Equal values under different codes: the zeros.
    difference.equal = false;
  }
  return difference;
}

bool AllBytesEqual(const Tensor& got, const Tensor& want) {
  if (got.is_string()) return false;
  if (IsSubByte(got.type())) return false;  // unused bits do not count
  const int64_t bytes = got.bytes();
  return bytes == 0 || std::memcmp(got.data(), want.data(), static_cast<size_t>(bytes)) == 0;
}

void CompareTensors(const Tensor& got, const Tensor& want, const std::string& path,
                    const CompareOptions& options, CompareResult& result) {
  const auto fail = [&](absl::string_view reason, std::string message) {
    if (!result.equal) return;
    result.equal = false;
    result.path = path;
    result.reason = std::string(reason);
    result.message = std::move(message);
  };
  if (got.type() != want.type()) {
    fail("type",
         absl::StrCat("type is ", TypeName(got.type()), ", expected ", TypeName(want.type())));
    return;
  }
  if (got.dims() != want.dims()) {
    fail("shape", absl::StrCat("shape is ", DimsToString(got.dims()), ", expected ",
                               DimsToString(want.dims())));
    return;
  }
  result.elements += got.size();
  if (options.type_and_shape_only || AllBytesEqual(got, want)) return;
  int64_t mismatches = 0;
  int64_t worst = -1;
  double worst_excess = -1;
  for (int64_t i = 0; i < got.size(); ++i) {
    const ElementDifference difference = CompareElement(got, want, i, options);
    result.max_absolute = std::max(result.max_absolute, difference.absolute);
    result.max_relative = std::max(result.max_relative, difference.relative);
    if (difference.equal) continue;
    ++mismatches;
    if (worst < 0 || difference.excess > worst_excess) {
      worst = i;
      worst_excess = difference.excess;
    }
  }
  if (mismatches == 0) return;
  const bool first = result.equal;
  result.mismatches += mismatches;
  if (!first) return;
  result.worst_index = worst;
  result.worst_position = IndexText(worst, got.dims());
  result.got = ElementText(got, worst);
  result.want = ElementText(want, worst);
  result.got_bits = ElementBits(got, worst);
  result.want_bits = ElementBits(want, worst);
  fail("values",
       absl::StrCat(
           mismatches, " of ", got.size(), " ", TypeName(got.type()), " elements differ; worst ",
           result.worst_position.empty() ? "" : absl::StrCat("at ", result.worst_position, " "),
           "is ", result.got, " (", result.got_bits, "), expected ", result.want, " (",
           result.want_bits, ")"));
}

const Value& Unwrap(const Value& value) {
  static const Value* const kAbsent = new Value;
  const Value* inner = &value;
  while (inner->kind() == ValueKind::kOptional) {
    if (inner->optional().element == nullptr) return *kAbsent;
    inner = inner->optional().element.get();
  }
  return *inner;
}

absl::string_view KindName(ValueKind kind) {
  switch (kind) {
    case ValueKind::kAbsent: return "nothing";
    case ValueKind::kTensor: return "a tensor";
    case ValueKind::kSequence: return "a sequence";
    case ValueKind::kOptional: return "an optional";
    case ValueKind::kMap: return "a map";
    case ValueKind::kSparseTensor: return "a sparse tensor";
  }
  return "?";
}

void CompareValues(const Value& got_value, const Value& want_value, const std::string& path,
                   const CompareOptions& options, CompareResult& result) {
  const Value& got = Unwrap(got_value);
  const Value& want = Unwrap(want_value);
  const auto fail = [&](absl::string_view reason, std::string message) {
    if (!result.equal) return;
    result.equal = false;
    result.path = path;
    result.reason = std::string(reason);
    result.message = std::move(message);
  };
  if (got.kind() != want.kind()) {
    fail("kind", absl::StrCat("is ", KindName(got.kind()), ", expected ", KindName(want.kind())));
    return;
  }
  switch (got.kind()) {
    case ValueKind::kAbsent:
    case ValueKind::kOptional: return;
    case ValueKind::kTensor:
      CompareTensors(got.tensor(), want.tensor(), path, options, result);
      return;
    case ValueKind::kSequence: {
      const auto& a = got.sequence().elements;
      const auto& b = want.sequence().elements;
      if (a.size() != b.size()) {
        fail("length", absl::StrCat("has ", a.size(), " elements, expected ", b.size()));
        return;
      }
      for (size_t i = 0; i < a.size(); ++i) {
        CompareValues(a[i], b[i], absl::StrCat(path, "[", i, "]"), options, result);
      }
      return;
    }
    case ValueKind::kMap: {
      const Map& a = got.map();
      const Map& b = want.map();
      if (a.values.size() != b.values.size()) {
        fail("length", absl::StrCat("has ", a.values.size(), " keys, expected ", b.values.size()));
        return;
      }
      // Maps have no order of their own.
      for (size_t i = 0; i < b.values.size(); ++i) {
        const std::string key = ElementText(b.keys, static_cast<int64_t>(i));
        size_t k = 0;
        while (k < a.values.size() && ElementText(a.keys, static_cast<int64_t>(k)) != key) ++k;
        if (k == a.values.size() || a.keys.type() != b.keys.type()) {
          fail("key", absl::StrCat("has no key ", key));
          return;
        }
        CompareValues(a.values[k], b.values[i], absl::StrCat(path, "[", key, "]"), options, result);
      }
      return;
    }
    case ValueKind::kSparseTensor: {
      const SparseTensor& a = got.sparse();
      const SparseTensor& b = want.sparse();
      if (a.dims != b.dims) {
        fail("shape",
             absl::StrCat("shape is ", DimsToString(a.dims), ", expected ", DimsToString(b.dims)));
        return;
      }
      CompareTensors(a.indices, b.indices, path + ".indices", options, result);
      CompareTensors(a.values, b.values, path + ".values", options, result);
      return;
    }
  }
}

}  // namespace

CompareResult Compare(const Value& got, const Value& want, const CompareOptions& options) {
  CompareResult result;
  CompareValues(got, want, "", options, result);
  if (!result.equal && !result.path.empty()) {
    result.message = absl::StrCat(result.path, ": ", result.message);
  }
  return result;
}

}  // namespace onnx_run::tools
