// DFT, STFT and MelWeightMatrix, computed in double and rounded once; but the inverse DFT of floats
// in float. Both as numpy does it, whose rounding the official tests ask for.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/dispatch.h"
#include "ops/families.h"
#include "ops/fft.h"
#include "ops/kernel_table.h"
#include "ops/shape_util.h"
#include "runtime/status_macros.h"

namespace onnx_run {
namespace {

// Samples that are worth a thread.
constexpr int64_t kGrain = int64_t{1} << 15;

absl::Status CheckLength(int64_t length, absl::string_view name) {
  if (length >= 1 && length <= kMaxFftLength) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, " is ", length, ", expected 1 to ", kMaxFftLength));
}

// Real (1) or complex (2) by the last dimension.
absl::StatusOr<bool> IsComplex(const Tensor& tensor, absl::string_view name) {
  if (tensor.rank() >= 2 && (tensor.dims().back() == 1 || tensor.dims().back() == 2)) {
    return tensor.dims().back() == 2;
  }
  return absl::InvalidArgumentError(
      absl::StrCat(name, " is ", TypeAndDims(tensor),
                   ", expected 2 dimensions or more, of which the last is 1 or 2"));
}

// One row after another: elements in, transformed elements out.
template <typename T>
class FftRow {
 public:
  FftRow(const Fft<T>& fft, FftKind kind, int64_t length)
      : fft_(fft), kind_(kind), length_(length), x_(IsReal() ? length : 2 * length) {}

  // Element j of the row, of kRealInverse up to length / 2. All are to be set for each Run.
  void Set(int64_t j, T real, T imaginary) {
    if (kind_ == FftKind::kRealForward) {
      x_[j] = real;
    } else if (kind_ == FftKind::kRealInverse) {
      // A real signal: its zero frequency and, of an even length, its highest one are real.
      x_[j == 0 ? 0 : 2 * j - 1] = real;
      if (j > 0 && 2 * j < length_) x_[2 * j] = imaginary;
    } else {
      x_[2 * j] = real;
      x_[2 * j + 1] = imaginary;
    }
  }

  void Run() { fft_.Run(x_.data()); }

  T Real(int64_t k) const {
    if (kind_ == FftKind::kRealInverse) return x_[k];
    if (kind_ != FftKind::kRealForward) return x_[2 * k];
    const int64_t half = std::min(k, length_ - k);
    return x_[half == 0 ? 0 : 2 * half - 1];
  }

  T Imaginary(int64_t k) const {
    if (kind_ == FftKind::kRealInverse) return T(0);
    if (kind_ != FftKind::kRealForward) return x_[2 * k + 1];
    const int64_t half = std::min(k, length_ - k);
    if (half == 0 || 2 * half == length_) return T(0);
    return half == k ? x_[2 * half] : -x_[2 * half];
  }

 private:
  bool IsReal() const { return kind_ == FftKind::kRealForward || kind_ == FftKind::kRealInverse; }

  const Fft<T>& fft_;
  const FftKind kind_;
  const int64_t length_;
  std::vector<T> x_;
};

struct DftAttributes {
  std::optional<int64_t> axis;  // an input from version 20 on
  bool inverse;
  bool onesided;
};
absl::StatusOr<DftAttributes> ParseDft(const NodeInfo& node) {
  DftAttributes attributes;
  if (node.since_version() < 20) attributes.axis = node.IntOr("axis", 1);
  attributes.inverse = node.IntOr("inverse", 0) != 0;
  attributes.onesided = node.IntOr("onesided", 0) != 0;
  return attributes;
}

absl::StatusOr<int> DftAxis(const DftAttributes& attributes, const KernelContext& context,
                            int rank) {
  int64_t axis = attributes.axis.value_or(-2);
  if (!attributes.axis && context.has_input(2)) {
    ASSIGN_OR_RETURN(axis, ReadInt(context.input(2), "axis"));
  }
  if (axis < -rank || axis == -1 || axis > rank - 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("axis is ", axis, ", expected ", -rank, " to -2 or 0 to ", rank - 2));
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

// The transform of the first input along `axis`, computed in T. `dims` are the result's.
template <typename T>
absl::Status DftRows(KernelContext& context, FftKind kind, int64_t length, int axis,
                     const Dims& dims) {
  constexpr ElementType kType =
      std::is_same_v<T, float> ? ElementType::kFloat : ElementType::kDouble;
  const Tensor& input = context.input(0);
  const int64_t given = input.dim(axis);
  const int64_t wanted = kind == FftKind::kRealInverse ? length / 2 + 1 : length;
  const int64_t used = std::min(given, wanted);
  const int64_t results = dims[axis];
  const int64_t in_parts = input.dims().back();
  const int64_t out_parts = dims.back();
  const int64_t outer = Product(dims, 0, axis);
  const int64_t inner = Product(dims, axis + 1, input.rank() - 1);

  ASSIGN_OR_RETURN(const Tensor x, ConvertTensor(context, input, kType));
  ASSIGN_OR_RETURN(Tensor result, context.Allocate(kType, dims));
  if (result.size() != 0) {
    const Fft<T> fft(kind, length);
    context.ParallelFor(
        outer * inner, std::max<int64_t>(1, kGrain / length), [&](int64_t begin, int64_t end) {
          FftRow<T> transform(fft, kind, length);
          for (int64_t row = begin; row < end; ++row) {
            const int64_t o = row / inner;
            const int64_t i = row % inner;
            const T* in = x.data_as<T>() + (o * given * inner + i) * in_parts;
            for (int64_t j = 0; j < used; ++j, in += inner * in_parts) {
              transform.Set(j, in[0], in_parts == 2 ? in[1] : T(0));
            }
            for (int64_t j = used; j < wanted; ++j) transform.Set(j, 0, 0);
            transform.Run();
            T* out = result.mutable_data_as<T>() + (o * results * inner + i) * out_parts;
            for (int64_t k = 0; k < results; ++k, out += inner * out_parts) {
              out[0] = transform.Real(k);
              if (out_parts == 2) out[1] = transform.Imaginary(k);
            }
          }
        });
  }
  return SetOutputNarrowed(context, 0, std::move(result), input.type());
}

absl::Status Dft(const DftAttributes& attributes, KernelContext& context) {
  const Tensor& input = context.input(0);
  ASSIGN_OR_RETURN(const bool complex, IsComplex(input, "the input"));
  if (attributes.onesided && complex != attributes.inverse) {
    return absl::InvalidArgumentError(
        absl::StrCat("the input is ", TypeAndDims(input), ", expected ",
                     complex ? "1, a real signal," : "2, a complex spectrum,",
                     " as the last dimension of a onesided transform"));
  }
  const bool half_inverse = attributes.onesided && attributes.inverse;
  ASSIGN_OR_RETURN(const int axis, DftAxis(attributes, context, input.rank()));
  const int64_t given = input.dim(axis);
  int64_t length = 0;
  if (context.has_input(1)) {
    ASSIGN_OR_RETURN(length, ReadInt(context.input(1), "dft_length"));
  } else {
    if (given > kMaxFftLength) RETURN_IF_ERROR(CheckLength(given, "the signal's length"));
    length = half_inverse ? 2 * (given - 1) : given;
  }
  RETURN_IF_ERROR(CheckLength(length, "dft_length"));

  Dims dims = input.dims();
  dims[axis] = attributes.onesided && !attributes.inverse ? length / 2 + 1 : length;
  dims.back() = half_inverse ? 1 : 2;
  FftKind kind = complex ? FftKind::kForward : FftKind::kRealForward;
  if (attributes.inverse) kind = FftKind::kInverse;
  if (half_inverse) kind = FftKind::kRealInverse;
  if (attributes.inverse && input.type() == ElementType::kFloat) {
    return DftRows<float>(context, kind, length, axis, dims);
  }
  return DftRows<double>(context, kind, length, axis, dims);
}

struct StftAttributes {
  bool onesided;
};
absl::StatusOr<StftAttributes> ParseStft(const NodeInfo& node) {
  return StftAttributes{node.IntOr("onesided", 1) != 0};
}

absl::Status Stft(const StftAttributes& attributes, KernelContext& context) {
  const Tensor& signal = context.input(0);
  ASSIGN_OR_RETURN(const bool complex, IsComplex(signal, "the signal"));
  if (signal.rank() != 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("the signal is ", TypeAndDims(signal),
                     ", expected 3 dimensions: batch, length, and real and imaginary part"));
  }
  if (complex && attributes.onesided) {
    return absl::InvalidArgumentError(
        absl::StrCat("the signal is ", TypeAndDims(signal),
                     ", which is complex, expected onesided to be 0 (its default is 1)"));
  }
  const int64_t batch = signal.dim(0);
  const int64_t samples = signal.dim(1);
  ASSIGN_OR_RETURN(const int64_t step, ReadInt(context.input(1), "frame_step"));
  if (step < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("frame_step is ", step, ", expected a positive number"));
  }
  int64_t length = samples;
  Tensor window;
  if (context.has_input(2)) {
    const Tensor& given = context.input(2);
    if (given.rank() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("the window is ", TypeAndDims(given), ", expected 1 dimension"));
    }
    ASSIGN_OR_RETURN(window, ConvertTensor(context, given, ElementType::kDouble));
    length = given.dim(0);
  }
  if (context.has_input(3)) {
    ASSIGN_OR_RETURN(length, ReadInt(context.input(3), "frame_length"));
    if (context.has_input(2) && window.dim(0) != length) {
      return absl::InvalidArgumentError(absl::StrCat("the window is ",
                                                     TypeAndDims(context.input(2)), ", expected [",
                                                     length, "], the frame_length"));
    }
  }
  RETURN_IF_ERROR(CheckLength(length, "frame_length"));
  if (length > samples) {
    return absl::InvalidArgumentError(absl::StrCat(
        "frame_length is ", length, ", expected at most ", samples, ", the length of the signal"));
  }
  const int64_t frames = 1 + (samples - length) / step;
  const int64_t bins = attributes.onesided ? length / 2 + 1 : length;
  const int64_t parts = complex ? 2 : 1;

  ASSIGN_OR_RETURN(const Tensor doubles, ConvertTensor(context, signal, ElementType::kDouble));
  ASSIGN_OR_RETURN(Tensor result, context.Allocate(ElementType::kDouble, {batch, frames, bins, 2}));
  if (result.size() == 0) {
    return SetOutputNarrowed(context, 0, std::move(result), signal.type());
  }
  const double* const weights = window.data_as<double>();
  const FftKind kind = complex ? FftKind::kForward : FftKind::kRealForward;
  const Fft<double> fft(kind, length);
  context.ParallelFor(
      batch * frames, std::max<int64_t>(1, kGrain / length), [&](int64_t begin, int64_t end) {
        FftRow<double> transform(fft, kind, length);
        for (int64_t frame = begin; frame < end; ++frame) {
          const double* x = doubles.data_as<double>() +
                            (frame / frames * samples + frame % frames * step) * parts;
          for (int64_t j = 0; j < length; ++j, x += parts) {
            const double weight = weights == nullptr ? 1.0 : weights[j];
            transform.Set(j, x[0] * weight, complex ? x[1] * weight : 0.0);
          }
          transform.Run();
          double* const out = result.mutable_data_as<double>() + frame * bins * 2;
          for (int64_t k = 0; k < bins; ++k) {
            out[2 * k] = transform.Real(k);
            out[2 * k + 1] = transform.Imaginary(k);
          }
        }
      });
  return SetOutputNarrowed(context, 0, std::move(result), signal.type());
}

struct MelAttributes {
  ElementType type;
};
absl::StatusOr<MelAttributes> ParseMel(const NodeInfo& node) {
  const int64_t number = node.IntOr("output_datatype", 1);
  const std::optional<ElementType> type = ElementTypeFromNumber(number);
  if (!type || *type == ElementType::kString || KindOf(*type) == ElementKind::kComplex) {
    return node.BadAttribute("output_datatype", absl::StrCat(number),
                             "the number of a numeric data type");
  }
  return MelAttributes{*type};
}
absl::Status InferMel(const NodeInfo& node, absl::Span<const Type> /*inputs*/,
                      absl::Span<Type> outputs) {
  ASSIGN_OR_RETURN(const MelAttributes attributes, ParseMel(node));
  outputs[0] = Type::OfTensor(attributes.type);
  return absl::OkStatus();
}

double MelOf(double hertz) { return 2595.0 * std::log10(1.0 + hertz / 700.0); }
double HertzOf(double mel) { return 700.0 * (std::pow(10.0, mel / 2595.0) - 1.0); }

// floor(a / b) without the quotient's rounding; b > 0.
double FloorDivide(double a, double b) {
  const double rest = std::fmod(a, b);
  const double quotient = (a - rest) / b;
  return std::round(rest < 0 ? quotient - 1 : quotient);
}

absl::Status MelWeightMatrix(const MelAttributes& attributes, KernelContext& context) {
  ASSIGN_OR_RETURN(const int64_t mel_bins, ReadInt(context.input(0), "num_mel_bins"));
  ASSIGN_OR_RETURN(const int64_t length, ReadInt(context.input(1), "dft_length"));
  ASSIGN_OR_RETURN(const int64_t sample_rate, ReadInt(context.input(2), "sample_rate"));
  ASSIGN_OR_RETURN(const double lower, ReadNumber(context.input(3), "lower_edge_hertz"));
  ASSIGN_OR_RETURN(const double upper, ReadNumber(context.input(4), "upper_edge_hertz"));
  constexpr int64_t kMax = int64_t{1} << 40;  // sums and products stay far from overflow
  if (mel_bins < 0 || mel_bins > kMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("num_mel_bins is ", mel_bins, ", expected 0 to ", kMax));
  }
  if (length < 0 || length > kMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("dft_length is ", length, ", expected 0 to ", kMax));
  }
  if (sample_rate < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("sample_rate is ", sample_rate, ", expected a positive number"));
  }
  if (!(lower >= 0) || !(upper >= lower) || !std::isfinite(upper)) {
    return absl::InvalidArgumentError(absl::StrCat("the edges are ", lower, " and ", upper,
                                                   " hertz, expected 0 <= lower <= upper"));
  }
  const int64_t bins = length / 2 + 1;
  ASSIGN_OR_RETURN(Tensor result, context.Allocate(ElementType::kDouble, {bins, mel_bins}));
  double* const out = result.mutable_data_as<double>();
  std::fill_n(out, result.size(), 0.0);

  // The bin of edge number `i` of mel_bins + 2.
  const double low_mel = MelOf(lower);
  const double step = (MelOf(upper) - low_mel) / static_cast<double>(mel_bins + 2);
  const auto edge = [&](int64_t i) {
    const double hertz = HertzOf(static_cast<double>(i) * step + low_mel);
    return FloorDivide(static_cast<double>(length + 1) * hertz, static_cast<double>(sample_rate));
  };
  // The edges ascend, so the last one tells whether all have a bin.
  if (mel_bins > 0 && !(edge(mel_bins + 1) <= static_cast<double>(bins) &&
                        edge(mel_bins) < static_cast<double>(bins))) {
    return absl::InvalidArgumentError(absl::StrCat("upper_edge_hertz is ", upper,
                                                   ", expected at most half of the sample_rate, ",
                                                   sample_rate));
  }
  for (int64_t i = 0; i < mel_bins; ++i) {
    const int64_t left = static_cast<int64_t>(edge(i));
    const int64_t center = static_cast<int64_t>(edge(i + 1));
    const int64_t right = static_cast<int64_t>(edge(i + 2));
    if (left == center) {
      out[center * mel_bins + i] = 1;
    } else {
      for (int64_t j = left; j <= center; ++j) {
        out[j * mel_bins + i] = static_cast<double>(j - left) / static_cast<double>(center - left);
      }
    }
    for (int64_t j = center; j < right; ++j) {
      out[j * mel_bins + i] = static_cast<double>(right - j) / static_cast<double>(right - center);
    }
  }
  ASSIGN_OR_RETURN(Tensor converted, ConvertTensor(context, result, attributes.type));
  context.SetOutput(0, std::move(converted));
  return absl::OkStatus();
}

constexpr auto kKernels =
    KernelTable(Rows<ParseDft, Dft>("DFT", 17, 20), Rows<ParseStft, Stft>("STFT", 17),
                Rows<ParseMel, MelWeightMatrix>("MelWeightMatrix", 17).Infer(InferMel));

}  // namespace

absl::Span<const KernelDef> SignalKernels() { return kKernels; }

}  // namespace onnx_run
