#include "ops/fft.h"

#include <optional>

// One order of operations on every machine; our own threads.
#define POCKETFFT_NO_VECTORS
#define POCKETFFT_NO_MULTITHREADING
#include <pocketfft_hdronly.h>

namespace onnx_run {

// The plans of pocketfft's inside, as numpy uses them: its interface makes one for each call, or
// keeps the last few of any length for good.
template <typename T>
struct Fft<T>::Impl {
  Impl(FftKind kind, int64_t length)
      : forward(kind == FftKind::kForward || kind == FftKind::kRealForward),
        factor(forward ? T(1) : T(1) / static_cast<T>(length)) {
#ifndef __clang_analyzer__  // takes pocketfft's buffers for uninitialised where they are not
    if (kind == FftKind::kForward || kind == FftKind::kInverse) {
      complex.emplace(length);
    } else {
      real.emplace(length);
    }
#endif
  }

  const bool forward;
  const T factor;
  std::optional<pocketfft::detail::pocketfft_c<T>> complex;
  std::optional<pocketfft::detail::pocketfft_r<T>> real;
};

template <typename T>
Fft<T>::Fft(FftKind kind, int64_t length) : impl_(std::make_unique<Impl>(kind, length)) {}

template <typename T>
Fft<T>::~Fft() = default;

template <typename T>
void Fft<T>::Run(T* x) const {
#ifdef __clang_analyzer__
  static_cast<void>(x);
#else
  if (impl_->real) {
    impl_->real->exec(x, impl_->factor, impl_->forward);
  } else {
    auto* const pairs = reinterpret_cast<pocketfft::detail::cmplx<T>*>(x);
    impl_->complex->exec(pairs, impl_->factor, impl_->forward);
  }
#endif
}

template class Fft<float>;
template class Fft<double>;

}  // namespace onnx_run
