// SPDX-License-Identifier: Apache-2.0
// How CUDA reductions deal elements to threads: the threads of a plan, run one after the other, against plain
// sums. Elements are powers of a number, so that a missing or doubled one shows.
#include "exec/cuda/kernels/reduce_plan.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "exec/kernels/tensor_access.h"

namespace lanescope::exec::cuda {
namespace {

using Gone = std::array<bool, Shape::kMaxRank>;

// The kernel's work with every thread of every block, in exact integers that wrap around.
std::vector<uint64_t> RunPlan(const ReducePlan& plan, const std::vector<uint64_t>& x) {
  std::vector<uint64_t> result(static_cast<size_t>(plan.parts * plan.kept.count), 0);
  std::vector<int> written(result.size(), 0);
  EXPECT_LE(plan.outputs_per_block * plan.lanes, kReduceThreads);
  for (int64_t part = 0; part < plan.parts; ++part) {
    for (int64_t block = 0; block < plan.column_blocks(); ++block) {
      for (int64_t thread = 0; thread < plan.outputs_per_block * plan.lanes; ++thread) {
        const int64_t output = block * plan.outputs_per_block + plan.OutputOf(thread);
        const int64_t lane = plan.LaneOf(thread);
        EXPECT_LT(lane, plan.lanes);
        if (output >= plan.kept.count) continue;
        const auto at = static_cast<size_t>(part * plan.kept.count + output);
        const int64_t end = std::min((part + 1) * plan.part, plan.reduced.count);
        for (int64_t i = part * plan.part + lane; i < end; i += plan.lanes) {
          result.at(at) += x.at(static_cast<size_t>(plan.kept.Offset(output) + plan.reduced.Offset(i)));
        }
        written.at(at) |= lane == 0 ? 1 : 0;
      }
    }
  }
  for (const int flag : written) EXPECT_EQ(flag, 1);
  return result;
}

void ExpectSums(const Shape& shape, const Gone& gone) {
  std::vector<uint64_t> x(static_cast<size_t>(shape.NumElements()));
  uint64_t value = 1;
  for (uint64_t& element : x) element = value *= 0x9E3779B97F4A7C15u;
  Shape kept;
  for (int d = 0; d < shape.rank(); ++d) {
    if (!gone[static_cast<size_t>(d)]) kept.Append(shape[d]);
  }
  std::vector<uint64_t> expected(static_cast<size_t>(kept.NumElements()), 0);
  for (int64_t i = 0; i < shape.NumElements(); ++i) {
    int64_t rest = i;
    int64_t place = 0;
    int64_t stride = 1;
    for (int d = shape.rank() - 1; d >= 0; --d) {
      if (!gone[static_cast<size_t>(d)]) {
        place += rest % shape[d] * stride;
        stride *= shape[d];
      }
      rest /= shape[d];
    }
    expected[static_cast<size_t>(place)] += x[static_cast<size_t>(i)];
  }
  const ReducePlan plan = MakeReducePlan(shape, gone);
  std::vector<uint64_t> sums = RunPlan(plan, x);
  if (plan.parts > 1) sums = RunPlan(MakeJoinPlan(plan), sums);
  ASSERT_EQ(sums, expected) << shape.ToString() << " columns " << plan.columns_first << " parts "
                            << plan.parts;
  EXPECT_LE(plan.parts * plan.kept.count, int64_t{kReduceBlocks} * kReduceThreads + plan.kept.count);
}

TEST(ReducePlan, EveryMaskOfSmallShapes) {
  for (const Shape& shape :
       {Shape{}, Shape{7}, Shape{3, 5}, Shape{2, 1, 4}, Shape{3, 4, 5, 6}, Shape{2, 3, 2, 3, 2}}) {
    for (int mask = 0; mask < 1 << shape.rank(); ++mask) {
      Gone gone{};
      for (int d = 0; d < shape.rank(); ++d) gone[static_cast<size_t>(d)] = (mask >> d & 1) != 0;
      ExpectSums(shape, gone);
    }
  }
}

TEST(ReducePlan, LongAndWide) {
  for (const Shape& shape :
       {Shape{100003}, Shape{2, 50001}, Shape{300, 300}, Shape{40000, 3}, Shape{3, 40000},
        Shape{1000, 10, 20}, Shape{5, 7, 1300}, Shape{25536, 10}, Shape{70, 33}}) {
    for (int mask = 0; mask < 1 << shape.rank(); ++mask) {
      Gone gone{};
      for (int d = 0; d < shape.rank(); ++d) gone[static_cast<size_t>(d)] = (mask >> d & 1) != 0;
      ExpectSums(shape, gone);
    }
  }
}

TEST(ReducePlan, NothingToReduceAndNothingKept) {
  Gone first{};
  first[0] = true;
  const ReducePlan of_nothing = MakeReducePlan(Shape{0, 3}, first);
  EXPECT_EQ(of_nothing.kept.count, 3);
  EXPECT_EQ(of_nothing.reduced.count, 0);
  EXPECT_EQ(of_nothing.parts, 1);
  EXPECT_EQ(RunPlan(of_nothing, {}), (std::vector<uint64_t>{0, 0, 0}));
  Gone second{};
  second[1] = true;
  EXPECT_EQ(MakeReducePlan(Shape{0, 3}, second).kept.count, 0);
}

TEST(ReducePlan, LanesArePowersOfTwo) {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    const Shape shape{static_cast<int64_t>(random() % 3000 + 1), static_cast<int64_t>(random() % 3000 + 1)};
    Gone gone{};
    gone[random() % 2] = true;
    const ReducePlan plan = MakeReducePlan(shape, gone);
    EXPECT_EQ(plan.lanes & (plan.lanes - 1), 0);
    EXPECT_GE(plan.lanes, 1);
    EXPECT_EQ((plan.parts - 1) * plan.part < std::max<int64_t>(1, plan.reduced.count), true);
  }
}

}  // namespace
}  // namespace lanescope::exec::cuda
