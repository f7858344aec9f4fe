// SPDX-License-Identifier: Apache-2.0
// One run as the timeline shows it: lanes of slices, counters, steps, dependencies.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/rows.h"
#include "core/record/run_task.h"
#include "core/runs/run_view.h"
#include "core/runs/step_range.h"
#include "gui/model/pyramid.h"
#include "traces/read/captured_calls.h"

namespace lanescope::gui {

// The kind of a run, so that it can be told at a glance.
enum class RunKind : uint8_t {
  kHardware,   // measured on real devices, by us or by another tool
  kEmulated,   // measured on virtual devices
  kLaidOut,    // given no times by another tool: these are made of orders and lengths
  kSimulated,  // predicted, from a file
  kWhatIf,     // predicted for an edited placement or machine; in no file
};
std::string_view RunKindName(RunKind kind);  // "hardware", "emulated", "laid out", ...

enum class LaneRole : uint8_t {
  kAnnotation,
  kCompute,
  kCopyIn,
  kCopyOut,
  kCopyWithin,
  kMemory,
  kLink,
  kQueueFill,
  kThread
};
std::string_view LaneRoleName(LaneRole role);
// The kind of a copy that `device` carries out: it brings, sends or stays.
constexpr LaneRole CopyRole(int device, int src, int dst) {
  if (src == dst) return LaneRole::kCopyWithin;
  return dst == device ? LaneRole::kCopyIn : LaneRole::kCopyOut;
}
constexpr bool IsCopyRole(LaneRole role) {
  return role == LaneRole::kCopyIn || role == LaneRole::kCopyOut || role == LaneRole::kCopyWithin;
}

// OpEntry::op of what programs and API calls leave in the lanes of threads.
inline constexpr std::string_view kRangeOp = "range", kCallOp = "call";

// An op that slices are of: a node of the graph, or a kernel, copy or call of a foreign trace. The name
// identifies the op in every run.
struct OpEntry {
  std::string name;    // node, or full name of a foreign kernel
  std::string op{};    // op type, or short name
  int node = -1;       // of the graph; -1: foreign
  uint32_t color = 0;  // hash of `op`: equal ops, equal colours
  int64_t slices = 0;  // in lanes other than links
  int64_t ns = 0;      // that those on devices take all together
  // The keys of colours by range, both hashes of names, 0: none. `range`: of foreign work the range that most
  // of its time was launched in, of a node its name scope; a range's own.
  uint32_t range = 0;
};

// An API call, and what it launched. Where: lane and slice.
struct SlicePlace {
  int lane = -1;  // -1: the run does not show it
  uint32_t slice = kNoSlice;
  friend bool operator==(const SlicePlace&, const SlicePlace&) = default;
};
// A group of lanes; they fold together.
struct LaneGroup {
  enum class Kind : uint8_t { kHost, kPlace, kProcess, kThreads, kTask };
  std::string title;  // "node7", "rank 3", "process 100 python", "/job:worker/task:1"
  Kind kind = Kind::kPlace;
  int parent = -1;       // index into RunData::groups, of one before
  std::string prefix{};  // with which the names of its devices begin, beside the title: "/job:worker/task:1/"
  std::string remark{};  // "rank 1 on node7, clock within 3.2 us"
};
struct RunProcess {
  int64_t process = -1;  // globalPid
  std::string name;
  int rank = -1;  // of MPI; -1: nobody says
};
// The rank of processes whose numbers have the same upper bits: TraceRank.
struct RunPlace {
  int64_t place = 0;        // upper 16 bits of globalPid
  std::string title, host;  // "rank 3"; empty: the trace does not say
};

// The range that a colour stands for, and the time on devices that it was given to.
struct RangeUse {
  uint32_t range = 0;  // OpEntry's
  std::string name;
  int64_t ns = 0;
};
struct RunCall {
  SlicePlace place;
  int range = -1;  // the innermost range around its start: index into RunData::ops; -1: none
};

// Slices [begin, end) of a lane: disjoint, ascending by start and so by end.
struct SliceRow {
  uint32_t begin = 0, end = 0;
  RowSummary summary;
};

// A lane. Slices are in columns, row after row; overlapping ones are in different rows. Only copies have
// `bytes`, and `route` where some are of no command; none has `range`. At most 2^32 - 2 slices.
struct Lane : SliceColumns {
  LaneRole role = LaneRole::kCompute;
  int device = -1;    // index into RunData::devices; links: the source; -1: none
  int peer = -1;      // links: the destination
  std::string label;  // "GPU:0 compute", "GPU:0 → GPU:1", "memory"

  std::vector<SliceRow> rows;
  int64_t ns = 0;  // all slices together
  // Index into RunData::calls: of a thread's slices the call that they are, of others the one that launched
  // them; -1: none. Empty where none has one.
  std::vector<int32_t> call;
  int64_t thread = -1;   // kThread: whose, as the trace has it (globalTid; of a process, its globalPid)
  int group = -1;        // index into RunData::groups; -1: none
  int64_t process = -1;  // that launched the first of it, or whose thread it is (globalPid); -1: nobody says

  // kMemory (bytes), kQueueFill (elements): value[i] from time[i] on; ascending times. Other lanes: empty.
  std::vector<int64_t> counter_time_ns, counter_value;
  CounterPyramid counter;

  bool is_counter() const { return role == LaneRole::kMemory || role == LaneRole::kQueueFill; }
  bool on_device() const { return role == LaneRole::kCompute || IsCopyRole(role); }
  bool is_copy() const { return role == LaneRole::kLink || IsCopyRole(role); }
  // The row that holds a slice.
  int RowOf(uint32_t slice) const;
};

struct RunDevice : RunView::Device {
  std::string rank{};       // of a job of several: "rank 3"
  std::string full_name{};  // as in the machine file
  int task = -1;            // index into RunData::tasks; -1: there are none
  bool is_host = false;
  int64_t memory_limit = 0;  // bytes; 0: unknown
  int64_t peak_bytes = 0;    // planned, or the largest of the counter; 0: unknown
};

// A command of a compiled step; indexes are into the run's own tables.
struct RunCommand : RunView::Command {
  int schedule = 0, id = 0;
  int lane = -1;    // in which its slices lie; -1: it never ran
  int device = -1;  // index into RunData::devices
  int64_t bytes = 0;
};

// Immutable once built, shared between threads as shared_ptr<const RunData>.
struct RunData {
  std::string file;    // path of the trace; empty: in no file
  std::string source;  // what was opened: `file`, or what that was imported from
  int id = 0;          // number in the file
  RunKind kind = RunKind::kHardware;
  bool foreign = false;    // of another tool: no commands
  bool emulated = false;   // virtual devices or links took part; for predictions, in what they predict
  bool complete = true;    // false: the writer died or still writes
  bool in_sample = false;  // prediction of the run that calibrated it
  bool oversubscribed = false;
  bool uncalibrated = false;  // prediction from the machine's rates alone
  // Facts of predictions (RunInfo).
  double uncalibrated_share = 0, extrapolated_share = 0;
  std::string title;  // "3: deepconn_dual tower-split"
  std::string graph, strategy, prediction_of, error;
  std::string machine_json;
  int64_t dropped = 0;       // records lost while recording
  int64_t invalid_rows = 0;  // activities that made no sense

  std::vector<RunDevice> devices;
  // By device: compute, copy-in, copy-out, memory; then links; then threads. So within each group.
  std::vector<Lane> lanes;
  std::vector<LaneGroup> groups;      // each after its parent
  std::vector<RunProcess> processes;  // that have names
  std::vector<RunPlace> places;
  std::vector<RunTask> tasks;      // of a machine of several; else none
  std::vector<std::string> hosts;  // that the trace names, each once
  std::vector<OpEntry> ops;
  std::vector<RunView::Step> steps;  // ascending
  std::vector<RunCommand> commands;  // by (schedule, id)
  std::vector<RunView::Queue> queues;
  std::vector<RunView::Route> routes;  // of copies of no command; devices by index
  std::vector<std::string> signatures;
  std::vector<RunCall> calls;
  Rows<SlicePlace> launched;       // by call, ascending by start
  traces::CapturedCalls captured;  // which calls recorded the nodes of CUDA graphs
  std::vector<RangeUse> ranges;    // of which there is any, by hash
  // Dependencies both ways, by index into commands.
  Rows<uint32_t> successors, predecessors;
  // Slices of every command (not those of links), ascending by step, as numbers in the lane of the command.
  Rows<uint32_t> slices_of_command;

  int64_t begin_ns = 0, end_ns = 0;  // of everything; begin == end: empty
  // MeasuredStep's of the steps that count, or the whole run where there are no steps; 0: empty.
  int64_t step_ns = 0;
  int64_t step_low_ns = 0, step_high_ns = 0;  // predicted: interval; measured: quartiles; 0: unknown
  // For what-ifs: the step that is predicted without the changes, and the measured one of the run they are
  // made to; 0: unknown.
  int64_t unchanged_step_ns = 0, measured_step_ns = 0;
  int64_t num_slices = 0;  // in lanes other than links

  bool empty() const { return num_slices == 0; }
  StepRange range() const {
    return {static_cast<double>(step_ns), static_cast<double>(step_low_ns),
            static_cast<double>(step_high_ns)};
  }
  // Some device holds more than its limit.
  bool out_of_memory() const;
  std::span<const uint32_t> Successors(int command) const;
  std::span<const uint32_t> Predecessors(int command) const;
  std::span<const uint32_t> SlicesOf(int command) const;
  // The slice of a command in a step; -1: none.
  int64_t FindSlice(int command, int step) const;
  // Lane::call of a slice; -1: none.
  int32_t CallOf(int lane, uint32_t slice) const;
  int32_t CallOf(const Lane& lane, uint32_t slice) const;
  // The call that says where a slice comes from: of a node of a CUDA graph the one that recorded it, where
  // that is known; else CallOf.
  int32_t OriginOf(const Lane& lane, uint32_t slice) const;
  // Index into ops by name; -1: none. The first of equal names.
  int FindOp(std::string_view name) const;
  // Index into steps of the step of median length among those that count; -1: no steps.
  int MedianStep() const;
  size_t MemoryBytes() const;

  // Indexes into ops, sorted by name. For FindOp.
  std::vector<int> ops_by_name;
};

}  // namespace lanescope::gui
