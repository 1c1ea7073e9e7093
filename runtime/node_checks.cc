#include "runtime/node_checks.h"

#include <algorithm>
#include <array>
#include <bit>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/plan.h"
#include "runtime/status_macros.h"

namespace onnx_run {
namespace {

std::string Range(int min, int max) {
  if (max == INT32_MAX) return absl::StrCat(min, " or more");
  return min == max ? absl::StrCat(min) : absl::StrCat(min, " to ", max);
}

std::string Versioned(const OpSchema& schema) {
  return absl::StrCat(schema.op_type, "-", schema.since_version);
}

// How many are given, "" at the end not counted.
int Given(const std::vector<std::string>& names) {
  int count = static_cast<int>(names.size());
  while (count > 0 && names[count - 1].empty()) --count;
  return count;
}

absl::Status CheckAttributes(const NodeInfo& node, const OpSchema& schema) {
  const std::vector<Attribute>& attributes = node.node().attributes;
  for (size_t i = 0; i < attributes.size(); ++i) {
    const Attribute& attribute = attributes[i];
    for (size_t j = 0; j < i; ++j) {
      if (attributes[j].name == attribute.name) {
        return absl::InvalidArgumentError(
            absl::StrCat("attribute \"", attribute.name, "\" is given twice"));
      }
    }
    const SchemaAttribute* row = schema.FindAttribute(attribute.name);
    if (row == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(
          "unknown attribute \"", attribute.name, "\"; ", Versioned(schema), " has: ",
          schema.attributes.empty() ? "none"
                                    : absl::StrJoin(schema.attributes, ", ",
                                                    [](std::string* out, const SchemaAttribute& a) {
                                                      absl::StrAppend(out, a.name);
                                                    })));
    }
    if (row->kind != attribute.kind) {
      return absl::InvalidArgumentError(absl::StrCat(
          "attribute \"", attribute.name, "\" is of type ", AttributeKindName(attribute.kind),
          ", expected ", AttributeKindName(row->kind)));
    }
  }
  for (const SchemaAttribute& row : schema.attributes) {
    if (row.required && node.Find(row.name) == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("attribute \"", row.name, "\" (", AttributeKindName(row.kind),
                       ") is required by ", Versioned(schema), " and missing"));
    }
  }
  return absl::OkStatus();
}

// The one type a set allows, if it is one tensor type.
Type OnlyType(const SchemaTypeSet& set) {
  const auto single = [](ElementTypeSet s) { return std::has_single_bit(s.bits()); };
  const auto first = [](ElementTypeSet s) {
    return static_cast<ElementType>(std::countr_zero(s.bits()));
  };
  const bool other = !set.optional.empty() || !set.optional_sequence.empty() ||
                     !set.sparse.empty() || set.map || set.sequence_of_map;
  if (!other && set.sequence.empty() && single(set.tensor))
    return Type::OfTensor(first(set.tensor));
  if (!other && set.tensor.empty() && single(set.sequence)) {
    return Type::OfSequence(Type::OfTensor(first(set.sequence)));
  }
  return {};
}

}  // namespace

bool AllowedLater(const SchemaTable& schemas, const OpSchema& schema, bool output, int i,
                  const Type& type) {
  for (const OpSchema& later : schemas.Versions(schema.domain, schema.op_type)) {
    if (later.since_version <= schema.since_version) continue;
    const SchemaParameter* parameter = output ? later.Output(i) : later.Input(i);
    if (parameter != nullptr && schemas.TypesOf(*parameter).Has(type)) return true;
  }
  return false;
}

absl::Status CheckArityAndAttributes(const NodeInfo& node) {
  const OpSchema& schema = *node.schema();
  // A "" at the end counts towards the minimum: Loop's two optional inputs have to be listed.
  const int listed = node.input_count();
  const int inputs = Given(node.node().inputs);
  const int outputs = Given(node.node().outputs);
  if (listed < schema.min_inputs || inputs > schema.max_inputs) {
    return absl::InvalidArgumentError(absl::StrCat(inputs, " inputs given, ", Versioned(schema),
                                                   " takes ",
                                                   Range(schema.min_inputs, schema.max_inputs)));
  }
  // Fewer outputs than the schema's minimum are let pass: nobody wants them.
  if (outputs > schema.max_outputs) {
    return absl::InvalidArgumentError(absl::StrCat(outputs, " outputs given, ", Versioned(schema),
                                                   " has ",
                                                   Range(schema.min_outputs, schema.max_outputs)));
  }
  for (int i = 0; i < listed; ++i) {
    const SchemaParameter* parameter = schema.Input(i);
    if (parameter != nullptr && parameter->option == ParameterOption::kSingle &&
        !node.has_input(i)) {
      return absl::InvalidArgumentError(
          absl::StrCat("input ", i, " \"", parameter->name, "\" is required and given as \"\""));
    }
  }
  return CheckAttributes(node, schema);
}

absl::Status CheckAndInferTypes(const NodeInfo& node, const SchemaTable& schemas, InferFn infer,
                                absl::Span<const Type> inputs, absl::Span<Type> outputs,
                                bool strict, std::vector<std::string>* warnings, bool* all_known) {
  *all_known = true;
  const OpSchema* schema = node.schema();
  if (schema == nullptr) {
    *all_known = false;
    return infer != nullptr ? infer(node, inputs, outputs) : absl::OkStatus();
  }
  const auto check = [&](bool output, int i, const SchemaParameter& parameter,
                         const Type& type) -> absl::Status {
    const SchemaTypeSet& types = schemas.TypesOf(parameter);
    if (types.Has(type)) return absl::OkStatus();
    std::string message = absl::StrCat(output ? "output " : "input ", i, " \"", parameter.name,
                                       "\" has type ", TypeToString(type), ", accepted by ",
                                       Versioned(*schema), ": ", types.ToString());
    if (!AllowedLater(schemas, *schema, output, i, type))
      return absl::InvalidArgumentError(message);
    absl::StrAppend(&message, "; a later version accepts it");
    if (strict) return absl::InvalidArgumentError(message);
    if (warnings != nullptr) warnings->push_back(absl::StrCat(node.Describe(), ": ", message));
    return absl::OkStatus();
  };
  std::array<const Type*, 32> bound{};
  for (int i = 0; i < static_cast<int>(inputs.size()); ++i) {
    if (!node.has_input(i)) continue;
    const SchemaParameter* parameter = schema->Input(i);
    if (parameter == nullptr) continue;
    const Type& type = inputs[i];
    if (type.kind == ValueKind::kAbsent) {
      *all_known = false;
      continue;
    }
    RETURN_IF_ERROR(check(false, i, *parameter, type));
    if (parameter->constraint < 0 || parameter->constraint >= static_cast<int>(bound.size()) ||
        (parameter->option == ParameterOption::kVariadic && !parameter->homogeneous)) {
      continue;
    }
    const Type*& first = bound[parameter->constraint];
    if (first == nullptr) {
      first = &type;
    } else if (!SameType(*first, type)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "input ", i, " \"", parameter->name, "\" has type ", TypeToString(type), ", expected ",
          TypeToString(*first), " as another input of type ", parameter->type_string));
    }
  }
  for (int i = 0; i < static_cast<int>(outputs.size()); ++i) {
    const SchemaParameter* parameter = schema->Output(i);
    if (parameter == nullptr) continue;
    const bool one_type = parameter->option != ParameterOption::kVariadic || parameter->homogeneous;
    if (parameter->constraint >= 0 && parameter->constraint < static_cast<int>(bound.size()) &&
        one_type && bound[parameter->constraint] != nullptr) {
      outputs[i] = *bound[parameter->constraint];
      outputs[i].shape.reset();
    } else if (one_type) {
      outputs[i] = OnlyType(schemas.TypesOf(*parameter));
    }
  }
  if (infer != nullptr) RETURN_IF_ERROR(infer(node, inputs, outputs));
  for (int i = 0; i < static_cast<int>(outputs.size()); ++i) {
    const SchemaParameter* parameter = schema->Output(i);
    if (parameter == nullptr || outputs[i].kind == ValueKind::kAbsent) continue;
    RETURN_IF_ERROR(check(true, i, *parameter, outputs[i]));
  }
  return absl::OkStatus();
}

}  // namespace onnx_run
