// SPDX-License-Identifier: Apache-2.0
#include "sims/fit/calibrate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/base/error.h"
#include "core/base/statistics.h"
#include "sims/cost/cost_model.h"
#include "sims/cost/roofline_fit.h"
#include "sims/fit/fit_chain.h"
#include "sims/fit/step_samples.h"
#include "sims/predict/predict.h"
#include "sims/predict/replay.h"
#include "tests/sims/effects_of.h"
#include "tests/sims/schedule_maker.h"

namespace lanescope::sims {
namespace {

// 1 to 21: the median is 11, and 19 of 21 lie at most 9 from it.
TEST(Summarise, TakesMedianAndTheDistanceOfNineInTen) {
  std::vector<int64_t> samples;
  for (int i = 21; i >= 1; --i) samples.push_back(i);
  const SampleSummary summary = Summarise(samples);
  EXPECT_EQ(summary.ns, 11);
  EXPECT_EQ(summary.spread_ns, 9);
  EXPECT_EQ(summary.count, 21);
}

// One in five takes four times as long: the spread reaches there. One in fifty-one does not move it.
TEST(Summarise, ASlowModeIsWithinTheSpreadAnOutlierIsNot) {
  std::vector<int64_t> samples(80, 100);
  samples.resize(100, 400);
  EXPECT_EQ(Summarise(samples).ns, 100);
  EXPECT_EQ(Summarise(samples).spread_ns, 300);
  samples.assign(50, 100);
  samples.push_back(100'000);
  EXPECT_EQ(Summarise(samples).ns, 100);
  EXPECT_EQ(Summarise(samples).spread_ns, 0);
}

TEST(Summarise, NothingGivesZeros) { EXPECT_EQ(Summarise({}).count, 0); }

TEST(FitRoofline, RecoversAnExactLine) {
  // ns = 50 + 0.001 flops + 0.1 bytes.
  std::vector<WorkPoint> points;
  for (int i = 1; i <= 12; ++i) {
    const double flops = 1000.0 * i * i, bytes = 5000.0 * (i % 5 + 1);
    points.push_back({flops, bytes, 50 + 0.001 * flops + 0.1 * bytes});
  }
  const RooflineFit fit = FitRoofline(points);
  EXPECT_NEAR(fit.fixed_ns, 50, 1e-6);
  EXPECT_NEAR(fit.ns_per_flop, 0.001, 1e-9);
  EXPECT_NEAR(fit.ns_per_byte, 0.1, 1e-9);
  EXPECT_NEAR(fit.spread, 0, 1e-9);
}

TEST(FitRoofline, NeverGivesANegativeCoefficient) {
  // Time falls with flops, which only a negative coefficient could say: the flops term is left out.
  std::vector<WorkPoint> points;
  for (int i = 1; i <= 10; ++i) points.push_back({1000.0 * i, 10.0, 2000.0 - 100 * i});
  const RooflineFit fit = FitRoofline(points);
  EXPECT_GE(fit.ns_per_flop, 0);
  EXPECT_GE(fit.ns_per_byte, 0);
  EXPECT_GE(fit.fixed_ns, 0);
  EXPECT_GT(fit.Predict(5000, 10), 0);
  EXPECT_EQ(FitRoofline({}).points, 0);
}

TEST(CalibrateCosts, GroupsBySignatureAndDeviceAndSkipsWarmUp) {
  const Machine machine = StarMachine(2, 1e9, 0, 0);
  std::vector<OpSample> ops;
  for (int step = 0; step < 6; ++step) {
    ops.push_back({"A", "MatMul", "virtual 1 worker", {100, 10}, step < 2 ? 9999 : 100 + step, step});
    ops.push_back({"A", "MatMul", "host 2 workers", {100, 10}, 50, step});
  }
  const CostTable table = CalibrateCosts(ops, {}, machine, 2);
  ASSERT_EQ(table.launches.size(), 2u);
  EXPECT_EQ(table.launches[0].device, "host 2 workers");
  EXPECT_EQ(table.launches[1].ns, 104);  // the mean of 102 to 105, rounded
  EXPECT_EQ(table.launches[1].count, 4);
  EXPECT_EQ(table.launches[1].work.flops, 100);
}

TEST(CalibrateCosts, FitsCopiesOverTheMachinesTime) {
  // Measured = 500 + 1.25 * plain, plain = bytes at 1 byte per ns.
  const Machine machine = StarMachine(2, 1e9, 0, 0);
  const std::vector<DeviceId> gpus = machine.Gpus();
  std::vector<CopySample> copies;
  for (const int64_t bytes : {1000, 10'000, 100'000, 1'000'000}) {
    for (int i = 0; i < 3; ++i) copies.push_back({gpus[0], gpus[1], bytes, 500 + bytes * 5 / 4, 5});
  }
  const CostTable table = CalibrateCosts({}, copies, machine, 0);
  ASSERT_EQ(table.copies.size(), 1u);
  EXPECT_NEAR(table.copies[0].overhead_ns, 500, 1);
  EXPECT_NEAR(table.copies[0].factor, 1.25, 1e-3);
  EXPECT_EQ(table.copies[0].min_bytes, 1000);
  EXPECT_EQ(table.copies[0].max_bytes, 1'000'000);
  EXPECT_EQ(table.copies[0].count, 12);
}

TEST(CalibrateCosts, OneCopySizeGivesAnOverhead) {
  const Machine machine = StarMachine(2, 1e9, 0, 0);
  const std::vector<DeviceId> gpus = machine.Gpus();
  const std::vector<CopySample> copies = {{gpus[0], gpus[1], 1000, 1300, 0}};
  const CostTable table = CalibrateCosts({}, copies, machine, 0);
  EXPECT_DOUBLE_EQ(table.copies[0].overhead_ns, 300);
  EXPECT_DOUBLE_EQ(table.copies[0].factor, 1);
}

// A run that a simulation with known gaps stands in for, and its events.
struct SyntheticRun : EventSink {
  SyntheticRun(const Schedule& schedule, const Machine& machine, const IdVector<CommandId, int64_t>& ns,
               const Delays& gaps, int steps) {
    IdVector<CommandId, int64_t> costs = ns;
    Simulator simulator(schedule, machine, {.delays = gaps});
    for (int step = 0; step < steps; ++step) {
      for (const CommandId c : ns.ids()) {
        if (schedule.commands[c].kind == CommandKind::kLaunch)
          costs[c] = ns[c] + (step * 7919 + c.number() * 31) % 500;
      }
      SimulationResult result;
      simulator.Run({costs, {}}, &result);
      step_ = step;
      PublishSteps(schedule, result, 1, origin_, this);
      origin_ += result.step_ns;
    }
  }
  void Consume(std::span<const Event> batch) override {
    for (Event event : batch) {
      event.step = step_;
      events.push_back(event);
    }
  }
  void CountDropped(int64_t) override {}
  std::vector<Event> events;

 private:
  int step_ = 0;
  int64_t origin_ = 1'000'000;
};

// Twelve steps of three ops, 10, 20 and 30 us; in three of them the second takes 40 us. Law: what is
// predicted of the run that calibrated it is its median step, not the mean that the slow ones draw up.
TEST(SamplesOfSteps, TheCalibratedRunPredictsItsMedian) {
  const Machine machine = StarMachine(1, 1e9, 0, 0);
  ScheduleMaker maker;
  const QueueId queue = maker.Queue(machine.Gpus()[0]);
  CommandId before = maker.Launch(queue, 0);
  for (int i = 0; i < 2; ++i) before = maker.Launch(queue, 0, {before});
  const Schedule schedule = maker.Build();
  const IdVector<CommandId, SignedWork> work = {{"A", "A", {}}, {"B", "B", {}}, {"C", "C", {}}};
  std::vector<Event> events;
  std::vector<int64_t> lengths;
  int64_t at = 0;
  for (int step = 0; step < 12; ++step) {
    const int64_t start = at;
    const int64_t ns[] = {10'000 + 10 * step, step % 4 == 2 ? 40'000 : 20'000, 30'000};
    for (int c = 0; c < 3; ++c) {
      events.push_back({.start_ns = at, .end_ns = at + ns[c], .command = CommandId(c), .step = step});
      at += ns[c];
    }
    events.push_back({.start_ns = start, .end_ns = at, .step = step, .kind = EventKind::kStep});
    lengths.push_back(at - start);
  }
  const CalibrationInput input = SamplesOf(schedule, work, events, machine);
  EXPECT_EQ(input.ops.size(), 18u);  // of six steps
  const CalibratedCost costs(FitCosts(input, {}, machine, "run 1"));
  PredictionSettings settings = SettingsOf(costs.table());
  settings.draws = 0;
  const Prediction prediction =
      Predict(schedule, machine, EstimateCommands(schedule, work, machine, costs, settings), settings);
  EXPECT_NEAR(static_cast<double>(prediction.step_ns), static_cast<double>(Median(lengths)), 50);
}

class GapEstimate : public testing::Test {
 protected:
  GapEstimate() {
    for (auto& classes : gaps_.gap_ns) classes = {400, 900};
    gaps_.handoff_ns = {{{3000, 2500}, {1700, 2100}}};
    gaps_.step_start_ns = 5000;
    gaps_.step_finish_ns = 2000;
    ScheduleMaker maker = RandomStarSchedule(machine_, 300, 30, 4);
    ns_ = maker.ns();
    schedule_ = maker.Build();
  }
  Machine machine_ = StarMachine(3, 12.5e9, 0, 0);
  Delays gaps_;
  IdVector<CommandId, int64_t> ns_;
  Schedule schedule_;
};

TEST_F(GapEstimate, RecoversTheGapsOfASyntheticRun) {
  const SyntheticRun run(schedule_, machine_, ns_, gaps_, 10);
  const auto steps = GroupSteps(schedule_, run.events, 0);
  ASSERT_EQ(steps.size(), 10u);
  const Delays found = FittedDelays(schedule_, machine_, steps);
  EXPECT_EQ(found.step_start_ns, 5000);
  EXPECT_EQ(found.step_finish_ns, 2000);
  EXPECT_EQ(found.gap(DeviceKind::kModelled, QueueClass::kCompute), 400);
  // One of them was not ready quite as soon as the copy before had ended.
  EXPECT_NEAR(static_cast<double>(found.gap(DeviceKind::kModelled, QueueClass::kCopy)), 900, 5);
  EXPECT_EQ(found.handoff(QueueClass::kCompute, QueueClass::kCopy), 2500);
  EXPECT_EQ(found.handoff(QueueClass::kCopy, QueueClass::kCompute), 1700);
}

// A chain of a launch, two copies that are ready at once, and a launch, whose driver is awake soon in half of
// the steps (10 us) and asleep in the others (70 us). Law: a hand-off takes the mean, the second copy its
// gap.
TEST(GapsOfAChain, AreMeans) {
  ScheduleMaker maker;
  const QueueId first = maker.Queue(DeviceId(1)), copies = maker.Queue(DeviceId(2), QueueKind::kCopyIn),
                second = maker.Queue(DeviceId(2));
  const CommandId begin = maker.Launch(second, 0), launch = maker.Launch(first, 0, {begin}),
                  copy0 = maker.Copy(copies, DeviceId(1), DeviceId(2), 400, 0, {begin}),
                  copy1 = maker.Copy(copies, DeviceId(1), DeviceId(2), 400, 0, {launch}),
                  copy2 = maker.Copy(copies, DeviceId(1), DeviceId(2), 400, 0, {launch}),
                  last = maker.Launch(second, 0, {copy1, copy2});
  const Schedule schedule = maker.Build();
  std::vector<Event> events;
  for (int step = 0; step < 8; ++step) {
    const int64_t at = 10'000'000 * step, handoff = step % 2 == 0 ? 10'000 : 70'000;
    int64_t now = at;
    const auto run = [&](CommandId command, int64_t delay) {
      events.push_back(
          {.start_ns = now + delay, .end_ns = now + delay + 100'000, .command = command, .step = step});
      now += delay + 100'000;
    };
    run(begin, 0);
    run(copy0, 5'000);
    run(launch, 5'000);
    run(copy1, handoff);
    run(copy2, 3'000);
    run(last, 20'000);
    events.push_back({.start_ns = at, .end_ns = now, .step = step, .kind = EventKind::kStep});
  }
  EffectSet effects;
  const Machine machine = VirtualMachine(2, 1);
  FitChain(schedule, machine, GroupSteps(schedule, events, 0), &effects);
  const Delays gaps = DelaysOf(effects);
  EXPECT_EQ(gaps.handoff(QueueClass::kCompute, QueueClass::kCopy), 40'000);
  EXPECT_EQ(gaps.handoff(QueueClass::kCopy, QueueClass::kCompute), 20'000);
  EXPECT_EQ(gaps.gap(DeviceKind::kVirtual, QueueClass::kCopy), 3'000);
  EXPECT_EQ(gaps.gap(DeviceKind::kVirtual, QueueClass::kCompute), 0) << "is the calibrated run's";
}

// Two tasks take turns: a message there, one back, then commands that wait for the other's without data.
// Laws: hand-offs to and from messages and signals are the chain's means; what copies have stays.
TEST(GapsOfMessages, AreThoseOfTheirChain) {
  const Machine machine = ParseMachine(R"({"devices": [{"name": "/job:w/task:0/CPU:0", "kind": "host"},
    {"name": "/job:w/task:1/CPU:0", "kind": "host"}],
    "links": [{"between": ["/job:w/task:0/CPU:0", "/job:w/task:1/CPU:0"], "bandwidth": "1GB/s"}]})");
  ScheduleMaker maker;
  const QueueId here = maker.Queue(DeviceId(0)), there = maker.Queue(DeviceId(1)),
                out = maker.Queue(DeviceId(0), QueueKind::kCopyOut),
                back = maker.Queue(DeviceId(1), QueueKind::kCopyOut);
  std::vector<CommandId> chain;
  const auto add = [&](bool is_message, QueueId queue) {
    const std::vector<CommandId> after = chain.empty() ? std::vector<CommandId>() : std::vector{chain.back()};
    const DeviceId src(queue == out ? 0 : 1), dst(queue == out ? 1 : 0);
    chain.push_back(is_message ? maker.Copy(queue, src, dst, 400, 0, after) : maker.Launch(queue, 0, after));
  };
  for (int turn = 0; turn < 3; ++turn) {
    add(false, here);
    add(true, out);
    add(false, there);
    add(true, back);
  }
  for (int turn = 0; turn < 2; ++turn) {
    add(false, turn == 0 ? there : here);  // the first one is told by the end of the message there
    add(false, turn == 0 ? here : there);
  }
  const Schedule schedule = maker.Build();
  std::vector<Event> events;
  for (int step = 0; step < 8; ++step) {
    const int64_t begin = 10'000'000 * step;
    int64_t now = begin;
    for (size_t i = 0; i < chain.size(); ++i) {
      const bool message = schedule.commands[chain[i]].kind == CommandKind::kCopy;
      const bool after_message = i > 0 && schedule.commands[chain[i - 1]].kind == CommandKind::kCopy;
      const int64_t delay = message ? 30'000 : after_message ? 50'000 + 20'000 * (step % 2) : 400'000;
      const int64_t start = now + (i == 0 ? 0 : delay);
      now = start + 100'000;
      events.push_back({.start_ns = start, .end_ns = now, .command = chain[i], .step = step});
    }
    events.push_back({.start_ns = begin, .end_ns = now, .step = step, .kind = EventKind::kStep});
  }
  HandOff of_copies;
  of_copies.ns[0][1] = 7;
  EffectSet effects;
  effects.Put(of_copies);
  FitMessageChain(schedule, machine, GroupSteps(schedule, events, 0), &effects);
  const Delays gaps = DelaysOf(effects);
  EXPECT_EQ(gaps.handoff(QueueClass::kCompute, QueueClass::kMessage), 30'000);
  EXPECT_EQ(gaps.handoff(QueueClass::kMessage, QueueClass::kCompute), 60'000);
  EXPECT_EQ(gaps.handoff(QueueClass::kMessage, QueueClass::kMessage), 45'000)
      << "never met: the others' mean";
  EXPECT_EQ(gaps.handoff(QueueClass::kCompute, QueueClass::kCopy), 7);
  EXPECT_EQ(gaps.signal_ns, 400'000);
}

TEST_F(GapEstimate, TellsSleepingDriversFromHandoffs) {
  // The compute drivers are awake 400 us after their first command is ready.
  gaps_.wake_ns[static_cast<size_t>(DeviceKind::kModelled)][0] = 400'000;
  const SyntheticRun run(schedule_, machine_, ns_, gaps_, 6);
  const Delays found = FittedDelays(schedule_, machine_, GroupSteps(schedule_, run.events, 0));
  EXPECT_EQ(found.wake(DeviceKind::kModelled, QueueClass::kCompute), 400'000);
  EXPECT_EQ(found.wake(DeviceKind::kModelled, QueueClass::kCopy), 0);
  EXPECT_EQ(found.handoff(QueueClass::kCopy, QueueClass::kCompute), 1700);
  EXPECT_EQ(found.step_start_ns, 5000);
}

// Law: a wake-up is a delay after readiness. A queue whose only command comes at the end of a step of
// 40 ms, and begins 150 us late, has a wake-up of 150 us, not of 40 ms.
TEST(GapEstimateOfLateQueues, ALateLastCommandIsNotAStepLate) {
  const Machine machine = StarMachine(2, 1e9, 0, 0);
  const DeviceId gpu = machine.Gpus()[0];
  ScheduleMaker maker;
  const QueueId compute = maker.Queue(gpu), out = maker.Queue(gpu, QueueKind::kCopyOut);
  const CommandId work = maker.Launch(compute, 40'000'000);
  maker.Copy(out, gpu, machine.host(), 100, 1000, {work});
  const Schedule schedule = maker.Build();
  std::vector<MeasuredStep> steps(9);
  for (MeasuredStep& step : steps) {
    step.command_start_ns = {20'000, 40'170'000};
    step.command_end_ns = {40'020'000, 40'180'000};
    step.end_ns = 40'190'000;
  }
  const Delays found = FittedDelays(schedule, machine, steps);
  EXPECT_EQ(found.wake(DeviceKind::kModelled, QueueClass::kCopy), 150'000);
  EXPECT_EQ(found.wake(DeviceKind::kModelled, QueueClass::kCompute), 0);
  EXPECT_EQ(found.step_start_ns, 20'000);
}

TEST_F(GapEstimate, ReplayWithMeasuredDurationsReproducesTheStep) {
  const SyntheticRun run(schedule_, machine_, ns_, gaps_, 8);
  const auto steps = GroupSteps(schedule_, run.events, 2);
  ASSERT_EQ(steps.size(), 6u);
  const ReplayReport report =
      ReplaySteps(schedule_, machine_, steps, FitEffects(StepStarts(schedule_, machine_, steps)));
  EXPECT_LT(std::abs(report.error), 1e-3);
  for (size_t i = 0; i < steps.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(report.replayed_ns[i]), static_cast<double>(report.measured_ns[i]),
                1e-3 * static_cast<double>(report.measured_ns[i]));
  }
}

TEST_F(GapEstimate, IncompleteStepsAreLeftOutAndStrangeEventsRefused) {
  SyntheticRun run(schedule_, machine_, ns_, gaps_, 3);
  std::erase_if(run.events, [](const Event& e) { return e.step == 1 && e.command == CommandId(17); });
  EXPECT_EQ(GroupSteps(schedule_, run.events, 0).size(), 2u);
  std::vector<Event> strange = {{.command = CommandId(1 << 20)}};
  EXPECT_THROW(GroupSteps(schedule_, strange, 0), Error);
  strange = {{.start_ns = 5, .end_ns = 4, .command = CommandId(0)}};
  EXPECT_THROW(GroupSteps(schedule_, strange, 0), Error);
}

TEST_F(GapEstimate, StepsWithoutNoiseHaveNoCommonSpread) {
  std::vector<MeasuredStep> steps(5);
  for (MeasuredStep& step : steps) step.end_ns = 1000;
  EXPECT_EQ(EstimateCommonSpread(steps), 0);
  EXPECT_EQ(EstimateCommonSpread({}), 0);
}

}  // namespace
}  // namespace lanescope::sims
