// SPDX-License-Identifier: Apache-2.0
#include "core/record/input_log.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace lanescope {
namespace {

TEST(InputLog, NamesAreToldOnce) {
  InputLog log;
  int a = 0, b = 0;
  EXPECT_EQ(log.ThreadOf(&a, "enqueue", "q"), 0);
  EXPECT_EQ(log.ThreadOf(&b, "enqueue", "q"), 1);
  EXPECT_EQ(log.ThreadOf(&a, "enqueue", "q"), 0);
  EXPECT_EQ(log.BeginStep(1), 0);
  EXPECT_EQ(log.BeginStep(1), 1);
  log.EndStep(1, 0, 10, 20);
  log.Wait({.thread = 1, .step = 1, .node = 3, .start_ns = 20, .end_ns = 30}, "queue 'q'");
  const InputRecord first = log.Take();
  ASSERT_EQ(first.threads.size(), 2u);
  EXPECT_EQ(first.threads[1].number, 1);
  ASSERT_EQ(first.queues.size(), 1u);
  EXPECT_EQ(first.queues[0].name, "queue 'q'");
  EXPECT_EQ(first.waits[0].queue, first.queues[0].number);
  EXPECT_EQ(first.steps[0].end_ns, 20);
  log.Wait({.thread = 1, .start_ns = 40, .end_ns = 50}, "queue 'q'");
  const InputRecord second = log.Take();
  EXPECT_TRUE(second.queues.empty());
  EXPECT_EQ(second.waits[0].queue, first.queues[0].number);
  EXPECT_EQ(log.Take().size(), 0u);
}

// A mere waiter for a queue does not know its capacity; a size that stays is not told again.
TEST(InputLog, WhatIsLearntOfAQueueIsTold) {
  InputLog log;
  log.Wait({}, "queue 'q'");
  log.Fill({0, "queue 'q'", 32, 4}, 100, 7);
  log.Fill({0, "queue 'q'", 32, 4}, 200, 7);
  log.Fill({0, "queue 'q'", 32, 4}, 300, 8);
  const InputRecord record = log.Take();
  ASSERT_EQ(record.queues.size(), 2u);
  EXPECT_EQ(record.queues[1].number, record.queues[0].number);
  EXPECT_EQ(record.queues[1].capacity, 32);
  EXPECT_EQ(record.queues[1].kept, 4);
  ASSERT_EQ(record.fills.size(), 2u);
  EXPECT_EQ(record.fills[1].time_ns, 300);
}

TEST(InputLog, WorkAddsUp) {
  InputLog log;
  log.Work(0, 5, 10);
  log.Work(0, 5, 20);
  log.Work(1, 5, 7);
  const InputRecord record = log.Take();
  ASSERT_EQ(record.works.size(), 2u);
  EXPECT_EQ(record.works[0].count, 2);
  EXPECT_EQ(record.works[0].ns, 30);
  EXPECT_EQ(record.works[1].ns, 7);
  InputRecord all = record;
  Append(record, &all);
  EXPECT_EQ(all.works.size(), 4u);
}

TEST(InputLog, LooksAtQueuesNowAndThen) {
  InputLog log;
  EXPECT_TRUE(log.FillIsDue(1'000'000));
  EXPECT_FALSE(log.FillIsDue(1'000'001));
  EXPECT_TRUE(log.FillIsDue(1'200'000));
}

TEST(InputLog, TakesFromManyThreads) {
  InputLog log;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&log, t] {
      const int number = log.ThreadOf(&number, "op", "q");
      for (int i = 0; i < 100; ++i) log.EndStep(number, log.BeginStep(number), t, t + 1);
    });
  }
  for (std::thread& thread : threads) thread.join();
  const InputRecord record = log.Take();
  EXPECT_EQ(record.steps.size(), 400u);
}

}  // namespace
}  // namespace lanescope
