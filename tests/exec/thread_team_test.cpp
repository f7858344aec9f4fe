// SPDX-License-Identifier: Apache-2.0
#include "exec/device/thread_team.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "core/base/error.h"
#include "tests/support/thread_starts.h"

namespace lanescope::exec {
namespace {

// Law: every index of [0, n) is covered exactly once, in blocks that depend on (n, grain) alone.
TEST(ThreadTeam, CoversEveryIndexOnce) {
  for (const int workers : {1, 2, 3, 5}) {
    const auto team = MakeThreadTeam(workers);
    for (const int64_t n : {0, 1, 7, 64, 1000}) {
      for (const int64_t grain : {1, 3, 64, 2000}) {
        std::vector<int> visits(static_cast<size_t>(n), 0);  // each element is one block's alone
        std::atomic<int64_t> blocks{0};
        team->ParallelFor(n, grain, [&](int64_t begin, int64_t end) {
          EXPECT_EQ(begin % grain, 0);
          EXPECT_EQ(end, std::min(n, begin + grain));
          for (int64_t i = begin; i < end; ++i) ++visits[static_cast<size_t>(i)];
          ++blocks;
        });
        EXPECT_EQ(visits, std::vector<int>(static_cast<size_t>(n), 1));
        EXPECT_EQ(blocks, (n + grain - 1) / grain);
      }
    }
  }
}

// A grain below one counts as one.
TEST(ThreadTeam, ZeroGrain) {
  for (const int workers : {1, 2}) {
    std::atomic<int64_t> sum{0};
    MakeThreadTeam(workers)->ParallelFor(10, 0, [&](int64_t begin, int64_t) { sum += begin; });
    EXPECT_EQ(sum, 45);
  }
}

// Law: the caller sees what all blocks of a loop wrote, and the next loop sees it too.
TEST(ThreadTeam, LoopsFollowEachOther) {
  const auto team = MakeThreadTeam(3);
  std::vector<int64_t> values(256, 0);
  constexpr int kLoops = 3000;
  for (int loop = 0; loop < kLoops; ++loop) {
    team->ParallelFor(256, 32, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) ++values[static_cast<size_t>(255 - i)];
    });
    ASSERT_EQ(values[static_cast<size_t>(loop % 256)], loop + 1);
  }
  EXPECT_EQ(values, std::vector<int64_t>(256, kLoops));
}

TEST(ThreadTeam, ExceptionsReachTheCaller) {
  for (const int workers : {1, 2, 4}) {
    const auto team = MakeThreadTeam(workers);
    for (int round = 0; round < 200; ++round) {
      const int64_t bad = round % 50;
      EXPECT_THROW(team->ParallelFor(50, 1,
                                     [&](int64_t begin, int64_t) {
                                       if (begin == bad) Throw(Code::kInvalidArgument, "block {}", begin);
                                     }),
                   Error);
      std::atomic<int> blocks{0};
      team->ParallelFor(50, 1, [&](int64_t, int64_t) { ++blocks; });
      ASSERT_EQ(blocks, 50) << "the team must go on after an exception";
    }
    EXPECT_THROW(team->ParallelFor(50, 1, [](int64_t, int64_t) { throw std::runtime_error("each"); }),
                 std::runtime_error);
  }
}

// Law: once the flag is up no further block begins, the caller gets Cancelled, and the team works on when the
// flag is down again.
TEST(ThreadTeam, StopsBetweenBlocks) {
  for (const int workers : {1, 2, 4}) {
    const auto team = MakeThreadTeam(workers);
    std::atomic<bool> stopped{false};
    team->StopOn(&stopped);
    std::atomic<int> blocks{0};
    try {
      team->ParallelFor(1000, 1, [&](int64_t begin, int64_t) {
        ++blocks;
        if (begin == 3) stopped = true;
        while (begin > 3 && !stopped) std::this_thread::yield();
      });
      ADD_FAILURE() << "it ran to its end";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kCancelled) << error.what();
    }
    EXPECT_LE(blocks, 4 + workers - 1) << workers << " workers";
    EXPECT_THROW(team->CheckNotStopped(), Error);
    stopped = false;
    blocks = 0;
    team->ParallelFor(1000, 1, [&](int64_t, int64_t) { ++blocks; });
    EXPECT_EQ(blocks, 1000);
    team->CheckNotStopped();
    WorkerTeam::StopOn(nullptr);
  }
}

// A team whose last thread cannot start joins those that did.
TEST(ThreadTeam, NoThreadLeftIsAnError) {
  const int before = lanescope::test::RunningThreads();
  for (int left = 0; left < 4; ++left) {
    const lanescope::test::ThreadStarts starts(left);
    try {
      MakeThreadTeam(5);
      ADD_FAILURE() << left << " threads made a team of five";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kResourceExhausted) << error.what();
      EXPECT_NE(error.message().find("5 workers of a device"), std::string::npos) << error.what();
    }
    EXPECT_EQ(lanescope::test::RunningThreads(), before);
  }
  const lanescope::test::ThreadStarts enough(4);
  MakeThreadTeam(5);
  EXPECT_FALSE(enough.exhausted());
}

// Law: loops of several threads at once each cover their own range, whoever helps.
TEST(ThreadTeam, LoopsRunSideBySide) {
  for (const int workers : {1, 2, 4}) {
    const auto team = MakeThreadTeam(workers);
    std::vector<std::thread> callers;
    std::vector<std::vector<int>> values(3, std::vector<int>(257, 0));
    for (std::vector<int>& own : values) {
      callers.emplace_back([&team, &own] {
        for (int loop = 0; loop < 500; ++loop) {
          team->Enter();
          team->ParallelFor(257, 16, [&own](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) ++own[static_cast<size_t>(i)];
          });
          team->Leave();
        }
      });
    }
    for (std::thread& caller : callers) caller.join();
    for (const std::vector<int>& own : values) EXPECT_EQ(own, std::vector<int>(257, 500));
  }
}

TEST(ThreadTeam, StartsAndStopsIdle) {
  for (int i = 0; i < 50; ++i) MakeThreadTeam(1 + i % 4);
}

}  // namespace
}  // namespace lanescope::exec
