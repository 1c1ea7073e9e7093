// WebP by libwebp.
#include <webp/decode.h>
#include "ops/image/codecs.h"

namespace onnx_run::image {

absl::StatusOr<Pixels> DecodeWebp(Bytes file) {
  WebPBitstreamFeatures features;
  if (WebPGetFeatures(file.data(), file.size(), &features) != VP8_STATUS_OK) return Undecodable();
  absl::StatusOr<Pixels> pixels = MakePixels(features.width, features.height, 3);
  if (!pixels.ok()) return pixels;
  if (WebPDecodeRGBInto(file.data(), file.size(), pixels->data.data(), pixels->data.size(),
                        features.width * 3) == nullptr) {
    return Undecodable();
  }
  return pixels;
}

}  // namespace onnx_run::image
