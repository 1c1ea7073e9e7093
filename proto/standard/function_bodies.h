// The standard's function bodies, from the onnx library's schemas.
//
// Only programs that want them link the schemas in (about a megabyte), and only a model with an
// operator that needs a body loads them (about 11 ms).
#ifndef ONNX_RUN_PROTO_STANDARD_FUNCTION_BODIES_H_
#define ONNX_RUN_PROTO_STANDARD_FUNCTION_BODIES_H_

#include <memory>

#include "runtime/session.h"

namespace onnx_run {

// For SessionOptions::function_provider. Bodies are kept; one provider may serve many sessions.
std::shared_ptr<FunctionProvider> StandardFunctions();

}  // namespace onnx_run

#endif  // ONNX_RUN_PROTO_STANDARD_FUNCTION_BODIES_H_
