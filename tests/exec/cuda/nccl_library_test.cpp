// SPDX-License-Identifier: Apache-2.0
// NCCL is found, is new enough, and is for several GPUs of hardware.
#include "exec/cuda/nccl_library.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "exec/device/backends.h"
#include "tests/exec/cuda/fake_nccl_use.h"
#include "tests/exec/cuda/reduced_steps.h"

namespace lanescope::exec::test {
namespace {

// Without the library, with one that is too old, and with what is none: one line says so, and what to do.
TEST(NcclLibrary, WhatIsMissing) {
  StubGuard stub;
  const std::map<std::string, Tensor> feeds{{"x0", NumbersFrom<float>(8, 0)},
                                            {"x1", NumbersFrom<float>(8, 1)}};
  for (const auto& [file, reason] : std::map<std::string, std::string>{
           {"/no/such/libnccl.so.2", "NCCL cannot be loaded (/no/such/libnccl.so.2: "},
           {LANESCOPE_FAKE_NCCL_OLD, "NCCL 2.10.3 is too old; install 2.13.0 or later"},
           {LANESCOPE_NO_NCCL, "is not NCCL: it has no ncclGetVersion"}}) {
    const NcclFile named(file);
    std::string said;
    EXPECT_EQ(cuda::LoadNccl(&said), nullptr);
    EXPECT_NE(said.find(reason), std::string::npos) << said;
    EXPECT_EQ(said.find('\n'), std::string::npos);
    EXPECT_FALSE(HasJointLaunches(GpuMachine({0, 1})));
    ExpectError(Code::kFailedPrecondition, {reason, "; --all-reduce ring does without it"}, [&] {
      Reduced(SumOfSquares(2, DataType::kFloat, "sum", 8), feeds, {"y0"}, GpuMachine({0, 1}), true).Step();
    });
    EXPECT_EQ(stub->live_objects(), 0) << "what the program had made when it threw";
  }
}

TEST(NcclLibrary, IsForSeveralGpusOfHardware) {
  StubGuard stub;
  FakeNccl nccl(&*stub);
  std::string reason;
  ASSERT_NE(cuda::LoadNccl(&reason), nullptr);
  EXPECT_EQ(cuda::LoadNccl(&reason)->VersionText(), "2.28.9");
  EXPECT_TRUE(HasJointLaunches(GpuMachine({0, 1})));
  EXPECT_FALSE(HasJointLaunches(GpuMachine({0})));
  EXPECT_FALSE(HasJointLaunches(FastMachine(2)));
  ExpectError(Code::kFailedPrecondition, {"parts of one GPU"}, [&] {
    Reduced(SumOfSquares(2, DataType::kFloat, "sum", 8),
            {{"x0", NumbersFrom<float>(8, 0)}, {"x1", NumbersFrom<float>(8, 1)}}, {"y0"}, GpuMachine({0, 0}),
            true)
        .Step();
  });
}

}  // namespace
}  // namespace lanescope::exec::test
