// SPDX-License-Identifier: Apache-2.0
// Measures what the executor adds to the work of a step: launches that do nothing, on one device and between
// two.
//
// Every figure is the time of one command. "hand-off" alternates between the compute queues of two devices,
// so that each command waits for the other device's driver.
#include "exec/run/executor.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>

#include "core/base/statistics.h"
#include "core/graph/graph_builder.h"
#include "core/place/placement.h"
#include "core/record/recorder.h"
#include "exec/device/host_device.h"
#include "exec/run/session.h"

namespace lanescope::exec {
namespace {

constexpr int kCommands = 100000;

class NullSink : public EventSink {
 public:
  void Consume(std::span<const Event>) override {}
  void CountDropped(int64_t records) override { dropped += records; }
  std::atomic<int64_t> dropped{0};
};

// Launches of NoOps that wait for each other as `predecessors` (by command) says; command c runs on queue
// queue_of(c).
class EmptyStep {
 public:
  EmptyStep(const std::vector<std::vector<int>>& predecessors, const std::function<int(int)>& queue_of)
      : machine_(VirtualMachine(2, 1)) {
    auto schedule = std::make_shared<Schedule>();
    schedule->queues = {{DeviceId(1), QueueKind::kCompute, false, "GPU:0 compute"},
                        {DeviceId(2), QueueKind::kCompute, false, "GPU:1 compute"}};
    Node node;
    node.name = "nothing";
    node.op = "NoOp";
    graph_.AddNode(node);
    for (size_t c = 0; c < predecessors.size(); ++c) {
      Command command;
      command.node = NodeId(0);
      command.queue = QueueId(queue_of(static_cast<int>(c)));
      command.rank = static_cast<int>(c);
      schedule->commands.Add(command);
      schedule->num_predecessors.Add(static_cast<int>(predecessors[c].size()));
    }
    schedule->successors = MakeRows<CommandId, CommandId>(predecessors.size(), [&](const auto& add) {
      for (size_t c = 0; c < predecessors.size(); ++c) {
        for (const int before : predecessors[c]) add(CommandId(before), CommandId(c));
      }
    });
    devices_.resize(machine_.devices.size());
    for (const DeviceId d : devices_.ids()) devices_[d] = std::make_unique<HostDevice>(machine_.devices[d]);
    loaded_ = std::make_unique<LoadedSchedule>(graph_, machine_, schedule, devices_, &state_);
    loaded_->Bind(IdVector<DeviceId, std::byte*>(devices_.size(), nullptr));
    step_ = std::make_unique<StepState>(*loaded_);
    executor_ = std::make_unique<Executor>(machine_);
  }

  double commands() const { return static_cast<double>(loaded_->schedule().commands.size()); }
  // ns per command of one step.
  double Run(Recorder* recorder = nullptr) {
    const StepTimes times = executor_->Run(loaded_.get(), step_.get(), 0, {recorder, 0, 0});
    return static_cast<double>(times.end_ns - times.start_ns) / commands();
  }

 private:
  Machine machine_;
  Graph graph_;
  IdVector<DeviceId, std::unique_ptr<Device>> devices_;
  SessionState state_;
  std::unique_ptr<LoadedSchedule> loaded_;
  std::unique_ptr<StepState> step_;
  std::unique_ptr<Executor> executor_;
};

// Few enough to stay in the nearest cache: what is left is the hand-off itself.
constexpr int kHotCommands = 1000;

std::vector<std::vector<int>> Chain(int commands = kCommands) {
  std::vector<std::vector<int>> predecessors(static_cast<size_t>(commands));
  for (int c = 1; c < commands; ++c) predecessors[static_cast<size_t>(c)] = {c - 1};
  return predecessors;
}

// Up to three predecessors among the thousand before.
std::vector<std::vector<int>> RandomDag() {
  std::mt19937 rng(1);
  std::vector<std::vector<int>> predecessors(kCommands);
  for (int c = 1; c < kCommands; ++c) {
    auto& list = predecessors[static_cast<size_t>(c)];
    for (unsigned i = 0, n = rng() % 4; i < n; ++i)
      list.push_back(c - 1 - static_cast<int>(rng() % static_cast<unsigned>(std::min(c, 1000))));
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  return predecessors;
}

void Report(benchmark::State& state, EmptyStep* step, Recorder* recorder = nullptr) {
  std::vector<double> samples;
  step->Run(recorder);
  for (auto _ : state) {
    samples.push_back(step->Run(recorder));
    state.SetIterationTime(samples.back() * 1e-9 * step->commands());
  }
  std::sort(samples.begin(), samples.end());
  double sum = 0;
  for (const double x : samples) sum += x;
  state.counters["median_ns"] = QuantileOfSorted(samples, 0.5);
  state.counters["mean_ns"] = sum / static_cast<double>(samples.size());
  state.counters["min_ns"] = samples.front();
}

int FirstQueue(int) { return 0; }
int EitherQueue(int command) { return command % 2; }

void BM_Chain(benchmark::State& state) {
  EmptyStep step(Chain(), FirstQueue);
  Report(state, &step);
}
void BM_RandomDag(benchmark::State& state) {
  EmptyStep step(RandomDag(), FirstQueue);
  Report(state, &step);
}
void BM_HandOff(benchmark::State& state) {
  EmptyStep step(Chain(static_cast<int>(state.range(0))), EitherQueue);
  Report(state, &step);
}
void BM_RandomDagOnTwoDevices(benchmark::State& state) {
  EmptyStep step(RandomDag(), EitherQueue);
  Report(state, &step);
}
void BM_ChainRecorded(benchmark::State& state) {
  NullSink sink;
  Recorder recorder(&sink, 1);
  EmptyStep step(Chain(), FirstQueue);
  Report(state, &step, &recorder);
  recorder.Flush();
  state.counters["dropped"] = static_cast<double>(sink.dropped.load());
}
// The floor of a hand-off on this machine: one cache line passed between two cores, one way.
void BM_LineTransfer(benchmark::State& state) {
  constexpr int kRounds = 1000;
  alignas(64) std::atomic<int> ping{0};
  alignas(64) std::atomic<int> pong{0};
  // Both threads may begin on one core: yields part them.
  constexpr int kLooksBeforeYield = 10000;
  const auto wait_while = [](const std::atomic<int>& line, int value) {
    for (int look = 1;; ++look) {
      const int now = line.load(std::memory_order_acquire);
      if (now != value) return now;
      if (look % kLooksBeforeYield == 0) std::this_thread::yield();
    }
  };
  std::thread echo([&] {
    for (int seen = 0; seen >= 0;) {
      seen = wait_while(ping, seen);
      pong.store(seen, std::memory_order_release);
    }
  });
  std::vector<double> samples;
  int turn = 0;
  for (auto _ : state) {
    const int64_t start = NowNs();
    for (int i = 0; i < kRounds; ++i) {
      ping.store(++turn, std::memory_order_release);
      wait_while(pong, turn - 1);
    }
    samples.push_back(static_cast<double>(NowNs() - start) / (2 * kRounds));
    state.SetIterationTime(samples.back() * 2e-9 * kRounds);
  }
  ping.store(-1, std::memory_order_release);
  echo.join();
  std::sort(samples.begin(), samples.end());
  state.counters["median_ns"] = QuantileOfSorted(samples, 0.5);
  state.counters["min_ns"] = samples.front();
}

BENCHMARK(BM_LineTransfer)->UseManualTime();
BENCHMARK(BM_Chain)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK(BM_RandomDag)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK(BM_HandOff)->Arg(kHotCommands)->Arg(kCommands)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK(BM_RandomDagOnTwoDevices)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK(BM_ChainRecorded)->UseManualTime()->Unit(benchmark::kMillisecond);

// A whole Run of a session with one launch and one fetch: what a step costs beside its commands.
void BM_TinyStep(benchmark::State& state) {
  GraphBuilder builder;
  const Endpoint x = builder.Placeholder("x", DataType::kFloat, Shape{1});
  builder.Op("Neg", "y").Input(x).Build();
  const Machine machine = VirtualMachine(2, 1);
  Placement placement;
  placement.device.assign(builder.graph().num_nodes(), machine.host());
  Session session(builder.graph(), placement, machine);
  const std::map<std::string, Tensor> feeds = {{"x", Tensor::FromValues<float>(Shape{1}, {1.0f})}};
  PreparedStep& step = session.Prepare({feeds, {"y"}, {}});
  for (auto _ : state) benchmark::DoNotOptimize(session.Run(step, feeds));
}
BENCHMARK(BM_TinyStep)->UseRealTime();

}  // namespace
}  // namespace lanescope::exec
