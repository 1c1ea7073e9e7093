// Values that are not plain tensors: the sequence and optional operators, ConstantOfShape, and
// sequences, optionals, maps and sparse tensors that go in and come out.
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/graph_test_util.h"

namespace onnx_run {
namespace {

using ::testing::ElementsAre;

constexpr auto kInt64 = ElementType::kInt64;
constexpr auto kFloat = ElementType::kFloat;

// One node; inputs a, b, c as given, of undeclared types; output y.
absl::StatusOr<Value> RunNode(const std::string& op_type, const std::vector<Value>& inputs,
                              std::vector<Attribute> attributes = {}, int64_t opset = 21) {
  ModelBuilder builder(opset);
  Feeds feeds;
  std::vector<std::string> names;
  for (size_t i = 0; i < inputs.size(); ++i) {
    names.emplace_back(1, static_cast<char>('a' + i));
    builder.Input(names.back(), Type());
    feeds.emplace_back(names.back(), inputs[i]);
  }
  const Model model =
      builder.Node(op_type, names, {"y"}, std::move(attributes)).Output("y").Build();
  auto outputs = RunModel(model, feeds);
  if (!outputs.ok()) return outputs.status();
  return outputs->front();
}

// The elements of a sequence of int64 tensors.
std::vector<std::vector<int64_t>> ElementsOf(const absl::StatusOr<Value>& value) {
  EXPECT_TRUE(value.ok()) << value.status();
  if (!value.ok()) return {};
  EXPECT_EQ(value->kind(), ValueKind::kSequence) << Describe(*value);
  if (value->kind() != ValueKind::kSequence) return {};
  std::vector<std::vector<int64_t>> result;
  for (const Value& element : value->sequence().elements) result.push_back(IntsOf(element));
  return result;
}

using Lists = std::vector<std::vector<int64_t>>;

// --- Sequences ---------------------------------------------------------------

TEST(SequenceOperators, Construct) {
  EXPECT_EQ(ElementsOf(RunNode("SequenceConstruct", {Int64Scalar(1), Int64Tensor({2}, {2, 3})})),
            (Lists{{1}, {2, 3}}));
  EXPECT_THAT(RunNode("SequenceConstruct", {Int64Scalar(1), FloatTensor({}, {1})}).status(),
              FailsWith(Words({"SequenceConstruct", "float", "int64"})));
}

TEST(SequenceOperators, Empty) {
  auto value = RunNode("SequenceEmpty", {});
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_EQ(TypeToString(value->type()), "seq(tensor(float))");
  value = RunNode("SequenceEmpty", {}, {IntAttr("dtype", 9)});
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_EQ(TypeToString(value->type()), "seq(tensor(bool))");
  EXPECT_THAT(RunNode("SequenceEmpty", {}, {IntAttr("dtype", 99)}).status(),
              FailsWith(Words({"dtype", "99"})));
}

TEST(SequenceOperators, At) {
  const Value seq = Int64Sequence({10, 20, 30});
  const auto at = [&](Tensor position) { return RunNode("SequenceAt", {seq, position}); };
  EXPECT_THAT(IntsOf(*at(Int64Scalar(0))), ElementsAre(10));
  EXPECT_THAT(IntsOf(*at(Int64Scalar(-1))), ElementsAre(30));
  EXPECT_THAT(IntsOf(*at(TensorOf<int32_t>(ElementType::kInt32, {}, {-3}))), ElementsAre(10));
  EXPECT_THAT(at(Int64Scalar(3)).status(), FailsWith(Words({"position 3", "[-3,2]"})));
  EXPECT_THAT(at(Int64Scalar(-4)).status(), FailsWith(Words({"position -4"})));
  EXPECT_THAT(at(Int64Tensor({2}, {0, 1})).status(), FailsWith(Words({"scalar"})));
}

TEST(SequenceOperators, InsertAndErase) {
  const Value seq = Int64Sequence({1, 2});
  const Value nine = Int64Scalar(9);
  const auto insert = [&](int64_t position) {
    return RunNode("SequenceInsert", {seq, nine, Int64Scalar(position)});
  };
  EXPECT_EQ(ElementsOf(RunNode("SequenceInsert", {seq, nine})), (Lists{{1}, {2}, {9}}));
  EXPECT_EQ(ElementsOf(insert(0)), (Lists{{9}, {1}, {2}}));
  EXPECT_EQ(ElementsOf(insert(2)), (Lists{{1}, {2}, {9}}));
  EXPECT_EQ(ElementsOf(insert(-1)), (Lists{{1}, {9}, {2}}));
  EXPECT_EQ(ElementsOf(insert(-2)), (Lists{{9}, {1}, {2}}));
  EXPECT_THAT(insert(3).status(), FailsWith(Words({"position 3", "[-2,2]"})));
  EXPECT_THAT(RunNode("SequenceInsert", {seq, FloatTensor({}, {1})}).status(),
              FailsWith(Words({"float", "int64"})));
  EXPECT_EQ(ElementsOf(RunNode("SequenceErase", {seq})), (Lists{{1}}));
  EXPECT_EQ(ElementsOf(RunNode("SequenceErase", {seq, Int64Scalar(-2)})), (Lists{{2}}));
  EXPECT_THAT(RunNode("SequenceErase", {seq, Int64Scalar(2)}).status(),
              FailsWith(Words({"position 2", "[-2,1]"})));
  EXPECT_THAT(RunNode("SequenceErase", {Int64Sequence({})}).status(), FailsWith(Words({"empty"})));
  // The caller's sequence is untouched.
  EXPECT_EQ(ElementsOf(seq), (Lists{{1}, {2}}));
}

TEST(SequenceOperators, Length) {
  EXPECT_THAT(IntsOf(*RunNode("SequenceLength", {Int64Sequence({1, 2, 3})})), ElementsAre(3));
  EXPECT_THAT(IntsOf(*RunNode("SequenceLength", {Int64Sequence({})})), ElementsAre(0));
}

Value Pair(Tensor a, Tensor b) {
  Sequence sequence;
  sequence.element_type = Type::OfTensor(a.type());
  sequence.elements = {std::move(a), std::move(b)};
  return Value(std::move(sequence));
}

TEST(SequenceOperators, Concat) {
  const Value seq = Pair(Int64Tensor({1, 2}, {1, 2}), Int64Tensor({2, 2}, {3, 4, 5, 6}));
  const auto concat = [](const Value& value, int64_t axis, int64_t new_axis) {
    return RunNode("ConcatFromSequence", {value},
                   {IntAttr("axis", axis), IntAttr("new_axis", new_axis)});
  };
  EXPECT_THAT(IntsOf(*concat(seq, 0, 0)), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(DimsOf(*concat(seq, -2, 0)), ElementsAre(3, 2));
  EXPECT_THAT(concat(seq, 1, 0).status(), FailsWith(Words({"element 1", "axis 1"})));
  EXPECT_THAT(concat(seq, 0, 1).status(), FailsWith(Words({"element 1"})));
  EXPECT_THAT(concat(seq, 2, 0).status(), FailsWith(Words({"axis", "[-2,1]"})));
  const Value rows = Pair(Int64Tensor({2}, {1, 2}), Int64Tensor({2}, {3, 4}));
  EXPECT_THAT(IntsOf(*concat(rows, 0, 1)), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(IntsOf(*concat(rows, 1, 1)), ElementsAre(1, 3, 2, 4));
  EXPECT_THAT(IntsOf(*concat(rows, -1, 1)), ElementsAre(1, 3, 2, 4));
  EXPECT_THAT(concat(rows, 2, 1).status(), FailsWith(Words({"[-2,1]"})));
  EXPECT_THAT(concat(Int64Sequence({}), 0, 0).status(), FailsWith(Words({"empty"})));
  // [1,0] and [2,0]: no elements, but a shape.
  EXPECT_THAT(DimsOf(*concat(Pair(Int64Tensor({1, 0}, {}), Int64Tensor({2, 0}, {})), 0, 0)),
              ElementsAre(3, 0));
}

TEST(SequenceOperators, Split) {
  const Tensor x = Int64Tensor({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto split = [&](std::vector<Value> inputs, int64_t axis, int64_t keepdims = 1) {
    inputs.insert(inputs.begin(), x);
    return RunNode("SplitToSequence", inputs,
                   {IntAttr("axis", axis), IntAttr("keepdims", keepdims)});
  };
  EXPECT_EQ(ElementsOf(split({}, 1)), (Lists{{1, 4}, {2, 5}, {3, 6}}));
  EXPECT_EQ(ElementsOf(split({Int64Scalar(2)}, -1)), (Lists{{1, 2, 4, 5}, {3, 6}}));
  EXPECT_EQ(ElementsOf(split({Int64Tensor({3}, {0, 1, 2})}, 1)), (Lists{{}, {1, 4}, {2, 3, 5, 6}}));
  auto rows = split({}, 0, 0);
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_THAT(DimsOf(rows->sequence().elements[0]), ElementsAre(3));
  rows = split({Int64Scalar(1)}, 0, 0);  // keepdims is ignored when split is given
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_THAT(DimsOf(rows->sequence().elements[0]), ElementsAre(1, 3));
  EXPECT_THAT(split({Int64Scalar(0)}, 1).status(), FailsWith(Words({"split", "0", "positive"})));
  EXPECT_THAT(split({Int64Tensor({2}, {1, 1})}, 1).status(), FailsWith(Words({"adds up to 2"})));
  EXPECT_THAT(split({Int64Tensor({2}, {5, -2})}, 1).status(), FailsWith(Words({"part 0", "5"})));
  EXPECT_THAT(split({}, 2).status(), FailsWith(Words({"axis", "[-2,1]"})));
}

TEST(SequenceOperators, StringsTravelToo) {
  auto parts = RunNode("SplitToSequence", {StringTensor({3}, {"a", "b", "c"})});
  ASSERT_TRUE(parts.ok()) << parts.status();
  const auto joined = RunNode("ConcatFromSequence", {*parts}, {IntAttr("axis", 0)});
  ASSERT_TRUE(joined.ok()) << joined.status();
  EXPECT_THAT(joined->tensor().strings(), ElementsAre("a", "b", "c"));
}

// --- Optionals ---------------------------------------------------------------

TEST(OptionalOperators, Make) {
  auto value = RunNode("Optional", {Int64Scalar(5)});
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_EQ(TypeToString(value->type()), "optional(tensor(int64))");
  ASSERT_NE(value->optional().element, nullptr);
  EXPECT_THAT(IntsOf(*value->optional().element), ElementsAre(5));
  value = RunNode("Optional", {}, {TypeAttr("type", Type::OfSequence(TensorType(kFloat)))});
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_EQ(TypeToString(value->type()), "optional(seq(tensor(float)))");
  EXPECT_EQ(value->optional().element, nullptr);
  EXPECT_THAT(RunNode("Optional", {}).status(), FailsWith(Words({"Optional", "type"})));
  EXPECT_THAT(
      RunNode("Optional", {Int64Scalar(5)}, {TypeAttr("type", TensorType(kFloat))}).status(),
      FailsWith(Words({"int64", "float"})));
}

TEST(OptionalOperators, HasAndGet) {
  const Value full(Optional(TensorType(kInt64), std::make_unique<Value>(Int64Scalar(5))));
  const Value empty(Optional(TensorType(kInt64), nullptr));
  for (int64_t opset : {15, 18}) {
    EXPECT_THAT(IntsOf(*RunNode("OptionalHasElement", {full}, {}, opset)), ElementsAre(1));
    EXPECT_THAT(IntsOf(*RunNode("OptionalHasElement", {empty}, {}, opset)), ElementsAre(0));
    EXPECT_THAT(IntsOf(*RunNode("OptionalGetElement", {full}, {}, opset)), ElementsAre(5));
    EXPECT_THAT(RunNode("OptionalGetElement", {empty}, {}, opset).status(),
                FailsWith(Words({"OptionalGetElement", "empty"})));
  }
  // From 18 on tensors, sequences and nothing at all are taken too.
  EXPECT_THAT(IntsOf(*RunNode("OptionalHasElement", {Int64Scalar(1)}, {}, 18)), ElementsAre(1));
  EXPECT_THAT(IntsOf(*RunNode("OptionalHasElement", {}, {}, 18)), ElementsAre(0));
  EXPECT_THAT(IntsOf(*RunNode("OptionalGetElement", {Int64Scalar(7)}, {}, 18)), ElementsAre(7));
  EXPECT_EQ(ElementsOf(RunNode("OptionalGetElement", {Int64Sequence({1, 2})}, {}, 18)),
            (Lists{{1}, {2}}));
}

// --- ConstantOfShape ---------------------------------------------------------

TEST(ConstantOfShapeOperator, FillsWithTheValue) {
  auto value = RunNode("ConstantOfShape", {Int64Tensor({2}, {2, 3})});
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_THAT(FloatsOf(*value), ElementsAre(0, 0, 0, 0, 0, 0));
  value = RunNode("ConstantOfShape", {Int64Tensor({1}, {3})},
                  {TensorAttr("value", Int64Tensor({1}, {-7}))});
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_THAT(IntsOf(*value), ElementsAre(-7, -7, -7));
  value = RunNode("ConstantOfShape", {Int64Tensor({0}, {})},
                  {TensorAttr("value", FloatTensor({}, {0.5F}))});
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_THAT(DimsOf(*value), ElementsAre());
  EXPECT_THAT(FloatsOf(*value), ElementsAre(0.5F));
  value = RunNode("ConstantOfShape", {Int64Tensor({2}, {0, 5})});
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_THAT(DimsOf(*value), ElementsAre(0, 5));
}

TEST(ConstantOfShapeOperator, PackedTypesAndTheirPadding) {
  auto value =
      RunNode("ConstantOfShape", {Int64Tensor({1}, {3})},
              {TensorAttr("value", TensorOf<uint8_t>(ElementType::kInt4, {1}, {0x0A}))}, 25);
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_EQ(value->tensor().data_as<uint8_t>()[0], 0xAA);
  EXPECT_EQ(value->tensor().data_as<uint8_t>()[1], 0x0A);
  value = RunNode("ConstantOfShape", {Int64Tensor({1}, {6})},
                  {TensorAttr("value", TensorOf<uint8_t>(ElementType::kUint2, {1}, {0x03}))}, 25);
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_EQ(value->tensor().data_as<uint8_t>()[0], 0xFF);
  EXPECT_EQ(value->tensor().data_as<uint8_t>()[1], 0x0F);
}

TEST(ConstantOfShapeOperator, BadInputs) {
  EXPECT_THAT(RunNode("ConstantOfShape", {Int64Tensor({2}, {2, -1})}).status(),
              FailsWith(Words({"ConstantOfShape", "negative"})));
  EXPECT_THAT(RunNode("ConstantOfShape", {Int64Scalar(2)}).status(), FailsWith(Words({"1-D"})));
  EXPECT_THAT(RunNode("ConstantOfShape", {Int64Tensor({2}, {int64_t{1} << 62, 8})}).status(),
              FailsWith(Words({"overflow"})));
  EXPECT_EQ(RunNode("ConstantOfShape", {Int64Tensor({1}, {int64_t{1} << 58})}).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(RunNode("ConstantOfShape", {Int64Tensor({1}, {1})},
                      {TensorAttr("value", FloatTensor({2}, {1, 2}))})
                  .status(),
              FailsWith(Words({"value", "one element"})));
}

// --- All kinds, in and out ---------------------------------------------------

TEST(GraphValues, EveryKindPassesThrough) {
  Map map;
  map.keys = Int64Tensor({2}, {1, 2});
  map.value_type = Type::OfTensor(kFloat);
  map.values = {FloatTensor({}, {1}), FloatTensor({}, {2})};
  SparseTensor sparse;
  sparse.values = FloatTensor({1}, {3});
  sparse.indices = Int64Tensor({1}, {4});
  sparse.dims = {2, 3};
  const std::vector<Value> values = {Int64Sequence({1, 2}),
                                     Value(Optional(TensorType(kInt64), nullptr)),
                                     Value(std::move(map)), Value(std::move(sparse))};
  for (const Value& value : values) {
    const Model model = ModelBuilder(21).Input("x", value.type()).Output("x", value.type()).Build();
    const auto outputs = RunModel(model, {{"x", value}});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    EXPECT_EQ(Describe(outputs->front()), Describe(value));
    // Another kind in its place is refused.
    EXPECT_FALSE(RunModel(model, {{"x", FloatTensor({}, {1})}}).ok()) << Describe(value);
  }
}

// The schema, and the standard's own inference, have the output of a sparse_value be a tensor: a
// dense one.
TEST(GraphValues, SparseConstants) {
  SparseTensor sparse;
  sparse.values = FloatTensor({2}, {3, 7});
  sparse.indices = Int64Tensor({2}, {1, 4});
  sparse.dims = {2, 3};
  const auto constant = [&] {
    return RunNode("Constant", {}, {SparseTensorAttr("sparse_value", sparse)});
  };
  auto value = constant();
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_THAT(DimsOf(*value), ElementsAre(2, 3));
  EXPECT_THAT(FloatsOf(*value), ElementsAre(0, 3, 0, 0, 7, 0));
  sparse.indices = Int64Tensor({2, 2}, {0, 2, 1, 0});
  value = constant();
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_THAT(FloatsOf(*value), ElementsAre(0, 0, 3, 7, 0, 0));
  sparse.indices = Int64Tensor({2}, {1, 6});
  EXPECT_THAT(constant().status(), FailsWith(Words({"sparse_value", "6"})));
  sparse.indices = Int64Tensor({2, 2}, {0, 2, 1, 3});
  EXPECT_THAT(constant().status(), FailsWith(Words({"sparse_value"})));
  sparse.indices = Int64Tensor({3}, {0, 1, 2});
  EXPECT_THAT(constant().status(), FailsWith(Words({"sparse_value"})));
  sparse.dims = {int64_t{1} << 40};
  sparse.indices = Int64Tensor({2}, {0, 1});
  EXPECT_EQ(constant().status().code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace onnx_run
