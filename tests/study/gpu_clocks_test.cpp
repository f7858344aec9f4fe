// SPDX-License-Identifier: Apache-2.0
#include "study/measure/gpu_clocks.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/graph/graph_builder.h"
#include "study/measure/recorded_run.h"
#include "study/workload/placing.h"

namespace lanescope::study {
namespace {

using testing::ElementsAre;

// NVML's numbers of why a clock is low.
constexpr unsigned long long kIdle = 0x1, kPowerCap = 0x4, kHeat = 0x20;

const GpuLibraries kStub{LANESCOPE_STUB_NVML, LANESCOPE_STUB_NVML};

void SetGpu(int ordinal, unsigned mhz, unsigned long long reasons = 0) {
  void* const library = dlopen(LANESCOPE_STUB_NVML, RTLD_LAZY | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  reinterpret_cast<void (*)(int, unsigned, unsigned long long)>(dlsym(library, "StubSetGpu"))(ordinal, mhz,
                                                                                              reasons);
}

// `ordinals`: of the physical GPU of each device.
Machine GpuMachine(const std::vector<int>& ordinals) {
  Machine machine = VirtualMachine(static_cast<int>(ordinals.size()), 1);
  const std::vector<DeviceId> gpus = machine.Gpus();
  for (size_t i = 0; i < ordinals.size(); ++i) {
    machine.devices[gpus[i]].kind = DeviceKind::kCuda;
    machine.devices[gpus[i]].physical = ordinals[i];
  }
  return machine;
}

// Law: the slowest of the machine's GPUs, and only of those, is what is read; a GPU that idles or keeps to
// its power is not held down, one that is hot is.
TEST(GpuClocksTest, ReadsTheGpusOfTheMachine) {
  SetGpu(0, 1980);
  SetGpu(1, 345, kIdle);
  EXPECT_EQ(GpuClocks(GpuMachine({0}), kStub).Read().mhz, 1980);
  EXPECT_EQ(GpuClocks(GpuMachine({1}), kStub).Read().mhz, 345);
  const GpuClocks both(GpuMachine({0, 1, 1}), kStub);
  EXPECT_EQ(both.Read().mhz, 345);
  EXPECT_FALSE(both.Read().held_down);
  SetGpu(0, 1755, kPowerCap);
  EXPECT_FALSE(both.Read().held_down);
  SetGpu(1, 1980, kHeat | kPowerCap);
  EXPECT_EQ(both.Read().mhz, 1755);
  EXPECT_TRUE(both.Read().held_down);
  EXPECT_FALSE(GpuClocks(GpuMachine({0}), kStub).Read().held_down);
}

TEST(GpuClocksTest, WithoutLibrariesOrGpusNothingIsKnown) {
  SetGpu(0, 1980, kHeat);
  EXPECT_EQ(GpuClocks(GpuMachine({0}), {"nowhere.so", "nowhere.so"}).Read().mhz, 0);
  EXPECT_EQ(GpuClocks(GpuMachine({7}), kStub).Read().mhz, 0);
  const GpuClock none = GpuClocks(VirtualMachine(2, 1), kStub).Read();
  EXPECT_EQ(none.mhz, 0);
  EXPECT_FALSE(none.held_down);
}

// A run of six steps, in whose third and fourth the GPU's clock is lower. Law: they are disturbed.
TEST(GpuClocksTest, AStepAtAnotherClockDoesNotCount) {
  GraphBuilder builder;
  builder.Op("Neg", "y").Input(builder.Placeholder("x", DataType::kFloat, Shape{4})).Build();
  RunSpec spec;
  spec.feeds["x"].shape = Shape{4};
  spec.feeds["x"].generator = "uniform";
  spec.fetches = {"y"};
  const Workload workload("negative", builder.Take(), std::move(spec));
  const Machine machine = VirtualMachine(1, 1);
  const GpuClocks clocks(GpuMachine({0}), kStub);
  RecordedRunOptions options;
  options.gpu_clocks = &clocks;
  RecordedRun run(Place(workload, "single", machine, RooflineCost()), machine, nullptr, options);
  SetGpu(0, 1980);
  run.RunSteps(2);
  SetGpu(0, 1410);
  run.RunSteps(2);
  SetGpu(0, 1980);
  run.RunSteps(2);
  EXPECT_THAT(run.Undisturbed(), ElementsAre(1, 1, 0, 0, 1, 1));
  run.Finish();
}

}  // namespace
}  // namespace lanescope::study
