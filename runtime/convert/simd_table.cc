// Conversions from elements of 8 bits or fewer by tables.
//
// A source byte (or nibble, or pair of bits) is an index into a table of results. The portable
// kernels look them up one by one. With AVX-512 VBMI a table of 256 bytes is four registers, and 64
// source bytes are looked up at a time, once for each byte ("plane") of the results.

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX2 | HWY_AVX3)
#define HWY_WANT_AVX3_DL 1
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/convert/simd_table.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include <cstring>

#include "runtime/convert/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace onnx_run::convert_internal {
namespace HWY_NAMESPACE {

#if HWY_TARGET != HWY_AVX3_DL
KernelFn FindTableLoop(TableUnit, int, ElementType, ElementType) { return nullptr; }
#else

HWY_INLINE __m512i Load(const uint8_t* p) { return _mm512_loadu_si512(p); }
HWY_INLINE void Store(uint8_t* p, __m512i v) { _mm512_storeu_si512(p, v); }

// A table of one byte for each of 256 codes.
struct Plane {
  __m512i part0, part1, part2, part3;
  HWY_INLINE void Read(const uint8_t* table) {
    part0 = Load(table);
    part1 = Load(table + 64);
    part2 = Load(table + 128);
    part3 = Load(table + 192);
  }
  HWY_INLINE __m512i Lookup(__m512i codes) const {
    const __m512i low = _mm512_permutex2var_epi8(part0, codes, part1);
    const __m512i high = _mm512_permutex2var_epi8(part2, codes, part3);
    return _mm512_mask_blend_epi8(_mm512_movepi8_mask(codes), low, high);
  }
};

// Planes lie one after the other, 256 bytes each.
template <int kResultBits>
void FromBytes(const uint8_t* from, uint8_t* to, size_t steps, const KernelArgs& args) {
  constexpr int kPlanes = kResultBits < 8 ? 1 : kResultBits / 8;
  Plane planes[kPlanes];
  for (int i = 0; i < kPlanes; ++i) planes[i].Read(args.table + 256 * i);
  for (; steps != 0; --steps, from += 64, to += 8 * kResultBits) {
    PrefetchAhead<64, 8 * kResultBits>(from, to);
    const __m512i codes = Load(from);
    if constexpr (kResultBits == 8) {
      Store(to, planes[0].Lookup(codes));
    } else if constexpr (kResultBits == 4) {
      const __m512i pairs =
          _mm512_maddubs_epi16(planes[0].Lookup(codes), _mm512_set1_epi16(0x1001));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_cvtepi16_epi8(pairs));
    } else if constexpr (kResultBits == 2) {
      const __m512i pairs =
          _mm512_maddubs_epi16(planes[0].Lookup(codes), _mm512_set1_epi16(0x0401));
      const __m512i quads = _mm512_madd_epi16(pairs, _mm512_set1_epi32(0x00100001));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_cvtepi32_epi8(quads));
    } else if constexpr (kResultBits == 16) {
      // So ordered that joining planes within 128 bit blocks gives consecutive results; so below.
      const __m512i ordered =
          _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7), codes);
      const __m512i p0 = planes[0].Lookup(ordered);
      const __m512i p1 = planes[1].Lookup(ordered);
      Store(to, _mm512_unpacklo_epi8(p0, p1));
      Store(to + 64, _mm512_unpackhi_epi8(p0, p1));
    } else if constexpr (kResultBits == 32) {
      const __m512i ordered = _mm512_permutexvar_epi32(
          _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15), codes);
      const __m512i p0 = planes[0].Lookup(ordered);
      const __m512i p1 = planes[1].Lookup(ordered);
      const __m512i p2 = planes[2].Lookup(ordered);
      const __m512i p3 = planes[3].Lookup(ordered);
      const __m512i low01 = _mm512_unpacklo_epi8(p0, p1);
      const __m512i high01 = _mm512_unpackhi_epi8(p0, p1);
      const __m512i low23 = _mm512_unpacklo_epi8(p2, p3);
      const __m512i high23 = _mm512_unpackhi_epi8(p2, p3);
      Store(to, _mm512_unpacklo_epi16(low01, low23));
      Store(to + 64, _mm512_unpackhi_epi16(low01, low23));
      Store(to + 128, _mm512_unpacklo_epi16(high01, high23));
      Store(to + 192, _mm512_unpackhi_epi16(high01, high23));
    }
  }
}

// 1 of bytes that are not zero under the mask: BOOL, of which all such bytes are true.
template <int kMask>
void ToOneOrZero(const uint8_t* from, uint8_t* to, size_t steps, const KernelArgs&) {
  for (; steps != 0; --steps, from += 64, to += 64) {
    PrefetchAhead<0, 64>(from, to);
    const __m512i masked = _mm512_and_si512(Load(from), _mm512_set1_epi8(kMask));
    Store(to, _mm512_min_epu8(masked, _mm512_set1_epi8(1)));
  }
}

KernelFn FindOneOrZero(ElementType from, ElementType to) {
  using E = ElementType;
  if (from == E::kBool) return to == E::kInt8 || to == E::kUint8 ? &ToOneOrZero<0xFF> : nullptr;
  if (to != E::kBool) return nullptr;
  switch (from) {
    case E::kFloat8e4m3fn:
    case E::kFloat8e5m2: return &ToOneOrZero<0x7F>;  // both zeros are false
    case E::kFloat8e4m3fnuz:
    case E::kFloat8e5m2fnuz:
    case E::kInt8:
    case E::kUint8: return &ToOneOrZero<0xFF>;
    default: return nullptr;
  }
}

// Results of 64 bits from integers of 8 bits: the unit extends them.
template <bool kSigned, bool kBool, bool kToDouble>
void ExtendBytes(const uint8_t* from, uint8_t* to, size_t steps, const KernelArgs&) {
  for (size_t n = 8 * steps; n != 0; --n, from += 8, to += 64) {
    PrefetchAhead<8, 64>(from, to);
    const __m128i codes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
    if constexpr (kToDouble) {
      const __m256i wide = kSigned ? _mm256_cvtepi8_epi32(codes) : _mm256_cvtepu8_epi32(codes);
      Store(to, _mm512_castpd_si512(_mm512_cvtepi32_pd(wide)));
    } else {
      __m512i wide = kSigned ? _mm512_cvtepi8_epi64(codes) : _mm512_cvtepu8_epi64(codes);
      if constexpr (kBool) wide = _mm512_min_epu64(wide, _mm512_set1_epi64(1));
      Store(to, wide);
    }
  }
}

// Results of 64 bits from small floats. The upper 16 bits of a DOUBLE hold every one of them; the
// table has DOUBLEs that become the right integers, and the unit converts them without regard to
// its state.
template <bool kToInteger>
void FromFloatBytes(const uint8_t* from, uint8_t* to, size_t steps, const KernelArgs& args) {
  Plane low;
  Plane high;
  low.Read(args.table + kTopWordsOffset);
  high.Read(args.table + kTopWordsOffset + 256);
  // Codes so that joining the planes gives words 0 2 4 6 1 3 5 7 of each eight: a qword of four
  // words is then in every second lane, and shifts bring each word to the top of its lane.
  alignas(64) uint8_t order[64];
  for (int i = 0; i < 64; ++i) {
    const int eight = i / 16 + i % 16 / 8 * 4;
    order[i] = static_cast<uint8_t>(8 * eight + i % 4 * 2 + i % 8 / 4);
  }
  const __m512i ordering = _mm512_load_si512(order);
  const __m512i shifts = _mm512_setr_epi64(48, 48, 32, 32, 16, 16, 0, 0);
  const __m512i top = _mm512_slli_epi64(_mm512_set1_epi64(0xFFFF), 48);
  for (; steps != 0; --steps, from += 64) {
    PrefetchAhead<64, 512>(from, to);
    const __m512i ordered = _mm512_permutexvar_epi8(ordering, Load(from));
    const __m512i p0 = low.Lookup(ordered);
    const __m512i p1 = high.Lookup(ordered);
    alignas(64) uint8_t words[128];
    _mm512_store_si512(words, _mm512_unpacklo_epi8(p0, p1));
    _mm512_store_si512(words + 64, _mm512_unpackhi_epi8(p0, p1));
    for (int i = 0; i < 8; ++i, to += 64) {
      const __m512i eight =
          _mm512_broadcast_i32x4(_mm_load_si128(reinterpret_cast<const __m128i*>(words + 16 * i)));
      const __m512i bits = _mm512_and_si512(_mm512_sllv_epi64(eight, shifts), top);
      if constexpr (kToInteger) {
        Store(to, _mm512_cvtt_roundpd_epi64(_mm512_castsi512_pd(bits), _MM_FROUND_NO_EXC));
      } else {
        Store(to, bits);
      }
    }
  }
}

// Bit offsets of an index in each byte of 64 bits: `lanes` indices of `bits` bits, the first at
// `first + 64 / lanes-th of the qword's own` place.
struct alignas(64) Offsets {
  uint8_t byte[64];
};
// Qword q of the vector, `per_qword` lanes in each, takes index (q % repeat) * per_qword + lane.
constexpr Offsets MakeOffsets(int per_qword, int repeat, int index_bits) {
  Offsets result = {};
  for (int q = 0; q < 8; ++q) {
    for (int b = 0; b < 8; ++b) {
      const int lane = b / (8 / per_qword);
      result.byte[8 * q + b] =
          static_cast<uint8_t>((q % repeat * per_qword + lane) * index_bits % 64);
    }
  }
  return result;
}

// Indices of 4 bits, in tables of 16 results. Only the low bits of an index count; where more than
// 4 do, the table repeats.
template <int kResultBits>
void FromNibbles(const uint8_t* from, uint8_t* to, size_t steps, const KernelArgs& args) {
  const __m512i table = Load(args.table);
  if constexpr (kResultBits == 8) {
    static constexpr Offsets kOffsets = MakeOffsets(8, 2, 4);
    const __m512i offsets = _mm512_load_si512(kOffsets.byte);
    const __m512i spread = _mm512_setr_epi64(0, 0, 1, 1, 2, 2, 3, 3);
    for (size_t n = 2 * steps; n != 0; --n, from += 32, to += 64) {
      PrefetchAhead<32, 64>(from, to);
      const __m512i source =
          _mm512_castsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
      const __m512i codes =
          _mm512_multishift_epi64_epi8(offsets, _mm512_permutexvar_epi64(spread, source));
      Store(to, _mm512_permutexvar_epi8(codes, table));
    }
  } else if constexpr (kResultBits == 16) {
    static constexpr Offsets kOffsets = MakeOffsets(4, 4, 4);
    const __m512i offsets = _mm512_load_si512(kOffsets.byte);
    const __m512i spread = _mm512_setr_epi64(0, 0, 0, 0, 1, 1, 1, 1);
    for (size_t n = 4 * steps; n != 0; --n, from += 16, to += 64) {
      PrefetchAhead<16, 64>(from, to);
      const __m512i source =
          _mm512_castsi128_si512(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
      const __m512i codes =
          _mm512_multishift_epi64_epi8(offsets, _mm512_permutexvar_epi64(spread, source));
      Store(to, _mm512_permutexvar_epi16(codes, table));
    }
  } else if constexpr (kResultBits == 32) {
    static constexpr Offsets kOffsets = MakeOffsets(2, 8, 4);
    const __m512i offsets = _mm512_load_si512(kOffsets.byte);
    for (size_t n = 8 * steps; n != 0; --n, from += 8, to += 64) {
      PrefetchAhead<8, 64>(from, to);
      long long source;  // NOLINT: what the intrinsic takes
      std::memcpy(&source, from, 8);
      const __m512i codes = _mm512_multishift_epi64_epi8(offsets, _mm512_set1_epi64(source));
      Store(to, _mm512_permutexvar_epi32(codes, table));
    }
  } else {
    static constexpr Offsets kOffsets = MakeOffsets(1, 8, 4);
    const __m512i offsets = _mm512_load_si512(kOffsets.byte);
    const __m512i table2 = Load(args.table + 64);
    for (size_t n = 16 * steps; n != 0; --n, from += 4, to += 64) {
      PrefetchAhead<4, 64>(from, to);
      int source;
      std::memcpy(&source, from, 4);
      const __m512i codes = _mm512_multishift_epi64_epi8(offsets, _mm512_set1_epi32(source));
      Store(to, _mm512_permutex2var_epi64(table, codes, table2));
    }
  }
}

// Indices of 2 bits, results of 64; the table repeats.
void FromPairs(const uint8_t* from, uint8_t* to, size_t steps, const KernelArgs& args) {
  static constexpr Offsets kOffsets = MakeOffsets(1, 8, 2);
  const __m512i offsets = _mm512_load_si512(kOffsets.byte);
  const __m512i table = Load(args.table);
  for (size_t n = 32 * steps; n != 0; --n, from += 2, to += 64) {
    PrefetchAhead<2, 64>(from, to);
    int16_t source;
    std::memcpy(&source, from, 2);
    const __m512i codes = _mm512_multishift_epi64_epi8(offsets, _mm512_set1_epi16(source));
    Store(to, _mm512_permutexvar_epi64(codes, table));
  }
}

KernelFn FindTableLoop(TableUnit unit, int result_bits, ElementType from, ElementType to) {
  switch (unit) {
    case TableUnit::kByte:
      if (KernelFn run = FindOneOrZero(from, to); run != nullptr) return run;
      switch (result_bits) {
        case 2: return &FromBytes<2>;
        case 4: return &FromBytes<4>;
        case 8: return &FromBytes<8>;
        case 16: return &FromBytes<16>;
        case 32: return &FromBytes<32>;
        default: break;
      }
      if (IsFloat(from))
        return to == ElementType::kDouble ? &FromFloatBytes<false> : &FromFloatBytes<true>;
      if (from == ElementType::kBool) {
        return to == ElementType::kDouble ? &FromFloatBytes<false>
                                          : &ExtendBytes<false, true, false>;
      }
      if (from == ElementType::kInt8) {
        return to == ElementType::kDouble ? &ExtendBytes<true, false, true>
                                          : &ExtendBytes<true, false, false>;
      }
      return to == ElementType::kDouble ? &ExtendBytes<false, false, true>
                                        : &ExtendBytes<false, false, false>;
    case TableUnit::kNibble:
      switch (result_bits) {
        case 8: return &FromNibbles<8>;
        case 16: return &FromNibbles<16>;
        case 32: return &FromNibbles<32>;
        default: return &FromNibbles<64>;
      }
    case TableUnit::kPair: break;
  }
  return &FromPairs;
}

#endif  // HWY_AVX3_DL

}  // namespace HWY_NAMESPACE
}  // namespace onnx_run::convert_internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace onnx_run::convert_internal {
namespace {

// Planes as above, read one byte at a time; the compiler knows the loops well enough.
template <int kResultBits>
void PortableFromBytes(const uint8_t* from, uint8_t* to, size_t steps, const KernelArgs& args) {
  const uint8_t* const table = args.table;
  // Behind the planes the same table lies result by result.
  const uint8_t* const results = table + 256 * (kResultBits / 8);
  for (size_t i = 0; i < steps * 64; ++i) {
    if constexpr (kResultBits == 2) {
      if (i % 4 == 0) {
        to[i / 4] = static_cast<uint8_t>(table[from[i]] | table[from[i + 1]] << 2 |
                                         table[from[i + 2]] << 4 | table[from[i + 3]] << 6);
      }
    } else if constexpr (kResultBits == 4) {
      if (i % 2 == 0) to[i / 2] = static_cast<uint8_t>(table[from[i]] | table[from[i + 1]] << 4);
    } else if constexpr (kResultBits == 8) {
      to[i] = table[from[i]];
    } else {
      constexpr size_t kBytes = kResultBits / 8;
      std::memcpy(to + kBytes * i, results + kBytes * from[i], kBytes);
    }
  }
}

template <int kUnitBits, int kResultBits>
void PortableFromUnits(const uint8_t* from, uint8_t* to, size_t steps, const KernelArgs& args) {
  constexpr size_t kBytes = kResultBits / 8;
  for (size_t i = 0; i < steps * 64; ++i) {
    for (int shift = 0; shift < 8; shift += kUnitBits) {
      const size_t code = from[i] >> shift & ((1U << kUnitBits) - 1);
      std::memcpy(to, args.table + kBytes * code, kBytes);
      to += kBytes;
    }
  }
}

KernelFn PortableTableLoop(TableUnit unit, int result_bits) {
  switch (unit) {
    case TableUnit::kByte:
      switch (result_bits) {
        case 2: return &PortableFromBytes<2>;
        case 4: return &PortableFromBytes<4>;
        case 8: return &PortableFromBytes<8>;
        case 16: return &PortableFromBytes<16>;
        case 32: return &PortableFromBytes<32>;
        default: return &PortableFromBytes<64>;
      }
    case TableUnit::kNibble:
      switch (result_bits) {
        case 8: return &PortableFromUnits<4, 8>;
        case 16: return &PortableFromUnits<4, 16>;
        case 32: return &PortableFromUnits<4, 32>;
        default: return &PortableFromUnits<4, 64>;
      }
    case TableUnit::kPair: break;
  }
  return &PortableFromUnits<2, 64>;
}

}  // namespace

HWY_EXPORT(FindTableLoop);

TablePlan FindTableKernel(ElementType from, ElementType to) {
  const int from_bits = BitsOf(from);
  const int to_bits = BitsOf(to);
  TablePlan plan;
  // The smallest unit whose results are whole bytes, but no two bits where four do.
  if (from_bits == 8 || to_bits <= from_bits) {
    plan.unit = TableUnit::kByte;
    plan.unit_bits = 8;
  } else if (from_bits == 2 && to_bits == 64) {
    plan.unit = TableUnit::kPair;
    plan.unit_bits = 2;
  } else {
    plan.unit = TableUnit::kNibble;
    plan.unit_bits = 4;
  }
  plan.result_bits = plan.unit_bits / from_bits * to_bits;
  KernelFn run = HWY_DYNAMIC_DISPATCH(FindTableLoop)(plan.unit, plan.result_bits, from, to);
  if (run == nullptr) run = PortableTableLoop(plan.unit, plan.result_bits);
  plan.kernel = {run, 64 * 8 / from_bits};
  return plan;
}

}  // namespace onnx_run::convert_internal
#endif  // HWY_ONCE
