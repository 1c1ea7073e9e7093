// Numbers the values of a plan into as few slots as their lives allow. Internal to runtime/.
#ifndef ONNX_RUN_RUNTIME_PLAN_SLOTS_H_
#define ONNX_RUN_RUNTIME_PLAN_SLOTS_H_

#include "runtime/plan.h"

namespace onnx_run {

// In: every value of the plan has a slot of its own, 0 .. value_count-1. Out: slots shared between
// values whose lives do not meet; deaths, dying bits, slot_count and final_deaths filled in. The
// captures of the subgraphs follow.
void AssignSlots(Plan& plan, int32_t value_count);

}  // namespace onnx_run

#endif  // ONNX_RUN_RUNTIME_PLAN_SLOTS_H_
