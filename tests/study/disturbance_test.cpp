// SPDX-License-Identifier: Apache-2.0
#include "study/measure/disturbance.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace lanescope::study {
namespace {

// A proc file system of three files.
class DisturbanceTest : public testing::Test {
 protected:
  DisturbanceTest() : proc_(testing::TempDir() + "lanescope_proc_" + std::to_string(getpid())) {
    std::filesystem::create_directories(proc_ + "/self/task/7");
    std::filesystem::create_directories(proc_ + "/self/task/8");
  }
  ~DisturbanceTest() override { std::filesystem::remove_all(proc_); }
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(proc_ + "/" + name) << text;
  }
  // user nice system idle iowait irq softirq steal, in ticks.
  void WriteStat(const std::string& numbers) const {
    Write("stat", "cpu  " + numbers + " 0 0\ncpu0 9 9 9 9 9 9 9 9 0 0\n");
  }
  const std::string proc_;
};

// 100 + 20 + 30 + 1 + 2 ticks more of busy processors and 7 of stolen ones; nearly none of it is our own.
TEST_F(DisturbanceTest, CountsWhatOthersTook) {
  WriteStat("1000 100 200 5000 50 10 20 3");
  DisturbanceMeter meter({}, proc_);
  WriteStat("1100 120 230 9000 90 11 22 10");
  const Disturbance taken = meter.Take();
  const int64_t tick = 1'000'000'000 / sysconf(_SC_CLK_TCK);
  EXPECT_LE(taken.others_ns, 153 * tick);
  EXPECT_GE(taken.others_ns, 103 * tick);
  EXPECT_EQ(taken.stolen_ns, 7 * tick);
  EXPECT_GT(taken.wall_ns, 0);
}

// A tick shows what a program of its own used in the stretches before it: no other ran.
TEST_F(DisturbanceTest, ATickOfOnesOwnIsNobodyElses) {
  WriteStat("1000 100 200 5000 50 10 20 3");
  DisturbanceMeter meter({}, proc_);
  const int64_t tick = 1'000'000'000 / sysconf(_SC_CLK_TCK);
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  const int64_t until = used.tv_sec * 1'000'000'000 + used.tv_nsec + 2 * tick;
  while (used.tv_sec * 1'000'000'000 + used.tv_nsec < until) {
    EXPECT_EQ(meter.Take().others_ns, 0);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  }
  WriteStat("1001 100 200 5000 50 10 20 3");
  EXPECT_EQ(meter.Take().others_ns, 0);
}

// Thread 7 waited 500 ns more, thread 9 came with 40, thread 8 went: 540 in all; then nothing happened.
TEST_F(DisturbanceTest, AddsUpWhatThreadsWaited) {
  Write("self/task/7/schedstat", "900 1000 5\n");
  Write("self/task/8/schedstat", "900 2000 5\n");
  DisturbanceMeter meter({}, proc_);
  Write("self/task/7/schedstat", "950 1500 6\n");
  std::filesystem::remove_all(proc_ + "/self/task/8");
  std::filesystem::create_directories(proc_ + "/self/task/9");
  Write("self/task/9/schedstat", "10 40 1\n");
  EXPECT_EQ(meter.Take().waited_ns, 540);
  EXPECT_EQ(meter.Take().waited_ns, 0);
}

// Without waiting times of threads all that others used may have held this program up.
TEST_F(DisturbanceTest, WithoutWaitingTimesOthersCountAsWaitedFor) {
  WriteStat("1000 100 200 5000 50 10 20 3");
  DisturbanceMeter meter({}, proc_);
  WriteStat("1100 120 230 9000 90 11 22 10");
  const Disturbance taken = meter.Take();
  EXPECT_GT(taken.others_ns, 0);
  EXPECT_EQ(taken.waited_ns, taken.others_ns);
}

TEST_F(DisturbanceTest, WhatTheSystemDoesNotTellIsZero) {
  DisturbanceMeter meter({}, proc_ + "/nowhere");
  const Disturbance taken = meter.Take();
  EXPECT_EQ(taken.others_ns, 0);
  EXPECT_EQ(taken.stolen_ns, 0);
  EXPECT_EQ(taken.waited_ns, 0);
}

// A process beside this one that uses a processor for 300 ms of its own time: at least that, but for what the
// clock's ticks leave out, is seen here.
TEST(DisturbanceOfThisMachine, SeesAnotherProcess) {
  DisturbanceMeter meter;
  const pid_t child = fork();
  if (child == 0) {
    timespec used{};
    while (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) == 0 && used.tv_nsec < 300'000'000 &&
           used.tv_sec == 0) {
    }
    _exit(0);
  }
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  const Disturbance taken = meter.Take();
  EXPECT_GE(taken.others_ns, 200'000'000);
  EXPECT_GE(taken.wall_ns, 300'000'000);
}

}  // namespace
}  // namespace lanescope::study
