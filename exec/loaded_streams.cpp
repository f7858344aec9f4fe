// The part of a loaded schedule that runs on streams: which commands those are, and in what way.
#include <algorithm>

#include "core/error.h"
#include "exec/cuda/stream_program.h"
#include "exec/loaded_schedule.h"

namespace lanescope::exec {

// What the program of streams asks for.
class LoadedSchedule::Runner : public cuda::CommandRunner {
 public:
  explicit Runner(LoadedSchedule* loaded) : loaded_(*loaded) {}
  void Compute(int command) override { loaded_.Compute(command); }
  cuda::CopyOperands PrepareCopy(int command) override { return loaded_.PrepareCopy(command); }
  std::string Describe(int command) const override { return loaded_.Describe(command); }

 private:
  LoadedSchedule& loaded_;
};

LoadedSchedule::~LoadedSchedule() = default;

const IssuePlan& LoadedSchedule::plan() const { return program_ != nullptr ? program_->plan() : plan_; }

Device& LoadedSchedule::QueueDevice(int command) const {
  const int queue = schedule_->commands[static_cast<size_t>(command)].queue;
  return *devices_[static_cast<size_t>(schedule_->queues[static_cast<size_t>(queue)].device)];
}

// Handles have no memory of their own; what they stand for is not looked at here.
bool LoadedSchedule::InHostMemory(int value) const {
  if (value < 0) return true;
  const Value& root = schedule_->RootValue(value);
  return root.storage == Storage::kResource || root.device == host_;
}

cuda::StreamRole LoadedSchedule::RoleOf(int number) const {
  using cuda::StreamRole;
  if (QueueDevice(number).AsCuda() == nullptr) return StreamRole::kNone;
  const Command& command = schedule_->commands[static_cast<size_t>(number)];
  switch (command.kind) {
    case CommandKind::kRecord:
      return StreamRole::kRecord;
    case CommandKind::kWait:
      return StreamRole::kWait;
    case CommandKind::kCopy:
      return StreamRole::kCopy;
    case CommandKind::kLaunch:
      break;
  }
  if (graph_.node(command.node).op == "NoOp") return StreamRole::kNothing;
  const auto on_host = [&](int value) { return InHostMemory(value); };
  const auto inputs = schedule_->Inputs(command), outputs = schedule_->Outputs(command);
  // TensorFlow serves int32 and shapes on GPUs in the same way.
  const bool host = std::all_of(inputs.begin(), inputs.end(), on_host) &&
                    std::all_of(outputs.begin(), outputs.end(), on_host);
  return host ? StreamRole::kOnHost : StreamRole::kKernel;
}

const KernelRegistry& LoadedSchedule::KernelsFor(int command) const {
  return RoleOf(command) == cuda::StreamRole::kKernel ? QueueDevice(command).kernels()
                                                      : KernelRegistry::Host();
}

cuda::StreamCommand LoadedSchedule::StreamCommandOf(int number) const {
  using cuda::StreamRole;
  const Command& command = schedule_->commands[static_cast<size_t>(number)];
  const LoadedCommand& loaded = commands_[static_cast<size_t>(number)];
  cuda::StreamCommand stream;
  stream.role = RoleOf(number);
  if (stream.role == StreamRole::kNone) return stream;
  if (stream.role == StreamRole::kOnHost) {
    stream.settle_first = true;
  } else if (stream.role == StreamRole::kKernel) {
    // What the host reads or writes in the course of issuing: constants never change.
    const auto live = [&](int value) {
      return value >= 0 && InHostMemory(value) && schedule_->RootValue(value).storage != Storage::kConstant &&
             schedule_->RootValue(value).storage != Storage::kResource;
    };
    const auto inputs = schedule_->Inputs(command), outputs = schedule_->Outputs(command);
    stream.settle_first =
        std::any_of(inputs.begin(), inputs.end(), live) || std::any_of(outputs.begin(), outputs.end(), live);
    stream.recordable = !stream.settle_first && !loaded.dynamic && loaded.kernel->replayable();
  } else if (stream.role == StreamRole::kCopy) {
    stream.feed = schedule_->RootValue(schedule_->Inputs(command)[0]).storage == Storage::kFeed;
    stream.recordable = !loaded.dynamic;
  } else {
    stream.recordable = true;
  }
  return stream;
}

void LoadedSchedule::LoadStreams(bool cuda_graphs) {
  std::vector<cuda::CudaDevice*> gpus;
  for (const auto& device : devices_) gpus.push_back(device != nullptr ? device->AsCuda() : nullptr);
  std::vector<cuda::StreamCommand> stream_commands;
  bool any = false;
  for (size_t c = 0; c < commands_.size(); ++c) {
    stream_commands.push_back(StreamCommandOf(static_cast<int>(c)));
    any |= stream_commands.back().role != cuda::StreamRole::kNone;
  }
  if (any) {
    runner_ = std::make_unique<Runner>(this);
    program_ = std::make_unique<cuda::StreamProgram>(*schedule_, gpus, std::move(stream_commands),
                                                     runner_.get(), cuda_graphs);
  } else {
    plan_ = PlanByQueue(*schedule_);
  }
}

}  // namespace lanescope::exec
