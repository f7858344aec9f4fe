// SPDX-License-Identifier: Apache-2.0
// Machines made of tasks on several hosts, each with the devices of a machine of one task.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/machine/machine.h"

namespace lanescope {

struct ClusterTask {
  std::string job;
  int task = 0;
  std::string host;

  std::string name() const { return "/job:" + job + "/task:" + std::to_string(task); }
};

// "ps=node1:1,worker=node1:2,node2:2": jobs, each with its hosts and how many tasks run there, one where
// nothing is said. Jobs may also be separated by ';', and HOST:PORT, as TensorFlow writes addresses, is one
// task: numbers from 1024 on are ports, which nobody listens on here. In the order of the text. Throws
// InvalidArgument naming the part, AlreadyExists for a job that stands twice.
std::vector<ClusterTask> ParseClusterTasks(std::string_view text);

// Task t has the devices, links and buses of `each[t]`, and a link joins the hosts of every two tasks: of
// 8 GB/s and 60 us within a computer, of 1 GB/s and 200 us (10 Gbit/s Ethernet) between two, each of which
// has an interface of 1 GB/s. Throws InvalidArgument where one of them has several tasks or a network of its
// own.
Machine MachineOfTasks(const std::vector<Machine>& each, const std::vector<ClusterTask>& tasks);
// A machine with the same devices in every task.
Machine MachineOfTasks(const Machine& each, const std::vector<ClusterTask>& tasks);

// Whether the two may name one computer, as one of them is a part of the other ("node1", "node1.site.org"),
// an address, or "localhost".
bool MayBeOneHost(std::string_view a, std::string_view b);

}  // namespace lanescope
