// SPDX-License-Identifier: Apache-2.0
#include "gui/model/view_transform.h"

#include <gtest/gtest.h>

#include "tests/gui/model/random_run.h"

namespace lanescope::gui {
namespace {

ViewTransform MakeView() {
  ViewTransform view;
  view.SetWidth(1000);
  view.SetExtent(0, 1e9);
  view.Fit();
  return view;
}

TEST(ViewTransformTest, PixelAndAxisAreInverse) {
  const ViewTransform view = MakeView();
  for (const double pixel : {-3.0, 0.0, 0.25, 500.0, 999.9})
    EXPECT_NEAR(view.ToPixel(view.ToAxis(pixel)), pixel, 1e-6);
}

TEST(ViewTransformTest, ZoomKeepsWhatIsUnderTheCursor) {
  ViewTransform view = MakeView();
  view.Show(4e8, 4.1e8);
  std::mt19937 rng(1);
  for (int i = 0; i < 60; ++i) {
    const double pixel = 200 + rng() % 600;
    const double at = view.ToAxis(pixel);
    view.ZoomAt(pixel, i % 3 == 0 ? 0.8 : 1.12);
    EXPECT_NEAR(view.ToPixel(at), pixel, 1e-3);
  }
}

TEST(ViewTransformTest, StaysWithinReach) {
  ViewTransform view = MakeView();
  for (int i = 0; i < 100; ++i) view.ZoomAt(500, 3);
  EXPECT_NEAR(view.end() - view.begin(), 10, 1e-6);
  for (int i = 0; i < 100; ++i) view.ZoomAt(500, 0.3);
  EXPECT_NEAR(view.end() - view.begin(), 2e9, 1);
  view.Show(0, 1e6);
  for (int i = 0; i < 100; ++i) view.PanPixels(1e6);
  EXPECT_LE(view.begin(), 1e9);
  for (int i = 0; i < 100; ++i) view.PanPixels(-1e6);
  EXPECT_GE(view.end(), 0);
}

TEST(ViewTransformTest, UndoRestoresExactly) {
  ViewTransform view = MakeView();
  std::vector<std::pair<double, double>> before;
  for (int i = 0; i < 20; ++i) {
    before.emplace_back(view.begin(), view.end());
    if (i % 2 == 0) {
      view.Show(1e6 * i, 1e6 * i + 5e7);
    } else {
      view.BeginGesture();
      view.ZoomAt(300, 1.5);
      view.PanPixels(40);
    }
  }
  while (!before.empty()) {
    ASSERT_TRUE(view.CanUndo());
    view.Undo();
    EXPECT_EQ(std::pair(view.begin(), view.end()), before.back());
    before.pop_back();
  }
}

TEST(ViewTransformTest, GestureWithoutChangeLeavesNothingToUndo) {
  ViewTransform view = MakeView();
  view.Show(100, 5000);
  view.BeginGesture();
  view.BeginGesture();
  const auto shown = std::pair(view.begin(), view.end());
  view.Undo();
  EXPECT_NE(std::pair(view.begin(), view.end()), shown);
}

TEST(AlignmentTest, ByStartByOpAndNormalised) {
  Timeline timeline;
  const RunKey first = timeline.Add(test::TwoDeviceRun());
  RunData twice;
  twice.devices = {test::Device("GPU:0")};
  twice.ops = {test::Op("m/b", "MatMul", 0)};
  twice.steps = {{0, 5000, 7000}};
  twice.lanes.push_back(test::MakeLane(LaneRole::kCompute, 0, {{5600, 5700, 0, -1, 0}}));
  timeline.Add(FinishRun(std::move(twice), {}));
  timeline.SetBaseline(first);
  const auto start = AlignRuns(timeline, Alignment::kStart);
  EXPECT_EQ(start[0].ToAxis(100), 100);
  EXPECT_EQ(start[1].ToAxis(5600), 600);
  const auto op = AlignRuns(timeline, Alignment::kOp, timeline.FindIdentity("m/b"));
  EXPECT_EQ(op[0].ToAxis(430), 0);
  EXPECT_EQ(op[1].ToAxis(5600), 0);
  const auto normalised = AlignRuns(timeline, Alignment::kNormalised);
  EXPECT_EQ(normalised[0].ToAxis(1000), 1000);
  EXPECT_EQ(normalised[1].ToAxis(7000), 1000);
  EXPECT_EQ(normalised[1].ToTime(500), 6000);
}

TEST(AlignmentTest, TimesBeyondAllBoundsAreClamped) {
  const RunAxis axis{1000, 1};
  EXPECT_EQ(axis.ToTime(1e300), INT64_MAX);
  EXPECT_EQ(axis.ToTime(-1e300), INT64_MIN);
  EXPECT_EQ(axis.ToTime(9.2e18), INT64_MAX);
}

}  // namespace
}  // namespace lanescope::gui
