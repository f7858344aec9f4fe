// SPDX-License-Identifier: Apache-2.0
// Results that follow from document and view state: axes, layout, highlights, and the results of longer
// computations.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "gui/app/view_state.h"
#include "gui/document/document.h"
#include "gui/model/comparison_model.h"
#include "gui/model/latest_worker.h"
#include "gui/model/run_analysis.h"
#include "gui/model/search.h"
#include "gui/model/slice_facts.h"

namespace lanescope::gui {

// Belongs to the UI thread. Update brings everything up to date with one frame's state; sums, diffs, errors
// and critical paths are computed on threads of its own and arrive some frames later.
class Analysis {
 public:
  explicit Analysis(std::function<void()> wake);

  void Update(const Document& document, const ViewState& state, const LayoutMetrics& metrics);
  // Something is being computed.
  bool busy() const;

  const std::vector<RunAxis>& axes() const { return axes_; }
  const Layout& layout() const { return layout_; }
  std::pair<double, double> extent() const { return extent_; }
  // Pointers into this object: valid until the next Update.
  Highlight HighlightFor(const ViewState& state) const;
  const SearchIndex::Results& search() const { return search_.results(); }
  const SearchIndex& search_index() const { return search_; }

  // The result of the latest request that is done; null: none yet.
  const SumTable* selection_sums() const { return sums_ ? &*sums_ : nullptr; }
  const SumTable* visible_sums() const { return visible_ ? &*visible_ : nullptr; }
  const ShownDiff* diff() const { return diff_ ? &*diff_ : nullptr; }
  // The runs that the diff compares; 0: there are not two.
  std::pair<RunKey, RunKey> diff_pair() const { return diff_pair_; }
  // Facts of the selected slice; null: none yet.
  const SliceFacts* facts() const { return facts_ ? &*facts_ : nullptr; }
  // Results for the step in the middle of the view (of the median step, when many are in view), by position
  // in timeline.runs(); empty until computed.
  const std::vector<ShownPath>& paths() const { return paths_; }

 private:
  struct PathsRequest {
    std::vector<std::shared_ptr<const RunData>> runs;
    std::vector<int> steps;  // indexes into their steps; -1: the median one
  };
  struct ErrorsRequest {
    struct Item {
      DiffRequest diff;
      size_t position = 0;    // of the run that is coloured
      bool run_is_a = false;  // it is the diff's first run
    };
    std::vector<Item> items;
    size_t runs = 0;
  };
  using ErrorKeyTable = std::vector<std::vector<uint8_t>>;

  void UpdateSums(const Timeline& timeline, const ViewState& state);
  void UpdateVisibleSums(const Timeline& timeline, const ViewState& state);
  void UpdateDiff(const Timeline& timeline, const ViewState& state);
  void UpdatePaths(const Timeline& timeline, const ViewState& state);
  void UpdateErrors(const Timeline& timeline, const ViewState& state);
  void UpdateFacts(const Timeline& timeline, const ViewState& state);
  void TakeResults(const Timeline& timeline);

  std::vector<RunAxis> axes_;
  std::pair<double, double> extent_{0, 1};
  Layout layout_;
  SearchIndex search_;
  uint64_t version_ = 0;
  uint64_t axes_version_ = 1;  // counts changes of axes_

  // The state that the latest requests were made for.
  std::tuple<uint64_t, uint64_t, double, double, std::vector<LaneId>, GroupBy> sums_for_{};
  std::tuple<uint64_t, uint64_t, double, double, GroupBy> visible_for_{};
  std::pair<RunKey, RunKey> diff_pair_{};
  uint64_t diff_version_ = 0, errors_version_ = 0;
  std::pair<uint64_t, std::vector<int>> paths_for_;

  std::optional<SumTable> sums_, visible_;
  std::optional<ShownDiff> diff_;
  std::vector<ShownPath> paths_;
  std::vector<std::vector<SliceRef>> critical_;
  ErrorKeyTable errors_;
  SliceRef facts_for_;
  std::optional<SliceFacts> facts_;

  // Last: their threads end first.
  LatestWorker<SumRequest, SumTable> sums_worker_, visible_worker_;
  LatestWorker<DiffRequest, ShownDiff> diff_worker_;
  LatestWorker<PathsRequest, std::vector<ShownPath>> paths_worker_;
  LatestWorker<ErrorsRequest, ErrorKeyTable> errors_worker_;
  LatestWorker<FactsRequest, SliceFacts> facts_worker_;
};

}  // namespace lanescope::gui
