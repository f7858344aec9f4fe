// SPDX-License-Identifier: Apache-2.0
#include "study/measure/recorded_run.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph_builder.h"
#include "tests/core/base/expect_error.h"
#include "tests/traces/sample_run.h"
#include "traces/read/trace_reader.h"
#include "traces/record/trace_writer.h"

namespace lanescope::study {
namespace {

// Four numbers: drawn by an op, fed by a generator, and their sum. Neither has a seed of its own.
std::unique_ptr<Workload> RandomSum() {
  GraphBuilder builder;
  const Endpoint shape = builder.Const("shape", Tensor::FromValues(Shape{1}, std::vector<int32_t>{4}));
  const Endpoint drawn =
      builder.Op("RandomUniform", "drawn").Input(shape).Attr("dtype", AttrValue(DataType::kFloat)).Build();
  const Endpoint fed = builder.Placeholder("fed", DataType::kFloat, Shape{4});
  builder.Op("AddV2", "sum").Input(drawn).Input(fed).Build();
  RunSpec spec;
  FeedSpec& feed = spec.feeds["fed"];
  feed.shape = Shape{4};
  feed.generator = "uniform";
  spec.fetches = {"drawn", "fed", "sum"};
  return std::make_unique<Workload>("random-sum", builder.Take(), std::move(spec));
}

std::vector<std::vector<float>> FetchesWith(std::optional<uint64_t> seed) {
  const auto workload = RandomSum();
  const Machine machine = VirtualMachine(1, 1);
  RecordedRunOptions options;
  options.settings.seed = seed;
  RecordedRun run(Place(*workload, "single", machine, RooflineCost()), machine, nullptr, options);
  run.RunToEnd(1, 2);
  std::vector<std::vector<float>> fetches;
  for (const Tensor& tensor : run.last_fetches())
    fetches.emplace_back(tensor.data<float>(), tensor.data<float>() + tensor.NumElements());
  return fetches;
}

// Law: a seed determines ops and feeds; another one changes both.
TEST(RecordedRunTest, TheSeedIsOfOpsAndFeeds) {
  const auto first = FetchesWith(7), again = FetchesWith(7), other = FetchesWith(8);
  EXPECT_EQ(first, again);
  EXPECT_NE(first[0], other[0]);
  EXPECT_NE(first[1], other[1]);
}

// Input: a run that is cancelled in its third recorded step. Law: the trace holds the steps before it and
// says what ended the run; no step of the warm-up is in it.
TEST(RecordedRunTest, TheTraceSaysWhatEndedIt) {
  const traces::ScratchFile file;
  const auto workload = RandomSum();
  const Machine machine = VirtualMachine(1, 1);
  traces::TraceWriter writer(file.path());
  Cancellation cancellation;
  RecordedRunOptions options;
  options.cancellation = &cancellation;
  RecordedRun run(Place(*workload, "single", machine, RooflineCost()), machine, &writer, options);
  std::vector<int64_t> numbers;
  run.on_step = [&](int64_t number, const std::vector<Tensor>&) {
    numbers.push_back(number);
    if (number == 4) cancellation.Cancel();
  };
  EXPECT_EQ(ErrorOf([&] { run.RunToEnd(2, 10); }), "Cancelled: it was stopped");
  writer.Close();
  EXPECT_EQ(numbers, (std::vector<int64_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(run.step_ns().size(), 3u);
  const std::vector<traces::TraceRunInfo> runs = traces::TraceReader(file.path()).Runs();
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].steps, 3);
  EXPECT_EQ(runs[0].error, "Cancelled: it was stopped");
  EXPECT_EQ(runs[0].graph, "random-sum");
}

TEST(RecordedRunTest, KeepsWhatCalibrationTakes) {
  const auto workload = RandomSum();
  const Machine machine = VirtualMachine(1, 1);
  RecordedRunOptions options;
  options.keep_events = true;
  RecordedRun run(Place(*workload, "single", machine, RooflineCost()), machine, nullptr, options);
  run.RunToEnd(1, 3);
  int steps = 0;
  for (const Event& event : run.events()) steps += event.kind == EventKind::kStep;
  EXPECT_EQ(steps, 3);
  EXPECT_FALSE(run.oversubscribed());
}

}  // namespace
}  // namespace lanescope::study
