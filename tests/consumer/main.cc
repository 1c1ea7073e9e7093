// Loads a model that is one Cast from float [3, 5] to float8e4m3fn, and runs it.
#include <cstdint>
#include <cstdio>
#include <vector>

#include "ops/all_ops.h"
#include "proto/load.h"
#include "runtime/session.h"

int main(int argc, char** argv) {
  auto model = onnx_run::LoadModel(argc > 1 ? argv[1] : "model.onnx");
  if (!model.ok()) return std::puts(model.status().ToString().c_str()), 1;

  const onnx_run::OpRegistry registry(onnx_run::AllKernels(), &onnx_run::StandardSchemas());
  auto session = onnx_run::Session::Create(*std::move(model), registry);
  if (!session.ok()) return std::puts(session.status().ToString().c_str()), 1;

  const std::vector<float> ones_and_a_half(15, 1.5F);
  auto input = onnx_run::Tensor::Of<float>(onnx_run::ElementType::kFloat, {3, 5}, ones_and_a_half);
  if (!input.ok()) return std::puts(input.status().ToString().c_str()), 1;
  auto outputs = (*session)->Run({{"input", *input}});
  if (!outputs.ok()) return std::puts(outputs.status().ToString().c_str()), 1;

  const auto* bytes = static_cast<const uint8_t*>(outputs->at(0).tensor().data());
  std::printf("1.5 as float8e4m3fn is 0x%02x\n", bytes[14]);
  return bytes[14] == 0x3c ? 0 : 1;
}
