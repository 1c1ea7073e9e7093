#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ops/image/codecs.h"

namespace onnx_run::image {

absl::StatusOr<Pixels> MakePixels(int64_t width, int64_t height, int channels) {
  if (width <= 0 || height <= 0) return Undecodable();
  if (width > kMaxPixels || height > kMaxPixels / width) {
    return absl::ResourceExhaustedError(absl::StrCat("the image has ", height, " rows of ", width,
                                                     " pixels, more than the limit of ", kMaxPixels,
                                                     " pixels"));
  }
  Pixels pixels{width, height, channels, {}};
  pixels.data.resize(static_cast<size_t>(width * height * channels));
  return pixels;
}

absl::Status Undecodable() { return absl::DataLossError("not a whole image of a known format"); }

absl::StatusOr<Pixels> Decode(Bytes file) {
  const auto has = [&](absl::string_view magic, size_t at = 0) {
    return file.size() >= at + magic.size() &&
           std::memcmp(file.data() + at, magic.data(), magic.size()) == 0;
  };
  using absl::string_view;
  if (has("\xFF\xD8\xFF")) return DecodeJpeg(file);
  if (has("\x89PNG\r\n\x1A\n")) return DecodePng(file);
  if (has("BM")) return DecodeBmp(file);
  if (has("RIFF") && has("WEBP", 8)) return DecodeWebp(file);
  if (has(string_view("II*\0", 4)) || has(string_view("MM\0*", 4)) ||
      has(string_view("II+\0", 4)) || has(string_view("MM\0+", 4))) {
    return DecodeTiff(file);
  }
  if (has("\xFF\x4F\xFF\x51") || has(string_view("\0\0\0\x0CjP  \r\n\x87\n", 12))) {
    return DecodeJpeg2000(file);
  }
  if (file.size() > 2 && file[0] == 'P' && file[1] >= '1' && file[1] <= '6') return DecodePnm(file);
  return Undecodable();
}

}  // namespace onnx_run::image
