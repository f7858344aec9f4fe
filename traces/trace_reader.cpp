#include "traces/trace_reader.h"

#include <algorithm>

#include "core/error.h"
#include "traces/activity_reader.h"
#include "traces/foreign_devices.h"
#include "traces/launch_links.h"
#include "traces/nvtx_reader.h"
#include "traces/queue_reader.h"
#include "traces/schema.h"
#include "traces/sqlite.h"
#include "traces/step_ranges.h"
#include "traces/table_scan.h"
#include "traces/trace_file.h"

namespace lanescope {
namespace {

constexpr std::string_view kRuns = "LANESCOPE_RUN";
constexpr std::string_view kActivityTables[] = {"CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY",
                                                "CUPTI_ACTIVITY_KIND_RUNTIME", "StringIds"};

// A view computes what its author likes, so it is not read; to pass over it in silence would look like a
// trace without activities.
void RefuseViews(Database& database) {
  for (const std::string_view table : kActivityTables) {
    Statement statement(database, "SELECT 1 FROM main.sqlite_schema WHERE type = 'view' AND name = ?");
    statement.BindText(1, table);
    if (!statement.Step()) continue;
    Throw(Code::kInvalidArgument,
          "{}: {} is a view, and traces are read from tables; make one of it with: CREATE TABLE .. AS SELECT "
          "* FROM {}",
          database.path(), table, table);
  }
}

std::string OfRun(int run) { return fmt::format("WHERE runId = {}", run); }

CommandKind KindOf(const std::string& name, const std::string& path) {
  using enum CommandKind;
  for (const CommandKind kind : {kLaunch, kCopy, kRecord, kWait}) {
    if (name == CommandKindName(kind)) return kind;
  }
  Throw(Code::kDataLoss, "{}: LANESCOPE_COMMAND.kind holds '{}', which is no command", path,
        name.substr(0, 40));
}

void ReadNodes(Database& database, int run, TraceRun* out) {
  if (!database.HasTable("LANESCOPE_NODE")) return;
  TableScan nodes(database, "LANESCOPE_NODE", {{"nodeId", true}, {"name", true}, {"op", true}}, OfRun(run));
  while (nodes.Next()) out->nodes.push_back({nodes.Number(0, -1), nodes.Text(1), nodes.Text(2), -1, 0});
  const auto by_id = [](const TraceNode& a, const TraceNode& b) { return a.id < b.id; };
  std::sort(out->nodes.begin(), out->nodes.end(), by_id);
  if (!database.HasTable("LANESCOPE_PLACEMENT")) return;
  TableScan placed(database, "LANESCOPE_PLACEMENT", {{"nodeId", true}, {"deviceId", true}, {"priority"}},
                   OfRun(run));
  while (placed.Next()) {
    TraceNode key;
    key.id = placed.Number(0, -1);
    const auto node = std::lower_bound(out->nodes.begin(), out->nodes.end(), key, by_id);
    if (node == out->nodes.end() || node->id != key.id) continue;
    node->device = placed.Number(1, -1);
    node->priority = placed.Id(2);
  }
}

void ReadCommands(Database& database, int run, TextNumbers& texts, TraceRun* out) {
  if (!database.HasTable("LANESCOPE_COMMAND")) return;
  TableScan scan(database, "LANESCOPE_COMMAND",
                 {{"schedule", true},
                  {"commandId", true},
                  {"kind", true},
                  {"nodeId"},
                  {"queue"},
                  {"rank"},
                  {"deviceId"},
                  {"src"},
                  {"dst"},
                  {"bytes"},
                  {"signature"},
                  {"flops"}},
                 OfRun(run));
  while (scan.Next()) {
    TraceCommand command;
    command.schedule = scan.Number(0, -1);
    command.id = scan.Number(1, -1);
    command.kind = KindOf(scan.Text(2), database.path());
    command.node = scan.Number(3, -1);
    command.queue = scan.Id(4);
    command.rank = scan.Id(5);
    command.device = scan.Id(6);
    command.src = scan.Number(7, -1);
    command.dst = scan.Number(8, -1);
    command.bytes = scan.Size(9);
    command.signature = scan.IsNull(10) ? -1 : texts.Number(scan.Integer(10));
    command.flops = scan.Size(11);
    out->commands.push_back(command);
  }
  std::sort(out->commands.begin(), out->commands.end(), [](const TraceCommand& a, const TraceCommand& b) {
    return std::pair(a.schedule, a.id) < std::pair(b.schedule, b.id);
  });
  ReadQueues(database, run, out);
  if (!database.HasTable("LANESCOPE_DEPENDENCY")) return;
  TableScan edges(database, "LANESCOPE_DEPENDENCY",
                  {{"schedule", true}, {"fromCommand", true}, {"toCommand", true}}, OfRun(run));
  while (edges.Next()) {
    out->dependencies.push_back({edges.Number(0, -1), edges.Number(1, -1), edges.Number(2, -1)});
  }
}

void ReadSteps(Database& database, int run, TraceRun* out) {
  if (!database.HasTable("LANESCOPE_STEP")) return;
  TableScan scan(database, "LANESCOPE_STEP", {{"step", true}, {"start", true}, {"end", true}}, OfRun(run));
  while (scan.Next()) {
    const TraceStep step{scan.Number(0, -1), scan.Time(1), scan.Time(2)};
    if (step.end_ns < step.start_ns) {
      ++out->invalid_rows;
    } else {
      out->steps.push_back(step);
    }
  }
}

void ReadMemory(Database& database, int run, TraceRun* out) {
  if (!database.HasTable("LANESCOPE_MEMORY")) return;
  TableScan scan(database, "LANESCOPE_MEMORY", {{"deviceId", true}, {"time", true}, {"bytes", true}},
                 OfRun(run));
  while (scan.Next()) out->memory.push_back({scan.Number(0, -1), scan.Time(1), scan.Size(2)});
}

int64_t ReadDropped(Database& database, int run) {
  if (!database.HasTable("LANESCOPE_DROPPED")) return 0;
  TableScan scan(database, "LANESCOPE_DROPPED", {{"count", true}}, OfRun(run));
  int64_t dropped = 0;
  while (scan.Next()) dropped = AddSaturating(dropped, scan.Size(0));
  return dropped;
}

// When the last activity, call or range of the run ended.
int64_t LastTimeOf(const TraceRun& run) {
  int64_t last = INT64_MIN;
  for (const TraceLaunch& launch : run.launches) last = std::max(last, launch.end_ns);
  for (const TraceCopy& copy : run.copies) last = std::max(last, copy.end_ns);
  for (const TraceMemset& memset : run.memsets) last = std::max(last, memset.end_ns);
  for (const TraceApiCall& call : run.api_calls) last = std::max(last, call.end_ns);
  for (const TraceRange& range : run.ranges) {
    if (!range.open) last = std::max(last, range.end_ns);
  }
  return last;
}

}  // namespace

class TraceReader::Impl {
 public:
  explicit Impl(const std::string& path) : database(OpenTraceForReading(path)) {
    ours = database.HasTable(kRuns);
    if (ours && database.QueryInteger("PRAGMA user_version") > kSchemaVersion) {
      Throw(Code::kFailedPrecondition, "{} was written by a newer version of Lanescope; update to read it",
            path);
    }
    if (ours) return;
    RefuseViews(database);
    for (const std::string_view table : kActivityTables) {
      if (database.HasTable(table)) return;
    }
    Throw(Code::kInvalidArgument, "{} is a database, but no trace: it has no activity tables", path);
  }

  Database database;
  bool ours = false;
};

const std::string& TraceRun::Text(int number) const {
  static const std::string empty;
  return number < 0 || static_cast<size_t>(number) >= texts.size() ? empty
                                                                   : texts[static_cast<size_t>(number)];
}

const TraceDevice* TraceRun::FindDevice(int id) const {
  for (const TraceDevice& device : devices) {
    if (device.id == id) return &device;
  }
  return nullptr;
}

bool TraceRun::queues_inferred() const {
  return std::any_of(queues.begin(), queues.end(), [](const TraceQueue& queue) { return queue.inferred; });
}

std::string TraceRun::DeviceLabel(int id) const { return lanescope::DeviceLabel(devices, id); }

std::string DeviceLabel(const std::vector<TraceDevice>& devices, int id) {
  if (id == kHostDevice) return "host";
  if (id == kUnknownDevice) return "GPU:?";
  for (const TraceDevice& device : devices) {
    if (device.id != id) continue;
    const size_t at = device.name.rfind("device:");
    return at == std::string::npos ? device.name : device.name.substr(at + 7);
  }
  return fmt::format("GPU:{}", id);
}

TraceReader::TraceReader(const std::string& path) : impl_(std::make_unique<Impl>(path)) {}
TraceReader::~TraceReader() = default;
TraceReader::TraceReader(TraceReader&&) noexcept = default;

bool TraceReader::is_ours() const { return impl_->ours; }
Database& TraceReader::database() { return impl_->database; }

std::vector<TraceRunInfo> TraceReader::Runs() {
  if (!impl_->ours) return {TraceRunInfo{}};
  std::vector<TraceRunInfo> runs;
  TableScan scan(impl_->database, kRuns,
                 {{"runId", true},
                  {"kind", true},
                  {"emulated"},
                  {"inSample"},
                  {"oversubscribed"},
                  {"complete"},
                  {"strategy"},
                  {"graph"},
                  {"machine"},
                  {"predictionOf"},
                  {"error"},
                  {"steps"},
                  {"clockOriginNs"},
                  {"utcEpochNs"}},
                 "ORDER BY runId");
  while (scan.Next()) {
    TraceRunInfo run;
    run.id = scan.Number(0, -1);
    run.simulated = scan.Text(1) == "simulated";
    run.emulated = scan.Flag(2);
    run.in_sample = scan.Flag(3);
    run.oversubscribed = scan.Flag(4);
    run.complete = scan.Flag(5);
    run.strategy = scan.Text(6);
    run.graph = scan.Text(7);
    run.machine_json = scan.Text(8);
    run.prediction_of = scan.Text(9);
    run.error = scan.Text(10);
    run.steps = scan.Size(11);
    run.clock_origin_ns = scan.Integer(12);
    run.utc_ns = scan.Integer(13);
    runs.push_back(std::move(run));
  }
  return runs;
}

TraceRunInfo TraceReader::RunInfoOf(int run) {
  std::string known;
  for (TraceRunInfo& info : Runs()) {
    if (info.id == run) return std::move(info);
    known += fmt::format("{}{}", known.empty() ? "" : ", ", info.id);
  }
  Throw(Code::kNotFound, "{} has no run {}; it has {}", impl_->database.path(), run,
        known.empty() ? "none" : known);
}

std::string TraceReader::CostModelOf(int run) {
  constexpr std::string_view kModels = "LANESCOPE_COST_MODEL";
  if (!impl_->ours || !impl_->database.HasTable(kModels)) return "";
  TableScan scan(impl_->database, kModels, {{"costs", true}}, OfRun(run));
  return scan.Next() ? scan.Text(0) : "";
}

std::vector<TraceDevice> TraceReader::Devices(int run) {
  if (!impl_->ours) return ReadForeignDevices(impl_->database);
  std::vector<TraceDevice> devices;
  if (!impl_->database.HasTable("LANESCOPE_DEVICE")) return devices;
  TableScan scan(impl_->database, "LANESCOPE_DEVICE",
                 {{"deviceId", true}, {"name", true}, {"kind", true}, {"memoryLimit"}, {"plannedPeakBytes"}},
                 OfRun(run) + " ORDER BY deviceId");
  while (scan.Next()) {
    TraceDevice device;
    device.id = scan.Number(0, -1);
    device.name = scan.Text(1);
    device.kind = scan.Text(2);
    device.memory_limit = scan.Size(3);
    device.planned_peak = scan.Size(4);
    device.is_host = device.name.find("CPU:") != std::string::npos;
    devices.push_back(std::move(device));
  }
  return devices;
}

std::vector<TraceStep> TraceReader::Steps(int run) {
  TraceRun out;
  if (impl_->ours) ReadSteps(impl_->database, run, &out);
  return std::move(out.steps);
}

TraceRun TraceReader::ReadRun(int run) { return Read(run, true); }

TraceRun TraceReader::ReadOutline(int run) { return Read(run, false); }

TraceRun TraceReader::Read(int run, bool with_activities) {
  TraceRun out;
  const Snapshot snapshot(impl_->database);
  out.info = RunInfoOf(run);
  const bool described = !impl_->ours && !with_activities;
  out.devices = described ? ReadForeignDevices(impl_->database, false) : Devices(run);
  Database& database = impl_->database;
  TextNumbers texts(database);
  ProcessFilter processes;
  int host = kHostDevice;
  if (impl_->ours) {
    processes = ProcessFilter(database, run);
    ReadNodes(database, run, &out);
    ReadCommands(database, run, texts, &out);
    ReadSteps(database, run, &out);
    ReadMemory(database, run, &out);
    out.dropped = ReadDropped(database, run);
    for (const TraceDevice& device : out.devices) {
      if (device.is_host && host == kHostDevice) host = device.id;
    }
  }
  DeviceNumbers numbers = impl_->ours ? DeviceNumbers() : DeviceNumbers(database);
  ReadHostActivities(database, processes, texts, &out);
  LinkApiCallsToRanges(&out);
  if (with_activities) ReadActivities(database, processes, numbers, host, texts, &out);
  CloseRanges(LastTimeOf(out), &out);
  out.texts = texts.TakeTexts();
  if (with_activities) FindSteps(&out);
  return out;
}

}  // namespace lanescope
