// What README.md shows must be what the repository holds.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

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

// Output of a command run in the source folder, both streams.
std::string OutputOf(const std::string& command) {
  const std::string line =
      "cd '" ONNX_RUN_SOURCE_DIR "' && PATH='" ONNX_RUN_BIN_DIR "':\"$PATH\" " + command + " 2>&1";
  FILE* const pipe = popen(line.c_str(), "r");
  if (pipe == nullptr) return "(cannot run)";
  std::string output;
  char buffer[4096];
  for (size_t n; (n = std::fread(buffer, 1, sizeof(buffer), pipe)) > 0;) output.append(buffer, n);
  pclose(pipe);
  return output;
}

// Every "$ onnx-... " of a console block prints what stands below it, up to a line "...". Those of
// official tests are left out: their files are not in the repository.
TEST(ReadmeTest, TheScreensAreWhatTheProgramsPrint) {
  std::istringstream readme(ReadSource("README.md"));
  bool inside = false;
  int shown = 0;
  std::string command;
  std::string wanted;
  const auto check = [&] {
    const size_t dev = command.find("./dev run ");
    if (dev == 0) command.replace(0, std::string("./dev").size() + 4, "onnx-run");
    if (command.rfind("onnx-", 0) == 0 && command.find(" node/") == std::string::npos) {
      ++shown;
      std::string printed = OutputOf(command);
      if (wanted.size() > 4 && wanted.substr(wanted.size() - 5) == "\n...\n") {
        wanted.erase(wanted.size() - 4);
        printed.resize(std::min(printed.size(), wanted.size()));
      }
      EXPECT_EQ(printed, wanted) << "$ " << command;
    }
    command.clear();
    wanted.clear();
  };
  for (std::string line; std::getline(readme, line);) {
    if (!inside) {
      inside = line == "```console";
    } else if (line == "```") {
      check();
      inside = false;
    } else if (line.rfind("$ ", 0) == 0) {
      check();
      command = line.substr(2);
    } else {
      wanted += line + "\n";
    }
  }
  EXPECT_GE(shown, 4);
}

}  // namespace
}  // namespace onnx_run
