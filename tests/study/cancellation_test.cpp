// SPDX-License-Identifier: Apache-2.0
#include "study/base/cancellation.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <optional>
#include <thread>

#include "core/graph/graph_builder.h"
#include "core/machine/machine.h"
#include "study/measure/recorded_run.h"
#include "tests/core/base/expect_error.h"

namespace lanescope::study {
namespace {

TEST(CancellationTest, TheFirstWhoCancelsGivesTheReason) {
  Cancellation cancellation;
  cancellation.Check();
  cancellation.Cancel(SIGTERM);
  cancellation.Cancel(SIGHUP);
  EXPECT_EQ(cancellation.Reason(), "interrupted by SIGTERM");
  EXPECT_EQ(cancellation.signal().load(), SIGTERM);
  EXPECT_EQ(ErrorOf([&] { cancellation.Check(); }), "Cancelled: interrupted by SIGTERM");
  Cancellation without_signal;
  without_signal.Cancel();
  without_signal.Cancel(SIGINT);
  EXPECT_EQ(without_signal.Reason(), "it was stopped");
}

TEST(CancellationTest, IsWatchedWhileAWatchLives) {
  Cancellation cancellation;
  EXPECT_FALSE(cancellation.watched());
  std::optional<Cancellation::Watch> first(&cancellation);
  {
    const Cancellation::Watch second(&cancellation);
    EXPECT_TRUE(cancellation.watched());
  }
  EXPECT_TRUE(cancellation.watched());
  first.reset();
  EXPECT_FALSE(cancellation.watched());
}

// A step of one product that takes long.
struct LongStep {
  LongStep() {
    constexpr int64_t kSize = 1500;
    GraphBuilder builder;
    const Endpoint x = builder.Placeholder("x", DataType::kFloat, Shape({kSize, kSize}));
    builder.Op("MatMul", "y").Input(x).Input(x).Build();
    RunSpec spec;
    FeedSpec& feed = spec.feeds["x"];
    feed.shape = Shape({kSize, kSize});
    feed.values = Tensor(DataType::kFloat, feed.shape);
    spec.targets = {"y"};
    workload.emplace("long", builder.Take(), std::move(spec));
  }
  std::optional<Workload> workload;
};

// Input: a run of more steps than there is time for, cancelled by another thread. Law: it ends in the middle
// of them, with Cancelled and its reason.
TEST(CancellationTest, EndsARunFromAnotherThread) {
  const LongStep step;
  const Machine machine = VirtualMachine(1, 1);
  Cancellation cancellation;
  RecordedRunOptions options;
  options.cancellation = &cancellation;
  RecordedRun run(Place(*step.workload, "single", machine, RooflineCost()), machine, nullptr, options);
  std::thread canceller;
  run.on_step = [&](int64_t number, const std::vector<Tensor>&) {
    if (number == 0) canceller = std::thread([&] { cancellation.Cancel(SIGINT); });
  };
  EXPECT_EQ(ErrorOf([&] { run.RunToEnd(1, 1'000'000); }), "Cancelled: interrupted");
  canceller.join();
  EXPECT_LT(run.step_ns().size(), 1000u);
}

// Law: nothing begins once it is cancelled.
TEST(CancellationTest, NothingBeginsAfterwards) {
  const LongStep step;
  const Machine machine = VirtualMachine(1, 1);
  Cancellation cancellation;
  cancellation.Cancel();
  RecordedRunOptions options;
  options.cancellation = &cancellation;
  const PlacedGraph placed = Place(*step.workload, "single", machine, RooflineCost());
  EXPECT_THROW(RecordedRun(placed, machine, nullptr, options), Error);
}

}  // namespace
}  // namespace lanescope::study
