// SPDX-License-Identifier: Apache-2.0
#include "gui/model/run_builder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "tests/gui/model/random_run.h"

namespace lanescope::gui {
namespace {

TEST(RunBuilderTest, RowsAreDisjointAndHoldEverySlice) {
  std::mt19937 rng(1);
  std::vector<RawSlice> slices = test::RandomSlices(&rng, 5000, 9, 0.6);
  std::shuffle(slices.begin(), slices.end(), rng);
  const Lane lane = test::MakeLane(LaneRole::kThread, -1, slices);
  ASSERT_EQ(lane.size(), slices.size());
  ASSERT_GT(lane.rows.size(), 1u);
  uint32_t next = 0;
  for (const SliceRow& row : lane.rows) {
    EXPECT_EQ(row.begin, next);
    next = row.end;
    for (uint32_t i = row.begin + 1; i < row.end; ++i) {
      ASSERT_LE(lane.end_ns[i - 1], lane.start_ns[i]);
    }
    EXPECT_EQ(lane.RowOf(row.begin), &row - lane.rows.data());
    EXPECT_EQ(lane.RowOf(row.end - 1), &row - lane.rows.data());
  }
  EXPECT_EQ(next, lane.size());
  std::vector<std::tuple<int64_t, int64_t, int32_t>> before, after;
  for (const RawSlice& slice : slices) before.emplace_back(slice.start_ns, slice.end_ns, slice.op);
  for (size_t i = 0; i < lane.size(); ++i) after.emplace_back(lane.start_ns[i], lane.end_ns[i], lane.op[i]);
  std::sort(before.begin(), before.end());
  std::sort(after.begin(), after.end());
  EXPECT_EQ(before, after);
}

// Steps of 10, 20, 30, 90 and 100 ns. Law: where no graph is known a step is the mean of the middle half, (20
// + 30 + 90) / 3, as `diff` has it; where one is, whose steps repeat, the median.
TEST(RunBuilderTest, AStepIsWhatDiffSaysItIs) {
  for (const bool graph : {false, true}) {
    RunData run;
    int64_t at = 0;
    for (const int64_t length : {10, 100, 30, 90, 20}) {
      run.steps.push_back({static_cast<int>(run.steps.size()), at, at + length, true});
      at += length;
    }
    if (graph) run.commands.emplace_back();
    EXPECT_EQ(FinishRun(std::move(run), {})->step_ns, graph ? 30 : 47);
  }
}

TEST(RunBuilderTest, NestedCallsNest) {
  // outer 0-100 holds middle 10-60, which holds inner 20-30; a second call 60-90 goes back to the second row.
  const Lane lane =
      test::MakeLane(LaneRole::kThread, -1, {{20, 30, 2}, {0, 100, 0}, {10, 60, 1}, {60, 90, 3}});
  ASSERT_EQ(lane.rows.size(), 3u);
  EXPECT_EQ(lane.op, (std::vector<int32_t>{0, 1, 3, 2}));
}

TEST(RunBuilderTest, ManyRowsStayDisjoint) {
  std::vector<RawSlice> slices;
  for (int i = 0; i < 500; ++i) slices.push_back({i, i + 200 + i % 7, i % 3});
  const Lane lane = test::MakeLane(LaneRole::kThread, -1, slices);
  EXPECT_EQ(lane.size(), slices.size());
  EXPECT_GE(lane.rows.size(), 200u);
  for (const SliceRow& row : lane.rows) {
    for (uint32_t i = row.begin + 1; i < row.end; ++i) ASSERT_LE(lane.end_ns[i - 1], lane.start_ns[i]);
  }
}

// Input: two devices, of which one ran something. Law: either has one compute lane, unless another tool
// recorded the run.
TEST(RunBuilderTest, AnIdleDeviceHasALane) {
  for (const bool foreign : {false, true}) {
    RunData run;
    run.foreign = foreign;
    run.devices.resize(2);
    run.lanes.push_back(test::MakeLane(LaneRole::kCompute, 0, {{0, 10, -1}}));
    const auto finished = FinishRun(std::move(run), {});
    ASSERT_EQ(finished->lanes.size(), foreign ? 1u : 2u);
    EXPECT_EQ(finished->lanes[0].size(), 1u);
    if (foreign) continue;
    EXPECT_EQ(finished->lanes[1].role, LaneRole::kCompute);
    EXPECT_EQ(finished->lanes[1].device, 1);
    EXPECT_EQ(finished->lanes[1].size(), 0u);
  }
}

TEST(RunBuilderTest, BytesFollowTheirSlices) {
  RawLane raw;
  raw.role = LaneRole::kCopyIn;
  raw.pieces.push_back({{{50, 60, 0}, {0, 10, 1}}, {500, 100}});
  raw.pieces.push_back({{{20, 30, 2}}, {200}});
  int64_t left_out = 0;
  const Lane lane = BuildLane(&raw, &left_out);
  EXPECT_EQ(lane.bytes, (std::vector<int64_t>{100, 200, 500}));
  EXPECT_EQ(left_out, 0);
}

// Input: disjoint slices, shuffled within stretches of random length, as steps are recorded; in four pieces,
// with and without bytes (the number of the slice). Law: one row in the order of time.
TEST(RunBuilderTest, SlicesShuffledWithinStretchesAreSorted) {
  std::mt19937 rng(5);
  for (const bool with_bytes : {false, true}) {
    std::vector<RawSlice> slices;
    for (int32_t i = 0; i < 3000; ++i) slices.push_back({i * 10, i * 10 + 7, i, -1, -1});
    for (size_t begin = 0; begin < slices.size();) {
      const size_t end = std::min(slices.size(), begin + 1 + rng() % 90);
      std::shuffle(slices.begin() + static_cast<ptrdiff_t>(begin),
                   slices.begin() + static_cast<ptrdiff_t>(end), rng);
      begin = end;
    }
    RawLane raw;
    for (size_t begin = 0; begin < slices.size(); begin += 750) {
      RawLane::Piece& piece = raw.pieces.emplace_back();
      for (size_t i = begin; i < begin + 750; ++i) {
        piece.slices.push_back(slices[i]);
        if (with_bytes) piece.bytes.push_back(slices[i].op);
      }
    }
    int64_t left_out = 0;
    const Lane lane = BuildLane(&raw, &left_out);
    ASSERT_EQ(lane.size(), slices.size());
    EXPECT_EQ(lane.rows.size(), 1u);
    EXPECT_EQ(lane.bytes.size(), with_bytes ? slices.size() : 0u);
    for (size_t i = 0; i < lane.size(); ++i) {
      ASSERT_EQ(lane.start_ns[i], static_cast<int64_t>(i) * 10);
      ASSERT_EQ(lane.op[i], static_cast<int32_t>(i));
      if (with_bytes) {
        ASSERT_EQ(lane.bytes[i], static_cast<int64_t>(i));
      }
    }
  }
}

// A thread from 0 to 400, a kernel 100-200 and a copy 375-395. Law: without steps a run is as long as its
// devices were at work, as `summary`, `diff` and the replay of a trace have it.
TEST(RunBuilderTest, ARunWithoutStepsIsAsLongAsItsDevicesWorked) {
  RunData run;
  run.foreign = true;
  run.devices.resize(1);
  int64_t left_out = 0;
  const auto add = [&](LaneRole role, int64_t start, int64_t end) {
    RawLane raw;
    raw.role = role;
    raw.device = role == LaneRole::kThread ? -1 : 0;
    raw.pieces = {{.slices = {{start, end}}}};
    run.lanes.push_back(BuildLane(&raw, &left_out));
  };
  add(LaneRole::kThread, 0, 400);
  add(LaneRole::kCompute, 100, 200);
  add(LaneRole::kCopyIn, 375, 395);
  const auto finished = FinishRun(std::move(run), {});
  EXPECT_EQ(finished->begin_ns, 0);
  EXPECT_EQ(finished->end_ns, 400);
  EXPECT_EQ(finished->step_ns, 295);
}

TEST(RunBuilderTest, FinishesARun) {
  const auto run = test::TwoDeviceRun();
  EXPECT_EQ(run->begin_ns, 0);
  EXPECT_EQ(run->end_ns, 2000);
  EXPECT_EQ(run->step_ns, 1000);
  EXPECT_EQ(run->num_slices, 10);
  EXPECT_TRUE(run->out_of_memory());
  EXPECT_EQ(run->FindOp("m/b"), 1);
  EXPECT_EQ(run->FindOp("m"), -1);
  EXPECT_EQ(run->ops[0].slices, 4);
  const auto successors = run->Successors(0);
  EXPECT_EQ(std::vector<uint32_t>(successors.begin(), successors.end()), (std::vector<uint32_t>{1, 3}));
  const auto predecessors = run->Predecessors(4);
  EXPECT_EQ(std::vector<uint32_t>(predecessors.begin(), predecessors.end()), (std::vector<uint32_t>{2, 3}));
  const int64_t slice = run->FindSlice(2, 1);
  ASSERT_GE(slice, 0);
  const Lane& lane = run->lanes[static_cast<size_t>(run->commands[2].lane)];
  EXPECT_EQ(lane.start_ns[static_cast<size_t>(slice)], 1430);
  EXPECT_EQ(run->FindSlice(2, 2), -1);
}

}  // namespace
}  // namespace lanescope::gui
