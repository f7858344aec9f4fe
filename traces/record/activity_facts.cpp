// SPDX-License-Identifier: Apache-2.0
// Rows of a process on devices, contexts, streams, links, threads and clocks.
#include "traces/record/activity_cells.h"
#include "traces/record/activity_writer.h"

namespace lanescope::traces {

void ActivityWriter::WriteFacts(Process& process, const ActivityBatch& batch) {
  for (const TagRow& row : batch.tags) process.tags.AddTag(row.correlation, row.tag);
  for (const GraphNodeRow& row : batch.graph_nodes) process.tags.AddGraphNode(row.node, row.tag);
  for (const GpuRow& row : batch.gpus) WriteGpu(process, batch, row);
  WriteContexts(process, batch);
  RowInserter streams(database_, tables::kCudaStream);
  for (const StreamRow& row : batch.streams) {
    constexpr const auto& to = tables::kCudaStream;
    streams.Add({{to.stream, row.stream},
                 {to.hw, 0},
                 {to.vm, target_.run},
                 {to.process, batch.pid},
                 {to.context, row.context},
                 {to.priority, row.priority},
                 {to.flag, row.flag}});
  }
  streams.Flush();
  RowInserter links(database_, tables::kNvlink);
  for (const NvlinkRow& row : batch.nvlinks) {
    constexpr const auto& to = tables::kNvlink;
    links.Add({{to.run, target_.run},
               {to.device0, batch.texts[row.device0]},
               {to.device1, batch.texts[row.device1]},
               {to.version, row.version},
               {to.links, row.links},
               {to.flags, row.flags},
               {to.bandwidth, row.bandwidth},
               {to.through_switch, row.through_switch}});
  }
  links.Flush();
  RowInserter threads(database_, tables::kThreadNames);
  for (const ThreadRow& row : batch.threads) {
    constexpr const auto& to = tables::kThreadNames;
    threads.Add(
        {{to.name, strings_.Intern(batch.texts[row.name])}, {to.global_tid, ThreadOf(process, row.thread)}});
  }
  threads.Flush();
  for (const NoteRow& row : batch.notes) AddNote(batch.texts[row.text]);
  for (const ClockRow& row : batch.clocks) {
    constexpr const auto& to = tables::kClock;
    tables_.clocks.Add({{to.run, target_.run},
                        {to.global_pid, process.global_pid},
                        {to.clock, row.kind == ClockKind::kGpu ? "gpu" : "capture"},
                        {to.time, Time(row.time)},
                        {to.offset, row.offset},
                        {to.uncertainty, row.uncertainty < 0 ? Cell() : Cell(row.uncertainty)},
                        {to.samples, row.samples},
                        {to.violations, row.violations},
                        {to.corrected, row.corrected}});
  }
}

void ActivityWriter::AddNote(const std::string& text) {
  constexpr const auto& to = tables::kCaptureMetaData;
  const std::string name = fmt::format("LANESCOPE_RUN_{}_NOTE", target_.run);
  InsertRow(database_, to, {{to.name, name}, {to.value, text}});
}

void ActivityWriter::WriteContexts(Process& process, const ActivityBatch& batch) {
  RowInserter contexts(database_, tables::kCudaContext);
  for (const ContextRow& row : batch.contexts) {
    if (row.is_green != 0) process.green_contexts.insert(row.context);
    const int device = DeviceOf(process, row.device);
    process.contexts[row.context] = device;
    constexpr const auto& to = tables::kCudaContext;
    contexts.Add({{to.null_stream, row.null_stream},
                  {to.hw, device},
                  {to.vm, target_.run},
                  {to.process, batch.pid},
                  {to.device, device},
                  {to.context, row.context},
                  {to.parent, NonZero(row.parent)},
                  {to.is_green, row.is_green},
                  {to.processors, row.processors}});
  }
  contexts.Flush();
}

// A GPU is known by its UUID: processes may number the same GPUs differently. The first process's numbers are
// kept; a GPU that only a later one sees gets a free number.
void ActivityWriter::WriteGpu(Process& process, const ActivityBatch& batch, const GpuRow& row) {
  const std::string& uuid = batch.texts[row.uuid];
  const std::string key = uuid.empty() ? fmt::format("number {}", row.id) : uuid;
  const bool seen = gpus_.contains(key);
  int id = static_cast<int>(row.id & 0xffff);
  if (row.id < target_.device_ids.size()) {
    id = target_.device_ids[row.id];
  } else if (seen) {
    id = gpus_[key];
  } else {
    while (gpu_ids_.contains(id)) ++id;
  }
  gpus_[key] = id;
  gpu_ids_.insert(id);
  if (!process.devices.emplace(row.id, id).second || !target_.device_ids.empty()) return;
  constexpr const auto& cuda = tables::kCudaDevice;
  InsertRow(database_, cuda,
            {{cuda.gpu, id},
             {cuda.cuda, row.id},
             {cuda.pid, batch.pid},
             {cuda.uuid, uuid},
             {cuda.processors, row.processors}});
  if (seen) return;
  constexpr const auto& to = tables::kGpu;
  InsertRow(database_, to,
            {{to.vm, int64_t{target_.run} << 48},
             {to.id, id},
             {to.name, batch.texts[row.name]},
             {to.is_discrete, 1},
             {to.l2_bytes, row.l2_bytes},
             {to.memory_bytes, row.memory_bytes},
             {to.memory_bandwidth, row.memory_bandwidth},
             {to.clock_hz, row.clock_hz},
             {to.processors, row.processors},
             {to.uuid, uuid},
             {to.cuda_device, row.id},
             {to.constant_memory, row.constant_memory},
             {to.max_ipc, row.max_ipc},
             {to.max_registers_per_block, row.max_registers_per_block},
             {to.max_shared_per_block, row.max_shared_per_block},
             {to.max_shared_per_processor, row.max_shared_per_processor},
             {to.max_registers, row.max_registers},
             {to.threads_per_warp, row.threads_per_warp},
             {to.copy_engines, row.copy_engines},
             {to.max_warps, row.max_warps},
             {to.max_blocks, row.max_blocks},
             {to.max_threads, row.max_threads},
             {to.max_block_x, row.max_block[0]},
             {to.max_block_y, row.max_block[1]},
             {to.max_block_z, row.max_block[2]},
             {to.max_grid_x, row.max_grid[0]},
             {to.max_grid_y, row.max_grid[1]},
             {to.max_grid_z, row.max_grid[2]},
             {to.compute_major, row.compute_major},
             {to.compute_minor, row.compute_minor},
             {to.numa_node, Known(row.numa_node)}});
}

}  // namespace lanescope::traces
