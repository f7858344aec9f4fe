#include "exec/cuda/stream_program.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "core/error.h"

namespace lanescope::exec::cuda {
namespace {

// By queue: its device's rank among the devices with streams, -1 for others.
std::vector<int> StreamGroups(const Schedule& schedule, const std::vector<CudaDevice*>& devices) {
  std::vector<int> rank(devices.size(), -1);
  int next = 0;
  for (const Queue& queue : schedule.queues) {
    const auto d = static_cast<size_t>(queue.device);
    if (devices[d] != nullptr && rank[d] < 0) rank[d] = next++;
  }
  std::vector<int> groups;
  for (const Queue& queue : schedule.queues) groups.push_back(rank[static_cast<size_t>(queue.device)]);
  return groups;
}

}  // namespace

StreamProgram::StreamProgram(const Schedule& schedule, const std::vector<CudaDevice*>& devices,
                             std::vector<StreamCommand> commands, CommandRunner* runner, bool graphs)
    : schedule_(schedule), devices_(devices), runner_(runner), commands_(commands.size()), graphs_(graphs) {
  std::vector<char> recordable;
  for (size_t c = 0; c < commands.size(); ++c) {
    commands_[c].spec = commands[c];
    recordable.push_back(graphs && commands[c].recordable);
  }
  plan_ = PlanForStreams(schedule, StreamGroups(schedule, devices), recordable, kMinSegment);
  MakeLanes(devices);
  MakeEvents();
  MakeSegments();
}

StreamProgram::~StreamProgram() {
  Forget();
  for (Command& command : commands_) {
    for (const EventHandle event : {command.event, command.start, command.end}) {
      if (event != nullptr) api_->DestroyEvent(event);
    }
    if (command.staging != nullptr) api_->FreeHost(command.staging);
  }
  for (const Segment& segment : segments_) api_->DestroyEvent(segment.done);
  for (const auto& lane : lanes_) api_->DestroyEvent(lane->join);
  for (const DeviceClock& clock : clocks_) api_->DestroyEvent(clock.base);
}

StreamProgram::Lane* StreamProgram::LaneOf(CudaDevice* device, QueueKind kind) {
  const StreamHandle stream = device->stream(kind);
  for (const auto& lane : lanes_) {
    if (lane->stream == stream) return lane.get();
  }
  device->MakeCurrent();
  auto lane = std::make_unique<Lane>();
  lane->stream = stream;
  lane->device = device;
  lane->join = api_->CreateEvent(false);
  lanes_.push_back(std::move(lane));
  if (std::none_of(clocks_.begin(), clocks_.end(),
                   [&](const DeviceClock& clock) { return clock.device == device; }))
    clocks_.push_back({device, api_->CreateEvent(true), 0});
  return lanes_.back().get();
}

void StreamProgram::MakeLanes(const std::vector<CudaDevice*>& devices) {
  for (size_t c = 0; c < commands_.size(); ++c) {
    if (commands_[c].spec.role == StreamRole::kNone) continue;
    const Queue& queue = schedule_.queues[static_cast<size_t>(schedule_.commands[c].queue)];
    CudaDevice* device = devices[static_cast<size_t>(queue.device)];
    api_ = &device->api();
    commands_[c].lane = LaneOf(device, queue.kind);
    if (origin_ == nullptr) origin_ = LaneOf(device, QueueKind::kCompute);
  }
  LANESCOPE_CHECK(origin_ != nullptr);
}

void StreamProgram::MakeEvents() {
  awaited_.resize(commands_.size());
  for (size_t c = 0; c < commands_.size(); ++c) {
    Command& command = commands_[c];
    if (command.spec.role == StreamRole::kNone || command.spec.role == StreamRole::kOnHost) continue;
    bool observed = command.spec.role == StreamRole::kRecord;
    for (const int next : schedule_.Successors(static_cast<int>(c))) {
      const StreamRole role = At(next).spec.role;
      if (role != StreamRole::kNone && role != StreamRole::kOnHost) continue;
      awaited_[static_cast<size_t>(next)].push_back(static_cast<int>(c));
      observed = true;
    }
    command.lane->device->MakeCurrent();
    if (observed) command.event = api_->CreateEvent(false);
    if (command.spec.feed) {
      const int source = schedule_.Inputs(schedule_.commands[c])[0];
      const int64_t bytes = schedule_.values[static_cast<size_t>(source)].bytes;
      command.staging = api_->AllocateHost(std::max<int64_t>(1, bytes));
    }
  }
}

void StreamProgram::BeginStep(const StepIdentity& identity, bool timed) {
  identity_ = identity;
  timed_ = timed && observer_ == nullptr;
  for (const auto& lane : lanes_) lane->dirty.store(false, std::memory_order_relaxed);
  for (Command& command : commands_) command.issued = false;
  if (!timed_) return;
  for (DeviceClock& clock : clocks_) {
    clock.device->MakeCurrent();
    api_->Record(clock.base, clock.device->stream(QueueKind::kCompute));
    api_->SynchronizeEvent(clock.base);
    clock.base_ns = NowNs();
  }
}

void StreamProgram::Run(int unit) {
  const int segment = plan_.Segment(unit);
  if (segment >= 0) {
    RunSegment(segment);
  } else {
    RunSingle(unit);
  }
}

void StreamProgram::Await(int command) {
  for (const int before : awaited_[static_cast<size_t>(command)]) {
    const int segment = plan_.Segment(before);
    api_->SynchronizeEvent(segment >= 0 ? segments_[static_cast<size_t>(segment)].done : At(before).event);
  }
}

void StreamProgram::RunSingle(int number) {
  Command& command = At(number);
  const std::shared_lock<std::shared_mutex> lock(issue_mutex_);
  try {
    command.lane->device->MakeCurrent();
    if (command.spec.role == StreamRole::kOnHost) Await(number);
    if (command.spec.settle_first) api_->Synchronize(command.lane->stream);
    if (command.spec.feed) StageFeed(number);
    Issue(number, false);
  } catch (...) {
    Rethrow(number);
  }
  command.lane->dirty.store(true, std::memory_order_relaxed);
}

void StreamProgram::Issue(int number, bool capture) {
  Command& command = At(number);
  switch (command.spec.role) {
    case StreamRole::kNone:
      LANESCOPE_CHECK(false);
      break;
    case StreamRole::kOnHost:
      runner_->Compute(number);
      break;
    case StreamRole::kKernel:
    case StreamRole::kCopy:
      IssueWork(number, capture);
      break;
    case StreamRole::kNothing:
    case StreamRole::kRecord:
      break;
    case StreamRole::kWait: {
      const int partner = schedule_.commands[static_cast<size_t>(number)].partner;
      const bool together = plan_.Segment(partner) == plan_.Segment(number);
      if (together && At(partner).spec.role == StreamRole::kRecord)
        api_->Wait(command.lane->stream, At(partner).event);
      break;
    }
  }
  // The events of a segment are of use inside it alone; the host waits for its end.
  const bool inside = plan_.Segment(number) >= 0;
  if (command.event != nullptr && (!inside || command.spec.role == StreamRole::kRecord))
    api_->Record(command.event, command.lane->stream);
}

void StreamProgram::IssueWork(int number, bool capture) {
  Command& command = At(number);
  if (observer_ != nullptr) observer_->Begin(identity_.schedule, identity_.step, number);
  MarkTime(number, &Command::start, capture);
  try {
    if (command.spec.role == StreamRole::kKernel) {
      runner_->Compute(number);
    } else {
      CopyOperands copy = runner_->PrepareCopy(number);
      command.bytes = copy.bytes;
      if (command.staging != nullptr) copy.from = command.staging;
      const auto& planned = schedule_.commands[static_cast<size_t>(number)];
      if (copy.bytes > 0) {
        CopyBetween(schedule_.CopySource(planned), schedule_.CopyDestination(planned), command.lane->stream,
                    copy);
      }
    }
  } catch (...) {
    if (observer_ != nullptr) observer_->End();
    throw;
  }
  MarkTime(number, &Command::end, capture);
  if (observer_ != nullptr) observer_->End();
  command.issued = true;
}

void StreamProgram::CopyBetween(int src, int dst, StreamHandle stream, const CopyOperands& copy) {
  const CudaDevice* from = devices_[static_cast<size_t>(src)];
  const CudaDevice* to = devices_[static_cast<size_t>(dst)];
  if (from == nullptr) {
    api_->Copy(stream, copy.to, copy.from, copy.bytes, CopyKind::kHostToDevice);
  } else if (to == nullptr) {
    api_->Copy(stream, copy.to, copy.from, copy.bytes, CopyKind::kDeviceToHost);
  } else if (from->ordinal() == to->ordinal()) {
    api_->Copy(stream, copy.to, copy.from, copy.bytes, CopyKind::kWithinDevice);
  } else {
    api_->CopyPeer(stream, copy.to, to->ordinal(), copy.from, from->ordinal(), copy.bytes);
  }
}

void StreamProgram::StageFeed(int number) {
  const CopyOperands copy = runner_->PrepareCopy(number);
  if (copy.bytes > 0) std::memcpy(At(number).staging, copy.from, static_cast<size_t>(copy.bytes));
}

void StreamProgram::MarkTime(int number, EventHandle Command::*event, bool capture) {
  if (!timed_) return;
  Command& command = At(number);
  if (command.*event == nullptr) command.*event = api_->CreateEvent(true);
  if (capture) {
    api_->RecordInGraph(command.*event, command.lane->stream);
  } else {
    api_->Record(command.*event, command.lane->stream);
  }
}

void StreamProgram::Rethrow(int command) const {
  try {
    throw;
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{} [{}]", error.message(), runner_->Describe(command)));
  }
}

void StreamProgram::Drain() {
  std::string problem;
  for (const auto& lane : lanes_) {
    try {
      lane->device->MakeCurrent();
      api_->Synchronize(lane->stream);
    } catch (const Error& error) {
      if (!problem.empty()) continue;
      problem = fmt::format(
          "{} failed while it ran the step: {}; CUDA_LAUNCH_BLOCKING=1 with --no-cuda-graph names the op",
          lane->device->spec().local_name(), error.message());
    }
  }
  if (!problem.empty()) throw Error(Code::kInternal, problem);
}

void StreamProgram::Publish(EventRing* ring) const {
  if (!timed_) return;
  for (size_t c = 0; c < commands_.size(); ++c) {
    const Command& command = commands_[c];
    if (!command.issued || command.start == nullptr) continue;
    const auto clock = std::find_if(clocks_.begin(), clocks_.end(), [&](const DeviceClock& candidate) {
      return candidate.device == command.lane->device;
    });
    Event event;
    event.command = static_cast<int32_t>(c);
    event.step = identity_.step;
    event.schedule = identity_.schedule;
    event.bytes = command.bytes;
    event.start_ns = clock->base_ns + api_->ElapsedNs(clock->base, command.start);
    event.end_ns = std::max(event.start_ns, clock->base_ns + api_->ElapsedNs(clock->base, command.end));
    ring->Push(event);
  }
}

void StreamProgram::SetObserver(LaunchObserver* observer) {
  if (observer == observer_) return;
  // Recorded again under the eyes of the new one, so that it sees every node being made.
  Forget();
  observer_ = observer;
}

}  // namespace lanescope::exec::cuda
