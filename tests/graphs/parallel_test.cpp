// SPDX-License-Identifier: Apache-2.0
// Cases I01 to I07: one model on many devices gives what it gives on one.
#include "graphs/parallel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/machine/machine.h"
#include "core/place/placer.h"
#include "core/schedule/schedule.h"
#include "exec/run/session.h"
#include "graphs/mirrored.h"
#include "graphs/ops.h"
#include "tests/core/base/expect_error.h"
#include "tests/exec/reference_interpreter.h"
#include "tests/graphs/floats.h"
#include "tests/graphs/golden.h"
#include "tests/graphs/nodes.h"

namespace lanescope::graphs {
namespace {

using exec::test::ReferenceInterpreter;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(MakeParallel, I01TheHalvesOfTheBatchAreOnTwoGpus) {
  Scope s;
  const Endpoint x = op::Placeholder(s, DataType::kFloat, {.name = "x", .shape = {4}});
  std::vector<Endpoint> doubled;
  const Endpoint y = MakeParallel(
      s,
      [&](Scope& scope, Endpoint part) {
        doubled.push_back(op::Mul(scope, part, 2));
        return doubled.back();
      },
      2, x);
  EXPECT_EQ(DeviceOf(s, doubled.at(0)), "/device:GPU:0");
  EXPECT_EQ(DeviceOf(s, doubled.at(1)), "/device:GPU:1");
  EXPECT_EQ(DeviceOf(s, y), "");
  ReferenceInterpreter session(s.graph());
  EXPECT_THAT(FloatsOf(session.Run({{"x", Floats({4}, {1, 2, 3, 4})}}, {NameOf(s, y)})[0]),
              ElementsAre(2, 4, 6, 8));
}

TEST(MakeParallel, I03AllTowersReadTheVariableOfTheFirst) {
  Scope s;
  const Endpoint x = op::Placeholder(s, DataType::kFloat, {.name = "x", .shape = {6, 2}});
  MakeParallel(
      s,
      [](Scope& scope, Endpoint part) {
        return op::MatMul(scope, part, scope.GetVariable("w", {2, 1}));
      },
      3, x);
  ASSERT_EQ(s.variables().size(), 1u);
  EXPECT_EQ(DeviceOf(s, s.variables()[0]->ref), "/device:GPU:0");
}

TEST(MakeParallel, ABatchThatDoesNotDivideIsRefused) {
  Scope s;
  const Endpoint x = op::Placeholder(s, DataType::kFloat, {.name = "x", .shape = {5}});
  EXPECT_THAT(ErrorOf([&] { SplitBatch(s, x, 2); }), HasSubstr("InvalidArgument"));
  EXPECT_THAT(ErrorOf([&] { SplitBatch(s, x, 0); }), HasSubstr("1 or more parts, not 0"));
}

// Squared distance of x w from y, by example.
Endpoint Losses(Scope& s, Endpoint x, Endpoint y) {
  const Variable& w = s.GetVariable("w", {3, 1}, {.initializer = Filled(0.5)});
  return op::Square(s, op::Sub(s, op::Squeeze(s, op::MatMul(s, x, w), {.squeeze_dims = {1}}), y));
}

struct Batch {
  Endpoint x, y;
  std::map<std::string, Tensor> feeds;
};

Batch MakeBatch(Scope& s, int64_t size) {
  std::vector<float> x, y;
  for (int i = 0; i < 3 * size; ++i) x.push_back(static_cast<float>((i * 7) % 11) / 11.0f - 0.4f);
  for (int i = 0; i < size; ++i) y.push_back(static_cast<float>((i * 5) % 7) / 7.0f);
  return {op::Placeholder(s, DataType::kFloat, {.name = "x", .shape = {size, 3}}),
          op::Placeholder(s, DataType::kFloat, {.name = "y", .shape = {size}}),
          {{"x", Floats({size, 3}, x)}, {"y", Floats({size}, y)}}};
}

// Values of all variables, by name, after `steps` steps.
std::map<std::string, Tensor> VariablesAfter(Scope& s, Endpoint train, const Batch& batch, int steps) {
  const Endpoint init = InitializeVariables(s);
  ReferenceInterpreter session(s.graph());
  session.Run({}, {}, {NameOf(s, init)});
  for (int i = 0; i < steps; ++i) session.Run(batch.feeds, {}, {NameOf(s, train)});
  std::map<std::string, Tensor> values;
  for (const Variable* variable : s.variables())
    values[variable->name] = session.Run({}, {variable->name})[0];
  return values;
}

Tensor TrainedOnAll(int steps) {
  Scope s;
  const Batch batch = MakeBatch(s, 8);
  GradientDescentOptimizer optimizer(0.1);
  const Endpoint train = optimizer.Minimize(s, op::Mean(s, Losses(s, batch.x, batch.y), 0));
  return VariablesAfter(s, train, batch, steps).at("w");
}

TEST(AverageGradients, I05TowersOfEqualPartsGiveTheGradientOfTheWholeBatch) {
  Scope s;
  const Batch batch = MakeBatch(s, 8);
  const auto xs = SplitBatch(s, batch.x, 2), ys = SplitBatch(s, batch.y, 2);
  GradientDescentOptimizer optimizer(0.1);
  std::vector<std::vector<GradientOf>> towers;
  for (size_t i = 0; i < 2; ++i) {
    const auto tower = s.Name("tower_" + std::to_string(i));
    const auto reuse = s.ReuseVariables(i > 0);
    towers.push_back(optimizer.ComputeGradients(s, op::Mean(s, Losses(s, xs[i], ys[i]), 0)));
  }
  const Endpoint train = optimizer.ApplyGradients(s, AverageGradients(s, towers));
  ExpectNear(VariablesAfter(s, train, batch, 3).at("w"), TrainedOnAll(3), 1e-6, 1e-6, "w");
}

// [2,3] times [3,2] on each of two GPUs, added up on the CPU.
TEST(Towers, G05ProductsOnTwoGpusAreAddedUp) {
  Scope s;
  std::vector<Endpoint> products;
  for (const char* device : {"/gpu:0", "/gpu:1"}) {
    const auto on = s.Device(device);
    const Endpoint a = op::Const(s, Input({2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6}));
    products.push_back(op::MatMul(s, a, op::Const(s, Input({3, 2}, std::vector<float>{1, 2, 3, 4, 5, 6}))));
  }
  const auto cpu = s.Device("/cpu:0");
  const Endpoint sum = op::AddN(s, products);
  const Machine machine = VirtualMachine(2, 1);
  PlacerOptions hard;
  hard.soft_placement = false;
  const Placement placement = PlaceGraph(s.graph(), machine, hard);
  EXPECT_EQ(machine.device(placement.device[products[1].node]).local_name(), "GPU:1");
  EXPECT_EQ(machine.device(placement.device[sum.node]).local_name(), "CPU:0");
  exec::Session session(s.graph(), placement, machine);
  EXPECT_THAT(FloatsOf(session.Run({{}, {NameOf(s, sum)}, {}}).fetches[0]), ElementsAre(44, 56, 98, 128));
}

// Without colocation: to GPU:0 whatever the op's device, though shapes stay with what they are of.
TEST(Gradients, I07GradientsWithoutADeviceGoToTheFirstGpu) {
  Scope s;
  Endpoint x, loss;
  {
    const auto gpu = s.Device("/gpu:1");
    x = op::Placeholder(s, DataType::kFloat, {.name = "x"});
    loss = op::Sum(s, op::Square(s, x), op::Range(s, 0, op::Rank(s, x), 1));
  }
  const size_t before = s.graph().num_nodes();
  ASSERT_FALSE(Gradients(s, {loss}, {x})[0].empty());
  const Machine machine = VirtualMachine(2, 1);
  const Placement placement = PlaceGraph(s.graph(), machine, {});
  int shapes = 0, others = 0;
  for (NodeId id(before); id.index() < s.graph().num_nodes(); ++id) {
    const Node& node = s.graph().node(id);
    EXPECT_EQ(node.device, "") << node.name;
    const std::string device = machine.device(placement.device[id]).local_name();
    if (node.op == "Shape" && NameOf(s, node.inputs[0]) == "Square") {
      ++shapes;
      EXPECT_EQ(device, "GPU:1") << node.name;
    } else if (node.op == "Mul" || node.op == "Tile") {
      ++others;
      EXPECT_EQ(device, "GPU:0") << node.name;
    }
  }
  EXPECT_GT(shapes, 0);
  EXPECT_GT(others, 1);
}

TEST(AverageGradients, RowsAreJoinedWithTheirShare) {
  Scope s;
  const Variable& table = s.GetVariable("table", {4, 2}, {.initializer = Zeros()});
  GradientDescentOptimizer optimizer(1.0);
  std::vector<std::vector<GradientOf>> towers;
  for (const int row : {1, 3}) {
    const Endpoint rows = op::GatherV2(s, table, {1, row}, 0);
    towers.push_back(optimizer.ComputeGradients(s, op::Sum(s, rows, {0, 1})));
  }
  const auto averages = AverageGradients(s, towers);
  ASSERT_TRUE(averages.at(0).gradient.is_slices());
  const Endpoint train = optimizer.ApplyGradients(s, averages);
  EXPECT_THAT(FloatsOf(VariablesAfter(s, train, {}, 1).at("table")),
              ElementsAre(0, 0, -1.5f, -1.5f, 0, 0, -0.5f, -0.5f));
}

TEST(AverageGradients, TowersHaveToAgree) {
  Scope s;
  const Variable& v = s.GetVariable("v", {2});
  const Variable& w = s.GetVariable("w", {2});
  EXPECT_THAT(ErrorOf([&] { AverageGradients(s, {}); }), HasSubstr("no towers"));
  EXPECT_THAT(ErrorOf([&] {
                AverageGradients(s, {{{v.value, &v}}, {{v.value, &w}}});
              }),
              HasSubstr("the same variables"));
  EXPECT_THAT(ErrorOf([&] {
                AverageGradients(s, {{{v.value, &v}}, {{{}, &v}}});
              }),
              HasSubstr("only 1 of 2 towers have a gradient of variable 'v'"));
}

TEST(Mirrored, ReplicasStayEqualAndLearnWhatOneDeviceLearns) {
  for (const AllReduceBy by :
       {AllReduceBy::kRing, AllReduceBy::kTree, AllReduceBy::kOneDevice, AllReduceBy::kHierarchical}) {
    Scope s;
    const Batch batch = MakeBatch(s, 8);
    Mirrored mirrored(s, Gpus(2), by);
    const auto losses = mirrored.Run(
        [](Scope& scope, Endpoint x, Endpoint y) { return op::Mean(scope, Losses(scope, x, y), 0); }, batch.x,
        batch.y);
    GradientDescentOptimizer optimizer(0.1);
    const Endpoint train = mirrored.Minimize(optimizer, losses);
    std::set<std::string> devices;
    for (const Variable* variable : s.variables()) devices.insert(DeviceOf(s, variable->ref));
    EXPECT_THAT(devices, ElementsAre("/device:GPU:0", "/device:GPU:1"));
    const auto values = VariablesAfter(s, train, batch, 3);
    ExpectNear(values.at("w"), values.at("w/replica_1"), 0, 0, "w/replica_1");
    ExpectNear(values.at("w"), TrainedOnAll(3), 1e-6, 1e-6, "w");
  }
}

TEST(Mirrored, RowsOfATableReachEveryReplica) {
  Scope s;
  const Endpoint ids = op::Placeholder(s, DataType::kInt32, {.name = "ids", .shape = {4}});
  Mirrored mirrored(s, Gpus(2));
  const auto losses = mirrored.Run(
      [](Scope& scope, Endpoint part) {
        const Variable& table = scope.GetVariable("table", {3, 1}, {.initializer = Zeros()});
        return op::Sum(scope, op::GatherV2(scope, table, part, 0), {0, 1});
      },
      ids);
  AdamOptimizer optimizer(0.1);
  const Endpoint train = mirrored.Minimize(optimizer, losses);
  Batch batch;
  batch.feeds["ids"] = Tensor::FromValues(lanescope::Shape{4}, std::vector<int32_t>{0, 1, 1, 1});
  const auto values = VariablesAfter(s, train, batch, 2);
  ExpectNear(values.at("table"), values.at("table/replica_1"), 0, 0, "table/replica_1");
  EXPECT_NEAR(values.at("table").data<float>()[0], -0.2, 1e-3);
  EXPECT_NEAR(values.at("table").data<float>()[1], -0.2, 1e-3);
  EXPECT_EQ(values.at("table").data<float>()[2], 0);
}

TEST(Mirrored, ACopyOfNoVariableIsRefused) {
  Scope s;
  const auto replica = s.Replica(1);
  EXPECT_THAT(ErrorOf([&] { s.GetVariable("w", {2}); }), HasSubstr("Variable w/replica_1 is a copy of w"));
}

// A variable's first value waits for nothing, or it could not be initialised before the step.
TEST(Scope, VariablesAreMadeOutsideOfControlDependencies) {
  Scope s;
  const Endpoint before = op::NoOp(s, {.name = "before"});
  const auto after = s.ControlDependencies({before});
  for (const Variable* variable : {&s.GetVariable("v", {2}), &s.NewVariable(3.0, {.name = "w"})}) {
    for (const Endpoint e :
         {variable->ref, variable->initial_value, variable->initializer, variable->value}) {
      EXPECT_TRUE(s.graph().node(e.node).control_inputs.empty()) << NameOf(s, e);
    }
  }
}

}  // namespace
}  // namespace lanescope::graphs
