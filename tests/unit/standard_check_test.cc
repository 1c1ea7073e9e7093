// onnx-run --check: the onnx library's checker and strict inference, behind a Status.
#include <cstdio>
#include <fstream>
#include <string>

#include "gtest/gtest.h"
#include "proto/model_proto.h"
#include "proto/standard/check.h"
#include "tests/unit/graph_test_util.h"

namespace onnx_run {
namespace {

std::string BytesOf(const Model& model) { return ModelToProto(model).SerializeAsString(); }

Model CastModel(int64_t to, ElementType declared, std::vector<Dim> shape) {
  ModelBuilder builder(21);
  return builder.Input("x", ElementType::kFloat, {2, 3})
      .Node("Cast", {"x"}, {"y"}, {IntAttr("to", to)})
      .Output("y", declared, shape)
      .Build();
}

TEST(StandardCheck, AcceptsAGoodModel) {
  EXPECT_TRUE(CheckModelBytes(BytesOf(CastModel(7, ElementType::kInt64, {2, 3}))).ok());
}

TEST(StandardCheck, RefusesInTheCheckersWords) {
  const auto check = [](const Model& model) { return CheckModelBytes(BytesOf(model)); };
  EXPECT_THAT(check(CastModel(7, ElementType::kFloat, {2, 3})),
              FailsWith(Words({"model", "type"})));
  EXPECT_THAT(check(CastModel(7, ElementType::kInt64, {2, 4})), FailsWith(Words({"dim"})));
  Model model = CastModel(7, ElementType::kInt64, {2, 3});
  model.graph.nodes[0].inputs = {"nowhere"};
  EXPECT_THAT(check(model), FailsWith(Words({"nowhere"})));
  model = CastModel(7, ElementType::kInt64, {2, 3});
  model.ir_version = 99;
  EXPECT_THAT(check(model), FailsWith(Words({"99"})));
  EXPECT_EQ(CheckModelBytes("no model").code(), absl::StatusCode::kInvalidArgument);
}

TEST(StandardCheck, Files) {
  const std::string path = testing::TempDir() + "/standard_check_test.onnx";
  EXPECT_EQ(CheckModel(path + ".none").code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(CheckModel(testing::TempDir()).code(), absl::StatusCode::kInvalidArgument);
  std::ofstream(path, std::ios::binary) << BytesOf(CastModel(7, ElementType::kInt64, {2, 3}));
  EXPECT_TRUE(CheckModel(path).ok()) << CheckModel(path);
  std::ofstream(path, std::ios::binary) << "rubbish";
  EXPECT_THAT(CheckModel(path), FailsWith(Words({path})));
  std::remove(path.c_str());
}

}  // namespace
}  // namespace onnx_run
