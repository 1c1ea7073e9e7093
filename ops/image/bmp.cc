// BMP without compression: 1, 4 and 8 bits by palette, 16, 24 and 32 bits, with masks or without.
#include <algorithm>
#include <bit>

#include "ops/image/codecs.h"

namespace onnx_run::image {
namespace {

uint32_t Read16(const uint8_t* p) { return p[0] | uint32_t{p[1]} << 8; }
uint32_t Read32(const uint8_t* p) { return Read16(p) | Read16(p + 2) << 16; }

// The bits of a mask, as 8 bits.
uint8_t Masked(uint32_t pixel, uint32_t mask) {
  if (mask == 0) return 0;
  const uint64_t value = (pixel & mask) >> std::countr_zero(mask);
  const uint64_t most = mask >> std::countr_zero(mask);
  return static_cast<uint8_t>((value * 255 + most / 2) / most);
}

struct Header {
  int64_t width;
  int64_t height;
  bool top_down;
  int bits;
  uint32_t masks[3];       // red, green, blue
  const uint8_t* palette;  // blue, green, red
  int palette_stride;
  int64_t colors;
  int64_t offset;  // of the pixels
};

constexpr uint32_t kNoCompression = 0;
constexpr uint32_t kMasks = 3;

absl::StatusOr<Header> ReadHeader(Bytes file) {
  constexpr size_t kFileHeader = 14;
  if (file.size() < kFileHeader + 12) return Undecodable();
  Header header = {};
  header.offset = Read32(file.data() + 10);
  const uint8_t* const p = file.data() + kFileHeader;
  const int64_t size = Read32(p);
  const auto file_size = static_cast<int64_t>(file.size());
  if (size < 12 || (size > 12 && size < 40) || size > file_size - int64_t{kFileHeader}) {
    return Undecodable();
  }
  uint32_t compression = kNoCompression;
  int64_t colors = 0;
  if (size == 12) {
    header.width = Read16(p + 4);
    header.height = Read16(p + 6);
    header.bits = static_cast<int>(Read16(p + 10));
  } else {
    header.width = static_cast<int32_t>(Read32(p + 4));
    header.height = static_cast<int32_t>(Read32(p + 8));
    header.bits = static_cast<int>(Read16(p + 14));
    compression = Read32(p + 16);
    colors = Read32(p + 32);
  }
  header.top_down = header.height < 0;
  header.height = header.top_down ? -header.height : header.height;
  int64_t after = int64_t{kFileHeader} + size;
  const bool deep = header.bits == 16 || header.bits == 32;
  if (compression == kMasks && deep) {
    // In the header, or after one that has no place for them.
    if (size < 52 && after + 12 > file_size) return Undecodable();
    for (int c = 0; c < 3; ++c) header.masks[c] = Read32(p + 40 + 4 * c);
    if (size < 52) after += 12;
  } else if (compression != kNoCompression) {
    return Undecodable();
  } else if (header.bits == 16) {
    std::copy_n(std::initializer_list<uint32_t>{0x7C00, 0x03E0, 0x001F}.begin(), 3, header.masks);
  } else {
    std::copy_n(std::initializer_list<uint32_t>{0xFF0000, 0xFF00, 0xFF}.begin(), 3, header.masks);
  }
  if (header.bits == 1 || header.bits == 4 || header.bits == 8) {
    const int64_t most = int64_t{1} << header.bits;
    header.colors = colors == 0 ? most : std::min(colors, most);
    header.palette = file.data() + after;
    header.palette_stride = size == 12 ? 3 : 4;
    if (header.colors * header.palette_stride > file_size - after) return Undecodable();
  } else if (!deep && header.bits != 24) {
    return Undecodable();
  }
  return header;
}

}  // namespace

absl::StatusOr<Pixels> DecodeBmp(Bytes file) {
  const absl::StatusOr<Header> header = ReadHeader(file);
  if (!header.ok()) return header.status();
  // Before any memory is asked for: the pixels are not compressed.
  if (header->width <= 0 || header->height <= 0) return Undecodable();
  const int64_t stride = (header->width * header->bits + 31) / 32 * 4;
  const int64_t left = static_cast<int64_t>(file.size()) - header->offset;
  if (left < 0 || header->height > left / stride) return Undecodable();
  absl::StatusOr<Pixels> pixels = MakePixels(header->width, header->height, 3);
  if (!pixels.ok()) return pixels;
  const int bits = header->bits;
  uint8_t* to = pixels->data.data();
  for (int64_t y = 0; y < header->height; ++y) {
    const int64_t from = header->top_down ? y : header->height - 1 - y;
    const uint8_t* const row = file.data() + header->offset + from * stride;
    for (int64_t x = 0; x < header->width; ++x, to += 3) {
      if (bits <= 8) {
        const int64_t bit = x * bits;
        const int64_t index = row[bit / 8] >> (8 - bits - bit % 8) & ((1 << bits) - 1);
        if (index >= header->colors) continue;  // black
        const uint8_t* const color = header->palette + index * header->palette_stride;
        to[0] = color[2];
        to[1] = color[1];
        to[2] = color[0];
      } else if (bits == 24) {
        to[0] = row[3 * x + 2];
        to[1] = row[3 * x + 1];
        to[2] = row[3 * x];
      } else {
        const uint32_t pixel = bits == 16 ? Read16(row + 2 * x) : Read32(row + 4 * x);
        for (int c = 0; c < 3; ++c) to[c] = Masked(pixel, header->masks[c]);
      }
    }
  }
  return pixels;
}

}  // namespace onnx_run::image
