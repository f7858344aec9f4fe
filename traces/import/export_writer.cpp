#include "traces/import/export_writer.h"

#include <algorithm>

#include "traces/store/schema.h"

namespace lanescope::traces {
namespace {

constexpr int kNvtxPushPopRange = 59;
constexpr int64_t kFirstHost = 4096;  // devices that are no GPU are numbered from here on

int64_t GlobalPidOfFile(int file, int64_t pid) { return (int64_t{file} << 48) | ((pid & 0xffffff) << 24); }

// Tables that exports do not have of their own are there where an import needs them.
void NeedTable(Database& database, const Table& table) {
  if (!database.HasTable(table.sql_name())) database.Execute(CreateTableSql(table));
}

}  // namespace

ExportWriter::ExportWriter(Database& database)
    : database_(database),
      strings_(database),
      kernels_(database, tables::kKernel),
      copies_(database, tables::kMemcpy),
      memsets_(database, tables::kMemset),
      calls_(database, tables::kApiCall),
      ranges_(database, tables::kNvtxEvent),
      synchronizations_(database, tables::kSynchronization),
      events_(database, tables::kCudaEvent),
      threads_(database, tables::kThreadNames) {}

void ExportWriter::Add(const ImportTrace& trace, int number, const std::string& whose, int64_t time_zero,
                       const std::atomic<bool>* cancelled, ImportCounts* counts) {
  gpus_of_file_.clear();
  hosts_of_file_.clear();
  // What runs on a device does not name its process: the call that launched it does.
  // Most files are of one process: of calls of others alone it is noted.
  std::map<int64_t, int64_t> process_of;
  int64_t some_pid = 0;
  trace.events.ForEach([&](const ImportEvent& event) {
    if (event.kind != ImportEvent::Kind::kApiCall) return;
    if (some_pid == 0) some_pid = event.pid;
    if (event.pid != some_pid) process_of.emplace(event.correlation, event.pid);
  });
  File file{trace, number, time_zero, {}};
  for (const std::string& name : trace.names) file.names.push_back(strings_.Intern(name));
  trace.events.ForEach([&](const ImportEvent& event) {
    CheckImportGoesOn(cancelled);
    const auto launched = process_of.find(event.correlation);
    AddEvent(file, event, launched == process_of.end() ? some_pid : launched->second, counts);
  });
  AddMemory(file, counts);
  AddCollectives(file, process_of, some_pid, counts);
  AddDevices(file, whose);
  AddNames(file);
  counts->skipped += trace.skipped;
  for (const auto& [category, count] : trace.left_out) counts->left_out[category] += count;
}

void ExportWriter::Flush() {
  for (PendingRows* rows : std::initializer_list<PendingRows*>{
           &kernels_, &copies_, &memsets_, &calls_, &ranges_, &threads_, &synchronizations_, &events_}) {
    rows->Flush();
  }
  if (device_ranges_) device_ranges_->Flush();
  if (operators_) operators_->Flush();
}

// The number of a file's device among the GPUs of all files.
int64_t ExportWriter::GpuOf(int64_t ordinal) {
  const auto [entry, is_new] = gpus_of_file_.try_emplace(ordinal, ordinal);
  if (is_new && !known_devices_.insert(ordinal).second) {
    while (!known_devices_.insert(next_gpu_).second) ++next_gpu_;
    entry->second = next_gpu_;
  }
  return entry->second;
}

int64_t ExportWriter::DeviceOf(const ImportEvent& event) {
  if (!event.on_host) return GpuOf(event.device);
  const auto [entry, is_new] = hosts_of_file_.try_emplace(event.device, kFirstHost);
  while (is_new && !known_devices_.insert(entry->second).second) ++entry->second;
  return entry->second;
}

void ExportWriter::AddEvent(const File& file, const ImportEvent& event, int64_t launched_by,
                            ImportCounts* counts) {
  const int64_t start = event.start_ns - file.time_zero, end = event.end_ns - file.time_zero;
  const int64_t process = GlobalPidOfFile(file.number, launched_by);
  const int64_t thread = GlobalPidOfFile(file.number, event.pid) | (event.tid & 0xffffff);
  const int64_t name = file.names[static_cast<size_t>(event.name)];
  switch (event.kind) {
    case ImportEvent::Kind::kKernel:
      ++counts->kernels;
      return AddKernel(file, event, process);
    case ImportEvent::Kind::kCopy:
      ++counts->copies;
      return AddCopy(file, event, process);
    case ImportEvent::Kind::kMemset: {
      ++counts->memsets;
      constexpr const auto& to = tables::kMemset;
      return memsets_.Add({{to.start, start},
                           {to.end, end},
                           {to.device, GpuOf(event.device)},
                           {to.context, event.context},
                           {to.stream, event.stream},
                           {to.correlation, event.correlation},
                           {to.global_pid, process},
                           {to.bytes, event.bytes}});
    }
    case ImportEvent::Kind::kApiCall: {
      ++counts->api_calls;
      constexpr const auto& to = tables::kApiCall;
      return calls_.Add({{to.start, start},
                         {to.end, end},
                         {to.event_class, 0},
                         {to.global_tid, thread},
                         {to.correlation, event.correlation},
                         {to.name, name}});
    }
    case ImportEvent::Kind::kRange: {
      ++counts->ranges;
      if (event.details >= 0) {
        ++counts->operators;
        AddOperator(file, file.trace.operators[static_cast<size_t>(event.details)], counts->ranges);
      }
      constexpr const auto& to = tables::kNvtxEvent;
      return ranges_.Add({{to.start, start},
                          {to.end, end},
                          {to.type, kNvtxPushPopRange},
                          {to.global_tid, thread},
                          {to.text_id, name},
                          {to.event, counts->ranges}});
    }
    case ImportEvent::Kind::kDeviceRange:
      ++counts->device_ranges;
      return AddDeviceRange(file, event);
    case ImportEvent::Kind::kSynchronization:
      return AddSynchronization(file, event, process, ++counts->synchronizations);
  }
}

void ExportWriter::AddKernel(const File& file, const ImportEvent& event, int64_t process) {
  constexpr const auto& to = tables::kKernel;
  const int64_t name = file.names[static_cast<size_t>(event.name)];
  const ImportLaunch launch =
      event.launch < 0 ? ImportLaunch() : file.trace.launches[static_cast<size_t>(event.launch)];
  kernels_.Add({{to.start, event.start_ns - file.time_zero},
                {to.end, event.end_ns - file.time_zero},
                {to.device, DeviceOf(event)},
                {to.context, event.context},
                {to.stream, event.stream},
                {to.correlation, event.correlation},
                {to.global_pid, process},
                {to.full_name, name},
                {to.short_name, event.brief < 0 ? name : file.names[static_cast<size_t>(event.brief)]},
                {to.registers, launch.registers},
                {to.grid_x, launch.grid[0]},
                {to.grid_y, launch.grid[1]},
                {to.grid_z, launch.grid[2]},
                {to.block_x, launch.block[0]},
                {to.block_y, launch.block[1]},
                {to.block_z, launch.block[2]},
                {to.dynamic_shared, launch.shared_bytes}});
}

void ExportWriter::AddCopy(const File& file, const ImportEvent& event, int64_t process) {
  constexpr const auto& to = tables::kMemcpy;
  const auto end_device = [this](int64_t ordinal) { return ordinal < 0 ? Cell() : Cell(GpuOf(ordinal)); };
  copies_.Add({{to.start, event.start_ns - file.time_zero},
               {to.end, event.end_ns - file.time_zero},
               {to.device, GpuOf(event.device)},
               {to.context, event.context},
               {to.stream, event.stream},
               {to.correlation, event.correlation},
               {to.global_pid, process},
               {to.bytes, event.bytes},
               {to.copy_kind, event.ends.kind},
               {to.src_kind, event.ends.src_memory},
               {to.dst_kind, event.ends.dst_memory},
               {to.src_device, end_device(event.src_device)},
               {to.dst_device, end_device(event.dst_device)}});
}

// With the record of its event, where that is known; a number of ours joins them.
void ExportWriter::AddSynchronization(const File& file, const ImportEvent& event, int64_t process,
                                      int64_t number) {
  constexpr const auto& to = tables::kSynchronization;
  synchronizations_.Add({{to.start, event.start_ns - file.time_zero},
                         {to.end, event.end_ns - file.time_zero},
                         {to.device, GpuOf(event.device)},
                         {to.context, event.context},
                         {to.stream, event.stream},
                         {to.correlation, event.correlation},
                         {to.global_pid, process},
                         {to.type, event.sync_type},
                         {to.event, event.event},
                         {to.event_sync, number}});
  if (event.recorded_by < 0 || event.recorded_on < 0) return;
  constexpr const auto& record = tables::kCudaEvent;
  events_.Add({{record.device, GpuOf(event.device)},
               {record.context, event.context},
               {record.stream, event.recorded_on},
               {record.correlation, event.recorded_by},
               {record.global_pid, process},
               {record.event, event.event},
               {record.event_sync, number}});
}

void ExportWriter::AddDeviceRange(const File& file, const ImportEvent& event) {
  constexpr const auto& to = tables::kDeviceRange;
  if (!device_ranges_) {
    NeedTable(database_, to);
    device_ranges_.emplace(database_, to);
  }
  device_ranges_->Add({{to.start, event.start_ns - file.time_zero},
                       {to.end, event.end_ns - file.time_zero},
                       {to.device, GpuOf(event.device)},
                       {to.stream, event.stream},
                       {to.name, file.names[static_cast<size_t>(event.name)]}});
}

void ExportWriter::AddOperator(const File& file, const ImportOperator& details, int64_t range) {
  constexpr const auto& to = tables::kOperator;
  if (!operators_) {
    NeedTable(database_, to);
    operators_.emplace(database_, to);
  }
  const auto text = [&](int name) { return name < 0 ? Cell() : Cell(file.names[static_cast<size_t>(name)]); };
  operators_->Add({{to.event, range},
                   {to.shapes, text(details.shapes)},
                   {to.types, text(details.types)},
                   {to.stack, text(details.stack)}});
}

void ExportWriter::AddMemory(const File& file, ImportCounts* counts) {
  if (file.trace.memory.empty()) return;
  constexpr const auto& to = tables::kMemory;
  NeedTable(database_, to);
  RowInserter<tables::Memory> rows(database_, to);
  file.trace.memory.ForEach([&](const ImportMemory& memory) {
    rows.Add({{to.run, 1},
              {to.device, GpuOf(memory.device)},
              {to.time, memory.time_ns - file.time_zero},
              {to.bytes, memory.bytes}});
    ++counts->memory;
  });
  rows.Flush();
}

void ExportWriter::AddCollectives(const File& file, const std::map<int64_t, int64_t>& process_of,
                                  int64_t otherwise, ImportCounts* counts) {
  if (file.trace.collectives.empty()) return;
  constexpr const auto& to = tables::kCollective;
  NeedTable(database_, to);
  RowInserter<tables::CollectiveTable> rows(database_, to);
  const auto text = [&](int name) -> std::string_view {
    return name < 0 ? std::string_view() : std::string_view(file.trace.names[static_cast<size_t>(name)]);
  };
  for (const ImportCollective& collective : file.trace.collectives) {
    const auto launched = process_of.find(collective.correlation);
    const int64_t pid = launched == process_of.end() ? otherwise : launched->second;
    rows.Add({{to.global_pid, GlobalPidOfFile(file.number, pid)},
              {to.correlation, collective.correlation},
              {to.kind, text(collective.kind)},
              {to.bytes, collective.bytes},
              {to.ranks, collective.ranks},
              {to.group, text(collective.group)}});
    ++counts->collectives;
  }
  rows.Flush();
}

void ExportWriter::AddDevices(const File& file, const std::string& whose) {
  for (const auto& [ordinal, gpu] : gpus_of_file_) {
    const auto described = std::ranges::find(file.trace.devices, ordinal, &ImportDevice::id);
    const ImportDevice device = described == file.trace.devices.end() ? ImportDevice() : *described;
    const bool both = !device.name.empty() && !whose.empty();
    const std::string name = device.name + (both ? ", " : "") + whose;
    constexpr const auto& to = tables::kGpu;
    InsertRow(database_, to,
              {{to.vm, int64_t{file.number} << 48},
               {to.id, gpu},
               {to.name, name},
               {to.memory_bytes, device.memory},
               {to.processors, device.multiprocessors}});
  }
  if (hosts_of_file_.empty()) return;
  constexpr const auto& to = tables::kDevice;
  NeedTable(database_, to);
  for (const auto& [host, id] : hosts_of_file_) {
    InsertRow(database_, to,
              {{to.run, 1},
               {to.id, id},
               {to.name, file.trace.hosts[static_cast<size_t>(host)]},
               {to.kind, "host"}});
  }
}

void ExportWriter::AddNames(const File& file) {
  constexpr const auto& to = tables::kThreadNames;
  for (const ImportThread& thread : file.trace.threads) {
    threads_.Add({{to.name, file.names[static_cast<size_t>(thread.name)]},
                  {to.global_tid, GlobalPidOfFile(file.number, thread.pid) | (thread.tid & 0xffffff)}});
  }
  if (!file.trace.streams.empty()) NeedTable(database_, tables::kStreamName);
  for (const ImportStream& stream : file.trace.streams) {
    using tables::kStreamName;
    InsertRow(database_, kStreamName,
              {{kStreamName.device, GpuOf(stream.device)},
               {kStreamName.stream, stream.stream},
               {kStreamName.name, file.names[static_cast<size_t>(stream.name)]}});
  }
  using tables::kProcesses;
  for (const ImportProcess& process : file.trace.processes) {
    InsertRow(database_, kProcesses,
              {{kProcesses.global_pid, GlobalPidOfFile(file.number, process.pid)},
               {kProcesses.pid, process.pid},
               {kProcesses.name, file.trace.names[static_cast<size_t>(process.name)]}});
  }
}

}  // namespace lanescope::traces
