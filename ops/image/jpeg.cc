// JPEG by libjpeg, whose errors jump: every call of it that can fail is in a function that has
// nothing to destroy.
#include <csetjmp>
#include <cstddef>
#include <cstdio>

#include "ops/image/codecs.h"
// After <cstdio>, which it needs.
#include <jerror.h>
#include <jpeglib.h>

namespace onnx_run::image {
namespace {

constexpr int kMaxScans = 500;  // of a progressive file; each goes over the whole image

struct Decoder {
  jpeg_decompress_struct info;
  jpeg_error_mgr errors;
  jpeg_progress_mgr progress;
  std::jmp_buf on_error;
};

[[noreturn]] void Fail(j_common_ptr info) {
  std::longjmp(static_cast<Decoder*>(info->client_data)->on_error, 1);
}
// What is missing at the end of the file would be filled in, with a warning.
void OnMessage(j_common_ptr info, int /*level*/) {
  if (info->err->msg_code == JWRN_JPEG_EOF) Fail(info);
}
void OnProgress(j_common_ptr info) {
  const Decoder& decoder = *static_cast<Decoder*>(info->client_data);
  if (decoder.info.input_scan_number > kMaxScans) Fail(info);
}

bool ReadHeader(Decoder& decoder, Bytes file) {
  jpeg_decompress_struct& info = decoder.info;
  if (setjmp(decoder.on_error) != 0) return false;
  jpeg_create_decompress(&info);
  info.client_data = &decoder;
  info.progress = &decoder.progress;
  jpeg_mem_src(&info, file.data(), static_cast<unsigned long>(file.size()));  // NOLINT: its type
  if (jpeg_read_header(&info, TRUE) != JPEG_HEADER_OK) return false;
  if (info.num_components == 1) {
    info.out_color_space = JCS_GRAYSCALE;
  } else {
    info.out_color_space = info.num_components == 4 ? JCS_CMYK : JCS_RGB;
  }
  jpeg_calc_output_dimensions(&info);
  return true;
}

// `to` has output_components for each pixel.
bool ReadRows(Decoder& decoder, uint8_t* to) {
  jpeg_decompress_struct& info = decoder.info;
  if (setjmp(decoder.on_error) != 0) return false;
  jpeg_start_decompress(&info);
  const size_t stride = size_t{info.output_width} * static_cast<size_t>(info.output_components);
  while (info.output_scanline < info.output_height) {
    JSAMPROW row = to + stride * info.output_scanline;
    jpeg_read_scanlines(&info, &row, 1);
  }
  jpeg_finish_decompress(&info);
  return true;
}

// Adobe's files have the inks inverted.
void ReduceInks(const std::vector<uint8_t>& inks, bool inverted, std::vector<uint8_t>& rgb) {
  for (size_t pixel = 0; pixel < inks.size() / 4; ++pixel) {
    const uint8_t* ink = inks.data() + 4 * pixel;
    const int black = inverted ? ink[3] : 255 - ink[3];
    for (int c = 0; c < 3; ++c) {
      const int light = inverted ? ink[c] : 255 - ink[c];
      rgb[3 * pixel + c] = static_cast<uint8_t>((light * black + 127) / 255);
    }
  }
}

class Guard {
 public:
  explicit Guard(Decoder& decoder) : decoder_(decoder) {}
  ~Guard() { jpeg_destroy_decompress(&decoder_.info); }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

 private:
  Decoder& decoder_;
};

}  // namespace

absl::StatusOr<Pixels> DecodeJpeg(Bytes file) {
  Decoder decoder = {};
  decoder.info.err = jpeg_std_error(&decoder.errors);
  decoder.info.client_data = &decoder;  // for an error in jpeg_create_decompress
  decoder.errors.error_exit = Fail;
  decoder.errors.emit_message = OnMessage;
  decoder.progress.progress_monitor = OnProgress;
  const Guard guard(decoder);
  if (!ReadHeader(decoder, file)) return Undecodable();
  const bool inks = decoder.info.out_color_space == JCS_CMYK;
  const int channels = decoder.info.out_color_space == JCS_GRAYSCALE ? 1 : 3;
  absl::StatusOr<Pixels> pixels =
      MakePixels(decoder.info.output_width, decoder.info.output_height, channels);
  if (!pixels.ok()) return pixels;
  if (inks) {
    std::vector<uint8_t> all(pixels->data.size() / 3 * 4);
    if (!ReadRows(decoder, all.data())) return Undecodable();
    ReduceInks(all, decoder.info.saw_Adobe_marker != 0, pixels->data);
  } else if (decoder.info.output_components != channels ||
             !ReadRows(decoder, pixels->data.data())) {
    return Undecodable();
  }
  return pixels;
}

}  // namespace onnx_run::image
