// Decoders of image files, each of one format. None of them crashes, aborts or allocates without
// bound on any input.
#ifndef ONNX_RUN_OPS_IMAGE_CODECS_H_
#define ONNX_RUN_OPS_IMAGE_CODECS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace onnx_run::image {

using Bytes = absl::Span<const uint8_t>;

struct Pixels {
  int64_t width = 0;
  int64_t height = 0;
  int channels = 0;           // 1: gray, 3: red, green, blue
  std::vector<uint8_t> data;  // rows from the top, the channels of a pixel side by side
};

inline constexpr int64_t kMaxPixels = int64_t{1} << 27;

// Black. Errors: ResourceExhausted beyond kMaxPixels, DataLoss without any pixel.
absl::StatusOr<Pixels> MakePixels(int64_t width, int64_t height, int channels);
absl::Status Undecodable();

// Errors: ResourceExhausted; DataLoss when the file is not a whole image that the decoder knows.
absl::StatusOr<Pixels> DecodeBmp(Bytes file);
absl::StatusOr<Pixels> DecodeJpeg(Bytes file);
absl::StatusOr<Pixels> DecodeJpeg2000(Bytes file);
absl::StatusOr<Pixels> DecodePng(Bytes file);
absl::StatusOr<Pixels> DecodePnm(Bytes file);
absl::StatusOr<Pixels> DecodeTiff(Bytes file);
absl::StatusOr<Pixels> DecodeWebp(Bytes file);

// By the format that the first bytes tell.
absl::StatusOr<Pixels> Decode(Bytes file);

}  // namespace onnx_run::image

#endif  // ONNX_RUN_OPS_IMAGE_CODECS_H_
