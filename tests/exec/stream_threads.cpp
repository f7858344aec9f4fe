// SPDX-License-Identifier: Apache-2.0
#include "tests/exec/stream_threads.h"

#include <array>
#include <cstring>
#include <deque>
#include <exception>
#include <iterator>
#include <new>

#include "core/base/error.h"
#include "core/base/thread.h"
#include "core/base/units.h"
#include "core/record/recorder.h"
#include "exec/device/memory_pool.h"
#include "exec/device/thread_team.h"
#include "tests/exec/later_kernel.h"

namespace lanescope::exec::test {
namespace {

constexpr std::align_val_t kAlignment{256};

// Runs its work in order. What has failed is kept for Synchronize, and skips other work until then; the
// steps that order streams are taken all the same, so that nobody waits for ever.
class StreamThread {
 public:
  StreamThread() : thread_("a stream of the tests", [this] { Loop(); }) {}
  ~StreamThread() {
    Push({nullptr, false});
    thread_.Wait();
  }
  void Run(std::function<void()> work) { Push({std::move(work), false}); }
  void Order(std::function<void()> step) { Push({std::move(step), true}); }
  void Synchronize() {
    std::unique_lock<std::mutex> lock(mutex_);
    const int64_t wanted = issued_;
    changed_.wait(lock, [&] { return done_ >= wanted; });
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }
  bool IsEmpty() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (done_ < issued_) return false;
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
    return true;
  }

 private:
  struct Item {
    std::function<void()> run;  // empty: the end
    bool always = false;
  };
  void Push(Item item) {
    const std::lock_guard<std::mutex> lock(mutex_);
    items_.push_back(std::move(item));
    ++issued_;
    changed_.notify_all();
  }
  void Loop() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return !items_.empty(); });
      const Item item = std::move(items_.front());
      items_.pop_front();
      if (!item.run) return;
      const bool skipped = error_ != nullptr && !item.always;
      lock.unlock();
      std::exception_ptr error;
      try {
        if (!skipped) item.run();
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      if (error_ == nullptr) error_ = error;
      ++done_;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Item> items_;
  int64_t issued_ = 0, done_ = 0;
  std::exception_ptr error_;
  Thread thread_;
};

class ThreadEvent {
 public:
  int64_t Issue() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return ++issued_;
  }
  int64_t issued() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return issued_;
  }
  void Reach(int64_t number) {
    const std::lock_guard<std::mutex> lock(mutex_);
    reached_ = number;
    time_ns_ = NowNs();
    changed_.notify_all();
  }
  void Await(int64_t number) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return reached_ >= number; });
  }
  bool HasReached(int64_t number) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return reached_ >= number;
  }
  int64_t time_ns() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return time_ns_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  int64_t issued_ = 0, reached_ = 0, time_ns_ = 0;
};

StreamThread* At(StreamHandle stream) { return reinterpret_cast<StreamThread*>(stream); }
ThreadEvent* At(EventHandle event) { return reinterpret_cast<ThreadEvent*>(event); }

class ThreadLaunch : public LaterStream {
 public:
  ThreadLaunch(StreamThreads* driver, StreamHandle stream) : driver_(driver), stream_(stream) {}
  bool IsDeviceMemory(const void* memory) const override { return driver_->OwnerOf(memory) != kHostMemory; }
  void Enqueue(std::function<void()> work) override { driver_->Enqueue(stream_, std::move(work)); }
  void Synchronize() override { driver_->Synchronize(stream_); }

 private:
  StreamThreads* driver_;
  StreamHandle stream_;
};

// Adds two rows of numbers, again and again where it stands for arithmetic.
class ThreadLoad : public DeviceLoad {
 public:
  ThreadLoad(StreamThreads* driver, WorkClass work_class, StreamHandle stream)
      : driver_(driver), turns_(work_class == WorkClass::kCompute ? 64 : 1), stream_(stream) {}
  double flops() const override { return static_cast<double>(turns_) * kElements; }
  double bytes() const override { return 3.0 * sizeof(float) * kElements; }
  void Enqueue() override {
    driver_->Enqueue(stream_, [this] {
      for (int turn = 0; turn < turns_; ++turn) {
        for (size_t i = 0; i < kElements; ++i) sum_[i] += term_[i];
      }
    });
  }

 private:
  static constexpr size_t kElements = 1024;
  StreamThreads* driver_;
  int turns_;
  StreamHandle stream_;
  std::vector<float> sum_ = std::vector<float>(kElements), term_ = std::vector<float>(kElements, 1.0f);
};

class ThreadDevice : public StreamDevice {
 public:
  ThreadDevice(const DeviceSpec& spec, StreamThreads* driver)
      : spec_(spec),
        driver_(driver),
        pool_(
            {spec.memory_bytes, true},
            [this](int64_t bytes) { return driver_->AllocateDevice(ordinal(), bytes); },
            [this](void* region) { driver_->FreeDevice(region); }),
        team_(MakeThreadTeam(1)) {
    for (StreamHandle& stream : streams_) stream = driver_->CreateStream();
    launch_ = std::make_unique<ThreadLaunch>(driver_, stream(QueueKind::kCompute));
  }
  ~ThreadDevice() override {
    for (const StreamHandle stream : streams_) driver_->DestroyStream(stream);
  }

  const DeviceSpec& spec() const override { return spec_; }
  const KernelRegistry& kernels() const override { return driver_->kernels(); }
  void* Allocate(int64_t bytes) override {
    void* memory = pool_.Allocate(bytes);
    if (memory == nullptr)
      Throw(Code::kResourceExhausted, "{} has no {} left", spec_.local_name(), FormatBytes(bytes));
    return memory;
  }
  void Free(void* memory) override { pool_.Free(memory); }
  void Upload(void* to, const void* from, int64_t bytes) override {
    if (bytes > 0) std::memcpy(to, from, static_cast<size_t>(bytes));
  }
  void Download(void* to, const void* from, int64_t bytes) override { Upload(to, from, bytes); }
  WorkerTeam& team() override { return *team_; }
  StreamDriver& driver() const override { return *driver_; }
  int ordinal() const override { return spec_.parsed.id; }
  StreamHandle stream(QueueKind kind) const override { return streams_[static_cast<size_t>(kind)]; }
  StreamContext* launch() override { return launch_.get(); }
  std::unique_ptr<DeviceLoad> MakeLoad(WorkClass work_class, StreamHandle stream) override {
    return std::make_unique<ThreadLoad>(driver_, work_class, stream);
  }
  std::string advice() const override { return "look at the test"; }

 private:
  DeviceSpec spec_;
  StreamThreads* driver_;
  MemoryPool pool_;
  std::array<StreamHandle, 3> streams_{};  // by QueueKind
  std::unique_ptr<ThreadLaunch> launch_;
  std::unique_ptr<WorkerTeam> team_;
};

}  // namespace

StreamThreads::StreamThreads() { RegisterLaterKernels(&kernels_); }

IdVector<DeviceId, std::unique_ptr<Device>> StreamThreads::MakeDevices(const Machine& machine,
                                                                       const DeviceOptions&) {
  IdVector<DeviceId, std::unique_ptr<Device>> devices(machine.devices.size());
  for (const DeviceId d : devices.ids()) {
    if (Serves(machine.devices[d])) devices[d] = std::make_unique<ThreadDevice>(machine.devices[d], this);
  }
  return devices;
}

void StreamThreads::Hold(bool held) {
  const std::lock_guard<std::mutex> lock(mutex_);
  held_ = held;
  released_.notify_all();
}

int StreamThreads::CountGpus(std::string* reason) {
  *reason = "threads are no GPUs";
  return 0;
}

bool StreamThreads::Load(std::string* reason) { return CountGpus(reason) > 0; }

Machine StreamThreads::Describe(const std::vector<int>&, const GpuMemoryOptions&) {
  Throw(Code::kFailedPrecondition, "threads are no GPUs");
}

void* StreamThreads::AllocateHost(int64_t bytes) {
  ++live_objects_;
  return ::operator new(static_cast<size_t>(bytes));
}

void StreamThreads::FreeHost(void* memory) noexcept {
  --live_objects_;
  ::operator delete(memory);
}

StreamHandle StreamThreads::CreateStream() {
  ++live_objects_;
  return reinterpret_cast<StreamHandle>(new StreamThread());
}

void StreamThreads::DestroyStream(StreamHandle stream) noexcept {
  --live_objects_;
  delete At(stream);
}

void StreamThreads::Synchronize(StreamHandle stream) { At(stream)->Synchronize(); }
bool StreamThreads::IsEmpty(StreamHandle stream) { return At(stream)->IsEmpty(); }

EventHandle StreamThreads::CreateEvent(bool) {
  ++live_objects_;
  return reinterpret_cast<EventHandle>(new ThreadEvent());
}

void StreamThreads::DestroyEvent(EventHandle event) noexcept {
  --live_objects_;
  delete At(event);
}

void StreamThreads::Record(EventHandle event, StreamHandle stream) {
  const int64_t number = At(event)->Issue();
  At(stream)->Order([event, number] { At(event)->Reach(number); });
}

void StreamThreads::Wait(StreamHandle stream, EventHandle event) {
  const int64_t number = At(event)->issued();
  At(stream)->Order([event, number] { At(event)->Await(number); });
}

void StreamThreads::SynchronizeEvent(EventHandle event) { At(event)->Await(At(event)->issued()); }

bool StreamThreads::IsReached(EventHandle event) { return At(event)->HasReached(At(event)->issued()); }

int64_t StreamThreads::ElapsedNs(EventHandle start, EventHandle end) {
  return At(end)->time_ns() - At(start)->time_ns();
}

void StreamThreads::Copy(StreamHandle stream, void* to, int to_ordinal, const void* from, int from_ordinal,
                         int64_t bytes) {
  if (copies_until_refusal_ > 0 && --copies_until_refusal_ == 0)
    Throw(Code::kInternal, "the copy is refused");
  LANESCOPE_CHECK(OwnerOf(to) == to_ordinal && OwnerOf(from) == from_ordinal);
  Enqueue(stream, [=] { std::memcpy(to, from, static_cast<size_t>(bytes)); });
}

void StreamThreads::Enqueue(StreamHandle stream, std::function<void()> work) {
  At(stream)->Run([this, work = std::move(work)] {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      released_.wait(lock, [this] { return !held_; });
    }
    ++commands_run_;
    work();
  });
}

void* StreamThreads::AllocateDevice(int ordinal, int64_t bytes) {
  void* memory = ::operator new(static_cast<size_t>(bytes), kAlignment);
  const std::lock_guard<std::mutex> lock(mutex_);
  blocks_[static_cast<const char*>(memory)] = {bytes, ordinal};
  ++live_objects_;
  return memory;
}

void StreamThreads::FreeDevice(void* memory) noexcept {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    blocks_.erase(static_cast<const char*>(memory));
  }
  --live_objects_;
  ::operator delete(memory, kAlignment);
}

int StreamThreads::OwnerOf(const void* memory) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto* address = static_cast<const char*>(memory);
  const auto after = blocks_.upper_bound(address);
  if (after == blocks_.begin()) return kHostMemory;
  const auto& [begin, block] = *std::prev(after);
  return address < begin + block.bytes ? block.ordinal : kHostMemory;
}

}  // namespace lanescope::exec::test
