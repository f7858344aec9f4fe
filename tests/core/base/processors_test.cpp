// SPDX-License-Identifier: Apache-2.0
#include "core/base/processors.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace lanescope {
namespace {

// A tree of cgroups, and what a process says of its own.
class Cgroups : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "lanescope-cgroups-" + std::to_string(getpid());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void Write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = folder_ + "/" + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  int Limit(const std::string& membership) const {
    Write("membership", membership);
    return CgroupProcessors(folder_ + "/membership", folder_);
  }
  std::string folder_;
};

TEST_F(Cgroups, VersionTwoTakesTheLeastFromTheGroupUpwards) {
  Write("jobs/one/cpu.max", "350000 100000\n");
  EXPECT_EQ(Limit("0::/jobs/one\n"), 4) << "3.5 processors, rounded up";
  Write("jobs/cpu.max", "200000 100000\n");
  EXPECT_EQ(Limit("0::/jobs/one\n"), 2) << "those above count too";
  Write("jobs/cpu.max", "max 100000\n");
  EXPECT_EQ(Limit("0::/jobs/one\n"), 4);
  EXPECT_EQ(Limit("0::/\n"), 0) << "the root has no limit";
  Write("cpu.max", "50000 100000\n");
  EXPECT_EQ(Limit("0::/\n"), 1) << "the root of a container";
  EXPECT_EQ(Limit("0::/not/seen/here\n"), 1);
}

TEST_F(Cgroups, VersionOneHasItsControllerInAFolder) {
  Write("cpu/box/cpu.cfs_quota_us", "600000\n");
  Write("cpu/box/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(Limit("5:memory:/other\n3:cpuacct,cpu:/box\n0::/\n"), 6);
  EXPECT_EQ(Limit("5:cpuset:/box\n"), 0);
  Write("cpu/box/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(Limit("3:cpu:/box\n"), 0) << "no limit";
}

// Files that say nothing, or nonsense, limit nothing.
TEST_F(Cgroups, NonsenseIsNoLimit) {
  for (const char* text : {"", "max", "0 0", "-5 100000", "100000 -1", "a b", "9223372036854775807 1"}) {
    Write("cpu.max", text);
    EXPECT_EQ(Limit("0::/\n"), 0) << text;
  }
  EXPECT_EQ(Limit("no colons\n:\n::\n"), 0);
  EXPECT_EQ(CgroupProcessors(folder_ + "/missing", folder_), 0);
}

TEST(Processors, AreAtLeastOneAndNoMoreThanTheAffinityHas) {
  EXPECT_GE(NumProcessors(), 1);
  EXPECT_LE(NumProcessors(), static_cast<int>(CoresOfThisProcess().size()));
}

}  // namespace
}  // namespace lanescope
