// SPDX-License-Identifier: Apache-2.0
#include "gui/model/minimap.h"

#include <gtest/gtest.h>

#include <random>

#include "gui/model/draw_rows.h"
#include "tests/gui/model/random_run.h"

namespace lanescope::gui {
namespace {

TEST(MinimapTest, ShowsTheShareOfBusyLanes) {
  Timeline timeline;
  timeline.Add(test::TwoDeviceRun());
  const auto axes = AlignRuns(timeline, Alignment::kStart);
  const auto rows = BuildMinimap(timeline, axes, 100);
  ASSERT_EQ(rows.size(), 1u);
  double busy = 0;
  for (const DrawColumn& column : rows[0].columns) busy += column.busy;
  // 400 of 1000 ns on GPU:0, 520 on GPU:1.
  EXPECT_NEAR(busy, 46, 0.5);
}

// The columns of the only run of a timeline, whose lanes all compute: every row asked for every pixel.
std::vector<DrawColumn> ColumnsByForce(const Timeline& timeline, const RunAxis& axis, int width_px) {
  ViewTransform view;
  const auto [begin, end] = AxisExtent(timeline, {axis});
  view.SetExtent(begin, end);
  view.SetWidth(width_px);
  view.Show(begin, end);
  const PixelScale scale(axis, view);
  const RunData& run = *timeline.runs().front().data;
  std::vector<DrawColumn> columns(static_cast<size_t>(width_px));
  for (int x = 0; x < width_px; ++x) {
    DrawColumn& column = columns[static_cast<size_t>(x)];
    for (const Lane& lane : run.lanes) {
      double busy = 0;
      RangeSummary best;
      for (const SliceRow& row : lane.rows) {
        const RangeSummary summary = SummaryAt(lane, row, scale, x);
        if (summary.busy_ns > best.busy_ns) best = summary;
        busy += summary.busy_ns;
      }
      column.busy += static_cast<float>(std::min(1.0, busy / scale.ns_per_px()));
      if (best.op >= 0) column.op = best.op;
    }
    column.busy /= static_cast<float>(run.lanes.size());
  }
  return columns;
}

// Slices of `length` ns at most, of which one begins every 10 ns.
std::shared_ptr<const RunData> OverlappingRun(int count, int64_t length) {
  RunData run;
  for (int i = 0; i < 7; ++i) run.ops.push_back(test::Op("op" + std::to_string(i), "Relu", i));
  std::mt19937 rng(5);
  for (int lane = 0; lane < 2; ++lane) {
    std::vector<RawSlice> slices;
    for (int64_t i = 0; i < count; ++i) {
      const auto long_ns = static_cast<int64_t>(rng() % static_cast<uint64_t>(length));
      slices.push_back({10 * i, 10 * i + long_ns, static_cast<int32_t>(rng() % 8) - 1, -1, -1});
    }
    run.devices.push_back(test::Device("GPU:" + std::to_string(lane)));
    run.lanes.push_back(test::MakeLane(LaneRole::kCompute, lane, std::move(slices)));
  }
  return FinishRun(std::move(run), {});
}

TEST(MinimapTest, RowsOfOverlappingSlicesGiveWhatEachPixelHolds) {
  // Slices shorter than a pixel and longer than the picture, rows with and without bins, few slices.
  for (const auto& [count, length] :
       {std::pair(20'000, 50), {20'000, 3'000}, {20'000, 150'000}, {3'000, 40'000}, {5, 30}}) {
    Timeline timeline;
    timeline.Add(OverlappingRun(count, length));
    const auto axes = AlignRuns(timeline, Alignment::kStart);
    for (const int width : {1, 97, 640}) {
      const auto rows = BuildMinimap(timeline, axes, width);
      const auto expected = ColumnsByForce(timeline, axes[0], width);
      ASSERT_EQ(rows.size(), 1u);
      ASSERT_EQ(rows[0].columns.size(), expected.size());
      for (size_t x = 0; x < expected.size(); ++x) {
        ASSERT_EQ(rows[0].columns[x].busy, expected[x].busy) << count << " " << length << " " << x;
        ASSERT_EQ(rows[0].columns[x].op, expected[x].op) << count << " " << length << " " << x;
      }
    }
  }
}

}  // namespace
}  // namespace lanescope::gui
