// Plan: a graph, subgraph or function body made executable. Internal to runtime/.
//
// Names are gone: every value has a numbered slot in the frame of one run, is a constant of the
// plan, or is captured from the frame of the enclosing graph. Nothing is looked up while running.
#ifndef ONNX_RUN_RUNTIME_PLAN_H_
#define ONNX_RUN_RUNTIME_PLAN_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/kernel.h"
#include "runtime/session.h"

namespace onnx_run {

struct Plan;

// Where a value is found.
class ValueRef {
 public:
  static ValueRef Absent() { return ValueRef(std::numeric_limits<int32_t>::min()); }
  static ValueRef Slot(int32_t i) { return ValueRef(i); }
  static ValueRef Constant(int32_t i) { return ValueRef(-1 - i); }
  static ValueRef Capture(int32_t i) { return ValueRef(kCaptures - i); }
  ValueRef() : code_(std::numeric_limits<int32_t>::min()) {}

  bool is_absent() const { return code_ == std::numeric_limits<int32_t>::min(); }
  bool is_slot() const { return code_ >= 0; }
  bool is_constant() const { return code_ < 0 && code_ > kCaptures; }
  bool is_capture() const { return code_ <= kCaptures && !is_absent(); }
  int32_t slot() const { return code_; }
  int32_t constant() const { return -1 - code_; }
  int32_t capture() const { return kCaptures - code_; }

 private:
  static constexpr int32_t kCaptures = -(1 << 30);
  explicit ValueRef(int32_t code) : code_(code) {}
  int32_t code_;
};

// The values of one run of one plan.
struct Frame {
  std::vector<Value> slots;
  const Value* const* captures = nullptr;
  Frame* next = nullptr;
};

enum class StepKind : uint8_t { kKernel, kFunction, kLazyBody };

// What few steps have.
struct StepDetails {
  std::vector<std::unique_ptr<Plan>> subgraphs;
  const Plan* function = nullptr;  // kFunction
  // kLazyBody: bodies by the types of the inputs, made when first met.
  std::mutex mutex;
  std::vector<std::pair<std::string, const Plan*>> bodies;
};

struct Step {
  RunFn run = nullptr;
  const KernelState* state = nullptr;
  const NodeInfo* info = nullptr;
  StepDetails* details = nullptr;
  uint32_t first_input = 0;  // in Plan::refs
  uint32_t input_count = 0;
  uint32_t first_output = 0;  // in Plan::output_slots
  uint32_t output_count = 0;
  uint32_t first_death = 0;  // in Plan::deaths
  uint32_t death_count = 0;
  uint64_t dying = 0;  // bit i: input i is a slot that dies here, and stands here once
  StepKind kind = StepKind::kKernel;
  bool check_types = true;  // some input's type was not known at load
};

struct Plan {
  std::string path;  // "main graph/If "then_branch""
  std::vector<Step> steps;
  std::vector<ValueRef> refs;
  std::vector<int32_t> output_slots;  // of steps; -1: nobody wants it
  std::vector<int32_t> deaths;
  std::vector<Value> constants;
  std::vector<ValueRef> captures;  // in terms of the enclosing graph's frame
  int32_t slot_count = 0;
  uint32_t max_inputs = 0;
  uint32_t max_outputs = 0;
  int height = 0;  // of subgraphs and functions below this one

  struct Input {
    std::string name;
    Type type;
    int32_t slot = -1;       // -1: nobody reads it
    ValueRef default_value;  // a constant, or absent
  };
  std::vector<Input> inputs;
  struct Output {
    std::string name;
    Type type;
    ValueRef ref;
    bool last = true;  // no later output is the same slot
  };
  std::vector<Output> outputs;
  std::vector<int32_t> final_deaths;  // slots still alive when the outputs have been taken

  std::deque<NodeInfo> infos;
  std::vector<std::unique_ptr<KernelState>> states;
  std::vector<std::unique_ptr<StepDetails>> details;

  Plan() = default;
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  ~Plan();

  // A frame with all slots absent; give it back in the same state.
  Frame* AcquireFrame() const;
  void ReleaseFrame(Frame* frame) const;

 private:
  mutable std::atomic_flag frames_lock_ = ATOMIC_FLAG_INIT;
  mutable Frame* frames_ = nullptr;
};

// A frame of a plan while it is in use.
class FrameLease {
 public:
  explicit FrameLease(const Plan& plan) : plan_(plan), frame_(plan.AcquireFrame()) {}
  ~FrameLease() { plan_.ReleaseFrame(frame_); }
  FrameLease(const FrameLease&) = delete;
  FrameLease& operator=(const FrameLease&) = delete;
  Frame& operator*() const { return *frame_; }
  Frame* operator->() const { return frame_; }

 private:
  const Plan& plan_;
  Frame* frame_;
};

// Builds plans, and keeps those of functions. Lives as long as its session: bodies of standard
// functions may be needed only when types are known.
class PlanBuilder {
 public:
  PlanBuilder(const Model& model, const OpRegistry& registry, const SessionOptions& options,
              RunEnvironment* fold_environment, std::vector<std::string>* warnings);
  ~PlanBuilder();

  absl::StatusOr<std::unique_ptr<Plan>> BuildMain();
  // The plan of a standard operator's body for these input types. Safe from many threads.
  absl::StatusOr<const Plan*> BuildBody(const NodeInfo& node, absl::Span<const Type> input_types);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// What one call of Session::Run carries along.
struct RunEnvironment {
  BufferPool* pool = nullptr;
  const ParallelForFunction* parallel_for = nullptr;
  const SchemaTable* schemas = nullptr;
  PlanBuilder* builder = nullptr;
  Observer* observer = nullptr;
  uint64_t seed = 0;
  int64_t max_output_bytes = std::numeric_limits<int64_t>::max();  // while folding constants
  bool strict = false;  // types newer than the operator are refused
  bool bounds_outputs() const { return max_output_bytes != std::numeric_limits<int64_t>::max(); }
};

class Executor {
 public:
  // Runs `plan` in `frame`, whose input slots are filled. On error all slots are made absent, and
  // where a kernel throws (std::bad_alloc) too.
  static absl::Status Run(const Plan& plan, Frame& frame, RunEnvironment& environment);
  // Moves the outputs out of the frame and makes all slots absent.
  static absl::Status TakeOutputs(const Plan& plan, Frame& frame, absl::Span<Value> outputs);
  static const Value* Resolve(const Plan& plan, const Frame& frame, ValueRef ref) {
    if (ref.is_slot()) return &frame.slots[ref.slot()];
    if (ref.is_constant()) return &plan.constants[ref.constant()];
    return ref.is_absent() ? nullptr : frame.captures[ref.capture()];
  }
  // One kernel outside of any plan: constant folding.
  static absl::Status RunKernel(RunFn run, const KernelState* state, const NodeInfo& info,
                                absl::Span<const Value* const> inputs,
                                absl::Span<Value* const> outputs, RunEnvironment& environment);
  // InvalidArgument when an input's type is not one of the schema's (nor, unless `strict`, of a
  // later version's), or two of one constraint differ.
  static absl::Status CheckInputTypes(const NodeInfo& info, const SchemaTable& schemas,
                                      absl::Span<const Value* const> inputs, bool strict);

 private:
  template <bool kObserved>
  static absl::Status RunSteps(const Plan& plan, Frame& frame, RunEnvironment& environment);
  static absl::Status CallPlan(const Plan& callee, KernelContext& context,
                               RunEnvironment& environment);
  static absl::Status RunStep(const Step& step, KernelContext& context,
                              RunEnvironment& environment);
};

// True when `type`, not allowed by this version of the operator for parameter i, is by a later one:
// the model uses a type newer than its opset.
bool AllowedLater(const SchemaTable& schemas, const OpSchema& schema, bool output, int i,
                  const Type& type);

}  // namespace onnx_run

#endif  // ONNX_RUN_RUNTIME_PLAN_H_
