// tools/npy.h: files that numpy writes, all element types, and hostile bytes.
#include "tools/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/convert/convert.h"
#include "runtime/tensor.h"

namespace onnx_run::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A file of format 1.0 as numpy writes it.
std::string Npy(absl::string_view header_dict, absl::string_view data, int version = 1) {
  std::string header(header_dict);
  const size_t prefix = version == 1 ? 10 : 12;
  header.append(63 - (prefix + header.size()) % 64, ' ');
  header += '\n';
  std::string bytes =
      absl::StrCat("\x93NUMPY", std::string(1, static_cast<char>(version)), std::string(1, '\0'));
  for (size_t i = 0; i < prefix - 8; ++i)
    bytes += static_cast<char>(header.size() >> (8 * i) & 0xFF);
  return absl::StrCat(bytes, header, data);
}

template <typename T>
std::string Bytes(std::vector<T> values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

template <typename T>
std::vector<T> Elements(const Tensor& tensor) {
  const auto span = tensor.span<T>();
  return {span.begin(), span.end()};
}

TEST(Npy, ReadsCOrder) {
  const auto tensor = ParseNpy(Npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }",
                                   Bytes<float>({1, 2, 3, 4, 5, 6})));
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_EQ(TypeAndDims(*tensor), "float[2,3]");
  EXPECT_THAT(Elements<float>(*tensor), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(Npy, ReadsFortranOrder) {
  const auto tensor = ParseNpy(Npy("{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3), }",
                                   Bytes<int16_t>({1, 4, 2, 5, 3, 6})));
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_THAT(Elements<int16_t>(*tensor), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(Npy, SwapsBigEndian) {
  const auto tensor = ParseNpy(Npy("{'descr': '>i4', 'fortran_order': False, 'shape': (2,), }",
                                   absl::string_view("\0\0\0\x01\xff\xff\xff\xfe", 8)));
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_THAT(Elements<int32_t>(*tensor), ElementsAre(1, -2));
}

TEST(Npy, SwapsComplexParts) {
  const auto tensor = ParseNpy(Npy("{'descr': '>c8', 'fortran_order': False, 'shape': (), }",
                                   absl::string_view("\x3f\x80\0\0\x40\0\0\0", 8)));
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_EQ(TypeAndDims(*tensor), "complex64[]");
  EXPECT_EQ(tensor->data_as<float>()[0], 1);
  EXPECT_EQ(tensor->data_as<float>()[1], 2);
}

TEST(Npy, ReadsFormats2And3) {
  for (const int version : {2, 3}) {
    const auto tensor =
        ParseNpy(Npy("{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }", "abc", version));
    ASSERT_TRUE(tensor.ok()) << tensor.status();
    EXPECT_EQ(tensor->size(), 3);
  }
}

TEST(Npy, ReadsUnicodeAndByteStrings) {
  const std::string data = Bytes<uint32_t>({'a', 0xE9, 'b', 0});
  auto tensor = ParseNpy(Npy("{'descr': '<U2', 'fortran_order': False, 'shape': (2,), }", data));
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_THAT(tensor->strings(), ElementsAre("a\xC3\xA9", "b"));
  tensor = ParseNpy(Npy("{'descr': '|S3', 'fortran_order': False, 'shape': (2,), }",
                        absl::string_view("abcd\0\0", 6)));
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_THAT(tensor->strings(), ElementsAre("abc", "d"));
}

// Written and read back, every element type keeps its bits.
TEST(Npy, RoundTripsEveryType) {
  for (const ElementTypeInfo& info : kElementTypeTable) {
    if (info.bits == 0) continue;
    auto tensor = Tensor::Create(info.type, {3, 5});
    ASSERT_TRUE(tensor.ok());
    std::memset(tensor->mutable_data(), 0, static_cast<size_t>(tensor->bytes()));
    for (int64_t i = 0; i < tensor->bytes(); ++i) {
      tensor->mutable_data_as<uint8_t>()[i] =
          info.kind == ElementKind::kBool ? i % 2 : static_cast<uint8_t>(37 * i + 11);
    }
    if (info.bits < 8)
      tensor->mutable_data_as<uint8_t>()[tensor->bytes() - 1] &= info.bits == 4 ? 0x0F : 0x3F;
    const auto bytes = SerializeNpy(*tensor);
    ASSERT_TRUE(bytes.ok()) << info.name << bytes.status();
    EXPECT_EQ((bytes->size() - static_cast<size_t>(info.bits < 8 ? 15 : tensor->bytes())) % 64, 0)
        << info.name;
    const auto back = ParseNpy(*bytes, info.type);
    ASSERT_TRUE(back.ok()) << info.name << back.status();
    EXPECT_EQ(TypeAndDims(*back), TypeAndDims(*tensor));
    EXPECT_EQ(std::memcmp(back->data(), tensor->data(), static_cast<size_t>(tensor->bytes())), 0)
        << info.name;
  }
}

TEST(Npy, RoundTripsStrings) {
  const Tensor tensor = Tensor::Strings({2, 2}, {"", "x", "\xF0\x9F\x98\x80 long", "\xC3\xA9"});
  const auto bytes = SerializeNpy(tensor);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  const auto back = ParseNpy(*bytes);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_THAT(back->strings(), ElementsAre("", "x", "\xF0\x9F\x98\x80 long", "\xC3\xA9"));
}

TEST(Npy, RefusesWhatWouldBeLost) {
  EXPECT_FALSE(SerializeNpy(Tensor::Strings({1}, {std::string("a\0", 2)})).ok());
  EXPECT_FALSE(SerializeNpy(Tensor::Strings({1}, {"\xFF"})).ok());
  // One byte of any of a dozen types: the model must say which.
  const std::string bytes =
      Npy("{'descr': '|V1', 'fortran_order': False, 'shape': (2,), }", "\x38\x0A");
  EXPECT_THAT(std::string(ParseNpy(bytes).status().message()), HasSubstr("input's type"));
  EXPECT_TRUE(ParseNpy(bytes, ElementType::kFloat8e4m3fn).ok());
  EXPECT_FALSE(ParseNpy(bytes, ElementType::kUint8).ok());
  EXPECT_FALSE(ParseNpy(bytes, ElementType::kInt4).ok());  // 0x38 is no int4
}

TEST(Npy, SignExtendsSmallIntegers) {
  const std::string bytes =
      Npy("{'descr': '|V1', 'fortran_order': False, 'shape': (3,), }", "\x07\xF8\x0F");
  const auto tensor = ParseNpy(bytes, ElementType::kInt4);
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_EQ(CodeToDouble(LoadCode(tensor->data(), ElementType::kInt4, 1), ElementType::kInt4), -8);
  EXPECT_EQ(CodeToDouble(LoadCode(tensor->data(), ElementType::kInt4, 2), ElementType::kInt4), -1);
}

TEST(Npy, RefusesHostileFiles) {
  const std::string good =
      Npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", std::string(24, 'x'));
  for (size_t length = 0; length < good.size(); ++length) {
    EXPECT_FALSE(ParseNpy(absl::string_view(good).substr(0, length)).ok()) << length;
  }
  for (const char* header :
       {"{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000,), }",
        "{'descr': '<f4', 'fortran_order': False, }",
        "{'descr': '<f4', 'fortran_order': 7, 'shape': (2,), }",
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }",
        "{'descr': '|O', 'fortran_order': False, 'shape': (2,), }",
        "{'descr': '<M8[ns]', 'fortran_order': False, 'shape': (2,), }",
        "{'descr': '<f16', 'fortran_order': False, 'shape': (2,), }",
        "{'descr': '', 'fortran_order': False, 'shape': (2,), }",
        "{'descr': '<U99999999999', 'fortran_order': False, 'shape': (2,), }",
        "{'descr': '<U0', 'fortran_order': False, 'shape': (1000000000000,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), } + 1", "{{{{{{{", "", "'",
        "{'descr"}) {
    EXPECT_FALSE(ParseNpy(Npy(header, std::string(8, 'x'))).ok()) << header;
  }
  // Surrogates and numbers beyond Unicode.
  EXPECT_FALSE(ParseNpy(Npy("{'descr': '<U1', 'fortran_order': False, 'shape': (1,), }",
                            Bytes<uint32_t>({0xD800})))
                   .ok());
  EXPECT_FALSE(ParseNpy(Npy("{'descr': '<U1', 'fortran_order': False, 'shape': (1,), }",
                            Bytes<uint32_t>({0x110000})))
                   .ok());
}

TEST(Npz, RoundTrips) {
  const Tensor a = *Tensor::Of<float>(ElementType::kFloat, {2}, {1.5F, -2});
  const Tensor b = *Tensor::Of<int64_t>(ElementType::kInt64, {}, {7});
  const auto bytes = SerializeNpz({{"a", a}, {"b", b}});
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  const auto members = ParseNpz(*bytes);
  ASSERT_TRUE(members.ok()) << members.status();
  ASSERT_EQ(members->size(), 2);
  EXPECT_EQ((*members)[0].first, "a");
  EXPECT_THAT(Elements<float>(*ParseNpy((*members)[0].second)), ElementsAre(1.5F, -2));
  EXPECT_THAT(Elements<int64_t>(*ParseNpy((*members)[1].second)), ElementsAre(7));
}

// zipfile of Python: one deflated member "z.npy" of 64 times 'a'.
TEST(Npz, InflatesMembers) {
  const unsigned char kDeflated[] = {0x4B, 0x4C, 0xA4, 0x0C, 0x00, 0x00};
  const std::string content(64, 'a');
  auto stored = SerializeZip({{"z.npy", content}});
  ASSERT_TRUE(stored.ok());
  // The same archive with the deflated bytes in place of the stored ones.
  std::string bytes = stored->substr(0, 30 + 5);
  bytes[8] = 8;
  bytes[18] = sizeof(kDeflated);
  bytes.append(reinterpret_cast<const char*>(kDeflated), sizeof(kDeflated));
  std::string rest = stored->substr(30 + 5 + 64);
  rest[10] = 8;
  rest[20] = sizeof(kDeflated);
  const size_t end = rest.size() - 22;
  rest[end + 16] = static_cast<char>(bytes.size());
  bytes += rest;
  const auto members = ParseNpz(bytes);
  ASSERT_TRUE(members.ok()) << members.status();
  EXPECT_EQ((*members)[0].second, content);
}

TEST(Npz, RefusesHostileFiles) {
  const auto good = SerializeNpz({{"a", *Tensor::Of<float>(ElementType::kFloat, {2}, {1, 2})}});
  ASSERT_TRUE(good.ok());
  for (size_t length = 0; length < good->size(); ++length) {
    EXPECT_FALSE(ParseNpz(absl::string_view(*good).substr(0, length)).ok()) << length;
  }
  // Any byte changed: an error, or the same content; never a crash.
  for (size_t i = 0; i < good->size(); ++i) {
    std::string bad = *good;
    bad[i] = static_cast<char>(bad[i] ^ 0xFF);
    const auto members = ParseNpz(bad);
    if (members.ok() && !members->empty()) {
      EXPECT_EQ((*members)[0].second.size(), 136U) << i;
    }
  }
}

}  // namespace
}  // namespace onnx_run::tools
