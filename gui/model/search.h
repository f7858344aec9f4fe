// SPDX-License-Identifier: Apache-2.0
// Finds ops by a part of their name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gui/model/selection.h"
#include "gui/model/timeline_data.h"

namespace lanescope::gui {

// Matches names and op types, upper and lower case alike (ASCII). Belongs to the UI thread; Search costs a
// pass over the ops, and over the slices only to list hits. Slices of links are not searched.
class SearchIndex {
 public:
  struct Results {
    std::string query;
    // By position in timeline.runs(), by index into ops: 1 for a hit. For Highlight::search_hits.
    std::vector<std::vector<char>> ops;
    std::vector<OpIdentity> identities;  // of the hits in any run, by name
    int64_t count = 0;                   // slices in all
    // The first `max_hits` slices by axis position over all runs.
    std::vector<SliceRef> hits;
    bool truncated = false;
  };

  // An empty query finds nothing. Lower-cased names are kept until the timeline changes.
  const Results& Search(const Timeline& timeline, const std::vector<RunAxis>& axes, std::string_view query,
                        size_t max_hits = 10000);
  const Results& results() const { return results_; }
  // The next of the results: the hit after (not `forward`: before) hit `from` in the same run, past its last
  // one its first; its first (last) where `from` is no hit. Among all hits where this run has none. Some run
  // must have one.
  size_t NextHit(RunKey run, size_t from, bool forward) const;

 private:
  void Refresh(const Timeline& timeline);

  uint64_t version_ = 0;
  std::vector<std::vector<std::string>> lower_;  // by run, by op: name, a line break, op type
  Results results_;
};

}  // namespace lanescope::gui
