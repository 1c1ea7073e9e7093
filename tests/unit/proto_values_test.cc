// Values to files and back, under the declared type.
#include "proto/values.h"

#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "onnx/onnx-data.pb.h"
#include "onnx/onnx-ml.pb.h"
#include "tests/unit/model_builder.h"
#include "tests/unit/proto_test_util.h"

namespace onnx_run {
namespace {

using ::testing::HasSubstr;

const Type kFloats = TensorType(ElementType::kFloat);

Value SequenceOf(Type element, std::vector<Value> elements) {
  Sequence sequence;
  sequence.element_type = std::move(element);
  sequence.elements = std::move(elements);
  return Value(std::move(sequence));
}

Value Some(Value value) {
  Type type = value.type();
  return Value(Optional(std::move(type), std::make_unique<Value>(std::move(value))));
}

// Writes, reads and writes again: equal bytes, equal types.
void ExpectRoundTrip(const Value& value, const Type& declared) {
  const auto bytes = ValueToBytes(value, "v");
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  std::string name;
  const auto back = ValueFromBytes(*bytes, declared, &name);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(name, "v");
  EXPECT_TRUE(SameType(back->type(), declared))
      << TypeToString(back->type()) << " " << TypeToString(declared);
  EXPECT_EQ(*ValueToBytes(*back, "v"), *bytes);
}

TEST(ValuesTest, RoundTrips) {
  const Value tensor(FloatTensor({2}, {1, 2}));
  const Value empty(FloatTensor({0}, {}));
  const Type sequence = Type::OfSequence(kFloats);
  ExpectRoundTrip(tensor, kFloats);
  ExpectRoundTrip(Value(StringTensor({2}, {"a", ""})), TensorType(ElementType::kString));
  ExpectRoundTrip(SequenceOf(kFloats, {tensor, empty, tensor}), sequence);
  ExpectRoundTrip(SequenceOf(kFloats, {}), sequence);
  ExpectRoundTrip(SequenceOf(sequence, {SequenceOf(kFloats, {tensor}), SequenceOf(kFloats, {})}),
                  Type::OfSequence(sequence));
  ExpectRoundTrip(Some(tensor), Type::OfOptional(kFloats));
  ExpectRoundTrip(Value(Optional(kFloats, nullptr)), Type::OfOptional(kFloats));
  ExpectRoundTrip(Some(SequenceOf(kFloats, {tensor})), Type::OfOptional(sequence));
  ExpectRoundTrip(Value(Optional(sequence, nullptr)), Type::OfOptional(sequence));
  ExpectRoundTrip(SequenceOf(Type::OfOptional(kFloats), {Some(tensor)}),
                  Type::OfSequence(Type::OfOptional(kFloats)));
}

TEST(ValuesTest, Maps) {
  for (ElementType key : {ElementType::kInt64, ElementType::kInt8, ElementType::kUint64,
                          ElementType::kUint16, ElementType::kString}) {
    Map map;
    if (key == ElementType::kString) {
      map.keys = StringTensor({2}, {"a", "b"});
    } else {
      map.keys = *Tensor::Create(key, {2});
      std::memset(map.keys.mutable_data(), 0xFF, static_cast<size_t>(map.keys.bytes()));
    }
    map.value_type = kFloats;
    map.values = {Value(FloatTensor({}, {1})), Value(FloatTensor({}, {2}))};
    ExpectRoundTrip(Value(map), Type::OfMap(key, kFloats));
    ExpectRoundTrip(SequenceOf(Type::OfMap(key, kFloats), {Value(map)}),
                    Type::OfSequence(Type::OfMap(key, kFloats)));
    map.values.pop_back();
    EXPECT_FALSE(ValueFromBytes(*ValueToBytes(Value(map)), Type::OfMap(key, kFloats)).ok());
  }
  onnx::MapProto proto;
  proto.set_key_type(onnx::TensorProto::INT8);
  proto.add_keys(128);
  proto.mutable_values()->set_elem_type(onnx::SequenceProto::TENSOR);
  const auto map =
      ValueFromBytes(proto.SerializeAsString(), Type::OfMap(ElementType::kInt8, kFloats));
  ASSERT_FALSE(map.ok());
  EXPECT_THAT(std::string(map.status().message()), HasSubstr("128"));
}

TEST(ValuesTest, SparseTensors) {
  SparseTensor sparse;
  sparse.values = FloatTensor({2}, {1, 2});
  sparse.indices = Int64Tensor({2}, {0, 5});
  sparse.dims = {2, 3};
  Type declared = kFloats;
  declared.kind = ValueKind::kSparseTensor;
  ExpectRoundTrip(Value(sparse), declared);
}

TEST(ValuesTest, UndeclaredIsATensor) {
  const auto bytes = ValueToBytes(Value(FloatTensor({1}, {1})));
  EXPECT_TRUE(ValueFromBytes(*bytes, Type())->is_tensor());
}

TEST(ValuesTest, EmptyOptionalsOfAnySpelling) {
  // numpy_helper.from_optional writes UNDEFINED; others keep the type.
  for (int type : {0, 1}) {
    onnx::OptionalProto proto;
    proto.set_elem_type(type);
    const auto value = ValueFromBytes(proto.SerializeAsString(), Type::OfOptional(kFloats));
    ASSERT_TRUE(value.ok()) << value.status();
    EXPECT_EQ(value->optional().element, nullptr);
    EXPECT_EQ(TypeToString(value->type()), "optional(tensor(float))");
  }
  EXPECT_TRUE(ValueFromBytes("", Type::OfOptional(kFloats)).ok());
}

TEST(ValuesTest, Refused) {
  const Type sequence = Type::OfSequence(kFloats);
  const std::string tensor = *ValueToBytes(Value(FloatTensor({1}, {1})), "t");
  EXPECT_FALSE(ValueFromBytes(tensor, sequence).ok());
  EXPECT_FALSE(ValueFromBytes("", kFloats).ok());
  EXPECT_FALSE(ValueFromBytes("garbage", kFloats).ok());
  const std::string nested = *ValueToBytes(SequenceOf(kFloats, {Value(FloatTensor({1}, {1}))}));
  EXPECT_FALSE(ValueFromBytes(nested, kFloats).ok());
  EXPECT_FALSE(ValueFromBytes(nested, Type::OfSequence(sequence)).ok());
  EXPECT_FALSE(ValueToBytes(Value()).ok());

  onnx::SequenceProto both;
  both.set_elem_type(onnx::SequenceProto::TENSOR);
  both.add_tensor_values()->ParseFromString(tensor);
  EXPECT_TRUE(ValueFromBytes(both.SerializeAsString(), sequence).ok());
  both.add_sequence_values();
  EXPECT_FALSE(ValueFromBytes(both.SerializeAsString(), sequence).ok());
  onnx::SequenceProto untyped;
  untyped.add_tensor_values()->ParseFromString(tensor);
  EXPECT_FALSE(ValueFromBytes(untyped.SerializeAsString(), sequence).ok());
  onnx::SequenceProto bad;
  bad.set_elem_type(onnx::SequenceProto::TENSOR);
  bad.add_tensor_values()->set_data_type(99);
  const auto value = ValueFromBytes(bad.SerializeAsString(), sequence);
  ASSERT_FALSE(value.ok());
  EXPECT_THAT(std::string(value.status().message()), HasSubstr("element 0"));
}

TEST(ValuesTest, DeepNestingIsRefusedNotOverflowing) {
  onnx::SequenceProto proto;
  for (int i = 0; i < 500; ++i) {
    onnx::SequenceProto outer;
    outer.set_elem_type(onnx::SequenceProto::SEQUENCE);
    outer.add_sequence_values()->Swap(&proto);
    proto.Swap(&outer);
  }
  EXPECT_FALSE(ValueFromBytes(proto.SerializeAsString(), Type::OfSequence(kFloats)).ok());
}

TEST(ValuesTest, TruncatedAnywhere) {
  const Type declared = Type::OfSequence(kFloats);
  const std::string bytes =
      *ValueToBytes(SequenceOf(kFloats, {Value(FloatTensor({2}, {1, 2}))}), "sequence");
  for (size_t size = 0; size < bytes.size(); ++size) {
    const auto value = ValueFromBytes(absl::string_view(bytes).substr(0, size), declared);
    // Cut between two fields it may still be a sequence, though an empty one.
    EXPECT_TRUE(!value.ok() || value->sequence().elements.empty()) << size;
  }
}

TEST(ValuesTest, Files) {
  const TemporaryFolder folder;
  const std::string path = folder.File("output_0.pb");
  const Value one(FloatTensor({1}, {1}));
  ASSERT_TRUE(WriteValueFile(path, "y", one).ok());
  ASSERT_TRUE(WriteValueFile(path, "y", Value(FloatTensor({2}, {3, 4}))).ok());  // over it
  const auto value = ReadValueFile(path, kFloats);
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_THAT(value->tensor().span<float>(), ::testing::ElementsAre(3, 4));
  // Nothing else is left in the folder.
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);

  EXPECT_FALSE(WriteValueFile(path, "y", Value()).ok());
  EXPECT_TRUE(ReadValueFile(path, kFloats).ok());  // still the old one
  EXPECT_FALSE(WriteValueFile(folder.File("none/x.pb"), "y", one).ok());
  EXPECT_FALSE(WriteValueFile(folder.path(), "y", one).ok());
  EXPECT_TRUE(WriteValueFile("/dev/null", "y", one).ok());
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);

  const auto missing = ReadValueFile(folder.File("input_0.pb"), kFloats);
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.status().message()), HasSubstr("input_0.pb"));
}

}  // namespace
}  // namespace onnx_run
