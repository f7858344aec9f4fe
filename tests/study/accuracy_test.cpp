// SPDX-License-Identifier: Apache-2.0
// Predictions of recorded runs from one of them: a change of the model that makes them worse fails here. The
// traces are in tests/golden/accuracy; docs/results/accuracy.md says how they were recorded.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "study/predict/trace_accuracy.h"

namespace lanescope::study {
namespace {

// Bounds of the mean and the worst error of the runs held out, as fractions: a little above what they are.
struct Bound {
  const char* trace;
  double mean, worst;
  int held_out = 3;   // runs at least
  double replay = 0;  // what a replay of a run's own times may be off by; 0: nobody asks
};

class AccuracyTest : public testing::TestWithParam<Bound> {};

TEST_P(AccuracyTest, HeldOutRunsArePredicted) {
  const Bound& bound = GetParam();
  const std::string path = std::string(LANESCOPE_ACCURACY_TRACES) + "/" + bound.trace + ".db";
  double sum = 0;
  int held_out = 0;
  for (const RunAccuracy& run : PredictRuns(path, {.draws = 0, .replay = bound.replay > 0})) {
    SCOPED_TRACE(run.graph + " " + run.strategy);
    const double error = std::abs(run.Error());
    RecordProperty(run.strategy, std::to_string(run.Error()));
    EXPECT_LE(std::abs(run.replay_error), bound.replay);
    if (run.in_sample) {
      // Its own mean step, less what the model does not know.
      EXPECT_LE(error, std::max(run.noise, 0.02));
      continue;
    }
    sum += error;
    ++held_out;
    EXPECT_LE(error, bound.worst);
  }
  ASSERT_GE(held_out, bound.held_out);
  EXPECT_LE(sum / held_out, bound.mean);
}

// The held-out runs of the H100: all but one lie in their intervals, and these are no wider than a quarter of
// the step on either side.
TEST(AccuracyOfAGpu, IntervalsHoldWhatWasMeasured) {
  int held_out = 0, covered = 0;
  for (const char* trace :
       {"h100_deepconn", "h100_deepconn_host8", "h100_cifar10", "h100_gpt", "h100_gpt_singles"}) {
    for (const RunAccuracy& run : PredictRuns(std::string(LANESCOPE_ACCURACY_TRACES) + "/" + trace + ".db")) {
      if (run.in_sample) continue;
      ++held_out;
      covered += static_cast<double>(run.low_ns) <= run.measured_ns &&
                 run.measured_ns <= static_cast<double>(run.high_ns);
      EXPECT_GE(static_cast<double>(run.low_ns), 0.75 * static_cast<double>(run.predicted_ns));
      EXPECT_LE(static_cast<double>(run.high_ns), 1.25 * static_cast<double>(run.predicted_ns));
    }
  }
  EXPECT_EQ(held_out, 11);
  EXPECT_GE(covered, 10);
}

// A profiler's recording of two graphs: each is predicted from its own first run. The profiler makes the
// steps of DeepCoNN 10% longer than its kernels and gaps explain; docs/results/accuracy.md says where.
TEST(AccuracyOfAGpu, RecordingsOfKernelsCalibrateEachGraph) {
  const std::vector<RunAccuracy> runs =
      PredictRuns(std::string(LANESCOPE_ACCURACY_TRACES) + "/h100_kernels.db", {.draws = 0});
  struct Row {
    const char *graph, *strategy;
    int experiment;
    bool in_sample;
    double bound;
  };
  const std::vector<Row> expected = {{"cifar10_towers.pbtxt", "single", 0, true, 0.02},
                                     {"cifar10_towers.pbtxt", "tower-split", 0, false, 0.09},
                                     {"deepconn_single.pbtxt", "single", 1, true, 0.1},
                                     {"deepconn_single.pbtxt", "tower-split", 1, false, 0.02}};
  ASSERT_EQ(runs.size(), expected.size());
  for (size_t i = 0; i < runs.size(); ++i) {
    SCOPED_TRACE(runs[i].graph + " " + runs[i].strategy);
    EXPECT_EQ(runs[i].graph, expected[i].graph);
    EXPECT_EQ(runs[i].strategy, expected[i].strategy);
    EXPECT_EQ(runs[i].experiment, expected[i].experiment);
    EXPECT_EQ(runs[i].in_sample, expected[i].in_sample);
    EXPECT_LE(std::abs(runs[i].Error()), expected[i].bound);
  }
}

INSTANTIATE_TEST_SUITE_P(RecordedTraces, AccuracyTest,
                         testing::Values(Bound{"deepconn", 0.025, 0.045}, Bound{"cifar10", 0.035, 0.055},
                                         Bound{"branches", 0.032, 0.048}, Bound{"transformer", 0.025, 0.045},
                                         // Two processes at 1 Gbit/s, four at 1 GB/s.
                                         Bound{"two_tasks", 0.03, 0.042}, Bound{"four_tasks", 0.03, 0.052},
                                         // One H100 as two logical devices.
                                         Bound{"h100_deepconn", 0.083, 0.222, 3, 0.01},
                                         Bound{"h100_deepconn_host8", 0.04, 0.064, 3, 0.0125},
                                         Bound{"h100_cifar10", 0.04, 0.083, 3, 0.01},
                                         Bound{"h100_gpt", 0.03, 0.03, 1, 0.0105},
                                         Bound{"h100_gpt_singles", 0.01, 0.01, 1, 0.0105}),
                         [](const auto& of) { return std::string(of.param.trace); });

}  // namespace
}  // namespace lanescope::study
