// A model file made ready to run, with this program's operators; and the values that stand beside
// it.
#ifndef ONNX_RUN_TOOLS_ENGINE_H_
#define ONNX_RUN_TOOLS_ENGINE_H_

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/model.h"
#include "runtime/registry.h"
#include "runtime/session.h"

namespace onnx_run::tools {

// AllKernels() and StandardSchemas(), made once.
const OpRegistry& StandardRegistry();

// SessionOptions with the standard's function bodies.
SessionOptions DefaultSessionOptions();

// Shows where a status comes from: "what: message" under the same code.
absl::Status Annotate(const absl::Status& status, absl::string_view what);

// Operators of `model` that have neither a kernel nor a body, as `domain.Op-opset` ("Op-opset" of
// the standard's own domain), sorted; functions and subgraphs included.
std::set<std::string> MissingOperators(const Model& model, const OpRegistry& registry);
// Operators used, in all graphs and functions, with the number of nodes.
std::vector<std::pair<std::string, int64_t>> OperatorCounts(const Model& model);
// Calls fn(node, opset imports) for every node of the model: main graph, subgraphs, functions.
void ForEachNode(const Model& model,
                 absl::FunctionRef<void(const Node&, absl::Span<const OpsetImport>)> fn);
// The domain's version, the highest where it is imported twice; 0 when it is not.
int64_t OpsetOf(absl::Span<const OpsetImport> imports, absl::string_view domain);

// Any of .pb (by the declared type), .npy, and .npz (the member `name`, or the only one).
absl::StatusOr<Value> ReadAnyValueFile(const std::string& path, const std::string& name,
                                       const Type& declared);

// A folder of a test's inputs and outputs: input_0.pb, output_0.pb, ... (or .npy).
struct TestDataSet {
  std::string path;
  std::vector<std::string> inputs;  // paths, by position; "" where there is none
  std::vector<std::string> outputs;
};
absl::StatusOr<TestDataSet> ReadTestDataSet(const std::string& path);
// The test_data_set_* folders in `directory`, in the order of their numbers.
absl::StatusOr<std::vector<TestDataSet>> FindTestDataSets(const std::string& directory);

// rtol and atol of a data.json, where it has them.
absl::Status ReadDataJson(const std::string& path, double* rtol, double* atol);

}  // namespace onnx_run::tools

#endif  // ONNX_RUN_TOOLS_ENGINE_H_
