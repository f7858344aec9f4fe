// SPDX-License-Identifier: Apache-2.0
// Turns the events of one run into rows. Private to traces/; owned by the writing thread. Internal to traces.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/record/disturbance.h"
#include "core/record/event.h"
#include "core/record/input_record.h"
#include "core/record/run_info.h"
#include "core/record/run_task.h"
#include "core/record/run_timing.h"
#include "traces/record/activity_writer.h"
#include "traces/record/memory_timeline.h"
#include "traces/record/run_rows.h"
#include "traces/store/lanescope_tables.h"
#include "traces/store/row_inserter.h"

namespace lanescope::traces {

struct RunOutcome;

// Numbers that no other activity of the file has, in blocks that are reserved in the file, so that two
// writers never share one.
class CorrelationIds {
 public:
  explicit CorrelationIds(Database& database) : database_(&database) {}
  int64_t Next() {
    if (next_ == limit_) Reserve();
    return next_++;
  }
  // After a rollback the reservation is gone too.
  void Forget() { next_ = limit_ = 0; }

 private:
  void Reserve();
  Database* database_;
  int64_t next_ = 0, limit_ = 0;
};

// The inserters that all runs of a writer share.
struct EventTables {
  explicit EventTables(Database& database);
  void Flush();
  RowInserter<tables::Kernel> kernels;
  RowInserter<tables::Memcpy> copies;
  RowInserter<tables::Activity> activities;
  RowInserter<tables::Step> steps;
  CorrelationIds correlation;
};

class RunWriter {
 public:
  // Inserts the run, marked incomplete.
  RunWriter(Database& database, StringTable& strings, EventTables& tables, const RunInfo& info);
  int id() const { return id_; }
  int AddSchedule(const Schedule& schedule);
  void Write(std::span<const Event> events);
  void WriteInput(const InputRecord& input);
  void CountDropped(int64_t records) { dropped_ += records; }
  // From here on a capture records what runs on GPUs: events of commands there are not written a second time.
  void BeginCapture(ActivityTables& tables);
  void WriteActivities(const ActivityBatch& batch);
  void Finish(const RunOutcome& outcome);

 private:
  struct ScheduleState {
    IdVector<CommandId, CommandInfo> commands;
    MemoryUse memory;
    int first_step = -1;  // the step whose memory is kept
    IdVector<CommandId, std::pair<int64_t, int64_t>> times;
  };
  void WriteCommand(const Event& event);
  // A command ran, or a part of it: of the first step of its schedule the times are kept.
  void KeepTime(ScheduleState* state, CommandId command, int step, int64_t start, int64_t end);
  std::vector<int> NumbersOfGpus() const;
  bool IsCaptured(const CommandInfo& command) const;
  void WriteStep(const Event& event);
  void WriteMemory();
  void WriteDisturbances(std::span<const StepDisturbance> disturbances);
  void WriteTasks(std::span<const RunTask> tasks);
  void WriteTiming(const RunTiming& timing);
  // Lengths of the steps that count.
  std::vector<int64_t> CountedSteps(const RunOutcome& outcome) const;

  Database& database_;
  StringTable& strings_;
  EventTables& tables_;
  const RunInfo info_;
  RunClock clock_;
  int64_t pid_ = 0, global_pid_ = 0;
  int id_ = 0;
  IdVector<DeviceId, int> devices_;
  std::vector<ScheduleState> schedules_;
  std::vector<std::pair<int, int64_t>> step_ns_;  // number and length
  int64_t first_ns_ = 0, last_ns_ = 0;
  int64_t dropped_ = 0, malformed_ = 0;
  std::optional<ActivityWriter> capture_;
  std::vector<bool> captured_devices_;  // by number of the trace
};

}  // namespace lanescope::traces
