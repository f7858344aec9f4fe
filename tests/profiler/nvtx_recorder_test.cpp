// SPDX-License-Identifier: Apache-2.0
#include "profiler/nvtx_recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

namespace lanescope::profiler {
namespace {

NvtxRecorder::Attributes Text(std::string_view text) {
  NvtxRecorder::Attributes attributes;
  attributes.text = text;
  return attributes;
}

std::vector<std::string> TextsOf(const traces::ActivityBatch& batch) {
  std::vector<std::string> texts;
  for (const traces::NvtxRow& row : batch.ranges) texts.push_back(batch.texts[row.text]);
  return texts;
}

TEST(NvtxRecorderTest, PushesAndPopsNestByDomain) {
  NvtxRecorder nvtx;
  const uint32_t domain = nvtx.CreateDomain("library");
  EXPECT_EQ(domain, 1u);
  EXPECT_EQ(nvtx.Push(0, Text("step")), 0);
  EXPECT_EQ(nvtx.Push(0, Text("forward")), 1);
  EXPECT_EQ(nvtx.Push(domain, Text("inside")), 0);
  EXPECT_EQ(nvtx.Pop(0), 1);
  EXPECT_EQ(nvtx.Pop(domain), 0);
  EXPECT_EQ(nvtx.Pop(0), 0);
  EXPECT_EQ(nvtx.Pop(0), -1);
  traces::ActivityBatch batch;
  nvtx.Take(&batch);
  EXPECT_THAT(TextsOf(batch), testing::ElementsAre("library", "forward", "inside", "step"));
  EXPECT_EQ(batch.ranges[0].type, 75u);
  EXPECT_EQ(batch.ranges[1].type, 59u);
  EXPECT_EQ(batch.ranges[2].domain, 1u);
  EXPECT_LE(batch.ranges[3].start, batch.ranges[1].start);
  EXPECT_GE(batch.ranges[3].end, batch.ranges[1].end);
  EXPECT_EQ(batch.losses[static_cast<size_t>(traces::Loss::kUnbalancedRanges)], 1);
  traces::ActivityBatch again;
  nvtx.Take(&again);
  EXPECT_TRUE(traces::IsEmpty(again));
}

TEST(NvtxRecorderTest, StartedRangesEndOnAnyThread) {
  NvtxRecorder nvtx;
  const uint64_t range = nvtx.Start(0, Text("epoch"));
  EXPECT_GT(range, 0u);
  std::thread([&] { nvtx.End(range); }).join();
  nvtx.End(range);  // once is enough
  traces::ActivityBatch batch;
  nvtx.Take(&batch);
  ASSERT_THAT(TextsOf(batch), testing::ElementsAre("epoch"));
  EXPECT_EQ(batch.ranges[0].type, 60u);
  EXPECT_NE(batch.ranges[0].thread, batch.ranges[0].end_thread);
  EXPECT_EQ(batch.losses[static_cast<size_t>(traces::Loss::kUnbalancedRanges)], 1);
}

TEST(NvtxRecorderTest, OpenRangesAreKeptAtTheEnd) {
  NvtxRecorder nvtx;
  nvtx.Push(0, Text("open"));
  nvtx.Start(0, Text("started"));
  nvtx.Mark(0, Text("mark"));
  traces::ActivityBatch batch;
  nvtx.Take(&batch, true);
  EXPECT_THAT(TextsOf(batch), testing::UnorderedElementsAre("open", "started", "mark"));
  for (const traces::NvtxRow& row : batch.ranges) EXPECT_EQ(row.end, 0);
}

TEST(NvtxRecorderTest, WhileOffNothingNewIsKept) {
  NvtxRecorder nvtx;
  nvtx.Push(0, Text("before"));
  nvtx.SetRecording(false);
  nvtx.Push(0, Text("off"));
  nvtx.Pop(0);
  nvtx.Pop(0);
  traces::ActivityBatch batch;
  nvtx.Take(&batch);
  EXPECT_THAT(TextsOf(batch), testing::ElementsAre("before"));
}

TEST(NvtxRecorderTest, AWatchedRangeOpensAndClosesTheGate) {
  NvtxRecorder nvtx;
  std::vector<bool> changes;
  nvtx.SetRecording(false);
  nvtx.Watch("window", [&](bool open) {
    changes.push_back(open);
    nvtx.SetRecording(open);
  });
  nvtx.Push(0, Text("outside"));
  nvtx.Pop(0);
  nvtx.Push(0, Text("window"));
  nvtx.Push(0, Text("inside"));
  nvtx.Push(0, Text("window"));  // the outer one holds the gate open
  nvtx.Pop(0);
  nvtx.Pop(0);
  nvtx.Pop(0);
  nvtx.Push(0, Text("after"));
  nvtx.Pop(0);
  EXPECT_THAT(changes, testing::ElementsAre(true, false));
  traces::ActivityBatch batch;
  nvtx.Take(&batch);
  EXPECT_THAT(TextsOf(batch), testing::ElementsAre("window", "inside", "window"));
}

// Ranges of four threads, taken away meanwhile: all arrive, once.
TEST(NvtxRecorderTest, NoRangeIsLostBetweenThreads) {
  NvtxRecorder nvtx;
  constexpr int kThreads = 4, kRanges = 20000;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kRanges; ++i) {
        nvtx.Push(0, Text("r"));
        nvtx.Pop(0);
      }
    });
  }
  size_t taken = 0;
  const auto take = [&] {
    traces::ActivityBatch batch;
    nvtx.Take(&batch);
    taken += batch.ranges.size();
  };
  for (int i = 0; i < 50; ++i) take();
  for (std::thread& thread : threads) thread.join();
  take();
  EXPECT_EQ(taken, size_t{kThreads} * kRanges);
}

}  // namespace
}  // namespace lanescope::profiler
