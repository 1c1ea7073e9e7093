// RandomNormal, RandomUniform, their Like forms, Bernoulli and Multinomial: numpy's MT19937
// generator, seeded by the attribute, else anew for each run (RunOptions::seed makes that
// repeatable too).
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/dispatch.h"
#include "ops/families.h"
#include "ops/kernel_table.h"
#include "ops/numpy_random.h"
#include "runtime/convert/convert.h"
#include "runtime/status_macros.h"

namespace onnx_run {
namespace {

struct RandomAttributes {
  std::optional<ElementType> type;
  std::optional<float> seed;
  double a;  // low, mean
  double b;  // high, scale
  int64_t samples;
  std::vector<int64_t> shape;
};

absl::StatusOr<RandomAttributes> ParseRandom(const NodeInfo& node) {
  RandomAttributes attributes;
  if (node.schema()->FindAttribute("dtype") != nullptr) {
    // Without it the Like forms take the input's type; the others have a default.
    const absl::StatusOr<int64_t> number = node.Int("dtype");
    if (number.ok()) {
      attributes.type = ElementTypeFromNumber(*number);
      if (!attributes.type || *attributes.type == ElementType::kString) {
        return node.BadAttribute("dtype", absl::StrCat(*number),
                                 "the number of a numeric data type");
      }
    }
  }
  if (node.Has("seed")) attributes.seed = node.FloatOr("seed", 0);
  const bool normal = node.op_type().find("Normal") != std::string::npos;
  attributes.a = node.FloatOr(normal ? "mean" : "low", 0);
  attributes.b = node.FloatOr(normal ? "scale" : "high", 1);
  attributes.samples = node.IntOr("sample_size", 1);
  if (attributes.samples < 0) {
    return node.BadAttribute("sample_size", absl::StrCat(attributes.samples), "0 or more");
  }
  attributes.shape = node.Ints("shape");
  return attributes;
}

absl::Status InferRandom(const NodeInfo& node, absl::Span<const Type> inputs,
                         absl::Span<Type> outputs) {
  ASSIGN_OR_RETURN(const RandomAttributes attributes, ParseRandom(node));
  if (attributes.type) {
    outputs[0] = Type::OfTensor(*attributes.type);
  } else if (!inputs.empty() && inputs[0].kind == ValueKind::kTensor) {
    outputs[0] = Type::OfTensor(inputs[0].element);
  }
  return absl::OkStatus();
}

// The seed attribute is a float: its integer part, as numpy takes it.
NumpyRandom Generator(const RandomAttributes& attributes, KernelContext& context) {
  if (!attributes.seed) return NumpyRandom(context.NextRandomSeed());
  const double whole = std::trunc(static_cast<double>(*attributes.seed));
  return NumpyRandom(std::abs(whole) < 0x1p62 ? static_cast<uint64_t>(static_cast<int64_t>(whole))
                                              : 0);
}

absl::Status OutputDoubles(KernelContext& context, Tensor doubles, ElementType type) {
  ASSIGN_OR_RETURN(Tensor result, ConvertTensor(context, doubles, type));
  context.SetOutput(0, std::move(result));
  return absl::OkStatus();
}

template <typename Draw>
absl::Status Fill(const RandomAttributes& attributes, KernelContext& context, Draw&& draw) {
  const bool like = context.input_count() > 0;
  const Dims dims =
      like ? context.input(0).dims() : Dims(attributes.shape.begin(), attributes.shape.end());
  const ElementType type =
      attributes.type.value_or(like ? context.input(0).type() : ElementType::kFloat);
  ASSIGN_OR_RETURN(Tensor doubles, context.Allocate(ElementType::kDouble, dims));
  NumpyRandom random = Generator(attributes, context);
  for (double& value : doubles.mutable_span<double>()) value = draw(random);
  return OutputDoubles(context, std::move(doubles), type);
}

absl::Status RandomUniform(const RandomAttributes& attributes, KernelContext& context) {
  return Fill(attributes, context, [&](NumpyRandom& random) {
    return attributes.a + (attributes.b - attributes.a) * random.Uniform();
  });
}

// Box and Muller's transform, two uniform numbers for each normal one.
double Normal(NumpyRandom& random) {
  const double u = 1.0 - random.Uniform();  // (0, 1]: the logarithm is finite
  const double v = random.Uniform();
  return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * v);
}

absl::Status RandomNormal(const RandomAttributes& attributes, KernelContext& context) {
  return Fill(attributes, context,
              [&](NumpyRandom& random) { return attributes.a + attributes.b * Normal(random); });
}

absl::Status Bernoulli(const RandomAttributes& attributes, KernelContext& context) {
  ASSIGN_OR_RETURN(Tensor p, ConvertTensor(context, context.input(0), ElementType::kDouble));
  ASSIGN_OR_RETURN(Tensor drawn, context.Allocate(ElementType::kDouble, p.dims()));
  NumpyRandom random = Generator(attributes, context);
  for (int64_t i = 0; i < p.size(); ++i) {
    const double probability = p.data_as<double>()[i];
    if (!(probability >= 0 && probability <= 1)) {
      return absl::InvalidArgumentError(
          absl::StrCat("element ", i, " is ", probability, ", expected a probability"));
    }
    drawn.mutable_data_as<double>()[i] = random.Uniform() < probability ? 1 : 0;
  }
  return OutputDoubles(context, std::move(drawn),
                       attributes.type.value_or(context.input(0).type()));
}

// Rows are logarithms of probabilities that need not add up to 1.
absl::Status Multinomial(const RandomAttributes& attributes, KernelContext& context) {
  const Tensor& x = context.input(0);
  if (x.rank() != 2 || (x.dim(1) == 0 && attributes.samples > 0 && x.dim(0) > 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("input is ", TypeAndDims(x), ", expected [batch, classes] with a class"));
  }
  ASSIGN_OR_RETURN(Tensor logits, ConvertTensor(context, x, ElementType::kDouble));
  const int64_t rows = x.dim(0);
  const int64_t classes = x.dim(1);
  ASSIGN_OR_RETURN(Tensor drawn,
                   context.Allocate(ElementType::kDouble, {rows, attributes.samples}));
  NumpyRandom random = Generator(attributes, context);
  std::vector<double> sums(static_cast<size_t>(classes));
  for (int64_t r = 0; r < rows; ++r) {
    const double* row = logits.data_as<double>() + r * classes;
    double largest = -std::numeric_limits<double>::infinity();
    for (int64_t c = 0; c < classes; ++c) largest = row[c] > largest ? row[c] : largest;
    double sum = 0;
    for (int64_t c = 0; c < classes; ++c) sums[c] = sum += std::exp(row[c] - largest);
    if (!(sum > 0 && std::isfinite(sum))) {
      return absl::InvalidArgumentError(absl::StrCat("row ", r, " has no probabilities"));
    }
    for (int64_t s = 0; s < attributes.samples; ++s) {
      const double u = random.Uniform() * sum;
      const auto place = std::upper_bound(sums.begin(), sums.end(), u);
      drawn.mutable_data_as<double>()[r * attributes.samples + s] =
          static_cast<double>(std::min<int64_t>(place - sums.begin(), classes - 1));
    }
  }
  return OutputDoubles(context, std::move(drawn), attributes.type.value_or(ElementType::kInt32));
}

constexpr auto kKernels = KernelTable(
    Rows<ParseRandom, Bernoulli>("Bernoulli", 15, 22).Infer(InferRandom).NotFoldable(),
    Rows<ParseRandom, Multinomial>("Multinomial", 7, 22).Infer(InferRandom).NotFoldable(),
    Rows<ParseRandom, RandomNormal>("RandomNormal", 1, 22).Infer(InferRandom).NotFoldable(),
    Rows<ParseRandom, RandomNormal>("RandomNormalLike", 1, 22).Infer(InferRandom).NotFoldable(),
    Rows<ParseRandom, RandomUniform>("RandomUniform", 1, 22).Infer(InferRandom).NotFoldable(),
    Rows<ParseRandom, RandomUniform>("RandomUniformLike", 1, 22).Infer(InferRandom).NotFoldable());

}  // namespace

absl::Span<const KernelDef> RandomKernels() { return kKernels; }

}  // namespace onnx_run
