#include "runtime/op_schema.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace onnx_run {
namespace {

// <0, 0, >0 as strcmp, by (domain, op type).
int CompareKey(const OpSchema& schema, absl::string_view domain, absl::string_view op_type) {
  const int by_domain = absl::string_view(schema.domain).compare(domain);
  return by_domain != 0 ? by_domain : absl::string_view(schema.op_type).compare(op_type);
}

const SchemaParameter* ParameterAt(absl::Span<const SchemaParameter> parameters, int i) {
  if (i < static_cast<int>(parameters.size())) return &parameters[i];
  if (!parameters.empty() && parameters.back().option == ParameterOption::kVariadic) {
    return &parameters.back();
  }
  return nullptr;
}

}  // namespace

bool SchemaTypeSet::Has(const Value& value) const {
  if (value.is_tensor()) return tensor.Has(value.tensor().type());
  return Has(value.type());
}

bool SchemaTypeSet::Has(const Type& type) const {
  switch (type.kind) {
    case ValueKind::kAbsent: return false;
    case ValueKind::kTensor: return tensor.Has(type.element);
    case ValueKind::kSparseTensor: return sparse.Has(type.element);
    case ValueKind::kMap: return map;
    case ValueKind::kSequence:
      // The elements of an empty sequence may be of an unknown type.
      if (type.inner == nullptr || type.inner->kind == ValueKind::kAbsent) {
        return !sequence.empty() || sequence_of_map;
      }
      if (type.inner->kind == ValueKind::kMap) return sequence_of_map;
      return type.inner->kind == ValueKind::kTensor && sequence.Has(type.inner->element);
    case ValueKind::kOptional:
      if (type.inner == nullptr || type.inner->kind == ValueKind::kAbsent) {
        return !optional.empty() || !optional_sequence.empty();
      }
      if (type.inner->kind == ValueKind::kTensor) return optional.Has(type.inner->element);
      return type.inner->kind == ValueKind::kSequence && type.inner->inner != nullptr &&
             (optional_sequence.Has(type.inner->inner->element) ||
              (type.inner->inner->kind == ValueKind::kAbsent && !optional_sequence.empty()));
  }
  return false;
}

std::string SchemaTypeSet::ToString() const {
  std::vector<std::string> names;
  const auto add = [&](ElementTypeSet set, absl::string_view before, absl::string_view after) {
    for (const ElementTypeInfo& info : kElementTypeTable) {
      if (set.Has(info.type)) names.push_back(absl::StrCat(before, info.type_string, after));
    }
  };
  add(tensor, "tensor(", ")");
  add(sequence, "seq(tensor(", "))");
  add(optional, "optional(tensor(", "))");
  add(optional_sequence, "optional(seq(tensor(", ")))");
  add(sparse, "sparse_tensor(", ")");
  if (map) names.emplace_back("map");
  if (sequence_of_map) names.emplace_back("seq(map)");
  return absl::StrJoin(names, ", ");
}

const SchemaAttribute* OpSchema::FindAttribute(absl::string_view name) const {
  for (const SchemaAttribute& attribute : attributes) {
    if (name == absl::string_view(attribute.name)) return &attribute;
  }
  return nullptr;
}

const SchemaParameter* OpSchema::Input(int i) const { return ParameterAt(inputs, i); }
const SchemaParameter* OpSchema::Output(int i) const { return ParameterAt(outputs, i); }

absl::Span<const OpSchema> SchemaTable::Versions(absl::string_view domain,
                                                 absl::string_view op_type) const {
  const auto begin = std::partition_point(schemas.begin(), schemas.end(), [&](const OpSchema& s) {
    return CompareKey(s, domain, op_type) < 0;
  });
  auto end = begin;
  while (end != schemas.end() && CompareKey(*end, domain, op_type) == 0) ++end;
  return absl::MakeConstSpan(begin, end);
}

const OpSchema* SchemaTable::Find(absl::string_view domain, absl::string_view op_type,
                                  int64_t opset) const {
  const OpSchema* found = nullptr;
  for (const OpSchema& schema : Versions(domain, op_type)) {
    if (schema.since_version <= opset) found = &schema;
  }
  return found;
}

const SchemaDomain* SchemaTable::FindDomain(absl::string_view domain) const {
  for (const SchemaDomain& row : domains) {
    if (domain == absl::string_view(row.domain)) return &row;
  }
  return nullptr;
}

}  // namespace onnx_run
