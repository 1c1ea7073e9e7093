// The engine of operators that move elements: Transpose, Slice, Pad, Concat, Split, Expand, Tile,
// ...
//
// One function copies a box of elements from one place to another; a place is memory, the index of
// its first element and, for each dimension of the box, how many elements apart neighbours are.
// Stride 0 repeats (Expand, Tile), negative strides reverse (Slice). Every element type: packed 4
// and 2 bit elements and strings too.
#ifndef ONNX_RUN_OPS_STRIDED_COPY_H_
#define ONNX_RUN_OPS_STRIDED_COPY_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/element_type.h"
#include "runtime/kernel.h"
#include "runtime/tensor.h"

namespace onnx_run {

struct ConstPlace {
  const void* data;
  int64_t offset;  // in elements, as are strides
  absl::Span<const int64_t> strides;
};
struct Place {
  void* data;
  int64_t offset;
  absl::Span<const int64_t> strides;
};

// Strides of elements that lie in order without gaps: the last dimension has 1.
Dims StridesOf(absl::Span<const int64_t> dims);

// Output `i`, uninitialised but for the unused bits of a packed type's last byte, which are zero.
absl::StatusOr<Tensor*> MoveOutput(KernelContext& context, int i, ElementType type,
                                   absl::Span<const int64_t> dims);

// Copies the box of `dims`. The places do not overlap; no two elements of the box have the same
// place in `to`. Shared out to threads when large.
void CopyBox(const KernelContext& context, ElementType type, absl::Span<const int64_t> dims,
             const ConstPlace& from, const Place& to);

// `n` elements in a row, from index `from_index` of `from` to index `to_index` of `to`.
void CopyElements(ElementType type, const void* from, int64_t from_index, void* to,
                  int64_t to_index, int64_t n);
// Element `from_index` of `from`, n times in a row. `from` nullptr: zeros, or empty strings.
void FillElements(ElementType type, const void* from, int64_t from_index, void* to,
                  int64_t to_index, int64_t n);

}  // namespace onnx_run

#endif  // ONNX_RUN_OPS_STRIDED_COPY_H_
