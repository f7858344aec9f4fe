// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/graph/graph_builder.h"
#include "core/graph/op.h"
#include "core/place/placer.h"
#include "core/schedule/schedule.h"
#include "study/compare/comparison.h"

namespace lanescope::study {
namespace {

using testing::HasSubstr;
using testing::Not;

ComparisonRow Predicted(const std::string& strategy, int64_t step_ns, int64_t low_ns, int64_t high_ns) {
  ComparisonRow row;
  row.graph = "g.pbtxt";
  row.strategy = strategy;
  PredictedRow& predicted = row.predicted.emplace();
  predicted.prediction.step_ns = step_ns;
  predicted.prediction.low_ns = low_ns;
  predicted.prediction.high_ns = high_ns;
  return row;
}

ComparisonRow Measured(const std::string& strategy, double step_ns, double noise) {
  ComparisonRow row;
  row.graph = "g.pbtxt";
  row.strategy = strategy;
  MeasuredRow& measured = row.measured.emplace();
  measured.statistics.step_ns.emplace().median = step_ns;
  measured.noise = noise;
  return row;
}

std::string VerdictOn(ComparisonRow a, ComparisonRow b) {
  Comparison comparison;
  comparison.rows.push_back(std::move(a));
  comparison.rows.push_back(std::move(b));
  return Verdict(comparison);
}

// Ranges 95 to 115 and 98 to 125 overlap by 17; the rows differ by 10.
TEST(VerdictTest, CannotTellWhereIntervalsOverlapMoreThanTheyDiffer) {
  EXPECT_THAT(VerdictOn(Predicted("a", 100'000, 95'000, 115'000), Predicted("b", 110'000, 98'000, 125'000)),
              HasSubstr("cannot tell which row is faster"));
}

// They overlap by 5 and differ by 20.
TEST(VerdictTest, TellsWhereTheyDifferMore) {
  EXPECT_THAT(VerdictOn(Predicted("a", 100'000, 90'000, 110'000), Predicted("b", 120'000, 105'000, 130'000)),
              HasSubstr("g b loses 20% against g a"));
}

// Two tensors of 4000 bytes go from the first task to the second.
TEST(VerdictTest, MessagesBetweenTasksAreNoCopiesBetweenDevices) {
  Comparison comparison;
  comparison.machine = ParseMachine(R"({"devices": [{"name": "/job:w/task:0/CPU:0", "kind": "host"},
    {"name": "/job:w/task:1/CPU:0", "kind": "host"}], "links": [{"between":
    ["/job:w/task:0/CPU:0", "/job:w/task:1/CPU:0"], "bandwidth": "1GB/s"}]})");
  GraphBuilder builder;
  const Endpoint x = builder.Const("x", Tensor(DataType::kFloat, Shape{1000}));
  const Endpoint a = builder.Op("Neg", "a").Input(x).Device("/job:w/task:0").Build();
  const Endpoint b = builder.Op("Square", "b").Input(x).Device("/job:w/task:0").Build();
  builder.Op("AddV2", "sum").Input(a).Input(b).Device("/job:w/task:1").Build();
  const Graph& graph = builder.graph();
  CompileRequest request;
  request.fetches = {{graph.FindNode("sum"), -1}};
  ComparisonRow slow = Predicted("slow", 120'000, 105'000, 130'000);
  slow.schedule = Compile(graph, InferGraph(graph, {}), request, PlaceGraph(graph, comparison.machine, {}),
                          comparison.machine);
  comparison.rows.push_back(Predicted("quick", 100'000, 90'000, 110'000));
  comparison.rows.push_back(std::move(slow));
  EXPECT_THAT(Verdict(comparison), HasSubstr("its 2 messages between tasks carry 7.812 KiB"));
}

// Two GPUs work in the one, the other leaves the second idle; both copy as good as nothing.
TEST(VerdictTest, DevicesThatAreIdleAreAReason) {
  Comparison comparison;
  comparison.machine = VirtualMachine(2, 1);
  const auto row = [](const std::string& strategy, int64_t step_ns, double second) {
    ComparisonRow made = Predicted(strategy, step_ns, step_ns - 1, step_ns + 1);
    made.predicted->prediction.busy = {0.02, 0.97, second};
    return made;
  };
  comparison.rows = {row("both", 100'000, 0.95), row("single", 195'000, 0)};
  EXPECT_THAT(Verdict(comparison), HasSubstr("g single loses 95% against g both: GPU:1 is idle."));
  comparison.rows[1] = row("slow", 195'000, 0.5);
  EXPECT_THAT(Verdict(comparison),
              HasSubstr("g slow loses 95% against g both: GPU:0 computes for 97% of its step."));
}

// Two at once, of 66 us each, in a step of 120 us: their sum is no share of it.
TEST(VerdictTest, CopiesThatOverlapAddUpToMoreThanTheStep) {
  ComparisonRow slow = Predicted("slow", 120'000, 119'000, 121'000);
  auto& copies = slow.predicted->prediction.copies[static_cast<size_t>(CopyClass::kDeviceToDevice)];
  copies.count = 2;
  copies.ns = 132'000;
  EXPECT_THAT(VerdictOn(Predicted("quick", 100'000, 99'000, 101'000), slow),
              HasSubstr("its 2 device-to-device copies add up to 110% of the step"));
}

TEST(VerdictTest, NoTimeIsNegative) {
  const std::string verdict = VerdictOn(Measured("a", 100'000, 1.7), Measured("b", 110'000, 1.5));
  EXPECT_THAT(verdict, HasSubstr("cannot tell"));
  EXPECT_THAT(verdict, HasSubstr("g a may take 0 ns to 270 us"));
}

// Measured rows lie within their noise: 97 to 103 and 99 to 105 overlap by 4 and differ by 2; with a tenth of
// the noise they do not meet.
TEST(VerdictTest, MeasuredRowsLieWithinTheirNoise) {
  EXPECT_THAT(VerdictOn(Measured("a", 100'000, 0.03), Measured("b", 102'000, 0.03)),
              HasSubstr("cannot tell which row is faster"));
  EXPECT_THAT(VerdictOn(Measured("a", 100'000, 0.003), Measured("b", 102'000, 0.003)),
              Not(HasSubstr("cannot tell")));
}

}  // namespace
}  // namespace lanescope::study
