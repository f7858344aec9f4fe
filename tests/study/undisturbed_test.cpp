// SPDX-License-Identifier: Apache-2.0
#include "study/measure/undisturbed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "traces/store/query.h"

namespace lanescope::study {
namespace {

using testing::Each;
using testing::ElementsAre;

constexpr int64_t kMs = 1'000'000;

// Two rounds of four steps of 100 ms; others ran for so long in each.
std::vector<Disturbance> Steps(int64_t others_ns) {
  return std::vector<Disturbance>(8, {.wall_ns = 100 * kMs, .others_ns = others_ns});
}

// Daemons that run on other processors than ours take nothing from a step: of 16 processors 14 are idle.
TEST(UndisturbedSteps, OthersOnIdleProcessorsDisturbNothing) {
  EXPECT_THAT(UndisturbedSteps(Steps(60 * kMs), 4), Each(1));
  std::vector<Disturbance> steps = Steps(400 * kMs);
  for (Disturbance& step : steps) step.waited_ns = kMs / 2;
  EXPECT_THAT(UndisturbedSteps(steps, 4), Each(1));
}

TEST(UndisturbedSteps, AllCountWhereNobodyElseRan) {
  EXPECT_THAT(UndisturbedSteps(Steps(0), 4), Each(1));
  EXPECT_TRUE(UndisturbedSteps({}, 4).empty());
}

// Law: on 16 processors of which 14 are idle at most one step in twenty is disturbed. The recordings are of
// an H100's host, with daemons beside; before, 60 to 97% of these steps did not count.
TEST(UndisturbedSteps, AMachineThatIsIdleBesideUsDisturbsNearlyNothing) {
  size_t all = 0, disturbed = 0;
  for (const char* name : {"h100_deepconn", "h100_deepconn_host8", "h100_cifar10"}) {
    const traces::QueryResult rows =
        traces::RunQuery(std::string(LANESCOPE_ACCURACY_TRACES) + "/" + name + ".db",
                         "SELECT d.runId, d.round, s.end - s.start, d.othersNs, d.stolenNs, d.waitedNs FROM "
                         "LANESCOPE_DISTURBANCE d "
                         "JOIN LANESCOPE_STEP s USING (runId, step) ORDER BY d.runId, d.step");
    std::map<int64_t, std::vector<Disturbance>> runs;
    std::map<int64_t, int> first_round;
    for (const traces::QueryRow& row : rows.rows) {
      const auto number = [&row](size_t column) { return std::get<int64_t>(row[column]); };
      runs[number(0)].push_back(
          {.wall_ns = number(2), .others_ns = number(3), .stolen_ns = number(4), .waited_ns = number(5)});
      if (number(1) == 0) ++first_round[number(0)];
    }
    for (const auto& [run, steps] : runs) {
      const std::vector<char> counts = UndisturbedSteps(steps, std::max(1, first_round[run]));
      all += counts.size();
      disturbed += static_cast<size_t>(std::count(counts.begin(), counts.end(), 0));
    }
  }
  ASSERT_GE(all, 90U);
  EXPECT_LE(20 * disturbed, all);
}

// Others had 7.5% of a processor beyond the ticks' error. 2% of a step more than usual is noise, 5% is not.
TEST(UndisturbedSteps, AStepThatWaitedBesideOthersDoesNotCount) {
  std::vector<Disturbance> steps = Steps(12 * kMs + kMs / 2);
  steps[1].waited_ns = 2 * kMs;
  steps[6].waited_ns = 5 * kMs;
  EXPECT_THAT(UndisturbedSteps(steps, 4), ElementsAre(1, 1, 1, 1, 1, 1, 0, 1));
}

// Threads of a row that asks for more cores than there are wait for each other, now more, now less, with the
// usual daemons beside: 7 ms of 100.
TEST(UndisturbedSteps, WaitingForOneselfIsNoDisturbance) {
  std::vector<Disturbance> steps = Steps(7 * kMs);
  for (size_t i = 0; i < steps.size(); ++i) steps[i].waited_ns = static_cast<int64_t>(30 + 10 * i) * kMs;
  EXPECT_THAT(UndisturbedSteps(steps, 4), Each(1));
}

TEST(UndisturbedSteps, ARoundOfWhichMostStepsWaitedBesideOthersDoesNotCount) {
  std::vector<Disturbance> steps = Steps(12 * kMs + kMs / 2);
  for (const size_t i : {0u, 1u, 2u}) steps[i].waited_ns = 20 * kMs;
  EXPECT_THAT(UndisturbedSteps(steps, 4), ElementsAre(0, 0, 0, 0, 1, 1, 1, 1));
}

// 4 x 30 ms of 400 ms are 25% of a processor beyond the ticks' error; 4 x 10 ms are 5%. Threads waited for
// 2%.
TEST(UndisturbedSteps, ARoundInWhichOthersRanDoesNotCount) {
  std::vector<Disturbance> steps = Steps(10 * kMs);
  for (Disturbance& step : steps) step.waited_ns = 2 * kMs;
  for (size_t i = 4; i < 8; ++i) steps[i].others_ns = 30 * kMs;
  EXPECT_THAT(UndisturbedSteps(steps, 4), ElementsAre(1, 1, 1, 1, 0, 0, 0, 0));
  steps = Steps(0);
  steps[2].stolen_ns = 30 * kMs;
  EXPECT_THAT(UndisturbedSteps(steps, 4), ElementsAre(0, 0, 0, 0, 1, 1, 1, 1));
}

// A probe of the cores took this on a virtual machine, in ns: 5.0 alone, 5.8 and more beside another
// machine's thread.
TEST(UsualSpeed, IsTheOneThatMostOftenWas) {
  const SpeedRange usual = UsualSpeed({5000, 6400, 5100, 5050, 5900, 7100, 5020, 6100, 5080}, 1.05);
  EXPECT_EQ(usual.low, 5000);
  EXPECT_EQ(usual.high, 5250);
  EXPECT_TRUE(usual.Holds(5230));
  EXPECT_FALSE(usual.Holds(5900));
  EXPECT_FALSE(usual.Holds(4900));
  const SpeedRange slow = UsualSpeed({46, 57, 58, 60, 57, 47, 46}, 1.08);
  EXPECT_EQ(slow.low, 57);
}

// Law: of ranges that hold equally many the fastest; what is not known is in every range, and makes none.
TEST(UsualSpeed, TiesGoToTheFastest) {
  EXPECT_EQ(UsualSpeed({100, 200, 201, 101}, 1.05).low, 100);
  const SpeedRange any = UsualSpeed({0, 0}, 1.05);
  EXPECT_TRUE(any.Holds(1));
  EXPECT_TRUE(UsualSpeed({100, 0}, 1.05).Holds(0));
}

// A GPU that falls from 1980 to 1755 MHz for two steps, and is held down by heat in another.
TEST(OtherClockSteps, AnotherClockAndHeatAreDisturbances) {
  std::vector<GpuClock> steps(8, {.mhz = 1980});
  steps[2].mhz = steps[3].mhz = 1755;
  steps[6].held_down = true;
  EXPECT_THAT(OtherClockSteps(steps), ElementsAre(0, 0, 1, 1, 0, 0, 1, 0));
  EXPECT_THAT(OtherClockSteps(std::vector<GpuClock>(3)), Each(0));
  EXPECT_TRUE(OtherClockSteps({}).empty());
}

// A slot of 10 ms has its own ticks and those of its neighbours: the 100 ms that others ran in one slot of 20
// are 40% of the 200 ms around it beyond the ticks' error, and nothing to slots that are farther away.
// Threads waited for 2% of each.
TEST(SlotsBesideOthers, ShortSlotsAreJudgedByWhatRanAroundThem) {
  std::vector<Disturbance> slots(50, {.wall_ns = 10 * kMs, .waited_ns = kMs / 5});
  slots[20].others_ns = 100 * kMs;
  const std::vector<char> beside = SlotsBesideOthers(slots);
  EXPECT_TRUE(beside[20]);
  EXPECT_TRUE(beside[15]);
  EXPECT_FALSE(beside[5]);
  EXPECT_FALSE(beside[45]);
  EXPECT_TRUE(SlotsBesideOthers({}).empty());
}

}  // namespace
}  // namespace lanescope::study
