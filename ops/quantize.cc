// QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear, all versions: element-wise functions
// of x, scale and zero point.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/kernel_table.h"
#include "ops/plain_loops.h"
#include "ops/quantize_kernels.h"
#include "ops/quantize_util.h"

namespace onnx_run {
namespace {

struct QuantizeAttributes {
  QuantizeGranularity granularity;
  ElementType output_dtype;  // kUndefined: the zero point's, else uint8
  ElementType precision;     // of the division; kUndefined: the scale's
  ConvertOptions convert;
};

absl::StatusOr<QuantizeAttributes> ParseQuantize(const NodeInfo& node) {
  QuantizeAttributes attributes;
  ASSIGN_OR_RETURN(attributes.granularity, ParseGranularity(node));
  ASSIGN_OR_RETURN(attributes.output_dtype, ParseOptionalType(node, "output_dtype"));
  ASSIGN_OR_RETURN(attributes.precision, ParseOptionalType(node, "precision"));
  attributes.convert.saturate = node.IntOr("saturate", 1) != 0;
  return attributes;
}

absl::Status InferQuantize(const NodeInfo& node, absl::Span<const Type> inputs,
                           absl::Span<Type> outputs) {
  if (node.has_input(2)) {
    if (inputs[2].kind == ValueKind::kTensor) outputs[0] = Type::OfTensor(inputs[2].element);
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const ElementType declared, ParseOptionalType(node, "output_dtype"));
  outputs[0] = Type::OfTensor(declared == ElementType::kUndefined ? ElementType::kUint8 : declared);
  return absl::OkStatus();
}

constexpr int64_t kBlock = 1024;

// Quotients of elements [begin, begin + n) of a run, rounded to `precision`.
template <typename D>
void Divide(const ElementRun& run, int64_t begin, int64_t n, ElementType precision, D* out) {
  const D* x = run.Input<D>(0) + begin * run.steps[0];
  const D* scale = run.Input<D>(1) + begin * run.steps[1];
  if (run.steps[1] == 0) {
    const D s = *scale;
    for (int64_t i = 0; i < n; ++i) out[i] = x[i] / s;
  } else {
    for (int64_t i = 0; i < n; ++i) out[i] = x[i * run.steps[0]] / scale[i];
  }
  if (NeedsWidening(precision)) {  // Convert knows both types: it cannot fail
    uint16_t narrow[kBlock];
    Convert(out, ElementType::kFloat, narrow, precision, n).IgnoreError();
    Convert(narrow, precision, out, ElementType::kFloat, n).IgnoreError();
  }
}

// out[i] = saturate(round(quotient[i]) + zero[i]). Adding `kRounder` and taking it away rounds to
// an integer, halves to even; the quotient is limited before, to where it saturates anyway.
template <typename D, typename Z>
void Saturate(const D* quotient, const Z* zero, int64_t zero_step, ElementType type, Z* out,
              int64_t n) {
  constexpr D kFar = 1 << 20;
  constexpr D kRounder = std::is_same_v<D, float> ? D(0x1.8p23) : D(0x1.8p52);
  const int bits = BitsOf(type);
  const D low = std::is_signed_v<Z> ? D(-(1 << (bits - 1))) : D(0);
  const D high = std::is_signed_v<Z> ? D((1 << (bits - 1)) - 1) : D((1 << bits) - 1);
  const auto level = [=](D q, D z) {
    q = q > -kFar ? q : -kFar;  // NaN too
    q = q < kFar ? q : kFar;
    q = (q + kRounder) - kRounder + z;
    q = q > low ? q : low;
    return static_cast<Z>(static_cast<int32_t>(q < high ? q : high));
  };
  if (zero_step == 0) {
    const D z = *zero;
    for (int64_t i = 0; i < n; ++i) out[i] = level(quotient[i], z);
  } else {
    for (int64_t i = 0; i < n; ++i) out[i] = level(quotient[i], zero[i]);
  }
}

template <typename Z>
quantize_kernels::Codes CodesOf(ElementType type, Z zero) {
  const int bits = BitsOf(type);
  if (std::is_signed_v<Z>) return {zero, -(1 << (bits - 1)), (1 << (bits - 1)) - 1};
  return {zero, 0, (1 << bits) - 1};
}

template <typename D, typename Z>
void QuantizeRun(const ElementRun& run, ElementType precision, ElementType type) {
  if constexpr (std::is_same_v<D, float> && std::is_integral_v<Z>) {
    if (run.steps[0] == 1 && run.steps[1] == 0 && run.steps[2] == 0 && !NeedsWidening(precision)) {
      return quantize_kernels::Quantize(run.Input<float>(0), *run.Input<float>(1),
                                        CodesOf(type, *run.Input<Z>(2)), run.Output<Z>(), run.n);
    }
  }
  D quotient[kBlock];
  for (int64_t begin = 0; begin < run.n; begin += kBlock) {
    const int64_t n = std::min(kBlock, run.n - begin);
    Divide(run, begin, n, precision, quotient);
    const Z* zero = run.Input<Z>(2) + begin * run.steps[2];
    Z* out = run.Output<Z>() + begin;
    if constexpr (std::is_same_v<Z,
                                 float>) {  // the engine converts to the float type of the output
      for (int64_t i = 0; i < n; ++i) out[i] = static_cast<Z>(quotient[i] + zero[i * run.steps[2]]);
    } else {
      if constexpr (std::is_same_v<D, float>) {
        if (run.steps[2] == 0) {  // the quotients as they are
          quantize_kernels::Quantize(quotient, 1.0F, CodesOf(type, *zero), out, n);
          continue;
        }
      }
      Saturate(quotient, zero, run.steps[2], type, out, n);
    }
  }
}

// The most common kind of quantization: one float scale, and codes of 8 or 16 bits.
bool HasOneFloatScale(ElementType codes, const KernelContext& context) {
  const Tensor& scale = context.input(1);
  return scale.type() == ElementType::kFloat && scale.size() == 1 &&
         (!context.has_input(2) || context.input(2).size() == 1) &&
         (KindOf(codes) == ElementKind::kSigned || KindOf(codes) == ElementKind::kUnsigned) &&
         (BitsOf(codes) == 8 || BitsOf(codes) == 16);
}
using WholeCodes = Types<int8_t, int16_t, uint8_t, uint16_t>;

// fn(x, scale, zero, output, n) over parts of input 0 and of output 0.
template <typename X, typename Out, typename Z, typename Fn>
absl::Status ByOneFloatScale(KernelContext& context, ElementType type, const Fn& fn) {
  const Tensor& x = context.input(0);
  ASSIGN_OR_RETURN(Tensor * output, context.Output(0, type, x.dims()));
  const float scale = *context.input(1).data_as<float>();
  const Z zero = context.has_input(2) ? *context.input(2).data_as<Z>() : Z{0};
  const X* from = x.data_as<X>();
  Out* to = output->mutable_data_as<Out>();
  context.ParallelFor(x.size(), ElementwiseOptions().grain, [&](int64_t begin, int64_t end) {
    fn(from + begin, scale, zero, to + begin, end - begin);
  });
  return absl::OkStatus();
}

absl::Status Quantize(const QuantizeAttributes& attributes, KernelContext& context) {
  ElementType type = attributes.output_dtype;
  if (context.has_input(2)) {
    const ElementType zero_type = context.input(2).type();
    if (type != ElementType::kUndefined && type != zero_type) {
      return absl::InvalidArgumentError(absl::StrCat("attribute \"output_dtype\" is ",
                                                     TypeName(type), ", the zero point is ",
                                                     TypeName(zero_type)));
    }
    type = zero_type;
  }
  if (type == ElementType::kUndefined) type = ElementType::kUint8;
  if (context.input(0).type() == ElementType::kFloat && HasOneFloatScale(type, context) &&
      (attributes.precision == ElementType::kUndefined ||
       attributes.precision == ElementType::kFloat)) {
    return VisitType(WholeCodes(), type, [&]<typename Z>(Tag<Z>) {
      return ByOneFloatScale<float, Z, Z>(
          context, type, [type](const float* x, float scale, Z zero, Z* out, int64_t n) {
            quantize_kernels::Quantize(x, scale, CodesOf(type, zero), out, n);
          });
    });
  }
  ASSIGN_OR_RETURN(QuantizeOperands operands,
                   AlignQuantizeOperands(attributes.granularity, type, context));

  ElementType precision = attributes.precision;
  if (precision == ElementType::kUndefined) {
    // An integer scale, or one of powers of two, says nothing of the division.
    const ElementType scale = operands.scale.type();
    precision = scale == ElementType::kFloat8e8m0 ? ElementType::kFloat : scale;
    if (!IsFloat(precision)) precision = ElementType::kDouble;
  }
  const ElementType computed =
      precision == ElementType::kDouble ? ElementType::kDouble : ElementType::kFloat;
  if (ComputeType(operands.x.type()) != computed) {
    ASSIGN_OR_RETURN(operands.x, ConvertTensor(context, operands.x, computed));
  }
  if (ComputeType(operands.scale.type()) != computed) {
    ASSIGN_OR_RETURN(operands.scale, ConvertTensor(context, operands.scale, computed));
  }

  const Dims dims = context.input(0).dims();
  ASSIGN_OR_RETURN(Tensor * output, context.Output(0, type, operands.x.dims()));
  const Tensor* inputs[] = {&operands.x, &operands.scale, &operands.zero};
  RETURN_IF_ERROR(
      VisitType(Types<int8_t, int16_t, uint8_t, uint16_t, float>(), type, [&]<typename Z>(Tag<Z>) {
        return ElementwiseInto(context, inputs, *output,
                               [&](const ElementRun& run) {
                                 if (computed == ElementType::kDouble)
                                   return QuantizeRun<double, Z>(run, precision, type);
                                 return QuantizeRun<float, Z>(run, precision, type);
                               },
                               {.convert = attributes.convert});
      }));
  output->set_dims(dims);
  return absl::OkStatus();
}

struct DequantizeAttributes {
  QuantizeGranularity granularity;
  ElementType output_dtype;  // kUndefined: the scale's
};

absl::StatusOr<DequantizeAttributes> ParseDequantize(const NodeInfo& node) {
  DequantizeAttributes attributes;
  ASSIGN_OR_RETURN(attributes.granularity, ParseGranularity(node));
  ASSIGN_OR_RETURN(attributes.output_dtype, ParseOptionalType(node, "output_dtype"));
  return attributes;
}

absl::Status InferDequantize(const NodeInfo& node, absl::Span<const Type> inputs,
                             absl::Span<Type> outputs) {
  ASSIGN_OR_RETURN(const ElementType declared, ParseOptionalType(node, "output_dtype"));
  if (declared != ElementType::kUndefined) {
    outputs[0] = Type::OfTensor(declared);
  } else if (inputs[1].kind == ValueKind::kTensor) {
    outputs[0] = Type::OfTensor(inputs[1].element);
  }
  return absl::OkStatus();
}

// (x - zero) * scale, where the difference is exact in D.
template <typename D, typename X>
void DequantizeRun(const ElementRun& run) {
  const X* x = run.Input<X>(0);
  const D* scale = run.Input<D>(1);
  const X* zero = run.Input<X>(2);
  D* out = run.Output<D>();
  const auto level = [](X a, X z) {
    if constexpr (std::is_integral_v<X> && sizeof(X) < 4) {
      return static_cast<D>(static_cast<int32_t>(a) - static_cast<int32_t>(z));
    } else {
      return static_cast<D>(a) - static_cast<D>(z);
    }
  };
  if (run.steps[0] == 1 && run.steps[1] == 0 && run.steps[2] == 0) {
    const X z = *zero;
    const D s = *scale;
    if constexpr (std::is_same_v<D, float> && std::is_integral_v<X> && sizeof(X) < 4) {
      return plain_loops::Dequantize(x, z, s, out, run.n);
    }
    for (int64_t i = 0; i < run.n; ++i) out[i] = level(x[i], z) * s;
    return;
  }
  for (int64_t i = 0; i < run.n; ++i) {
    out[i] = level(x[i * run.steps[0]], zero[i * run.steps[2]]) * scale[i * run.steps[1]];
  }
}

// Float results of integers up to 16 bits are computed in float, where only the product rounds.
// Others go through double: there the product of an integer up to 16 bits is exact, and the
// output's type rounds.
absl::Status Dequantize(const DequantizeAttributes& attributes, KernelContext& context) {
  const ElementType x_type = context.input(0).type();
  if (context.has_input(2) && context.input(2).type() != x_type) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the zero point is ", TypeName(context.input(2).type()), ", x is ", TypeName(x_type)));
  }
  ElementType type = attributes.output_dtype;
  if (type == ElementType::kUndefined) type = context.input(1).type();
  if (type == ElementType::kFloat && HasOneFloatScale(x_type, context)) {
    return VisitType(WholeCodes(), x_type, [&]<typename X>(Tag<X>) {
      return ByOneFloatScale<X, float, X>(
          context, type, [](const X* x, float scale, X zero, float* out, int64_t n) {
            plain_loops::Dequantize(x, zero, scale, out, n);
          });
    });
  }
  ASSIGN_OR_RETURN(QuantizeOperands operands,
                   AlignQuantizeOperands(attributes.granularity, x_type, context));
  const bool direct = type == ElementType::kFloat && BitsOf(x_type) <= 16;
  const ElementType computed = direct ? ElementType::kFloat : ElementType::kDouble;
  ASSIGN_OR_RETURN(operands.scale, ConvertTensor(context, operands.scale, computed));
  Tensor wide;
  Tensor* output = nullptr;
  if (direct) {
    ASSIGN_OR_RETURN(output, context.Output(0, type, operands.x.dims()));
  } else {
    ASSIGN_OR_RETURN(wide, context.Allocate(computed, operands.x.dims()));
    output = &wide;
  }
  const Tensor* inputs[] = {&operands.x, &operands.scale, &operands.zero};
  RETURN_IF_ERROR(VisitType(
      Types<int8_t, int16_t, int32_t, uint8_t, uint16_t, float>(), x_type, [&]<typename X>(Tag<X>) {
        return ElementwiseInto(context, inputs, *output, [&](const ElementRun& run) {
          if (computed == ElementType::kDouble) return DequantizeRun<double, X>(run);
          return DequantizeRun<float, X>(run);
        });
      }));
  output->set_dims(context.input(0).dims());
  if (direct) return absl::OkStatus();
  ASSIGN_OR_RETURN(wide, ConvertTensor(context, wide, type));
  context.SetOutput(0, std::move(wide));
  return absl::OkStatus();
}

// uint8 with the range of x, widened to hold 0, spread over [0, 255].
absl::Status DynamicQuantize(KernelContext& context) {
  const Tensor& x = context.input(0);
  float low = 0;
  float high = 0;
  quantize_kernels::WidenRange(x.data_as<float>(), x.size(), low, high);
  const float scale = high == low ? 1.0F / 255.0F : (high - low) / 255.0F;
  const float zero = std::nearbyint(std::clamp(-low / scale, 0.0F, 255.0F));
  ASSIGN_OR_RETURN(Tensor * y, context.Output(0, ElementType::kUint8, x.dims()));
  const auto zero_code = static_cast<uint8_t>(zero);
  context.ParallelFor(x.size(), ElementwiseOptions().grain, [&](int64_t begin, int64_t end) {
    // From the end on, which caches still hold.
    constexpr int64_t kPart = 16384;
    while (begin < end) {
      const int64_t part = std::max(begin, end - kPart);
      quantize_kernels::Quantize(x.data_as<float>() + part, scale,
                                 CodesOf(ElementType::kUint8, zero_code),
                                 y->mutable_data_as<uint8_t>() + part, end - part);
      end = part;
    }
  });
  ASSIGN_OR_RETURN(Tensor * scale_output, context.Output(1, ElementType::kFloat, {}));
  *scale_output->mutable_data_as<float>() = scale;
  ASSIGN_OR_RETURN(Tensor * zero_output, context.Output(2, ElementType::kUint8, {}));
  *zero_output->mutable_data_as<uint8_t>() = zero_code;
  return absl::OkStatus();
}

constexpr auto kKernels =
    KernelTable(Rows<ParseDequantize, Dequantize>("DequantizeLinear", 10, 13, 19, 21, 23, 24, 25)
                    .Infer(InferDequantize),
                Rows<DynamicQuantize>("DynamicQuantizeLinear", 11),
                Rows<ParseQuantize, Quantize>("QuantizeLinear", 10, 13, 19, 21, 23, 24, 25)
                    .Infer(InferQuantize));

}  // namespace

absl::Span<const KernelDef> QuantizeKernels() { return kKernels; }

}  // namespace onnx_run
