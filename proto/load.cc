#include "proto/load.h"

#include <algorithm>
#include <memory>
#include <new>
#include <stdexcept>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/arena.h"
#include "google/protobuf/io/coded_stream.h"
#include "onnx/onnx-ml.pb.h"
#include "proto/file.h"
#include "proto/model_proto.h"
#include "proto/text.h"
#include "proto/wire.h"

namespace onnx_run {
namespace {

// A subgraph is three messages deep (node, attribute, graph). What else nests (types, tensors) gets
// a fixed share. Protobuf's parser recurses, a few hundred bytes of stack a level.
int RecursionLimit(int max_subgraph_depth) { return 3 * max_subgraph_depth + 64; }

absl::Status Parse(absl::string_view bytes, const LoadOptions& options, onnx::ModelProto* proto) {
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(bytes.data()),
                                                static_cast<int>(bytes.size()));
  stream.SetRecursionLimit(RecursionLimit(options.max_subgraph_depth));
  if (proto->ParseFromCodedStream(&stream) && stream.ConsumedEntireMessage()) {
    return absl::OkStatus();
  }
  absl::Status reason = ExplainModelBytes(bytes, options.max_subgraph_depth);
  if (!reason.ok()) return reason;
  return absl::InvalidArgumentError(
      "is not an ONNX model: its protobuf is malformed or nested too deeply");
}

absl::StatusOr<Model> Read(absl::string_view bytes, const LoadOptions& options,
                           const std::string& base_dir) {
  if (bytes.empty()) return absl::InvalidArgumentError("is empty, expected an ONNX model");
  const int64_t limit = std::min<int64_t>(options.max_model_bytes, INT32_MAX);
  if (bytes.size() > static_cast<uint64_t>(limit)) {
    return absl::ResourceExhaustedError(
        absl::StrCat("has ", bytes.size(), " bytes, the limit is ", limit,
                     "; larger models keep their tensors in external data"));
  }
  google::protobuf::ArenaOptions arena_options;
  arena_options.start_block_size = std::clamp<size_t>(bytes.size(), 4096, 1 << 20);
  arena_options.max_block_size = 1 << 20;
  google::protobuf::Arena arena(arena_options);
  auto* proto = google::protobuf::Arena::CreateMessage<onnx::ModelProto>(&arena);
  if (absl::Status status = Parse(bytes, options, proto); !status.ok()) return status;

  ExternalDataContext external = options.resolver
                                     ? ExternalDataContext(options.resolver)
                                     : ExternalDataContext(base_dir, options.follow_symlinks);
  external.set_warnings(options.warnings);
  ReadContext context;
  context.external = &external;
  context.warnings = options.warnings;
  context.max_subgraph_depth = options.max_subgraph_depth;
  context.dense_bytes_left = options.max_dense_bytes;
  return ModelFromProto(std::move(*proto), &context);
}

// Nothing throws across the API; memory can run out in protobuf, in containers, anywhere below.
absl::StatusOr<Model> ReadCatching(absl::string_view bytes, const LoadOptions& options,
                                   const std::string& base_dir) {
  try {
    return Read(bytes, options, base_dir);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("not enough memory to load the model");
  } catch (const std::length_error&) {
    return absl::ResourceExhaustedError("not enough memory to load the model");
  }
}

}  // namespace

absl::StatusOr<Model> LoadModel(const std::string& path, const LoadOptions& options) {
  auto file = MappedFile::Open(path);
  if (!file.ok()) return std::move(file).status();
  auto model = ReadCatching((*file)->bytes(), options,
                            options.base_dir.empty() ? FolderOf(path) : options.base_dir);
  if (!model.ok()) return At(path, model.status());
  return model;
}

absl::StatusOr<Model> LoadModelFromBytes(absl::string_view bytes, const LoadOptions& options) {
  auto model = ReadCatching(bytes, options, options.base_dir);
  if (!model.ok()) return At("model", model.status());
  return model;
}

}  // namespace onnx_run
