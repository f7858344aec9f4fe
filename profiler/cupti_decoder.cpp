#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "profiler/activity_decoder.h"
#include "profiler/cupti_library.h"
#include "profiler/cupti_numbers.h"
#include "profiler/safe_memory.h"

namespace lanescope {
namespace {

// Names of kernels made of templates reach several kilobytes.
constexpr size_t kMaxNameBytes = 65536;

uint32_t Id(uint32_t id) { return id == CUPTI_SYNCHRONIZATION_INVALID_VALUE ? kNoId : id; }

// "cudaLaunchKernel_v7000" is the runtime's cudaLaunchKernel since version 7.0.
std::string_view WithoutVersion(std::string_view name) {
  const size_t at = name.rfind("_v");
  if (at == std::string_view::npos || at + 2 == name.size()) return name;
  const std::string_view digits = name.substr(at + 2);
  const bool number = std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
  return number ? name.substr(0, at) : name;
}

bool IsLaunch(std::string_view name) {
  return name.starts_with("cudaLaunchKernel") || name.starts_with("cudaLaunchCooperativeKernel") ||
         name.starts_with("cuLaunchKernel") || name.starts_with("cuLaunchCooperativeKernel");
}

}  // namespace

int64_t ActivityDecoder::Time(uint64_t ns) const {
  if (ns == 0 || ns > INT64_MAX / 2) return ns == 0 ? 0 : INT64_MAX / 2;
  return static_cast<int64_t>(ns) - offset_ns_;
}

TextId ActivityDecoder::Text(const char* address, ActivityBatch* batch) {
  if (address == nullptr) return 0;
  const auto found = texts_.find(address);
  if (found != texts_.end()) return found->second;
  std::string text;
  if (!ReadText(address, kMaxNameBytes, &text)) {
    batch->Count(Loss::kUnreadableNames);
    text = "(unreadable)";
  }
  return texts_.emplace(address, batch->AddText(text)).first->second;
}

TextId ActivityDecoder::Name(uint32_t domain, uint32_t function, bool* launches, ActivityBatch* batch) {
  const uint64_t key = (uint64_t{domain} << 32) | function;
  const auto found = functions_.find(key);
  if (found != functions_.end()) {
    *launches = found->second.launches;
    return found->second.name;
  }
  const char* name = nullptr;
  const CUptiResult result =
      library_.GetCallbackName(static_cast<CUpti_CallbackDomain>(domain), function, &name);
  const std::string text = result != CUPTI_SUCCESS || name == nullptr ? "function " + std::to_string(function)
                                                                      : std::string(WithoutVersion(name));
  *launches = IsLaunch(text);
  return functions_.emplace(key, Function{batch->AddText(text), *launches}).first->second.name;
}

template <>
void ActivityDecoder::Add<CUpti_ActivityKernel10>(const uint8_t* bytes, ActivityBatch* batch) {
  CUpti_ActivityKernel10 record;
  std::memcpy(&record, bytes, sizeof(record));
  KernelRow row;
  row.start = Time(record.start);
  row.end = Time(record.end);
  row.graph_node = record.graphNodeId;
  row.grid_id = record.gridId;
  row.local_memory_total = record.localMemoryTotal_v2;
  row.device = record.deviceId;
  row.context = record.contextId;
  row.stream = record.streamId;
  row.correlation = record.correlationId;
  row.name = Text(record.name, batch);
  row.graph = record.graphId;
  const int32_t grid[] = {record.gridX, record.gridY, record.gridZ};
  const int32_t block[] = {record.blockX, record.blockY, record.blockZ};
  const uint32_t cluster[] = {record.clusterX, record.clusterY, record.clusterZ};
  std::copy_n(grid, 3, row.grid);
  std::copy_n(block, 3, row.block);
  std::copy_n(cluster, 3, row.cluster);
  row.static_shared = record.staticSharedMemory;
  row.dynamic_shared = record.dynamicSharedMemory;
  row.shared_executed = record.sharedMemoryExecuted;
  row.local_per_thread = record.localMemoryPerThread;
  row.cluster_policy = record.clusterSchedulingPolicy;
  row.max_cluster_size = record.maxPotentialClusterSize;
  row.max_active_clusters = record.maxActiveClusters;
  row.registers = record.registersPerThread;
  row.launch_type = LaunchType(record.launchType);
  row.cache_config = static_cast<uint8_t>(record.cacheConfig.both >> 4);
  row.shared_limit =
      Number(bytes + offsetof(CUpti_ActivityKernel10, shmemLimitConfig)) == CUPTI_FUNC_SHMEM_LIMIT_OPTIN ? 1
                                                                                                         : 0;
  if (record.isSharedMemoryCarveoutRequested != 0) row.shared_percent = record.sharedMemoryCarveoutRequested;
  batch->kernels.push_back(row);
}

template <>
void ActivityDecoder::Add<CUpti_ActivityMemcpy6>(const uint8_t* bytes, ActivityBatch* batch) {
  CUpti_ActivityMemcpy6 record;
  std::memcpy(&record, bytes, sizeof(record));
  MemcpyRow row;
  row.start = Time(record.start);
  row.end = Time(record.end);
  row.bytes = record.bytes;
  row.graph_node = record.graphNodeId;
  row.copies = record.copyCount;
  row.device = record.deviceId;
  row.context = record.contextId;
  row.stream = record.streamId;
  row.correlation = record.correlationId;
  row.copy_kind = CopyKind(record.copyKind);
  row.src_kind = MemoryKind(record.srcKind);
  row.dst_kind = MemoryKind(record.dstKind);
  batch->copies.push_back(row);
}

template <>
void ActivityDecoder::Add<CUpti_ActivityMemcpyPtoP4>(const uint8_t* bytes, ActivityBatch* batch) {
  CUpti_ActivityMemcpyPtoP4 record;
  std::memcpy(&record, bytes, sizeof(record));
  MemcpyRow row;
  row.start = Time(record.start);
  row.end = Time(record.end);
  row.bytes = record.bytes;
  row.graph_node = record.graphNodeId;
  row.copies = 1;
  row.device = record.deviceId;
  row.context = record.contextId;
  row.stream = record.streamId;
  row.correlation = record.correlationId;
  row.src_device = record.srcDeviceId;
  row.src_context = record.srcContextId;
  row.dst_device = record.dstDeviceId;
  row.dst_context = record.dstContextId;
  row.copy_kind = CopyKind(record.copyKind);
  row.src_kind = MemoryKind(record.srcKind);
  row.dst_kind = MemoryKind(record.dstKind);
  batch->copies.push_back(row);
}

template <>
void ActivityDecoder::Add<CUpti_ActivityMemset4>(const uint8_t* bytes, ActivityBatch* batch) {
  CUpti_ActivityMemset4 record;
  std::memcpy(&record, bytes, sizeof(record));
  MemsetRow row;
  row.start = Time(record.start);
  row.end = Time(record.end);
  row.bytes = record.bytes;
  row.graph_node = record.graphNodeId;
  row.device = record.deviceId;
  row.context = record.contextId;
  row.stream = record.streamId;
  row.correlation = record.correlationId;
  row.value = record.value;
  row.memory_kind = MemoryKind(record.memoryKind);
  batch->memsets.push_back(row);
}

template <>
void ActivityDecoder::Add<CUpti_ActivityAPI>(const uint8_t* bytes, ActivityBatch* batch) {
  CUpti_ActivityAPI record;
  std::memcpy(&record, bytes, sizeof(record));
  const bool driver = Number(bytes + offsetof(CUpti_ActivityAPI, kind)) == CUPTI_ACTIVITY_KIND_DRIVER;
  bool launches = false;
  ApiRow row;
  row.start = Time(record.start);
  row.end = Time(record.end);
  row.thread = record.threadId;
  row.correlation = record.correlationId;
  row.name =
      Name(driver ? CUPTI_CB_DOMAIN_DRIVER_API : CUPTI_CB_DOMAIN_RUNTIME_API, record.cbid, &launches, batch);
  row.result = record.returnValue;
  row.kind = driver ? ApiKind::kDriver : ApiKind::kRuntime;
  row.launches = launches ? 1 : 0;
  batch->calls.push_back(row);
}

template <>
void ActivityDecoder::Add<CUpti_ActivitySynchronization2>(const uint8_t* bytes, ActivityBatch* batch) {
  CUpti_ActivitySynchronization2 record;
  std::memcpy(&record, bytes, sizeof(record));
  SyncRow row;
  row.start = Time(record.start);
  row.end = Time(record.end);
  row.event_sync = record.cudaEventSyncId == CUPTI_SYNCHRONIZATION_INVALID_VALUE ? 0 : record.cudaEventSyncId;
  row.context = record.contextId;
  row.stream = Id(record.streamId);
  row.correlation = record.correlationId;
  row.type = SyncType(Number(bytes + offsetof(CUpti_ActivitySynchronization2, type)));
  row.event = Id(record.cudaEventId);
  batch->syncs.push_back(row);
}

template <>
void ActivityDecoder::Add<CUpti_ActivityCudaEvent2>(const uint8_t* bytes, ActivityBatch* batch) {
  CUpti_ActivityCudaEvent2 record;
  std::memcpy(&record, bytes, sizeof(record));
  CudaEventRow row;
  row.time = Time(record.deviceTimestamp);
  row.event_sync = record.cudaEventSyncId;
  row.device = record.deviceId;
  row.context = record.contextId;
  row.stream = record.streamId;
  row.correlation = record.correlationId;
  row.event = record.eventId;
  batch->events.push_back(row);
}

template <>
void ActivityDecoder::Add<CUpti_ActivityOverhead3>(const uint8_t* bytes, ActivityBatch* batch) {
  CUpti_ActivityOverhead3 record;
  std::memcpy(&record, bytes, sizeof(record));
  OverheadRow row;
  row.start = Time(record.start);
  row.end = Time(record.end);
  if (Number(bytes + offsetof(CUpti_ActivityOverhead3, objectKind)) == CUPTI_ACTIVITY_OBJECT_THREAD)
    row.thread = record.objectId.pt.threadId;
  row.correlation = record.correlationId;
  row.type = OverheadType(Number(bytes + offsetof(CUpti_ActivityOverhead3, overheadKind)));
  batch->overheads.push_back(row);
}

template <>
void ActivityDecoder::Add<CUpti_ActivityExternalCorrelation>(const uint8_t* bytes, ActivityBatch* batch) {
  CUpti_ActivityExternalCorrelation record;
  std::memcpy(&record, bytes, sizeof(record));
  // Other kinds are of other tools.
  if (Number(bytes + offsetof(CUpti_ActivityExternalCorrelation, externalKind)) !=
      CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0)
    return;
  batch->tags.push_back({record.externalId, record.correlationId, 0});
}

template <>
void ActivityDecoder::Add<CUpti_ActivityGraphTrace2>(const uint8_t* bytes, ActivityBatch* batch) {
  CUpti_ActivityGraphTrace2 record;
  std::memcpy(&record, bytes, sizeof(record));
  GraphTraceRow row;
  row.start = Time(record.start);
  row.end = Time(record.end);
  row.device = record.deviceId == INT_MAX ? 0 : record.deviceId;
  row.context = record.contextId == INT_MAX ? 0 : record.contextId;
  row.stream = record.streamId;
  row.correlation = record.correlationId;
  row.graph = record.graphId;
  batch->graphs.push_back(row);
}

// In cupti_descriptions.cpp.
template <>
void ActivityDecoder::Add<CUpti_ActivityNvLink4>(const uint8_t* bytes, ActivityBatch* batch);
template <>
void ActivityDecoder::Add<CUpti_ActivityDevice5>(const uint8_t* bytes, ActivityBatch* batch);
template <>
void ActivityDecoder::Add<CUpti_ActivityContext3>(const uint8_t* bytes, ActivityBatch* batch);
template <>
void ActivityDecoder::Add<CUpti_ActivityStream>(const uint8_t* bytes, ActivityBatch* batch);

void ActivityDecoder::AddRecord(const uint8_t* record, size_t room, ActivityBatch* batch) {
  int32_t kind = 0;
  std::memcpy(&kind, record, sizeof(kind));
  const auto add = [&]<typename Record>() {
    if (room < sizeof(Record)) {
      batch->Count(Loss::kMalformed);
    } else {
      Add<Record>(record, batch);
    }
  };
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return add.operator()<CUpti_ActivityKernel10>();
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return add.operator()<CUpti_ActivityMemcpy6>();
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return add.operator()<CUpti_ActivityMemcpyPtoP4>();
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return add.operator()<CUpti_ActivityMemset4>();
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER:
      return add.operator()<CUpti_ActivityAPI>();
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
      return add.operator()<CUpti_ActivitySynchronization2>();
    case CUPTI_ACTIVITY_KIND_CUDA_EVENT:
      return add.operator()<CUpti_ActivityCudaEvent2>();
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
      return add.operator()<CUpti_ActivityOverhead3>();
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
      return add.operator()<CUpti_ActivityExternalCorrelation>();
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
      return add.operator()<CUpti_ActivityGraphTrace2>();
    case CUPTI_ACTIVITY_KIND_NVLINK:
      return add.operator()<CUpti_ActivityNvLink4>();
    case CUPTI_ACTIVITY_KIND_DEVICE:
      return add.operator()<CUpti_ActivityDevice5>();
    case CUPTI_ACTIVITY_KIND_CONTEXT:
      return add.operator()<CUpti_ActivityContext3>();
    case CUPTI_ACTIVITY_KIND_STREAM:
      return add.operator()<CUpti_ActivityStream>();
    default:
      return;
  }
}

size_t ActivityDecoder::SizeOf(const uint8_t* record) {
  int32_t kind = 0;
  std::memcpy(&kind, record, sizeof(kind));
  const auto found = sizes_.find(kind);
  if (found != sizes_.end()) return found->second;
  return sizes_.emplace(kind, library_.RecordSize(static_cast<CUpti_ActivityKind>(kind))).first->second;
}

void ActivityDecoder::Decode(uint8_t* buffer, size_t bytes, ActivityBatch* batch) {
  texts_.clear();
  functions_.clear();
  CUpti_Activity* record = nullptr;
  size_t end = 0;  // of the last record
  while (true) {
    const CUptiResult result = library_.GetNextRecord(buffer, bytes, &record);
    if (result == CUPTI_ERROR_MAX_LIMIT_REACHED) break;
    const auto* at = reinterpret_cast<const uint8_t*>(record);
    const bool valid = result == CUPTI_SUCCESS && at >= buffer + end && at < buffer + bytes &&
                       static_cast<size_t>(buffer + bytes - at) >= sizeof(CUpti_ActivityKind);
    const size_t size = valid ? SizeOf(at) : 0;
    if (size == 0) {
      batch->Count(Loss::kMalformed);
      return;
    }
    end = static_cast<size_t>(at - buffer) + size;
    ++records_;
    AddRecord(at, static_cast<size_t>(buffer + bytes - at), batch);
    if (end > bytes) return;
  }
  // The iterator reports a record that is cut off like the end of the buffer.
  if (end + sizeof(CUpti_ActivityKind) <= bytes) batch->Count(Loss::kMalformed);
}

}  // namespace lanescope
