// SPDX-License-Identifier: Apache-2.0
// When the commands of a recorded run are timed, and where their events go.
#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/statistics.h"
#include "core/record/recorder.h"
#include "study/measure/job_capture.h"
#include "study/measure/oversubscription.h"
#include "study/measure/pair_correction.h"
#include "study/measure/participant.h"
#include "study/measure/recorded_run.h"
#include "study/measure/run_capture.h"

namespace lanescope::study {
namespace {

// By how much timing commands has lengthened steps. The first one is timed while graphs are recorded.
int64_t AddedByPairs(std::span<const int64_t> lengths, std::span<const char> timed) {
  constexpr size_t kLatest = 256;
  std::vector<double> with, without;
  bool first = true;
  for (size_t step = 0; step < lengths.size(); ++step) {
    const bool is_timed = timed[step] != 0;
    const bool is_late = lengths.size() - step <= kLatest;
    if (is_timed && std::exchange(first, false)) continue;
    if (is_late) (is_timed ? with : without).push_back(static_cast<double>(lengths[step]));
  }
  if (with.empty() || without.empty()) return 0;
  return static_cast<int64_t>(Median(std::move(with)) - Median(std::move(without)));
}

}  // namespace

void RecordedRun::Consume(std::span<const Event> events) {
  if (!participant_->gathers()) return Take(events);
  not_gathered_.insert(not_gathered_.end(), events.begin(), events.end());
}

// Events of whole steps, in all processes.
void RecordedRun::Take(std::span<const Event> events) {
  if (!HoldsEvents()) return Deliver(events);
  held_.insert(held_.end(), events.begin(), events.end());
}

// Gives away the events of steps that are over. What pairs added is known from two timed steps and an untimed
// one on.
void RecordedRun::DeliverHeld(bool all) {
  if (!HoldsEvents()) return;
  delivered_at_ns_ = NowNs();
  recorder_->Flush();
  const bool is_known = !timing_.untimed.empty() && timing_.untimed.size() + 2 <= step_ns_.size();
  if (held_.empty() || !(all || is_known)) return;
  const int64_t added_ns = AddedByPairs(step_ns_, timed_);
  std::ranges::stable_sort(held_, {}, &Event::step);
  for (size_t begin = 0, end = 0; begin < held_.size(); begin = end) {
    while (end < held_.size() && held_[end].step == held_[begin].step) ++end;
    const int64_t pair_ns = TakeOutPairs(*schedule(), added_ns, std::span(held_).subspan(begin, end - begin));
    if (pair_ns > 0) pair_ns_.push_back(pair_ns);
  }
  Deliver(std::exchange(held_, {}));
}

bool RecordedRun::TimesStep(int step, int steps) const {
  if (!leaves_untimed_) return true;
  if (!times_commands_) return false;
  if (timing_.commands == CommandTiming::kProfiler && steps > 1) return step >= steps / 2;
  return step_ns_.size() % 2 == 0;
}

void RecordedRun::SetTiming(bool on) {
  if (timing_.commands == CommandTiming::kProfiler) options_.capture->SetRecording(on);
  if (on == is_timing_) return;
  is_timing_ = on;
  session_->SetTiming(on);
}

// Until the next steps, which may be another run's.
void RecordedRun::SuspendCapture() {
  if (capture_sink_ != nullptr) options_.capture->SetRecording(false);
}

std::vector<int64_t> RecordedRun::StepTimes() const {
  std::vector<int64_t> times;
  for (size_t step = 0; step < step_ns_.size(); ++step) {
    if (TellsTime(step)) times.push_back(step_ns_[step]);
  }
  return times;
}

void RecordedRun::GatherEvents() {
  recorder_->Flush();
  Take(participant_->Gather(std::exchange(not_gathered_, {}), *step_, session_.get()));
  if (job_capture_ != nullptr) job_capture_->Gather();
}

void RecordedRun::Deliver(std::span<const Event> events) {
  const size_t most = options_.keep_events ? SIZE_MAX : kJudgedEvents;
  const size_t room = std::min(most - std::min(most, events_.size()), events.size());
  events_.insert(events_.end(), events.begin(), events.begin() + static_cast<ptrdiff_t>(room));
  if (trace_sink_ != nullptr) trace_sink_->Consume(events);
}

void RecordedRun::CountDropped(int64_t records) {
  if (trace_sink_ != nullptr) trace_sink_->CountDropped(records);
}

}  // namespace lanescope::study
