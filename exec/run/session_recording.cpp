// SPDX-License-Identifier: Apache-2.0
// The recording of a session's steps: when they and their commands ran, what they waited for, how full
// queues were; and who observes their launches.
#include "core/base/clock.h"
#include "exec/kernels/queue_handle.h"
#include "exec/run/session.h"
#include "exec/run/step_runner.h"
#include "exec/stream/stream_program.h"

namespace lanescope::exec {

StepTrace Session::BeginTrace(const PreparedStep& step, const RunOptions& options) {
  const std::lock_guard lock(mutex_);
  if (options.input != nullptr) {
    if (input_log_ == nullptr) return {};
    const int thread = input_log_->ThreadOf(options.input, options.input->op, options.input->queue);
    return {.waits = input_log_, .thread = thread, .waiting_step = input_log_->BeginStep(thread)};
  }
  if (recorder_ == nullptr || !recording_ || step.trace_number < 0) return {};
  const int number = recorded_steps_++;
  return {timing_ ? recorder_ : nullptr, step.trace_number, number, input_log_, kNoInputThread, number, true};
}

StepTrace Session::TraceOfShare(const ShareOptions& share) {
  const std::lock_guard lock(mutex_);
  if (recorder_ == nullptr || share.step < 0) return {};
  return {.recorder = recorder_, .schedule = share.schedule, .step = share.step, .recorded = true};
}

// Without times the step failed: where no other one began meanwhile, the next takes its number.
void Session::EndTrace(const StepTrace& trace, const StepTimes* times) {
  if (trace.waits != nullptr && times != nullptr) {
    if (trace.thread != kNoInputThread)
      trace.waits->EndStep(trace.thread, trace.waiting_step, times->start_ns, times->end_ns);
    if (trace.waits->FillIsDue(times->end_ns)) LogFills(trace.waits);
  }
  if (trace.recorder == nullptr) return;
  const std::lock_guard lock(mutex_);
  if (times == nullptr) {
    if (recorded_steps_ == trace.step + 1) --recorded_steps_;
    return;
  }
  Event event;
  event.kind = EventKind::kStep;
  event.start_ns = times->start_ns;
  event.end_ns = times->end_ns;
  event.step = trace.step;
  event.schedule = trace.schedule;
  step_ring_->Push(event);
}

void Session::LogFills(InputLog* log) {
  for (const auto& queue : state_->shared->All<TensorQueue>()) {
    const QueueSpec& spec = queue->spec();
    log->Fill({0, QueueTitle(queue->name()), spec.capacity, spec.min_after_dequeue}, NowNs(), queue->size());
  }
}

void Session::LogInput(InputLog* log) {
  const std::lock_guard lock(mutex_);
  input_log_ = log;
}

void Session::SetRecording(bool on) {
  const std::lock_guard lock(mutex_);
  recording_ = on;
}

void Session::SetTiming(bool on) {
  const std::lock_guard lock(mutex_);
  timing_ = on;
}

void Session::Record(Recorder* recorder, PreparedStep* step, int schedule_number) {
  const std::lock_guard lock(mutex_);
  if (recorder != recorder_) {
    // One that runs now runs a step that is not recorded.
    for (const auto& runner : runners_) {
      if (!runner->is_taken) runner->executor().ForgetRecorder();
    }
    recorder_ = recorder;
    step_ring_ = recorder != nullptr ? recorder->NewRing() : nullptr;
    recorded_steps_ = 0;
    for (auto& [key, prepared] : prepared_) prepared->trace_number = -1;
  }
  if (step != nullptr) step->trace_number = schedule_number;
}

void Session::Observe(LaunchObserver* observer) {
  observer_ = observer;
  for (const auto& runner : runners_) {
    for (const auto& [schedule, step] : runner->steps()) {
      if (step.loaded->program() != nullptr) step.loaded->program()->SetObserver(observer);
    }
  }
}

std::string Session::graph_problem() const {
  for (const auto& runner : runners_) {
    for (const auto& [schedule, step] : runner->steps()) {
      const StreamProgram* program = step.loaded->program();
      if (program != nullptr && !program->graph_problem().empty()) return program->graph_problem();
    }
  }
  return "";
}

}  // namespace lanescope::exec
