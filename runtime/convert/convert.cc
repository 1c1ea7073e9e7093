#include "runtime/convert/convert.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cfenv>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hwy/targets.h"
#include "runtime/convert/formats.h"
#include "runtime/convert/kernels.h"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace onnx_run {
namespace {

using convert_internal::DecodeNumber;
using convert_internal::EncodeNumber;
using convert_internal::ExactNumber;
using convert_internal::LowMask;

// Elements decoded at a time; a multiple of the 4 elements of a byte.
constexpr int64_t kBlock = 256;

bool IsNumeric(ElementType type) {
  switch (KindOf(type)) {
    case ElementKind::kFloat:
    case ElementKind::kSigned:
    case ElementKind::kUnsigned:
    case ElementKind::kBool: return true;
    case ElementKind::kNone:
    case ElementKind::kString:
    case ElementKind::kComplex: break;
  }
  return false;
}

template <int kBits>
uint64_t LoadBits(const uint8_t* data, int64_t index) {
  if constexpr (kBits < 8) {
    constexpr int kPerByte = 8 / kBits;
    return static_cast<uint64_t>(data[index / kPerByte]) >> (index % kPerByte * kBits) &
           LowMask(kBits);
  } else {
    uint64_t code = 0;
    std::memcpy(&code, data + index * (kBits / 8), kBits / 8);
    return code;
  }
}

template <int kBits>
void StoreBits(uint8_t* data, int64_t index, uint64_t code) {
  if constexpr (kBits < 8) {
    constexpr int kPerByte = 8 / kBits;
    const int shift = static_cast<int>(index % kPerByte) * kBits;
    uint8_t& byte = data[index / kPerByte];
    byte = static_cast<uint8_t>((byte & ~(LowMask(kBits) << shift)) |
                                ((code & LowMask(kBits)) << shift));
  } else {
    std::memcpy(data + index * (kBits / 8), &code, kBits / 8);
  }
}

// Calls fn with the element width as a compile-time constant.
template <typename Fn>
auto VisitBits(int bits, Fn fn) {
  switch (bits) {
    case 2: return fn(std::integral_constant<int, 2>());
    case 4: return fn(std::integral_constant<int, 4>());
    case 8: return fn(std::integral_constant<int, 8>());
    case 16: return fn(std::integral_constant<int, 16>());
    case 32: return fn(std::integral_constant<int, 32>());
    default: return fn(std::integral_constant<int, 64>());
  }
}

using DecodeFn = void (*)(const uint8_t* from, int64_t begin, int64_t n, ExactNumber* out);
using EncodeFn = void (*)(const ExactNumber* in, uint8_t* to, int64_t begin, int64_t n,
                          const ConvertOptions& options);

template <int kType>
void DecodeBlock(const uint8_t* from, int64_t begin, int64_t n, ExactNumber* out) {
  constexpr const ElementTypeInfo& info = kElementTypeTable[kType];
  for (int64_t i = 0; i < n; ++i) out[i] = DecodeNumber(info, LoadBits<info.bits>(from, begin + i));
}

template <int kType>
void EncodeBlock(const ExactNumber* in, uint8_t* to, int64_t begin, int64_t n,
                 const ConvertOptions& options) {
  constexpr const ElementTypeInfo& info = kElementTypeTable[kType];
  if constexpr (info.bits < 8) {  // `begin` starts a byte
    constexpr int kPerByte = 8 / info.bits;
    std::memset(to + begin / kPerByte, 0, static_cast<size_t>((n + kPerByte - 1) / kPerByte));
  }
  for (int64_t i = 0; i < n; ++i) {
    StoreBits<info.bits>(to, begin + i, EncodeNumber(info, in[i], options));
  }
}

constexpr bool IsNumericRow(const ElementTypeInfo& info) {
  return info.kind == ElementKind::kFloat || info.kind == ElementKind::kSigned ||
         info.kind == ElementKind::kUnsigned || info.kind == ElementKind::kBool;
}

template <int kType>
constexpr DecodeFn DecodeBlockOf() {
  if constexpr (IsNumericRow(kElementTypeTable[kType])) return &DecodeBlock<kType>;
  return nullptr;
}
template <int kType>
constexpr EncodeFn EncodeBlockOf() {
  if constexpr (IsNumericRow(kElementTypeTable[kType])) return &EncodeBlock<kType>;
  return nullptr;
}
template <int... kTypes>
constexpr std::array<DecodeFn, sizeof...(kTypes)> MakeDecoders(
    std::integer_sequence<int, kTypes...>) {
  return {DecodeBlockOf<kTypes>()...};
}
template <int... kTypes>
constexpr std::array<EncodeFn, sizeof...(kTypes)> MakeEncoders(
    std::integer_sequence<int, kTypes...>) {
  return {EncodeBlockOf<kTypes>()...};
}
constexpr auto kDecoders = MakeDecoders(std::make_integer_sequence<int, kElementTypeCount>());
constexpr auto kEncoders = MakeEncoders(std::make_integer_sequence<int, kElementTypeCount>());

absl::Status CheckTypes(ElementType from_type, ElementType to_type, int64_t count) {
  for (const ElementType type : {from_type, to_type}) {
    if (!IsNumeric(type)) {
      return absl::InvalidArgumentError(
          absl::StrCat("cannot convert from ", TypeName(from_type), " to ", TypeName(to_type), ": ",
                       TypeName(type), " elements are not packed numbers"));
    }
  }
  if (count < 0) {
    return absl::InvalidArgumentError(absl::StrCat("cannot convert ", count, " elements"));
  }
  return absl::OkStatus();
}

// Elements of one type to the same type: their bytes, NaN payloads included.
void CopyElements(const void* from, void* to, ElementType type, int64_t count) {
  const int64_t bytes = *PackedBytes(type, count);
  if (bytes == 0) return;
  if (to != from) std::memcpy(to, from, static_cast<size_t>(bytes));
  const int64_t last_bits = count * BitsOf(type) % 8;  // count < 2^62 here, or bits >= 8
  if (IsSubByte(type) && last_bits != 0) {
    static_cast<uint8_t*>(to)[bytes - 1] &=
        static_cast<uint8_t>(LowMask(static_cast<int>(last_bits)));
  }
}

}  // namespace

absl::Status ConvertGeneric(const void* from, ElementType from_type, void* to, ElementType to_type,
                            int64_t count, const ConvertOptions& options) {
  if (absl::Status status = CheckTypes(from_type, to_type, count); !status.ok()) return status;
  if (from_type == to_type) {
    CopyElements(from, to, from_type, count);
    return absl::OkStatus();
  }
  const DecodeFn decode = kDecoders[static_cast<size_t>(from_type)];
  const EncodeFn encode = kEncoders[static_cast<size_t>(to_type)];
  ExactNumber block[kBlock];
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t n = std::min(kBlock, count - begin);
    decode(static_cast<const uint8_t*>(from), begin, n, block);
    encode(block, static_cast<uint8_t*>(to), begin, n, options);
  }
  return absl::OkStatus();
}

namespace convert_internal {
namespace {

// While in scope the thread's vector unit rounds to nearest, flushes nothing to zero and does not
// trap; afterwards its flags are as before.
class DefaultVectorState {
#if defined(__SSE2__)
 public:
  DefaultVectorState() : saved_(_mm_getcsr()) { _mm_setcsr(0x1F80); }
  ~DefaultVectorState() { _mm_setcsr(saved_); }

 private:
  unsigned saved_;
#else
 public:
  DefaultVectorState() {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultVectorState() { std::fesetenv(&saved_); }

 private:
  std::fenv_t saved_;
#endif
 public:
  DefaultVectorState(const DefaultVectorState&) = delete;
  DefaultVectorState& operator=(const DefaultVectorState&) = delete;
};

std::atomic<bool> force_generic{false};

// `count` elements by a kernel; the last, partial step in buffers of its own.
void RunKernel(const Kernel& kernel, const KernelArgs& args, const uint8_t* from, int from_bits,
               uint8_t* to, int to_bits, int64_t count) {
  const int64_t steps = count / kernel.step;
  const auto rest = static_cast<int>(count % kernel.step);
  if (steps != 0) kernel.run(from, to, static_cast<size_t>(steps), args);
  if (rest == 0) return;
  constexpr int kMaxBytes =
      8;  // per element; wide destinations of packed sources have the longest steps
  alignas(64) uint8_t from_step[512];
  alignas(64) uint8_t to_step[kMaxStep * kMaxBytes];
  const int64_t done = steps * kernel.step;
  const auto rest_bytes = static_cast<size_t>((rest * from_bits + 7) / 8);
  std::memcpy(from_step, from + done * from_bits / 8, rest_bytes);
  std::memset(from_step + rest_bytes, 0,
              static_cast<size_t>(kernel.step * from_bits / 8) - rest_bytes);
  kernel.run(from_step, to_step, 1, args);
  uint8_t* const last = to + done * to_bits / 8;
  const auto result_bytes = static_cast<size_t>((rest * to_bits + 7) / 8);
  std::memcpy(last, to_step, result_bytes);
  if (const int used = rest * to_bits % 8; used != 0)
    last[result_bytes - 1] &= static_cast<uint8_t>(LowMask(used));
}

uint32_t FloatBits(uint64_t code, ElementType type) {
  return static_cast<uint32_t>(ConvertCode(code, type, ElementType::kFloat));
}

KernelArgs MakeArgs(ElementType to, const ConvertOptions& options) {
  KernelArgs args;
  const ElementTypeInfo& info = InfoOf(to);
  const FloatLayout& layout = info.layout;
  if (layout.style == FloatStyle::kE8m0) {
    switch (options.round_mode) {
      case RoundMode::kUp: args.round_up = 0x007FFFFF; break;
      case RoundMode::kNearest: args.round_up = 0x00400000; break;
      case RoundMode::kDown: break;
    }
    // Zero is good only when saturating; -0, as kernels take it, is zero.
    args.bad_below = options.saturate ? 0 : 0x00400000;
    args.bad_range = 0x7F800000 - args.bad_below;
    args.max_code = options.saturate ? 0xFE : 0xFF;
    return args;
  }
  if (info.kind != ElementKind::kFloat || info.bits > 8) return args;
  const int mantissa = layout.mantissa_bits;
  const uint32_t greatest = FloatBits(MaxFiniteCode(info), to);
  args.max_bits = greatest;
  args.special_above = 0x7F800000;
  args.special_code = static_cast<uint32_t>(NanCode(info, {.number_class = NumberClass::kNan}));
  args.min_exponent_bits = static_cast<uint32_t>(128 - layout.bias) << 23;
  args.code_bias = static_cast<uint32_t>(128 - layout.bias) << mantissa;
  if (!options.saturate && info.bits == 8) {
    if (layout.style == FloatStyle::kFnuz) {
      args.special_above = greatest + (1U << (22 - mantissa)) - 1;  // the tie above goes over
    } else {
      args.max_bits = greatest + (1U << (23 - mantissa));  // where the code is infinity's or NaN's
    }
  }
  return args;
}

// --- Tables of the narrow sources
// ----------------------------------------------------------------------

// What each of the 2^unit_bits units becomes: for bytes plane by plane, then result by result; else
// result by result, repeated up to 128 bytes.
std::unique_ptr<uint8_t[]> MakeTable(const TablePlan& plan, ElementType from, ElementType to,
                                     const ConvertOptions& options) {
  uint8_t units[256];
  for (int i = 0; i < 256; ++i) units[i] = static_cast<uint8_t>(i);
  if (plan.unit == TableUnit::kNibble) {
    for (int i = 0; i < 8; ++i) units[i] = static_cast<uint8_t>(2 * i | (2 * i + 1) << 4);
  } else if (plan.unit == TableUnit::kPair) {
    units[0] = 0xE4;
  }
  const int count = 1 << plan.unit_bits;
  const int result_bytes = plan.result_bits / 8;
  uint8_t results[256 * 8];
  ConvertGeneric(units, from, results, to, count * plan.unit_bits / BitsOf(from), options)
      .IgnoreError();
  if (plan.unit != TableUnit::kByte) {
    auto table = std::make_unique<uint8_t[]>(128);
    for (int i = 0; i < 128; ++i)
      table[static_cast<size_t>(i)] = results[i % (count * result_bytes)];
    return table;
  }
  if (plan.result_bits < 8) {
    auto table = std::make_unique<uint8_t[]>(256);
    const int per_byte = 8 / plan.result_bits;
    for (int i = 0; i < 256; ++i) {
      table[static_cast<size_t>(i)] = static_cast<uint8_t>(
          results[i / per_byte] >> (i % per_byte * plan.result_bits) & LowMask(plan.result_bits));
    }
    return table;
  }
  auto table = std::make_unique<uint8_t[]>(static_cast<size_t>(2 * 256 * result_bytes + 512));
  for (int i = 0; i < 256 * result_bytes; ++i) {
    table[static_cast<size_t>(i % result_bytes * 256 + i / result_bytes)] = results[i];
    table[static_cast<size_t>(256 * result_bytes + i)] = results[i];
  }
  if (result_bytes == 8) {
    for (int i = 0; i < 256; ++i) {
      uint64_t code = LoadCode(results, to, i);
      // UINT64 as INT64: 2^63 turns into -2^63, whose bits as an integer are the same.
      if (to != ElementType::kDouble)
        code = ConvertCode(code, ElementType::kInt64, ElementType::kDouble);
      table[static_cast<size_t>(kTopWordsOffset + i)] = static_cast<uint8_t>(code >> 48);
      table[static_cast<size_t>(kTopWordsOffset + 256 + i)] = static_cast<uint8_t>(code >> 56);
    }
  }
  return table;
}

bool HasIntegerTable(ElementType from, ElementType to) {
  return IsInteger(from) && BitsOf(from) >= 16 &&
         (to == ElementType::kFloat8e4m3fn || to == ElementType::kFloat8e4m3fnuz);
}
std::unique_ptr<uint8_t[]> MakeIntegerTable(ElementType to, const ConvertOptions& options) {
  auto table = std::make_unique<uint8_t[]>(256);
  for (uint64_t i = 0; i < 256; ++i) {
    const uint64_t number = i < 128 ? i : 4 * (i - 128);
    table[i] = static_cast<uint8_t>(ConvertCode(number, ElementType::kUint16, to, options));
  }
  return table;
}

constexpr size_t kOptionCount = 6;
size_t OptionIndex(ElementType to, const ConvertOptions& options) {
  if (!IsFloat(to) || BitsOf(to) != 8) return 0;
  const size_t saturate = options.saturate ? 1 : 0;
  if (to != ElementType::kFloat8e8m0) return saturate;
  return static_cast<size_t>(options.round_mode) * 2 + saturate;
}

// Made when first wanted and kept: some 600 KB if ever all are used. `plan` is read for sources of
// 8 bits or fewer.
const uint8_t* FindTable(const TablePlan& plan, ElementType from, ElementType to,
                         const ConvertOptions& options) {
  static std::atomic<uint8_t*> tables[kElementTypeCount][kElementTypeCount][kOptionCount];
  std::atomic<uint8_t*>& slot =
      tables[static_cast<size_t>(from)][static_cast<size_t>(to)][OptionIndex(to, options)];
  uint8_t* table = slot.load(std::memory_order_acquire);
  if (table != nullptr) return table;
  std::unique_ptr<uint8_t[]> made =
      BitsOf(from) <= 8 ? MakeTable(plan, from, to, options) : MakeIntegerTable(to, options);
  if (slot.compare_exchange_strong(table, made.get(), std::memory_order_acq_rel))
    return made.release();
  return table;  // another thread was quicker
}

// Whether it was done; numeric types, not the same.
bool ConvertFast(const uint8_t* from, ElementType from_type, uint8_t* to, ElementType to_type,
                 int64_t count, const ConvertOptions& options) {
  if (force_generic.load(std::memory_order_relaxed)) return false;
  const int from_bits = BitsOf(from_type);
  const int to_bits = BitsOf(to_type);
  if (from_bits == to_bits && IsInteger(from_type) && IsInteger(to_type)) {
    CopyElements(from, to, to_type, count);
    return true;
  }
  if (from_bits <= 8) {
    const TablePlan plan = FindTableKernel(from_type, to_type);
    const KernelArgs args = {.table = FindTable(plan, from_type, to_type, options)};
    RunKernel(plan.kernel, args, from, from_bits, to, to_bits, count);
    return true;
  }
  const Kernel kernel = FindArithmeticKernel(from_type, to_type);
  if (kernel.run == nullptr) return false;
  KernelArgs args = MakeArgs(to_type, options);
  if (HasIntegerTable(from_type, to_type)) args.table = FindTable({}, from_type, to_type, options);
  const DefaultVectorState state;
  RunKernel(kernel, args, from, from_bits, to, to_bits, count);
  return true;
}

}  // namespace

void ForceGenericForTest(bool force) { force_generic = force; }

void ForceTargetForTest(int64_t target) {
  hwy::SetSupportedTargetsForTest(target);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace convert_internal

absl::Status Convert(const void* from, ElementType from_type, void* to, ElementType to_type,
                     int64_t count, const ConvertOptions& options) {
  if (absl::Status status = CheckTypes(from_type, to_type, count); !status.ok()) return status;
  if (from_type == to_type) {
    CopyElements(from, to, from_type, count);
    return absl::OkStatus();
  }
  if (count > 0 &&
      convert_internal::ConvertFast(static_cast<const uint8_t*>(from), from_type,
                                    static_cast<uint8_t*>(to), to_type, count, options)) {
    return absl::OkStatus();
  }
  return ConvertGeneric(from, from_type, to, to_type, count, options);
}

absl::Status ConvertParallel(const void* from, ElementType from_type, void* to, ElementType to_type,
                             int64_t count, const ConvertOptions& options,
                             ParallelFor parallel_for) {
  if (absl::Status status = CheckTypes(from_type, to_type, count); !status.ok()) return status;
  // Starting other threads costs as much as moving some hundreds of kilobytes.
  constexpr int64_t kMinBits = int64_t{8} << 20;
  const int64_t bits = BitsOf(from_type) + BitsOf(to_type);
  if (count < kMinBits / bits) return Convert(from, from_type, to, to_type, count, options);
  // Whole cache lines of the narrowest type, so that parts share neither bytes nor lines.
  const int64_t grain = std::max<int64_t>(1 << 15, kMinBits / 8 / bits / 256 * 256);
  parallel_for(count, grain, [&](int64_t begin, int64_t end) {
    const auto* source = static_cast<const uint8_t*>(from) + begin * BitsOf(from_type) / 8;
    auto* destination = static_cast<uint8_t*>(to) + begin * BitsOf(to_type) / 8;
    Convert(source, from_type, destination, to_type, end - begin, options).IgnoreError();
  });
  return absl::OkStatus();
}

uint64_t ConvertCode(uint64_t code, ElementType from_type, ElementType to_type,
                     const ConvertOptions& options) {
  if (!IsNumeric(from_type) || !IsNumeric(to_type)) return 0;
  if (from_type == to_type) return code & LowMask(BitsOf(to_type));
  return EncodeNumber(InfoOf(to_type), DecodeNumber(InfoOf(from_type), code), options);
}

uint64_t LoadCode(const void* data, ElementType type, int64_t index) {
  return VisitBits(BitsOf(type), [&](auto bits) {
    return LoadBits<bits()>(static_cast<const uint8_t*>(data), index);
  });
}

void StoreCode(void* data, ElementType type, int64_t index, uint64_t code) {
  VisitBits(BitsOf(type),
            [&](auto bits) { StoreBits<bits()>(static_cast<uint8_t*>(data), index, code); });
}

double CodeToDouble(uint64_t code, ElementType type) {
  return std::bit_cast<double>(ConvertCode(code, type, ElementType::kDouble));
}

uint64_t CodeFromDouble(double value, ElementType type, const ConvertOptions& options) {
  return ConvertCode(std::bit_cast<uint64_t>(value), ElementType::kDouble, type, options);
}

}  // namespace onnx_run
