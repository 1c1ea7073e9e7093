// CausalConvWithState: a depthwise convolution of what came before and the input.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/conv.h"
#include "ops/dispatch.h"
#include "ops/families.h"
#include "ops/kernel_table.h"
#include "ops/strided_copy.h"

namespace onnx_run {
namespace {

absl::StatusOr<bool> ParseSilu(const NodeInfo& node) {
  const std::string activation = node.StringOr("activation", "none");
  if (activation != "none" && activation != "silu" && activation != "swish") {
    return node.BadAttribute("activation", absl::StrCat("\"", activation, "\""),
                             "\"none\", \"silu\" or \"swish\"");
  }
  return activation != "none";
}

absl::Status CheckDims(const Tensor& tensor, absl::Span<const int64_t> expected,
                       absl::string_view name) {
  if (absl::MakeSpan(tensor.dims()) == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, " is ", TypeAndDims(tensor), ", expected ", DimsToString(expected)));
}

absl::Status CausalConvWithState(const bool& silu, KernelContext& context) {
  const Tensor& input = context.input(0);
  const Tensor& weight = context.input(1);
  if (input.rank() != 3 || weight.rank() != 3 || weight.dim(2) < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("input is ", TypeAndDims(input), " and weight ", TypeAndDims(weight),
                     ", expected [batch,channels,length] and [channels,1,k] with k at least 1"));
  }
  const int64_t batch = input.dim(0);
  const int64_t channels = input.dim(1);
  const int64_t length = input.dim(2);
  const int64_t state = weight.dim(2) - 1;
  RETURN_IF_ERROR(CheckDims(weight, {channels, 1, state + 1}, "weight"));
  if (context.has_input(2)) RETURN_IF_ERROR(CheckDims(context.input(2), {channels}, "bias"));
  if (context.has_input(3)) {
    RETURN_IF_ERROR(CheckDims(context.input(3), {batch, channels, state}, "past_state"));
  }

  // What came before, then the input; of the same type, so that the new state is copied as it is.
  const ElementType type = input.type();
  const int64_t padded_length = state + length;
  ASSIGN_OR_RETURN(Tensor padded, context.Allocate(type, {batch, channels, padded_length}));
  ASSIGN_OR_RETURN(Tensor * present, context.Output(1, type, {batch, channels, state}));
  for (int64_t row = 0; row < batch * channels; ++row) {
    if (context.has_input(3)) {
      CopyElements(type, context.input(3).data(), row * state, padded.mutable_data(),
                   row * padded_length, state);
    } else {
      FillElements(type, nullptr, 0, padded.mutable_data(), row * padded_length, state);
    }
    CopyElements(type, input.data(), row * length, padded.mutable_data(),
                 row * padded_length + state, length);
    CopyElements(type, padded.data(), row * padded_length + length, present->mutable_data(),
                 row * state, state);
  }

  ConvAttributes attributes;
  attributes.group = std::max<int64_t>(1, channels);
  ASSIGN_OR_RETURN(const Tensor x, WidenTensor(context, padded));
  ASSIGN_OR_RETURN(const Tensor w, WidenTensor(context, weight));
  Tensor bias;
  if (context.has_input(2)) {
    ASSIGN_OR_RETURN(bias, WidenTensor(context, context.input(2)));
  }
  return ComputeOutput(context, 0, type, input.dims(), [&](Tensor& output) -> absl::Status {
    if (output.size() == 0) return absl::OkStatus();
    ASSIGN_OR_RETURN(const ConvShape shape, MakeConvShape(attributes, x, w, nullptr));
    RETURN_IF_ERROR(RunConv<float>(context, shape, x.data_as<float>(), w.data_as<float>(),
                                   bias.data_as<float>(), output.mutable_data_as<float>()));
    if (!silu) return absl::OkStatus();
    for (float& y : output.mutable_span<float>()) {
      const double v = y;
      y = static_cast<float>(v / (1 + std::exp(-v)));
    }
    return absl::OkStatus();
  });
}

constexpr auto kKernels =
    KernelTable(Rows<ParseSilu, CausalConvWithState>("CausalConvWithState", 27));

}  // namespace

absl::Span<const KernelDef> CausalConvKernels() { return kKernels; }

}  // namespace onnx_run
