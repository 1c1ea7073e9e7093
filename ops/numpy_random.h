// The generator of the random operators: MT19937, seeded and read as numpy.random.RandomState does,
// which is what the standard's reference uses.
#ifndef ONNX_RUN_OPS_NUMPY_RANDOM_H_
#define ONNX_RUN_OPS_NUMPY_RANDOM_H_

#include <cstdint>
#include <random>

namespace onnx_run {

class NumpyRandom {
 public:
  // The low 32 bits count.
  explicit NumpyRandom(uint64_t seed) : bits_(static_cast<uint32_t>(seed)) {}

  // In [0, 1), 53 bits.
  double Uniform() {
    const auto high = static_cast<double>(bits_() >> 5);
    const auto low = static_cast<double>(bits_() >> 6);
    return (high * 67108864.0 + low) / 9007199254740992.0;
  }

 private:
  std::mt19937 bits_;
};

}  // namespace onnx_run

#endif  // ONNX_RUN_OPS_NUMPY_RANDOM_H_
