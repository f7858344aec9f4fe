#include "traces/activity_reader.h"

#include <algorithm>
#include <tuple>

#include "traces/table_scan.h"

namespace lanescope {
namespace {

constexpr std::string_view kKernels = "CUPTI_ACTIVITY_KIND_KERNEL";
constexpr std::string_view kCopies = "CUPTI_ACTIVITY_KIND_MEMCPY";

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

void ReadLaunches(Database& database, const ProcessFilter& processes, Origins& origins, TextNumbers& texts,
                  TraceRun* run) {
  if (!database.HasTable(kKernels)) return;
  TableScan scan(database, kKernels,
                 {{"start", true},
                  {"end", true},
                  {"deviceId", true},
                  {"streamId"},
                  {"correlationId"},
                  {"globalPid"},
                  {"demangledName"},
                  {"shortName", true},
                  {"graphNodeId"}});
  while (scan.Next()) {
    if (!processes.Has(scan.Integer(5))) continue;
    TraceLaunch launch;
    launch.start_ns = scan.Time(0);
    launch.end_ns = scan.Time(1);
    if (launch.end_ns < launch.start_ns) {
      ++run->invalid_rows;
      continue;
    }
    launch.device = scan.Id(2);
    launch.stream = scan.Id(3);
    launch.op = texts.Number(scan.Integer(7));
    launch.name = texts.Number(scan.Integer(6, scan.Integer(7)));
    Attach(origins.Find(scan.Integer(5), scan.Integer(4, -1), scan.Integer(8, -1)), *run, &launch);
    run->launches.push_back(launch);
  }
}

void ReadCopies(Database& database, const ProcessFilter& processes, Origins& origins, int host_device,
                TraceRun* run) {
  if (!database.HasTable(kCopies)) return;
  TableScan scan(database, kCopies,
                 {{"start", true},
                  {"end", true},
                  {"deviceId", true},
                  {"streamId"},
                  {"correlationId"},
                  {"globalPid"},
                  {"bytes", true},
                  {"copyKind", true},
                  {"srcKind"},
                  {"dstKind"},
                  {"srcDeviceId"},
                  {"dstDeviceId"},
                  {"graphNodeId"}});
  while (scan.Next()) {
    if (!processes.Has(scan.Integer(5))) continue;
    TraceCopy copy;
    copy.start_ns = scan.Time(0);
    copy.end_ns = scan.Time(1);
    if (copy.end_ns < copy.start_ns) {
      ++run->invalid_rows;
      continue;
    }
    copy.device = scan.Id(2);
    copy.stream = scan.Id(3);
    copy.bytes = scan.Size(6);
    CopyColumns columns{scan.Integer(7), scan.Maybe(8), scan.Maybe(9), copy.device, {}, {}};
    if (!scan.IsNull(10)) columns.src_device = scan.Id(10);
    if (!scan.IsNull(11)) columns.dst_device = scan.Id(11);
    const CopyRoute route = ClassifyCopy(columns, host_device);
    copy.src = route.src;
    copy.dst = route.dst;
    copy.copy_class = route.copy_class;
    Attach(origins.Find(scan.Integer(5), scan.Integer(4, -1), scan.Integer(12, -1)), *run, &copy);
    run->copies.push_back(copy);
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

void ReadActivities(Database& database, const ProcessFilter& processes, int host_device, TextNumbers& texts,
                    TraceRun* run) {
  Origins origins(database, processes);
  ReadLaunches(database, processes, origins, texts, run);
  ReadCopies(database, processes, origins, host_device, run);
}

}  // namespace lanescope
