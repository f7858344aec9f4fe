// SPDX-License-Identifier: Apache-2.0
// Reads traces: ours, and Nsight Systems exports as they are.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/machine/copy_class.h"
#include "core/record/input_record.h"
#include "core/record/run_task.h"
#include "core/record/run_timing.h"
#include "core/schedule/schedule.h"
#include "traces/store/step_work.h"

namespace lanescope::traces {

class Database;
class RunSink;

// Stands for the host where a trace gives it no device number.
inline constexpr int kHostDevice = -1;

// LANESCOPE_RUN. An Nsight Systems export is one complete measured run, number 1.
struct TraceRunInfo {
  int id = 1;
  bool simulated = false;
  bool emulated = false;
  bool in_sample = false;
  bool oversubscribed = false;
  bool complete = true;
  bool laid_out = false;  // an import that was given no times: they are made of orders and lengths
  std::string strategy, graph, machine_json, prediction_of, error;
  double uncalibrated_share = 0, extrapolated_share = 0;  // RunInfo's
  int64_t steps = 0;
  // The timing of physical GPUs; kThreads: it has none, or the trace does not say.
  CommandTiming command_timing = CommandTiming::kThreads;
  int64_t pair_ns = 0;  // RunTiming's
  int64_t clock_origin_ns = 0;
  int64_t utc_ns = 0;
};

// Where its times come from: "simulated", "measured on emulated devices", "laid out, not measured" or
// "measured".
std::string_view OriginOfTimes(const TraceRunInfo& run);

struct TraceDevice {
  int id = 0;
  std::string name;
  std::string kind;
  bool is_host = false;  // a CPU device
  int64_t memory_limit = 0;
  int64_t planned_peak = 0;
  std::string model;             // "NVIDIA H100 80GB HBM3"
  int64_t memory_bandwidth = 0;  // bytes per second; 0: the trace does not say
  // In jobs of several ranks: whose it is, and as that numbers it ("rank 3 GPU:0"); else empty.
  std::string owner, label;
  std::string host;    // the machine that it is in; empty: the trace does not say
  int in_machine = 0;  // its place in the machine file
  int task = -1;       // number in TraceReader::Tasks; -1: there are none
};

// "GPU:0", of several ranks "rank 3 GPU:0"; "host" for kHostDevice, "GPU:?" for kUnknownDevice.
std::string DeviceLabel(const std::vector<TraceDevice>& devices, int id);

// The numbers of the devices that are hosts; kHostDevice where none is.
std::vector<int> HostNumbers(const std::vector<TraceDevice>& devices);

struct TraceNode {
  int id = 0;
  std::string name, op;
  int device = -1;  // -1: not placed
  int priority = 0;
};

// Numbers of texts are for TraceRun::Text. -1: the trace does not say.
struct TraceLaunch {
  int64_t start_ns = 0, end_ns = 0;
  int device = 0, stream = 0;
  int step = -1, schedule = -1, command = -1, node = -1;
  int name = -1;  // node, or the full name of a foreign kernel
  int op = -1;    // op type, or the short name of a foreign kernel
  int signature = -1;
  int64_t global_pid = 0;
  int api = -1;  // the API call that launched it: index into api_calls
  // The innermost NVTX range of that call, or, of a node of a CUDA graph, of the call that recorded it where
  // that is known (captured_calls.h): index into ranges.
  int range = -1;
};

struct TraceCopy {
  int64_t start_ns = 0, end_ns = 0, bytes = 0;
  int device = 0, stream = 0;
  int src = 0, dst = 0;  // device numbers, or kHostDevice
  CopyClass copy_class = CopyClass::kDeviceToDevice;
  int step = -1, schedule = -1, command = -1;
  int node = -1;  // whose output was copied
  int signature = -1;
  int64_t global_pid = 0;
  int kind = 0;  // ENUM_CUDA_MEMCPY_OPER, set right where the ends of the copy contradict it
  int api = -1, range = -1;
};

struct TraceMemset {
  int64_t start_ns = 0, end_ns = 0, bytes = 0;
  int device = 0, stream = 0;
  int step = -1, schedule = -1, command = -1, node = -1;
  int signature = -1;
  int64_t global_pid = 0;
  int api = -1, range = -1;
};

struct TraceApiCall {
  int64_t start_ns = 0, end_ns = 0;
  int64_t global_tid = 0;
  int64_t correlation = -1;
  int name = -1;
  int step = -1;
  int range = -1;  // the innermost NVTX range around its start
};

// The data that a kernel of NCCL moves, where an import says it.
struct TraceCollective {
  int launch = 0;                    // index into launches
  int kind = -1;                     // text: as the profiler calls it
  int64_t bytes = 0;                 // the larger of what goes into and comes out of a rank; 0: not known
  int64_t ranks = 0;                 // that take part; 0: not known
  int group = -1;                    // text: the process group; -1: not known
  int src_rank = -1, dst_rank = -1;  // of a message; -1: not known
};

// An NVTX range: push/pop ranges belong to a thread, start/end ranges to the process.
struct TraceRange {
  int64_t start_ns = 0, end_ns = 0;
  int64_t global_tid = 0;
  int text = -1;
  bool process_wide = false;
  bool open = false;        // it had not ended when the trace did; end_ns is the end of the trace
  bool of_library = false;  // of an NVTX domain of its own, which its text begins with: "libA:read"
  int details = -1;         // index into operators
};

struct TraceThread {
  int64_t global_tid = 0;
  int name = -1;
};

// Process of a globalTid.
inline int64_t GlobalPidOf(int64_t global_tid) { return global_tid & ~int64_t{0xffffff}; }

struct TraceProcess {
  int64_t global_pid = 0;
  int name = -1;
  int rank = -1;  // of MPI; -1: the trace does not say
};

// Which rank of a job the files of an import are of, and on which machine they, or an export, were recorded.
// They are told apart by the upper 16 bits of global_pid.
struct TraceRank {
  int64_t file = 0;
  int64_t rank = -1;  // -1: the file does not say
  std::string host;   // empty: the same
  int64_t world = 0;  // ranks of the job; 0: the same
  // By how much the file's clock was ahead of the first file's; its times here are less that. 0: by nothing
  // that collectives or steps could tell.
  int64_t clock_ahead_ns = 0;
};

// "thread 101 (autograd)"; profilers that put the number into the name do not have it twice.
std::string ThreadLabel(int64_t global_tid, const std::string& name);

// "rank 3", or where that is not known "file 4".
std::string RankName(const TraceRank& rank);

// The machines that ranks name, each once, in the order of ranks.
std::vector<std::string> HostsOf(std::vector<TraceRank> ranks);

// Profilers record something of themselves under numbers that no process has.
bool IsNoProcess(int64_t global_pid);

// The name that a profiler of another tool gives a stream.
struct TraceStream {
  int device = 0, stream = 0;
  int name = -1;
};

// An annotation of a program, when what it launched ran on a stream.
struct TraceDeviceRange {
  int64_t start_ns = 0, end_ns = 0;
  int device = 0, stream = 0;
  int text = -1;
  int counted = -1;  // what hardware counters say of it, as JSON
};

// Facts of an operator from another tool's profiler: texts; -1: it has none.
struct TraceOperator {
  int shapes = -1, types = -1, stack = -1;
};

struct TraceStep {
  int step = 0;
  int64_t start_ns = 0, end_ns = 0;
  bool counts = true;  // false: others disturbed it, and there are steps that nobody did
  int round = 0;       // of a measurement in rounds
  StepWork work{};     // of an engine's step
};

// When a profiler recorded that did so now and then; the spans of a run follow each other without the time
// between them.
struct TraceSpan {
  int64_t start_ns = 0, end_ns = 0;
  int64_t unrecorded_ns = 0;  // before it
};

struct TraceMemoryPoint {
  int device = 0;
  int64_t time_ns = 0, bytes = 0;
};

struct TraceQueue {
  int schedule = 0, id = 0;
  int device = 0;
  QueueKind kind = QueueKind::kCompute;
  bool in_order = false;
  int workers = 1;
  std::string name;
};

struct TraceCommand {
  int schedule = 0, id = 0;
  CommandKind kind = CommandKind::kLaunch;
  int node = -1, queue = 0, rank = 0, device = 0;
  int src = -1, dst = -1;
  int64_t bytes = 0;  // launches: read and written
  int64_t flops = 0;
  int signature = -1;
};

struct TraceDependency {
  int schedule = 0, from = 0, to = 0;
};

// An NVLink connection that a capture found; ends by UUID, or "npu N".
struct TraceNvlink {
  std::string device0, device1;
  int64_t bandwidth = 0;  // bytes per second
};

// "/job:worker/task:1 (rank 1 on node7)".
std::string TaskText(const RunTask& task);
// "clock within 3.2 us"; empty for the task whose clock times are by, and where nobody measured.
std::string ClockText(const RunTask& task);

// One run in memory. Value type.
struct TraceRun {
  TraceRunInfo info;
  std::vector<TraceDevice> devices;  // by id; foreign traces: those that appear
  std::vector<RunTask> tasks;        // TraceReader::Tasks
  std::vector<TraceNode> nodes;
  std::vector<TraceCommand> commands;  // by (schedule, id)
  std::vector<TraceQueue> queues;      // by (schedule, id): of every command one
  std::vector<TraceDependency> dependencies;
  std::vector<TraceLaunch> launches;  // in the order of the file
  std::vector<TraceCopy> copies;
  std::vector<TraceMemset> memsets;
  std::vector<TraceCollective> collectives;  // by launch
  std::vector<TraceApiCall> api_calls;
  std::vector<TraceRange> ranges;        // by start
  std::vector<TraceOperator> operators;  // of ranges
  std::vector<TraceThread> threads;
  std::vector<TraceProcess> processes;          // that have names or ranks
  std::vector<TraceRank> ranks;                 // by file, of which something is known
  std::vector<TraceStream> streams;             // that have names
  std::vector<TraceDeviceRange> device_ranges;  // in the order of the file
  // In a trace that records none: made of NVTX ranges that look like steps, each from the first to the last
  // activity launched inside it; where nothing ran on any device, the ranges themselves.
  std::vector<TraceStep> steps;
  std::vector<TraceStep> untimed_steps;  // nothing in them was timed: no activity is of them
  std::vector<int> steps_without_work;   // ranges that look like steps in which nothing was launched that ran
  std::vector<TraceSpan> spans;          // by start; empty: the trace is of one
  std::vector<TraceMemoryPoint> memory;
  std::vector<TraceNvlink> nvlinks;
  InputRecord input;         // threads and queues by number, the rest by time
  int64_t dropped = 0;       // records lost while recording
  int64_t invalid_rows = 0;  // activities without usable times: not among the above
  // Launches of CUDA graphs, in a run that records streams as graphs: those whose nodes are of the ranges in
  // which they were recorded, and those where no capture fits what ran.
  int64_t joined_graphs = 0, unjoined_graphs = 0;
  std::vector<std::string> texts;

  // "" for -1.
  const std::string& Text(int number) const;
  // Null when absent.
  const TraceDevice* FindDevice(int id) const;
  // The steps whose lengths say how long a step takes.
  const std::vector<TraceStep>& time_steps() const { return untimed_steps.empty() ? steps : untimed_steps; }
  // Every step was watched, and others disturbed them all.
  bool all_disturbed = false;
  std::string DeviceLabel(int id) const;
  // Null: the trace does not say whose the process is.
  const TraceRank* RankOf(int64_t global_pid) const;
  // "python3 (4711)", "process 4711"; of several ranks "rank 3: python3 (4711)", of several machines "node7
  // rank 3: python3 (4711)".
  std::string ProcessLabel(int64_t global_pid) const;
};

// A file open for reading; a trace that is still being written may be read. Thread-compatible. Columns are
// looked up by name; tables and columns that a trace may lack are not missed. What a damaged or hostile file
// holds ends in DataLoss.
class TraceReader {
 public:
  // Throws NotFound, DataLoss (not a database), InvalidArgument (no trace).
  explicit TraceReader(const std::string& path);
  ~TraceReader();
  TraceReader(TraceReader&&) noexcept;

  // False: an export of Nsight Systems.
  bool is_ours() const;
  std::vector<TraceRunInfo> Runs();
  // Throws NotFound naming the runs there are.
  TraceRunInfo RunInfoOf(int run);
  // The cost file (JSON) that a simulated run was predicted with; empty where none was kept.
  std::string CostModelOf(int run);
  std::vector<TraceDevice> Devices(int run);
  // Tasks of a machine of several, in the order in which devices name them; else none. Those that no process
  // of their own played, as in simulated runs, have no process.
  std::vector<RunTask> Tasks(int run);
  // As recorded; steps that ReadRun makes of NVTX ranges are not among them.
  std::vector<TraceStep> Steps(int run);
  // Whether too few of them were left alone, so that all count (AllStepsCount).
  bool AllDisturbed(int run);
  // The ranks of another tool's trace; else, and where it does not say, none.
  std::vector<TraceRank> Ranks();
  std::vector<TraceNode> Nodes(int run);
  // Threads that filled its queues, and waits; empty of other tools' traces.
  InputRecord Input(int run);
  TraceRun ReadRun(int run);
  // Reads it into `out`, but launches, copies and memory sets are given to `sink` (run_sink.h) and not kept,
  // nor are API calls that nobody needs. Throws what the sink throws.
  void StreamRun(int run, RunSink* sink, TraceRun* out);
  // Reads it without launches, copies, memory sets and the devices of another tool's trace that only these
  // name: ActivityCursor reads them on several threads.
  TraceRun ReadOutline(int run);
  // For what reads the tables on its own; of use inside traces/ only.
  Database& database();

 private:
  class Impl;
  void Read(int run, RunSink* sink, TraceRun* out);
  std::unique_ptr<Impl> impl_;
};

}  // namespace lanescope::traces
