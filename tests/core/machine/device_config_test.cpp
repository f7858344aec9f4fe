// SPDX-License-Identifier: Apache-2.0
// Cases H01 to H15, H23 and H25: devices as TensorFlow configures them.
#include "core/machine/device_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/base/expect_error.h"

namespace lanescope {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// GPU:i has i + 1 workers, by which it is told apart.
Machine Gpus(int count) {
  Machine machine = VirtualMachine(count, 1);
  for (const DeviceId gpu : machine.Gpus()) {
    DeviceSpec& spec = machine.devices[gpu];
    spec.workers = spec.parsed.id + 1;
    spec.memory_bytes = int64_t{4} << 30;
  }
  return machine;
}

struct Seen {
  std::vector<int> workers;
  std::vector<int64_t> mib;
};

Seen GpusOf(const Machine& machine) {
  Seen seen;
  for (const DeviceId gpu : machine.Gpus()) {
    seen.workers.push_back(machine.device(gpu).workers);
    seen.mib.push_back(machine.device(gpu).memory_bytes >> 20);
  }
  return seen;
}

TEST(DeviceConfig, WithoutAnyTheMachineIsSeenAsItIs) {
  EXPECT_EQ(MachineToJson(ConfigureDevices(Gpus(3), {})), MachineToJson(Gpus(3)));
}

TEST(DeviceConfig, H01ToH03ListsThatMakeNoSenseAreRefused) {
  const auto error = [](const char* list) {
    return ErrorOf([&] { ConfigureDevices(Gpus(2), {.visible_device_list = list}); });
  };
  EXPECT_THAT(error("0,abc"),
              HasSubstr("InvalidArgument: Could not parse entry in 'visible_device_list': 'abc'"));
  EXPECT_THAT(error("0,"), HasSubstr("Could not parse entry in 'visible_device_list': ''"));
  EXPECT_THAT(error("100"), HasSubstr("'visible_device_list' listed an invalid Device id '100'"));
  EXPECT_THAT(error("-1"), HasSubstr("'visible_device_list' listed an invalid Device id '-1'"));
  EXPECT_THAT(error("0,0"), HasSubstr("visible_device_list contained a duplicate entry: 0,0"));
}

TEST(DeviceConfig, H23TheListSaysWhichGpusAndInWhichOrder) {
  const Machine seen = ConfigureDevices(Gpus(4), {.visible_device_list = "3,2"});
  EXPECT_THAT(GpusOf(seen).workers, ElementsAre(4, 3));
  EXPECT_EQ(seen.device(seen.Gpus()[0]).local_name(), "GPU:0");
  EXPECT_THAT(GpusOf(ConfigureDevices(seen, {.visible_device_list = "1"})).workers, ElementsAre(3));
  EXPECT_THAT(GpusOf(ConfigureDevices(Gpus(4), {.gpu_count = 2})).workers, ElementsAre(1, 2));
  EXPECT_TRUE(ConfigureDevices(Gpus(4), {.gpu_count = 0}).Gpus().empty());
}

TEST(DeviceConfig, H05ToH07LogicalDevicesHaveTheirMemory) {
  const Machine one = ConfigureDevices(
      Gpus(2), {.visible_device_list = "0", .logical_devices = {{.memory_limit_mb = {123}}}});
  ASSERT_EQ(one.Gpus().size(), 1u);
  EXPECT_EQ(one.device(one.Gpus()[0]).memory_bytes, 128974848);
  const Seen seen = GpusOf(ConfigureDevices(
      Gpus(2), {.visible_device_list = "1,0", .logical_devices = {{.memory_limit_mb = {1024, 2048}}, {}}}));
  EXPECT_THAT(seen.workers, ElementsAre(2, 2, 1));
  EXPECT_THAT(seen.mib, ElementsAre(1024, 2048, 4096));
}

TEST(DeviceConfig, H08ToH09LogicalDevicesThatDoNotFit) {
  const auto error = [](const DeviceConfig& config) {
    return ErrorOf([&] { ConfigureDevices(Gpus(2), config); });
  };
  EXPECT_THAT(error({.logical_devices = {{}, {}, {}}}),
              HasSubstr("Unknown: Not enough GPUs to create virtual devices."));
  EXPECT_THAT(error({.visible_device_list = "0,1", .logical_devices = {{.memory_limit_mb = {1}}}}),
              HasSubstr("doesn't match the number of elements in the virtual_devices list"));
  EXPECT_THAT(error({.memory_fraction = 0.1, .logical_devices = {{}}}),
              HasSubstr("It's invalid to set per_process_gpu_memory_fraction"));
  EXPECT_THAT(error({.logical_devices = {{.memory_limit_mb = {1, 2}, .device_ordinal = {1}}}}),
              HasSubstr("memory_limit_mb specified for GPU# 0 memory_limit_mb size: 2 and ordinal size: 1"));
  EXPECT_THAT(error({.logical_devices = {{.memory_limit_mb = {5000}}}}), HasSubstr("GPU:0 has 4 GiB"));
  EXPECT_THAT(error({.logical_devices = {{.memory_limit_mb = {0}}}}), HasSubstr("cannot have 0 MiB"));
  EXPECT_THAT(error({.memory_fraction = 1.5}), HasSubstr("a memory fraction of 1.5"));
}

TEST(DeviceConfig, H11OrdinalsNumberTheDevicesOfAllGpus) {
  EXPECT_THAT(
      GpusOf(ConfigureDevices(Gpus(1),
                              {.logical_devices = {{.memory_limit_mb = {1, 2}, .device_ordinal = {2, 1}}}}))
          .mib,
      ElementsAre(2, 1));
  const DeviceConfig two = {.logical_devices = {{.memory_limit_mb = {1, 2}, .device_ordinal = {1, 2}},
                                                {.memory_limit_mb = {3, 4}, .device_ordinal = {1, 2}}}};
  EXPECT_THAT(GpusOf(ConfigureDevices(Gpus(2), two)).mib, ElementsAre(1, 3, 2, 4));
}

TEST(DeviceConfig, H13PrioritiesAreOneAPart) {
  EXPECT_THAT(
      ErrorOf([] {
        ConfigureDevices(Gpus(1), {.logical_devices = {{.memory_limit_mb = {1, 2}, .priority = {1}}}});
      }),
      HasSubstr("InvalidArgument: Number of virtual device priorities specified doesn't match with number of "
                "memory_limit_mb specified for GPU# 0 memory_limit_mb size: 2 and priority size: 1"));
  const Machine seen =
      ConfigureDevices(Gpus(1), {.logical_devices = {{.memory_limit_mb = {1, 2}, .priority = {0, -1}}}});
  EXPECT_EQ(seen.device(seen.Gpus()[0]).stream_priority, 0);
  EXPECT_EQ(seen.device(seen.Gpus()[1]).stream_priority, -1);
  EXPECT_EQ(MachineToJson(ParseMachine(MachineToJson(seen))), MachineToJson(seen));
}

TEST(DeviceConfig, H25TwoProgramsSeeDifferentGpus) {
  const Seen first = GpusOf(ConfigureDevices(Gpus(4), {.visible_device_list = "0,1"}));
  const Seen second = GpusOf(ConfigureDevices(Gpus(4), {.visible_device_list = "3,2"}));
  EXPECT_THAT(first.workers, ElementsAre(1, 2));
  EXPECT_THAT(second.workers, ElementsAre(4, 3));
}

TEST(DeviceConfig, EqualPartsAndFractions) {
  EXPECT_THAT(GpusOf(ConfigureDevices(Gpus(2), {.logical_devices_per_gpu = 2})).mib,
              ElementsAre(2048, 2048, 2048, 2048));
  const Machine fraction = ConfigureDevices(Gpus(1), {.memory_fraction = 0.4});
  EXPECT_EQ(fraction.device(fraction.Gpus()[0]).memory_bytes,
            static_cast<int64_t>(static_cast<double>(int64_t{4} << 30) * 0.4));
}

// Parts of one GPU exchange data within its memory, parts of two over the link of the two.
TEST(DeviceConfig, PartsHaveTheLinksOfTheirGpu) {
  Machine machine = Gpus(2);
  machine.devices[machine.Gpus()[0]].memory_bandwidth = 400e9;
  const Machine seen = ConfigureDevices(machine, {.logical_devices_per_gpu = 2});
  const std::vector<DeviceId> gpus = seen.Gpus();
  EXPECT_EQ(seen.RouteBetween(gpus[0], gpus[1]).bandwidth, 200e9);
  EXPECT_EQ(seen.RouteBetween(gpus[1], gpus[2]).bandwidth, 8e9);
  EXPECT_EQ(seen.RouteBetween(gpus[3], gpus[0]).latency_ns, 60000);
  EXPECT_EQ(seen.RouteBetween(seen.host(), gpus[3]).bandwidth, 8e9);
  EXPECT_EQ(MachineToJson(ParseMachine(MachineToJson(seen))), MachineToJson(seen));
}

TEST(DeviceConfig, LogicalDevicesAsText) {
  const auto parts = ParseLogicalDevices("1024,2048;;512");
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_THAT(parts[0].memory_limit_mb, ElementsAre(1024, 2048));
  EXPECT_TRUE(parts[1].memory_limit_mb.empty());
  EXPECT_THAT(parts[2].memory_limit_mb, ElementsAre(512));
  EXPECT_THAT(ErrorOf([] { ParseLogicalDevices("1024,x"); }), HasSubstr("'x' is no memory limit in MiB"));
  EXPECT_THAT(ParseLogicalDevices("1024@-1,2048@0")[0].priority, ElementsAre(-1, 0));
  EXPECT_THAT(ErrorOf([] { ParseLogicalDevices("1024@"); }), HasSubstr("'1024@' has no priority"));
  EXPECT_THAT(ErrorOf([] { ParseLogicalDevices("1024@1,2048"); }), HasSubstr("priority size: 1"));
}

}  // namespace
}  // namespace lanescope
