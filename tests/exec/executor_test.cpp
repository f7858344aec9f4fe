// SPDX-License-Identifier: Apache-2.0
// The executor against the reference interpreter, and what ends a step early.
#include "exec/run/executor.h"

#include <chrono>
#include <mutex>
#include <thread>

#include "core/record/recorder.h"
#include "tests/exec/reference_interpreter.h"
#include "tests/exec/session_harness.h"
#include "tests/support/random_graph.h"
#include "tests/support/sanitized.h"

namespace lanescope::exec::test {
namespace {

using lanescope::test::MakeRandomGraph;
using lanescope::test::RandomGraph;
using lanescope::test::RandomPlacement;

struct Layout {
  int gpus, workers, copy_engines;
  bool in_order;
};

constexpr Layout kLayouts[] = {
    {1, 1, 2, false}, {2, 1, 1, false}, {3, 2, 2, false}, {1, 1, 1, true}, {2, 2, 2, true}, {3, 1, 1, true},
};

Machine MachineOf(const Layout& layout) {
  Machine machine = FastMachine(layout.gpus, layout.workers);
  for (DeviceSpec& device : machine.devices) {
    device.in_order = layout.in_order && device.is_gpu();
    device.copy_engines = layout.copy_engines;
  }
  return machine;
}

// The fetches of every step and at last the variables.
std::vector<Tensor> ReferenceResults(const RandomGraph& random, int steps, int variables) {
  ReferenceInterpreter interpreter(random.graph);
  interpreter.Run({}, {}, random.init);
  std::vector<Tensor> results;
  for (int step = 0; step < steps; ++step) {
    for (Tensor& fetch : interpreter.Run({}, random.fetches, random.targets)) results.push_back(fetch);
  }
  for (int v = 0; v < variables; ++v) results.push_back(interpreter.Run({}, {"var" + std::to_string(v)})[0]);
  return results;
}

std::vector<Tensor> SessionResults(const RandomGraph& random, const Placement& placement,
                                   const Machine& machine, int steps, int variables) {
  Session session(random.graph, placement, machine);
  session.Run({{}, {}, random.init});
  PreparedStep& step = session.Prepare({{}, random.fetches, random.targets});
  VerifySchedule(random.graph, *step.schedule);
  std::vector<Tensor> results;
  for (int i = 0; i < steps; ++i) {
    for (Tensor& fetch : session.Run(step, {}).fetches) results.push_back(fetch);
  }
  for (int v = 0; v < variables; ++v) results.push_back(session.ReadVariable("var" + std::to_string(v)));
  return results;
}

void ExpectSameEverywhere(unsigned seed, int ops, int variables, int width, int placements) {
  constexpr int kSteps = 4;
  const RandomGraph random = MakeRandomGraph(seed, ops, variables, width);
  const auto expected = ReferenceResults(random, kSteps, variables);
  for (int p = 0; p < placements; ++p) {
    const unsigned mix = seed * 31 + static_cast<unsigned>(p);
    const Machine machine = MachineOf(kLayouts[mix % std::size(kLayouts)]);
    const auto results =
        SessionResults(random, RandomPlacement(random.graph, machine, mix), machine, kSteps, variables);
    ASSERT_EQ(results.size(), expected.size());
    for (size_t i = 0; i < results.size(); ++i) {
      ASSERT_TRUE(BitwiseEqual(results[i], expected[i]))
          << "graph " << seed << ", placement " << p << ", result " << i;
    }
  }
}

// Law: fetches and variables are bitwise those of the plain interpreter, whatever the placement, queue
// policy, copy engines and workers.
TEST(Executor, RandomGraphsOnRandomPlacements) {
  for (unsigned seed = 0; seed < 60; seed += lanescope::test::kOneCaseOf)
    ExpectSameEverywhere(seed, 20 + 4 * static_cast<int>(seed), static_cast<int>(seed % 6), 16, 6);
}

// Random graphs with tensors that kernels split over workers and that change cores.
TEST(Executor, RandomGraphsOfLargeTensors) {
  for (unsigned seed = 100; seed < 104; ++seed) ExpectSameEverywhere(seed, 25, 3, 60000, 4);
}

// Law: a reader that depends on an update sees the new value and any other reader the old one, on the
// variable's device and on every other.
TEST(Executor, ReadersSeeTheSameVersionOnEveryDevice) {
  GraphBuilder builder;
  const Endpoint v =
      builder.Op("VariableV2", "v").Attr("dtype", DataType::kFloat).Attr("shape", Shape{8}).Build();
  const Endpoint one = builder.Const("one", Floats(Shape{8}, 1));
  builder.Op("Assign", "init").Input(v).Input(one).Build();
  const Endpoint read = builder.Op("Identity", "read").Input(v).Build();
  const Endpoint update = builder.Op("AssignAdd", "update").Input(v).Input(one).Build();
  builder.Op("Neg", "old").Input(read).Build();
  builder.Op("Neg", "new").Input(read).ControlInput(update).Build();
  const Graph graph = builder.Take();
  const Machine machine = FastMachine(2);
  for (const int old_device : {0, 1}) {
    for (const int new_device : {0, 1}) {
      Placement placement = PlaceAll(graph, Gpu(machine, 0));
      PlaceOn(&placement, graph, "old", Gpu(machine, old_device));
      PlaceOn(&placement, graph, "new", Gpu(machine, new_device));
      Session session(graph, placement, machine);
      session.Run({{}, {}, {"init"}});
      for (int step = 1; step < 4; ++step) {
        const RunResult result = session.Run({{}, {"old", "new", "update"}, {}});
        EXPECT_TRUE(BitwiseEqual(result.fetches[0], Floats(Shape{8}, static_cast<float>(-step))));
        EXPECT_TRUE(BitwiseEqual(result.fetches[1], Floats(Shape{8}, static_cast<float>(-step - 1))));
        EXPECT_TRUE(BitwiseEqual(result.fetches[2], Floats(Shape{8}, static_cast<float>(step + 1))));
      }
    }
  }
}

// One tensor of `bytes` from GPU:0 to GPU:1 over a link of `bandwidth`.
class SlowCopy : public ::testing::Test {
 protected:
  void Open(int64_t bytes, double bandwidth, int64_t latency_ns = 0) {
    GraphBuilder builder;
    const Endpoint size =
        builder.Const("size", Tensor::FromValues<int32_t>(Shape{1}, {static_cast<int32_t>(bytes / 4)}));
    const Endpoint x = builder.Op("Fill", "x").Input(size).Input(builder.Scalar("one", 1.0f)).Build();
    builder.Op("Neg", "far").Input(x).Build();
    const Endpoint axis = builder.Const("axis", Tensor::FromValues<int32_t>(Shape{1}, {0}));
    builder.Op("Sum", "near").Input(x).Input(axis).Build();
    graph_ = builder.Take();
    machine_ = FastMachine(2);
    for (LinkSpec& link : machine_.links) {
      if (link.a != Gpu(machine_, 0) || link.b != Gpu(machine_, 1)) continue;
      link.bandwidth = bandwidth;
      link.latency_ns = latency_ns;
    }
    placement_ = PlaceAll(graph_, Gpu(machine_, 0));
    PlaceOn(&placement_, graph_, "far", Gpu(machine_, 1));
    session_ = std::make_unique<Session>(graph_, placement_, machine_);
    bytes_ = bytes;
  }

  void ExpectUsable() {
    EXPECT_EQ(session_->Run({{}, {"near"}, {}}).fetches[0].data<float>()[0], static_cast<float>(bytes_ / 4));
  }

  Graph graph_;
  Machine machine_;
  Placement placement_;
  std::unique_ptr<Session> session_;
  int64_t bytes_ = 0;
};

constexpr int64_t kMillisecond = 1000000;

// Law: the step ends with DeadlineExceeded long before the copy would, and the session goes on.
TEST_F(SlowCopy, TimesOut) {
  Open(8 << 20, 1e5);  // 84 s
  for (int round = 0; round < 2; ++round) {
    const int64_t start = NowNs();
    ExpectError(Code::kDeadlineExceeded, {"Timed out", "30 ms"}, [&] {
      session_->Run({{}, {"far:0"}, {}}, {30 * kMillisecond});
    });
    EXPECT_LT(NowNs() - start, 10000 * kMillisecond);
    ExpectUsable();
  }
}

// Either limit ends the step; of both that of the run counts.
TEST_F(SlowCopy, G11TheRunsTimeoutIsBeforeTheSessions) {
  Open(8 << 20, 1e5);  // 84 s
  const auto limit = [&](int64_t session_ms) {
    SessionOptions options;
    options.timeout_ns = session_ms * kMillisecond;
    session_ = std::make_unique<Session>(graph_, placement_, machine_, options);
  };
  limit(60000);
  ExpectError(Code::kDeadlineExceeded, {"Timed out waiting for notification", "50 ms"}, [&] {
    session_->Run({{}, {"far:0"}, {}}, {50 * kMillisecond});
  });
  limit(20);
  ExpectError(Code::kDeadlineExceeded, {"20 ms"}, [&] { session_->Run({{}, {"far:0"}, {}}); });
}

// The wait for one chunk, or for the latency, ends early too.
TEST_F(SlowCopy, TimesOutWithinAChunk) {
  Open(64 << 10, 1e3);  // 65 s
  ExpectError(Code::kDeadlineExceeded, {}, [&] { session_->Run({{}, {"far"}, {}}, {20 * kMillisecond}); });
  ExpectUsable();
}

TEST_F(SlowCopy, TimesOutWithinTheLatency) {
  Open(1024, 1e9, 60000 * kMillisecond);
  ExpectError(Code::kDeadlineExceeded, {}, [&] { session_->Run({{}, {"far"}, {}}, {20 * kMillisecond}); });
  ExpectUsable();
}

TEST_F(SlowCopy, IsCancelledFromAnotherThread) {
  Open(8 << 20, 1e5);
  std::thread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    session_->Cancel();
  });
  ExpectError(Code::kCancelled, {"cancelled"}, [&] { session_->Run({{}, {"far"}, {}}); });
  canceller.join();
  ExpectUsable();
}

// A Cancel that comes before the step has begun is not lost.
TEST_F(SlowCopy, IsCancelledBeforeItStarts) {
  Open(1024, 1e9);
  session_->Cancel();
  ExpectError(Code::kCancelled, {}, [&] { session_->Run({{}, {"far"}, {}}); });
  EXPECT_EQ(session_->Run({{}, {"far"}, {}}).fetches[0].data<float>()[255], -1.0f);
}

TEST_F(SlowCopy, FinishesWithinAGenerousTimeout) {
  Open(1 << 20, 1e9);
  EXPECT_EQ(session_->Run({{}, {"far"}, {}}, {60000 * kMillisecond}).fetches[0].data<float>()[0], -1.0f);
}

// Collects what a recorder hands out.
class Collector : public EventSink {
 public:
  void Consume(std::span<const Event> events) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    events_.insert(events_.end(), events.begin(), events.end());
  }
  void CountDropped(int64_t records) override { dropped_ += records; }
  std::vector<Event> Take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::move(events_);
  }
  int64_t dropped() const { return dropped_; }

 private:
  std::mutex mutex_;
  std::vector<Event> events_;
  std::atomic<int64_t> dropped_{0};
};

// Two cores may read the clock this much apart.
constexpr int64_t kClockNs = 1000;

using EventByCommand = IdVector<CommandId, const Event*>;

// Checks one step's events against the schedule: each launch and copy once, none before what it depends on is
// complete.
void ExpectOrdered(const Schedule& schedule, const EventByCommand& events) {
  IdVector<CommandId, int64_t> ready(schedule.commands.size(), 0);
  IdVector<QueueId, int64_t> queue_end(schedule.queues.size(), 0);
  for (const CommandId c : schedule.commands.ids()) {
    const Command& command = schedule.commands[c];
    const QueueId queue = command.queue;
    int64_t end = ready[c];
    if (schedule.queues[queue].in_order) end = std::max(end, queue_end[queue]);
    if (command.kind == CommandKind::kLaunch || command.kind == CommandKind::kCopy) {
      ASSERT_NE(events[c], nullptr) << "command " << c.number() << " is missing";
      EXPECT_GE(events[c]->start_ns + kClockNs, end) << "command " << c.number();
      EXPECT_GE(events[c]->end_ns, events[c]->start_ns);
      EXPECT_LE(events[c]->bytes, command.bytes);
      end = events[c]->end_ns;
    } else {
      EXPECT_EQ(events[c], nullptr) << "command " << c.number() << " does nothing";
    }
    queue_end[queue] = end;
    for (const CommandId next : schedule.Successors(c)) ready[next] = std::max(ready[next], end);
  }
}

void ExpectRecorded(const Schedule& schedule, const std::vector<Event>& events, int number, int first_step,
                    int steps) {
  std::vector<EventByCommand> by_step(static_cast<size_t>(steps),
                                      EventByCommand(schedule.commands.size(), nullptr));
  std::vector<const Event*> whole(static_cast<size_t>(steps), nullptr);
  for (const Event& event : events) {
    if (event.schedule != number) continue;
    ASSERT_GE(event.step, first_step);
    ASSERT_LT(event.step, first_step + steps);
    const auto step = static_cast<size_t>(event.step - first_step);
    ASSERT_TRUE(event.kind == EventKind::kStep || schedule.commands.Contains(event.command));
    const Event*& slot = event.kind == EventKind::kStep ? whole[step] : by_step[step][event.command];
    EXPECT_EQ(slot, nullptr) << "recorded twice";
    slot = &event;
  }
  for (int step = 0; step < steps; ++step) {
    const auto& of_step = by_step[static_cast<size_t>(step)];
    ExpectOrdered(schedule, of_step);
    const Event* all = whole[static_cast<size_t>(step)];
    ASSERT_NE(all, nullptr);
    for (const Event* event : of_step) {
      if (event == nullptr) continue;
      EXPECT_GE(event->start_ns + kClockNs, all->start_ns);
      EXPECT_LE(event->end_ns, all->end_ns + kClockNs);
    }
  }
}

TEST(Recording, CoversEveryCommandOnceInOrder) {
  for (unsigned seed = 0; seed < 12; ++seed) {
    const RandomGraph random = MakeRandomGraph(seed, 60, 3);
    const Machine machine = MachineOf(kLayouts[seed % std::size(kLayouts)]);
    const Placement placement = RandomPlacement(random.graph, machine, seed);
    Session session(random.graph, placement, machine);
    session.Run({{}, {}, random.init});
    PreparedStep& step = session.Prepare({{}, random.fetches, random.targets});
    Collector collector;
    Recorder recorder(&collector);
    session.Record(&recorder, &step, 3);
    for (int i = 0; i < 3; ++i) session.Run(step, {});
    recorder.Flush();
    SCOPED_TRACE(seed);
    ExpectRecorded(*step.schedule, collector.Take(), 3, 0, 3);
    EXPECT_EQ(collector.dropped(), 0);
  }
}

// Law: only steps that are registered, while recording is on, reach the recorder; a recorder that is gone is
// never touched again.
TEST(Recording, StartsStopsAndMovesToAnotherRecorder) {
  const RandomGraph random = MakeRandomGraph(1, 30, 2);
  const Machine machine = FastMachine(2);
  const Placement placement = RandomPlacement(random.graph, machine, 1);
  Session session(random.graph, placement, machine);
  session.Run({{}, {}, random.init});
  PreparedStep& first = session.Prepare({{}, random.fetches, random.targets});
  PreparedStep& second = session.Prepare({{}, {random.fetches[0]}, {}});
  for (int round = 0; round < 3; ++round) {
    Collector collector;
    auto recorder = std::make_unique<Recorder>(&collector);
    session.Record(recorder.get(), &first, 0);
    session.Record(recorder.get(), &second, 1);
    session.SetRecording(false);
    session.Run(first, {});
    session.SetRecording(true);
    session.Run(first, {});
    session.Run(second, {});
    recorder->Flush();
    const auto events = collector.Take();
    ExpectRecorded(*first.schedule, events, 0, 0, 1);
    ExpectRecorded(*second.schedule, events, 1, 1, 1);
    session.Record(nullptr, nullptr, 0);
    recorder.reset();
    if (round == 1) session.Run(first, {});
  }
}

}  // namespace
}  // namespace lanescope::exec::test
