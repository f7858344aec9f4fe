// SPDX-License-Identifier: Apache-2.0
// Sessions on GPUs: the whole host logic of the CUDA backend, on a stub that runs streams in odd orders.
#include <gtest/gtest.h>

#include <map>

#include "tests/exec/cuda/stub_harness.h"

namespace lanescope::exec::test {
namespace {

struct Case {
  const char* graph;
  const char* strategy;
  int steps = 3;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.graph << "_" << c.strategy; }

class GpuSession : public ::testing::TestWithParam<Case> {};

// Placement, streams and graphs change nothing about the numbers: every step gives the bits that virtual
// devices give, whatever order the streams take and whether steps are issued, recorded or replayed.
TEST_P(GpuSession, GivesTheBitsOfVirtualDevices) {
  const Case& c = GetParam();
  std::vector<std::vector<Tensor>> expected;
  {
    SampleRun run(c.graph, c.strategy, FastMachine(2));
    for (int step = 0; step < c.steps; ++step) expected.push_back(run.Step());
  }
  struct Setup {
    std::vector<int> physical;
    bool graphs;
  };
  for (const auto& [physical, graphs] : {Setup{{0, 1}, true}, Setup{{0, 0}, true}, Setup{{0, 1}, false}}) {
    StubOptions options;
    options.seed = graphs ? 11 : 7;
    StubGuard stub(options);
    {
      SampleRun run(c.graph, c.strategy, GpuMachine(physical), {.graphs = graphs});
      for (int step = 0; step < c.steps; ++step) {
        const auto fetched = run.Step();
        ASSERT_EQ(fetched.size(), expected[0].size());
        for (size_t i = 0; i < fetched.size(); ++i) {
          EXPECT_TRUE(BitwiseEqual(fetched[i], expected[static_cast<size_t>(step)][i]))
              << "step " << step << " fetch " << i << (graphs ? " with graphs" : " without graphs");
        }
      }
      EXPECT_EQ(run.session().graph_problem(), "");
      EXPECT_EQ(stub->Calls("cudaGraphLaunch") > 0, graphs);
    }
    EXPECT_EQ(stub->live_objects(), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Samples, GpuSession,
    ::testing::Values(Case{"deepconn_single", "single"}, Case{"deepconn_single", "tower-split"},
                      Case{"deepconn_single", "alternating"}, Case{"deepconn_dual", "annotated"},
                      Case{"cifar10_towers", "annotated", 2}, Case{"two_towers_matmul", "annotated"},
                      Case{"matmul_cpu_gpu", "annotated"}, Case{"polynomial_parallel", "annotated"},
                      Case{"random_add_split", "annotated"}));

// Everything that keeps commands out of segments, between segments on two GPUs: a shape known only at run
// time (Unique), a host counter (RandomUniform), int32 arithmetic in host memory.
class MixedGraph {
 public:
  MixedGraph() {
    GraphBuilder builder;
    const auto unary = [&](const char* op, const char* name, Endpoint x, const char* device) {
      return builder.Op(op, name).Input(x).Device(device).Build();
    };
    const auto binary = [&](const char* op, const char* name, Endpoint x, Endpoint y, const char* device) {
      return builder.Op(op, name).Input(x).Input(y).Device(device).Build();
    };
    const auto cast = [&](const char* name, Endpoint x, DataType to) {
      return builder.Op("Cast", name).Input(x).Attr("DstT", to).Device("/gpu:0").Build();
    };
    const Endpoint x = builder.Placeholder("x", DataType::kFloat, Shape{512});
    const Endpoint a = unary("Square", "a", x, "/gpu:0");
    const Endpoint b = binary("AddV2", "b", a, a, "/gpu:0");
    const Endpoint c = unary("Sqrt", "c", b, "/gpu:0");
    const Endpoint unique = unary("Unique", "unique", c, "/gpu:1");
    unary("Neg", "distinct", unique, "/gpu:1");
    const Endpoint whole = cast("whole", c, DataType::kInt32);
    const Endpoint doubled = binary("AddV2", "doubled", whole, whole, "/gpu:0");
    const Endpoint back = cast("back", doubled, DataType::kFloat);
    const Endpoint random = builder.Op("RandomUniform", "random")
                                .Input(builder.Const("shape", Tensor::FromValues<int32_t>(Shape{1}, {512})))
                                .Attr("dtype", DataType::kFloat)
                                .Attr("seed", 3)
                                .Attr("seed2", 4)
                                .Device("/gpu:1")
                                .Build();
    const Endpoint m = binary("Mul", "m", random, c, "/gpu:0");
    const Endpoint n = binary("AddV2", "n", m, back, "/gpu:0");
    binary("Sub", "result", n, m, "/gpu:1");
    graph = builder.Take();
  }

  // Fetches of `steps` steps on this machine, whose GPUs take the ops as the graph says.
  std::vector<std::vector<Tensor>> Run(const Machine& machine, int steps, bool graphs,
                                       const std::vector<std::string>& fetches) const {
    Placement placement = PlaceAll(graph, Gpu(machine, 0));
    for (const char* node : {"unique", "distinct", "random", "result"})
      PlaceOn(&placement, graph, node, Gpu(machine, 1));
    SessionOptions options;
    options.devices.graphs = graphs;
    Session session(graph, placement, machine, options);
    std::vector<std::vector<Tensor>> results;
    for (int step = 0; step < steps; ++step) {
      Tensor x(DataType::kFloat, Shape{512});
      for (int i = 0; i < 512; ++i) x.data<float>()[i] = static_cast<float>((i * 7 + step) % (100 + step));
      results.push_back(session.Run({{{"x", x}}, fetches, {}}).fetches);
    }
    return results;
  }

  Graph graph;
};

class MixedWork : public ::testing::TestWithParam<std::vector<std::string>> {};

TEST_P(MixedWork, RunsInAnyOrderOfStreams) {
  const MixedGraph mixed;
  const auto expected = mixed.Run(FastMachine(2), 4, true, GetParam());
  for (uint64_t seed = 1; seed <= 24; ++seed) {
    StubOptions options;
    options.seed = seed;
    StubGuard stub(options);
    const auto fetched = mixed.Run(GpuMachine({0, static_cast<int>(seed % 2)}), 4, seed % 4 != 0, GetParam());
    for (size_t step = 0; step < fetched.size(); ++step) {
      for (size_t i = 0; i < fetched[step].size(); ++i) {
        EXPECT_TRUE(BitwiseEqual(fetched[step][i], expected[step][i]))
            << "seed " << seed << " step " << step << " fetch " << i;
      }
    }
    EXPECT_EQ(stub->live_objects(), 0);
  }
}

// Alone, parts of the graph have nothing else that makes the host wait.
INSTANTIATE_TEST_SUITE_P(Fetches, MixedWork,
                         ::testing::Values(std::vector<std::string>{"result", "distinct", "m", "doubled"},
                                           std::vector<std::string>{"distinct"},
                                           std::vector<std::string>{"m"},
                                           std::vector<std::string>{"doubled"}));

// A step is recorded once, at its second run, and replayed from then on.
TEST(CudaGraphs, AreRecordedOnceAndReplayed) {
  StubGuard stub;
  SampleRun run("two_towers_matmul", "annotated", GpuMachine({0, 1}));
  run.Step();
  EXPECT_EQ(stub->Calls("cudaStreamBeginCapture"), 0);
  run.Step();
  const int recorded = stub->Calls("cudaStreamBeginCapture");
  const int copies = stub->Calls("cudaMemcpyAsync");
  EXPECT_GT(recorded, 0);
  run.Step();
  run.Step();
  EXPECT_EQ(stub->Calls("cudaStreamBeginCapture"), recorded);
  EXPECT_EQ(stub->Calls("cudaGraphLaunch"), 3 * recorded);
  EXPECT_EQ(stub->Calls("cudaMemcpyAsync"), copies);
}

// Law: a step of one GPU with nothing on the host between its commands is one launch of a graph.
TEST(CudaGraphs, AWholeStepIsOneLaunch) {
  StubGuard stub;
  SampleRun run("polynomial", "single", GpuMachine({0}));
  for (int i = 0; i < 3; ++i) run.Step();
  const int before = stub->Calls("cudaGraphLaunch");
  const int copies = stub->Calls("cudaMemcpyAsync");
  run.Step();
  EXPECT_EQ(stub->Calls("cudaGraphLaunch") - before, 1);
  EXPECT_EQ(stub->Calls("cudaMemcpyAsync"), copies) << "they are nodes of the graph";
}

// A step that cannot be recorded is issued command by command, with the same result, and the reason is kept.
TEST(CudaGraphs, FallBackWhenRecordingFails) {
  std::vector<Tensor> expected;
  {
    SampleRun run("two_towers_matmul", "annotated", FastMachine(2));
    run.Step();
    expected = run.Step();
  }
  StubGuard stub;
  SampleRun run("two_towers_matmul", "annotated", GpuMachine({0, 1}));
  run.Step();
  stub->FailCall("cudaStreamEndCapture", 1);
  EXPECT_TRUE(BitwiseEqual(run.Step()[0], expected[0]));
  EXPECT_NE(run.session().graph_problem().find("cudaStreamEndCapture"), std::string::npos);
  EXPECT_EQ(stub->Calls("cudaGraphLaunch"), 0);
}

// One GPU as two: copies between them are copies on the device, between two GPUs they are peer copies.
TEST(LogicalDevices, CopyOnTheDevice) {
  StubGuard logical;
  {
    SampleRun run("deepconn_single", "alternating", GpuMachine({0, 0}), {.graphs = false});
    run.Step();
    EXPECT_EQ(logical->Calls("cudaMemcpyPeerAsync"), 0);
    EXPECT_EQ(logical->Calls("cudaDeviceEnablePeerAccess"), 0);
  }
  SampleRun run("deepconn_single", "alternating", GpuMachine({0, 1}), {.graphs = false});
  run.Step();
  EXPECT_GT(logical->Calls("cudaMemcpyPeerAsync"), 0);
}

// Each of two logical devices has its own limit, and what it cannot hold says so.
TEST(LogicalDevices, KeepTheirLimit) {
  StubGuard stub;
  ExpectError(Code::kResourceExhausted, {"GPU:"}, [] {
    SampleRun run("deepconn_single", "single", GpuMachine({0, 0}, int64_t{64} << 10));
    run.Step();
  });
}

// Shares of the multiprocessors become groups: a half of 16 groups of 8 is 64.
// Three streams a device; what is no priority of the GPU is refused when the device is made.
TEST(LogicalDevices, H13StreamsHaveTheirDevicesPriority) {
  StubGuard stub;
  const MixedGraph graph;
  Machine machine = GpuMachine({0, 0});
  machine.devices[Gpu(machine, 1)].stream_priority = -1;
  graph.Run(machine, 1, true, {"result"});
  EXPECT_EQ(stub->streams_by_priority(), (std::map<int, int>{{-1, 3}, {0, 3}}));
  machine.devices[Gpu(machine, 1)].stream_priority = 1;
  ExpectError(Code::kInvalidArgument,
              {"Priority 1 is outside the range of supported priorities [-5,0] for GPU:1 on GPU# 0"},
              [&] { graph.Run(machine, 1, true, {"result"}); });
}

TEST(LogicalDevices, ShareMultiprocessors) {
  StubGuard stub;
  Machine machine = GpuMachine({0, 0});
  for (DeviceSpec& device : machine.devices) device.sm_share = device.is_gpu() ? 0.5 : 0;
  {
    SampleRun run("two_towers_matmul", "annotated", machine);
    run.Step();
    EXPECT_GT(stub->live_objects(), 0);
  }
  EXPECT_EQ(stub->live_objects(), 0);
  for (DeviceSpec& device : machine.devices) device.sm_share = device.is_gpu() ? 0.7 : 0;
  ExpectError(Code::kInvalidArgument, {"sm_share"},
              [&] { SampleRun run("two_towers_matmul", "annotated", machine); });
}

// A failing call names the op and its device; the session goes on.
TEST(CudaErrors, NameTheCommand) {
  StubGuard stub;
  SampleRun run("two_towers_matmul", "annotated", GpuMachine({0, 1}), {.graphs = false});
  run.Step();
  stub->FailCall("cudaMemcpyAsync", 1);
  ExpectError(Code::kInternal, {"cudaMemcpyAsync failed", "[copy of node", "on "}, [&] { run.Step(); });
  run.Step();
}

// A GPU that fails ends the step, whose error says where; nothing hangs.
TEST(CudaErrors, ABrokenGpuEndsTheStep) {
  StubGuard stub;
  SampleRun run("deepconn_single", "alternating", GpuMachine({0, 1}));
  run.Step();
  stub->BreakGpu(1);
  ExpectError(Code::kInternal, {"GPU:1", "cudaErrorIllegalAddress"}, [&] { run.Step(); });
}

TEST(CudaErrors, AMachineMustFitTheGpus) {
  StubGuard stub;
  ExpectError(Code::kFailedPrecondition, {"physical GPU 5", "2 GPUs are"}, [] {
    SampleRun run("two_towers_matmul", "annotated", GpuMachine({0, 5}));
  });
  Machine mixed = GpuMachine({0, 1});
  mixed.devices.back().kind = DeviceKind::kVirtual;
  ExpectError(Code::kInvalidArgument, {"one sort"},
              [&] { SampleRun run("two_towers_matmul", "annotated", mixed); });
}

}  // namespace
}  // namespace lanescope::exec::test
