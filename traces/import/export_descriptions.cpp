#include "traces/import/export_descriptions.h"

#include <algorithm>

#include "traces/store/import_tables.h"
#include "traces/store/nsys_tables.h"
#include "traces/store/row_inserter.h"

namespace lanescope::traces {
namespace {

void AddMemory(Database& database, const ImportFile& file, ImportDevices* devices, ImportCounts* counts) {
  if (file.trace.memory.empty()) return;
  constexpr const auto& to = tables::kMemory;
  NeedImportedTable(database, to);
  RowInserter<tables::Memory> rows(database, to);
  file.trace.memory.ForEach([&](const ImportMemory& memory) {
    rows.Add({{to.run, 1},
              {to.device, devices->GpuOf(memory.device)},
              {to.time, memory.time_ns - file.time_zero},
              {to.bytes, memory.bytes}});
    ++counts->memory;
  });
  rows.Flush();
}

void AddCollectives(Database& database, const ImportFile& file, ImportCounts* counts) {
  if (file.trace.collectives.empty()) return;
  constexpr const auto& to = tables::kCollective;
  NeedImportedTable(database, to);
  RowInserter<tables::CollectiveTable> rows(database, to);
  const auto text = [&](int name) -> std::string_view {
    return name < 0 ? std::string_view() : std::string_view(file.trace.names[static_cast<size_t>(name)]);
  };
  for (const ImportCollective& collective : file.trace.collectives) {
    rows.Add({{to.global_pid, file.LaunchedBy(collective.correlation)},
              {to.correlation, collective.correlation},
              {to.kind, text(collective.kind)},
              {to.bytes, collective.bytes},
              {to.ranks, collective.ranks},
              {to.group, text(collective.group)}});
    ++counts->collectives;
  }
  rows.Flush();
}

void AddDevices(Database& database, const ImportFile& file, const ImportDevices& devices) {
  for (const auto& [ordinal, gpu] : devices.gpus()) {
    const auto described = std::ranges::find(file.trace.devices, ordinal, &ImportDevice::id);
    const ImportDevice device = described == file.trace.devices.end() ? ImportDevice() : *described;
    constexpr const auto& to = tables::kGpu;
    InsertRow(database, to,
              {{to.vm, file.Vm()},
               {to.id, gpu},
               {to.name, device.name},
               {to.memory_bytes, device.memory},
               {to.processors, device.multiprocessors},
               {to.cuda_device, ordinal}});
  }
  if (devices.hosts().empty()) return;
  constexpr const auto& to = tables::kDevice;
  NeedImportedTable(database, to);
  for (const auto& [host, id] : devices.hosts()) {
    InsertRow(database, to,
              {{to.run, 1},
               {to.id, id},
               {to.name, file.trace.hosts[static_cast<size_t>(host)]},
               {to.kind, "host"}});
  }
}

// Of a file alone, what it says; of several every one.
void AddRank(Database& database, const ImportFile& file, bool alone) {
  if (alone && !file.trace.rank && file.trace.host.empty()) return;
  constexpr const auto& to = tables::kRank;
  NeedImportedTable(database, to);
  InsertRow(database, to,
            {{to.vm, file.Vm()},
             {to.rank, file.trace.rank ? Cell(*file.trace.rank) : Cell()},
             {to.host, file.trace.host.empty() ? Cell() : Cell(file.trace.host)},
             {to.world, file.trace.world > 0 ? Cell(file.trace.world) : Cell()},
             {to.clock_ahead, file.trace.clock_ahead_ns != 0 ? Cell(file.trace.clock_ahead_ns) : Cell()}});
}

void AddNames(Database& database, const ImportFile& file, ImportDevices* devices) {
  using tables::kProcesses, tables::kStreamName, tables::kThreadNames;
  const auto text = [&](int name) { return file.names[static_cast<size_t>(name)]; };
  for (const ImportThread& thread : file.trace.threads) {
    InsertRow(database, kThreadNames,
              {{kThreadNames.name, text(thread.name)},
               {kThreadNames.global_tid, file.GlobalPid(thread.pid) | (thread.tid & 0xffffff)}});
  }
  if (!file.trace.streams.empty()) NeedImportedTable(database, kStreamName);
  for (const ImportStream& stream : file.trace.streams) {
    InsertRow(database, kStreamName,
              {{kStreamName.device, devices->GpuOf(stream.device)},
               {kStreamName.stream, stream.stream},
               {kStreamName.name, text(stream.name)}});
  }
  for (const ImportProcess& process : file.trace.processes) {
    InsertRow(database, kProcesses,
              {{kProcesses.global_pid, file.GlobalPid(process.pid)},
               {kProcesses.pid, process.pid},
               {kProcesses.name, file.trace.names[static_cast<size_t>(process.name)]}});
  }
}

}  // namespace

void DescribeFile(Database& database, const ImportFile& file, ImportDevices* devices, bool alone,
                  ImportCounts* counts) {
  AddMemory(database, file, devices, counts);
  AddCollectives(database, file, counts);
  AddDevices(database, file, *devices);
  AddRank(database, file, alone);
  AddNames(database, file, devices);
  counts->skipped += file.trace.skipped;
  if (file.trace.clock_ahead_ns != 0) ++counts->clocks;
  for (const auto& [category, count] : file.trace.left_out) counts->left_out[category] += count;
}

}  // namespace lanescope::traces
