// The flags of a program: exact long names, `--flag value` and `--flag=value`, repeated ones
// accumulate.
//
//   ArgParser parser("onnx-run", "MODEL.onnx|DIR [flags]", "Runs a model.");
//   parser.Value("input", "NAME=VALUE", "value of an input");
//   parser.Switch("exact", "compare bits");
//   absl::StatusOr<Args> args = parser.Parse(argc, argv);   // InvalidArgument is a usage error
//
// (absl's flags keep only the last of repeated ones and take any prefix of `no`.)
#ifndef ONNX_RUN_TOOLS_ARGS_H_
#define ONNX_RUN_TOOLS_ARGS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace onnx_run::tools {

class Args {
 public:
  bool Has(absl::string_view name) const;
  int Count(absl::string_view name) const;
  // The last value given, or `fallback`.
  std::string Get(absl::string_view name, absl::string_view fallback = "") const;
  // All values, in order; with `split_commas` each is a comma list.
  std::vector<std::string> All(absl::string_view name, bool split_commas = false) const;
  // InvalidArgument when the value is not a number, or outside of [min, max].
  absl::StatusOr<int64_t> Int(absl::string_view name, int64_t fallback, int64_t min = INT64_MIN,
                              int64_t max = INT64_MAX) const;
  absl::StatusOr<double> Double(absl::string_view name, double fallback) const;
  const std::vector<std::string>& positional() const { return positional_; }

 private:
  friend class ArgParser;
  std::map<std::string, std::vector<std::string>> values_;
  std::vector<std::string> positional_;
};

class ArgParser {
 public:
  ArgParser(std::string program, std::string synopsis, std::string description);
  // A flag without a value. `short_name` (one letter) is `-v`.
  ArgParser& Switch(std::string name, std::string help, char short_name = 0);
  // A flag with a value, that `value_name` stands for in the help.
  ArgParser& Value(std::string name, std::string value_name, std::string help, char short_name = 0);
  // Words after the flags in the help.
  ArgParser& Epilog(std::string text);

  // `args` without the program's name. Negative numbers count as positional arguments; so does
  // everything after "--".
  absl::StatusOr<Args> Parse(absl::Span<const std::string> args) const;
  std::string Help() const;
  const std::string& program() const { return program_; }

  // For main(): parses, or prints help (exit code 0) or a usage error (2); then `exit_code` is set.
  std::optional<Args> ParseOrExit(int argc, char** argv, int* exit_code) const;

 private:
  struct Flag {
    std::string name;
    std::string value_name;  // empty: takes no value
    std::string help;
    char short_name;
  };
  const Flag* Find(absl::string_view name) const;
  const Flag* FindShort(char letter) const;

  std::string program_;
  std::string synopsis_;
  std::string description_;
  std::string epilog_;
  std::vector<Flag> flags_;
};

}  // namespace onnx_run::tools

#endif  // ONNX_RUN_TOOLS_ARGS_H_
