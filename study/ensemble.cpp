#include "study/ensemble.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/thread.h"
#include "core/schedule/cost.h"
#include "study/ensemble_graph.h"
#include "study/placing.h"
#include "study/recorded_run.h"

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

// Lets nobody through until all who were expected have come, or have said that they never will.
class Start {
 public:
  explicit Start(size_t expected) : missing_(expected) {}
  void Await() {
    std::unique_lock lock(mutex_);
    if (--missing_ == 0) all_.notify_all();
    all_.wait(lock, [&] { return missing_ == 0; });
  }
  void GiveUp() {
    const std::lock_guard lock(mutex_);
    if (--missing_ == 0) all_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable all_;
  size_t missing_;
};

std::vector<DeviceId> DevicesOf(const Machine& machine) {
  std::vector<DeviceId> devices = machine.Gpus();
  if (devices.empty()) devices.push_back(machine.host());
  if (devices.size() > static_cast<size_t>(kMaxReplicas)) {
    Throw(Code::kInvalidArgument, "an ensemble has at most {} networks; the machine file has {} GPUs",
          kMaxReplicas, devices.size());
  }
  return devices;
}

class EnsembleRun {
 public:
  EnsembleRun(const Workload& workload, const Machine& machine, const EnsembleOptions& options)
      : workload_(workload), machine_(machine), options_(options), devices_(DevicesOf(machine)) {
    const PlacedGraph placed = Place(workload, "single", machine, RooflineCost());
    placement_ = placed.placement;
  }

  Ensemble Run() {
    Ensemble ensemble;
    ensemble.alone_steps_per_second = Alone();
    ensemble.replicas.resize(devices_.size());
    for (size_t r = 0; r < devices_.size(); ++r) ensemble.replicas[r].device = devices_[r];
    const Stretch all = options_.in_graph ? RunInGraph(&ensemble) : RunSessions(&ensemble);
    ensemble.steps_per_second = all.PerSecond();
    return ensemble;
  }

 private:
  uint64_t Seed(int replica) const {
    return options_.run.settings.seed.value_or(0) + static_cast<uint64_t>(replica);
  }

  // That of `single`, on another GPU.
  Placement PlacementOn(DeviceId device) const {
    Placement placement = placement_;
    std::replace(placement.device.begin(), placement.device.end(), devices_.front(), device);
    return placement;
  }

  std::unique_ptr<RecordedRun> MakeRun(const Workload& workload, Placement placement, uint64_t seed,
                                       traces::TraceWriter* writer) {
    RecordedRunOptions options;
    options.settings = options_.run.settings;
    options.settings.seed = seed;
    options.cancellation = options_.cancellation;
    options.note = [this](const std::string& line) {
      const std::lock_guard lock(mutex_);
      Tell(options_.note, line);
    };
    return std::make_unique<RecordedRun>(PlacedGraph{&workload, "ensemble", std::move(placement)}, machine_,
                                         writer, options);
  }

  double Alone() {
    const auto run = MakeRun(workload_, placement_, Seed(0), nullptr);
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

  // Warms up, waits for the others, runs.
  void RunOne(RecordedRun* run, Start* start, Stretch* stretch) {
    try {
      run->WarmUp(options_.run.warmup);
    } catch (const Error& error) {
      start->GiveUp();
      run->Finish(error.what());
      throw;
    }
    start->Await();
    stretch->begin_ns = NowNs();
    run->on_step = [&](int64_t, const std::vector<Tensor>&) {
      stretch->end_ns = NowNs();
      ++stretch->steps;
      const std::lock_guard lock(mutex_);
      if (options_.on_step) options_.on_step(++recorded_);
      if (failed_) Throw(Code::kAborted, "another network of the ensemble failed");
    };
    run->RunToEnd(0, options_.run.steps);
  }

  Stretch RunSessions(Ensemble* ensemble) {
    const size_t count = devices_.size();
    std::vector<std::unique_ptr<RecordedRun>> runs;
    for (size_t r = 0; r < count; ++r)
      runs.push_back(
          MakeRun(workload_, PlacementOn(devices_[r]), Seed(static_cast<int>(r)), options_.writer));
    std::vector<Stretch> stretches(count);
    Start start(count);
    const auto work = [&](size_t r) {
      try {
        RunOne(runs[r].get(), &start, &stretches[r]);
      } catch (...) {
        const std::lock_guard lock(mutex_);
        if (!failed_) failed_ = std::current_exception();
      }
    };
    RunThreads(work, &start);
    if (failed_) std::rethrow_exception(failed_);
    Stretch all;
    for (size_t r = 0; r < count; ++r) {
      Describe(*runs[r], &ensemble->replicas[r]);
      ensemble->replicas[r].fetches = runs[r]->last_fetches();
      ensemble->replicas[r].steps_per_second = stretches[r].PerSecond();
      all.begin_ns = std::min(all.begin_ns, stretches[r].begin_ns);
      all.end_ns = std::max(all.end_ns, stretches[r].end_ns);
      all.steps += stretches[r].steps;
    }
    return all;
  }

  // The first network's is this thread. Where the system has no more threads, those that run end.
  void RunThreads(const std::function<void(size_t)>& work, Start* start) {
    std::vector<std::thread> threads;
    try {
      for (size_t r = 1; r < devices_.size(); ++r)
        threads.push_back(StartThread("a network of an ensemble", [&work, r] { work(r); }));
    } catch (const Error&) {
      {
        const std::lock_guard lock(mutex_);
        failed_ = std::current_exception();
      }
      for (size_t r = threads.size(); r < devices_.size(); ++r) start->GiveUp();
    }
    if (threads.size() + 1 == devices_.size()) work(0);
    for (std::thread& thread : threads) thread.join();
  }

  Stretch RunInGraph(Ensemble* ensemble) {
    const int count = static_cast<int>(devices_.size());
    const Graph& graph = workload_.graph();
    const Workload together(workload_.name(), RepeatGraph(graph, count),
                            RepeatStep(workload_.spec(), count, Seed(0)));
    Placement placement;
    for (const DeviceId own : devices_) {
      for (const DeviceId device : PlacementOn(own).device) placement.device.Add(device);
    }
    const auto run = MakeRun(together, std::move(placement), Seed(0), options_.writer);
    Stretch stretch;
    Start start(1);
    RunOne(run.get(), &start, &stretch);
    const size_t fetches = workload_.spec().fetches.size();
    for (size_t r = 0; r < devices_.size(); ++r) {
      Replica& replica = ensemble->replicas[r];
      Describe(*run, &replica);
      const auto first = run->last_fetches().begin() + static_cast<std::ptrdiff_t>(r * fetches);
      replica.fetches.assign(first, first + static_cast<std::ptrdiff_t>(fetches));
      replica.steps_per_second = stretch.PerSecond();
    }
    stretch.steps *= count;
    return stretch;
  }

  static void Describe(const RecordedRun& run, Replica* replica) {
    replica->run_id = run.run_id();
    replica->step_ns = run.step_ns();
  }

  const Workload& workload_;
  const Machine& machine_;
  const EnsembleOptions& options_;
  const std::vector<DeviceId> devices_;
  Placement placement_;
  std::mutex mutex_;  // guards the rest, and calls to who asked
  int64_t recorded_ = 0;
  std::exception_ptr failed_;
};

}  // namespace

Ensemble RunEnsemble(const Workload& workload, const Machine& machine, const EnsembleOptions& options) {
  return EnsembleRun(workload, machine, options).Run();
}

}  // namespace lanescope::study
