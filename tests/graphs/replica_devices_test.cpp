// SPDX-License-Identifier: Apache-2.0
// Cases J10 to J21: which server a variable goes to.
#include "graphs/replica_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <type_traits>

#include "core/machine/tasks.h"
#include "graphs/md5.h"
#include "graphs/ops.h"
#include "tests/core/base/expect_error.h"
#include "tests/graphs/nodes.h"

namespace lanescope::graphs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string HexOf(std::string_view text) {
  std::string hex;
  for (const uint8_t byte : Md5(text)) hex += {"0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15]};
  return hex;
}

const Variable& VariableOn(Scope& s, const std::string& device, const std::string& name) {
  const auto on = s.Device(device);
  return s.NewVariable(2.0, {.name = name});
}

// RFC 1321, A.5.
TEST(Md5, IsThatOfTheRfc) {
  EXPECT_EQ(HexOf(""), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(HexOf("abc"), "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(HexOf("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"),
            "d174ab98d277d9f5a5611c2c9f419d9f");
}

TEST(ReplicaDevices, J10VariablesGoToServersInTurnAndTheRestToTheWorker) {
  Scope s;
  const auto setter = s.Device(ReplicaDevices({.ps_tasks = 2}));
  std::vector<std::string> devices;
  for (int i = 0; i < 5; ++i) {
    const Variable& v = s.NewVariable(1.0, {.name = "v"});
    devices.push_back(DeviceOf(s, v.ref));
    EXPECT_EQ(DeviceOf(s, v.initializer), devices.back());
  }
  EXPECT_THAT(devices, ElementsAre("/job:ps/task:0", "/job:ps/task:1", "/job:ps/task:0", "/job:ps/task:1",
                                   "/job:ps/task:0"));
  EXPECT_EQ(DeviceOf(s, op::Const(s, 1.0)), "/job:worker");
}

TEST(ReplicaDevices, J11WhatANodeAsksForStays) {
  Scope s;
  const auto setter = s.Device(ReplicaDevices({.ps_tasks = 2}));
  const Variable& v = VariableOn(s, "/cpu:0", "v");
  const Variable& w = s.NewVariable(2.0, {.name = "w"});
  const auto cpu = s.Device("/cpu:0");
  const Endpoint a = op::AddV2(s, v, w);
  EXPECT_EQ(DeviceOf(s, v.ref), "/job:ps/task:0/device:CPU:0");
  EXPECT_EQ(DeviceOf(s, w.ref), "/job:ps/task:1");
  EXPECT_EQ(DeviceOf(s, a), "/job:worker/device:CPU:0");
}

TEST(ReplicaDevices, J13AServerDeviceWithoutAJobHasNoTasks) {
  Scope s;
  const auto setter = s.Device(ReplicaDevices({.ps_tasks = 2, .ps_device = "/cpu:0"}));
  const Variable& v = s.NewVariable(1.0, {.name = "v"});
  const Variable& w = VariableOn(s, "/job:moon/cpu:0", "w");
  const Endpoint a = op::AddV2(s, v, w);
  EXPECT_EQ(DeviceOf(s, v.ref), "/device:CPU:0");
  EXPECT_EQ(DeviceOf(s, w.ref), "/job:moon/device:CPU:0");
  EXPECT_EQ(DeviceOf(s, a), "/job:worker");
}

// A variable of another job does not take a server's turn.
TEST(ReplicaDevices, J14OtherJobsKeepTheirVariables) {
  Scope s;
  const auto setter = s.Device(ReplicaDevices({.ps_tasks = 2, .ps_device = "/job:sun"}));
  const Variable& first = s.NewVariable(1.0, {.name = "v"});
  const Variable& moon = VariableOn(s, "/job:moon", "w");
  const auto on = s.Device("/job:sun/cpu:0");
  const Variable& second = s.NewVariable(3.0, {.name = "x"});
  EXPECT_EQ(DeviceOf(s, first.ref), "/job:sun/task:0");
  EXPECT_EQ(DeviceOf(s, moon.ref), "/job:moon");
  EXPECT_EQ(DeviceOf(s, second.ref), "/job:sun/task:1/device:CPU:0");
}

TEST(ReplicaDevices, J14bDevicesOfServersAndWorkersArePartsOfTheNames) {
  Scope s;
  const auto setter = s.Device(
      ReplicaDevices({.ps_tasks = 2, .ps_device = "/job:moon/cpu:0", .worker_device = "/job:sun/cpu:0"}));
  const Variable& v = s.NewVariable(1.0, {.name = "v"});
  const Variable& w = s.NewVariable(2.0, {.name = "w"});
  const Endpoint a = op::AddV2(s, v, w);
  EXPECT_EQ(DeviceOf(s, v.ref), "/job:moon/task:0/device:CPU:0");
  EXPECT_EQ(DeviceOf(s, w.ref), "/job:moon/task:1/device:CPU:0");
  EXPECT_EQ(DeviceOf(s, a), "/job:sun/device:CPU:0");
}

TEST(ReplicaDevices, J15WithoutServersThereIsNothingToSay) {
  EXPECT_EQ(ReplicaDevices({}), nullptr);
  EXPECT_THAT(ErrorOf([] { RoundRobinServers(0); }), HasSubstr("1 or more server tasks"));
}

TEST(ReplicaDevices, WithoutMergingANodeWithADeviceIsLeftAlone) {
  Scope s;
  const auto setter = s.Device(ReplicaDevices({.ps_tasks = 1, .merge_devices = false}));
  const auto gpu = s.Device("/gpu:0");
  EXPECT_EQ(DeviceOf(s, s.NewVariable(1.0, {.name = "v"}).ref), "/device:GPU:0");
}

std::vector<int> TasksOf(const ServerStrategy& strategy, const std::vector<Dim>& floats) {
  std::vector<int> tasks;
  for (size_t i = 0; i < floats.size(); ++i) {
    Scope s;
    const Variable& v =
        s.NewVariable("v" + std::to_string(i), lanescope::Shape{floats[i]}, {.initializer = Zeros()});
    tasks.push_back(strategy(s.graph().node(v.ref.node)));
  }
  return tasks;
}

TEST(ReplicaDevices, J17AndJ19TheServerWithTheFewestBytesIsNext) {
  EXPECT_THAT(TasksOf(GreedyServers(2), {4, 2, 4, 3}), ElementsAre(0, 1, 1, 0));
  EXPECT_THAT(TasksOf(GreedyServers(2), {1}), ElementsAre(0));
  EXPECT_THAT(TasksOf(GreedyServers(3, [](const Node&) { return int64_t{1}; }), {9, 1, 5, 7}),
              ElementsAre(0, 1, 2, 0));
}

// int(md5("NAME_SEED"), 16) % 3 as Python says.
TEST(ReplicaDevices, TheServerByChanceFollowsFromTheName) {
  Node node;
  std::vector<int> tasks;
  for (const char* name : {"a", "b", "c", "d"}) {
    node.name = name;
    tasks.push_back(RandomServers(3)(node));
    tasks.push_back(RandomServers(3, 1)(node));
  }
  EXPECT_THAT(tasks, ElementsAre(1, 1, 0, 1, 1, 2, 0, 0));
}

// A strategy that is not callable does not compile; an empty function is the default.
TEST(ReplicaDevices, J21AStrategyIsCallable) {
  static_assert(!std::is_convertible_v<int, ServerStrategy> &&
                !std::is_convertible_v<const char*, ServerStrategy>);
  Scope s;
  const auto setter = s.Device(ReplicaDevices({.ps_tasks = 1, .ps_strategy = nullptr}));
  EXPECT_EQ(DeviceOf(s, s.NewVariable(1.0, {.name = "v"}).ref), "/job:ps/task:0");
}

}  // namespace
}  // namespace lanescope::graphs
