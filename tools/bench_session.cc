#include "tools/bench_session.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "onnx/onnx-ml.pb.h"
#include "proto/load.h"
#include "proto/save.h"
#include "runtime/session.h"
#include "runtime/status_macros.h"
#include "tools/engine.h"
#include "tools/files.h"

extern char** environ;

namespace onnx_run::tools {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

BenchmarkRow MakeRow(const char* benchmark, std::string name, std::vector<double> samples,
                     std::string unit) {
  std::sort(samples.begin(), samples.end());
  return {benchmark, std::move(name), samples.front(), samples[samples.size() / 2],
          std::move(unit)};
}

// A folder in the system's place for such, gone at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    const char* base = std::getenv("TMPDIR");
    path_ = absl::StrCat(base != nullptr ? base : "/tmp", "/onnx-bench-XXXXXX");
    if (::mkdtemp(path_.data()) == nullptr) path_.clear();
  }
  ~TemporaryFolder() {
    if (path_.empty()) return;
    const auto names = ListDirectory(path_);
    if (names.ok()) {
      for (const std::string& name : *names) std::remove(JoinPath(path_, name).c_str());
    }
    ::rmdir(path_.c_str());
  }
  absl::StatusOr<std::string> File(absl::string_view name) const {
    if (path_.empty()) return absl::FailedPreconditionError("cannot make a temporary folder");
    return JoinPath(path_, name);
  }

 private:
  std::string path_;
};

Type FloatVector(int64_t size) {
  Type type = Type::OfTensor(ElementType::kFloat);
  type.shape = std::vector<DeclaredDim>{{.value = size, .param = ""}};
  return type;
}

// Casts to int32 and back to float, in turn.
Model CastChain(int64_t nodes, int64_t elements) {
  Model model;
  model.ir_version = 10;
  model.opset_imports.push_back({"", 21});
  model.graph.name = "casts";
  model.graph.inputs.push_back({"v0", FloatVector(elements)});
  for (int64_t i = 0; i < nodes; ++i) {
    Node node;
    node.op_type = "Cast";
    node.inputs.push_back(absl::StrCat("v", i));
    node.outputs.push_back(absl::StrCat("v", i + 1));
    Attribute to;
    to.name = "to";
    to.kind = AttributeKind::kInt;
    to.i = static_cast<int64_t>(i % 2 == 0 ? ElementType::kInt32 : ElementType::kFloat);
    node.attributes.push_back(std::move(to));
    model.graph.nodes.push_back(std::move(node));
  }
  model.graph.outputs.push_back({absl::StrCat("v", nodes), Type()});
  return model;
}

absl::StatusOr<std::vector<Value>> FloatInput(int64_t elements) {
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(ElementType::kFloat, {elements}));
  for (int64_t i = 0; i < elements; ++i)
    tensor.mutable_data_as<float>()[i] = 1.5F * static_cast<float>(i);
  std::vector<Value> inputs;
  inputs.emplace_back(std::move(tensor));
  return inputs;
}

// Runs the program without output; its wall time and peak memory.
absl::Status SpawnAndWait(const std::vector<std::string>& command, double* seconds,
                          double* peak_mb) {
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  const Clock::time_point start = Clock::now();
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0)
    return absl::NotFoundError(absl::StrCat("cannot run ", command[0], ": ", std::strerror(error)));
  int status = 0;
  rusage usage = {};
  if (::wait4(pid, &status, 0, &usage) != pid) return absl::InternalError("wait4 failed");
  *seconds = SecondsSince(start);
  // Never less than what this process had at its peak: Linux counts the time before exec too.
  *peak_mb = static_cast<double>(usage.ru_maxrss) / 1024;
  if (status != 0) return absl::InternalError(absl::StrCat(command[0], " failed"));
  return absl::OkStatus();
}

absl::StatusOr<std::string> SiblingProgram(absl::string_view name) {
  char path[PATH_MAX];
  const ssize_t length = ::readlink("/proc/self/exe", path, sizeof(path));
  if (length <= 0) return absl::NotFoundError("this program does not know where it is");
  return JoinPath(DirName(absl::string_view(path, static_cast<size_t>(length))), name);
}

// A field of /proc/self/status in MB.
double MemoryField(const char* field) {
  const absl::StatusOr<std::string> status = ReadFile("/proc/self/status");
  if (!status.ok()) return 0;
  const size_t at = status->find(field);
  if (at == std::string::npos) return 0;
  return static_cast<double>(std::strtol(status->c_str() + at + std::strlen(field), nullptr, 10)) /
         1024;
}

// Runs `measure` in a child process, whose memory nothing else has touched; its numbers come back.
absl::StatusOr<std::vector<double>> InChild(
    const std::function<absl::StatusOr<std::vector<double>>()>& measure) {
  int fds[2];
  if (::pipe(fds) != 0) return absl::InternalError("pipe failed");
  std::fflush(stdout);
  const pid_t pid = ::fork();
  if (pid < 0) return absl::InternalError("fork failed");
  if (pid == 0) {
    std::string answer;
    const absl::StatusOr<std::vector<double>> numbers = measure();
    if (numbers.ok()) {
      for (const double number : *numbers)
        absl::StrAppend(&answer, absl::StrFormat("%.17g\n", number));
    } else {
      answer = absl::StrCat("!", numbers.status().message());
    }
    const ssize_t wrote = ::write(fds[1], answer.data(), answer.size());
    std::_Exit(wrote == static_cast<ssize_t>(answer.size()) ? 0 : 1);
  }
  ::close(fds[1]);
  std::string answer;
  char buffer[4096];
  ssize_t got = 0;
  while ((got = ::read(fds[0], buffer, sizeof(buffer))) > 0)
    answer.append(buffer, static_cast<size_t>(got));
  ::close(fds[0]);
  int status = 0;
  ::waitpid(pid, &status, 0);
  if (answer.empty() || answer[0] == '!') {
    return absl::InternalError(answer.empty() ? "a measurement crashed" : answer.substr(1));
  }
  std::vector<double> numbers;
  const char* at = answer.c_str();
  while (*at != '\0') {
    char* end = nullptr;
    numbers.push_back(std::strtod(at, &end));
    at = *end == '\n' ? end + 1 : end;
  }
  return numbers;
}

// A model whose one parameter is `bytes` of zeros in a sparse file.
absl::Status WriteExternalModel(const std::string& model_path, const std::string& data_path,
                                int64_t bytes) {
  const int fd = ::open(data_path.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0644);
  const bool sized = fd >= 0 && ::ftruncate(fd, bytes) == 0;
  if (fd >= 0) ::close(fd);
  if (!sized) return absl::ResourceExhaustedError(absl::StrCat("cannot make ", data_path));
  onnx::ModelProto model;
  model.set_ir_version(10);
  model.add_opset_import()->set_version(21);
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_name("external");
  onnx::TensorProto& weights = *graph.add_initializer();
  weights.set_name("w");
  weights.set_data_type(onnx::TensorProto::FLOAT);
  weights.add_dims(bytes / 4);
  weights.set_data_location(onnx::TensorProto::EXTERNAL);
  const auto entry = [&](const char* key, const std::string& value) {
    onnx::StringStringEntryProto& pair = *weights.add_external_data();
    pair.set_key(key);
    pair.set_value(value);
  };
  entry("location", BaseName(data_path));
  entry("offset", "0");
  entry("length", absl::StrCat(bytes));
  const auto value = [](onnx::ValueInfoProto& info, const char* name, int type) {
    info.set_name(name);
    info.mutable_type()->mutable_tensor_type()->set_elem_type(type);
    info.mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(4);
  };
  value(*graph.add_input(), "x", onnx::TensorProto::FLOAT);
  value(*graph.add_output(), "y", onnx::TensorProto::FLOAT);
  // The parameter is there for its type alone, so that nothing needs to touch it.
  onnx::NodeProto& node = *graph.add_node();
  node.set_op_type("CastLike");
  node.add_input("x");
  node.add_input("w");
  node.add_output("y");
  return WriteFileAtomically(model_path, model.SerializeAsString());
}

class CountingAllocator : public Allocator {
 public:
  void* Allocate(size_t bytes) override {
    ++calls;
    return Allocator::Default()->Allocate(bytes);
  }
  void Deallocate(void* data, size_t bytes) override {
    Allocator::Default()->Deallocate(data, bytes);
  }
  std::atomic<int64_t> calls{0};
};

}  // namespace

absl::StatusOr<std::vector<BenchmarkRow>> BenchmarkStartup() {
  const TemporaryFolder folder;
  ASSIGN_OR_RETURN(const std::string model, folder.File("one_cast.onnx"));
  RETURN_IF_ERROR(SaveModel(CastChain(1, 4), model));
  ASSIGN_OR_RETURN(const std::string program, SiblingProgram("onnx-run"));
  std::vector<double> times;
  std::vector<double> peaks;
  for (int i = 0; i < 43; ++i) {
    double seconds = 0;
    double peak = 0;
    RETURN_IF_ERROR(
        SpawnAndWait({program, model, "--input", "v0=1.5,2.5,-3.5,4.5"}, &seconds, &peak));
    if (i < 3) continue;  // to have the files in memory
    times.push_back(seconds * 1e3);
    peaks.push_back(peak);
  }
  return std::vector<BenchmarkRow>{
      MakeRow("startup", "onnx-run on one Cast, process start to end", times, "ms"),
      MakeRow("startup", "onnx-run on one Cast, peak memory", peaks, "MB")};
}

absl::StatusOr<std::vector<BenchmarkRow>> BenchmarkDispatch() {
  std::vector<BenchmarkRow> rows;
  ASSIGN_OR_RETURN(const std::vector<Value> inputs, FloatInput(4));
  for (const int64_t nodes : {int64_t{1000}, int64_t{1}}) {
    SessionOptions options = DefaultSessionOptions();
    options.threads = 1;
    ASSIGN_OR_RETURN(const auto session,
                     Session::Create(CastChain(nodes, 4), StandardRegistry(), options));
    const int64_t runs = std::max<int64_t>(20, 20000 / nodes);
    std::vector<double> samples;
    std::vector<Value> outputs(1);
    for (int repeat = 0; repeat < 25; ++repeat) {
      const Clock::time_point start = Clock::now();
      for (int64_t i = 0; i < runs; ++i)
        RETURN_IF_ERROR(session->Run(inputs, absl::MakeSpan(outputs)));
      samples.push_back(SecondsSince(start) * 1e9 / static_cast<double>(runs * nodes));
    }
    rows.push_back(MakeRow("dispatch",
                           nodes == 1 ? "a run of one Cast of 4 elements"
                                      : "a run of 1000 Casts of 4 elements, per node",
                           samples, "ns"));
  }
  return rows;
}

absl::StatusOr<std::vector<BenchmarkRow>> BenchmarkLoad() {
  std::vector<BenchmarkRow> rows;
  const TemporaryFolder folder;
  for (const int64_t nodes : {1000, 10000, 100000}) {
    ASSIGN_OR_RETURN(const std::string bytes, ModelToBytes(CastChain(nodes, 4)));
    std::vector<double> parse;
    std::vector<double> create;
    for (int repeat = 0; repeat < 9; ++repeat) {
      Clock::time_point start = Clock::now();
      ASSIGN_OR_RETURN(Model model, LoadModelFromBytes(bytes));
      parse.push_back(SecondsSince(start) * 1e3);
      SessionOptions options = DefaultSessionOptions();
      options.threads = 1;
      start = Clock::now();
      ASSIGN_OR_RETURN(const auto session,
                       Session::Create(std::move(model), StandardRegistry(), options));
      create.push_back(SecondsSince(start) * 1e3);
    }
    rows.push_back(
        MakeRow("load", absl::StrCat("model of ", nodes, " nodes, bytes to Model"), parse, "ms"));
    rows.push_back(MakeRow("load", absl::StrCat("model of ", nodes, " nodes, session creation"),
                           create, "ms"));
  }
  ASSIGN_OR_RETURN(const std::string model_path, folder.File("external.onnx"));
  ASSIGN_OR_RETURN(const std::string data_path, folder.File("weights.bin"));
  RETURN_IF_ERROR(WriteExternalModel(model_path, data_path, int64_t{1} << 30));
  std::vector<double> times;
  std::vector<double> memory;
  for (int repeat = 0; repeat < 5; ++repeat) {
    const auto measured = InChild([&]() -> absl::StatusOr<std::vector<double>> {
      const double before = MemoryField("VmRSS:");
      const Clock::time_point start = Clock::now();
      ASSIGN_OR_RETURN(Model model, LoadModel(model_path));
      ASSIGN_OR_RETURN(const auto session, Session::Create(std::move(model), StandardRegistry(),
                                                           DefaultSessionOptions()));
      ASSIGN_OR_RETURN(const std::vector<Value> inputs, FloatInput(4));
      std::vector<Value> outputs(1);
      RETURN_IF_ERROR(session->Run(inputs, absl::MakeSpan(outputs)));
      const double seconds = SecondsSince(start);
      return std::vector<double>{seconds * 1e3, MemoryField("VmHWM:") - before};
    });
    RETURN_IF_ERROR(measured.status());
    times.push_back((*measured)[0]);
    memory.push_back((*measured)[1]);
  }
  rows.push_back(MakeRow("load", "1 GB of external data, load and run", times, "ms"));
  rows.push_back(MakeRow("load", "1 GB of external data, memory it took", memory, "MB"));
  return rows;
}

absl::StatusOr<std::vector<BenchmarkRow>> BenchmarkMemory() {
  CountingAllocator allocator;
  SessionOptions options = DefaultSessionOptions();
  options.threads = 1;
  options.allocator = &allocator;
  ASSIGN_OR_RETURN(auto session,
                   Session::Create(CastChain(1000, 4096), StandardRegistry(), options));
  ASSIGN_OR_RETURN(const std::vector<Value> inputs, FloatInput(4096));
  std::vector<Value> outputs(1);
  std::vector<int64_t> calls;
  for (int i = 0; i < 4; ++i) {
    const int64_t before = allocator.calls;
    RETURN_IF_ERROR(session->Run(inputs, absl::MakeSpan(outputs)));
    calls.push_back(allocator.calls - before);
  }
  const auto row = [](std::string name, int64_t count) {
    return MakeRow("memory", std::move(name), {static_cast<double>(count)}, "allocations");
  };
  std::vector<BenchmarkRow> rows = {row("1000 Casts of 4096 elements, first run", calls[0]),
                                    row("1000 Casts of 4096 elements, fourth run", calls[3])};
  outputs.clear();
  session.reset();
  return rows;
}

}  // namespace onnx_run::tools
