// SPDX-License-Identifier: Apache-2.0
// Tensors of several variables that cross the GPUs in one collective, as FSDP's flat parameters. Internal to
// core.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/shape.h"
#include "core/strategies/replica_totals.h"
#include "core/strategies/step_nodes.h"

namespace lanescope {

using Shards = std::vector<Endpoint>;  // by device

// A tensor of a variable as a matrix has a row for each device; the matrices of several lie beside each
// other, so that each is some of the columns.
class BlockCollectives {
 public:
  // Both must outlive it. So many devices that follow each other have all parts among them.
  BlockCollectives(StepNodes* nodes, const std::vector<std::string>& devices, size_t group)
      : nodes_(*nodes), devices_(devices), group_(group) {}

  // The whole tensors on every device, of these shapes, from flat parts. `after`, by device: what the
  // collective waits for, or none.
  std::vector<Shards> Gather(const std::string& scope, const std::vector<Shards>& parts,
                             const std::vector<Shape>& shapes, const std::vector<NodeId>& after);
  // The flat parts of the total of all devices' tensors, which have so many elements: scattered in each
  // group, then summed or averaged over the devices at one place of the groups.
  std::vector<Shards> Scatter(const std::string& scope, Total total, const std::vector<Shards>& tensors,
                              const std::vector<int64_t>& elements, const std::vector<NodeId>& after);

 private:
  using Keys = std::array<Endpoint, 3>;  // size, group and instance of a collective

  size_t count() const { return devices_.size(); }
  // By group.
  std::vector<Keys> NewGroups(const std::string& scope);
  // Every device's total with those at its place in the other groups.
  std::vector<Endpoint> TotalOverGroups(const std::string& scope, Total total, std::vector<Endpoint> parts);
  NodeBuilder New(std::string_view op, const std::string& scope, std::string_view name, size_t device);

  StepNodes& nodes_;
  const std::vector<std::string>& devices_;
  const size_t group_;
};

}  // namespace lanescope
