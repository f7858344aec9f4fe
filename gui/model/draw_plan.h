// SPDX-License-Identifier: Apache-2.0
// A picture of the timeline as plain rectangles: computed from data and view, without any graphics.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "gui/model/layout.h"
#include "gui/model/timeline_data.h"
#include "gui/model/view_transform.h"

namespace lanescope::gui {

enum class ColorMode : uint8_t { kOp, kDevice, kKind, kError, kRange };

// A colour's key, by mode: kOp: OpEntry::color, a hash of the op type; kDevice: a number by device
// label (GPU:0 is 1, GPU:1 is 2, ..., CPU is 0); kKind: SliceKind; kError: 100 + percent by which the
// prediction is off, clamped to 0..200, kUnknownError where there is none; kRange: OpEntry::range, of a slice
// whose call is known the hash of the range around that.
using ColorKey = uint32_t;
inline constexpr ColorKey kUnknownError = 255;
enum class SliceKind : uint8_t {
  kLaunch,
  kHostLaunch,
  kHostToDevice,
  kDeviceToHost,
  kDeviceToDevice,
  kWithinDevice,
  kCall
};

enum DrawFlags : uint8_t {
  kSelected = 1,  // the selected slice itself
  kSameOp = 2,    // the selected op, in any run, launch or copy
  kSearchHit = 4,
  kOnCriticalPath = 8,  // slices only, drawn over columns
  kOutsideStep = 16,    // dim: not in the selected step (only where a step is selected)
  kMark = 32,
};

// One slice, or several narrower than a pixel that touch. Pixels; x0 and x1 are within the clip range, and
// x1 - x0 >= 1.
struct DrawSlice {
  float x0 = 0, x1 = 0, y0 = 0, y1 = 0;
  ColorKey color = 0;
  uint8_t flags = 0;
  bool merged = false;  // more slices than this one: no label, no outline
  SliceRef slice;       // the longest of what it stands for
};

// One pixel of a row that is drawn as columns.
struct DrawColumn {
  float busy = 0;  // 0..1: share of the pixel's time that slices cover
  ColorKey color = 0;
  int32_t op = -1;  // of the longest slice: index into RunData::ops
  uint8_t flags = 0;
};
// Columns [first, first + count) stand at x0, x0 + 1, ...; one texture row, or a strip of thin rectangles.
struct DrawRow {
  float x0 = 0, y0 = 0, y1 = 0;
  uint32_t first = 0, count = 0;
  RunKey run = 0;
  int lane = 0;
};

// Text inside a slice that has room for it. The text is an OpEntry's name or op and lives as long as the run.
struct DrawLabel {
  float x0 = 0, x1 = 0, y0 = 0, y1 = 0;  // of the visible part of the slice
  std::string_view text;
  uint8_t flags = 0;
  ColorKey color = 0;  // of the slice behind it
};

// One pixel of a counter: from the least to the greatest value within it.
struct DrawCounterColumn {
  float low = 0, high = 0;  // 0..1 of CounterStrip::scale_bytes
  bool any = false;
  bool over_limit = false;
};
struct DrawCounter {
  float x0 = 0, y0 = 0, y1 = 0;
  uint32_t first = 0, count = 0;
  RunKey run = 0;
  int lane = 0;
  double scale_bytes = 1;  // value at y0
  float limit_y = -1;      // where the limit lies; -1: out of scale or unknown
  bool in_bytes = true;    // else elements
};

// From the end of one slice to the start of another.
struct DrawArrow {
  float x0 = 0, y0 = 0, x1 = 0, y1 = 0;
  uint8_t flags = 0;
};
// Stands for arrows where there are too many: how many leave or enter in each stretch of a lane.
struct DrawArrowBand {
  float x0 = 0, x1 = 0, y0 = 0, y1 = 0;
  int arrows = 0;
};
// Step boundaries and shading behind the lanes of a run.
struct DrawStep {
  float x0 = 0, x1 = 0, y0 = 0, y1 = 0;
  int step = 0;
  bool odd = false;
  bool counts = true;  // false: others disturbed it
};
// Position of a search hit, mark or critical stretch on the minimap and in the ruler: at most one a pixel.
struct DrawTick {
  float x = 0;
  uint8_t flags = 0;
};

// Slices that light up. All pointers may be null, and are read only during the call.
struct Highlight {
  SliceRef slice;
  OpIdentity op = -1;
  const std::vector<OpIdentity>* ops = nullptr;  // several; in any order
  int step = -1;                                 // dim what is not of this step; -1: nothing
  // By position in timeline.runs(), by index into ops: 1 where the op is a search hit.
  const std::vector<std::vector<char>>* search_hits = nullptr;
  // By position in timeline.runs(): slices on the critical path, sorted.
  const std::vector<std::vector<SliceRef>>* critical = nullptr;
  // By position in timeline.runs(), by index into ops: key of ColorMode::kError.
  const std::vector<std::vector<uint8_t>>* errors = nullptr;
};

struct DrawOptions {
  ColorMode color = ColorMode::kOp;
  bool arrows = true;
  int max_arrows = 500;  // more: a band
  float glyph_px = 7;    // width of a character, to decide whether a label fits
  int min_label_glyphs = 3;
  bool label_op = false;  // op type instead of name
  float scroll_y = 0;     // of the lanes
  float height_px = 0;    // visible height, pinned strip not included
};

// Reused from frame to frame: capacity stays. Coordinates: x from the left edge of the content; y of lanes
// from the top of the visible area (scrolling applied), of pinned lanes from the top of their strip.
struct DrawPlan {
  struct Part {
    std::vector<DrawSlice> slices;
    std::vector<DrawRow> rows;
    std::vector<DrawColumn> columns;
    std::vector<DrawLabel> labels;
    std::vector<DrawCounter> counters;
    std::vector<DrawCounterColumn> counter_columns;
    std::vector<DrawStep> steps;
    void Clear();
  };
  Part lanes, pinned;
  std::vector<DrawArrow> arrows;  // over the lanes
  std::vector<DrawArrowBand> arrow_bands;
  std::vector<DrawTick> search_ticks;  // over all runs
  int64_t visible_arrows = 0;          // drawn or not
  void Clear();
};

// `axes`: AlignRuns of the timeline. Only what is visible is looked at. Cost: by pixels, not by slices (under
// 5 ms for 10 million slices in 16 lanes).
void BuildDrawPlan(const Timeline& timeline, const Layout& layout, const std::vector<RunAxis>& axes,
                   const ViewTransform& view, const Highlight& highlight, const DrawOptions& options,
                   DrawPlan* plan);

ColorKey RangeKey(const RunData& run, const Lane& lane, uint32_t slice);
ColorKey ColorOf(const RunData& run, const Lane& lane, uint32_t slice, ColorMode mode);

// Ticks of a time ruler: round numbers of ns, at least `min_px` apart. Labels are relative to the axis' zero.
struct RulerTick {
  float x = 0;
  bool major = false;
  double axis_ns = 0;
};
std::vector<RulerTick> RulerTicks(const ViewTransform& view, float min_px);

}  // namespace lanescope::gui
