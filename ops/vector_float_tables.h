// Tables of ops/vector_float-inl.h.
#ifndef ONNX_RUN_OPS_VECTOR_FLOAT_TABLES_H_
#define ONNX_RUN_OPS_VECTOR_FLOAT_TABLES_H_

#include <cstdint>

namespace onnx_run::vector_math {

// 2^(j / 32) as float, its bits less j << 18; and by how much of itself that is too little.
alignas(64) inline constexpr uint32_t kPower[32] = {
    0x3f800000U, 0x3f7ecd87U, 0x3f7daac3U, 0x3f7c980fU, 0x3f7b95c2U, 0x3f7aa43aU, 0x3f79c3d3U,
    0x3f78f4f0U, 0x3f7837f0U, 0x3f778d3aU, 0x3f76f532U, 0x3f767043U, 0x3f75fed7U, 0x3f75a15bU,
    0x3f75583fU, 0x3f7523f6U, 0x3f7504f3U, 0x3f74fbafU, 0x3f7508a4U, 0x3f752c4dU, 0x3f75672aU,
    0x3f75b9beU, 0x3f76248cU, 0x3f76a81eU, 0x3f7744fdU, 0x3f77fbb8U, 0x3f78ccdfU, 0x3f79b907U,
    0x3f7ac0c7U, 0x3f7be4baU, 0x3f7d257dU, 0x3f7e83b3U};
alignas(64) inline constexpr float kPowerRest[32] = {
    0x0.000000p+00F,  -0x1.947414p-25F, 0x1.8d96d4p-25F,  -0x1.dda2fcp-25F, -0x1.9c0c22p-27F,
    -0x1.a2fbb2p-25F, 0x1.964904p-25F,  -0x1.2b0dbcp-25F, 0x1.125002p-25F,  -0x1.cde8cep-26F,
    0x1.370be4p-25F,  0x1.336de2p-30F,  -0x1.0a3550p-25F, -0x1.c541b4p-26F, -0x1.00d8acp-27F,
    -0x1.6cb284p-25F, 0x1.26055cp-26F,  0x1.8b2bb8p-26F,  -0x1.05cb44p-25F, -0x1.1c2142p-26F,
    0x1.67a1cap-28F,  -0x1.348e56p-25F, 0x1.a3b5e4p-28F,  -0x1.0b7ec8p-25F, -0x1.f9c304p-27F,
    -0x1.e4c886p-26F, -0x1.6961b4p-28F, -0x1.b5151ep-28F, -0x1.a5217cp-28F, -0x1.ab7132p-26F,
    0x1.61428ep-28F,  -0x1.2ad5f8p-27F};

// f(x) for x >= 0 by 32 segments; tools/gen/segment_tables.py says what the rows are.
struct SegmentTable {
  float scale;  // the segment is told by x * scale + 1 in [1, 16)
  float bound;  // the greatest x
  alignas(64) float rows[8][32];
};

// The same with neither slopes nor anything kept beyond float's precision.
struct PlainTable {
  float scale;
  float bound;
  float offset;  // the segment is told by x * scale + offset
  alignas(64) float rows[7][32];
};

}  // namespace onnx_run::vector_math

#endif  // ONNX_RUN_OPS_VECTOR_FLOAT_TABLES_H_
