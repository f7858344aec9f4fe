// SPDX-License-Identifier: Apache-2.0
// A trace as tasks that wait for each other: what its threads and streams did, by itself and without the
// waiting, and what held each of it up. Replayed (replay.h) it takes about the time that was measured; with
// something in it changed (what_if.h), the time that it would take then.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/rows.h"
#include "traces/read/trace_reader.h"
#include "traces/replay/launch_times.h"

namespace lanescope::traces {

struct TraceSynchronization;

struct ReplayTask {
  // kHostWork: what a thread did between two calls.
  enum class Kind : uint8_t { kHostWork, kCall, kKernel, kCollective, kCopy, kMemset };
  Kind kind = Kind::kHostWork;
  int queue = 0;  // index into ReplayGraph::queues
  int name = -1;  // index into ReplayGraph::names
  int step = -1;
  int64_t start_ns = 0, end_ns = 0;  // measured
  int64_t ns = 0;                    // that it takes by itself; of a collective from when all are there
  int call = -1;                     // of what runs on a device: the task that launched it; -1: nobody says
  int collective = -1;               // index into ReplayGraph::collectives; -1: of one GPU, as far as known
  int64_t bytes = 0;                 // of a copy or of a collective's message; 0: not known
  bool crosses = false;              // a copy from or to elsewhere
  bool apart = false;                // nothing on its queue waits for it
  bool gone = false;                 // a change took it away; steps do not begin or end with it
  bool opens_step = false;           // a call with which its step begins

  bool on_device() const { return kind > Kind::kCall; }
};

struct ReplayHold {
  // kThread, kStream: the one before. kHandOver: another thread's. kWait: an event. kTimes: what had
  // ended last when this began, though nothing says why. kSync: a thread waits for a device.
  enum class Why : uint8_t { kThread, kHandOver, kLaunch, kStream, kWait, kTimes, kSync };
  Why why = Why::kThread;
  int from = -1;       // a task before; -1: it no longer holds
  int64_t lag_ns = 0;  // from its end to the earliest start; of kLaunch: from its start
};

struct ReplayQueue {
  int device = -1;  // the trace's number; -1: a thread
  int64_t global_pid = 0;
  std::string label;
  int64_t global_tid = 0;  // of a thread
  int stream = -1;         // the trace's number
};

// Counts what was recorded, and what had to be taken from times.
struct ReplayFacts {
  int64_t operations = 0, calls = 0, launched = 0;  // launched: operations whose call is recorded
  int64_t waits = 0, waits_by_time = 0;             // of streams for each other
  int64_t hand_overs = 0;                           // between threads, by times
  int64_t synchronizations = 0;                     // calls that waited for a device
  int64_t collectives = 0;                          // that several GPUs have in common
  int64_t alone = 0;                                // NCCL's kernels that no other GPU has
  int64_t full_queues = 0;                          // launches that waited for room in their queue, by times
  int64_t frozen = 0, frozen_ns = 0;  // launches and waits that took long, nobody knows why: they keep that
  int64_t kept = 0, kept_ns = 0;      // operations that began later than anything explains: they keep that
};

// Value type.
struct ReplayGraph {
  std::vector<ReplayTask> tasks;              // each waits for tasks before it alone
  Rows<ReplayHold> holds;                     // by task
  std::vector<std::vector<int>> collectives;  // tasks of each
  std::vector<int64_t> ranks_of_collectives;  // that take part, in the trace or not
  std::vector<ReplayQueue> queues;
  std::vector<std::string> names;
  std::vector<TraceDevice> devices;
  std::vector<TraceRange> ranges;  // their texts are indexes into `names`
  std::vector<TraceStep> steps;    // measured; without any, one from first to last activity
  bool has_steps = false;
  int64_t begin_ns = 0;  // of the first task
  LaunchTimes launch;
  ReplayFacts facts;
};

// Rules:
//  - A thread does its calls one after the other. What it did between two of them takes as long as it took,
//    less what it waited: while a thread is silent (no call, no range begins or ends) and others of its
//    process make calls, it waits for the last of them.
//  - An operation waits for its call, for the one before on its stream and for recorded events. From each to
//    its start passes what usually passes in this trace; so gaps are modelled, not copied.
//  - A node of a graph waits for the node before it alone, and nodes of two branches do not wait for each
//    other; what usually passes between nodes is less than what passes between launches. Nodes of child
//    graphs are nodes of the launch that ran them, and each pass through the body of a conditional node is
//    nodes of its own.
//  - One that began later than all that explains waits for what had ended last on another stream, and keeps
//    what is left of its delay.
//  - A call that synchronises, and a copy's that ended after its copy, wait for the device.
//  - A launch that was held up since its queue was full waits for the work that made room (full_queues.h).
//  - A kernel of NCCL that several GPUs have ends a fixed time after the last of them began.
// Throws FailedPrecondition for a run without activities on GPUs.
ReplayGraph BuildReplayGraph(const TraceRun& run, std::span<const TraceSynchronization> synchronizations);

}  // namespace lanescope::traces
