// SPDX-License-Identifier: Apache-2.0
// Sums over devices: what comes out, and what is copied for them.
#include "graphs/all_reduce.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "core/expand/functions.h"
#include "core/graph/op.h"
#include "core/machine/cluster_tasks.h"
#include "core/machine/machine.h"
#include "core/machine/tasks.h"
#include "core/place/placer.h"
#include "core/schedule/schedule.h"
#include "graphs/gradients.h"
#include "graphs/ops.h"
#include "tests/core/base/expect_error.h"
#include "tests/exec/reference_interpreter.h"
#include "tests/graphs/floats.h"
#include "tests/graphs/nodes.h"

namespace lanescope::graphs {
namespace {

using exec::test::ReferenceInterpreter;
using testing::ElementsAre;
using testing::HasSubstr;

struct Reduced {
  Scope s;
  std::vector<Endpoint> results;
  std::vector<float> sum;
};

// Tensors of `elements` elements on GPUs.
void WriteReduction(Reduced& reduced, int gpus, int64_t elements, const AllReduceOptions& options) {
  std::vector<Endpoint> tensors;
  reduced.sum.assign(static_cast<size_t>(elements), 0);
  for (int i = 0; i < gpus; ++i) {
    const auto on = reduced.s.Device(Gpus(gpus)[static_cast<size_t>(i)]);
    std::vector<float> values;
    for (int64_t k = 0; k < elements; ++k) values.push_back(static_cast<float>((i + 1) * (k % 5 + 1)));
    for (size_t k = 0; k < values.size(); ++k) reduced.sum[k] += values[k];
    // Not a constant, which every device would have.
    tensors.push_back(op::AddV2(
        reduced.s, op::PlaceholderWithDefault(reduced.s, Floats({elements}, values), {elements}), 0.0f));
  }
  reduced.results = AllReduce(reduced.s, tensors, Gpus(gpus), options);
}

TEST(AllReduce, EveryDeviceHasTheSum) {
  for (const AllReduceBy by : {AllReduceBy::kRing, AllReduceBy::kTree, AllReduceBy::kOneDevice}) {
    for (const int gpus : {1, 2, 3, 4, 5, 8}) {
      for (const int64_t elements : {1, 3, 12, 17}) {
        for (const bool mean : {false, true}) {
          SCOPED_TRACE(std::to_string(static_cast<int>(by)) + " on " + std::to_string(gpus) + " of " +
                       std::to_string(elements));
          Reduced reduced;
          WriteReduction(reduced, gpus, elements, {.by = by, .mean = mean});
          std::vector<std::string> names;
          for (int i = 0; i < gpus; ++i) {
            const Endpoint result = reduced.results[static_cast<size_t>(i)];
            EXPECT_EQ(DeviceOf(reduced.s, result), Gpus(gpus)[static_cast<size_t>(i)]);
            names.push_back(NameOf(reduced.s, result));
          }
          ReferenceInterpreter session(reduced.s.graph());
          for (const Tensor& tensor : session.Run({}, names)) {
            const std::vector<float> values = FloatsOf(tensor);
            ASSERT_EQ(values.size(), reduced.sum.size());
            for (size_t k = 0; k < values.size(); ++k) {
              EXPECT_NEAR(values[k], mean ? reduced.sum[k] / static_cast<float>(gpus) : reduced.sum[k], 1e-4);
            }
          }
        }
      }
    }
  }
}

// Law: in a hierarchy every device has the sum, too, however many devices each task has and in whichever
// order they stand.
TEST(AllReduce, AHierarchySumsOverTasksOfAnySize) {
  using Tasks = std::vector<int>;  // by device: its task
  for (const Tasks& tasks : {Tasks{0}, Tasks{0, 0, 0}, Tasks{0, 1}, Tasks{0, 0, 1, 1}, Tasks{0, 1, 1, 1},
                             Tasks{0, 1, 2, 1, 0, 0}, Tasks{2, 2, 2, 0, 1, 1, 3}}) {
    for (const int64_t elements : {1, 17, 20000}) {
      for (const bool as_op : {false, true}) {
        Scope s;
        std::vector<std::string> devices, names;
        std::vector<Endpoint> tensors;
        float sum = 0;
        for (size_t i = 0; i < tasks.size(); ++i) {
          devices.push_back(fmt::format("/job:worker/task:{}/device:GPU:{}", tasks[i], i));
          const auto on = s.Device(devices.back());
          const auto value = static_cast<float>(1 << i);
          sum += value;
          tensors.push_back(op::PlaceholderWithDefault(
              s, Floats({elements}, std::vector<float>(static_cast<size_t>(elements), value)), {elements}));
        }
        for (const Endpoint result :
             AllReduce(s, tensors, devices, {.by = AllReduceBy::kHierarchical, .as_op = as_op})) {
          EXPECT_EQ(DeviceOf(s, result), devices[names.size()]);
          names.push_back(NameOf(s, result));
        }
        const Graph graph = InlineFunctions(s.graph());
        ReferenceInterpreter session(graph);
        for (const Tensor& tensor : session.Run({}, names))
          EXPECT_EQ(FloatsOf(tensor), std::vector<float>(static_cast<size_t>(elements), sum));
      }
    }
  }
}

// By (source, destination): bytes copied between GPUs.
std::map<std::pair<int, int>, int64_t> CopiesOf(const Reduced& reduced, int gpus) {
  const Graph& graph = reduced.s.graph();
  const Machine machine = VirtualMachine(gpus, 1);
  const Placement placement = PlaceGraph(graph, machine, {});
  CompileRequest request;
  for (const Endpoint result : reduced.results) request.fetches.push_back({result.node, -1});
  const Schedule schedule = Compile(graph, InferGraph(graph, {}), request, placement, machine);
  VerifySchedule(graph, schedule);
  std::map<std::pair<int, int>, int64_t> copies;
  const std::vector<DeviceId> devices = machine.Gpus();
  const auto number = [&](DeviceId device) {
    return static_cast<int>(std::ranges::find(devices, device) - devices.begin());
  };
  for (const Command& command : schedule.commands) {
    if (command.kind != CommandKind::kCopy) continue;
    const int from = number(schedule.CopySource(command)), to = number(schedule.CopyDestination(command));
    if (from < gpus && to < gpus) copies[{from, to}] += command.bytes;
  }
  return copies;
}

// 2 (n - 1) / n of the tensor from every device to the next, and nothing else.
TEST(AllReduce, ARingCopiesToTheNextDeviceAlone) {
  Reduced reduced;
  WriteReduction(reduced, 4, 400, {});
  const std::map<std::pair<int, int>, int64_t> expected = {
      {{0, 1}, 2400}, {{1, 2}, 2400}, {{2, 3}, 2400}, {{3, 0}, 2400}};
  EXPECT_EQ(CopiesOf(reduced, 4), expected);
}

TEST(AllReduce, ATreeCopiesWholeTensorsUpAndDown) {
  Reduced reduced;
  WriteReduction(reduced, 4, 400, {.by = AllReduceBy::kTree});
  const std::map<std::pair<int, int>, int64_t> expected = {{{1, 0}, 1600}, {{3, 2}, 1600}, {{2, 0}, 1600},
                                                           {{0, 2}, 1600}, {{0, 1}, 1600}, {{2, 3}, 1600}};
  EXPECT_EQ(CopiesOf(reduced, 4), expected);
}

TEST(AllReduce, OneDeviceTakesAllAndGivesAll) {
  Reduced reduced;
  WriteReduction(reduced, 3, 400, {.by = AllReduceBy::kOneDevice});
  const std::map<std::pair<int, int>, int64_t> expected = {
      {{1, 0}, 1600}, {{2, 0}, 1600}, {{0, 1}, 1600}, {{0, 2}, 1600}};
  EXPECT_EQ(CopiesOf(reduced, 3), expected);
}

// With two tasks of two GPUs each, the first GPUs alone send from task to task: half a tensor each, twice.
TEST(AllReduce, AHierarchyCrossesTasksOnceEachWay) {
  Scope s;
  std::vector<std::string> devices;
  std::vector<Endpoint> tensors;
  for (int i = 0; i < 4; ++i) {
    devices.push_back(fmt::format("/job:worker/replica:0/task:{}/device:GPU:{}", i / 2, i % 2));
    const auto on = s.Device(devices.back());
    const std::vector<float> values(400, 1);
    tensors.push_back(op::AddV2(s, op::PlaceholderWithDefault(s, Floats({400}, values), {400}), 0.0f));
  }
  const auto results = AllReduce(s, tensors, devices, {.by = AllReduceBy::kHierarchical});
  const Machine machine = MachineOfTasks(VirtualMachine(2, 1), ParseClusterTasks("worker=a:2"));
  const MachineTasks tasks = TasksOf(machine);
  CompileRequest request;
  for (const Endpoint result : results) request.fetches.push_back({result.node, -1});
  const Schedule schedule =
      Compile(s.graph(), InferGraph(s.graph(), {}), request, PlaceGraph(s.graph(), machine, {}), machine);
  std::map<std::pair<int, int>, int64_t> crossed;
  for (const Command& command : schedule.commands) {
    if (command.kind != CommandKind::kCopy) continue;
    const int from = tasks.task_of[schedule.CopySource(command)];
    const int to = tasks.task_of[schedule.CopyDestination(command)];
    if (from != to) crossed[{from, to}] += command.bytes;
  }
  EXPECT_EQ(crossed, (std::map<std::pair<int, int>, int64_t>{{{0, 1}, 1600}, {{1, 0}, 1600}}));
}

// Which nodes TensorFlow reads, and that they cost what the written-out sum costs.
TEST(AllReduce, AsOneOpItBecomesTheSameCopies) {
  for (const AllReduceBy by : {AllReduceBy::kRing, AllReduceBy::kTree, AllReduceBy::kOneDevice}) {
    for (const bool mean : {false, true}) {
      SCOPED_TRACE(std::string(CollectiveByName(by)) + (mean ? ", mean" : ""));
      constexpr int kGpus = 4;
      Reduced written, reduced;
      WriteReduction(written, kGpus, 12, {.by = by, .mean = mean});
      WriteReduction(reduced, kGpus, 12, {.by = by, .mean = mean, .as_op = true});
      std::vector<std::string> names;
      for (const Endpoint result : reduced.results) names.push_back(NameOf(reduced.s, result));
      const Graph graph = reduced.s.Take();
      const Node& node = graph.node(graph.FindNode("AllReduce/NcclAllReduce"));
      EXPECT_EQ(node.IntAttr("num_devices"), kGpus);
      EXPECT_EQ(node.StringAttr("shared_name"), "AllReduce");
      Reduced expanded{Scope(InlineFunctions(graph)), {}, {}};
      for (const std::string& name : names) expanded.results.push_back(expanded.s.graph().FindEndpoint(name));
      ReferenceInterpreter session(expanded.s.graph());
      for (const Tensor& tensor : session.Run({}, names)) {
        const std::vector<float> values = FloatsOf(tensor);
        ASSERT_EQ(values.size(), reduced.sum.size());
        for (size_t k = 0; k < values.size(); ++k)
          EXPECT_NEAR(values[k], reduced.sum[k] / (mean ? kGpus : 1.0f), 1e-4);
      }
      EXPECT_EQ(CopiesOf(expanded, kGpus), CopiesOf(written, kGpus));
    }
  }
}

// The sum of y over devices has as gradient, on each, the sum of theirs.
TEST(AllReduce, TheGradientOfOneOpIsOneOp) {
  Scope s;
  std::vector<Endpoint> xs, squares;
  for (int i = 0; i < 2; ++i) {
    const auto on = s.Device(Gpus(2)[static_cast<size_t>(i)]);
    xs.push_back(op::PlaceholderWithDefault(s, Floats({2}, {1.0f + static_cast<float>(i), 3}), {2}));
    squares.push_back(op::Square(s, xs.back()));
  }
  const auto sums = AllReduce(s, squares, Gpus(2), {.as_op = true});
  const auto grads = Gradients(s, {sums[0], op::Mul(s, sums[1], 3)}, xs);
  const std::vector<std::string> names = {NameOf(s, grads[0].dense()), NameOf(s, grads[1].dense())};
  EXPECT_EQ(s.graph()
                .node(s.graph().FindNode("gradients/AllReduce/NcclAllReduce_grad/NcclAllReduce"))
                .StringAttr("shared_name"),
            "AllReduce_grad");
  const Graph graph = InlineFunctions(s.graph());
  ReferenceInterpreter session(graph);
  const std::vector<Tensor> values = session.Run({}, names);
  EXPECT_THAT(FloatsOf(values[0]), ElementsAre(8, 24));  // (1 + 3) 2 x
  EXPECT_THAT(FloatsOf(values[1]), ElementsAre(16, 24));
}

TEST(AllReduce, AnOpWithoutAllOfItsDevicesIsRefused) {
  Scope s;
  const Endpoint x = op::Placeholder(s, DataType::kFloat, {.name = "x", .shape = {2}});
  op::NcclAllReduce(s, x, "sum", 2, "alone");
  EXPECT_THAT(
      ErrorOf([&] { InlineFunctions(s.graph()); }),
      HasSubstr("InvalidArgument: node 'NcclAllReduce': 1 of the 2 devices of the collective 'alone'"));
  op::NcclAllReduce(s, x, "max", 2, "alone");
  EXPECT_THAT(ErrorOf([&] { InlineFunctions(s.graph()); }), HasSubstr("reduce in different ways"));
}

TEST(AllReduce, WhatCannotBeAddedIsRefused) {
  Scope s;
  const Endpoint x = op::Placeholder(s, DataType::kFloat, {.name = "x"});
  const Endpoint i = op::Placeholder(s, DataType::kInt32, {.name = "i"});
  EXPECT_THAT(ErrorOf([&] { AllReduce(s, {}, {}); }), HasSubstr("0 tensors on 0 devices"));
  EXPECT_THAT(ErrorOf([&] { AllReduce(s, {x, i}, Gpus(2)); }), HasSubstr("float and int32"));
  EXPECT_THAT(ErrorOf([&] { AllReduce(s, {x, x}, Gpus(2)); }), HasSubstr("a ring has to know it"));
}

}  // namespace
}  // namespace lanescope::graphs
