#include "ops/rnn_activation.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ops/vector_math.h"
#include "runtime/status_macros.h"

namespace onnx_run {
namespace {

struct FunctionRow {
  const char* name;
  RnnFunction function;
  bool has_alpha;
  bool has_beta;
  float alpha;  // when the node gives none: those of the operators of that name
  float beta;
};
constexpr FunctionRow kFunctions[] = {
    // in the order of RnnFunction
    {"Relu", RnnFunction::kRelu, false, false, 0, 0},
    {"Tanh", RnnFunction::kTanh, false, false, 0, 0},
    {"Sigmoid", RnnFunction::kSigmoid, false, false, 0, 0},
    {"Affine", RnnFunction::kAffine, true, true, 1, 0},
    {"LeakyRelu", RnnFunction::kLeakyRelu, true, false, 0.01F, 0},
    {"ThresholdedRelu", RnnFunction::kThresholdedRelu, true, false, 1, 0},
    {"ScaledTanh", RnnFunction::kScaledTanh, true, true, 1, 1},
    {"HardSigmoid", RnnFunction::kHardSigmoid, true, true, 0.2F, 0.5F},
    {"Elu", RnnFunction::kElu, true, false, 1, 0},
    {"Softsign", RnnFunction::kSoftsign, false, false, 0, 0},
    {"Softplus", RnnFunction::kSoftplus, false, false, 0, 0},
};

// Some exporters write the names in lower case.
const FunctionRow* FindFunction(const std::string& name) {
  for (const FunctionRow& row : kFunctions) {
    if (absl::EqualsIgnoreCase(row.name, name)) return &row;
  }
  return nullptr;
}

// The values of `attribute`, one for each function; where none is given, the function's own. The
// values are consumed by the functions that take one; a list with one for every function is
// understood too.
absl::Status SetParameters(const NodeInfo& node, absl::string_view attribute,
                           bool FunctionRow::*has, float RnnActivation::*member,
                           std::vector<RnnActivation>& activations) {
  const std::vector<float> values = node.Floats(attribute);
  size_t takers = 0;
  for (const RnnActivation& activation : activations) {
    takers += kFunctions[static_cast<int>(activation.function)].*has ? 1 : 0;
  }
  const bool by_position = values.size() > takers;
  if (by_position && values.size() != activations.size()) {
    return node.BadAttribute(
        attribute, absl::StrCat("a list of ", values.size()),
        absl::StrCat("at most ", takers, ", one for each function that has it, or ",
                     activations.size(), ", one for each function"));
  }
  size_t next = 0;
  for (size_t i = 0; i < activations.size(); ++i) {
    if (!(kFunctions[static_cast<int>(activations[i].function)].*has)) continue;
    const size_t from = by_position ? i : next++;
    if (from < values.size()) activations[i].*member = values[from];
  }
  return absl::OkStatus();
}

double SoftplusOf(double x) { return (x > 0 ? x : 0) + std::log1p(std::exp(-std::abs(x))); }

template <typename T, typename Fn>
void ForEach(T* x, int64_t n, Fn fn) {
  for (int64_t i = 0; i < n; ++i) x[i] = fn(x[i]);
}

void Tanh(float* x, int64_t n) { vector_math::Tanh(x, x, n); }
void Tanh(double* x, int64_t n) {
  ForEach(x, n, [](double v) { return std::tanh(v); });
}
void Sigmoid(float* x, int64_t n) { vector_math::Sigmoid(x, x, n); }
void Sigmoid(double* x, int64_t n) {
  ForEach(x, n, [](double v) { return 1.0 / (1.0 + std::exp(-v)); });
}
void Softplus(float* x, int64_t n) { vector_math::Softplus(x, x, n); }
void Softplus(double* x, int64_t n) { ForEach(x, n, SoftplusOf); }
void Elu(float* x, float alpha, int64_t n) { vector_math::ExpLinear(x, alpha, 1.0F, 1.0F, x, n); }
void Elu(double* x, float alpha, int64_t n) {
  ForEach(x, n, [alpha](double v) { return v > 0 ? v : alpha * std::expm1(v); });
}

}  // namespace

template <typename T>
void RnnActivation::Apply(T* x, int64_t n) const {
  const T a = alpha;
  const T b = beta;
  switch (function) {
    case RnnFunction::kRelu: return ForEach(x, n, [](T v) { return v < 0 ? T{0} : v; });
    case RnnFunction::kTanh: return Tanh(x, n);
    case RnnFunction::kSigmoid: return Sigmoid(x, n);
    case RnnFunction::kAffine: return ForEach(x, n, [=](T v) { return a * v + b; });
    case RnnFunction::kLeakyRelu: return ForEach(x, n, [=](T v) { return v < 0 ? a * v : v; });
    case RnnFunction::kThresholdedRelu:  // at alpha itself unlike the operator of that name
      return ForEach(x, n, [=](T v) { return v < a ? T{0} : v; });
    case RnnFunction::kScaledTanh:
      ForEach(x, n, [=](T v) { return b * v; });
      Tanh(x, n);
      return ForEach(x, n, [=](T v) { return a * v; });
    case RnnFunction::kHardSigmoid:
      return ForEach(x, n, [=](T v) {
        v = a * v + b;
        v = v < 0 ? T{0} : v;
        return v > 1 ? T{1} : v;
      });
    case RnnFunction::kElu: return Elu(x, alpha, n);
    case RnnFunction::kSoftsign: return ForEach(x, n, [](T v) { return v / (T{1} + std::abs(v)); });
    case RnnFunction::kSoftplus: return Softplus(x, n);
  }
}
template void RnnActivation::Apply<float>(float*, int64_t) const;
template void RnnActivation::Apply<double>(double*, int64_t) const;

absl::StatusOr<std::vector<RnnActivation>> ParseRnnActivations(
    const NodeInfo& node, int directions, absl::Span<const RnnFunction> defaults) {
  const size_t count = defaults.size() * static_cast<size_t>(directions);
  std::vector<std::string> names = node.Strings("activations");
  if (names.empty()) {
    for (int d = 0; d < directions; ++d) {
      for (const RnnFunction f : defaults) names.push_back(kFunctions[static_cast<int>(f)].name);
    }
  }
  // RNN's default has two functions whatever the direction, and is written out by some exporters.
  if (defaults.size() == 1 && names.size() == 2) names.resize(count);
  if (names.size() != count) {
    return node.BadAttribute("activations", absl::StrCat("a list of ", names.size()),
                             absl::StrCat("a list of ", count));
  }
  std::vector<RnnActivation> activations;
  for (const std::string& name : names) {
    const FunctionRow* row = FindFunction(name);
    if (row == nullptr) {
      std::string known;
      for (const FunctionRow& f : kFunctions) {
        absl::StrAppend(&known, known.empty() ? "" : ", ", f.name);
      }
      return node.BadAttribute("activations", absl::StrCat("\"", name, "\""),
                               absl::StrCat("one of ", known));
    }
    activations.push_back({row->function, row->alpha, row->beta});
  }
  RETURN_IF_ERROR(SetParameters(node, "activation_alpha", &FunctionRow::has_alpha,
                                &RnnActivation::alpha, activations));
  RETURN_IF_ERROR(SetParameters(node, "activation_beta", &FunctionRow::has_beta,
                                &RnnActivation::beta, activations));
  return activations;
}

}  // namespace onnx_run
