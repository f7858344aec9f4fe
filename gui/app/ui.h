// SPDX-License-Identifier: Apache-2.0
// The panels, and the parameters of each.
#pragma once

#include "gui/app/actions.h"
#include "gui/app/analysis.h"
#include "gui/app/colours.h"
#include "gui/app/theme.h"
#include "gui/app/view_state.h"
#include "gui/document/document.h"
#include "gui/platform/fonts.h"

namespace lanescope::gui {

class SqlConsole;

// Borrowed for one frame.
struct Ui {
  Document& document;
  ViewState& state;
  const Analysis& analysis;
  const Theme& theme;
  const Fonts& fonts;
  const Colours& colours;
  SqlConsole& sql;
  float scale = 1;

  const Timeline& timeline() const { return document.timeline(); }
  ActionContext actions() const { return {document, state, analysis}; }
  float Px(float nominal) const { return nominal * scale; }
};

// Each draws into the current ImGui window or child.
void DrawMenuBar(const Ui& ui);
void DrawToolbar(const Ui& ui);
void DrawRunsPanel(const Ui& ui);
void DrawTimeline(const Ui& ui, DrawPlan* plan);
void DrawInspector(const Ui& ui);
// Parts of the inspector. `run`: that is changed, or would be.
void DrawOpPanel(const Ui& ui);
void DrawReplayPanel(const Ui& ui, RunKey run);
void DrawTabs(const Ui& ui);
void DrawSelectionTab(const Ui& ui);
void DrawOverview(const Ui& ui);
void DrawStatisticsTab(const Ui& ui);
void DrawDiffTab(const Ui& ui);
void DrawCriticalTab(const Ui& ui);
void DrawSearchTab(const Ui& ui);
void DrawStartPage(const Ui& ui, const std::vector<std::string>& recent);
void DrawHelpPage(const Ui& ui);
// Progress of loads, and what is odd about files. Nothing where there is nothing to say.
void DrawFileMessages(const Ui& ui);

// A tab with a table of many rows calls this: it takes the room that there is.
inline void TakeAllRoom(const Ui& ui) { ui.state.bottom_content = -1; }

// Rows of sums, shared by two tabs.
void DrawSumTable(const Ui& ui, const char* id, const SumTable& sums);

// "MEASURED", "EMULATED", "SIMULATED", "WHAT-IF": how a run's kind is written everywhere.
// One chip instead of two where there is no `room` (pixels).
void DrawKindChips(const Ui& ui, ImDrawList* list, ImVec2* position, float room, const RunData& run);
LayoutMetrics MetricsFor(float scale);
// "GPU:0", "GPU:0 copy in", "GPU:0 → GPU:1".
std::string LaneName(const RunData& run, const Lane& lane);

}  // namespace lanescope::gui
