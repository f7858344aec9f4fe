// SPDX-License-Identifier: Apache-2.0
#include "gui/model/selection.h"

#include <gtest/gtest.h>

#include <map>

#include "gui/model/run_analysis.h"
#include "gui/model/search.h"
#include "tests/gui/model/random_run.h"

namespace lanescope::gui {
namespace {

const std::atomic<bool> kNotCancelled{false};

TEST(SelectionTest, ASliceSelectsItsOpInAllRuns) {
  Timeline timeline;
  const RunKey first = timeline.Add(test::TwoDeviceRun());
  const RunKey second = timeline.Add(test::TwoDeviceRun());
  Selection selection;
  const int64_t slice = timeline.Find(first)->data->FindSlice(2, 0);
  selection.SelectSlice(timeline,
                        {first, timeline.Find(first)->data->commands[2].lane, static_cast<uint32_t>(slice)});
  EXPECT_EQ(timeline.NameOf(selection.op), "m/b");
  EXPECT_EQ(timeline.OpIn(*timeline.Find(second), selection.op), 1);
  EXPECT_TRUE(NearestSlice(timeline, second, selection.op, 0).valid());
  selection.ToggleOp(timeline.FindIdentity("c"));
  EXPECT_EQ(selection.ops.size(), 2u);
  selection.ToggleOp(timeline.FindIdentity("c"));
  EXPECT_EQ(selection.ops.size(), 1u);
  selection.SelectSlice(timeline, {});
  EXPECT_TRUE(selection.empty());
}

// A launch of several nodes tells them, though it stands under the name of the last.
TEST(SelectionTest, ALaunchOfSeveralNodesTellsTheirOps) {
  RunData run = *test::TwoDeviceRun();
  run.signatures[2] = "fused Mul+AddV2+Tanh (3)(float:[8,16])";
  Timeline timeline;
  const RunKey key = timeline.Add(std::make_shared<const RunData>(std::move(run)));
  const RunData& shown = *timeline.Find(key)->data;
  const auto op_of = [&](int command) {
    const auto slice = static_cast<uint32_t>(shown.FindSlice(command, 0));
    return DetailsOf(timeline, {key, shown.commands[static_cast<size_t>(command)].lane, slice}).op;
  };
  EXPECT_EQ(op_of(2), "fused Mul+AddV2+Tanh (3)");
  EXPECT_EQ(op_of(3), "Relu");
}

TEST(SelectionTest, ScopesAreWholeNames) {
  Timeline timeline;
  timeline.Add(test::TwoDeviceRun());
  Selection selection;
  selection.SelectScope(timeline, "m");
  EXPECT_EQ(selection.ops.size(), 2u);
  selection.SelectScope(timeline, "m/");
  EXPECT_TRUE(selection.ops.empty());
  EXPECT_EQ(ScopesOf("a/b/c"), (std::vector<std::string>{"a", "a/b"}));
}

TEST(NavigationTest, LaneNeighboursVisitEverySliceInOrder) {
  Timeline timeline;
  const RunKey key = timeline.Add(test::RandomRun(3, 1, 800, 0.5));
  const Lane& lane = timeline.runs()[0].data->lanes[0];
  // Walk back to the first, then forward to the last.
  SliceRef at{key, 0, 400};
  for (SliceRef next = at; next.valid(); next = PreviousInLane(timeline, at)) at = next;
  size_t seen = 0;
  int64_t start = INT64_MIN;
  for (SliceRef next = at; next.valid(); next = NextInLane(timeline, next)) {
    EXPECT_GE(lane.start_ns[next.slice], start);
    start = lane.start_ns[next.slice];
    at = next;
    ++seen;
  }
  EXPECT_EQ(seen, lane.size());
  size_t back = 0;
  for (SliceRef next = at; next.valid(); next = PreviousInLane(timeline, next)) ++back;
  EXPECT_EQ(back, lane.size());
}

TEST(NavigationTest, FlowGoesThroughTheCopy) {
  Timeline timeline;
  const RunKey key = timeline.Add(test::TwoDeviceRun());
  const RunData& run = *timeline.runs()[0].data;
  const auto slice_of = [&](int command, int step) {
    return SliceRef{key, run.commands[static_cast<size_t>(command)].lane,
                    static_cast<uint32_t>(run.FindSlice(command, step))};
  };
  // a's successors are c at 300 and the copy at 320.
  EXPECT_EQ(NextInFlow(timeline, slice_of(0, 1)), slice_of(3, 1));
  EXPECT_EQ(NextInFlow(timeline, slice_of(1, 1)), slice_of(2, 1));
  // From b (ends 700) and c (ends 500), d waited for b.
  EXPECT_EQ(PreviousInFlow(timeline, slice_of(4, 0)), slice_of(2, 0));
  EXPECT_FALSE(NextInFlow(timeline, slice_of(4, 0)).valid());
}

TEST(SumsTest, EqualBruteForce) {
  Timeline timeline;
  timeline.Add(test::RandomRun(4, 2, 3000, 0.4));
  timeline.Add(test::RandomRun(5, 1, 3000, 0));
  const auto axes = AlignRuns(timeline, Alignment::kStart);
  const auto [begin, end] = AxisExtent(timeline, axes);
  Area area{begin + 0.2 * (end - begin), begin + 0.6 * (end - begin), {}};
  for (const ShownRun& run : timeline.runs()) {
    for (size_t lane = 0; lane < run.data->lanes.size(); ++lane)
      area.lanes.emplace_back(run.key, static_cast<int>(lane));
  }
  const SumTable table = ComputeSums(RequestSums(timeline, axes, area, GroupBy::kName), kNotCancelled);
  std::map<std::pair<RunKey, std::string>, std::pair<int64_t, int64_t>> expected;  // count, total
  for (size_t r = 0; r < timeline.runs().size(); ++r) {
    const ShownRun& run = timeline.runs()[r];
    const int64_t from = axes[r].ToTime(area.begin), to = axes[r].ToTime(area.end);
    for (const Lane& lane : run.data->lanes) {
      for (size_t i = 0; i < lane.size(); ++i) {
        if (lane.end_ns[i] <= from || lane.start_ns[i] >= to) continue;
        auto& sum = expected[{run.key, run.data->ops[static_cast<size_t>(lane.op[i])].name}];
        ++sum.first;
        sum.second += std::min(lane.end_ns[i], to) - std::max(lane.start_ns[i], from);
      }
    }
  }
  EXPECT_EQ(table.rows.size(), expected.size());
  double share = 0;
  for (const SumRow& row : table.rows) {
    const auto& sum = expected.at({row.run, row.group});
    EXPECT_EQ(row.count, sum.first);
    EXPECT_EQ(row.total_ns, sum.second);
    share += row.share;
  }
  EXPECT_NEAR(share, 2, 1e-9);
  for (size_t i = 1; i < table.rows.size(); ++i)
    EXPECT_GE(table.rows[i - 1].total_ns, table.rows[i].total_ns);
  for (const GroupBy group : {GroupBy::kOp, GroupBy::kKind, GroupBy::kDevice}) {
    const SumTable other = ComputeSums(RequestSums(timeline, axes, area, group), kNotCancelled);
    ASSERT_EQ(other.totals.size(), table.totals.size());
    for (size_t i = 0; i < other.totals.size(); ++i) {
      EXPECT_EQ(other.totals[i].total_ns, table.totals[i].total_ns);
      EXPECT_EQ(other.totals[i].count, table.totals[i].count);
    }
  }
}

TEST(SearchTest, FindsPartsOfNamesWhateverTheCase) {
  Timeline timeline;
  timeline.Add(test::RandomRun(6, 2, 500));
  timeline.Add(test::TwoDeviceRun());
  const auto axes = AlignRuns(timeline, Alignment::kStart);
  SearchIndex index;
  for (const std::string query : {"MATmul", "op1", "relu", "scope2/OP5", "nothing like it"}) {
    const auto& results = index.Search(timeline, axes, query, 1000000);
    int64_t expected = 0;
    for (const ShownRun& run : timeline.runs()) {
      for (const Lane& lane : run.data->lanes) {
        for (const int32_t op : lane.op) {
          std::string text =
              run.data->ops[static_cast<size_t>(op)].name + "\n" + run.data->ops[static_cast<size_t>(op)].op;
          std::string wanted = query;
          for (char& c : text) c = static_cast<char>(std::tolower(c));
          for (char& c : wanted) c = static_cast<char>(std::tolower(c));
          expected += text.find(wanted) != std::string::npos;
        }
      }
    }
    EXPECT_EQ(results.count, expected) << query;
    EXPECT_EQ(static_cast<int64_t>(results.hits.size()), expected);
    double last = -1e300;
    for (const SliceRef& hit : results.hits) {
      const int run = timeline.IndexOf(hit.run);
      const Lane& lane = timeline.runs()[static_cast<size_t>(run)].data->lanes[static_cast<size_t>(hit.lane)];
      const double at = axes[static_cast<size_t>(run)].ToAxis(lane.start_ns[hit.slice]);
      EXPECT_GE(at, last);
      last = at;
    }
  }
  const auto few = index.Search(timeline, axes, "matmul", 10);
  EXPECT_EQ(few.hits.size(), 10u);
  EXPECT_TRUE(few.truncated);
  const auto all = index.Search(timeline, axes, "matmul", 1000000);
  EXPECT_TRUE(std::equal(few.hits.begin(), few.hits.end(), all.hits.begin()));
  EXPECT_EQ(index.Search(timeline, axes, "").count, 0);
}

// Input: two runs with hits that alternate in time. Law: steps visit the hits of one run, in order and
// around; from no hit they begin at its end; a run without hits steps through all.
TEST(SearchTest, StepsStayWithinARun) {
  Timeline timeline;
  const RunKey a = timeline.Add(test::RandomRun(6, 2, 500));
  const RunKey b = timeline.Add(test::RandomRun(7, 2, 500));
  SearchIndex index;
  const auto hits = index.Search(timeline, AlignRuns(timeline, Alignment::kStart), "matmul", 1000000).hits;
  std::vector<size_t> of_b;
  for (size_t i = 0; i < hits.size(); ++i) {
    if (hits[i].run == b) of_b.push_back(i);
  }
  ASSERT_GT(of_b.size(), 2u);
  ASSERT_LT(of_b.size(), hits.size());
  ASSERT_NE(of_b.back() - of_b.front() + 1, of_b.size()) << "none of a between them";
  size_t at = SIZE_MAX;
  for (const size_t expected : of_b) EXPECT_EQ(at = index.NextHit(b, at, true), expected);
  EXPECT_EQ(index.NextHit(b, at, true), of_b.front());
  EXPECT_EQ(index.NextHit(b, of_b[1], false), of_b[0]);
  EXPECT_EQ(index.NextHit(b, SIZE_MAX, false), of_b.back());
  EXPECT_EQ(hits[index.NextHit(a, of_b.front(), true)].run, a);
  EXPECT_EQ(index.NextHit(b + 1, SIZE_MAX, true), 0u);
  EXPECT_EQ(index.NextHit(b + 1, 3, true), 4u);
}

TEST(ShownPathTest, PathAndSlackOfTwoDevices) {
  const auto run = test::TwoDeviceRun();
  const ShownPath shown = FindShownPath(*run, 0);
  ASSERT_TRUE(shown.problem.empty()) << shown.problem;
  const auto command_of = [&](size_t item) {
    const WorkItem& work = shown.path.items[item];
    return run->lanes[static_cast<size_t>(work.lane)].command[work.slice];
  };
  std::vector<int> commands;
  for (const int i : shown.on_path) commands.push_back(command_of(static_cast<size_t>(i)));
  // a, copy, b, d; c (ends 500) may end as late as d begins (700).
  EXPECT_EQ(commands, (std::vector<int>{0, 1, 2, 4}));
  const StepPath::Totals totals = shown.path.totals();
  EXPECT_EQ(totals.launch_ns, 200 + 270 + 250);
  EXPECT_EQ(totals.transfer_ns, 80);
  EXPECT_EQ(totals.waiting_ns, 200);
  EXPECT_EQ(shown.step_ns, 1000);
  for (size_t i = 0; i < shown.path.items.size(); ++i) {
    EXPECT_EQ(shown.slack_ns[i], command_of(i) == 3 ? 200 : 0) << command_of(i);
    EXPECT_EQ(shown.critical[i] != 0, command_of(i) != 3);
  }
}

TEST(ShownPathTest, SaysWhyThereIsNone) {
  RunData run;
  run.steps = {{0, 0, 10}};
  EXPECT_FALSE(FindShownPath(*FinishRun(std::move(run), {})).problem.empty());
  EXPECT_FALSE(FindShownPath(*FinishRun(RunData(), {})).problem.empty());
}

// Other tools' runs say nothing of dependencies, and have a path all the same, but no slack.
TEST(ShownPathTest, WithoutDependenciesTimesTell) {
  const ShownPath shown = FindShownPath(*test::RandomRun(7, 1, 10));
  EXPECT_TRUE(shown.problem.empty()) << shown.problem;
  EXPECT_FALSE(shown.on_path.empty());
  EXPECT_TRUE(shown.slack_ns.empty());
}

}  // namespace
}  // namespace lanescope::gui
