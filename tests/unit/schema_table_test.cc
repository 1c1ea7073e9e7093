// The generated table of schemas and the tables of kernels against the onnx library's own registry.
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"
#include "onnx/defs/data_type_utils.h"
#include "onnx/defs/schema.h"
#include "ops/all_ops.h"
#include "runtime/op_schema.h"
#include "runtime/registry.h"

namespace onnx_run {
namespace {

using Key = std::tuple<std::string, std::string, int>;  // domain, operator, since version

std::string Name(const Key& key) {
  return std::get<0>(key) + "." + std::get<1>(key) + "-" + std::to_string(std::get<2>(key));
}

std::map<Key, const OpSchema*> TableByKey() {
  std::map<Key, const OpSchema*> rows;
  for (const OpSchema& row : StandardSchemas().schemas) {
    const Key key(std::string(row.domain), std::string(row.op_type), row.since_version);
    EXPECT_TRUE(rows.emplace(key, &row).second) << Name(key) << " stands twice";
  }
  return rows;
}

std::map<Key, onnx::OpSchema> LiveByKey() {
  std::map<Key, onnx::OpSchema> schemas;
  for (const onnx::OpSchema& schema : onnx::OpSchemaRegistry::get_all_schemas_with_history()) {
    schemas.emplace(Key(schema.domain(), schema.Name(), schema.SinceVersion()), schema);
  }
  return schemas;
}

// --- Types: the table's sets spelled out, to be compared as sets of strings --------

std::set<std::string> Spelled(const SchemaTypeSet& types) {
  std::set<std::string> names;
  const auto add = [&](ElementTypeSet set, const std::string& before, const std::string& after) {
    for (int number = 1; number < kElementTypeCount; ++number) {
      const auto type = static_cast<ElementType>(number);
      if (set.Has(type)) names.insert(before + std::string(TypeName(type)) + after);
    }
  };
  add(types.tensor, "tensor(", ")");
  add(types.sequence, "seq(tensor(", "))");
  add(types.optional, "optional(tensor(", "))");
  add(types.optional_sequence, "optional(seq(tensor(", ")))");
  add(types.sparse, "sparse_tensor(", ")");
  // The table knows maps without their types.
  if (types.map) names.insert("map");
  if (types.sequence_of_map) names.insert("seq(map)");
  return names;
}

std::set<std::string> Spelled(const onnx::DataTypeSet& types) {
  std::set<std::string> names;
  for (const onnx::DataType& type : types) {
    const std::string& text = *type;
    if (text.rfind("map(", 0) == 0) {
      names.insert("map");
    } else if (text.rfind("seq(map(", 0) == 0) {
      names.insert("seq(map)");
    } else {
      names.insert(text);
    }
  }
  return names;
}

int Arity(int n) { return n == std::numeric_limits<int>::max() ? INT32_MAX : n; }

void ExpectSameParameters(absl::Span<const SchemaParameter> table,
                          const std::vector<onnx::OpSchema::FormalParameter>& live,
                          const onnx::OpSchema& schema, const std::string& where) {
  ASSERT_EQ(table.size(), live.size()) << where;
  std::set<std::string> variables;
  for (const auto& constraint : schema.typeConstraintParams()) {
    variables.insert(constraint.type_param_str);
  }
  for (size_t i = 0; i < live.size(); ++i) {
    SCOPED_TRACE(where + " " + std::to_string(i));
    EXPECT_EQ(table[i].name, live[i].GetName());
    EXPECT_EQ(table[i].type_string, live[i].GetTypeStr());
    EXPECT_EQ(table[i].homogeneous, live[i].GetIsHomogeneous());
    const auto option = live[i].GetOption() == onnx::OpSchema::Variadic ? ParameterOption::kVariadic
                        : live[i].GetOption() == onnx::OpSchema::Optional
                            ? ParameterOption::kOptional
                            : ParameterOption::kSingle;
    EXPECT_EQ(table[i].option, option);
    EXPECT_EQ(Spelled(StandardSchemas().TypesOf(table[i])), Spelled(live[i].GetTypes()));
    EXPECT_EQ(table[i].constraint >= 0, variables.contains(live[i].GetTypeStr()));
  }
}

// Two parameters carry one number exactly when they name one variable.
void ExpectSameVariables(const OpSchema& row) {
  std::vector<const SchemaParameter*> all;
  for (const SchemaParameter& parameter : row.inputs) all.push_back(&parameter);
  for (const SchemaParameter& parameter : row.outputs) all.push_back(&parameter);
  for (const SchemaParameter* a : all) {
    for (const SchemaParameter* b : all) {
      if (a->constraint < 0 || b->constraint < 0) continue;
      EXPECT_EQ(a->constraint == b->constraint, a->type_string == b->type_string)
          << row.op_type << ": " << a->name << " and " << b->name;
    }
  }
}

void ExpectSameDefault(const SchemaAttribute& table, const onnx::AttributeProto& live) {
  switch (live.type()) {
    case onnx::AttributeProto::INT: EXPECT_EQ(table.i, live.i()); break;
    case onnx::AttributeProto::FLOAT: {
      const float value = live.f();
      EXPECT_EQ(std::memcmp(&table.f, &value, sizeof(float)), 0) << table.f << " and " << value;
      break;
    }
    case onnx::AttributeProto::STRING: EXPECT_EQ(table.s, live.s()); break;
    case onnx::AttributeProto::INTS:
      ASSERT_EQ(table.count, live.ints_size());
      for (int i = 0; i < table.count; ++i) EXPECT_EQ(table.ints[i], live.ints(i));
      break;
    case onnx::AttributeProto::FLOATS:
      ASSERT_EQ(table.count, live.floats_size());
      for (int i = 0; i < table.count; ++i) EXPECT_EQ(table.floats[i], live.floats(i));
      break;
    case onnx::AttributeProto::STRINGS:
      ASSERT_EQ(table.count, live.strings_size());
      for (int i = 0; i < table.count; ++i) EXPECT_EQ(table.strings[i], live.strings(i));
      break;
    default:
      ADD_FAILURE() << "a default of type " << live.type() << ", which the table cannot hold";
  }
}

void ExpectSameAttributes(const OpSchema& row, const onnx::OpSchema& live) {
  std::set<std::string> names;
  for (const SchemaAttribute& attribute : row.attributes) {
    EXPECT_TRUE(names.insert(std::string(attribute.name)).second) << attribute.name;
  }
  EXPECT_EQ(names.size(), live.attributes().size());
  for (const auto& [name, attribute] : live.attributes()) {
    SCOPED_TRACE("attribute " + name);
    const SchemaAttribute* own = row.FindAttribute(name);
    ASSERT_NE(own, nullptr);
    EXPECT_EQ(static_cast<int>(own->kind), static_cast<int>(attribute.type));
    EXPECT_EQ(own->required, attribute.required);
    const bool has_default = attribute.default_value.type() != onnx::AttributeProto::UNDEFINED;
    EXPECT_EQ(own->has_default, has_default);
    if (has_default && own->has_default) ExpectSameDefault(*own, attribute.default_value);
  }
}

TEST(SchemaTable, SaysWhatTheRegistrySays) {
  const std::map<Key, const OpSchema*> table = TableByKey();
  const std::map<Key, onnx::OpSchema> live = LiveByKey();
  EXPECT_GT(table.size(), 600U);
  for (const auto& [key, row] : table) EXPECT_TRUE(live.contains(key)) << Name(key);
  for (const auto& [key, schema] : live) {
    SCOPED_TRACE(Name(key));
    const auto found = table.find(key);
    ASSERT_NE(found, table.end());
    const OpSchema& row = *found->second;
    EXPECT_EQ(row.deprecated, schema.Deprecated());
    EXPECT_EQ(row.min_inputs, Arity(schema.min_input()));
    EXPECT_EQ(row.max_inputs, Arity(schema.max_input()));
    EXPECT_EQ(row.min_outputs, Arity(schema.min_output()));
    EXPECT_EQ(row.max_outputs, Arity(schema.max_output()));
    EXPECT_EQ(row.body != SchemaBody::kNone,
              schema.HasFunction() || schema.HasContextDependentFunction());
    ExpectSameParameters(row.inputs, schema.inputs(), schema, "input");
    ExpectSameParameters(row.outputs, schema.outputs(), schema, "output");
    ExpectSameVariables(row);
    ExpectSameAttributes(row, schema);
  }
}

TEST(SchemaTable, FindsWhatTheRegistryFinds) {
  const SchemaTable& table = StandardSchemas();
  std::set<std::pair<std::string, std::string>> operators;
  for (const OpSchema& row : table.schemas)
    operators.emplace(std::string(row.domain), std::string(row.op_type));
  for (const auto& [domain, op_type] : operators) {
    const SchemaDomain* range = table.FindDomain(domain);
    ASSERT_NE(range, nullptr) << domain;
    for (int opset = range->min_version; opset <= range->max_version; ++opset) {
      const onnx::OpSchema* live = onnx::OpSchemaRegistry::Schema(op_type, opset, domain);
      const OpSchema* own = table.Find(domain, op_type, opset);
      ASSERT_EQ(own != nullptr, live != nullptr) << domain << "." << op_type << " " << opset;
      if (live != nullptr) {
        EXPECT_EQ(own->since_version, live->SinceVersion()) << op_type << " " << opset;
      }
    }
  }
}

TEST(SchemaTable, KnowsTheDomainsAndVersions) {
  const SchemaTable& table = StandardSchemas();
  const auto& live = onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map();
  EXPECT_EQ(table.domains.size(), live.size());
  for (const auto& [domain, range] : live) {
    const SchemaDomain* own = table.FindDomain(domain);
    ASSERT_NE(own, nullptr) << domain;
    EXPECT_EQ(own->min_version, range.first);
    EXPECT_EQ(own->max_version, range.second);
  }
  EXPECT_EQ(table.max_ir_version, static_cast<int>(onnx::Version::IR_VERSION));
}

// --- Kernels -----------------------------------------------------------------

TEST(KernelTables, EveryRowServesOneSchema) {
  const std::map<Key, const OpSchema*> schemas = TableByKey();
  // A version may be deprecated (GroupNormalization-18); an operator of which no other is left may
  // not.
  std::set<std::pair<std::string, std::string>> alive;
  for (const auto& [key, schema] : schemas) {
    if (!schema->deprecated) alive.emplace(std::get<0>(key), std::get<1>(key));
  }
  std::set<Key> seen;
  for (absl::Span<const KernelDef> family : AllKernels()) {
    for (const KernelDef& row : family) {
      const Key key(std::string(row.domain), std::string(row.op_type), row.since_version);
      EXPECT_TRUE(seen.insert(key).second) << Name(key) << " has two kernels";
      EXPECT_TRUE(schemas.contains(key)) << Name(key) << " is no since version of the standard";
      EXPECT_TRUE(alive.contains({std::get<0>(key), std::get<1>(key)})) << Name(key);
      EXPECT_NE(row.run, nullptr) << Name(key);
    }
  }
}

TEST(KernelTables, AnOperatorHasKernelsForAllOfItsVersions) {
  std::set<Key> kernels;
  std::set<std::pair<std::string, std::string>> operators;
  for (absl::Span<const KernelDef> family : AllKernels()) {
    for (const KernelDef& row : family) {
      kernels.emplace(std::string(row.domain), std::string(row.op_type), row.since_version);
      operators.emplace(std::string(row.domain), std::string(row.op_type));
    }
  }
  for (const OpSchema& row : StandardSchemas().schemas) {
    if (row.deprecated || !operators.contains({std::string(row.domain), std::string(row.op_type)}))
      continue;
    const Key key(std::string(row.domain), std::string(row.op_type), row.since_version);
    EXPECT_TRUE(kernels.contains(key)) << Name(key) << " has no kernel, other versions have";
  }
}

TEST(KernelTables, TheRegistryFindsThem) {
  const OpRegistry registry(AllKernels(), &StandardSchemas());
  for (absl::Span<const KernelDef> family : AllKernels()) {
    for (const KernelDef& row : family) {
      const OpRegistry::Found found = registry.Find(row.domain, row.op_type, row.since_version);
      ASSERT_NE(found.schema, nullptr);
      EXPECT_EQ(found.schema->since_version, row.since_version);
      EXPECT_EQ(found.kernel, &row) << row.op_type << "-" << row.since_version;
    }
  }
}

}  // namespace
}  // namespace onnx_run
