// SPDX-License-Identifier: Apache-2.0
// All-reduces of GPUs of several processes, by an NCCL that is none.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>

#include "core/collective/joint_launch.h"
#include "core/expand/functions.h"
#include "exec/messages/joined_gpus.h"
#include "tests/exec/cuda/gpu_tasks.h"

namespace lanescope::exec::test {
namespace {

Tensor Numbers(int64_t count, int first) {
  Tensor tensor(DataType::kFloat, Shape{count});
  for (int64_t i = 0; i < count; ++i) tensor.data<float>()[i] = static_cast<float>((first + 3 * i) % 5 + 1);
  return tensor;
}

// A graph for the GPUs of a machine, and what its steps are given.
struct Step {
  GraphBuilder builder;
  RunRequest request;
};

// One part of an all-reduce.
Endpoint Part(GraphBuilder* builder, const std::string& name, Endpoint input, const std::string& reduction,
              size_t count, const std::string& shared_name, const std::string& device) {
  return builder->Op("NcclAllReduce", name)
      .Input(input)
      .Attr("reduction", reduction)
      .Attr("num_devices", static_cast<int64_t>(count))
      .Attr("shared_name", shared_name)
      .Device(device)
      .Build();
}

// `rounds` of training: on each GPU the gradient 2 (w - x), summed over all, taken from the GPU's own copy of
// w. Small whole numbers and quarters, so that sums are exact in any order.
Step Mirrored(const Machine& machine, int rounds) {
  Step step;
  const std::vector<DeviceId> gpus = machine.Gpus();
  std::vector<Endpoint> w;
  for (size_t i = 0; i < gpus.size(); ++i) {
    const std::string x = "x" + std::to_string(i);
    step.builder.Placeholder(x, DataType::kFloat, Shape{37});
    step.request.feeds[x] = Numbers(37, static_cast<int>(i));
    w.push_back(step.builder.Op("Square", "w" + std::to_string(i))
                    .Input(step.builder.graph().FindEndpoint(x))
                    .Device(machine.device(gpus[i]).name)
                    .Build());
  }
  for (int round = 0; round < rounds; ++round) {
    std::vector<Endpoint> gradients;
    const auto name = [&](const char* what, size_t i) { return fmt::format("{}{}_{}", what, round, i); };
    for (size_t i = 0; i < gpus.size(); ++i) {
      const Endpoint x = step.builder.graph().FindEndpoint("x" + std::to_string(i));
      gradients.push_back(step.builder.Op("Sub", name("gradient", i))
                              .Input(w[i])
                              .Input(x)
                              .Device(machine.device(gpus[i]).name)
                              .Build());
    }
    for (size_t i = 0; i < gpus.size(); ++i) {
      const Endpoint sum = Part(&step.builder, name("sum", i), gradients[i], "sum", gpus.size(),
                                "gradient" + std::to_string(round), machine.device(gpus[i]).name);
      w[i] = step.builder.Op("Sub", name("w", i))
                 .Input(w[i])
                 .Input(sum)
                 .Device(machine.device(gpus[i]).name)
                 .Build();
    }
  }
  for (const Endpoint& last : w) step.request.fetches.push_back(step.builder.graph().TensorName(last));
  return step;
}

// All-reduces of random GPUs, in random order, between work and copies from GPU to GPU and through hosts.
Step Random(const Machine& machine, unsigned seed) {
  Step step;
  std::mt19937 random(seed);
  const std::vector<DeviceId> gpus = machine.Gpus();
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  const auto device = [&](size_t i) { return machine.device(gpus[i]).name; };
  std::vector<Endpoint> last;
  for (size_t i = 0; i < gpus.size(); ++i) {
    const std::string x = "x" + std::to_string(i);
    last.push_back(step.builder.Placeholder(x, DataType::kFloat, Shape{16}));
    step.request.feeds[x] = Numbers(16, static_cast<int>(i));
  }
  const std::vector<DeviceId> hosts = TasksOf(machine).hosts;
  for (int k = 0; k < 12; ++k) {
    std::vector<size_t> some(gpus.size());
    for (size_t i = 0; i < some.size(); ++i) some[i] = i;
    std::shuffle(some.begin(), some.end(), random);
    some.resize(2 + below(gpus.size() - 1));
    const auto name = [&](const char* what, size_t i) { return fmt::format("{}{}_{}", what, k, i); };
    for (const size_t i : some)
      last[i] =
          step.builder.Op("AddV2", name("work", i)).Input(last[i]).Input(last[i]).Device(device(i)).Build();
    const bool used = below(2) == 0;
    for (const size_t i : some) {
      const Endpoint max = Part(&step.builder, name("max", i), last[i], "max", some.size(),
                                "max" + std::to_string(k), device(i));
      step.request.fetches.push_back(step.builder.graph().TensorName(max));
      if (used) last[i] = max;
    }
    const size_t to = below(gpus.size()), from = below(gpus.size()), host = below(hosts.size());
    Endpoint there = last[from];
    if (below(2) == 0)
      there = step.builder.Op("Neg", name("host", from))
                  .Input(there)
                  .Device(machine.device(hosts[host]).name)
                  .Build();
    last[to] =
        step.builder.Op("Maximum", name("taken", to)).Input(last[to]).Input(there).Device(device(to)).Build();
  }
  return step;
}

// Some steps, their all-reduces joint launches or copies.
std::vector<Tensor> Steps(const Step& step, const Machine& machine, bool joint,
                          const SessionOptions& options) {
  InlineOptions inlined;
  inlined.collectives.joint_launches = joint;
  std::vector<std::pair<Endpoint, TensorInfo>> known;
  for (const auto& [name, tensor] : step.request.feeds) {
    inlined.feeds[name].dtype = tensor.dtype();
    inlined.feeds[name].shape = tensor.shape();
  }
  const Graph graph = InlineFunctions(step.builder.graph(), inlined);
  for (const auto& [name, info] : inlined.feeds) known.emplace_back(graph.FindEndpoint(name), info);
  const GraphInfo info = InferGraph(graph, known);
  const Placement placement = PlaceByStrategy("annotated", {graph, info, machine, RooflineCost(), {}});
  EXPECT_EQ(WhyNoJointLaunches(graph, placement, machine), "");
  Session session(graph, placement, machine, options);
  std::vector<Tensor> all;
  for (int i = 0; i < 3; ++i) {
    for (Tensor& tensor : session.Run(step.request).fetches) all.push_back(std::move(tensor));
  }
  return all;
}

// The fetches of the first task. An error of each is a failure.
std::vector<Tensor> OfJob(const Step& step, const Machine& machine, bool graphs) {
  std::vector<Tensor> fetched;
  PlayTasks(TasksOf(machine).size(), [&](Transport* transport) {
    try {
      std::vector<Tensor> own =
          Steps(step, JoinGpus(machine, transport).machine, true, InJob(transport, graphs));
      if (transport->rank() == 0) fetched = std::move(own);
    } catch (const Error& error) {
      ADD_FAILURE() << transport->NameOf(transport->rank()) << ": " << error.what();
    }
  });
  return fetched;
}

constexpr std::pair<int, int> kJobs[] = {{2, 1}, {2, 2}, {4, 1}};  // tasks, GPUs of each

// Law: mirrored training of several processes, whose gradients NCCL sums, gives the bits of one process that
// sums them by copies.
TEST(JoinedAllReduces, MirroredTrainingGivesTheBitsOfOneProcess) {
  for (const auto& [tasks, gpus] : kJobs) {
    SCOPED_TRACE(fmt::format("{} tasks of {} GPUs", tasks, gpus));
    const Machine machine = GpuMachineOfTasks(tasks, gpus);
    const Step step = Mirrored(machine, 3);
    const auto expected = Steps(step, MachineOfTasks(tasks, gpus), false, {});
    StubGuard stub({.gpus = tasks * gpus});
    {
      FakeNccl nccl(&*stub);
      ExpectSame(expected, OfJob(step, machine, true), "");
      EXPECT_EQ(nccl.Calls("ncclAllReduce"), 3 * 3 * tasks * gpus);
      EXPECT_EQ(nccl.Calls("ncclCommInitRankConfig"), tasks * gpus);
      EXPECT_EQ(nccl.overlaps(), 0);
      EXPECT_EQ(nccl.live(), 0);
    }
    EXPECT_EQ(stub->live_objects(), 0);
  }
}

// Law: whatever all-reduces and copies there are between the processes, in whatever order each comes to them,
// steps end, with the bits of one process, and no process has two things of NCCL's at a time.
TEST(JoinedAllReduces, RandomOnesGiveTheBitsOfOneProcess) {
  int transfers = 0;
  for (const auto& [tasks, gpus] : kJobs) {
    const Machine machine = GpuMachineOfTasks(tasks, gpus);
    for (unsigned seed = 1; seed <= 4; ++seed) {
      SCOPED_TRACE(fmt::format("{} tasks of {} GPUs, seed {}", tasks, gpus, seed));
      const Step step = Random(machine, seed);
      const auto expected = Steps(step, MachineOfTasks(tasks, gpus), false, {});
      StubGuard stub({.gpus = tasks * gpus, .seed = seed});
      FakeNccl nccl(&*stub);
      ExpectSame(expected, OfJob(step, machine, seed % 2 == 0), "");
      EXPECT_GT(nccl.Calls("ncclAllReduce"), 0);
      transfers += nccl.Calls("ncclSend");
      EXPECT_EQ(nccl.overlaps(), 0);
    }
  }
  EXPECT_GT(transfers, 0);
}

// One that fails where it is issued ends the step there, and elsewhere by its time-out; the session is done
// with.
TEST(JoinedAllReduces, AStepThatFailsIsGivenUp) {
  const Machine machine = GpuMachineOfTasks(2, 1);
  const Step step = Mirrored(machine, 1);
  StubGuard stub;
  FakeNccl nccl(&*stub);
  std::atomic<int> failed{0}, late{0};
  PlayTasks(2, [&](Transport* transport) {
    const Machine joined = JoinGpus(machine, transport).machine;
    SessionOptions options = InJob(transport);
    options.timeout_ns = 500'000'000;
    if (transport->rank() == 0) nccl.Fail("ncclAllReduce", 1);
    transport->Share("");
    const auto error = ErrorOf([&] { Steps(step, joined, true, options); });
    ASSERT_TRUE(error.has_value());
    const bool by_nccl =
        error->message().find("ncclAllReduce failed: internal error: the test wants it [node 'sum0_") !=
        std::string::npos;
    failed += by_nccl ? 1 : 0;
    late += error->code() == Code::kDeadlineExceeded ? 1 : 0;
  });
  EXPECT_EQ(failed, 1);
  EXPECT_EQ(late, 1);
  EXPECT_EQ(nccl.live(), 0);
}

// Where the GPUs are not joined all-reduces are copies.
TEST(JoinedAllReduces, AreCopiesWithoutALink) {
  const Machine machine = GpuMachineOfTasks(2, 1);
  const Step step = Mirrored(machine, 1);
  InlineOptions inlined;
  inlined.collectives.joint_launches = true;
  for (const auto& [name, tensor] : step.request.feeds) {
    inlined.feeds[name].dtype = tensor.dtype();
    inlined.feeds[name].shape = tensor.shape();
  }
  const Graph graph = InlineFunctions(step.builder.graph(), inlined);
  const Placement placement = PlaceAll(graph, machine.Gpus()[0]);
  const auto placed = [&](const Machine& on) {
    Placement apart = placement;
    for (const NodeId id : graph.node_ids()) {
      if (graph.node(id).name.find("_1/part") != std::string::npos) apart.device[id] = on.Gpus()[1];
    }
    return WhyNoJointLaunches(graph, apart, on);
  };
  EXPECT_NE(placed(machine).find("several processes whose GPUs are not joined"), std::string::npos);
  EXPECT_EQ(placed(WithJoinedGpus(machine, [](DeviceId, DeviceId) { return true; })), "");
}

}  // namespace
}  // namespace lanescope::exec::test
