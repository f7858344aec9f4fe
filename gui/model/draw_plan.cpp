// SPDX-License-Identifier: Apache-2.0
#include "gui/model/draw_plan.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/machine/copy_class.h"
#include "gui/model/draw_arrows.h"
#include "gui/model/draw_rows.h"

namespace lanescope::gui {
namespace {

// "GPU:3" -> 4; "CPU:0", "host" -> 0; those of ranks, which may all be GPU:0, by their number in the trace;
// others by a hash.
ColorKey DeviceKey(const RunDevice& device) {
  if (device.is_host) return 0;
  if (device.label.find(' ') != std::string::npos) return static_cast<ColorKey>(device.id) + 1;
  const size_t colon = device.label.rfind(':');
  int number = 0;
  if (colon != std::string::npos) {
    const char* end = device.label.data() + device.label.size();
    const auto [stop, error] = std::from_chars(device.label.data() + colon + 1, end, number);
    if (error == std::errc() && stop == end && number >= 0) return static_cast<ColorKey>(number) + 1;
  }
  return static_cast<ColorKey>(std::hash<std::string>()(device.label) % 64) + 1;
}

SliceKind CopyKind(const RunData& run, int src, int dst) {
  const auto is_host = [&](int device) {
    return device >= 0 && run.devices[static_cast<size_t>(device)].is_host;
  };
  switch (CopyClassOf(is_host(src), is_host(dst), src == dst)) {
    case CopyClass::kHostToDevice:
      return SliceKind::kHostToDevice;
    case CopyClass::kDeviceToHost:
      return SliceKind::kDeviceToHost;
    case CopyClass::kDeviceToDevice:
      return SliceKind::kDeviceToDevice;
    case CopyClass::kWithinDevice:
    case CopyClass::kHostToHost:
      break;
  }
  return SliceKind::kWithinDevice;
}

SliceKind KindOf(const RunData& run, const Lane& lane, uint32_t slice) {
  const bool host = lane.device >= 0 && run.devices[static_cast<size_t>(lane.device)].is_host;
  switch (lane.role) {
    case LaneRole::kAnnotation:
    case LaneRole::kThread:
      return SliceKind::kCall;
    case LaneRole::kLink:
      return CopyKind(run, lane.device, lane.peer);
    case LaneRole::kCopyIn:
    case LaneRole::kCopyOut:
    case LaneRole::kCopyWithin: {
      const int32_t command = slice < lane.size() ? lane.command[slice] : -1;
      if (command >= 0) {
        const RunCommand& copy = run.commands[static_cast<size_t>(command)];
        return CopyKind(run, copy.src, copy.dst);
      }
      if (lane.role == LaneRole::kCopyWithin) return SliceKind::kWithinDevice;
      return lane.role == LaneRole::kCopyIn ? SliceKind::kHostToDevice : SliceKind::kDeviceToHost;
    }
    default:
      return host ? SliceKind::kHostLaunch : SliceKind::kLaunch;
  }
}

void DrawSteps(const RunData& run, const LaidRun& laid, const PixelScale& scale, float scroll,
               DrawPlan::Part* part) {
  // Narrower ones would be noise.
  constexpr double kMinStepPx = 4;
  const int64_t from = scale.TimeAt(0), to = scale.TimeAt(scale.width());
  const auto first = std::partition_point(run.steps.begin(), run.steps.end(),
                                          [&](const RunView::Step& step) { return step.end_ns <= from; });
  for (auto step = first; step != run.steps.end() && step->start_ns < to; ++step) {
    const double x0 = scale.ToPixel(step->start_ns), x1 = scale.ToPixel(step->end_ns);
    if (x1 - x0 < kMinStepPx) continue;
    part->steps.push_back({static_cast<float>(std::max(0.0, x0)),
                           static_cast<float>(std::min(scale.width(), x1)), laid.header_bottom - scroll,
                           laid.bottom - scroll, step->number, step->number % 2 != 0, step->counts});
  }
}

// Where hits are, a tick a pixel: by rows of the summary, so that it costs pixels and not slices.
void AddSearchTicks(const DrawPlan& plan, std::vector<DrawTick>* ticks) {
  std::vector<float> xs;
  const auto scan = [&](const DrawPlan::Part& part) {
    for (const DrawSlice& slice : part.slices) {
      if (slice.flags & kSearchHit) xs.push_back(std::floor((slice.x0 + slice.x1) / 2));
    }
    for (const DrawRow& row : part.rows) {
      for (uint32_t i = 0; i < row.count; ++i) {
        if (part.columns[row.first + i].flags & kSearchHit) xs.push_back(row.x0 + static_cast<float>(i));
      }
    }
  };
  scan(plan.lanes);
  std::sort(xs.begin(), xs.end());
  xs.erase(std::unique(xs.begin(), xs.end()), xs.end());
  for (const float x : xs) ticks->push_back({x, kSearchHit});
}

}  // namespace

void DrawPlan::Part::Clear() {
  slices.clear();
  rows.clear();
  columns.clear();
  labels.clear();
  counters.clear();
  counter_columns.clear();
  steps.clear();
}

void DrawPlan::Clear() {
  lanes.Clear();
  pinned.Clear();
  arrows.clear();
  arrow_bands.clear();
  search_ticks.clear();
  visible_arrows = 0;
}

ColorKey RangeKey(const RunData& run, const Lane& lane, uint32_t slice) {
  const int32_t op = slice < lane.size() ? lane.op[slice] : -1;
  const int32_t call = run.OriginOf(lane, slice);
  if (call >= 0) {
    const int range = run.calls[static_cast<size_t>(call)].range;
    return range < 0 ? 0 : run.ops[static_cast<size_t>(range)].range;
  }
  if (op < 0) return 0;
  // A range usual for the kernel is not that of one whose call nobody knows.
  const OpEntry& entry = run.ops[static_cast<size_t>(op)];
  return entry.node >= 0 || !lane.on_device() || run.calls.empty() ? entry.range : 0;
}

ColorKey ColorOf(const RunData& run, const Lane& lane, uint32_t slice, ColorMode mode) {
  const int32_t op = slice < lane.size() ? lane.op[slice] : -1;
  switch (mode) {
    case ColorMode::kOp:
      return op >= 0 ? run.ops[static_cast<size_t>(op)].color : 0;
    case ColorMode::kDevice:
      return lane.device >= 0 ? DeviceKey(run.devices[static_cast<size_t>(lane.device)]) : 0;
    case ColorMode::kKind:
      return static_cast<ColorKey>(KindOf(run, lane, slice));
    case ColorMode::kError:
      return kUnknownError;
    case ColorMode::kRange:
      return RangeKey(run, lane, slice);
  }
  return 0;
}

void BuildDrawPlan(const Timeline& timeline, const Layout& layout, const std::vector<RunAxis>& axes,
                   const ViewTransform& view, const Highlight& highlight, const DrawOptions& options,
                   DrawPlan* plan) {
  plan->Clear();
  std::vector<RunPaint> paints(timeline.runs().size());
  const auto paint_of = [&](int run) -> const RunPaint& {
    RunPaint& paint = paints[static_cast<size_t>(run)];
    if (paint.shown == nullptr) paint = PaintRun(timeline, run, highlight, options);
    return paint;
  };
  const auto draw = [&](const LaidLane& laid, float scroll, DrawPlan::Part* part) {
    if (static_cast<size_t>(laid.run) >= axes.size()) return;
    const RunPaint& paint = paint_of(laid.run);
    const Lane& lane = paint.shown->data->lanes[static_cast<size_t>(laid.lane)];
    const PixelScale scale(axes[static_cast<size_t>(laid.run)], view);
    DrawLane({paint, lane, laid, scale, highlight, options, scroll}, part);
  };
  const float top = options.scroll_y, bottom = options.scroll_y + options.height_px;
  for (const LaidRun& laid : layout.runs) {
    if (laid.bottom < top || laid.top > bottom || static_cast<size_t>(laid.run) >= axes.size()) continue;
    const RunData& run = *timeline.runs()[static_cast<size_t>(laid.run)].data;
    if (!laid.collapsed) {
      DrawSteps(run, laid, PixelScale(axes[static_cast<size_t>(laid.run)], view), options.scroll_y,
                &plan->lanes);
    }
  }
  for (const LaidLane& laid : layout.lanes) {
    if (laid.bottom >= top && laid.top <= bottom) draw(laid, options.scroll_y, &plan->lanes);
  }
  for (const LaidLane& laid : layout.pinned) draw(laid, 0, &plan->pinned);
  if (options.arrows) DrawArrows(timeline, layout, axes, view, highlight, options, plan);
  if (highlight.search_hits != nullptr) AddSearchTicks(*plan, &plan->search_ticks);
}

std::vector<RulerTick> RulerTicks(const ViewTransform& view, float min_px) {
  const double least = std::max(1.0, view.ns_per_px() * std::max(1.0f, min_px));
  const double power = std::pow(10.0, std::floor(std::log10(least)));
  double step = power;
  for (const double factor : {1.0, 2.0, 5.0, 10.0}) {
    step = power * factor;
    if (step >= least * (1 - 1e-9)) break;
  }
  std::vector<RulerTick> ticks;
  const double first = std::ceil(view.begin() / step);
  for (double i = first; i * step <= view.end() && ticks.size() < 4096; ++i) {
    ticks.push_back({static_cast<float>(view.ToPixel(i * step)), std::fmod(std::abs(i), 5) == 0, i * step});
  }
  return ticks;
}

}  // namespace lanescope::gui
