#include "study/measure/recorded_run.h"

#include <signal.h>

#include <algorithm>
#include <utility>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/machine/tasks.h"
#include "core/record/input_log.h"
#include "core/record/recorder.h"
#include "exec/calls/remote_tasks.h"
#include "exec/device/device_set.h"
#include "exec/measure/core_speeds.h"
#include "exec/measure/gpu_machine.h"
#include "exec/messages/process_turns.h"
#include "study/base/cancellation.h"
#include "study/job/copy_ends.h"
#include "study/job/job.h"
#include "study/job/this_machine.h"
#include "study/measure/disturbance.h"
#include "study/measure/gpu_clocks.h"
#include "study/measure/input_threads.h"
#include "study/measure/job_capture.h"
#include "study/measure/oversubscription.h"
#include "study/measure/run_capture.h"
#include "study/measure/undisturbed.h"
#include "study/workload/filled_queues.h"
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

// Steps of a job after which the first process gets the events of the others.
constexpr int kStepsGathered = 64;

exec::SessionOptions SessionOptionsOf(const RecordedRunOptions& of, const Machine& machine) {
  exec::SessionOptions options;
  if (of.task >= 0) {
    options.job.client = of.task;
    options.device_set = std::make_shared<exec::DeviceSet>(SeenByTask(machine, of.task), of.settings.devices);
  } else if (of.job != nullptr) {
    options.job = of.job->session_options();
  }
  if (of.servers != nullptr) {
    options.job.transport = &of.servers->transport();
    options.job.client = of.servers->transport().rank();
    options.job.servers = of.servers;
  }
  options.seed = of.settings.seed;
  options.devices = of.settings.devices;
  return options;
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
      spec_(WithSeed(placed.workload->spec(), options.settings.seed)),
      input_log_(std::make_unique<InputLog>()) {
  if (IsShared() && !IsServed() && !spec_.queue_runners.empty()) {
    Throw(
        Code::kUnimplemented,
        "{} has threads that fill its queues, whose steps processes that make the same calls cannot take in "
        "the same order; run it in one process, or with tasks that others serve (lanescope serve)",
        placed_.workload->name());
  }
  // What is emptied is gone for sessions that come later: those of clients that wait are made after that.
  if (AwaitsValues()) {
    AwaitClient(options_.initializer, exec::Stage::kReady);
  } else if (IsServed() && !options_.reset.empty()) {
    options_.servers->Reset(options_.reset);
  }
  session_ = std::make_unique<exec::Session>(placed_.workload->graph(), placed_.placement, machine,
                                             SessionOptionsOf(options, machine));
  Initialize();
  if (options_.cancellation != nullptr) options_.cancellation->Check();
  step_ = &session_->Prepare({MakeFeeds(spec_, 0), spec_.fetches, spec_.targets});
  const bool others_fill = IsServed() && !options_.servers->OtherClients().empty();
  if (!others_fill)
    RequireFilledQueues(*placed_.workload, *step_->schedule,
                        IsServed() ? QueueFillers::kGraph : QueueFillers::kRun);
  if (writer_ != nullptr) BeginTrace();
  try {
    BeginCapture();
    recorder_.reset(new Recorder(this));  // of a private base
  } catch (const Error& error) {
    if (writer_ != nullptr) writer_->EndRun(run_id_, {.error = error.what()});
    throw;
  }
}

bool RecordedRun::IsOfJob() const { return options_.job != nullptr && options_.job->is_shared(); }

void RecordedRun::BeginTrace() {
  run_id_ = writer_->BeginRun(InfoOfRun(placed_, machine_, *step_->info));
  trace_sink_ = writer_->Sink(run_id_);
}

// Of a job where one process cannot capture, none does.
void RecordedRun::BeginCapture() {
  RunCapture* const capture = options_.capture;
  if (capture == nullptr || !exec::HasPhysicalGpus(machine_)) return;
  if (!capture->active() && capture->problem().empty()) return;  // nobody has asked for it
  const bool of_job = IsShared() && !IsServed();
  if (writer_ == nullptr && !of_job) return;
  const std::string problem =
      of_job ? CaptureProblemOfJob(*capture, *options_.job, machine_) : capture->problem();
  if (!problem.empty()) {
    if (writer_ != nullptr) Tell(options_.note, "note: GPU activity is not captured: " + problem);
    return;
  }
  traces::ActivitySink* const sink = writer_ != nullptr ? writer_->Capture(run_id_) : nullptr;
  if (of_job) {
    job_capture_ = std::make_unique<JobCapture>(capture, *options_.job, *step_->share, sink);
  } else {
    capture->SendTo(sink);
  }
  session_->Observe(capture->observer());
}

RecordedRun::~RecordedRun() {
  input_.reset();
  if (options_.capture != nullptr) options_.capture->Stop();  // before the trace that it writes to
  recorder_.reset();                                          // delivers what is left, into members
}

void RecordedRun::Consume(std::span<const Event> events) {
  if (!IsShared()) return Deliver(events);
  not_gathered_.insert(not_gathered_.end(), events.begin(), events.end());
}

void RecordedRun::GatherEvents() {
  recorder_->Flush();
  if (IsServed()) {
    std::vector<Event> all = Job::Numbered(std::exchange(not_gathered_, {}), *step_->share);
    const std::vector<Event> others = session_->TakeServedEvents();
    all.insert(all.end(), others.begin(), others.end());
    return Deliver(JoinCopyEnds(all, {schedule().get()}));
  }
  Deliver(options_.job->Gather(std::exchange(not_gathered_, {}), *schedule(), *step_->share));
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

int64_t RecordedRun::RunOne() {
  exec::RunResult result = RunStep();
  last_staleness_ = result.staleness;
  last_messaging_ns_ = result.times.messaging_ns;
  last_fetches_ = std::move(result.fetches);
  return result.times.end_ns - result.times.start_ns;
}

// What keeps the input from coming is told instead of what the step then lacks.
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
    meter_ = std::make_unique<DisturbanceMeter>(options_.job != nullptr ? options_.job->neighbours()
                                                                        : std::vector<int>());
  int64_t speed = CoreSpeed();
  int64_t speed_at = NowNs();
  if (meter_ != nullptr) meter_->Take();  // what came between
  for (int i = 0; i < steps; ++i) {
    // A trace that takes no more rows ends the run: its steps would be lost.
    if (writer_ != nullptr) writer_->RequireHealthy();
    if (options_.start_together && IsShared()) options_.job->StartTogether();
    try {
      step_ns_.push_back(RunOne());
      messaging_ns_.push_back(last_messaging_ns_);
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
    if (IsShared() && (i + 1 == steps || (i + 1) % kStepsGathered == 0)) GatherEvents();
    if (options_.core_speeds == nullptr || (i + 1 < steps && NowNs() - speed_at < kSpeedEveryNs)) continue;
    const int64_t before = std::exchange(speed, CoreSpeed());
    speed_at = NowNs();
    core_speeds_.resize(step_ns_.size(), (before + speed) / 2);
    if (meter_ != nullptr) meter_->Take();
  }
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
    AwaitOtherClients();
  } catch (const Error& error) {
    if (error.code() != Code::kCancelled || options_.cancellation == nullptr) {
      Finish(error.what());
      throw;
    }
    std::string reason = options_.cancellation->Reason();
    if ((IsServed() || IsOfJob()) && options_.cancellation->signal().load() == SIGTERM)
      reason += ", which also comes when another process of the job has failed";
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
  // Of a run that was cut short the others' events and activities may never come.
  if (job_capture_ != nullptr) job_capture_->DeliverOwn();
  if (IsServed() || (IsShared() && options_.job->is_first()))
    Deliver(Job::Numbered(std::exchange(not_gathered_, {}), *step_->share));
  oversubscribed_ = IsOversubscribed(*schedule(), machine_, options_.computers, events_, options_.copy_cores);
  if (const std::string problem = session_->graph_problem(); !problem.empty()) {
    Tell(options_.note,
         fmt::format("note: steps of {} ran without CUDA graphs: {}", placed_.workload->name(), problem));
  }
  session_->Record(nullptr, nullptr, 0);
  session_->LogInput(nullptr);
  recorder_.reset();
  DeliverInput();
  if (writer_ == nullptr) return;
  std::vector<RunTask> tasks;
  if (!IsServed() && IsOfJob()) tasks = options_.job->RunTasks(machine_);
  writer_->EndRun(run_id_, {oversubscribed_, error, false, StepDisturbances(), std::move(tasks)});
  trace_sink_ = nullptr;
}

}  // namespace lanescope::study
