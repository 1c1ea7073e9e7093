// The operators of ai.onnx.ml that prepare features: ArrayFeatureExtractor, Binarizer,
// FeatureVectorizer, Imputer, Normalizer, Scaler.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/dispatch.h"
#include "ops/families.h"
#include "ops/kernel_table.h"
#include "ops/ml_util.h"
#include "ops/shape_util.h"
#include "ops/strided_copy.h"
#include "runtime/status_macros.h"

namespace onnx_run {
namespace {

using FeatureTypes = Types<float, double, int32_t, int64_t>;
constexpr int64_t kGrain = 16384;  // elements that are worth another thread

absl::Status ArrayFeatureExtractor(KernelContext& context) {
  const Tensor& data = context.input(0);
  const Tensor& indices = context.input(1);
  if (data.rank() < 1)
    return absl::InvalidArgumentError("input 0 is a scalar, expected rank 1 or more");
  const int64_t columns = data.dim(data.rank() - 1);
  const int64_t count = indices.size();
  const int64_t* index = indices.data_as<int64_t>();
  for (int64_t i = 0; i < count; ++i) {
    if (index[i] < 0 || index[i] >= columns) {
      return absl::InvalidArgumentError(absl::StrCat("index ", index[i], " at position ", i,
                                                     " is outside of [0, ", columns - 1, "]"));
    }
  }
  // A vector gives one row: the result has rank 2 at least.
  const int64_t rows = Product(data.dims(), 0, data.rank() - 1);
  Dims dims{1, count};
  if (data.rank() > 1) {
    dims = data.dims();
    dims.back() = count;
  }
  ASSIGN_OR_RETURN(Tensor * output, context.Output(0, data.type(), dims));
  return VisitWidth(data.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* from = data.data_as<T>();
    T* to = output->mutable_data_as<T>();
    for (int64_t n = 0; n < rows; ++n) {
      for (int64_t i = 0; i < count; ++i) to[n * count + i] = from[n * columns + index[i]];
    }
    return absl::OkStatus();
  });
}

struct BinarizerAttributes {
  float threshold;
};
absl::StatusOr<BinarizerAttributes> ParseBinarizer(const NodeInfo& node) {
  return BinarizerAttributes{node.FloatOr("threshold", 0)};
}

absl::Status Binarizer(const BinarizerAttributes& attributes, KernelContext& context) {
  const Tensor& x = context.input(0);
  ASSIGN_OR_RETURN(Tensor * output, context.OutputInPlace(0, 0, x.type(), x.dims()));
  return VisitType(FeatureTypes(), x.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    // Wide enough that neither the threshold nor the element changes.
    using Wide = std::conditional_t<std::is_same_v<T, int64_t>, long double, double>;
    const T* from = x.data_as<T>();
    T* to = output->mutable_data_as<T>();
    const Wide threshold = attributes.threshold;
    context.ParallelFor(x.size(), kGrain, [&](int64_t begin, int64_t end) {
#pragma GCC ivdep
      for (int64_t i = begin; i < end; ++i) to[i] = static_cast<Wide>(from[i]) > threshold ? 1 : 0;
    });
    return absl::OkStatus();
  });
}

struct FeatureVectorizerAttributes {
  std::vector<int64_t> sizes;  // one for each input, or none
};
absl::StatusOr<FeatureVectorizerAttributes> ParseFeatureVectorizer(const NodeInfo& node) {
  FeatureVectorizerAttributes attributes{node.Ints("inputdimensions")};
  if (!attributes.sizes.empty() &&
      attributes.sizes.size() != static_cast<size_t>(node.input_count())) {
    return BadLength("inputdimensions", attributes.sizes.size(),
                     absl::StrCat(node.input_count(), ", one for each input"));
  }
  for (const int64_t size : attributes.sizes) {
    if (size < 0)
      return node.BadAttribute("inputdimensions", absl::StrCat(size), "no negative size");
  }
  return attributes;
}

// Rows side by side. An input is cut or filled up with zeros to the size that the attribute gives
// it.
absl::Status FeatureVectorizer(const FeatureVectorizerAttributes& attributes,
                               KernelContext& context) {
  int64_t rows = 0;
  int64_t columns = 0;
  std::vector<int64_t> sizes = attributes.sizes;
  for (int i = 0; i < context.input_count(); ++i) {
    const Tensor& x = context.input(i);
    if (x.rank() < 1 || x.rank() > 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("input ", i, " is ", TypeAndDims(x), ", expected [N,C] or [C]"));
    }
    const int64_t here = x.rank() == 1 ? 1 : x.dim(0);
    if (i == 0) rows = here;
    if (here != rows) {
      return absl::InvalidArgumentError(absl::StrCat(
          "input ", i, " has ", here, " rows, input 0 has ", rows, ", expected as many"));
    }
    if (attributes.sizes.empty()) sizes.push_back(x.dim(x.rank() - 1));
    if (__builtin_add_overflow(columns, sizes[i], &columns)) {
      return absl::InvalidArgumentError("the sum of \"inputdimensions\" exceeds int64");
    }
  }
  ASSIGN_OR_RETURN(Tensor * output, context.Output(0, ElementType::kFloat, {rows, columns}));
  float* out = output->mutable_data_as<float>();
  int64_t first = 0;
  for (int i = 0; i < context.input_count(); ++i) {
    ASSIGN_OR_RETURN(const Tensor x, ConvertTensor(context, context.input(i), ElementType::kFloat));
    const int64_t width = x.dim(x.rank() - 1);
    const int64_t copied = std::min(width, sizes[i]);
    for (int64_t n = 0; n < rows; ++n) {
      float* to = out + n * columns + first;
      std::copy_n(x.data_as<float>() + n * width, copied, to);
      std::fill(to + copied, to + sizes[i], 0.0F);
    }
    first += sizes[i];
  }
  return absl::OkStatus();
}

struct ImputerAttributes {
  std::vector<float> floats;
  std::vector<int64_t> ints;
  float replaced_float;
  int64_t replaced_int;
};
absl::StatusOr<ImputerAttributes> ParseImputer(const NodeInfo& node) {
  ImputerAttributes attributes{
      node.Floats("imputed_value_floats"), node.Ints("imputed_value_int64s"),
      node.FloatOr("replaced_value_float", 0), node.IntOr("replaced_value_int64", 0)};
  if (attributes.floats.empty() == attributes.ints.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("attributes \"imputed_value_floats\" and \"imputed_value_int64s\" have ",
                     attributes.floats.size(), " and ", attributes.ints.size(),
                     " elements, expected exactly one of them not empty"));
  }
  return attributes;
}

template <typename T, typename Given>
absl::Status Impute(KernelContext& context, const std::vector<Given>& given, Given replaced,
                    absl::string_view name) {
  const Tensor& x = context.input(0);
  if (x.rank() < 1) return absl::InvalidArgumentError("input 0 is a scalar, expected [N,C] or [C]");
  const int64_t columns = x.dim(x.rank() - 1);
  if (given.size() != 1 && given.size() != static_cast<size_t>(columns)) {
    return BadLength(
        name, given.size(),
        absl::StrCat("1 or ", columns, " for ", TypeName(x.type()), " input ", TypeAndDims(x)));
  }
  std::vector<T> values;
  for (const Given value : given) {
    values.push_back(static_cast<T>(value));
    if constexpr (std::is_integral_v<T>) {
      if (static_cast<Given>(values.back()) != value) {
        return absl::InvalidArgumentError(absl::StrCat("attribute \"", name, "\" has ", value,
                                                       ", expected a value of type ",
                                                       TypeName(x.type())));
      }
    }
  }
  ASSIGN_OR_RETURN(Tensor * output, context.OutputInPlace(0, 0, x.type(), x.dims()));
  const T* from = x.data_as<T>();
  T* to = output->mutable_data_as<T>();
  const bool per_column = values.size() > 1;
  const auto fill = [&](auto&& matches) {
    for (int64_t i = 0; i < x.size();) {
      for (int64_t c = 0; c < columns; ++c, ++i)
        to[i] = matches(from[i]) ? values[per_column ? c : 0] : from[i];
    }
  };
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(replaced)) {
      fill([](T value) { return std::isnan(value); });
      return absl::OkStatus();
    }
  }
  // A wide comparison: an int32 never equals what does not fit in it.
  fill(
      [replaced](T value) { return static_cast<std::common_type_t<T, Given>>(value) == replaced; });
  return absl::OkStatus();
}

absl::Status Imputer(const ImputerAttributes& attributes, KernelContext& context) {
  constexpr char kFloats[] = "imputed_value_floats";
  constexpr char kInts[] = "imputed_value_int64s";
  switch (context.input(0).type()) {
    case ElementType::kFloat:
      return Impute<float>(context, attributes.floats, attributes.replaced_float, kFloats);
    case ElementType::kDouble:
      return Impute<double>(context, attributes.floats, attributes.replaced_float, kFloats);
    case ElementType::kInt32:
      return Impute<int32_t>(context, attributes.ints, attributes.replaced_int, kInts);
    default: return Impute<int64_t>(context, attributes.ints, attributes.replaced_int, kInts);
  }
}

enum class Norm : uint8_t { kMax, kL1, kL2 };
absl::StatusOr<Norm> ParseNormalizer(const NodeInfo& node) {
  const std::string text = node.StringOr("norm", "MAX");
  if (text == "MAX") return Norm::kMax;
  if (text == "L1") return Norm::kL1;
  if (text == "L2") return Norm::kL2;
  return node.BadAttribute("norm", absl::StrCat("\"", text, "\""), "\"MAX\", \"L1\" or \"L2\"");
}

// The schema's formulas leave out the absolute values that make these norms; its reference has
// them.
double NormOf(Norm norm, absl::Span<const double> row) {
  double result = 0;
  for (const double value : row) {
    switch (norm) {
      case Norm::kMax:
        if (std::isnan(value)) return value;
        result = std::max(result, std::fabs(value));
        break;
      case Norm::kL1: result += std::fabs(value); break;
      case Norm::kL2: result += value * value; break;
    }
  }
  return norm == Norm::kL2 ? std::sqrt(result) : result;
}

absl::Status Normalizer(const Norm& norm, KernelContext& context) {
  ASSIGN_OR_RETURN(const FeatureRows x, ReadFeatures(context, 0));
  ASSIGN_OR_RETURN(Tensor * output,
                   context.Output(0, ElementType::kFloat, context.input(0).dims()));
  float* out = output->mutable_data_as<float>();
  for (int64_t n = 0; n < x.rows; ++n) {
    const double* row = x.Row(n);
    const double size = NormOf(norm, {row, static_cast<size_t>(x.columns)});
    for (int64_t c = 0; c < x.columns; ++c) {
      out[n * x.columns + c] = static_cast<float>(size == 0 ? row[c] : row[c] / size);
    }
  }
  return absl::OkStatus();
}

struct ScalerAttributes {
  std::vector<float> offset;
  std::vector<float> scale;
};
absl::StatusOr<ScalerAttributes> ParseScaler(const NodeInfo& node) {
  ScalerAttributes attributes{node.Floats("offset"), node.Floats("scale")};
  if (!attributes.offset.empty() && !attributes.scale.empty() &&
      attributes.offset.size() != attributes.scale.size()) {
    return BadLength("scale", attributes.scale.size(),
                     absl::StrCat(attributes.offset.size(), ", as \"offset\" has"));
  }
  return attributes;
}

absl::Status Scaler(const ScalerAttributes& attributes, KernelContext& context) {
  const Tensor& x = context.input(0);
  if (x.rank() < 1) return absl::InvalidArgumentError("input 0 is a scalar, expected [N,F] or [F]");
  const int64_t columns = x.dim(x.rank() - 1);
  // Without the attribute nothing is taken away, and nothing multiplied.
  const auto per_column = [&](const std::vector<float>& given, absl::string_view name,
                              double none) -> absl::StatusOr<std::vector<double>> {
    if (given.size() > 1 && given.size() != static_cast<size_t>(columns)) {
      return BadLength(name, given.size(), absl::StrCat("1 or ", columns, " for ", TypeAndDims(x)));
    }
    if (given.size() > 1) return std::vector<double>(given.begin(), given.end());
    return std::vector<double>(static_cast<size_t>(columns), given.empty() ? none : given[0]);
  };
  ASSIGN_OR_RETURN(const std::vector<double> offset, per_column(attributes.offset, "offset", 0));
  ASSIGN_OR_RETURN(const std::vector<double> scale, per_column(attributes.scale, "scale", 1));
  ASSIGN_OR_RETURN(Tensor * output, context.Output(0, ElementType::kFloat, x.dims()));
  float* out = output->mutable_data_as<float>();
  return VisitType(FeatureTypes(), x.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* from = x.data_as<T>();
    for (int64_t i = 0; i < x.size();) {
      for (int64_t c = 0; c < columns; ++c, ++i) {
        out[i] = static_cast<float>((static_cast<double>(from[i]) - offset[c]) * scale[c]);
      }
    }
    return absl::OkStatus();
  });
}

constexpr auto kKernels = InDomain(
    kMlDomain, KernelTable(Rows<ArrayFeatureExtractor>("ArrayFeatureExtractor", 1),
                           Rows<ParseBinarizer, Binarizer>("Binarizer", 1),
                           Rows<ParseFeatureVectorizer, FeatureVectorizer>("FeatureVectorizer", 1),
                           Rows<ParseImputer, Imputer>("Imputer", 1),
                           Rows<ParseNormalizer, Normalizer>("Normalizer", 1),
                           Rows<ParseScaler, Scaler>("Scaler", 1)));

}  // namespace

absl::Span<const KernelDef> MlFeatureKernels() { return kKernels; }

}  // namespace onnx_run
