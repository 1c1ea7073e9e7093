// One test data set run on a session: its inputs read, its outputs compared. Shared by onnx-run and
// onnx-conformance.
#ifndef ONNX_RUN_TOOLS_TEST_CASE_H_
#define ONNX_RUN_TOOLS_TEST_CASE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/session.h"
#include "tools/compare.h"
#include "tools/engine.h"

namespace onnx_run::tools {

// The value of each of session.inputs(), absent where the set has none. The files belong to the
// graph's inputs by position; to those without a default when there are just as many.
absl::StatusOr<std::vector<Value>> ReadTestInputs(const Session& session, const TestDataSet& set);

struct OutputCheck {
  std::string name;
  CompareResult result;
};

// Compares with the set's outputs, by position.
// Errors: those of reading; InvalidArgument when the set has more outputs than the model.
absl::StatusOr<std::vector<OutputCheck>> CheckTestOutputs(const Session& session,
                                                          const TestDataSet& set,
                                                          absl::Span<const Value> inputs,
                                                          absl::Span<const Value> outputs,
                                                          CompareOptions options);

// Whether outputs are random by definition for these inputs: then only type and shape can be
// compared.
bool HasRandomOutputs(const Session& session, absl::Span<const Value> inputs);
// Of a model of one random node: its outputs are what that operator can give. OK for other models.
absl::Status CheckRandomRange(const Session& session, absl::Span<const Value> inputs,
                              absl::Span<const Value> outputs);

// The inputs of the official runner for `light` models: i / n for element i of n.
absl::StatusOr<std::vector<Value>> LightInputs(const Session& session);

// `what` as one line of a report: "y: 3 of 12 float elements differ; ..."
std::string FirstDifference(absl::Span<const OutputCheck> checks);

}  // namespace onnx_run::tools

#endif  // ONNX_RUN_TOOLS_TEST_CASE_H_
