// Element-wise functions of one input: arithmetic, rounding, exponentials, trigonometry, tests.
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/kernel_table.h"
#include "ops/plain_loops.h"
#include "ops/vector_math.h"

namespace onnx_run {
namespace {

// The magnitude of the least integer wraps to itself.
struct AbsOp {
  template <typename T>
  T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>) {
      return std::abs(x);
    } else if constexpr (std::is_signed_v<T>) {
      using Unsigned = std::make_unsigned_t<T>;
      return x < 0 ? static_cast<T>(Unsigned{0} - static_cast<Unsigned>(x)) : x;
    } else {
      return x;
    }
  }
};
struct NegOp {
  template <typename T>
  T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>) return -x;
    return static_cast<T>(T{0} - x);
  }
};
struct SignOp {
  template <typename T>
  T operator()(T x) const {
    const T sign = static_cast<T>((x > T{0}) - (x < T{0}));
    return x != x ? x : sign;  // NaN stays
  }
};
struct FloorOp {
  template <typename T>
  T operator()(T x) const {
    return std::floor(x);
  }
  template <typename T>
  void Loop(const T* x, T* out, int64_t n) const {
    plain_loops::Floor(x, out, n);
  }
};
struct CeilOp {
  template <typename T>
  T operator()(T x) const {
    return std::ceil(x);
  }
  template <typename T>
  void Loop(const T* x, T* out, int64_t n) const {
    plain_loops::Ceil(x, out, n);
  }
};
struct RoundOp {  // halves to even
  template <typename T>
  T operator()(T x) const {
    return std::nearbyint(x);
  }
  template <typename T>
  void Loop(const T* x, T* out, int64_t n) const {
    plain_loops::RoundToEven(x, out, n);
  }
};
struct SqrtOp {
  template <typename T>
  T operator()(T x) const {
    return std::sqrt(x);
  }
};
struct ReciprocalOp {
  template <typename T>
  T operator()(T x) const {
    return T{1} / x;
  }
};
struct BitwiseNotOp {
  template <typename T>
  T operator()(T x) const {
    return static_cast<T>(~x);
  }
};
struct NotOp {
  bool operator()(uint8_t x) const { return x == 0; }
};
struct IsNanOp {
  template <typename T>
  bool operator()(T x) const {
    return x != x;
  }
};
struct IsInfOp {
  bool positive;
  bool negative;
  template <typename T>
  bool operator()(T x) const {
    return (positive && x == std::numeric_limits<T>::infinity()) ||
           (negative && x == -std::numeric_limits<T>::infinity());
  }
};
absl::StatusOr<IsInfOp> ParseIsInf(const NodeInfo& node) {
  return IsInfOp{node.IntOr("detect_positive", 1) != 0, node.IntOr("detect_negative", 1) != 0};
}

using ExpOp = Vectorised<vector_math::Exp, [](double x) { return std::exp(x); }>;
using LogOp = Vectorised<vector_math::Log, [](double x) { return std::log(x); }>;
using TanhOp = Vectorised<vector_math::Tanh, [](double x) { return std::tanh(x); }>;
using ErfOp = Vectorised<vector_math::Erf, [](double x) { return std::erf(x); }>;
using SinOp = Vectorised<vector_math::Sin, [](double x) { return std::sin(x); }>;
using CosOp = Vectorised<vector_math::Cos, [](double x) { return std::cos(x); }>;
using TanOp = Vectorised<vector_math::Tan, [](double x) { return std::tan(x); }>;
using AsinOp = Vectorised<vector_math::Asin, [](double x) { return std::asin(x); }>;
using AcosOp = Vectorised<vector_math::Acos, [](double x) { return std::acos(x); }>;
using AtanOp = Vectorised<vector_math::Atan, [](double x) { return std::atan(x); }>;
using SinhOp = Vectorised<vector_math::Sinh, [](double x) { return std::sinh(x); }>;
using CoshOp = Vectorised<vector_math::Cosh, [](double x) { return std::cosh(x); }>;
using AsinhOp = Vectorised<vector_math::Asinh, [](double x) { return std::asinh(x); }>;
using AcoshOp = Vectorised<vector_math::Acosh, [](double x) { return std::acosh(x); }>;
using AtanhOp = Vectorised<vector_math::Atanh, [](double x) { return std::atanh(x); }>;

constexpr auto kKernels = KernelTable(
    Rows<Unary<AbsOp, Numbers>>("Abs", 1, 6, 13),
    Rows<Unary<NegOp, WrappingNumbers>>("Neg", 1, 6, 13),
    Rows<Unary<SignOp, Numbers>>("Sign", 9, 13), Rows<Unary<FloorOp, Floats>>("Floor", 1, 6, 13),
    Rows<Unary<CeilOp, Floats>>("Ceil", 1, 6, 13), Rows<Unary<RoundOp, Floats>>("Round", 11, 22),
    Rows<Unary<SqrtOp, Floats>>("Sqrt", 1, 6, 13),
    Rows<Unary<ReciprocalOp, Floats>>("Reciprocal", 1, 6, 13),
    Rows<Unary<BitwiseNotOp, UnsignedIntegers>>("BitwiseNot", 18),
    Rows<Unary<NotOp, Types<uint8_t>>>("Not", 1), Rows<Unary<IsNanOp, Floats>>("IsNaN", 9, 13, 20),
    Rows<ParseIsInf, UnaryWith<IsInfOp, Floats>>("IsInf", 10, 20),

    Rows<Unary<ExpOp, Floats>>("Exp", 1, 6, 13), Rows<Unary<LogOp, Floats>>("Log", 1, 6, 13),
    Rows<Unary<ErfOp, Numbers>>("Erf", 9, 13), Rows<Unary<TanhOp, Floats>>("Tanh", 1, 6, 13),
    Rows<Unary<SinOp, Floats>>("Sin", 7, 22), Rows<Unary<CosOp, Floats>>("Cos", 7, 22),
    Rows<Unary<TanOp, Floats>>("Tan", 7, 22), Rows<Unary<AsinOp, Floats>>("Asin", 7, 22),
    Rows<Unary<AcosOp, Floats>>("Acos", 7, 22), Rows<Unary<AtanOp, Floats>>("Atan", 7, 22),
    Rows<Unary<SinhOp, Floats>>("Sinh", 9, 22), Rows<Unary<CoshOp, Floats>>("Cosh", 9, 22),
    Rows<Unary<AsinhOp, Floats>>("Asinh", 9, 22), Rows<Unary<AcoshOp, Floats>>("Acosh", 9, 22),
    Rows<Unary<AtanhOp, Floats>>("Atanh", 9, 22));

}  // namespace

absl::Span<const KernelDef> UnaryKernels() { return kKernels; }

}  // namespace onnx_run
