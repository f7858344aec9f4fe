// SPDX-License-Identifier: Apache-2.0
// The parts of a run's time, in the manner of nvprof's summary, and one sentence about them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/record/run_task.h"
#include "traces/report/device_time.h"
#include "traces/report/input_use.h"
#include "traces/report/waits.h"
#include "traces/store/copy_class.h"
#include "traces/store/step_work.h"

namespace lanescope::traces {

class TraceReader;

struct SummaryRow {
  std::string name;
  std::string type;         // "kernel", "graph" (a whole CUDA graph), "memcpy", "memset", "api"
  double time_percent = 0;  // of its table's total
  int64_t total_ns = 0, calls = 0, avg_ns = 0, min_ns = 0, max_ns = 0;
};

struct TrafficRow {
  std::string src, dst;  // "GPU:0", "host"
  int64_t count = 0, bytes = 0, ns = 0;
  CopyClass copy_class = CopyClass::kDeviceToDevice;
  bool bytes_known = true;  // other tools' traces may not say how much was copied
};

// Shares of the time of all steps (of a foreign trace, or without steps, from the first to the last
// activity), summed over the GPUs, or over the hosts where no GPU did anything: what runs on one device hides
// nothing on another. NCCL's kernels and copies are communication, but for copies within a device, which are
// work of it: compute_ns + exposed_ns + idle_ns is that time as often as there are devices.
struct Communication {
  int devices = 0;
  int64_t compute_ns = 0;  // at least one launch that is no communication runs, or a copy within the device
  int64_t overlapped_ns = 0;  // communication beside such work
  int64_t exposed_ns = 0;     // communication, and no such work
  int64_t idle_ns = 0;        // neither
  int64_t nccl_ns = 0;        // at least one kernel of NCCL runs
  int64_t copies_ns = 0;      // at least one copy to or from another device runs
};

struct StepUsage {
  int step = 0;
  int64_t start_ns = 0, end_ns = 0;
  std::vector<DeviceTime> devices;
  bool counts = true;  // false: others disturbed it
  StepWork work{};     // of an engine's step
};

// Order statistics of one kind of activity, as Nsight Systems prints them. `stddev`: of the sample (n - 1).
struct OperationSum {
  std::string name;
  std::string style;  // of NVTX ranges: "PushPop" or "StartEnd"
  double percent = 0;
  int64_t total = 0, count = 0, min = 0, max = 0;
  double average = 0, median = 0, stddev = 0;
};

// Launches are counted by the text of the innermost NVTX range around them, by the innermost module, or by
// the innermost line of the program.
enum class ProgramPlace : uint8_t { kRange, kModule, kLine };

// Launches at one place of the program, by the innermost around the launch.
struct RangeRow {
  std::string name;
  int64_t kernels = 0, kernel_ns = 0;
  int64_t copies = 0, copy_ns = 0, copy_bytes = 0;
  std::string top_kernel;  // that took the most time
};

// The resource that covers the window most, on the mean device that is no host.
struct Bound {
  std::string name;  // "compute", "communication", "copy-in", "copy-out", "peer-copy", "memory-copy", "idle"
  double coverage = 0;            // fraction of the window, union of intervals, mean over devices
  double most = 0;                // the same of the device with the most: no shorter can the window become
  double bytes_per_second = 0;    // while it runs, of one device; 0: it moves no bytes
  double ceiling_per_second = 0;  // of link or memory; 0: the trace does not say
  int devices = 0;
};

struct SummaryOptions {
  int step = -1;                              // only this one; -1: the whole run
  bool ranges = false;                        // fill `ranges`
  ProgramPlace place = ProgramPlace::kRange;  // that those are by
  bool operations = false;                    // fill the sums of Nsight Systems
  bool waits = false;                         // fill `waits`
  LinkRate link;           // of `waits`: what links carry; without a rate as the trace says it
  bool idle_call = false;  // fill `idle_call` also where idle time does not decide: one more pass
};

struct Summary {
  int run = 0;
  int step = -1;
  std::vector<std::string> hosts;  // the machines that the trace names
  std::vector<RunTask> tasks;      // TraceReader::Tasks
  // Sorted by total time, largest first.
  std::vector<SummaryRow> gpu_activities;
  std::vector<SummaryRow> host_activities;  // launches on devices that are no GPU
  std::vector<SummaryRow> api_calls;
  std::vector<TrafficRow> traffic;
  Communication communication;
  bool over_steps = false;          // `communication` and `devices` are of the steps alone
  std::vector<DeviceTime> devices;  // over the time of `communication`
  std::vector<StepUsage> steps;
  std::vector<OperationSum> kernel_sums, memory_time_sums, memory_size_sums, api_sums, nvtx_sums;
  std::vector<RangeRow> ranges;
  ProgramPlace place = ProgramPlace::kRange;                // of `ranges`
  int64_t dropped = 0;                                      // records lost while recording
  std::vector<std::pair<std::string, int64_t>> dropped_by;  // the same by kind of record
  int64_t invalid_rows = 0;                                 // activities without usable times: left out
  std::vector<std::string> notes;                           // on the capture: clocks, an incomplete trace
  std::optional<Waits> waits;
  std::optional<InputUse> input;  // of runs with queues that somebody waited for
  std::optional<Bound> bound;
  // In a run that is idle most of the time, or if asked for: the API call that the most of the time was in in
  // which nothing ran, and how much.
  std::string idle_call;
  int64_t idle_call_ns = 0;
  std::string verdict;
};

// Without options that need it, one pass over each activity table, without loading it. Throws as TraceReader
// does, NotFound for a step that the run does not have, FailedPrecondition where a trace has no steps at all
// or no NVTX ranges, modules or lines.
Summary Summarize(TraceReader& reader, int run, const SummaryOptions& options = {});
Summary Summarize(const std::string& path, int run, const SummaryOptions& options = {});

struct SummaryLayout {
  bool nsys = false;  // tables as `nsys stats` has them, else as nvprof
  int width = 0;      // columns that a line may have, which names give way for; 0: none has to
  int top = 0;        // rows of a table of activities; 0: all
};
std::string SummaryText(const Summary& summary, const SummaryLayout& layout = {});
// A line for each activity (RFC 4180), or of the sums of Nsight Systems or of the NVTX ranges where the
// summary has those; `heading`: with the names of the columns before them.
std::string SummaryCsv(const Summary& summary, const SummaryLayout& layout, bool heading);
std::string SummaryJson(const Summary& summary);

}  // namespace lanescope::traces
