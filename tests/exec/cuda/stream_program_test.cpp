// SPDX-License-Identifier: Apache-2.0
// Promises of a program of streams between its commands, on the stub's streams.
#include "exec/stream/stream_program.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <thread>

#include "exec/device/backends.h"
#include "tests/exec/cuda/stub_harness.h"

namespace lanescope::exec::test {
namespace {

// Command 0 is a host kernel that waits for command 1 to be issued, a while at most.
class WaitingRunner : public CommandRunner {
 public:
  void Compute(CommandId command) override {
    if (command == CommandId(1)) issued_.set_value();
    if (command != CommandId(0)) return;
    entered_.set_value();
    waited_in_vain = issued_.get_future().wait_for(std::chrono::seconds(5)) != std::future_status::ready;
  }
  CopyOperands PrepareCopy(CommandId) override { return {}; }
  JointOperands PreparePart(CommandId) override { return {}; }
  std::string Describe(CommandId) const override { return "a command"; }
  void AwaitHostKernel() { entered_.get_future().wait(); }
  bool waited_in_vain = false;

 private:
  std::promise<void> entered_, issued_;
};

// A host kernel on one GPU's queue that waits for what another GPU's queue has yet to issue gets it, even if
// that is a segment, which nothing else may be issued beside.
TEST(StreamProgram, AHostKernelThatWaitsHoldsNobodyUp) {
  StubGuard stub;
  const Machine machine = GpuMachine({0, 1});
  const auto devices = MakeDevices(machine, {});
  IdVector<DeviceId, StreamDevice*> with_streams;
  for (const auto& device : devices) with_streams.Add(device->streams());
  Schedule schedule;
  schedule.queues = {{Gpu(machine, 0), QueueKind::kCompute, true, "waiting"},
                     {Gpu(machine, 1), QueueKind::kCompute, true, "waited for"}};
  schedule.commands.resize(4);
  for (const CommandId c : schedule.commands.ids()) {
    schedule.commands[c].queue = QueueId(c == CommandId(0) ? 0 : 1);
    schedule.commands[c].rank = c.number();
  }
  schedule.successors.first.assign(5, 0);
  schedule.num_predecessors.assign(4, 0);
  IdVector<CommandId, StreamCommand> commands(4, {StreamRole::kKernel, false, true, false});
  commands[CommandId(0)] = {StreamRole::kOnHost, true, false, false};
  WaitingRunner runner;
  StreamProgram program(schedule, with_streams, commands, &runner, true);
  ASSERT_GE(program.plan().Segment(CommandId(1)), 0);
  program.BeginStep({}, false);
  std::thread waiting([&] {
    program.Settle(CommandId(0));
    program.Run(CommandId(0));
  });
  runner.AwaitHostKernel();
  program.Run(CommandId(1));
  waiting.join();
  program.Drain();
  EXPECT_FALSE(runner.waited_in_vain);
}

}  // namespace
}  // namespace lanescope::exec::test
