// SPDX-License-Identifier: Apache-2.0
// Activity buffers made by hand, as each version of CUPTI fills them.
#pragma once

#include <cstring>
#include <type_traits>
#include <vector>

#include "profiler/activity_layout.h"
#include "profiler/cupti_api.h"
#include "traces/record/activity_rows.h"

namespace lanescope::profiler {

// The versions whose records or functions differ from those before.
inline constexpr uint32_t kCuptiVersions[] = {20, 21,     22,     23,     24,     26,     27,
                                              28, 130001, 130101, 130200, 130301, 130400, 130500};
inline constexpr uint32_t kNewestCupti = 130500;

// All bytes that are not set are zero.
class MadeRecord {
 public:
  explicit MadeRecord(cupti::Kind kind, uint32_t version = kNewestCupti) : bytes_(KnownBytes(kind, version)) {
    std::memcpy(bytes_.data(), &kind, sizeof(kind));
  }
  // Does nothing where the record ends before the field.
  template <typename T>
  MadeRecord& Set(Field<T> field, std::type_identity_t<T> value) {
    if (field.end() <= bytes_.size()) std::memcpy(bytes_.data() + field.at, &value, sizeof(value));
    return *this;
  }
  const uint8_t* data() const { return bytes_.data(); }
  uint8_t* data() { return bytes_.data(); }
  size_t size() const { return bytes_.size(); }

 private:
  std::vector<uint8_t> bytes_;
};

// A buffer that grows record by record.
class RecordBuffer {
 public:
  RecordBuffer& Add(const MadeRecord& record) {
    bytes_.insert(bytes_.end(), record.data(), record.data() + record.size());
    return *this;
  }
  uint8_t* data() { return bytes_.data(); }
  size_t size() const { return bytes_.size(); }
  std::vector<uint8_t>& bytes() { return bytes_; }

 private:
  std::vector<uint8_t> bytes_;
};

inline MadeRecord KernelRecord(const char* name, uint64_t start, uint64_t end, uint32_t correlation,
                               uint32_t version = kNewestCupti) {
  using F = KernelFields;
  return MadeRecord(cupti::kConcurrentKernel, version)
      .Set(F::name, name)
      .Set(F::start, start)
      .Set(F::end, end)
      .Set(F::correlation, correlation)
      .Set(F::device, 1)
      .Set(F::context, 2)
      .Set(F::stream, 7)
      .Set(F::grid, {10, 20, 30})
      .Set(F::block, {32, 4, 2})
      .Set(F::registers, 40)
      .Set(F::static_shared, 1024)
      .Set(F::dynamic_shared, 2048)
      .Set(F::shared_executed, 8192)
      .Set(F::local_per_thread, 16)
      .Set(F::local_total, 5000000000)
      .Set(F::grid_id, 99)
      .Set(F::cache_config, 0x21)
      .Set(F::cluster, {2, 1, 1})
      .Set(F::max_active_clusters, 66);
}

inline MadeRecord CallRecord(cupti::Kind kind, uint32_t function, uint64_t start, uint64_t end,
                             uint32_t thread, uint32_t correlation, uint32_t version = kNewestCupti) {
  using F = CallFields;
  return MadeRecord(kind, version)
      .Set(F::function, function)
      .Set(F::start, start)
      .Set(F::end, end)
      .Set(F::thread, thread)
      .Set(F::correlation, correlation);
}

// One record of every kind (two of devices), whose times begin `from` ns after the zero of the clock.
inline RecordBuffer EveryKind(uint32_t version, const char* kernel_name, const char* device_name,
                              uint64_t from = 0) {
  RecordBuffer buffer;
  buffer.Add(MadeRecord(cupti::kExternalCorrelation, version)
                 .Set(ExternalCorrelationFields::kind, 3)
                 .Set(ExternalCorrelationFields::id, traces::MakeActivityTag(1, 2, 3))
                 .Set(ExternalCorrelationFields::correlation, 17));
  buffer.Add(CallRecord(cupti::kDriver, 307, from + 110, from + 180, 4242, 17, version));
  buffer.Add(CallRecord(cupti::kRuntime, 211, from + 100, from + 200, 4242, 17, version));
  buffer.Add(KernelRecord(kernel_name, from + 300, from + 400, 17, version));
  buffer.Add(MadeRecord(cupti::kMemcpy, version)
                 .Set(MemcpyFields::copy_kind, 1)  // host to device
                 .Set(MemcpyFields::src_kind, 2)   // pinned
                 .Set(MemcpyFields::dst_kind, 3)   // device
                 .Set(MemcpyFields::bytes, 1 << 20)
                 .Set(MemcpyFields::start, from + 500)
                 .Set(MemcpyFields::end, from + 600)
                 .Set(MemcpyFields::device, 1)
                 .Set(MemcpyFields::correlation, 18)
                 .Set(MemcpyFields::copies, 4));
  buffer.Add(MadeRecord(cupti::kMemcpy2, version)
                 .Set(MemcpyFields::copy_kind, 10)  // between devices
                 .Set(MemcpyFields::src_kind, 3)
                 .Set(MemcpyFields::dst_kind, 3)
                 .Set(MemcpyFields::bytes, 4096)
                 .Set(MemcpyFields::start, from + 610)
                 .Set(MemcpyFields::end, from + 620)
                 .Set(PeerCopyFields::src_device, 1)
                 .Set(PeerCopyFields::src_context, 2)
                 .Set(PeerCopyFields::dst_device, 3)
                 .Set(PeerCopyFields::dst_context, 4)
                 .Set(PeerCopyFields::correlation, 19)
                 .Set(PeerCopyFields::graph_node, 0x700000006));
  buffer.Add(MadeRecord(cupti::kMemset, version)
                 .Set(MemsetFields::value, 0x3f)
                 .Set(MemsetFields::bytes, 512)
                 .Set(MemsetFields::start, from + 630)
                 .Set(MemsetFields::end, from + 640)
                 .Set(MemsetFields::memory_kind, 5)  // managed
                 .Set(MemsetFields::graph_node, 0x700000005));
  buffer.Add(MadeRecord(cupti::kSynchronization, version)
                 .Set(SyncFields::type, 2)  // a stream waits for an event
                 .Set(SyncFields::start, from + 650)
                 .Set(SyncFields::end, from + 660)
                 .Set(SyncFields::context, 2)
                 .Set(SyncFields::stream, 7)
                 .Set(SyncFields::event, 5)
                 .Set(SyncFields::event_sync, 77));
  buffer.Add(MadeRecord(cupti::kCudaEvent, version)
                 .Set(CudaEventFields::event, 5)
                 .Set(CudaEventFields::stream, 7)
                 .Set(CudaEventFields::event_sync, 55));
  buffer.Add(MadeRecord(cupti::kOverhead, version)
                 .Set(OverheadFields::type, 6 << 16)  // the command buffer was full
                 .Set(OverheadFields::object, cupti::kObjectThread)
                 .Set(OverheadFields::thread, 4242)
                 .Set(OverheadFields::start, from + 670)
                 .Set(OverheadFields::end, from + 680)
                 .Set(OverheadFields::correlation, 20));
  buffer.Add(MadeRecord(cupti::kGraphTrace, version)
                 .Set(GraphTraceFields::start, from + 690)
                 .Set(GraphTraceFields::end, from + 700)
                 .Set(GraphTraceFields::graph, 9));
  MadeRecord device(cupti::kDevice, version);
  UuidBytes uuid{}, instance_uuid{};
  for (uint8_t i = 0; i < 16; ++i) {
    uuid[i] = static_cast<uint8_t>(i * 17);
    instance_uuid[i] = i;
  }
  device.Set(DeviceFields::id, 1)
      .Set(DeviceFields::name, device_name)
      .Set(DeviceFields::visible, 1)
      .Set(DeviceFields::memory_bandwidth, 4800000000)  // kB/s
      .Set(DeviceFields::memory_bytes, uint64_t{141} << 30)
      .Set(DeviceFields::clock_khz, 1980000)
      .Set(DeviceFields::processors, 132)
      .Set(DeviceFields::max_grid, {7, 8, 9})
      .Set(DeviceFields::compute_major, 9)
      .Set(DeviceFields::is_numa_node, 1)
      .Set(DeviceFields::numa_node, 6)
      .Set(DeviceFields::uuid, uuid);
  buffer.Add(device);
  device.Set(DeviceFields::mig, 1)
      .Set(DeviceFields::instance, 3)
      .Set(DeviceFields::instance_uuid, instance_uuid);
  buffer.Add(device);
  buffer.Add(MadeRecord(cupti::kContext, version)
                 .Set(ContextFields::context, 2)
                 .Set(ContextFields::device, 1)
                 .Set(ContextFields::null_stream, 7)
                 .Set(ContextFields::is_green, 1)
                 .Set(ContextFields::processors, 64)
                 .Set(ContextFields::parent, 1));
  buffer.Add(MadeRecord(cupti::kStream, version)
                 .Set(StreamFields::context, 2)
                 .Set(StreamFields::stream, 7)
                 .Set(StreamFields::priority, -5)
                 .Set(StreamFields::flag, 2));  // does not wait for the null stream
  const bool laid_out_anew = version >= kCupti13_2;
  buffer.Add(
      MadeRecord(cupti::kNvlink, version)
          .Set(NvlinkFields::type0, cupti::kEndIsGpu)
          .Set(NvlinkFields::type1, 2)  // an NPU
          .Set(NvlinkFields::npu1, 3)
          .Set(NvlinkFields::links, 18)
          .Set(laid_out_anew ? NvlinkFields13_2::bandwidth : NvlinkFields::bandwidth, 25000000)  // kB/s
          .Set(laid_out_anew ? NvlinkFields13_2::through_switch : NvlinkFields::through_switch, 1));
  return buffer;
}

}  // namespace lanescope::profiler
