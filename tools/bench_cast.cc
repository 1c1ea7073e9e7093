#include "tools/bench_cast.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "runtime/convert/convert.h"
#include "runtime/element_type.h"
#include "runtime/thread_pool.h"

namespace onnx_run {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::optional<ElementType> from;
  std::optional<ElementType> to;
  int64_t elements = int64_t{1} << 20;
  int threads = 1;
  bool strings = false;
  enum { kTable, kCsv, kJson } format = kTable;
};

struct Row {
  std::string from;
  std::string to;
  double nanoseconds = 0;  // per element
  double gigabytes = 0;    // per second, read plus written
  double ratio = 0;        // to memcpy
};

constexpr char kHelp[] =
    "usage: onnx-bench cast [flags]\n\n"
    "Measures conversions of arrays beside memcpy of as many floats.\n\n"
    "  --from TYPE, --to TYPE  only these pairs (default: all numeric types)\n"
    "  --strings               string too\n"
    "  --elements N            elements of an array\n"
    "  --threads N             threads (1)\n"
    "  --csv, --json           another format than the table\n"
    "  -h, --help              this text\n";

bool ParseArgs(absl::Span<const std::string> args, Options& options) {
  for (size_t i = 0; i < args.size(); ++i) {
    const std::string& arg = args[i];
    if (arg == "--csv") {
      options.format = Options::kCsv;
    } else if (arg == "--json") {
      options.format = Options::kJson;
    } else if (arg == "--strings") {
      options.strings = true;
    } else if (i + 1 < args.size() && (arg == "--from" || arg == "--to")) {
      const std::optional<ElementType> type = ElementTypeFromName(args[++i]);
      if (!type.has_value()) {
        absl::FPrintF(stderr, "unknown element type: %s\n", args[i]);
        return false;
      }
      (arg == "--from" ? options.from : options.to) = type;
    } else if (i + 1 < args.size() && arg == "--elements") {
      if (!absl::SimpleAtoi(args[++i], &options.elements) || options.elements < 1) {
        absl::FPrintF(stderr, "--elements wants a positive number: %s\n", args[i]);
        return false;
      }
    } else if (i + 1 < args.size() && arg == "--threads") {
      if (!absl::SimpleAtoi(args[++i], &options.threads) || options.threads < 1) {
        absl::FPrintF(stderr, "--threads wants a positive number: %s\n", args[i]);
        return false;
      }
    } else {
      absl::FPrintF(stderr, "unknown or incomplete argument: %s\n", arg);
      return false;
    }
  }
  return true;
}

// Seconds of one call: the best of many samples, each long enough for the clock and shorter than
// what the system lets other programs run in between.
template <typename Fn>
double Measure(Fn fn, double budget_seconds) {
  const auto seconds_of = [&](int64_t calls) {
    const auto begin = Clock::now();
    for (int64_t i = 0; i < calls; ++i) fn();
    return std::chrono::duration<double>(Clock::now() - begin).count() / static_cast<double>(calls);
  };
  fn();
  double best = seconds_of(1);
  const auto calls = static_cast<int64_t>(std::clamp(2e-4 / std::max(best, 1e-9), 1.0, 1e6));
  const auto start = Clock::now();
  for (int samples = 0;
       samples < 5 || std::chrono::duration<double>(Clock::now() - start).count() < budget_seconds;
       ++samples) {
    best = std::min(best, seconds_of(calls));
  }
  return best;
}

struct FreeMemory {
  void operator()(uint8_t* p) const { std::free(p); }
};
using Buffer = std::unique_ptr<uint8_t, FreeMemory>;

Buffer Allocate(size_t bytes) {
  const size_t rounded = (bytes + 4095) / 4096 * 4096;
  auto* memory = static_cast<uint8_t*>(std::aligned_alloc(4096, std::max<size_t>(rounded, 4096)));
  std::memset(memory, 0, rounded);
  return Buffer(memory);
}

// Numbers such as tensors hold: around 0, some integral, most of the size of 1 to 100.
double Sample(std::mt19937_64& random) {
  const double spread = static_cast<double>(random() >> 11) * 0x1p-53 * 2 - 1;
  return std::ldexp(spread, static_cast<int>(random() % 8));
}

Buffer MakeSource(ElementType type, int64_t elements) {
  Buffer buffer = Allocate(static_cast<size_t>(PackedBytes(type, elements).value_or(0)));
  std::mt19937_64 random(1);
  for (int64_t i = 0; i < elements; ++i) {
    const uint64_t code = IsFloat(type)                ? CodeFromDouble(Sample(random), type)
                          : type == ElementType::kBool ? random() & 1
                                                       : random();
    StoreCode(buffer.get(), type, i, code);
  }
  return buffer;
}

std::vector<ElementType> Types(const std::optional<ElementType>& only, bool strings) {
  std::vector<ElementType> types;
  for (const ElementTypeInfo& info : kElementTypeTable) {
    const bool numeric = info.bits != 0 && info.kind != ElementKind::kComplex;
    const bool wanted = only.has_value() ? *only == info.type : numeric || strings;
    if (wanted && (numeric || info.kind == ElementKind::kString)) types.push_back(info.type);
  }
  return types;
}

void Print(const std::vector<Row>& rows, const Options& options) {
  if (options.format == Options::kTable) {
    absl::PrintF("%-16s %-16s %12s %8s %10s\n", "from", "to", "ns/element", "GB/s", "of memcpy");
  } else if (options.format == Options::kCsv) {
    absl::PrintF("from,to,elements,threads,ns_per_element,gb_per_s,ratio_to_memcpy\n");
  } else {
    absl::PrintF("[");
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    switch (options.format) {
      case Options::kTable:
        absl::PrintF("%-16s %-16s %12.4f %8.2f %10.2f\n", row.from, row.to, row.nanoseconds,
                     row.gigabytes, row.ratio);
        break;
      case Options::kCsv:
        absl::PrintF("%s,%s,%d,%d,%.5f,%.3f,%.3f\n", row.from, row.to, options.elements,
                     options.threads, row.nanoseconds, row.gigabytes, row.ratio);
        break;
      case Options::kJson:
        absl::PrintF(
            "%s\n  {\"from\": \"%s\", \"to\": \"%s\", \"elements\": %d, \"threads\": %d, "
            "\"ns_per_element\": %.5f, "
            "\"gb_per_s\": %.3f, \"ratio_to_memcpy\": %.3f}",
            i == 0 ? "" : ",", row.from, row.to, options.elements, options.threads, row.nanoseconds,
            row.gigabytes, row.ratio);
        break;
    }
  }
  if (options.format == Options::kJson) absl::PrintF("\n]\n");
  std::vector<double> ratios;
  for (size_t i = 1; i < rows.size(); ++i) {
    if (rows[i].ratio > 0) ratios.push_back(rows[i].ratio);
  }
  if (options.format != Options::kTable || ratios.empty()) return;
  std::sort(ratios.begin(), ratios.end());
  const auto at = [&](double share) {
    return ratios[static_cast<size_t>(share * static_cast<double>(ratios.size() - 1))];
  };
  absl::PrintF("%d pairs, of memcpy: minimum %.2f, quartiles %.2f %.2f %.2f\n", ratios.size(),
               at(0), at(0.25), at(0.5), at(0.75));
}

}  // namespace

int RunCastBenchmark(absl::Span<const std::string> args) {
  if (std::find_if(args.begin(), args.end(), [](const std::string& arg) {
        return arg == "-h" || arg == "--help";
      }) != args.end()) {
    absl::PrintF("%s", kHelp);
    return 0;
  }
  Options options;
  if (!ParseArgs(args, options)) return 2;
  const double budget = 0.03;
  const int64_t n = options.elements;

  // A copy of as many FLOAT elements is what all pairs are compared with.
  ThreadPool pool(options.threads);
  std::vector<Row> rows;
  {
    const auto bytes = static_cast<size_t>(4 * n);
    const Buffer from = Allocate(bytes);
    const Buffer to = Allocate(bytes);
    const double seconds = Measure(
        [&] {
          pool.ParallelFor(4 * n, 4096, [&](int64_t begin, int64_t end) {
            std::memcpy(to.get() + begin, from.get() + begin, static_cast<size_t>(end - begin));
          });
          asm volatile("" ::"r"(to.get()) : "memory");
        },
        10 * budget);
    rows.push_back({"memcpy", "float", seconds / static_cast<double>(n) * 1e9,
                    8e-9 * static_cast<double>(n) / seconds, 1});
  }
  for (const ElementType from_type : Types(options.from, options.strings)) {
    const bool from_string = from_type == ElementType::kString;
    const Buffer numbers = MakeSource(from_string ? ElementType::kFloat : from_type, n);
    std::vector<std::string> texts(from_string ? static_cast<size_t>(n) : 0);
    if (from_string &&
        !ConvertToString(numbers.get(), ElementType::kFloat, absl::MakeSpan(texts)).ok())
      return 1;
    for (const ElementType to_type : Types(options.to, options.strings)) {
      const bool to_string = to_type == ElementType::kString;
      if (from_string && to_string) continue;
      const Buffer to = Allocate(static_cast<size_t>(PackedBytes(to_type, n).value_or(0)));
      std::vector<std::string> to_texts(to_string ? static_cast<size_t>(n) : 0);
      absl::Status status;
      const double seconds = Measure(
          [&] {
            if (from_string) {
              status = ConvertFromString(texts, to.get(), to_type);
            } else if (to_string) {
              status = ConvertToString(numbers.get(), from_type, absl::MakeSpan(to_texts));
            } else if (options.threads == 1) {
              status = Convert(numbers.get(), from_type, to.get(), to_type, n);
            } else {
              status = ConvertParallel(
                  numbers.get(), from_type, to.get(), to_type, n, {},
                  [&](int64_t count, int64_t grain, absl::FunctionRef<void(int64_t, int64_t)> fn) {
                    pool.ParallelFor(count, grain, fn);
                  });
            }
          },
          budget);
      if (!status.ok()) {
        absl::FPrintF(stderr, "%s\n", std::string(status.message()));
        return 1;
      }
      Row row = {std::string(TypeName(from_type)), std::string(TypeName(to_type)),
                 seconds / static_cast<double>(n) * 1e9, 0, 0};
      if (!from_string && !to_string) {
        const double bytes =
            static_cast<double>(*PackedBytes(from_type, n) + *PackedBytes(to_type, n));
        row.gigabytes = bytes / seconds * 1e-9;
        row.ratio = row.gigabytes / rows[0].gigabytes;
      }
      rows.push_back(row);
    }
  }
  Print(rows, options);
  return 0;
}

}  // namespace onnx_run
