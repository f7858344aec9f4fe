// SPDX-License-Identifier: Apache-2.0
// All pieces of work of a run one after the other, without a list of them. Internal to core.
#pragma once

#include <cstdint>
#include <vector>

#include "core/runs/run_view.h"
#include "core/runs/step_path.h"

namespace lanescope {

// A slice of a lane, as work of the step that launched it.
WorkItem ItemOf(const RunView& view, size_t lane, uint32_t slice);

// By start; of what began and ended together by what it is, so that the order does not depend on who recorded
// the run.
bool ComesBefore(const RunView& view, const WorkItem& a, const WorkItem& b);

// Merges the lanes. Those that are in order, as most are, cost nothing but their place in the heap. `view`
// must outlive it.
class WorkByStart {
 public:
  explicit WorkByStart(const RunView& view);
  // False: there is no more.
  bool Next(WorkItem* item);

 private:
  struct Lane {
    std::vector<uint32_t> order;  // empty: as they lie
    uint32_t next = 0;
  };
  bool Later(const WorkItem& a, const WorkItem& b) const;
  void Push(size_t lane);

  const RunView& view_;
  std::vector<Lane> lanes_;
  std::vector<WorkItem> heap_;  // the next of each lane
};

}  // namespace lanescope
