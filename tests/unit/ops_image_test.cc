// ImageDecoder on tiny files of each format, whole, cut off and damaged.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/families.h"
#include "tests/unit/ops_test_util.h"

namespace onnx_run {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Red and green over blue and (10, 20, 30), as Pillow wrote them.
constexpr const char* kPng =
    "89504e470d0a1a0a0000000d4948445200000002000000020802000000fdd49a730000001649444154789c63f8cf"
    "c0c0f09f818181e13f97881c001a58033a82e0ab530000000049454e44ae426082";
constexpr const char* kWebp =
    "5249464632000000574542505650384c260000002f014000001f20102078f0bf6a434890d0fdbf578100c188ff4b"
    "f31ff8e4a8e0060c11fd0f01";
constexpr const char* kTiff =
    "49492a0014000000803fc01038141014140f40400a00000103000100000002000000010103000100000002000000"
    "02010300030000009200000003010300010000000500000006010300010000000200000011010400010000000800"
    "000015010300010000000300000016010300010000000200000017010400010000000c0000001c01030001000000"
    "0100000000000000080008000800";
constexpr const char* kJpeg2000 =
    "ff4fff51002f00000000000200000002000000000000000000000002000000020000000000000000000307010107"
    "0101070101ff52000c00000001000104040001ff5c00074040484850ff640025000143726561746564206279204f"
    "70656e4a5045472076657273696f6e20322e352e34ff90000a00000000004a0001ff93c7d40409bfc7d404098fc7"
    "d4040977c7da051f6814fcc08009bf09b70497cfc00a3ed028fc0080047b097f0981c7da053f0028fc0080097704"
    "710979ffd9";
constexpr const char* kBmp =
    "424d460000000000000036000000280000000200000002000000010018000000000010000000c40e0000c40e0000"
    "0000000000000000ff00001e140a00000000ff00ff000000";
// All of it (200, 100, 50), 3 by 2.
constexpr const char* kJpeg =
    "ffd8ffe000104a46494600010100000100010000ffdb004300020101010101020101010202020202040302020202"
    "0504040304060506060605060606070908060709070606080b08090a0a0a0a0a06080b0c0b0a0c090a0a0affdb00"
    "4301020202020202050303050a0706070a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a"
    "0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0affc00011080002000303011100021101031101ffc40014000100"
    "000000000000000000000000000005ffc40014100100000000000000000000000000000000ffc400140101000000"
    "00000000000000000000000008ffc40014110100000000000000000000000000000000ffda000c03010002110311"
    "003f003c57361fffd9";

class ImageDecoder : public ::testing::Test {
 protected:
  void SetUp() override {
    if (ImageDecoderKernels().empty()) GTEST_SKIP() << "built without ONNX_RUN_IMAGE_CODECS";
  }

  static absl::StatusOr<std::vector<Value>> Run(const std::string& file,
                                                const char* format = "RGB") {
    const auto tensor =
        Tensor::Of<char>(ElementType::kUint8, {static_cast<int64_t>(file.size())}, file);
    return RunOp("ImageDecoder", 20, {*tensor}, {StringAttr("pixel_format", format)});
  }
};

std::string Bytes(const char* hex) { return absl::HexStringToBytes(hex); }

TEST_F(ImageDecoder, Formats) {
  for (const char* file : {kPng, kWebp, kTiff, kJpeg2000, kBmp}) {
    const auto result = Run(Bytes(file));
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_THAT((*result)[0].tensor().dims(), ElementsAre(2, 2, 3)) << file;
    EXPECT_THAT(ElementsOf<uint8_t>(result),
                ElementsAre(255, 0, 0, 0, 255, 0, 0, 0, 255, 10, 20, 30))
        << file;
  }
  const auto jpeg = Run(Bytes(kJpeg));
  ASSERT_TRUE(jpeg.ok()) << jpeg.status();
  EXPECT_THAT((*jpeg)[0].tensor().dims(), ElementsAre(2, 3, 3));
  EXPECT_THAT(ElementsOf<uint8_t>(Run(Bytes(kJpeg), "BGR")),
              ElementsAre(50, 100, 200, 50, 100, 200, 50, 100, 200, 50, 100, 200, 50, 100, 200, 50,
                          100, 200));
}

TEST_F(ImageDecoder, PixelFormats) {
  EXPECT_THAT(ElementsOf<uint8_t>(Run(Bytes(kPng), "BGR")),
              ElementsAre(0, 0, 255, 0, 255, 0, 255, 0, 0, 30, 20, 10));
  const auto gray = Run(Bytes(kPng), "Grayscale");
  ASSERT_TRUE(gray.ok()) << gray.status();
  EXPECT_THAT((*gray)[0].tensor().dims(), ElementsAre(2, 2, 1));
  EXPECT_THAT(ElementsOf<uint8_t>(gray), ElementsAre(76, 150, 29, 18));
  EXPECT_THAT(Run(Bytes(kPng), "CMYK").status().message(), HasSubstr("Grayscale"));
}

TEST_F(ImageDecoder, PortableMaps) {
  const auto elements = [](const std::string& file) {
    return ElementsOf<uint8_t>(Run(file, file[1] == '3' || file[1] == '6' ? "RGB" : "Grayscale"));
  };
  EXPECT_THAT(elements("P1 # bits\n3 1\n101"), ElementsAre(0, 255, 0));
  EXPECT_THAT(elements("P2\n3 1\n15\n0 5 15"), ElementsAre(0, 85, 255));
  EXPECT_THAT(elements("P3 1 1 255 1 2 3\n"), ElementsAre(1, 2, 3));
  EXPECT_THAT(elements("P4 9 1\n\x55\x80"), ElementsAre(255, 0, 255, 0, 255, 0, 255, 0, 0));
  EXPECT_THAT(elements("P5 2 1 255\nAz"), ElementsAre('A', 'z'));
  EXPECT_THAT(elements(std::string("P5 2 1 65535\n\xFF\xFF\x80\x00", 17)), ElementsAre(255, 128));
  EXPECT_THAT(elements("P6 1 1 255\nabc"), ElementsAre('a', 'b', 'c'));
}

// Whatever has been cut off or changed: an image, or none.
TEST_F(ImageDecoder, DamagedFiles) {
  for (const char* hex : {kPng, kWebp, kTiff, kJpeg2000, kBmp, kJpeg}) {
    const std::string file = Bytes(hex);
    for (size_t n = 0; n < file.size(); ++n) {
      const auto cut = Run(file.substr(0, n));
      ASSERT_TRUE(cut.ok()) << cut.status();
      // All pixels of a PNG are there without its last chunk.
      if (hex != kPng || n + 12 < file.size()) {
        ASSERT_THAT((*cut)[0].tensor().dims(), ElementsAre(0, 0, 3)) << hex << " cut to " << n;
      }
      for (const char value : {'\0', '\xFF', '\x80'}) {
        std::string changed = file;
        changed[n] = value;
        const auto result = Run(changed);
        if (!result.ok()) {
          ASSERT_TRUE(absl::IsResourceExhausted(result.status())) << result.status();
        }
      }
    }
  }
}

TEST_F(ImageDecoder, NoImages) {
  for (const std::string& file :
       {std::string(), std::string("P"), std::string("P6"), std::string("P6 9999999 9999999 255\n"),
        std::string("P6 0 1 255\n"), std::string("BM"), std::string("hello, world")}) {
    const auto result = Run(file, "Grayscale");
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_THAT((*result)[0].tensor().dims(), ElementsAre(0, 0, 1));
  }
  const Tensor square = TensorOf<uint8_t>(ElementType::kUint8, {1, 1}, {0});
  EXPECT_THAT(RunOp("ImageDecoder", 20, {square}).status().message(), HasSubstr("1 dimension"));
  // A PNG that says it has 40000 rows of 40000 pixels.
  std::string png = Bytes(kPng);
  png.replace(16, 17, Bytes("00009c4000009c400802000000de6e9952"));
  EXPECT_THAT(Run(png).status().message(), HasSubstr("40000 rows of 40000 pixels"));
}

}  // namespace
}  // namespace onnx_run
