// SPDX-License-Identifier: Apache-2.0
// Activities of a process as a capture delivers them, on their way into the tables of a trace: kernels,
// copies, API calls, ranges, and what is known of the capture itself. Rows are plain data without pointers
// (texts are numbers into the batch), so that a batch can cross a process boundary; enumerations carry the
// numbers of the Nsight Systems export, times are ns of CLOCK_MONOTONIC.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lanescope::traces {

// A number of ActivityBatch::texts; 0 is the empty text.
using TextId = uint32_t;

// Stands for "not known" where 0 would mean something.
inline constexpr uint32_t kNoId = 0xffffffff;

// Rows name a GPU by its ordinal in their process. Where a run has several processes, each a task of the
// machine, this tells their GPUs apart; those of the first task keep their ordinals.
inline constexpr uint32_t kMostGpusOfTask = 1024;
inline constexpr uint32_t GpuOfTask(int task, uint32_t ordinal) {
  return static_cast<uint32_t>(task) * kMostGpusOfTask + ordinal;
}

struct KernelRow {
  int64_t start = 0, end = 0;
  uint64_t graph_node = 0;  // 0: no CUDA graph
  int64_t grid_id = 0;
  uint64_t local_memory_total = 0;
  uint32_t device = 0, context = 0, stream = 0, correlation = 0;
  TextId name = 0;  // as the compiler mangled it
  uint32_t graph = 0;
  int32_t grid[3] = {}, block[3] = {};
  int32_t static_shared = 0, dynamic_shared = 0;
  uint32_t shared_executed = 0, local_per_thread = 0;
  uint32_t cluster[3] = {};
  uint32_t cluster_policy = 0, max_cluster_size = 0, max_active_clusters = 0;
  uint16_t registers = 0;
  uint8_t launch_type = 0, cache_config = 0;
  uint8_t shared_limit = 0;
  uint8_t shared_percent = 0xff;  // 0xff: not asked for
  uint8_t unused[2] = {};
  static constexpr TextId KernelRow::*kTexts[] = {&KernelRow::name};
};

struct MemcpyRow {
  int64_t start = 0, end = 0;
  uint64_t bytes = 0, graph_node = 0, copies = 0;
  uint32_t device = 0, context = 0, stream = 0, correlation = 0;
  uint32_t src_device = kNoId, src_context = kNoId, dst_device = kNoId, dst_context = kNoId;
  uint8_t copy_kind = 0, src_kind = 0, dst_kind = 0;
  uint8_t unused[5] = {};
};

struct MemsetRow {
  int64_t start = 0, end = 0;
  uint64_t bytes = 0, graph_node = 0;
  uint32_t device = 0, context = 0, stream = 0, correlation = 0;
  uint32_t value = 0, memory_kind = 0;
};

enum class ApiKind : uint32_t { kRuntime = 0, kDriver = 1 };

struct ApiRow {
  int64_t start = 0, end = 0;
  uint32_t thread = 0, correlation = 0;
  TextId name = 0;
  uint32_t result = 0;
  ApiKind kind = ApiKind::kRuntime;
  uint32_t launches = 0;  // 1: the call starts a kernel, so that a record of one must follow
  static constexpr TextId ApiRow::*kTexts[] = {&ApiRow::name};
};

struct SyncRow {
  int64_t start = 0, end = 0;
  uint64_t event_sync = 0;
  uint32_t context = 0, stream = kNoId, correlation = 0, type = 0, event = kNoId;
  uint32_t unused = 0;
};

struct CudaEventRow {
  int64_t time = 0;  // 0: not known
  uint64_t event_sync = 0;
  uint32_t device = 0, context = 0, stream = 0, correlation = 0, event = 0;
  uint32_t unused = 0;
};

struct OverheadRow {
  int64_t start = 0, end = 0;
  uint32_t thread = 0, correlation = 0, type = 0;
  uint32_t unused = 0;
};

struct GraphTraceRow {
  int64_t start = 0, end = 0;
  uint32_t device = 0, context = 0, stream = 0, correlation = 0, graph = 0;
  uint32_t unused = 0;
};

struct NvtxRow {
  int64_t start = 0, end = 0;  // end 0: the range never ended
  uint64_t range = 0;          // of start/end ranges
  uint32_t type = 0;           // ENUM_NSYS_EVENT_TYPE
  uint32_t thread = 0, end_thread = 0, domain = 0, category = 0, color = 0;
  TextId text = 0;
  uint32_t has_color = 0;
  static constexpr TextId NvtxRow::*kTexts[] = {&NvtxRow::text};
};

// A command of a step as one number: 12 bits schedule, 28 bits step, 24 bits command. kWholeGraph as command:
// the launch of a CUDA graph, whose nodes say which commands they are.
inline constexpr uint32_t kWholeGraph = 0xffffff;
inline constexpr uint64_t MakeActivityTag(uint32_t schedule, uint32_t step, uint32_t command) {
  return (uint64_t{schedule & 0xfff} << 52) | (uint64_t{step & 0xfffffff} << 24) | (command & kWholeGraph);
}
inline constexpr uint32_t TagSchedule(uint64_t tag) { return static_cast<uint32_t>(tag >> 52); }
inline constexpr uint32_t TagStep(uint64_t tag) { return static_cast<uint32_t>(tag >> 24) & 0xfffffff; }
inline constexpr uint32_t TagCommand(uint64_t tag) { return static_cast<uint32_t>(tag) & kWholeGraph; }

// The calls with this correlation id belong to the command that `tag` stands for.
struct TagRow {
  uint64_t tag = 0;
  uint32_t correlation = 0;
  uint32_t unused = 0;
};

// Node `node` of a CUDA graph executes the command of `tag`, whose step does not count.
struct GraphNodeRow {
  uint64_t node = 0;
  uint64_t tag = 0;
};

struct GpuRow {
  uint64_t memory_bandwidth = 0, memory_bytes = 0;  // bytes/s, bytes
  uint64_t clock_hz = 0;
  uint32_t id = 0;
  TextId name = 0, uuid = 0;
  uint32_t constant_memory = 0, l2_bytes = 0, threads_per_warp = 0, copy_engines = 0, processors = 0;
  uint32_t max_ipc = 0, max_warps = 0, max_blocks = 0, max_shared_per_processor = 0, max_registers = 0;
  uint32_t max_registers_per_block = 0, max_shared_per_block = 0, max_threads = 0;
  uint32_t max_block[3] = {}, max_grid[3] = {};
  uint32_t compute_major = 0, compute_minor = 0, numa_node = kNoId;
  uint32_t unused = 0;
  static constexpr TextId GpuRow::*kTexts[] = {&GpuRow::name, &GpuRow::uuid};
};

struct ContextRow {
  uint32_t context = 0, device = 0, null_stream = 0, parent = 0, is_green = 0, processors = 0;
};

struct StreamRow {
  uint32_t context = 0, stream = 0, flag = 0;
  int32_t priority = 0;
};

struct NvlinkRow {
  uint64_t bandwidth = 0;           // bytes/s
  TextId device0 = 0, device1 = 0;  // UUID of a GPU, or a name
  uint32_t version = 0, links = 0, flags = 0, through_switch = 0;
  static constexpr TextId NvlinkRow::*kTexts[] = {&NvlinkRow::device0, &NvlinkRow::device1};
};

struct ThreadRow {
  uint32_t thread = 0;
  TextId name = 0;
  static constexpr TextId ThreadRow::*kTexts[] = {&ThreadRow::name};
};

// A note on the capture for readers of the trace.
struct NoteRow {
  TextId text = 0;
  static constexpr TextId NoteRow::*kTexts[] = {&NoteRow::text};
};

enum class ClockKind : uint32_t {
  kCapture = 0,  // the clock of records against CLOCK_MONOTONIC
  kGpu = 1,      // kernels against the calls that launched them
};

struct ClockRow {
  int64_t time = 0;         // when it was measured
  int64_t offset = 0;       // ns by which the clock is ahead
  int64_t uncertainty = 0;  // ns, half the bracket; -1: not known
  uint64_t samples = 0;
  uint64_t violations = 0;
  ClockKind kind = ClockKind::kCapture;
  uint32_t corrected = 0;  // 1: the times of records were corrected by the offset
};

// Losses and refusals of a capture; counted by process and stored with the run.
enum class Loss : uint32_t {
  kDropped,              // by CUPTI, for lack of a buffer
  kRefusedBuffers,       // requests that found the pool empty
  kZeroTimes,            // no time on the device
  kReversedTimes,        // ends before it starts, or far in the future
  kMalformed,            // what no record of a known kind can be
  kUnreadableNames,      // names at addresses that cannot be read
  kUnbalancedRanges,     // NVTX pops and ends without their start
  kNotSent,              // rows that the process could not hand over
  kLaunchWithoutKernel,  // launches whose kernel left no record
  kUnfinished,           // processes that ended without handing over their last records
  kRefusedProcesses      // processes beyond those that can be captured at once
};
inline constexpr size_t kNumLosses = 11;
std::string_view LossName(Loss loss);

// The rows that one process delivered at one time. Texts are numbered in the batch. Value type.
struct ActivityBatch {
  uint32_t pid = 0;
  TextId program = 0;  // the name of the process, where the batch says it
  std::vector<std::string> texts{std::string()};
  std::vector<KernelRow> kernels;
  std::vector<MemcpyRow> copies;
  std::vector<MemsetRow> memsets;
  std::vector<ApiRow> calls;
  std::vector<SyncRow> syncs;
  std::vector<CudaEventRow> events;
  std::vector<OverheadRow> overheads;
  std::vector<GraphTraceRow> graphs;
  std::vector<NvtxRow> ranges;
  std::vector<TagRow> tags;
  std::vector<GraphNodeRow> graph_nodes;
  std::vector<GpuRow> gpus;
  std::vector<ContextRow> contexts;
  std::vector<StreamRow> streams;
  std::vector<NvlinkRow> nvlinks;
  std::vector<ThreadRow> threads;
  std::vector<ClockRow> clocks;
  std::vector<NoteRow> notes;
  std::array<int64_t, kNumLosses> losses{};

  void Count(Loss loss, int64_t records = 1) { losses[static_cast<size_t>(loss)] += records; }
  TextId AddText(std::string_view text) {
    if (text.empty()) return 0;
    texts.emplace_back(text);
    return static_cast<TextId>(texts.size() - 1);
  }
};

// Calls `visit` with every vector of rows, always in this order.
template <typename Batch, typename Visit>
void ForEachTable(Batch& batch, Visit visit) {
  visit(batch.kernels);
  visit(batch.copies);
  visit(batch.memsets);
  visit(batch.calls);
  visit(batch.syncs);
  visit(batch.events);
  visit(batch.overheads);
  visit(batch.graphs);
  visit(batch.ranges);
  visit(batch.tags);
  visit(batch.graph_nodes);
  visit(batch.gpus);
  visit(batch.contexts);
  visit(batch.streams);
  visit(batch.nvlinks);
  visit(batch.threads);
  visit(batch.clocks);
  visit(batch.notes);
}

// Calls `visit` with every TextId of a row.
template <typename Row, typename Visit>
void ForEachText(Row& row, Visit visit) {
  if constexpr (requires { Row::kTexts; }) {
    for (const auto text : Row::kTexts) visit(row.*text);
  }
}

inline size_t NumRows(const ActivityBatch& batch) {
  size_t rows = 0;
  ForEachTable(batch, [&](const auto& table) { rows += table.size(); });
  return rows;
}

inline size_t NumBytes(const ActivityBatch& batch) {
  size_t bytes = 0;
  ForEachTable(batch, [&](const auto& table) { bytes += table.size() * sizeof(table[0]); });
  for (const std::string& text : batch.texts) bytes += text.size() + sizeof(text);
  return bytes;
}

// Activities of devices.
inline size_t NumDeviceRows(const ActivityBatch& batch) {
  return batch.kernels.size() + batch.copies.size() + batch.memsets.size();
}

inline bool IsEmpty(const ActivityBatch& batch) {
  if (NumRows(batch) > 0) return false;
  for (const int64_t count : batch.losses) {
    if (count != 0) return false;
  }
  return true;
}

// Receives batches; several threads may call it at once.
class ActivitySink {
 public:
  virtual ~ActivitySink() = default;
  virtual void Consume(ActivityBatch batch) = 0;
};

}  // namespace lanescope::traces
