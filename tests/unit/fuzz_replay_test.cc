// The fuzz targets over their seeds and over a few thousand changed copies of them, the same ones
// on every run: a small part of what `./dev fuzz` does, with any compiler.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "proto/load.h"
#include "tests/fuzz/targets.h"
#include "tests/unit/proto_test_util.h"

namespace onnx_run {
namespace {

// xorshift64*: the same numbers everywhere.
class Random {
 public:
  uint64_t Next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545F4914F6CDD1Du;
  }
  size_t Below(size_t n) { return n == 0 ? 0 : static_cast<size_t>((Next() >> 11) % n); }

 private:
  uint64_t state_ = 0x9E3779B97F4A7C15u;
};

std::string Changed(std::string bytes, Random* random) {
  static constexpr unsigned char kInteresting[] = {0, 1, 2, 7, 0x7F, 0x80, 0xFE, 0xFF};
  for (size_t changes = 1 + random->Below(4); changes > 0; --changes) {
    const size_t at = random->Below(bytes.size() + 1);
    switch (random->Below(5)) {
      case 0:
        if (at < bytes.size()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << random->Below(8)));
        break;
      case 1:
        if (at < bytes.size()) bytes[at] = static_cast<char>(kInteresting[random->Below(8)]);
        break;
      case 2: bytes.insert(at, 1 + random->Below(3), static_cast<char>(random->Next())); break;
      case 3: bytes.erase(at, 1 + random->Below(8)); break;
      default:
        // A piece of it once more, elsewhere.
        const std::string piece = bytes.substr(at, random->Below(40));
        bytes.insert(random->Below(bytes.size() + 1), piece);
    }
  }
  return bytes;
}

void Replay(const std::string& name, void (*target)(absl::string_view)) {
  const std::filesystem::path folder =
      std::filesystem::path(ONNX_RUN_SOURCE_DIR) / "tests" / "fuzz" / "seeds" / name;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  ASSERT_FALSE(files.empty()) << folder;
  target("");
  Random random;
  for (const auto& file : files) {
    SCOPED_TRACE(file.string());
    const std::string seed = ReadAll(file.string());
    target(seed);
    for (size_t size = 0; size < std::min<size_t>(seed.size(), 300); ++size) {
      target(absl::string_view(seed).substr(0, size));
    }
    for (int i = 0; i < 300; ++i) target(Changed(seed, &random));
  }
}

TEST(FuzzReplayTest, Model) { Replay("model_fuzz", fuzz::FuzzModel); }
TEST(FuzzReplayTest, Tensor) { Replay("tensor_fuzz", fuzz::FuzzTensor); }
TEST(FuzzReplayTest, Value) { Replay("value_fuzz", fuzz::FuzzValue); }
TEST(FuzzReplayTest, Text) { Replay("text_fuzz", fuzz::FuzzText); }
TEST(FuzzReplayTest, Npy) { Replay("npy_fuzz", fuzz::FuzzNpy); }

// The seeds are meant to be mostly right: as garbage they would lead nowhere.
TEST(FuzzReplayTest, ModelSeedsLoad) {
  const std::string folder = std::string(ONNX_RUN_SOURCE_DIR) + "/tests/fuzz/seeds/model_fuzz/";
  for (const char* name :
       {"cast", "cast_1", "if", "function", "initializers", "constants", "types"}) {
    const auto model = LoadModelFromBytes(ReadAll(folder + name));
    EXPECT_TRUE(model.ok()) << name << " " << model.status();
  }
}

}  // namespace
}  // namespace onnx_run
