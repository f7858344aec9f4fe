// Which command of which run an activity executed. Part of activity_scan.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "gui/activity_scan.h"
#include "traces/slice_reader.h"

namespace lanescope::gui {

// A row's values in the order of the wanted columns; kBulkNull stands for NULL.
using Values = std::span<const int64_t>;

inline int64_t OrElse(int64_t value, int64_t fallback) { return value == kBulkNull ? fallback : value; }
inline bool FitsInt(int64_t value) { return value >= INT32_MIN && value <= INT32_MAX; }

struct Origin {
  int32_t command = -1, step = -1;
};

// LANESCOPE_ACTIVITY by correlation id, which is unique in a file of ours; activities of CUDA graphs share
// one and are told apart by their graph node. The frames must outlive it.
class Origins : public BulkSink {
 public:
  static constexpr std::string_view kTable = "LANESCOPE_ACTIVITY";

  explicit Origins(const std::vector<RunFrame>& frames);

  std::vector<BulkColumn> Wanted() const;
  void Begin(int parts) override;
  void Row(int part, Values values) override;
  // After the last row, before the first Find. `activities`: how many rows their tables have at most.
  void Finish(int64_t activities);

  // Position in the frames; -1: none.
  int RunOf(int64_t global_pid) const;
  Origin Find(int64_t correlation, int64_t graph_node) const;
  // What the activities' own columns need not tell: graph nodes where nothing is known by them, names where
  // every activity has its command, kinds of memory where no GPU took part, whose numbers of devices say all,
  // and the run where there is but one.
  bool has_graph_nodes() const { return !graphs_.empty(); }
  bool is_complete() const { return complete_; }
  bool has_gpus() const { return has_gpus_; }
  bool one_run() const { return frames_.size() == 1 && frames_.front().ours; }

 private:
  struct Part {
    std::deque<std::pair<int64_t, Origin>> plain;  // a large vector grows by copying
    int64_t low = INT64_MAX, high = INT64_MIN;     // correlation ids of plain
    std::vector<std::pair<std::pair<int64_t, int64_t>, Origin>> graphs;
  };
  const std::vector<RunFrame>& frames_;
  bool has_gpus_ = false;     // or another tool's trace
  bool one_schedule_ = true;  // in every run
  bool complete_ = false;
  std::vector<int> run_of_;  // by run number
  std::vector<Part> parts_;
  // Either dense_, from correlation id first_ on, or sparse_, sorted.
  int64_t first_ = 0;
  std::vector<Origin> dense_;
  std::vector<std::pair<int64_t, Origin>> sparse_;
  std::vector<std::pair<std::pair<int64_t, int64_t>, Origin>> graphs_;  // sorted
};

}  // namespace lanescope::gui
