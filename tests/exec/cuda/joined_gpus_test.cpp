// SPDX-License-Identifier: Apache-2.0
// GPUs of several processes that send to each other from memory to memory, by an NCCL that is none.
#include "exec/messages/joined_gpus.h"

#include <gtest/gtest.h>

#include <atomic>

#include "exec/messages/peer_connections.h"
#include "tests/exec/cuda/gpu_tasks.h"
#include "tests/exec/tasks/random_runs.h"

namespace lanescope::exec::test {
namespace {

using lanescope::test::MakeRandomGraph;
using lanescope::test::MemoryTransport;
using lanescope::test::MessageBoard;
using lanescope::test::RandomGraph;
using lanescope::test::RandomPlacement;
using lanescope::test::RandomTensors;

// The fetches of the first task by `run`, on the machine with its GPUs joined. An error of each is a failure.
std::vector<Tensor> FetchesOfJoined(
    const Machine& machine,
    const std::function<std::vector<Tensor>(const Machine&, const SessionOptions&)>& run) {
  std::vector<Tensor> fetched;
  PlayTasks(TasksOf(machine).size(), [&](Transport* transport) {
    try {
      const JoinedGpus joined = JoinGpus(machine, transport);
      std::vector<Tensor> own = run(joined.machine, InJob(transport));
      if (transport->rank() == 0) fetched = std::move(own);
    } catch (const Error& error) {
      ADD_FAILURE() << transport->NameOf(transport->rank()) << ": " << error.what();
    }
  });
  return fetched;
}

// Law: which way tensors go changes no bit. Nodes, variables and control edges go anywhere; no GPU has two
// transfers at a time, and nothing of NCCL's is left.
TEST(JoinedGpus, RandomGraphsGiveTheBitsOfOneProcess) {
  for (const auto& [tasks, gpus] : {std::pair{2, 1}, std::pair{2, 2}, std::pair{4, 1}}) {
    const Machine expected_machine = MachineOfTasks(tasks, gpus), machine = GpuMachineOfTasks(tasks, gpus);
    for (unsigned seed = 0; seed < 6; ++seed) {
      SCOPED_TRACE(fmt::format("{} tasks of {} GPUs, seed {}", tasks, gpus, seed));
      const RandomGraph random = MakeRandomGraph(seed, 60, 3);
      const Placement placement = RandomPlacement(random.graph, machine, seed);
      const auto expected = RunDag(random, placement, expected_machine, {});
      StubGuard stub({.gpus = tasks * gpus, .seed = seed + 1});
      FakeNccl nccl(&*stub);
      const auto found = FetchesOfJoined(machine, [&](const Machine& joined, const SessionOptions& options) {
        return RunDag(random, placement, joined, options);
      });
      ExpectSame(expected, found, "");
      EXPECT_GT(nccl.Calls("ncclSend"), 0);
      EXPECT_EQ(nccl.Calls("ncclSend"), nccl.Calls("ncclRecv"));
      EXPECT_EQ(nccl.overlaps(), 0);
      EXPECT_EQ(nccl.live(), 0);
      EXPECT_EQ(stub->live_objects(), 0);
    }
  }
}

// Tensors without elements, and those whose size only the step knows: their shape goes ahead.
TEST(JoinedGpus, EmptyTensorsAliasesAndBoundedSizes) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    SCOPED_TRACE(seed);
    const RandomTensors tensors(seed, 30);
    const Machine machine = GpuMachineOfTasks(2, 1);
    const Placement placement = tensors.Place(machine, seed);
    const auto expected = RunTensors(tensors, placement, MachineOfTasks(2, 1), {});
    StubGuard stub({.gpus = 2, .seed = seed + 1});
    FakeNccl nccl(&*stub);
    const auto found = FetchesOfJoined(machine, [&](const Machine& joined, const SessionOptions& options) {
      return RunTensors(tensors, placement, joined, options);
    });
    ExpectSame(expected, found, "");
    EXPECT_EQ(nccl.overlaps(), 0);
  }
}

// `links`: between GPUs of different tasks.
void ExpectLinks(const Machine& machine, size_t links) {
  const MachineTasks tasks = TasksOf(machine);
  EXPECT_EQ(static_cast<size_t>(std::ranges::count_if(machine.links,
                                                      [&](const LinkSpec& link) {
                                                        return !tasks.SameTask(link.a, link.b) &&
                                                               machine.device(link.a).is_gpu();
                                                      })),
            links);
}

// Two tasks of two GPUs: each GPU is joined with both of the other task, by a link like the way through the
// hosts (three hops of 1 GB/s and 1 us); the link that the file has stays.
TEST(JoinedGpus, TheMachineHasTheirLinks) {
  StubGuard stub({.gpus = 4});
  FakeNccl nccl(&*stub);
  Machine machine = GpuMachineOfTasks(2, 2);
  LinkSpec fast;
  fast.a = machine.Gpus()[0];
  fast.b = machine.Gpus()[2];
  fast.bandwidth = 5e9;
  fast.latency_ns = 7;
  machine.links.push_back(fast);
  PlayTasks(2, [&](Transport* transport) {
    const JoinedGpus joined = JoinGpus(machine, transport);
    EXPECT_EQ(joined.note, "copies between GPUs of different processes go by NCCL 2.28.9");
    ExpectLinks(joined.machine, 4);
    const Route file = joined.machine.RouteBetween(fast.a, fast.b);
    EXPECT_EQ(file.bandwidth, 5e9);
    EXPECT_EQ(file.latency_ns, 7);
    const Route made = joined.machine.RouteBetween(machine.Gpus()[1], machine.Gpus()[2]);
    EXPECT_FALSE(made.staged);
    EXPECT_EQ(made.bandwidth, 1e9);
    EXPECT_EQ(made.latency_ns, 3000);
  });
  ExpectLinks(JoinGpus(machine, nullptr).machine, 0);
}

// One process' answer: which of the machine's links to its GPU are there, and the notes of the first one.
struct Said {
  std::string text;
  size_t links;
  std::string note;
};

TEST(JoinedGpus, OnlyThoseThatBothEndsCanJoin) {
  StubGuard stub;
  FakeNccl nccl(&*stub);
  const std::string none =
      "not all copies between GPUs of different processes go from memory to memory (rank 1 here";
  for (const Said& said :
       {Said{"-\nNCCL cannot be loaded", 0, none + ": NCCL cannot be loaded)"},
        Said{"NCCL 2.27.3\nabc", 0, none + " has NCCL 2.27.3 and others NCCL 2.28.9)"},
        Said{"NCCL 2.28.9\nabc", 1, "copies between GPUs of different processes go by NCCL 2.28.9"},
        Said{"NCCL 2.28.9\nabc\ndef", 0, none + ": its machine has other GPUs)"},
        Said{"", 0, none + ": its machine has other GPUs)"}}) {
    SCOPED_TRACE(said.text);
    MessageBoard board(2);
    MemoryTransport here(&board, 0), there(&board, 1);
    std::thread other([&] { there.Share(said.text); });
    const JoinedGpus joined = JoinGpus(GpuMachineOfTasks(2, 1), &here);
    other.join();
    ExpectLinks(joined.machine, said.links);
    EXPECT_EQ(joined.note, said.note);
  }
}

// Two tasks on one GPU: NCCL does not join it with itself.
TEST(JoinedGpus, OneGpuIsNotJoinedWithItself) {
  StubGuard stub;
  FakeNccl nccl(&*stub);
  Machine machine = GpuMachineOfTasks(2, 1);
  for (const DeviceId gpu : machine.Gpus()) machine.devices[gpu].physical = 0;
  PlayTasks(2, [&](Transport* transport) { ExpectLinks(JoinGpus(machine, transport).machine, 0); });
}

// y = -x from GPU to GPU of two tasks.
struct OneCopy {
  OneCopy() {
    const Endpoint x = builder.Op("Square", "near").Input(builder.Const("x", Floats(Shape{300}, 3))).Build();
    builder.Op("Neg", "far").Input(x).Build();
    machine = GpuMachineOfTasks(2, 1);
    placement = PlaceAll(builder.graph(), machine.Gpus()[0]);
    PlaceOn(&placement, builder.graph(), "far", machine.Gpus()[1]);
  }
  const RunRequest request{{}, {"far"}, {}};
  GraphBuilder builder;
  Machine machine;
  Placement placement;
};

// Law: without NCCL the same bits come by way of the hosts.
TEST(JoinedGpus, WithoutTheLibraryCopiesGoThroughTheHosts) {
  const OneCopy copy;
  StubGuard stub;
  const NcclFile named("/no/such/libnccl.so.2");
  const auto found = FetchesOfJoined(copy.machine, [&](const Machine& joined, const SessionOptions& options) {
    ExpectLinks(joined, 0);
    return Session(copy.builder.graph(), copy.placement, joined, options).Run(copy.request).fetches;
  });
  ExpectSame({Floats(Shape{300}, -9)}, found, "");
}

// A schedule for joined GPUs does not run where they are not: the first line says so.
TEST(JoinedGpus, ASessionThatJoinsNoneRefusesTheirLinks) {
  const OneCopy copy;
  StubGuard stub;
  FakeNccl nccl(&*stub);
  PlayTasks(2, [&](Transport* transport) {
    const JoinedGpus joined = JoinGpus(copy.machine, transport);
    SessionOptions options = InJob(transport);
    options.job.joins_gpus = false;
    Session session(copy.builder.graph(), copy.placement, joined.machine, options);
    ExpectError(Code::kFailedPrecondition, {"have a link, and nothing here sends"},
                [&] { session.Run(copy.request); });
  });
}

// Law: what goes wrong in one process when they are joined, all say, and nobody waits.
TEST(JoinedGpus, JoiningThatFailsIsOneErrorOfAll) {
  const OneCopy copy;
  for (const char* call : {"ncclGetUniqueId", "ncclCommInitRankConfig"}) {
    StubGuard stub;
    {
      FakeNccl nccl(&*stub);
      nccl.Fail(call, 1);
      PlayTasks(2, [&](Transport* transport) {
        const JoinedGpus joined = JoinGpus(copy.machine, transport);
        Session session(copy.builder.graph(), copy.placement, joined.machine, InJob(transport));
        ExpectError(Code::kFailedPrecondition,
                    {"GPUs of several processes cannot be joined: rank ",
                     std::string(call) + " failed: internal error"},
                    [&] { session.Run(copy.request); });
        transport->Share("");
        // The next attempt does it.
        const auto found = session.Run(copy.request).fetches;
        if (transport->rank() == 0) ExpectSame({Floats(Shape{300}, -9)}, found, call);
      });
      EXPECT_EQ(nccl.live(), 0);
    }
    EXPECT_EQ(stub->live_objects(), 0);
  }
}

// A call that fails ends the step where it fails, and the other end by its time-out; what it had issued is
// ended. The processes are done with, as the next step says.
TEST(JoinedGpus, AStepThatIsGivenUpEndsItsTransfers) {
  const OneCopy copy;
  for (const char* call : {"ncclSend", "ncclRecv"}) {
    StubGuard stub;
    FakeNccl nccl(&*stub);
    std::atomic<int> failed{0}, late{0};
    PlayTasks(2, [&](Transport* transport) {
      const JoinedGpus joined = JoinGpus(copy.machine, transport);
      {
        Session session(copy.builder.graph(), copy.placement, joined.machine, InJob(transport));
        PreparedStep& step = session.Prepare(copy.request);
        if (transport->rank() == 0) nccl.Fail(call, 1);
        transport->Share("");
        const auto error = ErrorOf([&] { session.Run(step, {}, {500'000'000}); });
        ASSERT_TRUE(error.has_value());
        failed += error->code() == Code::kInternal ? 1 : 0;
        late += error->code() == Code::kDeadlineExceeded ? 1 : 0;
        transport->Share("");
        const auto next = ErrorOf([&] { session.Run(step, {}, {500'000'000}); });
        ASSERT_TRUE(next.has_value());
        EXPECT_EQ(next->code(), Code::kFailedPrecondition);
        transport->Share("");
      }
    });
    EXPECT_EQ(failed, 1);
    EXPECT_EQ(late, 1);
    EXPECT_EQ(nccl.live(), 0);
  }
}

// An error that NCCL finds while a transfer is under way ends the step with its words.
TEST(JoinedGpus, WhatFailsLaterEndsTheStep) {
  const OneCopy copy;
  StubGuard stub;
  FakeNccl nccl(&*stub);
  PlayTasks(2, [&](Transport* transport) {
    const JoinedGpus joined = JoinGpus(copy.machine, transport);
    Session session(copy.builder.graph(), copy.placement, joined.machine, InJob(transport));
    PreparedStep& step = session.Prepare(copy.request);
    transport->Share("");
    if (transport->rank() == 0) nccl.AsyncError(3);
    transport->Share("");
    const auto error = ErrorOf([&] { session.Run(step, {}, {500'000'000}); });
    ASSERT_TRUE(error.has_value());  // of the other process: that it has waited for long enough
    const bool by_nccl = error->message().find(
                             "a transfer to or from a GPU of another process failed: internal "
                             "error") != std::string::npos;
    EXPECT_EQ(by_nccl, error->code() == Code::kInternal) << error->what();
    transport->Share("");
  });
}

}  // namespace
}  // namespace lanescope::exec::test
