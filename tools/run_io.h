// onnx-run's inputs from the command line, and where its outputs go.
#ifndef ONNX_RUN_TOOLS_RUN_IO_H_
#define ONNX_RUN_TOOLS_RUN_IO_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/session.h"
#include "tools/engine.h"
#include "tools/files.h"

namespace onnx_run::tools {

using NamedValue = std::pair<std::string, Value>;

// "name=value" of a repeatable flag. Errors: InvalidArgument.
absl::StatusOr<std::vector<std::pair<std::string, std::string>>> ParseAssignments(
    absl::string_view flag, const std::vector<std::string>& texts);
absl::StatusOr<std::map<std::string, int64_t>> ParseDims(const std::vector<std::string>& texts);

// `"x" is not an input of the model; it has: a, b`.
absl::Status UnknownName(absl::string_view what, absl::string_view name,
                         const std::vector<std::string>& known);

// Sets those of `values` (one for each of session.inputs()) that `texts` name: files or literals.
// An .npz without a name gives every input that it has an array for.
absl::Status ReadInputs(const Session& session, const std::vector<std::string>& texts,
                        std::vector<Value>& values);

enum class OutputFormat : uint8_t { kPb, kNpy, kNpz };
absl::StatusOr<OutputFormat> ParseOutputFormat(absl::string_view text);

// pb: output_0.pb, ... in order, as a test data set has them, each holding its name; npy: NAME.npy;
// npz: outputs.npz. All files appear, or none.
absl::Status WriteOutputs(StagedDirectory& staged, OutputFormat format,
                          absl::Span<const NamedValue> outputs);

// The value expected of output `name`, the `position`th of the model: NAME.pb, NAME.npy,
// output_K.pb, output_K.npy, or the array NAME of outputs.npz. NotFound when the folder has none of
// them.
absl::StatusOr<Value> ReadExpected(const std::string& directory, const std::string& name,
                                   int position, const Type& type);

}  // namespace onnx_run::tools

#endif  // ONNX_RUN_TOOLS_RUN_IO_H_
