// SPDX-License-Identifier: Apache-2.0
#include "traces/import/kineto_details.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "traces/import/event_list.h"
#include "traces/import/kineto_events.h"
#include "traces/import/kineto_fields.h"

namespace lanescope::traces {
namespace {

using Json = nlohmann::json;
using Kind = ImportEvent::Kind;

// The profiler's own, and what programs add by add_metadata_json.
constexpr const char* kHostKeys[] = {"host_name", "hostname", "host"};

// A number of the file, which may be written as a text, or with a point.
std::optional<int64_t> WholeIn(const Json& object, const char* key) {
  constexpr double kMost = 9e18;
  const auto found = object.find(key);
  if (found == object.end()) return std::nullopt;
  if (found->is_string()) return IdOfText(found->get_ref<const std::string&>());
  if (found->is_number_float()) {
    const double number = found->get<double>();
    return number > -kMost && number < kMost ? std::optional(static_cast<int64_t>(number)) : std::nullopt;
  }
  return JsonInteger(object, key);
}

// Processes may number the groups that they are in: these ranks tell them apart.
std::string ProcessGroup(const JsonFields& args) {
  std::string group(JsonText(args, "Process Group Name").value_or(""));
  const JsonValue* ranks = args.Find("Process Group Ranks");
  if (ranks == nullptr || ranks->kind == JsonValue::Kind::kPlain) return group;
  const bool is_text = ranks->kind == JsonValue::Kind::kText;
  return group + (group.empty() ? "" : " ") +
         (is_text ? std::string(ranks->text) : MinifiedJson(ranks->text));
}

}  // namespace

void KinetoDetails::Read(const JsonFields& args, ImportEvent* event) {
  event->device = JsonId(args, "device").value_or(event->device);
  event->stream = JsonId(args, "stream").value_or(event->stream);
  event->context = JsonId(args, "context").value_or(0);
  // 0 is no correlation.
  if (const int64_t correlation = JsonId(args, "correlation").value_or(0); correlation > 0)
    event->correlation = correlation;
  event->bytes = std::max<int64_t>(0, JsonId(args, "bytes").value_or(0));
  if (const int64_t graph = JsonId(args, "graph id").value_or(0); graph > 0) event->graph = graph;
  if (const int64_t node = JsonId(args, "graph node id").value_or(0); node > 0) event->graph_node = node;
  switch (event->kind) {
    case Kind::kKernel:
      return AddLaunch(args, event);
    case Kind::kRange:
      for (const char* key : {"Record function id", "External id"}) {
        const int64_t number = JsonId(args, key).value_or(0);
        if (event->record_function <= 0 && number > 0) event->record_function = number;
      }
      return AddOperator(args, event);
    case Kind::kSynchronization:
      event->event = JsonInteger(args, "wait_on_cuda_event_id").value_or(-1);
      event->recorded_by = JsonInteger(args, "wait_on_cuda_event_record_corr_id").value_or(-1);
      event->recorded_on = JsonInteger(args, "wait_on_stream").value_or(-1);
      return;
    case Kind::kCopy:
      return AddEnds(args, event);
    case Kind::kMemset:
    case Kind::kApiCall:
    case Kind::kDeviceRange:
    case Kind::kOverhead:
      return;
  }
}

// Adds both ends of a copy between devices. `inDevice` carried it out, where nothing else says so.
void KinetoDetails::AddEnds(const JsonFields& args, ImportEvent* copy) {
  const auto device = [&](const char* key) {
    const int64_t number = JsonId(args, key).value_or(-1);
    return number > INT32_MAX ? -1 : number;
  };
  copy->src_device = device("fromDevice");
  copy->dst_device = device("toDevice");
  if (args.Find("device") == nullptr && device("inDevice") >= 0) copy->device = device("inDevice");
}

void KinetoDetails::Note(const ImportEvent& event) {
  if (IsOfDevice(event.kind)) stream_of_.try_emplace({event.pid, event.tid}, event.device, event.stream);
  if (event.kind != Kind::kApiCall && event.kind != Kind::kRange) return;
  host_pids_.insert(event.pid);
  constexpr int64_t kMostPids = int64_t{1} << 22;  // of Linux
  if (trace_.process < 0 && event.pid > 0 && event.pid <= kMostPids) trace_.process = event.pid;
}

void KinetoDetails::AddCounters(const JsonFields& args, ImportEvent* range) {
  Json counters = Json::object();
  args.ForEach([&](std::string_view name, const JsonValue& value) {
    if (value.kind != JsonValue::Kind::kPlain) return;
    Json number = Json::parse(value.text, nullptr, false);
    if (number.is_number()) counters[std::string(name)] = std::move(number);
  });
  for (const char* place : {"device", "stream", "context", "correlation"}) counters.erase(place);
  if (!counters.empty())
    range->counted = names_.Intern(counters.dump(-1, ' ', false, Json::error_handler_t::replace));
}

// How it was launched, and of NCCL's kernels what they move.
void KinetoDetails::AddLaunch(const JsonFields& args, ImportEvent* kernel) {
  ImportLaunch launch;
  const bool has_grid = ReadJsonSize(args, "grid", &launch.grid),
             has_block = ReadJsonSize(args, "block", &launch.block);
  launch.registers = JsonSmall(args, "registers per thread");
  launch.shared_bytes = JsonSmall(args, "shared memory");
  if (has_grid && has_block) {
    const auto [entry, is_new] = launches_.try_emplace(launch, static_cast<int>(trace_.launches.size()));
    if (is_new) trace_.launches.push_back(launch);
    kernel->launch = entry->second;
  }
  if (kernel->correlation >= 0) AddCollective(args, kernel->correlation);
}

void KinetoDetails::AddCollective(const JsonFields& args, int64_t correlation) {
  const auto kind = JsonText(args, "Collective name");
  if (!kind) return;
  const auto type = JsonText(args, "dtype");
  ImportCollective collective;
  collective.correlation = correlation;
  collective.kind = names_.Intern(*kind);
  if (const std::string group = ProcessGroup(args); !group.empty()) collective.group = names_.Intern(group);
  const int64_t elements = std::max<int64_t>(
      {0, JsonInteger(args, "In msg nelems").value_or(0), JsonInteger(args, "Out msg nelems").value_or(0)});
  const int64_t size = type ? TorchTypeBytes(*type) : 0;
  constexpr int64_t kMaxBytes = int64_t{1} << 60;
  if (size > 0 && elements <= kMaxBytes / size) collective.bytes = elements * size;
  const auto rank = [&](const char* key) {
    return std::clamp<int64_t>(JsonInteger(args, key).value_or(-1), -1, INT32_MAX - 1);
  };
  collective.src_rank = rank("Src Rank");
  collective.dst_rank = rank("Dst Rank");
  collective.ranks = std::clamp<int64_t>(JsonInteger(args, "Group size").value_or(0), 0, INT32_MAX);
  trace_.collectives.push_back(collective);
}

// Shapes and types of its inputs and who called it, if the profiler was asked to note them.
void KinetoDetails::AddOperator(const JsonFields& args, ImportEvent* range) {
  const auto list = [&](const char* key) {
    const JsonValue* found = args.Find(key);
    if (found == nullptr || !found->text.starts_with('[') || found->kind != JsonValue::Kind::kNested)
      return -1;
    const std::string minified = MinifiedJson(found->text);
    return minified == "[]" ? -1 : names_.Intern(minified);
  };
  ImportOperator details;
  details.shapes = list("Input Dims");
  for (const char* key : {"Input type", "Input Types"}) {
    if (details.types < 0) details.types = list(key);
  }
  const auto stack = JsonText(args, "Call stack");
  if (stack && !stack->empty()) details.stack = names_.Intern(*stack);
  if (details == ImportOperator()) return;
  const auto [entry, is_new] = operators_.try_emplace(details, static_cast<int>(trace_.operators.size()));
  if (is_new) trace_.operators.push_back(details);
  range->details = entry->second;
}

void KinetoDetails::NameStreams() {
  std::set<int64_t> devices;
  for (const auto& [place, stream] : stream_of_) devices.insert(place.first);
  std::erase_if(trace_.threads, [&](const ImportThread& thread) {
    const auto stream = stream_of_.find({thread.pid, thread.tid});
    if (stream == stream_of_.end()) return false;
    trace_.streams.push_back({stream->second.first, stream->second.second, thread.name});
    return true;
  });
  std::erase_if(trace_.processes, [&](const ImportProcess& process) {
    return devices.contains(process.pid) && !host_pids_.contains(process.pid);
  });
}

int64_t KinetoDetails::ProcessOf(const JsonFields& event) {
  constexpr int64_t kFirst = 0xffffff;  // beyond those of Linux
  if (const auto number = JsonId(event, "pid")) return *number;
  const auto named = JsonText(event, "pid");
  if (!named) return 0;
  const auto [entry, is_new] = named_pids_.try_emplace(std::string(*named), kFirst - std::ssize(named_pids_));
  if (is_new) trace_.processes.push_back({entry->second, names_.Intern(*named)});
  return entry->second;
}

int64_t KinetoDetails::ThreadOf(const JsonFields& event, int64_t pid) {
  constexpr int64_t kFirst = 0xffffff;
  constexpr std::string_view kStream = "stream ";
  if (const auto number = JsonId(event, "tid")) return *number;
  const auto named = JsonText(event, "tid");
  if (!named || !JsonId(event, "pid")) return 0;  // what stands for itself has no threads
  if (const auto number =
          named->starts_with(kStream) ? IdOfText(named->substr(kStream.size())) : std::nullopt)
    return *number;
  const auto [entry, is_new] =
      named_tids_.try_emplace({pid, std::string(*named)}, kFirst - std::ssize(named_tids_));
  if (is_new) trace_.threads.push_back({pid, entry->second, names_.Intern(*named)});
  return entry->second;
}

void KinetoDetails::AddName(const ChromeEvent& event) {
  const auto said = JsonText(event, "name");
  if (!said || !event.has_args) return;
  const auto pid = JsonId(event, "pid"), tid = JsonId(event, "tid");
  const auto name = JsonText(event.args, "name");
  if (*said != "process_name" && *said != "thread_name")
    return trace_.LeaveOut("labels and orders for viewers");
  if (!pid || !name) return;
  if (*said == "thread_name" && tid) trace_.threads.push_back({*pid, *tid, names_.Intern(*name)});
  if (*said == "process_name") trace_.processes.push_back({*pid, names_.Intern(*name)});
}

bool KinetoDetails::AddMemory(const ChromeEvent& event) {
  constexpr int64_t kCuda = 1;  // of c10::DeviceType
  const auto time = JsonNanoseconds(event, "ts");
  if (!time || !event.has_args) return false;
  const JsonFields& args = event.args;
  const auto bytes = JsonInteger(args, "Total Allocated"), device = JsonInteger(args, "Device Id");
  if (JsonInteger(args, "Device Type") != kCuda || !bytes || *bytes < 0 || !device || *device < 0)
    return false;
  trace_.memory.push_back({*time, *device, *bytes});
  return true;
}

void KinetoDetails::ReadDevices(const Json& list) {
  if (!list.is_array()) return;
  for (const Json& entry : list) {
    if (!entry.is_object()) continue;
    ImportDevice device;
    device.id = JsonInteger(entry, "id").value_or(static_cast<int64_t>(trace_.devices.size()));
    device.memory = std::max<int64_t>(0, JsonInteger(entry, "totalGlobalMem").value_or(0));
    device.multiprocessors = std::max<int64_t>(0, JsonInteger(entry, "numSms").value_or(0));
    if (const std::string* name = JsonText(entry, "name")) device.name = *name;
    trace_.devices.push_back(std::move(device));
  }
}

std::string KinetoDetails::HostInName(const std::string& path) const {
  const std::string name = std::filesystem::path(path).filename().string();
  const size_t end = name.find(".pt.trace.json");
  if (end == std::string::npos) return "";
  std::string_view stem = std::string_view(name).substr(0, end);
  const auto is_number = [](std::string_view text) {
    return !text.empty() && text.size() < 18 &&
           std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  };
  if (const size_t dot = stem.rfind('.'); dot != std::string_view::npos && is_number(stem.substr(dot + 1)))
    stem = stem.substr(0, dot);
  const size_t line = stem.rfind('_');
  if (line == std::string_view::npos || line == 0 || !is_number(stem.substr(line + 1))) return "";
  const bool of_trace = host_pids_.contains(std::stoll(std::string(stem.substr(line + 1))));
  return of_trace ? std::string(stem.substr(0, line)) : "";
}

bool KinetoDetails::IsOfFile(std::string_view key) {
  return key == "deviceProperties" || key == "distributedInfo" || key == "traceName" ||
         key == "baseTimeNanoseconds" || std::ranges::find(kHostKeys, key) != std::end(kHostKeys);
}

void KinetoDetails::ReadFile(const Json& file, const std::string& path) {
  if (file.is_object()) {
    if (file.contains("deviceProperties")) ReadDevices(file["deviceProperties"]);
    const auto distributed = file.find("distributedInfo");
    if (distributed != file.end() && distributed->is_object()) {
      trace_.rank = WholeIn(*distributed, "rank");
      trace_.world = std::max<int64_t>(0, WholeIn(*distributed, "world_size").value_or(0));
    }
    trace_.base_ns = UsableBase(WholeIn(file, "baseTimeNanoseconds").value_or(0));
  }
  FindHost(file, path);
}

void KinetoDetails::FindHost(const Json& file, const std::string& path) {
  if (file.is_object()) {
    const auto distributed = file.find("distributedInfo");
    for (const Json* object : {&file, distributed == file.end() ? nullptr : &*distributed}) {
      for (const char* key : kHostKeys) {
        const std::string* said = object != nullptr && object->is_object() ? JsonText(*object, key) : nullptr;
        if (trace_.host.empty() && said != nullptr) trace_.host = *said;
      }
    }
    const std::string* first = JsonText(file, "traceName");
    if (trace_.host.empty() && first != nullptr) trace_.host = HostInName(*first);
  }
  if (trace_.host.empty()) trace_.host = HostInName(path);
}

}  // namespace lanescope::traces
