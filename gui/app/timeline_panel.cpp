// SPDX-License-Identifier: Apache-2.0
// The centre: ruler, minimap, lanes, and what the mouse does there.
#include <imgui.h>

#include <algorithm>
#include <cmath>

#include "gui/app/format.h"
#include "gui/app/timeline_input.h"
#include "gui/app/timeline_pieces.h"
#include "gui/app/ui.h"
#include "gui/app/widgets.h"

namespace lanescope::gui {
namespace {

// Streams of other tools' traces have longer names than devices.
constexpr float kGutter = 128, kWideGutter = 192;
constexpr float kRuler = 22;
constexpr float kMinimapRow = 9;
constexpr int kMaxMinimapRows = 8;

void PaintDrag(const Ui& ui, ImDrawList* list) {
  if (!ui.state.drag) return;
  const SliceDrag& drag = *ui.state.drag;
  const std::string what = drag.scope.empty() ? drag.node : drag.scope + "/…";
  const std::string arrow = ui.fonts.has_signs ? " → " : " -> ";
  const std::string text = what + arrow + (drag.target_label.empty() ? "?" : drag.target_label);
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  const ImVec2 from(mouse.x + ui.Px(14), mouse.y + ui.Px(10));
  const ImVec2 to(from.x + TextWidth(text) + ui.Px(12), from.y + ImGui::GetFontSize() + ui.Px(8));
  const ImU32 colour = drag.target_label.empty() ? ui.theme.limit : ui.theme.what_if;
  list->AddRectFilled(from, to, ui.theme.panel, ui.Px(4));
  list->AddRect(from, to, colour, ui.Px(4), 0, ui.Px(1.5f));
  list->AddText(ImVec2(from.x + ui.Px(6), from.y + ui.Px(4)), ui.theme.text, text.c_str());
}

DrawOptions OptionsFor(const Ui& ui, float height) {
  DrawOptions options;
  options.color = ui.state.colour;
  options.arrows = ui.state.show_arrows;
  options.glyph_px = ui.fonts.small->FontSize * 0.55f;
  options.min_label_glyphs = 3;
  options.scroll_y = ui.state.scroll_y;
  options.height_px = height;
  return options;
}

void ApplyScroll(ViewState* state, float height) {
  if (state->reveal) {
    const auto [top, bottom] = *state->reveal;
    if (top < state->scroll_y || bottom > state->scroll_y + height) {
      state->scroll_to = std::max(0.0f, (top + bottom - height) / 2);
    }
    state->reveal.reset();
  }
  if (state->scroll_to) ImGui::SetScrollY(*state->scroll_to);
  state->scroll_to.reset();
}

// The height of the lanes, with room below the last where they were scrolled to their end before the panel
// below gave its room, or lanes were folded: what is under the pointer stays there.
float HeightToScroll(const Ui& ui, float shown) {
  const float height = ui.analysis.layout().height;
  const float least_in_sight = std::min(height, ui.Px(60));
  return std::max(height, std::min(ui.state.scroll_y, height - least_in_sight) + shown);
}

}  // namespace

std::string LaneName(const RunData& run, const Lane& lane) {
  const std::string label = LaneLabel(run, lane);
  if (lane.role == LaneRole::kCompute || lane.role == LaneRole::kAnnotation || lane.role == LaneRole::kLink ||
      lane.device < 0)
    return label;
  return run.devices[static_cast<size_t>(lane.device)].label + " " + label;
}

LayoutMetrics MetricsFor(float scale) {
  LayoutMetrics metrics;
  metrics.run_header = std::round(26 * scale);
  metrics.row = std::round(18 * scale);
  metrics.copy_row = std::round(14 * scale);
  metrics.counter = std::round(34 * scale);
  metrics.group_header = std::round(18 * scale);
  metrics.lane_gap = std::round(3 * scale);
  metrics.run_gap = std::round(10 * scale);
  return metrics;
}

void DrawTimeline(const Ui& ui, DrawPlan* plan) {
  const ImVec2 corner = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
  TimelineFrame frame;
  const bool streams = std::any_of(ui.timeline().runs().begin(), ui.timeline().runs().end(),
                                   [](const ShownRun& run) { return run.data->foreign; });
  frame.gutter = std::round(ui.Px(streams ? kWideGutter : kGutter));
  frame.left = corner.x + frame.gutter;
  frame.width = std::max(1.0f, room.x - frame.gutter - ImGui::GetStyle().ScrollbarSize);
  ui.state.view.SetWidth(frame.width);
  ui.state.view.SetExtent(ui.analysis.extent().first, ui.analysis.extent().second);
  if (ui.state.fit_requested) ShowOneStep(ui.actions());

  const int rows = std::clamp(static_cast<int>(ui.timeline().runs().size()), 1, kMaxMinimapRows);
  const float minimap_height = std::round(ui.Px(kMinimapRow) * static_cast<float>(rows) + ui.Px(12));
  ImDrawList* list = ImGui::GetWindowDrawList();
  ImGui::InvisibleButton("minimap", ImVec2(room.x, minimap_height));
  HandleMinimap(ui, frame.left, frame.width);
  PaintMinimap(ui, list, frame, corner.y, minimap_height);

  const float ruler_top = corner.y + minimap_height, ruler_height = std::round(ui.Px(kRuler));
  const float pinned_top = ruler_top + ruler_height;
  const float pinned_height =
      ui.analysis.layout().pinned.empty() ? 0 : ui.analysis.layout().pinned_height + ui.Px(4);
  const float legend_line = std::round(ui.Px(20));
  const float legend_height = legend_line * static_cast<float>(LegendLines(ui, frame));
  const float lanes_top = pinned_top + pinned_height;
  const float lanes_height = std::max(1.0f, corner.y + room.y - lanes_top - legend_height);

  ImGui::SetCursorScreenPos(ImVec2(corner.x, ruler_top));
  ImGui::InvisibleButton("ruler", ImVec2(room.x, ruler_height + std::max(pinned_height, 1.0f)));
  HandlePinned(ui, frame.left, pinned_top);

  ui.state.lanes_origin = ImVec2(frame.left, lanes_top);
  ImGui::SetCursorScreenPos(ImVec2(corner.x, lanes_top));
  ImGui::BeginChild(
      "lanes", ImVec2(room.x, lanes_height), false,
      ImGuiWindowFlags_NoScrollWithMouse | ImGuiWindowFlags_AlwaysVerticalScrollbar | ImGuiWindowFlags_NoNav);
  ApplyScroll(&ui.state, lanes_height);
  ui.state.scroll_y = ImGui::GetScrollY();
  ui.state.lanes_height = lanes_height;
  ImGui::Dummy(ImVec2(1, HeightToScroll(ui, lanes_height)));
  ImGui::SetCursorScreenPos(ImVec2(corner.x, lanes_top));
  ImGui::InvisibleButton("content", ImVec2(frame.gutter + frame.width, lanes_height),
                         ImGuiButtonFlags_MouseButtonLeft | ImGuiButtonFlags_MouseButtonRight |
                             ImGuiButtonFlags_MouseButtonMiddle);
  HandleLanes(ui, frame.left, lanes_top);
  BuildDrawPlan(ui.timeline(), ui.analysis.layout(), ui.analysis.axes(), ui.state.view,
                ui.analysis.HighlightFor(ui.state), OptionsFor(ui, lanes_height), plan);
  ImDrawList* lanes_list = ImGui::GetWindowDrawList();
  PaintLanes(ui, lanes_list, frame, *plan, lanes_top, lanes_height);
  PaintArea(ui, lanes_list, frame, ruler_top, lanes_top - ui.state.scroll_y, lanes_top + lanes_height);
  // The lanes' window lies over its parent: what crosses both is drawn into both.
  PaintMarks(ui, lanes_list, frame, ruler_top, lanes_top + lanes_height);
  PaintPointer(ui, lanes_list, frame, ruler_top, lanes_top + lanes_height);
  ImGui::EndChild();

  PaintRuler(ui, list, frame, ruler_top, ruler_height);
  PaintHits(ui, list, frame, *plan, pinned_top);
  PaintPinned(ui, list, frame, *plan, pinned_top);
  PaintArea(ui, list, frame, ruler_top, lanes_top - ui.state.scroll_y, lanes_top);
  PaintMarks(ui, list, frame, ruler_top, lanes_top);
  PaintPointer(ui, list, frame, ruler_top, lanes_top);
  PaintLegend(ui, list, frame, lanes_top + lanes_height, legend_line);
  PaintDrag(ui, ImGui::GetForegroundDrawList());
}

}  // namespace lanescope::gui
