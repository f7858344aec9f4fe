// SPDX-License-Identifier: Apache-2.0
#include "study/measure/disturbance.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <utility>

namespace lanescope::study {
namespace {

int64_t ClockNs(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

int64_t TickNs() {
  static const int64_t ns = 1'000'000'000 / std::max(1L, sysconf(_SC_CLK_TCK));
  return ns;
}

int OpenToRead(const std::string& path) { return open(path.c_str(), O_RDONLY | O_CLOEXEC); }

// Numbers at the beginning of the file, after `skip` characters; those that are missing are 0.
template <size_t kCount>
std::array<int64_t, kCount> ReadNumbers(int file, size_t skip) {
  std::array<int64_t, kCount> numbers{};
  std::array<char, 512> text{};
  const ssize_t size = file < 0 ? 0 : pread(file, text.data(), text.size(), 0);
  const char* at = text.data() + std::min<size_t>(skip, static_cast<size_t>(std::max<ssize_t>(0, size)));
  const char* const end = text.data() + std::max<ssize_t>(0, size);
  for (int64_t& number : numbers) {
    while (at < end && *at == ' ') ++at;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc()) break;
    at = next;
  }
  return numbers;
}

// Others then run only on processors that this program leaves idle.
bool IsRealTime() {
  const int policy = sched_getscheduler(0);
  return policy == SCHED_FIFO || policy == SCHED_RR;
}

}  // namespace

DisturbanceMeter::DisturbanceMeter(const std::vector<int>& companions, std::string proc)
    : proc_(std::move(proc)), own_clocks_{CLOCK_PROCESS_CPUTIME_ID}, stat_(OpenToRead(proc_ + "/stat")) {
  for (const int process : companions) {
    clockid_t clock = 0;
    if (clock_getcpuclockid(process, &clock) == 0) own_clocks_.push_back(clock);
  }
  TakeWaited();
  last_ = Read();
}

DisturbanceMeter::~DisturbanceMeter() {
  if (stat_ >= 0) close(stat_);
  for (const auto& [number, thread] : threads_) {
    if (thread.file >= 0) close(thread.file);
  }
}

DisturbanceMeter::Counters DisturbanceMeter::Read() const {
  // cpu user nice system idle iowait irq softirq steal (proc(5))
  const auto ticks = ReadNumbers<8>(stat_, std::string_view("cpu ").size());
  int64_t own_ns = 0;
  for (const clockid_t clock : own_clocks_) own_ns += ClockNs(clock);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return {.wall_ns = ClockNs(CLOCK_MONOTONIC),
          .busy_ns = (ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6]) * TickNs(),
          .own_ns = own_ns,
          .stolen_ns = ticks[7] * TickNs(),
          .preempted = usage.ru_nivcsw};
}

int64_t DisturbanceMeter::TakeWaited() {
  for (auto& [number, thread] : threads_) thread.seen = false;
  std::error_code error;
  std::filesystem::directory_iterator entries(proc_ + "/self/task", error);
  for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
    const std::string name = entries->path().filename().string();
    int number = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), number).ec != std::errc()) continue;
    const auto [thread, is_new] = threads_.try_emplace(number);
    if (is_new) thread->second.file = OpenToRead(entries->path().string() + "/schedstat");
    thread->second.seen = true;
  }
  int64_t waited = 0;
  for (auto thread = threads_.begin(); thread != threads_.end();) {
    if (!thread->second.seen) {
      if (thread->second.file >= 0) close(thread->second.file);
      thread = threads_.erase(thread);
      continue;
    }
    // Time on a processor, time ready without one, time slices (sched-stats).
    const int64_t total = ReadNumbers<2>(thread->second.file, 0)[1];
    waited += std::max<int64_t>(0, total - std::exchange(thread->second.waited_ns, total));
    ++thread;
  }
  return waited;
}

// A tick shows at once what was used since the one before it: what this program used in stretches without a
// tick is taken off the next, but no more than ticks may be off by.
int64_t DisturbanceMeter::TakeOthers(int64_t busy_ns, int64_t own_ns) {
  const int64_t others = busy_ns - own_ns - owed_ns_;
  owed_ns_ = std::clamp<int64_t>(-others, 0, 4 * TickNs());
  return std::max<int64_t>(0, others);
}

Disturbance DisturbanceMeter::Take() {
  int64_t waited = TakeWaited();
  const Counters before = std::exchange(last_, Read());
  const int64_t busy = last_.busy_ns - before.busy_ns, own = last_.own_ns - before.own_ns;
  const int64_t others = TakeOthers(busy, own);
  const bool knows_waits =
      std::ranges::any_of(threads_, [](const auto& entry) { return entry.second.file >= 0; });
  if (!knows_waits) waited = others;
  return {.wall_ns = last_.wall_ns - before.wall_ns,
          .others_ns = IsRealTime() ? std::min(waited, others) : others,
          .stolen_ns = std::max<int64_t>(0, last_.stolen_ns - before.stolen_ns),
          .waited_ns = waited,
          .preempted = last_.preempted - before.preempted};
}

}  // namespace lanescope::study
