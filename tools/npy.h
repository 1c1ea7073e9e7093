// NumPy's files: .npy (format 1.0 to 3.0) and .npz.
//
// NumPy has no name for some element types; they stand in a .npy as ml_dtypes' arrays do when
// saved:
//
//   bfloat16                      '<V2'   two bytes
//   float8*, float4e2m1           '|V1'   one element a byte, its code in the low bits
//   int4, int2 (uint4, uint2)     '|V1'   one element a byte, sign (zero) extended
//
// ('<f1', which older ml_dtypes wrote for float8e5m2, is read as '|V1'.) A file cannot tell which
// '|V1' it holds, so reading one needs the type that is wanted: that of the model's input. In
// numpy, array.view(ml_dtypes.float8_e4m3fn) gives the values back. Strings are '<U' (written) or
// '|S'.
//
// Refused, because something would be lost or guessed: object arrays (pickles), structured types,
// strings that are not UTF-8 or end in NUL (numpy drops it), codes that do not fit the wanted type.
#ifndef ONNX_RUN_TOOLS_NPY_H_
#define ONNX_RUN_TOOLS_NPY_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/tensor.h"

namespace onnx_run::tools {

// `wanted` (or kUndefined) tells what void elements are; it converts nothing. Errors:
// InvalidArgument (not a .npy, or one that cannot be a tensor), DataLoss (truncated),
// ResourceExhausted.
absl::StatusOr<Tensor> ParseNpy(absl::string_view bytes,
                                ElementType wanted = ElementType::kUndefined);
absl::StatusOr<std::string> SerializeNpy(const Tensor& tensor);

// The members of a zip archive, stored or deflated, with their checksums verified.
absl::StatusOr<std::vector<std::pair<std::string, std::string>>> ParseZip(absl::string_view bytes);
// Stored members.
absl::StatusOr<std::string> SerializeZip(
    absl::Span<const std::pair<std::string, std::string>> members);

// The bytes of each array of an .npz, by name (without ".npy"), for ParseNpy.
absl::StatusOr<std::vector<std::pair<std::string, std::string>>> ParseNpz(absl::string_view bytes);
absl::StatusOr<std::string> SerializeNpz(absl::Span<const std::pair<std::string, Tensor>> arrays);

}  // namespace onnx_run::tools

#endif  // ONNX_RUN_TOOLS_NPY_H_
