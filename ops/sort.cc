// TopK and Unique: elements in order.
#include <algorithm>
#include <cmath>
#include <complex>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/dispatch.h"
#include "ops/families.h"
#include "ops/kernel_table.h"
#include "ops/shape_util.h"
#include "ops/strided_copy.h"
#include "runtime/status_macros.h"

namespace onnx_run {
namespace {

// A total order: NaN is larger than any number, as numpy sorts it; complex numbers likewise.
template <typename T>
bool Less(const T& a, const T& b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(b)) return !std::isnan(a);
  }
  if constexpr (internal::kIsOneOf<T, std::complex<float>, std::complex<double>>) {
    // By the real part, then by the imaginary one.
    if (Less(a.real(), b.real())) return true;
    return !Less(b.real(), a.real()) && Less(a.imag(), b.imag());
  } else {
    return a < b;
  }
}

struct TopKAttributes {
  int64_t axis;
  int64_t k;  // version 1; an input later
  bool largest;
  bool sorted;
};

absl::StatusOr<TopKAttributes> ParseTopK(const NodeInfo& node) {
  return TopKAttributes{node.IntOr("axis", -1), node.IntOr("k", -1), node.IntOr("largest", 1) != 0,
                        node.IntOr("sorted", 1) != 0};
}

absl::Status TopK(const TopKAttributes& attributes, KernelContext& context) {
  const Tensor& data = context.input(0);
  ASSIGN_OR_RETURN(const int axis, NormalizeAxis(attributes.axis, data.rank()));
  int64_t k = attributes.k;
  if (context.since_version() >= 10) {
    ASSIGN_OR_RETURN(k, ReadInt(context.input(1), "K"));
  }
  const AxisView view = ViewAround(data.dims(), axis);
  if (k < 0 || k > view.axis) {
    return absl::InvalidArgumentError(
        absl::StrCat("k is ", k, ", expected 0 to ", view.axis, ", the dimension of axis ", axis));
  }
  Dims dims = data.dims();
  dims[axis] = k;
  ASSIGN_OR_RETURN(const Tensor wide, WidenTensor(context, data));
  ASSIGN_OR_RETURN(Tensor values, context.Allocate(wide.type(), dims));
  ASSIGN_OR_RETURN(Tensor * indices, context.Output(1, ElementType::kInt64, dims));
  int64_t* index_out = indices->mutable_data_as<int64_t>();
  RETURN_IF_ERROR(VisitType(Numbers(), data.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* from = wide.data_as<T>();
    T* to = values.mutable_data_as<T>();
    std::vector<int64_t> order(static_cast<size_t>(view.axis));
    for (int64_t o = 0; o < view.outer; ++o) {
      for (int64_t i = 0; i < view.inner; ++i) {
        const auto at = [&](int64_t a) { return from[(o * view.axis + a) * view.inner + i]; };
        std::iota(order.begin(), order.end(), int64_t{0});
        // Of equal elements the one with the lower index goes first.
        const auto before = [&](int64_t a, int64_t b) {
          const T x = at(a);
          const T y = at(b);
          const bool less = attributes.largest ? Less(y, x) : Less(x, y);
          if (less) return true;
          const bool greater = attributes.largest ? Less(x, y) : Less(y, x);
          return !greater && a < b;
        };
        // Unsorted results may come in any order; the sorted one is an order too.
        std::partial_sort(order.begin(), order.begin() + k, order.end(), before);
        for (int64_t j = 0; j < k; ++j) {
          to[(o * k + j) * view.inner + i] = at(order[j]);
          index_out[(o * k + j) * view.inner + i] = order[j];
        }
      }
    }
    return absl::OkStatus();
  }));
  return SetOutputNarrowed(context, 0, std::move(values), data.type());
}

struct UniqueAttributes {
  bool has_axis;
  int64_t axis;
  bool sorted;
};
absl::StatusOr<UniqueAttributes> ParseUnique(const NodeInfo& node) {
  return UniqueAttributes{node.Has("axis"), node.IntOr("axis", 0), node.IntOr("sorted", 1) != 0};
}

absl::Status OutputInts(KernelContext& context, int i, const std::vector<int64_t>& values) {
  ASSIGN_OR_RETURN(Tensor * output,
                   context.Output(i, ElementType::kInt64, {static_cast<int64_t>(values.size())}));
  std::copy(values.begin(), values.end(), output->mutable_data_as<int64_t>());
  return absl::OkStatus();
}

// Groups the slices of `data` along the axis (single elements when flattened) by equality, -1, 0, 1
// being the order of two of them.
template <typename Compare>
absl::Status UniqueSlices(const UniqueAttributes& attributes, KernelContext& context,
                          const Tensor& data, int axis, const AxisView& view,
                          const Compare& compare) {
  std::vector<int64_t> order(static_cast<size_t>(view.axis));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return compare(a, b) < 0; });
  std::vector<int64_t> first;  // of each group, in order of value: its first slice
  std::vector<int64_t> counts;
  std::vector<int64_t> group(order.size());  // of each slice
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || compare(order[i - 1], order[i]) != 0) {
      first.push_back(order[i]);  // the sort is stable
      counts.push_back(0);
    }
    ++counts.back();
    group[order[i]] = static_cast<int64_t>(first.size()) - 1;
  }
  if (!attributes.sorted) {
    // In order of first occurrence.
    std::vector<int64_t> by_place(first.size());
    std::iota(by_place.begin(), by_place.end(), int64_t{0});
    std::sort(by_place.begin(), by_place.end(),
              [&](int64_t a, int64_t b) { return first[a] < first[b]; });
    std::vector<int64_t> number(first.size());
    std::vector<int64_t> new_first;
    std::vector<int64_t> new_counts;
    for (size_t i = 0; i < by_place.size(); ++i) {
      number[by_place[i]] = static_cast<int64_t>(i);
      new_first.push_back(first[by_place[i]]);
      new_counts.push_back(counts[by_place[i]]);
    }
    for (int64_t& g : group) g = number[g];
    first = std::move(new_first);
    counts = std::move(new_counts);
  }
  Dims dims = data.dims();
  if (attributes.has_axis) {
    dims[axis] = static_cast<int64_t>(first.size());
  } else {
    dims = {static_cast<int64_t>(first.size())};
  }
  ASSIGN_OR_RETURN(Tensor * output, MoveOutput(context, 0, data.type(), dims));
  if (output->size() > 0) {
    int64_t to = 0;
    for (int64_t o = 0; o < view.outer; ++o) {
      for (int64_t slice : first) {
        CopyElements(data.type(), data.data(), (o * view.axis + slice) * view.inner,
                     output->mutable_data(), to, view.inner);
        to += view.inner;
      }
    }
  }
  RETURN_IF_ERROR(OutputInts(context, 1, first));
  RETURN_IF_ERROR(OutputInts(context, 2, group));
  return OutputInts(context, 3, counts);
}

absl::Status Unique(const UniqueAttributes& attributes, KernelContext& context) {
  const Tensor& data = context.input(0);
  AxisView view{1, data.size(), 1};
  int axis = 0;
  if (attributes.has_axis) {
    ASSIGN_OR_RETURN(axis, NormalizeAxis(attributes.axis, data.rank()));
    view = ViewAround(data.dims(), axis);
  }
  ASSIGN_OR_RETURN(const Tensor wide, WidenTensor(context, data));
  using All = Types<float, double, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t,
                    uint64_t, std::complex<float>, std::complex<double>, std::string>;
  return VisitType(All(), data.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* from = wide.data_as<T>();
    return UniqueSlices(attributes, context, data, axis, view, [&](int64_t a, int64_t b) {
      for (int64_t o = 0; o < view.outer; ++o) {
        for (int64_t i = 0; i < view.inner; ++i) {
          const T& x = from[(o * view.axis + a) * view.inner + i];
          const T& y = from[(o * view.axis + b) * view.inner + i];
          if (Less(x, y)) return -1;
          if (Less(y, x)) return 1;
        }
      }
      return 0;
    });
  });
}

constexpr auto kKernels = KernelTable(Rows<ParseTopK, TopK>("TopK", 1, 10, 11, 24),
                                      Rows<ParseUnique, Unique>("Unique", 11));

}  // namespace

absl::Span<const KernelDef> SortKernels() { return kKernels; }

}  // namespace onnx_run
