// SPDX-License-Identifier: Apache-2.0
#include "graphs/replica_devices.h"

#include <algorithm>
#include <memory>

#include "core/base/error.h"
#include "graphs/md5.h"

namespace lanescope::graphs {
namespace {

const std::vector<std::string>& VariableOps() {
  static const auto* const ops = new std::vector<std::string>{"Variable",
                                                              "VariableV2",
                                                              "AutoReloadVariable",
                                                              "MutableHashTable",
                                                              "MutableHashTableV2",
                                                              "MutableHashTableOfTensors",
                                                              "MutableHashTableOfTensorsV2",
                                                              "MutableDenseHashTable",
                                                              "MutableDenseHashTableV2",
                                                              "VarHandleOp",
                                                              "BoostedTreesEnsembleResourceHandleOp",
                                                              "BoostedTreesQuantileStreamResourceHandleOp",
                                                              "ResourceConditionalAccumulator",
                                                              "DecisionTreeResource"};
  return *ops;
}

void CheckTasks(int tasks) {
  if (tasks < 1) Throw(Code::kInvalidArgument, "variables want 1 or more server tasks, not {}", tasks);
}

}  // namespace

ServerStrategy RoundRobinServers(int tasks) {
  CheckTasks(tasks);
  return [tasks, next = std::make_shared<int>(0)](const Node&) {
    const int task = *next;
    *next = (task + 1) % tasks;
    return task;
  };
}

ServerStrategy GreedyServers(int tasks, std::function<int64_t(const Node&)> load) {
  CheckTasks(tasks);
  if (load == nullptr) load = VariableBytes;
  auto loads = std::make_shared<std::vector<int64_t>>(static_cast<size_t>(tasks), 0);
  return [load = std::move(load), loads](const Node& variable) {
    const auto least = std::ranges::min_element(*loads);
    const int task = static_cast<int>(least - loads->begin());
    *least += load(variable);
    return task;
  };
}

// The name's digest as one large number, modulo the tasks.
ServerStrategy RandomServers(int tasks, int64_t seed) {
  CheckTasks(tasks);
  return [tasks, seed](const Node& variable) {
    int remainder = 0;
    for (const uint8_t byte : Md5(variable.name + "_" + std::to_string(seed))) {
      remainder = static_cast<int>((int64_t{remainder} * 256 + byte) % tasks);
    }
    return remainder;
  };
}

int64_t VariableBytes(const Node& variable) {
  const lanescope::Shape& shape = variable.GetShapeAttr("shape");
  if (!shape.IsExact()) {
    Throw(Code::kInvalidArgument, "'{}' has shape {}; its bytes are not known", variable.name,
          shape.ToString());
  }
  return shape.NumElements() * static_cast<int64_t>(ElementSize(variable.TypeAttr("dtype")));
}

DeviceFunction ReplicaDevices(const ReplicaDeviceOptions& options) {
  const DeviceSpec server = DeviceSpec::Parse(options.ps_device);
  int tasks = options.ps_tasks;
  if (options.cluster) {
    const std::vector<std::string> jobs = options.cluster.jobs();
    const bool has_servers = server.job && std::ranges::find(jobs, *server.job) != jobs.end();
    tasks = has_servers ? options.cluster.num_tasks(*server.job) : 0;
  }
  if (tasks == 0) return nullptr;
  const DeviceSpec worker = DeviceSpec::Parse(options.worker_device);
  const ServerStrategy strategy =
      options.ps_strategy != nullptr ? options.ps_strategy : RoundRobinServers(tasks);
  return [server, worker, strategy, merge = options.merge_devices,
          ps_ops = options.ps_ops.empty() ? VariableOps() : options.ps_ops](const Node& node) -> std::string {
    if (!merge && !node.device.empty()) return node.device;
    const DeviceSpec own = DeviceSpec::Parse(node.device);
    if (std::ranges::find(ps_ops, node.op) == ps_ops.end()) return worker.MergedWith(own).ToString();
    DeviceSpec device = server;
    if (server.job && (!own.job || *own.job == *server.job)) device.task = strategy(node);
    return device.MergedWith(own).ToString();
  };
}

}  // namespace lanescope::graphs
