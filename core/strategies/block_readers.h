// SPDX-License-Identifier: Apache-2.0
// In which order blocks of variables are read, and who reads them first. Internal to core.
#pragma once

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <vector>

#include "core/graph/graph.h"

namespace lanescope {

// The passes of a step, forward and backward among them, each with blocks in the order of their first
// readers.
class BlockReaders {
 public:
  static constexpr int kPasses = 3;

  explicit BlockReaders(size_t devices) : devices_(devices) {}

  // `reader` reads variables of `block` on that device.
  void Note(const std::string& block, int pass, size_t device, NodeId reader) {
    std::vector<Block>& blocks = blocks_[static_cast<size_t>(pass)];
    auto found = std::ranges::find(blocks, block, &Block::name);
    if (found == blocks.end()) found = blocks.insert(blocks.end(), {block, std::vector<NodeId>(devices_)});
    if (!found->first[device].exists()) found->first[device] = reader;
  }
  // The first there that reads the block before this one, which may be new; none: there is none yet.
  NodeId Before(const std::string& block, int pass, size_t device) const {
    const std::vector<Block>& blocks = blocks_[static_cast<size_t>(pass)];
    const auto found = std::ranges::find(blocks, block, &Block::name);
    return found == blocks.begin() ? NodeId() : std::prev(found)->first[device];
  }

 private:
  struct Block {
    std::string name;
    std::vector<NodeId> first;  // by device
  };
  size_t devices_;
  std::array<std::vector<Block>, kPasses> blocks_;
};

}  // namespace lanescope
