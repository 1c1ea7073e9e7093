// PNG by libpng, whose errors jump: every call of it that can fail is in a function that has
// nothing to destroy.
#include <png.h>
#include <algorithm>
#include <csetjmp>
#include <cstring>

#include "ops/image/codecs.h"

namespace onnx_run::image {
namespace {

struct Source {
  const uint8_t* data;
  size_t left;
};

void ReadBytes(png_structp png, png_bytep to, size_t n) {
  Source& source = *static_cast<Source*>(png_get_io_ptr(png));
  if (n > source.left) png_error(png, "");
  std::memcpy(to, source.data, n);
  source.data += n;
  source.left -= n;
}

[[noreturn]] void Fail(png_structp png, png_const_charp /*message*/) { png_longjmp(png, 1); }
void Ignore(png_structp /*png*/, png_const_charp /*message*/) {}

struct Header {
  png_structp png = nullptr;
  png_infop info = nullptr;
  int64_t width = 0;
  int64_t height = 0;
  int channels = 0;
  int passes = 0;

  ~Header() { png_destroy_read_struct(&png, &info, nullptr); }
};

bool ReadHeader(Header& header, Source& source) {
  if (setjmp(png_jmpbuf(header.png)) != 0) return false;
  png_set_read_fn(header.png, &source, ReadBytes);
  png_set_chunk_cache_max(header.png, 128);
  png_set_chunk_malloc_max(header.png, 1 << 24);
  png_read_info(header.png, header.info);
  // 8 bits of gray or RGB; what is transparent keeps its colour.
  png_set_strip_16(header.png);
  png_set_strip_alpha(header.png);
  const int type = png_get_color_type(header.png, header.info);
  if (type == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(header.png);
  if (type == PNG_COLOR_TYPE_GRAY && png_get_bit_depth(header.png, header.info) < 8) {
    png_set_expand_gray_1_2_4_to_8(header.png);
  }
  header.passes = png_set_interlace_handling(header.png);
  png_read_update_info(header.png, header.info);
  header.width = png_get_image_width(header.png, header.info);
  header.height = png_get_image_height(header.png, header.info);
  header.channels = png_get_channels(header.png, header.info);
  return png_get_rowbytes(header.png, header.info) ==
         static_cast<size_t>(header.width * header.channels);
}

bool ReadRows(const Header& header, uint8_t* to) {
  if (setjmp(png_jmpbuf(header.png)) != 0) return false;
  for (int pass = 0; pass < header.passes; ++pass) {
    for (int64_t row = 0; row < header.height; ++row) {
      png_read_row(header.png, to + row * header.width * header.channels, nullptr);
    }
  }
  return true;
}

}  // namespace

absl::StatusOr<Pixels> DecodePng(Bytes file) {
  Header header;
  header.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, nullptr, Fail, Ignore);
  if (header.png == nullptr) return absl::ResourceExhaustedError("no memory left to read a PNG");
  header.info = png_create_info_struct(header.png);
  if (header.info == nullptr) return absl::ResourceExhaustedError("no memory left to read a PNG");
  Source source{file.data(), file.size()};
  if (!ReadHeader(header, source)) return Undecodable();
  if (header.channels != 1 && header.channels != 3) return Undecodable();
  absl::StatusOr<Pixels> pixels = MakePixels(header.width, header.height, header.channels);
  if (!pixels.ok()) return pixels;
  if (!ReadRows(header, pixels->data.data())) return Undecodable();
  return pixels;
}

}  // namespace onnx_run::image
