// SPDX-License-Identifier: Apache-2.0
// Parameter servers and their clients as threads of a test.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/machine/tasks.h"
#include "core/place/placer.h"
#include "exec/calls/remote_tasks.h"
#include "exec/serve/task_server.h"
#include "tests/exec/session_harness.h"
#include "tests/support/memory_transport.h"

namespace lanescope::exec::test {

// /job:ps with `ps` tasks, then /job:worker with `workers`: a host and `gpus` virtual GPUs each, and links
// that are too fast to be noticed.
inline Machine MachineOfJobs(int ps, int workers, int gpus = 0) {
  Machine machine;
  std::vector<DeviceId> hosts;
  const auto link = [&](DeviceId a, DeviceId b) {
    LinkSpec made;
    made.a = a;
    made.b = b;
    made.bandwidth = 1e12;
    machine.links.push_back(made);
  };
  const auto add = [&](const std::string& name, DeviceKind kind) {
    DeviceSpec device;
    device.name = name;
    ParseDeviceName(device.name, &device.parsed);
    device.kind = kind;
    device.memory_bytes = int64_t{1} << 30;
    return machine.devices.Add(device);
  };
  for (int task = 0; task < ps + workers; ++task) {
    const std::string prefix = task < ps ? fmt::format("/job:ps/replica:0/task:{}", task)
                                         : fmt::format("/job:worker/replica:0/task:{}", task - ps);
    const DeviceId host = add(prefix + "/device:CPU:0", DeviceKind::kHost);
    for (const DeviceId other : hosts) link(other, host);
    hosts.push_back(host);
    for (int gpu = 0; gpu < gpus; ++gpu)
      link(host, add(fmt::format("{}/device:GPU:{}", prefix, gpu), DeviceKind::kVirtual));
  }
  return machine;
}

// Its tasks that serve do so on threads of their own until all clients are gone.
class ServedMachine {
 public:
  ServedMachine(Machine machine, std::vector<int> servers)
      : machine_(std::move(machine)), servers_(std::move(servers)), board_(TasksOf(machine_).size()) {
    std::vector<int> clients;
    for (int task = 0; task < board_.size(); ++task) {
      transports_.push_back(std::make_unique<lanescope::test::MemoryTransport>(&board_, task));
      if (std::ranges::count(servers_, task) == 0) clients.push_back(task);
    }
    for (const int server : servers_) {
      tasks_.push_back(std::make_unique<TaskServer>(machine_, TaskServerOptions{transport(server), clients}));
      threads_.emplace_back([this, serving = tasks_.back().get()] {
        const auto error = ErrorOf([&] {
          serving->Serve([this] {
            if (ends_) Throw(Code::kCancelled, "told to end");
          });
        });
        EXPECT_EQ(error.has_value(), ends_.load());
      });
    }
  }
  // Clients must have left, or be about to.
  ~ServedMachine() {
    for (std::thread& thread : threads_) thread.join();
  }

  const Machine& machine() const { return machine_; }
  lanescope::test::MemoryTransport* transport(int task) {
    return transports_[static_cast<size_t>(task)].get();
  }
  const std::vector<int>& servers() const { return servers_; }
  lanescope::test::MessageBoard& board() { return board_; }
  TaskServer& server(size_t number) { return *tasks_[number]; }
  void End() { ends_ = true; }

 private:
  const Machine machine_;
  const std::vector<int> servers_;
  lanescope::test::MessageBoard board_;
  std::vector<std::unique_ptr<lanescope::test::MemoryTransport>> transports_;
  std::vector<std::unique_ptr<TaskServer>> tasks_;
  std::atomic<bool> ends_{false};
  std::vector<std::thread> threads_;
};

// One of the tasks that run graphs.
struct Client {
  Client(ServedMachine* served, int own, int64_t protocol = kJobProtocol)
      : tasks(served->transport(own), served->servers(), protocol), machine(served->machine()), task(own) {}

  SessionOptions options() {
    SessionOptions options;
    options.job.transport = &tasks.transport();
    options.job.client = task;
    options.job.servers = &tasks;
    return options;
  }

  RemoteTasks tasks;
  const Machine& machine;
  const int task;
};

// Where its nodes' devices say.
inline Placement PlaceAsSaid(const Graph& graph, const Machine& machine) {
  Placement placement;
  for (const Node& node : graph.nodes()) {
    const DeviceId device = machine.FindDevice(node.device);
    placement.device.Add(device.exists() ? device : machine.host());
  }
  return placement;
}

// A graph of a client, its placement and its session.
struct ClientSession {
  ClientSession(Client* client, Graph built)
      : graph(std::move(built)),
        placement(PlaceAsSaid(graph, client->machine)),
        session(graph, placement, client->machine, client->options()) {}

  void Do(const std::string& target, int64_t timeout_ns = 0) {
    session.Run({{}, {}, {target}}, {timeout_ns});
  }
  float Get(const std::string& fetch, int64_t timeout_ns = 0) {
    const Tensor value = session.Run({{}, {fetch}, {}}, {timeout_ns}).fetches.at(0);
    return value.data<float>()[0];
  }

  Graph graph;
  Placement placement;
  Session session;
};

}  // namespace lanescope::exec::test
