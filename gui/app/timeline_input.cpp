// SPDX-License-Identifier: Apache-2.0
#include "gui/app/timeline_input.h"

#include <imgui.h>

#include <algorithm>
#include <cmath>

#include "core/base/units.h"
#include "gui/app/format.h"
#include "gui/app/widgets.h"

namespace lanescope::gui {
namespace {

constexpr float kDragPixels = 4;
constexpr double kWheelZoom = 1.2;
constexpr double kWheelGesture = 0.6;  // seconds: turns closer together are one gesture for undo
constexpr float kWheelScroll = 48;

void Wheel(const Ui& ui, double pixel) {
  const ImGuiIO& io = ImGui::GetIO();
  if (io.MouseWheel == 0) return;
  ViewState& state = ui.state;
  if (io.KeyCtrl) {
    state.scroll_to = std::max(0.0f, state.scroll_y - io.MouseWheel * ui.Px(kWheelScroll));
    return;
  }
  const double now = ImGui::GetTime();
  if (state.wheel_time < 0 || now - state.wheel_time > kWheelGesture) state.view.BeginGesture();
  state.wheel_time = now;
  if (io.KeyShift) {
    state.view.PanPixels(-double{io.MouseWheel} * ui.Px(kWheelScroll));
  } else {
    state.view.ZoomAt(pixel, std::pow(kWheelZoom, io.MouseWheel));
  }
}

// Right or middle button: the content follows the pointer.
void Pan(const Ui& ui) {
  for (const ImGuiMouseButton button : {ImGuiMouseButton_Right, ImGuiMouseButton_Middle}) {
    if (ImGui::IsItemHovered() && ImGui::IsMouseClicked(button)) ui.state.view.BeginGesture();
    if (!ImGui::IsItemActive() || !ImGui::IsMouseDown(button)) continue;
    const ImVec2 moved = ImGui::GetIO().MouseDelta;
    ImGui::SetMouseCursor(ImGuiMouseCursor_ResizeAll);
    if (moved.x != 0) ui.state.view.PanPixels(-moved.x);
    if (moved.y != 0) ui.state.scroll_to = std::max(0.0f, ui.state.scroll_y - moved.y);
  }
}

void ShowSliceTooltip(const Ui& ui, const SliceRef& slice) {
  const SliceDetails details = DetailsOf(ui.timeline(), slice);
  ImGui::BeginTooltip();
  ImGui::PushTextWrapPos(ui.Px(460));
  ImGui::TextUnformatted(details.name.c_str());
  ImGui::PopTextWrapPos();
  if (details.op != details.name) DimText(ui.theme, details.op);
  ImGui::TextUnformatted((TimeText(details.duration_ns) + "  at " + TimeText(details.start_ns)).c_str());
  if (details.bytes > 0) {
    ImGui::TextUnformatted((FormatBytes(details.bytes) + "  " + FormatBandwidth(details.bandwidth)).c_str());
  }
  DimText(ui.theme, details.lane + (details.step >= 0 ? ", step " + std::to_string(details.step) : ""));
  ImGui::EndTooltip();
}

void ShowCounterTooltip(const Ui& ui, const Hit& hit) {
  const ShownRun* run = ui.timeline().Find(hit.run);
  if (run == nullptr || hit.lane < 0) return;
  const Lane& lane = run->data->lanes[static_cast<size_t>(hit.lane)];
  std::string text = lane.label + ": ";
  text += lane.role == LaneRole::kMemory ? FormatBytes(hit.counter_value) : std::to_string(hit.counter_value);
  if (lane.device >= 0) {
    const int64_t limit = run->data->devices[static_cast<size_t>(lane.device)].memory_limit;
    if (limit > 0) text += " of " + FormatBytes(limit);
  }
  ImGui::BeginTooltip();
  ImGui::TextUnformatted(text.c_str());
  ImGui::EndTooltip();
}

void ShowTooltip(const Ui& ui, const Hit& hit) {
  if (hit.what == Hit::What::kSlice) ShowSliceTooltip(ui, hit.slice);
  if (hit.what == Hit::What::kCounter) ShowCounterTooltip(ui, hit);
}

Hit PickAt(const Ui& ui, ImVec2 point, float left, float top, bool pinned) {
  const float y = point.y - top + (pinned ? 0 : ui.state.scroll_y);
  return Pick(ui.timeline(), ui.analysis.layout(), ui.analysis.axes(), ui.state.view, point.x - left, y,
              pinned);
}

void Hover(const Ui& ui, float left, float top, bool pinned) {
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  ui.state.hover = PickAt(ui, mouse, left, top, pinned);
  if (mouse.x >= left) ui.state.hover_axis = ui.state.view.ToAxis(mouse.x - left);
}

void ToggleCollapsed(ViewState* state, RunKey run) {
  if (state->lanes.collapsed.erase(run) == 0) state->lanes.collapsed.insert(run);
}

void Click(const Ui& ui, const Hit& hit) {
  ViewState& state = ui.state;
  if (hit.run != 0) state.run = hit.run;
  switch (hit.what) {
    case Hit::What::kRunHeader:
      ToggleCollapsed(&state, hit.run);
      break;
    case Hit::What::kGroupHeader:
      if (state.lanes.folded.erase({hit.run, hit.group}) == 0)
        state.lanes.folded.insert({hit.run, hit.group});
      break;
    case Hit::What::kSlice:
      if (ImGui::GetIO().KeyCtrl) {
        state.selection.ToggleOp(ui.timeline().IdentityOf(hit.slice));
      } else {
        state.selection.area.reset();
        state.selection.SelectSlice(ui.timeline(), hit.slice);
      }
      if (state.tab != Tab::kDiff && state.tab != Tab::kCritical) {
        state.tab_requested = state.tab != Tab::kSelection;
        state.tab = Tab::kSelection;
      }
      break;
    default:
      state.selection.Clear();
      break;
  }
}

std::vector<LaneId> LanesBetween(const Layout& layout, float from, float to) {
  std::vector<LaneId> lanes;
  for (const LaidLane& lane : layout.lanes) {
    if (lane.bottom > from && lane.top < to) lanes.emplace_back(lane.key, lane.lane);
  }
  return lanes;
}

void DragArea(const Ui& ui, const Press& press, float left, float top) {
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  const double axis = ui.state.view.ToAxis(mouse.x - left);
  const float y = mouse.y - top + ui.state.scroll_y;
  Area area;
  area.begin = std::min(axis, press.axis);
  area.end = std::max(axis, press.axis);
  area.lanes = LanesBetween(ui.analysis.layout(), std::min(y, press.y), std::max(y, press.y) + 1);
  ui.state.selection.Clear();
  ui.state.selection.area = std::move(area);
  ui.state.tab_requested = ui.state.tab != Tab::kSelection;
  ui.state.tab = Tab::kSelection;
}

// A drag that begins on the selected slice, or with Alt on any, moves the op instead of selecting an area.
bool BeginsMove(const Ui& ui, const Press& press) {
  if (press.hit.what != Hit::What::kSlice) return false;
  const ShownRun* run = ui.timeline().Find(press.hit.run);
  if (run == nullptr || run->data->foreign) return false;
  if (run->data->lanes[static_cast<size_t>(press.hit.lane)].role != LaneRole::kCompute) return false;
  return ImGui::GetIO().KeyAlt || press.hit.slice == ui.state.selection.slice;
}

void BeginMove(const Ui& ui, const Press& press) {
  if (press.hit.slice != ui.state.selection.slice) {
    ui.state.selection.SelectSlice(ui.timeline(), press.hit.slice);
  }
  SliceDrag drag;
  drag.slice = press.hit.slice;
  drag.node = ui.timeline().NameOf(ui.timeline().IdentityOf(press.hit.slice));
  ui.state.drag = std::move(drag);
}

void UpdateMove(const Ui& ui, float top) {
  SliceDrag& drag = *ui.state.drag;
  const std::vector<std::string> scopes = ScopesOf(drag.node);
  drag.scope = ImGui::GetIO().KeyShift && !scopes.empty() ? scopes.back() : "";
  const float y = ImGui::GetIO().MousePos.y - top + ui.state.scroll_y;
  const int device = DeviceAt(ui.timeline(), ui.analysis.layout(), y);
  const LaidRun* laid = ui.analysis.layout().RunAt(y);
  drag.target_label.clear();
  if (device < 0 || laid == nullptr) return;
  const auto& devices = ui.timeline().runs()[static_cast<size_t>(laid->run)].data->devices;
  if (static_cast<size_t>(device) < devices.size())
    drag.target_label = devices[static_cast<size_t>(device)].label;
}

void EndMove(const Ui& ui) {
  const SliceDrag drag = *ui.state.drag;
  ui.state.drag.reset();
  if (drag.target_label.empty()) return;
  const WhatIfView& what_if = ui.document.what_if();
  const RunKey base = drag.slice.run == what_if.result && what_if.base != 0 ? what_if.base : drag.slice.run;
  MoveSelection(base, drag.scope, drag.target_label, ui.actions());
}

void BeginPress(const Ui& ui, float left, float top) {
  Press press;
  press.at = ImGui::GetIO().MousePos;
  press.hit = PickAt(ui, press.at, left, top, false);
  press.axis = ui.state.view.ToAxis(std::max(0.0f, press.at.x - left));
  press.y = press.at.y - top + ui.state.scroll_y;
  ui.state.press = press;
}

void ContinuePress(const Ui& ui, float left, float top) {
  Press& press = *ui.state.press;
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  if (!press.moved &&
      std::max(std::abs(mouse.x - press.at.x), std::abs(mouse.y - press.at.y)) > ui.Px(kDragPixels)) {
    press.moved = true;
    if (BeginsMove(ui, press)) BeginMove(ui, press);
  }
  if (!press.moved) return;
  if (ui.state.drag) {
    UpdateMove(ui, top);
  } else if (press.at.x >= left && press.hit.what != Hit::What::kRunHeader &&
             press.hit.what != Hit::What::kGroupHeader) {
    DragArea(ui, press, left, top);
  }
}

void EndPress(const Ui& ui) {
  const Press press = *ui.state.press;
  ui.state.press.reset();
  if (ui.state.drag) {
    EndMove(ui);
  } else if (!press.moved) {
    Click(ui, press.hit);
  }
}

void LeftButton(const Ui& ui, float left, float top) {
  if (ImGui::IsItemHovered() && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left) &&
      ui.state.selection.slice.valid()) {
    Focus(ui.actions());
    return;
  }
  if (ImGui::IsItemHovered() && ImGui::IsMouseClicked(ImGuiMouseButton_Left)) BeginPress(ui, left, top);
  if (!ui.state.press) return;
  if (ImGui::IsMouseDown(ImGuiMouseButton_Left)) {
    ContinuePress(ui, left, top);
  } else {
    EndPress(ui);
  }
}

}  // namespace

void HandleMinimap(const Ui& ui, float left, float width) {
  ViewState& state = ui.state;
  const auto [begin, end] = ui.analysis.extent();
  const double per_px = (end - begin) / std::max(width, 1.0f);
  const double axis = begin + (ImGui::GetIO().MousePos.x - left) * per_px;
  if (ImGui::IsItemActivated()) state.view.BeginGesture();
  if (ImGui::IsItemActive()) {
    const double middle = (state.view.begin() + state.view.end()) / 2;
    state.view.PanPixels((axis - middle) / state.view.ns_per_px());
  } else if (ImGui::IsItemHovered()) {
    Wheel(ui, state.view.ToPixel(std::clamp(axis, state.view.begin(), state.view.end())));
  }
}

void HandlePinned(const Ui& ui, float left, float pinned_top) {
  if (!ImGui::IsItemHovered()) return;
  Hover(ui, left, pinned_top, true);
  Wheel(ui, ImGui::GetIO().MousePos.x - left);
  if (ImGui::IsItemActivated() && ui.state.hover.what == Hit::What::kSlice) Click(ui, ui.state.hover);
  ShowTooltip(ui, ui.state.hover);
}

void HandleLanes(const Ui& ui, float left, float top) {
  if (ImGui::IsItemHovered()) {
    Hover(ui, left, top, false);
    Wheel(ui, std::max(0.0f, ImGui::GetIO().MousePos.x - left));
    if (!ui.state.press && !ImGui::IsItemActive()) ShowTooltip(ui, ui.state.hover);
  }
  Pan(ui);
  LeftButton(ui, left, top);
}

}  // namespace lanescope::gui
