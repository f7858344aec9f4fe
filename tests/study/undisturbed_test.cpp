#include "study/undisturbed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lanescope::study {
namespace {

using testing::Each;
using testing::ElementsAre;

constexpr int64_t kMs = 1'000'000;

// Two rounds of four steps of 100 ms, in which nobody else ran.
std::vector<Disturbance> QuietSteps() { return std::vector<Disturbance>(8, {.wall_ns = 100 * kMs}); }

TEST(UndisturbedSteps, AllCountWhereNobodyElseRan) {
  EXPECT_THAT(UndisturbedSteps(QuietSteps(), 4), Each(1));
  EXPECT_TRUE(UndisturbedSteps({}, 4).empty());
}

// 2% of a step more than usual is noise, 5% is not.
TEST(UndisturbedSteps, AStepThatWaitedDoesNotCount) {
  std::vector<Disturbance> steps = QuietSteps();
  steps[1].waited_ns = 2 * kMs;
  steps[6].waited_ns = 5 * kMs;
  EXPECT_THAT(UndisturbedSteps(steps, 4), ElementsAre(1, 1, 1, 1, 1, 1, 0, 1));
}

// A row that asks for more cores than there are waits for itself, in every step alike.
TEST(UndisturbedSteps, WaitingForOneselfIsNoDisturbance) {
  std::vector<Disturbance> steps = QuietSteps();
  for (Disturbance& step : steps) step.waited_ns = 60 * kMs;
  EXPECT_THAT(UndisturbedSteps(steps, 4), Each(1));
}

TEST(UndisturbedSteps, ARoundOfWhichMostStepsWaitedDoesNotCount) {
  std::vector<Disturbance> steps = QuietSteps();
  for (const size_t i : {0u, 1u, 2u}) steps[i].waited_ns = 20 * kMs;
  EXPECT_THAT(UndisturbedSteps(steps, 4), ElementsAre(0, 0, 0, 0, 1, 1, 1, 1));
}

// 4 x 30 ms of 400 ms are 25% of a processor beyond the ticks' error; 4 x 10 ms are 5%.
TEST(UndisturbedSteps, ARoundInWhichOthersRanDoesNotCount) {
  std::vector<Disturbance> steps = QuietSteps();
  for (size_t i = 0; i < 8; ++i) steps[i].others_ns = (i < 4 ? 10 : 30) * kMs;
  EXPECT_THAT(UndisturbedSteps(steps, 4), ElementsAre(1, 1, 1, 1, 0, 0, 0, 0));
  steps = QuietSteps();
  steps[2].stolen_ns = 30 * kMs;
  EXPECT_THAT(UndisturbedSteps(steps, 4), ElementsAre(0, 0, 0, 0, 1, 1, 1, 1));
}

}  // namespace
}  // namespace lanescope::study
