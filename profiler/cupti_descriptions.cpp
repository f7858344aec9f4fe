// SPDX-License-Identifier: Apache-2.0
// Records that describe the machine and the program's use of it: links, GPUs, contexts, streams.
#include <algorithm>
#include <cstdio>

#include "profiler/activity_decoder.h"
#include "profiler/activity_layout.h"
#include "profiler/cupti_library.h"
#include "profiler/cupti_numbers.h"

namespace lanescope::profiler {
namespace {

// "GPU-8d4f...": as the driver's tools print it.
std::string UuidText(const UuidBytes& uuid, std::string text = "GPU-") {
  for (size_t i = 0; i < uuid.size(); ++i) {
    char digits[4];
    std::snprintf(digits, sizeof(digits), "%02x", uuid[i]);
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += digits;
  }
  return text;
}

// Rates and clocks come in thousands.
uint64_t Thousands(uint64_t count) { return count > UINT64_MAX / 1000 ? 0 : count * 1000; }

}  // namespace

void ActivityDecoder::AddNvlink(const ActivityRecord& record, traces::ActivityBatch* batch) {
  using F = NvlinkFields;
  using Later = NvlinkFields13_2;
  const auto end = [&](Field<uint32_t> type, Field<UuidBytes> uuid, Field<uint32_t> npu) {
    return batch->AddText(record.Get(type) == cupti::kEndIsGpu ? UuidText(record.Get(uuid))
                                                               : "npu " + std::to_string(record.Get(npu)));
  };
  const bool later = library_.version() >= kCupti13_2;
  traces::NvlinkRow row;
  row.bandwidth = Thousands(record.Get(later ? Later::bandwidth : F::bandwidth));
  row.device0 = end(F::type0, F::uuid0, F::npu0);
  row.device1 = end(F::type1, F::uuid1, F::npu1);
  row.version = record.Get(F::version);
  row.links = record.Get(F::links);
  row.flags = record.Get(F::flags);
  row.through_switch = record.Get(later ? Later::through_switch : F::through_switch) != 0 ? 1 : 0;
  batch->nvlinks.push_back(row);
}

void ActivityDecoder::AddDevice(const ActivityRecord& record, traces::ActivityBatch* batch) {
  using F = DeviceFields;
  // The program cannot use the others, and their numbers are not its numbers.
  if (record.Get(F::visible) == 0) return;
  traces::GpuRow row;
  row.memory_bandwidth = Thousands(record.Get(F::memory_bandwidth));
  row.memory_bytes = record.Get(F::memory_bytes);
  row.clock_hz = Thousands(record.Get(F::clock_khz));
  row.id = record.Get(F::id);
  row.name = Text(record.Get(F::name), batch);
  // The instances of one card are devices of their own, and share the card's UUID.
  const bool instance = record.Get(F::mig) != 0 && record.Get(F::instance) != UINT32_MAX;
  row.uuid = batch->AddText(instance ? UuidText(record.Get(F::instance_uuid), "MIG-")
                                     : UuidText(record.Get(F::uuid)));
  row.constant_memory = record.Get(F::constant_memory);
  row.l2_bytes = record.Get(F::l2_bytes);
  row.threads_per_warp = record.Get(F::threads_per_warp);
  row.copy_engines = record.Get(F::copy_engines);
  row.processors = record.Get(F::processors);
  row.max_ipc = record.Get(F::max_ipc);
  row.max_warps = record.Get(F::max_warps);
  row.max_blocks = record.Get(F::max_blocks);
  row.max_shared_per_processor = record.Get(F::max_shared_per_processor);
  row.max_registers = record.Get(F::max_registers);
  row.max_registers_per_block = record.Get(F::max_registers_per_block);
  row.max_shared_per_block = record.Get(F::max_shared_per_block);
  row.max_threads = record.Get(F::max_threads);
  std::copy_n(record.Get(F::max_block).begin(), 3, row.max_block);
  std::copy_n(record.Get(F::max_grid).begin(), 3, row.max_grid);
  row.compute_major = record.Get(F::compute_major);
  row.compute_minor = record.Get(F::compute_minor);
  if (record.Get(F::is_numa_node) != 0) row.numa_node = record.Get(F::numa_node);
  batch->gpus.push_back(row);
}

void ActivityDecoder::AddContext(const ActivityRecord& record, traces::ActivityBatch* batch) {
  using F = ContextFields;
  const bool green = record.Get(F::is_green) != 0;
  // In shorter records these bytes are padding.
  const bool counted = green && record.size() >= KnownBytes(cupti::kContext, kCupti12_5);
  batch->contexts.push_back({record.Get(F::context), record.Get(F::device), record.Get(F::null_stream),
                             record.Get(F::parent), green ? 1u : 0u,
                             counted ? record.Get(F::processors) : 0u});
}

void ActivityDecoder::AddStream(const ActivityRecord& record, traces::ActivityBatch* batch) {
  using F = StreamFields;
  batch->streams.push_back({record.Get(F::context), record.Get(F::stream), StreamFlag(record.Get(F::flag)),
                            record.Get(F::priority)});
}

}  // namespace lanescope::profiler
