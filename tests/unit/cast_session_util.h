// Small models through Session, for the tests of casts, opsets and errors.
#ifndef ONNX_RUN_TESTS_UNIT_CAST_SESSION_UTIL_H_
#define ONNX_RUN_TESTS_UNIT_CAST_SESSION_UTIL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "ops/all_ops.h"
#include "runtime/convert/convert.h"
#include "runtime/session.h"
#include "tests/unit/model_builder.h"

namespace onnx_run::cast_test {

using Codes = std::vector<uint64_t>;  // elements as bit patterns

inline const OpRegistry& Registry() {
  static const OpRegistry kRegistry(AllKernels(), &StandardSchemas());
  return kRegistry;
}

inline absl::StatusOr<std::unique_ptr<const Session>> Load(Model model,
                                                           SessionOptions options = {}) {
  options.threads = 1;
  return Session::Create(std::move(model), Registry(), std::move(options));
}

inline SessionOptions Strict() {
  SessionOptions options;
  options.strict = true;
  return options;
}

// Why the model is refused at load; fails the test when it is not.
inline absl::Status Refused(Model model, SessionOptions options = {}) {
  const auto session = Load(std::move(model), std::move(options));
  EXPECT_FALSE(session.ok()) << "the model was accepted";
  return session.status();
}

// Loads, feeds the inputs in order and gives the outputs.
inline absl::StatusOr<std::vector<Value>> LoadAndRun(Model model, std::vector<Value> inputs = {},
                                                     SessionOptions options = {}) {
  auto session = Load(std::move(model), std::move(options));
  if (!session.ok()) return session.status();
  std::vector<Value> outputs((*session)->outputs().size());
  const absl::Status status = (*session)->Run(inputs, absl::MakeSpan(outputs));
  if (!status.ok()) return status;
  return outputs;
}

// A tensor of these bit patterns; dims [count].
inline Tensor TensorOfCodes(ElementType type, const Codes& codes) {
  Tensor tensor = Tensor::Create(type, {static_cast<int64_t>(codes.size())}).value();
  if (tensor.bytes() > 0)
    std::memset(tensor.mutable_data(), 0, static_cast<size_t>(tensor.bytes()));
  for (size_t i = 0; i < codes.size(); ++i) {
    StoreCode(tensor.mutable_data(), type, static_cast<int64_t>(i), codes[i]);
  }
  return tensor;
}

inline Codes CodesOf(const Tensor& tensor) {
  Codes codes;
  for (int64_t i = 0; i < tensor.size(); ++i) {
    codes.push_back(LoadCode(tensor.data(), tensor.type(), i));
  }
  return codes;
}

template <typename T>
std::vector<T> ElementsOf(const Tensor& tensor) {
  const auto span = tensor.span<T>();
  return std::vector<T>(span.begin(), span.end());
}

// x -> Cast to each of `to` in turn -> y. x is a graph input, or an initializer when `constant`.
inline Model CastModel(int64_t opset, const Tensor& x, const std::vector<ElementType>& to,
                       const std::vector<Attribute>& attributes = {}, bool constant = false) {
  ModelBuilder builder(opset);
  if (constant) {
    builder.Initializer("x", Value(x));
  } else {
    builder.Input("x", TensorType(x.type()));
  }
  std::string from = "x";
  for (size_t i = 0; i < to.size(); ++i) {
    const std::string name = i + 1 == to.size() ? "y" : "t" + std::to_string(i);
    std::vector<Attribute> all = attributes;
    if (opset < 6) {
      all.push_back(StringAttr("to", InfoOf(to[i]).name));
    } else {
      all.push_back(IntAttr("to", static_cast<int64_t>(to[i])));
    }
    builder.Node("Cast", {from}, {name}, all);
    from = name;
  }
  return builder.Output("y").Build();
}

// The result of CastModel; as graph input and as initializer, which must agree bit for bit.
inline Tensor Cast(int64_t opset, const Tensor& x, const std::vector<ElementType>& to,
                   const std::vector<Attribute>& attributes = {}) {
  const auto fed = LoadAndRun(CastModel(opset, x, to, attributes), {Value(x)});
  EXPECT_TRUE(fed.ok()) << fed.status();
  const auto constant = LoadAndRun(CastModel(opset, x, to, attributes, true));
  EXPECT_TRUE(constant.ok()) << constant.status();
  if (!fed.ok() || !constant.ok()) return Tensor();
  const Tensor& result = (*fed)[0].tensor();
  EXPECT_EQ(result.type(), to.back());
  EXPECT_EQ(result.dims(), x.dims());
  EXPECT_EQ(TypeAndDims(result), TypeAndDims((*constant)[0].tensor()));
  if (result.is_string()) {
    EXPECT_EQ(result.strings(), (*constant)[0].tensor().strings());
  } else {
    EXPECT_EQ(CodesOf(result), CodesOf((*constant)[0].tensor()));
  }
  return result;
}

}  // namespace onnx_run::cast_test

#endif  // ONNX_RUN_TESTS_UNIT_CAST_SESSION_UTIL_H_
