// SPDX-License-Identifier: Apache-2.0
// Which command of which run an activity executed. Internal to traces.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "traces/store/parallel_reader.h"

namespace lanescope::traces {

// A run whose activities are wanted.
struct WantedRun {
  int id = 1;
  std::vector<int> hosts = {-1};  // ClassifyCopy's
};

// Which of the wanted runs an activity belongs to. Value type.
class RunFilter {
 public:
  // Everything belongs to the first where `only` says so: another tool's trace, or a file with one run.
  RunFilter(const std::vector<WantedRun>& runs, bool only);
  // Position in the list; -1: none.
  int Of(int64_t global_pid) const {
    if (only_) return 0;
    const auto number = static_cast<uint16_t>(global_pid >> 48);
    return number < by_number_.size() ? by_number_[number] : -1;
  }
  bool only() const { return only_; }

 private:
  bool only_;
  std::vector<int> by_number_;
};

struct Origin {
  int32_t command = -1, step = -1;
};

// LANESCOPE_ACTIVITY by correlation id, which is unique in a file of ours; activities of CUDA graphs share
// one and are told apart by their graph node.
class Origins {
 public:
  // Position of a command of a wanted run; -1: it has no such command. Called by several threads.
  using CommandIndex = std::function<int(int run, int schedule, int command)>;
  struct Columns {
    bool graph_nodes = true;  // else there are none
    bool schedules = true;    // else there is one a run, number 0
  };

  Origins() = default;  // none
  Origins(ParallelReader* reader, const RunFilter& runs, const CommandIndex& index, const Columns& columns,
          const ReadWatch& watch = {});

  int64_t size() const { return size_; }
  // Whether the activities' own graph nodes say anything.
  bool has_graph_nodes() const { return !graphs_.empty(); }
  Origin Find(std::optional<int64_t> correlation, std::optional<int64_t> graph_node) const;

 private:
  using GraphNode = std::pair<int64_t, int64_t>;  // correlation, node
  struct Part {
    std::deque<std::pair<int64_t, Origin>> plain;  // a large vector grows by copying
    int64_t low = INT64_MAX, high = INT64_MIN;     // correlation ids of plain
    std::vector<std::pair<GraphNode, Origin>> graphs;
  };
  void Join(std::vector<Part>* parts);

  int64_t size_ = 0;
  // Either dense_, from correlation id first_ on, or sparse_, sorted.
  int64_t first_ = 0;
  std::vector<Origin> dense_;
  std::vector<std::pair<int64_t, Origin>> sparse_;
  std::vector<std::pair<GraphNode, Origin>> graphs_;  // sorted
};

}  // namespace lanescope::traces
