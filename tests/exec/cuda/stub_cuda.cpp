#include "tests/exec/cuda/stub_cuda.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include "core/error.h"
#include "core/op.h"

namespace lanescope::exec::testing {
namespace {

thread_local int current_gpu = -1;

constexpr int64_t kPage = 4096;

// A launch that is run later: operands as they were when it was issued.
class LaterContext : public KernelContext {
 public:
  LaterContext(KernelContext* original, const StubCuda& stub)
      : KernelContext(*original), original_(original) {
    for (TensorRef& input : inputs_) Snapshot(&input, stub);
  }
  Resource& FindOrCreateResource(int input,
                                 const std::function<std::unique_ptr<Resource>()>& create) override {
    return original_->FindOrCreateResource(input, create);
  }
  uint64_t& random_counter() override { return original_->random_counter(); }

 private:
  // Host memory is read when the launch is issued, as CUDA kernels read it.
  void Snapshot(TensorRef* input, const StubCuda& stub) {
    if (input->data == nullptr || !input->shape.IsExact() || stub.IsDeviceMemory(input->data)) return;
    const int64_t bytes = input->NumElements() * static_cast<int64_t>(ElementSize(input->dtype));
    kept_.emplace_back(static_cast<size_t>(std::max<int64_t>(1, bytes)));
    if (bytes > 0) std::memcpy(kept_.back().data(), input->data, static_cast<size_t>(bytes));
    input->data = kept_.back().data();
  }

  KernelContext* original_;
  std::deque<std::vector<char>> kept_;
};

class StubLaunch : public StreamContext {
 public:
  StubLaunch(StubCuda* stub, const cuda::LaunchSpec& spec) : stub_(stub), spec_(spec) {}
  StubCuda& stub() const { return *stub_; }
  const cuda::LaunchSpec& spec() const { return spec_; }

 private:
  StubCuda* stub_;
  cuda::LaunchSpec spec_;
};

class StubKernel : public Kernel {
 public:
  explicit StubKernel(const Node& node) : op_(node.op), kernel_(KernelRegistry::Host().Create(node)) {}

  void Compute(KernelContext& context) override {
    auto& launch = static_cast<StubLaunch&>(context.stream_context());
    LANESCOPE_CHECK(current_gpu == launch.spec().ordinal);
    auto later = std::make_shared<LaterContext>(&context, launch.stub());
    if (MustRunNow(context, launch.stub())) {
      // As a CUDA kernel that needs a size from the device: what it ran is complete when it returns.
      launch.stub().Synchronize(launch.spec().stream);
      launch.stub().Enqueue(launch.spec().stream, [this, &context] { kernel_->Compute(context); });
      launch.stub().Synchronize(launch.spec().stream);
      return;
    }
    launch.stub().Enqueue(launch.spec().stream, [this, later] { kernel_->Compute(*later); });
    if (op_ == "Assign" || op_ == "AssignVariableOp") context.variable(0).initialized = true;
  }
  bool replayable() const override {
    return op_.find("Random") == std::string::npos && op_.find("Truncated") == std::string::npos;
  }

 private:
  static bool MustRunNow(KernelContext& context, const StubCuda& stub) {
    for (int k = 0; k < context.num_outputs(); ++k) {
      const TensorRef& output = context.output(k);
      if (!output.shape.IsExact()) return true;
      if (output.data != nullptr && !stub.IsDeviceMemory(output.data)) return true;
    }
    return false;
  }

  std::string op_;
  std::unique_ptr<Kernel> kernel_;
};

}  // namespace

struct StubCuda::Stream {
  int ordinal = 0;
  std::deque<Work> work;
  Capture* capture = nullptr;
  size_t lane = 0;  // in the capture
};

struct StubCuda::Event {
  int ordinal = 0;
  bool timed = false;
  int64_t recorded = 0;   // times issued
  int64_t completed = 0;  // times run
  int64_t time_ns = 0;
  Capture* capture = nullptr;  // recorded last while this was captured
  bool captured = false;       // recorded last in a capture, which may have ended
  size_t node = 0;             // the node that it stands for
  size_t lane = 0;
};

struct StubCuda::Graph {
  std::vector<std::deque<Work>> lanes;
  size_t nodes = 0;
  std::vector<std::unique_ptr<char>> handles;
};

struct StubCuda::Capture {
  std::unique_ptr<Graph> graph = std::make_unique<Graph>();
  Stream* origin = nullptr;
  std::thread::id thread;
  bool open = true;
  std::vector<Stream*> streams;
  std::vector<bool> joined;  // by lane: the origin has waited for all of it
};

StubCuda::StubCuda(const StubOptions& options) : options_(options), random_(options.seed) {
  for (const std::string_view op : OpRegistry::Global().Names()) {
    if (!KernelRegistry::Host().Has(op)) continue;
    kernels_.Register(std::string(op), [](const Node& node) -> std::unique_ptr<Kernel> {
      return std::make_unique<StubKernel>(node);
    });
  }
}

StubCuda::~StubCuda() {
  Protect(false);
  for (const auto& [memory, block] : device_) munmap(memory, static_cast<size_t>(block.bytes));
}

void StubCuda::FailCall(const std::string& call, int nth, Code code) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  failures_[call] = {nth, code};
}

void StubCuda::BreakGpu(int ordinal) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  broken_.insert(ordinal);
}

void StubCuda::Count(const std::string& call) {
  ++calls_[call];
  const auto failure = failures_.find(call);
  if (failure == failures_.end() || --failure->second.first > 0) return;
  const Code code = failure->second.second;
  failures_.erase(failure);
  Throw(code, "{} failed: cudaErrorStub", call);
}

// What is not enqueued would be missing from the graph: CUDA refuses it to a thread that captures.
void StubCuda::RefuseInCapture(const char* call) const {
  const bool captures = std::any_of(captures_.begin(), captures_.end(), [](const auto& capture) {
    return capture->open && capture->thread == std::this_thread::get_id();
  });
  if (captures) Throw(Code::kInternal, "{} failed: cudaErrorStreamCaptureUnsupported", call);
}

int StubCuda::Calls(const std::string& call) const {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  const auto found = calls_.find(call);
  return found == calls_.end() ? 0 : found->second;
}

int64_t StubCuda::live_objects() const {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  return static_cast<int64_t>(device_.size() + host_.size() + pinned_.size() + streams_.size() +
                              events_.size() + graphs_.size()) +
         partitions_;
}

int64_t StubCuda::device_bytes(int ordinal) const {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  int64_t bytes = 0;
  for (const auto& [memory, block] : device_) bytes += block.ordinal == ordinal ? block.bytes : 0;
  return bytes;
}

cuda::GpuProperties StubCuda::Properties(int ordinal) {
  LANESCOPE_CHECK(ordinal >= 0 && ordinal < options_.gpus);
  return {"Stub GPU", options_.memory_bytes, 90, options_.multiprocessors, 2, 1980000, 3201000, 6144};
}

void StubCuda::MakeCurrent(int ordinal) {
  LANESCOPE_CHECK(ordinal >= 0 && ordinal < options_.gpus);
  current_gpu = ordinal;
}

cuda::MemoryInfo StubCuda::Memory(int ordinal) {
  return {options_.memory_bytes - device_bytes(ordinal), options_.memory_bytes};
}

bool StubCuda::EnablePeerAccess(int from, int to) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  Count("cudaDeviceEnablePeerAccess");
  LANESCOPE_CHECK(from != to);
  return options_.peers;
}

void* StubCuda::Allocate(int64_t bytes) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  Count("cudaMalloc");
  RefuseInCapture("cudaMalloc");
  const int64_t mapped = std::max(kPage, (bytes + kPage - 1) / kPage * kPage);
  if (device_bytes(current_gpu) + mapped > options_.memory_bytes)
    Throw(Code::kResourceExhausted, "cudaMalloc failed: cudaErrorMemoryAllocation");
  const int access = protected_depth_ > 0 ? PROT_READ | PROT_WRITE : PROT_NONE;
  void* memory = mmap(nullptr, static_cast<size_t>(mapped), access, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  LANESCOPE_CHECK(memory != MAP_FAILED);
  device_[static_cast<char*>(memory)] = {mapped, current_gpu};
  return memory;
}

void StubCuda::Free(int ordinal, void* memory) noexcept {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  const auto block = device_.find(static_cast<char*>(memory));
  LANESCOPE_CHECK(block != device_.end() && block->second.ordinal == ordinal);
  munmap(memory, static_cast<size_t>(block->second.bytes));
  device_.erase(block);
}

void* StubCuda::AllocateHost(int64_t bytes) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  Count("cudaHostAlloc");
  RefuseInCapture("cudaHostAlloc");
  void* memory = ::operator new(static_cast<size_t>(bytes));
  host_.insert(memory);
  return memory;
}

void StubCuda::FreeHost(void* memory) noexcept {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  LANESCOPE_CHECK(host_.erase(memory) == 1);
  ::operator delete(memory);
}

bool StubCuda::PinHost(void* memory, int64_t bytes) noexcept {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  pinned_[memory] = bytes;
  return true;
}

void StubCuda::UnpinHost(void* memory) noexcept {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  LANESCOPE_CHECK(pinned_.erase(memory) == 1);
}

int StubCuda::PartitionGroups(int) { return options_.partition_groups; }

std::vector<cuda::Partition> StubCuda::CreatePartitions(int, const std::vector<int>& groups) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  std::vector<cuda::Partition> made;
  for (const int group : groups) {
    made.push_back({reinterpret_cast<cuda::PartitionHandle>(new int(group)), 8 * group});
    ++partitions_;
  }
  return made;
}

void StubCuda::DestroyPartition(cuda::PartitionHandle partition) noexcept {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  delete reinterpret_cast<int*>(partition);
  --partitions_;
}

cuda::StreamHandle StubCuda::CreateStream(cuda::PartitionHandle) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  Count("cudaStreamCreateWithFlags");
  streams_.push_back(std::make_unique<Stream>());
  streams_.back()->ordinal = current_gpu;
  return reinterpret_cast<cuda::StreamHandle>(streams_.back().get());
}

void StubCuda::DestroyStream(cuda::StreamHandle stream) noexcept {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  const auto found = std::find_if(streams_.begin(), streams_.end(),
                                  [&](const auto& candidate) { return candidate.get() == At(stream); });
  LANESCOPE_CHECK(found != streams_.end());
  streams_.erase(found);
}

cuda::EventHandle StubCuda::CreateEvent(bool timed) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  Count("cudaEventCreateWithFlags");
  auto* event = new Event();
  event->ordinal = current_gpu;
  event->timed = timed;
  events_.insert(event);
  return reinterpret_cast<cuda::EventHandle>(event);
}

void StubCuda::DestroyEvent(cuda::EventHandle event) noexcept {
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
void StubCuda::Record(cuda::EventHandle handle, cuda::StreamHandle stream_handle) {
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

void StubCuda::RecordInGraph(cuda::EventHandle handle, cuda::StreamHandle stream_handle) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  Count("cudaEventRecordWithFlags");
  Event* event = At(handle);
  LANESCOPE_CHECK(At(stream_handle)->capture != nullptr && event->timed);
  Add(At(stream_handle), {[this, event] { CompleteEvent(event); }});
}

void StubCuda::Wait(cuda::StreamHandle stream_handle, cuda::EventHandle handle) {
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

void StubCuda::SynchronizeEvent(cuda::EventHandle handle) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  Count("cudaEventSynchronize");
  const Event* event = At(handle);
  CheckGpu(event->ordinal);
  if (event->captured) Throw(Code::kInternal, "cudaEventSynchronize failed: cudaErrorCapturedEvent");
  const int64_t wanted = event->recorded;
  RunUntil([event, wanted] { return event->completed >= wanted; });
}

int64_t StubCuda::ElapsedNs(cuda::EventHandle start, cuda::EventHandle end) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  const Event *a = At(start), *b = At(end);
  LANESCOPE_CHECK(a->timed && b->timed && a->ordinal == b->ordinal && a->completed > 0 && b->completed > 0);
  return b->time_ns - a->time_ns;
}

void StubCuda::Synchronize(cuda::StreamHandle handle) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  Count("cudaStreamSynchronize");
  const Stream* stream = At(handle);
  if (stream->capture != nullptr)
    Throw(Code::kInternal, "cudaStreamSynchronize failed: cudaErrorStreamCaptureUnsupported");
  CheckGpu(stream->ordinal);
  RunUntil([stream] { return stream->work.empty(); });
}

void StubCuda::CheckGpu(int ordinal) {
  if (broken_.contains(ordinal))
    Throw(Code::kInternal, "cudaStreamSynchronize failed: cudaErrorIllegalAddress");
}

void StubCuda::Copy(cuda::StreamHandle stream, void* to, const void* from, int64_t bytes,
                    cuda::CopyKind kind) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  Count("cudaMemcpyAsync");
  const bool to_device = kind != cuda::CopyKind::kDeviceToHost;
  const bool from_device = kind != cuda::CopyKind::kHostToDevice;
  LANESCOPE_CHECK(IsDeviceMemory(to) == to_device && IsDeviceMemory(from) == from_device);
  Enqueue(stream, [=] { std::memcpy(to, from, static_cast<size_t>(bytes)); });
}

void StubCuda::CopyPeer(cuda::StreamHandle stream, void* to, int to_ordinal, const void* from,
                        int from_ordinal, int64_t bytes) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  Count("cudaMemcpyPeerAsync");
  LANESCOPE_CHECK(to_ordinal != from_ordinal && IsDeviceMemory(to) && IsDeviceMemory(from));
  Enqueue(stream, [=] { std::memcpy(to, from, static_cast<size_t>(bytes)); });
}

void StubCuda::BeginCapture(cuda::StreamHandle handle) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  Count("cudaStreamBeginCapture");
  auto capture = std::make_unique<Capture>();
  capture->origin = At(handle);
  capture->thread = std::this_thread::get_id();
  capture->origin->capture = capture.get();
  capture->origin->lane = 0;
  capture->streams = {capture->origin};
  capture->joined = {true};
  capture->graph->lanes.resize(1);
  captures_.push_back(std::move(capture));
}

std::vector<cuda::GraphNode> StubCuda::CapturedNodes(cuda::StreamHandle handle) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  std::vector<cuda::GraphNode> nodes;
  for (const auto& node : At(handle)->capture->graph->handles) nodes.push_back(node.get());
  return nodes;
}

cuda::GraphHandle StubCuda::EndCapture(cuda::StreamHandle handle) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  Capture* capture = At(handle)->capture;
  LANESCOPE_CHECK(capture != nullptr && capture->origin == At(handle));
  const bool joined = std::all_of(capture->joined.begin(), capture->joined.end(), [](bool j) { return j; });
  capture->open = false;
  Graph* graph = capture->graph.release();
  for (Stream* stream : capture->streams) stream->capture = nullptr;
  for (Event* event : events_) {
    if (event->capture == capture) event->capture = nullptr;
  }
  graphs_.insert(graph);
  if (!joined) {
    DestroyGraph(reinterpret_cast<cuda::GraphHandle>(graph));
    Throw(Code::kInternal, "cudaStreamEndCapture failed: cudaErrorStreamCaptureUnjoined");
  }
  try {
    Count("cudaStreamEndCapture");
  } catch (...) {
    DestroyGraph(reinterpret_cast<cuda::GraphHandle>(graph));
    throw;
  }
  return reinterpret_cast<cuda::GraphHandle>(graph);
}

void StubCuda::AbandonCapture(cuda::StreamHandle handle) noexcept {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  Capture* capture = At(handle)->capture;
  if (capture == nullptr) return;
  capture->open = false;
  for (Stream* stream : capture->streams) stream->capture = nullptr;
  for (Event* event : events_) {
    if (event->capture == capture) event->capture = nullptr;
  }
}

void StubCuda::LaunchGraph(cuda::GraphHandle handle, cuda::StreamHandle stream) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  Count("cudaGraphLaunch");
  const auto* graph = reinterpret_cast<const Graph*>(handle);
  Enqueue(stream, [this, graph] { RunGraph(*graph); });
}

void StubCuda::DestroyGraph(cuda::GraphHandle handle) noexcept {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  auto* graph = reinterpret_cast<Graph*>(handle);
  LANESCOPE_CHECK(graphs_.erase(graph) == 1);
  delete graph;
}

void StubCuda::Enqueue(cuda::StreamHandle stream, std::function<void()> work) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  Work item;
  item.run = std::move(work);
  Add(At(stream), std::move(item));
}

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

void StubCuda::RunUntil(const std::function<bool()>& done) {
  struct Unprotected {
    explicit Unprotected(StubCuda* s) : stub(s) { stub->Protect(false); }
    ~Unprotected() { stub->Protect(true); }
    StubCuda* stub;
  };
  const Unprotected memory(this);
  const auto ready = [](const Work& work) {
    return work.wait == nullptr || work.wait->completed >= work.generation;
  };
  while (!done()) {
    std::vector<std::deque<Work>*> queues;
    for (const auto& stream : streams_) {
      if (stream->capture == nullptr) queues.push_back(&stream->work);
    }
    // Otherwise what is waited for never comes.
    LANESCOPE_CHECK(RunOneOf(std::move(queues), ready, [](const Work&) {}));
  }
}

void StubCuda::RunGraph(const Graph& graph) {
  std::vector<std::deque<Work>> lanes = graph.lanes;
  std::vector<bool> ran(graph.nodes, false);
  std::vector<std::deque<Work>*> queues;
  for (auto& lane : lanes) queues.push_back(&lane);
  const auto ready = [&](const Work& work) {
    return work.captured_wait == SIZE_MAX || ran[work.captured_wait];
  };
  size_t left = graph.nodes;
  while (left > 0) {
    LANESCOPE_CHECK(RunOneOf(queues, ready, [&](const Work& work) { ran[work.node] = true; }));
    --left;
  }
}

void StubCuda::Protect(bool on) {
  protected_depth_ += on ? -1 : 1;
  if (protected_depth_ != (on ? 0 : 1)) return;
  for (const auto& [memory, block] : device_)
    mprotect(memory, static_cast<size_t>(block.bytes), on ? PROT_NONE : PROT_READ | PROT_WRITE);
}

bool StubCuda::IsDeviceMemory(const void* memory) const {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  auto* address = static_cast<char*>(const_cast<void*>(memory));
  const auto after = device_.upper_bound(address);
  if (after == device_.begin()) return false;
  const auto block = std::prev(after);
  return address < block->first + block->second.bytes;
}

std::unique_ptr<StreamContext> StubCuda::MakeLaunch(const cuda::LaunchSpec& spec) {
  return std::make_unique<StubLaunch>(this, spec);
}

std::unique_ptr<cuda::Load> StubCuda::MakeLoad(cuda::LoadKind kind, const cuda::LaunchSpec& spec) {
  class StubLoad : public cuda::Load {
   public:
    StubLoad(StubCuda* stub, cuda::LoadKind kind, cuda::StreamHandle stream)
        : stub_(stub), kind_(kind), stream_(stream) {}
    double flops() const override { return kind_ == cuda::LoadKind::kProduct ? 1e6 : 0; }
    double bytes() const override { return 1e6; }
    void Enqueue() override {
      stub_->Enqueue(stream_, [] {});
    }

   private:
    StubCuda* stub_;
    cuda::LoadKind kind_;
    cuda::StreamHandle stream_;
  };
  return std::make_unique<StubLoad>(this, kind, spec.stream);
}

}  // namespace lanescope::exec::testing
