// SPDX-License-Identifier: Apache-2.0
#include "traces/report/summary.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "core/base/units.h"
#include "core/machine/machine.h"
#include "core/runs/run_view.h"
#include "traces/read/activity_names.h"
#include "traces/read/step_ranges.h"
#include "traces/read/trace_reader.h"
#include "traces/report/activity_totals.h"
#include "traces/report/bound.h"
#include "traces/report/device_usage.h"
#include "traces/report/foreign_notes.h"
#include "traces/report/idle_calls.h"
#include "traces/report/lost_launches.h"
#include "traces/report/operation_sums.h"
#include "traces/store/api_call_name.h"
#include "traces/store/capture_times.h"
#include "traces/store/lanescope_tables.h"
#include "traces/store/saturating.h"
#include "traces/store/string_table.h"
#include "traces/store/table_reader.h"

namespace lanescope::traces {
namespace {

// From here on what steps wait for comes first in the verdict.
constexpr double kNotableInput = 0.05;

SummaryRow MakeRow(std::string name, std::string type, const TimeTotals& totals) {
  SummaryRow row;
  row.name = std::move(name);
  row.type = std::move(type);
  row.total_ns = totals.total_ns;
  row.calls = totals.calls;
  if (totals.calls > 0) {
    // Rounded half up without adding to a total that may be saturated.
    const int64_t rest = totals.total_ns % totals.calls;
    row.avg_ns = totals.total_ns / totals.calls + (rest >= totals.calls - rest ? 1 : 0);
  }
  row.min_ns = totals.calls == 0 ? 0 : totals.min_ns;
  row.max_ns = totals.max_ns;
  return row;
}

// Largest first; equal totals by name, so that the order is one.
void Rank(std::vector<SummaryRow>* rows) {
  std::sort(rows->begin(), rows->end(), [](const SummaryRow& a, const SummaryRow& b) {
    return a.total_ns != b.total_ns ? a.total_ns > b.total_ns : a.name < b.name;
  });
  double total = 0;
  for (const SummaryRow& row : *rows) total += static_cast<double>(row.total_ns);
  for (SummaryRow& row : *rows) {
    row.time_percent = total == 0 ? 0 : 100 * static_cast<double>(row.total_ns) / total;
  }
}

// Texts by id: of StringIds, or of a run in memory.
class Names {
 public:
  explicit Names(Database& database) : names_(ReadTexts(database)) {}
  explicit Names(const std::vector<std::string>& texts) {
    for (size_t i = 0; i < texts.size(); ++i) names_.emplace(static_cast<int64_t>(i), texts[i]);
  }
  std::string Of(int64_t id) const {
    const auto found = names_.find(id);
    if (found != names_.end()) return found->second;
    if (id < -1) return GraphName(GraphOfNameId(id));
    return id < 0 ? "no name" : fmt::format("string {}", id);
  }
  std::unordered_map<int64_t, LaunchUse> Uses() const {
    std::unordered_map<int64_t, LaunchUse> uses;
    for (const auto& [id, name] : names_) {
      const LaunchUse use = UseOf(name);
      if (use != LaunchUse::kCompute) uses.emplace(id, use);
    }
    return uses;
  }

 private:
  std::unordered_map<int64_t, std::string> names_;
};

// The input of every part of a summary.
struct Context {
  TraceReader& reader;
  Database& database;
  int run = 0;
  TraceRunInfo info;
  std::vector<TraceDevice> devices;
  bool full_names = false;

  const TraceDevice* Find(int64_t id) const {
    for (const TraceDevice& device : devices) {
      if (device.id == id) return &device;
    }
    return nullptr;
  }
  bool IsHost(int64_t id) const {
    const TraceDevice* device = Find(id);
    return device != nullptr && device->is_host;
  }
};

void FillActivities(const Context& context, const ActivityTotals& totals, const Names& names,
                    Summary* summary) {
  std::map<int64_t, TimeTotals> on_gpus, on_hosts;
  for (const auto& [device, of_device] : totals.devices) {
    auto& by_name = context.IsHost(device) ? on_hosts : on_gpus;
    for (const auto& [name, time] : of_device.launches.Used()) by_name[name].Merge(time);
  }
  for (const auto& [id, time] : on_gpus) {
    const std::string name = names.Of(id);
    summary->gpu_activities.push_back(MakeRow(name, IsGraphName(name) ? "graph" : "kernel", time));
  }
  std::map<std::string, TimeTotals> copies;
  for (const auto& [kind, time] : totals.copies) copies[NvprofCopyName(kind)].Merge(time);
  for (const auto& [name, time] : copies) {
    summary->gpu_activities.push_back(MakeRow(name, "memcpy", time));
  }
  if (totals.memsets.calls > 0) {
    summary->gpu_activities.push_back(MakeRow(std::string(kMemsetName), "memset", totals.memsets));
  }
  for (const auto& [name, time] : on_hosts) {
    summary->host_activities.push_back(MakeRow(names.Of(name), "kernel", time));
  }
  std::map<std::string, TimeTotals> calls;
  for (const auto& [name, time] : totals.api_calls.Used())
    calls[std::string(ApiCallName(names.Of(name)))].Merge(time);
  for (const auto& [name, time] : calls) summary->api_calls.push_back(MakeRow(name, "api", time));
  for (auto* rows : {&summary->gpu_activities, &summary->host_activities, &summary->api_calls}) Rank(rows);
}

void FillTraffic(const Context& context, const ActivityTotals& totals, Summary* summary) {
  const std::vector<int> hosts = HostNumbers(context.devices);
  const auto is_host = [&](int end) { return std::ranges::find(hosts, end) != hosts.end(); };
  for (const auto& [route, copied] : totals.routes) {
    const CopyClass copy_class =
        CopyClassOf(is_host(route.first), is_host(route.second), route.first == route.second);
    summary->traffic.push_back({DeviceLabel(context.devices, route.first),
                                DeviceLabel(context.devices, route.second), copied.count, copied.bytes,
                                copied.ns, copy_class, copied.bytes > 0 || context.reader.is_ours()});
  }
}

std::optional<Machine> MachineOf(const Context& context) {
  if (context.info.machine_json.empty()) return std::nullopt;
  try {
    return ParseMachine(context.info.machine_json);
  } catch (const Error&) {
    return std::nullopt;  // a damaged description costs the ceiling, not the summary
  }
}

// The step asked for, or of a run of ours all that count: in a trace of `compare` rounds of other runs lie
// between them. Else from the first to the last activity.
std::vector<Interval> WindowsOf(const Context& context, const std::vector<TraceStep>& steps, int step,
                                const ActivityTotals& totals) {
  std::vector<Interval> windows;
  for (const TraceStep& each : steps) {
    if ((step < 0 ? context.reader.is_ours() && each.counts : each.step == step) &&
        each.end_ns > each.start_ns)
      windows.push_back({each.start_ns, each.end_ns});
  }
  if (step < 0 && windows.empty() && totals.first_ns <= totals.last_ns)
    windows.push_back({totals.first_ns, totals.last_ns});
  return windows;
}

Communication SumOf(const Context& context, const std::vector<std::pair<int, DeviceIntervals>>& devices,
                    std::span<const Interval> windows) {
  Communication gpus, hosts;
  for (const auto& [id, of_device] : devices) {
    Communication& sum = context.IsHost(id) || id < 0 ? hosts : gpus;
    DeviceIntervals intervals = of_device;
    // An accelerator of another tool's trace copies beside its core.
    if (!context.reader.is_ours() && context.IsHost(id))
      intervals.copies = UnionOf(intervals.copies, std::exchange(intervals.local_copies, {}));
    const Communication more = CommunicationWithin(intervals, windows);
    sum.devices += more.devices;
    for (const auto part :
         {&Communication::compute_ns, &Communication::overlapped_ns, &Communication::exposed_ns,
          &Communication::idle_ns, &Communication::nccl_ns, &Communication::copies_ns}) {
      sum.*part = AddSaturating(sum.*part, more.*part);
    }
  }
  return gpus.devices > 0 ? gpus : hosts;
}

// A call that takes long while devices are at work explains nothing.
void FillIdleCall(const Context& context, std::span<const Interval> gaps, const TraceRun* run,
                  const Names& names, Summary* summary) {
  const CallsInGaps calls =
      run != nullptr ? FindCallsInGaps(*run, gaps)
                     : FindCallsInGaps(context.database, context.run, context.reader.is_ours(), gaps);
  const auto most = std::ranges::max_element(calls, {}, [](const auto& call) { return call.second; });
  if (most == calls.end() || most->second <= 0) return;
  summary->idle_call = ApiCallName(names.Of(most->first));
  summary->idle_call_ns = most->second;
}

// GPUs wait, or hosts where there are none.
void FillInput(const Context& context, const std::vector<std::pair<int, DeviceIntervals>>& devices,
               std::span<const Interval> windows, Summary* summary) {
  if (!context.reader.is_ours()) return;
  const InputRecord input = context.reader.Input(context.run);
  if (input.waits.empty() && input.threads.empty()) return;
  std::vector<DeviceIntervals> gpus, hosts;
  std::string names;
  for (const auto& [id, intervals] : devices) {
    const bool host = context.IsHost(id) || id < 0;
    (host ? hosts : gpus).push_back(intervals);
    if (!host) names += (names.empty() ? "" : ", ") + DeviceLabel(context.devices, id);
  }
  summary->input = FindInputUse(input, context.reader.Nodes(context.run), gpus.empty() ? hosts : gpus,
                                gpus.empty() ? "The host" : names, windows);
  if (summary->input && summary->input->wait_share() >= kNotableInput)
    summary->verdict = summary->input->verdict + " " + summary->verdict;
}

// When devices were busy: a moment is one of the step in whose window it lies, whichever launched the work.
// `run`: in memory, or null.
void FillDevices(const Context& context, ActivityTotals* totals, const std::vector<TraceStep>& steps,
                 const SummaryOptions& options, const TraceRun* run, const Names& names, Summary* summary) {
  const int step = options.step;
  const std::vector<Interval> windows = WindowsOf(context, steps, step, *totals);
  summary->over_steps = step < 0 && context.reader.is_ours() && !steps.empty();
  const std::optional<Machine> machine = MachineOf(context);
  std::vector<std::pair<int, DeviceIntervals>> devices;
  std::vector<DeviceIntervals> intervals;
  std::vector<WorkingDevice> working;
  for (auto& [id, activity] : totals->devices) {
    const int number = static_cast<int>(id);
    devices.emplace_back(number, IntervalsOf(&activity));
    intervals.push_back(devices.back().second);
    if (windows.empty()) continue;
    DeviceTime time = TimeWithin(intervals.back(), windows);
    time.device = DeviceLabel(context.devices, number);
    summary->devices.push_back(time);
    if (context.IsHost(id) || id < 0 || time.window_ns <= 0) continue;
    working.push_back({number, &activity, time, CeilingsOf(machine, context.Find(id)), windows});
  }
  summary->communication = SumOf(context, devices, windows);
  const int64_t span = TotalLength(windows);
  const std::vector<Interval> gaps = GapsWithin(intervals, windows);
  const double idle = span <= 0 ? 0 : static_cast<double>(TotalLength(gaps)) / static_cast<double>(span);
  if (!windows.empty()) summary->bound = FindBound(working, idle);
  if (options.idle_call || (summary->bound && summary->bound->name == "idle"))
    FillIdleCall(context, gaps, run, names, summary);
  summary->verdict = VerdictOf(*summary, working);
  FillInput(context, devices, windows, summary);
  if (step >= 0) return;
  for (const TraceStep& each : steps) {
    StepUsage usage{each.step, each.start_ns, each.end_ns, {}, each.counts, each.work};
    const Interval window{each.start_ns, each.end_ns};
    for (const auto& [id, of_device] : devices) {
      DeviceTime time = TimeWithin(of_device, {&window, 1});
      time.device = DeviceLabel(context.devices, id);
      usage.devices.push_back(std::move(time));
    }
    summary->steps.push_back(std::move(usage));
  }
}

// The table of what ran, how often and how long.
void FillTables(const Context& context, const ActivityTotals& totals, const Names& names, Summary* summary) {
  FillActivities(context, totals, names, summary);
  FillTraffic(context, totals, summary);
  summary->invalid_rows = totals.invalid_rows;
}

void FillCapture(const Context& context, Summary* summary) {
  Database& database = context.database;
  if (!context.info.complete) summary->notes.push_back("the trace is incomplete: its writer did not end it");
  if (!context.info.error.empty()) summary->notes.push_back("the run failed: " + context.info.error);
  int64_t graphs = 0;
  for (const SummaryRow& row : summary->gpu_activities) graphs += row.type == "graph" ? row.calls : 0;
  if (graphs > 0) {
    summary->notes.push_back(
        fmt::format("{} launches of CUDA graphs are recorded as a whole and count as compute; nsys profile "
                    "--cuda-graph-trace=node records their kernels and copies",
                    graphs));
  }
  if (!context.reader.is_ours()) return;
  using tables::kClock, tables::kDropped;
  ReadRunRows(database, kDropped, context.run, {kDropped.count, kDropped.what}, [&](const auto& row) {
    const int64_t count = row[kDropped.count];
    if (count > 0) summary->dropped_by.emplace_back(row[kDropped.what], count);
  });
  for (auto& [what, count] : summary->dropped_by) {
    // Traces of older versions count launches into graphs.
    if (what == kLaunchesWithoutKernel)
      count = std::min(count, FindLostLaunches(context.reader, context.run).lost);
    summary->dropped = AddSaturating(summary->dropped, count);
  }
  std::erase_if(summary->dropped_by, [](const auto& dropped) { return dropped.second == 0; });
  std::multimap<int64_t, std::string> clock_notes;  // by time
  ReadRunRows(
      database, kClock, context.run,
      {kClock.clock, kClock.time, kClock.offset, kClock.uncertainty, kClock.violations, kClock.corrected},
      [&](const auto& row) {
        const int64_t time = row[kClock.time].value_or(0), offset = row[kClock.offset].value_or(0);
        const int64_t violations = row[kClock.violations].value_or(0);
        if (row[kClock.clock] == "gpu" && violations > 0) {
          clock_notes.emplace(time, fmt::format("{} kernels seem to start before their launch, by up to {}",
                                                violations, TimeText(offset)));
        } else if (row[kClock.clock] == "capture" && row[kClock.corrected].value_or(0) == 0) {
          clock_notes.emplace(
              time,
              fmt::format("the clock of the records is {} ns off, known to {} ns; times are not corrected",
                          offset, row[kClock.uncertainty].value_or(0)));
        }
      });
  for (auto& [time, note] : clock_notes) summary->notes.push_back(std::move(note));
}

// Launches of CUDA graphs whose nodes stand where the graph was launched, not where it was recorded.
Summary SummarizeInMemory(const Context& context, const SummaryOptions& options, const TraceRun& run) {
  Summary summary;
  summary.run = context.run;
  summary.step = options.step;
  if (options.step >= 0) CheckStep(run, options.step);
  const Names names(run.texts);
  ActivityTotals whole = ComputeTotals(run, context.full_names, -1);
  if (options.step < 0) {
    FillTables(context, whole, names, &summary);
  } else {
    FillTables(context, ComputeTotals(run, context.full_names, options.step), names, &summary);
  }
  FillDevices(context, &whole, run.steps, options, &run, names, &summary);
  if (options.operations) FillOperationSums(run, context.full_names, options.step, &summary);
  if (options.ranges) {
    summary.place = options.place;
    summary.ranges = RowsByPlace(run, options.place, context.full_names, options.step);
    AddUnjoinedGraphs(run, &summary);
  }
  if (options.waits) summary.waits = FindWaits(run, options.link);
  return summary;
}

Summary SummarizeStreaming(const Context& context, const SummaryOptions& options) {
  Database& database = context.database;
  const Names names(database);
  Summary summary;
  summary.run = context.run;
  {
    const TotalsSource source{context.run, context.reader.is_ours(), HostNumbers(context.devices),
                              context.full_names, names.Uses()};
    ActivityTotals totals = ComputeTotals(database, source);
    FillTables(context, totals, names, &summary);
    const std::vector<TraceStep> steps =
        context.reader.is_ours() ? context.reader.Steps(context.run) : std::vector<TraceStep>();
    FillDevices(context, &totals, steps, options, nullptr, names, &summary);
  }
  if (options.waits) {
    TraceRun run;  // the totals have gone: only one of the two is held at a time
    summary.waits = FindWaits(context.reader, context.run, options.link, &run);
    summary.invalid_rows = run.invalid_rows;
  }
  return summary;
}

}  // namespace

Summary Summarize(TraceReader& reader, int run, const SummaryOptions& options) {
  Database& database = reader.database();
  const Snapshot snapshot(database);
  Context context{reader, database, run, reader.RunInfoOf(run), reader.Devices(run), false};
  // Ops by type in our runs; foreign kernels by their full names, as nvprof shows them.
  context.full_names = !reader.is_ours();
  const bool in_memory = options.step >= 0 || options.ranges || options.operations ||
                         (reader.Steps(run).empty() && HasStepRanges(database));
  std::optional<TraceRun> loaded;
  if (in_memory) loaded = reader.ReadRun(run);
  Summary summary =
      loaded ? SummarizeInMemory(context, options, *loaded) : SummarizeStreaming(context, options);
  FillCapture(context, &summary);
  if (reader.AllDisturbed(run))
    summary.notes.emplace_back(
        "others disturbed more than two thirds of the steps, so that all of them count");
  AddForeignNotes(reader, run, loaded ? &*loaded : nullptr, &summary);
  summary.hosts = HostsOf(reader.Ranks());
  summary.tasks = reader.Tasks(run);
  return summary;
}

Summary Summarize(const std::string& path, int run, const SummaryOptions& options) {
  TraceReader reader(path);
  return Summarize(reader, run, options);
}

}  // namespace lanescope::traces
