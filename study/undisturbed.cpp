#include "study/undisturbed.h"

#include <algorithm>
#include <cstddef>

namespace lanescope::study {
namespace {

constexpr double kOthersShare = 0.1;
constexpr int64_t kOthersErrorNs = 20'000'000;  // two ticks of 10 ms
constexpr double kStolenShare = 0.02;
constexpr int64_t kStolenErrorNs = 10'000'000;
constexpr double kWaitedShare = 0.03;

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

bool OthersRan(std::span<const Disturbance> round) {
  Disturbance sum;
  for (const Disturbance& step : round) sum += step;
  const auto wall = static_cast<double>(sum.wall_ns);
  return static_cast<double>(sum.others_ns - kOthersErrorNs) > kOthersShare * wall ||
         static_cast<double>(sum.stolen_ns - kStolenErrorNs) > kStolenShare * wall;
}

}  // namespace

std::vector<char> UndisturbedSteps(std::span<const Disturbance> steps, int steps_per_round) {
  std::vector<char> counts(steps.size(), 1);
  if (steps.empty()) return counts;
  const double most = UsualWaitedShare(steps) + kWaitedShare;
  const auto round = static_cast<size_t>(std::max(1, steps_per_round));
  for (size_t first = 0; first < steps.size(); first += round) {
    const size_t end = std::min(steps.size(), first + round);
    size_t held_up = 0;
    for (size_t i = first; i < end; ++i) {
      if (WaitedShare(steps[i]) <= most) continue;
      counts[i] = 0;
      ++held_up;
    }
    if (2 * held_up <= end - first && !OthersRan(steps.subspan(first, end - first))) continue;
    std::fill(counts.begin() + static_cast<std::ptrdiff_t>(first),
              counts.begin() + static_cast<std::ptrdiff_t>(end), char{0});
  }
  return counts;
}

}  // namespace lanescope::study
