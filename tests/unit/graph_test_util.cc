#include "tests/unit/graph_test_util.h"

#include <new>
#include <vector>

#include "ops/all_ops.h"
#include "runtime/kernel.h"
#include "runtime/status_macros.h"

namespace onnx_run {
namespace {

template <typename T>
void AddAll(const Tensor& a, const Tensor& b, Tensor* out) {
  for (int64_t i = 0; i < a.size(); ++i) {
    out->mutable_data_as<T>()[i] = a.data_as<T>()[i] + b.data_as<T>()[b.size() == 1 ? 0 : i];
  }
}

absl::Status TestAdd(KernelContext& context) {
  const Tensor& a = context.input(0);
  const Tensor& b = context.input(1);
  if (a.type() != b.type() || (b.size() != 1 && a.dims() != b.dims())) {
    return absl::InvalidArgumentError("t.Add of unlike tensors");
  }
  ASSIGN_OR_RETURN(Tensor * out, context.OutputInPlace(0, 0, a.type(), a.dims()));
  a.type() == ElementType::kFloat ? AddAll<float>(a, b, out) : AddAll<int64_t>(a, b, out);
  return absl::OkStatus();
}

absl::Status TestLess(KernelContext& context) {
  ASSIGN_OR_RETURN(Tensor * out, context.Output(0, ElementType::kBool, {}));
  *out->mutable_data_as<bool>() =
      *context.input(0).data_as<int64_t>() < *context.input(1).data_as<int64_t>();
  return absl::OkStatus();
}

absl::Status TestThrow(KernelContext& /*context*/) { throw std::bad_alloc(); }

absl::Status TestBoom(KernelContext& /*context*/) { return absl::InternalError("boom"); }

constexpr KernelDef kTestKernels[] = {
    Kernel<TestAdd>("t", "Add", 1),
    Kernel<TestBoom>("t", "Boom", 1).NotFoldable(),
    Kernel<TestThrow>("t", "Throw", 1).NotFoldable(),
    Kernel<TestLess>("t", "Less", 1),
};

}  // namespace

const OpRegistry& GraphTestRegistry() {
  static const auto* registry = [] {
    static auto* tables =
        new std::vector<absl::Span<const KernelDef>>(AllKernels().begin(), AllKernels().end());
    tables->push_back(kTestKernels);
    return new OpRegistry(*tables, &StandardSchemas());
  }();
  return *registry;
}

absl::StatusOr<std::vector<Value>> RunModel(Model model, const Feeds& feeds,
                                            SessionOptions options) {
  ASSIGN_OR_RETURN(const std::unique_ptr<const Session> session,
                   Session::Create(std::move(model), GraphTestRegistry(), std::move(options)));
  return session->Run(feeds);
}

std::vector<int64_t> RunInts(Model model, const Feeds& feeds, SessionOptions options) {
  const auto outputs = RunModel(std::move(model), feeds, std::move(options));
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  if (!outputs.ok()) return {};
  EXPECT_EQ(outputs->size(), 1U);
  return IntsOf(outputs->front());
}

absl::Status LoadStatus(Model model, SessionOptions options) {
  return Session::Create(std::move(model), GraphTestRegistry(), std::move(options)).status();
}

std::vector<int64_t> IntsOf(const Value& value) {
  EXPECT_TRUE(value.is_tensor()) << Describe(value);
  if (!value.is_tensor()) return {};
  std::vector<int64_t> result;
  const Tensor& tensor = value.tensor();
  for (int64_t i = 0; i < tensor.size(); ++i) {
    switch (tensor.type()) {
      case ElementType::kInt64: result.push_back(tensor.data_as<int64_t>()[i]); break;
      case ElementType::kBool:
      case ElementType::kUint8: result.push_back(tensor.data_as<uint8_t>()[i]); break;
      default: ADD_FAILURE() << TypeAndDims(tensor); return {};
    }
  }
  return result;
}

std::vector<float> FloatsOf(const Value& value) {
  EXPECT_TRUE(value.is_tensor() && value.tensor().type() == ElementType::kFloat) << Describe(value);
  if (!value.is_tensor() || value.tensor().type() != ElementType::kFloat) return {};
  const absl::Span<const float> elements = value.tensor().span<float>();
  return {elements.begin(), elements.end()};
}

std::vector<int64_t> DimsOf(const Value& value) {
  EXPECT_TRUE(value.is_tensor()) << Describe(value);
  const Dims& dims = value.tensor().dims();
  return {dims.begin(), dims.end()};
}

Tensor Int64Scalar(int64_t value) { return Int64Tensor({}, {value}); }

Tensor BoolScalar(bool value) {
  return TensorOf<uint8_t>(ElementType::kBool, {}, {static_cast<uint8_t>(value)});
}

Value Int64Sequence(std::initializer_list<int64_t> elements) {
  Sequence sequence;
  sequence.element_type = Type::OfTensor(ElementType::kInt64);
  for (int64_t element : elements) sequence.elements.emplace_back(Int64Scalar(element));
  return Value(std::move(sequence));
}

FunctionBuilder TestFunction(const std::string& name, int64_t opset) {
  FunctionBuilder builder("t", name);
  builder.Opset("", opset).Opset("t", 1);
  return builder;
}

}  // namespace onnx_run
