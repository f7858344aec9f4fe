// Which colour a slice has.
#pragma once

#include <unordered_map>
#include <vector>

#include "gui/app/theme.h"
#include "gui/model/draw_plan.h"

namespace lanescope::gui {

// Turns the colour keys of a draw plan into colours. Ops get the palette's colours in the order of how often
// they occur, so that the frequent ones differ. Value type.
class Colours {
 public:
  // Looks at the ops again if the timeline changed.
  void Update(const Timeline& timeline);
  ImU32 Of(ColorKey key, ColorMode mode) const;

  struct LegendEntry {
    ImU32 colour = 0;
    std::string text;
  };
  // What the colours of a mode mean, the most frequent first, at most `limit`.
  std::vector<LegendEntry> Legend(ColorMode mode, size_t limit) const;

 private:
  uint64_t version_ = 0;
  std::unordered_map<uint32_t, int> rank_;  // of a kOp key
  std::vector<std::string> ops_;            // by rank
  std::vector<std::string> devices_;        // by kDevice key
};

// Of a kind of run.
ImU32 KindColour(const Theme& theme, RunKind kind);

}  // namespace lanescope::gui
