// Element-wise arithmetic of two inputs, with the standard's broadcasting.
#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/kernel_table.h"

namespace onnx_run {
namespace {

// Integers come as unsigned in WrappingNumbers: what overflows wraps.
struct AddOp {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(a + b);
  }
};
struct SubOp {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(a - b);
  }
};
struct MulOp {
  template <typename T>
  T operator()(T a, T b) const {
    // Not as promoted: int would overflow.
    if constexpr (std::is_same_v<T, uint16_t>) return static_cast<T>(uint32_t{a} * uint32_t{b});
    return static_cast<T>(a * b);
  }
};
// Toward zero. By zero, which the standard leaves open, integers give 0; the least integer by -1
// wraps.
struct DivOp {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      return a / b;
    } else {
      if (b == 0) return 0;
      if constexpr (std::is_signed_v<T>) {
        using Unsigned = std::make_unsigned_t<T>;
        if (b == -1) return static_cast<T>(Unsigned{0} - static_cast<Unsigned>(a));
      }
      return static_cast<T>(a / b);
    }
  }
};

// The remainder has the divisor's sign, or the dividend's with `fmod`. By zero: 0 for integers.
struct ModOp {
  bool fmod;
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      const T r = std::fmod(a, b);
      if (fmod || r == 0 || (r < 0) == (b < 0)) return r;
      return r + b;
    } else {
      if (b == 0) return 0;
      if constexpr (std::is_signed_v<T>) {
        if (b == -1) return 0;
        const T r = static_cast<T>(a % b);
        return fmod || r == 0 || (r < 0) == (b < 0) ? r : static_cast<T>(r + b);
      }
      return static_cast<T>(a % b);
    }
  }
};
absl::StatusOr<ModOp> ParseMod(const NodeInfo& node) { return ModOp{node.IntOr("fmod", 0) != 0}; }

struct BitwiseAndOp {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(a & b);
  }
};
struct BitwiseOrOp {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(a | b);
  }
};
struct BitwiseXorOp {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(a ^ b);
  }
};
// Bits that are shifted by the width or more are gone.
struct BitShiftOp {
  bool left;
  template <typename T>
  T operator()(T a, T by) const {
    constexpr T kWidth = 8 * sizeof(T);
    const T shift = by & (kWidth - 1);
    const T shifted = static_cast<T>(left ? uint64_t{a} << shift : uint64_t{a} >> shift);
    return by < kWidth ? shifted : T{0};
  }
};
absl::StatusOr<BitShiftOp> ParseBitShift(const NodeInfo& node) {
  ASSIGN_OR_RETURN(const std::string direction, node.String("direction"));
  if (direction != "LEFT" && direction != "RIGHT") {
    return node.BadAttribute("direction", absl::StrCat("\"", direction, "\""),
                             "\"LEFT\" or \"RIGHT\"");
  }
  return BitShiftOp{direction == "LEFT"};
}

constexpr auto kKernels =
    KernelTable(Rows<ParseOldBroadcast, OldBinary<AddOp, WrappingNumbers>>("Add", 1, 6),
                Rows<Binary<AddOp, WrappingNumbers>>("Add", 7, 13, 14),
                Rows<ParseOldBroadcast, OldBinary<SubOp, WrappingNumbers>>("Sub", 1, 6),
                Rows<Binary<SubOp, WrappingNumbers>>("Sub", 7, 13, 14),
                Rows<ParseOldBroadcast, OldBinary<MulOp, WrappingNumbers>>("Mul", 1, 6),
                Rows<Binary<MulOp, WrappingNumbers>>("Mul", 7, 13, 14),
                Rows<ParseOldBroadcast, OldBinary<DivOp, Numbers>>("Div", 1, 6),
                Rows<Binary<DivOp, Numbers>>("Div", 7, 13, 14),
                Rows<ParseMod, BinaryWith<ModOp, Numbers>>("Mod", 10, 13),
                Rows<Binary<BitwiseAndOp, UnsignedIntegers>>("BitwiseAnd", 18),
                Rows<Binary<BitwiseOrOp, UnsignedIntegers>>("BitwiseOr", 18),
                Rows<Binary<BitwiseXorOp, UnsignedIntegers>>("BitwiseXor", 18),
                Rows<ParseBitShift, BinaryWith<BitShiftOp, UnsignedIntegers>>("BitShift", 11));

}  // namespace

absl::Span<const KernelDef> BinaryKernels() { return kKernels; }

}  // namespace onnx_run
