#include "proto/wire.h"

#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"

namespace onnx_run {
namespace {

// The messages that lead to subgraphs; kOther is skipped over.
enum class Message { kModel, kTraining, kFunction, kGraph, kNode, kAttribute, kOther };

// What the length-delimited field `number` of `message` holds (onnx-ml.proto).
Message FieldOf(Message message, uint64_t number) {
  switch (message) {
    case Message::kModel:
      if (number == 7) return Message::kGraph;
      if (number == 20) return Message::kTraining;
      if (number == 25) return Message::kFunction;
      break;
    case Message::kTraining:
      if (number == 1 || number == 2) return Message::kGraph;
      break;
    case Message::kFunction:
      if (number == 7) return Message::kNode;
      break;
    case Message::kGraph:
      if (number == 1) return Message::kNode;
      break;
    case Message::kNode:
      if (number == 5) return Message::kAttribute;
      break;
    case Message::kAttribute:
      if (number == 6 || number == 11) return Message::kGraph;
      break;
    case Message::kOther: break;
  }
  return Message::kOther;
}

class Walker {
 public:
  explicit Walker(absl::string_view bytes) : bytes_(bytes) {}

  absl::Status Walk(Message top, int max_subgraph_depth) {
    struct Frame {
      size_t end;
      Message message;
    };
    std::vector<Frame> stack = {{bytes_.size(), top}};
    int graphs = 0;
    while (!stack.empty()) {
      const Frame frame = stack.back();
      if (at_ == frame.end) {
        if (frame.message == Message::kGraph) --graphs;
        stack.pop_back();
        continue;
      }
      const size_t start = at_;
      uint64_t tag = 0;
      if (absl::Status status = Varint(frame.end, &tag); !status.ok()) return status;
      const uint64_t number = tag >> 3;
      if (number == 0 || number > 0x1FFFFFFF) return Malformed(start, "an invalid field number");
      uint64_t length = 0;
      switch (tag & 7) {
        case 0:
          if (absl::Status status = Varint(frame.end, &length); !status.ok()) return status;
          continue;
        case 1: length = 8; break;
        case 2:
          if (absl::Status status = Varint(frame.end, &length); !status.ok()) return status;
          break;
        case 5: length = 4; break;
        default: return Malformed(start, absl::StrCat("wire type ", tag & 7));
      }
      if (length > frame.end - at_) {
        if (frame.end == bytes_.size()) {
          return absl::DataLossError(absl::StrCat("ends too early: field ", number, " at byte ",
                                                  start, " announces ", length, " bytes, ",
                                                  frame.end - at_, " are left"));
        }
        return Malformed(start, absl::StrCat("field ", number, ", longer than what it is in,"));
      }
      const Message inner = (tag & 7) == 2 ? FieldOf(frame.message, number) : Message::kOther;
      if (inner == Message::kOther) {
        at_ += static_cast<size_t>(length);
        continue;
      }
      if (inner == Message::kGraph && graphs++ > max_subgraph_depth) {
        return absl::ResourceExhaustedError(
            absl::StrCat("subgraphs are nested deeper than the limit of ", max_subgraph_depth));
      }
      stack.push_back({at_ + static_cast<size_t>(length), inner});
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Varint(size_t end, uint64_t* value) {
    const size_t start = at_;
    *value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      if (at_ == end) {
        if (end == bytes_.size()) {
          return absl::DataLossError(
              absl::StrCat("ends too early, within a number at byte ", start));
        }
        return Malformed(start, "a number longer than what it is in");
      }
      const auto byte = static_cast<uint8_t>(bytes_[at_++]);
      if (shift < 64) *value |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return absl::OkStatus();
    }
    return Malformed(start, "a number of more than 10 bytes");
  }

  static absl::Status Malformed(size_t at, absl::string_view what) {
    return absl::InvalidArgumentError(
        absl::StrCat("is not a protobuf message: ", what, " at byte ", at));
  }

  const absl::string_view bytes_;
  size_t at_ = 0;
};

}  // namespace

absl::Status ExplainModelBytes(absl::string_view bytes, int max_subgraph_depth) {
  return Walker(bytes).Walk(Message::kModel, max_subgraph_depth);
}

absl::Status ExplainMessageBytes(absl::string_view bytes) {
  return Walker(bytes).Walk(Message::kOther, 0);
}

}  // namespace onnx_run
