// SPDX-License-Identifier: Apache-2.0
#include "exec/measure/measure.h"

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/processors.h"
#include "core/base/statistics.h"
#include "core/base/thread.h"
#include "core/record/recorder.h"
#include "exec/kernels/product.h"
#include "exec/messages/pacer.h"

namespace lanescope::exec {
namespace {

int64_t TimeSliceNs() {
  if (sched_getscheduler(0) == SCHED_FIFO) return INT32_MAX;
  timespec slice{};
  if (sched_rr_get_interval(0, &slice) != 0) return 0;
  // Linux says whole ticks: a slice shorter than one reads as 0, and ends at one.
  if (slice.tv_sec == 0 && slice.tv_nsec == 0 && clock_getres(CLOCK_MONOTONIC_COARSE, &slice) != 0) return 0;
  return int64_t{1000000000} * slice.tv_sec + slice.tv_nsec;
}

void CheckNotCancelled(const std::atomic<bool>* cancelled) {
  if (cancelled != nullptr && cancelled->load(std::memory_order_relaxed))
    Throw(Code::kCancelled, "interrupted");
}

// A piece of work of about a millisecond that one thread can repeat.
class NeighbourLoad {
 public:
  virtual ~NeighbourLoad() = default;
  virtual void Run() = 0;
};

class ComputeLoad : public NeighbourLoad {
 public:
  static constexpr int kSize = 256;
  static constexpr int kProducts = 3;
  static constexpr double kFlops = 2.0 * kSize * kSize * kSize * kProducts;
  ComputeLoad() : a_(kSize * kSize, 0.5f), b_(kSize * kSize, 0.25f), c_(kSize * kSize) {}
  void Run() override {
    for (int i = 0; i < kProducts; ++i) {
      Multiply<float>(nullptr, kSize, kSize, kSize, {a_.data(), kSize, false}, {b_.data(), kSize, false},
                      c_.data());
    }
  }

 private:
  std::vector<float> a_, b_, c_;
};

// z = x + y, walking through arrays that no private cache holds.
class MemoryLoad : public NeighbourLoad {
 public:
  static constexpr size_t kElements = size_t{4} << 20;
  static constexpr size_t kPart = kElements / 8;
  static constexpr double kBytes = 3.0 * sizeof(float) * kPart;
  MemoryLoad() : x_(kElements, 1.0f), y_(kElements, 2.0f), z_(kElements) {}
  void Run() override {
    const float* x = x_.data() + part_ * kPart;
    const float* y = y_.data() + part_ * kPart;
    float* z = z_.data() + part_ * kPart;
    for (size_t i = 0; i < kPart; ++i) z[i] = x[i] + y[i];
    part_ = (part_ + 1) % 8;
  }

 private:
  std::vector<float> x_, y_, z_;
  size_t part_ = 0;
};

class CopyLoad : public NeighbourLoad {
 public:
  CopyLoad(const Machine& machine, Route route)
      : pacer_(machine), route_(std::move(route)), from_(kBytes(), 1), to_(kBytes()) {}
  void Run() override { pacer_.Copy(route_, to_.data(), from_.data(), Bytes(), never_); }

 private:
  static size_t kBytes() { return size_t{8} << 20; }
  // About two milliseconds of the link.
  int64_t Bytes() const {
    return std::clamp<int64_t>(static_cast<int64_t>(route_.bandwidth * 0.002), 64 << 10, 8 << 20);
  }

  Pacer pacer_;
  Route route_;
  std::vector<char> from_, to_;
  std::atomic<bool> never_{false};
};

// Repeats a load on a second thread while the object lives.
class Neighbour {
 public:
  explicit Neighbour(NeighbourLoad* load)
      : thread_("a load beside the measured one", [this, load] {
          const int64_t cpu = ThreadNs(), wall = NowNs();
          while (!stop_.load(std::memory_order_relaxed)) load->Run();
          cores_ = static_cast<double>(ThreadNs() - cpu) /
                   static_cast<double>(std::max<int64_t>(1, NowNs() - wall));
        }) {}
  ~Neighbour() { stop_.store(true, std::memory_order_relaxed); }
  // The share of a core that the load used. Throws what the load has thrown.
  double Stop() {
    stop_.store(true, std::memory_order_relaxed);
    thread_.Join();
    return cores_;
  }

 private:
  std::atomic<bool> stop_{false};
  double cores_ = 0;
  Thread thread_;  // first to go: it refers to the rest
};

// Median ns of one repetition.
double TimeLoad(NeighbourLoad* load, int64_t budget_ns, const std::atomic<bool>* cancelled) {
  std::vector<double> samples;
  load->Run();
  const int64_t end = NowNs() + budget_ns;
  while (samples.size() < 5 || NowNs() < end) {
    CheckNotCancelled(cancelled);
    const int64_t start = NowNs();
    load->Run();
    samples.push_back(static_cast<double>(NowNs() - start));
    if (samples.size() > 2000) break;
  }
  return Median(std::move(samples));
}

Route CopyRoute(const Machine& machine) {
  const auto gpus = machine.Gpus();
  if (gpus.size() >= 2) return machine.RouteBetween(gpus[0], gpus[1]);
  if (gpus.size() == 1) return machine.RouteBetween(machine.host(), gpus[0]);
  Route route;  // a machine without links: an unpaced copy
  route.bandwidth = MeasuredCopyBandwidth();
  return route;
}

}  // namespace

HostMeasurement MeasureHost(const Machine& machine, int budget_ms, const std::atomic<bool>* cancelled) {
  HostMeasurement result;
  result.cores = NumProcessors();
  result.slice_ns = TimeSliceNs();
  const auto make = [&](int kind) -> std::unique_ptr<NeighbourLoad> {
    if (kind == 0) return std::make_unique<ComputeLoad>();
    if (kind == 1) return std::make_unique<MemoryLoad>();
    return std::make_unique<CopyLoad>(machine, CopyRoute(machine));
  };
  std::array<std::unique_ptr<NeighbourLoad>, kNumWorkClasses> victims, neighbours;
  for (int i = 0; i < kNumWorkClasses; ++i) {
    victims[static_cast<size_t>(i)] = make(i);
    neighbours[static_cast<size_t>(i)] = make(i);
  }
  std::vector<double> copy_cores;
  constexpr int kRounds = 3;
  const int64_t slot = int64_t{1000000} * budget_ms / (kRounds * kNumWorkClasses * (kNumWorkClasses + 1));
  for (size_t v = 0; v < kNumWorkClasses; ++v) {
    std::array<std::vector<double>, kNumWorkClasses> ratios;
    std::vector<double> alone_times;
    for (int round = 0; round < kRounds; ++round) {
      const double alone = TimeLoad(victims[v].get(), slot, cancelled);
      alone_times.push_back(alone);
      for (size_t n = 0; n < kNumWorkClasses; ++n) {
        Neighbour neighbour(neighbours[n].get());
        ratios[n].push_back(TimeLoad(victims[v].get(), slot, cancelled) / alone);
        const double cores = neighbour.Stop();
        if (n == static_cast<size_t>(WorkClass::kCopy)) copy_cores.push_back(std::min(1.0, cores));
      }
    }
    for (size_t n = 0; n < kNumWorkClasses; ++n) result.slowdown[v][n] = std::max(1.0, Median(ratios[n]));
    const double alone = Median(alone_times);
    if (v == static_cast<size_t>(WorkClass::kCompute))
      result.flops_per_second = 1e9 * ComputeLoad::kFlops / alone;
    if (v == static_cast<size_t>(WorkClass::kMemory))
      result.bytes_per_second = 1e9 * MemoryLoad::kBytes / alone;
  }
  result.copy_cores = Median(std::move(copy_cores));
  return result;
}

std::vector<LinkTime> MeasureLinks(const Machine& machine, int64_t max_bytes, int repetitions,
                                   const std::atomic<bool>* cancelled) {
  std::vector<LinkTime> times;
  Pacer pacer(machine);
  const std::atomic<bool> never{false};
  const std::atomic<bool>& stop = cancelled != nullptr ? *cancelled : never;
  const auto capacity = static_cast<size_t>(std::max<int64_t>(4, max_bytes));
  const std::vector<char> from(capacity, 1);
  std::vector<char> to(capacity);
  for (const LinkSpec& link : machine.links) {
    for (const auto& [src, dst] : {std::pair(link.a, link.b), std::pair(link.b, link.a)}) {
      const Route route = machine.RouteBetween(src, dst);
      for (int64_t bytes = 4; bytes <= max_bytes; bytes = bytes < 65536 ? bytes * 128 : bytes * 4) {
        std::vector<double> samples;
        for (int r = 0; r < repetitions; ++r) {
          CheckNotCancelled(cancelled);
          const int64_t start = NowNs();
          pacer.Copy(route, to.data(), from.data(), bytes, stop);
          samples.push_back(static_cast<double>(NowNs() - start));
        }
        times.push_back({src, dst, bytes, static_cast<int64_t>(Median(std::move(samples)))});
      }
      if (link.duplex) continue;
      break;
    }
  }
  return times;
}

}  // namespace lanescope::exec
