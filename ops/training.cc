// ai.onnx.preview.training: one step of Adagrad, Adam and Momentum over any number of tensors.
//
// Computed in double and rounded once, in blocks, whatever mixture of float and double the tensors
// are.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "ops/dispatch.h"
#include "ops/families.h"
#include "ops/kernel_table.h"
#include "ops/shape_util.h"
#include "runtime/status_macros.h"

namespace onnx_run {
namespace {

constexpr int64_t kBlock = 512;  // elements that are on their way in double at a time
constexpr int64_t kGrain = 32 * kBlock;

// Inputs 2 and on are X_1 ... X_n, then the gradients, then each kind of state; outputs are the new
// X_1 ... X_n and the new states. `kStates` is how many kinds of state there are.
absl::StatusOr<int> TensorCount(int inputs, int states) {
  const int given = inputs - 2;
  const int kinds = states + 2;
  if (given <= 0 || given % kinds != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(given, " tensors after R and T, expected a multiple of ", kinds));
  }
  return given / kinds;
}

template <int kStates>
absl::Status InferOptimizer(const NodeInfo& node, absl::Span<const Type> inputs,
                            absl::Span<Type> outputs) {
  ASSIGN_OR_RETURN(const int count, TensorCount(static_cast<int>(inputs.size()), kStates));
  const int expected = count * (kStates + 1);
  if (static_cast<int>(outputs.size()) > expected) {
    return absl::InvalidArgumentError(
        absl::StrCat(outputs.size(), " outputs, expected ", expected, " for ", node.op_type()));
  }
  for (int i = 0; i < static_cast<int>(outputs.size()); ++i) {
    // The gradients have no output of their own.
    outputs[i] = inputs[2 + i + (i < count ? 0 : count)];
    outputs[i].shape.reset();
  }
  return absl::OkStatus();
}

// Calls step(n, x, g, states) for blocks of n elements in double; it changes x and the states.
template <int kStates, typename Step>
absl::Status Optimize(KernelContext& context, Step&& step) {
  ASSIGN_OR_RETURN(const int count, TensorCount(context.input_count(), kStates));
  for (int i = 0; i < count; ++i) {
    std::array<const Tensor*, kStates + 2> from;  // X, G, states
    for (int k = 0; k < kStates + 2; ++k) {
      from[k] = &context.input(2 + k * count + i);
      if (from[k]->dims() != from[0]->dims()) {
        return absl::InvalidArgumentError(
            absl::StrCat("input ", 2 + k * count + i, " is ", TypeAndDims(*from[k]),
                         ", expected the shape of input ", 2 + i, ", ", TypeAndDims(*from[0])));
      }
    }
    std::array<Tensor*, kStates + 1> to;  // X, states
    for (int k = 0; k < kStates + 1; ++k) {
      ASSIGN_OR_RETURN(
          to[k], context.Output(k * count + i, from[k == 0 ? 0 : k + 1]->type(), from[0]->dims()));
    }
    const auto at = [](const Tensor& tensor, int64_t index) {
      return static_cast<const char*>(tensor.data()) + index * ElementBytes(tensor.type());
    };
    context.ParallelFor(from[0]->size(), kGrain, [&](int64_t begin, int64_t end) {
      double values[kStates + 2][kBlock];
      for (; begin < end; begin += kBlock) {
        const int64_t n = std::min(kBlock, end - begin);
        // Between float and double there is nothing that a conversion could refuse.
        for (int k = 0; k < kStates + 2; ++k) {
          Convert(at(*from[k], begin), from[k]->type(), values[k], ElementType::kDouble, n)
              .IgnoreError();
        }
        step(n, values[0], values[1], &values[2]);
        for (int k = 0; k < kStates + 1; ++k) {
          void* out = const_cast<char*>(at(*to[k], begin));
          Convert(values[k == 0 ? 0 : k + 1], ElementType::kDouble, out, to[k]->type(), n)
              .IgnoreError();
        }
      }
    });
  }
  return absl::OkStatus();
}

struct Rate {
  double rate;
  int64_t updates;
};
absl::StatusOr<Rate> ReadRate(KernelContext& context) {
  Rate result;
  ASSIGN_OR_RETURN(result.rate, ReadNumber(context.input(0), "R"));
  ASSIGN_OR_RETURN(result.updates, ReadInt(context.input(1), "T"));
  return result;
}

struct AdagradAttributes {
  double decay_factor, epsilon, norm_coefficient;
};
absl::StatusOr<AdagradAttributes> ParseAdagrad(const NodeInfo& node) {
  return AdagradAttributes{node.FloatOr("decay_factor", 0), node.FloatOr("epsilon", 1e-6F),
                           node.FloatOr("norm_coefficient", 0)};
}

absl::Status Adagrad(const AdagradAttributes& a, KernelContext& context) {
  ASSIGN_OR_RETURN(const Rate given, ReadRate(context));
  const double rate = given.rate / (1 + static_cast<double>(given.updates) * a.decay_factor);
  return Optimize<1>(context, [&](int64_t n, double* x, const double* g, double(*states)[kBlock]) {
    double* h = states[0];
    for (int64_t i = 0; i < n; ++i) {
      const double regularized = a.norm_coefficient * x[i] + g[i];
      h[i] += regularized * regularized;
      x[i] -= rate * regularized / (std::sqrt(h[i]) + a.epsilon);
    }
  });
}

struct AdamAttributes {
  double alpha, beta, epsilon, norm_coefficient, norm_coefficient_post;
};
absl::StatusOr<AdamAttributes> ParseAdam(const NodeInfo& node) {
  return AdamAttributes{node.FloatOr("alpha", 0.9F), node.FloatOr("beta", 0.999F),
                        node.FloatOr("epsilon", 1e-6F), node.FloatOr("norm_coefficient", 0),
                        node.FloatOr("norm_coefficient_post", 0)};
}

absl::Status Adam(const AdamAttributes& a, KernelContext& context) {
  ASSIGN_OR_RETURN(const Rate given, ReadRate(context));
  double rate = given.rate;
  if (given.updates > 0) {  // makes up for averages that started at zero
    const auto updates = static_cast<double>(given.updates);
    rate *= std::sqrt(1 - std::pow(a.beta, updates)) / (1 - std::pow(a.alpha, updates));
  }
  return Optimize<2>(context, [&](int64_t n, double* x, const double* g, double(*states)[kBlock]) {
    double* v = states[0];
    double* h = states[1];
    for (int64_t i = 0; i < n; ++i) {
      const double regularized = a.norm_coefficient * x[i] + g[i];
      v[i] = a.alpha * v[i] + (1 - a.alpha) * regularized;
      h[i] = a.beta * h[i] + (1 - a.beta) * regularized * regularized;
      const double moved = x[i] - rate * v[i] / (std::sqrt(h[i]) + a.epsilon);
      x[i] = (1 - a.norm_coefficient_post) * moved;
    }
  });
}

struct MomentumAttributes {
  double alpha, beta, norm_coefficient;
  bool nesterov;
};
absl::StatusOr<MomentumAttributes> ParseMomentum(const NodeInfo& node) {
  MomentumAttributes a;
  ASSIGN_OR_RETURN(a.alpha, node.Float("alpha"));
  ASSIGN_OR_RETURN(a.beta, node.Float("beta"));
  ASSIGN_OR_RETURN(a.norm_coefficient, node.Float("norm_coefficient"));
  ASSIGN_OR_RETURN(const std::string mode, node.String("mode"));
  if (mode != "standard" && mode != "nesterov") {
    return node.BadAttribute("mode", absl::StrCat("\"", mode, "\""),
                             "\"standard\" or \"nesterov\"");
  }
  a.nesterov = mode == "nesterov";
  return a;
}

absl::Status Momentum(const MomentumAttributes& a, KernelContext& context) {
  ASSIGN_OR_RETURN(const Rate given, ReadRate(context));
  const double beta = given.updates > 0 ? a.beta : 1;  // the first gradient counts in full
  return Optimize<1>(context, [&](int64_t n, double* x, const double* g, double(*states)[kBlock]) {
    double* v = states[0];
    for (int64_t i = 0; i < n; ++i) {
      const double regularized = a.norm_coefficient * x[i] + g[i];
      v[i] = a.alpha * v[i] + beta * regularized;
      x[i] -= given.rate * (a.nesterov ? regularized + a.alpha * v[i] : v[i]);
    }
  });
}

constexpr auto kKernels =
    InDomain("ai.onnx.preview.training",
             KernelTable(Rows<ParseAdagrad, Adagrad>("Adagrad", 1).Infer(InferOptimizer<1>),
                         Rows<ParseAdam, Adam>("Adam", 1).Infer(InferOptimizer<2>),
                         Rows<ParseMomentum, Momentum>("Momentum", 1).Infer(InferOptimizer<1>)));

}  // namespace

absl::Span<const KernelDef> TrainingKernels() { return kKernels; }

}  // namespace onnx_run
