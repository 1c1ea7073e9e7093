#include "ops/fft.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <unsupported/Eigen/FFT>
#include <vector>

namespace onnx_run {
namespace {

// Where Bluestein's three transforms of two to four times the length are not slower.
constexpr int64_t kLargePrime = 50;

int64_t LargestPrimeFactor(int64_t n) {
  int64_t largest = 1;
  for (int64_t p = 2; p * p <= n; ++p) {
    for (; n % p == 0; n /= p) largest = p;
  }
  return std::max(largest, n);
}

}  // namespace

struct Fft::Impl {
  explicit Impl(int64_t n) : length(n) {
    fft.SetFlag(Eigen::FFT<double>::HalfSpectrum);
    if (LargestPrimeFactor(n) > kLargePrime) MakeChirp();
  }

  // Bluestein: with j k = (j^2 + k^2 - (k - j)^2) / 2 a transform is a convolution with the chirp
  // e^(pi i j^2 / n), for which any longer transform will do.
  void MakeChirp() {
    for (padded = 1; padded < 2 * length - 1;) padded *= 2;
    chirp.resize(length);
    a.assign(padded, Complex());
    b.resize(padded);
    filter.resize(padded);
    for (int64_t j = 0; j < length; ++j) {
      // j^2 modulo the period, so that the angle is small and exact.
      const double angle = std::numbers::pi * static_cast<double>(j * j % (2 * length)) /
                           static_cast<double>(length);
      chirp[j] = Complex(std::cos(angle), -std::sin(angle));
      a[j] = std::conj(chirp[j]);
      if (j > 0) a[padded - j] = a[j];
    }
    fft.fwd(filter.data(), a.data(), padded);
  }

  // `get(j)` is element j, `put(k, value)` takes element k.
  template <typename Get, typename Put>
  void Convolve(Get get, Put put) {
    for (int64_t j = 0; j < length; ++j) a[j] = get(j) * chirp[j];
    std::fill(a.begin() + length, a.end(), Complex());
    fft.fwd(b.data(), a.data(), padded);
    for (int64_t k = 0; k < padded; ++k) b[k] *= filter[k];
    fft.inv(a.data(), b.data(), padded);
    for (int64_t k = 0; k < length; ++k) put(k, a[k] * chirp[k]);
  }

  const int64_t length;
  Eigen::FFT<double> fft;
  int64_t padded = 0;  // 0: Eigen's transform does
  std::vector<Complex> chirp;
  std::vector<Complex> filter;
  std::vector<Complex> a;
  std::vector<Complex> b;
};

Fft::Fft(int64_t length) : impl_(std::make_unique<Impl>(length)) {}
Fft::~Fft() = default;

// Eigen's transform does not know the length 1.
void Fft::Forward(const Complex* x, Complex* out) {
  if (impl_->length == 1) {
    out[0] = x[0];
    return;
  }
  if (impl_->padded == 0) return impl_->fft.fwd(out, x, impl_->length);
  impl_->Convolve([x](int64_t j) { return x[j]; },
                  [out](int64_t k, const Complex& value) { out[k] = value; });
}

void Fft::ForwardReal(const double* x, Complex* out) {
  if (impl_->length == 1) {
    out[0] = x[0];
    return;
  }
  if (impl_->padded == 0) return impl_->fft.fwd(out, x, impl_->length);
  impl_->Convolve([x](int64_t j) { return Complex(x[j]); },
                  [out](int64_t k, const Complex& value) { out[k] = value; });
}

void Fft::Inverse(const Complex* x, Complex* out) {
  if (impl_->length == 1) {
    out[0] = x[0];
    return;
  }
  if (impl_->padded == 0) return impl_->fft.inv(out, x, impl_->length);
  const double scale = 1.0 / static_cast<double>(impl_->length);
  impl_->Convolve([x](int64_t j) { return std::conj(x[j]); },
                  [=](int64_t k, const Complex& value) { out[k] = std::conj(value) * scale; });
}

}  // namespace onnx_run
