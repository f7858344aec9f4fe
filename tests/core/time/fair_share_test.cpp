// SPDX-License-Identifier: Apache-2.0
#include "core/time/fair_share.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

namespace lanescope {
namespace {

constexpr double kUnlimited = 1e9;

struct PlainFlow {
  std::vector<int> route;
  double limit;
};

// Max-min fairness from its definition, slowly: raise all unfrozen rates together until a limit or a resource
// stops someone.
std::vector<double> PlainMaxMin(const std::vector<double>& capacity, const std::vector<PlainFlow>& flows) {
  std::vector<double> rate(flows.size(), 0);
  std::vector<bool> frozen(flows.size(), false);
  const auto uses = [&](size_t f, size_t r) {
    return std::find(flows[f].route.begin(), flows[f].route.end(), static_cast<int>(r)) !=
           flows[f].route.end();
  };
  for (size_t left = flows.size(); left > 0;) {
    double raise = std::numeric_limits<double>::infinity();
    for (size_t f = 0; f < flows.size(); ++f) {
      if (!frozen[f]) raise = std::min(raise, flows[f].limit - rate[f]);
    }
    for (size_t r = 0; r < capacity.size(); ++r) {
      double used = 0;
      int growing = 0;
      for (size_t f = 0; f < flows.size(); ++f) {
        if (!uses(f, r)) continue;
        used += rate[f];
        growing += frozen[f] ? 0 : 1;
      }
      if (growing > 0) raise = std::min(raise, (capacity[r] - used) / growing);
    }
    for (size_t f = 0; f < flows.size(); ++f) rate[f] += frozen[f] ? 0 : raise;
    for (size_t f = 0; f < flows.size(); ++f) {
      if (frozen[f]) continue;
      bool stops = rate[f] >= flows[f].limit * (1 - 1e-12);
      for (size_t r = 0; r < capacity.size() && !stops; ++r) {
        if (!uses(f, r)) continue;
        double used = 0;
        for (size_t g = 0; g < flows.size(); ++g) used += uses(g, r) ? rate[g] : 0;
        stops = used >= capacity[r] * (1 - 1e-12);
      }
      if (stops) {
        frozen[f] = true;
        --left;
      }
    }
  }
  return rate;
}

TEST(FairShare, OneFlowRunsAtItsNarrowestResource) {
  // x <= 4, x <= 2  =>  x = 2; 100 bytes take 50 ticks.
  FairShare sharing({4, 2}, 1, 2);
  const std::vector<int> route = {0, 1};
  sharing.Start(0, 10, route, 100, kUnlimited);
  sharing.Solve(10);
  EXPECT_DOUBLE_EQ(sharing.rate(0), 2);
  EXPECT_EQ(sharing.finish(0), 60);
}

TEST(FairShare, EqualFlowsShareEqually) {
  // x + y + z <= 3, all alike  =>  x = y = z = 1.
  FairShare sharing({3}, 3, 1);
  const std::vector<int> route = {0};
  for (int slot = 0; slot < 3; ++slot) sharing.Start(slot, 0, route, 10 * (slot + 1), kUnlimited);
  sharing.Solve(0);
  for (int slot = 0; slot < 3; ++slot) EXPECT_DOUBLE_EQ(sharing.rate(slot), 1);
  EXPECT_EQ(sharing.finish(0), 10);
  // At 10 the first ends; 10 and 20 bytes are left at rate 1.5: 20/3 ticks round to 7.
  sharing.End(0);
  sharing.Solve(10);
  EXPECT_DOUBLE_EQ(sharing.rate(1), 1.5);
  EXPECT_EQ(sharing.finish(1), 17);
}

TEST(FairShare, UnusedShareGoesToOthers) {
  // x + y <= 10 on A; x <= 2 on B  =>  x = 2, y = 8.
  FairShare sharing({10, 2}, 2, 2);
  const std::vector<int> both = {0, 1}, first = {0};
  sharing.Start(0, 0, both, 100, kUnlimited);
  sharing.Start(1, 0, first, 100, kUnlimited);
  sharing.Solve(0);
  EXPECT_DOUBLE_EQ(sharing.rate(0), 2);
  EXPECT_DOUBLE_EQ(sharing.rate(1), 8);
}

TEST(FairShare, AParkingLotGivesTheLongFlowItsFairShareOfEachLink) {
  // l + a <= 1, l + b <= 1, l + c <= 1, max-min  =>  all 1/2.
  FairShare sharing({1, 1, 1}, 4, 3);
  const std::vector<int> all = {0, 1, 2}, one = {0}, two = {1}, three = {2};
  sharing.Start(0, 0, all, 100, kUnlimited);
  sharing.Start(1, 0, one, 100, kUnlimited);
  sharing.Start(2, 0, two, 100, kUnlimited);
  sharing.Start(3, 0, three, 100, kUnlimited);
  sharing.Solve(0);
  for (int slot = 0; slot < 4; ++slot) EXPECT_DOUBLE_EQ(sharing.rate(slot), 0.5);
}

TEST(FairShare, ALimitLeavesTheRestToOthersAndASlowdownDoesNot) {
  // x + y <= 4, x <= 1  =>  x = 1, y = 3. Slowed by 2, x moves at 1/2 and y stays at 3.
  FairShare sharing({4}, 2, 1);
  const std::vector<int> route = {0};
  sharing.Start(0, 0, route, 100, 1);
  sharing.Start(1, 0, route, 100, kUnlimited);
  sharing.Solve(0);
  EXPECT_DOUBLE_EQ(sharing.rate(0), 1);
  EXPECT_DOUBLE_EQ(sharing.rate(1), 3);
  sharing.SetSlowdown(0, 2);
  sharing.Solve(0);
  EXPECT_DOUBLE_EQ(sharing.rate(0), 0.5);
  EXPECT_DOUBLE_EQ(sharing.rate(1), 3);
  EXPECT_EQ(sharing.finish(0), 200);
}

TEST(FairShare, OnlyTheTouchedComponentIsRetimed) {
  FairShare sharing({1, 1}, 4, 1);
  const std::vector<int> left = {0}, right = {1};
  sharing.Start(0, 0, left, 100, kUnlimited);
  sharing.Start(1, 0, right, 100, kUnlimited);
  sharing.Solve(0);
  sharing.Start(2, 5, left, 100, kUnlimited);
  const auto changed = sharing.Solve(5);
  EXPECT_EQ(std::vector<int>(changed.begin(), changed.end()), (std::vector<int>{0, 2}));
  EXPECT_EQ(sharing.finish(1), 100);
}

// Random starts, ends and slowdowns: after each change the incremental rates equal those of the definition.
// Few resources are bits of a word, and more than 64 are not.
TEST(FairShare, EqualsTheDefinitionUnderRandomChanges) {
  std::mt19937 random(11);
  for (int trial = 0; trial < 60; ++trial) {
    const bool many = trial % 3 == 2;
    const int resources = many ? 66 + static_cast<int>(random() % 30) : 1 + static_cast<int>(random() % 12);
    const int slots = 1 + static_cast<int>(random() % 14);
    std::vector<double> capacity;
    for (int r = 0; r < resources; ++r) capacity.push_back(1 + static_cast<double>(random() % 1000) / 7);
    FairShare sharing(capacity, slots, resources);
    std::vector<PlainFlow> flows(static_cast<size_t>(slots));
    std::vector<bool> active(static_cast<size_t>(slots), false);
    for (int change = 0; change < 80; ++change) {
      for (int batch = 1 + static_cast<int>(random() % 3); batch > 0; --batch) {
        const int slot = static_cast<int>(random() % static_cast<unsigned>(slots));
        const auto s = static_cast<size_t>(slot);
        if (active[s]) {
          sharing.End(slot);
        } else {
          std::vector<int> route;
          for (int r = 0; r < resources; ++r) {
            if (random() % (many ? 24 : 4) == 0) route.push_back(r);
          }
          flows[s] = {route, 1 + static_cast<double>(random() % 500) / 3};
          sharing.Start(slot, change, flows[s].route, 1e12, flows[s].limit);
        }
        active[s] = !active[s];
      }
      sharing.Solve(change);
      std::vector<PlainFlow> present;
      std::vector<int> slot_of;
      for (int slot = 0; slot < slots; ++slot) {
        if (!active[static_cast<size_t>(slot)]) continue;
        present.push_back(flows[static_cast<size_t>(slot)]);
        slot_of.push_back(slot);
      }
      const std::vector<double> expected = PlainMaxMin(capacity, present);
      for (size_t i = 0; i < present.size(); ++i) {
        ASSERT_NEAR(sharing.rate(slot_of[i]), expected[i], 1e-9 * expected[i]) << trial << " " << change;
      }
    }
  }
}

}  // namespace
}  // namespace lanescope
