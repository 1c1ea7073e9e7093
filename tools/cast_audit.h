// onnx-run --cast-audit: what every Cast, CastLike, QuantizeLinear, DequantizeLinear and
// DynamicQuantizeLinear of a model did to the values that went through it.
#ifndef ONNX_RUN_TOOLS_CAST_AUDIT_H_
#define ONNX_RUN_TOOLS_CAST_AUDIT_H_

#include <map>
#include <string>
#include <vector>

#include "runtime/session.h"
#include "tools/audit.h"

namespace onnx_run::tools {

class CastAudit : public Observer {
 public:
  void OnNodeEnd(const NodeInfo& node, absl::Span<const Value* const> inputs,
                 absl::Span<Value* const> outputs, const absl::Status& status) override;

  // Nodes by damage, an example for each that is not exact.
  std::string TableText() const;
  std::string Json() const;
  bool empty() const { return rows_.empty(); }

 private:
  struct Row {
    std::string title;  // `Cast "c1"`
    std::string path;   // of its subgraph
    std::string value;  // the output's name
    ElementType from = ElementType::kUndefined;
    ElementType to = ElementType::kUndefined;
    int64_t runs = 0;  // more than one in loops
    AuditCounts counts;
  };
  std::vector<const Row*> Sorted() const;
  std::map<const NodeInfo*, Row> rows_;
};

// Quantization judged by what the result stands for: y = saturate(round(x / scale) + zero_point) is
// taken as the number (y - zero_point) * scale. Exposed for its test.
void AuditQuantize(const Tensor& x, const Tensor& scale, const Tensor* zero_point, const Tensor& y,
                   int64_t axis, int64_t block_size, AuditCounts& counts);
void AuditDequantize(const Tensor& x, const Tensor& scale, const Tensor* zero_point,
                     const Tensor& y, int64_t axis, int64_t block_size, AuditCounts& counts);

}  // namespace onnx_run::tools

#endif  // ONNX_RUN_TOOLS_CAST_AUDIT_H_
