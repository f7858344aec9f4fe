// SPDX-License-Identifier: Apache-2.0
// Tasks that serve others: variables and queues on them are shared by all who run graphs, and outlive them.
#include <gmock/gmock.h>

#include <future>
#include <optional>
#include <set>

#include "core/record/recorder.h"
#include "core/schedule/task_share.h"
#include "exec/messages/message_tags.h"
#include "tests/exec/pipeline_harness.h"
#include "tests/exec/tasks/serve_harness.h"
#include "tests/support/random_graph.h"
#include "tests/support/sanitized.h"

namespace lanescope::exec::test {
namespace {

using lanescope::test::MakeRandomGraph;
using lanescope::test::RandomGraph;
using lanescope::test::RandomPlacement;

constexpr char kPs[] = "/job:ps/task:0/device:CPU:0";
std::string Worker(int task) { return fmt::format("/job:worker/task:{}/device:CPU:0", task); }

// x = 0 on the parameter server; the worker adds one. `queues`: there is a step that says when it has begun,
// and waits until it is told to go on.
Graph CounterGraph(int worker, const std::string& container = "", bool queues = false) {
  GraphBuilder builder;
  const Endpoint x = builder.Op("VariableV2", "x")
                         .Attr("dtype", DataType::kFloat)
                         .Attr("shape", Shape{})
                         .Attr("container", container)
                         .Device(kPs)
                         .Build();
  const Endpoint zero = builder.Op("Const", "zero")
                            .Attr("dtype", DataType::kFloat)
                            .Attr("value", Tensor::Scalar(0.0f))
                            .Device(Worker(worker))
                            .Build();
  const Endpoint one = builder.Op("Const", "one")
                           .Attr("dtype", DataType::kFloat)
                           .Attr("value", Tensor::Scalar(1.0f))
                           .Device(Worker(worker))
                           .Build();
  const Endpoint read = builder.Op("Identity", "read").Input(x).Device(kPs).Build();
  const Endpoint sum = builder.Op("Add", "sum").Input(read).Input(one).Device(Worker(worker)).Build();
  builder.Op("Assign", "init").Input(x).Input(zero).Device(kPs).Build();
  builder.Op("Assign", "increment").Input(x).Input(sum).Device(kPs).Build();
  if (!queues) return builder.Take();
  const auto queue = [&](const std::string& name) {
    return builder.Op("FIFOQueueV2", name)
        .Attr("component_types", Types({DataType::kFloat}))
        .Attr("shapes", Shapes({Shape{}}))
        .Attr("shared_name", "shared_" + name)
        .Device(kPs)
        .Build();
  };
  const auto dequeue = [&](const std::string& name, Endpoint from, std::optional<NodeId> after) {
    NodeBuilder node = builder.Op("QueueDequeueV2", name);
    if (after) node.ControlInput(*after);
    return node.Input(from).Attr("component_types", Types({DataType::kFloat})).Device(kPs).Build();
  };
  const Endpoint begun = queue("begun"), told = queue("told");
  const auto enqueue = [&](const std::string& name, Endpoint into) {
    return builder.Op("QueueEnqueueV2", name).Input(into).Input(one).Device(kPs).Build().node;
  };
  const NodeId says = enqueue("say", begun);
  enqueue("tell", told);
  dequeue("hear", begun, {});
  const Endpoint go = dequeue("go", told, says);
  builder.Op("AssignAdd", "increment_when_told").Input(x).Input(go).Device(kPs).Build();
  return builder.Take();
}

// A queue of floats on the parameter server, which all workers know by its name.
Graph QueueGraph(int worker) {
  GraphBuilder builder;
  const Endpoint queue = builder.Op("FIFOQueueV2", "q")
                             .Attr("component_types", Types({DataType::kFloat}))
                             .Attr("shapes", Shapes({Shape{}}))
                             .Attr("shared_name", "shared_q")
                             .Device(kPs)
                             .Build();
  const Endpoint value = builder.Op("Const", "value")
                             .Attr("dtype", DataType::kFloat)
                             .Attr("value", Tensor::Scalar(static_cast<float>(worker + 1)))
                             .Device(Worker(worker))
                             .Build();
  builder.Op("QueueEnqueueV2", "enqueue").Input(queue).Input(value).Device(kPs).Build();
  builder.Op("QueueDequeueV2", "dequeue")
      .Input(queue)
      .Attr("component_types", Types({DataType::kFloat}))
      .Device(kPs)
      .Build();
  return builder.Take();
}

// `init` and an increment give 1; a second client, which does not initialise, gives 2.
TEST(Serve, J41_TwoClientsShareTheValue) {
  ServedMachine served(MachineOfJobs(1, 2), {0});
  Client first(&served, 1), second(&served, 2);
  ClientSession a(&first, CounterGraph(0)), b(&second, CounterGraph(1));
  a.Do("init");
  EXPECT_EQ(a.Get("increment"), 1);
  EXPECT_EQ(b.Get("increment"), 2);
  EXPECT_EQ(a.Get("read"), 2);
}

TEST(Serve, VariablesOutliveTheirClient) {
  ServedMachine served(MachineOfJobs(1, 2), {0});
  Client second(&served, 2);
  {
    Client first(&served, 1);
    ClientSession a(&first, CounterGraph(0));
    a.Do("init");
    EXPECT_EQ(a.Get("increment"), 1);
  }
  ClientSession b(&second, CounterGraph(1));
  EXPECT_EQ(b.Get("increment"), 2);
}

TEST(Serve, J43_AResetEmptiesTheContainersItNames) {
  ServedMachine served(MachineOfJobs(1, 1), {0});
  Client client(&served, 1);
  {
    ClientSession kept(&client, CounterGraph(0, "kept")), lost(&client, CounterGraph(0, "lost"));
    for (ClientSession* session : {&kept, &lost}) {
      session->Do("init");
      EXPECT_EQ(session->Get("increment"), 1);
    }
  }
  client.tasks.Reset({"lost"});
  ClientSession kept(&client, CounterGraph(0, "kept")), lost(&client, CounterGraph(0, "lost"));
  EXPECT_EQ(kept.Get("increment"), 2);
  ExpectError(Code::kFailedPrecondition, {"rank 0 here", "uninitialized"}, [&] { lost.Get("increment"); });
}

// Law: who plays a task changes no bit, and the client fetches whatever task it is.
TEST(Serve, RandomGraphsOnServedTasks) {
  for (unsigned seed = 0; seed < 9; seed += lanescope::test::kOneCaseOf) {
    const int task = static_cast<int>(seed % 3);
    std::vector<int> servers = {0, 1, 2};
    std::erase(servers, task);
    ServedMachine served(MachineOfJobs(1, 2, 1), servers);
    const RandomGraph random = MakeRandomGraph(seed, 60, 3);
    const Placement placement = RandomPlacement(random.graph, served.machine(), seed);
    const auto run = [&](const SessionOptions& options) {
      Session session(random.graph, placement, served.machine(), options);
      session.Run({{}, {}, random.init});
      std::vector<Tensor> results;
      for (int step = 0; step < 3; ++step) {
        for (Tensor& tensor : session.Run({{}, random.fetches, random.targets}).fetches)
          results.push_back(std::move(tensor));
      }
      return results;
    };
    const std::vector<Tensor> expected = run({});
    Client client(&served, task);
    const std::vector<Tensor> found = run(client.options());
    ASSERT_EQ(expected.size(), found.size());
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(BitwiseEqual(expected[i], found[i])) << seed;
  }
}

// Law: feeds are the client's, and come to whichever task reads them.
TEST(Serve, AClientFeedsServedTasks) {
  ServedMachine served(MachineOfJobs(2, 1), {0, 1});
  Client client(&served, 2);
  GraphBuilder builder;
  const Endpoint x = builder.Placeholder("x", DataType::kFloat, Shape{3});
  const Endpoint y = builder.Op("Neg", "y").Input(x).Device(kPs).Build();
  builder.Op("Square", "z").Input(y).Device("/job:ps/task:1/device:CPU:0").Build();
  ClientSession session(&client, builder.Take());
  for (const float value : {1.0f, 2.0f, 3.0f}) {
    const auto result = session.session.Run({{{"x", Floats(Shape{3}, value)}}, {"y", "z"}, {}});
    EXPECT_TRUE(BitwiseEqual(result.fetches.at(0), Floats(Shape{3}, -value)));
    EXPECT_TRUE(BitwiseEqual(result.fetches.at(1), Floats(Shape{3}, value * value)));
  }
}

// Law: what one client enqueues another gets; a step that waits holds up nobody.
TEST(Serve, StepsOfSeveralClientsRunAtOnce) {
  ServedMachine served(MachineOfJobs(1, 3), {0});
  Client consumer(&served, 1), first(&served, 2), second(&served, 3);
  ClientSession take(&consumer, QueueGraph(0));
  constexpr int kEach = 20;
  auto sum = std::async(std::launch::async, [&] {
    float total = 0;
    for (int i = 0; i < 2 * kEach; ++i) total += take.Get("dequeue");
    return total;
  });
  std::vector<std::future<void>> producers;
  for (const auto& [client, worker] : {std::pair{&first, 1}, {&second, 2}}) {
    producers.push_back(std::async(std::launch::async, [client = client, worker = worker] {
      ClientSession put(client, QueueGraph(worker));
      for (int i = 0; i < kEach; ++i) put.Do("enqueue");
    }));
  }
  for (auto& producer : producers) producer.get();
  EXPECT_EQ(sum.get(), kEach * 2.0f + kEach * 3.0f);
}

// Law: a step is as stale as others have changed variables since it began; one that changes none has no age.
TEST(Serve, StalenessCountsTheUpdatesOfOthers) {
  ServedMachine served(MachineOfJobs(1, 2), {0});
  Client first(&served, 1), second(&served, 2);
  ClientSession slow(&first, CounterGraph(0, "", true)), quick(&second, CounterGraph(1, "", true));
  const auto staleness = [](ClientSession* session, const std::string& target) {
    return session->session.Run({{}, {}, {target}}).staleness;
  };
  EXPECT_EQ(staleness(&slow, "init"), 0);
  EXPECT_EQ(staleness(&slow, "read"), -1);
  auto step = std::async(std::launch::async, [&] { return staleness(&slow, "increment_when_told"); });
  slow.Do("hear");  // it has begun
  for (int i = 0; i < 3; ++i) EXPECT_EQ(staleness(&quick, "increment"), 0);
  quick.Do("tell");
  EXPECT_EQ(step.get(), 3);
}

// A client's own steps run at once as well.
TEST(Serve, StepsOfOneClientWaitForEachOther) {
  ServedMachine served(MachineOfJobs(1, 1), {0});
  Client client(&served, 1);
  ClientSession session(&client, QueueGraph(0));
  for (int i = 0; i < 5; ++i) {
    auto value = std::async(std::launch::async, [&] { return session.Get("dequeue"); });
    session.Do("enqueue");
    EXPECT_EQ(value.get(), 1);
  }
}

// A time-out is the client's alone: nothing was taken, and the server goes on for everybody.
TEST(Serve, ATimeOutLeavesTheServerUsable) {
  ServedMachine served(MachineOfJobs(1, 2), {0});
  Client first(&served, 1), second(&served, 2);
  ClientSession a(&first, QueueGraph(0)), b(&second, QueueGraph(1));
  for (int i = 0; i < 3; ++i)
    ExpectError(Code::kDeadlineExceeded, {"rank 0 here"}, [&] { a.Get("dequeue", 200'000'000); });
  b.Do("enqueue");
  EXPECT_EQ(a.Get("dequeue"), 2);
  a.Do("enqueue");
  EXPECT_EQ(b.Get("dequeue"), 1);
  EXPECT_EQ(served.server(0).Report().at(0).failed_steps, 3);
}

// Laws: no step has the tags of one that has not ended, or has failed: its messages may still come. Those of
// steps that ended well come round again.
TEST(Serve, TagsAreOfOneStep) {
  lanescope::test::MessageBoard board(2);
  lanescope::test::MemoryTransport transport(&board, 1, kFirstStepTag + 2 * 640);
  RemoteTasks tasks(&transport, {});
  const int own = kFirstStepTag + 640;
  for (int at = 0; at < 640; at += 10) {
    EXPECT_EQ(tasks.TakeTags(10), own + at);
    if (at != 10) tasks.GiveTagsBack(own + at);
  }
  EXPECT_EQ(tasks.TakeTags(5), own);
  EXPECT_EQ(tasks.TakeTags(10), own + 20) << "5 are too few for it";
  ExpectError(Code::kResourceExhausted, {"11 messages"}, [&] { tasks.TakeTags(11); });
  for (int taken = 0; taken < 640 - 25; ++taken) tasks.TakeTags(1);
  ExpectError(Code::kResourceExhausted, {"start the processes anew"}, [&] { tasks.TakeTags(1); });
}

// The error of a share is the step's, with the process that met it.
TEST(Serve, AnErrorOfAServerIsTheClients) {
  ServedMachine served(MachineOfJobs(1, 1), {0});
  Client client(&served, 1);
  ClientSession session(&client, CounterGraph(0));
  ExpectError(Code::kFailedPrecondition, {"rank 0 here", "uninitialized value x"},
              [&] { session.Get("increment"); });
  session.Do("init");
  EXPECT_EQ(session.Get("increment"), 1);
}

// A client that is gone in the middle of a step takes nothing, and is waited for by nobody.
TEST(Serve, ALostClientLeavesTheServerUsable) {
  ServedMachine served(MachineOfJobs(1, 2), {0});
  Client second(&served, 2);
  {
    Client first(&served, 1);
    ClientSession a(&first, QueueGraph(0)), b(&second, QueueGraph(1));
    auto value = std::async(std::launch::async, [&] { return a.Get("dequeue"); });
    b.Do("enqueue");
    EXPECT_EQ(value.get(), 2);
    auto waits = std::async(std::launch::async, [&] { return Pipeline::Outcome([&] { a.Get("dequeue"); }); });
    served.server(0).Lose(1);
    first.tasks.Lose(0, "is not heard of");  // it has not died, here
    EXPECT_EQ(waits.get().substr(0, 7), "Aborted");
    EXPECT_TRUE(served.server(0).Report().at(0).lost);
    b.Do("enqueue");
    EXPECT_EQ(b.Get("dequeue"), 2);
  }
}

TEST(Serve, ATaskThatServesNobodyIsNamed) {
  ServedMachine served(MachineOfJobs(1, 2), {0});
  Client first(&served, 1), second(&served, 2);
  ClientSession session(&first, CounterGraph(1));
  ExpectError(Code::kFailedPrecondition, {"/job:worker/task:1", "rank 2 here", "serve"},
              [&] { session.Get("increment"); });
}

TEST(Serve, VersionsAndMachinesMustBeTheSame) {
  const Machine machine = MachineOfJobs(1, 1);
  {
    ServedMachine served(machine, {0});
    Client client(&served, 1, kJobProtocol + 1);
    ClientSession session(&client, CounterGraph(0));
    ExpectError(Code::kFailedPrecondition, {"rank 0 here", "protocol 2", "asks 3"},
                [&] { session.Do("init"); });
  }
  ServedMachine served(machine, {0});
  Client client(&served, 1);
  Machine other = machine;
  other.links[0].latency_ns = 5;
  const Graph graph = CounterGraph(0);
  const Placement placement = PlaceAsSaid(graph, other);
  Session elsewhere(graph, placement, other, client.options());
  ExpectError(Code::kFailedPrecondition, {"rank 0 here", "another machine than rank 1 here"}, [&] {
    elsewhere.Run({{}, {}, {"init"}});
  });
}

// A question to a server that ends for another reason fails with that reason.
TEST(Serve, AServerThatEndsTellsItsClients) {
  ServedMachine served(MachineOfJobs(1, 1), {0});
  Client client(&served, 1);
  ClientSession session(&client, QueueGraph(0));
  auto waits =
      std::async(std::launch::async, [&] { return Pipeline::Outcome([&] { session.Get("dequeue"); }); });
  served.End();
  EXPECT_THAT(waits.get(), ::testing::HasSubstr("serves no more: told to end"));
  ExpectError(Code::kAborted, {"rank 0 here", "serves no more"}, [&] { session.Do("enqueue"); });
}

class Kept : public EventSink {
 public:
  void Consume(std::span<const Event> events) override {
    all.insert(all.end(), events.begin(), events.end());
  }
  void CountDropped(int64_t) override {}
  std::vector<Event> all;
};

// Law: of a recorded step every command but bare dependencies has its event, here or at the server's.
TEST(Serve, RecordedStepsOfServedTasksAreTold) {
  ServedMachine served(MachineOfJobs(1, 1), {0});
  Client client(&served, 1);
  ClientSession session(&client, CounterGraph(0));
  session.Do("init");
  PreparedStep& step = session.session.Prepare({{}, {"increment"}, {}});
  Kept own;
  Recorder recorder(&own);
  session.session.Record(&recorder, &step, 4);
  for (int i = 0; i < 3; ++i) session.session.Run(step, {});
  recorder.Flush();
  std::set<std::pair<int, CommandId>> told;
  for (const Event& event : session.session.TakeServedEvents()) {
    EXPECT_EQ(event.schedule, 4);
    EXPECT_LE(event.start_ns, event.end_ns);
    told.emplace(event.step, event.command);
  }
  for (const Event& event : own.all) {
    if (event.kind == EventKind::kCommand) told.emplace(event.step, step.share->whole[event.command]);
  }
  size_t work = 0;
  for (const Command& command : step.schedule->commands) work += command.is_work() ? 1 : 0;
  EXPECT_GE(work, 4u);
  EXPECT_EQ(told.size(), 3 * work);
  EXPECT_TRUE(session.session.TakeServedEvents().empty());
  session.session.Record(nullptr, nullptr, 0);
}

}  // namespace
}  // namespace lanescope::exec::test
