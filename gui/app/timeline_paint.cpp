// SPDX-License-Identifier: Apache-2.0
#include "gui/app/timeline_paint.h"

#include <algorithm>
#include <cmath>

namespace lanescope::gui {
namespace {

// How far slices that are not meant step back.
constexpr float kDimmed = 0.62f;
constexpr float kOutside = 0.75f;
constexpr float kHollow = 0.42f;
constexpr int kMinLabel = 3;        // characters of a label that is cut
constexpr size_t kManyArrows = 60;  // more of them are fainter

constexpr uint8_t kLit = kSelected | kSameOp | kSearchHit;

bool IsPredicted(const Timeline& timeline, RunKey key) {
  const ShownRun* run = timeline.Find(key);
  return run != nullptr && (run->data->kind == RunKind::kSimulated || run->data->kind == RunKind::kWhatIf);
}

ImU32 FillOf(const PaintStyle& style, ColorKey key, uint8_t flags) {
  ImU32 colour = style.colours->Of(key, style.mode);
  if (style.dim_others && (flags & kLit) == 0) colour = Mix(colour, style.theme->lane, kDimmed);
  if ((flags & kOutsideStep) != 0) colour = Mix(colour, style.theme->lane, kOutside);
  return colour;
}

// Frames and underlines for what is special about a slice.
void PaintFlags(ImDrawList* list, ImVec2 from, ImVec2 to, uint8_t flags, const PaintStyle& style) {
  const float line = std::max(1.0f, std::round(style.scale));
  if ((flags & kOnCriticalPath) != 0) {
    list->AddRectFilled(ImVec2(from.x, to.y - 3 * line), to, style.theme->critical);
  }
  if ((flags & kSearchHit) != 0) {
    list->AddRect(ImVec2(from.x - line, from.y), ImVec2(to.x + line, to.y), style.theme->hit, 0, 0, 2 * line);
  }
  if ((flags & kSameOp) != 0) {
    list->AddRect(ImVec2(from.x - line, from.y), ImVec2(to.x + line, to.y), style.theme->selection, 0, 0,
                  line);
  }
  if ((flags & kSelected) != 0) {
    list->AddRect(ImVec2(from.x - 2 * line, from.y - line), ImVec2(to.x + 2 * line, to.y + line),
                  style.theme->selection, 0, 0, 3 * line);
  }
}

// Neighbouring columns of one colour become one rectangle.
void PaintRow(ImDrawList* list, ImVec2 origin, const DrawPlan::Part& part, const DrawRow& row,
              const PaintStyle& style) {
  const float top = origin.y + row.y0, bottom = origin.y + row.y1;
  const auto colour_of = [&](const DrawColumn& column) -> ImU32 {
    if (!(column.busy > 0)) return 0;
    // Sixteen shades: a column that is hardly ever busy stays visible.
    const float share = 0.25f + 0.75f * std::round(std::min(column.busy, 1.0f) * 16) / 16;
    return Mix(style.theme->lane, FillOf(style, column.color, column.flags), share);
  };
  uint32_t begin = 0;
  while (begin < row.count) {
    const DrawColumn& first = part.columns[row.first + begin];
    const ImU32 colour = colour_of(first);
    uint32_t end = begin + 1;
    while (end < row.count && part.columns[row.first + end].flags == first.flags &&
           colour_of(part.columns[row.first + end]) == colour) {
      ++end;
    }
    const ImVec2 from(origin.x + row.x0 + static_cast<float>(begin), top);
    const ImVec2 to(origin.x + row.x0 + static_cast<float>(end), bottom);
    if (colour != 0) {
      list->AddRectFilled(from, to, colour);
      if ((first.flags & ~kOutsideStep) != 0) PaintFlags(list, from, to, first.flags, style);
    }
    begin = end;
  }
}

void PaintSlice(ImDrawList* list, ImVec2 origin, const DrawSlice& slice, bool predicted,
                const PaintStyle& style) {
  const ImVec2 from(origin.x + slice.x0, origin.y + slice.y0);
  const ImVec2 to(origin.x + slice.x1, origin.y + slice.y1);
  const ImU32 colour = FillOf(style, slice.color, slice.flags);
  const float line = std::max(1.0f, std::round(style.scale));
  if (predicted && !slice.merged && slice.x1 - slice.x0 >= 4 * line) {
    list->AddRectFilled(from, to, colour);
    list->AddRectFilled(ImVec2(from.x + line, from.y + line), ImVec2(to.x - line, to.y - line),
                        Mix(colour, style.theme->lane, kHollow));
  } else {
    list->AddRectFilled(from, to, colour);
    // A seam between neighbours of one colour.
    if (!slice.merged && slice.x1 - slice.x0 >= 3 * line) {
      list->AddRectFilled(ImVec2(to.x - line, from.y), to, Mix(colour, style.theme->lane, 0.45f));
    }
  }
}

void PaintCounter(ImDrawList* list, ImVec2 origin, const DrawPlan::Part& part, const DrawCounter& counter,
                  const PaintStyle& style) {
  const float top = origin.y + counter.y0, bottom = origin.y + counter.y1, height = bottom - top;
  const ImU32 usual = Mix(style.theme->memory, style.theme->lane, 0.25f);
  uint32_t begin = 0;
  while (begin < counter.count) {
    const DrawCounterColumn& first = part.counter_columns[counter.first + begin];
    uint32_t end = begin + 1;
    while (end < counter.count) {
      const DrawCounterColumn& next = part.counter_columns[counter.first + end];
      if (next.any != first.any || next.high != first.high || next.over_limit != first.over_limit) break;
      ++end;
    }
    if (first.any) {
      const float y = bottom - std::clamp(first.high, 0.0f, 1.0f) * (height - 1) - 1;
      const ImVec2 from(origin.x + counter.x0 + static_cast<float>(begin), std::floor(y));
      const ImVec2 to(origin.x + counter.x0 + static_cast<float>(end), bottom);
      const ImU32 colour = first.over_limit ? style.theme->limit : usual;
      list->AddRectFilled(from, to, WithAlpha(colour, 0.55f));
      list->AddRectFilled(from, ImVec2(to.x, from.y + std::max(1.0f, std::round(style.scale))), colour);
    }
    begin = end;
  }
  if (counter.limit_y >= 0) {
    const float y = std::round(origin.y + counter.limit_y);
    const float right = origin.x + counter.x0 + static_cast<float>(counter.count);
    for (float x = origin.x + counter.x0; x < right; x += 9 * style.scale) {
      list->AddRectFilled(ImVec2(x, y), ImVec2(std::min(x + 5 * style.scale, right), y + 1),
                          style.theme->limit);
    }
  }
}

void PaintLabel(ImDrawList* list, ImVec2 origin, const DrawLabel& label, bool predicted,
                const PaintStyle& style) {
  ImFont* font = style.label_font;
  const float pad = std::round(3 * style.scale);
  const float room = label.x1 - label.x0 - 2 * pad;
  if (room < font->FontSize) return;
  ImU32 behind = FillOf(style, label.color, label.flags);
  if (predicted) behind = Mix(behind, style.theme->lane, kHollow);
  const ImVec2 position(std::round(origin.x + label.x0 + pad),
                        std::round(origin.y + (label.y0 + label.y1 - font->FontSize) / 2));
  const char* const end = label.text.data() + label.text.size();
  const char* fits = end;  // whole characters only
  font->CalcTextSizeA(font->FontSize, room, 0, label.text.data(), end, &fits);
  if (fits != end && fits - label.text.data() < kMinLabel) return;
  list->AddText(font, font->FontSize, position, TextOn(behind), label.text.data(), fits);
}

void PaintArrow(ImDrawList* list, ImVec2 origin, const DrawArrow& arrow, float faintness,
                const PaintStyle& style) {
  const ImVec2 from(origin.x + arrow.x0, origin.y + arrow.y0), to(origin.x + arrow.x1, origin.y + arrow.y1);
  const bool lit = (arrow.flags & (kSelected | kSameOp | kOnCriticalPath)) != 0;
  ImU32 colour = (arrow.flags & kOnCriticalPath) != 0 ? style.theme->critical : style.theme->arrow;
  if (!lit) colour = WithAlpha(colour, style.dim_others ? 0.15f : faintness);
  const float width = (lit ? 2.0f : 1.2f) * style.scale;
  const float bend = std::clamp(std::abs(to.x - from.x) * 0.5f, 8 * style.scale, 60 * style.scale);
  list->AddBezierCubic(from, ImVec2(from.x + bend, from.y), ImVec2(to.x - bend, to.y), to, colour, width, 16);
  const float head = 4 * style.scale;
  list->AddTriangleFilled(to, ImVec2(to.x - head * 1.4f, to.y - head * 0.8f),
                          ImVec2(to.x - head * 1.4f, to.y + head * 0.8f), colour);
}

}  // namespace

void PaintSteps(ImDrawList* list, ImVec2 origin, const DrawPlan::Part& part, const PaintStyle& style) {
  for (const DrawStep& step : part.steps) {
    const ImVec2 from(origin.x + step.x0, origin.y + step.y0), to(origin.x + step.x1, origin.y + step.y1);
    if (step.odd) list->AddRectFilled(from, to, WithAlpha(style.theme->text, 0.035f));
    if (!step.counts) list->AddRectFilled(from, to, WithAlpha(style.theme->bad, 0.1f));
    list->AddRectFilled(from, ImVec2(from.x + 1, to.y), WithAlpha(style.theme->text, 0.22f));
  }
}

void PaintSlices(ImDrawList* list, ImVec2 origin, const DrawPlan::Part& part, const Timeline& timeline,
                 const PaintStyle& style) {
  for (const DrawCounter& counter : part.counters) PaintCounter(list, origin, part, counter, style);
  for (const DrawRow& row : part.rows) PaintRow(list, origin, part, row, style);
  RunKey run = 0;
  bool predicted = false;
  const auto look = [&](RunKey key) {
    if (key != run) predicted = IsPredicted(timeline, run = key);
  };
  for (const DrawSlice& slice : part.slices) {
    look(slice.slice.run);
    PaintSlice(list, origin, slice, predicted, style);
  }
  for (const DrawSlice& slice : part.slices) {
    if ((slice.flags & ~kOutsideStep) == 0) continue;
    PaintFlags(list, ImVec2(origin.x + slice.x0, origin.y + slice.y0),
               ImVec2(origin.x + slice.x1, origin.y + slice.y1), slice.flags, style);
  }
  for (const DrawLabel& label : part.labels) {
    const bool hollow = std::any_of(style.predicted.begin(), style.predicted.end(), [&](const auto& range) {
      return label.y0 >= range.first && label.y0 < range.second;
    });
    PaintLabel(list, origin, label, hollow, style);
  }
}

void PaintArrows(ImDrawList* list, ImVec2 origin, const DrawPlan& plan, const PaintStyle& style) {
  for (const DrawArrowBand& band : plan.arrow_bands) {
    const float strength = std::min(0.6f, 0.2f + 0.05f * std::log2(1.0f + static_cast<float>(band.arrows)));
    const float height = std::max(1.0f, std::round(1.5f * style.scale));
    list->AddRectFilled(ImVec2(origin.x + band.x0, origin.y + band.y1),
                        ImVec2(origin.x + band.x1, origin.y + band.y1 + height),
                        WithAlpha(style.theme->arrow, strength));
  }
  const float faintness = plan.arrows.size() > kManyArrows ? 0.28f : 0.5f;
  for (const DrawArrow& arrow : plan.arrows) PaintArrow(list, origin, arrow, faintness, style);
}

void PaintHatching(ImDrawList* list, ImVec2 from, ImVec2 to, ImU32 colour, float spacing) {
  const float height = to.y - from.y;
  list->PushClipRect(from, to, true);
  for (float x = from.x - height; x < to.x; x += spacing) {
    list->AddLine(ImVec2(x, to.y), ImVec2(x + height, from.y), colour, 1);
  }
  list->PopClipRect();
}

}  // namespace lanescope::gui
