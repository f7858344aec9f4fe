// SPDX-License-Identifier: Apache-2.0
// When a process recorded its streams as a graph. Internal to traces.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

namespace lanescope::traces {

// The name in LANESCOPE_DROPPED of launches that left no record of what they ran.
inline constexpr std::string_view kLaunchesWithoutKernel = "launches whose kernel left no record";

inline bool CapturesStream(std::string_view call) {
  return call.find("StreamBeginCapture") != std::string_view::npos ||
         call.find("StreamEndCapture") != std::string_view::npos;
}
// A call that, of a stream that is captured, makes a node which runs on a device.
inline bool MakesGraphNode(std::string_view call) {
  const auto has = [call](std::string_view part) { return call.find(part) != std::string_view::npos; };
  return !has("HostFunc") && (has("Launch") || has("Memcpy") || has("Memset"));
}

// A launch meanwhile runs nothing: it becomes a node of the graph. Of one thread.
class CaptureTimes {
 public:
  // Notes any API call that began at `start_ns` and ended at `end_ns`.
  void AddCall(std::string_view name, int64_t start_ns, int64_t end_ns) {
    if (times_.size() >= kMostCaptures) return;
    sorted_ = false;
    if (name.find("StreamBeginCapture") != std::string_view::npos) times_.emplace_back(start_ns, true);
    if (name.find("StreamEndCapture") != std::string_view::npos) times_.emplace_back(end_ns, false);
  }
  // Whether a capture was under way. Captures of several streams may overlap.
  bool Hold(int64_t time_ns) {
    if (!std::exchange(sorted_, true)) Sort();
    const auto after = std::ranges::upper_bound(open_, time_ns, {}, &std::pair<int64_t, int64_t>::first);
    return after != open_.begin() && std::prev(after)->second > 0;
  }

 private:
  static constexpr size_t kMostCaptures = size_t{1} << 16;

  void Sort() {
    std::ranges::sort(times_);
    open_.clear();
    int64_t depth = 0;
    for (const auto& [time, begins] : times_) {
      depth = std::max<int64_t>(0, depth + (begins ? 1 : -1));
      open_.emplace_back(time, depth);
    }
  }

  std::vector<std::pair<int64_t, bool>> times_;
  std::vector<std::pair<int64_t, int64_t>> open_;  // from a time on so many
  bool sorted_ = false;
};

}  // namespace lanescope::traces
