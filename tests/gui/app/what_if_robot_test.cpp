// SPDX-License-Identifier: Apache-2.0
// An edit of a placement by mouse and keys: moved, undone, saved and run.
#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "core/base/file.h"
#include "gui/app/actions.h"
#include "tests/gui/app/robot_fixture.h"
#include "traces/read/trace_reader.h"

namespace lanescope::gui {
namespace {

class WhatIfRobotTest : public RobotTest {
 protected:
  void SetUp() override {
    RobotTest::SetUp();
    if (HasFatalFailure()) return;
    robot_.document().BeginWhatIf(robot_.timeline().runs()[0].key);
    ASSERT_TRUE(robot_.Until([&] { return !robot_.document().what_if().preparing; }));
    ASSERT_TRUE(robot_.Settle());
    ASSERT_EQ(robot_.document().what_if().problem, "");
  }
};

// The whole of what-if: drag an op to another device's lane, see the prediction, undo, redo, save.
TEST_F(WhatIfRobotTest, DraggingASliceMovesItsOpAndUndoTakesItBack) {
  const RunKey run = robot_.timeline().runs()[0].key;
  const SliceRef slice = robot_.WidestSlice(run);
  float x = 0, y = 0;
  ASSERT_TRUE(robot_.Locate(slice, &x, &y));
  robot_.Click(x, y);
  const std::string node = robot_.timeline().NameOf(State().selection.op);
  const std::string from = robot_.document().DeviceOfNode(node);
  // The first lane of another device of this run; a device that computed nothing has its memory lane.
  const ShownRun& shown = *robot_.timeline().Find(run);
  float target_y = -1;
  std::string to;
  for (const LaidLane& lane : robot_.app().analysis().layout().lanes) {
    if (lane.key != run) continue;  // lanes of other runs are not of `shown`
    const Lane& data = shown.data->lanes[static_cast<size_t>(lane.lane)];
    if (data.role == LaneRole::kLink || data.device < 0) continue;
    const RunDevice& device = shown.data->devices[static_cast<size_t>(data.device)];
    if (device.label == from || device.is_host) continue;
    target_y = Origin().y + (lane.top + lane.bottom) / 2 - State().scroll_y;
    to = device.label;
    break;
  }
  ASSERT_GE(target_y, 0) << "no lane of another device";
  ASSERT_TRUE(robot_.Locate(slice, &x, &y));
  robot_.Drag(x, y, x + 5, target_y);
  ASSERT_TRUE(robot_.Settle());
  const WhatIfView& what_if = robot_.document().what_if();
  EXPECT_EQ(what_if.problem, "");
  EXPECT_GE(what_if.moved_ops, 1);
  EXPECT_EQ(robot_.document().DeviceOfNode(node), to);
  EXPECT_NE(robot_.timeline().Find(what_if.result), nullptr);
  robot_.Key(GLFW_KEY_Z, GLFW_MOD_CONTROL);
  ASSERT_TRUE(robot_.Settle());
  EXPECT_EQ(robot_.document().DeviceOfNode(node), from);
  robot_.Key(GLFW_KEY_Y, GLFW_MOD_CONTROL);
  ASSERT_TRUE(robot_.Settle());
  EXPECT_EQ(robot_.document().DeviceOfNode(node), to);
  robot_.document().SavePlacement(folder_ / "placement.json");
  EXPECT_TRUE(std::filesystem::exists(folder_ / "placement.json"));
}

// Input: a slice that is selected and dragged; no what-if was begun. Law: the drag begins it and moves the
// op, and then it is told where running it would record.
TEST_F(RobotTest, ADragBeginsTheWhatIf) {
  ASSERT_EQ(robot_.document().what_if().base, 0u);
  const RunKey run = robot_.timeline().runs()[0].key;
  const SliceRef slice = robot_.WidestSlice(run);
  float x = 0, y = 0;
  ASSERT_TRUE(robot_.Locate(slice, &x, &y));
  robot_.Click(x, y);
  const RunData& data = *robot_.timeline().Find(run)->data;
  const int from = data.lanes[static_cast<size_t>(slice.lane)].device;
  float target_y = -1;
  for (const LaidLane& lane : robot_.app().analysis().layout().lanes) {
    if (target_y >= 0 || lane.key != run) continue;  // lanes of other runs are not of `data`
    const Lane& of = data.lanes[static_cast<size_t>(lane.lane)];
    const int device = of.device;
    if (of.role == LaneRole::kLink) continue;
    if (device < 0 || device == from) continue;
    if (data.devices[static_cast<size_t>(device)].is_host) continue;
    target_y = Origin().y + (lane.top + lane.bottom) / 2 - State().scroll_y;
  }
  ASSERT_GE(target_y, 0) << "no lane of another device";
  ASSERT_TRUE(robot_.Locate(slice, &x, &y));
  robot_.Drag(x, y, x + 5, target_y);
  ASSERT_TRUE(robot_.Settle());
  EXPECT_EQ(robot_.document().what_if().base, run);
  EXPECT_EQ(robot_.document().what_if().problem, "");
  EXPECT_GE(robot_.document().what_if().moved_ops, 1);
  WhatIfView what_if = robot_.document().what_if();
  const std::string name = std::filesystem::path(trace_).filename().string();
  EXPECT_EQ(RunItText(what_if), "records into " + name + "; keeps this machine busy");
  what_if.measuring = true;
  EXPECT_EQ(RunItText(what_if), "this machine is busy: it runs, and records into " + name);
}

// Ctrl+S, two names, Enter. Law: new files are written at once; a file that is there is replaced only after a
// second Enter, and stays when the dialog is left with Escape.
TEST_F(WhatIfRobotTest, SavingAsksBeforeItReplacesAFile) {
  const std::string placement = folder_ / "placement.json", machine = folder_ / "machine.json";
  const auto save = [&] {
    robot_.Key(GLFW_KEY_S, GLFW_MOD_CONTROL);
    robot_.Frames(3);
    robot_.TypeAtOnce(placement);
    robot_.Key(GLFW_KEY_TAB);
    robot_.Frames(3);
    robot_.TypeAtOnce(machine);
    robot_.Key(GLFW_KEY_ENTER);
    robot_.Frames(3);
  };
  save();
  EXPECT_FALSE(State().show_save);
  ASSERT_TRUE(std::filesystem::exists(placement));
  ASSERT_TRUE(std::filesystem::exists(machine));
  const std::string saved = ReadFile(placement);
  WriteFile(placement, "mine");
  save();
  EXPECT_TRUE(State().show_save);
  EXPECT_EQ(ReadFile(placement), "mine");
  robot_.Key(GLFW_KEY_ENTER);
  robot_.Frames(3);
  EXPECT_FALSE(State().show_save);
  EXPECT_EQ(ReadFile(placement), saved);
  save();
  EXPECT_TRUE(State().show_save);
  WriteFile(placement, "mine");
  robot_.Key(GLFW_KEY_ESCAPE);
  robot_.Key(GLFW_KEY_ESCAPE);
  robot_.Frames(3);
  EXPECT_FALSE(State().show_save);
  EXPECT_EQ(ReadFile(placement), "mine");
}

// A number that is none is not run; then a seed and Enter. Law: the run of the edit, in the trace, with what
// was chosen.
TEST_F(WhatIfRobotTest, RunsWithWhatTheDialogSays) {
  State().run_options.steps = 2;
  State().run_options.warmup = 0;
  State().run_options.trace_path = folder_ / "run.db";
  State().show_run = true;
  robot_.Frames(3);
  robot_.TypeAtOnce("7-");
  robot_.Key(GLFW_KEY_ENTER);
  robot_.Frames(3);
  EXPECT_TRUE(State().show_run);
  EXPECT_FALSE(State().run_options.settings.seed.has_value());
  robot_.Key(GLFW_KEY_BACKSPACE);
  robot_.Key(GLFW_KEY_ENTER);
  robot_.Frames(3);
  EXPECT_FALSE(State().show_run);
  EXPECT_EQ(State().run_options.settings.seed, 7u);
  ASSERT_TRUE(robot_.Until([&] { return !robot_.document().what_if().measuring; }));
  EXPECT_EQ(robot_.document().what_if().problem, "");
  traces::TraceReader trace(State().run_options.trace_path);
  const std::vector<traces::TraceRunInfo> runs = trace.Runs();
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_FALSE(runs[1].simulated);
  EXPECT_EQ(trace.Steps(runs[1].id).size(), 2u);
}

}  // namespace
}  // namespace lanescope::gui
