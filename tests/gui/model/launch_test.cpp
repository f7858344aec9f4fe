// SPDX-License-Identifier: Apache-2.0
// Calls and what they launched, in the runs of other tools' traces.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "gui/model/draw_plan.h"
#include "gui/model/layout.h"
#include "gui/model/picking.h"
#include "gui/model/run_builder.h"
#include "gui/model/selection.h"
#include "gui/model/slice_facts.h"
#include "gui/model/trace_loader.h"
#include "tests/gui/model/foreign_trace.h"
#include "tests/traces/sample_run.h"
#include "traces/store/sqlite.h"

namespace lanescope::gui {
namespace {

class LaunchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    test::WriteForeignTrace(file_.path());
    const auto runs = LoadTrace(file_.path(), nullptr, nullptr);
    ASSERT_EQ(runs.size(), 1u);
    data_ = runs[0];
    key_ = timeline_.Add(data_);
  }
  // The slice that starts at `start` and is called `name`.
  SliceRef Find(int64_t start, const std::string& name) const {
    for (size_t l = 0; l < data_->lanes.size(); ++l) {
      const Lane& lane = data_->lanes[l];
      if (lane.role == LaneRole::kLink) continue;
      for (uint32_t i = 0; i < lane.size(); ++i) {
        if (lane.start_ns[i] == start && lane.op[i] >= 0 &&
            data_->ops[static_cast<size_t>(lane.op[i])].name == name)
          return {key_, static_cast<int>(l), i};
      }
    }
    return {};
  }

  traces::ScratchFile file_;
  std::shared_ptr<const RunData> data_;
  Timeline timeline_;
  RunKey key_ = 0;
};

// Law: `[` leads from a kernel or a copy to the call that launched it, `]` back, and neither anywhere else:
// the same correlation id of another process is another call.
TEST_F(LaunchTest, BracketsWalkBetweenCallAndKernel) {
  const SliceRef gemm = Find(100, "void gemm(float*)"), relu = Find(100, "void relu(float*)");
  const SliceRef call = Find(60, "cudaLaunchKernel"), other = Find(90, "cudaLaunchKernel");
  ASSERT_TRUE(gemm.valid() && relu.valid() && call.valid() && other.valid());
  EXPECT_EQ(PreviousInFlow(timeline_, gemm), call);
  EXPECT_EQ(NextInFlow(timeline_, call), gemm);
  EXPECT_EQ(PreviousInFlow(timeline_, relu), other);
  EXPECT_EQ(NextInFlow(timeline_, other), relu);
  EXPECT_FALSE(PreviousInFlow(timeline_, call).valid());
  EXPECT_FALSE(NextInFlow(timeline_, gemm).valid());
  const SliceRef copy = Find(375, "copy to device");
  ASSERT_TRUE(copy.valid());
  EXPECT_EQ(PreviousInFlow(timeline_, copy), Find(360, "cudaMemcpyAsync"));
}

// Law: an arrow from the end of the call to the start of what it launched, for all where few are visible, and
// lit for the selected one.
TEST_F(LaunchTest, ArrowsLeadFromCallsToKernels) {
  ViewTransform view;
  view.SetWidth(400);
  view.SetExtent(0, 400);
  view.Show(0, 400);
  std::vector<RunAxis> axes = {{0, 1}};
  DrawOptions options;
  options.height_px = 10000;
  DrawPlan plan;
  const Layout layout = ComputeLayout(timeline_, {}, {});
  BuildDrawPlan(timeline_, layout, axes, view, {}, options, &plan);
  ASSERT_EQ(plan.arrows.size(), 4u);
  int found = 0;
  for (const DrawArrow& arrow : plan.arrows) found += arrow.x0 == 80 && arrow.x1 == 100;
  EXPECT_EQ(found, 1);
  Highlight highlight;
  highlight.slice = Find(100, "void gemm(float*)");
  plan.Clear();
  BuildDrawPlan(timeline_, layout, axes, view, highlight, options, &plan);
  ASSERT_EQ(plan.arrows.size(), 5u);
  EXPECT_EQ(plan.arrows.back().flags & kSelected, kSelected);
}

// Law: the inspector has call, delay from the end of the call, ranges from the outermost in, and what the
// file says of the launch and its operator.
TEST_F(LaunchTest, DetailsOfALaunch) {
  const SliceRef gemm = Find(100, "void gemm(float*)");
  const LaunchDetails launch = LaunchDetailsOf(timeline_, gemm);
  EXPECT_EQ(launch.call, Find(60, "cudaLaunchKernel"));
  EXPECT_EQ(launch.call_name, "cudaLaunchKernel");
  EXPECT_EQ(launch.call_ns, 20);
  EXPECT_EQ(launch.delay_ns, 20);
  EXPECT_EQ(launch.range_names, (std::vector<std::string>{"step##1", "attn"}));
  EXPECT_EQ(LaunchDetailsOf(timeline_, launch.call).launched, 1);
  const std::atomic<bool> cancelled{false};
  const SliceFacts facts = ReadSliceFacts({gemm, data_}, cancelled);
  EXPECT_EQ(facts.slice, gemm);
  EXPECT_EQ(facts.grid, (std::array<int64_t, 3>{8, 4, 2}));
  EXPECT_EQ(facts.block, (std::array<int64_t, 3>{128, 1, 1}));
  EXPECT_EQ(facts.registers, 40);
  EXPECT_EQ(facts.static_shared, 1024);
  EXPECT_EQ(facts.dynamic_shared, 2048);
  EXPECT_EQ(facts.operator_name, "attn");
  EXPECT_EQ(facts.shapes, "[[64, 512]]");
  EXPECT_EQ(facts.types, "[\"float\"]");
  EXPECT_EQ(facts.stack, (std::vector<std::string>{"model.py(3): attend", "train.py(9): main"}));
  // Two ran at the same time: the one of this device is shown.
  EXPECT_EQ(ReadSliceFacts({Find(100, "void relu(float*)"), data_}, cancelled).block[0], 64);
}

// Law: a colour by range is that of the innermost range around the call; what was launched in none has none.
TEST_F(LaunchTest, RangesColourWhatWasLaunchedInThem) {
  const auto key_of = [&](const SliceRef& slice) {
    return ColorOf(*data_, data_->lanes[static_cast<size_t>(slice.lane)], slice.slice, ColorMode::kRange);
  };
  EXPECT_EQ(key_of(Find(100, "void gemm(float*)")), OpColor("attn"));
  EXPECT_EQ(key_of(Find(330, "void relu(float*)")), OpColor("step##1"));
  EXPECT_EQ(key_of(Find(100, "void relu(float*)")), 0u);
  EXPECT_EQ(key_of(Find(50, "attn")), OpColor("attn"));
  int64_t attn = 0, step = 0;
  for (const RangeUse& use : data_->ranges) {
    if (use.name == "attn") attn = use.ns;
    if (use.name == "step##1") step = use.ns;
  }
  EXPECT_EQ(attn, 100);
  EXPECT_EQ(step, 40);  // a kernel of 20 and a copy of 20
}

// Kernels of process 1 whose correlation id no call has, one beside a call in "attn" and one without any id.
// Law: nobody says in which range they were launched, so they have no colour by range, and no call.
TEST(LaunchWithoutCallTest, HasNoRange) {
  traces::ScratchFile file;
  test::WriteForeignTrace(file.path());
  traces::Database(file.path(), traces::OpenMode::kReadWrite)
      .Execute(
          "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (210, 220, 0, 7, 77, 1 << 24, 2, 3, 1, 1, 1, 1, 1, "
          "1, "
          "1, 0, 0), (230, 240, 0, 7, NULL, 1 << 24, 2, 3, 1, 1, 1, 1, 1, 1, 1, 0, 0)");
  const auto run = LoadTrace(file.path(), nullptr, nullptr).at(0);
  int found = 0;
  for (size_t l = 0; l < run->lanes.size(); ++l) {
    const Lane& lane = run->lanes[l];
    for (uint32_t i = 0; i < lane.size(); ++i) {
      if (!lane.on_device() || (lane.start_ns[i] != 210 && lane.start_ns[i] != 230)) continue;
      ++found;
      EXPECT_EQ(run->CallOf(static_cast<int>(l), i), -1);
      EXPECT_EQ(ColorOf(*run, lane, i, ColorMode::kRange), 0u);
    }
  }
  EXPECT_EQ(found, 2);
}

// A call chain of Nsight Systems (its documented table, schema 3.17) of the first launch; the frame in the
// driver has no symbol. Law: the inspector has the frames from the call outwards, each with its library.
TEST(CallChainTest, OfNsightSystems) {
  traces::ScratchFile file;
  test::WriteForeignTrace(file.path());
  traces::Database(file.path(), traces::OpenMode::kReadWrite)
      .Execute(
          "DELETE FROM LANESCOPE_OPERATOR;"
          "INSERT INTO StringIds VALUES (20, '0x7f7e4295f0f7'), (21, '/usr/lib64/libcuda.so.575.57.08'), "
          "(22, "
          "'launch_gemm(float*)'), (23, '/opt/app/train'), (24, 'main');"
          "ALTER TABLE CUPTI_ACTIVITY_KIND_RUNTIME ADD COLUMN callchainId INTEGER;"
          "UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET callchainId = 5 WHERE start = 60;"
          "CREATE TABLE CUDA_CALLCHAINS (id INTEGER NOT NULL, symbol INTEGER NOT NULL, module INTEGER NOT "
          "NULL, kernelMode INTEGER, thumbCode INTEGER, unresolved INTEGER, specialEntry INTEGER, originalIP "
          "INTEGER, unwindMethod INTEGER, stackDepth INTEGER NOT NULL, PRIMARY KEY (id, stackDepth));"
          "INSERT INTO CUDA_CALLCHAINS VALUES (5, 24, 23, 0, 0, 0, 0, 3, NULL, 2), (5, 20, 21, 0, 0, 1, 0, "
          "1, "
          "NULL, 0), (5, 22, 23, 0, 0, 0, 0, 2, NULL, 1), (6, 24, 23, 0, 0, 0, 0, 3, NULL, 0)");
  const auto run = LoadTrace(file.path(), nullptr, nullptr).at(0);
  const std::atomic<bool> cancelled{false};
  const auto stack_of = [&](int64_t start, LaneRole role) {
    for (size_t l = 0; l < run->lanes.size(); ++l) {
      const Lane& lane = run->lanes[l];
      for (uint32_t i = 0; i < lane.size(); ++i) {
        if (lane.role == role && lane.start_ns[i] == start)
          return ReadSliceFacts({{1, static_cast<int>(l), i}, run}, cancelled).stack;
      }
    }
    return std::vector<std::string>{"there is no such slice"};
  };
  const std::vector<std::string> frames = {"0x7f7e4295f0f7 (libcuda.so.575.57.08)",
                                           "launch_gemm(float*) (train)", "main (train)"};
  EXPECT_EQ(stack_of(60, LaneRole::kThread), frames);
  EXPECT_EQ(stack_of(330, LaneRole::kCompute), std::vector<std::string>());
}

// Law: lanes stand by host, each with its threads; a folded group leaves its header alone, and to go to a
// slice in it unfolds it.
TEST_F(LaunchTest, LanesFoldByHostAndThreads) {
  std::vector<std::string> titles;
  for (const LaneGroup& group : data_->groups) titles.push_back(group.title);
  EXPECT_EQ(titles, (std::vector<std::string>{"host 0", "threads of process 1 python", "host 1",
                                              "threads of process 2 python"}));
  EXPECT_EQ(data_->groups[1].parent, 0);
  EXPECT_EQ(data_->groups[3].parent, 2);
  LaneVisibility visibility;
  const Layout open = ComputeLayout(timeline_, visibility, {});
  ASSERT_EQ(open.groups.size(), 4u);
  float before = -1;
  for (const LaidGroup& group : open.groups) {
    EXPECT_GT(group.top, before);
    before = group.bottom;
    EXPECT_EQ(open.GroupAt(group.top + 1), &group);
    EXPECT_EQ(open.LaneAt(group.top + 1, false), nullptr);
  }
  const auto of_host = [&](const Layout& layout, int group) {
    int lanes = 0;
    for (const LaidLane& laid : layout.lanes)
      lanes += data_->lanes[static_cast<size_t>(laid.lane)].group == group ? 1 : 0;
    return lanes;
  };
  EXPECT_EQ(of_host(open, 3), 1);
  visibility.folded.insert({key_, 2});
  const Layout folded = ComputeLayout(timeline_, visibility, {});
  ASSERT_EQ(folded.groups.size(), 3u);
  EXPECT_TRUE(folded.groups.back().folded);
  EXPECT_EQ(folded.groups.back().lanes, 2);
  EXPECT_EQ(of_host(folded, 2) + of_host(folded, 3), 0);
  EXPECT_EQ(of_host(folded, 0), of_host(open, 0));
  // Where the header is, it is hit.
  ViewTransform view;
  const Hit hit = Pick(timeline_, folded, {{0, 1}}, view, 5, folded.groups.back().top + 2);
  EXPECT_EQ(hit.what, Hit::What::kGroupHeader);
  EXPECT_EQ(hit.group, 2);
  Unfold(*data_, key_, 3, &visibility);
  EXPECT_TRUE(visibility.folded.empty());
}

}  // namespace
}  // namespace lanescope::gui
