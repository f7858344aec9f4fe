// SPDX-License-Identifier: Apache-2.0
#include "traces/import/export_descriptions.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <utility>

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
              {to.correlation, file.CorrelationOf(collective.correlation)},
              {to.kind, text(collective.kind)},
              {to.bytes, collective.bytes},
              {to.ranks, collective.ranks},
              {to.group, text(collective.group)},
              {to.src_rank, collective.src_rank < 0 ? Cell() : Cell(collective.src_rank)},
              {to.dst_rank, collective.dst_rank < 0 ? Cell() : Cell(collective.dst_rank)}});
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
              {{to.vm, file.numbers.Vm()},
               {to.id, gpu},
               {to.name, device.name},
               {to.memory_bytes, device.memory},
               {to.processors, device.multiprocessors},
               {to.cuda_device, ordinal}});
  }
  if (devices.hosts().empty()) return;
  constexpr const auto& to = tables::kDevice;
  NeedImportedTable(database, to);
  for (const auto& [host, id] : devices.hosts())
    InsertRow(database, to, {{to.run, 1}, {to.id, id}, {to.name, host}, {to.kind, "host"}});
}

// A worker alone has its own rank; of several every one has.
void AddRank(Database& database, const ImportFile& file, bool alone) {
  if (alone && !file.trace.rank && file.trace.host.empty()) return;
  constexpr const auto& to = tables::kRank;
  NeedImportedTable(database, to);
  InsertRow(database, to,
            {{to.vm, file.numbers.Vm()},
             {to.rank, file.trace.rank ? Cell(*file.trace.rank) : Cell()},
             {to.host, file.trace.host.empty() ? Cell() : Cell(file.trace.host)},
             {to.world, file.trace.world > 0 ? Cell(file.trace.world) : Cell()},
             {to.clock_ahead, file.trace.clock_ahead_ns != 0 ? Cell(file.trace.clock_ahead_ns) : Cell()}});
}

// A device with another number in the export is called by the one that it has in the file.
void NameChangedNumbers(Database& database, const ImportFile& file, ImportDevices* devices,
                        StringTable* strings) {
  using tables::kStreamName, tables::kThreadNames;
  std::set<std::pair<int64_t, int64_t>> named_streams;
  std::set<int64_t> named_threads;
  for (const ImportStream& stream : file.trace.streams)
    named_streams.emplace(devices->GpuOf(stream.device), stream.stream);
  for (const ImportThread& thread : file.trace.threads)
    named_threads.insert(file.numbers.GlobalTid(thread.pid, thread.tid));
  for (const auto& [device, streams] : devices->streams()) {
    for (const auto& [number, fitted] : streams.all()) {
      if (number == fitted || named_streams.contains({device, number})) continue;
      NeedImportedTable(database, kStreamName);
      const int64_t name = strings->Intern(fmt::format("stream {}", static_cast<uint64_t>(number)));
      InsertRow(database, kStreamName,
                {{kStreamName.device, device}, {kStreamName.stream, fitted}, {kStreamName.name, name}});
    }
  }
  for (const auto& [thread, number] : file.numbers.ChangedThreads()) {
    if (named_threads.contains(thread)) continue;
    const int64_t name = strings->Intern(fmt::format("thread {}", static_cast<uint64_t>(number)));
    InsertRow(database, kThreadNames, {{kThreadNames.name, name}, {kThreadNames.global_tid, thread}});
  }
}

void AddNames(Database& database, const ImportFile& file, ImportDevices* devices) {
  using tables::kProcesses, tables::kStreamName, tables::kThreadNames;
  const auto text = [&](int name) { return file.names[static_cast<size_t>(name)]; };
  for (const ImportThread& thread : file.trace.threads) {
    InsertRow(database, kThreadNames,
              {{kThreadNames.name, text(thread.name)},
               {kThreadNames.global_tid, file.numbers.GlobalTid(thread.pid, thread.tid)}});
  }
  if (!file.trace.streams.empty()) NeedImportedTable(database, kStreamName);
  for (const ImportStream& stream : file.trace.streams) {
    const int64_t device = devices->GpuOf(stream.device);
    InsertRow(database, kStreamName,
              {{kStreamName.device, device},
               {kStreamName.stream, devices->StreamOf(device, stream.stream)},
               {kStreamName.name, text(stream.name)}});
  }
  for (const ImportProcess& process : file.trace.processes) {
    InsertRow(database, kProcesses,
              {{kProcesses.global_pid, file.numbers.GlobalPid(process.pid)},
               {kProcesses.pid, process.pid},
               {kProcesses.name, file.trace.names[static_cast<size_t>(process.name)]}});
  }
}

}  // namespace

void DescribeFile(Database& database, const ImportFile& file, ImportDevices* devices, ImportCounts* counts) {
  AddMemory(database, file, devices, counts);
  AddCollectives(database, file, counts);
  AddNames(database, file, devices);
  counts->skipped += file.trace.skipped;
  counts->mended += file.trace.mended;
  counts->cut_short += file.trace.cut_short ? 1 : 0;
  counts->laid_out += file.trace.laid_out ? 1 : 0;
  if (file.trace.clock_ahead_ns != 0) ++counts->clocks;
  for (const auto& [category, count] : file.trace.left_out) counts->left_out[category] += count;
}

void DescribeWorker(Database& database, const ImportFile& file, ImportDevices* devices, bool alone,
                    StringTable* strings) {
  AddDevices(database, file, *devices);
  AddRank(database, file, alone);
  NameChangedNumbers(database, file, devices, strings);
}

void AddNotes(Database& database, const std::vector<std::string>& notes) {
  if (notes.empty()) return;
  constexpr const auto& to = tables::kDiagnostic;
  NeedImportedTable(database, to);
  for (const std::string& note : notes)
    InsertRow(database, to, {{to.time, 0}, {to.severity, tables::kWarning}, {to.text, note}});
}

void AddSpans(Database& database, const std::vector<RecordedSpan>& spans, int64_t time_zero) {
  if (spans.size() < 2) return;
  constexpr const auto& to = tables::kSpan;
  NeedImportedTable(database, to);
  int64_t left_out = 0;
  for (const RecordedSpan& span : spans) {
    left_out += span.unrecorded_ns;
    InsertRow(database, to,
              {{to.start, span.start_ns - time_zero - left_out},
               {to.end, span.end_ns - time_zero - left_out},
               {to.unrecorded, span.unrecorded_ns}});
  }
}

}  // namespace lanescope::traces
