#include "traces/import/kineto_events.h"

#include <algorithm>
#include <cmath>
#include <istream>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/base/error.h"
#include "core/base/file.h"
#include "traces/import/gzip_stream.h"

namespace lanescope::traces {
namespace {

using Json = nlohmann::json;
// Times since 1970 until 2065; the end of an event less the start of another still is an integer of ns.
constexpr double kMaxMicroseconds = 3e15;

std::optional<int64_t> Integer(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer()) return std::nullopt;
  if (found->is_number_unsigned() && found->get<uint64_t>() > static_cast<uint64_t>(INT64_MAX)) {
    return std::nullopt;
  }
  return found->get<int64_t>();
}

// Microseconds, whole or not, as ns.
std::optional<int64_t> Nanoseconds(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  if (!(std::abs(found->get<double>()) < kMaxMicroseconds)) return std::nullopt;
  // Times since 1970 lose their last digits as floating-point ns: whole and broken parts apart.
  if (const auto whole = Integer(object, key)) return *whole * 1000;
  const double value = found->get<double>(), whole = std::floor(value);
  return static_cast<int64_t>(whole) * 1000 + std::llround((value - whole) * 1000);
}

std::optional<KinetoEvent::Kind> KindOf(const std::string& category) {
  using Kind = KinetoEvent::Kind;
  static const std::unordered_map<std::string, Kind> kKinds = {{"kernel", Kind::kKernel},
                                                               {"Kernel", Kind::kKernel},
                                                               {"gpu_memcpy", Kind::kCopy},
                                                               {"Memcpy", Kind::kCopy},
                                                               {"gpu_memset", Kind::kMemset},
                                                               {"Memset", Kind::kMemset},
                                                               {"cuda_runtime", Kind::kApiCall},
                                                               {"cuda_driver", Kind::kApiCall},
                                                               {"Runtime", Kind::kApiCall},
                                                               {"cpu_op", Kind::kRange},
                                                               {"Operator", Kind::kRange},
                                                               {"user_annotation", Kind::kRange},
                                                               {"cuda_sync", Kind::kSynchronization}};
  const auto found = kKinds.find(category);
  return found == kKinds.end() ? std::nullopt : std::optional(found->second);
}

class Reader {
 public:
  Reader(std::string path, const std::atomic<bool>* cancelled)
      : path_(std::move(path)), cancelled_(cancelled) {}

  KinetoTrace Read() {
    RefuseEndlessFile(path_);
    GzipBuffer buffer(path_);
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
    if (trace_.events.empty() && trace_.skipped == 0) {
      Throw(Code::kInvalidArgument,
            "{} holds nothing that PyTorch's profiler records: no kernels, copies, calls, operators or "
            "annotations",
            path_);
    }
    if (rest.is_object() && rest.contains("deviceProperties")) ReadDevices(rest["deviceProperties"]);
    if (rest.is_object() && rest.contains("distributedInfo") && rest["distributedInfo"].is_object())
      trace_.rank = Integer(rest["distributedInfo"], "rank");
    return std::move(trace_);
  }

 private:
  // False: the value is done with. Depth 1 holds the keys, depth 2 the events; a bare list has them at 1.
  bool Keep(int depth, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::array_start && depth == 0) {
      in_events_ = has_events_ = true;
      events_depth_ = 1;
    }
    if (event == Json::parse_event_t::key && depth == 1 && events_depth_ != 1) {
      in_events_ = parsed.get_ref<const std::string&>() == "traceEvents";
      has_events_ = has_events_ || in_events_;
    }
    if (event == Json::parse_event_t::object_end && in_events_ && depth == events_depth_) {
      AddEvent(parsed);
      return false;
    }
    return true;
  }

  void AddEvent(const Json& event) {
    CheckImportGoesOn(cancelled_);
    if (!event.is_object()) return;
    // Not compared as Json with "X": that allocates in a function that must not throw.
    const auto phase = event.find("ph");
    if (phase == event.end() || !phase->is_string()) return;
    const auto& of_phase = phase->get_ref<const std::string&>();
    if (of_phase == "M") return AddThread(event);
    // Arrows say what correlation ids say.
    if (of_phase == "s" || of_phase == "t" || of_phase == "f") return;
    const auto category = event.find("cat");
    const auto name = event.find("name");
    const auto text = [&](const auto& field) {
      return field != event.end() && field->is_string() ? field->template get<std::string>() : std::string();
    };
    if (of_phase == "i" && text(name) == "[memory]" && AddMemory(event)) return;
    const auto kind = of_phase == "X" ? KindOf(text(category)) : std::nullopt;
    if (!kind) return LeaveOut(!text(category).empty() ? text(category) : text(name));
    const auto start = Nanoseconds(event, "ts"), length = Nanoseconds(event, "dur");
    if (!start || !length || *length < 0 || name == event.end() || !name->is_string()) {
      ++trace_.skipped;
      return;
    }
    KinetoEvent result;
    result.kind = *kind;
    result.start_ns = *start;
    result.end_ns = *start + *length;
    result.pid = Integer(event, "pid").value_or(0);
    result.tid = Integer(event, "tid").value_or(0);
    result.name = Intern(name->get<std::string>());
    const auto args = event.find("args");
    if (args != event.end() && args->is_object()) {
      result.device = Integer(*args, "device").value_or(result.pid);
      result.stream = Integer(*args, "stream").value_or(result.tid);
      result.context = Integer(*args, "context").value_or(0);
      result.correlation = Integer(*args, "correlation").value_or(-1);
      result.bytes = std::max<int64_t>(0, Integer(*args, "bytes").value_or(0));
      if (*kind == KinetoEvent::Kind::kSynchronization) {
        result.event = Integer(*args, "wait_on_cuda_event_id").value_or(-1);
        result.recorded_by = Integer(*args, "wait_on_cuda_event_record_corr_id").value_or(-1);
        result.recorded_on = Integer(*args, "wait_on_stream").value_or(-1);
      }
    }
    trace_.events.push_back(result);
  }

  void AddThread(const Json& event) {
    const auto what = event.find("name"), args = event.find("args");
    if (what == event.end() || !what->is_string() || args == event.end() || !args->is_object()) return;
    if (what->get_ref<const std::string&>() != "thread_name") return;
    const auto pid = Integer(event, "pid"), tid = Integer(event, "tid");
    const auto name = args->find("name");
    if (!pid || !tid || name == args->end() || !name->is_string()) return;
    trace_.threads.push_back({*pid, *tid, Intern(name->get<std::string>())});
  }

  // False: it is of the host's memory, or does not say how much.
  bool AddMemory(const Json& event) {
    constexpr int64_t kCuda = 1;  // of c10::DeviceType
    const auto args = event.find("args");
    const auto time = Nanoseconds(event, "ts");
    if (!time || args == event.end() || !args->is_object()) return false;
    const auto bytes = Integer(*args, "Total Allocated"), device = Integer(*args, "Device Id");
    if (Integer(*args, "Device Type") != kCuda || !bytes || *bytes < 0 || !device || *device < 0)
      return false;
    trace_.memory.push_back({*time, *device, *bytes});
    return true;
  }

  void LeaveOut(const std::string& category) {
    constexpr size_t kMostCategories = 20;
    const bool known = trace_.left_out.contains(category);
    ++trace_.left_out[category.empty() || (!known && trace_.left_out.size() >= kMostCategories) ? "others"
                                                                                                : category];
  }

  int Intern(const std::string& text) {
    const auto [entry, is_new] = numbers_.try_emplace(text, static_cast<int>(trace_.names.size()));
    if (is_new) trace_.names.push_back(text);
    return entry->second;
  }

  void ReadDevices(const Json& list) {
    if (!list.is_array()) return;
    for (const Json& entry : list) {
      if (!entry.is_object()) continue;
      KinetoDevice device;
      device.id = Integer(entry, "id").value_or(static_cast<int64_t>(trace_.devices.size()));
      device.memory = std::max<int64_t>(0, Integer(entry, "totalGlobalMem").value_or(0));
      device.multiprocessors = std::max<int64_t>(0, Integer(entry, "numSms").value_or(0));
      const auto name = entry.find("name");
      if (name != entry.end() && name->is_string()) device.name = name->get<std::string>();
      trace_.devices.push_back(std::move(device));
    }
  }

  std::string path_;
  const std::atomic<bool>* cancelled_;
  KinetoTrace trace_;
  std::unordered_map<std::string, int> numbers_;
  bool in_events_ = false, has_events_ = false;
  int events_depth_ = 2;
};

int MemoryKind(std::string_view name) {
  constexpr std::string_view kNames[] = {"Pageable", "Pinned", "Device", "Array", "Managed"};
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (name == kNames[i]) return static_cast<int>(i);
  }
  return 7;
}

}  // namespace

CopyEnds ParseCopyName(std::string_view name) {
  constexpr std::pair<std::string_view, int> kKinds[] = {{"HtoD", 1}, {"DtoH", 2}, {"HtoA", 3}, {"AtoH", 4},
                                                         {"AtoA", 5}, {"AtoD", 6}, {"DtoA", 7}, {"DtoD", 8},
                                                         {"HtoH", 9}, {"PtoP", 10}};
  CopyEnds ends;
  for (const auto& [text, kind] : kKinds) {
    if (name.find(text) != std::string_view::npos) ends.kind = kind;
  }
  const size_t open = name.find('('), arrow = name.find(" -> "), close = name.find(')');
  if (open != std::string_view::npos && arrow != std::string_view::npos && close != std::string_view::npos &&
      open < arrow && arrow + 4 <= close) {
    ends.src_memory = MemoryKind(name.substr(open + 1, arrow - open - 1));
    ends.dst_memory = MemoryKind(name.substr(arrow + 4, close - arrow - 4));
  }
  return ends;
}

int SynchronizationType(std::string_view name) {
  constexpr std::string_view kNames[] = {"Event Sync", "Stream Wait Event", "Stream Sync", "Context Sync"};
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (name == kNames[i]) return static_cast<int>(i) + 1;
  }
  return 0;
}

KinetoTrace ReadKineto(const std::string& path, const std::atomic<bool>* cancelled) {
  return Reader(path, cancelled).Read();
}

void CheckImportGoesOn(const std::atomic<bool>* cancelled) {
  if (cancelled != nullptr && cancelled->load(std::memory_order_relaxed)) {
    Throw(Code::kCancelled, "the import was interrupted");
  }
}

}  // namespace lanescope::traces
