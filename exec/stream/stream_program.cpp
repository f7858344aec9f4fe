// SPDX-License-Identifier: Apache-2.0
#include "exec/stream/stream_program.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>

#include "core/base/error.h"

namespace lanescope::exec {
namespace {

// By queue: its device's rank among the devices with streams, -1 for others.
IdVector<QueueId, int> StreamGroups(const Schedule& schedule,
                                    const IdVector<DeviceId, StreamDevice*>& devices) {
  IdVector<DeviceId, int> rank(devices.size(), -1);
  int next = 0;
  for (const Queue& queue : schedule.queues) {
    const DeviceId d = queue.device;
    if (devices[d] != nullptr && rank[d] < 0) rank[d] = next++;
  }
  IdVector<QueueId, int> groups;
  for (const Queue& queue : schedule.queues) groups.Add(rank[queue.device]);
  return groups;
}

}  // namespace

StreamProgram::StreamProgram(const Schedule& schedule, const IdVector<DeviceId, StreamDevice*>& devices,
                             CommandRunner* runner, std::vector<JointLaunch> joint)
    : schedule_(schedule),
      devices_(devices),
      runner_(runner),
      joint_(std::move(joint)),
      joint_done_(std::make_unique<std::atomic<bool>[]>(joint_.size())) {
  for (StreamDevice* device : devices) {
    if (device == nullptr) continue;
    driver_ = &device->driver();
    joint_driver_ = device->joint();
  }
  LANESCOPE_CHECK(driver_ != nullptr);
}

StreamProgram::StreamProgram(const Schedule& schedule, const IdVector<DeviceId, StreamDevice*>& devices,
                             IdVector<CommandId, StreamCommand> commands, CommandRunner* runner, bool graphs,
                             std::vector<JointLaunch> joint, const IdVector<CommandId, int>& phase)
    : StreamProgram(schedule, devices, runner, std::move(joint)) {
  commands_.resize(commands.size());
  capture_ = graphs ? driver_->capture() : nullptr;
  IdVector<CommandId, char> recordable;
  for (const CommandId c : commands.ids()) {
    commands_[c].spec = commands[c];
    recordable.Add(capture_ != nullptr && commands[c].recordable);
  }
  std::vector<std::vector<CommandId>> together;
  for (const JointLaunch& launch : joint_) together.push_back(launch.parts);
  plan_ = PlanForStreams(schedule, StreamGroups(schedule, devices), recordable, kMinSegment,
                         std::move(together), phase);
  MakeStreams(devices);
  PrepareJointLaunches();
  MakeEvents();
  MakeSegments();
}

StreamProgram::~StreamProgram() {
  Forget();
  const auto destroy = [&](EventHandle event) {
    if (event != nullptr) driver_->DestroyEvent(event);
  };
  for (Command& command : commands_) {
    for (const EventHandle event : {command.event, command.start, command.end}) destroy(event);
    if (command.staging != nullptr) driver_->FreeHost(command.staging);
  }
  for (const Segment& segment : segments_) destroy(segment.done);
  for (const auto& stream : streams_) destroy(stream->join);
  for (const DeviceClock& clock : clocks_) destroy(clock.base);
}

StreamProgram::Stream* StreamProgram::StreamOf(StreamDevice* device, QueueKind kind) {
  const StreamHandle handle = device->stream(kind);
  for (const auto& stream : streams_) {
    if (stream->handle == handle) return stream.get();
  }
  device->MakeCurrent();
  Stream& stream = *streams_.emplace_back(std::make_unique<Stream>());
  stream.handle = handle;
  stream.device = device;
  stream.join = driver_->CreateEvent(false);
  if (std::ranges::none_of(
          clocks_, [&](const DeviceClock& clock) { return clock.device->ordinal() == device->ordinal(); }))
    clocks_.emplace_back(DeviceClock{device, nullptr, 0}).base = driver_->CreateEvent(true);
  return &stream;
}

void StreamProgram::MakeStreams(const IdVector<DeviceId, StreamDevice*>& devices) {
  for (const CommandId c : commands_.ids()) {
    if (commands_[c].spec.role == StreamRole::kNone) continue;
    const Queue& queue = schedule_.queues[schedule_.commands[c].queue];
    StreamDevice* device = devices[queue.device];
    commands_[c].stream = StreamOf(device, queue.kind);
    if (origin_ == nullptr) origin_ = StreamOf(device, QueueKind::kCompute);
  }
  LANESCOPE_CHECK(origin_ != nullptr);
}

void StreamProgram::MakeEvents() {
  awaited_.resize(commands_.size());
  for (const CommandId c : commands_.ids()) {
    Command& command = commands_[c];
    if (command.spec.role == StreamRole::kNone || command.spec.role == StreamRole::kOnHost) continue;
    bool observed = command.spec.role == StreamRole::kRecord || command.spec.role == StreamRole::kJoint;
    for (const CommandId next : schedule_.Successors(c)) {
      const StreamRole role = At(next).spec.role;
      if (role != StreamRole::kNone && role != StreamRole::kOnHost) continue;
      awaited_[next].push_back(c);
      observed = true;
    }
    command.stream->device->MakeCurrent();
    if (observed) command.event = driver_->CreateEvent(false);
    if (command.spec.feed) {
      const ValueId source = schedule_.Inputs(schedule_.commands[c])[0];
      const int64_t bytes = schedule_.values[source].bytes;
      command.staging = driver_->AllocateHost(std::max<int64_t>(1, bytes));
    }
  }
}

void StreamProgram::BeginStep(const StepIdentity& identity, bool timed) {
  identity_ = identity;
  timed_ = timed && observer_ == nullptr;
  told_ = timed ? observer_ : nullptr;
  joint_issued_.store(false, std::memory_order_relaxed);
  joint_aborted_.store(false, std::memory_order_relaxed);
  for (size_t j = 0; j < joint_.size(); ++j) joint_done_[j].store(false, std::memory_order_relaxed);
  for (const auto& stream : streams_) stream->dirty.store(false, std::memory_order_relaxed);
  for (Command& command : commands_) command.issued = false;
  if (!timed_) return;
  for (DeviceClock& clock : clocks_) {
    clock.device->MakeCurrent();
    driver_->Record(clock.base, clock.device->stream(QueueKind::kCompute));
    driver_->SynchronizeEvent(clock.base);
    clock.base_ns = NowNs();
  }
}

void StreamProgram::Run(CommandId unit) {
  const int segment = plan_.Segment(unit);
  if (segment >= 0) {
    RunSegment(segment);
  } else if (plan_.Joint(unit) >= 0) {
    RunJoint(plan_.Joint(unit));
  } else {
    RunSingle(unit);
  }
}

EventHandle StreamProgram::EventAfter(CommandId command) const {
  const int segment = plan_.Segment(command);
  return segment >= 0 ? segments_[static_cast<size_t>(segment)].done : At(command).event;
}

void StreamProgram::Await(CommandId command) {
  for (const CommandId before : awaited_[command]) driver_->SynchronizeEvent(EventAfter(before));
}

bool StreamProgram::MayBegin(CommandId command) {
  return std::all_of(awaited_[command].begin(), awaited_[command].end(),
                     [this](CommandId before) { return driver_->IsReached(EventAfter(before)); });
}

void StreamProgram::RunSingle(CommandId number) {
  try {
    if (At(number).spec.role == StreamRole::kOnHost) {
      // It may take long, or wait for what others have yet to issue.
      runner_->Compute(number);
    } else {
      IssueSingle(number);
    }
  } catch (...) {
    Rethrow(number);
  }
}

void StreamProgram::Settle(CommandId number) {
  try {
    const std::shared_lock<std::shared_mutex> lock(issue_mutex_);
    At(number).stream->device->MakeCurrent();
    Await(number);
    driver_->Synchronize(At(number).stream->handle);
  } catch (...) {
    Rethrow(number);
  }
}

void StreamProgram::IssueSingle(CommandId number) {
  Command& command = At(number);
  const std::shared_lock<std::shared_mutex> lock(issue_mutex_), others = BetweenJointLaunches();
  command.stream->device->MakeCurrent();
  if (command.spec.settle_first) driver_->Synchronize(command.stream->handle);
  if (command.spec.feed) StageFeed(number);
  Issue(number, false);
  command.stream->dirty.store(true, std::memory_order_relaxed);
}

void StreamProgram::Issue(CommandId number, bool capture) {
  Command& command = At(number);
  switch (command.spec.role) {
    case StreamRole::kNone:
    case StreamRole::kOnHost:
    case StreamRole::kJoint:
      LANESCOPE_CHECK(false);
      break;
    case StreamRole::kKernel:
    case StreamRole::kCopy:
      IssueWork(number, capture);
      break;
    case StreamRole::kNothing:
    case StreamRole::kRecord:
      break;
    case StreamRole::kWait: {
      const CommandId partner = schedule_.commands[number].partner;
      if (!partner.exists()) break;  // of another process: it has been told
      const bool together = plan_.Segment(partner) == plan_.Segment(number);
      if (together && At(partner).spec.role == StreamRole::kRecord)
        driver_->Wait(command.stream->handle, At(partner).event);
      break;
    }
  }
  // The events of a segment are of use inside it alone; the host waits for its end.
  const bool inside = plan_.Segment(number) >= 0;
  if (command.event != nullptr && (!inside || command.spec.role == StreamRole::kRecord))
    driver_->Record(command.event, command.stream->handle);
}

void StreamProgram::IssueWork(CommandId number, bool capture) {
  Command& command = At(number);
  if (told_ != nullptr) told_->Begin(identity_.schedule, identity_.step, number);
  MarkTime(number, &Command::start, capture);
  try {
    if (command.spec.role == StreamRole::kKernel) {
      if (StreamContext* launch = command.stream->device->launch()) launch->SetRecorded(identity_.recorded);
      runner_->Compute(number);
    } else {
      CopyOperands copy = runner_->PrepareCopy(number);
      command.bytes = copy.bytes;
      if (command.staging != nullptr) copy.from = command.staging;
      const auto& planned = schedule_.commands[number];
      if (copy.bytes > 0) {
        driver_->Copy(command.stream->handle, copy.to, Ordinal(schedule_.CopyDestination(planned)), copy.from,
                      Ordinal(schedule_.CopySource(planned)), copy.bytes);
      }
    }
  } catch (...) {
    if (told_ != nullptr) told_->End();
    throw;
  }
  MarkTime(number, &Command::end, capture);
  if (told_ != nullptr) told_->End();
  command.issued = true;
}

int StreamProgram::Ordinal(DeviceId device) const {
  const StreamDevice* of = devices_[device];
  return of != nullptr ? of->ordinal() : kHostMemory;
}

void StreamProgram::StageFeed(CommandId number) {
  const CopyOperands copy = runner_->PrepareCopy(number);
  if (copy.bytes > 0) std::memcpy(At(number).staging, copy.from, static_cast<size_t>(copy.bytes));
}

void StreamProgram::MarkTime(CommandId number, EventHandle Command::*event, bool capture) {
  if (!timed_) return;
  Command& command = At(number);
  if (command.*event == nullptr) command.*event = driver_->CreateEvent(true);
  if (capture) {
    capture_->RecordInGraph(command.*event, command.stream->handle);
  } else {
    driver_->Record(command.*event, command.stream->handle);
  }
}

void StreamProgram::Rethrow(CommandId command) const {
  try {
    throw;
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{} [{}]", error.message(), runner_->Describe(command)));
  }
}

void StreamProgram::RethrowOf(const Stream& stream) {
  try {
    throw;
  } catch (const Error& error) {
    const std::string advice = stream.device->advice();
    throw Error(error.code(),
                fmt::format("{} failed while it ran the step: {}{}{}", stream.device->spec().local_name(),
                            error.message(), advice.empty() ? "" : "; ", advice));
  }
}

bool StreamProgram::IsEmpty(const Stream& stream) {
  try {
    stream.device->MakeCurrent();
    return driver_->IsEmpty(stream.handle);
  } catch (const Error&) {
    RethrowOf(stream);
  }
}

void StreamProgram::Drain(bool cancelled) {
  if (joint_issued_.load(std::memory_order_relaxed)) return DrainJoint(cancelled);
  std::optional<Error> problem;
  for (const auto& stream : streams_) {
    try {
      stream->device->MakeCurrent();
      driver_->Synchronize(stream->handle);
    } catch (const Error&) {
      try {
        RethrowOf(*stream);
      } catch (const Error& error) {
        if (!problem.has_value()) problem = error;
      }
    }
  }
  if (problem.has_value()) throw *problem;
}

void StreamProgram::Publish(EventRing* ring) const {
  if (!timed_) return;
  for (const CommandId c : commands_.ids()) {
    const Command& command = commands_[c];
    if (!command.issued || command.start == nullptr) continue;
    const auto clock = std::find_if(clocks_.begin(), clocks_.end(), [&](const DeviceClock& candidate) {
      return candidate.device->ordinal() == command.stream->device->ordinal();
    });
    Event event;
    event.command = c;
    event.step = identity_.step;
    event.schedule = identity_.schedule;
    event.bytes = command.bytes;
    event.by_pair = true;
    event.start_ns = clock->base_ns + driver_->ElapsedNs(clock->base, command.start);
    event.end_ns = std::max(event.start_ns, clock->base_ns + driver_->ElapsedNs(clock->base, command.end));
    ring->Push(event);
  }
}

void StreamProgram::SetObserver(LaunchObserver* observer) {
  if (observer == observer_) return;
  // Recorded again under the eyes of the new one, so that it sees every node being made.
  Forget();
  observer_ = observer;
}

}  // namespace lanescope::exec
