#include "tools/run_program.h"

int main(int argc, char** argv) { return onnx_run::tools::OnnxRunMain(argc, argv); }
