#include "ops/ml_util.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/dispatch.h"
#include "runtime/status_macros.h"

namespace onnx_run {
namespace {

double Logistic(double x) {
  // Of the absolute value, so that exp never overflows.
  const double e = std::exp(-std::fabs(x));
  return x < 0 ? e / (1 + e) : 1 / (1 + e);
}

// The standard names PROBIT without a formula. Its reference and the other runtimes compute this
// closed approximation of the inverse error function (Winitzki's, a = 0.147), off by up to 0.2 %;
// the exact function would disagree with every one of them.
double Probit(double p) {
  constexpr double kPi = 3.14159265358979323846;
  constexpr double kA = 0.147;
  constexpr double kSqrt2 = 1.41421356237309504880;
  const double x = 2 * p - 1;
  if (x == 1 || x == -1) return x * std::numeric_limits<double>::infinity();
  const double log = std::log((1 - x) * (1 + x));
  const double v = 2 / (kPi * kA) + 0.5 * log;
  const double root = std::sqrt(-v + std::sqrt(v * v - log / kA));
  return kSqrt2 * (x < 0 ? -root : root);
}

void Softmax(absl::Span<double> scores) {
  const double max = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (double& score : scores) sum += score = std::exp(score - max);
  for (double& score : scores) score /= sum;
}

// Softmax in which a score of zero stands for no vote and stays (all but) zero.
void SoftmaxZero(absl::Span<double> scores) {
  const double max = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (double& score : scores) {
    score = std::fabs(score) > 1e-7 ? std::exp(score - max) : score * std::exp(-max);
    sum += score;
  }
  for (double& score : scores) score = sum == 0 ? 0.5 : score / sum;
}

}  // namespace

absl::Status BadLength(absl::string_view name, size_t found, absl::string_view expected) {
  return absl::InvalidArgumentError(
      absl::StrCat("attribute \"", name, "\" has ", found, " elements, expected ", expected));
}

absl::StatusOr<FeatureRows> ReadFeatures(KernelContext& context, int input) {
  const Tensor& given = context.input(input);
  if (given.rank() != 1 && given.rank() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("input ", input, " is ", TypeAndDims(given), ", expected [N,C] or [C]"));
  }
  FeatureRows result;
  ASSIGN_OR_RETURN(result.values, ConvertTensor(context, given, ElementType::kDouble));
  result.rows = given.rank() == 1 ? 1 : given.dim(0);
  result.columns = given.dim(given.rank() - 1);
  return result;
}

absl::StatusOr<PostTransform> ParsePostTransform(const NodeInfo& node) {
  const std::string text = node.StringOr("post_transform", "NONE");
  if (text == "NONE") return PostTransform::kNone;
  if (text == "SOFTMAX") return PostTransform::kSoftmax;
  if (text == "LOGISTIC") return PostTransform::kLogistic;
  if (text == "SOFTMAX_ZERO") return PostTransform::kSoftmaxZero;
  if (text == "PROBIT") return PostTransform::kProbit;
  return node.BadAttribute("post_transform", absl::StrCat("\"", text, "\""),
                           "\"NONE\", \"SOFTMAX\", \"LOGISTIC\", \"SOFTMAX_ZERO\" or \"PROBIT\"");
}

void ApplyPostTransform(PostTransform transform, absl::Span<double> scores) {
  if (scores.empty()) return;
  switch (transform) {
    case PostTransform::kNone: return;
    case PostTransform::kSoftmax: return Softmax(scores);
    case PostTransform::kLogistic:
      for (double& score : scores) score = Logistic(score);
      return;
    case PostTransform::kSoftmaxZero: return SoftmaxZero(scores);
    case PostTransform::kProbit:
      for (double& score : scores) score = Probit(score);
      return;
  }
}

absl::StatusOr<ClassLabels> ParseClassLabels(const NodeInfo& node, absl::string_view ints_name) {
  ClassLabels labels;
  labels.strings = node.Strings("classlabels_strings");
  labels.ints = node.Ints(ints_name);
  if (!labels.strings.empty() && !labels.ints.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("attributes \"classlabels_strings\" and \"",
                                                   ints_name, "\" are both given, expected one"));
  }
  labels.are_strings = !labels.strings.empty();
  return labels;
}

absl::Status SetLabels(KernelContext& context, const ClassLabels& labels, const Tensor& chosen) {
  if (labels.size() == 0) {
    context.SetOutput(0, chosen);
    return absl::OkStatus();
  }
  const int64_t* index = chosen.data_as<int64_t>();
  ASSIGN_OR_RETURN(Tensor * output, context.Output(0, labels.type(), {chosen.size()}));
  if (labels.are_strings) {
    for (int64_t n = 0; n < chosen.size(); ++n)
      output->mutable_strings()[n] = labels.strings[index[n]];
  } else {
    int64_t* out = output->mutable_data_as<int64_t>();
    for (int64_t n = 0; n < chosen.size(); ++n) out[n] = labels.ints[index[n]];
  }
  return absl::OkStatus();
}

int64_t ArgMax(absl::Span<const double> values) {
  int64_t best = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i])) return static_cast<int64_t>(i);
    if (values[i] > values[best]) best = static_cast<int64_t>(i);
  }
  return best;
}

}  // namespace onnx_run
