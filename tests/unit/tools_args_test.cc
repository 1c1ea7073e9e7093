// tools/args.h: the flags all programs share.
#include "tools/args.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace onnx_run::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ArgParser Parser() {
  ArgParser parser("prog", "FILE", "Does things.");
  parser.Value("input", "NAME=VALUE", "an input");
  parser.Value("jobs", "N", "how many", 'j');
  parser.Switch("exact", "to the bit");
  parser.Switch("verbose", "more", 'v');
  return parser;
}

std::string Error(std::vector<std::string> words) {
  const auto args = Parser().Parse(words);
  return args.ok() ? "" : std::string(args.status().message());
}

TEST(Args, BothFormsAndRepeats) {
  const auto args = Parser().Parse(std::vector<std::string>{
      "a.onnx", "--input", "x=1", "--input=y=2", "-v", "--exact", "-j", "4", "-v"});
  ASSERT_TRUE(args.ok()) << args.status();
  EXPECT_THAT(args->positional(), ElementsAre("a.onnx"));
  EXPECT_THAT(args->All("input"), ElementsAre("x=1", "y=2"));
  EXPECT_EQ(args->Count("verbose"), 2);
  EXPECT_TRUE(args->Has("exact"));
  EXPECT_EQ(args->Int("jobs", 1).value(), 4);
  EXPECT_EQ(args->Get("missing", "fallback"), "fallback");
}

TEST(Args, NegativeNumbersAndTheEndOfFlags) {
  const auto args =
      Parser().Parse(std::vector<std::string>{"-1.5", "-inf", "-.5", "--", "--exact", "-v"});
  ASSERT_TRUE(args.ok()) << args.status();
  EXPECT_THAT(args->positional(), ElementsAre("-1.5", "-inf", "-.5", "--exact", "-v"));
  EXPECT_FALSE(args->Has("exact"));
}

TEST(Args, SplitsCommas) {
  const auto args = Parser().Parse(std::vector<std::string>{"--input", "a,b", "--input", "c"});
  ASSERT_TRUE(args.ok());
  EXPECT_THAT(args->All("input", true), ElementsAre("a", "b", "c"));
}

TEST(Args, UsageErrors) {
  EXPECT_THAT(Error({"--nothing"}), HasSubstr("unknown flag --nothing"));
  EXPECT_THAT(Error({"--exac"}), HasSubstr("unknown flag"));  // no prefixes
  EXPECT_THAT(Error({"-x"}), HasSubstr("unknown flag -x"));
  EXPECT_THAT(Error({"--exact=1"}), HasSubstr("takes no value"));
  EXPECT_THAT(Error({"--input"}), HasSubstr("needs a value"));
}

TEST(Args, Numbers) {
  const auto args = Parser().Parse(std::vector<std::string>{"--jobs", "x"});
  ASSERT_TRUE(args.ok());
  EXPECT_FALSE(args->Int("jobs", 1).ok());
  EXPECT_FALSE(args->Double("jobs", 1).ok());
  EXPECT_EQ(args->Int("absent", 7).value(), 7);
  const auto zero = Parser().Parse(std::vector<std::string>{"--jobs", "0"});
  EXPECT_FALSE(zero->Int("jobs", 1, 1).ok());
}

TEST(Args, HelpNamesEveryFlag) {
  const std::string help = Parser().Help();
  for (const char* text :
       {"usage: prog FILE", "--input NAME=VALUE", "-j, --jobs N", "--exact", "--help"}) {
    EXPECT_THAT(help, HasSubstr(text));
  }
}

}  // namespace
}  // namespace onnx_run::tools
