// TensorProto and SparseTensorProto <-> Tensor: every element type from every storage form.
//
// Where TensorProto keeps elements (onnx-ml.proto):
//   raw_data      packed, little-endian; not for strings
//   float_data    FLOAT, COMPLEX64 (real, imaginary)
//   double_data   DOUBLE, COMPLEX128
//   int64_data    INT64
//   uint64_data   UINT32, UINT64
//   string_data   STRING
//   int32_data    the rest: one entry an element, those of 16 or fewer bits as bit pattern or
//   number;
//                 4-bit types two elements an entry, 2-bit types four: one packed byte an entry
//   external_data what raw_data would hold, in a file
//
// Whatever does not agree with itself is refused, before anything is allocated for it.
#ifndef ONNX_RUN_PROTO_TENSOR_PROTO_H_
#define ONNX_RUN_PROTO_TENSOR_PROTO_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "onnx/onnx-ml.pb.h"
#include "proto/external_data.h"
#include "runtime/tensor.h"
#include "runtime/value.h"

namespace onnx_run {

// Elements come packed, bools as 0 or 1, unused bits of a last byte as 0. Large raw_data is moved
// out of an rvalue and shared; large external data is shared with the mapped file. `external`
// nullptr: external data is refused. Errors (with the tensor's name, what was found and what was
// expected): InvalidArgument, Unimplemented (segments), OutOfRange (past the end of a file),
// ResourceExhausted, and those of ExternalDataContext.
absl::StatusOr<Tensor> TensorFromProto(const onnx::TensorProto& proto,
                                       ExternalDataContext* external = nullptr);
absl::StatusOr<Tensor> TensorFromProto(onnx::TensorProto&& proto,
                                       ExternalDataContext* external = nullptr);

// Elements in raw_data, strings in string_data.
onnx::TensorProto TensorToProto(const Tensor& tensor, absl::string_view name = "");

absl::StatusOr<SparseTensor> SparseTensorFromProto(onnx::SparseTensorProto&& proto,
                                                   ExternalDataContext* external = nullptr);
onnx::SparseTensorProto SparseTensorToProto(const SparseTensor& sparse,
                                            absl::string_view name = "");

// The dense tensor. Errors: InvalidArgument (shapes that disagree, indices out of range or not
// ascending), ResourceExhausted when it would take more than `max_bytes`.
absl::StatusOr<Tensor> MakeDense(const SparseTensor& sparse, int64_t max_bytes);

// Makes the packed elements of a fresh tensor what the rules above promise: bools 0 or 1, unused
// bits 0.
void NormalisePacked(Tensor* tensor);

}  // namespace onnx_run

#endif  // ONNX_RUN_PROTO_TENSOR_PROTO_H_
