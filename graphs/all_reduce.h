// The sum of one tensor a device, on every device: a schedule of copies and additions, written as ordinary
// nodes, so that it runs anywhere and costs what its copies cost on the machine's links.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graphs/scope.h"

namespace lanescope::graphs {

enum class AllReduceBy {
  // Every tensor is cut into as many chunks as there are devices. Chunks are added up on their way around the
  // ring, and sent around once more: every device sends and receives 2 (n - 1) / n of a tensor.
  kRing,
  // Sums of pairs, of pairs of pairs, and back: 2 log2(n) whole tensors behind each other.
  kTree,
  // All to the first device and back.
  kOneDevice,
};

struct AllReduceOptions {
  AllReduceBy by = AllReduceBy::kRing;
  bool mean = false;  // of the tensors, not their sum
  std::string_view name = "AllReduce";
};

// tensors[i] is on devices[i], and so is result i. All have one shape, which a ring has to know. Throws
// InvalidArgument for none, or for shapes or types that differ.
std::vector<Endpoint> AllReduce(Scope& scope, const std::vector<Endpoint>& tensors,
                                const std::vector<std::string>& devices,
                                const AllReduceOptions& options = {});

}  // namespace lanescope::graphs
