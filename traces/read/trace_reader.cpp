// SPDX-License-Identifier: Apache-2.0
#include "traces/read/trace_reader.h"

#include <algorithm>

#include "core/base/error.h"
#include "traces/read/activity_reader.h"
#include "traces/read/foreign_devices.h"
#include "traces/read/input_reader.h"
#include "traces/read/launch_links.h"
#include "traces/read/nvtx_reader.h"
#include "traces/read/queue_reader.h"
#include "traces/read/ranks.h"
#include "traces/read/run_sink.h"
#include "traces/read/run_tasks.h"
#include "traces/read/step_reader.h"
#include "traces/store/lanescope_tables.h"
#include "traces/store/saturating.h"
#include "traces/store/schema.h"
#include "traces/store/sqlite.h"
#include "traces/store/table_reader.h"
#include "traces/store/trace_file.h"

namespace lanescope::traces {
namespace {

constexpr std::string_view kActivityTables[] = {tables::kKernel.sql_name(), tables::kMemcpy.sql_name(),
                                                tables::kApiCall.sql_name(), tables::kStringIds.sql_name()};

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

CommandKind KindOf(std::string_view name, const std::string& path) {
  using enum CommandKind;
  for (const CommandKind kind : {kLaunch, kCopy, kRecord, kWait}) {
    if (name == CommandKindName(kind)) return kind;
  }
  Throw(Code::kDataLoss, "{}: {}.kind holds '{}', which is no command", path, tables::kCommand.sql_name(),
        name.substr(0, 40));
}

void ReadNodes(Database& database, int run, TraceRun* out) {
  using tables::kNode, tables::kPlacement;
  ReadRunRows(database, kNode, run, {kNode.id, kNode.name, kNode.op}, [&](const auto& row) {
    out->nodes.push_back({row[kNode.id], std::string(row[kNode.name]), std::string(row[kNode.op]), -1, 0});
  });
  const auto by_id = [](const TraceNode& a, const TraceNode& b) { return a.id < b.id; };
  std::sort(out->nodes.begin(), out->nodes.end(), by_id);
  ReadRunRows(database, kPlacement, run, {kPlacement.node, kPlacement.device, kPlacement.priority},
              [&](const auto& row) {
                TraceNode key;
                key.id = row[kPlacement.node];
                const auto node = std::lower_bound(out->nodes.begin(), out->nodes.end(), key, by_id);
                if (node == out->nodes.end() || node->id != key.id) return;
                node->device = row[kPlacement.device];
                node->priority = row[kPlacement.priority];
              });
}

void ReadCommands(Database& database, int run, TextNumbers& texts, TraceRun* out) {
  constexpr const auto& from = tables::kCommand;
  ReadRunRows(database, from, run,
              {from.schedule, from.id, from.kind, from.node, from.queue, from.rank, from.device, from.src,
               from.dst, from.bytes, from.signature, from.flops},
              [&](const auto& row) {
                TraceCommand command;
                command.schedule = row[from.schedule];
                command.id = row[from.id];
                command.kind = KindOf(row[from.kind], database.path());
                command.node = row[from.node];
                command.queue = row[from.queue];
                command.rank = row[from.rank];
                command.device = row[from.device];
                command.src = row[from.src];
                command.dst = row[from.dst];
                command.bytes = row[from.bytes];
                command.signature = texts.Number(row[from.signature]);
                command.flops = row[from.flops];
                out->commands.push_back(command);
              });
  std::sort(out->commands.begin(), out->commands.end(), [](const TraceCommand& a, const TraceCommand& b) {
    return std::pair(a.schedule, a.id) < std::pair(b.schedule, b.id);
  });
  ReadQueues(database, run, out);
  using tables::kDependency;
  ReadRunRows(
      database, kDependency, run, {kDependency.schedule, kDependency.from, kDependency.to},
      [&](const auto& row) {
        out->dependencies.push_back({row[kDependency.schedule], row[kDependency.from], row[kDependency.to]});
      });
}

void ReadMemory(Database& database, int run, TraceRun* out) {
  using tables::kMemory;
  ReadRunRows(database, kMemory, run, {kMemory.device, kMemory.time, kMemory.bytes}, [&](const auto& row) {
    if (const std::optional<int64_t> time = row[kMemory.time]) {
      out->memory.push_back({row[kMemory.device], *time, row[kMemory.bytes]});
    } else {
      ++out->invalid_rows;
    }
  });
}

int64_t ReadDropped(Database& database, int run) {
  using tables::kDropped;
  int64_t dropped = 0;
  ReadRunRows(database, kDropped, run, {kDropped.count},
              [&](const auto& row) { dropped = AddSaturating(dropped, row[kDropped.count]); });
  return dropped;
}

// When the last call or range that the run holds ended.
int64_t LastTimeOf(const TraceRun& run) {
  int64_t last = INT64_MIN;
  for (const TraceApiCall& call : run.api_calls) last = std::max(last, call.end_ns);
  for (const TraceRange& range : run.ranges) {
    if (!range.open) last = std::max(last, range.end_ns);
  }
  return last;
}

// Makes the run whole.
class KeepActivities : public RunSink {
 public:
  explicit KeepActivities(TraceRun* run) : run_(*run) {}

  bool keeps_calls() const override { return true; }
  void Begin(const TraceRun&) override {}
  void Call(const TraceApiCall&) override {}  // they are kept
  void Launch(const TraceLaunch& launch, const TraceCollective* moved) override {
    if (moved != nullptr) {
      run_.collectives.push_back(*moved);
      run_.collectives.back().launch = static_cast<int>(run_.launches.size());
    }
    run_.launches.push_back(launch);
  }
  void Copy(const TraceCopy& copy) override { run_.copies.push_back(copy); }
  void Memset(const TraceMemset& memset) override { run_.memsets.push_back(memset); }

 private:
  TraceRun& run_;
};

// 0: tables that another program copied.
void RequireKnownVersion(Database& database) {
  const int64_t version = database.QueryInteger("PRAGMA user_version");
  if (version > kSchemaVersion) {
    Throw(Code::kFailedPrecondition, "{} was written by a newer version of Lanescope; update to read it",
          database.path());
  }
  if (version > 0 && version < kOldestSchemaVersion) {
    Throw(Code::kFailedPrecondition, "{} was written before the first version of Lanescope; record it anew",
          database.path());
  }
}

}  // namespace

class TraceReader::Impl {
 public:
  explicit Impl(const std::string& path) : database(OpenTraceForReading(path)) {
    ours = database.HasTable(tables::kRun.sql_name());
    if (ours) {
      RequireKnownVersion(database);
      return;
    }
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

std::vector<int> HostNumbers(const std::vector<TraceDevice>& devices) {
  std::vector<int> hosts;
  for (const TraceDevice& device : devices) {
    if (device.is_host) hosts.push_back(device.id);
  }
  if (hosts.empty()) hosts.push_back(kHostDevice);
  return hosts;
}

TraceReader::TraceReader(const std::string& path) : impl_(std::make_unique<Impl>(path)) {}
TraceReader::~TraceReader() = default;
TraceReader::TraceReader(TraceReader&&) noexcept = default;

bool TraceReader::is_ours() const { return impl_->ours; }
Database& TraceReader::database() { return impl_->database; }

std::vector<TraceRunInfo> TraceReader::Runs() {
  if (!impl_->ours) {
    TraceRunInfo run;
    constexpr const auto& from = tables::kExportMetaData;
    ReadRows(impl_->database, from, {from.name},
             [&](const auto& row) { run.laid_out = run.laid_out || row[from.name] == tables::kLaidOut; });
    return {run};
  }
  std::vector<TraceRunInfo> runs;
  constexpr const auto& from = tables::kRun;
  ReadRows(impl_->database, from,
           {from.id, from.kind, from.emulated, from.in_sample, from.oversubscribed, from.complete,
            from.strategy, from.graph, from.machine, from.prediction_of, from.error, from.steps,
            from.clock_origin, from.utc_epoch},
           [&](const auto& row) {
             TraceRunInfo run;
             run.id = row[from.id];
             run.simulated = row[from.kind] == "simulated";
             run.emulated = row[from.emulated];
             run.in_sample = row[from.in_sample];
             run.oversubscribed = row[from.oversubscribed];
             run.complete = row[from.complete];
             run.strategy = row[from.strategy];
             run.graph = row[from.graph];
             run.machine_json = row[from.machine];
             run.prediction_of = row[from.prediction_of];
             run.error = row[from.error];
             run.steps = row[from.steps];
             run.clock_origin_ns = row[from.clock_origin].value_or(0);
             run.utc_ns = row[from.utc_epoch].value_or(0);
             runs.push_back(std::move(run));
           });
  std::stable_sort(runs.begin(), runs.end(),
                   [](const TraceRunInfo& a, const TraceRunInfo& b) { return a.id < b.id; });
  using tables::kPrediction;
  ReadRows(impl_->database, kPrediction,
           {kPrediction.run, kPrediction.uncalibrated, kPrediction.extrapolated}, [&](const auto& row) {
             const int id = row[kPrediction.run];
             const auto run = std::find_if(runs.begin(), runs.end(),
                                           [&](const TraceRunInfo& info) { return info.id == id; });
             if (run == runs.end()) return;
             const auto share = [](int64_t ppm) { return std::min(1.0, 1e-6 * static_cast<double>(ppm)); };
             run->uncalibrated_share = share(row[kPrediction.uncalibrated]);
             run->extrapolated_share = share(row[kPrediction.extrapolated]);
           });
  using tables::kTiming;
  ReadRows(impl_->database, kTiming, {kTiming.run, kTiming.commands, kTiming.pair_ns}, [&](const auto& row) {
    const int id = row[kTiming.run];
    const auto run = std::ranges::find(runs, id, &TraceRunInfo::id);
    if (run == runs.end()) return;
    const std::string_view commands = row[kTiming.commands];
    const auto name = std::ranges::find(kCommandTimingNames, commands);
    if (name == kCommandTimingNames.end()) return;
    run->command_timing = static_cast<CommandTiming>(name - kCommandTimingNames.begin());
    run->pair_ns = row[kTiming.pair_ns];
  });
  return runs;
}

std::string_view OriginOfTimes(const TraceRunInfo& run) {
  if (run.simulated) return "simulated";
  if (run.emulated) return "measured on emulated devices";
  return run.laid_out ? "laid out, not measured" : "measured";
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
  using tables::kCostModel;
  std::optional<std::string> costs;
  if (!impl_->ours) return "";
  ReadRunRows(impl_->database, kCostModel, run, {kCostModel.costs}, [&](const auto& row) {
    if (!costs) costs = row[kCostModel.costs];
  });
  return costs.value_or("");
}

std::vector<TraceDevice> TraceReader::Devices(int run) {
  if (!impl_->ours) return ReadForeignDevices(impl_->database);
  std::vector<TraceDevice> devices;
  constexpr const auto& from = tables::kDevice;
  ReadRunRows(impl_->database, from, run,
              {from.id, from.in_machine, from.name, from.kind, from.memory_limit, from.planned_peak},
              [&](const auto& row) {
                TraceDevice device;
                device.id = row[from.id];
                device.in_machine = row[from.in_machine];
                device.name = row[from.name];
                device.kind = row[from.kind];
                device.memory_limit = row[from.memory_limit];
                device.planned_peak = row[from.planned_peak];
                device.is_host = device.name.find("CPU:") != std::string::npos;
                devices.push_back(std::move(device));
              });
  std::stable_sort(devices.begin(), devices.end(),
                   [](const TraceDevice& a, const TraceDevice& b) { return a.id < b.id; });
  NumberTasks(&devices);
  return devices;
}

std::vector<RunTask> TraceReader::Tasks(int run) {
  return impl_->ours ? ReadTasks(impl_->database, run, Devices(run)) : std::vector<RunTask>();
}

std::vector<TraceStep> TraceReader::Steps(int run) {
  TraceRun out;
  if (impl_->ours) ReadSteps(impl_->database, run, &out);
  return std::move(out.steps);
}

bool TraceReader::AllDisturbed(int run) {
  TraceRun out;
  if (impl_->ours) ReadSteps(impl_->database, run, &out);
  return out.all_disturbed;
}

std::vector<TraceRank> TraceReader::Ranks() { return ReadRanks(impl_->database); }

std::vector<TraceNode> TraceReader::Nodes(int run) {
  TraceRun out;
  if (impl_->ours) ReadNodes(impl_->database, run, &out);
  return std::move(out.nodes);
}

InputRecord TraceReader::Input(int run) {
  int64_t invalid_rows = 0;
  return impl_->ours ? ReadInput(impl_->database, run, &invalid_rows) : InputRecord();
}

TraceRun TraceReader::ReadRun(int run) {
  TraceRun out;
  KeepActivities keep(&out);
  Read(run, &keep, &out);
  return out;
}

void TraceReader::StreamRun(int run, RunSink* sink, TraceRun* out) { Read(run, sink, out); }

TraceRun TraceReader::ReadOutline(int run) {
  TraceRun out;
  Read(run, nullptr, &out);
  return out;
}

void TraceReader::Read(int run, RunSink* sink, TraceRun* out) {
  const Snapshot snapshot(impl_->database);
  out->info = RunInfoOf(run);
  const bool described = !impl_->ours && sink == nullptr;
  out->devices = described ? ReadForeignDevices(impl_->database, false) : Devices(run);
  Database& database = impl_->database;
  TextNumbers texts(database, &out->texts);
  if (impl_->ours) {
    out->tasks = ReadTasks(database, run, out->devices);
    ReadNodes(database, run, out);
    ReadCommands(database, run, texts, out);
    ReadSteps(database, run, out);
    ReadMemory(database, run, out);
    out->input = ReadInput(database, run, &out->invalid_rows);
    out->dropped = ReadDropped(database, run);
  } else if (database.HasTable(tables::kMemory.sql_name())) {
    ReadMemory(database, run, out);  // of an import
  }
  const bool keeps_calls = sink == nullptr || sink->keeps_calls();
  const bool calls_kept =
      ReadHostActivities(database, RunFilter({{run}}, !impl_->ours),
                         keeps_calls ? KeepCalls::kAlways : KeepCalls::kForRanges, texts, out);
  LinkApiCallsToRanges(out);
  const int64_t last =
      sink == nullptr ? INT64_MIN : ReadActivities(database, impl_->ours, calls_kept, texts, out, sink);
  CloseRanges(std::max(last, LastTimeOf(*out)), out);
}

}  // namespace lanescope::traces
