#include "cli/recorded_run.h"

#include <algorithm>
#include <functional>
#include <thread>

#include "cli/interrupt.h"
#include "cli/print.h"
#include "core/cost.h"
#include "core/error.h"
#include "core/run_info.h"
#include "core/signature.h"
#include "sims/interference.h"

namespace lanescope::cli {
namespace {

// The session that runs now, for signals. Set only around a run.
std::atomic<exec::Session*> running{nullptr};

void CancelRunning() {
  if (exec::Session* session = running.load()) session->Cancel();
}

class Running {
 public:
  explicit Running(exec::Session* session) { running.store(session); }
  ~Running() { running.store(nullptr); }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
};

// The share of a run's core time that may be asked for beyond the cores before it counts as oversubscribed:
// work that is put off by this much moves a step by no more than its noise.
constexpr double kTolerated = 0.01;

}  // namespace

bool IsEmulated(const Machine& machine) {
  return std::any_of(machine.devices.begin(), machine.devices.end(),
                     [](const DeviceSpec& device) { return device.kind == DeviceKind::kVirtual; });
}

RecordedRun::RecordedRun(const PlacedGraph& placed, const Machine& machine, TraceWriter* writer,
                         const RecordedRunOptions& options)
    : placed_(placed), machine_(machine), writer_(writer), options_(options) {
  const Workload& workload = *placed_.workload;
  exec::SessionOptions session;
  if (workload.seed().has_value()) session.seed = *workload.seed();
  session.cuda = workload.cuda();
  session_ = std::make_unique<exec::Session>(workload.graph(), placed_.placement, machine, session);
  OnInterrupt(CancelRunning);
  if (!workload.spec().init.empty()) {
    const Running now(session_.get());
    session_->Run(workload.InitRequest());
  }
  ThrowIfInterrupted();
  request_ = workload.StepRequest(0);
  step_ = &session_->Prepare(request_);
  if (writer_ != nullptr) {
    RunInfo info;
    info.emulated = IsEmulated(machine);
    info.strategy = placed_.strategy;
    info.graph_name = workload.name();
    info.graph = &workload.graph();
    info.machine = &machine;
    info.placement = &placed_.placement;
    info.info = step_->info.get();
    run_id_ = writer_->BeginRun(info);
    trace_sink_ = writer_->Sink(run_id_);
    session_->Record(nullptr, nullptr, 0);
  }
  if (writer_ != nullptr || options_.keep_events) recorder_.reset(new Recorder(this));
}

RecordedRun::~RecordedRun() { recorder_.reset(); }  // delivers what is left, into members

void RecordedRun::Consume(std::span<const Event> events) {
  if (options_.keep_events) {
    const size_t room = options_.max_events - std::min(options_.max_events, events_.size());
    events_.insert(events_.end(), events.begin(),
                   events.begin() + static_cast<ptrdiff_t>(std::min(room, events.size())));
  }
  if (trace_sink_ != nullptr) trace_sink_->Consume(events);
}

void RecordedRun::CountDropped(int64_t records) {
  if (trace_sink_ != nullptr) trace_sink_->CountDropped(records);
}

std::vector<Tensor> RecordedRun::RunOne() {
  const auto feeds = MakeFeeds(placed_.workload->spec(), next_step_++);
  auto result = [&] {
    const Running now(session_.get());
    return session_->Run(*step_, feeds, {options_.timeout_ns});
  }();
  step_ns_.push_back(result.times.end_ns - result.times.start_ns);
  return std::move(result.fetches);
}

void RecordedRun::WarmUp(int steps) {
  session_->SetRecording(false);
  for (int i = 0; i < steps && !Interrupted().load(); ++i) {
    last_fetches_ = RunOne();
    step_ns_.pop_back();
  }
  session_->SetRecording(true);
}

bool RecordedRun::RunSteps(int steps) {
  if (recorder_ != nullptr && step_->trace_number < 0) {
    const int number = writer_ != nullptr ? writer_->AddSchedule(run_id_, *step_->schedule) : 0;
    session_->Record(recorder_.get(), step_, number);
  }
  for (int i = 0; i < steps; ++i) {
    if (Interrupted().load()) return false;
    // A trace that takes no more rows ends the run: its steps would be lost.
    if (writer_ != nullptr) writer_->RequireHealthy();
    last_fetches_ = RunOne();
    if (on_step) on_step(next_step_ - 1, last_fetches_);
  }
  return true;
}

// Core time asked for beyond the cores, as a share of all core time of the steps. A launch asks for the cores
// that its work can be split over, a copy for the share of a core that copies were measured to use (a paced
// copy sleeps most of its time).
void RecordedRun::JudgeOversubscription() {
  std::vector<double> asked(schedule().commands.size());
  std::vector<double> alone_ns(asked.size());  // of copies
  for (size_t c = 0; c < asked.size(); ++c) {
    const Command& command = schedule().commands[c];
    asked[c] = CoresAskedFor(command);
    if (command.kind != CommandKind::kCopy || asked[c] == 0) continue;
    const int src = schedule().CopySource(command), dst = schedule().CopyDestination(command);
    if (src != dst)
      alone_ns[c] = static_cast<double>(CopyNs(machine_, machine_.RouteBetween(src, dst), command.bytes));
  }
  std::vector<std::pair<int64_t, double>> changes;
  int64_t total = 0;
  for (const Event& event : events_) {
    if (event.kind == EventKind::kStep) total += event.end_ns - event.start_ns;
    if (event.kind != EventKind::kCommand) continue;
    const auto c = static_cast<size_t>(event.command);
    const auto lasted = static_cast<double>(event.end_ns - event.start_ns);
    const bool stretched = alone_ns[c] > 0 && alone_ns[c] < lasted;
    const double cores = stretched ? asked[c] * alone_ns[c] / lasted : asked[c];
    if (cores == 0) continue;
    changes.emplace_back(event.start_ns, cores);
    changes.emplace_back(event.end_ns, -cores);
  }
  std::sort(changes.begin(), changes.end());
  const double cores = std::max(1u, std::thread::hardware_concurrency());
  double active = 0, beyond = 0;
  int64_t since = 0;
  for (const auto& [time, change] : changes) {
    beyond += std::max(0.0, active - cores) * static_cast<double>(time - since);
    active += change;
    since = time;
  }
  oversubscribed_ = beyond > kTolerated * cores * static_cast<double>(total);
}

double RecordedRun::CoresAskedFor(const Command& command) const {
  const DeviceSpec& device = machine_.device(schedule().queues[static_cast<size_t>(command.queue)].device);
  if (device.kind != DeviceKind::kHost && device.kind != DeviceKind::kVirtual) return 0;
  if (command.kind == CommandKind::kCopy) return options_.copy_cores;
  if (command.kind != CommandKind::kLaunch) return 0;
  return command.workers;
}

void RecordedRun::Finish(const std::string& error) {
  if (finished_) return;
  finished_ = true;
  if (recorder_ != nullptr) recorder_->Flush();
  JudgeOversubscription();
  if (const std::string problem = session_->graph_problem(); !problem.empty()) {
    PrintNote("note: steps of {} ran without CUDA graphs: {}\n", placed_.workload->name(), problem);
  }
  if (writer_ != nullptr) {
    session_->Record(nullptr, nullptr, 0);
    recorder_.reset();
    writer_->EndRun(run_id_, {oversubscribed_, error});
    trace_sink_ = nullptr;
  }
}

}  // namespace lanescope::cli
