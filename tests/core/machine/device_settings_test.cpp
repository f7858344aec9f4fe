// SPDX-License-Identifier: Apache-2.0
// Cases H17 to H22: devices configured step by step, with TensorFlow's errors.
#include "core/machine/device_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/base/expect_error.h"

namespace lanescope {
namespace {

using testing::HasSubstr;

const std::vector<LogicalDevice> kHalves = {{.memory_limit_mb = 1024}, {.memory_limit_mb = 1024}};

TEST(DeviceSettings, H17AGpusPartsHaveALimit) {
  DeviceSettings settings(VirtualMachine(1, 1));
  EXPECT_THAT(ErrorOf([&] {
                settings.SetLogicalDevices("GPU:0", {{}, {}});
              }),
              HasSubstr("InvalidArgument: Setting memory limit is required for GPU virtual devices"));
  EXPECT_THAT(ErrorOf([&] { settings.SetLogicalDevices("CPU:0", {{.memory_limit_mb = 10}}); }),
              HasSubstr("Setting memory limit on CPU virtual devices is currently not supported"));
  EXPECT_THAT(ErrorOf([&] { settings.SetLogicalDevices("CPU:0", {{.priority = 1}}); }),
              HasSubstr("Setting experimental_priority on CPU virtual devices"));
}

TEST(DeviceSettings, H19PartsDoNotGrow) {
  DeviceSettings settings(VirtualMachine(1, 1));
  settings.SetLogicalDevices("/device:GPU:0", kHalves);
  EXPECT_THAT(
      ErrorOf([&] { settings.SetMemoryGrowth("GPU:0", true); }),
      HasSubstr("InvalidArgument: Cannot set memory growth on device when virtual devices configured"));
  EXPECT_FALSE(settings.memory_growth());
  EXPECT_THAT(ErrorOf([&] { settings.SetMemoryGrowth("CPU:0", true); }), HasSubstr("on non-GPU"));
}

// Settings may be repeated, but not changed.
TEST(DeviceSettings, H20NothingChangesOnceTheDevicesAreThere) {
  DeviceSettings settings(VirtualMachine(3, 1));
  settings.SetLogicalDevices("GPU:1", kHalves);
  settings.SetVisibleDevices({"GPU:1", "GPU:0"}, "GPU");
  const Machine& seen = settings.Initialize();
  ASSERT_EQ(seen.Gpus().size(), 3u);  // the halves, and the whole of what was GPU:0
  EXPECT_EQ(seen.device(seen.Gpus()[1]).memory_bytes, int64_t{1} << 30);
  settings.SetLogicalDevices("GPU:1", kHalves);
  settings.SetVisibleDevices({"GPU:1", "GPU:0"}, "GPU");
  EXPECT_THAT(ErrorOf([&] { settings.SetLogicalDevices("GPU:1", {kHalves[0]}); }),
              HasSubstr("FailedPrecondition: Virtual devices cannot be modified after being initialized"));
  EXPECT_THAT(ErrorOf([&] { settings.SetVisibleDevices({"GPU:0"}); }),
              HasSubstr("FailedPrecondition: Visible devices cannot be modified after being initialized"));
  EXPECT_THAT(ErrorOf([&] { settings.SetMemoryGrowth("GPU:0", true); }),
              HasSubstr("FailedPrecondition: Physical devices cannot be modified after being initialized"));
}

TEST(DeviceSettings, H21VisibleDevicesAreThoseThereAre) {
  DeviceSettings settings(VirtualMachine(1, 1));
  EXPECT_THAT(ErrorOf([&] { settings.SetVisibleDevices({"GPU:3"}); }),
              HasSubstr("InvalidArgument: Unrecognized device: 'GPU:3'"));
  EXPECT_THAT(ErrorOf([&] { settings.SetVisibleDevices({"CPU:0"}, "GPU"); }),
              HasSubstr("Unrecognized device: 'CPU:0'"));
  settings.SetVisibleDevices({}, "GPU");
  EXPECT_TRUE(settings.Initialize().Gpus().empty());
}

TEST(DeviceSettings, GrowthIsOneForAllGpus) {
  DeviceSettings settings(VirtualMachine(2, 1));
  settings.SetMemoryGrowth("GPU:0", true);
  EXPECT_THAT(ErrorOf([&] { settings.Initialize(); }),
              HasSubstr("Memory growth cannot differ between GPU devices"));
  settings.SetMemoryGrowth("GPU:1", true);
  EXPECT_TRUE(settings.memory_growth());
  EXPECT_EQ(settings.Initialize().Gpus().size(), 2u);
}

}  // namespace
}  // namespace lanescope
