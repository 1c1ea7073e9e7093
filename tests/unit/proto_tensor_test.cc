// TensorProto <-> Tensor: every element type from every storage form, and what must be refused.
#include "proto/tensor_proto.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/convert/convert.h"

namespace onnx_run {
namespace {

using onnx::TensorProto;
using ::testing::HasSubstr;

std::string Bytes(const Tensor& tensor) {
  return std::string(tensor.data_as<char>(), static_cast<size_t>(tensor.bytes()));
}

TensorProto Proto(ElementType type, const std::vector<int64_t>& dims) {
  TensorProto proto;
  proto.set_name("w");
  proto.set_data_type(static_cast<int>(type));
  for (int64_t dim : dims) proto.add_dims(dim);
  return proto;
}

// An error that names the tensor and says all of `parts`.
void ExpectRefused(const TensorProto& proto, const std::vector<std::string>& parts,
                   absl::StatusCode code = absl::StatusCode::kInvalidArgument) {
  const auto tensor = TensorFromProto(proto);
  ASSERT_FALSE(tensor.ok());
  EXPECT_EQ(tensor.status().code(), code) << tensor.status();
  EXPECT_THAT(std::string(tensor.status().message()), HasSubstr("\"w\""));
  for (const std::string& part : parts) {
    EXPECT_THAT(std::string(tensor.status().message()), HasSubstr(part));
  }
}

// The distinct element codes that the tests below store.
std::vector<uint64_t> Codes(ElementType type, int count) {
  const int bits = BitsOf(type);
  std::vector<uint64_t> codes;
  for (int i = 0; i < count; ++i) {
    uint64_t code =
        (0x9E3779B97F4A7C15u * static_cast<uint64_t>(i + 1)) >> (bits < 64 ? 64 - bits : 0);
    if (type == ElementType::kBool) code = static_cast<uint64_t>(i) & 1;
    codes.push_back(code);
  }
  return codes;
}

// The packed little-endian bytes of `codes`, written out by hand.
std::string Pack(ElementType type, const std::vector<uint64_t>& codes) {
  const int bits = BitsOf(type);
  std::string packed;
  if (bits < 8) {
    const size_t per_byte = static_cast<size_t>(8 / bits);
    packed.assign((codes.size() + per_byte - 1) / per_byte, '\0');
    for (size_t i = 0; i < codes.size(); ++i) {
      const unsigned shift = static_cast<unsigned>(i % per_byte) * static_cast<unsigned>(bits);
      packed[i / per_byte] =
          static_cast<char>(static_cast<unsigned char>(packed[i / per_byte]) | codes[i] << shift);
    }
    return packed;
  }
  for (uint64_t code : codes) {
    for (int shift = 0; shift < bits; shift += 8)
      packed.push_back(static_cast<char>(code >> shift));
  }
  return packed;
}

// `codes` in the type's own field.
void AddTyped(ElementType type, const std::vector<uint64_t>& codes, TensorProto* proto) {
  const std::string packed = Pack(type, codes);
  switch (type) {
    case ElementType::kFloat:
      for (uint64_t code : codes) {
        const auto bits = static_cast<uint32_t>(code);
        float value;
        std::memcpy(&value, &bits, 4);
        proto->add_float_data(value);
      }
      return;
    case ElementType::kDouble:
      for (uint64_t code : codes) {
        double value;
        std::memcpy(&value, &code, 8);
        proto->add_double_data(value);
      }
      return;
    case ElementType::kInt64:
      for (uint64_t code : codes) proto->add_int64_data(static_cast<int64_t>(code));
      return;
    case ElementType::kUint32:
    case ElementType::kUint64:
      for (uint64_t code : codes) proto->add_uint64_data(code);
      return;
    default: break;
  }
  if (IsSubByte(type)) {
    for (char byte : packed) proto->add_int32_data(static_cast<unsigned char>(byte));
  } else if (KindOf(type) == ElementKind::kSigned) {
    for (uint64_t code : codes) {
      const int unused = 64 - BitsOf(type);
      proto->add_int32_data(static_cast<int32_t>(static_cast<int64_t>(code << unused) >> unused));
    }
  } else {
    for (uint64_t code : codes) proto->add_int32_data(static_cast<int32_t>(code));
  }
}

class EveryType : public ::testing::TestWithParam<int> {
 protected:
  ElementType type() const { return static_cast<ElementType>(GetParam()); }
  bool numeric() const { return BitsOf(type()) != 0 && KindOf(type()) != ElementKind::kComplex; }
};

INSTANTIATE_TEST_SUITE_P(, EveryType, ::testing::Range(1, kElementTypeCount), [](const auto& info) {
  return std::string(EnumName(static_cast<ElementType>(info.param)));
});

TEST_P(EveryType, RawAndTypedDataAgree) {
  if (!numeric()) return;  // has a test of its own
  for (int count : {0, 1, 2, 3, 4, 5, 7, 8, 9, 31}) {
    SCOPED_TRACE(count);
    const std::vector<uint64_t> codes = Codes(type(), count);
    const std::string packed = Pack(type(), codes);

    TensorProto raw = Proto(type(), {count});
    raw.set_raw_data(packed);
    const auto from_raw = TensorFromProto(raw);
    ASSERT_TRUE(from_raw.ok()) << from_raw.status();
    EXPECT_EQ(from_raw->type(), type());
    EXPECT_EQ(from_raw->size(), count);
    EXPECT_EQ(Bytes(*from_raw), packed);
    for (int i = 0; i < count; ++i) {
      EXPECT_EQ(LoadCode(from_raw->data(), type(), i), codes[static_cast<size_t>(i)]) << i;
    }

    TensorProto typed = Proto(type(), {count});
    AddTyped(type(), codes, &typed);
    const auto from_typed = TensorFromProto(typed);
    ASSERT_TRUE(from_typed.ok()) << from_typed.status();
    EXPECT_EQ(Bytes(*from_typed), packed);

    const TensorProto back = TensorToProto(*from_typed, "w");
    EXPECT_EQ(back.SerializeAsString(), raw.SerializeAsString());
  }
}

TEST_P(EveryType, LargeRawDataIsMovedNotCopied) {
  if (BitsOf(type()) == 0) return;  // strings have no raw_data
  const int64_t count = 100003;     // odd: the last byte of a packed type is in part unused
  const auto bytes = static_cast<size_t>(*PackedBytes(type(), count));
  for (char fill : {'\0', '\1', '\xFF'}) {
    TensorProto proto = Proto(type(), {count});
    proto.set_raw_data(std::string(bytes, fill));
    const void* before = proto.raw_data().data();
    const auto tensor = TensorFromProto(std::move(proto));
    ASSERT_TRUE(tensor.ok()) << tensor.status();
    const bool normal = fill != '\xFF' || (type() != ElementType::kBool && !IsSubByte(type()));
    EXPECT_EQ(tensor->data() == before, normal);
    EXPECT_EQ(Bytes(*tensor).front(), type() == ElementType::kBool && fill != 0 ? '\1' : fill);
    if (IsSubByte(type()) && fill == '\xFF') {
      const int used = static_cast<int>(count % (8 / BitsOf(type()))) * BitsOf(type());
      EXPECT_EQ(static_cast<uint8_t>(Bytes(*tensor).back()), (1 << used) - 1);
    }
  }
}

TEST_P(EveryType, ScalarHasOneElement) {
  if (!numeric()) return;
  TensorProto proto = Proto(type(), {});
  proto.set_raw_data(Pack(type(), Codes(type(), 1)));
  const auto tensor = TensorFromProto(proto);
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_EQ(tensor->rank(), 0);
  EXPECT_EQ(tensor->size(), 1);
}

TEST_P(EveryType, RefusesEverySizeButTheRightOne) {
  if (BitsOf(type()) == 0) return;
  const int64_t count = 9;
  const int64_t packed = *PackedBytes(type(), count);
  for (int64_t size = 0; size <= packed + 20; ++size) {
    TensorProto proto = Proto(type(), {3, 3});
    proto.set_raw_data(std::string(static_cast<size_t>(size), '\1'));
    if (size == packed) {
      EXPECT_TRUE(TensorFromProto(proto).ok());
    } else {
      ExpectRefused(proto, {absl::StrCat(size, " bytes"), absl::StrCat("expected ", packed),
                            absl::StrCat(EnumName(type()), "[3,3]")});
    }
  }
}

TEST_P(EveryType, RefusesDataInAnotherTypesField) {
  const auto add = [](int field, TensorProto* proto) {
    for (int i = 0; i < 4; ++i) {
      if (field == 0) proto->add_float_data(0);
      if (field == 1) proto->add_double_data(0);
      if (field == 2) proto->add_int32_data(0);
      if (field == 3) proto->add_int64_data(0);
      if (field == 4) proto->add_uint64_data(0);
      if (field == 5) proto->add_string_data("");
    }
  };
  int accepted = 0;
  for (int field = 0; field < 6; ++field) {
    for (int64_t count : {1, 2, 4, 8, 16}) {
      TensorProto proto = Proto(type(), {count});
      add(field, &proto);
      accepted += TensorFromProto(proto).ok();
      if (!TensorFromProto(proto).ok()) ExpectRefused(proto, {});
    }
  }
  EXPECT_EQ(accepted, 1);  // its own field, at the one right count
}

TEST_P(EveryType, RefusesTooFewAndTooManyEntries) {
  if (!numeric()) return;
  for (int entries : {0, 1, 2, 4, 5, 100}) {
    TensorProto proto = Proto(type(), {IsSubByte(type()) ? 3 * (8 / BitsOf(type())) : 3});
    std::vector<uint64_t> codes(static_cast<size_t>(entries), 1);
    if (IsSubByte(type())) codes.resize(codes.size() * static_cast<size_t>(8 / BitsOf(type())), 1);
    AddTyped(type(), codes, &proto);
    ExpectRefused(proto,
                  {entries == 0 ? "no data" : absl::StrCat(entries, " entries, expected 3")});
  }
}

TEST_P(EveryType, RefusesRawBesideTyped) {
  if (!numeric()) return;
  TensorProto proto = Proto(type(), {1});
  AddTyped(type(), {1}, &proto);
  proto.set_raw_data("");  // says nothing
  EXPECT_TRUE(TensorFromProto(proto).ok());
  proto.set_raw_data(Pack(type(), {1}));
  ExpectRefused(proto, {"raw_data and ", "only one"});
}

TEST_P(EveryType, RefusesDimensionsThatCannotBe) {
  const std::vector<std::vector<int64_t>> cases = {
      {-1}, {3, -2}, {int64_t{1} << 32, int64_t{1} << 32}, {INT64_MAX, 2}, {0, -1}};
  for (const auto& dims : cases) {
    TensorProto proto = Proto(type(), dims);
    if (type() != ElementType::kString) proto.set_raw_data("x");
    EXPECT_FALSE(TensorFromProto(proto).ok());
    proto.clear_raw_data();
    ExpectRefused(proto, {DimsToString(dims)});
  }
}

TEST_P(EveryType, RefusesHugeDimensionsWithoutAllocating) {
  for (int64_t count : {int64_t{700000000}, int64_t{1} << 40, INT64_MAX}) {
    TensorProto proto = Proto(type(), {count});
    EXPECT_FALSE(TensorFromProto(proto).ok());
    if (type() == ElementType::kString) {
      proto.add_string_data("x");
    } else {
      proto.set_raw_data("x");
    }
    ExpectRefused(proto, {});
  }
}

TEST_P(EveryType, ZeroDimensionNeedsNoData) {
  TensorProto proto = Proto(type(), {2, 0, INT64_MAX, INT64_MAX});
  EXPECT_TRUE(TensorFromProto(proto).ok());
  if (type() != ElementType::kString) {
    proto.set_raw_data("");
    EXPECT_TRUE(TensorFromProto(proto).ok());
    proto.set_raw_data("x");
    ExpectRefused(proto, {"1 bytes, expected 0"});
  }
}

TEST(TensorProtoTest, Complex) {
  TensorProto typed = Proto(ElementType::kComplex64, {2});
  for (float f : {1.0f, -2.0f, 0.5f, 4.0f}) typed.add_float_data(f);
  const auto tensor = TensorFromProto(typed);
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  TensorProto raw = TensorToProto(*tensor, "w");
  EXPECT_EQ(raw.raw_data(), std::string("\0\0\x80\x3F\0\0\0\xC0\0\0\0\x3F\0\0\x80\x40", 16));
  EXPECT_EQ(Bytes(*TensorFromProto(raw)), Bytes(*tensor));

  TensorProto wide = Proto(ElementType::kComplex128, {1});
  wide.add_double_data(1);
  ExpectRefused(wide, {"double_data has 1 entries, expected 2"});
  wide.add_double_data(2);
  const auto wide_tensor = TensorFromProto(wide);
  ASSERT_TRUE(wide_tensor.ok()) << wide_tensor.status();
  EXPECT_EQ(wide_tensor->data_as<double>()[1], 2);
}

TEST(TensorProtoTest, Strings) {
  TensorProto proto = Proto(ElementType::kString, {2, 2});
  const std::vector<std::string> texts = {"", std::string("a\0b", 3), "\xC3\xA9",
                                          std::string(1000, 'x')};
  for (const std::string& text : texts) proto.add_string_data(text);
  const auto tensor = TensorFromProto(proto);
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_THAT(tensor->strings(), ::testing::ElementsAreArray(texts));
  EXPECT_EQ(TensorToProto(*tensor, "w").SerializeAsString(), proto.SerializeAsString());
  const auto moved = TensorFromProto(TensorProto(proto));
  ASSERT_TRUE(moved.ok());
  EXPECT_THAT(moved->strings(), ::testing::ElementsAreArray(texts));

  proto.add_string_data("one too many");
  ExpectRefused(proto, {"string_data has 5 entries, expected 4"});
  TensorProto raw = Proto(ElementType::kString, {1});
  raw.set_raw_data("text");
  ExpectRefused(raw, {"raw_data", "string_data"});
}

// Bytes in int32_data: some writers store 0xCC as -52 (onnx#6160).
TEST(TensorProtoTest, NegativePackedBytes) {
  TensorProto proto = Proto(ElementType::kInt4, {4});
  proto.add_int32_data(-52);
  proto.add_int32_data(0x21);
  const auto tensor = TensorFromProto(proto);
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  int8_t values[4];
  ASSERT_TRUE(Convert(tensor->data(), ElementType::kInt4, values, ElementType::kInt8, 4).ok());
  EXPECT_THAT(values, ::testing::ElementsAre(-4, -4, 1, 2));

  TensorProto uint2 = Proto(ElementType::kUint2, {5});
  uint2.add_int32_data(0xE4);
  uint2.add_int32_data(0xFF);  // six unused bits
  EXPECT_EQ(Bytes(*TensorFromProto(uint2)), "\xE4\x03");
  TensorProto float4 = Proto(ElementType::kFloat4e2m1, {3});
  float4.add_int32_data(0x52);
  float4.add_int32_data(0xF7);
  EXPECT_EQ(Bytes(*TensorFromProto(float4)), "\x52\x07");
  // The checker of onnx wants only a quarter of the entries; a runtime must not.
  TensorProto brief = Proto(ElementType::kInt4, {8});
  brief.add_int32_data(0x21);
  ExpectRefused(brief, {"int32_data has 1 entries, expected 4"});
}

TEST(TensorProtoTest, HalfTypesAreBitPatterns) {
  TensorProto proto = Proto(ElementType::kFloat16, {3});
  for (int bits : {15360, 49152, 1}) proto.add_int32_data(bits);
  EXPECT_THAT(TensorFromProto(proto)->span<uint16_t>(), ::testing::ElementsAre(0x3C00, 0xC000, 1));
  proto.set_int32_data(1, -16384);  // the same, sign-extended
  EXPECT_THAT(TensorFromProto(proto)->span<uint16_t>(), ::testing::ElementsAre(0x3C00, 0xC000, 1));
  TensorProto floats = Proto(ElementType::kFloat16, {1});
  floats.add_float_data(1);
  ExpectRefused(floats, {"float_data", "FLOAT16 is kept in raw_data or int32_data"});
}

TEST(TensorProtoTest, EntriesThatDoNotFit) {
  const struct {
    ElementType type;
    int32_t entry;
    bool fits;
  } cases[] = {
      {ElementType::kUint8, 255, true},          {ElementType::kUint8, 256, false},
      {ElementType::kUint8, -1, true},           {ElementType::kInt8, -128, true},
      {ElementType::kInt8, -129, false},         {ElementType::kInt8, 255, true},
      {ElementType::kInt16, 32767, true},        {ElementType::kUint16, 65536, false},
      {ElementType::kInt16, -32769, false},      {ElementType::kFloat8e4m3fn, 0x80, true},
      {ElementType::kFloat16, INT32_MIN, false}, {ElementType::kInt32, INT32_MIN, true},
      {ElementType::kBool, INT32_MIN, true},
  };
  for (const auto& c : cases) {
    TensorProto proto = Proto(c.type, {2});
    proto.add_int32_data(0);
    proto.add_int32_data(c.entry);
    EXPECT_EQ(TensorFromProto(proto).ok(), c.fits) << EnumName(c.type) << " " << c.entry;
    if (!c.fits) ExpectRefused(proto, {absl::StrCat("int32_data[1] is ", c.entry)});
  }
  TensorProto wide = Proto(ElementType::kUint32, {1});
  wide.add_uint64_data(uint64_t{1} << 32);
  ExpectRefused(wide, {"uint64_data[0] is 4294967296", "32 bits"});
}

TEST(TensorProtoTest, BoolsAreZeroOrOne) {
  TensorProto proto = Proto(ElementType::kBool, {4});
  proto.set_raw_data(std::string("\0\1\2\xFF", 4));
  EXPECT_EQ(Bytes(*TensorFromProto(proto)), std::string("\0\1\1\1", 4));
  proto.clear_raw_data();
  for (int entry : {0, 1, -1, 256}) proto.add_int32_data(entry);
  EXPECT_EQ(Bytes(*TensorFromProto(proto)), std::string("\0\1\1\1", 4));
}

// The four of onnx-mlir#3608 and its sisters.
TEST(TensorProtoTest, DimensionsAndDataDisagree) {
  TensorProto overrun = Proto(ElementType::kInt64, {1});
  overrun.set_raw_data(std::string(4096, 'x'));
  ExpectRefused(overrun, {"4096 bytes, expected 8"});
  TensorProto odd = Proto(ElementType::kInt64, {1});
  odd.set_raw_data(std::string(9, 'x'));
  ExpectRefused(odd, {"9 bytes, expected 8"});
  ExpectRefused(Proto(ElementType::kInt8, {128}), {"no data", "128"});
  TensorProto packed = Proto(ElementType::kInt4, {700000000});
  packed.add_int32_data(1);
  ExpectRefused(packed, {"expected 350000000"});
  TensorProto in_double = Proto(ElementType::kFloat, {1});
  in_double.add_double_data(1);
  ExpectRefused(in_double, {"double_data", "float_data"});
}

TEST(TensorProtoTest, UnknownTypes) {
  for (int number : {0, 27, 99, -5, INT32_MAX, INT32_MIN}) {
    TensorProto proto;
    proto.set_name("w");
    proto.set_data_type(number);
    ExpectRefused(proto, {absl::StrCat("data_type is ", number)});
  }
}

TEST(TensorProtoTest, SegmentsAreUnsupported) {
  TensorProto proto = Proto(ElementType::kFloat, {1});
  proto.add_float_data(1);
  proto.mutable_segment()->set_begin(0);
  ExpectRefused(proto, {"segment"}, absl::StatusCode::kUnimplemented);
}

TEST(TensorProtoTest, TooManyDimensions) {
  TensorProto proto = Proto(ElementType::kFloat, std::vector<int64_t>(100000, 1));
  proto.add_float_data(1);
  ExpectRefused(proto, {"100000 dimensions"});
}

TEST(TensorProtoTest, NamesInMessagesCannotDriveTerminals) {
  TensorProto proto = Proto(ElementType::kFloat, {1});
  proto.set_name("\x1B[2J" + std::string(5000, 'a'));
  const auto tensor = TensorFromProto(proto);
  ASSERT_FALSE(tensor.ok());
  EXPECT_FALSE(absl::StrContains(tensor.status().message(), "\x1B"));
  EXPECT_LT(tensor.status().message().size(), 1000u);
}

// --- Sparse tensors ----------------------------------------------------------

onnx::SparseTensorProto Sparse(const std::vector<int64_t>& dims, std::vector<float> values,
                               const std::vector<int64_t>& index_dims,
                               std::vector<int64_t> indices) {
  onnx::SparseTensorProto proto;
  for (int64_t dim : dims) proto.add_dims(dim);
  proto.mutable_values()->set_name("w");
  proto.mutable_values()->set_data_type(TensorProto::FLOAT);
  proto.mutable_values()->add_dims(static_cast<int64_t>(values.size()));
  for (float value : values) proto.mutable_values()->add_float_data(value);
  proto.mutable_indices()->set_data_type(TensorProto::INT64);
  for (int64_t dim : index_dims) proto.mutable_indices()->add_dims(dim);
  for (int64_t index : indices) proto.mutable_indices()->add_int64_data(index);
  return proto;
}

TEST(SparseTensorTest, BothIndexForms) {
  for (const auto& proto :
       {Sparse({2, 3}, {5, 7}, {2}, {1, 5}), Sparse({2, 3}, {5, 7}, {2, 2}, {0, 1, 1, 2})}) {
    const auto sparse = SparseTensorFromProto(onnx::SparseTensorProto(proto));
    ASSERT_TRUE(sparse.ok()) << sparse.status();
    const auto dense = MakeDense(*sparse, 1000);
    ASSERT_TRUE(dense.ok()) << dense.status();
    EXPECT_THAT(dense->span<float>(), ::testing::ElementsAre(0, 5, 0, 0, 0, 7));
    const auto again = SparseTensorFromProto(SparseTensorToProto(*sparse, "w"));
    ASSERT_TRUE(again.ok()) << again.status();
  }
}

TEST(SparseTensorTest, EveryTypeMadeDense) {
  for (int number = 1; number < kElementTypeCount; ++number) {
    const auto type = static_cast<ElementType>(number);
    if (type == ElementType::kString) continue;
    SparseTensor sparse;
    sparse.values = *Tensor::Create(type, {3});
    std::memset(sparse.values.mutable_data(), 0, static_cast<size_t>(sparse.values.bytes()));
    if (BitsOf(type) <= 64) {
      for (int i = 0; i < 3; ++i) StoreCode(sparse.values.mutable_data(), type, i, 1);
    }
    sparse.indices = *Tensor::Of<int64_t>(ElementType::kInt64, {3}, {1, 2, 6});
    sparse.dims = {7};
    const auto dense = MakeDense(sparse, 1000);
    ASSERT_TRUE(dense.ok()) << dense.status();
    if (BitsOf(type) > 64) continue;
    for (int i = 0; i < 7; ++i) {
      EXPECT_EQ(LoadCode(dense->data(), type, i), i == 1 || i == 2 || i == 6 ? 1u : 0u);
    }
  }
}

TEST(SparseTensorTest, Refused) {
  const std::vector<onnx::SparseTensorProto> cases = {
      Sparse({2, 3}, {5, 7}, {2}, {1, 6}),  // out of range
      Sparse({2, 3}, {5, 7}, {2}, {-1, 5}),
      Sparse({2, 3}, {5, 7}, {2}, {5, 1}),           // not ascending
      Sparse({2, 3}, {5, 7}, {2}, {1, 1}),           // twice
      Sparse({2, 3}, {5, 7}, {2, 2}, {0, 3, 1, 0}),  // out of range on one axis
      Sparse({2, 3}, {5, 7}, {3}, {0, 1, 2}),        // counts disagree
      Sparse({2, 3}, {5, 7}, {2, 1}, {0, 1}),        // rank disagrees
      Sparse({INT64_MAX, 3}, {5, 7}, {2}, {0, 1}),   // overflow
      Sparse({-2, 3}, {5, 7}, {2}, {0, 1}),
      onnx::SparseTensorProto(),
  };
  for (const auto& proto : cases) {
    EXPECT_EQ(SparseTensorFromProto(onnx::SparseTensorProto(proto)).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST(SparseTensorTest, DenseSizeIsLimited) {
  const auto sparse = SparseTensorFromProto(Sparse({int64_t{1} << 40}, {5}, {1}, {0}));
  ASSERT_TRUE(sparse.ok()) << sparse.status();
  const auto dense = MakeDense(*sparse, int64_t{1} << 31);
  EXPECT_EQ(dense.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(dense.status().message()), HasSubstr("2147483648"));
}

}  // namespace
}  // namespace onnx_run
