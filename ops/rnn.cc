// RNN, GRU and LSTM, all versions.
//
// The products with the inputs are made for all steps at once; each step then adds the product with
// the hidden state. The states are kept in the memory of the outputs Y_h and Y_c.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/dispatch.h"
#include "ops/families.h"
#include "ops/gemm.h"
#include "ops/kernel_table.h"
#include "ops/rnn_activation.h"
#include "ops/shape_util.h"
#include "runtime/status_macros.h"

namespace onnx_run {
namespace {

enum class Cell : uint8_t { kRnn, kGru, kLstm };

constexpr int GatesOf(Cell cell) { return cell == Cell::kRnn ? 1 : (cell == Cell::kGru ? 3 : 4); }

struct RnnAttributes {
  int directions = 1;
  bool first_is_reverse = false;
  bool batch_first = false;  // layout 1
  std::optional<int64_t> hidden_size;
  std::optional<float> clip;
  bool input_forget = false;
  bool linear_before_reset = false;
  std::vector<RnnActivation> activations;  // those of one direction side by side
};

template <Cell kCell>
absl::StatusOr<RnnAttributes> ParseRnn(const NodeInfo& node) {
  RnnAttributes attributes;
  // The default of the oldest schemas is spelt wrong.
  const std::string direction =
      node.Has("direction") ? node.StringOr("direction", "") : std::string("forward");
  if (direction == "bidirectional") {
    attributes.directions = 2;
  } else if (direction == "reverse") {
    attributes.first_is_reverse = true;
  } else if (direction != "forward") {
    return node.BadAttribute("direction", absl::StrCat("\"", direction, "\""),
                             "\"forward\", \"reverse\" or \"bidirectional\"");
  }
  const int64_t layout = node.IntOr("layout", 0);
  if (layout != 0 && layout != 1) {
    return node.BadAttribute("layout", absl::StrCat(layout), "0 or 1");
  }
  attributes.batch_first = layout == 1;
  if (node.Has("hidden_size")) attributes.hidden_size = node.IntOr("hidden_size", 0);
  if (node.Has("clip")) {
    attributes.clip = node.FloatOr("clip", 0);
    if (!(*attributes.clip > 0)) {
      return node.BadAttribute("clip", absl::StrCat(*attributes.clip), "a positive number");
    }
  }
  attributes.input_forget = node.IntOr("input_forget", 0) != 0;
  attributes.linear_before_reset = node.IntOr("linear_before_reset", 0) != 0;
  using F = RnnFunction;
  static constexpr F kDefaults[] = {F::kSigmoid, F::kTanh, F::kTanh};
  static constexpr F kRnnDefaults[] = {F::kTanh};
  absl::Span<const F> defaults(kDefaults);
  if (kCell == Cell::kRnn) defaults = kRnnDefaults;
  if (kCell == Cell::kGru) defaults = defaults.first(2);
  ASSIGN_OR_RETURN(attributes.activations,
                   ParseRnnActivations(node, attributes.directions, defaults));
  return attributes;
}

struct RnnSizes {
  int64_t steps;
  int64_t batch;
  int64_t input;
  int64_t hidden;
  int64_t gates;  // of one cell, times hidden
};

absl::Status CheckDims(const Tensor& tensor, absl::string_view name,
                       absl::Span<const int64_t> expected) {
  if (absl::MakeConstSpan(tensor.dims()) == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, " is ", TypeAndDims(tensor), ", expected ", DimsToString(expected)));
}

// Inputs by their places in the schemas.
enum Input { kX, kW, kR, kB, kSequenceLens, kInitialH, kInitialC, kP };

Dims StateDims(const RnnAttributes& attributes, const RnnSizes& sizes) {
  if (attributes.batch_first) return {sizes.batch, attributes.directions, sizes.hidden};
  return {attributes.directions, sizes.batch, sizes.hidden};
}
Dims SequenceDims(const RnnAttributes& attributes, const RnnSizes& sizes) {
  if (attributes.batch_first) {
    return {sizes.batch, sizes.steps, attributes.directions, sizes.hidden};
  }
  return {sizes.steps, attributes.directions, sizes.batch, sizes.hidden};
}

absl::StatusOr<RnnSizes> MakeSizes(const RnnAttributes& attributes, int gates,
                                   const KernelContext& context) {
  const Tensor& x = context.input(kX);
  const Tensor& r = context.input(kR);
  if (x.rank() != 3 || r.rank() != 3) {
    return absl::InvalidArgumentError(absl::StrCat("X is ", TypeAndDims(x), " and R ",
                                                   TypeAndDims(r), ", expected 3 dimensions each"));
  }
  RnnSizes sizes;
  sizes.steps = x.dim(attributes.batch_first ? 1 : 0);
  sizes.batch = x.dim(attributes.batch_first ? 0 : 1);
  sizes.input = x.dim(2);
  sizes.hidden = r.dim(2);
  if (attributes.hidden_size && *attributes.hidden_size != sizes.hidden) {
    return absl::InvalidArgumentError(
        absl::StrCat("R is ", TypeAndDims(r), ", expected the hidden_size of the node, ",
                     *attributes.hidden_size, ", as its last dimension"));
  }
  // 8: the most that hidden is multiplied by below.
  int64_t most = 0;
  if (__builtin_mul_overflow(sizes.hidden, 8, &most)) {
    return absl::InvalidArgumentError(
        absl::StrCat("R is ", TypeAndDims(r), ", which is too large"));
  }
  sizes.gates = gates * sizes.hidden;
  const int64_t directions = attributes.directions;
  RETURN_IF_ERROR(CheckDims(r, "R", {directions, sizes.gates, sizes.hidden}));
  RETURN_IF_ERROR(CheckDims(context.input(kW), "W", {directions, sizes.gates, sizes.input}));
  if (context.has_input(kB)) {
    RETURN_IF_ERROR(CheckDims(context.input(kB), "B", {directions, 2 * sizes.gates}));
  }
  if (context.has_input(kSequenceLens)) {
    RETURN_IF_ERROR(CheckDims(context.input(kSequenceLens), "sequence_lens", {sizes.batch}));
  }
  const Dims state = StateDims(attributes, sizes);
  if (context.has_input(kInitialH)) {
    RETURN_IF_ERROR(CheckDims(context.input(kInitialH), "initial_h", state));
  }
  if (context.has_input(kInitialC)) {
    RETURN_IF_ERROR(CheckDims(context.input(kInitialC), "initial_c", state));
  }
  if (context.has_input(kP)) {
    RETURN_IF_ERROR(CheckDims(context.input(kP), "P", {directions, 3 * sizes.hidden}));
  }
  return sizes;
}

// Empty when all sequences have all steps.
absl::StatusOr<Dims> ReadLengths(const KernelContext& context, const RnnSizes& sizes) {
  if (!context.has_input(kSequenceLens)) return Dims();
  ASSIGN_OR_RETURN(Dims lengths, ReadInts(context.input(kSequenceLens)));
  for (const int64_t length : lengths) {
    if (length < 0 || length > sizes.steps) {
      return absl::InvalidArgumentError(absl::StrCat("a length in sequence_lens is ", length,
                                                     ", expected 0 to ", sizes.steps,
                                                     ", the steps of X"));
    }
  }
  return lengths;
}

template <typename T>
void Add(const T* x, T* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] += x[i];
}
template <typename T>
void AddProduct(const T* x, const T* y, T* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] += x[i] * y[i];
}

// What a direction computes with; nullptr for what is not there.
template <typename T>
struct Direction {
  bool reverse = false;
  const T* x = nullptr;
  const T* w = nullptr;
  const T* r = nullptr;
  const T* b = nullptr;  // the inputs' biases, then those of the hidden state
  const T* p = nullptr;
  T* h = nullptr;  // of the first sequence; the next is state_stride on
  T* c = nullptr;
  T* y = nullptr;  // of the first step of the first sequence
  int64_t state_stride = 0;
  int64_t y_step_stride = 0;
  int64_t y_batch_stride = 0;
  const RnnActivation* activations = nullptr;
};

// Runs one direction. The gates of step t of sequence n are made in the memory of their products.
template <typename T>
class Runner {
 public:
  Runner(KernelContext& context, const RnnAttributes& attributes, Cell cell, const RnnSizes& sizes,
         const Dims& lengths)
      : context_(context), attributes_(attributes), cell_(cell), sizes_(sizes), lengths_(lengths) {}

  absl::Status Prepare(ElementType type) {
    int64_t rows = 0;
    if (__builtin_mul_overflow(sizes_.steps, sizes_.batch, &rows)) {
      return absl::ResourceExhaustedError("the gates of all steps are too many for memory");
    }
    ASSIGN_OR_RETURN(gates_, context_.Allocate(type, {rows, sizes_.gates}));
    ASSIGN_OR_RETURN(recurrent_, context_.Allocate(type, {sizes_.batch, sizes_.gates}));
    ASSIGN_OR_RETURN(bias_, context_.Allocate(type, {sizes_.gates}));
    if (cell_ == Cell::kGru && !attributes_.linear_before_reset) {
      ASSIGN_OR_RETURN(reset_, context_.Allocate(type, {sizes_.batch, sizes_.hidden}));
    }
    return absl::OkStatus();
  }

  absl::Status Run(const Direction<T>& direction) {
    d_ = &direction;
    MakeBias();
    const int64_t rows = sizes_.steps * sizes_.batch;
    T* const gates = gates_.mutable_data_as<T>();
    RETURN_IF_ERROR(Multiply(rows, sizes_.gates, sizes_.input, d_->x, sizes_.input, d_->w, gates,
                             sizes_.gates));
    const int64_t steps =
        lengths_.empty() ? sizes_.steps : *std::max_element(lengths_.begin(), lengths_.end());
    for (int64_t step = 0; step < steps; ++step) RETURN_IF_ERROR(RunStep(step));
    return absl::OkStatus();
  }

 private:
  // c[m][n] = sum over k of a[m][k] * b[n][k].
  absl::Status Multiply(int64_t m, int64_t n, int64_t k, const T* a, int64_t a_stride, const T* b,
                        T* c, int64_t c_stride) {
    return RunGemms<T>(context_, {m, n, k}, 1, [&](int64_t) {
      return GemmProblem<T>{.a = {a, a_stride, 1}, .b = {b, 1, k}, .c = c, .c_stride = c_stride};
    });
  }

  // Both biases are one sum, but for the hidden gate of a GRU that resets after its product.
  void MakeBias() {
    T* const bias = bias_.mutable_data_as<T>();
    if (d_->b == nullptr) {
      std::fill_n(bias, sizes_.gates, T{0});
      return;
    }
    const int64_t summed =
        cell_ == Cell::kGru && attributes_.linear_before_reset ? 2 * sizes_.hidden : sizes_.gates;
    std::copy_n(d_->b, sizes_.gates, bias);
    Add(d_->b + sizes_.gates, bias, summed);
  }

  absl::Status RunStep(int64_t step) {
    const int64_t hidden = sizes_.hidden;
    T* const recurrent = recurrent_.mutable_data_as<T>();
    const bool two_products = cell_ == Cell::kGru && !attributes_.linear_before_reset;
    RETURN_IF_ERROR(Multiply(sizes_.batch, two_products ? 2 * hidden : sizes_.gates, hidden, d_->h,
                             d_->state_stride, d_->r, recurrent, sizes_.gates));
    if (!two_products) {
      ForEachSequence(step, [&](int64_t n, T* gates, T* y) {
        T* const h = d_->h + n * d_->state_stride;
        const T* const products = recurrent + n * sizes_.gates;
        switch (cell_) {
          case Cell::kRnn: StepRnn(products, gates, h); break;
          case Cell::kGru: StepGruLinear(products, gates, h); break;
          case Cell::kLstm: StepLstm(products, gates, h, d_->c + n * d_->state_stride); break;
        }
        if (y != nullptr) std::copy_n(h, hidden, y);
      });
      return absl::OkStatus();
    }
    T* const reset = reset_.mutable_data_as<T>();
    // Sequences that have ended have their rows in the product too.
    if (!lengths_.empty()) std::fill_n(reset, sizes_.batch * hidden, T{0});
    ForEachSequence(step, [&](int64_t n, T* gates, T* /*y*/) {
      const T* const h = d_->h + n * d_->state_stride;
      GateGru(recurrent + n * sizes_.gates, gates);
      for (int64_t i = 0; i < hidden; ++i) reset[n * hidden + i] = gates[hidden + i] * h[i];
    });
    RETURN_IF_ERROR(Multiply(sizes_.batch, hidden, hidden, reset, hidden,
                             d_->r + 2 * hidden * hidden, recurrent, sizes_.gates));
    ForEachSequence(step, [&](int64_t n, T* gates, T* y) {
      T* const h = d_->h + n * d_->state_stride;
      T* const candidate = gates + 2 * hidden;
      Add(recurrent + n * sizes_.gates, candidate, hidden);
      Add(bias_.data_as<T>() + 2 * hidden, candidate, hidden);
      Activate(1, candidate, hidden);
      MixGru(gates, candidate, h);
      if (y != nullptr) std::copy_n(h, hidden, y);
    });
    return absl::OkStatus();
  }

  // Calls fn(sequence, its gates, its place in Y or nullptr) for those that have this step.
  template <typename Fn>
  void ForEachSequence(int64_t step, Fn fn) {
    T* const gates = gates_.mutable_data_as<T>();
    const int64_t grain = std::max<int64_t>(1, 4096 / sizes_.gates);
    context_.ParallelFor(sizes_.batch, grain, [&](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n) {
        const int64_t length = lengths_.empty() ? sizes_.steps : lengths_[n];
        if (step >= length) continue;
        const int64_t t = d_->reverse ? length - 1 - step : step;
        const int64_t row = attributes_.batch_first ? n * sizes_.steps + t : t * sizes_.batch + n;
        T* const y =
            d_->y == nullptr ? nullptr : d_->y + t * d_->y_step_stride + n * d_->y_batch_stride;
        fn(n, gates + row * sizes_.gates, y);
      }
    });
  }

  void Activate(int function, T* x, int64_t n) const {
    if (attributes_.clip) {
      const T clip = *attributes_.clip;
      for (int64_t i = 0; i < n; ++i) {
        const T low = x[i] < -clip ? -clip : x[i];
        x[i] = low > clip ? clip : low;
      }
    }
    d_->activations[function].Apply(x, n);
  }

  void StepRnn(const T* products, T* gates, T* h) const {
    Add(products, gates, sizes_.hidden);
    Add(bias_.data_as<T>(), gates, sizes_.hidden);
    Activate(0, gates, sizes_.hidden);
    std::copy_n(gates, sizes_.hidden, h);
  }

  // The update and the reset gate.
  void GateGru(const T* products, T* gates) const {
    const int64_t n = 2 * sizes_.hidden;
    Add(products, gates, n);
    Add(bias_.data_as<T>(), gates, n);
    Activate(0, gates, n);
  }

  void MixGru(const T* update, const T* candidate, T* h) const {
    for (int64_t i = 0; i < sizes_.hidden; ++i) {
      h[i] = (T{1} - update[i]) * candidate[i] + update[i] * h[i];
    }
  }

  void StepGruLinear(const T* products, T* gates, T* h) const {
    const int64_t hidden = sizes_.hidden;
    GateGru(products, gates);
    const T* const reset = gates + hidden;
    const T* const own = products + 2 * hidden;
    const T* const own_bias = d_->b == nullptr ? nullptr : d_->b + sizes_.gates + 2 * hidden;
    T* const candidate = gates + 2 * hidden;
    for (int64_t i = 0; i < hidden; ++i) {
      candidate[i] += reset[i] * (own[i] + (own_bias == nullptr ? T{0} : own_bias[i]));
    }
    Add(bias_.data_as<T>() + 2 * hidden, candidate, hidden);
    Activate(1, candidate, hidden);
    MixGru(gates, candidate, h);
  }

  void StepLstm(const T* products, T* gates, T* h, T* c) const {
    const int64_t hidden = sizes_.hidden;
    const T* const p = d_->p;
    Add(products, gates, 4 * hidden);
    Add(bias_.data_as<T>(), gates, 4 * hidden);
    T* const input = gates;
    T* const output = gates + hidden;
    T* const forget = gates + 2 * hidden;
    T* const candidate = gates + 3 * hidden;
    if (p != nullptr) {
      AddProduct(p, c, input, hidden);
      AddProduct(p + 2 * hidden, c, forget, hidden);
    }
    Activate(0, input, hidden);
    if (attributes_.input_forget) {
      for (int64_t i = 0; i < hidden; ++i) forget[i] = T{1} - input[i];
    } else {
      Activate(0, forget, hidden);
    }
    Activate(1, candidate, hidden);
    for (int64_t i = 0; i < hidden; ++i) c[i] = forget[i] * c[i] + input[i] * candidate[i];
    if (p != nullptr) AddProduct(p + hidden, c, output, hidden);
    Activate(0, output, hidden);
    std::copy_n(c, hidden, candidate);
    Activate(2, candidate, hidden);
    for (int64_t i = 0; i < hidden; ++i) h[i] = output[i] * candidate[i];
  }

  KernelContext& context_;
  const RnnAttributes& attributes_;
  const Cell cell_;
  const RnnSizes sizes_;
  const Dims& lengths_;
  Tensor gates_;
  Tensor recurrent_;
  Tensor bias_;
  Tensor reset_;
  const Direction<T>* d_ = nullptr;
};

struct RnnTensors {
  Tensor x;
  Tensor w;
  Tensor r;
  Tensor b;
  Tensor p;
  Tensor y;
  Tensor h;
  Tensor c;
};

template <typename T>
absl::Status RunDirections(KernelContext& context, const RnnAttributes& attributes, Cell cell,
                           const RnnSizes& sizes, const Dims& lengths, RnnTensors& tensors) {
  const int64_t hidden = sizes.hidden;
  const int64_t directions = attributes.directions;
  Runner<T> runner(context, attributes, cell, sizes, lengths);
  RETURN_IF_ERROR(runner.Prepare(tensors.x.type()));
  const auto at = [](const Tensor& tensor, int64_t offset) -> const T* {
    return tensor.data() == nullptr ? nullptr : tensor.data_as<T>() + offset;
  };
  const auto mutable_at = [](Tensor& tensor, int64_t offset) -> T* {
    return tensor.data() == nullptr ? nullptr : tensor.mutable_data_as<T>() + offset;
  };
  const int64_t functions = static_cast<int64_t>(attributes.activations.size()) / directions;
  for (int64_t d = 0; d < directions; ++d) {
    Direction<T> direction;
    direction.reverse = d == 1 || attributes.first_is_reverse;
    direction.x = at(tensors.x, 0);
    direction.w = at(tensors.w, d * sizes.gates * sizes.input);
    direction.r = at(tensors.r, d * sizes.gates * hidden);
    direction.b = at(tensors.b, d * 2 * sizes.gates);
    direction.p = at(tensors.p, d * 3 * hidden);
    const int64_t state = attributes.batch_first ? d * hidden : d * sizes.batch * hidden;
    direction.h = mutable_at(tensors.h, state);
    direction.c = mutable_at(tensors.c, state);
    direction.y = mutable_at(tensors.y, state);
    direction.state_stride = attributes.batch_first ? directions * hidden : hidden;
    direction.y_step_stride =
        attributes.batch_first ? directions * hidden : directions * sizes.batch * hidden;
    direction.y_batch_stride = attributes.batch_first ? sizes.steps * directions * hidden : hidden;
    direction.activations = attributes.activations.data() + d * functions;
    RETURN_IF_ERROR(runner.Run(direction));
  }
  return absl::OkStatus();
}

// The state to begin with, in memory of its own.
absl::StatusOr<Tensor> InitialState(KernelContext& context, int input, ElementType type,
                                    const Dims& dims) {
  ASSIGN_OR_RETURN(Tensor state, context.Allocate(type, dims));
  char* const to = static_cast<char*>(state.mutable_data());
  if (!context.has_input(input)) {
    std::fill_n(to, state.bytes(), 0);
    return state;
  }
  ASSIGN_OR_RETURN(const Tensor initial, WidenTensor(context, context.input(input)));
  std::copy_n(static_cast<const char*>(initial.data()), state.bytes(), to);
  return state;
}

template <Cell kCell>
absl::Status Rnn(const RnnAttributes& attributes, KernelContext& context) {
  ASSIGN_OR_RETURN(const RnnSizes sizes, MakeSizes(attributes, GatesOf(kCell), context));
  ASSIGN_OR_RETURN(const Dims lengths, ReadLengths(context, sizes));
  const ElementType type = context.input(kX).type();
  RnnTensors tensors;
  ASSIGN_OR_RETURN(tensors.x, WidenTensor(context, context.input(kX)));
  ASSIGN_OR_RETURN(tensors.w, WidenTensor(context, context.input(kW)));
  ASSIGN_OR_RETURN(tensors.r, WidenTensor(context, context.input(kR)));
  if (context.has_input(kB)) {
    ASSIGN_OR_RETURN(tensors.b, WidenTensor(context, context.input(kB)));
  }
  if (context.has_input(kP)) {
    ASSIGN_OR_RETURN(tensors.p, WidenTensor(context, context.input(kP)));
  }
  const ElementType computed = tensors.x.type();
  const Dims state_dims = StateDims(attributes, sizes);
  ASSIGN_OR_RETURN(tensors.h, InitialState(context, kInitialH, computed, state_dims));
  if (kCell == Cell::kLstm) {
    ASSIGN_OR_RETURN(tensors.c, InitialState(context, kInitialC, computed, state_dims));
  }
  if (context.wants_output(0)) {
    ASSIGN_OR_RETURN(tensors.y, context.Allocate(computed, SequenceDims(attributes, sizes)));
    if (!lengths.empty()) {  // zero after the end of a sequence
      std::fill_n(static_cast<char*>(tensors.y.mutable_data()), tensors.y.bytes(), 0);
    }
  }
  if (sizes.batch != 0 && sizes.hidden != 0) {
    RETURN_IF_ERROR(VisitType(Floats(), type, [&]<typename T>(Tag<T>) {
      return RunDirections<T>(context, attributes, kCell, sizes, lengths, tensors);
    }));
  }
  if (context.wants_output(0)) {
    RETURN_IF_ERROR(SetOutputNarrowed(context, 0, std::move(tensors.y), type));
  }
  if (context.wants_output(1)) {
    RETURN_IF_ERROR(SetOutputNarrowed(context, 1, std::move(tensors.h), type));
  }
  if (kCell == Cell::kLstm && context.wants_output(2)) {
    RETURN_IF_ERROR(SetOutputNarrowed(context, 2, std::move(tensors.c), type));
  }
  return absl::OkStatus();
}

constexpr auto kKernels =
    KernelTable(Rows<ParseRnn<Cell::kRnn>, Rnn<Cell::kRnn>>("RNN", 1, 7, 14, 22),
                Rows<ParseRnn<Cell::kGru>, Rnn<Cell::kGru>>("GRU", 1, 3, 7, 14, 22),
                Rows<ParseRnn<Cell::kLstm>, Rnn<Cell::kLstm>>("LSTM", 1, 7, 14, 22));

}  // namespace

absl::Span<const KernelDef> RnnKernels() { return kKernels; }

}  // namespace onnx_run
