// The columns of a convolution's windows, added back to the image they would have come from.
#ifndef ONNX_RUN_OPS_COLUMNS_TO_IMAGE_H_
#define ONNX_RUN_OPS_COLUMNS_TO_IMAGE_H_

#include <algorithm>
#include <cstdint>

#include "ops/window.h"

namespace onnx_run {

class ColumnsToImage {
 public:
  // `window`: of the convolution from the image (its input) to the columns (its output).
  explicit ColumnsToImage(const Window& window) : window_(window) {}

  // One channel: `columns` is [taps][outputs], in order; what falls into the padding is dropped.
  template <typename T>
  void Add(const T* columns, T* image) const {
    const int last = window_.rank() - 1;
    const WindowAxis& axis = window_.axes[last];
    const int64_t taps = window_.KernelSize();
    if (axis.output == 0 || axis.input == 0) return;
    const int64_t rows = window_.OutputSize() / axis.output;
    for (int64_t tap = 0; tap < taps; ++tap) {
      const int64_t offset = tap % axis.kernel * axis.dilation - axis.pad_begin;
      // Outputs [begin, end) of a row are inside.
      int64_t begin = offset >= 0 ? 0 : (-offset + axis.stride - 1) / axis.stride;
      int64_t end =
          offset >= axis.input ? 0 : (axis.input - offset + axis.stride - 1) / axis.stride;
      begin = std::min(begin, axis.output);
      end = std::min(end, axis.output);
      for (int64_t row = 0; row < rows; ++row, columns += axis.output) {
        const int64_t image_row = ImageRow(tap / axis.kernel, row);
        if (image_row < 0) continue;
        T* to = image + image_row * axis.input + offset;
        if (axis.stride == 1) {
          for (int64_t o = begin; o < end; ++o) AddTo(to[o], columns[o]);
        } else {
          for (int64_t o = begin; o < end; ++o) AddTo(to[o * axis.stride], columns[o]);
        }
      }
    }
  }

 private:
  template <typename T>
  static void AddTo(T& to, const T& x) {
    to = static_cast<T>(to + x);
  }
  // Of two truths their disjunction.
  static void AddTo(bool& to, bool x) { to = to || x; }

  // The row of the image that a tap (without its last axis) of a row of outputs meets; -1 outside.
  int64_t ImageRow(int64_t tap, int64_t row) const {
    int64_t result = 0;
    int64_t stride = 1;
    for (int d = window_.rank() - 2; d >= 0; --d) {
      const WindowAxis& axis = window_.axes[d];
      const int64_t position = axis.Start(row % axis.output) + tap % axis.kernel * axis.dilation;
      if (position < 0 || position >= axis.input) return -1;
      row /= axis.output;
      tap /= axis.kernel;
      result += position * stride;
      stride *= axis.input;
    }
    return result;
  }

  const Window& window_;
};

}  // namespace onnx_run

#endif  // ONNX_RUN_OPS_COLUMNS_TO_IMAGE_H_
