// Says what is wrong with bytes that protobuf refused: protobuf itself only says that it did.
#ifndef ONNX_RUN_PROTO_WIRE_H_
#define ONNX_RUN_PROTO_WIRE_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace onnx_run {

// Walks the bytes as a ModelProto, without recursion and without allocating for what they claim.
// DataLoss: they end too early. InvalidArgument: they are not protobuf. ResourceExhausted:
// subgraphs are nested deeper than `max_subgraph_depth`. OK: nothing found.
absl::Status ExplainModelBytes(absl::string_view bytes, int max_subgraph_depth);

// The same for the top level of any message.
absl::Status ExplainMessageBytes(absl::string_view bytes);

}  // namespace onnx_run

#endif  // ONNX_RUN_PROTO_WIRE_H_
