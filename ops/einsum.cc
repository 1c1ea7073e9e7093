// Einsum: operands are contracted from left to right, each pair by one batch of matrix products.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "ops/dispatch.h"
#include "ops/families.h"
#include "ops/gemm.h"
#include "ops/kernel_table.h"
#include "ops/reduce_engine.h"
#include "ops/strided_copy.h"
#include "runtime/status_macros.h"

namespace onnx_run {
namespace {

// Letters are labels 0..51; the dimensions of an ellipsis, from the last, are those after them.
constexpr int kLetters = 52;
constexpr int kMaxEllipsis = 32;
constexpr int kLabels = kLetters + kMaxEllipsis;
constexpr int8_t kEllipsis = -1;  // in a term
using Labels = absl::InlinedVector<int8_t, 8>;

struct EinsumAttributes {
  std::vector<Labels> terms;
  std::optional<Labels> output;
};

absl::StatusOr<Labels> ParseTerm(const NodeInfo& node, absl::string_view equation,
                                 absl::string_view term) {
  Labels labels;
  bool ellipsis = false;
  for (size_t i = 0; i < term.size(); ++i) {
    const char c = term[i];
    if (absl::ascii_isspace(c)) continue;
    if (absl::ascii_islower(c)) {
      labels.push_back(static_cast<int8_t>(c - 'a' + 26));  // numpy orders capitals first
    } else if (absl::ascii_isupper(c)) {
      labels.push_back(static_cast<int8_t>(c - 'A'));
    } else if (c == '.' && term.substr(i, 3) == "..." && !ellipsis) {
      labels.push_back(kEllipsis);
      ellipsis = true;
      i += 2;
    } else {
      return node.BadAttribute("equation", absl::StrCat("\"", equation, "\""),
                               "terms of letters and at most one \"...\", apart by commas, and "
                               "perhaps \"->\" and the output's term");
    }
  }
  return labels;
}

absl::StatusOr<EinsumAttributes> ParseEinsum(const NodeInfo& node) {
  ASSIGN_OR_RETURN(const std::string equation, node.String("equation"));
  EinsumAttributes attributes;
  absl::string_view inputs = equation;
  const size_t arrow = equation.find("->");
  if (arrow != std::string::npos) {
    inputs = absl::string_view(equation).substr(0, arrow);
    ASSIGN_OR_RETURN(attributes.output,
                     ParseTerm(node, equation, absl::string_view(equation).substr(arrow + 2)));
  }
  for (const absl::string_view term : absl::StrSplit(inputs, ',')) {
    ASSIGN_OR_RETURN(Labels labels, ParseTerm(node, equation, term));
    attributes.terms.push_back(std::move(labels));
  }
  if (static_cast<int>(attributes.terms.size()) != node.input_count()) {
    return node.BadAttribute("equation", absl::StrCat("\"", equation, "\""),
                             absl::StrCat("as many terms as inputs, ", node.input_count()));
  }
  if (attributes.output) {
    Labels sorted = *attributes.output;
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
      return node.BadAttribute("equation", absl::StrCat("\"", equation, "\""),
                               "no letter twice in the output");
    }
    for (const int8_t label : *attributes.output) {
      const bool found = std::any_of(
          attributes.terms.begin(), attributes.terms.end(), [label](const Labels& term) {
            return std::find(term.begin(), term.end(), label) != term.end();
          });
      if (!found && label != kEllipsis) {
        return node.BadAttribute("equation", absl::StrCat("\"", equation, "\""),
                                 "an output of letters that the inputs have");
      }
    }
  }
  return attributes;
}

std::string LabelName(int8_t label) {
  if (label >= kLetters)
    return absl::StrCat("dimension -", label - kLetters + 1, " of the ellipsis");
  return absl::StrCat(
      "\"", std::string(1, static_cast<char>(label < 26 ? 'A' + label : 'a' + label - 26)), "\"");
}

// An operand: elements of a tensor, one label for each dimension, none twice.
struct Operand {
  Tensor tensor;
  Labels labels;
  Dims strides;

  bool Has(int8_t label) const {
    return std::find(labels.begin(), labels.end(), label) != labels.end();
  }
  int64_t StrideOf(int8_t label) const {
    return strides[std::find(labels.begin(), labels.end(), label) - labels.begin()];
  }
};

class Contraction {
 public:
  Contraction(KernelContext& context, const EinsumAttributes& attributes)
      : context_(context), attributes_(attributes) {
    dims_.fill(-1);
  }

  absl::Status Run() {
    RETURN_IF_ERROR(LabelOperands());
    RETURN_IF_ERROR(LabelOutput());
    const ElementType type = context_.input(0).type();
    return VisitType(Types<float, double, uint8_t, uint16_t, uint32_t, uint64_t>(), type,
                     [&]<typename T>(Tag<T>) -> absl::Status {
                       ASSIGN_OR_RETURN(Tensor result, Contract<T>());
                       return SetOutputNarrowed(context_, 0, std::move(result), type);
                     });
  }

 private:
  // Ellipses to labels, and the sizes of all labels.
  absl::Status LabelOperands() {
    for (size_t i = 0; i < attributes_.terms.size(); ++i) {
      const Tensor& in = context_.input(static_cast<int>(i));
      const Labels& term = attributes_.terms[i];
      const bool ellipsis = std::find(term.begin(), term.end(), kEllipsis) != term.end();
      const int covered = in.rank() - static_cast<int>(term.size()) + (ellipsis ? 1 : 0);
      if (covered < 0 || (!ellipsis && covered != 0) || covered > kMaxEllipsis) {
        return absl::InvalidArgumentError(
            absl::StrCat("input ", i, " is ", TypeAndDims(in), ", its term has ",
                         term.size() - (ellipsis ? 1 : 0), " letters"));
      }
      ellipsis_rank_ = std::max(ellipsis_rank_, ellipsis ? covered : 0);
      Operand operand;
      ASSIGN_OR_RETURN(operand.tensor, WidenTensor(context_, in));
      for (const int8_t label : term) {
        if (label != kEllipsis) {
          operand.labels.push_back(label);
          continue;
        }
        for (int d = covered; d-- > 0;) operand.labels.push_back(static_cast<int8_t>(kLetters + d));
      }
      for (int d = 0; d < in.rank(); ++d) {
        int64_t& dim = dims_[operand.labels[d]];
        if (dim == -1 || dim == 1) {
          dim = in.dim(d);
        } else if (in.dim(d) != 1 && in.dim(d) != dim) {
          return absl::InvalidArgumentError(absl::StrCat("input ", i, " is ", TypeAndDims(in), ": ",
                                                         LabelName(operand.labels[d]), " is ",
                                                         in.dim(d), ", before it was ", dim));
        }
      }
      operands_.push_back(std::move(operand));
    }
    for (Operand& operand : operands_) View(operand);
    return absl::OkStatus();
  }

  // The diagonal of repeated labels; dimensions of 1 that are broadcast go.
  void View(Operand& operand) const {
    const Dims strides = StridesOf(operand.tensor.dims());
    Labels labels;
    Dims label_strides;
    for (size_t d = 0; d < operand.labels.size(); ++d) {
      const int8_t label = operand.labels[d];
      if (operand.tensor.dim(static_cast<int>(d)) == 1 && dims_[label] != 1) continue;
      const auto found = std::find(labels.begin(), labels.end(), label);
      if (found == labels.end()) {
        labels.push_back(label);
        label_strides.push_back(strides[d]);
      } else {
        label_strides[found - labels.begin()] += strides[d];
      }
    }
    operand.labels = std::move(labels);
    operand.strides = std::move(label_strides);
  }

  absl::Status LabelOutput() {
    const auto add_ellipsis = [&] {
      for (int d = ellipsis_rank_; d-- > 0;) output_.push_back(static_cast<int8_t>(kLetters + d));
    };
    if (attributes_.output) {
      for (const int8_t label : *attributes_.output) {
        if (label == kEllipsis) {
          add_ellipsis();
        } else {
          output_.push_back(label);
        }
      }
      return absl::OkStatus();
    }
    // Without an arrow: the ellipsis, then the letters that come once, in order.
    add_ellipsis();
    for (int8_t label = 0; label < kLetters; ++label) {
      int count = 0;
      for (const Labels& term : attributes_.terms) {
        count += static_cast<int>(std::count(term.begin(), term.end(), label));
      }
      if (count == 1) output_.push_back(label);
    }
    return absl::OkStatus();
  }

  bool InOutput(int8_t label) const {
    return std::find(output_.begin(), output_.end(), label) != output_.end();
  }
  // Whether an operand from `next` on, or the output, has it.
  bool NeededLater(int8_t label, size_t next) const {
    if (InOutput(label)) return true;
    return std::any_of(operands_.begin() + static_cast<int64_t>(next), operands_.end(),
                       [label](const Operand& operand) { return operand.Has(label); });
  }

  Dims DimsOf(const Labels& labels) const {
    Dims dims;
    for (const int8_t label : labels) dims.push_back(dims_[label]);
    return dims;
  }
  absl::StatusOr<int64_t> SizeOf(const Labels& labels) const {
    return ElementCount(DimsOf(labels));
  }

  // The operand's elements in the order of `labels`, which it has all of.
  absl::StatusOr<Tensor> Arrange(const Operand& operand, const Labels& labels) {
    const Dims dims = DimsOf(labels);
    Dims strides;
    for (const int8_t label : labels) strides.push_back(operand.StrideOf(label));
    if (strides == StridesOf(dims) && labels.size() == operand.labels.size()) {
      return operand.tensor.WithDims(dims);
    }
    ASSIGN_OR_RETURN(Tensor result, context_.Allocate(operand.tensor.type(), dims));
    CopyBox(context_, result.type(), dims, {operand.tensor.data(), 0, strides},
            {result.mutable_data(), 0, StridesOf(dims)});
    return result;
  }

  Operand OfTensor(Tensor tensor, Labels labels) const {
    const Dims dims = DimsOf(labels);
    return {std::move(tensor).WithDims(dims), std::move(labels), StridesOf(dims)};
  }

  template <typename T>
  struct Summing {
    using Sum = std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>;
    static Sum Identity() { return 0; }
    static void Add(Sum& sum, T x) { sum += x; }
    static void Merge(Sum& sum, Sum other) { sum += other; }
  };

  // Sums over the labels that are not in `kept`.
  template <typename T>
  absl::StatusOr<Operand> SumOut(const Operand& operand, const Labels& kept) {
    Labels labels = kept;
    for (const int8_t label : operand.labels) {
      if (std::find(kept.begin(), kept.end(), label) == kept.end()) labels.push_back(label);
    }
    ASSIGN_OR_RETURN(Tensor arranged, Arrange(operand, labels));
    if (labels.size() == kept.size()) return OfTensor(std::move(arranged), kept);
    ASSIGN_OR_RETURN(Tensor sums, context_.Allocate(arranged.type(), DimsOf(kept)));
    const int64_t rows = sums.size();
    if (rows > 0) {
      const int64_t n = arranged.size() / rows;
      const T* in = arranged.data_as<T>();
      T* out = sums.mutable_data_as<T>();
      context_.ParallelFor(
          rows, std::max<int64_t>(1, 32768 / (n + 1)), [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) {
              out[i] = static_cast<T>(reduce_internal::ReduceRow<Summing<T>>(in + i * n, n));
            }
          });
    }
    return OfTensor(std::move(sums), kept);
  }

  // Labels of `operand` that `other` or something later needs.
  template <typename T>
  absl::StatusOr<Operand> DropUnneeded(const Operand& operand, const Operand& other, size_t next) {
    Labels kept;
    for (const int8_t label : operand.labels) {
      if (other.Has(label) || NeededLater(label, next)) kept.push_back(label);
    }
    if (kept.size() == operand.labels.size()) return operand;
    return SumOut<T>(operand, kept);
  }

  template <typename T>
  absl::StatusOr<Operand> Multiply(const Operand& left_in, const Operand& right_in, size_t next) {
    ASSIGN_OR_RETURN(const Operand left, DropUnneeded<T>(left_in, right_in, next));
    ASSIGN_OR_RETURN(const Operand right, DropUnneeded<T>(right_in, left_in, next));
    Labels batch, contracted, rows, columns;
    for (const int8_t label : left.labels) {
      (!right.Has(label) ? rows : NeededLater(label, next) ? batch : contracted).push_back(label);
    }
    for (const int8_t label : right.labels) {
      if (!left.Has(label)) columns.push_back(label);
    }
    const auto join = [](Labels a, const Labels& b, const Labels& c) {
      a.insert(a.end(), b.begin(), b.end());
      a.insert(a.end(), c.begin(), c.end());
      return a;
    };
    ASSIGN_OR_RETURN(const Tensor a, Arrange(left, join(batch, rows, contracted)));
    ASSIGN_OR_RETURN(const Tensor b, Arrange(right, join(batch, contracted, columns)));
    ASSIGN_OR_RETURN(const int64_t count, SizeOf(batch));
    GemmSize size;
    ASSIGN_OR_RETURN(size.m, SizeOf(rows));
    ASSIGN_OR_RETURN(size.n, SizeOf(columns));
    ASSIGN_OR_RETURN(size.k, SizeOf(contracted));
    const Labels result_labels = join(batch, rows, columns);
    ASSIGN_OR_RETURN(Tensor c, context_.Allocate(a.type(), DimsOf(result_labels)));
    using G = std::conditional_t<std::is_same_v<T, uint32_t>, int32_t, T>;
    RETURN_IF_ERROR(RunGemms<G>(context_, size, count, [&](int64_t i) {
      return GemmProblem<G>{.a = {a.data_as<G>() + i * size.m * size.k, size.k, 1},
                            .b = {b.data_as<G>() + i * size.k * size.n, size.n, 1},
                            .c = c.mutable_data_as<G>() + i * size.m * size.n,
                            .c_stride = size.n};
    }));
    return OfTensor(std::move(c), result_labels);
  }

  template <typename T>
  absl::StatusOr<Tensor> Contract() {
    Operand current = operands_[0];
    for (size_t i = 1; i < operands_.size(); ++i) {
      ASSIGN_OR_RETURN(current, Multiply<T>(current, operands_[i], i + 1));
    }
    ASSIGN_OR_RETURN(Operand result, SumOut<T>(current, output_));
    return std::move(result.tensor);
  }

  KernelContext& context_;
  const EinsumAttributes& attributes_;
  std::array<int64_t, kLabels> dims_;
  std::vector<Operand> operands_;
  Labels output_;
  int ellipsis_rank_ = 0;
};

absl::Status Einsum(const EinsumAttributes& attributes, KernelContext& context) {
  return Contraction(context, attributes).Run();
}

constexpr auto kKernels = KernelTable(Rows<ParseEinsum, Einsum>("Einsum", 12));

}  // namespace

absl::Span<const KernelDef> EinsumKernels() { return kKernels; }

}  // namespace onnx_run
