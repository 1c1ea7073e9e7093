// Matrices whose rows become columns, compiled once for each instruction set.
#ifndef ONNX_RUN_OPS_TRANSPOSE_KERNELS_H_
#define ONNX_RUN_OPS_TRANSPOSE_KERNELS_H_

#include <cstdint>
#include <type_traits>

namespace onnx_run {

// to[r * to_stride + c] = from[c * from_stride + r] for r < rows, c < columns, that are not 0. They
// do not overlap. So `count` times, from_step and to_step further on each time.
void TransposeMatrix(const uint8_t* from, int64_t from_stride, uint8_t* to, int64_t to_stride,
                     int64_t rows, int64_t columns, int64_t count = 1, int64_t from_step = 0,
                     int64_t to_step = 0);
void TransposeMatrix(const uint16_t* from, int64_t from_stride, uint16_t* to, int64_t to_stride,
                     int64_t rows, int64_t columns, int64_t count = 1, int64_t from_step = 0,
                     int64_t to_step = 0);
void TransposeMatrix(const uint32_t* from, int64_t from_stride, uint32_t* to, int64_t to_stride,
                     int64_t rows, int64_t columns, int64_t count = 1, int64_t from_step = 0,
                     int64_t to_step = 0);
void TransposeMatrix(const uint64_t* from, int64_t from_stride, uint64_t* to, int64_t to_stride,
                     int64_t rows, int64_t columns, int64_t count = 1, int64_t from_step = 0,
                     int64_t to_step = 0);

// The same, once, of other types of these widths.
template <typename T>
void TransposeElements(const T* from, int64_t from_stride, T* to, int64_t to_stride, int64_t rows,
                       int64_t columns) {
  using Bits = std::conditional_t<
      sizeof(T) == 1, uint8_t,
      std::conditional_t<sizeof(T) == 2, uint16_t,
                         std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>>;
  static_assert(sizeof(T) == sizeof(Bits));
  TransposeMatrix(reinterpret_cast<const Bits*>(from), from_stride, reinterpret_cast<Bits*>(to),
                  to_stride, rows, columns);
}

}  // namespace onnx_run

#endif  // ONNX_RUN_OPS_TRANSPOSE_KERNELS_H_
