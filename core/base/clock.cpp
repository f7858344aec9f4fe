// SPDX-License-Identifier: Apache-2.0
// CLOCK_MONOTONIC in ns, read through the time-stamp counter.
//
// The kernel's clock is approximated by straight segments: ns = start_ns + (tsc - start_tsc) * rate. Whoever
// reads the clock first after a segment's due time reads the kernel's clock once and publishes the next
// segment, which begins where the old one ended and is steered towards the kernel's clock.
//
// Invariants:
//  * Segments are published under a sequence number: odd while being written, even when whole. A reader that
//    sees a change in between, or an odd number, asks the kernel instead of waiting for a writer that may
//    have lost its processor.
//  * Only the holder of `busy` writes segments and calibration state.
//  * Every thread remembers its last reading and never returns less.
#include "core/base/clock.h"

#include <time.h>

#include <atomic>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <string>

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

namespace lanescope {
namespace {

int64_t KernelNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

thread_local int64_t last_ns = INT64_MIN;

int64_t NeverBackwards(int64_t ns) {
  if (ns < last_ns) return last_ns;
  last_ns = ns;
  return ns;
}

#if defined(__x86_64__)

// Length of a segment. A rate that is wrong by 10 ppm costs 0.1 us over it.
constexpr int64_t kSegmentNs = 10'000'000;
// A segment may be used for this many lengths before readers fall back to the kernel.
constexpr uint64_t kGraceSegments = 2;
// Rates are measured over one to two of these.
constexpr int64_t kBaselineNs = 1'000'000'000;
// A larger difference (a suspended machine, a stopped process) is jumped over, a smaller one is steered away.
constexpr int64_t kJumpNs = 5'000;
constexpr int kRateBits = 32;

// Whether the counter ticks at one rate in every power state and is the same on every core. The kernel, which
// watches the counters, is believed when it uses another clock source than the counter.
bool CounterIsUsable() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (!__get_cpuid(0x80000007, &eax, &ebx, &ecx, &edx) || (edx & (1u << 8)) == 0) return false;
  std::ifstream file("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  std::string source;
  if (!(file >> source)) return true;
  return source == "tsc" || source == "kvm-clock" || source.find("tsc") != std::string::npos;
}

struct Reading {
  uint64_t tsc = 0;
  int64_t ns = 0;
};

// Both clocks at one moment: the tightest bracket of a few tries.
Reading ReadBoth() {
  Reading best;
  uint64_t best_width = UINT64_MAX;
  for (int i = 0; i < 4; ++i) {
    const uint64_t before = __rdtsc();
    const int64_t ns = KernelNs();
    const uint64_t after = __rdtsc();
    if (after - before < best_width) {
      best_width = after - before;
      best = {before + (after - before) / 2, ns};
    }
  }
  return best;
}

struct Clock {
  std::atomic<uint32_t> sequence{0};
  std::atomic<uint64_t> start_tsc{0};
  std::atomic<int64_t> start_ns{0};
  std::atomic<uint64_t> rate{0};   // ns per tick << kRateBits
  std::atomic<uint64_t> due{0};    // ticks after start_tsc when the next segment is wanted; 0: no segment yet
  std::atomic<uint64_t> limit{0};  // ticks after start_tsc until which the segment may be used
  std::atomic<bool> busy{false};
  const bool usable = CounterIsUsable();
  // Held by `busy`: the older of two readings is the baseline of the rate.
  Reading base, next_base;
};

Clock& TheClock() {
  static Clock clock;
  return clock;
}

void Publish(Clock& clock, const Reading& start, double ns_per_tick, double ticks_per_segment) {
  const uint32_t sequence = clock.sequence.load(std::memory_order_relaxed);
  clock.sequence.store(sequence + 1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);  // the odd number is seen before any new field
  clock.start_tsc.store(start.tsc, std::memory_order_relaxed);
  clock.start_ns.store(start.ns, std::memory_order_relaxed);
  clock.rate.store(static_cast<uint64_t>(std::ldexp(ns_per_tick, kRateBits)), std::memory_order_relaxed);
  clock.due.store(static_cast<uint64_t>(ticks_per_segment), std::memory_order_relaxed);
  clock.limit.store(static_cast<uint64_t>(ticks_per_segment) * kGraceSegments, std::memory_order_relaxed);
  clock.sequence.store(sequence + 2,
                       std::memory_order_release);  // all fields are seen before the even number
}

// Where the current segment puts `tsc`; only meaningful for the holder of `busy`.
int64_t Extrapolate(const Clock& clock, uint64_t tsc) {
  const uint64_t ticks = tsc - clock.start_tsc.load(std::memory_order_relaxed);
  return clock.start_ns.load(std::memory_order_relaxed) +
         static_cast<int64_t>((ticks * clock.rate.load(std::memory_order_relaxed)) >> kRateBits);
}

void Recalibrate(Clock& clock) {
  const Reading now = ReadBoth();
  if (clock.base.tsc == 0) {
    clock.base = clock.next_base = now;
    return;
  }
  if (now.ns - clock.base.ns < kSegmentNs || now.tsc <= clock.base.tsc) return;
  const double ns_per_tick =
      static_cast<double>(now.ns - clock.base.ns) / static_cast<double>(now.tsc - clock.base.tsc);
  const double ticks_per_segment = static_cast<double>(kSegmentNs) / ns_per_tick;
  Reading start = now;
  double steered = ns_per_tick;
  const uint64_t limit = clock.limit.load(std::memory_order_relaxed);
  const uint64_t ticks = now.tsc - clock.start_tsc.load(std::memory_order_relaxed);
  if (limit != 0 && ticks < limit) {
    const int64_t ahead = Extrapolate(clock, now.tsc) - now.ns;
    if (std::abs(ahead) < kJumpNs) {
      start.ns = now.ns + ahead;
      steered = (static_cast<double>(kSegmentNs - ahead)) / ticks_per_segment;
    }
  }
  Publish(clock, start, steered, ticks_per_segment);
  if (now.ns - clock.next_base.ns > kBaselineNs) {
    clock.base = clock.next_base;
    clock.next_base = now;
  }
}

// Past the due time, or before the first segment.
[[gnu::noinline]] int64_t SlowNs(Clock& clock) {
  if (!clock.usable) return NeverBackwards(KernelNs());
  if (!clock.busy.exchange(true, std::memory_order_acquire)) {
    Recalibrate(clock);
    clock.busy.store(false, std::memory_order_release);
  }
  return NeverBackwards(KernelNs());
}

#endif

}  // namespace

int64_t NowNs() {
#if defined(__x86_64__)
  static Clock& clock = TheClock();
  const uint32_t sequence = clock.sequence.load(std::memory_order_acquire);
  const uint64_t start_tsc = clock.start_tsc.load(std::memory_order_relaxed);
  const int64_t start_ns = clock.start_ns.load(std::memory_order_relaxed);
  const uint64_t rate = clock.rate.load(std::memory_order_relaxed);
  const uint64_t due = clock.due.load(std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_acquire);  // the fields are read before the second number
  const bool whole = (sequence & 1) == 0 && clock.sequence.load(std::memory_order_relaxed) == sequence;
  const uint64_t ticks = __rdtsc() - start_tsc;  // wraps to a huge number when this core is behind
  if (!whole || ticks >= due) return SlowNs(clock);
  return NeverBackwards(start_ns + static_cast<int64_t>((ticks * rate) >> kRateBits));
#else
  return NeverBackwards(KernelNs());
#endif
}

int64_t ThreadNs() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return int64_t{1'000'000'000} * now.tv_sec + now.tv_nsec;
}

}  // namespace lanescope
