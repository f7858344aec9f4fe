// SPDX-License-Identifier: Apache-2.0
#include "gui/model/search.h"

#include <algorithm>

namespace lanescope::gui {
namespace {

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

struct NameHit {
  double axis = 0;
  SliceRef slice;
};

// The first `max_hits` + 1 hits of a run, row by row: a row's slices ascend, so no row needs more than that.
void CollectHits(const ShownRun& shown, const RunAxis& axis, const std::vector<char>& ops, size_t max_hits,
                 std::vector<NameHit>* hits) {
  for (size_t l = 0; l < shown.data->lanes.size(); ++l) {
    const Lane& lane = shown.data->lanes[l];
    if (lane.role == LaneRole::kLink) continue;
    for (const SliceRow& row : lane.rows) {
      size_t found = 0;
      for (uint32_t i = row.begin; i < row.end && found <= max_hits; ++i) {
        const int32_t op = lane.op[i];
        if (op < 0 || !ops[static_cast<size_t>(op)]) continue;
        hits->push_back({axis.ToAxis(lane.start_ns[i]), {shown.key, static_cast<int>(l), i}});
        ++found;
      }
    }
  }
}

}  // namespace

void SearchIndex::Refresh(const Timeline& timeline) {
  if (version_ == timeline.version()) return;
  version_ = timeline.version();
  lower_.clear();
  for (const ShownRun& run : timeline.runs()) {
    auto& names = lower_.emplace_back();
    names.reserve(run.data->ops.size());
    for (const OpEntry& op : run.data->ops) names.push_back(Lower(op.name) + "\n" + Lower(op.op));
  }
}

const SearchIndex::Results& SearchIndex::Search(const Timeline& timeline, const std::vector<RunAxis>& axes,
                                                std::string_view query, size_t max_hits) {
  Refresh(timeline);
  results_ = {};
  results_.query = std::string(query);
  const std::string wanted = Lower(query);
  std::vector<NameHit> hits;
  for (size_t r = 0; r < timeline.runs().size() && r < axes.size(); ++r) {
    const ShownRun& run = timeline.runs()[r];
    auto& ops = results_.ops.emplace_back(run.data->ops.size(), 0);
    if (wanted.empty()) continue;
    bool any = false;
    for (size_t i = 0; i < ops.size(); ++i) {
      if (lower_[r][i].find(wanted) == std::string::npos) continue;
      ops[i] = 1;
      any = any || run.data->ops[i].slices > 0;
      results_.count += run.data->ops[i].slices;
      results_.identities.push_back(run.identities[i]);
    }
    if (any) CollectHits(run, axes[r], ops, max_hits, &hits);
  }
  const auto by_name = [&](OpIdentity a, OpIdentity b) { return timeline.NameOf(a) < timeline.NameOf(b); };
  std::sort(results_.identities.begin(), results_.identities.end(), by_name);
  results_.identities.erase(std::unique(results_.identities.begin(), results_.identities.end()),
                            results_.identities.end());
  std::stable_sort(hits.begin(), hits.end(),
                   [](const NameHit& a, const NameHit& b) { return a.axis < b.axis; });
  results_.truncated = hits.size() > max_hits;
  if (results_.truncated) hits.resize(max_hits);
  for (const NameHit& hit : hits) results_.hits.push_back(hit.slice);
  return results_;
}

size_t SearchIndex::NextHit(RunKey run, size_t from, bool forward) const {
  const std::vector<SliceRef>& hits = results_.hits;
  const bool any =
      std::none_of(hits.begin(), hits.end(), [&](const SliceRef& hit) { return hit.run == run; });
  // Before the first step: in front of the first hit, or behind the last one.
  size_t hit = from < hits.size() ? from : forward ? hits.size() - 1 : 0;
  do {
    hit = (hit + (forward ? 1 : hits.size() - 1)) % hits.size();
  } while (!any && hits[hit].run != run);
  return hit;
}

}  // namespace lanescope::gui
