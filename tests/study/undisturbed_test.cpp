#include "study/undisturbed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lanescope::study {
namespace {

using testing::Each;
using testing::ElementsAre;

constexpr int64_t kMs = 1'000'000;

// Two rounds of four steps of 100 ms; others ran for so long in each.
std::vector<Disturbance> Steps(int64_t others_ns) {
  return std::vector<Disturbance>(8, {.wall_ns = 100 * kMs, .others_ns = others_ns});
}

TEST(UndisturbedSteps, AllCountWhereNobodyElseRan) {
  EXPECT_THAT(UndisturbedSteps(Steps(0), 4), Each(1));
  EXPECT_TRUE(UndisturbedSteps({}, 4).empty());
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

// 4 x 30 ms of 400 ms are 25% of a processor beyond the ticks' error; 4 x 10 ms are 5%.
TEST(UndisturbedSteps, ARoundInWhichOthersRanDoesNotCount) {
  std::vector<Disturbance> steps = Steps(10 * kMs);
  for (size_t i = 4; i < 8; ++i) steps[i].others_ns = 30 * kMs;
  EXPECT_THAT(UndisturbedSteps(steps, 4), ElementsAre(1, 1, 1, 1, 0, 0, 0, 0));
  steps = Steps(0);
  steps[2].stolen_ns = 30 * kMs;
  EXPECT_THAT(UndisturbedSteps(steps, 4), ElementsAre(0, 0, 0, 0, 1, 1, 1, 1));
}

constexpr auto kNobody = Disturber::kNobody, kOthers = Disturber::kOthers, kSpeed = Disturber::kSpeed;

// Six slots of 300 ms, and what the reference took before the first, and after each.
std::vector<RoundSlot> Slots(const std::vector<int64_t>& reference_ns) {
  std::vector<RoundSlot> slots;
  for (size_t i = 0; i + 1 < reference_ns.size(); ++i)
    slots.push_back({{.wall_ns = 300 * kMs}, reference_ns[i], reference_ns[i + 1]});
  return slots;
}

// A convolution network's step as it was seen on a virtual machine: 113 ms, or 150 to 240.
TEST(JudgeSlots, AnotherSpeedOfTheMachineIsADisturbance) {
  EXPECT_THAT(JudgeSlots(Slots({113, 112, 164, 190, 241, 114, 112, 118, 111})),
              ElementsAre(kNobody, kSpeed, kSpeed, kSpeed, kSpeed, kNobody, kNobody, kNobody));
}

// Law: the usual speed is the one that most often was, the slower one too; noise of 8% is none.
TEST(JudgeSlots, TheUsualSpeedIsTheOneThatLasted) {
  EXPECT_THAT(JudgeSlots(Slots({46, 57, 58, 60, 57, 47, 46})),
              ElementsAre(kSpeed, kNobody, kNobody, kNobody, kSpeed, kSpeed));
  EXPECT_THAT(JudgeSlots(Slots({100, 107, 104, 101, 108})), Each(kNobody));
}

TEST(JudgeSlots, NothingIsSaidOfASpeedThatWasNotMeasured) {
  EXPECT_THAT(JudgeSlots(Slots({0, 0, 0})), Each(kNobody));
  EXPECT_TRUE(JudgeSlots({}).empty());
}

// A slot of 10 ms has its own ticks and those of its neighbours: the 100 ms that others ran in one slot of 20
// are 40% of the 200 ms around it beyond the ticks' error, and nothing to slots that are farther away.
TEST(JudgeSlots, ShortSlotsAreJudgedByWhatRanAroundThem) {
  std::vector<RoundSlot> slots(50, {.taken = {.wall_ns = 10 * kMs}});
  slots[20].taken.others_ns = 100 * kMs;
  const std::vector<Disturber> by = JudgeSlots(slots);
  EXPECT_EQ(by[20], kOthers);
  EXPECT_EQ(by[15], kOthers);
  EXPECT_EQ(by[5], kNobody);
  EXPECT_EQ(by[45], kNobody);
}

}  // namespace
}  // namespace lanescope::study
