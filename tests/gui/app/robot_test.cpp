// SPDX-License-Identifier: Apache-2.0
// Every interaction, and what of the state it changes.
#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>
#include <gtest/gtest.h>

#include <cstdio>

#include "gui/app/actions.h"
#include "gui/app/commands.h"
#include "gui/app/view_options.h"
#include "tests/gui/app/robot_fixture.h"

namespace lanescope::gui {
namespace {

TEST_F(RobotTest, WheelZoomsAtThePointer) {
  const double before = Span();
  const double pixel = 300;
  const double at = State().view.ToAxis(pixel);
  robot_.Wheel(3);
  EXPECT_LT(Span(), before);
  EXPECT_NEAR(State().view.ToAxis(pixel), at, before * 1e-6);
  robot_.Key(GLFW_KEY_BACKSPACE);
  EXPECT_DOUBLE_EQ(Span(), before);
}

TEST_F(RobotTest, KeysZoomAndMove) {
  const double before = Span();
  robot_.Key(GLFW_KEY_W);
  EXPECT_LT(Span(), before);
  const double begin = State().view.begin();
  robot_.Key(GLFW_KEY_D);
  EXPECT_GT(State().view.begin(), begin);
  robot_.Key(GLFW_KEY_A);
  EXPECT_NEAR(State().view.begin(), begin, before * 1e-6);
  robot_.Key(GLFW_KEY_S);
  EXPECT_NEAR(Span(), before, before * 1e-6);
}

TEST_F(RobotTest, RightDragMovesTheContentWithThePointer) {
  robot_.Wheel(6);
  const double under = State().view.ToAxis(300);
  robot_.Drag(Origin().x + 300, Origin().y + 100, Origin().x + 420, Origin().y + 100, 1);
  EXPECT_NEAR(State().view.ToAxis(420), under, Span() * 0.01);
}

TEST_F(RobotTest, ClickSelectsTheOpInEveryRun) {
  State().lanes.show_copies = State().lanes.show_memory = State().lanes.show_links = false;
  robot_.Frames(3);
  const SliceRef slice = SelectWidest();
  EXPECT_EQ(State().selection.slice, slice);
  EXPECT_EQ(State().selection.op, robot_.timeline().IdentityOf(slice));
  bool lit_elsewhere = false;
  for (const DrawSlice& drawn : robot_.app().plan().lanes.slices) {
    lit_elsewhere |= drawn.slice.run != slice.run && (drawn.flags & kSameOp) != 0;
  }
  EXPECT_TRUE(lit_elsewhere);
}

TEST_F(RobotTest, EscapeAndClickBesideSlicesClear) {
  SelectWidest();
  robot_.Key(GLFW_KEY_ESCAPE);
  EXPECT_TRUE(State().selection.empty());
}

TEST_F(RobotTest, LeftDragSelectsAnAreaAndAddsItUp) {
  robot_.Drag(Origin().x + 100, Origin().y + 40, Origin().x + 400, Origin().y + 120);
  ASSERT_TRUE(State().selection.area.has_value());
  EXPECT_FALSE(State().selection.area->lanes.empty());
  EXPECT_NEAR(State().view.ToPixel(State().selection.area->begin), 100, 2);
  EXPECT_NEAR(State().view.ToPixel(State().selection.area->end), 400, 2);
  ASSERT_TRUE(robot_.Settle());
  ASSERT_NE(robot_.app().analysis().selection_sums(), nullptr);
  EXPECT_EQ(State().tab, Tab::kSelection);
}

TEST_F(RobotTest, FocusShowsTheSliceThenEverything) {
  SelectWidest();
  const double before = Span();
  robot_.Type("f");
  EXPECT_LT(Span(), before);
  robot_.Type("f");
  EXPECT_GE(Span(), before);
}

TEST_F(RobotTest, MarksComeAndGo) {
  robot_.Type("m");
  ASSERT_EQ(State().marks.size(), 1u);
  EXPECT_NEAR(State().view.ToPixel(State().marks[0].begin), 300, 1);
  robot_.Type("m");
  EXPECT_TRUE(State().marks.empty());
}

TEST_F(RobotTest, RangeTakesTheSelectedSlice) {
  const SliceRef slice = SelectWidest();
  robot_.Type("r");
  ASSERT_TRUE(State().selection.area.has_value());
  const auto range = AxisRange(robot_.timeline(), robot_.app().analysis().axes(), slice);
  EXPECT_DOUBLE_EQ(State().selection.area->begin, range->first);
  EXPECT_DOUBLE_EQ(State().selection.area->end, range->second);
}

TEST_F(RobotTest, DotAndCommaStepThroughTheLane) {
  const SliceRef slice = SelectWidest();
  robot_.Type(".");
  const SliceRef next = State().selection.slice;
  EXPECT_NE(next, slice);
  EXPECT_EQ(next.lane, slice.lane);
  robot_.Type(",");
  EXPECT_EQ(State().selection.slice, slice);
}

TEST_F(RobotTest, BracketsWalkAlongTheFlow) {
  SelectWidest();
  robot_.Type("[");
  const SliceRef earlier = State().selection.slice;
  const RunData& run = *robot_.timeline().Find(earlier.run)->data;
  EXPECT_TRUE(earlier.valid());
  robot_.Type("]");
  const SliceRef later = State().selection.slice;
  EXPECT_GE(run.lanes[static_cast<size_t>(later.lane)].start_ns[later.slice],
            run.lanes[static_cast<size_t>(earlier.lane)].start_ns[earlier.slice]);
}

TEST_F(RobotTest, SlashSearches) {
  robot_.Type("/");
  robot_.Type("MatMul");
  EXPECT_EQ(State().search, "MatMul");
  EXPECT_GT(robot_.app().analysis().search().count, 0);
  robot_.Key(GLFW_KEY_ENTER);
  EXPECT_TRUE(State().selection.slice.valid());
  EXPECT_EQ(State().tab, Tab::kSearch);
}

// Input: the second run was clicked; both have hits. Law: Enter goes from hit to hit of that run.
TEST_F(RobotTest, SearchStaysInTheRunInView) {
  const RunKey second = robot_.timeline().runs()[1].key;
  const LaidRun& laid = robot_.app().analysis().layout().runs[1];
  State().scroll_to = laid.top;
  State().run = second;
  robot_.Frames(3);
  robot_.Type("/");
  robot_.Type("MatMul");
  robot_.Key(GLFW_KEY_ENTER);
  const SliceRef first = State().selection.slice;
  EXPECT_EQ(first.run, second);
  GoToNextHit(true, {robot_.document(), State(), robot_.app().analysis()});
  EXPECT_EQ(State().selection.slice.run, second);
  EXPECT_FALSE(State().selection.slice == first);
}

// Law: what a view names and is not there is refused with its key; what is there is not.
TEST_F(RobotTest, AViewOfWhatIsNotThereIsRefused) {
  const auto problem = [&](const char* view) {
    robot_.app().Show(ParseViewOptions(view));
    EXPECT_TRUE(robot_.Settle());
    return robot_.app().view_problem();
  };
  EXPECT_EQ(problem("runs=1+2,baseline=2,tab=diff"), "");
  EXPECT_EQ(problem("runs=1+3"), "--view: runs: there is no run 3");
  EXPECT_EQ(problem("baseline=4"), "--view: baseline: there is no run 4");
  EXPECT_EQ(problem("select=nothing"), "--view: select: no run has an op named 'nothing'");
  EXPECT_EQ(problem("move=nothing:GPU:1").substr(0, 14), "--view: move: ");
  EXPECT_EQ(problem("runs=1"), "");
}

TEST_F(RobotTest, ControlFSearchesToo) {
  robot_.Key(GLFW_KEY_F, GLFW_MOD_CONTROL);
  robot_.Type("Relu");
  EXPECT_EQ(State().search, "Relu");
}

// Input: 20 characters within one frame, the first of which opens the search. Law: none is lost.
TEST_F(RobotTest, TwentyKeysWithinOneFrameArrive) {
  robot_.TypeAtOnce("/abcdefghijklmnopqrs");
  EXPECT_EQ(State().search, "abcdefghijklmnopqrs");
}

// Input: 20 presses of shortcuts within one frame. Law: all are done, in order.
TEST_F(RobotTest, TwentyShortcutsWithinOneFrameAreDone) {
  robot_.TypeAtOnce("?????????????????????");
  EXPECT_TRUE(State().show_help);
  robot_.TypeAtOnce("tttttttttttttttttttt");
  EXPECT_EQ(State().theme, ThemeName::kDark);
}

TEST_F(RobotTest, PinKeepsALaneAtTheTop) {
  const SliceRef slice = SelectWidest();
  float x = 0, y = 0;
  ASSERT_TRUE(robot_.Locate(slice, &x, &y));
  robot_.Move(x, y);
  robot_.Type("p");
  EXPECT_TRUE(State().lanes.IsPinned({slice.run, slice.lane}));
  EXPECT_FALSE(robot_.app().plan().pinned.rows.empty() && robot_.app().plan().pinned.slices.empty());
  robot_.Type("p");
}

TEST_F(RobotTest, QuestionMarkShowsTheKeys) {
  robot_.Type("?");
  EXPECT_TRUE(State().show_help);
  robot_.Key(GLFW_KEY_ESCAPE);
  EXPECT_FALSE(State().show_help);
}

TEST_F(RobotTest, ThemeChanges) {
  robot_.Type("t");
  EXPECT_EQ(State().theme, ThemeName::kLight);
}

TEST_F(RobotTest, HeaderCollapsesARun) {
  const RunKey run = robot_.timeline().runs()[0].key;
  robot_.Click(Origin().x + 200, Origin().y + 10);
  EXPECT_EQ(State().lanes.collapsed.count(run), 1u);
  robot_.Click(Origin().x + 200, Origin().y + 10);
  EXPECT_EQ(State().lanes.collapsed.count(run), 0u);
}

TEST_F(RobotTest, DoubleClickFocuses) {
  const SliceRef slice = robot_.WidestSlice();
  float x = 0, y = 0;
  ASSERT_TRUE(robot_.Locate(slice, &x, &y));
  const double before = Span();
  robot_.Move(x, y);
  for (int i = 0; i < 2; ++i) {
    robot_.Button(0, true);
    robot_.Button(0, false);
  }
  robot_.Frames(2);
  EXPECT_LT(Span(), before);
}

TEST_F(RobotTest, EveryTabDrawsWithAndWithoutSelection) {
  for (const bool selected : {false, true}) {
    if (selected) SelectWidest();
    for (int tab = 0; tab < kNumTabs; ++tab) {
      State().tab = static_cast<Tab>(tab);
      State().tab_requested = true;
      ASSERT_TRUE(robot_.Settle());
      EXPECT_EQ(State().tab, static_cast<Tab>(tab));
    }
  }
  EXPECT_NE(robot_.app().analysis().diff(), nullptr);
  EXPECT_EQ(robot_.app().analysis().paths().size(), 2u);
}

TEST_F(RobotTest, EveryColourModeAndAlignmentDraws) {
  for (const ColorMode mode :
       {ColorMode::kDevice, ColorMode::kKind, ColorMode::kRange, ColorMode::kError, ColorMode::kOp}) {
    State().colour = mode;
    EXPECT_TRUE(robot_.Settle());
  }
  SelectWidest();
  for (const Alignment alignment : {Alignment::kOp, Alignment::kNormalised, Alignment::kStart}) {
    State().alignment = alignment;
    State().align_op = State().selection.op;
    EXPECT_TRUE(robot_.Settle());
  }
}

TEST_F(RobotTest, SqlAnswers) {
  robot_.app().sql().SetText("SELECT COUNT(*) AS runs FROM LANESCOPE_RUN;");
  robot_.app().sql().Run(trace_);
  State().tab = Tab::kSql;
  State().tab_requested = true;
  ASSERT_TRUE(robot_.Settle());
  ASSERT_EQ(robot_.app().sql().result().rows.size(), 1u);
  EXPECT_EQ(std::get<int64_t>(robot_.app().sql().result().rows[0][0]), 2);
  robot_.app().sql().SetText("DELETE FROM LANESCOPE_RUN");
  robot_.app().sql().Run(trace_);
  ASSERT_TRUE(robot_.Settle());
  EXPECT_FALSE(robot_.app().sql().error().empty());
}

TEST_F(RobotTest, MinimapMovesTheView) {
  robot_.Wheel(12);
  const double before = State().view.begin();
  // The minimap lies above ruler and lanes.
  robot_.Click(Origin().x + 450, Origin().y - 36);
  EXPECT_GT(State().view.begin(), before);
}

TEST(EmptyRobotTest, StartPageDrawsAndOpensTheDialog) {
  Robot robot;
  robot.Key(GLFW_KEY_O, GLFW_MOD_CONTROL);
  EXPECT_TRUE(robot.state().show_open);
  robot.Frames(3);
  robot.state().show_open = false;
  robot.Frames(3);
}

TEST(EmptyRobotTest, EveryCommandWorksWithNothingOpen) {
  Robot robot;
  for (int command = 0; command < static_cast<int>(Command::kQuit); ++command) {
    Do(static_cast<Command>(command), {robot.document(), robot.state(), robot.app().analysis()});
    robot.Frames(2);
  }
  EXPECT_FALSE(robot.app().wants_quit());
}

TEST(EmptyRobotTest, ABrokenFileIsReportedAndNothingElseHappens) {
  TestFolder folder;
  const std::string path = folder / "broken.db";
  {
    std::FILE* file = std::fopen(path.c_str(), "wb");
    std::fputs("this is no database", file);
    std::fclose(file);
  }
  Robot robot;
  robot.app().Open(path);
  ASSERT_TRUE(robot.Settle());
  ASSERT_EQ(robot.document().files().size(), 1u);
  EXPECT_EQ(robot.document().files()[0].state.phase, LoadState::Phase::kFailed);
  EXPECT_NE(robot.document().files()[0].state.message, "");
}

}  // namespace
}  // namespace lanescope::gui
