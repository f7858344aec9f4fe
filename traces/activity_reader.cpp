#include "traces/activity_reader.h"

#include <algorithm>
#include <tuple>

#include "traces/graph_name.h"
#include "traces/launch_links.h"
#include "traces/table_scan.h"

namespace lanescope {
namespace {

constexpr std::string_view kKernels = "CUPTI_ACTIVITY_KIND_KERNEL";
constexpr std::string_view kGraphs = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE";
constexpr std::string_view kCopies = "CUPTI_ACTIVITY_KIND_MEMCPY";
constexpr std::string_view kMemsets = "CUPTI_ACTIVITY_KIND_MEMSET";

// A row of LANESCOPE_ACTIVITY.
struct Origin {
  int64_t global_pid = 0, correlation = 0, graph_node = -1;
  int command = -1, schedule = -1, step = -1;
};

auto KeyOf(const Origin& origin) {
  return std::tie(origin.correlation, origin.graph_node, origin.global_pid);
}

// Finds what caused an activity. Activities mostly come in the order of their origins, so the place after the
// last hit is tried first.
class Origins {
 public:
  Origins(Database& database, const ProcessFilter& processes) {
    if (!database.HasTable("LANESCOPE_ACTIVITY")) return;
    TableScan scan(
        database, "LANESCOPE_ACTIVITY",
        {{"globalPid"}, {"correlationId"}, {"graphNodeId"}, {"commandId"}, {"schedule"}, {"step"}});
    while (scan.Next()) {
      if (!processes.Has(scan.Integer(0))) continue;
      origins_.push_back({scan.Integer(0), scan.Integer(1), scan.Integer(2, -1), scan.Number(3, -1),
                          scan.Number(4, -1), scan.Number(5, -1)});
    }
    const auto before = [](const Origin& a, const Origin& b) { return KeyOf(a) < KeyOf(b); };
    if (!std::is_sorted(origins_.begin(), origins_.end(), before)) {
      std::sort(origins_.begin(), origins_.end(), before);
    }
  }

  // Null where the trace does not say.
  const Origin* Find(int64_t global_pid, int64_t correlation, int64_t graph_node) {
    Origin key;
    key.global_pid = global_pid;
    key.correlation = correlation;
    key.graph_node = graph_node;
    if (next_ < origins_.size() && KeyOf(origins_[next_]) == KeyOf(key)) return &origins_[next_++];
    const auto found = std::lower_bound(origins_.begin(), origins_.end(), key,
                                        [](const Origin& a, const Origin& b) { return KeyOf(a) < KeyOf(b); });
    if (found == origins_.end() || KeyOf(*found) != KeyOf(key)) return nullptr;
    next_ = static_cast<size_t>(found - origins_.begin()) + 1;
    return &*found;
  }

 private:
  std::vector<Origin> origins_;
  size_t next_ = 0;
};

const TraceCommand* FindCommand(const TraceRun& run, int schedule, int command) {
  const auto found = std::lower_bound(run.commands.begin(), run.commands.end(), std::pair(schedule, command),
                                      [](const TraceCommand& a, const std::pair<int, int>& key) {
                                        return std::pair(a.schedule, a.id) < key;
                                      });
  if (found == run.commands.end() || found->schedule != schedule || found->id != command) return nullptr;
  return &*found;
}

template <typename Activity>
void Attach(const Origin* origin, const TraceRun& run, Activity* activity) {
  if (origin == nullptr) return;
  activity->step = origin->step;
  activity->schedule = origin->schedule;
  activity->command = origin->command;
  if (const TraceCommand* command = FindCommand(run, origin->schedule, origin->command)) {
    activity->node = command->node;
    activity->signature = command->signature;
  }
}

// What reading an activity table needs.
struct Reading {
  Database& database;
  const ProcessFilter& processes;
  DeviceNumbers& devices;
  Origins& origins;
  const ApiCallIndex& calls;
  int host_device;
  TextNumbers& texts;
  TraceRun* run;
};

// Columns that every activity table has, in this order.
enum Shared { kStart, kEnd, kDevice, kStream, kCorrelation, kPid, kGraphNode, kNumShared };

// False, and counted, for a row without usable times; such rows come from profilers that ran out of buffers.
template <typename Activity>
bool ReadShared(const TableScan& scan, const Reading& reading, Activity* activity) {
  const std::optional<int64_t> start = scan.MaybeTime(kStart), end = scan.MaybeTime(kEnd);
  if (!start || !end || *end < *start) {
    ++reading.run->invalid_rows;
    return false;
  }
  activity->start_ns = *start;
  activity->end_ns = *end;
  activity->global_pid = scan.Integer(kPid);
  activity->device = reading.devices.Of(activity->global_pid, scan.Id(kDevice));
  activity->stream = scan.Id(kStream);
  activity->api = reading.calls.Find(activity->global_pid, scan.Integer(kCorrelation, -1), *start);
  if (activity->api >= 0) {
    activity->range = reading.run->api_calls[static_cast<size_t>(activity->api)].range;
  }
  return true;
}

const Origin* OriginOf(const TableScan& scan, const Reading& reading) {
  return reading.origins.Find(scan.Integer(kPid), scan.Integer(kCorrelation, -1),
                              scan.Integer(kGraphNode, -1));
}

void ReadLaunches(const Reading& reading) {
  if (!reading.database.HasTable(kKernels)) return;
  TableScan scan(reading.database, kKernels,
                 {{"start", true},
                  {"end", true},
                  {"deviceId"},
                  {"streamId"},
                  {"correlationId"},
                  {"globalPid"},
                  {"graphNodeId"},
                  {"demangledName"},
                  {"shortName"},
                  {"mangledName"}});
  while (scan.Next()) {
    if (!reading.processes.Has(scan.Integer(kPid))) continue;
    TraceLaunch launch;
    if (!ReadShared(scan, reading, &launch)) continue;
    const auto name = [&](int column, int64_t fallback) {
      return scan.Integer(kNumShared + column, fallback);
    };
    const int64_t mangled = name(2, -1), full = name(0, name(1, mangled));
    launch.op = reading.texts.Number(name(1, full));
    launch.name = reading.texts.Number(full);
    Attach(OriginOf(scan, reading), *reading.run, &launch);
    reading.run->launches.push_back(launch);
  }
}

// Launches of whole graphs, whose kernels have no rows of their own.
void ReadGraphs(const Reading& reading) {
  if (!reading.database.HasTable(kGraphs)) return;
  TableScan scan(reading.database, kGraphs,
                 {{"start", true},
                  {"end", true},
                  {"deviceId"},
                  {"streamId"},
                  {"correlationId"},
                  {"globalPid"},
                  {"graphNodeId"},
                  {"graphId"}});
  while (scan.Next()) {
    if (!reading.processes.Has(scan.Integer(kPid))) continue;
    TraceLaunch launch;
    if (!ReadShared(scan, reading, &launch)) continue;
    launch.name = reading.texts.Add(GraphName(scan.Integer(kNumShared)));
    launch.op = launch.name;
    Attach(OriginOf(scan, reading), *reading.run, &launch);
    reading.run->launches.push_back(launch);
  }
}

void ReadCopies(const Reading& reading) {
  if (!reading.database.HasTable(kCopies)) return;
  TableScan scan(reading.database, kCopies,
                 {{"start", true},
                  {"end", true},
                  {"deviceId"},
                  {"streamId"},
                  {"correlationId"},
                  {"globalPid"},
                  {"graphNodeId"},
                  {"bytes"},
                  {"copyKind"},
                  {"srcKind"},
                  {"dstKind"},
                  {"srcDeviceId"},
                  {"dstDeviceId"}});
  while (scan.Next()) {
    if (!reading.processes.Has(scan.Integer(kPid))) continue;
    TraceCopy copy;
    if (!ReadShared(scan, reading, &copy)) continue;
    copy.bytes = scan.Size(kNumShared);
    const int64_t kind = scan.Integer(kNumShared + 1);
    CopyColumns columns{kind, scan.Maybe(kNumShared + 2), scan.Maybe(kNumShared + 3), copy.device, {}, {}};
    const auto end_device = [&](int column) -> std::optional<int> {
      if (scan.IsNull(column)) return std::nullopt;
      return reading.devices.Of(copy.global_pid, scan.Id(column));
    };
    columns.src_device = end_device(kNumShared + 4);
    columns.dst_device = end_device(kNumShared + 5);
    const CopyRoute route = ClassifyCopy(columns, reading.host_device);
    copy.src = route.src;
    copy.dst = route.dst;
    copy.copy_class = route.copy_class;
    copy.kind = static_cast<int>(std::clamp<int64_t>(KindOfRoute(route, kind), -1, INT32_MAX));
    Attach(OriginOf(scan, reading), *reading.run, &copy);
    reading.run->copies.push_back(copy);
  }
}

void ReadMemsets(const Reading& reading) {
  if (!reading.database.HasTable(kMemsets)) return;
  TableScan scan(reading.database, kMemsets,
                 {{"start", true},
                  {"end", true},
                  {"deviceId"},
                  {"streamId"},
                  {"correlationId"},
                  {"globalPid"},
                  {"graphNodeId"},
                  {"bytes"}});
  while (scan.Next()) {
    if (!reading.processes.Has(scan.Integer(kPid))) continue;
    TraceMemset memset;
    if (!ReadShared(scan, reading, &memset)) continue;
    memset.bytes = scan.Size(kNumShared);
    Attach(OriginOf(scan, reading), *reading.run, &memset);
    reading.run->memsets.push_back(memset);
  }
}

}  // namespace

TextNumbers::TextNumbers(Database& database) {
  if (!database.HasTable("StringIds")) return;
  TableScan scan(database, "StringIds", {{"id", true}, {"value", true}});
  while (scan.Next()) entries_[scan.Integer(0)].text = scan.Text(1);
}

int TextNumbers::Number(int64_t id) {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return -1;
  Entry& entry = found->second;
  if (entry.number < 0) {
    entry.number = static_cast<int>(texts_.size());
    texts_.push_back(std::move(entry.text));
  }
  return entry.number;
}

ProcessFilter::ProcessFilter(Database& database, int run) : all_(false) {
  TableScan scan(database, "LANESCOPE_PROCESS", {{"runId", true}, {"globalPid", true}});
  while (scan.Next()) {
    if (scan.Integer(0) == run) pids_.push_back(scan.Integer(1));
  }
}

int TextNumbers::Add(std::string_view text) {
  const auto [entry, is_new] = added_.try_emplace(std::string(text), static_cast<int>(texts_.size()));
  if (is_new) texts_.push_back(entry->first);
  return entry->second;
}

void ReadActivities(Database& database, const ProcessFilter& processes, DeviceNumbers& devices,
                    int host_device, TextNumbers& texts, TraceRun* run) {
  Origins origins(database, processes);
  const ApiCallIndex calls(run->api_calls);
  const Reading reading{database, processes, devices, origins, calls, host_device, texts, run};
  ReadLaunches(reading);
  ReadGraphs(reading);
  ReadCopies(reading);
  ReadMemsets(reading);
}

}  // namespace lanescope
