// SPDX-License-Identifier: Apache-2.0
// The cost of a collective on the links of a machine. Internal to core.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/collective/collective_loop.h"
#include "core/collective/collective_schedule.h"
#include "core/machine/machine.h"
#include "core/machine/tasks.h"

namespace lanescope {

// Writes no nodes, but finds out when what a schedule writes would be done, by the laws of the simulator
// (CollectiveLoop): a message when its latency is over and its bytes are through, whose links, buses and
// network interfaces it shares with all that pass them at the time, and work when memory has done its part.
// So a ring of slow and of fast links, or a group that is late, takes what it takes; nothing here knows the
// algorithms.
//
// Where a message of s bytes between any two of n = 2^k devices takes a + s b, shares nothing, and work takes
// nothing, an all-reduce of S bytes comes to
//   around a ring       2 (n - 1) (a + S b / n)
//   up and down a tree  2 log2(n) (a + S b)
//   by one device       2 (a + S b); where all that it sends, and all that it gets, shares an interface of
//                       that rate 2 (a + (n - 1) S b)
//   by a hierarchy      the tree of the largest group, and the all-reduce of the groups' first devices
// (R. Thakur, R. Rabenseifner, W. Gropp: Optimization of Collective Communication Operations in MPICH, 2005;
// of the ring P. Patarasuk, X. Yuan: Bandwidth Optimal All-reduce Algorithms for Clusters of Workstations,
// 2009), and all-gathers, reduce-scatters and broadcasts to their halves of it by the sizes of their parts.
class CollectiveCost final : public CollectiveSteps {
 public:
  // Device i of the schedule is devices[i]. `mean`: as CollectiveGroup has it. Refers to the machine and its
  // tasks.
  CollectiveCost(const Machine& machine, const MachineTasks& tasks, std::vector<DeviceId> devices, bool mean);

  // A tensor that is on the device from the beginning.
  Endpoint Begin(size_t device, int64_t bytes);
  // Until all that was written is done. The same input, the same number.
  int64_t Ns() const;

  // Throw NotFound where devices have no route.
  Endpoint Combine(size_t device, Endpoint a, Endpoint b) override;
  Endpoint CombineAll(size_t device, const std::vector<Endpoint>& tensors) override;
  Endpoint Send(size_t device, Endpoint tensor) override;
  Endpoint Finish(size_t device, Endpoint whole) override;
  std::vector<Endpoint> Split(size_t device, Endpoint tensor, const std::vector<int64_t>& sizes) override;
  Endpoint Join(size_t device, const std::vector<Endpoint>& parts) override;
  std::vector<Endpoint> SplitRows(size_t device, Endpoint tensor, size_t parts) override;
  Endpoint JoinRows(size_t device, const std::vector<Endpoint>& parts) override;

 private:
  struct Place {
    DeviceId device;
    std::optional<size_t> step = {};  // that brought or made it
  };
  struct Tensor {
    int64_t bytes;
    std::vector<Place> places;  // where it was made, then its copies
  };

  Tensor& TensorOf(Endpoint tensor) { return tensors_[tensor.node.index()]; }
  Endpoint NewTensor(const Place& place, int64_t bytes);
  CollectiveStep MessageOf(DeviceId from, DeviceId to, int64_t bytes);
  // The tensor there; sent at most once.
  Place Bring(Endpoint tensor, DeviceId to);
  // A launch on the device that reads these and writes so much: where that is.
  Place Launch(size_t device, const std::vector<Endpoint>& inputs, int64_t written);
  std::vector<Endpoint> Cut(size_t device, Endpoint tensor, const std::vector<int64_t>& bytes);
  int64_t BytesOf(const std::vector<Endpoint>& tensors);

  const Machine& machine_;
  const MachineTasks& tasks_;
  const std::vector<DeviceId> devices_;
  const bool mean_;
  std::vector<Tensor> tensors_;
  LinkPaths links_;
  std::vector<CollectiveStep> steps_;
  std::map<std::pair<DeviceId, DeviceId>, Route> routes_;
};

}  // namespace lanescope
