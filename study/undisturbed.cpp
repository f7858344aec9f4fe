#include "study/undisturbed.h"

#include <algorithm>
#include <cstddef>

namespace lanescope::study {
namespace {

constexpr double kOthersShare = 0.1, kOthersBesideShare = 0.05;
constexpr int64_t kOthersErrorNs = 20'000'000;  // two ticks of 10 ms
constexpr double kStolenShare = 0.02;
constexpr int64_t kStolenErrorNs = 10'000'000;
constexpr double kWaitedShare = 0.03;
constexpr int64_t kJudgedNs = 200'000'000;
constexpr double kSameSpeed = 1.08;

double WaitedShare(const Disturbance& step) {
  return static_cast<double>(step.waited_ns) / static_cast<double>(std::max<int64_t>(1, step.wall_ns));
}

// Of the quietest quarter.
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

bool IsDisturbed(const Disturbance& stretch) {
  return OthersTook(stretch, kOthersShare) || static_cast<double>(stretch.stolen_ns - kStolenErrorNs) >
                                                  kStolenShare * static_cast<double>(stretch.wall_ns);
}

Disturbance Around(std::span<const RoundSlot> slots, size_t slot) {
  Disturbance sum = slots[slot].taken;
  for (size_t far = 1; sum.wall_ns < kJudgedNs && far < slots.size(); ++far) {
    if (far <= slot) sum += slots[slot - far].taken;
    if (slot + far < slots.size()) sum += slots[slot + far].taken;
  }
  return sum;
}

struct SpeedRange {
  int64_t low_ns = 0, high_ns = INT64_MAX;
  bool Holds(int64_t ns) const { return ns == 0 || (low_ns <= ns && ns <= high_ns); }
};

// Of ranges that hold equally many the fastest.
SpeedRange UsualSpeed(std::span<const RoundSlot> slots) {
  std::vector<int64_t> times;
  for (const RoundSlot& slot : slots) {
    for (const int64_t ns : {slot.reference_before_ns, slot.reference_after_ns}) {
      if (ns > 0) times.push_back(ns);
    }
  }
  std::sort(times.begin(), times.end());
  SpeedRange usual;
  std::ptrdiff_t most = 0;
  for (auto low = times.begin(); low != times.end(); ++low) {
    const auto highest = static_cast<int64_t>(kSameSpeed * static_cast<double>(*low));
    const auto held = std::upper_bound(low, times.end(), highest) - low;
    if (held <= most) continue;
    most = held;
    usual = {*low, highest};
  }
  return usual;
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

std::vector<Disturber> JudgeSlots(std::span<const RoundSlot> slots) {
  const SpeedRange usual = UsualSpeed(slots);
  std::vector<Disturber> by(slots.size(), Disturber::kNobody);
  for (size_t i = 0; i < slots.size(); ++i) {
    if (IsDisturbed(Around(slots, i))) {
      by[i] = Disturber::kOthers;
    } else if (!usual.Holds(slots[i].reference_before_ns) || !usual.Holds(slots[i].reference_after_ns)) {
      by[i] = Disturber::kSpeed;
    }
  }
  return by;
}

}  // namespace lanescope::study
