// What a process says of devices, contexts, streams, links, threads and clocks.
#include "traces/activity_cells.h"
#include "traces/activity_writer.h"

namespace lanescope {

void ActivityWriter::WriteFacts(Process& process, const ActivityBatch& batch) {
  for (const TagRow& row : batch.tags) process.tags.AddTag(row.correlation, row.tag);
  for (const GraphNodeRow& row : batch.graph_nodes) process.tags.AddGraphNode(row.node, row.tag);
  for (const GpuRow& row : batch.gpus) WriteGpu(process, batch, row);
  WriteContexts(process, batch);
  if (!batch.streams.empty()) {
    RowInserter streams(database_, "TARGET_INFO_CUDA_STREAM",
                        {"streamId", "hwId", "vmId", "processId", "contextId", "priority", "flag"});
    for (const StreamRow& row : batch.streams) {
      streams.Add({int64_t{row.stream}, 0, target_.run, int64_t{batch.pid}, int64_t{row.context},
                   int64_t{row.priority}, int64_t{row.flag}});
    }
    streams.Flush();
  }
  if (!batch.nvlinks.empty()) {
    RowInserter links(
        database_, "LANESCOPE_NVLINK",
        {"runId", "device0", "device1", "version", "links", "flags", "bandwidth", "throughSwitch"});
    for (const NvlinkRow& row : batch.nvlinks) {
      links.Add({target_.run, std::string_view(batch.texts[row.device0]),
                 std::string_view(batch.texts[row.device1]), int64_t{row.version}, int64_t{row.links},
                 int64_t{row.flags}, Signed(row.bandwidth), int64_t{row.through_switch}});
    }
    links.Flush();
  }
  if (!batch.threads.empty()) {
    RowInserter threads(database_, "ThreadNames", {"nameId", "globalTid"});
    for (const ThreadRow& row : batch.threads) {
      threads.Add({strings_.Intern(batch.texts[row.name]), process.global_pid | (row.thread & 0xffffff)});
    }
    threads.Flush();
  }
  if (!batch.notes.empty()) {
    RowInserter notes(database_, "META_DATA_CAPTURE", {"name", "value"});
    const std::string name = fmt::format("LANESCOPE_RUN_{}_NOTE", target_.run);
    for (const NoteRow& row : batch.notes) {
      notes.Add({std::string_view(name), std::string_view(batch.texts[row.text])});
    }
    notes.Flush();
  }
  for (const ClockRow& row : batch.clocks) {
    tables_.clocks.Add({target_.run, process.global_pid, row.kind == ClockKind::kGpu ? "gpu" : "capture",
                        Time(row.time), row.offset, row.uncertainty < 0 ? Cell() : Cell(row.uncertainty),
                        Signed(row.samples), Signed(row.violations), int64_t{row.corrected}});
  }
}

void ActivityWriter::WriteContexts(Process& process, const ActivityBatch& batch) {
  if (batch.contexts.empty()) return;
  RowInserter contexts(database_, "TARGET_INFO_CUDA_CONTEXT_INFO",
                       {"nullStreamId", "hwId", "vmId", "processId", "deviceId", "contextId",
                        "parentContextId", "isGreenContext", "numMultiprocessors"});
  for (const ContextRow& row : batch.contexts) {
    if (row.is_green != 0) process.green_contexts.insert(row.context);
    const int device = DeviceOf(process, row.device);
    process.contexts[row.context] = device;
    contexts.Add({int64_t{row.null_stream}, device, target_.run, int64_t{batch.pid}, device,
                  int64_t{row.context}, NonZero(row.parent), int64_t{row.is_green}, int64_t{row.processors}});
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
  RowInserter cuda(database_, "TARGET_INFO_CUDA_DEVICE",
                   {"gpuId", "cudaId", "pid", "uuid", "numMultiprocessors"});
  cuda.Add({id, int64_t{row.id}, int64_t{batch.pid}, std::string_view(uuid), int64_t{row.processors}});
  cuda.Flush();
  if (seen) return;
  RowInserter gpus(database_, "TARGET_INFO_GPU",
                   {"vmId",
                    "id",
                    "name",
                    "isDiscrete",
                    "l2CacheSize",
                    "totalMemory",
                    "memoryBandwidth",
                    "clockRate",
                    "smCount",
                    "uuid",
                    "cuDevice",
                    "constantMemory",
                    "maxIPC",
                    "maxRegistersPerBlock",
                    "maxShmemPerBlock",
                    "maxShmemPerSm",
                    "maxRegistersPerSm",
                    "threadsPerWarp",
                    "asyncEngines",
                    "maxWarpsPerSm",
                    "maxBlocksPerSm",
                    "maxThreadsPerBlock",
                    "maxBlockDimX",
                    "maxBlockDimY",
                    "maxBlockDimZ",
                    "maxGridDimX",
                    "maxGridDimY",
                    "maxGridDimZ",
                    "computeMajor",
                    "computeMinor",
                    "numaNodeId"});
  gpus.Add({int64_t{target_.run} << 48,
            id,
            std::string_view(batch.texts[row.name]),
            1,
            int64_t{row.l2_bytes},
            Signed(row.memory_bytes),
            Signed(row.memory_bandwidth),
            Signed(row.clock_hz),
            int64_t{row.processors},
            std::string_view(uuid),
            int64_t{row.id},
            int64_t{row.constant_memory},
            int64_t{row.max_ipc},
            int64_t{row.max_registers_per_block},
            int64_t{row.max_shared_per_block},
            int64_t{row.max_shared_per_processor},
            int64_t{row.max_registers},
            int64_t{row.threads_per_warp},
            int64_t{row.copy_engines},
            int64_t{row.max_warps},
            int64_t{row.max_blocks},
            int64_t{row.max_threads},
            int64_t{row.max_block[0]},
            int64_t{row.max_block[1]},
            int64_t{row.max_block[2]},
            int64_t{row.max_grid[0]},
            int64_t{row.max_grid[1]},
            int64_t{row.max_grid[2]},
            int64_t{row.compute_major},
            int64_t{row.compute_minor},
            Known(row.numa_node)});
  gpus.Flush();
}

}  // namespace lanescope
