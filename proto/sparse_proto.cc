// The sparse half of tensor_proto.h.
#include <cstring>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "proto/tensor_proto.h"
#include "proto/text.h"
#include "runtime/convert/convert.h"
#include "runtime/status_macros.h"

namespace onnx_run {
namespace {

// The linear index of entry `i`, or an error that says why it has none.
class IndexReader {
 public:
  IndexReader(const SparseTensor& sparse) : sparse_(sparse) {}

  absl::StatusOr<int64_t> At(int64_t i) const {
    const Tensor& indices = sparse_.indices;
    const auto* data = indices.data_as<int64_t>();
    if (indices.rank() == 1) return data[i];  // its caller knows the range
    const auto rank = static_cast<int64_t>(sparse_.dims.size());
    int64_t linear = 0;
    for (int64_t axis = 0; axis < rank; ++axis) {
      const int64_t index = data[i * rank + axis];
      if (index < 0 || index >= sparse_.dims[axis]) {
        return absl::InvalidArgumentError(absl::StrCat("sparse index ", index, " of element ", i,
                                                       ", axis ", axis, " is outside of the shape ",
                                                       DimsToString(sparse_.dims)));
      }
      linear = linear * sparse_.dims[axis] + index;
    }
    return linear;
  }

 private:
  const SparseTensor& sparse_;
};

}  // namespace

absl::StatusOr<SparseTensor> SparseTensorFromProto(onnx::SparseTensorProto&& proto,
                                                   ExternalDataContext* external) {
  if (!proto.has_values()) return absl::InvalidArgumentError("sparse tensor has no values");
  SparseTensor sparse;
  const std::string name = proto.values().name().empty()
                               ? "sparse tensor"
                               : absl::StrCat("sparse tensor ", Quoted(proto.values().name()));
  auto values = TensorFromProto(std::move(*proto.mutable_values()), external);
  if (!values.ok()) return At(absl::StrCat(name, " values"), values.status());
  sparse.values = *std::move(values);
  const auto error = [&](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": ", what));
  };
  sparse.dims.assign(proto.dims().begin(), proto.dims().end());
  const auto count = ElementCount(sparse.dims);
  if (!count.ok()) return error(count.status().message());
  if (sparse.values.rank() != 1) {
    return error(
        absl::StrCat("values are ", TypeAndDims(sparse.values), "; expected one dimension"));
  }
  const int64_t nnz = sparse.values.size();
  if (!proto.has_indices()) {
    if (nnz != 0) return error(absl::StrCat("has ", nnz, " values and no indices"));
    // All zeros: some writers leave the empty indices out.
    ASSIGN_OR_RETURN(sparse.indices, Tensor::Create(ElementType::kInt64, {0}));
    return sparse;
  }
  auto indices = TensorFromProto(std::move(*proto.mutable_indices()), external);
  if (!indices.ok()) return At(absl::StrCat(name, " indices"), indices.status());
  sparse.indices = *std::move(indices);
  const Tensor& found = sparse.indices;
  const bool linear = found.rank() == 1 && found.dim(0) == nnz;
  const bool per_axis = found.rank() == 2 && found.dim(0) == nnz &&
                        found.dim(1) == static_cast<int64_t>(sparse.dims.size());
  if (found.type() != ElementType::kInt64 || !(linear || per_axis)) {
    return error(absl::StrCat("indices are ", TypeAndDims(found), "; expected int64[", nnz,
                              "] or int64[", nnz, ",", sparse.dims.size(), "]"));
  }
  int64_t previous = -1;
  const IndexReader reader(sparse);
  for (int64_t i = 0; i < nnz; ++i) {
    const auto index = reader.At(i);
    if (!index.ok()) return error(index.status().message());
    if (*index < 0 || *index >= *count) {
      return error(absl::StrCat("sparse index ", *index, " of element ", i,
                                " is outside of the shape ", DimsToString(sparse.dims)));
    }
    if (*index <= previous) {
      return error(absl::StrCat("sparse indices are not in ascending order: element ", i, " has ",
                                *index, " after ", previous));
    }
    previous = *index;
  }
  return sparse;
}

onnx::SparseTensorProto SparseTensorToProto(const SparseTensor& sparse, absl::string_view name) {
  onnx::SparseTensorProto proto;
  *proto.mutable_values() = TensorToProto(sparse.values, name);
  *proto.mutable_indices() = TensorToProto(sparse.indices);
  for (int64_t dim : sparse.dims) proto.add_dims(dim);
  return proto;
}

absl::StatusOr<Tensor> MakeDense(const SparseTensor& sparse, int64_t max_bytes) {
  ASSIGN_OR_RETURN(const int64_t count, ElementCount(sparse.dims));
  const ElementType type = sparse.values.type();
  // A string costs what an empty std::string does.
  const int64_t per_string = sizeof(std::string);
  const auto bytes =
      type == ElementType::kString
          ? (count > INT64_MAX / per_string ? std::nullopt : std::optional(count * per_string))
          : PackedBytes(type, count);
  if (!bytes || *bytes > max_bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("sparse tensor of ", TypeName(type), DimsToString(sparse.dims), " takes ",
                     bytes ? absl::StrCat(*bytes) : "more than 2^63",
                     " bytes when made dense; the limit is ", max_bytes));
  }
  ASSIGN_OR_RETURN(Tensor dense, Tensor::Create(type, sparse.dims));
  if (dense.bytes() > 0) std::memset(dense.mutable_data(), 0, static_cast<size_t>(dense.bytes()));
  const IndexReader reader(sparse);
  for (int64_t i = 0; i < sparse.values.size(); ++i) {
    ASSIGN_OR_RETURN(const int64_t index, reader.At(i));
    if (index < 0 || index >= count) {
      return absl::InvalidArgumentError(
          absl::StrCat("sparse index ", index, " is outside of ", DimsToString(sparse.dims)));
    }
    if (type == ElementType::kString) {
      dense.mutable_strings()[index] = sparse.values.strings()[i];
    } else if (IsSubByte(type)) {
      StoreCode(dense.mutable_data(), type, index, LoadCode(sparse.values.data(), type, i));
    } else {
      const size_t size = static_cast<size_t>(BitsOf(type)) / 8;
      std::memcpy(dense.mutable_data_as<char>() + index * size,
                  sparse.values.data_as<char>() + i * size, size);
    }
  }
  return dense;
}

}  // namespace onnx_run
