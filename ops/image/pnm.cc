// PBM, PGM and PPM, as text (P1 to P3) and binary (P4 to P6).
#include <algorithm>
#include <optional>

#include "absl/strings/ascii.h"
#include "ops/image/codecs.h"

namespace onnx_run::image {
namespace {

class Reader {
 public:
  explicit Reader(Bytes file) : file_(file) {}

  // The next number in decimal, after white space and comments; at most 8 digits.
  std::optional<int64_t> Number() {
    SkipSpace();
    int64_t number = 0;
    int digits = 0;
    for (; at_ < file_.size() && absl::ascii_isdigit(file_[at_]); ++at_, ++digits) {
      if (digits == 8) return std::nullopt;
      number = 10 * number + (file_[at_] - '0');
    }
    if (digits == 0) return std::nullopt;
    return number;
  }
  // The next digit of a P1 file, where digits may stand without space between them.
  std::optional<int64_t> Bit() {
    SkipSpace();
    if (at_ >= file_.size() || (file_[at_] != '0' && file_[at_] != '1')) return std::nullopt;
    return file_[at_++] - '0';
  }
  // The bytes after the one white space that ends the header.
  Bytes Rest() const { return file_.subspan(std::min(file_.size(), at_ + 1)); }

 private:
  void SkipSpace() {
    for (; at_ < file_.size(); ++at_) {
      if (file_[at_] == '#') {
        while (at_ < file_.size() && file_[at_] != '\n' && file_[at_] != '\r') ++at_;
        if (at_ == file_.size()) return;
      } else if (!absl::ascii_isspace(file_[at_])) {
        return;
      }
    }
  }

  Bytes file_;
  size_t at_ = 2;  // after the magic
};

uint8_t Scaled(int64_t value, int64_t most) {
  return static_cast<uint8_t>((std::min(value, most) * 255 + most / 2) / most);
}

}  // namespace

absl::StatusOr<Pixels> DecodePnm(Bytes file) {
  const int kind = (file[1] - '1') % 3;  // bits, gray, colours
  const bool text = file[1] <= '3';
  Reader reader(file);
  const std::optional<int64_t> width = reader.Number();
  const std::optional<int64_t> height = reader.Number();
  const std::optional<int64_t> most = kind == 0 ? 1 : reader.Number();
  if (!width || !height || !most || *most < 1 || *most > 65535 || *width < 1 || *height < 1) {
    return Undecodable();
  }
  // Before any memory is asked for: whether there is that much at all. Both factors are below 10^8.
  const int channels = kind == 2 ? 3 : 1;
  const int64_t sample_bytes = *most > 255 ? 2 : 1;
  const int64_t row_bytes =
      kind == 0 && !text ? (*width + 7) / 8 : *width * channels * (text ? 1 : sample_bytes);
  const Bytes rest = reader.Rest();
  if (row_bytes * *height > static_cast<int64_t>(rest.size()) + (text ? 1 : 0))
    return Undecodable();
  absl::StatusOr<Pixels> pixels = MakePixels(*width, *height, channels);
  if (!pixels.ok()) return pixels;
  std::vector<uint8_t>& data = pixels->data;
  if (text) {
    for (uint8_t& sample : data) {
      const std::optional<int64_t> value = kind == 0 ? reader.Bit() : reader.Number();
      if (!value) return Undecodable();
      sample = kind == 0 ? static_cast<uint8_t>(*value == 0 ? 255 : 0) : Scaled(*value, *most);
    }
  } else if (kind == 0) {
    for (int64_t i = 0; i < *width * *height; ++i) {
      const int64_t x = i % *width;
      const int bit = rest[i / *width * row_bytes + x / 8] >> (7 - x % 8) & 1;
      data[i] = static_cast<uint8_t>(bit == 0 ? 255 : 0);
    }
  } else if (sample_bytes == 1) {
    for (size_t i = 0; i < data.size(); ++i) data[i] = Scaled(rest[i], *most);
  } else {
    for (size_t i = 0; i < data.size(); ++i) {
      data[i] = Scaled(int64_t{rest[2 * i]} << 8 | rest[2 * i + 1], *most);
    }
  }
  return pixels;
}

}  // namespace onnx_run::image
