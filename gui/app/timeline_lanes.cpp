// SPDX-License-Identifier: Apache-2.0
// Lanes, run headers, the pinned strip.
#include <algorithm>
#include <cmath>

#include "core/base/units.h"
#include "gui/app/format.h"
#include "gui/app/timeline_paint.h"
#include "gui/app/timeline_pieces.h"
#include "gui/app/widgets.h"
#include "gui/model/group_lanes.h"
#include "gui/model/what_if_effect.h"

namespace lanescope::gui {

namespace {

// `names_device`: the lanes above belong to another device.
void PaintLaneBackground(const Ui& ui, ImDrawList* list, const TimelineFrame& frame, const LaidLane& laid,
                         float origin_y, bool pinned, bool names_device) {
  const ShownRun& run = ui.timeline().runs()[static_cast<size_t>(laid.run)];
  const Lane& lane = run.data->lanes[static_cast<size_t>(laid.lane)];
  const float top = origin_y + laid.top, bottom = origin_y + laid.bottom;
  const bool compute = lane.role == LaneRole::kCompute;
  list->AddRectFilled(ImVec2(frame.left, top), ImVec2(frame.left + frame.width, bottom),
                      compute ? ui.theme.lane_other : ui.theme.lane);
  const ImVec2 from(frame.left - frame.gutter, top), to(frame.left - 1, bottom);
  list->PushClipRect(from, to, true);
  ImGui::PushFont(compute ? ui.fonts.text : ui.fonts.small);
  std::string text = LaneLabel(*run.data, lane);
  if (names_device && !compute && lane.role != LaneRole::kAnnotation && lane.role != LaneRole::kLink &&
      lane.device >= 0) {
    text = run.data->devices[static_cast<size_t>(lane.device)].label + " " + text;
  }
  // The line of its group shows a part of it already.
  if (!pinned) text = LabelInGroup(*run.data, lane, std::move(text));
  if (pinned) text = std::to_string(laid.run + 1) + ": " + text;
  const float indent =
      ui.Px(compute || lane.role == LaneRole::kLink || lane.role == LaneRole::kThread ? 12 : 24);
  const float y = bottom - top < ImGui::GetFontSize() * 2 ? (top + bottom - ImGui::GetFontSize()) / 2 : top;
  const std::string cut = Shorten(text, frame.gutter - indent - ui.Px(4));
  list->AddText(ImVec2(from.x + indent, std::round(y)), compute ? ui.theme.text : ui.theme.text_dim,
                cut.c_str());
  ImGui::PopFont();
  list->PopClipRect();
}

// The largest value of a counter's lane, at its right end of the gutter.
void PaintCounterScale(const Ui& ui, ImDrawList* list, const TimelineFrame& frame, float origin_y,
                       const DrawPlan::Part& part) {
  ImGui::PushFont(ui.fonts.small);
  for (const DrawCounter& counter : part.counters) {
    if (counter.scale_bytes < 2) continue;
    const int64_t most = std::llround(counter.scale_bytes);
    const std::string text = counter.in_bytes ? FormatBytes(most) : std::to_string(most);
    const float height = counter.y1 - counter.y0;
    if (height < ImGui::GetFontSize() * 1.9f) continue;
    list->AddText(ImVec2(frame.left - TextWidth(text) - ui.Px(6),
                         std::round(origin_y + counter.y1 - ImGui::GetFontSize() - ui.Px(1))),
                  ui.theme.text_dim, text.c_str());
  }
  ImGui::PopFont();
}

std::string HeaderFigures(const Ui& ui, const ShownRun& run) {
  const RunData& data = *run.data;
  if (data.empty()) return data.error.empty() ? "nothing recorded" : data.error;
  std::string text = (data.steps.empty() ? "" : "step ") + TimeText(data.step_ns);
  if (const auto effect = EffectOf(data)) {
    text += "  " + SignedPercentText(effect->change) + " by the change";
    if (effect->bias) text += ", model " + SignedPercentText(*effect->bias);
  } else if (const auto change = ui.timeline().ChangeAgainstBaseline(run.key)) {
    text += "  " + SignedPercentText(*change);
    if (ui.timeline().CannotTell(run.key)) text += ", cannot tell";
  }
  if (!data.complete) text += "  incomplete";
  if (data.oversubscribed) text += "  oversubscribed";
  if (data.out_of_memory()) text += "  OUT OF MEMORY";
  return text;
}

void PaintFoldSign(ImDrawList* list, ImVec2 middle, float size, bool folded, ImU32 colour) {
  if (folded) {
    list->AddTriangleFilled(ImVec2(middle.x - size / 2, middle.y - size), ImVec2(middle.x + size, middle.y),
                            ImVec2(middle.x - size / 2, middle.y + size), colour);
  } else {
    list->AddTriangleFilled(ImVec2(middle.x - size, middle.y - size / 2),
                            ImVec2(middle.x + size, middle.y - size / 2), ImVec2(middle.x, middle.y + size),
                            colour);
  }
}

void PaintRunHeader(const Ui& ui, ImDrawList* list, const TimelineFrame& frame, const LaidRun& laid,
                    float origin_y) {
  const ShownRun& run = ui.timeline().runs()[static_cast<size_t>(laid.run)];
  const ImU32 colour = KindColour(ui.theme, run.data->kind);
  const float left = frame.left - frame.gutter, right = frame.left + frame.width;
  const float top = origin_y + laid.top, bottom = origin_y + laid.header_bottom;
  list->AddRectFilled(ImVec2(left, top), ImVec2(right, bottom), Mix(ui.theme.panel, colour, 0.16f));
  list->AddRectFilled(ImVec2(left, top), ImVec2(left + ui.Px(4), origin_y + laid.bottom), colour);
  const float text_y = std::round((top + bottom - ImGui::GetFontSize()) / 2);
  const float size = ImGui::GetFontSize() * 0.3f, middle = (top + bottom) / 2, x = left + ui.Px(15);
  PaintFoldSign(list, ImVec2(x, middle), size, laid.collapsed, ui.theme.text);
  ImVec2 position(left + ui.Px(26), std::round(middle - ImGui::GetFontSize() * 0.575f));
  DrawKindChips(ui, list, &position, frame.width, *run.data);
  const std::string figures = HeaderFigures(ui, run);
  const float figures_width = TextWidth(figures);
  const float room = right - position.x - figures_width - ui.Px(40);
  const std::string title = Shorten(run.title, std::max(room, ui.Px(60)));
  list->AddText(ImVec2(position.x + ui.Px(6), text_y), ui.theme.text, title.c_str());
  const float figures_x = position.x + ui.Px(26) + TextWidth(title);
  list->PushClipRect(ImVec2(left, top), ImVec2(right, bottom), true);
  list->AddText(ImVec2(figures_x, text_y), run.data->out_of_memory() ? ui.theme.limit : ui.theme.text_dim,
                figures.c_str());
  list->PopClipRect();
}

void PaintGroupHeader(const Ui& ui, ImDrawList* list, const TimelineFrame& frame, const LaidGroup& laid,
                      float origin_y) {
  const ShownRun& run = ui.timeline().runs()[static_cast<size_t>(laid.run)];
  const ImU32 colour = KindColour(ui.theme, run.data->kind);
  const float left = frame.left - frame.gutter + ui.Px(4), right = frame.left + frame.width;
  const float top = origin_y + laid.top, bottom = origin_y + laid.bottom;
  list->AddRectFilled(ImVec2(left, top), ImVec2(right, bottom),
                      Mix(ui.theme.panel, colour, laid.depth == 0 ? 0.08f : 0.04f));
  ImGui::PushFont(ui.fonts.small);
  const float x = left + ui.Px(9 + 10 * static_cast<float>(laid.depth));
  PaintFoldSign(list, ImVec2(x, (top + bottom) / 2), ImGui::GetFontSize() * 0.27f, laid.folded,
                ui.theme.text_dim);
  const LaneGroup& group = run.data->groups[static_cast<size_t>(laid.group)];
  std::string text = group.title;
  if (laid.folded) text += "  (" + std::to_string(laid.lanes) + (laid.lanes == 1 ? " lane)" : " lanes)");
  const std::string cut = Shorten(text, right - x - ui.Px(20));
  list->AddText(ImVec2(x + ui.Px(9), std::round((top + bottom - ImGui::GetFontSize()) / 2)), ui.theme.text,
                cut.c_str());
  const float after = x + ui.Px(21) + TextWidth(cut);
  if (!group.remark.empty())
    list->AddText(ImVec2(after, std::round((top + bottom - ImGui::GetFontSize()) / 2)), ui.theme.text_dim,
                  Shorten(group.remark, right - after - ui.Px(20)).c_str());
  ImGui::PopFont();
}

bool IsPredicted(const RunData& run) {
  return run.kind == RunKind::kSimulated || run.kind == RunKind::kWhatIf;
}

PaintStyle StyleFor(const Ui& ui) {
  PaintStyle style;
  style.theme = &ui.theme;
  style.colours = &ui.colours;
  style.mode = ui.state.colour;
  style.label_font = ui.fonts.small;
  style.scale = ui.scale;
  style.dim_others = ui.state.selection.op >= 0 || !ui.state.search.empty();
  return style;
}

int DeviceOf(const Ui& ui, const LaidLane& laid) {
  return ui.timeline()
      .runs()[static_cast<size_t>(laid.run)]
      .data->lanes[static_cast<size_t>(laid.lane)]
      .device;
}

}  // namespace

void PaintArea(const Ui& ui, ImDrawList* list, const TimelineFrame& frame, float ruler_top, float origin_y,
               float bottom) {
  if (!ui.state.selection.area) return;
  const Area& area = *ui.state.selection.area;
  const float x0 = frame.left + static_cast<float>(std::clamp(ui.state.view.ToPixel(area.begin), -10.0,
                                                              static_cast<double>(frame.width) + 10));
  const float x1 = frame.left + static_cast<float>(std::clamp(ui.state.view.ToPixel(area.end), -10.0,
                                                              static_cast<double>(frame.width) + 10));
  for (const LaneId& id : area.lanes) {
    const LaidLane* lane = ui.analysis.layout().Find(id.first, id.second);
    if (lane == nullptr) continue;
    list->AddRectFilled(ImVec2(x0, origin_y + lane->top), ImVec2(x1, origin_y + lane->bottom), ui.theme.area);
  }
  for (const float x : {x0, x1}) {
    list->AddRectFilled(ImVec2(std::round(x), ruler_top), ImVec2(std::round(x) + 1, bottom),
                        WithAlpha(ui.theme.accent, 0.9f));
  }
  const std::string text = TimeText(std::llround(area.end - area.begin));
  ImGui::PushFont(ui.fonts.small);
  const float width = TextWidth(text) + ui.Px(8), middle = std::round((x0 + x1 - width) / 2);
  list->AddRectFilled(ImVec2(middle, ruler_top + ui.Px(2)), ImVec2(middle + width, ruler_top + ui.Px(18)),
                      ui.theme.accent, ui.Px(3));
  list->AddText(ImVec2(middle + ui.Px(4), ruler_top + ui.Px(3)), TextOn(ui.theme.accent), text.c_str());
  ImGui::PopFont();
}

void PaintLanes(const Ui& ui, ImDrawList* list, const TimelineFrame& frame, const DrawPlan& plan, float top,
                float height) {
  const Layout& layout = ui.analysis.layout();
  const float origin_y = top - ui.state.scroll_y;
  PaintStyle style = StyleFor(ui);
  for (const LaidRun& run : layout.runs) {
    if (!IsPredicted(*ui.timeline().runs()[static_cast<size_t>(run.run)].data)) continue;
    style.predicted.emplace_back(run.top - ui.state.scroll_y, run.bottom - ui.state.scroll_y);
  }
  const LaidLane* before = nullptr;
  for (const LaidLane& lane : layout.lanes) {
    const bool names_device =
        before == nullptr || before->key != lane.key || DeviceOf(ui, *before) != DeviceOf(ui, lane);
    before = &lane;
    if (origin_y + lane.bottom < top || origin_y + lane.top > top + height) continue;
    PaintLaneBackground(ui, list, frame, lane, origin_y, false, names_device);
  }
  const ImVec2 content_from(frame.left, top), content_to(frame.left + frame.width, top + height);
  list->PushClipRect(content_from, content_to, true);
  PaintGrid(ui, list, frame, top, top + height);
  for (const LaidRun& run : layout.runs) {
    const ShownRun& shown = ui.timeline().runs()[static_cast<size_t>(run.run)];
    if (!IsPredicted(*shown.data) || run.collapsed) continue;
    const float from = std::max(origin_y + run.header_bottom, top),
                to = std::min(origin_y + run.bottom, top + height);
    if (from >= to) continue;
    PaintHatching(list, ImVec2(frame.left, from), ImVec2(frame.left + frame.width, to),
                  WithAlpha(KindColour(ui.theme, shown.data->kind), 0.10f), ui.Px(14));
  }
  PaintSteps(list, content_from, plan.lanes, style);
  PaintSlices(list, content_from, plan.lanes, ui.timeline(), style);
  if (ui.state.show_arrows) PaintArrows(list, content_from, plan, style);
  list->PopClipRect();
  PaintCounterScale(ui, list, frame, top, plan.lanes);
  for (const LaidRun& run : layout.runs) {
    if (origin_y + run.bottom < top || origin_y + run.top > top + height) continue;
    PaintRunHeader(ui, list, frame, run, origin_y);
  }
  for (const LaidGroup& group : layout.groups) {
    if (origin_y + group.bottom < top || origin_y + group.top > top + height) continue;
    PaintGroupHeader(ui, list, frame, group, origin_y);
  }
}

float PaintPinned(const Ui& ui, ImDrawList* list, const TimelineFrame& frame, const DrawPlan& plan,
                  float top) {
  const Layout& layout = ui.analysis.layout();
  if (layout.pinned.empty()) return top;
  const float bottom = top + layout.pinned_height + ui.Px(4);
  list->AddRectFilled(ImVec2(frame.left - frame.gutter, top), ImVec2(frame.left + frame.width, bottom),
                      Mix(ui.theme.panel, ui.theme.accent, 0.12f));
  for (const LaidLane& lane : layout.pinned) PaintLaneBackground(ui, list, frame, lane, top, true, true);
  const ImVec2 origin(frame.left, top);
  list->PushClipRect(origin, ImVec2(frame.left + frame.width, bottom), true);
  PaintStyle style = StyleFor(ui);
  for (const LaidLane& lane : layout.pinned) {
    if (!IsPredicted(*ui.timeline().runs()[static_cast<size_t>(lane.run)].data)) continue;
    style.predicted.emplace_back(lane.top, lane.bottom);
  }
  PaintSlices(list, origin, plan.pinned, ui.timeline(), style);
  list->PopClipRect();
  list->AddRectFilled(ImVec2(frame.left - frame.gutter, bottom - ui.Px(2)),
                      ImVec2(frame.left + frame.width, bottom), ui.theme.accent);
  return bottom;
}

std::string LaneLabel(const RunData& run, const Lane& lane) {
  switch (lane.role) {
    case LaneRole::kCopyIn:
    case LaneRole::kCopyOut:
    case LaneRole::kCopyWithin:
    case LaneRole::kMemory:
      return std::string(LaneRoleName(lane.role));
    case LaneRole::kCompute:
      return lane.device >= 0 && !run.foreign ? run.devices[static_cast<size_t>(lane.device)].label
                                              : lane.label;
    default:
      return lane.label;
  }
}

}  // namespace lanescope::gui
