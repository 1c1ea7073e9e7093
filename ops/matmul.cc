// MatMul and Gemm, all versions.
#include <cmath>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/dispatch.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/gemm.h"
#include "ops/kernel_table.h"
#include "ops/matmul.h"
#include "ops/shape_util.h"
#include "ops/window.h"

namespace onnx_run {
namespace {

// Products are the same in two's complement; 32 bits have a vectorised kernel.
using GemmTypes = Types<float, double, int32_t, uint32_t, uint64_t>;
template <typename T>
using GemmType = std::conditional_t<std::is_same_v<T, uint32_t>, int32_t, T>;

// The index of the first element of matrix number `number`, of `dims` broadcast to `batch`.
int64_t BatchOffset(absl::Span<const int64_t> batch, absl::Span<const int64_t> dims, int64_t number,
                    int64_t matrix) {
  int64_t offset = 0;
  int64_t stride = matrix;
  const size_t skipped = batch.size() - dims.size();
  for (size_t d = batch.size(); d-- > skipped;) {
    const int64_t dim = dims[d - skipped];
    if (dim != 1) offset += number % batch[d] * stride;
    stride *= dim;
    number /= batch[d];
  }
  return offset;
}

}  // namespace

absl::StatusOr<MatMulShape> MakeMatMulShape(absl::Span<const int64_t> a,
                                            absl::Span<const int64_t> b) {
  if (a.empty() || b.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("the inputs are ", DimsToString(a), " and ",
                                                   DimsToString(b), ", expected no scalars"));
  }
  MatMulShape shape;
  // A vector is a row on the left and a column on the right, and the result lacks that dimension.
  shape.a.assign(a.begin(), a.end());
  shape.b.assign(b.begin(), b.end());
  if (a.size() == 1) shape.a.insert(shape.a.begin(), 1);
  if (b.size() == 1) shape.b.push_back(1);
  shape.size.m = shape.a[shape.a.size() - 2];
  shape.size.k = shape.a.back();
  shape.size.n = shape.b.back();
  shape.a.resize(shape.a.size() - 2);
  const int64_t b_rows = shape.b[shape.b.size() - 2];
  shape.b.resize(shape.b.size() - 2);
  if (b_rows != shape.size.k) {
    return absl::InvalidArgumentError(absl::StrCat("the inputs are ", DimsToString(a), " and ",
                                                   DimsToString(b), ": ", shape.size.k,
                                                   " columns meet ", b_rows, " rows"));
  }
  ASSIGN_OR_RETURN(shape.batch, BroadcastDims(shape.a, shape.b));
  shape.output = shape.batch;
  if (a.size() > 1) shape.output.push_back(shape.size.m);
  if (b.size() > 1) shape.output.push_back(shape.size.n);
  ASSIGN_OR_RETURN(shape.count, ElementCount(shape.batch));
  ASSIGN_OR_RETURN(const int64_t b_count, ElementCount(shape.b));
  int64_t all_rows = 0;
  if (b_count == 1 && shape.count > 1 && shape.a == shape.batch &&
      !__builtin_mul_overflow(shape.size.m, shape.count, &all_rows)) {
    // One right operand for all: one tall left operand.
    shape.size.m = all_rows;
    shape.count = 1;
    shape.a.clear();
    shape.b.clear();
    shape.batch.clear();
  }
  return shape;
}

template <typename T>
absl::Status RunMatMul(KernelContext& context, const MatMulShape& shape, const T* a, const T* b,
                       T* c, const T* packed_b) {
  const int64_t m = shape.size.m;
  const int64_t n = shape.size.n;
  const int64_t k = shape.size.k;
  return RunGemms<T>(context, shape.size, shape.count, [&](int64_t i) {
    return GemmProblem<T>{.a = {a + BatchOffset(shape.batch, shape.a, i, m * k), k, 1},
                          .b = {b + BatchOffset(shape.batch, shape.b, i, k * n), n, 1},
                          .packed_b = packed_b,
                          .c = c + i * m * n,
                          .c_stride = n};
  });
}
template absl::Status RunMatMul<float>(KernelContext&, const MatMulShape&, const float*,
                                       const float*, float*, const float*);
template absl::Status RunMatMul<double>(KernelContext&, const MatMulShape&, const double*,
                                        const double*, double*, const double*);
template absl::Status RunMatMul<int32_t>(KernelContext&, const MatMulShape&, const int32_t*,
                                         const int32_t*, int32_t*, const int32_t*);

namespace {

struct MatMulState {
  PackedOperand packed_b;
};
absl::StatusOr<MatMulState> ParseMatMul(const NodeInfo& /*node*/) { return MatMulState(); }

absl::Status PrepareMatMul(MatMulState& state, const NodeInfo& /*node*/,
                           absl::Span<const Value* const> constants, int64_t* memory) {
  const Value* b = constants[1];
  if (b == nullptr || !b->is_tensor() || b->tensor().rank() != 2) return absl::OkStatus();
  const GemmSize size{0, b->tensor().dim(1), b->tensor().dim(0)};
  state.packed_b = PackConstant(b, Operand::kRight, size, size.n, 1, 1, 0, memory);
  return absl::OkStatus();
}

absl::Status MatMul(const MatMulState& state, KernelContext& context) {
  ASSIGN_OR_RETURN(const MatMulShape shape,
                   MakeMatMulShape(context.input(0).dims(), context.input(1).dims()));
  const ElementType type = context.input(0).type();
  ASSIGN_OR_RETURN(const Tensor a, WidenTensor(context, context.input(0)));
  ASSIGN_OR_RETURN(const Tensor b, WidenTensor(context, context.input(1)));
  return ComputeOutput(context, 0, type, shape.output, [&](Tensor& output) {
    return VisitType(GemmTypes(), type, [&]<typename T>(Tag<T>) {
      using G = GemmType<T>;
      if constexpr (std::is_same_v<G, uint64_t>) {
        const int64_t m = shape.size.m;
        const int64_t n = shape.size.n;
        const int64_t k = shape.size.k;
        return RunGemms<G>(context, shape.size, shape.count, [&](int64_t i) {
          return GemmProblem<G>{
              .a = {a.data_as<G>() + BatchOffset(shape.batch, shape.a, i, m * k), k, 1},
              .b = {b.data_as<G>() + BatchOffset(shape.batch, shape.b, i, k * n), n, 1},
              .c = output.mutable_data_as<G>() + i * m * n,
              .c_stride = n};
        });
      } else {
        return RunMatMul<G>(context, shape, a.data_as<G>(), b.data_as<G>(),
                            output.mutable_data_as<G>(), state.packed_b.data<G>());
      }
    });
  });
}

struct GemmAttributes {
  float alpha;
  float beta;
  bool transpose_a;
  bool transpose_b;
  bool broadcast;  // C is broadcast: always, since version 7
  PackedOperand packed_b = {};
};

absl::StatusOr<GemmAttributes> ParseGemm(const NodeInfo& node) {
  return GemmAttributes{node.FloatOr("alpha", 1), node.FloatOr("beta", 1),
                        node.IntOr("transA", 0) != 0, node.IntOr("transB", 0) != 0,
                        node.since_version() >= 7 || node.IntOr("broadcast", 0) != 0};
}

absl::Status PrepareGemm(GemmAttributes& attributes, const NodeInfo& /*node*/,
                         absl::Span<const Value* const> constants, int64_t* memory) {
  const Value* b = constants[1];
  if (b == nullptr || !b->is_tensor() || b->tensor().rank() != 2) return absl::OkStatus();
  const int64_t rows = b->tensor().dim(0);
  const int64_t columns = b->tensor().dim(1);
  attributes.packed_b =
      attributes.transpose_b
          ? PackConstant(b, Operand::kRight, {0, rows, columns}, 1, columns, 1, 0, memory)
          : PackConstant(b, Operand::kRight, {0, columns, rows}, columns, 1, 1, 0, memory);
  return absl::OkStatus();
}

// Factors of integers are integers here.
template <typename T>
T Combine(T product, T c, double alpha, double beta) {
  if constexpr (std::is_floating_point_v<T>) {
    return product * static_cast<T>(alpha) + c * static_cast<T>(beta);
  } else {
    return static_cast<T>(product * static_cast<T>(static_cast<int64_t>(alpha)) +
                          c * static_cast<T>(static_cast<int64_t>(beta)));
  }
}

// y = alpha y + beta c, `c` broadcast to y's rows and columns by strides of 0 or 1. Integers with
// factors that are none are scaled in double and cast back.
template <typename T>
void AddScaled(KernelContext& context, const GemmAttributes& attributes, const GemmSize& size,
               const T* c, int64_t row_stride, int64_t column_stride, ElementType type, T* y) {
  const double alpha = attributes.alpha;
  const double beta = c == nullptr ? 0 : attributes.beta;
  const bool plain = alpha == 1 && beta == 1;
  const bool integral = std::trunc(alpha) == alpha && std::trunc(beta) == beta &&
                        std::abs(alpha) < 0x1p62 && std::abs(beta) < 0x1p62;
  const T zero{0};
  if (beta == 0) {
    if (alpha == 1) return;
    c = &zero;
    row_stride = column_stride = 0;
  }
  context.ParallelFor(
      size.m, std::max<int64_t>(1, 32768 / std::max<int64_t>(1, size.n)),
      [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          T* row = y + i * size.n;
          const T* x = c + i * row_stride;
          if (plain) {
            if (column_stride == 1) {
              for (int64_t j = 0; j < size.n; ++j) row[j] = static_cast<T>(row[j] + x[j]);
            } else {
              for (int64_t j = 0; j < size.n; ++j) row[j] = static_cast<T>(row[j] + *x);
            }
          } else if (std::is_floating_point_v<T> || integral) {
            for (int64_t j = 0; j < size.n; ++j) {
              row[j] = Combine(row[j], x[j * column_stride], alpha, beta);
            }
          } else {
            for (int64_t j = 0; j < size.n; ++j) {
              const double product = CodeToDouble(static_cast<uint64_t>(row[j]), type);
              const double addend = CodeToDouble(static_cast<uint64_t>(x[j * column_stride]), type);
              row[j] = static_cast<T>(CodeFromDouble(product * alpha + addend * beta, type));
            }
          }
        }
      });
}

absl::Status Gemm(const GemmAttributes& attributes, KernelContext& context) {
  const Tensor& a_in = context.input(0);
  const Tensor& b_in = context.input(1);
  if (a_in.rank() != 2 || b_in.rank() != 2) {
    return absl::InvalidArgumentError(absl::StrCat("A is ", TypeAndDims(a_in), " and B ",
                                                   TypeAndDims(b_in), ", expected matrices"));
  }
  const GemmSize size{a_in.dim(attributes.transpose_a ? 1 : 0),
                      b_in.dim(attributes.transpose_b ? 0 : 1),
                      a_in.dim(attributes.transpose_a ? 0 : 1)};
  const int64_t b_rows = b_in.dim(attributes.transpose_b ? 1 : 0);
  if (b_rows != size.k) {
    return absl::InvalidArgumentError(absl::StrCat("A is ", TypeAndDims(a_in), " and B ",
                                                   TypeAndDims(b_in), ", as transposed: ", size.k,
                                                   " columns meet ", b_rows, " rows"));
  }
  Tensor c;
  const bool has_c = context.has_input(2) && attributes.beta != 0;
  int64_t row_stride = 0;
  int64_t column_stride = 0;
  if (context.has_input(2)) {
    const Tensor& in = context.input(2);
    const int64_t rows = in.rank() < 2 ? 1 : in.dim(in.rank() - 2);
    const int64_t columns = in.rank() < 1 ? 1 : in.dim(in.rank() - 1);
    const bool fits = in.rank() <= 2 && (rows == size.m || (rows == 1 && attributes.broadcast)) &&
                      (columns == size.n || (columns == 1 && attributes.broadcast));
    if (!fits) {
      return absl::InvalidArgumentError(absl::StrCat(
          "C is ", TypeAndDims(in), ", expected ",
          attributes.broadcast ? "what broadcasts to " : "", "[", size.m, ",", size.n, "]"));
    }
    row_stride = rows == 1 ? 0 : columns;
    column_stride = columns == 1 ? 0 : 1;
    if (has_c) {
      ASSIGN_OR_RETURN(c, WidenTensor(context, in));
    }
  }
  const ElementType type = a_in.type();
  ASSIGN_OR_RETURN(const Tensor a, WidenTensor(context, a_in));
  ASSIGN_OR_RETURN(const Tensor b, WidenTensor(context, b_in));
  return ComputeOutput(context, 0, type, {size.m, size.n}, [&](Tensor& output) {
    return VisitType(GemmTypes(), type, [&]<typename T>(Tag<T>) {
      using G = GemmType<T>;
      RETURN_IF_ERROR(RunGemms<G>(context, size, 1, [&](int64_t) {
        return GemmProblem<G>{.a = {a.data_as<G>(), attributes.transpose_a ? 1 : size.k,
                                    attributes.transpose_a ? size.m : 1},
                              .b = {b.data_as<G>(), attributes.transpose_b ? 1 : size.n,
                                    attributes.transpose_b ? size.k : 1},
                              .packed_b = attributes.packed_b.data<G>(),
                              .c = output.mutable_data_as<G>(),
                              .c_stride = size.n};
      }));
      using U = std::conditional_t<std::is_same_v<T, int32_t>, uint32_t, T>;
      AddScaled<U>(context, attributes, size, has_c ? c.data_as<U>() : nullptr, row_stride,
                   column_stride, type, output.mutable_data_as<U>());
      return absl::OkStatus();
    });
  });
}

constexpr auto kKernels =
    KernelTable(Rows<ParseMatMul, MatMul>("MatMul", 1, 9, 13)
                    .Prepare(&internal::PrepareWith<PrepareMatMul, MatMulState>),
                Rows<ParseGemm, Gemm>("Gemm", 1, 6, 7, 9, 11, 13)
                    .Prepare(&internal::PrepareWith<PrepareGemm, GemmAttributes>));

}  // namespace

absl::Span<const KernelDef> MatMulKernels() { return kKernels; }

}  // namespace onnx_run
