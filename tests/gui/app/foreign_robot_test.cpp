// SPDX-License-Identifier: Apache-2.0
// Traces of other tools in the whole interface, used by a robot.
#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "gui/app/actions.h"
#include "tests/gui/app/robot.h"
#include "tests/gui/app/sample_trace.h"
#include "tests/gui/model/foreign_trace.h"

namespace lanescope::gui {
namespace {

class ForeignRobotTest : public ::testing::Test {
 protected:
  void SetUp() override {
    trace_ = folder_ / "a##b.sqlite";
    test::WriteForeignTrace(trace_);
    ASSERT_TRUE(robot_.Open(trace_));
    ASSERT_EQ(robot_.timeline().runs().size(), 1u);
    robot_.Move(State().lanes_origin.x + 300, State().lanes_origin.y + 5);
  }
  ViewState& State() { return robot_.state(); }
  const RunData& Data() { return *robot_.timeline().runs()[0].data; }
  std::string SelectedName() { return robot_.timeline().NameOf(State().selection.op); }
  bool ClickOn(const std::string& name) {
    for (const DrawSlice& drawn : robot_.app().plan().lanes.slices) {
      if (robot_.timeline().NameOf(robot_.timeline().IdentityOf(drawn.slice)) != name) continue;
      robot_.Click(State().lanes_origin.x + (drawn.x0 + drawn.x1) / 2,
                   State().lanes_origin.y + (drawn.y0 + drawn.y1) / 2);
      return State().selection.slice == drawn.slice;
    }
    return false;
  }

  TestFolder folder_;
  std::string trace_;
  Robot robot_;
};

// A kernel is clicked, then `[` and `]`. Law: to its call and back; the inspector has read the launch.
TEST_F(ForeignRobotTest, BracketsGoToTheCallAndBack) {
  ASSERT_TRUE(ClickOn("void gemm(float*)"));
  ASSERT_TRUE(robot_.Settle());
  ASSERT_NE(robot_.app().analysis().facts(), nullptr);
  EXPECT_EQ(robot_.app().analysis().facts()->registers, 40);
  robot_.TypeAtOnce("[");
  EXPECT_EQ(SelectedName(), "cudaLaunchKernel");
  robot_.TypeAtOnce("]");
  EXPECT_EQ(SelectedName(), "void gemm(float*)");
  ASSERT_TRUE(robot_.Settle());
}

// Law: a click on a group's header folds it and a second one unfolds it, and the header stays under the
// pointer.
TEST_F(ForeignRobotTest, AGroupFoldsUnderThePointer) {
  const auto header = [&](int group) -> const LaidGroup* {
    for (const LaidGroup& laid : robot_.app().analysis().layout().groups) {
      if (laid.group == group) return &laid;
    }
    return nullptr;
  };
  ASSERT_NE(header(0), nullptr);
  const float y = State().lanes_origin.y + (header(0)->top + header(0)->bottom) / 2 - State().scroll_y;
  const size_t lanes = robot_.app().analysis().layout().lanes.size();
  robot_.Click(State().lanes_origin.x + 40, y);
  ASSERT_NE(header(0), nullptr);
  EXPECT_TRUE(header(0)->folded);
  EXPECT_LT(robot_.app().analysis().layout().lanes.size(), lanes);
  EXPECT_EQ(State().lanes_origin.y + (header(0)->top + header(0)->bottom) / 2 - State().scroll_y, y);
  robot_.Click(State().lanes_origin.x + 40, y);
  EXPECT_FALSE(header(0)->folded);
  EXPECT_EQ(robot_.app().analysis().layout().lanes.size(), lanes);
}

// Every tab, colour and the knobs, with and without a selection. Law: they draw, and a change of a knob is a
// run.
TEST_F(ForeignRobotTest, EverythingDrawsAndKnobsTurn) {
  for (int tab = 0; tab < kNumTabs; ++tab) {
    State().tab = static_cast<Tab>(tab);
    State().tab_requested = true;
    ASSERT_TRUE(robot_.Settle());
  }
  for (const ColorMode mode : {ColorMode::kRange, ColorMode::kKind, ColorMode::kDevice, ColorMode::kError}) {
    State().colour = mode;
    ASSERT_TRUE(robot_.Settle());
  }
  const RunKey run = robot_.timeline().runs()[0].key;
  EXPECT_EQ(ReplayedRun(robot_.document(), State()), run);
  EXPECT_EQ(EditedRun(robot_.document(), State()), 0u);
  robot_.document().BeginReplay(run);
  robot_.document().SetKnobByText("launch.overhead=0ns");
  ASSERT_TRUE(robot_.Until([&] { return !robot_.document().replay().preparing; }));
  ASSERT_TRUE(robot_.Settle());
  EXPECT_EQ(robot_.document().replay().problem, "");
  EXPECT_EQ(robot_.timeline().runs().size(), 2u);
  EXPECT_EQ(ReplayCommand(robot_.document()),
            "lanescope simulate '" + trace_ + "' --set 'launch.overhead=0ns'");
  robot_.Key(GLFW_KEY_Z, GLFW_MOD_CONTROL);
  ASSERT_TRUE(robot_.Settle());
  EXPECT_TRUE(robot_.document().replay().changes.empty());
}

// A profile of PyTorch, opened as it is. Law: runs are called after it, the command line that repeats a
// what-if names it, and SQL asks what it was imported into.
TEST_F(ForeignRobotTest, AProfileKeepsItsName) {
  const std::string profile = folder_ / "rank0.pt.trace.json";
  std::ofstream(profile) << R"({"traceEvents": [
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 100, "tid": 101, "ts": 1, "dur": 2,
     "args": {"correlation": 7}},
    {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 5, "dur": 2,
     "args": {"device": 0, "stream": 7, "correlation": 7}}]})";
  ASSERT_TRUE(robot_.Open(profile));
  ASSERT_EQ(robot_.timeline().runs().size(), 2u);
  const ShownRun& run = robot_.timeline().runs()[1];
  EXPECT_EQ(run.title, "rank0.pt.trace.json");
  robot_.document().BeginReplay(run.key);
  robot_.document().SetKnobByText("GPU:0.speed=2");
  ASSERT_TRUE(robot_.Until([&] { return !robot_.document().replay().preparing; }));
  ASSERT_TRUE(robot_.Settle());
  EXPECT_EQ(ReplayCommand(robot_.document()), "lanescope simulate '" + profile + "' --set 'GPU:0.speed=2'");
  const std::string imported = robot_.document().files().back().state.file;
  EXPECT_NE(imported, profile);
  EXPECT_TRUE(std::filesystem::exists(imported));
}

// Law: a view that changes what the trace does not have is refused.
TEST_F(ForeignRobotTest, AChangeOfWhatIsNotThereIsRefused) {
  robot_.app().Show(ParseViewOptions("set=GPU:7.speed=2"));
  ASSERT_TRUE(robot_.Settle());
  EXPECT_EQ(robot_.app().view_problem(), "--view: set: this trace has no 'GPU:7.speed' to change");
}

// The pointer lies where the panel below would grow. Law: the lanes under it keep their place when a table of
// many rows is asked for, and the panel grows when the pointer has gone.
TEST_F(ForeignRobotTest, NothingMovesUnderThePointer) {
  State().tab = Tab::kSearch;
  State().tab_requested = true;
  ASSERT_TRUE(robot_.Settle());
  const float low = State().bottom_shown;
  ASSERT_LT(low, State().bottom_height);
  // Just above the panel.
  robot_.Move(State().lanes_origin.x + 200, ImGui::GetIO().DisplaySize.y - low - 40);
  const ImVec2 origin = State().lanes_origin;
  State().tab = Tab::kSql;
  State().tab_requested = true;
  ASSERT_TRUE(robot_.Settle());
  EXPECT_EQ(State().bottom_shown, low);
  robot_.Move(State().lanes_origin.x + 200, State().lanes_origin.y + 5);
  robot_.Frames(3);
  EXPECT_GT(State().bottom_shown, low);
  EXPECT_EQ(State().lanes_origin.y, origin.y);
}

// A question is typed and Ctrl+Enter pressed. Law: it is asked, and the text stays as it was.
TEST_F(ForeignRobotTest, ControlEnterAsks) {
  State().tab = Tab::kSql;
  State().tab_requested = true;
  ASSERT_TRUE(robot_.Settle());
  robot_.app().sql().SetText("");
  robot_.Click(State().lanes_origin.x, ImGui::GetIO().DisplaySize.y - State().bottom_shown + 30);
  robot_.TypeAtOnce("SELECT COUNT(*) AS \"k##s\" FROM CUPTI_ACTIVITY_KIND_KERNEL");
  robot_.Key(GLFW_KEY_ENTER, GLFW_MOD_CONTROL);
  ASSERT_TRUE(robot_.Settle());
  ASSERT_EQ(robot_.app().sql().error(), "");
  ASSERT_EQ(robot_.app().sql().result().rows.size(), 1u);
  EXPECT_EQ(std::get<int64_t>(robot_.app().sql().result().rows[0][0]), 3);
}

}  // namespace
}  // namespace lanescope::gui
