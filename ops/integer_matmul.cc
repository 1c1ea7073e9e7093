// MatMulInteger, QLinearMatMul, ConvInteger and QLinearConv: products of quantized numbers, summed
// exactly in 32 bits, which wrap.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/conv.h"
#include "ops/dispatch.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/kernel_table.h"
#include "ops/matmul.h"
#include "ops/shape_util.h"
#include "ops/window.h"

namespace onnx_run {
namespace {

constexpr int64_t kGrain = 32768;

// Where the elements of a small tensor stand beside the rows (along the last dimension) of a large
// one that it is broadcast to.
class BroadcastRows {
 public:
  // Both dims have the same rank, at least 1.
  BroadcastRows(absl::Span<const int64_t> small, absl::Span<const int64_t> large)
      : large_(large.begin(), large.end()), strides_(small.size()) {
    int64_t stride = 1;
    for (size_t d = small.size(); d-- > 0;) {
      strides_[d] = small[d] == 1 ? 0 : stride;
      stride *= small[d];
    }
  }
  int64_t step() const { return strides_.back(); }
  int64_t Offset(int64_t row) const {
    int64_t offset = 0;
    for (size_t d = large_.size() - 1; d-- > 0;) {
      offset += row % large_[d] * strides_[d];
      row /= large_[d];
    }
    return offset;
  }

 private:
  Dims large_;
  Dims strides_;
};

// The dims of a scale or zero point beside a tensor of `dims`: one element; a vector along `axis`;
// or dims that broadcast to `dims`.
absl::StatusOr<Dims> AlignToAxis(const Tensor& small, absl::Span<const int64_t> dims, int axis,
                                 absl::string_view name) {
  Dims aligned(dims.size(), 1);
  if (small.size() == 1) return aligned;
  bool fits = true;
  if (small.rank() == 1 && axis >= 0) {
    aligned[axis] = small.dim(0);
    fits = small.dim(0) == dims[axis];
  } else {
    fits = small.rank() <= static_cast<int>(dims.size());
    for (int d = 0; fits && d < small.rank(); ++d) {
      const size_t to = dims.size() - small.rank() + d;
      aligned[to] = small.dim(d);
      fits = aligned[to] == 1 || aligned[to] == dims[to];
    }
  }
  if (fits) return aligned;
  return absl::InvalidArgumentError(
      absl::StrCat(name, " is ", TypeAndDims(small), ", expected a scalar, a vector of ",
                   axis >= 0 ? absl::StrCat(dims[axis]) : std::string("one"),
                   " or what broadcasts to ", DimsToString(dims)));
}

// x - zero_point, in T. `zero_point` may be nullptr.
template <typename T>
absl::StatusOr<Tensor> Centered(KernelContext& context, const Tensor& x, const Tensor* zero_point,
                                int axis, absl::string_view name) {
  constexpr ElementType kType =
      std::is_same_v<T, double> ? ElementType::kDouble : ElementType::kInt32;
  ASSIGN_OR_RETURN(Tensor result, ConvertTensor(context, x, kType));
  if (zero_point == nullptr || x.rank() == 0) return result;
  ASSIGN_OR_RETURN(const Dims dims, AlignToAxis(*zero_point, x.dims(), axis, name));
  ASSIGN_OR_RETURN(const Tensor zeros, ConvertTensor(context, *zero_point, kType));
  const absl::Span<const T> values = zeros.span<T>();
  if (std::all_of(values.begin(), values.end(), [](T v) { return v == 0; })) return result;
  const BroadcastRows rows(dims, x.dims());
  const int64_t n = x.dims().back();
  if (n == 0) return result;
  const int64_t step = rows.step();
  T* data = result.mutable_data_as<T>();
  context.ParallelFor(result.size() / n, std::max<int64_t>(1, kGrain / n),
                      [&](int64_t begin, int64_t end) {
                        for (int64_t row = begin; row < end; ++row) {
                          const T* zero = values.data() + rows.Offset(row);
                          T* out = data + row * n;
                          for (int64_t i = 0; i < n; ++i) out[i] -= zero[i * step];
                        }
                      });
  return result;
}

const Tensor* InputOrNull(KernelContext& context, int i) {
  return context.has_input(i) ? &context.input(i) : nullptr;
}

// Axis of rows of the left operand, which a vector of scales or zero points goes along.
int RowAxis(const Tensor& a) { return std::max(0, a.rank() - 2); }
int LastAxis(const Tensor& b) { return b.rank() - 1; }

absl::Status MatMulInteger(KernelContext& context) {
  const Tensor& a_in = context.input(0);
  const Tensor& b_in = context.input(1);
  ASSIGN_OR_RETURN(const MatMulShape shape, MakeMatMulShape(a_in.dims(), b_in.dims()));
  ASSIGN_OR_RETURN(const Tensor a, Centered<int32_t>(context, a_in, InputOrNull(context, 2),
                                                     RowAxis(a_in), "a_zero_point"));
  ASSIGN_OR_RETURN(const Tensor b, Centered<int32_t>(context, b_in, InputOrNull(context, 3),
                                                     LastAxis(b_in), "b_zero_point"));
  ASSIGN_OR_RETURN(Tensor * output, context.Output(0, ElementType::kInt32, shape.output));
  return RunMatMul<int32_t>(context, shape, a.data_as<int32_t>(), b.data_as<int32_t>(),
                            output->mutable_data_as<int32_t>());
}

absl::Status ConvInteger(const ConvAttributes& attributes, KernelContext& context) {
  const Tensor& x_in = context.input(0);
  const Tensor& w_in = context.input(1);
  ASSIGN_OR_RETURN(const ConvShape shape, MakeConvShape(attributes, x_in, w_in, nullptr));
  ASSIGN_OR_RETURN(const Tensor x,
                   Centered<int32_t>(context, x_in, InputOrNull(context, 2), -1, "x_zero_point"));
  ASSIGN_OR_RETURN(const Tensor w,
                   Centered<int32_t>(context, w_in, InputOrNull(context, 3), 0, "w_zero_point"));
  ASSIGN_OR_RETURN(Tensor * output, context.Output(0, ElementType::kInt32, shape.OutputDims()));
  return RunConv<int32_t>(context, shape, x.data_as<int32_t>(), w.data_as<int32_t>(), nullptr,
                          output->mutable_data_as<int32_t>());
}

// A scale as doubles, under dims that broadcast to the output's.
struct Scale {
  Tensor values;
  Dims dims;
};
absl::StatusOr<Scale> ReadScale(KernelContext& context, int input, absl::Span<const int64_t> dims,
                                int axis, absl::string_view name) {
  Scale scale;
  ASSIGN_OR_RETURN(scale.values,
                   ConvertTensor(context, context.input(input), ElementType::kDouble));
  ASSIGN_OR_RETURN(scale.dims, AlignToAxis(context.input(input), dims, axis, name));
  return scale;
}

// round(x) + zero_point, halves to even, saturated; float8 is rounded with the zero point added.
class Quantizer {
 public:
  Quantizer(ElementType type, uint64_t zero_code)
      : type_(type), zero_(CodeToDouble(zero_code, type)) {
    if (type == ElementType::kInt8) {
      low_ = -128;
      high_ = 127;
    }
  }
  void Store(void* data, int64_t index, double x) const {
    if (IsFloat(type_)) {
      StoreCode(data, type_, index, CodeFromDouble(x + zero_, type_));
      return;
    }
    const double rounded = std::nearbyint(x) + zero_;
    const double clipped = rounded > high_ ? high_ : rounded < low_ ? low_ : rounded;
    // NaN comes from scales that are NaN, or 0 over 0.
    static_cast<uint8_t*>(data)[index] =
        static_cast<uint8_t>(static_cast<int>(std::isnan(clipped) ? zero_ : clipped));
  }

 private:
  ElementType type_;
  double zero_;
  double low_ = 0;
  double high_ = 255;
};

// Output 0 is `sums` (T) times a_scale * b_scale / y_scale, quantized. `inputs`: of the three
// scales and the output's zero point; `axes`: along which a vector of each goes.
template <typename T>
absl::Status Requantize(KernelContext& context, const Tensor& sums, absl::Span<const int> inputs,
                        absl::Span<const int> axes) {
  Dims dims = sums.dims();
  if (dims.empty()) dims.push_back(1);
  ASSIGN_OR_RETURN(const Scale a, ReadScale(context, inputs[0], dims, axes[0], "the first scale"));
  ASSIGN_OR_RETURN(const Scale b, ReadScale(context, inputs[1], dims, axes[1], "the second scale"));
  ASSIGN_OR_RETURN(const Scale y, ReadScale(context, inputs[2], dims, axes[2], "y_scale"));
  const Tensor& zero = context.input(inputs[3]);
  ASSIGN_OR_RETURN(const Dims zero_dims, AlignToAxis(zero, dims, axes[2], "y_zero_point"));
  ASSIGN_OR_RETURN(Tensor * output, context.Output(0, zero.type(), sums.dims()));
  if (output->size() == 0) return absl::OkStatus();
  const BroadcastRows a_rows(a.dims, dims);
  const BroadcastRows b_rows(b.dims, dims);
  const BroadcastRows y_rows(y.dims, dims);
  const BroadcastRows zero_rows(zero_dims, dims);
  const int64_t n = dims.back();
  const T* in = sums.data_as<T>();
  context.ParallelFor(
      output->size() / n, std::max<int64_t>(1, kGrain / n), [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
          const double* a_scale = a.values.data_as<double>() + a_rows.Offset(row);
          const double* b_scale = b.values.data_as<double>() + b_rows.Offset(row);
          const double* y_scale = y.values.data_as<double>() + y_rows.Offset(row);
          const int64_t zero_offset = zero_rows.Offset(row);
          if (zero_rows.step() == 0) {
            const Quantizer quantizer(zero.type(), LoadCode(zero.data(), zero.type(), zero_offset));
            for (int64_t i = 0; i < n; ++i) {
              const double scale = a_scale[i * a_rows.step()] * b_scale[i * b_rows.step()] /
                                   y_scale[i * y_rows.step()];
              quantizer.Store(output->mutable_data(), row * n + i, in[row * n + i] * scale);
            }
            continue;
          }
          for (int64_t i = 0; i < n; ++i) {
            const Quantizer quantizer(zero.type(),
                                      LoadCode(zero.data(), zero.type(), zero_offset + i));
            const double scale = a_scale[i * a_rows.step()] * b_scale[i * b_rows.step()] /
                                 y_scale[i * y_rows.step()];
            quantizer.Store(output->mutable_data(), row * n + i, in[row * n + i] * scale);
          }
        }
      });
  return absl::OkStatus();
}

template <typename T>
absl::Status RunQLinearMatMul(KernelContext& context, const MatMulShape& shape, ElementType type) {
  const Tensor& a_in = context.input(0);
  const Tensor& b_in = context.input(3);
  ASSIGN_OR_RETURN(const Tensor a,
                   Centered<T>(context, a_in, &context.input(2), RowAxis(a_in), "a_zero_point"));
  ASSIGN_OR_RETURN(const Tensor b,
                   Centered<T>(context, b_in, &context.input(5), LastAxis(b_in), "b_zero_point"));
  ASSIGN_OR_RETURN(Tensor sums, context.Allocate(type, shape.output));
  RETURN_IF_ERROR(
      RunMatMul<T>(context, shape, a.data_as<T>(), b.data_as<T>(), sums.mutable_data_as<T>()));
  // A vector goes along the rows of a and the columns of b; one of the output along its columns.
  const int rank = std::max(1, sums.rank());
  const int columns = rank - 1;
  const int rows = b_in.rank() == 1 ? columns : std::max(0, rank - 2);
  return Requantize<T>(context, sums, {1, 4, 6, 7}, {rows, columns, columns});
}

// float8 is dequantized exactly and summed in double.
absl::Status QLinearMatMul(KernelContext& context) {
  const Tensor& a = context.input(0);
  const Tensor& b = context.input(3);
  ASSIGN_OR_RETURN(const MatMulShape shape, MakeMatMulShape(a.dims(), b.dims()));
  if (IsFloat(a.type()) || IsFloat(b.type())) {
    return RunQLinearMatMul<double>(context, shape, ElementType::kDouble);
  }
  return RunQLinearMatMul<int32_t>(context, shape, ElementType::kInt32);
}

absl::Status QLinearConv(const ConvAttributes& attributes, KernelContext& context) {
  const Tensor& x_in = context.input(0);
  const Tensor& w_in = context.input(3);
  const Tensor* bias = InputOrNull(context, 8);
  ASSIGN_OR_RETURN(const ConvShape shape, MakeConvShape(attributes, x_in, w_in, bias));
  ASSIGN_OR_RETURN(const Tensor x,
                   Centered<int32_t>(context, x_in, &context.input(2), -1, "x_zero_point"));
  ASSIGN_OR_RETURN(const Tensor w,
                   Centered<int32_t>(context, w_in, &context.input(5), 0, "w_zero_point"));
  ASSIGN_OR_RETURN(Tensor sums, context.Allocate(ElementType::kInt32, shape.OutputDims()));
  RETURN_IF_ERROR(RunConv<int32_t>(context, shape, x.data_as<int32_t>(), w.data_as<int32_t>(),
                                   bias == nullptr ? nullptr : bias->data_as<int32_t>(),
                                   sums.mutable_data_as<int32_t>()));
  return Requantize<int32_t>(context, sums, {1, 4, 6, 7}, {-1, 1, -1});
}

constexpr auto kKernels = KernelTable(Rows<MatMulInteger>("MatMulInteger", 10),
                                      Rows<QLinearMatMul>("QLinearMatMul", 10, 21),
                                      Rows<ParseConv, ConvInteger>("ConvInteger", 10),
                                      Rows<ParseConv, QLinearConv>("QLinearConv", 10));

}  // namespace

absl::Span<const KernelDef> IntegerMatMulKernels() { return kKernels; }

}  // namespace onnx_run
