// SPDX-License-Identifier: Apache-2.0
// Ruler, grid, marks, minimap, legend.
#include <algorithm>
#include <cmath>

#include "core/base/units.h"
#include "gui/app/format.h"
#include "gui/app/timeline_pieces.h"
#include "gui/app/widgets.h"
#include "gui/model/minimap.h"

namespace lanescope::gui {

void PaintRuler(const Ui& ui, ImDrawList* list, const TimelineFrame& frame, float top, float height) {
  const float bottom = top + height;
  list->AddRectFilled(ImVec2(frame.left - frame.gutter, top), ImVec2(frame.left + frame.width, bottom),
                      ui.theme.panel);
  const std::vector<RulerTick> ticks = RulerTicks(ui.state.view, ui.Px(14));
  std::vector<const RulerTick*> majors;
  for (const RulerTick& tick : ticks) {
    const float x = std::round(frame.left + tick.x);
    if (x < frame.left || x > frame.left + frame.width) continue;
    list->AddRectFilled(ImVec2(x, bottom - ui.Px(tick.major ? 8.0f : 4.0f)), ImVec2(x + 1, bottom),
                        ui.theme.text_dim);
    if (tick.major) majors.push_back(&tick);
  }
  const double step = majors.size() > 1 ? majors[1]->axis_ns - majors[0]->axis_ns : 1;
  float free_from = frame.left - frame.gutter;
  ImGui::PushFont(ui.fonts.small);
  for (const RulerTick* tick : majors) {
    const std::string text = AxisText(std::llround(tick->axis_ns), std::max<int64_t>(1, std::llround(step)));
    const float x = std::round(frame.left + tick->x) + ui.Px(4), width = TextWidth(text);
    if (x < free_from || x + width > frame.left + frame.width) continue;
    list->AddText(ImVec2(x, top + ui.Px(2)), ui.theme.text_dim, text.c_str());
    free_from = x + width + ui.Px(10);
  }
  const std::string span = TimeText(std::llround(ui.state.view.end() - ui.state.view.begin()));
  list->AddText(ImVec2(frame.left - frame.gutter + ui.Px(8), top + ui.Px(3)), ui.theme.text_dim,
                ("view " + span).c_str());
  ImGui::PopFont();
  list->AddRectFilled(ImVec2(frame.left - frame.gutter, bottom - 1), ImVec2(frame.left + frame.width, bottom),
                      ui.theme.border);
}

void PaintGrid(const Ui& ui, ImDrawList* list, const TimelineFrame& frame, float top, float bottom) {
  for (const RulerTick& tick : RulerTicks(ui.state.view, ui.Px(14))) {
    if (!tick.major || tick.x < 0 || tick.x > frame.width) continue;
    const float x = std::round(frame.left + tick.x);
    list->AddRectFilled(ImVec2(x, top), ImVec2(x + 1, bottom), WithAlpha(ui.theme.grid, 0.7f));
  }
}

void PaintHits(const Ui& ui, ImDrawList* list, const TimelineFrame& frame, const DrawPlan& plan, float top) {
  for (const DrawTick& tick : plan.search_ticks) {
    const float x = std::round(frame.left + tick.x);
    list->AddRectFilled(ImVec2(x, top - ui.Px(5)), ImVec2(x + ui.Px(2), top), ui.theme.hit);
  }
}

void PaintMarks(const Ui& ui, ImDrawList* list, const TimelineFrame& frame, float ruler_top, float bottom) {
  ImGui::PushFont(ui.fonts.small);
  for (size_t i = 0; i < ui.state.marks.size(); ++i) {
    const Mark& mark = ui.state.marks[i];
    const double pixel = ui.state.view.ToPixel(mark.begin);
    if (pixel < 0 || pixel > frame.width) continue;
    const float x = std::round(frame.left + static_cast<float>(pixel));
    list->AddRectFilled(ImVec2(x, ruler_top), ImVec2(x + std::max(1.0f, ui.Px(1)), bottom), ui.theme.mark);
    // The time since the mark before, which is what marks are for.
    std::string text = mark.label;
    if (i > 0) text += "  " + SignedTimeText(mark.begin - ui.state.marks[i - 1].begin);
    const float width = TextWidth(text) + ui.Px(8);
    list->AddRectFilled(ImVec2(x, ruler_top), ImVec2(x + width, ruler_top + ui.Px(16)), ui.theme.mark,
                        ui.Px(2));
    list->AddText(ImVec2(x + ui.Px(4), ruler_top + ui.Px(1)), TextOn(ui.theme.mark), text.c_str());
  }
  ImGui::PopFont();
}

void PaintMinimap(const Ui& ui, ImDrawList* list, const TimelineFrame& frame, float top, float height) {
  list->AddRectFilled(ImVec2(frame.left - frame.gutter, top), ImVec2(frame.left + frame.width, top + height),
                      ui.theme.panel);
  const auto rows = BuildMinimap(ui.timeline(), ui.analysis.axes(), static_cast<int>(frame.width));
  const float row_height = height / static_cast<float>(std::max<size_t>(rows.size(), 1));
  for (size_t i = 0; i < rows.size(); ++i) {
    const ShownRun* run = ui.timeline().Find(rows[i].run);
    const ImU32 colour = run == nullptr ? ui.theme.text : KindColour(ui.theme, run->data->kind);
    const float y0 = top + row_height * static_cast<float>(i) + 1, y1 = y0 + row_height - 1;
    size_t begin = 0;
    const auto shade = [&](size_t x) {
      return std::lround(std::clamp(rows[i].columns[x].busy, 0.0f, 1.0f) * 12);
    };
    while (begin < rows[i].columns.size()) {
      size_t end = begin + 1;
      while (end < rows[i].columns.size() && shade(end) == shade(begin)) ++end;
      if (shade(begin) > 0) {
        list->AddRectFilled(ImVec2(frame.left + static_cast<float>(begin), y0),
                            ImVec2(frame.left + static_cast<float>(end), y1),
                            WithAlpha(colour, 0.2f + 0.06f * static_cast<float>(shade(begin))));
      }
      begin = end;
    }
  }
  const auto [begin, end] = ui.analysis.extent();
  const double per_px = (end - begin) / frame.width;
  const auto pixel = [&](double axis) {
    return frame.left + static_cast<float>(std::clamp((axis - begin) / per_px, 0.0, double{frame.width}));
  };
  float x0 = pixel(ui.state.view.begin()), x1 = pixel(ui.state.view.end());
  if (x1 - x0 < ui.Px(3)) x1 = x0 + ui.Px(3);
  const ImU32 shade = WithAlpha(ui.theme.background, 0.6f);
  list->AddRectFilled(ImVec2(frame.left, top), ImVec2(x0, top + height), shade);
  list->AddRectFilled(ImVec2(x1, top), ImVec2(frame.left + frame.width, top + height), shade);
  list->AddRect(ImVec2(x0, top), ImVec2(x1, top + height), ui.theme.accent, 0, 0,
                std::max(1.0f, ui.Px(1.5f)));
  ImGui::PushFont(ui.fonts.small);
  list->AddText(
      ImVec2(frame.left - frame.gutter + ui.Px(8), std::round(top + (height - ImGui::GetFontSize()) / 2)),
      ui.theme.text_dim, ("all " + TimeText(std::llround(end - begin))).c_str());
  ImGui::PopFont();
}

void PaintPointer(const Ui& ui, ImDrawList* list, const TimelineFrame& frame, float ruler_top, float bottom) {
  if (!ui.state.hover_axis) return;
  const float x = std::round(frame.left + static_cast<float>(ui.state.view.ToPixel(*ui.state.hover_axis)));
  if (x < frame.left || x > frame.left + frame.width) return;
  list->AddRectFilled(ImVec2(x, ruler_top), ImVec2(x + 1, bottom), WithAlpha(ui.theme.text, 0.25f));
}

namespace {

constexpr int kMostLegendLines = 2;

// Calls place(entry, text, x, line) for the entries of the legend that find room on so many lines; returns
// the lines that they take.
template <typename Place>
int LayLegend(const Ui& ui, const TimelineFrame& frame, int most_lines, Place place) {
  const float left = frame.left - frame.gutter + ui.Px(8);
  float x = left;
  int line = 0;
  for (const auto& entry : ui.colours.Legend(ui.state.colour, 12)) {
    std::string text = Shorten(entry.text, ui.Px(170));
    if (entry.share > 0) text += "  " + PercentText(entry.share, entry.share < 0.1 ? 1 : 0);
    const float width = TextWidth(text) + ui.Px(30);
    if (x + width > frame.left + frame.width) {
      if (line + 1 == most_lines) break;
      ++line;
      x = left;
    }
    place(entry, text, x, line);
    x += width;
  }
  return line + 1;
}

}  // namespace

int LegendLines(const Ui& ui, const TimelineFrame& frame) {
  ImGui::PushFont(ui.fonts.small);
  const int lines = LayLegend(ui, frame, kMostLegendLines, [](const auto&...) {});
  ImGui::PopFont();
  return lines;
}

void PaintLegend(const Ui& ui, ImDrawList* list, const TimelineFrame& frame, float top, float line_height) {
  ImGui::PushFont(ui.fonts.small);
  LayLegend(ui, frame, kMostLegendLines,
            [&](const Colours::LegendEntry& entry, const std::string& text, float x, int line) {
              const float y = std::round(top + line_height * static_cast<float>(line) +
                                         (line_height - ImGui::GetFontSize()) / 2);
              list->AddRectFilled(ImVec2(x, y + ui.Px(2)), ImVec2(x + ui.Px(10), y + ui.Px(12)), entry.colour,
                                  ui.Px(2));
              list->AddText(ImVec2(x + ui.Px(14), y), ui.theme.text_dim, text.c_str());
            });
  ImGui::PopFont();
}

}  // namespace lanescope::gui
