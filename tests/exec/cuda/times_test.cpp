// SPDX-License-Identifier: Apache-2.0
// When commands ran on GPUs, by the events of streams or by an observer, on a stub.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "core/record/launch_observer.h"
#include "core/record/recorder.h"
#include "tests/exec/cuda/stub_harness.h"

namespace lanescope::exec::test {
namespace {

class EventLog : public EventSink {
 public:
  void Consume(std::span<const Event> batch) override {
    events.insert(events.end(), batch.begin(), batch.end());
  }
  void CountDropped(int64_t) override {}
  std::vector<Event> events;
};

class ObserverLog : public LaunchObserver {
 public:
  void Begin(int, int, CommandId command) override {
    EXPECT_FALSE(open);
    open = true;
    begun.push_back(command);
  }
  void End() override {
    EXPECT_TRUE(open);
    open = false;
  }
  void GraphRecorded(int, std::span<const std::pair<const void*, CommandId>> recorded) override {
    nodes.assign(recorded.begin(), recorded.end());
  }
  bool open = false;
  std::vector<CommandId> begun;
  std::vector<std::pair<const void*, CommandId>> nodes;
};

int CountWork(const Schedule& schedule) {
  return static_cast<int>(std::count_if(
      schedule.commands.begin(), schedule.commands.end(),
      [](const Command& c) { return c.kind == CommandKind::kLaunch || c.kind == CommandKind::kCopy; }));
}

// Recorded without a profiler, every launch and copy of every step has an event of its own, replayed ones
// too; commands of a stream follow one another.
TEST(CudaTimes, EveryCommandOfEveryStep) {
  StubGuard stub;
  SampleRun run("two_towers_matmul", "annotated", GpuMachine({0, 1}));
  PreparedStep& step = run.session().Prepare(run.Request());
  EventLog log;
  {
    Recorder recorder(&log);
    run.session().Record(&recorder, &step, 0);
    for (int i = 0; i < 4; ++i) run.Step();
    run.session().Record(nullptr, nullptr, 0);
  }
  std::map<int, std::set<CommandId>> commands;
  for (const Event& event : log.events) {
    if (event.kind != EventKind::kCommand) continue;
    EXPECT_LE(event.start_ns, event.end_ns);
    EXPECT_TRUE(commands[event.step].insert(event.command).second);
  }
  ASSERT_EQ(commands.size(), 4u);
  for (const auto& [number, of_step] : commands)
    EXPECT_EQ(static_cast<int>(of_step.size()), CountWork(*step.schedule)) << "step " << number;
}

// Demands of a step on the driver: calls, and nodes of recorded graphs that note a time.
struct DriverWork {
  int64_t calls = 0, event_nodes = 0;
  friend bool operator==(const DriverWork&, const DriverWork&) = default;
};

DriverWork WorkOfAStep(SampleRun* run, const StubCuda& stub) {
  const DriverWork before{stub.all_calls(), stub.event_nodes()};
  run->Step();
  return {stub.all_calls() - before.calls, stub.event_nodes() - before.event_nodes};
}

// Law: a recorded step whose commands are not timed asks of the driver what one asks that nobody records; a
// timed one has two events more for each command, and those that read the clocks. Untimed ones reach no
// recorder, and are numbered all the same.
TEST(CudaTimes, UntimedStepsAskForNothingMore) {
  for (const bool graphs : {true, false}) {
    StubGuard stub;
    SampleRun run("two_towers_matmul", "annotated", GpuMachine({0, 1}), {.graphs = graphs});
    PreparedStep& step = run.session().Prepare(run.Request());
    for (int i = 0; i < 3; ++i) run.Step();
    const DriverWork alone = WorkOfAStep(&run, *stub);
    EXPECT_GT(alone.calls, 0);
    EXPECT_EQ(alone.event_nodes, 0);
    EventLog log;
    DriverWork timed;
    {
      Recorder recorder(&log);
      run.session().Record(&recorder, &step, 0);
      run.session().SetTiming(false);
      for (int i = 0; i < 2; ++i) EXPECT_EQ(WorkOfAStep(&run, *stub), alone);
      run.session().SetTiming(true);
      run.Step();  // graphs with events are recorded
      timed = WorkOfAStep(&run, *stub);
      run.session().SetTiming(false);
      EXPECT_EQ(WorkOfAStep(&run, *stub), alone);
      run.session().Record(nullptr, nullptr, 0);
    }
    std::set<int> steps;
    int pairs = 0;
    for (const Event& event : log.events) {
      steps.insert(event.step);
      pairs += event.by_pair;
    }
    EXPECT_EQ(steps, (std::set<int>{2, 3}));
    EXPECT_GT(pairs, 0);
    EXPECT_EQ(timed.event_nodes > 0, graphs);
    EXPECT_GE(timed.event_nodes + timed.calls - alone.calls, pairs) << "two each; there are two timed steps";
  }
}

// Law: of one GPU a timed step reads the clock once, however many parts of it run commands.
TEST(CudaTimes, PartsOfAGpuHaveOneClock) {
  const auto waits = [](const std::vector<int>& gpus) {
    StubGuard stub;
    SampleRun run("two_towers_matmul", "alternating", GpuMachine(gpus));
    PreparedStep& step = run.session().Prepare(run.Request());
    for (int i = 0; i < 3; ++i) run.Step();  // graphs without events are recorded
    EventLog log;
    Recorder recorder(&log);
    run.session().Record(&recorder, &step, 0);
    for (int i = 0; i < 2; ++i) run.Step();  // and with them
    const int before = stub->Calls("cudaEventSynchronize");
    run.Step();
    const int timed = stub->Calls("cudaEventSynchronize") - before;
    run.session().SetTiming(false);
    const int all = stub->Calls("cudaEventSynchronize");
    run.Step();
    run.session().Record(nullptr, nullptr, 0);
    return timed - (stub->Calls("cudaEventSynchronize") - all);
  };
  EXPECT_EQ(waits({0, 1}), 2);
  EXPECT_EQ(waits({0, 0}), 1);
}

// With an observer the session times nothing on GPUs itself, and the observer learns every node of a graph.
TEST(CudaTimes, AnObserverSeesCommandsAndNodes) {
  StubGuard stub;
  SampleRun run("two_towers_matmul", "annotated", GpuMachine({0, 1}));
  ObserverLog observer;
  run.session().Observe(&observer);
  PreparedStep& step = run.session().Prepare(run.Request());
  EventLog log;
  {
    Recorder recorder(&log);
    run.session().Record(&recorder, &step, 0);
    run.Step();
    EXPECT_FALSE(observer.begun.empty());
    EXPECT_EQ(observer.begun.size(),
              std::set<CommandId>(observer.begun.begin(), observer.begun.end()).size());
    observer.begun.clear();
    run.session().SetTiming(false);
    run.Step();
    EXPECT_TRUE(observer.begun.empty()) << "of a step that is not timed";
    run.session().SetTiming(true);
    run.Step();
    EXPECT_FALSE(observer.begun.empty());
    run.session().Record(nullptr, nullptr, 0);
  }
  std::set<CommandId> of_nodes;
  for (const auto& [node, command] : observer.nodes) of_nodes.insert(command);
  for (const CommandId command : of_nodes) EXPECT_TRUE(step.schedule->commands.Contains(command));
  EXPECT_GT(of_nodes.size(), 2u);
  EXPECT_EQ(std::count_if(log.events.begin(), log.events.end(),
                          [&](const Event& event) {
                            if (event.kind != EventKind::kCommand) return false;
                            const Command& c = step.schedule->commands[event.command];
                            return step.schedule->queues[c.queue].device != DeviceId(0);
                          }),
            0);
  run.session().Observe(nullptr);
}

}  // namespace
}  // namespace lanescope::exec::test
