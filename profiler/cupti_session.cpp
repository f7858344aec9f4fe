// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "core/base/clock.h"
#include "profiler/activity_decoder.h"
#include "profiler/bounded_work.h"
#include "profiler/buffer_pool.h"
#include "profiler/capture_session.h"
#include "profiler/clock_alignment.h"
#include "profiler/cuda_driver.h"
#include "profiler/cupti_kinds.h"
#include "profiler/cupti_library.h"
#include "profiler/graph_nodes.h"
#include "profiler/quiet_thread.h"

namespace lanescope::profiler {
namespace {

// At the end of a program nothing may wait without bound: a device may never become idle, and the driver may
// be half gone.
constexpr int kMaxWaitForDevicesMs = 5000, kMaxWaitForFlushMs = 10000;
constexpr size_t kMaxNotes = 32;
constexpr int kReaderWaitMs = 100;
// A batch is handed on when it is about this large.
constexpr size_t kBatchBytes = size_t{4} << 20;
// The default clock of CUPTI is ahead of ours by years; ours by the time between two readings.
constexpr int64_t kSameClockNs = 1000000;

// The callbacks see these.
std::atomic<BufferPool*> active_pool{nullptr};
std::atomic<bool> session_exists{false};
bool has_own_clock = false;  // set once in a process: the clock must not change

// Buffers stay with the process, as CUPTI keeps some of them.
BufferPool* ProcessPool() {
  static BufferPool* pool = new BufferPool;
  return pool;
}

void RequestBuffer(uint8_t** buffer, size_t* size, size_t* max_records) {
  BufferPool* pool = active_pool.load(std::memory_order_acquire);
  *max_records = 0;
  *buffer = pool == nullptr ? nullptr : pool->Lend();
  *size = *buffer == nullptr ? 0 : BufferPool::kBufferBytes;
}

void CompleteBuffer(void*, uint32_t, uint8_t* buffer, size_t, size_t valid) {
  if (BufferPool* pool = active_pool.load(std::memory_order_acquire)) pool->Return(buffer, valid);
}

uint64_t ReadClock() { return static_cast<uint64_t>(NowNs()); }

class CuptiSession : public CaptureSession {
 public:
  CuptiSession(const CaptureOptions& options, traces::ActivitySink* sink,
               std::unique_ptr<CuptiLibrary> library)
      : options_(options), sink_(sink), library_(std::move(library)), pool_(ProcessPool()) {}

  ~CuptiSession() override { Stop(); }

  bool Begin(std::string* reason) {
    if (!Subscribe(reason)) return false;
    if (!Configure(reason)) {
      library_->Unsubscribe(subscriber_);
      return false;
    }
    AlignClock();
    if (!StartThreads(reason)) {
      library_->Unsubscribe(subscriber_);
      return false;
    }
    running_ = true;
    return true;
  }

  void SetRecording(bool on) override { kinds_.SetRecording(on); }

  void KeepFrom(int64_t ns) override { keep_from_ns_.store(ns); }

  void PushTag(uint64_t tag) override { library_->PushExternalCorrelationId(cupti::kOurCorrelation, tag); }
  void PopTag() override {
    uint64_t last = 0;
    library_->PopExternalCorrelationId(cupti::kOurCorrelation, &last);
  }

  void AddGraphNode(void* node, uint64_t tag) override {
    uint64_t id = 0;
    if (library_->GetGraphNodeId(node, &id) != cupti::kSuccess || id == 0) return;
    graph_nodes_.Add(id, tag);
  }

  void Flush() override {
    if (!running_) return;
    if (!RunBounded(kMaxWaitForDevicesMs, SynchronizeDevices)) Note("the devices were busy while it flushed");
    Check(library_->FlushAll(0), "flushing");
    std::unique_lock lock(mutex_);
    const int64_t wanted = ++wanted_passes_;
    pool_->Wake();
    const std::chrono::milliseconds most(kMaxWaitForFlushMs);
    if (!wake_.wait_for(lock, most, [&] { return passes_ >= wanted; })) Note("a flush did not end");
  }

  void Stop() override {
    if (!running_) return;
    if (!RunBounded(kMaxWaitForDevicesMs, SynchronizeDevices)) Note("the devices were still busy at the end");
    {
      std::lock_guard lock(mutex_);
      stop_flushing_ = true;
      wake_.notify_all();
    }
    const bool flushed = RunBounded(kMaxWaitForFlushMs, [library = library_] {
      library->FlushAll(0);
      library->FlushAll(cupti::kFlushForced);
    });
    if (!flushed) Note("the last flush did not end");
    if (flushed || options_.can_detach) {
      flusher_.join();
    } else {
      flusher_.detach();  // the session is never destroyed
    }
    if (options_.can_detach) {
      SetRecording(false);
      kinds_.DisableFacts();
      Check(library_->FlushAll(cupti::kFlushForced), "the last flush");
    }
    stop_reading_.store(true);
    pool_->Wake();
    reader_.join();
    if (options_.can_detach) {
      active_pool.store(nullptr, std::memory_order_release);
      Check(library_->Unsubscribe(subscriber_), "detaching");
    }
    running_ = false;
    session_exists.store(false);
  }

  std::vector<std::string> Notes() const override {
    std::lock_guard lock(mutex_);
    return notes_;
  }

 private:
  bool StartThreads(std::string* reason) {
    try {
      reader_ = StartQuietThread([this] { Read(); });
      flusher_ = StartQuietThread([this] { FlushLoop(); });
      return true;
    } catch (const std::system_error& error) {
      *reason = std::string("no thread could be started for the capture: ") + error.what();
    }
    if (!reader_.joinable()) return false;
    stop_reading_.store(true);
    pool_->Wake();
    reader_.join();
    return false;
  }

  void Note(const std::string& note) {
    std::lock_guard lock(mutex_);
    const bool known = std::find(notes_.begin(), notes_.end(), note) != notes_.end();
    if (!known && notes_.size() < kMaxNotes) notes_.push_back(note);
  }
  bool Check(cupti::Result result, const char* what) {
    if (result == cupti::kSuccess) return true;
    Note(std::string(what) + ": " + library_->Describe(result));
    return false;
  }

  // Only clones of graph nodes call back, while a graph is made ready; never a launch.
  static void OnCallback(void* session, int32_t domain, uint32_t id, const void* data) {
    if (domain != cupti::kResource || id != cupti::kGraphNodeCloned || data == nullptr) return;
    auto* self = static_cast<CuptiSession*>(session);
    const auto* graph =
        static_cast<const cupti::GraphData*>(static_cast<const cupti::ResourceData*>(data)->description);
    uint64_t original = 0, clone = 0;
    if (graph == nullptr ||
        self->library_->GetGraphNodeId(graph->original_node, &original) != cupti::kSuccess ||
        self->library_->GetGraphNodeId(graph->node, &clone) != cupti::kSuccess) {
      return;
    }
    self->graph_nodes_.AddClone(original, clone);
  }

  bool Subscribe(std::string* reason) {
    char other[256] = {};
    cupti::SubscriberParams params{sizeof(params), "Lanescope", other, sizeof(other)};
    const cupti::Result result = library_->SubscribeNamed != nullptr
                                     ? library_->SubscribeNamed(&subscriber_, OnCallback, this, &params)
                                     : library_->Subscribe(&subscriber_, OnCallback, this);
    if (result == cupti::kSuccess) {
      if (options_.with_tags) {
        Check(library_->EnableCallback(1, subscriber_, cupti::kResource, cupti::kGraphNodeCloned),
              "nodes of CUDA graphs");
      }
      return true;
    }
    other[sizeof(other) - 1] = '\0';
    if (result == cupti::kMultipleSubscribers) {
      *reason = std::string("another profiler is attached to the process: ") +
                (other[0] == '\0' ? "it gives no name" : other);
    } else {
      *reason = "CUPTI does not start: " + library_->Describe(result);
    }
    return false;
  }

  bool Configure(std::string* reason) {
    for (const std::string& limit : library_->limits()) Note(limit);
    pool_->MayRefuse(library_->CanGoWithoutBuffer());
    uint8_t yes = 1;
    size_t size = sizeof(yes);
    Check(library_->SetAttribute(cupti::kZeroedBuffers, &size, &yes), "zeroed buffers");
    Check(library_->SetThreadIdType(cupti::kSystemThreads), "thread ids");
    if (!has_own_clock) {
      has_own_clock = Check(library_->RegisterTimestampCallback(ReadClock), "the clock");
    }
    active_pool.store(pool_, std::memory_order_release);
    cupti::Result result = library_->RegisterCallbacks(RequestBuffer, CompleteBuffer);
    if (result == cupti::kSuccess) {
      // Kernels are what a capture is for.
      result = library_->Enable(cupti::kConcurrentKernel);
      if (result == cupti::kNotInitialized) result = cupti::kSuccess;  // tried again, see CuptiKinds
    }
    if (result != cupti::kSuccess) {
      active_pool.store(nullptr, std::memory_order_release);
      *reason = "CUPTI cannot record kernels: " + library_->Describe(result);
      return false;
    }
    if (options_.recording) {
      SetRecording(true);
    } else {
      library_->Disable(cupti::kConcurrentKernel);
    }
    kinds_.EnableFacts();
    return true;
  }

  int64_t ReadCuptiClock() const {
    uint64_t now = 0;
    return library_->GetTimestamp(&now) == cupti::kSuccess ? static_cast<int64_t>(now) : 0;
  }

  // The first reading decides whether times are corrected; the last one tells whether the clocks drifted.
  void AlignClock() {
    const ClockOffset measured = MeasureClock([this] { return ReadCuptiClock(); });
    correction_ns_ = std::abs(measured.offset_ns) <= kSameClockNs ? 0 : measured.offset_ns;
    AddClock(measured);
  }
  void AddClock(const ClockOffset& measured) {
    traces::ClockRow row;
    row.time = measured.at_ns;
    row.offset = measured.offset_ns;
    row.uncertainty = measured.uncertainty_ns;
    row.samples = static_cast<uint64_t>(measured.readings);
    row.corrected = correction_ns_ != 0 ? 1 : 0;
    std::lock_guard lock(mutex_);
    clocks_.push_back(row);
  }

  void FlushLoop() {
    std::unique_lock lock(mutex_);
    while (!stop_flushing_) {
      wake_.wait_for(lock, std::chrono::milliseconds(options_.flush_interval_ms),
                     [this] { return stop_flushing_; });
      if (stop_flushing_) break;
      lock.unlock();
      Check(library_->FlushAll(0), "flushing");
      kinds_.Retry();
      lock.lock();
    }
  }

  // A session without a reader records nothing more, and says so; the program goes on.
  void Read() {
    try {
      ReadLoop();
    } catch (const std::exception& error) {
      Note(std::string("the capture ended early, and what came after is missing: ") + error.what());
    }
  }

  void ReadLoop() {
    ActivityDecoder decoder(*library_, correction_ns_);
    traces::ActivityBatch batch;
    while (true) {
      const bool last = stop_reading_.load();
      if (!last) pool_->WaitForWork(kReaderWaitMs);
      const int64_t wanted = WantedPasses();
      for (BufferPool::Full full = pool_->Take(); full.data != nullptr; full = pool_->Take()) {
        decoder.Decode(full.data, full.bytes, &batch);
        pool_->Recycle(full);
        pool_->Replenish();
        if (traces::NumBytes(batch) >= kBatchBytes) Deliver(&batch);
      }
      pool_->Replenish();
      if (last) {
        AddClock(MeasureClock([this] { return ReadCuptiClock(); }));
      }
      CollectLosses(&batch);
      Deliver(&batch);
      TellPasses(wanted);
      if (last) return;
    }
  }

  // A pass of the reader delivers all that was returned before it; who flushes waits for one.
  int64_t WantedPasses() const {
    std::lock_guard lock(mutex_);
    return wanted_passes_;
  }
  void TellPasses(int64_t passes) {
    std::lock_guard lock(mutex_);
    if (passes == passes_) return;
    passes_ = passes;
    wake_.notify_all();
  }

  void CollectLosses(traces::ActivityBatch* batch) {
    size_t dropped = 0;
    if (library_->GetNumDroppedRecords(nullptr, 0, &dropped) == cupti::kSuccess) {
      batch->Count(traces::Loss::kDropped, static_cast<int64_t>(dropped));
    }
    const int64_t refused = pool_->refused();
    batch->Count(traces::Loss::kRefusedBuffers, refused - refused_);
    refused_ = refused;
    for (const traces::GraphNodeRow& node : graph_nodes_.TakeNew()) batch->graph_nodes.push_back(node);
    std::lock_guard lock(mutex_);
    batch->clocks.insert(batch->clocks.end(), clocks_.begin(), clocks_.end());
    clocks_.clear();
  }

  void Deliver(traces::ActivityBatch* batch) {
    if (options_.mode != CaptureMode::kFull) batch->calls.clear();
    if (const int64_t from = keep_from_ns_.load(); from > 0) {
      traces::ForEachTable(*batch, [&]<typename Row>(std::vector<Row>& rows) {
        // Zero times are losses, and the writer counts them.
        if constexpr (requires(Row row) { row.start; }) {
          std::erase_if(rows, [from](const Row& row) { return row.start > 0 && row.start < from; });
        }
      });
    }
    if (traces::IsEmpty(*batch)) return;
    sink_->Consume(std::move(*batch));
    *batch = traces::ActivityBatch();
  }

  const CaptureOptions options_;
  traces::ActivitySink* const sink_;
  const std::shared_ptr<const CuptiLibrary> library_;
  BufferPool* const pool_;
  cupti::Subscriber subscriber_ = nullptr;
  bool running_ = false;
  int64_t correction_ns_ = 0;
  int64_t refused_ = 0;  // reader
  std::atomic<int64_t> keep_from_ns_{0};
  std::atomic<bool> stop_reading_{false};

  mutable std::mutex mutex_;  // of what follows
  std::condition_variable wake_;
  bool stop_flushing_ = false;
  int64_t wanted_passes_ = 0, passes_ = 0;
  std::vector<std::string> notes_;
  std::vector<traces::ClockRow> clocks_;

  CuptiKinds kinds_{library_, options_.mode, options_.with_tags,
                    [this](const std::string& note) { Note(note); }};
  GraphNodes graph_nodes_;
  QuietThread reader_, flusher_;
};

}  // namespace

std::unique_ptr<CaptureSession> CaptureSession::Start(const CaptureOptions& options,
                                                      traces::ActivitySink* sink, std::string* reason) {
  if (options.mode == CaptureMode::kOff) {
    *reason = "the capture is off";
    return nullptr;
  }
  if (!HasCudaDriver()) {
    *reason = "this machine has no CUDA driver (libcuda.so.1)";
    return nullptr;
  }
  std::unique_ptr<CuptiLibrary> library = CuptiLibrary::Load(reason);
  if (library == nullptr) return nullptr;
  if (session_exists.exchange(true)) {
    *reason = "this process is captured already";
    return nullptr;
  }
  auto session = std::make_unique<CuptiSession>(options, sink, std::move(library));
  if (session->Begin(reason)) return session;
  session_exists.store(false);
  return nullptr;
}

}  // namespace lanescope::profiler
