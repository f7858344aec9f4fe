// SPDX-License-Identifier: Apache-2.0
// Where the fields of CUPTI's activity records lie, and which records a CUPTI delivers.
//
// From CUDA 12.2 to 13.5 records only grew at their ends: a field has one place for all versions, and whether
// a record has it is a question of the record's size. Those of NVLink alone were laid out anew, in 13.2.
// Sizes are measured when a library is loaded; the table of known ones says what is plausible, and stands in
// where nothing can be measured.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "profiler/cupti_api.h"

namespace lanescope::profiler {

// Versions as CUPTI counts them: 20 is that of CUDA 12.2, 28 of 12.9 update 1, from 13.0 on 130000.
inline constexpr uint32_t kCupti12_2 = 20, kCupti12_3 = 21, kCupti12_4 = 22, kCupti12_5 = 23, kCupti12_8 = 26,
                          kCupti12_9 = 27, kCupti13_0 = 130000, kCupti13_1 = 130100, kCupti13_2 = 130200,
                          kCupti13_3 = 130300, kCupti13_4 = 130400, kCupti13_5 = 130500;
// Nothing is known of what comes with this one; before it, records may have grown.
inline constexpr uint32_t kCuptiUnknown = 140000;
// "CUPTI of CUDA 12.4".
std::string CuptiName(uint32_t version);

template <typename T>
struct Field {
  uint16_t at;
  constexpr size_t end() const { return at + sizeof(T); }
};
using UuidBytes = std::array<uint8_t, 16>;

// Bytes that may be anything, read field by field.
class ActivityRecord {
 public:
  ActivityRecord(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  size_t size() const { return size_; }
  // `absent` where the record ends before the field.
  template <typename T>
  T Get(Field<T> field, T absent = T{}) const {
    if (field.end() > size_) return absent;
    T value;
    std::memcpy(&value, data_ + field.at, sizeof(T));
    return value;
  }

 private:
  const uint8_t* data_;
  size_t size_;
};

struct KernelFields {
  static constexpr Field<uint8_t> cache_config{4};
  static constexpr Field<uint16_t> registers{6};
  static constexpr Field<uint64_t> start{16}, end{24};
  static constexpr Field<uint32_t> device{40}, context{44}, stream{48};
  static constexpr Field<std::array<int32_t, 3>> grid{52}, block{64};
  static constexpr Field<int32_t> static_shared{76}, dynamic_shared{80};
  static constexpr Field<uint32_t> local_per_thread{84}, correlation{92};
  static constexpr Field<int64_t> grid_id{96};
  static constexpr Field<const char*> name{104};
  static constexpr Field<uint8_t> launch_type{136}, carveout_requested{137}, carveout{138};
  static constexpr Field<uint32_t> shared_executed{140};
  static constexpr Field<uint64_t> graph_node{144};
  static constexpr Field<uint32_t> shared_limit{152}, graph{156};
  static constexpr Field<std::array<uint32_t, 3>> cluster{176};
  static constexpr Field<uint32_t> cluster_policy{188};
  static constexpr Field<uint64_t> local_total{192};
  static constexpr Field<uint32_t> max_cluster_size{200}, max_active_clusters{204};
};

struct MemcpyFields {
  static constexpr Field<uint8_t> copy_kind{4}, src_kind{5}, dst_kind{6};
  static constexpr Field<uint64_t> bytes{8}, start{16}, end{24};
  static constexpr Field<uint32_t> device{32}, context{36}, stream{40}, correlation{44};
  static constexpr Field<uint64_t> graph_node{64};
  static constexpr Field<uint64_t> copies{88};  // from 12.8
};

// Between devices; what begins like other copies is read as such.
struct PeerCopyFields {
  static constexpr Field<uint32_t> src_device{44}, src_context{48}, dst_device{52}, dst_context{56},
      correlation{60};
  static constexpr Field<uint64_t> graph_node{72};
};

struct MemsetFields {
  static constexpr Field<uint32_t> value{4};
  static constexpr Field<uint64_t> bytes{8}, start{16}, end{24};
  static constexpr Field<uint32_t> device{32}, context{36}, stream{40}, correlation{44};
  static constexpr Field<uint16_t> memory_kind{50};
  static constexpr Field<uint64_t> graph_node{64};
};

struct CallFields {
  static constexpr Field<uint32_t> function{4};
  static constexpr Field<uint64_t> start{8}, end{16};
  static constexpr Field<uint32_t> thread{28}, correlation{32}, result{36};
};

struct SyncFields {
  static constexpr Field<uint32_t> type{4};
  static constexpr Field<uint64_t> start{8}, end{16};
  static constexpr Field<uint32_t> correlation{24}, context{28}, stream{32}, event{36};
  static constexpr Field<uint64_t> event_sync{40};  // from 12.8
};

struct CudaEventFields {
  static constexpr Field<uint32_t> correlation{4}, context{8}, stream{12}, event{16};
  static constexpr Field<uint32_t> device{24};  // this and what follows from 12.8
  static constexpr Field<uint64_t> time{40}, event_sync{48};
};

struct OverheadFields {
  static constexpr Field<uint32_t> type{4}, object{8};
  static constexpr Field<uint32_t> thread{16};  // where the object is one
  static constexpr Field<uint64_t> start{24}, end{32};
  static constexpr Field<uint32_t> correlation{40};  // from 12.3
};

struct ExternalCorrelationFields {
  static constexpr Field<uint32_t> kind{4};
  static constexpr Field<uint64_t> id{8};
  static constexpr Field<uint32_t> correlation{16};
};

struct GraphTraceFields {
  static constexpr Field<uint32_t> correlation{4};
  static constexpr Field<uint64_t> start{8}, end{16};
  static constexpr Field<uint32_t> device{24}, graph{28}, context{32}, stream{36};
};

struct NvlinkFields {
  static constexpr Field<uint32_t> version{4}, type0{8}, type1{12};
  static constexpr Field<UuidBytes> uuid0{16}, uuid1{32};
  static constexpr Field<uint32_t> npu0{16}, npu1{32};
  static constexpr Field<uint32_t> flags{48}, links{52};
  static constexpr Field<uint64_t> bandwidth{120};
  static constexpr Field<uint8_t> through_switch{128};
};
// The ports, which lie before these two, became addresses.
struct NvlinkFields13_2 {
  static constexpr Field<uint64_t> bandwidth{72};
  static constexpr Field<uint8_t> through_switch{80};
};

struct DeviceFields {
  static constexpr Field<uint64_t> memory_bandwidth{8}, memory_bytes{16};
  static constexpr Field<uint32_t> constant_memory{24}, l2_bytes{28}, threads_per_warp{32}, clock_khz{36},
      copy_engines{40}, processors{44}, max_ipc{48}, max_warps{52}, max_blocks{56},
      max_shared_per_processor{60}, max_registers{64}, max_registers_per_block{68}, max_shared_per_block{72},
      max_threads{76};
  static constexpr Field<std::array<uint32_t, 3>> max_block{80}, max_grid{92};
  static constexpr Field<uint32_t> compute_major{104}, compute_minor{108}, id{112};
  static constexpr Field<UuidBytes> uuid{120};
  static constexpr Field<const char*> name{136};
  static constexpr Field<uint8_t> visible{144}, mig{145};
  static constexpr Field<uint32_t> instance{152};
  static constexpr Field<UuidBytes> instance_uuid{160};
  static constexpr Field<uint32_t> is_numa_node{176}, numa_node{180};
};

struct ContextFields {
  static constexpr Field<uint32_t> context{4}, device{8};
  static constexpr Field<uint16_t> null_stream{14};
  static constexpr Field<uint32_t> parent{16};      // from 12.4
  static constexpr Field<uint8_t> is_green{20};     // from 12.4
  static constexpr Field<uint16_t> processors{22};  // from 12.5, padding before
};

struct StreamFields {
  static constexpr Field<uint32_t> context{4}, stream{8};
  static constexpr Field<int32_t> priority{12};
  static constexpr Field<uint32_t> flag{16};
};

// From this version on, a record of this kind has so many bytes.
struct KnownSize {
  cupti::Kind kind;
  uint32_t since;
  uint16_t bytes;
};
// The kinds that are read, those of one together, in the order of versions.
inline constexpr KnownSize kKnownSizes[] = {
    {cupti::kMemcpy, kCupti12_2, 88},
    {cupti::kMemcpy, kCupti12_8, 96},
    {cupti::kMemcpy, kCupti13_4, 112},
    {cupti::kMemset, kCupti12_2, 88},
    {cupti::kMemset, kCupti13_4, 104},
    {cupti::kKernel, kCupti12_2, 208},
    {cupti::kKernel, kCupti13_0, 216},
    {cupti::kKernel, kCupti13_1, 224},
    {cupti::kKernel, kCupti13_3, 232},
    {cupti::kKernel, kCupti13_4, 248},
    {cupti::kDriver, kCupti12_2, 40},
    {cupti::kRuntime, kCupti12_2, 40},
    {cupti::kDevice, kCupti12_2, 184},
    {cupti::kDevice, kCupti13_2, 192},
    {cupti::kContext, kCupti12_2, 16},
    {cupti::kContext, kCupti12_4, 24},
    {cupti::kContext, kCupti12_5, 32},
    {cupti::kContext, kCupti13_1, 40},
    {cupti::kConcurrentKernel, kCupti12_2, 208},
    {cupti::kConcurrentKernel, kCupti13_0, 216},
    {cupti::kConcurrentKernel, kCupti13_1, 224},
    {cupti::kConcurrentKernel, kCupti13_3, 232},
    {cupti::kConcurrentKernel, kCupti13_4, 248},
    {cupti::kOverhead, kCupti12_2, 40},
    {cupti::kOverhead, kCupti12_3, 48},
    {cupti::kOverhead, kCupti12_4, 56},
    {cupti::kMemcpy2, kCupti12_2, 96},
    {cupti::kCudaEvent, kCupti12_2, 24},
    {cupti::kCudaEvent, kCupti12_8, 56},
    {cupti::kCudaEvent, kCupti13_5, 80},
    {cupti::kStream, kCupti12_2, 24},
    {cupti::kSynchronization, kCupti12_2, 40},
    {cupti::kSynchronization, kCupti12_8, 56},
    {cupti::kExternalCorrelation, kCupti12_2, 24},
    {cupti::kNvlink, kCupti12_2, 136},
    {cupti::kNvlink, kCupti13_2, 88},
    {cupti::kGraphTrace, kCupti12_2, 48},
    {cupti::kGraphTrace, kCupti12_3, 56},
};

// Bytes of a record of `kind` in `version`; 0 for kinds that are not read.
constexpr size_t KnownBytes(cupti::Kind kind, uint32_t version) {
  size_t bytes = 0;
  for (const KnownSize& known : kKnownSizes) {
    if (known.kind == kind && known.since <= version) bytes = known.bytes;
  }
  return bytes;
}

// The shortest record of `kind` that has the fields read here in every version laid out as `version` is.
constexpr size_t LeastBytes(cupti::Kind kind, uint32_t version) {
  const bool anew = kind == cupti::kNvlink && version >= kCupti13_2;
  return KnownBytes(kind, anew ? kCupti13_2 : kCupti12_2);
}

}  // namespace lanescope::profiler
