// SPDX-License-Identifier: Apache-2.0
#include "study/measure/recorded_run.h"

#include <signal.h>

#include <algorithm>
#include <utility>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/statistics.h"
#include "core/inputs/step_request.h"
#include "core/record/input_log.h"
#include "core/record/recorder.h"
#include "exec/measure/core_speeds.h"
#include "exec/measure/gpu_machine.h"
#include "study/base/cancellation.h"
#include "study/job/this_machine.h"
#include "study/measure/disturbance.h"
#include "study/measure/gpu_clocks.h"
#include "study/measure/input_threads.h"
#include "study/measure/job_capture.h"
#include "study/measure/oversubscription.h"
#include "study/measure/participant.h"
#include "study/measure/run_capture.h"
#include "study/measure/undisturbed.h"
#include "traces/record/trace_writer.h"

namespace lanescope::study {
namespace {

constexpr int64_t kSpeedEveryNs = 10'000'000;

RunSpec WithSeed(RunSpec spec, const std::optional<uint64_t>& seed) {
  for (auto& [name, feed] : spec.feeds) {
    if (!feed.has_seed && seed.has_value()) feed.seed = *seed;
  }
  return spec;
}

// Entries of an input's log after which the trace gets them.
constexpr size_t kInputGathered = 8192;

// Steps of a job after which the first process gets the events of the others, and steps after which those of
// timed ones are corrected.
constexpr int kStepsGathered = 64;
constexpr int64_t kHeldNs = 1'000'000'000;  // after which they are, too

bool UsesPhysicalGpus(const Schedule& schedule, const Machine& machine) {
  return std::ranges::any_of(schedule.commands, [&](const Command& command) {
    return command.is_work() && machine.device(schedule.queues[command.queue].device).is_hardware();
  });
}

exec::SessionOptions SessionOptionsOf(const RunSettings& settings, const Participant& participant,
                                      const Machine& machine, bool fuse) {
  exec::SessionOptions options;
  options.fuse = fuse;
  options.seed = settings.seed;
  options.devices = settings.devices;
  participant.Join(machine, &options);
  return options;
}

// The workload's inference holds for its steps.
exec::StepDescription StepOf(const Workload& workload) {
  const RunSpec& spec = workload.spec();
  return {FeedInfos(spec), spec.fetches, spec.targets, workload.shared_info()};
}

}  // namespace

RunInfo InfoOfRun(const PlacedGraph& placed, const Machine& machine, const GraphInfo& graph_info) {
  RunInfo info;
  info.emulated = IsEmulated(machine);
  info.strategy = placed.strategy;
  info.graph_name = placed.workload->name();
  info.graph = &placed.workload->graph();
  info.machine = &machine;
  info.placement = &placed.placement;
  info.info = &graph_info;
  return info;
}

RecordedRun::RecordedRun(const PlacedGraph& placed, const Machine& machine, traces::TraceWriter* writer,
                         const RecordedRunOptions& options)
    : placed_(placed),
      machine_(machine),
      writer_(writer),
      options_(options),
      participant_(options.participant != nullptr ? options.participant : std::make_shared<Participant>()),
      spec_(WithSeed(placed.workload->spec(), options.settings.seed)),
      input_log_(std::make_unique<InputLog>()) {
  participant_->RequireRunnable(*placed_.workload);
  participant_->AwaitVariables(options_.cancellation);
  session_ = std::make_unique<exec::Session>(
      placed_.workload->graph(), placed_.placement, machine,
      SessionOptionsOf(options.settings, *participant_, machine, placed.workload->request().fuse));
  Initialize();
  if (options_.cancellation != nullptr) options_.cancellation->Check();
  step_ = &session_->PrepareStep(StepOf(*placed_.workload));
  if (const auto fillers = participant_->queue_fillers())
    RequireFilledQueues(*placed_.workload, *step_->schedule, *fillers);
  if (writer_ != nullptr) BeginTrace();
  try {
    BeginCapture();
    leaves_untimed_ = UsesPhysicalGpus(*step_->schedule, machine_);
    if (leaves_untimed_)
      times_commands_ = participant_->TimesCommands(writer_ != nullptr || options_.keep_events);
    if (leaves_untimed_ && times_commands_ && timing_.commands != CommandTiming::kProfiler)
      timing_.commands = CommandTiming::kPairs;
    recorder_.reset(new Recorder(this));  // of a private base
  } catch (const Error& error) {
    if (writer_ != nullptr) writer_->EndRun(run_id_, {.error = error.what()});
    throw;
  }
}

void RecordedRun::BeginTrace() {
  run_id_ = writer_->BeginRun(InfoOfRun(placed_, machine_, *step_->info));
  trace_sink_ = writer_->Sink(run_id_);
}

void RecordedRun::Initialize() {
  const std::vector<std::string> targets = participant_->InitTargets(placed_, machine_);
  if (!targets.empty()) {
    if (participant_->queue_fillers() == QueueFillers::kRun) {
      const exec::PreparedStep& init = session_->PrepareStep({{}, {}, targets});
      RequireFilledQueues(*placed_.workload, *init.schedule, QueueFillers::kInit);
    }
    const Cancellation::Running running(options_.cancellation, session_.get());
    session_->Run(exec::RunRequest{{}, {}, targets});
  }
  participant_->Initialized();
}

void RecordedRun::BeginCapture() {
  RunCapture* const capture = options_.capture;
  if (capture == nullptr || !exec::HasPhysicalGpus(machine_)) return;
  if (writer_ == nullptr && !participant_->shares_captures()) return;
  const std::string problem = participant_->CaptureProblem(*capture, machine_);
  if (!problem.empty()) {
    capture->Stop();  // where others cannot, it would only slow this process down
    if (writer_ != nullptr && capture->is_asked_for())
      Tell(options_.note, "note: GPU activity is not captured: " + problem);
    return;
  }
  traces::ActivitySink* const sink = writer_ != nullptr ? writer_->Capture(run_id_) : nullptr;
  job_capture_ = participant_->ShareCapture(capture, *step_, sink);
  if (job_capture_ == nullptr) capture_sink_ = sink;
  TakeCapture();
  session_->Observe(capture->observer());
  timing_.commands = CommandTiming::kProfiler;
}

// Others of the same capture get first what they did.
void RecordedRun::TakeCapture() {
  if (capture_sink_ != nullptr) options_.capture->SendTo(capture_sink_);
}

RecordedRun::~RecordedRun() {
  input_.reset();
  if (options_.capture != nullptr) options_.capture->Stop();  // before the trace that it writes to
  recorder_.reset();                                          // delivers what is left, into members
}

bool RecordedRun::HoldsEvents() const { return leaves_untimed_ && timing_.commands == CommandTiming::kPairs; }

int64_t RecordedRun::RunOne() {
  exec::RunResult result = RunStep();
  last_staleness_ = result.staleness;
  last_times_ = result.times;
  last_fetches_ = std::move(result.fetches);
  return last_times_.end_ns - last_times_.start_ns;
}

// A failure of the input is told instead of what the step then lacks.
exec::RunResult RecordedRun::RunStep() {
  if (input_ == nullptr && !spec_.queue_runners.empty())
    input_ = std::make_unique<InputThreads>(spec_.queue_runners, session_.get());
  const auto feeds = options_.feeds ? options_.feeds(next_step_) : MakeFeeds(spec_, next_step_);
  try {
    const Cancellation::Running running(options_.cancellation, session_.get());
    return session_->Run(*step_, feeds, {options_.settings.timeout_ns});
  } catch (const Error& error) {
    if (input_ == nullptr || (error.code() != Code::kOutOfRange && error.code() != Code::kCancelled)) throw;
    if (options_.cancellation != nullptr) options_.cancellation->Check();
    if (const auto reason = input_->error()) throw *reason;
    throw;
  }
}

void RecordedRun::WarmUp(int steps) {
  TakeCapture();
  session_->SetRecording(false);
  for (int i = 0; i < steps; ++i) {
    RunOne();
    if (on_step) on_step(next_step_, last_fetches_);
    ++next_step_;
  }
  session_->SetRecording(true);
}

int64_t RecordedRun::QuickestStep(int64_t for_ns) {
  session_->SetRecording(false);
  int64_t quickest = INT64_MAX, passed = 0;
  for (int step = 0; step < 2 || passed < for_ns; ++step) {
    const int64_t ns = RunOne();
    ++next_step_;
    passed += ns;
    quickest = std::min(quickest, ns);
  }
  session_->SetRecording(true);
  return quickest;
}

void RecordedRun::RunSteps(int steps) {
  if (step_->trace_number < 0) {
    const int number = writer_ != nullptr ? writer_->AddSchedule(run_id_, *step_->schedule) : 0;
    session_->Record(recorder_.get(), step_, number);
    session_->LogInput(input_log_.get());
  }
  if (steps_per_round_ == 0) steps_per_round_ = steps;
  if (options_.watch_others && meter_ == nullptr)
    meter_ = std::make_unique<DisturbanceMeter>(participant_->neighbours());
  TakeCapture();
  int64_t speed = CoreSpeed();
  int64_t speed_at = NowNs();
  if (meter_ != nullptr) meter_->Take();  // what came between
  for (int i = 0; i < steps; ++i) {
    // A trace that takes no more rows ends the run: its steps would be lost.
    if (writer_ != nullptr) writer_->RequireHealthy();
    participant_->BeginStep();
    SetTiming(TimesStep(i, steps));
    try {
      step_ns_.push_back(RunOne());
      timed_.push_back(is_timing_);
      if (!is_timing_) {
        const int step = static_cast<int>(step_ns_.size()) - 1;
        timing_.untimed.push_back({step, last_times_.start_ns, last_times_.end_ns});
      }
      messaging_ns_.push_back(last_times_.messaging_ns);
      if (last_staleness_ >= 0) staleness_.push_back(last_staleness_);
    } catch (const Error& error) {
      if (input_ == nullptr || error.code() != Code::kOutOfRange || input_->error() || step_ns_.empty())
        throw;
      input_ended_ = true;
      return;
    }
    if (options_.gpu_clocks != nullptr) gpu_clocks_.push_back(options_.gpu_clocks->Read());
    if (meter_ != nullptr) disturbances_.push_back(meter_->Take());
    if (on_step) on_step(next_step_, last_fetches_);
    ++next_step_;
    if (input_log_->size() >= kInputGathered || i + 1 == steps) DeliverInput();
    const bool is_due = i + 1 == steps || (i + 1) % kStepsGathered == 0;
    if (participant_->gathers() && is_due) GatherEvents();
    if (is_due || NowNs() - delivered_at_ns_ > kHeldNs) DeliverHeld(false);
    if (options_.core_speeds == nullptr || (i + 1 < steps && NowNs() - speed_at < kSpeedEveryNs)) continue;
    const int64_t before = std::exchange(speed, CoreSpeed());
    speed_at = NowNs();
    core_speeds_.resize(step_ns_.size(), (before + speed) / 2);
    if (meter_ != nullptr) meter_->Take();
  }
  SuspendCapture();
}

void RecordedRun::DeliverInput() {
  InputRecord input = input_log_->Take();
  if (input.size() == 0) return;
  if (options_.keep_events) Append(input, &input_record_);
  if (writer_ != nullptr) writer_->AddInput(run_id_, std::move(input));
}

int64_t RecordedRun::CoreSpeed() {
  return options_.core_speeds != nullptr ? options_.core_speeds->Take() : 0;
}

std::vector<char> RecordedRun::Undisturbed() const {
  std::vector<char> undisturbed = UndisturbedSteps(disturbances_, steps_per_round_);
  undisturbed.resize(step_ns_.size(), 1);
  const std::vector<char> other_clock = OtherClockSteps(gpu_clocks_);
  for (size_t i = 0; i < undisturbed.size(); ++i) {
    if (i < left_out_.size() && left_out_[i] != 0) undisturbed[i] = 0;
    if (i < other_clock.size() && other_clock[i] != 0) undisturbed[i] = 0;
  }
  return undisturbed;
}

std::vector<StepDisturbance> RecordedRun::StepDisturbances() const {
  const std::vector<char> undisturbed = Undisturbed();
  std::vector<StepDisturbance> steps;
  for (size_t i = 0; i < disturbances_.size(); ++i) {
    const int step = static_cast<int>(i);
    steps.push_back({step, step / steps_per_round_, disturbances_[i], undisturbed[i] == 0});
  }
  return steps;
}

// Steps that nobody else's come between: the others begin after them.
void RecordedRun::WarmUpAlone() {
  const int steps = participant_->steps_alone();
  if (steps == 0) return;
  WarmUp(steps);
  participant_->RanAlone();
}

void RecordedRun::AwaitOthers() {
  const auto step = [this] {
    session_->SetRecording(false);
    RunStep();
    ++next_step_;
  };
  participant_->AwaitOthers({input_ != nullptr, step, [this] { session_->Close(); }}, options_.cancellation);
}

void RecordedRun::RunToEnd(int warmup_steps, int steps) {
  try {
    WarmUpAlone();
    WarmUp(warmup_steps);
    if (options_.capture != nullptr) options_.capture->BeginRecording();
    RunSteps(steps);
    if (job_capture_ != nullptr) {
      options_.capture->Stop();
      job_capture_->Gather();
    }
    AwaitOthers();
  } catch (const Error& error) {
    if (error.code() != Code::kCancelled || options_.cancellation == nullptr) {
      Finish(error.what());
      throw;
    }
    std::string reason = options_.cancellation->Reason();
    if (options_.cancellation->signal().load() == SIGTERM) reason += participant_->WhyTerminated();
    Finish("Cancelled: " + reason);
    Throw(Code::kCancelled, "{}", reason);
  }
  Finish();
}

void RecordedRun::Finish(const std::string& error) {
  if (finished_) return;
  finished_ = true;
  if (input_ != nullptr) input_->Stop();
  if (options_.capture != nullptr) options_.capture->Stop();
  session_->Observe(nullptr);
  recorder_->Flush();
  // The others' events and activities may never come if the run was cut short.
  if (job_capture_ != nullptr) job_capture_->DeliverOwn();
  if (participant_->gathers()) Take(participant_->Own(std::exchange(not_gathered_, {}), *step_));
  DeliverHeld(true);
  if (!pair_ns_.empty()) timing_.pair_ns = Median(pair_ns_);
  oversubscribed_ =
      IsOversubscribed(*schedule(), machine_, participant_->computers(), events_, options_.copy_cores);
  if (const std::string problem = session_->graph_problem(); !problem.empty()) {
    Tell(options_.note,
         fmt::format("note: steps of {} ran without CUDA graphs: {}", placed_.workload->name(), problem));
  }
  session_->Record(nullptr, nullptr, 0);
  session_->LogInput(nullptr);
  recorder_.reset();
  DeliverInput();
  if (writer_ == nullptr) return;
  writer_->EndRun(run_id_, {oversubscribed_, error, false, StepDisturbances(),
                            participant_->RunTasks(machine_), timing_});
  trace_sink_ = nullptr;
}

}  // namespace lanescope::study
