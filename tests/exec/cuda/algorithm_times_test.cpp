// SPDX-License-Identifier: Apache-2.0
// Times of algorithms, kept in files that anyone may have changed.
#include "exec/cuda/algorithm_times.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "exec/cuda/kernel_cache.h"

namespace lanescope::exec::cuda {
namespace {

class AlgorithmTimesTest : public ::testing::Test {
 protected:
  AlgorithmTimesTest() { setenv("LANESCOPE_KERNEL_CACHE", folder_.c_str(), 1); }
  ~AlgorithmTimesTest() override {
    unsetenv("LANESCOPE_KERNEL_CACHE");
    std::filesystem::remove_all(folder_);
  }

  const std::string folder_ = ::testing::TempDir() + "/times_" + std::to_string(getpid());
  const std::vector<std::string> names_ = {"NHWC_0", "NCHW_4", "NCHW_6"};
};

TEST_F(AlgorithmTimesTest, AreFoundByKeyAndNames) {
  const AlgorithmTimes times = {398'700, 113'500, std::nullopt};
  EXPECT_FALSE(FindAlgorithmTimes("key", names_));
  KeepAlgorithmTimes("key", names_, times);
  EXPECT_EQ(FindAlgorithmTimes("key", names_), times);
  EXPECT_FALSE(FindAlgorithmTimes("another key", names_));
  EXPECT_FALSE(FindAlgorithmTimes("key", {"NHWC_0", "NCHW_4"}));
  EXPECT_FALSE(FindAlgorithmTimes("key", {"NCHW_4", "NHWC_0", "NCHW_6"}));
  EXPECT_FALSE(FindAlgorithmTimes("key", {"NHWC_0", "NCHW_4", "NCHW_6", "NCHW_7"}));
  KeepAlgorithmTimes("key", names_, {1, 2, 3});
  EXPECT_EQ(FindAlgorithmTimes("key", names_), (AlgorithmTimes{1, 2, 3}));
}

// Entries whose checksum is right, and which say nothing that could be believed.
TEST_F(AlgorithmTimesTest, AreReadFromNothingElse) {
  const char* const hostile[] = {"",
                                 "NHWC_0 1\nNCHW_4 2\n",
                                 "NHWC_0 1\nNCHW_4 2\nNCHW_6 3",
                                 "NHWC_0 1\nNCHW_4 2\nNCHW_6 3\nNCHW_7 4\n",
                                 "NHWC_0 -1\nNCHW_4 2\nNCHW_6 3\n",
                                 "NHWC_0 1\nNCHW_4 2 2\nNCHW_6 3\n",
                                 "NHWC_0 1\nNCHW_4\nNCHW_6 3\n",
                                 "NHWC_0 1\nNCHW_4 \nNCHW_6 3\n",
                                 "NHWC_0 1e3\nNCHW_4 2\nNCHW_6 3\n",
                                 "NHWC_0 99999999999999999999\nNCHW_4 2\nNCHW_6 3\n"};
  for (const char* content : hostile) {
    KernelCache(folder_).Keep("key", content);
    EXPECT_FALSE(FindAlgorithmTimes("key", names_)) << content;
  }
  KernelCache(folder_).Keep("key", "NHWC_0 1\nNCHW_4 2\nNCHW_6 -\n");
  EXPECT_TRUE(FindAlgorithmTimes("key", names_));
}

TEST_F(AlgorithmTimesTest, TheLeastIsTheQuickestAndTheFirstOfSeveral) {
  EXPECT_EQ(QuickestOf({}), std::nullopt);
  EXPECT_EQ(QuickestOf({std::nullopt, std::nullopt}), std::nullopt);
  EXPECT_EQ(QuickestOf({std::nullopt, 5, 3, 3}), 2u);
  EXPECT_EQ(QuickestOf({0, 0}), 0u);
}

}  // namespace
}  // namespace lanescope::exec::cuda
