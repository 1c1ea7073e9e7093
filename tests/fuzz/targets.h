// What the fuzz targets do with their input. Each has a *_fuzz.cc beside this file, which is a
// program of clang's libFuzzer (`./dev fuzz`); tests/unit/fuzz_replay_test.cc runs them all over
// the seeds with any compiler. A target aborts when a promise is broken; the sanitizers find the
// rest.
#ifndef ONNX_RUN_TESTS_FUZZ_TARGETS_H_
#define ONNX_RUN_TESTS_FUZZ_TARGETS_H_

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "onnx/onnx-ml.pb.h"
#include "proto/load.h"
#include "proto/save.h"
#include "proto/tensor_proto.h"
#include "proto/values.h"
#include "runtime/convert/convert.h"
#include "tools/npy.h"

namespace onnx_run::fuzz {

inline void Check(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

// Bytes as a model: what loads can be saved, and loads again as the same.
inline void FuzzModel(absl::string_view bytes) {
  LoadOptions options;
  options.max_dense_bytes = 1 << 20;
  const auto model = LoadModelFromBytes(bytes, options);
  if (!model.ok()) {
    Check(!model.status().message().empty(), "an error says something");
    return;
  }
  const auto saved = ModelToBytes(*model);
  Check(saved.ok(), "a loaded model can be saved");
  const auto again = LoadModelFromBytes(*saved);
  Check(again.ok(), "a saved model can be loaded");
  Check(*ModelToBytes(*again) == *saved, "saving is stable");
}

// Bytes as a value file of each kind: the first byte says which.
inline void FuzzValue(absl::string_view bytes) {
  if (bytes.empty()) return;
  const Type tensor = Type::OfTensor(ElementType::kFloat);
  Type sparse = tensor;
  sparse.kind = ValueKind::kSparseTensor;
  const Type types[] = {tensor,
                        sparse,
                        Type::OfSequence(tensor),
                        Type::OfOptional(tensor),
                        Type::OfMap(ElementType::kInt64, tensor),
                        Type::OfSequence(Type()),
                        Type::OfOptional(Type()),
                        Type()};
  const Type& declared = types[static_cast<unsigned char>(bytes[0]) % 8];
  bytes.remove_prefix(1);
  const auto value = ValueFromBytes(bytes, declared);
  if (!value.ok()) return;
  Check(!Describe(*value).empty(), "a value can be described");
  const auto saved = ValueToBytes(*value);
  Check(saved.ok(), "a value that was read can be written");
  const auto again = ValueFromBytes(*saved, declared);
  Check(again.ok(), "a value that was written can be read");
  Check(*ValueToBytes(*again) == *saved, "writing is stable");
}

// Bytes as a TensorProto, copied and moved.
inline void FuzzTensor(absl::string_view bytes) {
  onnx::TensorProto proto;
  if (!proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
  const auto copied = TensorFromProto(proto);
  const auto moved = TensorFromProto(onnx::TensorProto(proto));
  Check(copied.ok() == moved.ok(), "moving changes nothing");
  if (!copied.ok()) return;
  const onnx::TensorProto one = TensorToProto(*copied);
  const onnx::TensorProto two = TensorToProto(*moved);
  Check(one.SerializeAsString() == two.SerializeAsString(), "moving changes no element");
  Check(TensorFromProto(one).ok(), "a tensor that was read can be read again");
}

// Text as a number of each type: what is accepted has a text of its own that reads as the same
// number.
inline void FuzzText(absl::string_view bytes) {
  const std::vector<std::string> text = {std::string(bytes)};
  for (int number = 1; number < kElementTypeCount; ++number) {
    const auto type = static_cast<ElementType>(number);
    if (type == ElementType::kString || KindOf(type) == ElementKind::kComplex) continue;
    alignas(8) unsigned char element[8] = {};
    if (!ConvertFromString(text, element, type).ok()) continue;
    std::vector<std::string> back(1);
    Check(ConvertToString(element, type, absl::MakeSpan(back)).ok(), "a number has a text");
    alignas(8) unsigned char again[8] = {};
    // The text of a FLOAT8E8M0 is the shortest whose nearest power of two is that one.
    const ConvertOptions nearest = {.round_mode = RoundMode::kNearest};
    Check(ConvertFromString(back, again, type, nearest).ok(), "a number's text is a number");
    const uint64_t code = LoadCode(element, type, 0);
    const double value = CodeToDouble(code, type);
    if (LoadCode(again, type, 0) != code && value == value) {
      std::fprintf(stderr, "%s: \"%s\" -> %llx -> \"%s\" -> %llx\n", InfoOf(type).name,
                   text[0].c_str(), static_cast<unsigned long long>(code), back[0].c_str(),
                   static_cast<unsigned long long>(LoadCode(again, type, 0)));
      Check(false, "a number's text is that number");
    }
  }
}

// Bytes as .npy (the first byte is the wanted element type) and as .npz.
inline void FuzzNpy(absl::string_view bytes) {
  if (bytes.empty()) return;
  const auto wanted =
      static_cast<ElementType>(static_cast<unsigned char>(bytes[0]) % kElementTypeCount);
  bytes.remove_prefix(1);
  if (bytes.substr(0, 2) == "PK") {
    const auto arrays = tools::ParseNpz(bytes);
    if (!arrays.ok()) return;
    for (const auto& [name, array] : *arrays) (void)tools::ParseNpy(array, wanted);
    return;
  }
  const auto tensor = tools::ParseNpy(bytes, wanted);
  if (!tensor.ok()) return;
  const auto saved = tools::SerializeNpy(*tensor);
  if (!saved.ok()) return;  // not every tensor has an array, strings for one
  const auto again = tools::ParseNpy(*saved, tensor->type());
  Check(again.ok(), "an array that was written can be read");
  Check(*tools::SerializeNpy(*again) == *saved, "writing is stable");
}

}  // namespace onnx_run::fuzz

#endif  // ONNX_RUN_TESTS_FUZZ_TARGETS_H_
