// SPDX-License-Identifier: Apache-2.0
// The critical path of a step: the chain of launches and copies that made it as long as it is,
// and how much room everything beside it had. The one answer for all runs, measured and simulated.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/runs/run_view.h"

namespace lanescope {

enum class WorkKind : uint8_t { kLaunch, kCommunication, kCopy };
std::string_view WorkKindName(WorkKind kind);  // "launch", "communication", "copy"

// A piece of work of a step.
struct WorkItem {
  WorkKind kind = WorkKind::kLaunch;
  int lane = 0;        // index into RunView::lanes
  uint32_t slice = 0;  // of that lane
  int64_t start_ns = 0, end_ns = 0;
  bool carried = false;  // it was launched in another step and runs in this one's time; no dependencies known
};

// Whether a slice of a lane of copies goes to another device: one that stays competes with that device's
// work.
bool LeavesItsDevice(const RunView& view, const RunView::Lane& lane, uint32_t slice);

struct PathSegment {
  int64_t start_ns = 0, end_ns = 0;
  int item = -1;         // of the step's items: what ran, or what began after the wait; -1: the step's end
  bool waiting = false;  // nothing on the path ran
};

struct StepPath {
  std::vector<WorkItem> items;        // by start
  std::vector<PathSegment> segments;  // tile the step from start to end

  // launch + transfer + waiting = step. Communication is transfer.
  struct Totals {
    int64_t launch_ns = 0, transfer_ns = 0, waiting_ns = 0;
  };
  Totals totals() const;
  // Items on the path, first to last.
  std::vector<int> OnPath() const;
};

// Finds paths. `view` must outlive it. Thread-compatible.
//   Where dependencies are known, the path goes back from the item that ended last to whichever held it up:
//   of its dependencies and the item before it on its queue the one that ended last; a tie goes to the
//   dependency, and of dependencies to the one of the smallest number. Only times decide, so that gaps and
//   hand-offs count alike in every run: as waiting, before the item that waited. Before an item on its queue
//   is the one that began last before it, if the queue is in order, else the one that had ended last when it
//   began, since others may run beside it. Record and Wait are looked through. A file may claim that an item
//   waits for what began no earlier; that is passed over, so the walk always goes back.
//   Where they are not known a moment belongs to a launch if one runs, else to a kernel of NCCL, else to a
//   copy, of several to the one that began first, whichever step launched it; moments in which none runs are
//   waiting.
class StepPathFinder {
 public:
  // Finds the paths of all steps of the view, or of those at the indexes `chosen` alone.
  explicit StepPathFinder(const RunView& view);
  StepPathFinder(const RunView& view, std::span<const size_t> chosen);
  // `step`: index into the view's steps, one of those chosen.
  StepPath Find(size_t step) const;
  // By item of the path's step: how much later it could have ended without making the step longer, everything
  // else taking as long as it did. Empty where nobody says what waits for what.
  std::vector<int64_t> SlackOf(const StepPath& path) const;
  // Pieces of work that the step has, those carried into it included.
  size_t NumItems(size_t step) const { return refs_[step].size(); }

 private:
  struct Ref {
    uint32_t lane = 0, slice = 0;
  };
  template <typename Visit>
  void ForEachWindow(int64_t start_ns, int64_t end_ns, const Visit& visit) const;
  void GroupSlices(const std::vector<char>& chosen);
  std::vector<WorkItem> ItemsOf(size_t step) const;

  const RunView& view_;
  Rows<Ref> refs_;  // by step
};

}  // namespace lanescope
