// SPDX-License-Identifier: Apache-2.0
// Issues the commands of a schedule's stream queues: events between streams, segments recorded as graphs, and
// when each command ran.
//
// Invariants. A command is issued after all its host predecessors are complete and all its stream
// predecessors are issued; the streams and their events order it behind the latter. A command that reads or
// writes host memory itself (StreamCommand::settle_first, role kOnHost) waits until its stream is empty; a
// command of a host queue waits for the events of its stream predecessors. Segments begin after everything
// issued before them, on any stream, and everything issued after them begins after their end; so a Wait
// works only between two single commands or inside one segment, and is nothing otherwise. While a segment is
// captured no other thread issues anything (issue_mutex_); while a host kernel runs nobody holds that mutex.
// The parts of a joint launch (exec/device/joint_driver.h) are one unit, and nothing else is issued between
// them, by other programs neither (JointDriver::issue_mutex): each waits on its device for the others, so a
// command between two of them that one waits for and that is behind the other would never run.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/record/launch_observer.h"
#include "core/record/recorder.h"
#include "core/schedule/issue_plan.h"
#include "core/schedule/schedule.h"
#include "exec/device/joint_driver.h"
#include "exec/device/stream_device.h"

namespace lanescope::exec {

enum class StreamRole : uint8_t {
  kNone,     // a command of a host queue
  kOnHost,   // on a stream's queue, but all operands are in host memory: a host kernel runs it
  kKernel,   // a kernel of the device
  kCopy,     // an asynchronous copy
  kJoint,    // a part of a joint launch
  kNothing,  // orders others; nothing runs
  kRecord,
  kWait,
};

struct StreamCommand {
  StreamRole role = StreamRole::kNone;
  bool settle_first = false;  // everything before it on its stream must be complete when it is issued
  bool recordable = false;    // may be part of a segment
  bool feed = false;          // kCopy: the source is the caller's tensor, another one every step
};

struct CopyOperands {
  void* to = nullptr;
  const void* from = nullptr;
  int64_t bytes = 0;
};

struct JointOperands {
  const void* input = nullptr;
  void* output = nullptr;
  int64_t elements = 0;
};

struct JointLaunch {
  JointOperation operation;
  std::vector<CommandId> parts;  // by rank; of several processes: in the order of their devices
  // The group of processes that issues all parts (StreamProgram::Join), whose parts these are; null for
  // one process' own.
  JointGroup* group = nullptr;
  bool is_of_several = false;
};

// The program's questions to the schedule's owner. Calls for one command come from one thread at a time.
class CommandRunner {
 public:
  virtual ~CommandRunner() = default;
  // Runs the kernel: on the host, or enqueuing on its device's compute stream.
  virtual void Compute(CommandId command) = 0;
  virtual CopyOperands PrepareCopy(CommandId command) = 0;
  // Prepares a part of a joint launch.
  virtual JointOperands PreparePart(CommandId command) = 0;
  // "node 'c' (MatMul) on GPU:0"
  virtual std::string Describe(CommandId command) const = 0;
};

// Which run of which schedule a step is, for whoever records it.
struct StepIdentity {
  int schedule = 0;
  int step = 0;
  bool recorded = false;  // else the numbers say nothing
};

// Run, Await and MayBegin are called by the drivers of issue queues, the rest by the thread that runs the
// step, while no driver runs.
class StreamProgram {
 public:
  static constexpr int kMinSegment = 3;

  // `devices`: null for those of host memory; all of one backend. They, the schedule and `runner`
  // must outlive the program. `graphs`: segments are recorded, where the backend can. `phase`: of one task's
  // share (PlanForStreams). Throws FailedPrecondition where joint launches cannot run.
  StreamProgram(const Schedule& schedule, const IdVector<DeviceId, StreamDevice*>& devices,
                IdVector<CommandId, StreamCommand> commands, CommandRunner* runner, bool graphs,
                std::vector<JointLaunch> joint = {}, const IdVector<CommandId, int>& phase = {});
  ~StreamProgram();
  StreamProgram(const StreamProgram&) = delete;
  StreamProgram& operator=(const StreamProgram&) = delete;

  const IssuePlan& plan() const { return plan_; }
  bool IsStreamCommand(CommandId command) const { return At(command).spec.role != StreamRole::kNone; }
  bool IsOnHost(CommandId command) const { return At(command).spec.role == StreamRole::kOnHost; }

  // `timed`: note when each command runs: by pairs of events, or by telling the observer whose work it is.
  // Else nothing is issued for that.
  void BeginStep(const StepIdentity& identity, bool timed);
  // Before the first step: what the parts of this launch, which is of several processes, are issued by. It
  // must outlive the program.
  void Join(CommandId part, JointGroup* group);
  // Whether the launch of this part has run in this step.
  bool IsJointThrough(CommandId part);
  // Before a command with role kOnHost is run: returns when all that comes before it on its stream is
  // complete. Errors name the command.
  void Settle(CommandId command);
  // Issues a unit of the plan. Errors name the command.
  void Run(CommandId unit);
  // Returns when the stream predecessors of a command that runs on the host are complete.
  void Await(CommandId command);
  // Whether they are, without waiting for them.
  bool MayBegin(CommandId command);
  // Returns when all streams are empty. Throws the first error of a device, after trying all of them.
  // `cancelled`: what waits in a joint launch for what never comes is ended after a while.
  void Drain(bool cancelled = false);
  // Called now and then while the step runs, by one thread: throws what its joint launches failed with, after
  // ending them all. `cancelled`: for so long that what still waits in them has to end.
  void WatchJointLaunches(bool cancelled);
  // The times of the step's commands, after Drain.
  void Publish(EventRing* ring) const;

  // Operands have moved: what was recorded is void.
  void Forget();
  void SetObserver(LaunchObserver* observer);
  // Why graphs are not used although they were asked for; empty: they are.
  const std::string& graph_problem() const { return graph_problem_; }
  // Nodes of the recorded graphs and the command of each.
  const std::vector<std::pair<const void*, CommandId>>& graph_nodes() const { return graph_nodes_; }

 private:
  struct Stream {  // a stream that the schedule uses
    StreamHandle handle = nullptr;
    StreamDevice* device = nullptr;
    EventHandle join = nullptr;
    std::atomic<bool> dirty{false};  // something was issued that no segment waits for yet
  };
  struct Command {
    StreamCommand spec;
    Stream* stream = nullptr;
    EventHandle event = nullptr;  // kRecord: its own; others: for host successors, where they have any
    EventHandle start = nullptr, end = nullptr;  // timed; made when first needed
    void* staging = nullptr;                     // of a feed, pinned
    int64_t bytes = 0;                           // moved in this step
    bool issued = false;                         // in this step, with times
  };
  struct Segment {
    EventHandle done = nullptr;
    GraphHandle graphs[2] = {};  // without and with the events that time commands
    bool ran = false;
    std::vector<Stream*> streams;
  };
  // One a physical device, so that its parts are timed from one moment.
  struct DeviceClock {
    StreamDevice* device = nullptr;  // the part whose compute stream tells the time
    EventHandle base = nullptr;
    int64_t base_ns = 0;
  };

  // Holds nothing yet. The public one goes on from it, so what that holds when it throws is given back.
  StreamProgram(const Schedule& schedule, const IdVector<DeviceId, StreamDevice*>& devices,
                CommandRunner* runner, std::vector<JointLaunch> joint);

  Command& At(CommandId command) { return commands_[command]; }
  EventHandle EventAfter(CommandId command) const;
  const Command& At(CommandId command) const { return commands_[command]; }
  Stream* StreamOf(StreamDevice* device, QueueKind kind);
  void MakeStreams(const IdVector<DeviceId, StreamDevice*>& devices);
  void MakeEvents();
  void MakeSegments();
  void RunSingle(CommandId command);
  std::vector<StreamDevice*> DevicesOf(const JointLaunch& launch) const;
  void PrepareJointLaunches();
  void RunJoint(int joint);
  void IssueJoint(const JointLaunch& launch, int64_t elements, const std::vector<JointPart>& parts);
  std::optional<Error> ProblemOf(const JointLaunch& launch) const;
  void DrainJoint(bool cancelled);
  void AbortJoint() noexcept;
  bool IsEmpty(const Stream& stream);
  [[noreturn]] static void RethrowOf(const Stream& stream);
  // While others' joint launches may be issued: not now. Nothing where there are none.
  std::shared_lock<std::shared_mutex> BetweenJointLaunches();
  void IssueSingle(CommandId command);
  void RunSegment(int segment);
  GraphHandle RecordSegment(int segment);
  void IssueSegment(int segment, bool capture);
  void Issue(CommandId command, bool capture);
  void IssueWork(CommandId command, bool capture);
  int Ordinal(DeviceId device) const;
  void StageFeed(CommandId command);
  void MarkTime(CommandId command, EventHandle Command::*event, bool capture);
  void NoteNodes(CommandId command, size_t* known);
  [[noreturn]] void Rethrow(CommandId command) const;

  const Schedule& schedule_;
  IdVector<DeviceId, StreamDevice*> devices_;
  CommandRunner* runner_;
  StreamDriver* driver_ = nullptr;
  GraphCapture* capture_ = nullptr;  // null: nothing is recorded
  IssuePlan plan_;
  IdVector<CommandId, Command> commands_;
  std::vector<std::unique_ptr<Stream>> streams_;
  Stream* origin_ = nullptr;  // where segments begin and end
  std::vector<Segment> segments_;
  IdVector<CommandId, std::vector<CommandId>> awaited_;  // stream predecessors that the host waits for
  std::vector<DeviceClock> clocks_;
  std::vector<std::pair<const void*, CommandId>> graph_nodes_;
  std::unordered_set<const void*> seen_nodes_;
  std::shared_mutex issue_mutex_;
  std::vector<JointLaunch> joint_;
  std::unique_ptr<std::atomic<bool>[]> joint_done_;  // by launch: issued in this step
  JointDriver* joint_driver_ = nullptr;              // of the devices; null: they have none
  std::atomic<bool> joint_issued_{false};            // in this step
  std::atomic<bool> joint_aborted_{false};           // in this step
  LaunchObserver* observer_ = nullptr;
  StepIdentity identity_;
  bool timed_ = false;              // by pairs of events, in this step
  LaunchObserver* told_ = nullptr;  // the observer, in a step that it times; else null
  std::string graph_problem_;
};

}  // namespace lanescope::exec
