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
#include "exec/session.h"
#include "graphs/mirrored.h"
#include "graphs/ops.h"
#include "tests/core/base/expect_error.h"
#include "tests/exec/reference_interpreter.h"
#include "tests/graphs/golden.h"
#include "tests/graphs/nodes.h"

namespace lanescope::graphs {
namespace {

using exec::test::ReferenceInterpreter;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<float> FloatsOf(const Tensor& tensor) {
  return {tensor.data<float>(), tensor.data<float>() + tensor.NumElements()};
}

Tensor Floats(const lanescope::Shape& shape, const std::vector<float>& values) {
  return Tensor::FromValues(shape, values);
}

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
std::map<std::string, Tensor> Trained(Scope& s, Endpoint train, const Batch& batch, int steps) {
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
  return Trained(s, train, batch, steps).at("w");
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
  ExpectNear(Trained(s, train, batch, 3).at("w"), TrainedOnAll(3), 1e-6, 1e-6, "w");
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
  EXPECT_THAT(FloatsOf(Trained(s, train, {}, 1).at("table")),
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

std::vector<std::string> Gpus(int count) {
  std::vector<std::string> devices;
  for (int i = 0; i < count; ++i) devices.push_back("/device:GPU:" + std::to_string(i));
  return devices;
}

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

TEST(AllReduce, WhatCannotBeAddedIsRefused) {
  Scope s;
  const Endpoint x = op::Placeholder(s, DataType::kFloat, {.name = "x"});
  const Endpoint i = op::Placeholder(s, DataType::kInt32, {.name = "i"});
  EXPECT_THAT(ErrorOf([&] { AllReduce(s, {}, {}); }), HasSubstr("0 tensors on 0 devices"));
  EXPECT_THAT(ErrorOf([&] { AllReduce(s, {x, i}, Gpus(2)); }), HasSubstr("float and int32"));
  EXPECT_THAT(ErrorOf([&] { AllReduce(s, {x, x}, Gpus(2)); }), HasSubstr("a ring has to know it"));
}

TEST(Mirrored, ReplicasStayEqualAndLearnWhatOneDeviceLearns) {
  for (const AllReduceBy by : {AllReduceBy::kRing, AllReduceBy::kTree, AllReduceBy::kOneDevice}) {
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
    const auto values = Trained(s, train, batch, 3);
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
  const auto values = Trained(s, train, batch, 2);
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
