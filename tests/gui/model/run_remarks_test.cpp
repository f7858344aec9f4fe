// SPDX-License-Identifier: Apache-2.0
#include "gui/model/run_remarks.h"

#include <gtest/gtest.h>

#include <memory>

#include "core/base/clock.h"
#include "gui/model/timeline_data.h"
#include "gui/model/trace_loader.h"
#include "gui/model/what_if_effect.h"
#include "tests/traces/sample_run.h"
#include "traces/record/trace_writer.h"

namespace lanescope::gui {
namespace {

// A prediction of which a quarter of the commands' time is not calibrated and 4% extrapolated, then four
// measured steps of which others disturbed one. Law: the timeline says so of each.
TEST(RunRemarksTest, SaySharesOfTheStep) {
  const traces::ScratchFile file;
  const traces::SampleRun sample(false);
  {
    traces::TraceWriter writer(file.path());
    RunInfo info = sample.info();
    info.simulated = true;
    info.prediction_of = "calibrated on run 2";
    info.uncalibrated_share = 0.25;
    info.extrapolated_share = 0.04;
    const int predicted = writer.BeginRun(info);
    writer.AddSchedule(predicted, sample.schedule());
    writer.Sink(predicted)->Consume(traces::SampleRun::StepEvents(0, NowNs()));
    writer.EndRun(predicted, {});
    const int measured = writer.BeginRun(sample.info());
    writer.AddSchedule(measured, sample.schedule());
    traces::RunOutcome outcome;
    outcome.oversubscribed = true;
    for (int step = 0; step < 4; ++step) {
      writer.Sink(measured)->Consume(traces::SampleRun::StepEvents(step, NowNs() + 10'000 * step));
      outcome.disturbances.push_back({.step = step, .round = 0, .taken = {}, .disturbed = step == 2});
    }
    writer.EndRun(measured, outcome);
    writer.Close();
  }
  const auto runs = LoadTrace(file.path(), nullptr, nullptr);
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(RemarksOf(*runs[0]), "25% uncalibrated, 4% extrapolated");
  EXPECT_EQ(RemarksOf(*runs[1]), "oversubscribed, 1 of 4 steps disturbed");
}

TEST(RunRemarksTest, AnUncalibratedPredictionHasNoShares) {
  RunData run;
  run.uncalibrated = true;
  run.uncalibrated_share = 1;
  EXPECT_EQ(RemarksOf(run), "uncalibrated");
  EXPECT_EQ(RemarksOf(RunData()), "");
}

std::shared_ptr<const RunData> RunOf(int64_t step_ns, int64_t low_ns, int64_t high_ns) {
  auto run = std::make_shared<RunData>();
  run->step_ns = step_ns;
  run->step_low_ns = low_ns;
  run->step_high_ns = high_ns;
  return run;
}

// 100 (90 to 110) beside 105 (95 to 115): they overlap by 15 and differ by 5. Beside 120 (109 to 130) by 1
// and 20.
// Input: 125 measured, 100 predicted, 80 with a change. Law: the change gains a fifth; that the model is a
// fifth short is told apart from it; only what-ifs have either.
TEST(WhatIfEffectTest, IsAgainstTheUnchangedPrediction) {
  RunData run;
  run.kind = RunKind::kWhatIf;
  run.step_ns = 80;
  EXPECT_FALSE(EffectOf(run));
  run.unchanged_step_ns = 100;
  EXPECT_DOUBLE_EQ(EffectOf(run)->change, -0.2);
  EXPECT_FALSE(EffectOf(run)->bias);
  run.measured_step_ns = 125;
  EXPECT_DOUBLE_EQ(*EffectOf(run)->bias, -0.2);
  run.kind = RunKind::kSimulated;
  EXPECT_FALSE(EffectOf(run));
}

TEST(TimelineTest, CannotTellWhereIntervalsOverlapMoreThanTheyDiffer) {
  Timeline timeline;
  const RunKey base = timeline.Add(RunOf(100, 90, 110)), near = timeline.Add(RunOf(105, 95, 115)),
               far = timeline.Add(RunOf(120, 109, 130)), unknown = timeline.Add(RunOf(101, 0, 0));
  timeline.SetBaseline(base);
  EXPECT_TRUE(timeline.CannotTell(near));
  EXPECT_FALSE(timeline.CannotTell(far));
  EXPECT_FALSE(timeline.CannotTell(unknown));
  EXPECT_FALSE(timeline.CannotTell(base));
}

}  // namespace
}  // namespace lanescope::gui
