#include "tools/npy.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "runtime/convert/convert.h"
#include "runtime/status_macros.h"

namespace onnx_run::tools {
namespace {

constexpr absl::string_view kMagic("\x93NUMPY", 6);

// --- Header: a Python dict literal --------------------------------------------

struct Header {
  std::string descr;
  bool fortran_order = false;
  Dims dims;
};

// Reads the few literals that numpy writes in a header. After a failure nothing matches any more.
class HeaderParser {
 public:
  explicit HeaderParser(absl::string_view text) : text_(text) {}

  bool Take(char c) {
    SkipBlanks();
    if (text_.empty() || text_[0] != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  std::optional<std::string> String() {
    SkipBlanks();
    if (text_.empty() || (text_[0] != '\'' && text_[0] != '"')) return std::nullopt;
    const size_t end = text_.find(text_[0], 1);
    if (end == absl::string_view::npos) return std::nullopt;
    std::string value(text_.substr(1, end - 1));
    text_.remove_prefix(end + 1);
    return value;
  }
  std::optional<bool> Bool() {
    SkipBlanks();
    if (absl::ConsumePrefix(&text_, "True")) return true;
    if (absl::ConsumePrefix(&text_, "False")) return false;
    return std::nullopt;
  }
  std::optional<Dims> Tuple() {
    if (!Take('(')) return std::nullopt;
    Dims dims;
    while (!Take(')')) {
      SkipBlanks();
      size_t digits = 0;
      while (digits < text_.size() && absl::ascii_isdigit(text_[digits])) ++digits;
      int64_t value = 0;
      if (digits == 0 || !absl::SimpleAtoi(text_.substr(0, digits), &value)) return std::nullopt;
      text_.remove_prefix(digits);
      absl::ConsumePrefix(&text_, "L");  // Python 2 wrote 3L
      dims.push_back(value);
      if (!Take(',')) {
        if (!Take(')')) return std::nullopt;
        break;
      }
    }
    return dims;
  }
  bool AtEnd() {
    SkipBlanks();
    return text_.empty();
  }

 private:
  void SkipBlanks() { text_ = absl::StripLeadingAsciiWhitespace(text_); }
  absl::string_view text_;
};

absl::StatusOr<Header> ParseHeader(absl::string_view text) {
  const auto malformed = [&] {
    return absl::InvalidArgumentError(absl::StrCat("malformed .npy header: ", text.substr(0, 200)));
  };
  HeaderParser parser(text);
  Header header;
  bool has_descr = false;
  bool has_order = false;
  bool has_shape = false;
  if (!parser.Take('{')) return malformed();
  while (!parser.Take('}')) {
    const std::optional<std::string> key = parser.String();
    if (!key.has_value() || !parser.Take(':')) return malformed();
    if (*key == "descr") {
      if (parser.Take('[')) {
        return absl::InvalidArgumentError("structured .npy arrays cannot be tensors");
      }
      const std::optional<std::string> descr = parser.String();
      if (!descr.has_value() || has_descr) return malformed();
      header.descr = *descr;
      has_descr = true;
    } else if (*key == "fortran_order") {
      const std::optional<bool> order = parser.Bool();
      if (!order.has_value() || has_order) return malformed();
      header.fortran_order = *order;
      has_order = true;
    } else if (*key == "shape") {
      const std::optional<Dims> dims = parser.Tuple();
      if (!dims.has_value() || has_shape) return malformed();
      header.dims = *dims;
      has_shape = true;
    } else {
      return malformed();
    }
    if (!parser.Take(',')) {
      if (!parser.Take('}')) return malformed();
      break;
    }
  }
  if (!parser.AtEnd() || !has_descr || !has_order || !has_shape) return malformed();
  return header;
}

// --- Element types ------------------------------------------------------------

// How the elements of a file are to be read.
struct Layout {
  ElementType type = ElementType::kUndefined;
  int64_t item_bytes = 0;     // of one element in the file
  int swap_bytes = 1;         // reverse the bytes in units of this size
  bool one_per_byte = false;  // of a 4 or 2 bit type
  char string_kind = 0;       // 'U' or 'S'
};

absl::StatusOr<Layout> VoidLayout(int64_t size, ElementType wanted, absl::string_view descr) {
  if (size == 2 && (wanted == ElementType::kBfloat16 || wanted == ElementType::kUndefined)) {
    return Layout{.type = ElementType::kBfloat16, .item_bytes = 2};
  }
  const int bits = BitsOf(wanted);
  const bool no_numpy_type = InfoOf(wanted).npy[0] == '\0';
  if (size == 1 && bits != 0 && bits <= 8 && no_numpy_type) {
    return Layout{.type = wanted, .item_bytes = 1, .one_per_byte = bits < 8};
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "the .npy holds elements '", descr, "', that numpy has no type for; they can be read as ",
      size == 1   ? "float8, float4, int4, uint4, int2 or uint2"
      : size == 2 ? "bfloat16"
                  : "nothing",
      wanted == ElementType::kUndefined ? " when the input's type says which"
                                        : absl::StrCat(", not as ", TypeName(wanted)),
      "; a .pb file names its type"));
}

absl::StatusOr<Layout> LayoutOf(absl::string_view descr, ElementType wanted) {
  const absl::string_view whole = descr;
  const auto unsupported = [&] {
    return absl::InvalidArgumentError(
        absl::StrCat("the .npy holds elements '", whole, "', that no ONNX type corresponds to"));
  };
  bool big_endian = false;
  if (!descr.empty() &&
      (descr[0] == '<' || descr[0] == '|' || descr[0] == '=' || descr[0] == '>')) {
    big_endian = descr[0] == '>';
    descr.remove_prefix(1);
  }
  if (descr.empty()) return unsupported();
  const char kind = descr[0];
  if (kind == 'O') {
    return absl::InvalidArgumentError(
        "the .npy holds Python objects (a pickle), that are not read; save strings as numpy '<U' "
        "arrays: array.astype(str)");
  }
  int64_t size = 0;
  if (!absl::SimpleAtoi(descr.substr(1), &size) || size < 0 || size > (int64_t{1} << 30)) {
    return unsupported();
  }
  if (kind == 'U') {
    return Layout{.type = ElementType::kString,
                  .item_bytes = size * 4,
                  .swap_bytes = big_endian ? 4 : 1,
                  .string_kind = 'U'};
  }
  if (kind == 'S' || kind == 'a') {
    return Layout{.type = ElementType::kString, .item_bytes = size, .string_kind = 'S'};
  }
  if (kind == 'V' || (kind == 'f' && size == 1)) return VoidLayout(size, wanted, whole);
  const std::string little = absl::StrCat(descr);
  for (const ElementTypeInfo& info : kElementTypeTable) {
    const absl::string_view npy = info.npy;
    if (npy.size() < 2 || npy.substr(1) != little || info.kind == ElementKind::kString) continue;
    const int unit = info.kind == ElementKind::kComplex ? info.bits / 16 : info.bits / 8;
    return Layout{
        .type = info.type, .item_bytes = info.bits / 8, .swap_bytes = big_endian ? unit : 1};
  }
  return unsupported();
}

void SwapBytes(char* data, size_t bytes, int unit) {
  for (size_t i = 0; i + static_cast<size_t>(unit) <= bytes; i += static_cast<size_t>(unit)) {
    std::reverse(data + i, data + i + unit);
  }
}

// Elements in C order out of Fortran order.
std::string FromFortranOrder(absl::string_view data, absl::Span<const int64_t> dims,
                             int64_t item_bytes) {
  std::string out(data.size(), '\0');
  const size_t rank = dims.size();
  std::vector<int64_t> strides(rank, 1);  // of the file, in elements
  for (size_t i = 1; i < rank; ++i) strides[i] = strides[i - 1] * dims[i - 1];
  std::vector<int64_t> index(rank, 0);
  int64_t from = 0;
  const int64_t count = item_bytes == 0 ? 0 : static_cast<int64_t>(data.size()) / item_bytes;
  for (int64_t to = 0; to < count; ++to) {
    std::memcpy(out.data() + to * item_bytes, data.data() + from * item_bytes,
                static_cast<size_t>(item_bytes));
    for (size_t axis = rank; axis-- > 0;) {
      from += strides[axis];
      if (++index[axis] < dims[axis]) break;
      from -= strides[axis] * dims[axis];
      index[axis] = 0;
    }
  }
  return out;
}

// --- Strings --------------------------------------------------------------------

absl::Status AppendUtf8(uint32_t point, std::string& text) {
  if (point > 0x10FFFF || (point >= 0xD800 && point < 0xE000)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the .npy holds the invalid character number ", point));
  }
  if (point < 0x80) {
    text += static_cast<char>(point);
  } else if (point < 0x800) {
    text += static_cast<char>(0xC0 | point >> 6);
    text += static_cast<char>(0x80 | (point & 0x3F));
  } else if (point < 0x10000) {
    text += static_cast<char>(0xE0 | point >> 12);
    text += static_cast<char>(0x80 | (point >> 6 & 0x3F));
    text += static_cast<char>(0x80 | (point & 0x3F));
  } else {
    text += static_cast<char>(0xF0 | point >> 18);
    text += static_cast<char>(0x80 | (point >> 12 & 0x3F));
    text += static_cast<char>(0x80 | (point >> 6 & 0x3F));
    text += static_cast<char>(0x80 | (point & 0x3F));
  }
  return absl::OkStatus();
}

// nullopt when malformed.
std::optional<std::vector<uint32_t>> DecodeUtf8(absl::string_view text) {
  std::vector<uint32_t> points;
  for (size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const int length = byte < 0x80       ? 1
                       : byte >> 5 == 6  ? 2
                       : byte >> 4 == 14 ? 3
                       : byte >> 3 == 30 ? 4
                                         : 0;
    if (length == 0 || i + static_cast<size_t>(length) > text.size()) return std::nullopt;
    uint32_t point = length == 1 ? byte : byte & (0xFFU >> (length + 1));
    for (int k = 1; k < length; ++k) {
      const auto next = static_cast<unsigned char>(text[i + static_cast<size_t>(k)]);
      if ((next & 0xC0) != 0x80) return std::nullopt;
      point = point << 6 | (next & 0x3F);
    }
    constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
    if (point < kSmallest[length] || point > 0x10FFFF || (point >= 0xD800 && point < 0xE000)) {
      return std::nullopt;
    }
    points.push_back(point);
    i += static_cast<size_t>(length);
  }
  return points;
}

absl::StatusOr<Tensor> ReadStrings(absl::string_view data, const Layout& layout, int64_t count,
                                   absl::Span<const int64_t> dims) {
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(ElementType::kString, dims));
  const absl::Span<std::string> strings = tensor.mutable_strings();
  for (int64_t i = 0; i < count; ++i) {
    const absl::string_view item = data.substr(static_cast<size_t>(i * layout.item_bytes),
                                               static_cast<size_t>(layout.item_bytes));
    std::string& text = strings[static_cast<size_t>(i)];
    if (layout.string_kind == 'S') {
      text = std::string(item);
      while (!text.empty() && text.back() == '\0') text.pop_back();
      continue;
    }
    size_t end = item.size();
    while (end >= 4 && item.substr(end - 4, 4) == absl::string_view("\0\0\0\0", 4)) end -= 4;
    for (size_t k = 0; k < end; k += 4) {
      uint32_t point = 0;
      std::memcpy(&point, item.data() + k, 4);
      RETURN_IF_ERROR(AppendUtf8(point, text));
    }
  }
  return tensor;
}

absl::StatusOr<std::string> WriteStrings(const Tensor& tensor, std::string& descr) {
  std::vector<std::vector<uint32_t>> decoded;
  size_t longest = 1;  // numpy has '<U0', but not all of its functions take it
  for (const std::string& text : tensor.strings()) {
    std::optional<std::vector<uint32_t>> points = DecodeUtf8(text);
    const bool ends_in_nul = points.has_value() && !points->empty() && points->back() == 0;
    if (!points.has_value() || ends_in_nul) {
      return absl::InvalidArgumentError(
          "a string that is not UTF-8, or that ends in NUL, cannot be kept in a .npy; use .pb");
    }
    longest = std::max(longest, points->size());
    decoded.push_back(*std::move(points));
  }
  if (longest * decoded.size() > (size_t{1} << 30)) {
    return absl::InvalidArgumentError(
        "these strings would take more than 4 GB as a .npy, that pads them all to the longest; use "
        ".pb");
  }
  descr = absl::StrCat("<U", longest);
  std::string data(longest * 4 * decoded.size(), '\0');
  for (size_t i = 0; i < decoded.size(); ++i) {
    if (decoded[i].empty()) continue;
    std::memcpy(data.data() + i * longest * 4, decoded[i].data(), decoded[i].size() * 4);
  }
  return data;
}

}  // namespace

absl::StatusOr<Tensor> ParseNpy(absl::string_view bytes, ElementType wanted) {
  if (bytes.size() < 10 || bytes.substr(0, 6) != kMagic) {
    return absl::InvalidArgumentError("not a .npy file");
  }
  const int major = static_cast<unsigned char>(bytes[6]);
  if (major < 1 || major > 3) {
    return absl::InvalidArgumentError(absl::StrCat(".npy format ", major, ".",
                                                   static_cast<unsigned char>(bytes[7]),
                                                   " is not known; expected 1.0, 2.0 or 3.0"));
  }
  const size_t length_bytes = major == 1 ? 2 : 4;
  if (bytes.size() < 8 + length_bytes) return absl::DataLossError("the .npy file is truncated");
  size_t header_bytes = 0;
  for (size_t i = 0; i < length_bytes; ++i) {
    header_bytes |= size_t{static_cast<unsigned char>(bytes[8 + i])} << (8 * i);
  }
  absl::string_view data = bytes.substr(8 + length_bytes);
  if (data.size() < header_bytes) return absl::DataLossError("the .npy file is truncated");
  ASSIGN_OR_RETURN(const Header header, ParseHeader(data.substr(0, header_bytes)));
  data.remove_prefix(header_bytes);
  ASSIGN_OR_RETURN(const Layout layout, LayoutOf(header.descr, wanted));
  ASSIGN_OR_RETURN(const int64_t count, ElementCount(header.dims));
  // Before anything is allocated: the elements are there.
  const auto available = static_cast<int64_t>(data.size());
  if (layout.item_bytes != 0 && count > available / layout.item_bytes) {
    return absl::DataLossError(absl::StrCat(
        "the .npy file is truncated: ", DimsToString(header.dims), " of '", header.descr, "' take ",
        layout.item_bytes, " bytes each, ", available, " bytes follow the header"));
  }
  if (layout.item_bytes == 0 && count > (int64_t{1} << 24)) {
    return absl::InvalidArgumentError("too many empty strings in a .npy");
  }
  if (available != count * layout.item_bytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        available - count * layout.item_bytes, " bytes too many follow the elements of the .npy"));
  }
  std::string reordered;
  if (header.fortran_order && header.dims.size() > 1 && count > 1) {
    reordered = FromFortranOrder(data, header.dims, layout.item_bytes);
    data = reordered;
  }
  if (layout.swap_bytes > 1) {
    if (reordered.empty()) reordered = std::string(data);
    SwapBytes(reordered.data(), reordered.size(), layout.swap_bytes);
    data = reordered;
  }
  if (layout.type == ElementType::kString) return ReadStrings(data, layout, count, header.dims);

  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(layout.type, header.dims));
  if (layout.one_per_byte) {
    if (tensor.bytes() > 0)
      std::memset(tensor.mutable_data(), 0, static_cast<size_t>(tensor.bytes()));
    const int bits = BitsOf(layout.type);
    const unsigned mask = (1U << bits) - 1;
    for (int64_t i = 0; i < count; ++i) {
      const auto byte = static_cast<unsigned char>(data[static_cast<size_t>(i)]);
      const bool negative =
          KindOf(layout.type) == ElementKind::kSigned && (byte >> (bits - 1) & 1) != 0;
      const unsigned high = byte & ~mask;
      if (high != 0 && !(negative && high == (0xFFU & ~mask))) {
        return absl::InvalidArgumentError(absl::StrCat("element ", i, " of the .npy is byte ", byte,
                                                       ", that no ", TypeName(layout.type),
                                                       " has"));
      }
      StoreCode(tensor.mutable_data(), layout.type, i, byte & mask);
    }
    return tensor;
  }
  if (!data.empty()) std::memcpy(tensor.mutable_data(), data.data(), data.size());
  if (layout.type == ElementType::kBool) {
    for (uint8_t& value : tensor.mutable_span<uint8_t>()) value = value != 0 ? 1 : 0;
  }
  return tensor;
}

absl::StatusOr<std::string> SerializeNpy(const Tensor& tensor) {
  const ElementTypeInfo& info = InfoOf(tensor.type());
  std::string descr = info.npy;
  std::string own;
  absl::string_view data;
  if (tensor.is_string()) {
    ASSIGN_OR_RETURN(own, WriteStrings(tensor, descr));
    data = own;
  } else if (info.kind == ElementKind::kNone) {
    return absl::InvalidArgumentError("a tensor of undefined type cannot be written");
  } else if (info.bits < 8) {
    descr = "|V1";
    own.resize(static_cast<size_t>(tensor.size()));
    for (int64_t i = 0; i < tensor.size(); ++i) {
      uint64_t code = LoadCode(tensor.data(), tensor.type(), i) & ((1U << info.bits) - 1);
      const bool negative = info.kind == ElementKind::kSigned && (code >> (info.bits - 1) & 1) != 0;
      if (negative) code |= ~uint64_t{0} << info.bits;
      own[static_cast<size_t>(i)] = static_cast<char>(code);
    }
    data = own;
  } else {
    if (descr.empty()) descr = info.bits == 16 ? "<V2" : "|V1";
    data = absl::string_view(tensor.data_as<char>(), static_cast<size_t>(tensor.bytes()));
  }
  std::string shape = absl::StrJoin(tensor.dims(), ", ");
  if (tensor.rank() == 1) shape += ",";
  std::string header =
      absl::StrCat("{'descr': '", descr, "', 'fortran_order': False, 'shape': (", shape, "), }");
  // Blanks and a newline, so that the elements start at a multiple of 64.
  const bool version_1 = header.size() + 65 < 65536;
  const size_t prefix = version_1 ? 10 : 12;
  header.append(63 - (prefix + header.size()) % 64, ' ');
  header += '\n';
  std::string bytes = absl::StrCat(
      kMagic, version_1 ? absl::string_view("\x01\0", 2) : absl::string_view("\x02\0", 2));
  for (size_t i = 0; i < prefix - 8; ++i)
    bytes += static_cast<char>(header.size() >> (8 * i) & 0xFF);
  bytes.reserve(bytes.size() + header.size() + data.size());
  bytes += header;
  bytes.append(data.data(), data.size());
  return bytes;
}

}  // namespace onnx_run::tools
