// Discrete Fourier transforms of any length, in double: Eigen's, but for lengths with a large prime
// factor, for which it needs quadratic time.
#ifndef ONNX_RUN_OPS_FFT_H_
#define ONNX_RUN_OPS_FFT_H_

#include <complex>
#include <cstdint>
#include <memory>

namespace onnx_run {

// Of one length. Not to be used by two threads at once.
class Fft {
 public:
  using Complex = std::complex<double>;
  static constexpr int64_t kMaxLength = int64_t{1} << 27;

  explicit Fft(int64_t length);  // 1 to kMaxLength
  ~Fft();
  Fft(const Fft&) = delete;
  Fft& operator=(const Fft&) = delete;

  // `x` and `out` are different arrays, of `length` elements where nothing else is said.
  // out[k] = sum over j of x[j] e^(-2 pi i j k / length).
  void Forward(const Complex* x, Complex* out);
  // Only the first length / 2 + 1 of `out` mean anything; the others are their conjugates.
  void ForwardReal(const double* x, Complex* out);
  // out[k] = sum over j of x[j] e^(2 pi i j k / length), divided by length.
  void Inverse(const Complex* x, Complex* out);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace onnx_run

#endif  // ONNX_RUN_OPS_FFT_H_
