// What the classifiers and regressors of ai.onnx.ml have in common: rows of features, class labels,
// and what is done to scores in the end. Scores are computed in double and rounded once.
#ifndef ONNX_RUN_OPS_ML_UTIL_H_
#define ONNX_RUN_OPS_ML_UTIL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/kernel.h"
#include "runtime/tensor.h"

namespace onnx_run {

inline constexpr char kMlDomain[] = "ai.onnx.ml";

// "attribute "a" has 3 elements, expected 4 (why)": a list whose length does not fit.
absl::Status BadLength(absl::string_view name, size_t found, absl::string_view expected);

// An input [N,C], or [C] as [1,C], in double.
struct FeatureRows {
  Tensor values;
  int64_t rows = 0;
  int64_t columns = 0;
  const double* Row(int64_t n) const { return values.data_as<double>() + n * columns; }
};
absl::StatusOr<FeatureRows> ReadFeatures(KernelContext& context, int input);

// The numbers are those of TreeEnsemble's attribute.
enum class PostTransform : uint8_t { kNone, kSoftmax, kLogistic, kSoftmaxZero, kProbit };
absl::StatusOr<PostTransform> ParsePostTransform(const NodeInfo& node);
void ApplyPostTransform(PostTransform transform, absl::Span<double> scores);

// The labels of the classes: strings, or integers.
struct ClassLabels {
  bool are_strings = false;
  std::vector<std::string> strings;
  std::vector<int64_t> ints;
  int64_t size() const { return static_cast<int64_t>(are_strings ? strings.size() : ints.size()); }
  ElementType type() const { return are_strings ? ElementType::kString : ElementType::kInt64; }
};
// From "classlabels_strings" or the attribute `ints_name`; not both. Neither gives no labels.
absl::StatusOr<ClassLabels> ParseClassLabels(const NodeInfo& node, absl::string_view ints_name);
// Output 0 [N]: for each row, the label that `chosen` (int64) tells the index of, or where there
// are no labels, the index itself.
absl::Status SetLabels(KernelContext& context, const ClassLabels& labels, const Tensor& chosen);

// Index of the first greatest element; of the first NaN when there is one, as numpy has it.
int64_t ArgMax(absl::Span<const double> values);

}  // namespace onnx_run

#endif  // ONNX_RUN_OPS_ML_UTIL_H_
