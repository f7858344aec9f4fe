// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "core/record/recorder.h"

namespace lanescope {
namespace {

int64_t KernelNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// By how much NowNs leaves the bracket of two kernel readings around it; a bracket that another process
// stretched says nothing and only makes the law weaker.
int64_t DistanceFromKernel() {
  const int64_t before = KernelNs();
  const int64_t now = NowNs();
  const int64_t after = KernelNs();
  return std::max({before - now, now - after, int64_t{0}});
}

TEST(ClockTest, StaysWithinAMicrosecondOfTheKernelForSeconds) {
  const int64_t end = KernelNs() + 2'500'000'000;
  std::vector<int64_t> distances;
  while (KernelNs() < end) distances.push_back(DistanceFromKernel());
  EXPECT_LT(*std::max_element(distances.begin(), distances.end()), 1000);
}

TEST(ClockTest, IsRightAfterAPause) {
  for (int i = 0; i < 5; ++i) {
    NowNs();
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    EXPECT_LT(DistanceFromKernel(), 1000);
  }
}

TEST(ClockTest, NeverRunsBackwardsOnOneThread) {
  std::vector<std::thread> threads;
  std::vector<int64_t> backwards(4, 0);
  for (size_t t = 0; t < backwards.size(); ++t) {
    threads.emplace_back([&, t] {
      int64_t last = NowNs();
      for (int i = 0; i < 2'000'000; ++i) {
        const int64_t now = NowNs();
        if (now < last) ++backwards[t];
        last = now;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(backwards, std::vector<int64_t>(4, 0));
}

}  // namespace
}  // namespace lanescope
