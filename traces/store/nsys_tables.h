// SPDX-License-Identifier: Apache-2.0
// The tables of the Nsight Systems SQLite export that a trace uses: names, columns, order and nullability are
// that format's. Internal to traces.
#pragma once

#include "traces/store/table.h"

namespace lanescope::traces::tables {

// Columns of several tables.
inline constexpr Column kStart{"start", Need::kAlways, "Start (ns since time zero of the run)."};
inline constexpr Column kEnd{"end", Need::kAlways, "End (ns since time zero of the run)."};
inline constexpr Column kDeviceId{"deviceId", Need::kNotNull, "Device number."};
inline constexpr Column kContextId{"contextId", Need::kNotNull, "Context number."};
inline constexpr Column kGreenContextId{"greenContextId", Need::kOptional, "Green context; NULL: none."};
inline constexpr Column kStreamId{"streamId", Need::kNotNull,
                                  "Stream number; here the queue of the schedule."};
inline constexpr Column kCorrelationId{
    "correlationId", Need::kOptional,
    "Joins the activity to the call that caused it and to LANESCOPE_ACTIVITY."};
inline constexpr Column kGlobalPid{"globalPid", Need::kOptional,
                                   "Run and process: run number << 48 | pid << 24."};
inline constexpr Column kGlobalTid{"globalTid", Need::kOptional, "Run, process and thread: globalPid | tid."};
inline constexpr Column kGraphNodeId{"graphNodeId", Need::kOptional, "Node of a CUDA graph; NULL: none."};
inline constexpr Column kGraphId{"graphId", Need::kOptional, "CUDA graph."};
inline constexpr Column kEventClass{"eventClass", Need::kNotNull, "ENUM_NSYS_EVENT_CLASS.id."};
inline constexpr Column kEventId{"eventId", Need::kNotNull, "CUDA event."};
inline constexpr Column kEventSyncId{"eventSyncId", Need::kOptional,
                                     "Joins a synchronization to the record of its event."};
inline constexpr Column kBytes{"bytes", Need::kNotNull, "Bytes."};
inline constexpr Column kNameId{"nameId", Need::kNotNull, "Name; StringIds.id."};
inline constexpr Column kName{"name", Need::kOptional, "Name."};
inline constexpr Column kValue{"value", Need::kOptional, "Value."};
inline constexpr Column kPriority{"priority", Need::kOptional, "Priority."};
inline constexpr Column kPid{"pid", Need::kOptional, "Process id."};
inline constexpr Column kUuid{"uuid", Need::kOptional, "UUID."};
inline constexpr Column kHwId{"hwId", Need::kNotNull, "Hardware id."};
inline constexpr Column kVmId{"vmId", Need::kNotNull,
                              "Run: its number, in TARGET_INFO_GPU shifted left by 48."};
inline constexpr Column kProcessId{"processId", Need::kNotNull, "Process id."};
inline constexpr Column kNumMultiprocessors{"numMultiprocessors", Need::kOptional,
                                            "Multiprocessors; 0: all."};
inline constexpr Column kUtcEpochNs{"utcEpochNs", Need::kOptional,
                                    "Time zero of the file, ns since 1970 (UTC)."};

constexpr Column Needed(Column column, Need need) {
  column.need = need;
  return column;
}
constexpr Column About(Column column, std::string_view doc) {
  column.doc = doc;
  return column;
}

struct StringIds : TableOf<StringIds> {
  constexpr StringIds() : TableOf("StringIds", "Texts that other tables refer to by number.") {}
  Integer id{this, {"id", Need::kPrimaryKey, "Number of the text."}};
  Text value{this, {kValue.name, Need::kAlways, "Text."}};
};
inline constexpr StringIds kStringIds;

struct Processes : TableOf<Processes> {
  constexpr Processes() : TableOf("PROCESSES", "Processes, one row a run here.") {}
  Integer global_pid{this, kGlobalPid};
  Integer pid{this, kPid};
  Text name{this, kName};
};
inline constexpr Processes kProcesses;

struct ThreadNames : TableOf<ThreadNames> {
  constexpr ThreadNames() : TableOf("ThreadNames", "Names of threads.") {}
  Integer name{this, Needed(kNameId, Need::kAlways)};
  Integer priority{this, kPriority};
  Integer global_tid{this, kGlobalTid};
};
inline constexpr ThreadNames kThreadNames;

template <typename T>
struct MetaData : TableOf<T> {
  using TableOf<T>::TableOf;
  typename TableOf<T>::Text name{this, Needed(kName, Need::kNotNull)};
  typename TableOf<T>::Text value{this, kValue};
};

struct CaptureMetaData : MetaData<CaptureMetaData> {
  constexpr CaptureMetaData() : MetaData("META_DATA_CAPTURE", "How the trace was captured.") {}
};
inline constexpr CaptureMetaData kCaptureMetaData;

struct ExportMetaData : MetaData<ExportMetaData> {
  constexpr ExportMetaData() : MetaData("META_DATA_EXPORT", "What wrote the file.") {}
};
inline constexpr ExportMetaData kExportMetaData;
// A name in it, of imports: some of their times are made here, of orders and lengths.
inline constexpr std::string_view kLaidOut = "LANESCOPE_LAID_OUT";

struct AnalysisDetails : TableOf<AnalysisDetails> {
  constexpr AnalysisDetails() : TableOf("ANALYSIS_DETAILS", "Length of the session.") {}
  Integer global_vid{this, {"globalVid", Need::kNotNull, "Run number << 48."}};
  Integer duration{this, {"duration", Need::kNotNull, "Length of the session (ns)."}};
  Integer start_time{this, {"startTime", Need::kNotNull, "Start of the session (ns of the system clock)."}};
  Integer stop_time{this, {"stopTime", Need::kNotNull, "End of the session (ns of the system clock)."}};
};
inline constexpr AnalysisDetails kAnalysisDetails;

struct SessionStart : TableOf<SessionStart> {
  constexpr SessionStart()
      : TableOf("TARGET_INFO_SESSION_START_TIME",
                "What time zero is: that of the first run here; every run has its own in LANESCOPE_RUN.") {}
  Integer utc_epoch{this, kUtcEpochNs};
  Text utc_time{this, {"utcTime", Need::kOptional, "The same as text."}};
  Text local_time{this, {"localTime", Need::kOptional, "The same in local time."}};
  Integer system_clock{this, {"systemClockNs", Need::kOptional, "Time zero on CLOCK_MONOTONIC (ns)."}};
  Integer counter{this, {"sessionStartCntVctNs", Need::kOptional, "Time zero on the hardware counter (ns)."}};
};
inline constexpr SessionStart kSessionStart;

struct Gpu : TableOf<Gpu> {
  constexpr Gpu() : TableOf("TARGET_INFO_GPU", "GPUs of a run.") {}
  Integer vm{this, kVmId};
  Id id{this, {kStringIds[kStringIds.id].name, Need::kAlways, "GPU number."}};
  Text name{this, About(kName, "Model.")};
  Text bus_location{this, {"busLocation", Need::kOptional, "PCI bus location."}};
  Integer is_discrete{this, {"isDiscrete", Need::kOptional, "1: a card of its own."}};
  Integer l2_bytes{this, {"l2CacheSize", Need::kOptional, "L2 cache (bytes)."}};
  Size memory_bytes{this, {"totalMemory", Need::kOptional, "Memory (bytes)."}};
  Size memory_bandwidth{this, {"memoryBandwidth", Need::kOptional, "Memory bandwidth (bytes per second)."}};
  Integer clock_hz{this, {"clockRate", Need::kOptional, "Clock (Hz)."}};
  Integer processors{this, {"smCount", Need::kOptional, "Multiprocessors."}};
  Integer pw_gpu{this, {"pwGpuId", Need::kOptional, "Id in hardware metrics."}};
  Text uuid{this, kUuid};
  Integer luid{this, {"luid", Need::kOptional, "LUID."}};
  Text chip{this, {"chipName", Need::kOptional, "Chip."}};
  Integer cuda_device{this, {"cuDevice", Need::kOptional, "CUDA device number."}};
  Text switch_device_path{this, {"ctxswDevPath", Need::kOptional, "Device path of context switches."}};
  Text control_device_path{this, {"ctrlDevPath", Need::kOptional, "Device path of control."}};
  Integer revision{this, {"revision", Need::kOptional, "Chip revision."}};
  Integer node_mask{this, {"nodeMask", Need::kOptional, "Node mask."}};
  Integer constant_memory{this, {"constantMemory", Need::kOptional, "Constant memory (bytes)."}};
  Integer max_ipc{this, {"maxIPC", Need::kOptional, "Instructions per clock at most."}};
  Integer max_registers_per_block{this,
                                  {"maxRegistersPerBlock", Need::kOptional, "Registers per block at most."}};
  Integer max_shared_per_block{
      this, {"maxShmemPerBlock", Need::kOptional, "Shared memory per block at most (bytes)."}};
  Integer max_shared_opt_in{this,
                            {"maxShmemPerBlockOptin", Need::kOptional, "The same with opt-in (bytes)."}};
  Integer max_shared_per_processor{
      this, {"maxShmemPerSm", Need::kOptional, "Shared memory per multiprocessor (bytes)."}};
  Integer max_registers{this, {"maxRegistersPerSm", Need::kOptional, "Registers per multiprocessor."}};
  Integer threads_per_warp{this, {"threadsPerWarp", Need::kOptional, "Threads per warp."}};
  Integer copy_engines{this, {"asyncEngines", Need::kOptional, "Copy engines."}};
  Integer max_warps{this, {"maxWarpsPerSm", Need::kOptional, "Warps per multiprocessor at most."}};
  Integer max_blocks{this, {"maxBlocksPerSm", Need::kOptional, "Blocks per multiprocessor at most."}};
  Integer max_threads{this, {"maxThreadsPerBlock", Need::kOptional, "Threads per block at most."}};
  Integer max_block_x{this, {"maxBlockDimX", Need::kOptional, "Block size at most, x."}};
  Integer max_block_y{this, {"maxBlockDimY", Need::kOptional, "Block size at most, y."}};
  Integer max_block_z{this, {"maxBlockDimZ", Need::kOptional, "Block size at most, z."}};
  Integer max_grid_x{this, {"maxGridDimX", Need::kOptional, "Grid size at most, x."}};
  Integer max_grid_y{this, {"maxGridDimY", Need::kOptional, "Grid size at most, y."}};
  Integer max_grid_z{this, {"maxGridDimZ", Need::kOptional, "Grid size at most, z."}};
  Integer compute_major{this, {"computeMajor", Need::kOptional, "Compute capability, major."}};
  Integer compute_minor{this, {"computeMinor", Need::kOptional, "Compute capability, minor."}};
  Integer architecture_major{this, {"smMajor", Need::kOptional, "Architecture, major."}};
  Integer architecture_minor{this, {"smMinor", Need::kOptional, "Architecture, minor."}};
  Integer numa_node{this, {"numaNodeId", Need::kOptional, "NUMA node."}};
};
inline constexpr Gpu kGpu;

struct CudaDevice : TableOf<CudaDevice> {
  constexpr CudaDevice() : TableOf("TARGET_INFO_CUDA_DEVICE", "Which GPU a process calls by which number.") {}
  Id gpu{this, {"gpuId", Need::kOptional, "TARGET_INFO_GPU.id."}};
  Id cuda{this, {"cudaId", Need::kNotNull, "CUDA device number in the process."}};
  Integer pid{this, Needed(kPid, Need::kNotNull)};
  Text uuid{this, kUuid};
  Integer processors{this, kNumMultiprocessors};
};
inline constexpr CudaDevice kCudaDevice;

struct CudaContext : TableOf<CudaContext> {
  constexpr CudaContext() : TableOf("TARGET_INFO_CUDA_CONTEXT_INFO", "Contexts: one a device here.") {}
  Integer null_stream{this, {"nullStreamId", Need::kNotNull, "Stream of the default stream."}};
  Integer hw{this, kHwId};
  Integer vm{this, kVmId};
  Integer process{this, kProcessId};
  Id device{this, kDeviceId};
  Integer context{this, kContextId};
  Integer parent{this, {"parentContextId", Need::kOptional, "Context that this one was carved from."}};
  Integer is_green{this, {"isGreenContext", Need::kOptional, "1: a green context.", "0"}};
  Integer processors{this, kNumMultiprocessors};
  Integer num_tpcs{this, {"numTpcs", Need::kOptional, "Texture processing clusters."}};
  Text tpc_mask{this, {"tpcMask", Need::kOptional, "Which of them."}};
  Integer queue_resource{this, {"workqueueResourceId", Need::kOptional, "Work queue resource."}};
  Integer queue_limit{this, {"workqueueConcurrencyLimit", Need::kOptional, "Work queue concurrency limit."}};
  Integer queue_scope{this, {"workqueueSharingScope", Need::kOptional, "Work queue sharing scope."}};
  Integer queue_channels{this, {"workqueueChannelCount", Need::kOptional, "Work queue channels."}};
  Text queue_channel_ids{this, {"workqueueChannelIds", Need::kOptional, "Which of them."}};
};
inline constexpr CudaContext kCudaContext;

struct CudaStream : TableOf<CudaStream> {
  constexpr CudaStream() : TableOf("TARGET_INFO_CUDA_STREAM", "Streams: one a queue of the schedule here.") {}
  Id stream{this, kStreamId};
  Integer hw{this, kHwId};
  Integer vm{this, kVmId};
  Integer process{this, kProcessId};
  Integer context{this, kContextId};
  Integer priority{this, Needed(kPriority, Need::kNotNull)};
  Integer flag{this, {"flag", Need::kNotNull, "ENUM_CUPTI_STREAM_TYPE.id."}};
};
inline constexpr CudaStream kCudaStream;

// Activities of a device.
template <typename T>
struct DeviceActivity : TableOf<T> {
  using TableOf<T>::TableOf;
  typename TableOf<T>::Time start{this, kStart};
  typename TableOf<T>::Time end{this, kEnd};
  typename TableOf<T>::Id device{this, kDeviceId};
  typename TableOf<T>::Integer context{this, kContextId};
  typename TableOf<T>::Integer green_context{this, kGreenContextId};
  typename TableOf<T>::Id stream{this, kStreamId};
  typename TableOf<T>::Integer correlation{this, kCorrelationId};
  typename TableOf<T>::Integer global_pid{this, kGlobalPid};
};

struct Kernel : DeviceActivity<Kernel> {
  constexpr Kernel()
      : DeviceActivity("CUPTI_ACTIVITY_KIND_KERNEL",
                       "Kernels, and every other launch of an op. Launches on devices that are no GPU have a "
                       "deviceId after "
                       "those of the GPUs.") {}
  Integer full_name{this, {"demangledName", Need::kNotNull, "Full name; StringIds.id. Here: the node."}};
  Integer short_name{this, {"shortName", Need::kNotNull, "Base name; StringIds.id. Here: the op type."}};
  Integer mangled_name{this, {"mangledName", Need::kOptional, "Raw name; StringIds.id."}};
  Integer launch_type{this, {"launchType", Need::kOptional, "ENUM_CUDA_KERNEL_LAUNCH_TYPE.id.", "1"}};
  Integer cache_config{this, {"cacheConfig", Need::kOptional, "ENUM_CUDA_FUNC_CACHE_CONFIG.id."}};
  Integer registers{this, {"registersPerThread", Need::kNotNull, "Registers per thread."}};
  Integer grid_x{this, {"gridX", Need::kNotNull, "Grid size, x.", "1"}};
  Integer grid_y{this, {"gridY", Need::kNotNull, "Grid size, y.", "1"}};
  Integer grid_z{this, {"gridZ", Need::kNotNull, "Grid size, z.", "1"}};
  Integer block_x{this, {"blockX", Need::kNotNull, "Block size, x.", "1"}};
  Integer block_y{this, {"blockY", Need::kNotNull, "Block size, y.", "1"}};
  Integer block_z{this, {"blockZ", Need::kNotNull, "Block size, z.", "1"}};
  Integer static_shared{this, {"staticSharedMemory", Need::kNotNull, "Static shared memory (bytes)."}};
  Integer dynamic_shared{this, {"dynamicSharedMemory", Need::kNotNull, "Dynamic shared memory (bytes)."}};
  Integer local_per_thread{this,
                           {"localMemoryPerThread", Need::kNotNull, "Local memory per thread (bytes)."}};
  Integer local_total{this, {"localMemoryTotal", Need::kNotNull, "Local memory in total (bytes)."}};
  Integer grid{this, {"gridId", Need::kNotNull, "Number of the launch."}};
  Integer shared_executed{
      this, {"sharedMemoryExecuted", Need::kOptional, "Shared memory set by the driver (bytes)."}};
  Integer graph_node{this, kGraphNodeId};
  Integer shared_limit{this,
                       {"sharedMemoryLimitConfig", Need::kOptional, "ENUM_CUDA_SHARED_MEM_LIMIT_CONFIG.id."}};
  Integer bulk_release_done{this, {"qmdBulkReleaseDone", Need::kOptional, "Release of dependent work (ns)."}};
  Integer pre_exit_done{this, {"qmdPreexitDone", Need::kOptional, "Pre-exit (ns)."}};
  Integer last_block_done{this, {"qmdLastCtaDone", Need::kOptional, "End of the last block (ns)."}};
  Integer graph{this, kGraphId};
  Integer cluster_x{this, {"clusterX", Need::kOptional, "Cluster size, x."}};
  Integer cluster_y{this, {"clusterY", Need::kOptional, "Cluster size, y."}};
  Integer cluster_z{this, {"clusterZ", Need::kOptional, "Cluster size, z."}};
  Integer cluster_policy{this, {"clusterSchedulingPolicy", Need::kOptional, "Cluster scheduling policy."}};
  Integer max_cluster_size{this, {"maxPotentialClusterSize", Need::kOptional, "Largest cluster possible."}};
  Integer max_active_clusters{this,
                              {"maxActiveClusters", Need::kOptional, "Clusters active at once at most."}};
  Integer shared_percent{
      this, {"sharedMemoryRequestedPercentage", Need::kOptional, "Shared memory share asked for (percent)."}};
  Text tensor_sizes{this, {"tensorSizeMinusOneElements", Need::kNotNull, "Tensor sizes.", "''"}};
};
inline constexpr Kernel kKernel;

struct Memcpy : DeviceActivity<Memcpy> {
  constexpr Memcpy() : DeviceActivity("CUPTI_ACTIVITY_KIND_MEMCPY", "Copies.") {}
  Size bytes{this, kBytes};
  Integer copy_kind{this, {"copyKind", Need::kNotNull, "ENUM_CUDA_MEMCPY_OPER.id."}};
  Integer deprecated_src{this, {"deprecatedSrcId", Need::kOptional, "Use srcDeviceId."}};
  Integer src_kind{this, {"srcKind", Need::kOptional, "Memory at the source; ENUM_CUDA_MEM_KIND.id."}};
  Integer dst_kind{this, {"dstKind", Need::kOptional, "Memory at the destination; ENUM_CUDA_MEM_KIND.id."}};
  Id src_device{this, {"srcDeviceId", Need::kOptional, "Source device."}};
  Integer src_context{this, {"srcContextId", Need::kOptional, "Source context."}};
  Id dst_device{this, {"dstDeviceId", Need::kOptional, "Destination device."}};
  Integer dst_context{this, {"dstContextId", Need::kOptional, "Destination context."}};
  Integer migration_cause{this, {"migrationCause", Need::kOptional, "ENUM_CUDA_UNIF_MEM_MIGRATION.id."}};
  Integer graph_node{this, kGraphNodeId};
  Integer virtual_address{this, {"virtualAddress", Need::kOptional, "Address of the pages moved."}};
  Integer copies{this, {"copyCount", Need::kOptional, "Copies in this record.", "1"}};
};
inline constexpr Memcpy kMemcpy;

struct Memset : DeviceActivity<Memset> {
  constexpr Memset() : DeviceActivity("CUPTI_ACTIVITY_KIND_MEMSET", "Memory set operations.") {}
  Integer value{this, {kValue.name, Need::kNotNull, "Byte or word written."}};
  Size bytes{this, kBytes};
  Integer graph_node{this, kGraphNodeId};
  Integer memory_kind{this, {"memKind", Need::kOptional, "ENUM_CUDA_MEM_KIND.id."}};
};
inline constexpr Memset kMemset;

struct ApiCall : TableOf<ApiCall> {
  constexpr ApiCall() : TableOf("CUPTI_ACTIVITY_KIND_RUNTIME", "CUDA API calls.") {}
  Time start{this, kStart};
  Time end{this, kEnd};
  Integer event_class{this, kEventClass};
  Integer global_tid{this, kGlobalTid};
  Integer correlation{this, kCorrelationId};
  Integer name{this, kNameId};
  Integer result{this, {"returnValue", Need::kNotNull, "Result of the call; 0: success."}};
  Integer call_chain{this, {"callchainId", Need::kOptional, "Call stack."}};
};
inline constexpr ApiCall kApiCall;

struct Synchronization : DeviceActivity<Synchronization> {
  constexpr Synchronization() : DeviceActivity("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "Synchronizations.") {}
  Integer deprecated_type{this, {"deprecatedSyncType", Need::kOptional, "Use syncType."}};
  Integer type{this, {"syncType", Need::kNotNull, "ENUM_CUPTI_SYNC_TYPE.id."}};
  Integer event{this, kEventId};
  Integer event_sync{this, kEventSyncId};
};
inline constexpr Synchronization kSynchronization;

struct CudaEvent : TableOf<CudaEvent> {
  constexpr CudaEvent() : TableOf("CUPTI_ACTIVITY_KIND_CUDA_EVENT", "CUDA events.") {}
  Time time{this, {"timestamp", Need::kOptional, "When the event completed (ns)."}};
  Id device{this, kDeviceId};
  Integer context{this, kContextId};
  Integer green_context{this, kGreenContextId};
  Id stream{this, kStreamId};
  Integer correlation{this, kCorrelationId};
  Integer global_pid{this, kGlobalPid};
  Integer event{this, kEventId};
  Integer event_sync{this, kEventSyncId};
};
inline constexpr CudaEvent kCudaEvent;

struct GraphTrace : DeviceActivity<GraphTrace> {
  constexpr GraphTrace() : DeviceActivity("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "CUDA graph launches.") {}
  Integer graph{this, Needed(kGraphId, Need::kNotNull)};
  Integer executable{this, {"graphExecId", Need::kNotNull, "Executable CUDA graph."}};
};
inline constexpr GraphTrace kGraphTrace;

struct Overhead : TableOf<Overhead> {
  constexpr Overhead() : TableOf("CUPTI_ACTIVITY_KIND_OVERHEAD", "Overheads of the profiler.") {}
  Time start{this, kStart};
  Time end{this, kEnd};
  Integer event_class{this, kEventClass};
  Integer global_tid{this, kGlobalTid};
  Integer correlation{this, kCorrelationId};
  Integer name{this, Needed(kNameId, Need::kOptional)};
  Integer type{this, {"overheadType", Need::kNotNull, "ENUM_CUPTI_OVERHEAD_TYPE.id."}};
};
inline constexpr Overhead kOverhead;

struct NvtxEvent : TableOf<NvtxEvent> {
  constexpr NvtxEvent() : TableOf("NVTX_EVENTS", "Ranges and marks that programs set.") {}
  Time start{this, kStart};
  Time end{
      this,
      {kEnd.name, Need::kOptional, "End (ns since time zero of the run); NULL: a mark, or never ended."}};
  Integer type{this, {"eventType", Need::kNotNull, "ENUM_NSYS_EVENT_TYPE.id."}};
  Integer range{this, {"rangeId", Need::kOptional, "Number of a start/end range."}};
  Integer category{this, {"category", Need::kOptional, "Category."}};
  Integer color{this, {"color", Need::kOptional, "Color (ARGB)."}};
  Text text{this, {"text", Need::kOptional, "Text of the range."}};
  Integer global_tid{this, kGlobalTid};
  Integer end_global_tid{this, {"endGlobalTid", Need::kOptional, "The thread that ended a start/end range."}};
  Integer text_id{this, {"textId", Need::kOptional, "Text of the range where `text` is NULL; StringIds.id."}};
  Integer domain{this, {"domainId", Need::kOptional, "Domain; 0: the default one."}};
  Integer uint64_value{this, {"uint64Value", Need::kOptional, "Payload."}};
  Integer int64_value{this, {"int64Value", Need::kOptional, "Payload."}};
  Real double_value{this, {"doubleValue", Need::kOptional, "Payload."}};
  Integer uint32_value{this, {"uint32Value", Need::kOptional, "Payload."}};
  Integer int32_value{this, {"int32Value", Need::kOptional, "Payload."}};
  Real float_value{this, {"floatValue", Need::kOptional, "Payload."}};
  Integer json_text_id{this, {"jsonTextId", Need::kOptional, "Payload as JSON; StringIds.id."}};
  Text json_text{this, {"jsonText", Need::kOptional, "Payload as JSON."}};
  Text binary_data{this, {"binaryData", Need::kOptional, "Payload."}};
  Integer event{this, {kEventId.name, Need::kPrimaryKey, "Number of the event."}};
};
inline constexpr NvtxEvent kNvtxEvent;

inline constexpr const Table* kNsys[] = {
    &kStringIds,       &kProcesses,    &kThreadNames, &kCaptureMetaData, &kExportMetaData,
    &kAnalysisDetails, &kSessionStart, &kGpu,         &kCudaDevice,      &kCudaContext,
    &kCudaStream,      &kKernel,       &kMemcpy,      &kMemset,          &kApiCall,
    &kSynchronization, &kCudaEvent,    &kGraphTrace,  &kOverhead,        &kNvtxEvent};

}  // namespace lanescope::traces::tables
