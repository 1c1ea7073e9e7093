// LinearClassifier, LinearRegressor, SVMClassifier and SVMRegressor of ai.onnx.ml.
//
// The schemas say little more than the attributes' names; what they leave open is as the standard's
// reference has it.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/families.h"
#include "ops/kernel_table.h"
#include "ops/ml_util.h"
#include "runtime/status_macros.h"

namespace onnx_run {
namespace {

using Doubles = std::vector<double>;

Doubles DoublesOf(const NodeInfo& node, absl::string_view name) {
  const std::vector<float> given = node.Floats(name);
  return {given.begin(), given.end()};
}

double Dot(const double* a, const double* b, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

// Rows that are worth another thread, when each takes `work` multiplications.
int64_t GrainOf(int64_t work) { return std::max<int64_t>(1, 32768 / std::max<int64_t>(work, 1)); }

// The labels of one score: [0] below the threshold, [1] otherwise. Where there are none, 0 and 1.
ClassLabels LabelsOfOneScore(const ClassLabels& labels) {
  ClassLabels result = labels;
  if (labels.are_strings) {
    result.strings.insert(result.strings.begin(), "");
  } else if (labels.size() == 1) {
    result.ints.insert(result.ints.begin(), 0);
  }
  return result;
}

absl::Status InferClassifier(const NodeInfo& node, absl::Span<const Type> /*inputs*/,
                             absl::Span<Type> outputs) {
  ASSIGN_OR_RETURN(const ClassLabels labels, ParseClassLabels(node, "classlabels_ints"));
  if (!outputs.empty()) outputs[0] = Type::OfTensor(labels.type());
  return absl::OkStatus();
}

void StoreScores(const Doubles& scores, float* out) {
  for (size_t i = 0; i < scores.size(); ++i) out[i] = static_cast<float>(scores[i]);
}

// --- Linear models ---------------------------------------------------------------------------

struct LinearModel {
  Doubles coefficients;  // [score, feature]
  Doubles intercepts;    // one for each score, or none
  PostTransform transform;

  int64_t ScoreCount(const FeatureRows& x) const {
    return static_cast<int64_t>(coefficients.size()) / x.columns;
  }
  absl::Status Check(const FeatureRows& x) const {
    if (x.columns == 0 || coefficients.size() % static_cast<size_t>(x.columns) != 0) {
      return BadLength("coefficients", coefficients.size(),
                       absl::StrCat("a multiple of the ", x.columns, " features of input 0"));
    }
    if (!intercepts.empty() && static_cast<int64_t>(intercepts.size()) != ScoreCount(x)) {
      return BadLength("intercepts", intercepts.size(),
                       absl::StrCat(ScoreCount(x), ", as ", coefficients.size(),
                                    " coefficients for ", x.columns, " features make scores"));
    }
    return absl::OkStatus();
  }
  // scores[0, count)
  void Score(const double* row, int64_t columns, int64_t count, double* scores) const {
    for (int64_t j = 0; j < count; ++j) {
      scores[j] = Dot(row, coefficients.data() + j * columns, columns);
      if (!intercepts.empty()) scores[j] += intercepts[j];
    }
  }
};

absl::StatusOr<LinearModel> ParseLinear(const NodeInfo& node) {
  LinearModel model;
  model.coefficients = DoublesOf(node, "coefficients");
  model.intercepts = DoublesOf(node, "intercepts");
  if (model.coefficients.empty()) return BadLength("coefficients", 0, "at least one");
  ASSIGN_OR_RETURN(model.transform, ParsePostTransform(node));
  return model;
}

struct LinearClassifierModel {
  LinearModel linear;
  ClassLabels labels;
  ClassLabels labels_of_one;
};
absl::StatusOr<LinearClassifierModel> ParseLinearClassifier(const NodeInfo& node) {
  LinearClassifierModel model;
  ASSIGN_OR_RETURN(model.linear, ParseLinear(node));
  ASSIGN_OR_RETURN(model.labels, ParseClassLabels(node, "classlabels_ints"));
  model.labels_of_one = LabelsOfOneScore(model.labels);
  return model;
}

absl::Status LinearClassifier(const LinearClassifierModel& model, KernelContext& context) {
  ASSIGN_OR_RETURN(const FeatureRows x, ReadFeatures(context, 0));
  RETURN_IF_ERROR(model.linear.Check(x));
  const int64_t count = model.linear.ScoreCount(x);
  const int64_t labels = model.labels.size();
  if (labels != 0 && labels != count && !(count == 1 && labels == 2)) {
    return absl::InvalidArgumentError(
        absl::StrCat(labels, " class labels for ", count, " scores, expected as many"));
  }
  // One score for two classes is the second one's; the first one's is its opposite.
  const bool opposite = count == 1 && labels == 2;
  const int64_t width = opposite ? 2 : count;
  const PostTransform transform = model.linear.transform;
  const double threshold = transform == PostTransform::kNone ? 0 : 0.5;
  ASSIGN_OR_RETURN(Tensor chosen, context.Allocate(ElementType::kInt64, {x.rows}));
  ASSIGN_OR_RETURN(Tensor * output, context.Output(1, ElementType::kFloat, {x.rows, width}));
  int64_t* choice = chosen.mutable_data_as<int64_t>();
  float* out = output->mutable_data_as<float>();
  context.ParallelFor(x.rows, GrainOf(count * x.columns), [&](int64_t begin, int64_t end) {
    Doubles scores(static_cast<size_t>(width));
    for (int64_t n = begin; n < end; ++n) {
      model.linear.Score(x.Row(n), x.columns, count, scores.data());
      if (opposite) {
        scores[1] = scores[0];
        scores[0] = -scores[0];
      }
      ApplyPostTransform(transform, absl::MakeSpan(scores));
      choice[n] = width > 1 ? ArgMax(scores) : static_cast<int64_t>(scores[0] >= threshold);
      StoreScores(scores, out + n * width);
    }
  });
  return SetLabels(context, width > 1 ? model.labels : model.labels_of_one, chosen);
}

struct LinearRegressorModel {
  LinearModel linear;
  int64_t targets;
};
absl::StatusOr<LinearRegressorModel> ParseLinearRegressor(const NodeInfo& node) {
  LinearRegressorModel model;
  ASSIGN_OR_RETURN(model.linear, ParseLinear(node));
  model.targets = node.IntOr("targets", 1);
  if (model.targets < 1)
    return node.BadAttribute("targets", absl::StrCat(model.targets), "1 or more");
  return model;
}

absl::Status LinearRegressor(const LinearRegressorModel& model, KernelContext& context) {
  ASSIGN_OR_RETURN(const FeatureRows x, ReadFeatures(context, 0));
  RETURN_IF_ERROR(model.linear.Check(x));
  const int64_t count = model.linear.ScoreCount(x);
  if (count != model.targets) {
    return absl::InvalidArgumentError(absl::StrCat(
        model.linear.coefficients.size(), " coefficients for ", x.columns, " features make ", count,
        " targets, expected ", model.targets, " (attribute \"targets\")"));
  }
  ASSIGN_OR_RETURN(Tensor * output, context.Output(0, ElementType::kFloat, {x.rows, count}));
  float* out = output->mutable_data_as<float>();
  context.ParallelFor(x.rows, GrainOf(count * x.columns), [&](int64_t begin, int64_t end) {
    Doubles scores(static_cast<size_t>(count));
    for (int64_t n = begin; n < end; ++n) {
      model.linear.Score(x.Row(n), x.columns, count, scores.data());
      ApplyPostTransform(model.linear.transform, absl::MakeSpan(scores));
      StoreScores(scores, out + n * count);
    }
  });
  return absl::OkStatus();
}

// --- Support vector machines -----------------------------------------------------------------

enum class SvmKernel : uint8_t { kLinear, kPoly, kRbf, kSigmoid };

struct SvmModel {
  SvmKernel kernel = SvmKernel::kLinear;
  double gamma = 0;
  double coef0 = 0;
  double degree = 0;
  int64_t vectors = 0;  // 0: a linear model, whose coefficients are its only "vectors"
  Doubles support;      // [vectors, features]
  Doubles coefficients;
  Doubles rho;
  PostTransform transform = PostTransform::kNone;

  double Kernel(const double* a, const double* b, int64_t n) const {
    if (kernel == SvmKernel::kRbf) {
      double sum = 0;
      for (int64_t i = 0; i < n; ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
      return std::exp(-gamma * sum);
    }
    const double dot = Dot(a, b, n);
    if (kernel == SvmKernel::kPoly) return std::pow(gamma * dot + coef0, degree);
    if (kernel == SvmKernel::kSigmoid) return std::tanh(gamma * dot + coef0);
    return dot;
  }
};

absl::StatusOr<SvmModel> ParseSvm(const NodeInfo& node, int64_t vectors) {
  SvmModel model;
  model.vectors = vectors;
  model.support = DoublesOf(node, "support_vectors");
  model.coefficients = DoublesOf(node, "coefficients");
  model.rho = DoublesOf(node, "rho");
  ASSIGN_OR_RETURN(model.transform, ParsePostTransform(node));
  if (model.coefficients.empty()) return BadLength("coefficients", 0, "at least one");
  const Doubles parameters = DoublesOf(node, "kernel_params");
  if (!parameters.empty()) {
    if (parameters.size() != 3) {
      return BadLength("kernel_params", parameters.size(), "3 (gamma, coef0, degree) or none");
    }
    model.gamma = parameters[0];
    model.coef0 = parameters[1];
    model.degree = parameters[2];
  }
  const std::string kernel = node.StringOr("kernel_type", "LINEAR");
  if (kernel == "POLY") {
    model.kernel = SvmKernel::kPoly;
  } else if (kernel == "RBF") {
    model.kernel = SvmKernel::kRbf;
  } else if (kernel == "SIGMOID") {
    model.kernel = SvmKernel::kSigmoid;
  } else if (kernel != "LINEAR") {
    return node.BadAttribute("kernel_type", absl::StrCat("\"", kernel, "\""),
                             "\"LINEAR\", \"POLY\", \"RBF\" or \"SIGMOID\"");
  }
  // Without support vectors there is nothing that a kernel could be taken with.
  if (vectors == 0) model.kernel = SvmKernel::kLinear;
  if (vectors > 0 &&
      (model.support.empty() || model.support.size() % static_cast<size_t>(vectors) != 0)) {
    return BadLength("support_vectors", model.support.size(),
                     absl::StrCat("a multiple of the ", vectors, " support vectors"));
  }
  return model;
}

absl::Status CheckFeatures(const FeatureRows& x, int64_t expected) {
  if (x.columns == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("input 0 has ", x.columns, " features, expected ",
                                                 expected, " as the model was made for"));
}

struct SvmClassifierModel {
  SvmModel svm;
  ClassLabels labels;
  ClassLabels labels_of_one;
  int64_t classes = 1;
  int64_t pairs = 0;
  std::vector<int64_t> first;  // vectors of class i are [first[i], first[i + 1])
  Doubles prob_a, prob_b;
  bool all_positive = false;

  bool linear() const { return svm.vectors == 0; }
  bool probabilities() const { return !linear() && !prob_a.empty(); }
  int64_t score_count() const { return linear() || probabilities() ? classes : pairs; }
};

absl::StatusOr<SvmClassifierModel> ParseSvmClassifier(const NodeInfo& node) {
  SvmClassifierModel model;
  ASSIGN_OR_RETURN(model.labels, ParseClassLabels(node, "classlabels_ints"));
  // A single score tells a class that the labels do not name: those of the reference and its peers.
  model.labels_of_one.are_strings = model.labels.are_strings;
  if (model.labels.are_strings) model.labels_of_one.strings = {"0", "1"};
  model.classes = std::max<int64_t>(model.labels.size(), 1);
  model.pairs = model.classes * (model.classes - 1) / 2;
  model.first = {0};
  const std::vector<int64_t> per_class = node.Ints("vectors_per_class");
  for (const int64_t count : per_class) {
    int64_t next = 0;
    if (count < 0 || __builtin_add_overflow(model.first.back(), count, &next)) {
      return node.BadAttribute("vectors_per_class", absl::StrCat(count),
                               "a number of support vectors");
    }
    model.first.push_back(next);
  }
  const int64_t vectors = model.first.back();
  ASSIGN_OR_RETURN(model.svm, ParseSvm(node, vectors));
  const Doubles& coefficients = model.svm.coefficients;
  model.all_positive = *std::min_element(coefficients.begin(), coefficients.end()) >= 0;
  const auto expect = [](absl::string_view name, size_t found, int64_t expected) {
    return static_cast<int64_t>(found) == expected ? absl::OkStatus()
                                                   : BadLength(name, found, absl::StrCat(expected));
  };
  if (model.linear()) {
    if (coefficients.size() % static_cast<size_t>(model.classes) != 0) {
      return BadLength("coefficients", coefficients.size(),
                       absl::StrCat("a multiple of the ", model.classes, " classes"));
    }
    if (model.svm.rho.empty()) return BadLength("rho", 0, "at least one");
    return model;
  }
  if (model.classes < 2)
    return absl::InvalidArgumentError("no two class labels are given, expected two or more");
  RETURN_IF_ERROR(expect("vectors_per_class", per_class.size(), model.classes));
  // In this order, so that the product cannot overflow.
  if (static_cast<int64_t>(coefficients.size()) / vectors != model.classes - 1 ||
      static_cast<int64_t>(coefficients.size()) % vectors != 0) {
    return BadLength("coefficients", coefficients.size(),
                     absl::StrCat(model.classes - 1, " for each of ", vectors, " support vectors"));
  }
  RETURN_IF_ERROR(expect("rho", model.svm.rho.size(), model.pairs));
  model.prob_a = DoublesOf(node, "prob_a");
  model.prob_b = DoublesOf(node, "prob_b");
  if (!model.prob_a.empty() || !model.prob_b.empty()) {
    RETURN_IF_ERROR(expect("prob_a", model.prob_a.size(), model.pairs));
    RETURN_IF_ERROR(expect("prob_b", model.prob_b.size(), model.pairs));
  }
  return model;
}

// One against one: a score for each pair of classes, and a vote for the pair's winner.
void ScorePairs(const SvmClassifierModel& model, const Doubles& kernels, Doubles* scores,
                Doubles* votes) {
  const int64_t vectors = model.svm.vectors;
  std::fill(votes->begin(), votes->end(), 0);
  size_t pair = 0;
  const auto part = [&](int64_t row, int64_t of_class) {
    const int64_t first = model.first[of_class];
    return Dot(&model.svm.coefficients[row * vectors] + first, kernels.data() + first,
               model.first[of_class + 1] - first);
  };
  for (int64_t i = 0; i < model.classes; ++i) {
    for (int64_t j = i + 1; j < model.classes; ++j, ++pair) {
      const double score = model.svm.rho[pair] + part(j - 1, i) + part(i, j);
      (*scores)[pair] = score;
      (*votes)[score > 0 ? i : j] += 1;
    }
  }
}

// Probabilities of k classes from those of pairs, by the second method of Wu, Lin and Weng (2004),
// as libsvm has it: r[i, j] is how probable i is against j.
void CoupleProbabilities(int64_t k, const Doubles& r, Doubles* result) {
  Doubles q(static_cast<size_t>(k * k));
  for (int64_t i = 0; i < k; ++i) {
    for (int64_t j = 0; j < k; ++j) {
      if (i == j) continue;
      q[i * k + i] += r[j * k + i] * r[j * k + i];
      q[i * k + j] = -r[j * k + i] * r[i * k + j];
    }
  }
  Doubles& p = *result;
  p.assign(static_cast<size_t>(k), 1.0 / static_cast<double>(k));
  Doubles qp(static_cast<size_t>(k));
  const double tolerance = 0.005 / static_cast<double>(k);
  const int64_t rounds = std::max<int64_t>(100, k);
  for (int64_t round = 0; round < rounds; ++round) {
    double pqp = 0;
    for (int64_t i = 0; i < k; ++i) {
      qp[i] = Dot(&q[i * k], p.data(), k);
      pqp += p[i] * qp[i];
    }
    double error = 0;
    for (int64_t i = 0; i < k; ++i) error = std::max(error, std::fabs(qp[i] - pqp));
    if (error < tolerance) return;
    for (int64_t i = 0; i < k; ++i) {
      const double diff = (pqp - qp[i]) / q[i * k + i];
      p[i] += diff;
      pqp = (pqp + diff * (diff * q[i * k + i] + 2 * qp[i])) / ((1 + diff) * (1 + diff));
      for (int64_t j = 0; j < k; ++j) {
        qp[j] = (qp[j] + diff * q[i * k + j]) / (1 + diff);
        p[j] /= 1 + diff;
      }
    }
  }
}

void ScoreProbabilities(const SvmClassifierModel& model, const Doubles& pair_scores,
                        Doubles* result) {
  const int64_t k = model.classes;
  Doubles r(static_cast<size_t>(k * k));
  size_t pair = 0;
  for (int64_t i = 0; i < k; ++i) {
    for (int64_t j = i + 1; j < k; ++j, ++pair) {
      double value = -(pair_scores[pair] * model.prob_a[pair] + model.prob_b[pair]);
      ApplyPostTransform(PostTransform::kLogistic, absl::MakeSpan(&value, 1));
      value = std::min(std::max(value, 1e-7), 1 - 1e-7);
      r[i * k + j] = value;
      r[j * k + i] = 1 - value;
    }
  }
  CoupleProbabilities(k, r, result);
}

absl::Status SvmClassifier(const SvmClassifierModel& model, KernelContext& context) {
  ASSIGN_OR_RETURN(const FeatureRows x, ReadFeatures(context, 0));
  const SvmModel& svm = model.svm;
  RETURN_IF_ERROR(CheckFeatures(
      x, model.linear() ? static_cast<int64_t>(svm.coefficients.size()) / model.classes
                        : static_cast<int64_t>(svm.support.size()) / svm.vectors));
  const int64_t labels = model.labels.size();
  const int64_t count = model.score_count();
  // A single score of two classes is shown for both; PROBIT, as everywhere, keeps it single.
  const bool opposite = count == 1 && labels == 2 && svm.transform != PostTransform::kProbit;
  const int64_t width = opposite ? 2 : count;
  const bool one_of_none = svm.rho.size() == 1 && labels < 2;
  ASSIGN_OR_RETURN(Tensor chosen, context.Allocate(ElementType::kInt64, {x.rows}));
  ASSIGN_OR_RETURN(Tensor * output, context.Output(1, ElementType::kFloat, {x.rows, width}));
  int64_t* choice = chosen.mutable_data_as<int64_t>();
  float* out = output->mutable_data_as<float>();
  const int64_t work = static_cast<int64_t>(svm.support.size() + svm.coefficients.size());
  context.ParallelFor(x.rows, GrainOf(work), [&](int64_t begin, int64_t end) {
    Doubles kernels(static_cast<size_t>(svm.vectors));
    Doubles votes(static_cast<size_t>(model.linear() ? 0 : model.classes));
    Doubles pair_scores(static_cast<size_t>(model.linear() ? 0 : model.pairs));
    Doubles scores;
    for (int64_t n = begin; n < end; ++n) {
      scores.assign(static_cast<size_t>(count), 0);
      if (model.linear()) {
        for (int64_t j = 0; j < count; ++j) {
          scores[j] = svm.rho[0] + Dot(x.Row(n), &svm.coefficients[j * x.columns], x.columns);
        }
      } else {
        for (int64_t v = 0; v < svm.vectors; ++v) {
          kernels[v] = svm.Kernel(x.Row(n), &svm.support[v * x.columns], x.columns);
        }
        ScorePairs(model, kernels, &pair_scores, &votes);
        if (model.probabilities()) {
          ScoreProbabilities(model, pair_scores, &scores);
        } else {
          scores = pair_scores;
        }
      }
      const Doubles& ranking = model.linear() ? scores : votes;
      choice[n] = ArgMax(ranking);
      const double best = ranking[choice[n]];
      if (one_of_none) {
        choice[n] = best > 0 ? 1 : 0;
      } else if (labels == 2 && svm.rho.size() == 1 && !model.probabilities() &&
                 model.all_positive && best >= 0.5) {
        choice[n] = 1;  // weights that are all positive are taken for probabilities
      }
      if (opposite) {
        scores.push_back(scores[0]);
        scores[0] = -scores[0];
      }
      ApplyPostTransform(svm.transform, absl::MakeSpan(scores));
      StoreScores(scores, out + n * width);
    }
  });
  return SetLabels(context, one_of_none ? model.labels_of_one : model.labels, chosen);
}

struct SvmRegressorModel {
  SvmModel svm;
  bool one_class;
};
absl::StatusOr<SvmRegressorModel> ParseSvmRegressor(const NodeInfo& node) {
  SvmRegressorModel model;
  const int64_t vectors = node.IntOr("n_supports", 0);
  if (vectors < 0) return node.BadAttribute("n_supports", absl::StrCat(vectors), "0 or more");
  const int64_t targets = node.IntOr("n_targets", 1);
  if (targets != 1) {
    return node.BadAttribute("n_targets", absl::StrCat(targets),
                             "1: the attributes describe one target");
  }
  ASSIGN_OR_RETURN(model.svm, ParseSvm(node, vectors));
  if (vectors > 0 && static_cast<int64_t>(model.svm.coefficients.size()) != vectors) {
    return BadLength("coefficients", model.svm.coefficients.size(),
                     absl::StrCat(vectors, ", as \"n_supports\" says"));
  }
  if (model.svm.rho.empty()) return BadLength("rho", 0, "at least one");
  model.one_class = node.IntOr("one_class", 0) != 0;
  return model;
}

absl::Status SvmRegressor(const SvmRegressorModel& model, KernelContext& context) {
  ASSIGN_OR_RETURN(const FeatureRows x, ReadFeatures(context, 0));
  const SvmModel& svm = model.svm;
  RETURN_IF_ERROR(CheckFeatures(x, svm.vectors == 0
                                       ? static_cast<int64_t>(svm.coefficients.size())
                                       : static_cast<int64_t>(svm.support.size()) / svm.vectors));
  ASSIGN_OR_RETURN(Tensor * output, context.Output(0, ElementType::kFloat, {x.rows, 1}));
  float* out = output->mutable_data_as<float>();
  const int64_t work = static_cast<int64_t>(svm.support.size() + svm.coefficients.size());
  context.ParallelFor(x.rows, GrainOf(work), [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      double score = svm.rho[0];
      if (svm.vectors == 0) score += Dot(x.Row(n), svm.coefficients.data(), x.columns);
      for (int64_t v = 0; v < svm.vectors; ++v) {
        score += svm.coefficients[v] * svm.Kernel(x.Row(n), &svm.support[v * x.columns], x.columns);
      }
      if (model.one_class) {
        score = score > 0 ? 1 : -1;  // inlier or outlier: no score that could be transformed
      } else {
        ApplyPostTransform(svm.transform, absl::MakeSpan(&score, 1));
      }
      out[n] = static_cast<float>(score);
    }
  });
  return absl::OkStatus();
}

constexpr auto kKernels = InDomain(
    kMlDomain,
    KernelTable(
        Rows<ParseLinearClassifier, LinearClassifier>("LinearClassifier", 1).Infer(InferClassifier),
        Rows<ParseLinearRegressor, LinearRegressor>("LinearRegressor", 1),
        Rows<ParseSvmClassifier, SvmClassifier>("SVMClassifier", 1).Infer(InferClassifier),
        Rows<ParseSvmRegressor, SvmRegressor>("SVMRegressor", 1)));

}  // namespace

absl::Span<const KernelDef> MlLinearKernels() { return kKernels; }

}  // namespace onnx_run
