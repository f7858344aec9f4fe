// SPDX-License-Identifier: Apache-2.0
// All-reduces that stay as launches of several devices at once: which do, what they cost, in which order they
// are compiled, and what they become where they cannot run.
#include "core/collective/joint_launch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/expand/functions.h"
#include "core/graph/graph_builder.h"
#include "core/machine/cluster_tasks.h"
#include "core/machine/collective.h"
#include "core/machine/copy_time.h"
#include "core/machine/tasks.h"
#include "core/place/placer.h"
#include "core/schedule/cost.h"
#include "core/schedule/schedule.h"
#include "core/strategies/strategy.h"
#include "tests/core/base/expect_error.h"

namespace lanescope {
namespace {

using testing::HasSubstr;

TensorInfo Floats(const Shape& shape) {
  TensorInfo info;
  info.dtype = DataType::kFloat;
  info.shape = shape;
  return info;
}

constexpr int64_t kElements = 1000;

struct Part {
  Endpoint input;
  int gpu;
};

std::string GpuName(int gpu) { return "/device:GPU:" + std::to_string(gpu); }

// The results, named `name`0, `name`1, ...
std::vector<Endpoint> Reduce(GraphBuilder& builder, const std::string& name, const std::vector<Part>& parts,
                             const std::string& by = "") {
  std::vector<Endpoint> results;
  for (const Part& part : parts) {
    auto node = builder.Op("NcclAllReduce", name + std::to_string(results.size()));
    node.Input(part.input)
        .Attr("reduction", "sum")
        .Attr("num_devices", static_cast<int64_t>(parts.size()))
        .Attr("shared_name", name)
        .Device(GpuName(part.gpu));
    if (!by.empty()) node.Attr("_lanescope_all_reduce", by);
    results.push_back(node.Build());
  }
  return results;
}

Endpoint Negated(GraphBuilder& builder, const std::string& name, Endpoint x, int gpu) {
  return builder.Op("Neg", name).Input(x).Device(GpuName(gpu)).Build();
}

// One all-reduce of what is fed to two GPUs.
Graph TwoParts(const std::string& by = "", const std::vector<int>& gpus = {0, 1},
               DataType dtype = DataType::kFloat) {
  GraphBuilder builder;
  std::vector<Part> parts;
  for (const int gpu : gpus) {
    const std::string x = "x" + std::to_string(parts.size());
    parts.push_back(
        {Negated(builder, x + "/neg", builder.Placeholder(x, dtype, Shape{kElements}), gpu), gpu});
  }
  Reduce(builder, "sum", parts, by);
  return builder.Take();
}

// One gathering and one scattering of what is fed to each of the GPUs, `rows` rows each.
Graph GatherAndScatter(int gpus, int64_t rows, const std::string& merge = "Add") {
  GraphBuilder builder;
  const auto key = [&](const std::string& name, int32_t value) {
    return builder.Const(name, Tensor::Scalar(value));
  };
  const Endpoint size = key("size", gpus), group = key("group", 1), gathered = key("gathered", 1),
                 scattered = key("scattered", 2);
  for (int gpu = 0; gpu < gpus; ++gpu) {
    const std::string at = std::to_string(gpu);
    const Endpoint x =
        Negated(builder, "neg" + at, builder.Placeholder("x" + at, DataType::kFloat, Shape{rows}), gpu);
    const Endpoint whole = builder.Op("CollectiveGatherV2", "gather" + at)
                               .Input(x)
                               .Input(size)
                               .Input(group)
                               .Input(gathered)
                               .Device(GpuName(gpu))
                               .Build();
    builder.Op("CollectiveReduceScatterV2", "scatter" + at)
        .Input(whole)
        .Input(size)
        .Input(group)
        .Input(scattered)
        .Attr("merge_op", merge)
        .Attr("final_op", "Div")
        .Device(GpuName(gpu))
        .Build();
  }
  return builder.Take();
}

int CountJoint(const Graph& graph) {
  return static_cast<int>(std::count_if(graph.nodes().begin(), graph.nodes().end(),
                                        [](const Node& node) { return !JointLaunchOf(node).empty(); }));
}

Machine GpusOfKind(int count, DeviceKind kind = DeviceKind::kModelled) {
  Machine machine = VirtualMachine(count, 1);
  for (DeviceSpec& device : machine.devices) {
    if (!device.is_gpu()) continue;
    device.kind = kind;
    device.physical = device.parsed.id;
    device.in_order = true;
  }
  return machine;
}

Placement Placed(const Graph& graph, const Machine& machine) {
  return PlaceByStrategy("annotated", {graph, InferGraph(graph, {}), machine, RooflineCost(), {}});
}

// A collective that asks for NCCL or for nothing stays where it may; one that asks for copies, has its
// tensors in host memory or names no GPUs of its own does not.
TEST(JointLaunch, IsWhatMayBeOne) {
  const auto parts = [](const Graph& graph, bool allowed, const std::string& told = "") {
    InlineOptions options;
    options.collectives.joint_launches = allowed;
    options.collectives.all_reduce = told;
    return CountJoint(InlineFunctions(graph, options));
  };
  EXPECT_EQ(parts(TwoParts(), false), 0);
  EXPECT_EQ(parts(TwoParts(), true), 2);
  EXPECT_EQ(parts(TwoParts("nccl"), true), 2);
  EXPECT_EQ(parts(TwoParts("nccl"), false), 0);
  EXPECT_EQ(parts(TwoParts("ring"), true), 0);
  EXPECT_EQ(parts(TwoParts("ring"), true, "nccl"), 2);
  EXPECT_EQ(parts(TwoParts(), true, "tree"), 0);
  EXPECT_EQ(parts(TwoParts("", {0, 0}), true), 0);
  EXPECT_EQ(parts(TwoParts("", {0}), true), 0);
  EXPECT_EQ(parts(TwoParts("", {0, 1}, DataType::kInt32), true), 0);
  InlineOptions wrong;
  wrong.collectives.all_reduce = "star";
  EXPECT_THAT(ErrorOf([&] { InlineFunctions(TwoParts(), wrong); }),
              HasSubstr("'star' is none of ring, tree, one-device, hierarchical, nccl"));
}

// Gatherings and scatterings stay as well, averages where they are of a sum.
TEST(JointLaunch, MayGatherAndScatter) {
  const InlineOptions joint{.collectives = {.joint_launches = true}};
  const Graph graph = InlineFunctions(GatherAndScatter(2, 8), joint);
  EXPECT_EQ(CountJoint(graph), 4);
  EXPECT_EQ(CountJoint(InlineFunctions(GatherAndScatter(2, 8, "Max"), joint)), 2);
  const Node& part = graph.node(graph.FindNode("scatter1/part"));
  EXPECT_EQ(part.op, "CollectiveReduceScatterV2");
  EXPECT_EQ(graph.node(graph.FindNode("scatter1")).op, "Identity");
  const GraphInfo info = InferGraph(graph, {});
  EXPECT_EQ(info.of({graph.FindNode("gather1"), 0}).shape, (Shape{16}));
  EXPECT_EQ(info.of({graph.FindNode("scatter1"), 0}).shape, (Shape{8}));
  EXPECT_EQ(CountJoint(WithoutJointLaunches(graph, {})), 0);
  const Machine machine = GpusOfKind(2);
  EXPECT_EQ(WhyNoJointLaunches(graph, Placed(graph, machine), machine), "");
}

// A part begins after all inputs, and a result is there after all parts: a step has all of them or none.
TEST(JointLaunch, WaitsForAllAndIsAwaitedByAll) {
  const Graph graph = InlineFunctions(TwoParts(), {.collectives = {.joint_launches = true}});
  const Node& part = graph.node(graph.FindNode("sum0/part"));
  EXPECT_EQ(part.op, "NcclAllReduce");
  EXPECT_EQ(JointLaunchOf(part), "sum");
  EXPECT_THAT(part.StringListAttr(kJointDevices), testing::ElementsAre(GpuName(0), GpuName(1)));
  EXPECT_THAT(part.control_inputs, testing::ElementsAre(graph.FindNode("x1/neg")));
  const Node& result = graph.node(graph.FindNode("sum0"));
  EXPECT_EQ(result.op, "Identity");
  EXPECT_EQ(result.inputs[0], (Endpoint{graph.FindNode("sum0/part"), 0}));
  EXPECT_THAT(result.control_inputs, testing::ElementsAre(graph.FindNode("sum1/part")));
}

TEST(JointLaunch, NeedsGpusOfItsOwn) {
  const Graph graph = InlineFunctions(TwoParts(), {.collectives = {.joint_launches = true}});
  const Machine modelled = GpusOfKind(2);
  EXPECT_EQ(WhyNoJointLaunches(graph, Placed(graph, modelled), modelled), "");
  Machine hardware = GpusOfKind(2, DeviceKind::kCuda);
  EXPECT_EQ(WhyNoJointLaunches(graph, Placed(graph, hardware), hardware), "");
  const Machine virtual_gpus = VirtualMachine(2, 1);
  EXPECT_THAT(WhyNoJointLaunches(graph, Placed(graph, virtual_gpus), virtual_gpus),
              HasSubstr("no GPU of hardware"));
  for (DeviceSpec& device : hardware.devices) device.physical = 0;
  EXPECT_THAT(WhyNoJointLaunches(graph, Placed(graph, hardware), hardware), HasSubstr("shares GPU:1"));
  Placement one = Placed(graph, modelled);
  for (DeviceId& device : one.device) device = modelled.Gpus()[0];
  EXPECT_THAT(WhyNoJointLaunches(graph, one, modelled), HasSubstr("shares GPU:0"));
  EXPECT_EQ(WhyNoJointLaunches(TwoParts(), one, modelled), "") << "there are none";
}

// Input: a GPU of the same number in each of two tasks. Law: they are two GPUs, of two processes: parts of an
// all-reduce may be on them where they are joined, and nowhere else.
TEST(JointLaunch, GpusOfTwoTasksAreNotOneProcess) {
  GraphBuilder builder;
  for (const char* task : {"0", "1"}) {
    const std::string device = "/job:worker/task:" + std::string(task) + "/device:GPU:0", number = task;
    const Endpoint x = builder.Placeholder("x" + number, DataType::kFloat, Shape{kElements});
    builder.Op("NcclAllReduce", "sum" + number)
        .Input(builder.Op("Neg", "neg" + number).Input(x).Device(device).Build())
        .Attr("reduction", "sum")
        .Attr("num_devices", int64_t{2})
        .Attr("shared_name", "sum")
        .Device(device)
        .Build();
  }
  const Graph graph = InlineFunctions(builder.Take(), {.collectives = {.joint_launches = true}});
  ASSERT_EQ(CountJoint(graph), 2);
  Machine machine = MachineOfTasks(GpusOfKind(1, DeviceKind::kCuda), ParseClusterTasks("worker=a:2"));
  ASSERT_EQ(machine.Gpus().size(), 2u);
  for (const DeviceId gpu : machine.Gpus()) EXPECT_EQ(machine.device(gpu).physical, 0);
  EXPECT_THAT(WhyNoJointLaunches(graph, Placed(graph, machine), machine), HasSubstr("several processes"));
  const Machine joined = WithJoinedGpus(machine, [](DeviceId, DeviceId) { return true; });
  EXPECT_EQ(WhyNoJointLaunches(graph, Placed(graph, joined), joined), "");
  Placement one = Placed(graph, joined);
  for (DeviceId& device : one.device) device = joined.Gpus()[1];
  EXPECT_THAT(WhyNoJointLaunches(graph, one, joined), HasSubstr("shares"));
}

// Where they cannot run they become what they would have been.
TEST(JointLaunch, BecomesCopiesAgain) {
  const Graph joint = InlineFunctions(TwoParts(), {.collectives = {.joint_launches = true}});
  const Graph again = WithoutJointLaunches(joint, {});
  EXPECT_EQ(CountJoint(again), 0);
  const auto count = [](const Graph& graph, const std::string& op) {
    return std::count_if(graph.nodes().begin(), graph.nodes().end(),
                         [&](const Node& node) { return node.op == op; });
  };
  const Graph copies = InlineFunctions(TwoParts(), {});
  EXPECT_EQ(count(again, "AddV2"), count(copies, "AddV2"));
  EXPECT_EQ(count(again, "NcclAllReduce"), 0);
}

// Around a ring of n, n - 1 shares of the tensor pass each link twice: 2 (n - 1) (latency + bytes / n /
// rate).
TEST(JointLaunch, CostsWhatARingDoes) {
  const Graph graph = InlineFunctions(TwoParts("", {0, 1, 2}), {.collectives = {.joint_launches = true}});
  Machine machine = GpusOfKind(3);
  for (LinkSpec& link : machine.links) {
    link.latency_ns = 1000;
    link.bandwidth = 4e9;
  }
  const Node& part = graph.node(graph.FindNode("sum0/part"));
  const int64_t bytes = 12 << 20;
  EXPECT_EQ(JointLaunchNs(machine, part, bytes), 4 * (1000 + (4 << 20) / 4));
  EXPECT_EQ(JointLaunchNs(machine, graph.node(graph.FindNode("sum0")), bytes), 0) << "no part of one";
  EXPECT_EQ(JointLaunchNs(GpusOfKind(2), part, bytes), 0) << "no such GPU";

  const TensorInfo tensor = Floats(Shape{3 << 20});
  machine.devices[machine.Gpus()[0]].launch_ns = 77;
  const CostEstimate estimate =
      RooflineCost().Launch(machine, machine.Gpus()[0], part, {&tensor, 1}, {&tensor, 1});
  EXPECT_EQ(estimate.ns, 4 * (1000 + (4 << 20) / 4) + 77);
}

// Law: messages of the ring share what they pass, and a link that was measured takes what it took.
TEST(JointLaunch, CostsWhatItsMessagesDoOnTheLinks) {
  const Graph graph = InlineFunctions(TwoParts(), {.collectives = {.joint_launches = true}});
  const Node& part = graph.node(graph.FindNode("sum0/part"));
  Machine machine = GpusOfKind(2);
  const std::vector<DeviceId> gpus = machine.Gpus();
  LinkSpec& link = *std::ranges::find_if(
      machine.links, [&](const LinkSpec& of) { return of.a == gpus[0] && of.b == gpus[1]; });
  link.latency_ns = 1000;
  link.bandwidth = 4e9;
  EXPECT_EQ(JointLaunchNs(machine, part, 8 << 20), 2 * (1000 + (4 << 20) / 4));
  link.duplex = false;
  EXPECT_EQ(JointLaunchNs(machine, part, 8 << 20), 2 * (1000 + 2 * (4 << 20) / 4)) << "both ways at once";
  link.duplex = true;
  link.bandwidth = 0;
  EXPECT_EQ(JointLaunchNs(machine, part, 8 << 20),
            2 * (1000 + std::llround((4 << 20) * 1e9 / kAssumedBandwidth)));
  link.table = {{0, 500}, {4 << 20, 70'500}};
  EXPECT_EQ(JointLaunchNs(machine, part, 8 << 20), 2 * 70'500);
}

// Law: a gathering and a scattering pass the whole tensor's shares each link once, n - 1 of them.
TEST(JointLaunch, OneWayAroundARingCostsHalf) {
  const Graph graph =
      InlineFunctions(GatherAndScatter(4, 1 << 20), {.collectives = {.joint_launches = true}});
  Machine machine = GpusOfKind(4);
  for (LinkSpec& link : machine.links) {
    link.latency_ns = 1000;
    link.bandwidth = 4e9;
  }
  const int64_t part = 4 << 20, whole = 4 * part;
  const Node &gather = graph.node(graph.FindNode("gather0/part")),
             &scatter = graph.node(graph.FindNode("scatter0/part"));
  EXPECT_EQ(JointLaunchNs(machine, gather, part), 3 * (1000 + part / 4));
  EXPECT_EQ(JointLaunchNs(machine, scatter, whole), 3 * (1000 + part / 4));
  const Machine cluster = MakeCluster("dgx-h100:8");
  const auto law = [&](CollectiveKind kind) {
    return CollectiveNs(*cluster.cluster,
                        {kind, CollectiveAlgorithm::kNccl, whole, {0, 4, 1}, DataType::kFloat});
  };
  EXPECT_EQ(JointLaunchNs(cluster, gather, part), law(CollectiveKind::kAllGather));
  EXPECT_EQ(JointLaunchNs(cluster, scatter, whole), law(CollectiveKind::kReduceScatter));
}

// On a cluster, what its formulas say of these GPUs.
TEST(JointLaunch, CostsWhatTheClusterSays) {
  const Machine machine = MakeCluster("dgx-a100:16");
  const Graph graph = InlineFunctions(TwoParts("", {0, 8}), {.collectives = {.joint_launches = true}});
  const int64_t bytes = 1 << 24;
  EXPECT_EQ(JointLaunchNs(machine, graph.node(graph.FindNode("sum0/part")), bytes),
            CollectiveNs(*machine.cluster,
                         {CollectiveKind::kAllReduce, CollectiveAlgorithm::kNccl, bytes, {0, 2, 8}}));
}

// All-reduces of pairs of three GPUs with work between them: in the order of the commands the parts of each
// have nothing but events between them, so that no command waits for one part while the other waits for it.
TEST(JointLaunch, PartsFollowEachOther) {
  GraphBuilder builder;
  std::vector<Endpoint> last;
  for (int gpu = 0; gpu < 3; ++gpu)
    last.push_back(builder.Placeholder("x" + std::to_string(gpu), DataType::kFloat, Shape{kElements}));
  for (int k = 0; k < 9; ++k) {
    std::vector<Part> parts;
    for (const int gpu : {k % 3, (k + 1 + k % 2) % 3}) {
      const std::string name = "work" + std::to_string(k) + "_" + std::to_string(gpu);
      parts.push_back({Negated(builder, name, last[static_cast<size_t>(gpu)], gpu), gpu});
    }
    const auto sums = Reduce(builder, "sum" + std::to_string(k) + "_", parts);
    for (size_t i = 0; k % 2 == 0 && i < parts.size(); ++i) last[static_cast<size_t>(parts[i].gpu)] = sums[i];
  }
  const Graph graph = InlineFunctions(builder.Take(), {.collectives = {.joint_launches = true}});
  const Machine machine = GpusOfKind(3);
  CompileRequest request;
  for (const NodeId id : graph.node_ids()) {
    if (graph.node(id).op == "Identity") request.fetches.push_back({id, 0});
  }
  for (int gpu = 0; gpu < 3; ++gpu)
    request.feeds.emplace_back(graph.FindEndpoint("x" + std::to_string(gpu)), Floats(Shape{kElements}));
  const Schedule schedule =
      Compile(graph, InferGraph(graph, request.feeds), request, Placed(graph, machine), machine);
  VerifySchedule(graph, schedule);
  std::map<std::string, int> parts_of;
  std::string open;
  for (const Command& command : schedule.commands) {
    if (!command.is_work()) continue;
    const std::string joint =
        command.kind == CommandKind::kLaunch ? JointLaunchOf(graph.node(command.node)) : "";
    if (!open.empty()) {
      EXPECT_EQ(joint, open);
    }
    open = open.empty() ? joint : "";
    if (!joint.empty()) ++parts_of[joint];
  }
  EXPECT_EQ(parts_of.size(), 9u);
  for (const auto& [joint, parts] : parts_of) EXPECT_EQ(parts, 2) << joint;
}

// Each of two GPUs wants to reduce first what the other one reduces last.
TEST(JointLaunch, ACircleIsRefused) {
  GraphBuilder builder;
  const Endpoint x = builder.Placeholder("x", DataType::kFloat, Shape{kElements});
  const Endpoint a0 = Negated(builder, "a0", x, 0), b1 = Negated(builder, "b1", x, 1);
  const auto reduce = [&](const std::string& name, const std::string& shared, Endpoint input, int gpu) {
    return builder.Op("NcclAllReduce", name)
        .Input(input)
        .Attr("reduction", "sum")
        .Attr("num_devices", 2)
        .Attr("shared_name", shared)
        .Device(GpuName(gpu))
        .Build();
  };
  const Endpoint a = reduce("first0", "a", a0, 0), b = reduce("first1", "b", b1, 1);
  const Endpoint last0 = reduce("last0", "b", a, 0), last1 = reduce("last1", "a", b, 1);
  const Graph graph = builder.Take();
  const Machine machine = GpusOfKind(2);
  const auto compile = [&](bool joint) {
    const Graph inlined = InlineFunctions(graph, {.collectives = {.joint_launches = joint}});
    CompileRequest request;
    request.feeds.emplace_back(x, Floats(Shape{kElements}));
    request.fetches = {last0, last1};
    Compile(inlined, InferGraph(inlined, request.feeds), request, Placed(inlined, machine), machine);
  };
  EXPECT_NE(ErrorOf([&] { compile(true); }), "");
  EXPECT_NE(ErrorOf([&] { compile(false); }), "") << "copies and sums would wait for each other, too";
}

}  // namespace
}  // namespace lanescope
