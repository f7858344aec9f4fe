// SPDX-License-Identifier: Apache-2.0
#include "traces/import/rocpd_trace.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <utility>

#include "core/base/error.h"
#include "traces/import/kineto_events.h"
#include "traces/import/rocm_copy.h"
#include "traces/import/rocpd_tables.h"
#include "traces/store/kernel_name.h"
#include "traces/store/sqlite.h"
#include "traces/store/table_reader.h"

namespace lanescope::traces {
namespace {

using Kind = ImportEvent::Kind;

constexpr std::string_view kDispatches = "rocpd_kernel_dispatch", kRegions = "rocpd_region";

// Names of tables end in these, one of every recording: a database may hold several.
std::vector<std::string> RecordingsIn(Database& database) {
  std::set<std::string> found;
  for (const std::string_view table : {kDispatches, kRegions}) {
    Statement rows(database,
                   "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND substr(name, 1, ?2) = ?1");
    rows.BindText(1, table);
    rows.BindInteger(2, std::ssize(table));
    while (rows.Step()) {
      const std::string_view ending = rows.Text(0).substr(table.size());
      if (ending.empty() || ending.front() == '_') found.emplace(ending);
    }
  }
  return {found.begin(), found.end()};
}

// The text of a marker, as roctx was given it.
std::string MessageIn(std::string_view json) {
  constexpr size_t kMostBytes = 1 << 16;
  if (json.size() > kMostBytes) return "";
  const auto parsed = nlohmann::json::parse(json, nullptr, false);
  const auto message = parsed.is_object() ? parsed.find("message") : parsed.end();
  return parsed.is_object() && message != parsed.end() && message->is_string() ? message->get<std::string>()
                                                                               : "";
}

// One recording of a database.
class Recording {
 public:
  Recording(Database& database, std::string ending, const std::atomic<bool>* cancelled, ImportTrace* trace,
            ImportNames* names)
      : database_(database),
        ending_(std::move(ending)),
        cancelled_(cancelled),
        trace_(*trace),
        names_(*names) {}

  void Read() {
    ReadPlaces();
    ReadEvents();
    ReadKernels();
    ReadCopies();
    ReadRegions();
  }

 private:
  struct Joined {
    int64_t stack = 0, category = -1;
    int message = -1;
  };

  std::string Named(std::string_view table) const { return std::string(table) + ending_; }

  void ReadPlaces() {
    const std::string strings = Named("rocpd_string"), nodes = Named("rocpd_info_node"),
                      processes = Named("rocpd_info_process"), threads = Named("rocpd_info_thread"),
                      agents = Named("rocpd_info_agent"), kernels = Named("rocpd_info_kernel_symbol");
    const tables::RocpdString text(strings);
    ReadRows(database_, text, {text.id, text.value},
             [&](const auto& row) { texts_.emplace(row[text.id].value_or(-1), row[text.value]); });
    const tables::RocpdNode node(nodes);
    ReadRows(database_, node, {node.host}, [&](const auto& row) { trace_.host = row[node.host]; });
    const tables::RocpdProcess process(processes);
    ReadRows(database_, process, {process.id, process.pid, process.command}, [&](const auto& row) {
      const int64_t pid = row[process.pid].value_or(0);
      pids_.emplace(row[process.id].value_or(-1), pid);
      if (!row[process.command].empty())
        trace_.processes.push_back({pid, names_.Intern(row[process.command])});
    });
    const tables::RocpdThread thread(threads);
    ReadRows(database_, thread, {thread.id, thread.tid}, [&](const auto& row) {
      tids_.emplace(row[thread.id].value_or(-1), row[thread.tid].value_or(0));
    });
    const tables::RocpdAgent agent(agents);
    ReadRows(database_, agent,
             {agent.id, agent.type, agent.logical, agent.of_type, agent.name, agent.product},
             [&](const auto& row) {
               const int64_t id = row[agent.id].value_or(-1);
               if (row[agent.type] != "GPU") return void(hosts_.insert(id));
               ImportDevice device;
               device.id = std::clamp<int64_t>(
                   row[agent.of_type].value_or(row[agent.logical].value_or(std::ssize(gpus_))), 0, INT32_MAX);
               device.name = row[agent.product].empty() ? row[agent.name] : row[agent.product];
               gpus_.emplace(id, device.id);
               trace_.devices.push_back(std::move(device));
             });
    const tables::RocpdKernel kernel(kernels);
    ReadRows(database_, kernel, {kernel.id, kernel.name, kernel.shown}, [&](const auto& row) {
      const std::string_view shown = row[kernel.shown].empty() ? row[kernel.name] : row[kernel.shown];
      const std::string name = KinetoKernelName(std::string(shown));
      kernels_.emplace(row[kernel.id].value_or(-1),
                       std::pair(names_.Intern(name), names_.Intern(ShortKernelName(name))));
    });
  }

  void ReadEvents() {
    const std::string table = Named("rocpd_event");
    const tables::RocpdEvent event(table);
    ReadRows(database_, event, {event.id, event.category, event.stack, event.more}, [&](const auto& row) {
      Joined joined{row[event.stack].value_or(0), row[event.category].value_or(-1)};
      if (row[event.more].size() > 2 && IsMarker(joined)) {
        if (const std::string message = MessageIn(row[event.more]); !message.empty())
          joined.message = names_.Intern(message);
      }
      joined_.emplace(row[event.id].value_or(-1), joined);
    });
  }
  std::string_view TextOf(int64_t id) const {
    const auto text = texts_.find(id);
    return text == texts_.end() ? std::string_view("no name") : std::string_view(text->second);
  }
  bool IsMarker(const Joined& joined) const { return TextOf(joined.category).starts_with("MARKER"); }
  const Joined& JoinedOf(std::optional<int64_t> event) const {
    static const Joined none;
    const auto found = joined_.find(event.value_or(-1));
    return found == joined_.end() ? none : found->second;
  }

  // False: it has no times, and is counted.
  template <typename T, typename Row>
  bool Set(const T& from, const Row& row, ImportEvent* event) {
    CheckImportGoesOn(cancelled_);
    const std::optional<int64_t> start = row[from.start], end = row[from.end];
    if (!start || !end || *start <= 0 || *end < *start || !UsableTimes(*start, *end - *start)) {
      ++trace_.skipped;
      return false;
    }
    event->start_ns = *start;
    event->end_ns = *end;
    const auto pid = pids_.find(row[from.process].value_or(-1));
    const auto tid = tids_.find(row[from.thread].value_or(-1));
    event->pid = pid == pids_.end() ? 0 : pid->second;
    event->tid = tid == tids_.end() ? 0 : tid->second;
    if (trace_.process < 0 && event->pid > 0) trace_.process = event->pid;
    const Joined& joined = JoinedOf(row[from.event]);
    if (joined.stack > 0) event->correlation = joined.stack;
    return true;
  }
  int64_t GpuOf(int64_t agent) { return gpus_.try_emplace(agent, std::ssize(gpus_)).first->second; }

  void ReadKernels() {
    const std::string table = Named(kDispatches);
    const tables::RocpdDispatch from(table);
    std::map<ImportLaunch, int> launches;
    ReadRows(
        database_, from,
        {from.process, from.thread, from.start, from.end, from.event, from.agent, from.kernel, from.queue,
         from.shared, from.block_x, from.block_y, from.block_z, from.grid_x, from.grid_y, from.grid_z},
        [&](const auto& row) {
          ImportEvent event;
          event.kind = Kind::kKernel;
          if (!Set(from, row, &event)) return;
          event.device = GpuOf(row[from.agent].value_or(-1));
          event.stream = row[from.queue].value_or(0) & 0x7fffffff;
          const auto names = kernels_.find(row[from.kernel].value_or(-1));
          std::tie(event.name, event.brief) =
              names != kernels_.end() ? names->second : std::pair(names_.Intern("no name"), -1);
          const auto side = [](std::optional<int64_t> value) {
            return static_cast<int32_t>(std::clamp<int64_t>(value.value_or(1), 1, INT32_MAX));
          };
          ImportLaunch launch;
          launch.block = {side(row[from.block_x]), side(row[from.block_y]), side(row[from.block_z])};
          launch.grid = {side(row[from.grid_x]), side(row[from.grid_y]), side(row[from.grid_z])};
          for (size_t i = 0; i < launch.grid.size(); ++i)
            launch.grid[i] = (launch.grid[i] - 1) / launch.block[i] + 1;
          launch.shared_bytes =
              static_cast<int32_t>(std::clamp<int64_t>(row[from.shared].value_or(0), 0, INT32_MAX));
          const auto [known, is_new] = launches.try_emplace(launch, static_cast<int>(trace_.launches.size()));
          if (is_new) trace_.launches.push_back(launch);
          event.launch = known->second;
          trace_.events.push_back(event);
        });
  }

  // On a GPU: the one that it goes to, or comes from.
  void ReadCopies() {
    const std::string table = Named("rocpd_memory_copy");
    const tables::RocpdCopy from(table);
    const int name = names_.Intern("copy");
    ReadRows(database_, from,
             {from.process, from.thread, from.start, from.end, from.event, from.to, from.from, from.bytes,
              from.stream},
             [&](const auto& row) {
               ImportEvent event;
               event.kind = Kind::kCopy;
               if (!Set(from, row, &event)) return;
               const int64_t source = row[from.from].value_or(-1), target = row[from.to].value_or(-1);
               const RocmEnds ends{hosts_.contains(source), hosts_.contains(target), source == target};
               event.ends = EndsOfRocm(ends);
               if (!ends.from_host || !ends.to_host) event.device = GpuOf(ends.to_host ? source : target);
               if (IsBetweenGpus(ends)) {
                 event.src_device = GpuOf(source);
                 event.dst_device = GpuOf(target);
               }
               event.stream = row[from.stream].value_or(0) & 0x7fffffff;
               event.bytes = row[from.bytes];
               event.name = name;
               trace_.events.push_back(event);
             });
  }

  void ReadRegions() {
    const std::string table = Named(kRegions);
    const tables::RocpdRegion from(table);
    ReadRows(database_, from, {from.process, from.thread, from.start, from.end, from.event, from.name},
             [&](const auto& row) {
               ImportEvent event;
               if (!Set(from, row, &event)) return;
               const Joined& joined = JoinedOf(row[from.event]);
               event.kind = IsMarker(joined) ? Kind::kRange : Kind::kApiCall;
               event.name =
                   joined.message >= 0 ? joined.message : names_.Intern(TextOf(row[from.name].value_or(-1)));
               trace_.events.push_back(event);
             });
  }

  Database& database_;
  const std::string ending_;
  const std::atomic<bool>* cancelled_;
  ImportTrace& trace_;
  ImportNames& names_;
  std::map<int64_t, std::string> texts_;
  std::map<int64_t, int64_t> pids_, tids_, gpus_;  // by row
  std::set<int64_t> hosts_;                        // rows of agents
  std::map<int64_t, std::pair<int, int>> kernels_;
  std::map<int64_t, Joined> joined_;  // by event
};

}  // namespace

bool IsRocpd(const ForeignFile& file) {
  if (!file.is_regular) return false;
  try {
    Database database(file.path, OpenMode::kReadOnly);
    return !RecordingsIn(database).empty();
  } catch (const Error&) {
    return false;
  }
}

ImportTrace ReadRocpd(const ImportSource& source) {
  Database database(source.path, OpenMode::kReadOnly);
  const Snapshot snapshot(database);
  ImportTrace trace;
  trace.format = "rocpd";
  ImportNames names(&trace);
  for (const std::string& ending : RecordingsIn(database))
    Recording(database, ending, source.cancelled, &trace, &names).Read();
  if (trace.events.empty() && trace.skipped == 0)
    Throw(Code::kInvalidArgument, "{} holds no kernels, copies or calls", database.name());
  return trace;
}

}  // namespace lanescope::traces
