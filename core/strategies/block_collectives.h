// SPDX-License-Identifier: Apache-2.0
// Tensors of several variables that cross the GPUs in one collective, as FSDP's flat parameters. Internal to
// core.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/shape.h"
#include "core/strategies/step_nodes.h"

namespace lanescope {

using Shards = std::vector<Endpoint>;  // by device

// A tensor of a variable as a matrix has a row for each device; the matrices of several lie beside each
// other, so that each is some of the columns.
class BlockCollectives {
 public:
  // Both must outlive it.
  BlockCollectives(StepNodes* nodes, const std::vector<std::string>& devices)
      : nodes_(*nodes), devices_(devices) {}

  // The whole tensors on every device, of these shapes, from flat parts. `after`, by device: what the
  // collective waits for, or none.
  std::vector<Shards> Gather(const std::string& scope, const std::vector<Shards>& parts,
                             const std::vector<Shape>& shapes, const std::vector<NodeId>& after);
  // The flat parts of the mean of the devices' tensors, which have so many elements.
  std::vector<Shards> ScatterMean(const std::string& scope, const std::vector<Shards>& tensors,
                                  const std::vector<int64_t>& elements);

 private:
  size_t count() const { return devices_.size(); }
  NodeBuilder New(std::string_view op, const std::string& scope, std::string_view name, size_t device);

  StepNodes& nodes_;
  const std::vector<std::string>& devices_;
};

}  // namespace lanescope
