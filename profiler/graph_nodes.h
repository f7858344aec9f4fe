// SPDX-License-Identifier: Apache-2.0
// Which command of a schedule a node of a CUDA graph executes.
#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "traces/record/activity_rows.h"

namespace lanescope::profiler {

// A graph that can be launched is made of clones of the nodes
// that were recorded, with ids of their own; either may become known first. Thread-safe.
class GraphNodes {
 public:
  void Add(uint64_t node, uint64_t tag) {
    std::lock_guard lock(mutex_);
    Set(node, tag);
  }
  void AddClone(uint64_t original, uint64_t clone) {
    std::lock_guard lock(mutex_);
    clones_[original].push_back(clone);
    const auto tag = tags_.find(original);
    if (tag != tags_.end()) Set(clone, tag->second);
  }
  std::vector<traces::GraphNodeRow> TakeNew() {
    std::lock_guard lock(mutex_);
    return std::exchange(new_, {});
  }

 private:
  void Set(uint64_t node, uint64_t tag) {
    tags_[node] = tag;
    new_.push_back({node, tag});
    const auto clones = clones_.find(node);
    if (clones == clones_.end()) return;
    for (const uint64_t clone : std::vector<uint64_t>(clones->second)) {
      if (!tags_.contains(clone)) Set(clone, tag);
    }
  }
  std::mutex mutex_;
  std::unordered_map<uint64_t, uint64_t> tags_;
  std::unordered_map<uint64_t, std::vector<uint64_t>> clones_;
  std::vector<traces::GraphNodeRow> new_;
};

}  // namespace lanescope::profiler
