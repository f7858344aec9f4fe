// SPDX-License-Identifier: Apache-2.0
#include "core/machine/cluster_tasks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/machine/tasks.h"
#include "tests/core/base/expect_error.h"

namespace lanescope {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> TextsOf(const std::string& text) {
  std::vector<std::string> texts;
  for (const ClusterTask& task : ParseClusterTasks(text)) texts.push_back(task.name() + " on " + task.host);
  return texts;
}

// Tasks of a job are numbered over its hosts, in the order in which they stand.
TEST(ClusterTasks, AreNumberedInTheOrderOfTheText) {
  EXPECT_THAT(TextsOf("ps=node1:1,worker=node1:2,node2"),
              ElementsAre("/job:ps/task:0 on node1", "/job:worker/task:0 on node1",
                          "/job:worker/task:1 on node1", "/job:worker/task:2 on node2"));
  EXPECT_THAT(TextsOf("worker=a:2;ps=b"),
              ElementsAre("/job:worker/task:0 on a", "/job:worker/task:1 on a", "/job:ps/task:0 on b"));
}

// TensorFlow's addresses have ports: one task each.
TEST(ClusterTasks, PortsAreNoNumbersOfTasks) {
  EXPECT_THAT(TextsOf("ps=ps0:2222;worker=w0:2222,w1:1024"),
              ElementsAre("/job:ps/task:0 on ps0", "/job:worker/task:0 on w0", "/job:worker/task:1 on w1"));
}

TEST(ClusterTasks, WhatIsNoClusterIsRefusedByName) {
  for (const auto& [text, problem] : std::vector<std::pair<std::string, std::string>>{
           {"", "'' in the cluster names no job"},
           {"node1:2", "'node1:2' in the cluster names no job"},
           {"=a", "'=a' in the cluster does not begin with the name of a job"},
           {"7up=a", "does not begin with the name of a job"},
           {"ps=a,", "'' in the cluster names no host"},
           {"ps=a b", "'ps=a b' in the cluster names no host"},
           {"ps=a:0", "'ps=a:0' in the cluster has no number of tasks"},
           {"ps=a:2x", "has no number of tasks"},
           {"ps=a:65536", "has no number of tasks"},
           {"ps=a:200,b:57", "more than 256 tasks"},
           {"ps=a,ps=b", "a job 'ps' already"}}) {
    EXPECT_THAT(ErrorOf([&] { ParseClusterTasks(text); }), HasSubstr(problem)) << text;
  }
}

// Devices, links and buses once a task, and a link between every two hosts: 3 (2 + 1) devices, 3 * 3 + 3
// links.
TEST(ClusterTasks, EveryTaskHasTheDevices) {
  const std::string one = R"({"name": "m", "devices": [{"name": "GPU:0", "memory": "1GiB"}, {"name": "GPU:1",
    "memory": "1GiB"}, {"name": "CPU:0"}], "buses": [{"name": "pcie", "bandwidth": "5GB/s"}], "links": [
    {"between": ["CPU:0", "GPU:0"], "bandwidth": "8GB/s", "bus": "pcie"},
    {"between": ["CPU:0", "GPU:1"], "bandwidth": "8GB/s", "bus": "pcie"},
    {"between": ["GPU:0", "GPU:1"], "bandwidth": "9GB/s"}]})";
  const Machine machine = MachineOfTasks(ParseMachine(one), ParseClusterTasks("ps=a,worker=a,b"));
  EXPECT_EQ(machine.name, "3 tasks of m");
  EXPECT_EQ(machine.num_devices(), 9);
  EXPECT_EQ(machine.links.size(), 12U);
  const MachineTasks tasks = TasksOf(machine);
  EXPECT_THAT(tasks.names, ElementsAre("/job:ps/task:0", "/job:worker/task:0", "/job:worker/task:1"));
  const auto gpu = [&](const std::string& task) { return machine.FindDevice(task + "/device:GPU:1"); };
  const DeviceId last = gpu("/job:worker/task:1");
  ASSERT_TRUE(last.exists());
  EXPECT_EQ(tasks.task_of[last], 2);
  EXPECT_EQ(machine.RouteBetween(tasks.hosts[2], last).bandwidth, 5e9) << "its own bus";
  EXPECT_EQ(machine.RouteBetween(tasks.hosts[0], tasks.hosts[1]).bandwidth, 8e9) << "one computer";
  EXPECT_EQ(machine.RouteBetween(tasks.hosts[0], tasks.hosts[2]).bandwidth, 1e9) << "two";
  EXPECT_EQ(machine.RouteBetween(gpu("/job:ps/task:0"), last).latency_ns, 200'000);
  ASSERT_EQ(machine.nics.size(), 2U);
  EXPECT_THAT(machine.nics[0].hosts, ElementsAre(tasks.hosts[0], tasks.hosts[1])) << "of the computer a";
  EXPECT_TRUE(MachineOfTasks(ParseMachine(one), ParseClusterTasks("worker=a:2")).nics.empty())
      << "no network";
  EXPECT_NO_THROW(ParseMachine(MachineToJson(machine)));
  EXPECT_THAT(ErrorOf([&] { MachineOfTasks(machine, ParseClusterTasks("ps=a")); }),
              HasSubstr("has 3 tasks already"));
}

// Hosts that differ: each task has the devices of its own machine.
TEST(ClusterTasks, EachTaskHasItsOwnDevices) {
  const Machine two = VirtualMachine(2, 1), none = VirtualMachine(0, 4);
  const Machine machine = MachineOfTasks({two, none, two}, ParseClusterTasks("worker=a,b,c"));
  EXPECT_EQ(machine.name, "3 tasks of 2 virtual GPUs, 0 virtual GPUs");
  EXPECT_EQ(machine.num_devices(), 3 + 1 + 3);
  EXPECT_EQ(machine.links.size(), 3U + 0 + 3 + 3);
  const MachineTasks tasks = TasksOf(machine);
  EXPECT_EQ(tasks.size(), 3);
  EXPECT_FALSE(machine.FindDevice("/job:worker/task:1/device:GPU:0").exists());
  EXPECT_EQ(tasks.task_of[machine.FindDevice("/job:worker/task:2/device:GPU:1")], 2);
  EXPECT_THAT(ErrorOf([&] {
                MachineOfTasks({two, machine}, ParseClusterTasks("worker=a,b"));
              }),
              HasSubstr("has 3 tasks already"));
}

TEST(ClusterTasks, HostsHaveSeveralNames) {
  EXPECT_TRUE(MayBeOneHost("node1", "NODE1.site.org"));
  EXPECT_TRUE(MayBeOneHost("localhost", "node1"));
  EXPECT_TRUE(MayBeOneHost("10.0.0.7", "node1"));
  EXPECT_FALSE(MayBeOneHost("node1", "node2"));
  EXPECT_FALSE(MayBeOneHost("node1", "node10"));
}

}  // namespace
}  // namespace lanescope
