// SPDX-License-Identifier: Apache-2.0
#include "exec/messages/pacer.h"

#include <fmt/core.h>
#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "core/base/clock.h"
#include "core/base/units.h"

namespace lanescope::exec {
namespace {

// Longer sleeps are cut into pieces of this length, so that a cancelled copy ends soon.
constexpr int64_t kLongestSleepNs = 5000000;

void SleepUntil(int64_t deadline_ns) {
  thread_local const bool fine_timer =
      prctl(PR_SET_TIMERSLACK, 1UL) == 0;  // the default slack of 50 us is too coarse
  static_cast<void>(fine_timer);
  if (NowNs() >= deadline_ns) return;
  timespec at;
  at.tv_sec = deadline_ns / 1000000000;
  at.tv_nsec = deadline_ns % 1000000000;
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr) == EINTR) {
  }
}

void SleepUntil(int64_t deadline_ns, const std::atomic<bool>& cancelled) {
  while (!cancelled.load(std::memory_order_relaxed)) {
    const int64_t piece_end = NowNs() + kLongestSleepNs;
    SleepUntil(std::min(deadline_ns, piece_end));
    if (deadline_ns <= piece_end) return;
  }
}

}  // namespace

Pacer::Pacer(const Machine& machine) {
  for (int r = 0; r < machine.num_resources(); ++r) {
    auto resource = std::make_unique<Resource>();
    const double bandwidth = machine.ResourceBandwidth(r);
    resource->ns_per_byte = bandwidth > 0 ? 1e9 / bandwidth : 0;
    resources_.push_back(std::move(resource));
  }
}

int64_t Pacer::Reserve(int resource, int64_t earliest, int64_t bytes) {
  Resource& r = *resources_[static_cast<size_t>(resource)];
  const auto duration = static_cast<int64_t>(r.ns_per_byte * static_cast<double>(bytes));
  int64_t free = r.next_free.load(std::memory_order_relaxed);
  int64_t end;
  // Only the time itself is shared, no other memory depends on it: relaxed is enough.
  do {
    end = std::max(free, earliest) + duration;
  } while (!r.next_free.compare_exchange_weak(free, end, std::memory_order_relaxed));
  return end;
}

int64_t Pacer::Pass(const Route& route, int64_t earliest, int64_t bytes) {
  int64_t deadline = earliest;
  for (const int resource : route.resources)
    deadline = std::max(deadline, Reserve(resource, earliest, bytes));
  return deadline;
}

void Pacer::Copy(const Route& route, void* to, const void* from, int64_t bytes,
                 const std::atomic<bool>& cancelled) {
  // The start of a chunk is the deadline of the one before, not the moment of waking: late wake-ups do not
  // add up.
  int64_t earliest = NowNs() + route.latency_ns;
  auto* target = static_cast<char*>(to);
  const auto* source = static_cast<const char*>(from);
  if (bytes == 0) SleepUntil(earliest, cancelled);
  for (int64_t moved = 0; moved < bytes && !cancelled.load(std::memory_order_relaxed);) {
    const int64_t chunk = std::min(kChunkBytes, bytes - moved);
    const int64_t deadline = Pass(route, earliest, chunk);
    std::memcpy(target + moved, source + moved, static_cast<size_t>(chunk));
    SleepUntil(deadline, cancelled);
    earliest = deadline;
    moved += chunk;
  }
  if (cancelled.load(std::memory_order_relaxed)) Release(route);
}

void Pacer::Release(const Route& route) {
  const int64_t now = NowNs();
  for (const int resource : route.resources) {
    auto& next_free = resources_[static_cast<size_t>(resource)]->next_free;
    int64_t free = next_free.load(std::memory_order_relaxed);
    while (free > now && !next_free.compare_exchange_weak(free, now, std::memory_order_relaxed)) {
    }
  }
}

double MeasuredCopyBandwidth() {
  static const double bandwidth = [] {
    constexpr size_t kBytes = size_t{64} << 20;
    std::vector<char> from(kBytes, 1), to(kBytes, 2);
    double best = 0;
    for (int i = 0; i < 5; ++i) {
      const int64_t start = NowNs();
      std::memcpy(to.data(), from.data(), kBytes);
      best = std::max(best, 1e9 * static_cast<double>(kBytes) /
                                static_cast<double>(std::max<int64_t>(1, NowNs() - start)));
    }
    return best;
  }();
  return bandwidth;
}

std::string EmulationLimit(const Route& route) {
  if (route.bandwidth > MeasuredCopyBandwidth()) {
    return fmt::format("bandwidth {} is above this machine's memcpy ({})", FormatBandwidth(route.bandwidth),
                       FormatBandwidth(MeasuredCopyBandwidth()));
  }
  if (route.latency_ns < 50000)
    return fmt::format("latency {} is under 50us", FormatDuration(route.latency_ns));
  return "";
}

}  // namespace lanescope::exec
