#include "runtime/plan_slots.h"

#include <algorithm>
#include <vector>

namespace onnx_run {
namespace {

constexpr int32_t kNever = -1;
constexpr int32_t kAtEnd = std::numeric_limits<int32_t>::max();

}  // namespace

void AssignSlots(Plan& plan, int32_t value_count) {
  std::vector<int32_t> last_use(value_count, kNever);
  for (int32_t s = 0; s < static_cast<int32_t>(plan.steps.size()); ++s) {
    const Step& step = plan.steps[s];
    const auto use = [&](ValueRef ref) {
      if (ref.is_slot()) last_use[ref.slot()] = s;
    };
    for (uint32_t i = 0; i < step.input_count; ++i) use(plan.refs[step.first_input + i]);
    if (step.details != nullptr) {
      for (const auto& subgraph : step.details->subgraphs) {
        for (ValueRef ref : subgraph->captures) use(ref);
      }
    }
  }
  for (const Plan::Output& output : plan.outputs) {
    if (output.ref.is_slot()) last_use[output.ref.slot()] = kAtEnd;
  }

  std::vector<int32_t> slot_of(value_count, kNever);
  std::vector<int32_t> free;
  const auto allocate = [&] {
    if (!free.empty()) {
      const int32_t slot = free.back();
      free.pop_back();
      return slot;
    }
    return plan.slot_count++;
  };
  for (Plan::Input& input : plan.inputs) {
    const int32_t value = input.slot;
    if (value < 0) continue;
    if (last_use[value] == kNever) {
      input.slot = -1;
      continue;
    }
    input.slot = slot_of[value] = allocate();
    if (last_use[value] == kAtEnd) plan.final_deaths.push_back(input.slot);
  }
  // Values that die at a step, collected as the step is met: its inputs and captures, and outputs
  // that nobody reads.
  for (int32_t s = 0; s < static_cast<int32_t>(plan.steps.size()); ++s) {
    Step& step = plan.steps[s];
    std::vector<int32_t> dead;  // values
    const auto dies = [&](int32_t value) {
      if (last_use[value] == s && std::find(dead.begin(), dead.end(), value) == dead.end()) {
        dead.push_back(value);
      }
    };
    std::vector<int32_t> captured;
    if (step.details != nullptr) {
      for (auto& subgraph : step.details->subgraphs) {
        for (ValueRef& ref : subgraph->captures) {
          if (!ref.is_slot()) continue;
          dies(ref.slot());
          captured.push_back(ref.slot());
          ref = ValueRef::Slot(slot_of[ref.slot()]);
        }
      }
    }
    for (uint32_t i = 0; i < step.input_count; ++i) {
      const ValueRef ref = plan.refs[step.first_input + i];
      if (!ref.is_slot()) continue;
      const int32_t value = ref.slot();
      dies(value);
      if (i >= 64 || last_use[value] != s) continue;
      int times = static_cast<int>(std::count(captured.begin(), captured.end(), value));
      for (uint32_t j = 0; j < step.input_count; ++j) {
        const ValueRef other = plan.refs[step.first_input + j];
        times += other.is_slot() && other.slot() == value ? 1 : 0;
      }
      if (times == 1) step.dying |= uint64_t{1} << i;
    }
    for (uint32_t i = 0; i < step.input_count; ++i) {
      ValueRef& ref = plan.refs[step.first_input + i];
      if (ref.is_slot()) ref = ValueRef::Slot(slot_of[ref.slot()]);
    }
    for (uint32_t i = 0; i < step.output_count; ++i) {
      int32_t& output = plan.output_slots[step.first_output + i];
      if (output < 0) continue;
      const int32_t value = output;
      output = slot_of[value] = allocate();
      if (last_use[value] == kAtEnd) plan.final_deaths.push_back(output);
      if (last_use[value] == kNever) dead.push_back(value);
    }
    step.first_death = static_cast<uint32_t>(plan.deaths.size());
    for (int32_t value : dead) {
      plan.deaths.push_back(slot_of[value]);
      free.push_back(slot_of[value]);
    }
    step.death_count = static_cast<uint32_t>(dead.size());
  }
  std::vector<bool> taken(static_cast<size_t>(plan.slot_count), false);
  for (size_t i = plan.outputs.size(); i-- > 0;) {
    Plan::Output& output = plan.outputs[i];
    if (!output.ref.is_slot()) continue;
    const int32_t slot = slot_of[output.ref.slot()];
    output.ref = ValueRef::Slot(slot);
    output.last = !taken[static_cast<size_t>(slot)];
    taken[static_cast<size_t>(slot)] = true;
  }
  // The last output of a slot takes its value away.
  std::erase_if(plan.final_deaths, [&](int32_t slot) { return taken[static_cast<size_t>(slot)]; });
}

}  // namespace onnx_run
