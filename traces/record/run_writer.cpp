// SPDX-License-Identifier: Apache-2.0
#include "traces/record/run_writer.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "core/base/statistics.h"
#include "core/machine/tasks.h"
#include "core/record/recorder.h"
#include "traces/record/trace_writer.h"

namespace lanescope::traces {
namespace {

constexpr int64_t kCorrelationBlock = 1 << 16;

RunClock ClockOf(const RunInfo& info) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return {info.simulated ? 0 : NowNs(), std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()};
}

}  // namespace

void CorrelationIds::Reserve() {
  next_ = ReserveCorrelationIds(*database_, kCorrelationBlock);
  limit_ = next_ + kCorrelationBlock;
}

EventTables::EventTables(Database& database)
    : kernels(database, tables::kKernel),
      copies(database, tables::kMemcpy),
      activities(database, tables::kActivity),
      steps(database, tables::kStep),
      correlation(database) {}

void EventTables::Flush() {
  for (PendingRows* rows : std::initializer_list<PendingRows*>{&kernels, &copies, &activities, &steps})
    rows->Flush();
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
  constexpr const auto& to = tables::kStep;
  tables_.steps.Add({{to.run, id_}, {to.number, event.step}, {to.start, start}, {to.end, end}});
  step_ns_.emplace_back(event.step, end - start);
  last_ns_ = std::max(last_ns_, end);
}

void RunWriter::WriteCommand(const Event& event) {
  const auto schedule = static_cast<size_t>(event.schedule);
  if (schedule >= schedules_.size() || !schedules_[schedule].commands.Contains(event.command)) {
    ++malformed_;
    return;
  }
  ScheduleState& state = schedules_[schedule];
  const CommandInfo& command = state.commands[event.command];
  const int64_t start = event.start_ns - clock_.origin_ns, end = event.end_ns - clock_.origin_ns;
  last_ns_ = std::max(last_ns_, end);
  if (IsCaptured(command)) return;
  KeepTime(&state, event.command, event.step, start, end);
  const int64_t correlation = tables_.correlation.Next();
  if (command.kind == CommandKind::kLaunch) {
    constexpr const auto& to = tables::kKernel;
    tables_.kernels.Add({{to.start, start},
                         {to.end, end},
                         {to.device, command.device},
                         {to.context, command.device + 1},
                         {to.stream, command.stream},
                         {to.correlation, correlation},
                         {to.global_pid, global_pid_},
                         {to.full_name, command.name},
                         {to.short_name, command.op}});
  } else if (command.kind == CommandKind::kCopy) {
    constexpr const auto& to = tables::kMemcpy;
    tables_.copies.Add({{to.start, start},
                        {to.end, end},
                        {to.device, command.device},
                        {to.context, command.device + 1},
                        {to.stream, command.stream},
                        {to.correlation, correlation},
                        {to.global_pid, global_pid_},
                        {to.bytes, event.bytes},
                        {to.copy_kind, command.copy_kind},
                        {to.src_kind, command.src_kind},
                        {to.dst_kind, command.dst_kind},
                        {to.src_device, command.src},
                        {to.src_context, command.src + 1},
                        {to.dst_device, command.dst},
                        {to.dst_context, command.dst + 1}});
  } else {
    ++malformed_;
    return;
  }
  constexpr const auto& to = tables::kActivity;
  tables_.activities.Add({{to.global_pid, global_pid_},
                          {to.correlation, correlation},
                          {to.command, event.command.number()},
                          {to.schedule, event.schedule},
                          {to.step, event.step}});
}

void RunWriter::KeepTime(ScheduleState* state, CommandId command, int step, int64_t start, int64_t end) {
  if (state->first_step < 0) {
    state->first_step = step;
    state->times.assign(state->commands.size(), {0, -1});
  }
  if (state->first_step != step) return;
  auto& [first, last] = state->times[command];
  first = last < first ? start : std::min(first, start);
  last = std::max(last, end);
}

bool RunWriter::IsCaptured(const CommandInfo& command) const {
  const auto captured = [this](int device) {
    return device >= 0 && static_cast<size_t>(device) < captured_devices_.size() &&
           captured_devices_[static_cast<size_t>(device)];
  };
  if (captured(command.device)) return true;
  return command.kind == CommandKind::kCopy && (captured(command.src) || captured(command.dst));
}

// Numbers of the trace by CUDA device number. The first device of the machine on a GPU stands for what no
// command claims; GPUs that the machine does not use get numbers of their own.
std::vector<int> RunWriter::NumbersOfGpus() const {
  std::vector<int> numbers;
  const MachineTasks tasks = TasksOf(*info_.machine);
  for (const DeviceId gpu : info_.machine->Gpus()) {
    const DeviceSpec& device = info_.machine->device(gpu);
    if (!device.is_hardware() || device.physical < 0) continue;
    const auto physical =
        static_cast<size_t>(GpuOfTask(tasks.task_of[gpu], static_cast<uint32_t>(device.physical)));
    if (physical >= numbers.size()) numbers.resize(physical + 1, -1);
    if (numbers[physical] < 0) numbers[physical] = devices_[gpu];
  }
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] < 0) numbers[i] = static_cast<int>(devices_.size() + i);
  }
  return numbers;
}

void RunWriter::BeginCapture(ActivityTables& tables) {
  if (capture_) return;
  CaptureTarget target{id_, clock_.origin_ns, {}, nullptr, nullptr};
  if (info_.machine != nullptr) {
    target.device_ids = NumbersOfGpus();
    captured_devices_.assign(devices_.size(), false);
    for (const DeviceId gpu : info_.machine->Gpus()) {
      if (info_.machine->device(gpu).is_hardware()) {
        captured_devices_[static_cast<size_t>(devices_[gpu])] = true;
      }
    }
  }
  if (info_.graph != nullptr) {
    // The writer keeps runs in a map: this object stays where it is.
    const auto is_known = [this](size_t schedule, CommandId command) {
      return schedule < schedules_.size() && schedules_[schedule].commands.Contains(command);
    };
    target.find_command = [this, is_known](uint32_t schedule, uint32_t number) -> const CommandInfo* {
      const CommandId command(number);
      return is_known(schedule, command) ? &schedules_[schedule].commands[command] : nullptr;
    };
    target.on_command = [this, is_known](uint64_t tag, int64_t start, int64_t end) {
      const CommandId command(TagCommand(tag));
      if (!is_known(TagSchedule(tag), command)) return;
      KeepTime(&schedules_[TagSchedule(tag)], command, static_cast<int>(TagStep(tag)), start, end);
    };
  }
  capture_.emplace(database_, strings_, tables, std::move(target));
}

void RunWriter::WriteActivities(const ActivityBatch& batch) {
  if (capture_) capture_->Write(batch);
}

void RunWriter::WriteMemory() {
  using tables::kMemory;
  RowInserter rows(database_, kMemory);
  for (const ScheduleState& state : schedules_) {
    for (const MemoryPoint& point : state.memory.Timeline(state.times)) {
      rows.Add({{kMemory.run, id_},
                {kMemory.device, devices_[point.device]},
                {kMemory.time, point.time_ns},
                {kMemory.bytes, point.bytes}});
    }
  }
  rows.Flush();
}

void RunWriter::WriteDisturbances(std::span<const StepDisturbance> disturbances) {
  using tables::kDisturbance;
  RowInserter rows(database_, kDisturbance);
  for (const StepDisturbance& step : disturbances) {
    rows.Add({{kDisturbance.run, id_},
              {kDisturbance.step, step.step},
              {kDisturbance.round, step.round},
              {kDisturbance.disturbed, step.disturbed},
              {kDisturbance.others, step.taken.others_ns},
              {kDisturbance.stolen, step.taken.stolen_ns},
              {kDisturbance.waited, step.taken.waited_ns},
              {kDisturbance.preempted, step.taken.preempted}});
  }
  rows.Flush();
}

void RunWriter::WriteTasks(std::span<const RunTask> tasks) {
  using tables::kTask;
  RowInserter rows(database_, kTask);
  for (size_t number = 0; number < tasks.size(); ++number) {
    const RunTask& task = tasks[number];
    rows.Add({{kTask.run, id_},
              {kTask.number, number},
              {kTask.name, task.name},
              {kTask.process, task.process},
              {kTask.clock_ahead, task.clock_ahead_ns},
              {kTask.clock_uncertainty, task.clock_uncertainty_ns}});
  }
  rows.Flush();
}

void RunWriter::WriteTiming(const RunTiming& timing) {
  using tables::kTiming, tables::kUntimedStep;
  if (timing.commands != CommandTiming::kThreads) {
    InsertRow(database_, kTiming,
              {{kTiming.run, id_},
               {kTiming.commands, kCommandTimingNames[static_cast<size_t>(timing.commands)]},
               {kTiming.pair_ns, timing.pair_ns}});
  }
  RowInserter rows(database_, kUntimedStep);
  for (const UntimedStep& step : timing.untimed) {
    rows.Add({{kUntimedStep.run, id_},
              {kUntimedStep.number, step.step},
              {kUntimedStep.start, step.start_ns - clock_.origin_ns},
              {kUntimedStep.end, step.end_ns - clock_.origin_ns}});
  }
  rows.Flush();
}

std::vector<int64_t> RunWriter::CountedSteps(const RunOutcome& outcome) const {
  std::set<int> disturbed;
  for (const StepDisturbance& step : outcome.disturbances) {
    if (step.disturbed) disturbed.insert(step.step);
  }
  std::vector<std::pair<int, int64_t>> steps;
  for (const UntimedStep& step : outcome.timing.untimed)
    steps.emplace_back(step.step, step.end_ns - step.start_ns);
  std::vector<int64_t> counted, all;
  for (const auto& [number, ns] : steps.empty() ? step_ns_ : steps) {
    all.push_back(ns);
    if (disturbed.count(number) == 0) counted.push_back(ns);
  }
  return counted.empty() ? all : counted;
}

void RunWriter::Finish(const RunOutcome& outcome) {
  tables_.Flush();
  if (capture_) {
    capture_->Finish();
    last_ns_ = std::max(last_ns_, capture_->last_ns());
  }
  WriteMemory();
  WriteDisturbances(outcome.disturbances);
  WriteTasks(outcome.tasks);
  WriteTiming(outcome.timing);
  InsertDropped(database_, id_, "events", dropped_);
  InsertDropped(database_, id_, "events of unknown commands", malformed_);
  using tables::kAnalysisDetails, tables::kRun;
  InsertRow(database_, kAnalysisDetails,
            {{kAnalysisDetails.global_vid, int64_t{id_} << 48},
             {kAnalysisDetails.duration, last_ns_},
             {kAnalysisDetails.start_time, clock_.origin_ns},
             {kAnalysisDetails.stop_time, clock_.origin_ns + last_ns_}});
  const std::optional<Spread> spread = SpreadOf(CountedSteps(outcome));
  const auto of_steps = [&](auto Spread::*value) { return spread ? Cell((*spread).*value) : Cell(); };
  UpdateRows(database_, kRun,
             {{kRun.complete, !outcome.incomplete},
              {kRun.steps, step_ns_.size() + outcome.timing.untimed.size()},
              {kRun.oversubscribed, outcome.oversubscribed},
              {kRun.error, outcome.error.empty() ? Cell() : Cell(outcome.error)},
              {kRun.step_median, of_steps(&Spread::median)},
              {kRun.step_p25, of_steps(&Spread::p25)},
              {kRun.step_p75, of_steps(&Spread::p75)},
              {kRun.step_min, of_steps(&Spread::min)},
              {kRun.step_max, of_steps(&Spread::max)}},
             {{kRun.id, id_}});
}

}  // namespace lanescope::traces
