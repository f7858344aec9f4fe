// SPDX-License-Identifier: Apache-2.0
// Streams, events and copies of the stub, and the order in which it runs what was issued.
#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

#include "core/base/error.h"
#include "tests/exec/cuda/stub_state.h"

namespace lanescope::exec::test {

StreamHandle StubCuda::CreateStream(cuda::PartitionHandle, int priority) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  Count("cudaStreamCreateWithPriority");
  ++streams_by_priority_[priority];
  streams_.push_back(std::make_unique<Stream>());
  streams_.back()->ordinal = current_gpu;
  return reinterpret_cast<StreamHandle>(streams_.back().get());
}

void StubCuda::DestroyStream(StreamHandle stream) noexcept {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  const auto found = std::find_if(streams_.begin(), streams_.end(),
                                  [&](const auto& candidate) { return candidate.get() == At(stream); });
  LANESCOPE_CHECK(found != streams_.end());
  streams_.erase(found);
}

EventHandle StubCuda::CreateEvent(bool timed) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  Count("cudaEventCreateWithFlags");
  auto* event = new Event();
  event->ordinal = current_gpu;
  event->timed = timed;
  events_.insert(event);
  return reinterpret_cast<EventHandle>(event);
}

void StubCuda::DestroyEvent(EventHandle event) noexcept {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  LANESCOPE_CHECK(events_.erase(At(event)) == 1);
  delete At(event);
}

void StubCuda::CompleteEvent(Event* event) {
  ++event->completed;
  clock_ns_ += 1000;
  event->time_ns = clock_ns_;
}

// In a capture, events stand for the last node of their stream; outside they are work of their own.
void StubCuda::Record(EventHandle handle, StreamHandle stream_handle) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  Count("cudaEventRecord");
  Event* event = At(handle);
  Stream* stream = At(stream_handle);
  if (event->ordinal != stream->ordinal)
    Throw(Code::kInternal, "cudaEventRecord failed: another device's event");
  event->captured = stream->capture != nullptr;
  if (stream->capture != nullptr) {
    event->capture = stream->capture;
    Add(stream, {});
    event->node = stream->capture->graph->nodes - 1;
    event->lane = stream->lane;
    return;
  }
  event->capture = nullptr;
  ++event->recorded;
  Add(stream, {[this, event] { CompleteEvent(event); }});
}

void StubCuda::RecordInGraph(EventHandle handle, StreamHandle stream_handle) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  Count("cudaEventRecordWithFlags");
  Event* event = At(handle);
  LANESCOPE_CHECK(At(stream_handle)->capture != nullptr && event->timed);
  ++At(stream_handle)->capture->graph->event_nodes;
  Add(At(stream_handle), {[this, event] { CompleteEvent(event); }});
}

void StubCuda::Wait(StreamHandle stream_handle, EventHandle handle) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  Count("cudaStreamWaitEvent");
  Event* event = At(handle);
  Stream* stream = At(stream_handle);
  if (event->capture != nullptr) {
    Capture* capture = event->capture;
    if (stream->capture == nullptr) {  // joins the capture
      stream->capture = capture;
      stream->lane = capture->streams.size();
      capture->streams.push_back(stream);
      capture->joined.push_back(false);
      capture->graph->lanes.emplace_back();
    }
    LANESCOPE_CHECK(stream->capture == capture);
    Work wait;
    wait.captured_wait = event->node;
    Add(stream, std::move(wait));
    const auto& lane = capture->graph->lanes[event->lane];
    if (stream == capture->origin && lane.back().node == event->node) capture->joined[event->lane] = true;
    return;
  }
  if (event->captured) Throw(Code::kInternal, "cudaStreamWaitEvent failed: cudaErrorCapturedEvent");
  if (stream->capture != nullptr)
    Throw(Code::kInternal, "cudaStreamWaitEvent failed: cudaErrorStreamCaptureIsolation");
  Work wait;
  wait.wait = event;
  wait.generation = event->recorded;
  Add(stream, std::move(wait));
}

void StubCuda::Add(Stream* stream, Work work) {
  if (stream->capture == nullptr) {
    stream->work.push_back(std::move(work));
    return;
  }
  Capture* capture = stream->capture;
  work.node = capture->graph->nodes++;
  capture->graph->handles.push_back(std::make_unique<char>());
  capture->joined[stream->lane] = stream == capture->origin;
  capture->graph->lanes[stream->lane].push_back(std::move(work));
}

void StubCuda::SynchronizeEvent(EventHandle handle) {
  std::unique_lock<std::recursive_mutex> lock(mutex_);
  Count("cudaEventSynchronize");
  const Event* event = At(handle);
  CheckGpu(event->ordinal);
  if (event->captured) Throw(Code::kInternal, "cudaEventSynchronize failed: cudaErrorCapturedEvent");
  const int64_t wanted = event->recorded;
  RunUntil(&lock, [event, wanted] { return event->completed >= wanted; });
}

// As IsEmpty.
bool StubCuda::IsReached(EventHandle handle) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  Count("cudaEventQuery");
  const Event* event = At(handle);
  CheckGpu(event->ordinal);
  const int64_t wanted = event->recorded;
  bool asked = false;
  RunWhatCan([&] { return std::exchange(asked, true) || event->completed >= wanted; });
  return event->completed >= wanted;
}

int64_t StubCuda::ElapsedNs(EventHandle start, EventHandle end) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  const Event *a = At(start), *b = At(end);
  LANESCOPE_CHECK(a->timed && b->timed && a->ordinal == b->ordinal && a->completed > 0 && b->completed > 0);
  return b->time_ns - a->time_ns;
}

void StubCuda::Synchronize(StreamHandle handle) {
  std::unique_lock<std::recursive_mutex> lock(mutex_);
  Count("cudaStreamSynchronize");
  const Stream* stream = At(handle);
  if (stream->capture != nullptr)
    Throw(Code::kInternal, "cudaStreamSynchronize failed: cudaErrorStreamCaptureUnsupported");
  CheckGpu(stream->ordinal);
  RunUntil(&lock, [stream] { return stream->work.empty(); });
}

// Time passes between two questions: some of what was issued to any stream runs.
bool StubCuda::IsEmpty(StreamHandle handle) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  Count("cudaStreamQuery");
  const Stream* stream = At(handle);
  CheckGpu(stream->ordinal);
  if (stream->work.empty()) return true;
  const size_t left = stream->work.size();
  RunWhatCan([&] { return stream->work.size() < left; });
  return stream->work.empty();
}

void StubCuda::CheckGpu(int ordinal) {
  if (broken_.contains(ordinal))
    Throw(Code::kInternal, "cudaStreamSynchronize failed: cudaErrorIllegalAddress");
}

void StubCuda::Copy(StreamHandle stream, void* to, int to_ordinal, const void* from, int from_ordinal,
                    int64_t bytes) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  const bool to_device = to_ordinal != kHostMemory, from_device = from_ordinal != kHostMemory;
  LANESCOPE_CHECK(to_device || from_device);
  LANESCOPE_CHECK(IsDeviceMemory(to) == to_device && IsDeviceMemory(from) == from_device);
  Count(to_device && from_device && to_ordinal != from_ordinal ? "cudaMemcpyPeerAsync" : "cudaMemcpyAsync");
  Enqueue(stream, [=] { std::memcpy(to, from, static_cast<size_t>(bytes)); });
}

void StubCuda::Enqueue(StreamHandle stream, std::function<void()> work) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  Work item;
  item.run = std::move(work);
  Add(At(stream), std::move(item));
}

void StubCuda::EnqueueTogether(StreamHandle stream, std::function<bool()> may_run,
                               std::function<void()> work) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  Work item;
  item.run = std::move(work);
  item.may_run = std::move(may_run);
  Add(At(stream), std::move(item));
}

bool StubCuda::IsCaptured(StreamHandle stream) const {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  return At(stream)->capture != nullptr;
}

void StubCuda::Pass(int64_t ns) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  clock_ns_ += ns;
}

int StubCuda::Current() { return current_gpu; }

uint64_t StubCuda::Random(uint64_t below) {
  random_ = random_ * 6364136223846793005u + 1442695040888963407u;
  return (random_ >> 33) % below;
}

// Runs the front of a queue picked at random among those that may run.
bool StubCuda::RunOneOf(std::vector<std::deque<Work>*> queues, const std::function<bool(const Work&)>& ready,
                        const std::function<void(const Work&)>& finished) {
  std::erase_if(queues, [&](const auto* queue) { return queue->empty() || !ready(queue->front()); });
  if (queues.empty()) return false;
  std::deque<Work>* queue = queues[Random(queues.size())];
  const Work work = std::move(queue->front());
  queue->pop_front();
  if (work.run) work.run();
  finished(work);
  return true;
}

// Whether it is done now. If not, only what waits for other threads is left: anything else that is waited for
// would never come.
bool StubCuda::RunWhatCan(const std::function<bool()>& done) {
  struct Unprotected {
    explicit Unprotected(StubCuda* s) : stub(s) { stub->Protect(false); }
    ~Unprotected() { stub->Protect(true); }
    StubCuda* stub;
  };
  const Unprotected memory(this);
  bool others = false;
  const auto ready = [&others](const Work& work) {
    const bool reached = work.wait == nullptr || work.wait->completed >= work.generation;
    if (work.may_run == nullptr) return reached;
    const bool may_run = work.may_run();
    others |= !may_run;
    return may_run;
  };
  while (!done()) {
    std::vector<std::deque<Work>*> queues;
    // Work that was issued before a capture runs on meanwhile.
    for (const auto& stream : streams_) queues.push_back(&stream->work);
    others = false;
    if (RunOneOf(std::move(queues), ready, [](const Work&) {})) continue;
    LANESCOPE_CHECK(others);
    return false;
  }
  return true;
}

void StubCuda::RunUntil(std::unique_lock<std::recursive_mutex>* lock, const std::function<bool()>& done) {
  const auto begin = std::chrono::steady_clock::now();
  while (!RunWhatCan(done)) {
    LANESCOPE_CHECK(std::chrono::steady_clock::now() - begin < kMostTogether);
    lock->unlock();
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    lock->lock();
  }
}

}  // namespace lanescope::exec::test
