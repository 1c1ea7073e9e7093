// Highway's choice of an instruction set, for x86-64 with Highway 1.0, in place of the shared
// library libhwy.so, Debian's only one.
//
// libhwy.so times the processor's clock when it is loaded (its nanobenchmark part), which takes
// about 4 ms: two thirds of a whole run of onnx-run on a small model. Of all that it holds, code
// with dynamic dispatch calls the functions below. CMake leaves this file out where Highway has a
// static library or another version, or the machine another architecture.

#include "hwy/targets.h"

#include <cpuid.h>

#include <atomic>
#include <cstdint>

namespace hwy {
namespace {

// What __builtin_cpu_supports does not know in all compilers; each is used only together with a
// feature whose support by the operating system it has checked.
struct MoreFeatures {
  bool f16c = false, lzcnt = false, vaes = false;
  MoreFeatures() {
    unsigned a, b, c, d;
    if (__get_cpuid(1, &a, &b, &c, &d)) f16c = (c >> 29) & 1;
    if (__get_cpuid(0x80000001, &a, &b, &c, &d)) lzcnt = (c >> 5) & 1;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) vaes = (c >> 9) & 1;
  }
};

// The features are those that the code for each target is compiled with (hwy/ops/set_macros-inl.h).
int64_t DetectTargets() {
  const MoreFeatures more;
  __builtin_cpu_init();
  int64_t targets = HWY_SCALAR | HWY_EMU128;
  if (!__builtin_cpu_supports("ssse3")) return targets;
  targets |= HWY_SSSE3;
  if (!__builtin_cpu_supports("sse4.1") || !__builtin_cpu_supports("sse4.2") ||
      !__builtin_cpu_supports("aes") || !__builtin_cpu_supports("pclmul")) {
    return targets;
  }
  targets |= HWY_SSE4;
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
      !__builtin_cpu_supports("bmi") || !__builtin_cpu_supports("bmi2") || !more.f16c ||
      !more.lzcnt) {
    return targets;
  }
  targets |= HWY_AVX2;
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512vl") ||
      !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512bw")) {
    return targets;
  }
  targets |= HWY_AVX3;
  if (!__builtin_cpu_supports("avx512vnni") || !__builtin_cpu_supports("avx512vbmi") ||
      !__builtin_cpu_supports("avx512vbmi2") || !__builtin_cpu_supports("avx512bitalg") ||
      !__builtin_cpu_supports("avx512vpopcntdq") || !__builtin_cpu_supports("vpclmulqdq") ||
      !__builtin_cpu_supports("gfni") || !more.vaes) {
    return targets;
  }
  return targets | HWY_AVX3_DL;
}

std::atomic<int64_t> disabled_targets{0};
std::atomic<int64_t> test_targets{0};

}  // namespace

int64_t SupportedTargets() {
  static const int64_t detected = DetectTargets();
  const int64_t test = test_targets.load(std::memory_order_relaxed);
  const int64_t targets =
      (test != 0 ? test : detected) & ~disabled_targets.load(std::memory_order_relaxed);
  return targets != 0 ? targets : HWY_STATIC_TARGET;
}

void DisableTargets(int64_t targets) {
  disabled_targets.store(targets & ~(HWY_SCALAR | HWY_EMU128), std::memory_order_relaxed);
  GetChosenTarget().DeInit();  // chosen again at the next call
}

void SetSupportedTargetsForTest(int64_t targets) {
  test_targets.store(targets, std::memory_order_relaxed);
  GetChosenTarget().DeInit();
}

ChosenTarget& GetChosenTarget() {
  static ChosenTarget chosen;
  return chosen;
}

// Highway's own assertions, which only builds without NDEBUG have, end here: a fault of ours.
void Abort(const char* /*file*/, int /*line*/, const char* /*format*/, ...) { __builtin_trap(); }

}  // namespace hwy
