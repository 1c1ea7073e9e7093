// TIFF by libtiff, converted by its RGBA reader; of several pages the first.
#include <tiffio.h>
#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "ops/image/codecs.h"

namespace onnx_run::image {
namespace {

struct Source {
  Bytes file;
  uint64_t position = 0;
};

tmsize_t ReadBytes(thandle_t handle, void* to, tmsize_t n) {
  Source& source = *static_cast<Source*>(handle);
  if (n <= 0 || source.position >= source.file.size()) return 0;
  const size_t count =
      std::min<size_t>(static_cast<size_t>(n), source.file.size() - source.position);
  std::memcpy(to, source.file.data() + source.position, count);
  source.position += count;
  return static_cast<tmsize_t>(count);
}
tmsize_t WriteBytes(thandle_t /*handle*/, void* /*from*/, tmsize_t /*n*/) { return 0; }
toff_t Seek(thandle_t handle, toff_t offset, int whence) {
  Source& source = *static_cast<Source*>(handle);
  if (whence == SEEK_CUR) offset += source.position;
  if (whence == SEEK_END) offset += source.file.size();
  return source.position = offset;
}
int Close(thandle_t /*handle*/) { return 0; }
toff_t Size(thandle_t handle) { return static_cast<Source*>(handle)->file.size(); }
int Ignore(TIFF* /*tiff*/, void* /*data*/, const char* /*module*/, const char* /*format*/,
           va_list /*arguments*/) {
  return 1;  // handled: not printed
}

struct CloseTiff {
  void operator()(TIFF* tiff) const { TIFFClose(tiff); }
};

std::unique_ptr<TIFF, CloseTiff> Open(Source& source) {
  TIFFOpenOptions* const options = TIFFOpenOptionsAlloc();
  if (options == nullptr) return nullptr;
  TIFFOpenOptionsSetMaxSingleMemAlloc(options, tmsize_t{1} << 29);
  TIFFOpenOptionsSetErrorHandlerExtR(options, Ignore, nullptr);
  TIFFOpenOptionsSetWarningHandlerExtR(options, Ignore, nullptr);
  // m: not as mapped memory.
  std::unique_ptr<TIFF, CloseTiff> tiff(TIFFClientOpenExt(
      "", "rm", &source, ReadBytes, WriteBytes, Seek, Close, Size, nullptr, nullptr, options));
  TIFFOpenOptionsFree(options);
  return tiff;
}

}  // namespace

absl::StatusOr<Pixels> DecodeTiff(Bytes file) {
  Source source{file};
  const auto tiff = Open(source);
  if (tiff == nullptr) return Undecodable();
  uint32_t width = 0;
  uint32_t height = 0;
  if (TIFFGetField(tiff.get(), TIFFTAG_IMAGEWIDTH, &width) == 0 ||
      TIFFGetField(tiff.get(), TIFFTAG_IMAGELENGTH, &height) == 0) {
    return Undecodable();
  }
  char message[1024];
  if (TIFFRGBAImageOK(tiff.get(), message) == 0) return Undecodable();
  absl::StatusOr<Pixels> pixels = MakePixels(width, height, 3);
  if (!pixels.ok()) return pixels;
  std::vector<uint32_t> raster(size_t{width} * height);
  if (TIFFReadRGBAImageOriented(tiff.get(), width, height, raster.data(), ORIENTATION_TOPLEFT,
                                /*stop=*/1) == 0) {
    return Undecodable();
  }
  uint8_t* to = pixels->data.data();
  for (const uint32_t pixel : raster) {
    *to++ = static_cast<uint8_t>(TIFFGetR(pixel));
    *to++ = static_cast<uint8_t>(TIFFGetG(pixel));
    *to++ = static_cast<uint8_t>(TIFFGetB(pixel));
  }
  return pixels;
}

}  // namespace onnx_run::image
