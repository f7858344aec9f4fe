// A schedule made ready to run on the devices of a session: kernels, memory, and the operands of every
// command.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/dispatch.h"
#include "core/graph.h"
#include "core/schedule.h"
#include "exec/device.h"
#include "exec/issue_plan.h"
#include "exec/kernel.h"

namespace lanescope::exec {

namespace cuda {
class CommandRunner;
enum class StreamRole : uint8_t;
struct CopyOperands;
struct StreamCommand;
class StreamProgram;
}  // namespace cuda

// What lives in a session from step to step. Kernels reach it through their context; the schedule's edges
// order the accesses.
struct SessionState {
  struct VariableMemory {
    Variable variable;
    int device = 0;
  };
  std::map<int, VariableMemory> variables;             // by node id
  std::map<int, std::unique_ptr<Resource>> resources;  // by node id; guarded by mutex
  std::map<int, uint64_t> random_counters;             // by node id; entries made when a schedule is loaded
  uint64_t seed = kDefaultSessionSeed;                 // of random ops without seeds of their own
  std::mutex mutex;
};

class LaunchContext : public KernelContext {
 public:
  Resource& FindOrCreateResource(int input,
                                 const std::function<std::unique_ptr<Resource>()>& create) override;
  uint64_t& random_counter() override { return *random_counter_; }

 private:
  friend class LoadedSchedule;
  SessionState* state_ = nullptr;
  int node_ = -1;
  std::vector<int> handles_;  // by input: the node id of the resource behind it, -1 none
  uint64_t* random_counter_ = nullptr;
};

// One command ready to run. For a copy, input 0 and output 0 of the context are source and destination.
struct LoadedCommand {
  std::unique_ptr<Kernel> kernel;
  LaunchContext context;
  std::optional<Route> route;  // copies between devices
  bool dynamic = false;        // some operand's shape is known only at run time
  std::vector<std::pair<const Variable*, const std::string*>> must_be_initialized;
};

// Not thread-safe, except that RunCommand may be called for different commands at the same time while a step
// runs.
class LoadedSchedule {
 public:
  // Makes kernels and variables. Throws Unimplemented listing all ops that lack a kernel, with their counts.
  // `cuda_graphs`: whether static parts on GPUs are recorded and replayed.
  LoadedSchedule(const Graph& graph, const Machine& machine, std::shared_ptr<const Schedule> schedule,
                 const std::vector<std::unique_ptr<Device>>& devices, SessionState* state,
                 bool cuda_graphs = true);
  ~LoadedSchedule();

  const Schedule& schedule() const { return *schedule_; }
  // What the executor's threads hand out. RunCommand takes its units.
  const IssuePlan& plan() const;
  // The part of the schedule that runs on streams; null where nothing does.
  cuda::StreamProgram* program() { return program_.get(); }
  // Points every operand into the arenas (by device). Called after loading and whenever an arena has moved.
  void Bind(const std::vector<std::byte*>& arenas);
  int64_t bound_generation = -1;

  // Points the feed operands at the tensors of the next step, in the order of the schedule's feeds.
  void SetFeeds(const std::vector<Tensor>& feeds);
  // Runs a command of a host lane, or issues a unit to streams. Bytes moved by a copy, or 0; kNotTimed where
  // what was called did no work by itself. Throws what the kernel throws, with the node named.
  static constexpr int64_t kNotTimed = -1;
  int64_t RunCommand(int command, class Pacer* pacer, const std::atomic<bool>& cancelled);
  // "node 'c' (MatMul) on GPU:0", for messages.
  std::string Describe(int command) const;
  // A copy of a fetched value, after the step.
  Tensor Fetch(int index) const;

 private:
  TensorRef Locate(int value) const;
  int64_t RunOnHost(int command, class Pacer* pacer, const std::atomic<bool>& cancelled);
  class Runner;
  void CheckInitialized(const LoadedCommand& loaded) const;
  void TakeShapes(int command);
  void KeepShapes(int command);
  void Compute(int command);
  cuda::CopyOperands PrepareCopy(int command);
  Device& QueueDevice(int command) const;
  cuda::StreamRole RoleOf(int command) const;
  bool InHostMemory(int value) const;
  void LoadStreams(bool cuda_graphs);
  cuda::StreamCommand StreamCommandOf(int command) const;
  const KernelRegistry& KernelsFor(int command) const;
  void LoadLaunch(int command);
  void LoadCopy(int command, const Machine& machine);
  void LoadConstants();
  // Throws Unimplemented with all ops that have no kernel here.
  void RequireKernels() const;
  void RequireSizes() const;
  void AddVariables();

  const Graph& graph_;
  std::shared_ptr<const Schedule> schedule_;
  const std::vector<std::unique_ptr<Device>>& devices_;
  SessionState* state_;
  const int host_;  // device number
  std::vector<LoadedCommand> commands_;
  IssuePlan plan_;  // without streams
  std::unique_ptr<cuda::CommandRunner> runner_;
  std::unique_ptr<cuda::StreamProgram> program_;
  std::vector<std::byte*> arenas_;
  struct FreeOnDevice {
    Device* device;
    void operator()(void* memory) const { device->Free(memory); }
  };
  std::vector<void*> constants_;  // by value, null if not a constant
  std::vector<std::unique_ptr<void, FreeOnDevice>> constant_blocks_;
  std::map<int, std::vector<std::string>> strings_;  // by buffer
  std::vector<Tensor> feeds_;
  std::vector<Shape> shapes_;  // by value: the actual shape in the current step, for bounded ones
  struct FeedUse {
    int command;
    int input;
    int feed;
  };
  std::vector<FeedUse> feed_uses_;
};

}  // namespace lanescope::exec
