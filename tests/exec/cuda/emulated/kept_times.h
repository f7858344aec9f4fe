// SPDX-License-Identifier: Apache-2.0
// Where the tests of the emulated kernels keep times of algorithms (exec/cuda/algorithm_times.h).
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace lanescope::exec::test {

inline std::string KeptTimesFolder() {
  return ::testing::TempDir() + "/emulated_times_" + std::to_string(getpid());
}

inline void KeepTimesApart() { setenv("LANESCOPE_KERNEL_CACHE", KeptTimesFolder().c_str(), 1); }
inline void ForgetTimes() { std::filesystem::remove_all(KeptTimesFolder()); }

}  // namespace lanescope::exec::test
