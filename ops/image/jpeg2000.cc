// JPEG 2000 by OpenJPEG.
#include <openjpeg.h>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include "ops/image/codecs.h"

namespace onnx_run::image {
namespace {

constexpr uint32_t kMaxComponents = 4;
// OpenJPEG keeps some kilobytes for each tile and component from the header on.
constexpr uint64_t kMaxTiles = 1 << 14;

struct Source {
  Bytes file;
  size_t position = 0;
};

OPJ_SIZE_T ReadBytes(void* to, OPJ_SIZE_T n, void* data) {
  Source& source = *static_cast<Source*>(data);
  const size_t count = std::min<size_t>(n, source.file.size() - source.position);
  if (count == 0) return static_cast<OPJ_SIZE_T>(-1);
  std::memcpy(to, source.file.data() + source.position, count);
  source.position += count;
  return count;
}
OPJ_OFF_T Skip(OPJ_OFF_T n, void* data) {
  Source& source = *static_cast<Source*>(data);
  const size_t left = source.file.size() - source.position;
  if (n < 0 || static_cast<uint64_t>(n) > left) return -1;
  source.position += static_cast<size_t>(n);
  return n;
}
OPJ_BOOL Seek(OPJ_OFF_T position, void* data) {
  Source& source = *static_cast<Source*>(data);
  if (position < 0 || static_cast<uint64_t>(position) > source.file.size()) return OPJ_FALSE;
  source.position = static_cast<size_t>(position);
  return OPJ_TRUE;
}

// opj_stream_t and opj_codec_t are one type.
struct DestroyStream {
  void operator()(opj_stream_t* stream) const { opj_stream_destroy(stream); }
};
struct DestroyCodec {
  void operator()(opj_codec_t* codec) const { opj_destroy_codec(codec); }
};
struct DestroyImage {
  void operator()(opj_image_t* image) const { opj_image_destroy(image); }
};

uint64_t Read32(const uint8_t* p) {
  return uint64_t{p[0]} << 24 | uint64_t{p[1]} << 16 | uint64_t{p[2]} << 8 | p[3];
}

// Whether the sizes in every main header, which starts with the markers SOC and SIZ, are within
// limits: OpenJPEG allocates by them before it tells them.
bool SizesAreModest(Bytes file) {
  constexpr uint8_t kStart[] = {0xFF, 0x4F, 0xFF, 0x51};
  auto at = file.begin();
  while ((at = std::search(at, file.end(), std::begin(kStart), std::end(kStart))) != file.end()) {
    if (file.end() - at < 42) return false;
    const uint8_t* const p = at + 8;  // after the length and the capabilities
    const uint64_t width = Read32(p);
    const uint64_t height = Read32(p + 4);
    const uint64_t tile_width = Read32(p + 16);
    const uint64_t tile_height = Read32(p + 20);
    const uint32_t components = uint32_t{p[32]} << 8 | p[33];
    if (tile_width == 0 || tile_height == 0 || components > kMaxComponents) return false;
    const uint64_t across = (width + tile_width - 1) / tile_width;
    const uint64_t down = (height + tile_height - 1) / tile_height;
    if (across > kMaxTiles || down > kMaxTiles || across * down > kMaxTiles) return false;
    at += 4;
  }
  return true;
}

// Component `c` at a place of the first component, as 8 bits.
class Component {
 public:
  Component(const opj_image_comp_t& component, const opj_image_comp_t& first)
      : component_(component),
        x_step_(std::max<uint32_t>(1, component.dx / std::max<uint32_t>(1, first.dx))),
        y_step_(std::max<uint32_t>(1, component.dy / std::max<uint32_t>(1, first.dy))) {}

  bool Valid() const {
    return component_.data != nullptr && component_.w > 0 && component_.h > 0 &&
           component_.prec >= 1 && component_.prec <= 31;
  }

  int At(int64_t x, int64_t y) const {
    x = std::min<int64_t>(x / x_step_, component_.w - 1);
    y = std::min<int64_t>(y / y_step_, component_.h - 1);
    int64_t value = component_.data[y * component_.w + x];
    if (component_.sgnd != 0) value += int64_t{1} << (component_.prec - 1);
    const int64_t most = (int64_t{1} << component_.prec) - 1;
    value = std::clamp<int64_t>(value, 0, most);
    if (component_.prec < 8) return static_cast<int>((value * 255 + most / 2) / most);
    if (component_.prec == 8) return static_cast<int>(value);
    const uint32_t excess = component_.prec - 8;
    return static_cast<int>(
        std::min<int64_t>(255, (value + (int64_t{1} << (excess - 1))) >> excess));
  }

 private:
  const opj_image_comp_t& component_;
  const int64_t x_step_;
  const int64_t y_step_;
};

uint8_t Clamp(double x) { return static_cast<uint8_t>(std::clamp(std::lround(x), 0L, 255L)); }

}  // namespace

absl::StatusOr<Pixels> DecodeJpeg2000(Bytes file) {
  if (!SizesAreModest(file)) return Undecodable();
  Source source{file};
  const std::unique_ptr<opj_stream_t, DestroyStream> stream(
      opj_stream_create(OPJ_J2K_STREAM_CHUNK_SIZE, OPJ_TRUE));
  const std::unique_ptr<opj_codec_t, DestroyCodec> codec(
      opj_create_decompress(file[0] == 0xFF ? OPJ_CODEC_J2K : OPJ_CODEC_JP2));
  if (stream == nullptr || codec == nullptr) {
    return absl::ResourceExhaustedError("no memory left to read a JPEG 2000 image");
  }
  opj_stream_set_user_data(stream.get(), &source, nullptr);
  opj_stream_set_user_data_length(stream.get(), file.size());
  opj_stream_set_read_function(stream.get(), ReadBytes);
  opj_stream_set_skip_function(stream.get(), Skip);
  opj_stream_set_seek_function(stream.get(), Seek);
  opj_dparameters_t parameters;
  opj_set_default_decoder_parameters(&parameters);
  if (opj_setup_decoder(codec.get(), &parameters) == OPJ_FALSE) return Undecodable();

  opj_image_t* read = nullptr;
  const bool header = opj_read_header(stream.get(), codec.get(), &read) == OPJ_TRUE;
  const std::unique_ptr<opj_image_t, DestroyImage> image(read);
  if (!header || image == nullptr || image->numcomps == 0 || image->numcomps > kMaxComponents ||
      image->x1 <= image->x0 || image->y1 <= image->y0) {
    return Undecodable();
  }
  // Before anything is decoded, by the whole area; a first component of fewer pixels is rare.
  const int channels = image->numcomps >= 3 ? 3 : 1;
  absl::StatusOr<Pixels> pixels =
      MakePixels(int64_t{image->x1} - image->x0, int64_t{image->y1} - image->y0, channels);
  if (!pixels.ok()) return pixels;
  if (opj_decode(codec.get(), stream.get(), image.get()) == OPJ_FALSE) return Undecodable();
  // A palette has given it other components.
  const opj_image_comp_t* const c = image->comps;
  const int now = image->numcomps >= 3 ? 3 : 1;
  if (image->numcomps == 0 || c == nullptr || c[0].w == 0 || c[0].h == 0) return Undecodable();
  if (now != channels || c[0].w != pixels->width || c[0].h != pixels->height) {
    pixels = MakePixels(c[0].w, c[0].h, now);
    if (!pixels.ok()) return pixels;
  }
  const Component first(c[0], c[0]);
  const Component second(c[now - 1 > 0 ? 1 : 0], c[0]);
  const Component third(c[now - 1], c[0]);
  if (!first.Valid() || !second.Valid() || !third.Valid()) return Undecodable();
  const bool luma = now == 3 && (image->color_space == OPJ_CLRSPC_SYCC || c[1].dx != c[0].dx);
  uint8_t* to = pixels->data.data();
  for (int64_t y = 0; y < pixels->height; ++y) {
    for (int64_t x = 0; x < pixels->width; ++x) {
      const int a = first.At(x, y);
      if (now == 1) {
        *to++ = static_cast<uint8_t>(a);
        continue;
      }
      const int b = second.At(x, y);
      const int d = third.At(x, y);
      to[0] = luma ? Clamp(a + 1.402 * (d - 128)) : static_cast<uint8_t>(a);
      to[1] =
          luma ? Clamp(a - 0.344136 * (b - 128) - 0.714136 * (d - 128)) : static_cast<uint8_t>(b);
      to[2] = luma ? Clamp(a + 1.772 * (b - 128)) : static_cast<uint8_t>(d);
      to += 3;
    }
  }
  return pixels;
}

}  // namespace onnx_run::image
