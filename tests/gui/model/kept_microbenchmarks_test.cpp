// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>

#include "sims/cost/cost_table.h"
#include "sims/effects/cores.h"
#include "sims/effects/shared_gpu.h"
#include "study/predict/calibration.h"
#include "tests/gui/model/sample_trace.h"

namespace lanescope::gui {
namespace {

using test::SampleTrace;

// Input: a measured run, and a prediction on the same machine that kept its costs. Law: what the run cannot
// tell (interference, fetches) is the prediction's; what it can tell is not.
TEST(KeptMicrobenchmarks, ComeFromAPredictionThatHasThem) {
  sims::CostTable kept;
  sims::SharedGpu gpu;
  gpu.slowdown[0][0] = 1.25;
  kept.effects.Put(gpu);
  sims::Cores cores;
  cores.cores = 2;
  kept.effects.Put(cores);
  sims::LaunchCost& other = kept.launches.emplace_back();
  other.signature = other.op = "NeverRun";
  other.device = "virtual";
  other.ns = 7;
  other.count = 3;
  const SampleTrace sample(40, {"alternating"}, 3, sims::CostTableToJson(kept));
  const std::atomic<bool> never{false};
  const sims::CostTable table =
      study::CalibrateFromTrace(sample.file.path(), "random.pbtxt", 1, "", never).table;
  EXPECT_EQ(table.calibrated_on, "run 1; interference as in run 2");
  ASSERT_TRUE(table.has_microbenchmarks());
  EXPECT_EQ(table.effects.Get<sims::SharedGpu>().slowdown[0][0], 1.25);
  EXPECT_FALSE(table.launches.empty());
  for (const sims::LaunchCost& launch : table.launches) EXPECT_NE(launch.op, "NeverRun");
}

}  // namespace
}  // namespace lanescope::gui
