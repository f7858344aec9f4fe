// SPDX-License-Identifier: Apache-2.0
// A process whose devices others use (exec/calls/remote_tasks.h): parameter servers, and whatever else a
// graph places there.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/protocol.h"
#include "core/machine/machine.h"
#include "exec/device/device_options.h"
#include "exec/messages/transport.h"

namespace lanescope::exec {

struct TaskServerOptions {
  Transport* transport = nullptr;  // must outlive the server; its rank is the task
  std::vector<int> clients;        // ranks
  DeviceOptions devices = {};
  int64_t protocol = kJobProtocol;  // of this program; clients of another one are refused
};

// Every client has sessions of its own here, which share devices, variables, queues and all else that has a
// name: as long as the server lives, or until a client empties their container. Steps of all clients run at
// the same time; nothing orders their accesses. A step whose client stops it, or is lost, is given up, and
// what it waited for has taken nothing.
class TaskServer {
 public:
  // Makes the devices of its task. `machine` is what clients must have, too.
  TaskServer(const Machine& machine, const TaskServerOptions& options);
  // Ends what runs.
  ~TaskServer();
  TaskServer(const TaskServer&) = delete;
  TaskServer& operator=(const TaskServer&) = delete;

  // Until every client has left or is lost. `check` is called again and again; what it throws ends the
  // serving, and clients that are still there get to know.
  void Serve(const std::function<void()>& check = nullptr);
  // The client is gone: nothing is sent to it, its steps end. From any thread.
  void Lose(int client);

  struct ClientReport {
    int client = 0;
    int64_t sessions = 0, steps = 0, failed_steps = 0;
    std::vector<std::string> emptied;  // containers, as often as it asked for it
    bool lost = false;
  };
  std::vector<ClientReport> Report() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lanescope::exec
