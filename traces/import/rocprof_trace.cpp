// SPDX-License-Identifier: Apache-2.0
#include "traces/import/rocprof_trace.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <utility>

#include "core/base/error.h"
#include "traces/import/gzip_stream.h"
#include "traces/import/json_file.h"
#include "traces/import/json_limits.h"
#include "traces/import/kineto_events.h"
#include "traces/import/kineto_fields.h"
#include "traces/import/rocm_copy.h"
#include "traces/store/kernel_name.h"

namespace lanescope::traces {
namespace {

using Json = nlohmann::json;
using Kind = ImportEvent::Kind;

constexpr std::string_view kTool = "rocprofiler-sdk-tool";

// Where things lie: {kTool: [{"agents": [{..}], "buffer_records": {"kernel_dispatch": [{..}]}}]}.
constexpr int kSection = 3, kEntry = 4, kRecord = 5;
constexpr int kGpuAgent = 2;

// An object within an object; an empty one where there is none.
const Json& Within(const Json& object, const char* key) {
  static const Json kNone = Json::object();
  const auto found = object.find(key);
  return found == object.end() || !found->is_object() ? kNone : *found;
}

int64_t NumberIn(const Json& object, const char* key, int64_t otherwise = 0) {
  return JsonInteger(object, key).value_or(otherwise);
}

class RocprofReader {
 public:
  explicit RocprofReader(const ImportSource& source) : path_(source.path), limits_(path_, source.cancelled) {
    trace_.format = "rocprofv3";
  }

  ImportTrace Read() {
    const auto keeps = [this](int depth, Json::parse_event_t event, Json& value) {
      return Keeps(depth, event, value);
    };
    ReadJsonFile(path_, &limits_, keeps);
    SetNames();
    if (trace_.events.empty() && trace_.skipped == 0)
      Throw(Code::kInvalidArgument, "{} holds no kernels, copies or calls of rocprofv3", path_);
    return std::move(trace_);
  }

 private:
  // Nothing that has been used is kept.
  bool Keeps(int depth, Json::parse_event_t event, Json& value) {
    using Event = Json::parse_event_t;
    if (event == Event::object_start || event == Event::array_start || event == Event::value)
      limits_.Begin(depth);
    if (event == Event::key && depth < std::ssize(keys_))
      keys_[static_cast<size_t>(depth)] = value.get_ref<const std::string&>();
    if (event != Event::object_end) return event != Event::array_end || depth > kRecord;
    const std::string &section = keys_[kSection], &list = keys_[kEntry];
    if (depth == kRecord && section == "buffer_records") {
      AddRecord(list, value);
    } else if (depth == kRecord && section == "strings" && list == "buffer_records") {
      AddOperations(value);
    } else if (depth == kRecord && section == "strings" && list == "marker_api") {
      if (const std::string* text = JsonText(value, "value"))
        markers_.emplace(NumberIn(value, "key", -1), names_.Intern(*text));
    } else if (depth == kEntry && section == "kernel_symbols") {
      AddSymbol(value);
    } else if (depth == kEntry && section == "agents") {
      AddAgent(value);
    } else if (depth == kSection && section == "metadata") {
      pid_ = std::max<int64_t>(0, NumberIn(value, "pid"));
      trace_.process = pid_ > 0 ? pid_ : -1;
      if (const std::string* host = JsonText(Within(value, "node"), "hostname")) trace_.host = *host;
    } else {
      return depth > kEntry || section == "metadata";
    }
    limits_.EndEvent();
    return false;
  }

  void AddAgent(const Json& agent) {
    const int64_t handle = NumberIn(Within(agent, "id"), "handle", -1);
    if (NumberIn(agent, "type") != kGpuAgent) return void(hosts_.insert(handle));
    ImportDevice device;
    device.id = std::clamp<int64_t>(NumberIn(agent, "logical_node_type_id", std::ssize(gpus_)), 0, INT32_MAX);
    device.multiprocessors = std::max<int64_t>(0, NumberIn(agent, "cu_count"));
    const std::string *product = JsonText(agent, "product_name"), *name = JsonText(agent, "name");
    if (product != nullptr || name != nullptr) device.name = product != nullptr ? *product : *name;
    gpus_.emplace(handle, device.id);
    trace_.devices.push_back(std::move(device));
  }
  int64_t GpuOf(int64_t handle) { return gpus_.try_emplace(handle, std::ssize(gpus_)).first->second; }

  void AddSymbol(const Json& symbol) {
    const auto id = JsonInteger(symbol, "kernel_id");
    for (const char* key : {"formatted_kernel_name", "demangled_kernel_name", "kernel_name"}) {
      const std::string* name = JsonText(symbol, key);
      if (id && name != nullptr && !name->empty())
        return void(kernels_.insert_or_assign(*id, KinetoKernelName(*name)));
    }
  }
  void AddOperations(const Json& strings) {
    const auto list = strings.find("operations");
    if (list == strings.end() || !list->is_array()) return void(++next_kind_);
    int64_t number = 0;
    for (const Json& operation : *list) {
      if (operation.is_string()) operations_[{next_kind_, number}] = operation.get<std::string>();
      ++number;
    }
    ++next_kind_;
  }

  void AddRecord(const std::string& list, const Json& record) {
    ImportEvent event;
    event.start_ns = NumberIn(record, "start_timestamp", -1);
    event.end_ns = NumberIn(record, "end_timestamp", -1);
    const bool is_call = list == "hip_api" || list == "hsa_api" || list == "rccl_api";
    if (!is_call && list != "kernel_dispatch" && list != "memory_copy" && list != "marker_api")
      return trace_.LeaveOut(list);
    if (event.start_ns <= 0 || !UsableTimes(event.start_ns, event.end_ns - event.start_ns))
      return void(++trace_.skipped);
    const int64_t correlation = NumberIn(Within(record, "correlation_id"), "internal");
    if (correlation > 0) event.correlation = correlation;
    event.pid = pid_;
    event.tid = NumberIn(record, "thread_id");
    if (list == "kernel_dispatch") return AddKernel(Within(record, "dispatch_info"), event);
    if (list == "memory_copy") return AddCopy(record, event);
    event.kind = is_call ? Kind::kApiCall : Kind::kRange;
    event.name = Later(&calls_, {NumberIn(record, "kind"), NumberIn(record, "operation")}).first;
    const auto marker = markers_.find(correlation);
    if (!is_call && marker != markers_.end()) event.name = marker->second;
    trace_.events.push_back(event);
  }

  // Grids are in threads, of which blocks take theirs.
  void AddKernel(const Json& dispatch, ImportEvent event) {
    event.kind = Kind::kKernel;
    event.device = GpuOf(NumberIn(Within(dispatch, "agent_id"), "handle", -1));
    event.stream = NumberIn(Within(dispatch, "queue_id"), "handle");
    std::tie(event.name, event.brief) = Later(&kernel_names_, NumberIn(dispatch, "kernel_id", -1));
    ImportLaunch launch;
    constexpr const char* kSides[] = {"x", "y", "z"};
    for (size_t i = 0; i < launch.grid.size(); ++i) {
      const auto side = [&](const char* of) {
        return std::clamp<int64_t>(NumberIn(Within(dispatch, of), kSides[i], 1), 1, INT32_MAX);
      };
      launch.block[i] = static_cast<int32_t>(side("workgroup_size"));
      launch.grid[i] = static_cast<int32_t>((side("grid_size") - 1) / launch.block[i] + 1);
    }
    launch.shared_bytes =
        static_cast<int32_t>(std::clamp<int64_t>(NumberIn(dispatch, "group_segment_size"), 0, INT32_MAX));
    const auto [entry, is_new] = launches_.try_emplace(launch, static_cast<int>(trace_.launches.size()));
    if (is_new) trace_.launches.push_back(launch);
    event.launch = entry->second;
    trace_.events.push_back(event);
  }

  // On a GPU: the one that it goes to, or comes from.
  void AddCopy(const Json& record, ImportEvent event) {
    event.kind = Kind::kCopy;
    const int64_t from = NumberIn(Within(record, "src_agent_id"), "handle", -1);
    const int64_t to = NumberIn(Within(record, "dst_agent_id"), "handle", -1);
    const RocmEnds ends{hosts_.contains(from), hosts_.contains(to), from == to};
    event.ends = EndsOfRocm(ends);
    if (!ends.from_host || !ends.to_host) event.device = GpuOf(ends.to_host ? from : to);
    if (IsBetweenGpus(ends)) {
      event.src_device = GpuOf(from);
      event.dst_device = GpuOf(to);
    }
    event.stream = NumberIn(Within(record, "stream_id"), "handle");
    event.bytes = std::max<int64_t>(0, NumberIn(record, "bytes"));
    event.name = names_.Intern("copy");
    trace_.events.push_back(event);
  }

  // Places of two names that a part of the file gives which may come later.
  template <typename Key>
  std::pair<int, int> Later(std::map<Key, std::pair<int, int>>* named, const Key& key) {
    const auto [entry, is_new] = named->try_emplace(key);
    if (is_new) {
      const int first = static_cast<int>(trace_.names.size());
      trace_.names.resize(trace_.names.size() + 2);
      entry->second = {first, first + 1};
    }
    return entry->second;
  }
  void SetNames() {
    const auto set = [this](int place, std::string name) {
      trace_.names[static_cast<size_t>(place)] = std::move(name);
    };
    for (const auto& [id, places] : kernel_names_) {
      const auto known = kernels_.find(id);
      const std::string name = known == kernels_.end() ? fmt::format("kernel {}", id) : known->second;
      set(places.first, name);
      set(places.second, std::string(ShortKernelName(name)));
    }
    for (const auto& [operation, places] : calls_) {
      const auto known = operations_.find(operation);
      set(places.first,
          known == operations_.end() ? fmt::format("call {}", operation.second) : known->second);
    }
  }

  const std::string& path_;
  JsonLimits limits_;
  ImportTrace trace_;
  ImportNames names_{&trace_};
  std::array<std::string, kRecord> keys_;  // by depth, of what is being read
  int64_t pid_ = 0, next_kind_ = 0;
  std::set<int64_t> hosts_;          // handles of agents
  std::map<int64_t, int64_t> gpus_;  // by handle, device
  std::map<int64_t, int> markers_;   // by correlation, text
  std::map<int64_t, std::string> kernels_;
  std::map<std::pair<int64_t, int64_t>, std::string> operations_;  // by kind and number
  std::map<int64_t, std::pair<int, int>> kernel_names_;
  std::map<std::pair<int64_t, int64_t>, std::pair<int, int>> calls_;
  std::map<ImportLaunch, int> launches_;
};

}  // namespace

bool IsRocprof(const ForeignFile& file) {
  return IsJsonTrace(file) && file.is_regular && InflatedHead(file.path).find(kTool) != std::string::npos;
}

ImportTrace ReadRocprof(const ImportSource& source) { return RocprofReader(source).Read(); }

}  // namespace lanescope::traces
