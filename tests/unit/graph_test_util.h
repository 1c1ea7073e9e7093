// What the tests of graphs share: a registry with a few operators of their own, and short ways to
// run a model and to look at what comes out.
//
// Domain "t" (opset 1), so that these tests need no arithmetic of the standard's:
//   Add(a, b)     int64 or float, the same shape or a scalar b
//   Less(a, b)    int64 scalars
//   Boom()        fails, with the words "boom"; it has no inputs, and is never run at load
#ifndef ONNX_RUN_TESTS_UNIT_GRAPH_TEST_UTIL_H_
#define ONNX_RUN_TESTS_UNIT_GRAPH_TEST_UTIL_H_

#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/registry.h"
#include "runtime/session.h"
#include "tests/unit/model_builder.h"

namespace onnx_run {

const OpRegistry& GraphTestRegistry();

using Feeds = std::vector<std::pair<std::string, Value>>;

// Loads and runs.
absl::StatusOr<std::vector<Value>> RunModel(Model model, const Feeds& feeds = {},
                                            SessionOptions options = {});
// The only output, as numbers; a failure is a failure of the test, and gives {}.
std::vector<int64_t> RunInts(Model model, const Feeds& feeds = {}, SessionOptions options = {});

absl::Status LoadStatus(Model model, SessionOptions options = {});

// int64 elements, or bools, as numbers.
std::vector<int64_t> IntsOf(const Value& value);
std::vector<float> FloatsOf(const Value& value);
std::vector<int64_t> DimsOf(const Value& value);

Tensor Int64Scalar(int64_t value);
Tensor BoolScalar(bool value);
Value Int64Sequence(std::initializer_list<int64_t> elements);  // of scalars
// A function of domain "t" with the imports that its nodes need.
FunctionBuilder TestFunction(const std::string& name, int64_t opset);

MATCHER_P(FailsWith, parts, "") {
  if (arg.ok()) {
    *result_listener << "which is OK";
    return false;
  }
  for (const std::string& part : parts) {
    if (std::string(arg.message()).find(part) != std::string::npos) continue;
    *result_listener << "whose message lacks \"" << part << "\": " << arg;
    return false;
  }
  return true;
}
// All of these are in the message.
inline std::vector<std::string> Words(std::initializer_list<std::string> words) { return words; }

}  // namespace onnx_run

#endif  // ONNX_RUN_TESTS_UNIT_GRAPH_TEST_UTIL_H_
