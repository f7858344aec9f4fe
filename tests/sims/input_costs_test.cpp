// SPDX-License-Identifier: Apache-2.0
// From what an input did to what its threads cost.
#include "sims/cost/input_costs.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "sims/cost/cost_table.h"
#include "sims/cost/input_costs_json.h"

namespace lanescope::sims {
namespace {

std::string NoOp(int) { return "NoOp"; }

Event Step(int64_t start, int64_t end, int step = 0) {
  Event event;
  event.kind = EventKind::kStep;
  event.start_ns = start;
  event.end_ns = end;
  event.step = step;
  return event;
}
InputRun RunOf(const InputRecord& input, std::span<const Event> events, int cores) {
  return {input, events, cores, [](CommandId) { return true; }, NoOp};
}

Event Launch(int64_t start, int64_t end, int step = 0) {
  Event event = Step(start, end, step);
  event.kind = EventKind::kCommand;
  event.command = CommandId(0);
  return event;
}

// Three steps of a thread from 0 to 1500, in each of which it waits 200: 300 each. With a core for everybody
// that is what it takes alone.
TEST(InputCosts, AStepIsWhatIsLeftWithoutWaiting) {
  InputRecord input;
  input.threads = {{0, "enqueue", "q"}};
  input.queues = {{0, "queue 'q'", 10, 0}};
  input.steps = {{0, 0, 0, 500}, {0, 1, 500, 1000}, {0, 2, 1000, 1500}};
  input.waits = {{0, 0, 3, 0, 100, 300}, {0, 1, 3, 0, 700, 900}, {0, 2, 3, 0, 1100, 1300}};
  input.works = {{0, 7, 2, 120}};
  const auto op = [](int node) { return std::string(node == 7 ? "ReaderReadV2" : "QueueEnqueueV2"); };
  const std::vector<Event> events = {Step(0, 1500)};
  InputRun run = RunOf(input, events, 4);
  run.op_of_node = op;
  const InputCosts costs = FitInput(run);
  ASSERT_EQ(costs.threads.size(), 1u);
  EXPECT_EQ(costs.threads[0].op, "enqueue");
  EXPECT_EQ(costs.threads[0].ns, 300);
  EXPECT_EQ(costs.threads[0].exclusive_ns, 60);
  EXPECT_EQ(costs.threads[0].count, 2);
  EXPECT_EQ(costs.cores, 4);
}

// Steps that end at 100, 300 and 900, the last of which waits 200: between their ends the thread worked 200
// and 400.
TEST(InputCosts, StepsAreKeptOneByOne) {
  InputRecord input;
  input.threads = {{0, "enqueue", "q"}};
  input.queues = {{0, "queue 'q'", 10, 0}};
  input.steps = {{0, 0, 0, 100}, {0, 1, 120, 300}, {0, 2, 300, 900}};
  input.waits = {{0, 2, 3, 0, 400, 600}};
  const std::vector<Event> events = {Step(0, 1000)};
  const InputCosts costs = FitInput(RunOf(input, events, 4));
  ASSERT_EQ(costs.threads.size(), 1u);
  EXPECT_EQ(costs.threads[0].times, (std::vector<int64_t>{200, 400}));
}

// Means weigh as many steps as they are of.
TEST(InputCosts, OfSeveralRunsArePooled) {
  InputCosts all;
  AddInputCosts({2, {{"fill", 100, 10, 30, {100}}}}, &all);
  AddInputCosts({}, &all);
  AddInputCosts({2, {{"fill", 200, 50, 10, {200}}, {"files", 5, 0, 0}}}, &all);
  ASSERT_EQ(all.threads.size(), 2u);
  EXPECT_EQ(all.Find("fill")->ns, 125);
  EXPECT_EQ(all.Find("fill")->exclusive_ns, 20);
  EXPECT_EQ(all.Find("fill")->count, 40);
  EXPECT_EQ(all.Find("fill")->times, (std::vector<int64_t>{100, 200}));
  EXPECT_EQ(all.Find("files")->ns, 5);
}

// Two threads whose steps of 100 end every 80, from one of them or the other: 80 of a step are of one thread
// at a time. Were they twice as fast as one, it would be nothing.
TEST(InputCosts, ThreadsThatAreNoFasterTogetherTakeTurns) {
  for (const int64_t apart : {80, 50}) {
    InputRecord input;
    input.threads = {{0, "fill", "q"}, {1, "fill", "q"}};
    input.steps = {{0, 0, 0, 10}, {1, 0, 0, 10}};
    for (int step = 1; step <= 100; ++step) {
      const int64_t end = 10 + step * apart;
      input.steps.push_back({step % 2, step, end - 2 * apart, end});
    }
    const InputCosts costs = FitInput(RunOf(input, {}, 2));
    ASSERT_EQ(costs.threads.size(), 1u);
    EXPECT_NEAR(static_cast<double>(costs.threads[0].together_ns), static_cast<double>(apart), 3);
    EXPECT_GE(costs.threads[0].together_count, 90);
    InputCost cost = costs.threads[0];
    cost.ns = 100;
    EXPECT_EQ(cost.SerialNs(), apart == 80 ? cost.together_ns : 0);
  }
}

// Two threads on one core, all the time, with steps that are long against a time slice: alone they would take
// half.
TEST(InputCosts, WhatSharedACoreCountsAsItWouldAlone) {
  constexpr int64_t kLong = 20'000'000;
  InputRecord input;
  input.threads = {{0, "a", "q"}, {1, "b", "q"}};
  for (int step = 0; step < 3; ++step) {
    for (const int thread : {0, 1}) input.steps.push_back({thread, step, step * kLong, (step + 1) * kLong});
  }
  const InputCosts costs = FitInput(RunOf(input, {}, 1));
  ASSERT_EQ(costs.threads.size(), 2u);
  EXPECT_EQ(costs.threads[0].ns, kLong / 2);
  EXPECT_EQ(costs.threads[1].ns, kLong / 2);
  EXPECT_EQ(FitInput(RunOf(input, {}, 2)).threads[0].ns, kLong);
}

// A short step either has a core or stands still: of 100 steps beside another thread on one core, those that
// take 100 times as long as the others stood still.
TEST(InputCosts, AShortStepThatStoodStillIsNoLonger) {
  InputRecord input;
  input.threads = {{0, "short", "q"}, {1, "other", "q"}};
  int64_t now = 0;
  for (int step = 0; step < 100; ++step) {
    const int64_t took = step % 10 == 3 ? 1'000'000 : 10'000;
    input.steps.push_back({0, step, now, now + took});
    now += took;
  }
  input.steps.push_back({1, 0, 0, now / 2});
  input.steps.push_back({1, 1, now / 2, now});
  const InputCosts beside = FitInput(RunOf(input, {}, 1));
  ASSERT_NE(beside.Find("short"), nullptr);
  EXPECT_EQ(beside.Find("short")->ns, 10'000);
  // With a core for each it does take that long.
  EXPECT_NEAR(static_cast<double>(FitInput(RunOf(input, {}, 2)).Find("short")->ns), 110'000, 2'000);
}

// A step of 1000 that waits from 100 to 500, while a command runs from 200 to 250: 350 of it go.
TEST(InputCosts, StepsAreShorterByTheTimeInWhichTheyOnlyWaited) {
  const std::vector<Event> events = {Launch(0, 100), Launch(200, 250),      Launch(500, 1000),
                                     Step(0, 1000),  Launch(1010, 1100, 1), Step(1000, 1100, 1)};
  InputRecord input;
  input.waits = {{kNoInputThread, 0, 0, 0, 100, 500}, {0, 0, 0, 0, 0, 900}};
  const std::vector<Event> without = WithoutInput(RunOf(input, events, 4));
  EXPECT_EQ(without[1].start_ns, 100);
  EXPECT_EQ(without[1].end_ns, 150);
  EXPECT_EQ(without[2].start_ns, 150);
  EXPECT_EQ(without[3].start_ns, 0);
  EXPECT_EQ(without[3].end_ns, 650);
  EXPECT_EQ(without[5].start_ns, 650);
  EXPECT_EQ(without[5].end_ns, 750);
  EXPECT_EQ(WithoutInput(RunOf({}, events, 4))[3].end_ns, 1000);
}

// One launch of 100 ms on one core, beside a thread that works from 20 to 60 ms in two steps: of these 40 ms
// the step has half. Steps that are short against a time slice take nothing of it.
TEST(InputCosts, StepsAreShorterByWhatThreadsTookOfTheirCores) {
  constexpr int64_t kMs = 1'000'000;
  const std::vector<Event> events = {Launch(0, 100 * kMs), Step(0, 100 * kMs)};
  InputRecord input;
  input.threads = {{0, "a", "q"}};
  input.steps = {{0, 0, 20 * kMs, 40 * kMs}, {0, 1, 40 * kMs, 60 * kMs}};
  const std::vector<Event> alone = WithoutInput(RunOf(input, events, 1));
  EXPECT_EQ(alone[0].start_ns, 0);
  EXPECT_EQ(alone[0].end_ns, 80 * kMs);
  EXPECT_EQ(alone[1].end_ns, 80 * kMs);
  EXPECT_EQ(WithoutInput(RunOf(input, events, 2))[1].end_ns, 100 * kMs);
  input.steps.clear();
  for (int step = 0; step < 40; ++step)
    input.steps.push_back({0, step, (20 + step) * kMs, (21 + step) * kMs});
  EXPECT_EQ(WithoutInput(RunOf(input, events, 1))[1].end_ns, 100 * kMs);
}

TEST(InputCosts, AreKeptInCostFiles) {
  CostTable table;
  table.calibrated_on = "run 1";
  EXPECT_EQ(CostTableToJson(table).find("\"input\""), std::string::npos);
  table.input = {2, {{"fill", 3000, 1000, 50, {2000, 4000}}}};
  const CostTable read = ParseCostTable(CostTableToJson(table));
  EXPECT_EQ(read.input.cores, 2);
  ASSERT_NE(read.input.Find("fill"), nullptr);
  EXPECT_EQ(read.input.Find("fill")->exclusive_ns, 1000);
  EXPECT_EQ(read.input.Find("fill")->times, (std::vector<int64_t>{2000, 4000}));
  EXPECT_EQ(read.input.Find("other"), nullptr);
  nlohmann::json wrong = InputCostsJson(table.input);
  wrong["cores"] = 0;
  EXPECT_THROW(ParseInputCosts(wrong), Error);
  wrong = InputCostsJson(table.input);
  wrong["threads"][0]["exclusive_ns"] = 4000;
  EXPECT_THROW(ParseInputCosts(wrong), Error);
  wrong = InputCostsJson(table.input);
  wrong["threads"][0]["extra"] = 1;
  EXPECT_THROW(ParseInputCosts(wrong), Error);
  for (const nlohmann::json& times : {nlohmann::json{-1, 2}, nlohmann::json{0, 0}, nlohmann::json("x")}) {
    wrong = InputCostsJson(table.input);
    wrong["threads"][0]["times_ns"] = times;
    EXPECT_THROW(ParseInputCosts(wrong), Error) << times;
  }
}

}  // namespace
}  // namespace lanescope::sims
