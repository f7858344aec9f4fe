// SPDX-License-Identifier: Apache-2.0
#include "study/workload/machine_change.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/base/expect_error.h"
#include "tests/support/paths.h"

namespace lanescope::study {
namespace {

using testing::HasSubstr;

Machine Changed(const std::string& file, const std::vector<std::string>& changes) {
  Machine machine = ReadMachine(test::SourceDir() + "/samples/machines/" + file + ".json");
  IdVector<DeviceId, double> speed(machine.devices.size(), 1.0);
  for (const std::string& change : changes) ApplyMachineChange(change, &machine, &speed);
  return machine;
}

// Links of two tasks with a GPU each: host to GPU in both, and host to host.
TEST(MachineChange, TheNetworkIsWhatJoinsTasks) {
  const Machine network = Changed("two-tasks", {"network.bandwidth=2GB/s", "network.latency=7us"});
  EXPECT_EQ(network.links[0].bandwidth, 8e9);
  EXPECT_EQ(network.links[2].bandwidth, 2e9);
  EXPECT_EQ(network.links[2].latency_ns, 7000);
  const Machine within = Changed("two-tasks", {"host_link.bandwidth=2GB/s"});
  EXPECT_EQ(within.links[0].bandwidth, 2e9);
  EXPECT_EQ(within.links[2].bandwidth, 1e9);
}

TEST(MachineChange, NetworkInterfacesAreOfTheNetwork) {
  Machine machine = Changed("two-tasks", {});
  machine.nics.push_back({{machine.links[2].a}, 1e9});
  IdVector<DeviceId, double> speed(machine.devices.size(), 1.0);
  ApplyMachineChange("network.latency=1us", &machine, &speed);
  EXPECT_EQ(machine.nics[0].bandwidth, 1e9);
  ApplyMachineChange("network.bandwidth=3GB/s", &machine, &speed);
  EXPECT_EQ(machine.nics[0].bandwidth, 3e9);
}

TEST(MachineChange, OneTaskHasNoNetwork) {
  EXPECT_THAT(ErrorOf([] { Changed("k80x2", {"network.bandwidth=2GB/s"}); }),
              HasSubstr("no link of the machine is between two tasks"));
  EXPECT_THAT(ErrorOf([] { Changed("two-tasks", {"network.bandwidth=0GB/s"}); }), HasSubstr("moves nothing"));
  EXPECT_THAT(ErrorOf([] { Changed("two-tasks", {"network.speed=2"}); }), HasSubstr("no device 'network'"));
}

}  // namespace
}  // namespace lanescope::study
