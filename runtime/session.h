// Session: a model made ready to run, any number of times, from any number of threads.
//
//   absl::StatusOr<onnx_run::Model> model = onnx_run::LoadModel("model.onnx");          //
//   proto/load.h onnx_run::OpRegistry registry(onnx_run::AllKernels(),
//   &onnx_run::StandardSchemas());  // ops/all_ops.h auto session =
//   onnx_run::Session::Create(*std::move(model), registry); auto outputs = (*session)->Run({{"x",
//   x}});
#ifndef ONNX_RUN_RUNTIME_SESSION_H_
#define ONNX_RUN_RUNTIME_SESSION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/convert/convert.h"
#include "runtime/model.h"
#include "runtime/registry.h"
#include "runtime/value.h"

namespace onnx_run {

// Gives the standard's function bodies (proto/standard/function_bodies.h implements it by the onnx
// library).
class FunctionProvider {
 public:
  virtual ~FunctionProvider() = default;
  // The body of a standard operator for a call with these input types (shapes may help), or nullptr
  // when it has none for them. `node` has its attributes resolved. Called from any thread.
  virtual absl::StatusOr<std::shared_ptr<const Function>> Body(
      const Node& node, int64_t opset, absl::Span<const Type> input_types) = 0;
};

// Told of every node as it runs. While one is set, nothing is written in place and nothing was
// folded (see SessionOptions::fold_constants), so that it sees every value of the model.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void OnNodeStart(const NodeInfo& /*node*/, absl::Span<const Value* const> /*inputs*/) {}
  // Outputs that nobody wants are nullptr. Called for failed nodes too.
  virtual void OnNodeEnd(const NodeInfo& /*node*/, absl::Span<const Value* const> /*inputs*/,
                         absl::Span<Value* const> /*outputs*/, const absl::Status& /*status*/) {}
};

// Shares work out; must return when all of it is done, and be callable from many threads at once.
using ParallelForFunction = std::function<void(
    int64_t n, int64_t grain, absl::FunctionRef<void(int64_t begin, int64_t end)> fn)>;

struct SessionOptions {
  // Refuse what only draws a warning else: types newer than the node's version, unsorted nodes,
  // shadowed names.
  bool strict = false;
  // Run models whose ir_version is newer than the newest known one (the opsets still have to be
  // known).
  bool allow_newer_ir_version = false;
  // Run nodes whose inputs are all constant once at load, where that is cheap.
  bool fold_constants = true;
  // Operators whose kernels are not used: their official function body is, instead.
  absl::flat_hash_set<std::string> no_native;
  // nullptr: operators without a kernel are not implemented even when the standard has a body for
  // them.
  std::shared_ptr<FunctionProvider> function_provider;
  // Empty: a pool of `threads` threads, started when first needed. threads 0: one for each core; 1:
  // none.
  ParallelForFunction parallel_for;
  int threads = 0;
  // nullptr: aligned operator new.
  Allocator* allocator = nullptr;
  // What kernels may make of constant inputs once and keep, weights in the order they are read:
  // bytes in all, beside the constants themselves. 0: nothing is kept.
  int64_t max_prepared_bytes = int64_t{1} << 28;
  // Of subgraphs and function calls in one another; deeper is refused at load.
  int max_nesting = 128;
  // Bodies compiled for functions, over all their attribute values; more is refused at load.
  int max_function_instances = 10000;
};

struct RunOptions {
  Observer* observer = nullptr;
  uint64_t seed = 0;  // for random operators without a seed of their own; 0: a new one for each run
};

class Session {
 public:
  // Errors: InvalidArgument (the model is wrong: the message says where and what would be right),
  // Unimplemented (operators without kernel or body: all of them are listed), ResourceExhausted.
  static absl::StatusOr<std::unique_ptr<const Session>> Create(Model model,
                                                               const OpRegistry& registry,
                                                               SessionOptions options = {});
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // The graph's inputs in order: those without initializer first need a value, those with one may
  // have one (IR 4 on; before that all inputs are listed and initializers give their defaults).
  struct Input {
    std::string name;
    Type type;
    bool has_default;
  };
  absl::Span<const Input> inputs() const;
  absl::Span<const ValueInfo> outputs() const;
  // What was found odd at load but let pass.
  absl::Span<const std::string> warnings() const;
  const Model& model() const;

  // Positional: `inputs` in the order of inputs(), absent values for defaults; `outputs` lets go of
  // what it holds and gets one value for each of outputs(), in own memory. Safe from many threads.
  absl::Status Run(absl::Span<const Value> inputs, absl::Span<Value> outputs,
                   const RunOptions& options = {}) const;
  // By name. A name that the model does not have, or a missing one, is an error.
  absl::StatusOr<std::vector<Value>> Run(absl::Span<const std::pair<std::string, Value>> inputs,
                                         const RunOptions& options = {}) const;
  absl::StatusOr<std::vector<Value>> Run(
      std::initializer_list<std::pair<std::string, Value>> inputs) const {
    return Run(absl::MakeConstSpan(inputs.begin(), inputs.size()));
  }

 private:
  struct Impl;
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace onnx_run

#endif  // ONNX_RUN_RUNTIME_SESSION_H_
