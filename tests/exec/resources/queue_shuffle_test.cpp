// SPDX-License-Identifier: Apache-2.0
// Random shuffle queues (cases K41 to K49).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/exec/resources/queue_outcomes.h"

namespace lanescope::exec {
namespace {

using testing::HasSubstr;

QueueSpec ShuffleQueue(int64_t capacity, int64_t min_after_dequeue, uint64_t seed = 0, uint64_t seed2 = 0) {
  QueueSpec spec = FloatQueue(TensorQueueKind::kRandomShuffle, capacity, min_after_dequeue);
  spec.seed = seed;
  spec.seed2 = seed2;
  return spec;
}

std::vector<float> TakeAll(TensorQueue* queue) {
  std::vector<float> values;
  while (queue->size() > 0) {
    queue->Dequeue([&](const Error*, QueueTuple tuple) { values.push_back(tuple[0].data<float>()[0]); });
  }
  return values;
}

TEST(ShuffleQueueTest, SeedsGiveTheOrderOfTensorFlow) {
  // RandomShuffleQueueV2(seed=87654321, seed2=1729) of TensorFlow 2.15.1, ten numbers in, ten out.
  NotedQueue shuffle(ShuffleQueue(10, 0, 87654321, 1729));
  shuffle.EnqueueMany({0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  EXPECT_EQ(*shuffle.DequeueMany(10), "[1, 3, 6, 7, 9, 0, 8, 4, 2, 5]");
}

TEST(ShuffleQueueTest, K41EveryElementLeavesOnce) {
  NotedQueue shuffle(ShuffleQueue(10, 0));
  shuffle.EnqueueMany({0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  std::vector<float> values = TakeAll(&shuffle.queue);
  std::sort(values.begin(), values.end());
  EXPECT_EQ(values, (std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST(ShuffleQueueTest, K43AnOpenQueueKeepsItsMinimum) {
  NotedQueue shuffle(ShuffleQueue(10, 2, 3));
  shuffle.EnqueueMany({1, 2, 3, 4});
  const Outcome first = shuffle.DequeueUpTo(3);
  EXPECT_EQ(*first, "waiting");
  EXPECT_EQ(shuffle.queue.size(), 2);
  shuffle.Close();
  EXPECT_EQ(std::count(first->begin(), first->end(), ','), 2) << *first;
  EXPECT_EQ(shuffle.queue.size(), 1);
  const Outcome rest = shuffle.DequeueUpTo(3);
  EXPECT_THAT(*rest, testing::MatchesRegex("\\[[1-4]\\]"));
}

TEST(ShuffleQueueTest, K45ACloseEndsWhatWaits) {
  NotedQueue shuffle(ShuffleQueue(10, 5));
  const Outcome waiting = shuffle.DequeueMany(4);
  shuffle.Close();
  EXPECT_EQ(*waiting,
            "OutOfRange: RandomShuffleQueue 'q' is closed and has insufficient elements "
            "(requested 4, current size 0)");
}

TEST(ShuffleQueueTest, K47WhatWaitsOutsideIsNotTakenFirst) {
  for (uint64_t seed = 1; seed < 50; ++seed) {
    NotedQueue shuffle(ShuffleQueue(4, 0, seed));
    shuffle.EnqueueMany({10, 20, 30, 40});
    const Outcome blocked = shuffle.EnqueueMany({50, 60});
    EXPECT_EQ(*blocked, "waiting");
    std::vector<float> values = TakeAll(&shuffle.queue);
    ASSERT_EQ(values.size(), 6u);
    EXPECT_LT(values[0], 50);
    EXPECT_NE(values[1], 60);
    EXPECT_EQ(*blocked, "done");
    EXPECT_EQ(std::set<float>(values.begin(), values.end()).size(), 6u);
  }
}

TEST(ShuffleQueueTest, K49SeedsMakeOrdersThatDifferAndRepeat) {
  const auto run = [](uint64_t seed) {
    NotedQueue shuffle(ShuffleQueue(10, 5, seed));
    shuffle.EnqueueMany({1, 2, 3, 4, 5});
    shuffle.EnqueueMany({1, 2, 3, 4, 5});
    const std::string first = *shuffle.DequeueMany(5);
    shuffle.Close();
    return std::pair(first, *shuffle.DequeueMany(5));
  };
  const auto a = run(1729), b = run(87539319);
  EXPECT_EQ(run(1729), a);
  EXPECT_EQ((std::set<std::string>{a.first, a.second, b.first, b.second}).size(), 4u);
}

TEST(ShuffleQueueTest, ACancelledDequeueHasTakenNothing) {
  NotedQueue shuffle(ShuffleQueue(10, 0, 5));
  shuffle.EnqueueMany({1, 2, 3});
  const Outcome waiting = shuffle.DequeueMany(4);
  EXPECT_EQ(shuffle.queue.size(), 0);
  EXPECT_TRUE(shuffle.queue.Cancel(shuffle.last));
  EXPECT_EQ(*waiting, "Cancelled: Dequeue operation was cancelled");
  std::vector<float> values = TakeAll(&shuffle.queue);
  std::sort(values.begin(), values.end());
  EXPECT_EQ(values, (std::vector<float>{1, 2, 3}));
}

}  // namespace
}  // namespace lanescope::exec
