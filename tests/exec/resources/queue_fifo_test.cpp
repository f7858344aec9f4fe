// SPDX-License-Identifier: Apache-2.0
// First in, first out (cases K01 to K23).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/base/expect_error.h"
#include "tests/exec/resources/queue_outcomes.h"

namespace lanescope::exec {
namespace {

using testing::HasSubstr;

struct Fifo : NotedQueue {
  explicit Fifo(int64_t capacity) : NotedQueue(TensorQueueKind::kFifo, capacity) {}
};

TEST(FifoQueueTest, K01ElementsLeaveInTheOrderTheyCame) {
  Fifo fifo(10);
  for (const float value : {10.f, 20.f, 30.f}) EXPECT_EQ(*fifo.Enqueue(value), "done");
  EXPECT_EQ(fifo.queue.size(), 3);
  for (const char* value : {"[10]", "[20]", "[30]"}) EXPECT_EQ(*fifo.Dequeue(), value);
}

TEST(FifoQueueTest, K03BatchesKeepTheirOrder) {
  Fifo fifo(10);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(*fifo.EnqueueMany({10, 20, 30, 40}), "done");
  for (int i = 0; i < 2; ++i) {
    for (const char* value : {"[10]", "[20]", "[30]", "[40]"}) EXPECT_EQ(*fifo.Dequeue(), value);
  }
}

TEST(FifoQueueTest, K05NothingIsTakenAtOnce) {
  Fifo fifo(10);
  EXPECT_EQ(*fifo.DequeueMany(0), "[]");
  fifo.Enqueue(1);
  EXPECT_EQ(*fifo.DequeueMany(0), "[]");
  EXPECT_EQ(fifo.queue.size(), 1);
}

TEST(FifoQueueTest, K07BatchesAreTakenInOrder) {
  Fifo fifo(10);
  fifo.EnqueueMany({0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  EXPECT_EQ(*fifo.DequeueMany(4), "[0, 1, 2, 3]");
  EXPECT_EQ(*fifo.DequeueMany(4), "[4, 5, 6, 7]");
}

TEST(FifoQueueTest, K11ACloseEndsWhatWaitsForElements) {
  Fifo fifo(10);
  const Outcome waiting = fifo.Dequeue();
  EXPECT_EQ(*waiting, "waiting");
  EXPECT_EQ(*fifo.Close(), "done");
  EXPECT_EQ(
      *waiting,
      "OutOfRange: FIFOQueue 'q' is closed and has insufficient elements (requested 1, current size 0)");
}

TEST(FifoQueueTest, K13WhatWasTakenInVainGoesBackToTheFront) {
  Fifo fifo(10);
  fifo.EnqueueMany({10, 20, 30, 40});
  EXPECT_EQ(*fifo.DequeueMany(3), "[10, 20, 30]");
  const Outcome second = fifo.DequeueMany(3);
  EXPECT_EQ(*second, "waiting");
  EXPECT_EQ(fifo.queue.size(), 0);
  fifo.Close();
  EXPECT_THAT(*second, HasSubstr(kInsufficient));
  EXPECT_EQ(*fifo.Dequeue(), "[40]");
}

TEST(FifoQueueTest, K15AnySmallerCapacityGivesTheSame) {
  for (const int64_t capacity : {4, 3, 2, 1, -1}) {
    Fifo fifo(capacity);
    const Outcome enqueue = fifo.EnqueueMany({10, 20, 30, 40});
    EXPECT_EQ(*fifo.DequeueMany(3), "[10, 20, 30]");
    const Outcome second = fifo.DequeueMany(3);
    EXPECT_EQ(*enqueue, "done");
    EXPECT_EQ(*fifo.Close(), "done");
    EXPECT_THAT(*second, HasSubstr(kInsufficient)) << capacity;
    EXPECT_EQ(*fifo.Dequeue(), "[40]") << capacity;
  }
}

TEST(FifoQueueTest, K17AFullQueueLetsEnqueuesWait) {
  Fifo fifo(4);
  fifo.EnqueueMany({10, 20, 30, 40});
  const Outcome fifth = fifo.Enqueue(50);
  EXPECT_EQ(*fifth, "waiting");
  EXPECT_EQ(*fifo.Dequeue(), "[10]");
  EXPECT_EQ(*fifth, "done");
  for (const char* value : {"[20]", "[30]", "[40]", "[50]"}) EXPECT_EQ(*fifo.Dequeue(), value);
}

TEST(FifoQueueTest, K19ACloseWaitsForTheEnqueuesBeforeIt) {
  Fifo fifo(4);
  fifo.EnqueueMany({10, 20, 30, 40});
  const Outcome fifth = fifo.Enqueue(50);
  const Outcome close = fifo.Close();
  EXPECT_EQ(*close, "waiting");
  EXPECT_FALSE(fifo.queue.state().is_closed);
  EXPECT_EQ(*fifo.Dequeue(), "[10]");
  EXPECT_EQ(*fifth, "done");
  EXPECT_EQ(*close, "done");
  EXPECT_EQ(*fifo.Enqueue(60), "Cancelled: FIFOQueue 'q' is closed.");
  for (const char* value : {"[20]", "[30]", "[40]", "[50]"}) EXPECT_EQ(*fifo.Dequeue(), value);
  EXPECT_THAT(*fifo.Dequeue(), HasSubstr(kInsufficient));
}

TEST(FifoQueueTest, K21ABatchLargerThanTheQueueEntersBitByBit) {
  Fifo fifo(5);
  const Outcome enqueue = fifo.EnqueueMany({1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  EXPECT_EQ(*fifo.Dequeue(), "[1]");
  EXPECT_EQ(*enqueue, "waiting");
  EXPECT_EQ(fifo.queue.size(), 5);
  for (const char* value : {"[2]", "[3]", "[4]"}) EXPECT_EQ(*fifo.Dequeue(), value);
  EXPECT_EQ(*enqueue, "waiting");
  EXPECT_EQ(fifo.queue.size(), 5);
  EXPECT_EQ(*fifo.Dequeue(), "[5]");
  EXPECT_EQ(*enqueue, "done");
  for (int64_t size = 5; size > 0; --size) {
    EXPECT_EQ(fifo.queue.size(), size);
    fifo.Dequeue();
  }
  EXPECT_EQ(fifo.queue.size(), 0);
}

TEST(FifoQueueTest, K23ACloseCancelsPendingEnqueuesIfAsked) {
  Fifo fifo(1);
  fifo.Enqueue(1);
  const Outcome pending = fifo.Enqueue(2);
  const Outcome close = fifo.Close();
  EXPECT_EQ(*close, "waiting");
  EXPECT_EQ(*fifo.Close(true), "done");
  EXPECT_EQ(*pending, "Cancelled: Enqueue operation was cancelled");
  EXPECT_EQ(*close, "Cancelled: Enqueue operation was cancelled");
  EXPECT_EQ(*fifo.Close(), "Cancelled: Queue 'q' is already closed.");
  EXPECT_EQ(*fifo.Dequeue(), "[1]");
}

TEST(FifoQueueTest, ADequeueUpToTakesWhatAClosedQueueHasLeft) {
  Fifo fifo(10);
  fifo.EnqueueMany({1, 2, 3});
  const Outcome waiting = fifo.DequeueUpTo(5);
  EXPECT_EQ(*waiting, "waiting");
  fifo.Close();
  EXPECT_EQ(*waiting, "[1, 2, 3]");
  EXPECT_THAT(*fifo.DequeueUpTo(5), HasSubstr(kInsufficient));
}

TEST(FifoQueueTest, AnEmptyBatchEntersEvenAClosedQueue) {
  Fifo fifo(1);
  fifo.Close();
  EXPECT_EQ(*fifo.EnqueueMany({}), "done");
  EXPECT_EQ(*fifo.EnqueueMany({1}), "Cancelled: FIFOQueue 'q' is closed.");
}

TEST(FifoQueueTest, ALargeDequeueGathersMoreThanTheQueueHolds) {
  Fifo fifo(2);
  const Outcome batch = fifo.DequeueMany(5);
  for (const float value : {1.f, 2.f, 3.f, 4.f, 5.f, 6.f}) EXPECT_EQ(*fifo.Enqueue(value), "done");
  EXPECT_EQ(*batch, "[1, 2, 3, 4, 5]");
  EXPECT_EQ(fifo.queue.size(), 1);
}

TEST(FifoQueueTest, DequeuesAreServedInTheirOrder) {
  Fifo fifo(10);
  const Outcome large = fifo.DequeueMany(2);
  const Outcome small = fifo.Dequeue();
  fifo.Enqueue(1);
  EXPECT_EQ(*small, "waiting");  // the first in line takes it
  fifo.Enqueue(2);
  EXPECT_EQ(*large, "[1, 2]");
  fifo.Enqueue(3);
  EXPECT_EQ(*small, "[3]");
}

TEST(FifoQueueTest, ACancelledDequeueHasTakenNothing) {
  Fifo fifo(10);
  fifo.EnqueueMany({1, 2});
  const Outcome large = fifo.DequeueMany(3);
  const TensorQueue::AttemptNumber number = fifo.last;
  const Outcome small = fifo.Dequeue();
  EXPECT_EQ(fifo.queue.state().waiting_dequeues, 2);
  EXPECT_TRUE(fifo.queue.Cancel(number));
  EXPECT_EQ(*large, "Cancelled: Dequeue operation was cancelled");
  EXPECT_EQ(*small, "[1]");  // which had waited behind it
  EXPECT_EQ(*fifo.Dequeue(), "[2]");
  EXPECT_FALSE(fifo.queue.Cancel(number));
}

TEST(FifoQueueTest, ACancelledEnqueueLetsTheNextOneIn) {
  Fifo fifo(2);
  const Outcome batch = fifo.EnqueueMany({1, 2, 3});
  const TensorQueue::AttemptNumber number = fifo.last;
  const Outcome close = fifo.Close();
  EXPECT_TRUE(fifo.queue.Cancel(number));
  EXPECT_EQ(*batch, "Cancelled: Enqueue operation was cancelled");
  EXPECT_EQ(*close, "done");
  EXPECT_EQ(*fifo.DequeueUpTo(5), "[1, 2]");
}

TEST(FifoQueueTest, WhatWaitsIsCancelledWithItsQueue) {
  Outcome waiting;
  {
    Fifo fifo(2);
    waiting = fifo.Dequeue();
  }
  EXPECT_EQ(*waiting, "Cancelled: Dequeue operation was cancelled");
}

TEST(FifoQueueTest, ACallbackMayUseTheQueue) {
  Fifo fifo(2);
  Outcome outcome = Waiting();
  fifo.queue.Enqueue({Tensor::Scalar(4.f)}, [&](const Error*) { fifo.queue.Dequeue(NoteTaken(outcome)); });
  EXPECT_EQ(*outcome, "[4]");
}

}  // namespace
}  // namespace lanescope::exec
