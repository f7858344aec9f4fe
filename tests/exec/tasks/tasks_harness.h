// SPDX-License-Identifier: Apache-2.0
// A job whose processes are threads: each has a session of its own, and plays one task of the machine.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <thread>
#include <vector>

#include "core/base/error.h"
#include "core/machine/tasks.h"
#include "tests/exec/session_harness.h"
#include "tests/support/memory_transport.h"

namespace lanescope::exec::test {

// `tasks` tasks of a host and `gpus` virtual GPUs each. Links are too fast to be noticed, or so fast.
inline Machine MachineOfTasks(int tasks, int gpus, double bandwidth = 1e12, int64_t latency_ns = 0) {
  Machine machine;
  std::vector<DeviceId> hosts;
  const auto link = [&](DeviceId a, DeviceId b) {
    LinkSpec made;
    made.a = a;
    made.b = b;
    made.bandwidth = bandwidth;
    made.latency_ns = latency_ns;
    machine.links.push_back(made);
  };
  const auto add = [&](int task, const char* type, int number, DeviceKind kind) {
    DeviceSpec device;
    device.name = fmt::format("/job:worker/replica:0/task:{}/device:{}:{}", task, type, number);
    ParseDeviceName(device.name, &device.parsed);
    device.kind = kind;
    device.memory_bytes = int64_t{1} << 30;
    return machine.devices.Add(device);
  };
  for (int task = 0; task < tasks; ++task) {
    const DeviceId host = add(task, "CPU", 0, DeviceKind::kHost);
    for (const DeviceId other : hosts) link(other, host);
    hosts.push_back(host);
    std::vector<DeviceId> near{host};
    for (int gpu = 0; gpu < gpus; ++gpu) {
      const DeviceId device = add(task, "GPU", gpu, DeviceKind::kVirtual);
      for (const DeviceId other : near) link(other, device);
      near.push_back(device);
    }
  }
  return machine;
}

// Calls `play(transport)` once for every task, at the same time. Throws the first error that one throws.
// `most_bytes`: of a message.
inline void PlayTasks(int tasks, const std::function<void(Transport*)>& play,
                      int64_t most_bytes = INT64_MAX) {
  lanescope::test::MessageBoard board(tasks);
  std::vector<std::thread> threads;
  std::vector<std::exception_ptr> errors(static_cast<size_t>(tasks));
  for (int task = 0; task < tasks; ++task) {
    threads.emplace_back([&, task] {
      lanescope::test::MemoryTransport transport(&board, task, INT_MAX, most_bytes);
      try {
        play(&transport);
      } catch (...) {
        errors[static_cast<size_t>(task)] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

// The first task's fetches of some steps.
inline std::vector<Tensor> FetchesOfTasks(const Machine& machine,
                                          const std::function<std::vector<Tensor>(const JobOptions&)>& run,
                                          int64_t most_bytes = INT64_MAX) {
  std::vector<Tensor> fetched;
  const auto play = [&](Transport* transport) {
    std::vector<Tensor> own = run({transport, {}});
    if (transport->rank() == 0) {
      fetched = std::move(own);
    } else {
      EXPECT_TRUE(own.empty());
    }
  };
  PlayTasks(TasksOf(machine).size(), play, most_bytes);
  return fetched;
}

inline void ExpectSame(const std::vector<Tensor>& expected, const std::vector<Tensor>& found,
                       const std::string& what) {
  ASSERT_EQ(expected.size(), found.size()) << what;
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_TRUE(BitwiseEqual(expected[i], found[i])) << what << ", fetch " << i;
}

}  // namespace lanescope::exec::test
