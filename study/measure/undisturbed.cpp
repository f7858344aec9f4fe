// SPDX-License-Identifier: Apache-2.0
#include "study/measure/undisturbed.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace lanescope::study {
namespace {

constexpr double kOthersShare = 0.1, kOthersBesideShare = 0.05;
constexpr int64_t kOthersErrorNs = 20'000'000;  // two ticks of 10 ms
constexpr double kStolenShare = 0.02;
constexpr int64_t kStolenErrorNs = 10'000'000;
constexpr double kWaitedShare = 0.03;
constexpr double kLittleWaitedShare = 0.01;
constexpr int64_t kJudgedNs = 200'000'000;
constexpr double kSameClock = 1.08;

double WaitedShare(const Disturbance& step) {
  return static_cast<double>(step.waited_ns) / static_cast<double>(std::max<int64_t>(1, step.wall_ns));
}

// The share of the quietest quarter.
double UsualWaitedShare(std::span<const Disturbance> steps) {
  std::vector<double> shares;
  for (const Disturbance& step : steps) shares.push_back(WaitedShare(step));
  const auto quarter = shares.begin() + static_cast<std::ptrdiff_t>(shares.size() / 4);
  std::nth_element(shares.begin(), quarter, shares.end());
  return *quarter;
}

bool OthersTook(const Disturbance& stretch, double share) {
  return static_cast<double>(stretch.others_ns - kOthersErrorNs) >
         share * static_cast<double>(stretch.wall_ns);
}

// A program on a processor that this one does not want takes nothing from it.
bool IsDisturbed(const Disturbance& stretch) {
  const bool by_others = OthersTook(stretch, kOthersShare) && WaitedShare(stretch) > kLittleWaitedShare;
  const double stolen = static_cast<double>(stretch.stolen_ns - kStolenErrorNs);
  return by_others || stolen > kStolenShare * static_cast<double>(stretch.wall_ns);
}

Disturbance Around(std::span<const Disturbance> slots, size_t slot) {
  Disturbance sum = slots[slot];
  for (size_t far = 1; sum.wall_ns < kJudgedNs && far < slots.size(); ++far) {
    if (far <= slot) sum += slots[slot - far];
    if (slot + far < slots.size()) sum += slots[slot + far];
  }
  return sum;
}

}  // namespace

std::vector<char> UndisturbedSteps(std::span<const Disturbance> steps, int steps_per_round) {
  std::vector<char> counts(steps.size(), 1);
  if (steps.empty()) return counts;
  const double most = UsualWaitedShare(steps) + kWaitedShare;
  const auto round = static_cast<size_t>(std::max(1, steps_per_round));
  for (size_t first = 0; first < steps.size(); first += round) {
    const size_t end = std::min(steps.size(), first + round);
    Disturbance sum;
    for (const Disturbance& step : steps.subspan(first, end - first)) sum += step;
    if (!IsDisturbed(sum) && !OthersTook(sum, kOthersBesideShare)) continue;
    size_t held_up = 0;
    for (size_t i = first; i < end; ++i) {
      if (WaitedShare(steps[i]) <= most) continue;
      counts[i] = 0;
      ++held_up;
    }
    if (2 * held_up <= end - first && !IsDisturbed(sum)) continue;
    std::fill(counts.begin() + static_cast<std::ptrdiff_t>(first),
              counts.begin() + static_cast<std::ptrdiff_t>(end), char{0});
  }
  return counts;
}

std::vector<char> SlotsBesideOthers(std::span<const Disturbance> slots) {
  std::vector<char> beside;
  for (size_t i = 0; i < slots.size(); ++i) beside.push_back(IsDisturbed(Around(slots, i)));
  return beside;
}

SpeedRange UsualSpeed(std::vector<int64_t> times, double width) {
  std::erase(times, 0);
  std::sort(times.begin(), times.end());
  SpeedRange usual;
  std::ptrdiff_t most = 0;
  for (auto low = times.begin(); low != times.end(); ++low) {
    const auto highest = static_cast<int64_t>(width * static_cast<double>(*low));
    const auto held = std::upper_bound(low, times.end(), highest) - low;
    if (held <= most) continue;
    most = held;
    usual = {*low, highest};
  }
  return usual;
}

std::vector<char> OtherClockSteps(std::span<const GpuClock> steps) {
  const auto cycle_ps = [](const GpuClock& clock) { return clock.mhz > 0 ? 1'000'000 / clock.mhz : 0; };
  std::vector<int64_t> cycles;
  for (const GpuClock& clock : steps) cycles.push_back(cycle_ps(clock));
  const SpeedRange usual = UsualSpeed(std::move(cycles), kSameClock);
  std::vector<char> other;
  for (const GpuClock& clock : steps) other.push_back(clock.held_down || !usual.Holds(cycle_ps(clock)));
  return other;
}

}  // namespace lanescope::study
