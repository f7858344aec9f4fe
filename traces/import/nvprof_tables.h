// SPDX-License-Identifier: Apache-2.0
// The tables of nvprof's output that an import reads. Internal to traces.
#pragma once

#include "traces/store/table.h"

namespace lanescope::traces::tables {

struct NvprofText : TableOf<NvprofText> {
  constexpr NvprofText() : TableOf("StringTable", "Texts.") {}
  Integer id{this, {"_id_", Need::kAlways, "Number of the text."}};
  Text value{this, {"value", Need::kOptional, "Text."}};
};
inline constexpr NvprofText kNvprofText;

template <typename T>
struct NvprofActivity : TableOf<T> {
  using TableOf<T>::TableOf;
  typename TableOf<T>::Time start{this, {"start", Need::kAlways, "Start (ns)."}};
  typename TableOf<T>::Time end{this, {"end", Need::kAlways, "End (ns)."}};
  typename TableOf<T>::Integer device{this, {"deviceId", Need::kOptional, "Device."}};
  typename TableOf<T>::Integer context{this, {"contextId", Need::kOptional, "Context."}};
  typename TableOf<T>::Integer stream{this, {"streamId", Need::kOptional, "Stream."}};
  typename TableOf<T>::Integer correlation{this, {"correlationId", Need::kOptional, "The call."}};
};

struct NvprofKernel : NvprofActivity<NvprofKernel> {
  explicit constexpr NvprofKernel(std::string_view table) : NvprofActivity(table, "Kernels.") {}
  Integer name{this, {"name", Need::kAlways, "StringTable._id_, as the compiler mangled it."}};
  Integer registers{this, {"registersPerThread", Need::kOptional, ""}};
  Integer grid_x{this, {"gridX", Need::kOptional, ""}};
  Integer grid_y{this, {"gridY", Need::kOptional, ""}};
  Integer grid_z{this, {"gridZ", Need::kOptional, ""}};
  Integer block_x{this, {"blockX", Need::kOptional, ""}};
  Integer block_y{this, {"blockY", Need::kOptional, ""}};
  Integer block_z{this, {"blockZ", Need::kOptional, ""}};
  Integer static_shared{this, {"staticSharedMemory", Need::kOptional, ""}};
  Integer dynamic_shared{this, {"dynamicSharedMemory", Need::kOptional, ""}};
};
inline constexpr NvprofKernel kNvprofConcurrentKernel{"CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL"};

struct NvprofCopy : NvprofActivity<NvprofCopy> {
  explicit constexpr NvprofCopy(std::string_view table) : NvprofActivity(table, "Copies.") {}
  Integer kind{this, {"copyKind", Need::kAlways, "CUpti_ActivityMemcpyKind."}};
  Integer src_kind{this, {"srcKind", Need::kOptional, "CUpti_ActivityMemoryKind."}};
  Integer dst_kind{this, {"dstKind", Need::kOptional, "CUpti_ActivityMemoryKind."}};
  Size bytes{this, {"bytes", Need::kOptional, ""}};
  Integer src_device{this, {"srcDeviceId", Need::kOptional, "Of copies between devices."}};
  Integer dst_device{this, {"dstDeviceId", Need::kOptional, "Of copies between devices."}};
};
inline constexpr NvprofCopy kNvprofCopy{"CUPTI_ACTIVITY_KIND_MEMCPY"};
inline constexpr NvprofCopy kNvprofPeerCopy{"CUPTI_ACTIVITY_KIND_MEMCPY2"};

struct NvprofMemset : NvprofActivity<NvprofMemset> {
  constexpr NvprofMemset() : NvprofActivity("CUPTI_ACTIVITY_KIND_MEMSET", "Memory sets.") {}
  Size bytes{this, {"bytes", Need::kOptional, ""}};
};
inline constexpr NvprofMemset kNvprofMemset;

struct NvprofSync : NvprofActivity<NvprofSync> {
  constexpr NvprofSync() : NvprofActivity("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "Synchronisations.") {}
  Integer type{this, {"type", Need::kAlways, "CUpti_ActivitySynchronizationType."}};
};
inline constexpr NvprofSync kNvprofSync;

struct NvprofCall : TableOf<NvprofCall> {
  explicit constexpr NvprofCall(std::string_view table) : TableOf(table, "API calls.") {}
  Time start{this, {"start", Need::kAlways, "Start (ns)."}};
  Time end{this, {"end", Need::kAlways, "End (ns)."}};
  Integer function{this, {"cbid", Need::kAlways, "Which function."}};
  Integer process{this, {"processId", Need::kOptional, ""}};
  Integer thread{this, {"threadId", Need::kOptional, ""}};
  Integer correlation{this, {"correlationId", Need::kOptional, ""}};
};
inline constexpr NvprofCall kNvprofRuntimeCall{"CUPTI_ACTIVITY_KIND_RUNTIME"};
inline constexpr NvprofCall kNvprofDriverCall{"CUPTI_ACTIVITY_KIND_DRIVER"};

struct NvprofDevice : TableOf<NvprofDevice> {
  constexpr NvprofDevice() : TableOf("CUPTI_ACTIVITY_KIND_DEVICE", "GPUs.") {}
  Integer id{this, {"id", Need::kAlways, ""}};
  Integer name{this, {"name", Need::kOptional, "StringTable._id_."}};
  Size memory{this, {"globalMemorySize", Need::kOptional, ""}};
  Size processors{this, {"numMultiprocessors", Need::kOptional, ""}};
};
inline constexpr NvprofDevice kNvprofDevice;

// Beginnings and ends of NVTX ranges; read without the reader of tables, since a column holds bytes.
inline constexpr std::string_view kNvprofMarkers = "CUPTI_ACTIVITY_KIND_MARKER";

}  // namespace lanescope::traces::tables
