// Sigmoid in float: 1 / (1 + e^-x), with what each rounding loses kept, so that only the last
// addition counts. The result's subnormals are rounded once too.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/vector_sigmoid.cc"
// Two are enough beside the one that every machine has.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include <cstdint>

#include "ops/vector_float-inl.h"
#include "ops/vector_math.h"

#ifndef ONNX_RUN_OPS_SIGMOID_TABLES
#define ONNX_RUN_OPS_SIGMOID_TABLES
namespace onnx_run::vector_math {
namespace {

// 2^(j / 32) as float, its bits less j << 18; and by how much of itself that is too little.
alignas(64) constexpr uint32_t kPower[32] = {
    0x3f800000U, 0x3f7ecd87U, 0x3f7daac3U, 0x3f7c980fU, 0x3f7b95c2U, 0x3f7aa43aU, 0x3f79c3d3U,
    0x3f78f4f0U, 0x3f7837f0U, 0x3f778d3aU, 0x3f76f532U, 0x3f767043U, 0x3f75fed7U, 0x3f75a15bU,
    0x3f75583fU, 0x3f7523f6U, 0x3f7504f3U, 0x3f74fbafU, 0x3f7508a4U, 0x3f752c4dU, 0x3f75672aU,
    0x3f75b9beU, 0x3f76248cU, 0x3f76a81eU, 0x3f7744fdU, 0x3f77fbb8U, 0x3f78ccdfU, 0x3f79b907U,
    0x3f7ac0c7U, 0x3f7be4baU, 0x3f7d257dU, 0x3f7e83b3U};
alignas(64) constexpr float kPowerRest[32] = {0.0F,
                                              -0x1.947414p-25F,
                                              0x1.8d96d4p-25F,
                                              -0x1.dda2fcp-25F,
                                              -0x1.9c0c22p-27F,
                                              -0x1.a2fbb2p-25F,
                                              0x1.964904p-25F,
                                              -0x1.2b0dbcp-25F,
                                              0x1.125002p-25F,
                                              -0x1.cde8cep-26F,
                                              0x1.370be4p-25F,
                                              0x1.336de2p-30F,
                                              -0x1.0a3550p-25F,
                                              -0x1.c541b4p-26F,
                                              -0x1.00d8acp-27F,
                                              -0x1.6cb284p-25F,
                                              0x1.26055cp-26F,
                                              0x1.8b2bb8p-26F,
                                              -0x1.05cb44p-25F,
                                              -0x1.1c2142p-26F,
                                              0x1.67a1cap-28F,
                                              -0x1.348e56p-25F,
                                              0x1.a3b5e4p-28F,
                                              -0x1.0b7ec8p-25F,
                                              -0x1.f9c304p-27F,
                                              -0x1.e4c886p-26F,
                                              -0x1.6961b4p-28F,
                                              -0x1.b5151ep-28F,
                                              -0x1.a5217cp-28F,
                                              -0x1.ab7132p-26F,
                                              0x1.61428ep-28F,
                                              -0x1.2ad5f8p-27F};

}  // namespace
}  // namespace onnx_run::vector_math
#endif  // ONNX_RUN_OPS_SIGMOID_TABLES

HWY_BEFORE_NAMESPACE();
namespace onnx_run::vector_math::HWY_NAMESPACE {
namespace {

struct SigmoidFunction {
  template <class V>
  ONNX_RUN_INLINE V operator()(V x) const {
    const hn::DFromV<V> d;
    const hn::RebindToUnsigned<decltype(d)> du;
    const V one = hn::Set(d, 1.0F);
    // Beyond these the result is 0 or 1. NaN stays.
    const V z = MinOrSecond(hn::Set(d, 40.0F), MaxOrSecond(hn::Set(d, -104.0F), x));
    // -z = n ln2 / 32 - r, |r| <= ln2 / 64; n is in the low bits of `shifted`.
    const V rounder = hn::Set(d, 0x1.8p23F);
    const V shifted = Fma(z, hn::Set(d, -0x1.715476p5F), rounder);
    const V n = hn::Sub(shifted, rounder);
    V r = Fma(n, hn::Set(d, 0x1.62e43p-6F), z);  // exact
    r = Fma(n, hn::Set(d, -0x1.05c61p-34F), r);
    // e^-z = e (1 + q)
    const auto index = hn::BitCast(du, shifted);
    auto e_bits = hn::Add(LookUp32(du, kPower, index), hn::ShiftLeft<18>(index));
    const V q = Fma(hn::Mul(r, r), Fma(r, hn::Set(d, -0x1.5555c8p-3F), hn::Set(d, 0x1.000088p-1F)),
                    hn::Sub(LookUp32(d, kPowerRest, index), r));
    // Where the result is subnormal, it is computed times 2^64 (the 1 in 1 + e^-z does not count
    // there) and rounded where its last bit, then 2^-85, is: that is the last bit of 2^-62 plus it.
    const auto tiny = hn::Lt(z, hn::Set(d, -87.33654F));
    const auto tiny_bits = hn::RebindMask(du, tiny);
    const V unit = hn::Set(d, 0x1p-62F);
    e_bits = hn::IfThenElse(tiny_bits, hn::Sub(e_bits, hn::Set(du, 64U << 23)), e_bits);
    const V e = hn::BitCast(d, e_bits);
    // 1 + e + e q = sum + rest
    const V sum = hn::Add(one, Fma(e, q, e));
    const V rest = Fma(e, q, hn::Add(hn::Sub(hn::Max(one, e), sum), hn::Min(one, e)));
    const V quotient = hn::Div(one, sum);
    V remainder = NegFma(quotient, rest, NegFma(quotient, sum, one));
    const V high = hn::IfThenElse(tiny, hn::Add(quotient, unit), quotient);
    const V low = hn::IfThenElseZero(tiny, hn::Sub(quotient, hn::Sub(high, unit)));
    remainder = Fma(low, sum, remainder);
    // The fraction is the subnormal. (Operations on subnormals would be slow.)
    const auto y = hn::BitCast(du, Fma(quotient, remainder, high));
    return hn::BitCast(d, hn::IfThenElse(tiny_bits, hn::Sub(y, hn::BitCast(du, unit)), y));
  }
};
void SigmoidVectors(const float* x, float* out, int64_t n) {
  MapVectors(SigmoidFunction(), x, out, n);
}

}  // namespace
}  // namespace onnx_run::vector_math::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace onnx_run::vector_math {

HWY_EXPORT(SigmoidVectors);
void Sigmoid(const float* x, float* out, int64_t n) {
  HWY_DYNAMIC_DISPATCH(SigmoidVectors)(x, out, n);
}

}  // namespace onnx_run::vector_math
#endif  // HWY_ONCE
