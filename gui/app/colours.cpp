#include "gui/app/colours.h"

#include <algorithm>
#include <map>

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

}  // namespace

void Colours::Update(const Timeline& timeline) {
  if (version_ == timeline.version()) return;
  version_ = timeline.version();
  struct Use {
    int64_t slices = 0;
    std::string name;
  };
  std::map<uint32_t, Use> uses;
  std::map<ColorKey, std::string> devices;
  for (const ShownRun& run : timeline.runs()) {
    for (const OpEntry& op : run.data->ops) {
      Use& use = uses[op.color];
      use.slices += op.slices;
      if (use.name.empty()) use.name = op.op;
    }
    for (const Lane& lane : run.data->lanes) {
      if (lane.role != LaneRole::kCompute || lane.device < 0 || lane.size() == 0) continue;
      devices[ColorOf(*run.data, lane, 0, ColorMode::kDevice)] =
          run.data->devices[static_cast<size_t>(lane.device)].label;
    }
  }
  std::vector<std::pair<uint32_t, Use>> sorted(uses.begin(), uses.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.slices > b.second.slices; });
  rank_.clear();
  ops_.clear();
  for (const auto& [key, use] : sorted) {
    rank_[key] = static_cast<int>(ops_.size());
    ops_.push_back(use.name);
  }
  devices_.clear();
  for (const auto& [key, label] : devices) {
    if (key >= 64) continue;
    if (devices_.size() <= key) devices_.resize(key + 1);
    devices_[key] = label;
  }
}

ImU32 Colours::Of(ColorKey key, ColorMode mode) const {
  switch (mode) {
    case ColorMode::kOp: {
      const auto found = rank_.find(key);
      return found == rank_.end() ? kGrey : CategoryColour(found->second);
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
  std::vector<LegendEntry> legend;
  switch (mode) {
    case ColorMode::kOp:
      for (size_t i = 0; i < ops_.size() && i < limit; ++i) {
        legend.push_back({CategoryColour(static_cast<int>(i)), ops_[i]});
      }
      break;
    case ColorMode::kDevice:
      for (size_t i = 0; i < devices_.size() && legend.size() < limit; ++i) {
        if (!devices_[i].empty()) legend.push_back({Of(static_cast<ColorKey>(i), mode), devices_[i]});
      }
      break;
    case ColorMode::kKind:
      for (size_t i = 0; i < std::size(kKindNames) && i < limit; ++i) {
        legend.push_back({Of(static_cast<ColorKey>(i), mode), kKindNames[i]});
      }
      break;
    case ColorMode::kError:
      legend = {{DivergingColour(-1), "predicted too short by half"},
                {DivergingColour(0), "as predicted"},
                {DivergingColour(1), "predicted too long by half"},
                {kGrey, "no prediction"}};
      break;
  }
  return legend;
}

ImU32 KindColour(const Theme& theme, RunKind kind) {
  switch (kind) {
    case RunKind::kHardware:
      return theme.hardware;
    case RunKind::kEmulated:
      return theme.emulated;
    case RunKind::kSimulated:
      return theme.simulated;
    case RunKind::kWhatIf:
      return theme.what_if;
  }
  return theme.measured;
}

}  // namespace lanescope::gui
