// SPDX-License-Identifier: Apache-2.0
#include "traces/import/export_writer.h"

#include <algorithm>
#include <initializer_list>

#include "traces/store/schema.h"

namespace lanescope::traces {
namespace {

constexpr int kNvtxPushPopRange = 59;

// Where it ran, in the export.
struct Place {
  int64_t device = 0, stream = 0;
};

Place PlaceOf(const ImportFile& file, ImportDevices& devices, const ImportEvent& event) {
  const int64_t device = event.on_host ? devices.HostOf(file.trace.hosts[static_cast<size_t>(event.device)])
                                       : devices.GpuOf(event.device);
  return {device, devices.StreamOf(device, event.stream)};
}

Cell Known(int64_t number) { return number < 0 ? Cell() : Cell(number); }

}  // namespace

ExportWriter::ExportWriter(Database& database)
    : database_(database),
      kernels_(database, tables::kKernel),
      copies_(database, tables::kMemcpy),
      memsets_(database, tables::kMemset),
      calls_(database, tables::kApiCall),
      ranges_(database, tables::kNvtxEvent),
      synchronizations_(database, tables::kSynchronization),
      events_(database, tables::kCudaEvent),
      overheads_(database, tables::kOverhead) {}

void ExportWriter::Add(const ImportFile& file, ImportDevices* devices, const std::atomic<bool>* cancelled,
                       ImportCounts* counts) {
  devices_ = devices;
  captures_.clear();
  if (std::ranges::any_of(file.trace.names, CapturesStream)) {
    file.trace.events.ForEach([&](const ImportEvent& event) {
      if (event.kind != ImportEvent::Kind::kApiCall) return;
      const std::string& name = file.trace.names[static_cast<size_t>(event.name)];
      if (CapturesStream(name)) captures_[event.pid].AddCall(name, event.start_ns, event.end_ns);
    });
  }
  file.trace.events.ForEach([&](const ImportEvent& event) {
    CheckImportGoesOn(cancelled);
    AddEvent(file, event, counts);
  });
  AddTensorUses(file);
}

void ExportWriter::Flush() {
  for (PendingRows* rows : std::initializer_list<PendingRows*>{
           &kernels_, &copies_, &memsets_, &calls_, &ranges_, &synchronizations_, &events_, &overheads_}) {
    rows->Flush();
  }
  if (device_ranges_) device_ranges_->Flush();
  if (operators_) operators_->Flush();
  if (captured_) captured_->Flush();
  if (tensor_uses_) tensor_uses_->Flush();
}

void ExportWriter::AddEvent(const ImportFile& file, const ImportEvent& event, ImportCounts* counts) {
  const int64_t start = event.start_ns - file.time_zero, end = event.end_ns - file.time_zero;
  const int64_t process = file.LaunchedBy(event.correlation);
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
      const Place place = PlaceOf(file, *devices_, event);
      return memsets_.Add({{to.start, start},
                           {to.end, end},
                           {to.device, place.device},
                           {to.context, event.context},
                           {to.stream, place.stream},
                           {to.correlation, Known(file.CorrelationOf(event.correlation))},
                           {to.global_pid, process},
                           {to.bytes, event.bytes},
                           {to.graph_node, Known(event.graph_node)}});
    }
    case ImportEvent::Kind::kApiCall:
      ++counts->api_calls;
      return AddCall(file, event);
    case ImportEvent::Kind::kRange: {
      ++counts->ranges;
      if (event.record_function >= 0 && !file.trace.tensor_uses.empty())
        range_of_[event.record_function] = counts->ranges;
      if (event.details >= 0) {
        ++counts->operators;
        AddOperator(file, file.trace.operators[static_cast<size_t>(event.details)], counts->ranges);
      }
      constexpr const auto& to = tables::kNvtxEvent;
      return ranges_.Add({{to.start, start},
                          {to.end, end},
                          {to.type, kNvtxPushPopRange},
                          {to.global_tid, file.numbers.GlobalTid(event.pid, event.tid)},
                          {to.text_id, name},
                          {to.domain, event.of_library ? Cell(tables::kNamedDomain) : Cell()},
                          {to.event, counts->ranges}});
    }
    case ImportEvent::Kind::kDeviceRange:
      ++counts->device_ranges;
      return AddDeviceRange(file, event);
    case ImportEvent::Kind::kOverhead: {
      ++counts->overheads;
      constexpr const auto& to = tables::kOverhead;
      return overheads_.Add({{to.start, start},
                             {to.end, end},
                             {to.event_class, 0},
                             {to.global_tid, file.numbers.GlobalTid(event.pid, event.tid)},
                             {to.name, name},
                             {to.type, 0}});
    }
    case ImportEvent::Kind::kSynchronization:
      return AddSynchronization(file, event, process, ++counts->synchronizations);
  }
}

void ExportWriter::AddCall(const ImportFile& file, const ImportEvent& event) {
  constexpr const auto& to = tables::kApiCall;
  calls_.Add({{to.start, event.start_ns - file.time_zero},
              {to.end, event.end_ns - file.time_zero},
              {to.event_class, 0},
              {to.global_tid, file.numbers.GlobalTid(event.pid, event.tid)},
              {to.correlation, Known(file.CorrelationOf(event.correlation))},
              {to.name, file.names[static_cast<size_t>(event.name)]}});
  if (event.brief < 0 || event.correlation < 0 || captures_.empty()) return;
  const auto captures = captures_.find(event.pid);
  if (captures == captures_.end() || !captures->second.Hold(event.start_ns)) return;
  constexpr const auto& captured = tables::kCapturedKernel;
  if (!captured_) {
    NeedImportedTable(database_, captured);
    captured_.emplace(database_, captured);
  }
  captured_->Add({{captured.global_pid, file.numbers.GlobalPid(event.pid)},
                  {captured.correlation, file.CorrelationOf(event.correlation)},
                  {captured.name, file.names[static_cast<size_t>(event.brief)]}});
}

void ExportWriter::AddKernel(const ImportFile& file, const ImportEvent& event, int64_t process) {
  constexpr const auto& to = tables::kKernel;
  const int64_t name = file.names[static_cast<size_t>(event.name)];
  const ImportLaunch launch =
      event.launch < 0 ? ImportLaunch() : file.trace.launches[static_cast<size_t>(event.launch)];
  const Place place = PlaceOf(file, *devices_, event);
  kernels_.Add({{to.start, event.start_ns - file.time_zero},
                {to.end, event.end_ns - file.time_zero},
                {to.device, place.device},
                {to.context, event.context},
                {to.stream, place.stream},
                {to.correlation, Known(file.CorrelationOf(event.correlation))},
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
                {to.dynamic_shared, launch.shared_bytes},
                {to.graph_node, Known(event.graph_node)},
                {to.graph, Known(event.graph)}});
}

void ExportWriter::AddCopy(const ImportFile& file, const ImportEvent& event, int64_t process) {
  constexpr const auto& to = tables::kMemcpy;
  const Place place = PlaceOf(file, *devices_, event);
  const auto end_device = [this](int64_t ordinal) {
    return ordinal < 0 ? Cell() : Cell(devices_->GpuOf(ordinal));
  };
  copies_.Add({{to.start, event.start_ns - file.time_zero},
               {to.end, event.end_ns - file.time_zero},
               {to.device, place.device},
               {to.context, event.context},
               {to.stream, place.stream},
               {to.correlation, Known(file.CorrelationOf(event.correlation))},
               {to.global_pid, process},
               {to.bytes, event.bytes},
               {to.copy_kind, event.ends.kind},
               {to.src_kind, event.ends.src_memory},
               {to.dst_kind, event.ends.dst_memory},
               {to.src_device, end_device(event.src_device)},
               {to.dst_device, end_device(event.dst_device)},
               {to.graph_node, Known(event.graph_node)}});
}

void ExportWriter::AddTensorUses(const ImportFile& file) {
  constexpr const auto& to = tables::kTensorUse;
  for (const ImportTensorUse& use : file.trace.tensor_uses) {
    const auto reader = range_of_.find(use.reader), writer = range_of_.find(use.writer);
    if (reader == range_of_.end() || writer == range_of_.end()) continue;
    if (!tensor_uses_) {
      NeedImportedTable(database_, to);
      tensor_uses_.emplace(database_, to);
    }
    tensor_uses_->Add({{to.event, reader->second}, {to.writer, writer->second}});
  }
  range_of_.clear();
}

// With the record of its event, where that is known; a number of ours joins them.
void ExportWriter::AddSynchronization(const ImportFile& file, const ImportEvent& event, int64_t process,
                                      int64_t number) {
  constexpr const auto& to = tables::kSynchronization;
  const int64_t device = devices_->GpuOf(event.device);
  // Work of a whole device or context is of no stream: -1, in 32 bits or in 64.
  const auto stream_of = [&](int64_t stream) {
    return stream == -1 || stream == UINT32_MAX ? -1 : devices_->StreamOf(device, stream);
  };
  synchronizations_.Add({{to.start, event.start_ns - file.time_zero},
                         {to.end, event.end_ns - file.time_zero},
                         {to.device, device},
                         {to.context, event.context},
                         {to.stream, stream_of(event.stream)},
                         {to.correlation, Known(file.CorrelationOf(event.correlation))},
                         {to.global_pid, process},
                         {to.type, event.sync_type},
                         {to.event, event.event},
                         {to.event_sync, number}});
  if (event.recorded_by < 0 || event.recorded_on < 0) return;
  constexpr const auto& record = tables::kCudaEvent;
  events_.Add({{record.device, device},
               {record.context, event.context},
               {record.stream, stream_of(event.recorded_on)},
               {record.correlation, file.CorrelationOf(event.recorded_by)},
               {record.global_pid, process},
               {record.event, event.event},
               {record.event_sync, number}});
}

void ExportWriter::AddDeviceRange(const ImportFile& file, const ImportEvent& event) {
  constexpr const auto& to = tables::kDeviceRange;
  if (!device_ranges_) {
    NeedImportedTable(database_, to);
    device_ranges_.emplace(database_, to);
  }
  const Place place = PlaceOf(file, *devices_, event);
  device_ranges_->Add(
      {{to.start, event.start_ns - file.time_zero},
       {to.end, event.end_ns - file.time_zero},
       {to.device, place.device},
       {to.stream, place.stream},
       {to.name, file.names[static_cast<size_t>(event.name)]},
       {to.counted, event.counted < 0 ? Cell() : Cell(file.names[static_cast<size_t>(event.counted)])}});
}

void ExportWriter::AddOperator(const ImportFile& file, const ImportOperator& details, int64_t range) {
  constexpr const auto& to = tables::kOperator;
  if (!operators_) {
    NeedImportedTable(database_, to);
    operators_.emplace(database_, to);
  }
  const auto text = [&](int name) { return name < 0 ? Cell() : Cell(file.names[static_cast<size_t>(name)]); };
  operators_->Add({{to.event, range},
                   {to.shapes, text(details.shapes)},
                   {to.types, text(details.types)},
                   {to.stack, text(details.stack)}});
}

}  // namespace lanescope::traces
