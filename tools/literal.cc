#include "tools/literal.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/convert/convert.h"
#include "runtime/status_macros.h"

namespace onnx_run::tools {
namespace {

// A list as written: its items in order, and the dims that its brackets say.
struct ParsedList {
  std::vector<std::string> items;
  Dims dims;
  bool bracketed = false;
};

constexpr int kMaxDepth = 32;
constexpr int64_t kMaxElements = int64_t{1} << 32;

class ListParser {
 public:
  explicit ListParser(absl::string_view text) : text_(text) {}

  absl::StatusOr<ParsedList> Run() {
    ParsedList list;
    SkipBlanks();
    if (!AtEnd() && Peek() == '[') {
      list.bracketed = true;
      RETURN_IF_ERROR(Brackets(0, list));
      SkipBlanks();
      if (!AtEnd()) return Bad("nothing after the closing bracket");
      // A list that is empty at some depth fixes no deeper axis.
      for (int64_t& dim : list.dims) dim = dim < 0 ? 0 : dim;
      return list;
    }
    int64_t count = 0;
    while (true) {
      ASSIGN_OR_RETURN(std::string item, Item());
      list.items.push_back(std::move(item));
      ++count;
      SkipBlanks();
      if (AtEnd()) break;
      if (Peek() != ',') return Bad("a comma");
      ++at_;
    }
    if (count > 1) list.dims.push_back(count);
    return list;
  }

 private:
  absl::Status Brackets(int depth, ParsedList& list) {
    if (depth >= kMaxDepth) return Bad("at most 32 nested lists");
    const auto axis = static_cast<size_t>(depth);
    if (list.dims.size() <= axis) {
      if (leaf_depth_ >= 0 && depth >= leaf_depth_ + 1) return Bad("lists of equal depth");
      list.dims.push_back(-1);
    }
    ++at_;  // '['
    int64_t count = 0;
    SkipBlanks();
    if (!AtEnd() && Peek() == ']') {
      ++at_;
    } else {
      while (true) {
        SkipBlanks();
        if (AtEnd()) return Bad("a closing bracket");
        if (Peek() == '[') {
          if (leaf_depth_ == depth) return Bad("lists of equal depth");
          RETURN_IF_ERROR(Brackets(depth + 1, list));
        } else {
          if (leaf_depth_ >= 0 && leaf_depth_ != depth) return Bad("lists of equal depth");
          if (list.dims.size() > axis + 1) return Bad("lists of equal depth");
          leaf_depth_ = depth;
          ASSIGN_OR_RETURN(std::string item, Item());
          list.items.push_back(std::move(item));
        }
        ++count;
        SkipBlanks();
        if (AtEnd()) return Bad("a closing bracket");
        const char c = Peek();
        ++at_;
        if (c == ']') break;
        if (c != ',') return Bad("a comma or a closing bracket");
      }
    }
    if (list.dims[axis] >= 0 && list.dims[axis] != count) {
      return absl::InvalidArgumentError(absl::StrCat("lists of ", list.dims[axis], " and of ",
                                                     count, " elements stand beside each other"));
    }
    list.dims[axis] = count;
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> Item() {
    SkipBlanks();
    std::string item;
    if (!AtEnd() && (Peek() == '"' || Peek() == '\'')) {
      const char quote = Peek();
      ++at_;
      while (true) {
        if (AtEnd()) return Bad("a closing quote");
        char c = text_[at_++];
        if (c == quote) return item;
        if (c == '\\' && !AtEnd()) {
          c = text_[at_++];
          c = c == 'n' ? '\n' : c == 't' ? '\t' : c == '0' ? '\0' : c;
        }
        item += c;
      }
    }
    while (!AtEnd() && Peek() != ',' && Peek() != ']' && Peek() != '[') item += text_[at_++];
    absl::StripTrailingAsciiWhitespace(&item);
    if (item.empty()) return Bad("a value");
    return item;
  }

  absl::Status Bad(absl::string_view expected) const {
    return absl::InvalidArgumentError(absl::StrCat("at character ", at_ + 1, " of \"",
                                                   text_.substr(0, 80), "\": expected ", expected));
  }
  bool AtEnd() const { return at_ >= text_.size(); }
  char Peek() const { return text_[at_]; }
  void SkipBlanks() {
    while (!AtEnd() && absl::ascii_isspace(static_cast<unsigned char>(Peek()))) ++at_;
  }

  absl::string_view text_;
  size_t at_ = 0;
  int leaf_depth_ = -1;
};

// "float16[2,2]:" or "float16:" at the start of `text`.
struct Prefix {
  ElementType type = ElementType::kUndefined;
  std::optional<Dims> dims;
  absl::string_view rest;
};

absl::StatusOr<std::optional<Prefix>> ParsePrefix(absl::string_view text) {
  const size_t word = text.find_first_of("[:");
  if (word == absl::string_view::npos || word == 0) return std::optional<Prefix>();
  const std::optional<ElementType> type = ParseElementType(text.substr(0, word));
  if (!type.has_value()) return std::optional<Prefix>();
  Prefix prefix = {.type = *type, .dims = std::nullopt, .rest = text.substr(word)};
  if (prefix.rest[0] == '[') {
    const size_t close = prefix.rest.find(']');
    if (close == absl::string_view::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat("no closing bracket in \"", text.substr(0, 80), "\""));
    }
    Dims dims;
    for (absl::string_view word_text :
         absl::StrSplit(prefix.rest.substr(1, close - 1), ',', absl::SkipWhitespace())) {
      int64_t dim = 0;
      if (!absl::SimpleAtoi(word_text, &dim) || dim < 0) {
        return absl::InvalidArgumentError(absl::StrCat("\"", word_text, "\" is not a dimension"));
      }
      dims.push_back(dim);
    }
    prefix.dims = dims;
    prefix.rest.remove_prefix(close + 1);
  }
  if (prefix.rest.empty() && prefix.dims.has_value()) return std::optional<Prefix>(prefix);
  if (prefix.rest.empty() || prefix.rest[0] != ':') {
    return absl::InvalidArgumentError(
        absl::StrCat("expected TYPE[DIMS]:VALUES, got \"", text.substr(0, 80), "\""));
  }
  prefix.rest.remove_prefix(1);
  return std::optional<Prefix>(prefix);
}

// The declared shape when all of it is numbers.
std::optional<Dims> FixedDims(const Type& declared) {
  if (!declared.shape.has_value()) return std::nullopt;
  Dims dims;
  for (const DeclaredDim& dim : *declared.shape) {
    if (!dim.value.has_value() || *dim.value < 0) return std::nullopt;
    dims.push_back(*dim.value);
  }
  return dims;
}

Dims ShapeOfUnbracketed(const ParsedList& list, const Type& declared) {
  const auto count = static_cast<int64_t>(list.items.size());
  if (const std::optional<Dims> fixed = FixedDims(declared)) {
    const absl::StatusOr<int64_t> expected = ElementCount(*fixed);
    if (expected.ok() && *expected == count) return *fixed;
  }
  // One value for a declared rank: every axis has one element.
  if (count == 1 && declared.shape.has_value()) return Dims(declared.shape->size(), 1);
  return list.dims;
}

absl::StatusOr<Tensor> MakeTensor(ElementType type, const Dims& dims,
                                  std::vector<std::string> items) {
  ASSIGN_OR_RETURN(const int64_t count, ElementCount(dims));
  const bool fills = items.size() == 1 && count != 1;
  if (!fills && count != static_cast<int64_t>(items.size())) {
    return absl::InvalidArgumentError(absl::StrCat(items.size(), " values for ", TypeName(type),
                                                   DimsToString(dims), ", that has ", count));
  }
  if (KindOf(type) == ElementKind::kComplex || type == ElementType::kUndefined) {
    return absl::InvalidArgumentError(
        absl::StrCat(TypeName(type), " values cannot be written as text; give a .pb or .npy file"));
  }
  // A typing error must not take the machine's memory.
  if (count > kMaxElements) {
    return absl::InvalidArgumentError(
        absl::StrCat(TypeName(type), DimsToString(dims), " is too large to be written as text"));
  }
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(type, dims));
  if (type == ElementType::kString) {
    for (int64_t i = 0; i < count; ++i) {
      tensor.mutable_strings()[static_cast<size_t>(i)] = items[fills ? 0 : static_cast<size_t>(i)];
    }
    return tensor;
  }
  if (!fills) {
    RETURN_IF_ERROR(ConvertFromString(items, tensor.mutable_data(), type));
    return tensor;
  }
  uint64_t storage[2] = {0, 0};
  RETURN_IF_ERROR(ConvertFromString(items, storage, type));
  const uint64_t code = LoadCode(storage, type, 0);
  if (tensor.bytes() > 0) {
    tensor.mutable_data_as<char>()[tensor.bytes() - 1] = 0;  // the unused bits
  }
  for (int64_t i = 0; i < count; ++i) StoreCode(tensor.mutable_data(), type, i, code);
  return tensor;
}

}  // namespace

std::optional<ElementType> ParseElementType(absl::string_view name) {
  if (name == "float32") return ElementType::kFloat;
  if (name == "float64") return ElementType::kDouble;
  return ElementTypeFromName(name);
}

absl::StatusOr<Value> ParseLiteral(absl::string_view text, const Type& declared) {
  text = absl::StripAsciiWhitespace(text);
  if (declared.kind == ValueKind::kOptional && declared.inner != nullptr) {
    if (text == "none") return Value(Optional(*declared.inner, nullptr));
    ASSIGN_OR_RETURN(Value inner, ParseLiteral(text, *declared.inner));
    return Value(Optional(*declared.inner, std::make_unique<Value>(std::move(inner))));
  }
  ASSIGN_OR_RETURN(const std::optional<Prefix> prefix, ParsePrefix(text));
  if (!prefix.has_value() && declared.kind != ValueKind::kTensor) {
    return absl::InvalidArgumentError(
        declared.kind == ValueKind::kAbsent
            ? "the model does not declare this input's type; write TYPE[DIMS]:VALUES, as in "
              "float[2]:1,2"
            : absl::StrCat("a ", TypeToString(declared),
                           " cannot be written as text; give a .pb file"));
  }
  const ElementType type = prefix.has_value() ? prefix->type : declared.element;
  const absl::string_view values = prefix.has_value() ? prefix->rest : text;
  ParsedList list;
  if (!(prefix.has_value() && prefix->dims.has_value() && values.empty())) {
    ASSIGN_OR_RETURN(list, ListParser(values).Run());
  }
  Dims dims = list.dims;
  if (prefix.has_value() && prefix->dims.has_value()) {
    dims = *prefix->dims;
  } else if (!list.bracketed && declared.kind == ValueKind::kTensor) {
    dims = ShapeOfUnbracketed(list, declared);
  }
  ASSIGN_OR_RETURN(Tensor tensor, MakeTensor(type, dims, std::move(list.items)));
  return Value(std::move(tensor));
}

}  // namespace onnx_run::tools
