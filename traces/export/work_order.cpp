// SPDX-License-Identifier: Apache-2.0
#include "traces/export/work_order.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace lanescope::traces {
namespace {

// The work before Records and Waits, each looked at once: of an in-order queue the last command alone, since
// that implies the others.
class WorkBeforeSyncs {
 public:
  explicit WorkBeforeSyncs(const RunView& view) : view_(view), before_(view.commands.size()) {}

  const std::vector<int>& Of(int sync) {
    open_.push_back(sync);
    while (!open_.empty()) {
      const int at = open_.back();
      if (Known(at)) {
        open_.pop_back();
        continue;
      }
      if (begun_.insert(at).second) {
        for (const int holder : view_.holders[at]) {
          // Work that has begun and is not known waits for itself in a circle, which a damaged file may
          // claim.
          if (!IsWork(holder) && !Known(holder) && !begun_.contains(holder)) open_.push_back(holder);
        }
      } else {
        open_.pop_back();
        Collect(at);
      }
    }
    return *before_[static_cast<size_t>(sync)];
  }

  bool IsWork(int command) const {
    return lanescope::IsWork(view_.commands[static_cast<size_t>(command)].kind);
  }

 private:
  bool Known(int command) const { return before_[static_cast<size_t>(command)].has_value(); }

  void Collect(int sync) {
    std::map<int, int> last;  // by in-order queue; others by themselves, below zero
    const auto add = [&](int work) {
      const int queue = view_.commands[static_cast<size_t>(work)].queue;
      const bool in_order = queue >= 0 && view_.queues[static_cast<size_t>(queue)].in_order;
      int& of_queue = last.try_emplace(in_order ? queue : -1 - work, work).first->second;
      of_queue = std::max(of_queue, work);
    };
    for (const int holder : view_.holders[sync]) {
      if (IsWork(holder)) {
        add(holder);
      } else if (Known(holder)) {
        for (const int work : *before_[static_cast<size_t>(holder)]) add(work);
      }
    }
    std::vector<int>& before = before_[static_cast<size_t>(sync)].emplace();
    for (const auto& [queue, work] : last) before.push_back(work);
  }

  const RunView& view_;
  std::vector<std::optional<std::vector<int>>> before_;  // by command
  std::set<int> begun_;
  std::vector<int> open_;
};

}  // namespace

Rows<> WorkBefore(RunTables tables) {
  RunView& view = tables.view;
  view.Settle(tables.dependencies);
  WorkBeforeSyncs syncs(view);
  Rows<> before;
  for (int command = 0; command < static_cast<int>(view.commands.size()); ++command) {
    if (syncs.IsWork(command)) {
      for (const int holder : view.holders[command]) {
        if (syncs.IsWork(holder)) {
          before.Append(holder);
          continue;
        }
        for (const int work : syncs.Of(holder)) {
          if (work != command) before.Append(work);
        }
      }
    }
    before.SortOpenRow();
    before.EndRow();
  }
  return before;
}

}  // namespace lanescope::traces
