// SPDX-License-Identifier: Apache-2.0
// The commands after which each node of the graph is complete: its launch, or, of a node without one, what
// its users have to wait for instead.
#pragma once

#include <span>
#include <vector>

#include "core/schedule/schedule.h"

namespace lanescope::compile {

class Completion {
 public:
  explicit Completion(size_t num_nodes) : ranges_(num_nodes) { commands_.reserve(ranges_.size()); }

  // Empty for a node that needs no command. Valid until the next Set.
  std::span<const CommandId> Of(NodeId node) const {
    const Range& range = ranges_[node];
    return {commands_.data() + range.first, static_cast<size_t>(range.count)};
  }
  void Set(NodeId node, std::span<const CommandId> commands) {
    ranges_[node] = {static_cast<int>(commands_.size()), static_cast<int>(commands.size())};
    commands_.insert(commands_.end(), commands.begin(), commands.end());
  }

 private:
  struct Range {
    int first = 0;
    int count = 0;
  };
  IdVector<NodeId, Range> ranges_;  // by node: its part of commands_
  std::vector<CommandId> commands_;
};

}  // namespace lanescope::compile
