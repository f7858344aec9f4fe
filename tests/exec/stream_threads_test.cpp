// SPDX-License-Identifier: Apache-2.0
// The executor on a backend that nothing in exec knows: the contract of exec/device/stream_device.h is all
// they share.
#include "tests/exec/stream_threads.h"

#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <thread>

#include "core/record/event.h"
#include "core/record/recorder.h"
#include "exec/measure/gpu_machine.h"
#include "tests/exec/reference_interpreter.h"
#include "tests/exec/sample_run.h"
#include "tests/support/random_graph.h"

namespace lanescope::exec::test {
namespace {

// Registered while a test runs; gives back all that it made.
class StreamThreadsTest : public ::testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(backend_.live_objects(), 0); }

  static Machine MachineOf(int gpus, int copy_engines = 2) {
    Machine machine = FastMachine(gpus);
    for (DeviceSpec& device : machine.devices) {
      if (!device.is_gpu()) continue;
      device.model = kStreamThreads;
      device.in_order = true;
      device.copy_engines = copy_engines;
    }
    return machine;
  }

  StreamThreads backend_;
  BackendRegistration registration_{&backend_};
};

// Law: for random graphs with variables under random placements, every fetch of every step and every variable
// has the bits of the reference interpreter.
TEST_F(StreamThreadsTest, RandomGraphsGiveTheReferencesBits) {
  constexpr int kSteps = 3, kVariables = 4;
  for (unsigned seed = 0; seed < 12; ++seed) {
    const auto random = lanescope::test::MakeRandomGraph(seed, 60, kVariables, seed % 3 == 0 ? 20000 : 16);
    ReferenceInterpreter reference(random.graph);
    reference.Run({}, {}, random.init);
    const Machine machine = MachineOf(1 + static_cast<int>(seed % 3), 1 + static_cast<int>(seed % 2));
    const Placement placement = lanescope::test::RandomPlacement(random.graph, machine, seed);
    Session session(random.graph, placement, machine);
    session.Run({{}, {}, random.init});
    for (int step = 0; step < kSteps; ++step) {
      const auto expected = reference.Run({}, random.fetches, random.targets);
      const auto fetched = session.Run({{}, random.fetches, random.targets}).fetches;
      ASSERT_EQ(fetched.size(), expected.size());
      for (size_t i = 0; i < fetched.size(); ++i)
        ASSERT_TRUE(BitwiseEqual(fetched[i], expected[i])) << "seed " << seed << " step " << step;
    }
    for (int v = 0; v < kVariables; ++v) {
      const std::string name = "var" + std::to_string(v);
      EXPECT_TRUE(BitwiseEqual(session.ReadVariable(name), reference.Run({}, {name})[0])) << name;
    }
  }
  EXPECT_GT(backend_.commands_run(), 0);
}

// Sample graphs against devices of host memory: feeds, Unique, int32 operands in host memory,
// strings, random numbers, copies between devices.
TEST_F(StreamThreadsTest, SampleGraphsGiveTheBitsOfHostDevices) {
  for (const auto& [graph, strategy] :
       {std::pair{"deepconn_single", "alternating"}, std::pair{"two_towers_matmul", "annotated"},
        std::pair{"matmul_cpu_gpu", "annotated"}, std::pair{"polynomial_parallel", "annotated"},
        std::pair{"random_add_split", "annotated"}}) {
    SampleRun expected(graph, strategy, FastMachine(2));
    const int64_t before = backend_.commands_run();
    SampleRun actual(graph, strategy, MachineOf(2));
    for (int step = 0; step < 3; ++step) {
      const auto wanted = expected.Step(), fetched = actual.Step();
      ASSERT_EQ(fetched.size(), wanted.size());
      for (size_t i = 0; i < fetched.size(); ++i)
        EXPECT_TRUE(BitwiseEqual(fetched[i], wanted[i])) << graph << " step " << step << " fetch " << i;
    }
    EXPECT_EQ(actual.session().graph_problem(), "");  // nothing can be recorded here, which is no problem
    EXPECT_GT(backend_.commands_run(), before) << graph;
  }
}

// x -> rows of a table by index -> their negatives, on GPU:0, and a copy of them on GPU:1.
class LookupGraph {
 public:
  LookupGraph() {
    GraphBuilder builder;
    const Endpoint table =
        builder.Const("table", Tensor::FromValues<float>(Shape{4, 1}, {10.0f, 11.0f, 12.0f, 13.0f}));
    const Endpoint indices = builder.Placeholder("indices", DataType::kInt64, Shape{3});
    const Endpoint axis = builder.Scalar<int32_t>("axis", 0);
    const Endpoint rows = builder.Op("GatherV2", "rows").Input(table).Input(indices).Input(axis).Build();
    builder.Op("Neg", "far").Input(builder.Op("Neg", "near").Input(rows).Build()).Build();
    graph = builder.Take();
  }
  static RunRequest Request(int64_t last) {
    return {{{"indices", Tensor::FromValues<int64_t>(Shape{3}, {0, 1, last})}}, {"far"}, {}};
  }
  Placement On(const Machine& machine) const {
    Placement placement = PlaceAll(graph, Gpu(machine, 0));
    PlaceOn(&placement, graph, "far", Gpu(machine, 1));
    return placement;
  }
  Graph graph;
};

// A failure while a stream runs a command ends the step, whose error names the device and says what to try;
// the next step is right.
TEST_F(StreamThreadsTest, AFaultOnAStreamEndsTheStep) {
  const LookupGraph lookup;
  const Machine machine = MachineOf(2);
  const Placement placement = lookup.On(machine);
  Session session(lookup.graph, placement, machine);
  for (int round = 0; round < 3; ++round) {
    ExpectError(Code::kInvalidArgument, {"GPU:0 failed while it ran the step", "; look at the test"},
                [&] { session.Run(LookupGraph::Request(4)); });
    EXPECT_EQ(session.Run(LookupGraph::Request(3)).fetches[0].data<float>()[2], 13.0f);
  }
}

// A refusal of a command that is issued names it.
TEST_F(StreamThreadsTest, ARefusedCallNamesTheCommand) {
  const LookupGraph lookup;
  const Machine machine = MachineOf(2);
  const Placement placement = lookup.On(machine);
  Session session(lookup.graph, placement, machine);
  session.Run(LookupGraph::Request(3));
  backend_.RefuseCopy(2);
  ExpectError(Code::kInternal, {"the copy is refused", "[copy of node '", "on "},
              [&] { session.Run(LookupGraph::Request(3)); });
  EXPECT_EQ(session.Run(LookupGraph::Request(3)).fetches[0].data<float>()[2], 13.0f);
}

TEST_F(StreamThreadsTest, MemoryHasItsLimit) {
  Machine machine = MachineOf(2);
  machine.devices[Gpu(machine, 0)].memory_bytes = int64_t{64} << 10;
  ExpectError(Code::kResourceExhausted, {"GPU:0"}, [&] {
    SampleRun run("deepconn_single", "single", machine);
    run.Step();
  });
}

// Law: a step that times out says so, although the kernels that had been issued were stopped on their stream,
// and nothing of it is left running.
TEST_F(StreamThreadsTest, AStepTimesOut) {
  const LookupGraph lookup;
  const Machine machine = MachineOf(2);
  const Placement placement = lookup.On(machine);
  Session session(lookup.graph, placement, machine);
  session.Run(LookupGraph::Request(3));
  backend_.Hold(true);
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    backend_.Hold(false);
  });
  ExpectError(Code::kDeadlineExceeded, {"longer than 5 ms"},
              [&] { session.Run(LookupGraph::Request(3), {5'000'000}); });
  later.join();
  const int64_t run = backend_.commands_run();
  EXPECT_EQ(session.Run(LookupGraph::Request(3)).fetches[0].data<float>()[2], 13.0f);
  EXPECT_GT(backend_.commands_run(), run);
}

class EventsOfStreams : public EventSink {
 public:
  void Consume(std::span<const Event> batch) override {
    events.insert(events.end(), batch.begin(), batch.end());
  }
  void CountDropped(int64_t) override {}
  std::vector<Event> events;
};

// Every launch and copy of every recorded step has one event, inside its step.
TEST_F(StreamThreadsTest, EveryCommandIsTimed) {
  const LookupGraph lookup;
  const Machine machine = MachineOf(2);
  const Placement placement = lookup.On(machine);
  Session session(lookup.graph, placement, machine);
  PreparedStep& step = session.Prepare(LookupGraph::Request(3));
  EventsOfStreams log;
  {
    Recorder recorder(&log);
    session.Record(&recorder, &step, 0);
    for (int i = 0; i < 3; ++i) session.Run(LookupGraph::Request(3));
    session.Record(nullptr, nullptr, 0);
  }
  std::set<std::pair<int, CommandId>> expected, seen;
  for (const CommandId c : step.schedule->commands.ids()) {
    if (!step.schedule->commands[c].is_work()) continue;
    for (int i = 0; i < 3; ++i) expected.emplace(i, c);
  }
  for (const Event& event : log.events) {
    if (event.kind != EventKind::kCommand) continue;
    EXPECT_LE(event.start_ns, event.end_ns);
    EXPECT_TRUE(seen.emplace(event.step, event.command).second);
  }
  EXPECT_EQ(seen, expected);
}

// Measuring asks of a backend no more than running does.
TEST_F(StreamThreadsTest, IsMeasured) {
  Machine machine = MachineOf(2);
  const GpuMeasurement measured = MeasureGpus(&machine, 1 << 16, 2);
  EXPECT_EQ(measured.interference.size(), 2u);
  EXPECT_EQ(measured.links_busy.size(), machine.links.size());
  for (const LinkSpec& link : machine.links) EXPECT_EQ(link.table.back().first, 1 << 16);
  for (const DeviceId gpu : machine.Gpus()) EXPECT_GT(machine.device(gpu).peak_flops.at(DataType::kFloat), 0);
}

// The registration decides who makes a device, and only while it lives; sorts of GPUs do not mix.
TEST_F(StreamThreadsTest, AreFoundByRegistration) {
  Machine machine = MachineOf(2);
  EXPECT_EQ(MakeDevices(machine, {})[machine.host()]->streams(), nullptr);
  const DeviceId gpu = Gpu(machine, 1);
  EXPECT_NE(MakeDevices(machine, {})[gpu]->streams(), nullptr);
  machine.devices[gpu].model = "";
  ExpectError(Code::kInvalidArgument, {"GPU:0", "GPU:1", "one sort"}, [&] { MakeDevices(machine, {}); });
  machine.devices[gpu].model = kStreamThreads;
  {
    StreamThreads other;
    const BackendRegistration registration(&other);
    const auto devices = MakeDevices(machine, {});
    EXPECT_EQ(&devices[gpu]->streams()->driver(), &other);
  }
  EXPECT_EQ(&MakeDevices(machine, {})[gpu]->streams()->driver(), &backend_);
}

}  // namespace
}  // namespace lanescope::exec::test
