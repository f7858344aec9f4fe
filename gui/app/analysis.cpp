// SPDX-License-Identifier: Apache-2.0
#include "gui/app/analysis.h"

#include <algorithm>

namespace lanescope::gui {
namespace {

constexpr double kManySteps = 4;

bool IsPrediction(RunKind kind) { return kind == RunKind::kSimulated || kind == RunKind::kWhatIf; }

// Slices of the path as the draw plan wants them: ascending by lane and number.
std::vector<SliceRef> SlicesOfPath(const ShownPath& path, RunKey run) {
  std::vector<SliceRef> slices;
  for (const int index : path.on_path) {
    const WorkItem& work = path.path.items[static_cast<size_t>(index)];
    slices.push_back({run, work.lane, work.slice});
  }
  std::sort(slices.begin(), slices.end(), [](const SliceRef& a, const SliceRef& b) {
    return std::tie(a.lane, a.slice) < std::tie(b.lane, b.slice);
  });
  return slices;
}

// Index of the step at the middle of the view; -1: the median one, because many steps are in view.
int StepInView(const RunData& run, const RunAxis& axis, const ViewTransform& view) {
  const double span = view.end() - view.begin();
  if (run.steps.empty() || span > kManySteps * static_cast<double>(run.step_ns) * axis.scale) return -1;
  const int64_t middle = axis.ToTime((view.begin() + view.end()) / 2);
  const auto after = std::partition_point(run.steps.begin(), run.steps.end(),
                                          [&](const RunView::Step& step) { return step.start_ns <= middle; });
  return static_cast<int>(std::max<ptrdiff_t>(after - run.steps.begin() - 1, 0));
}

}  // namespace

Analysis::Analysis(std::function<void()> wake)
    : sums_worker_(ComputeSums, wake),
      visible_worker_(ComputeSums, wake),
      diff_worker_(ComputeDiff, wake),
      paths_worker_(
          [](const PathsRequest& request, const std::atomic<bool>& cancelled) {
            std::vector<ShownPath> paths;
            for (size_t i = 0; i < request.runs.size() && !cancelled; ++i) {
              paths.push_back(FindShownPath(*request.runs[i], request.steps[i]));
            }
            return paths;
          },
          wake),
      errors_worker_(
          [](const ErrorsRequest& request, const std::atomic<bool>& cancelled) {
            ErrorKeyTable errors(request.runs);
            for (const ErrorsRequest::Item& item : request.items) {
              if (cancelled) break;
              const RunData& run = item.run_is_a ? *item.diff.a_run : *item.diff.b_run;
              errors[item.position] = ErrorKeys(run, ComputeDiff(item.diff, cancelled));
            }
            return errors;
          },
          wake),
      facts_worker_(ReadSliceFacts, wake) {}

bool Analysis::busy() const {
  return sums_worker_.busy() || visible_worker_.busy() || diff_worker_.busy() || paths_worker_.busy() ||
         errors_worker_.busy() || facts_worker_.busy();
}

void Analysis::Update(const Document& document, const ViewState& state, const LayoutMetrics& metrics) {
  const Timeline& timeline = document.timeline();
  TakeResults(timeline);
  std::vector<RunAxis> axes = AlignRuns(timeline, state.alignment, state.align_op);
  if (axes != axes_) ++axes_version_;
  axes_ = std::move(axes);
  extent_ = AxisExtent(timeline, axes_);
  layout_ = ComputeLayout(timeline, state.lanes, metrics);
  if (version_ != timeline.version() || search_.results().query != state.search) {
    search_.Search(timeline, axes_, state.search);
  }
  UpdateSums(timeline, state);
  UpdateVisibleSums(timeline, state);
  UpdateDiff(timeline, state);
  UpdatePaths(timeline, state);
  UpdateErrors(timeline, state);
  UpdateFacts(timeline, state);
  version_ = timeline.version();
}

void Analysis::TakeResults(const Timeline& timeline) {
  if (auto sums = sums_worker_.Take()) sums_ = std::move(sums);
  if (auto sums = visible_worker_.Take()) visible_ = std::move(sums);
  if (auto diff = diff_worker_.Take()) diff_ = std::move(diff);
  if (auto facts = facts_worker_.Take()) facts_ = std::move(facts);
  if (auto errors = errors_worker_.Take()) errors_ = std::move(*errors);
  if (auto paths = paths_worker_.Take()) {
    paths_ = std::move(*paths);
    critical_.clear();
    for (size_t i = 0; i < paths_.size() && i < timeline.runs().size(); ++i) {
      critical_.push_back(SlicesOfPath(paths_[i], timeline.runs()[i].key));
    }
  }
}

void Analysis::UpdateSums(const Timeline& timeline, const ViewState& state) {
  if (!state.selection.area.has_value()) {
    sums_.reset();
    sums_for_ = {};
    return;
  }
  const Area& area = *state.selection.area;
  const auto wanted =
      std::tuple(timeline.version(), axes_version_, area.begin, area.end, area.lanes, state.group);
  if (wanted == sums_for_) return;
  sums_for_ = wanted;
  sums_worker_.Submit(RequestSums(timeline, axes_, area, state.group));
}

void Analysis::UpdateVisibleSums(const Timeline& timeline, const ViewState& state) {
  if (state.tab != Tab::kStatistics) return;
  const auto wanted =
      std::tuple(timeline.version(), axes_version_, state.view.begin(), state.view.end(), state.group);
  if (wanted == visible_for_) return;
  visible_for_ = wanted;
  visible_worker_.Submit(RequestSums(timeline, axes_, VisibleArea(timeline, state.view), state.group));
}

void Analysis::UpdateDiff(const Timeline& timeline, const ViewState& state) {
  const auto pair = RunsToCompare(
      timeline,
      {.a = state.diff_a, .b = state.diff_b, .selected = state.run, .hidden = state.lanes.hidden_runs});
  if (pair == diff_pair_ && diff_version_ == timeline.version()) return;
  if (pair != diff_pair_) diff_.reset();
  diff_pair_ = pair;
  diff_version_ = timeline.version();
  if (pair.second == 0) return;
  diff_worker_.Submit({.a = pair.first,
                       .b = pair.second,
                       .a_run = timeline.Find(pair.first)->data,
                       .b_run = timeline.Find(pair.second)->data});
}

void Analysis::UpdatePaths(const Timeline& timeline, const ViewState& state) {
  PathsRequest request;
  for (size_t i = 0; i < timeline.runs().size(); ++i) {
    request.runs.push_back(timeline.runs()[i].data);
    request.steps.push_back(StepInView(*timeline.runs()[i].data, axes_[i], state.view));
  }
  std::pair wanted(timeline.version(), request.steps);
  if (wanted == paths_for_) return;
  if (wanted.first != paths_for_.first) {
    paths_.clear();
    critical_.clear();
  }
  paths_for_ = std::move(wanted);
  paths_worker_.Submit(std::move(request));
}

void Analysis::UpdateErrors(const Timeline& timeline, const ViewState& state) {
  if (state.colour != ColorMode::kError || errors_version_ == timeline.version()) return;
  errors_version_ = timeline.version();
  errors_.clear();
  ErrorsRequest request;
  request.runs = timeline.runs().size();
  for (size_t i = 0; i < timeline.runs().size(); ++i) {
    const ShownRun& run = timeline.runs()[i];
    const ShownRun* other = timeline.Find(CounterpartOf(timeline, run.key));
    if (other == nullptr) continue;
    // Predictions are compared with what was measured, not the other way round.
    const bool run_is_a = !IsPrediction(run.data->kind);
    const ShownRun &a = run_is_a ? run : *other, &b = run_is_a ? *other : run;
    request.items.push_back({.diff = {.a = a.key, .b = b.key, .a_run = a.data, .b_run = b.data},
                             .position = i,
                             .run_is_a = run_is_a});
  }
  errors_worker_.Submit(std::move(request));
}

void Analysis::UpdateFacts(const Timeline& timeline, const ViewState& state) {
  const SliceRef& slice = state.selection.slice;
  if (slice == facts_for_) return;
  facts_for_ = slice;
  facts_.reset();
  facts_worker_.Cancel();
  const ShownRun* run = slice.valid() ? timeline.Find(slice.run) : nullptr;
  if (run != nullptr) facts_worker_.Submit({slice, run->data});
}

Highlight Analysis::HighlightFor(const ViewState& state) const {
  Highlight highlight;
  highlight.slice = state.selection.slice;
  highlight.op = state.selection.op;
  if (!search_.results().query.empty()) highlight.search_hits = &search_.results().ops;
  if (state.show_critical && critical_.size() == axes_.size()) highlight.critical = &critical_;
  if (state.colour == ColorMode::kError && errors_.size() == axes_.size()) highlight.errors = &errors_;
  return highlight;
}

}  // namespace lanescope::gui
