// SPDX-License-Identifier: Apache-2.0
#include "profiler/buffer_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <thread>
#include <vector>

namespace lanescope::profiler {
namespace {

bool AllZero(const uint8_t* data) {
  return std::all_of(data, data + BufferPool::kBufferBytes, [](uint8_t byte) { return byte == 0; });
}

TEST(BufferPoolTest, BuffersAreZeroEveryTime) {
  BufferPool pool(1, 1);
  for (int i = 0; i < 3; ++i) {
    uint8_t* data = pool.Lend();
    ASSERT_NE(data, nullptr);
    EXPECT_TRUE(AllZero(data));
    data[0] = data[BufferPool::kBufferBytes - 1] = 7;
    EXPECT_TRUE(pool.Return(data, 100));
    const BufferPool::Full full = pool.Take();
    EXPECT_EQ(full.data, data);
    EXPECT_EQ(full.bytes, 100u);
    pool.Recycle(full);
  }
}

TEST(BufferPoolTest, AnEmptyPoolRefusesAndCounts) {
  BufferPool pool(2, 2);
  EXPECT_NE(pool.Lend(), nullptr);
  EXPECT_NE(pool.Lend(), nullptr);
  EXPECT_EQ(pool.Lend(), nullptr);
  EXPECT_EQ(pool.Lend(), nullptr);
  EXPECT_EQ(pool.refused(), 2);
}

// Also beyond the pool, with the others' rights: they come back, are zero again, and are lent again.
TEST(BufferPoolTest, WhereNoneMayBeRefusedMoreAreMade) {
  BufferPool pool(1, 1);
  pool.MayRefuse(false);
  uint8_t *a = pool.Lend(), *b = pool.Lend(), *c = pool.Lend();
  ASSERT_NE(b, nullptr);
  ASSERT_NE(c, nullptr);
  EXPECT_EQ(std::set<uint8_t*>({a, b, c}).size(), 3u);
  EXPECT_TRUE(AllZero(c));
  EXPECT_EQ(pool.refused(), 0);
  c[5] = 1;
  EXPECT_TRUE(pool.Return(c, 6));
  pool.Recycle(pool.Take());
  EXPECT_EQ(pool.Lend(), c);
  EXPECT_TRUE(AllZero(c));
  pool.MayRefuse(true);
  EXPECT_EQ(pool.Lend(), nullptr);
}

TEST(BufferPoolTest, WhatWasNotLentIsNotTaken) {
  BufferPool pool(1, 1);
  uint8_t foreign[16] = {};
  EXPECT_FALSE(pool.Return(foreign, 8));
  EXPECT_FALSE(pool.Return(nullptr, 8));
  uint8_t* data = pool.Lend();
  EXPECT_TRUE(pool.Return(data, SIZE_MAX));
  EXPECT_FALSE(pool.Return(data, 8));  // twice
  EXPECT_EQ(pool.unknown(), 3);
  EXPECT_EQ(pool.Take().bytes, BufferPool::kBufferBytes);
}

TEST(BufferPoolTest, BuffersComeOutInTheOrderOfTheirReturn) {
  BufferPool pool(3, 3);
  uint8_t *a = pool.Lend(), *b = pool.Lend(), *c = pool.Lend();
  pool.Return(c, 1);
  pool.Return(a, 2);
  pool.Return(b, 3);
  for (uint8_t* expected : {c, a, b}) {
    const BufferPool::Full full = pool.Take();
    EXPECT_EQ(full.data, expected);
    pool.Recycle(full);
  }
  EXPECT_EQ(pool.Take().data, nullptr);
}

TEST(BufferPoolTest, ItGrowsWhenFewAreFreeUpToItsLimit) {
  BufferPool pool(1, 6);
  for (int i = 0; i < 20; ++i) pool.Replenish();
  EXPECT_EQ(pool.CountFree(), 4u);
  std::set<uint8_t*> lent;
  for (int i = 0; i < 20; ++i) {
    lent.insert(pool.Lend());
    pool.Replenish();
  }
  lent.erase(nullptr);
  EXPECT_EQ(lent.size(), 6u);
}

// Threads borrow and return at once; each buffer has one owner at a time, and all are accounted for.
TEST(BufferPoolTest, ConcurrentCallersNeverShareABuffer) {
  BufferPool pool(4, 4);
  constexpr int kThreads = 4, kRounds = 300;
  std::atomic<int> lent{0}, refused{0}, wrong{0}, running{kThreads};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kRounds; ++i) {
        uint8_t* data = pool.Lend();
        if (data == nullptr) {
          ++refused;
          std::this_thread::yield();
          continue;
        }
        ++lent;
        if (data[0] != 0) ++wrong;
        data[0] = static_cast<uint8_t>(t + 1);
        std::this_thread::yield();
        if (data[0] != t + 1) ++wrong;
        pool.Return(data, 1);
      }
      --running;
      pool.Wake();
    });
  }
  int taken = 0;
  while (running > 0 || pool.CountFree() < 4) {
    const BufferPool::Full full = pool.Take();
    if (full.data == nullptr) {
      pool.WaitForWork(1);
      continue;
    }
    ++taken;
    pool.Recycle(full);
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(taken, lent);
  EXPECT_EQ(pool.refused(), refused);
  EXPECT_EQ(lent + refused, kThreads * kRounds);
}

}  // namespace
}  // namespace lanescope::profiler
