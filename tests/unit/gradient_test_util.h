// What the tests of Gradient share.
#ifndef ONNX_RUN_TESTS_UNIT_GRADIENT_TEST_UTIL_H_
#define ONNX_RUN_TESTS_UNIT_GRADIENT_TEST_UTIL_H_

#include <cmath>
#include <vector>

#include "ops/all_ops.h"
#include "proto/standard/function_bodies.h"
#include "tests/unit/graph_test_util.h"

namespace onnx_run {

inline constexpr char kTraining[] = "ai.onnx.preview.training";

inline const OpRegistry& AllOperators() {
  static const auto* registry = new OpRegistry(AllKernels(), &StandardSchemas());
  return *registry;
}

inline SessionOptions WithBodies() {
  SessionOptions options;
  options.threads = 1;
  options.function_provider = StandardFunctions();
  return options;
}

// Doubles between `low` and `high`, no two alike, in no order.
inline Tensor Doubles(const std::vector<int64_t>& dims, double low = -1, double high = 1,
                      double phase = 0.37) {
  int64_t count = 1;
  for (int64_t dim : dims) count *= dim;
  std::vector<double> elements(static_cast<size_t>(count));
  for (size_t i = 0; i < elements.size(); ++i) {
    const double part = phase + 0.61803398874989485 * static_cast<double>(i);
    elements[i] = low + (high - low) * (part - std::floor(part));
  }
  return Tensor::Of<double>(ElementType::kDouble, dims, absl::MakeConstSpan(elements)).value();
}

inline std::vector<double> DoublesOf(const Value& value) {
  const auto span = value.tensor().span<double>();
  return {span.begin(), span.end()};
}

}  // namespace onnx_run

#endif  // ONNX_RUN_TESTS_UNIT_GRADIENT_TEST_UTIL_H_
