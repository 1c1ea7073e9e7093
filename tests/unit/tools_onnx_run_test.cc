// The programs from end to end: exit codes, what goes where, and that nothing is left behind on
// failure.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/save.h"
#include "proto/values.h"
#include "tests/unit/model_builder.h"
#include "tools/conformance.h"
#include "tools/files.h"
#include "tools/npy.h"

namespace onnx_run::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Result {
  int exit_code = -1;
  std::string out;
  std::string err;
};

class ProgramTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = absl::StrCat(::testing::TempDir(), "/onnx-run-XXXXXX");
    ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
    program_ = absl::StrCat(ONNX_RUN_BIN_DIR, "/onnx-run");
    if (!FileExists(program_)) GTEST_SKIP() << program_ << " is not built";
    const Model model = ModelBuilder(21)
                            .Input("x", ElementType::kFloat, {"N", 2})
                            .Node("Cast", {"x"}, {"h"}, {IntAttr("to", 10)}, "", "narrow")
                            .Node("Cast", {"h"}, {"y"}, {IntAttr("to", 1)}, "", "widen")
                            .Output("y", ElementType::kFloat, {"N", 2})
                            .Build();
    model_ = Path("model.onnx");
    ASSERT_TRUE(SaveModel(model, model_).ok());
  }
  void TearDown() override {
    if (std::system(absl::StrCat("rm -rf '", folder_, "'").c_str()) != 0) ADD_FAILURE();
  }

  std::string Path(absl::string_view name) const { return JoinPath(folder_, name); }

  // `arguments` are the shell's words.
  Result Run(const std::string& arguments, const std::string& program = "onnx-run") const {
    const std::string err = Path("stderr");
    const std::string command = absl::StrCat("'", ONNX_RUN_BIN_DIR, "/", program, "' ", arguments,
                                             " 2>'", err, "' </dev/null");
    Result result;
    std::FILE* pipe = ::popen(command.c_str(), "r");
    if (pipe == nullptr) return result;
    std::array<char, 4096> buffer;
    size_t got = 0;
    while ((got = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0)
      result.out.append(buffer.data(), got);
    const int status = ::pclose(pipe);
    result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
    result.err = ReadFile(err).value();
    std::remove(err.c_str());
    return result;
  }

  // A test directory with this expected output.
  std::string MakeTest(const std::string& name, const std::vector<float>& expected) const {
    std::string directory = Path(name);
    const std::string set = JoinPath(directory, "test_data_set_0");
    EXPECT_EQ(std::system(absl::StrCat("mkdir -p '", set, "'").c_str()), 0);
    EXPECT_TRUE(
        WriteFileAtomically(JoinPath(directory, "model.onnx"), ReadFile(model_).value()).ok());
    const Tensor x = *Tensor::Of<float>(ElementType::kFloat, {1, 2}, {0.1F, 2});
    EXPECT_TRUE(WriteValueFile(JoinPath(set, "input_0.pb"), "x", Value(x)).ok());
    const Tensor y = *Tensor::Of<float>(ElementType::kFloat, {1, 2}, expected);
    EXPECT_TRUE(WriteValueFile(JoinPath(set, "output_0.pb"), "y", Value(y)).ok());
    return directory;
  }

  std::vector<std::string> Files() const { return ListDirectory(folder_).value(); }

  std::string folder_;
  std::string program_;
  std::string model_;
};

TEST_F(ProgramTest, PrintsOutputs) {
  const Result result = Run(absl::StrCat(model_, " --input 'x=[[1.5,70000]]'"));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "y  float[1,2]  [[1.5, INF]]\n");
  EXPECT_EQ(result.err, "");
}

TEST_F(ProgramTest, RandomInputsAreSeeded) {
  const Result a = Run(absl::StrCat(model_, " --dim N=3 --seed 5"));
  const Result b = Run(absl::StrCat(model_, " --dim N=3 --seed=5"));
  const Result c = Run(absl::StrCat(model_, " --dim N=3 --seed 6"));
  EXPECT_EQ(a.exit_code, 0) << a.err;
  EXPECT_THAT(a.out, HasSubstr("float[3,2]"));
  EXPECT_THAT(a.err, HasSubstr("seed 5"));
  EXPECT_EQ(a.out, b.out);
  EXPECT_NE(a.out, c.out);
}

TEST_F(ProgramTest, NewerIrVersionsAreLetPassWhenAsked) {
  const Model model = ModelBuilder(21, 99)
                          .Input("x", ElementType::kFloat, {})
                          .Node("Neg", {"x"}, {"y"})
                          .Output("y", ElementType::kFloat, {})
                          .Build();
  ASSERT_TRUE(SaveModel(model, Path("newer.onnx")).ok());
  const std::string arguments = absl::StrCat(Path("newer.onnx"), " --input x=2");
  EXPECT_EQ(Run(arguments).exit_code, 3);
  const Result allowed = Run(absl::StrCat(arguments, " --allow-newer-ir"));
  EXPECT_EQ(allowed.exit_code, 0) << allowed.err;
  EXPECT_THAT(allowed.out, HasSubstr("-2"));
  EXPECT_THAT(allowed.err, HasSubstr("99"));  // the warning
}

TEST_F(ProgramTest, UsageErrors) {
  for (const std::string& arguments :
       {std::string(), std::string("a b"), absl::StrCat(model_, " --nothing"),
        absl::StrCat(model_, " --input x"), absl::StrCat(model_, " --input z=1"),
        absl::StrCat(model_, " --dim M=1"), absl::StrCat(model_, " --outputs z"),
        absl::StrCat(model_, " --exact --rtol 1"), absl::StrCat(model_, " --output-format npy"),
        absl::StrCat(model_, " --repeat 0"), absl::StrCat(model_, " --what-if int8"),
        absl::StrCat(model_, " --json f"),
        absl::StrCat(model_, " --input x=[[1,2]] --input x=[[1,2]]"),
        absl::StrCat(model_, " --no-native Nothing")}) {
    const Result result = Run(arguments);
    EXPECT_EQ(result.exit_code, 2) << arguments << "\n" << result.err;
    EXPECT_EQ(result.out, "") << arguments;
    EXPECT_NE(result.err, "") << arguments;
  }
  // What there is instead.
  EXPECT_THAT(Run(absl::StrCat(model_, " --input z=1")).err, HasSubstr("it has: x"));
  EXPECT_THAT(Run(absl::StrCat(model_, " --outputs z")).err, HasSubstr("it has: y, h"));
  EXPECT_THAT(Run(absl::StrCat(model_, " --dim M=1")).err, HasSubstr("it has: N"));
}

TEST_F(ProgramTest, BadModelsAndInputs) {
  EXPECT_EQ(Run(Path("absent.onnx")).exit_code, 3);
  ASSERT_TRUE(WriteFileAtomically(Path("bad.onnx"), "this is no model").ok());
  EXPECT_EQ(Run(Path("bad.onnx")).exit_code, 3);
  ASSERT_EQ(std::system(absl::StrCat("mkdir '", Path("two"), "' && cp '", model_, "' '",
                                     Path("two/a.onnx"), "' && cp '", model_, "' '",
                                     Path("two/b.onnx"), "'")
                            .c_str()),
            0);
  EXPECT_THAT(Run(Path("two")).err, HasSubstr("more than one model"));
  EXPECT_EQ(Run(Path("two")).exit_code, 3);
  EXPECT_EQ(Run(absl::StrCat(model_, " --input x=abc")).exit_code, 3);
  EXPECT_EQ(Run(absl::StrCat(model_, " --input x=", Path("absent.npy"))).exit_code, 3);
  EXPECT_EQ(Run(absl::StrCat(model_, " --input 'x=int64[1,2]:1'")).exit_code, 3);  // the wrong type
}

TEST_F(ProgramTest, NotImplemented) {
  const Model model = ModelBuilder(21)
                          .Input("x", ElementType::kFloat, {2})
                          .Node("NoSuchOperator", {"x"}, {"y"}, {}, "my.domain")
                          .Opset("my.domain", 1)
                          .Output("y", ElementType::kFloat, {2})
                          .Build();
  ASSERT_TRUE(SaveModel(model, Path("unknown.onnx")).ok());
  const Result result = Run(Path("unknown.onnx"));
  EXPECT_EQ(result.exit_code, 4) << result.err;
  EXPECT_THAT(result.err, HasSubstr("NoSuchOperator"));
  EXPECT_THAT(Run(absl::StrCat(Path("unknown.onnx"), " --summary")).out,
              HasSubstr("not implemented: my.domain.NoSuchOperator"));
}

TEST_F(ProgramTest, TestDirectories) {
  const std::string right = MakeTest("right", {0.09997559F, 2});
  const std::string wrong = MakeTest("wrong", {0.25F, 2});
  EXPECT_EQ(Run(right).exit_code, 0) << Run(right).out;
  EXPECT_THAT(Run(right).out, HasSubstr("y  right"));
  const Result result = Run(wrong);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out, HasSubstr("1 of 2 float elements differ; worst at [0,0]"));
  EXPECT_EQ(Run(absl::StrCat(wrong, " --atol 1")).exit_code, 0);
  EXPECT_EQ(Run(absl::StrCat(wrong, "/test_data_set_0")).exit_code, 1);
  // data.json of the test overrides the tolerances, the command line overrides both.
  ASSERT_TRUE(
      WriteFileAtomically(JoinPath(wrong, "data.json"), "{\"rtol\": 1e-3, \"atol\": 0.5}").ok());
  EXPECT_EQ(Run(wrong).exit_code, 0);
  EXPECT_EQ(Run(absl::StrCat(wrong, " --atol 1e-7")).exit_code, 1);
}

TEST_F(ProgramTest, WritesAndExpects) {
  const std::string inputs = absl::StrCat(model_, " --input 'x=[[0.1,2]]'");
  for (const char* format : {"pb", "npy", "npz"}) {
    const std::string out = Path(absl::StrCat("out_", format));
    EXPECT_EQ(
        Run(absl::StrCat(inputs, " --output ", out, " --output-format ", format, " -q")).exit_code,
        0);
    EXPECT_EQ(Run(absl::StrCat(inputs, " --expect ", out, " --exact")).exit_code, 0) << format;
    EXPECT_EQ(Run(absl::StrCat(model_, " --input 'x=[[0.2,2]]' --expect ", out)).exit_code, 1)
        << format;
  }
  EXPECT_THAT(ListDirectory(Path("out_pb")).value(), ElementsAre("output_0.pb"));
  EXPECT_THAT(ListDirectory(Path("out_npy")).value(), ElementsAre("y.npy"));
  EXPECT_THAT(ListDirectory(Path("out_npz")).value(), ElementsAre("outputs.npz"));
  // Input from each kind of file.
  EXPECT_THAT(Run(absl::StrCat(model_, " --input x=", Path("out_npy/y.npy"))).out,
              HasSubstr("0.099975586"));
  EXPECT_THAT(Run(absl::StrCat(model_, " --input x=", Path("out_pb/output_0.pb"))).out,
              HasSubstr("0.099975586"));
  EXPECT_EQ(Run(absl::StrCat(inputs, " --expect ", Path("absent"))).exit_code, 3);
}

TEST_F(ProgramTest, NothingIsWrittenOnFailure) {
  const std::vector<std::string> before = Files();
  EXPECT_EQ(Run(absl::StrCat(model_, " --input x=abc --output ", Path("out"))).exit_code, 3);
  EXPECT_EQ(Run(absl::StrCat(model_, " --input 'x=int64[1,2]:1' --dump ", Path("dump"),
                             " --profile ", Path("p.json")))
                .exit_code,
            3);
  // Found out before the run, so that nothing is computed, or printed, for nothing.
  for (const char* flag : {" --output ", " --profile ", " --dump ", " --cast-audit --json "}) {
    const Result result = Run(absl::StrCat(model_, flag, Path("no/such/folder")));
    EXPECT_EQ(result.exit_code, 3) << flag;
    EXPECT_EQ(result.out, "") << flag;
    EXPECT_THAT(result.err, HasSubstr("no/such")) << flag;
  }
  EXPECT_EQ(Files(), before);
}

TEST_F(ProgramTest, SeesInside) {
  const std::string inputs = absl::StrCat(model_, " --input 'x=[[0.1,70000]]'");
  EXPECT_THAT(Run(absl::StrCat(inputs, " --outputs all")).out,
              HasSubstr("h  float16[1,2]  [[0.1, INF]]"));
  EXPECT_EQ(Run(absl::StrCat(inputs, " --outputs h")).out, "h  float16[1,2]  [[0.1, INF]]\n");
  const Result audit = Run(absl::StrCat(inputs, " --cast-audit --json ", Path("audit.json")));
  EXPECT_EQ(audit.exit_code, 0) << audit.err;
  EXPECT_THAT(audit.out, HasSubstr("Cast \"narrow\""));
  EXPECT_THAT(ReadFile(Path("audit.json")).value(), HasSubstr("\"overflowed_to_infinity\": 1"));
  const Result what_if = Run(absl::StrCat(inputs, " --what-if float16,bfloat16"));
  EXPECT_THAT(what_if.out, HasSubstr("node_block_list = [\"narrow\"]"));
  const Result dump = Run(absl::StrCat(inputs, " --dump ", Path("dump")));
  EXPECT_EQ(dump.exit_code, 0) << dump.err;
  EXPECT_THAT(ListDirectory(Path("dump")).value(),
              ElementsAre("0000_h.pb", "0001_y.pb", "values.tsv"));
  const Result profile = Run(absl::StrCat(inputs, " --profile ", Path("trace.json")));
  EXPECT_EQ(profile.exit_code, 0) << profile.err;
  EXPECT_THAT(ReadFile(Path("trace.json")).value(), HasSubstr("\"traceEvents\""));
  EXPECT_THAT(Run(absl::StrCat(inputs, " --repeat 5")).out, HasSubstr("5 runs: min"));
}

TEST_F(ProgramTest, Lists) {
  EXPECT_THAT(Run("--list-ops").out, HasSubstr("CastLike"));
  EXPECT_THAT(Run("--version").out, HasSubstr("opset of ai.onnx 1 to"));
  EXPECT_THAT(Run(absl::StrCat(model_, " --summary")).out, HasSubstr("tensor(float)[N,2]"));
  EXPECT_THAT(Run("--help").out, HasSubstr("usage: onnx-run"));
}

TEST_F(ProgramTest, OnnxCast) {
  EXPECT_THAT(Run("1.1 --to float8e4m3fn", "onnx-cast").out, HasSubstr("0x39"));
  EXPECT_EQ(Run("-1 --from float --to uint8", "onnx-cast").exit_code, 0);
  EXPECT_EQ(Run("1.1 --to float8e8m0 --opset 21", "onnx-cast").exit_code, 2);
  EXPECT_EQ(Run("1.1 --to int8 --opset 13 --saturate 0", "onnx-cast").exit_code, 2);
  const std::string text = Run("0.1 --from string --to float8e4m3fn", "onnx-cast").out;
  EXPECT_THAT(text, HasSubstr("0x1D"));
  EXPECT_THAT(text, HasSubstr("straight from the text: rounded once"));
  EXPECT_THAT(text, HasSubstr("off by 0.0015625"));
  EXPECT_THAT(Run("300.7 --from string --to uint8", "onnx-cast").out,
              HasSubstr("fraction dropped (toward zero), then the low 8 bits"));
  EXPECT_THAT(Run("true --from string --to bool", "onnx-cast").out, HasSubstr("= true"));
  EXPECT_THAT(Run("300 --from int8 --to float", "onnx-cast").out,
              HasSubstr("300 is no int8: read as Cast from STRING reads it\nint8 44\n"));
  EXPECT_THAT(Run("1.5 --from int32 --to float", "onnx-cast").out, HasSubstr("1.5 is no int32"));
  EXPECT_THAT(Run("-128 --from int8 --to float", "onnx-cast").out, StartsWith("int8 -128\n"));
  EXPECT_THAT(Run("0xFF --from int8 --to float", "onnx-cast").out, StartsWith("int8 -1\n"));
  EXPECT_EQ(Run("abc --to int8", "onnx-cast").exit_code, 3);
  EXPECT_EQ(Run("--to int8", "onnx-cast").exit_code, 2);
  EXPECT_THAT(Run("1e40 --from double --all", "onnx-cast").out, HasSubstr("to infinity"));
}

TEST_F(ProgramTest, Conformance) {
  MakeTest("suite/test_right", {0.09997559F, 2});
  MakeTest("suite/test_wrong", {0.25F, 2});
  const std::string suite = Path("suite");
  Result result = Run(suite, "onnx-conformance");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out, HasSubstr("FAIL suite/test_wrong  differs: output \"y\""));
  EXPECT_THAT(result.out, HasSubstr("\n1 passed, 1 failed, 0 skipped\n"));
  EXPECT_EQ(Run(absl::StrCat(suite, " --filter right"), "onnx-conformance").exit_code, 0);
  EXPECT_EQ(Run(absl::StrCat(suite, " --filter nothing"), "onnx-conformance").exit_code, 3);
  EXPECT_EQ(Run(absl::StrCat(suite, " --filter '('"), "onnx-conformance").exit_code, 2);
  // The exact comparison of rounded decimals fails as well.
  const std::string list = Path("expected.txt");
  EXPECT_EQ(Run(absl::StrCat(suite, " --expected ", list, " --update-expected"), "onnx-conformance")
                .exit_code,
            1);
  result = Run(absl::StrCat(suite, " -q --expected ", list, " --junit ", Path("j.xml"), " --json ",
                            Path("j.json"), " --markdown ", Path("j.md")),
               "onnx-conformance");
  EXPECT_EQ(result.exit_code, 0) << result.out;
  EXPECT_EQ(result.out, "1 passed, 0 failed, 1 skipped\n");
  EXPECT_THAT(ReadFile(Path("j.xml")).value(), HasSubstr("<skipped"));
  EXPECT_THAT(ReadFile(Path("j.json")).value(), HasSubstr("\"skipped\": 1"));
  EXPECT_THAT(ReadFile(Path("j.md")).value(), HasSubstr("| Cast | 1 | 2 |"));
  // A listed test that passes is an error.
  ASSERT_TRUE(
      WriteFileAtomically(list, "suite/test_right because\nsuite/test_wrong because\n").ok());
  result = Run(absl::StrCat(suite, " -q --expected ", list), "onnx-conformance");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out, HasSubstr("unexpected pass"));
}

TEST(Expected, ParsesAndPrints) {
  const auto expected = ExpectedFailures::Parse("# comment\nb/x reason of x\n\na/y  reason\n");
  ASSERT_TRUE(expected.ok()) << expected.status();
  EXPECT_THAT(expected->Serialize(), HasSubstr("\na/y reason\nb/x reason of x\n"));
  EXPECT_FALSE(ExpectedFailures::Parse("a/x\n").ok());
  EXPECT_FALSE(ExpectedFailures::Parse("a/x r\na/x r\n").ok());
}

}  // namespace
}  // namespace onnx_run::tools
