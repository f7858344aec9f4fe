// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>

#include "gui/model/comparison_model.h"
#include "gui/model/draw_plan.h"
#include "gui/model/latest_worker.h"
#include "tests/gui/model/random_run.h"

namespace lanescope::gui {
namespace {

const std::atomic<bool> kNeverCancelled{false};

// The run of two devices with b and the copy stretched by a factor, everything after them later.
std::shared_ptr<const RunData> Stretched(int64_t by) {
  RunData run = *test::TwoDeviceRun();
  for (OpEntry& op : run.ops) op.slices = 0;
  for (RunView::Step& step : run.steps) {
    step.start_ns += step.number * by;
    step.end_ns += (step.number + 1) * by;
  }
  for (RunCommand& command : run.commands) command.lane = -1;
  std::vector<std::pair<int, int>> edges = {{0, 1}, {1, 2}, {0, 3}, {2, 4}, {3, 4}};
  for (Lane& lane : run.lanes) {
    for (size_t i = 0; i < lane.size(); ++i) {
      const int64_t late = lane.step[i] * by;
      lane.start_ns[i] += late + (lane.command[i] == 4 ? by : 0);
      lane.end_ns[i] += late + (lane.command[i] == 4 || lane.command[i] == 2 ? by : 0);
    }
  }
  run.step_ns = 0;
  run.strategy = "stretched";
  return FinishRun(std::move(run), edges);
}

const OpDiff* FindRow(const ShownDiff& shown, const std::string& name) {
  for (const OpDiff& row : shown.diff.ops) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

TEST(DiffTest, RowsAndPartsOfAStretchedOp) {
  const auto a = test::TwoDeviceRun(), b = Stretched(90);
  const ShownDiff shown = ComputeDiff({1, 2, a, b}, kNeverCancelled);
  ASSERT_EQ(shown.problem, "");
  const RunDiff& diff = shown.diff;
  ASSERT_EQ(diff.ops.size(), 5u);  // four ops and the copy of m/a
  EXPECT_EQ(diff.ops[0].name, "m/b");
  EXPECT_DOUBLE_EQ(diff.ops[0].PathChange(), 90);
  EXPECT_NEAR(*diff.ops[0].LengthChange(), 90.0 / 270, 1e-12);
  EXPECT_EQ(diff.ops[0].a.devices, "GPU:1");
  EXPECT_DOUBLE_EQ(diff.ops[0].a.count, 1);
  const OpDiff* copy = FindRow(shown, "m/a GPU:0 -> GPU:1");
  ASSERT_NE(copy, nullptr);
  EXPECT_EQ(copy->op, "m/a");
  EXPECT_DOUBLE_EQ(copy->a.path_ns, 80);
  EXPECT_DOUBLE_EQ(diff.parts_a.step_ns, 1000);
  EXPECT_DOUBLE_EQ(diff.parts_b.step_ns, 1090);
  EXPECT_NEAR(diff.parts_b.compute_ns + diff.parts_b.contention_ns - diff.parts_a.compute_ns -
                  diff.parts_a.contention_ns,
              90, 1e-6);
  EXPECT_NEAR(diff.parts_b.transfer_ns, diff.parts_a.transfer_ns, 1e-6);
  EXPECT_EQ(shown.verdict, DiffVerdict(diff, a->title, b->title));
}

TEST(DiffTest, ErrorKeysAreCenteredAndClamped) {
  const auto a = test::TwoDeviceRun(), b = Stretched(900);
  const ShownDiff diff = ComputeDiff({1, 2, a, b}, kNeverCancelled);
  const auto keys = ErrorKeys(*b, diff);
  EXPECT_EQ(keys[0], 100);
  EXPECT_EQ(keys[1], 200);
  const auto alone = test::RandomRun(1, 1, 20);
  const ShownDiff none = ComputeDiff({1, 2, a, alone}, kNeverCancelled);
  EXPECT_EQ(ErrorKeys(*a, none)[0], kUnknownError);
  EXPECT_EQ(none.problem, "");
}

TEST(DiffTest, SaysWhyThereIsNone) {
  const auto a = test::TwoDeviceRun(), nothing = FinishRun(RunData(), {});
  EXPECT_NE(ComputeDiff({1, 2, a, nothing}, kNeverCancelled).problem, "");
  const std::atomic<bool> cancelled{true};
  EXPECT_NE(ComputeDiff({1, 2, a, a}, cancelled).problem, "");
}

TEST(DiffTest, CounterpartIsThePredictionOfTheSameStep) {
  Timeline timeline;
  RunData measured = *test::TwoDeviceRun(), predicted = measured, other = measured;
  measured.strategy = predicted.strategy = "single";
  other.strategy = "alternating";
  predicted.kind = other.kind = RunKind::kSimulated;
  const RunKey a = timeline.Add(std::make_shared<const RunData>(std::move(measured)));
  timeline.Add(std::make_shared<const RunData>(std::move(other)));
  const RunKey b = timeline.Add(std::make_shared<const RunData>(std::move(predicted)));
  EXPECT_EQ(CounterpartOf(timeline, a), b);
  EXPECT_EQ(CounterpartOf(timeline, b), a);
}

TEST(DiffTest, ComparesWhatIsShown) {
  Timeline timeline;
  EXPECT_EQ(RunsToCompare(timeline, {}), std::pair(RunKey{0}, RunKey{0}));
  std::vector<RunKey> keys;
  for (int i = 0; i < 3; ++i) keys.push_back(timeline.Add(test::TwoDeviceRun()));
  timeline.SetBaseline(keys[0]);
  EXPECT_EQ(RunsToCompare(timeline, {}), std::pair(keys[0], keys[1]));
  EXPECT_EQ(RunsToCompare(timeline, {.hidden = {keys[1]}}), std::pair(keys[0], keys[2]));
  EXPECT_EQ(RunsToCompare(timeline, {.hidden = {keys[0]}}), std::pair(keys[1], keys[2]));
  EXPECT_EQ(RunsToCompare(timeline, {.selected = keys[2]}), std::pair(keys[0], keys[2]));
  EXPECT_EQ(RunsToCompare(timeline, {.selected = keys[1], .hidden = {keys[1]}}), std::pair(keys[0], keys[2]));
  // Chosen runs count, shown or not; with one shown there is still a comparison.
  EXPECT_EQ(RunsToCompare(timeline, {.a = keys[1], .b = keys[0], .hidden = {keys[0]}}),
            std::pair(keys[1], keys[0]));
  EXPECT_EQ(RunsToCompare(timeline, {.b = keys[0]}), std::pair(keys[1], keys[0]));
  EXPECT_EQ(RunsToCompare(timeline, {.hidden = {keys[0], keys[2]}}), std::pair(keys[1], keys[0]));
}

TEST(MemoryVerdictTest, SaysWhatFits) {
  const auto run = test::TwoDeviceRun();
  const auto verdicts = MemoryVerdicts(*run);
  ASSERT_EQ(verdicts.size(), 2u);
  EXPECT_EQ(verdicts[0].answer, MemoryVerdict::Answer::kTooLarge);
  EXPECT_NE(verdicts[0].text.find("200 B too much"), std::string::npos);
  EXPECT_EQ(verdicts[1].answer, MemoryVerdict::Answer::kTight);
}

TEST(LatestWorkerTest, OnlyTheLatestResultArrives) {
  std::atomic<int> started{0};
  LatestWorker<int, int> worker(
      [&](const int& request, const std::atomic<bool>& cancelled) {
        ++started;
        for (int i = 0; i < 200 && request != 99 && !cancelled; ++i) {
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        if (request == 7) Throw(Code::kInvalidArgument, "seven");
        return request;
      },
      nullptr);
  for (int i = 0; i < 50; ++i) worker.Submit(i == 7 ? 8 : i);
  worker.Submit(99);
  std::optional<int> result;
  while (!(result = worker.Take())) std::this_thread::yield();
  EXPECT_EQ(*result, 99);
  EXPECT_FALSE(worker.Take().has_value());
  worker.Submit(7);
  std::string error;
  while ((error = worker.TakeError()).empty()) std::this_thread::yield();
  EXPECT_NE(error.find("seven"), std::string::npos);
  EXPECT_FALSE(worker.busy());
  worker.Submit(3);  // in work when the worker goes
}

}  // namespace
}  // namespace lanescope::gui
