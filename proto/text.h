// Small helpers for the messages of this folder.
#ifndef ONNX_RUN_PROTO_TEXT_H_
#define ONNX_RUN_PROTO_TEXT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace onnx_run {

// "name" in quotes, control characters escaped and cut when very long: names come from files that
// anybody may have written, and messages end on terminals.
inline std::string Quoted(absl::string_view name) {
  constexpr size_t kLongest = 200;
  if (name.size() > kLongest) {
    return absl::StrCat("\"", absl::Utf8SafeCEscape(name.substr(0, kLongest)), "...\" (",
                        name.size(), " bytes)");
  }
  return absl::StrCat("\"", absl::Utf8SafeCEscape(name), "\"");
}

// The same status with "where: " before its message.
inline absl::Status At(absl::string_view where, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(where, ": ", status.message()));
}

}  // namespace onnx_run

#endif  // ONNX_RUN_PROTO_TEXT_H_
