// ImageDecoder. Without ONNX_RUN_IMAGE_CODECS in CMake there is no kernel.
#include "absl/types/span.h"
#include "ops/families.h"

#ifndef ONNX_RUN_NO_IMAGE_CODECS

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/image/codecs.h"
#include "ops/kernel_table.h"
#include "runtime/status_macros.h"

namespace onnx_run {
namespace {

enum class PixelFormat : uint8_t { kRgb, kBgr, kGrayscale };

struct ImageAttributes {
  PixelFormat format;
};

absl::StatusOr<ImageAttributes> ParseImageDecoder(const NodeInfo& node) {
  const std::string format = node.StringOr("pixel_format", "RGB");
  if (format == "RGB") return ImageAttributes{PixelFormat::kRgb};
  if (format == "BGR") return ImageAttributes{PixelFormat::kBgr};
  if (format == "Grayscale") return ImageAttributes{PixelFormat::kGrayscale};
  return node.BadAttribute("pixel_format", absl::StrCat("\"", format, "\""),
                           "\"RGB\", \"BGR\" or \"Grayscale\"");
}

// The luma of ITU-R 601-2, as Pillow rounds it.
uint8_t LumaOf(const uint8_t* rgb) {
  return static_cast<uint8_t>((rgb[0] * 19595 + rgb[1] * 38470 + rgb[2] * 7471 + 0x8000) >> 16);
}

void Write(const image::Pixels& pixels, PixelFormat format, uint8_t* to) {
  const int64_t count = pixels.width * pixels.height;
  const uint8_t* const from = pixels.data.data();
  const bool gray = pixels.channels == 1;
  if (gray == (format == PixelFormat::kGrayscale) && format != PixelFormat::kBgr) {
    std::copy_n(from, pixels.data.size(), to);
  } else if (format == PixelFormat::kGrayscale) {
    for (int64_t i = 0; i < count; ++i) to[i] = LumaOf(from + 3 * i);
  } else if (gray) {
    for (int64_t i = 0; i < count; ++i) std::fill_n(to + 3 * i, 3, from[i]);
  } else {
    for (int64_t i = 0; i < 3 * count; i += 3) std::reverse_copy(from + i, from + i + 3, to + i);
  }
}

// An image that cannot be decoded gives a tensor without elements: the standard's own rule.
absl::Status ImageDecoder(const ImageAttributes& attributes, KernelContext& context) {
  const Tensor& stream = context.input(0);
  if (stream.rank() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("the encoded stream is ", TypeAndDims(stream), ", expected 1 dimension"));
  }
  const int64_t channels = attributes.format == PixelFormat::kGrayscale ? 1 : 3;
  const absl::StatusOr<image::Pixels> pixels = image::Decode(stream.span<uint8_t>());
  if (absl::IsResourceExhausted(pixels.status())) return pixels.status();
  const int64_t height = pixels.ok() ? pixels->height : 0;
  const int64_t width = pixels.ok() ? pixels->width : 0;
  ASSIGN_OR_RETURN(Tensor * output,
                   context.Output(0, ElementType::kUint8, {height, width, channels}));
  if (pixels.ok()) Write(*pixels, attributes.format, output->mutable_data_as<uint8_t>());
  return absl::OkStatus();
}

constexpr auto kKernels = KernelTable(Rows<ParseImageDecoder, ImageDecoder>("ImageDecoder", 20));

}  // namespace

absl::Span<const KernelDef> ImageDecoderKernels() { return kKernels; }

}  // namespace onnx_run

#else

namespace onnx_run {

absl::Span<const KernelDef> ImageDecoderKernels() { return {}; }

}  // namespace onnx_run

#endif  // ONNX_RUN_NO_IMAGE_CODECS
