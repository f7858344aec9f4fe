// SPDX-License-Identifier: Apache-2.0
// How the window looks at its document: plain data that panels read and change.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gui/app/theme.h"
#include "gui/document/document.h"
#include "gui/model/draw_plan.h"
#include "gui/model/layout.h"
#include "gui/model/picking.h"
#include "gui/model/selection.h"
#include "gui/model/view_transform.h"

namespace lanescope::gui {

enum class Tab { kSelection, kStatistics, kDiff, kCritical, kSearch, kSql };
inline constexpr int kNumTabs = 6;

// A slice on its way to another device.
struct SliceDrag {
  SliceRef slice;
  std::string node;
  std::string scope;         // not empty: all of this name scope
  std::string target_label;  // device under the pointer; empty: none
};

// A press of the left button in the lanes, until it is released.
struct Press {
  ImVec2 at;  // on the screen
  Hit hit;
  double axis = 0;
  float y = 0;         // of the lanes
  bool moved = false;  // far enough to be a drag
};

struct ViewState {
  ViewTransform view;
  Alignment alignment = Alignment::kStart;
  OpIdentity align_op = -1;
  LaneVisibility lanes;
  Selection selection;
  std::vector<Mark> marks;
  ColorMode colour = ColorMode::kOp;
  bool show_arrows = true;
  bool show_critical = false;
  GroupBy group = GroupBy::kName;

  Tab tab = Tab::kSelection;
  bool tab_requested = false;  // `tab` was set by the program, not by a click
  std::string search;
  bool search_requested = false;  // the search field is to get the keyboard
  std::string graph_path;         // typed for a run whose graph was not found
  size_t search_hit = SIZE_MAX;   // shown of the hits; beyond them: none yet
  RunKey diff_a = 0, diff_b = 0;  // chosen in the diff; 0: baseline and selected run
  RunKey run = 0;                 // the run that was clicked last; 0: none

  ThemeName theme = ThemeName::kDark;
  float left_width = 270, right_width = 300, bottom_height = 250;  // nominal pixels
  // The panel below the lanes: what it shows is so high (negative: as high as there is room), and so much
  // of it is shown.
  float bottom_content = -1, bottom_shown = 0;
  bool bottom_by_hand = false;  // the user sized it
  bool show_help = false;
  bool show_open = false;
  bool show_save = false;
  bool show_run = false;
  MeasureOptions run_options;  // of the next run from here
  bool quit = false;

  bool fit_requested = true;                      // show everything once there is something
  std::optional<float> scroll_to;                 // y of the lanes
  std::optional<std::pair<float, float>> reveal;  // y from and to: scroll only if it is not in view
  float scroll_y = 0;                             // of the lanes, as shown
  float lanes_height = 0;                         // of what is shown of them
  ImVec2 lanes_origin;  // on the screen, where the lanes' time axis begins; for robots
  Hit hover;
  std::optional<double> hover_axis;  // time under the pointer
  std::optional<Press> press;
  std::optional<SliceDrag> drag;
  double wheel_time = -1;           // of the last turn, in ImGui's seconds
  std::set<std::string> dismissed;  // paths of files whose remarks were read
  std::string message;              // one line about what was done or why not
};

}  // namespace lanescope::gui
