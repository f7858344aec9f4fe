// SPDX-License-Identifier: Apache-2.0
#include "traces/report/advice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lanescope::traces {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A GPU that computes for all of 1 ms.
Summary Computing(int64_t calls) {
  Summary summary;
  summary.communication = {.devices = 1, .compute_ns = 1'000'000};
  summary.gpu_activities.push_back(
      {.name = "Mul", .type = "kernel", .total_ns = 1'000'000, .calls = calls, .avg_ns = 1'000'000 / calls});
  return summary;
}

TEST(AdviceTest, ShortLaunchesAreFusedAndLongOnesMadeCheaper) {
  EXPECT_THAT(
      AdviceOf(Computing(100)),
      ElementsAre(
          "Mul takes 100% of what computes, in 100 launches of 10 us on average: fuse it with the ops "
          "before and after it (torch.compile, XLA), or give it larger batches. (at most 50% of the "
          "time)"));
  EXPECT_THAT(AdviceOf(Computing(10)), ElementsAre(HasSubstr("give it a lower precision (bfloat16, TF32)")));
}

}  // namespace
}  // namespace lanescope::traces
