// SPDX-License-Identifier: Apache-2.0
#include "traces/record/activity_writer.h"

#include <algorithm>

#include "traces/record/activity_cells.h"
#include "traces/store/kernel_name.h"

namespace lanescope::traces {
namespace {

// Correlation ids of a process have 32 bits.
constexpr int64_t kCorrelationsPerProcess = int64_t{1} << 32;
// Times more than an hour before or a year after time zero of the run are none.
constexpr int64_t kEarliestNs = -3600ll * 1000000000;
constexpr int64_t kLatestNs = 366ll * 86400 * 1000000000;
constexpr int64_t kOverheadClass = 103;
constexpr uint8_t kNotAsked = 0xff;

void InsertProcess(Database& database, int run, uint32_t pid, std::string_view name) {
  using tables::kProcess, tables::kProcesses;
  InsertRow(database, kProcess, {{kProcess.run, run}, {kProcess.global_pid, GlobalPid(run, pid)}});
  InsertRow(database, kProcesses,
            {{kProcesses.global_pid, GlobalPid(run, pid)}, {kProcesses.pid, pid}, {kProcesses.name, name}});
}

bool IsKnownProcess(Database& database, int64_t global_pid) {
  using tables::kProcess;
  return database.QueryInteger(fmt::format("SELECT COUNT(*) FROM {} WHERE {} = {}", kProcess.sql_name(),
                                           kProcess[kProcess.global_pid].name, global_pid)) > 0;
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
  process.correlation_base = ReserveCorrelationIds(database_, kCorrelationsPerProcess) - 1;
  if (!IsKnownProcess(database_, process.global_pid)) {
    InsertProcess(database_, target_.run, batch.pid, batch.texts[batch.program]);
  }
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
              process.green_contexts.contains(row.context) ? Cell(row.context) : Cell()};
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
  constexpr const auto& to = tables::kActivity;
  tables_.activities.Add({{to.global_pid, process.global_pid},
                          {to.correlation, Correlation(process, correlation)},
                          {to.graph_node, NonZero(graph_node)},
                          {to.command, TagCommand(tag)},
                          {to.schedule, TagSchedule(tag)},
                          {to.step, TagStep(tag)}});
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
  constexpr const auto& to = tables::kKernel;
  for (const KernelRow& row : batch.kernels) {
    if (!CheckTimes(row.start, row.end)) continue;
    const KernelNames& names = NamesOf(batch, row.name);
    const Place place = PlaceOf(process, row, row.graph_node);
    tables_.kernels.Add(
        {{to.start, Time(row.start)},
         {to.end, Time(row.end)},
         {to.device, place.device},
         {to.context, place.context},
         {to.green_context, place.green},
         {to.stream, place.stream},
         {to.correlation, Correlation(process, row.correlation)},
         {to.global_pid, process.global_pid},
         {to.full_name, names.demangled},
         {to.short_name, names.short_name},
         {to.mangled_name, names.mangled},
         {to.launch_type, row.launch_type},
         {to.cache_config, row.cache_config},
         {to.registers, row.registers},
         {to.grid_x, row.grid[0]},
         {to.grid_y, row.grid[1]},
         {to.grid_z, row.grid[2]},
         {to.block_x, row.block[0]},
         {to.block_y, row.block[1]},
         {to.block_z, row.block[2]},
         {to.static_shared, row.static_shared},
         {to.dynamic_shared, row.dynamic_shared},
         {to.local_per_thread, row.local_per_thread},
         {to.local_total, row.local_memory_total},
         {to.grid, row.grid_id},
         {to.shared_executed, row.shared_executed},
         {to.graph_node, NonZero(row.graph_node)},
         {to.shared_limit, row.shared_limit},
         {to.graph, NonZero(row.graph)},
         {to.cluster_x, row.cluster[0]},
         {to.cluster_y, row.cluster[1]},
         {to.cluster_z, row.cluster[2]},
         {to.cluster_policy, row.cluster_policy},
         {to.max_cluster_size, row.max_cluster_size},
         {to.max_active_clusters, row.max_active_clusters},
         {to.shared_percent, row.shared_percent == kNotAsked ? Cell() : Cell(row.shared_percent)}});
    process.audit.AddKernel(row.correlation, row.start);
    process.last_kernel_ns = std::max(process.last_kernel_ns, row.start);
    Attribute(process, row);
  }
}

void ActivityWriter::WriteCopies(Process& process, const ActivityBatch& batch) {
  const auto device = [&](uint32_t id) { return id == kNoId ? Cell() : Cell(DeviceOf(process, id)); };
  for (const MemcpyRow& row : batch.copies) {
    if (!CheckTimes(row.start, row.end)) continue;
    constexpr const auto& to = tables::kMemcpy;
    const Place place = PlaceOf(process, row, row.graph_node);
    tables_.copies.Add({{to.start, Time(row.start)},
                        {to.end, Time(row.end)},
                        {to.device, place.device},
                        {to.context, place.context},
                        {to.green_context, place.green},
                        {to.stream, place.stream},
                        {to.correlation, Correlation(process, row.correlation)},
                        {to.global_pid, process.global_pid},
                        {to.bytes, row.bytes},
                        {to.copy_kind, row.copy_kind},
                        {to.src_kind, row.src_kind},
                        {to.dst_kind, row.dst_kind},
                        {to.src_device, device(row.src_device)},
                        {to.src_context, Known(row.src_context)},
                        {to.dst_device, device(row.dst_device)},
                        {to.dst_context, Known(row.dst_context)},
                        {to.graph_node, NonZero(row.graph_node)},
                        {to.copies, row.copies}});
    Attribute(process, row);
  }
  for (const MemsetRow& row : batch.memsets) {
    if (!CheckTimes(row.start, row.end)) continue;
    constexpr const auto& to = tables::kMemset;
    const Place place = PlaceOf(process, row, row.graph_node);
    tables_.memsets.Add({{to.start, Time(row.start)},
                         {to.end, Time(row.end)},
                         {to.device, place.device},
                         {to.context, place.context},
                         {to.green_context, place.green},
                         {to.stream, place.stream},
                         {to.correlation, Correlation(process, row.correlation)},
                         {to.global_pid, process.global_pid},
                         {to.value, row.value},
                         {to.bytes, row.bytes},
                         {to.graph_node, NonZero(row.graph_node)},
                         {to.memory_kind, row.memory_kind}});
    Attribute(process, row);
  }
}

int64_t ActivityWriter::ThreadOf(const Process& process, uint32_t thread) {
  return process.global_pid | (thread & 0xffffff);
}

void ActivityWriter::AddCall(Process& process, const ApiRow& row, int64_t name) {
  constexpr const auto& to = tables::kApiCall;
  tables_.calls.Add({{to.start, Time(row.start)},
                     {to.end, Time(row.end)},
                     {to.event_class, static_cast<int64_t>(row.kind)},
                     {to.global_tid, ThreadOf(process, row.thread)},
                     {to.correlation, Correlation(process, row.correlation)},
                     {to.name, name},
                     {to.result, row.result}});
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
    if (row.launches == 0) process.audit.NoteCapture(batch.texts[row.name], row.start, row.end);
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
    constexpr const auto& to = tables::kSynchronization;
    tables_.syncs.Add({{to.start, Time(row.start)},
                       {to.end, Time(row.end)},
                       {to.device, device},
                       {to.context, row.context},
                       {to.stream, row.stream == kNoId ? -1 : int64_t{row.stream}},
                       {to.correlation, Correlation(process, row.correlation)},
                       {to.global_pid, process.global_pid},
                       {to.type, row.type},
                       {to.event, row.event == kNoId ? 0 : row.event},
                       {to.event_sync, NonZero(row.event_sync)}});
  }
  for (const CudaEventRow& row : batch.events) {
    constexpr const auto& to = tables::kCudaEvent;
    tables_.events.Add({{to.time, row.time <= 0 ? Cell() : Cell(Time(row.time))},
                        {to.device, DeviceOf(process, row.device)},
                        {to.context, row.context},
                        {to.stream, row.stream},
                        {to.correlation, Correlation(process, row.correlation)},
                        {to.global_pid, process.global_pid},
                        {to.event, row.event},
                        {to.event_sync, NonZero(row.event_sync)}});
  }
  for (const OverheadRow& row : batch.overheads) {
    if (!CheckTimes(row.start, row.end)) continue;
    constexpr const auto& to = tables::kOverhead;
    tables_.overheads.Add({{to.start, Time(row.start)},
                           {to.end, Time(row.end)},
                           {to.event_class, kOverheadClass},
                           {to.global_tid, ThreadOf(process, row.thread)},
                           {to.correlation, Correlation(process, row.correlation)},
                           {to.type, row.type}});
  }
  for (const GraphTraceRow& row : batch.graphs) {
    if (!CheckTimes(row.start, row.end)) continue;
    constexpr const auto& to = tables::kGraphTrace;
    tables_.graphs.Add({{to.start, Time(row.start)},
                        {to.end, Time(row.end)},
                        {to.device, DeviceOf(process, row.device)},
                        {to.context, row.context},
                        {to.stream, row.stream},
                        {to.correlation, Correlation(process, row.correlation)},
                        {to.global_pid, process.global_pid},
                        {to.graph, row.graph}});
  }
}

void ActivityWriter::WriteRanges(Process& process, const ActivityBatch& batch) {
  constexpr const auto& to = tables::kNvtxEvent;
  for (const NvtxRow& row : batch.ranges) {
    if (!CheckTimes(row.start, row.end == 0 ? row.start : row.end)) continue;
    const bool same_thread = row.end_thread == 0 || row.end_thread == row.thread;
    tables_.ranges.Add({{to.start, Time(row.start)},
                        {to.end, row.end == 0 ? Cell() : Cell(Time(row.end))},
                        {to.type, row.type},
                        {to.range, NonZero(row.range)},
                        {to.category, NonZero(row.category)},
                        {to.color, row.has_color != 0 ? Cell(row.color) : Cell()},
                        {to.text, batch.texts[row.text]},
                        {to.global_tid, ThreadOf(process, row.thread)},
                        {to.end_global_tid, same_thread ? Cell() : Cell(ThreadOf(process, row.end_thread))},
                        {to.domain, row.domain}});
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
    constexpr const auto& to = tables::kClock;
    tables_.clocks.Add({{to.run, target_.run},
                        {to.global_pid, process.global_pid},
                        {to.clock, "gpu"},
                        {to.time, Time(process.last_kernel_ns)},
                        {to.offset, process.audit.worst_ns()},
                        {to.uncertainty, Cell()},
                        {to.samples, process.audit.pairs()},
                        {to.violations, process.audit.violations()},
                        {to.corrected, 0}});
  }
  tables_.Flush();
  if (without_command > 0) {
    AddNote(fmt::format("{} activities of GPUs belong to no known command", without_command));
  }
  for (size_t i = 0; i < kNumLosses; ++i) {
    InsertDropped(database_, target_.run, LossName(static_cast<Loss>(i)), losses_[i]);
  }
}

}  // namespace lanescope::traces
