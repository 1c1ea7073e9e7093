// The activation functions that RNN, GRU and LSTM name in their attributes.
#ifndef ONNX_RUN_OPS_RNN_ACTIVATION_H_
#define ONNX_RUN_OPS_RNN_ACTIVATION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/kernel.h"

namespace onnx_run {

enum class RnnFunction : uint8_t {
  kRelu,
  kTanh,
  kSigmoid,
  kAffine,
  kLeakyRelu,
  kThresholdedRelu,
  kScaledTanh,
  kHardSigmoid,
  kElu,
  kSoftsign,
  kSoftplus,
};

struct RnnActivation {
  RnnFunction function = RnnFunction::kTanh;
  float alpha = 0;
  float beta = 0;

  // x[i] becomes f(x[i]); T: float or double.
  template <typename T>
  void Apply(T* x, int64_t n) const;
};

// The functions of all directions, those of one direction side by side: attributes activations,
// activation_alpha and activation_beta, or else `defaults` in each direction.
absl::StatusOr<std::vector<RnnActivation>> ParseRnnActivations(
    const NodeInfo& node, int directions, absl::Span<const RnnFunction> defaults);

}  // namespace onnx_run

#endif  // ONNX_RUN_OPS_RNN_ACTIVATION_H_
