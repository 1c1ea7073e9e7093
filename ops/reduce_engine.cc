#include "ops/reduce_engine.h"

#include "ops/shape_util.h"

namespace onnx_run {

absl::StatusOr<ReduceAttributes> ParseReduce(const NodeInfo& node) {
  return ReduceAttributes{node.IntOr("keepdims", 1) != 0,
                          node.IntOr("noop_with_empty_axes", 0) != 0, node.Ints("axes")};
}

absl::Status PlanReduce(const ReduceAttributes& attributes, KernelContext& context,
                        ReducePlan& plan) {
  const Tensor& data = context.input(0);
  const int rank = data.rank();
  absl::Span<const int64_t> given = attributes.axes;
  Dims read;
  if (context.has_input(1)) {
    const Tensor& axes = context.input(1);
    if (axes.type() == ElementType::kInt64) {
      given = axes.span<int64_t>();
    } else {
      ASSIGN_OR_RETURN(read, ReadInts(axes));
      given = read;
    }
  }
  const bool all = given.empty() && !attributes.noop_with_empty_axes;
  const auto is_reduced = [&](int d) {
    for (const int64_t axis : given) {
      if (axis == d || axis == d - rank) return true;
    }
    return all;
  };

  size_t found = 0;
  for (int d = 0; d < rank; ++d) {
    if (!is_reduced(d)) {
      plan.output_dims.push_back(data.dim(d));
      continue;
    }
    ++found;
    if (attributes.keepdims) plan.output_dims.push_back(1);
  }
  // One that is none, or comes twice.
  if (!all && found != given.size()) return NormalizeAxes(given, rank).status();

  int64_t stride = 1;
  const absl::InlinedVector<ReducePlan::Axis, 4>* last = nullptr;
  for (int d = rank - 1; d >= 0; --d) {  // from the innermost dimension out, reversed at the end
    const int64_t dim = data.dim(d);
    const bool reduced = is_reduced(d);
    auto& side = reduced ? plan.reduced : plan.kept;
    (reduced ? plan.count : plan.outputs) *= dim;
    if (dim == 1) continue;
    if (last == &side) {
      side.back().dim *= dim;
    } else {
      ReducePlan::Axis& axis = side.emplace_back();
      axis.dim = dim;
      axis.stride = stride;
      last = &side;
    }
    stride *= dim;
  }
  std::reverse(plan.kept.begin(), plan.kept.end());
  std::reverse(plan.reduced.begin(), plan.reduced.end());
  return absl::OkStatus();
}

namespace reduce_internal {

void ForEachOffset(absl::Span<const ReducePlan::Axis> axes, int64_t offset,
                   absl::FunctionRef<void(int64_t offset)> fn) {
  if (axes.empty()) return fn(offset);
  for (int64_t i = 0; i < axes[0].dim; ++i) {
    if (axes.size() == 1) {
      fn(offset + i * axes[0].stride);
    } else {
      ForEachOffset(axes.subspan(1), offset + i * axes[0].stride, fn);
    }
  }
}

int64_t OffsetOf(absl::Span<const ReducePlan::Axis> axes, int64_t index) {
  int64_t offset = 0;
  for (size_t d = axes.size(); d-- > 1;) {
    offset += index % axes[d].dim * axes[d].stride;
    index /= axes[d].dim;
  }
  return axes.empty() ? 0 : offset + index * axes[0].stride;
}

}  // namespace reduce_internal
}  // namespace onnx_run
