// StringConcat, StringSplit, StringNormalizer, RegexFullMatch and TfIdfVectorizer.
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <re2/re2.h>
#include <utf8proc.h>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/kernel_table.h"
#include "ops/shape_util.h"
#include "runtime/status_macros.h"

namespace onnx_run {
namespace {

absl::Status StringConcat(KernelContext& context) {
  const Tensor* inputs[] = {&context.input(0), &context.input(1)};
  return Elementwise(context, inputs, ElementType::kString,
                     [](const ElementRun& run) {
                       const auto* a = run.Input<std::string>(0);
                       const auto* b = run.Input<std::string>(1);
                       auto* out = run.Output<std::string>();
                       for (int64_t i = 0; i < run.n; ++i)
                         out[i] = a[i * run.steps[0]] + b[i * run.steps[1]];
                     },
                     {.as_bits = true});
}

struct SplitAttributes {
  std::string delimiter;  // empty: runs of white space
  int64_t max_split;      // negative: no limit
};

absl::StatusOr<SplitAttributes> ParseStringSplit(const NodeInfo& node) {
  return SplitAttributes{node.StringOr("delimiter", ""), node.IntOr("maxsplit", -1)};
}

// As Python's str.split, which the standard's text describes.
std::vector<std::string> SplitText(const std::string& text, const SplitAttributes& attributes) {
  std::vector<std::string> parts;
  const auto more = [&] {
    return attributes.max_split < 0 || static_cast<int64_t>(parts.size()) < attributes.max_split;
  };
  size_t at = 0;
  if (!attributes.delimiter.empty()) {
    for (size_t found = 0;
         more() && (found = text.find(attributes.delimiter, at)) != std::string::npos;
         at = found + attributes.delimiter.size()) {
      parts.push_back(text.substr(at, found - at));
    }
    parts.push_back(text.substr(at));
    return parts;
  }
  const auto skip = [&](bool space) {
    while (at < text.size() && absl::ascii_isspace(static_cast<unsigned char>(text[at])) == space)
      ++at;
  };
  for (skip(true); at < text.size(); skip(true)) {
    const size_t begin = at;
    if (more()) {
      skip(false);
      parts.push_back(text.substr(begin, at - begin));
    } else {
      // What is left, but for the white space at its end.
      parts.emplace_back(absl::StripTrailingAsciiWhitespace(absl::string_view(text).substr(begin)));
      break;
    }
  }
  return parts;
}

absl::Status StringSplit(const SplitAttributes& attributes, KernelContext& context) {
  const Tensor& x = context.input(0);
  std::vector<std::vector<std::string>> parts;
  parts.reserve(static_cast<size_t>(x.size()));
  size_t longest = 0;
  for (const std::string& text : x.strings()) {
    parts.push_back(SplitText(text, attributes));
    longest = std::max(longest, parts.back().size());
  }
  Dims dims = x.dims();
  dims.push_back(static_cast<int64_t>(longest));
  ASSIGN_OR_RETURN(Tensor * output, context.Output(0, ElementType::kString, dims));
  ASSIGN_OR_RETURN(Tensor * counts, context.Output(1, ElementType::kInt64, x.dims()));
  for (size_t i = 0; i < parts.size(); ++i) {
    counts->mutable_data_as<int64_t>()[i] = static_cast<int64_t>(parts[i].size());
    std::move(parts[i].begin(), parts[i].end(), output->mutable_strings().begin() + i * longest);
  }
  return absl::OkStatus();
}

enum class CaseAction : uint8_t { kNone, kLower, kUpper };

struct NormalizerAttributes {
  CaseAction action;
  bool case_sensitive;
  absl::flat_hash_set<std::string> stopwords;  // folded by `action` when case does not matter
};

// Upper or lower case of every character, by Unicode's simple mappings; the `locale` attribute has
// no say, so that results are the same on every machine. Bytes that are not UTF-8 stay as they are.
std::string ChangeCase(const std::string& text, CaseAction action) {
  if (action == CaseAction::kNone) return text;
  std::string result;
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  const auto size = static_cast<utf8proc_ssize_t>(text.size());
  for (utf8proc_ssize_t at = 0; at < size;) {
    utf8proc_int32_t code = 0;
    const utf8proc_ssize_t length = utf8proc_iterate(bytes + at, size - at, &code);
    if (length <= 0) {
      result += text[static_cast<size_t>(at++)];
      continue;
    }
    utf8proc_uint8_t encoded[4];
    const utf8proc_int32_t changed =
        action == CaseAction::kLower ? utf8proc_tolower(code) : utf8proc_toupper(code);
    result.append(reinterpret_cast<char*>(encoded),
                  static_cast<size_t>(utf8proc_encode_char(changed, encoded)));
    at += length;
  }
  return result;
}

absl::StatusOr<NormalizerAttributes> ParseNormalizer(const NodeInfo& node) {
  NormalizerAttributes attributes;
  const std::string action = node.StringOr("case_change_action", "NONE");
  if (action == "LOWER") {
    attributes.action = CaseAction::kLower;
  } else if (action == "UPPER") {
    attributes.action = CaseAction::kUpper;
  } else if (action == "NONE") {
    attributes.action = CaseAction::kNone;
  } else {
    return node.BadAttribute("case_change_action", absl::StrCat("\"", action, "\""),
                             "\"LOWER\", \"UPPER\" or \"NONE\"");
  }
  attributes.case_sensitive = node.IntOr("is_case_sensitive", 0) != 0;
  for (const std::string& word : node.Strings("stopwords")) {
    // Without case two words are the same when their lower case is.
    attributes.stopwords.insert(attributes.case_sensitive ? word
                                                          : ChangeCase(word, CaseAction::kLower));
  }
  return attributes;
}

absl::Status StringNormalizer(const NormalizerAttributes& attributes, KernelContext& context) {
  const Tensor& x = context.input(0);
  if (x.rank() != 1 && !(x.rank() == 2 && x.dim(0) == 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("input is ", TypeAndDims(x), ", expected [C] or [1,C]"));
  }
  std::vector<std::string> kept;
  for (const std::string& text : x.strings()) {
    const bool stop = attributes.stopwords.contains(
        attributes.case_sensitive ? text : ChangeCase(text, CaseAction::kLower));
    if (!stop) kept.push_back(ChangeCase(text, attributes.action));
  }
  if (kept.empty()) kept.emplace_back();  // the standard's empty result has one empty string
  Dims dims{static_cast<int64_t>(kept.size())};
  if (x.rank() == 2) dims.insert(dims.begin(), 1);
  context.SetOutput(0, Tensor::Strings(dims, kept));
  return absl::OkStatus();
}

struct RegexAttributes {
  std::shared_ptr<const RE2> pattern;
};

absl::StatusOr<RegexAttributes> ParseRegex(const NodeInfo& node) {
  ASSIGN_OR_RETURN(const std::string pattern, node.String("pattern"));
  RE2::Options options;
  options.set_log_errors(false);
  auto compiled = std::make_shared<const RE2>(pattern, options);
  if (!compiled->ok()) {
    return node.BadAttribute("pattern", absl::StrCat("\"", pattern, "\" (", compiled->error(), ")"),
                             "a regular expression of RE2");
  }
  return RegexAttributes{std::move(compiled)};
}

absl::Status RegexFullMatch(const RegexAttributes& attributes, KernelContext& context) {
  const Tensor& x = context.input(0);
  ASSIGN_OR_RETURN(Tensor * output, context.Output(0, ElementType::kBool, x.dims()));
  auto* matches = output->mutable_data_as<uint8_t>();
  for (const std::string& text : x.strings()) {
    *matches++ = RE2::FullMatch(text, *attributes.pattern) ? 1 : 0;
  }
  return absl::OkStatus();
}

// The n-grams of the pool as a tree: each level is one item further.
struct GramNode {
  int64_t place = -1;  // in the output, when an n-gram ends here
  absl::flat_hash_map<std::string, std::unique_ptr<GramNode>> next;
};

struct TfIdfAttributes {
  int64_t min_length, max_length, max_skip;
  int64_t output_size;
  bool count_once;             // mode IDF
  std::vector<float> weights;  // by place in the output; empty: 1
  std::shared_ptr<const GramNode> root;
};

absl::StatusOr<TfIdfAttributes> ParseTfIdf(const NodeInfo& node) {
  TfIdfAttributes attributes;
  ASSIGN_OR_RETURN(attributes.min_length, node.Int("min_gram_length"));
  ASSIGN_OR_RETURN(attributes.max_length, node.Int("max_gram_length"));
  ASSIGN_OR_RETURN(attributes.max_skip, node.Int("max_skip_count"));
  if (attributes.min_length < 1 || attributes.max_length < attributes.min_length) {
    return node.BadAttribute(
        "min_gram_length",
        absl::StrCat(attributes.min_length, " with max_gram_length ", attributes.max_length),
        "1 or more, and not above max_gram_length");
  }
  if (attributes.max_skip < 0 || attributes.max_skip > (int64_t{1} << 31)) {
    return node.BadAttribute("max_skip_count", absl::StrCat(attributes.max_skip), "0 or more");
  }
  ASSIGN_OR_RETURN(const std::string mode, node.String("mode"));
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF") {
    return node.BadAttribute("mode", absl::StrCat("\"", mode, "\""),
                             "\"TF\", \"IDF\" or \"TFIDF\"");
  }
  attributes.count_once = mode == "IDF";
  std::vector<std::string> pool = node.Strings("pool_strings");
  for (int64_t item : node.Ints("pool_int64s")) pool.push_back(absl::StrCat(item));
  const std::vector<int64_t> counts = node.Ints("ngram_counts");
  const std::vector<int64_t> indexes = node.Ints("ngram_indexes");
  attributes.output_size = 0;
  for (int64_t index : indexes) {
    if (index < 0 || index > (int64_t{1} << 40)) {
      return node.BadAttribute("ngram_indexes", absl::StrCat("with an element ", index),
                               "0 or more");
    }
    attributes.output_size = std::max(attributes.output_size, index + 1);
  }
  // Weights come in the order of the pool's n-grams, as ngram_indexes does.
  const std::vector<float> weights = node.Floats("weights");
  if (!weights.empty() && weights.size() != indexes.size()) {
    return node.BadAttribute("weights", absl::StrCat(weights.size(), " elements"),
                             absl::StrCat(indexes.size(), ", as ngram_indexes has"));
  }
  if (!weights.empty() && mode != "TF") {
    attributes.weights.assign(static_cast<size_t>(attributes.output_size), 1);
    for (size_t i = 0; i < weights.size(); ++i) attributes.weights[indexes[i]] = weights[i];
  }
  auto root = std::make_shared<GramNode>();
  size_t gram = 0;
  for (size_t k = 0; k < counts.size(); ++k) {
    const auto length = static_cast<int64_t>(k) + 1;
    const int64_t begin = counts[k];
    const auto end = k + 1 < counts.size() ? counts[k + 1] : static_cast<int64_t>(pool.size());
    if (begin < 0 || begin > end || end > static_cast<int64_t>(pool.size()) ||
        (end - begin) % length != 0) {
      return node.BadAttribute(
          "ngram_counts", absl::StrJoin(counts, ","),
          absl::StrCat("starts of the n-grams of each length in a pool of ", pool.size()));
    }
    for (int64_t at = begin; at < end; at += length, ++gram) {
      if (gram >= indexes.size()) {
        return node.BadAttribute("ngram_indexes", absl::StrCat(indexes.size(), " elements"),
                                 "one for each n-gram of the pool");
      }
      if (length < attributes.min_length || length > attributes.max_length) continue;
      GramNode* place = root.get();
      for (int64_t i = at; i < at + length; ++i) {
        std::unique_ptr<GramNode>& next = place->next[pool[i]];
        if (next == nullptr) next = std::make_unique<GramNode>();
        place = next.get();
      }
      place->place = indexes[gram];
    }
  }
  attributes.root = std::move(root);
  return attributes;
}

absl::Status TfIdf(const TfIdfAttributes& attributes, KernelContext& context) {
  const Tensor& x = context.input(0);
  if (x.rank() > 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("input is ", TypeAndDims(x), ", expected [C] or [N,C]"));
  }
  std::vector<std::string> items;
  if (x.is_string()) {
    items.assign(x.strings().begin(), x.strings().end());
  } else {
    ASSIGN_OR_RETURN(const Dims values, ReadInts(x));
    for (int64_t value : values) items.push_back(absl::StrCat(value));
  }
  const int64_t rows = x.rank() == 2 ? x.dim(0) : 1;
  const int64_t columns = x.rank() == 0 ? 1 : x.dim(x.rank() - 1);
  Dims dims{attributes.output_size};
  if (x.rank() == 2) dims.insert(dims.begin(), rows);
  ASSIGN_OR_RETURN(Tensor * output, context.Output(0, ElementType::kFloat, dims));
  float* out = output->mutable_data_as<float>();
  std::fill(out, out + output->size(), 0.0F);
  for (int64_t row = 0; row < rows; ++row, out += attributes.output_size) {
    const std::string* item = items.data() + row * columns;
    // Single items are counted once, whatever may be skipped between those of longer n-grams.
    const int64_t skips = std::min(attributes.max_skip + 1, std::max<int64_t>(1, columns));
    for (int64_t step = 1; step <= skips; ++step) {
      for (int64_t begin = 0; begin < columns; ++begin) {
        const GramNode* place = attributes.root.get();
        for (int64_t length = 1, at = begin; length <= attributes.max_length && at < columns;
             ++length, at += step) {
          const auto found = place->next.find(item[at]);
          if (found == place->next.end()) break;
          place = found->second.get();
          if (place->place >= 0 && (length > 1 || step == 1)) out[place->place] += 1;
        }
      }
    }
    for (int64_t i = 0; i < attributes.output_size; ++i) {
      if (attributes.count_once) out[i] = out[i] > 0 ? 1 : 0;
      if (!attributes.weights.empty()) out[i] *= attributes.weights[i];
    }
  }
  return absl::OkStatus();
}

constexpr auto kKernels = KernelTable(
    Rows<ParseRegex, RegexFullMatch>("RegexFullMatch", 20), Rows<StringConcat>("StringConcat", 20),
    Rows<ParseNormalizer, StringNormalizer>("StringNormalizer", 10),
    Rows<ParseStringSplit, StringSplit>("StringSplit", 20),
    Rows<ParseTfIdf, TfIdf>("TfIdfVectorizer", 9));

}  // namespace

absl::Span<const KernelDef> TextKernels() { return kKernels; }

}  // namespace onnx_run
