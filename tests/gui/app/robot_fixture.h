// SPDX-License-Identifier: Apache-2.0
// The timeline with a trace in it, used by a robot.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tests/gui/app/robot.h"
#include "tests/gui/app/sample_trace.h"
#include "tests/support/paths.h"

namespace lanescope::gui {

// A trace with two predicted runs of deepconn_dual, opened; the pointer in the middle of the lanes.
class RobotTest : public ::testing::Test {
 protected:
  void SetUp() override {
    trace_ = SimulatedTrace(folder_, "deepconn_dual", "single,alternating");
    ASSERT_FALSE(trace_.empty()) << "lanescope compare failed";
    robot_.document().AddGraphFolder(lanescope::test::SourceDir() + "/samples/graphs");
    ASSERT_TRUE(robot_.Open(trace_));
    ASSERT_EQ(robot_.timeline().runs().size(), 2u);
    robot_.Move(Origin().x + 300, Origin().y + 100);
  }
  ViewState& State() { return robot_.state(); }
  ImVec2 Origin() { return State().lanes_origin; }
  double Span() { return State().view.end() - State().view.begin(); }
  SliceRef SelectWidest() {
    const SliceRef slice = robot_.WidestSlice();
    float x = 0, y = 0;
    EXPECT_TRUE(robot_.Locate(slice, &x, &y));
    robot_.Click(x, y);
    return slice;
  }

  TestFolder folder_;
  std::string trace_;
  Robot robot_;
};

}  // namespace lanescope::gui
