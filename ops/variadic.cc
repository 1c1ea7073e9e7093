// Max, Min, Sum and Mean of any number of inputs, and Clip.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/kernel_table.h"

namespace onnx_run {
namespace {

// NaN wins over every number.
struct MaxOp {
  template <typename T>
  T operator()(T a, T b) const {
    return a > b || a != a ? a : b;
  }
};
struct MinOp {
  template <typename T>
  T operator()(T a, T b) const {
    return a < b || a != a ? a : b;
  }
};
struct SumOp {
  template <typename T>
  T operator()(T a, T b) const {
    return a + b;
  }
};

// out = op(op(in 0, in 1), in 2) ...; then divided by the number of inputs where kMean.
template <typename Op, bool kMean, typename T>
void FoldLoop(int count, const ElementRun& run) {
  constexpr int64_t kPiece = 4096;  // stays in the first cache while all inputs come by
  T* const out = run.Output<T>();
  for (int64_t begin = 0; begin < run.n; begin += kPiece) {
    const int64_t n = std::min(kPiece, run.n - begin);
    const auto input = [&](int i) { return run.Input<T>(i) + begin * run.steps[i]; };
    T* const piece = out + begin;
    if (count == 1) {
      std::copy_n(input(0), run.steps[0] == 0 ? 1 : n, piece);
      continue;
    }
    const void* pair[] = {input(0), input(1)};
    int64_t steps[] = {run.steps[0], run.steps[1]};
    for (int i = 1; i < count; ++i) {
      pair[1] = input(i);
      steps[1] = run.steps[i];
      if (steps[0] == 0 && steps[1] == 0) {
        std::fill_n(piece, n,
                    Op()(*static_cast<const T*>(pair[0]), *static_cast<const T*>(pair[1])));
      } else {
        BinaryLoop<T, T, T>(Op(), {pair, steps, piece, n});
      }
      pair[0] = piece;
      steps[0] = 1;
    }
    if constexpr (kMean) {
      for (int64_t i = 0; i < n; ++i) piece[i] /= static_cast<T>(count);
    }
  }
}

template <typename Op, typename List, bool kMean = false>
absl::Status Fold(KernelContext& context) {
  const int count = context.input_count();
  if (count == 1) {
    context.SetOutput(0, context.TakeInput(0));
    return absl::OkStatus();
  }
  absl::InlinedVector<const Tensor*, 4> inputs;
  for (int i = 0; i < count; ++i) inputs.push_back(&context.input(i));
  const ElementType type = inputs[0]->type();
  return VisitType(List(), type, [&]<typename T>(Tag<T>) {
    return Elementwise(context, inputs, type,
                       [count](const ElementRun& run) { FoldLoop<Op, kMean, T>(count, run); },
                       {.reads_before_writing = count == 2});
  });
}

// Limits of the type where there are none; when they cross, the upper one wins.
template <typename T>
struct ClipOp {
  T low;
  T high;
  T operator()(T x) const {
    x = x < low ? low : x;
    return x > high ? high : x;
  }
};
template <typename T>
ClipOp<T> Unlimited() {
  using Limits = std::numeric_limits<T>;
  if constexpr (std::is_floating_point_v<T>) return {-Limits::infinity(), Limits::infinity()};
  return {Limits::lowest(), Limits::max()};
}

struct ClipAttributes {
  std::optional<float> min;
  std::optional<float> max;
};
absl::StatusOr<ClipAttributes> ParseClip(const NodeInfo& node) {
  ClipAttributes attributes;
  if (node.Has("min")) attributes.min = node.FloatOr("min", 0);
  if (node.Has("max")) attributes.max = node.FloatOr("max", 0);
  return attributes;
}
// Before version 11.
absl::Status Clip1(const ClipAttributes& attributes, KernelContext& context) {
  return VisitType(Floats(), context.input(0).type(), [&]<typename T>(Tag<T>) {
    ClipOp<T> op = Unlimited<T>();
    if (attributes.min) op.low = *attributes.min;
    if (attributes.max) op.high = *attributes.max;
    return RunUnaryIn<T>(op, context);
  });
}

absl::Status Clip11(KernelContext& context) {
  const ElementType type = context.input(0).type();
  return VisitType(Numbers(), type, [&]<typename T>(Tag<T>) {
    ClipOp<T> op = Unlimited<T>();
    for (int i = 1; i <= 2; ++i) {
      if (!context.has_input(i)) continue;
      const Tensor& limit = context.input(i);
      if (limit.size() != 1) {
        return absl::InvalidArgumentError(absl::StrCat(i == 1 ? "min" : "max", " is ",
                                                       TypeAndDims(limit), ", expected a scalar"));
      }
      RETURN_IF_ERROR(
          Convert(limit.data(), type, i == 1 ? &op.low : &op.high, ComputeType(type), 1));
    }
    return RunUnaryIn<T>(op, context);
  });
}

constexpr auto kKernels =
    KernelTable(Rows<Fold<MaxOp, Numbers>>("Max", 1, 6, 8, 12, 13),
                Rows<Fold<MinOp, Numbers>>("Min", 1, 6, 8, 12, 13),
                Rows<Fold<SumOp, Floats>>("Sum", 1, 6, 8, 13),
                Rows<Fold<SumOp, Floats, true>>("Mean", 1, 6, 8, 13),
                Rows<ParseClip, Clip1>("Clip", 1, 6), Rows<Clip11>("Clip", 11, 12, 13));

}  // namespace

absl::Span<const KernelDef> VariadicKernels() { return kKernels; }

}  // namespace onnx_run
