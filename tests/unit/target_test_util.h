// Tests of code that Highway compiles for several instruction sets: run with each that the machine
// has.
#ifndef ONNX_RUN_TESTS_UNIT_TARGET_TEST_UTIL_H_
#define ONNX_RUN_TESTS_UNIT_TARGET_TEST_UTIL_H_

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "hwy/targets.h"
#include "runtime/convert/kernels.h"

namespace onnx_run {

inline std::vector<int64_t> Targets() {
  convert_internal::ForceTargetForTest(0);
  std::vector<int64_t> targets;
  const int64_t supported = hwy::SupportedTargets();
  for (int bit = 0; bit < 62; ++bit) {
    if ((supported >> bit & 1) != 0) targets.push_back(int64_t{1} << bit);
  }
  return targets;
}

// Runs fn for every target, with that target in force.
template <typename Fn>
void ForEachTarget(Fn fn) {
  for (const int64_t target : Targets()) {
    convert_internal::ForceTargetForTest(target);
    SCOPED_TRACE(hwy::TargetName(target));
    fn();
  }
  convert_internal::ForceTargetForTest(0);
}

}  // namespace onnx_run

#endif  // ONNX_RUN_TESTS_UNIT_TARGET_TEST_UTIL_H_
