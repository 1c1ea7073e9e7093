#include "tools/format.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/convert/convert.h"
#include "runtime/convert/text.h"

namespace onnx_run::tools {
namespace {

// Longer positional texts are given an exponent.
constexpr size_t kLongestPositional = 12;

// The fewest digits with an exponent that read back to the same code: "1.23e+05".
std::string WithExponent(uint64_t code, ElementType type) {
  const double value = CodeToDouble(code, type);
  for (int digits = 0; digits < 17; ++digits) {
    std::string text = absl::StrFormat("%.*e", digits, value);
    double back = 0;
    if (!absl::SimpleAtod(text, &back)) break;
    if (CodeFromDouble(back, type, {.round_mode = RoundMode::kNearest}) == code) return text;
  }
  return absl::StrFormat("%.17g", value);
}

uint64_t ComplexPart(const Tensor& tensor, int64_t index, bool imaginary, ElementType* part) {
  *part = tensor.type() == ElementType::kComplex64 ? ElementType::kFloat : ElementType::kDouble;
  return LoadCode(tensor.data(), *part, 2 * index + (imaginary ? 1 : 0));
}

bool IsComplex(ElementType type) { return KindOf(type) == ElementKind::kComplex; }

std::string Binary(uint64_t code, int bits) {
  std::string text;
  for (int i = bits; i-- > 0;) text += (code >> i & 1) != 0 ? '1' : '0';
  return text;
}

// Prints nested lists, wrapped at the line's width.
class TensorPrinter {
 public:
  TensorPrinter(const Tensor& tensor, const FormatOptions& options)
      : tensor_(tensor), options_(options), cut_(tensor.size() > options.max_elements) {
    strides_.assign(tensor.dims().size(), 1);
    for (size_t i = strides_.size(); i-- > 1;) strides_[i - 1] = strides_[i] * tensor.dims()[i];
  }

  std::string Run() {
    if (tensor_.rank() == 0) return ElementText(tensor_, 0);
    if (tensor_.size() == 0) return "[]";
    ForEachShown(0, 0, [&](int64_t index) {
      width_ = std::max(width_, ElementText(tensor_, index).size());
    });
    if (tensor_.is_string()) width_ = 0;
    std::string text;
    Append(0, 0, text);
    return text;
  }

 private:
  // The positions along an axis that are shown; -1 stands for the gap.
  std::vector<int64_t> Shown(int axis) const {
    const int64_t n = tensor_.dim(axis);
    std::vector<int64_t> shown;
    for (int64_t i = 0; i < n; ++i) {
      if (cut_ && n > 2 * options_.edge_items && i == options_.edge_items) {
        shown.push_back(-1);
        i = n - options_.edge_items;
      }
      shown.push_back(i);
    }
    return shown;
  }

  template <typename Fn>
  void ForEachShown(int axis, int64_t base, const Fn& fn) const {
    for (const int64_t i : Shown(axis)) {
      if (i < 0) continue;
      const int64_t index = base + i * strides_[static_cast<size_t>(axis)];
      if (axis + 1 == tensor_.rank()) {
        fn(index);
      } else {
        ForEachShown(axis + 1, index, fn);
      }
    }
  }

  void Append(int axis, int64_t base, std::string& text) const {
    const std::string indent(static_cast<size_t>(axis) + 1, ' ');
    text += '[';
    if (axis + 1 == tensor_.rank()) {
      size_t column = static_cast<size_t>(tensor_.rank());
      bool first = true;
      for (const int64_t i : Shown(axis)) {
        std::string item = i < 0 ? "..." : ElementText(tensor_, base + i);
        if (i >= 0 && item.size() < width_) item.insert(0, width_ - item.size(), ' ');
        if (!first) {
          text += ',';
          const bool wraps = column + item.size() + 2 > static_cast<size_t>(options_.line_width);
          text += wraps ? "\n" + indent +
                              std::string(static_cast<size_t>(tensor_.rank() - axis - 1), ' ')
                        : std::string(" ");
          if (wraps) column = static_cast<size_t>(tensor_.rank());
        }
        text += item;
        column += item.size() + 2;
        first = false;
      }
    } else {
      bool first = true;
      for (const int64_t i : Shown(axis)) {
        if (!first) {
          text += ",";
          // A blank line between matrices, two between cubes, as numpy does.
          text.append(static_cast<size_t>(tensor_.rank() - axis - 1), '\n');
          text += indent;
        }
        if (i < 0) {
          text += "...";
        } else {
          Append(axis + 1, base + i * strides_[static_cast<size_t>(axis)], text);
        }
        first = false;
      }
    }
    text += ']';
  }

  const Tensor& tensor_;
  const FormatOptions& options_;
  const bool cut_;
  std::vector<int64_t> strides_;
  size_t width_ = 0;
};

void AppendValue(absl::string_view name, const Value& value, const FormatOptions& options,
                 const std::string& indent, std::string& text) {
  const auto child = [&](const std::string& label, const Value& element) {
    AppendValue(label, element, options, indent + "  ", text);
  };
  absl::StrAppend(&text, indent, name, name.empty() ? "" : "  ");
  switch (value.kind()) {
    case ValueKind::kAbsent: text += "(absent)\n"; return;
    case ValueKind::kTensor: {
      const std::string body = FormatTensor(value.tensor(), options);
      absl::StrAppend(&text, TypeAndDims(value.tensor()));
      // A short value goes on the same line.
      if (body.size() + name.size() < 60 && body.find('\n') == std::string::npos) {
        absl::StrAppend(&text, "  ", body, "\n");
        return;
      }
      text += "\n" + indent;
      for (const char c : body) {
        text += c;
        if (c == '\n') text += indent;
      }
      text += '\n';
      return;
    }
    case ValueKind::kSequence: {
      absl::StrAppend(&text, Describe(value), "\n");
      int64_t i = 0;
      for (const Value& element : value.sequence().elements)
        child(absl::StrCat("[", i++, "]"), element);
      return;
    }
    case ValueKind::kOptional:
      absl::StrAppend(&text, Describe(value), "\n");
      if (value.optional().element != nullptr) child("value", *value.optional().element);
      return;
    case ValueKind::kMap: {
      absl::StrAppend(&text, Describe(value), "\n");
      const Map& map = value.map();
      for (size_t i = 0; i < map.values.size(); ++i) {
        child(absl::StrCat("[", ElementText(map.keys, static_cast<int64_t>(i)), "]"),
              map.values[i]);
      }
      return;
    }
    case ValueKind::kSparseTensor:
      absl::StrAppend(&text, Describe(value), "\n");
      child("values", Value(value.sparse().values));
      child("indices", Value(value.sparse().indices));
      return;
  }
}

}  // namespace

std::string NumberText(uint64_t code, ElementType type) {
  if (type == ElementType::kBool) return code != 0 ? "true" : "false";
  const convert_internal::DefaultFloatEnvironment environment;
  char buffer[convert_internal::kMaxNumberText];
  const int length = convert_internal::NumberToText(code, type, buffer);
  const absl::string_view text(buffer, static_cast<size_t>(length));
  if (IsFloat(type) && text.size() > kLongestPositional) {
    std::string scientific = WithExponent(code, type);
    if (scientific.size() < text.size()) return scientific;
  }
  return std::string(text);
}

std::string ElementText(const Tensor& tensor, int64_t index) {
  if (tensor.is_string()) {
    return absl::StrCat("\"", absl::Utf8SafeCEscape(tensor.strings()[static_cast<size_t>(index)]),
                        "\"");
  }
  if (IsComplex(tensor.type())) {
    ElementType part;
    const uint64_t real = ComplexPart(tensor, index, false, &part);
    const uint64_t imaginary = ComplexPart(tensor, index, true, &part);
    return absl::StrCat("(", NumberText(real, part), ",", NumberText(imaginary, part), ")");
  }
  return NumberText(LoadCode(tensor.data(), tensor.type(), index), tensor.type());
}

std::string BitsText(uint64_t code, ElementType type) {
  const int bits = BitsOf(type);
  if (bits < 64) code &= (uint64_t{1} << bits) - 1;
  return absl::StrFormat("0x%0*X", std::max(1, (bits + 3) / 4), code);
}

std::string ElementBits(const Tensor& tensor, int64_t index) {
  if (tensor.is_string()) {
    return absl::BytesToHexString(tensor.strings()[static_cast<size_t>(index)]);
  }
  if (IsComplex(tensor.type())) {
    ElementType part;
    const uint64_t real = ComplexPart(tensor, index, false, &part);
    const uint64_t imaginary = ComplexPart(tensor, index, true, &part);
    return absl::StrCat("(", BitsText(real, part), ",", BitsText(imaginary, part), ")");
  }
  return BitsText(LoadCode(tensor.data(), tensor.type(), index), tensor.type());
}

std::string LayoutBits(uint64_t code, ElementType type) {
  const ElementTypeInfo& info = InfoOf(type);
  if (info.kind != ElementKind::kFloat) {
    const std::string digits = Binary(code, info.bits);
    std::string text;
    for (size_t i = 0; i < digits.size(); ++i) {
      if (i > 0 && (digits.size() - i) % 8 == 0) text += '_';
      text += digits[i];
    }
    return text;
  }
  const int mantissa = info.layout.mantissa_bits;
  const int exponent = info.layout.exponent_bits;
  const bool has_sign = info.bits > mantissa + exponent;
  std::string text = has_sign ? Binary(code >> (info.bits - 1), 1) + "|" : "";
  text += Binary(code >> mantissa, exponent);
  if (mantissa > 0) text += "|" + Binary(code, mantissa);
  return text;
}

std::string IndexText(int64_t index, absl::Span<const int64_t> dims) {
  if (dims.empty()) return "";
  std::vector<int64_t> position(dims.size());
  for (size_t i = dims.size(); i-- > 0;) {
    position[i] = dims[i] > 0 ? index % dims[i] : 0;
    if (dims[i] > 0) index /= dims[i];
  }
  return DimsToString(position);
}

std::string FormatTensor(const Tensor& tensor, const FormatOptions& options) {
  return TensorPrinter(tensor, options).Run();
}

std::string FormatValue(absl::string_view name, const Value& value, const FormatOptions& options) {
  std::string text;
  AppendValue(name, value, options, "", text);
  return text;
}

}  // namespace onnx_run::tools
