#include "ops/strided_copy.h"

#include <algorithm>
#include <complex>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "ops/transpose_kernels.h"
#include "runtime/convert/convert.h"
#include "runtime/status_macros.h"

namespace onnx_run {
namespace {

constexpr int64_t kGrain = 65536;  // elements worth a thread

struct Axis {
  int64_t dim;
  int64_t from;  // strides
  int64_t to;
};
using Axes = absl::InlinedVector<Axis, 6>;

// The same box with dimensions of 1 dropped and neighbours merged where both places allow it.
Axes Collapse(absl::Span<const int64_t> dims, absl::Span<const int64_t> from,
              absl::Span<const int64_t> to) {
  Axes axes;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] == 1) continue;
    if (!axes.empty() && axes.back().from == from[d] * dims[d] &&
        axes.back().to == to[d] * dims[d]) {
      axes.back().dim *= dims[d];
    } else {
      axes.emplace_back().dim = dims[d];  // a whole Axis would be copied through memory
    }
    axes.back().from = from[d];
    axes.back().to = to[d];
  }
  if (axes.empty()) axes.push_back({1, 1, 1});
  return axes;
}

// Elements of `T` in memory.
template <typename T>
struct WholeElements {
  const T* from;
  T* to;

  void CopyRow(int64_t f, int64_t t, int64_t n, int64_t from_stride, int64_t to_stride) const {
    const T* source = from + f;
    T* out = to + t;
    if (from_stride == 1 && to_stride == 1) {
      if constexpr (std::is_same_v<T, std::string>) {
        std::copy_n(source, n, out);
      } else {
        std::memcpy(out, source, static_cast<size_t>(n) * sizeof(T));
      }
    } else if (from_stride == 0 && to_stride == 1) {
      std::fill_n(out, n, *source);
    } else {
      for (int64_t i = 0; i < n; ++i) out[i * to_stride] = source[i * from_stride];
    }
  }

  // A matrix whose rows lie in order in `to` and whose columns lie in order in `from`: in squares,
  // so that both sides stay in cache lines that were just touched.
  void CopyTransposed(int64_t f, int64_t t, int64_t rows, int64_t columns,
                      int64_t from_column_stride, int64_t to_row_stride) const {
    if constexpr (std::is_integral_v<T>) {
      return TransposeMatrix(from + f, from_column_stride, to + t, to_row_stride, rows, columns);
    }
    constexpr int64_t kSquare = 16;
    const int64_t full_rows = rows / kSquare * kSquare;
    const int64_t full_columns = columns / kSquare * kSquare;
    for (int64_t r = 0; r < full_rows; r += kSquare) {
      for (int64_t c = 0; c < full_columns; c += kSquare) {
        const T* source = from + f + c * from_column_stride + r;
        T* out = to + t + r * to_row_stride + c;
        T square[kSquare][kSquare];
        for (int64_t j = 0; j < kSquare; ++j) {
          for (int64_t i = 0; i < kSquare; ++i) square[i][j] = source[j * from_column_stride + i];
        }
        for (int64_t i = 0; i < kSquare; ++i) {
          for (int64_t j = 0; j < kSquare; ++j) out[i * to_row_stride + j] = square[i][j];
        }
      }
      for (int64_t i = r; i < r + kSquare; ++i) {
        CopyRow(f + i + full_columns * from_column_stride, t + i * to_row_stride + full_columns,
                columns - full_columns, from_column_stride, 1);
      }
    }
    for (int64_t i = full_rows; i < rows; ++i) {
      CopyRow(f + i, t + i * to_row_stride, columns, from_column_stride, 1);
    }
  }
};

// Packed elements of 4 or 2 bits.
struct PackedElements {
  const uint8_t* from;
  uint8_t* to;
  int bits;

  uint8_t Load(int64_t index) const {
    const int64_t per_byte = 8 / bits;
    return static_cast<uint8_t>(from[index / per_byte] >> (index % per_byte * bits) &
                                ((1 << bits) - 1));
  }
  void Store(int64_t index, uint8_t code) const {
    const int64_t per_byte = 8 / bits;
    const auto shift = static_cast<int>(index % per_byte * bits);
    uint8_t& byte = to[index / per_byte];
    byte = static_cast<uint8_t>((byte & ~(((1 << bits) - 1) << shift)) | code << shift);
  }
  void CopyRow(int64_t f, int64_t t, int64_t n, int64_t from_stride, int64_t to_stride) const {
    const int64_t per_byte = 8 / bits;
    if (from_stride == 1 && to_stride == 1 && f % per_byte == 0 && t % per_byte == 0) {
      const int64_t bytes = n / per_byte;
      std::memcpy(to + t / per_byte, from + f / per_byte, static_cast<size_t>(bytes));
      f += bytes * per_byte;
      t += bytes * per_byte;
      n -= bytes * per_byte;
    }
    for (int64_t i = 0; i < n; ++i) Store(t + i * to_stride, Load(f + i * from_stride));
  }
};

// Calls row(from index, to index) for every index of `axes` but the last `inner`.
template <typename Fn>
void ForEachRow(absl::Span<const Axis> axes, int64_t f, int64_t t, Fn row) {
  if (axes.empty()) return row(f, t);
  if (axes.size() == 1) {
    for (int64_t i = 0; i < axes[0].dim; ++i) row(f + i * axes[0].from, t + i * axes[0].to);
    return;
  }
  absl::InlinedVector<int64_t, 6> position(axes.size());
  while (true) {
    row(f, t);
    size_t d = axes.size();
    while (true) {
      if (d == 0) return;
      --d;
      f += axes[d].from;
      t += axes[d].to;
      if (++position[d] < axes[d].dim) break;
      f -= axes[d].from * axes[d].dim;
      t -= axes[d].to * axes[d].dim;
      position[d] = 0;
    }
  }
}

template <typename Elements>
void CopyAxes(const Elements& elements, const Axes& axes, int64_t f, int64_t t) {
  const Axis& last = axes.back();
  const absl::Span<const Axis> outer(axes.data(), axes.size() - 1);
  if constexpr (requires { elements.CopyTransposed(f, t, f, f, f, f); }) {
    // A dimension along which the source lies in order, for a destination whose last one does.
    for (size_t d = outer.size(); last.to == 1 && last.from != 1 && last.from != 0 && d-- > 0;) {
      if (outer[d].from != 1) continue;
      Axes rest(outer.begin(), outer.end());
      rest.erase(rest.begin() + static_cast<ptrdiff_t>(d));
      ForEachRow(rest, f, t, [&](int64_t from, int64_t to) {
        elements.CopyTransposed(from, to, outer[d].dim, last.dim, last.from, outer[d].to);
      });
      return;
    }
  }
  ForEachRow(outer, f, t, [&](int64_t from, int64_t to) {
    elements.CopyRow(from, to, last.dim, last.from, last.to);
  });
}

// Calls fn(elements) with the accessor of `type`.
template <typename Fn>
void WithElements(ElementType type, const void* from, void* to, Fn fn) {
  const auto whole = [&]<typename T>(T /*tag*/) {
    fn(WholeElements<T>{static_cast<const T*>(from), static_cast<T*>(to)});
  };
  switch (BitsOf(type)) {
    case 2:
    case 4:
      return fn(PackedElements{static_cast<const uint8_t*>(from), static_cast<uint8_t*>(to),
                               BitsOf(type)});
    case 8: return whole(uint8_t());
    case 16: return whole(uint16_t());
    case 32: return whole(uint32_t());
    case 64: return whole(uint64_t());
    case 128: return whole(std::complex<double>());
    default:
      if (type == ElementType::kString) whole(std::string());
  }
}

}  // namespace

Dims StridesOf(absl::Span<const int64_t> dims) {
  Dims strides(dims.size());
  int64_t stride = 1;
  for (size_t d = dims.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= dims[d];
  }
  return strides;
}

absl::StatusOr<Tensor*> MoveOutput(KernelContext& context, int i, ElementType type,
                                   absl::Span<const int64_t> dims) {
  ASSIGN_OR_RETURN(Tensor * output, context.Output(i, type, dims));
  if (IsSubByte(type) && output->bytes() > 0) {
    output->mutable_data_as<uint8_t>()[output->bytes() - 1] = 0;
  }
  return output;
}

void CopyBox(const KernelContext& context, ElementType type, absl::Span<const int64_t> dims,
             const ConstPlace& from, const Place& to) {
  int64_t size = 1;
  for (const int64_t dim : dims) size *= dim;
  if (size == 0) return;
  Axes axes = Collapse(dims, from.strides, to.strides);
  WithElements(type, from.data, to.data, [&](const auto& elements) {
    if (size <= kGrain || IsSubByte(type)) {  // two threads must not write into one byte
      return CopyAxes(elements, axes, from.offset, to.offset);
    }
    size_t split = 0;  // the longest dimension is shared out
    for (size_t d = 1; d < axes.size(); ++d) {
      if (axes[d].dim > axes[split].dim) split = d;
    }
    const Axis whole = axes[split];
    const int64_t grain = std::max<int64_t>(1, kGrain / (size / whole.dim));
    context.ParallelFor(whole.dim, grain, [&](int64_t begin, int64_t end) {
      Axes part = axes;
      part[split].dim = end - begin;
      CopyAxes(elements, part, from.offset + begin * whole.from, to.offset + begin * whole.to);
    });
  });
}

void CopyElements(ElementType type, const void* from, int64_t from_index, void* to,
                  int64_t to_index, int64_t n) {
  WithElements(type, from, to,
               [&](const auto& elements) { elements.CopyRow(from_index, to_index, n, 1, 1); });
}

void FillElements(ElementType type, const void* from, int64_t from_index, void* to,
                  int64_t to_index, int64_t n) {
  static const std::string kEmpty;
  static constexpr uint64_t kZero[2] = {0, 0};
  if (from == nullptr) {
    from = type == ElementType::kString ? static_cast<const void*>(&kEmpty) : kZero;
    from_index = 0;
  }
  WithElements(type, from, to,
               [&](const auto& elements) { elements.CopyRow(from_index, to_index, n, 0, 1); });
}

}  // namespace onnx_run
