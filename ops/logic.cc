// Comparisons and boolean functions of two inputs, and Where.
#include <complex>
#include <cstdint>
#include <string>
#include <type_traits>

#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/kernel_table.h"

namespace onnx_run {
namespace {

struct EqualOp {
  template <typename T>
  bool operator()(const T& a, const T& b) const {
    return a == b;
  }
};
struct GreaterOp {
  template <typename T>
  bool operator()(T a, T b) const {
    return a > b;
  }
};
struct GreaterOrEqualOp {
  template <typename T>
  bool operator()(T a, T b) const {
    return a >= b;
  }
};
struct LessOp {
  template <typename T>
  bool operator()(T a, T b) const {
    return a < b;
  }
};
struct LessOrEqualOp {
  template <typename T>
  bool operator()(T a, T b) const {
    return a <= b;
  }
};
struct AndOp {
  bool operator()(uint8_t a, uint8_t b) const { return (a != 0) & (b != 0); }
};
struct OrOp {
  bool operator()(uint8_t a, uint8_t b) const { return (a | b) != 0; }
};
struct XorOp {
  bool operator()(uint8_t a, uint8_t b) const { return (a != 0) != (b != 0); }
};
using Bool = Types<uint8_t>;
using Comparable = Types<float, double, uint8_t, uint16_t, uint32_t, uint64_t, std::string>;

template <typename T, bool kVaryX, bool kVaryY>
void SelectLoop(const ElementRun& run) {
  const uint8_t* condition = run.Input<uint8_t>(0);
  const T* x = run.Input<T>(1);
  const T* y = run.Input<T>(2);
  T* out = run.Output<T>();
  const int64_t n = run.n;
  if constexpr (!kVaryX && !kVaryY) {  // neither may be the output's memory
    const T one = *x;
    const T other = *y;
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) out[i] = condition[i] != 0 ? one : other;
  } else {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) {
      const T one = x[kVaryX ? i : 0];
      const T other = y[kVaryY ? i : 0];
      out[i] = condition[i] != 0 ? one : other;
    }
  }
}

template <typename T>
void WhereLoop(const ElementRun& run) {
  if (run.steps[0] == 0) {
    const int chosen = *run.Input<uint8_t>(0) != 0 ? 1 : 2;
    const T* from = run.Input<T>(chosen);
    T* out = run.Output<T>();
    for (int64_t i = 0; i < run.n; ++i) out[i] = from[i * run.steps[chosen]];
    return;
  }
  const bool vary_x = run.steps[1] != 0;
  const bool vary_y = run.steps[2] != 0;
  if (vary_x && vary_y) return SelectLoop<T, true, true>(run);
  if (vary_x) return SelectLoop<T, true, false>(run);
  if (vary_y) return SelectLoop<T, false, true>(run);
  SelectLoop<T, false, false>(run);
}

absl::Status Where(KernelContext& context) {
  const Tensor* inputs[] = {&context.input(0), &context.input(1), &context.input(2)};
  const ElementType type = inputs[1]->type();
  return VisitWidth(type, [&]<typename T>(Tag<T>) {
    return Elementwise(context, inputs, type, WhereLoop<T>, {.as_bits = true});
  });
}

constexpr auto kKernels = KernelTable(
    Rows<ParseOldBroadcast, OldBinary<EqualOp, Comparable>>("Equal", 1),
    Rows<Binary<EqualOp, Comparable>>("Equal", 7, 11, 13, 19),
    Rows<ParseOldBroadcast, OldBinary<GreaterOp, Numbers>>("Greater", 1),
    Rows<Binary<GreaterOp, Numbers>>("Greater", 7, 9, 13),
    Rows<Binary<GreaterOrEqualOp, Numbers>>("GreaterOrEqual", 12, 16),
    Rows<ParseOldBroadcast, OldBinary<LessOp, Numbers>>("Less", 1),
    Rows<Binary<LessOp, Numbers>>("Less", 7, 9, 13),
    Rows<Binary<LessOrEqualOp, Numbers>>("LessOrEqual", 12, 16),
    Rows<ParseOldBroadcast, OldBinary<AndOp, Bool>>("And", 1), Rows<Binary<AndOp, Bool>>("And", 7),
    Rows<ParseOldBroadcast, OldBinary<OrOp, Bool>>("Or", 1), Rows<Binary<OrOp, Bool>>("Or", 7),
    Rows<ParseOldBroadcast, OldBinary<XorOp, Bool>>("Xor", 1), Rows<Binary<XorOp, Bool>>("Xor", 7),
    Rows<Where>("Where", 9, 16));

}  // namespace

absl::Span<const KernelDef> LogicKernels() { return kKernels; }

}  // namespace onnx_run
