// SPDX-License-Identifier: Apache-2.0
// Figures of each quantity, of runs whose times are written down here.
#include "study/gate/run_sample.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/base/error.h"
#include "tests/support/expect_error.h"

namespace lanescope::study {
namespace {

// Two steps of 100 ns, with two GPUs and a host: of each step "matmul" takes 10 to 40 on GPU:0,
// "ncclAllReduce" 50 to 70 there, "matmul" 20 to 30 on GPU:1, and a copy 0 to 20 from GPU:0 to GPU:1.
RunView TwoSteps() {
  RunView view;
  view.devices = {{0, "GPU:0", "cuda"}, {1, "GPU:1", "cuda"}, {2, "CPU:0", "host"}};
  view.ops = {{"matmul", false}, {"ncclAllReduce", true}};
  view.routes = {{0, 1, "copy"}};
  for (int step = 0; step < 2; ++step) view.steps.push_back({step, 100 * step, 100 * step + 100, true});
  SliceColumns* first = view.AddLane(0, false);
  SliceColumns* second = view.AddLane(1, false);
  SliceColumns* copies = view.AddLane(0, true);
  const auto add = [](SliceColumns* lane, int64_t start, int64_t end, int op) {
    lane->start_ns.push_back(start);
    lane->end_ns.push_back(end);
    lane->op.push_back(op);
  };
  for (int64_t at = 0; at < 200; at += 100) {
    add(first, at + 10, at + 40, 0);
    add(first, at + 50, at + 70, 1);
    add(second, at + 20, at + 30, 0);
    add(copies, at, at + 20, -1);
    copies->route.push_back(0);
  }
  return view;
}

double Value(const RunView& view, const std::string& quantity) {
  return SampleRun(view, 64, ParseQuantities(quantity)).of[0].value;
}

TEST(RunSample, EachQuantityOfAStep) {
  const RunView view = TwoSteps();
  EXPECT_EQ(Value(view, "step"), 100);
  EXPECT_EQ(Value(view, "kernels"), 40);
  EXPECT_EQ(Value(view, "collectives"), 40);
  // GPU:0 runs from 0 to 40 and 50 to 70, GPU:1 10: 40 and 90 without anything.
  EXPECT_EQ(Value(view, "idle"), 65);
  EXPECT_EQ(Value(view, "memory"), 64);
  EXPECT_EQ(Value(view, "op:matmul"), 40);
  EXPECT_EQ(Value(view, "op:nccl*"), 20);
  EXPECT_EQ(SampleRun(view, 0, ParseQuantities("idle")).of[0].scale, 100);
}

TEST(RunSample, AnOpThatDoesNotRunIsNamedWithTheLikelyOne) {
  const RunView view = TwoSteps();
  test::ExpectError([&] { Value(view, "op:matmol"); }, Code::kNotFound, "did you mean 'matmul'?");
}

TEST(RunSample, DisturbedStepsAreLeftOut) {
  RunView view = TwoSteps();
  view.steps[1].end_ns = 900;
  view.steps[1].counts = false;
  EXPECT_EQ(Value(view, "step"), 100);
  EXPECT_EQ(SampleRun(view, 0, ParseQuantities("step")).steps, 1);
}

// One step says nothing about how steps differ, a tenth is assumed; no step is no run.
TEST(RunSample, OneStepAndNone) {
  RunView view = TwoSteps();
  view.steps.resize(1);
  const RunSample sample = SampleRun(view, 0, ParseQuantities("step,kernels"));
  EXPECT_EQ(sample.of[1].value, 40);
  EXPECT_DOUBLE_EQ(sample.of[0].error, 10);
  EXPECT_DOUBLE_EQ(sample.of[1].error, 4);
  view.steps.clear();
  test::ExpectError([&] { SampleRun(view, 0, ParseQuantities("step")); }, Code::kFailedPrecondition,
                    "no steps");
}

// The mean of 2, 3: the quarters at both ends do not count.
TEST(RunSample, TypicalIsTheMeanOfTheMiddleHalf) {
  EXPECT_EQ(TypicalOf({1, 2, 3, 1000}).value, 2.5);
  EXPECT_EQ(TypicalOf({0, 0, 0, 0, 0, 0}).error, 0);
  // Neighbours are alike: what six steps say counts as two values, 1 and 3, of standard error 1.
  EXPECT_EQ(TypicalOf({1, 1, 1, 3, 3, 3}).error, 1);
}

// The middle one of three, and half the variance again. What they show are two degrees of freedom, of the
// usual distance 10 to it; a tenth of 100 is assumed with three.
TEST(RunSample, FewStepsAndOneThatWasHeldUp) {
  for (const double last : {110.0, 1e6}) {
    const QuantitySample sample = TypicalOf({90, 100, last});
    EXPECT_EQ(sample.value, 100);
    EXPECT_NEAR(sample.error, std::sqrt((2 * 14.826 * 14.826 + 3 * 100) / 5 * 1.5708 / 3), 1e-4);
  }
}

// Two of eleven: the fastest tenth, rounded up.
TEST(RunSample, FastestIsTheMeanOfATenth) {
  EXPECT_EQ(FastestOf({9, 8, 7, 6, 5, 4, 3, 11, 1, 10, 12}).value, 2);
  EXPECT_EQ(FastestOf({9, 8}).value, 8);
  EXPECT_EQ(Value(TwoSteps(), "fastest"), 100);
}

TEST(Quantity, ListsAreRead) {
  const std::vector<Quantity> list = ParseQuantities("step,step,op:void gemm<float, 4>");
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[1].op, "void gemm<float, 4>");
  EXPECT_EQ(list[1].name(), "op:void gemm<float, 4>");
  for (const char* wrong : {"", "steps", "step,", "op:"})
    test::ExpectError([&] { ParseQuantities(wrong); }, Code::kInvalidArgument, "");
}

}  // namespace
}  // namespace lanescope::study
