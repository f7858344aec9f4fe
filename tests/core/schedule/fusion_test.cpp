// SPDX-License-Identifier: Apache-2.0
// Nodes that share a launch: which do, what is left in memory, and what a GPT's step launches with it.
#include "core/schedule/fusion.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "core/graph/graph_builder.h"
#include "core/graph/graph_io.h"
#include "core/inputs/run_spec.h"
#include "core/inputs/step_request.h"
#include "core/schedule/fused_cost.h"
#include "tests/core/schedule/compiled.h"
#include "tests/support/paths.h"
#include "tests/support/random_tensors.h"
#include "tests/support/sanitized.h"

namespace lanescope {
namespace {

using test::CompileChecked;
using test::Count;
using test::Everywhere;
using test::Fed;
using test::Floats;
using test::Gpu;
using test::TwoGpus;

// The ops of all launches of a schedule, in order.
std::vector<std::string> OpsOf(const Graph& graph, const Schedule& schedule) {
  std::vector<std::string> ops;
  for (const Command& command : schedule.commands) {
    if (command.kind == CommandKind::kLaunch) ops.push_back(LaunchOp(graph, schedule, command));
  }
  return ops;
}

bool HasValue(const Schedule& schedule, Endpoint endpoint) {
  return std::ranges::any_of(schedule.values, [&](const Value& v) { return v.source == endpoint; });
}

using Ops = std::vector<std::string>;

// tanh(x * 2 + bias): one launch, and neither the product nor the sum has a value.
TEST(Fusion, AChainIsOneLaunchAndWhatLiesBetweenHasNoMemory) {
  Fed fed;
  const Endpoint x = fed.Feed("x", Shape{8, 16}), bias = fed.Feed("bias", Shape{16});
  const Endpoint two = fed.builder.Const("two", Tensor::Scalar(2.0f));
  const Endpoint product = fed.Op("Mul", "product", {x, two});
  const Endpoint sum = fed.Op("AddV2", "sum", {product, bias});
  const Endpoint result = fed.Op("Tanh", "result", {sum});
  const Graph& graph = fed.builder.graph();
  EXPECT_EQ(OpsOf(graph, fed.Compile({result}, false)), Ops({"Mul", "AddV2", "Tanh"}));
  const Schedule fused = fed.Compile({result});
  EXPECT_EQ(OpsOf(graph, fused), Ops({"fused Mul+AddV2+Tanh (3)"}));
  EXPECT_FALSE(HasValue(fused, product));
  EXPECT_FALSE(HasValue(fused, sum));
}

// The bytes of a fused launch are those of x, two, the bias and the result; its FLOPs those of its nodes.
TEST(Fusion, WorkCountsWhatGoesToMemory) {
  Fed fed;
  const Endpoint x = fed.Feed("x", Shape{8, 16}), y = fed.Feed("y", Shape{8, 16});
  const Endpoint sum = fed.Op("AddV2", "sum", {x, y});
  const Endpoint result = fed.Op("Mul", "result", {sum, y});
  const Graph& graph = fed.builder.graph();
  const GraphInfo info = InferGraph(graph, fed.feeds);
  const Schedule unfused = fed.Compile({result}, false), fused = fed.Compile({result});
  EXPECT_EQ(TrafficOf(graph, info, unfused).launches, 2);
  EXPECT_EQ(TrafficOf(graph, info, unfused).bytes, 6 * 512);
  EXPECT_EQ(TrafficOf(graph, info, fused).launches, 1);
  EXPECT_EQ(TrafficOf(graph, info, fused).bytes, 3 * 512);
}

// A result that a product reads, too, is written; one that another device gets is not held back.
TEST(Fusion, ResultsThatOthersReadAreWritten) {
  Fed fed;
  const Endpoint x = fed.Feed("x", Shape{8, 8});
  const Endpoint half = fed.Op("Neg", "half", {x});
  const Endpoint result = fed.Op("Exp", "result", {half});
  const Endpoint product = fed.Op("MatMul", "product", {half, half});
  const Schedule read = fed.Compile({result, product});
  EXPECT_EQ(OpsOf(fed.builder.graph(), read), Ops({"fused Neg+Exp (2)", "MatMul"}));
  EXPECT_TRUE(HasValue(read, half));
  EXPECT_EQ(OpsOf(fed.builder.graph(), fed.Compile({half, result})), Ops({"Neg", "Exp"}));
}

// (x - mean(x)) * rsqrt(mean(squares) + epsilon), by rows: one launch.
TEST(Fusion, ALayerNormIsOneLaunch) {
  Fed fed;
  const Endpoint x = fed.Feed("x", Shape{4, 8, 32});
  const Endpoint axis = fed.builder.Const("axis", Tensor::FromValues<int32_t>(Shape{1}, {2}));
  const Endpoint epsilon = fed.builder.Const("epsilon", Tensor::Scalar(1e-5f));
  const auto mean = [&](const std::string& name, Endpoint of) {
    return fed.builder.Op("Mean", name).Input(of).Input(axis).Attr("keep_dims", true).Build();
  };
  const Endpoint centre = mean("centre", fed.Op("Neg", "negated", {x}));
  const Endpoint squares = mean("squares", fed.Op("SquaredDifference", "difference", {x, centre}));
  const Endpoint scale = fed.Op("Rsqrt", "scale", {fed.Op("AddV2", "shifted", {squares, epsilon})});
  const Endpoint result = fed.Op("Mul", "result", {fed.Op("Sub", "centred", {x, centre}), scale});
  EXPECT_EQ(OpsOf(fed.builder.graph(), fed.Compile({result})).size(), 1u);
  // Over the first dimension rows are no rows.
  const Endpoint first = fed.builder.Const("first", Tensor::FromValues<int32_t>(Shape{1}, {0}));
  const Endpoint columns = fed.Op("Sum", "columns", {fed.Op("Neg", "again", {x}), first});
  EXPECT_EQ(OpsOf(fed.builder.graph(), fed.Compile({columns})), Ops({"Neg", "Sum"}));
}

// Between the chain's ends stands a product that reads the one and makes the other: no launch holds both.
TEST(Fusion, NothingIsPutBeforeWhatItWaitsFor) {
  Fed fed;
  const Endpoint x = fed.Feed("x", Shape{16, 16});
  const Endpoint a = fed.Op("Neg", "a", {x});
  const Endpoint product = fed.Op("MatMul", "product", {a, x});
  const Endpoint result = fed.Op("AddV2", "result", {a, product});
  EXPECT_EQ(OpsOf(fed.builder.graph(), fed.Compile({result})), Ops({"Neg", "MatMul", "AddV2"}));
}

TEST(Fusion, UpdatesOfManyVariablesAreOneLaunch) {
  Fed fed;
  const Endpoint rate = fed.builder.Const("rate", Tensor::Scalar(0.1f));
  std::vector<Endpoint> targets;
  for (int i = 0; i < 5; ++i) {
    const std::string name = "v" + std::to_string(i);
    const Shape shape{100 * (i + 1)};
    const Endpoint variable =
        fed.builder.Op("VariableV2", name).Attr("dtype", DataType::kFloat).Attr("shape", shape).Build();
    const Endpoint gradient = fed.Feed(name + "/gradient", shape);
    fed.Op("ApplyGradientDescent", name + "/update", {variable, rate, gradient});
    targets.push_back({fed.builder.graph().FindNode(name + "/update"), -1});
  }
  EXPECT_EQ(OpsOf(fed.builder.graph(), fed.Compile(targets)), Ops({"fused ApplyGradientDescent*5 (5)"}));
}

// v = (1 - decay) * v, then v -= rate * (clip * gradient): neither the decayed variable nor the clipped
// gradient goes to memory and back, only v in and out, and the gradient in.
TEST(Fusion, AnUpdateTakesInTheDecayOfItsVariableAndWhatMakesItsGradient) {
  Fed fed;
  const Endpoint rate = fed.builder.Const("rate", Tensor::Scalar(0.1f));
  const Endpoint keep = fed.builder.Const("keep", Tensor::Scalar(0.99f));
  const Shape shape{1000};
  const Endpoint v = fed.builder.Op("VarHandleOp", "v")
                         .Attr("dtype", DataType::kFloat)
                         .Attr("shape", shape)
                         .Attr("shared_name", std::string("v"))
                         .Build();
  const auto read = [&](const std::string& name) {
    return fed.builder.Op("ReadVariableOp", name).Input(v).Attr("dtype", DataType::kFloat).Build();
  };
  const Endpoint kept = fed.Op("Mul", "kept", {read("read"), keep});
  const Endpoint decay = fed.builder.Op("AssignVariableOp", "decay").Input(v).Input(kept).Build();
  const Endpoint clipped = fed.Op("Mul", "clipped", {fed.Feed("gradient", shape), fed.Feed("clip", Shape{})});
  const Endpoint update = fed.builder.Op("ResourceApplyGradientDescent", "update")
                              .Input(v)
                              .Input(rate)
                              .Input(clipped)
                              .ControlInput(decay)
                              .Build();
  const Graph& graph = fed.builder.graph();
  const std::vector<Endpoint> targets = {{update.node, -1}};
  EXPECT_EQ(OpsOf(graph, fed.Compile(targets)),
            Ops({"fused Mul+AssignVariableOp+Mul+ResourceApplyGradientDescent (4)"}));
  const GraphInfo info = InferGraph(graph, fed.feeds);
  EXPECT_EQ(TrafficOf(graph, info, fed.Compile(targets, false)).bytes,
            // kept and clipped: v or the gradient in and out, a number; the assignment and the update
            2 * (2 * 4000 + 4) + 2 * 4000 + 3 * 4000);
  EXPECT_EQ(TrafficOf(graph, info, fed.Compile(targets)).bytes, 3 * 4000 + 4 + 4);
}

TEST(Fusion, PhysicalGpusWithoutKernelsAreLeftAlone) {
  Fed fed;
  const Endpoint x = fed.Feed("x", Shape{64});
  const Endpoint result = fed.Op("Exp", "result", {fed.Op("Neg", "half", {x})});
  Machine machine = TwoGpus();
  for (DeviceSpec& device : machine.devices) {
    if (device.is_gpu()) device.kind = DeviceKind::kCuda;
  }
  const Placement placement = Everywhere(fed.builder.graph(), Gpu(0));
  EXPECT_EQ(OpsOf(fed.builder.graph(), fed.CompileOn(placement, machine, {result})), Ops({"Neg", "Exp"}));
}

// Costs go by the name of a launch: two of as many nodes that differ in what is not named have two names.
TEST(Fusion, LaunchesOfManyOpsHaveNamesOfTheirOwn) {
  const auto name_of = [](const char* last) {
    Fed fed;
    Endpoint x = fed.Feed("x", Shape{64});
    for (const char* op : {"Neg", "Exp", "Tanh", "Abs", "Sqrt", "Square", "Sigmoid", last})
      x = fed.Op(op, op, {x});
    const Ops ops = OpsOf(fed.builder.graph(), fed.Compile({x}));
    return ops.size() == 1 ? ops[0] : "";
  };
  EXPECT_TRUE(name_of("Erf").starts_with("fused Neg+Exp+Tanh+Abs+Sqrt+Square+..")) << name_of("Erf");
  EXPECT_EQ(name_of("Erf"), name_of("Erf"));
  EXPECT_NE(name_of("Erf"), name_of("Floor"));
}

// Law: a modelled GPU shares what a physical one has kernels for, and a virtual one what hosts have: elements
// of 16 bits are of hosts alone.
TEST(Fusion, ModelledGpusShareWhatPhysicalOnesDo) {
  for (const DataType dtype : {DataType::kFloat, DataType::kBfloat16}) {
    for (const DeviceKind kind : {DeviceKind::kVirtual, DeviceKind::kModelled}) {
      Fed fed;
      const Endpoint x =
          fed.builder.Op("Cast", "typed").Input(fed.Feed("x", Shape{64})).Attr("DstT", dtype).Build();
      const Endpoint result = fed.Op("Exp", "result", {fed.Op("Neg", "negative", {x})});
      Machine machine = TwoGpus();
      for (const DeviceId gpu : machine.Gpus()) machine.devices[gpu].kind = kind;
      const Placement placement = Everywhere(fed.builder.graph(), Gpu(0));
      const bool shares = dtype == DataType::kFloat || kind == DeviceKind::kVirtual;
      EXPECT_EQ(OpsOf(fed.builder.graph(), fed.CompileOn(placement, machine, {result})).size(),
                shares ? 1u : 3u);
    }
  }
}

bool Always() { return true; }

// Law: hosts and virtual devices share launches on a machine of several tasks, whose processes cannot know
// whether the GPUs of others do.
TEST(Fusion, OfSeveralTasksHostsAndVirtualDevicesShare) {
  Fed fed;
  const Endpoint x = fed.Feed("x", Shape{64});
  const Endpoint result = fed.Op("Exp", "result", {fed.Op("Neg", "half", {x})});
  SetHardwareRunsFused(&Always);
  for (const bool is_hardware : {false, true}) {
    for (const int tasks : {1, 2}) {
      Machine machine;
      const auto link = [&machine](int a, int b) {
        LinkSpec made;
        made.a = DeviceId(a);
        made.b = DeviceId(b);
        made.bandwidth = 1e10;
        machine.links.push_back(made);
      };
      for (int task = 0; task < tasks; ++task) {
        for (const char* type : {"CPU", "GPU"}) {
          DeviceSpec device;
          device.name = fmt::format("/job:worker/replica:0/task:{}/device:{}:0", task, type);
          ParseDeviceName(device.name, &device.parsed);
          const bool gpu = device.parsed.type == "GPU";
          device.kind = !gpu ? DeviceKind::kHost : is_hardware ? DeviceKind::kCuda : DeviceKind::kVirtual;
          device.memory_bytes = int64_t{1} << 30;
          machine.devices.Add(device);
        }
        link(2 * task, 2 * task + 1);
      }
      if (tasks == 2) link(0, 2);
      const Placement placement = Everywhere(fed.builder.graph(), DeviceId(1));
      const Ops ops = OpsOf(fed.builder.graph(), fed.CompileOn(placement, machine, {result}));
      EXPECT_EQ(ops.size(), is_hardware && tasks == 2 ? 2u : 1u) << is_hardware << tasks;
    }
  }
  SetHardwareRunsFused(nullptr);
}

// Without a measurement of its like a launch takes what its nodes take one by one, less a launch and the
// bytes between them: 2 * (1000 + 12 * 2^20 B / 10 B/ns) - 1000 - 12 * 2^20 / 10 (the sum twice, y once).
TEST(Fusion, CostsLessByLaunchesAndBytes) {
  Fed fed;
  const Shape shape{1 << 20};
  const Endpoint x = fed.Feed("x", shape), y = fed.Feed("y", shape);
  const Endpoint result = fed.Op("Mul", "result", {fed.Op("AddV2", "sum", {x, y}), y});
  Machine machine = TwoGpus();
  for (DeviceSpec& device : machine.devices) {
    device.memory_bandwidth = 1e10;
    device.peak_flops = {{DataType::kFloat, 1e15}};
    device.launch_ns = 1000;
  }
  const Graph& graph = fed.builder.graph();
  const Schedule schedule = fed.CompileOn(Everywhere(graph, Gpu(0)), machine, {result});
  const GraphInfo info = InferGraph(graph, fed.feeds);
  for (const Command& command : schedule.commands) {
    if (command.fused < 0) continue;
    const CostEstimate cost = FusedCost(graph, info, schedule, command, machine, Gpu(0), RooflineCost());
    EXPECT_NEAR(static_cast<double>(cost.ns), 1000 + 1.2 * (1 << 20), 2);
  }
}

// Law: fused schedules of random graphs hold what the verifier checks.
TEST(Fusion, SchedulesOfRandomGraphsHold) {
  for (unsigned seed = 0; seed < 300; seed += test::kOneCaseOf) {
    const test::RandomTensors tensors(seed, 10 + static_cast<int>(seed % 50));
    Machine machine = VirtualMachine(1 + static_cast<int>(seed % 3), 1);
    for (DeviceSpec& device : machine.devices) device.in_order = device.is_gpu() && seed % 2 == 1;
    CompileRequest request = tensors.Request();
    request.fuse = true;
    ASSERT_NO_THROW(CompileChecked(tensors.graph(), request, tensors.Place(machine, seed), machine)) << seed;
  }
}

// Groups on two devices, each of which would wait for a part of the other.
TEST(Fusion, GroupsOfRandomGraphsWaitForEachOtherInNoCircle) {
  for (unsigned seed = 0; seed < 200; seed += test::kOneCaseOf) {
    const auto random = test::MakeRandomGraph(seed, 4 + static_cast<int>(seed % 56), 3);
    const Machine machine = VirtualMachine(1 + static_cast<int>(seed % 2), 2);
    CompileRequest request = test::RequestFor(random.graph, random.fetches, random.targets);
    request.fuse = true;
    ASSERT_NO_THROW(
        CompileChecked(random.graph, request, test::RandomPlacement(random.graph, machine, seed), machine))
        << seed;
  }
}

// A training step of a GPT (6 layers, 768 wide, 50,304 words, AdamW), exported by lanescope.torch.export.
TEST(Fusion, AGptStepLaunchesAQuarter) {
  const std::string path = test::SourceDir() + "/tests/golden/graphs/gpt.pb";
  const Graph graph = ReadGraph(path);
  CompileRequest request = StepRequestOf(graph, ReadRunSpecBeside(path));
  const GraphInfo info = InferGraph(graph, request.feeds);
  Machine machine = VirtualMachine(1, 1);
  for (DeviceSpec& device : machine.devices) {
    if (!device.is_gpu()) continue;
    device.kind = DeviceKind::kModelled;
    device.in_order = true;
    device.memory_bytes = int64_t{80} << 30;
  }
  const Placement placement = Everywhere(graph, machine.Gpus()[0]);
  const LaunchTraffic unfused = TrafficOf(graph, info, CompileChecked(graph, request, placement, machine));
  request.fuse = true;
  const LaunchTraffic fused = TrafficOf(graph, info, CompileChecked(graph, request, placement, machine));
  EXPECT_EQ(unfused.launches, 1228);
  EXPECT_LE(fused.launches, 295);
  EXPECT_LT(fused.product_bytes, unfused.product_bytes);
  EXPECT_LE(static_cast<double>(fused.other_bytes()), 0.45 * static_cast<double>(unfused.other_bytes()));
}

// That step where rates say that computing probabilities again is faster: attention's six layers are two
// launches each, no other launch is lost by it, and 4 * 12 * 256 * 256 floats of each layer need no memory.
TEST(Fusion, AGptStepComputesProbabilitiesAgain) {
  const std::string path = test::SourceDir() + "/tests/golden/graphs/gpt.pb";
  const Graph graph = ReadGraph(path);
  CompileRequest request = StepRequestOf(graph, ReadRunSpecBeside(path));
  request.fuse = true;
  const GraphInfo info = InferGraph(graph, request.feeds);
  LaunchTraffic traffic[2];
  int64_t peak[2] = {};
  for (const bool has_rates : {false, true}) {
    Machine machine = VirtualMachine(1, 1);
    const DeviceId gpu = machine.Gpus()[0];
    DeviceSpec& device = machine.devices[gpu];
    device.kind = DeviceKind::kModelled;
    device.in_order = true;
    device.memory_bytes = int64_t{80} << 30;
    if (has_rates) device.peak_flops[DataType::kFloat] = 67e12;
    if (has_rates) device.memory_bandwidth = 3.35e12;
    const Schedule schedule = CompileChecked(graph, request, Everywhere(graph, gpu), machine);
    traffic[has_rates] = TrafficOf(graph, info, schedule);
    peak[has_rates] = schedule.peak_bytes[gpu];
  }
  EXPECT_EQ(traffic[1].launches, traffic[0].launches - 6);
  EXPECT_LT(traffic[1].bytes, traffic[0].bytes - int64_t{6} * 3 * 4 * 12 * 256 * 256 * 4);
  EXPECT_LT(peak[1], peak[0]);
}

// Where a value is the gradient and a number of one update, its maker stays outside: numbers are read whole.
TEST(Fusion, WhatMakesANumberOfAnUpdateStaysOutside) {
  Fed fed;
  const Endpoint x = fed.Feed("x", Shape{});
  const Endpoint variable = fed.builder.Op("VarHandleOp", "variable")
                                .Attr("dtype", DataType::kFloat)
                                .Attr("shape", Shape{})
                                .Build();
  const Endpoint both = fed.Op("Neg", "both", {x});
  const Endpoint update = fed.Op("ResourceApplyGradientDescent", "update", {variable, both, both});
  EXPECT_EQ(OpsOf(fed.builder.graph(), fed.Compile({{update.node, -1}})),
            Ops({"Neg", "ResourceApplyGradientDescent"}));
}

// The result of an update is the variable itself: no node has written that for the assignment.
TEST(Fusion, AVariableThatIsAssignedToItselfIsCopied) {
  Fed fed;
  const Endpoint x = fed.Feed("x", Shape{4}), rate = fed.Feed("rate", Shape{});
  const Endpoint variable = fed.builder.Op("VariableV2", "variable")
                                .Attr("dtype", DataType::kFloat)
                                .Attr("shape", Shape{4})
                                .Build();
  const Endpoint added = fed.Op("AssignAdd", "added", {variable, x});
  const Endpoint same = fed.Op("Identity", "same", {added});
  const Endpoint assigned = fed.Op("Assign", "assigned", {variable, same});
  const Endpoint gradient = fed.Op("Neg", "gradient", {x});
  const Endpoint update = fed.builder.Op("ApplyGradientDescent", "update")
                              .Input(variable)
                              .Input(rate)
                              .Input(gradient)
                              .ControlInput(assigned)
                              .Build();
  EXPECT_EQ(OpsOf(fed.builder.graph(), fed.Compile({update})),
            Ops({"AssignAdd", "Assign", "fused Neg+ApplyGradientDescent (2)"}));
}

}  // namespace
}  // namespace lanescope
