// SPDX-License-Identifier: Apache-2.0
#include "study/measure/ensemble.h"

#include <fmt/core.h>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <numeric>
#include <utility>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/frame.h"
#include "core/base/thread.h"
#include "core/machine/tasks.h"
#include "core/schedule/cost.h"
#include "study/measure/ensemble_graph.h"
#include "study/measure/gathered_run.h"
#include "study/measure/participant.h"
#include "study/measure/recorded_run.h"
#include "study/workload/placing.h"

namespace lanescope::study {
namespace {

constexpr int64_t kMostAloneNs = 1'000'000'000;

// From the beginning of a first step to the end of a last one.
struct Stretch {
  int64_t begin_ns = INT64_MAX, end_ns = 0;
  int64_t steps = 0;
  double PerSecond() const {
    return end_ns > begin_ns ? 1e9 * static_cast<double>(steps) / static_cast<double>(end_ns - begin_ns) : 0;
  }
};

// Lets nobody through until all who were expected have come, or have said that they never will. Who comes
// last calls `together`, unless one has said that.
class Start {
 public:
  Start(size_t expected, std::function<void()> together)
      : together_(std::move(together)), missing_(expected) {}
  void Await() {
    std::unique_lock lock(mutex_);
    Count();
    all_.wait(lock, [&] { return missing_ == 0; });
  }
  void GiveUp() {
    const std::lock_guard lock(mutex_);
    given_up_ = true;
    Count();
  }

 private:
  void Count() {
    if (--missing_ > 0) return;
    all_.notify_all();  // who wakes comes through once the mutex is free
    if (!given_up_) together_();
  }

  const std::function<void()> together_;
  std::mutex mutex_;
  std::condition_variable all_;
  size_t missing_;
  bool given_up_ = false;
};

// Replicas that this process runs where each is a session.
std::vector<size_t> OwnReplicas(const Machine& machine, const Job& job) {
  const MachineTasks tasks = TasksOf(machine);
  const std::vector<DeviceId> devices = DevicesOfReplicas(machine);
  std::vector<size_t> own;
  for (size_t r = 0; r < devices.size(); ++r) {
    if (job.RankOf(tasks.task_of[devices[r]]) == job.rank()) own.push_back(r);
  }
  return own;
}

class EnsembleRun {
 public:
  EnsembleRun(const Workload& workload, const Machine& machine, const EnsembleOptions& options)
      : machine_(machine),
        options_(options),
        job_(options.job != nullptr ? *options.job : no_job_),
        devices_(DevicesOfReplicas(machine)),
        tasks_(TasksOf(machine)),
        placed_(Place(workload, "single", machine, RooflineCost())),
        workload_(*placed_.workload) {
    placed_.strategy = "ensemble";
    job_.RequireSame(placed_, machine, fmt::format("ensemble {} {}", options.in_graph, options.settings));
    RequireFew();
    own_ = OwnReplicas(machine, job_);
    records_ = job_.FromFirst(options.writer != nullptr);
  }

  Ensemble Run() {
    Ensemble ensemble;
    ensemble.alone_steps_per_second = Alone();
    ensemble.replicas.resize(devices_.size());
    for (size_t r = 0; r < devices_.size(); ++r) ensemble.replicas[r].device = devices_[r];
    const Stretch all = options_.in_graph ? RunInGraph(&ensemble) : RunSessions(&ensemble);
    ensemble.steps_per_second = all.PerSecond();
    return job_.is_first() ? std::move(ensemble) : Ensemble();
  }

 private:
  // All processes find the same.
  void RequireFew() const {
    std::vector<int> networks(static_cast<size_t>(tasks_.size()), 0);
    for (size_t r = 0; r < devices_.size(); ++r) ++networks[static_cast<size_t>(RankOf(r))];
    const int most = *std::ranges::max_element(networks);
    if (most <= kMaxReplicas) return;
    Throw(Code::kInvalidArgument,
          "an ensemble has at most {} networks in a process; the machine file has {} GPUs for one",
          kMaxReplicas, most);
  }

  int TaskOf(size_t replica) const { return tasks_.task_of[devices_[replica]]; }
  int RankOf(size_t replica) const { return job_.RankOf(TaskOf(replica)); }
  bool IsOwn(size_t replica) const { return std::ranges::count(own_, replica) > 0; }

  uint64_t Seed(size_t replica) const {
    return options_.run.settings.seed.value_or(0) + static_cast<uint64_t>(replica);
  }

  // That of `single`, on another GPU and its task's host.
  Placement PlacementOn(DeviceId gpu) const {
    Placement placement = placed_.placement;
    for (DeviceId& device : placement.device) {
      if (device == devices_.front()) {
        device = gpu;
      } else if (!tasks_.SameTask(device, gpu)) {
        device = machine_.device(device).is_gpu() ? gpu : tasks_.host_of[gpu];
      }
    }
    return placement;
  }

  PlacedGraph PlacedOn(DeviceId gpu) const { return {&workload_, placed_.strategy, PlacementOn(gpu)}; }

  RecordedRunOptions OptionsOf(uint64_t seed) {
    RecordedRunOptions options;
    options.settings = options_.run.settings;
    options.settings.seed = seed;
    options.cancellation = options_.cancellation;
    options.note = [this](const std::string& line) {
      const std::lock_guard lock(mutex_);
      Tell(options_.note, line);
    };
    return options;
  }

  // As a session.
  std::unique_ptr<RecordedRun> MakeRun(size_t replica, traces::TraceWriter* writer) {
    RecordedRunOptions options = OptionsOf(Seed(replica));
    options.participant = TaskOfJob(&job_, TaskOf(replica));
    options.keep_events = records_ && !job_.is_first();
    return std::make_unique<RecordedRun>(PlacedOn(devices_[replica]), machine_, writer, options);
  }

  // In steps a second; of a job the first process knows it. Meanwhile all others wait.
  double Alone() {
    std::string found;
    if (IsOwn(0)) found = FrameWriter().Records(std::vector<double>{MeasureAlone()}).Take();
    job_.StartTogether(options_.cancellation);
    if (options_.cancellation != nullptr) options_.cancellation->Check();
    found = job_.HandIn(RankOf(0), std::move(found), options_.cancellation);
    return job_.is_first() ? FrameReader(found).Records<double>().at(0) : 0;
  }

  double MeasureAlone() {
    const auto run = MakeRun(0, nullptr);
    run->WarmUp(options_.run.warmup);
    Stretch stretch;
    for (stretch.begin_ns = stretch.end_ns = NowNs(); stretch.steps < options_.run.steps;) {
      run->WarmUp(1);
      ++stretch.steps;
      stretch.end_ns = NowNs();
      if (stretch.end_ns - stretch.begin_ns > kMostAloneNs) break;
    }
    return stretch.PerSecond();
  }

  // Warms up, waits for the others, runs. `replica`: the first whose fetches are the run's.
  void RunOne(RecordedRun* run, size_t replica, Start* start, Stretch* stretch) {
    try {
      run->WarmUp(options_.run.warmup);
      run->RunSteps(0);  // the trace has its schedule
    } catch (const Error& error) {
      start->GiveUp();
      run->Finish(error.what());
      throw;
    }
    start->Await();
    stretch->begin_ns = NowNs();
    run->on_step = [&](int64_t number, const std::vector<Tensor>& fetches) {
      stretch->end_ns = NowNs();
      ++stretch->steps;
      if (options_.on_fetches) {
        for (size_t r = 0; r * FetchesOfOne() < fetches.size(); ++r)
          options_.on_fetches(replica + r, number, FetchesOf(r, fetches));
      }
      const std::lock_guard lock(mutex_);
      if (options_.on_step) options_.on_step(++recorded_);
      if (failed_) Throw(Code::kAborted, "another network of the ensemble failed");
    };
    run->RunToEnd(0, options_.run.steps);
  }

  size_t FetchesOfOne() const { return workload_.spec().fetches.size(); }
  // Picks those of the r-th network among these fetches.
  std::vector<Tensor> FetchesOf(size_t r, const std::vector<Tensor>& fetches) const {
    const auto first = fetches.begin() + static_cast<std::ptrdiff_t>(r * FetchesOfOne());
    return {first, first + static_cast<std::ptrdiff_t>(FetchesOfOne())};
  }

  Stretch RunSessions(Ensemble* ensemble) {
    BeginRuns();
    try {
      RunOwn();
      return Gather(ensemble);
    } catch (const Error& error) {
      for (const auto& gathered : gathered_) {
        if (gathered != nullptr) gathered->Fail(error.what());
      }
      throw;
    }
  }

  // In the order of the networks, so that those of the trace are, too.
  void BeginRuns() {
    runs_.resize(devices_.size());
    gathered_.resize(devices_.size());
    stretches_.resize(devices_.size());
    for (size_t r = 0; r < devices_.size(); ++r) {
      if (IsOwn(r)) {
        runs_[r] = MakeRun(r, options_.writer);
      } else if (options_.writer != nullptr) {
        gathered_[r] =
            std::make_unique<GatheredRun>(PlacedOn(devices_[r]), machine_, TaskOf(r), options_.writer);
      }
    }
  }

  void RunOwn() {
    Start start(own_.size(), [this] { job_.StartTogether(options_.cancellation); });
    const auto work = [&](size_t r) {
      try {
        RunOne(runs_[r].get(), r, &start, &stretches_[r]);
      } catch (...) {
        const std::lock_guard lock(mutex_);
        if (!failed_) failed_ = std::current_exception();
      }
    };
    if (own_.empty()) {
      job_.StartTogether(options_.cancellation);
    } else {
      RunThreads(work, &start);
    }
    if (failed_) std::rethrow_exception(failed_);
  }

  // The first network's is this thread. Where the system has no more threads, those that run end.
  void RunThreads(const std::function<void(size_t)>& work, Start* start) {
    std::vector<Thread> threads;
    try {
      for (size_t i = 1; i < own_.size(); ++i)
        threads.emplace_back("a network of an ensemble", [&work, r = own_[i]] { work(r); });
    } catch (...) {
      {
        const std::lock_guard lock(mutex_);
        failed_ = std::current_exception();
      }
      for (size_t i = threads.size(); i < own_.size(); ++i) start->GiveUp();
    }
    if (threads.size() + 1 == own_.size()) work(own_.front());
    JoinAll(threads);
  }

  // Clocks are measured, and rows sent, when no process' networks run any more.
  Stretch Gather(Ensemble* ensemble) {
    job_.StartTogether(options_.cancellation);
    if (options_.cancellation != nullptr) options_.cancellation->Check();
    job_.MeasureClocks();
    Stretch all;
    for (size_t r = 0; r < devices_.size(); ++r) {
      const HandedInRun run = GatherRun(r);
      if (!job_.is_first()) continue;
      Replica& replica = ensemble->replicas[r];
      replica.run_id = runs_[r] != nullptr       ? runs_[r]->run_id()
                       : gathered_[r] != nullptr ? gathered_[r]->id()
                                                 : 0;
      replica.step_ns = run.step_ns;
      replica.fetches = run.fetches;
      const Stretch stretch{run.begin_ns, run.end_ns, static_cast<int64_t>(run.step_ns.size())};
      replica.steps_per_second = stretch.PerSecond();
      all.begin_ns = std::min(all.begin_ns, stretch.begin_ns);
      all.end_ns = std::max(all.end_ns, stretch.end_ns);
      all.steps += stretch.steps;
    }
    return all;
  }

  // Gathers a job's run into the first process, and its trace.
  HandedInRun GatherRun(size_t r) {
    const int rank = RankOf(r);
    if (rank == 0) return IsOwn(r) ? OwnRun(r) : HandedInRun();
    const std::string bytes = job_.HandIn(rank, IsOwn(r) ? BytesOf(OwnRun(r)) : "", options_.cancellation);
    if (!job_.is_first()) return {};
    HandedInRun run = HandedInRunOf(bytes, job_.clocks()[static_cast<size_t>(rank)].ahead_ns);
    if (gathered_[r] == nullptr) return run;
    gathered_[r]->Finish(run, job_.RunTasks(machine_));
    return run;
  }

  HandedInRun OwnRun(size_t r) const {
    const RecordedRun& run = *runs_[r];
    HandedInRun own;
    own.begin_ns = stretches_[r].begin_ns;
    own.end_ns = stretches_[r].end_ns;
    own.step_ns = run.step_ns();
    own.fetches = run.last_fetches();
    own.oversubscribed = run.oversubscribed();
    if (!records_ || job_.is_first()) return own;
    own.events = run.events();
    own.input = run.input();
    return own;
  }

  Stretch RunInGraph(Ensemble* ensemble) {
    const int count = static_cast<int>(devices_.size());
    const Workload together(workload_.name(), RepeatGraph(workload_.graph(), count),
                            RepeatStep(workload_.spec(), count, Seed(0)));
    PlacedGraph placed{&together, placed_.strategy, {}};
    for (const DeviceId own : devices_) {
      for (const DeviceId device : PlacementOn(own).device) placed.placement.device.Add(device);
    }
    RecordedRunOptions options = OptionsOf(Seed(0));
    options.participant = ProcessOfJob(&job_);
    RecordedRun run(OnWire(std::move(placed), machine_, options_.wire), machine_, options_.writer, options);
    Stretch stretch;
    Start start(1, [] {});
    RunOne(&run, 0, &start, &stretch);
    if (!job_.is_first()) return stretch;
    for (size_t r = 0; r < devices_.size(); ++r) {
      Replica& replica = ensemble->replicas[r];
      replica.run_id = run.run_id();
      replica.step_ns = run.step_ns();
      replica.fetches = FetchesOf(r, run.last_fetches());
      replica.steps_per_second = stretch.PerSecond();
    }
    stretch.steps *= count;
    return stretch;
  }

  const Machine& machine_;
  const EnsembleOptions& options_;
  Job no_job_{nullptr};
  Job& job_;
  const std::vector<DeviceId> devices_;
  const MachineTasks tasks_;
  PlacedGraph placed_;
  const Workload& workload_;
  std::vector<size_t> own_;  // networks of this process, as sessions
  bool records_ = false;     // the first process has a trace
  // By network, where each is a session.
  std::vector<std::unique_ptr<RecordedRun>> runs_;      // null: another process has it
  std::vector<std::unique_ptr<GatheredRun>> gathered_;  // null: it is here, or there is no trace
  std::vector<Stretch> stretches_;
  std::mutex mutex_;  // guards the rest, and calls to who asked
  int64_t recorded_ = 0;
  std::exception_ptr failed_;
};

}  // namespace

std::vector<DeviceId> DevicesOfReplicas(const Machine& machine) {
  std::vector<DeviceId> devices = machine.Gpus();
  if (devices.empty()) devices.push_back(machine.host());
  return devices;
}

std::vector<size_t> FetchedReplicas(const Machine& machine, const Job& job, bool in_graph) {
  if (!in_graph) return OwnReplicas(machine, job);
  std::vector<size_t> all(job.is_first() ? DevicesOfReplicas(machine).size() : 0);
  std::iota(all.begin(), all.end(), size_t{0});
  return all;
}

Ensemble RunEnsemble(const Workload& workload, const Machine& machine, const EnsembleOptions& options) {
  return EnsembleRun(workload, machine, options).Run();
}

}  // namespace lanescope::study
