// Seeded random values for a model's declared inputs.
#ifndef ONNX_RUN_TOOLS_RANDOM_INPUTS_H_
#define ONNX_RUN_TOOLS_RANDOM_INPUTS_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/value.h"

namespace onnx_run::tools {

// The same numbers from the same seed on every machine.
class RandomInputs {
 public:
  // `dims`: sizes of named dimensions. Those not given, and unnamed unknown ones, are 1.
  RandomInputs(uint64_t seed, std::map<std::string, int64_t> dims)
      : state_(seed), dims_(std::move(dims)) {}

  // Floats uniform in [-1, 1), integers in [0, 10) or what the type holds of it, bools, short
  // texts. Sequences have two elements, optionals a value. Errors: InvalidArgument (undeclared
  // type).
  absl::StatusOr<Value> Make(const Type& type);
  // Dimensions that were taken as 1 because nobody said otherwise; "?" for unnamed ones.
  const std::set<std::string>& guessed() const { return guessed_; }

 private:
  uint64_t Next();
  absl::StatusOr<Tensor> MakeTensor(const Type& type);
  uint64_t state_;
  std::map<std::string, int64_t> dims_;
  std::set<std::string> guessed_;
};

// All names of dimensions in `type`.
void CollectDimNames(const Type& type, std::set<std::string>& names);

}  // namespace onnx_run::tools

#endif  // ONNX_RUN_TOOLS_RANDOM_INPUTS_H_
