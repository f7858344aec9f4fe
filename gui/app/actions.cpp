// SPDX-License-Identifier: Apache-2.0
#include "gui/app/actions.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace lanescope::gui {
namespace {

constexpr double kPanShare = 0.12;  // of the width, by key
constexpr double kKeyZoom = 1.35;
constexpr float kScrollPixels = 60;

double PointerPixel(const ViewState& state) {
  return state.hover_axis ? state.view.ToPixel(*state.hover_axis) : state.view.width_px() / 2;
}

void Zoom(double factor, const ActionContext& context) {
  context.state.view.BeginGesture();
  context.state.view.ZoomAt(PointerPixel(context.state), factor);
}

void Pan(double share, const ActionContext& context) {
  context.state.view.BeginGesture();
  context.state.view.PanPixels(share * context.state.view.width_px());
}

void Scroll(float pixels, const ActionContext& context) {
  context.state.scroll_to = std::max(0.0f, context.state.scroll_y + pixels);
}

void Reveal(const SliceRef& slice, const ActionContext& context) {
  if (const LaidLane* lane = context.analysis.layout().Find(slice.run, slice.lane)) {
    context.state.reveal = std::pair(lane->top, lane->bottom);
  }
}

std::optional<std::pair<double, double>> SelectedRange(const ActionContext& context) {
  const ViewState& state = context.state;
  if (state.selection.slice.valid()) {
    return AxisRange(context.document.timeline(), context.analysis.axes(), state.selection.slice);
  }
  if (state.selection.area) return std::pair(state.selection.area->begin, state.selection.area->end);
  return std::nullopt;
}

void ToggleMark(const ActionContext& context) {
  ViewState& state = context.state;
  const double at = state.hover_axis ? *state.hover_axis : (state.view.begin() + state.view.end()) / 2;
  const double near = 5 * state.view.ns_per_px();
  const auto found = std::find_if(state.marks.begin(), state.marks.end(),
                                  [&](const Mark& mark) { return std::abs(mark.begin - at) <= near; });
  if (found != state.marks.end()) {
    state.marks.erase(found);
  } else {
    state.marks.push_back({.begin = at, .end = at, .label = fmt::format("{}", state.marks.size() + 1)});
  }
}

// The selected slice's time, over all lanes.
void SliceToRange(const ActionContext& context) {
  ViewState& state = context.state;
  const auto range = SelectedRange(context);
  if (!range) {
    state.message = "R: select a slice first";
    return;
  }
  Area area = VisibleArea(context.document.timeline(), state.view);
  area.begin = range->first;
  area.end = range->second;
  state.selection.area = std::move(area);
  state.tab = Tab::kSelection;
  state.tab_requested = true;
}

void Step(SliceRef (*next)(const Timeline&, const SliceRef&), const char* none,
          const ActionContext& context) {
  const SliceRef slice = next(context.document.timeline(), context.state.selection.slice);
  if (slice.valid()) {
    GoTo(slice, context);
  } else {
    context.state.message = context.state.selection.slice.valid() ? none : "select a slice first";
  }
}

void TogglePin(const ActionContext& context) {
  ViewState& state = context.state;
  LaneId lane(state.hover.run, state.hover.lane);
  if (lane.second < 0 && state.selection.slice.valid()) {
    lane = LaneId(state.selection.slice.run, state.selection.slice.lane);
  }
  if (lane.second < 0) {
    state.message = "P: put the pointer on a lane";
    return;
  }
  state.lanes.TogglePin(lane);
}

// One thing at a time, the innermost first.
void Clear(ViewState* state) {
  if (state->drag) {
    state->drag.reset();
  } else if (state->show_help) {
    state->show_help = false;
  } else if (!state->selection.empty()) {
    state->selection.Clear();
  } else {
    state->search.clear();
  }
}

}  // namespace

void Do(Command command, const ActionContext& context) {
  ViewState& state = context.state;
  state.message.clear();
  switch (command) {
    case Command::kPanLeft:
      return Pan(-kPanShare, context);
    case Command::kPanRight:
      return Pan(kPanShare, context);
    case Command::kZoomIn:
      return Zoom(kKeyZoom, context);
    case Command::kZoomOut:
      return Zoom(1 / kKeyZoom, context);
    case Command::kScrollUp:
      return Scroll(-kScrollPixels, context);
    case Command::kScrollDown:
      return Scroll(kScrollPixels, context);
    case Command::kFocus:
      return Focus(context);
    case Command::kFitAll:
      return state.view.Fit();
    case Command::kUndoView:
      return state.view.Undo();
    case Command::kMark:
      return ToggleMark(context);
    case Command::kRange:
      return SliceToRange(context);
    case Command::kPrevious:
      return Step(PreviousInLane, "this is the lane's first slice", context);
    case Command::kNext:
      return Step(NextInLane, "this is the lane's last slice", context);
    case Command::kFlowBack:
      return Step(PreviousInFlow, "this slice waited for nothing that is known", context);
    case Command::kFlowForward:
      return Step(NextInFlow, "nothing that is known waited for this slice", context);
    case Command::kPin:
      return TogglePin(context);
    case Command::kSearch:
      state.search.clear();
      state.search_hit = SIZE_MAX;
      state.search_requested = true;
      return;
    case Command::kClear:
      return Clear(&state);
    case Command::kUndo:
      return context.document.Undo();
    case Command::kRedo:
      return context.document.Redo();
    case Command::kOpen:
      state.show_open = true;
      return;
    case Command::kSave:
      state.show_save = true;
      return;
    case Command::kTheme:
      state.theme = state.theme == ThemeName::kDark ? ThemeName::kLight : ThemeName::kDark;
      return;
    case Command::kHelp:
      state.show_help = !state.show_help;
      return;
    case Command::kQuit:
      state.quit = true;
      return;
  }
}

void GoTo(const SliceRef& slice, const ActionContext& context) {
  ViewState& state = context.state;
  const Timeline& timeline = context.document.timeline();
  state.selection.SelectSlice(timeline, slice);
  state.run = slice.run;
  const auto range = AxisRange(timeline, context.analysis.axes(), slice);
  if (range && (range->second < state.view.begin() || range->first > state.view.end())) {
    const double middle = (range->first + range->second) / 2,
                 half = (state.view.end() - state.view.begin()) / 2;
    state.view.Show(middle - half, middle + half);
  }
  state.lanes.collapsed.erase(slice.run);
  if (const ShownRun* run = timeline.Find(slice.run); run != nullptr && slice.valid())
    Unfold(*run->data, slice.run, run->data->lanes[static_cast<size_t>(slice.lane)].group, &state.lanes);
  Reveal(slice, context);
}

SliceRef NearestToView(RunKey run, OpIdentity op, const ActionContext& context) {
  const Timeline& timeline = context.document.timeline();
  const int index = timeline.IndexOf(run);
  if (index < 0 || static_cast<size_t>(index) >= context.analysis.axes().size()) return {};
  const ViewTransform& view = context.state.view;
  const double middle = (view.begin() + view.end()) / 2;
  return NearestSlice(timeline, run, op, context.analysis.axes()[static_cast<size_t>(index)].ToTime(middle));
}

bool GoToOp(OpIdentity op, const ActionContext& context) {
  const Timeline& timeline = context.document.timeline();
  std::vector<RunKey> runs = {timeline.baseline()};
  for (const ShownRun& run : timeline.runs()) runs.push_back(run.key);
  for (const RunKey key : runs) {
    const ShownRun* run = timeline.Find(key);
    if (run == nullptr || timeline.OpIn(*run, op) < 0) continue;
    const SliceRef slice = NearestToView(key, op, context);
    if (!slice.valid()) continue;
    GoTo(slice, context);
    return true;
  }
  context.state.selection.SelectOp(op);
  return false;
}

void Focus(const ActionContext& context) {
  ViewState& state = context.state;
  const auto range = SelectedRange(context);
  if (!range || !(range->second > range->first)) return state.view.Fit();
  const ViewTransform before = state.view;
  ViewTransform after = state.view;
  after.Focus(range->first, range->second);
  if (before.begin() == after.begin() && before.end() == after.end()) return state.view.Fit();
  state.view = after;
  if (state.selection.slice.valid()) Reveal(state.selection.slice, context);
}

void ShowOneStep(const ActionContext& context) {
  const Timeline& timeline = context.document.timeline();
  const std::vector<RunAxis>& axes = context.analysis.axes();
  if (timeline.runs().empty() || axes.size() != timeline.runs().size()) return;
  context.state.fit_requested = false;
  double longest = 0;
  bool all_have_steps = true;
  for (size_t i = 0; i < axes.size(); ++i) {
    const RunData& run = *timeline.runs()[i].data;
    all_have_steps = all_have_steps && !run.steps.empty();
    longest = std::max(longest, static_cast<double>(run.step_ns) * axes[i].scale);
  }
  if (all_have_steps && longest > 0) {
    context.state.view.Show(-0.02 * longest, 1.06 * longest);
  } else {
    context.state.view.Fit();
  }
}

void GoToHit(size_t hit, const ActionContext& context) {
  const auto& hits = context.analysis.search().hits;
  if (hits.empty()) return;
  context.state.search_hit = hit % hits.size();
  GoTo(hits[context.state.search_hit], context);
}

RunKey RunInView(const ActionContext& context) {
  const ViewState& state = context.state;
  RunKey topmost = 0;
  for (const LaidRun& run : context.analysis.layout().runs) {
    if (run.bottom <= state.scroll_y || run.top >= state.scroll_y + state.lanes_height) continue;
    if (run.key == state.run) return run.key;
    if (topmost == 0) topmost = run.key;
  }
  return topmost;
}

void GoToNextHit(bool forward, const ActionContext& context) {
  const SearchIndex& search = context.analysis.search_index();
  if (search.results().hits.empty()) return;
  GoToHit(search.NextHit(RunInView(context), context.state.search_hit, forward), context);
}

void FoldGroups(bool fold, bool threads_alone, const ActionContext& context) {
  if (!fold) return context.state.lanes.folded.clear();
  for (const ShownRun& run : context.document.timeline().runs()) {
    for (size_t g = 0; g < run.data->groups.size(); ++g) {
      if (!threads_alone || run.data->groups[g].kind == LaneGroup::Kind::kThreads)
        context.state.lanes.folded.insert({run.key, static_cast<int>(g)});
    }
  }
}

}  // namespace lanescope::gui
