#include "proto/standard/check.h"

#include <exception>
#include <filesystem>
#include <new>
#include <system_error>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "onnx/checker.h"
#include "onnx/onnx_pb.h"

namespace onnx_run {
namespace {

// Runs `check`, which reports by exceptions; none may leave this library.
absl::Status Guarded(absl::string_view where, absl::FunctionRef<void()> check) {
  try {
    check();
    return absl::OkStatus();
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(absl::StrCat(where, ": no memory for the check"));
  } catch (const std::exception& error) {
    absl::string_view words = error.what();
    while (absl::ConsumeSuffix(&words, "\n")) {
    }
    return absl::InvalidArgumentError(absl::StrCat(where, ": ", words));
  }
}

}  // namespace

absl::Status CheckModel(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) {
    return absl::NotFoundError(absl::StrCat(path, ": no such file"));
  }
  if (std::filesystem::is_directory(status)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": is a folder"));
  }
  return Guarded(path, [&] { onnx::checker::check_model(path, /*full_check=*/true); });
}

absl::Status CheckModelBytes(absl::string_view bytes) {
  onnx::ModelProto model;
  if (bytes.size() > INT32_MAX ||
      !model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::InvalidArgumentError("model: the bytes are not a ModelProto");
  }
  return Guarded("model", [&] { onnx::checker::check_model(model, /*full_check=*/true); });
}

}  // namespace onnx_run
