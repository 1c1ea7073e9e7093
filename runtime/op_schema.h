// What the standard says of an operator: arity, types, attributes and defaults, by since version.
//
// The rows are generated at build time from the onnx library's OpSchemaRegistry (tools/gen), so
// that the loader's checks are the standard's own words and not our reading of them. No row is
// written by hand.
#ifndef ONNX_RUN_RUNTIME_OP_SCHEMA_H_
#define ONNX_RUN_RUNTIME_OP_SCHEMA_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/element_type.h"
#include "runtime/model.h"
#include "runtime/value.h"

namespace onnx_run {

// The types that a formal parameter takes.
struct SchemaTypeSet {
  ElementTypeSet tensor;             // tensor(T)
  ElementTypeSet sequence;           // seq(tensor(T))
  ElementTypeSet optional;           // optional(tensor(T))
  ElementTypeSet optional_sequence;  // optional(seq(tensor(T)))
  ElementTypeSet sparse;             // sparse_tensor(T)
  bool map = false;                  // any map(...) or seq(map(...))
  bool sequence_of_map = false;

  // Whether a value, or a declared type, is one of these. Shapes do not matter.
  bool Has(const Value& value) const;
  bool Has(const Type& type) const;
  // "tensor(float), tensor(int64), seq(tensor(float))"
  std::string ToString() const;
};

enum class ParameterOption : uint8_t { kSingle, kOptional, kVariadic };

struct SchemaParameter {
  absl::string_view name;
  absl::string_view type_string;  // "T", or a type: "tensor(int64)"
  int16_t constraint;  // same number: same constraint variable of this operator; -1: a fixed type
  uint16_t types;      // index into SchemaTable::type_sets
  ParameterOption option;
  bool homogeneous;  // of a variadic one: all of the same type
};

struct SchemaAttribute {
  absl::string_view name;
  AttributeKind kind;
  bool required;
  bool has_default;
  int64_t i;
  float f;
  absl::string_view s;
  const int64_t* ints;
  const float* floats;
  const char* const* strings;
  int count;  // of ints, floats or strings
};

enum class SchemaBody : uint8_t { kNone, kFunction, kContextDependent };

struct OpSchema {
  absl::string_view domain;
  absl::string_view op_type;
  int since_version;
  bool deprecated;
  SchemaBody body;  // official function body
  bool deterministic;
  int min_inputs, max_inputs, min_outputs, max_outputs;  // max INT32_MAX: any number
  absl::Span<const SchemaParameter> inputs;
  absl::Span<const SchemaParameter> outputs;
  absl::Span<const SchemaAttribute> attributes;

  const SchemaAttribute* FindAttribute(absl::string_view name) const;
  // The formal parameter of actual input or output i: the last, variadic, one goes on. nullptr past
  // it.
  const SchemaParameter* Input(int i) const;
  const SchemaParameter* Output(int i) const;
};

struct SchemaDomain {
  absl::string_view domain;
  int min_version;
  int max_version;
};

// Sorted by (domain, op_type, since_version).
struct SchemaTable {
  absl::Span<const OpSchema> schemas;
  absl::Span<const SchemaTypeSet> type_sets;
  absl::Span<const SchemaDomain> domains;
  int max_ir_version;
  const char* onnx_version;  // "1.22.0"

  // The schema with the greatest since version not above `opset`; nullptr when there is none.
  const OpSchema* Find(absl::string_view domain, absl::string_view op_type, int64_t opset) const;
  // All versions of an operator, oldest first.
  absl::Span<const OpSchema> Versions(absl::string_view domain, absl::string_view op_type) const;
  const SchemaDomain* FindDomain(absl::string_view domain) const;
  const SchemaTypeSet& TypesOf(const SchemaParameter& parameter) const {
    return type_sets[parameter.types];
  }
};

}  // namespace onnx_run

#endif  // ONNX_RUN_RUNTIME_OP_SCHEMA_H_
