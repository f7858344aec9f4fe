// SPDX-License-Identifier: Apache-2.0
#include "traces/import/kineto_events.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "core/base/error.h"
#include "core/base/file.h"
#include "traces/import/chrome_events.h"
#include "traces/import/early_events.h"
#include "traces/import/gzip_stream.h"
#include "traces/import/json_limits.h"
#include "traces/import/kineto_details.h"
#include "traces/import/kineto_fields.h"
#include "traces/import/onnx_runtime_profile.h"
#include "traces/import/tensorflow_timeline.h"
#include "traces/import/xla_viewer.h"
#include "traces/store/kernel_name.h"

namespace lanescope::traces {
namespace {

using Kind = ImportEvent::Kind;

constexpr const char* kCounted = "cuda_profiler_range";  // of CUPTI's range profiler

std::optional<Kind> KindOf(std::string_view category) {
  static const std::unordered_map<std::string_view, Kind> kKinds = {
      {"kernel", Kind::kKernel},         {"Kernel", Kind::kKernel},
      {"gpu_memcpy", Kind::kCopy},       {"Memcpy", Kind::kCopy},
      {"gpu_memset", Kind::kMemset},     {"Memset", Kind::kMemset},
      {"cuda_runtime", Kind::kApiCall},  {"cuda_driver", Kind::kApiCall},
      {"hip_runtime", Kind::kApiCall},   {"Runtime", Kind::kApiCall},
      {"xpu_runtime", Kind::kApiCall},   {"privateuse1_runtime", Kind::kApiCall},
      {"xpu_driver", Kind::kApiCall},    {"privateuse1_driver", Kind::kApiCall},
      {"mtia_runtime", Kind::kApiCall},  {"hip_driver", Kind::kApiCall},
      {"cpu_op", Kind::kRange},          {"Operator", Kind::kRange},
      {"python_function", Kind::kRange}, {"gpu_user_annotation", Kind::kDeviceRange},
      {"user_annotation", Kind::kRange}, {"cuda_sync", Kind::kSynchronization},
      {"Trace", Kind::kRange},           {kCounted, Kind::kDeviceRange},
      {"overhead", Kind::kOverhead}};
  const auto found = kKinds.find(category);
  return found == kKinds.end() ? std::nullopt : std::optional(found->second);
}

class Reader {
 public:
  Reader(std::string path, const std::atomic<bool>* cancelled, const ImportProgress& progress)
      : path_(std::move(path)), limits_(path_, cancelled), cancelled_(cancelled), progress_(progress) {
    trace_.format = "Kineto";
  }

  ImportTrace Read() {
    RefuseEndlessFile(path_);
    GzipBuffer buffer(path_, [cancelled = cancelled_](int64_t) { CheckImportGoesOn(cancelled); });
    buffer_ = &buffer;
    std::error_code unknown;
    file_bytes_ = static_cast<double>(std::filesystem::file_size(path_, unknown));
    const ChromeFile read = ReadChromeEvents(
        &buffer, {&limits_, [this](const ChromeEvent& event) { AddEvent(event); }, KinetoDetails::IsOfFile});
    if (const std::string problem = buffer.problem(); !problem.empty())
      Throw(Code::kDataLoss, "{} is damaged: {}", path_, problem);
    if (!read.problem.empty()) {
      const std::string message = fmt::format("{} is no JSON, or damaged: {}", path_, read.problem);
      if (!read.has_events) throw NotATrace(Code::kDataLoss, message);
      throw Error(Code::kDataLoss, message);
    }
    if (!read.has_events)
      Throw(Code::kInvalidArgument, "{} is no Chrome trace: it has no traceEvents", path_);
    trace_.mended = read.mended;
    trace_.cut_short = read.cut_short;
    Finish(read.rest);
    return std::move(trace_);
  }

 private:
  void Finish(const nlohmann::json& rest) {
    timeline_.Finish();
    viewer_.Finish();
    details_.ReadFile(rest, path_);
    early_.Finish();
    details_.NameStreams();
    if (trace_.events.empty() && trace_.skipped == 0) {
      Throw(Code::kInvalidArgument,
            "{} holds nothing that the profilers of PyTorch, TensorFlow and ONNX Runtime record: no kernels, "
            "copies, calls, operators or annotations",
            path_);
    }
  }

  void AddEvent(const ChromeEvent& event) {
    constexpr int64_t kBetweenReports = 1 << 14;
    if (++seen_ % kBetweenReports == 0 && progress_ && file_bytes_ > 0)
      progress_(std::min(1.0, static_cast<double>(buffer_->position()) / file_bytes_));
    const auto phase = JsonText(event, "ph");
    if (!phase) return;
    if (*phase == "M") return details_.AddName(event);
    const std::string_view of = JsonText(event, "cat").value_or("");
    const auto name = JsonText(event, "name");
    // From calls to what they launched: correlation ids say that.
    if (*phase == "s" || *phase == "t" || *phase == "f") {
      if (of != "ac2g" && of != "async_cpu_to_gpu") trace_.LeaveOut(fmt::format("arrows ({})", of));
      return;
    }
    if (*phase == "i" && name == "[memory]" && details_.AddMemory(event)) return;
    if (*phase == "X" && of == "Op" && timeline_.Add(event)) return;
    if (*phase == "X" && onnx_runtime_.Add(event, of)) return;
    if (*phase == "X" && of.empty() && viewer_.Add(event)) return;
    const auto kind = *phase == "X" ? KindOf(of) : std::nullopt;
    if (!kind) return trace_.LeaveOut(std::string(of.empty() ? name.value_or("") : of));
    const auto start = JsonNanoseconds(event, "ts"), length = JsonNanoseconds(event, "dur");
    if (!start || !length || *length < 0 || !name) {
      ++trace_.skipped;
      return;
    }
    AddActivity(event, of, *kind, *name, *start, *length);
  }

  void AddActivity(const ChromeEvent& event, std::string_view category, Kind kind, std::string_view name,
                   int64_t start_ns, int64_t length_ns) {
    ImportEvent result;
    result.kind = kind;
    result.start_ns = start_ns;
    result.end_ns = start_ns + length_ns;
    result.pid = details_.ProcessOf(event);
    result.tid = details_.ThreadOf(event, result.pid);
    if (kind == Kind::kKernel) {
      std::tie(result.name, result.brief) = NamesOfKernel(name);
    } else {
      result.name = names_.Intern(name);
    }
    // Work of a device has these as process and thread, for viewers.
    result.device = result.pid;
    result.stream = result.tid;
    if (event.has_args) {
      details_.Read(event.args, &result);
      if (category == kCounted) details_.AddCounters(event.args, &result);
    }
    details_.Note(result);
    if (kind == Kind::kApiCall && event.has_args) {
      if (const auto kernel = JsonText(event.args, "kernel")) result.brief = NamesOfKernel(*kernel).first;
    }
    if (kind == Kind::kCopy) result.ends = ParseCopyName(name);
    if (kind == Kind::kSynchronization) result.sync_type = SynchronizationType(name);
    early_.Add(result);
  }

  // Its whole and its short name; a trace has few of the many that it writes.
  std::pair<int, int> NamesOfKernel(std::string_view name) {
    const auto known = kernels_.find(name);
    if (known != kernels_.end()) return known->second;
    const std::string demangled = KinetoKernelName(std::string(name));
    const std::pair names{names_.Intern(demangled), names_.Intern(ShortKernelName(demangled))};
    kernels_.emplace(name, names);
    return names;
  }

  std::string path_;
  JsonLimits limits_;
  const std::atomic<bool>* cancelled_;
  const ImportProgress& progress_;
  const GzipBuffer* buffer_ = nullptr;
  double file_bytes_ = 0;
  int64_t seen_ = 0;
  ImportTrace trace_;
  ImportNames names_{&trace_};
  EarlyEvents early_{&trace_};
  KinetoDetails details_{&trace_, &names_};
  TensorFlowTimeline timeline_{&trace_, &names_};
  OnnxRuntimeProfile onnx_runtime_{&trace_, &names_};
  XlaViewerEvents viewer_{&trace_, &names_, &early_};
  std::unordered_map<std::string, std::pair<int, int>, TextHash, std::equal_to<>> kernels_;
};

}  // namespace

bool IsJsonTrace(const ForeignFile& file) {
  return file.name.ends_with(".json") || file.name.ends_with(".json.gz");
}

ImportTrace ReadKineto(const ImportSource& source) {
  return Reader(source.path, source.cancelled, source.progress).Read();
}

}  // namespace lanescope::traces
