// SPDX-License-Identifier: Apache-2.0
// Device functions of training with parameter servers: variables go to the servers, all else to the workers,
// as TensorFlow's replica_device_setter says.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "graphs/cluster_spec.h"
#include "graphs/scope.h"

namespace lanescope::graphs {

// The server task of the next variable. Called once for each, in the order of their making.
using ServerStrategy = std::function<int(const Node& variable)>;
// 0, 1, ... tasks - 1, 0, ...
ServerStrategy RoundRobinServers(int tasks);
// The task with the smallest load; the variable's load, by default its bytes, is added to it.
ServerStrategy GreedyServers(int tasks, std::function<int64_t(const Node&)> load = nullptr);
// By the variable's name and the seed.
ServerStrategy RandomServers(int tasks, int64_t seed = 0);

// The bytes of a variable, by the shape and type of its node. Throws InvalidArgument where that is not known.
int64_t VariableBytes(const Node& variable);

struct ReplicaDeviceOptions {
  int ps_tasks = 0;
  // Where it has jobs, the servers are as many as its job that `ps_device` names has tasks; none without one.
  ClusterSpec cluster = {};
  std::string ps_device = "/job:ps";
  std::string worker_device = "/job:worker";
  // Fields that a node has already stay; without, such nodes are left alone.
  bool merge_devices = true;
  // The ops that count as variables; empty: those of variables and tables.
  std::vector<std::string> ps_ops = {};
  ServerStrategy ps_strategy = nullptr;  // null: RoundRobinServers
};

// For Scope::Device. Empty without servers. Throws InvalidArgument for device names that are none.
DeviceFunction ReplicaDevices(const ReplicaDeviceOptions& options);

}  // namespace lanescope::graphs
