// SPDX-License-Identifier: Apache-2.0
// A schedule made ready to run on the devices of a session, and how each of its commands runs.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/schedule/issue_plan.h"
#include "core/schedule/schedule.h"
#include "exec/run/command_roles.h"
#include "exec/run/loaded_command.h"
#include "exec/run/message_progress.h"
#include "exec/run/schedule_loader.h"
#include "exec/run/step_operands.h"
#include "exec/stream/stream_program.h"

namespace lanescope::exec {

// The memory of a message to or from another task.
struct MessageMemory {
  TensorRef tensor;
  int64_t bytes = 0;  // of strings and of tensors whose shape is not known yet: 0
  bool is_dynamic = false;
  const Route* route = nullptr;
};

// Not thread-safe, except that RunCommand may be called for different commands at the same time while a step
// runs.
class LoadedSchedule : private CommandRunner {
 public:
  // Throws what LoadCommands throws. `record_graphs`: whether static parts on devices with streams are
  // recorded and replayed. `share`: of one task, which the schedule is; null: of no one's.
  LoadedSchedule(const Graph& graph, const Machine& machine, std::shared_ptr<const Schedule> schedule,
                 const IdVector<DeviceId, std::unique_ptr<Device>>& devices, SessionState* state,
                 bool record_graphs = true, const TaskShare* share = nullptr);

  const Schedule& schedule() const { return *schedule_; }
  // The units that the executor's threads hand out. RunCommand takes its units.
  const IssuePlan& plan() const { return program_ != nullptr ? program_->plan() : plan_; }
  // The part of the schedule that runs on streams; null where nothing does.
  StreamProgram* program() { return program_.get(); }
  // Connects a task's share to `transport`, which must outlive it. `emulated`: the machine whose
  // links the messages take the time of; null: those of the transport. `connections`: of GPUs; may be null.
  void Connect(std::shared_ptr<const TaskShare> share, Transport* transport, const Machine* emulated,
               const PeerConnections* connections);
  // Null where it has not been connected.
  MessageProgress* messages() { return messages_.get(); }
  // The issue queue of their ends; -1: none.
  int messages_queue() const { return messages_queue_; }
  // Whether all that streams do before a command that runs on the host is complete.
  bool MayBegin(CommandId command) { return program_ == nullptr || program_->MayBegin(command); }
  // Whether the launch of this part of a joint launch has run in this step.
  bool IsJointThrough(CommandId part) { return program_->IsJointThrough(part); }
  // Memory of a copy to (`sent`) or from another task that may begin. Throws FailedPrecondition for a
  // variable without a value.
  MessageMemory MemoryOfMessage(CommandId command, bool sent);
  // The tensor that comes has this shape. Throws DataLoss if its memory is too small for that.
  MessageMemory ShapeMessage(CommandId command, const Shape& shape);
  // "'dense/MatMul'"
  std::string DescribeMessage(CommandId command) const;

  // Points every operand into the arenas. Called after loading and whenever an arena has moved.
  void Bind(const IdVector<DeviceId, std::byte*>& arenas);
  int64_t bound_generation = -1;

  // Points the feed operands at the tensors of the next step, in the order of the schedule's feeds.
  void SetFeeds(const std::vector<Tensor>& feeds) { operands_.SetFeeds(feeds); }
  // Runs a command of a host queue, or issues a unit to streams. Bytes moved by a copy, or 0; kNotTimed where
  // what was called did no work by itself. Throws what the kernel throws, with the node named.
  static constexpr int64_t kNotTimed = -1;
  int64_t RunCommand(CommandId command, class Pacer* pacer, const std::atomic<bool>& cancelled);
  // Before it, of what the host runs: returns when the streams that it waits for are through. Throws what
  // these failed with, with the node named.
  void AwaitStreams(CommandId command);
  // The kernel of a launch that may have to wait, null for other commands; such a launch is run by Advance,
  // as WaitingKernel::Advance says.
  WaitingKernel* WaitingKernelOf(CommandId command) const { return commands_[command].waiting; }
  bool Advance(CommandId command, const std::function<void()>& resume);
  // A copy of a fetched value, after the step.
  Tensor Fetch(int index) const { return operands_.Fetch(index); }

 private:
  int64_t RunOnHost(CommandId command, class Pacer* pacer, const std::atomic<bool>& cancelled);
  void Compute(CommandId command) override;
  CopyOperands PrepareCopy(CommandId command) override;
  JointOperands PreparePart(CommandId command) override;
  std::vector<JointLaunch> JointLaunches() const;
  std::string Describe(CommandId command) const override;
  void LoadStreams(const IdVector<DeviceId, std::unique_ptr<Device>>& devices, bool record_graphs,
                   const TaskShare* share);

  const Graph& graph_;
  const std::shared_ptr<const Schedule> schedule_;
  const CommandRoles roles_;
  IdVector<CommandId, LoadedCommand> commands_;
  const ConstantMemory constants_;
  StepOperands operands_;
  IssuePlan plan_;  // without streams
  std::unique_ptr<StreamProgram> program_;
  std::unique_ptr<MessageProgress> messages_;
  int messages_queue_ = -1;
};

}  // namespace lanescope::exec
