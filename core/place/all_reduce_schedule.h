// In which order the parts of an all-reduce are copied and added, whoever writes the nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"

namespace lanescope {

enum class AllReduceBy {
  // Every tensor is cut into as many chunks as there are devices. Chunks are added up on their way around the
  // ring, and sent around once more: every device sends and receives 2 (n - 1) / n of a tensor.
  kRing,
  // Sums of pairs, of pairs of pairs, and back: 2 log2(n) whole tensors behind each other.
  kTree,
  // All to the first device and back.
  kOneDevice,
};
// "ring", "tree", "one-device".
std::string_view AllReduceByName(AllReduceBy by);
std::optional<AllReduceBy> ParseAllReduceBy(std::string_view name);

// Writes the nodes that a schedule asks for, each on the device of that number.
class AllReduceSteps {
 public:
  virtual ~AllReduceSteps() = default;
  virtual Endpoint Combine(size_t device, Endpoint a, Endpoint b) = 0;
  virtual Endpoint CombineAll(size_t device, const std::vector<Endpoint>& tensors) = 0;
  // The same tensor there: a copy, once it is read.
  virtual Endpoint Send(size_t device, Endpoint tensor) = 0;
  // Of a whole combination, or of a whole chunk: what the result is made of.
  virtual Endpoint Finish(size_t device, Endpoint whole) = 0;
  // Parts with so many elements of the flattened tensor.
  virtual std::vector<Endpoint> Split(size_t device, Endpoint tensor, const std::vector<int64_t>& sizes) = 0;
  // In the shape of the tensors.
  virtual Endpoint Join(size_t device, const std::vector<Endpoint>& parts) = 0;
};

// Tensor i is on device i, and so is result i. `elements`: of each tensor, for a ring.
std::vector<Endpoint> ScheduleAllReduce(AllReduceBy by, const std::vector<Endpoint>& tensors,
                                        int64_t elements, AllReduceSteps* steps);

}  // namespace lanescope
