// The tables of the Nsight Systems SQLite export that a trace uses: names, columns, order and nullability are
// that format's.
#include "traces/schema.h"

namespace lanescope {
namespace {

using enum ColumnType;

constexpr Column kStringIds[] = {
    {"id", kInteger, true, "Number of the text.", ""},
    {"value", kText, true, "Text.", ""},
};

constexpr Column kProcesses[] = {
    {"globalPid", kInteger, false, "Run and process: run number << 48 | pid << 24.", ""},
    {"pid", kInteger, false, "Process id.", ""},
    {"name", kText, false, "Name.", ""},
};

constexpr Column kThreadNames[] = {
    {"nameId", kInteger, true, "Name; StringIds.id.", ""},
    {"priority", kInteger, false, "Priority.", ""},
    {"globalTid", kInteger, false, "Run, process and thread: globalPid | tid.", ""},
};

constexpr Column kMetaDataCapture[] = {
    {"name", kText, true, "Name.", ""},
    {"value", kText, false, "Value.", ""},
};

constexpr Column kMetaDataExport[] = {
    {"name", kText, true, "Name.", ""},
    {"value", kText, false, "Value.", ""},
};

constexpr Column kAnalysisDetails[] = {
    {"globalVid", kInteger, true, "Run number << 48.", ""},
    {"duration", kInteger, true, "Length of the session (ns).", ""},
    {"startTime", kInteger, true, "Start of the session (ns of the system clock).", ""},
    {"stopTime", kInteger, true, "End of the session (ns of the system clock).", ""},
};

constexpr Column kTargetInfoSessionStartTime[] = {
    {"utcEpochNs", kInteger, false, "Time zero of the file, ns since 1970 (UTC).", ""},
    {"utcTime", kText, false, "The same as text.", ""},
    {"localTime", kText, false, "The same in local time.", ""},
    {"systemClockNs", kInteger, false, "Time zero on CLOCK_MONOTONIC (ns).", ""},
    {"sessionStartCntVctNs", kInteger, false, "Time zero on the hardware counter (ns).", ""},
};

constexpr Column kTargetInfoGpu[] = {
    {"vmId", kInteger, true, "Run: its number, in TARGET_INFO_GPU shifted left by 48.", ""},
    {"id", kInteger, true, "GPU number.", ""},
    {"name", kText, false, "Model.", ""},
    {"busLocation", kText, false, "PCI bus location.", ""},
    {"isDiscrete", kInteger, false, "1: a card of its own.", ""},
    {"l2CacheSize", kInteger, false, "L2 cache (bytes).", ""},
    {"totalMemory", kInteger, false, "Memory (bytes).", ""},
    {"memoryBandwidth", kInteger, false, "Memory bandwidth (bytes per second).", ""},
    {"clockRate", kInteger, false, "Clock (Hz).", ""},
    {"smCount", kInteger, false, "Multiprocessors.", ""},
    {"pwGpuId", kInteger, false, "Id in hardware metrics.", ""},
    {"uuid", kText, false, "UUID.", ""},
    {"luid", kInteger, false, "LUID.", ""},
    {"chipName", kText, false, "Chip.", ""},
    {"cuDevice", kInteger, false, "CUDA device number.", ""},
    {"ctxswDevPath", kText, false, "Device path of context switches.", ""},
    {"ctrlDevPath", kText, false, "Device path of control.", ""},
    {"revision", kInteger, false, "Chip revision.", ""},
    {"nodeMask", kInteger, false, "Node mask.", ""},
    {"constantMemory", kInteger, false, "Constant memory (bytes).", ""},
    {"maxIPC", kInteger, false, "Instructions per clock at most.", ""},
    {"maxRegistersPerBlock", kInteger, false, "Registers per block at most.", ""},
    {"maxShmemPerBlock", kInteger, false, "Shared memory per block at most (bytes).", ""},
    {"maxShmemPerBlockOptin", kInteger, false, "The same with opt-in (bytes).", ""},
    {"maxShmemPerSm", kInteger, false, "Shared memory per multiprocessor (bytes).", ""},
    {"maxRegistersPerSm", kInteger, false, "Registers per multiprocessor.", ""},
    {"threadsPerWarp", kInteger, false, "Threads per warp.", ""},
    {"asyncEngines", kInteger, false, "Copy engines.", ""},
    {"maxWarpsPerSm", kInteger, false, "Warps per multiprocessor at most.", ""},
    {"maxBlocksPerSm", kInteger, false, "Blocks per multiprocessor at most.", ""},
    {"maxThreadsPerBlock", kInteger, false, "Threads per block at most.", ""},
    {"maxBlockDimX", kInteger, false, "Block size at most, x.", ""},
    {"maxBlockDimY", kInteger, false, "Block size at most, y.", ""},
    {"maxBlockDimZ", kInteger, false, "Block size at most, z.", ""},
    {"maxGridDimX", kInteger, false, "Grid size at most, x.", ""},
    {"maxGridDimY", kInteger, false, "Grid size at most, y.", ""},
    {"maxGridDimZ", kInteger, false, "Grid size at most, z.", ""},
    {"computeMajor", kInteger, false, "Compute capability, major.", ""},
    {"computeMinor", kInteger, false, "Compute capability, minor.", ""},
    {"smMajor", kInteger, false, "Architecture, major.", ""},
    {"smMinor", kInteger, false, "Architecture, minor.", ""},
    {"numaNodeId", kInteger, false, "NUMA node.", ""},
};

constexpr Column kTargetInfoCudaDevice[] = {
    {"gpuId", kInteger, false, "TARGET_INFO_GPU.id.", ""},
    {"cudaId", kInteger, true, "CUDA device number in the process.", ""},
    {"pid", kInteger, true, "Process id.", ""},
    {"uuid", kText, false, "UUID.", ""},
    {"numMultiprocessors", kInteger, false, "Multiprocessors; 0: all.", ""},
};

constexpr Column kTargetInfoCudaContextInfo[] = {
    {"nullStreamId", kInteger, true, "Stream of the default stream.", ""},
    {"hwId", kInteger, true, "Hardware id.", ""},
    {"vmId", kInteger, true, "Run: its number, in TARGET_INFO_GPU shifted left by 48.", ""},
    {"processId", kInteger, true, "Process id.", ""},
    {"deviceId", kInteger, true, "Device number.", ""},
    {"contextId", kInteger, true, "Context number.", ""},
    {"parentContextId", kInteger, false, "Context that this one was carved from.", ""},
    {"isGreenContext", kInteger, false, "1: a green context.", "0"},
    {"numMultiprocessors", kInteger, false, "Multiprocessors; 0: all.", ""},
    {"numTpcs", kInteger, false, "Texture processing clusters.", ""},
    {"tpcMask", kText, false, "Which of them.", ""},
    {"workqueueResourceId", kInteger, false, "Work queue resource.", ""},
    {"workqueueConcurrencyLimit", kInteger, false, "Work queue concurrency limit.", ""},
    {"workqueueSharingScope", kInteger, false, "Work queue sharing scope.", ""},
    {"workqueueChannelCount", kInteger, false, "Work queue channels.", ""},
    {"workqueueChannelIds", kText, false, "Which of them.", ""},
};

constexpr Column kTargetInfoCudaStream[] = {
    {"streamId", kInteger, true, "Stream number; here the queue of the schedule.", ""},
    {"hwId", kInteger, true, "Hardware id.", ""},
    {"vmId", kInteger, true, "Run: its number, in TARGET_INFO_GPU shifted left by 48.", ""},
    {"processId", kInteger, true, "Process id.", ""},
    {"contextId", kInteger, true, "Context number.", ""},
    {"priority", kInteger, true, "Priority.", ""},
    {"flag", kInteger, true, "ENUM_CUPTI_STREAM_TYPE.id.", ""},
};

constexpr Column kKernel[] = {
    {"start", kInteger, true, "Start (ns since time zero of the run).", ""},
    {"end", kInteger, true, "End (ns since time zero of the run).", ""},
    {"deviceId", kInteger, true, "Device number.", ""},
    {"contextId", kInteger, true, "Context number.", ""},
    {"greenContextId", kInteger, false, "Green context; NULL: none.", ""},
    {"streamId", kInteger, true, "Stream number; here the queue of the schedule.", ""},
    {"correlationId", kInteger, false,
     "Joins the activity to the call that caused it and to LANESCOPE_ACTIVITY.", ""},
    {"globalPid", kInteger, false, "Run and process: run number << 48 | pid << 24.", ""},
    {"demangledName", kInteger, true, "Full name; StringIds.id. Here: the node.", ""},
    {"shortName", kInteger, true, "Base name; StringIds.id. Here: the op type.", ""},
    {"mangledName", kInteger, false, "Raw name; StringIds.id.", ""},
    {"launchType", kInteger, false, "ENUM_CUDA_KERNEL_LAUNCH_TYPE.id.", "1"},
    {"cacheConfig", kInteger, false, "ENUM_CUDA_FUNC_CACHE_CONFIG.id.", ""},
    {"registersPerThread", kInteger, true, "Registers per thread.", ""},
    {"gridX", kInteger, true, "Grid size, x.", "1"},
    {"gridY", kInteger, true, "Grid size, y.", "1"},
    {"gridZ", kInteger, true, "Grid size, z.", "1"},
    {"blockX", kInteger, true, "Block size, x.", "1"},
    {"blockY", kInteger, true, "Block size, y.", "1"},
    {"blockZ", kInteger, true, "Block size, z.", "1"},
    {"staticSharedMemory", kInteger, true, "Static shared memory (bytes).", ""},
    {"dynamicSharedMemory", kInteger, true, "Dynamic shared memory (bytes).", ""},
    {"localMemoryPerThread", kInteger, true, "Local memory per thread (bytes).", ""},
    {"localMemoryTotal", kInteger, true, "Local memory in total (bytes).", ""},
    {"gridId", kInteger, true, "Number of the launch.", ""},
    {"sharedMemoryExecuted", kInteger, false, "Shared memory set by the driver (bytes).", ""},
    {"graphNodeId", kInteger, false, "Node of a CUDA graph; NULL: none.", ""},
    {"sharedMemoryLimitConfig", kInteger, false, "ENUM_CUDA_SHARED_MEM_LIMIT_CONFIG.id.", ""},
    {"qmdBulkReleaseDone", kInteger, false, "Release of dependent work (ns).", ""},
    {"qmdPreexitDone", kInteger, false, "Pre-exit (ns).", ""},
    {"qmdLastCtaDone", kInteger, false, "End of the last block (ns).", ""},
    {"graphId", kInteger, false, "CUDA graph.", ""},
    {"clusterX", kInteger, false, "Cluster size, x.", ""},
    {"clusterY", kInteger, false, "Cluster size, y.", ""},
    {"clusterZ", kInteger, false, "Cluster size, z.", ""},
    {"clusterSchedulingPolicy", kInteger, false, "Cluster scheduling policy.", ""},
    {"maxPotentialClusterSize", kInteger, false, "Largest cluster possible.", ""},
    {"maxActiveClusters", kInteger, false, "Clusters active at once at most.", ""},
    {"sharedMemoryRequestedPercentage", kInteger, false, "Shared memory share asked for (percent).", ""},
    {"tensorSizeMinusOneElements", kText, true, "Tensor sizes.", "''"},
};

constexpr Column kMemcpy[] = {
    {"start", kInteger, true, "Start (ns since time zero of the run).", ""},
    {"end", kInteger, true, "End (ns since time zero of the run).", ""},
    {"deviceId", kInteger, true, "Device number.", ""},
    {"contextId", kInteger, true, "Context number.", ""},
    {"greenContextId", kInteger, false, "Green context; NULL: none.", ""},
    {"streamId", kInteger, true, "Stream number; here the queue of the schedule.", ""},
    {"correlationId", kInteger, false,
     "Joins the activity to the call that caused it and to LANESCOPE_ACTIVITY.", ""},
    {"globalPid", kInteger, false, "Run and process: run number << 48 | pid << 24.", ""},
    {"bytes", kInteger, true, "Bytes.", ""},
    {"copyKind", kInteger, true, "ENUM_CUDA_MEMCPY_OPER.id.", ""},
    {"deprecatedSrcId", kInteger, false, "Use srcDeviceId.", ""},
    {"srcKind", kInteger, false, "Memory at the source; ENUM_CUDA_MEM_KIND.id.", ""},
    {"dstKind", kInteger, false, "Memory at the destination; ENUM_CUDA_MEM_KIND.id.", ""},
    {"srcDeviceId", kInteger, false, "Source device.", ""},
    {"srcContextId", kInteger, false, "Source context.", ""},
    {"dstDeviceId", kInteger, false, "Destination device.", ""},
    {"dstContextId", kInteger, false, "Destination context.", ""},
    {"migrationCause", kInteger, false, "ENUM_CUDA_UNIF_MEM_MIGRATION.id.", ""},
    {"graphNodeId", kInteger, false, "Node of a CUDA graph; NULL: none.", ""},
    {"virtualAddress", kInteger, false, "Address of the pages moved.", ""},
    {"copyCount", kInteger, false, "Copies in this record.", "1"},
};

constexpr Column kMemset[] = {
    {"start", kInteger, true, "Start (ns since time zero of the run).", ""},
    {"end", kInteger, true, "End (ns since time zero of the run).", ""},
    {"deviceId", kInteger, true, "Device number.", ""},
    {"contextId", kInteger, true, "Context number.", ""},
    {"greenContextId", kInteger, false, "Green context; NULL: none.", ""},
    {"streamId", kInteger, true, "Stream number; here the queue of the schedule.", ""},
    {"correlationId", kInteger, false,
     "Joins the activity to the call that caused it and to LANESCOPE_ACTIVITY.", ""},
    {"globalPid", kInteger, false, "Run and process: run number << 48 | pid << 24.", ""},
    {"value", kInteger, true, "Byte or word written.", ""},
    {"bytes", kInteger, true, "Bytes.", ""},
    {"graphNodeId", kInteger, false, "Node of a CUDA graph; NULL: none.", ""},
    {"memKind", kInteger, false, "ENUM_CUDA_MEM_KIND.id.", ""},
};

constexpr Column kRuntime[] = {
    {"start", kInteger, true, "Start (ns since time zero of the run).", ""},
    {"end", kInteger, true, "End (ns since time zero of the run).", ""},
    {"eventClass", kInteger, true, "ENUM_NSYS_EVENT_CLASS.id.", ""},
    {"globalTid", kInteger, false, "Run, process and thread: globalPid | tid.", ""},
    {"correlationId", kInteger, false,
     "Joins the activity to the call that caused it and to LANESCOPE_ACTIVITY.", ""},
    {"nameId", kInteger, true, "Name; StringIds.id.", ""},
    {"returnValue", kInteger, true, "Result of the call; 0: success.", ""},
    {"callchainId", kInteger, false, "Call stack.", ""},
};

constexpr Column kSynchronization[] = {
    {"start", kInteger, true, "Start (ns since time zero of the run).", ""},
    {"end", kInteger, true, "End (ns since time zero of the run).", ""},
    {"deviceId", kInteger, true, "Device number.", ""},
    {"contextId", kInteger, true, "Context number.", ""},
    {"greenContextId", kInteger, false, "Green context; NULL: none.", ""},
    {"streamId", kInteger, true, "Stream number; here the queue of the schedule.", ""},
    {"correlationId", kInteger, false,
     "Joins the activity to the call that caused it and to LANESCOPE_ACTIVITY.", ""},
    {"globalPid", kInteger, false, "Run and process: run number << 48 | pid << 24.", ""},
    {"deprecatedSyncType", kInteger, false, "Use syncType.", ""},
    {"syncType", kInteger, true, "ENUM_CUPTI_SYNC_TYPE.id.", ""},
    {"eventId", kInteger, true, "CUDA event.", ""},
    {"eventSyncId", kInteger, false, "Joins a synchronization to the record of its event.", ""},
};

constexpr Column kCudaEvent[] = {
    {"timestamp", kInteger, false, "When the event completed (ns).", ""},
    {"deviceId", kInteger, true, "Device number.", ""},
    {"contextId", kInteger, true, "Context number.", ""},
    {"greenContextId", kInteger, false, "Green context; NULL: none.", ""},
    {"streamId", kInteger, true, "Stream number; here the queue of the schedule.", ""},
    {"correlationId", kInteger, false,
     "Joins the activity to the call that caused it and to LANESCOPE_ACTIVITY.", ""},
    {"globalPid", kInteger, false, "Run and process: run number << 48 | pid << 24.", ""},
    {"eventId", kInteger, true, "CUDA event.", ""},
    {"eventSyncId", kInteger, false, "Joins a synchronization to the record of its event.", ""},
};

constexpr Column kGraphTrace[] = {
    {"start", kInteger, true, "Start (ns since time zero of the run).", ""},
    {"end", kInteger, true, "End (ns since time zero of the run).", ""},
    {"deviceId", kInteger, true, "Device number.", ""},
    {"contextId", kInteger, true, "Context number.", ""},
    {"greenContextId", kInteger, false, "Green context; NULL: none.", ""},
    {"streamId", kInteger, true, "Stream number; here the queue of the schedule.", ""},
    {"correlationId", kInteger, false,
     "Joins the activity to the call that caused it and to LANESCOPE_ACTIVITY.", ""},
    {"globalPid", kInteger, false, "Run and process: run number << 48 | pid << 24.", ""},
    {"graphId", kInteger, true, "CUDA graph.", ""},
    {"graphExecId", kInteger, true, "Executable CUDA graph.", ""},
};

constexpr Column kOverhead[] = {
    {"start", kInteger, true, "Start (ns since time zero of the run).", ""},
    {"end", kInteger, true, "End (ns since time zero of the run).", ""},
    {"eventClass", kInteger, true, "ENUM_NSYS_EVENT_CLASS.id.", ""},
    {"globalTid", kInteger, false, "Run, process and thread: globalPid | tid.", ""},
    {"correlationId", kInteger, false,
     "Joins the activity to the call that caused it and to LANESCOPE_ACTIVITY.", ""},
    {"nameId", kInteger, false, "Name; StringIds.id.", ""},
    {"overheadType", kInteger, true, "ENUM_CUPTI_OVERHEAD_TYPE.id.", ""},
};

constexpr Column kNvtxEvents[] = {
    {"start", kInteger, true, "Start (ns since time zero of the run).", ""},
    {"end", kInteger, false, "End (ns since time zero of the run); NULL: a mark, or never ended.", ""},
    {"eventType", kInteger, true, "ENUM_NSYS_EVENT_TYPE.id.", ""},
    {"rangeId", kInteger, false, "Number of a start/end range.", ""},
    {"category", kInteger, false, "Category.", ""},
    {"color", kInteger, false, "Color (ARGB).", ""},
    {"text", kText, false, "Text of the range.", ""},
    {"globalTid", kInteger, false, "Run, process and thread: globalPid | tid.", ""},
    {"endGlobalTid", kInteger, false, "The thread that ended a start/end range.", ""},
    {"textId", kInteger, false, "Text of the range where `text` is NULL; StringIds.id.", ""},
    {"domainId", kInteger, false, "Domain; 0: the default one.", ""},
    {"uint64Value", kInteger, false, "Payload.", ""},
    {"int64Value", kInteger, false, "Payload.", ""},
    {"doubleValue", kReal, false, "Payload.", ""},
    {"uint32Value", kInteger, false, "Payload.", ""},
    {"int32Value", kInteger, false, "Payload.", ""},
    {"floatValue", kReal, false, "Payload.", ""},
    {"jsonTextId", kInteger, false, "Payload as JSON; StringIds.id.", ""},
    {"jsonText", kText, false, "Payload as JSON.", ""},
    {"binaryData", kText, false, "Payload.", ""},
    {"eventId", kInteger, true, "Number of the event.", ""},
};

constexpr Table kNsysTableList[] = {
    {"StringIds", "Texts that other tables refer to by number.", kStringIds, "id"},
    {"PROCESSES", "Processes, one row a run here.", kProcesses, ""},
    {"ThreadNames", "Names of threads.", kThreadNames, ""},
    {"META_DATA_CAPTURE", "How the trace was captured.", kMetaDataCapture, ""},
    {"META_DATA_EXPORT", "What wrote the file.", kMetaDataExport, ""},
    {"ANALYSIS_DETAILS", "Length of the session.", kAnalysisDetails, ""},
    {"TARGET_INFO_SESSION_START_TIME",
     "What time zero is: that of the first run here; every run has its own in LANESCOPE_RUN.",
     kTargetInfoSessionStartTime, ""},
    {"TARGET_INFO_GPU", "GPUs of a run.", kTargetInfoGpu, ""},
    {"TARGET_INFO_CUDA_DEVICE", "Which GPU a process calls by which number.", kTargetInfoCudaDevice, ""},
    {"TARGET_INFO_CUDA_CONTEXT_INFO", "Contexts: one a device here.", kTargetInfoCudaContextInfo, ""},
    {"TARGET_INFO_CUDA_STREAM", "Streams: one a queue of the schedule here.", kTargetInfoCudaStream, ""},
    {"CUPTI_ACTIVITY_KIND_KERNEL",
     "Kernels, and every other launch of an op. Launches on devices that are no GPU have a deviceId after "
     "those of the GPUs.",
     kKernel, ""},
    {"CUPTI_ACTIVITY_KIND_MEMCPY", "Copies.", kMemcpy, ""},
    {"CUPTI_ACTIVITY_KIND_MEMSET", "Memory set operations.", kMemset, ""},
    {"CUPTI_ACTIVITY_KIND_RUNTIME", "CUDA API calls.", kRuntime, ""},
    {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "Synchronizations.", kSynchronization, ""},
    {"CUPTI_ACTIVITY_KIND_CUDA_EVENT", "CUDA events.", kCudaEvent, ""},
    {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "CUDA graph launches.", kGraphTrace, ""},
    {"CUPTI_ACTIVITY_KIND_OVERHEAD", "Overheads of the profiler.", kOverhead, ""},
    {"NVTX_EVENTS", "Ranges and marks that programs set.", kNvtxEvents, "eventId"},
};

}  // namespace

std::span<const Table> NsysTables() { return kNsysTableList; }

}  // namespace lanescope