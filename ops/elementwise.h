// The engine of element-wise operators: any number of inputs, broadcast to one output.
//
// The engine (elementwise.cc) is not a template: it finds the output's dims, collapses dimensions,
// picks memory in place, shares the work out and converts narrow types in blocks. What is a
// template is the inner loop over one run of elements, made here from the operator's function
// object:
//
//   struct AbsOp {
//     template <typename T> T operator()(T x) const { return x < 0 ? -x : x; }
//   };
//   Rows<Unary<AbsOp, Numbers>>("Abs", 1, 6, 13)
//
// The result type is bool when the function object returns bool, else the input's type.
#ifndef ONNX_RUN_OPS_ELEMENTWISE_H_
#define ONNX_RUN_OPS_ELEMENTWISE_H_

#include <cstdint>
#include <optional>
#include <type_traits>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ops/dispatch.h"
#include "runtime/kernel.h"
#include "runtime/status_macros.h"
#include "runtime/tensor.h"

namespace onnx_run {

// The dims that all of `dims` broadcast to by the standard's rules (numpy's). InvalidArgument.
absl::StatusOr<Dims> BroadcastDims(absl::Span<const absl::Span<const int64_t>> dims);
absl::StatusOr<Dims> BroadcastDims(absl::Span<const int64_t> a, absl::Span<const int64_t> b);

// A run of n > 0 output elements. An input's element k is at index k * step, step 0 (the same
// element for all) or 1. Elements are of ComputeType.
struct ElementRun {
  const void* const* inputs;
  const int64_t* steps;
  void* output;
  int64_t n;

  template <typename T>
  const T* Input(int i) const {
    return static_cast<const T*>(inputs[i]);
  }
  template <typename T>
  T* Output() const {
    return static_cast<T*>(output);
  }
};
using ElementLoop = absl::FunctionRef<void(const ElementRun&)>;

struct ElementwiseOptions {
  // Elements that are worth a thread: fewer for functions that take long.
  int64_t grain = 32768;
  // Elements are only moved: nothing is converted, the loop sees them as stored.
  bool as_bits = false;
  // The loop reads every input's element k before it writes element k; else only the first's.
  bool reads_before_writing = true;
  // How a narrow output is rounded.
  ConvertOptions convert;
};
inline constexpr int64_t kExpensiveGrain = 2048;

// Output 0, of `output_type`. `inputs[i]` is the context's input i, or stands for it.
absl::Status Elementwise(KernelContext& context, absl::Span<const Tensor* const> inputs,
                         ElementType output_type, ElementLoop loop,
                         const ElementwiseOptions& options = {});
// The same into a tensor made before, whose dims are those that the inputs broadcast to.
absl::Status ElementwiseInto(KernelContext& context, absl::Span<const Tensor* const> inputs,
                             Tensor& output, ElementLoop loop,
                             const ElementwiseOptions& options = {});

// The inner loops. ivdep: the output may be an input's own memory, and element k of it is read
// before it is written, so that vectors are safe and need no check for overlap.
template <typename T, typename R, typename Op>
void UnaryLoop(const Op& given, const ElementRun& run) {
  const Op op = given;  // a copy: what is written might else be the operator's own numbers
  const T* x = run.Input<T>(0);
  R* out = run.Output<R>();
  const int64_t n = run.n;
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<R>(op(x[i]));
}

// A function of double that serves every float type: rounded once.
//   Unary<ViaDouble<[](double x) { return std::sin(x); }>, Floats>
template <auto kFunction>
struct ViaDouble {
  static constexpr int64_t kGrain = kExpensiveGrain;
  template <typename T>
  T operator()(T x) const {
    return static_cast<T>(kFunction(static_cast<double>(x)));
  }
};
// The same where vector_math.h has it for arrays of float.
template <auto kLoop, auto kFunction>
struct Vectorised : ViaDouble<kFunction> {
  static constexpr int64_t kGrain = 8192;
  void Loop(const float* x, float* out, int64_t n) const { kLoop(x, out, n); }
};

template <typename T, typename U, typename R, typename Op>
void BinaryLoop(const Op& given, const ElementRun& run) {
  const Op op = given;
  const T* a = run.Input<T>(0);
  const U* b = run.Input<U>(1);
  R* out = run.Output<R>();
  const int64_t n = run.n;
  if (run.steps[0] != 0 && run.steps[1] != 0) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) out[i] = static_cast<R>(op(a[i], b[i]));
  } else if (run.steps[0] != 0) {
    const U b0 = *b;
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) out[i] = static_cast<R>(op(a[i], b0));
  } else {
    const T a0 = *a;
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) out[i] = static_cast<R>(op(a0, b[i]));
  }
}

namespace internal {

// The type that a function object's result is stored in.
template <typename T, typename Result>
using StoredResult = std::conditional_t<std::is_same_v<Result, bool>, bool, T>;

template <typename Op>
constexpr int64_t GrainOf() {
  if constexpr (requires { Op::kGrain; }) return Op::kGrain;
  return ElementwiseOptions().grain;
}

}  // namespace internal

// Output 0 is op(input 0), computed in T. A function object that has Loop(const T*, T*, n) has
// vectorised that itself.
template <typename T, typename Op>
absl::Status RunUnaryIn(const Op& op, KernelContext& context) {
  using R = internal::StoredResult<T, decltype(op(T()))>;
  const Tensor* inputs[] = {&context.input(0)};
  return Elementwise(
      context, inputs, std::is_same_v<R, bool> ? ElementType::kBool : inputs[0]->type(),
      [&op](const ElementRun& run) {
        if constexpr (requires(const T* in, T* out) { op.Loop(in, out, int64_t{}); }) {
          op.Loop(run.Input<T>(0), run.Output<T>(), run.n);
        } else {
          UnaryLoop<T, R>(op, run);
        }
      },
      {.grain = internal::GrainOf<Op>()});
}
template <typename List, typename Op>
absl::Status RunUnary(const Op& op, KernelContext& context) {
  return VisitType(List(), context.input(0).type(),
                   [&]<typename T>(Tag<T>) { return RunUnaryIn<T>(op, context); });
}

// Output 0 is op(a, b), both of the same type.
template <typename List, typename Op>
absl::Status RunBinary(const Op& op, const Tensor& a, const Tensor& b, KernelContext& context) {
  return VisitType(List(), a.type(), [&]<typename T>(Tag<T>) {
    using R = internal::StoredResult<T, decltype(op(T(), T()))>;
    const Tensor* inputs[] = {&a, &b};
    const ElementType result = std::is_same_v<R, bool> ? ElementType::kBool : a.type();
    return Elementwise(context, inputs, result,
                       [&op](const ElementRun& run) { BinaryLoop<T, T, R>(op, run); },
                       {.grain = internal::GrainOf<Op>()});
  });
}

// Kernels, for table rows. An operator with attributes has a function object that its parse
// function returns; one without is default constructed.
template <typename Op, typename List>
absl::Status Unary(KernelContext& context) {
  return RunUnary<List>(Op(), context);
}
template <typename Op, typename List>
absl::Status UnaryWith(const Op& op, KernelContext& context) {
  return RunUnary<List>(op, context);
}
template <typename Op, typename List>
absl::Status Binary(KernelContext& context) {
  return RunBinary<List>(Op(), context.input(0), context.input(1), context);
}
template <typename Op, typename List>
absl::Status BinaryWith(const Op& op, KernelContext& context) {
  return RunBinary<List>(op, context.input(0), context.input(1), context);
}

// Broadcasting before opset 7: only when `broadcast` is 1, only of B, whose dims are matched with
// those of A from `axis` on, or at the end.
struct OldBroadcast {
  bool broadcast;
  std::optional<int64_t> axis;
};
absl::StatusOr<OldBroadcast> ParseOldBroadcast(const NodeInfo& node);
// B under dims that broadcast to A's as `attributes` say. InvalidArgument.
absl::StatusOr<Tensor> AlignOldBroadcast(const OldBroadcast& attributes, const Tensor& a,
                                         const Tensor& b);
template <typename Op, typename List>
absl::Status OldBinary(const OldBroadcast& attributes, KernelContext& context) {
  ASSIGN_OR_RETURN(Tensor b, AlignOldBroadcast(attributes, context.input(0), context.input(1)));
  return RunBinary<List>(Op(), context.input(0), b, context);
}

}  // namespace onnx_run

#endif  // ONNX_RUN_OPS_ELEMENTWISE_H_
