#include "tools/report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace onnx_run::tools {
namespace {

// Length of the UTF-8 sequence that starts at `text[i]`, 0 when malformed.
size_t Utf8Length(absl::string_view text, size_t i) {
  const auto byte = [&](size_t k) { return static_cast<unsigned char>(text[k]); };
  const unsigned char first = byte(i);
  const size_t length = first < 0x80                    ? 1
                        : first >= 0xC2 && first < 0xE0 ? 2
                        : first >= 0xE0 && first < 0xF0 ? 3
                        : first >= 0xF0 && first < 0xF5 ? 4
                                                        : 0;
  if (length == 0 || i + length > text.size()) return 0;
  for (size_t k = 1; k < length; ++k) {
    if ((byte(i + k) & 0xC0) != 0x80) return 0;
  }
  if (first == 0xE0 && byte(i + 1) < 0xA0) return 0;
  if (first == 0xED && byte(i + 1) >= 0xA0) return 0;
  if (first == 0xF0 && byte(i + 1) < 0x90) return 0;
  if (first == 0xF4 && byte(i + 1) >= 0x90) return 0;
  return length;
}

// Columns that `text` takes on a terminal, one for each character.
size_t DisplayWidth(absl::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

}  // namespace

void PrintError(absl::string_view program, absl::string_view message) {
  std::fflush(stdout);
  const std::string line = absl::StrCat(program, ": ", message, "\n");
  std::fwrite(line.data(), 1, line.size(), stderr);
}

void Print(absl::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

Table::Table(std::vector<std::string> header, std::vector<Align> alignment)
    : header_(std::move(header)), alignment_(std::move(alignment)) {
  alignment_.resize(header_.size(), Align::kLeft);
}

void Table::Row(std::vector<std::string> cells) {
  cells.resize(header_.size());
  rows_.push_back(std::move(cells));
}

std::string Table::ToString(absl::string_view indent) const {
  std::vector<size_t> widths;
  for (const std::string& cell : header_) widths.push_back(DisplayWidth(cell));
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], DisplayWidth(row[i]));
  }
  std::string text;
  const auto append = [&](const std::vector<std::string>& row) {
    std::string line(indent);
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - DisplayWidth(row[i]), ' ');
      if (i > 0) line += "  ";
      line += alignment_[i] == Align::kRight ? padding + row[i] : row[i] + padding;
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    absl::StrAppend(&text, line, "\n");
  };
  const bool has_header =
      std::any_of(header_.begin(), header_.end(), [](const std::string& h) { return !h.empty(); });
  if (has_header) append(header_);
  for (const auto& row : rows_) append(row);
  return text;
}

std::string Table::ToMarkdown() const {
  std::string text = "|";
  for (const std::string& cell : header_) absl::StrAppend(&text, " ", cell, " |");
  text += "\n|";
  for (const Align align : alignment_) text += align == Align::kRight ? " ---: |" : " --- |";
  text += "\n";
  for (const auto& row : rows_) {
    text += "|";
    for (const std::string& cell : row) {
      std::string escaped;
      for (const char c : cell) {
        if (c == '|') escaped += '\\';
        escaped += c == '\n' ? ' ' : c;
      }
      absl::StrAppend(&text, " ", escaped, " |");
    }
    text += "\n";
  }
  return text;
}

std::string WithCommas(int64_t number) {
  std::string digits = absl::StrCat(number);
  const int start = number < 0 ? 1 : 0;
  for (int i = static_cast<int>(digits.size()) - 3; i > start; i -= 3) {
    digits.insert(static_cast<size_t>(i), ",");
  }
  return digits;
}

std::string ShortDouble(double value, int digits) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return absl::StrFormat("%.*g", digits, value);
}

std::string BytesText(int64_t bytes) {
  if (bytes < 10000) return absl::StrCat(bytes, " B");
  constexpr const char* kUnits[] = {"kB", "MB", "GB", "TB"};
  double value = static_cast<double>(bytes) / 1000;
  int unit = 0;
  while (value >= 1000 && unit < 3) {
    value /= 1000;
    ++unit;
  }
  return absl::StrFormat("%.*f %s", value < 10 ? 2 : value < 100 ? 1 : 0, value, kUnits[unit]);
}

void JsonWriter::Separate() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (need_comma_) text_ += ',';
  // One line for each element near the top, for people and for diffs.
  if (depth_ > 0 && depth_ <= 2) {
    text_ += '\n';
    text_.append(static_cast<size_t>(depth_) * 2, ' ');
  } else if (need_comma_) {
    text_ += ' ';
  }
}

JsonWriter& JsonWriter::Open(char bracket) {
  Separate();
  text_ += bracket;
  need_comma_ = false;
  ++depth_;
  return *this;
}

JsonWriter& JsonWriter::Close(char bracket) {
  --depth_;
  if (depth_ < 2 && need_comma_) {
    text_ += '\n';
    text_.append(static_cast<size_t>(depth_) * 2, ' ');
  }
  text_ += bracket;
  if (depth_ == 0) text_ += '\n';
  need_comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::Key(absl::string_view name) {
  Separate();
  absl::StrAppend(&text_, JsonQuote(name), ": ");
  after_key_ = true;
  need_comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::String(absl::string_view text) {
  Separate();
  text_ += JsonQuote(text);
  need_comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::Int(int64_t number) {
  Separate();
  absl::StrAppend(&text_, number);
  need_comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::Bool(bool value) {
  Separate();
  text_ += value ? "true" : "false";
  need_comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::Double(double value) {
  if (!std::isfinite(value)) return String(ShortDouble(value));
  Separate();
  absl::StrAppend(&text_, absl::StrFormat("%.17g", value));
  need_comma_ = true;
  return *this;
}

std::string JsonQuote(absl::string_view text) {
  std::string quoted = "\"";
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    const size_t length = Utf8Length(text, i);
    if (length == 0) {
      quoted += "\\ufffd";
      ++i;
      continue;
    }
    if (length > 1) {
      quoted.append(text.data() + i, length);
    } else if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (c == '\n') {
      quoted += "\\n";
    } else if (c == '\t') {
      quoted += "\\t";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      absl::StrAppend(&quoted, absl::StrFormat("\\u%04x", static_cast<unsigned char>(c)));
    } else {
      quoted += c;
    }
    i += length;
  }
  quoted += '"';
  return quoted;
}

std::string XmlEscape(absl::string_view text) {
  std::string escaped;
  for (size_t i = 0; i < text.size();) {
    const size_t length = Utf8Length(text, i);
    const char c = text[i];
    if (length > 1) {
      escaped.append(text.data() + i, length);
      i += length;
      continue;
    }
    ++i;
    switch (c) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&quot;"; break;
      default: {
        // XML 1.0 has no other control characters.
        const bool allowed =
            length == 1 && (static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t');
        escaped += allowed ? c : '?';
      }
    }
  }
  return escaped;
}

}  // namespace onnx_run::tools
