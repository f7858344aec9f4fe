#include "traces/summary.h"

#include <algorithm>
#include <cctype>

#include "core/error.h"
#include "core/machine.h"
#include "traces/activity_totals.h"
#include "traces/schema.h"
#include "traces/table_scan.h"
#include "traces/trace_reader.h"

namespace lanescope {
namespace {

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

class Names {
 public:
  explicit Names(Database& database) {
    if (!database.HasTable("StringIds")) return;
    TableScan scan(database, "StringIds", {{"id", true}, {"value", true}});
    while (scan.Next()) names_.emplace(scan.Integer(0), scan.Text(1));
  }
  std::string Of(int64_t id) const {
    const auto found = names_.find(id);
    return found == names_.end() ? fmt::format("string {}", id) : found->second;
  }

 private:
  std::unordered_map<int64_t, std::string> names_;
};

// "cudaLaunchKernel_v7000" -> "cudaLaunchKernel".
std::string WithoutVersion(std::string name) {
  const size_t at = name.rfind("_v");
  if (at == std::string::npos || at + 2 == name.size()) return name;
  const bool digits = std::all_of(name.begin() + static_cast<std::ptrdiff_t>(at) + 2, name.end(),
                                  [](unsigned char c) { return std::isdigit(c) != 0; });
  return digits ? name.substr(0, at) : name;
}

// nvprof's names of the kinds of ENUM_CUDA_MEMCPY_OPER.
std::string CopyName(int64_t kind) {
  constexpr std::string_view kNames[] = {"unknown", "HtoD",         "DtoH",         "HtoA",        "AtoH",
                                         "AtoA",    "AtoD",         "DtoA",         "DtoD",        "HtoH",
                                         "PtoP",    "Unified HtoD", "Unified DtoH", "Unified DtoD"};
  const bool known = kind >= 0 && kind < static_cast<int64_t>(std::size(kNames));
  return fmt::format("[CUDA memcpy {}]", known ? kNames[kind] : kNames[0]);
}

void FillActivities(const ActivityTotals& totals, const std::vector<TraceDevice>& devices, const Names& names,
                    Summary* summary) {
  const auto is_host = [&](int64_t id) {
    for (const TraceDevice& device : devices) {
      if (device.id == id) return device.is_host;
    }
    return false;
  };
  std::map<int64_t, TimeTotals> on_gpus, on_hosts;
  for (const auto& [device, of_device] : totals.devices) {
    auto& by_name = is_host(device) ? on_hosts : on_gpus;
    for (const auto& [name, time] : of_device.launches.Used()) by_name[name].Merge(time);
  }
  for (const auto& [name, time] : on_gpus) {
    summary->gpu_activities.push_back(MakeRow(names.Of(name), "kernel", time));
  }
  for (const auto& [kind, time] : totals.copies) {
    summary->gpu_activities.push_back(MakeRow(CopyName(kind), "memcpy", time));
  }
  if (totals.memsets.calls > 0) {
    summary->gpu_activities.push_back(MakeRow("[CUDA memset]", "memset", totals.memsets));
  }
  for (const auto& [name, time] : on_hosts) {
    summary->host_activities.push_back(MakeRow(names.Of(name), "kernel", time));
  }
  std::map<std::string, TimeTotals> calls;
  for (const auto& [name, time] : totals.api_calls.Used()) calls[WithoutVersion(names.Of(name))].Merge(time);
  for (const auto& [name, time] : calls) summary->api_calls.push_back(MakeRow(name, "api", time));
  for (auto* rows : {&summary->gpu_activities, &summary->host_activities, &summary->api_calls}) Rank(rows);
}

Communication ComputeCommunication(ActivityTotals* totals) {
  Communication result;
  if (totals->last_ns < totals->first_ns) return result;
  std::vector<Interval> computing;
  for (auto& [device, of_device] : totals->devices) {
    computing = computing.empty()
                    ? std::vector<Interval>(of_device.busy.Union().begin(), of_device.busy.Union().end())
                    : UnionOf(computing, of_device.busy.Union());
  }
  const std::span<const Interval> copying = totals->copying.Union();
  result.compute_ns = TotalLength(computing);
  result.overlapped_ns = IntersectionLength(computing, copying);
  result.exposed_ns = TotalLength(copying) - result.overlapped_ns;
  result.idle_ns = totals->last_ns - totals->first_ns - result.compute_ns - result.exposed_ns;
  return result;
}

std::string Verdict(const Summary& summary, const std::vector<TrafficRow>& between) {
  const Communication& c = summary.communication;
  const int64_t span = c.compute_ns + c.exposed_ns + c.idle_ns;
  if (span == 0) return "The run has no activity.";
  const auto percent = [&](int64_t ns) {
    return 100.0 * static_cast<double>(ns) / static_cast<double>(span);
  };
  std::string_view kind = "Compute decides";
  if (c.exposed_ns > c.compute_ns && c.exposed_ns >= c.idle_ns) kind = "Copies decide";
  if (c.idle_ns > c.compute_ns && c.idle_ns > c.exposed_ns) kind = "Waiting decides";
  std::string text =
      fmt::format("{}: of {}, ops run {:.1f}%, copies that nothing hides {:.1f}%, nothing {:.1f}%", kind,
                  FormatNvprofTime(static_cast<double>(span)), percent(c.compute_ns), percent(c.exposed_ns),
                  percent(c.idle_ns));
  const int64_t copies = c.exposed_ns + c.overlapped_ns;
  if (copies > 0) {
    text += fmt::format("; {:.0f}% of the copying is hidden by compute",
                        100.0 * static_cast<double>(c.overlapped_ns) / static_cast<double>(copies));
  }
  int64_t count = 0, bytes = 0;
  for (const TrafficRow& row : between) {
    count += row.count;
    bytes = AddSaturating(bytes, row.bytes);
  }
  if (count > 0) {
    text += fmt::format("; {} copies with {} go from device to device", count, FormatBytes(bytes));
  }
  for (const SummaryRow& row : summary.gpu_activities) {
    if (row.type != "kernel") continue;
    text += fmt::format("; {} takes the most time of all ops ({})", row.name,
                        FormatNvprofTime(static_cast<double>(row.total_ns)));
    break;
  }
  return text + ".";
}

}  // namespace

Summary Summarize(const std::string& path, int run) {
  TraceReader reader(path);
  reader.RunInfoOf(run);
  const std::vector<TraceDevice> devices = reader.Devices(run);
  Database database(path, OpenMode::kReadOnly);
  ProcessFilter processes;
  int host = kHostDevice;
  if (reader.is_ours()) {
    processes = ProcessFilter(database, run);
    for (const TraceDevice& device : devices) {
      if (device.is_host && host == kHostDevice) host = device.id;
    }
  }
  // Ops by type in our runs; foreign kernels by their full names, as nvprof shows them.
  const bool full_names =
      !reader.is_ours() && database.HasColumn("CUPTI_ACTIVITY_KIND_KERNEL", "demangledName");
  ActivityTotals totals =
      ComputeTotals(database, processes, host, full_names ? "demangledName" : "shortName");

  Summary summary;
  summary.run = run;
  FillActivities(totals, devices, Names(database), &summary);
  std::vector<TrafficRow> between;
  for (const auto& [route, copied] : totals.routes) {
    const TrafficRow row{DeviceLabel(devices, route.first), DeviceLabel(devices, route.second), copied.count,
                         copied.bytes, copied.ns};
    summary.traffic.push_back(row);
    if (route.first != route.second && route.first != host && route.second != host) between.push_back(row);
  }
  summary.communication = ComputeCommunication(&totals);
  summary.invalid_rows = totals.invalid_rows;
  if (reader.is_ours() && database.HasTable("LANESCOPE_DROPPED")) {
    TableScan dropped(database, "LANESCOPE_DROPPED", {{"count", true}}, fmt::format("WHERE runId = {}", run));
    while (dropped.Next()) summary.dropped = AddSaturating(summary.dropped, dropped.Size(0));
  }
  summary.verdict = Verdict(summary, between);
  return summary;
}

}  // namespace lanescope
