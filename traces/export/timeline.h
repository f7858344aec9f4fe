// SPDX-License-Identifier: Apache-2.0
// A run as every viewer of timelines has it: tracks of slices that nest, arrows from what causes to what is
// caused, counters. What each format writes. Internal to traces.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "traces/read/trace_reader.h"

namespace lanescope::traces {

// A kMessage of a copy between tasks stands in the task that does not carry it out.
enum class SliceKind : uint8_t { kStep, kKernel, kCommunication, kCopy, kMemset, kApiCall, kRange, kMessage };
std::string_view SliceKindName(SliceKind kind);  // "kernel"

// Owns its texts, which are printable (core/base/printable.h). Value type.
struct Timeline {
  struct Process {
    // Tasks of a machine of several, else devices, and what ran on hosts: "/job:worker/task:1 (rank 1 on
    // node7)", "GPU:0 (NVIDIA H100)", "process 100".
    std::string name;
    std::string clock = {};    // of a task: ClockText
    int task = -1;             // its number; its tracks are of several devices, whose names they begin with
    bool of_profiler = false;  // what a profiler says of itself

    bool is_task() const { return task >= 0; }
  };
  // One row of slices: two of them overlap only where one holds the other.
  struct Track {
    int process = 0;
    std::string name;         // "stream 7 (NCCL)", "thread 101", of a task "GPU:0 copy-in"
    std::vector<int> slices;  // by start, a slice before those that it holds
    int device = -1;          // the trace's number; -1: it is of the host's threads, or of steps
    int64_t number = 0;       // of the stream, or of the thread
  };
  struct Slice {
    SliceKind kind = SliceKind::kKernel;
    int64_t start_ns = 0, end_ns = 0;  // from 0 on
    int track = 0, name = 0;
    int step = -1;                                    // number; -1: nobody says
    int op = -1, signature = -1, range = -1;          // texts; -1: none
    int counted = -1;                                 // the same: what hardware counters say, as JSON
    int collective = -1, group = -1;                  // the same: what a profiler calls it; process group
    int src_rank = -1, dst_rank = -1;                 // of a message; -1: nobody says
    int64_t bytes = -1;                               // copies, memory sets and collectives; -1: nobody says
    CopyClass copy_class = CopyClass::kWithinDevice;  // of copies
  };
  struct Arrow {
    int from = 0, to = 0;  // slices
  };
  struct Counter {
    int process = 0;
    std::string name;
    std::vector<std::pair<int64_t, int64_t>> points;  // time and value, by time
  };

  std::vector<Process> processes;
  std::vector<Track> tracks;
  std::vector<Slice> slices;
  // From API calls to what they launched; without those, along dependencies. And from the sender's end of a
  // copy between tasks to the receiver's.
  std::vector<Arrow> arrows;
  std::vector<Counter> counters;
  std::vector<std::string> texts;

  const std::string& Name(const Slice& slice) const { return texts[static_cast<size_t>(slice.name)]; }
};

Timeline MakeTimeline(const TraceRun& run);

}  // namespace lanescope::traces
