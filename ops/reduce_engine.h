// The engine of reductions: axes collapsed, sums stable, the same result for any number of threads.
//
// An operator is a struct:
//
//   template <typename T> struct SumReducer {
//     using Sum = ...;                        // what is accumulated: double for floats
//     static Sum Identity();                  // of no elements
//     static void Add(Sum& sum, T x);
//     static void Merge(Sum& sum, const Sum& other);
//     static T Finish(const Sum& sum, int64_t count);
//     // May be there, where vectors do it (reduce_kernels.h), in the same order:
//     static bool Block(const T* x, int64_t n, Sum& sum);  // of kLanes to kBlock elements; false:
//                                                          // cannot
//     static void AddRows(const T* const* rows, int count, Sum* sums, int64_t n);
//   };
//
// Elements are accumulated in kLanes interleaved sums over blocks of kBlock elements, merged
// pairwise: error grows with the logarithm of the count. The order depends on the dims alone.
#ifndef ONNX_RUN_OPS_REDUCE_ENGINE_H_
#define ONNX_RUN_OPS_REDUCE_ENGINE_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/base/attributes.h"
#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ops/dispatch.h"
#include "ops/reduce_kernels.h"
#include "runtime/kernel.h"
#include "runtime/status_macros.h"
#include "runtime/tensor.h"

namespace onnx_run {

struct ReduceAttributes {
  bool keepdims;
  bool noop_with_empty_axes;
  std::vector<int64_t> axes;  // where they are an attribute
};
absl::StatusOr<ReduceAttributes> ParseReduce(const NodeInfo& node);

// What is reduced, as strides over the input's elements; dimensions of 1 dropped, neighbours
// merged.
struct ReducePlan {
  struct Axis {
    int64_t dim;
    int64_t stride;
  };
  Dims output_dims;
  absl::InlinedVector<Axis, 4> kept;
  absl::InlinedVector<Axis, 4> reduced;
  int64_t outputs = 1;  // product of kept dims
  int64_t count = 1;    // product of reduced dims

  // The innermost dimension is a reduced one (or there is none).
  bool RowsAreReduced() const {
    return kept.empty() || (!reduced.empty() && reduced.back().stride < kept.back().stride);
  }
};
// Fills a new plan.
absl::Status PlanReduce(const ReduceAttributes& attributes, KernelContext& context,
                        ReducePlan& plan);

namespace reduce_internal {

inline constexpr int64_t kLanes = 16;
inline constexpr int64_t kBlock = 4096;
inline constexpr int64_t kColumns = 1024;
inline constexpr int64_t kGrain = 32768;

// Calls fn(offset) for each index of `axes`, in order.
void ForEachOffset(absl::Span<const ReducePlan::Axis> axes, int64_t offset,
                   absl::FunctionRef<void(int64_t offset)> fn);
// The offset of index number `index` of `axes`.
int64_t OffsetOf(absl::Span<const ReducePlan::Axis> axes, int64_t index);

template <typename Reducer, typename T>
ABSL_ATTRIBUTE_NOINLINE typename Reducer::Sum ReduceRow(const T* x, int64_t n) {
  using Sum = typename Reducer::Sum;
  if (n > kBlock) {
    const int64_t half = (n / 2 + kBlock - 1) / kBlock * kBlock;
    Sum sum = ReduceRow<Reducer>(x, half);
    Reducer::Merge(sum, ReduceRow<Reducer>(x + half, n - half));
    return sum;
  }
  int64_t i = 0;
  Sum sum = Reducer::Identity();
  if (n >= kLanes) {
    if constexpr (requires { Reducer::Block(x, n, sum); }) {
      if (Reducer::Block(x, n, sum)) return sum;
    }
    Sum lanes[kLanes];
    std::fill_n(lanes, kLanes, sum);
    for (; i + kLanes <= n; i += kLanes) {
      for (int64_t j = 0; j < kLanes; ++j) Reducer::Add(lanes[j], x[i + j]);
    }
    for (int64_t width = kLanes / 2; width > 0; width /= 2) {
      for (int64_t j = 0; j < width; ++j) Reducer::Merge(lanes[j], lanes[j + width]);
    }
    sum = lanes[0];
  }
  for (; i < n; ++i) Reducer::Add(sum, x[i]);
  return sum;
}

// Outputs [begin, end), each of rows that lie in order.
template <typename Reducer, typename T>
void ReduceRows(const ReducePlan& plan, const T* data, int64_t begin, int64_t end, T* out) {
  using Sum = typename Reducer::Sum;
  const int64_t n = plan.reduced.empty() ? 1 : plan.reduced.back().dim;
  const absl::Span<const ReducePlan::Axis> outer(
      plan.reduced.data(), plan.reduced.empty() ? 0 : plan.reduced.size() - 1);
  const bool one_row = outer.empty();
  if (one_row && n < kLanes && plan.kept.size() == 1) {
    // Several short rows side by side, so that their sums do not wait for one another.
    constexpr int64_t kRows = 4;
    const int64_t stride = plan.kept[0].stride;
    for (; begin + kRows <= end; begin += kRows) {
      const T* x = data + begin * stride;
      Sum sums[kRows];
      std::fill_n(sums, kRows, Reducer::Identity());
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t r = 0; r < kRows; ++r) Reducer::Add(sums[r], x[r * stride + i]);
      }
      for (int64_t r = 0; r < kRows; ++r) out[begin + r] = Reducer::Finish(sums[r], plan.count);
    }
  }
  for (int64_t o = begin; o < end; ++o) {
    const T* x = data + OffsetOf(plan.kept, o);
    if (one_row) {
      out[o] = Reducer::Finish(ReduceRow<Reducer>(x, n), plan.count);
      continue;
    }
    Sum sum = Reducer::Identity();
    ForEachOffset(outer, 0,
                  [&](int64_t offset) { Reducer::Merge(sum, ReduceRow<Reducer>(x + offset, n)); });
    out[o] = Reducer::Finish(sum, plan.count);
  }
}

// n neighbouring outputs, whose inputs are neighbours too.
template <typename Reducer, typename T>
void ReduceColumns(const ReducePlan& plan, const T* data, int64_t n, T* out) {
  using Sum = typename Reducer::Sum;
  constexpr int kRows = 128;  // merged into the total, for stable sums
  Sum total[kColumns];
  Sum part[kColumns];
  std::fill_n(total, n, Reducer::Identity());
  std::fill_n(part, n, Reducer::Identity());
  const auto merge = [&] {
    for (int64_t i = 0; i < n; ++i) Reducer::Merge(total[i], part[i]);
    std::fill_n(part, n, Reducer::Identity());
  };
  int rows = 0;
  if constexpr (requires(const T* const* some) { Reducer::AddRows(some, 1, part, n); }) {
    constexpr int kSome = ReduceLoops<T>::kRows;
    static_assert(kRows % kSome == 0);
    const T* some[kSome];
    ForEachOffset(plan.reduced, 0, [&](int64_t offset) {
      some[rows++ % kSome] = data + offset;
      if (rows % kSome == 0) Reducer::AddRows(some, kSome, part, n);
      if (rows == kRows) {
        merge();
        rows = 0;
      }
    });
    if (rows % kSome != 0) Reducer::AddRows(some, rows % kSome, part, n);
  } else {
    ForEachOffset(plan.reduced, 0, [&](int64_t offset) {
      const T* x = data + offset;
      for (int64_t i = 0; i < n; ++i) Reducer::Add(part[i], x[i]);
      if (++rows == kRows) {
        merge();
        rows = 0;
      }
    });
  }
  for (int64_t i = 0; i < n; ++i) {
    Reducer::Merge(total[i], part[i]);
    out[i] = Reducer::Finish(total[i], plan.count);
  }
}

template <typename Reducer, typename T>
void RunPlan(const ReducePlan& plan, const KernelContext& context, const T* data, T* out) {
  if (plan.outputs == 0) return;
  if (plan.count == 0) {
    std::fill_n(out, plan.outputs, Reducer::Finish(Reducer::Identity(), 0));
    return;
  }
  if (plan.RowsAreReduced()) {
    const int64_t grain = std::max<int64_t>(1, kGrain / plan.count);
    context.ParallelFor(plan.outputs, grain, [&](int64_t begin, int64_t end) {
      ReduceRows<Reducer>(plan, data, begin, end, out);
    });
    return;
  }
  // Neighbours side by side, at most kColumns of them; a thread's share is not too narrow, for
  // memory is read ahead.
  constexpr int64_t kNarrow = 256;
  const int64_t columns = plan.kept.back().dim;
  const absl::Span<const ReducePlan::Axis> outer(plan.kept.data(), plan.kept.size() - 1);
  context.ParallelFor(
      plan.outputs, std::max(kNarrow, kGrain / plan.count), [&](int64_t begin, int64_t end) {
        while (begin < end) {
          const int64_t column = begin % columns;
          const int64_t n = std::min({kColumns, columns - column, end - begin});
          ReduceColumns<Reducer>(plan, data + OffsetOf(outer, begin / columns) + column, n,
                                 out + begin);
          begin += n;
        }
      });
}

}  // namespace reduce_internal

// The kernel of a reduction. `List`: the types it is computed in.
template <template <typename> typename Reducer, typename List>
absl::Status Reduce(const ReduceAttributes& attributes, KernelContext& context) {
  ReducePlan plan;
  RETURN_IF_ERROR(PlanReduce(attributes, context, plan));
  const ElementType type = context.input(0).type();
  const auto run = [&](const Tensor& data, Tensor& result) {
    return VisitType(List(), type, [&]<typename T>(Tag<T>) {
      reduce_internal::RunPlan<Reducer<T>>(plan, context, data.data_as<T>(),
                                           result.mutable_data_as<T>());
      return absl::OkStatus();
    });
  };
  if (!NeedsWidening(type)) {
    ASSIGN_OR_RETURN(Tensor * output, context.Output(0, type, plan.output_dims));
    return run(context.input(0), *output);
  }
  ASSIGN_OR_RETURN(const Tensor data, WidenTensor(context, context.input(0)));
  ASSIGN_OR_RETURN(Tensor result, context.Allocate(data.type(), plan.output_dims));
  RETURN_IF_ERROR(run(data, result));
  return SetOutputNarrowed(context, 0, std::move(result), type);
}

}  // namespace onnx_run

#endif  // ONNX_RUN_OPS_REDUCE_ENGINE_H_
