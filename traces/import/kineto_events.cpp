#include "traces/import/kineto_events.h"

#include <algorithm>
#include <filesystem>
#include <istream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/base/error.h"
#include "core/base/file.h"
#include "traces/import/gzip_stream.h"
#include "traces/import/json_limits.h"
#include "traces/import/kineto_details.h"
#include "traces/import/kineto_fields.h"
#include "traces/import/tensorflow_timeline.h"
#include "traces/store/kernel_name.h"

namespace lanescope::traces {
namespace {

using Json = nlohmann::json;
using Kind = ImportEvent::Kind;

constexpr const char* kCounted = "cuda_profiler_range";  // of CUPTI's range profiler

std::optional<Kind> KindOf(const std::string& category) {
  static const std::unordered_map<std::string, Kind> kKinds = {
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
      {"Trace", Kind::kRange},           {kCounted, Kind::kDeviceRange}};
  const auto found = kKinds.find(category);
  return found == kKinds.end() ? std::nullopt : std::optional(found->second);
}

class Reader {
 public:
  Reader(std::string path, const std::atomic<bool>* cancelled, const ImportProgress& progress)
      : path_(std::move(path)), limits_(path_, cancelled), progress_(progress) {
    trace_.format = "Kineto";
  }

  ImportTrace Read() {
    RefuseEndlessFile(path_);
    GzipBuffer buffer(path_, [this](int64_t bytes) { limits_.Read(bytes); });
    buffer_ = &buffer;
    std::error_code unknown;
    file_bytes_ = static_cast<double>(std::filesystem::file_size(path_, unknown));
    std::istream file(&buffer);
    Json rest;
    try {
      rest = Json::parse(file, [this](int depth, Json::parse_event_t event, Json& parsed) {
        return Keep(depth, event, parsed);
      });
    } catch (const Json::exception& error) {
      if (const std::string problem = buffer.problem(); !problem.empty())
        Throw(Code::kDataLoss, "{} is damaged: {}", path_, problem);
      Throw(Code::kDataLoss, "{} is no JSON, or damaged: {}", path_, error.what());
    }
    if (const std::string problem = buffer.problem(); !problem.empty())
      Throw(Code::kDataLoss, "{} is damaged: {}", path_, problem);
    if (!has_events_) Throw(Code::kInvalidArgument, "{} is no Chrome trace: it has no traceEvents", path_);
    timeline_.Finish();
    details_.NameStreams();
    if (trace_.events.empty() && trace_.skipped == 0) {
      Throw(
          Code::kInvalidArgument,
          "{} holds nothing that the profilers of PyTorch and TensorFlow record: no kernels, copies, calls, "
          "operators or annotations",
          path_);
    }
    if (rest.is_object() && rest.contains("deviceProperties")) details_.ReadDevices(rest["deviceProperties"]);
    if (rest.is_object() && rest.contains("distributedInfo") && rest["distributedInfo"].is_object()) {
      trace_.rank = JsonInteger(rest["distributedInfo"], "rank");
      trace_.world = std::max<int64_t>(0, JsonInteger(rest["distributedInfo"], "world_size").value_or(0));
    }
    details_.FindHost(rest, path_);
    return std::move(trace_);
  }

 private:
  // False: the value is done with. Depth 1 holds the keys, depth 2 the events; a bare list has them at 1.
  bool Keep(int depth, Json::parse_event_t event, Json& parsed) {
    using Parsed = Json::parse_event_t;
    const bool begins = event == Parsed::array_start || event == Parsed::object_start;
    if (begins || event == Parsed::value) limits_.Begin(depth);
    if (event == Parsed::array_start && depth == 0) {
      in_events_ = has_events_ = true;
      events_depth_ = 1;
    }
    if (event == Parsed::key && depth == 1 && events_depth_ != 1) {
      const auto& key = parsed.get_ref<const std::string&>();
      in_events_ = key == "traceEvents";
      has_events_ = has_events_ || in_events_;
      return in_events_ || KinetoDetails::IsOfFile(key);
    }
    if (begins || event == Parsed::key || !in_events_ || depth != events_depth_) return true;
    if (event == Parsed::object_end) AddEvent(parsed);
    return false;
  }

  void AddEvent(const Json& event) {
    limits_.EndEvent();
    constexpr int64_t kBetweenReports = 1 << 14;
    if (++seen_ % kBetweenReports == 0 && progress_ && file_bytes_ > 0)
      progress_(std::min(1.0, static_cast<double>(buffer_->position()) / file_bytes_));
    if (!event.is_object()) return;
    // Not compared as Json with "X": that allocates in a function that must not throw.
    const std::string *phase = JsonText(event, "ph"), *category = JsonText(event, "cat");
    if (phase == nullptr) return;
    if (*phase == "M") return details_.AddName(event);
    static const std::string kNone;
    const std::string& of = category == nullptr ? kNone : *category;
    const std::string* name = JsonText(event, "name");
    // From calls to what they launched: correlation ids say that.
    if (*phase == "s" || *phase == "t" || *phase == "f") {
      if (of != "ac2g" && of != "async_cpu_to_gpu") trace_.LeaveOut("arrows (" + of + ")");
      return;
    }
    if (*phase == "i" && name != nullptr && *name == "[memory]" && details_.AddMemory(event)) return;
    if (*phase == "X" && of == "Op" && timeline_.Add(event)) return;
    const auto kind = *phase == "X" ? KindOf(of) : std::nullopt;
    if (!kind) return trace_.LeaveOut(!of.empty() || name == nullptr ? of : *name);
    const auto start = JsonNanoseconds(event, "ts"), length = JsonNanoseconds(event, "dur");
    if (!start || !length || *length < 0 || name == nullptr) {
      ++trace_.skipped;
      return;
    }
    AddActivity(event, of, *kind, *name, *start, *length);
  }

  void AddActivity(const Json& event, const std::string& category, Kind kind, const std::string& name,
                   int64_t start_ns, int64_t length_ns) {
    ImportEvent result;
    result.kind = kind;
    result.start_ns = start_ns;
    result.end_ns = start_ns + length_ns;
    result.pid = PidOf(event);
    result.tid = JsonInteger(event, "tid").value_or(0);
    if (kind == Kind::kKernel) {
      const std::string demangled = KinetoKernelName(name);
      result.name = names_.Intern(demangled);
      result.brief = names_.Intern(ShortKernelName(demangled));
    } else {
      result.name = names_.Intern(name);
    }
    // Of what ran on a device, viewers have these as process and thread.
    result.device = result.pid;
    result.stream = result.tid;
    const auto args = event.find("args");
    if (args != event.end() && args->is_object()) {
      details_.Read(*args, &result);
      if (category == kCounted) details_.AddCounters(*args, &result);
    }
    details_.Note(result);
    if (kind == Kind::kCopy) result.ends = ParseCopyName(name);
    if (kind == Kind::kSynchronization) result.sync_type = SynchronizationType(name);
    trace_.events.push_back(result);
  }

  // What the profiler says of itself stands in a process that has a name for a number.
  int64_t PidOf(const Json& event) {
    const std::string* named = JsonText(event, "pid");
    if (named == nullptr) return JsonInteger(event, "pid").value_or(0);
    constexpr int64_t kFirst = 0xffffff;  // beyond those of Linux
    const auto [entry, is_new] = named_pids_.try_emplace(*named, kFirst - std::ssize(named_pids_));
    if (is_new) trace_.processes.push_back({entry->second, names_.Intern(*named)});
    return entry->second;
  }

  std::string path_;
  JsonLimits limits_;
  const ImportProgress& progress_;
  const GzipBuffer* buffer_ = nullptr;
  double file_bytes_ = 0;
  int64_t seen_ = 0;
  ImportTrace trace_;
  ImportNames names_{&trace_};
  KinetoDetails details_{&trace_, &names_};
  TensorFlowTimeline timeline_{&trace_, &names_};
  std::map<std::string, int64_t> named_pids_;
  bool in_events_ = false, has_events_ = false;
  int events_depth_ = 2;
};

}  // namespace

ImportTrace ReadKineto(const std::string& path, const std::atomic<bool>* cancelled,
                       const ImportProgress& progress) {
  return Reader(path, cancelled, progress).Read();
}

}  // namespace lanescope::traces
