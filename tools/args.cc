#include "tools/args.h"

#include <cctype>
#include <cmath>
#include <cstdio>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tools/exit_code.h"
#include "tools/report.h"

namespace onnx_run::tools {
namespace {

bool LooksLikeNumber(absl::string_view text) {
  if (text.size() < 2 || text[0] != '-') return false;
  const absl::string_view rest = text.substr(1);
  return std::isdigit(static_cast<unsigned char>(rest[0])) != 0 || rest[0] == '.' ||
         absl::EqualsIgnoreCase(rest, "inf") || absl::EqualsIgnoreCase(rest, "nan") ||
         absl::EqualsIgnoreCase(rest, "infinity");
}

}  // namespace

bool Args::Has(absl::string_view name) const { return values_.contains(std::string(name)); }

int Args::Count(absl::string_view name) const {
  const auto found = values_.find(std::string(name));
  return found == values_.end() ? 0 : static_cast<int>(found->second.size());
}

std::string Args::Get(absl::string_view name, absl::string_view fallback) const {
  const auto found = values_.find(std::string(name));
  return found == values_.end() ? std::string(fallback) : found->second.back();
}

std::vector<std::string> Args::All(absl::string_view name, bool split_commas) const {
  const auto found = values_.find(std::string(name));
  if (found == values_.end()) return {};
  if (!split_commas) return found->second;
  std::vector<std::string> all;
  for (const std::string& value : found->second) {
    for (absl::string_view part : absl::StrSplit(value, ',', absl::SkipEmpty())) {
      all.emplace_back(part);
    }
  }
  return all;
}

absl::StatusOr<int64_t> Args::Int(absl::string_view name, int64_t fallback, int64_t min,
                                  int64_t max) const {
  if (!Has(name)) return fallback;
  const std::string text = Get(name);
  int64_t value = 0;
  if (!absl::SimpleAtoi(text, &value)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--", name, " takes a whole number, got \"", text, "\""));
  }
  if (value < min || value > max) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--", name, " is ", value, ", expected ",
        max == INT64_MAX ? absl::StrCat(min, " or more") : absl::StrCat(min, " to ", max)));
  }
  return value;
}

absl::StatusOr<double> Args::Double(absl::string_view name, double fallback) const {
  if (!Has(name)) return fallback;
  const std::string text = Get(name);
  double value = 0;
  if (!absl::SimpleAtod(text, &value) || std::isnan(value) || value < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--", name, " takes a number of 0 or more, got \"", text, "\""));
  }
  return value;
}

ArgParser::ArgParser(std::string program, std::string synopsis, std::string description)
    : program_(std::move(program)),
      synopsis_(std::move(synopsis)),
      description_(std::move(description)) {}

ArgParser& ArgParser::Switch(std::string name, std::string help, char short_name) {
  flags_.push_back({std::move(name), "", std::move(help), short_name});
  return *this;
}

ArgParser& ArgParser::Value(std::string name, std::string value_name, std::string help,
                            char short_name) {
  flags_.push_back({std::move(name), std::move(value_name), std::move(help), short_name});
  return *this;
}

ArgParser& ArgParser::Epilog(std::string text) {
  epilog_ = std::move(text);
  return *this;
}

const ArgParser::Flag* ArgParser::Find(absl::string_view name) const {
  for (const Flag& flag : flags_) {
    if (flag.name == name) return &flag;
  }
  return nullptr;
}

const ArgParser::Flag* ArgParser::FindShort(char letter) const {
  for (const Flag& flag : flags_) {
    if (flag.short_name != 0 && flag.short_name == letter) return &flag;
  }
  return nullptr;
}

absl::StatusOr<Args> ArgParser::Parse(absl::Span<const std::string> args) const {
  Args parsed;
  bool flags_ended = false;
  for (size_t i = 0; i < args.size(); ++i) {
    const absl::string_view arg = args[i];
    if (flags_ended || arg.size() < 2 || arg[0] != '-' || LooksLikeNumber(arg)) {
      parsed.positional_.emplace_back(arg);
      continue;
    }
    if (arg == "--") {
      flags_ended = true;
      continue;
    }
    if (arg == "--help" || arg == "-h") {
      parsed.values_["help"].emplace_back();
      continue;
    }
    absl::string_view name = arg;
    std::optional<std::string> value;
    const Flag* flag = nullptr;
    if (arg[1] == '-') {
      name = arg.substr(2);
      const size_t equals = name.find('=');
      if (equals != absl::string_view::npos) {
        value = std::string(name.substr(equals + 1));
        name = name.substr(0, equals);
      }
      flag = Find(name);
    } else if (arg.size() == 2) {
      flag = FindShort(arg[1]);
    }
    if (flag == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("unknown flag ", arg));
    }
    if (flag->value_name.empty()) {
      if (value.has_value()) {
        return absl::InvalidArgumentError(absl::StrCat("--", flag->name, " takes no value"));
      }
      parsed.values_[flag->name].emplace_back();
      continue;
    }
    if (!value.has_value()) {
      if (i + 1 == args.size()) {
        return absl::InvalidArgumentError(
            absl::StrCat("--", flag->name, " needs a value: ", flag->value_name));
      }
      value = args[++i];
    }
    parsed.values_[flag->name].push_back(*std::move(value));
  }
  return parsed;
}

std::string ArgParser::Help() const {
  std::string help =
      absl::StrCat("usage: ", program_, " ", synopsis_, "\n\n", description_, "\n\n");
  size_t width = 0;
  std::vector<std::pair<std::string, std::string>> rows;
  for (const Flag& flag : flags_) {
    std::string left = "  ";
    if (flag.short_name != 0) absl::StrAppend(&left, "-", std::string(1, flag.short_name), ", ");
    absl::StrAppend(&left, "--", flag.name);
    if (!flag.value_name.empty()) absl::StrAppend(&left, " ", flag.value_name);
    rows.emplace_back(left, flag.help);
  }
  rows.emplace_back("  -h, --help", "this text");
  for (const auto& row : rows) {
    if (row.first.size() <= 28) width = std::max(width, row.first.size());
  }
  for (const auto& [left, right] : rows) {
    const std::string indent(width + 2, ' ');
    absl::StrAppend(&help, left);
    if (left.size() > width) {
      absl::StrAppend(&help, "\n", indent);
    } else {
      absl::StrAppend(&help, std::string(width + 2 - left.size(), ' '));
    }
    const std::vector<std::string> lines = absl::StrSplit(right, '\n');
    for (size_t i = 0; i < lines.size(); ++i) {
      absl::StrAppend(&help, i == 0 ? "" : indent, lines[i], "\n");
    }
  }
  if (!epilog_.empty()) absl::StrAppend(&help, "\n", epilog_, "\n");
  return help;
}

std::optional<Args> ArgParser::ParseOrExit(int argc, char** argv, int* exit_code) const {
  std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  absl::StatusOr<Args> args = Parse(words);
  if (!args.ok()) {
    PrintError(program_, args.status().message());
    std::fprintf(stderr, "Try %s --help\n", program_.c_str());
    *exit_code = kExitUsage;
    return std::nullopt;
  }
  if (args->Has("help")) {
    std::fputs(Help().c_str(), stdout);
    *exit_code = kExitOk;
    return std::nullopt;
  }
  return *std::move(args);
}

}  // namespace onnx_run::tools
