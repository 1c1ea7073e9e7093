// What README.md shows must be what the repository holds.
#include <fstream>
#include <iterator>
#include <regex>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/all_ops.h"

namespace onnx_run {
namespace {

std::string ReadSource(const std::string& name) {
  std::ifstream file(std::string(ONNX_RUN_SOURCE_DIR) + "/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST(ReadmeTest, TheEmbeddingExampleIsTheConsumersProgram) {
  const std::string program = ReadSource("tests/consumer/main.cc");
  ASSERT_FALSE(program.empty());
  EXPECT_THAT(ReadSource("README.md"), testing::HasSubstr("```cpp\n" + program + "```\n"));
}

TEST(ReadmeTest, TheVersionsOfTheStandardAreThoseOfTheTable) {
  const SchemaTable& schemas = StandardSchemas();
  const std::string text = std::regex_replace(ReadSource("README.md"), std::regex("\\s+"), " ");
  EXPECT_THAT(text,
              testing::HasSubstr(
                  "The standard of onnx " + std::string(schemas.onnx_version) + ": opsets 1 to " +
                  std::to_string(schemas.FindDomain("")->max_version) + " of `ai.onnx`, 1 to " +
                  std::to_string(schemas.FindDomain("ai.onnx.ml")->max_version) +
                  " of `ai.onnx.ml`, IR versions 1 to " + std::to_string(schemas.max_ir_version)));
}

TEST(ReadmeTest, LinkedFilesExist) {
  const std::regex link("\\]\\(([^)#:]+)\\)");
  for (const std::string page : {"README.md", "docs/cast-semantics.md", "docs/architecture.md"}) {
    const std::string folder =
        page.substr(0, page.rfind('/') == std::string::npos ? 0 : page.rfind('/') + 1);
    const std::string text = ReadSource(page);
    ASSERT_FALSE(text.empty()) << page;
    for (std::sregex_iterator at(text.begin(), text.end(), link), end; at != end; ++at) {
      const std::ifstream file(std::string(ONNX_RUN_SOURCE_DIR) + "/" + folder + (*at)[1].str());
      EXPECT_TRUE(file.good()) << page << ": " << (*at)[1];
    }
  }
}

}  // namespace
}  // namespace onnx_run
