// SPDX-License-Identifier: Apache-2.0
#include "core/base/thread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <new>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/record/recorder.h"
#include "tests/core/base/expect_error.h"
#include "tests/support/thread_starts.h"

namespace lanescope {
namespace {

using lanescope::test::RunningThreads;
using lanescope::test::ThreadStarts;
using ::testing::StartsWith;

TEST(Thread, RunsTheWork) {
  int sum = 0;
  Thread("a sum", [&] { sum = 3; }).Join();
  EXPECT_EQ(sum, 3);
}

// Law: what the work throws comes to whoever joins, once, and ends nothing else.
TEST(Thread, WhatTheWorkThrowsIsThrownAtJoin) {
  Thread thread("a failure", [] { throw std::bad_alloc(); });
  thread.Wait();
  EXPECT_THROW(thread.Join(), std::bad_alloc);
  EXPECT_NO_THROW(thread.Join());
}

TEST(Thread, WhatNobodyAsksForIsGone) {
  int sum = 0;
  {
    const Thread failed("a failure", [&] {
      sum = 3;
      throw std::bad_alloc();
    });
  }
  EXPECT_EQ(sum, 3);
}

TEST(Thread, AMovedThreadKeepsWhatItsWorkThrows) {
  std::atomic<bool> go = false;
  Thread thread("a failure", [&] {
    go.wait(false);
    Throw(Code::kDataLoss, "late");
  });
  Thread moved = std::move(thread);
  go = true;
  go.notify_one();
  EXPECT_NO_THROW(thread.Join());  // NOLINT(bugprone-use-after-move): it has no work now
  EXPECT_EQ(ErrorOf([&] { moved.Join(); }), "DataLoss: late");
}

// Law: nobody throws before all have ended; of several the first in order does.
TEST(Thread, JoinAllWaitsForAllAndThrowsWhatTheFirstThrew) {
  std::atomic<bool> go = false;
  std::atomic<int> ended = 0;
  std::vector<Thread> threads;
  threads.emplace_back("the last to fail", [&] {
    go.wait(false);
    ++ended;
    Throw(Code::kAborted, "first");
  });
  threads.emplace_back("the first to fail", [&] {
    ++ended;
    go = true;
    go.notify_one();
    Throw(Code::kAborted, "second");
  });
  EXPECT_EQ(ErrorOf([&] { JoinAll(threads); }), "Aborted: first");
  EXPECT_EQ(ended, 2);
}

// A system without threads left is an error with a code, not the end of the program.
TEST(Thread, NoneLeftIsResourceExhausted) {
  const ThreadStarts none(0);
  bool ran = false;
  EXPECT_THAT(ErrorOf([&] { Thread("a test", [&] { ran = true; }).Join(); }),
              StartsWith("ResourceExhausted: no thread could be started for a test (Resource temporarily "
                         "unavailable); use fewer workers"));
  EXPECT_FALSE(ran);
  EXPECT_TRUE(none.exhausted());
}

TEST(Thread, RecorderNeedsOne) {
  class Nowhere : public EventSink {
    void Consume(std::span<const Event>) override {}
    void CountDropped(int64_t) override {}
  } sink;
  const int before = RunningThreads();
  const ThreadStarts none(0);
  EXPECT_THAT(ErrorOf([&] { const Recorder recorder(&sink); }), StartsWith("ResourceExhausted: "));
  EXPECT_EQ(RunningThreads(), before);
}

}  // namespace
}  // namespace lanescope
