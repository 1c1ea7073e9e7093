// Discrete Fourier transforms of any length: pocketfft's, which are numpy's too.
#ifndef ONNX_RUN_OPS_FFT_H_
#define ONNX_RUN_OPS_FFT_H_

#include <cstdint>
#include <memory>

namespace onnx_run {

enum class FftKind : uint8_t {
  kForward,      // out[k] = sum over j of x[j] e^(-2 pi i j k / length)
  kInverse,      // out[k] = sum over j of x[j] e^(2 pi i j k / length), divided by length
  kRealForward,  // as kForward, of real numbers
  kRealInverse,  // as kInverse, with real results
};

inline constexpr int64_t kMaxFftLength = int64_t{1} << 27;

// The tables for one kind and length, which any number of threads may use. T: float or double.
template <typename T>
class Fft {
 public:
  Fft(FftKind kind, int64_t length);  // 1 to kMaxFftLength
  ~Fft();
  Fft(const Fft&) = delete;
  Fft& operator=(const Fft&) = delete;

  // Transforms in place. Complex numbers are pairs of real and imaginary part, 2 * length numbers.
  // With real numbers on one side there are `length` numbers on both. The spectrum then is r0, r1,
  // i1, r2, i2 ... and, of an even length, r(length / 2) at the end: the other half is conjugate.
  void Run(T* x) const;

 private:
  struct Impl;
  std::unique_ptr<const Impl> impl_;
};

extern template class Fft<float>;
extern template class Fft<double>;

}  // namespace onnx_run

#endif  // ONNX_RUN_OPS_FFT_H_
