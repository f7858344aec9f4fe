// SPDX-License-Identifier: Apache-2.0
// A step whose devices are in several processes: the bits are those of one process.
#include <chrono>
#include <future>
#include <optional>
#include <thread>
#include <vector>

#include "core/expand/functions.h"
#include "core/place/placer.h"
#include "core/schedule/task_share.h"
#include "exec/messages/message_tags.h"
#include "tests/exec/sample_run.h"
#include "tests/exec/tasks/random_runs.h"
#include "tests/exec/tasks/tasks_harness.h"
#include "tests/support/collective_graph.h"
#include "tests/support/sanitized.h"

namespace lanescope::exec::test {
namespace {

using lanescope::test::CollectiveGraph;
using lanescope::test::MakeRandomGraph;
using lanescope::test::RandomGraph;
using lanescope::test::RandomPlacement;
using lanescope::test::RandomTensors;

SessionOptions In(const JobOptions& job, bool fuse = false) {
  SessionOptions options;
  options.fuse = fuse;
  options.job = job;
  return options;
}

// Law: neither who plays a task nor that nodes share launches there changes a bit. Nodes, variables and
// control edges go anywhere.
TEST(TasksSession, RandomGraphsOnTwoAndFourTasks) {
  for (const int tasks : {2, 4}) {
    const Machine machine = MachineOfTasks(tasks, 2);
    for (unsigned seed = 0; seed < 25; seed += lanescope::test::kOneCaseOf) {
      const RandomGraph random = MakeRandomGraph(seed, 60, 3);
      const Placement placement = RandomPlacement(random.graph, machine, seed);
      const auto expected = RunDag(random, placement, machine, {});
      const bool fuse = seed % 2 == 1;
      const auto found = FetchesOfTasks(
          machine, [&](const JobOptions& job) { return RunDag(random, placement, machine, In(job, fuse)); });
      ExpectSame(expected, found, fmt::format("{} tasks, seed {}", tasks, seed));
    }
  }
}

// Tensors without elements, and those whose size only the step knows.
TEST(TasksSession, EmptyTensorsAliasesAndBoundedSizes) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    const RandomTensors tensors(seed, 30);
    const Machine machine = MachineOfTasks(2 + static_cast<int>(seed % 2), 1);
    const Placement placement = tensors.Place(machine, seed);
    const auto expected = RunTensors(tensors, placement, machine, {});
    const auto found = FetchesOfTasks(
        machine, [&](const JobOptions& job) { return RunTensors(tensors, placement, machine, In(job)); });
    ExpectSame(expected, found, fmt::format("seed {}", seed));
  }
}

std::vector<Tensor> RunSample(const std::string& name, std::string_view strategy, const Machine& machine,
                              const JobOptions& job) {
  SampleRun sample(name, strategy, machine, {}, 4, job);
  std::vector<Tensor> results;
  for (int step = 0; step < 2; ++step) Append(&results, sample.Step());
  return results;
}

// Training steps of the samples, their towers and layers dealt out to the tasks.
TEST(TasksSession, SamplesTrainToTheSameBits) {
  const Machine machine = MachineOfTasks(2, 1);
  for (const auto& [name, strategy] :
       std::vector<std::pair<std::string, std::string>>{{"cifar10_towers", "round-robin"},
                                                        {"deepconn_dual", "tower-split"},
                                                        {"deepconn_single", "alternating"},
                                                        {"two_towers_matmul", "tower-split"},
                                                        {"polynomial", "alternating"}}) {
    const auto expected = RunSample(name, strategy, machine, {});
    const auto found = FetchesOfTasks(machine, [&, n = name, s = strategy](const JobOptions& job) {
      return RunSample(n, s, machine, job);
    });
    ExpectSame(expected, found, name);
  }
}

// Strings have no fixed size: they travel with their lengths.
TEST(TasksSession, StringsTravel) {
  GraphBuilder builder;
  const Endpoint number = builder.Placeholder("number", DataType::kInt32, Shape{3});
  builder.Op("AsString", "text").Input(number).Attr("T", DataType::kInt32).Build();
  const Machine machine = MachineOfTasks(2, 0);
  const Placement placement = PlaceAll(builder.graph(), TasksOf(machine).hosts[1]);
  const auto found = FetchesOfTasks(machine, [&](const JobOptions& job) {
    Session session(builder.graph(), placement, machine, In(job));
    return session.Run({{{"number", Tensor::FromValues<int32_t>(Shape{3}, {7, -12345678, 0})}}, {"text"}, {}})
        .fetches;
  });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].data<std::string>()[0], "7");
  EXPECT_EQ(found[0].data<std::string>()[1], "-12345678");
  EXPECT_EQ(found[0].data<std::string>()[2], "0");
}

// Law: a tensor larger than the transport's messages travels in several, whether its size is known before the
// step, only in it, or its strings'; on emulated links, too.
TEST(TasksSession, LargeTensorsAreSeveralMessages) {
  GraphBuilder builder;
  const Endpoint numbers = builder.Placeholder("numbers", DataType::kInt32, Shape{300});
  const Endpoint negated = builder.Op("Neg", "negated").Input(numbers).Build();
  const Endpoint kept = builder.Op("Unique", "kept").Input(negated).Build();
  builder.Op("AsString", "texts").Input(numbers).Build();
  builder.Op("Neg", "again").Input(kept).Build();
  Tensor values(DataType::kInt32, Shape{300});
  for (int i = 0; i < 300; ++i) values.data<int32_t>()[i] = 1000 + i % 200;
  for (const int64_t latency_ns : {0, 1'000'000}) {
    const Machine machine = MachineOfTasks(2, 0, 1e12, latency_ns);
    Placement placement = PlaceAll(builder.graph(), TasksOf(machine).hosts[1]);
    PlaceOn(&placement, builder.graph(), "again", TasksOf(machine).hosts[0]);
    const auto run = [&](const JobOptions& job) {
      Session session(builder.graph(), placement, machine, In(job));
      return session.Run({{{"numbers", values}}, {"negated", "texts", "again"}, {}}, {20'000'000'000})
          .fetches;
    };
    const std::vector<Tensor> found = FetchesOfTasks(machine, run, 250);
    const std::vector<Tensor> expected = run({});
    ASSERT_EQ(found.size(), 3u);
    ExpectSame({expected[0], expected[2]}, {found[0], found[2]}, "numbers");
    EXPECT_EQ(found[2].shape(), Shape{200});
    for (int i = 0; i < 300; ++i) EXPECT_EQ(found[1].data<std::string>()[i], std::to_string(1000 + i % 200));
  }
}

// Law: who plays a task changes no bit of a collective, by whichever algorithm, with however many devices in
// each task.
TEST(TasksSession, CollectivesOfTasks) {
  const Machine machine = MachineOfTasks(3, 2);
  std::vector<std::string> devices;
  for (const char* device : {"0/device:GPU:0", "0/device:GPU:1", "1/device:GPU:0", "2/device:CPU:0"})
    devices.push_back(std::string("/job:worker/replica:0/task:") + device);
  const CollectiveGraph collectives(devices);
  const Graph graph = InlineFunctions(collectives.graph(), {.collectives = {.machine = &machine}});
  const Placement placement = PlaceGraph(graph, machine, {});
  const auto run = [&](const JobOptions& job) {
    Session session(graph, placement, machine, In(job));
    return session.Run({{}, collectives.fetches(), {}}, {20'000'000'000}).fetches;
  };
  ExpectSame(run({}), FetchesOfTasks(machine, run), "collectives");
}

// Law: what another process says of strings is checked: fewer bytes than they need, or more, are an error.
TEST(TasksSession, BrokenStringsAreRefused) {
  GraphBuilder builder;
  const Endpoint text = builder.Const("text", Tensor::FromValues<std::string>(Shape{3}, {"a", "b", "c"}));
  builder.Op("Identity", "far").Input(text).Build();
  const Machine machine = MachineOfTasks(2, 0);
  const Placement placement = PlaceAll(builder.graph(), TasksOf(machine).hosts[1]);
  struct {
    int64_t bytes = 0;
    int32_t rank = 1;
    int64_t dims[16] = {3};
  } header;
  const std::vector<char> empty_strings(3 * sizeof(int64_t) + 6, 0);
  for (const int64_t bytes : {int64_t{0}, int64_t{20}, int64_t{30}}) {
    lanescope::test::MessageBoard board(2);
    lanescope::test::MemoryTransport here(&board, 0), there(&board, 1);
    Session session(builder.graph(), placement, machine, In({&here, {}}));
    header.bytes = bytes;
    there.Send(0, kFirstStepTag, &header, sizeof header);
    there.Send(0, kFirstStepTag, empty_strings.data(), bytes);
    ExpectError(Code::kDataLoss, {"strings that came from another process", bytes == 30 ? "long" : "short"},
                [&] {
                  session.Run({{}, {"far"}, {}}, {5'000'000'000});
                });
  }
}

// Law: a step with more messages than the transport has tags for is refused before it begins.
TEST(TasksSession, EveryMessageNeedsATag) {
  GraphBuilder builder;
  builder.Op("Neg", "far").Input(builder.Const("x", Floats(Shape{4}, 1))).Build();
  const Machine machine = MachineOfTasks(2, 0);
  const Placement placement = PlaceAll(builder.graph(), TasksOf(machine).hosts[1]);
  lanescope::test::MessageBoard board(2);
  lanescope::test::MemoryTransport here(&board, 0, kFirstStepTag + 20);
  Session session(builder.graph(), placement, machine, In({&here, {}}));
  ExpectError(Code::kResourceExhausted, {"1 messages", "tells 0 apart"}, [&] {
    session.Run({{}, {"far"}, {}});
  });
}

// Where links are emulated, a message between tasks takes what the link says: 1 MB at 100 MB/s after 5 ms.
TEST(TasksSession, MessagesArePacedByTheirLink) {
  GraphBuilder builder;
  const Endpoint x = builder.Placeholder("x", DataType::kFloat, Shape{250000});
  builder.Op("Neg", "y").Input(x).Build();
  const Machine machine = MachineOfTasks(2, 1, 1e8, 5'000'000);
  const Placement placement = PlaceAll(builder.graph(), TasksOf(machine).hosts[1]);
  FetchesOfTasks(machine, [&](const JobOptions& job) {
    Session session(builder.graph(), placement, machine, In(job));
    const RunResult result = session.Run({{{"x", Floats(Shape{250000}, 1)}}, {"y"}, {}});
    EXPECT_GE(result.times.end_ns - result.times.start_ns, 30'000'000);  // there and back
    return result.fetches;
  });
}

// 1 MB to each of two tasks, and back from each, through an interface of 50 MB/s of the first task, where
// each link would carry 10 GB/s: 40 ms out, which only the sender knows, then 40 ms in, which only the
// receiver knows. Where one of them sets out late, up to 20 ms of the two overlap.
TEST(TasksSession, MessagesOfOneTaskShareItsInterface) {
  GraphBuilder builder;
  const Endpoint x = builder.Placeholder("x", DataType::kFloat, Shape{250000});
  Machine machine = MachineOfTasks(3, 1, 1e10, 100'000);
  const std::vector<DeviceId> hosts = TasksOf(machine).hosts;
  machine.nics.push_back({{hosts[0]}, 5e7});
  for (const char* name : {"y1", "y2"}) builder.Op("Neg", name).Input(x).Build();
  Placement placement = PlaceAll(builder.graph(), hosts[0]);
  PlaceOn(&placement, builder.graph(), "y1", hosts[1]);
  PlaceOn(&placement, builder.graph(), "y2", hosts[2]);
  FetchesOfTasks(machine, [&](const JobOptions& job) {
    Session session(builder.graph(), placement, machine, In(job));
    const RunResult result = session.Run({{{"x", Floats(Shape{250000}, 1)}}, {"y1", "y2"}, {}});
    EXPECT_GE(result.times.end_ns - result.times.start_ns, 60'000'000);
    return result.fetches;
  });
}

// A step that cannot end says what it waits for.
TEST(TasksSession, TheTimeOutNamesWhoIsMissing) {
  GraphBuilder builder;
  const Endpoint x = builder.Const("x", Floats(Shape{4}, 1));
  builder.Op("Neg", "far").Input(x).Build();
  const Machine machine = MachineOfTasks(2, 0);
  const Placement placement = PlaceAll(builder.graph(), TasksOf(machine).hosts[1]);
  PlayTasks(2, [&](Transport* transport) {
    if (transport->rank() != 0) return;  // it never comes
    Session session(builder.graph(), placement, machine, In({transport, {}}));
    ExpectError(Code::kDeadlineExceeded, {"'far'", "rank 1"}, [&] {
      session.Run({{}, {"far"}, {}}, {50'000'000});
    });
  });
}

// Law: who has ended its own part and waits for others is cancelled. What others sent of that step may still
// come, so that there is no next one.
TEST(TasksSession, ACancelledWaitForOthersIsOver) {
  GraphBuilder builder;
  builder.Op("Neg", "near").Input(builder.Const("x", Floats(Shape{4}, 1))).Build();
  const Machine machine = MachineOfTasks(2, 0);
  const Placement placement = PlaceAll(builder.graph(), TasksOf(machine).hosts[0]);
  lanescope::test::MessageBoard board(2);
  lanescope::test::MemoryTransport here(&board, 0);  // the other process never comes
  Session session(builder.graph(), placement, machine, In({&here, {}}));
  const RunRequest request{{}, {"near"}, {}};
  PreparedStep& step = session.Prepare(request);
  auto cancelled = std::async(std::launch::async,
                              [&] { ExpectError(Code::kCancelled, {}, [&] { session.Run(step, {}, {}); }); });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  session.Cancel();  // once: a step that has not begun yet is cancelled, too
  cancelled.get();
  ExpectError(Code::kFailedPrecondition, {"given up"}, [&] { session.Run(step, {}, {500'000'000}); });
}

// Law: no step takes what was sent for one that was given up: not in another session either.
TEST(TasksSession, NoStepFollowsOneThatWasGivenUp) {
  GraphBuilder builder;
  const Endpoint x = builder.Op("Placeholder", "x").Attr("dtype", DataType::kFloat).Build();
  builder.Op("Neg", "far").Input(x).Build();
  const Machine machine = MachineOfTasks(2, 0);
  const Placement placement = PlaceAll(builder.graph(), TasksOf(machine).hosts[1]);
  PlayTasks(2, [&](Transport* transport) {
    const auto run = [&](float value, int64_t timeout_ns) {
      Session session(builder.graph(), placement, machine, In({transport, {}}));
      return session.Run({{{"x", Floats(Shape{4}, value)}}, {"far"}, {}}, {timeout_ns}).fetches;
    };
    if (transport->rank() == 0) {
      ExpectError(Code::kDeadlineExceeded, {}, [&] { run(1, 50'000'000); });
      transport->Share("");
      ExpectError(Code::kFailedPrecondition, {"given up"}, [&] { run(2, 50'000'000); });
    } else {
      transport->Share("");  // comes too late
    }
  });
}

// The error of one task is its own; devices of others are not touched.
TEST(TasksSession, AVariableOfAnotherTaskIsNotHere) {
  GraphBuilder builder;
  const Endpoint v =
      builder.Op("VariableV2", "v").Attr("dtype", DataType::kFloat).Attr("shape", Shape{2}).Build();
  builder.Op("Assign", "init").Input(v).Input(builder.Const("one", Floats(Shape{2}, 1))).Build();
  const Machine machine = MachineOfTasks(2, 0);
  const Placement placement = PlaceAll(builder.graph(), TasksOf(machine).hosts[1]);
  PlayTasks(2, [&](Transport* transport) {
    Session session(builder.graph(), placement, machine, In({transport, {}}));
    session.Run({{}, {}, {"init"}});
    if (transport->rank() == 1) {
      EXPECT_TRUE(BitwiseEqual(session.ReadVariable("v"), Floats(Shape{2}, 1)));
    } else {
      ExpectError(Code::kNotFound, {"'v'"}, [&] { session.ReadVariable("v"); });
    }
  });
}

}  // namespace
}  // namespace lanescope::exec::test
