// SPDX-License-Identifier: Apache-2.0
#include "gui/app/colours.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "core/runs/run_view.h"

namespace lanescope::gui {
namespace {

// Numbers of the palette for SliceKind, by its value: computing blue, copies warm, by direction.
constexpr int kKindColours[] = {4, 0, 1, 3, 5, 9, 7};
constexpr const char* kKindNames[] = {"launch",
                                      "launch on the host",
                                      "copy host to device",
                                      "copy device to host",
                                      "copy device to device",
                                      "copy within a device",
                                      "call"};
constexpr ImU32 kGrey = IM_COL32(128, 132, 138, 255);

// The meaning of a colour's key, by the time that it stands for.
struct Use {
  int64_t ns = 0, slices = 0;
  std::string name;
  bool waiting = false;  // of ops: no work, and grey
};

}  // namespace

template <typename Uses>
Colours::Ranking Colours::ByTime(const Uses& uses) {
  std::vector<std::pair<ColorKey, Use>> sorted(uses.begin(), uses.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return std::tie(a.second.ns, a.second.slices) > std::tie(b.second.ns, b.second.slices);
  });
  Ranking ranking;
  for (const auto& [key, use] : sorted) {
    if (!use.waiting) ranking.rank[key] = static_cast<int>(ranking.rank.size());
    ranking.uses.push_back({key, use.name, use.ns});
    ranking.ns += use.ns;
  }
  return ranking;
}

void Colours::Update(const Timeline& timeline) {
  if (version_ == timeline.version()) return;
  version_ = timeline.version();
  std::map<ColorKey, Use> ops, ranges, devices, kinds;
  for (const ShownRun& run : timeline.runs()) {
    for (const OpEntry& op : run.data->ops) {
      Use& use = ops[op.color];
      use.slices += op.slices;
      use.ns += op.ns;
      if (use.name.empty()) use.name = op.op;
      use.waiting = op.node >= 0 && IsWaiting(op.op);
    }
    for (const RangeUse& range : run.data->ranges) {
      ranges[range.range].ns += range.ns;
      ranges[range.range].name = range.name;
    }
    for (const Lane& lane : run.data->lanes) {
      if (lane.size() == 0 || !lane.on_device()) continue;
      if (lane.device >= 0 && lane.role == LaneRole::kCompute) {
        Use& use = devices[ColorOf(*run.data, lane, 0, ColorMode::kDevice)];
        use.ns += lane.ns;
        use.name = run.data->devices[static_cast<size_t>(lane.device)].label;
      }
      if (!lane.is_copy()) {
        kinds[ColorOf(*run.data, lane, 0, ColorMode::kKind)].ns += lane.ns;
        continue;
      }
      for (uint32_t i = 0; i < lane.size(); ++i)
        kinds[ColorOf(*run.data, lane, i, ColorMode::kKind)].ns += lane.end_ns[i] - lane.start_ns[i];
    }
  }
  for (size_t i = 0; i < std::size(kKindNames); ++i) kinds[static_cast<ColorKey>(i)].name = kKindNames[i];
  ops_ = ByTime(ops);
  ranges_ = ByTime(ranges);
  devices_ = ByTime(devices);
  kinds_ = ByTime(kinds);
}

ImU32 Colours::Of(ColorKey key, ColorMode mode) const {
  switch (mode) {
    case ColorMode::kOp: {
      const auto found = ops_.rank.find(key);
      return found == ops_.rank.end() ? kGrey : CategoryColour(found->second);
    }
    case ColorMode::kRange: {
      const auto found = ranges_.rank.find(key);
      return found == ranges_.rank.end() ? kGrey : CategoryColour(found->second);
    }
    case ColorMode::kDevice:
      return CategoryColour(static_cast<int>(key % 1024) + 1);
    case ColorMode::kKind:
      return CategoryColour(kKindColours[std::min<size_t>(key, std::size(kKindColours) - 1)]);
    case ColorMode::kError:
      return key == kUnknownError ? kGrey : DivergingColour((static_cast<double>(key) - 100) / 50);
  }
  return kGrey;
}

std::vector<Colours::LegendEntry> Colours::Legend(ColorMode mode, size_t limit) const {
  if (mode == ColorMode::kError) {
    return {{DivergingColour(-1), "predicted too short by half"},
            {DivergingColour(0), "as predicted"},
            {DivergingColour(1), "predicted too long by half"},
            {kGrey, "no prediction"}};
  }
  const Ranking& ranking = mode == ColorMode::kOp      ? ops_
                           : mode == ColorMode::kRange ? ranges_
                           : mode == ColorMode::kKind  ? kinds_
                                                       : devices_;
  std::vector<LegendEntry> legend;
  for (const Ranking::Use& use : ranking.uses) {
    if (legend.size() == limit) break;
    if (use.name.empty()) continue;
    const double share = ranking.ns > 0 ? static_cast<double>(use.ns) / static_cast<double>(ranking.ns) : 0;
    legend.push_back({Of(use.key, mode), use.name, share, use.ns});
  }
  return legend;
}

ImU32 KindColour(const Theme& theme, RunKind kind) {
  switch (kind) {
    case RunKind::kHardware:
      return theme.hardware;
    case RunKind::kEmulated:
      return theme.emulated;
    case RunKind::kLaidOut:
    case RunKind::kSimulated:
      return theme.simulated;
    case RunKind::kWhatIf:
      return theme.what_if;
  }
  return theme.measured;
}

}  // namespace lanescope::gui
