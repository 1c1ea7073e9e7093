// Values <-> the files that hold one: `test_data_set_*/input_0.pb` and their like.
//
// Such a file does not say what it holds; the declared type of the graph's input or output does:
// TensorProto, SparseTensorProto, SequenceProto, OptionalProto or MapProto.
// No protobuf type is needed to use this header.
#ifndef ONNX_RUN_PROTO_VALUES_H_
#define ONNX_RUN_PROTO_VALUES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/value.h"

namespace onnx_run {

// `declared`: its kind says which message to expect, nested ones too (kAbsent: a tensor). Element
// types and shapes come from the file and may differ from the declared ones; an empty sequence or
// optional takes them from there. `name`, when given, gets the name that the message holds. Errors:
// those of tensor_proto.h; DataLoss, InvalidArgument when the bytes are not such a message.
absl::StatusOr<Value> ValueFromBytes(absl::string_view bytes, const Type& declared,
                                     std::string* name = nullptr);
absl::StatusOr<Value> ReadValueFile(const std::string& path, const Type& declared,
                                    std::string* name = nullptr);

// Errors: InvalidArgument for an absent value, ResourceExhausted beyond protobuf's 2 GiB.
absl::StatusOr<std::string> ValueToBytes(const Value& value, absl::string_view name = "");
// The file is complete or not there.
absl::Status WriteValueFile(const std::string& path, absl::string_view name, const Value& value);

}  // namespace onnx_run

#endif  // ONNX_RUN_PROTO_VALUES_H_
