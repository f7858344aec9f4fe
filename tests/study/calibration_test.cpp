// SPDX-License-Identifier: Apache-2.0
#include "study/predict/calibration.h"

#include <gtest/gtest.h>

#include "sims/engine/interference.h"
#include "sims/engine/simulation_model.h"
#include "sims/fit/step_samples.h"
#include "study/measure/measure_machine.h"

namespace lanescope::study {
namespace {

constexpr size_t kCompute = 0, kMemory = 1, kCopy = 2;

MachineMeasurement SampleMeasurement() {
  MachineMeasurement measured;
  measured.host.cores = 4;
  measured.host.copy_cores = 0.25;
  measured.host.slowdown = {{{1.0, 1.1, 1.2}, {1.3, 1.4, 1.5}, {0.98, 1.7, 1.8}}};
  return measured;
}

// Law: the GPU's matrix says what its commands do to each other, from 1 (less is noise) to 2 (half each); the
// host's commands share its cores and nothing else.
TEST(FitCosts, KeepsTheInterferenceOfGpusAndHostApart) {
  MachineMeasurement measured = SampleMeasurement();
  measured.gpus = {{"GPU:0", {{{2.0, 2.1, 2.2}, {2.3, 2.4, 2.5}, {0.9, 2.7, 2.8}}}},
                   {"GPU:1", {{{9.0, 9.0, 9.0}, {9.0, 9.0, 9.0}, {9.0, 9.0, 9.0}}}}};
  const sims::Interference found =
      FitCosts({}, &measured, VirtualMachine(2, 1), "test").effects.Model().interference.value();
  EXPECT_DOUBLE_EQ(found.host.slowdown[kMemory][kCopy], 1);
  EXPECT_EQ(found.host.cores, 4);
  EXPECT_DOUBLE_EQ(found.host.copy_cores, 0.25);
  EXPECT_DOUBLE_EQ(found.gpu.slowdown[kCopy][kCompute], 1);
  EXPECT_DOUBLE_EQ(found.gpu.slowdown[kMemory][kCopy], 2);
  EXPECT_DOUBLE_EQ(found.gpu.slowdown[kCompute][kCompute], 2);
  EXPECT_EQ(found.gpu.cores, 0);
}

// Law: other computers stand in the table as they were measured.
TEST(FitCosts, KeepsOtherComputers) {
  MachineMeasurement measured = SampleMeasurement();
  measured.other_computers = {{{"/job:w/task:1"}, 8, {0.5, 1}}};
  const sims::Interference found =
      FitCosts({}, &measured, VirtualMachine(2, 1), "test").effects.Model().interference.value();
  EXPECT_EQ(found.host.cores, 4);
  ASSERT_EQ(found.other_computers.size(), 1U);
  EXPECT_EQ(found.other_computers.front().cores, 8);
  EXPECT_EQ(found.other_computers.front().speed.compute, 0.5);
}

TEST(FitCosts, WithoutGpusTheirMatrixSlowsNothing) {
  const MachineMeasurement measured = SampleMeasurement();
  const sims::Interference found =
      FitCosts({}, &measured, VirtualMachine(2, 1), "test").effects.Model().interference.value();
  for (const auto& row : found.gpu.slowdown) {
    for (const double factor : row) EXPECT_DOUBLE_EQ(factor, 1);
  }
}

}  // namespace
}  // namespace lanescope::study
