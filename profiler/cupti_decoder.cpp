// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <climits>
#include <cstring>
#include <string_view>

#include "profiler/activity_decoder.h"
#include "profiler/activity_layout.h"
#include "profiler/cupti_calls.h"
#include "profiler/cupti_library.h"
#include "profiler/cupti_numbers.h"
#include "profiler/safe_memory.h"
#include "traces/store/api_call_name.h"

namespace lanescope::profiler {
namespace {

// Names of kernels made of templates reach several kilobytes.
constexpr size_t kMaxNameBytes = 65536;

uint32_t Id(uint32_t id) { return id == cupti::kNoValue ? traces::kNoId : id; }

bool IsLaunch(std::string_view name) {
  return name.starts_with("cudaLaunchKernel") || name.starts_with("cudaLaunchCooperativeKernel") ||
         name.starts_with("cuLaunchKernel") || name.starts_with("cuLaunchCooperativeKernel");
}

}  // namespace

int64_t ActivityDecoder::Time(uint64_t ns) const {
  if (ns == 0 || ns > INT64_MAX / 2) return ns == 0 ? 0 : INT64_MAX / 2;
  return static_cast<int64_t>(ns) - offset_ns_;
}

traces::TextId ActivityDecoder::Text(const char* address, traces::ActivityBatch* batch) {
  if (address == nullptr) return 0;
  const auto found = texts_.find(address);
  if (found != texts_.end()) return found->second;
  std::string text;
  if (!ReadText(address, kMaxNameBytes, &text)) {
    batch->Count(traces::Loss::kUnreadableNames);
    text = "(unreadable)";
  }
  return texts_.emplace(address, batch->AddText(text)).first->second;
}

const ActivityDecoder::Function& ActivityDecoder::FunctionOf(bool of_driver, uint32_t number,
                                                             traces::ActivityBatch* batch) {
  const uint64_t key = (uint64_t{of_driver ? 1u : 0u} << 32) | number;
  const auto found = functions_.find(key);
  if (found != functions_.end()) return found->second;
  Function function;
  function.wanted = IsCallWanted(of_driver, number);
  if (function.wanted) {
    const char* name = nullptr;
    const cupti::Domain domain = of_driver ? cupti::kDriverApi : cupti::kRuntimeApi;
    const cupti::Result result = library_.GetCallbackName(domain, number, &name);
    const std::string text = result != cupti::kSuccess || name == nullptr
                                 ? "function " + std::to_string(number)
                                 : std::string(traces::ApiCallName(name));
    function.name = batch->AddText(text);
    function.launches = IsLaunch(text);
  }
  return functions_.emplace(key, function).first->second;
}

void ActivityDecoder::AddKernel(const ActivityRecord& record, traces::ActivityBatch* batch) {
  using F = KernelFields;
  traces::KernelRow row;
  row.start = Time(record.Get(F::start));
  row.end = Time(record.Get(F::end));
  row.graph_node = record.Get(F::graph_node);
  row.grid_id = record.Get(F::grid_id);
  row.local_memory_total = record.Get(F::local_total);
  row.device = record.Get(F::device);
  row.context = record.Get(F::context);
  row.stream = record.Get(F::stream);
  row.correlation = record.Get(F::correlation);
  row.name = Text(record.Get(F::name), batch);
  row.graph = record.Get(F::graph);
  std::copy_n(record.Get(F::grid).begin(), 3, row.grid);
  std::copy_n(record.Get(F::block).begin(), 3, row.block);
  std::copy_n(record.Get(F::cluster).begin(), 3, row.cluster);
  row.static_shared = record.Get(F::static_shared);
  row.dynamic_shared = record.Get(F::dynamic_shared);
  row.shared_executed = record.Get(F::shared_executed);
  row.local_per_thread = record.Get(F::local_per_thread);
  row.cluster_policy = record.Get(F::cluster_policy);
  row.max_cluster_size = record.Get(F::max_cluster_size);
  row.max_active_clusters = record.Get(F::max_active_clusters);
  row.registers = record.Get(F::registers);
  row.launch_type = LaunchType(record.Get(F::launch_type));
  row.cache_config = static_cast<uint8_t>(record.Get(F::cache_config) >> 4);
  row.shared_limit = record.Get(F::shared_limit) == cupti::kSharedLimitOptIn ? 1 : 0;
  if (record.Get(F::carveout_requested) != 0) row.shared_percent = record.Get(F::carveout);
  batch->kernels.push_back(row);
}

void ActivityDecoder::AddCopy(const ActivityRecord& record, bool between_devices,
                              traces::ActivityBatch* batch) {
  using F = MemcpyFields;
  using P = PeerCopyFields;
  traces::MemcpyRow row;
  row.start = Time(record.Get(F::start));
  row.end = Time(record.Get(F::end));
  row.bytes = record.Get(F::bytes);
  row.device = record.Get(F::device);
  row.context = record.Get(F::context);
  row.stream = record.Get(F::stream);
  row.copy_kind = CopyKind(record.Get(F::copy_kind));
  row.src_kind = MemoryKind(record.Get(F::src_kind));
  row.dst_kind = MemoryKind(record.Get(F::dst_kind));
  if (between_devices) {
    row.graph_node = record.Get(P::graph_node);
    row.copies = 1;
    row.correlation = record.Get(P::correlation);
    row.src_device = record.Get(P::src_device);
    row.src_context = record.Get(P::src_context);
    row.dst_device = record.Get(P::dst_device);
    row.dst_context = record.Get(P::dst_context);
  } else {
    row.graph_node = record.Get(F::graph_node);
    row.copies = record.Get(F::copies, uint64_t{1});
    row.correlation = record.Get(F::correlation);
  }
  batch->copies.push_back(row);
}

void ActivityDecoder::AddMemset(const ActivityRecord& record, traces::ActivityBatch* batch) {
  using F = MemsetFields;
  traces::MemsetRow row;
  row.start = Time(record.Get(F::start));
  row.end = Time(record.Get(F::end));
  row.bytes = record.Get(F::bytes);
  row.graph_node = record.Get(F::graph_node);
  row.device = record.Get(F::device);
  row.context = record.Get(F::context);
  row.stream = record.Get(F::stream);
  row.correlation = record.Get(F::correlation);
  row.value = record.Get(F::value);
  row.memory_kind = MemoryKind(record.Get(F::memory_kind));
  batch->memsets.push_back(row);
}

void ActivityDecoder::AddCall(const ActivityRecord& record, bool of_driver, traces::ActivityBatch* batch) {
  using F = CallFields;
  const Function& function = FunctionOf(of_driver, record.Get(F::function), batch);
  if (!function.wanted) return;
  traces::ApiRow row;
  row.start = Time(record.Get(F::start));
  row.end = Time(record.Get(F::end));
  row.thread = record.Get(F::thread);
  row.correlation = record.Get(F::correlation);
  row.name = function.name;
  row.result = record.Get(F::result);
  row.kind = of_driver ? traces::ApiKind::kDriver : traces::ApiKind::kRuntime;
  row.launches = function.launches ? 1 : 0;
  batch->calls.push_back(row);
}

void ActivityDecoder::AddSync(const ActivityRecord& record, traces::ActivityBatch* batch) {
  using F = SyncFields;
  traces::SyncRow row;
  row.start = Time(record.Get(F::start));
  row.end = Time(record.Get(F::end));
  const uint64_t event_sync = record.Get(F::event_sync);
  row.event_sync = event_sync == cupti::kNoValue ? 0 : event_sync;
  row.context = record.Get(F::context);
  row.stream = Id(record.Get(F::stream));
  row.correlation = record.Get(F::correlation);
  row.type = SyncType(record.Get(F::type));
  row.event = Id(record.Get(F::event));
  batch->syncs.push_back(row);
}

void ActivityDecoder::AddCudaEvent(const ActivityRecord& record, traces::ActivityBatch* batch) {
  using F = CudaEventFields;
  traces::CudaEventRow row;
  row.time = Time(record.Get(F::time));
  row.event_sync = record.Get(F::event_sync);
  row.device = record.Get(F::device);
  row.context = record.Get(F::context);
  row.stream = record.Get(F::stream);
  row.correlation = record.Get(F::correlation);
  row.event = record.Get(F::event);
  batch->events.push_back(row);
}

void ActivityDecoder::AddOverhead(const ActivityRecord& record, traces::ActivityBatch* batch) {
  using F = OverheadFields;
  traces::OverheadRow row;
  row.start = Time(record.Get(F::start));
  row.end = Time(record.Get(F::end));
  if (record.Get(F::object) == cupti::kObjectThread) row.thread = record.Get(F::thread);
  row.correlation = record.Get(F::correlation);
  row.type = OverheadType(record.Get(F::type));
  batch->overheads.push_back(row);
}

void ActivityDecoder::AddTag(const ActivityRecord& record, traces::ActivityBatch* batch) {
  using F = ExternalCorrelationFields;
  // Other kinds are of other tools.
  if (record.Get(F::kind) != static_cast<uint32_t>(cupti::kOurCorrelation)) return;
  batch->tags.push_back({record.Get(F::id), record.Get(F::correlation), 0});
}

void ActivityDecoder::AddGraph(const ActivityRecord& record, traces::ActivityBatch* batch) {
  using F = GraphTraceFields;
  const auto known = [](uint32_t id) { return id == INT_MAX ? 0 : id; };
  traces::GraphTraceRow row;
  row.start = Time(record.Get(F::start));
  row.end = Time(record.Get(F::end));
  row.device = known(record.Get(F::device));
  row.context = known(record.Get(F::context));
  row.stream = record.Get(F::stream);
  row.correlation = record.Get(F::correlation);
  row.graph = record.Get(F::graph);
  batch->graphs.push_back(row);
}

void ActivityDecoder::AddRecord(int32_t kind, const ActivityRecord& record, traces::ActivityBatch* batch) {
  switch (kind) {
    case cupti::kKernel:
    case cupti::kConcurrentKernel:
      return AddKernel(record, batch);
    case cupti::kMemcpy:
      return AddCopy(record, false, batch);
    case cupti::kMemcpy2:
      return AddCopy(record, true, batch);
    case cupti::kMemset:
      return AddMemset(record, batch);
    case cupti::kRuntime:
      return AddCall(record, false, batch);
    case cupti::kDriver:
      return AddCall(record, true, batch);
    case cupti::kSynchronization:
      return AddSync(record, batch);
    case cupti::kCudaEvent:
      return AddCudaEvent(record, batch);
    case cupti::kOverhead:
      return AddOverhead(record, batch);
    case cupti::kExternalCorrelation:
      return AddTag(record, batch);
    case cupti::kGraphTrace:
      return AddGraph(record, batch);
    case cupti::kNvlink:
      return AddNvlink(record, batch);
    case cupti::kDevice:
      return AddDevice(record, batch);
    case cupti::kContext:
      return AddContext(record, batch);
    case cupti::kStream:
      return AddStream(record, batch);
    default:
      return;
  }
}

size_t ActivityDecoder::SizeOf(int32_t kind) {
  const auto found = sizes_.find(kind);
  if (found != sizes_.end()) return found->second;
  return sizes_.emplace(kind, library_.RecordSize(static_cast<cupti::Kind>(kind))).first->second;
}

void ActivityDecoder::Decode(uint8_t* buffer, size_t bytes, traces::ActivityBatch* batch) {
  texts_.clear();
  functions_.clear();
  void* record = nullptr;
  size_t end = 0;  // of the last record
  while (true) {
    const cupti::Result result = library_.GetNextRecord(buffer, bytes, &record);
    if (result == cupti::kMaxLimitReached) break;
    const auto* at = static_cast<const uint8_t*>(record);
    int32_t kind = 0;
    const bool valid = result == cupti::kSuccess && at >= buffer + end && at < buffer + bytes &&
                       static_cast<size_t>(buffer + bytes - at) >= sizeof(kind);
    if (valid) std::memcpy(&kind, at, sizeof(kind));
    const size_t size = valid ? SizeOf(kind) : 0;
    const size_t room = valid ? static_cast<size_t>(buffer + bytes - at) : 0;
    if (size == 0) {
      batch->Count(traces::Loss::kMalformed);
      return;
    }
    end = static_cast<size_t>(at - buffer) + size;
    ++records_;
    if (library_.CanRead(static_cast<cupti::Kind>(kind))) {
      if (room < size) {
        batch->Count(traces::Loss::kMalformed);
      } else {
        AddRecord(kind, ActivityRecord(at, size), batch);
      }
    }
    if (end > bytes) return;
  }
  // The iterator reports a record that is cut off like the end of the buffer.
  if (end + sizeof(int32_t) <= bytes) batch->Count(traces::Loss::kMalformed);
}

}  // namespace lanescope::profiler
