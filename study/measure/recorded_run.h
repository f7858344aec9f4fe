// SPDX-License-Identifier: Apache-2.0
// One run of a placed graph: steps in a session, recorded into a trace and kept for calibration. Every run
// that is measured, whoever asks for it, is one of these.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/record/disturbance.h"
#include "core/record/event.h"
#include "core/record/input_record.h"
#include "core/record/run_info.h"
#include "core/record/run_timing.h"
#include "exec/run/session.h"
#include "study/base/notes.h"
#include "study/measure/run_settings.h"
#include "study/workload/placing.h"

namespace lanescope {
class InputLog;
class Recorder;
}  // namespace lanescope

namespace lanescope::exec {
class CoreSpeeds;
}  // namespace lanescope::exec

namespace lanescope::traces {
class ActivitySink;
class TraceWriter;
}  // namespace lanescope::traces

namespace lanescope::study {

class Cancellation;
class DisturbanceMeter;
class GpuClocks;
class InputThreads;
class JobCapture;
class Participant;
class RunCapture;
struct GpuClock;

struct RecordedRunOptions {
  RunSettings settings;
  // All events are kept, for calibration; otherwise as many as oversubscription is judged by.
  bool keep_events = false;
  bool watch_others = false;              // measure with every step what others took from it
  const GpuClocks* gpu_clocks = nullptr;  // not null: read after every step
  // Not null: taken around every step of 10 ms or more, and around as many shorter ones together.
  exec::CoreSpeeds* core_speeds = nullptr;
  double copy_cores = 0.1;  // cores that one copy between devices keeps busy, to judge oversubscription
  // Not null: what GPUs do goes into the trace too. Made before anything touched a GPU. Several runs may have
  // one, whose steps come in turn, until the first of them is finished.
  RunCapture* capture = nullptr;
  Cancellation* cancellation = nullptr;
  // How other processes take part; null: this one is alone.
  std::shared_ptr<Participant> participant = nullptr;
  Notes note;
  // Feeds of a step, by its number (those that warm up count). Null: as the run configuration says.
  std::function<std::map<std::string, Tensor>(int64_t step)> feeds = nullptr;
};

// The description of a measured run in a trace; refers to all three.
RunInfo InfoOfRun(const PlacedGraph& placed, const Machine& machine, const GraphInfo& graph_info);

// Where commands run on physical GPUs, timing them would lengthen the steps: they are timed in every other
// step, by pairs of events, or in the second half of the steps of a call, by the capture, whose times are in
// the trace alone; without a writer and where no events are kept, in none. Of the others only the ends are
// known, and what a step takes goes by them. Processes of a job, and tasks that serve this one, time the same
// steps.
//
// Not thread-safe. Workload, machine, writer, capture and cancellation must outlive it. What is running ends
// with Cancelled soon after it is cancelled.
class RecordedRun : private EventSink {
 public:
  // Compiles and runs the init targets. `writer` may be null: nothing is written.
  RecordedRun(const PlacedGraph& placed, const Machine& machine, traces::TraceWriter* writer,
              const RecordedRunOptions& options);
  ~RecordedRun() override;

  // Steps that are not recorded.
  void WarmUp(int steps);
  // Runs at least two steps that are not recorded and take so long together, and gives the quickest. ns.
  int64_t QuickestStep(int64_t for_ns);
  // Recorded steps; appends to step_ns. The first time, be it for none, the trace gets the schedule.
  void RunSteps(int steps);
  // Everything recorded is in the trace (and in events), and the run is marked complete, or with the error
  // that ended it. Idempotent.
  void Finish(const std::string& error = "");
  // All of these in turn. Whatever ends it early is told in the trace, and thrown.
  void RunToEnd(int warmup_steps, int steps);

  int run_id() const { return run_id_; }
  const PlacedGraph& placed() const { return placed_; }
  const std::shared_ptr<const Schedule>& schedule() const { return step_->schedule; }
  const GraphInfo& info() const { return *step_->info; }
  const std::vector<int64_t>& step_ns() const { return step_ns_; }
  // Whether a step's length says what a step takes: nothing but its ends was timed, or there is no such step.
  bool TellsTime(size_t step) const { return timing_.untimed.empty() || timed_[step] == 0; }
  // Lengths of those.
  std::vector<int64_t> StepTimes() const;
  const RunTiming& timing() const { return timing_; }  // the pairs' length once finished
  // By step: of processors, that its messages took in all processes.
  const std::vector<int64_t>& messaging_ns() const { return messaging_ns_; }
  // By recorded step, where options.watch_others; else empty. A call of RunSteps is a round.
  const std::vector<Disturbance>& disturbances() const { return disturbances_; }
  // 1 for recorded steps that do not count whatever was taken from them.
  void LeaveOut(std::vector<char> steps) { left_out_ = std::move(steps); }
  // By recorded step (UndisturbedSteps, OtherClockSteps); those that were not watched are, unless they are
  // left out.
  std::vector<char> Undisturbed() const;
  // By recorded step, where options.core_speeds: mean of before and after it. Else empty.
  const std::vector<int64_t>& core_speeds() const { return core_speeds_; }
  // By recorded step, where options.gpu_clocks; else empty.
  const std::vector<GpuClock>& gpu_clocks() const { return gpu_clocks_; }
  // Counts for each recorded step that changed variables of tasks that serve it how many steps of others had
  // changed them meanwhile.
  const std::vector<int64_t>& staleness() const { return staleness_; }
  // Where its configuration has queue runners: they have no more for its steps, which therefore ended before
  // they were asked to.
  bool input_ended() const { return input_ended_; }
  // Steps so far, those that warm up among them, and records that their readers have read.
  int64_t batches() const { return next_step_; }
  int64_t records_read() const { return session_->records_read(); }
  const std::vector<Event>& events() const { return events_; }
  // Waits of its recorded steps, and the threads that filled their queues; where options.keep_events.
  const InputRecord& input() const { return input_record_; }
  const std::vector<Tensor>& last_fetches() const { return last_fetches_; }
  bool oversubscribed() const { return oversubscribed_; }  // once finished
  // Called with number and fetches of every step; those that warm up count.
  std::function<void(int64_t step, const std::vector<Tensor>&)> on_step;

 private:
  void Consume(std::span<const Event> events) override;
  void CountDropped(int64_t records) override;
  void Take(std::span<const Event> events);
  void Deliver(std::span<const Event> events);
  void DeliverHeld(bool all);
  bool HoldsEvents() const;
  bool TimesStep(int step, int steps) const;
  void SetTiming(bool on);
  void SuspendCapture();
  void GatherEvents();
  void BeginCapture();
  void TakeCapture();
  void Initialize();
  void WarmUpAlone();
  void AwaitOthers();
  void BeginTrace();
  int64_t RunOne();
  exec::RunResult RunStep();
  int64_t CoreSpeed();
  void DeliverInput();
  std::vector<StepDisturbance> StepDisturbances() const;

  PlacedGraph placed_;
  const Machine& machine_;
  traces::TraceWriter* writer_;
  RecordedRunOptions options_;
  const std::shared_ptr<Participant> participant_;
  RunSpec spec_;  // the workload's, with the run's seed
  std::unique_ptr<exec::Session> session_;
  exec::PreparedStep* step_ = nullptr;
  const std::unique_ptr<InputLog> input_log_;  // outlives the session's steps
  std::unique_ptr<InputThreads> input_;        // from the first step on, if there are queue runners
  bool input_ended_ = false;
  std::unique_ptr<Recorder> recorder_;
  EventSink* trace_sink_ = nullptr;
  traces::ActivitySink* capture_sink_ = nullptr;  // of the trace, where this process alone captures
  std::unique_ptr<JobCapture> job_capture_;       // where several processes capture
  int run_id_ = 0;
  int64_t next_step_ = 0;
  bool finished_ = false;
  bool oversubscribed_ = false;
  bool leaves_untimed_ = false;  // some steps, or all
  bool times_commands_ = true;   // in some steps at least
  bool is_timing_ = true;
  RunTiming timing_;
  std::vector<char> timed_;  // by recorded step
  std::vector<Event> held_;  // of timed steps, until it is known what pairs added
  int64_t delivered_at_ns_ = 0;
  std::vector<int64_t> pair_ns_;  // by step of which they were taken out
  std::vector<int64_t> step_ns_;
  std::vector<int64_t> messaging_ns_;
  exec::StepTimes last_times_;
  std::unique_ptr<DisturbanceMeter> meter_;
  std::vector<Disturbance> disturbances_;
  std::vector<GpuClock> gpu_clocks_;
  std::vector<int64_t> core_speeds_;
  int steps_per_round_ = 0;
  std::vector<char> left_out_;
  std::vector<Event> events_;
  InputRecord input_record_;
  std::vector<Event> not_gathered_;  // of this process, where the participant gathers
  std::vector<Tensor> last_fetches_;
  int64_t last_staleness_ = -1;
  std::vector<int64_t> staleness_;
};

}  // namespace lanescope::study
