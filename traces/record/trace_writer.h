// SPDX-License-Identifier: Apache-2.0
// Writes runs into a trace file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/record/disturbance.h"
#include "core/record/event.h"
#include "core/record/input_record.h"
#include "core/record/run_info.h"
#include "core/record/run_task.h"
#include "core/record/run_timing.h"

namespace lanescope::traces {

class ActivitySink;

// How a run ended.
struct RunOutcome {
  bool oversubscribed = false;
  std::string error;        // empty: it ended well. Else "CODE: message" of what cut it short.
  bool incomplete = false;  // the end is missing: what was recorded stays marked incomplete
  std::vector<StepDisturbance> disturbances = {};  // of the steps that were watched
  std::vector<RunTask> tasks = {};                 // that processes of their own ran, in order
  RunTiming timing = {};                           // untimed steps in times of NowNs()
};

// When a new trace appears under its name: with its first run, to be read while it grows, or whole, by Close.
enum class NewTrace { kWithFirstRun, kWhenClosed };

// Opens or creates a trace and appends runs to it, several at once if asked. All SQLite work happens on one
// thread of its own: executing threads never wait for the disk, and the sinks only copy events (a sink waits
// when 4 million events are pending). Rows are committed every 150 ms; a killed process loses at most the
// last batch, and its run stays marked incomplete. Readers are never locked out. Any thread may call any
// method; a run's sink takes one thread at a time.
//
// Once writing fails (a full disk), every later call throws the same Error and events are discarded; whoever
// runs for a long time asks RequireHealthy.
class TraceWriter {
 public:
  // Throws FailedPrecondition for a file that is no trace of ours (it stays as it is) or cannot be written.
  explicit TraceWriter(const std::string& path, NewTrace appears = NewTrace::kWithFirstRun);
  // Closes; errors are lost, so call Close.
  ~TraceWriter();
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  // Everything that `info` points to must live until EndRun. Returns the run's number.
  int BeginRun(const RunInfo& info);
  // Returns the number of the schedule, by which its events name it: 0, 1, ... The schedule is not kept.
  int AddSchedule(int run, const Schedule& schedule);
  // Takes the run's events: those of measured runs in ns of NowNs(), of simulated runs in virtual ns from 0.
  // Valid until EndRun.
  EventSink* Sink(int run);
  // Appends what the input of a run did, in the times of its events.
  void AddInput(int run, InputRecord input);
  // Takes what a capture delivers of the run's processes, from any thread. From now on events of commands on
  // CUDA devices are not written, since the capture delivers them. Valid until EndRun.
  ActivitySink* Capture(int run);
  // Everything consumed before is in the file, and the run is marked complete, or incomplete as the outcome
  // says.
  void EndRun(int run, const RunOutcome& outcome);
  // Throws if writing has failed. At the price of reading a flag.
  void RequireHealthy();
  // Everything consumed before is in the file.
  void Flush();
  // Makes the indexes and leaves one file in journal_mode=DELETE. Runs not ended stay incomplete. Idempotent.
  void Close();

  const std::string& path() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lanescope::traces
