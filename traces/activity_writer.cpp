#include "traces/activity_writer.h"

#include <algorithm>

#include "traces/activity_cells.h"
#include "traces/kernel_name.h"

namespace lanescope {
namespace {

// Correlation ids of a process have 32 bits.
constexpr int64_t kCorrelationsPerProcess = int64_t{1} << 32;
// Times more than an hour before or a year after time zero of the run are none.
constexpr int64_t kEarliestNs = -3600ll * 1000000000;
constexpr int64_t kLatestNs = 366ll * 86400 * 1000000000;
constexpr int64_t kOverheadClass = 103;
constexpr uint8_t kNotAsked = 0xff;

int64_t ReserveCorrelations(Database& database) {
  const int64_t next = database.QueryInteger("SELECT nextCorrelationId FROM LANESCOPE_SCHEMA");
  database.Execute(
      fmt::format("UPDATE LANESCOPE_SCHEMA SET nextCorrelationId = {}", next + kCorrelationsPerProcess));
  return next - 1;
}

void InsertProcess(Database& database, int run, uint32_t pid, std::string_view name) {
  RowInserter processes(database, "LANESCOPE_PROCESS", {"runId", "globalPid"});
  processes.Add({run, GlobalPid(run, pid)});
  processes.Flush();
  RowInserter names(database, "PROCESSES", {"globalPid", "pid", "name"});
  names.Add({GlobalPid(run, pid), int64_t{pid}, name});
  names.Flush();
}

}  // namespace

ActivityWriter::ActivityWriter(Database& database, StringTable& strings, ActivityTables& tables,
                               CaptureTarget target)
    : database_(database), strings_(strings), tables_(tables), target_(std::move(target)) {}

void ActivityWriter::Write(const ActivityBatch& batch) {
  Process& process = ProcessOf(batch);
  for (size_t i = 0; i < kNumLosses; ++i) losses_[i] += std::max<int64_t>(batch.losses[i], 0);
  WriteFacts(process, batch);
  WriteKernels(process, batch);
  WriteCopies(process, batch);
  WriteCalls(process, batch);
  WriteOthers(process, batch);
  WriteRanges(process, batch);
  for (const auto& [activity, tag] : process.tags.TakeReady()) {
    AddActivity(process, activity.correlation, activity.graph_node, tag);
  }
}

ActivityWriter::Process& ActivityWriter::ProcessOf(const ActivityBatch& batch) {
  const auto found = processes_.find(batch.pid);
  if (found != processes_.end()) return found->second;
  Process& process = processes_[batch.pid];
  process.global_pid = GlobalPid(target_.run, batch.pid);
  process.correlation_base = ReserveCorrelations(database_);
  const bool known =
      database_.QueryInteger(
          fmt::format("SELECT COUNT(*) FROM LANESCOPE_PROCESS WHERE globalPid = {}", process.global_pid)) > 0;
  if (!known) InsertProcess(database_, target_.run, batch.pid, batch.texts[batch.program]);
  return process;
}

int ActivityWriter::DeviceOf(Process& process, uint32_t device) {
  if (device < target_.device_ids.size()) return target_.device_ids[device];
  const auto found = process.devices.find(device);
  return found == process.devices.end() ? static_cast<int>(device & 0xffff) : found->second;
}

// A command's activities stand where the command stands, so that they share its lane with host events.
template <typename Row>
ActivityWriter::Place ActivityWriter::PlaceOf(Process& process, const Row& row, uint64_t graph_node) {
  Place place{DeviceOf(process, row.device), row.context, int64_t{row.stream},
              process.green_contexts.contains(row.context) ? Cell(int64_t{row.context}) : Cell()};
  if (!target_.find_command) return place;
  const std::optional<uint64_t> tag = process.tags.Find(row.correlation, graph_node);
  const CommandInfo* command = tag ? target_.find_command(TagSchedule(*tag), TagCommand(*tag)) : nullptr;
  if (command == nullptr) return place;
  place.device = command->device;
  place.context = command->device + 1;
  place.stream = command->stream;
  return place;
}

bool ActivityWriter::CheckTimes(int64_t start, int64_t end) {
  const bool zero = start <= 0 || end <= 0;
  const int64_t origin = target_.origin_ns;
  if (!zero && end >= start && start >= origin + kEarliestNs && end <= origin + kLatestNs) {
    last_ns_ = std::max(last_ns_, end - origin);
    return true;
  }
  ++losses_[static_cast<size_t>(zero ? Loss::kZeroTimes : Loss::kReversedTimes)];
  return false;
}

int64_t ActivityWriter::Time(int64_t ns) { return ns - target_.origin_ns; }

const ActivityWriter::KernelNames& ActivityWriter::NamesOf(const ActivityBatch& batch, TextId name) {
  const std::string& mangled = batch.texts[name];
  const auto found = names_.find(mangled);
  if (found != names_.end()) return found->second;
  KernelNames names;
  const std::string demangled = DemangledKernelName(mangled);
  names.mangled = strings_.Intern(mangled);
  names.demangled = strings_.Intern(demangled);
  names.short_name = strings_.Intern(ShortKernelName(demangled));
  return names_.emplace(mangled, names).first->second;
}

Cell ActivityWriter::Correlation(const Process& process, uint32_t correlation) const {
  return correlation == 0 ? Cell() : Cell(process.correlation_base + correlation);
}

void ActivityWriter::AddActivity(const Process& process, uint32_t correlation, uint64_t graph_node,
                                 uint64_t tag) {
  if (TagCommand(tag) == kWholeGraph) return;
  tables_.activities.Add({process.global_pid, Correlation(process, correlation), NonZero(graph_node),
                          int64_t{TagCommand(tag)}, int64_t{TagSchedule(tag)}, int64_t{TagStep(tag)}});
}

template <typename Row>
void ActivityWriter::Attribute(Process& process, const Row& row) {
  if (!target_.find_command || row.correlation == 0) return;
  if (const std::optional<uint64_t> tag = process.tags.Find(row.correlation, row.graph_node)) {
    AddActivity(process, row.correlation, row.graph_node, *tag);
    if (target_.on_command) target_.on_command(*tag, Time(row.start), Time(row.end));
  } else {
    process.tags.Wait({row.correlation, row.graph_node});
  }
}

void ActivityWriter::WriteKernels(Process& process, const ActivityBatch& batch) {
  for (const KernelRow& row : batch.kernels) {
    if (!CheckTimes(row.start, row.end)) continue;
    const KernelNames& names = NamesOf(batch, row.name);
    const Place place = PlaceOf(process, row, row.graph_node);
    tables_.kernels.Add({Time(row.start),
                         Time(row.end),
                         place.device,
                         place.context,
                         place.green,
                         place.stream,
                         Correlation(process, row.correlation),
                         process.global_pid,
                         names.demangled,
                         names.short_name,
                         names.mangled,
                         int64_t{row.launch_type},
                         int64_t{row.cache_config},
                         int64_t{row.registers},
                         int64_t{row.grid[0]},
                         int64_t{row.grid[1]},
                         int64_t{row.grid[2]},
                         int64_t{row.block[0]},
                         int64_t{row.block[1]},
                         int64_t{row.block[2]},
                         int64_t{row.static_shared},
                         int64_t{row.dynamic_shared},
                         int64_t{row.local_per_thread},
                         Signed(row.local_memory_total),
                         row.grid_id,
                         int64_t{row.shared_executed},
                         NonZero(row.graph_node),
                         int64_t{row.shared_limit},
                         NonZero(row.graph),
                         int64_t{row.cluster[0]},
                         int64_t{row.cluster[1]},
                         int64_t{row.cluster[2]},
                         int64_t{row.cluster_policy},
                         int64_t{row.max_cluster_size},
                         int64_t{row.max_active_clusters},
                         row.shared_percent == kNotAsked ? Cell() : Cell(int64_t{row.shared_percent})});
    process.audit.AddKernel(row.correlation, row.start);
    process.last_kernel_ns = std::max(process.last_kernel_ns, row.start);
    Attribute(process, row);
  }
}

void ActivityWriter::WriteCopies(Process& process, const ActivityBatch& batch) {
  const auto device = [&](uint32_t id) { return id == kNoId ? Cell() : Cell(DeviceOf(process, id)); };
  for (const MemcpyRow& row : batch.copies) {
    if (!CheckTimes(row.start, row.end)) continue;
    const Place place = PlaceOf(process, row, row.graph_node);
    tables_.copies.Add(
        {Time(row.start), Time(row.end), place.device, place.context, place.green, place.stream,
         Correlation(process, row.correlation), process.global_pid, Signed(row.bytes), int64_t{row.copy_kind},
         int64_t{row.src_kind}, int64_t{row.dst_kind}, device(row.src_device), Known(row.src_context),
         device(row.dst_device), Known(row.dst_context), NonZero(row.graph_node), Signed(row.copies)});
    Attribute(process, row);
  }
  for (const MemsetRow& row : batch.memsets) {
    if (!CheckTimes(row.start, row.end)) continue;
    const Place place = PlaceOf(process, row, row.graph_node);
    tables_.memsets.Add({Time(row.start), Time(row.end), place.device, place.context, place.green,
                         place.stream, Correlation(process, row.correlation), process.global_pid,
                         int64_t{row.value}, Signed(row.bytes), NonZero(row.graph_node),
                         int64_t{row.memory_kind}});
    Attribute(process, row);
  }
}

void ActivityWriter::AddCall(Process& process, const ApiRow& row, int64_t name) {
  tables_.calls.Add({Time(row.start), Time(row.end), static_cast<int64_t>(row.kind),
                     process.global_pid | (row.thread & 0xffffff), Correlation(process, row.correlation),
                     name, int64_t{row.result}});
}

// A call of the runtime and the driver call inside it share one correlation id; the inner one comes first,
// and only the outer one is kept. So the last driver call of each thread waits for the thread's next call.
void ActivityWriter::WriteCalls(Process& process, const ActivityBatch& batch) {
  const auto release = [&](uint32_t thread) {
    const auto waiting = process.driver_calls.find(thread);
    if (waiting == process.driver_calls.end()) return;
    AddCall(process, waiting->second, process.driver_names[thread]);
    process.driver_calls.erase(waiting);
  };
  for (const ApiRow& row : batch.calls) {
    if (!CheckTimes(row.start, row.end)) continue;
    if (row.launches != 0 && row.result == 0) process.audit.AddCall(row.correlation, row.start);
    const auto waiting = process.driver_calls.find(row.thread);
    const bool outer = waiting != process.driver_calls.end() && row.kind == ApiKind::kRuntime &&
                       row.correlation != 0 && waiting->second.correlation == row.correlation;
    if (outer) {
      process.driver_calls.erase(waiting);
    } else {
      release(row.thread);
    }
    const int64_t name = strings_.Intern(batch.texts[row.name]);
    if (row.kind == ApiKind::kDriver) {
      process.driver_calls[row.thread] = row;
      process.driver_names[row.thread] = name;
    } else {
      AddCall(process, row, name);
    }
  }
}

void ActivityWriter::WriteOthers(Process& process, const ActivityBatch& batch) {
  for (const SyncRow& row : batch.syncs) {
    if (!CheckTimes(row.start, row.end)) continue;
    const auto context = process.contexts.find(row.context);
    const int device = context == process.contexts.end() ? 0 : context->second;
    tables_.syncs.Add({Time(row.start), Time(row.end), device, int64_t{row.context},
                       row.stream == kNoId ? -1 : int64_t{row.stream}, Correlation(process, row.correlation),
                       process.global_pid, int64_t{row.type}, row.event == kNoId ? 0 : int64_t{row.event},
                       NonZero(row.event_sync)});
  }
  for (const CudaEventRow& row : batch.events) {
    tables_.events.Add({row.time <= 0 ? Cell() : Cell(Time(row.time)), DeviceOf(process, row.device),
                        int64_t{row.context}, int64_t{row.stream}, Correlation(process, row.correlation),
                        process.global_pid, int64_t{row.event}, NonZero(row.event_sync)});
  }
  for (const OverheadRow& row : batch.overheads) {
    if (!CheckTimes(row.start, row.end)) continue;
    tables_.overheads.Add({Time(row.start), Time(row.end), kOverheadClass,
                           process.global_pid | (row.thread & 0xffffff),
                           Correlation(process, row.correlation), int64_t{row.type}});
  }
  for (const GraphTraceRow& row : batch.graphs) {
    if (!CheckTimes(row.start, row.end)) continue;
    tables_.graphs.Add({Time(row.start), Time(row.end), DeviceOf(process, row.device), int64_t{row.context},
                        int64_t{row.stream}, Correlation(process, row.correlation), process.global_pid,
                        int64_t{row.graph}});
  }
}

void ActivityWriter::WriteRanges(Process& process, const ActivityBatch& batch) {
  for (const NvtxRow& row : batch.ranges) {
    if (!CheckTimes(row.start, row.end == 0 ? row.start : row.end)) continue;
    tables_.ranges.Add({Time(row.start), row.end == 0 ? Cell() : Cell(Time(row.end)), int64_t{row.type},
                        NonZero(row.range), NonZero(row.category),
                        row.has_color != 0 ? Cell(int64_t{row.color}) : Cell(),
                        std::string_view(batch.texts[row.text]), process.global_pid | (row.thread & 0xffffff),
                        row.end_thread == 0 || row.end_thread == row.thread
                            ? Cell()
                            : Cell(process.global_pid | (row.end_thread & 0xffffff)),
                        int64_t{row.domain}});
  }
  // The texts are the batch's.
  tables_.ranges.Flush();
}

void ActivityWriter::Finish() {
  int64_t without_command = 0;
  for (auto& [pid, process] : processes_) {
    for (const auto& [thread, call] : process.driver_calls)
      AddCall(process, call, process.driver_names[thread]);
    process.driver_calls.clear();
    without_command += process.tags.CountWithoutTag();
    losses_[static_cast<size_t>(Loss::kLaunchWithoutKernel)] += process.audit.CountUnmatched();
    if (process.audit.pairs() == 0) continue;
    tables_.clocks.Add({target_.run, process.global_pid, "gpu", Time(process.last_kernel_ns),
                        process.audit.worst_ns(), Cell(), Signed(process.audit.pairs()),
                        Signed(process.audit.violations()), 0});
  }
  tables_.Flush();
  if (without_command > 0) {
    const std::string name = fmt::format("LANESCOPE_RUN_{}_NOTE", target_.run);
    const std::string note = fmt::format("{} activities of GPUs belong to no known command", without_command);
    RowInserter notes(database_, "META_DATA_CAPTURE", {"name", "value"});
    notes.Add({std::string_view(name), std::string_view(note)});
    notes.Flush();
  }
  RowInserter dropped(database_, "LANESCOPE_DROPPED", {"runId", "what", "count"});
  for (size_t i = 0; i < kNumLosses; ++i) {
    if (losses_[i] > 0) dropped.Add({target_.run, LossName(static_cast<Loss>(i)), losses_[i]});
  }
  dropped.Flush();
}

}  // namespace lanescope
