// onnx-run --summary, --list-ops and --version: what a model needs, and what this program has.
#ifndef ONNX_RUN_TOOLS_SUMMARY_H_
#define ONNX_RUN_TOOLS_SUMMARY_H_

#include <string>

#include "runtime/model.h"
#include "runtime/registry.h"

namespace onnx_run::tools {

// Inputs, outputs, opsets, operators by count, parameters and their types, nodes without a kernel.
std::string SummaryText(const Model& model, const OpRegistry& registry);
// Domain, operator, versions with a kernel, and the share of the standard's.
std::string ListOpsText(const OpRegistry& registry);
// "onnx-run 0.1.0, onnx 1.22.0: ..." with the highest opset of each domain and the highest IR
// version.
std::string VersionText(const std::string& program, const OpRegistry& registry);

}  // namespace onnx_run::tools

#endif  // ONNX_RUN_TOOLS_SUMMARY_H_
