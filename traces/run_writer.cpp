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

bool IsRealGpu(const DeviceSpec& device) {
  return device.kind == DeviceKind::kCuda || device.kind == DeviceKind::kLogical;
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
  if (IsCaptured(command)) return;
  KeepTime(&state, number, event.step, start, end);
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

void RunWriter::KeepTime(ScheduleState* state, size_t command, int step, int64_t start, int64_t end) {
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
  for (const int gpu : info_.machine->Gpus()) {
    const DeviceSpec& device = info_.machine->device(gpu);
    if (!IsRealGpu(device) || device.physical < 0) continue;
    const auto physical = static_cast<size_t>(device.physical);
    if (physical >= numbers.size()) numbers.resize(physical + 1, -1);
    if (numbers[physical] < 0) numbers[physical] = devices_[static_cast<size_t>(gpu)];
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
    for (const int gpu : info_.machine->Gpus()) {
      if (IsRealGpu(info_.machine->device(gpu))) {
        captured_devices_[static_cast<size_t>(devices_[static_cast<size_t>(gpu)])] = true;
      }
    }
  }
  if (info_.graph != nullptr) {
    // The writer keeps runs in a map: this object stays where it is.
    const auto is_known = [this](size_t schedule, size_t command) {
      return schedule < schedules_.size() && command < schedules_[schedule].commands.size();
    };
    target.find_command = [this, is_known](uint32_t schedule, uint32_t command) -> const CommandInfo* {
      return is_known(schedule, command) ? &schedules_[schedule].commands[command] : nullptr;
    };
    target.on_command = [this, is_known](uint64_t tag, int64_t start, int64_t end) {
      if (!is_known(TagSchedule(tag), TagCommand(tag))) return;
      KeepTime(&schedules_[TagSchedule(tag)], TagCommand(tag), static_cast<int>(TagStep(tag)), start, end);
    };
  }
  capture_.emplace(database_, strings_, tables, std::move(target));
}

void RunWriter::WriteActivities(const ActivityBatch& batch) {
  if (capture_) capture_->Write(batch);
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
  if (capture_) {
    capture_->Finish();
    last_ns_ = std::max(last_ns_, capture_->last_ns());
  }
  WriteMemory();
  WriteDropped("events", dropped_);
  WriteDropped("events of unknown commands", malformed_);
  RowInserter session(database_, "ANALYSIS_DETAILS", {"globalVid", "duration", "startTime", "stopTime"});
  session.Add({int64_t{id_} << 48, last_ns_, clock_.origin_ns, clock_.origin_ns + last_ns_});
  session.Flush();

  Statement update(
      database_,
      "UPDATE LANESCOPE_RUN SET complete = ?, steps = ?, oversubscribed = ?, error = ?, "
      "stepMedianNs = ?, stepP25Ns = ?, stepP75Ns = ?, stepMinNs = ?, stepMaxNs = ? WHERE runId = ?");
  update.BindInteger(1, outcome.incomplete ? 0 : 1);
  update.BindInteger(2, static_cast<int64_t>(step_ns_.size()));
  update.BindInteger(3, outcome.oversubscribed ? 1 : 0);
  if (!outcome.error.empty()) update.BindText(4, outcome.error);
  if (const std::optional<Spread> spread = SpreadOf(step_ns_)) {
    update.BindReal(5, spread->median);
    update.BindReal(6, spread->p25);
    update.BindReal(7, spread->p75);
    update.BindInteger(8, spread->min);
    update.BindInteger(9, spread->max);
  }
  update.BindInteger(10, id_);
  update.Run();
}

}  // namespace lanescope
