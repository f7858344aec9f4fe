// Records that describe the machine and the program's use of it: links, GPUs, contexts, streams.
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>

#include "profiler/activity_decoder.h"
#include "profiler/cupti_numbers.h"

namespace lanescope {
namespace {

// "GPU-8d4f...": as the driver's tools print it.
std::string UuidText(const CUuuid& uuid, std::string text = "GPU-") {
  for (int i = 0; i < 16; ++i) {
    char digits[4];
    std::snprintf(digits, sizeof(digits), "%02x", static_cast<unsigned char>(uuid.bytes[i]));
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += digits;
  }
  return text;
}

}  // namespace

template <>
void ActivityDecoder::Add<CUpti_ActivityNvLink4>(const uint8_t* bytes, ActivityBatch* batch) {
  CUpti_ActivityNvLink4 record;
  std::memcpy(&record, bytes, sizeof(record));
  const auto end = [&](uint32_t type, const auto& id) {
    return batch->AddText(type == CUPTI_DEV_TYPE_GPU ? UuidText(id.uuidDev)
                                                     : "npu " + std::to_string(id.npu.index));
  };
  NvlinkRow row;
  row.bandwidth = record.bandwidth > UINT64_MAX / 1000 ? 0 : record.bandwidth * 1000;
  row.device0 = end(Number(bytes + offsetof(CUpti_ActivityNvLink4, typeDev0)), record.idDev0);
  row.device1 = end(Number(bytes + offsetof(CUpti_ActivityNvLink4, typeDev1)), record.idDev1);
  row.version = record.nvlinkVersion;
  row.links = record.physicalNvLinkCount;
  row.flags = record.flag;
  row.through_switch = record.nvswitchConnected != 0 ? 1 : 0;
  batch->nvlinks.push_back(row);
}

template <>
void ActivityDecoder::Add<CUpti_ActivityDevice5>(const uint8_t* bytes, ActivityBatch* batch) {
  CUpti_ActivityDevice5 record;
  std::memcpy(&record, bytes, sizeof(record));
  // The program cannot use the others, and their numbers are not its numbers.
  if (record.isCudaVisible == 0) return;
  GpuRow row;
  row.memory_bandwidth =
      record.globalMemoryBandwidth > UINT64_MAX / 1000 ? 0 : record.globalMemoryBandwidth * 1000;
  row.memory_bytes = record.globalMemorySize;
  row.clock_hz = uint64_t{record.coreClockRate} * 1000;
  row.id = record.id;
  row.name = Text(record.name, batch);
  // The instances of one card are devices of their own, and share the card's UUID.
  const bool instance = record.isMigEnabled != 0 && record.gpuInstanceId != UINT32_MAX;
  row.uuid = batch->AddText(instance ? UuidText(record.migUuid, "MIG-") : UuidText(record.uuid));
  row.constant_memory = record.constantMemorySize;
  row.l2_bytes = record.l2CacheSize;
  row.threads_per_warp = record.numThreadsPerWarp;
  row.copy_engines = record.numMemcpyEngines;
  row.processors = record.numMultiprocessors;
  row.max_ipc = record.maxIPC;
  row.max_warps = record.maxWarpsPerMultiprocessor;
  row.max_blocks = record.maxBlocksPerMultiprocessor;
  row.max_shared_per_processor = record.maxSharedMemoryPerMultiprocessor;
  row.max_registers = record.maxRegistersPerMultiprocessor;
  row.max_registers_per_block = record.maxRegistersPerBlock;
  row.max_shared_per_block = record.maxSharedMemoryPerBlock;
  row.max_threads = record.maxThreadsPerBlock;
  const uint32_t block[] = {record.maxBlockDimX, record.maxBlockDimY, record.maxBlockDimZ};
  const uint32_t grid[] = {record.maxGridDimX, record.maxGridDimY, record.maxGridDimZ};
  std::copy_n(block, 3, row.max_block);
  std::copy_n(grid, 3, row.max_grid);
  row.compute_major = record.computeCapabilityMajor;
  row.compute_minor = record.computeCapabilityMinor;
  if (record.isNumaNode != 0) row.numa_node = record.numaId;
  batch->gpus.push_back(row);
}

template <>
void ActivityDecoder::Add<CUpti_ActivityContext3>(const uint8_t* bytes, ActivityBatch* batch) {
  CUpti_ActivityContext3 record;
  std::memcpy(&record, bytes, sizeof(record));
  const bool green = record.isGreenContext != 0;
  batch->contexts.push_back({record.contextId, record.deviceId, record.nullStreamId, record.parentContextId,
                             green ? 1u : 0u, green ? record.numMultiprocessors : 0u});
}

template <>
void ActivityDecoder::Add<CUpti_ActivityStream>(const uint8_t* bytes, ActivityBatch* batch) {
  CUpti_ActivityStream record;
  std::memcpy(&record, bytes, sizeof(record));
  const uint32_t flag = Number(bytes + offsetof(CUpti_ActivityStream, flag));
  batch->streams.push_back({record.contextId, record.streamId,
                            flag <= CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NULL ? flag : 0,
                            static_cast<int32_t>(record.priority)});
}

}  // namespace lanescope
