// SPDX-License-Identifier: Apache-2.0
// The pieces that the timeline is painted from, top to bottom. Positions are of the screen.
#pragma once

#include <imgui.h>

#include <string>

#include "gui/app/ui.h"

namespace lanescope::gui {

struct TimelineFrame {
  float left = 0;    // of the lanes' content
  float width = 0;   // of the content
  float gutter = 0;  // left of it, with the labels
};

// timeline_axis.cpp: what belongs to time.
void PaintRuler(const Ui& ui, ImDrawList* list, const TimelineFrame& frame, float top, float height);
void PaintGrid(const Ui& ui, ImDrawList* list, const TimelineFrame& frame, float top, float bottom);
// Search hits as ticks below the ruler.
void PaintHits(const Ui& ui, ImDrawList* list, const TimelineFrame& frame, const DrawPlan& plan, float top);
void PaintMarks(const Ui& ui, ImDrawList* list, const TimelineFrame& frame, float ruler_top, float bottom);
void PaintMinimap(const Ui& ui, ImDrawList* list, const TimelineFrame& frame, float top, float height);
void PaintPointer(const Ui& ui, ImDrawList* list, const TimelineFrame& frame, float ruler_top, float bottom);
// Below the lanes.
// The legend takes one line or more, by the room that its entries have.
int LegendLines(const Ui& ui, const TimelineFrame& frame);
void PaintLegend(const Ui& ui, ImDrawList* list, const TimelineFrame& frame, float top, float line_height);

// timeline_lanes.cpp: what belongs to runs and lanes.
void PaintArea(const Ui& ui, ImDrawList* list, const TimelineFrame& frame, float ruler_top, float origin_y,
               float bottom);
void PaintLanes(const Ui& ui, ImDrawList* list, const TimelineFrame& frame, const DrawPlan& plan, float top,
                float height);
float PaintPinned(const Ui& ui, ImDrawList* list, const TimelineFrame& frame, const DrawPlan& plan,
                  float top);
std::string LaneLabel(const RunData& run, const Lane& lane);

}  // namespace lanescope::gui
