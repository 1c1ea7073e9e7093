// The program onnx-run: runs a model, or a test directory, and shows, writes or compares what comes
// out.
#ifndef ONNX_RUN_TOOLS_RUN_PROGRAM_H_
#define ONNX_RUN_TOOLS_RUN_PROGRAM_H_

namespace onnx_run::tools {

// Returns an exit code (tools/exit_code.h).
int OnnxRunMain(int argc, char** argv);

}  // namespace onnx_run::tools

#endif  // ONNX_RUN_TOOLS_RUN_PROGRAM_H_
