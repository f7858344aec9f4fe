// SPDX-License-Identifier: Apache-2.0
#include "core/base/hidden_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <vector>

namespace lanescope {
namespace {

namespace fs = std::filesystem;
using Naming = HiddenFile::Naming;

class HiddenFileTest : public testing::Test {
 protected:
  HiddenFileTest() {
    folder_ = testing::TempDir() + "lanescope-hidden-XXXXXX";
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
  }
  ~HiddenFileTest() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  std::string In(const std::string& name) const { return folder_ + "/" + name; }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) names.push_back(entry.path().filename());
    return names;
  }
  static pid_t Start(const std::function<void()>& work) {
    const pid_t child = fork();
    if (child != 0) return child;
    work();
    _exit(0);
  }
  // How a process that does `work` ends.
  static int EndOf(const std::function<void()>& work) {
    int how = 0;
    waitpid(Start(work), &how, 0);
    return how;
  }
  // A process names a file, puts what SQLite might beside it, and is killed.
  void LeaveFile(Naming naming) const {
    EndOf([&] {
      HiddenFile file(In("a"), In("a"), 0600, naming);
      std::ofstream(file.Path() + "-wal") << "log";
      kill(getpid(), SIGKILL);
    });
  }
  std::string folder_;
};

TEST_F(HiddenFileTest, TheNextNamedFileRemovesWhatAKilledProcessLeft) {
  for (const Naming left : {Naming::kAtOnce, Naming::kWhenNeeded}) {
    for (const Naming next : {Naming::kAtOnce, Naming::kWhenNeeded}) {
      LeaveFile(left);
      EXPECT_THAT(Names(), testing::UnorderedElementsAre(".lanescope-0.tmp", ".lanescope-0.tmp-wal"));
      HiddenFile file(In("b"), In("b"), 0600, next);
      EXPECT_EQ(file.Path(), In(".lanescope-0.tmp"));
      EXPECT_THAT(Names(), testing::ElementsAre(".lanescope-0.tmp"));
    }
    EXPECT_THAT(Names(), testing::IsEmpty());
  }
}

TEST_F(HiddenFileTest, FilesOfLivingWritersStay) {
  HiddenFile first(In("a"), In("a"), 0600, Naming::kAtOnce), second(In("b"), In("b"), 0600);
  EXPECT_EQ(second.Path(), In(".lanescope-1.tmp"));
  EXPECT_EQ(EndOf([&] {
              HiddenFile third(In("c"), In("c"), 0600);
              _exit(third.Path() == In(".lanescope-2.tmp") ? 7 : 1);
            }) >>
                8,
            7);
  // Left by _exit behind two that live.
  EXPECT_THAT(Names(), testing::SizeIs(3));
  EXPECT_TRUE(first.Become(false));
  HiddenFile fourth(In("d"), In("d"), 0600, Naming::kAtOnce);
  EXPECT_EQ(fourth.Path(), In(".lanescope-0.tmp"));
  EXPECT_THAT(Names(), testing::UnorderedElementsAre("a", ".lanescope-0.tmp", ".lanescope-1.tmp"));
}

TEST_F(HiddenFileTest, WhatIsNoFileOfOursStays) {
  fs::create_directory(In(".lanescope-0.tmp"));
  std::ofstream(In("precious")) << "x";
  fs::create_symlink("precious", In(".lanescope-1.tmp"));
  HiddenFile file(In("a"), In("a"), 0600, Naming::kAtOnce);
  EXPECT_EQ(file.Path(), In(".lanescope-2.tmp"));
  EXPECT_TRUE(fs::exists(In("precious")));
  EXPECT_TRUE(fs::is_symlink(In(".lanescope-1.tmp")));
}

TEST_F(HiddenFileTest, ANameMayBeTaken) {
  for (const Naming naming : {Naming::kAtOnce, Naming::kWhenNeeded}) {
    std::ofstream(In("a")) << "old";
    {
      HiddenFile file(In("a"), In("a"), 0600, naming);
      EXPECT_FALSE(file.Become(false));
    }
    EXPECT_EQ(fs::file_size(In("a")), 3u);
    HiddenFile file(In("a"), In("a"), 0600, naming);
    EXPECT_TRUE(file.Become(true));
    EXPECT_EQ(fs::file_size(In("a")), 0u);
    EXPECT_THAT(Names(), testing::ElementsAre("a"));
  }
}

// Between creating and locking a file others may take it for left behind: nobody loses a file.
TEST_F(HiddenFileTest, WritersAtTheSameTimeDoNotHitEachOther) {
  std::vector<pid_t> writers;
  for (int w = 0; w < 4; ++w) {
    writers.push_back(Start([&] {
      for (int i = 0; i < 100; ++i) {
        const std::string target = In(std::to_string(w) + "." + std::to_string(i));
        HiddenFile file(target, target, 0600, i % 2 == 0 ? Naming::kAtOnce : Naming::kWhenNeeded);
        file.Path();
        if (write(file.descriptor(), target.data(), target.size()) < 0 || !file.Become(true)) _exit(1);
      }
    }));
  }
  for (const pid_t writer : writers) {
    int how = 0;
    waitpid(writer, &how, 0);
    EXPECT_EQ(how, 0);
  }
  EXPECT_THAT(Names(), testing::SizeIs(400));
  for (const std::string& name : Names()) {
    std::ifstream file(In(name));
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), In(name));
  }
}

}  // namespace
}  // namespace lanescope
