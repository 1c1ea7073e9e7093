// External data: where it may lie, how much of it there must be, and who may give it.
#include "proto/external_data.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "onnx/onnx-ml.pb.h"
#include "proto/load.h"
#include "proto/tensor_proto.h"
#include "tests/unit/proto_test_util.h"

namespace onnx_run {
namespace {

using ::testing::HasSubstr;

// A tensor "w" in external data; `entries` are the external_data pairs in their order.
onnx::TensorProto External(ElementType type, std::vector<int64_t> dims,
                           std::vector<std::pair<std::string, std::string>> entries) {
  onnx::TensorProto proto;
  proto.set_name("w");
  proto.set_data_type(static_cast<int>(type));
  for (int64_t dim : dims) proto.add_dims(dim);
  proto.set_data_location(onnx::TensorProto::EXTERNAL);
  for (auto& [key, value] : entries) {
    onnx::StringStringEntryProto* entry = proto.add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  }
  return proto;
}

onnx::TensorProto Bytes4(std::vector<std::pair<std::string, std::string>> entries) {
  return External(ElementType::kUint8, {4}, std::move(entries));
}

std::string BytesOf(const Tensor& tensor) {
  return std::string(tensor.data_as<char>(), static_cast<size_t>(tensor.bytes()));
}

class ExternalDataTest : public ::testing::Test {
 protected:
  absl::StatusOr<Tensor> Read(const onnx::TensorProto& proto, bool follow_symlinks = false) {
    ExternalDataContext context(folder_.File("model"), follow_symlinks);
    context.set_warnings(&warnings_);
    return TensorFromProto(proto, &context);
  }
  absl::StatusOr<Tensor> ReadAt(const std::string& location) {
    return Read(Bytes4({{"location", location}}));
  }
  void ExpectRefused(const onnx::TensorProto& proto, const std::vector<std::string>& parts) {
    const auto tensor = Read(proto);
    ASSERT_FALSE(tensor.ok());
    EXPECT_THAT(std::string(tensor.status().message()), HasSubstr("\"w\""));
    for (const std::string& part : parts) {
      EXPECT_THAT(std::string(tensor.status().message()), HasSubstr(part));
    }
  }

  void SetUp() override {
    folder_.Write("model/w.bin", "0123456789");
    folder_.Write("model/sub/w.bin", "abcd");
    folder_.Write("outside.bin", "evil");
  }

  TemporaryFolder folder_;
  std::vector<std::string> warnings_;
};

TEST_F(ExternalDataTest, PathsInsideTheFolder) {
  EXPECT_EQ(BytesOf(*ReadAt("sub/w.bin")), "abcd");
  EXPECT_EQ(BytesOf(*ReadAt("./sub//./w.bin")), "abcd");
  folder_.Write("model/..w..", "dots");
  EXPECT_EQ(BytesOf(*ReadAt("..w..")), "dots");
  folder_.Write("model/w \xC3\xA9.bin", "utf8");
  EXPECT_EQ(BytesOf(*ReadAt("w \xC3\xA9.bin")), "utf8");
}

TEST_F(ExternalDataTest, PathsThatEscape) {
  for (const std::string& location :
       {std::string(), std::string("../outside.bin"), std::string("/etc/passwd"),
        std::string("//etc/passwd"), std::string("sub/../../outside.bin"), std::string(".."),
        std::string("sub/../w.bin"), std::string("C:\\x"), std::string("C:x"),
        std::string("..\\outside.bin"), std::string("sub/w.bin\0x", 11)}) {
    ExpectRefused(Bytes4({{"location", location}}), {"location", "inside the model's folder"});
  }
  EXPECT_FALSE(ReadAt("sub").ok());
  EXPECT_FALSE(ReadAt(".").ok());
  EXPECT_EQ(ReadAt("missing.bin").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(ExternalDataTest, SymbolicLinks) {
  const std::string model = folder_.File("model");
  ASSERT_EQ(symlink("sub/w.bin", (model + "/inside").c_str()), 0);
  ASSERT_EQ(symlink("../outside.bin", (model + "/outside").c_str()), 0);
  ASSERT_EQ(symlink("..", (model + "/up").c_str()), 0);
  ASSERT_EQ(symlink("loop", (model + "/loop").c_str()), 0);
  EXPECT_EQ(BytesOf(*ReadAt("inside")), "abcd");
  for (const std::string location : {"outside", "up/outside.bin"}) {
    ExpectRefused(Bytes4({{"location", location}}), {"symbolic link", "follow_symlinks"});
    const auto followed = Read(Bytes4({{"location", location}}), true);
    ASSERT_TRUE(followed.ok()) << followed.status();
    EXPECT_EQ(BytesOf(*followed), "evil");
  }
  EXPECT_FALSE(ReadAt("loop").ok());
  // The folder itself may be reached through a link.
  ASSERT_EQ(symlink(model.c_str(), folder_.File("alias").c_str()), 0);
  ExternalDataContext context(folder_.File("alias"));
  EXPECT_TRUE(TensorFromProto(Bytes4({{"location", "sub/w.bin"}}), &context).ok());
  // A folder whose name begins with the model's is another folder.
  folder_.Write("model2/w.bin", "evil");
  ASSERT_EQ(symlink("../model2/w.bin", (model + "/near").c_str()), 0);
  ExpectRefused(Bytes4({{"location", "near"}}), {"follow_symlinks"});
}

TEST_F(ExternalDataTest, OnlyRegularFiles) {
  ASSERT_EQ(mkfifo(folder_.File("model/fifo").c_str(), 0600), 0);
  ExpectRefused(Bytes4({{"location", "fifo"}}), {"not a regular file"});  // and does not wait
  ExpectRefused(Bytes4({{"location", "sub"}}), {"is a directory"});
}

TEST_F(ExternalDataTest, OffsetAndLength) {
  const auto at = [&](const std::string& offset) {
    return Read(Bytes4({{"location", "w.bin"}, {"offset", offset}, {"length", "4"}}));
  };
  EXPECT_EQ(BytesOf(*at("0")), "0123");
  EXPECT_EQ(BytesOf(*at("4")), "4567");
  EXPECT_EQ(BytesOf(*at("6")), "6789");
  EXPECT_EQ(BytesOf(*at("00000000000000000000006")), "6789");
  EXPECT_EQ(BytesOf(*Read(Bytes4({{"location", "w.bin"}}))), "0123");
  EXPECT_EQ(BytesOf(*Read(Bytes4({{"offset", "5"}, {"location", "w.bin"}}))), "5678");

  for (const char* offset : {"7", "10", "11", "18446744073709551615", "18446744073709551614"}) {
    EXPECT_EQ(at(offset).status().code(), absl::StatusCode::kOutOfRange) << offset;
    ExpectRefused(Bytes4({{"location", "w.bin"}, {"offset", offset}}),
                  {"w.bin", "10 bytes", "needs 4", absl::StrCat("offset ", offset)});
  }
  for (const char* bad : {"-1", "abc", "1e3", " 8", "8 ", "", "+4", "0x4", "99999999999999999999",
                          "18446744073709551616", "4.0"}) {
    ExpectRefused(Bytes4({{"location", "w.bin"}, {"offset", bad}}), {"offset", "decimal number"});
    ExpectRefused(Bytes4({{"location", "w.bin"}, {"length", bad}}), {"length", "decimal number"});
  }
  for (const char* length : {"0", "3", "5", "18446744073709551615"}) {
    ExpectRefused(Bytes4({{"location", "w.bin"}, {"length", length}}),
                  {absl::StrCat("length ", length), "expected 4"});
  }
}

TEST_F(ExternalDataTest, EmptyTensors) {
  const auto empty = [&](const std::string& offset) {
    return Read(External(ElementType::kFloat, {0},
                         {{"location", "w.bin"}, {"offset", offset}, {"length", "0"}}));
  };
  EXPECT_TRUE(empty("10").ok());  // just at the end
  EXPECT_FALSE(empty("11").ok());
  folder_.Write("model/empty", "");
  EXPECT_TRUE(Read(External(ElementType::kFloat, {2, 0}, {{"location", "empty"}})).ok());
  ExpectRefused(Bytes4({{"location", "empty"}}), {"0 bytes", "needs 4"});
}

TEST_F(ExternalDataTest, Keys) {
  EXPECT_TRUE(Read(Bytes4({{"location", "w.bin"}, {"checksum", "x"}})).ok());
  EXPECT_TRUE(warnings_.empty());
  EXPECT_TRUE(Read(Bytes4({{"location", "w.bin"}, {"color", "x"}})).ok());
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_THAT(warnings_[0], HasSubstr("\"color\""));
  ExpectRefused(Bytes4({{"location", "w.bin"}, {"offset", "0"}, {"offset", "0"}}), {"twice"});
  ExpectRefused(Bytes4({{"offset", "0"}}), {"no location"});
}

TEST_F(ExternalDataTest, Contradictions) {
  onnx::TensorProto raw = Bytes4({{"location", "w.bin"}});
  raw.set_raw_data("0123");
  ExpectRefused(raw, {"EXTERNAL", "raw_data"});
  onnx::TensorProto typed = Bytes4({{"location", "w.bin"}});
  typed.add_int32_data(1);
  ExpectRefused(typed, {"EXTERNAL", "int32_data"});
  ExpectRefused(External(ElementType::kString, {1}, {{"location", "w.bin"}}), {"strings"});
  EXPECT_FALSE(TensorFromProto(Bytes4({{"location", "w.bin"}})).ok());
}

TEST_F(ExternalDataTest, PackedTypes) {
  folder_.Write("model/int4", std::string("\x21\xF3", 2));
  const auto tensor =
      Read(External(ElementType::kInt4, {3}, {{"location", "int4"}, {"length", "2"}}));
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_EQ(BytesOf(*tensor), "\x21\x03");
  ExpectRefused(External(ElementType::kInt4, {5}, {{"location", "int4"}}), {"needs 3"});
}

TEST_F(ExternalDataTest, SharedRangesInAnyOrderAndAlignment) {
  std::string bytes(100000, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7 % 251);
  folder_.Write("model/big", bytes);
  ExternalDataContext context(folder_.File("model"));
  for (int64_t offset : {50001, 8, 4096, 50001, 3, 0, 36001}) {
    const auto tensor =
        TensorFromProto(External(ElementType::kDouble, {8000},
                                 {{"location", "big"}, {"offset", absl::StrCat(offset)}}),
                        &context);
    if (offset > 36000) {
      EXPECT_FALSE(tensor.ok());
      continue;
    }
    ASSERT_TRUE(tensor.ok()) << tensor.status();
    EXPECT_EQ(BytesOf(*tensor), bytes.substr(static_cast<size_t>(offset), 64000));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor->data()) % 8, 0u);
  }
}

TEST_F(ExternalDataTest, TensorsOutliveTheFileAndContext) {
  folder_.Write("model/big", std::string(100000, 'x'));
  absl::StatusOr<Tensor> tensor;
  {
    ExternalDataContext context(folder_.File("model"));
    tensor =
        TensorFromProto(External(ElementType::kUint8, {100000}, {{"location", "big"}}), &context);
  }
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  ASSERT_EQ(unlink(folder_.File("model/big").c_str()), 0);
  EXPECT_EQ(BytesOf(*tensor), std::string(100000, 'x'));
}

TEST_F(ExternalDataTest, OffsetsBeyondFourGigabytes) {
  const std::string path = folder_.File("model/sparse");
  const int fd = open(path.c_str(), O_CREAT | O_WRONLY, 0600);
  ASSERT_GE(fd, 0);
  const off_t offset = (off_t{5} << 30) + 1;
  const bool written = pwrite(fd, "tail", 4, offset) == 4;
  close(fd);
  if (!written) return;  // a file system without sparse files, or full
  const auto tensor = Read(Bytes4({{"location", "sparse"}, {"offset", absl::StrCat(offset)}}));
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_EQ(BytesOf(*tensor), "tail");
  ExpectRefused(Bytes4({{"location", "sparse"}, {"offset", absl::StrCat(offset + 1)}}),
                {"5368709125 bytes"});
}

// --- Through LoadModel -------------------------------------------------------

std::string ModelWith(const onnx::TensorProto& tensor) {
  onnx::ModelProto model;
  model.set_ir_version(10);
  model.add_opset_import()->set_version(21);
  *model.mutable_graph()->add_initializer() = tensor;
  return model.SerializeAsString();
}

TEST_F(ExternalDataTest, RelativeToTheModelFile) {
  const std::string path =
      folder_.Write("model/m.onnx", ModelWith(Bytes4({{"location", "sub/w.bin"}})));
  const auto model = LoadModel(path);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->graph.initializers[0].name, "w");
  EXPECT_EQ(BytesOf(model->graph.initializers[0].value.tensor()), "abcd");

  LoadOptions elsewhere;
  elsewhere.base_dir = folder_.File("model/sub");
  EXPECT_FALSE(LoadModel(path, elsewhere).ok());
}

TEST_F(ExternalDataTest, FromMemoryOnlyWhenTold) {
  const std::string bytes = ModelWith(Bytes4({{"location", "sub/w.bin"}}));
  const auto refused = LoadModelFromBytes(bytes);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("base_dir"));

  LoadOptions options;
  options.base_dir = folder_.File("model");
  EXPECT_TRUE(LoadModelFromBytes(bytes, options).ok());
}

TEST_F(ExternalDataTest, Resolver) {
  // Large enough not to be copied; the location is any name the caller understands.
  auto data = std::make_shared<std::string>(100000, 'r');
  const std::string bytes = ModelWith(
      External(ElementType::kUint8, {50000}, {{"location", "../any:name"}, {"offset", "50000"}}));
  int calls = 0;
  LoadOptions options;
  options.resolver = [&](absl::string_view location) -> absl::StatusOr<ExternalBytes> {
    ++calls;
    if (location != "../any:name") return absl::NotFoundError("no such weights");
    return ExternalBytes{*data, data};
  };
  const auto model = LoadModelFromBytes(bytes, options);
  ASSERT_TRUE(model.ok()) << model.status();
  const Tensor& tensor = model->graph.initializers[0].value.tensor();
  EXPECT_EQ(tensor.data(), data->data() + 50000);
  EXPECT_EQ(calls, 1);

  const auto beyond =
      LoadModelFromBytes(ModelWith(External(ElementType::kUint8, {50001},
                                            {{"location", "../any:name"}, {"offset", "50000"}})),
                         options);
  EXPECT_EQ(beyond.status().code(), absl::StatusCode::kOutOfRange);
  const auto missing = LoadModelFromBytes(ModelWith(Bytes4({{"location", "w.bin"}})), options);
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.status().message()), HasSubstr("no such weights"));
}

}  // namespace
}  // namespace onnx_run
