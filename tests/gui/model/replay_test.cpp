// SPDX-License-Identifier: Apache-2.0
// A what-if on a trace without a graph: its knobs turned in the timeline say what the command line says.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "gui/document/document.h"
#include "tests/gui/model/foreign_trace.h"
#include "tests/gui/model/sample_trace.h"
#include "tests/traces/sample_run.h"
#include "traces/replay/what_if.h"

namespace lanescope::gui {
namespace {

class ReplayTest : public ::testing::Test {
 protected:
  void SetUp() override {
    test::WriteForeignTrace(file_.path());
    document_.Open(file_.path());
    ASSERT_TRUE(test::PollUntil(&document_, [&] { return !document_.loading(); }));
    ASSERT_EQ(document_.timeline().runs().size(), 1u);
    run_ = document_.timeline().runs()[0].key;
    document_.BeginReplay(run_);
    ASSERT_TRUE(Settle());
    ASSERT_EQ(View().problem, "");
  }
  const ReplayView& View() { return document_.replay(); }
  bool Settle() {
    return test::PollUntil(&document_, [&] { return !document_.busy(); }) &&
           test::PollUntil(&document_, [&] { return !View().preparing && !View().simulating; });
  }
  size_t Knob(const std::string& what) {
    const auto found = std::find_if(View().knobs.begin(), View().knobs.end(),
                                    [&](const traces::WhatIfKnob& knob) { return knob.what == what; });
    return static_cast<size_t>(found - View().knobs.begin());
  }

  traces::ScratchFile file_;
  Document document_;
  RunKey run_ = 0;
};

// Law: the prediction is that of FindWhatIf with the same changes, it appears as a run below the trace, and
// its change is against the replay without changes.
TEST_F(ReplayTest, AKnobGivesWhatTheCommandLineGives) {
  const size_t knob = Knob("GPU:0.speed");
  ASSERT_LT(knob, View().knobs.size());
  document_.SetKnob(knob, {2, ""});
  ASSERT_TRUE(Settle());
  EXPECT_EQ(View().problem, "");
  EXPECT_EQ(View().changes, (std::vector<std::string>{"GPU:0.speed=2"}));
  traces::TraceReader reader(file_.path());
  const traces::WhatIf expected = traces::FindWhatIf(traces::ReadReplayGraph(reader, 1), {"GPU:0.speed=2"});
  EXPECT_EQ(View().predicted_ns, expected.predicted_ns());
  EXPECT_EQ(View().replayed_ns, expected.replayed_ns());
  ASSERT_EQ(document_.timeline().runs().size(), 2u);
  const ShownRun& shown = document_.timeline().runs()[1];
  EXPECT_EQ(shown.key, View().result);
  EXPECT_EQ(shown.title, "what-if: GPU:0.speed=2");
  EXPECT_EQ(shown.data->kind, RunKind::kWhatIf);
  EXPECT_EQ(shown.data->unchanged_step_ns, std::llround(expected.replayed_ns()));
  // Kernels and names are the same, and the one of GPU:0 takes half its time.
  const int gemm = shown.data->FindOp("void gemm(float*)");
  ASSERT_GE(gemm, 0);
  EXPECT_EQ(shown.data->ops[static_cast<size_t>(gemm)].ns, 50);
}

// Law: one drag is one undo; undo and redo go through every state; what changes nothing is no change.
TEST_F(ReplayTest, OneDragIsOneUndo) {
  const size_t knob = Knob("GPU:0.speed");
  for (const double value : {1.5, 2.0, 4.0}) document_.SetKnob(knob, {value, ""});
  document_.EndGesture();
  document_.SetKnob(knob, {3, ""});
  document_.EndGesture();
  EXPECT_EQ(View().changes, (std::vector<std::string>{"GPU:0.speed=3"}));
  document_.Undo();
  EXPECT_EQ(View().changes, (std::vector<std::string>{"GPU:0.speed=4"}));
  document_.Undo();
  EXPECT_TRUE(View().changes.empty());
  EXPECT_FALSE(View().can_undo);
  document_.Redo();
  EXPECT_EQ(View().changes, (std::vector<std::string>{"GPU:0.speed=4"}));
  document_.ResetReplay();
  EXPECT_TRUE(View().changes.empty());
  EXPECT_TRUE(View().can_undo);
  ASSERT_TRUE(Settle());
  EXPECT_EQ(View().predicted_ns, View().replayed_ns);
}

// Law: changes as texts are the knobs'; what is no knob's says so and changes nothing.
TEST_F(ReplayTest, TextsAreRefusedThatAreNoKnobs) {
  document_.SetKnobByText("GPU:0.speed=2");
  EXPECT_EQ(View().changes, (std::vector<std::string>{"GPU:0.speed=2"}));
  document_.SetKnobByText("GPU:7.speed=2");
  EXPECT_EQ(View().problem, "this trace has no 'GPU:7.speed' to change");
  document_.SetKnobByText("GPU:0.speed=fast");
  EXPECT_NE(View().problem, "");
  EXPECT_EQ(View().changes, (std::vector<std::string>{"GPU:0.speed=2"}));
  ASSERT_TRUE(Settle());
}

}  // namespace
}  // namespace lanescope::gui
