// Cast and CastLike, all versions: the conversion library's rules, applied to tensors.
#include <optional>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "ops/families.h"
#include "runtime/convert/convert.h"
#include "runtime/kernel.h"
#include "runtime/status_macros.h"

namespace onnx_run {
namespace {

struct CastAttributes {
  ElementType to = ElementType::kUndefined;  // CastLike takes it from its second input
  ConvertOptions options;
};

// Cast-1 spells the type as an enumerator's name, later versions give its number. The types that a
// version allows are its schema's business; the loader compares the inferred output type with it.
absl::StatusOr<ElementType> ParseTo(const NodeInfo& node) {
  std::optional<ElementType> to;
  std::string found;
  if (node.since_version() < 6) {
    ASSIGN_OR_RETURN(found, node.String("to"));
    to = ElementTypeFromName(found);
    if (to && found != EnumName(*to)) to.reset();
    found = absl::StrCat("\"", found, "\"");
  } else {
    ASSIGN_OR_RETURN(const int64_t number, node.Int("to"));
    to = ElementTypeFromNumber(number);
    found = absl::StrCat(number);
    if (to) absl::StrAppend(&found, " (", EnumName(*to), ")");
  }
  if (!to || KindOf(*to) == ElementKind::kComplex) {
    return node.BadAttribute("to", found, "the data type of a tensor that is not complex");
  }
  return *to;
}

// `saturate` came with version 19, `round_mode` with 24; where a version has none, the schema gives
// no default and the fallback stands.
absl::StatusOr<ConvertOptions> ParseOptions(const NodeInfo& node) {
  ConvertOptions options;
  options.saturate = node.IntOr("saturate", 1) != 0;
  const std::string mode = node.StringOr("round_mode", "up");
  if (mode == "up") {
    options.round_mode = RoundMode::kUp;
  } else if (mode == "down") {
    options.round_mode = RoundMode::kDown;
  } else if (mode == "nearest") {
    options.round_mode = RoundMode::kNearest;
  } else {
    return node.BadAttribute("round_mode", absl::StrCat("\"", mode, "\""),
                             "\"up\", \"down\" or \"nearest\"");
  }
  return options;
}

absl::StatusOr<CastAttributes> ParseCast(const NodeInfo& node) {
  CastAttributes attributes;
  ASSIGN_OR_RETURN(attributes.to, ParseTo(node));
  ASSIGN_OR_RETURN(attributes.options, ParseOptions(node));
  return attributes;
}

absl::StatusOr<CastAttributes> ParseCastLike(const NodeInfo& node) {
  CastAttributes attributes;
  ASSIGN_OR_RETURN(attributes.options, ParseOptions(node));
  return attributes;
}

absl::Status InferCast(const NodeInfo& node, absl::Span<const Type> /*inputs*/,
                       absl::Span<Type> outputs) {
  ASSIGN_OR_RETURN(const ElementType to, ParseTo(node));
  outputs[0] = Type::OfTensor(to);
  return absl::OkStatus();
}

absl::Status CastTo(ElementType to, const ConvertOptions& options, KernelContext& context) {
  const Tensor& from = context.input(0);
  if (from.type() == to) {
    // The same type: the same bytes, NaN payloads and all; nothing to do where the buffer can pass
    // on.
    context.SetOutput(0, context.TakeInput(0));
    return absl::OkStatus();
  }
  if (from.is_string()) {
    ASSIGN_OR_RETURN(Tensor * output, context.Output(0, to, from.dims()));
    return ConvertFromString(from.strings(), output->mutable_data(), to, options);
  }
  if (to == ElementType::kString) {
    ASSIGN_OR_RETURN(Tensor * output, context.OutputTexts(0, from.dims()));
    return ConvertToString(from.data(), from.type(), output->mutable_strings());
  }
  ASSIGN_OR_RETURN(Tensor * output, context.OutputInPlace(0, 0, to, from.dims()));
  const auto parallel_for = [&](int64_t n, int64_t grain,
                                absl::FunctionRef<void(int64_t, int64_t)> fn) {
    context.ParallelFor(n, grain, fn);
  };
  return ConvertParallel(from.data(), from.type(), output->mutable_data(), to, from.size(), options,
                         parallel_for);
}

absl::Status Cast(const CastAttributes& attributes, KernelContext& context) {
  return CastTo(attributes.to, attributes.options, context);
}

// Only the element type of target_type counts; official data gives it no elements at all. The
// standard's function body drops round_mode; the attribute exists, so it is honoured here.
absl::Status CastLike(const CastAttributes& attributes, KernelContext& context) {
  return CastTo(context.input(1).type(), attributes.options, context);
}

constexpr KernelDef kCastKernels[] = {
    Kernel<ParseCast, Cast>("", "Cast", 25).Infer(InferCast),
    Kernel<ParseCast, Cast>("", "Cast", 24).Infer(InferCast),
    Kernel<ParseCast, Cast>("", "Cast", 23).Infer(InferCast),
    Kernel<ParseCast, Cast>("", "Cast", 21).Infer(InferCast),
    Kernel<ParseCast, Cast>("", "Cast", 19).Infer(InferCast),
    Kernel<ParseCast, Cast>("", "Cast", 13).Infer(InferCast),
    Kernel<ParseCast, Cast>("", "Cast", 9).Infer(InferCast),
    Kernel<ParseCast, Cast>("", "Cast", 6).Infer(InferCast),
    Kernel<ParseCast, Cast>("", "Cast", 1).Infer(InferCast),
    Kernel<ParseCastLike, CastLike>("", "CastLike", 25),
    Kernel<ParseCastLike, CastLike>("", "CastLike", 24),
    Kernel<ParseCastLike, CastLike>("", "CastLike", 23),
    Kernel<ParseCastLike, CastLike>("", "CastLike", 21),
    Kernel<ParseCastLike, CastLike>("", "CastLike", 19),
    Kernel<ParseCastLike, CastLike>("", "CastLike", 15),
};

}  // namespace

absl::Span<const KernelDef> CastKernels() { return kCastKernels; }

}  // namespace onnx_run
