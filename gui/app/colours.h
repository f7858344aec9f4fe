// SPDX-License-Identifier: Apache-2.0
// Which colour a slice has.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "gui/app/theme.h"
#include "gui/model/draw_plan.h"

namespace lanescope::gui {

// Turns the colour keys of a draw plan into colours. Ops and ranges get the palette's colours in the order of
// the time that they take on devices, so that those that matter differ. Value type.
class Colours {
 public:
  // Looks at the ops again if the timeline changed.
  void Update(const Timeline& timeline);
  ImU32 Of(ColorKey key, ColorMode mode) const;

  struct LegendEntry {
    ImU32 colour = 0;
    std::string text;
    double share = 0;  // of all time on devices that a colour stands for
    int64_t ns = 0;    // the same
  };
  // The meaning of a mode's colours, those with the most time first, at most `limit`.
  std::vector<LegendEntry> Legend(ColorMode mode, size_t limit) const;

 private:
  struct Ranking {
    struct Use {
      ColorKey key = 0;
      std::string name;
      int64_t ns = 0;
    };
    std::unordered_map<ColorKey, int> rank;
    std::vector<Use> uses;  // by rank
    int64_t ns = 0;
  };
  template <typename Uses>
  static Ranking ByTime(const Uses& uses);

  uint64_t version_ = 0;
  Ranking ops_, ranges_, devices_, kinds_;
};

// The colour of a kind of run.
ImU32 KindColour(const Theme& theme, RunKind kind);

}  // namespace lanescope::gui
