// SPDX-License-Identifier: Apache-2.0
#include "study/measure/pair_correction.h"

#include <gtest/gtest.h>

#include <vector>

namespace lanescope::study {
namespace {

// Commands 0 to 9 on an in-order queue, 10 to 19 on another, 20 on a queue of the host.
Schedule Queues() {
  Schedule schedule;
  schedule.queues = {{DeviceId(1), QueueKind::kCompute, true, "GPU:0 compute"},
                     {DeviceId(2), QueueKind::kCompute, true, "GPU:1 compute"},
                     {DeviceId(0), QueueKind::kCompute, false, "CPU:0"}};
  for (int c = 0; c < 21; ++c) {
    Command command;
    command.queue = QueueId(c / 10);
    schedule.commands.Add(command);
  }
  return schedule;
}

Event Pair(int command, int64_t start, int64_t end) {
  Event event;
  event.command = CommandId(command);
  event.start_ns = start;
  event.end_ns = end;
  event.by_pair = command < 20;
  return event;
}

Event StepOf(int64_t start, int64_t end) {
  Event event;
  event.kind = EventKind::kStep;
  event.start_ns = start;
  event.end_ns = end;
  return event;
}

// Ten kernels of 3650 ns one right behind the other, as an H100 was seen with them: between two events each
// takes 6050, with 1700 to the next. Law: a step that is 10 x 4100 longer for it gets kernels of 3650 without
// gaps.
TEST(PairCorrection, GivesKernelsTheirLengthsBack) {
  const Schedule schedule = Queues();
  std::vector<Event> events;
  for (int c = 0; c < 10; ++c) events.push_back(Pair(c, 1000 + c * 7750, 1000 + c * 7750 + 6050));
  events.push_back(StepOf(0, 1000 + 10 * 7750 + 500));
  EXPECT_EQ(TakeOutPairs(schedule, 41'000, events), 4100);
  for (int c = 0; c < 10; ++c) {
    EXPECT_NEAR(static_cast<double>(events[static_cast<size_t>(c)].start_ns), 1000 + c * 3650, 20) << c;
    EXPECT_NEAR(static_cast<double>(events[static_cast<size_t>(c)].end_ns), 1000 + (c + 1) * 3650, 20) << c;
  }
  // The last gap is not the pairs'.
  EXPECT_NEAR(static_cast<double>(events.back().end_ns), 1000 + 10 * 3650 + 1700 + 500, 60);
  EXPECT_EQ(events.back().start_ns, 0);
}

// Two streams at the same time were delayed once, one after the other twice; what the host does after them
// moves with them, and a wait of a millisecond between commands stays.
TEST(PairCorrection, TakesOutOnceWhatRanAtTheSameTime) {
  const Schedule schedule = Queues();
  std::vector<Event> together = {Pair(0, 0, 10'000), Pair(10, 0, 10'000), Pair(20, 12'000, 13'000),
                                 StepOf(0, 14'000)};
  EXPECT_EQ(TakeOutPairs(schedule, 3000, together), 3000);
  EXPECT_EQ(together[0].end_ns, 7000);
  EXPECT_EQ(together[1].end_ns, 7000);
  EXPECT_EQ(together[2].start_ns, 9000);
  EXPECT_EQ(together[3].end_ns, 11'000);
  std::vector<Event> in_turn = {Pair(0, 0, 10'000), Pair(10, 10'000, 20'000), Pair(1, 1'020'000, 1'030'000),
                                StepOf(0, 1'030'000)};
  EXPECT_EQ(TakeOutPairs(schedule, 9000, in_turn), 3000);
  EXPECT_EQ(in_turn[1].start_ns, 7000);
  EXPECT_EQ(in_turn[1].end_ns, 14'000);
  EXPECT_EQ(in_turn[2].start_ns, 1'014'000) << "a million ns after the second";
  EXPECT_EQ(in_turn[3].end_ns, 1'021'000);
}

// However much is said to have been added: order stays, a tenth of each command stays, and no pair gets more
// than any was seen to take.
TEST(PairCorrection, LeavesATenth) {
  const Schedule schedule = Queues();
  std::vector<Event> events = {Pair(0, 0, 1000), Pair(1, 1000, 2000), Pair(2, 5000, 55'000),
                               StepOf(0, 60'000)};
  EXPECT_EQ(TakeOutPairs(schedule, 1'000'000, events), kLongestPairNs);
  EXPECT_EQ(events[0].end_ns, 100);
  EXPECT_EQ(events[1].start_ns, 100);
  EXPECT_EQ(events[1].end_ns, 200);
  EXPECT_EQ(events[2].start_ns, 200) << "the gap was the pair's";
  EXPECT_EQ(events[2].end_ns - events[2].start_ns, 43'000);
}

TEST(PairCorrection, LeavesStepsAloneThatPairsDidNotLengthen) {
  const Schedule schedule = Queues();
  std::vector<Event> events = {Pair(0, 0, 1000), StepOf(0, 2000)};
  for (const int64_t added : {int64_t{0}, int64_t{-500}}) EXPECT_EQ(TakeOutPairs(schedule, added, events), 0);
  EXPECT_EQ(events[0].end_ns, 1000);
  std::vector<Event> on_host = {Pair(20, 0, 1000), StepOf(0, 2000)};
  EXPECT_EQ(TakeOutPairs(schedule, 500, on_host), 0);
  EXPECT_EQ(on_host[1].end_ns, 2000);
}

}  // namespace
}  // namespace lanescope::study
