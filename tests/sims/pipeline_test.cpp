// SPDX-License-Identifier: Apache-2.0
// Laws of steps that meet in queues.
#include "sims/predict/pipeline.h"

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace lanescope::sims {
namespace {

// Threads put one element each `work` ns; the step takes `batch` and works `step` ns.
Pipeline FilledBy(int threads, int64_t work, int64_t batch, int64_t step, int64_t capacity) {
  Pipeline pipeline;
  pipeline.queues.push_back({"q", capacity, 0});
  pipeline.stages.push_back({.name = "step", .takes = {{0, batch}}, .work_ns = step});
  pipeline.stages.push_back({.name = "fill", .threads = threads, .work_ns = work, .puts = {{0, 1}}});
  return pipeline;
}

// Where threads are too slow, a batch comes as fast as they make it, whatever the step takes.
TEST(Pipeline, ThreadsThatAreTooSlowSetTheSpeed) {
  for (const int threads : {1, 2, 5}) {
    const PipelineResult result = SimulatePipeline(FilledBy(threads, 1000, 10, 500, 100));
    EXPECT_NEAR(result.step_ns, 10 * 1000.0 / threads, 1) << threads;
    EXPECT_NEAR(result.wait_ns, 10 * 1000.0 / threads - 500, 1) << threads;
    EXPECT_NEAR(result.stages[1].steps_per_second, threads * 1e6, 1e3) << threads;
    EXPECT_EQ(result.queues[0].full, 0) << threads;
  }
}

// Where the step is too slow, it never waits; the queue is full and the threads wait for room.
TEST(Pipeline, AStepThatIsTooSlowSetsTheSpeed) {
  const PipelineResult result = SimulatePipeline(FilledBy(2, 1000, 10, 20'000, 100));
  EXPECT_NEAR(result.step_ns, 20'000, 1);
  EXPECT_NEAR(result.wait_ns, 0, 1);
  EXPECT_GT(result.queues[0].mean_fill, 90);
  // In 20 us the two threads work 5 us each.
  EXPECT_NEAR(result.stages[1].blocked, 0.75, 0.01);
}

// A queue that holds less than a batch takes part of the time that threads could work ahead in: while the
// step works nobody puts more than the capacity.
TEST(Pipeline, ASmallQueueStoresNoMoreThanItHolds) {
  const double large = SimulatePipeline(FilledBy(1, 1000, 10, 10'000, 100)).step_ns;
  EXPECT_NEAR(large, 10'000, 1);
  const double small = SimulatePipeline(FilledBy(1, 1000, 10, 10'000, 2)).step_ns;
  // 2 stored and a third at hand are there when the step asks; 7 more take 7 us.
  EXPECT_NEAR(small, 17'000, 1);
}

// Elements that a queue keeps are never taken.
TEST(Pipeline, WhatAQueueKeepsStays) {
  Pipeline pipeline = FilledBy(1, 1000, 10, 500, 100);
  pipeline.queues[0].kept = 50;
  const PipelineResult result = SimulatePipeline(pipeline);
  EXPECT_NEAR(result.step_ns, 10'000, 1);
  EXPECT_GE(result.queues[0].mean_fill, 50);
  EXPECT_LT(result.queues[0].mean_fill, 51);
}

// Only one of the threads at a time reads.
TEST(Pipeline, ATurnIsOneThreads) {
  Pipeline pipeline = FilledBy(4, 600, 10, 100, 100);
  pipeline.stages[1].exclusive_ns = 400;
  EXPECT_NEAR(SimulatePipeline(pipeline).step_ns, 10 * 400, 1);
  pipeline.stages[1].threads = 2;
  EXPECT_NEAR(SimulatePipeline(pipeline).step_ns, 10 * 500, 1);
  pipeline.stages[1].threads = 1;
  EXPECT_NEAR(SimulatePipeline(pipeline).step_ns, 10 * 1000, 1);
}

// Four threads on two cores are no faster than two, and the step that wants one of the cores slows them down.
TEST(Pipeline, WorkSharesTheCores) {
  Pipeline pipeline = FilledBy(4, 1000, 10, 0, 100);
  pipeline.stages[0].work_ns = 1;
  pipeline.stages[0].cores = 0.05;
  pipeline.cores = 2;
  EXPECT_NEAR(SimulatePipeline(pipeline).step_ns, 10 * 500, 2);
  pipeline.stages[0].work_ns = 1'000'000;
  pipeline.stages[0].cores = 2;
  pipeline.queues[0].capacity = -1;
  // Six wanted of two: three times as long.
  EXPECT_NEAR(SimulatePipeline(pipeline).step_ns, 3'000'000, 3'000);
}

// A step that fills both cores is not slowed down by threads that yield, and these have a tenth of the cores:
// 200 us of work in a step of 1 ms. Where they share alike the step takes twice as long.
TEST(Pipeline, WhoYieldsHasWhatIsLeft) {
  Pipeline pipeline = FilledBy(2, 1000, 10, 1'000'000, -1);
  pipeline.cores = 2;
  pipeline.stages[0].cores = 2;
  pipeline.stages[1].yields = true;
  const PipelineResult result = SimulatePipeline(pipeline);
  EXPECT_NEAR(result.step_ns, 1'000'000, 1);
  EXPECT_NEAR(result.stages[1].steps_per_second, 200'000, 2'000);
  pipeline.stages[1].yields = false;
  EXPECT_NEAR(SimulatePipeline(pipeline).step_ns, 2'000'000, 2'000);
}

// Two queues in a row: whoever is slowest sets the speed.
TEST(Pipeline, ThreadsMayTakeFromQueuesToo) {
  for (const auto& [first, second, expected] :
       {std::tuple{300, 100, 3000.0}, std::tuple{100, 300, 3000.0}, std::tuple{50, 60, 2000.0}}) {
    Pipeline pipeline = FilledBy(1, second, 10, 2000, 30);
    pipeline.queues.push_back({"raw", 5, 0});
    pipeline.stages[1].takes = {{1, 1}};
    pipeline.stages.push_back({.name = "read", .work_ns = first, .puts = {{1, 1}}});
    EXPECT_NEAR(SimulatePipeline(pipeline).step_ns, expected, 1) << first << " " << second;
  }
}

// 50 elements of 100 ns each, then 50 of 1900, by one thread; the step takes one every 1000 ns. A queue with
// room for a phase evens them out. Without room the step waits through every slow phase and gains nothing in
// the fast ones, but for the one or two elements that it can store: (50 * 1000 + 50 * 1900) / 100 at most.
TEST(Pipeline, WhereInputVariesRoomMatters) {
  Pipeline pipeline = FilledBy(1, 1000, 1, 1000, 1000);
  std::vector<int64_t>& times = pipeline.stages[1].times;
  times.assign(50, 100);
  times.insert(times.end(), 50, 1900);
  EXPECT_NEAR(SimulatePipeline(pipeline).step_ns, 1000, 10);
  pipeline.queues[0].capacity = 1;
  EXPECT_NEAR(SimulatePipeline(pipeline).step_ns, 1440, 30);
  pipeline.stages[1].times.clear();
  EXPECT_NEAR(SimulatePipeline(pipeline).step_ns, 1000, 1);
}

// Records are of what was counted: steps one after the other, each of 10 us of which 9.5 wait; beside
// them a thread with ten steps each, and the queue's size after each of these.
TEST(Pipeline, StepsAndWaitsAreRecorded) {
  const Pipeline pipeline = FilledBy(1, 1000, 10, 500, 100);
  double end = 0;
  size_t records = 0, steps = 0, fills = 0;
  double waited = 0;
  RecordPipeline(pipeline, 50, [&](const PipelineRecord& record) {
    ++records;
    EXPECT_NEAR(record.begin, end, 1e-6);
    EXPECT_LE(record.begin, record.asked);
    EXPECT_LE(record.asked, record.had);
    end = record.end;
    EXPECT_NEAR(record.end - record.had, 500, 1e-6);
    steps += record.steps.size();
    for (const PipelineRecord::Wait& wait : record.waits) {
      EXPECT_EQ(wait.thread, -1);
      EXPECT_EQ(wait.queue, 0);
      waited += wait.end - wait.begin;
    }
    for (const PipelineRecord::Step& step : record.steps) EXPECT_EQ(step.thread, 0);
    fills += record.fills.size();
  });
  EXPECT_EQ(records, 50u);
  EXPECT_NEAR(end, 50 * 10'000.0, 1);
  EXPECT_NEAR(waited, 50 * 9'500.0, 1);
  EXPECT_EQ(steps, 500u);
  EXPECT_GE(fills, 500u);
}

TEST(Pipeline, RefusesWhatNeverEnds) {
  Pipeline nobody = FilledBy(1, 1000, 10, 500, 100);
  nobody.stages.pop_back();
  EXPECT_THROW(SimulatePipeline(nobody), Error);
  Pipeline no_time = FilledBy(1, 0, 10, 500, 100);
  EXPECT_THROW(SimulatePipeline(no_time), Error);
  EXPECT_THROW(SimulatePipeline({}), Error);
}

}  // namespace
}  // namespace lanescope::sims
