#include "proto/standard/function_bodies.h"

#include <cstdint>
#include <exception>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "onnx/defs/schema.h"
#include "proto/model_proto.h"
#include "runtime/status_macros.h"

namespace onnx_run {
namespace {

// Keys of bodies that depend on large attributes are not worth their memory.
constexpr size_t kMaxKeyBytes = 65536;

absl::StatusOr<std::shared_ptr<const Function>> Read(onnx::FunctionProto proto) {
  ReadContext context;
  ASSIGN_OR_RETURN(Function function, FunctionFromProto(std::move(proto), &context));
  return std::make_shared<const Function>(std::move(function));
}

class OnnxFunctions final : public FunctionProvider {
 public:
  absl::StatusOr<std::shared_ptr<const Function>> Body(
      const Node& node, int64_t opset, absl::Span<const Type> input_types) override {
    // The library reports by exceptions; none may leave this one.
    try {
      return BodyOrThrow(node, static_cast<int>(opset), input_types);
    } catch (const std::bad_alloc&) {
      return absl::ResourceExhaustedError("no memory for the function body");
    } catch (const std::exception& error) {
      return absl::InvalidArgumentError(
          absl::StrCat("the standard's function body cannot be made: ", error.what()));
    }
  }

 private:
  using Found = std::shared_ptr<const Function>;

  absl::StatusOr<Found> BodyOrThrow(const Node& node, int opset,
                                    absl::Span<const Type> input_types) {
    const onnx::OpSchema* schema = onnx::OpSchemaRegistry::Schema(node.op_type, opset, node.domain);
    if (schema == nullptr) return Found();
    if (const onnx::FunctionProto* body = schema->GetFunction(opset); body != nullptr) {
      const std::string key = absl::StrCat("plain:", absl::Hex(reinterpret_cast<uintptr_t>(body)));
      if (Found known = Cached(key)) return known;
      ASSIGN_OR_RETURN(Found made, Read(*body));
      return Keep(key, std::move(made));
    }
    if (!schema->HasContextDependentFunction()) return Found();

    const onnx::NodeProto proto = WithoutNames(node);
    std::vector<onnx::TypeProto> types;
    std::string key = absl::StrCat(opset, ":", proto.SerializeAsString());
    for (const Type& type : input_types) {
      types.push_back(type.kind == ValueKind::kAbsent ? onnx::TypeProto() : TypeToProto(type));
      absl::StrAppend(&key, ":", types.back().SerializeAsString());
    }
    if (Found known = Cached(key)) return known;
    const onnx::FunctionBodyBuildContextImpl context(proto, types);
    onnx::FunctionProto body;
    if (!schema->BuildContextDependentFunction(context, body, opset)) return Found();
    ASSIGN_OR_RETURN(Found made, Read(std::move(body)));
    return Keep(key, std::move(made));
  }

  // The names of a node's values do not show in its body; only which of them are there.
  static onnx::NodeProto WithoutNames(const Node& node) {
    onnx::NodeProto proto = NodeToProto(node);
    proto.clear_name();
    const auto rename = [](auto* names) {
      for (int i = 0; i < names->size(); ++i) {
        if (!names->Get(i).empty()) *names->Mutable(i) = absl::StrCat("v", i);
      }
    };
    rename(proto.mutable_input());
    rename(proto.mutable_output());
    return proto;
  }

  Found Cached(const std::string& key) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = bodies_.find(key);
    return found == bodies_.end() ? nullptr : found->second;
  }

  // The one that is kept, if another thread was first: plans know a body by its address.
  Found Keep(const std::string& key, Found body) {
    if (key.size() > kMaxKeyBytes) return body;
    const std::lock_guard<std::mutex> lock(mutex_);
    return bodies_.try_emplace(key, std::move(body)).first->second;
  }

  std::mutex mutex_;
  absl::flat_hash_map<std::string, Found> bodies_;
};

}  // namespace

std::shared_ptr<FunctionProvider> StandardFunctions() { return std::make_shared<OnnxFunctions>(); }

}  // namespace onnx_run
