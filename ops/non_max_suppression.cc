// NonMaxSuppression: for each batch and class, boxes by falling score that do not overlap better
// ones.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/dispatch.h"
#include "ops/families.h"
#include "ops/kernel_table.h"
#include "ops/shape_util.h"
#include "runtime/status_macros.h"

namespace onnx_run {
namespace {

absl::StatusOr<bool> ParseCenterPointBox(const NodeInfo& node) {
  const int64_t center = node.IntOr("center_point_box", 0);
  if (center != 0 && center != 1) {
    return node.BadAttribute("center_point_box", absl::StrCat(center), "0 or 1");
  }
  return center == 1;
}

struct Box {
  float x_min, x_max, y_min, y_max;
  float Area() const { return (x_max - x_min) * (y_max - y_min); }
};

Box ReadBox(const float* box, bool center) {
  if (center) {
    return {box[0] - box[2] / 2, box[0] + box[2] / 2, box[1] - box[3] / 2, box[1] + box[3] / 2};
  }
  return {std::min(box[1], box[3]), std::max(box[1], box[3]), std::min(box[0], box[2]),
          std::max(box[0], box[2])};
}

bool Overlap(const Box& a, const Box& b, float iou_threshold) {
  const float width = std::min(a.x_max, b.x_max) - std::max(a.x_min, b.x_min);
  const float height = std::min(a.y_max, b.y_max) - std::max(a.y_min, b.y_min);
  if (!(width > 0) || !(height > 0)) return false;
  const float intersection = width * height;
  const float area_a = a.Area();
  const float area_b = b.Area();
  const float both = area_a + area_b - intersection;
  if (intersection <= 0 || area_a <= 0 || area_b <= 0 || both <= 0) return false;
  return intersection / both > iou_threshold;
}

// An optional input of one number; `fallback` when it is absent or empty.
absl::StatusOr<double> NumberOr(KernelContext& context, int input, absl::string_view name,
                                double fallback) {
  if (!context.has_input(input) || context.input(input).size() == 0) return fallback;
  return ReadNumber(context.input(input), name);
}

absl::Status NonMaxSuppression(const bool& center, KernelContext& context) {
  const Tensor& boxes = context.input(0);
  const Tensor& scores = context.input(1);
  if (boxes.rank() != 3 || boxes.dim(2) != 4 || scores.rank() != 3 ||
      scores.dim(0) != boxes.dim(0) || scores.dim(2) != boxes.dim(1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("boxes is ", TypeAndDims(boxes), " and scores ", TypeAndDims(scores),
                     ", expected [batches,boxes,4] and [batches,classes,boxes]"));
  }
  ASSIGN_OR_RETURN(const double limit, NumberOr(context, 2, "max_output_boxes_per_class", 0));
  ASSIGN_OR_RETURN(const double iou_threshold, NumberOr(context, 3, "iou_threshold", 0));
  const bool has_score_threshold = context.has_input(4) && context.input(4).size() != 0;
  ASSIGN_OR_RETURN(const double score_threshold, NumberOr(context, 4, "score_threshold", 0));

  const int64_t batches = scores.dim(0);
  const int64_t classes = scores.dim(1);
  const int64_t n = scores.dim(2);
  std::vector<int64_t> selected;
  std::vector<Box> batch_boxes(limit > 0 && scores.size() > 0 ? n : 0);
  std::vector<int64_t> candidates;
  std::vector<int64_t> chosen;
  const int64_t batches_to_do = batch_boxes.empty() ? 0 : batches;
  for (int64_t batch = 0; batch < batches_to_do; ++batch) {
    const float* batch_data = boxes.data_as<float>() + batch * n * 4;
    for (int64_t i = 0; i < n; ++i) batch_boxes[i] = ReadBox(batch_data + i * 4, center);
    for (int64_t cls = 0; cls < classes; ++cls) {
      const float* score = scores.data_as<float>() + (batch * classes + cls) * n;
      candidates.clear();
      for (int64_t i = 0; i < n; ++i) {
        // NaN is no score: it would leave the boxes without an order.
        if (has_score_threshold ? score[i] > static_cast<float>(score_threshold)
                                : !std::isnan(score[i])) {
          candidates.push_back(i);
        }
      }
      std::stable_sort(candidates.begin(), candidates.end(),
                       [score](int64_t a, int64_t b) { return score[a] > score[b]; });
      chosen.clear();
      for (const int64_t candidate : candidates) {
        if (static_cast<double>(chosen.size()) >= limit) break;
        const bool free = std::none_of(chosen.begin(), chosen.end(), [&](int64_t better) {
          return Overlap(batch_boxes[candidate], batch_boxes[better],
                         static_cast<float>(iou_threshold));
        });
        if (!free) continue;
        chosen.push_back(candidate);
        selected.insert(selected.end(), {batch, cls, candidate});
      }
    }
  }
  const auto rows = static_cast<int64_t>(selected.size() / 3);
  ASSIGN_OR_RETURN(Tensor * output, context.Output(0, ElementType::kInt64, {rows, 3}));
  std::copy(selected.begin(), selected.end(), output->mutable_data_as<int64_t>());
  return absl::OkStatus();
}

constexpr auto kKernels =
    KernelTable(Rows<ParseCenterPointBox, NonMaxSuppression>("NonMaxSuppression", 10, 11));

}  // namespace

absl::Span<const KernelDef> NonMaxSuppressionKernels() { return kKernels; }

}  // namespace onnx_run
