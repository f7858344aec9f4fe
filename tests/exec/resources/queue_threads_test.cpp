// SPDX-License-Identifier: Apache-2.0
// Many threads on one queue (case K09).
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "tests/exec/resources/queue_outcomes.h"

namespace lanescope::exec {
namespace {

constexpr int kProducers = 4;
constexpr int kEach = 500;

// Each producer enqueues its numbers one after the other, each of which is dequeued, cancelled attempts and
// all, exactly once.
TEST(QueueThreadsTest, K09EveryElementIsTakenOnce) {
  for (const TensorQueueKind kind :
       {TensorQueueKind::kFifo, TensorQueueKind::kRandomShuffle, TensorQueueKind::kPaddingFifo}) {
    TensorQueue queue("q", FloatQueue(kind, 7));
    std::mutex mutex;
    std::multiset<float> taken;
    std::atomic<int> refused{0};
    {
      std::vector<std::jthread> threads;
      for (int producer = 0; producer < kProducers; ++producer) {
        threads.emplace_back([&, producer] {
          for (int i = 0; i < kEach; ++i) {
            queue.Enqueue({Tensor::Scalar(static_cast<float>(producer * kEach + i))},
                          [](const Error* error) { EXPECT_EQ(error, nullptr); });
          }
        });
      }
      for (int consumer = 0; consumer < 2; ++consumer) {
        threads.emplace_back([&, consumer] {
          for (int i = 0; i < kProducers * kEach / 4; ++i) {
            const auto note = [&](const Error* error, QueueTuple tuple) {
              if (error != nullptr) return void(++refused);
              const std::lock_guard lock(mutex);
              taken.insert(tuple[0].data<float>(), tuple[0].data<float>() + tuple[0].NumElements());
            };
            const TensorQueue::AttemptNumber number =
                consumer == 0 ? queue.DequeueMany(3, note) : queue.Dequeue(note);
            if (i % 5 == 0) queue.Cancel(number);
          }
        });
      }
    }
    queue.Close(false, [](const Error* error) { EXPECT_EQ(error, nullptr); });
    const int all = kProducers * kEach;
    queue.DequeueUpTo(all, [&](const Error* error, QueueTuple tuple) {
      if (error != nullptr) return;
      taken.insert(tuple[0].data<float>(), tuple[0].data<float>() + tuple[0].NumElements());
    });
    EXPECT_EQ(taken.size(), static_cast<size_t>(all));
    EXPECT_EQ(std::set<float>(taken.begin(), taken.end()).size(), static_cast<size_t>(all));
    EXPECT_EQ(queue.state().waiting_enqueues + queue.state().waiting_dequeues, 0);
  }
}

}  // namespace
}  // namespace lanescope::exec
