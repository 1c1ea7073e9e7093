#include "ops/gemm.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <type_traits>
#include <utility>

#include "ops/gemm_kernels.h"
#include "runtime/status_macros.h"

namespace onnx_run {
namespace {

// Sums are made in pieces of so many products: a panel of the right operand stays in the first
// cache.
constexpr int64_t kDepth = 256;
// A block of the left operand stays in the second cache, or all of it when it is small.
constexpr int64_t kBlockRows = 240;
constexpr int64_t kWholeLeft = int64_t{1} << 19;  // elements
constexpr int64_t kBlockColumns = 384;
// Products that are worth a thread.
constexpr int64_t kGrain = int64_t{1} << 17;
// Up to so many rows or columns are made as sums along contiguous memory.
constexpr int64_t kFew = 8;
// Right operands that exist only as panels are laid out once for all blocks of rows up to this
// size.
constexpr int64_t kWholeRight = int64_t{1} << 21;  // elements

int64_t RoundUp(int64_t n, int64_t to) { return (n + to - 1) / to * to; }
int64_t Blocks(int64_t n, int64_t block) { return (n + block - 1) / block; }

template <typename T>
constexpr ElementType ElementTypeOf() {
  if constexpr (std::is_same_v<T, float>) return ElementType::kFloat;
  if constexpr (std::is_same_v<T, double>) return ElementType::kDouble;
  if constexpr (std::is_same_v<T, int32_t>) return ElementType::kInt32;
}

// Scratch memory of one part of the work, and whether any part had none left.
template <typename T>
class Scratch {
 public:
  Scratch(KernelContext& context, int64_t elements, std::atomic<bool>& exhausted) {
    absl::StatusOr<Tensor> tensor = context.Allocate(ElementTypeOf<T>(), {elements});
    if (tensor.ok()) {
      tensor_ = *std::move(tensor);
    } else {
      exhausted.store(true, std::memory_order_relaxed);
    }
  }
  T* data() { return tensor_.mutable_data_as<T>(); }  // nullptr: none left

 private:
  Tensor tensor_;
};

absl::Status Exhausted() {
  return absl::ResourceExhaustedError("no memory left for the blocks of a matrix product");
}

// Rows [begin, end), a tile's rows after another's, each tile with its rows side by side for each
// k.
template <typename T>
void PackLeft(const GemmKernels<T>& kernels, const Matrix<T>& a, int64_t begin, int64_t end,
              int64_t k_begin, int64_t k_end, T* to) {
  const int64_t depth = k_end - k_begin;
  for (int64_t row = begin; row < end;) {
    const int rows = kernels.rows_of(end - row);
    const T* from = a.data + row * a.row_stride + k_begin * a.column_stride;
    for (int r = 0; r < rows; ++r) {
      const T* x = from + r * a.row_stride;
      T* out = to + r;
      for (int64_t k = 0; k < depth; ++k) out[k * rows] = x[k * a.column_stride];
    }
    to += rows * depth;
    row += rows;
  }
}

template <typename T>
void PackRight(const Matrix<T>& b, const PanelRequest<T>& request) {
  const int64_t depth = request.k_end - request.k_begin;
  const int width = request.panel_columns;
  const int64_t full = (request.end - request.begin) / width;  // panels
  const int rest = static_cast<int>((request.end - request.begin) % width);
  const T* from = b.data + request.k_begin * b.row_stride + request.begin * b.column_stride;
  T* const last = request.to + full * depth * width;
  if (rest > 0) std::fill_n(last, depth * width, T{0});
  if (b.column_stride == 1) {
    // A row at a time: it lies in few pages.
    for (int64_t k = 0; k < depth; ++k) {
      const T* row = from + k * b.row_stride;
      T* to = request.to + k * width;
      for (int64_t panel = 0; panel < full; ++panel) {
        std::memcpy(to + panel * depth * width, row + panel * width,
                    static_cast<size_t>(width) * sizeof(T));
      }
      for (int j = 0; j < rest; ++j) last[k * width + j] = row[full * width + j];
    }
    return;
  }
  for (int64_t column = 0; column < request.end - request.begin; ++column) {
    const T* x = from + column * b.column_stride;
    T* to = request.to + column / width * depth * width + column % width;
    for (int64_t k = 0; k < depth; ++k) to[k * width] = x[k * b.row_stride];
  }
}

// How one product is cut into blocks.
struct Cut {
  int64_t block_rows;
  int64_t block_columns;
  int64_t row_blocks;
  int64_t column_blocks;
  bool whole_left;  // all of a block's rows are packed at once, not piece by piece
  int64_t left_elements;
  int64_t right_elements;
};

template <typename T>
Cut CutProduct(const GemmKernels<T>& kernels, const GemmSize& size, int64_t count,
               bool left_packed) {
  Cut cut;
  const int64_t width = kernels.tile_columns;
  cut.block_rows = std::min(size.m, kBlockRows);
  if (size.m <= 1024 && size.m * size.k <= kWholeLeft) cut.block_rows = size.m;
  // Rows that need no laying out cost nothing to be read again: then columns are laid out once.
  if (left_packed && count * Blocks(size.n, RoundUp(kBlockColumns, width)) >= 4) {
    cut.block_rows = size.m;
  }
  cut.block_columns = std::min(RoundUp(size.n, width), RoundUp(kBlockColumns, width));
  cut.row_blocks = Blocks(size.m, cut.block_rows);
  // Smaller pieces where there would be too few of them to share out.
  if (count * cut.row_blocks * Blocks(size.n, cut.block_columns) < 8 &&
      size.m * size.n > 8 * kGrain / std::min(size.k, kDepth)) {
    cut.block_columns = std::max(4 * width, RoundUp(Blocks(size.n, 8), width));
  }
  cut.block_columns = std::min(cut.block_columns, RoundUp(size.n, width));
  cut.column_blocks = Blocks(size.n, cut.block_columns);
  cut.whole_left = cut.block_rows * size.k <= kWholeLeft;
  const int64_t depth = std::min(size.k, kDepth);
  cut.left_elements = left_packed ? 0 : cut.block_rows * (cut.whole_left ? size.k : depth);
  cut.right_elements = cut.block_columns * depth;
  return cut;
}

// One block of one product.
template <typename T>
class BlockRunner {
 public:
  BlockRunner(const GemmKernels<T>& kernels, const GemmSize& size, const Cut& cut, T* scratch)
      : kernels_(kernels),
        size_(size),
        cut_(cut),
        left_(scratch),
        right_(scratch + RoundUp(cut.left_elements, 16)) {}

  void Run(int64_t number, const GemmProblem<T>& problem, int64_t row_block, int64_t column_block) {
    const int64_t row_begin = row_block * cut_.block_rows;
    const int64_t row_end = std::min(size_.m, row_begin + cut_.block_rows);
    const int64_t begin = column_block * cut_.block_columns;
    const int64_t end = std::min(size_.n, begin + cut_.block_columns);
    const bool pack_left = problem.packed_a == nullptr;
    if (pack_left && cut_.whole_left && (packed_ != problem.a.data || packed_row_ != row_begin)) {
      for (int64_t k = 0; k < size_.k; k += kDepth) {
        PackLeft(kernels_, problem.a, row_begin, row_end, k, std::min(size_.k, k + kDepth),
                 left_ + (row_end - row_begin) * k);
      }
      packed_ = problem.a.data;
      packed_row_ = row_begin;
    }
    // Rows of b that are read once are read where they are.
    const bool in_place = problem.panels == nullptr && problem.packed_b == nullptr &&
                          problem.b.column_stride == 1 && row_end - row_begin <= kernels_.tile_rows;
    const int64_t all_columns = RoundUp(size_.n, kernels_.tile_columns);
    for (int64_t k = 0; k < size_.k; k += kDepth) {
      const int64_t k_end = std::min(size_.k, k + kDepth);
      const T* left = left_;
      if (!pack_left) {
        left = problem.packed_a + size_.m * k + row_begin * (k_end - k);
      } else if (cut_.whole_left) {
        left += (row_end - row_begin) * k;
      } else {
        PackLeft(kernels_, problem.a, row_begin, row_end, k, k_end, left_);
      }
      const int64_t full = begin + (end - begin) / kernels_.tile_columns * kernels_.tile_columns;
      const PanelRequest<T> request{
          k, k_end, in_place ? full : begin, end, kernels_.tile_columns, right_};
      if (problem.packed_b != nullptr) {
      } else if (problem.panels != nullptr) {
        problem.panels->Pack(number, request);
      } else if (request.begin < request.end) {
        PackRight(problem.b, request);
      }
      for (int64_t column = begin; column < end; column += kernels_.tile_columns) {
        GemmTile<T> tile;
        tile.k = k_end - k;
        tile.columns = static_cast<int>(std::min<int64_t>(kernels_.tile_columns, end - column));
        if (problem.packed_b != nullptr) {
          tile.b = problem.packed_b + all_columns * k + column * tile.k;
          tile.b_stride = kernels_.tile_columns;
        } else if (in_place && column < full) {
          tile.b = problem.b.data + k * problem.b.row_stride + column;
          tile.b_stride = problem.b.row_stride;
        } else {
          tile.b = right_ + (column - request.begin) * tile.k;
          tile.b_stride = kernels_.tile_columns;
        }
        tile.a = left;
        tile.c_stride = problem.c_stride;
        tile.store = k == 0 ? TileStore::kSet : TileStore::kAdd;
        for (int64_t row = row_begin; row < row_end;) {
          const int rows = kernels_.rows_of(row_end - row);
          tile.c = problem.c + row * problem.c_stride + column;
          tile.row_bias = problem.row_bias == nullptr ? nullptr : problem.row_bias + row;
          kernels_.tile(tile, rows);
          tile.a += rows * tile.k;
          row += rows;
        }
      }
    }
  }

 private:
  const GemmKernels<T>& kernels_;
  const GemmSize size_;
  const Cut& cut_;
  T* left_;
  T* right_;
  const T* packed_ = nullptr;  // whose rows are in left_
  int64_t packed_row_ = -1;
};

template <typename T>
absl::Status RunBlocked(KernelContext& context, const GemmSize& size, int64_t count,
                        absl::FunctionRef<GemmProblem<T>(int64_t)> problem) {
  const GemmKernels<T>& kernels = GetGemmKernels<T>();
  const GemmProblem<T> first = problem(0);
  const Cut cut = CutProduct(kernels, size, count, first.packed_a != nullptr);
  const int64_t blocks = cut.row_blocks * cut.column_blocks;
  const int64_t work = cut.block_rows * cut.block_columns * std::min(size.k, kDepth);
  std::atomic<bool> exhausted{false};

  Tensor panels;
  const int64_t panel_elements = RoundUp(size.n, kernels.tile_columns) * size.k;
  if (first.panels != nullptr && cut.row_blocks > 1 && count * panel_elements <= kWholeRight) {
    ASSIGN_OR_RETURN(panels, context.Allocate(ElementTypeOf<T>(), {count * panel_elements}));
    const int64_t pieces = Blocks(size.k, kDepth);
    T* const to = panels.mutable_data_as<T>();
    context.ParallelFor(
        count * pieces, std::max<int64_t>(1, kGrain / (4 * size.n * std::min(size.k, kDepth))),
        [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const int64_t k = i % pieces * kDepth;
            first.panels->Pack(
                i / pieces,
                {k, std::min(size.k, k + kDepth), 0, size.n, kernels.tile_columns,
                 to + i / pieces * panel_elements + RoundUp(size.n, kernels.tile_columns) * k});
          }
        });
  }
  context.ParallelFor(
      count * blocks, std::max<int64_t>(1, kGrain / work), [&](int64_t begin, int64_t end) {
        Scratch<T> scratch(context, RoundUp(cut.left_elements, 16) + cut.right_elements, exhausted);
        if (scratch.data() == nullptr) return;
        BlockRunner<T> runner(kernels, size, cut, scratch.data());
        for (int64_t block = begin; block < end; ++block) {
          const int64_t number = block / blocks;
          const int64_t rest = block % blocks;
          GemmProblem<T> p = problem(number);
          if (panels.data() != nullptr) {
            p.packed_b = panels.data_as<T>() + number * panel_elements;
          }
          runner.Run(number, p, rest / cut.column_blocks, rest % cut.column_blocks);
        }
      });
  return exhausted ? Exhausted() : absl::OkStatus();
}

// Few rows or columns: sums along memory, without laying anything out in panels, but for b itself
// when its columns are not contiguous.
template <typename T>
absl::Status RunDots(KernelContext& context, const GemmSize& size, int64_t count, bool pack,
                     absl::FunctionRef<GemmProblem<T>(int64_t)> problem) {
  const GemmKernels<T>& kernels = GetGemmKernels<T>();
  const bool by_rows = size.m > size.n;
  const int64_t strips = Blocks(by_rows ? size.m : size.n, 4);
  const int64_t strip_work = 4 * size.k * (by_rows ? size.n : size.m);
  // A part of the work has strips of several products only when they are all small.
  const int64_t strips_at_once = std::max<int64_t>(1, kGrain / strip_work);
  const int64_t parts = Blocks(strips, strips_at_once);
  std::atomic<bool> exhausted{false};
  const auto run = [&](int64_t begin, int64_t end) {
    Scratch<T> scratch(context, pack ? size.n * size.k : 0, exhausted);
    if (scratch.data() == nullptr) return;
    int64_t packed = -1;
    for (int64_t part = begin; part < end; ++part) {
      const int64_t number = part / parts;
      const GemmProblem<T> p = problem(number);
      const T* b = p.b.data;
      int64_t b_stride = p.b.column_stride;
      if (pack) {
        b = scratch.data();
        b_stride = size.k;
        if (packed != number) {
          for (int64_t k = 0; k < size.k; ++k) {
            const T* row = p.b.data + k * p.b.row_stride;
            for (int64_t j = 0; j < size.n; ++j) {
              scratch.data()[j * size.k + k] = row[j * p.b.column_stride];
            }
          }
          packed = number;
        }
      }
      const int64_t first = part % parts * strips_at_once * 4;
      const int64_t row_begin = by_rows ? first : 0;
      const int64_t row_end = by_rows ? std::min(size.m, first + strips_at_once * 4) : size.m;
      const int64_t column_begin = by_rows ? 0 : first;
      const int64_t column_end = by_rows ? size.n : std::min(size.n, first + strips_at_once * 4);
      for (int64_t row = row_begin; row < row_end; row += 4) {
        for (int64_t column = column_begin; column < column_end; column += 4) {
          const DotTile<T> tile{p.a.data + row * p.a.row_stride,
                                p.a.row_stride,
                                b + column * b_stride,
                                b_stride,
                                size.k,
                                p.c + row * p.c_stride + column,
                                p.c_stride,
                                p.row_bias == nullptr ? nullptr : p.row_bias + row};
          kernels.dot(tile, static_cast<int>(std::min<int64_t>(4, row_end - row)),
                      static_cast<int>(std::min<int64_t>(4, column_end - column)));
        }
      }
    }
  };
  context.ParallelFor(
      count * parts, std::max<int64_t>(1, kGrain / (strip_work * std::min(strips_at_once, strips))),
      run);
  return exhausted ? Exhausted() : absl::OkStatus();
}

// For the integers that have no kernel.
template <typename T>
absl::Status RunPlain(KernelContext& context, const GemmSize& size, int64_t count,
                      absl::FunctionRef<GemmProblem<T>(int64_t)> problem) {
  // Narrow ones would be promoted to int, whose overflow is undefined.
  using Wide = std::conditional_t<sizeof(T) < 4, uint32_t, std::make_unsigned_t<T>>;
  const int64_t row_work = std::max<int64_t>(1, size.n * size.k);
  context.ParallelFor(
      count * size.m, std::max<int64_t>(1, kGrain / row_work), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const GemmProblem<T> p = problem(i / size.m);
          const int64_t row = i % size.m;
          T* c = p.c + row * p.c_stride;
          std::fill_n(c, size.n, p.row_bias == nullptr ? T{0} : p.row_bias[row]);
          for (int64_t k = 0; k < size.k; ++k) {
            const Wide a =
                static_cast<Wide>(p.a.data[row * p.a.row_stride + k * p.a.column_stride]);
            const T* b = p.b.data + k * p.b.row_stride;
            for (int64_t j = 0; j < size.n; ++j) {
              c[j] = static_cast<T>(static_cast<Wide>(c[j]) +
                                    a * static_cast<Wide>(b[j * p.b.column_stride]));
            }
          }
        }
      });
  return absl::OkStatus();
}

// No sum has an element.
template <typename T>
void SetToBias(const GemmSize& size, int64_t count,
               absl::FunctionRef<GemmProblem<T>(int64_t)> problem) {
  for (int64_t i = 0; i < count; ++i) {
    const GemmProblem<T> p = problem(i);
    for (int64_t row = 0; row < size.m; ++row) {
      std::fill_n(p.c + row * p.c_stride, size.n, p.row_bias == nullptr ? T{0} : p.row_bias[row]);
    }
  }
}

}  // namespace

template <typename T>
absl::Status RunGemms(KernelContext& context, const GemmSize& size, int64_t count,
                      absl::FunctionRef<GemmProblem<T>(int64_t)> problem) {
  if (count <= 0 || size.m <= 0 || size.n <= 0) return absl::OkStatus();
  if (size.k <= 0) {
    SetToBias<T>(size, count, problem);
    return absl::OkStatus();
  }
  if constexpr (std::is_floating_point_v<T> || std::is_same_v<T, int32_t>) {
    const GemmProblem<T> first = problem(0);
    if (first.panels == nullptr && first.a.column_stride == 1) {
      const bool columns_contiguous = first.b.row_stride == 1;
      if (columns_contiguous && (size.m <= kFew || size.n <= kFew)) {
        return RunDots<T>(context, size, count, /*pack=*/false, problem);
      }
      if (size.n <= kFew && size.m > kFew) {
        return RunDots<T>(context, size, count, /*pack=*/true, problem);
      }
    }
    return RunBlocked<T>(context, size, count, problem);
  } else {
    return RunPlain<T>(context, size, count, problem);
  }
}

template <typename T>
int64_t PackedElements(Operand operand, const GemmSize& size) {
  const int64_t width = GetGemmKernels<T>().tile_columns;
  return operand == Operand::kLeft ? size.m * size.k : RoundUp(size.n, width) * size.k;
}

template <typename T>
void PackOperand(Operand operand, const GemmSize& size, const Matrix<T>& matrix, T* to) {
  const GemmKernels<T>& kernels = GetGemmKernels<T>();
  for (int64_t k = 0; k < size.k; k += kDepth) {
    const int64_t k_end = std::min(size.k, k + kDepth);
    if (operand == Operand::kLeft) {
      PackLeft(kernels, matrix, 0, size.m, k, k_end, to + size.m * k);
    } else {
      const int64_t columns = RoundUp(size.n, kernels.tile_columns);
      PackRight(matrix,
                PanelRequest<T>{k, k_end, 0, size.n, kernels.tile_columns, to + columns * k});
    }
  }
}

namespace {

template <typename T>
PackedOperand PackConstantOf(const Tensor& constant, Operand operand, const GemmSize& size,
                             int64_t row_stride, int64_t column_stride, int64_t count,
                             int64_t distance, int64_t* memory) {
  const int64_t elements = PackedElements<T>(operand, size);
  const int64_t bytes = elements * count * static_cast<int64_t>(sizeof(T));
  if (elements <= 0 || bytes > *memory) return {};
  absl::StatusOr<Tensor> packed = Tensor::Create(ElementTypeOf<T>(), {elements * count});
  if (!packed.ok()) return {};
  for (int64_t i = 0; i < count; ++i) {
    PackOperand<T>(operand, size, {constant.data_as<T>() + i * distance, row_stride, column_stride},
                   packed->mutable_data_as<T>() + i * elements);
  }
  *memory -= bytes;
  return PackedOperand(*std::move(packed));
}

}  // namespace

PackedOperand PackConstant(const Value* constant, Operand operand, const GemmSize& size,
                           int64_t row_stride, int64_t column_stride, int64_t count,
                           int64_t distance, int64_t* memory) {
  if (constant == nullptr || !constant->is_tensor()) return {};
  const Tensor& tensor = constant->tensor();
  if (tensor.type() == ElementType::kFloat) {
    return PackConstantOf<float>(tensor, operand, size, row_stride, column_stride, count, distance,
                                 memory);
  }
  if (tensor.type() == ElementType::kDouble) {
    return PackConstantOf<double>(tensor, operand, size, row_stride, column_stride, count, distance,
                                  memory);
  }
  return {};
}

template absl::Status RunGemms<float>(KernelContext&, const GemmSize&, int64_t,
                                      absl::FunctionRef<GemmProblem<float>(int64_t)>);
template absl::Status RunGemms<double>(KernelContext&, const GemmSize&, int64_t,
                                       absl::FunctionRef<GemmProblem<double>(int64_t)>);
template absl::Status RunGemms<int32_t>(KernelContext&, const GemmSize&, int64_t,
                                        absl::FunctionRef<GemmProblem<int32_t>(int64_t)>);
template absl::Status RunGemms<uint8_t>(KernelContext&, const GemmSize&, int64_t,
                                        absl::FunctionRef<GemmProblem<uint8_t>(int64_t)>);
template absl::Status RunGemms<uint16_t>(KernelContext&, const GemmSize&, int64_t,
                                         absl::FunctionRef<GemmProblem<uint16_t>(int64_t)>);
template absl::Status RunGemms<uint32_t>(KernelContext&, const GemmSize&, int64_t,
                                         absl::FunctionRef<GemmProblem<uint32_t>(int64_t)>);
template absl::Status RunGemms<uint64_t>(KernelContext&, const GemmSize&, int64_t,
                                         absl::FunctionRef<GemmProblem<uint64_t>(int64_t)>);

}  // namespace onnx_run
