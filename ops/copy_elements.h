// Copies runs of elements between tensors of one type, whatever the type: bytes, packed bits or
// strings.
#ifndef ONNX_RUN_OPS_COPY_ELEMENTS_H_
#define ONNX_RUN_OPS_COPY_ELEMENTS_H_

#include <cstdint>

#include "runtime/tensor.h"

namespace onnx_run {

// Elements [from, from + count) of `source` become elements [to, to + count) of `destination`,
// which has the same type and is written by nobody else. For 4 and 2 bit types the neighbours in a
// shared byte stay.
void CopyElements(const Tensor& source, int64_t from, Tensor* destination, int64_t to,
                  int64_t count);

// Makes elements [begin, end) zero, or empty strings.
void ZeroElements(Tensor* tensor, int64_t begin, int64_t end);

// Makes the unused bits of the last byte zero, as raw_data wants them: once, before elements are
// written one run after the other.
void ZeroUnusedBits(Tensor* tensor);

}  // namespace onnx_run

#endif  // ONNX_RUN_OPS_COPY_ELEMENTS_H_
