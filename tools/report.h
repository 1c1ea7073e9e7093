// What programs print with: error lines, tables, JSON and XML text.
#ifndef ONNX_RUN_TOOLS_REPORT_H_
#define ONNX_RUN_TOOLS_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace onnx_run::tools {

// "program: message" on stderr.
void PrintError(absl::string_view program, absl::string_view message);
// `text` on stdout, whole, however long.
void Print(absl::string_view text);

// Columns of text, as wide as their widest cell. Numbers are set to the right by the caller's
// choice.
class Table {
 public:
  enum class Align : uint8_t { kLeft, kRight };
  explicit Table(std::vector<std::string> header, std::vector<Align> alignment = {});
  void Row(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }
  std::string ToString(absl::string_view indent = "") const;
  std::string ToMarkdown() const;

 private:
  std::vector<std::string> header_;
  std::vector<Align> alignment_;
  std::vector<std::vector<std::string>> rows_;
};

// "1,234,567"
std::string WithCommas(int64_t number);
// A short decimal of a double: "3.25e-05"; "0"; "inf"; "nan".
std::string ShortDouble(double value, int digits = 3);
// "12.3 MB" of bytes.
std::string BytesText(int64_t bytes);

// Writes JSON text, no more: the caller opens and closes in the right order.
class JsonWriter {
 public:
  JsonWriter& BeginObject() { return Open('{'); }
  JsonWriter& EndObject() { return Close('}'); }
  JsonWriter& BeginArray() { return Open('['); }
  JsonWriter& EndArray() { return Close(']'); }
  JsonWriter& Key(absl::string_view name);
  JsonWriter& String(absl::string_view text);
  JsonWriter& Int(int64_t number);
  JsonWriter& Bool(bool value);
  // NaN and infinities, that JSON does not have, become strings.
  JsonWriter& Double(double value);
  const std::string& text() const { return text_; }

 private:
  JsonWriter& Open(char bracket);
  JsonWriter& Close(char bracket);
  void Separate();
  std::string text_;
  bool need_comma_ = false;
  bool after_key_ = false;
  int depth_ = 0;
};

// Quoted, with escapes; bytes that are not UTF-8 become U+FFFD.
std::string JsonQuote(absl::string_view text);
// For the text and attributes of XML.
std::string XmlEscape(absl::string_view text);

}  // namespace onnx_run::tools

#endif  // ONNX_RUN_TOOLS_REPORT_H_
