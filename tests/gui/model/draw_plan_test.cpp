// SPDX-License-Identifier: Apache-2.0
#include "gui/model/draw_plan.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <tuple>

#include "gui/model/picking.h"
#include "tests/gui/model/random_run.h"

namespace lanescope::gui {
namespace {

// Two random runs in a window of 640 pixels.
struct Scene {
  explicit Scene(int count = 3000, double overlap = 0.3) {
    timeline.Add(test::RandomRun(1, 2, count, overlap));
    timeline.Add(test::RandomRun(2, 1, count, 0));
    Update();
    const auto [begin, end] = AxisExtent(timeline, axes);
    view.SetWidth(640);
    view.SetExtent(begin, end);
    view.Show(begin, end);
    options.height_px = 1e6;
    options.arrows = false;
  }
  void Update() {
    axes = AlignRuns(timeline, Alignment::kStart);
    layout = ComputeLayout(timeline, visibility, metrics);
  }
  const DrawPlan& Draw() {
    BuildDrawPlan(timeline, layout, axes, view, highlight, options, &plan);
    return plan;
  }

  Timeline timeline;
  std::vector<RunAxis> axes;
  ViewTransform view;
  LaneVisibility visibility;
  LayoutMetrics metrics;
  Layout layout;
  Highlight highlight;
  DrawOptions options;
  DrawPlan plan;
};

// Busy time of a lane row in the view.
double BusyByForce(const RunData& run, int lane_number, int row_number, int64_t from, int64_t to) {
  const Lane& lane = run.lanes[static_cast<size_t>(lane_number)];
  const SliceRow& row = lane.rows[static_cast<size_t>(row_number)];
  double busy = 0;
  for (uint32_t i = row.begin; i < row.end; ++i) {
    busy += static_cast<double>(
        std::max<int64_t>(0, std::min(lane.end_ns[i], to) - std::max(lane.start_ns[i], from)));
  }
  return busy;
}

TEST(LayoutTest, LanesLieBelowEachOtherInsideTheirRun) {
  Scene scene;
  float y = 0;
  for (const LaidRun& run : scene.layout.runs) {
    EXPECT_GE(run.top, y);
    y = run.header_bottom;
    for (size_t i = 0; i < run.num_lanes; ++i) {
      const LaidLane& lane = scene.layout.lanes[run.first_lane + i];
      EXPECT_GE(lane.top, y);
      EXPECT_FLOAT_EQ(lane.bottom - lane.top, lane.row_height * static_cast<float>(lane.rows));
      EXPECT_EQ(scene.layout.LaneAt((lane.top + lane.bottom) / 2, false), &lane);
      EXPECT_EQ(scene.layout.Find(lane.key, lane.lane), &lane);
      y = lane.bottom;
    }
    EXPECT_GE(run.bottom, y);
    y = run.bottom;
  }
  EXPECT_GE(scene.layout.height, y);
}

TEST(LayoutTest, CollapsedHiddenAndPinned) {
  Scene scene;
  const RunKey first = scene.timeline.runs()[0].key, second = scene.timeline.runs()[1].key;
  scene.visibility.collapsed.insert(first);
  scene.visibility.TogglePin({first, 1});
  scene.visibility.TogglePin({second, 99});  // a lane that is not there
  scene.Update();
  ASSERT_EQ(scene.layout.runs.size(), 2u);
  EXPECT_EQ(scene.layout.runs[0].num_lanes, 0u);
  EXPECT_EQ(scene.layout.lanes.size(), 1u);
  ASSERT_EQ(scene.layout.pinned.size(), 1u);
  EXPECT_EQ(scene.layout.pinned[0].lane, 1);
  scene.visibility.hidden_runs.insert(second);
  scene.visibility.TogglePin({first, 1});
  scene.Update();
  EXPECT_TRUE(scene.layout.lanes.empty());
  EXPECT_TRUE(scene.layout.pinned.empty());
  EXPECT_EQ(scene.layout.pinned_height, 0);
}

TEST(DrawPlanTest, ColumnsConserveBusyTime) {
  Scene scene(60000, 0);
  for (const double share : {1.0, 0.4, 0.2, 0.05}) {
    const auto [begin, end] = AxisExtent(scene.timeline, scene.axes);
    const double at = begin + 0.3 * (1 - share) * (end - begin);
    scene.view.Show(at, at + share * (end - begin));
    const DrawPlan& plan = scene.Draw();
    ASSERT_FALSE(plan.lanes.rows.empty());
    for (const DrawRow& row : plan.lanes.rows) {
      const int run = scene.timeline.IndexOf(row.run);
      double drawn = 0;
      for (uint32_t i = 0; i < row.count; ++i) drawn += plan.lanes.columns[row.first + i].busy;
      drawn *= scene.view.ns_per_px();
      const RunAxis& axis = scene.axes[static_cast<size_t>(run)];
      const double busy = BusyByForce(*scene.timeline.runs()[static_cast<size_t>(run)].data, row.lane, 0,
                                      axis.ToTime(scene.view.begin()), axis.ToTime(scene.view.end()));
      EXPECT_NEAR(drawn, busy, 0.01 * busy + 4 * scene.view.ns_per_px());
    }
  }
}

TEST(DrawPlanTest, EverySliceWideEnoughIsDrawnWhereItIs) {
  Scene scene(2000);
  const auto [begin, end] = AxisExtent(scene.timeline, scene.axes);
  scene.view.Show(begin + 0.3 * (end - begin), begin + 0.32 * (end - begin));
  const DrawPlan& plan = scene.Draw();
  std::map<std::tuple<RunKey, int, uint32_t>, const DrawSlice*> drawn;
  for (const DrawSlice& slice : plan.lanes.slices) {
    drawn[{slice.slice.run, slice.slice.lane, slice.slice.slice}] = &slice;
    EXPECT_GE(slice.x1 - slice.x0, 0.999f);
    EXPECT_GE(slice.x0, 0);
    EXPECT_LE(slice.x1, 640);
  }
  int wide = 0;
  for (size_t r = 0; r < scene.timeline.runs().size(); ++r) {
    const ShownRun& run = scene.timeline.runs()[r];
    for (size_t l = 0; l < run.data->lanes.size(); ++l) {
      const Lane& lane = run.data->lanes[l];
      for (uint32_t i = 0; i < lane.size(); ++i) {
        const double x0 = scene.view.ToPixel(scene.axes[r].ToAxis(lane.start_ns[i]));
        const double x1 = scene.view.ToPixel(scene.axes[r].ToAxis(lane.end_ns[i]));
        if (x1 - x0 < 1 || x1 < 1 || x0 > 639) continue;
        const auto found = drawn.find({run.key, static_cast<int>(l), i});
        ASSERT_NE(found, drawn.end());
        EXPECT_NEAR(found->second->x0, std::max(0.0, x0), 0.01);
        EXPECT_NEAR(found->second->x1, std::min(640.0, x1), 0.01);
        EXPECT_FALSE(found->second->merged);
        ++wide;
      }
    }
  }
  EXPECT_GT(wide, 20);
}

// Narrow slices just left of the window join nothing.
TEST(DrawPlanTest, ViewsMayBeginAnywhere) {
  Scene scene(4000);
  const auto [begin, end] = AxisExtent(scene.timeline, scene.axes);
  for (int i = 0; i < 400; ++i) {
    const double at = begin + (end - begin) * i / 400.0, span = (end - begin) * (1 + i % 13) / 40.0;
    scene.view.Show(at, at + span);
    for (const DrawSlice& slice : scene.Draw().lanes.slices) {
      ASSERT_GE(slice.x0, 0);
      ASSERT_LE(slice.x1, 640);
    }
  }
}

TEST(DrawPlanTest, LabelsFitAndSayTheEndOfAPath) {
  Scene scene(50, 0);
  const auto [begin, end] = AxisExtent(scene.timeline, scene.axes);
  scene.view.Show(begin, begin + 0.2 * (end - begin));
  const DrawPlan& plan = scene.Draw();
  ASSERT_FALSE(plan.lanes.labels.empty());
  for (const DrawLabel& label : plan.lanes.labels) {
    EXPECT_GE(label.x1 - label.x0, scene.options.glyph_px * 3);
    const float needed = scene.options.glyph_px * static_cast<float>(label.text.size());
    EXPECT_TRUE(needed <= label.x1 - label.x0 || label.text.starts_with("op")) << label.text;
  }
}

TEST(DrawPlanTest, SelectedOpLightsUpInEveryRun) {
  Scene scene(60000, 0);
  scene.highlight.op = scene.timeline.FindIdentity("scope1/op4");
  const DrawPlan& plan = scene.Draw();
  std::map<RunKey, int> lit;
  for (const DrawRow& row : plan.lanes.rows) {
    for (uint32_t i = 0; i < row.count; ++i) {
      const DrawColumn& column = plan.lanes.columns[row.first + i];
      EXPECT_EQ((column.flags & kSameOp) != 0, column.op == 4);
      if (column.flags & kSameOp) ++lit[row.run];
    }
  }
  EXPECT_EQ(lit.size(), 2u);
}

TEST(DrawPlanTest, SelectedSliceIsDrawnOverColumns) {
  Scene scene(60000, 0);
  scene.highlight.slice = {scene.timeline.runs()[0].key, 1, 31234};
  const DrawPlan& plan = scene.Draw();
  int found = 0;
  for (const DrawSlice& slice : plan.lanes.slices)
    found += slice.slice == scene.highlight.slice && (slice.flags & kSelected);
  EXPECT_EQ(found, 1);
}

TEST(DrawPlanTest, ArrowsFollowTransfersOrBecomeBands) {
  Scene scene(10);
  scene.timeline.Remove(scene.timeline.runs()[1].key);
  scene.timeline.Remove(scene.timeline.runs()[0].key);
  scene.timeline.Add(test::TwoDeviceRun());
  scene.Update();
  scene.options.arrows = true;
  scene.view.SetExtent(0, 2000);
  scene.view.Show(0, 1000);
  const DrawPlan& plan = scene.Draw();
  // a -> copy, copy -> b, of the one visible copy.
  EXPECT_EQ(plan.visible_arrows, 2);
  ASSERT_EQ(plan.arrows.size(), 2u);
  EXPECT_NEAR(plan.arrows[0].x0, 0.3 * 640, 0.5);
  EXPECT_NEAR(plan.arrows[0].x1, 0.32 * 640, 0.5);
  EXPECT_NEAR(plan.arrows[1].x0, 0.4 * 640, 0.5);
  EXPECT_NEAR(plan.arrows[1].x1, 0.43 * 640, 0.5);
  EXPECT_TRUE(plan.arrow_bands.empty());
  scene.options.max_arrows = 1;
  scene.Draw();
  EXPECT_TRUE(plan.arrows.empty());
  int copies = 0;
  for (const DrawArrowBand& band : plan.arrow_bands) copies += band.arrows;
  EXPECT_EQ(copies, 1);
}

// The rule of Pick, by looking at every slice of the row.
SliceRef PickByForce(const Scene& scene, const LaidLane& laid, int row_number, double x) {
  const Lane& lane =
      scene.timeline.runs()[static_cast<size_t>(laid.run)].data->lanes[static_cast<size_t>(laid.lane)];
  const SliceRow& row = lane.rows[static_cast<size_t>(row_number)];
  const RunAxis& axis = scene.axes[static_cast<size_t>(laid.run)];
  const auto pixel = [&](int64_t time) { return scene.view.ToPixel(axis.ToAxis(time)); };
  const int64_t center = axis.ToTime(scene.view.ToAxis(x + 0.5));
  SliceRef best;
  double most = -1;
  for (uint32_t i = row.begin; i < row.end; ++i) {
    if (lane.start_ns[i] <= center && lane.end_ns[i] > center) return {laid.key, laid.lane, i};
    const double covered = std::min(pixel(lane.end_ns[i]), x + 1) - std::max(pixel(lane.start_ns[i]), x);
    if (covered >= 0 && pixel(lane.start_ns[i]) < x + 1 && covered > most + 1e-9) {
      most = covered;
      best = {laid.key, laid.lane, i};
    }
  }
  return best;
}

TEST(PickingTest, EqualsBruteForce) {
  Scene scene(2000);
  std::mt19937 rng(9);
  int hits = 0;
  for (const double share : {1.0, 0.1, 0.004}) {
    const auto [begin, end] = AxisExtent(scene.timeline, scene.axes);
    const double at = begin + 0.4 * (end - begin);
    scene.view.Show(at, at + share * (end - begin) / 2);
    for (int i = 0; i < 1500; ++i) {
      const auto x = static_cast<float>(rng() % 640);
      const auto y = static_cast<float>(rng() % static_cast<unsigned>(scene.layout.height));
      const Hit hit = Pick(scene.timeline, scene.layout, scene.axes, scene.view, x, y);
      const LaidLane* laid = scene.layout.LaneAt(y, false);
      if (laid == nullptr) {
        EXPECT_FALSE(hit.slice.valid());
        continue;
      }
      const int row = static_cast<int>((y - laid->top) / laid->row_height);
      const SliceRef expected = PickByForce(scene, *laid, row, x);
      if (!expected.valid()) continue;  // then the slice of the pixel before may reach here
      EXPECT_EQ(hit.what, Hit::What::kSlice);
      EXPECT_EQ(hit.slice, expected) << x << " " << y;
      ++hits;
    }
  }
  EXPECT_GT(hits, 500);
}

TEST(PickingTest, DrawnSlicesAreHit) {
  Scene scene(2000);
  const auto [begin, end] = AxisExtent(scene.timeline, scene.axes);
  scene.view.Show(begin, begin + 0.05 * (end - begin));
  for (const DrawSlice& slice : scene.Draw().lanes.slices) {
    if (slice.merged || slice.x1 - slice.x0 < 2) continue;
    const Hit hit = Pick(scene.timeline, scene.layout, scene.axes, scene.view, (slice.x0 + slice.x1) / 2,
                         (slice.y0 + slice.y1) / 2);
    EXPECT_EQ(hit.slice, slice.slice);
  }
}

// 100,000 short slices before and after one that takes a tenth of the picture.
TEST(DrawRowsTest, ALongSliceAmongManyHasItsName) {
  std::vector<RawSlice> slices;
  const auto add_short = [&](int64_t from) {
    for (int64_t i = 0; i < 100'000; ++i) slices.push_back({from + 9 * i, from + 9 * i + 8, 0, -1, -1});
  };
  add_short(0);
  slices.push_back({900'000, 1'100'000, 1, -1, -1});
  add_short(1'100'000);
  RunData run;
  run.devices.push_back(test::Device("GPU:0"));
  run.ops = {test::Op("short", "Relu", 0), test::Op("long", "Relu", 1)};
  run.lanes.push_back(test::MakeLane(LaneRole::kCompute, 0, std::move(slices)));
  Timeline timeline;
  timeline.Add(FinishRun(std::move(run), {}));
  const auto axes = AlignRuns(timeline, Alignment::kStart);
  const auto [begin, end] = AxisExtent(timeline, axes);
  ViewTransform view;
  view.SetWidth(1000);
  view.SetExtent(begin, end);
  view.Show(begin, end);
  DrawOptions options;
  options.height_px = 1000;
  DrawPlan plan;
  BuildDrawPlan(timeline, ComputeLayout(timeline, {}, {}), axes, view, {}, options, &plan);
  ASSERT_EQ(plan.lanes.rows.size(), 1u);
  ASSERT_EQ(plan.lanes.labels.size(), 1u);
  EXPECT_EQ(plan.lanes.labels[0].text, "long");
  ASSERT_EQ(plan.lanes.slices.size(), 1u);
  EXPECT_NEAR(plan.lanes.slices[0].x1 - plan.lanes.slices[0].x0, 100, 1);
}

TEST(RulerTest, TicksAreRoundAndApart) {
  ViewTransform view;
  view.SetWidth(1000);
  view.SetExtent(0, 1e9);
  for (const double span : {37.0, 1234567.0, 9.3e8}) {
    view.Show(0.1 * span, 1.1 * span);
    const auto ticks = RulerTicks(view, 80);
    ASSERT_GE(ticks.size(), 2u);
    for (size_t i = 1; i < ticks.size(); ++i) EXPECT_GE(ticks[i].x - ticks[i - 1].x, 79.9);
  }
}

TEST(ColorTest, KeysOfDevicesAndKinds) {
  const auto run = test::TwoDeviceRun();
  const Lane& first = run->lanes[0];
  EXPECT_EQ(ColorOf(*run, first, 0, ColorMode::kDevice), 1u);
  EXPECT_EQ(ColorOf(*run, first, 0, ColorMode::kOp), OpColor("MatMul"));
  EXPECT_EQ(ColorOf(*run, first, 0, ColorMode::kKind), static_cast<ColorKey>(SliceKind::kLaunch));
  for (const Lane& lane : run->lanes) {
    if (lane.role != LaneRole::kCopyOut) continue;
    EXPECT_EQ(ColorOf(*run, lane, 0, ColorMode::kKind), static_cast<ColorKey>(SliceKind::kDeviceToDevice));
  }
}

}  // namespace
}  // namespace lanescope::gui
