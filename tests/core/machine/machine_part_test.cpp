// SPDX-License-Identifier: Apache-2.0
#include "core/machine/machine_part.h"

#include <gtest/gtest.h>

#include <vector>

namespace lanescope {
namespace {

// Law: a part's devices are numbered as asked for; what joins them, and their tasks' interfaces, are theirs.
TEST(MachinePart, KeepsWhatItsDevicesHave) {
  const Machine machine = ParseMachine(R"({"devices": [
      {"name": "/job:w/task:0/CPU:0"}, {"name": "/job:w/task:1/CPU:0"}, {"name": "/job:w/task:2/CPU:0"}],
    "links": [{"between": ["/job:w/task:0/CPU:0", "/job:w/task:1/CPU:0"], "bandwidth": "1GB/s"},
              {"between": ["/job:w/task:1/CPU:0", "/job:w/task:2/CPU:0"], "bandwidth": "2GB/s"}],
    "nics": [{"tasks": ["/job:w/task:0"], "bandwidth": "1MB/s"},
             {"tasks": ["/job:w/task:1"], "bandwidth": "20MB/s"},
             {"tasks": ["/job:w/task:2"], "bandwidth": "30MB/s"}]})");
  const Machine part = PartOf(machine, {DeviceId(2), DeviceId(1)});
  ASSERT_EQ(part.num_devices(), 2);
  EXPECT_EQ(part.device(DeviceId(0)).name, machine.device(DeviceId(2)).name);
  ASSERT_EQ(part.links.size(), 1u);
  EXPECT_EQ(part.links[0].a, DeviceId(1));
  EXPECT_EQ(part.links[0].b, DeviceId(0));
  ASSERT_EQ(part.nics.size(), 2u);
  EXPECT_DOUBLE_EQ(part.RouteBetween(DeviceId(0), DeviceId(1)).bandwidth, 20e6);
}

TEST(MachinePart, SharesAnInterfaceWithTheTasksThatItHas) {
  const Machine machine = ParseMachine(R"({"devices": [
      {"name": "/job:w/task:0/CPU:0"}, {"name": "/job:w/task:1/CPU:0"}, {"name": "/job:w/task:2/CPU:0"}],
    "nics": [{"tasks": ["/job:w/task:0", "/job:w/task:2"], "bandwidth": "1MB/s"}]})");
  const Machine part = PartOf(machine, {DeviceId(1), DeviceId(2)});
  ASSERT_EQ(part.nics.size(), 1u);
  EXPECT_EQ(part.nics[0].hosts, std::vector<DeviceId>{DeviceId(1)});
  EXPECT_TRUE(PartOf(machine, {DeviceId(1)}).nics.empty());
}

}  // namespace
}  // namespace lanescope
