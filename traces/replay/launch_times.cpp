// SPDX-License-Identifier: Apache-2.0
#include "traces/replay/launch_times.h"

#include "core/base/statistics.h"

namespace lanescope::traces {
namespace {

constexpr size_t kEnough = 8;  // samples
// NVIDIA, "Constant Time Launch for Straight-Line CUDA Graphs": 2 us and 200 ns a node before CUDA 12.6. On
// an H100 graphs of 8 to 16 nodes began 17 us after their call and one of 53 after 24, where kernels took 10.
constexpr int64_t kNodeOfLaunchNs = 200;

bool IsModel(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

int64_t LaunchTimes::GraphNs(int64_t nodes) { return kNodeOfLaunchNs * nodes; }

LaunchTimes LaunchTimesOf(std::string_view model) {
  // On an H100 empty kernels launched one by one take 3.7 us each; others are the replay's own defaults.
  LaunchTimes times{3'700, 5'000, 1'000, 5'000, 500, 500, 500};
  if (IsModel(model, "H100") || IsModel(model, "H200")) {
    times.node_gap_ns = 200;
    times.before_other_ns = 900;
    times.after_other_ns = 6'000;
  } else if (IsModel(model, "MI300")) {
    times.node_gap_ns = times.before_other_ns = times.after_other_ns = 0;
  }
  return times;
}

LaunchTimes LaunchSamples::Settle(std::string_view model) const {
  LaunchTimes times = LaunchTimesOf(model);
  const auto middle = [](const std::vector<int64_t>& samples, int64_t* figure) {
    if (samples.size() >= kEnough) *figure = static_cast<int64_t>(TrimmedMean(samples, 50));
  };
  if (calls.size() >= kEnough) times.call_ns = Median(calls);  // first ones take long
  if (latencies.size() >= kEnough) times.latency_ns = static_cast<int64_t>(Quantile(latencies, 0.25));
  middle(gaps, &times.gap_ns);
  if (!backs.empty()) times.back_ns = Median(backs);
  middle(node_gaps, &times.node_gap_ns);
  middle(before_others, &times.before_other_ns);
  middle(after_others, &times.after_other_ns);
  return times;
}

}  // namespace lanescope::traces
