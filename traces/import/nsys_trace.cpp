// SPDX-License-Identifier: Apache-2.0
#include "traces/import/nsys_trace.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "core/base/error.h"
#include "traces/read/foreign_devices.h"
#include "traces/read/trace_reader.h"
#include "traces/store/lanescope_tables.h"
#include "traces/store/nsys_tables.h"
#include "traces/store/sqlite.h"
#include "traces/store/table_reader.h"

namespace lanescope::traces {
namespace {

using Kind = ImportEvent::Kind;

int64_t ProcessIn(int64_t global_id) { return (global_id >> 24) & 0xffffff; }
int64_t ThreadIn(int64_t global_id) { return global_id & 0xffffff; }
int32_t SmallOf(std::optional<int64_t> value) {
  return static_cast<int32_t>(std::clamp<int64_t>(value.value_or(0), 0, INT32_MAX));
}

// Imports write the same tables.
bool IsOfAnImport(Database& database) {
  constexpr const auto& from = tables::kExportMetaData;
  bool is = false;
  ReadRows(database, from, {from.value},
           [&](const auto& row) { is = is || row[from.value].starts_with("Lanescope"); });
  return is;
}

// Texts of one table as names of an import.
class NamesById {
 public:
  NamesById(Database& database, ImportNames* names) : names_(*names) {
    constexpr const auto& from = tables::kStringIds;
    ReadRows(database, from, {from.id, from.value},
             [&](const auto& row) { texts_.emplace(row[from.id].value_or(-1), row[from.value]); });
  }
  int Of(std::optional<int64_t> id) {
    const auto [known, is_new] = numbers_.try_emplace(id.value_or(-1), 0);
    if (is_new) {
      const auto text = texts_.find(known->first);
      known->second = names_.Intern(text == texts_.end() ? "no name" : std::string_view(text->second));
    }
    return known->second;
  }

 private:
  ImportNames& names_;
  std::map<int64_t, std::string> texts_;
  std::map<int64_t, int> numbers_;
};

class NsysReader {
 public:
  explicit NsysReader(const ImportSource& source)
      : reader_(source.path),
        database_(reader_.database()),
        cancelled_(source.cancelled),
        names_(&trace_),
        by_id_(database_, &names_),
        devices_(database_) {
    trace_.format = "Nsight Systems";
  }

  ImportTrace Read() {
    const Snapshot snapshot(database_);
    ReadKernels();
    ReadCopies();
    ReadMemsets();
    ReadSynchronizations();
    ReadHost();
    DescribeFile();
    if (trace_.events.empty() && trace_.skipped == 0)
      Throw(Code::kInvalidArgument, "{} holds nothing that ran", database_.name());
    return std::move(trace_);
  }

 private:
  // Sets an event of a device. False: it has no times, and is counted.
  template <typename T, typename Row>
  bool Set(const T& from, const Row& row, Kind kind, ImportEvent* event) {
    CheckImportGoesOn(cancelled_);
    const std::optional<int64_t> start = row[from.start], end = row[from.end];
    if (!start || !end || *end < *start || !UsableTimes(*start, *end - *start) ||
        (*start == 0 && *end == 0)) {
      ++trace_.skipped;
      return false;
    }
    const int64_t process = row[from.global_pid].value_or(0);
    event->kind = kind;
    event->start_ns = *start;
    event->end_ns = *end;
    event->pid = ProcessIn(process);
    event->device = devices_.Of(process, row[from.device]);
    event->context = row[from.context].value_or(0);
    event->stream = row[from.stream];
    event->correlation = CorrelationOf(process, row[from.correlation]);
    return true;
  }
  // Processes count their calls from 1 each.
  int64_t CorrelationOf(int64_t process, std::optional<int64_t> correlation) {
    constexpr int64_t kMostCalls = int64_t{1} << 40;
    if (!correlation || *correlation <= 0 || *correlation >= kMostCalls) return -1;
    const auto [number, is_new] = processes_.try_emplace(ProcessIn(process), std::ssize(processes_));
    return number->second * kMostCalls + *correlation;
  }

  void ReadKernels() {
    constexpr const auto& from = tables::kKernel;
    std::map<ImportLaunch, int> launches;
    ReadRows(database_, from,
             {from.start,       from.end,        from.device,        from.context,        from.stream,
              from.correlation, from.global_pid, from.full_name,     from.short_name,     from.mangled_name,
              from.registers,   from.grid_x,     from.grid_y,        from.grid_z,         from.block_x,
              from.block_y,     from.block_z,    from.static_shared, from.dynamic_shared, from.graph_node,
              from.graph},
             [&](const auto& row) {
               ImportEvent event;
               if (!Set(from, row, Kind::kKernel, &event)) return;
               std::optional<int64_t> full = row[from.full_name], brief = row[from.short_name];
               if (!full || *full < 0) full = brief ? brief : row[from.mangled_name];
               event.name = by_id_.Of(full);
               event.brief = by_id_.Of(brief && *brief >= 0 ? brief : full);
               const ImportLaunch launch{
                   {SmallOf(row[from.grid_x]), SmallOf(row[from.grid_y]), SmallOf(row[from.grid_z])},
                   {SmallOf(row[from.block_x]), SmallOf(row[from.block_y]), SmallOf(row[from.block_z])},
                   SmallOf(row[from.registers]),
                   SmallOf(int64_t{SmallOf(row[from.static_shared])} + SmallOf(row[from.dynamic_shared]))};
               const auto [known, is_new] =
                   launches.try_emplace(launch, static_cast<int>(trace_.launches.size()));
               if (is_new) trace_.launches.push_back(launch);
               event.launch = known->second;
               event.graph = row[from.graph].value_or(-1);
               event.graph_node = row[from.graph_node].value_or(-1);
               trace_.events.push_back(event);
             });
    constexpr const auto& graphs = tables::kGraphTrace;
    ReadRows(database_, graphs, {graphs.start}, [&](const auto&) { trace_.LeaveOut("whole CUDA graphs"); });
  }

  void ReadCopies() {
    constexpr const auto& from = tables::kMemcpy;
    constexpr int64_t kMostKinds = 64, kMostDevices = 1 << 20;
    ReadRows(database_, from,
             {from.start, from.end, from.device, from.context, from.stream, from.correlation, from.global_pid,
              from.bytes, from.copy_kind, from.src_kind, from.dst_kind, from.src_device, from.dst_device,
              from.graph_node},
             [&](const auto& row) {
               ImportEvent event;
               if (!Set(from, row, Kind::kCopy, &event)) return;
               const auto kind = [&](std::optional<int64_t> value, int64_t otherwise) {
                 return static_cast<int>(std::clamp<int64_t>(value.value_or(otherwise), 0, kMostKinds));
               };
               const auto end_of = [&](const auto& column) -> int64_t {
                 if (row.IsNull(column)) return -1;
                 return std::clamp<int64_t>(devices_.Of(row[from.global_pid].value_or(0), row[column]), -1,
                                            kMostDevices);
               };
               event.name = names_.Intern("memcpy");
               event.bytes = row[from.bytes];
               event.ends = {kind(row[from.copy_kind], 0), kind(row[from.src_kind], 7),
                             kind(row[from.dst_kind], 7)};
               event.src_device = end_of(from.src_device);
               event.dst_device = end_of(from.dst_device);
               event.graph_node = row[from.graph_node].value_or(-1);
               trace_.events.push_back(event);
             });
  }

  void ReadMemsets() {
    constexpr const auto& from = tables::kMemset;
    ReadRows(database_, from,
             {from.start, from.end, from.device, from.context, from.stream, from.correlation, from.global_pid,
              from.bytes, from.graph_node},
             [&](const auto& row) {
               ImportEvent event;
               if (!Set(from, row, Kind::kMemset, &event)) return;
               event.name = names_.Intern("memset");
               event.bytes = row[from.bytes];
               event.graph_node = row[from.graph_node].value_or(-1);
               trace_.events.push_back(event);
             });
  }

  void ReadSynchronizations() {
    struct Record {
      int64_t correlation = -1, stream = -1;
    };
    std::map<std::pair<int64_t, int64_t>, Record> records;  // of events, by process and number
    constexpr const auto& record = tables::kCudaEvent;
    ReadRows(database_, record, {record.stream, record.correlation, record.global_pid, record.event_sync},
             [&](const auto& row) {
               const int64_t process = row[record.global_pid].value_or(0);
               const std::optional<int64_t> number = row[record.event_sync];
               if (number) {
                 records[{process, *number}] = {CorrelationOf(process, row[record.correlation]),
                                                row[record.stream]};
               }
             });
    constexpr const auto& from = tables::kSynchronization;
    ReadRows(database_, from,
             {from.start, from.end, from.device, from.context, from.stream, from.correlation, from.global_pid,
              from.type, from.event, from.event_sync},
             [&](const auto& row) {
               ImportEvent event;
               if (!Set(from, row, Kind::kSynchronization, &event)) return;
               event.name = names_.Intern("synchronization");
               event.sync_type = static_cast<int>(std::clamp<int64_t>(row[from.type].value_or(0), 0, 4));
               event.event = row[from.event].value_or(-1);
               const auto known =
                   records.find({row[from.global_pid].value_or(0), row[from.event_sync].value_or(-1)});
               if (known != records.end()) {
                 event.recorded_by = known->second.correlation;
                 event.recorded_on = known->second.stream;
               }
               trace_.events.push_back(event);
             });
  }

  // As a run of one export has it.
  void ReadHost() {
    const TraceRun run = reader_.ReadOutline(1);
    const auto name = [&](int text) {
      return names_.Intern(text < 0 ? "no name" : std::string_view(run.Text(text)));
    };
    const auto add = [&](ImportEvent event, int64_t global_tid, int64_t start_ns, int64_t end_ns) {
      CheckImportGoesOn(cancelled_);
      if (!UsableTimes(start_ns, end_ns - start_ns)) return void(++trace_.skipped);
      event.start_ns = start_ns;
      event.end_ns = end_ns;
      event.pid = ProcessIn(global_tid);
      event.tid = ThreadIn(global_tid);
      trace_.events.push_back(event);
    };
    for (const TraceApiCall& call : run.api_calls) {
      ImportEvent event;
      event.kind = Kind::kApiCall;
      event.name = name(call.name);
      event.correlation = CorrelationOf(call.global_tid, call.correlation);
      add(event, call.global_tid, call.start_ns, call.end_ns);
    }
    for (const TraceRange& range : run.ranges) {
      if (range.open) {
        ++trace_.skipped;
        continue;
      }
      ImportEvent event;
      event.name = name(range.text);
      event.of_library = range.of_library;
      add(event, range.global_tid, range.start_ns, range.end_ns);
    }
    for (const TraceThread& thread : run.threads) {
      if (thread.name >= 0)
        trace_.threads.push_back(
            {ProcessIn(thread.global_tid), ThreadIn(thread.global_tid), name(thread.name)});
    }
    for (const TraceProcess& process : run.processes) {
      if (process.name >= 0) trace_.processes.push_back({ProcessIn(process.global_pid), name(process.name)});
      if (process.rank >= 0 && processes_.contains(ProcessIn(process.global_pid))) trace_.rank = process.rank;
    }
    for (const TraceDevice& device : run.devices)
      trace_.devices.push_back({device.id, device.memory_limit, 0, device.model});
    if (run.ranks.size() == 1) trace_.host = run.ranks.front().host;
  }

  // An export of several processes with ranks of their own is of no rank.
  void DescribeFile() {
    if (processes_.size() == 1) {
      trace_.process = processes_.begin()->first;
    } else {
      trace_.rank.reset();
    }
    constexpr const auto& from = tables::kSessionStart;
    ReadRows(database_, from, {from.utc_epoch}, [&](const auto& row) {
      if (trace_.base_ns == 0) trace_.base_ns = UsableBase(row[from.utc_epoch].value_or(0));
    });
  }

  TraceReader reader_;
  Database& database_;
  const std::atomic<bool>* cancelled_;
  ImportTrace trace_;
  ImportNames names_;
  NamesById by_id_;
  DeviceNumbers devices_;
  std::map<int64_t, int64_t> processes_;  // with CUDA calls, by number
};

}  // namespace

bool IsNsysExport(const ForeignFile& file) {
  if (!file.is_regular) return false;
  try {
    Database database(file.path, OpenMode::kReadOnly);
    return database.HasTable(tables::kStringIds.sql_name()) && !database.HasTable(tables::kRun.sql_name()) &&
           !IsOfAnImport(database) &&
           (database.HasTable(tables::kKernel.sql_name()) || database.HasTable(tables::kMemcpy.sql_name()) ||
            database.HasTable(tables::kApiCall.sql_name()));
  } catch (const Error&) {
    return false;
  }
}

ImportTrace ReadNsysExport(const ImportSource& source) { return NsysReader(source).Read(); }

}  // namespace lanescope::traces
