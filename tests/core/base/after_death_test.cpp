// SPDX-License-Identifier: Apache-2.0
#include "core/base/after_death.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "core/base/child.h"

namespace lanescope {
namespace {

namespace fs = std::filesystem;

constexpr int kLongMs = 20'000;

std::string NewFolder() {
  std::string folder = testing::TempDir() + "lanescope-death-XXXXXX";
  EXPECT_NE(mkdtemp(folder.data()), nullptr);
  std::ofstream(folder + "/file") << "x";
  return folder;
}

bool GoesSoon(const std::string& path) {
  for (int i = 0; i < kLongMs && fs::exists(path); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return !fs::exists(path);
}

// A process of its own that does `work` and is killed or ends.
void InProcess(const std::function<void()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    work();
    _exit(0);
  }
  waitpid(child, nullptr, 0);
}

TEST(AfterDeathTest, ActsWhenTheProcessIsKilled) {
  const std::string folder = NewFolder();
  InProcess([&] {
    const AfterDeath guard(kRemoveFolder, {folder});
    kill(getpid(), SIGKILL);
  });
  EXPECT_TRUE(GoesSoon(folder));
}

TEST(AfterDeathTest, ActsWhenTheProcessEndsWithoutDestructors) {
  const std::string folder = NewFolder();
  InProcess([&] {
    const AfterDeath guard(kRemoveFolder, {folder});
    _exit(0);
  });
  EXPECT_TRUE(GoesSoon(folder));
}

TEST(AfterDeathTest, DoesNothingOnceItIsNotNeeded) {
  const std::string folder = NewFolder();
  const auto before = std::chrono::steady_clock::now();
  for (int i = 0; i < 20; ++i) const AfterDeath guard(kRemoveFolder, {folder});
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::milliseconds(kLongMs));
  EXPECT_TRUE(fs::exists(folder + "/file"));
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a guard is left";
  fs::remove_all(folder);
}

// Everyone who runs has the writing end of a pipe, whose reader sees when nobody does any more.
bool EndsWithItsParent(bool own_group, const std::string& shell) {
  int ends[2];
  EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
  InProcess([&] {
    const Child child({{"sh", "-c", shell}, {}, {-1, ends[1], -1}, own_group});
    pollfd started{ends[0], POLLIN, 0};
    poll(&started, 1, kLongMs);
    kill(getpid(), SIGKILL);
  });
  close(ends[1]);
  char byte = 0;
  ssize_t left = 0;
  pollfd end{ends[0], POLLIN, 0};
  do {
    left = poll(&end, 1, kLongMs) == 1 ? read(ends[0], &byte, 1) : -1;
  } while (left > 0);
  close(ends[0]);
  return left == 0;
}

TEST(AfterDeathTest, AProgramEndsWithItsParent) {
  EXPECT_TRUE(EndsWithItsParent(false, "echo; exec sleep 1000"));
}

TEST(AfterDeathTest, WhatAProgramOfItsOwnGroupStartedEndsToo) {
  EXPECT_TRUE(EndsWithItsParent(true, "sleep 1000 & echo; wait"));
}

}  // namespace
}  // namespace lanescope
