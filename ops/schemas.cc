// The standard's schemas, from the table that tools/gen writes at build time.
#include "ops/all_ops.h"

namespace onnx_run {
namespace {

#include "ops/schema_table.inc"

}  // namespace

const SchemaTable& StandardSchemas() {
  static constexpr SchemaTable kTable = {kSchemas, kTypeSets, kDomains, kMaxIrVersion,
                                         kOnnxVersion};
  return kTable;
}

}  // namespace onnx_run
