// SPDX-License-Identifier: Apache-2.0
// In which order the parts of a collective are copied and combined, whoever writes the nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"

namespace lanescope {

enum class CollectiveBy {
  // Every tensor is cut into as many chunks as there are devices, which go around: each device sends and
  // receives (n - 1) / n of a tensor for an all-gather or a reduce-scatter, twice that for an all-reduce, and
  // one tensor for a broadcast.
  kRing,
  // Pairs, pairs of pairs, and back where all want the result: whole tensors, log2(n) behind each other.
  kTree,
  // All to the first device, or from it.
  kOneDevice,
  // All-reduces: devices that are near each other by a tree of their own, the first ones of those among each
  // other as suits, and down the trees. Others: as suits.
  kHierarchical,
  // All-reduces by the GPUs' own library (joint_launch.h), where it can be; otherwise, and others, as suits.
  kNccl,
};
// "ring", "tree", "one-device", "hierarchical", "nccl".
std::string_view CollectiveByName(CollectiveBy by);
std::optional<CollectiveBy> ParseCollectiveBy(std::string_view name);
std::vector<std::string> CollectiveByNames();

// A ring or a tree, where no machine says what costs less. `bytes`: of a tensor; none where they are unknown,
// or a ring cannot be.
CollectiveBy SuitedBySize(size_t devices, std::optional<int64_t> bytes);
// A ring has as many nodes as the square of its devices: beyond this many it is not chosen.
inline constexpr size_t kMostInRing = 64;

// Numbers of devices, group by group.
using DeviceGroups = std::vector<std::vector<size_t>>;
// The devices of one task each, by their names; in the order of the first ones.
DeviceGroups GroupsByTask(const std::vector<std::string>& devices);

// Writes the nodes that a schedule asks for, each on the device of that number.
class CollectiveSteps {
 public:
  virtual ~CollectiveSteps() = default;
  virtual Endpoint Combine(size_t device, Endpoint a, Endpoint b) = 0;
  virtual Endpoint CombineAll(size_t device, const std::vector<Endpoint>& tensors) = 0;
  // The tensor on another device: a copy, once it is read.
  virtual Endpoint Send(size_t device, Endpoint tensor) = 0;
  // Makes the result of a whole combination, or of a whole chunk of it.
  virtual Endpoint Finish(size_t device, Endpoint whole) = 0;
  // Parts with so many elements of the flattened tensor.
  virtual std::vector<Endpoint> Split(size_t device, Endpoint tensor, const std::vector<int64_t>& sizes) = 0;
  // In the shape of the tensors.
  virtual Endpoint Join(size_t device, const std::vector<Endpoint>& parts) = 0;
  // Equal parts along the first dimension, and parts one behind the other along it.
  virtual std::vector<Endpoint> SplitRows(size_t device, Endpoint tensor, size_t parts) = 0;
  virtual Endpoint JoinRows(size_t device, const std::vector<Endpoint>& parts) = 0;
};

// Tensor i is on device i, and so is result i. `elements`: of each tensor, for a ring that has to know it (of
// all-reduces and broadcasts).

// The combination of all, on every device.
std::vector<Endpoint> ScheduleAllReduce(CollectiveBy by, const std::vector<Endpoint>& tensors,
                                        int64_t elements, CollectiveSteps* steps);
// All-reduces by a hierarchy of these groups, whose first devices do it by `between`.
std::vector<Endpoint> ScheduleHierarchicalAllReduce(const DeviceGroups& groups, CollectiveBy between,
                                                    const std::vector<Endpoint>& tensors, int64_t elements,
                                                    CollectiveSteps* steps);
// All behind each other along their first dimension, on every device.
std::vector<Endpoint> ScheduleAllGather(CollectiveBy by, const std::vector<Endpoint>& tensors,
                                        CollectiveSteps* steps);
// Leaves part i of the combination of all, along its first dimension, on device i.
std::vector<Endpoint> ScheduleReduceScatter(CollectiveBy by, const std::vector<Endpoint>& tensors,
                                            CollectiveSteps* steps);
// The tensor of device 0 on all of `devices`.
std::vector<Endpoint> ScheduleBroadcast(CollectiveBy by, Endpoint tensor, size_t devices, int64_t elements,
                                        CollectiveSteps* steps);

}  // namespace lanescope
