// Which command of which run an activity executed. Part of activity_scan.
#pragma once

#include <cstdint>
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
  // After the last row, before the first Find.
  void Finish();

  // Position in the frames; -1: none.
  int RunOf(int64_t global_pid) const;
  Origin Find(int64_t correlation, int64_t graph_node) const;
  // Whether any activity is told by its graph node.
  bool has_graph_nodes() const { return !graphs_.empty(); }

 private:
  struct Part {
    std::vector<std::pair<int64_t, Origin>> plain;
    int64_t low = INT64_MAX, high = INT64_MIN;  // correlation ids of plain
    std::vector<std::pair<std::pair<int64_t, int64_t>, Origin>> graphs;
  };
  const std::vector<RunFrame>& frames_;
  std::vector<int> run_of_;  // by run number
  std::vector<Part> parts_;
  // Either dense_, from correlation id first_ on, or sparse_, sorted.
  int64_t first_ = 0;
  std::vector<Origin> dense_;
  std::vector<std::pair<int64_t, Origin>> sparse_;
  std::vector<std::pair<std::pair<int64_t, int64_t>, Origin>> graphs_;  // sorted
};

}  // namespace lanescope::gui
