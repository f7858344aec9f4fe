// From what an input did to what its threads cost.
#include "sims/input_costs.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "sims/cost_table.h"
#include "sims/input_costs_json.h"

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
Event Launch(int64_t start, int64_t end, int step = 0) {
  Event event = Step(start, end, step);
  event.kind = EventKind::kCommand;
  event.command = CommandId(0);
  return event;
}

// Two steps of a thread from 0 to 1000, of which it waits 400: 300 each. With a core for everybody that is
// what it takes alone.
TEST(InputCosts, AStepIsWhatIsLeftWithoutWaiting) {
  InputRecord input;
  input.threads = {{0, "enqueue", "q"}};
  input.queues = {{0, "queue 'q'", 10, 0}};
  input.steps = {{0, 0, 0, 500}, {0, 1, 500, 1000}};
  input.waits = {{0, 0, 3, 0, 100, 300}, {0, 1, 3, 0, 700, 900}};
  input.works = {{0, 7, 2, 120}};
  const auto op = [](int node) { return std::string(node == 7 ? "ReaderReadV2" : "QueueEnqueueV2"); };
  const InputCosts costs = FitInput(input, std::vector{Step(0, 1000)}, 4, op);
  ASSERT_EQ(costs.threads.size(), 1u);
  EXPECT_EQ(costs.threads[0].op, "enqueue");
  EXPECT_EQ(costs.threads[0].ns, 300);
  EXPECT_EQ(costs.threads[0].exclusive_ns, 60);
  EXPECT_EQ(costs.threads[0].count, 2);
  EXPECT_EQ(costs.step_factor, 1);
  EXPECT_EQ(costs.cores, 4);
}

// Two threads on one core, all the time: alone they would take half.
TEST(InputCosts, WhatSharedACoreCountsAsItWouldAlone) {
  InputRecord input;
  input.threads = {{0, "a", "q"}, {1, "b", "q"}};
  input.steps = {{0, 0, 0, 1000}, {1, 0, 0, 1000}};
  const InputCosts costs = FitInput(input, {}, 1, NoOp);
  ASSERT_EQ(costs.threads.size(), 2u);
  EXPECT_EQ(costs.threads[0].ns, 500);
  EXPECT_EQ(costs.threads[1].ns, 500);
  EXPECT_EQ(FitInput(input, {}, 2, NoOp).threads[0].ns, 1000);
  // A step whose launches take all of its time beside one of them.
  input.threads.pop_back();
  input.steps.pop_back();
  const InputCosts beside = FitInput(input, std::vector{Step(0, 1000), Launch(0, 1000)}, 1, NoOp);
  EXPECT_DOUBLE_EQ(beside.step_factor, 0.5);
  EXPECT_EQ(beside.threads[0].ns, 500);
}

// A step of 1000 that waits from 100 to 500, while a command runs from 200 to 250: 350 of it go.
TEST(InputCosts, StepsAreShorterByTheTimeInWhichTheyOnlyWaited) {
  const std::vector<Event> events = {Launch(0, 100), Launch(200, 250),      Launch(500, 1000),
                                     Step(0, 1000),  Launch(1010, 1100, 1), Step(1000, 1100, 1)};
  const std::vector<InputWait> waits = {{kNoInputThread, 0, 0, 0, 100, 500}, {0, 0, 0, 0, 0, 900}};
  const std::vector<Event> without = WithoutWaits(events, waits);
  EXPECT_EQ(without[1].start_ns, 100);
  EXPECT_EQ(without[1].end_ns, 150);
  EXPECT_EQ(without[2].start_ns, 150);
  EXPECT_EQ(without[3].start_ns, 0);
  EXPECT_EQ(without[3].end_ns, 650);
  EXPECT_EQ(without[5].start_ns, 650);
  EXPECT_EQ(without[5].end_ns, 750);
  EXPECT_EQ(WithoutWaits(events, {})[3].end_ns, 1000);
}

TEST(InputCosts, AreKeptInCostFiles) {
  CostTable table;
  table.calibrated_on = "run 1";
  EXPECT_EQ(CostTableToJson(table).find("\"input\""), std::string::npos);
  table.input = {2, 0.75, {{"fill", 3000, 1000, 50}}};
  const CostTable read = ParseCostTable(CostTableToJson(table));
  EXPECT_EQ(read.input.cores, 2);
  EXPECT_EQ(read.input.step_factor, 0.75);
  ASSERT_NE(read.input.Find("fill"), nullptr);
  EXPECT_EQ(read.input.Find("fill")->exclusive_ns, 1000);
  EXPECT_EQ(read.input.Find("other"), nullptr);
  nlohmann::json wrong = InputCostsJson(table.input);
  wrong["step_factor"] = 0;
  EXPECT_THROW(ParseInputCosts(wrong), Error);
  wrong = InputCostsJson(table.input);
  wrong["threads"][0]["exclusive_ns"] = 4000;
  EXPECT_THROW(ParseInputCosts(wrong), Error);
  wrong = InputCostsJson(table.input);
  wrong["threads"][0]["extra"] = 1;
  EXPECT_THROW(ParseInputCosts(wrong), Error);
}

}  // namespace
}  // namespace lanescope::sims
