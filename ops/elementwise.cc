#include "ops/elementwise.h"

#include <algorithm>
#include <atomic>
#include <complex>
#include <memory>
#include <utility>

#include "absl/base/attributes.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"

namespace onnx_run {
namespace {

// Elements converted, or laid out, at a time.
constexpr int64_t kBlock = 1024;
// Rows shorter than this are laid out in blocks first: a call of the loop for each would cost more.
constexpr int64_t kShortRow = 48;

// How the output's elements, in order, find those of each input. Dimension 0 is the outermost; what
// could be collapsed is, so that neighbours differ in whether some input is broadcast along them.
class BroadcastPlan {
 public:
  BroadcastPlan(absl::Span<const Tensor* const> inputs, const Tensor& output)
      : inputs_(static_cast<int>(inputs.size())) {
    bool rank_one = true;
    for (const Tensor* input : inputs) {
      if (input->size() != 1 && input->dims() != output.dims()) rank_one = false;
    }
    if (rank_one) {
      dims_.push_back(output.size());
      for (const Tensor* input : inputs) strides_.push_back(input->size() == 1 ? 0 : 1);
      if (output.size() == 1) std::fill(strides_.begin(), strides_.end(), 1);
      return;
    }
    Collapse(inputs, output.dims());
  }

  int rank() const { return static_cast<int>(dims_.size()); }
  int64_t dim(int d) const { return dims_[d]; }
  int64_t stride(int d, int input) const { return strides_[d * inputs_ + input]; }

 private:
  void Collapse(absl::Span<const Tensor* const> inputs, absl::Span<const int64_t> output_dims) {
    const int rank = static_cast<int>(output_dims.size());
    // From the innermost dimension out, reversed at the end.
    absl::InlinedVector<int64_t, 4> sizes(inputs.size(), 1);  // of each input so far
    absl::InlinedVector<int64_t, 4> here(inputs.size());
    for (int d = rank - 1; d >= 0; --d) {
      if (output_dims[d] == 1) continue;
      bool same_as_inner = !dims_.empty();
      for (int i = 0; i < inputs_; ++i) {
        const int at = d - (rank - inputs[i]->rank());
        const int64_t dim = at < 0 ? 1 : inputs[i]->dim(at);
        here[i] = dim == 1 ? 0 : sizes[i];
        sizes[i] *= dim;
        if (!dims_.empty() && here[i] != strides_[strides_.size() - inputs_ + i] * dims_.back()) {
          same_as_inner = false;
        }
      }
      if (same_as_inner) {
        dims_.back() *= output_dims[d];
      } else {
        dims_.push_back(output_dims[d]);
        strides_.insert(strides_.end(), here.begin(), here.end());
      }
    }
    std::reverse(dims_.begin(), dims_.end());
    for (int low = 0, high = rank_minus_one(); low < high; ++low, --high) {
      std::swap_ranges(strides_.begin() + low * inputs_, strides_.begin() + (low + 1) * inputs_,
                       strides_.begin() + high * inputs_);
    }
  }
  int rank_minus_one() const { return rank() - 1; }

  int inputs_;
  absl::InlinedVector<int64_t, 6> dims_;
  absl::InlinedVector<int64_t, 18> strides_;  // [dimension][input], in elements
};

int64_t ElementBits(ElementType type) {
  return IsSubByte(type) ? BitsOf(type) : 8 * ElementBytes(type);
}

// The elements of an input that belong to `n` output elements from `position` on, in a row.
template <typename T>
void LayOut(const char* from, const BroadcastPlan& plan, int input, absl::Span<int64_t> position,
            int64_t n, char* to) {
  const T* source = reinterpret_cast<const T*>(from);
  T* out = reinterpret_cast<T*>(to);
  const int last = plan.rank() - 1;
  int64_t base = 0;
  for (int d = 0; d < last; ++d) base += position[d] * plan.stride(d, input);
  int64_t inner = position[last];
  const int64_t inner_stride = plan.stride(last, input);
  while (n > 0) {
    const int64_t count = std::min(n, plan.dim(last) - inner);
    const T* row = source + base + inner * inner_stride;
    for (int64_t i = 0; i < count; ++i) out[i] = row[i * inner_stride];
    out += count;
    n -= count;
    inner = 0;
    for (int d = last - 1; d >= 0; --d) {  // next row
      base += plan.stride(d, input);
      if (++position[d] < plan.dim(d)) break;
      base -= plan.stride(d, input) * plan.dim(d);
      position[d] = 0;
    }
  }
}

class Engine {
 public:
  Engine(absl::Span<const Tensor* const> inputs, Tensor& output, ElementLoop loop,
         const ElementwiseOptions& options)
      : plan_(inputs, output),
        output_(output),
        inputs_(inputs),
        loop_(loop),
        convert_(options.convert) {
    convert_output_ = !options.as_bits && NeedsWidening(output.type());
    bool any_conversion = convert_output_;
    bool strings = output.is_string();
    bool packed = IsSubByte(output.type());
    for (const Tensor* input : inputs) {
      Operand operand;
      operand.data = static_cast<const char*>(input->data());
      operand.convert = !options.as_bits && NeedsWidening(input->type());
      operand.bits = ElementBits(input->type());
      operand.contiguous = input->size() == output.size();
      strings |= input->is_string();
      packed |= IsSubByte(input->type());
      any_conversion |= operand.convert;
      operands_.push_back(operand);
    }
    // Blocks of packed elements start at a byte only when they do not end with the rows.
    const bool short_rows = plan_.dim(plan_.rank() - 1) < kShortRow || packed;
    lay_out_ = plan_.rank() > 1 && short_rows && !strings;
    blocked_ = any_conversion || lay_out_;
  }

  // Output elements [begin, end).
  absl::Status Run(int64_t begin, int64_t end) const {
    const int count = static_cast<int>(operands_.size());
    const int last = plan_.rank() - 1;
    // Two blocks for each input (as stored, as computed) and one for the output.
    constexpr int64_t kBlockBytes = kBlock * 16;
    std::unique_ptr<char[]> scratch;
    if (blocked_) scratch.reset(new char[(2 * count + 1) * kBlockBytes]);
    const auto block = [&](int i) { return scratch.get() + i * kBlockBytes; };

    absl::InlinedVector<const void*, 4> pointers(count);
    absl::InlinedVector<int64_t, 4> steps(count);
    absl::InlinedVector<int64_t, 6> position(plan_.rank());
    absl::InlinedVector<int64_t, 6> walk;
    int64_t rest = begin;
    for (int d = last; d >= 0; --d) {
      position[d] = rest % plan_.dim(d);
      rest /= plan_.dim(d);
    }
    const int64_t output_bits = ElementBits(output_.type());
    char* const output = static_cast<char*>(output_.mutable_data());

    while (begin < end) {
      int64_t n = end - begin;
      if (!lay_out_) n = std::min(n, plan_.dim(last) - position[last]);
      if (blocked_) n = std::min(n, kBlock);
      for (int i = 0; i < count; ++i) {
        const Operand& operand = operands_[i];
        const char* data = nullptr;
        steps[i] = 1;
        if (!lay_out_) {
          int64_t index = 0;
          for (int d = 0; d <= last; ++d) index += position[d] * plan_.stride(d, i);
          data = operand.data + index * operand.bits / 8;
          steps[i] = n == 1 ? 1 : plan_.stride(last, i);
        } else if (operand.contiguous) {
          data = operand.data + begin * operand.bits / 8;
        } else {
          walk = position;
          LayOutByWidth(operand, i, absl::MakeSpan(walk), n, block(2 * i));
          data = block(2 * i);
        }
        if (operand.convert) {
          const ElementType type = inputs_[i]->type();
          RETURN_IF_ERROR(
              Convert(data, type, block(2 * i + 1), ComputeType(type), steps[i] == 0 ? 1 : n));
          data = block(2 * i + 1);
        }
        pointers[i] = data;
      }
      char* const to = output + begin * output_bits / 8;
      loop_({pointers.data(), steps.data(), convert_output_ ? block(2 * count) : to, n});
      if (convert_output_) {
        RETURN_IF_ERROR(Convert(block(2 * count), ComputeType(output_.type()), to, output_.type(),
                                n, convert_));
      }
      begin += n;
      Advance(position, n);
    }
    return absl::OkStatus();
  }

 private:
  struct Operand {
    const char* data;
    int64_t bits;
    bool convert;
    bool contiguous;  // element k belongs to output element k
  };

  void Advance(absl::InlinedVector<int64_t, 6>& position, int64_t n) const {
    for (int d = plan_.rank() - 1; d >= 0 && n > 0; --d) {
      position[d] += n;
      n = position[d] / plan_.dim(d);
      position[d] %= plan_.dim(d);
    }
  }
  void LayOutByWidth(const Operand& operand, int i, absl::Span<int64_t> position, int64_t n,
                     char* to) const {
    switch (operand.bits) {
      case 8: return LayOut<uint8_t>(operand.data, plan_, i, position, n, to);
      case 16: return LayOut<uint16_t>(operand.data, plan_, i, position, n, to);
      case 32: return LayOut<uint32_t>(operand.data, plan_, i, position, n, to);
      case 64: return LayOut<uint64_t>(operand.data, plan_, i, position, n, to);
      default: return LayOut<std::complex<double>>(operand.data, plan_, i, position, n, to);
    }
  }

  BroadcastPlan plan_;
  Tensor& output_;
  absl::Span<const Tensor* const> inputs_;
  absl::InlinedVector<Operand, 4> operands_;
  ElementLoop loop_;
  ConvertOptions convert_;
  bool convert_output_;
  bool lay_out_;
  bool blocked_;
};

// How the loop reads inputs of the output's size or of one element.
constexpr size_t kSimpleInputs = 4;
struct SimpleInputs {
  const void* pointers[kSimpleInputs];
  int64_t steps[kSimpleInputs];
};

// Nodes whose elements fit into one block, some of which have to be converted. The blocks are on
// the stack: an allocation would cost more than the rest.
ABSL_ATTRIBUTE_NOINLINE absl::Status RunNarrow(absl::Span<const Tensor* const> inputs,
                                               SimpleInputs simple, Tensor& output,
                                               ElementLoop loop, const ConvertOptions& convert) {
  constexpr int64_t kBlockBytes = kBlock * 4;  // what is narrow is computed in float or a byte
  alignas(64) char blocks[kSimpleInputs + 1][kBlockBytes];
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ElementType type = inputs[i]->type();
    if (!NeedsWidening(type)) continue;
    RETURN_IF_ERROR(Convert(simple.pointers[i], type, blocks[i], ComputeType(type),
                            simple.steps[i] == 0 ? 1 : output.size()));
    simple.pointers[i] = blocks[i];
  }
  const ElementType type = output.type();
  if (!NeedsWidening(type)) {
    loop({simple.pointers, simple.steps, output.mutable_data(), output.size()});
    return absl::OkStatus();
  }
  char* const computed = blocks[kSimpleInputs];
  loop({simple.pointers, simple.steps, computed, output.size()});
  return Convert(computed, ComputeType(type), output.mutable_data(), type, output.size(), convert);
}

// Whether one run of the loop is all, nothing has to be laid out or shared out: most nodes of a
// model whose tensors are small.
enum class AtOnce { kNo, kAsStored, kNarrow };
AtOnce RunsAtOnce(absl::Span<const Tensor* const> inputs, const Tensor& output,
                  const ElementwiseOptions& options, SimpleInputs& simple) {
  if (output.size() > options.grain || inputs.size() > kSimpleInputs) return AtOnce::kNo;
  bool packed = IsSubByte(output.type());
  bool narrow = NeedsWidening(output.type());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& input = *inputs[i];
    // As many elements as the output: not broadcast but for dimensions of 1.
    const bool whole = input.size() == output.size();
    if (!whole && input.size() != 1) return AtOnce::kNo;
    if (input.type() != output.type()) {
      packed |= IsSubByte(input.type());
      narrow |= NeedsWidening(input.type());
    }
    simple.pointers[i] = input.data();
    simple.steps[i] = whole ? 1 : 0;
  }
  if (options.as_bits) return packed ? AtOnce::kNo : AtOnce::kAsStored;
  if (!narrow) return AtOnce::kAsStored;
  return output.size() <= kBlock ? AtOnce::kNarrow : AtOnce::kNo;
}

bool SameDims(const Dims& a, const Dims& b) {
  if (a.size() != b.size()) return false;
  for (size_t d = 0; d < a.size(); ++d) {
    if (a[d] != b[d]) return false;
  }
  return true;
}

// The input in whose memory the output may be, or -1.
int ReusableInput(const KernelContext& context, absl::Span<const Tensor* const> inputs,
                  ElementType type, const Dims& dims, const ElementwiseOptions& options) {
  if (!context.AnyInputDies()) return -1;
  const size_t candidates = options.reads_before_writing ? inputs.size() : 1;
  for (size_t i = 0; i < candidates; ++i) {
    const Tensor& input = *inputs[i];
    if (&input == &context.input(static_cast<int>(i)) && context.InputDies(static_cast<int>(i)) &&
        BitsOf(input.type()) == BitsOf(type) && SameDims(input.dims(), dims)) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

}  // namespace

absl::StatusOr<Dims> BroadcastDims(absl::Span<const absl::Span<const int64_t>> dims) {
  size_t rank = 0;
  for (const auto& each : dims) rank = std::max(rank, each.size());
  Dims result(rank, 1);
  for (const auto& each : dims) {
    const size_t shift = rank - each.size();
    for (size_t d = 0; d < each.size(); ++d) {
      int64_t& dim = result[shift + d];
      if (each[d] == dim || each[d] == 1) continue;
      if (dim != 1) {
        std::string all;
        for (const auto& one : dims)
          absl::StrAppend(&all, all.empty() ? "" : " and ", DimsToString(one));
        return absl::InvalidArgumentError(
            absl::StrCat("dimensions ", all, " cannot be broadcast to one another"));
      }
      dim = each[d];
    }
  }
  return result;
}

absl::StatusOr<Dims> BroadcastDims(absl::Span<const int64_t> a, absl::Span<const int64_t> b) {
  const absl::Span<const int64_t> both[] = {a, b};
  return BroadcastDims(both);
}

absl::Status ElementwiseInto(KernelContext& context, absl::Span<const Tensor* const> inputs,
                             Tensor& output, ElementLoop loop, const ElementwiseOptions& options) {
  if (output.size() == 0) return absl::OkStatus();
  SimpleInputs simple;
  switch (RunsAtOnce(inputs, output, options, simple)) {
    case AtOnce::kNo: break;
    case AtOnce::kAsStored:
      loop({simple.pointers, simple.steps, output.mutable_data(), output.size()});
      return absl::OkStatus();
    case AtOnce::kNarrow: return RunNarrow(inputs, simple, output, loop, options.convert);
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!IsSubByte(inputs[i]->type()) || inputs[i]->size() == output.size()) continue;
    // A packed input that is broadcast: few elements, most likely.
    ASSIGN_OR_RETURN(const Tensor widened, WidenTensor(context, *inputs[i]));
    absl::InlinedVector<const Tensor*, 4> others(inputs.begin(), inputs.end());
    others[i] = &widened;
    return ElementwiseInto(context, others, output, loop, options);
  }
  const Engine engine(inputs, output, loop, options);
  if (output.size() <= options.grain) return engine.Run(0, output.size());
  std::atomic<bool> failed = false;
  context.ParallelFor(output.size(), options.grain, [&](int64_t begin, int64_t end) {
    if (!engine.Run(begin, end).ok()) failed = true;
  });
  return failed ? absl::InternalError("an element-wise conversion failed") : absl::OkStatus();
}

absl::Status Elementwise(KernelContext& context, absl::Span<const Tensor* const> inputs,
                         ElementType output_type, ElementLoop loop,
                         const ElementwiseOptions& options) {
  Dims broadcast;
  const Dims* dims = &inputs[0]->dims();
  for (const Tensor* input : inputs.subspan(1)) {
    if (SameDims(input->dims(), *dims) || input->rank() == 0) continue;
    absl::InlinedVector<absl::Span<const int64_t>, 4> all;
    for (const Tensor* each : inputs) all.push_back(each->dims());
    ASSIGN_OR_RETURN(broadcast, BroadcastDims(all));
    dims = &broadcast;
    break;
  }
  const int reused = ReusableInput(context, inputs, output_type, *dims, options);
  if (reused >= 0) {
    const Dims kept = *dims;
    ASSIGN_OR_RETURN(Tensor * output, context.OutputInPlace(0, reused, output_type, kept));
    return ElementwiseInto(context, inputs, *output, loop, options);
  }
  ASSIGN_OR_RETURN(Tensor * output, context.Output(0, output_type, *dims));
  return ElementwiseInto(context, inputs, *output, loop, options);
}

absl::StatusOr<OldBroadcast> ParseOldBroadcast(const NodeInfo& node) {
  OldBroadcast result{node.IntOr("broadcast", 0) != 0, std::nullopt};
  if (node.Has("axis")) result.axis = node.IntOr("axis", 0);
  return result;
}

absl::StatusOr<Tensor> AlignOldBroadcast(const OldBroadcast& attributes, const Tensor& a,
                                         const Tensor& b) {
  const int rank = a.rank();
  if (a.dims() == b.dims()) return b;
  if (!attributes.broadcast) {
    return absl::InvalidArgumentError(
        absl::StrCat("A is ", TypeAndDims(a), " and B is ", TypeAndDims(b),
                     ": their dimensions must agree where attribute \"broadcast\" is not 1"));
  }
  int64_t axis = attributes.axis.value_or(rank - b.rank());
  if (axis < 0) axis += rank;
  bool fits = axis >= 0 && axis + b.rank() <= rank;
  for (int d = 0; fits && d < b.rank(); ++d) {
    fits = b.dim(d) == 1 || b.dim(d) == a.dim(static_cast<int>(axis) + d);
  }
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat("B, ", TypeAndDims(b),
                                                   ", cannot be broadcast to A, ", TypeAndDims(a),
                                                   ", from axis ", axis, " on"));
  }
  Dims dims(b.dims().begin(), b.dims().end());
  dims.resize(static_cast<size_t>(rank - axis), 1);
  return b.WithDims(dims);
}

}  // namespace onnx_run
