// SPDX-License-Identifier: Apache-2.0
// Collectives of a graph, replaced by the copies and sums that they are made of.
#pragma once

#include <map>
#include <string>

#include "core/graph/graph.h"
#include "core/graph/op.h"
#include "core/machine/machine.h"

namespace lanescope {

struct CollectiveOptions {
  // How all-reduces are done ("ring", "tree", "one-device", "hierarchical", "nccl"), whatever they ask for;
  // empty: as they do.
  std::string all_reduce = {};
  // On whose links collectives are done that do not ask for an algorithm: by what costs least there. Null: as
  // suits their size.
  const Machine* machine = nullptr;
  // Collectives that ask for NCCL or for nothing, whose nodes ask for a GPU each, become joint launches where
  // there is such a one (joint_launch.h): for machines whose GPUs have it. False: what asks for NCCL is done
  // as though it asked for nothing.
  bool joint_launches = false;
};

// By the rules of functions.h; a graph without collectives comes out as it is. `feeds`: dtype and shape of
// what is fed, by tensor.
Graph ExpandCollectives(Graph graph, const std::map<std::string, TensorInfo>& feeds,
                        const CollectiveOptions& options);

}  // namespace lanescope
