// Col2Im: blocks of an image, one for each column, added back to the image.
#include <complex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ops/columns_to_image.h"
#include "ops/dispatch.h"
#include "ops/families.h"
#include "ops/kernel_table.h"
#include "ops/shape_util.h"
#include "ops/window.h"

namespace onnx_run {
namespace {

using SumTypes = Types<float, double, uint8_t, uint16_t, uint32_t, uint64_t, std::complex<float>,
                       std::complex<double>>;

absl::Status Col2Im(const WindowAttributes& attributes, KernelContext& context) {
  const Tensor& in = context.input(0);
  ASSIGN_OR_RETURN(const Dims image, ReadInts(context.input(1)));
  ASSIGN_OR_RETURN(const Dims block, ReadInts(context.input(2)));
  for (const int64_t dim : image) {
    if (dim < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("image_shape is ", DimsToString(image), ", expected no negative numbers"));
    }
  }
  if (in.rank() != 3 || image.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the input is ", TypeAndDims(in), " and image_shape ", DimsToString(image),
                     ", expected [N, C * product of block_shape, L] and at least one number"));
  }
  ASSIGN_OR_RETURN(const Window window, MakeWindow(attributes, image, block));
  const int64_t taps = window.KernelSize();
  ASSIGN_OR_RETURN(const int64_t columns, ElementCount(WindowOutputDims({}, window)));
  if (in.dim(1) % taps != 0 || in.dim(2) != columns) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the input is ", TypeAndDims(in), ", expected dimension 1 to be a multiple of ", taps,
        " (block_shape) and dimension 2 to be ", columns, " (blocks)"));
  }
  Dims dims{in.dim(0), in.dim(1) / taps};
  dims.insert(dims.end(), image.begin(), image.end());
  const ElementType type = in.type();
  if (type == ElementType::kString) {
    return absl::InvalidArgumentError("strings cannot be added where blocks overlap");
  }
  ASSIGN_OR_RETURN(const Tensor x, WidenTensor(context, in));
  return ComputeOutput(context, 0, type, dims, [&](Tensor& output) {
    return VisitType(SumTypes(), type, [&]<typename T>(Tag<T>) {
      const int64_t planes = dims[0] * dims[1];
      if (output.size() == 0) return absl::OkStatus();
      const int64_t plane = output.size() / planes;
      const ColumnsToImage to_image(window);
      const auto run = [&]<typename E>(const E* from, E* to) {
        std::fill_n(to, output.size(), E{});
        context.ParallelFor(planes, std::max<int64_t>(1, 65536 / (taps * columns + 1)),
                            [&](int64_t begin, int64_t end) {
                              for (int64_t i = begin; i < end; ++i) {
                                to_image.Add(from + i * taps * columns, to + i * plane);
                              }
                            });
      };
      if (type == ElementType::kBool) {
        run(x.data_as<bool>(), output.mutable_data_as<bool>());
      } else {
        run(x.data_as<T>(), output.mutable_data_as<T>());
      }
      return absl::OkStatus();
    });
  });
}

constexpr auto kKernels = KernelTable(Rows<ParseWindow, Col2Im>("Col2Im", 18));

}  // namespace

absl::Span<const KernelDef> Col2ImKernels() { return kKernels; }

}  // namespace onnx_run
