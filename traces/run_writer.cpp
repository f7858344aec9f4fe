#include "traces/run_writer.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "core/recorder.h"
#include "traces/statistics.h"
#include "traces/trace_writer.h"

namespace lanescope {
namespace {

constexpr int64_t kCorrelationBlock = 1 << 16;

RunClock ClockOf(const RunInfo& info) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return {info.simulated ? 0 : NowNs(), std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()};
}

}  // namespace

void CorrelationIds::Reserve() {
  next_ = database_->QueryInteger("SELECT nextCorrelationId FROM LANESCOPE_SCHEMA");
  limit_ = next_ + kCorrelationBlock;
  database_->Execute(fmt::format("UPDATE LANESCOPE_SCHEMA SET nextCorrelationId = {}", limit_));
}

EventTables::EventTables(Database& database)
    : kernels(database, "CUPTI_ACTIVITY_KIND_KERNEL",
              {"start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid",
               "demangledName", "shortName"}),
      copies(
          database, "CUPTI_ACTIVITY_KIND_MEMCPY",
          {"start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "bytes",
           "copyKind", "srcKind", "dstKind", "srcDeviceId", "srcContextId", "dstDeviceId", "dstContextId"}),
      activities(database, "LANESCOPE_ACTIVITY",
                 {"globalPid", "correlationId", "commandId", "schedule", "step"}),
      steps(database, "LANESCOPE_STEP", {"runId", "step", "start", "end"}),
      correlation(database) {}

void EventTables::Flush() {
  for (RowInserter* inserter : {&kernels, &copies, &activities, &steps}) inserter->Flush();
}

RunWriter::RunWriter(Database& database, StringTable& strings, EventTables& tables, const RunInfo& info)
    : database_(database),
      strings_(strings),
      tables_(tables),
      info_(info),
      clock_(ClockOf(info)),
      pid_(getpid()) {
  id_ = InsertRun(database_, info_, clock_, pid_);
  global_pid_ = GlobalPid(id_, pid_);
  if (info_.machine != nullptr) devices_ = TraceDeviceIds(*info_.machine);
}

int RunWriter::AddSchedule(const Schedule& schedule) {
  const int number = static_cast<int>(schedules_.size());
  ScheduleState state{InsertSchedule(database_, strings_, id_, pid_, info_, devices_, number, schedule),
                      MemoryUse(schedule),
                      -1,
                      {}};
  schedules_.push_back(std::move(state));
  return number;
}

void RunWriter::Write(std::span<const Event> events) {
  for (const Event& event : events) {
    if (event.kind == EventKind::kStep) {
      WriteStep(event);
    } else {
      WriteCommand(event);
    }
  }
}

void RunWriter::WriteStep(const Event& event) {
  const int64_t start = event.start_ns - clock_.origin_ns, end = event.end_ns - clock_.origin_ns;
  tables_.steps.Add({id_, event.step, start, end});
  step_ns_.push_back(end - start);
  last_ns_ = std::max(last_ns_, end);
}

void RunWriter::WriteCommand(const Event& event) {
  const auto schedule = static_cast<size_t>(event.schedule), number = static_cast<size_t>(event.command);
  if (schedule >= schedules_.size() || number >= schedules_[schedule].commands.size()) {
    ++malformed_;
    return;
  }
  ScheduleState& state = schedules_[schedule];
  const CommandInfo& command = state.commands[number];
  const int64_t start = event.start_ns - clock_.origin_ns, end = event.end_ns - clock_.origin_ns;
  last_ns_ = std::max(last_ns_, end);
  if (state.first_step < 0) {
    state.first_step = event.step;
    state.times.assign(state.commands.size(), {0, -1});
  }
  if (state.first_step == event.step) state.times[number] = {start, end};
  const int64_t correlation = tables_.correlation.Next();
  if (command.kind == CommandKind::kLaunch) {
    tables_.kernels.Add({start, end, command.device, command.device + 1, command.stream, correlation,
                         global_pid_, command.name, command.op});
  } else if (command.kind == CommandKind::kCopy) {
    tables_.copies.Add({start, end, command.device, command.device + 1, command.stream, correlation,
                        global_pid_, event.bytes, command.copy_kind, command.src_kind, command.dst_kind,
                        command.src, command.src + 1, command.dst, command.dst + 1});
  } else {
    ++malformed_;
    return;
  }
  tables_.activities.Add({global_pid_, correlation, event.command, event.schedule, event.step});
}

void RunWriter::WriteMemory() {
  RowInserter rows(database_, "LANESCOPE_MEMORY", {"runId", "deviceId", "time", "bytes"});
  for (const ScheduleState& state : schedules_) {
    for (const MemoryPoint& point : state.memory.Timeline(state.times)) {
      rows.Add({id_, devices_[static_cast<size_t>(point.device)], point.time_ns, point.bytes});
    }
  }
  rows.Flush();
}

void RunWriter::WriteDropped(std::string_view what, int64_t count) {
  if (count == 0) return;
  RowInserter rows(database_, "LANESCOPE_DROPPED", {"runId", "what", "count"});
  rows.Add({id_, what, count});
  rows.Flush();
}

void RunWriter::Finish(const RunOutcome& outcome) {
  tables_.Flush();
  WriteMemory();
  WriteDropped("events", dropped_);
  WriteDropped("events of unknown commands", malformed_);
  RowInserter session(database_, "ANALYSIS_DETAILS", {"globalVid", "duration", "startTime", "stopTime"});
  session.Add({int64_t{id_} << 48, last_ns_, clock_.origin_ns, clock_.origin_ns + last_ns_});
  session.Flush();

  Statement update(
      database_,
      "UPDATE LANESCOPE_RUN SET complete = 1, steps = ?, oversubscribed = ?, error = ?, "
      "stepMedianNs = ?, stepP25Ns = ?, stepP75Ns = ?, stepMinNs = ?, stepMaxNs = ? WHERE runId = ?");
  update.BindInteger(1, static_cast<int64_t>(step_ns_.size()));
  update.BindInteger(2, outcome.oversubscribed ? 1 : 0);
  if (!outcome.error.empty()) update.BindText(3, outcome.error);
  if (const std::optional<Spread> spread = SpreadOf(step_ns_)) {
    update.BindReal(4, spread->median);
    update.BindReal(5, spread->p25);
    update.BindReal(6, spread->p75);
    update.BindInteger(7, spread->min);
    update.BindInteger(8, spread->max);
  }
  update.BindInteger(9, id_);
  update.Run();
}

}  // namespace lanescope
