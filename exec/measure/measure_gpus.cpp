// SPDX-License-Identifier: Apache-2.0
// Microbenchmarks of GPUs: copies alone and against each other, products and streaming kernels beside them.
// Durations are the host's, from an empty device to an empty device, over so many repetitions that launching
// does not count; of single copies too, since that is what a scheduled copy costs.
#include <algorithm>
#include <map>
#include <memory>

#include "core/base/error.h"
#include "core/base/statistics.h"
#include "core/record/recorder.h"
#include "exec/device/backends.h"
#include "exec/device/stream_device.h"
#include "exec/measure/gpu_machine.h"

namespace lanescope::exec {
namespace {

constexpr int64_t kSmallestCopy = 4;
constexpr double kSlot = 10e6;  // ns that a repeated load should take

// Several buffers must fit into every device's limit.
int64_t LargestCopy(const Machine& machine, int64_t wanted) {
  for (const DeviceSpec& device : machine.devices) {
    if (device.is_gpu() && device.memory_bytes > 0) wanted = std::min(wanted, device.memory_bytes / 8);
  }
  return std::max(wanted, kSmallestCopy);
}

// Pinned host memory.
class HostBuffer {
 public:
  HostBuffer(StreamDriver* driver, int64_t bytes) : driver_(driver), memory_(driver->AllocateHost(bytes)) {}
  ~HostBuffer() { driver_->FreeHost(memory_); }
  HostBuffer(const HostBuffer&) = delete;
  HostBuffer& operator=(const HostBuffer&) = delete;
  void* get() const { return memory_; }

 private:
  StreamDriver* driver_;
  void* memory_;
};

class DeviceBuffer {
 public:
  DeviceBuffer(StreamDevice* device, int64_t bytes) : device_(device), memory_(device->Allocate(bytes)) {}
  ~DeviceBuffer() { device_->Free(memory_); }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  void* get() const { return memory_; }

 private:
  StreamDevice* device_;
  void* memory_;
};

int OrdinalOf(const StreamDevice* device) { return device != nullptr ? device->ordinal() : kHostMemory; }

// A copy between two ends of a link, or inside one GPU; the queue that a schedule would put it on.
class CopyWork {
 public:
  // Null: the host.
  CopyWork(StreamDriver* driver, StreamDevice* from, StreamDevice* to, int64_t capacity)
      : driver_(driver), from_(from), to_(to), issuer_(from != nullptr ? from : to) {
    source_ = Allocate(from, capacity);
    target_ = Allocate(to, capacity);
    stream_ = issuer_->stream(from == nullptr ? QueueKind::kCopyIn
                              : from == to    ? QueueKind::kCompute
                                              : QueueKind::kCopyOut);
  }

  void Enqueue(int64_t bytes) {
    issuer_->MakeCurrent();
    driver_->Copy(stream_, target_, OrdinalOf(to_), source_, OrdinalOf(from_), bytes);
  }
  void Wait() { driver_->Synchronize(stream_); }
  double TimeOne(int64_t bytes) {
    const int64_t start = NowNs();
    Enqueue(bytes);
    Wait();
    return static_cast<double>(NowNs() - start);
  }

 private:
  void* Allocate(StreamDevice* device, int64_t bytes) {
    if (device != nullptr) {
      device_buffers_.push_back(std::make_unique<DeviceBuffer>(device, bytes));
      return device_buffers_.back()->get();
    }
    host_buffers_.push_back(std::make_unique<HostBuffer>(driver_, bytes));
    return host_buffers_.back()->get();
  }

  StreamDriver* driver_;
  StreamDevice *from_, *to_, *issuer_;
  std::vector<std::unique_ptr<DeviceBuffer>> device_buffers_;
  std::vector<std::unique_ptr<HostBuffer>> host_buffers_;
  void* source_ = nullptr;
  void* target_ = nullptr;
  StreamHandle stream_ = nullptr;
};

class GpuMeasurer {
 public:
  GpuMeasurer(Machine* machine, int64_t max_bytes, int repetitions, const std::atomic<bool>* cancelled)
      : machine_(*machine),
        max_bytes_(LargestCopy(*machine, max_bytes)),
        repetitions_(std::max(1, repetitions)),
        cancelled_(cancelled),
        devices_(MakeDevices(*machine, {})) {
    for (const auto& device : devices_) gpus_.Add(device != nullptr ? device->streams() : nullptr);
    for (StreamDevice* gpu : gpus_) {
      if (gpu != nullptr) driver_ = &gpu->driver();
    }
    LANESCOPE_CHECK(driver_ != nullptr);
  }

  GpuMeasurement Run() {
    for (const DeviceId d : gpus_.ids()) {
      if (gpus_[d] == nullptr) continue;
      MeasureRates(d);
      MeasureWithin(d);
      MeasureInterference(d);
    }
    for (LinkSpec& link : machine_.links) MeasureLink(&link);
    return std::move(result_);
  }

 private:
  StreamDevice* gpu(DeviceId d) const { return gpus_[d]; }

  void CheckCancelled() const {
    if (cancelled_ != nullptr && cancelled_->load(std::memory_order_relaxed))
      Throw(Code::kCancelled, "measuring was cancelled");
  }

  // ns of one repetition, from `count` of them.
  double TimeLoad(DeviceLoad* load, StreamDevice* gpu, StreamHandle stream, int count) {
    gpu->MakeCurrent();
    const int64_t start = NowNs();
    for (int i = 0; i < count; ++i) load->Enqueue();
    driver_->Synchronize(stream);
    return static_cast<double>(NowNs() - start) / count;
  }

  int CountFor(DeviceLoad* load, StreamDevice* gpu, StreamHandle stream) {
    TimeLoad(load, gpu, stream, 3);
    return std::clamp(static_cast<int>(kSlot / std::max(1.0, TimeLoad(load, gpu, stream, 3))), 3, 1000);
  }

  void MeasureRates(DeviceId d) {
    StreamDevice* gpu = gpus_[d];
    const auto stream = gpu->stream(QueueKind::kCompute);
    for (const WorkClass work_class : {WorkClass::kCompute, WorkClass::kMemory}) {
      CheckCancelled();
      const auto load = gpu->MakeLoad(work_class, stream);
      const int count = CountFor(load.get(), gpu, stream);
      std::vector<double> samples;
      for (int r = 0; r < repetitions_; ++r) samples.push_back(TimeLoad(load.get(), gpu, stream, count));
      const double ns = std::max(1.0, Median(samples));
      if (work_class == WorkClass::kCompute) {
        machine_.devices[d].peak_flops[DataType::kFloat] = 1e9 * load->flops() / ns;
      } else {
        machine_.devices[d].memory_bandwidth = 1e9 * load->bytes() / ns;
      }
    }
    DeviceSpec& device = machine_.devices[d];
    const bool has_others = device.peak_flops.size() > 1 || device.tf32_flops > 0 || device.float8_flops > 0;
    device.rates = has_others ? "measured: float32 and memory; data sheet: the rest" : "measured";
  }

  void MeasureWithin(DeviceId d) {
    CopyWork copy(driver_, gpu(d), gpu(d), max_bytes_);
    TimeSizes(d, d, &copy, &result_.within);
  }

  // Over sizes; of each the median of single copies.
  void TimeSizes(DeviceId src, DeviceId dst, CopyWork* copy, std::vector<LinkTime>* times) {
    for (int i = 0; i < 3; ++i) copy->TimeOne(max_bytes_);
    for (int64_t bytes = kSmallestCopy; bytes <= max_bytes_;
         bytes = bytes < 65536 ? bytes * 128 : bytes * 4) {
      CheckCancelled();
      std::vector<double> samples;
      for (int r = 0; r < repetitions_; ++r) samples.push_back(copy->TimeOne(bytes));
      times->push_back({src, dst, bytes, static_cast<int64_t>(Median(std::move(samples)))});
    }
  }

  void MeasureLink(LinkSpec* link) {
    if (gpu(link->a) == nullptr && gpu(link->b) == nullptr) return;
    CopyWork forward(driver_, gpu(link->a), gpu(link->b), max_bytes_);
    CopyWork backward(driver_, gpu(link->b), gpu(link->a), max_bytes_);
    const size_t first = result_.links.size();
    TimeSizes(link->a, link->b, &forward, &result_.links);
    const size_t second = result_.links.size();
    TimeSizes(link->b, link->a, &backward, &result_.links);
    const auto busy = TimeBothWays(&forward, &backward);
    result_.links_busy.push_back({link->a, link->b, max_bytes_, static_cast<int64_t>(busy)});
    link->table = MeanTable(first, second);
    const auto& [bytes, ns] = link->table.back();
    link->latency_ns = link->table.front().second;
    link->bandwidth = 1e9 * static_cast<double>(bytes) / static_cast<double>(std::max<int64_t>(1, ns));
    link->duplex = busy < 1.5 * static_cast<double>(ns);
  }

  // A link's table is one for both directions. Larger copies never take less time in it.
  std::vector<std::pair<int64_t, int64_t>> MeanTable(size_t first, size_t second) const {
    std::vector<std::pair<int64_t, int64_t>> table;
    int64_t last = 0;
    for (size_t i = first; i < second; ++i) {
      const LinkTime& there = result_.links[i];
      const LinkTime& back = result_.links[second + (i - first)];
      last = std::max(last, (there.ns + back.ns) / 2);
      table.emplace_back(there.bytes, last);
    }
    return table;
  }

  double TimeBothWays(CopyWork* forward, CopyWork* backward) {
    std::vector<double> samples;
    for (int r = 0; r < repetitions_; ++r) {
      CheckCancelled();
      const int64_t start = NowNs();
      forward->Enqueue(max_bytes_);
      backward->Enqueue(max_bytes_);
      forward->Wait();
      backward->Wait();
      samples.push_back(static_cast<double>(NowNs() - start));
    }
    return Median(std::move(samples));
  }

  // The victim on the compute stream, the neighbour on another stream of the same GPU, queued so deep that it
  // lasts longer.
  void MeasureInterference(DeviceId d) {
    StreamDevice* gpu = gpus_[d];
    const auto victim_stream = gpu->stream(QueueKind::kCompute);
    gpu->MakeCurrent();
    const auto beside_stream = gpu->stream(QueueKind::kCopyIn);
    GpuInterference interference;
    interference.gpu = gpu->spec().local_name();
    for (int v = 0; v < kNumWorkClasses; ++v) {
      for (int n = 0; n < kNumWorkClasses; ++n) {
        CheckCancelled();
        const Work victim = MakeWork(static_cast<WorkClass>(v), gpu, victim_stream);
        const Work beside = MakeWork(static_cast<WorkClass>(n), gpu, beside_stream);
        interference.slowdown[static_cast<size_t>(v)][static_cast<size_t>(n)] =
            SlowdownOf(victim, beside, victim_stream, beside_stream);
      }
    }
    result_.interference.push_back(interference);
  }

  struct Work {
    std::function<void()> enqueue;
    double ns = 0;
  };

  Work MakeWork(WorkClass work_class, StreamDevice* gpu, StreamHandle stream) {
    Work work;
    if (work_class == WorkClass::kCopy) {
      auto host = std::make_shared<HostBuffer>(driver_, max_bytes_);
      auto memory = std::make_shared<DeviceBuffer>(gpu, max_bytes_);
      work.enqueue = [this, host, memory, stream, gpu] {
        gpu->MakeCurrent();
        driver_->Copy(stream, memory->get(), gpu->ordinal(), host->get(), kHostMemory, max_bytes_);
      };
    } else {
      std::shared_ptr<DeviceLoad> load = gpu->MakeLoad(work_class, stream);
      work.enqueue = [load, gpu] {
        gpu->MakeCurrent();
        load->Enqueue();
      };
    }
    for (int i = 0; i < 2; ++i) work.ns = TimeWork(work, stream, 4);
    return work;
  }

  double TimeWork(const Work& work, StreamHandle stream, int count) {
    const int64_t start = NowNs();
    for (int i = 0; i < count; ++i) work.enqueue();
    driver_->Synchronize(stream);
    return std::max(1.0, static_cast<double>(NowNs() - start) / count);
  }

  double SlowdownOf(const Work& victim, const Work& beside, StreamHandle victim_stream,
                    StreamHandle beside_stream) {
    const int count = std::clamp(static_cast<int>(kSlot / victim.ns), 3, 200);
    // Should the victim become three times slower, the neighbour still lasts.
    const int neighbours = std::clamp(static_cast<int>(3 * count * victim.ns / beside.ns) + 1, 3, 2000);
    std::vector<double> ratios;
    for (int r = 0; r < repetitions_; ++r) {
      const double alone = TimeWork(victim, victim_stream, count);
      for (int i = 0; i < neighbours; ++i) beside.enqueue();
      const double together = TimeWork(victim, victim_stream, count);
      driver_->Synchronize(beside_stream);
      ratios.push_back(together / alone);
    }
    return std::max(1.0, Median(std::move(ratios)));
  }

  Machine& machine_;
  const int64_t max_bytes_;
  const int repetitions_;
  const std::atomic<bool>* cancelled_;
  IdVector<DeviceId, std::unique_ptr<Device>> devices_;
  IdVector<DeviceId, StreamDevice*> gpus_;
  StreamDriver* driver_ = nullptr;
  GpuMeasurement result_;
};

}  // namespace

GpuMeasurement MeasureGpus(Machine* machine, int64_t max_bytes, int repetitions,
                           const std::atomic<bool>* cancelled) {
  return GpuMeasurer(machine, max_bytes, repetitions, cancelled).Run();
}

}  // namespace lanescope::exec
